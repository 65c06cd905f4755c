/* cmd_run.c: spmv run: every chosen kernel in every chosen configuration on every chosen matrix:
 * prepare, multiply, check, time, check again, log, show. */
#include "session.h"
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <time.h>

int cmd_run(const options *o, const spmv_backend *backend);

/* True: the result is right. */
static bool check(session *run, result *out, const inputs *in, spmv_precision precision,
                  const void *y, const char *stage) {
    record *r = &out->r;
    if (!run->o->verify) {
        r->check_status = "off";
        return true;
    }
    verdict v = oracle_check(&in->oracle_of[precision], precision, run->o->alpha, run->o->beta,
                             in->y0_of[precision], y);
    r->check_status = v.bad_rows ? "wrong" : "ok";
    r->check_reference = "coo-extended";
    r->check_bound = "2 (n_i + 2) u (|alpha| |A| |x| + |beta| |y|)_i";
    if (!(r->check_max_ratio > v.max_ratio)) r->check_max_ratio = v.max_ratio;
    r->check_bad_rows = v.bad_rows;
    if (!v.bad_rows) return true;
    r->check_first_bad_row = v.first_bad_row;
    r->check_stage = stage;
    r->status = "wrong";
    snprintf(out->reason, sizeof out->reason,
             "%lld of %lld rows differ in the %s product, first row %lld (from 0): got %.17g, "
             "expected %.17g",
             (long long)v.bad_rows, (long long)in->rows, stage, (long long)v.first_bad_row, v.got,
             v.expected);
    r->reason = out->reason;
    return false;
}

static void fail_row(session *run, result *out, spmv_status status) {
    bool skipped = status == SPMV_E_TOOBIG || status == SPMV_E_UNSUITABLE;
    out->r.status = skipped ? "skipped" : "failed";
    snprintf(out->reason, sizeof out->reason, "%s",
             *spmv_ctx_error(run->ctx) ? spmv_ctx_error(run->ctx) : spmv_strerror(status));
    out->r.reason = out->reason;
    if (!skipped) run->last_failure = spmv_exit_code(status);
}

/* ---- one cell ------------------------------------------------------------------------------- */

static spmv_status save_y(session *run, const inputs *in, spmv_precision precision, const void *y) {
    double *wide = malloc((size_t)(in->rows ? in->rows : 1) * sizeof *wide);
    if (!wide) return SPMV_E_NOMEM;
    for (int64_t i = 0; i < in->rows; i++)
        wide[i] = precision == SPMV_F64 ? ((const double *)y)[i] : (double)((const float *)y)[i];
    spmv_status status = spmv_vector_save(run->ctx, run->o->y_file, in->rows, wide);
    free(wide);
    run->wrote_y = status == SPMV_OK;
    return status;
}

static spmv_status multiply(session *run, const cell *c, const inputs *in, const spmv_plan *plan,
                            result *out) {
    problem p = {.plan = plan,
                 .precision = c->precision,
                 .rows = in->rows,
                 .cols = in->cols,
                 .alpha = run->o->alpha,
                 .beta = run->o->beta,
                 .x = in->x_of[c->precision],
                 .y0 = in->y0_of[c->precision]};
    timing t = {0};
    void *y = malloc((size_t)(in->rows ? in->rows : 1) * sizeof(double));
    spmv_status status = y ? problem_open(&p) : SPMV_E_NOMEM;
    out->r.prep_vectors_s = p.vectors_s;
    if (status == SPMV_OK) status = problem_once(&p, y);
    if (status == SPMV_OK && check(run, out, in, c->precision, y, "first")) {
        if (run->o->y_file && !run->wrote_y) status = save_y(run, in, c->precision, y);
        if (status == SPMV_OK) status = problem_time(&p, run->o, &t, y);
        if (status == SPMV_OK && check(run, out, in, c->precision, y, "last")) {
            out->r.status = "ok";
            describe_timing(out, &t);
        } else {
            free(t.sample_s);
        }
    }
    problem_close(&p);
    free(y);
    return status;
}

/* Nonzero: the run must stop (a usage error, no device, y that cannot be written). */
static int run_cell(session *run, const cell *c, spmv_mat *mat, inputs *in, result *out) {
    spmv_plan *plan = NULL;
    int code = make_precision(run, mat, in, c->precision);
    if (code) return code;
    snprintf(out->kernel, sizeof out->kernel, "%s:%s", c->kernel.backend->name,
             descriptor(c->kernel)->name);
    spmv_plan_opts opts = {.size = sizeof opts,
                           .kernel = out->kernel,
                           .precision = c->precision,
                           .offset_bits = run->o->offset_bits,
                           .max_bytes = run->o->max_mem,
                           .settings = c->setting,
                           .nsettings = c->nsettings,
                           .expected_calls = run->o->iters,
                           .nondeterministic = run->o->nondeterministic};
    spmv_status status = SPMV_OK;
    if (in->infinite[c->precision] && descriptor(c->kernel)->traits & SPMV_PADS &&
        out->r.config_rowlens != 1) {
        snprintf(out->reason, sizeof out->reason,
                 "x holds infinity or NaN, and padding multiplies 0 by it%s",
                 out->r.config_rowlens == 0 ? ": use --rowlens=on" : "");
        out->r.status = "skipped";
        out->r.reason = out->reason;
        return 0;
    }
    status = spmv_plan_create(mat, &opts, &plan);
    if (status == SPMV_E_ARG || status == SPMV_E_BACKEND)
        return complain(status, spmv_ctx_error(run->ctx));
    if (status == SPMV_OK) {
        describe_choice(run, out, c, plan);
        describe_plan(run, &out->r, plan, in, c->precision);
        status = multiply(run, c, in, plan, out);
    }
    spmv_plan_free(plan);
    if (status == SPMV_E_WRITE) return complain(status, spmv_ctx_error(run->ctx));
    if (status != SPMV_OK) fail_row(run, out, status);
    return 0;
}

/* ---- one matrix ----------------------------------------------------------------------------- */

static void show_progress(void *arg, double done) {
    enum { WIDTH = 30 };
    struct timespec now, *start = arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start->tv_sec < 1) return; /* no bar for what is over at once */
    int full = (int)(done * WIDTH);
    say("\rreading [%.*s%*s] %3.0f %%", full, "##############################", WIDTH - full, "",
        100 * done);
    if (done >= 1) say("\r%60s\r", "");
}

/* A 3-D Poisson matrix whose CSR arrays are four times the last-level cache, cut down to a quarter
 * of free memory at about 60 bytes an entry (entries, hub, one format). */
static void default_matrix(session *run, char *out, size_t size) {
    static const int edges[] = {128, 160, 192, 256, 320, 384};
    int n = edges[0];
    double llc = (double)(run->machine.llc > 0 ? run->machine.llc : 0);
    spmv_device_facts facts;
    if (!run->backend->host && spmv_ctx_describe(run->ctx, run->backend, &facts) == SPMV_OK &&
        (double)facts.l2 > llc)
        llc = (double)facts.l2;
    for (size_t k = 0; k < sizeof edges / sizeof *edges && 12 * 7.0 * n * n * n < 4 * llc; k++)
        n = edges[k];
    while (n > 16 && 60 * 7.0 * n * n * n > 0.25 * (double)spmv_omp.free_bytes(NULL)) n /= 2;
    snprintf(out, size, "gen:poisson3d:%d", n);
}

static int load_matrix(session *run, const char *source, spmv_mat **mat) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    spmv_load_opts opts = {.size = sizeof opts,
                           .seed = run->o->seed,
                           .values = run->o->values,
                           .progress_arg = &start};
    if (run->o->progress && !run->o->quiet) opts.progress = show_progress;
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

static void introduce_matrix(session *run, const char *name, const spmv_stats *s, bool built_in) {
    char rows[32], cols[32], nnz[32], stored[64] = "";
    if (run->o->quiet) return;
    count_text((double)s->rows, rows, sizeof rows);
    count_text((double)s->cols, cols, sizeof cols);
    count_text((double)s->nnz, nnz, sizeof nnz);
    if (s->symmetry != SPMV_GENERAL)
        snprintf(stored, sizeof stored, " (%s, %lld stored in the file)",
                 symmetry_name(s->symmetry), (long long)s->nnz_file);
    say("matrix %s%s  %s x %s, %s nonzeros%s, %s in %.2f s\n", name,
        built_in ? " (built in; -m FILE for yours)" : "", rows, cols, nnz, stored,
        strncmp(name, "gen:", 4) == 0 ? "made" : "read", s->read_s + s->build_s);
    if (s->duplicates)
        say("  note: duplicate entries, summed into one a place: %lld\n", (long long)s->duplicates);
    if (s->explicit_zeros)
        say("  note: stored zeros, kept as nonzeros: %lld\n", (long long)s->explicit_zeros);
}

static void count_status(session *run, const record *r) {
    int *counter = strcmp(r->status, "ok") == 0        ? &run->nok
                   : strcmp(r->status, "wrong") == 0   ? &run->nwrong
                   : strcmp(r->status, "skipped") == 0 ? &run->nskipped
                                                       : &run->nfailed;
    ++*counter;
}

/* Single precision moves half the bytes: each precision has a best of its own. */
static bool is_best(const result *results, int n, int k) {
    const record *r = &results[k].r;
    if (strcmp(r->status, "ok") != 0) return false;
    for (int j = 0; j < n; j++) {
        const record *other = &results[j].r;
        bool rival = strcmp(other->status, "ok") == 0 &&
                     strcmp(other->config_precision, r->config_precision) == 0;
        if (rival && (other->timing_median_s < r->timing_median_s ||
                      (other->timing_median_s == r->timing_median_s && j < k)))
            return false;
    }
    return true;
}

static int show_results(session *run, result *results, int n) {
    if (strcmp(run->o->format, "table") == 0) {
        table_row *rows = calloc((size_t)n, sizeof *rows);
        if (!rows) return complain(SPMV_E_NOMEM, NULL);
        for (int k = 0; k < n; k++)
            rows[k] = (table_row){&results[k].r, results[k].alias, is_best(results, n, k)};
        table_write(run->output, rows, n, run->o->color && run->output == stdout);
        free(rows);
        return 0;
    }
    for (int k = 0; k < n; k++) {
        char *line = NULL;
        if (strcmp(run->o->format, "csv") == 0) {
            csv_write(run->output, record_fields(), &results[k].r, !run->wrote_csv_header);
            run->wrote_csv_header = true;
            continue;
        }
        spmv_status status = jsonl_format(record_fields(), &results[k].r, &line);
        if (status != SPMV_OK)
            return complain(
                status,
                "--format=jsonl is not built in: install libjansson-dev (Debian) or jansson-devel "
                "(Fedora), then make again");
        fputs(line, run->output);
        free(line);
    }
    return 0;
}

/* Under the table: why auto chose what it chose. */
static void show_choices(const session *run, const result *results, int n) {
    if (run->o->quiet) return;
    for (int k = 0; k < n; k++)
        if (results[k].r.config_reason) say("  auto: %s\n", results[k].r.config_reason);
}

static int run_cells(session *run, spmv_mat *mat, inputs *in, const char *name,
                     const char *source) {
    int code = 0, done = 0;
    spmv_stats stats;
    const char *format = NULL;
    result *results = calloc((size_t)run->ncells, sizeof *results);
    if (!results) return complain(SPMV_E_NOMEM, NULL);
    spmv_mat_stats(mat, &stats);
    for (int k = 0; k < run->ncells && !code; k++) {
        const cell *c = &run->cell[k];
        result *out = &results[k];
        /* One format at a time: the next one may need the room. */
        if (format && strcmp(format, descriptor(c->kernel)->format) != 0) spmv_mat_drop_stores(mat);
        format = descriptor(c->kernel)->format;
        record_clear(&out->r);
        describe_matrix(out, &stats, name, source);
        describe_machine(run, out, c->kernel);
        describe_config(run, out, c);
        if (run->o->progress && !run->o->quiet)
            say("\r%3d of %d: %-24s", k + 1, run->ncells, descriptor(c->kernel)->name);
        code = run_cell(run, c, mat, in, out);
        if (run->o->progress && !run->o->quiet) say("\r%40s\r", "");
        if (code) break;
        done = k + 1;
        describe_key(out);
        count_status(run, &out->r);
        if (!run->o->quiet && run->o->verbose)
            say("  %s: %s\n", out->kernel, out->r.reason ? out->r.reason : out->r.status);
        code = log_append(&run->log, &out->r);
    }
    if (done) {
        int shown = show_results(run, results, done);
        show_choices(run, results, done);
        if (!code) code = shown;
    }
    for (int k = 0; k < run->ncells; k++) free(results[k].samples);
    free(results);
    return code;
}

/* One pass over the entries, so only for those who keep it. */
static void draw_thumbnail(const session *run, const spmv_mat *mat, inputs *in) {
    spmv_csr_view A;
    if (run->log.file < 0 && strcmp(run->o->format, "table") == 0) return;
    spmv_mat_rows(mat, &A);
    thumbnail_of(&A, in->thumbnail);
}

static int run_matrix(session *run, const char *source, bool built_in) {
    spmv_mat *mat = NULL;
    spmv_stats stats;
    inputs in = {0};
    char name[256];
    int code = load_matrix(run, source, &mat);
    if (code) return code;
    matrix_name(source, name, sizeof name);
    spmv_mat_stats(mat, &stats);
    introduce_matrix(run, name, &stats, built_in);
    in.rows = stats.rows;
    in.cols = stats.cols;
    if (run->o->write_file && spmv_mat_save(mat, run->o->write_file) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    if (!code) code = check_room(&in);
    if (!code) code = load_x(run, &in);
    if (!code) draw_thumbnail(run, mat, &in);
    if (!code) code = run_cells(run, mat, &in, name, base_name(source));
    inputs_free(&in);
    spmv_mat_free(mat);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int exit_code(const session *r) {
    if (r->nwrong) return EXIT_WRONG;
    if (r->nfailed) return r->nfailed == 1 && r->ncells == 1 ? r->last_failure : EXIT_SOME_FAILED;
    return r->nok || !r->nskipped ? 0 : EXIT_SOME_FAILED;
}

/* The devices first: a matrix may take long to read, and there may be no GPU to multiply it on. */
static int open_devices(session *run) {
    for (int k = 0; k < run->ncells; k++) {
        spmv_device_facts facts;
        spmv_status status = spmv_ctx_describe(run->ctx, run->cell[k].kernel.backend, &facts);
        if (status != SPMV_OK) return complain(status, spmv_ctx_error(run->ctx));
    }
    return 0;
}

/* Asked first: the products may take long. */
static int check_format(const options *o) {
    record empty;
    char *line = NULL;
    if (strcmp(o->format, "jsonl") != 0) return 0;
    record_clear(&empty);
    spmv_status status = jsonl_format(record_fields(), &empty, &line);
    free(line);
    if (status != SPMV_E_FEATURE) return 0;
    return complain(
        status, "--format=jsonl is not built in: install libjansson-dev (Debian) or jansson-devel "
                "(Fedora), then make again");
}

static int open_session(session *r) {
    spmv_ctx_opts opts = {.size = sizeof opts,
                          .backend = r->backend->name,
                          .device = r->o->device,
                          .threads = r->o->threads};
    if (spmv_ctx_create(&opts, &r->ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    if (r->backend->kernels == NULL) {
        char what[128];
        snprintf(what, sizeof what, "--backend=%s: not built in: %s", r->backend->name,
                 r->backend->hint);
        return complain(SPMV_E_BACKEND, what);
    }
    machine_read(&r->machine);
    r->argv = cut_paths(r->o->argc, r->o->argv);
    if (!r->argv) return complain(SPMV_E_NOMEM, NULL);
    int code = check_format(r->o);
    if (!code) code = choose_cells(r);
    if (!code) code = open_devices(r);
    if (!code) code = log_open(r->o, &r->machine, &r->log);
    if (code || !r->o->output_file) return code;
    r->output = fopen(r->o->output_file, "w");
    if (r->output) return 0;
    r->output = stdout;
    char what[1200];
    snprintf(what, sizeof what, "%s: %s", r->o->output_file, strerror(errno));
    return complain(SPMV_E_WRITE, what);
}

static void introduce(const session *r) {
    record build;
    record_clear(&build);
    record_build(&build);
    say("spmv %s (%s%s) %s, %s, %d threads\n", build.build_version,
        build.build_commit ? build.build_commit : "no commit", build.build_dirty == 1 ? "+" : "",
        r->backend->name, *r->machine.cpu ? r->machine.cpu : "unknown CPU",
        spmv_ctx_threads(r->ctx));
}

/* Threads that wait for a core spin on the others: times become multiples of the scheduler's turn.
 */
static void warn_of_noise(const session *r) {
    if (spmv_ctx_threads(r->ctx) > omp_get_num_procs())
        say("  note: %d threads on %d processors wait for each other: expect noise\n",
            spmv_ctx_threads(r->ctx), omp_get_num_procs());
}

static void conclude(const session *r) {
    if (r->log.records)
        say("logged %d record%s to %s\n", r->log.records, r->log.records == 1 ? "" : "s",
            r->log.path);
    if (r->nwrong)
        say("spmv: %d WRONG result%s: see the table\n", r->nwrong, r->nwrong == 1 ? "" : "s");
}

static int run_matrices(session *run) {
    char built_in[64];
    int code = 0;
    if (run->o->nmatrices == 0) {
        default_matrix(run, built_in, sizeof built_in);
        return run_matrix(run, built_in, true);
    }
    for (int k = 0; k < run->o->nmatrices && !code; k++)
        code = run_matrix(run, run->o->matrices[k], false);
    return code;
}

static void close_session(session *run) {
    for (int k = 0; run->argv && k < run->o->argc; k++) free(run->argv[k]);
    free(run->argv);
    free(run->cell);
    log_close(&run->log);
    spmv_ctx_free(run->ctx);
}

int cmd_run(const options *o, const spmv_backend *backend) {
    session run = {.o = o, .backend = backend, .output = stdout, .log = {.file = -1}};
    if (o->topic) {
        say("spmv: run takes no word '%s'; -m names a matrix\n", o->topic);
        return EXIT_USAGE;
    }
    for (const spmv_backend *const *b = spmv_backends; *b && o->backend; b++)
        if (strcmp((*b)->name, o->backend) == 0) run.backend = *b;
    int code = open_session(&run);
    if (!code && !o->quiet) {
        introduce(&run);
        warn_of_noise(&run);
    }
    if (!code) code = run_matrices(&run);
    if (!o->quiet) conclude(&run);
    if (run.output != stdout && fclose(run.output) != 0 && !code)
        code = complain(SPMV_E_WRITE, "cannot write the output file");
    if (!code) code = exit_code(&run);
    close_session(&run);
    return code;
}
