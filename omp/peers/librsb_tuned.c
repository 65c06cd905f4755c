/* librsb_tuned: librsb's recursive sparse blocks, autotuned once: a peer to compare with.
 *
 * Source   Martone, librsb 1.3, rsb_mtx_alloc_from_csr_const, rsb_tune_spmm, rsb_spmv.
 * Reads    librsb's own copy of the csr matrix; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library: quadtree of COO and CSR blocks, shared out among the plan's
 *          threads.
 * Cost     2 nnz flop; the bytes of its blocks, which it is asked for.
 * Weak     32-bit offsets only; tuning takes tens to hundreds of products, at most a second.
 * Repeats  bitwise: not guaranteed, blocks of a row end in any order.
 * Params   none.
 */
#include "omp/kernel.h"
#include "formats/csr/csr.h"

#ifdef HAVE_LIBRSB
#include <rsb.h>
#include <stdio.h>
#include <time.h>

enum { ROUNDS = 1 };
static const rsb_time_t most_s = 1;

static const rsb_type_t type =
    sizeof(real) == sizeof(double) ? RSB_NUMERICAL_TYPE_DOUBLE : RSB_NUMERICAL_TYPE_FLOAT;

static spmv_status rsb_status(const spmv_plan *p, rsb_err_t error, const char *what) {
    char text[256] = "";
    if (error == RSB_ERR_NO_ERROR) return SPMV_OK;
    rsb_strerror_r(error, text, sizeof text);
    return spmv_fail(p->device->ctx, error == RSB_ERR_ENOMEM ? SPMV_E_NOMEM : SPMV_E_DEVICE,
                     "librsb_tuned: %s: %s", what, text);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The library keeps its thread count for the whole process: each call sets it. It counts on as many
 * as it asks for, and ends in memory that is not there when OpenMP gives it fewer. */
static spmv_status set_threads(const spmv_plan *p) {
    rsb_int_t threads = p->device->threads;
    if (may_lack_threads(p))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "librsb_tuned: librsb fails where OpenMP gives it fewer than its %d "
                         "threads: unset OMP_DYNAMIC, OMP_THREAD_LIMIT",
                         (int)threads);
    return rsb_status(p, rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &threads),
                      "setting the threads");
}

static void release(spmv_plan *p) {
    rsb_mtx_free(p->scratch);
}

static spmv_status tune(spmv_plan *p) {
    struct rsb_mtx_t *matrix = p->scratch;
    rsb_err_t error =
        rsb_tune_spmm(&matrix, NULL, NULL, ROUNDS, most_s, RSB_TRANSPOSITION_N, NULL, NULL, 1,
                      RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, NULL, 0, NULL, NULL, 0);
    p->scratch = matrix;
    return rsb_status(p, error, "rsb_tune_spmm");
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->host;
    rsb_err_t error = RSB_ERR_NO_ERROR;
    size_t bytes = 0;
    if (sizeof(ofs) != sizeof(rsb_coo_idx_t))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "librsb_tuned: librsb has 32-bit offsets: --index=32");
    if (A->s.nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "librsb_tuned: librsb takes no matrix without entries");
    double start = now();
    TRY(rsb_status(p, rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init"));
    p->once_s = now() - start;
    TRY(set_threads(p));
    p->scratch = rsb_mtx_alloc_from_csr_const(
        A->values, (const rsb_coo_idx_t *)A->row_ptr, A->col_idx, (rsb_nnz_idx_t)A->s.nnz, type,
        (rsb_coo_idx_t)A->s.rows, (rsb_coo_idx_t)A->s.cols, 1, 1, RSB_FLAG_NOFLAGS, &error);
    if (!p->scratch && error == RSB_ERR_NO_ERROR) error = RSB_ERR_GENERIC_ERROR;
    TRY(rsb_status(p, error, "rsb_mtx_alloc_from_csr_const"));
    TRY(tune(p));
    TRY(rsb_status(p, rsb_mtx_get_info(p->scratch, RSB_MIF_TOTAL_SIZE__TO__SIZE_T, &bytes),
                   "rsb_mtx_get_info"));
    p->scratch_bytes = p->traffic_bytes = bytes;
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    real a = (real)alpha, b = (real)beta;
    TRY(set_threads(p));
    return rsb_status(p, rsb_spmv(RSB_TRANSPOSITION_N, &a, p->scratch, x, 1, &b, y, 1), "rsb_spmv");
}

/* The library has no call that tells its version: this is its header's, "librsb version 1.3.0.2 -
 * 202212201855". */
static void library(const spmv_choice *c, char *text, size_t bytes) {
    const char *version = strpbrk(RSB_HEADER_VERSION_STRING, "0123456789");
    (void)c;
    snprintf(text, bytes, "librsb %.*s", (int)strcspn(version, " "), version);
}
#define HOOKS .prepare = prepare, .run = run, .release = release, .library = library
#else
#define HOOKS .absent = "librsb: make deps-peers (Debian: librsb-dev), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(librsb_tuned) = {
    .name = "librsb_tuned",
    .format = "csr",
    .summary = "peer: librsb's recursive sparse blocks, autotuned once",
    .params = params,
    .traits = SPMV_PEER,
    HOOKS,
};
