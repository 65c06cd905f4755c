/* ranks_record.c: the record of a row over ranks: that of a run alone, in which sizes are sums over
 * the ranks, and preparations those of the rank that took longest; and what only ranks have. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/record/record.h"
#include "app/record/write_table.h"
#include "app/run/inputs.h"
#include "app/run/results/describe.h"
#include "app/run/results/result.h"
#include "app/run/session.h"
#include "app/run/timing/noise.h"
#include "ranks.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 64 };

typedef struct share {       /* what a rank has of a row */
    char kernels[2 * NAMES]; /* local + remote */
    char local[NAMES];
    double convert_s, prepare_s, tune_s, once_s, made_s, median_s;
    int64_t store, scratch, traffic, slots;
    int threads;
    spmv_ranks_plan_facts exchange;
} share;

struct of_ranks { /* what a record points to */
    double *medians;
    const char **kernels;
    share *shares;
};

static void add_facts(share *s, const spmv_plan_facts *f) {
    s->convert_s += f->convert_s;
    s->prepare_s += f->prepare_s;
    s->tune_s += f->tune_s;
    s->once_s += f->once_s;
    s->made_s += f->made_s;
    s->store += (int64_t)f->store_bytes;
    s->scratch += (int64_t)f->scratch_bytes;
    s->traffic += (int64_t)f->traffic_bytes;
    s->slots += f->slots;
    if (f->threads > s->threads) s->threads = f->threads;
}

static share own_share(const course *c) {
    share mine = {.median_s = NAN};
    spmv_plan_facts local = SPMV_OPTS(spmv_plan_facts), remote = SPMV_OPTS(spmv_plan_facts);
    if (c->plan && spmv_ranks_plan_info(c->plan, &local, &remote) == SPMV_OK) {
        mine.exchange = SPMV_OPTS(spmv_ranks_plan_facts);
        spmv_ranks_plan_exchange(c->plan, &mine.exchange);
        add_facts(&mine, &local);
        add_facts(&mine, &remote);
        snprintf(mine.local, sizeof mine.local, "%s", local.kernel);
        snprintf(mine.kernels, sizeof mine.kernels, "%s%s%s", local.kernel,
                 remote.kernel ? " + " : "", remote.kernel ? remote.kernel : "");
    }
    if (c->n) mine.median_s = statistics_of(c->own, c->n).median;
    return mine;
}

/* ---- of all ranks --------------------------------------------------------------------------- */

static void describe_kernels(const ranks *w, struct of_ranks *of, record *r) {
    bool same = *of->shares[0].local;
    for (int k = 0; k < w->size; k++) {
        of->kernels[k] = of->shares[k].kernels;
        of->medians[k] = of->shares[k].median_s;
        same &= strcmp(of->shares[k].local, of->shares[0].local) == 0;
    }
    r->ranks_kernels = (texts){of->kernels, w->size};
    if (isfinite(of->medians[0])) r->ranks_medians_s = (numbers){of->medians, w->size};
    if (same) r->config_kernel = of->shares[0].local;
}

static void describe_plans(const ranks *w, const course *c, const struct of_ranks *of, record *r) {
    share sum = {0};
    double total_s = 0;
    for (int k = 0; k < w->size; k++) {
        const share *s = &of->shares[k];
        sum.store += s->store;
        sum.scratch += s->scratch;
        sum.traffic += s->traffic;
        sum.slots += s->slots;
        sum.convert_s = fmax(sum.convert_s, s->convert_s);
        sum.prepare_s = fmax(sum.prepare_s, s->prepare_s);
        sum.tune_s = fmax(sum.tune_s, s->tune_s);
        sum.once_s = fmax(sum.once_s, s->once_s);
        sum.made_s = fmax(sum.made_s, s->made_s);
        total_s = fmax(total_s, s->convert_s + s->prepare_s + s->tune_s);
    }
    const int64_t width = c->precision == SPMV_F64 ? 8 : 4;
    r->store_matrix_B = sum.store;
    r->store_meta_B = sum.scratch;
    r->store_padding = w->of.nnz ? (double)(sum.slots - w->of.nnz) / (double)w->of.nnz : 0;
    r->store_working_set_B = sum.traffic + width * c->k * (w->of.rows + w->of.cols);
    r->prep_convert_s = sum.convert_s;
    r->prep_prepare_s = sum.prepare_s;
    if (is_chosen(r)) r->prep_tune_s = sum.tune_s;
    r->prep_once_s = sum.once_s;
    r->prep_made_s = sum.made_s;
    r->prep_total_s = total_s;
    r->perf_flop = c->k * spmv_flop(w->of.nnz);
    r->perf_bytes_min_B = r->store_working_set_B;
    if (w->run->o->beta != 0) r->perf_bytes_min_B += width * c->k * w->of.rows;
    r->config_threads = of->shares[0].threads;
    r->timing_clock = "monotonic";
}

static void describe_halo(const ranks *w, const course *c, const struct of_ranks *of, record *r) {
    const int64_t width = (c->precision == SPMV_F64 ? 8 : 4) * c->k;
    const spmv_ranks_plan_facts *own = &of->shares[0].exchange;
    int64_t received = 0, sent = 0, all = 0;
    int peers = 0;
    for (int k = 0; k < w->size; k++) {
        const spmv_ranks_plan_facts *f = &of->shares[k].exchange;
        if (f->received > received) received = f->received;
        if (f->sent > sent) sent = f->sent;
        if (f->receives_from > peers) peers = f->receives_from;
        all += f->received;
    }
    r->ranks_halo = halo_names[own->halo];
    r->ranks_exchange = own->carrier;
    if (own->lists_s > 0) r->ranks_lists_s = own->lists_s;
    if (own->replicate_s > 0) r->ranks_replicate_s = own->replicate_s;
    r->ranks_received_B = width * received;
    r->ranks_sent_B = width * sent;
    r->ranks_halo_B = width * all;
    r->ranks_peers = peers;
}

static void describe_ways(const course *c, const double median[WAYS], record *r) {
    r->ranks_overlap = c->way == SPMV_OVERLAPPED ? "on" : "off";
    r->ranks_overlapped_s = median[SPMV_OVERLAPPED];
    r->ranks_in_turn_s = median[SPMV_IN_TURN];
    r->ranks_exchange_s = median[SPMV_EXCHANGE_ALONE];
    r->ranks_product_s = median[SPMV_PRODUCT_ALONE];
}

static struct of_ranks *of_ranks_alloc(const ranks *w) {
    const size_t n = (size_t)w->size;
    char *memory = calloc(1, sizeof(struct of_ranks) +
                                 n * (sizeof(share) + sizeof(double) + sizeof(const char *)));
    if (!memory) return NULL;
    struct of_ranks *of = (struct of_ranks *)(void *)memory;
    of->shares = (share *)(void *)(memory + sizeof *of);
    of->medians = (double *)(of->shares + n);
    of->kernels = (const char **)(of->medians + n);
    return of;
}

int ranks_add_noise(ranks *w, noise *n) {
    noise *all = malloc((size_t)w->size * sizeof *all);
    int code = ranks_vote(w, all ? 0 : complain(SPMV_E_NOMEM, NULL));
    if (!code) {
        const spmv_status status = spmv_ranks_gather(w->ranks, n, sizeof *n, all);
        if (status != SPMV_OK) code = ranks_failed(w, status);
    }
    for (int r = 0; r < w->size && !code; r++) {
        if (w->host[r] != 0 || r == w->rank) continue;
        n->cpu_s += all[r].cpu_s;
        n->waited_s = fmax(n->waited_s, all[r].waited_s); /* others wait for the one that waits */
    }
    free(all);
    return code;
}

/* ---- the whole ------------------------------------------------------------------------------ */

int ranks_describe(ranks *w, inputs *in, candidate *e, course *c, const char *status, result *out) {
    const session *run = w->run;
    const share mine = own_share(c);
    struct of_ranks *of = of_ranks_alloc(w);
    const int code = ranks_vote(w, of ? 0 : complain(SPMV_E_NOMEM, NULL));
    out->of_ranks = of;
    if (code) return code;
    const spmv_status gathered = spmv_ranks_gather(w->ranks, &mine, sizeof mine, of->shares);
    if (gathered != SPMV_OK) return ranks_failed(w, gathered);
    if (!is_first(w)) return 0;
    e->p = (problem){.precision = c->precision,
                     .rows = w->of.rows,
                     .cols = w->of.cols,
                     .k = c->k,
                     .layout = c->k > 1 ? SPMV_ROWS : SPMV_COLUMNS,
                     .alpha = run->o->alpha,
                     .beta = run->o->beta,
                     .host = true,
                     .nproducts = 1};
    const bool timed = strcmp(status, "ok") == 0;
    if (timed) {
        e->t.sample_s = c->slowest[c->way]; /* the record's, below */
        e->t.s = statistics_of(e->t.sample_s, c->n);
    }
    double median[WAYS]; /* before the record thins the samples */
    const bool overlaps = of->shares[0].exchange.halo != SPMV_HALO_REPLICATE;
    const double hidden = timed && overlaps ? ranks_hidden(c->slowest, c->n) : NAN;
    for (int k = 0; k < WAYS && timed; k++) median[k] = statistics_of(c->slowest[k], c->n).median;
    describe_row(run, in, e, status, out);
    if (is_chosen(&out->r)) out->alias = out->r.config_requested;
    record *r = &out->r;
    if (!in->drawn && *in->thumbnail) r->matrix_thumbnail = in->thumbnail;
    in->drawn = true;
    if (c->plan) {
        describe_kernels(w, of, r);
        describe_plans(w, c, of, r);
        describe_halo(w, c, of, r);
    }
    if (w->of.nnz) r->ranks_imbalance = (double)w->facts.most_own_nnz * w->size / (double)w->of.nnz;
    if (timed) {
        describe_ways(c, median, r);
        r->ranks_hidden = hidden;
        describe_rates(r);
        c->slowest[c->way] = NULL;
    }
    return 0;
}

void ranks_introduce(const ranks *w) {
    say("  %d ranks on %d host%s, %s\n", w->size, w->team.hosts, w->team.hosts == 1 ? "" : "s",
        w->team.mpi);
}

void ranks_explain(const result *out) {
    const record *r = &out->r;
    char exchange[TIME_TEXT], product[TIME_TEXT], in_turn[TIME_TEXT], overlapped[TIME_TEXT];
    char imbalance[32] = "-"; /* of a matrix without entries */
    if (!out->finished || !r->status || strcmp(r->status, "ok") != 0) return;
    time_text(r->ranks_exchange_s, exchange);
    time_text(r->ranks_product_s, product);
    time_text(r->ranks_in_turn_s, in_turn);
    time_text(r->ranks_overlapped_s, overlapped);
    if (isfinite(r->ranks_imbalance))
        snprintf(imbalance, sizeof imbalance, "%.2f", r->ranks_imbalance);
    say("  %s: halo %.3g MB (most of a rank%s), imbalance %s; exchange alone %s, product alone "
        "%s, "
        "in turn %s, overlapped %s%s\n",
        r->config_kernel, 1e-6 * (double)r->ranks_received_B,
        strcmp(r->ranks_halo, "lists") == 0 ? "" : "; x is replicated", imbalance, exchange,
        product, in_turn, overlapped,
        strcmp(r->ranks_overlap, "on") == 0 ? "" : ": in turn is used");
}
