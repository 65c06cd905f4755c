/* connect.c: chooses between the two ways to exchange x: halo lists, by which each rank receives
 * only the entries that its rows need, and a replicated x. Halo lists move fewer bytes, but need a
 * second product (by the halo) that reads and writes z once more. If a rank needs much of x, a
 * short trial decides. */
#include "ranks/ranks.h"
#include "spmv_helpers.h"
#include "spmv_clock.h"
#include <omp.h>
#include <stdlib.h>

static void run_parts(int threads, void (*work)(void *arg, int part, int parts), void *arg) {
#pragma omp parallel num_threads(threads)
    work(arg, omp_get_thread_num(), omp_get_num_threads());
}

spmv_need ranks_need(const spmv_ranks *ranks, const spmv_halo *halo, size_t width, int64_t vectors,
                     void *received) {
    return (spmv_need){.halo = halo,
                       .width = width,
                       .vectors = vectors,
                       .received = received,
                       .threads = spmv_ctx_threads(ranks->ctx),
                       .in_parts = run_parts};
}

spmv_status ranks_connect(spmv_ranks *ranks, const spmv_need *need, bool replicates, void **link) {
    const spmv_status status = ranks->by->connect(ranks->state, need, replicates, link);
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "the exchange '%s' cannot prepare a halo of %lld entries",
                      ranks->by->name, (long long)need->halo->received);
}

/* ---- the trial ------------------------------------------------------------------------------ */

/* exchange by lists, exchange of the replicated x, one pass through z */
enum { LISTS, WHOLE, PASS, TRIED };

typedef struct trial {
    spmv_ranks *ranks;
    spmv_need need;
    void *link[2];         /* [LISTS], [WHOLE] */
    int64_t received[2];   /* [LISTS], [WHOLE]: entries of x that this rank reads */
    double *x, *z;         /* x: own entries; z: scratch as large as this rank's z */
    int64_t nz;            /* number of doubles in z */
    double *times;         /* [size] seconds of each rank */
    double seconds[TRIED]; /* seconds of an exchange or pass: slowest rank, least of all rounds */
} trial;

static void pass_part(void *arg, int part, int parts) {
    const trial *t = arg;
    for (int64_t k = t->nz * part / parts; k < t->nz * (part + 1) / parts; k++) t->z[k] += 1;
}

typedef struct reading {
    const uint32_t *from;
    int64_t n;
} reading;

static void read_part(void *arg, int part, int parts) {
    const reading *r = arg;
    uint32_t sum = 0;
    for (int64_t k = r->n * part / parts; k < r->n * (part + 1) / parts; k++) sum += r->from[k];
    __asm__ volatile("" : : "r"(sum)); /* keeps the compiler from removing the reads */
}

/* Exchanges x once and reads all received entries, as a product would, because the time must
 * include the transfer of cache lines that other cores have written. */
static spmv_status exchange_once(const trial *t, int which) {
    const spmv_exchange *by = t->ranks->by;
    const spmv_need *need = &t->need;
    TRY(by->start(t->link[which], t->x, need->vectors, need->vectors));
    TRY(by->finish(t->link[which]));
    const size_t bytes = (size_t)(t->received[which] * need->vectors) * need->width;
    reading r = {by->latest(t->link[which]), (int64_t)(bytes / sizeof *r.from)};
    run_parts(need->threads, read_part, &r);
    return SPMV_OK;
}

/* Runs an exchange, or the pass through z, TIMES times. *seconds: time of one run on the slowest
 * rank, the same on all ranks. */
static spmv_status time_once(trial *t, int which, double *seconds) {
    enum { TIMES = 4 };
    spmv_ranks *ranks = t->ranks;
    const double begin = spmv_now();
    for (int k = 0; k < TIMES; k++)
        if (which == PASS)
            run_parts(t->need.threads, pass_part, t);
        else
            TRY(exchange_once(t, which));
    const double mine = (spmv_now() - begin) / TIMES;
    TRY(ranks->by->gather(ranks->state, &mine, sizeof mine, t->times));
    *seconds = 0;
    for (int r = 0; r < ranks->size; r++)
        if (t->times[r] > *seconds) *seconds = t->times[r];
    return SPMV_OK;
}

/* Alternates between the candidates, so that noise affects all alike; keeps the least time of
 * each. */
static spmv_status race(trial *t) {
    enum { TURNS = 9 };
    for (int turn = -1; turn < TURNS; turn++)
        for (int which = 0; which < TRIED; which++) {
            double seconds;
            TRY(time_once(t, which, &seconds));
            if (turn <= 0 || seconds < t->seconds[which]) t->seconds[which] = seconds;
        }
    return SPMV_OK;
}

static spmv_status trial_alloc(trial *t, const spmv_ranks_mat *mat) {
    const spmv_need *need = &t->need;
    const size_t row = (size_t)need->vectors * need->width;
    t->received[LISTS] = mat->halo.received;
    t->received[WHOLE] = mat->facts.cols;
    t->nz = (int64_t)((size_t)mat->facts.own_rows * row / sizeof *t->z);
    const size_t x_bytes = ((size_t)mat->facts.own_cols + 1) * row;
    t->x = malloc(x_bytes);
    t->z = calloc((size_t)t->nz + 1, sizeof *t->z);
    t->need.received = calloc((size_t)mat->halo.received + 1, row);
    t->times = malloc((size_t)t->ranks->size * sizeof *t->times);
    /* touches the pages: untouched memory is one shared page of zeros */
    if (t->x) memset(t->x, 1, x_bytes);
    if (t->x && t->z && t->need.received && t->times) return SPMV_OK;
    return ranks_no_memory(t->ranks, "a trial");
}

static void trial_free(trial *t) {
    for (int k = 0; k < 2; k++)
        if (t->link[k]) t->ranks->by->disconnect(t->link[k]);
    free(t->x);
    free(t->z);
    free(t->need.received);
    free(t->times);
}

/* Runs the trial. Keeps the lists if the replicated x does not fit into the memory of some rank. */
static spmv_status try_both(trial *t, spmv_ranks_plan_facts *out) {
    spmv_ranks *ranks = t->ranks;
    TRY(ranks_agree(ranks, ranks_connect(ranks, &t->need, false, &t->link[LISTS])));
    if (ranks_agree(ranks, ranks_connect(ranks, &t->need, true, &t->link[WHOLE])) != SPMV_OK)
        return SPMV_OK;
    const spmv_status status = race(t);
    if (status != SPMV_OK)
        return ranks_fail(ranks, status, "the exchange '%s' failed", ranks->by->name);
    if (t->seconds[WHOLE] < t->seconds[LISTS] + t->seconds[PASS]) out->halo = SPMV_HALO_REPLICATE;
    out->lists_s = t->seconds[LISTS];
    out->replicate_s = t->seconds[WHOLE];
    return SPMV_OK;
}

spmv_status ranks_choose_halo(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                              spmv_ranks_plan_facts *out) {
    spmv_ranks *ranks = mat->ranks;
    out->halo = mat->halo_asked == SPMV_HALO_REPLICATE ? SPMV_HALO_REPLICATE : SPMV_HALO_LISTS;
    if (mat->halo_asked != SPMV_HALO_AUTO || !ranks_needs_much(&mat->facts)) return SPMV_OK;
    trial t = {.ranks = ranks, .need = ranks_need(ranks, &mat->halo, width, vectors, NULL)};
    spmv_status status = SPMV_OK;
    if (ranks_agree(ranks, trial_alloc(&t, mat)) == SPMV_OK) status = try_both(&t, out);
    trial_free(&t);
    return status;
}
