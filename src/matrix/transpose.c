/* transpose.c: the transpose of a matrix, owned by the matrix: an ordinary spmv_mat, created by CSR
 * to CSC conversion when a plan first needs it. */
#include "csr.h"
#include "matrix.h"
#include "origin.h"
#include "matrix/arrays/source.h"
#include "matrix/stores/stored.h"
#include "transpose.h"
#include "csr_to_csc.h"
#include <stdlib.h>

/* ---- the rows of a transpose ----------------------------------------------------------------- */

static bool has_rows(const spmv_mat *T) {
    return T->csr.row_ptr != NULL;
}

static void free_rows(spmv_mat *T) {
    const spmv_csr none = {
        .rows = T->csr.rows, .cols = T->csr.cols, .nnz = T->csr.nnz, .as_given = true};
    spmv_csr_free(T->ctx, &T->csr);
    T->csr = none;
    T->coo.col = NULL, T->coo.values = NULL;
}

static spmv_status take_rows(spmv_mat *T) {
    spmv_csr *A = &T->csr;
    A->row_ptr = spmv_host_take(T->ctx, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    A->col_idx = spmv_host_take(T->ctx, (size_t)A->nnz * sizeof *A->col_idx);
    A->values = spmv_host_take(T->ctx, (size_t)A->nnz * sizeof *A->values);
    if (A->row_ptr && A->col_idx && A->values) return SPMV_OK;
    return spmv_fail(T->ctx, SPMV_E_NOMEM, "out of memory for the transpose: %.1f GB",
                     1e-9 * (12.0 * (double)A->nnz + 8.0 * (double)A->rows));
}

static void name_values(spmv_mat *T) {
    T->coo.values = T->coo.field == SPMV_PATTERN_FIELD ? NULL : T->csr.values;
    T->fetch = NULL;
}

/* Creates rows and values of the transpose from its base, or values only if the rows exist.
 * Assigned to mat->fetch. */
static spmv_status fetch(spmv_mat *T) {
    spmv_csr *A = &T->csr;
    if (!T->base) return spmv_fail(T->ctx, SPMV_E_ARG, "the plan's matrix was freed");
    TRY(spmv_mat_bring(T->base));
    if (has_rows(T)) {
        const spmv_new_values own = {.values = T->base->csr.values, .precision = SPMV_F64};
        TRY(spmv_transpose_values(T->base, &own, A->values));
        name_values(T);
        return SPMV_OK;
    }
    TRY(spmv_host_fits(T->ctx, A->rows, A->cols, A->nnz,
                       16.0 * (double)A->rows + 12.0 * (double)A->nnz));
    spmv_status status = take_rows(T);
    spmv_csc_conversion t = spmv_conversion_of_rows(&T->base->csr, T->base->csr.values);
    t.out_ptr = A->row_ptr, t.out_idx = A->col_idx, t.out_values = A->values;
    if (status == SPMV_OK) status = spmv_csr_to_csc(T->ctx, &t);
    if (status != SPMV_OK) {
        free_rows(T);
        return status;
    }
    T->coo.col = A->col_idx;
    name_values(T);
    return SPMV_OK;
}

static void describe(spmv_mat *T, const spmv_mat *base) {
    const spmv_csr *A = &base->csr;
    T->base = (spmv_mat *)(uintptr_t)base;
    T->precision = A->as_given ? base->precision : SPMV_F64; /* values are copies of csr's values */
    T->coo = (spmv_coo){.rows = A->cols, .cols = A->rows, .nnz = A->nnz, .field = base->coo.field};
    T->csr = (spmv_csr){.rows = A->cols, .cols = A->rows, .nnz = A->nnz, .as_given = true};
    T->fetch = fetch;
}

/* Creates the transpose on the device that has the rows, if it has the memory; else on the host. */
static spmv_status make(spmv_mat *mat, spmv_mat **out) {
    spmv_mat *T;
    TRY(spmv_mat_new(mat->ctx, &T));
    spmv_status status = spmv_source_transpose(mat, T);
    if (status == SPMV_OK && T->source) {
        T->base = mat;
        *out = T;
        return SPMV_OK;
    }
    if (status == SPMV_OK) {
        describe(T, mat);
        status = fetch(T);
    }
    if (status == SPMV_OK) return spmv_mat_finish(T, status, out);
    spmv_mat_put_away(T);
    return status;
}

/* Creates rows again after they were freed. */
static spmv_status make_again(spmv_mat *mat, spmv_mat *T) {
    if (T->source) return SPMV_OK;
    if (!has_rows(T)) TRY(spmv_source_transpose(mat, T));
    return T->source ? SPMV_OK : spmv_mat_bring(T);
}

spmv_status spmv_transpose_of(spmv_mat *mat, spmv_mat **out) {
    *out = mat;
    if (mat->coo.symmetry != SPMV_GENERAL) return SPMV_OK;
    TRY(mat->transpose ? make_again(mat, mat->transpose) : make(mat, &mat->transpose));
    *out = mat->transpose;
    return SPMV_OK;
}

/* ---- what is kept of it ---------------------------------------------------------------------- */

/* Returns whether new values can bypass the rows: they are copied from the given array to every
 * store directly. False if the matrix itself has plans. */
static bool pass_by(const spmv_mat *T) {
    bool all = T->base->nplans == 0;
    for (const spmv_stored *s = T->stores; s; s = s->next) all = all && s->given[0];
    return all;
}

static bool is_needed(const spmv_mat *T) {
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next)
        if (plan->refill && !pass_by(T)) return true;
    for (const spmv_stored *s = T->stores; s; s = s->next)
        for (int k = 0; s->host && k < s->host->narrays; k++)
            if (s->host->array[k].borrowed) return true;
    return false;
}

/* Returns whether the rows in device memory are needed: a plan multiplies by them, or values will
 * change, so that stores are rewritten from these rows. */
static bool source_is_needed(const spmv_mat *T) {
    bool is = false;
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next)
        is |= plan->refill || spmv_stored_of(plan) == T->source;
    return is || is_needed(T);
}

void spmv_transpose_settle(spmv_mat *mat) {
    spmv_mat *T = mat->transpose;
    if (!T) return;
    if (T->source && !source_is_needed(T)) {
        spmv_source_drop(T);
        T->fetch = fetch;
    }
    if (!has_rows(T) || is_needed(T)) return;
    free_rows(T);
    T->fetch = T->source ? spmv_source_fetch : fetch;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Stores the source index of each entry for plans whose values will change, if 32 bits suffice. */
static spmv_status keep_entries(spmv_mat *T) {
    bool refills = false;
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next) refills |= plan->refill;
    if (T->turned || !refills || T->csr.nnz > UINT32_MAX) return SPMV_OK;
    T->turned = spmv_host_take(T->ctx, (size_t)T->csr.nnz * sizeof *T->turned);
    if (!T->turned) return spmv_fail(T->ctx, SPMV_E_NOMEM, "out of memory for new values");
    spmv_csc_conversion t = spmv_conversion_of_rows(&T->base->csr, NULL);
    t.out_ptr = T->csr.row_ptr, t.from = T->turned;
    return spmv_csr_to_csc(T->ctx, &t);
}

spmv_status spmv_transpose_turned(spmv_mat *mat, const uint32_t **out) {
    spmv_mat *T = mat->transpose;
    TRY(spmv_mat_bring(T));
    TRY(keep_entries(T));
    *out = T->turned;
    return SPMV_OK;
}

void spmv_transpose_has_values(spmv_mat *T, bool has) {
    T->coo.field = T->stats.field = SPMV_REAL_FIELD;
    T->to_count = true;
    if (!has_rows(T)) return;
    name_values(T);
    if (!has) T->fetch = fetch;
}

spmv_status spmv_transpose_values(spmv_mat *mat, const spmv_new_values *v, double *out) {
    spmv_csc_conversion t = spmv_conversion_of_rows(&mat->csr, v->values);
    t.precision = v->precision;
    t.out_ptr = mat->transpose->csr.row_ptr, t.out_values = out;
    return spmv_csr_to_csc(mat->ctx, &t);
}
