/* features_hubs.c: the feature by which "auto" proposes hubs: entries that share columns. */
#include "hubs.h"
#include "spmv_sample.h"
#include <stdlib.h>

enum { SLOT_BITS = 15 }; /* log2 of the slots of the set of sampled columns, at most half full */

/* Computes the share of sampled entries whose column another sampled entry has, too. A column found
 * for the second time counts twice, for both entries. If memory for the set is lacking, no column
 * is known to repeat, so that hubs is not proposed; "auto" takes another kernel or reports the
 * lack. */
void spmv_hubs_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    const uint32_t again = (uint32_t)1 << 31;
    const int n = s->size.columns; /* 0 except in a full sample for a GPU */
    uint32_t *set = n ? calloc((size_t)1 << SLOT_BITS, sizeof *set) : NULL; /* column + 1 */
    int64_t repeats = 0;
    (void)sum;
    for (int q = 0; set && q < n; q++) {
        const uint32_t next = (uint32_t)s->column[q] + 1;
        uint32_t at = (next * 0x9e3779b1u) >> (32 - SLOT_BITS);
        while (set[at] && (set[at] & ~again) != next) at = (at + 1) % (1u << SLOT_BITS);
        repeats += set[at] == 0 ? 0 : set[at] & again ? 1 : 2;
        set[at] = set[at] ? next | again : next;
    }
    free(set);
    f->repeats = sample_share((double)repeats, n);
}
