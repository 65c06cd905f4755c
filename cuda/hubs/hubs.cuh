/* hubs.cuh: the matrix as the kernel hubs stores it: rows sorted by how many nonzeros they have in
 * hot columns and elsewhere, in slices of one warp each; a row's nonzeros in hot columns stand
 * apart from the rest. hubs_build.cuh builds it. */
#ifndef SPMV_CUDA_HUBS_CUH
#define SPMV_CUDA_HUBS_CUH

#include "cuda/device.cuh"

enum {
    REST_STEPS = 8, /* entries of a lane, for which as many lanes are chosen for a row */
    HOT_PAIRS = 8,
    SEGMENT_GROWS = 2,   /* a row too long for 32 lanes: a segment has so many times these steps */
    ROW_SEGMENTS = 1024, /* segments of a row, unless they would have */
    MOST_STEPS = 255     /* more steps than this */
};

/* A lane has a share of one row: `rest` entries, a word each, which is the column + 1; then `pairs`
 * words that are two hot columns each, 1 + their places. 0: no entry. Words and values stand lane
 * beside lane, the two values of a pair together. */
typedef struct __align__(16) hot_slice {
    uint32_t word, value; /* where the first ones are, counted in warps */
    uint32_t row;         /* the first of its rows, in the order of the rows; or the segment */
    uint8_t rest, pairs;
    uint8_t lanes; /* of a row; 0: the slice is a segment of one */
    uint8_t rows;
}
hot_slice;

typedef struct __align__(16) hot_segment {
    idx row, first;    /* the row's first segment */
    int segments, cut; /* of the row; which of the rows that are cut */
}
hot_segment;

typedef struct hubs {
    int64_t nslices, nsegments, ncuts, words, values; /* words, values: counted in warps */
    idx nhubs;
    int blocks, code;
    hot_segment *segment; /* [nsegments] */
    hot_slice *slice;     /* [nslices] segments, then rows of 32 lanes, of 16, ... */
    idx *order;           /* [rows] */
    uint32_t *word;       /* [32 words] */
    uint8_t *value;       /* [32 values] encoded */
    real *codebook;       /* [VALUE_CODEBOOK_SIZE] */
    real *sum;            /* [nsegments] */
    int *done;            /* [ncuts] how many segments are; 0 between products */
    idx *hot;             /* [nhubs] the hot columns */
    real *hot_x;          /* [nhubs + 1] 0, then x of them; up to whole units of 16 bytes */
} hubs;

/* ---- the shape of a row ---------------------------------------------------------------------- */

typedef struct row_shape {
    int lanes, segments, rest, pairs; /* steps, if there is one segment */
} row_shape;

static __host__ __device__ __forceinline__ int64_t rounded_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

static __host__ __device__ __forceinline__ row_shape shape_of(int64_t hot, int64_t rest) {
    row_shape s = {1, 1, 0, 0};
    while (s.lanes < WARP && (hot > s.lanes * 2 * HOT_PAIRS || rest > s.lanes * REST_STEPS))
        s.lanes *= 2;
    if (hot > WARP * 2 * HOT_PAIRS * SEGMENT_GROWS || rest > WARP * REST_STEPS * SEGMENT_GROWS) {
        int64_t by_hot = rounded_up(hot, WARP * 2 * HOT_PAIRS * SEGMENT_GROWS);
        int64_t by_rest = rounded_up(rest, WARP * REST_STEPS * SEGMENT_GROWS);
        int64_t segments = by_hot > by_rest ? by_hot : by_rest;
        if (segments > ROW_SEGMENTS) {
            by_hot = rounded_up(hot, WARP * 2 * MOST_STEPS);
            by_rest = rounded_up(rest, WARP * MOST_STEPS);
            segments = by_hot > by_rest ? by_hot : by_rest;
            if (segments < ROW_SEGMENTS) segments = ROW_SEGMENTS;
        }
        s.segments = (int)segments;
    }
    s.rest = (int)rounded_up(rest, s.lanes);
    s.pairs = (int)rounded_up(hot, 2 * s.lanes);
    return s;
}

/* Where segment q of n begins, of `all` entries. */
static __device__ __forceinline__ int64_t segment_begins(int64_t all, int64_t n, int64_t q) {
    return all * q / n;
}

/* Bytes of x of the hot columns and of the 0 before it. */
static inline __host__ __device__ size_t hubs_bytes(int64_t nhubs) {
    return ((size_t)(nhubs + 1) * sizeof(real) / sizeof(int4) + 1) * sizeof(int4);
}
#endif
