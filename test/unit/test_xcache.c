/* test_xcache.c: what the format xcache stores of a small matrix; what it refuses; how high its
 * blocks are. That no entry is lost: test_formats.c. */
#include "context.h"
#include "formats/xcache/xcache.h"
#include "formats/row_ends.h"
#include "formats/value_codes.h"

static spmv_status build_xcache(spmv_mat *mat, int64_t height, int64_t cut, bool codes,
                                xcache_rows **out) {
    spmv_store *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_height] = height;
    c.value[SPMV_cut] = cut;
    c.value[SPMV_codes] = codes;
    spmv_csr_view A = rows_of(mat);
    spmv_status status = spmv_format_named("xcache", SPMV_F64_O32)->build(ctx, &A, &c, 2, &store);
    *out = (xcache_rows *)store;
    return status;
}

/* Rows 0 to 31 have one entry, row 3 has two. Row 32 is a separate block, since it has more entries
 * than all other rows; it is cut into four segments, because its columns are too far apart for 16
 * bits. */
TEST(blocks_by_hand) {
    enum { COLS = 200000, LONG = 156 };
    FREED(entries) e = {.rows = 33, .cols = COLS};
    xcache_rows *A;
    for (int i = 0; i < 32; i++) add_entry(&e, i, 1000 + i / 2, 0.5 + i % 2);
    add_entry(&e, 3, 1500, 7);
    for (int k = 0; k < LONG; k++) add_entry(&e, 32, k < LONG - 1 ? 5 + k : COLS - 1, 0.5 + k % 2);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    assert_int_equal(build_xcache(mat, 17, 50, true, &A), SPMV_OK);
    assert_int_equal(A->nblocks, 2);
    assert_int_equal(A->most, LONG + 4);
    assert_int_equal(A->segments, 36);
    assert_int_equal(A->s.slots, 2 * 32 + 39 * 32);
    assert_int_equal(A->value_code, VALUE_CODEBOOK);
    assert_true(A->codebook[0] == 0.5 && A->codebook[1] == 1.5 && A->codebook[2] == 7 &&
                A->codebook[3] == 0);
    /* the first block: row 3 leads, 16 columns from 1000 on and 1500, filled up to even */
    assert_int_equal(A->block[0].rows, 32);
    assert_int_equal(A->block[0].segments, 32);
    assert_int_equal(A->block[0].cuts, 0);
    assert_int_equal(A->block[0].base, 1000);
    assert_int_equal(A->block[0].count, 17);
    assert_false(A->block[0].wide);
    for (int k = 0; k < 16; k++) assert_int_equal(A->need[k], k);
    assert_int_equal(A->need[16], 500);
    assert_int_equal(A->need[17], 0);
    for (int r = 0; r < 32; r++) {
        int row = r == 0 ? 3 : r <= 3 ? r - 1 : r;
        assert_int_equal(A->order[r], row);
        assert_int_equal(A->length[r], r == 0 ? 2 : 1);
        assert_int_equal(A->place[r], row / 2);
        assert_int_equal(A->values[r], row % 2);
        assert_int_equal(A->place[32 + r], r == 0 ? 16 : 0);
        assert_int_equal(A->values[32 + r], r == 0 ? 2 : 0);
    }
    /* the second: behind the room that 33 entries of the first, or one row, could be cut into */
    const xcache_block *last = &A->block[1];
    assert_int_equal(last->row, 32);
    assert_int_equal(last->rows, 1);
    assert_int_equal(last->segments, 4);
    assert_int_equal(last->cut_segments, 4);
    assert_int_equal(last->cuts, 1);
    assert_int_equal(last->segment, 33);
    assert_int_equal(A->cuts[last->cut], 0);
    assert_int_equal(A->cuts[last->cut + 1], 4 << 16);
    assert_int_equal(last->slot, 64);
    assert_int_equal(last->need, 18);
    assert_int_equal(last->base, 5);
    assert_true(last->wide);
    uint32_t far[LONG];
    memcpy(far, A->need + 18, sizeof far);
    assert_true(far[0] == 0 && far[1] == 1 && far[LONG - 1] == COLS - 6);
    for (int q = 0; q < 4; q++) {
        assert_int_equal(A->order[last->segment + q], 1 + q);
        assert_int_equal(A->length[last->segment + q], 39);
        for (int k = 0; k < 39; k++) {
            assert_int_equal(A->place[64 + k * XCACHE_SLICE + q], 4 * k + q);
            assert_int_equal(A->values[64 + k * XCACHE_SLICE + q], q % 2);
        }
    }
    spmv_store_free(&A->s);
}

/* 33 segments in 64 lanes, with room for no more: behind them are the next block's. */
TEST(lanes_without_a_segment_hold_zeros) {
    enum { HEIGHT = 33, BLOCKS = 3, ROWS = BLOCKS * HEIGHT };
    FREED(entries) e = {.rows = ROWS, .cols = ROWS};
    xcache_rows *A;
    for (int i = 0; i < ROWS; i++) add_entry(&e, i, ROWS - 1 - i, 1 + i % 3);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    assert_int_equal(build_xcache(mat, HEIGHT, 200, true, &A), SPMV_OK);
    assert_int_equal(A->nblocks, BLOCKS);
    for (int b = 0; b < BLOCKS; b++) {
        assert_int_equal(A->block[b].segments, HEIGHT);
        for (int64_t at = A->block[b].slot + HEIGHT; at < A->block[b].slot + 64; at++)
            assert_true(A->place[at] == 0 && A->values[at] == 0);
    }
    spmv_store_free(&A->s);
}

/* Rows of a power law: blocks have about as many entries each, and no segment is longer than the
 * cut, nor than it must be. */
TEST(blocks_have_equal_shares) {
    enum { CUT = 24 };
    xcache_rows *B;
    int64_t segments = 0, rows = 0;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:powerlaw:40000:12");
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(build_xcache(mat, 2000, CUT, true, &B), SPMV_OK);
    assert_int_equal(B->nblocks, 20);
    for (int64_t b = 0; b < B->nblocks; b++) {
        const xcache_block *block = &B->block[b];
        int64_t count = A.row_ptr[block->row + block->rows] - A.row_ptr[block->row], longest = 0;
        assert_int_equal(block->row, rows);
        for (int64_t i = rows; i < rows + block->rows; i++) {
            int64_t n = A.row_ptr[i + 1] - A.row_ptr[i];
            segments += n > CUT ? (n + CUT - 1) / CUT : 1;
            longest = n > longest ? n : longest;
        }
        rows += block->rows;
        assert_true(count < 3 * A.nnz / (2 * B->nblocks) + longest);
        for (int i = 0; i < block->segments; i++) {
            assert_true(B->length[block->segment + i] <= CUT);
            if (B->order[block->segment + i] >= block->rows)
                assert_true(B->length[block->segment + i] >= CUT / 2);
        }
    }
    assert_int_equal(rows, A.rows);
    assert_int_equal(B->segments, segments);
    spmv_store_free(&B->s);
}

static void assert_refused(const char *spec, int64_t height, int64_t cut, const char *word) {
    xcache_rows *A;
    FREED(spmv_mat) *mat = must_load(ctx, spec);
    assert_int_equal(build_xcache(mat, height, cut, true, &A), SPMV_E_UNSUITABLE);
    if (!strstr(spmv_ctx_error(ctx), word))
        fail_msg("%s: '%s' does not name '%s'", spec, spmv_ctx_error(ctx), word);
    spmv_store_free(&A->s);
}

TEST(what_does_not_fit_is_refused) {
    assert_refused("gen:giantrow:200000", 128, 255, "28000");
    assert_refused("gen:random:300:20:600000", 128, 0, "span");
    assert_refused("gen:random:3000:20:300000", 4096, 0, "28000");
    assert_refused("gen:random:3000:20", 3000, 8, "9000 segments");
}

static int64_t height_of(const char *spec, double *columns) {
    FREED(spmv_mat) *mat = must_load(ctx, spec);
    spmv_csr_view A = rows_of(mat);
    const int64_t first = A.rows / 2;
    const spmv_csr_view middle = {.size = sizeof(spmv_csr_view),
                                  .rows = A.rows - first,
                                  .row_ptr = A.row_ptr + first,
                                  .col_idx = A.col_idx};
    int64_t height = spmv_xcache_height(&middle, A.rows, spmv_longest_row(&A), columns);
    return height;
}

/* A mesh whose nodes are numbered at random by the 4096: a block for each of 132 multiprocessors;
 * where that is too high, more, so that two on each end together. Where rows share nothing the room
 * counts, and has to be there for the longest row as well; where a block's columns are far
 * apart nothing is known. */
TEST(heights_follow_what_rows_share) {
    double columns;
    assert_in_range(height_of("gen:mesh:600000", &columns), 2273, 2304);
    assert_true(columns > 1.2 && columns < 4);
    assert_int_equal(height_of("gen:mesh:40000", &columns), 304);
    assert_int_equal(height_of("gen:random:200000:16", &columns), 1516);
    assert_true(columns > 15 && columns <= 16);
    assert_in_range(height_of("gen:random:300000:16", &columns), 500, 800);
    assert_int_equal(height_of("gen:twin:torso1", &columns), 879);
    assert_int_equal(height_of("gen:giantrow:40000", &columns), XCACHE_LEAST);
    assert_in_range(height_of("gen:random:1000000:4", &columns), XCACHE_LEAST, XCACHE_HIGHEST);
    assert_true(isinf(columns));
}

static double *product_of(spmv_mat *mat, const char *height, int64_t value, int64_t codes) {
    const spmv_setting settings[] = {{height, value}, {"codes", codes}};
    const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "cuda:xcache_block",
                                     .settings = settings, .nsettings = COUNT(settings));
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    FREED(spmv_plan) *plan = NULL;
    spmv_mat_stats(mat, &stats);
    size_t bytes = (size_t)stats.rows * sizeof(double);
    double *x = random_vector(3, stats.cols), *y = malloc(bytes);
    void *at[2] = {NULL, NULL};
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    assert_non_null(y);
    for (int k = 0; k < 2; k++) assert_int_equal(spmv_plan_alloc(plan, bytes, &at[k]), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, at[0], x, bytes), SPMV_OK);
    assert_int_equal(spmv_exec(plan, 1, at[0], 0, at[1]), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, y, at[1], bytes), SPMV_OK);
    for (int k = 0; k < 2; k++) spmv_plan_release(plan, at[k]);
    free(x);
    return y;
}

/* Neither codes nor the height of blocks changes the order in which a row is added up. */
TEST(heights_and_codes_do_not_change_y) {
    static const char *const values[] = {NULL, "pattern", "few:8", "few:200"};
    enum { ROWS = 20000 };
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int v = 0; v < COUNT(values); v++) {
        spmv_load_opts opts = SPMV_OPTS(spmv_load_opts);
        FREED(spmv_mat) *mat = NULL;
        opts.values = values[v];
        assert_int_equal(spmv_mat_load(ctx, "gen:mesh:20000", &opts, &mat), SPMV_OK);
        FREED(double) *expected = product_of(mat, "height", 0, 0);
        for (int64_t height = 32; height <= 4096; height = height * 3 / 32 * 32) {
            FREED(double) *y = product_of(mat, "height", height, 1);
            assert_memory_equal(y, expected, ROWS * sizeof *y);
        }
    }
}

TEST(floats_do_not_change_y) {
    enum { ROWS = 5000 };
    FREED(spmv_mat) *mat = matrix_of_floats(ctx, ROWS);
    xcache_rows *A;
    assert_int_equal(build_xcache(mat, 256, 0, true, &A), SPMV_OK);
    assert_int_equal(A->value_code, VALUE_F32);
    spmv_store_free(&A->s);
    if (is_usable(ctx, &spmv_cuda)) {
        FREED(double) *expected = product_of(mat, "height", 256, 0),
                      *y = product_of(mat, "height", 256, 1);
        assert_memory_equal(y, expected, ROWS * sizeof *y);
    }
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
