/* test_features.c: what "auto" sees in a matrix. */
#include "features_of.h"

/* ---- features of matrices whose features are known ------------------------------------------ */

TEST(a_tridiagonal_matrix_is_all_diagonals) {
    enum { N = 4000 };
    entries e = {.rows = N, .cols = N};
    for (int64_t i = 0; i < N; i++)
        for (int64_t j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; j++)
            add_entry(&e, i, j, i == j ? 2 : -1);
    spmv_features f = features_of_entries(&e, SPMV_F64);
    assert_int_equal(f.nnz, 3 * N - 2);
    ASSERT_NEAR(f.mean, 3, 0.01);
    ASSERT_NEAR(f.cv, 0, 0.02);
    ASSERT_NEAR(f.diagonal, 1, 0);
    ASSERT_NEAR(f.near_16, 1, 0);
    ASSERT_NEAR(f.index_bytes, 8. / 32, 0.01); /* a step for 32 entries */
    ASSERT_NEAR(f.value_bytes, 8. / 32, 0.01); /* and one value for it */
    ASSERT_NEAR(f.symmetric, 1, 0);
    ASSERT_NEAR(f.reach, 1. / N, 1e-9);
    ASSERT_NEAR(f.seen, 1, 0.001);
    ASSERT_NEAR(f.exact_f32, 1, 0);
    ASSERT_NEAR(f.padding_32, 0, 0.01);
    ASSERT_NEAR(f.per_block[0], 3, 0.05);
    assert_int_equal(f.distinct, 2);
    assert_true(f.lines < 0.08);
}

/* The sample cuts long rows, but contains each kind of row. */
TEST(rows_that_are_cut_stand_for_long_ones) {
    enum { N = 4000 };
    entries e = {.rows = N, .cols = N};
    for (int64_t i = 0; i < N; i++)
        for (int64_t k = 0; k < (i % 2 ? 110 : 10); k++) add_entry(&e, i, (7 * i + 31 * k) % N, 1);
    spmv_features f = features_of_entries(&e, SPMV_F64);
    ASSERT_NEAR(f.mean, 60, 0);
    ASSERT_NEAR(f.seen, 1, 0);
}

TEST(dense_blocks_are_seen) {
    enum { N = 300, EDGE = 3 };
    entries e = {.rows = N * EDGE, .cols = N * EDGE};
    uint64_t seed = 1;
    for (int64_t b = 0; b < N; b++)
        for (int part = 0; part < 4; part++) {
            int64_t c = spmv_split(N, 4, part) + draw_below(&seed, N / 4);
            for (int r = 0; r < EDGE; r++)
                for (int k = 0; k < EDGE; k++) add_random(&e, b * EDGE + r, c * EDGE + k);
        }
    spmv_features f = features_of_entries(&e, SPMV_F64);
    ASSERT_NEAR(f.mean, 12, 0);
    ASSERT_NEAR(f.fill_3, 1, 0);
    assert_true(f.fill_2 < 0.8);
    assert_true(f.per_block[0] >= 3 && f.per_block[0] < 3.3);
    ASSERT_NEAR(f.index_bytes, 1.25 / 3, 0.01);
    assert_true(f.distinct > SPMV_FEW_VALUES);
    ASSERT_NEAR(f.value_bytes, 8, 0);
    ASSERT_NEAR(f.exact_f32, 0, 0.01);
    ASSERT_NEAR(f.symmetric, 0, 0);
}

/* Returns the features of blocks of 3 x 3 on the diagonal in rows for which in() holds; in others,
 * if `rest`, one entry. */
static spmv_features features_of_parts(bool (*in)(int64_t row), bool rest) {
    enum { ROWS = 3 << 13, EDGE = 3 };
    entries e = {.rows = ROWS, .cols = ROWS};
    for (int64_t i = 0; i < ROWS; i++)
        for (int k = 0; k < (in(i) ? EDGE : rest ? 1 : 0); k++)
            add_random(&e, i, in(i) ? i / EDGE * EDGE + k : i);
    return features_of_entries(&e, SPMV_F64);
}

static bool is_in_second_slices(int64_t row) {
    return row >= 450 && row < 1440;
}

static bool is_in_last_three_quarters_of_a_part(int64_t row) {
    return row % 1536 >= 384;
}

/* Blocks are counted in some of the sampled slices only: slices with entries, spread over the
 * sample. */
TEST(blocks_are_sought_where_entries_are) {
    spmv_features f = features_of_parts(is_in_second_slices, false);
    assert_true(f.sampled > 0);
    assert_true(f.fill_3 > 0.9 && f.per_block[0] > 2.9);
    f = features_of_parts(is_in_last_three_quarters_of_a_part, true);
    assert_true(f.fill_3 > 0.7);
}

/* Rows that are cut in the sample count as far as all rows of their window are complete. */
TEST(tiles_are_counted) {
    ASSERT_NEAR(features_of("gen:dense:64", NULL).per_tile, 32, 0);
    ASSERT_NEAR(features_of("gen:dense:200", NULL).per_tile, 32, 0);
    ASSERT_NEAR(features_of("gen:diagonal:5000", NULL).per_tile, 4, 0);
    assert_true(features_of("gen:random:300000:8", NULL).per_tile < 4.1);
    assert_true(features_of("gen:banded:3000:33", NULL).per_tile > 24);
}

TEST(order_and_disorder_of_columns_are_told_apart) {
    spmv_features f = features_of("gen:random:300000:8", NULL);
    assert_true(f.lines > 0.9);
    assert_true(f.diagonal < 0.01);
    assert_true(f.near_16 > 0.2 && f.near_16 < 0.8);
    assert_true(f.index_bytes > 2);
    spmv_features g = features_of("gen:poisson2d:500", NULL);
    assert_true(g.lines < 0.2);
    assert_true(g.diagonal > 0.99 && g.index_bytes < 0.5);
}

TEST(values_are_counted) {
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "few:7").distinct, 7, 0);
    ASSERT_NEAR(features_of("gen:random:5000:8", "few:7").value_bytes, 1, 0);
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "pattern").distinct, 1, 0);
    ASSERT_NEAR((double)features_of("gen:random:5000:8", "few:5000").distinct, SPMV_FEW_VALUES + 1,
                0);
}

TEST(uneven_rows_are_seen) {
    enum { N = 3000 };
    entries e = {.rows = N, .cols = N};
    for (int64_t i = 0; i < N; i++) add_row(&e, i, i == 7 ? N : i % 2);
    spmv_features f = features_of_entries(&e, SPMV_F64);
    ASSERT_NEAR(f.empty_share, 0.5, 0.001);
    ASSERT_NEAR(f.padding_32, (double)(31 * N + N / 2 - 15) / (4500. - 1), 0.7);
    assert_int_equal(f.row_max, N);
    assert_true(f.cv > 10);
}

/* The features that the GPU models use are about the same in a quick sample. */
TEST(a_quick_sample_tells_most_of_it) {
    static const char *const source[] = {"gen:poisson2d:400", "gen:fem3d:12",
                                         "gen:mesh:40000",    "gen:rmat:14",
                                         "gen:random:5000:9", "gen:road:60000"};
    for (int k = 0; k < COUNT(source); k++) {
        spmv_features f[SPMV_SAMPLE_FULL + 1];
        FREED(spmv_mat) *mat = must_load(ctx, source[k]);
        for (int depth = SPMV_SAMPLE_NONE; depth <= SPMV_SAMPLE_FULL; depth++)
            assert_int_equal(spmv_features_of(mat, SPMV_F64, (spmv_sampling_depth)depth,
                                              SPMV_FOR_BOTH, 1, &f[depth]),
                             SPMV_OK);
        assert_true(f[SPMV_SAMPLE_NONE].sampled == 0 && f[SPMV_SAMPLE_NONE].padding_32 == 0);
        assert_true(f[SPMV_SAMPLE_NONE].cv == f[SPMV_SAMPLE_FULL].cv);
        assert_true(f[SPMV_SAMPLE_QUICK].sampled <= f[SPMV_SAMPLE_FULL].sampled);
        ASSERT_NEAR(f[SPMV_SAMPLE_QUICK].diagonal, f[SPMV_SAMPLE_FULL].diagonal, .15);
        ASSERT_NEAR(f[SPMV_SAMPLE_QUICK].lines, f[SPMV_SAMPLE_FULL].lines, .15);
        ASSERT_NEAR(f[SPMV_SAMPLE_QUICK].index_bytes, f[SPMV_SAMPLE_FULL].index_bytes, .6);
        ASSERT_NEAR(f[SPMV_SAMPLE_QUICK].value_bytes, f[SPMV_SAMPLE_FULL].value_bytes, .6);
        ASSERT_NEAR(f[SPMV_SAMPLE_QUICK].padding_32, f[SPMV_SAMPLE_FULL].padding_32, .4);
    }
}

/* Whatever the shape, and the same for any number of threads. */
TEST(features_are_finite_and_repeat) {
    for (int n = 0; n < COUNT(fixtures); n++) {
        FREED(entries) e = entries_of(&fixtures[n]);
        spmv_features f[2];
        for (int t = 0; t < 2; t++) {
            FREED(spmv_ctx) *other = context_of(1 + 3 * t);
            FREED(spmv_mat) *mat = matrix_of(other, &e);
            memset(&f[t], 0, sizeof f[t]);
            assert_int_equal(
                spmv_features_of(mat, SPMV_F32, SPMV_SAMPLE_FULL, SPMV_FOR_BOTH, 1 + 3 * t, &f[t]),
                SPMV_OK);
            f[t].threads = 0;
        }
        if (memcmp(&f[0], &f[1], sizeof f[0]) != 0)
            fail_msg("%s: other features with 4 threads", fixtures[n].name);
        const double share[] = {f->mean,      f->cv,        f->empty_share, f->padding_32,
                                f->near_16,   f->diagonal,  f->fill_2,      f->fill_3,
                                f->exact_f32, f->symmetric, f->index_bytes, f->value_bytes,
                                f->lines,     f->reach,     f->seen,        f->per_tile};
        for (int k = 0; k < COUNT(share); k++)
            if (!(isfinite(share[k]) && share[k] >= 0))
                fail_msg("%s: feature %d is %g", fixtures[n].name, k, share[k]);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
