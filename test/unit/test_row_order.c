/* test_row_order.c: the orders of rows (spmv_order.h): each is a permutation with the same bits for
 * any number of threads, and finds what its key says. */
#include "context.h"
#include "spmv_order.h"
#include "spmv_windows.h"

static const char *const matrices[] = {
    "gen:random:3000:5", "gen:poisson2d:50",  "gen:rmat:11:6", "gen:random:900:7:5000",
    "gen:mesh:4000:2",   "gen:giantrow:5000", "gen:ci:300",    "gen:permutation:1000"};

/* Returns the order, to be freed; NULL: refused. */
static idx *order_of(const spmv_csr_view *A, spmv_row_order how, int threads) {
    idx *order = spmv_host_alloc((size_t)A->rows * sizeof *order);
    assert_non_null(order);
    const spmv_status status = spmv_order_rows(ctx, A, how, threads, order);
    if (status == SPMV_OK) return order;
    assert_int_equal(status, SPMV_E_UNSUITABLE);
    spmv_host_free(order);
    return NULL;
}

static void assert_permutation(const idx *order, int64_t n) {
    char *seen = calloc((size_t)n + 1, 1);
    assert_non_null(seen);
    for (int64_t i = 0; i < n; i++) {
        assert_in_range(order[i], 0, n - 1);
        assert_false(seen[order[i]]++);
    }
    free(seen);
}

/* All orders of a matrix by 1, 2, 3 and 7 threads. */
static void try_orders(const spmv_csr_view *A) {
    static const int threads[] = {2, 3, 7};
    for (int how = SPMV_ROWS_KEEP; how < SPMV_ROW_ORDERS; how++) {
        idx *first = order_of(A, (spmv_row_order)how, 1);
        if (how == SPMV_ROWS_RCM) assert_true((first != NULL) == (A->rows == A->cols || !A->rows));
        if (!first) continue;
        assert_permutation(first, A->rows);
        for (int t = 0; t < COUNT(threads); t++) {
            idx *other = order_of(A, (spmv_row_order)how, threads[t]);
            assert_memory_equal(first, other, (size_t)A->rows * sizeof *first);
            spmv_host_free(other);
        }
        spmv_host_free(first);
    }
}

TEST(orders_are_permutations_with_equal_bits) {
    for (int m = 0; m < COUNT(matrices); m++) {
        spmv_mat *mat = must_load(ctx, matrices[m]);
        const spmv_csr_view A = rows_of(mat);
        try_orders(&A);
        spmv_mat_free(mat);
    }
    for (int f = 0; f < COUNT(fixtures); f++) {
        FREED(entries) e = entries_of(&fixtures[f]);
        spmv_mat *mat = matrix_of(ctx, &e);
        const spmv_csr_view A = rows_of(mat);
        try_orders(&A);
        spmv_mat_free(mat);
    }
}

TEST(matrices_without_entries_rows_or_columns_have_orders) {
    static const int64_t sizes[][2] = {{0, 0}, {1, 1}, {17, 0}, {0, 17}, {40, 40}, {5, 9}};
    for (int k = 0; k < COUNT(sizes); k++) {
        entries e = {.rows = sizes[k][0], .cols = sizes[k][1]};
        spmv_mat *mat = matrix_of(ctx, &e);
        const spmv_csr_view A = rows_of(mat);
        try_orders(&A);
        spmv_mat_free(mat);
        entries_free(&e);
    }
}

/* Returns the matrix whose row i is row (i STEP) mod rows of a band, with the columns moved in the
 * same way if `both`; every seventh row is empty if `gaps`. */
static spmv_mat *shuffled_band(int64_t rows, bool both, bool gaps) {
    enum { STEP = 1571, WIDTH = 4 };
    entries e = {.rows = rows, .cols = rows};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i - WIDTH; j <= i + WIDTH && (!gaps || i % 7); j++)
            if (j >= 0 && j < rows) add_entry(&e, i * STEP % rows, both ? j * STEP % rows : j, 1);
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

TEST(keys_are_in_order_and_empty_rows_last) {
    enum { N = 4001 };
    spmv_mat *mat = shuffled_band(N, false, true);
    const spmv_csr_view A = rows_of(mat);
    idx *order = order_of(&A, SPMV_ROWS_ENDS, 3);
    for (int64_t i = 1; i < N; i++) {
        const int64_t p = A.row_ptr[order[i - 1]], q = A.row_ptr[order[i]];
        const int64_t p_end = A.row_ptr[order[i - 1] + 1], q_end = A.row_ptr[order[i] + 1];
        if (q == q_end) {
            assert_true(p < p_end || order[i - 1] < order[i]);
            continue;
        }
        assert_true(p < p_end && A.col_idx[p] <= A.col_idx[q]);
        if (A.col_idx[p] == A.col_idx[q]) assert_true(A.col_idx[p_end - 1] >= A.col_idx[q_end - 1]);
    }
    spmv_host_free(order);
    spmv_mat_free(mat);
}

/* Returns the greatest distance of a row and a column in the matrix with both in that order. */
static int64_t bandwidth_in(const spmv_csr_view *A, const idx *order) {
    idx *place = malloc((size_t)A->rows * sizeof *place);
    int64_t most = 0;
    assert_non_null(place);
    for (int64_t i = 0; i < A->rows; i++) place[order[i]] = (idx)i;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t apart = llabs((long long)place[i] - place[A->col_idx[k]]);
            most = apart > most ? apart : most;
        }
    free(place);
    return most;
}

TEST(rcm_finds_a_band_again) {
    enum { N = 4001 };
    spmv_mat *mat = shuffled_band(N, true, false);
    const spmv_csr_view A = rows_of(mat);
    idx *order = order_of(&A, SPMV_ROWS_RCM, 3);
    assert_true(bandwidth_in(&A, order) <= 8);
    spmv_host_free(order);
    spmv_mat_free(mat);
}

/* From the second level on a random graph has levels that threads share. */
TEST(rcm_walks_large_levels_by_threads) {
    spmv_mat *mat = must_load(ctx, "gen:random:60000:4");
    const spmv_csr_view A = rows_of(mat);
    try_orders(&A);
    spmv_mat_free(mat);
}

/* A plan of another order has a store of its own, whose order is the one that was asked for. */
TEST(stores_differ_by_order) {
    spmv_mat *mat = must_load(ctx, "gen:shuffled:12:3");
    const spmv_csr_view A = rows_of(mat);
    spmv_plan *plan[SPMV_ROW_ORDERS];
    for (int how = 0; how < SPMV_ROW_ORDERS; how++) {
        const spmv_setting setting = {"order", how};
        const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "omp:csr_balanced",
                                         .settings = &setting, .nsettings = 1);
        assert_int_equal(spmv_plan_create(mat, &opts, &plan[how]), SPMV_OK);
        idx *order = order_of(&A, (spmv_row_order)how, 2);
        if (how == SPMV_ROWS_KEEP)
            assert_null(plan[how]->store->order);
        else
            assert_memory_equal(plan[how]->store->order, order, (size_t)A.rows * sizeof *order);
        spmv_host_free(order);
    }
    for (int how = 0; how < SPMV_ROW_ORDERS; how++) spmv_plan_free(plan[how]);
    spmv_mat_free(mat);
}

/* ---- wherever a kernel takes an order -------------------------------------------------------- */

enum { NEWER = 7 };

/* Multiplies by ones; values are small integers, so that sums are exact. */
static void assert_sums(const spmv_plan *plan, const spmv_csr_view *A, double factor) {
    double *ones = malloc((size_t)A->cols * sizeof *ones), *y = calloc((size_t)A->rows, sizeof *y);
    void *x_there = NULL, *y_there = NULL;
    assert_true(ones && y);
    for (int64_t j = 0; j < A->cols; j++) ones[j] = 1;
    const size_t bytes = (size_t)A->rows * sizeof *y;
    assert_int_equal(spmv_plan_alloc(plan, (size_t)A->cols * sizeof *ones, &x_there), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, bytes, &y_there), SPMV_OK);
    spmv_plan_put(plan, x_there, ones, (size_t)A->cols * sizeof *ones);
    spmv_plan_put(plan, y_there, y, bytes);
    assert_int_equal(spmv_exec(plan, 1, x_there, 1, y_there), SPMV_OK);
    spmv_plan_get(plan, y, y_there, bytes);
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) sum += (double)(k % 11);
        assert_true(y[i] == factor * sum);
    }
    spmv_plan_release(plan, x_there);
    spmv_plan_release(plan, y_there);
    free(ones);
    free(y);
}

/* New values reach a plan in each order, and its copy. */
static void try_new_values(const char *kernel, const spmv_csr_view *A) {
    double *values = malloc((size_t)A->nnz * sizeof *values);
    assert_non_null(values);
    for (int how = SPMV_ROWS_KEEP; how < SPMV_ROW_ORDERS; how++) {
        const spmv_setting setting = {"order", how};
        const spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel, .settings = &setting,
                                         .nsettings = 1, .refill = true);
        FREED(spmv_mat) *mat = NULL;
        spmv_plan *plan, *copy;
        spmv_csr_view like = *A;
        for (int64_t k = 0; k < A->nnz; k++) values[k] = (double)(k % 11);
        like.values = values;
        assert_int_equal(spmv_mat_csr(ctx, &like, &mat), SPMV_OK);
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_OK);
        assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
        assert_sums(plan, A, 1);
        for (int64_t k = 0; k < A->nnz; k++) values[k] *= NEWER;
        assert_int_equal(spmv_mat_set_values(mat, values, SPMV_HOST, NULL), SPMV_OK);
        assert_sums(plan, A, NEWER);
        assert_sums(copy, A, NEWER);
        spmv_plan_free(copy);
        spmv_plan_free(plan);
    }
    free(values);
}

TEST(new_values_reach_every_order) {
    spmv_mat *mat = must_load(ctx, "gen:shuffled:9:3");
    const spmv_csr_view A = rows_of(mat);
    int tried = 0;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; is_usable(ctx, *b) && k < (*b)->nkernels; k++) {
            char name[64];
            if (!spmv_param_of((*b)->kernels[k][0], SPMV_order)) continue;
            full_name(*b, k, name);
            try_new_values(name, &A);
            tried++;
        }
    assert_true(tried >= 4);
    spmv_mat_free(mat);
}

/* ---- samples of windows ---------------------------------------------------------------------- */

static spmv_windows windows_of(const spmv_mat *mat, int threads) {
    const spmv_csr_view A = rows_of(mat);
    spmv_windows out;
    assert_int_equal(spmv_windows_sample(ctx, &A, threads, 1e9, &out), SPMV_OK);
    return out;
}

TEST(windows_have_their_shares) {
    enum { N = 30011, WIDTH = 9 };
    spmv_mat *rows = shuffled_band(N, false, false), *both = shuffled_band(N, true, false);
    const spmv_windows by_rows = windows_of(rows, 2), by_both = windows_of(both, 2);
    /* 8 rows of a band have 8 + WIDTH - 1 columns */
    const double of_8 = 8. * WIDTH / (8 + WIDTH - 1), of_32 = 32. * WIDTH / (32 + WIDTH - 1);
    assert_true(by_rows.kept[0] == 1 && by_rows.kept[1] == 1);
    assert_true(fabs(by_rows.by_ends[0] - of_8) < 0.01);
    assert_true(by_rows.by_ends[1] > 0.9 * of_32); /* the last windows have fewer rows */
    assert_true(by_both.kept[0] == 1);
    /* a walk from the middle of a band goes both ways: half a window lies on each side */
    assert_true(by_both.by_walk[0] > 0.5 * of_8 && by_both.by_walk[1] > 0.5 * of_32);
    spmv_mat_free(rows);
    spmv_mat_free(both);
}

TEST(windows_are_the_same_for_any_number_of_threads) {
    for (int f = 0; f < COUNT(fixtures); f++) {
        FREED(entries) e = entries_of(&fixtures[f]);
        spmv_mat *mat = matrix_of(ctx, &e);
        const spmv_windows one = windows_of(mat, 1), five = windows_of(mat, 5);
        assert_memory_equal(&one, &five, sizeof one);
        for (int s = 0; s < SPMV_WINDOW_SIZES; s++) {
            assert_true((one.kept[s] >= 1 || one.kept[s] == 0) && one.kept[s] < 257);
            assert_true(one.by_ends[s] < 257 && one.by_walk[s] < 257);
        }
        spmv_mat_free(mat);
    }
}

TEST(rows_that_share_enough_are_not_sorted) {
    spmv_mat *mat = must_load(ctx, "gen:banded:3000:33");
    const spmv_csr_view A = rows_of(mat);
    spmv_windows out;
    assert_int_equal(spmv_windows_sample(ctx, &A, 2, 2, &out), SPMV_OK);
    assert_true(out.kept[0] > 6 && out.by_ends[0] == 0 && out.by_walk[0] == 0);
    spmv_mat_free(mat);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
