/* api.c: public functions that create matrices and plans: check arguments, then call other
 * folders. */
#include "generate/generate.h"
#include "spmv_clock.h"
#include "host/context.h"
#include "host/host.h"
#include "io/io.h"
#include "matrix/arrays/volatile.h"
#include "matrix/matrix.h"
#include "matrix/transpose.h"
#include "plan/plan.h"
#include "spmv_environment.h"
#include "spmv_pieces.h"
#include "tune/tune.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- matrices ------------------------------------------------------------------------------- */

/* Appends suggestions to the error text: the file in the folder with the most similar name, and the
 * command that downloads a matrix of that name. */
void spmv_reading_suggest(spmv_ctx *ctx, const char *path) {
    enum { MOST_FILES = 4096 };
    const char *slash = strrchr(path, '/'), *names[MOST_FILES + 1];
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."),
         text[sizeof ctx->error];
    const bool is_there = strcmp(path, "-") == 0 || access(path, F_OK) == 0;
    DIR *dir = folder && !is_there ? opendir(folder) : NULL;
    int n = 0;
    for (struct dirent *d; dir && n < MOST_FILES && (d = readdir(dir));)
        if (d->d_name[0] != '.' && (names[n] = strdup(d->d_name))) n++;
    names[n] = NULL;
    const char *name = slash ? slash + 1 : path, *nearest = spmv_nearest(name, names);
    if (nearest && strcmp(nearest, name) == 0) nearest = NULL; /* a dangling link */
    snprintf(text, sizeof text, "%s", ctx->error);
    if (nearest && !is_there)
        spmv_fail(ctx, SPMV_E_IO, "%s. Did you mean %s%s?", text, slash ? folder : "", nearest);
    else if (!is_there)
        spmv_fail(ctx, SPMV_E_IO,
                  "%s ('spmv get %.*s' downloads it, if the SuiteSparse Matrix Collection has it; "
                  "'spmv list matrices' names built-in ones)",
                  text, (int)strcspn(name, "."), name);
    while (n > 0) free((char *)(uintptr_t)names[--n]);
    if (dir) closedir(dir);
    free(folder);
}

static spmv_status generate(spmv_mat *mat, const char *name, const spmv_load_opts *opts) {
    spmv_stats about;
    TRY(spmv_generate_peek(mat->ctx, name, &about));
    return spmv_generate(mat->ctx, name, opts->seed ? opts->seed : 1, opts->values,
                         spmv_threads_for(mat->ctx, about.nnz + about.rows), &mat->coo);
}

spmv_status spmv_mat_load(spmv_ctx *ctx, const char *path, const spmv_load_opts *opts,
                          spmv_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_load_opts known = SPMV_OPTS(spmv_load_opts);
    spmv_mat *mat = NULL;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, path);
    TRY(spmv_read_opts(ctx, "spmv_load_opts", &known, sizeof known, opts));
    opts = &known;
    *ctx->note = 0;
    TRY(spmv_mat_new(ctx, &mat));
    double start = spmv_now();
    spmv_lines lines = {.ptr = NULL};
    spmv_status status;
    if (strncmp(path, "gen:", 4) == 0)
        status = generate(mat, path + 4, opts);
    else if (opts->values)
        status =
            spmv_fail(ctx, SPMV_E_ARG,
                      "%s: values are chosen for gen: matrices only (spmv_load_opts.values)", path);
    else
        status =
            spmv_read_matrix(ctx, path, ctx->threads, opts->progress, opts->progress_arg, &lines);
    if (status == SPMV_E_IO) spmv_reading_suggest(ctx, path);
    mat->stats.read_s = spmv_now() - start;
    if (status == SPMV_OK && lines.coo.col) status = spmv_mat_take_lines(mat, &lines);
    return spmv_mat_finish(mat, status, out);
}

spmv_status spmv_mat_peek(spmv_ctx *ctx, const char *path, spmv_stats *out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_stats about = {0};
    GIVEN(ctx, out);
    TRY(spmv_fill(ctx, "spmv_stats", &about, sizeof about, out));
    GIVEN(ctx, ctx);
    GIVEN(ctx, path);
    TRY(strncmp(path, "gen:", 4) == 0 ? spmv_generate_peek(ctx, path + 4, &about)
                                      : spmv_read_header(ctx, path, &about));
    return spmv_fill(ctx, "spmv_stats", &about, sizeof about, out);
}

spmv_status spmv_file_list(spmv_ctx *ctx, const char *path, char *text, size_t size) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(ctx, ctx);
    GIVEN(ctx, path);
    GIVEN(ctx, text);
    if (size == 0) return spmv_fail(ctx, SPMV_E_ARG, "%s: size is 0", __func__);
    return spmv_list_file(ctx, path, text, size);
}

spmv_status spmv_mat_save(const spmv_mat *mat, const char *path) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_csr_view view = SPMV_OPTS(spmv_csr_view);
    GIVEN(NULL, mat);
    GIVEN(mat->ctx, path);
    TRY(spmv_mat_rows(mat, &view));
    return spmv_write_matrix(mat->ctx, path, &view, mat->coo.field);
}

spmv_status spmv_vector_load(spmv_ctx *ctx, const char *path, int64_t *n, double **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, path);
    GIVEN(ctx, n);
    return spmv_read_vector(ctx, path, n, out);
}

spmv_status spmv_vector_save(spmv_ctx *ctx, const char *path, int64_t n, const double *x) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(ctx, ctx);
    GIVEN(ctx, path);
    if (n < 0) return spmv_fail(ctx, SPMV_E_ARG, "%s: n is %lld", __func__, (long long)n);
    if (n > 0) GIVEN(ctx, x);
    return spmv_write_vector(ctx, path, n, x);
}

/* ---- plans ---------------------------------------------------------------------------------- */

/* Returns the context's device of a backend, which may be closed. */
static spmv_device *device_of(spmv_ctx *ctx, const spmv_backend *backend) {
    int b = 0;
    while (spmv_backends[b] != backend) b++;
    return &ctx->device[b];
}

static spmv_status create_one(spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id,
                              spmv_plan **out) {
    *out = NULL;
    return id.index == SPMV_AUTO && !mat->live ? spmv_auto_plan(mat, opts, id.backend, out)
                                               : spmv_plan_make(mat, opts, false, out);
}

/* Creates a plan for the transpose. A symmetric matrix is multiplied as it is; a kernel that can
 * multiply by the transpose gets the matrix itself; otherwise the plan is of the transposed
 * matrix. */
static spmv_status create_transposed(spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id,
                                     spmv_plan **out) {
    spmv_plan_opts as_is = *opts, transposed = *opts;
    spmv_mat *T;
    as_is.op = SPMV_AS_IS;
    transposed.op = SPMV_TRANSPOSE;
    if (mat->live || (mat->coo.symmetry == SPMV_GENERAL && id.index != SPMV_AUTO &&
                      id.backend->kernels[id.index][0]->traits & SPMV_TRANSPOSES))
        return spmv_plan_make(mat, &transposed, false, out);
    if (mat->coo.symmetry == SPMV_GENERAL && id.index == SPMV_AUTO &&
        spmv_auto_unturned(mat, &transposed, id.backend, out))
        return SPMV_OK;
    TRY(spmv_transpose_of(mat, &T));
    TRY(create_one(T, &as_is, id, out));
    (*out)->op = SPMV_TRANSPOSE;
    return SPMV_OK;
}

static spmv_status create_both(spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id,
                               spmv_plan **out) {
    spmv_plan_opts as_is = *opts;
    as_is.op = SPMV_AS_IS;
    TRY(create_one(mat, &as_is, id, out));
    (*out)->op = SPMV_BOTH;
    if (mat->coo.symmetry != SPMV_GENERAL) return SPMV_OK;
    const spmv_status status = create_transposed(mat, opts, id, &(*out)->other);
    if (status == SPMV_OK) return SPMV_OK;
    spmv_plan_free(*out);
    *out = NULL;
    return status;
}

static spmv_status create(spmv_mat *mat, const spmv_plan_opts *opts, spmv_kernel_id id,
                          spmv_plan **out) {
    if (mat->live) TRY(spmv_volatile_check(mat, opts, id));
    if (opts->op != SPMV_TRANSPOSE && opts->op != SPMV_BOTH) return create_one(mat, opts, id, out);
    const spmv_status status = opts->op == SPMV_BOTH ? create_both(mat, opts, id, out)
                                                     : create_transposed(mat, opts, id, out);
    spmv_transpose_settle(mat);
    return status;
}

/* Returns the free bytes of the plan's device. Asking a host takes longer than creating a small
 * plan, which uses a recent answer. */
static size_t free_bytes_for(const spmv_plan *plan) {
    enum { SMALL = 1 << 20 };
    const spmv_backend *backend = plan->device->backend;
    if (backend->host && spmv_store_bytes(plan->host) < SMALL) return spmv_host_free_bytes_lately();
    return backend->free_bytes(plan->device);
}

spmv_status spmv_plan_create(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    const double start = spmv_now();
    spmv_plan_opts known = SPMV_OPTS(spmv_plan_opts);
    spmv_kernel_id id;
    int variant;
    GIVEN(mat ? mat->ctx : NULL, out);
    *out = NULL;
    GIVEN(NULL, mat);
    if (mat->freed) return spmv_fail(mat->ctx, SPMV_E_ARG, "%s: mat was freed", __func__);
    TRY(spmv_read_opts(mat->ctx, "spmv_plan_opts", &known, sizeof known, opts));
    if (known.nsettings < 0)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "spmv_plan_opts.nsettings is %d, must be 0 or more",
                         known.nsettings);
    if (known.nsettings > 0 && !known.settings)
        return spmv_fail(mat->ctx, SPMV_E_ARG, "spmv_plan_opts.settings is NULL, and nsettings %d",
                         known.nsettings);
    TRY(spmv_plan_kernel(mat->ctx, known.kernel, &id));
    spmv_device *device = device_of(mat->ctx, id.backend);
    const size_t there = device->most = device->used, here = spmv_host_watch();
    TRY(spmv_plan_variant(mat, &known, &variant)); /* fails for invalid options */
    TRY(create(mat, &known, id, out));
    const size_t most = spmv_host_most(); /* another thread may have restarted the measurement */
    (*out)->peak_host = most > here ? most - here : 0;
    (*out)->peak_device = device->most - there;
    if (!mat->live) (*out)->free_bytes = free_bytes_for(*out);
    (*out)->made_s = spmv_now() - start;
    return SPMV_OK;
}
