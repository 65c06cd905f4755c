/* ranks_plan.c: distributed products. Either the local part is multiplied while the halo is
 * exchanged, or x is replicated and own rows are multiplied in one product. */
#include "ranks/ranks.h"
#include "spmv_helpers.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct spmv_ranks_plan {
    spmv_ranks_mat *mat;
    spmv_plan *local, *remote; /* remote: NULL if there is no remote part or x is replicated */
    ranks_split_plan split;
    void *link; /* state of the exchange */
    void *halo; /* [received][vectors] buffer for the exchange, if there is a remote plan */
    void *sums; /* [nlisted][vectors] products of listed rows of the remote part */
    spmv_precision precision;
    size_t width;    /* bytes of an element */
    int64_t vectors; /* most vectors per exchange */
    spmv_layout layout;
    spmv_ranks_way way; /* strategy of products */
    spmv_ranks_plan_facts facts;
};

/* Returns whether `local` multiplies all columns, by a replicated x. */
static bool is_whole(const spmv_ranks_plan *plan) {
    return plan->facts.halo == SPMV_HALO_REPLICATE && plan->mat->ranks->size > 1;
}

/* ---- making --------------------------------------------------------------------------------- */

/* MPI counts the bytes of a row with int */
enum { MOST_VECTORS = INT32_MAX / (int)sizeof(double) };

static spmv_status check_options(spmv_ranks *ranks, const spmv_plan_opts *given,
                                 spmv_plan_opts *opts) {
    const spmv_status status = ranks_read(ranks, "spmv_plan_opts", opts, sizeof *opts, given);
    if (status != SPMV_OK) return status;
    if (opts->vectors == 0) opts->vectors = 1;
    if (opts->vectors < 0 || opts->vectors > MOST_VECTORS)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_plan_opts.vectors is %lld, not 1 to %d",
                          (long long)opts->vectors, MOST_VECTORS);
    if (opts->layout == 0) opts->layout = opts->vectors > 1 ? SPMV_ROWS : SPMV_COLUMNS;
    if (opts->op == SPMV_TRANSPOSE || opts->op == SPMV_BOTH)
        return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                          "spmv_plan_opts.op: no product by the transpose over ranks");
    if (opts->scalars == SPMV_DEVICE)
        return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                          "spmv_plan_opts.scalars: over ranks they are in host memory");
    if (opts->vectors > 1 && opts->layout == SPMV_COLUMNS)
        return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                          "spmv_plan_opts.layout: several vectors over ranks are in rows");
    return SPMV_OK;
}

static spmv_status check_place(spmv_ranks *ranks, const spmv_plan *plan) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    const spmv_status status = ranks_ctx_failed(ranks, spmv_plan_info(plan, &facts));
    if (status != SPMV_OK || facts.threads > 0) return status;
    return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                      "%s multiplies on a GPU, where the exchange '%s' "
                      "has no vectors",
                      facts.kernel, ranks->by->name);
}

static spmv_status make_each(spmv_ranks_plan *plan, const spmv_plan_opts *opts) {
    spmv_ranks_mat *mat = plan->mat;
    TRY(is_whole(plan) ? ranks_whole_make(mat) : ranks_parts_make(mat));
    const bool has_remote = mat->remote && !is_whole(plan);
    spmv_status status =
        spmv_plan_create(is_whole(plan) ? mat->whole : mat->local, opts, &plan->local);
    if (status == SPMV_OK && has_remote)
        status = ranks_plan_of_few(mat->remote, opts, &plan->remote);
    const size_t row = (size_t)plan->vectors * plan->width;
    if (status == SPMV_OK && has_remote)
        status = spmv_plan_alloc(plan->remote, (size_t)mat->halo.received * row, &plan->halo);
    if (status == SPMV_OK && has_remote && mat->listed)
        status = spmv_plan_alloc(plan->remote, (size_t)mat->nlisted * row, &plan->sums);
    if (status != SPMV_OK) return ranks_ctx_failed(mat->ranks, status);
    status = ranks_split_prepare(mat, opts, row, &plan->split);
    if (status == SPMV_OK) status = check_place(mat->ranks, plan->local);
    if (status == SPMV_OK && has_remote) status = check_place(mat->ranks, plan->remote);
    if (status == SPMV_OK && plan->split.plan) status = check_place(mat->ranks, plan->split.plan);
    return status;
}

static void drop_plans(spmv_ranks_plan *plan) {
    ranks_split_release(plan->mat, &plan->split);
    if (plan->halo) spmv_plan_release(plan->remote, plan->halo);
    if (plan->sums) spmv_plan_release(plan->remote, plan->sums);
    spmv_plan_free(plan->remote);
    spmv_plan_free(plan->local);
    plan->split = (ranks_split_plan){0};
    plan->halo = plan->sums = NULL;
    plan->remote = plan->local = NULL;
}

/* Makes the plans. Falls back to halo lists if replicating x was chosen by the trial but a rank
 * runs out of memory or a kernel cannot hold all columns. Collective. */
static spmv_status make_plans(spmv_ranks_plan *plan, const spmv_plan_opts *opts) {
    spmv_ranks_mat *mat = plan->mat;
    const spmv_status status = ranks_agree(mat->ranks, make_each(plan, opts));
    if (status == SPMV_OK || !is_whole(plan) || mat->halo_asked != SPMV_HALO_AUTO) return status;
    drop_plans(plan);
    plan->facts.halo = SPMV_HALO_LISTS;
    return ranks_agree(mat->ranks, make_each(plan, opts));
}

/* Prepares the chosen exchange. */
static spmv_status connect(spmv_ranks_plan *plan) {
    const spmv_ranks_mat *mat = plan->mat;
    const spmv_need need =
        ranks_need(mat->ranks, &mat->halo, plan->width, plan->vectors, plan->halo);
    spmv_ranks_plan_facts *f = &plan->facts;
    const spmv_status status =
        ranks_agree(mat->ranks, ranks_connect(mat->ranks, &need, is_whole(plan), &plan->link));
    if (status != SPMV_OK) return status;
    f->carrier = mat->ranks->by->carrier(plan->link);
    const bool all = f->halo == SPMV_HALO_REPLICATE;
    const spmv_halo *sums = &mat->split.sums;
    f->received =
        all ? mat->facts.cols - mat->facts.own_cols + sums->received : mat->facts.received;
    f->sent = all ? mat->facts.own_cols + sums->sent : mat->facts.sent;
    f->receives_from = all ? mat->ranks->size - 1 + sums->nfrom : mat->facts.receives_from;
    f->sends_to = all ? mat->ranks->size - 1 + sums->nto : mat->facts.sends_to;
    return ranks_agree(mat->ranks,
                       ranks_split_connect(mat, plan->width, plan->vectors, &plan->split));
}

enum { MOST_FACTS = 4096 /* bytes; no version of spmv_plan_facts is larger */ };

typedef struct common { /* options that must be equal on all ranks */
    int64_t vectors;
    spmv_precision precision;
} common;

/* Fails if options differ between ranks. all: [size] scratch. Collective. */
static spmv_status compare_options(spmv_ranks *ranks, const spmv_plan_opts *opts, common *all) {
    const common mine = {.vectors = opts->vectors, .precision = opts->precision};
    const spmv_status status = ranks->by->gather(ranks->state, &mine, sizeof mine, all);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the ranks' options were lost");
    for (int k = 0; k < ranks->size; k++)
        if (all[k].vectors != mine.vectors || all[k].precision != mine.precision)
            return ranks_fail(ranks, SPMV_E_ARG,
                              "spmv_plan_opts: vectors and precision differ from those of rank %d",
                              k);
    return SPMV_OK;
}

spmv_status spmv_ranks_plan_create(spmv_ranks_mat *mat, const spmv_plan_opts *opts,
                                   spmv_ranks_plan **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_plan_opts known = SPMV_OPTS(spmv_plan_opts);
    if (!mat || !out)
        return ranks_fail(mat ? mat->ranks : NULL, SPMV_E_ARG, "spmv_ranks_plan_create: %s is NULL",
                          mat ? "out" : "mat");
    *out = NULL;
    spmv_ranks *ranks = mat->ranks;
    spmv_ranks_plan *plan = calloc(1, sizeof *plan);
    common *all = calloc((size_t)ranks->size, sizeof *all);
    spmv_status status = check_options(ranks, opts, &known);
    if (!plan || !all) status = ranks_fail(ranks, SPMV_E_NOMEM, "out of memory");
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = ranks_agree(ranks, compare_options(ranks, &known, all));
    free(all);
    if (status == SPMV_OK) {
        plan->mat = mat;
        plan->precision = known.precision;
        plan->width = known.precision == SPMV_F32 ? sizeof(float) : sizeof(double);
        plan->vectors = known.vectors;
        plan->layout = known.layout;
        status = ranks_choose_halo(mat, plan->width, plan->vectors, &plan->facts);
    }
    if (status == SPMV_OK) status = make_plans(plan, &known);
    if (status == SPMV_OK) status = connect(plan);
    if (status == SPMV_OK)
        *out = plan;
    else
        spmv_ranks_plan_free(plan);
    return status;
}

void spmv_ranks_plan_free(spmv_ranks_plan *plan) {
    if (!plan) return;
    if (plan->link) plan->mat->ranks->by->disconnect(plan->link);
    drop_plans(plan);
    free(plan);
}

spmv_status spmv_ranks_plan_info(const spmv_ranks_plan *plan, spmv_plan_facts *local,
                                 spmv_plan_facts *remote) {
    SPMV_DEFAULT_ENVIRONMENT;
    if (!plan) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_plan_info: plan is NULL");
    spmv_ranks *ranks = plan->mat->ranks;
    spmv_plan_facts own = SPMV_OPTS(spmv_plan_facts);
    spmv_status status = spmv_plan_info(plan->local, &own);
    if (status == SPMV_OK) status = ranks_split_info(&plan->split, &own);
    if (status != SPMV_OK) return ranks_ctx_failed(ranks, status);
    if (local) status = ranks_fill(ranks, "spmv_plan_facts", &own, sizeof own, local);
    if (status != SPMV_OK || !remote) return status;
    if (plan->remote) return ranks_ctx_failed(ranks, spmv_plan_info(plan->remote, remote));
    if (remote->size < sizeof remote->size || remote->size > MOST_FACTS)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_plan_facts.size is not set");
    memset((char *)remote + sizeof remote->size, 0, remote->size - sizeof remote->size);
    return SPMV_OK;
}

spmv_status spmv_ranks_plan_exchange(const spmv_ranks_plan *plan, spmv_ranks_plan_facts *out) {
    if (!plan) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_plan_exchange: plan is NULL");
    return ranks_fill(plan->mat->ranks, "spmv_ranks_plan_facts", &plan->facts, sizeof plan->facts,
                      out);
}

spmv_status spmv_ranks_plan_set_way(spmv_ranks_plan *plan, spmv_ranks_way way) {
    if (!plan) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_plan_set_way: plan is NULL");
    if (way < SPMV_OVERLAPPED || way > SPMV_PRODUCT_ALONE)
        return ranks_fail(plan->mat->ranks, SPMV_E_ARG, "spmv_ranks_plan_set_way: way is %d",
                          (int)way);
    plan->way = way;
    return SPMV_OK;
}

/* ---- multiplying ---------------------------------------------------------------------------- */

static bool is_in_rows(const spmv_ranks_plan *plan, const spmv_call *c) {
    return (c->layout ? c->layout : plan->layout) == SPMV_ROWS;
}

static spmv_status check_call(const spmv_ranks_plan *plan, const spmv_call *c) {
    spmv_ranks *ranks = plan->mat->ranks;
    const spmv_ranks_facts *f = &plan->mat->facts;
    if (c->k < 1) return ranks_fail(ranks, SPMV_E_ARG, "spmv_call.k is %lld", (long long)c->k);
    if ((!c->x && f->own_cols) || (!c->z && f->own_rows))
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_call.%s is NULL", c->z ? "x" : "z");
    if (c->k > 1 && !is_in_rows(plan, c))
        return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                          "spmv_call.layout: several vectors over ranks are in rows");
    if (c->op == SPMV_TRANSPOSE)
        return ranks_fail(ranks, SPMV_E_UNSUITABLE,
                          "spmv_call.op: no product by the transpose over ranks");
    if (c->w || c->dot_wz || c->dot_zz)
        return ranks_fail(ranks, SPMV_E_UNSUITABLE, "spmv_call: no sums on the way over ranks");
    if (c->ldx && c->ldx < c->k && is_in_rows(plan, c))
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_call.ldx is %lld for %lld vectors in rows",
                          (long long)c->ldx, (long long)c->k);
    return SPMV_OK;
}

/* Multiplies the local part by own x, or all of own rows by the replicated x. */
static spmv_status multiply_local(const spmv_ranks_plan *plan, const spmv_call *call) {
    spmv_call by = *call;
    if (!plan->mat->facts.own_rows) return SPMV_OK;
    if (is_whole(plan)) {
        by.x = plan->mat->ranks->by->latest(plan->link);
        by.ldx = 0;
    }
    return spmv_apply(plan->local, &by, NULL);
}

/* Returns the leading dimension of z. */
static int64_t apart_in(const spmv_ranks_plan *plan, const spmv_call *call) {
    return call->ldz && is_in_rows(plan, call) ? call->ldz : call->k;
}

/* Adds the product of the remote part and the halo to z, which has the local part's. */
static spmv_status multiply_remote(const spmv_ranks_plan *plan, const spmv_call *call) {
    static const double one = 1;
    static const float one_f32 = 1;
    const spmv_ranks_mat *mat = plan->mat;
    if (!plan->remote) return SPMV_OK;
    spmv_call add = mat->listed ? ranks_call_for_sums(call, plan->sums) : *call;
    add.x = mat->ranks->by->latest(plan->link);
    add.ldx = 0;
    if (!mat->listed) {
        add.y = call->z;
        add.ldy = call->ldz;
        add.beta = plan->precision == SPMV_F64 ? &one : NULL;
        add.beta_f32 = plan->precision == SPMV_F32 ? &one_f32 : NULL;
    }
    const spmv_status status = spmv_apply(plan->remote, &add, NULL);
    if (status == SPMV_OK && mat->listed)
        ranks_listed_add(mat, plan->sums, plan->precision, call->k, apart_in(plan, call), call->z);
    return status;
}

/* Multiplies by at most plan->vectors vectors in one exchange; sends NaN if `before` is a
 * failure. */
static spmv_status multiply(const spmv_ranks_plan *plan, const spmv_call *call,
                            spmv_status before) {
    const spmv_ranks_mat *mat = plan->mat;
    spmv_ranks *ranks = mat->ranks;
    const int64_t apart = call->ldx && is_in_rows(plan, call) ? call->ldx : call->k;
    const void *x = before == SPMV_OK ? call->x : NULL;
    const bool talks = plan->way != SPMV_PRODUCT_ALONE, works = plan->way != SPMV_EXCHANGE_ALONE,
               overlaps = plan->way == SPMV_OVERLAPPED && !is_whole(plan);
    spmv_status status = before, talked = SPMV_OK;
    if (talks) talked = ranks->by->start(plan->link, x, call->k, apart);
    const bool started = talks && talked == SPMV_OK; /* x and the halo are in use until `finish` */
    if (started && !overlaps) talked = ranks->by->finish(plan->link);
    if (works && status == SPMV_OK) status = ranks_split_multiply(mat, &plan->split, call);
    if (talks && talked == SPMV_OK)
        talked = ranks_split_start(mat, &plan->split, call->k, status == SPMV_OK);
    if (talks && !overlaps && talked == SPMV_OK) talked = ranks_split_finish(mat, &plan->split);
    if (works && status == SPMV_OK) status = ranks_ctx_failed(ranks, multiply_local(plan, call));
    if (started && overlaps) {
        const spmv_status ended = ranks->by->finish(plan->link);
        if (talked == SPMV_OK) talked = ranks_split_finish(mat, &plan->split);
        if (talked == SPMV_OK) talked = ended;
    }
    if (talked != SPMV_OK)
        return ranks_fail(ranks, talked, "the exchange '%s' failed", ranks->by->name);
    if (works && status == SPMV_OK) status = ranks_ctx_failed(ranks, multiply_remote(plan, call));
    if (works && status == SPMV_OK && mat->split.n)
        ranks_split_add(mat, &plan->split, plan->precision, call->k, apart_in(plan, call), call->z);
    return status;
}

/* Advances x, y and z by `done` vectors (in rows). */
static void advance(const spmv_ranks_plan *plan, spmv_call *call, int64_t done) {
    const size_t bytes = (size_t)done * plan->width;
    if (call->x) call->x = (const char *)call->x + bytes;
    if (call->y) call->y = (const char *)call->y + bytes;
    if (call->z) call->z = (char *)call->z + bytes;
}

/* Multiplies in groups of plan->vectors vectors. Ranks that fail make all exchanges. */
static spmv_status multiply_all(const spmv_ranks_plan *plan, spmv_call *call, spmv_status status) {
    const int64_t k = call->k;
    if (k <= plan->vectors) return multiply(plan, call, status);
    call->layout = SPMV_ROWS;
    if (!call->ldx) call->ldx = k;
    if (!call->ldy) call->ldy = k;
    if (!call->ldz) call->ldz = k;
    for (int64_t done = 0; done < k; done += plan->vectors) {
        call->k = k - done < plan->vectors ? k - done : plan->vectors;
        status = multiply(plan, call, status);
        advance(plan, call, call->k);
    }
    return status;
}

/* Returns the number of vectors of a call, even of an invalid one, because the other ranks exchange
 * as many. A call too small to hold k has the plan's number. */
static int64_t vectors_of(const spmv_ranks_plan *plan, const spmv_call *call) {
    if (!call || call->size < offsetof(spmv_call, k) + sizeof call->k) return plan->vectors;
    return call->k ? call->k : 1;
}

spmv_status spmv_ranks_apply(const spmv_ranks_plan *plan, const spmv_call *call) {
    spmv_call known = SPMV_OPTS(spmv_call);
    if (!plan) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_apply: plan is NULL");
    spmv_ranks *ranks = plan->mat->ranks;
    spmv_status status = ranks_read(ranks, "spmv_call", &known, sizeof known, call);
    if (!call) status = ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_apply: call is NULL");
    known.k = vectors_of(plan, call);
    if (status == SPMV_OK) status = check_call(plan, &known);
    if (known.k < 1) known.k = plan->vectors;
    return multiply_all(plan, &known, status);
}

spmv_status spmv_ranks_exec(const spmv_ranks_plan *plan, double alpha, const void *x, double beta,
                            void *y) {
    const float alpha_f32 = (float)alpha, beta_f32 = (float)beta;
    spmv_call call = {.size = sizeof call, .x = x, .y = y, .z = y};
    if (!plan) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_exec: plan is NULL");
    if (plan->precision == SPMV_F64)
        call.alpha = &alpha, call.beta = &beta;
    else
        call.alpha_f32 = &alpha_f32, call.beta_f32 = &beta_f32;
    return spmv_ranks_apply(plan, &call);
}
