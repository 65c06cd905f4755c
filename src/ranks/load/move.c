/* move.c: moves rows that were read in blocks to other owners: those of better cuts, or those of a
 * partition (owners.c), which renumbers the rows. */
#include "loading.h"
#include <stdlib.h>

spmv_status ranks_move_entries(loading *l) {
    spmv_ranks *ranks = l->ranks;
    ranks_own before = l->own;
    spmv_chunk *own = calloc(1, sizeof *own);
    spmv_status status = ranks_agree_memory(ranks, own, "own entries");
    if (status != SPMV_OK) {
        free(own);
        return status;
    }
    own->has = (spmv_some_entries){before.n, before.row, before.col, before.value};
    l->chunks = own;
    l->own = (ranks_own){0};
    l->head.symmetry = SPMV_GENERAL; /* the transposed entries are explicit now */
    status = ranks_send_entries(l);
    ranks_own_free(ranks, &before);
    return status;
}

/* Builds rows with renumbered columns; l->own keeps the file's column numbers. */
static spmv_status renumber_columns(loading *l, const int32_t *place, spmv_some_rows *out) {
    int32_t *before = l->own.col,
            *col = spmv_rows_take(l->ranks->ctx, ((size_t)l->own.n + 1) * sizeof *col);
    spmv_status status = ranks_agree_memory(l->ranks, col, "columns in new numbers");
    if (status == SPMV_OK) {
        for (int64_t k = 0; k < l->own.n; k++) col[k] = place[before[k]];
        l->own.col = col;
        status = ranks_build_rows(l, out);
        l->own.col = before;
    }
    spmv_rows_give(l->ranks->ctx, col);
    return status;
}

/* Inverts the renumbering: (*number)[i] is the row of the file that became own row i. */
static spmv_status list_numbers(const loading *l, const int32_t *place, int64_t **number) {
    const int64_t first = l->first_row[l->ranks->rank],
                  rows = l->first_row[l->ranks->rank + 1] - first;
    *number = malloc((size_t)rows * sizeof **number + 1);
    for (int64_t i = 0; *number && i < l->head.rows; i++)
        if (place[i] >= first && place[i] < first + rows) (*number)[place[i] - first] = i;
    return ranks_agree_memory(l->ranks, *number, "numbers of rows");
}

spmv_status ranks_move_rows(loading *l, ranks_loaded *out) {
    const int64_t before = l->first_row[l->ranks->rank];
    int32_t *place = NULL;
    spmv_status status = ranks_number_rows(l->ranks, l->how, &out->rows, l->first_row, &place);
    ranks_rows_free(l->ranks, &out->rows);
    if (status != SPMV_OK) return status;
    for (int64_t k = 0; k < l->own.n; k++) l->own.row[k] = place[before + l->own.row[k]];
    status = ranks_move_entries(l);
    if (status == SPMV_OK)
        status = l->head.rows == l->head.cols ? renumber_columns(l, place, &out->rows)
                                              : ranks_build_rows(l, &out->rows);
    if (status == SPMV_OK) status = list_numbers(l, place, &out->number);
    free(place);
    return status;
}
