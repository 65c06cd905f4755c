/* build_bsr.cu: builds BSR on the GPU from compressed rows there, and writes new values. The store
 * equals that of src/formats/bsr/format_bsr.c byte by byte.
 *
 * Source     src/formats/bsr/format_bsr.c.
 * Reads      csr: row_ptr, col_idx, values, on the GPU.
 * Work       8 lanes per block row, one per row: the least of their next columns gives the next
 *            block, to which each lane copies the entries of its row. One pass counts; after a scan
 *            another pass fills. New values: one warp per row; of 32 slots at a time those without
 *            padding receive the row's next values.
 */
#include "cuda/build.cuh"
#include "formats/bsr/bsr.h"
#include "formats/csr/csr.h"

/* lanes per block row, the maximum height of a block */
enum { THREADS = 256, GROUP = 8, NO_COLUMN = INT32_MAX };

static __device__ __forceinline__ int least_of_group(int value) {
    for (int step = GROUP / 2; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(ALL_LANES, value, step));
    return value;
}

/* Merges the rows of each block row. FILL: writes blocks; else counts them. All lanes of a warp
 * continue until the longest of its block rows is done. */
template <bool FILL> static __global__ void walk_blocks(csr A, bsr B, int64_t *count) {
    int64_t b = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / GROUP, n = 0;
    int r = threadIdx.x % GROUP;
    int64_t i = b * B.shape_rows + r;
    bool is_row = r < B.shape_rows && b < B.block_rows;
    bool has_entries = is_row && i < A.s.rows;
    int64_t e = has_entries ? A.row_ptr[i] : 0, end = has_entries ? A.row_ptr[i + 1] : 0;
    int64_t place = FILL && is_row ? B.block_ptr[b] : 0;
    for (;;) {
        int least = least_of_group(e < end ? A.col_idx[e] : NO_COLUMN);
        if (!__any_sync(ALL_LANES, least != NO_COLUMN)) break;
        if (least == NO_COLUMN) continue;
        int64_t last = min(least / B.shape_cols * B.shape_cols + B.shape_cols, A.s.cols);
        int64_t first = last - B.shape_cols; /* the last block is shifted left to end at the last
                                                column */
        real *to = B.values + ((place + n) * B.shape_rows + r) * B.shape_cols;
        if (FILL && r == 0) B.first_col[place + n] = (idx)first;
        for (int64_t c = 0; FILL && is_row && c < B.shape_cols; c++) to[c] = (real)-0.0;
        for (; e < end && A.col_idx[e] < last; e++)
            if (FILL) to[A.col_idx[e] - first] = as_entry(A.values[e]);
        n++;
    }
    if (!FILL && r == 0 && b < B.block_rows) count[b] = n;
}

static __global__ void write_block_ptr(int64_t n, const int64_t *__restrict__ place, ofs *out) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) out[k] = (ofs)place[k];
}

static __global__ void refill_rows(bsr B, const ofs *__restrict__ row_ptr,
                                   const real *__restrict__ value) {
    int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (i >= B.s.rows) return; /* the whole warp returns */
    unsigned lane = threadIdx.x % WARP;
    int64_t b = i / B.shape_rows, r = i - b * B.shape_rows, next = row_ptr[i];
    int64_t cells = (int64_t)(B.block_ptr[b + 1] - B.block_ptr[b]) * B.shape_cols;
    for (int64_t first = 0; first < cells; first += WARP) {
        int64_t cell = first + lane, k = cell / B.shape_cols;
        real *at = B.values + ((B.block_ptr[b] + k) * B.shape_rows + r) * B.shape_cols +
                   (cell - k * B.shape_cols);
        bool is_entry = cell < cells && !is_padding(*at);
        unsigned entries = __ballot_sync(ALL_LANES, is_entry);
        if (is_entry) *at = as_entry(value[next + __popc(entries & ((1u << lane) - 1))]);
        next += __popc(entries);
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

static spmv_status place_blocks(spmv_device *d, const csr *A, int64_t *place, bsr *head,
                                bsr *copy) {
    const int64_t n = copy->block_rows;
    cudaStream_t stream = stream_of(d);
    CU(d->ctx, cudaMemsetAsync(place, 0, (size_t)(n + 1) * sizeof *place, stream));
    if (n) walk_blocks<false><<<blocks_of(n * GROUP), THREADS, 0, stream>>>(*A, *copy, place);
    TRY(launched(d));
    TRY(sum_before(d, n + 1, place));
    TRY(d->backend->get(d, &copy->nblocks, place + n, sizeof copy->nblocks));
    write_block_ptr<<<blocks_of(n + 1), THREADS, 0, stream>>>(n + 1, place, copy->block_ptr);
    TRY(launched(d));
    head->nblocks = copy->nblocks;
    head->s.slots = copy->s.slots = copy->nblocks * copy->shape_rows * copy->shape_cols;
    return SPMV_OK;
}

static spmv_status fill(spmv_device *d, const csr *A, bsr *head, bsr *copy) {
    TRY(BUILD_ARRAY(d, head, copy, first_col, copy->nblocks));
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots));
    if (copy->nblocks)
        walk_blocks<true>
            <<<blocks_of(copy->block_rows * GROUP), THREADS, 0, stream_of(d)>>>(*A, *copy, NULL);
    return launched(d);
}

/* Computes block_ptr and the number of blocks, and allocates the store. */
static spmv_status begin(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                         const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out) {
    int64_t *place = NULL;
    const bsr_shape shape = bsr_shape_of(A, c);
    TRY(spmv_store_new(d->ctx, "bsr", sizeof(bsr), A, head_out));
    TRY(spmv_store_new(d->ctx, "bsr", sizeof(bsr), A, copy_out));
    bsr *head = (bsr *)*head_out, *copy = (bsr *)*copy_out;
    head->shape_rows = copy->shape_rows = shape.rows;
    head->shape_cols = copy->shape_cols = shape.cols;
    head->block_rows = copy->block_rows = shape.block_rows;
    TRY(BUILD_ARRAY(d, head, copy, block_ptr, copy->block_rows + 1));
    size_t bytes = (size_t)(copy->block_rows + 1) * sizeof *place;
    spmv_status status = d->backend->alloc(d, bytes, (void **)&place);
    if (status == SPMV_OK) status = place_blocks(d, (const csr *)rows, place, head, copy);
    d->backend->release(d, place);
    return status;
}

static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    *upload_s = 0;
    TRY(begin(d, A, rows, c, head, copy));
    return fill(d, (const csr *)rows, (bsr *)*head, (bsr *)*copy);
}

static spmv_status measure_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              size_t *bytes) {
    TRY(begin(d, A, rows, c, head, copy));
    *bytes = spmv_store_bytes(*head) + (size_t)((bsr *)*head)->nblocks * sizeof(idx) +
             (size_t)(*head)->slots * sizeof(real);
    return SPMV_OK;
}

/* Returns the bytes of temporary memory: offsets of block rows, and CUB's workspace. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    return (size_t)(bsr_shape_of(A, c).block_rows + 1) * sizeof(int64_t) + TEMPORARY;
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const bsr *B = (const bsr *)copy;
    if (B->nblocks == 0) return SPMV_OK;
    refill_rows<<<blocks_of(B->s.rows * WARP), THREADS, 0, stream_of(d)>>>(*B, (const ofs *)row_ptr,
                                                                           (const real *)values);
    return launched(d);
}

EXPORT_BUILDER(bsr) = {
    .name = "bsr",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .measure = measure_on,
};
