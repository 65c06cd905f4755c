/* features_hyb.c: the features by which "auto" proposes HYB: width and fill of its ELL part. */
#include "hyb.h"
#include "spmv_sample.h"

/* Computes the width that format_hyb.c would choose if all rows were like the sampled ones, of
 * which at most SAMPLE_TAKEN entries are known. Wider ELL parts are unsuitable for one thread per
 * row, and remain unknown. */
void spmv_hyb_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    const int64_t value = f->precision == SPMV_F64 ? sizeof(double) : sizeof(float);
    const int64_t in_ell = value + (int64_t)sizeof(idx), in_tail = in_ell + (int64_t)sizeof(idx);
    int64_t count[SAMPLE_TAKEN + 1] = {0}, rows = 0, longer = 0, inside = 0, width = SAMPLE_TAKEN;
    (void)sum;
    for (int k = 0; k < s->size.taken; k++)
        for (int r = 0; r < s->slice[k].rows; r++, rows++) count[s->slice[k].len[r]]++;
    const int64_t most = rows * in_ell / in_tail;
    while (width > 0 && longer + count[width] <= most) longer += count[width--];
    if (width == SAMPLE_TAKEN) return;
    for (int64_t n = 0; n <= SAMPLE_TAKEN; n++) inside += count[n] * (n < width ? n : width);
    f->ell_width = width;
    f->ell_mean = sample_share((double)inside, (double)rows);
}
