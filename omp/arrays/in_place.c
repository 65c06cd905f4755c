/* in_place: multiplies a caller's volatile arrays (SPMV_VOLATILE), which may change between
 * products; derives nothing from them and divides the work anew for each product.
 *
 * Source   our own: the plain loops over compressed rows, columns, blocks and coordinates.
 * Reads    arrays: ptr[lines + 1] or line[nnz], idx[nnz], values[nnz], as given; x[cols]; y[rows]
 *          only if beta != 0. A line is a compressed row or column.
 * Writes   y[rows]. If lines are rows of the product, they are gathered: each element of y once, by
 *          the thread that owns the row. Otherwise, and for coordinates, entries are scattered:
 *          each share of entries adds to its own array, and the arrays are summed in order.
 * Work     one running sum per row, in the order of the entries; no multiplication is fused with an
 *          addition. Of several vectors in rows, up to a cache line of sums at a time; scattered
 *          shares are divided as for eight vectors, whatever k is.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (lines + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once; scattered, up to 3 rows sizeof real more for each share.
 * Weak     no fewer bytes than CSR; a long row is not shared; a row to which several threads
 *          scatter is summed twice.
 * Repeats  bitwise: yes, gathered for any number of threads, scattered for an equal one.
 * Params   none.
 */
#include "omp/isa.h"
#include "omp/kernel.h"

typedef struct product {
    const spmv_arrays *a;
    const ofs *ptr;
    const idx *at, *line;
    int wide_idx; /* 1: 64-bit indices, of which the lower half is read (little-endian) */
    const real *values, *x, *y;
    real *z, alpha, beta;
    int64_t k, ldx, ldy, ldz;
    bool in_rows;       /* the vectors are in rows */
    bool turned;        /* multiplies by the transpose of the compressed matrix */
    int64_t lines;      /* compressed lines; for coordinates, entries */
    int64_t tall, wide; /* rows and columns of a block */
    int64_t out;        /* rows of the product */
    int threads;
} product;

/* ---- what may have changed ------------------------------------------------------------------- */

static product product_of(const spmv_plan *p, const spmv_operands *v) {
    const spmv_arrays *a = &((const spmv_volatile *)p->store)->arrays;
    return (product){.a = a,
                     .ptr = a->ptr,
                     .at = a->idx,
                     .line = a->line,
                     .wide_idx = a->idx_bits == 64,
                     .values = a->values,
                     .x = v->x,
                     .y = v->beta == 0 ? v->z : v->y,
                     .z = v->z,
                     .alpha = (real)v->alpha,
                     .beta = (real)v->beta,
                     .k = v->k,
                     .ldx = v->ldx,
                     .ldy = v->ldy,
                     .ldz = v->ldz,
                     .in_rows = v->layout == SPMV_ROWS,
                     .turned = p->transposes,
                     .lines = spmv_volatile_lines(a),
                     .tall = a->block_rows,
                     .wide = a->block_cols,
                     .out = p->rows,
                     .threads = p->device->threads};
}

/* Checks the end of ptr; the caller is responsible for the offsets between, as for indices. */
static spmv_status check_ends(const spmv_plan *p, const product *m) {
    if (m->line || (m->ptr[0] == 0 && m->ptr[m->lines] >= 0 && m->ptr[m->lines] <= m->a->nnz))
        return SPMV_OK;
    return spmv_fail(p->device->ctx, SPMV_E_ARG,
                     "ptr runs from %lld to %lld by now, must run from 0 to at most nnz = %lld",
                     (long long)m->ptr[0], (long long)m->ptr[m->lines], (long long)m->a->nnz);
}

/* ---- shares ---------------------------------------------------------------------------------- */

static int64_t entries_before(const product *m, int64_t i) {
    return m->line ? i : (int64_t)m->ptr[i];
}

/* Returns the first line of share s, such that shares have about equally many lines plus
 * entries. */
static int64_t cut(const product *m, int shares, int s) {
    const int64_t part = spmv_split(m->lines + entries_before(m, m->lines), shares, s);
    int64_t low = 0, high = m->lines;
    if (s == 0) return 0;
    if (s == shares) return m->lines;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (middle + entries_before(m, middle) < part)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the number of shares for k vectors; 1 if starting a team takes longer. */
static int shares_for(const product *m, int64_t k) {
    enum { FEW = 1 << 13 };
    const int64_t entries = entries_before(m, m->lines) * m->tall * m->wide;
    return entries * k + m->lines < FEW ? 1 : m->threads;
}

/* ---- gathering ------------------------------------------------------------------------------- */

#define INLINE static inline __attribute__((always_inline))

INLINE real combined(const product *m, real sum, int64_t at_y) {
    return m->beta == 0 ? m->alpha * sum : m->alpha * sum + m->beta * m->y[at_y];
}

/* One vector. w: wide_idx, a constant. */
INLINE void gather_lines_of(const product *given, int64_t first, int64_t last, const int w) {
    const product m = *given;
    for (int64_t i = first; i < last; i++) {
        real sum = 0;
        prefetch_ahead(m.values + m.ptr[i], HALF_PAGE);
        prefetch_ahead(m.at + ((int64_t)m.ptr[i] << w), HALF_PAGE / 2);
        for (int64_t k = m.ptr[i]; k < m.ptr[i + 1]; k++) sum += m.values[k] * m.x[m.at[k << w]];
        m.z[i] = combined(&m, sum, i);
    }
}

static void gather_lines(const product *m, int64_t first, int64_t last) {
    gather_lines_of(m, first, last, 0);
}

static void gather_wide_lines(const product *m, int64_t first, int64_t last) {
    gather_lines_of(m, first, last, 1);
}

enum { PANEL = 64 / sizeof(real), ASKED = 16 };

/* Columns c, ..., c + n - 1 of the product, in the rows of lines first, ..., last - 1. */
INLINE void gather_panel(const product *given, int64_t first, int64_t last, int64_t c, const int n,
                         const bool in_rows, const bool blocks, const int w) {
    const product m = *given;
    const int64_t tall = blocks ? m.tall : 1, wide = blocks ? m.wide : 1;
    const int64_t step_x = in_rows ? m.ldx : 1, next_x = in_rows ? 1 : m.ldx;
    const int64_t step_y = in_rows ? m.ldy : 1, next_y = in_rows ? 1 : m.ldy;
    const int64_t step_z = in_rows ? m.ldz : 1, next_z = in_rows ? 1 : m.ldz;
    const real *x = m.x + c * next_x;
    for (int64_t row = first * tall; row < last * tall; row++) {
        const int64_t i = blocks ? row / tall : row, r = blocks ? row % tall : 0;
        real sum[PANEL] = {0};
        for (int64_t k = m.ptr[i]; k < m.ptr[i + 1]; k++) {
            if (in_rows && k + ASKED < m.a->nnz)
                __builtin_prefetch(x + m.at[(k + ASKED) << w] * wide * step_x);
            for (int64_t b = 0; b < wide; b++) {
                const real value = m.values[blocks ? (k * tall + r) * wide + b : k];
                const real *from = x + (m.at[k << w] * wide + b) * step_x;
                for (int j = 0; j < n; j++) sum[j] += value * from[j * next_x];
            }
        }
        for (int j = 0; j < n; j++)
            m.z[row * step_z + (c + j) * next_z] =
                combined(&m, sum[j], row * step_y + (c + j) * next_y);
    }
}

/* All columns: panels of constant width, whose sums stay in registers, then the rest. */
INLINE void gather_all_of(const product *m, int64_t first, int64_t last, const bool blocks,
                          const int w) {
    int64_t c = 0;
    if (m->in_rows) {
        for (; c + PANEL <= m->k; c += PANEL)
            gather_panel(m, first, last, c, PANEL, true, blocks, w);
        if (c + PANEL / 2 <= m->k) {
            gather_panel(m, first, last, c, PANEL / 2, true, blocks, w);
            c += PANEL / 2;
        }
        if (c < m->k) gather_panel(m, first, last, c, (int)(m->k - c), true, blocks, w);
        return;
    }
    for (; c + 4 <= m->k; c += 4) gather_panel(m, first, last, c, 4, false, blocks, w);
    for (; c < m->k; c++) gather_panel(m, first, last, c, 1, false, blocks, w);
}

INLINE void gather_all(const product *m, int64_t first, int64_t last, const bool blocks) {
    m->wide_idx ? gather_all_of(m, first, last, blocks, 1)
                : gather_all_of(m, first, last, blocks, 0);
}

static void gather_portable(const product *m, int64_t first, int64_t last) {
    gather_all(m, first, last, false);
}

#ifdef __x86_64__
static AVX2 void gather_avx2(const product *m, int64_t first, int64_t last) {
    gather_all(m, first, last, false);
}

static AVX512 void gather_avx512(const product *m, int64_t first, int64_t last) {
    gather_all(m, first, last, false);
}
#else
#define gather_avx2 gather_portable
#define gather_avx512 gather_portable
#endif

static void gather_blocks(const product *m, int64_t first, int64_t last) {
    gather_all(m, first, last, true);
}

enum { TALLEST = 8 };

/* One vector times block rows; all rows of a block are summed together. */
INLINE void sum_blocks(const product *given, int64_t first, int64_t last, const int64_t tall,
                       const int64_t wide) {
    const product m = *given;
    for (int64_t i = first; i < last; i++) {
        real sum[TALLEST] = {0};
        for (int64_t k = m.ptr[i]; k < m.ptr[i + 1]; k++) {
            const real *value = m.values + k * tall * wide, *x = m.x + m.at[k << m.wide_idx] * wide;
            for (int64_t r = 0; r < tall; r++)
                for (int64_t c = 0; c < wide; c++) sum[r] += value[r * wide + c] * x[c];
        }
        for (int64_t r = 0; r < tall; r++) m.z[i * tall + r] = combined(&m, sum[r], i * tall + r);
    }
}

/* Calls sum_blocks with common sizes as constants. */
static void gather_blocks_of_one(const product *m, int64_t first, int64_t last) {
    const int64_t tall = m->tall, wide = m->wide;
    if (tall > TALLEST)
        gather_blocks(m, first, last);
    else if (tall != wide)
        sum_blocks(m, first, last, tall, wide);
    else
        switch (tall) {
        case 2: sum_blocks(m, first, last, 2, 2); break;
        case 3: sum_blocks(m, first, last, 3, 3); break;
        case 4: sum_blocks(m, first, last, 4, 4); break;
        case 6: sum_blocks(m, first, last, 6, 6); break;
        default: sum_blocks(m, first, last, tall, wide);
        }
}

typedef void gather_function(const product *m, int64_t first, int64_t last);

static gather_function *function_of(const product *m) {
    const int64_t isa = isa_of_cpu();
    const bool one = m->k == 1 && !m->in_rows;
    if (m->tall * m->wide > 1) return one ? gather_blocks_of_one : gather_blocks;
    if (one) return m->wide_idx ? gather_wide_lines : gather_lines;
    return isa == ISA_AVX512 ? gather_avx512 : isa == ISA_AVX2 ? gather_avx2 : gather_portable;
}

static void gather(const product *m) {
    gather_function *run = function_of(m);
    const int shares = shares_for(m, m->k);
    if (shares == 1) {
        run(m, 0, m->lines);
        return;
    }
#pragma omp parallel for schedule(static, 1) num_threads(shares)
    for (int s = 0; s < shares; s++) run(m, cut(m, shares, s), cut(m, shares, s + 1));
}

/* ---- scattering ------------------------------------------------------------------------------ */

/* log2 of the rows of the product that are cleared together, at the first addition */
enum { CHUNK_BITS = 10 };

typedef struct target { /* array to which a share adds */
    real *sum;          /* [rows x k] */
    int64_t rows, k;
    bool *touched; /* [chunks] whether a chunk is cleared */
} target;

static int64_t chunks_of(const product *m) {
    return (m->out + (1 << CHUNK_BITS) - 1) >> CHUNK_BITS;
}

static void clear(const target *t, int64_t chunk) {
    const int64_t first = chunk << CHUNK_BITS;
    const int64_t rows = t->rows - first, all = rows >> CHUNK_BITS ? 1 << CHUNK_BITS : rows;
    t->touched[chunk] = true;
    memset(t->sum + first * t->k, 0, (size_t)(all * t->k) * sizeof *t->sum);
}

/* Clears the chunks, from the lowest to the highest, to which entries first, ..., end - 1 add. */
INLINE void clear_for(const target *t, const idx *row, int64_t first, int64_t end, const int w) {
    idx low = INT32_MAX, high = -1;
    for (int64_t e = first; e < end; e++) {
        low = row[e << w] < low ? row[e << w] : low;
        high = row[e << w] > high ? row[e << w] : high;
    }
    for (int64_t chunk = low >> CHUNK_BITS; first < end && chunk <= high >> CHUNK_BITS; chunk++)
        if (!t->touched[chunk]) clear(t, chunk);
}

INLINE void add_entry(real *sum, real value, const real *x, const int64_t k) {
    for (int64_t j = 0; j < k; j++) sum[j] += value * x[j];
}

/* Returns the end of the lines from `first` on that clear_for covers together; at least one. */
static int64_t some_lines(const product *m, int64_t first, int64_t last) {
    enum { SOME = 1 << 12 };
    int64_t end = first + 1;
    while (end < last && m->ptr[end + 1] - m->ptr[first] <= SOME) end++;
    return end;
}

/* Adds compressed lines, each of which multiplies one element of x. */
INLINE void add_lines(const product *given, int64_t first, int64_t last, const target *t,
                      const int64_t k, const int w) {
    const product m = *given;
    real *sum = t->sum;
    for (int64_t i = first; i < last;) {
        const int64_t end = some_lines(given, i, last);
        clear_for(t, m.at, m.ptr[i], m.ptr[end], w);
        for (; i < end; i++) {
            const real *x = m.x + i * m.ldx;
            if (k == 1) {
                const real factor = *x;
                for (int64_t e = m.ptr[i]; e < m.ptr[i + 1]; e++)
                    sum[m.at[e << w]] += m.values[e] * factor;
            } else
                for (int64_t e = m.ptr[i]; e < m.ptr[i + 1]; e++) {
                    if (e + ASKED < m.a->nnz)
                        __builtin_prefetch(sum + m.at[(e + ASKED) << w] * k, 1);
                    add_entry(sum + m.at[e << w] * k, m.values[e], x, k);
                }
        }
    }
}

INLINE void add_coordinates(const product *given, int64_t first, int64_t last, const target *t,
                            const int64_t k, const int w) {
    enum { SOME = 1 << 12 };
    const product m = *given;
    real *sum = t->sum;
    const idx *row = m.turned ? m.at : m.line, *col = m.turned ? m.line : m.at;
    for (int64_t e = first; e < last;) {
        const int64_t end = e + SOME < last ? e + SOME : last;
        clear_for(t, row, e, end, w);
        for (; e < end; e++)
            add_entry(sum + row[e << w] * k, m.values[e], m.x + col[e << w] * m.ldx, k);
    }
}

INLINE void add_share(const product *m, int64_t first, int64_t last, const target *t,
                      const int64_t k) {
    if (m->line)
        m->wide_idx ? add_coordinates(m, first, last, t, k, 1)
                    : add_coordinates(m, first, last, t, k, 0);
    else
        m->wide_idx ? add_lines(m, first, last, t, k, 1) : add_lines(m, first, last, t, k, 0);
}

/* Calls add_share with common numbers of vectors as constants. */
static void scatter_share(const product *m, int64_t first, int64_t last, const target *t) {
    switch (m->k) {
    case 1: add_share(m, first, last, t, 1); break;
    case 4: add_share(m, first, last, t, 4); break;
    case 8: add_share(m, first, last, t, 8); break;
    case 16: add_share(m, first, last, t, 16); break;
    default: add_share(m, first, last, t, m->k);
    }
}

/* Adds the shares' sums of a chunk to those of the first share, and stores the result. */
static void collect(const product *m, const target *t, int shares, int64_t chunk) {
    const int64_t first = chunk << CHUNK_BITS, behind = (chunk + 1) << CHUNK_BITS;
    const int64_t end = behind < m->out ? behind : m->out;
    if (!t->touched[chunk]) clear(t, chunk);
    for (int s = 1; s < shares; s++)
        for (int64_t n = first * m->k; t[s].touched[chunk] && n < end * m->k; n++)
            t->sum[n] += t[s].sum[n];
    for (int64_t i = first; t->sum != m->z && i < end; i++)
        for (int64_t j = 0; j < m->k; j++)
            m->z[i * m->ldz + j] = combined(m, t->sum[i * m->k + j], i * m->ldy + j);
}

static void scatter_shares(const product *m, const target *t, int shares) {
    const int64_t chunks = chunks_of(m);
    const bool is_short = shares_for(m, m->k) == 1;
#pragma omp parallel num_threads(shares) if (!is_short)
    {
#pragma omp for schedule(static, 1)
        for (int s = 0; s < shares; s++)
            scatter_share(m, cut(m, shares, s), cut(m, shares, s + 1), &t[s]);
#pragma omp for schedule(static)
        for (int64_t chunk = 0; chunk < chunks; chunk++) collect(m, t, shares, chunk);
    }
}

/* Returns memory for sums, left by the last product if large enough. Thread-safe. A = NULL: none is
 * kept. */
static spmv_room *take_room(spmv_volatile *A, size_t bytes) {
    spmv_room *room = A ? __atomic_exchange_n(&A->room, NULL, __ATOMIC_ACQ_REL) : NULL;
    if (room && room->bytes >= bytes) return room;
    free(room);
    void *memory = NULL;
    if (posix_memalign(&memory, sizeof *room, sizeof *room + bytes) != 0) return NULL;
    room = memory;
    room->bytes = bytes;
    return room;
}

static void leave_room(spmv_volatile *A, spmv_room *room) {
    free(A ? __atomic_exchange_n(&A->room, room, __ATOMIC_ACQ_REL) : room);
}

/* Each share adds to its own array, the first one to z itself if possible. There are at most as
 * many shares as entries per row (+ 1), and equally many for any number of vectors > 1, because the
 * division determines the bits of the sums. */
static spmv_status scatter(const spmv_plan *p, const product *m) {
    enum { MOST_SHARES = 64, SEVERAL = 8 };
    const int64_t entries = entries_before(m, m->lines), most = 1 + entries / (m->out + 1);
    const int wanted = shares_for(m, m->k == 1 ? 1 : SEVERAL);
    const int few = most < MOST_SHARES ? (int)most : MOST_SHARES;
    const int shares = wanted < few ? wanted : few;
    const bool plain = m->alpha == 1 && m->beta == 0 && m->ldz == m->k;
    const size_t numbers = (size_t)(m->out * m->k), chunks = (size_t)chunks_of(m);
    const size_t direct = plain ? 1 : 0, own = (size_t)shares - direct;
    /* Only the store's room is written; a copied store has no room. */
    spmv_volatile *A = p->own ? NULL : (spmv_volatile *)(uintptr_t)p->store;
    spmv_room *room = take_room(A, own * numbers * sizeof(real) + (size_t)shares * chunks);
    target t[MOST_SHARES];
    if (!room) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for a product");
    real *sums = (real *)(void *)room->memory;
    bool *touched = (bool *)room->memory + own * numbers * sizeof(real);
    memset(touched, 0, (size_t)shares * chunks);
    for (int s = 0; s < shares; s++)
        t[s] = (target){s == 0 && plain ? m->z : sums + ((size_t)s - direct) * numbers, m->out,
                        m->k, touched + (size_t)s * chunks};
    scatter_shares(m, t, shares);
    leave_room(A, room);
    return SPMV_OK;
}

/* Vectors in columns are multiplied one by one. */
static spmv_status scatter_columns(const spmv_plan *p, const product *all) {
    for (int64_t j = 0; j < all->k; j++) {
        product m = *all;
        m.x += j * all->ldx, m.y += j * all->ldy, m.z += j * all->ldz;
        m.k = m.ldx = m.ldy = m.ldz = 1;
        TRY(scatter(p, &m));
    }
    return SPMV_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static spmv_status multiply(const spmv_plan *p, const spmv_operands *v) {
    const product m = product_of(p, v);
    TRY(check_ends(p, &m));
    if (m.line || m.turned) return m.in_rows ? scatter(p, &m) : scatter_columns(p, &m);
    gather(&m);
    return SPMV_OK;
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(in_place) = {
    .name = "in_place",
    .format = "csr",
    .summary = "arrays that may change, read as they are",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .run = multiply,
    .run_columns = multiply,
    .run_rows = multiply,
};
