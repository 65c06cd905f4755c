/* check_arrays.c: checks compressed rows or columns in memory. One pass in vectorized loops counts
 * possible errors; only if there are any, a second pass finds the first wrong entry. */
#include "arrays.h"
#include "host/host.h"
#include <math.h>
#include <stdio.h>

spmv_status spmv_arrays_check(spmv_ctx *ctx, const spmv_arrays *a) {
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
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.precision is %d, neither SPMV_F64 nor SPMV_F32",
                         a->precision);
    if (a->place != SPMV_HOST && a->place != SPMV_DEVICE)
        return spmv_fail(ctx, SPMV_E_ARG,
                         "spmv_arrays.place is %d, must be SPMV_HOST or SPMV_DEVICE", a->place);
    if (a->flags & ~known)
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.flags: %#x is unknown", a->flags & ~known);
    return SPMV_OK;
}

/* counts of one pass over all offsets and entries */
typedef struct findings {
    int64_t decreases; /* offsets that are less than the one before */
    int64_t outside;   /* indices out of range */
    int64_t descents;  /* indices that do not exceed the one before, */
    int64_t allowed;   /* and how many of these begin a line */
    int64_t no_numbers;
} findings;

/* Counts for one line; begin and end are unchecked offsets. */
static inline void count_line(const spmv_arrays *a, int64_t begin, int64_t end, findings *n) {
    const uint64_t k = (uint64_t)begin - (uint64_t)a->base;
    n->decreases += begin > end;
    if (begin < end && k > 0 && k < (uint64_t)a->nnz) n->allowed += a->idx[k] <= a->idx[k - 1];
}

static findings count_lines(const spmv_arrays *a, int64_t first, int64_t last) {
    const int32_t *narrow = a->ptr;
    const int64_t *wide = a->ptr;
    findings n = {0};
    if (a->ptr_bits == 32)
        for (int64_t i = first; i < last; i++) count_line(a, narrow[i], narrow[i + 1], &n);
    else
        for (int64_t i = first; i < last; i++) count_line(a, wide[i], wide[i + 1], &n);
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
    int32_t n = 0; /* count within one chunk, so that 32 bits suffice */
    for (int64_t k = first; k < end; k++) n += (uint32_t)index[k] - base >= places;
    return n;
}

static int64_t count_descents(const spmv_arrays *a, int64_t first, int64_t end) {
    const int32_t *index = a->idx;
    int32_t n = 0; /* count within one chunk, so that 32 bits suffice */
    for (int64_t k = first > 0 ? first : 1; k < end; k++) n += index[k] <= index[k - 1];
    return n;
}

static int64_t count_no_numbers(const spmv_arrays *a, int64_t first, int64_t end) {
    int64_t n = 0;
    if (!a->values || !(a->flags & SPMV_VALIDATE)) return 0;
    for (int64_t k = first; k < end; k++) n += is_no_number(a, k);
    return n;
}

/* Counts for chunk p of `parts`. A chunk's indices stay in the first-level cache between the
 * loops. */
static void count_part(const spmv_arrays *a, int64_t parts, int64_t p, findings *n) {
    const int64_t first = spmv_split(a->nnz, parts, p), end = spmv_split(a->nnz, parts, p + 1);
    const int64_t lines = lines_of(a);
    const findings of_lines =
        count_lines(a, spmv_split(lines, parts, p), spmv_split(lines, parts, p + 1));
    n->decreases += of_lines.decreases;
    n->allowed += of_lines.allowed;
    n->outside += count_outside(a, first, end);
    n->descents += count_descents(a, first, end);
    n->no_numbers += count_no_numbers(a, first, end);
}

/* Counts for all lines and entries. One thread runs without a parallel region, which takes as long
 * as two products of a small matrix. */
static findings count_all(const spmv_arrays *a, int threads) {
    enum { PART = 1 << 12 };
    const int64_t lines = lines_of(a), parts = (a->nnz > lines ? a->nnz : lines) / PART + 1;
    int64_t decreases = 0, outside = 0, descents = 0, allowed = 0, no_numbers = 0;
    findings all = {0};
    if (threads == 1) {
        for (int64_t p = 0; p < parts; p++) count_part(a, parts, p, &all);
        return all;
    }
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : decreases, outside, descents, allowed, no_numbers)
    for (int64_t p = 0; p < parts; p++) {
        findings n = {0};
        count_part(a, parts, p, &n);
        decreases += n.decreases;
        allowed += n.allowed;
        outside += n.outside;
        descents += n.descents;
        no_numbers += n.no_numbers;
    }
    return (findings){decreases, outside, descents, allowed, no_numbers};
}

static spmv_status check_ptr(spmv_ctx *ctx, const spmv_arrays *a, const findings *all) {
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

/* Returns the first wrong entry; nnz: none. */
static int64_t first_wrong(const spmv_arrays *a) {
    const bool all = a->flags & SPMV_VALIDATE;
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t begin = ptr_at(a, i), k = begin; k < ptr_at(a, i + 1); k++)
            if (is_outside(a, k) || (all && (is_unsorted(a, begin, k) || is_no_number(a, k))))
                return k;
    return a->nnz;
}

enum { WHERE = 80 };

/* Describes the position of entry k in `where`; returns its line. */
static int64_t find_entry(const spmv_arrays *a, int64_t k, char where[WHERE]) {
    int64_t i = 0;
    while (ptr_at(a, i + 1) <= k) i++;
    snprintf(where, WHERE, "%s %lld, entry %lld (from 0)", line_name(a), (long long)i,
             (long long)k);
    return i;
}

static spmv_status check_idx(spmv_ctx *ctx, const spmv_arrays *a, const findings *all) {
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

/* Checks that all entries lie in one triangle, upper or lower, and that a skew-symmetric matrix has
 * zeros on its diagonal. All indices are in range. */
static spmv_status check_triangle(spmv_ctx *ctx, const spmv_arrays *a, int threads) {
    const bool skew = a->symmetry == SPMV_SKEW_SYMMETRIC;
    /* index of the first entry of each kind */
    int64_t before = a->nnz, behind = a->nnz, odd = a->nnz;
    char where[WHERE];
#pragma omp parallel for schedule(static) num_threads(threads) reduction(min : before, behind, odd)
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t k = ptr_at(a, i); k < ptr_at(a, i + 1); k++) {
            const int64_t place = (int64_t)a->idx[k] - a->base;
            if (place < i && k < before) before = k;
            if (place > i && k < behind) behind = k;
            if (place == i && skew && k < odd && (!a->values || value_at(a, k) != 0)) odd = k;
        }
    /* the first entry in the second triangle */
    const int64_t other = before > behind ? before : behind;
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

spmv_status spmv_arrays_check_entries(spmv_ctx *ctx, const spmv_arrays *a, bool *ascend) {
    TRY(check_ends(ctx, a));
    const int threads = spmv_threads_for(ctx, a->nnz + lines_of(a));
    const findings all = count_all(a, threads);
    TRY(check_ptr(ctx, a, &all));
    TRY(check_idx(ctx, a, &all));
    if (a->flags & SPMV_VALIDATE && a->symmetry != SPMV_GENERAL)
        TRY(check_triangle(ctx, a, threads));
    *ascend = all.descents == all.allowed;
    return SPMV_OK;
}

/* ---- arrays that may change ------------------------------------------------------------------ */

static spmv_status refuse_volatile(spmv_ctx *ctx, const char *member, const char *must) {
    return spmv_fail(ctx, SPMV_E_UNSUITABLE, "SPMV_VOLATILE: spmv_arrays.%s must be %s", member,
                     must);
}

static spmv_status check_members(spmv_ctx *ctx, const spmv_arrays *a) {
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

/* Counts 64-bit indices that are out of range. */
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

/* Checks volatile arrays. The arrays may have unused capacity behind the last entry. */
spmv_status spmv_arrays_check_volatile(spmv_ctx *ctx, const spmv_arrays *a) {
    spmv_arrays used = *a;
    bool ascend;
    TRY(check_members(ctx, a));
    if (a->place == SPMV_DEVICE) return SPMV_OK;
    if (!a->line) {
        const int64_t end = ptr_at(a, lines_of(a));
        used.nnz = end >= 0 && end < a->nnz ? end : a->nnz; /* check_ends refuses other values */
    }
    if (a->idx_bits == 64) return check_wide(ctx, &used);
    return a->line ? check_coordinates(ctx, a) : spmv_arrays_check_entries(ctx, &used, &ascend);
}
