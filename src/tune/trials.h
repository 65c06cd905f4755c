/* trials.h: shared by choice.c (admits candidates and chooses one), candidates.c (builds them),
 * trials.c (times them) and team.c (may reduce the winner's threads). */
#ifndef SPMV_TRIALS_H
#define SPMV_TRIALS_H

#include "matrix/matrix.h"
#include "matrix/stores/stored.h"
#include "measure/sampler.h"
#include "tune.h"

enum { MOST_CANDIDATES = 8, MOST_COPIES = 16 };

static const double tie = 0.01;       /* relative difference of times that counts as equal */
static const double for_trials = 100; /* products of the baseline kernel, at most */

typedef struct candidate {
    const spmv_proposal *proposal;
    char name[64]; /* kernel name with backend, as plans take it */
    spmv_plan *plan;
    problem p;         /* all candidates use the same vectors */
    timing t;          /* samples ascend */
    double product_s;  /* least sample on a CPU, lower quartile on a GPU */
    bool is_steady;    /* the two least first products took about the same time */
    bool disqualified; /* far behind, failed or wrong; no longer timed */
} candidate;

typedef struct trials {
    spmv_mat *mat;
    const spmv_plan_opts *opts;
    const spmv_backend *backend;
    spmv_device *device;
    double start; /* when tuning began (spmv_now) */
    /* On a CPU: spmv_now and spmv_thread_now when trials began. The difference of the two clocks
     * since then is waiting, mostly for a core, and not charged to the budget. 0: waiting is
     * charged. */
    double wall, cpu;
    bool is_timed;      /* false: the prediction decides */
    double budget;      /* unit: baseline product times */
    double predicted_s; /* predicted seconds of a baseline product; 0: unknown */
    double assured_s;   /* rounds may begin until this time, beyond the budget */
    /* Seconds not charged to the budget: flushing caches; uploading rows and allocating vectors;
     * one-time costs of the process. */
    double flushing_s, unpaid_s, once_s;
    double room_s; /* part of unpaid_s: the allocation by make_room */
    size_t cache;  /* bytes of the last-level cache; 0: unknown */
    size_t flush;  /* bytes read before each sample to flush the caches; 0: none */
    bool is_kept;  /* caches may keep the matrix between products */
    int copies;    /* copies of plan, x and y per sample; 0 or 1: none */
    candidate entry[MOST_CANDIDATES]; /* the baseline kernel first */
    int n;
    void *x, *y;
    char team[64];     /* text on a reduced number of threads; "": not reduced */
    char passed[1024]; /* kernels passed over or disqualified, with reasons */
} trials;

/* Returns the seconds charged to the budget up to now. */
double spmv_trials_spent_s(const trials *c);
/* Returns whether other processes had the cores during the trials. */
bool spmv_trials_are_disturbed(const trials *c);
double spmv_trials_budget_s(const trials *c); /* seconds; uses the baseline's current time */
/* Allocates the vectors and times the baseline kernel. */
spmv_status spmv_trials_baseline(trials *c);
/* Returns SPMV_OK if tuning can continue after a kernel failed with this status, otherwise the
 * status. Keeps the context's message. */
spmv_status spmv_trials_go_on(trials *c, spmv_status status);
/* Times a candidate's first products; disqualifies it if it fails or computes a wrong result. */
spmv_status spmv_trials_first(trials *c, candidate *e);
/* Times the candidates in rounds until the winner is clear or the budget is spent. */
spmv_status spmv_trials_run(trials *c);
candidate *spmv_trials_fastest(trials *c);
/* Opens the candidate's problem and times its first products; takes one sample of it. */
spmv_status spmv_trials_begin(trials *c, candidate *e);
spmv_status spmv_trials_sample(const trials *c, candidate *e);
/* Returns whether the kernel is built in and as deterministic as the caller asks. */
bool spmv_candidate_is_allowed(const trials *c, const spmv_proposal *p);
/* Returns plan options for the candidate, which point into *e. threads = 0: the number in the
 * caller's options. */
spmv_plan_opts spmv_candidate_opts(const trials *c, candidate *e, int threads);
/* Builds the kernel's plan and appends it as a candidate. Returns false if it cannot be used;
 * *status is then SPMV_OK or the error of building it. */
bool spmv_candidate_admit(trials *c, const spmv_proposal *p, spmv_status *status);
/* Frees the stores newer than `before`, except `keep`. */
void spmv_candidate_drop_others(spmv_mat *mat, const spmv_stored *before, const spmv_store *keep);
/* Records that a kernel was passed over or disqualified, and why. */
void spmv_trials_note(trials *c, const char *what, const spmv_proposal *p, const char *why);
/* Replaces the winner's plan by one with fewer threads if that is not slower (team.c). */
void spmv_trials_reduce_team(trials *c, candidate *winner);
void spmv_trials_close(candidate *e); /* frees plan, batch and samples */
void spmv_trials_free(trials *c);     /* closes all candidates and frees the vectors */

#endif
