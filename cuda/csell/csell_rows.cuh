/* csell_rows.cuh: the rows of a csell slice, one lane per row, and the sequence of steps that they
 * make: for the builders, like src/formats/csell/csell_rows.h on the host. */
#pragma once

#include "csell.cuh"

enum { LONGEST_RUN = 8, NO_OFFSET = INT32_MAX };

typedef struct rows { /* the store of compressed rows in device memory */
    int64_t rows, nnz, cut;
    const ofs *row_ptr;
    const idx *col;
    const real *value;
} rows;

typedef struct lane_row { /* this lane's row of a slice; length 0: empty, long, or no row */
    int64_t begin, all;   /* all: length, also of a long row */
    idx i;
    int length;
} lane_row;

static __device__ __forceinline__ lane_row row_of(const rows &A, int64_t slice) {
    lane_row r = {0, 0, (idx)(slice * CSELL_ROWS + threadIdx.x % WARP), 0};
    if (r.i >= A.rows) return r;
    r.begin = A.row_ptr[r.i];
    r.all = A.row_ptr[r.i + 1] - r.begin;
    r.length = r.all > A.cut ? 0 : (int)r.all;
    return r;
}

/* Contiguous nonzeros: the whole slice, or one row if the slice has long rows. */
typedef struct segment {
    int64_t begin;
    int length;
} segment;

static __device__ __forceinline__ int segments_of(const rows &A, const lane_row &r) {
    return __any_sync(ALL_LANES, r.all > A.cut) ? WARP : 1;
}

static __device__ __forceinline__ segment segment_of(const lane_row &r, int nnz, int segments,
                                                     int l) {
    int length = __shfl_sync(ALL_LANES, r.length, l);
    return {__shfl_sync(ALL_LANES, r.begin, l), segments == 1 ? nnz : length};
}

static __device__ __forceinline__ unsigned long long bits_of(real value) {
    return sizeof(real) == 4 ? __float_as_uint((float)value)
                             : (unsigned long long)__double_as_longlong((double)value);
}

/* Copies the next run of values of each row in the mask, in the order of a slice with unencoded
 * values. */
static __device__ __forceinline__ void put_step(uint32_t mask, int run, const real **from,
                                                real **to) {
    const int lane = threadIdx.x % WARP;
    const int many = __popc(mask), rank = __popc(mask & ((1u << lane) - 1));
    if (mask >> lane & 1)
        for (int e = 0; e < run; e++) (*to)[e * many + rank] = *(*from)++;
    *to += run * many;
}

/* ---- walks over the steps of a slice --------------------------------------------------------- */

typedef struct walk {
    lane_row row;
    int run;  /* 0: diagonals */
    int k;    /* this lane's next entry */
    idx head; /* diagonals: offset of the next entry */
} walk;

static __device__ __forceinline__ idx offset_at(const rows &A, const lane_row &r, int k) {
    return k < r.length ? A.col[r.begin + k] - r.i : NO_OFFSET;
}

static __device__ __forceinline__ walk begin_walk(const rows &A, const lane_row &r, int run) {
    return {r, run, 0, run ? 0 : offset_at(A, r, 0)};
}

/* Returns the least offset of all lanes; usually the first lane has it. */
static __device__ __forceinline__ idx least_offset(idx offset) {
    idx least = __shfl_sync(ALL_LANES, offset, 0);
    return __all_sync(ALL_LANES, least <= offset) ? least : warp_least(offset);
}

/* Computes the next step; returns false behind the last. *at: this lane's entry, if its mask bit is
 * set; *greatest: greatest column. */
static __device__ __forceinline__ bool next_step(const rows &A, walk *w, csell_step *step, int *at,
                                                 idx *greatest) {
    bool on;
    *at = w->k;
    if (w->run) {
        on = w->k < w->row.length;
        idx col = on ? A.col[w->row.begin + w->k] : INT32_MAX;
        step->base = warp_least(col);
        *greatest = warp_greatest(on ? col : 0);
        w->k += w->run;
    } else {
        step->base = least_offset(w->head);
        on = w->head == step->base && w->head != NO_OFFSET;
        if (on) w->head = offset_at(A, w->row, ++w->k);
    }
    step->mask = __ballot_sync(ALL_LANES, on);
    return step->mask != 0;
}

/* Returns a mask: bit R - 1 is set if R divides n, for R up to LONGEST_RUN. */
static __device__ __forceinline__ unsigned divisors_of(unsigned n) {
    unsigned out = 1;
#pragma unroll
    for (unsigned R = 2; R <= LONGEST_RUN; R++) out |= (unsigned)(n % R == 0) << (R - 1);
    return out;
}

/* Returns the length of runs: rule 2. A length divides the distances of all run ends from the first
 * entry; ends of rows are run ends too. */
static __device__ int run_of(const rows &A, const lane_row &r, int nnz) {
    enum { TOGETHER = 4 };
    int lane = threadIdx.x % WARP, segments = segments_of(A, r);
    unsigned common = ~0u;
    int64_t first = __shfl_sync(ALL_LANES, r.begin, 0);
    if (nnz == 0) return 1;
    if (r.length)
        common = divisors_of((unsigned)(segments == 1 ? r.begin - first : 0) + (unsigned)r.length);
    for (int l = 0; l < segments; l++) {
        segment t = segment_of(r, nnz, segments, l);
        const idx *col = A.col + t.begin;
        for (int k = lane; k - lane < t.length; k += TOGETHER * WARP) {
            idx step[TOGETHER];
#pragma unroll
            for (int u = 0; u < TOGETHER; u++) {
                int at = k + u * WARP;
                step[u] = at + 1 < t.length ? col[at + 1] - col[at] : 1;
            }
#pragma unroll
            for (int u = 0; u < TOGETHER; u++)
                if (step[u] != 1) common &= divisors_of((unsigned)(k + u * WARP + 1));
            if (__any_sync(ALL_LANES, common == 1)) return 1;
        }
    }
    for (int step = WARP / 2; step > 0; step /= 2)
        common &= __shfl_xor_sync(ALL_LANES, common, step);
    return WARP - __clz((int)(common & ((1u << LONGEST_RUN) - 1)));
}

/* Returns the greatest distance from the base of a step, exact up to UINT16_MAX: one lane per step,
 * so that a row's columns are read in order. */
static __device__ idx widest_step(const rows &A, const lane_row &r, int run, int nsteps) {
    int lane = threadIdx.x % WARP, runs = r.length / run;
    idx widest = 0;
    for (int first = 0; first < nsteps && widest <= UINT16_MAX; first += WARP) {
        idx low = INT32_MAX, high = 0;
#pragma unroll 8
        for (int l = 0; l < WARP; l++) {
            int64_t begin = __shfl_sync(ALL_LANES, r.begin, l);
            if (first + lane >= __shfl_sync(ALL_LANES, runs, l)) continue;
            idx col = A.col[begin + (int64_t)(first + lane) * run];
            low = min(low, col), high = max(high, col);
        }
        widest = max(widest, warp_greatest(high < low ? 0 : high - low));
    }
    return widest;
}

/* Returns whether the slice certainly has more than `most` diagonals: the number of different hash
 * bits of offsets is a lower bound. If columns are irregular, this ends long before the diagonals
 * are counted. */
enum { OFFSET_BITS = 1 << 14, OFFSET_WORDS = OFFSET_BITS / 32 };

static __device__ __forceinline__ bool is_new_offset(unsigned *seen, idx offset) {
    const unsigned at = (unsigned)offset * 0x9e3779b1u >> 18, bit = 1u << at % 32;
    return !(atomicOr(seen + at / 32, bit) & bit);
}

static __device__ bool has_more_diagonals(const rows &A, const lane_row &r, int64_t most,
                                          unsigned *seen) {
    enum { SHORT = 64 }; /* longest row that one lane reads; all lanes read a longer one */
    const int lane = threadIdx.x % WARP, longest = warp_greatest(r.length);
    int count = 0;
    for (int k = lane; k < OFFSET_WORDS; k += WARP) seen[k] = 0;
    __syncwarp();
    for (int k = 0; longest <= SHORT && k < longest; k++) {
        if (k < r.length) count += is_new_offset(seen, A.col[r.begin + k] - r.i);
        if (warp_total(count) > most) return true;
    }
    for (int l = 0; longest > SHORT && l < WARP; l++) {
        int64_t begin = __shfl_sync(ALL_LANES, r.begin, l);
        int length = __shfl_sync(ALL_LANES, r.length, l);
        idx i = __shfl_sync(ALL_LANES, r.i, l);
        for (int k = lane; k < length; k += WARP)
            count += is_new_offset(seen, A.col[begin + k] - i);
        if (warp_total(count) > most) return true;
    }
    return false;
}
