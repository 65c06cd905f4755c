/* bench/values.c: time of spmv_mat_set_values, in products of the same plan, or of a transposed
 * plan (-T): bench_values [BACKEND [MATRIX...]]. Values are in the memory of the plan's device. */
#include "spmv_bench.h"
#include "spmv_clock.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURNS = 15 };

static int compare(const void *a, const void *b) {
    const double *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

static double median(double *seconds) {
    qsort(seconds, TURNS, sizeof *seconds, compare);
    return seconds[TURNS / 2];
}

typedef struct vectors { /* in the memory of the plan's device */
    void *x, *y, *values;
} vectors;

static spmv_status make_vectors(const spmv_plan *plan, const spmv_csr_view *A, size_t width,
                                vectors *v) {
    const int64_t longest = A->cols > A->rows ? A->cols : A->rows;
    const size_t n = (size_t)(longest > A->nnz ? longest : A->nnz);
    void *host = calloc(n ? n : 1, width);
    spmv_status status = host ? SPMV_OK : SPMV_E_NOMEM;
    for (size_t k = 0; host && k < (size_t)A->nnz; k++)
        if (width == sizeof(double))
            ((double *)host)[k] = 1 + 1e-3 * (double)(k % 1009);
        else
            ((float *)host)[k] = 1 + 1e-3f * (float)(k % 1009);
    if (!status) status = spmv_plan_alloc(plan, (size_t)longest * width, &v->x);
    if (!status) status = spmv_plan_alloc(plan, (size_t)longest * width, &v->y);
    if (!status) status = spmv_plan_alloc(plan, (size_t)A->nnz * width, &v->values);
    if (!status) status = spmv_plan_put(plan, v->x, host, (size_t)longest * width);
    if (!status) status = spmv_plan_put(plan, v->values, host, (size_t)A->nnz * width);
    free(host);
    return status;
}

static spmv_status time_both(const spmv_plan *plan, spmv_mat *mat, spmv_place place,
                             const vectors *v, double *product, double *refill) {
    const spmv_product one = {.plan = plan, .x = v->x, .y = v->y};
    double products[TURNS], refills[TURNS];
    for (int t = -1; t < TURNS; t++) {
        double seconds, start = spmv_now();
        spmv_status status = spmv_mat_set_values(mat, v->values, place, NULL);
        double end = spmv_now();
        if (!status) status = spmv_exec_timed(&one, 3, 1, 0, &seconds);
        if (status) return status;
        if (t >= 0) refills[t] = end - start, products[t] = seconds / 3;
    }
    *product = median(products);
    *refill = median(refills);
    return SPMV_OK;
}

/* Returns a new matrix from the rows of A, with values in this precision. */
static spmv_mat *copy_of(spmv_ctx *ctx, const spmv_csr_view *A, spmv_precision precision) {
    float *narrow = calloc((size_t)A->nnz + 1, sizeof *narrow);
    spmv_arrays a = {.size = sizeof a,
                     .rows = A->rows,
                     .cols = A->cols,
                     .nnz = A->nnz,
                     .ptr = A->row_ptr,
                     .idx = A->col_idx,
                     .values = precision == SPMV_F32 ? (void *)narrow : (void *)A->values,
                     .ptr_bits = 64,
                     .precision = precision,
                     .flags = SPMV_SORTED};
    spmv_mat *mat = NULL;
    for (int64_t k = 0; narrow && k < A->nnz; k++) narrow[k] = (float)A->values[k];
    if (!narrow || spmv_mat_create(ctx, &a, &mat)) fprintf(stderr, "%s\n", spmv_ctx_error(ctx));
    free(narrow);
    return mat;
}

static void bench(spmv_ctx *ctx, const char *spec, const spmv_csr_view *A, const char *kernel,
                  spmv_op op, spmv_precision precision, spmv_place place) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    vectors v = {NULL, NULL, NULL};
    spmv_plan *plan = NULL;
    double product = 0, refill = 0;
    spmv_mat *mat = copy_of(ctx, A, precision);
    opts.kernel = kernel;
    opts.op = op;
    opts.precision = precision;
    opts.refill = 1;
    opts.expected_calls = 10000;
    spmv_status status = mat ? spmv_plan_create(mat, &opts, &plan) : SPMV_E_NOMEM;
    if (!status)
        status = make_vectors(plan, A, precision == SPMV_F64 ? sizeof(double) : sizeof(float), &v);
    if (!status) status = time_both(plan, mat, place, &v, &product, &refill);
    if (status)
        printf("%-20s %-18s %s %s  %s\n", spec, kernel, op == SPMV_TRANSPOSE ? "-T" : "  ",
               precision == SPMV_F64 ? "f64" : "f32", spmv_ctx_error(ctx));
    else {
        spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
        spmv_plan_info(plan, &facts);
        printf("%-20s %-18s %s %s  product %9.1f us  new values %9.1f us  %6.1f products\n", spec,
               facts.kernel, op == SPMV_TRANSPOSE ? "-T" : "  ",
               precision == SPMV_F64 ? "f64" : "f32", 1e6 * product, 1e6 * refill,
               refill / product);
    }
    if (plan) {
        spmv_plan_release(plan, v.x);
        spmv_plan_release(plan, v.y);
        spmv_plan_release(plan, v.values);
    }
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

int main(int argc, char **argv) {
    static const char *const usual[] = {"gen:poisson3d:100", "gen:fem3d:40", "gen:mesh:1000000"};
    static const char *const omp[] = {"csr_rows",     "csr_balanced",     "sell_slices",
                                      "ell_rows",     "bsr_rows",         "bsr_lanes",
                                      "coo_segments", "csr_tiles_copied", "csell_slices",
                                      "sell16_lanes", "spc5_rows",        "auto"};
    static const char *const cuda[] = {"csr_lanes",    "csr_balanced", "csr_warp",
                                       "csell_warp",   "csell_lists",  "sell_thread_ahead",
                                       "xcache_block", "bsr_warp",     "auto"};
    spmv_ctx_opts opts = SPMV_OPTS(spmv_ctx_opts);
    spmv_ctx *ctx = NULL;
    opts.backend = argc > 1 ? argv[1] : "omp";
    const int on_gpu = strcmp(opts.backend, "cuda") == 0, given = argc > 2 ? argc - 2 : 3;
    const int nkernels =
        on_gpu ? (int)(sizeof cuda / sizeof *cuda) : (int)(sizeof omp / sizeof *omp);
    if (spmv_ctx_create(&opts, &ctx)) {
        fprintf(stderr, "%s\n", spmv_ctx_error(NULL));
        return 1;
    }
    for (int m = 0; m < given; m++) {
        const char *spec = argc > 2 ? argv[m + 2] : usual[m];
        spmv_load_opts random = {.size = sizeof random, .values = "random"};
        spmv_mat *mat = NULL;
        spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
        if (spmv_mat_load(ctx, spec, strncmp(spec, "gen:", 4) ? NULL : &random, &mat)) {
            fprintf(stderr, "%s\n", spmv_ctx_error(ctx));
            return 1;
        }
        spmv_mat_rows(mat, &A);
        for (int k = 0; k < nkernels; k++)
            for (int op = SPMV_AS_IS; op <= SPMV_TRANSPOSE; op++)
                for (int p = SPMV_F64; p <= SPMV_F32; p++)
                    bench(ctx, spec, &A, on_gpu ? cuda[k] : omp[k], (spmv_op)op, (spmv_precision)p,
                          on_gpu ? SPMV_DEVICE : SPMV_HOST);
        spmv_mat_free(mat);
    }
    spmv_ctx_free(ctx);
    return 0;
}
