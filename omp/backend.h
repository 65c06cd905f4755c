/* backend.h: what backend.c leaves to other files: what this host can do at best, and the state of
 * its processors. */
#pragma once

#include "spmv_backend.h"

spmv_status spmv_probe_host(spmv_device *d, size_t cache, spmv_rates *out);  /* probe.c */
void spmv_host_state(spmv_device *d, spmv_device_state *out);                /* sensors.c */
spmv_status spmv_sum_host(spmv_device *d, void *stream, const spmv_sums *s); /* sums.c */
/* root: "", or a folder that holds proc and sys. */
void spmv_host_sensors(const char *root, spmv_device_state *out);
