/* csr_balanced: each thread takes an equal share of rows plus nonzeros of a CSR matrix, wherever
 * that cuts a row, then chunks of the shares that are not finished, and sums with vector
 * instructions.
 *
 * Source   Merrill and Garland, SC'16, "Merge-based parallel sparse matrix-vector multiplication";
 *          several sums per row and loads instead of the gather instruction where that is slow, as
 *          the measurements of gather.c decide.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry by the share where the row ends; then one carry per share, serially,
 *          for the rows that began in an earlier share.
 * Work     the ends of the rows and the nonzeros are merged into one list of rows + nnz items;
 *          share s is the s-th of as many equal parts as there are threads. Large shares are cut
 *          between rows into chunks, which threads take (taken.h). A row's nonzeros
 *          are taken four at a time, or eight by AVX-512's gather, the last ones under a mask; one
 *          by one where rows are short and equally long, and so easy to guess.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     no fewer bytes than CSR; rows of one or two nonzeros compute four; where shares are too
 *          small to be cut, or a row is longer than one, a thread that shares its core delays all.
 * Repeats  bitwise: yes, for an equal number of threads, instructions and way to gather.
 * Params   isa: 0 the best, 1 portable, 2 AVX2, 3 AVX-512; gather: 0 the faster, 1 loads, 2 the
 *          gather instruction.
 */
#include "omp/vectors/csr_vectors.h"
#include "omp/backend.h"
#include "formats/row_ends.h"

typedef struct product {
    const csr *A;
    const real *x;
    real alpha, beta, *y;
} product;

/* Puts the rows that end in the share, and returns what it has of row last. */
typedef real share_function(const product *p, const share *s);

enum { WINDOW_COLUMNS = 64 / sizeof(real) }; /* of x that are turned at a time: a cache line */
typedef struct window {                      /* rows first..end - 1 of x */
    int64_t first, end;
} window;

typedef struct shares {
    share_function *run;
    int64_t per_share;        /* how many chunks a share has; 1: it is not cut */
    int64_t row[MOST_SHARES]; /* first of each chunk; those between are whole */
    share share[MOST_SHARES];
    /* of several vectors: */
    bool has_windows; /* each chunk's columns of x are turned for it alone */
    window window[MOST_SHARES];
    bool jumps; /* many entries are neither beside the one in front of them nor found near */
    bool near;  /* rows that follow each other have near columns */
    bool far;   /* rows are long, and no last cache could keep the matrix */
} shares;

/* ---- portable ------------------------------------------------------------------------------- */

enum { LONG_ROW = 16 };

/* A long row gets four sums: the next addition need not wait for the last. */
static inline real dot_portable(const real *values, const idx *col, const real *x, int64_t n) {
    real sum[4] = {0, 0, 0, 0}, rest = 0;
    int64_t k = 0;
    if (n >= LONG_ROW)
        for (; k + 4 <= n; k += 4)
            for (int l = 0; l < 4; l++) sum[l] += values[k + l] * x[col[k + l]];
    for (; k < n; k++) rest += values[k] * x[col[k]];
    return (sum[0] + sum[1]) + (sum[2] + sum[3]) + rest;
}

static real share_portable(const product *p, const share *s) {
    const csr *A = p->A;
    int64_t k = s->k;
    for (int64_t i = s->first; i < s->last; k = A->row_ptr[++i]) {
        ask_ahead(A->values + k, HALF_PAGE);
        ask_ahead(A->col_idx + k, HALF_PAGE / 2);
        put_row(p->y + i, p->alpha,
                dot_portable(A->values + k, A->col_idx + k, p->x, A->row_ptr[i + 1] - k), p->beta);
    }
    return dot_portable(A->values + k, A->col_idx + k, p->x, s->end - k);
}

#ifdef __x86_64__
/* ---- AVX2: four entries at a time ----------------------------------------------------------- */

typedef real lanes4 __attribute__((vector_size(4 * sizeof(real)), aligned(sizeof(real))));
typedef __typeof__(__builtin_choose_expr(sizeof(real) == 8, (int64_t)0, (int32_t)0)) lane;
typedef lane mask4 __attribute__((vector_size(4 * sizeof(real))));

/* x at four places; gcc makes loads of it, never the gather instruction. */
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

/* Entries begin..end - 1 of a row. The last one to four are the end of a whole four that begins
 * before them, maybe in another row; what is not the row's is masked after multiplying, so that
 * neither 0 x infinity nor the length of the row makes a branch. Only the first entries of the
 * matrix have no four before them. */
AVX2_INLINE real dot_avx2(const csr *A, const real *x, int64_t begin, int64_t end,
                          bool instruction) {
    lanes4 a = {0};
    int64_t k = begin;
    if (end < 4) {
        real sum = 0;
        for (; k < end; k++) sum += A->values[k] * x[A->col_idx[k]];
        return sum;
    }
    /* All lines of both arrays are asked for: the processor's own prefetching stops at gaps. */
    for (; k + 4 < end; k += 4) {
        ask_ahead(A->values + k, HALF_PAGE);
        ask_ahead(A->col_idx + k, HALF_PAGE / 2);
        a += *(const lanes4 *)(A->values + k) * gather_4(x, A->col_idx + k, instruction);
    }
    ask_ahead(A->values + k, HALF_PAGE);
    ask_ahead(A->col_idx + k, HALF_PAGE / 2);
    lanes4 last =
        *(const lanes4 *)(A->values + end - 4) * gather_4(x, A->col_idx + end - 4, instruction);
    mask4 foreign = (mask4){0, 1, 2, 3} < (lane)(4 - (end - k));
    a += (lanes4)((mask4)last & ~foreign);
    a += __builtin_shufflevector(a, a, 2, 3, 2, 3);
    return a[0] + a[1];
}

AVX2_INLINE real share_256(const product *p, const share *s, bool instruction) {
    const csr A = *p->A;
    const real alpha = p->alpha, beta = p->beta, *x = p->x;
    real *y = p->y;
    int64_t k = s->k;
    for (int64_t i = s->first, last = s->last; i < last; k = A.row_ptr[++i])
        put_row(y + i, alpha, dot_avx2(&A, x, k, A.row_ptr[i + 1], instruction), beta);
    return dot_avx2(&A, x, k, s->end, instruction);
}

static AVX2 real share_avx2(const product *p, const share *s) {
    return share_256(p, s, false);
}

static AVX2 real share_avx2_gather(const product *p, const share *s) {
    return share_256(p, s, true);
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

/* Does the same as dot_avx2. */
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

static AVX512 real share_avx512_gather(const product *p, const share *s) {
    const csr A = *p->A;
    const real alpha = p->alpha, beta = p->beta, *x = p->x;
    real *y = p->y;
    int64_t k = s->k;
    for (int64_t i = s->first, last = s->last; i < last; k = A.row_ptr[++i])
        put_row(y + i, alpha, dot_avx512(&A, x, k, A.row_ptr[i + 1]), beta);
    return dot_avx512(&A, x, k, s->end);
}

/* Loads fill four lanes as fast as eight, and four fit short rows better. */
static share_function *function_of(int64_t isa, bool instruction) {
    if (isa == ISA_AVX512 && instruction) return share_avx512_gather;
    if (isa != ISA_PORTABLE) return instruction ? share_avx2_gather : share_avx2;
    return share_portable;
}
#else
static share_function *function_of(int64_t isa, bool instruction) {
    (void)isa, (void)instruction;
    return share_portable;
}
#endif

/* ---- the kernel ----------------------------------------------------------------------------- */

enum { GATHER_FASTER, GATHER_LOADS, GATHER_INSTRUCTION };

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(shares);
}

/* Most rows are as long as the one before, and short: the processor guesses their ends. */
static bool is_regular(const csr *A, int64_t rows, int64_t nnz, int threads) {
    int64_t equal = 0;
    if (nnz >= LONG_ROW * rows) return false;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : equal) if (rows > 1 << 16)
    for (int64_t i = 1; i < rows; i++)
        equal += A->row_ptr[i + 1] - A->row_ptr[i] == A->row_ptr[i] - A->row_ptr[i - 1];
    return equal >= rows - rows / 16;
}

/* Looks at some rows: whether an entry is in another line of x than the one in front of it, and
 * whether it is near the entry of the same rank some rows before, so that x is read in streams.
 * Where each number of these streams is read often, most entries find it in a near cache. */
static void look_at_rows(const csr *A, shares *t) {
    enum { SOME = 1 << 12, BESIDE = 8, APART = 8, NEAR = 1 << 12, OFTEN = 10 };
    const int64_t step = A->s.rows / SOME + 1;
    int64_t entries = 0, jumps = 0, near = 0;
    for (int64_t i = APART; i < A->s.rows; i += step) {
        const int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
        const int64_t before = A->row_ptr[i - APART], m = A->row_ptr[i - APART + 1] - before;
        for (int64_t k = 0; k < n && k < SOME; k++) {
            const int64_t col = A->col_idx[begin + k];
            const int64_t other = m > 0 ? A->col_idx[before + (k < m ? k : m - 1)] : col + NEAR;
            jumps += k == 0 || col - A->col_idx[begin + k - 1] > BESIDE;
            near += col - other < NEAR && other - col < NEAR;
            entries++;
        }
    }
    t->near = 8 * near > 7 * entries;
    t->jumps = 4 * jumps > entries && !(t->near && A->s.nnz >= OFTEN * A->s.cols);
}

/* Cuts each share into chunks of about as many rows plus entries, between rows. */
static void cut_chunks(const spmv_csr_view *A, int64_t nshares, shares *t) {
    for (int64_t c = 0; c < nshares * t->per_share; c++) {
        const share *s = &t->share[c / t->per_share];
        const int64_t items = s->last + s->end - s->first - s->k;
        const int64_t before = spmv_split(items, t->per_share, c % t->per_share);
        t->row[c] = spmv_rows_ended(A, s->first + s->k + before);
    }
}

/* Returns the first of a share's entries that are in row i, or in later ones. */
static int64_t entry_of(const share *s, const csr *A, int64_t i) {
    return A->row_ptr[i] > s->k ? A->row_ptr[i] : s->k;
}

/* Returns a chunk: the first one of a share begins where the share does, maybe within a row, and
 * the last one ends where it does. */
static share chunk_of(const shares *t, const csr *A, int64_t chunk) {
    const share *s = &t->share[chunk / t->per_share];
    const int64_t c = chunk % t->per_share;
    share part = *s;
    if (c > 0) part.first = t->row[chunk], part.k = entry_of(s, A, part.first);
    if (c < t->per_share - 1) part.last = t->row[chunk + 1], part.end = entry_of(s, A, part.last);
    return part;
}

/* Returns the share that ends with a chunk; -1: none does. */
static int64_t share_ended(const shares *t, int64_t chunk) {
    return (chunk + 1) % t->per_share == 0 ? chunk / t->per_share : -1;
}

/* Returns how many numbers of the plan's panel a thread has: whole lines of a cache. */
static int64_t room_apart(const spmv_plan *p, int64_t nshares) {
    enum { LINE = 64 / sizeof(real) };
    return SPMV_PANEL_VECTORS * (p->cols + p->rows) / nshares / LINE * LINE;
}

static window window_of(const csr *A, const share *part) {
    idx first = part->k < part->end ? A->col_idx[part->k] : 0, last = first;
    for (int64_t k = part->k; k < part->end; k++) {
        first = A->col_idx[k] < first ? A->col_idx[k] : first;
        last = A->col_idx[k] > last ? A->col_idx[k] : last;
    }
    return (window){first, part->k < part->end ? (int64_t)last + 1 : first};
}

/* Finds the window of each chunk. They are of use where they overlap little: on grids, on roads, in
 * bands. */
static void find_windows(const spmv_plan *p, const csr *A, int64_t nshares, shares *t) {
    enum { MOST_TIMES = 3 }; /* that a column of x is turned, on average */
    const int64_t chunks = nshares * t->per_share;
    int64_t all = 0, widest = 0;
#pragma omp parallel for num_threads((int)nshares) schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; c++) {
        const share part = chunk_of(t, A, c);
        t->window[c] = window_of(A, &part);
    }
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t width = t->window[c].end - t->window[c].first;
        all += width;
        if (width > widest) widest = width;
    }
    t->has_windows = t->per_share > 1 && all <= MOST_TIMES * A->s.cols &&
                     widest * WINDOW_COLUMNS <= room_apart(p, nshares);
}

static spmv_status prepare(spmv_plan *p) {
    const double LAST_CACHE = 1 << 24; /* bytes: more than a core's part of it anywhere */
    const csr *A = (const csr *)p->store;
    spmv_csr_view view = SPMV_OPTS(spmv_csr_view);
    TRY(choose_isa(p));
    TRY(spmv_mat_rows(p->matrix, &view));
    int64_t nshares = shares_of(p), items = A->s.rows + A->s.nnz, isa = p->choice.value[SPMV_isa];
    int64_t *gather = &p->choice.value[SPMV_gather];
    if (*gather == GATHER_FASTER)
        *gather = spmv_gather_pays(isa) ? GATHER_INSTRUCTION : GATHER_LOADS;
    TRY(make_scratch(p, sizeof(shares)));
    p->slots = 0;
    shares *t = p->scratch;
    t->run = function_of(isa, *gather == GATHER_INSTRUCTION);
    if (t->run == function_of(isa, false) && is_regular(A, A->s.rows, A->s.nnz, p->device->threads))
        t->run = share_portable;
    for (int64_t s = 0; s < nshares; s++) {
        int64_t begin = spmv_split(items, nshares, s), end = spmv_split(items, nshares, s + 1);
        int64_t first = spmv_rows_ended(&view, begin);
        int64_t last = spmv_rows_ended(&view, end);
        int64_t begun = first < last ? A->row_ptr[last] : begin - first;
        t->share[s] =
            (share){first, last, begin - first, end - last, begun < end - last ? last : -1};
    }
    t->per_share = count_chunks((int64_t)spmv_store_bytes(p->store), nshares);
    cut_chunks(&view, nshares, t);
    look_at_rows(A, t);
    t->has_windows = false;
    if (t->near && p->vectors > DIRECT && p->layout == SPMV_COLUMNS) find_windows(p, A, nshares, t);
    t->far = A->s.nnz >= LONG_ROW * A->s.rows &&
             (double)A->s.nnz * (sizeof(real) + sizeof(idx)) > LAST_CACHE * (double)nshares;
    return SPMV_OK;
}

static void multiply_chunks(const shares *t, int64_t nshares, chunk_function *multiply,
                            const void *job) {
    taken_chunks taken;
    begin_chunks(&taken, nshares, t->per_share);
#pragma omp parallel num_threads((int)nshares)
    take_chunks(&taken, multiply, job);
}

typedef struct one_vector {
    product all;
    const shares *shares;
    carry *carries; /* of each share */
} one_vector;

static void multiply_one(const void *job, int64_t chunk) {
    const one_vector *one = job;
    const share part = chunk_of(one->shares, one->all.A, chunk);
    const int64_t s = share_ended(one->shares, chunk);
    const real sum = one->shares->run(&one->all, &part);
    if (s >= 0) one->carries[s] = (carry){part.begun, sum};
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    const shares *t = p->scratch;
    carry carries[MOST_SHARES];
    const one_vector one = {{A, v->x, (real)v->alpha, (real)v->beta, v->z}, t, carries};
    multiply_chunks(t, shares_of(p), multiply_one, &one);
    add_carries(carries, shares_of(p), one.all.alpha, one.all.y);
    return SPMV_OK;
}

/* ---- several vectors ------------------------------------------------------------------------- */

enum { CARRIED_BYTES = 1 << 14 }; /* on the stack, for all shares together */

static panel panel_of(const spmv_plan *p, const spmv_operands *v) {
    return (panel){.A = (const csr *)p->store,
                   .x = v->x,
                   .y = v->beta == 0 ? v->z : v->y, /* not read then */
                   .z = v->z,
                   .ldx = v->ldx,
                   .ldy = v->beta == 0 ? v->ldz : v->ldy,
                   .ldz = v->ldz,
                   .alpha = (real)v->alpha,
                   .beta = (real)v->beta};
}

/* Adds what the shares have of rows that end in later ones: in order, so that the result
 * repeats. */
static void add_carried(const shares *t, int64_t nshares, const panel *p, const real *carried) {
    for (int64_t s = 0; s < nshares; s++, carried += p->columns) {
        const int64_t row = t->share[s].begun;
        for (int c = 0; row >= 0 && c < p->columns; c++) {
            real *z = p->z + (p->in_columns ? c * p->ldz + row : row * p->ldz + c);
            *z = added(p->alpha, carried[c], *z, PORTABLE_FUSES);
        }
    }
}

/* Says how chunks of a panel are multiplied. */
typedef struct one_panel {
    const panel *all;
    const shares *shares;
    real *carried;            /* all's columns of each share */
    panel_function *multiply; /* not of multiply_rows */
    int most;                 /* columns at a time, of multiply_rows */
    int64_t isa;              /* of multiply_rows */
    real *turned;             /* of multiply_window: each thread has `apart` numbers of it */
    int64_t apart;
} one_panel;

/* Returns where a chunk leaves, from a column on, what it begins of a row: where a share ends, its
 * carried numbers; elsewhere memory that nobody reads. */
static real *carried_of(const one_panel *one, int64_t chunk, int column, real *nothing) {
    const int64_t s = share_ended(one->shares, chunk);
    return s >= 0 ? one->carried + s * one->all->columns + column : nothing;
}

static void multiply_panel(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const share part = chunk_of(one->shares, one->all->A, chunk);
    real nothing[MOST_COLUMNS];
    one->multiply(one->all, &part, carried_of(one, chunk, 0, nothing));
}

static void run_panel(int64_t nshares, one_panel job, chunk_function *multiply) {
    real carried[CARRIED_BYTES / sizeof(real)];
    job.carried = carried;
    multiply_chunks(job.shares, nshares, multiply, &job);
    add_carried(job.shares, nshares, job.all, carried);
}

static bool is_beyond(double bytes, int64_t nshares) {
    const double near_cache = 1 << 20; /* bytes of a core's own */
    return bytes > near_cache * (double)nshares;
}

/* Says what a panel asks for ahead, whose columns of x have so many bytes. */
static void ask_for(const shares *t, panel *p, double x_bytes) {
    p->asks_entries = t->far;
    p->asks_x = t->jumps && is_beyond(x_bytes, 1);
}

/* Says whether rows of z, which caches could not keep, are written past them: in whole vectors, row
 * after row, so that lines are whole, too. */
static bool may_stream(const panel *p, int64_t nshares, int64_t isa) {
    enum { LINE = 64 };
    const size_t vector = vector_bytes(isa), row = (size_t)p->columns * sizeof(real);
    return vector > 0 && row >= LINE && row % vector == 0 && p->beta == 0 && p->ldz == p->columns &&
           (uintptr_t)p->z % vector == 0 &&
           is_beyond((double)p->A->s.rows * p->columns * sizeof(real), nshares);
}

/* Returns how columns of z, which caches could not keep, are written past them; or NULL. */
static put_lines_function *past_caches(const panel *all, int64_t nshares, int64_t isa) {
    const double bytes = (double)all->A->s.rows * all->columns * sizeof(real);
    const bool may = all->beta == 0 && (uintptr_t)all->z % sizeof(real) == 0;
    return may && is_beyond(bytes, nshares) ? way_past(isa) : NULL;
}

static int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

/* Returns a part of the share, from row `first` on: whole rows that a core's own cache keeps, or
 * all that is left. */
static share next_rows(const csr *A, const share *s, int64_t first) {
    enum { KEPT = 1 << 14 }; /* entries */
    share part = *s;
    part.first = first;
    if (first > s->first) part.k = A->row_ptr[first];
    int64_t low = first + 1, high = s->last;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle] - part.k < KEPT)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->last) part.last = low, part.end = A->row_ptr[low];
    return part;
}

/* Multiplies a chunk by all columns: some rows by one panel after the other, while the matrix and x
 * are near. */
static void multiply_rows(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const panel *all = one->all;
    const share whole = chunk_of(one->shares, all->A, chunk);
    real nothing[MOST_COLUMNS];
    share part;
    int64_t first = whole.first;
    do {
        part = next_rows(all->A, &whole, first);
        panel some = *all;
        for (int j = 0; j < all->columns; j += some.columns) {
            some.columns = least(one->most, all->columns - j);
            some.x = all->x + j, some.y = all->y + j, some.z = all->z + j;
            rows_function(one->isa, &some)(&some, &part, carried_of(one, chunk, j, nothing));
        }
        first = part.last;
    } while (first < whole.last);
}

static spmv_status run_rows(const spmv_plan *p, const spmv_operands *v) {
    real carried[CARRIED_BYTES / sizeof(real)];
    const shares *t = p->scratch;
    const int64_t nshares = shares_of(p), isa = p->choice.value[SPMV_isa];
    const int together = CARRIED_BYTES / (int)sizeof(real) / (int)nshares;
    const int most = least(most_columns(isa), together);
    panel all = panel_of(p, v);
    const one_panel one = {.all = &all, .shares = t, .most = most, .isa = isa, .carried = carried};
    ask_for(t, &all, (double)p->cols * (double)v->k * sizeof(real));
    for (int64_t j = 0; j < v->k; j += all.columns) {
        all.columns = least(together, v->k - j);
        all.streams = all.columns == v->k && v->k <= most && may_stream(&all, nshares, isa);
        multiply_chunks(t, nshares, multiply_rows, &one);
        add_carried(t, nshares, &all, carried);
        all.x += all.columns, all.y += all.columns, all.z += all.columns;
    }
    return SPMV_OK;
}

/* Turns the columns of x that a chunk needs into rows, in the thread's part of the plan's panel, so
 * that the chunk finds these rows in the caches. */
static void multiply_window(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const window *w = &one->shares->window[chunk];
    const share part = chunk_of(one->shares, one->all->A, chunk);
    panel some = *one->all;
    real nothing[MOST_COLUMNS], *rows = one->turned + omp_get_thread_num() * one->apart;
    const turning t = {.m = some.columns,
                       .n = w->end - w->first,
                       .from = some.x + w->first,
                       .from_ld = some.ldx,
                       .to = rows,
                       .to_ld = some.columns};
    spmv_turn_part(sizeof(real), &t, 0, 1);
    some.x = rows - w->first * some.columns;
    some.ldx = some.columns;
    one->multiply(&some, &part, carried_of(one, chunk, 0, nothing));
}

/* The next columns, read where they lie or turned into rows of the plan's panel. */
static spmv_status run_some(const spmv_plan *p, panel *all, real *turned) {
    const shares *t = p->scratch;
    const int64_t nshares = shares_of(p), isa = p->choice.value[SPMV_isa];
    panel some = *all;
    one_panel job = {.all = &some, .shares = t, .turned = turned, .apart = room_apart(p, nshares)};
    if (some.columns <= DIRECT && t->near) {
        job.multiply = direct_function(isa, some.columns);
        run_panel(nshares, job, multiply_panel);
        return SPMV_OK;
    }
    if (t->has_windows) {
        some.asks_entries = t->far;
        job.multiply = rows_function(isa, &some);
        run_panel(nshares, job, multiply_window);
        return SPMV_OK;
    }
    some.x = turned, some.ldx = some.columns;
    TRY(p->device->backend->turn(p->device, NULL, sizeof(real), some.columns, p->cols, all->x,
                                 all->ldx, turned, some.ldx));
    ask_for(t, &some, (double)p->cols * some.columns * sizeof(real));
    job.multiply = rows_function(isa, &some);
    run_panel(nshares, job, multiply_panel);
    return SPMV_OK;
}

/* Returns how many columns are multiplied at a time. The plan's panel has room for those of x, z
 * needs none; a window has a cache line of each, so that it stays in the caches. */
static int columns_turned(const spmv_plan *p) {
    const shares *t = p->scratch;
    const int64_t room = SPMV_PANEL_VECTORS * (p->cols + p->rows);
    if (t->has_windows) return WINDOW_COLUMNS;
    return p->cols > 0 ? least(TURNED, room / p->cols) : TURNED;
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    const int64_t nshares = shares_of(p), carried = CARRIED_BYTES / (int64_t)sizeof(real) / nshares;
    const int most = least(columns_turned(p), carried);
    panel all = panel_of(p, v);
    all.in_columns = true;
    all.columns = least(INT32_MAX, v->k);
    all.past = past_caches(&all, nshares, p->choice.value[SPMV_isa]);
    for (int64_t j = 0; j < v->k; j += all.columns) {
        all.columns = least(most, v->k - j);
        TRY(run_some(p, &all, v->panel));
        all.x += all.columns * all.ldx, all.y += all.columns * all.ldy;
        all.z += all.columns * all.ldz;
    }
    return SPMV_OK;
}

static const spmv_param params[] = {
    PARAM_ISA,
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
