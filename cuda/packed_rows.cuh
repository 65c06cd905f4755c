/* packed_rows.cuh: the rows of a packed slice, a lane a row, and walks over the steps they make:
 * for build_packed.cu, as src/packed_rows.h is for the host. */
#ifndef SPMV_CUDA_PACKED_ROWS_CUH
#define SPMV_CUDA_PACKED_ROWS_CUH

#include "packed.cuh"

enum { LONGEST_RUN = 8, NO_OFFSET = INT32_MAX };

typedef struct rows { /* the store of compressed rows, in device memory */
    int64_t rows, nnz, cut;
    const ofs *row_ptr;
    const idx *col;
    const real *value;
} rows;

typedef struct lane_row { /* this lane's row of a slice; length 0: empty, long, or none */
    int64_t begin, all;   /* all: also of a long row */
    idx i;
    int length;
} lane_row;

static __device__ __forceinline__ lane_row row_of(const rows &A, int64_t slice) {
    lane_row r = {0, 0, (idx)(slice * PACKED_ROWS + threadIdx.x % WARP), 0};
    if (r.i >= A.rows) return r;
    r.begin = A.row_ptr[r.i];
    r.all = A.row_ptr[r.i + 1] - r.begin;
    r.length = r.all > A.cut ? 0 : (int)r.all;
    return r;
}

/* Entries that stand together: of the whole slice, or where long rows are between of row l. */
typedef struct stretch {
    int64_t begin;
    int length;
} stretch;

static __device__ __forceinline__ int stretches_of(const rows &A, const lane_row &r) {
    return __any_sync(ALL_LANES, r.all > A.cut) ? WARP : 1;
}

static __device__ __forceinline__ stretch stretch_of(const lane_row &r, int nnz, int stretches,
                                                     int l) {
    int length = __shfl_sync(ALL_LANES, r.length, l);
    return {__shfl_sync(ALL_LANES, r.begin, l), stretches == 1 ? nnz : length};
}

static __device__ __forceinline__ unsigned long long bits_of(real value) {
    return sizeof(real) == 4 ? __float_as_uint((float)value)
                             : (unsigned long long)__double_as_longlong((double)value);
}

/* ---- walks over the steps of a slice --------------------------------------------------------- */

/* The next entries of each row in shared memory, where the warp copies them: read where they stand,
 * a lane a row, each read would touch 32 cache lines. */
enum { WINDOW = 16 };
typedef struct window {
    idx col[WARP][WINDOW + 1]; /* one more: rows begin in different banks */
    real value[WARP][WINDOW + 1];
} window;

typedef struct walk {
    lane_row row;
    int run;       /* 0: on diagonals */
    int k;         /* this lane's next entry */
    int from;      /* the first that the window holds */
    bool valued;   /* it holds values, too */
    window *there; /* the warp's own */
} walk;

static __device__ void fill_window(const rows &A, walk *w) {
    int half = threadIdx.x % WARP / WINDOW, at = threadIdx.x % WINDOW;
    int64_t first = w->row.begin + w->k;
    int left = w->row.length - w->k;
    w->from = w->k;
    __syncwarp();
#pragma unroll 4
    for (int l = half; l < WARP; l += WARP / WINDOW) {
        int64_t place = __shfl_sync(ALL_LANES, first, l) + at;
        if (at >= __shfl_sync(ALL_LANES, left, l)) continue;
        w->there->col[l][at] = A.col[place];
        if (w->valued) w->there->value[l][at] = A.value[place];
    }
    __syncwarp();
}

/* From entry k of each row on. */
static __device__ __forceinline__ walk begin_walk(const rows &A, const lane_row &r, int run, int k,
                                                  bool valued, window *there) {
    walk w = {r, run, k, k, valued, there};
    fill_window(A, &w);
    return w;
}

/* False behind the last step. *at: where in the window this lane's entry is, if its bit is set;
 * *col: its column; *greatest of the columns, unless NULL. */
static __device__ __forceinline__ bool next_step(const rows &A, walk *w, packed_step *step, int *at,
                                                 idx *col, idx *greatest) {
    int last = w->k + (w->run ? w->run : 1) - w->from;
    bool on = w->k < w->row.length;
    if (__any_sync(ALL_LANES, on && last > WINDOW)) fill_window(A, w);
    *at = w->k - w->from;
    *col = on ? w->there->col[threadIdx.x % WARP][*at] : INT32_MAX;
    if (w->run) {
        step->base = warp_least(*col);
        if (greatest) *greatest = warp_greatest(on ? *col : 0);
        w->k += w->run;
    } else {
        idx offset = on ? *col - w->row.i : NO_OFFSET, first = __shfl_sync(ALL_LANES, offset, 0);
        step->base = __all_sync(ALL_LANES, offset == first) ? first : warp_least(offset);
        on = on && offset == step->base;
        w->k += on;
    }
    step->mask = __ballot_sync(ALL_LANES, on);
    return step->mask != 0;
}

/* Bit n: n + 1 divides the place; of 1 to 8. */
static __device__ __forceinline__ unsigned divisors(unsigned place) {
    unsigned three = place % 3 == 0, five = place % 5 == 0, seven = place % 7 == 0;
    unsigned two = place % 2 == 0, four = place % 4 == 0, eight = place % 8 == 0;
    return 1 | two << 1 | three << 2 | four << 3 | five << 4 | (two & three) << 5 | seven << 6 |
           eight << 7;
}

/* Rule 2. The lengths of runs have the divisors that the places of their ends have, counted from
 * where the entries begin; rows end runs too. */
static __device__ int run_of(const rows &A, const lane_row &r, int nnz) {
    enum { TOGETHER = 4 };
    int lane = threadIdx.x % WARP, stretches = stretches_of(A, r);
    unsigned common = (1u << LONGEST_RUN) - 1;
    int64_t first = __shfl_sync(ALL_LANES, r.begin, 0);
    if (nnz == 0) return 1;
    if (r.length)
        common = divisors((unsigned)(stretches == 1 ? (int)(r.begin - first) : 0) + r.length);
    for (int l = 0; l < stretches; l++) {
        stretch t = stretch_of(r, nnz, stretches, l);
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
                if (step[u] != 1) common &= divisors((unsigned)(k + u * WARP + 1));
            if (__any_sync(ALL_LANES, common == 1)) return 1;
        }
    }
    for (int step = WARP / 2; step > 0; step /= 2)
        common &= __shfl_xor_sync(ALL_LANES, common, step);
    return 32 - __clz((int)common);
}

/* The greatest distance from a gathered step's base, up to any above UINT16_MAX: a lane a step, so
 * that a row's columns are read as they stand. */
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

/* Whether the slice has, for sure, more than `most` diagonals: as many offsets as hash to different
 * bits. Where columns have no order that is seen long before the diagonals are counted. */
enum { OFFSET_BITS = 1 << 14, OFFSET_WORDS = OFFSET_BITS / 32 };
static __device__ bool has_more_diagonals(const rows &A, const lane_row &r, int64_t most,
                                          unsigned *seen) {
    int lane = threadIdx.x % WARP, count = 0;
    for (int k = lane; k < OFFSET_WORDS; k += WARP) seen[k] = 0;
    __syncwarp();
    for (int l = 0; l < WARP; l++) {
        int64_t begin = __shfl_sync(ALL_LANES, r.begin, l);
        int length = __shfl_sync(ALL_LANES, r.length, l);
        idx i = __shfl_sync(ALL_LANES, r.i, l);
        for (int k = lane; k < length; k += WARP) {
            unsigned at = (unsigned)(A.col[begin + k] - i) * 0x9e3779b1u >> 18;
            unsigned bit = 1u << at % 32;
            count += !(atomicOr(seen + at / 32, bit) & bit);
        }
        if (warp_total(count) > most) return true;
    }
    return false;
}

#endif
