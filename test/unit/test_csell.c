/* test_csell.c: the codes that slices of csell get, laid out by hand; that the bytes do not depend
 * on the threads; and that every code, of the sell16 format too, gives y of the same bits as plain
 * values do, with every instruction set. y written past the caches: test_csell_past.c. */
#include "context.h"
#include "csell_rows.h"
#include "omp/csell/csell.h"

/* ---- matrices that get every code ------------------------------------------------------------ */

typedef struct shape { /* pattern of the columns */
    const char *name;
    int64_t cols;
    void (*fill)(entries *e, double (*value)(int64_t i, int64_t j));
    int column_code, run;
    bool full;
} shape;

static void fill_band(entries *e, value_rule *value) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = i; j < i + 9; j += 2) add_entry(e, i, j, value(i, j));
}

static void fill_ragged_band(entries *e, value_rule *value) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = i; j < i + 9; j++)
            if ((i * i + j) % 5 != 2) add_entry(e, i, j, value(i, j));
}

/* n runs in a row, anywhere in each of n equal parts of the columns up to width. */
static void fill_scattered(entries *e, value_rule *value, int64_t width, int64_t n, int run) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = 0; k < n - (run > 1 || width < 300 ? i % 2 : 0); k++) {
            int64_t part = width / n, at = (int64_t)(spmv_mix((uint64_t)(i * 64 + k) + 1) >> 1);
            for (int64_t j = k * part + at % (part - run), m = 0; m < run; m++)
                add_entry(e, i, j + m, value(i, j + m));
        }
}

static void fill_near(entries *e, value_rule *value) {
    fill_scattered(e, value, 1000, 5, 1);
}

static void fill_near_ragged(entries *e, value_rule *value) {
    fill_scattered(e, value, 256, 7, 1);
}

static void fill_far(entries *e, value_rule *value) {
    fill_scattered(e, value, 60000, 4, 1);
}

static void fill_anywhere(entries *e, value_rule *value) {
    fill_scattered(e, value, WIDE, 2, 1);
}

static void fill_short_runs(entries *e, value_rule *value) {
    fill_scattered(e, value, 500, 4, 3);
}

/* Slices that repeat the first, moved along the diagonal, but for one. */
static void fill_repeated(entries *e, value_rule *value) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = 0; k < 5; k++) {
            int64_t at = (int64_t)(spmv_mix((uint64_t)(i % 32 * 64 + k) + 1) % 190);
            int64_t j = i / 32 * 32 + k * 200 + at + (i == 70 && k == 4);
            add_entry(e, i, j, value(i, j));
        }
}

/* The third slice repeats the first, but the rows of the second differ. */
static void fill_broken_band(entries *e, value_rule *value) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = 0; k < 5; k++) {
            int64_t j = i / 32 == 1 ? k * 40 + (i * i + k) % 37 : i + k;
            add_entry(e, i, j, value(i, j));
        }
}

static void fill_grid(entries *e, value_rule *value) {
    const int64_t width = 24;
    for (int64_t i = 0; i < e->rows; i++) {
        if (i >= width) add_entry(e, i, i - width, value(i, i - width));
        if (i % width) add_entry(e, i, i - 1, value(i, i - 1));
        add_entry(e, i, i, value(i, i));
        if ((i + 1) % width) add_entry(e, i, i + 1, value(i, i + 1));
        add_entry(e, i, i + width, value(i, i + width));
    }
}

static const shape shapes[] = {
    {"band", 300, fill_band, CSELL_DIAGONAL, 1, true},
    {"ragged band", 300, fill_ragged_band, CSELL_DIAGONAL, 1, false},
    {"near", 1000, fill_near, CSELL_COLUMN_8, 1, true},
    {"near, ragged", 1000, fill_near_ragged, CSELL_COLUMN_8, 1, false},
    {"far", 60000, fill_far, CSELL_COLUMN_16, 1, true},
    {"anywhere", WIDE, fill_anywhere, CSELL_COLUMN_32, 1, true},
    {"runs", 500, fill_short_runs, CSELL_COLUMN_8, 3, false},
    {"some long", 2000, fill_some_long, -1, 1, false},
    {"repeated", 1300, fill_repeated, CSELL_COLUMN_8, 1, true},
    {"broken band", 250, fill_broken_band, -1, 1, true},
    {"grid", 250, fill_grid, CSELL_DIAGONAL, 1, false},
};

static double float_value(int64_t i, int64_t j) {
    return (double)(float)any_value(i, j);
}

static double one_of_five(int64_t i, int64_t j) {
    static const double five[] = {0.1, -0.0, 3e-310, -7.25, 1e30};
    return five[(i * 3 + j) % 5];
}

static double one_of_200(int64_t i, int64_t j) {
    return 0.1 * (double)((i * 31 + j * 17) % 200);
}

static double same_on_diagonals(int64_t i, int64_t j) {
    return 1 / (3.0 + (double)((j - i) % 7));
}

/* Repeated with the slice, but for one; more than fit a table. */
static double repeated(int64_t i, int64_t j) {
    return 1 / (3.0 + (double)(i % 32) + 40.0 * (double)(j - i + 1000)) + (i / 32 == 3);
}

/* The same in all rows of a step, if steps are of one diagonal or all rows are alike. */
static double same_everywhere(int64_t i, int64_t j) {
    (void)i, (void)j;
    return 0.3;
}

/* All values are equal except in one row, after the first vectorized comparison. */
static double late(int64_t i, int64_t j) {
    (void)j;
    return i == 100 ? 2 : 1;
}

static const struct {
    const char *name;
    value_rule *rule;
    int code_f64; /* -1: several */
} kinds[] = {
    {"any", any_value, VALUE_RAW},
    {"float", float_value, VALUE_F32},
    {"five", one_of_five, VALUE_CODEBOOK},
    {"200", one_of_200, VALUE_CODEBOOK},
    {"diagonals", same_on_diagonals, -1},
    {"repeated", repeated, -1},
    {"same", same_everywhere, CSELL_VALUE_STEP},
    {"late", late, -1},
};

static entries entries_like(int s, int k) {
    entries e = {.rows = ROWS, .cols = shapes[s].cols};
    shapes[s].fill(&e, kinds[k].rule);
    return e;
}

/* ---- stores ---------------------------------------------------------------------------------- */

static csell *store_with(const spmv_mat *mat, int variant, int64_t cut, bool codes, int threads) {
    spmv_store *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_cut] = cut;
    c.value[SPMV_codes] = codes;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("csell", variant)->build(ctx, &A, &c, threads, &store),
                     SPMV_OK);
    return (csell *)store;
}

static csell *store_of(const spmv_mat *mat) {
    return store_with(mat, SPMV_F64_O32, 0, true, 2);
}

/* The whole slices, of which each has the codes that its matrix was made for. */
TEST(slices_get_their_codes) {
    for (int s = 0; s < COUNT(shapes); s++)
        for (int k = 0; k < COUNT(kinds); k++) {
            FREED(entries) e = entries_like(s, k);
            FREED(spmv_mat) *mat = matrix_of(ctx, &e);
            csell *A = store_of(mat);
            assert_int_equal(A->nslices, SLICES + 1);
            for (int n = 0; n < SLICES && shapes[s].column_code >= 0; n++) {
                const csell_slice *slice = A->slice + n;
                if (slice->column_code != shapes[s].column_code || slice->run != shapes[s].run ||
                    (slice->flags & CSELL_FULL) != (shapes[s].full ? CSELL_FULL : 0))
                    fail_msg("slice %d of '%s': column code %d, run %d, flags %d", n,
                             shapes[s].name, slice->column_code, slice->run, slice->flags);
                if (kinds[k].code_f64 >= 0 && slice->value_code != kinds[k].code_f64)
                    fail_msg("slice %d of '%s', values '%s': value code %d", n, shapes[s].name,
                             kinds[k].name, slice->value_code);
            }
            assert_int_equal(A->slice[SLICES].flags & CSELL_FULL, 0);
            spmv_store_free(&A->s);
        }
}

static const void *array_at(const spmv_store *store, int k) {
    void *memory;
    memcpy(&memory, (const char *)store + store->array[k].offset, sizeof memory);
    return memory;
}

TEST(bytes_do_not_depend_on_threads) {
    for (int s = 0; s < COUNT(shapes); s++)
        for (int k = 0; k < COUNT(kinds); k++)
            for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
                FREED(entries) e = entries_like(s, k);
                FREED(spmv_mat) *mat = matrix_of(ctx, &e);
                FREED(spmv_store) *one = &store_with(mat, variant, 0, true, 1)->s;
                for (int threads = 2; threads <= SLICES + 1; threads++) { /* up to one per slice */
                    spmv_store *other = &store_with(mat, variant, 0, true, threads)->s;
                    assert_int_equal(one->narrays, other->narrays);
                    for (int a = 0; a < one->narrays; a++) {
                        assert_int_equal(one->array[a].bytes, other->array[a].bytes);
                        if (one->array[a].bytes)
                            assert_memory_equal(array_at(one, a), array_at(other, a),
                                                one->array[a].bytes);
                    }
                    spmv_store_free(other);
                }
            }
}

/* Slices that repeat others are counted, too. */
static double too_large(int64_t i, int64_t j) {
    (void)i, (void)j;
    return 1e300;
}

TEST(all_overflows_are_counted) {
    FREED(entries) e = {.rows = ROWS, .cols = 300};
    fill_band(&e, too_large);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(spmv_store) *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_codes] = 1;
    char message[64];
    spmv_csr_view A = rows_of(mat);
    snprintf(message, sizeof message, "%d values are too large for f32", (int)A.nnz);
    assert_int_equal(spmv_format_named("csell", SPMV_F32_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_E_UNSUITABLE);
    assert_string_equal(spmv_ctx_error(ctx), message);
}

/* 48 rows of a diagonal and its right neighbour, both constant: two steps of one value each. */
TEST(stencil_by_hand) {
    FREED(entries) e = {.rows = 48, .cols = 49};
    for (int64_t i = 0; i < e.rows; i++) add_entry(&e, i, i, 2), add_entry(&e, i, i + 1, -1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell *A = store_of(mat);
    assert_int_equal(A->nslices, 2);
    assert_int_equal(A->nsteps, 4);
    assert_int_equal(A->column_bytes, 0);
    assert_int_equal(A->value_bytes, 16 + 16); /* a table takes 1 an entry */
    for (int k = 0; k < 4; k++) {
        double value;
        memcpy(&value, A->values + 8 * k, sizeof value);
        assert_true(value == (k % 2 ? -1 : 2));
        assert_int_equal(A->step[k].base, k % 2);
        assert_int_equal(A->step[k].mask, k < 2 ? 0xffffffff : 0xffff);
    }
    assert_true(A->codebook[0] == 2 && A->codebook[1] == -1 && A->codebook[2] == 0); /* by bits */
    spmv_store_free(&A->s);
}

/* Three rows, the first of two runs of two, the last too long for cut = 4. */
TEST(runs_by_hand) {
    static const int32_t bases[] = {100, 900};
    static const uint8_t columns[] = {0, 150, 0};
    static const double values[] = {1, 5, 2, 6, 3, 4};
    FREED(entries) e = {.rows = 3, .cols = 1000};
    add_entry(&e, 0, 100, 1), add_entry(&e, 0, 101, 2);
    add_entry(&e, 0, 900, 3), add_entry(&e, 0, 901, 4);
    add_entry(&e, 1, 250, 5), add_entry(&e, 1, 251, 6);
    for (int k = 0; k < 5; k++) add_entry(&e, 2, 7 * k, 10 + k);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell *A = store_with(mat, SPMV_F64_O32, 4, false, 2);
    assert_int_equal(A->slice[0].run, 2);
    assert_int_equal(A->slice[0].column_code, CSELL_COLUMN_8);
    assert_int_equal(A->slice[0].value_code, VALUE_RAW);
    assert_int_equal(A->nsteps, 2);
    assert_int_equal(A->step[0].mask, 3);
    assert_int_equal(A->step[1].mask, 1);
    for (int k = 0; k < 2; k++) assert_int_equal(A->step[k].base, bases[k]);
    assert_memory_equal(A->columns, columns, sizeof columns);
    assert_memory_equal(A->values, values, sizeof values);
    assert_int_equal(A->long_rows, 1);
    assert_int_equal(A->long_row[0], 2);
    assert_int_equal(A->long_ptr[1], 5);
    for (int k = 0; k < 5; k++) assert_true(A->long_col[k] == 7 * k && A->long_values[k] == 10 + k);
    spmv_store_free(&A->s);
}

/* Without a cut, rows of more than 64 nonzeros are long, and of more than four times the mean. */
TEST(rows_are_cut_by_the_mean) {
    static const struct {
        int others, length; /* lengths of 63 rows, and of the last */
        int64_t long_rows;
    } cases[] = {{1, 64, 0}, {1, 65, 1}, {20, 88, 0}, {20, 89, 1}}; /* a mean of 22, rounded up */
    for (int c = 0; c < COUNT(cases); c++) {
        FREED(entries) e = {.rows = 64, .cols = 100};
        for (int i = 0; i < 64; i++)
            for (int k = 0; k < (i < 63 ? cases[c].others : cases[c].length); k++)
                add_entry(&e, i, k, 1);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        csell *A = store_of(mat);
        assert_int_equal(A->long_rows, cases[c].long_rows);
        spmv_store_free(&A->s);
    }
}

/* Nothing but the length is read of a row of 2^31 nonzeros. */
TEST(a_long_part_has_narrow_offsets) {
    const int64_t row_ptr[] = {0, (int64_t)1 << 31};
    const spmv_csr_view A = {sizeof(spmv_csr_view), 1, 1, row_ptr[1], row_ptr, NULL, NULL};
    spmv_choice c = {{0}};
    c.value[SPMV_cut] = 100;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        const spmv_format *format = spmv_format_named("csell", variant);
        FREED(spmv_store) *store = NULL;
        assert_int_equal(format->build(ctx, &A, &c, 2, &store), SPMV_E_UNSUITABLE);
        assert_non_null(strstr(spmv_ctx_error(ctx), "a larger cut, or a kernel of csr"));
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* y = 1.5 A x - 0.5 y by a kernel so set. */
static char *product_of(spmv_mat *mat, const char *kernel, spmv_precision precision, int64_t isa,
                        int64_t codes, const void *x, const void *y0) {
    const spmv_setting settings[] = {{"isa", isa}, {"codes", codes}};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .precision = precision,
                               .settings = settings, .nsettings = COUNT(settings));
    spmv_plan *plan = must_plan(mat, &opts);
    char *y = malloc(ROWS * width_of(precision));
    assert_non_null(y);
    memcpy(y, y0, ROWS * width_of(precision));
    assert_int_equal(spmv_exec(plan, 1.5, x, -0.5, y), SPMV_OK);
    spmv_plan_free(plan);
    return y;
}

static void assert_right(spmv_mat *mat, const char *kernel, spmv_precision precision,
                         const char *matrix, const char *values) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_mat_stats(mat, &stats);
    double *wide_x = random_vector(1, stats.cols), *wide_y0 = random_vector(2, stats.rows);
    void *x = malloc((size_t)stats.cols * sizeof(double)), *y0 = malloc(ROWS * sizeof(double));
    assert_true(x && y0);
    for (int64_t j = 0; j < stats.cols; j++) set_number(x, precision, j, wide_x[j]);
    for (int64_t i = 0; i < ROWS; i++) set_number(y0, precision, i, wide_y0[i]);
    oracle reference = oracle_of(mat, wide_x, stats.cols, precision);
    for (int64_t isa = ISA_BEST; isa <= best_isa(); isa++) {
        FREED(char) *y = product_of(mat, kernel, precision, isa, 1, x, y0);
        FREED(char) *plain = product_of(mat, kernel, precision, isa, 0, x, y0);
        verdict v = oracle_check(&reference, precision, 1.5, -0.5, y0, y);
        if (v.bad_rows)
            fail_msg("%s of '%s', values '%s', isa %d: %lld wrong rows, first %lld", kernel, matrix,
                     values, (int)isa, (long long)v.bad_rows, (long long)v.first_bad_row);
        if (memcmp(y, plain, ROWS * width_of(precision)) != 0)
            fail_msg("%s of '%s', values '%s', isa %d: codes change y", kernel, matrix, values,
                     (int)isa);
    }
    oracle_free(&reference);
    free(wide_x);
    free(wide_y0);
    free(x);
    free(y0);
}

TEST(codes_do_not_change_y) {
    for (int s = 0; s < COUNT(shapes); s++)
        for (int k = 0; k < COUNT(kinds); k++) {
            FREED(entries) e = entries_like(s, k);
            FREED(spmv_mat) *mat = matrix_of(ctx, &e);
            for (int precision = 0; precision < 2; precision++) {
                assert_right(mat, "csell_slices", (spmv_precision)precision, shapes[s].name,
                             kinds[k].name);
                assert_right(mat, "sell16_lanes", (spmv_precision)precision, shapes[s].name,
                             kinds[k].name);
            }
        }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
