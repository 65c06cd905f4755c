/* spmv_pieces.h: a matrix in pieces, for processes that read it together (src/many): parts of a
 * file's text, which end where lines end, or rows of a generated matrix, and what can be said of
 * some rows of a larger matrix. Nothing here talks to another process. The conventions are those of
 * spmv.h; what is said to be sent may go to other processes of this build, byte by byte. */
#ifndef SPMV_PIECES_H
#define SPMV_PIECES_H

#include "spmv.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- rows ----------------------------------------------------------------------------------- */

/* Some rows of a larger matrix, as compressed rows: columns ascend, duplicates were added. */
typedef struct spmv_some_rows {
    int64_t first_row; /* of them, in the larger matrix */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;             /* [rows + 1] from 0; spmv_rows_give frees these */
    int32_t *col_idx;             /* [nnz] */
    double *values;               /* [nnz] */
    int64_t merged, merged_above; /* duplicates that were added; of these, above the diagonal */
} spmv_some_rows;

/* Makes compressed rows of entries, whose rows count from first_row. */
spmv_status spmv_rows_build(spmv_ctx *ctx, const spmv_coo_view *entries, int64_t first_row,
                            spmv_some_rows *out);
/* Takes memory for arrays of a matrix, which the context's allocator may supply; NULL: none. */
void *spmv_rows_take(spmv_ctx *ctx, size_t bytes);
/* Frees it. */
void spmv_rows_give(spmv_ctx *ctx, void *memory);

/* Numbers about rows. Those of several ranges of rows are put together to those of all. */
typedef struct spmv_tally {
    int64_t rows, nnz;
    int64_t least, most, empty; /* lengths of rows, and rows of none */
    uint64_t low, high; /* halves of squares of what lengths are apart from a middle, summed */
    int64_t bandwidth;
    uint64_t hash;
} spmv_tally;

/* Adds what the lengths of rows say; middle: nnz / rows of the larger matrix, rounded down. */
void spmv_tally_lengths(const int64_t *row_ptr, int64_t rows, int64_t middle, int threads,
                        spmv_tally *out);
/* Adds what all entries must be read for: the bandwidth and the hash. */
void spmv_tally_entries(const spmv_some_rows *rows, int threads, spmv_tally *out);
/* Adds the tally of other rows. */
void spmv_tally_add(spmv_tally *sum, const spmv_tally *part);
/* Fills in what a tally of all rows, or its lengths alone, says of a matrix. */
void spmv_tally_tell(const spmv_tally *all, int64_t cols, spmv_stats *out);

/* ---- rows of a generated matrix ------------------------------------------------------------- */

typedef struct spmv_some_entries { /* of a matrix, with its numbers of rows and columns */
    int64_t n;
    int32_t *row, *col; /* [n] */
    double *values;     /* [n]; NULL: every entry is 1 */
} spmv_some_entries;

typedef struct spmv_making spmv_making;
/* Reads what stands behind "gen:"; opts: as of spmv_mat_load, not NULL. */
spmv_status spmv_making_open(spmv_ctx *ctx, const char *spec, const spmv_load_opts *opts,
                             spmv_making **out);
void spmv_making_size(const spmv_making *making, int64_t *rows, int64_t *cols, spmv_field *field);
/* Counts the entries of rows first to end - 1. */
spmv_status spmv_making_count(spmv_making *making, int64_t first, int64_t end, int64_t *length);
/* Makes these rows; row_ptr: where they begin, [end - first + 1] from 0; position: of their first
 * entry in the whole matrix. */
spmv_status spmv_making_fill(spmv_making *making, int64_t first, int64_t end,
                             const int64_t *row_ptr, int64_t position,
                             const spmv_some_entries *out);
void spmv_making_close(spmv_making *making);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
