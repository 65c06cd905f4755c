/* verify.h: the reference of a product and the check against it. */
#ifndef SPMV_APP_VERIFY_H
#define SPMV_APP_VERIFY_H

#include "spmv.h"
#include <stdbool.h>

typedef struct oracle { /* of op(A) and an x */
    int64_t rows;
    int threads;         /* for sums and checks */
    long double *sum;    /* [rows] (op(A) x)_i from the file's entries */
    double *lost;        /* [rows] what additions to sum round off, while it is made */
    long double *mass;   /* [rows] (|A| |x|)_i */
    long double *square; /* [rows] sum_j (a_ij x_j)^2 */
    int32_t *len;        /* [rows] entries summed, duplicates counted apart */
    double x_max, a_max; /* largest finite |x_j| and |a_ij|, at least 1 */
    bool random_x;       /* x is the program's own, of random signs; the caller sets it */
} oracle;
/* op: SPMV_AS_IS or SPMV_TRANSPOSE; x: already of that precision. */
spmv_status oracle_make(const spmv_mat *mat, spmv_op op, spmv_precision precision, const double *x,
                        int threads, oracle *out);
/* The same of entries that the caller has. x(of, j), of any thread, returns number j of x. */
typedef double (*oracle_x)(const void *of, int64_t j);
spmv_status oracle_of_entries(const spmv_coo_view *A, spmv_precision precision, oracle_x x,
                              const void *of, int threads, oracle *out);
void oracle_free(oracle *o);

typedef struct verdict {
    int64_t bad_rows, first_bad_row; /* -1: none. Those of every vector count */
    int64_t first_bad_vector;        /* that has it */
    double got, expected;            /* in the first bad row */
    double max_ratio;                /* of error to bound */
} verdict;
/* y and y0 are in the precision given; y0 is not read when beta = 0. */
verdict oracle_check(const oracle *o, spmv_precision precision, double alpha, double beta,
                     const void *y0, const void *y);
/* The same of k vectors in that layout, with the least leading dimension; o[v] is vector v's. */
verdict oracle_check_all(const oracle *o, int64_t k, spmv_layout layout, spmv_precision precision,
                         double alpha, double beta, const void *y0, const void *y);

/* Returns entry i of the random vector of a seed: in (-1, -1/16] or [1/16, 1), so that no dropped
 * entry can hide behind a tiny x, with 53 random bits. */
double random_entry(uint64_t seed, uint64_t i);

#endif
