/* features_spc5.c: the features by which "auto" proposes SPC5: entries per block. */
#include "formats/sampled_blocks.h"
#include "spc5.h"

enum { ENTRIES, BLOCKS /* sums; BLOCKS, + 1, + 2: blocks of 1, 2 and 4 rows */ };

void spmv_spc5_look(const sample_slice *w, double *sum) {
    if (!(w->blocks_for & SPMV_FOR_HOST)) return; /* GPUs have no kernel of the format */
    sum[ENTRIES] = w->entries;
    for (int n = 0; n < 3; n++)
        sum[BLOCKS + n] = (double)count_covering(w, 0, w->rows, 1 << n, SPC5_WIDTH, false);
}

void spmv_spc5_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    (void)s;
    for (int n = 0; n < 3; n++) f->per_block[n] = sample_share(sum[ENTRIES], sum[BLOCKS + n]);
}
