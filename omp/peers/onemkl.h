/* onemkl.h: shared by the oneMKL peers: the inspector-executor interface to this project's CSR
 * matrix. Included only if the library is built in. */
#pragma once

#include "omp/kernel.h"
#include "formats/csr/csr.h"
#include "spmv_clock.h"

#include <mkl_service.h>
#include <mkl_spblas.h>
#include <stdio.h>

enum { EXPECTED_CALLS = 1000 };
static const struct matrix_descr general = {.type = SPARSE_MATRIX_TYPE_GENERAL};

#define CREATE _Generic((real)0, double : mkl_sparse_d_create_csr, float : mkl_sparse_s_create_csr)
#define MULTIPLY _Generic((real)0, double : mkl_sparse_d_mv, float : mkl_sparse_s_mv)
#define MULTIPLY_MANY _Generic((real)0, double : mkl_sparse_d_mm, float : mkl_sparse_s_mm)

static inline spmv_status mkl_status(const spmv_plan *p, sparse_status_t status, const char *what) {
    static const char *const text[] = {"success",       "not initialized",  "out of memory",
                                       "invalid value", "execution failed", "internal error",
                                       "not supported"};
    if (status == SPARSE_STATUS_SUCCESS) return SPMV_OK;
    return spmv_fail(p->device->ctx,
                     status == SPARSE_STATUS_ALLOC_FAILED    ? SPMV_E_NOMEM
                     : status == SPARSE_STATUS_NOT_SUPPORTED ? SPMV_E_UNSUITABLE
                                                             : SPMV_E_DEVICE,
                     "%s: %s: %s", p->kernel->name, what,
                     (size_t)status < sizeof text / sizeof *text ? text[status] : "unknown");
}

typedef struct team { /* previous settings of oneMKL, which belong to the caller */
    int threads, dynamic;
} team;

static inline team take_team(const spmv_plan *p) {
    team before = {.dynamic = mkl_get_dynamic()};
    mkl_set_dynamic(0); /* uses exactly as many threads as asked for */
    before.threads = mkl_set_num_threads_local(p->device->threads);
    return before;
}

static inline void restore_team(team before) {
    mkl_set_num_threads_local(before.threads);
    mkl_set_dynamic(before.dynamic);
}

static inline void release(spmv_plan *p) {
    mkl_sparse_destroy(p->scratch);
}

/* Multiplies a matrix of one entry, so that oneMKL loads most of itself: a one-time cost of the
 * process, not of the plan. */
static inline void start_library(spmv_plan *p) {
    const double start = spmv_now();
    MKL_INT row_ptr[] = {0, 1}, col_idx[] = {0};
    real value[] = {1}, x[] = {1}, y[] = {0};
    sparse_matrix_t matrix = NULL;
    if (CREATE(&matrix, SPARSE_INDEX_BASE_ZERO, 1, 1, row_ptr, row_ptr + 1, col_idx, value) ==
        SPARSE_STATUS_SUCCESS) {
        mkl_sparse_optimize(matrix);
        MULTIPLY(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix, general, x, 0, y);
        mkl_sparse_destroy(matrix);
    }
    p->once_s = spmv_now() - start;
}

/* Makes a oneMKL matrix that points to our arrays, without a copy. */
static inline spmv_status create_matrix(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    MKL_INT *row_ptr = (MKL_INT *)A->row_ptr;
    sparse_matrix_t matrix = NULL;
    if (sizeof(ofs) != sizeof(MKL_INT))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: oneMKL has 64-bit offsets with 64-bit columns only: offset_bits=32",
                         p->kernel->name);
    if (A->s.nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: oneMKL takes no matrix without entries", p->kernel->name);
    if (may_lack_threads(p))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: oneMKL leaves rows out where OpenMP gives it fewer than its %d "
                         "threads: unset OMP_DYNAMIC, OMP_THREAD_LIMIT",
                         p->kernel->name, p->device->threads);
    start_library(p); /* a failure is reported below */
    TRY(mkl_status(p,
                   CREATE(&matrix, SPARSE_INDEX_BASE_ZERO, (MKL_INT)A->s.rows, (MKL_INT)A->s.cols,
                          row_ptr, row_ptr + 1, A->col_idx, A->values),
                   "mkl_sparse_create_csr"));
    p->scratch = matrix;
    return SPMV_OK;
}

/* oneMKL multiplies by the transpose without a second matrix. */
static inline sparse_operation_t operation_of(const spmv_plan *p) {
    return p->transposes ? SPARSE_OPERATION_TRANSPOSE : SPARSE_OPERATION_NON_TRANSPOSE;
}

static inline spmv_status multiply(const spmv_plan *p, const spmv_operands *v) {
    team before = take_team(p);
    sparse_status_t status =
        MULTIPLY(operation_of(p), (real)v->alpha, p->scratch, general, v->x, (real)v->beta, v->z);
    restore_team(before);
    return mkl_status(p, status, "mkl_sparse_mv");
}

static inline sparse_layout_t layout_of(spmv_layout layout) {
    return layout == SPMV_ROWS ? SPARSE_LAYOUT_ROW_MAJOR : SPARSE_LAYOUT_COLUMN_MAJOR;
}

static inline spmv_status multiply_many(const spmv_plan *p, const spmv_operands *v) {
    if (v->k > INT32_MAX || v->ldx > INT32_MAX || v->ldz > INT32_MAX)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: oneMKL counts vectors and leading dimensions with 32 bits",
                         p->kernel->name);
    team before = take_team(p);
    sparse_status_t status =
        MULTIPLY_MANY(operation_of(p), (real)v->alpha, p->scratch, general, layout_of(v->layout),
                      v->x, (MKL_INT)v->k, (MKL_INT)v->ldx, (real)v->beta, v->z, (MKL_INT)v->ldz);
    restore_team(before);
    return mkl_status(p, status, "mkl_sparse_mm");
}

/* Tells the library the expected products; it reads the matrix when it optimizes. */
static inline sparse_status_t give_hint(const spmv_plan *p) {
    if (p->vectors <= 1)
        return mkl_sparse_set_mv_hint(p->scratch, operation_of(p), general, EXPECTED_CALLS);
    const MKL_INT vectors = p->vectors < INT32_MAX ? (MKL_INT)p->vectors : INT32_MAX;
    return mkl_sparse_set_mm_hint(p->scratch, operation_of(p), general, layout_of(p->layout),
                                  vectors, EXPECTED_CALLS);
}

/* Extracts the version from "... Library Version 2026.2-Product Build ..."; the numeric version
 * would be 2026, 0, update 2. */
static inline void library(const spmv_choice *c, char *text, size_t bytes) {
    char all[256] = "";
    (void)c;
    mkl_get_version_string(all, sizeof all - 1);
    const char *version = strpbrk(all, "0123456789");
    if (version) snprintf(text, bytes, "oneMKL %.*s", (int)strspn(version, ".0123456789"), version);
}
