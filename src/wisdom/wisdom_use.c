/* wisdom_use.c: looks up choices of `auto` in a wisdom file before trials, and adds new choices. */
#include "host/context.h"
#include "matrix/matrix.h"
#include "plan/plan.h"
#include "wisdom.h"
#include <stdio.h>

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

void spmv_wisdom_remember(spmv_plan *plan, const spmv_plan_opts *opts, const spmv_backend *backend,
                          const spmv_proposal *choice, const char *reason) {
    const spmv_mat *mat = plan->matrix;
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key;
    if (!mat->ctx->wisdom) return;
    spmv_wisdom_key(mat, opts, backend, &key);
    spmv_wisdom_add(mat->ctx->wisdom, &key, choice, reason, note);
    spmv_wisdom_note(plan, note);
}

bool spmv_wisdom_recall(const spmv_mat *mat, const spmv_plan_opts *opts,
                        const spmv_backend *backend, wisdom *out, char *note) {
    wisdom_key key;
    *note = 0;
    *out = (wisdom){.text = NULL};
    if (!mat->ctx->wisdom) return false;
    spmv_wisdom_key(mat, opts, backend, &key);
    return spmv_wisdom_find(mat->ctx->wisdom, &key, out, note);
}
