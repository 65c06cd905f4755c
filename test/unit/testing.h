/* testing.h: helpers of the unit tests: matrices of many shapes as entries, and vectors for them. A
 * test file includes this header first; all functions are static inline, since every test is a
 * separate program. */
#ifndef SPMV_TESTING_H
#define SPMV_TESTING_H

#include "app/run/verify.h"
#include "tune/tune.h"
#include "objects.h"
#include <math.h>
#include <stdio.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* ---- entries: a matrix as a file would hold it ---------------------------------------------- */

typedef struct entries {
    int64_t rows, cols, nnz, capacity;
    int32_t *row, *col;
    double *values;
    spmv_symmetry symmetry;
    bool pattern; /* values are not given */
} entries;

static inline void add_entry(entries *e, int64_t row, int64_t col, double value) {
    if (e->nnz == e->capacity) {
        e->capacity = e->capacity ? 2 * e->capacity : 64;
        e->row = realloc(e->row, (size_t)e->capacity * sizeof *e->row);
        e->col = realloc(e->col, (size_t)e->capacity * sizeof *e->col);
        e->values = realloc(e->values, (size_t)e->capacity * sizeof *e->values);
        assert_true(e->row && e->col && e->values);
    }
    e->row[e->nnz] = (int32_t)row;
    e->col[e->nnz] = (int32_t)col;
    e->values[e->nnz++] = value;
}

/* An entry with a value of 53 random bits. */
static inline void add_random(entries *e, int64_t row, int64_t col) {
    add_entry(e, row, col, random_entry(77, (uint64_t)e->nnz));
}

static inline void entries_free(entries *e) {
    free(e->row);
    free(e->col);
    free(e->values);
    *e = (entries){0};
}

STRUCT_AT_END(entries, entries_free)
STRUCT_AT_END(oracle, oracle_free)
STRUCT_AT_END(spmv_coo, spmv_coo_free)

static inline spmv_coo_view view_of(const entries *e) {
    return COO_VIEW(e->rows, e->cols, e->nnz, e->row, e->col, e->pattern ? NULL : e->values,
                    .symmetry = e->symmetry);
}

static inline spmv_mat *matrix_of(spmv_ctx *ctx, const entries *e) {
    spmv_coo_view view = view_of(e);
    spmv_mat *mat = NULL;
    spmv_status status = spmv_mat_coo(ctx, &view, SPMV_COPY, &mat);
    if (status != SPMV_OK)
        fail_msg("a matrix of %lld x %lld: %s", (long long)e->rows, (long long)e->cols,
                 spmv_ctx_error(ctx));
    return mat;
}

/* Makes a band with more distinct values than a codebook holds; all are floats. */
static inline spmv_mat *matrix_of_floats(spmv_ctx *ctx, int64_t rows) {
    FREED(entries) e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i % 7; j <= i && j < 60; j += 11)
            add_entry(&e, i, i - j, 0.125 * (double)(i + j));
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

/* Says whether the caller wants fewer products, as where each is checked line by line. */
static inline bool are_few(void) {
    return getenv("SPMV_FEW_PRODUCTS") != NULL;
}

/* Says whether the processor plays the GPU (test/emulator): what is large, is repeated often or
 * measures time is left out then. */
extern const bool emulated_gpu __attribute__((weak));
static inline bool is_emulated(void) {
    return &emulated_gpu != NULL;
}

/* Returns the next number of a seed's sequence: splitmix64. */
static inline uint64_t draw(uint64_t *state) {
    uint64_t h = *state += 0x9e3779b97f4a7c15u;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

/* 0 .. n - 1 */
static inline int64_t draw_below(uint64_t *state, int64_t n) {
    return (int64_t)(draw(state) % (uint64_t)n);
}

/* Puts the entries into a random order. */
static inline void shuffle(entries *e, uint64_t seed) {
    for (int64_t k = e->nnz - 1; k > 0; k--) {
        int64_t other = draw_below(&seed, k + 1);
        int32_t row = e->row[k], col = e->col[k];
        double value = e->values[k];
        e->row[k] = e->row[other], e->col[k] = e->col[other], e->values[k] = e->values[other];
        e->row[other] = row, e->col[other] = col, e->values[other] = value;
    }
}

/* Row i gets n distinct columns, ascending, spread over the whole width. */
static inline void add_row(entries *e, int64_t i, int64_t n) {
    for (int64_t k = 0; k < n && n <= e->cols; k++) {
        int64_t first = spmv_split(e->cols, n, k), end = spmv_split(e->cols, n, k + 1);
        add_random(e, i, first + (i * 7919 + k * 104729) % (end - first));
    }
}

/* Makes distinct entries, a row in three empty, the others of up to most entries, in random
 * order. */
static inline entries random_matrix(uint64_t seed, int64_t rows, int64_t cols, int64_t most) {
    entries e = {.rows = rows, .cols = cols};
    for (int64_t i = 0; i < rows; i++) {
        bool is_empty = draw_below(&seed, 3) == 0;
        int64_t n = 1 + draw_below(&seed, most);
        if (!is_empty) add_row(&e, i, n < cols ? n : cols);
    }
    shuffle(&e, seed);
    return e;
}

/* ---- fixtures: shapes that kernels and formats fail on -------------------------------------- */

static inline void fill_nothing(entries *e) {
    (void)e;
}

static inline void fill_every_entry(entries *e) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < e->cols; j++) add_random(e, i, j);
}

static inline void fill_sparse(entries *e) { /* 0 to 6 a row */
    for (int64_t i = 0; i < e->rows; i++) add_row(e, i, e->cols < 6 ? e->cols : i * i % 7);
}

static inline void fill_dense_row(entries *e) {
    for (int64_t i = 0; i < e->rows; i++) add_row(e, i, i == e->rows / 3 ? e->cols : 2);
}

static inline void fill_dense_column(entries *e) {
    for (int64_t i = 0; i < e->rows; i++) {
        add_random(e, i, e->cols / 3);
        if (i % 4 == 0) add_random(e, i, e->cols - 1);
    }
}

static inline void
fill_few_rows(entries *e) { /* the first and the last are empty, and long stretches between */
    for (int64_t i = 1; i < e->rows - 1; i++)
        if (i % 64 == 40 || i % 64 == 41) add_row(e, i, 1 + i % 37);
}

static inline void
fill_every_length(entries *e) { /* row i has i entries: 31, 32, 33, 63, 64, 65, ... */
    for (int64_t i = 0; i < e->rows; i++) add_row(e, i, i);
}

static inline void fill_long_tail(entries *e) { /* most rows have 2 or 3, a few have hundreds */
    for (int64_t i = 0; i < e->rows; i++)
        add_row(e, i, i % 97 == 50 ? e->cols - i : i % 31 == 7 ? 70 : 2 + i % 2);
}

static inline void
fill_triangle(entries *e) { /* the lower one, with the diagonal where the symmetry has one */
    for (int64_t i = 0; i < e->rows; i++) {
        for (int64_t j = i % 5; j < i; j += 1 + i % 11) add_random(e, i, j);
        if (e->symmetry == SPMV_SYMMETRIC && i % 3) add_random(e, i, i);
    }
    shuffle(e, 5);
}

static inline void fill_duplicates(entries *e) {
    fill_triangle(e);
    for (int64_t k = 0, n = e->nnz; k < n; k += 3)
        for (int copies = 0; copies <= k % 3; copies++) add_random(e, e->row[k], e->col[k]);
    shuffle(e, 6);
}

static inline void
fill_zeros(entries *e) { /* stored zeros of both signs, and rows of nothing else */
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = i % 3; j < e->cols; j += 9)
            add_entry(e, i, j,
                      i % 4 == 0 || j % 2 ? (j % 4 == 1 ? -0.0 : 0.0)
                                          : random_entry(3, (uint64_t)(i + j)));
}

static inline void fill_pattern(entries *e) {
    fill_sparse(e);
    e->pattern = true;
}

static inline void
fill_giant_row(entries *e) { /* more than 32 entries for each thread of the largest CUDA block */
    add_row(e, 0, 1);
    add_row(e, 1, 32 * 1024 + 5);
    add_row(e, 2, 31);
}

/* Makes rows about as long as a warp's step, 7 x 32, and twice that, between runs of empty rows and
 * rows of one entry. */
static inline void fill_sevens(entries *e) {
    for (int64_t i = 0; i < e->rows; i++)
        add_row(e, i,
                i % 97 == 5    ? 223 + i / 97 % 3
                : i % 97 == 6  ? 447 + i / 97 % 3
                : i % 97 == 90 ? i / 97
                               : i % 97 > 60 && i % 2);
}

/* Runs of entries in adjacent columns, as many in each as 32 rows have in common: 2 to 8. */
static inline void fill_runs(entries *e) {
    enum { APART = 60 };
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = 0; k <= i * i % 9; k++)
            for (int64_t q = 0; q < 2 + i / 32 % 7; q++)
                add_random(e, i, k * APART + (i * 7 + k * 11) % 40 + q);
}

static inline void
fill_cancelling(entries *e) { /* what is left is far smaller than what was added */
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < e->cols; j++)
            add_entry(e, i, j, j % 3 == 0 ? 1e16 : j % 3 == 1 ? 1 + (double)i : -1e16);
}

static inline void fill_tiny(entries *e) { /* subnormal in one precision or both */
    static const double tiny[] = {5e-324, -1e-310, 1e-45, -3e-41, 1e-38, -2.5e-308, 1e-300};
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t k = 0; k <= i % 7; k++)
            add_entry(e, i, (i + 5 * k) % e->cols, tiny[(i + k) % 7]);
}

typedef struct fixture {
    const char *name;
    int64_t rows, cols;
    spmv_symmetry symmetry;
    void (*fill)(entries *e);
} fixture;

static const fixture fixtures[] = {
    {"0 x 0", 0, 0, SPMV_GENERAL, fill_nothing},
    {"0 x 7", 0, 7, SPMV_GENERAL, fill_nothing},
    {"7 x 0", 7, 0, SPMV_GENERAL, fill_nothing},
    {"no entries", 37, 41, SPMV_GENERAL, fill_nothing},
    {"1 x 1", 1, 1, SPMV_GENERAL, fill_every_entry},
    {"one row", 1, 301, SPMV_GENERAL, fill_every_entry},
    {"one column", 301, 1, SPMV_GENERAL, fill_every_entry},
    {"dense", 65, 33, SPMV_GENERAL, fill_every_entry},
    {"dense row", 203, 199, SPMV_GENERAL, fill_dense_row},
    {"dense column", 199, 203, SPMV_GENERAL, fill_dense_column},
    {"empty rows", 640, 100, SPMV_GENERAL, fill_few_rows},
    {"wide", 5, 5003, SPMV_GENERAL, fill_every_entry},
    {"tall", 5003, 5, SPMV_GENERAL, fill_sparse},
    {"every length", 131, 140, SPMV_GENERAL, fill_every_length},
    {"long tail", 300, 900, SPMV_GENERAL, fill_long_tail},
    {"symmetric", 151, 151, SPMV_SYMMETRIC, fill_triangle},
    {"skew-symmetric", 152, 152, SPMV_SKEW_SYMMETRIC, fill_triangle},
    {"duplicates", 90, 90, SPMV_GENERAL, fill_duplicates},
    {"symmetric duplicates", 91, 91, SPMV_SYMMETRIC, fill_duplicates},
    {"explicit zeros", 44, 55, SPMV_GENERAL, fill_zeros},
    {"pattern", 100, 64, SPMV_GENERAL, fill_pattern},
    {"32 k + 31 rows", 32 * 8 + 31, 300, SPMV_GENERAL, fill_sparse},
    {"32 k + 1 rows", 32 * 8 + 1, 300, SPMV_GENERAL, fill_sparse},
    {"many rows", 65536 + 4465, 4099, SPMV_GENERAL, fill_sparse},
    {"giant row", 3, 40000, SPMV_GENERAL, fill_giant_row},
    {"sevens", 610, 500, SPMV_GENERAL, fill_sevens},
    {"runs", 32 * 9 + 5, 560, SPMV_GENERAL, fill_runs},
    {"cancelling", 20, 31, SPMV_GENERAL, fill_cancelling},
    {"tiny", 50, 60, SPMV_GENERAL, fill_tiny},
};

static inline entries entries_of(const fixture *f) {
    entries e = {.rows = f->rows, .cols = f->cols, .symmetry = f->symmetry};
    f->fill(&e);
    return e;
}

static inline const fixture *fixture_named(const char *name) {
    for (int f = 0; f < COUNT(fixtures); f++)
        if (strcmp(fixtures[f].name, name) == 0) return &fixtures[f];
    fail_msg("no fixture '%s'", name);
    return NULL;
}

/* ---- vectors -------------------------------------------------------------------------------- */

static inline size_t width_of(spmv_precision precision) {
    return precision == SPMV_F64 ? sizeof(double) : sizeof(float);
}

static inline void set_number(void *v, spmv_precision precision, int64_t i, double value) {
    if (precision == SPMV_F64)
        ((double *)v)[i] = value;
    else
        ((float *)v)[i] = (float)value;
}

static inline double number_at(const void *v, spmv_precision precision, int64_t i) {
    return precision == SPMV_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

/* Returns n elements in that precision, to be freed; also for n = 0. */
static inline void *vector_of(const double *value, int64_t n, spmv_precision precision) {
    void *v = malloc((size_t)(n ? n : 1) * width_of(precision));
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) set_number(v, precision, i, value[i]);
    return v;
}

static inline double *random_vector(uint64_t seed, int64_t n) {
    double *v = malloc((size_t)(n ? n : 1) * sizeof *v);
    assert_non_null(v);
    for (int64_t i = 0; i < n; i++) v[i] = random_entry(seed, (uint64_t)i);
    return v;
}

/* Returns the reference for x rounded to the precision. */
static inline oracle oracle_of(const spmv_mat *mat, const double *x, int64_t cols,
                               spmv_precision precision) {
    oracle o;
    double *rounded = malloc((size_t)(cols ? cols : 1) * sizeof *rounded);
    assert_non_null(rounded);
    for (int64_t j = 0; j < cols; j++)
        rounded[j] = precision == SPMV_F64 ? x[j] : (double)(float)x[j];
    assert_int_equal(
        oracle_make(mat, SPMV_AS_IS, precision, rounded, spmv_ctx_threads(mat->ctx), &o), SPMV_OK);
    free(rounded);
    return o;
}

/* ---- contexts and backends ------------------------------------------------------------------ */

static inline spmv_ctx *context_of(int threads) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    spmv_ctx *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    return ctx;
}

/* Says whether the backend is built in and its device opens. With SPMV_REQUIRE_CUDA=1 a GPU that
 * does not open fails. */
static inline bool is_usable(spmv_ctx *ctx, const spmv_backend *backend) {
    spmv_device *device = NULL;
    const char *required = getenv("SPMV_REQUIRE_CUDA");
    bool is_required = backend == &spmv_cuda && required && strcmp(required, "1") == 0;
    if (backend->kernels && spmv_ctx_device(ctx, backend, &device) == SPMV_OK) return true;
    if (is_required)
        fail_msg("SPMV_REQUIRE_CUDA=1, but %s",
                 backend->kernels ? spmv_ctx_error(ctx) : "cuda is not built in");
    return false;
}

/* Says whether a kernel is built in: a peer may be there by name only. */
static inline bool is_here(const spmv_backend *backend, int k) {
    return backend->kernels && !backend->kernels[k][0]->absent;
}

static inline int count_here(const spmv_backend *backend) {
    int count = 0;
    for (int k = 0; k < backend->nkernels; k++) count += is_here(backend, k);
    return count;
}

static inline void full_name(const spmv_backend *backend, int k, char out[64]) {
    snprintf(out, 64, "%s:%s", backend->name, backend->names[k]);
}

#endif
