/* format_cmrs.c: CMRS: rows in strips; a strip's entries are stored together, each with its row in
 * four bits of its column index. */
#include "cmrs.h"
#include <math.h>

enum { FEWEST_BITS = 5, MOST_BITS = 11 }; /* bits of a column by which one pass sorts */

static int64_t strips_of(const spmv_csr_view *A, int64_t height) {
    return (A->rows + height - 1) / height;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    return (size_t)(strips_of(A, c->value[SPMV_height]) + 1) * sizeof(ofs) +
           (size_t)A->nnz * (sizeof(uint32_t) + sizeof(real));
}

/* Writes the words of rows first..end - 1 in row order. out: as long as the strip. */
static void pack_rows(const spmv_csr_view *A, int64_t first, int64_t end, uint32_t *out) {
    int64_t begin = A->row_ptr[first];
    for (int64_t i = first; i < end; i++) {
        uint32_t row = (uint32_t)(i - first);
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            out[k - begin] = (uint32_t)A->col_idx[k] << CMRS_ROW_BITS | row;
    }
}

/* Merges two ascending runs without branches, because the next word's run is unpredictable. */
static uint32_t *merge(const uint32_t *a, const uint32_t *a_end, const uint32_t *b,
                       const uint32_t *b_end, uint32_t *out) {
    while (a < a_end && b < b_end) {
        uint32_t from_a = *a, from_b = *b;
        bool second = from_b < from_a;
        *out++ = second ? from_b : from_a;
        b += second;
        a += !second;
    }
    while (a < a_end) *out++ = *a++;
    while (b < b_end) *out++ = *b++;
    return out;
}

/* One pass of a merge sort of the words of rows first..end - 1: pairs of runs of `run` rows are
 * merged. */
static void merge_runs(const spmv_csr_view *A, int64_t first, int64_t end, int64_t run,
                       const uint32_t *from, uint32_t *to) {
    int64_t begin = A->row_ptr[first];
    for (int64_t i = first; i < end; i += 2 * run) {
        int64_t middle = i + run < end ? i + run : end;
        int64_t stop = middle + run < end ? middle + run : end;
        const uint32_t *a = from + (A->row_ptr[i] - begin),
                       *b = from + (A->row_ptr[middle] - begin);
        merge(a, b, b, from + (A->row_ptr[stop] - begin), to + (A->row_ptr[i] - begin));
    }
}

static uint32_t digit_of(uint32_t word, uint32_t least, int shift, int bits) {
    return ((word >> CMRS_ROW_BITS) - least) >> shift & ((1u << bits) - 1);
}

/* Finds where each digit's first word goes. place: [2^bits]. */
static void count_digits(const uint32_t *words, int64_t n, uint32_t least, int shift, int bits,
                         uint32_t *place) {
    const int digits = 1 << bits;
    uint32_t sum = 0; /* a strip has at most 2^32 words */
    uint32_t count[1 << MOST_BITS];
    memset(count, 0, (size_t)digits * sizeof *count);
    for (int64_t k = 0; k < n; k++) count[digit_of(words[k], least, shift, bits)]++;
        /* avoids a chain of additions: the compiler adds in a tree */
#pragma omp simd reduction(inscan, + : sum)
    for (int d = 0; d < digits; d++) {
        place[d] = sum;
#pragma omp scan exclusive(sum)
        sum += count[d];
    }
}

/* One stable pass of a radix sort, by the digit that begins at bit `shift`. */
static void sort_by_digit(const uint32_t *from, int64_t n, uint32_t least, int shift, int bits,
                          uint32_t *to) {
    uint32_t place[1 << MOST_BITS];
    count_digits(from, n, least, shift, bits, place);
    for (int64_t k = 0; k < n; k++) to[place[digit_of(from[k], least, shift, bits)]++] = from[k];
}

static int bits_of(int64_t n) {
    int bits = 0;
    while (n >> bits) bits++;
    return bits;
}

/* Returns the bits needed for columns of a strip, as distances from the least one. */
static int bits_of_columns(const spmv_csr_view *A, int64_t first, int64_t end, int64_t *least) {
    int64_t most = 0;
    *least = A->cols;
    for (int64_t i = first; i < end; i++) {
        if (A->row_ptr[i] == A->row_ptr[i + 1]) continue;
        int64_t left = A->col_idx[A->row_ptr[i]], right = A->col_idx[A->row_ptr[i + 1] - 1];
        *least = left < *least ? left : *least;
        most = right > most ? right : most;
    }
    return most > *least ? bits_of(most - *least) : 1;
}

/* Sorts the words of a strip by column, then by row. Each row is a sorted run, so few rows are
 * merged. Many rows are sorted by digits with two to four times as many values as the strip has
 * words, because counters cost less than another pass. The strip's part of out->values, which is at
 * least as large, is the second buffer, so that long rows need no other memory. */
static void sort_strip(const spmv_csr_view *A, int64_t first, int64_t end, const cmrs *out) {
    int64_t begin = A->row_ptr[first], n = A->row_ptr[end] - begin, least;
    void *spare = out->values + begin;
    uint32_t *to = out->packed + begin, *from = spare, *swap;
    int all = bits_of_columns(A, first, end, &least), bits = bits_of(n) + 1;
    bits = bits < FEWEST_BITS ? FEWEST_BITS : bits > MOST_BITS ? MOST_BITS : bits;
    int passes = (all + bits - 1) / bits, merges = bits_of(out->height - 1);
    bool merged = merges < passes;
    if (merged)
        passes = merges;
    else
        bits = (all + passes - 1) / passes; /* digits of equal width */
    if (passes % 2) swap = to, to = from, from = swap;
    pack_rows(A, first, end, to); /* the last pass writes to out->packed */
    for (int pass = 0; pass < passes; pass++) {
        swap = to, to = from, from = swap;
        if (merged)
            merge_runs(A, first, end, (int64_t)1 << pass, from, to);
        else
            sort_by_digit(from, n, (uint32_t)least, pass * bits, bits, to);
    }
}

/* Copies values in the order of the words. Each row's keep their order: one cursor per row. */
static void place_values(const spmv_csr_view *A, int64_t first, int64_t end, const cmrs *out) {
    int64_t cursor[CMRS_HIGHEST];
    for (int64_t i = first; i < end; i++) cursor[i - first] = A->row_ptr[i];
    for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++)
        out->values[k] = (real)A->values[cursor[out->packed[k] % CMRS_HIGHEST]++];
}

static int64_t fill_strips(const spmv_csr_view *A, bool sorted, int threads, cmrs *out) {
    int64_t overflows = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : overflows)
    for (int64_t s = 0; s < out->strips; s++) {
        int64_t first = s * out->height;
        int64_t end = first + out->height < A->rows ? first + out->height : A->rows;
        out->strip_ptr[s + 1] = (ofs)A->row_ptr[end];
        if (sorted) {
            sort_strip(A, first, end, out);
            place_values(A, first, end, out);
        } else {
            pack_rows(A, first, end, out->packed + A->row_ptr[first]);
            for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++)
                out->values[k] = (real)A->values[k];
        }
        for (int64_t k = A->row_ptr[first]; k < A->row_ptr[end]; k++)
            overflows += isinf((real)A->values[k]) && !isinf(A->values[k]);
    }
    out->strip_ptr[0] = 0;
    return overflows;
}

static spmv_status build(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_choice *c, int threads,
                         spmv_store **out) {
    const int64_t most_cols = (int64_t)1 << CMRS_COL_BITS;
    TRY(spmv_store_new(ctx, "cmrs", sizeof(cmrs), A, out));
    if (A->cols > most_cols)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "the matrix has %lld columns, cmrs has room for %lld: %d bits an index",
                         (long long)A->cols, (long long)most_cols, CMRS_COL_BITS);
    cmrs *B = (cmrs *)*out;
    B->height = c->value[SPMV_height];
    B->strips = strips_of(A, B->height);
    B->s.slots = A->nnz;
    TRY(STORE_ARRAY(ctx, B, strip_ptr, B->strips + 1));
    TRY(STORE_ARRAY(ctx, B, packed, A->nnz));
    TRY(STORE_ARRAY(ctx, B, values, A->nnz));
    return spmv_fits(ctx, fill_strips(A, c->value[SPMV_sorted], threads, B));
}

static void entries(const spmv_store *store, int32_t *row, int32_t *col, double *values) {
    const cmrs *A = (const cmrs *)store;
    for (int64_t s = 0; s < A->strips; s++)
        for (int64_t k = A->strip_ptr[s]; k < A->strip_ptr[s + 1]; k++) {
            row[k] = (int32_t)(s * A->height + A->packed[k] % CMRS_HIGHEST);
            col[k] = (int32_t)(A->packed[k] >> CMRS_ROW_BITS);
            values[k] = (double)A->values[k];
        }
}

static const spmv_param params[] = {{SPMV_height, 4, 1, CMRS_HIGHEST, 1, true},
                                    {SPMV_sorted, 0, 0, 1, 1, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_FORMAT(cmrs_format) = {
    .name = "cmrs",
    .summary = "compressed multi-row storage: strips of rows, the row packed into the column index",
    .params = params,
    .estimate = estimate,
    .build = build,
    .entries = entries,
};
