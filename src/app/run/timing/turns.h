/* turns.h: the order of a round, and the medians of the turns of each candidate. */
#ifndef SPMV_APP_TURNS_H
#define SPMV_APP_TURNS_H

#include <stdint.h>

enum { MOST_TURNS = 48 };        /* medians of turns that a record holds: of 256 rounds */
typedef struct turns {           /* turns of a candidate: one in each round until it is final */
    double median_s[MOST_TURNS]; /* [places] means of the medians of 1, later of 2 to 16 rounds */
    int places, rounds;          /* rounds: of the next place, so far */
    double sum_s;                /* sum of the medians of all rounds, seconds */
} turns;

struct session;
struct candidate;
struct result;
/* Shuffles the places of n candidates; those of one backend, precision and state of the caches
 * follow each other, as only they are compared. */
void order_turns(const struct session *run, const struct candidate *candidates, int *order, int n,
                 uint64_t seed);
/* Remembers the turn of the next round: the samples from the first on, of a turn that was to take
 * slice_s. */
void add_turn(struct candidate *e, int first, double seconds, double slice_s);
void turns_add(turns *t, double median_s);
/* Fills them into the record of a row. group: of kernels that take turns with each other. */
void describe_turns(int group, const turns *t, struct result *out);

#endif
