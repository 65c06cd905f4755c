/* test_arrays.c: spmv_mat_create: arrays that are used where they lie, on the host or a device, and
 * what plans keep in memory beside them. */
#include "spmv_clock.h"
#include "kernels.h"

typedef struct rows { /* compressed rows, ascending, as a caller may have them */
    int64_t rows, cols, nnz, *ptr;
    int32_t *ptr_32, *idx;
    double *values;
} rows;

static rows copied_rows(const spmv_mat *mat) {
    spmv_csr_view A = rows_of(mat);
    rows r = {A.rows, A.cols, A.nnz, NULL, NULL, NULL, NULL};
    r.ptr = malloc((size_t)(A.rows + 1) * sizeof *r.ptr);
    r.ptr_32 = malloc((size_t)(A.rows + 1) * sizeof *r.ptr_32);
    r.idx = malloc((size_t)A.nnz * sizeof *r.idx);
    r.values = malloc((size_t)A.nnz * sizeof *r.values);
    assert_true(r.ptr && r.ptr_32 && r.idx && r.values);
    memcpy(r.ptr, A.row_ptr, (size_t)(A.rows + 1) * sizeof *r.ptr);
    memcpy(r.idx, A.col_idx, (size_t)A.nnz * sizeof *r.idx);
    memcpy(r.values, A.values, (size_t)A.nnz * sizeof *r.values);
    for (int64_t i = 0; i <= A.rows; i++) r.ptr_32[i] = (int32_t)r.ptr[i];
    return r;
}

static void rows_free(rows *r) {
    free(r->ptr);
    free(r->ptr_32);
    free(r->idx);
    free(r->values);
}

STRUCT_AT_END(rows, rows_free)

static spmv_arrays arrays_of(const rows *r, unsigned flags) {
    return ARRAYS(r->rows, r->cols, r->nnz, r->ptr, 64, r->idx, r->values, .flags = flags);
}

static spmv_mat *create(spmv_ctx *ctx, const spmv_arrays *arrays) {
    spmv_mat *mat = NULL;
    if (spmv_mat_create(ctx, arrays, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return mat;
}

static spmv_plan *plan_with(spmv_mat *mat, const char *kernel) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = kernel;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(mat->ctx));
    return plan;
}

/* The plan's product is that of the subject's matrix. */
static void assert_multiplies(const spmv_plan *plan, const subject *s) {
    setup c = {.precision = SPMV_F64};
    snprintf(c.kernel, sizeof c.kernel, "%s", plan->kernel->name);
    tally = (struct tally){0};
    workplace w = workplace_of(plan, s, SPMV_F64);
    try_product(&c, s, &w, (scaling){1, 0});
    workplace_free(&w);
    assert_int_equal(tally.wrong, 0);
}

/* ---- host memory ---------------------------------------------------------------------------- */

TEST(borrowed_rows_are_used_as_they_are) {
    FREED(lone_subject) s = fixture_subject("long tail", 2);
    FREED(rows) r = copied_rows(s.mat);
    spmv_arrays arrays = arrays_of(&r, SPMV_BORROW);
    FREED(spmv_mat) *mat = create(s.mat->ctx, &arrays);
    spmv_coo_view entries_there = SPMV_OPTS(spmv_coo_view), entries_here = entries_there;
    spmv_csr_view A = rows_of(mat);
    assert_ptr_equal(A.row_ptr, r.ptr);
    assert_ptr_equal(A.col_idx, r.idx);
    assert_ptr_equal(A.values, r.values);
    static const char *const kernels[] = {"csr_rows", "sell_slices", "csell_slices"};
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan = plan_with(mat, kernels[k]);
        assert_multiplies(plan, &s);
    }
    arrays.ptr = r.ptr_32, arrays.ptr_bits = 32, arrays.flags = SPMV_COPY;
    FREED(spmv_mat) *copied = create(s.mat->ctx, &arrays);
    spmv_mat_entries(mat, &entries_here);
    spmv_mat_entries(copied, &entries_there);
    assert_int_equal(entries_here.nnz, r.nnz);
    assert_memory_equal(entries_here.row, entries_there.row, (size_t)r.nnz * sizeof(int32_t));
    assert_memory_equal(entries_here.col, r.idx, (size_t)r.nnz * sizeof(int32_t));
    assert_memory_equal(entries_here.values, r.values, (size_t)r.nnz * sizeof(double));
}

/* The statistics include the time of making a matrix, also if its rows are borrowed. */
TEST(making_is_timed) {
    FREED(lone_subject) s = fixture_subject("long tail", 2);
    FREED(rows) r = copied_rows(s.mat);
    spmv_arrays arrays = arrays_of(&r, SPMV_BORROW);
    const double start = spmv_now();
    FREED(spmv_mat) *mat = create(s.mat->ctx, &arrays);
    const double took = spmv_now() - start;
    spmv_stats stats = stats_of(mat);
    assert_true(stats.build_s > 0 && stats.build_s <= took);
    double checking_s = spmv_now(); /* is most of it here: reading every index */
    int64_t sum = 0;
    for (int64_t k = 0; k < r.nnz; k++) sum += r.idx[k];
    checking_s = spmv_now() - checking_s;
    assert_true(sum >= 0 && stats.build_s > checking_s / 100);
}

/* New values in another array, then in the same array. */
TEST(borrowed_values_are_borrowed_again) {
    FREED(lone_subject) s = fixture_subject("every length", 2);
    FREED(rows) r = copied_rows(s.mat);
    spmv_arrays arrays = arrays_of(&r, SPMV_BORROW);
    FREED(double) *fresh = random_vector(17, r.nnz);
    FREED(spmv_mat) *mat = create(s.mat->ctx, &arrays);
    spmv_plan *plans[] = {plan_with(mat, "csr_rows"), plan_with(mat, "csr_balanced"),
                          plan_with(mat, "sell_slices")};
    for (int turn = 0; turn < 3; turn++) {
        for (int64_t k = 0; turn == 2 && k < r.nnz; k++) fresh[k] *= -3;
        const double *set_last = turn == 1 ? r.values : fresh;
        arrays.values = set_last;
        FREED(subject) now = random_subject(create(s.mat->ctx, &arrays), s.name);
        assert_int_equal(spmv_mat_set_values(mat, fresh, SPMV_HOST, NULL), SPMV_OK);
        if (turn == 1)
            assert_int_equal(spmv_mat_set_values(mat, set_last, SPMV_HOST, NULL), SPMV_OK);
        spmv_csr_view A = rows_of(mat);
        assert_ptr_equal(A.values, set_last);
        for (int p = 0; p < COUNT(plans); p++) assert_multiplies(plans[p], &now);
    }
    for (int p = 0; p < COUNT(plans); p++) spmv_plan_free(plans[p]);
}

static size_t host_bytes(spmv_ctx *ctx, const spmv_arrays *arrays, const char *kernel) {
    FREED(spmv_mat) *mat = create(ctx, arrays);
    FREED(spmv_plan) *plan = plan_with(mat, kernel);
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_int_equal(facts.device_bytes, 0);
    return facts.host_bytes;
}

TEST(facts_say_what_is_kept) {
    FREED(lone_subject) s = fixture_subject("dense row", 2);
    FREED(rows) r = copied_rows(s.mat);
    const size_t narrow = (size_t)(r.rows + 1) * 4, wide = 2 * narrow, nnz = (size_t)r.nnz;
    spmv_arrays lent = arrays_of(&r, SPMV_BORROW), copied = arrays_of(&r, SPMV_COPY);
    assert_int_equal(host_bytes(s.mat->ctx, &lent, "csr_rows"), narrow); /* 32-bit offsets */
    assert_int_equal(host_bytes(s.mat->ctx, &copied, "csr_rows"), narrow + wide + 12 * nnz);
    assert_int_equal(host_bytes(s.mat->ctx, &copied, "coo_segments"),
                     host_bytes(s.mat->ctx, &lent, "coo_segments") + wide + 12 * nnz);
}

TEST(a_place_must_be_one) {
    FREED(lone_subject) s = fixture_subject("dense", 1);
    FREED(rows) r = copied_rows(s.mat);
    spmv_arrays arrays = arrays_of(&r, SPMV_COPY);
    spmv_mat *mat = NULL;
    arrays.place = (spmv_place)5;
    assert_int_equal(spmv_mat_create(s.mat->ctx, &arrays, &mat), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(s.mat->ctx), "place is 5"));
    arrays.place = SPMV_DEVICE;
    assert_int_equal(spmv_mat_create(s.mat->ctx, &arrays, &mat), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(s.mat->ctx), "has no device"));
    assert_null(mat);
}

/* ---- a device's memory ---------------------------------------------------------------------- */

typedef struct there { /* arrays on a plan's device */
    const spmv_plan *plan;
    void *array[3];
} there;

static const void *sent(there *t, int k, const void *from, size_t bytes) {
    assert_int_equal(spmv_plan_alloc(t->plan, bytes, &t->array[k]), SPMV_OK);
    assert_int_equal(spmv_plan_put(t->plan, t->array[k], from, bytes), SPMV_OK);
    return t->array[k];
}

/* Returns the same arrays on the device. */
static spmv_arrays send(there *t, const spmv_arrays *here) {
    const size_t lines = (size_t)(here->by_columns ? here->cols : here->rows);
    const size_t nnz = (size_t)here->nnz;
    spmv_arrays a = *here;
    a.ptr = sent(t, 0, here->ptr, (lines + 1) * (size_t)here->ptr_bits / 8);
    a.idx = sent(t, 1, here->idx, nnz * sizeof *here->idx);
    a.values = sent(t, 2, here->values, nnz * width_of(here->precision));
    a.place = SPMV_DEVICE;
    return a;
}

static spmv_ctx *gpu_context(void) {
    const spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda", .threads = 2};
    spmv_ctx *ctx = NULL;
    if (spmv_ctx_create_lazily(&opts, &ctx) == SPMV_OK && is_usable(ctx, &spmv_cuda)) return ctx;
    spmv_ctx_free(ctx);
    skip();
    return NULL;
}

/* 3 x 4:  . 5 . 2 / . . . . / 7 . -1 3, in several ways. */
TEST(arrays_may_lie_on_the_device) {
    static const int64_t rows_64[] = {1, 3, 3, 6}, columns_64[] = {0, 1, 2, 3, 5};
    static const int32_t rows_32[] = {0, 2, 2, 5}, unsorted[] = {4, 2, 4, 1, 3};
    static const int32_t sorted[] = {1, 3, 0, 2, 3}, of_columns[] = {2, 0, 2, 0, 2};
    static const double in_order[] = {5, 2, 7, -1, 3}, mixed[] = {2, 5, 3, 7, -1};
    static const float narrow[] = {7, 5, -1, 2, 3};
    const spmv_arrays all = {.size = sizeof all, .rows = 3, .cols = 4, .nnz = 5};
    spmv_arrays ways[3] = {all, all, all};
    ways[0].ptr = rows_32, ways[0].ptr_bits = 32, ways[0].idx = sorted, ways[0].values = in_order;
    ways[1].ptr = rows_64, ways[1].ptr_bits = 64, ways[1].idx = unsorted, ways[1].values = mixed;
    ways[1].base = 1;
    ways[2].ptr = columns_64, ways[2].ptr_bits = 64, ways[2].idx = of_columns;
    ways[2].values = narrow, ways[2].precision = SPMV_F32, ways[2].by_columns = 1;
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(subject) s = random_subject(create(ctx, &ways[0]), "3 x 4");
    FREED(spmv_plan) *first = plan_with(s.mat, "csr_lanes");
    for (int w = 0; w < COUNT(ways); w++)
        for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
            there t = {.plan = first};
            spmv_arrays arrays = send(&t, &ways[w]);
            arrays.flags = flags | SPMV_VALIDATE;
            spmv_mat *mat = create(ctx, &arrays);
            spmv_plan *plan = plan_with(mat, "csr_lanes");
            assert_multiplies(plan, &s);
            spmv_plan_free(plan);
            spmv_mat_free(mat);
            for (int k = 0; k < 3; k++) spmv_plan_release(first, t.array[k]);
        }
}

static const int32_t two_rows[] = {0, 2, 3}, two_columns[] = {0, 1, 1};
static const double one_two_three[] = {1, 2, 3}, four_five_six[] = {4, 5, 6};

static spmv_arrays small_arrays(unsigned flags) {
    return ARRAYS(2, 2, 3, two_rows, 32, two_columns, one_two_three, .flags = flags);
}

/* Kernels would read it, and the GPU would not work any more. */
TEST(host_memory_is_not_the_devices) {
    static const char *const names[] = {"spmv_arrays.ptr", "spmv_arrays.idx", "spmv_arrays.values"};
    FREED(spmv_ctx) *ctx = gpu_context();
    const spmv_arrays here = small_arrays(SPMV_BORROW);
    spmv_mat *mat = create(ctx, &here), *other = NULL;
    spmv_plan *plan = plan_with(mat, "csr_lanes");
    there t = {.plan = plan};
    const spmv_arrays sent = send(&t, &here);
    for (int k = 0; k < 3; k++) {
        spmv_arrays a = sent;
        if (k == 0) a.ptr = here.ptr;
        if (k == 1) a.idx = here.idx;
        if (k == 2) a.values = here.values;
        assert_int_equal(spmv_mat_create(ctx, &a, &other), SPMV_E_ARG);
        assert_null(other);
        if (!strstr(spmv_ctx_error(ctx), names[k])) fail_msg("%s", spmv_ctx_error(ctx));
    }
    assert_int_equal(spmv_mat_set_values(mat, four_five_six, SPMV_DEVICE, NULL), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "spmv_mat_set_values: values"));
    assert_int_equal(spmv_mat_set_values(mat, sent.values, SPMV_DEVICE, NULL), SPMV_OK);
    for (int k = 0; k < 3; k++) spmv_plan_release(plan, t.array[k]);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

/* A view stays valid if only the device has new values: the next request copies the values into its
 * array. */
TEST(views_stay) {
    FREED(spmv_ctx) *ctx = gpu_context();
    const spmv_arrays here = small_arrays(SPMV_COPY);
    FREED(spmv_mat) *first = create(ctx, &here);
    FREED(spmv_plan) *keeper = plan_with(first, "csr_lanes");
    for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
        there t = {.plan = keeper};
        spmv_arrays sent = send(&t, &here);
        spmv_csr_view before = SPMV_OPTS(spmv_csr_view), after = before;
        sent.flags = flags;
        spmv_mat *mat = create(ctx, &sent);
        spmv_plan *plan = plan_with(mat, "csr_lanes");
        spmv_mat_rows(mat, &before);
        assert_memory_equal(before.values, one_two_three, sizeof one_two_three);
        assert_int_equal(spmv_plan_put(plan, t.array[2], four_five_six, sizeof four_five_six),
                         SPMV_OK);
        assert_int_equal(spmv_mat_set_values(mat, t.array[2], SPMV_DEVICE, NULL), SPMV_OK);
        spmv_mat_rows(mat, &after);
        assert_ptr_equal(before.values, after.values);
        assert_ptr_equal(before.row_ptr, after.row_ptr);
        assert_ptr_equal(before.col_idx, after.col_idx);
        assert_memory_equal(before.values, four_five_six, sizeof four_five_six);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        for (int k = 0; k < 3; k++) spmv_plan_release(keeper, t.array[k]);
    }
}

/* More than any machine has, which is seen before the entries are: there are none. */
TEST(copies_of_borrowed_arrays_must_fit) {
    const int64_t nnz = (int64_t)1 << 44, ptr[] = {0, nnz};
    FREED(spmv_ctx) *ctx = context_of(1);
    int32_t column = 0;
    float value = 0;
    spmv_mat *mat = NULL;
    spmv_arrays a =
        WITH(spmv_arrays, .rows = 1, .cols = 1, .nnz = nnz, .ptr = ptr, .idx = &column,
             .values = &value, .ptr_bits = 64, .precision = SPMV_F32, .flags = SPMV_BORROW);
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_E_NOMEM);
    assert_non_null(strstr(spmv_ctx_error(ctx), "GB are free"));
    assert_null(mat);
}

TEST_MAIN(take_backend, NULL, NULL)
