/* test_csb_interleaved.c: where the csb_interleaved format puts entries and cuts rows; that codes
 * do not change y. That no entry is lost: test_formats.c. */
#include "context.h"
#include "formats/value_codes.h"
#include "formats/csb_interleaved/csb_interleaved.h"

static csb_interleaved *store_of(spmv_mat *mat, int variant, int64_t tile) {
    spmv_store *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_tile] = tile;
    c.value[SPMV_codes] = 1;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("csb_interleaved", variant)->build(ctx, &A, &c, 2, &store),
                     SPMV_OK);
    return (csb_interleaved *)store;
}

/* Tiles of 16: rows 0 to 31 and 32 to 39. Of the 19 entries of block (0, 0) eight parts of two
 * stand in turns, and three behind. */
TEST(blocks_by_hand) {
    enum { ENTRIES = 19, BLOCKS = 4 };
    static const int32_t ptr[] = {0, ENTRIES, ENTRIES, ENTRIES, ENTRIES + 1};
    static const int order[ENTRIES] = {0, 2, 4, 6,  8,  10, 12, 14, 1, 3,
                                       5, 7, 9, 11, 13, 15, 16, 17, 18};
    FREED(entries) e = {.rows = 40, .cols = 20};
    for (int k = 0; k < ENTRIES; k++) add_entry(&e, k, k % 16, 0.1 * k);
    add_entry(&e, 33, 17, 0.1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    csb_interleaved *A = store_of(mat, SPMV_F64_O32, 16);
    assert_int_equal(A->block_rows, 2);
    assert_int_equal(A->block_cols, 2);
    assert_int_equal(A->first_row[1], 32);
    assert_int_equal(A->first_row[2], 40);
    assert_memory_equal(A->block_ptr, ptr, sizeof ptr);
    assert_int_equal(A->value_code, VALUE_CODEBOOK);
    for (int n = 0; n < ENTRIES; n++) {
        uint32_t row = (uint32_t)order[n];
        assert_int_equal(A->local[n], row << 16 | row % 16);
        assert_true(A->codebook[A->values[n]] == 0.1 * order[n]);
    }
    assert_int_equal(A->local[ENTRIES], 1u << 16 | 1);
    spmv_store_free(&A->s);
}

/* 3 million entries: a block of rows has a million at most, or one row. */
TEST(rows_are_cut_where_entries_are_many) {
    static const char *const sources[] = {"gen:random:100000:30", "gen:giantrow:1000000"};
    enum { LEAST_SHARE = 1 << 20 };
    for (int s = 0; s < COUNT(sources); s++) {
        FREED(spmv_mat) *mat = must_load(ctx, sources[s]);
        spmv_csr_view rows = rows_of(mat);
        csb_interleaved *A = store_of(mat, SPMV_F64_O32, 0);
        assert_true(A->block_rows > 2 && A->first_row[0] == 0);
        assert_int_equal(A->first_row[A->block_rows], rows.rows);
        for (int64_t b = 0; b < A->block_rows; b++) {
            int64_t first = A->first_row[b], end = A->first_row[b + 1];
            assert_in_range(end - first, 1, CSB_INTERLEAVED_ROWS * A->tile);
            if (end - first > 1)
                assert_in_range(rows.row_ptr[end] - rows.row_ptr[first], 0, LEAST_SHARE);
        }
        spmv_store_free(&A->s);
    }
}

static double *product_of(spmv_mat *mat, spmv_precision precision, int64_t codes, const double *x) {
    enum { ROWS = 3000 };
    const spmv_setting settings[] = {{"codes", codes}, {"tile", 256}};
    const spmv_plan_opts opts =
        WITH(spmv_plan_opts, .kernel = "omp:csb_interleaved_blocks", .precision = precision,
             .settings = settings, .nsettings = COUNT(settings));
    double *y = calloc(ROWS, sizeof *y);
    assert_non_null(y);
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    assert_int_equal(spmv_exec(plan, 1.25, x, 0, y), SPMV_OK);
    return y;
}

TEST(codes_do_not_change_y) {
    enum { ROWS = 3000 };
    static const char *const values[] = {"pattern", "few:8", "few:200", "random"};
    double x[ROWS];
    float sell16_x[ROWS];
    for (int i = 0; i < ROWS; i++) sell16_x[i] = (float)(x[i] = random_entry(5, (uint64_t)i));
    for (int v = 0; v < COUNT(values); v++)
        for (int precision = 0; precision < 2; precision++) {
            const spmv_load_opts load = {.size = sizeof load, .values = values[v]};
            const void *in = precision == SPMV_F32 ? (const void *)sell16_x : x;
            FREED(spmv_mat) *mat = NULL;
            assert_int_equal(spmv_mat_load(ctx, "gen:random:3000:40", &load, &mat), SPMV_OK);
            double *plain = product_of(mat, (spmv_precision)precision, 0, in);
            double *coded = product_of(mat, (spmv_precision)precision, 1, in);
            assert_memory_equal(plain, coded, ROWS * sizeof *plain);
            assert_true(plain[0] != 0);
            free(plain), free(coded);
        }
}

/* The test uses only the number of 2^31 nonzeros, no entries. */
TEST(offsets_are_narrow) {
    const int64_t row_ptr[] = {0, (int64_t)1 << 31};
    const spmv_csr_view A = {sizeof(spmv_csr_view), 1, 1, row_ptr[1], row_ptr, NULL, NULL};
    const spmv_choice c = {{0}};
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        const spmv_format *format = spmv_format_named("csb_interleaved", variant);
        spmv_store *store = NULL;
        assert_int_equal(format->build(ctx, &A, &c, 2, &store), SPMV_E_UNSUITABLE);
        assert_non_null(strstr(spmv_ctx_error(ctx), "a kernel of csb or csr"));
        assert_null(store);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
