/* reads_of_x.c: samples how often a product reads x away from what it has just read, and estimates
 * how many cache lines of x those reads are spread over. */
#include "reads_of_x.h"
#include "spmv_helpers.h"
#include <math.h>
#include <stdlib.h>

enum { LINE = X_LINE, WINDOW = 1 << 13, MOST_WINDOWS = 256 }; /* entries */

typedef struct bits { /* a line of x each */
    uint64_t *word;
} bits;

static bool has(const bits *b, int64_t line) {
    return line >= 0 && b->word[line >> 6] >> (line & 63) & 1;
}

/* Lines read among the WINDOW/2 entries before, or beside such a line, are near: a cache or its
 * prefetcher has them. Returns how many of the window's second half are not. */
static int64_t walk(const spmv_csr_view *A, int64_t from, int64_t to, const bits *seen,
                    const bits *jumped, int64_t *distinct) {
    int64_t jumps = 0;
    for (int64_t k = from; k < to; k++) {
        int64_t line = A->col_idx[k] / LINE;
        bool near = has(seen, line) || has(seen, line - 1) || has(seen, line + 1);
        seen->word[line >> 6] |= (uint64_t)1 << (line & 63);
        if (near || k - from < (to - from) / 2) continue;
        jumps++;
        *distinct += !has(jumped, line);
        jumped->word[line >> 6] |= (uint64_t)1 << (line & 63);
    }
    for (int64_t k = from; k < to; k++) seen->word[A->col_idx[k] / LINE >> 6] = 0;
    return jumps;
}

/* Says how many lines n random reads come from when they met so many distinct ones: m (1 -
 * exp(-n/m)) = distinct, by bisection. */
static double population(double n, double distinct, double most) {
    double low = distinct, high = most > distinct ? most : distinct;
    for (int k = 0; k < 60 && low < high; k++) {
        double m = 0.5 * (low + high);
        if (m * -expm1(-n / m) < distinct)
            low = m;
        else
            high = m;
    }
    return high;
}

bool find_reads_of_x(const spmv_csr_view *A, reads_of_x *out) {
    int64_t lines = (A->cols + LINE - 1) / LINE, words = (lines + 1) / 64 + 2;
    int64_t windows = A->nnz / WINDOW, jumps = 0, distinct = 0, looked_at = 0;
    bits seen = {calloc((size_t)words, 8)}, jumped = {calloc((size_t)words, 8)};
    bool fine = seen.word && jumped.word;
    *out = (reads_of_x){0, 0};
    windows = windows < 1 ? 1 : windows > MOST_WINDOWS ? MOST_WINDOWS : windows;
    for (int64_t w = 0; fine && w < windows; w++) {
        int64_t from = spmv_split(A->nnz, windows, w), to = spmv_split(A->nnz, windows, w + 1);
        if (to > from + WINDOW) to = from + WINDOW;
        jumps += walk(A, from, to, &seen, &jumped, &distinct);
        looked_at += to - from - (to - from) / 2;
    }
    if (looked_at) out->jumps = (double)jumps / (double)looked_at;
    if (jumps) out->lines = population((double)jumps, (double)distinct, (double)lines);
    free(seen.word);
    free(jumped.word);
    return fine;
}
