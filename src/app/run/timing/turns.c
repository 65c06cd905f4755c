/* turns.c: whose turn comes when in a round, and what is remembered of the turns: their medians in
 * the order of the rounds, so that a ratio of two kernels can be made of times that were measured
 * next to each other. */
#include "app/record/record.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "turns.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the order of a round ------------------------------------------------------------------- */

static void shuffle(int *order, int n, uint64_t seed) {
    for (int k = n - 1; k > 0; k--) {
        int other = (int)(spmv_mix(seed + (uint64_t)k) % (uint64_t)(k + 1)), kept = order[k];
        order[k] = order[other];
        order[other] = kept;
    }
}

static bool are_compared(const cell *a, const cell *b) {
    return a->kernel.backend == b->kernel.backend && same_conditions(a, b);
}

void order_turns(const session *run, const candidate *candidates, int *order, int n,
                 uint64_t seed) {
    shuffle(order, n, seed);
    for (int k = 1; k < n; k++) {
        const cell *before = &run->cell[candidates[order[k - 1]].cell];
        int next = k;
        while (next < n && !are_compared(before, &run->cell[candidates[order[next]].cell])) next++;
        if (next == n) continue;
        int found = order[next];
        memmove(&order[k + 1], &order[k], (size_t)(next - k) * sizeof *order);
        order[k] = found;
    }
}

/* ---- what is remembered --------------------------------------------------------------------- */

/* The later, the more rounds to a place, so that few places hold many rounds. How many depends on
 * the place alone: a kernel that ends is logged at once, when nobody knows yet how long the others
 * take, and places of all of them are to be of the same rounds. */
static int rounds_at(int place) {
    enum { SINGLE = 16, ALIKE = 8 };
    return place < SINGLE ? 1 : 2 << (place - SINGLE) / ALIKE;
}

void turns_add(turns *t, double median_s) {
    if (t->places == MOST_TURNS) return;
    t->sum_s += median_s;
    if (++t->rounds < rounds_at(t->places)) return;
    t->median_s[t->places++] = t->sum_s / t->rounds;
    t->sum_s = t->rounds = 0;
}

/* The turn in which a kernel ends may have a single sample. */
void add_turn(candidate *e, int first, double seconds, double slice_s) {
    if (e->t.done && seconds < slice_s / 2) return;
    turns_add(&e->turns, statistics_of(e->t.sample_s + first, e->t.nsamples - first).median);
}

/* Five digits are more than a median has, and take half of a log's space. */
static double rounded(double x) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.5g", x);
    return strtod(digits, NULL);
}

void describe_turns(int group, const turns *t, result *out) {
    for (int k = 0; k < t->places; k++) out->turns[k] = rounded(t->median_s[k]);
    out->r.timing_group = group;
    out->r.timing_turns_s = (numbers){out->turns, t->places};
}
