/* features_bsr.c: features by which "auto" proposes block sparse rows: the fill of blocks. */
#include "bsr.h"
#include "formats/sampled_blocks.h"

/* indices of sums: numbers of entries, and of blocks of 2 x 2 and 3 x 3 */
enum { ENTRIES, BLOCKS_2, ENTRIES_3 /* entries in whole block rows of 3 */, BLOCKS_3 };

void spmv_bsr_look(const sample_slice *w, double *sum) {
    if (!w->blocks_for) return;
    int top = (int)((3 - w->first % 3) % 3); /* slices begin at multiples of 32, not of 3 */
    int end = top < w->rows ? w->rows - (w->rows - top) % 3 : top;
    sum[ENTRIES] = w->entries;
    sum[BLOCKS_2] = (double)count_covering(w, 0, w->rows, 2, 2, true);
    for (int r = top; r < end; r++) sum[ENTRIES_3] += w->len[r];
    sum[BLOCKS_3] = (double)count_covering(w, top, end, 3, 3, true);
}

void spmv_bsr_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    (void)s;
    f->fill_2 = sample_share(sum[ENTRIES], 4 * sum[BLOCKS_2]);
    f->fill_3 = sample_share(sum[ENTRIES_3], 9 * sum[BLOCKS_3]);
}
