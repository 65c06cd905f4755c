/* test_device_values.c: spmv_mat_set_values on a device: it is ordered once, and when memory runs
 * out, whatever it is for, every plan keeps the old values. */
#include "fake_device.h"

/* Two formats in two precisions; a bit of a set for each. */
enum { PLANS = 4 };
static const struct {
    const char *kernel;
    spmv_precision precision;
} kinds[PLANS] = {{"cuda:csr_fake", SPMV_F64},
                  {"cuda:csr_fake", SPMV_F32},
                  {"cuda:sell_fake", SPMV_F64},
                  {"cuda:sell_fake", SPMV_F32}};

typedef struct scene {
    spmv_mat *mat;
    spmv_plan *plan[PLANS];
    int64_t nnz;
    double *old, *fresh;
} scene;

static scene begin(unsigned kinds_wanted) {
    scene s = {.mat = NULL};
    memset(&device, 0, sizeof device);
    device.left = plenty;
    assert_int_equal(spmv_mat_load(ctx, "gen:poisson2d:30", NULL, &s.mat), SPMV_OK);
    (void)stats_of(s.mat);
    spmv_csr_view A = rows_of(s.mat);
    s.nnz = A.nnz;
    s.old = vector_of(A.values, A.nnz, SPMV_F64);
    s.fresh = vector_of(A.values, A.nnz, SPMV_F64);
    for (int64_t k = 0; k < A.nnz; k++) s.fresh[k] = (double)k;
    for (int p = 0; p < PLANS; p++) {
        spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kinds[p].kernel,
                                   .precision = kinds[p].precision, .refill = 1);
        if (kinds_wanted >> p & 1)
            assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan[p]), SPMV_OK);
    }
    return s;
}

static void end(scene *s) {
    for (int p = 0; p < PLANS; p++) spmv_plan_free(s->plan[p]);
    spmv_mat_free(s->mat);
    assert_int_equal(device.blocks, 0);
    free(s->old);
    free(s->fresh);
}

/* Says whether all hold the values, in what each plan multiplies with. */
static bool all_hold(const scene *s, const double *values) {
    const spmv_csr *A = &s->mat->csr;
    const spmv_csr_view rows = {
        sizeof(spmv_csr_view), A->rows, A->cols, A->nnz, A->row_ptr, A->col_idx, NULL};
    FREED(int32_t) *row = malloc((size_t)s->nnz * sizeof *row),
                   *col = malloc((size_t)s->nnz * sizeof *col);
    FREED(double) *value = malloc((size_t)s->nnz * sizeof *value);
    bool same = row && col && value;
    for (int p = 0; p < PLANS && same; p++) {
        if (!s->plan[p]) continue;
        const spmv_store *store = s->plan[p]->store;
        spmv_format_named(store->format, s->plan[p]->variant)->entries(store, row, col, value);
        for (int64_t k = 0; k < s->nnz; k++)
            same &= value[k] == values[spmv_find_entry(&rows, row[k], col[k])];
    }
    return same;
}

TEST(every_plan_keeps_the_old_values_if_memory_runs_out) {
    for (int place = SPMV_HOST; place <= SPMV_DEVICE; place++) {
        int refused = 0;
        for (spmv_status status = SPMV_E_NOMEM; status != SPMV_OK; refused++) {
            /* values there stay there if all plans have their precision */
            scene s = begin(place == SPMV_DEVICE ? 5 : 15);
            device.refused = refused + 1;
            status = spmv_mat_set_values(s.mat, s.fresh, (spmv_place)place, NULL);
            const bool was_refused = device.refused == 0;
            device.refused = 0;
            assert_int_equal(status, was_refused ? SPMV_E_NOMEM : SPMV_OK);
            assert_true(all_hold(&s, was_refused ? s.old : s.fresh));
            assert_int_equal(spmv_mat_set_values(s.mat, s.fresh, (spmv_place)place, NULL), SPMV_OK);
            assert_true(all_hold(&s, s.fresh));
            end(&s);
        }
        assert_in_range(refused, 2, 20); /* at least one allocation was refused */
    }
}

TEST(it_is_ordered_once_whatever_the_plans) {
    scene s = begin(15);
    assert_int_equal(spmv_mat_set_values(s.mat, s.fresh, SPMV_HOST, NULL), SPMV_OK);
    assert_int_equal(device.ordered[0], 1);
    assert_int_equal(spmv_mat_set_values(s.mat, s.fresh, SPMV_DEVICE, NULL), SPMV_OK);
    assert_int_equal(device.ordered[0], 2);
    assert_int_equal(device.ordered[1], 0); /* it went by way of the host */
    end(&s);
    s = begin(5);
    assert_int_equal(spmv_mat_set_values(s.mat, s.fresh, SPMV_DEVICE, NULL), SPMV_OK);
    assert_int_equal(device.ordered[0], 1);
    assert_int_equal(device.ordered[1], 1);
    assert_int_equal(device.refilled, 2);
    end(&s);
}

/* Such codes are refused before the first product, not at the change of values. */
TEST(codes_that_the_device_cannot_write_are_refused_at_once) {
    static const spmv_setting codes = {"codes", 1};
    scene s = begin(0);
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "cuda:csell_fake", .refill = 1);
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan[0]), SPMV_OK);
    opts.settings = &codes;
    opts.nsettings = 1;
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan[1]), SPMV_E_UNSUITABLE);
    assert_null(s.plan[1]);
    assert_non_null(strstr(spmv_ctx_error(ctx), "without codes=1"));
    assert_int_equal(spmv_mat_set_values(s.mat, s.fresh, SPMV_HOST, NULL), SPMV_OK);
    opts.refill = 0;
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan[1]), SPMV_OK);
    end(&s);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
