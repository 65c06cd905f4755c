/* generate.c: gen:NAME:ARGS: reads the spec, then makes the rows in two parallel passes: count,
 * fill. */
#include "generate.h"
#include <omp.h>
#include <stdio.h>

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

/* NAME, then arguments, each after a ':' or, except the first, an 'x'. */
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
    double diagonal, others; /* CONSTANT */
    int64_t ndistinct;       /* FEW */
    double *distinct;        /* [ndistinct] */
} values;

/* -1 to 1, both excluded, from the high 54 of 64 random bits. The lowest is set: the value is never
 * 0 and cannot be told from a measured one by trailing zeros, which would flatter formats that
 * compress values. */
static double unit_value(uint64_t bits) {
    int64_t odd = (int64_t)(bits >> 10 | 1);
    return (double)(odd - ((int64_t)1 << 53)) * 0x1p-53;
}

/* 16 bits in the middle of the 54 are the number of the value: no two are equal. */
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

/* a_ij = a_ji where both stand. */
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
        return spmv_fail(ctx, SPMV_E_ARG, "gen:%.100s: --values=symmetric is for square matrices",
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

/* Entries k..end-1, whose row and column are known: a value depends on its position, not on who
 * makes it. */
static void fill_values(const values *v, spmv_coo *A, int64_t k, int64_t end) {
    switch (v->rule) {
    case CONSTANT:
        for (; k < end; k++) A->values[k] = A->row[k] == A->col[k] ? v->diagonal : v->others;
        break;
    case RANDOM:
        for (; k < end; k++) A->values[k] = unit_value(spmv_hash(v->key, (uint64_t)k));
        break;
    case SYMMETRIC:
        for (; k < end; k++) A->values[k] = symmetric_value(v, A->row[k], A->col[k]);
        break;
    case FEW:
        for (; k < end; k++)
            A->values[k] = v->distinct[spmv_below(spmv_hash(v->key, (uint64_t)k), v->ndistinct)];
        break;
    case PATTERN: break;
    }
}

/* ---- the two passes ------------------------------------------------------------------------- */

/* row_ptr[i + 1] = entries of row i. Rows differ in cost (R-MAT: by thousands), so threads fetch
 * them in blocks. */
static void count_rows(const spmv_recipe *r, int threads, int32_t *scratch, int64_t *row_ptr) {
    row_ptr[0] = 0;
#pragma omp parallel for schedule(dynamic, 512) num_threads(threads)
    for (int64_t i = 0; i < r->rows; i++)
        row_ptr[i + 1] =
            r->row_length ? r->row_length(r, i)
                          : r->fill_row(r, i, 0, NULL, scratch + omp_get_thread_num() * r->scratch);
}

/* Each thread sums its part, then adds what the parts before it came to. part[threads + 1]. */
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
            part[0] = 0;
            for (int t = 0; t < team; t++) part[t + 1] += part[t];
        }
        for (int64_t i = first; i < end; i++) row_ptr[i + 1] += part[me];
    }
}

/* Returns the first row of the c-th of nchunks parts that are equal in rows + entries: a search
 * along the merge path. */
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

static void fill_rows(const spmv_recipe *r, const values *v, int threads, int32_t *scratch,
                      const int64_t *row_ptr, spmv_coo *A) {
    enum {
        CHUNK = 32768
    }; /* entries: columns are still in cache when rows and values are written */
    int64_t nchunks = (row_ptr[r->rows] + r->rows) / CHUNK + 1;
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t c = 0; c < nchunks; c++) {
        int64_t first = chunk_start(row_ptr, r->rows, nchunks, c);
        int64_t end = chunk_start(row_ptr, r->rows, nchunks, c + 1);
        int32_t *own = scratch + omp_get_thread_num() * r->scratch;
        for (int64_t i = first; i < end; i++) {
            r->fill_row(r, i, row_ptr[i + 1] - row_ptr[i], A->col + row_ptr[i], own);
            for (int64_t k = row_ptr[i]; k < row_ptr[i + 1]; k++) A->row[k] = (int32_t)i;
        }
        fill_values(v, A, row_ptr[first], row_ptr[end]);
    }
}

/* Runs before anything is allocated: Linux grants more memory than there is and kills who uses
 * it. */
static spmv_status check_memory(spmv_ctx *ctx, const char *spec, const spmv_recipe *r,
                                const values *v) {
    double bytes =
        r->expected * (v->rule == PATTERN ? 8 : 16) + 8 * (double)r->rows + r->extra_bytes;
    double limit = 0.8 * (double)spmv_host_free_bytes();
    if (bytes <= limit && bytes < (double)PTRDIFF_MAX) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_NOMEM,
                     "gen:%.100s: about %.3g entries need %.1f GB, limit %.1f GB", spec,
                     r->expected, 1e-9 * bytes, 1e-9 * limit);
}

static spmv_status make_rows(spmv_ctx *ctx, const spmv_recipe *r, const values *v, int threads,
                             spmv_coo *A) {
    spmv_status status = SPMV_OK;
    int64_t *row_ptr = spmv_host_alloc(((size_t)r->rows + 1) * sizeof *row_ptr);
    int64_t *part = spmv_host_alloc(((size_t)threads + 1) * sizeof *part);
    int32_t *scratch = spmv_host_alloc((size_t)threads * (size_t)r->scratch * sizeof *scratch);
    if (!row_ptr || !part || !scratch) {
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for the lengths of %lld rows",
                           (long long)r->rows);
        goto done;
    }
    count_rows(r, threads, scratch, row_ptr);
    sum_counts(r->rows, threads, row_ptr, part);
    A->rows = r->rows;
    A->cols = r->cols;
    A->nnz = row_ptr[r->rows];
    A->symmetry = SPMV_GENERAL;
    A->field = v->rule == PATTERN ? SPMV_PATTERN_FIELD : SPMV_REAL_FIELD;
    status = spmv_coo_alloc(ctx, A, v->rule != PATTERN);
    if (status != SPMV_OK) goto done;
    fill_rows(r, v, threads, scratch, row_ptr, A);
done:
    spmv_host_free(scratch);
    spmv_host_free(part);
    spmv_host_free(row_ptr);
    return status;
}

spmv_status spmv_generate(spmv_ctx *ctx, const char *spec, uint64_t seed, const char *text,
                          int threads, spmv_coo *out) {
    spmv_args args;
    values v = {0};
    spmv_recipe r = {.key = spmv_hash(seed, 0), .threads = threads > 0 ? threads : 1};
    *out = (spmv_coo){0};
    spmv_status status = read_spec(ctx, spec, &args, &r);
    if (status == SPMV_OK) status = read_values(ctx, spec, text, &r, &v);
    if (status == SPMV_OK) status = check_memory(ctx, spec, &r, &v);
    if (status == SPMV_OK && r.prepare) status = r.prepare(ctx, &r);
    if (status == SPMV_OK) status = make_rows(ctx, &r, &v, r.threads, out);
    spmv_host_free(r.table);
    spmv_host_free(v.distinct);
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
