/* context.h: for test files whose cases share one context, of three threads: an odd number cuts
 * unevenly. */
#ifndef SPMV_TEST_CONTEXT_H
#define SPMV_TEST_CONTEXT_H

#include "testing.h"

static spmv_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    ctx = context_of(3);
    return 0;
}

static int close_context(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}
#endif
