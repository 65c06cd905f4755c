/* test_soak.c: property tests. A seed makes a matrix, its vectors and a number of threads; every
 * kernel of every backend at hand multiplies by it, by its transpose and by both, in a precision,
 * an offset width, parameters, scalars, layout and place of arrays that the seed draws, and every
 * column is held to the program's own check. A fault is printed with its seed.
 *
 *     SOAK_SEED=N       begins with this seed, 1
 *     SOAK_MATRICES=N   takes so many, of every size; without it and SOAK_SECONDS a short test
 *     SOAK_SECONDS=N    begins no further matrix after so long
 *     SOAK_STATE=FILE   begins with the seed in FILE, and writes there how far it came
 *     SOAK_BYTES=N      of values and columns of matrices beyond the caches, 64 MB
 *
 * Seeds that 2,000 divides make 200,000 rows; those that 10,000 divides make more than the caches
 * hold. Backends of a GPU build there what they can. */
#include "kernels.h"
#include "matrix/stores/stored.h"
#include <errno.h>
#include <time.h>

enum { MOST = 17 /* vectors */, NEAR = 16 /* numbers to either side of a vector */ };
enum { EVERY_LARGE = 2000, EVERY_HUGE = 10000, LARGE_ROWS = 200000 };

/* ---- what a seed makes ----------------------------------------------------------------------- */

typedef enum numbers_kind { RANDOM, FEW, FLOATS, ONES, CANCEL, TINY, GREAT, ZEROS, KINDS } kind;
static const char *const kinds[] = {"random", "few",  "floats", "ones",
                                    "cancel", "tiny", "great",  "zeros"};

/* Draws a number of the kind. 1e300 is far enough from the largest double that row sums may still
 * be finite. */
static double number_of(kind k, uint64_t *seed) {
    static const double tiny[] = {5e-324, -1e-310, 1e-45, -3e-41, 1e-38, -2.5e-308, 1e-300};
    static const double great[] = {1e300, -1e300, 1e-300, 3e38, -1e30, 1, -1e150};
    const double value = random_entry(draw(seed), 0);
    switch (k) {
    case FEW: return (double)draw_below(seed, 5) - 2;
    case FLOATS: return (double)(float)value;
    case ONES: return 1;
    case CANCEL: return draw_below(seed, 3) ? (draw_below(seed, 2) ? 1e16 : -1e16) : value;
    case TINY: return tiny[draw_below(seed, COUNT(tiny))];
    case GREAT: return great[draw_below(seed, COUNT(great))];
    case ZEROS: return draw_below(seed, 2) ? value : draw_below(seed, 2) ? 0.0 : -0.0;
    default: return value;
    }
}

/* Near where kernels cut: powers of two and multiples of 32. */
static int64_t size_of(uint64_t *seed) {
    const int64_t around = (int64_t)1 << draw_below(seed, 10);
    const int64_t n =
        draw_below(seed, 3) ? draw_below(seed, around + 1) : around - 1 + draw_below(seed, 3);
    return draw_below(seed, 40) == 0 ? 0 : n + (draw_below(seed, 30) == 0 ? 3000 : 0);
}

static int64_t length_of(int pattern, uint64_t *seed, int64_t i, int64_t cols) {
    switch (pattern) {
    case 0: return draw_below(seed, 8);
    case 1: return draw_below(seed, 3) ? 0 : draw_below(seed, 40);
    case 2: return draw_below(seed, 50) ? 2 + i % 2 : cols / 2; /* a few long rows */
    case 3: return 1;
    case 4: return draw_below(seed, cols < 300 ? cols + 1 : 300);
    default: return 1 << draw_below(seed, 8);
    }
}

static int64_t column_of(int pattern, uint64_t *seed, int64_t i, int64_t k, const entries *e) {
    switch (pattern) {
    case 0: return draw_below(seed, e->cols);                       /* anywhere */
    case 1: return (i * e->cols / (e->rows + 1) + k * 3) % e->cols; /* a band */
    case 2: return (i / 3 * 5 + k) % e->cols;                       /* blocks */
    case 3: return draw_below(seed, 1 + draw_below(seed, e->cols)); /* hubs */
    default: return (i + k * (1 + e->cols / 7)) % e->cols;          /* diagonals */
    }
}

/* Columns may meet: those are duplicates. most: entries, about. */
static void fill(entries *e, kind chosen, int64_t most, uint64_t *seed) {
    const int lengths = (int)draw_below(seed, 6), columns = (int)draw_below(seed, 5);
    for (int64_t i = 0; i < e->rows && e->cols > 0 && e->nnz < most; i++) {
        int64_t n = length_of(lengths, seed, i, e->cols);
        if (n > most - e->nnz) n = most - e->nnz;
        for (int64_t k = 0; k < n; k++) {
            int64_t j = column_of(columns, seed, i, k, e), row = i;
            if (e->symmetry != SPMV_GENERAL && j > i) row = j, j = i;
            if (e->symmetry == SPMV_SKEW_SYMMETRIC && row == j) continue;
            add_entry(e, row, j, number_of(chosen, seed));
        }
    }
    if (draw_below(seed, 2)) shuffle(e, draw(seed));
}

typedef struct side { /* what multiplies: A, or its transpose */
    int64_t rows, cols;
    double *x, *y; /* [MOST][cols], [MOST][rows] */
    oracle reference[2][MOST];
    bool made[2][MOST];
} side;

typedef struct scene {
    uint64_t seed, drawn; /* drawn: of what follows the matrix */
    char name[120];
    entries given;
    spmv_ctx *ctx;
    spmv_mat *mat;
    side of[2];
    bool is_large, random_x;
    bool finite[2];  /* x, in each precision */
    int64_t vectors; /* at most */
} scene;

static int64_t wish(const char *name, int64_t otherwise) {
    const char *given = getenv(name);
    return given ? strtoll(given, NULL, 10) : otherwise;
}

static entries large_entries(uint64_t seed) {
    entries e = {.rows = LARGE_ROWS, .cols = LARGE_ROWS - 1000 + draw_below(&seed, 2000)};
    int64_t most = 5 * LARGE_ROWS;
    if (seed % EVERY_HUGE == 0) most = wish("SOAK_BYTES", 64000000) / 12;
    const int64_t each = most / e.rows;
    for (int64_t i = 0; i < e.rows; i++) {
        const int64_t n = i % 1000 == 7 ? 500 : draw_below(&seed, 2 * each);
        for (int64_t k = 0; k < n; k++)
            add_random(&e, i, k % 2 ? draw_below(&seed, e.cols) : (i + k) % e.cols);
    }
    return e;
}

static double *x_of(scene *s, int64_t n, kind k, bool specials) {
    double *v = malloc((size_t)(MOST * n + 1) * sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < s->vectors * n; i++) {
        v[i] = number_of(k, &s->drawn);
        if (specials && draw_below(&s->drawn, 20) == 0)
            v[i] = draw_below(&s->drawn, 2) ? NAN : draw_below(&s->drawn, 2) ? INFINITY : -INFINITY;
    }
    return v;
}

static scene scene_of(uint64_t seed) {
    scene s = {.seed = seed, .drawn = seed, .is_large = seed % EVERY_LARGE == 0};
    uint64_t *d = &s.drawn;
    const kind of_matrix = draw_below(d, 2) ? RANDOM : (kind)draw_below(d, KINDS);
    const kind vectors = draw_below(d, 2) ? RANDOM : (kind)draw_below(d, KINDS);
    const int64_t square = draw_below(d, 3);
    const bool pattern = draw_below(d, 12) == 0;
    const int threads = 1 + (int)draw_below(d, 1 + draw_below(d, 13)); /* often few: they wait */
    s.finite[0] = draw_below(d, 6) != 0;
    s.finite[1] = s.finite[0] && vectors != GREAT;
    s.random_x = vectors == RANDOM && s.finite[0];
    s.vectors = s.is_large ? 3 : MOST;
    if (s.is_large) {
        s.given = large_entries(seed);
    } else {
        s.given.rows = size_of(d);
        s.given.cols = square ? size_of(d) : s.given.rows;
        s.given.symmetry = square ? SPMV_GENERAL : (spmv_symmetry)draw_below(d, 3);
        fill(&s.given, of_matrix, 20 + draw_below(d, 4000), d);
        s.given.pattern = pattern && s.given.symmetry != SPMV_SKEW_SYMMETRIC;
    }
    s.ctx = context_of(threads);
    s.mat = matrix_of(s.ctx, &s.given);
    for (int t = 0; t < 2; t++) {
        side *of = &s.of[t];
        of->rows = t ? s.given.cols : s.given.rows, of->cols = t ? s.given.rows : s.given.cols;
        of->x = x_of(&s, of->cols, vectors, !s.finite[0]);
        of->y = x_of(&s, of->rows, vectors, false);
    }
    snprintf(s.name, sizeof s.name, "seed %llu: %lld x %lld, %lld entries, values %s, x %s%s",
             (unsigned long long)seed, (long long)s.given.rows, (long long)s.given.cols,
             (long long)s.given.nnz, s.given.pattern ? "1" : kinds[of_matrix], kinds[vectors],
             s.finite[0] ? "" : " with infinity and NaN");
    return s;
}

static void scene_free(scene *s) {
    for (int t = 0; t < 2; t++) {
        for (int n = 0; n < 2 * MOST; n++)
            if (s->of[t].made[n / MOST][n % MOST])
                oracle_free(&s->of[t].reference[n / MOST][n % MOST]);
        free(s->of[t].x);
        free(s->of[t].y);
    }
    spmv_mat_free(s->mat);
    spmv_ctx_free(s->ctx);
    entries_free(&s->given);
}

STRUCT_AT_END(scene, scene_free)

static const oracle *reference_of(scene *s, int t, spmv_precision precision, int64_t j) {
    side *of = &s->of[t];
    oracle *o = &of->reference[precision][j];
    if (of->made[precision][j]) return o;
    double *rounded = malloc((size_t)(of->cols + 1) * sizeof *rounded);
    assert_non_null(rounded);
    for (int64_t i = 0; i < of->cols; i++) {
        const double x = of->x[j * of->cols + i];
        rounded[i] = precision == SPMV_F64 ? x : (double)(float)x;
    }
    assert_int_equal(oracle_make(s->mat, t ? SPMV_TRANSPOSE : SPMV_AS_IS, precision, rounded, 1, o),
                     SPMV_OK);
    o->random_x = s->random_x;
    free(rounded);
    of->made[precision][j] = true;
    return o;
}

/* ---- one product ----------------------------------------------------------------------------- */

typedef struct shape { /* how the vectors lie */
    int64_t k;
    spmv_layout layout;
    int64_t padding; /* between columns or rows */
    int64_t at;      /* the first number, from an aligned place */
    bool apart;      /* y lies apart from z */
    double alpha, beta;
} shape;

static int64_t ld_of(const shape *s, int64_t n) {
    return (s->layout == SPMV_ROWS ? s->k : n > 0 ? n : 1) + s->padding;
}

static int64_t numbers_of(const shape *s, int64_t n) { /* with what is around them */
    return ld_of(s, n) * (s->layout == SPMV_ROWS ? n : s->k) + 2 * NEAR;
}

static int64_t place(const shape *s, int64_t n, int64_t i, int64_t j) {
    return s->at + (s->layout == SPMV_ROWS ? i * ld_of(s, n) + j : j * ld_of(s, n) + i);
}

/* Returns the vectors one after the other, with leading dimension n; NULL: NaN. */
static char *spread(const shape *s, int64_t n, const double *vectors, spmv_precision precision,
                    int guard) {
    const size_t bytes = (size_t)numbers_of(s, n) * width_of(precision);
    char *all = malloc(bytes);
    assert_non_null(all);
    memset(all, guard, bytes);
    for (int64_t j = 0; j < s->k; j++)
        for (int64_t i = 0; i < n; i++)
            set_number(all, precision, place(s, n, i, j), vectors ? vectors[j * n + i] : NAN);
    return all;
}

static const char *layout_name(const shape *s) {
    return s->layout == SPMV_ROWS ? "rows" : "columns";
}

static void blame(const setup *c, const scene *s, int t, const shape *v, const char *what) {
    char line[300];
    snprintf(line, sizeof line,
             "%s, k %lld in %s, padding %lld, at %lld%s, alpha %g, beta %g: %.150s",
             t ? "transposed" : "as it is", (long long)v->k, layout_name(v), (long long)v->padding,
             (long long)v->at, v->apart ? ", y apart" : "", v->alpha, v->beta, what);
    complain_about(c, &(subject){.name = s->name, .mat = s->mat}, line);
}

static void check_vectors(const setup *c, scene *s, int t, const shape *v, const char *z) {
    const int64_t rows = s->of[t].rows;
    const size_t width = width_of(c->precision);
    char *column = malloc((size_t)(rows + 1) * width), what[150];
    assert_non_null(column);
    for (int64_t j = 0; j < v->k; j++) {
        char *y0 = vector_of(s->of[t].y + j * rows, rows, c->precision);
        for (int64_t i = 0; i < rows; i++)
            memcpy(column + (size_t)i * width, z + (size_t)place(v, rows, i, j) * width, width);
        const verdict found = oracle_check(reference_of(s, t, c->precision, j), c->precision,
                                           v->alpha, v->beta, y0, column);
        free(y0);
        if (!found.bad_rows) continue;
        snprintf(what, sizeof what, "vector %lld has %lld wrong rows, row %lld is %.17g, not %.17g",
                 (long long)j, (long long)found.bad_rows, (long long)found.first_bad_row, found.got,
                 found.expected);
        blame(c, s, t, v, what);
    }
    free(column);
}

/* Returns whether all bytes between and behind the elements of z are unchanged. */
static bool guards_stay(const shape *v, int64_t n, const char *z, spmv_precision precision) {
    const size_t bytes = (size_t)numbers_of(v, n) * width_of(precision);
    FREED(char) *blank = spread(v, n, NULL, precision, 0xa5), *other = malloc(bytes);
    assert_non_null(other);
    memcpy(other, z, bytes);
    for (int64_t j = 0; j < v->k; j++)
        for (int64_t i = 0; i < n; i++) set_number(other, precision, place(v, n, i, j), NAN);
    const bool same = memcmp(blank, other, bytes) == 0;
    return same;
}

static spmv_status call_of(const spmv_plan *plan, const shape *v, int t, const side *of, void *x,
                           void *y, void *z) {
    const bool is_f32 = spmv_plan_is_f32(plan);
    const size_t skip = (size_t)v->at * width_of(is_f32 ? SPMV_F32 : SPMV_F64);
    const float alpha_f32 = (float)v->alpha, beta_f32 = (float)v->beta;
    const spmv_call call =
        WITH(spmv_call, .alpha = is_f32 ? NULL : &v->alpha, .beta = is_f32 ? NULL : &v->beta,
             .alpha_f32 = is_f32 ? &alpha_f32 : NULL, .beta_f32 = is_f32 ? &beta_f32 : NULL,
             .x = (char *)x + skip, .y = (char *)(v->apart ? y : z) + skip, .z = (char *)z + skip,
             .k = v->k, .ldx = v->padding ? ld_of(v, of->cols) : 0,
             .ldy = v->padding ? ld_of(v, of->rows) : 0, .ldz = v->padding ? ld_of(v, of->rows) : 0,
             .layout = v->layout, .op = t ? SPMV_TRANSPOSE : SPMV_AS_IS);
    if (v->k == 1 && v->padding == 0 && !v->apart && !(plan->op == SPMV_BOTH && t))
        TRY(spmv_exec(plan, v->alpha, call.x, v->beta, call.z));
    else
        TRY(spmv_apply(plan, &call, NULL));
    return plan->device->backend->order ? plan->device->backend->order(plan->device, NULL, false)
                                        : SPMV_OK;
}

/* Twice, where bits must be the same. */
static void try_product_of(const setup *c, scene *s, const spmv_plan *plan, int t, const shape *v) {
    const side *of = &s->of[t];
    const size_t width = width_of(c->precision), x_bytes = (size_t)numbers_of(v, of->cols) * width,
                 z_bytes = (size_t)numbers_of(v, of->rows) * width;
    const bool in_place = !v->apart && v->beta != 0;
    FREED(char) *x = spread(v, of->cols, of->x, c->precision, 0xff);
    FREED(char) *y = spread(v, of->rows, of->y, c->precision, 0xa5);
    char *before = in_place ? y : spread(v, of->rows, NULL, c->precision, 0xa5);
    FREED(char) *z = malloc(z_bytes), *again = malloc(x_bytes > z_bytes ? x_bytes : z_bytes);
    void *x_there = copy_there(plan, x, x_bytes), *y_there = copy_there(plan, y, z_bytes),
         *z_there = copy_there(plan, before, z_bytes);
    assert_true(z && again);
    tally.products++;
    if (call_of(plan, v, t, of, x_there, y_there, z_there) != SPMV_OK) {
        blame(c, s, t, v, spmv_ctx_error(s->ctx));
    } else {
        assert_int_equal(spmv_plan_get(plan, z, z_there, z_bytes), SPMV_OK);
        check_vectors(c, s, t, v, z);
        if (!guards_stay(v, of->rows, z, c->precision))
            blame(c, s, t, v, "wrote between the vectors, or around them");
        assert_int_equal(spmv_plan_get(plan, again, x_there, x_bytes), SPMV_OK);
        if (memcmp(again, x, x_bytes) != 0) blame(c, s, t, v, "x is not what it was");
        assert_int_equal(spmv_plan_put(plan, z_there, before, z_bytes), SPMV_OK);
        if (plan->kernel->traits & SPMV_DETERMINISTIC) {
            assert_int_equal(call_of(plan, v, t, of, x_there, y_there, z_there), SPMV_OK);
            assert_int_equal(spmv_plan_get(plan, again, z_there, z_bytes), SPMV_OK);
            if (memcmp(again, z, z_bytes) != 0) blame(c, s, t, v, "other bits the second time");
        }
    }
    spmv_plan_release(plan, x_there);
    spmv_plan_release(plan, y_there);
    spmv_plan_release(plan, z_there);
    if (!in_place) free(before);
}

static double scalar_of(uint64_t *d, spmv_precision precision) {
    static const double some[] = {0, 1, 1, -1, 2, -0.5, 1e-3, 3e9, -0.0};
    const int64_t which = draw_below(d, COUNT(some) + 3);
    const double a = which < COUNT(some) ? some[which] : random_entry(draw(d), 0);
    return precision == SPMV_F64 ? a : (double)(float)a;
}

static shape shape_of(scene *s, spmv_precision precision) {
    static const int64_t counts[] = {1, 1, 1, 2, 3, 4, 5, 7, 8, 9, 12, 16, 17};
    uint64_t *d = &s->drawn;
    shape v = {.k = counts[draw_below(d, COUNT(counts))],
               .layout = draw_below(d, 2) ? SPMV_ROWS : SPMV_COLUMNS,
               .padding = draw_below(d, 2) ? 0 : draw_below(d, 6),
               .at = draw_below(d, NEAR),
               .apart = draw_below(d, 2),
               .alpha = scalar_of(d, precision),
               .beta = scalar_of(d, precision)};
    if (v.k > s->vectors) v.k = 1 + v.k % s->vectors;
    return v;
}

/* ---- every kernel ---------------------------------------------------------------------------- */

/* The defaults, or a value drawn for each parameter. */
static void draw_settings(setup *c, const spmv_kernel *kernel, scene *s) {
    if (draw_below(&s->drawn, 2)) return;
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        values v = values_of(p, s->given.rows, s->given.cols);
        if (v.count) set(c, p, v.value[draw_below(&s->drawn, v.count)]);
    }
}

/* Says whether padding of this kernel, or of the plan's transpose, meets what x has there. */
static bool multiplies_padding(const spmv_kernel *kernel, const spmv_plan *plan) {
    return kernel && kernel->traits & SPMV_PADS && plan->choice.value[SPMV_rowlens] != 1;
}

/* kernel: NULL: auto. */
static void try_op(setup *c, const spmv_kernel *kernel, scene *s, spmv_op op) {
    uint64_t *d = &s->drawn;
    const shape first = shape_of(s, c->precision);
    if (kernel) draw_settings(c, kernel, s);
    const int threads = (int)draw_below(d, spmv_ctx_threads(s->ctx) + 1);
    const spmv_plan_opts opts = WITH(
        spmv_plan_opts, .kernel = c->kernel, .precision = c->precision,
        .offset_bits = c->offset_bits, .settings = c->setting, .nsettings = c->nsettings,
        .max_bytes = 4 * budget, .op = op, .threads = kernel || draw_below(d, 2) ? threads : 0,
        .expected_calls = draw_below(d, 2) ? 5 : 1000, .vectors = draw_below(d, 3) ? first.k : 0,
        .layout = draw_below(d, 3) ? first.layout : 0);
    FREED(spmv_plan) *plan = NULL;
    const spmv_status status = spmv_plan_create(s->mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG) {
        tally.refused++;
    } else if (status != SPMV_OK) {
        complain_about(c, &(subject){.name = s->name, .mat = s->mat}, spmv_ctx_error(s->ctx));
    } else if (s->finite[c->precision] || !multiplies_padding(plan->kernel, plan)) {
        for (int t = 0; t < 2; t++) {
            if (op != SPMV_BOTH && (op == SPMV_TRANSPOSE) != t) continue;
            const shape v = draw_below(d, 2) ? first : shape_of(s, c->precision);
            try_product_of(c, s, plan, t, &v);
        }
    }
}

/* Tests each op; for large matrices one op. */
static void try_seed(uint64_t seed) {
    static const spmv_op ops[] = {SPMV_AS_IS, SPMV_TRANSPOSE, SPMV_BOTH};
    const int64_t wrong = tally.wrong;
    FREED(scene) s = scene_of(seed);
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = -1; is_tested(s.ctx, *b) && k < (*b)->nkernels; k++) {
            if (k >= 0 && !is_here(*b, k)) continue;
            if (k < 0 && (draw_below(&s.drawn, 4) || s.is_large)) continue;
            const int only = s.is_large || k < 0 ? (int)draw_below(&s.drawn, COUNT(ops)) : -1;
            for (int o = 0; o < COUNT(ops); o++) {
                const int variant = (int)draw_below(&s.drawn, SPMV_NVARIANTS);
                if (only >= 0 && o != only) continue;
                setup c = setup_of(*b, k < 0 ? 0 : k, variant);
                if (k < 0) snprintf(c.kernel, sizeof c.kernel, "%s:auto", (*b)->name);
                try_op(&c, k < 0 ? NULL : (*b)->kernels[k][variant], &s, ops[o]);
            }
        }
    if (tally.wrong > wrong)
        print_error("again: SOAK_SEED=%llu SOAK_MATRICES=1 %s\n", (unsigned long long)seed,
                    program_invocation_name);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void try_seeds(uint64_t first, int64_t count, int64_t *done) {
    const time_t begun = time(NULL);
    const int64_t seconds = wish("SOAK_SECONDS", 0);
    tally = (struct tally){0};
    for (*done = 0; *done < count && (!seconds || time(NULL) - begun < seconds); ++*done) {
        try_seed(first + (uint64_t)*done);
        if (tally.wrong >= MOST_PRINTED) break;
    }
    print_message("seeds %llu to %llu: %lld products of %lld matrices, %lld plans refused\n",
                  (unsigned long long)first, (unsigned long long)(first + (uint64_t)*done) - 1,
                  (long long)tally.products, (long long)*done, (long long)tally.refused);
}

static void short_run(uint64_t first, int64_t count) {
    int64_t done;
    if (getenv("SOAK_MATRICES") || getenv("SOAK_SECONDS")) skip();
    try_seeds(first, count, &done);
    assert_int_equal(tally.wrong, 0);
    assert_true(tally.products > 10 * count && tally.refused < tally.products);
}

TEST(small_matrices_are_right) {
    short_run((uint64_t)wish("SOAK_SEED", 1), is_emulated() ? 2 : are_few() ? 40 : 150);
}

TEST(large_matrices_are_right) {
    if (is_emulated()) skip();
    short_run(EVERY_LARGE, 1);
}

TEST(a_matrix_beyond_the_caches_is_right) {
    if (is_emulated()) skip();
    setenv("SOAK_BYTES", "16000000", 0);
    short_run(EVERY_HUGE, 1);
}

TEST(a_long_run_finds_nothing) {
    const char *path = getenv("SOAK_STATE");
    unsigned long long first = (unsigned long long)wish("SOAK_SEED", 1);
    int64_t done;
    if (!getenv("SOAK_MATRICES") && !getenv("SOAK_SECONDS")) skip();
    FILE *file = path ? fopen(path, "r") : NULL;
    if (file) {
        assert_int_equal(fscanf(file, "%llu", &first), 1);
        fclose(file);
    }
    try_seeds(first, wish("SOAK_MATRICES", INT64_MAX), &done);
    if (path) {
        assert_non_null(file = fopen(path, "w"));
        fprintf(file, "%llu\n", first + (unsigned long long)done);
        assert_int_equal(fclose(file), 0);
    }
    assert_int_equal(tally.wrong, 0);
}

TEST_MAIN(take_backend, NULL, NULL)
