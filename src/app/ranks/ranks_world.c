/* ranks_world.c: the ranks of an invocation begin and end together, and agree on what fails. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/record/record.h"
#include "app/run/session.h"
#include "launcher.h"
#include "ranks.h"
#include "ranks/exchange/exchange.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- agreement ------------------------------------------------------------------------------ */

typedef struct vote {
    int code;
    char words[500]; /* what the rank would have said */
} vote;

int ranks_vote(ranks *w, int code) {
    vote mine = {.code = code}, *all = w->votes;
    snprintf(mine.words, sizeof mine.words, "%s", code ? talk_kept() : "");
    if (spmv_ranks_gather(w->ranks, &mine, sizeof mine, all) != SPMV_OK)
        spmv_ranks_abort(w->ranks, spmv_exit_code(SPMV_E_DEVICE));
    for (int r = 0; r < w->size; r++) {
        if (!all[r].code) continue;
        const char *words = all[r].words;
        const size_t name = strlen("spmv: ");
        if (strncmp(words, "spmv: ", name) == 0) words += name;
        if (is_first(w) && r) say("spmv: rank %d: %s\n", r, *words ? words : "failed");
        return all[r].code;
    }
    return 0;
}

int ranks_failed(const ranks *w, spmv_status status) {
    return complain(status, spmv_ranks_error(w->ranks));
}

/* ---- the same on all ranks ------------------------------------------------------------------ */

typedef struct typed { /* hashes of what all ranks must have in common */
    uint64_t build, options, x;
} typed;

static uint64_t hash(uint64_t h, const void *from, size_t n) {
    const unsigned char *byte = from;
    for (size_t k = 0; k < n; k++) h = (h ^ byte[k]) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

uint64_t ranks_hash(const void *from, size_t n) {
    return hash(0xcbf29ce484222325u, from, n);
}

static uint64_t hash_text(uint64_t h, const char *s) {
    return hash(h, s ? s : "", s ? strlen(s) : 0);
}

static typed typed_here(void) {
    record r;
    record_clear(&r);
    record_build(&r);
    typed out = {.build = hash_text(1, r.build_version), .options = launcher_typed()};
    out.build = hash_text(hash_text(out.build, r.build_commit), r.build_cflags);
    return out;
}

/* Refuses ranks that were started otherwise than rank 0. */
static int compare_typed(ranks *w, typed mine) {
    typed *all = malloc((size_t)w->size * sizeof *all);
    int code = ranks_vote(w, all ? 0 : complain(SPMV_E_NOMEM, NULL));
    if (!code && spmv_ranks_gather(w->ranks, &mine, sizeof mine, all) != SPMV_OK)
        code = complain(SPMV_E_DEVICE, "the ranks' options were lost");
    for (int r = 1; r < w->size && !code; r++) {
        const char *what = all[r].build != all->build       ? "is another build of spmv"
                           : all[r].options != all->options ? "has other options"
                           : all[r].x != all->x             ? "reads another x"
                                                            : NULL;
        if (!what) continue;
        say("spmv: rank %d %s than rank 0\n", r, what);
        code = EXIT_USAGE;
    }
    free(all);
    return code;
}

int ranks_compare(ranks *w, uint64_t x) {
    typed mine = typed_here();
    mine.x = x;
    return compare_typed(w, mine);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

int ranks_open(ranks *w, const spmv_ctx_opts *context) {
    spmv_ranks_opts opts = SPMV_OPTS(spmv_ranks_opts);
    opts.context = context;
    opts.exchange = launcher_of()->mpi;
    const spmv_status status = spmv_ranks_create(NULL, &opts, &w->ranks);
    if (status != SPMV_OK) {
        /* Nobody else may know; but who has said the same ends this rank meanwhile. */
        const struct timespec pause = {.tv_sec = 2};
        if (launcher_of()->rank) nanosleep(&pause, NULL);
        talk_mute(false);
        return launcher_end_all(complain(status, spmv_ranks_error(NULL)));
    }
    w->rank = spmv_ranks_rank(w->ranks);
    w->size = spmv_ranks_size(w->ranks);
    w->votes = malloc((size_t)w->size * sizeof(vote));
    w->all = malloc((size_t)w->size * sizeof *w->all);
    if (w->votes && w->all) return 0;
    talk_mute(false);
    const int code = complain(SPMV_E_NOMEM, NULL);
    spmv_ranks_abort(w->ranks, code);
    return code;
}

void ranks_close(ranks *w) {
    free(w->votes);
    free(w->host);
    free(w->all);
    spmv_ranks_free(w->ranks);
}

int ranks_leave(int code) {
    session run = {.output = stdout};
    ranks w = {.run = &run};
    spmv_ctx_opts context = SPMV_OPTS(spmv_ctx_opts);
    context.threads = 1;
    char path[PATH_MAX + 64];
    if (!launcher_of()) return code;
    if (!code && !ranks_find_exchange(launcher_of()->mpi, path, sizeof path)) return code;
    const int opened = ranks_open(&w, &context);
    if (!opened) ranks_compare(&w, 0);
    ranks_close(&w);
    return code;
}
