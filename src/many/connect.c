/* connect.c: what ranks get of x: lists of what each needs, or all of it. A short trial decides
 * where a rank needs much of x. */
#include "many.h"
#include "spmv_helpers.h"
#include <omp.h>
#include <stdlib.h>

typedef struct pair { /* of exchanges, or of what they take */
    void *link[2];    /* lists, replicate */
    double seconds[2];
} pair;

static void run_parts(int threads, void (*work)(void *arg, int part, int parts), void *arg) {
#pragma omp parallel num_threads(threads)
    work(arg, omp_get_thread_num(), omp_get_num_threads());
}

spmv_need many_need(const spmv_world *world, const spmv_halo *halo, size_t width, int64_t vectors,
                    void *received) {
    return (spmv_need){.halo = halo,
                       .width = width,
                       .vectors = vectors,
                       .received = received,
                       .threads = spmv_ctx_threads(world->ctx),
                       .in_parts = run_parts};
}

static spmv_status connect(spmv_world *world, const spmv_need *need, int replicates, void **link) {
    const spmv_status status = world->by->connect(world->state, need, replicates, link);
    if (status == SPMV_OK) return status;
    return many_fail(world, status, "the exchange '%s' cannot prepare a halo of %lld entries",
                     world->by->name, (long long)need->halo->received);
}

/* Exchanges a few times; *seconds: of one, by the rank that took longest. times: [size]. */
static spmv_status time_once(spmv_world *world, const spmv_need *need, void *link, const void *x,
                             double *times, double *seconds) {
    enum { EXCHANGES = 4 };
    const double begin = many_now();
    for (int k = 0; k < EXCHANGES; k++) {
        TRY(world->by->start(link, x, need->vectors, need->vectors));
        TRY(world->by->finish(link));
    }
    const double mine = (many_now() - begin) / EXCHANGES;
    TRY(world->by->gather(world->state, &mine, sizeof mine, times));
    *seconds = 0;
    for (int r = 0; r < world->size; r++)
        if (times[r] > *seconds) *seconds = times[r];
    return SPMV_OK;
}

/* Takes turns, so that both meet the same disturbances; the least times count. */
static spmv_status race(spmv_world *world, const spmv_need *need, pair *both, const void *x,
                        double *times) {
    enum { TURNS = 9 };
    for (int turn = -1; turn < TURNS; turn++)
        for (int k = 0; k < 2; k++) {
            double seconds;
            TRY(time_once(world, need, both->link[k], x, times, &seconds));
            if (turn <= 0 || seconds < both->seconds[k]) both->seconds[k] = seconds;
        }
    return SPMV_OK;
}

static spmv_status try_both(spmv_world *world, const spmv_need *need, const spmv_many_facts *facts,
                            pair *both) {
    const size_t bytes = (size_t)(facts->own_cols * need->vectors + 1) * need->width;
    void *x = calloc(1, bytes);
    double *times = malloc((size_t)world->size * sizeof *times);
    spmv_status status =
        x && times ? SPMV_OK : many_fail(world, SPMV_E_NOMEM, "out of memory for a trial");
    status = many_agree(world, status);
    if (status == SPMV_OK) {
        status = race(world, need, both, x, times);
        if (status != SPMV_OK)
            many_fail(world, status, "the exchange '%s' failed", world->by->name);
    }
    free(x);
    free(times);
    return status;
}

/* All ranks know the same of what decides whether there is a trial. */
static bool is_worth_a_trial(const spmv_many_facts *facts) {
    return facts->cols <= INT32_MAX && facts->most_received > 0 &&
           facts->most_received >= facts->cols / 4;
}

/* Lists where replication has no memory: a trial that cannot be held is none. */
static spmv_status choose(spmv_world *world, const spmv_need *need, const spmv_many_facts *facts,
                          spmv_many_plan_facts *out, void **link) {
    pair both = {{NULL, NULL}, {0, 0}};
    TRY(many_agree(world, connect(world, need, 0, link)));
    both.link[0] = *link;
    if (many_agree(world, connect(world, need, 1, &both.link[1])) != SPMV_OK) {
        if (both.link[1]) world->by->disconnect(both.link[1]);
        return SPMV_OK;
    }
    const spmv_status status = try_both(world, need, facts, &both);
    const int best = status == SPMV_OK && both.seconds[1] < both.seconds[0];
    world->by->disconnect(both.link[!best]);
    *link = both.link[best];
    out->halo = best ? SPMV_HALO_REPLICATE : SPMV_HALO_LISTS;
    out->lists_s = both.seconds[0];
    out->replicate_s = both.seconds[1];
    return status;
}

spmv_status many_connect(spmv_world *world, const spmv_need *need, spmv_many_halo asked,
                         const spmv_many_facts *facts, spmv_many_plan_facts *out, void **link) {
    out->halo = asked == SPMV_HALO_REPLICATE ? asked : SPMV_HALO_LISTS;
    if (asked == SPMV_HALO_AUTO && is_worth_a_trial(facts))
        return choose(world, need, facts, out, link);
    return many_agree(world, connect(world, need, asked == SPMV_HALO_REPLICATE, link));
}
