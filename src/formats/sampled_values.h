/* sampled_values.h: what a sample says about the codes of values (value_codes.h): whether they fit
 * a dictionary, and whether floats hold them. */
#ifndef SPMV_SAMPLED_VALUES_H
#define SPMV_SAMPLED_VALUES_H

#include "spmv_sample.h"

enum { SAMPLED_SLOTS = 1 << 10 };
typedef struct sampled_values {    /* a hash set with open addressing; at most a quarter full */
    uint64_t value[SAMPLED_SLOTS]; /* bits of a double, where used */
    bool used[SAMPLED_SLOTS];
    int count; /* of the slots used: distinct values so far */
} sampled_values;

/* Adds a value, by its bits, unless it is there; count stays that of the distinct ones. */
static inline void add_distinct(sampled_values *set, uint64_t value) {
    uint64_t at = spmv_mix(value) % SAMPLED_SLOTS;
    while (set->used[at] && set->value[at] != value) at = (at + 1) % SAMPLED_SLOTS;
    if (set->used[at]) return;
    set->used[at] = true;
    set->value[at] = value;
    set->count++;
}

/* The number of distinct values in all slices; SPMV_FEW_VALUES + 1: more. */
static inline int count_distinct(const spmv_sample *s) {
    sampled_values set = {.count = 0};
    uint64_t last = 0, bits;
    for (int n = 0; n < s->size.taken; n++)
        for (int r = 0; r < s->slice[n].rows; r++)
            for (int k = 0; k < s->slice[n].len[r]; k++, last = bits) {
                bits = spmv_bits(s->slice[n].values[s->slice[n].begin[r] + k]);
                if (bits == last && set.count) continue;
                add_distinct(&set, bits);
                if (set.count > SPMV_FEW_VALUES) return set.count;
            }
    return set.count;
}

/* The number of entries of a slice that survive the round trip through a float. */
static inline int count_exact(const sample_slice *w) {
    int exact = 0;
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) {
            const double value = w->values[w->begin[r] + k];
            exact += spmv_bits((double)(float)value) == spmv_bits(value);
        }
    return exact;
}
#endif
