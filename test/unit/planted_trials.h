/* planted_trials.h: trials whose kernels are planted for test_trials.c, and whose time is what they
 * say it is: a product adds its price to a clock that the device reads. */
#ifndef SPMV_TEST_PLANTED_TRIALS_H
#define SPMV_TEST_PLANTED_TRIALS_H

#include "context.h"
#include "spmv_clock.h"
#include "tune/trials.h"
#include <float.h>
#include <math.h>

static double planted_now;
static int flushes, lost;

typedef struct planted {
    double price_s, first_s; /* a product; the first one */
    spmv_status answer;      /* status of the second and later ones */
    enum fault { RIGHT, ROUNDS, SKIPS_A_ROW, MIXES_COLUMNS, STOPS_AT_16 } fault;
    int runs;
    int64_t vectors; /* number of vectors of the last product */
    spmv_kernel kernel;
    spmv_proposal proposal;
} planted;
static planted plant[MOST_CANDIDATES];
static double (*disturb)(const planted *); /* its product takes as many times as long */
static trials *spending; /* trials whose budget pays for the planted candidates' times; NULL: no
                            budget is charged */
static double paid_s;    /* by it */

/* Charges only planted seconds to the budget: sets its start such that the machine's own time,
 * perhaps beside other processes, does not count up to the last product. */
static void spend(double seconds) {
    paid_s += seconds;
    if (!spending) return;
    double unpaid_s = spending->flushing_s + spending->unpaid_s + spending->once_s;
    spending->start = spmv_now() - paid_s - unpaid_s;
}

/* Multiplies one vector with stride `apart` by one thread, so that no real time is lost with waking
 * others. */
static void multiply(const planted *k, const spmv_csr *A, int64_t apart, const double *x,
                     double *y) {
    for (int64_t i = 0; i < A->rows; i++) {
        double sum = 0;
        if (k->fault == SKIPS_A_ROW && i == A->rows / 2) continue;
        for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
            int64_t j = k->fault == MIXES_COLUMNS ? A->col_idx[e] ^ 1 : A->col_idx[e];
            sum += A->values[e] * x[j * apart];
        }
        y[i * apart] = k->fault == ROUNDS ? sum * (1 + DBL_EPSILON) : sum;
    }
}

static spmv_status planted_run(const spmv_plan *p, const spmv_operands *v) {
    planted *k = (planted *)(uintptr_t)((const char *)p->kernel - offsetof(planted, kernel));
    double times = disturb ? disturb(k) : 1;
    double seconds = (k->runs++ ? k->price_s : k->first_s) * times;
    planted_now += seconds;
    spend(seconds);
    if (k->runs > 1 && k->answer != SPMV_OK) return spmv_fail(p->device->ctx, k->answer, "planted");
    const bool in_rows = v->layout == SPMV_ROWS && v->k > 1;
    k->vectors = v->k;
    for (int64_t c = 0; c < v->k && !(k->fault == STOPS_AT_16 && c == 16); c++)
        multiply(k, &p->matrix->csr, in_rows ? v->ldx : 1,
                 (const double *)v->x + c * (in_rows ? 1 : v->ldx),
                 (double *)v->z + c * (in_rows ? 1 : v->ldz));
    return SPMV_OK;
}

static double started;
static spmv_status planted_tick(spmv_device *d) {
    (void)d;
    started = planted_now;
    return SPMV_OK;
}

static spmv_status planted_tock(spmv_device *d, double *seconds) {
    (void)d;
    *seconds = planted_now - started;
    return SPMV_OK;
}

static double flush_s;
static bool flushed; /* there is memory that was read */
static spmv_status planted_flush(spmv_device *d, size_t bytes) {
    (void)d;
    if (bytes == 0) { /* the memory is given back */
        flushed = false;
        return SPMV_OK;
    }
    flushed = true;
    if (spending) spending->flushing_s += flush_s;
    spend(0);
    assert_int_equal(bytes, 4096);
    flushes++;
    return SPMV_OK;
}

static bool can_evict;
static size_t evicted;
static bool planted_evict(spmv_device *d, const void *memory, size_t bytes) {
    if (can_evict) evicted += bytes;
    (void)d, (void)memory;
    return can_evict;
}

static spmv_status planted_nothing(spmv_device *d) {
    return lost ? spmv_fail(d->ctx, SPMV_E_DEVICE, "lost") : SPMV_OK;
}

static int rooms = -1; /* blocks of memory that are left; negative: any number */
static spmv_status planted_alloc(spmv_device *d, size_t bytes, void **out) {
    if (rooms == 0) return spmv_fail(d->ctx, SPMV_E_NOMEM, "no room");
    rooms -= rooms > 0;
    return spmv_omp.alloc(d, bytes, out);
}

static void planted_release(spmv_device *d, void *memory) {
    rooms += rooms >= 0 && memory;
    spmv_omp.release(d, memory);
}

static bool on_host = true, is_kept;
static double converted_s; /* seconds that building the candidates took */
static spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = 1};

/* Runs the trials of n kernels with these prices; the first is the baseline. budget: in baseline
 * product times; 0 is spent from the beginning. */
static spmv_status run_trials(int n, const planted *of, double budget, size_t flush, int copies,
                              trials *c) {
    static spmv_backend backend;
    backend = spmv_omp;
    backend.tick = planted_tick, backend.tock = planted_tock;
    backend.alloc = planted_alloc, backend.release = planted_release;
    backend.host = on_host;
    backend.flush = planted_flush, backend.nothing = planted_nothing;
    backend.evict = planted_evict;
    flushes = 0, planted_now = 0, paid_s = 0;
    spmv_mat *mat = must_load(ctx, "gen:poisson2d:4");
    *c = (trials){
        .mat = mat, .opts = &opts, .backend = &backend, .flush = flush, .copies = copies, .n = n};
    c->is_kept = is_kept, c->cache = 2048;
    for (int k = 0; k < n; k++) {
        plant[k] = of[k];
        if (plant[k].first_s == 0) plant[k].first_s = plant[k].price_s;
        assert_int_equal(spmv_plan_create(mat, NULL, &c->entry[k].plan), SPMV_OK);
        plant[k].kernel = *c->entry[k].plan->kernel;
        plant[k].kernel.run = plant[k].kernel.run_columns = plant[k].kernel.run_rows = planted_run;
        plant[k].proposal = (spmv_proposal){.kernel = "planted"};
        c->entry[k].plan->kernel = &plant[k].kernel;
        c->entry[k].proposal = &plant[k].proposal;
    }
    c->device = c->entry[0].plan->device;
    c->device->backend = &backend;
    c->start = spmv_now();
    c->budget = budget;
    spmv_status status = spmv_trials_baseline(c);
    spend(converted_s);
    for (int k = 1; status == SPMV_OK && k < n; k++) status = spmv_trials_first(c, &c->entry[k]);
    spend(0);
    if (status == SPMV_OK) status = spmv_trials_run(c);
    return status;
}

static void end_trials(trials *c) {
    FREED(spmv_mat) *mat = c->mat;
    spmv_trials_free(c);
    ctx->device[0].backend = &spmv_omp;
}
#endif
