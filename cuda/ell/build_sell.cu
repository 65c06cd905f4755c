/* build_sell.cu: sliced ELLPACK, built on the GPU from compressed rows in its memory: the bytes
 * that src/formats/sell/format_sell.c makes.
 *
 * Source     src/formats/sell/format_sell.c.
 * Reads      row_ptr, col_idx and values of the store of compressed rows.
 * Work       with sigma, rows are sorted by window, then length, longest first; one warp per slice
 *            finds its width; a scan places the slices; one warp per slice copies, steps of several
 *            rows side by side, wide slices by several warps. */
#include "cuda/build.cuh"
#include "formats/csr/csr.h"
#include "formats/sell/sell.h"

enum {
    THREADS = 256,
    STEPS_A_WARP = 128, /* of a slice, about, where some are so wide */
    MOST_WARPS = 64     /* a slice */
};

typedef struct job { /* what is freed at its end */
    const csr *A;
    int64_t *place; /* [nslices + 1] slots of a slice, then where it begins */
    uint64_t *key;  /* [rows] */
    int *longest;   /* a row; then a slice's width */
} job;
enum { LONGEST_ROW, WIDEST, FACTS };

static __global__ void find_longest(int64_t rows, const ofs *__restrict__ row_ptr, int *out) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    int length = warp_greatest(i < rows ? (int)(row_ptr[i + 1] - row_ptr[i]) : 0);
    if (threadIdx.x % WARP == 0 && length > *(volatile int *)out) atomicMax(out, length);
}

/* Ascending keys: windows in order, in a window the longest first. */
static __global__ void make_keys(int64_t rows, int64_t sigma, int bits, int longest,
                                 const ofs *__restrict__ row_ptr, uint64_t *key) {
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows) return;
    uint64_t shorter = (uint64_t)(longest - (row_ptr[i + 1] - row_ptr[i]));
    key[i] = (uint64_t)(i / sigma) << bits | shorter;
}

static __global__ void measure_slices(int64_t rows, int64_t slice, int64_t nslices,
                                      const ofs *__restrict__ row_ptr, const idx *__restrict__ perm,
                                      idx *row_len, int64_t *slots, int *widest) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= nslices) return; /* the whole warp */
    int64_t first = s * slice, height = min(slice, rows - first);
    int width = 0;
    for (int64_t r = threadIdx.x % WARP; r < height; r += WARP) {
        idx i = perm ? perm[first + r] : (idx)(first + r);
        int length = (int)(row_ptr[i + 1] - row_ptr[i]);
        row_len[first + r] = length;
        width = max(width, length);
    }
    width = warp_greatest(width);
    if (threadIdx.x % WARP) return;
    slots[s] = width * height;
    if (width > *(volatile int *)widest) atomicMax(widest, width);
}

static __global__ void write_places(int64_t n, const int64_t *__restrict__ place, ofs *out) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s < n) out[s] = (ofs)place[s];
}

/* So many warps copy a slice, each lane another of its rows, steps in turns of a few so that what
 * is read is near. Padding points at the row's last column, or at 0. */
static __global__ void fill_slices(sell B, const ofs *__restrict__ row_ptr,
                                   const idx *__restrict__ col, const real *__restrict__ value,
                                   int warps) {
    enum { TURN = 8 };
    int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, s = w / warps;
    if (s >= B.nslices) return; /* the whole warp */
    int64_t first = s * B.slice, height = min(B.slice, B.s.rows - first);
    int64_t at = (int64_t)B.slice_ptr[s], width = ((int64_t)B.slice_ptr[s + 1] - at) / height;
    for (int64_t r = threadIdx.x % WARP; r < height; r += WARP) {
        int64_t i = B.perm ? B.perm[first + r] : first + r;
        int64_t from = row_ptr[i], length = row_ptr[i + 1] - from;
        idx padding = length ? col[from + length - 1] : 0;
        for (int64_t turn = w % warps * TURN; turn < width; turn += (int64_t)warps * TURN) {
            int64_t end = min(turn + TURN, width);
#pragma unroll 4
            for (int64_t k = turn; k < end; k++) {
                bool is_entry = k < length;
                B.values[at + k * height + r] = is_entry ? value[from + k] : 0;
                B.col_idx[at + k * height + r] = is_entry ? col[from + k] : padding;
            }
        }
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

static cudaStream_t stream_on(const spmv_device *d) {
    return ((const cuda_state *)d->state)->stream;
}

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

static int bits_for(uint64_t most) {
    int bits = 0;
    while (most >> bits) bits++;
    return bits;
}

static spmv_status sort_rows(spmv_device *d, job *j, int64_t rows, int64_t sigma, idx *perm) {
    int longest = 0;
    cudaStream_t stream = stream_on(d);
    if (rows == 0) return SPMV_OK;
    if (sigma == 0 || sigma > rows) sigma = rows;
    TRY(d->backend->alloc(d, (size_t)rows * sizeof *j->key, (void **)&j->key));
    find_longest<<<blocks_of(rows), THREADS, 0, stream>>>(rows, j->A->row_ptr,
                                                          j->longest + LONGEST_ROW);
    CU(d->ctx, cudaGetLastError());
    TRY(d->backend->get(d, &longest, j->longest + LONGEST_ROW, sizeof longest));
    int bits = bits_for((uint64_t)longest);
    make_keys<<<blocks_of(rows), THREADS, 0, stream>>>(rows, sigma, bits, longest, j->A->row_ptr,
                                                       j->key);
    CU(d->ctx, cudaGetLastError());
    bits += bits_for((uint64_t)((rows - 1) / sigma));
    return order_by_key(d, rows, j->key, bits ? bits : 1, perm);
}

/* Where slices begin; *widest: the most steps of one. */
static spmv_status place_slices(spmv_device *d, job *j, sell *head, sell *copy, int *widest) {
    int64_t slots = 0, n = copy->nslices;
    cudaStream_t stream = stream_on(d);
    TRY(d->backend->alloc(d, (size_t)(n + 1) * sizeof *j->place, (void **)&j->place));
    CU(d->ctx, cudaMemsetAsync(j->place, 0, (size_t)(n + 1) * sizeof *j->place, stream));
    if (n)
        measure_slices<<<blocks_of(n * WARP), THREADS, 0, stream>>>(
            copy->s.rows, copy->slice, n, j->A->row_ptr, copy->perm, copy->row_len, j->place,
            j->longest + WIDEST);
    CU(d->ctx, cudaGetLastError());
    TRY(sum_before(d, n + 1, j->place));
    TRY(d->backend->get(d, &slots, j->place + n, sizeof slots));
    TRY(d->backend->get(d, widest, j->longest + WIDEST, sizeof *widest));
    head->s.slots = copy->s.slots = slots;
    if (sizeof(ofs) < sizeof(int64_t) && slots > INT32_MAX)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "%lld slots, padding included, need 64-bit offsets: use --index=64",
                         (long long)slots);
    write_places<<<blocks_of(n + 1), THREADS, 0, stream>>>(n + 1, j->place, copy->slice_ptr);
    CU(d->ctx, cudaGetLastError());
    return SPMV_OK;
}

/* So that a grid of them is one that a launch takes. */
static int64_t most_warps(int64_t nslices) {
    int64_t most = (int64_t)INT32_MAX / nslices * (THREADS / WARP);
    return most < MOST_WARPS ? most : MOST_WARPS;
}

static spmv_status fill(spmv_device *d, job *j, const sell *copy, int widest) {
    if (copy->nslices == 0) return SPMV_OK;
    int64_t warps = widest / STEPS_A_WARP, most = most_warps(copy->nslices);
    warps = warps > most ? most : warps < 1 ? 1 : warps;
    fill_slices<<<blocks_of(copy->nslices * warps * WARP), THREADS, 0, stream_on(d)>>>(
        *copy, j->A->row_ptr, j->A->col_idx, j->A->values, (int)warps);
    CU(d->ctx, cudaGetLastError());
    return SPMV_OK;
}

static spmv_status build(spmv_device *d, job *j, const spmv_choice *c, sell *head, sell *copy) {
    int64_t sigma = c->value[SPMV_sigma], rows = copy->s.rows;
    int widest = 0;
    head->slice = copy->slice = c->value[SPMV_slice];
    head->nslices = copy->nslices = blocks_for(rows, copy->slice);
    TRY(d->backend->alloc(d, FACTS * sizeof *j->longest, (void **)&j->longest));
    CU(d->ctx, cudaMemsetAsync(j->longest, 0, FACTS * sizeof *j->longest, stream_on(d)));
    TRY(BUILD_ARRAY(d, head, copy, slice_ptr, copy->nslices + 1));
    TRY(BUILD_ARRAY(d, head, copy, row_len, rows));
    if (sigma != 1) {
        TRY(BUILD_ARRAY(d, head, copy, perm, rows));
        TRY(sort_rows(d, j, rows, sigma, copy->perm));
    }
    TRY(place_slices(d, j, head, copy, &widest));
    TRY(BUILD_ARRAY(d, head, copy, col_idx, copy->s.slots));
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots));
    return fill(d, j, copy, widest);
}

/* With sigma: keys and the numbers, which CUB sorts from one room to another by way of a third. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    size_t rows = (size_t)A->rows, slice = (size_t)c->value[SPMV_slice];
    size_t bytes = FACTS * sizeof(int) + (rows / slice + 2) * sizeof(int64_t) + TEMPORARY;
    if (c->value[SPMV_sigma] == 1) return bytes;
    return bytes + rows * 3 * (sizeof(uint64_t) + sizeof(idx));
}

/* The store's bytes without its memory, and its copy on the device. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                            const spmv_choice *c, spmv_store **head, spmv_store **copy,
                            double *upload_s) {
    job j = {(const csr *)rows};
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "sell", sizeof(sell), A, head));
    TRY(spmv_store_new(d->ctx, "sell", sizeof(sell), A, copy));
    spmv_status status = build(d, &j, c, (sell *)*head, (sell *)*copy);
    d->backend->release(d, j.place);
    d->backend->release(d, j.key);
    d->backend->release(d, j.longest);
    return status;
}

extern "C" const spmv_device_format V(cuda_build_sell);
extern "C" const spmv_device_format V(cuda_build_sell) = {"sell", working, build_on};
