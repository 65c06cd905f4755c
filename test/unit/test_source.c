/* test_source.c: on a GPU, matrices made of compressed rows that lie in its memory: used where they
 * lie, brought to the host when it asks, and given other values there. */
#include "arrays_there.h"

/* ---- made of them ---------------------------------------------------------------------------- */

TEST(rows_stay_where_they_are) {
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(subject) s = random_subject(mat_of(ctx, "gen:mesh:3000"), "mesh");
    spmv_stats here = SPMV_OPTS(spmv_stats), about = here;
    spmv_csr_view A = rows_of(s.mat);
    assert_int_equal(spmv_mat_stats(s.mat, &here), SPMV_OK);
    for (int k = 0; k < 32; k++) {
        const way w = way_of(k);
        lent_arrays t;
        spmv_arrays arrays = send(&A, w.bits, w.base, w.precision, w.flags, &t);
        spmv_mat *mat = create(ctx, &arrays);
        const spmv_plan_opts opts = {.precision = w.precision};
        spmv_plan *plan = plan_with(mat, &opts, "cuda:csr_lanes");
        const bool lent = w.flags & SPMV_BORROW;
        spmv_plan_facts facts = plan_facts_of(plan);
        assert_ptr_equal(plan->store, mat->source->copy);
        assert_true((spmv_store_at(plan->store, 0) == t.ptr) == (lent && !w.base && w.bits == 32));
        assert_true((spmv_store_at(plan->store, 1) == t.idx) == (lent && !w.base));
        assert_true((spmv_store_at(plan->store, 2) == t.values) == lent);
        if (lent && !w.base && w.bits == 32) assert_int_equal(facts.device_bytes, 0);
        assert_int_equal(facts.peak_device_bytes, 0);
        assert_null(mat->csr.row_ptr);
        assert_int_equal(facts.host_bytes, 0);
        if (!lent) lent_free(&t); /* at once */
        assert_multiplies(plan, &s);
        assert_null(mat->csr.row_ptr);
        assert_same_rows(mat, &A);
        assert_int_equal(spmv_mat_stats(mat, &about), SPMV_OK);
        assert_int_equal(about.hash, here.hash);
        assert_int_equal(about.row_min, here.row_min);
        assert_int_equal(about.row_max, here.row_max);
        assert_int_equal(about.empty_rows, here.empty_rows);
        assert_true(fabs(about.row_std - here.row_std) < 1e-12);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        if (lent) lent_free(&t);
    }
}

/* Each is what the host says of it. */
TEST(what_is_wrong_is_refused) {
    static const struct {
        int ptr[4], idx[5];
        double values[5];
        spmv_status status;
        const char *text;
    } cases[] = {
        {{0, 2, 2, 5}, {1, 3, 0, 2, 3}, {1, 2, 3, 4, 5}, SPMV_OK, ""},
        {{0, 2, 2, 5},
         {1, 3, 0, 2, 4},
         {1, 2, 3, 4, 5},
         SPMV_E_ARG,
         "row 2, entry 4 (from 0): idx[4] is 4"},
        {{0, 2, 2, 5}, {1, 3, -1, 2, 3}, {1, 2, 3, 4, 5}, SPMV_E_ARG, "idx[2] is -1"},
        {{0, 3, 2, 5},
         {1, 3, 0, 2, 3},
         {1, 2, 3, 4, 5},
         SPMV_E_ARG,
         "ptr decreases after row 1 (from 0)"},
        {{0, 2, 7, 5},
         {1, 3, 0, 2, 3},
         {1, 2, 3, 4, 5},
         SPMV_E_ARG,
         "ptr decreases after row 2 (from 0)"},
        {{1, 2, 2, 5}, {1, 3, 0, 2, 3}, {1, 2, 3, 4, 5}, SPMV_E_ARG, "ptr runs from 1"},
        {{0, 2, 2, 4}, {1, 3, 0, 2, 3}, {1, 2, 3, 4, 5}, SPMV_E_ARG, "ptr runs from 0 to 4"},
        {{0, 2, 2, 5}, {1, 3, 0, 2, 3}, {1, 2, INFINITY, 4, 5}, SPMV_E_ARG, "values[2] is inf"},
        {{0, 2, 2, 5}, {3, 1, 0, 2, 3}, {1, 2, 3, 4, 5}, SPMV_OK, ""}, /* the host sorts */
        {{0, 2, 2, 5}, {1, 3, 2, 2, 3}, {1, 2, 3, 4, 5}, SPMV_OK, ""}, /* and adds */
    };
    FREED(spmv_ctx) *ctx = gpu_context();
    for (int k = 0; k < COUNT(cases); k++) {
        FREED(lent_arrays) t = {sent(cases[k].ptr, sizeof cases[k].ptr),
                                sent(cases[k].idx, sizeof cases[k].idx),
                                sent(cases[k].values, sizeof cases[k].values)};
        const spmv_arrays arrays = ARRAYS(3, 4, 5, t.ptr, 32, t.idx, t.values,
                                          .flags = SPMV_VALIDATE, .place = SPMV_DEVICE);
        spmv_mat *mat = NULL;
        assert_int_equal(spmv_mat_create(ctx, &arrays, &mat), cases[k].status);
        if (cases[k].status != SPMV_OK && !strstr(spmv_ctx_error(ctx), cases[k].text))
            fail_msg("case %d: %s", k, spmv_ctx_error(ctx));
        if (mat) {
            FREED(subject) s = random_subject(mat, "3 x 4");
            FREED(spmv_plan) *plan = plain_plan(mat, "cuda:csr_balanced");
            assert_multiplies(plan, &s);
        }
    }
}

/* ---- formats and kernels --------------------------------------------------------------------- */

/* The GPU builds these formats in each variant; the host's rows are not there afterwards. */
TEST(formats_are_built_there) {
    static const char *const kernels[] = {"csr_balanced", "csr_warp",   "sell_thread_ahead",
                                          "bsr_warp",     "csell_warp", "hubs",
                                          "xcache_block"};
    static const spmv_setting height = {"height", 256};
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(subject) s = random_subject(mat_of(ctx, "gen:mesh:5000"), "mesh");
    lent_arrays t;
    spmv_csr_view A = rows_of(s.mat);
    for (int of = 0; of < 2; of++) {
        spmv_arrays arrays = send(&A, 32, 0, of ? SPMV_F32 : SPMV_F64, SPMV_BORROW, &t);
        spmv_mat *mat = create(ctx, &arrays);
        for (int n = 0; n < 4 * COUNT(kernels); n++) {
            const char *name = kernels[n / 4];
            if (n & 2 && strncmp(name, "csr", 3) != 0 && strncmp(name, "sell", 4) != 0 &&
                strncmp(name, "bsr", 3) != 0)
                continue; /* kernels with 32-bit offsets only */
            spmv_plan_opts opts = {.precision = n & 1 ? SPMV_F32 : SPMV_F64,
                                   .offset_bits = n & 2 ? 64 : 32};
            if (strcmp(name, "xcache_block") == 0) opts.settings = &height, opts.nsettings = 1;
            char full[64];
            snprintf(full, sizeof full, "cuda:%s", name);
            FREED(spmv_plan) *plan = plan_with(mat, &opts, full);
            assert_multiplies(plan, &s);
        }
        assert_null(mat->csr.row_ptr);
        spmv_plan *host = plain_plan(mat, "omp:csr_rows");
        assert_non_null(mat->csr.row_ptr);
        assert_multiplies(host, &s);
        spmv_plan_free(host);
        spmv_mat_free(mat);
        lent_free(&t);
    }
}

/* If an upper bound of a format's bytes exceeds the limit, the GPU counts the exact bytes: one byte
 * less is refused, and the host's rows are not requested. */
TEST(sizes_are_counted_there) {
    static const char *const kernels[] = {"cuda:sell_thread_ahead", "cuda:sell_thread",
                                          "cuda:bsr_warp"};
    static const spmv_setting sorted = {"sigma", 64};
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(subject) s = random_subject(mat_of(ctx, "gen:mesh:5000"), "mesh");
    lent_arrays t;
    spmv_csr_view A = rows_of(s.mat);
    spmv_arrays arrays = send(&A, 32, 0, SPMV_F64, SPMV_BORROW, &t);
    for (int k = 0; k < COUNT(kernels); k++) {
        FREED(spmv_mat) *mat = create(ctx, &arrays);
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernels[k]};
        if (k == 1) opts.settings = &sorted, opts.nsettings = 1;
        spmv_plan *plan = plan_with(mat, &opts, kernels[k]), *other = NULL;
        opts.max_bytes = spmv_store_bytes(plan->host) + plan->scratch_bytes;
        spmv_plan_free(plan);
        spmv_stored_drop_unused(mat);
        spmv_plan *within = plan_with(mat, &opts, kernels[k]);
        assert_multiplies(within, &s);
        spmv_plan_free(within);
        spmv_stored_drop_unused(mat);
        opts.max_bytes--;
        assert_int_equal(spmv_plan_create(mat, &opts, &other), SPMV_E_TOOBIG);
        assert_null(mat->csr.row_ptr);
    }
    lent_free(&t);
}

/* Choosing brings nothing to the host where nothing is timed; among many candidates may be one of a
 * format that the host builds. */
/* ---- other values ---------------------------------------------------------------------------- */

enum { TURNS = 5 };

/* Sets the values of a turn: in an array on the device, but once in host memory. */
static void set_fresh(spmv_mat *mat, int turn, const double *fresh, const void *there) {
    const bool by_host = turn == 2;
    const void *from = by_host ? fresh : there;
    if (spmv_mat_set_values(mat, from, by_host ? SPMV_HOST : SPMV_DEVICE, NULL) != SPMV_OK)
        fail_msg("turn %d: %s", turn, spmv_ctx_error(mat->ctx));
    if (turn < 2 && mat->source->copy->array[2].borrowed) /* in turn */
        assert_ptr_equal(spmv_store_at(mat->source->copy, 2), there);
}

static void try_values(spmv_ctx *ctx, const spmv_csr_view *A, spmv_mat *mat) {
    static const char *const kernels[] = {"csr_balanced", "sell_thread_ahead", "csell_warp",
                                          "csr_lanes"};
    const spmv_plan_opts opts = {.refill = 1}, wide = {.refill = 1, .offset_bits = 64};
    const size_t bytes = (size_t)A->nnz * sizeof(double);
    spmv_plan *plan[COUNT(kernels)];
    void *there[TURNS];
    for (int p = 0; p < COUNT(kernels); p++) {
        char name[64];
        snprintf(name, sizeof name, "cuda:%s", kernels[p]);
        plan[p] = plan_with(mat, p == 3 ? &wide : &opts, name);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        FREED(double) *fresh = random_vector(17 + (uint64_t)turn, A->nnz);
        spmv_csr_view B = *A;
        spmv_mat *now = NULL;
        there[turn] = sent(fresh, bytes);
        B.values = fresh;
        assert_int_equal(spmv_mat_csr(ctx, &B, &now), SPMV_OK);
        FREED(subject) changed = random_subject(now, "other values");
        set_fresh(mat, turn, fresh, there[turn]);
        for (int p = 0; p < COUNT(kernels); p++) assert_multiplies(plan[p], &changed);
        if (turn) assert_same_rows(mat, &B);
    }
    for (int p = 0; p < COUNT(kernels); p++) spmv_plan_free(plan[p]);
    spmv_mat_free(mat);
    for (int turn = 0; turn < TURNS; turn++) source_free(ON_DEVICE, there[turn]);
}

TEST(values_change_where_they_are) {
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *here = mat_of(ctx, "gen:mesh:3000");
    spmv_csr_view A = rows_of(here);
    for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
        lent_arrays t;
        spmv_arrays arrays = send(&A, 32, 0, SPMV_F64, flags, &t);
        FREED(double) *got = malloc((size_t)A.nnz * sizeof *got);
        assert_non_null(got);
        try_values(ctx, &A, create(ctx, &arrays));
        assert_true(plain_copy(got, t.values, (size_t)A.nnz * sizeof *got));
        assert_memory_equal(got, A.values, (size_t)A.nnz * sizeof *got); /* only read */
        lent_free(&t);
    }
}

/* ---- the transpose --------------------------------------------------------------------------- */

/* Returns the transpose of rows in host memory. */
static spmv_mat *turned_here(spmv_ctx *ctx, const spmv_csr_view *A) {
    const spmv_arrays arrays =
        ARRAYS(A->cols, A->rows, A->nnz, A->row_ptr, 64, A->col_idx, A->values, .by_columns = 1);
    return create(ctx, &arrays);
}

/* Without refill its rows there are freed when no plan multiplies by them, and made again. */
static void try_rows_there(spmv_mat *mat, const subject *turned, spmv_precision precision) {
    const spmv_plan_opts opts = {.precision = precision, .op = SPMV_TRANSPOSE};
    spmv_plan *csr = plan_with(mat, &opts, "cuda:csr_balanced");
    assert_non_null(mat->transpose->source);
    assert_ptr_equal(csr->store, mat->transpose->source->copy);
    assert_multiplies(csr, turned);
    spmv_plan_free(csr);
    FREED(spmv_plan) *sell = plan_with(mat, &opts, "cuda:sell_thread_ahead");
    assert_null(mat->transpose->source);
    assert_multiplies(sell, turned);
    csr = plan_with(mat, &opts, "cuda:csr_lanes");
    assert_non_null(mat->transpose->source);
    assert_multiplies(csr, turned);
    assert_multiplies(sell, turned);
    assert_null(mat->transpose->csr.row_ptr);
    spmv_plan_free(csr);
}

/* Values of the device stay there; those of the host bring the rows. */
static void try_values_there(spmv_mat *mat, const spmv_csr_view *A, spmv_precision precision) {
    const spmv_plan_opts opts = {.precision = precision, .op = SPMV_BOTH, .refill = 1};
    spmv_plan *both[] = {plan_with(mat, &opts, "cuda:sell_thread_ahead"),
                         plan_with(mat, &opts, "cuda:csr_balanced")};
    void *there[3];
    for (int turn = 0; turn < 3; turn++) {
        FREED(double) *fresh = random_vector(31 + (uint64_t)turn, A->nnz);
        const bool from_host = turn == 1;
        spmv_csr_view B = *A;
        spmv_mat *now = NULL;
        FREED(float) *narrow = (float *)random_vector(1, A->nnz);
        for (int64_t k = 0; k < A->nnz; k++) narrow[k] = (float)fresh[k], fresh[k] = narrow[k];
        const void *given = precision == SPMV_F32 ? (void *)narrow : (void *)fresh;
        there[turn] = sent(given, (size_t)A->nnz * width_of(precision));
        B.values = fresh;
        assert_int_equal(spmv_mat_csr(mat->ctx, &B, &now), SPMV_OK);
        FREED(subject) changed = random_subject(now, "other values"),
                       turned = random_subject(turned_here(mat->ctx, &B), "transposed");
        assert_int_equal(spmv_mat_set_values(mat, from_host ? given : there[turn],
                                             from_host ? SPMV_HOST : SPMV_DEVICE, NULL),
                         SPMV_OK);
        if (turn == 0) assert_null(mat->transpose->csr.row_ptr);
        for (int p = 0; p < COUNT(both); p++) {
            assert_multiplies(both[p], &changed);
            assert_multiplies(both[p]->other, &turned);
        }
    }
    for (int p = 0; p < COUNT(both); p++) spmv_plan_free(both[p]);
    spmv_mat_free(mat);
    for (int turn = 0; turn < 3; turn++) source_free(ON_DEVICE, there[turn]);
}

/* Transposes rows of either precision and width; some columns are empty. */
TEST(transposes_are_made_there) {
    FREED(spmv_ctx) *ctx = gpu_context();
    FREED(spmv_mat) *here = mat_of(ctx, "gen:mesh:3000");
    spmv_csr_view A = rows_of(here);
    A.rows = 1900, A.nnz = A.row_ptr[A.rows];
    for (int k = 0; k < 4; k++) {
        const spmv_precision precision = k & 1 ? SPMV_F32 : SPMV_F64;
        lent_arrays t;
        spmv_arrays arrays = send(&A, k & 2 ? 64 : 32, 0, precision, SPMV_BORROW, &t);
        spmv_mat *mat = create(ctx, &arrays);
        subject turned = random_subject(turned_here(ctx, &A), "transposed");
        try_rows_there(mat, &turned, precision);
        assert_null(mat->csr.row_ptr);
        subject_free(&turned);
        spmv_mat_free(mat);
        try_values_there(create(ctx, &arrays), &A, precision);
        lent_free(&t);
    }
}

/* ---- the caller's allocator ------------------------------------------------------------------ */

typedef struct purse {
    size_t out, most, left;
    int blocks;
} purse;

static void *take(void *user, spmv_place place, size_t bytes, void *stream) {
    purse *p = user;
    (void)stream;
    if (place == SPMV_HOST) return malloc(bytes);
    if (bytes > p->left) return NULL;
    p->out += bytes, p->left -= bytes, p->blocks++;
    p->most = p->out > p->most ? p->out : p->most;
    return source_alloc(ON_DEVICE, bytes);
}

static void give(void *user, spmv_place place, void *memory, size_t bytes, void *stream) {
    purse *p = user;
    (void)stream;
    if (place == SPMV_HOST) {
        free(memory);
        return;
    }
    p->out -= bytes, p->left += bytes, p->blocks--;
    source_free(ON_DEVICE, memory);
}

TEST(memory_is_the_callers) {
    spmv_ctx_free(gpu_context());
    purse p = {.left = SIZE_MAX};
    const spmv_allocator theirs = {take, give, &p};
    const spmv_ctx_opts opts = {
        .size = sizeof opts, .backend = "cuda", .threads = 2, .allocator = &theirs};
    spmv_ctx *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    subject s = random_subject(mat_of(ctx, "gen:mesh:5000"), "mesh");
    lent_arrays t;
    spmv_csr_view A = rows_of(s.mat);
    spmv_arrays arrays = send(&A, 32, 0, SPMV_F64, SPMV_BORROW, &t);
    spmv_mat *mat = create(ctx, &arrays);
    assert_int_equal(p.blocks, 0); /* all is borrowed */
    p.most = p.out;
    spmv_plan *plan = plain_plan(mat, "cuda:csell_warp");
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_int_equal(facts.peak_device_bytes, p.most);
    assert_in_range(p.out - facts.device_bytes, 0, 16); /* an empty array has an address, too */
    assert_true(facts.peak_device_bytes >= facts.device_bytes && facts.device_bytes > 0);
    assert_true(facts.peak_device_bytes <= 2 * (12 * (size_t)A.nnz + 4 * (size_t)A.rows));
    assert_multiplies(plan, &s);
    spmv_plan_free(plan);
    spmv_mat_drop_stores(mat);
    p.left = 100; /* as if there were no more: a kernel that needs none is still there */
    plan = NULL;
    const spmv_plan_opts none = {.size = sizeof none, .kernel = "cuda:csr_balanced"};
    assert_int_equal(spmv_plan_create(mat, &none, &plan), SPMV_E_NOMEM);
    assert_null(plan);
    p.left = SIZE_MAX / 2;
    plan = plain_plan(mat, "cuda:csr_lanes");
    assert_multiplies(plan, &s);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    lent_free(&t);
    subject_free(&s);
    spmv_ctx_free(ctx);
    assert_int_equal(p.blocks, 0);
    assert_int_equal(p.out, 0);
}

TEST_MAIN(take_backend, NULL, NULL)
