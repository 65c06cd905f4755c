/* test_device_room.c: who builds a store for a device, and what is booked for it: the device from
 * the compressed rows it has, or the host where the device has no room, which is said, and refused
 * in trials. */
#include "fake_device.h"
#include "plan/plan.h"

/* ---- cases ---- */

static spmv_mat *begin(size_t left, spmv_status answer) {
    memset(&device, 0, sizeof device);
    device.left = left, device.answer = answer;
    return must_load(ctx, "gen:poisson2d:30");
}

static spmv_status make(spmv_mat *mat, const char *kernel, bool only_quick, spmv_plan **out) {
    spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = kernel);
    return spmv_plan_make(mat, &opts, only_quick, out);
}

/* Chooses between one candidate and one baseline kernel. */
static spmv_status choose(spmv_mat *mat, const char *candidate, const char *baseline,
                          spmv_cache cache, spmv_plan **out) {
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = WITH(spmv_plan_opts, .cache = cache);
    opts.expected_calls = 1000; /* so that trials are paid for */
    spmv_propose_kernel(&all, candidate, 8, 4, "a candidate");
    spmv_propose_kernel(&all, baseline, 0, 0, "baseline");
    return spmv_auto_select(mat, &opts, &spmv_cuda, &all, spmv_now(), out);
}

static void choose_sell(spmv_mat *mat, spmv_plan **out) {
    assert_int_equal(choose(mat, "sell_fake", "csr_fake", SPMV_WARM, out), SPMV_OK);
    assert_string_equal((*out)->kernel->name, "sell_fake");
}

static const char *note_of(const spmv_plan *plan) {
    spmv_plan_facts facts = plan_facts_of(plan);
    return facts.note;
}

static void end(spmv_mat *mat, spmv_plan *plan) {
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    assert_int_equal(device.blocks, 0);
}

TEST(rows_are_sent_for_it_and_given_up) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_OK);
    assert_int_equal(device.asked, 1);
    assert_non_null(device.rows);
    assert_int_equal(device.blocks, plan->host->narrays);
    assert_true(plan->upload_s > 0);
    assert_null(note_of(plan));
    end(mat, plan);
}

TEST(rows_that_are_there_are_taken) {
    spmv_plan *rows = NULL, *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &rows), SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_OK);
    assert_ptr_equal(device.rows, rows->store);
    assert_true(plan->convert_s > rows->convert_s);
    spmv_plan_free(rows);
    end(mat, plan);
}

static double from_rows_s(spmv_mat *mat, const char *kernel, spmv_plan_facts *f) {
    FREED(spmv_plan) *plan = NULL;
    assert_int_equal(make(mat, kernel, false, &plan), SPMV_OK);
    spmv_plan_info(plan, f);
    return f->from_rows_s;
}

/* Repeated queries of a plan's facts read neither the device nor, on a host, a file. */
TEST(what_was_free_is_known_of_a_plan) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_mat *mat = begin(plenty, SPMV_OK);
    opts.kernel = "cuda:csr_fake";
    spmv_plan *plan = must_plan(mat, &opts);
    const size_t left = device.left;
    device.left = 1;
    spmv_plan_facts f = plan_facts_of(plan);
    assert_int_equal(f.free_bytes, left);
    device.left = left;
    end(mat, plan);
}

/* The seconds from rows on the device to a ready plan exclude uploads; negative: the host converts,
 * so that the rows on the device are of no use. */
TEST(from_rows_on_the_device_until_ready) {
    spmv_plan_facts f = SPMV_OPTS(spmv_plan_facts);
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_true(from_rows_s(mat, "cuda:sell_fake", &f) == f.convert_s + f.prepare_s);
    assert_true(f.convert_s > 0 && f.upload_s > 0);
    assert_true(from_rows_s(mat, "cuda:csr_fake", &f) == f.prepare_s);
    assert_true(f.convert_s > 0);
    end(mat, NULL);
    mat = begin(WORKING, SPMV_OK);
    assert_true(from_rows_s(mat, "cuda:sell_fake", &f) < 0);
    assert_true(f.convert_s > 0);
    assert_true(from_rows_s(mat, "omp:sell16_lanes", &f) == f.convert_s + f.prepare_s);
    end(mat, NULL);
}

/* A kernel's upload time does not depend on previous uploads of the process. */
TEST(sending_is_booked_whoever_sent) {
    spmv_plan *first = NULL, *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(plan->upload_s == sending_s);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &first), SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(first->upload_s == sending_s && plan->upload_s == sending_s);
    spmv_plan_free(first);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    choose_sell(mat, &first); /* taking room for all that is sent is sending, too */
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(first->upload_s > sending_s && plan->upload_s == sending_s);
    assert_true(plan->convert_s == first->convert_s);
    spmv_plan_free(first);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &first), SPMV_OK);
    choose_sell(mat, &plan);
    assert_true(plan->upload_s == sending_s);
    spmv_plan_free(first);
    end(mat, plan);
}

static double total_of(const spmv_plan *plan) {
    spmv_plan_facts f = plan_facts_of(plan);
    return f.convert_s + f.upload_s + f.prepare_s + f.tune_s + f.once_s;
}

/* All seconds that the trials took are in the plan's figures once, plus only what its store took
 * before. */
TEST(all_of_the_trials_is_booked_once) {
    static const char *const candidates[] = {"csr_fast", "sell_fake"};
    for (int k = 0; k < 4; k++) {
        const char *candidate = candidates[k / 2];
        spmv_plan *rows = NULL, *plan = NULL;
        spmv_mat *mat = begin(plenty, SPMV_OK);
        double before = 0;
        device.pause_s = 2e-3;
        if (k % 2) {
            assert_int_equal(make(mat, "cuda:csr_fake", false, &rows), SPMV_OK);
            before = rows->convert_s + rows->upload_s;
            device.paused = 0;
        }
        double start = spmv_now();
        assert_int_equal(choose(mat, candidate, "csr_fake", SPMV_WARM, &plan), SPMV_OK);
        double took = spmv_now() - start, asked = device.paused;
        assert_string_equal(plan->kernel->name, candidate);
        assert_true(total_of(plan) <= before + took);
        assert_true(total_of(plan) >= before + asked);
        assert_true(plan->tuning->tune_s >= 0);
        spmv_plan_free(rows);
        device.pause_s = 0;
        end(mat, plan);
    }
}

/* auto passes over a kernel whose builder fails, unless the device is lost. */
TEST(a_builder_that_fails_is_passed_over) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_DEVICE);
    assert_int_equal(choose(mat, "sell_fake", "csr_fake", SPMV_WARM, &plan), SPMV_OK);
    assert_string_equal(plan->kernel->name, "csr_fake");
    assert_non_null(strstr(plan->tuning->reason, "passed over sell_fake: as it was told"));
    end(mat, plan);
    mat = begin(plenty, SPMV_E_DEVICE); /* also when it is the baseline kernel */
    assert_int_equal(choose(mat, "csr_fast", "sell_fake", SPMV_WARM, &plan), SPMV_OK);
    assert_string_equal(plan->kernel->name, "csr_fast");
    end(mat, plan);
    for (int baseline = 0; baseline < 2; baseline++) {
        mat = begin(plenty, SPMV_E_DEVICE);
        device.lost = true;
        assert_int_equal(choose(mat, baseline ? "csr_fast" : "sell_fake",
                                baseline ? "sell_fake" : "csr_fake", SPMV_WARM, &plan),
                         SPMV_E_DEVICE);
        assert_string_equal(spmv_ctx_error(ctx), "as it was told");
        assert_null(plan);
        end(mat, NULL);
    }
}

/* The refusal holds also where the host has such a store already, and could make one. */
TEST(what_is_made_of_narrow_offsets_alone_is_refused) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *narrow = NULL, *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &narrow), SPMV_OK);
    opts.kernel = "cuda:sell_fake", opts.offset_bits = 64;
    assert_int_equal(spmv_plan_make(mat, &opts, false, &plan), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(ctx), "builds sell from 32-bit offsets only"));
    opts.kernel = "cuda:csr_fake";
    assert_int_equal(spmv_plan_make(mat, &opts, false, &plan), SPMV_OK);
    spmv_plan_free(narrow);
    end(mat, plan);
}

/* Steady products have copies, unless a quarter of what is free does not hold two. */
TEST(copies_are_made_where_there_is_room) {
    enum { TIGHT = 4000000, OTHERS = 2, ARRAYS = 3 };
    int most[3];
    for (int k = 0; k < 3; k++) {
        spmv_plan *plan = NULL;
        spmv_mat *mat = begin(k == 0 ? plenty : TIGHT, SPMV_OK);
        assert_int_equal(
            choose(mat, "csr_fast", "csr_fake", k < 2 ? SPMV_STEADY : SPMV_COLD, &plan), SPMV_OK);
        most[k] = device.most;
        end(mat, plan);
    }
    assert_int_equal(most[1], most[2]);
    assert_true(most[0] > most[2] + OTHERS * ARRAYS);
}

TEST(the_host_helps_out_and_that_is_said) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_NOMEM);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_E_NOMEM);
    assert_int_equal(device.blocks, 0);
    assert_null(mat->stores);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_int_equal(device.asked, 2);
    assert_non_null(strstr(note_of(plan), "by the host"));
    end(mat, plan);
}

/* Whatever is wrong with the matrix is so on the host, too; and the device must hold what the host
 * made. */
TEST(the_host_helps_out_with_room_only) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_UNSUITABLE);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_E_UNSUITABLE);
    assert_string_equal(spmv_ctx_error(ctx), "as it was told");
    assert_null(mat->stores);
    end(mat, NULL);
    mat = begin(plenty, SPMV_E_NOMEM);
    device.gone = plenty - 1000;
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_E_TOOBIG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "on the device"));
    assert_null(mat->stores);
    end(mat, NULL);
}

TEST(no_room_to_convert_is_seen_before) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(WORKING, SPMV_OK); /* enough for the store */
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_E_TOOBIG);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_int_equal(device.asked, 0);
    assert_non_null(strstr(note_of(plan), "by the host"));
    end(mat, plan);
}

TEST(a_lost_device_is_no_reason_to_convert) {
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_DEVICE);
    for (int only_quick = 0; only_quick < 2; only_quick++)
        assert_int_equal(make(mat, "cuda:sell_fake", only_quick, &plan), SPMV_E_DEVICE);
    assert_null(mat->stores);
    end(mat, NULL);
}

/* Loading the code of both kernels is not charged to a candidate or to a timing, and happens once;
 * memory that the device keeps is freed with the matrix. */
TEST(what_a_process_does_once_is_apart) {
    spmv_mat *mat = begin(plenty, SPMV_OK);
    spmv_plan *plan[2];
    spmv_plan_facts f[] = {SPMV_OPTS(spmv_plan_facts), SPMV_OPTS(spmv_plan_facts)};
    memset(ctx->warmed_up, 0, sizeof ctx->warmed_up);
    device.first_s = .05;
    for (int k = 0; k < 2; k++) {
        choose_sell(mat, &plan[k]);
        spmv_plan_info(plan[k], &f[k]);
    }
    assert_true(f[0].once_s >= 2 * device.first_s && f[1].once_s == 0);
    assert_true(f[0].convert_s + f[0].prepare_s + f[0].upload_s + f[0].tune_s < device.first_s);
    assert_true(f[0].chosen_product_s == .5);
    assert_int_equal(device.trimmed, 0);
    memset(ctx->warmed_up, 0, sizeof ctx->warmed_up); /* and not at all where nothing is timed */
    spmv_plan *quick = NULL;
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = 1};
    spmv_propose_kernel(&all, "csr_fake", 0, 0, "baseline");
    assert_int_equal(spmv_auto_select(mat, &opts, &spmv_cuda, &all, spmv_now(), &quick), SPMV_OK);
    assert_true(quick->once_s == 0 && ctx->warmed_up[1][0] == 0);
    spmv_plan_free(quick);
    spmv_plan_free(plan[0]);
    end(mat, plan[1]);
    assert_int_equal(device.trimmed, 1);
}

/* Memory for rows and stores is allocated first, in one call of the driver; not if the rows are on
 * the device already. */
TEST(room_for_all_is_taken_before_the_rows) {
    spmv_mat *mat = begin(plenty, SPMV_OK);
    size_t rows = (size_t)mat->csr.nnz * 12 + (size_t)mat->csr.rows * 4;
    spmv_plan *plan[2];
    device.first = device.largest = 0;
    choose_sell(mat, &plan[0]);
    assert_true(device.first >= 2 * rows && device.first == device.largest);
    device.first = device.largest = 0;
    choose_sell(mat, &plan[1]);
    assert_true(device.first > 0 && device.largest < 2 * rows);
    spmv_plan_free(plan[0]);
    end(mat, plan[1]);
}

/* If caches may keep the matrix, trials allocate memory to fill the caches once, and free it. If
 * memory is short or the driver refuses, the caches are not flushed. */
TEST(trials_in_warm_caches_fill_them_once) {
    const struct {
        size_t left;
        bool refuses;
        int flushes;
    } cases[] = {{plenty, false, 1}, {8 * CACHE - 1, false, 0}, {plenty, true, 0}};
    for (int k = 0; k < COUNT(cases); k++) {
        spmv_plan *plan = NULL;
        spmv_mat *mat = begin(cases[k].left, SPMV_OK);
        device.keeps = cases[k].refuses;
        choose_sell(mat, &plan);
        assert_int_equal(device.flushes, cases[k].flushes);
        assert_int_equal(device.flushed, 0);
        end(mat, plan);
    }
}

/* A context requires the device of its backend; contexts for kernels of another backend, or for
 * lookups of names only, do not. */
TEST(a_context_needs_its_device) {
    spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda", .device = 3};
    spmv_ctx *made = NULL;
    assert_int_equal(spmv_backend_available("cuda"), 1);
    assert_int_equal(spmv_ctx_create(&opts, &made), SPMV_OK);
    spmv_ctx_free(made);
    device.away = true;
    assert_int_equal(spmv_ctx_create(NULL, NULL), SPMV_E_ARG); /* leaves a text */
    assert_int_equal(spmv_backend_available("cuda"), 0);
    assert_string_equal(spmv_ctx_error(NULL), "spmv_ctx_create: out is NULL");
    assert_int_equal(spmv_ctx_create(&opts, &made), SPMV_E_BACKEND);
    assert_null(made);
    assert_string_equal(spmv_ctx_error(NULL), "spmv_ctx_opts.backend: no fake 3: plug it in");
    opts.backend = "omp";
    assert_int_equal(spmv_ctx_create(&opts, &made), SPMV_OK);
    spmv_ctx_free(made);
    opts.backend = "cuda";
    assert_int_equal(spmv_ctx_create_lazily(&opts, &made), SPMV_OK);
    spmv_ctx_free(made);
    device.away = false;
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
