/* spmv_host.h: what this process may use of its host: threads, memory, the last-level cache, and
 * what its control groups allow it. */
#ifndef SPMV_HOST_H
#define SPMV_HOST_H

#include "spmv_variant.h"
#include <stdbool.h>
#include <stddef.h>

typedef struct spmv_cgroup { /* what the process's control groups allow it; none: infinite, most */
    double cpus;             /* NaN: unknown */
    int64_t memory, memory_left; /* bytes; -1: unknown */
} spmv_cgroup;
/* root: "", or a folder that holds proc and sys. */
SPMV_LINKAGE void spmv_cgroup_read(const char *root, spmv_cgroup *out);

/* Returns how many of that many threads this process can have at once, itself included. */
SPMV_LINKAGE int spmv_host_try_threads(int threads);
/* Says whether this process can have that many threads just now, besides those that it has. */
SPMV_LINKAGE bool spmv_host_has_room_for(int threads);
SPMV_LINKAGE size_t spmv_host_cache(void); /* the last-level cache's bytes; 0: unknown */
/* Memory to be had without swapping, within what the container may still take. */
SPMV_LINKAGE size_t spmv_host_free_bytes(void);
/* Returns the same as it was last read, however long ago, and so opens no file after the first. */
SPMV_LINKAGE size_t spmv_host_free_bytes_lately(void);
/* flock of an open file, LOCK_EX or LOCK_SH, tried for so long and once at least: a process that is
 * stopped may hold it for ever. Returns false if another has it still; without locks, true. */
SPMV_LINKAGE bool spmv_host_lock(int file, int how, double patience_s);
/* Names the library whose code this thread runs just now, of those that crash where they get no
 * memory; NULL: none. */
SPMV_LINKAGE __thread const char *spmv_foreign;

#endif
