/* streams.h: streams.cu, which is linked where there is nvcc: elsewhere the functions are NULL. */
#ifndef SPMV_TEST_STREAMS_H
#define SPMV_TEST_STREAMS_H

#include "kernels.h"

#define WEAK __attribute__((weak)) const char *
WEAK stream_make(void **out);
WEAK stream_free(void *stream);
WEAK stream_wait(void *stream);
WEAK stream_write_late(int64_t n, spmv_precision precision, const void *from, double factor,
                       bool lets_next_start, void *to, void *stream);
WEAK stream_compare(int64_t n, const double *a, double factor, const double *b, int *differ,
                    void *stream);
WEAK stream_clear(void *memory, size_t bytes, void *stream);
WEAK stream_capture(void *stream);
WEAK stream_end_capture(void *stream, void **graph);
WEAK graph_launch(void *graph, void *stream);
WEAK graph_free(void *graph);
#undef WEAK
__attribute__((weak)) bool stream_overlaps(int capability);

/* Checks the status of a function of streams.cu. */
#define assert_done(call) \
    do { \
        const char *wrong_ = (call); \
        if (wrong_) fail_msg("%s: %s", #call, wrong_); \
    } while (0)

/* Waits for products on the default stream; a host's are complete. */
static inline void settle(const spmv_plan *plan) {
    if (!plan->device->backend->host) assert_done(stream_wait(NULL));
}

#endif
