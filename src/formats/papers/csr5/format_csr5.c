/* format_csr5.c: builds the tiles of CSR5 and their descriptors, each tile independently. */
#include "csr5.h"
#include <math.h>

/* Returns the bytes of this CPU's vectors, at least AVX2's: the kernel's best. */
static int vector_bytes(void) {
    enum { AVX2_BYTES = 32, AVX512_BYTES = 64 };
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return AVX512_BYTES;
#endif
    return AVX2_BYTES;
}

/* ---- the rows of a tile ---------------------------------------------------------------------- */

/* Returns the row of entry k: the last row that begins at or before it. */
static int64_t row_of(const spmv_csr_view *A, int64_t k) {
    int64_t low = 0, high = A->rows;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle] <= k)
            low = middle;
        else
            high = middle;
    }
    return low;
}

typedef struct tile_rows { /* the rows with entries in a tile */
    int64_t first, last, segments;
} tile_rows;

/* first: the row of entry `begin`. */
static tile_rows rows_between(const spmv_csr_view *A, int64_t first, int64_t begin, int64_t end) {
    tile_rows r = {first, first, begin < end};
    for (int64_t i = first + 1; i < A->rows && A->row_ptr[i] < end; i++) {
        if (A->row_ptr[i] == A->row_ptr[i + 1]) continue;
        r.last = i;
        r.segments++;
    }
    return r;
}

static bool has_empty(const tile_rows *r) {
    return r->last - r->first + 1 != r->segments;
}

static tile_rows rows_of_tile(const spmv_csr_view *A, int64_t size, int64_t t) {
    return rows_between(A, row_of(A, t * size), t * size, (t + 1) * size);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

static size_t bytes_of(const spmv_csr_view *A, const csr5_shape *shape, bool has_offsets,
                       size_t offsets) {
    size_t tiles = (size_t)(A->nnz / csr5_tile_size(shape));
    return (size_t)(A->rows + 1) * sizeof(ofs) + (tiles + 1) * sizeof(int32_t) +
           tiles * (size_t)(shape->words * shape->lanes) * sizeof(uint32_t) +
           (has_offsets ? (tiles + 1) * sizeof(ofs) : 0) + offsets * sizeof(int32_t) +
           (size_t)A->nnz * (sizeof(idx) + sizeof(real));
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    const csr5_shape shape = csr5_shape_of(A, c, vector_bytes());
    const int64_t size = csr5_tile_size(&shape), tiles = A->nnz / size;
    size_t offsets = 0;
    for (int64_t t = 0, row = 0; t < tiles; t++) {
        while (A->row_ptr[row + 1] <= t * size) row++;
        const tile_rows r = rows_between(A, row, t * size, (t + 1) * size);
        if (has_empty(&r)) offsets += (size_t)r.segments;
        row = r.last;
    }
    return bytes_of(A, &shape, offsets > 0, offsets);
}

/* Bounds the segments of tiles with empty rows by rows with entries plus one for each such tile,
 * because a tile may cut a row. Each of these tiles has an empty row of its own, so the sum is at
 * most the number of rows. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    const csr5_shape shape = csr5_shape_of(A, c, vector_bytes());
    (void)longest; /* does not matter */
    return bytes_of(A, &shape, true, (size_t)(A->nnz < A->rows ? A->nnz : A->rows));
}

/* ---- building -------------------------------------------------------------------------------- */

static spmv_status place_rows(spmv_ctx *ctx, const spmv_csr_view *A, int threads, csr5 *B) {
    int64_t empty = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : empty)
    for (int64_t i = 0; i < A->rows; i++) empty += A->row_ptr[i] == A->row_ptr[i + 1];
    B->empty_rows = empty;
    if (sizeof(ofs) == sizeof *A->row_ptr) {
        spmv_store_borrow(&B->s, &B->row_ptr, A->row_ptr,
                          (size_t)(A->rows + 1) * sizeof *A->row_ptr);
        return SPMV_OK;
    }
    TRY(STORE_ARRAY(ctx, B, row_ptr, A->rows + 1));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i <= A->rows; i++) B->row_ptr[i] = (ofs)A->row_ptr[i];
    return SPMV_OK;
}

/* Finds where tiles begin; returns the number of row offsets for tiles with empty rows. */
static int64_t place_tiles(const spmv_csr_view *A, int threads, csr5 *B) {
    const int64_t size = csr5_tile_size(&B->shape);
    int64_t offsets = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : offsets)
    for (int64_t t = 0; t < B->tiles; t++) {
        const tile_rows r = rows_of_tile(A, size, t);
        B->tile_ptr[t] = (int32_t)r.first | (has_empty(&r) ? CSR5_HAS_EMPTY : 0);
        offsets += has_empty(&r) ? r.segments : 0;
    }
    const int64_t tail = B->tiles * size;
    B->tile_ptr[B->tiles] = (int32_t)(tail < A->nnz ? row_of(A, tail) : A->rows);
    return offsets;
}

/* There are no more offsets than entries, so ofs can hold their number. */
static spmv_status place_offsets(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                                 int64_t offsets, csr5 *B) {
    if (offsets == 0) return SPMV_OK;
    TRY(STORE_ARRAY(ctx, B, empty_ptr, B->tiles + 1));
    TRY(STORE_ARRAY(ctx, B, empty_offset, offsets));
    B->empty_ptr[0] = 0;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t t = 0; t < B->tiles; t++)
        B->empty_ptr[t + 1] =
            B->tile_ptr[t] < 0 ? (ofs)rows_of_tile(A, csr5_tile_size(&B->shape), t).segments : 0;
    for (int64_t t = 0; t < B->tiles; t++) B->empty_ptr[t + 1] += B->empty_ptr[t];
    return SPMV_OK;
}

/* Finds the bit_flag of each lane, and the row offsets of a tile with empty rows. */
static void find_segments(const spmv_csr_view *A, int64_t t, const csr5 *B, uint32_t *flag) {
    const int64_t begin = t * csr5_tile_size(&B->shape), end = begin + csr5_tile_size(&B->shape);
    const int64_t first = B->tile_ptr[t] & ~CSR5_HAS_EMPTY;
    int32_t *offset = B->tile_ptr[t] < 0 ? B->empty_offset + B->empty_ptr[t] : NULL;
    memset(flag, 0, CSR5_MOST_LANES * sizeof *flag);
    flag[0] = 1; /* segment 0, which may begin earlier */
    if (offset) *offset++ = 0;
    for (int64_t i = first + 1; i < A->rows && A->row_ptr[i] < end; i++) {
        if (A->row_ptr[i] == A->row_ptr[i + 1]) continue;
        const int place = (int)(A->row_ptr[i] - begin);
        flag[place / B->shape.height] |= 1u << place % B->shape.height;
        if (offset) *offset++ = (int32_t)(i - first);
    }
}

static void describe_tile(const spmv_csr_view *A, int64_t t, csr5 *B) {
    const csr5_shape s = B->shape;
    uint32_t flag[CSR5_MOST_LANES], *desc = B->tile_desc + t * s.words * s.lanes;
    uint64_t y_offset = 0, seg_offset[CSR5_MOST_LANES] = {0}; /* none after the last lane */
    find_segments(A, t, B, flag);
    for (int l = s.lanes - 2; l >= 0; l--)
        seg_offset[l] = flag[l + 1] == 0 ? seg_offset[l + 1] + 1 : 0;
    for (int l = 0; l < s.lanes; l++) {
        const uint64_t d = flag[l] | seg_offset[l] << s.seg_shift | y_offset << s.y_shift;
        for (int w = 0; w < s.words; w++) desc[w * s.lanes + l] = (uint32_t)(d >> 32 * w);
        y_offset += (uint64_t)__builtin_popcount(flag[l]);
    }
}

/* Returns the number of values that overflow. */
static int64_t transpose(const spmv_csr_view *A, int64_t begin, csr5 *B) {
    const csr5_shape s = B->shape;
    int64_t overflows = 0, to = begin;
    for (int j = 0; j < s.height; j++)
        for (int l = 0; l < s.lanes; l++, to++) {
            const int64_t from = begin + l * s.height + j;
            B->col_idx[to] = A->col_idx[from];
            B->values[to] = (real)A->values[from];
            overflows += isinf(B->values[to]) && !isinf(A->values[from]);
        }
    return overflows;
}

static int64_t copy_tail(const spmv_csr_view *A, csr5 *B) {
    int64_t overflows = 0;
    for (int64_t k = B->tiles * csr5_tile_size(&B->shape); k < A->nnz; k++) {
        B->col_idx[k] = A->col_idx[k];
        B->values[k] = (real)A->values[k];
        overflows += isinf(B->values[k]) && !isinf(A->values[k]);
    }
    return overflows;
}

static int64_t fill(const spmv_csr_view *A, int threads, csr5 *B) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t t = 0; t < B->tiles; t++) {
        describe_tile(A, t, B);
        overflows += transpose(A, t * csr5_tile_size(&B->shape), B);
    }
    return overflows + copy_tail(A, B);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "csr5", sizeof(csr5), A, out));
    csr5 *B = (csr5 *)*out;
    B->s.slots = A->nnz;
    B->shape = csr5_shape_of(A, c, vector_bytes());
    B->tiles = A->nnz / csr5_tile_size(&B->shape);
    TRY(place_rows(ctx, A, threads, B));
    TRY(STORE_ARRAY(ctx, B, tile_ptr, B->tiles + 1));
    TRY(place_offsets(ctx, A, threads, place_tiles(A, threads, B), B));
    TRY(STORE_ARRAY(ctx, B, tile_desc, B->tiles * B->shape.words * B->shape.lanes));
    TRY(STORE_ARRAY(ctx, B, col_idx, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, fill(A, threads, B));
}

/* ---- the way back ---------------------------------------------------------------------------- */

static uint64_t descriptor(const csr5 *A, int64_t t, int lane) {
    const uint32_t *desc = A->tile_desc + t * A->shape.words * A->shape.lanes + lane;
    return A->shape.words == 1 ? desc[0] : desc[0] | (uint64_t)desc[A->shape.lanes] << 32;
}

/* Finds the rows of a tile's entries in stored order from the descriptors alone. */
static void rows_back(const csr5 *A, int64_t t, int32_t *row) {
    const csr5_shape s = A->shape;
    const int32_t first = A->tile_ptr[t] & ~CSR5_HAS_EMPTY;
    for (int l = 0; l < s.lanes; l++) {
        const uint64_t d = descriptor(A, t, l);
        int64_t segment = (int64_t)(d >> s.y_shift) - 1; /* segment before the lane's steps */
        for (int j = 0; j < s.height; j++) {
            segment += (int64_t)(d >> j & 1);
            row[j * s.lanes + l] =
                first + (A->tile_ptr[t] < 0 ? A->empty_offset[A->empty_ptr[t] + segment]
                                            : (int32_t)segment);
        }
    }
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csr5 *A = (const csr5 *)store;
    const int64_t size = csr5_tile_size(&A->shape);
    for (int64_t t = 0; t < A->tiles; t++) rows_back(A, t, row + t * size);
    for (int64_t k = A->tiles * size, i = A->tile_ptr[A->tiles]; k < store->nnz; k++) {
        while (A->row_ptr[i + 1] <= k) i++;
        row[k] = (int32_t)i;
    }
    for (int64_t k = 0; k < store->nnz; k++) {
        col[k] = A->col_idx[k];
        values[k] = (double)A->values[k];
    }
}

static const spmv_param params[] = {{SPMV_lanes, 0, 0, CSR5_MOST_LANES, 1, true},
                                    {SPMV_height, 0, 0, CSR5_MOST_HEIGHT, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(csr5_format) = {
    .name = "csr5",
    .summary = "transposed tiles of entries, whatever their rows, with bits where rows begin",
    .params = params,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
};
