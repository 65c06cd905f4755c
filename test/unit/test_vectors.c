/* test_vectors.c: products of several vectors and by the transpose: every kernel of every backend
 * at hand, in both layouts, with leading dimensions, scalars and y apart from z, against the
 * program's own check of every column. Columns differ in their numbers, and what lies between them
 * must stay as it was. */
#include "kernels.h"
#include "spmv_order.h"
#include "planted_vectors.h"

enum { MOST = 100 /* vectors */, PADDING = 3 };

/* ---- a matrix, its transpose, and the reference of every column ------------------------------ */

typedef struct side { /* what multiplies: A, or its transpose */
    int64_t rows, cols;
    double *x, *y; /* [MOST][cols], [MOST][rows] */
    oracle reference[2][MOST];
} side;

typedef struct pair {
    const char *name;
    spmv_mat *mat, *turned;
    side of[2];
    int vectors; /* with a reference */
} pair;

static void exchange(entries *e) {
    int32_t *row = e->row;
    int64_t rows = e->rows;
    e->row = e->col, e->col = row;
    e->rows = e->cols, e->cols = rows;
    if (e->symmetry == SPMV_SKEW_SYMMETRIC)
        for (int64_t k = 0; k < e->nnz; k++) e->values[k] = -e->values[k];
    if (e->symmetry != SPMV_GENERAL) { /* the triangle that files have */
        row = e->row, e->row = e->col, e->col = row;
    }
}

static side side_of(const spmv_mat *mat, uint64_t seed, int vectors) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_mat_stats(mat, &stats);
    side s = {.rows = stats.rows, .cols = stats.cols};
    s.x = random_vector(seed, MOST * s.cols);
    s.y = random_vector(seed + 1, MOST * s.rows);
    for (int p = 0; p < 2; p++)
        for (int j = 0; j < vectors; j++)
            s.reference[p][j] = oracle_of(mat, s.x + j * s.cols, s.cols, (spmv_precision)p);
    return s;
}

static pair pair_of(const char *name, int threads, int vectors) {
    spmv_ctx *ctx = context_of(threads);
    entries e = entries_of(fixture_named(name));
    pair p = {.name = name, .vectors = vectors, .mat = matrix_of(ctx, &e)};
    exchange(&e);
    p.turned = matrix_of(ctx, &e);
    entries_free(&e);
    p.of[0] = side_of(p.mat, 11, vectors);
    p.of[1] = side_of(p.turned, 21, vectors);
    return p;
}

static void pair_free(pair *p) {
    spmv_ctx *ctx = p->mat->ctx;
    for (int t = 0; t < 2; t++) {
        for (int k = 0; k < 2 * p->vectors; k++)
            oracle_free(&p->of[t].reference[k / p->vectors][k % p->vectors]);
        free(p->of[t].x);
        free(p->of[t].y);
    }
    spmv_mat_free(p->turned);
    spmv_mat_free(p->mat);
    spmv_ctx_free(ctx);
}

STRUCT_AT_END(pair, pair_free)

/* ---- one product ----------------------------------------------------------------------------- */

typedef struct shape { /* how the vectors lie */
    int64_t k;
    spmv_layout layout;
    int64_t padding; /* between columns or rows */
    bool apart;      /* y lies apart from z */
    double alpha, beta;
} shape;

static int64_t ld_of(const shape *s, int64_t n) {
    return (s->layout == SPMV_ROWS ? s->k : n > 0 ? n : 1) + s->padding;
}

static int64_t numbers_of(const shape *s, int64_t n) { /* with what is behind the last */
    return ld_of(s, n) * (s->layout == SPMV_ROWS ? n : s->k) + PADDING;
}

static int64_t place(const shape *s, int64_t n, int64_t i, int64_t j) {
    return s->layout == SPMV_ROWS ? i * ld_of(s, n) + j : j * ld_of(s, n) + i;
}

/* Returns the columns one after the other, with leading dimension n; NULL: NaN. */
static char *spread(const shape *s, int64_t n, const double *columns, spmv_precision precision,
                    int guard) {
    const size_t bytes = (size_t)numbers_of(s, n) * width_of(precision);
    char *all = malloc(bytes);
    assert_non_null(all);
    memset(all, guard, bytes);
    for (int64_t j = 0; j < s->k; j++)
        for (int64_t i = 0; i < n; i++)
            set_number(all, precision, place(s, n, i, j), columns ? columns[j * n + i] : NAN);
    return all;
}

static void check_columns(const setup *c, const pair *p, int t, const shape *s, const char *z) {
    const side *of = &p->of[t];
    char what[200];
    FREED(double) *column = malloc((size_t)(of->rows + 1) * sizeof *column);
    assert_non_null(column);
    for (int64_t j = 0; j < s->k && j < p->vectors; j++) {
        char *y0 = vector_of(of->y + j * of->rows, of->rows, c->precision);
        for (int64_t i = 0; i < of->rows; i++)
            set_number(column, c->precision, i,
                       number_at(z, c->precision, place(s, of->rows, i, j)));
        const verdict v = oracle_check(&of->reference[c->precision][j], c->precision, s->alpha,
                                       s->beta, y0, column);
        free(y0);
        if (!v.bad_rows) continue;
        snprintf(what, sizeof what,
                 "%s, k %lld in %s, padding %lld, alpha %g, beta %g: column %lld has %lld wrong "
                 "rows, row %lld is %g, not %g",
                 t ? "transposed" : "as it is", (long long)s->k,
                 s->layout == SPMV_ROWS ? "rows" : "columns", (long long)s->padding, s->alpha,
                 s->beta, (long long)j, (long long)v.bad_rows, (long long)v.first_bad_row, v.got,
                 v.expected);
        complain_about(c, &(subject){.name = p->name, .mat = p->mat}, what);
    }
}

/* Returns whether all bytes between and behind the elements of z are unchanged. */
static bool guards_stay(const shape *s, int64_t n, char *z, spmv_precision precision, int guard) {
    FREED(char) *blank = spread(s, n, NULL, precision, guard);
    for (int64_t j = 0; j < s->k; j++)
        for (int64_t i = 0; i < n; i++) set_number(z, precision, place(s, n, i, j), NAN);
    const bool same = memcmp(blank, z, (size_t)numbers_of(s, n) * width_of(precision)) == 0;
    return same;
}

/* By the transpose if t is 1. Returns z, which the caller frees. */
static char *multiply_block(const setup *c, const pair *p, const spmv_plan *plan, int t,
                            const shape *s) {
    const side *of = &p->of[t];
    const size_t width = width_of(c->precision);
    const size_t x_bytes = (size_t)numbers_of(s, of->cols) * width,
                 z_bytes = (size_t)numbers_of(s, of->rows) * width;
    const bool in_place = !s->apart && s->beta != 0;
    char *x = spread(s, of->cols, of->x, c->precision, 0xff);
    char *y = spread(s, of->rows, of->y, c->precision, 0xa5);
    char *z = in_place ? spread(s, of->rows, of->y, c->precision, 0xa5)
                       : spread(s, of->rows, NULL, c->precision, 0xa5);
    void *x_there = copy_there(plan, x, x_bytes), *y_there = copy_there(plan, y, z_bytes),
         *z_there = copy_there(plan, z, z_bytes);
    const float alpha_f32 = (float)s->alpha, beta_f32 = (float)s->beta;
    const bool is_f32 = c->precision == SPMV_F32;
    const spmv_call call =
        WITH(spmv_call, .alpha = is_f32 ? NULL : &s->alpha, .beta = is_f32 ? NULL : &s->beta,
             .alpha_f32 = is_f32 ? &alpha_f32 : NULL, .beta_f32 = is_f32 ? &beta_f32 : NULL,
             .x = x_there, .y = s->apart ? y_there : z_there, .z = z_there, .k = s->k,
             .ldx = s->padding ? ld_of(s, of->cols) : 0, .ldy = s->padding ? ld_of(s, of->rows) : 0,
             .ldz = s->padding ? ld_of(s, of->rows) : 0, .layout = s->layout,
             .op = t ? SPMV_TRANSPOSE : SPMV_AS_IS);
    tally.products++;
    const subject about = {.name = p->name, .mat = p->mat};
    if (spmv_apply(plan, &call, NULL) != SPMV_OK)
        complain_about(c, &about, spmv_ctx_error(p->mat->ctx));
    assert_int_equal(plan->device->backend->order
                         ? plan->device->backend->order(plan->device, NULL, false)
                         : SPMV_OK,
                     SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, z, z_there, z_bytes), SPMV_OK);
    spmv_plan_release(plan, x_there);
    spmv_plan_release(plan, y_there);
    spmv_plan_release(plan, z_there);
    free(x);
    free(y);
    return z;
}

static void try_block(const setup *c, const pair *p, const spmv_plan *plan, int t, const shape *s) {
    const subject about = {.name = p->name, .mat = p->mat};
    FREED(char) *z = multiply_block(c, p, plan, t, s);
    check_columns(c, p, t, s, z);
    if (!guards_stay(s, p->of[t].rows, z, c->precision, 0xa5))
        complain_about(c, &about, "wrote between the vectors, or behind them");
}

/* ---- every kernel ---------------------------------------------------------------------------- */

static const shape shapes[] = {
    {1, SPMV_ROWS, 4, true, 2, -1},     {1, SPMV_COLUMNS, 0, true, 1, 1},
    {2, SPMV_COLUMNS, 0, false, 1, 0},  {3, SPMV_ROWS, 0, false, -0.5, 0},
    {3, SPMV_COLUMNS, 5, true, 2, -1},  {7, SPMV_ROWS, 1, true, 2, -1},
    {7, SPMV_COLUMNS, 2, false, 2, -1}, {8, SPMV_ROWS, 0, false, 1, 1},
    {17, SPMV_ROWS, 2, false, 1, 0},    {17, SPMV_COLUMNS, 0, true, 1, 1},
};

static spmv_plan *plan_for(const setup *c, const pair *p, spmv_op op, const shape *s) {
    const spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
             .offset_bits = c->offset_bits, .settings = c->setting, .nsettings = c->nsettings,
             .max_bytes = budget, .op = op, .vectors = s ? s->k : 0, .layout = s ? s->layout : 0);
    spmv_plan *plan = NULL;
    const spmv_status status = spmv_plan_create(p->mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG)
        tally.refused++;
    else if (status != SPMV_OK)
        complain_about(c, &(subject){.name = p->name, .mat = p->mat}, spmv_ctx_error(p->mat->ctx));
    return plan;
}

/* The plan is made for the first shape it multiplies, or for one vector. */
static void try_in_order(const spmv_backend *backend, int k, const pair *p, int turn,
                         int64_t order) {
    static const spmv_op ops[] = {SPMV_AS_IS, SPMV_TRANSPOSE, SPMV_BOTH};
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++)
        for (int o = 0; o < COUNT(ops); o++) {
            if (backend->host && (variant + o + turn) % 2) continue; /* to save time */
            setup c = setup_of(backend, k, variant);
            const spmv_param *takes = spmv_param_of(backend->kernels[k][variant], SPMV_order);
            if (takes) set(&c, takes, order);
            const spmv_param *isa = spmv_param_of(backend->kernels[k][variant], SPMV_isa);
            if (isa && o > 0) set(&c, isa, 1 + (turn + o) % best_isa()); /* 0 is the best */
            const shape *first = &shapes[(size_t)(turn + variant) % COUNT(shapes)];
            FREED(spmv_plan) *plan = plan_for(&c, p, ops[o], (turn + o) % 3 ? first : NULL);
            if (!plan) continue;
            for (int t = 0; t < 2; t++)
                for (int n = 0; n < COUNT(shapes); n++)
                    if (ops[o] == SPMV_BOTH || (ops[o] == SPMV_TRANSPOSE) == t)
                        try_block(&c, p, plan, t, &shapes[n]);
        }
}

static void try_kernel(const spmv_backend *backend, int k, const pair *p, int turn) {
    const bool takes_order = spmv_param_of(backend->kernels[k][0], SPMV_order) != NULL;
    try_in_order(backend, k, p, turn, SPMV_ROWS_KEEP);
    if (takes_order) try_in_order(backend, k, p, turn, SPMV_ROWS_ENDS + turn % 2);
}

static const char *const names[] = {"0 x 7",          "7 x 0",      "no entries", "one row",
                                    "one column",     "dense row",  "empty rows", "symmetric",
                                    "skew-symmetric", "duplicates", "pattern",    "long tail"};

TEST(every_kernel_multiplies_blocks) {
    tally = (struct tally){0};
    for (int f = 0; f < COUNT(names); f++) {
        FREED(pair) p = pair_of(names[f], 1 + f % 3, 17);
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int k = 0; is_tested(p.mat->ctx, *b) && k < (*b)->nkernels; k++)
                if (is_here(*b, k) && is_wanted(*b, k)) try_kernel(*b, k, &p, f + k);
    }
    print_message("%lld products, %lld refused\n", (long long)tally.products,
                  (long long)tally.refused);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.products > 0 && tally.refused < tally.products / 10);
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* A column's bits do not depend on the other columns and, for k > 1, not on k; each column is
 * right. */
static void try_bits(const spmv_backend *backend, int k, const pair *p, spmv_layout layout,
                     int variant, int64_t instructions, int64_t order) {
    static const int64_t counts[] = {2, 3, 7, 16, 33, 64, 100};
    setup c = setup_of(backend, k, variant);
    const size_t width = width_of(c.precision);
    const spmv_param *isa = spmv_param_of(backend->kernels[k][0], SPMV_isa);
    if (!isa && instructions > 0) return;
    if (isa) set(&c, isa, instructions);
    const spmv_param *takes = spmv_param_of(backend->kernels[k][0], SPMV_order);
    if (!takes && order) return;
    if (takes) set(&c, takes, order);
    const shape most = {MOST, layout, 0, false, 1.5, -0.7};
    if (!(backend->kernels[k][0]->traits & SPMV_DETERMINISTIC)) return;
    spmv_plan *plan = plan_for(&c, p, SPMV_AS_IS, &most);
    if (!plan) return;
    char *widest = multiply_block(&c, p, plan, 0, &most);
    check_columns(&c, p, 0, &most, widest);
    for (int n = 0; n < COUNT(counts); n++) {
        const shape s = {counts[n], layout, 1, false, 1.5, -0.7};
        FREED(char) *z = multiply_block(&c, p, plan, 0, &s);
        int64_t different = 0;
        for (int64_t j = 0; j < s.k; j++)
            for (int64_t i = 0; i < p->of[0].rows; i++) {
                const size_t a = (size_t)place(&s, p->of[0].rows, i, j) * width,
                             b = (size_t)place(&most, p->of[0].rows, i, j) * width;
                different += memcmp(z + a, widest + b, width) != 0;
            }
        if (different)
            complain_about(&c, &(subject){.name = p->name, .mat = p->mat},
                           "the bits of a column depend on how many there are");
        check_columns(&c, p, 0, &s, z);
        if (!guards_stay(&s, p->of[0].rows, z, c.precision, 0xa5))
            complain_about(&c, &(subject){.name = p->name, .mat = p->mat},
                           "wrote between the vectors, or behind them");
    }
    free(widest);
    spmv_plan_free(plan);
}

TEST(bits_depend_on_no_other_column) {
    static const char *const some[] = {"every length", "dense row", "giant row"};
    tally = (struct tally){0};
    for (int f = 0; f < COUNT(some); f++) {
        FREED(pair) p = pair_of(some[f], 2, MOST);
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int k = 0; is_tested(p.mat->ctx, *b) && k < (*b)->nkernels; k++)
                for (int64_t isa = 0; is_here(*b, k) && is_wanted(*b, k) && isa <= best_isa();
                     isa++) {
                    try_bits(*b, k, &p, SPMV_COLUMNS, SPMV_F64_O32, isa, SPMV_ROWS_KEEP);
                    try_bits(*b, k, &p, SPMV_COLUMNS, SPMV_F32_O32, isa, SPMV_ROWS_KEEP);
                    try_bits(*b, k, &p, SPMV_ROWS, SPMV_F64_O32, isa, SPMV_ROWS_KEEP);
                    try_bits(*b, k, &p, SPMV_COLUMNS, SPMV_F64_O32, isa, SPMV_ROWS_HASH);
                    try_bits(*b, k, &p, SPMV_ROWS, SPMV_F32_O32, isa, SPMV_ROWS_ENDS);
                }
    }
    assert_int_equal(tally.wrong, 0);
}

/* ---- the check is checked -------------------------------------------------------------------- */

/* Returns how many complaints there are about products by a kernel with that fault. */
static int64_t complaints_about(vector_fault fault, const pair *p, int t) {
    setup c = {.kernel = "omp:csr_serial", .precision = SPMV_F64, .offset_bits = 32};
    spmv_kernel kernel;
    tally = (struct tally){.wrong = MOST_PRINTED}; /* none is printed */
    spmv_plan *plan = plan_for(&c, p, t ? SPMV_TRANSPOSE : SPMV_AS_IS, NULL);
    assert_non_null(plan);
    plant_vectors(plan, &kernel, fault);
    for (int n = 0; n < COUNT(shapes); n++) try_block(&c, p, plan, t, &shapes[n]);
    spmv_plan_free(plan);
    const int64_t wrong = tally.wrong - MOST_PRINTED;
    tally = (struct tally){0};
    return wrong;
}

/* Rows are multiplied some at a time where several panels are: shares of many entries have several
 * such parts, one of which begins within a row. All columns are the same, and so are their bits. */
static void same_bits_in_all_panels(const char *name, int threads) {
    enum { K = 33 };
    static const int columns[] = {1, 2, 4, 7, 9, 16, 25, K};
    FREED(spmv_ctx) *ctx = context_of(threads);
    FREED(spmv_mat) *mat = must_load(ctx, name);
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    assert_int_equal(spmv_mat_rows(mat, &A), SPMV_OK);
    const int N = (int)A.rows;
    const spmv_plan_opts opts = {
        .size = sizeof opts, .kernel = "csr_balanced", .vectors = K, .layout = SPMV_ROWS};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    const size_t bytes = sizeof(double) * (size_t)N * K;
    FREED(double) *one = random_vector(3, N), *x = malloc(bytes), *z = malloc(bytes);
    for (int i = 0; i < N * K; i++) x[i] = one[i / K];
    for (int n = 0; n < COUNT(columns); n++) {
        const int k = columns[n];
        spmv_call call = {.size = sizeof call, .x = x, .z = z, .k = k, .ldx = K, .ldz = K};
        memset(z, 0xff, bytes);
        assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int64_t e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++)
                sum += A.values[e] * one[A.col_idx[e]];
            assert_true(fabs(z[i * K] - sum) <= 1e-12 * (1 + fabs(sum)));
            for (int c = 1; c < k; c++) assert_memory_equal(z + i * K, z + i * K + c, sizeof *z);
        }
    }
}

/* Kernels prefetch all entries of the second matrix. */
TEST(many_rows_have_the_same_bits_in_all_panels) {
    same_bits_in_all_panels("gen:random:2000:60", 3);
    same_bits_in_all_panels("gen:banded:50000:31", 1);
}

TEST(planted_faults_are_caught) {
    static const char *const some[] = {"every length", "duplicates", "empty rows"};
    if (only_backend && strcmp(only_backend, "omp") != 0) skip();
    for (int f = 0; f < COUNT(some); f++) {
        FREED(pair) p = pair_of(some[f], 1, 17);
        for (int t = 0; t < 2; t++) assert_int_equal(complaints_about(NO_FAULT, &p, t), 0);
        for (int fault = NO_FAULT + 1; f == 0 && fault < LEAVES_LAST_BLOCKS; fault++)
            assert_true(complaints_about((vector_fault)fault, &p, 0) > 0);
        for (int fault = SWAPS_VECTORS; f == 0 && fault < LOSES_DUPLICATES; fault++)
            assert_true(complaints_about((vector_fault)fault, &p, 0) > 0);
        if (f == 1) assert_true(complaints_about(LOSES_DUPLICATES, &p, 1) > 0);
        if (f == 2) assert_true(complaints_about(LOSES_EMPTY_ROWS, &p, 0) > 0);
    }
}
/* All columns together exceed the near caches, two columns do not: kernels then use non-temporal
 * stores, to addresses at any offset in a cache line. */
static void columns_beyond_the_caches_have_the_same_bits(const spmv_mat *mat, int64_t isa,
                                                         spmv_precision precision) {
    enum { N = 20011, K = 35, LD = N + 3, MARK = 0x5a };
    const spmv_setting set = {"isa", isa};
    const spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = "csr_balanced", .vectors = K, .layout = SPMV_COLUMNS,
             .precision = precision, .settings = &set, .nsettings = 1);
    const size_t width = width_of(precision), bytes = (size_t)LD * K * width;
    spmv_plan *plan = must_plan((spmv_mat *)(uintptr_t)mat, &opts);
    double *random = random_vector(5, N * K);
    char *x = malloc(bytes), *all = malloc(bytes + width), *z = all + width, *two = malloc(bytes);
    for (int64_t i = 0; i < N * K; i++) set_number(x, precision, i, random[i]);
    memset(all, MARK, bytes + width);
    spmv_call call = {.size = sizeof call, .x = x, .z = z, .k = K, .ldx = N, .ldz = LD};
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    call.k = 2, call.z = two;
    for (int64_t j = 0; j < K; j++) {
        const int64_t first = j < K - 1 ? j : j - 1; /* first of two columns, j among them */
        call.x = x + (size_t)(first * N) * width;
        if (j == first) assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
        assert_memory_equal(z + (size_t)(j * LD) * width, two + (size_t)((j - first) * LD) * width,
                            N * width);
        for (size_t b = 0; b < (LD - N) * width; b++)
            assert_int_equal(z[(size_t)(j * LD + N) * width + b], MARK);
    }
    for (size_t b = 0; b < width; b++) assert_int_equal(all[b], MARK);
    free(random);
    free(x);
    free(all);
    free(two);
    spmv_plan_free(plan);
}

TEST(many_rows_have_the_same_bits_in_all_columns) {
    for (int threads = 1; threads <= 3; threads += 2) {
        FREED(spmv_ctx) *ctx = context_of(threads);
        FREED(spmv_mat) *mat = must_load(ctx, "gen:random:20011:5");
        for (int64_t isa = 1; isa <= best_isa(); isa++)
            for (int p = 0; p < 2; p++)
                columns_beyond_the_caches_have_the_same_bits(mat, isa, (spmv_precision)p);
    }
}

/* x fills whole pages: memcheck sees what reads behind them, and so does the emulator with a
 * sanitizer. A power of two of lanes loads a row of it, of which the last may have no vector. */
static void try_whole_pages(const spmv_backend *backend, int k, spmv_mat *mat, int64_t vectors,
                            spmv_precision precision) {
    enum { N = 512 };
    setup c = setup_of(backend, k, precision == SPMV_F32 ? SPMV_F32_O32 : SPMV_F64_O32);
    const pair p = {.name = "whole pages", .mat = mat};
    const shape s = {vectors, SPMV_ROWS, 0, false, 1, 0};
    const size_t bytes = (size_t)(N * vectors) * width_of(precision);
    spmv_plan *plan = plan_for(&c, &p, SPMV_AS_IS, &s);
    if (!plan) return;
    char *here = malloc(bytes);
    for (int64_t n = 0; n < N * vectors; n++) set_number(here, precision, n, (double)(n % vectors));
    void *x = copy_there(plan, here, bytes), *z = copy_there(plan, here, bytes);
    const spmv_call call = {.size = sizeof call, .x = x, .z = z, .k = vectors, .layout = SPMV_ROWS};
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    assert_int_equal(backend->order(plan->device, NULL, false), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, here, z, bytes), SPMV_OK);
    double sum = 0; /* sum of the last row */
    for (int64_t e = mat->csr.row_ptr[N - 1]; e < mat->csr.nnz; e++) sum += mat->csr.values[e];
    for (int64_t j = 0; j < vectors; j++) {
        const double z_j = number_at(here, precision, (N - 1) * vectors + j);
        assert_true(fabs(z_j - sum * (double)j) < 1e-4 * (double)(j + 1));
    }
    spmv_plan_release(plan, x);
    spmv_plan_release(plan, z);
    free(here);
    spmv_plan_free(plan);
}

TEST(nothing_behind_x_is_read) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(spmv_mat) *mat = must_load(ctx, "gen:banded:512:3");
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_tested(ctx, *b) && !(*b)->host && k < (*b)->nkernels; k++) {
            if (!is_here(*b, k) || !(*b)->kernels[k][0]->run_rows) continue;
            try_whole_pages(*b, k, mat, 6, SPMV_F64);
            try_whole_pages(*b, k, mat, 34, SPMV_F64);
            try_whole_pages(*b, k, mat, 12, SPMV_F32);
        }
    assert_int_equal(tally.wrong, 0);
}

/* So many columns are written by non-temporal stores; they end in their first cache line, or right
 * behind it. */
TEST(gaps_between_short_columns_stay) {
    enum { N = 6, LD = 7, VECTORS = 40000 };
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(double) *x = malloc(VECTORS * LD * sizeof *x), *z = malloc(VECTORS * LD * sizeof *z);
    assert_true(x && z);
    FREED(spmv_mat) *mat = must_load(ctx, "gen:diagonal:6");
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(A.nnz, N);
    for (int n = 0; n < VECTORS * LD; n++) x[n] = n, z[n] = -1;
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:csr_balanced"};
    const spmv_call call = {
        .size = sizeof call, .x = x, .z = z, .k = VECTORS, .ldx = LD, .ldz = LD};
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    for (int n = 0; n < VECTORS * LD; n++)
        assert_true(z[n] == (n % LD < N ? A.values[n % LD] * n : -1));
}

TEST_MAIN(take_backend, NULL, NULL)
