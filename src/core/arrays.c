/* arrays.c: checks the arrays that a matrix is made of. One look at everything counts what could be
 * wrong, in loops that the compiler makes vector instructions of; only if something is, the entries
 * are gone through one by one for the first. */
#include "arrays.h"
#include <math.h>
#include <stdio.h>

spmv_status spmv_arrays_check(spmv_ctx *ctx, const spmv_arrays *a) {
    const unsigned known = SPMV_BORROW | SPMV_SORTED | SPMV_VALIDATE;
    if (!a->ptr || (a->nnz > 0 && !a->idx))
        return spmv_fail(ctx, SPMV_E_ARG, "spmv_arrays.%s is NULL", a->ptr ? "idx" : "ptr");
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

/* What all offsets and entries show, each read once, at the speed of memory. */
typedef struct look {
    int64_t decreases; /* of ptr */
    int64_t outside;   /* indices that are no line's place */
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

static int64_t count_outside(const spmv_arrays *a, int64_t first, int64_t end) {
    const uint32_t base = (uint32_t)a->base, places = (uint32_t)places_of(a);
    int64_t n = 0;
    for (int64_t k = first; k < end; k++) n += (uint32_t)a->idx[k] - base >= places;
    return n;
}

static int64_t count_descents(const spmv_arrays *a, int64_t first, int64_t end) {
    int64_t n = 0;
    for (int64_t k = first > 0 ? first : 1; k < end; k++) n += a->idx[k] <= a->idx[k - 1];
    return n;
}

static int64_t count_no_numbers(const spmv_arrays *a, int64_t first, int64_t end) {
    int64_t n = 0;
    if (!a->values || !(a->flags & SPMV_VALIDATE)) return 0;
    for (int64_t k = first; k < end; k++) n += !isfinite(value_at(a, k));
    return n;
}

/* Indices stay in the first cache between two looks. */
static look look_at_all(const spmv_arrays *a, int threads) {
    enum { PART = 1 << 12 };
    const int64_t lines = lines_of(a), parts = (a->nnz > lines ? a->nnz : lines) / PART + 1;
    int64_t decreases = 0, outside = 0, descents = 0, allowed = 0, no_numbers = 0;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : decreases, outside, descents, allowed, no_numbers)
    for (int64_t p = 0; p < parts; p++) {
        const int64_t first = spmv_split(a->nnz, parts, p), end = spmv_split(a->nnz, parts, p + 1);
        const look n =
            look_at_lines(a, spmv_split(lines, parts, p), spmv_split(lines, parts, p + 1));
        decreases += n.decreases;
        allowed += n.allowed;
        outside += count_outside(a, first, end);
        descents += count_descents(a, first, end);
        no_numbers += count_no_numbers(a, first, end);
    }
    return (look){decreases, outside, descents, allowed, no_numbers};
}

static spmv_status check_ptr(spmv_ctx *ctx, const spmv_arrays *a, const look *all) {
    const int64_t lines = lines_of(a);
    int64_t i = 0;
    if (!all->decreases) return SPMV_OK;
    while (i < lines - 1 && given_ptr(a, i) <= given_ptr(a, i + 1)) i++;
    return spmv_fail(ctx, SPMV_E_ARG, "ptr decreases after %s %lld: ptr[%lld] is %lld",
                     line_name(a), (long long)i, (long long)i + 1, (long long)given_ptr(a, i + 1));
}

static spmv_status check_ends(spmv_ctx *ctx, const spmv_arrays *a) {
    const int64_t lines = lines_of(a);
    if (ptr_at(a, 0) == 0 && ptr_at(a, lines) == a->nnz) return SPMV_OK;
    return spmv_fail(
        ctx, SPMV_E_ARG, "ptr runs from %lld to %lld, must run from %d, the base, over nnz = %lld",
        (long long)given_ptr(a, 0), (long long)given_ptr(a, lines), a->base, (long long)a->nnz);
}

static bool is_outside(const spmv_arrays *a, int64_t k) {
    return a->idx[k] < a->base || a->idx[k] - a->base >= places_of(a);
}

static bool is_unsorted(const spmv_arrays *a, int64_t first, int64_t k) {
    return a->flags & SPMV_SORTED && k > first && a->idx[k] <= a->idx[k - 1];
}

static bool is_no_number(const spmv_arrays *a, int64_t k) {
    return a->values && !isfinite(value_at(a, k));
}

/* The first entry that is wrong; nnz: none is. */
static int64_t first_wrong(const spmv_arrays *a) {
    const bool all = a->flags & SPMV_VALIDATE;
    for (int64_t i = 0; i < lines_of(a); i++)
        for (int64_t begin = ptr_at(a, i), k = begin; k < ptr_at(a, i + 1); k++)
            if (is_outside(a, k) || (all && (is_unsorted(a, begin, k) || is_no_number(a, k))))
                return k;
    return a->nnz;
}

static spmv_status check_idx(spmv_ctx *ctx, const spmv_arrays *a, const look *all) {
    const bool says = a->flags & SPMV_VALIDATE && a->flags & SPMV_SORTED;
    int64_t i = 0;
    char where[80];
    if (!all->outside && !all->no_numbers && (!says || all->descents == all->allowed))
        return SPMV_OK;
    const int64_t k = first_wrong(a);
    while (ptr_at(a, i + 1) <= k) i++;
    snprintf(where, sizeof where, "%s %lld, entry %lld", line_name(a), (long long)i, (long long)k);
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

spmv_status spmv_arrays_check_entries(spmv_ctx *ctx, const spmv_arrays *a, bool *ascend) {
    TRY(check_ends(ctx, a));
    const look all = look_at_all(a, spmv_threads_for(ctx, a->nnz + lines_of(a)));
    TRY(check_ptr(ctx, a, &all));
    TRY(check_idx(ctx, a, &all));
    *ascend = all.descents == all.allowed;
    return SPMV_OK;
}
