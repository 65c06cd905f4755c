/* spmv_host.h: resources of the host that this process may use: threads, memory, the last-level
 * cache, and limits of its control groups. */
#ifndef SPMV_HOST_H
#define SPMV_HOST_H

#include "spmv_variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct spmv_cgroup {     /* limits of control groups; no limit: infinite, or INT64_MAX */
    double cpus;                 /* NaN: unknown */
    int64_t memory, memory_left; /* bytes; -1: unknown */
} spmv_cgroup;
/* root: "", or a folder that contains proc and sys. */
SPMV_LINKAGE void spmv_cgroup_read(const char *root, spmv_cgroup *out);

/* Returns how many of `threads` threads the process can have at once, with the calling one. */
SPMV_LINKAGE int spmv_host_try_threads(int threads);
/* Returns whether the process can create that many additional threads now. */
SPMV_LINKAGE bool spmv_host_has_room_for(int threads);
SPMV_LINKAGE size_t spmv_host_cache(void); /* bytes of the last-level cache; 0: unknown */
/* Returns the bytes available without swapping, within the container's limit. */
SPMV_LINKAGE size_t spmv_host_free_bytes(void);
/* Returns the last result of that, of any age, so that no file is opened after the first call. */
SPMV_LINKAGE size_t spmv_host_free_bytes_lately(void);
/* Locks an open file by flock, how = LOCK_EX or LOCK_SH, trying at least once and for patience_s
 * seconds, because a stopped process may hold it for ever. Returns false if another process still
 * holds it; true if the file system has no locks. */
SPMV_LINKAGE bool spmv_host_lock(int file, int how, double patience_s);
/* Name of the library that this thread is running, if that library crashes when out of memory;
 * otherwise NULL. */
SPMV_LINKAGE __thread const char *spmv_foreign;

#endif
