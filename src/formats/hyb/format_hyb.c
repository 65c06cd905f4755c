/* format_hyb.c: the first entries of every row in ELL, the remaining entries of long rows in COO:
 * Bell and Garland, SC'09, "HYB". Padding has column -1, as in the ELL of the third paper, so that
 * a kernel need not multiply it by an x_j that may be infinite. */
#include "hyb.h"
#include "formats/ell_and_tail.h"
#include "formats/row_ends.h"

enum { ELL_BYTES = sizeof(idx) + sizeof(real), TAIL_BYTES = 2 * sizeof(idx) + sizeof(real) };

static int64_t pitch_of(const spmv_csr_view *A) {
    return (A->rows + HYB_ALIGN - 1) / HYB_ALIGN * HYB_ALIGN;
}

/* Returns the least width that at most `most` rows exceed, by a radix search over row lengths with
 * digits of 11 bits, highest digit first. Each pass counts only lengths that begin with the digits
 * found. One pass suffices unless rows are longer than 2047. */
static int64_t least_width(const spmv_csr_view *A, int64_t longest, int64_t most) {
    enum { DIGIT = 11, VALUES = 1 << DIGIT };
    int64_t width = 0, longer = 0; /* longer: number of rows already known to be longer */
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

/* Returns the width. Increasing the width by one costs pitch * ELL_BYTES, and saves TAIL_BYTES per
 * longer row, fewer with each step: the optimum is the first width that saves nothing. */
static int64_t width_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t boundary = c->value[SPMV_boundary], longest = spmv_longest_row(A);
    if (boundary < 0) return least_width(A, longest, pitch_of(A) * ELL_BYTES / TAIL_BYTES);
    return boundary < longest ? boundary : longest;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t width = width_of(A, c);
    size_t tail = (size_t)tail_of(A, width, 0, A->rows) * TAIL_BYTES;
    size_t line = (size_t)pitch_of(A) * ELL_BYTES;
    return line && (size_t)width > (SIZE_MAX - tail) / line ? SIZE_MAX
                                                            : (size_t)width * line + tail;
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
    const ell_and_tail parts = {.width = B->width,
                                .rows = B->pitch,
                                .row_step = 1,
                                .slot_step = B->pitch,
                                .ell_col = B->ell_col,
                                .ell_values = B->ell_values,
                                .tail_row = B->tail_row,
                                .tail_col = B->tail_col,
                                .tail_values = B->tail_values};
    return spmv_fits(ctx, fill_ell_and_tail(A, threads, &parts));
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
