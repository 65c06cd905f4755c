/* test_statistics.c: the median's confidence interval on sequences whose true median is known, as
 * quiet and as busy machines make them; and when samples are enough. */
#include "measure/statistics.h"
#include "testing.h"
#include "app/run/timing/noise.h"

enum { RUNS = 1000, MOST = 5000 };

static uint64_t drawn;

/* Returns a number between 0 and 1, never 0. */
static double uniform(void) {
    return ((double)(spmv_mix(++drawn) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void) {
    return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}

/* ---- sequences ------------------------------------------------------------------------------ */

typedef double draw_function(double *state); /* the next sample; state: of the machine */

static double quiet(double *state) {
    (void)state;
    return 1 + 0.02 * normal();
}

/* Three samples of ten take one, two or three of the scheduler's turns longer. */
static double interrupted(double *state) {
    double sample = quiet(state) - 0.02 * 0.565949; /* so that 5/7 of these lie below 1 */
    return uniform() < 0.3 ? sample + 4 * ceil(3 * uniform()) : sample;
}

/* Two of three samples about 1, the others a tenth slower; 3/4 of the two lie below 1. */
static double of_two_speeds(double *state) {
    (void)state;
    double quick = 1 + 0.02 * (normal() - 0.674490);
    return 3 * uniform() < 2 ? quick : quick + 0.2;
}

/* Half of what a sample is off by, it shares with those some ten before and after it. */
static double drifting(double *state) {
    *state = 0.9 * *state + sqrt(1 - 0.81) * normal();
    return 1 + 0.02 * *state + 0.02 * normal();
}

static const struct sequence {
    const char *name;
    draw_function *draw;
    int n; /* samples that show what there is to see */
} sequences[] = {{"quiet", quiet, 30},
                 {"interrupted", interrupted, 100},
                 {"of two speeds", of_two_speeds, 100},
                 {"drifting", drifting, 1000}};

/* ---- tests ---------------------------------------------------------------------------------- */

TEST(the_interval_holds_the_true_median) {
    static double sample[MOST];
    for (int k = 0; k < COUNT(sequences); k++) {
        const struct sequence *s = &sequences[k];
        int held = 0;
        double mean = 0;
        drawn = 0;
        for (int run = 0; run < RUNS; run++) {
            double now = normal();
            for (int i = 0; i < s->n; i++) sample[i] = s->draw(&now);
            statistics e = statistics_of(sample, s->n);
            assert_true(e.low <= e.median && e.median <= e.high);
            held += e.low <= 1 && 1 <= e.high;
            mean += e.median / RUNS;
        }
        if (held < 0.95 * RUNS || fabs(mean - 1) >= 0.01)
            fail_msg("%s: %d of %d intervals hold 1, mean %g", s->name, held, RUNS, mean);
    }
}

TEST(numbers_are_what_they_are_called) {
    const double five[] = {50, 10, 40, 20, 30}, four[] = {4, 1, 3, 2};
    statistics s = statistics_of(five, 5);
    assert_true(s.min == 10 && s.q1 == 20 && s.median == 30 && s.q3 == 40 && s.max == 50);
    assert_true(s.mean == 30 && fabs(s.stdev - sqrt(250)) < 1e-12);
    s = statistics_of(four, 4);
    assert_true(s.min == 1 && s.q1 == 1.75 && s.median == 2.5 && s.q3 == 3.25 && s.max == 4);
    assert_true(s.mean == 2.5 && fabs(s.stdev - sqrt(5 / 3.0)) < 1e-12);
    s = statistics_of(four, 1);
    assert_true(s.q1 == 4 && s.median == 4 && s.q3 == 4 && s.stdev == 0);
}

/* A hundred times the samples: a tenth of the interval, where the quartiles stay where they are. */
TEST(more_samples_make_it_narrower) {
    static double sample[4000];
    double few = 0, many = 0;
    drawn = 0;
    for (int run = 0; run < 100; run++) {
        for (int i = 0; i < COUNT(sample); i++) sample[i] = quiet(NULL);
        statistics first = statistics_of(sample, 40), all = statistics_of(sample, COUNT(sample));
        few += median_noise(&first);
        many += median_noise(&all);
    }
    assert_true(few / many > 8 && few / many < 14);
}

/* The same values in an order with strong correlation, so that each carries less information. */
TEST(a_drift_makes_it_wider) {
    double shuffled[100], rising[100];
    for (int i = 0; i < 100; i++) {
        rising[i] = 1 + 0.001 * i;
        shuffled[i] = 1 + 0.001 * (i * 37 % 100);
    }
    statistics a = statistics_of(shuffled, 100), b = statistics_of(rising, 100);
    assert_true(a.median == b.median);
    assert_true(median_noise(&b) > 2 * median_noise(&a));
}

TEST(few_samples_know_no_interval) {
    const double same[] = {2, 2, 2, 2, 2, 2};
    statistics none = statistics_of(same, 0), five = statistics_of(same, 5),
               six = statistics_of(same, 6);
    assert_true(isnan(none.median) && isnan(none.low));
    assert_true(five.median == 2 && isnan(five.low) && isnan(five.high));
    assert_false(median_noise(&five) <= 1);
    assert_true(six.low == 2 && six.high == 2 && median_noise(&six) == 0);
}

/* Looking again and again, and stopping when it pleases, finds the truth as often. */
TEST(who_stops_when_it_is_narrow_is_right_too) {
    static double sample[MOST];
    int held = 0;
    drawn = 0;
    for (int run = 0; run < RUNS; run++) {
        int n = 0, look = 10;
        statistics e;
        for (bool narrow = false; !narrow; look = look * 11 / 10) {
            assert_true(look <= MOST);
            while (n < look) sample[n++] = quiet(NULL);
            e = statistics_of(sample, n);
            narrow = median_noise(&e) <= 0.01;
        }
        held += e.low <= 1 && 1 <= e.high;
    }
    assert_true(held >= 0.95 * RUNS);
}

/* Overlapping quartiles are a tie for any distance of the medians. */
TEST(who_is_faster_is_so_by_quartiles_too) {
    const statistics a = {.q1 = 9, .median = 10, .q3 = 11}, b = {.q1 = 12, .median = 12, .q3 = 13},
                     wide = {.q1 = 11, .median = 20, .q3 = 30};
    assert_true(is_faster(&a, &b, 0) && is_faster(&a, &b, 0.1));
    assert_false(is_faster(&a, &b, 0.2) || is_faster(&b, &a, 0) || is_faster(&a, &a, 0));
    assert_false(is_faster(&a, &wide, 0));
}

/* Both threads of a team of two, or one of sixteen: the product waits in either case. */
TEST(waits_are_of_all_threads_together) {
    const noise none = {0}, some = {.wall_s = 10, .waited_s = 2}, much = {10, 0, 3, 0, 0};
    assert_false(noise_is_waits(&none));
    assert_false(noise_is_waits(&some));
    assert_true(noise_is_waits(&much));
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
