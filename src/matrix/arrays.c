/* arrays.c: makes a matrix from compressed rows or columns in memory, which are checked first. One
 * look at everything counts what could be wrong, in loops that the compiler makes vector
 * instructions of; only if something is, the entries are gone through one by one for the first.
 * Lines are the rows, or with by_columns the columns; places are where their entries lie. */
#include "csr.h"
#include "host/clock.h"
#include "host/context.h"
#include "host/host.h"
#include "live.h"
#include "matrix.h"
#include "source.h"
#include "spmv_environment.h"
#include "turn.h"
#include <math.h>
#include <stdio.h>

static int64_t given_ptr(const spmv_arrays *a, int64_t i) {
    return a->ptr_bits == 32 ? ((const int32_t *)a->ptr)[i] : ((const int64_t *)a->ptr)[i];
}

/* Counted from 0; whatever the number is, subtracting the base is defined. */
static int64_t ptr_at(const spmv_arrays *a, int64_t i) {
    return (int64_t)((uint64_t)given_ptr(a, i) - (uint64_t)a->base);
}

static double value_at(const spmv_arrays *a, int64_t k) {
    return a->precision == SPMV_F32 ? ((const float *)a->values)[k]
                                    : ((const double *)a->values)[k];
}

/* One number: a block of one. */
static int64_t blocks_of(int64_t numbers, int size) {
    return size > 1 ? numbers / size : numbers;
}

static int64_t lines_of(const spmv_arrays *a) {
    return a->by_columns ? a->cols : blocks_of(a->rows, a->block_rows);
}

static int64_t places_of(const spmv_arrays *a) {
    return a->by_columns ? a->rows : blocks_of(a->cols, a->block_cols);
}

static const char *line_name(const spmv_arrays *a) {
    return a->by_columns ? "column" : "row";
}

/* ---- whether they are right ------------------------------------------------------------------ */

/* Says whether pointers, widths and flags could be right: nothing behind the pointers is read. */
static spmv_status check_arrays(spmv_ctx *ctx, const spmv_arrays *a) {
    const unsigned known = SPMV_BORROW | SPMV_SORTED | SPMV_VALIDATE | SPMV_VOLATILE;
    const bool has_lines = a->ptr || (a->line && a->flags & SPMV_VOLATILE);
    if (!has_lines || (a->nnz > 0 && !a->idx))
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.%s is NULL", has_lines ? "idx" : "ptr");
    if (a->ptr_bits != 32 && a->ptr_bits != 64)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.ptr_bits is %d, must be 32 or 64",
                         a->ptr_bits);
    if (a->base != 0 && a->base != 1)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.base is %d, must be 0 or 1", a->base);
    if (a->precision != SPMV_F64 && a->precision != SPMV_F32)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.precision %d is neither f64 nor f32",
                         a->precision);
    if (a->place != SPMV_HOST && a->place != SPMV_DEVICE)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.place is %d, must be SPMV_HOST or SPMV_DEVICE", a->place);
    if (a->flags & ~known)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.flags: %#x is unknown", a->flags & ~known);
    return SPMV_OK;
}

/* Holds what all offsets and entries show, each read once, at the speed of memory. */
typedef struct look {
    int64_t decreases; /* of ptr */
    int64_t outside;   /* indices that are no place */
    int64_t descents;  /* indices that are not above the one in front, */
    int64_t allowed;   /* of which so many begin a line */
    int64_t no_numbers;
} look;

/* ptr may hold anything. */
static inline void look_at_line(const spmv_arrays *a, int64_t begin, int64_t end, look *n) {
    const uint64_t k = (uint64_t)begin - (uint64_t)a->base;
    n->decreases += begin > end;
    if (begin < end && k > 0 && k < (uint64_t)a->nnz) n->allowed += a->idx[k] <= a->idx[k - 1];
}

static look look_at_lines(const spmv_arrays *a, int64_t first, int64_t last) {
    const int32_t *narrow = a->ptr;
    const int64_t *wide = a->ptr;
    look n = {0};
    if (a->ptr_bits == 32)
        for (int64_t i = first; i < last; i++) look_at_line(a, narrow[i], narrow[i + 1], &n);
    else
        for (int64_t i = first; i < last; i++) look_at_line(a, wide[i], wide[i + 1], &n);
    return n;
}

static inline bool is_outside(const spmv_arrays *a, int64_t k) {
    return (uint32_t)a->idx[k] - (uint32_t)a->base >= (uint32_t)places_of(a);
}

static inline bool is_no_number(const spmv_arrays *a, int64_t k) {
    return a->values && !isfinite(value_at(a, k));
}

static int64_t count_outside(const spmv_arrays *a, int64_t first, int64_t end) {
    const uint32_t base = (uint32_t)a->base, places = (uint32_t)places_of(a);
    const int32_t *index = a->idx;
    int32_t n = 0; /* of a part */
    for (int64_t k = first; k < end; k++) n += (uint32_t)index[k] - base >= places;
    return n;
}

static int64_t count_descents(const spmv_arrays *a, int64_t first, int64_t end) {
    const int32_t *index = a->idx;
    int32_t n = 0; /* of a part */
    for (int64_t k = first > 0 ? first : 1; k < end; k++) n += index[k] <= index[k - 1];
    return n;
}

static int64_t count_no_numbers(const spmv_arrays *a, int64_t first, int64_t end) {
    int64_t n = 0;
    if (!a->values || !(a->flags & SPMV_VALIDATE)) return 0;
    for (int64_t k = first; k < end; k++) n += is_no_number(a, k);
    return n;
}

/* Looks at part p of so many. Indices stay in the first cache between two looks. */
static void look_at_part(const spmv_arrays *a, int64_t parts, int64_t p, look *n) {
    const int64_t first = spmv_split(a->nnz, parts, p), end = spmv_split(a->nnz, parts, p + 1);
    const int64_t lines = lines_of(a);
    const look of_lines =
        look_at_lines(a, spmv_split(lines, parts, p), spmv_split(lines, parts, p + 1));
    n->decreases += of_lines.decreases;
    n->allowed += of_lines.allowed;
    n->outside += count_outside(a, first, end);
    n->descents += count_descents(a, first, end);
    n->no_numbers += count_no_numbers(a, first, end);
}

/* A region of one thread takes as long as two products of a small matrix. */
static look look_at_all(const spmv_arrays *a, int threads) {
    enum { PART = 1 << 12 };
    const int64_t lines = lines_of(a), parts = (a->nnz > lines ? a->nnz : lines) / PART + 1;
    int64_t decreases = 0, outside = 0, descents = 0, allowed = 0, no_numbers = 0;
    look all = {0};
    if (threads == 1) {
        for (int64_t p = 0; p < parts; p++) look_at_part(a, parts, p, &all);
        return all;
    }
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : decreases, outside, descents, allowed, no_numbers)
    for (int64_t p = 0; p < parts; p++) {
        look n = {0};
        look_at_part(a, parts, p, &n);
        decreases += n.decreases;
        allowed += n.allowed;
        outside += n.outside;
        descents += n.descents;
        no_numbers += n.no_numbers;
    }
    return (look){decreases, outside, descents, allowed, no_numbers};
}

static spmv_status check_ptr(spmv_ctx *ctx, const spmv_arrays *a, const look *all) {
    const int64_t lines = lines_of(a);
    int64_t i = 0;
    if (!all->decreases) return SPMV_OK;
    while (i < lines - 1 && given_ptr(a, i) <= given_ptr(a, i + 1)) i++;
    return spmv_fail(ctx, SPMV_E_ARG, "ptr decreases after %s %lld (from 0): ptr[%lld] is %lld",
                     line_name(a), (long long)i, (long long)i + 1, (long long)given_ptr(a, i + 1));
}

static spmv_status check_ends(spmv_ctx *ctx, const spmv_arrays *a) {
    const int64_t lines = lines_of(a);
    if (ptr_at(a, 0) == 0 && ptr_at(a, lines) == a->nnz) return SPMV_OK;
    return spmv_fail(
        ctx, SPMV_E_ARG, "ptr runs from %lld to %lld, must run from %d, the base, over nnz = %lld",
        (long long)given_ptr(a, 0), (long long)given_ptr(a, lines), a->base, (long long)a->nnz);
}

static bool is_unsorted(const spmv_arrays *a, int64_t first, int64_t k) {
    return a->flags & SPMV_SORTED && k > first && a->idx[k] <= a->idx[k - 1];
}

/* Returns the first entry that is wrong; nnz: none is. */
static int64_t first_wrong(const spmv_arrays *a) {
    const bool all = a->flags & SPMV_VALIDATE;
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t begin = ptr_at(a, i), k = begin; k < ptr_at(a, i + 1); k++)
            if (is_outside(a, k) || (all && (is_unsorted(a, begin, k) || is_no_number(a, k))))
                return k;
    return a->nnz;
}

enum { WHERE = 80 };

/* Writes where entry k is; returns its line. */
static int64_t find_entry(const spmv_arrays *a, int64_t k, char where[WHERE]) {
    int64_t i = 0;
    while (ptr_at(a, i + 1) <= k) i++;
    snprintf(where, WHERE, "%s %lld, entry %lld (from 0)", line_name(a), (long long)i,
             (long long)k);
    return i;
}

static spmv_status check_idx(spmv_ctx *ctx, const spmv_arrays *a, const look *all) {
    const bool says = a->flags & SPMV_VALIDATE && a->flags & SPMV_SORTED;
    char where[WHERE];
    if (!all->outside && !all->no_numbers && (!says || all->descents == all->allowed))
        return SPMV_OK;
    const int64_t k = first_wrong(a), i = find_entry(a, k, where);
    if (is_outside(a, k))
        return spmv_fail(ctx, SPMV_E_ARG, "%s: idx[%lld] is %d, must be %d to %lld", where,
                         (long long)k, a->idx[k], a->base, (long long)(places_of(a) - 1 + a->base));
    if (is_unsorted(a, ptr_at(a, i), k))
        return spmv_fail(ctx, SPMV_E_ARG,
                         "%s: idx[%lld] is %d after %d, but SPMV_SORTED says that they ascend",
                         where, (long long)k, a->idx[k], a->idx[k - 1]);
    return spmv_fail(ctx, SPMV_E_ARG, "%s: values[%lld] is %g", where, (long long)k,
                     value_at(a, k));
}

/* Says whether all entries are in one triangle, whichever it is, and those on the diagonal of a
 * skew-symmetric matrix are 0. All indices are places. */
static spmv_status check_triangle(spmv_ctx *ctx, const spmv_arrays *a, int threads) {
    const bool skew = a->symmetry == SPMV_SKEW_SYMMETRIC;
    int64_t before = a->nnz, behind = a->nnz, odd = a->nnz; /* the first of each kind */
    char where[WHERE];
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : before, behind, odd)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t k = ptr_at(a, i); k < ptr_at(a, i + 1); k++) {
            const int64_t place = (int64_t)a->idx[k] - a->base;
            if (place < i && k < before) before = k;
            if (place > i && k < behind) behind = k;
            if (place == i && skew && k < odd && (!a->values || value_at(a, k) != 0)) odd = k;
        }
    const int64_t other = before > behind ? before : behind; /* in the second triangle */
    if (other == a->nnz && odd == a->nnz) return SPMV_OK;
    find_entry(a, other < odd ? other : odd, where);
    if (odd < other)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "%s: %g is on the diagonal of a skew-symmetric matrix, must be 0", where,
                         a->values ? value_at(a, odd) : 1);
    return spmv_fail(ctx, SPMV_E_ARG,
                     "%s: idx[%lld] is %d, in the other triangle than entry %lld, but the symmetry "
                     "says that only one triangle is given",
                     where, (long long)other, a->idx[other],
                     (long long)(before < behind ? before : behind));
}

/* Says whether offsets and indices are right, with SPMV_VALIDATE values and triangles, too; names
 * the first entry that is not. *ascend: whether the indices do in all lines, without duplicates. */
static spmv_status check_entries(spmv_ctx *ctx, const spmv_arrays *a, bool *ascend) {
    TRY(check_ends(ctx, a));
    const int threads = spmv_threads_for(ctx, a->nnz + lines_of(a));
    const look all = look_at_all(a, threads);
    TRY(check_ptr(ctx, a, &all));
    TRY(check_idx(ctx, a, &all));
    if (a->flags & SPMV_VALIDATE && a->symmetry != SPMV_GENERAL)
        TRY(check_triangle(ctx, a, threads));
    *ascend = all.descents == all.allowed;
    return SPMV_OK;
}

/* ---- from any compressed rows or columns ----------------------------------------------------- */

/* The lines' entries as a file would hold them: they may be unsorted, and this way sorting is
 * written once. */
static spmv_status take_arrays(spmv_mat *mat, const spmv_arrays *a) {
    spmv_coo *coo = &mat->coo;
    mat->precision = a->precision;
    *coo = (spmv_coo){.rows = a->rows,
                      .cols = a->cols,
                      .nnz = a->nnz,
                      .symmetry = a->symmetry,
                      .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    TRY(spmv_coo_alloc(mat->ctx, coo, a->values));
    const int threads = spmv_threads_for(mat->ctx, a->nnz);
    int32_t *line = a->by_columns ? coo->col : coo->row,
            *place = a->by_columns ? coo->row : coo->col;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t k = ptr_at(a, i); k < ptr_at(a, i + 1); k++) {
            line[k] = (int32_t)i;
            place[k] = a->idx[k] - a->base;
            if (a->values) coo->values[k] = value_at(a, k);
        }
    return SPMV_OK;
}

/* ---- from compressed rows that are canonical ------------------------------------------------- */

/* A borrowed array is only read. */
static void *writable(const void *array) {
    return (void *)(uintptr_t)array;
}

static bool lends_ptr(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->ptr_bits == 64 && a->base == 0;
}

static bool lends_idx(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->base == 0 && a->nnz > 0;
}

static bool lends_values(const spmv_arrays *a) {
    return a->flags & SPMV_BORROW && a->nnz > 0 && a->values && a->precision == SPMV_F64;
}

/* Checks that there is memory for what is not lent; entries that have to be sorted take more. */
static spmv_status check_copies_fit(spmv_ctx *ctx, const spmv_arrays *a) {
    const double row = lends_ptr(a) ? 0 : 8, index = lends_idx(a) ? 0 : 4;
    const double need =
        row * (double)a->rows + (index + (lends_values(a) ? 0 : 8)) * (double)a->nnz;
    return spmv_host_fits(ctx, a->rows, a->cols, a->nnz, need);
}

static bool take_ptr(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.row_ptr = lends_ptr(a);
    if (A->lent.row_ptr) {
        A->row_ptr = writable(a->ptr);
        return true;
    }
    A->row_ptr = spmv_host_take(ctx, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    if (!A->row_ptr) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i <= A->rows; i++) A->row_ptr[i] = ptr_at(a, i);
    return true;
}

static bool take_idx(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.col_idx = lends_idx(a);
    if (A->lent.col_idx) {
        A->col_idx = writable(a->idx);
        return true;
    }
    A->col_idx = spmv_host_take(ctx, (size_t)A->nnz * sizeof *A->col_idx);
    if (!A->col_idx) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            A->col_idx[k] = a->idx[k] - a->base;
    return true;
}

static bool take_values(spmv_ctx *ctx, const spmv_arrays *a, int threads, spmv_csr *A) {
    A->lent.values = lends_values(a);
    if (A->lent.values) {
        A->values = writable(a->values);
        return true;
    }
    A->values = spmv_host_take(ctx, (size_t)A->nnz * sizeof *A->values);
    if (!A->values) return false;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            A->values[k] = a->values ? value_at(a, k) : 1;
    return true;
}

static spmv_status lack_room(spmv_ctx *ctx, const spmv_arrays *a) {
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for compressed rows: %.1f GB",
                     1e-9 * (12.0 * (double)a->nnz + 8.0 * (double)a->rows));
}

static void describe(spmv_mat *mat, const spmv_arrays *a) {
    mat->precision = a->precision;
    mat->by_columns = a->by_columns;
    mat->coo = (spmv_coo){.rows = a->rows,
                          .cols = a->cols,
                          .nnz = a->nnz,
                          .field = a->values ? SPMV_REAL_FIELD : SPMV_PATTERN_FIELD};
    mat->csr =
        (spmv_csr){.rows = a->rows, .cols = a->cols, .nnz = a->nnz, .as_given = !a->by_columns};
}

/* Takes them as they are, or in the types of the canonical CSR. By the static partition that
 * kernels multiply with: first touch places the pages. */
static spmv_status take_rows(spmv_mat *mat, const spmv_arrays *a) {
    const int threads = spmv_threads_for(mat->ctx, a->nnz + a->rows);
    spmv_csr *A = &mat->csr;
    describe(mat, a);
    bool taken = take_ptr(mat->ctx, a, threads, A) && take_idx(mat->ctx, a, threads, A) &&
                 take_values(mat->ctx, a, threads, A);
    mat->coo.col = A->col_idx;
    mat->coo.values = a->values ? A->values : NULL;
    return taken ? SPMV_OK : lack_room(mat->ctx, a);
}

/* ---- from compressed columns that are ------------------------------------------------------- */

/* Returns the offsets as a counting sort takes them: those given, or copies, which are to be
 * freed. */
static const int64_t *wide_ptr(const spmv_arrays *a, int64_t **copy) {
    const int64_t lines = lines_of(a);
    *copy = NULL;
    if (a->ptr_bits == 64 && a->base == 0) return a->ptr;
    *copy = spmv_host_alloc((size_t)(lines + 1) * sizeof **copy);
    for (int64_t i = 0; *copy && i <= lines; i++) (*copy)[i] = ptr_at(a, i);
    return *copy;
}

static spmv_status take_columns(spmv_mat *mat, const spmv_arrays *a) {
    spmv_csr *A = &mat->csr;
    int64_t *copy;
    describe(mat, a);
    A->row_ptr = spmv_host_take(mat->ctx, (size_t)(A->rows + 1) * sizeof *A->row_ptr);
    A->col_idx = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *A->col_idx);
    A->values = spmv_host_take(mat->ctx, (size_t)A->nnz * sizeof *A->values);
    const spmv_turn t = {.lines = a->cols,
                         .places = a->rows,
                         .nnz = a->nnz,
                         .ptr = wide_ptr(a, &copy),
                         .idx = a->idx,
                         .base = a->base,
                         .values = a->values,
                         .precision = a->precision,
                         .out_ptr = A->row_ptr,
                         .out_idx = A->col_idx,
                         .out_values = A->values};
    const bool has_room = t.ptr && A->row_ptr && A->col_idx && A->values;
    const spmv_status status = has_room ? spmv_turn_lines(mat->ctx, &t) : lack_room(mat->ctx, a);
    spmv_host_free(copy);
    return status;
}

static spmv_status take(spmv_mat *mat, const spmv_arrays *a, bool is_canonical) {
    if (!is_canonical) return take_arrays(mat, a);
    return a->by_columns ? take_columns(mat, a) : take_rows(mat, a);
}

static spmv_status create(spmv_ctx *ctx, const spmv_arrays *a, spmv_mat **out) {
    spmv_mat *mat = NULL;
    bool ascend = false;
    const double begun = spmv_now();
    TRY(check_copies_fit(ctx, a));
    TRY(check_entries(ctx, a, &ascend));
    TRY(spmv_mat_new(ctx, &mat));
    mat->begun = begun;
    return spmv_mat_finish(mat, take(mat, a, ascend && a->symmetry == SPMV_GENERAL), out);
}

/* ---- arrays that may change ------------------------------------------------------------------ */

static spmv_status refuse_volatile(spmv_ctx *ctx, const char *member, const char *must) {
    return spmv_fail(ctx, SPMV_E_UNSUITABLE, "SPMV_VOLATILE: spmv_arrays.%s must be %s", member,
                     must);
}

static spmv_status check_volatile(spmv_ctx *ctx, const spmv_arrays *a) {
    const bool blocks = a->block_rows > 1 || a->block_cols > 1;
    if (a->base != 0) return refuse_volatile(ctx, "base", "0");
    if (a->symmetry != SPMV_GENERAL) return refuse_volatile(ctx, "symmetry", "SPMV_GENERAL");
    if (!a->values && a->nnz > 0) return refuse_volatile(ctx, "values", "given");
    if (a->flags & SPMV_VALIDATE) return refuse_volatile(ctx, "flags", "without SPMV_VALIDATE");
    if (a->line && a->ptr) return refuse_volatile(ctx, "ptr", "NULL where line is given");
    const bool is_wide = a->idx_bits == 64;
    if (a->idx_bits != 0 && a->idx_bits != 32 && !is_wide)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.idx_bits is %d, must be 0, 32 or 64",
                         a->idx_bits);
    if (is_wide && (a->place == SPMV_DEVICE || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__))
        return refuse_volatile(ctx, "idx_bits",
                               "0 or 32 on a device, or where bytes lie otherwise");
    if (blocks && (a->line || a->by_columns || a->place == SPMV_DEVICE))
        return refuse_volatile(ctx, "block_rows",
                               "0 or 1 for coordinates, columns and arrays on a device");
    if (a->block_rows < 0 || a->block_cols < 0 ||
        blocks_of(a->rows, a->block_rows) * (a->block_rows > 1 ? a->block_rows : 1) != a->rows ||
        blocks_of(a->cols, a->block_cols) * (a->block_cols > 1 ? a->block_cols : 1) != a->cols)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays: %lld x %lld cannot be cut into blocks of %d x %d",
                         (long long)a->rows, (long long)a->cols, a->block_rows, a->block_cols);
    return SPMV_OK;
}

static spmv_status check_coordinates(spmv_ctx *ctx, const spmv_arrays *a) {
    const int threads = spmv_threads_for(ctx, a->nnz);
    const int64_t lines = lines_of(a);
    int64_t outside = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : outside)
    for (int64_t k = 0; k < a->nnz; k++)
        outside += is_outside(a, k) || a->line[k] < 0 || a->line[k] >= lines;
    if (!outside) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%lld entr%s outside the %lld x %lld matrix",
                     (long long)outside, outside == 1 ? "y lies" : "ies lie", (long long)a->rows,
                     (long long)a->cols);
}

/* Counts indices of 64 bits that are in no place, or in no line. */
static int64_t count_wide_outside(const spmv_arrays *a, int threads) {
    const int64_t *index = (const void *)a->idx, *line = (const void *)a->line;
    const uint64_t places = (uint64_t)places_of(a), lines = (uint64_t)lines_of(a);
    int64_t outside = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : outside)
    for (int64_t k = 0; k < a->nnz; k++)
        outside += (uint64_t)index[k] >= places || (line && (uint64_t)line[k] >= lines);
    return outside;
}

static spmv_status check_wide(spmv_ctx *ctx, const spmv_arrays *a) {
    int64_t outside = 0;
    if (a->ptr) TRY(check_ends(ctx, a));
    for (int64_t i = 0; a->ptr && i < lines_of(a); i++) outside += ptr_at(a, i + 1) < ptr_at(a, i);
    if (!outside) outside = count_wide_outside(a, spmv_threads_for(ctx, a->nnz));
    if (!outside) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%lld offsets decrease, or indices of 64 bits lie outside",
                     (long long)outside);
}

/* Finds the device of the context, where the arrays shall be. */
static spmv_status device_of_arrays(spmv_ctx *ctx, const spmv_arrays *a, spmv_device **out) {
    const spmv_backend *backend = ctx->default_backend;
    if (backend->host)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.place is SPMV_DEVICE, and the context's backend, %s, has no "
                         "device",
                         backend->name);
    TRY(spmv_ctx_device(ctx, backend, out));
    return spmv_arrays_check_place(*out, a);
}

/* There may be room behind the last entry. Indices on a device are checked when a plan is made. */
static spmv_status create_volatile(spmv_ctx *ctx, const spmv_arrays *a, spmv_mat **out) {
    spmv_arrays used = *a;
    bool ascend;
    TRY(check_volatile(ctx, a));
    if (a->place == SPMV_DEVICE) {
        spmv_device *device = NULL;
        TRY(device_of_arrays(ctx, a, &device));
        return spmv_live_create(ctx, a, out);
    }
    if (!a->line) {
        const int64_t end = ptr_at(a, lines_of(a));
        used.nnz = end >= 0 && end < a->nnz ? end : a->nnz; /* check_ends refuses others */
    }
    if (a->idx_bits == 64)
        TRY(check_wide(ctx, &used));
    else if (a->line)
        TRY(check_coordinates(ctx, a));
    else
        TRY(check_entries(ctx, &used, &ascend));
    return spmv_live_create(ctx, a, out);
}

/* ---- from a device's memory ------------------------------------------------------------------ */

static spmv_status fetch(spmv_device *device, const void *from, size_t bytes, void **out) {
    *out = NULL;
    if (!from) return SPMV_OK;
    *out = spmv_host_take(device->ctx, bytes);
    if (!*out)
        return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory: an array takes %.1f MB",
                         1e-6 * (double)bytes);
    return device->backend->get(device, *out, from, bytes);
}

/* What the matrix would have borrowed is its own. */
static void hand_over(spmv_csr *A, void **ptr, void **index, void **values) {
    if (A->lent.row_ptr) *ptr = NULL;
    if (A->lent.col_idx) *index = NULL;
    if (A->lent.values) *values = NULL;
    A->lent.row_ptr = A->lent.col_idx = A->lent.values = false;
}

/* *out NULL: the host has to look at the arrays. */
static spmv_status adopt(spmv_device *device, const spmv_arrays *a, spmv_mat **out) {
    spmv_mat *mat = NULL;
    TRY(spmv_mat_new(device->ctx, &mat));
    spmv_status status = spmv_source_adopt(mat, device, a);
    if (mat->source)
        *out = mat;
    else
        spmv_mat_put_away(mat);
    return status;
}

static spmv_status create_from_device(spmv_ctx *ctx, const spmv_arrays *there, spmv_mat **out) {
    const spmv_backend *backend = ctx->default_backend;
    const size_t n = (size_t)there->nnz, lines = (size_t)lines_of(there);
    spmv_device *device = NULL;
    void *ptr = NULL, *index = NULL, *values = NULL;
    spmv_arrays a = *there;
    TRY(device_of_arrays(ctx, there, &device));
    if (backend->order) TRY(backend->order(device, NULL, false));
    TRY(adopt(device, there, out));
    if (*out) return SPMV_OK;
    spmv_status status = fetch(device, a.ptr, (lines + 1) * (size_t)a.ptr_bits / 8, &ptr);
    if (status == SPMV_OK) status = fetch(device, a.idx, n * sizeof *a.idx, &index);
    if (status == SPMV_OK)
        status = fetch(device, a.values, n * (a.precision == SPMV_F32 ? 4 : 8), &values);
    a.ptr = ptr, a.idx = index, a.values = values;
    a.flags |= SPMV_BORROW;
    if (status == SPMV_OK) status = create(ctx, &a, out);
    if (status == SPMV_OK) hand_over(&(*out)->csr, &ptr, &index, &values);
    spmv_host_give(ctx, ptr);
    spmv_host_give(ctx, index);
    spmv_host_give(ctx, values);
    return status;
}

spmv_status spmv_mat_create(spmv_ctx *ctx, const spmv_arrays *arrays, spmv_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_arrays a = SPMV_OPTS(spmv_arrays);
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, arrays);
    TRY(spmv_read_opts(ctx, "spmv_arrays", &a, sizeof a, arrays));
    TRY(spmv_check_dimensions(ctx, a.rows, a.cols, a.nnz));
    TRY(check_arrays(ctx, &a));
    TRY(spmv_check_symmetry(ctx, a.symmetry, a.rows, a.cols));
    if (a.flags & SPMV_VOLATILE) return create_volatile(ctx, &a, out);
    if (a.line || a.block_rows > 1 || a.block_cols > 1 || a.idx_bits == 64)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.%s is for arrays that may change (SPMV_VOLATILE)",
                         a.line             ? "line"
                         : a.idx_bits == 64 ? "idx_bits"
                                            : "block_rows");
    return a.place == SPMV_DEVICE ? create_from_device(ctx, &a, out) : create(ctx, &a, out);
}

spmv_status spmv_mat_csr(spmv_ctx *ctx, const spmv_csr_view *view, spmv_mat **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    GIVEN(ctx, out);
    *out = NULL;
    GIVEN(ctx, ctx);
    GIVEN(ctx, view);
    spmv_csr_view known = {0};
    TRY(spmv_read_opts(ctx, "spmv_csr_view", &known, sizeof known, view));
    view = &known;
    const spmv_arrays arrays = {.size = sizeof arrays,
                                .rows = view->rows,
                                .cols = view->cols,
                                .nnz = view->nnz,
                                .ptr = view->row_ptr,
                                .idx = view->col_idx,
                                .values = view->values,
                                .ptr_bits = 64};
    return spmv_mat_create(ctx, &arrays, out);
}
