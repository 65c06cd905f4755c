/* many_matrix.c: a matrix over many ranks. The entries of own rows are divided into two ordinary
 * matrices: the local one has own columns, the remote one a column for each entry of the halo. */
#include "many.h"
#include <stdlib.h>
#include <string.h>

typedef struct part { /* of the entries that were given, as compressed rows */
    int64_t *ptr;
    int32_t *idx;
    char *values;
    int64_t nnz;
} part;

typedef struct division {
    part local, remote;
    int64_t *col;  /* [remote.nnz] columns of the remote part, in the whole matrix */
    int64_t *halo; /* the same, ascending, each once */
    int64_t nhalo;
} division;

static void part_free(part *p) {
    free(p->ptr);
    free(p->idx);
    free(p->values);
}

static spmv_status part_alloc(spmv_world *world, int64_t rows, size_t width, part *p) {
    p->ptr = calloc((size_t)rows + 1, sizeof *p->ptr);
    p->idx = malloc(((size_t)p->nnz + 1) * sizeof *p->idx);
    p->values = malloc(((size_t)p->nnz + 1) * width);
    if (p->ptr && p->idx && p->values) return SPMV_OK;
    return many_fail(world, SPMV_E_NOMEM, "out of memory for %lld entries", (long long)p->nnz);
}

/* ---- what was given ------------------------------------------------------------------------- */

static spmv_status check_rows(spmv_world *world, const spmv_many_rows *r) {
    if (r->rows < 0 || r->cols < 0 || r->nnz < 0)
        return many_fail(world, SPMV_E_ARG, "spmv_many_rows: %lld rows, %lld cols, %lld nnz",
                         (long long)r->rows, (long long)r->cols, (long long)r->nnz);
    if (r->precision != SPMV_F64 && r->precision != SPMV_F32)
        return many_fail(world, SPMV_E_ARG, "spmv_many_rows.precision is %d", (int)r->precision);
    if (!r->ptr || (r->nnz && (!r->idx || !r->values)))
        return many_fail(world, SPMV_E_ARG, "spmv_many_rows.%s is NULL",
                         !r->ptr   ? "ptr"
                         : !r->idx ? "idx"
                                   : "values");
    for (int64_t i = 0; i < r->rows; i++)
        if (r->ptr[i + 1] < r->ptr[i])
            return many_fail(world, SPMV_E_ARG, "spmv_many_rows.ptr descends after own row %lld",
                             (long long)i);
    if (r->ptr[0] == 0 && r->ptr[r->rows] == r->nnz) return SPMV_OK;
    return many_fail(world, SPMV_E_ARG, "spmv_many_rows.ptr goes from %lld to %lld, not 0 to nnz",
                     (long long)r->ptr[0], (long long)r->ptr[r->rows]);
}

typedef struct shape {
    int64_t rows, cols, nnz;
} shape;

/* Counts the whole matrix, and learns where each rank's block of x begins. */
static spmv_status place_blocks(spmv_many_mat *mat, const spmv_many_rows *r, shape *all) {
    spmv_world *world = mat->world;
    spmv_many_facts *f = &mat->facts;
    const shape mine = {r->rows, r->cols, r->nnz};
    const spmv_status status = world->by->gather(world->state, &mine, sizeof mine, all);
    if (status != SPMV_OK) return many_fail(world, status, "the ranks' shapes were lost");
    for (int k = 0; k < world->size; k++) {
        if (k == world->rank) f->first_row = f->rows, f->first_col = f->cols;
        mat->first_col[k] = f->cols;
        f->rows += all[k].rows;
        f->cols += all[k].cols;
        f->nnz += all[k].nnz;
        if (all[k].nnz > f->most_own_nnz) f->most_own_nnz = all[k].nnz;
    }
    mat->first_col[world->size] = f->cols;
    f->own_rows = r->rows;
    f->own_cols = r->cols;
    f->own_nnz = r->nnz;
    return SPMV_OK;
}

/* ---- division ------------------------------------------------------------------------------- */

static bool is_own(const spmv_many_facts *f, int64_t col) {
    return col >= f->first_col && col < f->first_col + f->own_cols;
}

static spmv_status count_parts(spmv_many_mat *mat, const spmv_many_rows *r, division *d) {
    const spmv_many_facts *f = &mat->facts;
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++) {
            if (r->idx[k] < 0 || r->idx[k] >= f->cols)
                return many_fail(mat->world, SPMV_E_ARG,
                                 "spmv_many_rows.idx[%lld] in row %lld is %lld, of %lld columns",
                                 (long long)k, (long long)(f->first_row + i), (long long)r->idx[k],
                                 (long long)f->cols);
            d->remote.nnz += !is_own(f, r->idx[k]);
        }
    d->local.nnz = r->nnz - d->remote.nnz;
    return SPMV_OK;
}

static int ascending(const void *a, const void *b) {
    const int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static void put(part *p, int64_t *at, int64_t col, const char *value, size_t width) {
    p->idx[*at] = (int32_t)col;
    memcpy(p->values + (size_t)*at * width, value, width);
    ++*at;
}

/* Own columns become those of the local part; the others are noted. */
static void divide(spmv_many_mat *mat, const spmv_many_rows *r, division *d) {
    const char *value = r->values;
    int64_t local = 0, remote = 0;
    for (int64_t i = 0; i < r->rows; i++) {
        for (int64_t k = r->ptr[i]; k < r->ptr[i + 1]; k++, value += mat->width)
            if (is_own(&mat->facts, r->idx[k])) {
                put(&d->local, &local, r->idx[k] - mat->facts.first_col, value, mat->width);
            } else {
                d->col[remote] = r->idx[k];
                mat->remote_at[remote] = k;
                put(&d->remote, &remote, 0, value, mat->width);
            }
        d->local.ptr[i + 1] = local;
        d->remote.ptr[i + 1] = remote;
    }
}

/* Numbers the columns of the remote part as they lie in the halo. */
static void number_halo(division *d) {
    const size_t n = (size_t)d->remote.nnz;
    memcpy(d->halo, d->col, n * sizeof *d->col);
    qsort(d->halo, n, sizeof *d->halo, ascending);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || d->halo[k] != d->halo[k - 1]) d->halo[d->nhalo++] = d->halo[k];
    for (size_t k = 0; k < n; k++) {
        const int64_t *at = bsearch(&d->col[k], d->halo, (size_t)d->nhalo, sizeof *at, ascending);
        d->remote.idx[k] = (int32_t)(at - d->halo);
    }
}

static spmv_status make_division(spmv_many_mat *mat, const spmv_many_rows *r, division *d) {
    spmv_world *world = mat->world;
    spmv_status status = count_parts(mat, r, d);
    if (status == SPMV_OK) status = part_alloc(world, r->rows, mat->width, &d->local);
    if (status == SPMV_OK) status = part_alloc(world, r->rows, mat->width, &d->remote);
    if (status != SPMV_OK) return status;
    const size_t bytes = ((size_t)d->remote.nnz + 1) * sizeof(int64_t);
    d->col = malloc(bytes);
    d->halo = malloc(bytes);
    mat->remote_at = malloc(bytes);
    if (!d->col || !d->halo || !mat->remote_at)
        return many_fail(world, SPMV_E_NOMEM, "out of memory for %lld remote entries",
                         (long long)d->remote.nnz);
    divide(mat, r, d);
    number_halo(d);
    mat->facts.local_nnz = d->local.nnz;
    mat->facts.remote_nnz = d->remote.nnz;
    if (d->nhalo <= INT32_MAX && r->cols <= INT32_MAX) return SPMV_OK;
    return many_fail(world, SPMV_E_TOOBIG,
                     "%lld own entries of x and %lld of other ranks: take more "
                     "ranks",
                     (long long)r->cols, (long long)d->nhalo);
}

static void division_free(division *d) {
    part_free(&d->local);
    part_free(&d->remote);
    free(d->col);
    free(d->halo);
}

/* ---- the two matrices ----------------------------------------------------------------------- */

static spmv_status make_matrix(spmv_many_mat *mat, const part *p, int64_t cols,
                               spmv_precision precision, spmv_mat **out) {
    const spmv_arrays arrays = {.size = sizeof arrays,
                                .rows = mat->facts.own_rows,
                                .cols = cols,
                                .nnz = p->nnz,
                                .ptr = p->ptr,
                                .idx = p->idx,
                                .values = p->values,
                                .ptr_bits = 64,
                                .precision = precision};
    return many_ctx_failed(mat->world, spmv_mat_create(mat->world->ctx, &arrays, out));
}

static spmv_status make_matrices(spmv_many_mat *mat, const division *d, spmv_precision precision) {
    const spmv_status status =
        make_matrix(mat, &d->local, mat->facts.own_cols, precision, &mat->local);
    if (status != SPMV_OK || d->remote.nnz == 0) return status;
    return make_matrix(mat, &d->remote, d->nhalo, precision, &mat->remote);
}

static spmv_status note_halo(spmv_many_mat *mat, shape *all) {
    spmv_world *world = mat->world;
    spmv_many_facts *f = &mat->facts;
    f->received = mat->halo.received;
    f->sent = mat->halo.sent;
    f->receives_from = mat->halo.nfrom;
    f->sends_to = mat->halo.nto;
    const shape mine = {.nnz = f->received};
    const spmv_status status = world->by->gather(world->state, &mine, sizeof mine, all);
    if (status != SPMV_OK) return many_fail(world, status, "the sizes of halos were lost");
    for (int k = 0; k < world->size; k++)
        if (all[k].nnz > f->most_received) f->most_received = all[k].nnz;
    return SPMV_OK;
}

static spmv_status fill(spmv_many_mat *mat, const spmv_many_rows *r, shape *all) {
    spmv_world *world = mat->world;
    division d = {0};
    spmv_status status = place_blocks(mat, r, all);
    if (status == SPMV_OK) status = make_division(mat, r, &d);
    status = many_agree(world, status);
    if (status == SPMV_OK) status = many_halo_make(mat, d.halo, d.nhalo);
    if (status == SPMV_OK) status = many_agree(world, make_matrices(mat, &d, r->precision));
    if (status == SPMV_OK) status = many_agree(world, note_halo(mat, all));
    division_free(&d);
    return status;
}

static spmv_status begin(spmv_world *world, const spmv_many_rows *given, spmv_many_rows *r,
                         shape **all, spmv_many_mat **out) {
    if (!given) return many_fail(world, SPMV_E_ARG, "spmv_many_mat_create: rows is NULL");
    spmv_status status = many_read(world, "spmv_many_rows", r, sizeof *r, given);
    if (status == SPMV_OK) status = check_rows(world, r);
    if (status != SPMV_OK) return status;
    *all = malloc((size_t)world->size * sizeof **all);
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->world = world;
        (*out)->width = r->precision == SPMV_F32 ? sizeof(float) : sizeof(double);
        (*out)->first_col = malloc(((size_t)world->size + 1) * sizeof(int64_t));
    }
    if (*all && *out && (*out)->first_col) return SPMV_OK;
    return many_fail(world, SPMV_E_NOMEM, "out of memory");
}

spmv_status spmv_many_mat_create(spmv_world *world, const spmv_many_rows *rows,
                                 spmv_many_mat **out) {
    spmv_many_rows r = SPMV_OPTS(spmv_many_rows);
    spmv_many_mat *mat = NULL;
    shape *all = NULL;
    if (!world || !out)
        return many_fail(world, SPMV_E_ARG, "spmv_many_mat_create: %s is NULL",
                         world ? "out" : "world");
    *out = NULL;
    spmv_status status = many_agree(world, begin(world, rows, &r, &all, &mat));
    if (status == SPMV_OK) status = fill(mat, &r, all);
    if (status == SPMV_OK)
        *out = mat;
    else
        spmv_many_mat_free(mat);
    free(all);
    return status;
}

void spmv_many_mat_free(spmv_many_mat *mat) {
    if (!mat) return;
    spmv_mat_free(mat->local);
    spmv_mat_free(mat->remote);
    many_halo_free(&mat->halo);
    free(mat->remote_at);
    free(mat->first_col);
    free(mat);
}

spmv_status spmv_many_mat_info(const spmv_many_mat *mat, spmv_many_facts *out) {
    if (!mat) return many_fail(NULL, SPMV_E_ARG, "spmv_many_mat_info: mat is NULL");
    spmv_many_facts facts = SPMV_OPTS(spmv_many_facts);
    if (!out || out->size < sizeof out->size)
        return many_fail(mat->world, SPMV_E_ARG, "spmv_many_mat_info: out is NULL or has no size");
    const size_t size = out->size < sizeof facts ? out->size : sizeof facts;
    facts = mat->facts;
    facts.size = out->size;
    memcpy(out, &facts, size);
    return SPMV_OK;
}

/* ---- new values ----------------------------------------------------------------------------- */

/* Divides values as the entries were: those at remote_at are remote. */
static void divide_values(const spmv_many_mat *mat, const char *values, char *local, char *remote) {
    const size_t width = mat->width;
    int64_t from = 0;
    for (int64_t k = 0; k <= mat->facts.remote_nnz; k++) {
        const bool last = k == mat->facts.remote_nnz;
        const int64_t to = last ? mat->facts.own_nnz : mat->remote_at[k];
        const size_t bytes = (size_t)(to - from) * width;
        if (bytes) memcpy(local, values + (size_t)from * width, bytes);
        local += bytes;
        if (!last) memcpy(remote + (size_t)k * width, values + (size_t)to * width, width);
        from = to + 1;
    }
}

static spmv_status set_values(spmv_many_mat *mat, const void *values) {
    spmv_world *world = mat->world;
    const size_t width = mat->width;
    if (!values && mat->facts.own_nnz)
        return many_fail(world, SPMV_E_ARG, "spmv_many_mat_set_values: values is NULL");
    char *local = malloc(((size_t)mat->facts.local_nnz + 1) * width);
    char *remote = malloc(((size_t)mat->facts.remote_nnz + 1) * width);
    spmv_status status =
        local && remote ? SPMV_OK : many_fail(world, SPMV_E_NOMEM, "out of memory for new values");
    if (status == SPMV_OK) {
        divide_values(mat, values, local, remote);
        status = many_ctx_failed(world, spmv_mat_set_values(mat->local, local, SPMV_HOST, NULL));
    }
    if (status == SPMV_OK && mat->remote)
        status = many_ctx_failed(world, spmv_mat_set_values(mat->remote, remote, SPMV_HOST, NULL));
    free(local);
    free(remote);
    return status;
}

spmv_status spmv_many_mat_set_values(spmv_many_mat *mat, const void *values) {
    if (!mat) return many_fail(NULL, SPMV_E_ARG, "spmv_many_mat_set_values: mat is NULL");
    return many_agree(mat->world, set_values(mat, values));
}
