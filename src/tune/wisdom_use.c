/* wisdom_use.c: choices of "auto" that are looked up in a wisdom file before trials and added to it
 * afterwards. */
#include "trials.h"
#include "wisdom.h"
#include <stdio.h>
#include <stdlib.h>

void spmv_wisdom_note(spmv_plan *plan, const char *what) {
    spmv_ctx *ctx = plan->matrix->ctx;
    char *note = plan->tuning->note, *said = ctx->wisdom_notes;
    const char *before = plan->note ? plan->note : ctx->fewer_threads;
    if (!*what || strstr(said, what)) return;
    snprintf(said + strlen(said), sizeof ctx->wisdom_notes - strlen(said), "%s", what);
    if (before != note) snprintf(note, sizeof plan->tuning->note, "%s", before);
    snprintf(note + strlen(note), sizeof plan->tuning->note - strlen(note), "%s%s",
             *note ? "; " : "", what);
    plan->note = note;
}

void spmv_wisdom_remember(const trials *c, const spmv_proposal *choice, spmv_plan *plan) {
    const spmv_tuning *t = plan->tuning;
    const char *path = c->mat->ctx->wisdom;
    char reason[sizeof t->reason], note[SPMV_WISDOM_NOTE];
    wisdom_key key;
    if (!path || !t->baseline) return;
    snprintf(reason, sizeof reason, "%.*s", (int)(strlen(t->reason) - strlen(c->passed)),
             t->reason);
    spmv_wisdom_key(c->mat, c->opts, c->backend, &key);
    spmv_wisdom_add(path, &key, choice, reason, note);
    spmv_wisdom_note(plan, note);
}

/* Makes the plan of a remembered choice, as for its trials. NULL: it cannot be made now, and the
 * note says why. */
static spmv_plan *remake(trials *c, const wisdom *w, char *note) {
    const spmv_stored *before = c->mat->stores;
    spmv_status status;
    spmv_tuning *t = calloc(1, sizeof *t);
    if (!t || !spmv_candidate_is_allowed(c, &w->choice) ||
        !spmv_candidate_admit(c, &w->choice, &status)) {
        snprintf(note, SPMV_WISDOM_NOTE, "wisdom %.200s: its choice is not used%.160s",
                 c->mat->ctx->wisdom, *c->passed ? c->passed : "; there is no such kernel");
        spmv_candidate_drop_others(c->mat, before, NULL);
        free(t);
        return NULL;
    }
    spmv_plan *plan = c->entry[0].plan;
    snprintf(t->date, sizeof t->date, "%s", w->date);
    snprintf(t->reason, sizeof t->reason, "%.1200s (remembered from %.10s)", w->reason, w->date);
    t->tune_s = spmv_now() - c->start - spmv_candidate_charged_apart(c, plan, c->start);
    plan->tuning = t;
    return plan;
}

spmv_plan *spmv_wisdom_recall(spmv_mat *mat, const spmv_plan_opts *opts,
                              const spmv_backend *backend, char *note) {
    trials c = {
        .mat = mat, .opts = opts, .backend = backend, .start = spmv_now(), .is_timed = true};
    wisdom_key key;
    wisdom w;
    *note = 0;
    if (!mat->ctx->wisdom) return NULL;
    spmv_wisdom_key(mat, opts, backend, &key);
    bool found = spmv_wisdom_find(mat->ctx->wisdom, &key, &w, note);
    spmv_plan *plan = found ? remake(&c, &w, note) : NULL;
    free(w.text);
    return plan;
}
