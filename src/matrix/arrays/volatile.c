/* volatile.c: a matrix that aliases the caller's volatile arrays; its plans multiply with these
 * arrays. */
#include "matrix/csr.h"
#include "host/context.h"
#include "volatile.h"
#include "matrix/matrix.h"
#include "matrix/stores/stored.h"
#include <stdlib.h>

spmv_status spmv_volatile_refuse(spmv_mat *mat) {
    return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                     "the arrays of this matrix may change (SPMV_VOLATILE): products alone are "
                     "made of it");
}

static spmv_status attach_arrays(spmv_mat *mat, const spmv_arrays *arrays) {
    spmv_stored *stored = calloc(1, sizeof *stored);
    spmv_volatile *live = calloc(1, sizeof *live);
    if (!stored || !live) {
        free(stored);
        free(live);
        return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    }
    live->s = (spmv_store){.format = "csr",
                           .rows = arrays->rows,
                           .cols = arrays->cols,
                           .nnz = arrays->nnz,
                           .slots = arrays->nnz,
                           .size = sizeof *live,
                           .ctx = mat->ctx};
    live->arrays = *arrays;
    if (arrays->block_rows < 1) live->arrays.block_rows = 1;
    if (arrays->block_cols < 1) live->arrays.block_cols = 1;
    *stored = (spmv_stored){.format = spmv_format_named("csr", 0), .host = &live->s};
    mat->stores = stored;
    mat->live = live;
    return SPMV_OK;
}

spmv_status spmv_volatile_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out) {
    spmv_mat *mat;
    TRY(spmv_mat_new(ctx, &mat));
    mat->precision = arrays->precision;
    mat->coo = (spmv_coo){.rows = arrays->rows, .cols = arrays->cols, .nnz = arrays->nnz};
    mat->csr = (spmv_csr){.rows = arrays->rows, .cols = arrays->cols, .nnz = arrays->nnz};
    mat->fetch = spmv_volatile_refuse;
    const spmv_status status = attach_arrays(mat, arrays);
    if (status == SPMV_OK)
        *out = mat;
    else
        spmv_mat_put_away(mat);
    return status;
}

spmv_status spmv_volatile_set_values(spmv_mat *mat, const void *values, spmv_place place) {
    spmv_volatile *live = mat->live;
    if (place != live->arrays.place)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "SPMV_VOLATILE: new values must lie where the matrix's arrays are");
    live->arrays.values = values;
    return SPMV_OK;
}

spmv_status spmv_volatile_check(const spmv_mat *mat, const spmv_plan_opts *opts,
                                spmv_kernel_id id) {
    const spmv_arrays *a = &mat->live->arrays;
    const bool blocks = a->block_rows > 1 || a->block_cols > 1;
    const bool is_there = a->place == SPMV_DEVICE;
    if (id.index != SPMV_AUTO || !id.backend->in_place || id.backend->host == is_there)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "the arrays of this matrix may change (SPMV_VOLATILE): its kernel is "
                         "\"%s:auto\", which reads them at every product",
                         is_there ? mat->ctx->default_backend->name : "omp");
    if (blocks && (opts->op == SPMV_TRANSPOSE || opts->op == SPMV_BOTH))
        return spmv_fail(
            mat->ctx, SPMV_E_UNSUITABLE,
            "SPMV_VOLATILE: spmv_plan_opts.op: there is no product by the transpose of blocks");
    return SPMV_OK;
}

spmv_status spmv_volatile_variant(const spmv_mat *mat, const spmv_plan_opts *opts, int *out) {
    const spmv_arrays *a = &mat->live->arrays;
    const int bits = a->line ? 32 : a->ptr_bits;
    if (opts->precision != a->precision)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "SPMV_VOLATILE: spmv_plan_opts.precision must be that of the values");
    if (opts->offset_bits != 0 && opts->offset_bits != bits)
        return spmv_fail(mat->ctx, SPMV_E_UNSUITABLE,
                         "SPMV_VOLATILE: spmv_plan_opts.offset_bits must be 0 or %d", bits);
    *out = spmv_variant_of(opts->precision, bits == 64);
    return SPMV_OK;
}

void spmv_volatile_attach(spmv_plan *plan) {
    const spmv_volatile *live = plan->matrix->live;
    const spmv_arrays *a = &live->arrays;
    const size_t lines = a->line ? 0 : (size_t)spmv_volatile_lines(a) + 1;
    const size_t numbers = (size_t)a->block_rows * (size_t)a->block_cols;
    const size_t index =
        (a->line ? 2 : 1) * (a->idx_bits == 64 ? sizeof(int64_t) : sizeof(int32_t));
    plan->host = plan->store = &live->s;
    plan->traffic_bytes = lines * (size_t)(a->ptr_bits / 8) +
                          (size_t)a->nnz * (index + numbers * spmv_plan_width(plan));
}
