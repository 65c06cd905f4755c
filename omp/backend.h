/* backend.h: what backend.c leaves to other files, which is what this host can do at best and the
 * state of its processors. Kernels take the turning of lines from it. */
#pragma once

#include "spmv_backend.h"

spmv_status spmv_probe_host(spmv_device *d, size_t cache, spmv_rates *out);  /* probe.c */
void spmv_host_state(spmv_device *d, spmv_device_state *out);                /* sensors.c */
spmv_status spmv_sum_host(spmv_device *d, void *stream, const spmv_sums *s); /* sums.c */
/* root: "", or a folder that holds proc and sys. */
void spmv_host_sensors(const char *root, spmv_device_state *out);

typedef struct turning { /* m lines of n numbers become n lines of m */
    int64_t m, n;
    const void *from;
    int64_t from_ld;
    void *to;
    int64_t to_ld;
    bool past; /* whole lines of the result, which caches could not keep, go past them */
} turning;
/* Does one of `parts` equal parts of a turning in this thread. A number has width bytes, 4 or 8. */
void spmv_turn_part(size_t width, const turning *t, int part, int parts);
