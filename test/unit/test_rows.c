/* test_rows.c: the canonical CSR: entries in any order, with duplicates and one triangle only,
 * become the same compressed rows for any number of threads; its statistics are those counted by
 * hand. */
#include "context.h"

/* Row starts at 0, none decreases; columns inside and strictly ascending. */
static void assert_well_formed(const spmv_csr_view *A) {
    assert_int_equal(A->row_ptr[0], 0);
    assert_int_equal(A->row_ptr[A->rows], A->nnz);
    for (int64_t i = 0; i < A->rows; i++) {
        assert_true(A->row_ptr[i] <= A->row_ptr[i + 1]);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            assert_in_range(A->col_idx[k], 0, A->cols - 1);
            if (k > A->row_ptr[i]) assert_true(A->col_idx[k] > A->col_idx[k - 1]);
        }
    }
}

/* Returns the matrix as dense rows, NaN where it has no entry: a second implementation of expanding
 * and summing. */
static double *dense_of(const entries *e) {
    double *dense = malloc((size_t)(e->rows * e->cols + 1) * sizeof *dense);
    assert_non_null(dense);
    for (int64_t k = 0; k < e->rows * e->cols; k++) dense[k] = NAN;
    for (int64_t k = 0; k < e->nnz; k++) {
        double value = e->pattern ? 1 : e->values[k], *at = &dense[e->row[k] * e->cols + e->col[k]];
        *at = isnan(*at) ? value : *at + value;
        if (e->symmetry == SPMV_GENERAL || e->row[k] == e->col[k]) continue;
        at = &dense[e->col[k] * e->cols + e->row[k]];
        if (e->symmetry == SPMV_SKEW_SYMMETRIC) value = -value;
        *at = isnan(*at) ? value : *at + value;
    }
    return dense;
}

static void assert_rows_are(const spmv_mat *mat, const entries *e) {
    spmv_csr_view A = rows_of(mat);
    FREED(double) *dense = dense_of(e);
    int64_t entries_left = 0;
    assert_well_formed(&A);
    assert_int_equal(A.rows, e->rows);
    assert_int_equal(A.cols, e->cols);
    for (int64_t k = 0; k < e->rows * e->cols; k++) entries_left += !isnan(dense[k]);
    assert_int_equal(A.nnz, entries_left);
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++) {
            double expected = dense[i * A.cols + A.col_idx[k]];
            assert_true(fabs(A.values[k] - expected) <= 1e-14 * (1 + fabs(expected)));
        }
}

TEST(every_fixture_becomes_rows) {
    for (int f = 0; f < COUNT(fixtures); f++) {
        FREED(entries) e = entries_of(&fixtures[f]);
        if (e.rows * e.cols < 1 << 22) {
            FREED(spmv_mat) *mat = matrix_of(ctx, &e);
            assert_rows_are(mat, &e);
        }
    }
}

/* ---- symmetry ------------------------------------------------------------------------------- */

TEST(symmetry_is_expanded) {
    FREED(entries) e = {.rows = 3, .cols = 3, .symmetry = SPMV_SYMMETRIC};
    add_entry(&e, 2, 0, 5), add_entry(&e, 1, 1, 7), add_entry(&e, 2, 1, -3);
    static const int64_t row_ptr[] = {0, 1, 3, 5};
    static const int32_t col_idx[] = {2, 1, 2, 0, 1};
    static const double mirrored[] = {5, 7, -3, 5, -3};
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_csr_view A = rows_of(mat);
    spmv_stats stats = stats_of(mat);
    assert_memory_equal(A.row_ptr, row_ptr, sizeof row_ptr);
    assert_memory_equal(A.col_idx, col_idx, sizeof col_idx);
    assert_memory_equal(A.values, mirrored, sizeof mirrored);
    assert_int_equal(stats.nnz, 5);
    assert_int_equal(stats.nnz_file, 3);
    assert_int_equal(stats.symmetry, SPMV_SYMMETRIC);
}

TEST(skew_symmetry_is_expanded) {
    FREED(entries) e = {.rows = 3, .cols = 3, .symmetry = SPMV_SKEW_SYMMETRIC};
    add_entry(&e, 1, 0, 2), add_entry(&e, 2, 0, -4), add_entry(&e, 2, 1, 6);
    static const int64_t row_ptr[] = {0, 2, 4, 6};
    static const int32_t col_idx[] = {1, 2, 0, 2, 0, 1};
    static const double skew[] = {-2, 4, 2, -6, -4, 6};
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_csr_view A = rows_of(mat);
    assert_memory_equal(A.row_ptr, row_ptr, sizeof row_ptr);
    assert_memory_equal(A.col_idx, col_idx, sizeof col_idx);
    assert_memory_equal(A.values, skew, sizeof skew);
}

/* The matrix is 3 x 3 with two entries in the first and in the last line: either triangle, not
 * both; a skew-symmetric diagonal is 0. Only SPMV_VALIDATE looks. */
TEST(only_one_triangle_is_given) {
    static const int32_t ptr[] = {0, 2, 2, 4}, lower[] = {0, 0, 0, 1}, upper[] = {1, 2, 2, 2},
                         both[] = {0, 1, 1, 2}, mirrored[] = {0, 2, 0, 2};
    static const double zero[] = {0, 0, 5, 6}, last[] = {0, 3, 5, 6};
    const struct {
        const int32_t *idx;
        const double *values;
        spmv_symmetry symmetry;
        int by_columns;
        const char *wrong; /* NULL: nothing */
    } cases[] = {
        {lower, last, SPMV_SYMMETRIC, 0, NULL},
        {upper, last, SPMV_SYMMETRIC, 0, NULL},
        {both, last, SPMV_GENERAL, 0, NULL},
        {both, last, SPMV_SYMMETRIC, 0,
         "row 2, entry 2 (from 0): idx[2] is 1, in the other triangle than "
         "entry 1, but the symmetry says that only one triangle is given"},
        {mirrored, last, SPMV_SYMMETRIC, 1,
         "column 2, entry 2 (from 0): idx[2] is 0, in the other"},
        {mirrored, last, SPMV_SKEW_SYMMETRIC, 0,
         "row 2, entry 2 (from 0): idx[2] is 0, in the other"},
        {lower, zero, SPMV_SKEW_SYMMETRIC, 0, NULL},
        {lower, last, SPMV_SKEW_SYMMETRIC, 0,
         "row 0, entry 1 (from 0): 3 is on the diagonal of a skew-symmetric matrix, must be 0"},
        {upper, zero, SPMV_SKEW_SYMMETRIC, 1, "column 2, entry 2 (from 0): 5 is on the diagonal"},
        {upper, NULL, SPMV_SKEW_SYMMETRIC, 0, "row 2, entry 2 (from 0): 1 is on the diagonal"},
    };
    for (int k = 0; k < COUNT(cases); k++)
        for (unsigned flags = SPMV_COPY; flags <= SPMV_VALIDATE; flags += SPMV_VALIDATE) {
            const spmv_arrays a = ARRAYS(3, 3, 4, ptr, 32, cases[k].idx, cases[k].values,
                                         .symmetry = cases[k].symmetry,
                                         .by_columns = cases[k].by_columns, .flags = flags);
            FREED(spmv_mat) *mat = NULL;
            const spmv_status status = spmv_mat_create(ctx, &a, &mat);
            const char *says = flags ? cases[k].wrong : NULL;
            assert_int_equal(status, says ? SPMV_E_ARG : SPMV_OK);
            assert_int_equal(mat == NULL, says != NULL);
            if (says && !strstr(spmv_ctx_error(ctx), says)) fail_msg("%s", spmv_ctx_error(ctx));
        }
}

/* ---- duplicates and zeros ------------------------------------------------------------------- */

TEST(duplicates_are_summed_and_counted) {
    FREED(entries) e = {.rows = 3, .cols = 4};
    add_entry(&e, 1, 3, 1), add_entry(&e, 0, 0, 8), add_entry(&e, 1, 3, 2), add_entry(&e, 1, 0, 5);
    add_entry(&e, 1, 3, 4), add_entry(&e, 0, 0, -8);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_csr_view A = rows_of(mat);
    spmv_stats stats = stats_of(mat);
    static const double values[] = {0, 5, 7}; /* what sums to zero stays an entry */
    assert_int_equal(stats.duplicates, 3);
    assert_int_equal(stats.nnz_file, 6);
    assert_int_equal(stats.nnz, 3);
    assert_int_equal(stats.explicit_zeros, 0);
    assert_memory_equal(A.values, values, sizeof values);
}

/* A file's entry that repeats another is one duplicate, though it is mirrored, on the diagonal and
 * off it, and also when the two stand in opposite triangles. */
TEST(duplicates_in_symmetric_files_count_once) {
    FREED(entries) e = {.rows = 4, .cols = 4, .symmetry = SPMV_SYMMETRIC};
    add_entry(&e, 2, 1, 1), add_entry(&e, 2, 1, 2), add_entry(&e, 3, 3, 3), add_entry(&e, 3, 3, 4);
    add_entry(&e, 3, 0, 5), add_entry(&e, 0, 3, 6);
    spmv_mat *mat = matrix_of(ctx, &e);
    spmv_stats stats = stats_of(mat);
    assert_int_equal(stats.duplicates, 3);
    assert_int_equal(stats.nnz_file, 6);
    assert_int_equal(stats.nnz, 5);
    assert_rows_are(mat, &e);
    spmv_mat_free(mat);
    e.symmetry = SPMV_SKEW_SYMMETRIC;
    e.row[2] = e.row[3] = 2, e.col[2] = e.col[3] = 0; /* a diagonal it has not */
    mat = matrix_of(ctx, &e);
    stats = stats_of(mat);
    assert_int_equal(stats.duplicates, 3);
    assert_int_equal(stats.nnz, 6);
    assert_rows_are(mat, &e);
    spmv_mat_free(mat);
}

/* The sum of duplicates is rounded once: 1 + 2^-53 + 2^-53 is not 1. */
TEST(duplicates_round_once) {
    FREED(entries) e = {.rows = 1, .cols = 1};
    add_entry(&e, 0, 0, 0x1p-53), add_entry(&e, 0, 0, 1), add_entry(&e, 0, 0, 0x1p-53);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    assert_true(rows_of(mat).values[0] == 1 + 0x1p-52);
}

TEST(zeros_are_kept_and_counted) {
    FREED(entries) e = {.rows = 2, .cols = 3};
    add_entry(&e, 0, 2, 0.0), add_entry(&e, 1, 0, -0.0), add_entry(&e, 1, 1, 4);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(stats_of(mat).explicit_zeros, 2);
    assert_int_equal(A.nnz, 3);
    assert_true(signbit(A.values[1]) && A.values[1] == 0);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Asserts the same rows, bit by bit, from every order of the entries and every number of
 * threads. */
static void assert_order_does_not_matter(const fixture *f) {
    uint64_t hash = 0;
    int64_t duplicates = 0;
    for (int threads = 1; threads <= 5; threads++)
        for (uint64_t order = 0; order < 3; order++) {
            FREED(spmv_ctx) *own = context_of(threads);
            FREED(entries) e = entries_of(f);
            if (order) shuffle(&e, order);
            FREED(spmv_mat) *mat = matrix_of(own, &e);
            spmv_stats stats = stats_of(mat);
            if (threads == 1 && order == 0) hash = stats.hash, duplicates = stats.duplicates;
            if (stats.hash != hash)
                fail_msg("'%s', %d threads, order %d", f->name, threads, (int)order);
            assert_int_equal(stats.duplicates, duplicates);
        }
}

TEST(order_does_not_matter) {
    for (int f = 0; f < COUNT(fixtures); f++) assert_order_does_not_matter(&fixtures[f]);
}

/* Entries in row order share one array of columns with the compressed rows. */
TEST(entries_in_order_are_kept_once) {
    static const struct {
        int32_t row[4], col[4];
        bool in_order;
    } cases[] = {
        {{0, 0, 2, 3}, {1, 4, 0, 0}, true},  /* one row has the columns of the next, or is empty */
        {{0, 0, 2, 3}, {4, 1, 0, 0}, false}, /* columns descend */
        {{0, 0, 2, 2}, {1, 4, 3, 3}, false}, /* twice the same */
        {{0, 2, 0, 3}, {0, 1, 2, 3}, false}, /* rows descend */
    };
    for (int c = 0; c < COUNT(cases); c++) {
        FREED(entries) e = {.rows = 4, .cols = 5};
        for (int k = 0; k < 4; k++) add_random(&e, cases[c].row[k], cases[c].col[k]);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        assert_int_equal(mat->coo.col == mat->csr.col_idx, cases[c].in_order);
        assert_rows_are(mat, &e);
    }
}

/* Equal columns whose sum depends on the order even in extended precision, in a short row and in a
 * long one. */
TEST(order_of_duplicates_does_not_matter) {
    enum { ORDERS = 6 };
    static const double large[] = {0x1p70, -0x1p70, 0x1p65, -0x1p65, 1, 3, 0.7, -5};
    double sum[ORDERS][2];
    for (uint64_t order = 0; order < ORDERS; order++) {
        FREED(entries) e = {.rows = 2, .cols = 3};
        for (int k = 0; k < 200; k++) add_entry(&e, k < 16, 1, large[k % COUNT(large)]);
        shuffle(&e, order + 1);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        memcpy(sum[order], rows_of(mat).values, sizeof sum[order]);
        assert_memory_equal(sum[order], sum[0], sizeof *sum);
    }
}

/* ---- statistics ----------------------------------------------------------------------------- */

TEST(statistics_by_hand) {
    FREED(entries) e = {.rows = 5, .cols = 9};
    add_entry(&e, 1, 8, 1), add_entry(&e, 1, 0, 1), add_entry(&e, 1, 4, 1), add_entry(&e, 1, 5, 1);
    add_entry(&e, 2, 2, 1), add_entry(&e, 3, 3, 1), add_entry(&e, 3, 1, 1), add_entry(&e, 3, 0, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_stats s = stats_of(mat);
    assert_int_equal(s.rows, 5);
    assert_int_equal(s.cols, 9);
    assert_int_equal(s.nnz, 8);
    assert_int_equal(s.row_min, 0);
    assert_int_equal(s.row_max, 4);
    assert_int_equal(s.empty_rows, 2);
    assert_int_equal(s.bandwidth, 7); /* entry 1, 8 */
    assert_true(s.row_mean == 8 / 5.0);
    /* lengths 0 4 1 3 0: squares from 1.6 are 2.56 5.76 0.36 1.96 2.56, 13.2 together */
    assert_true(fabs(s.row_std - sqrt(13.2 / 5)) < 1e-15);
}

TEST(bandwidth_counts_below_the_diagonal_too) {
    FREED(entries) e = {.rows = 9, .cols = 5};
    add_entry(&e, 8, 2, 1), add_entry(&e, 0, 4, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    assert_int_equal(stats_of(mat).bandwidth, 6);
}

TEST(statistics_of_nothing) {
    entries e = {.rows = 0, .cols = 0};
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_stats s = stats_of(mat);
    assert_true(s.rows == 0 && s.nnz == 0 && s.row_min == 0 && s.row_max == 0 &&
                s.empty_rows == 0 && s.bandwidth == 0);
    assert_true(s.row_mean == 0 && s.row_std == 0);
}

/* Every detail of a matrix is in its hash. */
TEST(the_hash_tells_matrices_apart) {
    uint64_t hash[7];
    for (int change = 0; change < COUNT(hash); change++) {
        FREED(entries) e = random_matrix(3, 40, 40, 6);
        if (change == 1) e.values[5] = nextafter(e.values[5], 2);
        if (change == 2) e.rows++;
        if (change == 3) e.cols++;
        if (change == 4)
            add_entry(&e, e.rows - 1, e.cols - 1, 0); /* the fixed seed leaves it free */
        if (change == 5) e.nnz--;
        if (change == 6)
            for (int64_t k = 0; k < e.nnz; k++) { /* transposed */
                int32_t row = e.row[k];
                e.row[k] = e.col[k], e.col[k] = row;
            }
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        hash[change] = stats_of(mat).hash;
        for (int before = 0; before < change; before++) assert_true(hash[before] != hash[change]);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
