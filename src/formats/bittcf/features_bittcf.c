/* features_bittcf.c: the feature by which "auto" proposes BitTCF: nonzeros per tile. */
#include "bittcf.h"
#include "spmv_sample.h"

enum { ENTRIES, TILES }; /* indices of sums */

/* Returns the greatest column up to which all entries of these rows were taken. */
static int32_t complete_until(const sample_slice *w, int top, int end) {
    int32_t until = INT32_MAX;
    for (int r = top; r < end; r++)
        if (w->len[r] == SAMPLE_TAKEN) {
            const int32_t last = w->col_idx[w->begin[r] + SAMPLE_TAKEN - 1];
            until = last < until ? last : until;
        }
    return until;
}

/* Adds the numbers of entries and of columns of a window to the sums. */
static void sum_window(const sample_slice *w, int top, int end, double *sum) {
    const int32_t until = complete_until(w, top, end);
    int next[BITTCF_ROWS] = {0}, columns = 0;
    for (;; columns++) {
        int32_t least = INT32_MAX;
        for (int r = top; r < end; r++) {
            const int at = next[r - top];
            const int32_t col = at < w->len[r] ? w->col_idx[w->begin[r] + at] : INT32_MAX;
            least = col < least ? col : least;
        }
        if (least == INT32_MAX || least > until) break;
        for (int r = top; r < end; r++) {
            int *at = &next[r - top];
            const bool is_here = *at < w->len[r] && w->col_idx[w->begin[r] + *at] == least;
            *at += is_here;
            sum[ENTRIES] += is_here;
        }
    }
    sum[TILES] += (columns + BITTCF_COLS - 1) / BITTCF_COLS;
}

void spmv_bittcf_look(const sample_slice *w, double *sum) {
    if (!(w->blocks_for & SPMV_FOR_GPU)) return; /* no host kernel uses the format */
    for (int top = 0; top < w->rows; top += BITTCF_ROWS)
        sum_window(w, top, top + BITTCF_ROWS < w->rows ? top + BITTCF_ROWS : w->rows, sum);
}

void spmv_bittcf_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    (void)s;
    f->per_tile = sample_share(sum[ENTRIES], sum[TILES]);
}
