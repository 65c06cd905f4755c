/* thumbnail.c: the pattern of a matrix, a digit for each cell: a thousand characters for the log,
 * or as many as spmv info is asked for. */
#include "app.h"
#include <stdlib.h>

/* Finds where each of at most edge bands of n ends. */
static int bands_of(int64_t n, int edge, int64_t *end) {
    int bands = n < edge ? (int)n : edge;
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

char *pattern_of(const spmv_csr_view *A, int edge) {
    const size_t n = (size_t)edge;
    int64_t *ends = malloc(2 * n * sizeof *ends), *count = calloc(n * n, sizeof *count), most = 0;
    char *out = malloc(n * (n + 1) + 1), *at = out;
    if (!ends || !count || !out) {
        free(ends), free(count), free(out);
        return NULL;
    }
    const int64_t *row_end = ends, *col_end = ends + n;
    int rows = bands_of(A->rows, edge, ends), cols = bands_of(A->cols, edge, ends + n);
    for (int r = 0; r < rows; r++)
        for (int64_t i = r ? row_end[r - 1] : 0; i < row_end[r]; i++)
            count_row(A, i, col_end, count + (size_t)r * n);
    for (size_t k = 0; k < n * n; k++) most = count[k] > most ? count[k] : most;
    for (int r = 0; r < rows; r++) {
        if (r) *at++ = '/';
        for (int c = 0; c < cols; c++) *at++ = digit_of(count[(size_t)r * n + (size_t)c], most);
    }
    *at = 0;
    free(ends);
    free(count);
    return out;
}

void thumbnail_of(const spmv_csr_view *A, char *out) {
    char *pattern = pattern_of(A, THUMBNAIL_EDGE);
    snprintf(out, THUMBNAIL_SIZE, "%s", pattern ? pattern : "");
    free(pattern);
}
