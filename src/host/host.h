/* host.h: threads and memory of this process, for the library itself. */
#ifndef SPMV_HOST_PROCESS_H
#define SPMV_HOST_PROCESS_H

#include "spmv.h"
#include "spmv_host.h"
#include "spmv_waiting.h"

/* From now on spmv_host_most is counted; returns the bytes that spmv_host_alloc gave and that are
 * in use, by the whole process. */
size_t spmv_host_watch(void);
size_t spmv_host_most(void); /* the most in use since */

/* OMP_NUM_THREADS, else the least of affinity, cgroup quota and physical cores. */
int spmv_default_threads(void);
/* Once for a process: after it fork() leaves parent and child with an OpenMP that works, and the
 * OpenMP runtime, in which the threads of its teams wait, is never unloaded. */
void spmv_host_prepare_process(void);
int spmv_host_forks(void); /* since then, between the first process and this one */

/* Returns how many threads prepare that many rows and entries. A team that comes waits asleep where
 * cores are shared. */
int spmv_threads_for(spmv_ctx *ctx, int64_t items);

#endif
