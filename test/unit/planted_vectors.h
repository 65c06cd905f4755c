/* planted_vectors.h: a kernel of several vectors to plant, right or wrong in a way that a product
 * of one vector does not show, for tests of the checks. In doubles, over compressed rows. */
#ifndef SPMV_TEST_PLANTED_VECTORS_H
#define SPMV_TEST_PLANTED_VECTORS_H

#include "testing.h"

typedef enum vector_fault {
    NO_FAULT,
    IGNORES_LDX,        /* reads vectors as if nothing were between them */
    IGNORES_LDZ,        /* writes them so */
    WRITES_BETWEEN,     /* a number behind each vector or row, where there is room */
    WRONG_BEYOND_16,    /* one vector, only if there are more than 16 */
    VALUES_ARE_ONE,     /* fault: values of the matrix are 1 */
    FIRST_OF_ANOTHER_K, /* vector 0, when k is not that of the product before */
    ADDS_TO_Z,          /* although beta is 0 */
    LEAVES_REMAINDER,   /* the last k mod 8 vectors */
    LEAVES_LAST_BLOCKS, /* rows from 65,535 on: more blocks than a grid has in y */
    SWAPS_VECTORS,      /* 0 and 1 */
    OTHER_LAYOUT,       /* writes rows as columns and columns as rows */
    LOSES_DUPLICATES,   /* fault: of duplicates in the transpose only the last is kept */
    LOSES_EMPTY_ROWS,   /* so that rows behind them move up */
    FAULTS
} vector_fault;

static vector_fault planted_fault;
static int64_t planted_k; /* number of vectors of the product before */

/* Returns the index of element i of vector j; n elements per vector. */
static int64_t vector_place(const spmv_operands *v, int64_t n, int64_t i, int64_t j, int64_t ld,
                            bool ignores_ld) {
    const bool in_rows = v->layout == SPMV_ROWS;
    if (v->k == 1 && ld <= 1) return i; /* a contiguous vector in rows of one */
    if (ignores_ld) ld = in_rows ? v->k : n;
    return in_rows ? i * ld + j : j * ld + i;
}

/* The value of the last entry of the file at this place of the matrix itself. */
static double last_duplicate(const spmv_mat *mat, int64_t row, int64_t col) {
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    double found = 0;
    spmv_mat_entries(mat, &A);
    for (int64_t k = 0; k < A.nnz; k++)
        if (A.row[k] == row && A.col[k] == col) found = A.values ? A.values[k] : 1;
    return found;
}

static double planted_sum(const spmv_plan *p, const spmv_csr_view *A, const spmv_operands *v,
                          int64_t i, int64_t j) {
    const double *x = v->x;
    double sum = 0;
    for (int64_t e = A->row_ptr[i]; e < A->row_ptr[i + 1]; e++) {
        const int64_t col = A->col_idx[e];
        double a = planted_fault == VALUES_ARE_ONE ? 1 : A->values[e];
        if (planted_fault == LOSES_DUPLICATES) a = last_duplicate(p->matrix->base, col, i);
        sum += a * x[vector_place(v, p->cols, col, j, v->ldx, planted_fault == IGNORES_LDX)];
    }
    return sum;
}

/* Returns how many of the rows in front have entries. */
static int64_t rows_with_entries(const spmv_csr_view *A, int64_t i) {
    int64_t n = 0;
    for (int64_t r = 0; r < i; r++) n += A->row_ptr[r + 1] > A->row_ptr[r];
    return n;
}

static void plant_number(const spmv_plan *p, const spmv_csr_view *A, const spmv_operands *v,
                         int64_t i, int64_t j) {
    double *z = v->z, sum = planted_sum(p, A, v, i, j);
    const double *y = v->y;
    int64_t row = i, to = j;
    if (planted_fault == LOSES_EMPTY_ROWS && A->row_ptr[i + 1] > A->row_ptr[i])
        row = rows_with_entries(A, i);
    if (planted_fault == SWAPS_VECTORS && j < 2 && v->k > 1) to = 1 - j;
    int64_t at = vector_place(v, p->rows, row, to, v->ldz, planted_fault == IGNORES_LDZ);
    if (planted_fault == OTHER_LAYOUT)
        at = v->layout == SPMV_ROWS ? to * p->rows + row : row * v->k + to;
    if (planted_fault == WRONG_BEYOND_16 && v->k > 16 && j == 5) sum *= 1 + 0x1p-30;
    if (planted_fault == FIRST_OF_ANOTHER_K && j == 0 && v->k != planted_k) sum *= 2;
    const double before = planted_fault == ADDS_TO_Z && v->beta == 0 ? z[at]
                          : v->beta == 0
                              ? 0
                              : v->beta * y[vector_place(v, p->rows, row, to, v->ldy, false)];
    z[at] = v->alpha * sum + before;
}

static spmv_status run_planted_vectors(const spmv_plan *p, const spmv_operands *v) {
    enum { WIDTH = 8, BLOCKS = 65535 };
    spmv_csr_view A = rows_of(p->matrix);
    for (int64_t j = 0; j < v->k; j++) {
        if (planted_fault == LEAVES_REMAINDER && j >= v->k / WIDTH * WIDTH) continue;
        for (int64_t i = 0; i < A.rows; i++)
            if (planted_fault != LEAVES_LAST_BLOCKS || i < BLOCKS) plant_number(p, &A, v, i, j);
    }
    const bool in_rows = v->layout == SPMV_ROWS;
    const int64_t length = in_rows ? v->k : p->rows, lines = in_rows ? p->rows : v->k;
    for (int64_t n = 0; planted_fault == WRITES_BETWEEN && v->ldz > length && n < lines; n++)
        ((double *)v->z)[n * v->ldz + length] = 0;
    planted_k = v->k;
    return SPMV_OK;
}

/* Puts it into the place of the plan's kernel; the fault takes effect from the next product on. */
static void plant_vectors(spmv_plan *plan, spmv_kernel *kernel, vector_fault fault) {
    *kernel = *plan->kernel;
    kernel->run = kernel->run_columns = kernel->run_rows = run_planted_vectors;
    plan->kernel = kernel;
    planted_fault = fault;
    planted_k = 0;
}
#endif
