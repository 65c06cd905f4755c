/* test_generate.c: every built-in matrix: well formed, the same for any number of threads, of the
 * shape that its name says; and every refusal. */
#include "generated.h"

/* One or more small specs per generator, with hashes of the entries. Logs identify a matrix by its
 * name; a hash may change only together with the name. */
static const struct {
    const char *spec;
    uint64_t hash; /* hash of all entries, seed 1 */
} specs[] = {
    {"poisson2d:37x11", 0xA78112DFED5B6F13},
    {"poisson3d:9", 0x7FA2F711A1B9ECBC},
    {"box27:7x5x3", 0x9007BD115D26AF88},
    {"shuffled:9:4", 0x730D8FBE74E255D5},
    {"splines:500:30", 0xF2ADC2A76C599E89},
    {"fem3d:4:3", 0x60245A41AB386171},
    {"mesh:10007", 0x165B5F351D623529},
    {"mesh:3001:3", 0xA0CA7D74D5E8FDAC},
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

static bool is_of(const char *spec, const char *name) {
    size_t n = strlen(name);
    return strncmp(spec, name, n) == 0 && (spec[n] == ':' || spec[n] == 0);
}
/* ---- all classes ---------------------------------------------------------------------------- */

TEST(every_generator_has_a_spec) {
    int count;
    const spmv_generator *all = spmv_generator_list(&count);
    assert_true(count > 0);
    for (int g = 0; g < count; g++) {
        int found = 0;
        for (int s = 0; s < NSPECS; s++) found += is_of(specs[s].spec, all[g].name);
        if (!found) print_error("add a spec for %s\n", all[g].name);
        assert_true(found > 0);
        assert_true(strlen(all[g].args) > 0 && strlen(all[g].summary) > 0);
    }
}

TEST(small_ones_are_well_formed) {
    for (int s = 0; s < NSPECS; s++) {
        FREED(spmv_coo) A = make(specs[s].spec, 1, NULL, 2);
        assert_well_formed(&A);
        assert_int_equal(A.field, SPMV_REAL_FIELD);
        assert_true(A.nnz > 0);
    }
}

TEST(threads_do_not_matter) {
    static const int threads[] = {2, 3, 7};
    for (int s = 0; s < NSPECS; s++) {
        FREED(spmv_coo) A = make(specs[s].spec, 5, NULL, 1);
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            FREED(spmv_coo) B = make(specs[s].spec, 5, NULL, threads[t]);
            assert_int_equal(A.nnz, B.nnz);
            assert_memory_equal(A.row, B.row, (size_t)A.nnz * sizeof *A.row);
            assert_memory_equal(A.col, B.col, (size_t)A.nnz * sizeof *A.col);
            assert_memory_equal(A.values, B.values, (size_t)A.nnz * sizeof *A.values);
        }
    }
}

TEST(machines_do_not_matter) {
    int wrong = 0;
    for (int s = 0; s < NSPECS; s++) {
        FREED(spmv_coo) A = make(specs[s].spec, 1, NULL, 2);
        uint64_t hash = hash_of(&A);
        if (hash != specs[s].hash)
            print_error("{\"%s\", 0x%016llX},\n", specs[s].spec, (unsigned long long)hash);
        wrong += hash != specs[s].hash;
    }
    assert_int_equal(wrong, 0);
}

TEST(seeds_matter) {
    for (int s = 0; s < NSPECS; s++) {
        FREED(spmv_coo) A = make(specs[s].spec, 1, "random", 2),
                        B = make(specs[s].spec, 2, "random", 2);
        FREED(spmv_coo) C = make(specs[s].spec, 1, "random", 2);
        int64_t equal = 0, common = A.nnz < B.nnz ? A.nnz : B.nnz;
        for (int64_t k = 0; k < common; k++) equal += A.values[k] == B.values[k];
        assert_int_equal(equal, 0);
        assert_true(hash_of(&A) == hash_of(&C));
    }
}

/* Sizes where a grid, a block, a part or a shuffle is cut short. */
TEST(odd_sizes_are_well_formed) {
    static const char *const forms[] = {"poisson2d:%d", "poisson2d:1x%d",    "poisson3d:1x%dx2",
                                        "box27:%dx1x2", "fem3d:%dx1x1:2",    "mesh:%d",
                                        "mesh:%d:6",    "road:%d",           "random:%d",
                                        "random:%d:1",  "giantrow:%d",       "giantrow:%d:1",
                                        "ci:%d",        "ci:%d:1:1",         "ci:%d:0:0",
                                        "powerlaw:%d",  "powerlaw:%d:1:1.1", "powerlaw:%d:1:10",
                                        "dense:%d",     "dense:%dx3",        "permutation:%d",
                                        "diagonal:%d",  "banded:%d",         "splines:%d",
                                        "splines:%d:4"};
    static const int sizes[] = {1, 2, 3, 4, 5, 7, 10, 63, 64, 65, 100, 257};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++)
        for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
            char spec[64];
            snprintf(spec, sizeof spec, forms[f], sizes[n]);
            FREED(spmv_coo) A = make(spec, 1, NULL, 3);
            assert_well_formed(&A);
        }
    for (int scale = 1; scale <= 6; scale++) {
        char spec[64];
        snprintf(spec, sizeof spec, "rmat:%d:%d", scale, 1 << 2 * scale);
        FREED(spmv_coo) A = make(spec, 1, NULL, 3);
        assert_well_formed(&A);
    }
}

TEST(defaults_are_taken) {
    spmv_coo A = make("dense", 1, NULL, 2), B = make("dense:1000x1000", 1, NULL, 2);
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

TEST(random_values_fill_the_interval) {
    FREED(spmv_coo) A = make("random:1000:20", 3, NULL, 2);
    double sum = 0, squares = 0;
    int64_t outside = 0, short_ones = 0;
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
}

TEST(few_values_are_few) {
    static const struct {
        const char *values;
        int64_t distinct;
    } cases[] = {
        {"few:1", 1}, {"few:2", 2}, {"few:17", 17}, {"few:256", 256}, {"few:65536", 65536}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FREED(spmv_coo) A = make("dense:1000x1100", 1, cases[c].values, 2);
        assert_int_equal(A.field, SPMV_REAL_FIELD);
        assert_int_equal(count_distinct(&A), cases[c].distinct);
        assert_true(A.values[0] > -1 && A.values[A.nnz - 1] < 1);
    }
}

/* Every entry has a mirror of the same value, as random as others. */
TEST(symmetric_values_are_mirrored) {
    static const char *const names[] = {"poisson3d:9", "box27:6", "fem3d:4:3", "mesh:500:3"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        FREED(spmv_coo) A = make(names[n], 3, "symmetric", 2),
                        B = make(names[n], 3, "symmetric", 5);
        int64_t equal = 0;
        assert_memory_equal(A.values, B.values, (size_t)A.nnz * sizeof *A.values);
        for (int64_t k = 0; k < A.nnz; k++) {
            int64_t m = 0;
            while (m < A.nnz && (A.row[m] != A.col[k] || A.col[m] != A.row[k])) m++;
            assert_true(m < A.nnz && A.values[m] == A.values[k]);
            equal += k > 0 && A.values[k] == A.values[k - 1];
        }
        assert_true(equal < 3);
    }
}

TEST(a_pattern_has_no_values) {
    FREED(spmv_coo) A = make("mesh:1000", 1, "pattern", 2), B = make("mesh:1000", 1, NULL, 2);
    assert_null(A.values);
    assert_int_equal(A.field, SPMV_PATTERN_FIELD);
    assert_int_equal(A.nnz, B.nnz);
    assert_memory_equal(A.col, B.col, (size_t)A.nnz * sizeof *A.col);
}

TEST(stencils_have_their_constants) {
    static const struct {
        const char *spec;
        double diagonal;
    } cases[] = {{"poisson2d:6", 4}, {"poisson3d:5", 6}, {"box27:5", 26}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FREED(spmv_coo) A = make(cases[c].spec, 9, NULL, 2);
        for (int64_t k = 0; k < A.nnz; k++)
            assert_true(A.values[k] == (A.row[k] == A.col[k] ? cases[c].diagonal : -1));
        assert_structure_symmetric(&A);
    }
}

/* ---- refusals ------------------------------------------------------------------------------- */

TEST(wrong_specs_are_refused) {
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
        {"mesh:1x2x3", NULL, "'3' is one argument too many"},
        {"mesh:2000000000:2", NULL, "4000000000 rows, at most 2147483647"},
        {"mesh:many", NULL, "usage: gen:mesh:NODES[:DOF]"},
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
         "gen:poison3d:4: no generator 'poison3d': did you mean 'poisson3d'? Otherwise there are "
         "poisson2d, "},
        {"zzzzzzzzzzzz", NULL,
         "no generator 'zzzzzzzzzzzz'; there are poisson2d, poisson3d, box27, fem3d, mesh, "},
        {"", NULL, "no generator ''"},
        {"mesh2:4", NULL, "did you mean 'mesh'?"},
        {"mes:4", NULL, "did you mean 'mesh'?"},
        {"mesh:4", "rnadom",
         "gen:mesh:4: no values 'rnadom'; there are random, symmetric, few:K (K from 1 to 65536), "
         "pattern"},
        {"mesh:4", "", "no values ''"},
        {"mesh:4", "few", "no values 'few'"},
        {"random:4:2:5", "symmetric", "values=symmetric is for square matrices"},
        {"mesh:4", "few:", "no values 'few:'"},
        {"mesh:4", "few:0", "no values 'few:0'"},
        {"mesh:4", "few:65537", "no values 'few:65537'"},
        {"mesh:4", "few:99999999999999999999", "no values 'few:9999"},
        {"mesh:4", "few:3x", "no values 'few:3x'"},
    };
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

TEST(long_specs_are_refused) {
    char spec[5000];
    spmv_coo A;
    memset(spec, 'q', sizeof spec);
    spec[sizeof spec - 1] = 0;
    assert_int_equal(spmv_generate(ctx, spec, 1, NULL, 2, &A), SPMV_E_ARG);
    memcpy(spec, "mesh:", 5);
    assert_int_equal(spmv_generate(ctx, spec, 1, NULL, 2, &A), SPMV_E_ARG);
    assert_int_equal(spmv_generate(ctx, "mesh:4", 1, spec, 2, &A), SPMV_E_ARG);
}

/* A matrix is refused also if its entries times 16 bytes exceed 2^64. */
TEST(what_does_not_fit_is_refused) {
    static const char *const cases[] = {"dense:2147483647",
                                        "dense:2000000x2000000",
                                        "random:2000000000:2000000000",
                                        "fem3d:100:1024",
                                        "rmat:30:65536",
                                        "ci:2000000000:1:1",
                                        "banded:2147483647:2147483647"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spmv_coo A;
        assert_int_equal(spmv_generate(ctx, cases[c], 1, NULL, 2, &A), SPMV_E_NOMEM);
        assert_non_null(strstr(spmv_ctx_error(ctx), cases[c]));
        assert_true(!A.row && !A.col && !A.values && A.nnz == 0);
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
