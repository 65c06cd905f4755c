/* load.c: reads and writes files of any format: opens a file, recognises its format by the first
 * bytes, and chooses a variable. Input from a pipe or an archive is read into memory first unless
 * it is Matrix Market. */
#include "market/mmio.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

spmv_status mm_recognise(opened *o) {
    reader *r = o->r;
    TRY(mm_peek(r));
    o->format = spmv_file_format_of(r->carry, r->ncarry);
    if (!o->format) return mm_begin(r);
    o->bytes = (spmv_bytes){.ctx = r->ctx, .path = r->path, .fd = r->fd, .size = r->bytes};
    if (r->bytes < 0) {
        TRY(mm_read_whole(r, &o->text, &o->bytes.size));
        o->bytes.memory = (const unsigned char *)o->text;
    }
    return o->format->list(&o->bytes, &o->contents);
}

void mm_shut(opened *o) {
    spmv_contents_free(&o->contents);
    free(o->text);
}

static void shut(opened *o) {
    if (!o->r) return;
    mm_shut(o);
    mm_end(o->r);
    free(o->r);
}

static spmv_status open_file(spmv_ctx *ctx, const char *path, int threads, bool header_only,
                             opened *o) {
    *o = (opened){.r = calloc(1, sizeof *o->r)};
    if (!o->r) return spmv_no_memory_for(ctx, path);
    o->r->ctx = ctx;
    o->r->path = path;
    o->r->header_only = header_only;
    mm_prepare(o->r);
    spmv_status status = mm_open(o->r, threads);
    if (status == SPMV_OK) status = mm_recognise(o);
    if (status != SPMV_OK && !o->format && !header_only) return mm_suspect_archive(o->r, status);
    return status;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Appends a variable to a list in text. */
static void describe(const spmv_held *h, const char *before, char *text, size_t size) {
    const size_t n = strlen(text);
    char count[40] = "";
    if (!h->refused) snprintf(count, sizeof count, ", %" PRId64 " entries", spmv_held_count(h));
    snprintf(text + n, size - n, "%s%s%s%" PRId64 " x %" PRId64 " %s%s", n ? before : "", h->name,
             *h->name ? ": " : "", h->rows, h->cols,
             h->refused              ? h->refused
             : spmv_held_is_dense(h) ? "dense"
                                     : "sparse",
             count);
    for (char *c = text + n; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || *c == 127) *c = '?';
}

static bool is_vector(const spmv_held *h) {
    return h->symmetry == SPMV_GENERAL && (spmv_held_is_dense(h) || h->rows == 1 || h->cols == 1);
}

/* Returns a score of how well an unnamed variable fits; 0: not at all. */
static int suits(const spmv_held *h, bool vector) {
    if (h->refused || h->only_named) return 0;
    if (vector) return is_vector(h) ? 1 + spmv_held_is_dense(h) : 0;
    return 1 + !spmv_held_is_dense(h);
}

spmv_status mm_choose(const opened *o, bool vector, const spmv_held **out) {
    const spmv_contents *c = &o->contents;
    const char *name = o->r->variable;
    char list[600] = "";
    int best = 0, found = 0;
    *out = NULL;
    for (int k = 0; k < c->n; k++) {
        const spmv_held *h = &c->item[k];
        const int score = name ? strcmp(h->name, name) == 0 : suits(h, vector);
        if (!h->only_named && strlen(list) < sizeof list - 120)
            describe(h, "; ", list, sizeof list);
        if (score > best) best = score, found = 0;
        if (score && score == best) found++, *out = h;
    }
    if (found == 1 && !(*out)->refused) return SPMV_OK;
    if (found == 1)
        return spmv_refuse(&o->bytes, "%s %s, expected real, integer or pattern", name,
                           (*out)->refused);
    if (name)
        return spmv_refuse(&o->bytes, "no '%.64s' in %s: it holds %s", name, o->format->name,
                           *list ? list : "nothing");
    return spmv_refuse(&o->bytes,
                       "%s %s in %s; name one behind a colon, as in %s:NAME: it holds %s",
                       found ? "more than one" : "no", vector ? "vector" : "matrix",
                       o->format->name, o->bytes.path, *list ? list : "nothing");
}

/* ---- reading --------------------------------------------------------------------------------- */

static spmv_status read_opened(opened *o, spmv_progress progress, void *arg, spmv_lines *out) {
    const spmv_held *h;
    reader *r = o->r;
    if (o->format) {
        TRY(mm_choose(o, false, &h));
        return spmv_held_read(&o->bytes, h, r->threads, progress, arg, out);
    }
    const spmv_status status = mm_suspect_archive(r, mm_read_coo(r, false, progress, arg));
    out->coo = r->coo;
    return status;
}

spmv_status spmv_read_matrix(spmv_ctx *ctx, const char *path, int threads, spmv_progress progress,
                             void *arg, spmv_lines *out) {
    opened o;
    *out = (spmv_lines){.ptr = NULL};
    spmv_status status = open_file(ctx, path, threads, false, &o);
    if (status == SPMV_OK) status = read_opened(&o, progress, arg, out);
    out->coo.ctx = ctx;
    if (status != SPMV_OK) spmv_lines_free(out);
    shut(&o);
    return status;
}

static spmv_stats stats_of(int64_t rows, int64_t cols, int64_t n, spmv_field field,
                           spmv_symmetry symmetry) {
    return (spmv_stats){.rows = rows,
                        .cols = cols,
                        .nnz_file = n,
                        .nnz = n * (symmetry == SPMV_GENERAL ? 1 : 2),
                        .field = field,
                        .symmetry = symmetry};
}

spmv_status spmv_read_header(spmv_ctx *ctx, const char *path, spmv_stats *out) {
    opened o;
    const spmv_held *h = NULL;
    spmv_status status = open_file(ctx, path, 1, true, &o);
    if (status == SPMV_OK && o.format) status = mm_choose(&o, false, &h);
    if (status == SPMV_OK)
        *out = h ? stats_of(h->rows, h->cols, spmv_held_count(h), spmv_held_field(h), h->symmetry)
                 : stats_of(o.r->rows, o.r->cols, o.r->entries, o.r->field, o.r->symmetry);
    shut(&o);
    return status;
}

spmv_status spmv_list_file(spmv_ctx *ctx, const char *path, char *text, size_t size) {
    opened o;
    *text = 0;
    const spmv_status status = open_file(ctx, path, 1, true, &o);
    for (int k = 0; status == SPMV_OK && k < o.contents.n && strlen(text) + 1 < size; k++)
        if (!o.contents.item[k].only_named) describe(&o.contents.item[k], "\n", text, size);
    shut(&o);
    return status;
}

/* ---- vectors --------------------------------------------------------------------------------- */

/* Returns the dense vector of the entries, of length *n; is_array: the values are all elements in
 * order. NULL: out of memory. */
static double *dense(const spmv_coo *coo, bool is_array, int64_t *n) {
    const bool column = coo->cols == 1;
    *n = column ? coo->rows : coo->cols;
    double *x = calloc((size_t)(*n ? *n : 1), sizeof *x);
    if (x && is_array && *n) memcpy(x, coo->values, (size_t)*n * sizeof *x);
    for (int64_t k = 0; x && !is_array && k < coo->nnz; k++)
        x[column ? coo->row[k] : coo->col[k]] += coo->values ? coo->values[k] : 1;
    return x;
}

static spmv_status vector_of(spmv_ctx *ctx, const char *path, const spmv_coo *coo, bool is_array,
                             int64_t *n, double **out) {
    int64_t numbers;
    *out = dense(coo, is_array, &numbers);
    if (*out) *n = numbers;
    return *out ? SPMV_OK : spmv_no_memory_for(ctx, path);
}

/* Reads the chosen variable as a vector in column-major order. */
static spmv_status read_variable(opened *o, int64_t *n, double **out) {
    const spmv_held *h;
    spmv_lines lines = {.ptr = NULL};
    spmv_ctx *ctx = o->r->ctx;
    TRY(mm_choose(o, true, &h));
    if (!is_vector(h))
        return spmv_refuse(&o->bytes,
                           "a matrix of %" PRId64 " rows and %" PRId64 " columns, "
                           "expected a vector: general, of one column or one row",
                           h->rows, h->cols);
    if (spmv_held_is_dense(h)) return spmv_held_vector(&o->bytes, h, n, out);
    TRY(spmv_host_fits(ctx, h->rows, h->cols, spmv_held_count(h),
                       8 * (double)h->rows * (double)h->cols));
    spmv_status status = spmv_held_read(&o->bytes, h, o->r->threads, NULL, NULL, &lines);
    if (status == SPMV_OK) status = spmv_lines_expand(&lines);
    if (status == SPMV_OK) status = vector_of(ctx, o->bytes.path, &lines.coo, false, n, out);
    spmv_lines_free(&lines);
    return status;
}

spmv_status spmv_read_vector(spmv_ctx *ctx, const char *path, int64_t *n, double **out) {
    opened o;
    *n = 0;
    *out = NULL;
    if (mm_is_raw_name(path)) return mm_read_raw(ctx, path, n, out);
    spmv_status status = open_file(ctx, path, ctx->threads, false, &o);
    if (status == SPMV_OK && o.format)
        status = read_variable(&o, n, out);
    else if (status == SPMV_OK) {
        status = mm_accept_vector(o.r);
        if (status == SPMV_OK) status = mm_read_coo(o.r, true, NULL, NULL);
        status = mm_suspect_archive(o.r, status);
        if (status == SPMV_OK) status = vector_of(ctx, path, &o.r->coo, !o.r->coordinate, n, out);
    }
    if (o.r) spmv_coo_free(&o.r->coo);
    shut(&o);
    if (status != SPMV_OK) *n = 0;
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

spmv_status spmv_write_matrix(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field) {
    const spmv_file_format *format = spmv_file_format_named(path);
    return format ? format->write(ctx, path, A, field)
                  : spmv_write_matrix_market(ctx, path, A, field);
}
