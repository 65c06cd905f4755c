/* librsb.h: shared by the librsb peers: a tuned matrix of the library and its products. Included
 * only if the library is built in. */
#pragma once

#include "omp/kernel.h"
#include "formats/csr/csr.h"
#include "spmv_clock.h"

#include <rsb.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 1 };
static const rsb_time_t most_s = 1;

static const rsb_type_t type =
    sizeof(real) == sizeof(double) ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;

static inline spmv_status rsb_status(const spmv_plan *p, rsb_err_t error, const char *what) {
    char text[256] = "";
    if (error == RSB_ERR_NO_ERROR) return SPMV_OK;
    rsb_strerror_r(error, text, sizeof text);
    return spmv_fail(p->device->ctx, error == RSB_ERR_ENOMEM ? SPMV_E_NOMEM : SPMV_E_DEVICE,
                     "%s: %s: %s", p->kernel->name, what, text);
}

/* Sets the number of threads, which is global in librsb, before each call. librsb requires as many
 * threads as it asks for: with fewer it crashes, and with an OpenMP limit below the number of
 * processors its products are wrong. */
static inline spmv_status set_threads(const spmv_plan *p) {
    rsb_int_t threads = p->device->threads;
    if (may_lack_threads(p) || omp_get_thread_limit() < omp_get_num_procs())
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: librsb fails where OpenMP gives fewer threads than it asks for or "
                         "there are processors: unset OMP_DYNAMIC, OMP_THREAD_LIMIT",
                         p->kernel->name);
    return rsb_status(p, rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &threads),
                      "setting the threads");
}

static inline void release(spmv_plan *p) {
    rsb_mtx_free(p->scratch);
}

/* librsb multiplies by the transpose without a second matrix. */
static inline rsb_trans_t operation_of(const spmv_plan *p) {
    return p->transposes ? RSB_TRANSPOSITION_T : RSB_TRANSPOSITION_N;
}

static inline rsb_flags_t order_of(spmv_layout layout) {
    return layout == SPMV_ROWS ? RSB_FLAG_WANT_ROW_MAJOR_ORDER : RSB_FLAG_WANT_COLUMN_MAJOR_ORDER;
}

static inline bool are_counted(int64_t k, int64_t ldx, int64_t ldz) {
    return k <= INT32_MAX && ldx <= INT32_MAX && ldz <= INT32_MAX;
}

/* Tunes for the plan's number of vectors. */
static inline spmv_status tune(spmv_plan *p) {
    struct rsb_mtx_t *matrix = p->scratch;
    const rsb_coo_idx_t vectors = are_counted(p->vectors, 0, 0) ? (rsb_coo_idx_t)p->vectors : 1;
    rsb_err_t error = rsb_tune_spmm(&matrix, NULL, NULL, ROUNDS, most_s, operation_of(p), NULL,
                                    NULL, vectors, order_of(p->layout), NULL, 0, NULL, NULL, 0);
    p->scratch = matrix;
    return rsb_status(p, error, "rsb_tune_spmm");
}

/* Refuses unsupported matrices. */
static inline spmv_status check_librsb(const spmv_plan *p) {
    if (sizeof(ofs) != sizeof(rsb_coo_idx_t))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: librsb has 32-bit offsets: offset_bits=32", p->kernel->name);
    if (p->host->nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: librsb takes no matrix without entries", p->kernel->name);
    return SPMV_OK;
}

/* Makes librsb's tuned copy of a CSR matrix, or of its lower half, as flags say. */
static inline spmv_status make_matrix(spmv_plan *p, const ofs *row_ptr, const idx *col_idx,
                                      const real *values, rsb_flags_t flags) {
    const rsb_coo_idx_t rows = (rsb_coo_idx_t)p->host->rows, cols = (rsb_coo_idx_t)p->host->cols;
    rsb_err_t error = RSB_ERR_NO_ERROR;
    size_t bytes = 0;
    double start = spmv_now();
    TRY(rsb_status(p, rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init"));
    p->once_s = spmv_now() - start;
    TRY(set_threads(p));
    p->scratch = rsb_mtx_alloc_from_csr_const(values, (const rsb_coo_idx_t *)row_ptr, col_idx,
                                              (rsb_nnz_idx_t)row_ptr[rows], type, rows, cols, 1, 1,
                                              flags, &error);
    if (!p->scratch && error == RSB_ERR_NO_ERROR) error = RSB_ERR_GENERIC_ERROR;
    TRY(rsb_status(p, error, "rsb_mtx_alloc_from_csr_const"));
    TRY(tune(p));
    TRY(rsb_status(p, rsb_mtx_get_info(p->scratch, RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &bytes),
                   "rsb_mtx_get_info"));
    p->scratch_bytes = p->traffic_bytes = bytes;
    return SPMV_OK;
}

static inline spmv_status multiply(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta;
    TRY(set_threads(p));
    return rsb_status(p, rsb_spmv(operation_of(p), &alpha, p->scratch, v->x, 1, &beta, v->z, 1),
                      "rsb_spmv");
}

static inline spmv_status multiply_many(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta;
    if (!are_counted(v->k, v->ldx, v->ldz))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: librsb counts vectors and leading dimensions with 32 bits",
                         p->kernel->name);
    TRY(set_threads(p));
    return rsb_status(p,
                      rsb_spmm(operation_of(p), &alpha, p->scratch, (rsb_coo_idx_t)v->k,
                               order_of(v->layout), v->x, (rsb_nnz_idx_t)v->ldx, &beta, v->z,
                               (rsb_nnz_idx_t)v->ldz),
                      "rsb_spmm");
}

/* Extracts the version from the header's "librsb version 1.3.0.2 - 202212201855"; there is no
 * call. */
static inline void library(const spmv_choice *c, char *text, size_t bytes) {
    const char *version = strpbrk(RSB_HEADER_VERSION_STRING, "0123456789");
    (void)c;
    snprintf(text, bytes, "librsb %.*s", (int)strcspn(version, " "), version);
}
