/* objects.h: what most unit tests begin with, in one line each, and freeing it at the end of its
 * block. */
#ifndef SPMV_TEST_OBJECTS_H
#define SPMV_TEST_OBJECTS_H

#include "spmv_format.h"
#include "suite.h"

/* FREED(spmv_mat) *mat = ...; declares what is freed when its block ends, the last declared first.
 * A type of which there can be such variables has a function TYPE_at_end. */
#define FREED(type) __attribute__((cleanup(type##_at_end), unused)) type
#define POINTER_AT_END(type, free_it) \
    static inline void type##_at_end(type **it) { \
        free_it(*it); \
    }
#define STRUCT_AT_END(type, free_it) \
    static inline void type##_at_end(type *it) { \
        free_it(it); \
    }
POINTER_AT_END(spmv_ctx, spmv_ctx_free)
POINTER_AT_END(spmv_mat, spmv_mat_free)
POINTER_AT_END(spmv_plan, spmv_plan_free)
POINTER_AT_END(spmv_store, spmv_store_free)
POINTER_AT_END(void, free)
POINTER_AT_END(char, free)
POINTER_AT_END(float, free)
POINTER_AT_END(double, free)
POINTER_AT_END(int32_t, free)
POINTER_AT_END(int64_t, free)

static inline void must_work(spmv_status status) {
    if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(NULL));
}

static inline spmv_mat *must_load(spmv_ctx *ctx, const char *source) {
    spmv_mat *mat = NULL;
    must_work(spmv_mat_load(ctx, source, NULL, &mat));
    return mat;
}

static inline spmv_plan *must_plan(spmv_mat *mat, const spmv_plan_opts *opts) {
    spmv_plan *plan = NULL;
    must_work(spmv_plan_create(mat, opts, &plan));
    return plan;
}

/* SPMV_OPTS(type) with these members. */
#define WITH(type, ...) ((type){.size = sizeof(type), __VA_ARGS__})
/* Views of arrays; other members follow as .member = value. */
#define CSR_VIEW(n_rows, n_cols, n, ptr, idx, numbers, ...) \
    WITH(spmv_csr_view, .rows = n_rows, .cols = n_cols, .nnz = n, .row_ptr = ptr, .col_idx = idx, \
         .values = numbers, __VA_ARGS__)
#define COO_VIEW(n_rows, n_cols, n, rows_at, cols_at, numbers, ...) \
    WITH(spmv_coo_view, .rows = n_rows, .cols = n_cols, .nnz = n, .row = rows_at, .col = cols_at, \
         .values = numbers, __VA_ARGS__)
#define ARRAYS(n_rows, n_cols, n, ptr_at, bits, idx_at, numbers, ...) \
    WITH(spmv_arrays, .rows = n_rows, .cols = n_cols, .nnz = n, .ptr = ptr_at, .ptr_bits = bits, \
         .idx = idx_at, .values = numbers, __VA_ARGS__)

static inline spmv_csr_view rows_of(const spmv_mat *mat) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    spmv_mat_rows(mat, &A);
    return A;
}

static inline spmv_stats stats_of(const spmv_mat *mat) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    must_work(spmv_mat_stats(mat, &stats));
    return stats;
}

static inline spmv_plan_facts plan_facts_of(const spmv_plan *plan) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    spmv_plan_info(plan, &facts);
    return facts;
}

#endif
