/* pagerank.c: the PageRank of a graph by power iteration, x <- d P' x + (1 - d) / n. The vectors
 * stay where the plan runs, on a GPU too.
 *
 *     pagerank [MATRIX [KERNEL]]
 *
 * MATRIX has an entry (i, j) for a link from page i to page j. P has 1 / (links of i) there: its
 * transpose P' passes the ranks on, and the plan is made for it. A page without links passes
 * nothing on; dividing x by its sum at the end has the same effect as passing its rank to all pages
 * alike. KERNEL "cuda:auto": on a GPU. */
#include "example.h"
#include <math.h>

static const double damping = 0.85;
enum { MOST_PRODUCTS = 200, PRODUCTS_PER_CHECK = 10 };

/* Returns P: the graph with other values. */
static spmv_mat *make_transition(spmv_ctx *ctx, const spmv_mat *graph) {
    spmv_csr_view links = SPMV_OPTS(spmv_csr_view);
    spmv_mat *P = NULL;
    check(ctx, spmv_mat_rows(graph, &links));
    double *share = vector(links.nnz);
    for (int64_t i = 0; i < links.rows; i++)
        for (int64_t k = links.row_ptr[i]; k < links.row_ptr[i + 1]; k++)
            share[k] = 1 / (double)(links.row_ptr[i + 1] - links.row_ptr[i]);
    links.values = share;
    check(ctx, spmv_mat_csr(ctx, &links, &P));
    free(share);
    return P;
}

/* Says how far x is from d P' x + (1 - d) / n, by the graph's own entries. */
static double residual(const spmv_ctx *ctx, const spmv_mat *graph, const double *x) {
    spmv_csr_view links = SPMV_OPTS(spmv_csr_view);
    double most = 0;
    check(ctx, spmv_mat_rows(graph, &links));
    double *next = vector(links.rows);
    for (int64_t i = 0; i < links.rows; i++)
        for (int64_t k = links.row_ptr[i]; k < links.row_ptr[i + 1]; k++)
            next[links.col_idx[k]] += x[i] / (double)(links.row_ptr[i + 1] - links.row_ptr[i]);
    for (int64_t i = 0; i < links.rows; i++)
        most = fmax(most, fabs(damping * next[i] + (1 - damping) / (double)links.rows - x[i]));
    free(next);
    return most;
}

int main(int argc, char **argv) {
    const char *path = argc > 1 ? argv[1] : "gen:rmat:16";
    const char *kernel = argc > 2 ? argv[2] : "auto";
    spmv_ctx *ctx = NULL;
    spmv_mat *graph = NULL;
    spmv_stats of = SPMV_OPTS(spmv_stats);
    double sum = 0, rest = 1;
    check(ctx, spmv_ctx_create(NULL, &ctx));
    check(ctx, spmv_mat_load(ctx, path, NULL, &graph));
    check(ctx, spmv_mat_stats(graph, &of));
    spmv_mat *transition = make_transition(ctx, graph);
    product P = prepare(ctx, transition, SPMV_TRANSPOSE, kernel, MOST_PRODUCTS, 0);

    const int64_t n = of.rows;
    double *here = vector(n), *jump = vector(n);
    void *x = P.x, *y = P.y;
    for (int64_t i = 0; i < n; i++) jump[i] = (1 - damping) / (double)n;
    check(ctx, spmv_plan_put(P.plan, x, jump, P.x_bytes));
    while (rest > 1e-12 && P.count < MOST_PRODUCTS) {
        check(ctx, spmv_plan_put(P.plan, y, jump, P.y_bytes));
        multiply_there(&P, damping, x, 1.0, y);
        void *next = y;
        y = x, x = next;
        if (P.count % PRODUCTS_PER_CHECK) continue;
        check(ctx, spmv_plan_get(P.plan, here, x, P.x_bytes));
        rest = residual(ctx, graph, here);
    }
    int64_t best = 0;
    for (int64_t i = 0; i < n; i++) sum += here[i], best = here[i] > here[best] ? i : best;
    printf("%lld pages, %lld iterations, residual %.1e, page %lld leads with rank %.2e\n",
           (long long)n, (long long)P.count, rest, (long long)best, here[best] / sum);
    report(&P);

    free(here), free(jump);
    finish(&P), spmv_mat_free(transition), spmv_mat_free(graph), spmv_ctx_free(ctx);
    return rest <= 1e-12 ? 0 : 1;
}
