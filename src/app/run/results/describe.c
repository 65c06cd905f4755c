/* describe.c: the record of a row, made at once when all is known that it says. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "app/run/cells.h"
#include "app/run/inputs.h"
#include "app/run/limits/limits.h"
#include "app/run/session.h"
#include "app/run/timing/noise.h"
#include "app/run/timing/turns.h"
#include "describe.h"
#include "result.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && strncmp(path, "gen:", 4) != 0 ? slash + 1 : path;
}

static bool add_word(char **out, int *count, const char *word) {
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    const char *value = equals ? equals + 1 : word;
    char *typed = NULL;
    if (asprintf(&typed, "%.*s%s", (int)(value - word), word, base_name(value)) < 0) return false;
    size_t room = 4 * strlen(typed) + 16;
    char *spelt = malloc(room);
    if (spelt) spell(typed, spelt, room);
    free(typed);
    if (spelt) out[(*count)++] = spelt;
    return spelt != NULL;
}

char **command_line(const options *o, int *count) {
    char **out = calloc((size_t)(o->argc + o->nfrom_environment) + 2, sizeof *out);
    bool fine = out && add_word(out, count, o->argv[0]);
    if (fine && o->command) fine = add_word(out, count, o->command);
    for (int k = 0; fine && k < o->nfrom_environment; k++)
        if (strncmp(o->from_environment[k], "--matrix=", 9) != 0 || !options_on_line(o, "matrix"))
            fine = add_word(out, count, o->from_environment[k]);
    for (int k = 1; fine && k < o->argc; k++) fine = add_word(out, count, o->argv[k]);
    return out;
}

void matrix_name(const char *source, const char *values, char *out, size_t size) {
    bool made = strncmp(source, "gen:", 4) == 0;
    char base[512];
    spell(strcmp(source, "-") == 0 ? "stdin" : base_name(source), base, sizeof base);
    snprintf(out, size, "%s%s%s", base, made && values ? " " : "", made && values ? values : "");
    char *suffix = made ? NULL : strstr(out, ".mtx");
    if (!made && !suffix) suffix = strstr(out, ".tar");
    if (suffix) *suffix = 0;
}

const char *symmetry_name(spmv_symmetry s) {
    return s == SPMV_SYMMETRIC        ? "symmetric"
           : s == SPMV_SKEW_SYMMETRIC ? "skew-symmetric"
                                      : "general";
}

const char *field_name(spmv_field f) {
    return f == SPMV_PATTERN_FIELD ? "pattern" : f == SPMV_INTEGER_FIELD ? "integer" : "real";
}

static void describe_matrix(result *out, const spmv_stats *s) {
    record *r = &out->r;
    snprintf(out->hash, sizeof out->hash, "%016llx", (unsigned long long)s->hash);
    r->matrix_hash = out->hash;
    r->matrix_rows = s->rows;
    r->matrix_cols = s->cols;
    r->matrix_nnz_file = s->nnz_file;
    r->matrix_nnz = s->nnz;
    r->matrix_explicit_zeros = s->explicit_zeros;
    r->matrix_duplicates = s->duplicates;
    r->matrix_field = field_name(s->field);
    r->matrix_symmetry = symmetry_name(s->symmetry);
    r->matrix_row_min = s->row_min;
    r->matrix_row_mean = s->row_mean;
    r->matrix_row_max = s->row_max;
    r->matrix_row_std = s->row_std;
    r->matrix_empty_rows = s->empty_rows;
    r->matrix_bandwidth = s->bandwidth;
    r->matrix_read_s = s->read_s;
    r->matrix_build_s = s->build_s;
}

int threads_of(const session *run, const cell *c) {
    return c->threads ? c->threads : spmv_ctx_threads(run->ctx);
}

static void describe_machine(const session *run, const cell *c, record *r) {
    const spmv_backend *backend = c->kernel.backend;
    spmv_device_facts facts;
    machine_describe(&run->machine, run->o, threads_of(run, c), r);
    record_build(r);
    r->argv = (texts){(const char *const *)run->argv, run->argc};
    if (backend->host || spmv_ctx_describe(run->ctx, backend, &facts) != SPMV_OK) return;
    gpu_describe(&facts, run->o->device, r);
}

/* ---- the configuration ---------------------------------------------------------------------- */

int64_t setting_of(const session *run, const cell *c, spmv_param_id id) {
    const spmv_param *p = spmv_param_of(descriptor(c->kernel), id);
    int64_t value = p ? p->default_value : -1;
    for (int s = 0; s < c->nsettings; s++)
        if (strcmp(c->setting[s].name, params[id].name) == 0) value = c->setting[s].value;
    return p && id == SPMV_grid_rows && value == 0 ? threads_of(run, c) : value;
}

/* Returns the cell that auto made of one. */
static cell chosen_cell(const cell *asked, const spmv_plan *plan, const char *kernel) {
    cell c = *asked;
    c.nsettings = 0;
    while (strcmp(c.kernel.backend->names[++c.kernel.index], kernel) != 0) continue;
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        int64_t value = spmv_plan_setting(plan, params[id].name);
        if (value >= 0) c.setting[c.nsettings++] = (spmv_setting){params[id].name, value};
    }
    return c;
}

/* Describes them as the plan uses them: 0 may ask the kernel to choose. */
static void describe_params(const options *o, const spmv_kernel *kernel, const int64_t *value,
                            const spmv_plan *plan, pairs *all) {
    for (int id = 0; id < SPMV_NPARAMS; id++) {
        int64_t used = plan ? spmv_plan_setting(plan, params[id].name) : -1;
        if (!spmv_param_of(kernel, (spmv_param_id)id)) continue;
        if (used < 0) used = value[id];
        all->name[all->count] = params[id].name;
        all->text[all->count] = param_word(params[id].name, used);
        all->given[all->count] = o->param[id].count > 0;
        all->number[all->count++] = used;
    }
}

/* value: by parameter, negative where the kernel takes none. */
static void describe_library(result *out, const spmv_kernel *kernel, const int64_t *value) {
    spmv_choice choice;
    *out->library = 0;
    for (int id = 0; id < SPMV_NPARAMS; id++) choice.value[id] = value[id] < 0 ? 0 : value[id];
    if (kernel->library) kernel->library(&choice, out->library, sizeof out->library);
    out->r.kernel_library = *out->library ? out->library : NULL;
}

/* Where the kernel leaves the schedule to the user, a chunk of the command line goes with the kind
 * that OMP_SCHEDULE names. */
static void describe_schedule(result *out, int64_t kind, int64_t chunk) {
    const char *users = getenv("OMP_SCHEDULE");
    if (kind == 0 && users && *users)
        snprintf(out->schedule, sizeof out->schedule, "%.*s",
                 (int)(chunk > 0 ? strcspn(users, ",") : strlen(users)), users);
    else
        snprintf(out->schedule, sizeof out->schedule, "%s",
                 param_word("schedule", kind ? kind : omp_sched_static));
    out->r.config_schedule = out->schedule;
}

/* The options of the papers' programs, in fields of their own. */
static void describe_options(result *out, const spmv_kernel *kernel, const int64_t *value) {
    record *r = &out->r;
    long long rows = value[SPMV_grid_rows], cols = value[SPMV_grid_cols], block = value[SPMV_block];
    bool warps = kernel->traits & SPMV_WARP_ROW;
    snprintf(out->grid, sizeof out->grid, "%lldx%lld", rows, cols < 0 ? 1 : cols);
    snprintf(out->block, sizeof out->block, "%s%lld", warps ? "32x" : "",
             warps ? block / 32 : block);
    snprintf(out->shape, sizeof out->shape, "%lldx%lld", (long long)value[SPMV_shape_rows],
             (long long)value[SPMV_shape_cols]);
    r->config_grid = rows >= 0 ? out->grid : NULL;
    r->config_block = block >= 0 ? out->block : NULL;
    r->config_shape = value[SPMV_shape_rows] >= 0 ? out->shape : NULL;
    if (value[SPMV_schedule] >= 0) describe_schedule(out, value[SPMV_schedule], value[SPMV_chunk]);
    if (value[SPMV_chunk] >= 0) r->config_chunk = value[SPMV_chunk];
    if (value[SPMV_simd] >= 0) r->config_simd = (truth)value[SPMV_simd];
    if (value[SPMV_rowlens] >= 0) r->config_rowlens = (truth)value[SPMV_rowlens];
}

/* Describes the configuration as asked, with defaults, where there is no plan. f: of the plan. */
static void describe_config(const session *run, const cell *asked, const spmv_plan *plan,
                            const spmv_plan_facts *f, result *out) {
    const cell c = f->reason ? chosen_cell(asked, plan, f->kernel) : *asked;
    const spmv_kernel *kernel = descriptor(c.kernel);
    record *r = &out->r;
    int64_t value[SPMV_NPARAMS];
    for (int id = 0; id < SPMV_NPARAMS; id++) value[id] = setting_of(run, &c, (spmv_param_id)id);
    describe_params(run->o, kernel, value, plan, &r->config_params);
    describe_library(out, kernel, value);
    describe_options(out, kernel, value);
    r->config_requested = descriptor(asked->kernel)->name;
    r->config_backend = c.kernel.backend->name;
    r->config_kernel = kernel->name;
    r->config_alias = kernel->alias;
    out->alias = f->reason ? r->config_requested : kernel->alias;
    r->config_format = c.kernel.index == SPMV_AUTO ? NULL : kernel->format;
    r->config_threads = f->threads                     ? f->threads
                        : kernel->traits & SPMV_SERIAL ? 1
                                                       : threads_of(run, asked);
    r->config_precision = c.precision == SPMV_F64 ? "f64" : "f32";
    r->config_vectors = c.vectors;
    r->config_layout = layout_names[c.layout - SPMV_COLUMNS];
    r->config_op = run->o->op == SPMV_TRANSPOSE ? "transpose" : "as-is";
    r->config_alpha = run->o->alpha;
    r->config_beta = run->o->beta;
    r->config_cache = cache_names[c.cache];
    r->config_seed = (whole)run->o->seed;
    r->config_deterministic = (kernel->traits & SPMV_DETERMINISTIC) != 0;
}

static void describe_team(const ranks_team *t, record *r) {
    if (!t) return;
    r->ranks_count = t->count;
    if (t->hosts) r->ranks_hosts = t->hosts;
    r->ranks_exchange = t->exchange;
    r->ranks_mpi = t->mpi;
    r->ranks_partition = t->partition;
    r->ranks_halo_asked = t->halo;
    r->ranks_overlap_asked = t->overlap;
}

/* ---- the plan ------------------------------------------------------------------------------- */

/* The picture of the matrix, a third of a record without samples, goes into one record. Where the
 * choice of auto was wrong, its time in the trials counts for nothing. */
static void describe_plan(const options *o, const spmv_plan_facts *f, const problem *p, inputs *in,
                          result *out) {
    record *r = &out->r;
    if (!in->drawn && *in->thumbnail) r->matrix_thumbnail = in->thumbnail;
    in->drawn = true;
    if (f->reason) {
        snprintf(out->why, sizeof out->why, "%s", f->reason);
        r->config_reason = out->why;
        if (o->iters) r->config_iters = o->iters;
        r->prep_tune_s = f->tune_s;
    }
    if (f->wisdom) {
        snprintf(out->wisdom, sizeof out->wisdom, "%s", f->wisdom);
        r->tune_wisdom = out->wisdom;
    }
    if (f->baseline) {
        r->tune_baseline = f->baseline;
        r->tune_baseline_s = f->baseline_product_s;
        if (strcmp(r->status, "wrong") != 0) r->tune_chosen_s = f->chosen_product_s;
        r->tune_flush_B = (whole)f->flush_bytes;
    }
    r->config_index_bits = f->offset_bits;
    r->store_values = f->values;
    r->store_matrix_B = (whole)f->store_bytes;
    r->store_padding =
        r->matrix_nnz ? (double)(f->slots - r->matrix_nnz) / (double)r->matrix_nnz : 0;
    r->store_meta_B = (whole)f->scratch_bytes;
    r->store_working_set_B = (whole)p->bytes;
    if (p->cache) r->store_llc_ratio = (double)p->bytes / (double)p->cache;
    r->prep_convert_s = f->convert_s;
    r->prep_prepare_s = f->prepare_s;
    r->prep_h2d_s = f->upload_s;
    if (f->from_rows_s >= 0) r->prep_from_rows_s = f->from_rows_s;
    r->prep_once_s = f->once_s;
    r->prep_made_s = f->made_s;
    if (f->reproducible) r->config_repeats = f->reproducible == 2 ? "instructions" : "threads";
    r->prep_total_s = f->convert_s + f->prepare_s + f->upload_s + f->tune_s;
    r->prep_vectors_s = p->vectors_s;
    r->perf_flop = p->k * spmv_flop(r->matrix_nnz);
    r->perf_bytes_min_B = (whole)p->bytes;
    if (p->beta != 0) r->perf_bytes_min_B += p->k * p->rows * (p->precision == SPMV_F64 ? 8 : 4);
    const char *clock = spmv_backend_named(f->backend)->clock;
    r->timing_clock = clock ? clock : "monotonic";
}

/* ---- checks --------------------------------------------------------------------------------- */

static void describe_check(const options *o, const candidate *e, record *r) {
    const bool wrong = e->check.bad_rows || e->wavers;
    r->check_status = !o->verify ? "off" : wrong ? "wrong" : "ok";
    if (!o->verify) return;
    r->check_reference = "coo-extended";
    r->check_bound =
        "2 (n_i + 2) u (|alpha| |A| |x| + |beta| |y|)_i, or the statistical one if that is less";
    r->check_max_ratio = e->check.max_ratio;
    r->check_bad_rows = e->check.bad_rows;
    if (wrong) r->check_stage = e->stage;
    if (!e->check.bad_rows) return;
    r->check_first_bad_row = e->check.first_bad_row;
    r->check_first_bad_vector = e->check.first_bad_vector;
}

/* ---- times ---------------------------------------------------------------------------------- */

void describe_rates(record *r) {
    r->perf_flop_per_s = (double)r->perf_flop / r->timing_median_s;
    r->perf_B_per_s = (double)r->perf_bytes_min_B / r->timing_median_s;
}

void describe_timing(const options *o, result *out, timing *t, const problem *p) {
    record *r = &out->r;
    r->timing_warmup = t->warmup;
    r->timing_samples = t->nsamples;
    r->timing_inner = t->inner;
    r->timing_copies = p->nproducts;
    r->timing_flush_B = (whole)p->flush;
    snprintf(out->how, sizeof out->how, "%s", spmv_batch_how(p->batch));
    r->timing_launches = out->how;
    r->timing_launch_s = p->launch_s;
    r->timing_min_s = t->s.min;
    r->timing_q1_s = t->s.q1;
    r->timing_median_s = t->s.median;
    r->timing_q3_s = t->s.q3;
    r->timing_max_s = t->s.max;
    r->timing_mean_s = t->s.mean;
    r->timing_stdev_s = t->s.stdev;
    r->timing_converged = t->converged;
    r->timing_median_low_s = t->s.low;
    r->timing_median_high_s = t->s.high;
    r->timing_settled = t->settled;
    int kept = t->nsamples < o->keep_samples ? t->nsamples : o->keep_samples;
    r->timing_thinned = kept < t->nsamples;
    for (int k = 0; k < kept; k++) t->sample_s[k] = t->sample_s[(int64_t)k * t->nsamples / kept];
    out->samples = t->sample_s;
    t->sample_s = NULL;
    r->timing_samples_s = (numbers){out->samples, kept};
}

/* ---- the whole ------------------------------------------------------------------------------ */

static uint64_t hash_text(uint64_t h, const char *s) {
    for (; s && *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

/* Describes what makes two records the same measurement: matrix, configuration, machine and
 * build. */
static void describe_key(result *out) {
    const record *r = &out->r;
    /* What auto chose may differ from run to run: what was asked counts. */
    bool chosen = strcmp(r->config_requested, spmv_auto_kernel.name) == 0;
    const char *parts[] = {r->matrix_hash,
                           r->config_backend,
                           r->config_requested,
                           chosen ? NULL : r->kernel_library,
                           chosen ? NULL : r->config_grid,
                           chosen ? NULL : r->config_block,
                           chosen ? NULL : r->config_schedule,
                           r->config_precision,
                           r->config_layout,
                           r->config_op,
                           r->config_cache,
                           r->host_name,
                           r->cpu_model,
                           r->gpu_name,
                           r->build_commit,
                           r->build_cflags,
                           r->build_nvccflags};
    const int64_t whole_parts[] = {chosen ? r->config_iters : r->config_chunk,
                                   chosen ? -1 : r->config_simd,
                                   chosen ? -1 : r->config_rowlens,
                                   r->config_threads,
                                   r->config_vectors,
                                   r->config_index_bits,
                                   r->config_seed};
    uint64_t h = 0xcbf29ce484222325u, bits;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) h = hash_text(h, parts[k]);
    for (size_t k = 0; k < sizeof whole_parts / sizeof *whole_parts; k++)
        h = (h ^ (uint64_t)whole_parts[k]) * 0x100000001b3u;
    for (int k = 0; !chosen && k < r->config_params.count; k++) {
        h = hash_text(h, r->config_params.name[k]);
        h = (h ^ (uint64_t)r->config_params.number[k]) * 0x100000001b3u;
    }
    if (r->ranks_count > 1) { /* older records have none, and their keys stay */
        h = hash_text(hash_text(hash_text(h, r->ranks_partition), r->ranks_overlap_asked),
                      r->ranks_mpi);
        h = (h ^ (uint64_t)r->ranks_count) * 0x100000001b3u;
        h = (h ^ (uint64_t)r->ranks_hosts) * 0x100000001b3u;
    }
    if (r->tune_wisdom) h = hash_text(h, "remembered"); /* its preparation is no repeat of trials */
    memcpy(&bits, &r->config_alpha, sizeof bits);
    h = (h ^ bits) * 0x100000001b3u;
    memcpy(&bits, &r->config_beta, sizeof bits);
    h = (h ^ bits) * 0x100000001b3u;
    snprintf(out->key, sizeof out->key, "%016llx", (unsigned long long)h);
    out->r.key = out->key;
}

void describe_row(const session *run, inputs *in, candidate *e, const char *status, result *out) {
    const cell *asked = &run->cell[e->cell];
    const spmv_backend *backend = asked->kernel.backend;
    bool timed = strcmp(status, "ok") == 0;
    spmv_plan_facts f = SPMV_OPTS(spmv_plan_facts);
    record *r = &out->r;
    if (e->plan) spmv_plan_info(e->plan, &f);
    record_clear(r);
    r->status = status;
    r->reason = *out->reason ? out->reason : NULL;
    r->matrix_name = in->name;
    spell(in->source, out->source, sizeof out->source);
    r->matrix_source = out->source;
    if (run->pass) {
        r->sweep_pass = run->pass;
        r->sweep_cell = run->sweep_cell[e->cell];
    }
    if (in->stats) describe_matrix(out, in->stats);
    describe_machine(run, asked, r);
    describe_config(run, asked, e->plan, &f, out);
    describe_team(run->team, r);
    if (e->plan) describe_plan(run->o, &f, &e->p, in, out);
    if (e->stage) describe_check(run->o, e, r);
    if (timed) describe_timing(run->o, out, &e->t, &e->p);
    if (timed) describe_turns(run->group, &e->turns, out);
    if (e->plan) describe_limits(run, out, backend, &in->reads);
    if (timed) describe_rates(r);
    if (timed) describe_noise(e, spmv_ctx_threads(run->ctx), out);
    describe_key(out);
}
