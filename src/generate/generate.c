/* generate.c: built-in matrices gen:NAME:ARGS: parses the specification, then generates all rows or
 * a range of rows in two parallel passes: count, fill. */
#include "generate.h"
#include "host/context.h"
#include "host/host.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "spmv_pieces.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#define GENERATOR(name, args, summary) {#name, args, summary},
static const spmv_generator generators[] = {
#include "generators.def"
};
#undef GENERATOR

#define GENERATOR(name, args, summary) spmv_recipe_##name,
static spmv_status (*const read_args[])(const spmv_args *args, spmv_recipe *r) = {
#include "generators.def"
};
#undef GENERATOR

enum { NGENERATORS = sizeof generators / sizeof *generators };

const spmv_generator *spmv_generator_list(int *count) {
    *count = NGENERATORS;
    return generators;
}

/* ---- the spec ------------------------------------------------------------------------------- */

static spmv_status unknown_name(spmv_ctx *ctx, const char *spec, int length) {
    const char *names[NGENERATORS + 1];
    char name[64], all[512];
    size_t used = 0;
    snprintf(name, sizeof name, "%.*s", length, spec);
    for (int g = 0; g < NGENERATORS; g++) {
        names[g] = generators[g].name;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", g ? ", " : "", names[g]);
    }
    names[NGENERATORS] = NULL;
    const char *nearest = spmv_nearest(name, names);
    return spmv_fail(ctx, SPMV_E_ARG, "gen:%.100s: no generator '%s'%s%s%s there are %s", spec,
                     name, nearest ? ": did you mean '" : "", nearest ? nearest : "",
                     nearest ? "'? Otherwise" : ";", all);
}

/* Parses NAME and its arguments. A ':' or, after the first argument, an 'x' precedes an
 * argument. */
static spmv_status read_spec(spmv_ctx *ctx, const char *spec, spmv_args *args, spmv_recipe *r) {
    int length = (int)strcspn(spec, ":"), g = 0;
    while (g < NGENERATORS && (strlen(generators[g].name) != (size_t)length ||
                               strncmp(generators[g].name, spec, (size_t)length) != 0))
        g++;
    if (g == NGENERATORS) return unknown_name(ctx, spec, length);
    *args = (spmv_args){.ctx = ctx, .spec = spec, .generator = &generators[g]};
    for (const char *separator = spec + length; *separator;) {
        const char *text = separator + 1;
        length = (int)strcspn(text, ":x");
        if (args->count == SPMV_MOST_ARGS)
            return spmv_args_refuse(args, "'%.*s' is one argument too many", length, text);
        args->text[args->count] = text;
        args->length[args->count++] = length;
        separator = text + length;
    }
    return read_args[g](args, r);
}

/* ---- values --------------------------------------------------------------------------------- */

enum { MOST_DISTINCT = 65536 };
typedef struct values {
    enum { CONSTANT, RANDOM, SYMMETRIC, FEW, PATTERN } rule;
    uint64_t key;
    double diagonal, others; /* rule CONSTANT */
    int64_t ndistinct;       /* rule FEW */
    double *distinct;        /* [ndistinct] */
} values;

/* Returns a value in (-1, 1) from the high 54 of 64 random bits. The lowest of these bits is set:
 * the value is never 0 and, like a measured value, has no trailing zeros, which would favour
 * formats that compress values. */
static double unit_value(uint64_t bits) {
    int64_t odd = (int64_t)(bits >> 10 | 1);
    return (double)(odd - ((int64_t)1 << 53)) * 0x1p-53;
}

/* Creates ndistinct values. 16 of the 54 bits are the index of the value, so that no two values are
 * equal. */
static spmv_status make_distinct(spmv_ctx *ctx, values *v) {
    const uint64_t field = (uint64_t)(MOST_DISTINCT - 1) << 18;
    v->distinct = spmv_host_alloc((size_t)v->ndistinct * sizeof *v->distinct);
    if (!v->distinct)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for %lld values",
                         (long long)v->ndistinct);
    for (int64_t j = 0; j < v->ndistinct; j++)
        v->distinct[j] = unit_value((spmv_hash(~v->key, (uint64_t)j) & ~field) | (uint64_t)j << 18);
    return SPMV_OK;
}

static bool read_count(const char *text, int64_t most, int64_t *out) {
    int64_t value = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || value > most) return false;
        value = 10 * value + (*c - '0');
    }
    *out = value;
    return value >= 1 && value <= most;
}

/* Returns a value with a_ij = a_ji. */
static double symmetric_value(const values *v, int32_t i, int32_t j) {
    return unit_value(
        spmv_hash(spmv_hash(v->key, (uint64_t)(i < j ? i : j)), (uint64_t)(i < j ? j : i)));
}

static spmv_status read_values(spmv_ctx *ctx, const char *spec, const char *text,
                               const spmv_recipe *r, values *v) {
    v->rule = r->constant ? CONSTANT : RANDOM;
    v->diagonal = r->diagonal;
    v->others = r->others;
    v->key = spmv_hash(r->key, UINT64_MAX - 1);
    if (!text) return SPMV_OK;
    v->rule = RANDOM;
    if (strcmp(text, "random") == 0) return SPMV_OK;
    v->rule = PATTERN;
    if (strcmp(text, "pattern") == 0) return SPMV_OK;
    v->rule = SYMMETRIC;
    if (strcmp(text, "symmetric") == 0) {
        if (r->rows == r->cols) return SPMV_OK;
        return spmv_fail(ctx, SPMV_E_ARG, "gen:%.100s: values=symmetric is for square matrices",
                         spec);
    }
    v->rule = FEW;
    if (strncmp(text, "few:", 4) == 0 && read_count(text + 4, MOST_DISTINCT, &v->ndistinct))
        return make_distinct(ctx, v);
    return spmv_fail(ctx, SPMV_E_ARG,
                     "gen:%.100s: no values '%.60s'; there are random, symmetric, few:K (K from 1 "
                     "to %d), pattern",
                     spec, text, MOST_DISTINCT);
}

/* Fills values of entries k to end - 1, whose rows and columns are set. position: index of entry 0
 * in the whole matrix; a value depends on this index, not on the thread or rank that computes
 * it. */
static void fill_values(const values *v, spmv_coo *A, int64_t position, int64_t k, int64_t end) {
    switch (v->rule) {
    case CONSTANT:
        for (; k < end; k++) A->values[k] = A->row[k] == A->col[k] ? v->diagonal : v->others;
        break;
    case RANDOM:
        for (; k < end; k++) A->values[k] = unit_value(spmv_hash(v->key, (uint64_t)(position + k)));
        break;
    case SYMMETRIC:
        for (; k < end; k++) A->values[k] = symmetric_value(v, A->row[k], A->col[k]);
        break;
    case FEW:
        for (; k < end; k++)
            A->values[k] =
                v->distinct[spmv_below(spmv_hash(v->key, (uint64_t)(position + k)), v->ndistinct)];
        break;
    case PATTERN: break;
    }
}

/* ---- the two passes ------------------------------------------------------------------------- */

struct spmv_making {
    spmv_ctx *ctx;
    spmv_recipe r;
    values v;
    char spec[128];
    bool prepared; /* the recipe's table is prepared for rows first to end - 1 */
};

/* Computes the length of each row. Costs of rows differ, with R-MAT by a factor of thousands, so
 * that threads take blocks of rows dynamically. */
static void count_rows(const spmv_recipe *r, int32_t *scratch, int64_t *length) {
#pragma omp parallel for schedule(dynamic, 512) num_threads(r->threads)
    for (int64_t i = r->first; i < r->end; i++)
        length[i - r->first] =
            r->row_length ? r->row_length(r, i)
                          : r->fill_row(r, i, 0, NULL, scratch + omp_get_thread_num() * r->scratch);
}

/* Prefix sum: row_ptr[1...] holds row lengths on entry, offsets on return. Each thread sums its
 * share, then adds the total of earlier shares. part [threads + 1]. */
static void sum_counts(int64_t rows, int threads, int64_t *row_ptr, int64_t *part) {
#pragma omp parallel num_threads(threads)
    {
        int team = omp_get_num_threads(), me = omp_get_thread_num();
        int64_t first = spmv_split(rows, team, me), end = spmv_split(rows, team, me + 1), sum = 0;
        for (int64_t i = first; i < end; i++) row_ptr[i + 1] = sum += row_ptr[i + 1];
        part[me + 1] = sum;
#pragma omp barrier
#pragma omp single
        {
            part[0] = row_ptr[0] = 0;
            for (int t = 0; t < team; t++) part[t + 1] += part[t];
        }
        for (int64_t i = first; i < end; i++) row_ptr[i + 1] += part[me];
    }
}

/* Returns the first row of chunk c. All chunks have equally many rows + entries, found by binary
 * search along the merge path. */
static int64_t chunk_start(const int64_t *row_ptr, int64_t rows, int64_t nchunks, int64_t c) {
    int64_t target = spmv_split(row_ptr[rows] + rows, nchunks, c), low = 0, high = rows;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (row_ptr[middle] + middle < target)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fills rows first to end - 1 of the recipe. row_ptr and A begin with row `first`; position: index
 * of this row's first entry in the whole matrix. */
static void fill_rows(const spmv_recipe *r, const values *v, int32_t *scratch,
                      const int64_t *row_ptr, int64_t position, spmv_coo *A) {
    enum {
        CHUNK = 32768
    }; /* entries per chunk: columns are still in cache when rows and values are written */
    const int64_t rows = r->end - r->first, nchunks = (row_ptr[rows] + rows) / CHUNK + 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(r->threads)
    for (int64_t c = 0; c < nchunks; c++) {
        int64_t first = chunk_start(row_ptr, rows, nchunks, c);
        int64_t end = chunk_start(row_ptr, rows, nchunks, c + 1);
        int32_t *own = scratch + omp_get_thread_num() * r->scratch;
        for (int64_t i = first; i < end; i++) {
            r->fill_row(r, r->first + i, row_ptr[i + 1] - row_ptr[i], A->col + row_ptr[i], own);
            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++)
                A->row[k] = (int32_t)(r->first + i);
        }
        fill_values(v, A, position, row_ptr[first], row_ptr[end]);
    }
}

/* Fails before allocation if the matrix exceeds 0.8 of the free memory: Linux overcommits and kills
 * the process that touches the memory. */
static spmv_status check_memory(const spmv_making *m, double share) {
    const spmv_recipe *r = &m->r;
    double bytes = share * (r->expected * (m->v.rule == PATTERN ? 8 : 16) + 8 * (double)r->rows +
                            r->extra_bytes);
    double limit = 0.8 * (double)spmv_host_free_bytes();
    if (bytes <= limit && bytes < (double)PTRDIFF_MAX) return SPMV_OK;
    return spmv_fail(m->ctx, SPMV_E_NOMEM,
                     "gen:%.100s: about %.3g entries need %.1f GB, limit %.1f GB", m->spec,
                     share * r->expected, 1e-9 * bytes, 1e-9 * limit);
}

static spmv_status lack_lengths(const spmv_making *m) {
    return spmv_fail(m->ctx, SPMV_E_NOMEM, "out of memory for the lengths of %lld rows",
                     (long long)(m->r.end - m->r.first));
}

/* Sets the range of rows and prepares the recipe's table for it. *scratch: memory for all threads,
 * freed by the caller. */
static spmv_status prepare(spmv_making *m, int64_t first, int64_t end, int32_t **scratch) {
    spmv_recipe *r = &m->r;
    *scratch = NULL;
    if (!m->prepared || first != r->first || end != r->end) {
        TRY(check_memory(m, r->rows ? (double)(end - first) / (double)r->rows : 1));
        spmv_host_free(r->table);
        r->table = NULL;
        r->first = first;
        r->end = end;
        if (r->prepare) TRY(r->prepare(m->ctx, r));
        m->prepared = true;
    }
    *scratch = spmv_host_alloc((size_t)r->threads * (size_t)r->scratch * sizeof **scratch);
    return *scratch ? SPMV_OK : lack_lengths(m);
}

spmv_status spmv_making_open(spmv_ctx *ctx, const char *spec, const spmv_load_opts *opts,
                             spmv_making **out) {
    spmv_args args;
    spmv_making *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    m->ctx = ctx;
    m->r.key = spmv_hash(opts->seed ? opts->seed : 1, 0);
    snprintf(m->spec, sizeof m->spec, "%s", spec);
    spmv_status status = read_spec(ctx, spec, &args, &m->r);
    if (status == SPMV_OK) status = read_values(ctx, spec, opts->values, &m->r, &m->v);
    m->r.threads = spmv_threads_for(ctx, (int64_t)m->r.expected + m->r.rows);
    if (status == SPMV_OK)
        *out = m;
    else
        spmv_making_close(m);
    return status;
}

void spmv_making_close(spmv_making *m) {
    if (!m) return;
    spmv_host_free(m->r.table);
    spmv_host_free(m->v.distinct);
    free(m);
}

int64_t spmv_making_size(const spmv_making *m, int64_t *rows, int64_t *cols, spmv_field *field) {
    *rows = m->r.rows;
    *cols = m->r.cols;
    *field = m->v.rule == PATTERN ? SPMV_PATTERN_FIELD : SPMV_REAL_FIELD;
    return (int64_t)m->r.expected;
}

spmv_status spmv_making_count(spmv_making *m, int64_t first, int64_t end, int64_t *length) {
    int32_t *scratch;
    const spmv_status status = prepare(m, first, end, &scratch);
    if (status == SPMV_OK) count_rows(&m->r, scratch, length);
    spmv_host_free(scratch);
    return status;
}

spmv_status spmv_making_fill(spmv_making *m, int64_t first, int64_t end, const int64_t *row_ptr,
                             int64_t position, const spmv_some_entries *out) {
    spmv_coo A = {.row = out->row, .col = out->col, .values = out->values};
    int32_t *scratch;
    const spmv_status status = prepare(m, first, end, &scratch);
    if (status == SPMV_OK) fill_rows(&m->r, &m->v, scratch, row_ptr, position, &A);
    for (int64_t k = 0;
         status == SPMV_OK && m->v.rule == PATTERN && A.values && k < row_ptr[end - first]; k++)
        A.values[k] = 1;
    spmv_host_free(scratch);
    return status;
}

/* ---- a whole matrix ------------------------------------------------------------------------- */

static spmv_status make_all(spmv_making *m, spmv_coo *A) {
    const int64_t rows = m->r.rows;
    const int threads = m->r.threads;
    spmv_field field;
    spmv_making_size(m, &A->rows, &A->cols, &field);
    A->field = field;
    A->symmetry = SPMV_GENERAL;
    m->r.end = rows;
    TRY(check_memory(m, 1));
    int64_t *row_ptr = spmv_host_alloc(((size_t)rows + 1) * sizeof *row_ptr);
    int64_t *part = spmv_host_alloc(((size_t)threads + 1) * sizeof *part);
    spmv_status status = row_ptr && part ? SPMV_OK : lack_lengths(m);
    if (status == SPMV_OK) status = spmv_making_count(m, 0, rows, row_ptr + 1);
    if (status == SPMV_OK) {
        sum_counts(rows, threads, row_ptr, part);
        A->nnz = row_ptr[rows];
        status = spmv_coo_alloc(m->ctx, A, field != SPMV_PATTERN_FIELD);
    }
    if (status == SPMV_OK) {
        const spmv_some_entries all = {A->nnz, A->row, A->col, A->values};
        status = spmv_making_fill(m, 0, rows, row_ptr, 0, &all);
    }
    spmv_host_free(part);
    spmv_host_free(row_ptr);
    return status;
}

spmv_status spmv_generate(spmv_ctx *ctx, const char *spec, uint64_t seed, const char *text,
                          int threads, spmv_coo *out) {
    const spmv_load_opts opts = {.size = sizeof opts, .seed = seed, .values = text};
    spmv_making *m;
    *out = (spmv_coo){0};
    TRY(spmv_making_open(ctx, spec, &opts, &m));
    m->r.threads = threads > 0 ? threads : 1;
    const spmv_status status = make_all(m, out);
    spmv_making_close(m);
    return status;
}

spmv_status spmv_generate_peek(spmv_ctx *ctx, const char *spec, spmv_stats *out) {
    spmv_args args;
    spmv_recipe r = {.threads = 1};
    TRY(read_spec(ctx, spec, &args, &r));
    out->rows = r.rows;
    out->cols = r.cols;
    out->nnz = (int64_t)r.expected;
    return SPMV_OK;
}
