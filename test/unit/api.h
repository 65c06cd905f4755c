/* api.h: what the tests of spmv.h share. */
#ifndef SPMV_TEST_API_H
#define SPMV_TEST_API_H

#include "host/context.h"
#include "spmv_bench.h"

#include "objects.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spmv_kernel.h" /* only for spmv_kernel_find and to ask whether cuda is built in */

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static spmv_ctx *ctx;

static inline int open_context(void **state) {
    (void)state;
    spmv_ctx_opts opts = WITH(spmv_ctx_opts, .threads = 2);
    return spmv_ctx_create(&opts, &ctx) == SPMV_OK ? 0 : -1;
}

static inline int close_context(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}

/* The text of a refused call names the argument; without a context it is the thread's, which any
 * context returns. */
static inline void assert_names(spmv_status status, const spmv_ctx *of, const char *text) {
    assert_int_equal(status, SPMV_E_ARG);
    if (!of && !strstr(spmv_ctx_error(ctx), text))
        fail_msg("'%s' of a context: no '%s'", spmv_ctx_error(ctx), text);
    if (!strstr(spmv_ctx_error(of), text)) fail_msg("'%s': no '%s'", spmv_ctx_error(of), text);
}

/* Asserts that a call failed with that status, left NULL in `out`, and that the message contains
 * `part`. */
static inline void assert_failed(spmv_status status, spmv_status expected, const void *out,
                                 const char *part) {
    if (status != expected) print_error("%d: %s\n", status, spmv_ctx_error(ctx));
    assert_int_equal(status, expected);
    assert_null(out);
    if (!strstr(spmv_ctx_error(ctx), part))
        fail_msg("'%s' does not say '%s'", spmv_ctx_error(ctx), part);
}

#endif
