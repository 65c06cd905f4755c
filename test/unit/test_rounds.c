/* test_rounds.c: what the record of a row says when no plan was made, when a product was wrong and
 * when it has a time; and rounds of kernels whose stores do not fit beside each other. */
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "scene.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/inputs.h"
#include "app/run/results/result.h"
#include "app/run/timing/rounds.h"
#include "app/run/session.h"

/* ---- records -------------------------------------------------------------------------------- */

/* A row's record at four points of its way: no plan was made, its first product is wrong, its last
 * one, and it has a time. */
TEST(a_record_says_as_much_as_is_known) {
    static const char *const words[] = {"skipped", "wrong", "wrong", "ok"};
    static result out;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    double sample_s[] = {1, 2, 3};
    const options o = {.verify = true, .keep_samples = 2, .iters = 7, .op = SPMV_TRANSPOSE};
    cell auto_cell = {.kernel = {&spmv_omp, SPMV_AUTO}, .vectors = 3, .layout = SPMV_ROWS};
    session run = {.o = &o, .backend = &spmv_omp, .ctx = ctx, .cell = &auto_cell, .ncells = 1};
    inputs in = {.name = "scene", .source = "scene.mtx", .thumbnail = "9", .stats = &stats};
    FREED(scene) s = scene_of("auto");
    spmv_mat_stats(s.mat, &stats);
    for (int k = 0; k < COUNT(words); k++) {
        candidate e = {.plan = k ? s.plan : NULL,
                       .stage = k == 0   ? NULL
                                : k == 1 ? "first"
                                         : "last"};
        out = (result){.alias = NULL};
        if (k)
            e.p = (problem){.plan = s.plan,
                            .rows = ROWS,
                            .cols = COLS,
                            .k = 3,
                            .layout = SPMV_ROWS,
                            .bytes = 1000,
                            .beta = 2};
        if (k == 1 || k == 2)
            e.check = (verdict){.bad_rows = 3, .first_bad_row = 2, .first_bad_vector = 1};
        e.t = (timing){.nsamples = 3, .inner = 5, .s = statistics_of(sample_s, 3)};
        e.t.sample_s = malloc(sizeof sample_s);
        assert_non_null(e.t.sample_s);
        memcpy(e.t.sample_s, sample_s, sizeof sample_s);
        if (k < 3) snprintf(out.reason, sizeof out.reason, "planted");
        describe_row(&run, &in, &e, words[k], &out);
        const record *r = &out.r;
        bool planned = k > 0, timed = k == 3;
        assert_string_equal(r->status, words[k]);
        assert_string_equal(r->config_requested, "auto");
        assert_true(timed ? !r->reason : strcmp(r->reason, "planted") == 0);
        assert_int_equal(strcmp(r->config_kernel, "auto") != 0, planned);
        assert_true(planned == (r->config_reason && r->config_iters == 7 && r->store_matrix_B > 0));
        assert_int_equal(r->perf_bytes_min_B, planned ? 1000 + 3 * 8 * ROWS : INT64_MIN);
        assert_int_equal(r->config_vectors, 3);
        assert_string_equal(r->config_layout, "rows");
        assert_string_equal(r->config_op, "transpose");
        assert_int_equal(r->matrix_thumbnail != NULL, k == 1); /* the first with a plan */
        assert_true(r->matrix_rows == ROWS && strlen(r->key) == 16);
        assert_true(planned ? strcmp(r->check_status, timed ? "ok" : "wrong") == 0
                            : !r->check_status);
        assert_int_equal(r->check_first_bad_row, planned && !timed ? 2 : INT64_MIN);
        assert_int_equal(r->check_first_bad_vector, planned && !timed ? 1 : INT64_MIN);
        assert_true(timed ? r->tune_chosen_s > 0 : isnan(r->tune_chosen_s));
        assert_true(timed ? r->timing_median_s == 2 && r->perf_flop_per_s == 3 * (double)stats.nnz
                          : isnan(r->timing_median_s) && isnan(r->perf_flop_per_s));
        assert_int_equal(r->timing_samples_s.count, timed ? 2 : 0);
        assert_true((e.t.sample_s == NULL) == timed); /* the result has them */
        free(out.samples);
        free(e.t.sample_s);
    }
}

/* ---- rounds --------------------------------------------------------------------------------- */

static spmv_mat *crowded;

/* Room for one format at a time. */
static size_t little(spmv_device *d) {
    (void)d;
    return crowded->stores ? 1000 : 100000000;
}

TEST(what_does_not_fit_beside_the_others_follows_alone) {
    scene s = scene_of("omp:csr_rows");
    spmv_device *device = s.plan->device;
    const spmv_backend *real_backend = device->backend;
    spmv_backend cramped = *real_backend;
    cramped.free_bytes = little;
    const options o = {
        .verify = true, .quiet = true, .sampling.max_noise = 1, .sampling.min_samples = 3};
    static const char *const names[] = {"omp:csr_rows", "omp:ell_rows", "omp:csr_serial",
                                        "omp:sell_slices"};
    cell cells[COUNT(names)] = {0};
    result results[COUNT(names)] = {0};
    session run = {.o = &o, .backend = &spmv_omp, .ctx = ctx, .log = {.file = -1}};
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    inputs in = {.name = "crowded",
                 .source = "crowded",
                 .rows = ROWS,
                 .cols = COLS,
                 .vectors = 1,
                 .x = s.x,
                 .stats = &stats};
    spmv_mat_stats(s.mat, &stats);
    for (int k = 0; k < COUNT(names); k++) {
        int found;
        cells[k].vectors = 1, cells[k].layout = SPMV_COLUMNS;
        assert_int_equal(spmv_kernel_find(ctx, names[k], &cells[k].kernel, 1, &found), SPMV_OK);
    }
    run.cell = cells;
    run.ncells = COUNT(names);
    spmv_plan_free(s.plan);
    spmv_mat_drop_stores(s.mat);
    crowded = s.mat;
    device->backend = &cramped;
    assert_int_equal(run_rounds(&run, s.mat, &in, results), 0);
    device->backend = real_backend;
    assert_int_equal(run.nok, COUNT(names));
    for (int k = 0; k < COUNT(names); k++) {
        assert_true(results[k].finished);
        assert_string_equal(results[k].r.status, "ok");
        assert_true(results[k].r.timing_samples >= 3);
        free(results[k].samples);
    }
    in.x = NULL;
    inputs_free(&in);
    spmv_mat_free(s.mat);
}

TEST(a_noise_beyond_the_median_is_said_as_that) {
    const double reach[] = {0.0126, 1, 20.833, NAN};
    static const char *const words[] = {"1.3%", "100.0%", ">100%", "-"};
    for (int k = 0; k < COUNT(words); k++) {
        char said[NOISE_TEXT];
        noise_text(reach[k], said);
        assert_string_equal(said, words[k]);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
