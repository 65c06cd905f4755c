/* trials.h: what choice.c (which admits candidates and chooses one), trials.c (which times them)
 * and team.c (which may take threads from the fastest) share. */
#ifndef SPMV_TRIALS_H
#define SPMV_TRIALS_H

#include "matrix/matrix.h"
#include "matrix/stored.h"
#include "measure/sampler.h"
#include "tune.h"

enum { MOST_CANDIDATES = 8, MOST_COPIES = 16 };

static const double tie = 0.01;       /* a time that much longer is not slower */
static const double for_trials = 100; /* products of the baseline kernel, at most */

typedef struct candidate {
    const spmv_proposal *proposal;
    char name[64]; /* of the kernel, as plans take it */
    spmv_plan *plan;
    problem p;         /* all are lent the same vectors */
    timing t;          /* its samples are ascending */
    double product_s;  /* on a CPU the least sample, on a GPU the lower quartile */
    bool is_steady;    /* its two fastest first products took about the same */
    bool disqualified; /* far behind, failed or wrong: it is not timed any more */
} candidate;

typedef struct trials {
    spmv_mat *mat;
    const spmv_plan_opts *opts;
    const spmv_backend *backend;
    spmv_device *device;
    double start; /* when tuning began, by spmv_now */
    /* On a CPU, when trials began, by spmv_now and spmv_thread_now: what the thread waited since
     * then, mostly for a core, is not paid for. 0: all time is. */
    double wall, cpu;
    bool is_timed;      /* otherwise the prediction decides */
    double budget;      /* in baseline product times */
    double predicted_s; /* a product of the baseline kernel, as proposals count; 0: as timed */
    double assured_s;   /* a round may begin until then, even if conversions took the budget */
    /* Seconds that do not count towards the budget: emptying caches; sending the rows and
     * allocating vectors; what a process does once. */
    double flushing_s, unpaid_s, once_s;
    double room_s; /* the part of unpaid_s that allocates memory for everything at once */
    size_t cache;  /* bytes of the device's last-level cache; 0: unknown */
    size_t flush;  /* bytes read before each sample to empty the caches; 0: none */
    bool is_kept;  /* caches may keep the matrix from one product to the next */
    int copies;    /* of plan, x and y that a sample goes through; 0 or 1: no copies */
    candidate entry[MOST_CANDIDATES]; /* the baseline kernel first */
    int n;
    void *x, *y;
    char team[64];     /* why the choice has fewer threads than it may; "": it has all */
    char passed[1024]; /* which kernels were passed over or disqualified, and why */
} trials;

/* Returns the seconds that count towards the budget and were spent so far. */
double spmv_trials_spent_s(const trials *c);
/* Says whether other processes had the cores meanwhile. */
bool spmv_trials_are_disturbed(const trials *c);
double spmv_trials_budget_s(const trials *c); /* by the baseline product as timed so far */
/* Allocates the vectors and times the baseline kernel. */
spmv_status spmv_trials_baseline(trials *c);
/* Says whether tuning can go on after a kernel failed with this status: SPMV_OK if so, else the
 * status. The context's message stays. */
spmv_status spmv_trials_go_on(trials *c, spmv_status status);
/* Times a candidate's first products; one that fails or is wrong is disqualified. */
spmv_status spmv_trials_first(trials *c, candidate *e);
/* Times the candidates in rounds until it is clear which is fastest or the budget is spent. */
spmv_status spmv_trials_run(trials *c);
candidate *spmv_trials_fastest(trials *c);
/* Opens the candidate's problem and times its first products; takes one sample of it. */
spmv_status spmv_trials_begin(trials *c, candidate *e);
spmv_status spmv_trials_sample(const trials *c, candidate *e);
/* candidates.c. Whether the kernel is built in and its results repeat as the caller asks. */
bool spmv_candidate_is_allowed(const trials *c, const spmv_proposal *p);
/* Returns options for a plan of the candidate; they point to it. threads: 0: as many as the caller
 * says. */
spmv_plan_opts spmv_candidate_opts(const trials *c, candidate *e, int threads);
/* Builds the kernel's plan and makes it a candidate. Returns false if it cannot be used: then it is
 * passed over, and *status says whether building failed. */
bool spmv_candidate_admit(trials *c, const spmv_proposal *p, spmv_status *status);
/* Frees the stores newer than `before`, except for the one to keep. */
void spmv_candidate_drop_others(spmv_mat *mat, const spmv_stored *before, const spmv_store *keep);
/* Notes for the user that a kernel was passed over or disqualified, and why. */
void spmv_trials_note(trials *c, const char *what, const spmv_proposal *p, const char *why);
/* team.c. Gives the winner of the trials a plan with fewer threads, if that is not slower. */
void spmv_trials_reduce_team(trials *c, candidate *winner);
void spmv_trials_close(candidate *e); /* frees plan, batch and samples */
void spmv_trials_free(trials *c);     /* frees those of all candidates, and the vectors */

#endif
