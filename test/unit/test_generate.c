/* test_generate.c: every built-in matrix: well formed, the same for any number of threads, of the
 * shape promised; and every refusal. */
#include "../../src/internal.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* One or more small specs for each generator, and what they hash to: a name is a promise, logs are
 * compared by it. So a hash changes only together with a name. */
static const struct {
    const char *spec;
    uint64_t hash; /* of all entries, seed 1 */
} specs[] = {
    {"poisson2d:37x11", 0xA78112DFED5B6F13},
    {"poisson3d:9", 0x7FA2F711A1B9ECBC},
    {"box27:7x5x3", 0x9007BD115D26AF88},
    {"fem3d:4:3", 0x60245A41AB386171},
    {"mesh:10007", 0x165B5F351D623529},
    {"road:10007", 0xF294BAEEBE5688BA},
    {"random:997:13", 0x3736135DAD2C4291},
    {"random:50:700:1000", 0x90021A6A1143F648},
    {"random:20:9000:900000", 0x6BA42CA3B99A27C4},
    {"rmat:11:9", 0xE6B259392B5311DA},
    {"powerlaw:3001:7.5:2.3", 0xEBBE066D4DB82F4D},
    {"banded:501:8", 0x47C181707FBDDE36},
    {"giantrow:9001:7000", 0x4CE2DAB18EFC2CFE},
    {"ci:1000", 0x12D0330C12C23647},
    {"dense:31x17", 0xF4E316DD5439D7B8},
    {"permutation:1234", 0x7C18C74C9C78E157},
    {"diagonal:77", 0x5F85FD25F330FB3A},
    {"twin:cz5108", 0xC2E6F0E9437FC54D},
};
enum { NSPECS = sizeof specs / sizeof *specs };

static spmv_ctx *ctx;

static int open_context(void **state) {
    (void)state;
    return spmv_ctx_create(NULL, &ctx) == SPMV_OK ? 0 : -1;
}

static int close_context(void **state) {
    (void)state;
    spmv_ctx_free(ctx);
    return 0;
}

static spmv_coo make(const char *spec, uint64_t seed, const char *values, int threads) {
    spmv_coo A;
    spmv_status status = spmv_generate(ctx, spec, seed, values, threads, &A);
    if (status != SPMV_OK) print_error("gen:%s: %s\n", spec, spmv_ctx_error(ctx));
    assert_int_equal(status, SPMV_OK);
    return A;
}

static uint64_t hash_of(const spmv_coo *A) {
    uint64_t hash = (uint64_t)A->rows * 31 + (uint64_t)A->cols;
    for (int64_t k = 0; k < A->nnz; k++) {
        uint64_t bits = 0;
        if (A->values) memcpy(&bits, &A->values[k], sizeof bits);
        hash =
            (hash ^ bits ^ ((uint64_t)A->row[k] << 32 | (uint64_t)A->col[k])) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Inside, sorted by row and then column, none twice. */
static void assert_well_formed(const spmv_coo *A) {
    int64_t bad = 0;
    for (int64_t k = 0; k < A->nnz; k++) {
        bad += A->row[k] < 0 || A->row[k] >= A->rows || A->col[k] < 0 || A->col[k] >= A->cols;
        if (k > 0)
            bad += A->row[k] < A->row[k - 1] ||
                   (A->row[k] == A->row[k - 1] && A->col[k] <= A->col[k - 1]);
    }
    assert_int_equal(bad, 0);
    assert_int_equal(A->symmetry, SPMV_GENERAL);
}

/* Lengths of rows (or columns), to be freed. */
static int64_t *lengths(int64_t n, int64_t nnz, const int32_t *index) {
    int64_t *length = calloc((size_t)n + 1, sizeof *length);
    assert_non_null(length);
    for (int64_t k = 0; k < nnz; k++) length[index[k]]++;
    return length;
}

static int64_t greatest(const int64_t *length, int64_t n) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) most = length[i] > most ? length[i] : most;
    return most;
}

static int64_t least(const int64_t *length, int64_t n) {
    int64_t fewest = INT64_MAX;
    for (int64_t i = 0; i < n; i++) fewest = length[i] < fewest ? length[i] : fewest;
    return fewest;
}

static bool has_entry(const spmv_coo *A, int32_t row, int32_t col) {
    int64_t low = 0, high = A->nnz;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row[middle] < row || (A->row[middle] == row && A->col[middle] < col))
            low = middle + 1;
        else
            high = middle;
    }
    return low < A->nnz && A->row[low] == row && A->col[low] == col;
}

static void assert_structure_symmetric(const spmv_coo *A) {
    int64_t missing = 0;
    for (int64_t k = 0; k < A->nnz; k++) missing += !has_entry(A, A->col[k], A->row[k]);
    assert_int_equal(missing, 0);
}

static bool is_of(const char *spec, const char *name) {
    size_t n = strlen(name);
    return strncmp(spec, name, n) == 0 && (spec[n] == ':' || spec[n] == 0);
}

/* ---- all classes ---------------------------------------------------------------------------- */

static void every_generator_has_a_spec(void **state) {
    int count;
    const spmv_generator *list = spmv_generator_list(&count);
    (void)state;
    assert_true(count > 0);
    for (int g = 0; g < count; g++) {
        int found = 0;
        for (int s = 0; s < NSPECS; s++) found += is_of(specs[s].spec, list[g].name);
        if (!found) print_error("add a spec for %s\n", list[g].name);
        assert_true(found > 0);
        assert_true(strlen(list[g].args) > 0 && strlen(list[g].summary) > 0);
    }
}

static void small_ones_are_well_formed(void **state) {
    (void)state;
    for (int s = 0; s < NSPECS; s++) {
        spmv_coo A = make(specs[s].spec, 1, NULL, 2);
        assert_well_formed(&A);
        assert_int_equal(A.field, SPMV_REAL_FIELD);
        assert_true(A.nnz > 0);
        spmv_coo_free(&A);
    }
}

static void threads_do_not_matter(void **state) {
    static const int threads[] = {2, 3, 7};
    (void)state;
    for (int s = 0; s < NSPECS; s++) {
        spmv_coo A = make(specs[s].spec, 5, NULL, 1);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            spmv_coo B = make(specs[s].spec, 5, NULL, threads[t]);
            assert_int_equal(A.nnz, B.nnz);
            assert_memory_equal(A.row, B.row, (size_t)A.nnz * sizeof *A.row);
            assert_memory_equal(A.col, B.col, (size_t)A.nnz * sizeof *A.col);
            assert_memory_equal(A.values, B.values, (size_t)A.nnz * sizeof *A.values);
            spmv_coo_free(&B);
        }
        spmv_coo_free(&A);
    }
}

static void machines_do_not_matter(void **state) {
    int wrong = 0;
    (void)state;
    for (int s = 0; s < NSPECS; s++) {
        spmv_coo A = make(specs[s].spec, 1, NULL, 2);
        uint64_t hash = hash_of(&A);
        if (hash != specs[s].hash)
            print_error("{\"%s\", 0x%016llX},\n", specs[s].spec, (unsigned long long)hash);
        wrong += hash != specs[s].hash;
        spmv_coo_free(&A);
    }
    assert_int_equal(wrong, 0);
}

static void seeds_matter(void **state) {
    (void)state;
    for (int s = 0; s < NSPECS; s++) {
        spmv_coo A = make(specs[s].spec, 1, "random", 2), B = make(specs[s].spec, 2, "random", 2);
        spmv_coo C = make(specs[s].spec, 1, "random", 2);
        int64_t equal = 0, common = A.nnz < B.nnz ? A.nnz : B.nnz;
        for (int64_t k = 0; k < common; k++) equal += A.values[k] == B.values[k];
        assert_int_equal(equal, 0);
        assert_true(hash_of(&A) == hash_of(&C));
        spmv_coo_free(&A);
        spmv_coo_free(&B);
        spmv_coo_free(&C);
    }
}

/* Sizes where a grid, a block, a part or a shuffle is cut short. */
static void odd_sizes_are_well_formed(void **state) {
    static const char *const forms[] = {
        "poisson2d:%d",     "poisson2d:1x%d", "poisson3d:1x%dx2", "box27:%dx1x2",
        "fem3d:%dx1x1:2",   "mesh:%d",        "road:%d",          "random:%d",
        "random:%d:1",      "giantrow:%d",    "giantrow:%d:1",    "ci:%d",
        "ci:%d:1:1",        "ci:%d:0:0",      "powerlaw:%d",      "powerlaw:%d:1:1.1",
        "powerlaw:%d:1:10", "dense:%d",       "dense:%dx3",       "permutation:%d",
        "diagonal:%d",      "banded:%d"};
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 10, 63, 64, 65, 100, 257};
    (void)state;
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            char spec[64];
            snprintf(spec, sizeof spec, forms[f], sizes[n]);
            spmv_coo A = make(spec, 1, NULL, 3);
            assert_well_formed(&A);
            spmv_coo_free(&A);
        }
    for (int scale = 1; scale <= 6; scale++) {
        char spec[64];
        snprintf(spec, sizeof spec, "rmat:%d:%d", scale, 1 << 2 * scale);
        spmv_coo A = make(spec, 1, NULL, 3);
        assert_well_formed(&A);
        spmv_coo_free(&A);
    }
}

static void defaults_are_taken(void **state) {
    spmv_coo A = make("dense", 1, NULL, 2), B = make("dense:1000x1000", 1, NULL, 2);
    (void)state;
    assert_true(hash_of(&A) == hash_of(&B));
    spmv_coo_free(&A);
    spmv_coo_free(&B);
    A = make("random:500", 1, NULL, 2), B = make("random:500:16:500", 1, NULL, 2);
    assert_true(hash_of(&A) == hash_of(&B));
    spmv_coo_free(&A);
    spmv_coo_free(&B);
    A = make("ci:500", 1, NULL, 2), B = make("ci:500:.2:0.010", 1, NULL, 2);
    assert_true(hash_of(&A) == hash_of(&B));
    spmv_coo_free(&A);
    spmv_coo_free(&B);
}

/* ---- values --------------------------------------------------------------------------------- */

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int64_t count_distinct(spmv_coo *A) {
    int64_t distinct = A->nnz > 0;
    qsort(A->values, (size_t)A->nnz, sizeof *A->values, compare_doubles);
    for (int64_t k = 1; k < A->nnz; k++) distinct += A->values[k] != A->values[k - 1];
    return distinct;
}

static void random_values_fill_the_interval(void **state) {
    spmv_coo A = make("random:1000:20", 3, NULL, 2);
    double sum = 0, squares = 0;
    int64_t outside = 0, short_ones = 0;
    (void)state;
    for (int64_t k = 0; k < A.nnz; k++) {
        double v = A.values[k];
        outside += !(v > -1 && v < 1) || v == 0;
        short_ones += (double)(float)v == v;
        sum += v;
        squares += v * v;
    }
    assert_int_equal(outside, 0);
    assert_int_equal(short_ones, 0);
    assert_true(fabs(sum / (double)A.nnz) < 0.02);
    assert_true(fabs(squares / (double)A.nnz - 1. / 3) < 0.02);
    assert_int_equal(count_distinct(&A), A.nnz);
    spmv_coo_free(&A);
}

static void few_values_are_few(void **state) {
    static const struct {
        const char *values;
        int64_t distinct;
    } cases[] = {
        {"few:1", 1}, {"few:2", 2}, {"few:17", 17}, {"few:256", 256}, {"few:65536", 65536}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A = make("dense:1000x1100", 1, cases[c].values, 2);
        assert_int_equal(A.field, SPMV_REAL_FIELD);
        assert_int_equal(count_distinct(&A), cases[c].distinct);
        assert_true(A.values[0] > -1 && A.values[A.nnz - 1] < 1);
        spmv_coo_free(&A);
    }
}

static void a_pattern_has_no_values(void **state) {
    spmv_coo A = make("mesh:1000", 1, "pattern", 2), B = make("mesh:1000", 1, NULL, 2);
    (void)state;
    assert_null(A.values);
    assert_int_equal(A.field, SPMV_PATTERN_FIELD);
    assert_int_equal(A.nnz, B.nnz);
    assert_memory_equal(A.col, B.col, (size_t)A.nnz * sizeof *A.col);
    spmv_coo_free(&A);
    spmv_coo_free(&B);
}

static void stencils_have_their_constants(void **state) {
    static const struct {
        const char *spec;
        double diagonal;
    } cases[] = {{"poisson2d:6", 4}, {"poisson3d:5", 6}, {"box27:5", 26}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A = make(cases[c].spec, 9, NULL, 2);
        for (int64_t k = 0; k < A.nnz; k++)
            assert_true(A.values[k] == (A.row[k] == A.col[k] ? cases[c].diagonal : -1));
        assert_structure_symmetric(&A);
        spmv_coo_free(&A);
    }
}

/* ---- shapes --------------------------------------------------------------------------------- */

static void assert_counts(const char *spec, int64_t rows, int64_t cols, int64_t nnz) {
    spmv_coo A = make(spec, 1, NULL, 2);
    assert_int_equal(A.rows, rows);
    assert_int_equal(A.cols, cols);
    assert_int_equal(A.nnz, nnz);
    spmv_coo_free(&A);
}

static void stencils_have_their_counts(void **state) {
    (void)state;
    for (int64_t n = 1; n <= 12; n++) {
        char spec[64];
        int64_t cube = (3 * n - 2) * (3 * n - 2) * (3 * n - 2);
        snprintf(spec, sizeof spec, "poisson2d:%d", (int)n);
        assert_counts(spec, n * n, n * n, 5 * n * n - 4 * n);
        snprintf(spec, sizeof spec, "poisson3d:%d", (int)n);
        assert_counts(spec, n * n * n, n * n * n, 7 * n * n * n - 6 * n * n);
        snprintf(spec, sizeof spec, "box27:%d", (int)n);
        assert_counts(spec, n * n * n, n * n * n, cube);
        snprintf(spec, sizeof spec, "fem3d:%d:2", (int)n);
        assert_counts(spec, 2 * n * n * n, 2 * n * n * n, 4 * cube);
    }
    assert_counts("poisson3d:128", 2097152, 2097152, 14581760);
    assert_counts("poisson3d:3x4x5", 60, 60, 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12));
    assert_counts("fem3d:2x3x4:5", 120, 120, 25 * 4 * 7 * 10);
    assert_counts("dense:7:9", 7, 9, 63);
    assert_counts("diagonal:8", 8, 8, 8);
    assert_counts("random:100:7:50", 100, 50, 700);
}

static void a_permutation_is_one(void **state) {
    static const char *const cases[] = {"permutation:1", "permutation:2",    "permutation:3",
                                        "permutation:6", "permutation:4097", "permutation:100000"};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A = make(cases[c], 1, NULL, 2);
        int64_t *in_column = lengths(A.cols, A.nnz, A.col), fixed = 0;
        assert_int_equal(A.nnz, A.rows);
        assert_int_equal(least(in_column, A.cols), 1);
        for (int64_t k = 0; k < A.nnz; k++) fixed += A.row[k] == A.col[k];
        if (A.rows > 1000) assert_true(fixed < 20); /* 1 is expected */
        free(in_column);
        spmv_coo_free(&A);
    }
}

static void the_giant_row_is_in_the_middle(void **state) {
    spmv_coo A = make("giantrow:20001:15000", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row);
    (void)state;
    assert_int_equal(A.nnz, 3 * 20000 + 15000);
    assert_int_equal(length[10000], 15000);
    length[10000] = 3;
    assert_int_equal(greatest(length, A.rows), 3);
    assert_int_equal(least(length, A.rows), 3);
    free(length);
    spmv_coo_free(&A);
}

static void a_band_has_its_width(void **state) {
    (void)state;
    for (int width = 1; width <= 9; width++) {
        char spec[64];
        snprintf(spec, sizeof spec, "banded:200:%d", width);
        spmv_coo A = make(spec, 1, NULL, 2);
        int64_t *length = lengths(A.rows, A.nnz, A.row);
        for (int64_t i = width; i < 200 - width; i++) assert_int_equal(length[i], width);
        for (int64_t k = 0; k < A.nnz; k++) assert_true(abs(A.row[k] - A.col[k]) <= width / 2);
        free(length);
        spmv_coo_free(&A);
    }
}

static void ci_has_its_densities(void **state) {
    spmv_coo A = make("ci:4096", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), reference = 0, columns = 409,
            rest = 4096 - columns;
    int64_t *in_column = lengths(A.cols, A.nnz, A.col);
    (void)state;
    for (int64_t k = 0; k < A.nnz; k++) reference += A.col[k] < columns;
    assert_int_equal(reference, 82 * 4096); /* the same in every row: 20 % of 409, rounded */
    double density = (double)(A.nnz - reference) / 4096. / (double)rest;
    assert_true(density > 0.0098 && density < 0.0102);
    assert_true(greatest(length, 4096) <= 82 + (int64_t)(1.43 * 36.87) + 1);
    assert_true(least(length, 4096) >= 82 + (int64_t)(0.57 * 36.87) - 1);
    for (int64_t j = 0; j < columns; j++)
        assert_true(in_column[j] > 819 - 200 && in_column[j] < 819 + 200);
    for (int64_t j = columns; j < 4096; j++) assert_true(in_column[j] > 0 && in_column[j] < 90);
    free(length);
    free(in_column);
    spmv_coo_free(&A);
    A = make("ci:1000:0.5:0.25", 1, NULL, 2);
    reference = 0;
    for (int64_t k = 0; k < A.nnz; k++) reference += A.col[k] < 100;
    assert_int_equal(reference, 50 * 1000);
    density = (double)(A.nnz - reference) / 900e3;
    assert_true(density > 0.245 && density < 0.255);
    spmv_coo_free(&A);
}

static void ci_is_the_paper_s(void **state) {
    spmv_coo A = make("ci:32768", 1, "pattern", 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), reference = 0;
    (void)state;
    for (int64_t k = 0; k < A.nnz; k++) reference += A.col[k] < 3276;
    assert_int_equal(reference, 21463040);
    assert_true(A.nnz > 31100000 && A.nnz < 31150000);
    assert_true(greatest(length, A.rows) >= 1060 && greatest(length, A.rows) <= 1080);
    free(length);
    spmv_coo_free(&A);
}

static void a_mesh_is_like_a_mesh(void **state) {
    spmv_coo A = make("mesh:50000", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), bandwidth = 0, without = 0;
    double mean = (double)A.nnz / (double)A.rows;
    (void)state;
    assert_structure_symmetric(&A);
    assert_true(mean > 6.8 && mean < 7.1);
    assert_int_equal(least(length, A.rows), 1);
    assert_true(greatest(length, A.rows) >= 10 && greatest(length, A.rows) <= 11);
    for (int32_t i = 0; i < A.rows; i++) without += !has_entry(&A, i, i);
    assert_int_equal(without, 0);
    for (int64_t k = 0; k < A.nnz; k++)
        bandwidth = llabs(A.row[k] - A.col[k]) > bandwidth ? llabs(A.row[k] - A.col[k]) : bandwidth;
    assert_true(bandwidth > 1000 && bandwidth < 2 * 4096);
    free(length);
    spmv_coo_free(&A);
}

static void a_road_is_like_a_road(void **state) {
    spmv_coo A = make("road:50001", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), twos = 0;
    double mean = (double)A.nnz / (double)A.rows;
    (void)state;
    assert_structure_symmetric(&A);
    assert_true(mean > 2.0 && mean < 2.25);
    assert_int_equal(least(length, A.rows), 1);
    assert_int_equal(greatest(length, A.rows), 4);
    for (int64_t i = 0; i < A.rows; i++) twos += length[i] == 2;
    assert_true(twos > A.rows / 2);
    for (int64_t k = 0; k < A.nnz; k++) assert_true(A.row[k] != A.col[k]);
    free(length);
    spmv_coo_free(&A);
}

/* All ways a sample is drawn: by bits, by the bits left out, by sorting, short and long, in parts.
 */
static void samples_are_uniform(void **state) {
    static const struct {
        const char *spec;
        int64_t rows, k, cols;
    } cases[] = {{"random:4000:10:40", 4000, 10, 40},
                 {"random:4000:30:40", 4000, 30, 40},
                 {"random:4000:10:8000", 4000, 10, 8000},
                 {"random:300:100:10000", 300, 100, 10000},
                 {"random:100:5000:20000", 100, 5000, 20000},
                 {"random:50:5000:4000000", 50, 5000, 4000000},
                 {"random:30:2048:2147483647", 30, 2048, 2147483647}};
    enum { BINS = 10 };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A = make(cases[c].spec, 1, "pattern", 2);
        int64_t bin[BINS] = {0};
        double expected = (double)(cases[c].rows * cases[c].k) / BINS;
        assert_well_formed(&A);
        assert_int_equal(A.nnz, cases[c].rows * cases[c].k);
        for (int64_t k = 0; k < A.nnz; k++) bin[(int64_t)A.col[k] * BINS / cases[c].cols]++;
        for (int b = 0; b < BINS; b++)
            assert_true(fabs((double)bin[b] - expected) < 5 * sqrt(expected) + 1);
        spmv_coo_free(&A);
    }
}

static void rmat_fills_its_quadrants(void **state) {
    spmv_coo A = make("rmat:16:4", 1, NULL, 2);
    double share[2][2] = {{0}}, n = (double)A.nnz;
    int64_t *length = lengths(A.rows, A.nnz, A.row), *in_column = lengths(A.cols, A.nnz, A.col);
    (void)state;
    assert_well_formed(&A);
    assert_true(A.nnz > 240000 && A.nnz <= 262144); /* some of 2^18 edges coincide */
    for (int64_t k = 0; k < A.nnz; k++) share[A.row[k] >> 15][A.col[k] >> 15] += 1 / n;
    assert_true(fabs(share[0][0] - 0.57) < 0.02);
    assert_true(fabs(share[0][1] - 0.19) < 0.01);
    assert_true(fabs(share[1][0] - 0.19) < 0.01);
    assert_true(fabs(share[1][1] - 0.05) < 0.01);
    assert_true(greatest(length, A.rows) > 1000 && greatest(in_column, A.cols) > 1000);
    free(length);
    free(in_column);
    spmv_coo_free(&A);
}

static void a_power_law_has_its_mean_and_hubs(void **state) {
    static const struct {
        const char *spec;
        double mean;
    } cases[] = {{"powerlaw:50000:8", 8},      {"powerlaw:50000:3.25:3", 3.25},
                 {"powerlaw:20000:8:1.5", 8},  {"powerlaw:20000:20:10", 20},
                 {"powerlaw:2000:1000", 1000}, {"powerlaw:50000:0.5", 0.5}};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A = make(cases[c].spec, 1, NULL, 2);
        double mean = (double)A.nnz / (double)A.rows;
        if (fabs(mean - cases[c].mean) > 0.01 * cases[c].mean)
            print_error("%s: mean %g\n", cases[c].spec, mean);
        assert_true(fabs(mean - cases[c].mean) <= 0.01 * cases[c].mean);
        spmv_coo_free(&A);
    }
    spmv_coo A = make("powerlaw:50000:8", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), *in_column = lengths(A.cols, A.nnz, A.col),
            hub = 0;
    while (in_column[hub] < greatest(in_column, A.cols)) hub++;
    assert_true(greatest(length, A.rows) > 5000);
    assert_true(in_column[hub] > 3000);
    assert_true(hub > 100); /* scattered: rank 1 is not column 0 */
    free(length);
    free(in_column);
    spmv_coo_free(&A);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void wrong_specs_are_refused(void **state) {
    static const struct {
        const char *spec, *values, *text;
    } cases[] = {
        {"poisson3d:abc", NULL,
         "gen:poisson3d:abc: 'abc' is not a size; usage: gen:poisson3d:N or N1xN2xN3"},
        {"poisson3d:", NULL, "'' is not a size"},
        {"poisson3d:-4", NULL, "'-4' is not a size"},
        {"poisson3d:1e3", NULL, "'1e3' is not a size"},
        {"poisson3d:4 ", NULL, "'4 ' is not a size"},
        {"poisson3d:0", NULL, "0 is not in 1 to 2147483647"},
        {"poisson3d:2147483648", NULL, "2147483648 is not in 1 to 2147483647"},
        {"poisson3d:99999999999999999999999999", NULL, "is not in 1 to 2147483647"},
        {"poisson3d:1291", NULL, "2151685171 rows, at most 2147483647"},
        {"poisson3d:2147483647", NULL, "rows, at most 2147483647"},
        {"poisson3d:4x4", NULL, "2 sizes for 3 dimensions"},
        {"poisson3d:4x4x4x4", NULL, "4 sizes for 3 dimensions"},
        {"poisson3d:4x4xq", NULL, "'q' is not a size"},
        {"poisson3d:1:2:3:4:5", NULL, "'5' is one argument too many"},
        {"poisson2d:4x4x4", NULL, "3 sizes for 2 dimensions"},
        {"poisson2d:46341", NULL, "rows, at most 2147483647"},
        {"box27:4x", NULL, "2 sizes for 3 dimensions"},
        {"fem3d:4:1025", NULL, "1025 is not in 1 to 1024"},
        {"fem3d:4:0", NULL, "0 is not in 1 to 1024"},
        {"fem3d:1290:2", NULL, "rows, at most 2147483647"},
        {"fem3d:2x2x2:3:4", NULL, "'4' is one argument too many"},
        {"mesh:1x2", NULL, "'2' is one argument too many"},
        {"mesh:many", NULL, "usage: gen:mesh:ROWS"},
        {"road:1:2", NULL, "'2' is one argument too many"},
        {"road:1.5", NULL, "'1.5' is not a size"},
        {"random:10:11", NULL, "11 is not in 1 to 10"},
        {"random:10:5:4", NULL, "5 is not in 1 to 4"},
        {"random:10:5:40:1", NULL, "'1' is one argument too many"},
        {"rmat:0", NULL, "0 is not in 1 to 30"},
        {"rmat:31", NULL, "31 is not in 1 to 30"},
        {"rmat:10:65537", NULL, "65537 is not in 1 to 65536"},
        {"rmat:10:4:4", NULL, "one argument too many"},
        {"powerlaw:100:51", NULL, "51 is not in 0.01 to 50"},
        {"powerlaw:100:0", NULL, "0 is not in 0.01 to 50"},
        {"powerlaw:100:4:1", NULL, "1 is not in 1.1 to 10"},
        {"powerlaw:100:4:2.1:1", NULL, "one argument too many"},
        {"powerlaw:100:4..1", NULL, "'4..1' is not a decimal of at most 6 places"},
        {"powerlaw:100:.", NULL, "'.' is not a decimal"},
        {"powerlaw:100:4.1234567", NULL, "'4.1234567' is not a decimal of at most 6 places"},
        {"banded:10:11", NULL, "11 is not in 1 to 10"},
        {"banded:10:1:1", NULL, "one argument too many"},
        {"giantrow:10:11", NULL, "11 is not in 1 to 10"},
        {"giantrow:10:1:1", NULL, "one argument too many"},
        {"ci:10:1.1", NULL, "1.1 is not in 0 to 1"},
        {"ci:10:0.2:-1", NULL, "'-1' is not a decimal"},
        {"ci:10:0.2:0.1:0", NULL, "one argument too many"},
        {"dense:2x3x4", NULL, "one argument too many"},
        {"dense:2xy", NULL, "'y' is not a size"},
        {"permutation:3:3", NULL, "one argument too many"},
        {"diagonal:3:3", NULL, "one argument too many"},
        {"poison3d:4", NULL,
         "gen:poison3d:4: no generator 'poison3d': did you mean 'poisson3d'?; there are "
         "poisson2d, "},
        {"zzzzzzzzzzzz", NULL,
         "no generator 'zzzzzzzzzzzz'; there are poisson2d, poisson3d, box27, fem3d, mesh, "},
        {"", NULL, "no generator ''"},
        {"mesh2:4", NULL, "did you mean 'mesh'?"},
        {"mes:4", NULL, "did you mean 'mesh'?"},
        {"mesh:4", "rnadom",
         "gen:mesh:4: no values 'rnadom'; there are random, few:K (K from 1 to 65536), pattern"},
        {"mesh:4", "", "no values ''"},
        {"mesh:4", "few", "no values 'few'"},
        {"mesh:4", "few:", "no values 'few:'"},
        {"mesh:4", "few:0", "no values 'few:0'"},
        {"mesh:4", "few:65537", "no values 'few:65537'"},
        {"mesh:4", "few:99999999999999999999", "no values 'few:9999"},
        {"mesh:4", "few:3x", "no values 'few:3x'"},
    };
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A;
        spmv_status status = spmv_generate(ctx, cases[c].spec, 1, cases[c].values, 2, &A);
        bool is_said = strstr(spmv_ctx_error(ctx), cases[c].text) != NULL;
        if (status != SPMV_E_ARG || !is_said)
            print_error("gen:%s: status %d, text: %s\n", cases[c].spec, status,
                        spmv_ctx_error(ctx));
        assert_int_equal(status, SPMV_E_ARG);
        assert_true(is_said);
        assert_true(!A.row && !A.col && !A.values && A.nnz == 0);
    }
}

static void long_specs_are_refused(void **state) {
    char spec[5000];
    spmv_coo A;
    (void)state;
    memset(spec, 'q', sizeof spec);
    spec[sizeof spec - 1] = 0;
    assert_int_equal(spmv_generate(ctx, spec, 1, NULL, 2, &A), SPMV_E_ARG);
    memcpy(spec, "mesh:", 5);
    assert_int_equal(spmv_generate(ctx, spec, 1, NULL, 2, &A), SPMV_E_ARG);
    assert_int_equal(spmv_generate(ctx, "mesh:4", 1, spec, 2, &A), SPMV_E_ARG);
}

/* Also where entries times 16 bytes is over 2^64. */
static void what_does_not_fit_is_refused(void **state) {
    static const char *const cases[] = {"dense:2147483647",
                                        "dense:2000000x2000000",
                                        "random:2000000000:2000000000",
                                        "fem3d:100:1024",
                                        "rmat:30:65536",
                                        "ci:2000000000:1:1",
                                        "banded:2147483647:2147483647"};
    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A;
        assert_int_equal(spmv_generate(ctx, cases[c], 1, NULL, 2, &A), SPMV_E_NOMEM);
        assert_non_null(strstr(spmv_ctx_error(ctx), cases[c]));
        assert_true(!A.row && !A.col && !A.values && A.nnz == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_generator_has_a_spec),
        cmocka_unit_test(small_ones_are_well_formed),
        cmocka_unit_test(threads_do_not_matter),
        cmocka_unit_test(machines_do_not_matter),
        cmocka_unit_test(seeds_matter),
        cmocka_unit_test(odd_sizes_are_well_formed),
        cmocka_unit_test(defaults_are_taken),
        cmocka_unit_test(random_values_fill_the_interval),
        cmocka_unit_test(few_values_are_few),
        cmocka_unit_test(a_pattern_has_no_values),
        cmocka_unit_test(stencils_have_their_constants),
        cmocka_unit_test(stencils_have_their_counts),
        cmocka_unit_test(a_permutation_is_one),
        cmocka_unit_test(the_giant_row_is_in_the_middle),
        cmocka_unit_test(a_band_has_its_width),
        cmocka_unit_test(ci_has_its_densities),
        cmocka_unit_test(ci_is_the_paper_s),
        cmocka_unit_test(a_mesh_is_like_a_mesh),
        cmocka_unit_test(a_road_is_like_a_road),
        cmocka_unit_test(samples_are_uniform),
        cmocka_unit_test(rmat_fills_its_quadrants),
        cmocka_unit_test(a_power_law_has_its_mean_and_hubs),
        cmocka_unit_test(wrong_specs_are_refused),
        cmocka_unit_test(long_specs_are_refused),
        cmocka_unit_test(what_does_not_fit_is_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
