/* test_device_memory.c: on a GPU, what goes wrong with memory: whatever a kernel takes comes from
 * the caller's allocator and goes back to it; where there is none the host converts, and new values
 * arrive all the same, in copied plans, too. And forecasts of memory: for these without a GPU. */
#include "matrix/stores/stored.h"
#include "purse.h"

static spmv_ctx *gpu_context(void) {
    const spmv_ctx_opts opts = {
        .size = sizeof opts, .backend = "cuda", .threads = 1, .allocator = &allocator_of_purse};
    spmv_ctx *ctx = NULL;
    memset(&purse, 0, sizeof purse);
    if (source_alloc && spmv_ctx_create_lazily(&opts, &ctx) == SPMV_OK &&
        is_usable(ctx, &spmv_cuda))
        return ctx;
    spmv_ctx_free(ctx);
    skip();
    return NULL;
}

static spmv_mat *few_values(spmv_ctx *ctx, const char *name) {
    const spmv_load_opts opts = {.size = sizeof opts, .values = "few:8"};
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_load(ctx, name, &opts, &mat), SPMV_OK);
    return mat;
}

static bool is_right(const spmv_plan *plan, const subject *s) {
    const setup c = {.precision = SPMV_F64};
    FREED(workplace) w = workplace_of(plan, s, SPMV_F64);
    tally = (struct tally){0};
    try_product(&c, s, &w, (scaling){1, 0});
    return tally.wrong == 0;
}

TEST(every_kernel_uses_the_callers_memory) {
    spmv_ctx *ctx = gpu_context();
    spmv_mat *mat = few_values(ctx, "gen:poisson2d:20");
    for (int k = 0; k < spmv_cuda.nkernels; k++) {
        spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
        spmv_plan *plan = NULL;
        char name[64];
        if (!is_here(&spmv_cuda, k)) continue;
        snprintf(name, sizeof name, "cuda:%s", spmv_cuda.kernels[k][0]->name);
        opts.kernel = name;
        const size_t before = purse.out;
        if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) continue;
        spmv_plan_facts facts = plan_facts_of(plan);
        if (!(plan->kernel->traits & SPMV_PEER) && facts.peak_device_bytes < purse.out - before)
            fail_msg("%s: a peak of %zu bytes", name, facts.peak_device_bytes);
        spmv_plan_free(plan);
        spmv_mat_drop_stores(mat);
        if (purse.foreign || purse.out != before)
            fail_msg("%s: %d foreign blocks, %zu bytes kept", name, purse.foreign,
                     purse.out - before);
    }
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
    assert_int_equal(purse.out, 0);
    assert_int_equal(purse.foreign, 0);
}

/* A plan of codes, of which the host converted the store: NULL: with that many blocks before one is
 * refused, it was not the host. */
static spmv_plan *converted_by_host(spmv_mat *mat, const char *kernel, int blocks) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = kernel;
    purse.refused = blocks + 1;
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    purse.refused = 0;
    if (status == SPMV_E_NOMEM) return NULL;
    assert_int_equal(status, SPMV_OK);
    spmv_plan_facts facts = plan_facts_of(plan);
    if (facts.note && strstr(facts.note, "converted by the host")) return plan;
    spmv_plan_free(plan);
    return NULL;
}

/* New values from the same small set: a plan accepts the values or fails with a message. */
TEST(what_the_host_converted_takes_new_values) {
    static const char *const kernels[] = {"cuda:csell_lists", "cuda:csell_warp",
                                          "cuda:xcache_block", "cuda:hubs"};
    FREED(spmv_ctx) *ctx = gpu_context();
    for (int n = 0; n < COUNT(kernels); n++) {
        spmv_mat *mat = few_values(ctx, "gen:poisson2d:40");
        spmv_plan *plan = NULL;
        for (int k = 0; k < 20 && !plan; k++) plan = converted_by_host(mat, kernels[n], k);
        if (!plan) fail_msg("%s: the host never converts", kernels[n]);
        spmv_csr_view A = rows_of(mat);
        FREED(double) *other = vector_of(A.values, A.nnz, SPMV_F64);
        for (int64_t k = 0; k < A.nnz; k++) other[k] = A.values[A.nnz - 1 - k];
        const spmv_status status = spmv_mat_set_values(mat, other, SPMV_HOST, NULL);
        spmv_plan_facts facts = plan_facts_of(plan);
        assert_int_equal(status, facts.refills ? SPMV_OK : SPMV_E_UNSUITABLE);
        subject s = random_subject(mat, "new values");
        if (!is_right(plan, &s)) fail_msg("%s: another product, status %d", kernels[n], status);
        spmv_plan_free(plan);
        subject_free(&s);
    }
}

static spmv_plan *plan_by(spmv_mat *mat, const char *kernel) {
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel);
    return must_plan(mat, &opts);
}

/* A store that both use has its arrays twice: each copied plan follows those on its side. */
TEST(copied_plans_of_both_sides_follow) {
    FREED(spmv_ctx) *ctx = gpu_context();
    spmv_mat *mat = few_values(ctx, "gen:poisson2d:20");
    spmv_plan *plan[4] = {plan_by(mat, "omp:csr_rows"), plan_by(mat, "cuda:csr_thread")};
    assert_ptr_equal(plan[0]->host, plan[1]->host);
    for (int k = 0; k < 2; k++) assert_int_equal(spmv_plan_copy(plan[k], &plan[2 + k]), SPMV_OK);
    spmv_csr_view A = rows_of(mat);
    FREED(double) *other = random_vector(3, A.nnz);
    assert_int_equal(spmv_mat_set_values(mat, other, SPMV_HOST, NULL), SPMV_OK);
    FREED(subject) s = random_subject(mat, "new values");
    for (int k = 0; k < 4; k++) assert_true(is_right(plan[k], &s));
    for (int k = 0; k < 4; k++) spmv_plan_free(plan[k]);
}

/* Rows in device memory are absent from host memory; a kernel that reads rows on the host declares
 * it. */
TEST(forecasts_that_read_rows_say_so) {
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(spmv_mat) *mat = few_values(ctx, "gen:poisson2d:20");
    spmv_csr_view A = rows_of(mat);
    const spmv_csr_view sizes = {sizeof(spmv_csr_view), A.rows, A.cols, A.nnz, NULL, NULL, NULL};
    int asked = 0;
    for (int k = 0; spmv_cuda.kernels && k < spmv_cuda.nkernels; k++) {
        const spmv_kernel *kernel = spmv_cuda.kernels[k][0];
        spmv_choice c = {{0}};
        if (!kernel->estimate || kernel->traits & SPMV_READS_ROWS) continue;
        if (!spmv_cuda.formats || !spmv_device_builder(&spmv_cuda, kernel->format, 0)) continue;
        for (int id = 0; id < SPMV_NPARAMS; id++) {
            const spmv_param *p = spmv_param_of(kernel, (spmv_param_id)id);
            if (p) c.value[id] = p->default_value;
        }
        assert_int_equal(kernel->estimate(&sizes, &c), kernel->estimate(&A, &c));
        asked++;
    }
    if (spmv_cuda.kernels) assert_in_range(asked, 4, 100);
}

TEST_MAIN(take_backend, NULL, NULL)
