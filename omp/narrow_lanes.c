/* narrow_lanes: eight rows of about one length in the lanes of vector registers, their columns in
 * 16 bits, their values in as few bytes as hold them; stretches of equal bytes, a stretch a thread.
 *
 * Source   own; sell_lanes with packed's codes. Where the values are few they are looked up in
 *          vector registers, after CSR&RV (Yang and others, AVX-512).
 * Reads    narrow: slice[slices], perm[rows] unless the rows' order is the matrix's, length of
 *          uneven slices, columns, values, table; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the thread that owns the slice.
 * Work     a step is an entry of each of eight rows, a sum each: unmasked up to the shortest row,
 *          masked after multiplying behind it; then what at most three longer rows have besides.
 * Cost     2 nnz flop; nnz (2 or 4 + 0, 1, 4 or sizeof real) + 6 rows for slices and perm + (cols +
 *          rows) sizeof real bytes; padding is read all the same.
 * Weak     columns of a slice that span over 65,536; lengths that differ inside a window compute
 *          padding; a row as long as a thread's share keeps the others waiting.
 * Repeats  bitwise: yes, for an equal isa; with and without codes alike.
 * Params   isa: 0 the best, 1 portable, 2 AVX2, 3 AVX-512 (looks few values up in registers).
 */
#include "carry.h"
#include "isa.h"

typedef struct product {
    const narrow_slices *A;
    const real *x;
    real *y, alpha, beta;
    int64_t ahead; /* columns; 0: x is not asked for */
} product;

/* Slices first..end - 1 by one instruction set. */
typedef void multiply_slices(const product *m, int64_t first, int64_t end);

typedef struct stretches {
    multiply_slices *multiply;
    int64_t ahead;
    int64_t first_slice[MOST_SHARES + 1];
} stretches;

#define INLINE static inline __attribute__((always_inline))

INLINE int bytes_of(int code) {
    return code == NARROW_RAW   ? (int)sizeof(real)
           : code == NARROW_F32 ? (int)sizeof(float)
           : code == NARROW_ONE ? 0
                                : 1;
}

INLINE real value_at(const narrow_slices *A, int64_t slot, int code) {
    real raw;
    float narrowed;
    if (code == NARROW_ONE) return A->table[0];
    if (code == NARROW_TABLE) return A->table[A->values[slot]];
    if (code == NARROW_F32) {
        memcpy(&narrowed, A->values + slot * (int64_t)sizeof narrowed, sizeof narrowed);
        return (real)narrowed;
    }
    memcpy(&raw, A->values + slot * (int64_t)sizeof raw, sizeof raw);
    return raw;
}

/* x of the n-th column of a slice. */
INLINE real x_at(const real *x, const uint16_t *columns, int64_t n, bool wide) {
    return x[wide ? ((const uint32_t *)(const void *)columns)[n] : columns[n]];
}

/* The row of the matrix that stored row i is. */
INLINE int64_t row_of(const narrow_slices *A, int64_t i) {
    return A->perm ? (i & ~(A->sigma - 1)) + A->perm[i] : i;
}

/* sum[] gets what rows longer than the steps have besides. */
INLINE void add_tails(const product *m, const narrow_slice *slice, int code, bool wide, real *sum) {
    enum { SUMS = 4 };
    const narrow_slices *A = m->A;
    const int32_t *length = A->length + slice->uneven * NARROW_ROWS;
    const uint16_t *columns = A->columns + slice->column;
    const real *x = m->x + slice->base;
    int64_t at = (int64_t)slice->width * NARROW_ROWS;
    for (int r = 0; r < NARROW_LANES - 1 && length[r] > slice->width; r++) {
        real part[SUMS] = {0};
        int64_t end = at + length[r] - slice->width;
        for (; at + SUMS <= end; at += SUMS)
            for (int l = 0; l < SUMS; l++)
                part[l] += value_at(A, slice->slot + at + l, code) * x_at(x, columns, at + l, wide);
        for (; at < end; at++)
            part[0] += value_at(A, slice->slot + at, code) * x_at(x, columns, at, wide);
        sum[r] += (part[0] + part[1]) + (part[2] + part[3]);
    }
}

static void multiply_portable(const product *m, int64_t first, int64_t end) {
    const narrow_slices *A = m->A;
    for (int64_t s = first; s < end; s++) {
        const narrow_slice *slice = A->slice + s;
        const uint16_t *columns = A->columns + slice->column;
        const int32_t *length = slice->uneven < 0 ? NULL : A->length + slice->uneven * NARROW_ROWS;
        real sum[NARROW_ROWS] = {0};
        for (int r = 0; r < NARROW_ROWS; r++) {
            int64_t steps = length && length[r] < slice->width ? length[r] : slice->width;
            for (int64_t k = 0, at = r; k < steps; k++, at += NARROW_ROWS)
                sum[r] += value_at(A, slice->slot + at, A->value_code) *
                          x_at(m->x + slice->base, columns, at, slice->wide);
        }
        if (length) add_tails(m, slice, A->value_code, slice->wide, sum);
        for (int r = 0; r < NARROW_ROWS && s * NARROW_ROWS + r < A->s.rows; r++)
            put_row(m->y + row_of(A, s * NARROW_ROWS + r), m->alpha, sum[r], m->beta);
    }
}

#ifdef __x86_64__
typedef real lanes4 __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
typedef float floats4 __attribute__((vector_size(4 * sizeof(float)), aligned(1)));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) lane;
typedef lane mask4 __attribute__((vector_size(4 * sizeof(real))));
typedef int32_t idx4 __attribute__((vector_size(4 * sizeof(int32_t)), aligned(sizeof(int32_t))));

typedef struct lanes8 {
    lanes4 low, high;
} lanes8;

/* Four entries of x; gcc makes loads of it, never the gather instruction. */
AVX2_INLINE lanes4 gather_4(const real *x, const uint16_t *columns, int64_t n, bool wide) {
    uint64_t four;
    if (wide)
        return (lanes4){x_at(x, columns, n, wide), x_at(x, columns, n + 1, wide),
                        x_at(x, columns, n + 2, wide), x_at(x, columns, n + 3, wide)};
    memcpy(&four, columns + n, sizeof four); /* one load, for loads are what there are most of */
    return (lanes4){x[four & 0xffff], x[four >> 16 & 0xffff], x[four >> 32 & 0xffff],
                    x[four >> 48]};
}

AVX2_INLINE lanes4 values_4(const product *m, const uint8_t *values, int code) {
    const real *table = m->A->table;
    if (code == NARROW_ONE) return (lanes4){table[0], table[0], table[0], table[0]};
    if (code == NARROW_TABLE)
        return (lanes4){table[values[0]], table[values[1]], table[values[2]], table[values[3]]};
    if (code == NARROW_F32) return __builtin_convertvector(*(const floats4 *)values, lanes4);
    return *(const lanes4 *)(const void *)values;
}

/* The products of a step, whose values and columns are there. */
AVX2_INLINE lanes8 step_256(const product *m, const uint8_t *values, const uint16_t *columns,
                            const real *x, int code, bool wide) {
    const int half = NARROW_LANES * bytes_of(code);
    return (lanes8){values_4(m, values, code) * gather_4(x, columns, 0, wide),
                    values_4(m, values + half, code) * gather_4(x, columns, NARROW_LANES, wide)};
}

AVX2_INLINE mask4 longer_than(const int32_t *length, int32_t k) {
    idx4 in = *(const idx4 *)length > k;
    return __builtin_convertvector(in, mask4);
}

AVX2_INLINE void put_slice(const product *m, int64_t s, int code, bool wide, const lanes8 *sum) {
    const narrow_slices *A = m->A;
    const narrow_slice *slice = A->slice + s;
    const int64_t i = s * NARROW_ROWS;
    real out[NARROW_ROWS];
    memcpy(out, sum, sizeof out);
    if (slice->uneven >= 0) add_tails(m, slice, code, wide, out);
    if (i + NARROW_ROWS > A->s.rows)
        for (int r = 0; i + r < A->s.rows; r++)
            put_row(m->y + row_of(A, i + r), m->alpha, out[r], m->beta);
    else if (A->perm)
        for (int r = 0; r < NARROW_ROWS; r++)
            put_row(m->y + row_of(A, i + r), m->alpha, out[r], m->beta);
    else
        for (int r = 0; r < NARROW_ROWS; r++) put_row(m->y + i + r, m->alpha, out[r], m->beta);
}

/* What rows near the diagonal read of x comes from memory line by line, in the order of rows or
 * none; the line that such rows will read some time later is asked for here, one a slice. */
AVX2_INLINE void ask_for_vectors(const product *m, int64_t s) {
    enum { SECOND_CACHE = 2, Y_AHEAD = 2048 };
    if (!m->ahead) return;
    __builtin_prefetch(m->x + s * NARROW_ROWS + m->ahead, 0, SECOND_CACHE);
    __builtin_prefetch(m->y + s * NARROW_ROWS + Y_AHEAD, 1);
}

/* A slice on its way: what is left of it begins at values and columns. */
typedef struct walk {
    const uint8_t *values;
    const uint16_t *columns;
    const real *x;
    const int32_t *length;
    int32_t full, width; /* steps of eight entries, and all */
    lanes8 sum;
} walk;

AVX2_INLINE walk begin_slice(const product *m, int64_t s, int code) {
    const narrow_slices *A = m->A;
    const narrow_slice *slice = A->slice + s;
    const int32_t *length = A->length + slice->uneven * NARROW_ROWS;
    ask_for_vectors(m, s);
    return (walk){.values = A->values + slice->slot * bytes_of(code),
                  .columns = A->columns + slice->column,
                  .x = m->x + slice->base,
                  .length = length,
                  .full = slice->uneven < 0 ? slice->width : length[NARROW_ROWS - 1],
                  .width = slice->width,
                  .sum = {{0}, {0}}};
}

/* Step k: padding has a column too, so every load is allowed and only its product is left out. */
AVX2_INLINE void add_step(walk *w, int32_t k, int code, bool wide, bool padded, lanes8 step) {
    if (bytes_of(code) > 1) ask_ahead(w->values, HALF_PAGE);
    ask_ahead(w->columns, HALF_PAGE / 4);
    if (padded) {
        step.low = (lanes4)((mask4)step.low & longer_than(w->length, k));
        step.high = (lanes4)((mask4)step.high & longer_than(w->length + NARROW_LANES, k));
    }
    w->sum.low += step.low, w->sum.high += step.high;
    w->values += NARROW_ROWS * bytes_of(code);
    w->columns += NARROW_ROWS * (wide ? 2 : 1);
}

AVX2_INLINE void slice_256(const product *m, int64_t s, int code, bool wide) {
    walk w = begin_slice(m, s, code);
    int32_t k = 0;
    for (; k < w.full; k++)
        add_step(&w, k, code, wide, false, step_256(m, w.values, w.columns, w.x, code, wide));
    for (; k < w.width; k++)
        add_step(&w, k, code, wide, true, step_256(m, w.values, w.columns, w.x, code, wide));
    put_slice(m, s, code, wide, &w.sum);
}

AVX2_INLINE void slices_256(const product *m, int64_t first, int64_t end, int code) {
    for (int64_t s = first; s < end; s++)
        if (m->A->slice[s].wide)
            slice_256(m, s, code, true);
        else
            slice_256(m, s, code, false);
}

static AVX2 void raw_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, first, end, NARROW_RAW);
}

static AVX2 void f32_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, first, end, NARROW_F32);
}

static AVX2 void table_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, first, end, NARROW_TABLE);
}

static AVX2 void one_avx2(const product *m, int64_t first, int64_t end) {
    slices_256(m, first, end, NARROW_ONE);
}

/* ---- AVX-512: values of a small table from registers ----------------------------------------- */

enum { IN_REGISTERS = 16 };

typedef real lanes16 __attribute__((vector_size(IN_REGISTERS * sizeof(real)), aligned(64)));

AVX512_INLINE lanes8 look_up(const lanes16 *table, const uint8_t *values) {
    __m128i codes = _mm_loadl_epi64((const void *)values);
    lanes8 out;
    if (sizeof(real) == sizeof(double)) {
        __m512d part[2], found;
        memcpy(part, table, sizeof part);
        found = _mm512_permutex2var_pd(part[0], _mm512_cvtepu8_epi64(codes), part[1]);
        memcpy(&out, &found, sizeof out);
    } else {
        __m256 part[2], found;
        memcpy(part, table, sizeof part);
        found = _mm256_permutex2var_ps(part[0], _mm256_cvtepu8_epi32(codes), part[1]);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

AVX512_INLINE lanes8 step_512(const lanes16 *table, const walk *w, bool wide) {
    lanes8 a = look_up(table, w->values);
    return (lanes8){a.low * gather_4(w->x, w->columns, 0, wide),
                    a.high * gather_4(w->x, w->columns, NARROW_LANES, wide)};
}

AVX512_INLINE void slice_512(const product *m, const lanes16 *table, int64_t s, bool wide) {
    walk w = begin_slice(m, s, NARROW_TABLE);
    int32_t k = 0;
    for (; k < w.full; k++) add_step(&w, k, NARROW_TABLE, wide, false, step_512(table, &w, wide));
    for (; k < w.width; k++) add_step(&w, k, NARROW_TABLE, wide, true, step_512(table, &w, wide));
    put_slice(m, s, NARROW_TABLE, wide, &w.sum);
}

static AVX512 void registers_avx512(const product *m, int64_t first, int64_t end) {
    lanes16 table;
    memcpy(&table, m->A->table, sizeof table);
    for (int64_t s = first; s < end; s++)
        if (m->A->slice[s].wide)
            slice_512(m, &table, s, true);
        else
            slice_512(m, &table, s, false);
}
#endif

static multiply_slices *choose_way(int64_t isa, const narrow_slices *A) {
#ifdef __x86_64__
    static multiply_slices *const avx2[] = {[NARROW_RAW] = raw_avx2,
                                            [NARROW_F32] = f32_avx2,
                                            [NARROW_TABLE] = table_avx2,
                                            [NARROW_ONE] = one_avx2};
    if (isa == ISA_AVX512 && A->value_code == NARROW_TABLE && A->nvalues <= IN_REGISTERS)
        return registers_avx512;
    if (isa != ISA_PORTABLE) return avx2[A->value_code];
#endif
    (void)isa, (void)A;
    return multiply_portable;
}

/* ---- the kernel ----------------------------------------------------------------------------- */

/* What is read and written before slice k. */
static int64_t bytes_before(const spmv_store *store, int64_t k) {
    const narrow_slices *A = (const narrow_slices *)store;
    const int64_t row = 4 + 2 + 2 * (int64_t)sizeof(real); /* slice, perm, x and y */
    bool is_end = k == A->nslices;
    return k * NARROW_ROWS * row + 2 * (is_end ? A->units : A->slice[k].column) +
           A->value_bytes * (is_end ? A->s.slots : A->slice[k].slot);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(stretches);
}

static void release(spmv_plan *p) {
    free(p->scratch);
}

/* How far beyond its row the columns of a slice go. */
static int64_t reach_of(const narrow_slices *A, int64_t s) {
    const narrow_slice *slice = A->slice + s;
    uint16_t highest = 0;
    for (int64_t n = 0; n < (int64_t)slice->width * NARROW_ROWS; n++)
        if (A->columns[slice->column + n] > highest) highest = A->columns[slice->column + n];
    return slice->base + highest - s * NARROW_ROWS;
}

static int compare_reach(const void *a, const void *b) {
    const int64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* How far ahead x is asked for: so far as all but an eighth of the slices looked at reach, and a
 * little; 0 if the columns of most are not near the diagonal, or the nearest caches hold x. */
static int64_t ahead_of(const narrow_slices *A) {
    enum { LOOKS = 64, LITTLE = 1024, NEAR = 1 << 16 };
    int64_t reach[LOOKS], n = 0;
    if (A->s.rows != A->s.cols || A->s.rows < NEAR) return 0;
    for (int64_t l = 0; l < LOOKS; l++) {
        int64_t s = spmv_split(A->nslices, LOOKS, l);
        int64_t below = s * NARROW_ROWS - A->slice[s].base;
        if (!A->slice[s].wide && A->slice[s].width && below < NEAR && below > -NEAR)
            reach[n++] = reach_of(A, s);
    }
    if (n < LOOKS * 3 / 4) return 0;
    qsort(reach, (size_t)n, sizeof *reach, compare_reach);
    return reach[n * 7 / 8] > 0 ? reach[n * 7 / 8] + LITTLE : LITTLE;
}

static spmv_status prepare(spmv_plan *p) {
    const narrow_slices *A = (const narrow_slices *)p->store;
    TRY(choose_isa(p));
    stretches *t = p->scratch = malloc(sizeof *t);
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *t;
    t->multiply = choose_way(p->choice.value[SPMV_isa], A);
    t->ahead = ahead_of(A);
    cut_shares(&A->s, bytes_before, A->nslices, shares_of(p), t->first_slice);
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const product m = {(const narrow_slices *)p->store,       x, y, (real)alpha, (real)beta,
                       ((const stretches *)p->scratch)->ahead};
    const stretches *t = p->scratch;
    int64_t nshares = shares_of(p);
#pragma omp parallel for schedule(static, 1) num_threads((int)nshares)
    for (int64_t s = 0; s < nshares; s++) t->multiply(&m, t->first_slice[s], t->first_slice[s + 1]);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_ISA, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(narrow_lanes) = {
    .name = "narrow_lanes",
    .format = "narrow",
    .summary = "eight rows side by side, 16-bit columns and coded values, equal bytes a thread",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = release,
};
