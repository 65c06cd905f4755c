/* verify.h: the reference of a product and the check against it. */
#ifndef SPMV_APP_VERIFY_H
#define SPMV_APP_VERIFY_H

#include "spmv.h"
#include <stdbool.h>

typedef struct oracle { /* reference of op(A) x */
    int64_t rows;
    int threads;         /* for sums and checks */
    long double *sum;    /* [rows] (op(A) x)_i from the file's entries */
    double *lost;        /* [rows] rounding errors of sum, while it is computed */
    long double *mass;   /* [rows] (|A| |x|)_i */
    long double *square; /* [rows] sum_j (a_ij x_j)^2 */
    int32_t *len;        /* [rows] number of entries summed, with duplicates */
    double x_max, a_max; /* largest finite |x_j| and |a_ij|, at least 1 */
    bool random_x;       /* x is the program's random x, with random signs; set by the caller */
} oracle;
/* Computes the reference from the file's entries. op: SPMV_AS_IS or SPMV_TRANSPOSE; x: already
 * rounded to the precision. The caller frees *out. */
spmv_status oracle_make(const spmv_mat *mat, spmv_op op, spmv_precision precision, const double *x,
                        int threads, oracle *out);
/* Computes it from the caller's entries. x(of, j) returns element j of x and may be called by any
 * thread. */
typedef double (*oracle_x)(const void *of, int64_t j);
spmv_status oracle_of_entries(const spmv_coo_view *A, spmv_precision precision, oracle_x x,
                              const void *of, int threads, oracle *out);
void oracle_free(oracle *o);

typedef struct verdict {
    int64_t bad_rows,
        first_bad_row;        /* first_bad_row: -1 if there is none; rows of all vectors count */
    int64_t first_bad_vector; /* the vector of the first bad row */
    double got, expected;     /* values of the first bad row */
    double max_ratio;         /* largest ratio of error to bound */
} verdict;
/* Checks y against alpha op(A) x + beta y0. y and y0 have the given precision; y0 is not read if
 * beta is 0. */
verdict oracle_check(const oracle *o, spmv_precision precision, double alpha, double beta,
                     const void *y0, const void *y);
/* Checks k vectors in the given layout with the minimum leading dimension; o[v] is the reference of
 * vector v. */
verdict oracle_check_all(const oracle *o, int64_t k, spmv_layout layout, spmv_precision precision,
                         double alpha, double beta, const void *y0, const void *y);

/* Returns entry i of the random vector of a seed: in (-1, -1/16] or [1/16, 1), so that no dropped
 * entry can hide behind a tiny x, with 53 random bits. */
double random_entry(uint64_t seed, uint64_t i);

#endif
