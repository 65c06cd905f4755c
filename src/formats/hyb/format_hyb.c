/* format_hyb.c: the first entries of every row in ELL, what is left of long rows in COO: Bell and
 * Garland, SC'09, "HYB". Padding has column -1, as in the ELL of the third paper, so that a kernel
 * need not multiply it by an x_j that may be infinite. */
#include "hyb.h"
#include "formats/row_ends.h"
#include <math.h>

enum { ELL_BYTES = sizeof(idx) + sizeof(real), TAIL_BYTES = 2 * sizeof(idx) + sizeof(real) };

static int64_t length_of(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

static int64_t pitch_of(const spmv_csr_view *A) {
    return (A->rows + HYB_ALIGN - 1) / HYB_ALIGN * HYB_ALIGN;
}

/* Returns the least width that no more than `most` rows are longer than, by counting lengths: all
 * of them at first, a digit of 11 bits at a time, the highest first; then those alone that begin
 * with the digits found. One pass does unless rows are longer than 2047. */
static int64_t least_width(const spmv_csr_view *A, int64_t longest, int64_t most) {
    enum { DIGIT = 11, VALUES = 1 << DIGIT };
    int64_t width = 0, longer = 0; /* longer: rows counted out already, their lengths being more */
    int shift = 0;
    while (longest >> shift >= VALUES) shift += DIGIT;
    for (; shift >= 0; shift -= DIGIT) {
        int64_t count[VALUES] = {0}, value = VALUES - 1;
        for (int64_t i = 0; i < A->rows; i++) {
            int64_t digits = length_of(A, i) >> shift;
            if (digits >> DIGIT == width) count[digits & (VALUES - 1)]++;
        }
        while (value > 0 && longer + count[value] <= most) longer += count[value--];
        width = width << DIGIT | value;
    }
    return width;
}

/* A width of one more takes pitch * ELL_BYTES, and saves TAIL_BYTES for each row that is longer:
 * with each step fewer, so the first that saves nothing ends it. */
static int64_t width_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t boundary = c->value[SPMV_boundary], longest = spmv_longest_row(A);
    if (boundary < 0) return least_width(A, longest, pitch_of(A) * ELL_BYTES / TAIL_BYTES);
    return boundary < longest ? boundary : longest;
}

/* Entries of rows first..end-1 beyond the width. */
static int64_t tail_of(const spmv_csr_view *A, int64_t width, int64_t first, int64_t end) {
    int64_t tail = 0;
    for (int64_t i = first; i < end; i++)
        if (length_of(A, i) > width) tail += length_of(A, i) - width;
    return tail;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t width = width_of(A, c);
    size_t tail = (size_t)tail_of(A, width, 0, A->rows) * TAIL_BYTES;
    size_t line = (size_t)pitch_of(A) * ELL_BYTES;
    return line && (size_t)width > (SIZE_MAX - tail) / line ? SIZE_MAX
                                                            : (size_t)width * line + tail;
}

static int64_t convert(real *to, double from) {
    *to = (real)from;
    return isinf(*to) && !isinf(from);
}

/* Slot k of rows first..end-1, the padding behind the last row included. */
static int64_t fill_slots(const spmv_csr_view *A, int64_t k, int64_t first, int64_t end, hyb *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++) {
        bool is_entry = i < A->rows && k < length_of(A, i);
        int64_t at = k * out->pitch + i;
        out->ell_col[at] = is_entry ? A->col_idx[A->row_ptr[i] + k] : -1;
        out->ell_values[at] = 0;
        if (is_entry) overflows += convert(&out->ell_values[at], A->values[A->row_ptr[i] + k]);
    }
    return overflows;
}

static int64_t fill_tail(const spmv_csr_view *A, int64_t first, int64_t end, int64_t at, hyb *out) {
    int64_t overflows = 0;
    for (int64_t i = first; i < end; i++)
        for (int64_t k = A->row_ptr[i] + out->width; k < A->row_ptr[i + 1]; k++, at++) {
            out->tail_row[at] = (idx)i;
            out->tail_col[at] = A->col_idx[k];
            overflows += convert(&out->tail_values[at], A->values[k]);
        }
    return overflows;
}

/* A stripe of rows at a time: what one slot leaves of a cache line, the next finds there. Where a
 * part's tail begins is counted again by each: row_ptr is little beside the entries. */
static int64_t fill(const spmv_csr_view *A, int threads, hyb *out) {
    enum { STRIPE = 64 };
    int64_t overflows = 0;
#pragma omp parallel for schedule(static, 1) num_threads(threads) reduction(+ : overflows)
    for (int part = 0; part < threads; part++) {
        int64_t begin = spmv_split(out->pitch, threads, part);
        int64_t stop = spmv_split(out->pitch, threads, part + 1);
        int64_t rows_begin = begin < A->rows ? begin : A->rows;
        int64_t rows_stop = stop < A->rows ? stop : A->rows;
        for (int64_t first = begin; first < stop; first += STRIPE) {
            int64_t end = first + STRIPE < stop ? first + STRIPE : stop;
            for (int64_t k = 0; k < out->width; k++) overflows += fill_slots(A, k, first, end, out);
        }
        if (out->tail)
            overflows +=
                fill_tail(A, rows_begin, rows_stop, tail_of(A, out->width, 0, rows_begin), out);
    }
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "hyb", sizeof(hyb), A, out));
    hyb *B = (hyb *)*out;
    B->width = width_of(A, c);
    B->pitch = pitch_of(A);
    B->tail = tail_of(A, B->width, 0, A->rows);
    B->s.slots = B->width * B->pitch + B->tail;
    TRY(STORE_ARRAY(ctx, B, ell_col, B->width * B->pitch));
    TRY(STORE_ARRAY(ctx, B, ell_values, B->width * B->pitch));
    TRY(STORE_ARRAY(ctx, B, tail_row, B->tail));
    TRY(STORE_ARRAY(ctx, B, tail_col, B->tail));
    TRY(STORE_ARRAY(ctx, B, tail_values, B->tail));
    return spmv_fits(ctx, fill(A, threads, B));
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const hyb *A = (const hyb *)store;
    int64_t n = 0;
    for (int64_t k = 0; k < A->width; k++)
        for (int64_t i = 0; i < store->rows; i++) {
            if (A->ell_col[k * A->pitch + i] < 0) continue;
            row[n] = (int32_t)i;
            col[n] = A->ell_col[k * A->pitch + i];
            values[n++] = (double)A->ell_values[k * A->pitch + i];
        }
    for (int64_t k = 0; k < A->tail; k++, n++) {
        row[n] = A->tail_row[k];
        col[n] = A->tail_col[k];
        values[n] = (double)A->tail_values[k];
    }
}

static const spmv_param params[] = {{SPMV_boundary, -1, -1, INT32_MAX, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_FORMAT(hyb_format) = {
    .name = "hyb",
    .summary = "the first entries of each row in ELL, column-major, the rest in COO",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
    .features = spmv_hyb_features,
};
