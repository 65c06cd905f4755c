/* test_thumbnail.c: patterns small enough to draw by hand. */
#include "testing.h"
#include "app/info/thumbnail.h"

static void draw_pattern(int64_t rows, int64_t cols, const int64_t *row_ptr, const int32_t *col_idx,
                         char *out) {
    spmv_csr_view A = CSR_VIEW(rows, cols, row_ptr[rows], row_ptr, col_idx, NULL);
    thumbnail_of(&A, out);
}

TEST(a_small_matrix_is_drawn_entry_by_entry) {
    char out[THUMBNAIL_SIZE];
    draw_pattern(3, 4, (int64_t[]){0, 2, 2, 3}, (int32_t[]){0, 3, 1}, out);
    assert_string_equal(out, "9009/0000/0900");
    draw_pattern(0, 4, (int64_t[]){0}, NULL, out);
    assert_string_equal(out, "");
    draw_pattern(2, 0, (int64_t[]){0, 0, 0}, NULL, out);
    assert_string_equal(out, "/");
    draw_pattern(1, 2, (int64_t[]){0, 0}, NULL, out);
    assert_string_equal(out, "00");
}

/* 64 rows and columns make cells of 2 x 2: 4 entries in the first, 2, 1 and 1 in others. */
TEST(digits_fall_by_factors_of_4) {
    char out[THUMBNAIL_SIZE];
    int64_t row_ptr[65] = {0, 3, 6};
    int32_t col_idx[] = {0, 1, 2, 0, 1, 3, 63};
    for (int i = 3; i < 64; i++) row_ptr[i] = 6;
    row_ptr[64] = 7;
    draw_pattern(64, 64, row_ptr, col_idx, out);
    assert_int_equal(strlen(out), THUMBNAIL_SIZE - 1);
    assert_memory_equal(out, "9800", 4); /* 4 entries; 2: less than the most, within a quarter */
    assert_int_equal(out[THUMBNAIL_SIZE - 2], '8'); /* 1 of 4 is a quarter: one step */
    assert_int_equal(out[33], '0');
}

TEST(one_giant_row_leaves_the_rest_visible) {
    enum { N = 100000 };
    char out[THUMBNAIL_SIZE];
    FREED(int64_t) *row_ptr = malloc((N + 1) * sizeof *row_ptr);
    FREED(int32_t) *col_idx = malloc(2 * N * sizeof *col_idx);
    assert_true(row_ptr && col_idx);
    row_ptr[0] = 0;
    for (int j = 0; j < N; j++) col_idx[j] = j;
    for (int i = 0; i < N; i++) row_ptr[i + 1] = N + i;
    for (int i = 1; i < N; i++) col_idx[N + i - 1] = i;
    draw_pattern(N, N, row_ptr, col_idx, out);
    for (int b = 1; b < THUMBNAIL_EDGE; b++) {
        assert_true(out[b] >= '8');                 /* the row, across */
        assert_true(out[b * 33 + b] >= '8');        /* the diagonal */
        assert_int_equal(out[b * 33 + b - 1], '0'); /* nothing beside it */
    }
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
