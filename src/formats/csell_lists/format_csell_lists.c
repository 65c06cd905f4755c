/* format_csell_lists.c: builds csell whose slices share lists of steps from a csell store.
 *
 * The store is a function of the matrix, cut and codes alone. The builder on GPUs makes the same
 * bytes by the same rules, in addition to those of format_csell.c:
 *
 * 1. A matrix with rows longer than cut is refused.
 * 2. A slice can have a list if it is on diagonals. A slice with values in the codebook can have
 *    none if 32 bytes per step of all slices are more than 2 nnz + 2^20.
 * 3. even: among the slices that can have lists, have at most CSELL_SHORT steps and are FULL, the
 *    most frequent pair of a number of steps and a value code; of equal ones the least `what`. If
 *    these are more than half of all slices, and more than 15/16 together with those that differ in
 *    FULL only, then only slices of that value code have lists; otherwise even is 0.
 * 4. Two slices share a list if their steps agree in base and mask, and either neither has the code
 *    CSELL_VALUE_STEP or both have it and their values agree bit for bit.
 * 5. Lists are stored in the order of the first slice that has each, padded to CSELL_LIST_ALIGN
 *    steps. The first list that ends behind CSELL_LISTED steps and all later lists are omitted;
 *    their slices are in `rest`, with the slices that can have no list.
 * 6. Values of slices are stored in order: none for CSELL_VALUE_STEP in a list; padded codes for
 *    CODEBOOK in a slice with a list; otherwise as in csell, with its zeros.
 * 7. Slices of `rest` are in order, with steps and columns contiguous except for csell's zeros. */
#include "csell_lists.h"
#include "formats/csell/csell_entries.h"
#include "formats/csell/csell_rows.h"

enum { NONE = -1, KINDS = (CSELL_SHORT + 1) << 3 };

/* ---- lists ----------------------------------------------------------------------------------- */

static bool pads_codes(const csell *A) {
    const int64_t most = 2 * A->s.nnz + (1 << 20);
    return A->nsteps * CSELL_ROWS <= most;
}

/* Rule 2. */
static bool can_share(const csell *A, const csell_slice *slice) {
    return slice->column_code == CSELL_DIAGONAL && slice->nsteps <= CSELL_LISTED &&
           (slice->value_code != VALUE_CODEBOOK || pads_codes(A));
}

static uint32_t what_of(const csell_slice *slice) {
    return (uint32_t)slice->nsteps << 3 | (uint32_t) !(slice->flags & CSELL_FULL) << 2 |
           slice->value_code;
}

/* Rule 3. */
static void choose_even(const csell *A, csell_lists *B) {
    int64_t kind[KINDS] = {0};
    int most = 0;
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *slice = A->slice + k;
        B->value_codes |= 1 << slice->value_code;
        if (can_share(A, slice) && what_of(slice) < KINDS) kind[what_of(slice)]++;
    }
    for (int what = 1 << 3; what < KINDS; what++)
        if (!(what & 4) && kind[what] > kind[most]) most = what;
    int64_t whole = kind[most], all = whole + kind[most | 4];
    if (2 * whole > A->nslices && 16 * all > 15 * A->nslices) B->even = most >> 3;
    B->even_code = most & 3;
}

static bool can_have_list(const csell *A, const csell_slice *slice, const csell_lists *B) {
    return can_share(A, slice) && (B->even == 0 || slice->value_code == B->even_code);
}

static bool has_step_values(const csell_slice *slice) {
    return slice->value_code == CSELL_VALUE_STEP;
}

static bool same_list(const csell *A, const csell_slice *a, const csell_slice *b) {
    const size_t n = (size_t)a->nsteps;
    return a->nsteps == b->nsteps && has_step_values(a) == has_step_values(b) &&
           memcmp(A->step + a->step, A->step + b->step, n * sizeof *A->step) == 0 &&
           (!has_step_values(a) ||
            memcmp(A->values + a->value, A->values + b->value, n * sizeof(real)) == 0);
}

static uint64_t hash_of(const csell *A, const csell_slice *slice) {
    uint64_t hash = (uint64_t)slice->nsteps;
    for (int64_t k = 0; k < slice->nsteps; k++) {
        uint64_t step, bits = 0;
        memcpy(&step, A->step + slice->step + k, sizeof step);
        if (has_step_values(slice))
            memcpy(&bits, A->values + slice->value + k * (int64_t)sizeof(real), sizeof(real));
        hash = spmv_mix(spmv_mix(hash ^ step) ^ bits);
    }
    return hash;
}

/* of[k]: the first slice with the same list as slice k; NONE: slice k can have no list. */
static spmv_status find_lists(spmv_ctx *ctx, const csell *A, const csell_lists *B, int32_t *of) {
    size_t slots = 2;
    while (slots < 2 * (size_t)A->nslices) slots *= 2;
    int32_t *owner = spmv_host_alloc(slots * sizeof *owner); /* hash table with open addressing */
    if (!owner) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    for (size_t at = 0; at < slots; at++) owner[at] = NONE;
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *slice = A->slice + k;
        of[k] = NONE;
        if (!can_have_list(A, slice, B)) continue;
        size_t at = hash_of(A, slice) & (slots - 1);
        while (owner[at] != NONE && !same_list(A, slice, A->slice + owner[at]))
            at = (at + 1) & (slots - 1);
        if (owner[at] == NONE) owner[at] = (int32_t)k;
        of[k] = owner[at];
    }
    spmv_host_free(owner);
    return SPMV_OK;
}

static int64_t padded_steps(const csell_slice *slice) {
    return (slice->nsteps + CSELL_LIST_ALIGN - 1) / CSELL_LIST_ALIGN * CSELL_LIST_ALIGN;
}

/* Finds where lists begin, and writes each slice's. */
static void place_lists(const csell *A, const int32_t *of, csell_lists *B) {
    int64_t end = 0; /* end of all lists so far */
    for (int64_t k = 0; k < A->nslices; k++) {
        csell_listed *slice = B->slice + k;
        slice->list = NONE;
        if (of[k] == k) {
            const int64_t begin = end;
            end += padded_steps(A->slice + k);
            if (end > CSELL_LISTED) continue;
            slice->list = (int32_t)begin;
            B->list_steps = end;
        } else if (of[k] != NONE)
            slice->list = B->slice[of[k]].list;
    }
}

/* ---- places ---------------------------------------------------------------------------------- */

static int64_t column_bytes(const csell *A, int64_t k) {
    return (k + 1 < A->nslices ? A->slice[k + 1].column : A->column_bytes) - A->slice[k].column;
}

static int64_t value_bytes(const csell *A, int64_t k) {
    return (k + 1 < A->nslices ? A->slice[k + 1].value : A->value_bytes) - A->slice[k].value;
}

/* Rules 6 and 7. */
static void place_slices(const csell *A, csell_lists *B) {
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *from = A->slice + k;
        csell_listed *slice = B->slice + k;
        const bool has_list = slice->list >= 0;
        slice->value = B->value_bytes;
        slice->what = has_list ? what_of(from) : 0;
        if (!has_list) {
            slice->list = (int32_t)~B->nrest++;
            B->rest_steps += from->nsteps;
            B->column_bytes += column_bytes(A, k);
        }
        if (has_list && from->value_code == VALUE_CODEBOOK)
            B->value_bytes += (int64_t)from->nsteps * CSELL_ROWS;
        else if (!has_list || !has_step_values(from))
            B->value_bytes += value_bytes(A, k);
    }
}

/* ---- fill ------------------------------------------------------------------------------------ */

static void fill_list(const csell *A, const csell_slice *from, int64_t at, csell_lists *B) {
    const csell_step *step = A->step + from->step;
    int32_t place = 0;
    for (int64_t k = 0; k < padded_steps(from); k++, at++) {
        const csell_step one = k < from->nsteps ? step[k] : (csell_step){0, 0};
        B->list[at] = (csell_list_step){one.base, one.mask, place, 0};
        B->base[at] = one.base;
        B->step_value[at] = 0;
        if (has_step_values(from) && k < from->nsteps)
            memcpy(B->step_value + at, A->values + from->value + k * (int64_t)sizeof(real),
                   sizeof(real));
        place += __builtin_popcount(one.mask);
    }
}

/* Returns the index of a padded code. */
static int64_t code_at(int64_t nsteps, int64_t step, int row) {
    enum { WORD = 4 };
    return step < nsteps / WORD * WORD ? (step / WORD * CSELL_ROWS + row) * WORD + step % WORD
                                       : step * CSELL_ROWS + row;
}

static void pad_codes(const uint8_t *from, const csell_list_step *step, int64_t nsteps,
                      uint8_t *to) {
    for (int64_t k = 0; k < nsteps; k++)
        for (int r = 0; r < CSELL_ROWS; r++)
            to[code_at(nsteps, k, r)] = step[k].mask >> r & 1 ? *from++ : 0;
}

static void fill_values(const csell *A, int64_t k, csell_lists *B) {
    const csell_slice *from = A->slice + k;
    const csell_listed *slice = B->slice + k;
    const bool has_list = slice->list >= 0;
    uint8_t *to = B->values + slice->value;
    if (has_list && from->value_code == VALUE_CODEBOOK)
        pad_codes(A->values + from->value, B->list + slice->list, from->nsteps, to);
    else if (!has_list || !has_step_values(from))
        memcpy(to, A->values + from->value, (size_t)value_bytes(A, k));
}

static void fill_rest(const csell *A, csell_lists *B) {
    int64_t step = 0, column = 0;
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *from = A->slice + k;
        if (B->slice[k].list >= 0) continue;
        csell_slice *slice = B->rest + ~B->slice[k].list;
        *slice = *from;
        slice->step = step, slice->column = column, slice->value = B->slice[k].value;
        memcpy(B->rest_step + step, A->step + from->step, (size_t)from->nsteps * sizeof *A->step);
        memcpy(B->columns + column, A->columns + from->column, (size_t)column_bytes(A, k));
        step += from->nsteps, column += column_bytes(A, k);
    }
}

static void fill(const csell *A, const int32_t *of, int threads, csell_lists *B) {
    for (int64_t k = 0; k < A->nslices; k++)
        if (of[k] == k && B->slice[k].list >= 0) fill_list(A, A->slice + k, B->slice[k].list, B);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < A->nslices; k++) fill_values(A, k, B);
    fill_rest(A, B);
    memset(B->columns + B->column_bytes, 0, CSELL_SPARE);
    memset(B->values + B->value_bytes, 0, CSELL_SPARE);
    memcpy(B->codebook, A->codebook, VALUE_CODEBOOK_SIZE * sizeof *B->codebook);
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Returns the most bytes beyond csell's, whose values are the same or codes of fewer bytes. */
static size_t added(const spmv_csr_view *A) {
    const size_t slices = (size_t)(A->rows + CSELL_ROWS - 1) / CSELL_ROWS;
    return slices * sizeof(csell_listed) + 2 * (size_t)A->nnz + (1 << 20) +
           CSELL_LISTED * (sizeof(csell_list_step) + sizeof(idx) + sizeof(real));
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return V(csell_format).estimate(A, c) + added(A);
}

static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    return V(csell_format).bound(A, c, longest) + added(A);
}

static spmv_status allocate(spmv_ctx *ctx, csell_lists *B) {
    TRY(STORE_ARRAY(ctx, B, list, B->list_steps));
    TRY(STORE_ARRAY(ctx, B, base, B->list_steps));
    TRY(STORE_ARRAY(ctx, B, step_value, B->list_steps));
    TRY(STORE_ARRAY(ctx, B, rest, B->nrest));
    TRY(STORE_ARRAY(ctx, B, rest_step, B->rest_steps));
    TRY(STORE_ARRAY(ctx, B, columns, B->column_bytes + CSELL_SPARE));
    TRY(STORE_ARRAY(ctx, B, values, B->value_bytes + CSELL_SPARE));
    return STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE);
}

static spmv_status share(spmv_ctx *ctx, const csell *A, int32_t *of, int threads, csell_lists *B) {
    TRY(STORE_ARRAY(ctx, B, slice, B->nslices));
    choose_even(A, B);
    TRY(find_lists(ctx, A, B, of));
    place_lists(A, of, B);
    place_slices(A, B);
    TRY(allocate(ctx, B));
    fill(A, of, threads, B);
    return SPMV_OK;
}

static spmv_status share_lists(spmv_ctx *ctx, const spmv_csr_view *A, const csell *from,
                               int threads, spmv_store **out) {
    if (from->long_rows) return spmv_fail(ctx, SPMV_E_UNSUITABLE, CSELL_LISTS_SAY_LONG(from));
    TRY(spmv_store_new(ctx, "csell_lists", sizeof(csell_lists), A, out));
    csell_lists *B = (csell_lists *)*out;
    B->s.slots = A->nnz;
    B->s.values = from->s.values;
    B->nslices = from->nslices, B->nsteps = from->nsteps, B->codes = from->codes;
    int32_t *of = spmv_host_alloc((size_t)B->nslices * sizeof *of);
    if (!of) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status = share(ctx, from, of, threads, B);
    spmv_host_free(of);
    return status;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    spmv_store *from = NULL;
    spmv_status status = V(csell_format).build(ctx, A, c, threads, &from);
    if (status == SPMV_OK) status = share_lists(ctx, A, (const csell *)from, threads, out);
    spmv_store_free(from);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Returns false if values are encoded: slices with values per step share lists by value. */
static bool holds_any(const spmv_store *store) {
    return !((const csell_lists *)store)->codes;
}

/* Writes the next value of each row in the mask; for runs, then the second of each, and so on. */
static real *put_step(uint32_t mask, int run, const double **from, real *to) {
    for (int e = 0; e < run; e++)
        for (uint32_t rest = mask; rest; rest &= rest - 1)
            *to++ = (real)*from[__builtin_ctz(rest)]++;
    return to;
}

/* Refills a slice whose values are stored unencoded. */
static void refill_slice(const spmv_csr_view *A, int64_t k, csell_lists *B) {
    const csell_listed *slice = B->slice + k;
    const double *from[CSELL_ROWS] = {NULL};
    real *to = (real *)(void *)(B->values + slice->value);
    for (int64_t i = k * CSELL_ROWS, r = 0; r < CSELL_ROWS && i + r < A->rows; r++)
        from[r] = A->values + A->row_ptr[i + r];
    if (slice->list >= 0) {
        for (int64_t t = 0; t < slice->what >> 3; t++)
            to = put_step(B->list[slice->list + t].mask, 1, from, to);
    } else {
        const csell_slice *rest = B->rest + ~slice->list;
        for (int64_t t = 0; t < rest->nsteps; t++)
            to = put_step(B->rest_step[rest->step + t].mask, rest->run, from, to);
    }
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    csell_lists *B = (csell_lists *)store;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < B->nslices; k++) refill_slice(A, k, B);
}

/* ---- the way back ---------------------------------------------------------------------------- */

static double listed_value(const csell_lists *A, const csell_listed *slice, int64_t step, int row) {
    const int64_t nsteps = slice->what >> 3, at = slice->list + step;
    const uint32_t before = A->list[at].mask & ((1u << row) - 1);
    const int code = slice->what & 3;
    if (code == CSELL_VALUE_STEP) return (double)A->step_value[at];
    return value_at(code, A->values + slice->value, A->codebook,
                    code == VALUE_CODEBOOK ? code_at(nsteps, step, row)
                                           : A->list[at].place + __builtin_popcount(before),
                    step);
}

static void listed_entries(const csell_lists *A, int64_t k, entry_list *out) {
    const csell_listed *slice = A->slice + k;
    for (int64_t t = 0; t < slice->what >> 3; t++) {
        const csell_list_step *step = A->list + slice->list + t;
        for (uint32_t rest = step->mask; rest; rest &= rest - 1, out->n++) {
            const int r = __builtin_ctz(rest);
            out->row[out->n] = (int32_t)(k * CSELL_ROWS + r);
            out->col[out->n] = out->row[out->n] + A->base[slice->list + t];
            out->values[out->n] = listed_value(A, slice, t, r);
        }
    }
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csell_lists *A = (const csell_lists *)store;
    entry_list out = {row, col, values, 0};
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *rest = A->slice[k].list < 0 ? A->rest + ~A->slice[k].list : NULL;
        if (rest)
            slice_entries(rest, k * CSELL_ROWS, A->rest_step + rest->step,
                          A->columns + rest->column, A->values + rest->value, A->codebook, &out);
        else
            listed_entries(A, k, &out);
    }
}

static const spmv_param params[] = {
    {SPMV_cut, 0, 0, INT32_MAX, 1, false}, {SPMV_codes, 1, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(csell_lists_format) = {
    .name = "csell_lists",
    .summary = "csell whose slices share lists of steps, codes padded to whole steps",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .refill = refill,
    .holds_any = holds_any,
};
