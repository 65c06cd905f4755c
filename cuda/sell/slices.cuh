/* slices.cuh: fills slices of rows on the GPU from compressed rows in its memory, in one of two
 * layouts. In cuSPARSE's (whole) every slice has the same height, and padding has column -1. In the
 * format sell's the last slice has only the remaining rows, and padding has the row's last column,
 * or column 0 in an empty row. */
#pragma once

#include "cuda/build.cuh"
#include "formats/csr/csr.h"
#include "formats/sell/sell.h"

enum {
    THREADS = 256,
    STEPS_PER_WARP = 128, /* slots per row for each warp of a wide slice */
    MOST_WARPS = 64       /* per slice */
};

static __global__ void measure_slices(int64_t rows, int64_t slice, int64_t nslices, bool whole,
                                      const ofs *__restrict__ row_ptr, const idx *__restrict__ perm,
                                      idx *row_len, int64_t *slots, int64_t *widest) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= nslices) return; /* the whole warp returns */
    int64_t first = s * slice, height = min(slice, rows - first);
    int width = 0;
    for (int64_t r = threadIdx.x % WARP; r < height; r += WARP) {
        idx i = perm ? perm[first + r] : (idx)(first + r);
        int length = (int)(row_ptr[i + 1] - row_ptr[i]);
        if (row_len) row_len[first + r] = length;
        width = max(width, length);
    }
    width = warp_greatest(width);
    if (threadIdx.x % WARP) return;
    slots[s] = width * (whole ? slice : height);
    if (width > *(volatile int64_t *)widest) atomicMax((long long *)widest, (long long)width);
}

static __global__ void write_places(int64_t n, const int64_t *__restrict__ place, ofs *out) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s < n) out[s] = (ofs)place[s];
}

/* `warps` warps copy a slice; each lane has one row at a time, and each warp a few successive slots
 * of it, so that reads are adjacent. */
template <bool COLUMNS, bool VALUES>
static __global__ void copy_slices(sell B, bool whole, const ofs *__restrict__ row_ptr,
                                   const idx *__restrict__ col, const real *__restrict__ value,
                                   int warps) {
    enum { TURN = 8 };
    int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, s = w / warps;
    if (s >= B.nslices) return; /* the whole warp returns */
    int64_t first = s * B.slice, height = min(B.slice, B.s.rows - first);
    int64_t pitch = whole ? B.slice : height;
    int64_t at = (int64_t)B.slice_ptr[s], width = ((int64_t)B.slice_ptr[s + 1] - at) / pitch;
    for (int64_t r = threadIdx.x % WARP; r < pitch; r += WARP) {
        int64_t i = r >= height ? 0 : B.perm ? B.perm[first + r] : first + r;
        int64_t from = row_ptr[i], length = r < height ? row_ptr[i + 1] - from : 0;
        idx padding = whole ? -1 : COLUMNS && length ? col[from + length - 1] : 0;
        for (int64_t turn = w % warps * TURN; turn < width; turn += (int64_t)warps * TURN) {
            int64_t end = min(turn + TURN, width);
#pragma unroll 4
            for (int64_t k = turn; k < end; k++) {
                bool is_entry = k < length;
                if (VALUES) B.values[at + k * pitch + r] = is_entry ? value[from + k] : 0;
                if (COLUMNS) B.col_idx[at + k * pitch + r] = is_entry ? col[from + k] : padding;
            }
        }
    }
}

static inline unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

/* place: [nslices + 2] first the slots of each slice, then where each slice begins, and behind
 * these the width of the widest slice. */
static inline spmv_status place_in(spmv_device *d, const csr *A, bool whole, sell *B,
                                   int64_t *place, int *widest) {
    const int64_t n = B->nslices;
    int64_t ends[2];
    cudaStream_t stream = stream_of(d);
    CU(d->ctx, cudaMemsetAsync(place + n, 0, sizeof ends, stream));
    if (n)
        measure_slices<<<blocks_of(n * WARP), THREADS, 0, stream>>>(
            B->s.rows, B->slice, n, whole, A->row_ptr, B->perm, B->row_len, place, place + n + 1);
    TRY(launched(d));
    TRY(sum_before(d, n + 1, place));
    write_places<<<blocks_of(n + 1), THREADS, 0, stream>>>(n + 1, place, B->slice_ptr);
    TRY(launched(d));
    TRY(d->backend->get(d, ends, place + n, sizeof ends));
    B->s.slots = ends[0], *widest = (int)ends[1];
    return SPMV_OK;
}

/* Finds slice starts (B->slice_ptr), the number of slots (B->s.slots; B->slice_ptr is not valid if
 * ofs overflows), the row lengths (B->row_len, unless NULL) and the widest slice's slots per
 * row. */
static inline spmv_status place_slices(spmv_device *d, const csr *A, bool whole, sell *B,
                                       int *widest) {
    int64_t *place = NULL;
    TRY(d->backend->alloc(d, (size_t)(B->nslices + 2) * sizeof *place, (void **)&place));
    spmv_status status = place_in(d, A, whole, B, place, widest);
    d->backend->release(d, place);
    return status;
}

/* A launch takes a grid of at most INT32_MAX blocks. */
static inline int64_t most_warps(int64_t nslices) {
    int64_t most = (int64_t)INT32_MAX / nslices * (THREADS / WARP);
    return most < MOST_WARPS ? most : MOST_WARPS;
}

/* Fills columns, values or both of the slices that place_slices described. */
template <bool COLUMNS, bool VALUES>
static inline spmv_status fill_slices(spmv_device *d, const csr *A, bool whole, const sell *B,
                                      int widest) {
    if (B->nslices == 0) return SPMV_OK;
    int64_t warps = widest / STEPS_PER_WARP, most = most_warps(B->nslices);
    warps = warps > most ? most : warps < 1 ? 1 : warps;
    copy_slices<COLUMNS, VALUES>
        <<<blocks_of(B->nslices * warps * WARP), THREADS, 0, stream_of(d)>>>(
            *B, whole, A->row_ptr, A->col_idx, A->values, (int)warps);
    return launched(d);
}
