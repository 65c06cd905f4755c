/* csr_balanced: CSR with an equal share of rows plus nonzeros per thread, which may cut rows;
 * threads then take chunks of unfinished shares; sums use vector instructions.
 *
 * Source   Merrill and Garland, SC'16, "Merge-based parallel sparse matrix-vector multiplication";
 *          several sums per row, and loads instead of the gather instruction if that is slow, as
 *          measured by gather.c.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz], order[rows] if rows are in another
 *          order; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each element by the share in which the row ends; then one carry per share,
 *          serially, for rows that began in an earlier share.
 * Work     the ends of the rows and the nonzeros are merged into one list of rows + nnz items;
 *          share s is the s-th of as many equal parts as there are threads. Large shares are
 *          divided between rows into chunks, which threads take (taken.h). Four nonzeros of a row
 *          are multiplied at a time, or eight by AVX-512's gather, the last ones under a mask; one
 *          by one if rows are short and equally long, so that branches are predicted.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     no fewer bytes than CSR; rows of one or two nonzeros compute four; if shares are too
 *          small to be divided, or a row is longer than a share, a thread that shares its core
 *          delays all.
 * Repeats  bitwise: yes, for an equal number of threads, instructions and gather.
 * Params   isa: 0 the best, 1 portable, 2 AVX2, 3 AVX-512; gather: 0 the faster, 1 loads, 2 the
 *          gather instruction; order: of the rows in the store.
 */
#include "omp/vectors/csr_panels.h"
#include "omp/csr/csr_shares.h"
#include "omp/backend.h"

typedef struct product {
    const csr *A;
    const real *x;
    real alpha, beta, *y;
    const idx *order; /* rows of y of the rows of A; NULL: the same */
} product;

/* Writes the rows that end in the share; returns the carry of row s->last. */
typedef real share_function(const product *p, const share *s);

typedef struct balanced { /* a plan's scratch memory */
    panels panels;        /* panels of several vectors, and shares */
    share_function *run;  /* function for one vector */
} balanced;

/* ---- portable ------------------------------------------------------------------------------- */

/* Uses four sums for a long row, because an addition has latency. */
static inline real dot_portable(const real *values, const idx *col, const real *x, int64_t n) {
    real sum[4] = {0, 0, 0, 0}, rest = 0;
    int64_t k = 0;
    if (n >= LONG_ROW)
        for (; k + 4 <= n; k += 4)
            for (int l = 0; l < 4; l++) sum[l] += values[k + l] * x[col[k + l]];
    for (; k < n; k++) rest += values[k] * x[col[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

static inline __attribute__((always_inline)) int64_t place_of(const product *p, int64_t i,
                                                              const bool ordered) {
    return ordered ? p->order[i] : i;
}

static inline __attribute__((always_inline)) real rows_portable_in(const product *p, const share *s,
                                                                   const bool ordered) {
    const csr *A = p->A;
    int64_t k = s->k;
    for (int64_t i = s->first; i < s->last; k = A->row_ptr[++i]) {
        prefetch_ahead(A->values + k, HALF_PAGE);
        prefetch_ahead(A->col_idx + k, HALF_PAGE / 2);
        put_row(p->y + place_of(p, i, ordered), p->alpha,
                dot_portable(A->values + k, A->col_idx + k, p->x, A->row_ptr[i + 1] - k), p->beta);
    }
    return dot_portable(A->values + k, A->col_idx + k, p->x, s->end - k);
}

static real share_portable(const product *p, const share *s) {
    return rows_portable_in(p, s, false);
}

static real share_portable_ordered(const product *p, const share *s) {
    return rows_portable_in(p, s, true);
}

#ifdef __x86_64__
/* ---- AVX2: four entries at a time ----------------------------------------------------------- */

typedef real lanes4 __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) lane;
typedef lane mask4 __attribute__((vector_size(4 * sizeof(real))));

/* Loads x at four columns; without `instruction` gcc generates loads, never a gather. */
AVX2_INLINE lanes4 gather_4(const real *x, const idx *at, bool instruction) {
    lanes4 out = {0};
    if (!instruction) return (lanes4){x[at[0]], x[at[1]], x[at[2]], x[at[3]]};
    __m128i places = _mm_loadu_si128((const __m128i *)at);
    if (sizeof(real) == sizeof(double)) {
        __m256d found = _mm256_i32gather_pd((const double *)(const void *)x, places, 8);
        memcpy(&out, &found, sizeof out);
    } else {
        __m128 found = _mm_i32gather_ps((const float *)(const void *)x, places, 4);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

/* Returns the dot product of entries begin, ..., end - 1. The last one to four entries are the end
 * of a full vector of four, which may begin in another row; foreign lanes are masked after the
 * multiplication, so that neither 0 x infinity nor the length of the row needs a branch. Only the
 * first entries of the matrix have no full vector. */
AVX2_INLINE real dot_avx2(const csr *A, const real *x, int64_t begin, int64_t end,
                          bool instruction) {
    lanes4 a = {0};
    int64_t k = begin;
    if (end < 4) {
        real sum = 0;
        for (; k < end; k++) sum += A->values[k] * x[A->col_idx[k]];
        return sum;
    }
    /* Prefetches every line of both arrays, because the hardware prefetcher stops at gaps. */
    for (; k + 4 < end; k += 4) {
        prefetch_ahead(A->values + k, HALF_PAGE);
        prefetch_ahead(A->col_idx + k, HALF_PAGE / 2);
        a += *(const lanes4 *)(A->values + k) * gather_4(x, A->col_idx + k, instruction);
    }
    prefetch_ahead(A->values + k, HALF_PAGE);
    prefetch_ahead(A->col_idx + k, HALF_PAGE / 2);
    lanes4 last =
        *(const lanes4 *)(A->values + end - 4) * gather_4(x, A->col_idx + end - 4, instruction);
    mask4 foreign = (mask4){0, 1, 2, 3} < (lane)(4 - (end - k));
    a += (lanes4)((mask4)last & ~foreign);
    a += __builtin_shufflevector(a, a, 2, 3, 2, 3);
    return a[0] + a[1];
}

AVX2_INLINE real share_256(const product *p, const share *s, bool instruction, const bool ordered) {
    const csr A = *p->A;
    const real alpha = p->alpha, beta = p->beta, *x = p->x;
    real *y = p->y;
    int64_t k = s->k;
    for (int64_t i = s->first, last = s->last; i < last; k = A.row_ptr[++i])
        put_row(y + place_of(p, i, ordered), alpha,
                dot_avx2(&A, x, k, A.row_ptr[i + 1], instruction), beta);
    return dot_avx2(&A, x, k, s->end, instruction);
}

static AVX2 real share_avx2(const product *p, const share *s) {
    return share_256(p, s, false, false);
}

static AVX2 real share_avx2_ordered(const product *p, const share *s) {
    return share_256(p, s, false, true);
}

static AVX2 real share_avx2_gather(const product *p, const share *s) {
    return share_256(p, s, true, false);
}

static AVX2 real share_avx2_gather_ordered(const product *p, const share *s) {
    return share_256(p, s, true, true);
}

/* ---- AVX-512: eight entries at a time, with its gather instruction --------------------------- */

typedef real lanes8 __attribute__((vector_size(8 * sizeof(real)), aligned(sizeof(real))));
typedef lane mask8 __attribute__((vector_size(8 * sizeof(real))));

AVX512_INLINE lanes8 gather_8(const real *x, const idx *at) {
    lanes8 out = {0};
    __m256i places = _mm256_loadu_si256((const __m256i *)at);
    if (sizeof(real) == sizeof(double)) {
        __m512d found = _mm512_i32gather_pd(places, x, 8);
        memcpy(&out, &found, sizeof out);
    } else {
        __m256 found = _mm256_i32gather_ps((const float *)(const void *)x, places, 4);
        memcpy(&out, &found, sizeof out);
    }
    return out;
}

/* See dot_avx2; eight lanes. */
AVX512_INLINE real dot_avx512(const csr *A, const real *x, int64_t begin, int64_t end) {
    lanes8 a = {0};
    int64_t k = begin;
    if (end < 8) {
        real sum = 0;
        for (; k < end; k++) sum += A->values[k] * x[A->col_idx[k]];
        return sum;
    }
    for (; k + 8 < end; k += 8) a += *(const lanes8 *)(A->values + k) * gather_8(x, A->col_idx + k);
    lanes8 last = *(const lanes8 *)(A->values + end - 8) * gather_8(x, A->col_idx + end - 8);
    mask8 foreign = (mask8){0, 1, 2, 3, 4, 5, 6, 7} < (lane)(8 - (end - k));
    a += (lanes8)((mask8)last & ~foreign);
    lanes4 b =
        __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    b += __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return b[0] + b[1];
}

AVX512_INLINE real share_512(const product *p, const share *s, const bool ordered) {
    const csr A = *p->A;
    const real alpha = p->alpha, beta = p->beta, *x = p->x;
    real *y = p->y;
    int64_t k = s->k;
    for (int64_t i = s->first, last = s->last; i < last; k = A.row_ptr[++i])
        put_row(y + place_of(p, i, ordered), alpha, dot_avx512(&A, x, k, A.row_ptr[i + 1]), beta);
    return dot_avx512(&A, x, k, s->end);
}

static AVX512 real share_avx512_gather(const product *p, const share *s) {
    return share_512(p, s, false);
}

static AVX512 real share_avx512_gather_ordered(const product *p, const share *s) {
    return share_512(p, s, true);
}

/* Loads fill eight lanes no faster than four, and four suit short rows better. */
static share_function *function_of(int64_t isa, bool instruction, bool ordered) {
    if (isa == ISA_AVX512 && instruction)
        return ordered ? share_avx512_gather_ordered : share_avx512_gather;
    if (isa == ISA_PORTABLE) return ordered ? share_portable_ordered : share_portable;
    if (instruction) return ordered ? share_avx2_gather_ordered : share_avx2_gather;
    return ordered ? share_avx2_ordered : share_avx2;
}
#else
static share_function *function_of(int64_t isa, bool instruction, bool ordered) {
    (void)isa, (void)instruction;
    return ordered ? share_portable_ordered : share_portable;
}
#endif

/* ---- the kernel ----------------------------------------------------------------------------- */

enum { GATHER_FASTER, GATHER_LOADS, GATHER_INSTRUCTION };

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(balanced);
}

/* Returns whether most rows are short and as long as the previous one: branches are predicted. */
static bool is_regular(const csr *A, int64_t rows, int64_t nnz, int threads) {
    int64_t equal = 0;
    if (nnz >= LONG_ROW * rows) return false;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : equal) if (rows > 1 << 16)
    for (int64_t i = 1; i < rows; i++)
        equal += A->row_ptr[i + 1] - A->row_ptr[i] == A->row_ptr[i] - A->row_ptr[i - 1];
    return equal >= rows - rows / 16;
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    const bool ordered = A->s.order != NULL;
    TRY(choose_isa(p));
    const int64_t nshares = shares_of(p), isa = p->choice.value[SPMV_isa];
    int64_t *gather = &p->choice.value[SPMV_gather];
    if (*gather == GATHER_FASTER)
        *gather = spmv_gather_pays(isa) ? GATHER_INSTRUCTION : GATHER_LOADS;
    TRY(make_scratch(p, sizeof(balanced)));
    p->slots = 0;
    balanced *t = p->scratch;
    t->run = function_of(isa, *gather == GATHER_INSTRUCTION, ordered);
    if (t->run == function_of(isa, false, ordered) &&
        is_regular(A, A->s.rows, A->s.nnz, p->device->threads))
        t->run = function_of(ISA_PORTABLE, false, ordered);
    cut_into_shares(A, nshares, &t->panels.cut);
    make_panels(p, A, nshares, &t->panels);
    return SPMV_OK;
}

typedef struct one_vector {
    product all;
    const shares *shares;
    share_function *run;
    carry *carries; /* [shares] */
} one_vector;

static void multiply_one(const void *job, int64_t chunk) {
    const one_vector *one = job;
    const share part = chunk_of(one->shares, one->all.A, chunk);
    const int64_t s = share_ended(one->shares, chunk);
    const real sum = one->run(&one->all, &part);
    if (s < 0) return;
    const int64_t row = part.begun < 0 ? -1 : spmv_stored_row(&one->all.A->s, part.begun);
    one->carries[s] = (carry){row, sum};
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    const balanced *t = p->scratch;
    const shares *cut = &t->panels.cut;
    carry carries[MOST_SHARES];
    const one_vector one = {
        {A, v->x, (real)v->alpha, (real)v->beta, v->z, A->s.order}, cut, t->run, carries};
    multiply_chunks(cut, shares_of(p), multiply_one, &one);
    add_carries(carries, shares_of(p), one.all.alpha, one.all.y);
    return SPMV_OK;
}

static const spmv_param params[] = {
    PARAM_ISA,
    SPMV_PARAM_ORDER,
    {SPMV_gather, GATHER_FASTER, GATHER_FASTER, GATHER_INSTRUCTION, 1, false},
    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_balanced) = {
    .name = "csr_balanced",
    .format = "csr",
    .summary = "equal shares of rows plus entries, rows summed with vector instructions",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PANEL,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .run_columns = run_columns,
    .run_rows = run_rows,
    .release = free_scratch,
};
