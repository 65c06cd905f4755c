/* sweep_child.c: the process that measures cells of one matrix for spmv sweep. It may crash or
 * hang: what is logged is whole, and the pipe says where it was. */
#include "app/messages.h"
#include "app/options/options.h"
#include "app/ranks/run_ranks.h"
#include "app/record/log.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "app/record/write_jsonl.h"
#include "app/record/write_table.h"
#include "app/run/cmd_run.h"
#include "app/run/inputs.h"
#include "app/run/results/describe.h"
#include "app/run/results/ranking.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "sweep.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sweep_tell(const assignment *a, const report *r) {
    ssize_t wrote = write(a->pipe, r, sizeof *r);
    if (wrote != (ssize_t)sizeof *r) _exit(spmv_exit_code(SPMV_E_WRITE)); /* the reader is gone */
}

static void tell_step(void *arg, int k) {
    const assignment *a = arg;
    sweep_tell(a, &(report){.kind = STEP, .cell = a->cells[k]});
}

static void tell_finished(void *arg, int k, const result *out) {
    const assignment *a = arg;
    const record *of = &out->r;
    /* Times are taken as a log holds them: a sweep that is resumed ends with the same summary. */
    const double median_s = jsonl_number(of->timing_median_s);
    report r = {.kind = FINISHED,
                .cell = a->cells[k],
                .median_s = of->timing_median_s,
                .logged = out->logged,
                .time = {.median_s = is_ranked(out) ? median_s : NAN,
                         .q1_s = jsonl_number(of->timing_q1_s),
                         .q3_s = jsonl_number(of->timing_q3_s),
                         .flop_per_s = jsonl_number(of->perf_flop_per_s),
                         .unsettled = of->timing_settled == 0,
                         .disturbed = of->timing_flags.count > 0}};
    r.time.chosen = is_chosen(of);
    configuration_text(of, r.time.configuration, sizeof r.time.configuration);
    snprintf(r.status, sizeof r.status, "%s", out->r.status);
    snprintf(r.reason, sizeof r.reason, "%s", out->r.reason ? out->r.reason : "");
    sweep_tell(a, &r);
}

/* Records keep no folders: those may name people. */
static int tell_refused(const assignment *a, spmv_status status, const char *reason) {
    const char *path = a->sweep->source[a->m].path;
    size_t folder = (size_t)(base_name(path) - path);
    if (strncmp(reason, path, folder) == 0) reason += folder;
    report r = {.kind = REFUSED};
    snprintf(r.status, sizeof r.status, "%s",
             status == SPMV_E_NOMEM || status == SPMV_E_TOOBIG ? "out of memory" : "failed");
    spell(*reason ? reason : spmv_strerror(status), r.reason, sizeof r.reason);
    sweep_tell(a, &r);
    return spmv_exit_code(status);
}

/* The parent's session with the assignment's cells alone. */
static int take_cells(const assignment *a, session *run) {
    static options calm; /* the parent talks; complaints are heard all the same */
    calm = *a->sweep->run.o;
    calm.quiet = true;
    calm.progress = false;
    *run = a->sweep->run;
    run->o = &calm;
    run->pass = a->pass;
    run->ncells = a->count;
    run->cell = calloc((size_t)a->count, sizeof *run->cell);
    run->sweep_cell = calloc((size_t)a->count, sizeof *run->sweep_cell);
    if (!run->cell || !run->sweep_cell) return complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < a->count; k++) {
        run->cell[k] = a->sweep->run.cell[a->cells[k]];
        cell_identity(a->sweep, a->pass, a->m, a->cells[k], run->sweep_cell[k]);
    }
    machine_read(&run->machine); /* the time of these records */
    return 0;
}

int measure_cells(const assignment *a) {
    session run;
    spmv_mat *mat = NULL;
    report read = {.kind = READ, .stats = SPMV_OPTS(spmv_stats)};
    const options *o = a->sweep->run.o;
    const char *path = a->sweep->source[a->m].path;
    int code = take_cells(a, &run);
    if (!code) code = open_devices(&run);
    if (code) return code;
    spmv_load_opts opts = {.size = sizeof opts,
                           .seed = o->seed,
                           .values = strncmp(path, "gen:", 4) == 0 ? o->values : NULL};
    spmv_status status = spmv_mat_load(run.ctx, path, &opts, &mat);
    if (status == SPMV_OK) status = spmv_mat_stats(mat, &read.stats);
    if (status != SPMV_OK) return tell_refused(a, status, in_options(spmv_ctx_error(run.ctx)));
    snprintf(read.note, sizeof read.note, "%s", spmv_ctx_note(run.ctx));
    sweep_tell(a, &read);
    run.watch = (watcher){(void *)(uintptr_t)a, tell_step, tell_finished};
    return run_on(&run, mat, path);
}

int record_failures(const assignment *a, const spmv_stats *stats, const char *status,
                    const char *reason) {
    session run;
    const source *from = &a->sweep->source[a->m];
    int code = take_cells(a, &run);
    if (!code) code = open_devices(&run);
    for (int k = 0; k < run.ncells && !code; k++) {
        static result out; /* large */
        inputs in = {.name = from->name, .source = base_name(from->path), .stats = stats};
        candidate none = {.cell = k};
        const ranks_team team = ranks_team_asked(run.o, run.cell[k].ranks);
        run.team = team.count > 1 ? &team : NULL;
        out = (result){.alias = NULL};
        snprintf(out.reason, sizeof out.reason, "%s", reason);
        describe_row(&run, &in, &none, status, &out);
        code = log_append(&run.log, record_fields(), &out.r);
        if (!code) {
            report r = {.kind = FINISHED,
                        .cell = a->cells[k],
                        .logged = run.log.file >= 0,
                        .time = {.median_s = NAN}};
            snprintf(r.status, sizeof r.status, "%s", status);
            snprintf(r.reason, sizeof r.reason, "%s", reason);
            sweep_tell(a, &r);
        }
    }
    return code;
}
