/* panels: column blocking with x in shared memory: the columns are divided into panels, and a warp
 * multiplies the segment that a row has in a panel, whose x its block of threads has copied.
 *
 * Source   this project; EHYB (Chen, arXiv 2204.06666) also keeps x in shared memory and stores
 *          16-bit columns, for a partitioned matrix.
 * Reads    csr: values[nnz]; its own columns, 16 bits within the panel; begin[rows x panels + 1],
 *          where a panel's segment of a row begins; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once; with several panels first sum[panels x rows].
 * Work     A block of threads copies a panel of x and goes through a chunk of rows. A lane takes 7
 *          nonzeros at a time, or 4 where segments have 128 nonzeros at most; meanwhile the next
 *          ones, of the row or of the warp's next row, are being loaded (H200: ci:32768 99 to 92
 *          us). 5 shuffles join a segment's sums. With several panels a second kernel adds up their
 *          sums, in order; it starts while the first ends. Chunks have about equally many nonzeros.
 * Cost     2 nnz flop; nnz (sizeof real + 2) + rows panels (sizeof ofs + 2 sizeof real) + (chunks
 *          cols + rows) sizeof real bytes.
 * Weak     A row with fewer than 32 nonzeros in a panel leaves lanes idle; a row much longer than
 *          others keeps its warp busy alone.
 * Repeats  bitwise: yes, for an equal tile.
 * Params   tile: columns of a panel (0: as many as fit, but so that a row has 1024 nonzeros at most
 *          in one, on average).
 */
#include "cuda/ahead.cuh"
#include "formats/csr/csr.h"
#include <stdlib.h>

enum {
    MOST_COLUMNS = 65536, /* of a panel */
    THREADS = 1024,
    SEGMENT = 1024 /* nonzeros that a row should have in a panel, at most */
};

typedef struct panels {
    idx npanels, nchunks, columns; /* columns of a panel */
    uint16_t *column;              /* [nnz] */
    ofs *begin;                    /* [rows x npanels + 1] */
    real *sum;                     /* [npanels x rows], unless there is one */
    idx *chunk;                    /* [nchunks + 1] first rows */
} panels;

/* ---- the product ----------------------------------------------------------------------------- */

template <int N> struct batch { /* of entries, of a lane; past the row's end nothing */
    unsigned column[N];
    real value[N];
};

/* From k on, of which the row has `left` more. */
template <int N>
static __device__ __forceinline__ void ask(const panels &P, const real *values, ofs k, int left,
                                           batch<N> *out) {
    const uint16_t *column = P.column + k;
    const real *value = values + k;
#pragma unroll
    for (int u = 0; u < N; u++) {
        out->column[u] = 0, out->value[u] = 0;
        if (u * WARP < left)
            out->column[u] = __ldcs(column + u * WARP), out->value[u] = __ldcs(value + u * WARP);
    }
}

typedef struct segment { /* what a panel has of a row */
    ofs begin, end;
} segment;

static __device__ __forceinline__ segment segment_of(const panels &P, int panel, idx row, idx end) {
    const ofs *begin = P.begin + (int64_t)row * P.npanels + panel;
    if (row >= end) return {0, 0};
    return {begin[0], begin[1]};
}

/* A batch is on its way, of the row or of the warp's next one, while the one before is looked up:
 * else a warp has nothing in flight from a row's last look-up on. */
template <int N>
static __global__ void __launch_bounds__(THREADS, 1)
    multiply(const __grid_constant__ panels P, idx rows, idx cols, const real *__restrict__ values,
             const real *__restrict__ x, real alpha, real beta, real *y) {
    enum { STEP = THREADS / WARP };
    extern __shared__ double room[];
    real *near = (real *)room;
    int panel = blockIdx.x, lane = threadIdx.x % WARP;
    idx column = panel * P.columns, columns = min(P.columns, cols - column);
    idx row = P.chunk[blockIdx.y] + (idx)(threadIdx.x / WARP), end = P.chunk[blockIdx.y + 1];
    segment here = segment_of(P, panel, row, end), there = segment_of(P, panel, row + STEP, end);
    batch<N> next;
    ask<N>(P, values, here.begin + lane, (int)(here.end - here.begin) - lane, &next);
#pragma unroll 8
    for (idx j = (idx)threadIdx.x; j < columns; j += THREADS) near[j] = x[column + j];
    __syncthreads();
    real sum = 0;
#pragma unroll 1
    while (row < end) {
        const batch<N> now = next;
        const int left = (int)(here.end - here.begin) - lane;
        const idx done = row;
        const bool ends = here.end - here.begin <= N * WARP;
        if (ends) {
            row += STEP, here = there;
            there = segment_of(P, panel, row + STEP, end);
        } else {
            here.begin += N * WARP;
        }
        ask<N>(P, values, here.begin + lane, (int)(here.end - here.begin) - lane, &next);
        __syncwarp(); /* or the compiler asks after the look-ups */
#pragma unroll
        for (int u = 0; u < N; u++)
            if (u * WARP < left) sum += now.value[u] * near[now.column[u]];
        if (!ends) continue;
        sum = warp_sum(sum);
        if (lane == 0 && P.npanels == 1) put_row(y + done, alpha, sum, beta);
        if (lane == 0 && P.npanels > 1) P.sum[(int64_t)panel * rows + done] = sum;
        sum = 0;
    }
}

/* It is launched while the kernel in front of it ends, and waits for that. */
static __global__ void add_panels(const __grid_constant__ panels P, idx rows, real alpha, real beta,
                                  real *y) {
    idx row = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    begin_product();
    if (row >= rows) return;
    real sum = 0;
#pragma unroll 8
    for (idx p = 0; p < P.npanels; p++) sum += __ldcs(P.sum + (int64_t)p * rows + row);
    put_row(y + row, alpha, sum, beta);
}

typedef void (*multiply_kernel)(panels, idx, idx, const real *, const real *, real, real, real *);

/* So many entries of a lane on their way that most rows end with a batch: 4 or 7; 8 leave too few
 * registers. */
static multiply_kernel kernel_for(const panels *P, int64_t rows, int64_t nnz) {
    enum { FEW = 4, MANY = 7 };
    return nnz <= (int64_t)FEW * WARP * P->npanels * rows ? multiply<FEW> : multiply<MANY>;
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    enum { BLOCK = 128 };
    const panels *P = (const panels *)p->scratch;
    const csr *A = (const csr *)p->store;
    idx rows = (idx)A->s.rows;
    real a = (real)alpha, b = (real)beta;
    if (rows == 0) return SPMV_OK;
    dim3 grid((unsigned)P->npanels, (unsigned)P->nchunks);
    multiply_kernel kernel = kernel_for(P, A->s.rows, A->s.nnz);
    kernel<<<grid, THREADS, (size_t)P->columns * sizeof(real), stream_of(p)>>>(
        *P, rows, (idx)A->s.cols, A->values, (const real *)x, a, b, (real *)y);
    TRY(launched(p));
    if (P->npanels == 1) return SPMV_OK;
    void *arguments[] = {(void *)P, &rows, &a, &b, &y};
    return launch_overlapping(p, (const void *)add_panels, (unsigned)blocks_for(rows, BLOCK),
                              dim3(BLOCK), 0, arguments);
}

/* ---- preparation ----------------------------------------------------------------------------- */

static __global__ void sell16_columns(int64_t nnz, const idx *__restrict__ from, unsigned columns,
                                      uint16_t *to) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        to[k] = (uint16_t)((unsigned)from[k] % columns);
}

/* Columns ascend in a row. */
static __global__ void find_begins(int64_t rows, const ofs *__restrict__ row_ptr,
                                   const idx *__restrict__ col, const panels P) {
    int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, row = at / P.npanels;
    if (row > rows || (row == rows && at > rows * P.npanels)) return;
    int64_t first = (at - row * P.npanels) * P.columns;
    ofs low = row_ptr[row], high = row < rows ? row_ptr[row + 1] : low;
    while (low < high) {
        ofs middle = low + (high - low) / 2;
        if (col[middle] < first)
            low = middle + 1;
        else
            high = middle;
    }
    P.begin[at] = low;
}

/* First rows of chunks with equal shares of the entries and of the rows. */
static spmv_status put_chunks(spmv_plan *p, const spmv_csr_view *A, panels *P) {
    size_t bytes = (size_t)(P->nchunks + 1) * sizeof *P->chunk;
    idx *first = (idx *)malloc(bytes);
    if (!first) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    first[0] = 0, first[P->nchunks] = (idx)A->rows;
    for (idx c = 1; c < P->nchunks; c++) {
        int64_t low = first[c - 1], high = A->rows;
        int64_t before = spmv_split(A->nnz + A->rows, P->nchunks, c);
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            if (A->row_ptr[middle] + middle < before)
                low = middle + 1;
            else
                high = middle;
        }
        first[c] = (idx)low;
    }
    spmv_status status = put_scratch(p, first, bytes, (void **)&P->chunk);
    free(first);
    return status;
}

/* How wide panels are. */
static spmv_status choose_columns(spmv_plan *p, const spmv_csr_view *A, int *sms, panels *P) {
    spmv_device *d = p->device;
    int room = 0;
    int64_t most = 0, cols = A->cols ? A->cols : 1;
    TRY(shared_room(d, &room));
    CU(d->ctx, cudaDeviceGetAttribute(sms, cudaDevAttrMultiProcessorCount, d->number));
    TRY(columns_that_fit(p, MOST_COLUMNS, room, &most));
    int64_t wanted = p->choice.value[SPMV_tile];
    int64_t n = blocks_for(cols, most), segments = A->nnz / (A->rows * SEGMENT + 1);
    if (n < segments) n = segments;
    if (!wanted) wanted = blocks_for(cols, n);
    P->columns = (idx)(wanted < cols ? wanted : cols);
    P->npanels = (idx)blocks_for(cols, P->columns);
    p->choice.value[SPMV_tile] = P->columns;
    CU(d->ctx, cudaFuncSetAttribute(kernel_for(P, A->rows, A->nnz),
                                    cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    return SPMV_OK;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { LEAST_COLUMNS = 4096, MOST_CHUNKS = 4096 }; /* of any GPU */
    int64_t tile = c->value[SPMV_tile] ? c->value[SPMV_tile] : LEAST_COLUMNS;
    size_t n = (size_t)blocks_for(A->cols, tile) + (size_t)(A->nnz / (A->rows * SEGMENT + 1)) + 1;
    size_t rows = (size_t)A->rows + 1;
    return sizeof(panels) + (size_t)A->nnz * sizeof(uint16_t) +
           n * rows * (sizeof(ofs) + sizeof(real)) + MOST_CHUNKS * sizeof(idx);
}

static spmv_status make_panels(spmv_plan *p, const csr *A, panels *P) {
    enum { BLOCKS = 4096, BLOCK = 256 };
    size_t rows = (size_t)A->s.rows, begins = rows * (size_t)P->npanels + 1;
    TRY(take_scratch(p, (size_t)A->s.nnz * sizeof *P->column, (void **)&P->column));
    TRY(take_scratch(p, begins * sizeof *P->begin, (void **)&P->begin));
    if (P->npanels > 1) TRY(take_scratch(p, begins * sizeof *P->sum, (void **)&P->sum));
    sell16_columns<<<BLOCKS, BLOCK, 0, stream_of(p)>>>(A->s.nnz, A->col_idx, (unsigned)P->columns,
                                                       P->column);
    find_begins<<<(unsigned)blocks_for((int64_t)begins, BLOCK), BLOCK, 0, stream_of(p)>>>(
        A->s.rows, A->row_ptr, A->col_idx, *P);
    return launched(p);
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    int sms = 1;
    panels *P = (panels *)calloc(1, sizeof *P);
    if (!P) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = P;
    p->scratch_bytes = sizeof *P;
    spmv_mat_rows(p->matrix, &A);
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    TRY(choose_columns(p, &A, &sms, P));
    if ((int64_t)P->npanels * A.rows > 4 * (A.nnz + (1 << 20)))
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "panels: %d panels of %lld rows for %lld entries: choose another "
                         "kernel, or a larger tile",
                         (int)P->npanels, (long long)A.rows, (long long)A.nnz);
    P->nchunks = P->npanels < sms ? sms / P->npanels : 1;
    TRY(put_chunks(p, &A, P));
    TRY(make_panels(p, (const csr *)p->store, P));
    size_t sums = P->npanels > 1 ? 2 * sizeof(real) * (size_t)P->npanels * (size_t)A.rows : 0;
    p->traffic_bytes = (size_t)A.nnz * (sizeof(real) + sizeof(uint16_t)) + sums +
                       (size_t)P->npanels * (size_t)A.rows * sizeof(ofs);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    panels *P = (panels *)p->scratch;
    void *owned[] = {P->column, P->begin, P->sum, P->chunk};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        p->device->backend->release(p->device, owned[k]);
    free(P);
}

static const spmv_param params[] = {{SPMV_tile, 0, 0, MOST_COLUMNS, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(panels) = {
    /* name, alias  */ "panels",
    NULL,
    /* format       */ "csr",
    /* summary      */ "a warp per segment of a row in a panel of columns, x in shared memory",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
