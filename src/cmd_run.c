/* cmd_run.c: spmv run: every chosen kernel in every chosen configuration on every chosen matrix: prepare, multiply,
 * check, time, check again, log, show. */
#include "app.h"
#include <math.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int cmd_run(const options *o, const spmv_backend *backend);

typedef struct cell { /* one row of the table: a kernel in a configuration */
    spmv_kernel_id kernel;
    spmv_setting setting[SPMV_NPARAMS];
    int nsettings;
    spmv_precision precision;
} cell;

typedef struct result { /* a finished row and what its record points to */
    record r;
    const char *alias;
    char kernel[64], grid[48], block[24], reason[1024], hash[20], key[20];
    double *samples;
} result;

typedef struct run { /* one invocation */
    const options *o;
    const spmv_backend *backend;
    spmv_ctx *ctx;
    machine machine;
    record_log log;
    FILE *output;
    cell *cell;
    int ncells;
    bool wrote_csv_header, wrote_y;
    int nok, nwrong, nskipped, nfailed, last_failure; /* last_failure: exit code */
} run;

typedef struct inputs { /* x and y0 of one matrix, in both precisions as needed */
    int64_t rows, cols;
    double *x;
    void *x_of[2], *y0_of[2];
    oracle oracle_of[2];
    bool finite;
} inputs;

static const spmv_kernel *descriptor(spmv_kernel_id id) {
    return id.backend->kernels[id.index][0];
}

/* ---- which cells --------------------------------------------------------------------------------------- */

typedef struct axis { /* a parameter and the values asked for, one option after the other */
    const char *option, *param;
    spmv_param_id id;
    const list *values;
} axis;
enum { NAXES = 6 };

static void axes_of(const options *o, axis out[NAXES]) {
    const axis all[NAXES] = {
        {"grid", "grid_rows", SPMV_grid_rows, &o->grid_rows}, {"block", "block", SPMV_block, &o->block},
        {"schedule", "schedule", SPMV_schedule, &o->schedule}, {"chunk", "chunk", SPMV_chunk, &o->chunk},
        {"simd", "simd", SPMV_simd, &o->simd}, {"rowlens", "rowlens", SPMV_rowlens, &o->rowlens}};
    memcpy(out, all, sizeof all);
}

static const spmv_param *param_of(const spmv_kernel *kernel, spmv_param_id id) {
    for (const spmv_param *p = kernel->params; p->id != SPMV_NPARAMS; p++)
        if (p->id == id) return p;
    return NULL;
}

/* A value of -b meant for this kernel? 32xR is for kernels with a warp a row; N for all that can take it. */
static bool accepts(const spmv_kernel *kernel, const spmv_param *p, int64_t value) {
    if (p->id == SPMV_block && value >= BLOCK_WARP_ROWS) {
        if (!(kernel->traits & SPMV_WARP_ROW)) return false;
        value -= BLOCK_WARP_ROWS;
    }
    return value >= p->min && value <= p->max && value % p->multiple == 0;
}

static bool same_cell(const cell *a, const cell *b) {
    if (a->kernel.backend != b->kernel.backend || a->kernel.index != b->kernel.index ||
        a->precision != b->precision || a->nsettings != b->nsettings)
        return false;
    for (int s = 0; s < a->nsettings; s++)
        if (strcmp(a->setting[s].name, b->setting[s].name) != 0 || a->setting[s].value != b->setting[s].value)
            return false;
    return true;
}

/* Two options can mean one configuration: 256 and 32x8, or grids that differ only in columns a kernel has none of. */
static spmv_status add_cell(run *r, const cell *c) {
    for (int k = 0; k < r->ncells; k++)
        if (same_cell(&r->cell[k], c)) return SPMV_OK;
    cell *grown = realloc(r->cell, (size_t)(r->ncells + 1) * sizeof *grown);
    if (!grown) return SPMV_E_NOMEM;
    r->cell = grown;
    r->cell[r->ncells++] = *c;
    return SPMV_OK;
}

/* Every combination of the axes from the n-th on. used[n]: some kernel could take a value of axis n. */
static spmv_status expand(run *r, const axis *axes, int n, cell *c, bool *used) {
    if (n == NAXES) return add_cell(r, c);
    const spmv_kernel *kernel = descriptor(c->kernel);
    const spmv_param *p = param_of(kernel, axes[n].id);
    bool taken = false;
    for (int v = 0; p && v < axes[n].values->count; v++) {
        int64_t value = axes[n].values->value[v];
        if (!accepts(kernel, p, value)) continue;
        taken = used[n] = true;
        cell next = *c;
        next.setting[next.nsettings++] = (spmv_setting){axes[n].param, value % BLOCK_WARP_ROWS};
        if (axes[n].id == SPMV_grid_rows && param_of(kernel, SPMV_grid_cols))
            next.setting[next.nsettings++] = (spmv_setting){"grid_cols", r->o->grid_cols.value[v]};
        TRY(expand(r, axes, n + 1, &next, used));
    }
    if (taken || (p && axes[n].values->count)) return SPMV_OK; /* no value fits: this kernel has no row */
    return expand(r, axes, n + 1, c, used);
}

static int usage_error(const char *format, const char *a, const char *b) {
    char what[512];
    snprintf(what, sizeof what, format, a, b);
    return complain(SPMV_E_ARG, what);
}

/* The names asked for, in their order, each once. */
static int find_kernels(run *r, spmv_kernel_id *found, int *count) {
    char *copy = strdup(r->o->kernels ? r->o->kernels : "all"), *rest = copy;
    *count = 0;
    if (!copy) return complain(SPMV_E_NOMEM, NULL);
    for (char *name; (name = strsep(&rest, ","));) {
        spmv_kernel_id match[MOST_KERNELS];
        int n = 0;
        spmv_status status = spmv_kernel_find(r->ctx, name, match, MOST_KERNELS, &n);
        if (status != SPMV_OK) {
            free(copy);
            return complain(status, spmv_ctx_error(r->ctx));
        }
        for (int k = 0; k < n && *count < MOST_KERNELS; k++) {
            bool known = !r->o->kernels && (match[k].backend != r->backend || !descriptor(match[k])->alias);
            for (int j = 0; j < *count && !known; j++)
                known = found[j].backend == match[k].backend && found[j].index == match[k].index;
            if (!known) found[(*count)++] = match[k];
        }
    }
    free(copy);
    return 0;
}

static int choose_cells(run *r) {
    spmv_kernel_id kernels[MOST_KERNELS];
    int nkernels, code = find_kernels(r, kernels, &nkernels);
    axis axes[NAXES];
    bool used[NAXES] = {false};
    int64_t f64 = SPMV_F64;
    list precisions = r->o->precision.count ? r->o->precision : (list){1, &f64};
    if (code) return code;
    axes_of(r->o, axes);
    for (int k = 0; k < nkernels; k++)
        for (int p = 0; p < precisions.count; p++) {
            cell c = {.kernel = kernels[k], .precision = (spmv_precision)precisions.value[p]};
            spmv_status status = expand(r, axes, 0, &c, used);
            if (status != SPMV_OK) return complain(status, NULL);
        }
    for (int n = 0; n < NAXES; n++)
        if (axes[n].values->count && !used[n])
            return usage_error("--%s: no chosen kernel can use that; 'spmv list kernels -v' shows what each takes%s",
                               axes[n].option, "");
    return r->ncells ? 0 : usage_error("no kernel can run in that configuration%s%s", "", "");
}

/* ---- x, y and the reference ---------------------------------------------------------------------------- */

static void *in_precision(const double *v, int64_t n, spmv_precision precision) {
    size_t width = precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    void *out = malloc((size_t)(n ? n : 1) * width);
    for (int64_t i = 0; out && i < n; i++)
        if (precision == SPMV_F64)
            ((double *)out)[i] = v[i];
        else
            ((float *)out)[i] = (float)v[i];
    return out;
}

static int load_x(run *r, inputs *in) {
    if (!r->o->x_file) {
        in->x = malloc((size_t)(in->cols ? in->cols : 1) * sizeof *in->x);
        for (int64_t j = 0; in->x && j < in->cols; j++) in->x[j] = random_entry(r->o->seed, (uint64_t)j);
        return in->x ? 0 : complain(SPMV_E_NOMEM, "out of memory for x");
    }
    int64_t n = 0;
    spmv_status status = spmv_vector_load(r->ctx, r->o->x_file, &n, &in->x);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(r->ctx));
    if (n == in->cols) return 0;
    char what[512];
    snprintf(what, sizeof what, "%s: holds %lld numbers, the matrix has %lld columns", r->o->x_file, (long long)n,
             (long long)in->cols);
    return complain(SPMV_E_FORMAT, what);
}

/* y starts as NaN, so that what a kernel leaves unwritten shows; with beta != 0 as known random values. */
static void *start_y(run *r, int64_t rows, spmv_precision precision) {
    double *y0 = malloc((size_t)(rows ? rows : 1) * sizeof *y0);
    for (int64_t i = 0; y0 && i < rows; i++)
        y0[i] = r->o->beta == 0 ? NAN : random_entry(r->o->seed + 0x5eed, (uint64_t)i);
    void *out = y0 ? in_precision(y0, rows, precision) : NULL;
    free(y0);
    return out;
}

/* The reference multiplies the very x the kernel gets: for f32 the rounded one. */
static int make_precision(run *r, const spmv_mat *mat, inputs *in, spmv_precision precision) {
    double *exact = NULL;
    spmv_status status = SPMV_OK;
    if (in->x_of[precision]) return 0;
    in->x_of[precision] = in_precision(in->x, in->cols, precision);
    in->y0_of[precision] = start_y(r, in->rows, precision);
    exact = malloc((size_t)(in->cols ? in->cols : 1) * sizeof *exact);
    if (!in->x_of[precision] || !in->y0_of[precision] || !exact) status = SPMV_E_NOMEM;
    for (int64_t j = 0; status == SPMV_OK && j < in->cols; j++) {
        exact[j] = precision == SPMV_F64 ? in->x[j] : (double)(float)in->x[j];
        in->finite &= isfinite(exact[j]) != 0;
    }
    if (status == SPMV_OK && r->o->verify) status = oracle_make(mat, exact, &in->oracle_of[precision]);
    free(exact);
    return status == SPMV_OK ? 0 : complain(status, "out of memory for x, y and the reference");
}

static void inputs_free(inputs *in) {
    free(in->x);
    for (int p = 0; p < 2; p++) {
        free(in->x_of[p]);
        free(in->y0_of[p]);
        oracle_free(&in->oracle_of[p]);
    }
}

/* ---- one record ---------------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && strncmp(path, "gen:", 4) != 0 ? slash + 1 : path;
}

static const char *symmetry_name(spmv_symmetry s) {
    return s == SPMV_SYMMETRIC ? "symmetric" : s == SPMV_SKEW_SYMMETRIC ? "skew-symmetric" : "general";
}

static const char *field_name(spmv_field f) {
    return f == SPMV_PATTERN_FIELD ? "pattern" : f == SPMV_INTEGER_FIELD ? "integer" : "real";
}

static void describe_matrix(result *out, const spmv_stats *s, const char *name, const char *source) {
    record *r = &out->r;
    snprintf(out->hash, sizeof out->hash, "%016llx", (unsigned long long)s->hash);
    r->matrix_name = name;
    r->matrix_source = source;
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

static void describe_machine(run *run, result *out, spmv_kernel_id id) {
    static spmv_device_facts facts; /* its name lives in the device, until the context goes */
    machine_describe(&run->machine, run->o, spmv_ctx_threads(run->ctx), &out->r);
    record_build(&out->r);
    out->r.argv = (texts){(const char *const *)run->o->argv, run->o->argc};
    if (id.backend->host || spmv_ctx_describe(run->ctx, id.backend, &facts) != SPMV_OK) return;
    gpu_describe(&facts, run->o->device, &out->r);
}

static const char *const schedules[] = {"auto", "static", "dynamic", "guided"};

static int64_t setting_of(const cell *c, const spmv_kernel *kernel, int threads, spmv_param_id id, const char *name) {
    const spmv_param *p = param_of(kernel, id);
    int64_t value = p ? p->fallback : -1;
    for (int s = 0; s < c->nsettings; s++)
        if (strcmp(c->setting[s].name, name) == 0) value = c->setting[s].value;
    return p && id == SPMV_grid_rows && value == 0 ? threads : value;
}

/* The configuration as asked, defaults filled in: also for rows that never got a plan. */
static void describe_config(run *run, result *out, const cell *c) {
    const spmv_kernel *kernel = descriptor(c->kernel);
    record *r = &out->r;
    pairs *all = &r->config_params;
    int64_t value[SPMV_NPARAMS];
#define PARAM(id, help) \
    value[SPMV_##id] = setting_of(c, kernel, spmv_ctx_threads(run->ctx), SPMV_##id, #id); \
    if (value[SPMV_##id] >= 0) all->name[all->count] = #id, all->number[all->count++] = value[SPMV_##id];
#include "params.def"
#undef PARAM
    r->config_backend = c->kernel.backend->name;
    r->config_kernel = kernel->name;
    r->config_alias = out->alias = kernel->alias;
    r->config_format = kernel->format;
    r->config_threads = kernel->traits & SPMV_SERIAL ? 1 : spmv_ctx_threads(run->ctx);
    r->config_precision = c->precision == SPMV_F64 ? "f64" : "f32";
    r->config_alpha = run->o->alpha;
    r->config_beta = run->o->beta;
    r->config_cache = "warm";
    r->config_seed = (whole)run->o->seed;
    r->config_deterministic = (kernel->traits & SPMV_DETERMINISTIC) != 0;
    if (value[SPMV_grid_cols] >= 0)
        snprintf(out->grid, sizeof out->grid, "%lldx%lld", (long long)value[SPMV_grid_rows],
                 (long long)value[SPMV_grid_cols]);
    else if (value[SPMV_grid_rows] >= 0)
        snprintf(out->grid, sizeof out->grid, "%lldx1", (long long)value[SPMV_grid_rows]);
    if (value[SPMV_block] >= 0 && kernel->traits & SPMV_WARP_ROW)
        snprintf(out->block, sizeof out->block, "32x%lld", (long long)value[SPMV_block] / 32);
    else if (value[SPMV_block] >= 0)
        snprintf(out->block, sizeof out->block, "%lld", (long long)value[SPMV_block]);
    r->config_grid = *out->grid ? out->grid : NULL;
    r->config_block = *out->block ? out->block : NULL;
    if (value[SPMV_schedule] >= 0) {
        bool environment = value[SPMV_schedule] == 0 && getenv("OMP_SCHEDULE");
        r->config_schedule = environment ? getenv("OMP_SCHEDULE") : schedules[value[SPMV_schedule] ? value[SPMV_schedule] : 1];
    }
    if (value[SPMV_chunk] >= 0) r->config_chunk = value[SPMV_chunk];
    if (value[SPMV_simd] >= 0) r->config_simd = (truth)value[SPMV_simd];
    if (value[SPMV_rowlens] >= 0) r->config_rowlens = (truth)value[SPMV_rowlens];
}

static void describe_plan(run *run, record *r, const spmv_plan *plan, const inputs *in, spmv_precision precision) {
    spmv_plan_facts f;
    double width = precision == SPMV_F64 ? 8 : 4;
    spmv_plan_info(plan, &f);
    r->config_index_bits = f.offset_bits;
    r->store_matrix_B = (whole)f.store_bytes;
    r->store_padding = r->matrix_nnz ? (double)(f.slots - r->matrix_nnz) / (double)r->matrix_nnz : 0;
    r->store_meta_B = (whole)f.scratch_bytes;
    r->prep_convert_s = f.convert_s;
    r->prep_prepare_s = f.prepare_s;
    r->prep_h2d_s = f.upload_s;
    r->prep_total_s = f.convert_s + f.prepare_s + f.upload_s;
    r->perf_flop = 2 * r->matrix_nnz;
    r->perf_bytes_min_B = (whole)f.traffic_bytes +
                          (whole)(width * (double)(in->cols + in->rows * (run->o->beta == 0 ? 1 : 2)));
    r->store_working_set_B = (whole)f.traffic_bytes + (whole)(width * (double)(in->cols + in->rows));
    whole llc = r->gpu_l2_B != INT64_MIN ? r->gpu_l2_B : r->cpu_llc_B;
    if (llc > 0) r->store_llc_ratio = (double)r->store_working_set_B / (double)llc;
    r->timing_clock = strcmp(f.backend, "cuda") == 0 ? "cuda_event" : "monotonic";
}

static void describe_timing(result *out, timing *t) {
    enum { MOST_SAMPLES = 1000 };
    record *r = &out->r;
    r->timing_warmup = t->warmup;
    r->timing_samples = t->nsamples;
    r->timing_inner = t->inner;
    r->timing_min_s = t->s.min;
    r->timing_q1_s = t->s.q1;
    r->timing_median_s = t->s.median;
    r->timing_q3_s = t->s.q3;
    r->timing_max_s = t->s.max;
    r->timing_mean_s = t->s.mean;
    r->timing_stdev_s = t->s.stdev;
    r->timing_converged = t->converged;
    r->timing_thinned = t->nsamples > MOST_SAMPLES;
    int kept = t->nsamples > MOST_SAMPLES ? MOST_SAMPLES : t->nsamples;
    for (int k = 0; k < kept; k++) t->sample_s[k] = t->sample_s[(int64_t)k * t->nsamples / kept];
    out->samples = t->sample_s;
    r->timing_samples_s = (numbers){out->samples, kept};
    r->perf_flop_per_s = (double)r->perf_flop / t->s.median;
    r->perf_B_per_s = (double)r->perf_bytes_min_B / t->s.median;
}

/* True: the result is right. */
static bool check(run *run, result *out, const inputs *in, spmv_precision precision, const void *y, const char *stage) {
    record *r = &out->r;
    if (!run->o->verify) {
        r->check_status = "off";
        return true;
    }
    verdict v = oracle_check(&in->oracle_of[precision], precision, run->o->alpha, run->o->beta, in->y0_of[precision], y);
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
             "%lld of %lld rows differ in the %s product, first row %lld (from 0): got %.17g, expected %.17g",
             (long long)v.bad_rows, (long long)in->rows, stage, (long long)v.first_bad_row, v.got, v.expected);
    r->reason = out->reason;
    return false;
}

static void fail_row(run *run, result *out, spmv_status status) {
    bool skipped = status == SPMV_E_TOOBIG || status == SPMV_E_UNSUITABLE;
    out->r.status = skipped ? "skipped" : "failed";
    snprintf(out->reason, sizeof out->reason, "%s", *spmv_ctx_error(run->ctx) ? spmv_ctx_error(run->ctx)
                                                                               : spmv_strerror(status));
    out->r.reason = out->reason;
    if (!skipped) run->last_failure = spmv_exit_code(status);
}

/* ---- one cell ------------------------------------------------------------------------------------------ */

static spmv_status save_y(run *run, const inputs *in, spmv_precision precision, const void *y) {
    double *wide = malloc((size_t)(in->rows ? in->rows : 1) * sizeof *wide);
    if (!wide) return SPMV_E_NOMEM;
    for (int64_t i = 0; i < in->rows; i++)
        wide[i] = precision == SPMV_F64 ? ((const double *)y)[i] : (double)((const float *)y)[i];
    spmv_status status = spmv_vector_save(run->ctx, run->o->y_file, in->rows, wide);
    free(wide);
    run->wrote_y = status == SPMV_OK;
    return status;
}

static spmv_status multiply(run *run, const cell *c, const inputs *in, const spmv_plan *plan, result *out) {
    problem p = {.plan = plan, .precision = c->precision, .rows = in->rows, .cols = in->cols, .alpha = run->o->alpha,
                 .beta = run->o->beta, .x = in->x_of[c->precision], .y0 = in->y0_of[c->precision]};
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

static uint64_t hash_text(uint64_t h, const char *s) {
    for (; s && *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

/* What makes two records the same measurement: matrix, configuration, machine and build. */
static void make_key(result *out) {
    const record *r = &out->r;
    const char *parts[] = {r->matrix_hash,      r->config_backend, r->config_kernel, r->config_grid, r->config_block,
                           r->config_schedule,  r->config_precision, r->host_name,   r->cpu_model,   r->gpu_name,
                           r->build_commit,     r->build_cflags,   r->build_nvccflags};
    const int64_t numbers[] = {r->config_chunk, r->config_simd, r->config_rowlens, r->config_threads,
                               r->config_index_bits, r->config_seed};
    uint64_t h = 0xcbf29ce484222325u, bits;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) h = hash_text(h, parts[k]);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) h = (h ^ (uint64_t)numbers[k]) * 0x100000001b3u;
    memcpy(&bits, &r->config_alpha, sizeof bits);
    h = (h ^ bits) * 0x100000001b3u;
    memcpy(&bits, &r->config_beta, sizeof bits);
    h = (h ^ bits) * 0x100000001b3u;
    snprintf(out->key, sizeof out->key, "%016llx", (unsigned long long)h);
    out->r.key = out->key;
}

/* Nonzero: the run must stop (a usage error, no device, y that cannot be written). */
static int run_cell(run *run, const cell *c, spmv_mat *mat, inputs *in, result *out) {
    spmv_plan *plan = NULL;
    int code = make_precision(run, mat, in, c->precision);
    if (code) return code;
    snprintf(out->kernel, sizeof out->kernel, "%s:%s", c->kernel.backend->name, descriptor(c->kernel)->name);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = out->kernel, .precision = c->precision,
                           .offset_bits = run->o->offset_bits, .max_bytes = run->o->max_mem, .settings = c->setting,
                           .nsettings = c->nsettings};
    spmv_status status = SPMV_OK;
    if (!in->finite && descriptor(c->kernel)->traits & SPMV_PADS && out->r.config_rowlens == 0) {
        snprintf(out->reason, sizeof out->reason, "x holds infinity or NaN, and padding multiplies 0 by it: "
                                                  "use --rowlens=on");
        out->r.status = "skipped";
        out->r.reason = out->reason;
        return 0;
    }
    status = spmv_plan_create(mat, &opts, &plan);
    if (status == SPMV_E_ARG || status == SPMV_E_BACKEND) return complain(status, spmv_ctx_error(run->ctx));
    if (status == SPMV_OK) {
        describe_plan(run, &out->r, plan, in, c->precision);
        status = multiply(run, c, in, plan, out);
    }
    spmv_plan_free(plan);
    if (status == SPMV_E_WRITE) return complain(status, spmv_ctx_error(run->ctx));
    if (status != SPMV_OK) fail_row(run, out, status);
    return 0;
}

/* ---- one matrix ---------------------------------------------------------------------------------------- */

static void show_progress(void *arg, double done) {
    enum { WIDTH = 30 };
    struct timespec now, *start = arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec - start->tv_sec < 1) return; /* no bar for what is over at once */
    int full = (int)(done * WIDTH);
    say("\rreading [%.*s%*s] %3.0f %%", full, "##############################", WIDTH - full, "", 100 * done);
    if (done >= 1) say("\r%60s\r", "");
}

/* A 3-D Poisson matrix whose CSR arrays are four times the last-level cache, cut down to a quarter of free memory at
 * about 60 bytes an entry (entries, hub, one format). */
static void default_matrix(run *run, char *out, size_t size) {
    static const int edges[] = {128, 160, 192, 256, 320, 384};
    int n = edges[0];
    double llc = (double)(run->machine.llc > 0 ? run->machine.llc : 0);
    spmv_device_facts facts;
    if (!run->backend->host && spmv_ctx_describe(run->ctx, run->backend, &facts) == SPMV_OK && (double)facts.l2 > llc)
        llc = (double)facts.l2;
    for (size_t k = 0; k < sizeof edges / sizeof *edges && 12 * 7.0 * n * n * n < 4 * llc; k++) n = edges[k];
    while (n > 16 && 60 * 7.0 * n * n * n > 0.25 * (double)spmv_omp.free_bytes(NULL)) n /= 2;
    snprintf(out, size, "gen:poisson3d:%d", n);
}

static int load_matrix(run *run, const char *source, spmv_mat **mat) {
    struct timespec start;
    clock_gettime(CLOCK_MONOTONIC, &start);
    spmv_load_opts opts = {.size = sizeof opts, .seed = run->o->seed, .values = run->o->values, .progress_arg = &start};
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

static void introduce_matrix(run *run, const char *name, const spmv_stats *s, bool built_in) {
    char rows[32], cols[32], nnz[32], stored[64] = "";
    if (run->o->quiet) return;
    count_text((double)s->rows, rows, sizeof rows);
    count_text((double)s->cols, cols, sizeof cols);
    count_text((double)s->nnz, nnz, sizeof nnz);
    if (s->symmetry != SPMV_GENERAL)
        snprintf(stored, sizeof stored, " (%s, %lld stored in the file)", symmetry_name(s->symmetry),
                 (long long)s->nnz_file);
    say("matrix %s%s  %s x %s, %s nonzeros%s, %s in %.2f s\n", name, built_in ? " (built in; -m FILE for yours)" : "",
        rows, cols, nnz, stored, strncmp(name, "gen:", 4) == 0 ? "made" : "read", s->read_s + s->build_s);
    if (s->duplicates) say("  note: %lld duplicate entries were added to the first of their place\n", (long long)s->duplicates);
    if (s->explicit_zeros) say("  note: %lld stored zeros are kept as nonzeros\n", (long long)s->explicit_zeros);
}

static void count_status(run *run, const record *r) {
    int *counter = strcmp(r->status, "ok") == 0        ? &run->nok
                   : strcmp(r->status, "wrong") == 0   ? &run->nwrong
                   : strcmp(r->status, "skipped") == 0 ? &run->nskipped
                                                       : &run->nfailed;
    ++*counter;
}

static int show_results(run *run, result *results, int n) {
    int best = -1;
    for (int k = 0; k < n; k++)
        if (strcmp(results[k].r.status, "ok") == 0 &&
            (best < 0 || results[k].r.timing_median_s < results[best].r.timing_median_s))
            best = k;
    if (strcmp(run->o->format, "table") == 0) {
        table_row *rows = calloc((size_t)n, sizeof *rows);
        if (!rows) return complain(SPMV_E_NOMEM, NULL);
        for (int k = 0; k < n; k++) rows[k] = (table_row){&results[k].r, results[k].alias, k == best};
        table_write(run->output, rows, n);
        free(rows);
        return 0;
    }
    for (int k = 0; k < n; k++) {
        char *line = NULL;
        if (strcmp(run->o->format, "csv") == 0) {
            csv_write(run->output, &results[k].r, !run->wrote_csv_header);
            run->wrote_csv_header = true;
            continue;
        }
        spmv_status status = jsonl_format(&results[k].r, &line);
        if (status != SPMV_OK)
            return complain(status, "--format=jsonl is not built in: install libjansson-dev (Debian) or jansson-devel "
                                    "(Fedora), then make again");
        fputs(line, run->output);
        free(line);
    }
    return 0;
}

static int run_cells(run *run, spmv_mat *mat, inputs *in, const char *name, const char *source) {
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
        code = run_cell(run, c, mat, in, out);
        if (code) break;
        done = k + 1;
        make_key(out);
        count_status(run, &out->r);
        if (!run->o->quiet && run->o->verbose)
            say("  %s: %s\n", out->kernel, out->r.reason ? out->r.reason : out->r.status);
        code = log_append(&run->log, &out->r);
    }
    if (done) {
        int shown = show_results(run, results, done);
        if (!code) code = shown;
    }
    for (int k = 0; k < run->ncells; k++) free(results[k].samples);
    free(results);
    return code;
}

static int run_matrix(run *run, const char *source, bool built_in) {
    spmv_mat *mat = NULL;
    spmv_stats stats;
    inputs in = {.finite = true};
    char name[256];
    int code = load_matrix(run, source, &mat);
    if (code) return code;
    snprintf(name, sizeof name, "%s", base_name(source));
    char *suffix = strncmp(name, "gen:", 4) != 0 ? strstr(name, ".mtx") : NULL;
    if (!suffix) suffix = strstr(name, ".tar");
    if (suffix) *suffix = 0;
    spmv_mat_stats(mat, &stats);
    introduce_matrix(run, name, &stats, built_in);
    in.rows = stats.rows;
    in.cols = stats.cols;
    if (run->o->write_file && spmv_mat_save(mat, run->o->write_file) != SPMV_OK)
        code = complain(SPMV_E_WRITE, spmv_ctx_error(run->ctx));
    if (!code) code = load_x(run, &in);
    if (!code) code = run_cells(run, mat, &in, name, base_name(source));
    inputs_free(&in);
    spmv_mat_free(mat);
    return code;
}

/* ---- the whole ----------------------------------------------------------------------------------------- */

/* Paths in argv may name people: only their last part is kept. */
static void cut_paths(const options *o) {
    for (int k = 0; k < o->argc; k++) {
        char *slash = strrchr(o->argv[k], '/');
        if (!slash || strstr(o->argv[k], "gen:")) continue;
        char *value = strchr(o->argv[k], '='), *start = value && o->argv[k][0] == '-' ? value + 1 : o->argv[k];
        memmove(start, slash + 1, strlen(slash));
    }
}

static int exit_code(const run *r) {
    if (r->nwrong) return EXIT_WRONG;
    if (r->nfailed) return r->nfailed == 1 && r->ncells == 1 ? r->last_failure : EXIT_SOME_FAILED;
    return r->nok || !r->nskipped ? 0 : EXIT_SOME_FAILED;
}

static int open_run(run *r) {
    spmv_ctx_opts opts = {.size = sizeof opts, .backend = r->backend->name, .device = r->o->device,
                          .threads = r->o->threads};
    if (spmv_ctx_create(&opts, &r->ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    if (r->backend->kernels == NULL) {
        char what[128];
        snprintf(what, sizeof what, "--backend=%s: not built in: %s", r->backend->name, r->backend->hint);
        return complain(SPMV_E_BACKEND, what);
    }
    machine_read(&r->machine);
    int code = choose_cells(r);
    if (!code) code = log_open(r->o, &r->machine, &r->log);
    if (code || !r->o->output_file) return code;
    r->output = fopen(r->o->output_file, "w");
    if (r->output) return 0;
    r->output = stdout;
    char what[1200];
    snprintf(what, sizeof what, "%s: cannot create it", r->o->output_file);
    return complain(SPMV_E_WRITE, what);
}

static void introduce(const run *r) {
    record build;
    record_clear(&build);
    record_build(&build);
    say("spmv %s (%s%s) %s, %s, %d threads\n", build.build_version, build.build_commit ? build.build_commit : "no commit",
        build.build_dirty == 1 ? "+" : "", r->backend->name, *r->machine.cpu ? r->machine.cpu : "unknown CPU",
        spmv_ctx_threads(r->ctx));
}

static void conclude(const run *r) {
    if (r->log.records) say("logged %d record%s to %s\n", r->log.records, r->log.records == 1 ? "" : "s", r->log.path);
    if (r->nwrong) say("spmv: %d WRONG result%s: see the table\n", r->nwrong, r->nwrong == 1 ? "" : "s");
}

int cmd_run(const options *o, const spmv_backend *backend) {
    run r = {.o = o, .backend = backend, .output = stdout, .log = {.file = -1}};
    char built_in[64];
    if (o->topic) {
        say("spmv: run takes no word '%s'; -m names a matrix\n", o->topic);
        return EXIT_USAGE;
    }
    for (const spmv_backend *const *b = spmv_backends; *b && o->backend; b++)
        if (strcmp((*b)->name, o->backend) == 0) r.backend = *b;
    int code = open_run(&r);
    if (!code && !o->quiet) introduce(&r);
    const char **matrices = o->matrices;
    int n = o->nmatrices;
    const char *only = built_in;
    if (!code && n == 0) {
        default_matrix(&r, built_in, sizeof built_in);
        matrices = &only;
        n = 1;
    }
    char **sources = code ? NULL : calloc((size_t)n, sizeof *sources);
    for (int k = 0; sources && k < n; k++) sources[k] = strdup(matrices[k]);
    if (sources) cut_paths(o);
    for (int k = 0; sources && k < n && !code; k++) code = run_matrix(&r, sources[k], o->nmatrices == 0);
    for (int k = 0; sources && k < n; k++) free(sources[k]);
    free(sources);
    if (!o->quiet) conclude(&r);
    if (r.output != stdout && fclose(r.output) != 0 && !code) code = complain(SPMV_E_WRITE, "cannot write the output file");
    log_close(&r.log);
    free(r.cell);
    spmv_ctx_free(r.ctx);
    return code ? code : exit_code(&r);
}
