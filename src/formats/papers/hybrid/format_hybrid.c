/* format_hybrid.c: ELL for the first entries of every row, compressed rows for the other entries:
 * for matrices in which a part, such as the reference region of configuration interaction, has rows
 * of equal length. */
#include "hybrid.h"
#include "formats/ell_and_tail.h"
#include "formats/row_ends.h"

/* Returns the boundary. Both parts together have sum_i max(n_i, boundary) slots. A boundary up to
 * the shortest row needs no padding, and every larger one does, so the shortest row is the largest
 * boundary with the fewest bytes. Beyond the longest row there would be only padding. */
static int64_t boundary_of(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t shortest = A->rows ? INT64_MAX : 0, wish = c->value[SPMV_boundary];
    if (wish >= 0) {
        int64_t longest = spmv_longest_row(A);
        return wish < longest ? wish : longest;
    }
    for (int64_t i = 0; i < A->rows; i++)
        if (length_of(A, i) < shortest) shortest = length_of(A, i);
    return shortest;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    int64_t boundary = boundary_of(A, c);
    size_t slots = (size_t)(A->rows * boundary + tail_of(A, boundary, 0, A->rows));
    size_t slot = sizeof(idx) + sizeof(real), row = 2 * sizeof(ofs) + sizeof(idx);
    size_t rows = row * (size_t)A->rows;
    return slots > (SIZE_MAX - rows) / slot ? SIZE_MAX : slot * slots + rows;
}

static spmv_status allocate(spmv_ctx *ctx, hybrid *B) {
    TRY(STORE_ARRAY(ctx, B, ell_col, B->s.rows * B->boundary));
    TRY(STORE_ARRAY(ctx, B, ell_values, B->s.rows * B->boundary));
    TRY(STORE_ARRAY(ctx, B, rest_col, B->rest_nnz));
    TRY(STORE_ARRAY(ctx, B, rest_values, B->rest_nnz));
    TRY(STORE_ARRAY(ctx, B, start, B->s.rows));
    TRY(STORE_ARRAY(ctx, B, end, B->s.rows));
    return STORE_ARRAY(ctx, B, row_len, B->s.rows);
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    TRY(spmv_store_new(ctx, "hybrid", sizeof(hybrid), A, out));
    hybrid *B = (hybrid *)*out;
    B->boundary = boundary_of(A, c);
    B->rest_nnz = tail_of(A, B->boundary, 0, A->rows);
    for (int64_t i = 0; i < A->rows; i++) B->long_rows += length_of(A, i) > B->boundary;
    B->s.slots = A->rows * B->boundary + B->rest_nnz;
    TRY(allocate(ctx, B));
    const ell_and_tail parts = {.width = B->boundary,
                                .rows = A->rows,
                                .row_step = B->boundary,
                                .slot_step = 1,
                                .repeats = true,
                                .ell_col = B->ell_col,
                                .ell_values = B->ell_values,
                                .tail_col = B->rest_col,
                                .tail_values = B->rest_values,
                                .start = B->start,
                                .end = B->end,
                                .row_len = B->row_len};
    return spmv_fits(ctx, fill_ell_and_tail(A, threads, &parts));
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const hybrid *A = (const hybrid *)store;
    for (int64_t i = 0, n = 0; i < store->rows; i++)
        for (int64_t k = 0; k < A->row_len[i]; k++, n++) {
            bool in_ell = k < A->boundary;
            int64_t at = in_ell ? i * A->boundary + k : A->start[i] + k - A->boundary;
            row[n] = (int32_t)i;
            col[n] = in_ell ? A->ell_col[at] : A->rest_col[at];
            values[n] = (double)(in_ell ? A->ell_values[at] : A->rest_values[at]);
        }
}

static const spmv_param params[] = {{SPMV_boundary, -1, -1, INT32_MAX, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(hybrid_format) = {
    .name = "hybrid",
    .summary = "the first entries of every row in ELL, row-major, the rest in CSR",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
};
