/* build_hyb.cu: builds HYB on the GPU from compressed rows there, and writes new values. The store
 * equals that of src/formats/hyb/format_hyb.c byte by byte.
 *
 * Source     src/formats/hyb/format_hyb.c.
 * Reads      csr: row_ptr, col_idx, values, on the GPU.
 * Work       The width is found by bisection: a pass over row_ptr counts the longer rows. A scan
 *            computes the start of each row's tail. One thread per row fills its slots of the ELL
 *            part, and one thread per entry of the COO part finds its row by bisection, so that a
 *            long row is not left to one thread. New values: the same two kernels without columns.
 */
#include "cuda/build.cuh"
#include "formats/csr/csr.h"
#include "formats/hyb/hyb.h"

enum {
    THREADS = 256,
    ELL_BYTES = sizeof(idx) + sizeof(real),
    TAIL_BYTES = 2 * sizeof(idx) + sizeof(real)
};

/* Adds the rows that are longer than width to *count. */
static __global__ void count_longer(int64_t rows, const ofs *__restrict__ row_ptr, int64_t width,
                                    unsigned long long *count) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    const bool is_longer = i < rows && row_ptr[i + 1] - row_ptr[i] > width;
    const int longer = __popc(__ballot_sync(ALL_LANES, is_longer));
    if (threadIdx.x % WARP == 0 && longer) atomicAdd(count, (unsigned long long)longer);
}

static __global__ void count_tails(int64_t rows, const ofs *__restrict__ row_ptr, int64_t width,
                                   int64_t *tail) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    const int64_t length = row_ptr[i + 1] - row_ptr[i];
    tail[i] = length > width ? length - width : 0;
}

static __global__ void fill_ell(csr A, hyb B) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B.pitch) return;
    const ofs begin = i < A.s.rows ? A.row_ptr[i] : 0, end = i < A.s.rows ? A.row_ptr[i + 1] : 0;
    for (int64_t k = 0; k < B.width; k++) {
        const bool is_entry = k < end - begin;
        B.ell_col[k * B.pitch + i] = is_entry ? A.col_idx[begin + k] : -1;
        B.ell_values[k * B.pitch + i] = is_entry ? A.values[begin + k] : 0;
    }
}

/* Fills the COO part. before: [rows + 1] prefix sum of the rows' tails. */
static __global__ void fill_tail(csr A, hyb B, const int64_t *__restrict__ before) {
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= B.tail) return;
    int64_t row = 0, behind = A.s.rows; /* before[row] <= t < before[behind] */
    while (behind - row > 1) {
        const int64_t middle = row + (behind - row) / 2;
        if (before[middle] <= t)
            row = middle;
        else
            behind = middle;
    }
    const int64_t from = A.row_ptr[row] + B.width + (t - before[row]);
    B.tail_row[t] = (idx)row;
    B.tail_col[t] = A.col_idx[from];
    B.tail_values[t] = A.values[from];
}

static __global__ void refill_ell(hyb B, const ofs *__restrict__ row_ptr,
                                  const real *__restrict__ value) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B.s.rows) return;
    const ofs begin = row_ptr[i], end = row_ptr[i + 1];
    for (int64_t k = 0; k < B.width && k < end - begin; k++)
        B.ell_values[k * B.pitch + i] = value[begin + k];
}

static __global__ void refill_tail(hyb B, const ofs *__restrict__ row_ptr,
                                   const real *__restrict__ value) {
    const int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (t >= B.tail) return;
    const idx row = B.tail_row[t];
    int64_t first = 0, end = t; /* range that contains the first entry of the row */
    while (first < end) {
        const int64_t middle = first + (end - first) / 2;
        if (B.tail_row[middle] < row)
            first = middle + 1;
        else
            end = middle;
    }
    B.tail_values[t] = value[row_ptr[row] + B.width + (t - first)];
}

/* ---- the format ------------------------------------------------------------------------------ */

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

typedef struct job { /* temporary memory, freed at the end */
    const csr *A;
    unsigned long long *count; /* one counter */
    int64_t *before;           /* [rows + 1] prefix sum of the rows' tails */
} job;

/* Returns in *width the least width that at most `most` rows exceed, or `high` if all are
 * exceeded. */
static spmv_status find_width(spmv_device *d, job *j, int64_t most, int64_t high, int64_t *width) {
    const int64_t rows = j->A->s.rows;
    int64_t low = 0;
    TRY(d->backend->alloc(d, sizeof *j->count, (void **)&j->count));
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        unsigned long long longer = 0;
        CU(d->ctx, cudaMemsetAsync(j->count, 0, sizeof *j->count, stream_of(d)));
        count_longer<<<blocks_of(rows), THREADS, 0, stream_of(d)>>>(rows, j->A->row_ptr, middle,
                                                                    j->count);
        TRY(launched(d));
        TRY(d->backend->get(d, &longer, j->count, sizeof longer));
        if (longer <= (unsigned long long)most)
            high = middle;
        else
            low = middle + 1;
    }
    *width = low;
    return SPMV_OK;
}

static spmv_status place_tails(spmv_device *d, job *j, int64_t width, int64_t *tail) {
    const int64_t rows = j->A->s.rows;
    const size_t bytes = (size_t)(rows + 1) * sizeof *j->before;
    TRY(d->backend->alloc(d, bytes, (void **)&j->before));
    CU(d->ctx, cudaMemsetAsync(j->before, 0, bytes, stream_of(d)));
    if (rows)
        count_tails<<<blocks_of(rows), THREADS, 0, stream_of(d)>>>(rows, j->A->row_ptr, width,
                                                                   j->before);
    TRY(launched(d));
    TRY(sum_before(d, rows + 1, j->before));
    return d->backend->get(d, tail, j->before + rows, sizeof *tail);
}

/* Allocates the arrays of the store. No row is longer than the number of columns. */
static spmv_status begin(spmv_device *d, const spmv_csr_view *A, job *j, const spmv_choice *c,
                         spmv_store **head_out, spmv_store **copy_out) {
    const int64_t boundary = c->value[SPMV_boundary];
    TRY(spmv_store_new(d->ctx, "hyb", sizeof(hyb), A, head_out));
    TRY(spmv_store_new(d->ctx, "hyb", sizeof(hyb), A, copy_out));
    hyb *head = (hyb *)*head_out, *copy = (hyb *)*copy_out;
    copy->pitch = blocks_for(A->rows, HYB_ALIGN) * HYB_ALIGN;
    const int64_t most = boundary < 0 ? copy->pitch * ELL_BYTES / TAIL_BYTES : 0;
    const int64_t high = boundary < 0 || boundary > A->cols ? A->cols : boundary;
    TRY(find_width(d, j, most, A->nnz ? high : 0, &copy->width));
    TRY(place_tails(d, j, copy->width, &copy->tail));
    copy->s.slots = copy->width * copy->pitch + copy->tail;
    head->width = copy->width, head->pitch = copy->pitch, head->tail = copy->tail;
    head->s.slots = copy->s.slots;
    return SPMV_OK;
}

static spmv_status fill(spmv_device *d, const job *j, hyb *head, hyb *copy) {
    TRY(BUILD_ARRAY(d, head, copy, ell_col, copy->width * copy->pitch));
    TRY(BUILD_ARRAY(d, head, copy, ell_values, copy->width * copy->pitch));
    TRY(BUILD_ARRAY(d, head, copy, tail_row, copy->tail));
    TRY(BUILD_ARRAY(d, head, copy, tail_col, copy->tail));
    TRY(BUILD_ARRAY(d, head, copy, tail_values, copy->tail));
    if (copy->width) fill_ell<<<blocks_of(copy->pitch), THREADS, 0, stream_of(d)>>>(*j->A, *copy);
    if (copy->tail)
        fill_tail<<<blocks_of(copy->tail), THREADS, 0, stream_of(d)>>>(*j->A, *copy, j->before);
    return launched(d);
}

static void end(spmv_device *d, job *j) {
    d->backend->release(d, j->count);
    d->backend->release(d, j->before);
}

static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    job j = {(const csr *)rows};
    *upload_s = 0;
    spmv_status status = begin(d, A, &j, c, head, copy);
    if (status == SPMV_OK) status = fill(d, &j, (hyb *)*head, (hyb *)*copy);
    end(d, &j);
    return status;
}

static spmv_status measure_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              size_t *bytes) {
    job j = {(const csr *)rows};
    const spmv_status status = begin(d, A, &j, c, head, copy);
    end(d, &j);
    TRY(status);
    const hyb *B = (const hyb *)*head;
    *bytes = spmv_store_bytes(*head) + (size_t)(B->width * B->pitch) * ELL_BYTES +
             (size_t)B->tail * TAIL_BYTES;
    return SPMV_OK;
}

/* Returns the bytes of temporary memory: a counter, prefix sums, CUB's workspace. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    (void)c;
    return sizeof(int64_t) * ((size_t)A->rows + 2) + TEMPORARY;
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const hyb *B = (const hyb *)copy;
    if (B->width && B->s.rows)
        refill_ell<<<blocks_of(B->s.rows), THREADS, 0, stream_of(d)>>>(*B, (const ofs *)row_ptr,
                                                                       (const real *)values);
    if (B->tail)
        refill_tail<<<blocks_of(B->tail), THREADS, 0, stream_of(d)>>>(*B, (const ofs *)row_ptr,
                                                                      (const real *)values);
    return launched(d);
}

EXPORT_BUILDER(hyb) = {
    .name = "hyb",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .measure = measure_on,
};
