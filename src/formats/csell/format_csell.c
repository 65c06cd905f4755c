/* format_csell.c: compressed SELL: slices of 32 rows, each with the encodings of columns and values
 * that take the fewest bytes.
 *
 * The store is a function of the matrix, cut and codes alone, not of the threads. The builder on
 * GPUs makes the same bytes by the same rules:
 *
 * 1. cut = 0 means max(64, 4 ceil(nnz / rows)). Rows with more than cut entries form the long part,
 *    in ascending order. The rules below treat them as empty.
 * 2. The run R of a slice is the greatest divisor, up to 8, common to the lengths of all maximal
 *    runs of entries in adjacent columns of its rows.
 * 3. Gathered: step k holds run k of every row that has one; its base is the least first column.
 *    The column code is the narrowest of 8, 16 and 32 bits that holds all runs' first columns.
 *    The cost in half bytes is 32 per step, twice the code's bytes per run, and 1 per entry.
 * 4. On diagonals: a step holds the entries of one j - i, which is its base; steps ascend. The cost
 *    is 32 per step. The slice is on diagonals if this costs no more than gathered; then R = 1.
 *    (Half of the cost of a step, and the half byte of an entry, stand for the time to decode.)
 * 5. codebook: the bit patterns of all values outside the long part, as unsigned numbers in
 *    ascending order, then zeros; all zeros if there are more than 256 or codes = 0.
 * 6. The values of a slice with n entries in S steps have the code of the fewest bytes, the first
 *    of equal ones: STEP, S R reals, if all rows of a step agree bit for bit; CODEBOOK, n bytes, if
 *    there is one; F32, 4 n bytes, if floats hold every value (spmv_is_float), but not in the f32
 *    variant; RAW, n reals. With codes = 0: RAW.
 * 7. FULL: the slice has a step, and every mask is 0xffffffff.
 * 8. Columns and values of slices are stored in order, each followed by zeros up to a multiple of
 *    CSELL_ALIGN, the last by CSELL_SPARE zeros. Diagonals and S = 0 have no columns. */
#include "csell_entries.h"
#include "csell_fill.h"
#include "formats/row_ends.h"
#include "spmv_order.h"
#include <stdlib.h>

enum { LEAST_CUT = 64, CUT_MEANS = 4, AHEAD = 2 /* prefetch distance in slices */ };

static int64_t cut_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t mean = A->rows ? (A->nnz + A->rows - 1) / A->rows : 0;
    int64_t least = CUT_MEANS * mean > LEAST_CUT ? CUT_MEANS * mean : LEAST_CUT;
    return c->value[SPMV_cut] ? c->value[SPMV_cut] : least;
}

static int64_t slices_of(int64_t rows) {
    return (rows + CSELL_ROWS - 1) / CSELL_ROWS;
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Prefetches slice k. If a slice repeats an earlier one, the next slices mostly do, too, and
 * comparing them takes no longer than reading them. */
static inline __attribute__((always_inline)) void prefetch_slice(const spmv_csr_view *A, int64_t k,
                                                                 int64_t cut) {
    const int64_t first = k * CSELL_ROWS, end = first + CSELL_ROWS;
    if (end > A->rows || A->row_ptr[end] - A->row_ptr[first] > CSELL_ROWS * cut) return;
    prefetch_columns(A, first, end);
    prefetch_values(A, first, end);
}

static spmv_status choose_slices(spmv_ctx *ctx, const spmv_csr_view *A, const value_set *set,
                                 bool codes, int threads, csell *B, csell_repeat *repeats) {
    int without = 0;
#pragma omp parallel num_threads(threads) reduction(+ : without)
    {
        seen *memory = calloc(1, sizeof *memory);
        without += !memory;
#pragma omp for schedule(static)
        for (int64_t k = 0; k < B->nslices; k++)
            if (memory) {
                choose_slice(A, set, codes, k, memory, B, repeats + k);
                if (repeats[k].of >= 0) prefetch_slice(A, k + AHEAD, B->cut);
            }
        free(memory);
    }
    return without ? spmv_fail(ctx, SPMV_E_NOMEM, "out of memory") : SPMV_OK;
}

static void place_slices(csell *B) {
    for (int64_t k = 0; k < B->nslices; k++) {
        csell_slice *slice = B->slice + k;
        int64_t steps = slice->step, columns = slice->column, values = slice->value;
        slice->step = B->nsteps;
        slice->column = B->column_bytes;
        slice->value = B->value_bytes;
        B->codes |= slice->nsteps && slice->value_code != VALUE_RAW;
        B->nsteps += steps;
        B->column_bytes += columns;
        B->value_bytes += values;
    }
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* Writes the columns of entry k of n rows; returns where they end. */
BY_LOADS static uint8_t *put_columns(const slice_rows *s, int64_t k, const int *row, int n,
                                     int code, int32_t base, uint8_t *to) {
    uint16_t *two = (uint16_t *)(void *)to;
    uint32_t *four = (uint32_t *)(void *)to;
    if (code == CSELL_COLUMN_8)
        for (int j = 0; j < n; j++) to[j] = (uint8_t)(s->col[row[j]][k] - base);
    else if (code == CSELL_COLUMN_16)
        for (int j = 0; j < n; j++) two[j] = (uint16_t)(s->col[row[j]][k] - base);
    else
        for (int j = 0; j < n; j++) four[j] = (uint32_t)(s->col[row[j]][k] - base);
    return to + n * code_bytes(code);
}

/* Writes the steps of a slice and their columns; returns where the columns end. */
static uint8_t *fill_steps(const slice_rows *s, csell_slice *slice, csell_step *step,
                           uint8_t *columns) {
    int row[CSELL_ROWS], n = 0;
    uint32_t mask = 0, common = slice->nsteps ? ~0u : 0; /* mask: the rows listed in row[] */
    walk w = steps_of(s, slice);
    for (csell_step next; next_step(&w, &next); *step++ = next) {
        common &= next.mask;
        if (w.run == 0) continue; /* a diagonal has no columns */
        if (next.mask != mask) n = list_rows(mask = next.mask, row);
        columns = put_columns(s, w.k - w.run, row, n, slice->column_code, next.base, columns);
    }
    if (common == ~0u) slice->flags = CSELL_FULL;
    return columns;
}

static uint8_t *copy_steps(const csell *B, const csell_slice *from, const csell_slice *slice,
                           int32_t shift, csell_step *step, uint8_t *columns) {
    const size_t bytes = (size_t)(from[1].column - from->column);
    memcpy(step, B->step + from->step, (size_t)slice->nsteps * sizeof *step);
    for (int64_t n = 0; n < slice->nsteps && slice->column_code != CSELL_DIAGONAL; n++)
        step[n].base += shift;
    memcpy(columns, B->columns + from->column, bytes);
    return columns + bytes;
}

/* Returns the number of values that overflow. */
static int64_t count_overflows(const slice_rows *s) {
    int64_t overflows = 0;
    for (int r = 0; sizeof(real) < sizeof(double) && r < s->nrows; r++)
        for (int64_t k = 0; k < s->length[r]; k++) overflows += does_overflow(s->value[r][k]);
    return overflows;
}

static void fill_up(uint8_t *from, const uint8_t *end) {
    while (from < end) *from++ = 0;
}

/* Fills a slice; the slice that it repeats must be filled already. Returns the number of values
 * that overflow. */
static int64_t fill_slice(const spmv_csr_view *A, const value_set *set, int64_t k,
                          const csell_repeat *repeat, csell *B) {
    slice_rows s;
    csell_slice *slice = B->slice + k;
    const csell_slice *from = repeat->of < 0 ? NULL : B->slice + repeat->of;
    csell_step *step = B->step + slice->step;
    uint8_t *columns = B->columns + slice->column, *values = B->values + slice->value;
    bool is_last = k + 1 == B->nslices;
    describe_rows(A, k, B->cut, &s);
    if (can_repeat(A, &s) && repeat->of < 0) prefetch_columns(A, s.first, s.first + s.nrows);
    if (can_repeat(A, &s) && !repeat->values) prefetch_values(A, s.first, s.first + s.nrows);
    if (repeat->of >= 0) {
        slice->flags = from->flags;
        columns = copy_steps(B, from, slice, (int32_t)(k - repeat->of) * CSELL_ROWS, step, columns);
    } else {
        slice->column_code == CSELL_DIAGONAL ? find_groups(&s) : leave_rows_alone(&s);
        columns = fill_steps(&s, slice, step, columns);
    }
    if (repeat->values)
        memcpy(values, B->values + from->value, (size_t)(from[1].value - from->value));
    else
        fill_up(fill_values(&s, slice, step, set, values),
                B->values + (is_last ? B->value_bytes : slice[1].value));
    fill_up(columns, B->columns + (is_last ? B->column_bytes : slice[1].column));
    return count_overflows(&s);
}

static int64_t fill_slices(const spmv_csr_view *A, const value_set *set,
                           const csell_repeat *repeats, int threads, csell *B) {
    int64_t overflows = 0;
#pragma omp parallel num_threads(threads) reduction(+ : overflows)
    {
#pragma omp for schedule(static)
        for (int64_t k = 0; k < B->nslices; k++)
            if (repeats[k].of < 0) overflows += fill_slice(A, set, k, repeats + k, B);
#pragma omp for schedule(static)
        for (int64_t k = 0; k < B->nslices; k++)
            if (repeats[k].of >= 0) overflows += fill_slice(A, set, k, repeats + k, B);
    }
    return overflows;
}

/* ---- the long part --------------------------------------------------------------------------- */

static void count_long(const spmv_csr_view *A, int threads, csell *B) {
    int64_t rows = 0, nnz = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : rows, nnz)
    for (int64_t i = 0; i < A->rows; i++)
        if (row_length(A, i) > B->cut) {
            rows++;
            nnz += row_length(A, i);
        }
    B->long_rows = rows;
    B->long_nnz = nnz;
}

static spmv_status check_long(spmv_ctx *ctx, const csell *B) {
    if (B->long_nnz <= CSELL_MOST_LONG) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "csell: rows of more than %lld nonzeros have %lld together, too many for "
                     "32-bit offsets: a larger cut, or a kernel of csr",
                     (long long)B->cut, (long long)B->long_nnz);
}

static void place_long(const spmv_csr_view *A, csell *B) {
    int64_t n = 0;
    B->long_ptr[0] = 0;
    for (int64_t i = 0; n < B->long_rows; i++)
        if (row_length(A, i) > B->cut) {
            B->long_row[n] = (idx)i;
            B->long_ptr[n + 1] = B->long_ptr[n] + (int32_t)row_length(A, i);
            n++;
        }
}

/* Fills long rows first to end - 1. A row may be most of the matrix: threads share it. */
static int64_t fill_long(const spmv_csr_view *A, int64_t first, int64_t end, int threads,
                         csell *B) {
    int64_t overflows = 0;
    for (int64_t n = first; n < end; n++) {
        int64_t from = A->row_ptr[B->long_row[n]], to = B->long_ptr[n];
        int64_t length = B->long_ptr[n + 1] - to;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : overflows) if (length > 1 << 16)
        for (int64_t k = 0; k < length; k++) {
            B->long_col[to + k] = A->col_idx[from + k];
            B->long_values[to + k] = (real)A->values[from + k];
            overflows += does_overflow(A->values[from + k]);
        }
    }
    return overflows;
}

/* ---- the format ------------------------------------------------------------------------------ */

/* Returns the bytes of everything but steps and long rows. */
static size_t fixed_bytes(const spmv_csr_view *A) {
    size_t slices = (size_t)slices_of(A->rows), entry = sizeof(idx) + sizeof(real);
    return slices * (sizeof(csell_slice) + 2 * CSELL_ALIGN) + 2 * CSELL_SPARE +
           VALUE_CODEBOOK_SIZE * sizeof(real) + sizeof(int32_t) + (size_t)A->nnz * entry;
}

/* Returns an upper bound, because choosing exactly takes as long as building. Gathered, with 32-bit
 * columns and raw values, a slice has as many steps as its longest row has entries; rule 4 prefers
 * diagonals only if these take less. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t cut = cut_of(A, c), nslices = slices_of(A->rows);
    size_t bytes = fixed_bytes(A);
    for (int64_t k = 0; k < nslices; k++) {
        size_t longest = 0;
        for (int64_t i = k * CSELL_ROWS; i < (k + 1) * CSELL_ROWS && i < A->rows; i++) {
            size_t length = (size_t)row_length(A, i);
            if (length > (size_t)cut)
                bytes += sizeof(idx) + sizeof(int32_t);
            else if (length > longest)
                longest = length;
        }
        bytes += longest * sizeof(csell_step);
    }
    return bytes;
}

/* Counts as many steps per slice as the longest row has entries, but at most nnz in all. */
static size_t bound(const spmv_csr_view *A, const spmv_choice *c, int64_t longest) {
    int64_t cut = cut_of(A, c), nslices = slices_of(A->rows), kept = longest < cut ? longest : cut;
    int64_t steps = kept && nslices > A->nnz / kept ? A->nnz : nslices * kept;
    int64_t long_rows = longest > cut ? A->nnz / (cut + 1) : 0;
    return fixed_bytes(A) + (size_t)steps * sizeof(csell_step) +
           (size_t)long_rows * (sizeof(idx) + sizeof(int32_t));
}

static spmv_status fill(spmv_ctx *ctx, const spmv_csr_view *A, const value_set *set,
                        const csell_repeat *repeats, int threads, csell *B) {
    int64_t overflows;
    TRY(STORE_ARRAY(ctx, B, step, B->nsteps));
    TRY(STORE_ARRAY(ctx, B, columns, B->column_bytes + CSELL_SPARE));
    TRY(STORE_ARRAY(ctx, B, values, B->value_bytes + CSELL_SPARE));
    TRY(STORE_ARRAY(ctx, B, long_row, B->long_rows));
    TRY(STORE_ARRAY(ctx, B, long_ptr, B->long_rows + 1));
    TRY(STORE_ARRAY(ctx, B, long_col, B->long_nnz));
    TRY(STORE_ARRAY(ctx, B, long_values, B->long_nnz));
    overflows = fill_slices(A, set, repeats, threads, B);
    memset(B->columns + B->column_bytes, 0, CSELL_SPARE);
    memset(B->values + B->value_bytes, 0, CSELL_SPARE);
    place_long(A, B);
    overflows += fill_long(A, 0, B->long_rows, threads, B);
    return spmv_fits(ctx, overflows);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    bool codes = c->value[SPMV_codes];
    value_set set;
    TRY(spmv_store_new(ctx, "csell", sizeof(csell), A, out));
    csell *B = (csell *)*out;
    B->s.slots = A->nnz;
    B->nslices = slices_of(A->rows);
    B->cut = cut_of(A, c);
    count_long(A, threads, B);
    TRY(check_long(ctx, B));
    TRY(STORE_ARRAY(ctx, B, slice, B->nslices));
    TRY(STORE_ARRAY(ctx, B, codebook, VALUE_CODEBOOK_SIZE));
    make_codebook(A, B->long_rows ? B->cut : INT64_MAX, codes, threads, B->codebook, &set);
    if (set.count) B->s.values = code_word(VALUE_CODEBOOK);
    csell_repeat *repeats = spmv_host_alloc((size_t)B->nslices * sizeof *repeats);
    if (!repeats) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status = choose_slices(ctx, A, &set, codes, threads, B, repeats);
    if (status == SPMV_OK) place_slices(B);
    if (status == SPMV_OK) status = fill(ctx, A, &set, repeats, threads, B);
    spmv_host_free(repeats);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Returns whether a code can hold the values of these rows; lists them for VALUE_CODEBOOK. */
static bool can_hold(const rows_walk *w, int code, value_set *set) {
    bool fits = true;
    for (int j = 0; j < w->n && fits; j++) {
        if (code == VALUE_CODEBOOK) add_values(set, w->from[j], w->length);
        if (code == VALUE_F32) fits = are_floats(w->from[j], w->length);
        if (code == CSELL_VALUE_STEP) fits = same_values(w->from[0], w->from[j], w->length);
    }
    return fits;
}

static bool check_values(const spmv_csr_view *A, int64_t k, const csell *B, value_set *set) {
    const csell_slice *slice = B->slice + k;
    slice_rows s;
    bool fits = true;
    if (slice->value_code == VALUE_RAW) return true;
    describe_rows(A, k, B->cut, &s);
    for (rows_walk w = walk_rows(&s); fits && next_rows(&w, slice, B->step + slice->step);)
        fits = can_hold(&w, slice->value_code, set);
    return fits;
}

/* Returns whether the present codes can hold all values; *all: the values for the codebook.
 * listed_only: checks slices with VALUE_CODEBOOK only. */
static bool collect_values_of(const spmv_csr_view *A, bool listed_only, int threads, const csell *B,
                              value_set *all) {
    bool fits = true;
    *all = (value_set){.count = 0};
#pragma omp parallel num_threads(threads) reduction(&& : fits)
    {
        value_set mine = {.count = 0};
#pragma omp for schedule(static) nowait
        for (int64_t k = 0; k < B->nslices; k++)
            if (!listed_only || B->slice[k].value_code == VALUE_CODEBOOK)
                fits = fits && check_values(A, k, B, &mine);
#pragma omp critical(value_set)
        merge_values(&mine, all);
    }
    return fits && all->count <= VALUE_CODEBOOK_SIZE;
}

static bool holds_any(const spmv_store *store) {
    return !((const csell *)store)->codes;
}

static spmv_status holds(spmv_ctx *ctx, const spmv_csr_view *A, int threads,
                         const spmv_store *store) {
    value_set set;
    if (collect_values_of(A, false, threads, (const csell *)store, &set)) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "values are in codes of fewer bytes, which cannot be these; " SPMV_SAY_REFILL);
}

static void refill_slice(const spmv_csr_view *A, const value_set *set, int64_t k, csell *B) {
    const csell_slice *slice = B->slice + k;
    slice_rows s;
    describe_rows(A, k, B->cut, &s);
    fill_values(&s, slice, B->step + slice->step, set, B->values + slice->value);
}

static void refill(const spmv_csr_view *A, int threads, spmv_store *store) {
    csell *B = (csell *)store;
    value_set set;
    collect_values_of(A, true, threads, B, &set);
    list_values(&set, B->codebook);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < B->nslices; k++) {
        const int64_t first = k * CSELL_ROWS, end = first + CSELL_ROWS;
        prefetch_values(A, first, end < A->rows ? end : A->rows);
        refill_slice(A, &set, k, B);
    }
    fill_long(A, 0, B->long_rows, threads, B);
}

static int64_t rows_together(const spmv_store *store) {
    return holds_any(store) ? CSELL_ROWS : 0;
}

static void refill_rows(const spmv_csr_view *A, int64_t first, int64_t end, spmv_store *store) {
    csell *B = (csell *)store;
    for (int64_t k = first / CSELL_ROWS; k * CSELL_ROWS < end; k++) refill_slice(A, NULL, k, B);
    fill_long(A, first_long_from(B, first), first_long_from(B, end), 1, B);
}

static int places(const spmv_store *store, spmv_places *out) {
    const csell *B = (const csell *)store;
    const int64_t n = B->value_bytes / (int64_t)sizeof(real);
    out[0] = (spmv_places){B->values, n, sizeof(real), 0};
    out[1] = (spmv_places){B->long_values, B->long_nnz, sizeof(real), 0};
    return B->codes ? 0 : 2;
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const csell *A = (const csell *)store;
    entry_list out = {row, col, values, 0};
    for (int64_t k = 0; k < A->nslices; k++) {
        const csell_slice *slice = A->slice + k;
        slice_entries(slice, k * CSELL_ROWS, A->step + slice->step, A->columns + slice->column,
                      A->values + slice->value, A->codebook, &out);
    }
    for (int64_t l = 0, n = out.n; l < A->long_rows; l++)
        for (int64_t k = A->long_ptr[l]; k < A->long_ptr[l + 1]; k++, n++) {
            row[n] = A->long_row[l];
            col[n] = A->long_col[k];
            values[n] = (double)A->long_values[k];
        }
    for (int64_t n = 0; n < store->nnz; n++) row[n] = (int32_t)spmv_stored_row(store, row[n]);
}

static const spmv_param params[] = {
    {SPMV_cut, 0, 0, INT32_MAX, 1, false}, {SPMV_codes, 1, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(csell_format) = {
    .name = "csell",
    .summary = "slices of 32 rows, columns and values of each in the codes that take the fewest "
               "bytes; no padding",
    .params = params,
    .at_most = true,
    .estimate = estimate,
    .bound = bound,
    .build = build,
    .entries = entries,
    .places = places,
    .refill = refill,
    .refill_rows = refill_rows,
    .rows_together = rows_together,
    .holds = holds,
    .holds_any = holds_any,
    .look = spmv_csell_look,
    .features = spmv_csell_features,
};
