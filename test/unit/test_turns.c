/* test_turns.c: the medians of turns that a record holds: of the same rounds at the same place in
 * every record of a group, however many rounds each kernel had; and the order of a round. */
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/run/timing/turns.h"
#include "scene.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/inputs.h"
#include "app/run/results/result.h"
#include "app/run/timing/rounds.h"
#include "app/run/session.h"

/* ---- places --------------------------------------------------------------------------------- */

/* Round k takes k seconds. */
static turns after(int rounds) {
    turns t = {.places = 0};
    for (int k = 0; k < rounds; k++) turns_add(&t, k);
    return t;
}

TEST(a_place_has_the_same_rounds_whoever_ended_when) {
    const turns longest = after(1000);
    assert_int_equal(longest.places, MOST_TURNS);
    for (int rounds = 0; rounds < 300; rounds++) {
        const turns t = after(rounds);
        assert_in_range(t.places, rounds < 16 ? rounds : 16, MOST_TURNS);
        for (int k = 0; k < t.places; k++) assert_true(t.median_s[k] == longest.median_s[k]);
    }
}

/* Rounds 0 to 15, then means of two, four, eight and sixteen. */
TEST(later_places_are_means_of_more_rounds) {
    static const struct {
        int rounds, places;
        double last_s;
    } of[] = {{1, 1, 0},        {16, 16, 15},     {17, 16, 15},     {18, 17, 16.5},
              {32, 24, 30.5},   {35, 24, 30.5},   {36, 25, 33.5},   {64, 32, 61.5},
              {72, 33, 67.5},   {127, 39, 115.5}, {128, 40, 123.5}, {255, 47, 231.5},
              {256, 48, 247.5}, {500, 48, 247.5}};
    for (int k = 0; k < COUNT(of); k++) {
        const turns t = after(of[k].rounds);
        assert_int_equal(t.places, of[k].places);
        assert_true(t.median_s[t.places - 1] == of[k].last_s);
    }
}

/* ---- turns of a kernel ---------------------------------------------------------------------- */

TEST(a_turn_counts_by_its_own_samples) {
    double sample_s[] = {9, 9, 1, 2, 30};
    candidate e = {.t = {.sample_s = sample_s, .nsamples = 5}};
    add_turn(&e, 2, 1, 1);
    assert_true(e.turns.places == 1 && e.turns.median_s[0] == 2);
    e.t.done = true; /* with one sample that is no turn, then with one that is */
    add_turn(&e, 4, 0.4, 1);
    assert_int_equal(e.turns.places, 1);
    add_turn(&e, 4, 0.5, 1);
    assert_true(e.turns.places == 2 && e.turns.median_s[1] == 30);
}

/* ---- rounds --------------------------------------------------------------------------------- */

enum { CELLS = 12 };

TEST(those_that_are_compared_follow_each_other) {
    cell cells[CELLS] = {0};
    candidate candidates[CELLS] = {0};
    int order[CELLS], first[CELLS] = {0};
    for (int k = 0; k < CELLS; k++) {
        order[k] = k;
        candidates[k].cell = CELLS - 1 - k;
        cells[k].cache = k % 3 == 0 ? SPMV_COLD : SPMV_STEADY;
        cells[k].precision = k % 2 ? SPMV_F32 : SPMV_F64;
        cells[k].vectors = k < CELLS / 2 ? 1 : 8;
        cells[k].layout = SPMV_COLUMNS;
    }
    session run = {.cell = cells, .ncells = CELLS};
    for (int round = 0; round < 1000; round++) {
        int changes = 0;
        unsigned seen = 0;
        order_turns(&run, candidates, order, CELLS, spmv_mix((uint64_t)round));
        for (int k = 0; k < CELLS; k++) {
            const cell *c = &cells[candidates[order[k]].cell];
            const cell *before = &cells[candidates[order[k ? k - 1 : 0]].cell];
            changes += c->cache != before->cache || c->precision != before->precision ||
                       c->vectors != before->vectors;
            seen |= 1u << order[k];
        }
        assert_int_equal(changes, 7); /* between eight of these */
        assert_int_equal(seen, (1u << CELLS) - 1);
        first[order[0]]++;
    }
    for (int k = 0; k < CELLS; k++) assert_in_range(first[k], 30, 170);
}

/* With no time to spend a kernel ends after 30 samples in cold caches, after 10 in warm ones, and
 * a turn is one sample. */
TEST(who_leaves_early_holds_the_first_rounds) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    static const char *const names[] = {"omp:csr_rows", "omp:csr_serial"};
    cell cells[COUNT(names)] = {0};
    result results[COUNT(names)] = {0};
    const options o = {.verify = true, .quiet = true, .keep_samples = 1000};
    session run = {.o = &o, .backend = &spmv_omp, .ctx = ctx, .log = {.file = -1}};
    FREED(scene) s = scene_of("omp:csr_rows");
    spmv_mat_stats(s.mat, &stats);
    inputs in = {
        .name = "turns", .rows = ROWS, .cols = COLS, .vectors = 1, .x = s.x, .stats = &stats};
    in.source = in.name;
    for (int k = 0, found; k < COUNT(names); k++) {
        cells[k].vectors = 1, cells[k].layout = SPMV_COLUMNS;
        assert_int_equal(spmv_kernel_find(ctx, names[k], &cells[k].kernel, 1, &found), SPMV_OK);
    }
    run.cell = cells;
    run.ncells = COUNT(names);
    cells[1].cache = SPMV_COLD;
    for (int group = 1; group <= 2; group++) {
        memset(results, 0, sizeof results);
        assert_int_equal(run_rounds(&run, s.mat, &in, results), 0);
        for (int k = 0; k < COUNT(names); k++) {
            const record *r = &results[k].r;
            assert_int_equal(r->timing_group, group); /* the same matrix again is another group */
            assert_int_equal(r->timing_samples, k ? 30 : 10);
            assert_int_equal(r->timing_turns_s.count, k ? 23 : 10);
            for (int i = 0; i < (k ? 16 : 10); i++)
                assert_true(fabs(r->timing_turns_s.value[i] / r->timing_samples_s.value[i] - 1) <
                            1e-4);
            free(results[k].samples);
        }
    }
    in.x = NULL;
    inputs_free(&in);
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
