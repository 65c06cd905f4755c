/* test_library.c: spmv.h from the outside: arguments that are missing or impossible, options of
 * other headers, matrices from arrays, handles freed in any order. */
#include "api.h"

static spmv_mat *matrix(const char *name) {
    return must_load(ctx, name);
}

static spmv_plan *plan_of(spmv_mat *mat, const char *kernel, int threads) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .threads = threads};
    spmv_plan *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan)) fail_msg("%s: %s", kernel, spmv_ctx_error(ctx));
    return plan;
}

/* ---- arguments ------------------------------------------------------------------------------ */

TEST(missing_arguments_are_named) {
    spmv_mat *mat = matrix("gen:diagonal:4"), *made = NULL;
    spmv_plan *plan = plan_of(mat, "csr_rows", 0), *other = NULL;
    spmv_coo_view entries = SPMV_OPTS(spmv_coo_view);
    spmv_csr_view rows = SPMV_OPTS(spmv_csr_view);
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    double x[4] = {0}, y[4] = {0}, seconds, *numbers = NULL;
    void *memory = NULL;
    int64_t n;
    assert_int_equal(spmv_mat_entries(mat, &entries), SPMV_OK);
    assert_int_equal(spmv_mat_rows(mat, &rows), SPMV_OK);
    assert_names(spmv_mat_entries(NULL, &entries), NULL, "mat is NULL");
    assert_names(spmv_mat_entries(mat, NULL), ctx, "view is NULL");
    assert_names(spmv_mat_rows(NULL, &rows), NULL, "mat is NULL");
    assert_names(spmv_mat_rows(mat, NULL), ctx, "view is NULL");
    assert_names(spmv_plan_info(NULL, &facts), NULL, "plan is NULL");
    assert_names(spmv_plan_info(plan, NULL), ctx, "out is NULL");
    assert_int_equal(spmv_mat_entries(mat, &entries), SPMV_OK); /* a failed call made them zero */
    assert_int_equal(spmv_mat_rows(mat, &rows), SPMV_OK);
    assert_names(spmv_ctx_create(NULL, NULL), NULL, "out is NULL");
    assert_names(spmv_mat_load(NULL, "gen:diagonal:4", NULL, &made), NULL, "ctx is NULL");
    assert_names(spmv_mat_load(ctx, NULL, NULL, &made), ctx, "path is NULL");
    assert_names(spmv_mat_load(ctx, "gen:diagonal:4", NULL, NULL), ctx, "out is NULL");
    assert_names(spmv_mat_coo(NULL, &entries, SPMV_COPY, &made), NULL, "ctx is NULL");
    assert_names(spmv_mat_coo(ctx, NULL, SPMV_COPY, &made), ctx, "view is NULL");
    assert_names(spmv_mat_coo(ctx, &entries, SPMV_COPY, NULL), ctx, "out is NULL");
    assert_names(spmv_mat_coo(ctx, &entries, 64, &made), ctx, "flags 0x40");
    assert_names(spmv_mat_csr(NULL, &rows, &made), NULL, "ctx is NULL");
    assert_names(spmv_mat_csr(ctx, NULL, &made), ctx, "view is NULL");
    assert_names(spmv_mat_csr(ctx, &rows, NULL), ctx, "out is NULL");
    assert_names(spmv_mat_create(NULL, &(spmv_arrays){.size = 8}, &made), NULL, "ctx is NULL");
    assert_names(spmv_mat_create(ctx, NULL, &made), ctx, "arrays is NULL");
    assert_names(spmv_mat_save(NULL, "/tmp/never"), NULL, "mat is NULL");
    assert_names(spmv_mat_save(mat, NULL), ctx, "path is NULL");
    assert_names(spmv_mat_stats(NULL, &stats), NULL, "mat is NULL");
    assert_names(spmv_mat_stats(mat, NULL), ctx, "out is NULL");
    assert_names(spmv_mat_peek(ctx, NULL, &stats), ctx, "path is NULL");
    assert_names(spmv_vector_load(NULL, "x", &n, &numbers), NULL, "ctx is NULL");
    assert_names(spmv_vector_load(ctx, NULL, &n, &numbers), ctx, "path is NULL");
    assert_names(spmv_vector_load(ctx, "x", NULL, &numbers), ctx, "n is NULL");
    assert_names(spmv_vector_load(ctx, "x", &n, NULL), ctx, "out is NULL");
    assert_names(spmv_vector_save(NULL, "x", 4, x), NULL, "ctx is NULL");
    assert_names(spmv_vector_save(ctx, NULL, 4, x), ctx, "path is NULL");
    assert_names(spmv_vector_save(ctx, "x", 4, NULL), ctx, "x is NULL");
    assert_names(spmv_vector_save(ctx, "x", -1, x), ctx, "n is -1");
    assert_names(spmv_plan_create(NULL, NULL, &other), NULL, "mat is NULL");
    assert_names(spmv_plan_create(mat, NULL, NULL), ctx, "out is NULL");
    spmv_plan_opts no_name = WITH(spmv_plan_opts, .kernel = "csr_rows",
                                  .settings = (spmv_setting[]){{NULL, 1}}, .nsettings = 1);
    assert_names(spmv_plan_create(mat, &no_name, &other), ctx, "settings[0].name is NULL");
    assert_names(spmv_plan_copy(NULL, &other), NULL, "plan is NULL");
    assert_names(spmv_plan_copy(plan, NULL), ctx, "out is NULL");
    assert_names(spmv_exec(NULL, 1, x, 0, y), NULL, "plan is NULL");
    assert_names(spmv_exec(plan, 1, NULL, 0, y), ctx, "spmv_exec: x is NULL");
    assert_names(spmv_exec(plan, 1, x, 0, NULL), ctx, "spmv_exec: y is NULL");
    spmv_product product = {.plan = plan, .y = y};
    assert_names(spmv_exec_timed(NULL, 1, 1, 0, &seconds), NULL, "product is NULL");
    assert_names(spmv_exec_timed(&product, 1, 1, 0, &seconds), ctx, "x is NULL");
    assert_names(spmv_exec_timed(&product, 1, 1, 0, NULL), ctx, "seconds is NULL");
    product = (spmv_product){.x = x, .y = y};
    assert_names(spmv_exec_timed(&product, 1, 1, 0, &seconds), NULL, "plan is NULL");
    assert_names(spmv_plan_alloc(NULL, 8, &memory), NULL, "plan is NULL");
    assert_names(spmv_plan_alloc(plan, 8, NULL), ctx, "out is NULL");
    assert_names(spmv_plan_put(NULL, x, y, 8), NULL, "plan is NULL");
    assert_names(spmv_plan_put(plan, NULL, y, 8), ctx, "device is NULL");
    assert_names(spmv_plan_get(plan, NULL, y, 8), ctx, "host is NULL");
    assert_names(spmv_plan_flush(NULL, 8), NULL, "plan is NULL");
    assert_null(made);
    assert_null(other);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

TEST(impossible_counts_are_named) {
    FREED(spmv_mat) *mat = matrix("gen:diagonal:4");
    spmv_plan *plan = plan_of(mat, "csr_rows", 0);
    double x[4] = {0}, y[4] = {0}, seconds;
    spmv_product product = {.plan = plan, .x = x, .y = y};
    spmv_batch *batch = NULL;
    for (int count = -1; count < 1; count++) {
        assert_names(spmv_exec_timed(&product, count, 1, 0, &seconds), ctx, "must be 1 or more");
        assert_names(spmv_batch_create(&product, 1, count, 1, 0, &batch), ctx, "must be 1 or more");
    }
    product.k = -2;
    assert_names(spmv_exec_timed(&product, 1, 1, 0, &seconds), ctx, "k is -2");
    product.k = INT64_MAX / 16;
    assert_names(spmv_batch_create(&product, 1, 2, 1, 0, &batch), ctx, "more than memory can have");
    product.k = 1, product.layout = (spmv_layout)3;
    assert_names(spmv_exec_timed(&product, 1, 1, 0, &seconds), ctx, "layout is 3");
    spmv_plan_free(plan);
}

/* What is filled is zero but for its size where the call fails, and nothing comes of nothing. */
TEST(nothing_has_no_facts) {
    spmv_plan_facts facts = {.size = sizeof(spmv_plan_facts), .kernel = "old"};
    spmv_coo_view entries = {.size = sizeof(spmv_coo_view), .nnz = 7};
    spmv_csr_view rows = {.size = sizeof(spmv_csr_view), .nnz = 7};
    assert_int_equal(spmv_plan_info(NULL, &facts), SPMV_E_ARG);
    assert_int_equal(spmv_mat_entries(NULL, &entries), SPMV_E_ARG);
    assert_int_equal(spmv_mat_rows(NULL, &rows), SPMV_E_ARG);
    assert_int_equal(facts.size, sizeof facts);
    spmv_plan_release(NULL, NULL);
    spmv_mat_drop_stores(NULL);
    assert_null(facts.kernel);
    assert_int_equal(entries.nnz + rows.nnz, 0);
    assert_int_equal(spmv_plan_setting(NULL, "simd"), -1);
    assert_int_equal(spmv_ctx_threads(NULL), 0);
}

TEST(overlapping_vectors_are_refused) {
    enum { N = 64 };
    static const char *const kernels[] = {"csr_rows",
                                          "csr_balanced"}; /* without and with scratch */
    FREED(spmv_mat) *mat = matrix("gen:banded:64:3");
    double v[3 * N] = {0}, seconds;
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_plan) *plan = plan_of(mat, kernels[k], 0);
        for (int shift = 1 - N; shift < N; shift += 7)
            assert_names(spmv_exec(plan, 1, v + N, 0, v + N + shift), ctx, "overlaps x");
        assert_names(spmv_exec(plan, 1, v, 0, v), ctx, "64 numbers at");
        const spmv_product product = {.plan = plan, .x = v, .y = v + 1};
        assert_names(spmv_exec_timed(&product, 1, 1, 0, &seconds), ctx, "overlaps x");
        const spmv_product wide = {.plan = plan, .x = v, .y = v + N, .k = 2};
        assert_names(spmv_exec_timed(&wide, 1, 1, 0, &seconds), ctx, "overlaps x");
        assert_int_equal(spmv_exec(plan, 1, v + N, 0, v), SPMV_OK); /* they touch */
        assert_int_equal(spmv_exec(plan, 1, v + N, 0, v + 2 * N), SPMV_OK);
    }
}

/* Each product of a batch is checked as one alone is. */
TEST(what_is_wrong_in_a_batch_is_named) {
    spmv_mat *mat = matrix("gen:banded:64:3");
    FREED(spmv_plan) *plan = plan_of(mat, "csr_rows", 0);
    double v[128] = {0}, seconds;
    const spmv_product good = {.plan = plan, .x = v, .y = v + 64};
    const spmv_product lists[][2] = {{good, {.x = v, .y = v + 64}},
                                     {good, {.plan = plan, .x = v, .y = v}},
                                     {good, {.plan = plan, .y = v}},
                                     {{.plan = plan, .x = v}, good}};
    static const char *const said[] = {"the plan of product 1 is NULL", "overlaps x", "x is NULL",
                                       "y is NULL"};
    spmv_batch *batch = (spmv_batch *)v;
    for (int k = 0; k < COUNT(said); k++) {
        assert_names(spmv_batch_create(lists[k], 2, 2, 1, 0, &batch), ctx, said[k]);
        assert_null(batch);
    }
    spmv_ctx *another = NULL; /* whose device is another, even where the hardware is the same */
    assert_int_equal(spmv_ctx_create(NULL, &another), SPMV_OK);
    spmv_mat *its = must_load(another, "gen:banded:64:3");
    const spmv_product mixed[] = {good, {.plan = plan_of(its, "csr_rows", 0), .x = v, .y = v + 64}};
    assert_names(spmv_batch_create(mixed, 2, 2, 1, 0, &batch), ctx, "product 1 is of another");
    spmv_plan_free((spmv_plan *)(uintptr_t)mixed[1].plan);
    spmv_mat_free(its);
    spmv_ctx_free(another);
    assert_int_equal(spmv_batch_create(&good, 1, 2, 1, 0, &batch), SPMV_OK);
    spmv_mat_free(mat);
    assert_names(spmv_batch_time(batch, &seconds), ctx, "the plan's matrix was freed");
    spmv_batch_free(batch);
}

/* A vector of no numbers may be NULL, and lie anywhere. */
TEST(empty_vectors_need_no_memory) {
    static const int64_t row_ptr[] = {0, 0, 0, 0};
    double v[3];
    for (int cols = 0; cols <= 3; cols += 3) {
        spmv_csr_view view = {
            .size = sizeof(spmv_csr_view), .rows = 3 - cols, .cols = cols, .row_ptr = row_ptr};
        FREED(spmv_mat) *mat = NULL;
        assert_int_equal(spmv_mat_csr(ctx, &view, &mat), SPMV_OK);
        FREED(spmv_plan) *plan = plan_of(mat, "csr_rows", 0);
        for (int inside = 0; inside <= 1; inside++) {
            double *empty = inside ? v + 1 : NULL;
            v[0] = v[1] = v[2] = 7;
            assert_int_equal(spmv_exec(plan, 1, cols ? v : empty, 0, cols ? empty : v), SPMV_OK);
            for (int k = 0; k < 3; k++) assert_true(v[k] == (cols ? 7 : 0));
        }
    }
}

/* ---- options -------------------------------------------------------------------------------- */

/* A program has such options that was compiled with a newer or an older header. */
TEST(options_of_other_headers) {
    struct {
        spmv_plan_opts opts;
        char newer[40];
    } larger = {.opts = {.size = sizeof larger, .kernel = "csr_rows"}};
    FREED(spmv_mat) *mat = matrix("gen:diagonal:5");
    spmv_ctx *other = NULL;
    spmv_plan *plan = must_plan(mat, &larger.opts);
    spmv_plan_free(plan);
    for (int k = 0; k < COUNT(larger.newer); k += 13) {
        larger.newer[k] = 1;
        plan = (spmv_plan *)&larger;
        spmv_status status = spmv_plan_create(mat, &larger.opts, &plan);
        assert_failed(status, SPMV_E_ARG, plan, "spmv_plan_opts has");
        larger.newer[k] = 0;
    }
    struct {
        spmv_load_opts opts;
        int newer;
    } load = {{.size = sizeof load}, 3};
    spmv_mat *loaded = mat;
    spmv_status status = spmv_mat_load(ctx, "gen:diagonal:5", &load.opts, &loaded);
    assert_failed(status, SPMV_E_ARG, loaded, "spmv_load_opts has");
    struct {
        spmv_ctx_opts opts;
        int64_t newer;
    } context = {{.size = sizeof context}, 1};
    assert_names(spmv_ctx_create(&context.opts, &other), NULL, "spmv_ctx_opts has");
    context.opts.size = (size_t)-1;
    assert_names(spmv_ctx_create(&context.opts, &other), NULL, "spmv_ctx_opts.size");
    /* An older header's ended before threads: what lies there is not read. */
    spmv_plan_opts older = {
        .size = offsetof(spmv_plan_opts, threads), .kernel = "csr_rows", .threads = -77};
    assert_int_equal(spmv_plan_create(mat, &older, &plan), SPMV_OK);
    spmv_plan_free(plan);
}

/* Structs that are filled have their size, too: an older header's, a newer one's, and none. */
TEST(what_is_filled_begins_with_its_size) {
    spmv_mat *mat = matrix("gen:diagonal:5"), *made = NULL;
    spmv_plan *plan = plan_of(mat, "csr_rows", 0);
    spmv_plan_facts older = {.size = offsetof(spmv_plan_facts, format), .format = "mine"};
    struct {
        spmv_plan_facts facts;
        int64_t newer;
    } newer = {{.size = sizeof newer}, 7};
    assert_int_equal(spmv_plan_info(plan, &older), SPMV_OK);
    assert_string_equal(older.kernel, "csr_rows");
    assert_string_equal(older.format, "mine");
    assert_int_equal(older.size, offsetof(spmv_plan_facts, format));
    assert_int_equal(spmv_plan_info(plan, &newer.facts), SPMV_OK);
    assert_string_equal(newer.facts.format, "csr");
    assert_int_equal(newer.facts.size, sizeof newer);
    assert_int_equal(newer.newer, 7);
    spmv_plan_facts facts = {.kernel = "mine"};
    spmv_stats stats = {.nnz = 7};
    spmv_coo_view entries = {.nnz = 7};
    spmv_csr_view rows = {.nnz = 7};
    static const char facts_said[] = "spmv_plan_facts.size is 0, not set: write spmv_plan_facts s "
                                     "= SPMV_OPTS(spmv_plan_facts)",
                      entries_said[] = "spmv_coo_view.size is 0", rows_said[] = "spmv_csr_view.si",
                      stats_said[] = "spmv_stats.size is 0";
    assert_names(spmv_plan_info(plan, &facts), ctx, facts_said);
    assert_string_equal(facts.kernel, "mine");
    assert_names(spmv_mat_stats(mat, &stats), ctx, stats_said);
    assert_names(spmv_mat_peek(ctx, "gen:diagonal:5", &stats), ctx, stats_said);
    assert_names(spmv_mat_entries(mat, &entries), ctx, entries_said);
    assert_names(spmv_mat_coo(ctx, &entries, SPMV_COPY, &made), ctx, entries_said);
    assert_names(spmv_mat_rows(mat, &rows), ctx, rows_said);
    assert_names(spmv_mat_csr(ctx, &rows, &made), ctx, rows_said);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
}

TEST(contexts_name_what_is_wrong) {
    static const struct {
        spmv_ctx_opts opts;
        const char *text;
    } wrong[] = {
        {{.size = sizeof(spmv_ctx_opts), .backend = "opencl"}, "backend: there is no 'open"},
        {{.size = sizeof(spmv_ctx_opts), .threads = -2}, "threads is -2"},
        {{.size = sizeof(spmv_ctx_opts), .device = -3}, "device is -3"}};
    spmv_ctx *other = ctx;
    for (int k = 0; k < COUNT(wrong); k++)
        assert_names(spmv_ctx_create(&wrong[k].opts, &other), NULL, wrong[k].text);
    assert_null(other);
    assert_int_equal(spmv_backend_available("omp"), 1);
    assert_int_equal(spmv_backend_available("opencl"), 0);
    assert_int_equal(spmv_backend_available(NULL), 0);
}

/* ---- matrices from arrays ------------------------------------------------------------------- */

/* 3 x 4:  . 5 . 2 / . . . . / 7 . -1 3 */
enum { ROWS = 3, COLS = 4, NNZ = 5 };
static const int64_t ptr64[] = {0, 2, 2, 5}, ptr64_1[] = {1, 3, 3, 6};
static const int32_t ptr32[] = {0, 2, 2, 5}, ptr32_1[] = {1, 3, 3, 6};
static const int32_t index_0[] = {1, 3, 0, 2, 3}, index_1[] = {2, 4, 1, 3, 4};
static const double values[] = {5, 2, 7, -1, 3};
static const float values_f32[] = {5, 2, 7, -1, 3};

static spmv_arrays small_arrays(int ptr_bits, int base, spmv_precision precision) {
    return ARRAYS(ROWS, COLS, NNZ,
                  ptr_bits == 32 ? (base ? ptr32_1 : ptr32)
                                 : (const void *)(base ? ptr64_1 : ptr64),
                  ptr_bits, base ? index_1 : index_0,
                  precision == SPMV_F32 ? (const void *)values_f32 : values, .base = base,
                  .precision = precision, .flags = SPMV_SORTED | SPMV_VALIDATE);
}

static void assert_small(spmv_arrays a) {
    FREED(spmv_mat) *mat = NULL;
    if (spmv_mat_create(ctx, &a, &mat)) fail_msg("%s", spmv_ctx_error(ctx));
    spmv_csr_view rows = rows_of(mat);
    assert_true(rows.rows == ROWS && rows.cols == COLS && rows.nnz == NNZ);
    assert_memory_equal(rows.row_ptr, ptr64, sizeof ptr64);
    assert_memory_equal(rows.col_idx, index_0, sizeof index_0);
    for (int k = 0; k < NNZ; k++) assert_true(rows.values[k] == (a.values ? values[k] : 1));
}

TEST(arrays_of_every_kind) {
    for (int bits = 32; bits <= 64; bits += 32)
        for (int base = 0; base <= 1; base++)
            for (int f32 = 0; f32 <= 1; f32++) {
                spmv_arrays a = small_arrays(bits, base, f32 ? SPMV_F32 : SPMV_F64);
                assert_small(a);
                a.flags = SPMV_BORROW;
                assert_small(a);
                a.values = NULL;
                assert_small(a);
            }
    /* The same by columns: 7 in column 0, 5 in 1, -1 in 2, 2 and 3 in 3. */
    static const int64_t ptr[] = {0, 1, 2, 3, 5};
    static const int32_t row[] = {2, 0, 2, 0, 2};
    static const double by_column[] = {7, 5, -1, 2, 3};
    spmv_arrays columns = small_arrays(64, 0, SPMV_F64);
    columns.ptr = ptr, columns.idx = row, columns.values = by_column, columns.by_columns = 1;
    assert_small(columns);
    /* Unsorted, and -1 as the sum of two. */
    static const int64_t unsorted_ptr[] = {0, 2, 2, 6};
    static const int32_t unsorted[] = {3, 1, 2, 0, 3, 2};
    static const double parts[] = {2, 5, -3, 7, 3, 2};
    spmv_arrays loose = small_arrays(64, 0, SPMV_F64);
    loose.nnz = 6, loose.ptr = unsorted_ptr, loose.idx = unsorted, loose.values = parts;
    loose.flags = SPMV_VALIDATE;
    assert_small(loose);
}

TEST(one_triangle_is_enough) {
    static const int32_t ptr[] = {0, 1, 3}, lower[] = {0, 0, 1};
    static const double three[] = {1, 2, 3}, all[] = {1, 2, 2, 3};
    const spmv_arrays a = ARRAYS(2, 2, 3, ptr, 32, lower, three, .symmetry = SPMV_SYMMETRIC);
    FREED(spmv_mat) *mat = NULL;
    assert_int_equal(spmv_mat_create(ctx, &a, &mat), SPMV_OK);
    spmv_csr_view rows = rows_of(mat);
    assert_int_equal(rows.nnz, 4);
    assert_memory_equal(rows.values, all, sizeof all);
}

/* What is wrong is named with its row and position, by whoever counts from 0 or 1. */
TEST(wrong_arrays_are_named) {
    static const int64_t late[] = {1, 2, 2, 5}, early[] = {0, 2, 2, 4}, falls[] = {0, 3, 2, 5},
                         far[] = {0, INT64_MAX, 2, 5}, least[] = {INT64_MIN, 3, 3, 6};
    static const int32_t beyond[] = {1, 3, 0, 4, 3}, below[] = {1, -1, 0, 2, 3},
                         zero[] = {2, 4, 0, 3, 4}, twice[] = {1, 3, 0, 0, 3},
                         back[] = {1, 3, 2, 0, 3};
    static const double nan_at_3[] = {5, 2, 7, NAN, 3}, inf_at_1[] = {5, -INFINITY, 7, -1, 3};
    const struct {
        const void *ptr;
        const int32_t *idx;
        const double *values;
        int base;
        bool only_validated;
        const char *text;
    } wrong[] = {
        {late, index_0, values, 0, false,
         "ptr runs from 1 to 5, must run from 0, the base, over nnz = 5"},
        {early, index_0, values, 0, false, "from 0 to 4"},
        {ptr64, index_1, values, 1, false,
         "ptr runs from 0 to 5, must run from 1, the base, over nnz = 5"},
        {least, index_1, values, 1, false, "ptr runs from"},
        {falls, index_0, values, 0, false, "ptr decreases after row 1 (from 0): ptr[2] is 2"},
        {far, index_0, values, 0, false, "ptr decreases after row 1 (from 0)"},
        {ptr64, beyond, values, 0, false, "row 2, entry 3 (from 0): idx[3] is 4, must be 0 to 3"},
        {ptr64, below, values, 0, false, "row 0, entry 1 (from 0): idx[1] is -1"},
        {ptr64_1, zero, values, 1, false, "row 2, entry 2 (from 0): idx[2] is 0, must be 1 to 4"},
        {ptr64, twice, values, 0, true, "row 2, entry 3 (from 0): idx[3] is 0 after 0"},
        {ptr64, back, values, 0, true, "row 2, entry 3 (from 0): idx[3] is 0 after 2"},
        {ptr64, index_0, nan_at_3, 0, true, "row 2, entry 3 (from 0): values[3] is nan"},
        {ptr64, index_0, inf_at_1, 0, true, "row 0, entry 1 (from 0): values[1] is -inf"},
    };
    for (int k = 0; k < COUNT(wrong); k++)
        for (int validate = 0; validate <= 1; validate++) {
            spmv_arrays a = small_arrays(64, wrong[k].base, SPMV_F64);
            spmv_mat *mat = (spmv_mat *)&a;
            a.ptr = wrong[k].ptr, a.idx = wrong[k].idx, a.values = wrong[k].values;
            a.flags = SPMV_SORTED | (validate ? SPMV_VALIDATE : 0);
            spmv_status status = spmv_mat_create(ctx, &a, &mat);
            if (validate || !wrong[k].only_validated)
                assert_failed(status, SPMV_E_ARG, mat, wrong[k].text);
            else
                assert_int_equal(status, SPMV_OK), spmv_mat_free(mat);
        }
    spmv_arrays columns = small_arrays(64, 0, SPMV_F64); /* row 3 of a 3 x 3 matrix's column 0 */
    spmv_mat *mat = (spmv_mat *)&columns;
    columns.cols = 3, columns.by_columns = 1;
    spmv_status status = spmv_mat_create(ctx, &columns, &mat);
    assert_failed(status, SPMV_E_ARG, mat,
                  "column 0, entry 1 (from 0): idx[1] is 3, must be 0 to 2");
}

/* Without entries there are no indices, so that none is looked at. */
TEST(offsets_of_no_entries_are_checked) {
    static const int64_t rises[] = {0, 2, 1000000000, 0}, wild[] = {1, 7, INT64_MAX, 1};
    for (int base = 0; base <= 1; base++) {
        spmv_arrays a = small_arrays(64, base, SPMV_F64);
        spmv_mat *mat = (spmv_mat *)&a;
        a.ptr = base ? wild : rises, a.idx = NULL, a.values = NULL, a.nnz = 0;
        spmv_status status = spmv_mat_create(ctx, &a, &mat);
        assert_failed(status, SPMV_E_ARG, mat, "ptr decreases after row 2 (from 0): ptr[3] is ");
    }
}

TEST(members_of_arrays_are_checked) {
    spmv_arrays wrong[9];
    static const char *const text[COUNT(wrong)] = {"spmv_arrays.size",
                                                   "ptr is NULL",
                                                   "idx is NULL",
                                                   "ptr_bits is 16",
                                                   "base is 2",
                                                   "spmv_arrays.precision is 7",
                                                   "spmv_arrays.symmetry is 9",
                                                   "flags: 0x40 is unk",
                                                   "is square, not 3 x 4"};
    for (int k = 0; k < COUNT(wrong); k++) wrong[k] = small_arrays(64, 0, SPMV_F64);
    wrong[0].size = 0, wrong[1].ptr = NULL, wrong[2].idx = NULL, wrong[3].ptr_bits = 16;
    wrong[4].base = 2, wrong[5].precision = (spmv_precision)7;
    wrong[6].symmetry = (spmv_symmetry)9, wrong[7].flags = 0x40;
    wrong[8].symmetry = SPMV_SYMMETRIC;
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_mat *mat = (spmv_mat *)&wrong;
        spmv_status status = spmv_mat_create(ctx, &wrong[k], &mat);
        assert_failed(status, SPMV_E_ARG, mat, text[k]);
    }
}

/* ---- handles in any order ------------------------------------------------------------------- */

TEST(a_plan_may_be_freed_after_its_matrix) {
    enum { N = 100 };
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 2};
    spmv_ctx *own = NULL;
    spmv_plan *plan[3] = {NULL};
    double x[N] = {0}, y[N];
    assert_int_equal(spmv_ctx_create(&opts, &own), SPMV_OK);
    spmv_mat *mat = must_load(own, "gen:poisson2d:10");
    assert_int_equal(spmv_plan_create(mat, NULL, &plan[0]), SPMV_OK);
    assert_int_equal(
        spmv_plan_create(mat, &(spmv_plan_opts){.size = 16, .kernel = "sell_slices"}, &plan[1]),
        SPMV_OK);
    assert_int_equal(spmv_plan_copy(plan[1], &plan[2]), SPMV_OK);
    spmv_mat_drop_stores(mat); /* nothing happens while they are in use */
    for (int k = 0; k < 3; k++) assert_int_equal(spmv_exec(plan[k], 1, x, 0, y), SPMV_OK);
    spmv_ctx_free(own); /* everything in the wrong order */
    spmv_mat_free(mat);
    for (int k = 0; k < 3; k++)
        assert_names(spmv_exec(plan[k], 1, x, 0, y), own, "the plan's matrix was freed");
    spmv_plan *late = plan[0];
    assert_names(spmv_plan_create(mat, NULL, &late), own, "mat was freed");
    assert_null(late);
    for (int k = 0; k < 3; k++) spmv_plan_free(plan[k]); /* a sanitizer sees that all is freed */
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
