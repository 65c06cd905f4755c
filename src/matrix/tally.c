/* tally.c: statistics of a matrix's rows, mergeable over ranges of rows. Squares are summed as
 * integers, and the hash is a sum over rows, so that results do not depend on the partition among
 * threads or processes. */
#include "csr.h"
#include "spmv_pieces.h"
#include <math.h>

static int64_t least_of(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

void spmv_tally_add(spmv_tally *sum, const spmv_tally *part) {
    if (part->rows) sum->least = sum->rows ? least_of(sum->least, part->least) : part->least;
    sum->rows += part->rows;
    sum->nnz += part->nnz;
    sum->most = most_of(sum->most, part->most);
    sum->empty += part->empty;
    sum->low += part->low;
    sum->high += part->high;
    sum->bandwidth = most_of(sum->bandwidth, part->bandwidth);
    sum->hash += part->hash;
}

/* ---- lengths -------------------------------------------------------------------------------- */

static spmv_tally lengths_of(const int64_t *row_ptr, int64_t first, int64_t end, int64_t middle) {
    spmv_tally l = {.rows = end - first, .nnz = row_ptr[end] - row_ptr[first], .least = INT64_MAX};
    for (int64_t i = first; i < end; i++) {
        const int64_t n = row_ptr[i + 1] - row_ptr[i], apart = n - middle;
        const uint64_t square = (uint64_t)(apart * apart);
        l.least = n < l.least ? n : l.least;
        l.most = n > l.most ? n : l.most;
        l.empty += n == 0;
        l.low += square & UINT32_MAX, l.high += square >> 32;
    }
    return l;
}

void spmv_tally_lengths(const int64_t *row_ptr, int64_t rows, int64_t middle, int threads,
                        spmv_tally *out) {
    if (threads == 1) { /* a parallel region takes as long as a product of a small matrix */
        const spmv_tally all = lengths_of(row_ptr, 0, rows, middle);
        spmv_tally_add(out, &all);
        return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        const spmv_tally l = lengths_of(row_ptr, spmv_split(rows, threads, t),
                                        spmv_split(rows, threads, t + 1), middle);
#pragma omp critical(lengths)
        spmv_tally_add(out, &l);
    }
}

/* ---- entries -------------------------------------------------------------------------------- */

void spmv_tally_entries(const spmv_some_rows *A, int threads, spmv_tally *out) {
    int64_t bandwidth = 0;
    uint64_t hash = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(max : bandwidth) \
    reduction(+ : hash)
    for (int64_t own = 0; own < A->rows; own++) {
        const int64_t i = A->first_row + own;
        uint64_t h = spmv_mix((uint64_t)i + 2);
        for (int64_t k = A->row_ptr[own]; k < A->row_ptr[own + 1]; k++) {
            h = (h ^ (uint64_t)(uint32_t)A->col_idx[k]) * 0x9e3779b97f4a7c15u;
            h = (h ^ (h >> 29) ^ spmv_bits(A->values[k])) * 0xd6e8feb86659fd93u;
            h ^= h >> 32;
            int64_t distance = i > A->col_idx[k] ? i - A->col_idx[k] : A->col_idx[k] - i;
            if (distance > bandwidth) bandwidth = distance;
        }
        hash += spmv_mix(h);
    }
    const spmv_tally entries = {.bandwidth = bandwidth, .hash = hash};
    spmv_tally_add(out, &entries);
}

/* ---- of a whole matrix ---------------------------------------------------------------------- */

void spmv_tally_tell(const spmv_tally *all, int64_t cols, spmv_stats *out) {
    const double rows = (double)all->rows, mean = all->rows ? (double)all->nnz / rows : 0;
    const double off = mean - (double)(all->rows ? all->nnz / all->rows : 0);
    const long double squares = 4294967296.0L * (long double)all->high + (long double)all->low;
    out->rows = all->rows;
    out->cols = cols;
    out->nnz = all->nnz;
    out->row_min = all->least;
    out->row_max = all->most;
    out->row_mean = mean;
    out->row_std = all->rows ? sqrt(fmax((double)(squares / (long double)rows) - off * off, 0)) : 0;
    out->empty_rows = all->empty;
    out->bandwidth = all->bandwidth;
    out->hash = all->hash + spmv_mix((uint64_t)all->rows) + spmv_mix((uint64_t)cols + 1);
}

void spmv_csr_lengths(const spmv_csr *A, int threads, spmv_stats *stats) {
    spmv_tally all = {0};
    spmv_tally_lengths(A->row_ptr, A->rows, A->rows ? A->nnz / A->rows : 0, threads, &all);
    spmv_tally_tell(&all, A->cols, stats);
}

void spmv_csr_count(const spmv_csr *A, int threads, spmv_stats *stats) {
    const spmv_some_rows rows = {.rows = A->rows,
                                 .cols = A->cols,
                                 .nnz = A->nnz,
                                 .row_ptr = A->row_ptr,
                                 .col_idx = A->col_idx,
                                 .values = A->values};
    spmv_tally all = {.rows = A->rows, .nnz = A->nnz};
    spmv_stats counted;
    spmv_tally_entries(&rows, threads, &all);
    spmv_tally_tell(&all, A->cols, &counted);
    stats->bandwidth = counted.bandwidth;
    stats->hash = counted.hash;
}
