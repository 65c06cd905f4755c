/* test_csell_past.c: y that no cache holds is written past the caches, and has the same bits. */
#include "context.h"
#include "csell_rows.h"
#include "instructions.h"
#include "omp/csell/csell.h"

/* Unaligned starts of y, with and without beta. */
static const struct {
    int64_t start;
    double beta;
} destinations[] = {{0, 0}, {1, 0}, {0, 0.5}};

enum { MARGIN = CSELL_ROWS + 1, CELLS = ROWS + MARGIN, USED_COLS = 2000 };

/* Returns the cells of destination d and a margin, after a product; cell i holds i before. */
static char *multiply_into(const spmv_plan *plan, int d, spmv_precision precision, const void *x) {
    const size_t width = width_of(precision);
    char *y = spmv_host_alloc(CELLS * width);
    assert_true(y && (uintptr_t)y % 64 == 0); /* begins a line */
    for (int64_t i = 0; i < CELLS; i++) set_number(y, precision, i, (double)i);
    assert_int_equal(
        spmv_exec(plan, 2, x, destinations[d].beta, y + (size_t)destinations[d].start * width),
        SPMV_OK);
    return y;
}

/* Makes rows of a few entries and long rows; x has `cols` elements. */
static spmv_mat *matrix_of_columns(int64_t cols) {
    FREED(entries) e = {.rows = ROWS, .cols = USED_COLS};
    fill_some_long(&e, any_value);
    e.cols = cols;
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

/* Compares with an x as large as the cache, whose unwritten pages take no memory. */
static void assert_same_past(size_t cache, spmv_precision precision) {
    const int64_t cols = (int64_t)(cache / width_of(precision)) + 1;
    FREED(spmv_mat) *near = matrix_of_columns(USED_COLS), *far = matrix_of_columns(cols);
    FREED(void) *x = calloc((size_t)cols, width_of(precision));
    assert_non_null(x);
    for (int64_t j = 0; j < USED_COLS; j++)
        set_number(x, precision, j, random_entry(7, (uint64_t)j));
    for (int64_t isa = ISA_PORTABLE; isa <= best_isa(); isa++) {
        FREED(spmv_plan) *through = plan_with_isa(near, "csell_slices", precision, isa),
                         *past = plan_with_isa(far, "csell_slices", precision, isa);
        assert_false(((work *)through->scratch)->past); /* the same place in f32 */
        assert_true(((work *)past->scratch)->past);
        for (int d = 0; d < COUNT(destinations); d++) {
            char *expected = multiply_into(through, d, precision, x);
            char *y = multiply_into(past, d, precision, x);
            if (memcmp(y, expected, CELLS * width_of(precision)))
                fail_msg("%s, isa %d, destination %d: other bits past the caches",
                         precision == SPMV_F32 ? "f32" : "f64", (int)isa, d);
            spmv_host_free(expected);
            spmv_host_free(y);
        }
    }
}

/* Portable code writes through the caches all the same. */
TEST(y_is_written_past_the_caches) {
    const long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (cache <= 0) {
        print_message("nothing is written past the caches: the system names no third level\n");
        skip();
    }
    assert_same_past((size_t)cache, SPMV_F64);
    assert_same_past((size_t)cache, SPMV_F32);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
