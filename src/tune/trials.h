/* contest.h: what auto.c (who takes part, and what is chosen), run_off.c (their times) and
 * spot_check.c (their results) share. */
#ifndef SPMV_CONTEST_H
#define SPMV_CONTEST_H

#include "tune.h"

enum { MOST_CONTENDERS = 8, MOST_ROUNDS = 64, MOST_COPIES = 16 };

/* A budget, in products of the safe kernel, that three conversions and looks at them fit in. */
static inline bool is_plenty(double budget) {
    return budget >= 33;
}

typedef struct contender {
    const spmv_proposal *proposal;
    spmv_plan *plan, *copy[MOST_COPIES]; /* copies: from the second on, where there are any */
    spmv_batch *batch;                   /* several products, where one is short; NULL: one */
    double sample[MOST_ROUNDS];
    int inner, nsamples;
    double product_s; /* the least, on a GPU the lower quartile: what disturbs only adds time */
    bool given_up;    /* far behind: not timed further */
} contender;

typedef struct contest {
    spmv_mat *mat;
    const spmv_plan_opts *opts;
    const spmv_backend *backend;
    spmv_device *device;
    double start, budget, budget_s; /* budget: in products of the safe kernel */
    double promised;                /* the budget without its least */
    double rounds_s;                /* of budget_s: for more than a first look */
    double assured_s;               /* so much may be spent for rounds whatever was before them */
    /* No part of the budget: spent on emptying caches, on sending the rows, on memory for vectors,
     * on what a process does once. */
    double flushing_s, sent_s, memory_s, once_s;
    double room_s; /* of sent_s: on memory for all of it */
    size_t cache;  /* the device's last-level cache; 0: unknown */
    size_t flush;  /* bytes read before each sample; 0: none */
    int copies;    /* of the plan, x and y that a sample goes through; 0 or 1: none */
    contender entry[MOST_CONTENDERS]; /* the safe one first */
    int n;
    void *x, *y;
    char passed[1024]; /* who was passed over, and why */
} contest;

double spmv_contest_spent_s(const contest *c);
/* Readies the vectors and the safe kernel, and sets budget_s; *unit_s: a product of it,
 * undisturbed. */
spmv_status spmv_contest_unit(contest *c, double *unit_s);
/* After a kernel that failed so: SPMV_OK if others can still be had; the message stays. */
spmv_status spmv_contest_go_on(contest *c, spmv_status status);
/* Times the contenders in turns until it is clear who is first, or the budget is spent. */
spmv_status spmv_contest_run_off(contest *c);
contender *spmv_contest_fastest(contest *c);
/* spot_check.c, for a host: x such that columns tell; before a product, and after it. */
void spmv_contest_vary_x(contest *c);
void spmv_contest_wipe(contest *c);
spmv_status spmv_contest_check(const contest *c);
/* Says that a kernel takes no part. */
void spmv_contest_pass_over(contest *c, const spmv_proposal *p, const char *why);
void spmv_contest_free(contest *c); /* plans, batches, vectors */

#endif
