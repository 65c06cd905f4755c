/* transpose.c: the transpose of a matrix, which the matrix owns: a matrix like any other, made of
 * the compressed rows read as columns when a plan first needs it. */
#include "internal.h"
#include "values/values.h"
#include <stdlib.h>

/* ---- compressed rows, read as columns -------------------------------------------------------- */

typedef struct turn { /* a counting sort by columns: threads have parts of the rows each */
    const spmv_csr *from;
    int threads;
    int32_t *before;   /* [threads][cols] entries that the threads in front have in the column */
    int64_t *row_ptr;  /* [cols + 1] of the transpose */
    int32_t *col_idx;  /* [nnz], or NULL: only where entries go is wanted */
    double *values;    /* [nnz], or NULL */
    uint32_t *entries; /* [nnz] which entry of `from` each is, or NULL */
} turn;

/* Returns where a thread's part begins; parts have about as many entries. */
static int64_t first_row(const turn *t, int thread) {
    const spmv_csr *A = t->from;
    const int64_t entry = spmv_split(A->nnz, t->threads, thread);
    int64_t low = 0, high = A->rows;
    if (thread == t->threads) return A->rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle] < entry)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void count_columns(const turn *t, int thread) {
    const spmv_csr *A = t->from;
    int32_t *count = t->before + (size_t)thread * (size_t)A->cols;
    const int64_t end = A->row_ptr[first_row(t, thread + 1)];
    memset(count, 0, (size_t)A->cols * sizeof *count);
    for (int64_t k = A->row_ptr[first_row(t, thread)]; k < end; k++) count[A->col_idx[k]]++;
}

/* Makes the counts of a column the entries in front of each thread's; returns how many it has. */
static int64_t add_up(const turn *t, int64_t j) {
    int32_t sum = 0;
    for (int thread = 0; thread < t->threads; thread++) {
        int32_t *count = t->before + (size_t)thread * (size_t)t->from->cols + j;
        const int32_t own = *count;
        *count = sum;
        sum += own;
    }
    return sum;
}

static void place_rows(const turn *t, int thread) {
    const spmv_csr *A = t->from;
    int32_t *before = t->before + (size_t)thread * (size_t)A->cols;
    const int64_t end = first_row(t, thread + 1);
    for (int64_t i = first_row(t, thread); i < end; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int64_t j = A->col_idx[k], at = t->row_ptr[j] + before[j]++;
            if (t->col_idx) t->col_idx[at] = (int32_t)i;
            if (t->values) t->values[at] = A->values[k];
            if (t->entries) t->entries[at] = (uint32_t)k;
        }
}

/* Threads count columns apart, for which the memory is limited to that of the entries. */
static int team_for(const spmv_ctx *ctx, const spmv_csr *A) {
    const int most = spmv_threads_for(ctx, A->nnz + A->cols);
    const int64_t fit = 1 + 3 * A->nnz / (A->cols + 1);
    return fit < most ? (int)fit : most;
}

/* Sorts the entries by column and, in a column, by row, whatever the number of threads. */
static spmv_status turn_rows(spmv_ctx *ctx, turn *t) {
    const spmv_csr *A = t->from;
    t->threads = team_for(ctx, A);
    t->before = spmv_host_alloc((size_t)t->threads * (size_t)A->cols * sizeof *t->before);
    if (!t->before)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for the transpose's %lld rows",
                         (long long)A->cols);
#pragma omp parallel num_threads(t->threads)
    {
#pragma omp for schedule(static, 1)
        for (int thread = 0; thread < t->threads; thread++) count_columns(t, thread);
#pragma omp for schedule(static)
        for (int64_t j = 0; j < A->cols; j++) t->row_ptr[j + 1] = add_up(t, j);
#pragma omp single
        {
            t->row_ptr[0] = 0;
            for (int64_t j = 0; j < A->cols; j++) t->row_ptr[j + 1] += t->row_ptr[j];
        }
#pragma omp for schedule(static, 1)
        for (int thread = 0; thread < t->threads; thread++) place_rows(t, thread);
    }
    spmv_host_free(t->before);
    return SPMV_OK;
}

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

/* Makes rows and values of those of its base: as mat->fetch. */
static spmv_status fetch(spmv_mat *T) {
    spmv_csr *A = &T->csr;
    if (!T->base) return spmv_fail(T->ctx, SPMV_E_ARG, "the plan's matrix was freed");
    TRY(spmv_mat_bring(T->base));
    TRY(spmv_host_fits(T->ctx, A->rows, A->cols, A->nnz,
                       16.0 * (double)A->rows + 12.0 * (double)A->nnz));
    spmv_status status = take_rows(T);
    turn t = {
        .from = &T->base->csr, .row_ptr = A->row_ptr, .col_idx = A->col_idx, .values = A->values};
    if (status == SPMV_OK) status = turn_rows(T->ctx, &t);
    if (status != SPMV_OK) {
        free_rows(T);
        return status;
    }
    T->coo.col = A->col_idx;
    T->coo.values = T->coo.field == SPMV_PATTERN_FIELD ? NULL : A->values;
    T->fetch = NULL;
    return SPMV_OK;
}

static void describe(spmv_mat *T, const spmv_mat *base) {
    const spmv_csr *A = &base->csr;
    T->base = (spmv_mat *)(uintptr_t)base;
    T->precision = SPMV_F64; /* of its base's rows, where its values come from */
    T->coo = (spmv_coo){.rows = A->cols, .cols = A->rows, .nnz = A->nnz, .field = base->coo.field};
    T->csr = (spmv_csr){.rows = A->cols, .cols = A->rows, .nnz = A->nnz, .as_given = true};
    T->fetch = fetch;
}

spmv_status spmv_transpose_of(spmv_mat *mat, spmv_mat **out) {
    spmv_mat *T = mat->transpose;
    spmv_status status = SPMV_OK;
    *out = mat;
    if (mat->coo.symmetry != SPMV_GENERAL) return SPMV_OK;
    if (!T) {
        TRY(spmv_mat_new(mat->ctx, &T));
        describe(T, mat);
        status = fetch(T);
        if (status == SPMV_OK)
            status = spmv_mat_finish(T, status, &mat->transpose);
        else
            spmv_mat_put_away(T);
    } else
        status = spmv_mat_bring(T);
    *out = mat->transpose;
    return status;
}

/* ---- what is kept of it ---------------------------------------------------------------------- */

static bool is_needed(const spmv_mat *T) {
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next)
        if (plan->refill) return true;
    for (const spmv_stored *s = T->stores; s; s = s->next)
        for (int k = 0; s->host && k < s->host->narrays; k++)
            if (s->host->array[k].borrowed) return true;
    return false;
}

void spmv_transpose_settle(spmv_mat *mat) {
    spmv_mat *T = mat->transpose;
    if (!T || !has_rows(T) || is_needed(T)) return;
    free_rows(T);
    T->fetch = fetch;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Keeps where they come from, for plans that say that values will change, if 32 bits count them. */
static spmv_status keep_entries(spmv_mat *T) {
    bool refills = false;
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next) refills |= plan->refill;
    if (T->turned || !refills || T->csr.nnz > UINT32_MAX) return SPMV_OK;
    T->turned = spmv_host_take(T->ctx, (size_t)T->csr.nnz * sizeof *T->turned);
    if (!T->turned) return spmv_fail(T->ctx, SPMV_E_NOMEM, "out of memory for new values");
    turn t = {.from = &T->base->csr, .row_ptr = T->csr.row_ptr, .entries = T->turned};
    return turn_rows(T->ctx, &t);
}

spmv_status spmv_transpose_values(spmv_mat *mat, const double *values, double *out) {
    spmv_mat *T = mat->transpose;
    const int64_t nnz = T->csr.nnz;
    const int threads = spmv_threads_for(mat->ctx, nnz);
    TRY(spmv_mat_bring(T));
    TRY(keep_entries(T));
    if (!T->turned) {
        spmv_csr from = mat->csr;
        from.values = (double *)(uintptr_t)values; /* only read */
        turn t = {.from = &from, .row_ptr = T->csr.row_ptr, .values = out};
        return turn_rows(mat->ctx, &t);
    }
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < nnz; k++) out[k] = values[T->turned[k]];
    return SPMV_OK;
}
