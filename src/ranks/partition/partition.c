/* partition.c: assigns rows to ranks, in blocks or as a file says. */
#include "partition.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- blocks --------------------------------------------------------------------------------- */

int64_t ranks_cut(const int64_t *row_ptr, int64_t rows, double target) {
    int64_t low = 0, high = rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if ((double)row_ptr[middle] < target)
            low = middle + 1;
        else
            high = middle;
    }
    const bool nearer =
        low > 0 && target - (double)row_ptr[low - 1] < (double)row_ptr[low] - target;
    return nearer ? low - 1 : low;
}

int64_t ranks_even(int64_t n, int r, int ranks) {
    return n / ranks * r + n % ranks * r / ranks;
}

void ranks_divide(const spmv_csr_view *A, spmv_partition by, int ranks, int64_t *first_row) {
    for (int r = 0; r <= ranks; r++)
        first_row[r] = by == SPMV_BY_ROWS || A->nnz == 0
                           ? ranks_even(A->rows, r, ranks)
                           : ranks_cut(A->row_ptr, A->rows, (double)r / ranks * (double)A->nnz);
    first_row[ranks] = A->rows; /* rows without entries at the end belong to the last rank */
}

spmv_status ranks_divide_split(const spmv_csr_view *A, int ranks, int64_t *first_row) {
    const int64_t least = ranks_split_least(A->nnz, ranks);
    int64_t *end = calloc((size_t)A->rows + 1, sizeof *end);
    if (!end) return SPMV_E_NOMEM;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
        if (n < least) end[i + 1] += n;
        for (int64_t k = begin; n >= least && A->rows == A->cols && k < begin + n; k++)
            end[A->col_idx[k] + 1]++;
    }
    for (int64_t i = 0; i < A->rows; i++) end[i + 1] += end[i];
    spmv_csr_view weighed = *A;
    weighed.row_ptr = end;
    weighed.nnz = end[A->rows];
    ranks_divide(&weighed, SPMV_BY_NONZEROS, ranks, first_row);
    free(end);
    return SPMV_OK;
}

void ranks_own_blocks(const int64_t *first_row, int ranks, int32_t *owner) {
    for (int r = 0; r < ranks; r++)
        for (int64_t i = first_row[r]; i < first_row[r + 1]; i++) owner[i] = r;
}

/* ---- a file --------------------------------------------------------------------------------- */

static spmv_status read_owners(FILE *file, const char *path, int64_t rows, int ranks,
                               int32_t *owner, char why[RANKS_WHY]) {
    char word[32];
    int64_t n = 0;
    int from, to; /* positions around the word; its length differs from strlen if it holds NUL */
    for (; fscanf(file, " %n%31s%n", &from, word, &to) == 1; n++) {
        char *end;
        errno = 0;
        const long rank = strtol(word, &end, 10);
        if (errno || end != word + (to - from) || rank < 0 || rank >= ranks) {
            snprintf(why, RANKS_WHY, "%.160s: its number %lld, '%s', is not a rank from 0 to %d",
                     path, (long long)n + 1, word, ranks - 1);
            return SPMV_E_FORMAT;
        }
        if (n < rows) owner[n] = (int32_t)rank;
    }
    if (ferror(file)) {
        snprintf(why, RANKS_WHY, "%.160s: %s", path, strerror(errno));
        return SPMV_E_IO;
    }
    if (n == rows) return SPMV_OK;
    snprintf(why, RANKS_WHY, "%.160s has a rank for %lld rows, and the matrix %lld rows", path,
             (long long)n, (long long)rows);
    return SPMV_E_FORMAT;
}

spmv_status ranks_own_by_file(const char *path, int64_t rows, int ranks, int32_t *owner,
                              char why[RANKS_WHY]) {
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(why, RANKS_WHY, "%.160s: %s", path, strerror(errno));
        return SPMV_E_IO;
    }
    const spmv_status status = read_owners(file, path, rows, ranks, owner, why);
    fclose(file);
    return status;
}
