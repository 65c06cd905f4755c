/* test_formats.c: every format, with any parameters, holds exactly the matrix it was made of, in
 * exactly the bytes it forecast. A word: this format alone. */
#include "context.h"
#include "formats/row_ends.h"
#include "matrix/stores/stored.h"
#include "one_format.h"

/* Returns whether a kernel is tested: it is built in, and its format is selected. */
static bool is_tried(const spmv_backend *backend, int k) {
    return is_here(backend, k) && is_asked(backend->kernels[k][0]->format);
}

static int compare_positions(const void *a, const void *b) {
    const int64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* ---- back to entries ------------------------------------------------------------------------ */

/* Chooses each parameter: its default, its least, or a small legal value drawn. */
static spmv_choice draw_choice(const spmv_param *params, uint64_t seed) {
    spmv_choice c = {{0}};
    uint64_t random = seed;
    for (const spmv_param *p = params; p->id != SPMV_NPARAMS; p++) {
        int64_t most = p->max < p->min + 40 * p->multiple ? p->max : p->min + 40 * p->multiple;
        int64_t drawn =
            p->min + draw_below(&random, (most - p->min) / p->multiple + 1) * p->multiple;
        int64_t kind = seed == 0 ? 0 : draw_below(&random, 4);
        int64_t value = kind == 0   ? p->default_value
                        : kind == 1 ? p->min
                                    : drawn - drawn % p->multiple;
        c.value[p->id] = spmv_param_takes(p, value) ? value : p->default_value;
    }
    return c;
}

/* The store's entries, sorted, are those of the matrix, bit for bit in the store's precision. */
static void assert_same_entries(const spmv_format *format, const spmv_store *store,
                                const entries *e, bool f32) {
    entries back = {.rows = e->rows, .cols = e->cols};
    for (int64_t k = 0; k <= e->nnz; k++) add_entry(&back, -1, -1, -1); /* one more, for a guard */
    assert_int_equal(store->nnz, e->nnz);
    format->entries(store, back.row, back.col, back.values);
    assert_true(back.row[e->nnz] == -1 && back.col[e->nnz] == -1 && back.values[e->nnz] == -1);
    int64_t *from = malloc((size_t)(e->nnz + 1) * 2 * sizeof *from),
            *to = malloc((size_t)(e->nnz + 1) * 2 * sizeof *to);
    assert_true(from && to);
    for (int64_t k = 0; k < e->nnz; k++) { /* position and which */
        from[2 * k] = e->row[k] * e->cols + e->col[k], from[2 * k + 1] = k;
        to[2 * k] = back.row[k] * e->cols + back.col[k], to[2 * k + 1] = k;
    }
    qsort(from, (size_t)e->nnz, 2 * sizeof *from, compare_positions);
    qsort(to, (size_t)e->nnz, 2 * sizeof *to, compare_positions);
    for (int64_t k = 0; k < e->nnz; k++) {
        double expected = e->values[from[2 * k + 1]];
        if (from[2 * k] != to[2 * k] ||
            back.values[to[2 * k + 1]] != (f32 ? (double)(float)expected : expected))
            fail_msg("%s: entry %lld of %lld came back as another", format->name, (long long)k,
                     (long long)e->nnz);
    }
    free(from);
    free(to);
    entries_free(&back);
}

/* The arrays with values hold all that are not 0, and nothing else, unless they are encoded. */
static void assert_places_hold(const spmv_format *format, const spmv_store *store,
                               const spmv_choice *c, const spmv_csr_view *A) {
    spmv_places places[SPMV_MOST_PLACES];
    const int n = format->places ? format->places(store, places) : 0;
    int64_t held = 0;
    if (n == 0) {
        assert_true(!format->places || c->value[SPMV_codes]);
        return;
    }
    for (int p = 0; p < n; p++)
        for (int64_t k = 0; k < places[p].n; k++)
            held += places[p].width == sizeof(double) ? ((const double *)places[p].values)[k] != 0
                                                      : ((const float *)places[p].values)[k] != 0;
    for (int64_t k = 0; k < A->nnz; k++) held -= A->values[k] != 0;
    if (held) fail_msg("%s: %lld values too many in its places", format->name, (long long)held);
}

/* After new values a store equals one that was built with these values, padding included. */
static void assert_refilled(const spmv_format *format, const spmv_choice *c, const spmv_csr_view *A,
                            spmv_store *store) {
    double *fresh = malloc((size_t)(A->nnz + 1) * sizeof *fresh);
    spmv_store *expected = NULL;
    spmv_csr_view other = *A;
    assert_non_null(fresh);
    for (int64_t k = 0; k < A->nnz; k++) fresh[k] = (double)(k % 50 + 1);
    other.values = fresh;
    if (format->refill)
        format->refill(&other, 3, store);
    else
        format->refill_rows(&other, 0, A->rows, store);
    assert_int_equal(format->build(ctx, &other, c, 3, &expected), SPMV_OK);
    for (int k = 0; k < store->narrays; k++) {
        const void *is, *made;
        memcpy(&is, (const char *)store + store->array[k].offset, sizeof is);
        memcpy(&made, (const char *)expected + expected->array[k].offset, sizeof made);
        if (store->array[k].bytes && memcmp(is, made, store->array[k].bytes))
            fail_msg("%s: array %d is another after new values", format->name, k);
    }
    spmv_store_free(expected);
    free(fresh);
}

/* The whole store of a matrix and a choice: forecast, head, entries. Not where it is so large that
 * no plan asks for it: 67,000 diagonals take 37 GB. */
static void assert_format_holds(const spmv_format *format, int variant, const spmv_choice *c,
                                const spmv_csr_view *A, const entries *e, const char *matrix) {
    spmv_store *store = NULL;
    size_t forecast = format->estimate(A, c);
    if (spmv_is_padding(A, variant, forecast)) return;
    spmv_status status = format->build(ctx, A, c, 3, &store);
    if (status != SPMV_E_UNSUITABLE) assert_int_equal(status, SPMV_OK);
    if (status == SPMV_OK) {
        size_t is = spmv_store_bytes(store);
        if (format->bound) {
            size_t most = format->bound(A, c, spmv_longest_row(A));
            if (most < forecast)
                fail_msg("%s of '%s': bound %zu, forecast %zu", format->name, matrix, most,
                         forecast);
        }
        if (format->at_most ? forecast < is : forecast != is)
            fail_msg("%s of '%s': forecast %zu, is %zu", format->name, matrix, forecast, is);
        assert_string_equal(store->format, format->name);
        assert_in_range(store->slots, A->nnz, SIZE_MAX);
        if (e) assert_same_entries(format, store, e, variant >= SPMV_F32_O32);
        if (e) assert_places_hold(format, store, c, A);
        if (e && (format->refill || format->refill_rows) && !c->value[SPMV_codes])
            assert_refilled(format, c, A, store);
        if (format->refill_rows && !format->refill) /* else nothing writes new values */
            assert_in_range(format->rows_together(store), 1, INT32_MAX);
    }
    spmv_store_free(store);
}

TEST(entries_come_back) {
    for (uint64_t seed = 1; seed <= 60; seed++) {
        uint64_t random = seed;
        int64_t rows = 1 + draw_below(&random, 80), cols = 1 + draw_below(&random, 80);
        FREED(entries) e = random_matrix(seed, rows, cols, 1 + draw_below(&random, 20));
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        for (int f = 0; f < spmv_format_count(); f++)
            for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
                if (!is_asked(spmv_format_at(f, variant)->name)) continue;
                const spmv_format *format = spmv_format_at(f, variant);
                spmv_choice c = draw_choice(format->params, seed / 8 ? seed : 0);
                assert_format_holds(format, variant, &c, &A, &e, "random");
            }
    }
}

/* A matrix of one column or one row has the most parts, and more distinct values than a codebook:
 * the forecast includes memory proportional to the number of parts. */
TEST(forecasts_hold_of_many_parts) {
    for (int turn = 0; turn < 2; turn++) {
        FREED(entries) e = {.rows = turn ? 1 : 4003, .cols = turn ? 4003 : 1};
        for (int64_t k = 0; k < 4003; k++) add_random(&e, turn ? 0 : k, turn ? k : 0);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        const spmv_csr_view A = rows_of(mat);
        for (int f = 0; f < spmv_format_count(); f++)
            for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
                if (!is_asked(spmv_format_at(f, variant)->name)) continue;
                const spmv_format *format = spmv_format_at(f, variant);
                spmv_choice c = {{0}};
                for (const spmv_param *p = format->params; p->id != SPMV_NPARAMS; p++)
                    c.value[p->id] = spmv_param_takes(p, 1) ? 1 : p->min;
                assert_format_holds(format, variant, &c, &A, &e, turn ? "one row" : "one column");
            }
    }
}

/* A e_j is column j, exactly: whatever a format is, its kernels see the matrix's entries and no
 * others. */
static void assert_columns_come_back(const spmv_kernel_id *id, spmv_mat *mat,
                                     spmv_precision precision) {
    char name[64];
    spmv_csr_view A = rows_of(mat);
    spmv_plan *plan = NULL;
    full_name(id->backend, id->index, name);
    spmv_plan_opts opts = {
        .size = sizeof opts, .kernel = name, .precision = precision, .max_bytes = 256 << 20};
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG) return;
    assert_int_equal(status, SPMV_OK);
    double *dense = calloc((size_t)(A.rows * A.cols), sizeof *dense);
    size_t x_bytes = (size_t)A.cols * width_of(precision),
           y_bytes = (size_t)A.rows * width_of(precision);
    void *x = calloc(1, x_bytes), *y = malloc(y_bytes), *device_x = NULL, *device_y = NULL;
    assert_true(dense && x && y);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            dense[i * A.cols + A.col_idx[k]] = A.values[k];
    assert_int_equal(spmv_plan_alloc(plan, x_bytes, &device_x), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, y_bytes, &device_y), SPMV_OK);
    for (int64_t j = 0; j < A.cols; j++) {
        set_number(x, precision, j, 1);
        assert_int_equal(spmv_plan_put(plan, device_x, x, x_bytes), SPMV_OK);
        assert_int_equal(spmv_exec(plan, 1, device_x, 0, device_y), SPMV_OK);
        assert_int_equal(spmv_plan_get(plan, y, device_y, y_bytes), SPMV_OK);
        for (int64_t i = 0; i < A.rows; i++) {
            double expected = dense[i * A.cols + j];
            if (number_at(y, precision, i) !=
                (precision == SPMV_F64 ? expected : (double)(float)expected))
                fail_msg("%s: entry %lld, %lld", name, (long long)i, (long long)j);
        }
        set_number(x, precision, j, 0);
    }
    spmv_plan_release(plan, device_x);
    spmv_plan_release(plan, device_y);
    free(dense);
    free(x);
    free(y);
    spmv_plan_free(plan);
}

TEST(columns_come_back_through_every_kernel) {
    for (uint64_t seed = 1; seed <= 3; seed++) {
        FREED(entries) e = random_matrix(seed, 53 + (int64_t)seed, 61, 30);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int k = 0; is_usable(ctx, *b) && k < (*b)->nkernels; k++)
                if (is_tried(*b, k))
                    for (int precision = 0; precision < 2; precision++)
                        assert_columns_come_back(&(spmv_kernel_id){*b, k}, mat,
                                                 (spmv_precision)precision);
    }
}

/* ---- forecasts ------------------------------------------------------------------------------ */

/* Checks the forecast of the plan's format and of its kernel's own structures, with the settings
 * that it took. */
static void assert_forecast(const spmv_plan *plan, const char *kernel, const char *matrix) {
    spmv_csr_view A = rows_of(plan->matrix);
    spmv_plan_facts facts = plan_facts_of(plan);
    size_t scratch = plan->kernel->estimate ? plan->kernel->estimate(&A, &plan->choice) : 0;
    size_t arrays = spmv_store_bytes(plan->host);
    bool peer = plan->kernel->traits & SPMV_PEER; /* its library asks for what it likes */
    if (scratch < facts.scratch_bytes && !peer)
        fail_msg("%s on '%s': scratch of %zu bytes, forecast %zu", kernel, matrix,
                 facts.scratch_bytes, scratch);
    assert_int_equal(facts.store_bytes, arrays);
    assert_in_range(facts.slots, A.nnz, SIZE_MAX);
}

/* Returns the choice before the forecast: a parameter that the caller left at 0 is chosen after
 * it. */
static spmv_choice asked_of(const spmv_plan *plan) {
    spmv_choice c = plan->choice;
    const spmv_param *p = plan->kernel->params;
    for (; p && p->id != SPMV_NPARAMS; p++)
        if (p->default_value == 0) c.value[p->id] = 0;
    return c;
}

/* Found by the budget: exactly so many bytes are enough, one less is not. */
static void assert_exact_budget(spmv_mat *mat, const spmv_plan_opts *like, size_t bytes) {
    spmv_plan_opts opts = *like;
    spmv_plan *other = NULL;
    opts.max_bytes = bytes;
    if (opts.max_bytes < 2) return; /* 0: no limit */
    spmv_status status = spmv_plan_create(mat, &opts, &other);
    if (status != SPMV_OK)
        fail_msg("%s refuses its own size: %s", opts.kernel, spmv_ctx_error(ctx));
    spmv_plan_free(other);
    spmv_mat_drop_stores(mat);
    opts.max_bytes--;
    if (spmv_plan_create(mat, &opts, &other) != SPMV_E_TOOBIG)
        fail_msg("%s takes a byte more than it may", opts.kernel);
}

/* The format's forecast in a variant counts where there is no store; what a store takes, where it
 * exists already: that of the plan. */
static void assert_exact_budgets(spmv_mat *mat, const spmv_plan_opts *like, const spmv_plan *plan) {
    spmv_csr_view A = rows_of(mat);
    spmv_choice asked = asked_of(plan);
    FREED(spmv_mat) *fresh = NULL;
    spmv_plan_facts facts = plan_facts_of(plan);
    size_t scratch = plan->kernel->estimate ? plan->kernel->estimate(&A, &asked) : 0;
    const spmv_format *format = spmv_format_named(facts.format, plan->variant);
    size_t store = format->at_most ? format->estimate(&A, &plan->choice) : facts.store_bytes;
    assert_exact_budget(mat, like, facts.store_bytes + scratch);
    assert_int_equal(spmv_mat_csr(ctx, &A, &fresh), SPMV_OK);
    assert_exact_budget(fresh, like, store + scratch);
}

TEST(forecasts_hold) {
    int plans = 0;
    for (int f = 0; f < COUNT(fixtures); f++) {
        FREED(entries) e = entries_of(&fixtures[f]);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int k = 0; is_usable(ctx, *b) && k < (*b)->nkernels; k++)
                if (is_tried(*b, k))
                    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
                        char name[64];
                        spmv_plan *plan = NULL;
                        full_name(*b, k, name);
                        spmv_plan_opts opts = WITH(
                            spmv_plan_opts, .kernel = name, .offset_bits = variant % 2 ? 64 : 32,
                            .precision = variant < 2 ? SPMV_F64 : SPMV_F32, .max_bytes = 256 << 20);
                        spmv_status status = spmv_plan_create(mat, &opts, &plan);
                        if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG) continue;
                        assert_int_equal(status, SPMV_OK);
                        assert_forecast(plan, name, fixtures[f].name);
                        assert_exact_budgets(mat, &opts, plan);
                        spmv_plan_free(plan);
                        plans++;
                    }
    }
    print_message("%d forecasts\n", plans);
}

TEST(formats_forecast_exactly) {
    for (int f = 0; f < COUNT(fixtures); f++) {
        FREED(entries) e = entries_of(&fixtures[f]);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        for (int k = 0; k < spmv_format_count(); k++)
            for (int variant = 0; variant < SPMV_NVARIANTS; variant++)
                for (uint64_t seed = 0; seed < 8; seed++) {
                    const spmv_format *format = spmv_format_at(k, variant);
                    if (!is_asked(format->name)) continue;
                    spmv_choice c = draw_choice(format->params, seed);
                    assert_format_holds(format, variant, &c, &A, NULL, fixtures[f].name);
                }
    }
}

/* Counts by hand: 4 rows, 5 entries, the longest row 3. */
TEST(sizes_by_hand) {
    FREED(entries) e = {.rows = 4, .cols = 6};
    add_entry(&e, 0, 1, 1);
    add_entry(&e, 2, 0, 2), add_entry(&e, 2, 3, 3), add_entry(&e, 2, 5, 4);
    add_entry(&e, 3, 2, 5);
    static const struct {
        const char *format;
        size_t bytes[SPMV_NVARIANTS];
    } sizes[] = {
        {"csr", {5 * 4 + 5 * 12, 5 * 8 + 5 * 12, 5 * 4 + 5 * 8, 5 * 8 + 5 * 8}},
        {"ell", {12 * 12 + 16, 12 * 12 + 16, 12 * 8 + 16, 12 * 8 + 16}},
    };
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_usable(ctx, *b) && k < (*b)->nkernels; k++)
            if (is_tried(*b, k))
                for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
                    char name[64];
                    FREED(spmv_plan) *plan = NULL;
                    full_name(*b, k, name);
                    spmv_plan_opts opts =
                        WITH(spmv_plan_opts, .kernel = name, .offset_bits = variant % 2 ? 64 : 32,
                             .precision = variant < 2 ? SPMV_F64 : SPMV_F32);
                    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) continue;
                    spmv_plan_facts facts = plan_facts_of(plan);
                    assert_int_equal(facts.offset_bits, opts.offset_bits);
                    for (int s = 0; s < COUNT(sizes); s++)
                        if (strcmp(sizes[s].format, facts.format) == 0)
                            assert_int_equal(facts.store_bytes, sizes[s].bytes[variant]);
                }
}

/* A rectangle of 2^31 - 1 full rows is a number, not a small remainder: nothing is read, so the
 * rows need not exist. */
TEST(forecasts_do_not_wrap) {
    enum { ROWS = 3 };
    const int64_t row_ptr[ROWS + 1] = {0, INT32_MAX, INT32_MAX, INT32_MAX};
    const spmv_csr_view A = {.size = sizeof(spmv_csr_view),
                             .rows = ROWS,
                             .cols = INT32_MAX,
                             .nnz = INT32_MAX,
                             .row_ptr = row_ptr};
    const spmv_choice c = {{0}};
    for (int k = 0; k < spmv_format_count(); k++)
        if (strcmp(spmv_format_at(k, 0)->name, "ell") == 0 ||
            strcmp(spmv_format_at(k, 0)->name, "csr") == 0)
            assert_in_range(spmv_format_at(k, 0)->estimate(&A, &c), (size_t)INT32_MAX * 12,
                            SIZE_MAX);
}

/* ---- f32 ------------------------------------------------------------------------------------ */

TEST(too_large_for_f32_is_refused) {
    static const double value[] = {1e300, -1e300, 3.5e38};
    for (int n = 0; n < COUNT(value); n++) {
        FREED(entries) e = {.rows = 3, .cols = 3};
        add_entry(&e, 0, 0, 1), add_entry(&e, 1, 1, INFINITY);
        add_entry(&e, 1, 2, value[n]), add_entry(&e, 2, 1, value[n]); /* some want symmetry */
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int k = 0; is_usable(ctx, *b) && k < (*b)->nkernels; k++)
                if (is_tried(*b, k)) {
                    char name[64];
                    spmv_plan *plan = (spmv_plan *)name;
                    full_name(*b, k, name);
                    spmv_plan_opts opts = {
                        .size = sizeof opts, .kernel = name, .precision = SPMV_F32};
                    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
                    assert_null(plan);
                    assert_non_null(strstr(spmv_ctx_error(ctx), "f32"));
                    opts.precision = SPMV_F64;
                    spmv_status status = spmv_plan_create(mat, &opts, &plan);
                    if (!((*b)->kernels[k][0]->traits & SPMV_PEER && status == SPMV_E_UNSUITABLE))
                        assert_int_equal(status, SPMV_OK);
                    spmv_plan_free(plan);
                }
    }
}

TEST(infinity_fits_f32) {
    FREED(entries) e = {.rows = 2, .cols = 2};
    add_entry(&e, 0, 0, INFINITY), add_entry(&e, 1, 1, NAN), add_entry(&e, 1, 0, 3.4e38);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_plan_opts opts = {.size = sizeof opts, .precision = SPMV_F32};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
}

/* ---- stores are shared ---------------------------------------------------------------------- */

TEST(plans_share_stores) {
    FREED(entries) e = random_matrix(9, 50, 50, 9);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_plan *plan[2] = {NULL, NULL};
    for (int n = 0; n < 2; n++) assert_int_equal(spmv_plan_create(mat, NULL, &plan[n]), SPMV_OK);
    assert_ptr_equal(plan[0]->host, plan[1]->host);
    for (int n = 0; n < 2; n++) spmv_plan_free(plan[n]);
    assert_non_null(mat->stores);
    spmv_mat_drop_stores(mat);
    assert_null(mat->stores);
}

/* A CSR store shares the arrays of the matrix if they are equal; a copy of a plan has its own. */
TEST(compressed_rows_are_the_matrix_s) {
    spmv_plan *plan, *copy;
    double x[16] = {1}, y[16], z[16];
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:4");
    for (int k = 0; k < 4; k++) {
        spmv_plan_opts opts =
            WITH(spmv_plan_opts, .kernel = "csr_rows", .precision = k % 2 ? SPMV_F32 : SPMV_F64,
                 .offset_bits = k / 2 ? 64 : 32);
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
        const spmv_array *a = plan->host->array;
        assert_int_equal(plan->host->narrays, 3);
        assert_true(a[0].borrowed == (k / 2) && a[1].borrowed && a[2].borrowed == !(k % 2));
        assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
        for (int n = 0; n < 3; n++) assert_false(copy->store->array[n].borrowed);
        assert_int_equal(spmv_exec(plan, 1, x, 0, y), SPMV_OK);
        assert_int_equal(spmv_exec(copy, 1, x, 0, z), SPMV_OK);
        assert_memory_equal(y, z, 16 * (k % 2 ? sizeof(float) : sizeof(double)));
        spmv_plan_free(copy);
        spmv_plan_free(plan);
    }
}

TEST_MAIN(take_format, open_context, close_context)
