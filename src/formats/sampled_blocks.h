/* sampled_blocks.h: counts the blocks that would cover the entries of a sample. */
#ifndef SPMV_SAMPLED_BLOCKS_H
#define SPMV_SAMPLED_BLOCKS_H

#include "spmv_sample.h"

/* Returns the number of blocks of height x width that cover all entries of rows top..end_row - 1. A
 * block begins at the first column not yet covered or, if aligned, at a multiple of the width. */
static inline int64_t count_covering(const sample_slice *w, int top, int end_row, int height,
                                     int width, bool aligned) {
    const uint32_t none = UINT32_MAX;
    int64_t blocks = 0;
    for (; top < end_row; top += height) {
        const int32_t *next[4], *end[4];
        uint32_t head[4], least = none;
        for (int r = 0; r < height; r++) {
            const bool is_row = top + r < end_row && w->len[top + r];
            next[r] = w->col_idx + (is_row ? w->begin[top + r] : 0);
            end[r] = next[r] + (is_row ? w->len[top + r] : 0);
            head[r] = is_row ? (uint32_t)*next[r] : none;
            least = head[r] < least ? head[r] : least;
        }
        for (; least != none; blocks++) {
            const uint32_t from = aligned ? least / (uint32_t)width * (uint32_t)width : least;
            least = none;
            for (int r = 0; r < height; r++) {
                while (head[r] < from + (uint32_t)width)
                    head[r] = ++next[r] < end[r] ? (uint32_t)*next[r] : none;
                least = head[r] < least ? head[r] : least;
            }
        }
    }
    return blocks;
}
#endif
