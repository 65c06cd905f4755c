/* blocks.c: cuts rows into blocks of about equal numbers of entries. Each rank knows the row
 * lengths of an even share of the rows. */
#include "loading.h"
#include "ranks/partition/partition.h"
#include <stdlib.h>

spmv_status ranks_sum_rows(loading *l) {
    spmv_ranks *ranks = l->ranks;
    const int64_t rows = l->even[ranks->rank + 1] - own_even(l);
    int64_t before = 0;
    l->ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) l->ptr[i + 1] += l->ptr[i];
    const spmv_status status =
        ranks->by->gather(ranks->state, &l->ptr[rows], sizeof *l->ptr, l->each);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the lengths of rows were lost");
    for (int r = 0; r < ranks->rank; r++) before += l->each[r];
    l->nnz = 0;
    for (int r = 0; r < ranks->size; r++) l->nnz += l->each[r];
    for (int64_t i = 0; i <= rows; i++) l->ptr[i] += before;
    return SPMV_OK;
}

spmv_status ranks_cut_rows(loading *l, int64_t *first_row) {
    spmv_ranks *ranks = l->ranks;
    const int size = ranks->size;
    const int64_t rows = l->even[ranks->rank + 1] - own_even(l), base = l->ptr[0];
    if (l->by == SPMV_BY_ROWS || l->nnz == 0) {
        memcpy(first_row, l->even, ((size_t)size + 1) * sizeof *first_row);
        return SPMV_OK;
    }
    int64_t *all = malloc((size_t)size * (size_t)size * sizeof *all);
    spmv_status status = ranks_agree_memory(ranks, all != NULL, "blocks of rows");
    memset(l->each, 0, (size_t)size * sizeof *l->each);
    for (int r = 1; r < size && status == SPMV_OK; r++) {
        const double target = (double)r / size * (double)l->nnz;
        if ((double)base < target && target <= (double)l->ptr[rows])
            l->each[r] = own_even(l) + ranks_cut(l->ptr, rows, target);
    }
    if (status == SPMV_OK) {
        status = ranks->by->gather(ranks->state, l->each, (size_t)size * sizeof *l->each, all);
        if (status != SPMV_OK) ranks_fail(ranks, status, "blocks of rows were lost");
    }
    for (int r = 1; r < size && status == SPMV_OK; r++) {
        first_row[r] = 0;
        for (int k = 0; k < size; k++) first_row[r] += all[k * size + r];
    }
    first_row[0] = 0;
    first_row[size] = l->even[size];
    free(all);
    return status;
}

spmv_status ranks_relay(loading *l, const int64_t *from, const int64_t *to, const int64_t *out,
                        int64_t *in) {
    spmv_ranks *ranks = l->ranks;
    int64_t *out_bytes = l->bytes, *in_bytes = l->bytes + ranks->size;
    const int me = ranks->rank;
    for (int r = 0; r < ranks->size; r++) {
        const int64_t begin = from[me] > to[r] ? from[me] : to[r];
        const int64_t end = from[me + 1] < to[r + 1] ? from[me + 1] : to[r + 1];
        const int64_t start = from[r] > to[me] ? from[r] : to[me];
        const int64_t stop = from[r + 1] < to[me + 1] ? from[r + 1] : to[me + 1];
        out_bytes[r] = end > begin ? (end - begin) * (int64_t)sizeof *out : 0;
        in_bytes[r] = stop > start ? (stop - start) * (int64_t)sizeof *in : 0;
    }
    const spmv_status status = ranks->by->deal(ranks->state, out, out_bytes, in, in_bytes);
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "numbers of rows were lost");
}
