/* build_sell.cu: builds sliced ELLPACK on the GPU from compressed rows in its memory. The store
 * equals that of src/formats/sell/format_sell.c byte by byte.
 *
 * Source   src/formats/sell/format_sell.c.
 * Reads    row_ptr, col_idx and values of the store of compressed rows.
 * Work     If sigma is not 1, rows are sorted by window, then by length, longest first. One warp
 *          per slice finds its width; a scan computes the starts of slices; one warp per slice, or
 *          several for a wide slice, copies the entries, one lane per row.
 */
#include "slices.cuh"

typedef struct job { /* memory that begin() frees */
    const csr *A;
    uint64_t *key; /* [rows] */
    int *longest;  /* *longest: nonzeros of the longest row */
} job;

static __global__ void find_longest(int64_t rows, const ofs *__restrict__ row_ptr, int *out) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int length = warp_greatest(i < rows ? (int)(row_ptr[i + 1] - row_ptr[i]) : 0);
    if (threadIdx.x % WARP == 0 && length > *(volatile int *)out) atomicMax(out, length);
}

/* Computes sort keys, to be sorted in ascending order: windows in order, in each window the longest
 * row first. */
static __global__ void make_keys(int64_t rows, int64_t sigma, int bits, int longest,
                                 const ofs *__restrict__ row_ptr, uint64_t *key) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    uint64_t shorter = (uint64_t)(longest - (row_ptr[i + 1] - row_ptr[i]));
    key[i] = (uint64_t)(i / sigma) << bits | shorter;
}

/* ---- the format ------------------------------------------------------------------------------ */

static int bits_for(uint64_t most) {
    int bits = 0;
    while (most >> bits) bits++;
    return bits;
}

static spmv_status sort_rows(spmv_device *d, job *j, int64_t rows, int64_t sigma, idx *perm) {
    int longest = 0;
    cudaStream_t stream = stream_of(d);
    if (rows == 0) return SPMV_OK;
    if (sigma == 0 || sigma > rows) sigma = rows;
    TRY(d->backend->alloc(d, (size_t)rows * sizeof *j->key, (void **)&j->key));
    TRY(d->backend->alloc(d, sizeof *j->longest, (void **)&j->longest));
    CU(d->ctx, cudaMemsetAsync(j->longest, 0, sizeof *j->longest, stream));
    find_longest<<<blocks_of(rows), THREADS, 0, stream>>>(rows, j->A->row_ptr, j->longest);
    TRY(launched(d));
    TRY(d->backend->get(d, &longest, j->longest, sizeof longest));
    int bits = bits_for((uint64_t)longest);
    make_keys<<<blocks_of(rows), THREADS, 0, stream>>>(rows, sigma, bits, longest, j->A->row_ptr,
                                                       j->key);
    TRY(launched(d));
    bits += bits_for((uint64_t)((rows - 1) / sigma));
    return order_by_key(d, rows, j->key, bits ? bits : 1, perm);
}

/* Builds all arrays but columns and values. *widest: slots per row of the widest slice. */
static spmv_status place(spmv_device *d, job *j, const spmv_choice *c, sell *head, sell *copy,
                         int *widest) {
    int64_t sigma = c->value[SPMV_sigma], rows = copy->s.rows;
    head->slice = copy->slice = c->value[SPMV_slice];
    head->nslices = copy->nslices = blocks_for(rows, copy->slice);
    TRY(BUILD_ARRAY(d, head, copy, slice_ptr, copy->nslices + 1));
    TRY(BUILD_ARRAY(d, head, copy, row_len, rows));
    if (sigma != 1) {
        TRY(BUILD_ARRAY(d, head, copy, perm, rows));
        TRY(sort_rows(d, j, rows, sigma, copy->perm));
    }
    TRY(place_slices(d, j->A, false, copy, widest));
    head->s.slots = copy->s.slots;
    return SPMV_OK;
}

/* Columns of compressed rows that are temporary (passing) are freed before values are allocated. */
static spmv_status fill(spmv_device *d, spmv_store *rows, sell *head, sell *copy, int widest) {
    const csr *A = (const csr *)rows;
    if (sizeof(ofs) < sizeof(int64_t) && copy->s.slots > INT32_MAX)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "%lld slots, padding included, need 64-bit offsets: offset_bits=64",
                         (long long)copy->s.slots);
    TRY(BUILD_ARRAY(d, head, copy, col_idx, copy->s.slots));
    if (rows->passing) {
        TRY((fill_slices<true, false>(d, A, false, copy, widest)));
        done_with(d, rows, A->col_idx);
    }
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots));
    return rows->passing ? fill_slices<false, true>(d, A, false, copy, widest)
                         : fill_slices<true, true>(d, A, false, copy, widest);
}

/* Returns the bytes of temporary memory. If rows are sorted, keys and row indices count three
 * times: CUB sorts from one buffer to another and uses a third. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    size_t rows = (size_t)A->rows, slice = (size_t)c->value[SPMV_slice];
    size_t bytes = sizeof(int) + (rows / slice + 3) * sizeof(int64_t) + TEMPORARY;
    if (c->value[SPMV_sigma] == 1) return bytes;
    return bytes + rows * 3 * (sizeof(uint64_t) + sizeof(idx));
}

/* Builds all arrays but columns and values. head: the store's header without arrays; copy: the
 * store on the device. */
static spmv_status begin(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                         const spmv_choice *c, spmv_store **head, spmv_store **copy, int *widest) {
    job j = {(const csr *)rows};
    TRY(spmv_store_new(d->ctx, "sell", sizeof(sell), A, head));
    TRY(spmv_store_new(d->ctx, "sell", sizeof(sell), A, copy));
    spmv_status status = place(d, &j, c, (sell *)*head, (sell *)*copy, widest);
    d->backend->release(d, j.key);
    d->backend->release(d, j.longest);
    return status;
}

static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    int widest = 0;
    *upload_s = 0;
    TRY(begin(d, A, rows, c, head, copy, &widest));
    return fill(d, rows, (sell *)*head, (sell *)*copy, widest);
}

static spmv_status measure_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              size_t *bytes) {
    int widest = 0;
    TRY(begin(d, A, rows, c, head, copy, &widest));
    *bytes = spmv_store_bytes(*head) + (size_t)(*head)->slots * (sizeof(idx) + sizeof(real));
    return SPMV_OK;
}

/* Writes new values, with more warps per slice for wider slices. */
static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const sell *B = (const sell *)copy;
    if (B->nslices == 0) return SPMV_OK;
    int64_t warps = B->s.slots / B->s.rows / STEPS_PER_WARP + 1, most = most_warps(B->nslices);
    warps = warps < most ? warps : most;
    copy_slices<false, true><<<blocks_of(B->nslices * warps * WARP), THREADS, 0, stream_of(d)>>>(
        *B, false, (const ofs *)row_ptr, NULL, (const real *)values, (int)warps);
    return launched(d);
}

EXPORT_BUILDER(sell) = {
    .name = "sell",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .measure = measure_on,
};
