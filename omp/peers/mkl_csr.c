/* mkl_csr: oneMKL's inspector-executor on this project's CSR matrix: a peer to compare with.
 *
 * Source   Intel oneMKL, "Inspector-executor Sparse BLAS": create_csr, set_mv_hint, optimize, mv.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], or what optimize made of them;
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library; it is told to expect 1000 products, and given the plan's threads.
 * Cost     2 nnz flop; the bytes of CSR: what optimize copies is the library's secret.
 * Weak     32-bit offsets only (the LP64 interface); a matrix without nonzeros is not taken.
 * Repeats  bitwise: not guaranteed.
 * Params   none.
 */
#include "omp/kernel.h"
#include "formats/csr/csr.h"

#ifdef HAVE_MKL
#include <mkl_service.h>
#include <mkl_spblas.h>
#include <stdio.h>
#include <time.h>

enum { EXPECTED_CALLS = 1000 };
static const struct matrix_descr general = {.type = SPARSE_MATRIX_TYPE_GENERAL};

#define CREATE _Generic((real)0, double : mkl_sparse_d_create_csr, float : mkl_sparse_s_create_csr)
#define MULTIPLY _Generic((real)0, double : mkl_sparse_d_mv, float : mkl_sparse_s_mv)

static spmv_status mkl_status(const spmv_plan *p, sparse_status_t status, const char *what) {
    static const char *const text[] = {"success",       "not initialized",  "out of memory",
                                       "invalid value", "execution failed", "internal error",
                                       "not supported"};
    if (status == SPARSE_STATUS_SUCCESS) return SPMV_OK;
    return spmv_fail(p->device->ctx,
                     status == SPARSE_STATUS_ALLOC_FAILED    ? SPMV_E_NOMEM
                     : status == SPARSE_STATUS_NOT_SUPPORTED ? SPMV_E_UNSUITABLE
                                                             : SPMV_E_DEVICE,
                     "mkl_csr: %s: %s", what,
                     (size_t)status < sizeof text / sizeof *text ? text[status] : "unknown");
}

typedef struct team { /* what MKL was set to: it belongs to the caller */
    int threads, dynamic;
} team;

static team take_team(const spmv_plan *p) {
    team before = {.dynamic = mkl_get_dynamic()};
    mkl_set_dynamic(0); /* as many threads as asked for */
    before.threads = mkl_set_num_threads_local(p->device->threads);
    return before;
}

static void restore_team(team before) {
    mkl_set_num_threads_local(before.threads);
    mkl_set_dynamic(before.dynamic);
}

static void release(spmv_plan *p) {
    mkl_sparse_destroy(p->scratch);
}

/* The library loads most of itself when it first optimizes and multiplies: a matrix of one entry
 * makes it do so. A process does so once, and no plan is charged; later plans take microseconds. */
static void start_library(spmv_plan *p) {
    struct timespec start, end;
    MKL_INT row_ptr[] = {0, 1}, col_idx[] = {0};
    real value[] = {1}, x[] = {1}, y[] = {0};
    sparse_matrix_t matrix = NULL;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (CREATE(&matrix, SPARSE_INDEX_BASE_ZERO, 1, 1, row_ptr, row_ptr + 1, col_idx, value) ==
        SPARSE_STATUS_SUCCESS) {
        mkl_sparse_optimize(matrix);
        MULTIPLY(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix, general, x, 0, y);
        mkl_sparse_destroy(matrix);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    p->once_s = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    sparse_matrix_t matrix = NULL;
    if (sizeof(ofs) != sizeof(MKL_INT))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "mkl_csr: oneMKL's LP64 interface has 32-bit offsets: --index=32");
    if (A->s.nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "mkl_csr: oneMKL takes no matrix without entries");
    if (may_lack_threads(p))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "mkl_csr: oneMKL leaves rows out where OpenMP gives it fewer than its %d "
                         "threads: unset OMP_DYNAMIC, OMP_THREAD_LIMIT",
                         p->device->threads);
    start_library(p); /* a failure shows below */
    MKL_INT *row_ptr = (MKL_INT *)A->row_ptr;
    TRY(mkl_status(p,
                   CREATE(&matrix, SPARSE_INDEX_BASE_ZERO, (MKL_INT)A->s.rows, (MKL_INT)A->s.cols,
                          row_ptr, row_ptr + 1, A->col_idx, A->values),
                   "mkl_sparse_create_csr"));
    p->scratch = matrix;
    team before = take_team(p);
    sparse_status_t status =
        mkl_sparse_set_mv_hint(matrix, SPARSE_OPERATION_NON_TRANSPOSE, general, EXPECTED_CALLS);
    if (status == SPARSE_STATUS_SUCCESS) status = mkl_sparse_optimize(matrix);
    restore_team(before);
    return mkl_status(p, status, "mkl_sparse_optimize");
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    team before = take_team(p);
    sparse_status_t status = MULTIPLY(SPARSE_OPERATION_NON_TRANSPOSE, (real)alpha, p->scratch,
                                      general, x, (real)beta, y);
    restore_team(before);
    return mkl_status(p, status, "mkl_sparse_mv");
}

/* Of "... Library Version 2026.2-Product Build ...": its numbers say 2026, 0, update 2. */
static void library(const spmv_choice *c, char *text, size_t bytes) {
    char all[256] = "";
    (void)c;
    mkl_get_version_string(all, sizeof all - 1);
    const char *version = strpbrk(all, "0123456789");
    if (version) snprintf(text, bytes, "oneMKL %.*s", (int)strspn(version, ".0123456789"), version);
}
#define HOOKS .prepare = prepare, .run = run, .release = release, .library = library
#else
#define HOOKS .absent = "oneMKL: make deps-peers (or set MKLROOT), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(mkl_csr) = {
    .name = "mkl_csr",
    .format = "csr",
    .summary = "peer: oneMKL's inspector-executor, told to expect 1000 products",
    .params = params,
    .traits = SPMV_PEER,
    HOOKS,
};
