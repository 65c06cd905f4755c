/* test_symmetric.c: half storage: products of symmetric and skew-symmetric matrices, near the
 * diagonal and far from it, for several thread counts; and that no other matrix gets in. */
#include "testing.h"

/* About three entries a row at most reach rows from the diagonal, mirrored, and most of the
 * diagonal. */
static entries mirrored(int64_t rows, int64_t reach, double sign) {
    entries e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++) {
        if (i % 7) add_random(&e, i, i);
        for (int64_t n = 0, last = -1; n < i % 4; n++) {
            uint64_t at = spmv_mix((uint64_t)(4 * i + n + 1));
            int64_t j = i - 1 - (int64_t)(at % (uint64_t)reach);
            if (j <= last) continue;
            last = j;
            add_random(&e, i, j);
            add_entry(&e, j, i, sign * e.values[e.nnz - 1]);
        }
    }
    return e;
}

static void assert_product(spmv_mat *mat, int64_t n, spmv_precision precision, double alpha,
                           double beta) {
    double *x = random_vector(1, n), *y0 = random_vector(2, n);
    void *px = vector_of(x, n, precision), *before = vector_of(y0, n, precision);
    void *y = vector_of(y0, n, precision);
    oracle o = oracle_of(mat, x, n, precision);
    spmv_plan *plan = NULL;
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "symmetric_rows", .precision = precision};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
    assert_int_equal(spmv_exec(plan, alpha, px, beta, y), SPMV_OK);
    verdict v = oracle_check(&o, precision, alpha, beta, before, y);
    assert_int_equal(v.bad_rows, 0);
    spmv_plan_free(plan);
    oracle_free(&o);
    free(x), free(y0), free(px), free(before), free(y);
}

static void products_are_right(void **state) {
    (void)state;
    static const int64_t shape[][2] = {{400, 3}, {400, 399}, {70000, 500}, {70000, 69999}};
    static const int threads[] = {1, 2, 5, 64};
    for (int s = 0; s < COUNT(shape); s++)
        for (int t = 0; t < COUNT(threads); t++)
            for (int turn = 0; turn < 2; turn++) {
                spmv_ctx *ctx = context_of(threads[t]);
                entries e = mirrored(shape[s][0], shape[s][1], turn ? -1 : 1);
                spmv_mat *mat = matrix_of(ctx, &e);
                assert_product(mat, e.rows, turn ? SPMV_F32 : SPMV_F64, 1.25, turn ? 0 : -0.5);
                assert_product(mat, e.rows, turn ? SPMV_F64 : SPMV_F32, -1, turn ? 1 : 0);
                spmv_mat_free(mat);
                entries_free(&e);
                spmv_ctx_free(ctx);
            }
}

static void assert_plan(const entries *e, spmv_status expected) {
    spmv_ctx *ctx = context_of(3);
    spmv_mat *mat = matrix_of(ctx, e);
    spmv_plan *plan = NULL;
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "symmetric_rows"};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), expected);
    if (expected != SPMV_OK) assert_non_null(strstr(spmv_ctx_error(ctx), "symmetric"));
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
}

static void one_difference_is_enough(void **state) {
    (void)state;
    for (int64_t k = 0; k < 60; k++) { /* the last bit of one value, wherever it is */
        entries e = mirrored(40, 20, k % 2 ? -1 : 1);
        assert_plan(&e, SPMV_OK);
        if (k >= e.nnz) fail_msg("too few entries");
        e.values[k] = nextafter(e.values[k], 4);
        assert_plan(&e, e.row[k] == e.col[k] ? SPMV_OK : SPMV_E_UNSUITABLE);
        entries_free(&e);
    }
}

static void a_missing_mirror_is_enough(void **state) {
    (void)state;
    for (int turn = 0; turn < 2; turn++) { /* an entry too many below, above */
        entries e = mirrored(40, 20, 1);
        add_entry(&e, turn ? 0 : 39, turn ? 39 : 0, 1);
        assert_plan(&e, SPMV_E_UNSUITABLE);
        add_entry(&e, turn ? 39 : 0, turn ? 0 : 39, 1);
        assert_plan(&e, SPMV_OK);
        entries_free(&e);
    }
    entries moved = {.rows = 3, .cols = 3}; /* as many below as above, not mirrored */
    add_entry(&moved, 1, 0, 1), add_entry(&moved, 1, 2, 1);
    assert_plan(&moved, SPMV_E_UNSUITABLE);
    entries_free(&moved);
    entries mixed = {.rows = 3, .cols = 3}; /* one pair equal, one opposite */
    add_entry(&mixed, 1, 0, 1), add_entry(&mixed, 0, 1, 1);
    add_entry(&mixed, 2, 0, 1), add_entry(&mixed, 0, 2, -1);
    assert_plan(&mixed, SPMV_E_UNSUITABLE);
    entries_free(&mixed);
    entries wide = {.rows = 2, .cols = 3};
    add_entry(&wide, 0, 0, 1);
    assert_plan(&wide, SPMV_E_UNSUITABLE);
    entries_free(&wide);
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right),
        cmocka_unit_test(one_difference_is_enough),
        cmocka_unit_test(a_missing_mirror_is_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
