/* thumbnail.h: draws the pattern of a matrix in few characters. */
#ifndef SPMV_APP_THUMBNAIL_H
#define SPMV_APP_THUMBNAIL_H

#include "spmv.h"

enum {
    THUMBNAIL_EDGE = 32,
    THUMBNAIL_CELLS = THUMBNAIL_EDGE * THUMBNAIL_EDGE,
    THUMBNAIL_SIZE = THUMBNAIL_EDGE * (THUMBNAIL_EDGE + 1)
};
/* Draws the pattern in at most 32 x 32 cells: one digit per cell, rows of cells separated by '/'.
 * 9: as many entries as the fullest cell; one less for each factor of 4, down to 1; 0: none. */
void thumbnail_of(const spmv_csr_view *A, char *out /* [THUMBNAIL_SIZE] */);
/* Draw a pattern piece by piece. The first adds the entries of some of `rows` rows to the counts;
 * numbered: the rows' indices, or NULL: they follow first_row. The second draws the counts. */
void thumbnail_count(const spmv_coo_view *entries, const int64_t *numbered, int64_t first_row,
                     int64_t rows, int64_t count[THUMBNAIL_CELLS]);
void thumbnail_draw(const int64_t count[THUMBNAIL_CELLS], int64_t rows, int64_t cols, char *out);
/* Returns the drawing in at most edge x edge cells, which the caller frees; NULL: out of memory. */
char *pattern_of(const spmv_csr_view *A, int edge);

#endif
