/* format_dia.c: every diagonal that holds an entry, stored whole, column-major. */
#include "dia.h"
#include <math.h>
#include <stdlib.h>

enum { WORD = 64, FEW_WORDS = 1 << 10 };

typedef struct window { /* the diagonals from `first` on, one bit each */
    int64_t first, words;
    uint64_t *bits;
} window;

static void mark_diagonals(const spmv_csr_view *A, const window *w) {
    const uint64_t size = (uint64_t)w->words * WORD;
    memset(w->bits, 0, (size_t)w->words * sizeof *w->bits);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            uint64_t at = (uint64_t)(A->col_idx[k] - i - w->first), bit = 1ull << at % WORD;
            /* Nearly always set already: storing it again would delay the next read. */
            if (at < size && !(w->bits[at / WORD] & bit)) w->bits[at / WORD] |= bit;
        }
}

/* Returns the number of marked diagonals; to: receives their offsets, ascending; may be NULL. */
static int64_t list_diagonals(const window *w, idx *to) {
    int64_t n = 0;
    for (int64_t at = 0; at < w->words; at++) {
        if (!to) n += __builtin_popcountll(w->bits[at]);
        for (uint64_t rest = to ? w->bits[at] : 0; rest; rest &= rest - 1)
            to[n++] = (idx)(w->first + at * WORD + __builtin_ctzll(rest));
    }
    return n;
}

/* Returns the range of diagonals that hold entries; empty if there are none. Columns ascend, so a
 * row's first and last entries are on its outermost diagonals. */
static dia_span outermost(const spmv_csr_view *A) {
    dia_span all = {A->cols, -A->rows};
    for (int64_t i = 0; i < A->rows; i++) {
        if (A->row_ptr[i] == A->row_ptr[i + 1]) continue;
        int64_t first = A->col_idx[A->row_ptr[i]] - i,
                end = A->col_idx[A->row_ptr[i + 1] - 1] - i + 1;
        if (first < all.first) all.first = first;
        if (end > all.end) all.end = end;
    }
    return all.first < all.end ? all : (dia_span){0, 0};
}

/* Returns the number of diagonals that hold an entry; to: as in list_diagonals. Makes one pass over
 * the entries if one bit per possible diagonal fits the stack or free memory, otherwise several
 * passes, so that an estimate cannot fail. */
static int64_t find_diagonals(const spmv_csr_view *A, idx *to) {
    uint64_t few[FEW_WORDS], *many = NULL;
    int64_t n = 0;
    dia_span all = outermost(A);
    window w = {all.first, (all.end - all.first) / WORD + 1, few};
    if (w.words > FEW_WORDS) {
        many = malloc((size_t)w.words * sizeof *many);
        w.bits = many ? many : few;
        w.words = many ? w.words : FEW_WORDS;
    }
    for (; w.first < all.end; w.first += w.words * WORD) {
        mark_diagonals(A, &w);
        n += list_diagonals(&w, to ? to + n : NULL);
    }
    free(many);
    return n;
}

static int64_t pitch_of(const spmv_csr_view *A) {
    return (A->rows + DIA_ALIGN - 1) / DIA_ALIGN * DIA_ALIGN;
}

/* SIZE_MAX on overflow: 2^32 diagonals of 2^31 rows would need 66 bits. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    size_t diagonals = (size_t)find_diagonals(A, NULL);
    size_t each = (size_t)pitch_of(A) * sizeof(real) + sizeof(idx);
    return diagonals > SIZE_MAX / each ? SIZE_MAX : diagonals * each;
}

/* Writes a value to its slot; a zero becomes positive, because -0.0 is padding. */
static int64_t put_value(double value, real *to) {
    *to = (real)value == 0 ? 0 : (real)value;
    return isinf(*to) && !isinf(value);
}

/* Fills rows first..end - 1 of all diagonals, including rows of the pitch. Columns and diagonals
 * ascend, so only the next entry of each row is compared. */
static int64_t fill_stripe(const spmv_csr_view *A, int64_t first, int64_t end, dia *out) {
    int64_t overflows = 0, next[DIA_ALIGN * DIA_ALIGN];
    for (int64_t i = first; i < end; i++) next[i - first] = A->row_ptr[i < A->rows ? i : A->rows];
    for (int64_t k = 0; k < out->diagonals; k++)
        for (int64_t i = first; i < end; i++) {
            int64_t *at = &next[i - first];
            real *to = out->values + k * out->pitch + i;
            *to = -(real)0;
            if (i < A->rows && *at < A->row_ptr[i + 1] && A->col_idx[*at] - i == out->offsets[k])
                overflows += put_value(A->values[(*at)++], to);
        }
    return overflows;
}

/* Fills a stripe of rows at a time, so that a cached line is used for all its rows. */
static int64_t fill(const spmv_csr_view *A, int threads, dia *out) {
    enum { STRIPE = DIA_ALIGN * DIA_ALIGN };
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t first = 0; first < out->pitch; first += STRIPE)
        overflows +=
            fill_stripe(A, first, first + STRIPE < out->pitch ? first + STRIPE : out->pitch, out);
    return overflows;
}

static int64_t count_inside(const dia *A) {
    int64_t n = 0;
    for (int64_t k = 0; k < A->diagonals; k++) {
        dia_span in = dia_rows_inside(A->s.cols, A->offsets[k], 0, A->s.rows);
        n += in.end - in.first;
    }
    return n;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    (void)c;
    TRY(spmv_store_new(ctx, "dia", sizeof(dia), A, out));
    dia *B = (dia *)*out;
    B->diagonals = find_diagonals(A, NULL);
    B->pitch = pitch_of(A);
    B->s.slots = B->diagonals * B->pitch;
    TRY(STORE_ARRAY(ctx, B, offsets, B->diagonals));
    TRY(STORE_ARRAY(ctx, B, values, B->s.slots));
    find_diagonals(A, B->offsets);
    B->inside = count_inside(B);
    return spmv_fits(ctx, fill(A, threads, B));
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const dia *A = (const dia *)store;
    for (int64_t k = 0, n = 0; k < A->diagonals; k++)
        for (int64_t i = 0; i < store->rows; i++) {
            real value = A->values[k * A->pitch + i];
            if (value == 0 && signbit(value)) continue;
            row[n] = (int32_t)i;
            col[n] = (int32_t)(i + A->offsets[k]);
            values[n++] = (double)value;
        }
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(dia_format) = {
    .name = "dia",
    .summary = "diagonals that hold an entry, whole: offsets, and values [diagonals x rows]",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
};
