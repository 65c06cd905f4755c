/* new_values.h: values for a matrix's entries, and what sets them. */
#ifndef SPMV_TEST_NEW_VALUES_H
#define SPMV_TEST_NEW_VALUES_H

#include "testing.h"

static inline double random_value(int64_t k) {
    return random_entry(991, (uint64_t)k);
}

static inline double few_values(int64_t k) {
    static const double few[] = {0.3, -7, 1e-3};
    return few[k * k % 5 % 3];
}

static inline double *values_for(const entries *e, double (*value)(int64_t k)) {
    double *v = malloc((size_t)(e->nnz ? e->nnz : 1) * sizeof *v);
    assert_non_null(v);
    for (int64_t k = 0; k < e->nnz; k++) v[k] = value(k);
    return v;
}

static inline spmv_plan *plan_with(spmv_mat *mat, const char *kernel, spmv_precision precision,
                                   int refill) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = kernel;
    opts.precision = precision;
    opts.refill = refill;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK)
        print_error("%s\n", spmv_ctx_error(mat->ctx));
    return plan;
}

static inline spmv_status set_values(spmv_mat *mat, const void *fresh) {
    return spmv_mat_set_values(mat, fresh, SPMV_HOST, NULL);
}

static inline uint64_t hash_of(const spmv_mat *mat) {
    spmv_stats stats = stats_of(mat);
    return stats.hash;
}

#endif
