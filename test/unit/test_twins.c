/* test_twins.c: every twin has what the paper prints: rows, entries, sigma or the longest row; and
 * its file comes out as its lengths say. */
#include "context.h"
#include "generate/generate.h"

static void recipe_of(const char *name, spmv_recipe *r) {
    static const spmv_generator generator = {"twin", "NAME", ""};
    char spec[80];
    snprintf(spec, sizeof spec, "twin:%s", name);
    const spmv_args args = {.ctx = ctx, .spec = spec, .generator = &generator, .count = 1};
    *r = (spmv_recipe){.key = spmv_hash(1, 0), .threads = 1};
    if (spmv_recipe_twin(&args, r) != SPMV_OK || r->prepare(ctx, r) != SPMV_OK)
        fail_msg("%s: %s", name, spmv_ctx_error(ctx));
}

typedef struct lengths {
    int64_t nnz, squares, longest, shortest;
} lengths;

static lengths lengths_of(const spmv_recipe *r) {
    int64_t nnz = 0, squares = 0, longest = 0, shortest = INT64_MAX;
#pragma omp parallel for num_threads(2) \
    reduction(+ : nnz, squares) reduction(max : longest) reduction(min : shortest)
    for (int64_t i = 0; i < r->rows; i++) {
        int64_t n = r->row_length(r, i);
        nnz += n;
        squares += n * n;
        longest = n > longest ? n : longest;
        shortest = n < shortest ? n : shortest;
    }
    return (lengths){nnz, squares, longest, shortest};
}

TEST(twins_have_the_papers_numbers) {
    const spmv_twin *t;
    int count = 0;
    for (; (t = spmv_twin_at(count)); count++) {
        spmv_recipe r;
        recipe_of(t->name, &r);
        lengths n = lengths_of(&r);
        double mean = (double)n.nnz / (double)r.rows;
        double sigma = sqrt(((double)n.squares / (double)r.rows - mean * mean) / mean);
        if (r.rows != t->rows || n.nnz != t->nnz || n.longest > r.cols || n.shortest < 0)
            fail_msg("%s: %lld entries of %lld, rows of %lld to %lld", t->name, (long long)n.nnz,
                     (long long)t->nnz, (long long)n.shortest, (long long)n.longest);
        if (t->sigma >= 0 && !(fabs(sigma - t->sigma) < 0.005))
            fail_msg("%s: sigma is %.6g, the paper prints %.4g", t->name, sigma, t->sigma);
        spmv_host_free(r.table);
    }
    assert_int_equal(count, 138 + 4 + 10);
}

/* Tables 3 and 5 of the paper on configuration interaction: the longest row, and the hybrid's MiB,
 * from which entries and boundary follow. */
TEST(configuration_interaction_has_its_longest_rows) {
    static const int longest[] = {1074, 1069, 1078, 1068, 1060, 1069, 1079, 1077, 1067, 1064};
    static const double mib[] = {356.76, 356.70, 356.63, 356.67, 356.66,
                                 356.70, 356.63, 356.67, 356.57, 356.67};
    for (int k = 0; k < COUNT(longest); k++) {
        char name[16];
        spmv_recipe r;
        snprintf(name, sizeof name, "ci-%d", k + 1);
        recipe_of(name, &r);
        lengths n = lengths_of(&r);
        assert_int_equal(n.longest, longest[k]);
        assert_true(n.shortest > 655);
        double bytes = 12.0 * (double)n.nnz + 12.0 * (double)r.rows; /* 655 a row, the rest, rows */
        assert_true(fabs(bytes / 0x1p20 - mib[k]) < 0.0051);
        spmv_host_free(r.table);
    }
}

TEST(the_reference_region_is_the_first_tenth) {
    static int32_t col[32768];
    spmv_recipe r;
    recipe_of("ci-4", &r);
    for (int64_t i = 0; i < r.rows; i += 997) {
        int64_t n = r.row_length(&r, i);
        assert_int_equal(r.fill_row(&r, i, n, col, NULL), n);
        assert_true(col[654] < 3276 && col[655] >= 3276 && col[0] >= 0 && col[n - 1] < 32768);
        for (int64_t k = 1; k < n; k++) assert_true(col[k] > col[k - 1]);
    }
    spmv_host_free(r.table);
}

TEST(a_twin_is_the_same_on_any_number_of_threads) {
    spmv_coo one, many;
    assert_int_equal(spmv_generate(ctx, "twin:shyy41", 1, NULL, 1, &one), SPMV_OK);
    assert_int_equal(spmv_generate(ctx, "twin:shyy41", 1, NULL, 3, &many), SPMV_OK);
    assert_int_equal(one.rows, 4720);
    assert_int_equal(one.nnz, 20042);
    assert_memory_equal(one.row, many.row, (size_t)one.nnz * sizeof *one.row);
    assert_memory_equal(one.col, many.col, (size_t)one.nnz * sizeof *one.col);
    for (int64_t k = 1; k < one.nnz; k++) /* distinct and ascending in a row, near the diagonal */
        assert_true(one.row[k] > one.row[k - 1] || one.col[k] > one.col[k - 1]);
    for (int64_t k = 0; k < one.nnz; k++)
        assert_true(labs((long)one.row[k] - one.col[k]) <= 8 * 69 + 2 * 5);
    spmv_coo_free(&one);
    spmv_coo_free(&many);
}

TEST(unknown_twins_are_refused_with_the_nearest) {
    spmv_coo out;
    assert_int_equal(spmv_generate(ctx, "twin:cantt", 1, NULL, 1, &out), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "did you mean 'cant'?"));
    assert_int_equal(spmv_generate(ctx, "twin", 1, NULL, 1, &out), SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "spmv list twins"));
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
