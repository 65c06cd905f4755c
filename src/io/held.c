/* held.c: the variables of a file: checks their arrays and makes a matrix's entries of them. */
#include "held.h"
#include "host/host.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- lists ----------------------------------------------------------------------------------- */

spmv_held *spmv_contents_add(const spmv_bytes *in, spmv_contents *to) {
    if (to->n == to->room) {
        const int room = 2 * to->room + 4;
        spmv_held *item = realloc(to->item, (size_t)room * sizeof *item);
        if (!item) {
            spmv_no_memory_for(in->ctx, in->path);
            return NULL;
        }
        to->item = item;
        to->room = room;
    }
    to->item[to->n] = (spmv_held){.name = ""};
    return &to->item[to->n++];
}

spmv_deflated *spmv_contents_pack(const spmv_bytes *in, spmv_contents *to,
                                  const spmv_deflated *like) {
    spmv_deflated *p = malloc(sizeof *p), **all = NULL;
    if (p) all = realloc(to->packed, ((size_t)to->npacked + 1) * sizeof *all);
    if (!all) {
        free(p);
        spmv_no_memory_for(in->ctx, in->path);
        return NULL;
    }
    *p = *like;
    p->in = in;
    p->state = NULL;
    to->packed = all;
    all[to->npacked++] = p;
    return p;
}

void spmv_contents_free(spmv_contents *c) {
    for (int k = 0; k < c->npacked; k++) {
        spmv_deflated_end(c->packed[k]);
        free(c->packed[k]);
    }
    if (c->close) c->close(c->handle);
    free(c->packed);
    free(c->item);
    *c = (spmv_contents){.item = NULL};
}

/* ---- what is wrong --------------------------------------------------------------------------- */

static void note(const spmv_bytes *in, const char *format, const char *what) {
    char *text = in->ctx->note;
    const size_t n = strlen(text), size = sizeof in->ctx->note;
    const int head = snprintf(text + n, size - n, "%s%s: ", n ? "\n" : "", in->path);
    if (head > 0 && n + (size_t)head < size)
        snprintf(text + n + head, size - n - (size_t)head, format, what);
}

static spmv_status check_indices(const spmv_wanted *w, int64_t used) {
    int64_t index = 0;
    if (w->found.bad >= used) return SPMV_OK;
    TRY(spmv_part_integers(w->part, w->found.bad, 1, &index));
    return spmv_refuse_element(w->part, w->found.bad, index, w->base, w->limit - 1 + w->base);
}

static void note_values(const spmv_part *values, const spmv_found *found, int64_t used) {
    if (found->bad < used)
        note(values->in, "the value inf or nan is read, here first: %s",
             spmv_name_element(values, found->bad).text);
    if (found->rounded < used)
        note(values->in, "an integer beyond 2^53 is read as the nearest double, here first: %s",
             spmv_name_element(values, found->rounded).text);
}

/* Converts the file's offsets, or lengths of lines, to offsets that begin with 0; fails unless they
 * ascend to at most `most`. */
static spmv_status settle_offsets(const spmv_held *h, int64_t lines, int64_t most, int64_t *ptr) {
    const bool lengths = h->shape == SPMV_HELD_LENGTHS;
    if (lengths) {
        for (int64_t i = lines; i > 0; i--) ptr[i] = ptr[i - 1];
        ptr[0] = 0;
    }
    for (int64_t i = 0; i <= lines; i++) {
        const int64_t before = i ? ptr[i - 1] : 0, given = ptr[i];
        if (lengths && i) {
            if (given < 0 || given > most - before)
                return spmv_refuse_element(&h->ptr, i - 1, given, 0, most - before);
            ptr[i] = before + given;
        } else if (!lengths) {
            const int64_t base = h->base + h->skipped, least = before + base,
                          last = i ? most + base : base;
            if (given < least || given > last)
                return spmv_refuse_element(&h->ptr, i, given, least, last);
            ptr[i] = given - base;
        }
    }
    return SPMV_OK;
}

static spmv_status check_size(const spmv_bytes *in, const char *what, int64_t size) {
    if (size >= 0 && size <= INT32_MAX) return SPMV_OK;
    if (size < 0)
        return spmv_refuse(in, "'%" PRId64 "' as the number of %s, expected an integer from 0",
                           size, what);
    return spmv_refuse(in,
                       "'%" PRId64 "' as the number of %s, expected at most %d: rows and "
                       "columns are numbered in 32 bits",
                       size, what, INT32_MAX);
}

static spmv_status check_length(const spmv_part *part, int64_t expected) {
    if (part->n == expected) return SPMV_OK;
    return spmv_refuse(part->in, "%" PRId64 " elements of %s, expected %" PRId64, part->n,
                       part->name, expected);
}

static spmv_status check_integers(const spmv_part *part) {
    if (!*part->name || part->as.kind == 'i' || part->as.kind == 'u') return SPMV_OK;
    return spmv_refuse(part->in, "%s that are no integers", part->name);
}

/* Returns the number of values per element of idx. */
static int64_t values_each(const spmv_held *h) {
    return h->shape == SPMV_HELD_BLOCKS      ? h->block_rows * h->block_cols
           : h->shape == SPMV_HELD_DIAGONALS ? h->width
                                             : 1;
}

static int64_t lines_of(const spmv_held *h) {
    return h->shape == SPMV_HELD_COLUMNS  ? h->cols
           : h->shape == SPMV_HELD_BLOCKS ? h->rows / h->block_rows
                                          : h->rows;
}

static bool is_compressed(const spmv_held *h) {
    return h->shape == SPMV_HELD_ROWS || h->shape == SPMV_HELD_LENGTHS ||
           h->shape == SPMV_HELD_COLUMNS || h->shape == SPMV_HELD_BLOCKS;
}

spmv_status spmv_held_check(const spmv_bytes *in, const spmv_held *h) {
    TRY(check_size(in, "rows", h->rows));
    TRY(check_size(in, "columns", h->cols));
    if (h->symmetry != SPMV_GENERAL && h->rows != h->cols)
        return spmv_refuse(in,
                           "a symmetric matrix of %" PRId64 " rows and %" PRId64
                           " columns, expected as many columns as rows",
                           h->rows, h->cols);
    if (spmv_held_is_dense(h)) return check_length(&h->values, h->rows * h->cols);
    TRY(check_integers(&h->ptr));
    TRY(check_integers(&h->line));
    TRY(check_integers(&h->idx));
    if (h->shape == SPMV_HELD_BLOCKS &&
        (h->block_rows < 1 || h->block_cols < 1 || h->block_rows > INT32_MAX ||
         h->block_cols > INT32_MAX || h->rows % h->block_rows || h->cols % h->block_cols))
        return spmv_refuse(
            in, "blocks of %" PRId64 " x %" PRId64 " in a matrix of %" PRId64 " x %" PRId64,
            h->block_rows, h->block_cols, h->rows, h->cols);
    if (h->shape == SPMV_HELD_DIAGONALS && (h->width < 0 || h->width > INT32_MAX))
        return check_size(in, "columns", h->width);
    if (is_compressed(h)) TRY(check_length(&h->ptr, lines_of(h) + (h->shape != SPMV_HELD_LENGTHS)));
    if (h->shape == SPMV_HELD_ENTRIES) TRY(check_length(&h->line, h->idx.n));
    const int64_t each = values_each(h);
    if (*h->values.name && each && (h->values.n % each || h->values.n / each != h->idx.n) &&
        /* SciPy's arrays may be longer than the last offset says */
        !(is_compressed(h) && each == 1))
        return check_length(&h->values, h->idx.n * each);
    return SPMV_OK;
}

static bool has_single_values(const spmv_held *h) {
    return !spmv_held_is_dense(h) && h->shape != SPMV_HELD_BLOCKS &&
           h->shape != SPMV_HELD_DIAGONALS;
}

int64_t spmv_held_count(const spmv_held *h) {
    const bool has_values = *h->values.name && !h->values.same;
    if (!has_single_values(h)) return h->values.n;
    return has_values && h->values.n < h->idx.n ? h->values.n : h->idx.n;
}

/* ---- to entries ------------------------------------------------------------------------------ */

typedef struct arrays { /* the file's arrays in the types of the matrix */
    int64_t *ptr;
    int32_t *line, *idx;
    double *values;
    bool is_checked, ascends; /* whether indices ascend in each line, if that is known */
} arrays;

static void free_arrays(spmv_ctx *ctx, arrays *a) {
    spmv_host_give(ctx, a->ptr);
    spmv_host_give(ctx, a->line);
    spmv_host_give(ctx, a->idx);
    spmv_host_give(ctx, a->values);
    *a = (arrays){0};
}

static int64_t limit_of(const spmv_held *h) {
    return h->shape == SPMV_HELD_COLUMNS  ? h->rows
           : h->shape == SPMV_HELD_BLOCKS ? h->cols / h->block_cols
                                          : h->cols;
}

/* Returns the number of entries, or of blocks, that the arrays have room for. */
static int64_t entries_of(const spmv_held *h) {
    return has_single_values(h) || spmv_held_is_dense(h) ? spmv_held_count(h) : h->idx.n;
}

/* Allocates an array and appends it to the list of arrays to read; NULL: out of memory. */
static void *want(spmv_ctx *ctx, const spmv_part *part, spmv_role role, int64_t n, spmv_wanted *all,
                  int *count) {
    const size_t width = role == SPMV_INDICES ? sizeof(int32_t) : sizeof(int64_t);
    void *to = spmv_host_take(ctx, (size_t)n * width);
    all[(*count)++] = (spmv_wanted){.part = part, .role = role, .to = to, .n = n};
    return to;
}

static spmv_status make_offsets(const spmv_held *h, arrays *out, int64_t *n) {
    TRY(settle_offsets(h, lines_of(h), *n, out->ptr));
    *n = out->ptr[lines_of(h)];
    return SPMV_OK;
}

/* Reads the offsets of compressed lines before the indices, which are then checked with them; does
 * nothing if the arrays must be read in the order of the file. */
static spmv_status read_offsets(const spmv_bytes *in, const spmv_held *h, int threads, arrays *out,
                                int64_t *n) {
    spmv_wanted w;
    int count = 0;
    if (!is_compressed(h) || !spmv_part_is_random(&h->ptr) || !spmv_part_is_random(&h->idx))
        return SPMV_OK;
    out->ptr = want(in->ctx, &h->ptr, SPMV_OFFSETS, lines_of(h) + 1, &w, &count);
    if (!out->ptr) return spmv_no_memory_for(in->ctx, in->path);
    w.n = h->ptr.n;
    TRY(spmv_read_arrays(in, &w, 1, threads, NULL, NULL));
    return make_offsets(h, out, n);
}

/* Reads the arrays of a variable that `out` lacks, except the offsets of diagonals. *n: number of
 * entries or blocks. */
static spmv_status read_arrays(const spmv_bytes *in, const spmv_held *h, int threads,
                               spmv_progress progress, void *arg, arrays *out, int64_t *n) {
    spmv_ctx *ctx = in->ctx;
    const bool dense = spmv_held_is_dense(h), has_offsets = out->ptr;
    const int64_t each = dense ? 1 : values_each(h), lines = lines_of(h);
    spmv_wanted all[4];
    int count = 0;
    if (is_compressed(h) && !has_offsets) {
        out->ptr = want(ctx, &h->ptr, SPMV_OFFSETS, lines + 1, all, &count);
        all[0].n = h->ptr.n;
    }
    if (h->shape == SPMV_HELD_ENTRIES) {
        out->line = want(ctx, &h->line, SPMV_INDICES, *n, all, &count);
        all[count - 1].base = h->base, all[count - 1].limit = h->rows;
    }
    if (!dense && h->shape != SPMV_HELD_DIAGONALS) {
        out->idx = want(ctx, &h->idx, SPMV_INDICES, *n, all, &count);
        all[count - 1].base = h->base, all[count - 1].limit = limit_of(h);
        if (has_offsets) all[count - 1].ptr = out->ptr, all[count - 1].lines = lines;
    }
    if (*h->values.name) out->values = want(ctx, &h->values, SPMV_VALUES, *n * each, all, &count);
    for (int k = 0; k < count; k++)
        if (!all[k].to) return spmv_no_memory_for(ctx, in->path);
    TRY(spmv_read_arrays(in, all, count, threads, progress, arg));
    if (out->ptr && !has_offsets) TRY(make_offsets(h, out, n));
    for (int k = 0; k < count; k++)
        if (all[k].role == SPMV_INDICES) {
            TRY(check_indices(&all[k], *n));
            out->is_checked = all[k].ptr;
            out->ascends = all[k].descents == 0;
        }
    if (*h->values.name) note_values(&h->values, &all[count - 1].found, *n * each);
    return SPMV_OK;
}

/* Reads compressed columns as compressed rows if the arrays allow it: *done. */
static spmv_status read_columns(const spmv_bytes *in, const spmv_held *h, int threads,
                                const arrays *a, spmv_lines *out, bool *done) {
    spmv_found found;
    const int64_t n = out->coo.nnz;
    *done = false;
    if (h->shape != SPMV_HELD_COLUMNS || h->symmetry != SPMV_GENERAL || !a->ptr ||
        !*h->values.name || !spmv_part_is_random(&h->values) || n > UINT32_MAX || n < h->rows)
        return SPMV_OK; /* n < rows: the counts would need more memory than the entries */
    TRY(spmv_read_columns(in, h, a->ptr, threads, &found, out, done));
    if (*done) note_values(&h->values, &found, n);
    out->from_columns = out->is_checked = out->ascends = *done;
    return SPMV_OK;
}

/* Returns the line number of each entry. */
static int32_t *lines_of_entries(spmv_ctx *ctx, const int64_t *ptr, int64_t lines, int threads) {
    int32_t *line = spmv_host_take(ctx, (size_t)ptr[lines] * sizeof *line);
    if (!line) return NULL;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) line[k] = (int32_t)i;
    return line;
}

/* Removes the entries below the diagonal; returns the number of entries left. */
static int64_t keep_upper(arrays *a, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        if (a->idx[k] < a->line[k]) continue;
        a->line[kept] = a->line[k];
        a->idx[kept] = a->idx[k];
        if (a->values) a->values[kept] = a->values[k];
        kept++;
    }
    return kept;
}

/* Adds a note if a square matrix has entries above the diagonal and none below: the file may hold
 * half of a symmetric matrix. */
static void note_half(const spmv_bytes *in, const spmv_held *h, const arrays *a) {
    bool above = false;
    if (!h->may_be_half || h->rows != h->cols) return;
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            if (a->idx[k] < i) return;
            above |= a->idx[k] > i;
        }
    if (above)
        note(in,
             "no entry is below the diagonal; if the file holds half of a symmetric matrix, as "
             "PETSc writes one of the type sbaij, add %s to its name",
             ":symmetric");
}

/* Moves the arrays of compressed lines to `out`; those of a symmetric matrix become entries. */
static spmv_status take_compressed(const spmv_bytes *in, const spmv_held *h, int threads, arrays *a,
                                   spmv_lines *out) {
    const bool by_columns = h->shape == SPMV_HELD_COLUMNS;
    if (h->symmetry == SPMV_GENERAL) {
        out->ptr = a->ptr;
        out->by_columns = by_columns;
        out->is_checked = a->is_checked;
        out->ascends = a->ascends;
    } else {
        a->line = lines_of_entries(in->ctx, a->ptr, lines_of(h), threads);
        if (!a->line) return spmv_no_memory_for(in->ctx, in->path);
        spmv_host_give(in->ctx, a->ptr);
        if (h->upper_half) out->coo.nnz = keep_upper(a, out->coo.nnz);
    }
    out->coo.row = by_columns && !out->ptr ? a->idx : a->line;
    /* for compressed lines, their indices */
    out->coo.col = by_columns && !out->ptr ? a->line : a->idx;
    out->coo.values = a->values;
    *a = (arrays){0};
    return SPMV_OK;
}

static void expand_blocks(const spmv_held *h, int threads, const arrays *a, spmv_coo *out) {
    const int64_t height = h->block_rows, width = h->block_cols, each = height * width;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < h->rows / height; i++)
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
            for (int64_t b = 0; b < each; b++) {
                const int64_t to = k * each + b, r = b / width, c = b % width;
                out->row[to] = (int32_t)(i * height + r);
                out->col[to] = (int32_t)(a->idx[k] * width + c);
                if (a->values)
                    out->values[to] =
                        a->values[h->first_fastest ? (c * height + r) * h->idx.n + k : to];
            }
}

/* Converts diagonals to entries and returns their number; out NULL: only counts. Elements outside
 * the matrix are skipped, and stored zeros, which SciPy drops as well. */
static int64_t expand_diagonals(const spmv_held *h, const int64_t *offset, const double *values,
                                spmv_coo *out) {
    int64_t n = 0;
    for (int64_t d = 0; d < h->idx.n; d++)
        for (int64_t j = 0; j < h->width && j < h->cols; j++) {
            const double value = values[h->first_fastest ? j * h->idx.n + d : d * h->width + j];
            if (j < offset[d] || j - offset[d] >= h->rows || value == 0) continue;
            if (out) {
                out->row[n] = (int32_t)(j - offset[d]);
                out->col[n] = (int32_t)j;
                out->values[n] = value;
            }
            n++;
        }
    return n;
}

static spmv_status take_diagonals(const spmv_bytes *in, const spmv_held *h, const arrays *a,
                                  spmv_coo *out) {
    int64_t *offset = malloc((size_t)(h->idx.n + 1) * sizeof *offset);
    spmv_status status = offset ? spmv_part_integers(&h->idx, 0, h->idx.n, offset)
                                : spmv_no_memory_for(in->ctx, in->path);
    for (int64_t d = 0; status == SPMV_OK && d < h->idx.n; d++)
        if (offset[d] < -(int64_t)INT32_MAX || offset[d] > INT32_MAX)
            status = spmv_refuse(in, "%s that is %" PRId64 ", expected a diagonal of the matrix",
                                 spmv_name_element(&h->idx, d).text, offset[d]);
    if (status == SPMV_OK) {
        out->nnz = expand_diagonals(h, offset, a->values, NULL);
        status = spmv_coo_alloc(in->ctx, out, true);
    }
    if (status == SPMV_OK) expand_diagonals(h, offset, a->values, out);
    free(offset);
    return status;
}

static void place_dense(const spmv_held *h, int threads, spmv_coo *out) {
    const bool by_rows = h->shape == SPMV_HELD_BY_ROWS;
    const int64_t length = by_rows ? h->cols : h->rows;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < out->nnz; k++) {
        out->row[k] = (int32_t)(by_rows ? k / length : k % length);
        out->col[k] = (int32_t)(by_rows ? k % length : k / length);
    }
}

/* Converts diagonals, blocks and dense matrices to entries. */
static spmv_status take_others(const spmv_bytes *in, const spmv_held *h, int threads, int64_t n,
                               arrays *a, spmv_lines *out) {
    spmv_coo *coo = &out->coo;
    if (h->shape == SPMV_HELD_DIAGONALS) return take_diagonals(in, h, a, coo);
    coo->nnz = n * (h->shape == SPMV_HELD_BLOCKS ? h->block_rows * h->block_cols : 1);
    TRY(spmv_coo_alloc(in->ctx, coo, a->values));
    if (h->shape == SPMV_HELD_BLOCKS) {
        expand_blocks(h, threads, a, coo);
        return SPMV_OK;
    }
    place_dense(h, threads, coo);
    spmv_host_give(in->ctx, coo->values);
    coo->values = a->values;
    a->values = NULL;
    return SPMV_OK;
}

spmv_status spmv_lines_expand(spmv_lines *lines) {
    spmv_coo *coo = &lines->coo;
    const int64_t n = lines->by_columns ? coo->cols : coo->rows;
    if (!lines->ptr) return SPMV_OK;
    int32_t *line = lines_of_entries(coo->ctx, lines->ptr, n, spmv_threads_for(coo->ctx, coo->nnz));
    if (!line) return spmv_fail(coo->ctx, SPMV_E_NOMEM, "out of memory for a matrix's entries");
    coo->row = lines->by_columns ? coo->col : line;
    coo->col = lines->by_columns ? line : coo->col;
    spmv_host_give(coo->ctx, lines->ptr);
    lines->ptr = NULL;
    return SPMV_OK;
}

spmv_field spmv_held_field(const spmv_held *h) {
    if (!*h->values.name) return SPMV_PATTERN_FIELD;
    return h->values.as.kind == 'f' && !h->integers ? SPMV_REAL_FIELD : SPMV_INTEGER_FIELD;
}

/* Fails if the file's arrays and the entries made from them do not fit into the free memory. */
static spmv_status check_room(const spmv_bytes *in, const spmv_held *h) {
    const double n = (double)spmv_held_count(h), lines = (double)lines_of(h);
    const bool as_is = h->shape == SPMV_HELD_ROWS || h->shape == SPMV_HELD_LENGTHS;
    return spmv_host_fits(in->ctx, h->rows, h->cols, spmv_held_count(h),
                          (as_is ? 12 : 28) * n + 8 * lines);
}

spmv_status spmv_held_read(const spmv_bytes *in, const spmv_held *h, int threads,
                           spmv_progress progress, void *arg, spmv_lines *out) {
    arrays a = {0};
    *out = (spmv_lines){.ptr = NULL};
    TRY(spmv_held_check(in, h));
    TRY(check_room(in, h));
    out->coo = (spmv_coo){.rows = h->rows,
                          .cols = h->cols,
                          .symmetry = h->symmetry,
                          .field = spmv_held_field(h),
                          .ctx = in->ctx};
    bool done = false;
    int64_t n = entries_of(h);
    spmv_status status = read_offsets(in, h, threads, &a, &n);
    out->coo.nnz = n;
    if (status == SPMV_OK) status = read_columns(in, h, threads, &a, out, &done);
    if (status == SPMV_OK && !done) status = read_arrays(in, h, threads, progress, arg, &a, &n);
    out->coo.nnz = n;
    if (status != SPMV_OK || done) {
        free_arrays(in->ctx, &a);
        return status;
    }
    if (h->shape == SPMV_HELD_ENTRIES) {
        out->coo.row = a.line;
        out->coo.col = a.idx;
        out->coo.values = a.values;
        return SPMV_OK;
    }
    note_half(in, h, &a);
    if (is_compressed(h) && h->shape != SPMV_HELD_BLOCKS)
        status = take_compressed(in, h, threads, &a, out);
    else
        status = take_others(in, h, threads, n, &a, out);
    free_arrays(in->ctx, &a);
    return status;
}

spmv_status spmv_held_vector(const spmv_bytes *in, const spmv_held *h, int64_t *n, double **out) {
    arrays a = {0};
    TRY(spmv_held_check(in, h));
    TRY(spmv_host_fits(in->ctx, h->rows, h->cols, h->values.n, 24 * (double)h->values.n));
    *n = entries_of(h);
    spmv_status status = read_arrays(in, h, in->ctx->threads, NULL, NULL, &a, n);
    double *x = status == SPMV_OK ? malloc((size_t)(*n ? *n : 1) * sizeof *x) : NULL;
    if (status == SPMV_OK && !x) status = spmv_no_memory_for(in->ctx, in->path);
    const bool by_rows = h->shape == SPMV_HELD_BY_ROWS;
    for (int64_t k = 0; x && k < *n; k++)
        x[by_rows ? k % h->cols * h->rows + k / h->cols : k] = a.values[k];
    free_arrays(in->ctx, &a);
    *out = x;
    return status;
}
