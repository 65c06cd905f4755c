/* split.c: products of split rows. Every rank multiplies the entries of a split row whose columns
 * it owns; the owner of the row adds the sums of all ranks in ascending order of ranks. */
#include "ranks/ranks.h"
#include <stdlib.h>

/* ---- who gets which sums -------------------------------------------------------------------- */

/* Returns the number of sums that rank `from` sends to rank `to`. */
static int sums_between(const ranks_split *s, int from, int to) {
    int n = 0;
    for (int64_t k = 0; k < s->n && from != to; k++)
        n += s->owner[k] == to && s->has[from * s->n + k];
    return n;
}

static spmv_status list_sums(const spmv_ranks_mat *mat, ranks_split *s) {
    spmv_ranks *ranks = mat->ranks;
    spmv_halo *h = &s->sums;
    const size_t size = (size_t)ranks->size;
    const int me = ranks->rank;
    h->from = malloc(size * sizeof *h->from);
    h->from_count = malloc(size * sizeof *h->from_count);
    h->to = malloc(size * sizeof *h->to);
    h->to_count = malloc(size * sizeof *h->to_count);
    h->give = malloc((size_t)s->n * sizeof *h->give + 1);
    h->first_col = mat->first_col; /* not used: sums are never replicated */
    if (!h->from || !h->from_count || !h->to || !h->to_count || !h->give)
        return ranks_no_memory(ranks, "rows that are split");
    for (int r = 0; r < ranks->size; r++) {
        const int gets = sums_between(s, r, me), gives = sums_between(s, me, r);
        if (gets) h->from[h->nfrom] = r, h->from_count[h->nfrom++] = gets;
        if (gives) h->to[h->nto] = r, h->to_count[h->nto++] = gives;
        for (int64_t k = 0; gives && k < s->n; k++)
            if (s->owner[k] == r && s->has[me * s->n + k]) h->give[h->sent++] = (int32_t)k;
        h->received += gets;
    }
    return SPMV_OK;
}

/* ---- the matrix ----------------------------------------------------------------------------- */

/* Makes a matrix that borrows this rank's entries of split rows; no matrix if there are none. */
static spmv_status make_matrix(const spmv_ranks_mat *mat, ranks_split *s, spmv_some_rows *rows) {
    s->lent = (ranks_part){rows->row_ptr, rows->col_idx, rows->values, rows->nnz};
    *rows = (spmv_some_rows){0};
    if (!s->lent.nnz) return SPMV_OK;
    return ranks_part_matrix(mat->ranks, &s->lent, s->n, mat->facts.own_cols, SPMV_F64, SPMV_BORROW,
                             &s->mat);
}

/* Adds the entries and sums of split rows to the facts of the matrix. */
static spmv_status add_facts(spmv_ranks_mat *mat, const ranks_split *s) {
    spmv_ranks *ranks = mat->ranks;
    spmv_ranks_facts *f = &mat->facts;
    const int64_t mine[2] = {f->own_nnz + s->lent.nnz, f->received + s->sums.received};
    int64_t(*all)[2] = malloc((size_t)ranks->size * sizeof *all);
    spmv_status status = ranks_agree_memory(ranks, all, "rows that are split");
    if (status != SPMV_OK) {
        free(all);
        return status;
    }
    status = ranks->by->gather(ranks->state, mine, sizeof mine, all);
    f->nnz = 0;
    for (int r = 0; r < ranks->size && status == SPMV_OK; r++) {
        f->nnz += all[r][0];
        if (r == 0 || all[r][0] > f->most_own_nnz) f->most_own_nnz = all[r][0];
        if (all[r][1] > f->most_received) f->most_received = all[r][1];
    }
    free(all);
    f->own_nnz = mine[0];
    f->local_nnz += s->lent.nnz;
    f->received = mine[1];
    f->sent += s->sums.sent;
    f->receives_from += s->sums.nfrom;
    f->sends_to += s->sums.nto;
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "the sizes of rows were lost");
}

spmv_status ranks_split_take(spmv_ranks_mat *mat, ranks_loaded *l) {
    spmv_ranks *ranks = mat->ranks;
    ranks_split *s = &mat->split;
    if (!l->nsplit) return SPMV_OK;
    s->n = l->nsplit;
    s->row = l->split;
    s->owner = l->owner;
    l->split = NULL;
    l->owner = NULL;
    char *mine = malloc((size_t)s->n);
    s->has = malloc((size_t)ranks->size * (size_t)s->n);
    spmv_status status = ranks_agree_memory(ranks, mine && s->has, "rows that are split");
    const bool agreed = status != SPMV_OK;
    for (int64_t k = 0; k < s->n && status == SPMV_OK; k++)
        mine[k] = l->pieces.row_ptr[k + 1] > l->pieces.row_ptr[k];
    if (status == SPMV_OK) status = ranks->by->gather(ranks->state, mine, (size_t)s->n, s->has);
    if (status == SPMV_OK) status = list_sums(mat, s);
    if (status == SPMV_OK) status = make_matrix(mat, s, &l->pieces);
    free(mine);
    if (!agreed) status = ranks_agree(ranks, status);
    return status == SPMV_OK ? add_facts(mat, s) : status;
}

void ranks_split_free(spmv_ranks_mat *mat) {
    ranks_split *s = &mat->split;
    spmv_mat_free(s->mat);
    spmv_rows_give(mat->ranks->ctx, s->lent.ptr);
    spmv_rows_give(mat->ranks->ctx, s->lent.idx);
    spmv_rows_give(mat->ranks->ctx, s->lent.values);
    ranks_halo_free(&s->sums);
    free(s->row);
    free(s->owner);
    free(s->has);
}

/* ---- plans ---------------------------------------------------------------------------------- */

spmv_status ranks_plan_of_few(spmv_mat *mat, const spmv_plan_opts *opts, spmv_plan **out) {
    spmv_plan_opts otherwise = *opts;
    const spmv_status status = spmv_plan_create(mat, opts, out);
    if (status != SPMV_E_UNSUITABLE && status != SPMV_E_TOOBIG) return status;
    otherwise.kernel = NULL;
    otherwise.settings = NULL;
    otherwise.nsettings = 0;
    return spmv_plan_create(mat, &otherwise, out);
}

spmv_status ranks_split_prepare(const spmv_ranks_mat *mat, const spmv_plan_opts *opts, size_t row,
                                ranks_split_plan *p) {
    const ranks_split *s = &mat->split;
    if (!s->n) return SPMV_OK;
    p->own = calloc((size_t)s->n, row);
    p->others = calloc((size_t)s->sums.received + 1, row);
    if (!p->own || !p->others) return ranks_no_memory(mat->ranks, "rows that are split");
    return s->mat ? ranks_ctx_failed(mat->ranks, ranks_plan_of_few(s->mat, opts, &p->plan))
                  : SPMV_OK;
}

spmv_status ranks_split_connect(const spmv_ranks_mat *mat, size_t width, int64_t vectors,
                                ranks_split_plan *p) {
    spmv_ranks *ranks = mat->ranks;
    if (!mat->split.n) return SPMV_OK;
    const spmv_need need = ranks_need(ranks, &mat->split.sums, width, vectors, p->others);
    const spmv_status status = ranks->by->connect(ranks->state, &need, 0, &p->link);
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "the exchange '%s' cannot prepare %lld sums", ranks->by->name,
                      (long long)mat->split.n);
}

spmv_status ranks_split_info(const ranks_split_plan *p, spmv_plan_facts *sum) {
    spmv_plan_facts f = SPMV_OPTS(spmv_plan_facts);
    const spmv_status status = p->plan ? spmv_plan_info(p->plan, &f) : SPMV_OK;
    sum->convert_s += f.convert_s;
    sum->prepare_s += f.prepare_s;
    sum->tune_s += f.tune_s;
    sum->once_s += f.once_s;
    sum->made_s += f.made_s;
    sum->store_bytes += f.store_bytes;
    sum->scratch_bytes += f.scratch_bytes;
    sum->traffic_bytes += f.traffic_bytes;
    sum->slots += f.slots;
    return status;
}

void ranks_split_release(const spmv_ranks_mat *mat, ranks_split_plan *p) {
    if (p->link) mat->ranks->by->disconnect(p->link);
    spmv_plan_free(p->plan);
    free(p->own);
    free(p->others);
}

spmv_status ranks_split_multiply(const spmv_ranks_mat *mat, const ranks_split_plan *p,
                                 const spmv_call *call) {
    if (!p->plan) return SPMV_OK;
    const spmv_call part = ranks_call_for_sums(call, p->own);
    return ranks_ctx_failed(mat->ranks, spmv_apply(p->plan, &part, NULL));
}

spmv_status ranks_split_start(const spmv_ranks_mat *mat, const ranks_split_plan *p, int64_t k,
                              bool is_right) {
    const spmv_exchange *by = mat->ranks->by;
    return p->link ? by->start(p->link, is_right ? p->own : NULL, k, k) : SPMV_OK;
}

spmv_status ranks_split_finish(const spmv_ranks_mat *mat, const ranks_split_plan *p) {
    return p->link ? mat->ranks->by->finish(p->link) : SPMV_OK;
}

/* ---- sums ----------------------------------------------------------------------------------- */

spmv_call ranks_call_for_sums(const spmv_call *call, void *sums) {
    spmv_call part = *call;
    part.y = NULL;
    part.z = sums;
    part.ldy = part.ldz = 0;
    part.beta = NULL;
    part.beta_f32 = NULL;
    return part;
}

/* z[to] += sums[from]: rows of k elements; leading dimensions ldz and k. */
static inline void add_row(spmv_precision precision, int64_t k, const void *sums, int64_t from,
                           void *z, int64_t to, int64_t ldz) {
    for (int64_t v = 0; v < k; v++)
        if (precision == SPMV_F64)
            ((double *)z)[to * ldz + v] += ((const double *)sums)[from * k + v];
        else
            ((float *)z)[to * ldz + v] += ((const float *)sums)[from * k + v];
}

void ranks_listed_add(const spmv_ranks_mat *mat, const void *sums, spmv_precision precision,
                      int64_t k, int64_t ldz, void *z) {
    for (int64_t r = 0; r < mat->nlisted; r++)
        add_row(precision, k, sums, r, z, mat->listed[r], ldz);
}

/* Adds in ascending order of ranks, not of arrival, so that results are reproducible bit by bit. */
void ranks_split_add(const spmv_ranks_mat *mat, const ranks_split_plan *p, spmv_precision precision,
                     int64_t k, int64_t ldz, void *z) {
    const ranks_split *s = &mat->split;
    const int me = mat->ranks->rank;
    const void *others = p->link ? mat->ranks->by->latest(p->link) : NULL;
    int64_t next = 0;
    for (int r = 0; r < mat->ranks->size; r++)
        for (int64_t i = 0; i < s->n; i++) {
            if (s->owner[i] != me || !s->has[r * s->n + i]) continue;
            const void *sums = r == me ? p->own : others;
            add_row(precision, k, sums, r == me ? i : next++, z, s->row[i] - mat->facts.first_row,
                    ldz);
        }
}
