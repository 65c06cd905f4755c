/* thumbnail.c: a matrix's sparsity pattern in a thousand characters, for the log. */
#include "app.h"

/* Finds where each of at most THUMBNAIL_EDGE bands of n ends. */
static int bands_of(int64_t n, int64_t *end) {
    int bands = n < THUMBNAIL_EDGE ? (int)n : THUMBNAIL_EDGE;
    for (int b = 0; b < bands; b++) end[b] = n / bands * (b + 1) + n % bands * (b + 1) / bands;
    return bands;
}

/* Columns ascend in a row, so that the bands are met in order. */
static void count_row(const spmv_csr_view *A, int64_t row, const int64_t *end, int64_t *count) {
    int band = 0;
    for (int64_t k = A->row_ptr[row]; k < A->row_ptr[row + 1]; k++) {
        while (A->col_idx[k] >= end[band]) band++;
        count[band]++;
    }
}

static char digit_of(int64_t count, int64_t most) {
    char digit = '9';
    if (!count) return '0';
    for (; digit > '1' && count < most; digit--) count = count > most / 4 ? most : count * 4;
    return digit;
}

void thumbnail_of(const spmv_csr_view *A, char *out) {
    int64_t row_end[THUMBNAIL_EDGE], col_end[THUMBNAIL_EDGE], most = 0;
    int64_t count[THUMBNAIL_EDGE][THUMBNAIL_EDGE] = {{0}};
    int rows = bands_of(A->rows, row_end), cols = bands_of(A->cols, col_end);
    for (int r = 0; r < rows; r++)
        for (int64_t i = r ? row_end[r - 1] : 0; i < row_end[r]; i++)
            count_row(A, i, col_end, count[r]);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++) most = count[r][c] > most ? count[r][c] : most;
    for (int r = 0; r < rows; r++) {
        if (r) *out++ = '/';
        for (int c = 0; c < cols; c++) *out++ = digit_of(count[r][c], most);
    }
    *out = 0;
}
