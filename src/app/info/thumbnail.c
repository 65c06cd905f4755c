/* thumbnail.c: the pattern of a matrix, a digit for each cell: a thousand characters for the log,
 * or as many as spmv info is asked for. */
#include "thumbnail.h"
#include <stdio.h>
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

/* Writes a digit for each cell; count: [edge][edge], out: [edge (edge + 1) + 1]. */
static void draw(const int64_t *count, int rows, int cols, int edge, char *out) {
    const size_t n = (size_t)edge;
    int64_t most = 0;
    for (size_t k = 0; k < n * n; k++) most = count[k] > most ? count[k] : most;
    for (int r = 0; r < rows; r++) {
        if (r) *out++ = '/';
        for (int c = 0; c < cols; c++) *out++ = digit_of(count[(size_t)r * n + (size_t)c], most);
    }
    *out = 0;
}

char *pattern_of(const spmv_csr_view *A, int edge) {
    const size_t n = (size_t)edge;
    int64_t *ends = malloc(2 * n * sizeof *ends), *count = calloc(n * n, sizeof *count);
    char *out = malloc(n * (n + 1) + 1);
    if (ends && count && out) {
        const int64_t *row_end = ends, *col_end = ends + n;
        int rows = bands_of(A->rows, edge, ends), cols = bands_of(A->cols, edge, ends + n);
        for (int r = 0; r < rows; r++)
            for (int64_t i = r ? row_end[r - 1] : 0; i < row_end[r]; i++)
                count_row(A, i, col_end, count + (size_t)r * n);
        draw(count, rows, cols, edge, out);
    } else {
        free(out);
        out = NULL;
    }
    free(ends);
    free(count);
    return out;
}

void thumbnail_of(const spmv_csr_view *A, char *out) {
    char *pattern = pattern_of(A, THUMBNAIL_EDGE);
    snprintf(out, THUMBNAIL_SIZE, "%s", pattern ? pattern : "");
    free(pattern);
}

/* ---- from some of the rows ------------------------------------------------------------------- */

/* Returns the first band that ends behind an index; hint: the one of the last. */
static int band_of(const int64_t *end, int bands, int64_t index, int hint) {
    int band = hint < bands && (hint == 0 || index >= end[hint - 1]) ? hint : 0;
    while (index >= end[band]) band++;
    return band;
}

void thumbnail_count(const spmv_coo_view *entries, const int64_t *numbered, int64_t first_row,
                     int64_t rows, int64_t count[THUMBNAIL_CELLS]) {
    int64_t row_end[THUMBNAIL_EDGE], col_end[THUMBNAIL_EDGE];
    const int nrows = bands_of(rows, THUMBNAIL_EDGE, row_end);
    const int ncols = bands_of(entries->cols, THUMBNAIL_EDGE, col_end);
    int r = 0, c = 0;
    for (int64_t k = 0; k < entries->nnz; k++) {
        const int64_t i = entries->row[k];
        r = band_of(row_end, nrows, numbered ? numbered[i] : first_row + i, r);
        c = band_of(col_end, ncols, entries->col[k], c);
        count[r * THUMBNAIL_EDGE + c]++;
    }
}

void thumbnail_draw(const int64_t count[THUMBNAIL_CELLS], int64_t rows, int64_t cols, char *out) {
    const int nrows = rows < THUMBNAIL_EDGE ? (int)rows : THUMBNAIL_EDGE;
    draw(count, nrows, cols < THUMBNAIL_EDGE ? (int)cols : THUMBNAIL_EDGE, THUMBNAIL_EDGE, out);
}
