/* test_peak.c: memory that making a matrix and a plan of it has in use at most, beside arrays of
 * the caller's, in compressed rows of f64 values and 32-bit offsets. PEAK_PRINT=1 prints it. */
#include "arrays_there.h"
#include "host/host.h"
#include "purse.h"

/* ---- a context whose memory is counted ------------------------------------------------------- */

static spmv_ctx *context_with_purse(const spmv_backend *backend) {
    const spmv_ctx_opts opts = {.size = sizeof opts,
                                .backend = backend->name,
                                .threads = 2,
                                .allocator = &allocator_of_purse};
    spmv_ctx *ctx = NULL;
    if (!backend->host && !source_alloc) return NULL;
    memset(&purse, 0, sizeof purse);
    if (spmv_ctx_create_lazily(&opts, &ctx) == SPMV_OK && is_tested(ctx, backend)) return ctx;
    spmv_ctx_free(ctx);
    return NULL;
}

/* ---- the forms that a matrix is given in ----------------------------------------------------- */

typedef enum form { COPIED, LENT, UNSORTED, BY_COLUMNS, LENT_THERE, COPIED_THERE, FORMS } form;
static const char *const form_names[] = {"copied",     "lent",       "unsorted",
                                         "by columns", "lent there", "copied there"};

typedef struct given {
    spmv_arrays arrays;
    int32_t *reversed; /* with columns descending in every row */
    double *values;    /* for these */
    lent_arrays there;
    bool is_there;
} given;

static void reverse_rows(const spmv_csr_view *A, given *g) {
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i], end = A->row_ptr[i + 1]; k < end; k++) {
            const int64_t from = A->row_ptr[i] + end - 1 - k;
            g->reversed[k] = A->col_idx[from], g->values[k] = A->values[from];
        }
}

static given give_as(form f, const spmv_csr_view *A) {
    given g = {.is_there = f >= LENT_THERE};
    if (g.is_there) {
        g.arrays = send(A, 32, 0, SPMV_F64, f == LENT_THERE ? SPMV_BORROW : SPMV_COPY, &g.there);
        return g;
    }
    g.reversed = malloc((size_t)A->nnz * sizeof *g.reversed);
    g.values = malloc((size_t)A->nnz * sizeof *g.values);
    assert_true(g.reversed && g.values);
    reverse_rows(A, &g);
    g.arrays = ARRAYS(A->rows, A->cols, A->nnz, A->row_ptr, 64,
                      f == UNSORTED ? g.reversed : A->col_idx, f == UNSORTED ? g.values : A->values,
                      .flags = f == LENT ? SPMV_BORROW : SPMV_COPY, .by_columns = f == BY_COLUMNS);
    return g;
}

static void given_free(given *g) {
    free(g->reversed);
    free(g->values);
    if (g->is_there) lent_free(&g->there);
}

/* ---- peaks ----------------------------------------------------------------------------------- */

typedef struct peak { /* in bytes of compressed rows with 32-bit offsets */
    double here, there;
} peak;

typedef struct limit { /* limit of a plan's memory besides the rows */
    const char *kernel;
    peak plan;
} limit;

typedef struct limits {
    const char *matrix;
    limit of[12];
} limits;

static double in_rows(size_t bytes, const spmv_csr_view *A) {
    return (double)bytes / (12.0 * (double)A->nnz + 4.0 * (double)(A->rows + 1));
}

/* Returns the peak of the matrix and the plan. So few products are expected that "auto" times
 * nothing. The host's counts what one call needs, too, of the whole process. */
static peak peak_of(spmv_ctx *ctx, const spmv_csr_view *A, form f, const char *kernel) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .expected_calls = 100};
    given g = give_as(f, A);
    spmv_plan *plan = NULL;
    const size_t here = spmv_host_watch(), there = purse.out;
    purse.most = there;
    spmv_mat *mat = create(ctx, &g.arrays);
    const size_t making = spmv_host_most() - here, kept = spmv_host_watch() - here;
    const size_t kept_there = purse.out;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK)
        fail_msg("%s: %s", kernel, spmv_ctx_error(ctx));
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_true(kept_there + facts.peak_device_bytes <= purse.most);
    const size_t planning = kept + facts.peak_host_bytes;
    const peak most = {in_rows(making > planning ? making : planning, A),
                       in_rows(purse.most - there, A)};
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    given_free(&g);
    return most;
}

static void assert_peak(const char *matrix, form f, const char *kernel, peak is, peak most) {
    const double rounding = 0.005; /* an empty array has an address, too */
    if (getenv("PEAK_PRINT"))
        print_message("%-22s %-12s %-22s host %.2f of %.2f, device %.2f of %.2f\n", matrix,
                      form_names[f], kernel, is.here, most.here, is.there, most.there);
    if (is.here > most.here + rounding || is.there > most.there + rounding)
        fail_msg("%s, %s, %s: %.2f of %.2f compressed rows on the host, %.2f of %.2f on the device",
                 matrix, form_names[f], kernel, is.here, most.here, is.there, most.there);
}

/* Says what the matrix adds to what a plan takes: the host's rows have 64-bit offsets; entries in
 * another order than that of rows are kept, 16 bytes each. */
static peak of_matrix(form f) {
    static const double in_host_memory = 1.07, as_given = 1.35;
    return (peak){f == COPIED                        ? in_host_memory
                  : f == UNSORTED || f == BY_COLUMNS ? in_host_memory + as_given
                                                     : 0,
                  f == COPIED_THERE ? 1 : 0};
}

static void assert_peaks(spmv_ctx *ctx, const limits *all, form first, form end) {
    FREED(spmv_mat) *mat = must_load(ctx, all->matrix);
    spmv_csr_view A = rows_of(mat);
    for (form f = first; f < end; f++)
        for (const limit *l = all->of; l->kernel; l++) {
            const peak own = of_matrix(f);
            const peak most = {own.here + l->plan.here, own.there + l->plan.there};
            assert_peak(all->matrix, f, l->kernel, peak_of(ctx, &A, f, l->kernel), most);
        }
}

/* Borrowed rows take no memory; a store without much padding takes less than 1.2. */
TEST(on_the_host) {
    static const limits all[] = {
        {"gen:poisson2d:200",
         {{"csr_rows", {0.08, 0}},
          {"csr_balanced", {0.11, 0}},
          {"csell_slices", {0.11, 0}},
          {"csell_sym_slices", {0.77, 0}},
          {"sell16_lanes", {0.42, 0}},
          {"sss_rows", {0.58, 0}},
          {"csb_interleaved_blocks", {0.42, 0}}}},
        {"gen:random:20000:10",
         {{"csr_rows", {0.06, 0}},
          {"csr_balanced", {0.09, 0}},
          {"csell_slices", {0.88, 0}},
          {"sell16_lanes", {0.9, 0}},
          {"spc5_rows", {1.15, 0}},
          {"csb_interleaved_blocks", {1, 0}},
          {"auto", {1.2, 0}}}},
        {"gen:fem3d:9:3", {{"bsr_lanes", {0.97, 0}}, {"spc5_rows", {0.75, 0}}}},
    };
    FREED(spmv_ctx) *ctx = context_with_purse(&spmv_omp);
    if (!ctx) skip();
    for (int m = 0; m < COUNT(all); m++) assert_peaks(ctx, &all[m], COPIED, LENT_THERE);
}

/* Rows that are sent to build a store are freed as soon as they are read: the peak is at most 2
 * times the compressed rows if at most a quarter of the store is padding. Rows in device memory
 * remain. */
TEST(on_a_gpu) {
    static const limits sent[] = {
        {"gen:mesh:30000",
         {{"auto", {0, 2}},
          {"csr_lanes", {0, 1.1}},
          {"csr_balanced", {0, 1.1}},
          {"sell_thread_ahead", {0, 2}},
          {"csell_warp", {0, 1.88}},
          {"csell_lists", {0, 1.88}},
          {"xcache_block", {0, 1.8}},
          {"hubs", {0, 1.8}}}},
        {"gen:powerlaw:30000:8",
         {{"csell_warp", {0, 2}}, {"xcache_block", {0, 1.9}}, {"hubs", {0, 1.84}}}},
        {"gen:fem3d:9:3", {{"bsr_warp", {0, 2}}}},
    };
    static const limits there[] = {
        {"gen:mesh:30000",
         {{"auto", {0, 1.33}},
          {"csr_lanes", {0, 0}},
          {"sell_thread_ahead", {0, 1.33}},
          {"csell_warp", {0, 0.88}},
          {"csell_lists", {0, 1.08}},
          {"xcache_block", {1.07, 1.12}},
          {"hubs", {0, 1.2}}}},
    };
    spmv_ctx *ctx = context_with_purse(&spmv_cuda);
    if (!ctx) skip();
    for (int m = 0; m < COUNT(sent); m++) assert_peaks(ctx, &sent[m], COPIED, LENT);
    for (int m = 0; m < COUNT(there); m++) assert_peaks(ctx, &there[m], LENT_THERE, FORMS);
    static const limits few = {"gen:mesh:30000",
                               {{"csr_lanes", {0.03, 1.1}}, {"hubs", {0.03, 1.8}}}};
    assert_peaks(ctx, &few, LENT, LENT_THERE);
    spmv_ctx_free(ctx);
    assert_int_equal(purse.out, 0);
    assert_int_equal(purse.foreign, 0);
}

TEST_MAIN(take_backend, NULL, NULL)
