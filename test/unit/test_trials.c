/* test_trials.c: how many products "auto" spends on which candidates. The kernels are planted, and
 * time is what they say it is. */
#include "planted_trials.h"

static const double large_s = 1, endless = 1e12;

TEST(what_is_far_behind_costs_two_products_at_most) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = 50}, {.price_s = 1.7}, {.price_s = .4}};
    assert_int_equal(run_trials(4, of, endless, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[3]);
    for (int k = 0; k < 4; k++)
        if (plant[k].runs != 2) fail_msg("candidate %d ran %d times", k, plant[k].runs);
    end_trials(&c);
}

/* Loading code or waking threads took long; the kernel is fast. */
TEST(a_slow_first_product_is_forgiven) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .5, .first_s = 100}};
    for (int host = 0; host < 2; host++) {
        on_host = host;
        assert_int_equal(run_trials(2, of, 40, 0, 1, &c), SPMV_OK);
        assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
        assert_true(c.entry[1].product_s == .5);
        end_trials(&c);
    }
    on_host = true;
}

/* The baseline kernel gets a second product as well, before the budget is set: else what is slower
 * would win. */
TEST(a_gpu_times_the_baseline_again) {
    const double budget = 100;
    const planted of[] = {{.price_s = large_s, .first_s = 1.75}, {.price_s = 1.15}};
    trials c;
    on_host = false;
    assert_int_equal(run_trials(2, of, budget, 0, 1, &c), SPMV_OK);
    on_host = true;
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[0]);
    assert_true(spmv_trials_budget_s(&c) < 1.05 * budget * large_s);
    end_trials(&c);
}

TEST(what_is_close_is_timed_while_the_budget_lasts) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .95}, {.price_s = 2.2}};
    assert_int_equal(run_trials(3, of, endless, 0, 1, &c), SPMV_OK);
    assert_true(plant[0].runs > 3 && plant[1].runs >= 3 && plant[2].runs == 2);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    end_trials(&c);
    assert_int_equal(run_trials(3, of, 0, 0, 1, &c), SPMV_OK);
    assert_true(plant[0].runs == 2 && plant[1].runs == 2 && plant[2].runs == 2);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    end_trials(&c);
}

/* The baseline kernel wins a tie. */
TEST(one_percent_is_nothing) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .995}};
    assert_int_equal(run_trials(2, of, 0, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[0]);
    end_trials(&c);
}

/* ---- with noise ----------------------------------------------------------------------------- */

static uint64_t noise = 1;
static double chance(void) { /* 0 to 1 */
    return (double)(draw(&noise) >> 11) * 0x1p-53;
}

/* A third of the products takes up to two and a half times as long, all a little longer. */
static double bursts(const planted *k) {
    (void)k;
    double burst = chance() < .35 ? .2 + 1.3 * chance() : 0;
    return 1 + .1 * chance() + burst;
}

static double first_of_the_second(const planted *k) {
    return k == &plant[1] && k->runs == 0 ? 1.6 : 1;
}

static double first_of_all(const planted *k) {
    (void)k;
    return planted_now == 0 ? 3 : 1;
}

TEST(a_disturbed_sample_is_not_the_last) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .8}, {.price_s = .85}};
    disturb = first_of_the_second;
    assert_int_equal(run_trials(3, of, 100, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    end_trials(&c);
    assert_int_equal(run_trials(3, of, 10, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    end_trials(&c);
    /* Two rounds always run; a third runs if the two differ. */
    assert_int_equal(run_trials(3, of, 0, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    assert_true(plant[0].runs == 2 && plant[1].runs == 3 && plant[2].runs == 2);
    end_trials(&c);
    disturb = NULL;
}

static double first_three_of_the_second(const planted *k) {
    static const double times[] = {8, 4, 16};
    return k == &plant[1] && k->runs < 3 ? times[k->runs] : 1;
}

static double all_but_the_seventh_of_the_second(const planted *k) {
    return k == &plant[1] && k->runs != 6 ? 3 + k->runs % 7 : 1;
}

/* Another process has a core in most of its first products: they differ, so that it gets more. */
TEST(a_disturbed_kernel_is_not_given_up) {
    double (*const how[])(const planted *) = {first_three_of_the_second,
                                              all_but_the_seventh_of_the_second};
    const planted of[] = {{.price_s = large_s}, {.price_s = .8}, {.price_s = .9}};
    for (int k = 0; k < COUNT(how); k++) {
        trials c;
        disturb = how[k];
        assert_int_equal(run_trials(3, of, 100, 0, 1, &c), SPMV_OK);
        assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
        end_trials(&c);
    }
    disturb = NULL;
}

TEST(a_disturbed_baseline_is_not_the_budget) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .98}};
    disturb = first_of_all;
    assert_int_equal(run_trials(2, of, 100, 0, 1, &c), SPMV_OK);
    assert_true(spmv_trials_budget_s(&c) == 100 * large_s);
    end_trials(&c);
    disturb = NULL;
}

/* In nine of ten trials the best, or what is as good, is chosen, mostly within the budget. */
TEST(bursts_do_not_mislead_the_trials) {
    enum { REPEATS = 400, OTHERS = 4, BUDGET = 50 };
    double spent_s = 0;
    int right = 0;
    disturb = bursts;
    for (int n = 0; n < REPEATS; n++) {
        planted of[1 + OTHERS] = {{.price_s = large_s}};
        trials c;
        double best = large_s;
        for (int k = 1; k <= OTHERS; k++) {
            of[k].price_s = .5 + .6 * chance();
            best = fmin(best, of[k].price_s);
        }
        spending = &c;
        assert_int_equal(run_trials(1 + OTHERS, of, BUDGET, 0, 1, &c), SPMV_OK);
        spent_s += spmv_trials_spent_s(&c);
        spending = NULL;
        right += of[spmv_trials_fastest(&c) - c.entry].price_s < 1.03 * best;
        end_trials(&c);
    }
    disturb = NULL;
    assert_true(spent_s / REPEATS < .8 * BUDGET);
    if (right < REPEATS * 9 / 10) fail_msg("%d of %d right", right, REPEATS);
}

TEST(short_products_share_a_sample) {
    trials c;
    const planted of[] = {{.price_s = 1e-5}, {.price_s = .9e-5}};
    assert_int_equal(run_trials(2, of, 0, 0, 1, &c), SPMV_OK);
    assert_int_equal(c.entry[0].t.inner, 5);
    assert_true(plant[0].runs ==
                2 + 5 * c.entry[0].t.nsamples); /* its first product is timed twice */
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    end_trials(&c);
}

/* Every sample is one product after a flush; first products are not samples. */
TEST(caches_are_emptied_before_each_sample) {
    trials c;
    const planted of[] = {{.price_s = 1e-5}, {.price_s = 1.1e-5}, {.price_s = 9e-5}};
    assert_int_equal(run_trials(3, of, endless, 4096, 1, &c), SPMV_OK);
    int samples = 0;
    for (int k = 0; k < 3; k++) samples += c.entry[k].t.nsamples;
    assert_int_equal(flushes, samples);
    assert_true(c.entry[2].disqualified && c.entry[2].t.nsamples == 1);
    end_trials(&c);
}

/* If the backend can, the matrix, x and y are evicted from the caches; for a short product the near
 * caches are emptied too. */
TEST(what_is_small_is_evicted) {
    trials c;
    const double price_s[] = {1e-5, 1e-3};
    can_evict = true;
    for (int k = 0; k < 2; k++) {
        const planted of[] = {{.price_s = price_s[k]}, {.price_s = 1.1 * price_s[k]}};
        evicted = 0;
        assert_int_equal(run_trials(2, of, endless, 4096, 1, &c), SPMV_OK);
        int samples = c.entry[0].t.nsamples + c.entry[1].t.nsamples;
        const size_t x_and_y = 2 * 256;
        assert_true(k == 0 ? flushes >= samples : flushes == 0);
        if (k == 0) assert_true(c.flushing_s > 1e-5 * samples); /* nobody pays for that */
        assert_int_equal(evicted,
                         (size_t)samples * (spmv_store_bytes(c.entry[0].plan->store) + x_and_y));
        end_trials(&c);
    }
    can_evict = false;
}

static double by_turns(const planted *k) {
    return k->runs / 5 % 2 ? 1 : 1.05;
}

/* Time spent on conversions leaves enough products of a small matrix to separate the kernels if
 * many products follow. */
TEST(conversions_leave_some_rounds) {
    const planted of[] = {{.price_s = 1e-5}, {.price_s = .97e-5}};
    converted_s = .02, disturb = by_turns;
    for (int k = 0; k < 2; k++) {
        trials c;
        spending = &c;
        opts.expected_calls = k == 0 ? 1000 : 100;
        assert_int_equal(run_trials(2, of, k == 0 ? 100 : 40, 0, 1, &c), SPMV_OK);
        assert_true(k == 0 ? c.entry[0].t.nsamples >= 6 : c.entry[0].t.nsamples <= 3);
        end_trials(&c);
    }
    spending = NULL, disturb = NULL, converted_s = 0, opts.expected_calls = 1;
}

/* Fifty milliseconds of flushing are free; what takes longer is paid for. */
TEST(long_flushes_are_paid_for) {
    const planted of[] = {{.price_s = 3e-3}, {.price_s = 2.9e-3}};
    disturb = by_turns;
    for (int k = 0; k < 2; k++) {
        trials c;
        spending = &c, flush_s = k == 0 ? 1e-3 : 6e-2;
        assert_int_equal(run_trials(2, of, 40, 4096, 1, &c), SPMV_OK);
        assert_true(k == 0 ? flushes > 4 : flushes == 2);
        end_trials(&c);
    }
    spending = NULL, flush_s = 0, disturb = NULL;
}

/* Only the second of three candidates has a matrix that fits the caches. */
static double as_caches_keep(const planted *k) {
    static const planted *last;
    double times = k != &plant[1] || k == last ? 1 : 2;
    last = k;
    return times;
}

/* If caches may keep a matrix between products, its time is that of the second consecutive product,
 * although another candidate was timed between its samples. */
TEST(what_caches_keep_is_in_them) {
    const planted of[] = {
        {.price_s = 1.5 * large_s}, {.price_s = large_s}, {.price_s = 1.4 * large_s}};
    disturb = as_caches_keep, on_host = false;
    for (int k = 0; k < 2; k++) {
        trials c;
        is_kept = k == 0;
        assert_int_equal(run_trials(3, of, endless, 0, 1, &c), SPMV_OK);
        assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[k == 0 ? 1 : 2]);
        assert_int_equal(flushes, is_kept);
        end_trials(&c);
        assert_false(is_kept && flushed);
    }
    disturb = NULL, on_host = true, is_kept = false;
}

/* Trials multiply as many vectors, in the same layout, as the plan; the result of each vector is
 * checked. */
TEST(as_many_vectors_are_timed_as_are_multiplied) {
    const planted of[] = {
        {.price_s = 1e-4}, {.price_s = .8e-4}, {.price_s = .5e-4, .fault = STOPS_AT_16}};
    for (int n = 0; n < 4; n++) {
        trials c;
        opts.vectors = n < 2 ? 17 : 16;
        opts.layout = n % 2 ? SPMV_ROWS : SPMV_COLUMNS;
        assert_int_equal(run_trials(3, of, endless, 0, 1, &c), SPMV_OK);
        for (int k = 0; k < 3; k++) assert_int_equal(plant[k].vectors, opts.vectors);
        assert_int_equal(c.entry[2].disqualified, opts.vectors > 16);
        if (opts.vectors > 16)
            assert_non_null(strstr(c.passed, "its product is wrong in row 15 of vector 16"));
        assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[opts.vectors > 16 ? 1 : 2]);
        end_trials(&c);
    }
    opts.vectors = 0, opts.layout = 0;
}

/* A sample cycles once through all copies; each copy has a separate y. */
TEST(steady_products_have_data_of_their_own) {
    enum { COPIES = 5 };
    trials c;
    const planted of[] = {{.price_s = 1e-5}, {.price_s = .5e-5}};
    assert_int_equal(run_trials(2, of, endless, 4096, COPIES, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
    for (int k = 0; k < 2; k++) {
        const candidate *e = &c.entry[k];
        assert_int_equal(e->t.inner, COPIES);
        assert_int_equal(plant[k].runs, 2 + COPIES * e->t.nsamples);
        const spmv_product *product = e->p.product;
        for (int n = 1; n < COPIES; n++) {
            assert_ptr_not_equal(product[n].plan->store, product[n - 1].plan->store);
            assert_true((const double *)product[n].x - (const double *)product[n - 1].x >= 16 &&
                        (double *)product[n].y - (double *)product[n - 1].y >= 16);
        }
    }
    assert_int_equal(flushes, c.entry[0].t.nsamples + c.entry[1].t.nsamples);
    end_trials(&c);
}

TEST(without_room_for_copies_there_are_none) {
    trials c;
    const planted of[] = {{.price_s = 1e-5}, {.price_s = .5e-5}};
    for (int room = 1; room < 6; room++) { /* the second vector, or an array of a copy, fails */
        rooms = room;
        spmv_status status = run_trials(2, of, endless, 4096, 4, &c);
        rooms = -1;
        assert_int_equal(status, room < 2 ? SPMV_E_NOMEM : SPMV_OK);
        if (room >= 2) {
            assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[1]);
            assert_true(c.copies == 1 && c.entry[0].t.inner == 1 && c.entry[1].t.inner == 1);
        }
        end_trials(&c);
    }
}

TEST(a_refused_launch_disqualifies) {
    trials c;
    const planted of[] = {{.price_s = large_s}, {.price_s = .95, .answer = SPMV_E_DEVICE}};
    assert_int_equal(run_trials(2, of, endless, 0, 1, &c), SPMV_OK);
    assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[0]);
    assert_string_equal(c.passed, "; disqualified planted: planted");
    end_trials(&c);
    lost = 1;
    assert_int_equal(run_trials(2, of, endless, 0, 1, &c), SPMV_E_DEVICE);
    assert_string_equal(spmv_ctx_error(ctx), "planted");
    end_trials(&c);
    lost = 0;
}

/* However fast it is; what only rounds is not wrong. */
TEST(what_is_wrong_is_disqualified) {
    trials c;
    for (int fault = ROUNDS; fault <= MIXES_COLUMNS; fault++) {
        const planted of[] = {{.price_s = large_s}, {.price_s = .01, .fault = (enum fault)fault}};
        const char *said = "; disqualified planted: its product is wrong in row ";
        bool wrong = fault != ROUNDS;
        assert_int_equal(run_trials(2, of, endless, 0, 1, &c), SPMV_OK);
        assert_ptr_equal(spmv_trials_fastest(&c), &c.entry[wrong ? 0 : 1]);
        assert_int_equal(strstr(c.passed, said) != NULL, wrong);
        end_trials(&c);
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
