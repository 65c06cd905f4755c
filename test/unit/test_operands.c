/* test_operands.c: a property test of spmv_apply. A seed draws a matrix, plans for it, and calls of
 * each plan: the number of vectors, their layout, scalars, and the places of x, y, z, w and the
 * sums in one array, each with a leading dimension. They lie apart, between each other or anywhere:
 * what must not overlap is refused. The reference is the definition, in long double. Numbers are
 * small multiples of 1/4, so that sums are exact in any order and precision. Every number that is
 * no operand is NaN, and must stay as it was.
 *
 *     OPERANDS_SEED=N     begins with this seed, 1
 *     OPERANDS_SEEDS=N    seeds of each kernel; of arrays that may change 20 times as many */
#include "kernels.h"
#include <malloc.h>

enum { X, Y, Z, W, WZ, ZZ, OPERANDS };
enum { MOST = 19 /* vectors */, CALLS = 6 /* of a plan */ };
static const char *const names[] = {"x", "y", "z", "w", "dot_wz", "dot_zz"};

/* ---- a matrix ------------------------------------------------------------------------------- */

typedef enum kind { BY_ROWS, BY_COLUMNS, COORDINATES, BLOCKS, KEPT } kind;

typedef struct drawn {
    uint64_t seed;
    kind kind; /* all but KEPT: arrays that may change */
    spmv_precision precision;
    int ptr_bits, idx_bits;
    int64_t tall, wide; /* rows and columns of a block, 1 of all else */
    int64_t lines, places, nnz;
    int64_t *ptr, *idx, *line; /* compressed lines, and coordinates */
    int32_t *ptr32, *idx32, *line32;
    void *values;
    entries e; /* the same, as the reference has it */
    spmv_mat *mat;
} drawn;

static double small_number(uint64_t *seed) {
    return (double)draw_below(seed, 9) - 4;
}

static void *room_of(int64_t n) {
    void *memory = calloc((size_t)n + 1, sizeof(double));
    assert_non_null(memory);
    return memory;
}

/* Draws places and values anew; offsets may end before nnz. */
static void fill(drawn *d) {
    const bool is_whole = d->kind == COORDINATES || d->kind == KEPT;
    const int64_t end = is_whole ? d->nnz : d->nnz - draw_below(&d->seed, d->nnz + 1) / 8;
    for (int64_t i = 0; i <= d->lines; i++) d->ptr[i] = spmv_split(end, d->lines, i);
    for (int64_t i = 1; i < d->lines; i++) /* uneven, ascending */
        d->ptr[i] -= draw_below(&d->seed, d->ptr[i] - d->ptr[i - 1] + 1);
    for (int64_t i = 0; i <= d->lines; i++) d->ptr32[i] = (int32_t)d->ptr[i];
    for (int64_t k = 0; k < d->nnz; k++) {
        d->idx[k] = draw_below(&d->seed, d->places), d->line[k] = draw_below(&d->seed, d->lines);
        d->idx32[k] = (int32_t)d->idx[k], d->line32[k] = (int32_t)d->line[k];
    }
    d->e.nnz = 0;
    for (int64_t i = 0; i < (d->kind == COORDINATES ? 1 : d->lines); i++) {
        const bool listed = d->kind == COORDINATES;
        for (int64_t k = listed ? 0 : d->ptr[i]; k < (listed ? d->nnz : d->ptr[i + 1]); k++)
            for (int64_t r = 0; r < d->tall; r++)
                for (int64_t c = 0; c < d->wide; c++) {
                    const double value = small_number(&d->seed);
                    int64_t row = (listed ? d->line[k] : i) * d->tall + r,
                            col = d->idx[k] * d->wide + c;
                    if (d->kind == BY_COLUMNS) row = d->idx[k], col = i;
                    if (d->e.symmetry != SPMV_GENERAL && col > row) continue;
                    if (d->e.symmetry == SPMV_SKEW_SYMMETRIC && col == row) continue;
                    set_number(d->values, d->precision, (k * d->tall + r) * d->wide + c, value);
                    add_entry(&d->e, row, col, value);
                }
    }
}

static spmv_arrays arrays_of(const drawn *d) {
    const bool listed = d->kind == COORDINATES, wide_idx = d->idx_bits == 64;
    const void *ptr = d->ptr_bits == 64 ? (const void *)d->ptr : d->ptr32;
    const void *line = wide_idx ? (const void *)d->line : d->line32;
    return ARRAYS(d->e.rows, d->e.cols, d->nnz, listed ? NULL : ptr, d->ptr_bits,
                  wide_idx ? (const void *)d->idx : d->idx32, d->values,
                  .line = listed ? line : NULL, .idx_bits = d->idx_bits, .precision = d->precision,
                  .by_columns = d->kind == BY_COLUMNS,
                  .block_rows = d->kind == BLOCKS ? (int)d->tall : 0,
                  .block_cols = d->kind == BLOCKS ? (int)d->wide : 0, .flags = SPMV_VOLATILE);
}

/* Most are small. Some have entries for several threads, and more rows than one chunk. */
static drawn drawn_of(spmv_ctx *ctx, uint64_t seed, kind of) {
    drawn d = {.seed = seed, .kind = of, .tall = 1, .wide = 1};
    const bool is_large = draw_below(&d.seed, 6) == 0;
    d.precision = draw_below(&d.seed, 2) ? SPMV_F32 : SPMV_F64;
    d.ptr_bits = draw_below(&d.seed, 2) ? 32 : 64, d.idx_bits = draw_below(&d.seed, 2) ? 32 : 64;
    if (of == BLOCKS) d.tall = 1 + draw_below(&d.seed, 10), d.wide = 1 + draw_below(&d.seed, 10);
    if (of == BLOCKS && draw_below(&d.seed, 2)) d.wide = d.tall;
    d.lines = 1 + draw_below(&d.seed, is_large ? 2500 / d.tall : 40);
    d.places = 1 + draw_below(&d.seed, is_large && draw_below(&d.seed, 2) ? 2500 / d.wide : 40);
    if (of == KEPT && draw_below(&d.seed, 3) == 0) {
        d.places = d.lines;
        d.e.symmetry = draw_below(&d.seed, 2) ? SPMV_SYMMETRIC : SPMV_SKEW_SYMMETRIC;
    }
    d.nnz = draw_below(&d.seed, is_large ? 9000 : 6 * d.lines);
    d.e.rows = (of == BY_COLUMNS ? d.places : d.lines) * d.tall;
    d.e.cols = (of == BY_COLUMNS ? d.lines : d.places) * d.wide;
    d.ptr = room_of(d.lines), d.ptr32 = room_of(d.lines);
    d.idx = room_of(d.nnz), d.idx32 = room_of(d.nnz);
    d.line = room_of(d.nnz), d.line32 = room_of(d.nnz);
    d.values = room_of(d.nnz * d.tall * d.wide);
    fill(&d);
    const spmv_arrays view = arrays_of(&d);
    if (of == KEPT)
        d.mat = matrix_of(ctx, &d.e);
    else if (spmv_mat_create(ctx, &view, &d.mat) != SPMV_OK)
        fail_msg("seed %llu: %s", (unsigned long long)seed, spmv_ctx_error(ctx));
    return d;
}

static void drawn_free(drawn *d) {
    spmv_mat_free(d->mat);
    free(d->ptr), free(d->idx), free(d->line), free(d->ptr32), free(d->idx32), free(d->line32);
    free(d->values);
    entries_free(&d->e);
}

/* The matrix gets other values, and arrays that may change other places. */
static void change(drawn *d) {
    if (d->kind != KEPT) {
        fill(d);
        return;
    }
    FREED(double) *fresh = room_of(d->e.nnz);
    for (int64_t k = 0; k < d->e.nnz; k++) fresh[k] = small_number(&d->seed);
    const spmv_status status = spmv_mat_set_values(d->mat, fresh, SPMV_HOST, NULL);
    if (status == SPMV_OK && d->e.nnz) memcpy(d->e.values, fresh, (size_t)d->e.nnz * sizeof *fresh);
    if (status != SPMV_OK && status != SPMV_E_UNSUITABLE) /* not symmetric any more */
        fail_msg("%s", spmv_ctx_error(d->mat->ctx));
}

/* ---- a call --------------------------------------------------------------------------------- */

typedef struct operand {         /* [n] of each of k vectors; [k] sums */
    int64_t at, n, k, given, ld; /* ld: what `given`, 0 among others, stands for */
} operand;

typedef struct trial {
    spmv_precision precision;
    spmv_layout layout;
    spmv_op op;
    operand of[OPERANDS];
    int64_t numbers; /* length of the array that contains all */
    bool has_alpha, has_beta, wants[OPERANDS];
    double alpha, beta;
} trial;

static int64_t place(const trial *t, const operand *o, int64_t i, int64_t j) {
    return o->at + (t->layout == SPMV_ROWS ? i * o->ld + j : j * o->ld + i);
}

static int64_t length_of(const trial *t, const operand *o) { /* elements per line */
    return t->layout == SPMV_ROWS ? o->k : o->n;
}

static int64_t span_of(const trial *t, const operand *o) {
    const int64_t lines = t->layout == SPMV_ROWS ? o->n : o->k;
    return (lines - 1) * o->ld + length_of(t, o);
}

/* Says whether one of two operands is the other. */
static bool are_same(const trial *t, int a, int b) {
    const operand *one = &t->of[a], *other = &t->of[b];
    const int64_t lines = t->layout == SPMV_ROWS ? one->n : one->k;
    return one->at == other->at && (one->ld == other->ld || lines == 1);
}

/* Operand a where b is, if it has as many numbers. */
static void put_on(trial *t, int a, int b) {
    if (t->of[a].n == t->of[b].n)
        t->of[a].at = t->of[b].at, t->of[a].given = t->of[b].given, t->of[a].ld = t->of[b].ld;
}

/* Places the operands one behind the other, in an order drawn from the seed, with gaps. */
static void lay_apart(trial *t, uint64_t *seed) {
    const int first = (int)draw_below(seed, OPERANDS), step = draw_below(seed, 2) ? 1 : 5;
    int64_t at = 1 + draw_below(seed, 5);
    for (int n = 0; n < OPERANDS; n++) {
        operand *o = &t->of[(first + n * step) % OPERANDS];
        o->at = at;
        at += span_of(t, o) + draw_below(seed, 4);
    }
    t->numbers = at + 8;
}

/* The lines of z and of another operand alternate in one array, or that one's second line lies
 * behind z; or sums lie between two lines of z. */
static void lay_between(trial *t, int other, uint64_t *seed) {
    operand *z = &t->of[Z], *o = &t->of[other];
    const int64_t gap = draw_below(seed, 3) - draw_below(seed, 2); /* less than 0: they meet */
    const int64_t length = other < WZ ? length_of(t, o) : o->k;
    z->given = z->ld = length_of(t, z) + length + (gap > 0 ? gap : 0) + draw_below(seed, 2);
    if (other < WZ) o->given = o->ld = z->ld;
    lay_apart(t, seed);
    const int64_t lines = t->layout == SPMV_ROWS ? z->n : z->k;
    if (other < WZ && lines > 1 && lines < 6 && draw_below(seed, 3) == 0) {
        z->at = t->numbers;
        o->at = z->at + length_of(t, z) + gap;
        o->given = o->ld = lines * z->ld - length_of(t, z);
    } else if (other >= WZ || draw_below(seed, 2))
        o->at = z->at + length_of(t, z) + gap;
    else
        z->at = o->at + length + gap;
}

static trial trial_of(const drawn *d, spmv_op op, spmv_layout layout, uint64_t *seed) {
    static const double scalars[] = {1, 2, -1, -0.5, 0};
    const bool is_turned = op == SPMV_TRANSPOSE, is_small = d->e.rows + d->e.cols < 500;
    const int64_t rows = is_turned ? d->e.cols : d->e.rows,
                  cols = is_turned ? d->e.rows : d->e.cols;
    trial t = {.precision = d->precision, .op = op, .layout = layout};
    const int64_t k = draw_below(seed, 4) == 0 ? 1 : 1 + draw_below(seed, is_small ? MOST : 6);
    for (int a = 0; a < OPERANDS; a++) {
        operand *o = &t.of[a];
        *o = (operand){.n = a == X ? cols : a < WZ ? rows : 1, .k = k};
        const int64_t least = a < WZ ? length_of(&t, o) : k;
        o->given = draw_below(seed, 4) == 0 ? 0 : least + draw_below(seed, 7);
        o->ld = o->given ? o->given : least;
    }
    for (int a = WZ; a < OPERANDS; a++) /* sums are contiguous */
        t.of[a].ld = t.of[a].given = layout == SPMV_ROWS ? k : 1;
    t.has_alpha = draw_below(seed, 2), t.has_beta = draw_below(seed, 3);
    t.alpha = t.has_alpha ? scalars[draw_below(seed, COUNT(scalars))] : 1;
    t.beta = t.has_beta ? scalars[draw_below(seed, COUNT(scalars))] : 0;
    t.wants[X] = t.wants[Z] = true;
    t.wants[Y] = t.has_beta;
    t.wants[WZ] = t.wants[W] = draw_below(seed, 3) == 0, t.wants[ZZ] = draw_below(seed, 3) == 0;
    if (draw_below(seed, 4) == 0)
        lay_between(&t, (int[]){X, Y, W, WZ, ZZ}[draw_below(seed, 5)], seed);
    else
        lay_apart(&t, seed);
    if (draw_below(seed, 3) == 0) put_on(&t, Y, Z);
    if (draw_below(seed, 3) == 0) put_on(&t, W, (int[]){X, Y, Z}[draw_below(seed, 3)]);
    if (draw_below(seed, 6) ==
        0) { /* nearly where another one is, or with another leading dimension */
        operand *o = &t.of[draw_below(seed, OPERANDS)], *by = &t.of[draw_below(seed, OPERANDS)];
        const int64_t at = by->at + draw_below(seed, 2 * span_of(&t, by) + 1) - span_of(&t, o);
        o->at = draw_below(seed, 2) ? by->at : at > 0 ? at : 0;
    }
    if (draw_below(seed, 16) == 0) { /* less than there may be */
        operand *o = &t.of[draw_below(seed, WZ)];
        o->given = length_of(&t, o) - 1 - draw_below(seed, 2);
        o->given = o->ld = o->given == 0 ? -1 : o->given;
    }
    for (int a = 0; a < OPERANDS; a++)
        if (t.of[a].at + span_of(&t, &t.of[a]) > t.numbers)
            t.numbers = t.of[a].at + span_of(&t, &t.of[a]);
    t.numbers += 8;
    return t;
}

static void mark(const trial *t, int a, unsigned char *marks) {
    for (int64_t j = 0; j < t->of[a].k; j++)
        for (int64_t i = 0; i < t->of[a].n; i++)
            marks[place(t, &t->of[a], i, j)] |= (unsigned char)(1 << a);
}

/* Returns NULL if the call is right; else what is wrong with it. */
static const char *fault_in(const trial *t, unsigned char *marks) {
    static const int apart[][2] = {{X, Z},  {Y, Z},  {W, Z},  {WZ, Z},
                                   {ZZ, Z}, {WZ, W}, {ZZ, W}, {WZ, ZZ}};
    for (int a = 0; a < WZ; a++)
        if (t->wants[a] && t->of[a].ld < length_of(t, &t->of[a])) return "too small";
    for (int a = 0; a < OPERANDS; a++)
        if (t->wants[a]) mark(t, a, marks);
    for (int n = 0; n < COUNT(apart); n++) {
        const int a = apart[n][0], b = apart[n][1];
        if ((a == Y || a == W) && are_same(t, a, b)) continue;
        for (int64_t c = 0; c < t->numbers; c++)
            if (marks[c] >> a & 1 && marks[c] >> b & 1) return names[a];
    }
    return NULL;
}

/* ---- the reference -------------------------------------------------------------------------- */

/* Adds op(A) x to sum, [rows][k]. */
static void add_product(const drawn *d, const trial *t, const void *array, long double *sum) {
    const int64_t k = t->of[Z].k;
    for (int64_t e = 0; e < d->e.nnz; e++)
        for (int half = 0; half < (d->e.symmetry == SPMV_GENERAL ? 1 : 2); half++) {
            const bool is_swapped = (t->op == SPMV_TRANSPOSE) != half;
            const int64_t row = is_swapped ? d->e.col[e] : d->e.row[e],
                          col = is_swapped ? d->e.row[e] : d->e.col[e];
            const double sign = d->e.symmetry == SPMV_SKEW_SYMMETRIC && half ? -1 : 1;
            if (half && row == col) continue;
            for (int64_t j = 0; j < k; j++)
                sum[row * k + j] += (long double)(sign * d->e.values[e]) *
                                    number_at(array, t->precision, place(t, &t->of[X], col, j));
        }
}

/* Writes z and the sums as they must be after the call into the array. */
static void compute(const drawn *d, const trial *t, void *array) {
    const int64_t rows = t->of[Z].n, k = t->of[Z].k;
    long double *z = calloc((size_t)(rows * k), sizeof *z), dots[2][MOST] = {{0}};
    assert_non_null(z);
    add_product(d, t, array, z);
    for (int64_t n = 0; n < rows * k; n++) {
        const int64_t i = n / k, j = n % k;
        z[n] *= t->alpha;
        if (t->beta != 0)
            z[n] +=
                (long double)t->beta * number_at(array, t->precision, place(t, &t->of[Y], i, j));
    }
    for (int64_t n = 0; n < rows * k; n++)
        set_number(array, t->precision, place(t, &t->of[Z], n / k, n % k), (double)z[n]);
    for (int64_t n = 0; n < rows * k; n++) {
        if (t->wants[WZ])
            dots[0][n % k] +=
                z[n] * number_at(array, t->precision, place(t, &t->of[W], n / k, n % k));
        dots[1][n % k] += z[n] * z[n];
    }
    for (int a = WZ; a < OPERANDS; a++)
        for (int64_t j = 0; t->wants[a] && j < k; j++)
            set_number(array, t->precision, t->of[a].at + j, (double)dots[a - WZ][j]);
    free(z);
}

/* ---- one plan ------------------------------------------------------------------------------- */

static struct { /* totals over all calls */
    int64_t right, refused, unsuitable;
} counts;

/* NaN, but for the numbers that the product reads. */
static void *array_of(const trial *t, const unsigned char *marks, uint64_t seed) {
    void *array = malloc((size_t)t->numbers * width_of(t->precision));
    const int read = 1 << X | (t->beta != 0) << Y | t->wants[W] << W;
    assert_non_null(array);
    memset(array, 0xff, (size_t)t->numbers * width_of(t->precision));
    for (int64_t c = 0; c < t->numbers; c++)
        if (marks[c] & read) set_number(array, t->precision, c, small_number(&seed));
    for (int64_t n = 0; are_same(t, W, Z) && t->beta == 0 && n < t->of[Z].n * t->of[Z].k; n++)
        set_number(array, t->precision, place(t, &t->of[Z], n / t->of[Z].k, n % t->of[Z].k), NAN);
    return array;
}

static void print_trial(const trial *t, const spmv_plan *plan, const char *what) {
    print_error("%s %s, %s, op %d, %lld vectors in %s, alpha %g, beta %g", plan->kernel->name,
                t->precision == SPMV_F32 ? "f32" : "f64", what, t->op, (long long)t->of[Z].k,
                t->layout == SPMV_ROWS ? "rows" : "columns", t->alpha, t->has_beta ? t->beta : NAN);
    for (int a = 0; a < OPERANDS; a++)
        if (t->wants[a])
            print_error("; %s: %lld at %lld, ld %lld", names[a], (long long)t->of[a].n,
                        (long long)t->of[a].at, (long long)t->of[a].given);
    print_error("\n");
}

static int64_t differences(const trial *t, const void *got, const void *expected) {
    const size_t width = width_of(t->precision);
    int64_t n = 0;
    for (int64_t c = 0; c < t->numbers; c++) {
        const size_t at = (size_t)c * width;
        n += memcmp((const char *)got + at, (const char *)expected + at, width) != 0 &&
             number_at(got, t->precision, c) != number_at(expected, t->precision, c);
    }
    return n;
}

static spmv_call call_of(const trial *t, char *array, const float *scalars_f32) {
    const bool is_f32 = t->precision == SPMV_F32;
    void *at[OPERANDS];
    for (int a = 0; a < OPERANDS; a++)
        at[a] = t->wants[a] ? array + (size_t)t->of[a].at * width_of(t->precision) : NULL;
    return WITH(spmv_call, .alpha = t->has_alpha && !is_f32 ? &t->alpha : NULL,
                .beta = t->has_beta && !is_f32 ? &t->beta : NULL,
                .alpha_f32 = t->has_alpha && is_f32 ? &scalars_f32[0] : NULL,
                .beta_f32 = t->has_beta && is_f32 ? &scalars_f32[1] : NULL, .x = at[X], .y = at[Y],
                .z = at[Z], .k = t->of[Z].k, .ldx = t->of[X].given, .ldy = t->of[Y].given,
                .ldz = t->of[Z].given, .layout = t->layout, .op = t->op, .w = at[W],
                .ldw = t->of[W].given, .dot_wz = at[WZ], .dot_zz = at[ZZ]);
}

/* Returns whether the call did what it must. */
static bool try_call(const drawn *d, const spmv_plan *plan, spmv_op op, spmv_layout layout,
                     uint64_t *seed) {
    const trial t = trial_of(d, op, layout, seed);
    unsigned char *marks = calloc((size_t)t.numbers, 1);
    assert_non_null(marks);
    const char *fault = fault_in(&t, marks);
    const uint64_t at_start = draw(seed);
    const float scalars_f32[] = {(float)t.alpha, (float)t.beta};
    void *got = array_of(&t, marks, at_start), *expected = array_of(&t, marks, at_start);
    if (!fault) compute(d, &t, expected);
    const spmv_call call = call_of(&t, got, scalars_f32);
    const spmv_status status = spmv_apply(plan, &call, NULL);
    const int64_t wrong = differences(&t, got, expected);
    char what[80];
    if (status != (fault ? SPMV_E_ARG : SPMV_OK))
        snprintf(what, sizeof what, "status %d, fault: %s", status, fault ? fault : "none");
    else if (wrong)
        snprintf(what, sizeof what, "%lld numbers are wrong", (long long)wrong);
    const bool is_right = status == (fault ? SPMV_E_ARG : SPMV_OK) && !wrong;
    if (!is_right) print_trial(&t, plan, what);
    fault ? counts.refused++ : counts.right++;
    free(marks), free(got), free(expected);
    return is_right;
}

/* named: the kernel; NULL: that of arrays that may change. */
static spmv_plan *plan_for(const drawn *d, const char *kernel, const spmv_kernel *named, spmv_op op,
                           uint64_t *seed) {
    const spmv_param *isa = named ? spmv_param_of(named, SPMV_isa) : NULL;
    const spmv_param *order = named ? spmv_param_of(named, SPMV_order) : NULL;
    spmv_setting setting[2];
    int nsettings = 0;
    if (isa) setting[nsettings++] = (spmv_setting){"isa", draw_below(seed, best_isa() + 1)};
    if (order) setting[nsettings++] = (spmv_setting){"order", draw_below(seed, order->max)};
    const int64_t vectors = draw_below(seed, 3) * draw_below(seed, MOST);
    const spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = kernel, .precision = d->precision,
             .offset_bits = d->kind == KEPT ? d->ptr_bits : 0, .max_bytes = budget,
             .settings = setting, .nsettings = nsettings, .refill = d->kind == KEPT, .op = op,
             .vectors = vectors, .layout = vectors > 1 && draw_below(seed, 2) ? SPMV_ROWS : 0);
    spmv_plan *plan = NULL;
    const spmv_status status = spmv_plan_create(d->mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE || status == SPMV_E_TOOBIG)
        counts.unsuitable++;
    else if (status != SPMV_OK)
        fail_msg("%s: %s", kernel ? kernel : "in_place", spmv_ctx_error(d->mat->ctx));
    return plan;
}

static void try_seed(spmv_ctx *ctx, uint64_t seed, kind of, const char *kernel,
                     const spmv_kernel *named) {
    static const spmv_op ops[] = {SPMV_AS_IS, SPMV_TRANSPOSE, SPMV_BOTH};
    drawn d = drawn_of(ctx, seed, of);
    const spmv_op op = of == BLOCKS ? SPMV_AS_IS : ops[draw_below(&d.seed, 3)];
    spmv_plan *plan = plan_for(&d, kernel, named, op, &d.seed);
    for (int n = 0; plan && n < CALLS; n++) {
        const spmv_op by = op != SPMV_BOTH          ? op
                           : draw_below(&d.seed, 2) ? SPMV_TRANSPOSE
                                                    : SPMV_AS_IS;
        const spmv_layout layout = draw_below(&d.seed, 2) ? SPMV_ROWS : SPMV_COLUMNS;
        if (!try_call(&d, plan, by, layout, &d.seed))
            fail_msg("seed %llu, %s, call %d", (unsigned long long)seed,
                     kernel ? kernel : "in_place", n);
        if (draw_below(&d.seed, 2)) change(&d);
    }
    spmv_plan_free(plan);
    drawn_free(&d);
}

static uint64_t wish(const char *name, uint64_t otherwise) {
    const char *given = getenv(name);
    return given ? strtoull(given, NULL, 10) : otherwise;
}

TEST(arrays_that_may_change) {
    const uint64_t first = wish("OPERANDS_SEED", 1),
                   n = 20 * wish("OPERANDS_SEEDS", are_few() ? 2 : 12);
    spmv_ctx *ctx[] = {context_of(1), context_of(3)};
    counts.right = counts.refused = 0;
    const int64_t best = best_isa();
    for (uint64_t seed = first; seed < first + n; seed++) {
        pretend_isa(1 + (int64_t)(seed / KEPT) % best);
        try_seed(ctx[seed % 3 > 0], seed, (kind)(seed % KEPT), NULL, NULL);
    }
    pretend_isa(best);
    print_message("%lld products, %lld calls refused\n", (long long)counts.right,
                  (long long)counts.refused);
    assert_true(counts.right > counts.refused && (counts.refused > 0 || are_few()));
    spmv_ctx_free(ctx[0]), spmv_ctx_free(ctx[1]);
}

TEST(every_kernel) {
    const uint64_t first = wish("OPERANDS_SEED", 1), n = wish("OPERANDS_SEEDS", are_few() ? 2 : 12);
    spmv_ctx *ctx[] = {context_of(1), context_of(3)};
    counts.right = counts.refused = 0;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (*b)->host && is_tested(ctx[0], *b) && k < (*b)->nkernels; k++) {
            if (!is_here(*b, k) || !is_wanted(*b, k)) continue;
            char name[64];
            full_name(*b, k, name);
            for (uint64_t seed = first; seed < first + n; seed++)
                try_seed(ctx[seed % 3 > 0], seed, KEPT, name, (*b)->kernels[k][0]);
        }
    print_message("%lld products, %lld calls refused, %lld plans\n", (long long)counts.right,
                  (long long)counts.refused, (long long)counts.unsuitable);
    assert_true(counts.right > counts.refused && (counts.refused > 0 || are_few()));
    spmv_ctx_free(ctx[0]), spmv_ctx_free(ctx[1]);
}

int main(int argc, char **argv) {
    take_backend(argc, argv);
    mallopt(M_PERTURB, 1); /* what malloc returns is not zero */
    return run_suite(NULL, NULL);
}
