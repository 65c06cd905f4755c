/* host.h: threads and memory of this process, for internal use. */
#ifndef SPMV_HOST_PROCESS_H
#define SPMV_HOST_PROCESS_H

#include "spmv.h"
#include "spmv_host.h"
#include "spmv_waiting.h"

/* Restarts the count of spmv_host_most; returns the bytes that spmv_host_alloc has in use. */
size_t spmv_host_watch(void);
size_t spmv_host_most(void); /* most bytes in use since then */

/* Returns OMP_NUM_THREADS if set, else the minimum of affinity, cgroup quota and physical cores. */
int spmv_default_threads(void);
/* Runs once per process: makes OpenMP work after fork(), and keeps the OpenMP runtime loaded. */
void spmv_host_prepare_process(void);
int spmv_host_forks(void); /* number of forks from the first process to this one */

/* Returns the number of threads for preparing `items` rows and entries; 1 if there are few. Decides
 * how the team waits (spmv_waiting_prepare). */
int spmv_threads_for(spmv_ctx *ctx, int64_t items);

#endif
