/* hubs.cuh: the entries of a matrix for hubs: rows sorted by what they have, in slices of a
 * warp, each row's entries in hub columns apart from the rest. hubs_build.cuh makes them. */
#ifndef SPMV_CUDA_HUBS_CUH
#define SPMV_CUDA_HUBS_CUH

#include "cuda/device.cuh"

enum {
    REST_STEPS = 8, /* entries of a lane, for which as many lanes are chosen for a row */
    HUB_PAIRS = 8,
    PART_GROWS = 2,   /* a part of a row that 32 lanes are not enough for has so many times these */
    ROW_PARTS = 1024, /* of a row, unless its parts would have */
    MOST_STEPS = 255  /* more steps than this */
};

/* A lane has a share of one row: `rest` entries, a word each, which is the column + 1; then `pairs`
 * words that are two hubs each, 1 + their places. 0: no entry. Words and values stand lane beside
 * lane, the two values of a pair together. */
typedef struct __align__(16) hub_slice {
    uint32_t word, value; /* where the first ones are, counted in warps */
    uint32_t row;         /* the first of its rows, in the order of the rows; or the part */
    uint8_t rest, pairs;
    uint8_t lanes; /* of a row; 0: the slice is a part of one */
    uint8_t rows;
}
hub_slice;

typedef struct __align__(16) hub_part {
    idx row, first; /* the row's first part */
    int parts, cut; /* of the row; which of the rows that are cut */
}
hub_part;

typedef struct hubs {
    int64_t nslices, nparts, ncuts, words, values; /* words, values: counted in warps */
    idx nhubs;
    int blocks, code;
    hub_part *part;   /* [nparts] */
    hub_slice *slice; /* [nslices] parts, then rows of 32 lanes, of 16, ... */
    idx *order;       /* [rows] */
    uint32_t *word;   /* [32 words] */
    uint8_t *value;   /* [32 values] coded */
    real *table;      /* [VALUE_CODEBOOK_SIZE] */
    real *sum;        /* [nparts] */
    int *done;        /* [ncuts] parts that are; 0 between products */
    idx *hub;         /* [nhubs] the columns */
    real *hub_x;      /* [nhubs + 1] 0, then x of the hubs; up to whole units of 16 bytes */
} hubs;

/* ---- the shape of a row ---------------------------------------------------------------------- */

typedef struct row_shape {
    int lanes, parts, rest, pairs; /* steps, if there is one part */
} row_shape;

static __host__ __device__ __forceinline__ int64_t rounded_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

static __host__ __device__ __forceinline__ row_shape shape_of(int64_t hub, int64_t rest) {
    row_shape s = {1, 1, 0, 0};
    while (s.lanes < WARP && (hub > s.lanes * 2 * HUB_PAIRS || rest > s.lanes * REST_STEPS))
        s.lanes *= 2;
    if (hub > WARP * 2 * HUB_PAIRS * PART_GROWS || rest > WARP * REST_STEPS * PART_GROWS) {
        int64_t by_hub = rounded_up(hub, WARP * 2 * HUB_PAIRS * PART_GROWS);
        int64_t by_rest = rounded_up(rest, WARP * REST_STEPS * PART_GROWS);
        int64_t parts = by_hub > by_rest ? by_hub : by_rest;
        if (parts > ROW_PARTS) {
            by_hub = rounded_up(hub, WARP * 2 * MOST_STEPS);
            by_rest = rounded_up(rest, WARP * MOST_STEPS);
            parts = by_hub > by_rest ? by_hub : by_rest;
            if (parts < ROW_PARTS) parts = ROW_PARTS;
        }
        s.parts = (int)parts;
    }
    s.rest = (int)rounded_up(rest, s.lanes);
    s.pairs = (int)rounded_up(hub, 2 * s.lanes);
    return s;
}

/* Where part q of n begins, of `all` entries. */
static __device__ __forceinline__ int64_t part_begins(int64_t all, int64_t n, int64_t q) {
    return all * q / n;
}

/* Of x of the hubs and the 0 before. */
static inline __host__ __device__ size_t hubs_bytes(int64_t nhubs) {
    return ((size_t)(nhubs + 1) * sizeof(real) / sizeof(int4) + 1) * sizeof(int4);
}
#endif
