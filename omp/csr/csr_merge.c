/* csr_merge: each thread takes an equal share of rows plus nonzeros of a CSR matrix, wherever that
 * cuts a row.
 *
 * Source   Merrill and Garland, SC'16, "Merge-based parallel sparse matrix-vector multiplication".
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry by the share where the row ends; then one carry per share, serially,
 *          for the rows that began in an earlier share.
 * Work     the ends of the rows and the nonzeros are merged into one list of rows + nnz items;
 *          share s is the s-th of as many equal parts as there are threads.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once.
 * Weak     nothing is left to balance at run time: a thread that shares its core delays all.
 * Repeats  bitwise: yes, for an equal number of threads.
 * Params   simd: the compiler may split the sum over vector lanes (0).
 */
#include "omp/carry.h"
#include "formats/csr/csr.h"
#include "formats/row_ends.h"

typedef struct shares {
    int64_t first_row[MOST_SHARES + 1]; /* the row that share s begins in */
    carry carries[MOST_SHARES];
} shares;

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c; /* whatever they are */
    return sizeof(shares);
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    spmv_mat_rows(p->matrix, &A);
    int64_t nshares = shares_of(p);
    TRY(make_scratch(p, sizeof(shares)));
    shares *t = p->scratch;
    for (int64_t s = 0; s <= nshares; s++)
        t->first_row[s] = spmv_rows_ended(&A, spmv_split(A.rows + A.nnz, nshares, s));
    return SPMV_OK;
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const real alpha = (real)v->alpha, beta = (real)v->beta, *x = v->x;
    real *y = v->z;
    const csr *A = (const csr *)p->store;
    shares *t = p->scratch;
    int64_t nshares = shares_of(p), items = A->s.rows + A->s.nnz;
    bool simd = p->choice.value[SPMV_simd];
#pragma omp parallel for schedule(static, 1) num_threads((int)nshares)
    for (int64_t s = 0; s < nshares; s++) {
        int64_t i = t->first_row[s], k = spmv_split(items, nshares, s) - i;
        int64_t last = t->first_row[s + 1], end = spmv_split(items, nshares, s + 1) - last;
        for (; i < last; k = A->row_ptr[++i])
            put_row(y + i, alpha, dot(A->values, A->col_idx, x, k, A->row_ptr[i + 1], simd), beta);
        t->carries[s] = (carry){k < end ? last : -1, dot(A->values, A->col_idx, x, k, end, simd)};
    }
    add_carries(t->carries, nshares, alpha, y);
    return SPMV_OK;
}

static const spmv_param params[] = {PARAM_SIMD, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_merge) = {
    .name = "csr_merge",
    .format = "csr",
    .summary = "equal shares of rows plus entries, which no long row can stop",
    .params = params,
    .traits = SPMV_DETERMINISTIC,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .release = free_scratch,
};
