/* aocl_csr: AMD's AOCL-Sparse on this project's CSR matrix, optimized: a peer.
 *
 * Source   AMD AOCL user guide (57404), chapter AOCL-Sparse: aoclsparse_create_dcsr,
 *          aoclsparse_set_mv_hint, aoclsparse_optimize, aoclsparse_dmv, and the f32 functions.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], or what optimize made of them;
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows].
 * Work     that of the library, with a hint of 1000 products and the plan's threads, of which it
 *          uses at most as many as there are processors.
 * Cost     2 nnz flop; the bytes of CSR; what optimize copies is unknown.
 * Weak     32-bit offsets only; refuses a matrix without nonzeros; x must be finite; AMD's package
 *          contains a second OpenMP runtime, whose threads wait besides ours after a product.
 * Repeats  bitwise: not guaranteed.
 * Params   none.
 */
#include "omp/kernel.h"

#ifdef HAVE_AOCL
#include "formats/csr/csr.h"
#include "spmv_clock.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

enum { EXPECTED_CALLS = 1000, MOST_MISSING = 32 };
enum { OPERATION_NONE = 111, INDEX_BASE_ZERO = 0 };           /* constants of the library */
enum { NOT_IMPLEMENTED = 1, WRONG_TYPE = 9, NO_MEMORY = 10 }; /* its statuses */

/* Functions of the library, which is loaded by its path: its package has no headers, and its OpenMP
 * runtime must not replace ours. Matrices and descriptors are opaque pointers. */
typedef struct aocl {
    const char *(*get_version)(void);
    int (*create)(void **matrix, int base, int rows, int cols, int nnz, int *row_ptr, int *col_idx,
                  real *values);
    int (*create_descr)(void **descr);
    int (*set_mv_hint)(void *matrix, int operation, const void *descr, int calls);
    int (*optimize)(void *matrix);
    int (*multiply)(int operation, const real *alpha, void *matrix, const void *descr,
                    const real *x, const real *beta, real *y);
    int (*destroy)(void **matrix);
    int (*destroy_descr)(void *descr);
    int (*get_threads)(void);
    void (*set_threads)(int threads);
} aocl;

static aocl lib;          /* valid if found; never unloaded */
static bool found;        /* all functions were found */
static char problem[512]; /* otherwise, why not */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The libraries of a Python package do not name their folder; the loader reports a missing one,
 * which is loaded first from the same folder. */
static void *open_beside(const char *path) {
    char missing[1024];
    const char *slash = strrchr(path, '/');
    for (int turn = 0; turn < MOST_MISSING; turn++) {
        void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        const char *error = handle ? "" : dlerror();
        if (handle) return handle;
        snprintf(problem, sizeof problem, "%s", error);
        snprintf(missing, sizeof missing, "%.*s/%.*s", (int)(slash - path), path,
                 (int)strcspn(error, ":"), error);
        if (strncmp(error, "lib", 3) != 0 || !open_beside(missing)) return NULL;
    }
    return NULL;
}

static bool find_symbol(void *handle, const char *name, void *member) {
    void *symbol = dlsym(handle, name);
    memcpy(member, &symbol, sizeof symbol);
    if (!symbol) snprintf(problem, sizeof problem, "%s has no %s", AOCL_LIBRARY, name);
    return symbol != NULL;
}
#define OF_REAL(f64, f32) (sizeof(real) == sizeof(double) ? (f64) : (f32))

static void find_library(void) {
    void *handle = NULL;
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        snprintf(problem, sizeof problem, "AOCL-Sparse needs AVX2");
    else
        handle = open_beside(AOCL_LIBRARY);
    found = handle && find_symbol(handle, "aoclsparse_get_version", &lib.get_version) &&
            find_symbol(handle, OF_REAL("aoclsparse_create_dcsr", "aoclsparse_create_scsr"),
                        &lib.create) &&
            find_symbol(handle, "aoclsparse_create_mat_descr", &lib.create_descr) &&
            find_symbol(handle, "aoclsparse_set_mv_hint", &lib.set_mv_hint) &&
            find_symbol(handle, "aoclsparse_optimize", &lib.optimize) &&
            find_symbol(handle, OF_REAL("aoclsparse_dmv", "aoclsparse_smv"), &lib.multiply) &&
            find_symbol(handle, "aoclsparse_destroy", &lib.destroy) &&
            find_symbol(handle, "aoclsparse_destroy_mat_descr", &lib.destroy_descr) &&
            find_symbol(handle, "omp_get_max_threads", &lib.get_threads) &&
            find_symbol(handle, "omp_set_num_threads", &lib.set_threads);
}

typedef struct peer { /* scratch of a plan */
    void *matrix, *descr;
} peer;

static spmv_status aocl_status(const spmv_plan *p, int status, const char *what) {
    if (status == 0) return SPMV_OK;
    return spmv_fail(p->device->ctx,
                     status == NO_MEMORY                                 ? SPMV_E_NOMEM
                     : status == NOT_IMPLEMENTED || status == WRONG_TYPE ? SPMV_E_UNSUITABLE
                                                                         : SPMV_E_DEVICE,
                     "aocl_csr: %s: status %d", what, status);
}

/* Sets the library's number of threads; returns the previous one, which the caller restores. */
static int take_threads(const spmv_plan *p) {
    int before = lib.get_threads();
    lib.set_threads(p->device->threads);
    return before;
}

static void release(spmv_plan *p) {
    peer *t = p->scratch;
    if (t->matrix) lib.destroy(&t->matrix);
    if (t->descr) lib.destroy_descr(t->descr);
    spmv_host_free(t);
}

/* Multiplies a matrix of one entry, as for oneMKL, so that the library starts its threads; a
 * one-time cost of the process, not of the plan. */
static void start_library(spmv_plan *p, double start) {
    int row_ptr[] = {0, 1}, col_idx[] = {0};
    real value[] = {1}, x[] = {1}, y[] = {0}, one = 1, zero = 0;
    peer t = {NULL, NULL};
    if (lib.create_descr(&t.descr) == 0 &&
        lib.create(&t.matrix, INDEX_BASE_ZERO, 1, 1, 1, row_ptr, col_idx, value) == 0 &&
        lib.optimize(t.matrix) == 0)
        lib.multiply(OPERATION_NONE, &one, t.matrix, t.descr, x, &zero, y);
    if (t.matrix) lib.destroy(&t.matrix);
    if (t.descr) lib.destroy_descr(t.descr);
    p->once_s = spmv_now() - start;
}

static spmv_status check(const spmv_plan *p) {
    spmv_ctx *ctx = p->device->ctx;
    pthread_once(&once, find_library);
    if (!found) return spmv_fail(ctx, SPMV_E_FEATURE, "aocl_csr: %s", problem);
    if (sizeof(ofs) != sizeof(int))
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "aocl_csr: AOCL-Sparse has 64-bit offsets with 64-bit columns only: "
                         "offset_bits=32");
    if (p->host->nnz == 0)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "aocl_csr: AOCL-Sparse is not given matrices without entries");
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    double start = spmv_now();
    TRY(check(p)); /* loads the library if needed */
    int before = take_threads(p);
    start_library(p, start); /* a failure is reported below */
    peer *t = p->scratch = spmv_host_alloc(sizeof *t);
    int status = NO_MEMORY;
    if (t) {
        *t = (peer){NULL, NULL};
        status = lib.create(&t->matrix, INDEX_BASE_ZERO, (int)A->s.rows, (int)A->s.cols,
                            (int)A->s.nnz, (int *)A->row_ptr, A->col_idx, A->values);
        if (status == 0) status = lib.create_descr(&t->descr);
        if (status == 0)
            status = lib.set_mv_hint(t->matrix, OPERATION_NONE, t->descr, EXPECTED_CALLS);
        if (status == 0) status = lib.optimize(t->matrix);
    }
    lib.set_threads(before);
    return aocl_status(p, status, "creating and optimizing the matrix");
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const peer *t = p->scratch;
    const real alpha = (real)v->alpha, beta = (real)v->beta;
    int before = take_threads(p);
    int status = lib.multiply(OPERATION_NONE, &alpha, t->matrix, t->descr, v->x, &beta, v->z);
    lib.set_threads(before);
    return aocl_status(p, status, "aoclsparse_mv");
}

/* Extracts the version from "AOCL-Sparse 5.3.0 Build 20260507". */
static void library(const spmv_choice *c, char *text, size_t bytes) {
    (void)c;
    *text = 0;
    pthread_once(&once, find_library);
    if (!found) return;
    const char *all = lib.get_version(), *build = strstr(all, " Build");
    snprintf(text, bytes, "%.*s", (int)(build ? (size_t)(build - all) : strlen(all)), all);
}
#define HOOKS .prepare = prepare, .run = run, .release = release, .library = library
#else
#define HOOKS .absent = "AOCL-Sparse: make deps-peers (or set AOCLROOT), then make again"
#endif

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(aocl_csr) = {
    .name = "aocl_csr",
    .format = "csr",
    .summary = "peer: AMD's AOCL-Sparse, optimized for 1000 products",
    .params = params,
    .traits = SPMV_PEER | SPMV_PADS | SPMV_KEEPS_VALUES,
    HOOKS,
};
