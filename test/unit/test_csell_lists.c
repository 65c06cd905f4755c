/* test_csell_lists.c: which slices of csell_lists share a list and which have none, laid out by
 * hand; and that a device, in which warps find lists in any order, makes the same bytes. */
#include "device_builds.h"
#include "formats/csell_lists/csell_lists.h"
#include "matrix/stores/stored.h"

static spmv_choice choice_with(int64_t cut, int64_t codes) {
    spmv_choice c = {{0}};
    c.value[SPMV_cut] = cut;
    c.value[SPMV_codes] = codes;
    return c;
}

static csell_lists *store_with(const spmv_mat *mat, int64_t cut, int64_t codes) {
    const spmv_choice c = choice_with(cut, codes);
    spmv_store *store = NULL;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("csell_lists", SPMV_F64_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_OK);
    return (csell_lists *)store;
}

static csell_lists *store_of(const spmv_mat *mat) {
    return store_with(mat, 0, 1);
}

/* ---- by hand --------------------------------------------------------------------------------- */

/* 80 rows of a diagonal of 2 and its right neighbour of -1: two slices with one list, and half a
 * slice with another, each of two steps and as many of padding. */
TEST(stencil_by_hand) {
    static const csell_listed slices[] = {
        {0, 0, 2 << 3 | CSELL_VALUE_STEP},
        {0, 0, 2 << 3 | CSELL_VALUE_STEP},
        {0, 4, 2 << 3 | 4 | CSELL_VALUE_STEP},
    };
    static const csell_list_step steps[] = {
        {0, 0xffffffff, 0, 0}, {1, 0xffffffff, 32, 0}, {0, 0, 64, 0}, {0, 0, 64, 0},
        {0, 0xffff, 0, 0},     {1, 0xffff, 16, 0},     {0, 0, 32, 0}, {0, 0, 32, 0},
    };
    static const double values[] = {2, -1, 0, 0, 2, -1, 0, 0};
    FREED(entries) e = {.rows = 80, .cols = 81};
    for (int64_t i = 0; i < e.rows; i++) add_entry(&e, i, i, 2), add_entry(&e, i, i + 1, -1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell_lists *A = store_of(mat);
    assert_int_equal(A->nslices, COUNT(slices));
    assert_int_equal(A->list_steps, COUNT(steps));
    assert_memory_equal(A->slice, slices, sizeof slices);
    assert_memory_equal(A->list, steps, sizeof steps);
    assert_memory_equal(A->step_value, values, sizeof values);
    for (int k = 0; k < COUNT(steps); k++) assert_int_equal(A->base[k], steps[k].base);
    assert_int_equal(A->nrest, 0);
    assert_int_equal(A->value_bytes, 0);
    assert_int_equal(A->value_codes, 1 << CSELL_VALUE_STEP);
    assert_int_equal(A->even, 2);
    assert_int_equal(A->even_code, CSELL_VALUE_STEP);
    spmv_store_free(&A->s);
}

/* A slice of five diagonals, the last of 13 rows, with places in a codebook: a word of four steps
 * per row, then a byte. */
TEST(codes_are_padded) {
    enum { FULL = 32, LAST = 13 };
    FREED(entries) e = {.rows = FULL, .cols = FULL + 9};
    for (int64_t i = 0; i < e.rows; i++)
        for (int64_t j = 0; j < (i < LAST ? 5 : 4); j++)
            add_entry(&e, i, i + 2 * j, (double)(1 + (i * 3 + j) % 5));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell_lists *A = store_of(mat);
    assert_int_equal(A->nslices, 1);
    assert_int_equal(A->slice[0].list, 0);
    assert_int_equal(A->slice[0].what, 5 << 3 | 4 | VALUE_CODEBOOK);
    assert_int_equal(A->value_bytes, 5 * CSELL_ROWS);
    for (int i = 0; i < FULL; i++)
        for (int j = 0; j < 5; j++) {
            int code = A->values[j < 4 ? 4 * i + j : 4 * CSELL_ROWS + i];
            if (j == 4 && i >= LAST)
                assert_int_equal(code, 0);
            else
                assert_true(A->codebook[code] == 1 + (i * 3 + j) % 5);
        }
    spmv_store_free(&A->s);
}

/* Twenty slices of places in a codebook, one of which has one value a step. */
TEST(other_codes_have_no_list_beside_an_even_one) {
    enum { SLICES = 20, ODD = 7 };
    FREED(entries) e = {.rows = SLICES * CSELL_ROWS, .cols = SLICES * CSELL_ROWS + 2};
    for (int64_t i = 0; i < e.rows; i++)
        for (int64_t j = 0; j < 3; j++)
            add_entry(&e, i, i + j, i / CSELL_ROWS == ODD ? 5 : (double)(1 + (i * 3 + j) % 5));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell_lists *A = store_of(mat);
    assert_int_equal(A->even, 3);
    assert_int_equal(A->even_code, VALUE_CODEBOOK);
    assert_int_equal(A->nrest, 1);
    assert_int_equal(A->rest[0].value_code, CSELL_VALUE_STEP);
    for (int k = 0; k < SLICES; k++) assert_int_equal(A->slice[k].list, k == ODD ? ~0 : 0);
    spmv_store_free(&A->s);
}

TEST(long_rows_are_refused) {
    FREED(entries) e = {.rows = 40, .cols = 100};
    for (int64_t i = 0; i < e.rows; i++) add_row(&e, i, i == 7 ? 90 : 3);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    const spmv_choice c = choice_with(50, 1);
    spmv_store *store = NULL;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("csell_lists", SPMV_F64_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(ctx), "rows of more than 50 entries, here 1"));
    spmv_store_free(store);
    store = &store_with(mat, 90, 1)->s;
    spmv_store_free(store);
}

/* ---- as devices build them ------------------------------------------------------------------- */

/* Makes a band matrix in which every row lacks some entries: nearly every slice has a distinct
 * list; every fourth slice repeats the one before. */
static spmv_mat *band_with_holes(int64_t slices, int64_t width) {
    FREED(entries) e = {.rows = slices * CSELL_ROWS, .cols = slices * CSELL_ROWS + width};
    for (int64_t i = 0; i < e.rows; i++) {
        int64_t slice = i / CSELL_ROWS, like = i - (slice % 4 == 3 ? CSELL_ROWS : 0);
        for (int64_t j = 0; j < width; j++)
            if (spmv_mix((uint64_t)(like * width + j) + 1) % 4) add_entry(&e, i, i + j, 1.5);
    }
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

/* The bytes on the device, twice, are those of the host. */
static void assert_devices_agree(const spmv_mat *mat, int64_t codes, const char *what) {
    const spmv_choice c = choice_with(1 << 20, codes), none = {{0}};
    spmv_device *d = NULL;
    spmv_store *rows_head = NULL, *rows = NULL;
    double upload_s;
    if (!is_usable(ctx, &spmv_cuda)) return;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_ctx_device(ctx, &spmv_cuda, &d), SPMV_OK);
    const spmv_device_format *csr = spmv_device_builder(&spmv_cuda, "csr", SPMV_F64_O32);
    const spmv_device_format *own = spmv_device_builder(&spmv_cuda, "csell_lists", SPMV_F64_O32);
    assert_true(csr && own);
    assert_int_equal(csr->build(d, &A, NULL, &none, &rows_head, &rows, &upload_s), SPMV_OK);
    csell_lists *host = store_with(mat, 1 << 20, codes);
    for (int n = 0; n < 2; n++) {
        spmv_store *head = NULL, *copy = NULL;
        assert_int_equal(build_counted(d, own, SPMV_F64_O32, &A, rows, &c, &head, &copy), SPMV_OK);
        assert_same_bytes(d, &host->s, head, copy, what);
        const csell_lists *there = (const csell_lists *)copy;
        assert_memory_equal(&host->nslices, &there->nslices,
                            offsetof(csell_lists, slice) - offsetof(csell_lists, nslices));
        spmv_store_free(head);
        spmv_store_free_on(d, copy);
    }
    spmv_store_free(&host->s);
    spmv_store_free(rows_head);
    spmv_store_free_on(d, rows);
}

/* Lists are numbered as slices come; those behind the last that fits are not kept. */
TEST(lists_end_at_the_limit) {
    enum { SLICES = 1500, WIDTH = 60 };
    FREED(spmv_mat) *mat = band_with_holes(SLICES, WIDTH);
    csell_lists *A = store_of(mat);
    int64_t next = 0;
    assert_in_range(A->list_steps, CSELL_LISTED - WIDTH, CSELL_LISTED);
    for (int64_t k = 0; k < SLICES; k++) {
        const csell_listed *slice = A->slice + k;
        if (slice->list < 0) {
            assert_int_equal(next, A->list_steps); /* nothing follows */
        } else if (k % 4 == 3) {
            assert_int_equal(slice->list, A->slice[k - 1].list);
        } else {
            assert_int_equal(slice->list, next);
            next += ((slice->what >> 3) + 3) / 4 * 4;
        }
    }
    assert_true(A->nrest > 0 && A->nrest < SLICES / 2);
    assert_devices_agree(mat, 1, "a band with holes");
    spmv_store_free(&A->s);
}

TEST(warps_find_lists_in_any_order) {
    static const char *const specs[][2] = {
        {"gen:poisson2d:130x70", NULL}, {"gen:poisson2d:90", "few:8"},
        {"gen:poisson3d:17", "random"}, {"gen:box27:9", "few:300"},
        {"gen:road:3000", "few:9"},     {"gen:random:3000:1:60000", "few:9"},
        {"gen:diagonal:2000", "few:2"}, {"gen:poisson2d:300x4", "few:200"},
    };
    for (int k = 0; k < COUNT(specs); k++)
        for (int codes = 0; codes < 2; codes++) {
            spmv_load_opts opts = SPMV_OPTS(spmv_load_opts);
            FREED(spmv_mat) *mat = NULL;
            opts.values = specs[k][1];
            assert_int_equal(spmv_mat_load(ctx, specs[k][0], &opts, &mat), SPMV_OK);
            assert_devices_agree(mat, codes, specs[k][0]);
        }
    FREED(spmv_mat) *mat = band_with_holes(200, 13);
    assert_devices_agree(mat, 1, "a narrow band with holes");
}

/* Codes were allowed but save nothing, so that the store accepts other values, on a device as well.
 * The second slice has no values. */
TEST(values_as_they_are_take_others) {
    FREED(entries) e = {.rows = 300, .cols = 302};
    for (int64_t i = 0; i < e.rows; i++)
        for (int64_t j = 0; j < (i / CSELL_ROWS == 1 ? 0 : 3); j++)
            add_entry(&e, i, i + j, 1 / (double)(1 + 3 * i + j));
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csell_lists *A = store_of(mat);
    assert_int_equal(A->codes, 0);
    assert_devices_agree(mat, 1, "a slice without values");
    spmv_store_free(&A->s);
    if (is_usable(ctx, &spmv_cuda)) {
        static const char *const kernels[] = {"cuda:csell_lists", "cuda:csell_warp"};
        double values[900];
        for (int k = 0; k < COUNT(values); k++) values[k] = 1 / (double)(2 + k);
        for (int k = 0; k < COUNT(kernels); k++) {
            spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernels[k]);
            FREED(spmv_plan) *plan = must_plan(mat, &opts);
            assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
        }
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
