/* test_generate_shapes.c: generated matrices have the shapes that their names say. */
#include "generated.h"

/* ---- shapes --------------------------------------------------------------------------------- */

static void assert_counts(const char *spec, int64_t rows, int64_t cols, int64_t nnz) {
    FREED(spmv_coo) A = make(spec, 1, NULL, 2);
    assert_int_equal(A.rows, rows);
    assert_int_equal(A.cols, cols);
    assert_int_equal(A.nnz, nnz);
}

TEST(stencils_have_their_counts) {
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
        snprintf(spec, sizeof spec, "shuffled:%d:5", (int)n);
        assert_counts(spec, n * n * n, n * n * n, cube);
    }
    assert_counts("poisson3d:128", 2097152, 2097152, 14581760);
    assert_counts("poisson3d:3x4x5", 60, 60, 60 + 2 * (2 * 20 + 3 * 15 + 4 * 12));
    assert_counts("fem3d:2x3x4:5", 120, 120, 25 * 4 * 7 * 10);
    assert_counts("dense:7:9", 7, 9, 63);
    assert_counts("splines:50:9", 50, 81, 800);
    assert_counts("diagonal:8", 8, 8, 8);
    assert_counts("random:100:7:50", 100, 50, 700);
}

/* A shuffled box has the entries of the box, in the order of a permutation: lengths of rows that
 * are neighbours agree from both sides, and no entry leaves the slabs beside its own. */
TEST(slabs_are_shuffled_inside) {
    enum { N = 11, LAYERS = 3, SLAB = N * N * LAYERS };
    FREED(spmv_coo) A = make("shuffled:11:3", 1, NULL, 2);
    int64_t moved = 0;
    assert_structure_symmetric(&A);
    for (int64_t k = 0; k < A.nnz; k++) {
        assert_true(llabs(A.row[k] / SLAB - A.col[k] / SLAB) <= 1);
        moved += llabs(A.row[k] - A.col[k]) > N * N + N + 1;
    }
    assert_true(4 * moved > A.nnz);
}

/* Each row has four successive columns in four successive lines of knots. */
TEST(splines_have_squares_of_knots) {
    enum { KNOTS = 30 };
    FREED(spmv_coo) A = make("splines:500:30", 1, NULL, 2);
    assert_int_equal(A.nnz, 8000);
    for (int64_t k = 0; k < A.nnz; k++) {
        const int32_t first = A.col[k / 16 * 16];
        assert_int_equal(A.row[k], k / 16);
        assert_int_equal(A.col[k], first + k % 16 / 4 * KNOTS + k % 4);
        assert_true(first % KNOTS <= KNOTS - 4 && first / KNOTS <= KNOTS - 4);
    }
}

TEST(a_permutation_is_one) {
    static const char *const cases[] = {"permutation:1", "permutation:2",    "permutation:3",
                                        "permutation:6", "permutation:4097", "permutation:100000"};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FREED(spmv_coo) A = make(cases[c], 1, NULL, 2);
        int64_t *in_column = lengths(A.cols, A.nnz, A.col), fixed = 0;
        assert_int_equal(A.nnz, A.rows);
        assert_int_equal(least(in_column, A.cols), 1);
        for (int64_t k = 0; k < A.nnz; k++) fixed += A.row[k] == A.col[k];
        if (A.rows > 1000) assert_true(fixed < 20); /* 1 is expected */
        free(in_column);
    }
}

TEST(the_giant_row_is_in_the_middle) {
    FREED(spmv_coo) A = make("giantrow:20001:15000", 1, NULL, 2);
    FREED(int64_t) *length = lengths(A.rows, A.nnz, A.row);
    assert_int_equal(A.nnz, 3 * 20000 + 15000);
    assert_int_equal(length[10000], 15000);
    length[10000] = 3;
    assert_int_equal(greatest(length, A.rows), 3);
    assert_int_equal(least(length, A.rows), 3);
}

TEST(a_band_has_its_width) {
    for (int width = 1; width <= 9; width++) {
        char spec[64];
        snprintf(spec, sizeof spec, "banded:200:%d", width);
        FREED(spmv_coo) A = make(spec, 1, NULL, 2);
        FREED(int64_t) *length = lengths(A.rows, A.nnz, A.row);
        for (int64_t i = width; i < 200 - width; i++) assert_int_equal(length[i], width);
        for (int64_t k = 0; k < A.nnz; k++) assert_true(abs(A.row[k] - A.col[k]) <= width / 2);
    }
}

TEST(ci_has_its_densities) {
    spmv_coo A = make("ci:4096", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), reference = 0, columns = 409,
            rest = 4096 - columns;
    int64_t *in_column = lengths(A.cols, A.nnz, A.col);
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

TEST(ci_is_the_paper_s) {
    FREED(spmv_coo) A = make("ci:32768", 1, "pattern", 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), reference = 0;
    for (int64_t k = 0; k < A.nnz; k++) reference += A.col[k] < 3276;
    assert_int_equal(reference, 21463040);
    assert_true(A.nnz > 31100000 && A.nnz < 31150000);
    assert_true(greatest(length, A.rows) >= 1060 && greatest(length, A.rows) <= 1080);
    free(length);
}

TEST(a_mesh_is_like_a_mesh) {
    FREED(spmv_coo) A = make("mesh:50000", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), bandwidth = 0, without = 0;
    double mean = (double)A.nnz / (double)A.rows;
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
}

/* Row i * 3 + q has block j where the mesh has entry (i, j), and where i is fixed its diagonal. */
TEST(nodes_of_some_rows_couple_in_blocks) {
    FREED(spmv_coo) A = make("mesh:5000", 1, NULL, 2), B = make("mesh:5000:3", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), k = 0, begin = 0;
    assert_int_equal(B.rows, 15000);
    assert_structure_symmetric(&B);
    for (int32_t i = 0; i < A.rows; begin += length[i++])
        for (int32_t q = 0; q < 3; q++)
            if (length[i] == 1) {
                assert_true(B.row[k] == 3 * i + q && B.col[k] == 3 * i + q);
                k++;
            } else
                for (int64_t e = 0; e < 3 * length[i]; e++, k++) {
                    assert_int_equal(B.row[k], 3 * i + q);
                    assert_int_equal(B.col[k], 3 * A.col[begin + e / 3] + e % 3);
                }
    assert_int_equal(k, B.nnz);
    free(length);
}

TEST(a_road_is_like_a_road) {
    FREED(spmv_coo) A = make("road:50001", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), twos = 0;
    double mean = (double)A.nnz / (double)A.rows;
    assert_structure_symmetric(&A);
    assert_true(mean > 2.0 && mean < 2.25);
    assert_int_equal(least(length, A.rows), 1);
    assert_int_equal(greatest(length, A.rows), 4);
    for (int64_t i = 0; i < A.rows; i++) twos += length[i] == 2;
    assert_true(twos > A.rows / 2);
    for (int64_t k = 0; k < A.nnz; k++) assert_true(A.row[k] != A.col[k]);
    free(length);
}

/* All ways a sample is drawn: by bits, by the bits left out, by sorting, short and long, in parts.
 */
TEST(samples_are_uniform) {
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
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FREED(spmv_coo) A = make(cases[c].spec, 1, "pattern", 2);
        int64_t bin[BINS] = {0};
        double expected = (double)(cases[c].rows * cases[c].k) / BINS;
        assert_well_formed(&A);
        assert_int_equal(A.nnz, cases[c].rows * cases[c].k);
        for (int64_t k = 0; k < A.nnz; k++) bin[(int64_t)A.col[k] * BINS / cases[c].cols]++;
        for (int b = 0; b < BINS; b++)
            assert_true(fabs((double)bin[b] - expected) < 5 * sqrt(expected) + 1);
    }
}

TEST(rmat_fills_its_quadrants) {
    FREED(spmv_coo) A = make("rmat:16:4", 1, NULL, 2);
    double share[2][2] = {{0}}, n = (double)A.nnz;
    FREED(int64_t) *length = lengths(A.rows, A.nnz, A.row),
                   *in_column = lengths(A.cols, A.nnz, A.col);
    assert_well_formed(&A);
    assert_true(A.nnz > 240000 && A.nnz <= 262144); /* some of 2^18 edges coincide */
    for (int64_t k = 0; k < A.nnz; k++) share[A.row[k] >> 15][A.col[k] >> 15] += 1 / n;
    assert_true(fabs(share[0][0] - 0.57) < 0.02);
    assert_true(fabs(share[0][1] - 0.19) < 0.01);
    assert_true(fabs(share[1][0] - 0.19) < 0.01);
    assert_true(fabs(share[1][1] - 0.05) < 0.01);
    assert_true(greatest(length, A.rows) > 1000 && greatest(in_column, A.cols) > 1000);
}

TEST(a_power_law_has_its_mean_and_hubs) {
    static const struct {
        const char *spec;
        double mean;
    } cases[] = {{"powerlaw:50000:8", 8},      {"powerlaw:50000:3.25:3", 3.25},
                 {"powerlaw:20000:8:1.5", 8},  {"powerlaw:20000:20:10", 20},
                 {"powerlaw:2000:1000", 1000}, {"powerlaw:50000:0.5", 0.5}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        FREED(spmv_coo) A = make(cases[c].spec, 1, NULL, 2);
        double mean = (double)A.nnz / (double)A.rows;
        if (fabs(mean - cases[c].mean) > 0.01 * cases[c].mean)
            print_error("%s: mean %g\n", cases[c].spec, mean);
        assert_true(fabs(mean - cases[c].mean) <= 0.01 * cases[c].mean);
    }
    FREED(spmv_coo) A = make("powerlaw:50000:8", 1, NULL, 2);
    int64_t *length = lengths(A.rows, A.nnz, A.row), *in_column = lengths(A.cols, A.nnz, A.col),
            hot = 0;
    while (in_column[hot] < greatest(in_column, A.cols)) hot++;
    assert_true(greatest(length, A.rows) > 5000);
    assert_true(in_column[hot] > 3000);
    assert_true(hot > 100); /* scattered: rank 1 is not column 0 */
    free(length);
    free(in_column);
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
