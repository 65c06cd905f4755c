/* bench/preparing.c: preparation beside a competing process on each core, with all threads and with
 * one: bench_preparing, part of make bench-threads.
 *
 * Creates a matrix from borrowed rows and from unordered entries, writes and reads it, creates a
 * plan that samples and converts, and sets new values; each RUNS times in turns, in milliseconds.
 * Exits with 1 if the maximum time with all threads exceeds MOST times the maximum with one thread
 * for any of these. */
#include "spmv.h"
#include "bars.h"
#include "competitors.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { RUNS = 20, MOST = 3, ROWS = 800000, STEPS = 6 };
static const char *const names[STEPS] = {"rows, borrowed", "entries",         "writing",
                                         "reading",        "plan, converted", "new values"};

typedef struct entries { /* entries of a tridiagonal matrix, as coordinates and as rows */
    int64_t ptr[ROWS + 1];
    int32_t row[3 * ROWS], col[3 * ROWS], mixed_row[3 * ROWS], mixed_col[3 * ROWS];
    double values[3 * ROWS];
} entries;

static void fill(entries *e) {
    for (int64_t k = 0; k < 3 * ROWS; k++) {
        const int64_t i = k / 3, at = k * 7 % (3 * ROWS);
        e->row[k] = (int32_t)i;
        e->col[k] = (int32_t)((i < 1 ? 0 : i > ROWS - 2 ? ROWS - 3 : i - 1) + k % 3);
        e->values[k] = 1 + (double)(k % 1000);
        e->mixed_row[at] = e->row[k], e->mixed_col[at] = e->col[k];
    }
    for (int64_t i = 0; i <= ROWS; i++) e->ptr[i] = 3 * i;
}

static double took_ms(double *start) {
    const double before = *start;
    *start = spmv_now();
    return 1e3 * (*start - before);
}

/* Runs and times each kind of preparation once. Returns false if one fails. */
static bool prepare(spmv_ctx *ctx, const entries *e, const char *file, double *ms) {
    const spmv_arrays rows = {.size = sizeof rows,
                              .rows = ROWS,
                              .cols = ROWS,
                              .nnz = 3 * ROWS,
                              .ptr = e->ptr,
                              .ptr_bits = 64,
                              .idx = e->col,
                              .values = e->values,
                              .flags = SPMV_BORROW};
    const spmv_coo_view list = {.size = sizeof list,
                                .rows = ROWS,
                                .cols = ROWS,
                                .nnz = 3 * ROWS,
                                .row = e->mixed_row,
                                .col = e->mixed_col,
                                .values = e->values};
    const spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = 100};
    spmv_mat *mat[3] = {NULL, NULL, NULL};
    spmv_plan *plan = NULL;
    double start = spmv_now();
    bool ok = spmv_mat_create(ctx, &rows, &mat[0]) == SPMV_OK;
    ms[0] = took_ms(&start);
    ok = ok && spmv_mat_coo(ctx, &list, SPMV_BORROW, &mat[1]) == SPMV_OK;
    ms[1] = took_ms(&start);
    ok = ok && spmv_mat_save(mat[0], file) == SPMV_OK;
    ms[2] = took_ms(&start);
    ok = ok && spmv_mat_load(ctx, file, NULL, &mat[2]) == SPMV_OK;
    ms[3] = took_ms(&start);
    ok = ok && spmv_plan_create(mat[0], &opts, &plan) == SPMV_OK;
    ms[4] = took_ms(&start);
    ok = ok && spmv_mat_set_values(mat[0], e->values, SPMV_HOST, NULL) == SPMV_OK;
    ms[5] = took_ms(&start);
    spmv_plan_free(plan);
    for (int k = 0; k < 3; k++) spmv_mat_free(mat[k]);
    return ok;
}

int main(void) {
    char file[] = "bench_preparing.XXXXXX.mtx";
    const int made = mkstemps(file, 4);
    entries *e = malloc(sizeof *e);
    spmv_ctx *one = NULL, *all = NULL;
    const spmv_ctx_opts single = {.size = sizeof single, .threads = 1};
    double least[2][STEPS], most[2][STEPS];
    double worst = 0;
    bool ok = made >= 0 && e && spmv_ctx_create(&single, &one) == SPMV_OK &&
              spmv_ctx_create(NULL, &all) == SPMV_OK;
    if (ok) fill(e);
    for (int k = 0; k < 2 * STEPS; k++)
        least[k / STEPS][k % STEPS] = INFINITY, most[k / STEPS][k % STEPS] = 0;
    begin_competition();
    for (int r = 0; r < RUNS && ok; r++)
        for (int t = 0; t < 2 && ok; t++) {
            double ms[STEPS];
            ok = prepare(t ? all : one, e, file, ms);
            for (int k = 0; k < STEPS; k++)
                least[t][k] = fmin(least[t][k], ms[k]), most[t][k] = fmax(most[t][k], ms[k]);
        }
    end_competition();
    if (!ok) fprintf(stderr, "bench_preparing: %s\n", spmv_ctx_error(all));
    for (int k = 0; k < STEPS && ok; k++) {
        const double ratio = most[1][k] / most[0][k];
        worst = fmax(worst, ratio);
        printf("  %-16s one thread %7.1f to %7.1f ms, %d threads %7.1f to %7.1f ms, %5.2f%s\n",
               names[k], least[0][k], most[0][k], spmv_ctx_threads(all), least[1][k], most[1][k],
               ratio, ratio > MOST ? "  OVER THE LIMIT" : "");
    }
    spmv_ctx_free(one);
    spmv_ctx_free(all);
    if (made >= 0) unlink(file), close(made);
    free(e);
    return !ok ||
           misses_bar("preparing beside others: longest over that of one thread", worst, MOST);
}
