/* backend.h: functions of the OpenMP backend that other files than backend.c define: rates, state
 * and dot products; and the transposition of vectors. */
#pragma once

#include "spmv_backend.h"

spmv_status spmv_probe_host(spmv_device *d, size_t cache, spmv_rates *out);  /* probe.c */
void spmv_host_state(spmv_device *d, spmv_device_state *out);                /* sensors.c */
spmv_status spmv_sum_host(spmv_device *d, void *stream, const spmv_sums *s); /* sums.c */
/* root: "", or a folder that contains proc and sys. */
void spmv_host_sensors(const char *root, spmv_device_state *out);

typedef struct relayout { /* transposition of m lines of n elements to n lines of m */
    int64_t m, n;
    const void *from;
    int64_t from_ld;
    void *to;
    int64_t to_ld;
    bool past; /* non-temporal stores of whole cache lines, for results that caches cannot keep */
} relayout;
/* Performs part `part` of `parts` equal parts in this thread. width: bytes of an element, 4 or
 * 8. */
void spmv_relayout_part(size_t width, const relayout *t, int part, int parts);
