/* sample.c: takes the sample of a matrix (spmv_sample.h). The sample is bounded for any matrix
 * size: it reads row_ptr of at most 2,048 slices of 32 rows, and entries of at most 32 of these
 * slices, up to 64 per row: about 16,000 entries. A quick sample reads fewer. Slices are evenly
 * spaced. */
#include "csr.h"
#include "host/context.h"
#include "matrix.h"
#include "sampling.h"
#include "spmv_sample.h"
#include "matrix/stores/stored.h"
#include <math.h>
#include <stdlib.h>

/* Sizes of a sample by depth. Without a sample only the statistics of the matrix are known. */
static const struct extent {
    int lengths;   /* maximum number of slices whose row lengths are read */
    int taken;     /* maximum number of slices whose entries are read */
    int fewest;    /* minimum number of slices whose entries are read */
    int entries;   /* maximum number of entries */
    int in_middle; /* maximum number of entries from the middle of rows, for a GPU's model */
    bool full;
} depths[] = {
    [SPMV_SAMPLE_NONE] = {0, 0, 0, 0, 0, false},
    [SPMV_SAMPLE_QUICK] = {1 << 7, 12, 4, 3 << 10, 1 << 14, false},
    [SPMV_SAMPLE_FULL] = {SAMPLE_LENGTHS, SAMPLE_SLICES, 16, 1 << 14, 1 << 15, true},
    [SPMV_SAMPLE_WINDOWS] = {SAMPLE_LENGTHS, SAMPLE_SLICES, 16, 1 << 14, 1 << 15, true},
};

static sample_size size_for(int64_t rows, int64_t nnz, spmv_sampling_depth depth, int readers) {
    enum { FRACTION = 16 }; /* fraction of a small matrix's entries: 1 / FRACTION */
    const struct extent *e = &depths[depth];
    const int64_t slices = (rows + SAMPLE_ROWS - 1) / SAMPLE_ROWS, part = nnz / FRACTION;
    const double mean = (double)nnz / (double)rows;
    const bool for_gpu = readers & SPMV_FOR_GPU;
    double each = SAMPLE_ROWS * (mean < SAMPLE_TAKEN ? mean : SAMPLE_TAKEN) + 1;
    int64_t n = (int64_t)(fmin((double)nnz / FRACTION, e->entries) / each);
    n = n < e->fewest ? e->fewest : n > e->taken ? e->taken : n;
    return (sample_size){.slices = slices,
                         .lengths = (int)(slices < e->lengths ? slices : e->lengths),
                         .taken = (int)(n < slices ? n : slices),
                         .columns = !e->full || !for_gpu    ? 0
                                    : part < SAMPLE_COLUMNS ? (int)part
                                                            : SAMPLE_COLUMNS,
                         .in_middle = for_gpu ? e->in_middle : 0,
                         .mirrored = e->full && readers & SPMV_FOR_HOST,
                         .readers = readers};
}

/* Prefetches the offsets of a slice: sampled slices are far apart, so that memory latency
 * dominates. */
static void prefetch_rows(const spmv_csr_view *A, int64_t slice) {
    enum { LINE = 64 / sizeof(int64_t) };
    const int64_t *row = A->row_ptr + slice * SAMPLE_ROWS;
    for (int64_t i = 0; i <= SAMPLE_ROWS && slice * SAMPLE_ROWS + i <= A->rows; i += LINE)
        __builtin_prefetch(row + i);
}

static void read_lengths(const spmv_csr_view *A, const sample_size *size, int threads,
                         spmv_sample *s) {
    int64_t entries = 0, slots = 0, n = size->lengths;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : entries, slots) if (n > 256)
    for (int64_t k = 0; k < n; k++) {
        enum { AHEAD = 8 };
        int64_t first = sample_lengths_at(size, k) * SAMPLE_ROWS, longest = 0;
        if (k + AHEAD < n) prefetch_rows(A, sample_lengths_at(size, k + AHEAD));
        int64_t end = first + SAMPLE_ROWS < A->rows ? first + SAMPLE_ROWS : A->rows;
        for (int64_t i = first; i < end; i++) {
            int64_t len = A->row_ptr[i + 1] - A->row_ptr[i];
            longest = len > longest ? len : longest;
            entries += len;
        }
        slots += longest * (end - first);
    }
    s->entries = entries, s->slots = slots;
}

static void take_slice(const spmv_csr_view *A, int64_t first, sample_slice *w) {
    enum { LINE = 64 / sizeof(double) };
    *w = (sample_slice){.first = first, .col_idx = A->col_idx, .values = A->values};
    w->rows = (int)(A->rows - first < SAMPLE_ROWS ? A->rows - first : SAMPLE_ROWS);
    for (int r = 0; r < w->rows; r++) {
        int64_t begin = A->row_ptr[first + r], len = A->row_ptr[first + r + 1] - begin;
        w->begin[r] = begin;
        w->len[r] = (int)(len < SAMPLE_TAKEN ? len : SAMPLE_TAKEN);
        w->entries += w->len[r];
        if (w->len[r] > w->longest) w->longest = w->len[r];
        for (int k = 0; k < w->len[r]; k += LINE) {
            __builtin_prefetch(A->values + begin + k);
            __builtin_prefetch(A->col_idx + begin + k);
        }
    }
}

/* For a few entries (i, j) of a slice, finds whether (j, i) is stored with the same bits. */
static void look_up(const spmv_csr_view *A, const sample_slice *w, spmv_sample *s) {
    for (int n = 0; A->rows == A->cols && n < SAMPLE_LOOKED_UP; n++) {
        int r = n * w->rows / SAMPLE_LOOKED_UP;
        if (w->len[r] == 0) continue;
        int64_t k = w->begin[r] + n * (w->len[r] - 1) / SAMPLE_LOOKED_UP, i = w->first + r;
        if (A->col_idx[k] == i) continue;
        s->pairs++;
        s->mirrored += is_mirrored(A, i, k);
    }
}

/* Takes the sample from rows in host memory. */
static spmv_status take_here(spmv_ctx *ctx, const spmv_csr_view *A, const sample_size *size,
                             int threads, spmv_sample *out) {
    const size_t slices = (size_t)size->taken, columns = (size_t)size->columns;
    *out = (spmv_sample){.size = *size};
    out->owned = malloc(slices * sizeof *out->slice + columns * sizeof *out->column);
    if (!out->owned) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    out->slice = out->owned;
    out->column = (int32_t *)(out->slice + slices);
    read_lengths(A, size, threads, out);
    for (int n = 0; n < size->taken; n++) prefetch_rows(A, sample_slice_at(size, n));
    for (int n = 0; n < size->taken; n++)
        take_slice(A, sample_slice_at(size, n) * SAMPLE_ROWS, &out->slice[n]);
    for (int n = 0; n < size->taken && size->mirrored; n++) look_up(A, &out->slice[n], out);
    for (int k = 0; k < size->columns; k++)
        out->column[k] = A->col_idx[spmv_split(A->nnz, size->columns, k)];
    const int64_t first = A->rows / 2;
    const int64_t *row_ptr = A->row_ptr + first;
    out->middle = (spmv_csr_view){.rows = sample_middle(size, row_ptr, A->rows - first),
                                  .cols = A->cols,
                                  .row_ptr = row_ptr,
                                  .col_idx = A->col_idx};
    return SPMV_OK;
}

/* ---- where blocks are counted ---------------------------------------------------------------- */

/* Counting blocks is the most expensive feature. It reads about BLOCK_ENTRIES entries: one slice of
 * each group. Returns the number of slices per group. */
static int slices_per_group(const spmv_sample *s) {
    enum { BLOCK_ENTRIES = 1 << 11, FEWEST = 4 /* groups */ };
    const int n = s->size.taken;
    int64_t entries = 0;
    for (int k = 0; k < n; k++) entries += s->slice[k].entries;
    const int64_t step = entries / BLOCK_ENTRIES + 1, most = n / FEWEST + 1;
    return (int)(step < most ? step : most);
}

/* In every group, marks one slice that has entries; the search starts at another offset in each
 * group. */
static void mark_for_blocks(spmv_sample *s) {
    const int n = s->size.taken, step = slices_per_group(s);
    for (int group = 0; group * step < n; group++)
        for (int q = 0; q < step; q++) {
            const int at = group * step + (group + q) % step;
            if (at >= n || s->slice[at].entries == 0) continue;
            s->slice[at].blocks_for = s->size.readers;
            break;
        }
}

/* ---- wherever the rows lie ------------------------------------------------------------------- */

static spmv_status take(spmv_mat *mat, const sample_size *size, int threads, spmv_sample *out) {
    const spmv_stored *source = mat->fetch ? mat->source : NULL;
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    if (source && source->device->backend->sample) {
        spmv_device *device = NULL;
        TRY(spmv_ctx_device(mat->ctx, source->device->backend, &device));
        *out = (spmv_sample){.size = *size};
        return device->backend->sample(device, source->copy, out);
    }
    TRY(spmv_mat_rows(mat, &A));
    return take_here(mat->ctx, &A, size, threads, out);
}

spmv_status spmv_sample_take(spmv_mat *mat, spmv_sampling_depth depth, int readers, int threads,
                             spmv_sample *out) {
    const sample_size size = size_for(mat->stats.rows, mat->stats.nnz, depth, readers);
    TRY(take(mat, &size, threads, out));
    mark_for_blocks(out);
    return SPMV_OK;
}

void spmv_sample_free(spmv_sample *sample) {
    free(sample->owned);
    *sample = (spmv_sample){.owned = NULL};
}
