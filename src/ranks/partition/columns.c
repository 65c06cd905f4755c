/* columns.c: a set of columns as a bit map, allocated by blocks of BLOCK columns. */
#include "columns.h"
#include <stdlib.h>

enum { BLOCK = 1 << 16, WORDS = BLOCK / 64 };

typedef struct block {
    uint64_t mark[WORDS];
    int32_t before[WORDS]; /* prefix sums: columns of the set in all words before */
} block;

struct ranks_columns {
    int64_t nblocks;
    block *of[]; /* [nblocks]; NULL: the set has no column of the block */
};

ranks_columns *ranks_columns_new(int64_t cols) {
    const int64_t nblocks = cols / BLOCK + 1;
    ranks_columns *set = calloc(1, sizeof *set + (size_t)nblocks * sizeof(block *));
    if (set) set->nblocks = nblocks;
    return set;
}

void ranks_columns_free(ranks_columns *set) {
    for (int64_t b = 0; set && b < set->nblocks; b++) free(set->of[b]);
    free(set);
}

bool ranks_columns_add(ranks_columns *set, int64_t col) {
    block **at = &set->of[col / BLOCK];
    if (!*at) *at = calloc(1, sizeof **at);
    if (!*at) return false;
    const int64_t bit = col % BLOCK;
    (*at)->mark[bit / 64] |= (uint64_t)1 << (bit % 64);
    return true;
}

int64_t ranks_columns_count(ranks_columns *set) {
    int64_t n = 0;
    for (int64_t b = 0; b < set->nblocks; b++)
        for (int w = 0; set->of[b] && w < WORDS; w++) {
            set->of[b]->before[w] = (int32_t)n;
            n += __builtin_popcountll(set->of[b]->mark[w]);
        }
    return n;
}

void ranks_columns_list(const ranks_columns *set, int64_t *out) {
    for (int64_t b = 0; b < set->nblocks; b++)
        for (int w = 0; set->of[b] && w < WORDS; w++)
            for (uint64_t left = set->of[b]->mark[w]; left; left &= left - 1)
                *out++ = b * BLOCK + 64 * w + __builtin_ctzll(left);
}

int32_t ranks_columns_number(const ranks_columns *set, int64_t col) {
    const block *at = set->of[col / BLOCK];
    const int64_t bit = col % BLOCK;
    const uint64_t below = at->mark[bit / 64] & (((uint64_t)1 << (bit % 64)) - 1);
    return at->before[bit / 64] + __builtin_popcountll(below);
}
