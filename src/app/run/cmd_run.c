/* cmd_run.c: spmv run: prepares, multiplies with, checks, times, checks again, logs and shows every
 * chosen kernel in every chosen configuration on every chosen matrix. */
#include "app/exit_codes.h"
#include "app/info/facts.h"
#include "app/info/thumbnail.h"
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/record.h"
#include "app/record/write_csv.h"
#include "app/record/write_jsonl.h"
#include "app/record/write_table.h"
#include "app/run/limits/knee.h"
#include "app/run/limits/reads_of_x.h"
#include "app/run/results/describe.h"
#include "app/run/results/export.h"
#include "app/run/results/notes.h"
#include "app/run/results/ranking.h"
#include "app/run/results/result.h"
#include "app/run/results/scaling.h"
#include "app/run/timing/rounds.h"
#include "cmd_run.h"
#include "inputs.h"
#include "session.h"
#include "spmv_clock.h"
#include "spmv_host.h"
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cmd_run(const options *o, const spmv_backend *backend);

/* ---- one matrix ----------------------------------------------------------------------------- */

static void show_progress(void *arg, double done) {
    enum { WIDTH = 30 };
    const double *start = arg;
    if (spmv_now() - *start < 1) return; /* no bar for short readings */
    int full = (int)(done * WIDTH);
    say("\rreading [%.*s%*s] %3.0f %%", full, "##############################", WIDTH - full, "",
        100 * done);
    if (done >= 1) say("\r\033[K");
}

/* Returns the bytes of cache that the built-in matrix must exceed: a GPU's as it says, a host's as
 * measured. */
static double cache_to_exceed(const session *run) {
    double llc = (double)(run->machine.llc > 0 ? run->machine.llc : 0), knee = 0;
    spmv_device_facts facts;
    if (!run->backend->host && spmv_ctx_describe(run->ctx, run->backend, &facts) == SPMV_OK)
        return (double)facts.l2;
    for (int b = 0; spmv_backends[b]; b++)
        if (spmv_backends[b] == run->backend && run->rated[b] && !(run->rates[b].others > 0))
            knee = (double)knee_of(&run->rates[b]);
    if (knee == 0) knee = (double)knee_now((size_t)llc, spmv_ctx_threads(run->ctx));
    if (run->o->verbose && 4 * knee < llc)
        say("  note: the processor reports %.0f MB of cache, but reads get slow beyond %.0f MB: "
            "the matrix is larger than that\n",
            1e-6 * llc, 1e-6 * knee);
    return knee;
}

/* A 3-D Poisson matrix whose CSR arrays are four times the cache, cut down to what two threads go
 * through in some tens of milliseconds and to a quarter of free memory, at about 60 bytes per
 * nonzero (entries, canonical CSR, one format). */
static void default_matrix(session *run, char *out, size_t size) {
    static const int edges[] = {96, 112, 128, 160, 192, 256, 320, 384};
    enum { LEAST = 96, NEVER_TOO_SLOW = 128, PER_THREAD = 2 << 20 /* nonzeros */ };
    double least = 4 * cache_to_exceed(run), threads = spmv_ctx_threads(run->ctx);
    int n = LEAST;
    for (size_t k = 0; k < sizeof edges / sizeof *edges && 12 * 7.0 * n * n * n < least; k++) {
        double nnz = 7.0 * edges[k] * edges[k] * edges[k];
        if (run->backend->host && edges[k] > NEVER_TOO_SLOW && nnz > PER_THREAD * threads) break;
        n = edges[k];
    }
    while (n > 16 && 60 * 7.0 * n * n * n > 0.25 * (double)spmv_host_free_bytes()) n /= 2;
    snprintf(out, size, "gen:poisson3d:%d", n);
}

spmv_load_opts load_options(const session *run, const char *source, double *start) {
    *start = spmv_now();
    spmv_load_opts opts = {
        .size = sizeof opts, .seed = run->o->seed, .values = run->o->values, .progress_arg = start};
    if (run->o->progress && !run->o->quiet) opts.progress = show_progress;
    if (strcmp(source, "-") == 0 && isatty(STDIN_FILENO) && !run->o->quiet)
        say("reading a matrix from the terminal: Ctrl-D ends it\n");
    return opts;
}

int load_matrix(session *run, const char *source, spmv_mat **mat) {
    double start;
    const spmv_load_opts opts = load_options(run, source, &start);
    spmv_status status = spmv_mat_load(run->ctx, source, &opts, mat);
    return status == SPMV_OK ? 0 : complain(status, spmv_ctx_error(run->ctx));
}

static void count_text(double n, char *out, size_t size) {
    if (n < 1e4)
        snprintf(out, size, "%.0f", n);
    else if (n < 1e6)
        snprintf(out, size, "%.1f k", n * 1e-3);
    else
        snprintf(out, size, "%.2f M", n * 1e-6);
}

void introduce_matrix(session *run, const char *name, const spmv_stats *s, bool built_in) {
    char rows[32], cols[32], nnz[32], stored[64] = "", took[48] = "";
    if (run->o->quiet) return;
    count_text((double)s->rows, rows, sizeof rows);
    count_text((double)s->cols, cols, sizeof cols);
    count_text((double)s->nnz, nnz, sizeof nnz);
    if (s->symmetry != SPMV_GENERAL)
        snprintf(stored, sizeof stored, " (%s, %lld stored in the file)",
                 symmetry_name(s->symmetry), (long long)s->nnz_file);
    if (!built_in)
        snprintf(took, sizeof took, ", %s in %.2f s",
                 strncmp(name, "gen:", 4) == 0 ? "made" : "read", s->read_s + s->build_s);
    say("matrix %s%s  %s x %s, %s nonzero%s%s%s\n", name, built_in ? " (built in)" : "", rows, cols,
        nnz, s->nnz == 1 ? "" : "s", stored, took);
    if (s->duplicates)
        say("  note: duplicate entries, which were summed: %lld\n", (long long)s->duplicates);
    if (s->explicit_zeros)
        say("  note: stored zeros, kept as nonzeros: %lld\n", (long long)s->explicit_zeros);
}

int show_results(session *run, result *results, int n) {
    if (strcmp(run->o->format, "table") == 0) {
        table_row *rows = calloc((size_t)n, sizeof *rows);
        if (!rows) return complain(SPMV_E_NOMEM, NULL);
        int shown = 0;
        for (int k = 0; k < n; k++)
            if (results[k].finished)
                rows[shown++] = (table_row){&results[k].r, results[k].alias,
                                            &results[fewest_threads(run, k)].r};
        /* Lines to export stand alone in a file or pipe. */
        const bool alone = run->o->export && run->output == stdout && !isatty(STDOUT_FILENO);
        FILE *to = alone ? stderr : run->output;
        if (!alone || !run->o->quiet)
            table_write(to, rows, shown, run->o->stat, run->o->color && to == stdout,
                        run->o->verbose);
        fflush(to); /* what follows on stderr is about it */
        if (!run->o->quiet) explain_results(run, results, n, table_is_blurred(rows, shown));
        free(rows);
        return 0;
    }
    for (int k = 0; k < n; k++) {
        if (!results[k].finished) continue;
        if (strcmp(run->o->format, "csv") == 0) {
            csv_write(run->output, record_fields(), &results[k].r, !run->wrote_csv_header);
            run->wrote_csv_header = true;
            continue;
        }
        int code = jsonl_print(run->output, record_fields(), &results[k].r);
        if (code) return code;
    }
    fflush(run->output); /* a signal while the next matrix is read must not take it along */
    return 0;
}

/* Says what was said of an earlier row, too. */
static bool is_repeated(const result *results, int k) {
    int j = 0;
    while (j < k && !(results[j].finished && results[j].r.config_reason &&
                      strcmp(results[j].r.config_reason, results[k].r.config_reason) == 0))
        j++;
    return j < k;
}

/* Says why auto chose what the table names: the first of its reasons, all of them with -v. */
static void say_reason(const session *run, const record *r) {
    const char *reason = r->config_reason;
    const size_t name = strlen(r->config_kernel);
    const bool begins =
        strncmp(reason, r->config_kernel, name) == 0 && strncmp(reason + name, ": ", 2) == 0;
    if (run->o->verbose)
        say("  auto: %s\n", reason);
    else {
        if (begins) reason += name + 2;
        const size_t first = strcspn(reason, ";");
        const char *kept = strstr(reason + first, " (remembered from ");
        say("  auto: %.*s%s\n", (int)first, reason, kept ? kept : "");
    }
}

/* Says under the table why auto chose what it chose, and what of its time is in no figure there. */
static void show_choices(const session *run, const result *results, int n) {
    const double least_s = run->o->verbose ? 1e-4 : 1e-2;
    for (int k = 0; k < n; k++) {
        const record *r = &results[k].r;
        if (!results[k].finished || !r->config_reason || strcmp(r->status, "wrong") == 0) continue;
        if (run->o->export) export_choice(run->o->export, r, run->output);
        if (run->o->quiet) continue;
        if (!is_repeated(results, k)) say_reason(run, r);
        if (r->prep_once_s >= least_s)
            say("  auto: not included in prep: %.1f ms that a process spends once\n",
                1e3 * r->prep_once_s);
    }
}

static int run_cells(session *run, spmv_mat *mat, inputs *in) {
    int finished = 0;
    result *results = calloc((size_t)run->ncells, sizeof *results);
    if (!results) return complain(SPMV_E_NOMEM, NULL);
    int code = run_rounds(run, mat, in, results);
    for (int k = 0; k < run->ncells; k++) {
        finished += results[k].finished;
        if (!results[k].finished) results[k].r.status = NULL;
    }
    if (finished && !run->watch.arg) {
        rank_results(results, run->ncells); /* of all groups */
        int shown = show_results(run, results, run->ncells);
        show_choices(run, results, run->ncells);
        say_winners(run, results, run->ncells);
        if (!code) code = shown;
    }
    if (code > 128 && !run->o->quiet && !run->watch.arg)
        say("spmv: interrupted; %d of %d rows of this matrix were measured, until then\n", finished,
            run->ncells);
    for (int k = 0; k < run->ncells; k++) free(results[k].samples);
    free(results);
    return code;
}

/* One pass over the entries, so only for those who keep it. */
void draw_thumbnail(const session *run, const spmv_mat *mat, inputs *in) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    if (run->log.file < 0 && strcmp(run->o->format, "table") == 0) return;
    if (spmv_mat_rows(mat, &A) == SPMV_OK) thumbnail_of(&A, in->thumbnail);
}

/* Only for limits that are known. */
static int look_at_x(const session *run, const spmv_mat *mat, inputs *in) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_mat *turned = NULL;
    bool rated = false;
    for (int b = 0; spmv_backends[b]; b++) rated |= run->rated[b];
    spmv_status status = SPMV_OK;
    if (rated && run->o->op == SPMV_TRANSPOSE) status = transpose_of(run->ctx, mat, &turned);
    if (status == SPMV_OK) status = spmv_mat_rows(turned ? turned : mat, &A);
    if (status == SPMV_OK && rated && !find_reads_of_x(&A, &in->reads)) status = SPMV_E_NOMEM;
    const int code = status == SPMV_OK ? 0 : complain(status, spmv_ctx_error(run->ctx));
    spmv_mat_free(turned);
    return code;
}

int run_on(session *run, spmv_mat *mat, const char *source) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    char name[256];
    matrix_name(source, run->o->values, name, sizeof name);
    spmv_status status = spmv_mat_stats(mat, &stats);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(run->ctx));
    const bool turned = run->o->op == SPMV_TRANSPOSE;
    inputs in = {.name = name,
                 .source = base_name(source),
                 .stats = &stats,
                 .rows = turned ? stats.cols : stats.rows,
                 .cols = turned ? stats.rows : stats.cols,
                 .vectors = most_vectors(run->o)};
    int code = check_room(&in);
    if (!code) code = load_x(run, &in);
    if (!code) draw_thumbnail(run, mat, &in);
    if (!code) code = look_at_x(run, mat, &in);
    if (!code) code = run_cells(run, mat, &in);
    inputs_free(&in);
    return code;
}

/* Tables without what is said of their matrices need a name each. */
static void name_table(const session *run, const char *name) {
    const options *o = run->o;
    if (o->quiet && o->nmatrices > 1 && strcmp(o->format, "table") == 0 && !o->export)
        fprintf(run->output, "%s\n", name);
}

static int run_matrix(session *run, const char *source, bool built_in) {
    spmv_mat *mat = NULL;
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    char name[256];
    int code = load_matrix(run, source, &mat);
    if (code) return code;
    matrix_name(source, run->o->values, name, sizeof name);
    spmv_mat_stats(mat, &stats);
    introduce_matrix(run, name, &stats, built_in);
    say_note(spmv_ctx_note(run->ctx), run->o->quiet);
    if (run->o->write_file && spmv_mat_save(mat, run->o->write_file) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    name_table(run, name);
    if (!code) code = run_on(run, mat, source);
    spmv_mat_free(mat);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

int run_exit_code(const session *r) {
    if (r->nwrong) return EXIT_WRONG;
    if (r->nfailed) return r->nfailed == 1 && r->ncells == 1 ? r->last_failure : EXIT_SOME_FAILED;
    return r->nok || !r->nskipped ? 0 : EXIT_SOME_FAILED;
}

/* Fails early if the build cannot write the format: the products may take long. */
int check_format(const options *o) {
    record empty;
    if (strcmp(o->format, "jsonl") != 0) return 0;
    record_clear(&empty);
    return jsonl_print(NULL, record_fields(), &empty);
}

static int open_session(session *r) {
    int code = check_format(r->o);
    if (!code) code = choose_session(r);
    if (!code) code = open_devices(r);
    return code ? code : open_outputs(r);
}

int open_outputs(session *r) {
    const int code = log_open(r->o, &r->machine, &r->log);
    if (code || !r->o->output_file) return code;
    r->output = fopen(r->o->output_file, "w");
    if (r->output) return 0;
    r->output = stdout;
    char what[1200];
    snprintf(what, sizeof what, "%s: %s", r->o->output_file, strerror(errno));
    return complain(SPMV_E_WRITE, what);
}

void run_introduce(const session *r) {
    record build;
    record_clear(&build);
    record_build(&build);
    const int threads = spmv_ctx_threads(r->ctx);
    const bool is_unasked = r->log.file < 0 && !r->o->no_log && !r->o->log;
    say("spmv %s (%s%s) %s, %s, %d thread%s%s%s\n", build.build_version,
        build.build_commit ? build.build_commit : "no commit", build.build_dirty == 1 ? "+" : "",
        r->backend->name, *r->machine.cpu ? r->machine.cpu : "unknown CPU", threads,
        threads == 1 ? "" : "s",
        r->log.file >= 0 ? ", log "
        : is_unasked     ? ", not logged (--log=log)"
                         : "",
        r->log.file >= 0 ? r->log.path : "");
}

/* Threads wait for those that have no core: times become multiples of the scheduler's time slice.
 */
static void warn_of_noise(const session *r) {
    if (spmv_ctx_threads(r->ctx) > omp_get_num_procs())
        say("  note: %d threads share %d processors and wait for each other; -t %d gives each its "
            "own\n",
            spmv_ctx_threads(r->ctx), omp_get_num_procs(), omp_get_num_procs());
}

void run_conclude(const session *r) {
    if (r->o->verbose && r->log.records) log_say(r->o, &r->log);
    if (r->nwrong)
        say("spmv: %d WRONG result%s: see the table\n", r->nwrong, r->nwrong == 1 ? "" : "s");
}

static int run_built_in(session *run) {
    char name[64];
    default_matrix(run, name, sizeof name);
    return run_matrix(run, name, true);
}

/* A user who names no kernel wants to see a table soon, who names no matrix wants to see what the
 * program does at all. */
static options in_haste(const options *asked) {
    options o = *asked;
    if (options_given(asked, "min-time") || options_given(asked, "max-time")) return o;
    if (o.nmatrices == 0)
        o.sampling.min_time_s = 0.1, o.sampling.max_time_s = 0.5;
    else if (!o.kernels)
        o.sampling.max_time_s = 1;
    return o;
}

static int run_matrices(session *run) {
    const options *asked = run->o, hasty = in_haste(asked);
    int code = 0;
    run->o = &hasty;
    if (hasty.nmatrices == 0) code = run_built_in(run);
    for (int k = 0; k < hasty.nmatrices && !code; k++)
        code = run_matrix(run, hasty.matrices[k], false);
    run->o = asked;
    return code;
}

int close_output(session *run, int code) {
    char what[1024];
    const bool lost = ferror(run->output);
    errno = 0;
    if (fclose(run->output) == 0 && !lost) return code;
    snprintf(what, sizeof what, "%s: cannot be written: %s", run->o->output_file,
             errno ? strerror(errno) : "is the disk full?");
    return code ? code : complain(SPMV_E_WRITE, what);
}

int cmd_run(const options *o, const spmv_backend *backend) {
    session run = {.o = o, .backend = backend, .output = stdout, .log = {.file = -1}};
    if (o->topic) {
        say("spmv: run: unexpected argument '%s'; -m names a matrix\n", o->topic);
        return EXIT_USAGE;
    }
    int code = open_session(&run);
    if (!code && !o->quiet) {
        run_introduce(&run);
        warn_of_noise(&run);
    }
    if (!code) code = run_matrices(&run);
    if (!o->quiet) run_conclude(&run);
    if (run.output != stdout) code = close_output(&run, code);
    if (!code) code = run_exit_code(&run);
    close_session(&run);
    return code;
}
