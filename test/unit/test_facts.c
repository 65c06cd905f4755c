/* test_facts.c: the facts of spmv info, by hand on small matrices. */
#include "app/info/facts.h"
#include "context.h"
#include <sys/resource.h>

static void assert_near(double found, double expected) {
    if (!(fabs(found - expected) <= 1e-15 * fabs(expected)))
        fail_msg("%.17g, not %.17g", found, expected);
}

static matrix_facts facts_of(const entries *e) {
    FREED(spmv_mat) *mat = matrix_of(ctx, e);
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    matrix_facts facts;
    spmv_mat_stats(mat, &stats);
    spmv_csr_view A = rows_of(mat);
    assert_true(matrix_facts_of(ctx, &A, &stats, &facts));
    return facts;
}

/*  1  2  .  .
 *  2  .  .  4      rows of 2, 2, 0, 4: mu = 2, variance = (0 + 0 + 4 + 4) / 4 = 2
 *  .  .  .  .      blocks 2x2: all four hold entries but the upper right holds (1,3) alone
 *  1  1  1  7  */
TEST(facts_by_hand) {
    FREED(entries) e = {.rows = 4, .cols = 4};
    add_entry(&e, 0, 0, 1), add_entry(&e, 0, 1, 2);
    add_entry(&e, 1, 0, 2), add_entry(&e, 1, 3, 4);
    add_entry(&e, 3, 0, 1), add_entry(&e, 3, 1, 1), add_entry(&e, 3, 2, 1),
        add_entry(&e, 3, 3, 0.1);
    matrix_facts f = facts_of(&e);
    assert_int_equal(f.nnz, 8);
    assert_near(f.row_mean, 2);
    assert_near(f.row_std, sqrt(2));
    assert_near(f.sigma, 1); /* sqrt(sum (n_i - mu)^2 / (mu M)) = sqrt(8 / 8) */
    assert_float_equal(f.gini, 0.375,
                       1e-15); /* lengths 0 2 2 4: 2 (0 + 4 + 6 + 16) / (4 * 8) - 5 / 4 */
    assert_int_equal(f.empty_rows, 1);
    assert_int_equal(f.row_max, 4);
    assert_int_equal(f.col_max, 3);
    assert_int_equal(f.empty_cols, 0);
    assert_int_equal(f.bandwidth, 3);
    assert_int_equal(f.diagonals, 6); /* j - i: 0 1 -1 2 -3 -2 */
    assert_near(f.full_diagonal, 0.5);
    assert_near(f.fill_2, 8 / 16.0);
    assert_near(f.fill_3, 8 / (4 * 9.0));
    assert_near(f.fill_8, 8 / 64.0);
    assert_float_equal(f.pattern_symmetry, 6 / 8.0,
                       0); /* (0,0) (3,3), both (0,1) (1,0), both (1,3) (3,1) */
    assert_near(f.value_symmetry, 4 / 8.0);
    assert_near(f.runs, 4 / 8.0);
    assert_int_equal(f.distinct, 4);
    assert_near(f.exact_f32, 7 / 8.0);
}

TEST(values_are_counted_by_bits) {
    enum { N = 20000 };
    FREED(entries) e = {.rows = 1, .cols = N};
    for (int64_t j = 0; j < N; j++)
        add_entry(&e, 0, j, j % 3 ? (double)(j / 2) + 0.1 : j % 2 ? 0.0 : -0.0);
    double seen[N];
    int64_t distinct = 2;             /* both zeros */
    for (int64_t j = 0; j < N; j++) { /* j / 2 + 0.1 comes once or twice, one after the other */
        seen[j] = j % 3 ? (double)(j / 2) : -1;
        if (j % 3) distinct += !(j > 0 && seen[j - 1] == seen[j]);
    }
    assert_int_equal(facts_of(&e).distinct, distinct);
}

/* Returns the bytes of address space that the process has. */
static size_t bytes_mapped(void) {
    size_t pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu", &pages), 1);
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Two million distinct values are counted in 8 bytes per nonzero; a set of all takes 24. */
TEST(distinct_values_take_little_memory) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    skip(); /* they map terabytes */
#endif
    enum { N = 2000000 };
    const struct rlimit before = {RLIM_INFINITY, RLIM_INFINITY};
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    matrix_facts facts;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:random:2000:1000");
    spmv_mat_stats(mat, &stats);
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(A.nnz, N);
    const struct rlimit little = {bytes_mapped() + 8 * N, before.rlim_max};
    assert_true(matrix_facts_of(ctx, &A, &stats, &facts));
    const int64_t distinct = facts.distinct;
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    const bool is_found = matrix_facts_of(ctx, &A, &stats, &facts);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_true(is_found);
    assert_int_equal(facts.distinct, distinct);
    assert_true(distinct > N - 10 && distinct <= N);
}

TEST(empty_and_rectangular_matrices_have_facts) {
    static const int64_t sizes[][2] = {{0, 0}, {0, 5}, {5, 0}, {3, 4}};
    for (int k = 0; k < COUNT(sizes); k++) {
        FREED(entries) e = {.rows = sizes[k][0], .cols = sizes[k][1]};
        matrix_facts f = facts_of(&e);
        assert_int_equal(f.nnz, 0);
        assert_int_equal(f.distinct, 0);
        assert_int_equal(f.diagonals, 0);
        assert_true(isnan(f.gini) && isnan(f.fill_2));
    }
    FREED(entries) wide = {.rows = 2, .cols = 9};
    add_entry(&wide, 1, 8, 3);
    matrix_facts f = facts_of(&wide);
    assert_true(isnan(f.pattern_symmetry));
    assert_int_equal(f.bandwidth, 7);
    assert_int_equal(f.empty_cols, 8);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
