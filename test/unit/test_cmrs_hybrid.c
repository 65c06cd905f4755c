/* test_cmrs_hybrid.c: what CMRS and the hybrid format store, by hand and by the numbers of their
 * papers. That they hold every matrix, and that their kernels are right, is tested in
 * test_formats.c and test_kernels.c. */
#include "testing.h"
#include "formats/papers/cmrs/cmrs.h"
#include "formats/papers/hybrid/hybrid.h"

static spmv_ctx *ctx;

/* . 10  .  . 11  .  .
 * .  .  .  .  .  .  .
 * 20 .  .  . 21  . 22
 * . 30  .  .  .  .  .
 * 40 .  .  .  . 41  . */
static const int64_t row_ptr[] = {0, 2, 2, 5, 6, 8};
static const int32_t col_idx[] = {1, 4, 0, 4, 6, 1, 0, 5};
static const double values[] = {10, 11, 20, 21, 22, 30, 40, 41};
static const spmv_csr_view by_hand = {.size = sizeof(spmv_csr_view),
                                      .rows = 5,
                                      .cols = 7,
                                      .nnz = 8,
                                      .row_ptr = row_ptr,
                                      .col_idx = col_idx,
                                      .values = values};

static void assert_same(const void *got, const void *expected, size_t n, size_t width,
                        const char *what) {
    for (size_t k = 0; k < n; k++)
        if (memcmp((const char *)got + k * width, (const char *)expected + k * width, width) != 0)
            fail_msg("%s: number %zu of %zu is wrong", what, k, n);
}

static spmv_store *store_of(const char *format, const spmv_csr_view *A, spmv_choice c) {
    const spmv_format *f = spmv_format_named(format, SPMV_F64_O32);
    spmv_store *store = NULL;
    assert_non_null(f);
    if (f->build(ctx, A, &c, 3, &store) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return store;
}

static size_t bytes_of(const char *format, const spmv_csr_view *A, int64_t boundary) {
    spmv_choice c = {{0}};
    c.value[SPMV_boundary] = boundary;
    return spmv_format_named(format, SPMV_F64_O32)->estimate(A, &c);
}

/* ---- CMRS ----------------------------------------------------------------------------------- */

static spmv_choice strips(int64_t height, bool sorted) {
    spmv_choice c = {{0}};
    c.value[SPMV_height] = height;
    c.value[SPMV_sorted] = sorted;
    return c;
}

typedef struct layout {
    int64_t height;
    bool sorted;
    int64_t nstrips;
    int32_t strip_ptr[6];
    uint32_t words[8]; /* 16 column + row in the strip */
    double values[8];
} layout;

TEST(strips_by_hand) {
    static const layout layouts[] = {
        {1,
         false,
         5,
         {0, 2, 2, 5, 6, 8},
         {16, 64, 0, 64, 96, 16, 0, 80},
         {10, 11, 20, 21, 22, 30, 40, 41}},
        {1,
         true,
         5,
         {0, 2, 2, 5, 6, 8},
         {16, 64, 0, 64, 96, 16, 0, 80},
         {10, 11, 20, 21, 22, 30, 40, 41}},
        {2,
         false,
         3,
         {0, 2, 6, 8},
         {16, 64, 0, 64, 96, 17, 0, 80},
         {10, 11, 20, 21, 22, 30, 40, 41}},
        {2,
         true,
         3,
         {0, 2, 6, 8},
         {16, 64, 0, 17, 64, 96, 0, 80},
         {10, 11, 20, 30, 21, 22, 40, 41}},
        {4, false, 2, {0, 6, 8}, {16, 64, 2, 66, 98, 19, 0, 80}, {10, 11, 20, 21, 22, 30, 40, 41}},
        {4, true, 2, {0, 6, 8}, {2, 16, 19, 64, 66, 98, 0, 80}, {20, 10, 30, 11, 21, 22, 40, 41}},
        {16, true, 1, {0, 8}, {2, 4, 16, 19, 64, 66, 84, 98}, {20, 40, 10, 30, 11, 21, 41, 22}},
    };
    for (int k = 0; k < COUNT(layouts); k++) {
        const layout *expected = &layouts[k];
        FREED(spmv_store) *store =
            store_of("cmrs", &by_hand, strips(expected->height, expected->sorted));
        const cmrs *A = (const cmrs *)store;
        assert_int_equal(A->height, expected->height);
        assert_int_equal(A->strips, expected->nstrips);
        assert_int_equal(store->slots, 8);
        assert_same(A->strip_ptr, expected->strip_ptr, (size_t)A->strips + 1, 4, "strip_ptr");
        assert_same(A->packed, expected->words, 8, 4, "packed");
        assert_same(A->values, expected->values, 8, 8, "values");
    }
}

/* Sections 3 and 4 of the paper: its matrix M in strips of two, sorted. */
TEST(the_papers_example) {
    static const int64_t ptr[] = {0, 2, 4, 6, 9, 10};
    static const int32_t col[] = {0, 3, 1, 4, 2, 4, 2, 3, 4, 4};
    static const double value[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const int32_t strip_ptr[] = {0, 4, 9, 10};
    static const uint32_t sorted_col[] = {0, 1, 3, 4, 2, 2, 3, 4, 4, 4};
    static const uint32_t row_in_strip[] = {0, 1, 0, 1, 0, 1, 1, 0, 1, 0};
    static const double sorted_value[] = {1, 3, 2, 4, 5, 7, 8, 6, 9, 10};
    const spmv_csr_view M = CSR_VIEW(5, 5, 10, ptr, col, value);
    FREED(spmv_store) *store = store_of("cmrs", &M, strips(2, true));
    const cmrs *A = (const cmrs *)store;
    assert_int_equal(A->strips, 3);
    assert_same(A->strip_ptr, strip_ptr, 4, 4, "StripPtr");
    for (int k = 0; k < 10; k++) {
        assert_int_equal(A->packed[k] >> CMRS_ROW_BITS, sorted_col[k]);
        assert_int_equal(A->packed[k] % CMRS_HIGHEST, row_in_strip[k]);
    }
    assert_same(A->values, sorted_value, 10, 8, "Val");
}

/* Strips with columns far apart use another sorting algorithm, with the same result. */
TEST(strips_of_far_columns) {
    enum { APART = 1000 };
    int32_t col[8];
    spmv_csr_view A = by_hand;
    for (int k = 0; k < 8; k++) col[k] = APART * by_hand.col_idx[k];
    A.col_idx = col;
    A.cols *= APART;
    for (int64_t height = 1; height <= CMRS_HIGHEST; height *= 2) {
        FREED(spmv_store) *near = store_of("cmrs", &by_hand, strips(height, true));
        FREED(spmv_store) *far = store_of("cmrs", &A, strips(height, true));
        const cmrs *B = (const cmrs *)near, *C = (const cmrs *)far;
        for (int k = 0; k < 8; k++) {
            assert_int_equal(C->packed[k] >> CMRS_ROW_BITS,
                             APART * (B->packed[k] >> CMRS_ROW_BITS));
            assert_int_equal(C->packed[k] % CMRS_HIGHEST, B->packed[k] % CMRS_HIGHEST);
        }
        assert_same(C->values, B->values, 8, 8, "values");
    }
}

/* The last column that fits is stored; a matrix with one more column is refused in every variant.
 */
TEST(columns_of_28_bits) {
    static const int64_t ptr[] = {0, 0, 1};
    static const int32_t col[] = {(1 << 28) - 1};
    static const double value[] = {3};
    spmv_csr_view A = CSR_VIEW(2, 1 << 28, 1, ptr, col, value);
    spmv_choice c = strips(2, false);
    spmv_store *store = store_of("cmrs", &A, c);
    assert_int_equal(((const cmrs *)store)->packed[0], 0xfffffff1u);
    spmv_store_free(store);
    A.cols++;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        store = NULL;
        assert_int_equal(spmv_format_named("cmrs", variant)->build(ctx, &A, &c, 3, &store),
                         SPMV_E_UNSUITABLE);
        assert_non_null(strstr(spmv_ctx_error(ctx), "268435457"));
        assert_non_null(strstr(spmv_ctx_error(ctx), "268435456"));
        spmv_store_free(store);
    }
}

/* ---- hybrid --------------------------------------------------------------------------------- */

static spmv_choice cut_at(int64_t boundary) {
    spmv_choice c = {{0}};
    c.value[SPMV_boundary] = boundary;
    return c;
}

TEST(split_by_hand) {
    static const int32_t ell_col[] = {1, 4, 0, 0, 0, 4, 1, 1, 0, 5}; /* padding: the last column */
    static const double ell_values[] = {10, 11, 0, 0, 20, 21, 30, 0, 40, 41};
    static const int32_t start[] = {0, 0, 0, 1, 1}, end[] = {0, 0, 1, 1, 1};
    static const int32_t row_len[] = {2, 0, 3, 1, 2};
    FREED(spmv_store) *store = store_of("hybrid", &by_hand, cut_at(2));
    const hybrid *A = (const hybrid *)store;
    assert_int_equal(A->boundary, 2);
    assert_int_equal(A->rest_nnz, 1);
    assert_int_equal(A->long_rows, 1);
    assert_int_equal(store->slots, 11);
    assert_same(A->ell_col, ell_col, 10, 4, "ell_col");
    assert_same(A->ell_values, ell_values, 10, 8, "ell_values");
    assert_int_equal(A->rest_col[0], 6);
    assert_true(A->rest_values[0] == 22);
    assert_same(A->start, start, 5, 4, "start");
    assert_same(A->end, end, 5, 4, "end");
    assert_same(A->row_len, row_len, 5, 4, "row_len");
    assert_int_equal(spmv_store_bytes(store), 12 * 5 * 2 + 12 * 1 + 12 * 5);
}

/* A boundary at an empty row leaves ELL empty; a boundary beyond the longest row leaves CSR
 * empty. */
TEST(boundaries_at_the_ends) {
    FREED(spmv_store) *all_csr = store_of("hybrid", &by_hand, cut_at(0));
    assert_int_equal(((const hybrid *)all_csr)->boundary, 0);
    assert_int_equal(((const hybrid *)all_csr)->rest_nnz, 8);
    assert_int_equal(((const hybrid *)all_csr)->long_rows, 4);
    FREED(spmv_store) *all_ell = store_of("hybrid", &by_hand, cut_at(1000));
    assert_int_equal(((const hybrid *)all_ell)->boundary, 3);
    assert_int_equal(((const hybrid *)all_ell)->rest_nnz, 0);
    assert_int_equal(((const hybrid *)all_ell)->long_rows, 0);
}

/* The boundary chosen is the largest of those that no other beats: the shortest row. */
TEST(chosen_boundary_takes_fewest_bytes) {
    enum { ROWS = 40, LONGEST = 30 };
    for (uint64_t seed = 1; seed <= 50; seed++) {
        uint64_t random = seed;
        FREED(entries) e = {.rows = ROWS, .cols = 100};
        int64_t least = draw_below(&random, LONGEST), shortest = LONGEST;
        for (int i = 0; i < ROWS; i++) {
            int64_t n = least + draw_below(&random, LONGEST - least + 1);
            add_row(&e, i, n);
            shortest = n < shortest ? n : shortest;
        }
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        size_t chosen = bytes_of("hybrid", &A, -1);
        int64_t largest = 0; /* largest of the equally cheap boundaries */
        for (int64_t boundary = 0; boundary <= LONGEST; boundary++) {
            assert_in_range(chosen, 0, bytes_of("hybrid", &A, boundary));
            if (bytes_of("hybrid", &A, boundary) == chosen) largest = boundary;
        }
        assert_int_equal(chosen, 12 * (size_t)A.nnz + 12 * ROWS);
        assert_int_equal(largest, shortest);
        FREED(spmv_store) *store = store_of("hybrid", &A, cut_at(-1));
        assert_int_equal(((const hybrid *)store)->boundary, shortest);
    }
}

/* Plans report the boundary that auto chose, and a boundary beyond the longest row unchanged. */
TEST(plans_tell_the_boundary) {
    static const int64_t wanted[] = {-1, 0, 1, 3, 2000000}, is[] = {2, 0, 1, 3, 5};
    FREED(entries) e = {.rows = 3, .cols = 9};
    add_row(&e, 0, 2), add_row(&e, 1, 5), add_row(&e, 2, 3);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    for (int k = 0; k < COUNT(wanted); k++) {
        const spmv_setting setting = {"boundary", wanted[k]};
        spmv_plan_opts opts = {
            .size = sizeof opts, .kernel = "omp:hybrid_rows", .settings = &setting, .nsettings = 1};
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        assert_int_equal(spmv_plan_setting(plan, "boundary"), is[k]);
    }
}

/* Matrix 1 of the paper: 655 entries of each row in ELL, 9 678 327 in CSR, the longest row 1074:
 * 356.76 MB of 2^20 bytes, as the paper has it. Only the row lengths matter. */
TEST(the_papers_sizes) {
    enum { ROWS = 32768, BOUNDARY = 655, REST = 9678327, LONGEST = 1074, LONGEST_ROW = 5314 };
    FREED(int64_t) *ptr = malloc((ROWS + 1) * sizeof *ptr);
    assert_non_null(ptr);
    ptr[0] = 0;
    for (int64_t i = 0, others = 0; i < ROWS; i++) {
        int64_t share = REST - (LONGEST - BOUNDARY);
        int64_t rest = i == LONGEST_ROW ? LONGEST - BOUNDARY
                                        : spmv_split(share, ROWS - 1, others + 1) -
                                              spmv_split(share, ROWS - 1, others);
        others += i != LONGEST_ROW;
        ptr[i + 1] = ptr[i] + BOUNDARY + rest;
    }
    const spmv_csr_view A = {.size = sizeof(spmv_csr_view),
                             .rows = ROWS,
                             .cols = ROWS,
                             .nnz = ptr[ROWS],
                             .row_ptr = ptr};
    assert_int_equal(A.nnz, 31141367);
    size_t bytes = bytes_of("hybrid", &A, BOUNDARY);
    char megabytes[32];
    snprintf(megabytes, sizeof megabytes, "%.2f", (double)bytes / (1 << 20));
    assert_string_equal(megabytes, "356.76");
    assert_int_equal(bytes, 12ull * ROWS * BOUNDARY + 12ull * REST + 12ull * ROWS);
    assert_int_equal(bytes_of("hybrid", &A, 0), bytes); /* no row is padded: as few as can be */
    assert_int_equal(bytes_of("csr", &A, 0), 12ull * 31141367 + 4ull * (ROWS + 1));
    /* Ours is the paper's ELL-R: with a length a row. */
    assert_int_equal(bytes_of("ell", &A, 0), 12ull * ROWS * LONGEST + 4ull * ROWS);
    assert_int_equal(bytes_of("hybrid", &A, LONGEST), 12ull * ROWS * LONGEST + 12ull * ROWS);
}

TEST(huge_forecasts_do_not_wrap) {
    static const int64_t ptr[] = {0, INT32_MAX, INT32_MAX, INT32_MAX};
    spmv_csr_view A = {.size = sizeof(spmv_csr_view),
                       .rows = 3,
                       .cols = INT32_MAX,
                       .nnz = INT32_MAX,
                       .row_ptr = ptr};
    assert_int_equal(bytes_of("hybrid", &A, INT32_MAX), 12ull * 3 * INT32_MAX + 12 * 3);
}

static int make_context(void **state) {
    (void)state;
    ctx = context_of(3);
    return 0;
}

static int free_context(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}

TEST_MAIN(wait_without_spinning, make_context, free_context)
