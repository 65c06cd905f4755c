/* sweep_plan.c: what spmv sweep goes through: matrices from folders, lists and gen:, a forecast of
 * time and memory, and what the log has of it already. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/ranks/launcher.h"
#include "app/ranks/run_ranks.h"
#include "app/record/record.h"
#include "app/record/write_jsonl.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/session.h"
#include "spmv_host.h"
#include "sweep.h"
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- matrices ------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *tail) {
    size_t n = strlen(s), m = strlen(tail);
    return n >= m && strcmp(s + n - m, tail) == 0;
}

static bool is_matrix_name(const char *path) {
    static const char *const suffixes[] = {".mtx",     ".mtx.gz", ".mtx.xz", ".mtx.zst",
                                           ".mtx.bz2", ".tar.gz", ".tgz"};
    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
        if (ends_with(path, suffixes[k])) return true;
    return strncmp(path, "gen:", 4) == 0;
}

static bool has_mode(const char *path, mode_t kind) {
    struct stat facts;
    return stat(path, &facts) == 0 && (facts.st_mode & S_IFMT) == kind;
}

static bool is_gone(const char *path) {
    return strncmp(path, "gen:", 4) != 0 && !has_mode(path, S_IFREG);
}

static int add_source(sweep *s, const char *path) {
    for (int m = 0; m < s->nsources; m++)
        if (strcmp(s->source[m].path, path) == 0) {
            if (!s->run.o->quiet)
                say("note: %s is named twice and measured once; --passes=N measures again\n", path);
            return 0;
        }
    source *grown = realloc(s->source, (size_t)(s->nsources + 1) * sizeof *grown);
    if (!grown) return complain(SPMV_E_NOMEM, NULL);
    s->source = grown;
    source *new = &grown[s->nsources++];
    *new = (source){.path = strdup(path), .about = SPMV_OPTS(spmv_stats)};
    spmv_status status;
    if (!new->path) return complain(SPMV_E_NOMEM, NULL);
    matrix_name(path, s->run.o->values, new->name, sizeof new->name);
    if (is_gone(path))
        snprintf(new->trouble, sizeof new->trouble, "no such file");
    else if ((status = spmv_mat_peek(s->run.ctx, path, &new->about)) == SPMV_OK)
        return 0;
    else if (strncmp(path, "gen:", 4) == 0 && status == SPMV_E_ARG) /* mistyped */
        return complain(status, spmv_ctx_error(s->run.ctx));
    else
        spell(in_options(spmv_ctx_error(s->run.ctx)), new->trouble, sizeof new->trouble);
    return 0;
}

static int refuse(const char *path, const char *why) {
    char what[1024];
    snprintf(what, sizeof what, "%s: %s", path, why);
    return complain(SPMV_E_IO, what);
}

/* Adds what a folder holds: what is there but cannot be read has its status, as a link that leads
 * nowhere. */
static int add_entry(sweep *s, const char *path) {
    if (has_mode(path, S_IFREG) || access(path, F_OK) != 0) return add_source(s, path);
    if (!s->run.o->quiet) say("note: %s is not a file and is left out\n", path);
    return 0;
}

static int add_folder(sweep *s, const char *folder) {
    struct dirent **entry;
    int code = 0, before = s->nsources, n = scandir(folder, &entry, NULL, alphasort);
    if (n < 0) return refuse(folder, strerror(errno));
    for (int k = 0; k < n; k++) {
        char path[4096];
        int length = snprintf(path, sizeof path, "%s%s%s", folder,
                              ends_with(folder, "/") ? "" : "/", entry[k]->d_name);
        if (!code && entry[k]->d_name[0] != '.' && is_matrix_name(entry[k]->d_name) &&
            length < (int)sizeof path)
            code = add_entry(s, path);
        free(entry[k]);
    }
    free(entry);
    if (!code && s->nsources == before)
        code = refuse(folder,
                      "no matrix in that folder (.mtx, .mtx.gz .xz .zst .bz2, .tar.gz); folders in "
                      "it are not searched");
    return code;
}

/* A path in a list is seen from the list's folder. */
static int add_line(sweep *s, const char *list_path, const char *line) {
    char path[4096];
    const char *base = base_name(list_path);
    bool as_it_is = *line == '/' || strncmp(line, "gen:", 4) == 0;
    if (snprintf(path, sizeof path, "%.*s%s", as_it_is ? 0 : (int)(base - list_path), list_path,
                 line) >= (int)sizeof path)
        return refuse(list_path, "a line is too long for a path: is this a list of matrices?");
    return has_mode(path, S_IFDIR) ? add_folder(s, path) : add_source(s, path);
}

static bool all_are_gone(const sweep *s, int first) {
    while (first < s->nsources && is_gone(s->source[first].path)) first++;
    return first == s->nsources;
}

/* One source per line; # begins a comment. A file that is gone has its line of the log; if all are
 * gone, the list was written for another place. */
static int add_list(sweep *s, const char *list_path) {
    char *line = NULL;
    size_t room = 0;
    int code = 0, before = s->nsources;
    FILE *file = has_mode(list_path, S_IFDIR) ? NULL : fopen(list_path, "r");
    if (!file) return refuse(list_path, strerror(errno));
    while (!code && getline(&line, &room, file) >= 0) {
        char *first = line + strspn(line, " \t\r\n"), *end = first + strcspn(first, "#\r\n");
        while (end > first && (end[-1] == ' ' || end[-1] == '\t')) end--;
        *end = 0;
        if (*first) code = add_line(s, list_path, first);
    }
    free(line);
    fclose(file);
    if (!code && s->nsources == before) code = refuse(list_path, "no matrix in that list");
    if (!code && all_are_gone(s, before))
        code = refuse(list_path, "none of its files is there; a path in a list is seen from the "
                                 "list's folder");
    return code;
}

static int add_word(sweep *s, const char *word) {
    if (has_mode(word, S_IFDIR)) return add_folder(s, word);
    if (strchr(word, ',') && (strstr(word, ",gen:") || access(word, F_OK) != 0))
        return refuse(word, "no such matrix; blanks, not commas, separate matrices");
    if (!is_matrix_name(word)) return add_list(s, word);
    if (is_gone(word)) return refuse(word, "no such file");
    return add_source(s, word);
}

int find_sources(sweep *s) {
    const options *o = s->run.o;
    int code = 0;
    for (int k = 0; k < o->nwords && !code; k++) code = add_word(s, o->words[k]);
    for (int k = 0; k < o->nmatrices && !code; k++) code = add_word(s, o->matrices[k]);
    if (code || s->nsources) return code;
    say("spmv: sweep: name a folder, a list of matrices or gen:, such as 'spmv sweep matrices/'\n");
    return EXIT_USAGE;
}

int spread_over_ranks(sweep *s) {
    session *run = &s->run;
    const list *counts = &run->o->ranks;
    const int each = run->ncells;
    bool several = false;
    for (int r = 0; r < counts->count; r++) several |= counts->value[r] > 1;
    if (counts->count == 0) return 0;
    cell *all = malloc((size_t)(each * counts->count) * sizeof *all);
    if (!all) return complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < each * counts->count; k++) {
        all[k] = run->cell[k % each];
        all[k].ranks = (int)counts->value[k / each];
    }
    free(run->cell);
    run->cell = all;
    run->ncells = each * counts->count;
    if (!several) return 0;
    const int code = ranks_check_options(run->o);
    if (code) return code;
    s->launcher = launcher_to_start();
    if (s->launcher) return 0;
    say("spmv: sweep: --ranks needs an MPI that this build has an exchange for, and its mpiexec: "
        "'make deps' installs both, then make again\n");
    return spmv_exit_code(SPMV_E_FEATURE);
}

void sweep_free(sweep *s) {
    for (int m = 0; m < s->nsources; m++) free(s->source[m].path);
    free(s->source);
    free(s->done);
    free(s->time);
}

/* ---- what is done --------------------------------------------------------------------------- */

static uint64_t mix_text(uint64_t h, const char *word) {
    for (; word && *word; word++) h = (h ^ (unsigned char)*word) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

static uint64_t mix_bytes(uint64_t h, const void *bytes, size_t n) {
    for (size_t k = 0; k < n; k++) h = (h ^ ((const unsigned char *)bytes)[k]) * 0x100000001b3u;
    return h;
}

static uint64_t mix_file(uint64_t h, const char *path) {
    struct stat facts;
    if (stat(path, &facts) != 0) return h;
    int64_t file[] = {facts.st_size, facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec};
    return mix_bytes(h, file, sizeof file);
}

static uint64_t mix_source(uint64_t h, const source *from, const options *o) {
    h = mix_text(h, base_name(from->path));
    if (strncmp(from->path, "gen:", 4) == 0) return mix_text(h, o->values);
    return mix_file(h, from->path);
}

static uint64_t mix_cell(uint64_t h, const cell *c) {
    h = mix_text(mix_text(h, c->kernel.backend->name), descriptor(c->kernel)->name);
    h = mix_text(h, c->precision == SPMV_F32 ? "f32" : "f64");
    h = mix_bytes(h, &c->vectors, sizeof c->vectors);
    h = mix_bytes(h, &c->layout, sizeof c->layout);
    if (c->threads) h = mix_bytes(h, &c->threads, sizeof c->threads);
    for (int k = 0; k < c->nsettings; k++)
        h = mix_bytes(mix_text(h, c->setting[k].name), &c->setting[k].value,
                      sizeof c->setting[k].value);
    return h;
}

/* Mixes in how ranks divide a matrix and what carries x; a file of ranks as the matrix's is. */
static uint64_t mix_ranks(uint64_t h, const sweep *s, int k) {
    const options *o = s->run.o;
    h = mix_bytes(h, &s->run.cell[k].ranks, sizeof s->run.cell[k].ranks);
    h = mix_text(mix_text(h, s->launcher), overlap_names[o->overlap]);
    h = mix_text(h, halo_names[o->halo]);
    return mix_file(mix_text(h, base_name(o->partition)), o->partition);
}

void cell_identity(const sweep *s, int pass, int m, int k, char *out) {
    const session *run = &s->run;
    const options *o = run->o;
    const sampling how = sampling_in(o, run->cell[k].cache);
    record build;
    record_clear(&build);
    record_build(&build);
    const char *part[] = {
        run->machine.hostname, run->machine.cpu,      build.build_commit, build.build_cflags,
        build.build_nvcc,      build.build_nvccflags, o->x_file};
    const double reals[] = {o->alpha, o->beta, how.min_time_s, how.max_time_s, how.max_noise};
    const int64_t wholes[] = {pass,
                              o->device,
                              spmv_ctx_threads(run->ctx),
                              o->iters,
                              how.cache,
                              o->offset_bits,
                              (int64_t)o->max_mem,
                              (int64_t)o->seed,
                              how.min_samples,
                              o->nondeterministic + 2 * o->reproducible,
                              o->op,
                              o->verify};
    uint64_t h = mix_source(0xcbf29ce484222325u, &s->source[m], o);
    if (build.build_dirty != 0)
        h = mix_file(h, "/proc/self/exe"); /* the commit does not identify it */
    h = mix_cell(h, &run->cell[k]);
    if (is_over_ranks(s, k)) h = mix_ranks(h, s, k);
    if (o->wisdom) h = mix_text(h, o->wisdom);
    for (size_t t = 0; t < sizeof part / sizeof *part; t++) h = mix_text(h, part[t]);
    h = mix_bytes(mix_bytes(h, reals, sizeof reals), wholes, sizeof wholes);
    snprintf(out, 20, "%016llx", (unsigned long long)h);
}

static int by_text(const void *a, const void *b) {
    return strcmp(a, b);
}

static int read_log(FILE *file, logged_cell **out, size_t *count) {
    char *line = NULL;
    size_t room = 0, capacity = 0;
    while (getline(&line, &room, file) >= 0) {
        logged_cell found = {.cell = ""};
        if (!strstr(line, "\"sweep\"") || !jsonl_sweep_cell(line, &found)) continue;
        if (*count == capacity) {
            logged_cell *grown = realloc(*out, (capacity = 2 * capacity + 64) * sizeof *grown);
            if (!grown) return complain(SPMV_E_NOMEM, NULL);
            *out = grown;
        }
        (*out)[(*count)++] = found;
    }
    free(line);
    if (*count) qsort(*out, *count, sizeof **out, by_text);
    return 0;
}

static bool is_answer(const char *status) {
    return strcmp(status, "ok") == 0 || strcmp(status, "wrong") == 0 ||
           strcmp(status, "skipped") == 0;
}

static bool is_better(const logged_cell *a, const logged_cell *b) {
    bool a_answers = is_answer(a->status), b_answers = is_answer(b->status);
    return a_answers != b_answers ? a_answers
                                  : a_answers && b->time.unsettled && !a->time.unsettled;
}

/* The records of a cell; one that failed, or whose noise limit was not met, may have been tried
 * again. A run without time to measure has no noise limit. */
static void reuse(sweep *s, int place, const logged_cell *first, const logged_cell *end) {
    const logged_cell *best = first;
    bool timed = s->run.o->sampling.max_time_s > 0;
    for (const logged_cell *l = first; l < end && strcmp(l->cell, first->cell) == 0; l++)
        if (is_better(l, best)) best = l;
    if (s->run.o->retry && (!is_answer(best->status) || (timed && best->time.unsettled))) return;
    s->done[place] = true;
    s->time[place] = best->time;
    s->reused++;
    s->reused_wrong += strcmp(best->status, "wrong") == 0;
    s->reused_failed += !is_answer(best->status);
}

int find_done(sweep *s) {
    logged_cell *have = NULL;
    size_t count = 0;
    s->done = calloc((size_t)s->total, sizeof *s->done);
    s->time = calloc((size_t)s->total, sizeof *s->time);
    if (!s->done || !s->time) return complain(SPMV_E_NOMEM, NULL);
    for (int k = 0; k < s->total; k++) s->time[k].median_s = NAN;
    if (!s->run.o->resume) return 0;
    FILE *file = fopen(s->run.log.path, "r");
    int code = file ? read_log(file, &have, &count) : 0;
    if (file) fclose(file);
    for (int pass = 1; pass <= s->passes && count; pass++)
        for (int m = 0; m < s->nsources; m++)
            for (int k = 0; k < s->run.ncells; k++) {
                char want[20];
                cell_identity(s, pass, m, k, want);
                const logged_cell *found = bsearch(want, have, count, sizeof *have, by_text);
                while (found && found > have && by_text(found - 1, want) == 0) found--;
                if (found) reuse(s, sweep_place(s, pass, m, k), found, have + count);
            }
    free(have);
    return code;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* A product that streams 16 bytes per nonzero at 10 GB/s, once for each vector. */
static double product_s(const source *m, int64_t vectors) {
    return 16 * (double)vectors * (double)m->about.nnz / 10e9;
}

/* Adds the least time and the most of the stopping rule, or that of ten slow products; preparation
 * and checks took as long as 150 products in a sweep of 23 SuiteSparse matrices with all
 * kernels. */
static void add_cell_s(const sweep *s, const source *m, int k, double *least, double *most) {
    const sampling how = sampling_in(s->run.o, s->run.cell[k].cache);
    const double each_s = product_s(m, s->run.cell[k].vectors), slow = how.min_samples * each_s;
    *least += fmax(how.min_time_s, slow) + 150 * each_s;
    *most += fmax(how.max_time_s, slow) + 150 * each_s;
}

static void plan_s(const sweep *s, double *least, double *most) {
    *least = *most = 0;
    for (int pass = 1; pass <= s->passes; pass++)
        for (int m = 0; m < s->nsources; m++) {
            int readings = 0, here = 0; /* by ranks, once a cell; by a process, once */
            for (int k = 0; k < s->run.ncells; k++) {
                if (*sweep_done(s, pass, m, k)) continue;
                add_cell_s(s, &s->source[m], k, least, most);
                if (is_over_ranks(s, k))
                    readings++;
                else
                    here = 1;
            }
            const double reading =
                100e-9 * (double)s->source[m].about.nnz * (double)(readings + here);
            *least += reading;
            *most += reading;
        }
}

/* Says whether a header tells how large that format's stores are, and what its kernels keep. */
static bool is_of_shape(const spmv_kernel *kernel) {
    static const char *const formats[] = {"csr", "csr_columns", "coo", "cmrs", "csb"};
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (strcmp(kernel->format, formats[k]) == 0) return !(kernel->traits & SPMV_PEER);
    return false;
}

static int variant_of(const cell *c, const spmv_stats *about) {
    const bool wide = about->nnz > INT32_MAX;
    if (c->precision == SPMV_F64) return wide ? SPMV_F64_O64 : SPMV_F64_O32;
    return wide ? SPMV_F32_O64 : SPMV_F32_O32;
}

static spmv_choice choice_of(const session *run, const cell *c) {
    spmv_choice choice = {{0}};
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        const int64_t value = setting_of(run, c, (spmv_param_id)id);
        choice.value[id] = value < 0 ? 0 : value;
    }
    return choice;
}

/* Returns what a cell stores. Compressed rows are the matrix's own but for their offsets, in f64;
 * where a header does not tell it, 12 bytes per nonzero are doubled for padding and kernels'
 * structures. */
static double store_bytes(const session *run, const cell *c, const spmv_stats *about) {
    const spmv_kernel *kernel = descriptor(c->kernel);
    const double nnz = (double)about->nnz, rows = (double)about->rows;
    const double offsets = about->nnz > INT32_MAX ? 0 : 4 * rows;
    const spmv_csr_view shape = {
        .size = sizeof shape, .rows = about->rows, .cols = about->cols, .nnz = about->nnz};
    const spmv_choice choice = choice_of(run, c);
    if (!is_of_shape(kernel)) return 24 * nnz + 8 * (rows + (double)about->cols);
    if (strcmp(kernel->format, "csr") != 0) /* it is built from compressed rows */
        return offsets + (double)spmv_format_named(kernel->format, variant_of(c, about))
                             ->estimate(&shape, &choice);
    return offsets + (c->precision == SPMV_F64 ? 0 : 4 * nnz);
}

/* Returns what a cell's kernel keeps besides, where a header tells it. */
static double scratch_bytes(const session *run, const cell *c, const spmv_stats *about) {
    const spmv_csr_view shape = {
        .size = sizeof shape, .rows = about->rows, .cols = about->cols, .nnz = about->nnz};
    const spmv_choice choice = choice_of(run, c);
    const bool scatters =
        descriptor(c->kernel)->traits & SPMV_TRANSPOSES; /* and keeps nothing else */
    if (c->kernel.index == SPMV_AUTO || !c->kernel.backend->host) return 0;
    if (scatters && run->o->op == SPMV_AS_IS) return 0;
    const spmv_kernel *kernel = c->kernel.backend->kernels[c->kernel.index][variant_of(c, about)];
    return kernel->estimate && is_of_shape(kernel) ? (double)kernel->estimate(&shape, &choice) : 0;
}

/* Returns what the process has at its peak: while it makes canonical CSR of the entries, or later,
 * when there are the reference, one store per format, and vectors of every cell, as all cells of a
 * matrix are timed in turns. only: of that cell, which ranks measure; -1: of those that they do
 * not. Generators make entries in the order of CSR, which has their columns
 * and values then. The budget limits the stores: cells that do not fit follow in a group of their
 * own. */
static double bytes_of_cells(const sweep *s, const source *m, int only) {
    enum { PROCESS = 16 << 20, READER = 4 << 20 /* of a thread */ };
    enum { X_BYTES = 16, Y_BYTES = 86 /* with a row of the reference */ };
    const double with_tables = 1.01; /* with tables of pages, and what the allocator rounds up */
    const spmv_stats *about = &m->about;
    const double nnz = (double)about->nnz, rows = (double)about->rows, cols = (double)about->cols;
    const bool in_order = strncmp(m->path, "gen:", 4) == 0;
    const double given = (about->field == SPMV_PATTERN_FIELD ? 8 : 16) *
                         (double)(in_order ? about->nnz : about->nnz_file);
    double stores = 0;
    for (int k = 0; k < s->run.ncells; k++) {
        const cell *c = &s->run.cell[k];
        const double bytes = store_bytes(&s->run, c, about);
        bool stored = false, kept_already = false;
        if (only < 0 ? is_over_ranks(s, k) : k != only) continue;
        for (int j = 0; j < k && only < 0; j++) {
            const cell *other = &s->run.cell[j];
            if (is_over_ranks(s, j)) continue;
            stored |= descriptor(other->kernel)->format == descriptor(c->kernel)->format &&
                      other->precision == c->precision &&
                      store_bytes(&s->run, other, about) == bytes;
            kept_already |= same_configuration(other, c);
        }
        if (!stored) stores += bytes;
        if (!kept_already) stores += scratch_bytes(&s->run, c, about);
        if (k > 0 && only < 0) stores += 8 * (double)c->vectors * (rows + cols);
    }
    const double budget =
        s->run.o->max_mem ? (double)s->run.o->max_mem : 0.8 * (double)spmv_host_free_bytes();
    const double vectors = (double)most_vectors(s->run.o);
    const double making = given + 12 * nnz + 16 * rows;
    const double kept = (in_order ? 4 * nnz : given) + 12 * nnz + 8 * rows;
    const double running =
        kept + vectors * (X_BYTES * cols + Y_BYTES * rows) + (stores < budget ? stores : budget);
    const double process = PROCESS + (in_order ? 0 : (double)READER * spmv_ctx_threads(s->run.ctx));
    return process + with_tables * (making > running ? making : running);
}

/* Ranks of a cell are there without other cells, each a process. */
static double matrix_bytes(const sweep *s, const source *m) {
    enum { RANK = 64 << 20 /* an MPI, and what it keeps for messages */ };
    double most = bytes_of_cells(s, m, -1);
    for (int k = 0; k < s->run.ncells; k++)
        if (is_over_ranks(s, k))
            most = fmax(most, bytes_of_cells(s, m, k) + (double)RANK * s->run.cell[k].ranks);
    return most;
}

static void count_text(double n, const char *const units[5], char *out, size_t size) {
    int u = 0;
    while (u < 4 && n >= 999.5) n /= 1000, u++;
    snprintf(out, size, u ? "%.3g %s" : "%.0f %s", n, units[u]);
    while (*out && out[strlen(out) - 1] == ' ') out[strlen(out) - 1] = 0;
}

static void span_text(double s, char *out, size_t size) {
    if (s < 120)
        snprintf(out, size, "%.0f s", s);
    else if (s < 7200)
        snprintf(out, size, "%.0f min", s / 60);
    else
        snprintf(out, size, "%.1f h", s / 3600);
}

static void print_source(const sweep *s, const source *m, FILE *file) {
    static const char *const entries[] = {"", "k", "M", "G", "T"};
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB"};
    char nnz[32], memory[32];
    if (*m->trouble) {
        fprintf(file, "  %-24s %s\n", m->name, m->trouble);
        return;
    }
    count_text((double)m->about.nnz, entries, nnz, sizeof nnz);
    count_text(matrix_bytes(s, m), bytes, memory, sizeof memory);
    fprintf(file, "  %-24s %lld x %lld, about %s nonzeros, %s\n", m->name, (long long)m->about.rows,
            (long long)m->about.cols, nnz, memory);
}

void print_plan(const sweep *s, FILE *file, bool details) {
    static const char *const bytes[] = {"B", "kB", "MB", "GB", "TB"};
    char time[96], first[32], last[32], memory[32], label[256], reused[48] = "", all[320];
    double peak = 0, least, most;
    for (int m = 0; m < s->nsources; m++)
        if (matrix_bytes(s, &s->source[m]) > peak) peak = matrix_bytes(s, &s->source[m]);
    plan_s(s, &least, &most);
    span_text(least, first, sizeof first);
    span_text(most, last, sizeof last);
    if (strcmp(first, last) == 0)
        snprintf(time, sizeof time, "about %s", last);
    else
        snprintf(time, sizeof time, "%s to %s", first, last);
    count_text(peak, bytes, memory, sizeof memory);
    if (s->run.o->resume) snprintf(reused, sizeof reused, ", %d already in the log", s->reused);
    snprintf(all, sizeof all,
             "plan: %d matri%s x %d configuration%s x %d pass%s = %d run%s, %s, peak memory "
             "about %s%s",
             s->nsources, s->nsources == 1 ? "x" : "ces", s->run.ncells,
             s->run.ncells == 1 ? "" : "s", s->passes, s->passes == 1 ? "" : "es", s->total,
             s->total == 1 ? "" : "s", time, memory, reused);
    print_wrapped(file, page_width(file, NO_LIMIT), 0, 2, all);
    for (int m = 0; m < s->nsources && details; m++) print_source(s, &s->source[m], file);
    for (int k = 0; k < s->run.ncells && details; k++) {
        cell_label(&s->run.cell[k], label, sizeof label);
        fprintf(file, "  %s\n", label);
    }
}
