/* features.c: the features of a matrix that "auto" uses: from its statistics, from a sample, and
 * from each format's own sums over the sample (`look` and `features` of spmv_format). The results
 * do not depend on the number of threads. */
#include "host/context.h"
#include "matrix/matrix.h"
#include "matrix/sampling.h"
#include "spmv_windows.h"
#include "tune.h"
#include <stdlib.h>

enum { LINE_BITS = 16 }; /* log2 of the bits in the set of cache lines of a slice */

typedef double sums[SAMPLE_SUMS];
enum { ENTRIES, LINES }; /* sums that belong to no format */

/* Returns the number of cache lines of x that the slice touches, from a hash table of one bit per
 * line: of at most 2,048 lines 1.6 % may collide. */
static int count_lines(const sample_slice *w, int per_line) {
    uint64_t seen[(1 << LINE_BITS) / 64] = {0};
    int lines = 0;
    for (int r = 0; r < w->rows; r++) {
        const int32_t *col = w->col_idx + w->begin[r];
        for (int k = 0; k < w->len[r]; k++) {
            const uint32_t at = (uint32_t)(col[k] / per_line) * 0x9e3779b1u >> (32 - LINE_BITS);
            lines += (seen[at / 64] >> at % 64 & 1) == 0;
            seen[at / 64] |= (uint64_t)1 << at % 64;
        }
    }
    return lines;
}

/* Adds the slice's sums to of[k] for each format k, and to of[formats] for the rest. */
static void add_slice(const sample_slice *w, spmv_precision precision, sums *of) {
    const int formats = spmv_format_count();
    for (int k = 0; k < formats; k++) {
        const spmv_format *format = spmv_format_at(k, SPMV_F64_O32);
        if (format->look) format->look(w, of[k]);
    }
    of[formats][ENTRIES] = w->entries;
    of[formats][LINES] = count_lines(w, precision == SPMV_F64 ? 8 : 16);
}

/* Adds the sums of n slices, of[0], of[apart], ..., in this order. */
static void add_up(const sums *of, int n, int apart, double *sum) {
    memset(sum, 0, sizeof(sums));
    for (int k = 0; k < n; k++)
        for (int q = 0; q < SAMPLE_SUMS; q++) sum[q] += of[k * apart][q];
}

/* Adds the features that come from the sample. */
static spmv_status add_sampled(spmv_ctx *ctx, const spmv_sample *s, int threads, spmv_features *f) {
    const int n = s->size.taken, formats = spmv_format_count(), each = formats + 1;
    sums sum, *of = calloc((size_t)n * (size_t)each, sizeof *of);
    if (!of) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (n > 4)
    for (int k = 0; k < n; k++) add_slice(&s->slice[k], f->precision, of + k * each);
    add_up(of + formats, n, each, sum);
    f->sampled = (int64_t)sum[ENTRIES];
    f->lines = sample_share(sum[LINES], sum[ENTRIES]);
    for (int k = 0; k < formats; k++) {
        const spmv_format *format = spmv_format_at(k, SPMV_F64_O32);
        if (format->look) add_up(of + k, n, each, sum);
        if (format->features) format->features(s, format->look ? sum : NULL, f);
    }
    free(of);
    return SPMV_OK;
}

/* Adds how many nonzeros share a column, of rows in host memory. */
static spmv_status add_windows(spmv_mat *mat, int threads, spmv_features *f) {
    const double enough = 2; /* nonzeros per column of 8 rows: no order gains then */
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_windows windows;
    if (mat->source) return SPMV_OK;
    TRY(spmv_mat_rows(mat, &A));
    TRY(spmv_windows_sample(mat->ctx, &A, threads, enough, &windows));
    memcpy(f->shared, windows.kept, sizeof f->shared);
    memcpy(f->shared_by_ends, windows.by_ends, sizeof f->shared_by_ends);
    memcpy(f->shared_by_walk, windows.by_walk, sizeof f->shared_by_walk);
    return SPMV_OK;
}

spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             int readers, int threads, spmv_features *f) {
    const spmv_stats *s = &mat->stats;
    spmv_sample sample;
    *f = (spmv_features){.rows = s->rows,
                         .cols = s->cols,
                         .nnz = s->nnz,
                         .row_max = s->row_max,
                         .mean = s->row_mean,
                         .cv = s->row_mean > 0 ? s->row_std / s->row_mean : 0,
                         .empty_share = sample_share((double)s->empty_rows, (double)s->rows),
                         .precision = precision,
                         .threads = mat->ctx->threads};
    if (s->nnz == 0 || depth == SPMV_SAMPLE_NONE) return SPMV_OK;
    TRY(spmv_sample_take(mat, depth, readers, threads, &sample));
    spmv_status status = add_sampled(mat->ctx, &sample, threads, f);
    spmv_sample_free(&sample);
    if (status == SPMV_OK && depth == SPMV_SAMPLE_WINDOWS) status = add_windows(mat, threads, f);
    return status;
}
