/* arrays_there.h: matrices made of compressed rows that lie in a GPU's memory, for tests. */
#ifndef SPMV_TEST_ARRAYS_THERE_H
#define SPMV_TEST_ARRAYS_THERE_H

#include "kernels.h"
#include "matrix/stores/stored.h"
#include "sources.h"

#pragma weak source_alloc
#pragma weak source_free
#pragma weak plain_copy

static inline spmv_ctx *gpu_context(void) {
    spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda", .threads = 2};
    spmv_ctx *ctx = NULL;
    if (source_alloc && spmv_ctx_create_lazily(&opts, &ctx) == SPMV_OK &&
        is_usable(ctx, &spmv_cuda))
        return ctx;
    spmv_ctx_free(ctx);
    skip();
    return NULL;
}

typedef struct lent { /* memory behind an spmv_arrays */
    void *ptr, *idx, *values;
} lent_arrays;

static inline void *sent(const void *from, size_t bytes) {
    void *memory = source_alloc(ON_DEVICE, bytes ? bytes : 1);
    assert_non_null(memory);
    assert_true(plain_copy(memory, from, bytes));
    return memory;
}

/* Returns rows as arrays of these types. */
static inline spmv_arrays send(const spmv_csr_view *A, int bits, int base, spmv_precision precision,
                               unsigned flags, lent_arrays *t) {
    const size_t n = (size_t)A->rows + 1, nnz = (size_t)A->nnz;
    int64_t *wide = malloc(n * sizeof *wide);
    int32_t *narrow = malloc(n * sizeof *narrow), *column = malloc((nnz + 1) * sizeof *column);
    float *floats = malloc((nnz + 1) * sizeof *floats);
    assert_true(wide && narrow && column && floats);
    for (size_t i = 0; i < n; i++) wide[i] = A->row_ptr[i] + base, narrow[i] = (int32_t)wide[i];
    for (size_t k = 0; k < nnz; k++)
        column[k] = A->col_idx[k] + base, floats[k] = (float)A->values[k];
    t->ptr = bits == 64 ? sent(wide, n * sizeof *wide) : sent(narrow, n * sizeof *narrow);
    t->idx = sent(column, nnz * sizeof *column);
    t->values = precision == SPMV_F64 ? sent(A->values, nnz * sizeof *A->values)
                                      : sent(floats, nnz * sizeof *floats);
    free(wide);
    free(narrow);
    free(column);
    free(floats);
    return ARRAYS(A->rows, A->cols, A->nnz, t->ptr, bits, t->idx, t->values, .base = base,
                  .precision = precision, .flags = flags, .place = SPMV_DEVICE);
}

static inline void lent_free(lent_arrays *t) {
    source_free(ON_DEVICE, t->ptr);
    source_free(ON_DEVICE, t->idx);
    source_free(ON_DEVICE, t->values);
}

STRUCT_AT_END(lent_arrays, lent_free)

static inline spmv_mat *create(spmv_ctx *ctx, const spmv_arrays *arrays) {
    spmv_mat *mat = NULL;
    if (spmv_mat_create(ctx, arrays, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return mat;
}

/* Returns the same matrix, in host memory, with values that f32 holds. */
static inline spmv_mat *mat_of(spmv_ctx *ctx, const char *source) {
    spmv_mat *mat = NULL, *rounded = NULL;
    assert_int_equal(spmv_mat_load(ctx, source, NULL, &mat), SPMV_OK);
    spmv_csr_view A = rows_of(mat);
    FREED(double) *near = malloc((size_t)A.nnz * sizeof *near);
    assert_non_null(near);
    for (int64_t k = 0; k < A.nnz; k++) near[k] = (float)A.values[k];
    A.values = near;
    assert_int_equal(spmv_mat_csr(ctx, &A, &rounded), SPMV_OK);
    spmv_mat_free(mat);
    return rounded;
}

static inline spmv_plan *plan_with(spmv_mat *mat, const spmv_plan_opts *given, const char *kernel) {
    spmv_plan_opts opts = *given;
    spmv_plan *plan = NULL;
    opts.size = sizeof opts, opts.kernel = kernel;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK)
        fail_msg("%s: %s", kernel, spmv_ctx_error(mat->ctx));
    return plan;
}

static inline spmv_plan *plain_plan(spmv_mat *mat, const char *kernel) {
    const spmv_plan_opts none = {.size = 0};
    return plan_with(mat, &none, kernel);
}

static inline void assert_multiplies(const spmv_plan *plan, const subject *s) {
    setup c = {.precision = spmv_plan_is_f32(plan) ? SPMV_F32 : SPMV_F64};
    snprintf(c.kernel, sizeof c.kernel, "%s", plan->kernel->name);
    tally = (struct tally){0};
    workplace w = workplace_of(plan, s, c.precision);
    try_product(&c, s, &w, (scaling){1, 0});
    workplace_free(&w);
    assert_int_equal(tally.wrong, 0);
}

static inline void assert_same_rows(const spmv_mat *mat, const spmv_csr_view *A) {
    spmv_csr_view B = rows_of(mat);
    assert_int_equal(B.nnz, A->nnz);
    assert_memory_equal(B.row_ptr, A->row_ptr, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    assert_memory_equal(B.col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx);
    assert_memory_equal(B.values, A->values, (size_t)A->nnz * sizeof *A->values);
}

typedef struct way {
    int bits, base;
    spmv_precision precision;
    unsigned flags;
} way;

static inline way way_of(int k) {
    return (way){k & 1 ? 64 : 32, k >> 1 & 1, k & 4 ? SPMV_F32 : SPMV_F64,
                 (k & 8 ? SPMV_BORROW : SPMV_COPY) | (k & 16 ? SPMV_VALIDATE : 0)};
}
#endif
