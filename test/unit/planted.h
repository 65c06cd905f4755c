/* planted.h: kernels for test_faults.c to plant, wrong ones of many kinds and right ones that add
 * in other orders. */
#ifndef SPMV_TEST_PLANTED_H
#define SPMV_TEST_PLANTED_H

#include "testing.h"
#include <omp.h>

static int run_count; /* products of the planted kernel so far, this one included */

/* ---- kernels, right and wrong: y <- alpha A x + beta y in doubles, over the matrix's compressed
 * rows or entries  */

typedef void (*product)(const spmv_mat *mat, double alpha, const double *x, double beta, double *y);
#define PRODUCT(name) \
    static void name(const spmv_mat *mat, double alpha, const double *x, double beta, double *y)

static double row_sum(const spmv_csr_view *A, int64_t i, const double *x) {
    double sum = 0;
    for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
        sum += A->values[k] * x[A->col_idx[k]];
    return sum;
}

static void put(double *y, double alpha, double sum, double beta) {
    *y = beta == 0 ? alpha * sum : alpha * sum + beta * *y;
}

static void put_rows(const spmv_mat *mat, int64_t begin, int64_t end, double alpha, const double *x,
                     double beta, double *y) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = begin; i < end; i++) put(y + i, alpha, row_sum(&A, i, x), beta);
}

/* Each row is the sum of terms of its entries k, in that type. */
#define SUM_OF_ROWS(name, type, has, term) \
    PRODUCT(name) { \
        spmv_csr_view A = rows_of(mat); \
        for (int64_t i = 0; i < A.rows; i++) { \
            type sum = 0; \
            for (int64_t k = A.row_ptr[i]; has; k++) sum += term; \
            put(y + i, alpha, (double)sum, beta); \
        } \
    }

PRODUCT(right) {
    put_rows(mat, 0, rows_of(mat).rows, alpha, x, beta, y);
}

/* ---- faults: what is not written ------------------------------------------------------------ */

PRODUCT(write_nothing) {
    (void)mat, (void)alpha, (void)x, (void)beta, (void)y;
}

PRODUCT(write_zero) {
    (void)alpha, (void)x, (void)beta;
    memset(y, 0, (size_t)rows_of(mat).rows * sizeof *y);
}

PRODUCT(skip_last_rows) {
    put_rows(mat, 0, rows_of(mat).rows / 32 * 32 - 32, alpha, x, beta, y);
}

PRODUCT(skip_last_row) {
    put_rows(mat, 0, rows_of(mat).rows - 1, alpha, x, beta, y);
}

PRODUCT(skip_first_row) {
    put_rows(mat, 1, rows_of(mat).rows, alpha, x, beta, y);
}

/* A launch of 32 x 8 threads that takes rows from blockIdx.y, in a grid of height 1: the published
 * warp kernel. */
PRODUCT(take_rows_from_the_wrong_axis) {
    enum { ROWS_PER_BLOCK = 8 };
    spmv_csr_view A = rows_of(mat);
    for (int64_t block_x = 0; block_x * ROWS_PER_BLOCK < A.rows; block_x++)
        for (int64_t thread_y = 0, block_y = 0; thread_y < ROWS_PER_BLOCK; thread_y++) {
            int64_t i = block_y * ROWS_PER_BLOCK + thread_y;
            if (i < A.rows && block_x == 0) put(y + i, alpha, row_sum(&A, i, x), beta);
        }
}

PRODUCT(skip_empty_rows) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++)
        if (A.row_ptr[i] < A.row_ptr[i + 1]) put(y + i, alpha, row_sum(&A, i, x), beta);
}

PRODUCT(stop_writing) {
    if (run_count == 1) right(mat, alpha, x, beta, y);
}

PRODUCT(stop_writing_one_row) {
    int64_t i = rows_of(mat).rows / 2;
    double before = y[i];
    right(mat, alpha, x, beta, y);
    if (run_count > 1) y[i] = before;
}

/* ---- faults: wrong entries ------------------------------------------------------------------ */

SUM_OF_ROWS(shift_columns, double, k < A.row_ptr[i + 1],
            A.values[k] * x[(A.col_idx[k] + 1) % A.cols])

/* The longest row loses the entry that weighs least, or most. */
static void drop_of_longest(const spmv_mat *mat, bool most, double alpha, const double *x,
                            double beta, double *y) {
    spmv_csr_view A = rows_of(mat);
    int64_t row = 0;
    for (int64_t i = 0; i < A.rows; i++)
        if (A.row_ptr[i + 1] - A.row_ptr[i] > A.row_ptr[row + 1] - A.row_ptr[row]) row = i;
    double lost = most ? 0 : INFINITY;
    for (int64_t k = A.row_ptr[row]; k < A.row_ptr[row + 1]; k++) {
        double weight = A.values[k] * x[A.col_idx[k]];
        if (most ? fabs(weight) > fabs(lost) : fabs(weight) < fabs(lost)) lost = weight;
    }
    right(mat, alpha, x, beta, y);
    if (isfinite(lost)) y[row] -= alpha * lost;
}

PRODUCT(drop_one_entry) {
    drop_of_longest(mat, false, alpha, x, beta, y);
}

PRODUCT(drop_one_heavy_entry) {
    drop_of_longest(mat, true, alpha, x, beta, y);
}

SUM_OF_ROWS(drop_half_of_each_row, double, k < (A.row_ptr[i] + A.row_ptr[i + 1]) / 2,
            A.values[k] * x[A.col_idx[k]])

SUM_OF_ROWS(drop_entries_beyond_a_warp, double, k < A.row_ptr[i + 1] && k < A.row_ptr[i] + 32,
            A.values[k] * x[A.col_idx[k]])

/* Adds one entry too many per row: the first entry of the next row. */
SUM_OF_ROWS(run_into_the_next_row, double, k < A.nnz && k <= A.row_ptr[i + 1],
            A.values[k] * x[A.col_idx[k]])

PRODUCT(multiply_transposed) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) y[i] = beta == 0 ? 0 : beta * y[i];
    for (int64_t i = 0; i < A.rows; i++)
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            y[A.col_idx[k]] += alpha * A.values[k] * x[i];
}

/* The product of the file's entries with mirrored ones times mirror. */
static void put_entries(const spmv_mat *mat, double mirror, double alpha, const double *x,
                        double beta, double *y) {
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    spmv_mat_entries(mat, &A);
    for (int64_t i = 0; i < A.rows; i++) y[i] = beta == 0 ? 0 : beta * y[i];
    for (int64_t k = 0; k < A.nnz; k++) {
        y[A.row[k]] += alpha * A.values[k] * x[A.col[k]];
        if (A.row[k] != A.col[k]) y[A.col[k]] += mirror * alpha * A.values[k] * x[A.row[k]];
    }
}

PRODUCT(read_as_general) {
    put_entries(mat, 0, alpha, x, beta, y);
}

PRODUCT(read_as_symmetric) {
    put_entries(mat, 1, alpha, x, beta, y);
}

PRODUCT(read_as_skew_symmetric) {
    put_entries(mat, -1, alpha, x, beta, y);
}

PRODUCT(keep_last_duplicate) {
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    spmv_mat_entries(mat, &A);
    double *dense = calloc((size_t)(A.rows * A.cols), sizeof *dense);
    assert_non_null(dense);
    for (int64_t k = 0; k < A.nnz; k++) dense[A.row[k] * A.cols + A.col[k]] = A.values[k];
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t j = 0; j < A.cols; j++) sum += dense[i * A.cols + j] * x[j];
        put(y + i, alpha, sum, beta);
    }
    free(dense);
}

PRODUCT(swap_two_rows) {
    int64_t i = rows_of(mat).rows / 2;
    right(mat, alpha, x, beta, y);
    double other = y[i];
    y[i] = y[i + 1], y[i + 1] = other;
}

/* ---- faults: wrong numbers ------------------------------------------------------------------ */

SUM_OF_ROWS(sum_in_float, float, k < A.row_ptr[i + 1], (float)(A.values[k] * x[A.col_idx[k]]))

SUM_OF_ROWS(round_values, double, k < A.row_ptr[i + 1],
            (double)(float)A.values[k] * x[A.col_idx[k]])

SUM_OF_ROWS(round_x, double, k < A.row_ptr[i + 1], A.values[k] * (double)(float)x[A.col_idx[k]])

PRODUCT(round_result) {
    right(mat, alpha, x, beta, y);
    for (int64_t i = 0; i < rows_of(mat).rows; i++) y[i] = (double)(float)y[i];
}

PRODUCT(ignore_alpha) {
    (void)alpha;
    right(mat, 1, x, beta, y);
}

PRODUCT(ignore_beta) {
    (void)beta;
    right(mat, alpha, x, 0, y);
}

PRODUCT(add_to_y) {
    (void)beta;
    right(mat, alpha, x, 1, y);
}

PRODUCT(add_beta_y_twice) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        double before = y[i];
        put(y + i, alpha, row_sum(&A, i, x), beta);
        if (beta != 0) y[i] += beta * before;
    }
}

PRODUCT(scale_y_by_alpha_too) {
    right(mat, alpha, x, alpha * beta, y);
}

PRODUCT(read_y_when_beta_is_zero) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) y[i] = alpha * row_sum(&A, i, x) + beta * y[i];
}

static void put_in_one_row(const spmv_mat *mat, double alpha, const double *x, double beta,
                           double *y, double value) {
    right(mat, alpha, x, beta, y);
    y[rows_of(mat).rows * 2 / 3] = value;
}

PRODUCT(put_nan) {
    put_in_one_row(mat, alpha, x, beta, y, NAN);
}

PRODUCT(put_infinity) {
    put_in_one_row(mat, alpha, x, beta, y, INFINITY);
}

PRODUCT(put_minus_infinity) {
    put_in_one_row(mat, alpha, x, beta, y, -INFINITY);
}

PRODUCT(negate_last_row) {
    right(mat, alpha, x, beta, y);
    y[rows_of(mat).rows - 1] *= -1;
}

PRODUCT(flip_a_low_bit) {
    int64_t i = rows_of(mat).rows / 3;
    right(mat, alpha, x, beta, y);
    y[i] *= 1 + 0x1p-36;
}

/* Replaces infinities and NaN by finite numbers, as a fast-math compiler may do. */
PRODUCT(clamp) {
    right(mat, alpha, x, beta, y);
    for (int64_t i = 0; i < rows_of(mat).rows; i++)
        if (!isfinite(y[i])) y[i] = 0;
}

/* ---- faults: threads ------------------------------------------------------------------------ */

/* Two halves of every row read y before either half writes it; one update is lost in every run. */
PRODUCT(lose_an_update) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) y[i] = beta == 0 ? 0 : beta * y[i];
    for (int64_t i = 0; i < A.rows; i++) {
        int64_t middle = (A.row_ptr[i] + A.row_ptr[i + 1]) / 2;
#pragma omp parallel num_threads(2)
        {
            int64_t begin = omp_get_thread_num() ? middle : A.row_ptr[i];
            int64_t end = omp_get_thread_num() ? A.row_ptr[i + 1] : middle;
            double sum = y[i];
            for (int64_t k = begin; k < end; k++) sum += alpha * A.values[k] * x[A.col_idx[k]];
#pragma omp barrier
#pragma omp atomic write
            y[i] = sum;
        }
    }
}

/* Never clears the partial sums: each product adds to the sums of the previous one. */
PRODUCT(keep_partial_sums) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) put(y + i, alpha, run_count * row_sum(&A, i, x), beta);
}

/* ---- right kernels, in every order ---------------------------------------------------------- */

PRODUCT(sum_backwards) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t k = A.row_ptr[i + 1]; k-- > A.row_ptr[i];)
            sum += A.values[k] * x[A.col_idx[k]];
        put(y + i, alpha, sum, beta);
    }
}

PRODUCT(sum_fused) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            sum = fma(A.values[k], x[A.col_idx[k]], sum);
        y[i] = beta == 0 ? alpha * sum : fma(alpha, sum, beta * y[i]);
    }
}

static double pairwise(const spmv_csr_view *A, int64_t begin, int64_t end, const double *x) {
    if (begin == end) return 0;
    if (begin + 1 == end) return A->values[begin] * x[A->col_idx[begin]];
    int64_t middle = begin + (end - begin) / 2;
    return pairwise(A, begin, middle, x) + pairwise(A, middle, end, x);
}

PRODUCT(sum_pairwise) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++)
        put(y + i, alpha, pairwise(&A, A.row_ptr[i], A.row_ptr[i + 1], x), beta);
}

PRODUCT(sum_in_lanes) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        double lane[32] = {0};
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            lane[(k - A.row_ptr[i]) % 32] += A.values[k] * x[A.col_idx[k]];
        for (int step = 16; step > 0; step /= 2)
            for (int l = 0; l < step; l++) lane[l] += lane[l + step];
        put(y + i, alpha, lane[0], beta);
    }
}

/* alpha inside the sum, beta y in front of it: as kernels do that add with atomics. */
PRODUCT(sum_into_y) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        y[i] = beta == 0 ? 0 : beta * y[i];
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            y[i] += alpha * A.values[k] * x[A.col_idx[k]];
    }
}

/* The file's entries one after the other: duplicates apart. */
PRODUCT(sum_entries) {
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    spmv_mat_entries(mat, &A);
    for (int64_t i = 0; i < A.rows; i++) y[i] = beta == 0 ? 0 : beta * y[i];
    for (int64_t k = 0; k < A.nnz; k++) {
        double a = A.values ? A.values[k] : 1, sign = A.symmetry == SPMV_SKEW_SYMMETRIC ? -1 : 1;
        y[A.row[k]] += alpha * (a * x[A.col[k]]);
        if (A.symmetry != SPMV_GENERAL && A.row[k] != A.col[k])
            y[A.col[k]] += alpha * (sign * a * x[A.row[k]]);
    }
}

/* Computes as a kernel of f32 does: everything in float, alpha and beta too. */
PRODUCT(compute_in_float) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        float sum = 0;
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++)
            sum += (float)A.values[k] * (float)x[A.col_idx[k]];
        float scaled = (float)alpha * sum;
        y[i] = (double)(beta == 0 ? scaled : scaled + (float)beta * (float)y[i]);
    }
}

PRODUCT(compute_in_float_backwards) {
    spmv_csr_view A = rows_of(mat);
    for (int64_t i = 0; i < A.rows; i++) {
        float sum = 0, scaled;
        for (int64_t k = A.row_ptr[i + 1]; k-- > A.row_ptr[i];)
            sum = fmaf((float)A.values[k], (float)x[A.col_idx[k]], sum);
        scaled = (float)alpha * sum;
        y[i] = (double)(beta == 0 ? scaled : fmaf((float)beta, (float)y[i], scaled));
    }
}

#endif
