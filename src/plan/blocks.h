/* blocks.h: the memory of k vectors as strided lines, and whether two such blocks overlap. */
#ifndef SPMV_PLAN_BLOCKS_H
#define SPMV_PLAN_BLOCKS_H

#include "spmv_kernel.h"

/* lines of contiguous elements: vectors (SPMV_COLUMNS) or rows of all vectors (SPMV_ROWS) */
typedef struct block {
    const void *at;
    int64_t lines, length, ld; /* length: elements per line; ld: elements from one line to the
                                  next */
} block;

static inline bool is_empty(const block *b) {
    return b->lines == 0 || b->length == 0;
}

/* elements from the first to the last, both included; the block must not be empty */
static inline size_t span(const block *b) {
    return (size_t)(b->lines - 1) * (size_t)b->ld + (size_t)b->length;
}

static inline bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Returns whether a line of b overlaps the bytes first to end - 1; b must not be empty, nor its ld
 * 0; width: bytes per element. */
static inline bool meets_line(const block *b, size_t width, uintptr_t first, uintptr_t end) {
    const uintptr_t at = (uintptr_t)b->at, step = (uintptr_t)b->ld * width;
    const uintptr_t length = (uintptr_t)b->length * width;
    /* last line that begins at or before first */
    uintptr_t line = first < at ? 0 : (first - at) / step;
    if (line >= (uintptr_t)b->lines) line = (uintptr_t)b->lines - 1;
    if (at + line * step < end && first < at + line * step + length) return true;
    /* the next line begins after first */
    return ++line < (uintptr_t)b->lines && at + line * step < end;
}

/* Returns whether two blocks have an element in common. Address ranges of two blocks may interleave
 * without a common element, so each line of a is compared with the lines of b. */
static inline bool meet(const block *a, const block *b, size_t width) {
    if (is_empty(a) || is_empty(b)) return false;
    if (!overlap(a->at, span(a) * width, b->at, span(b) * width)) return false;
    for (int64_t i = 0; i < a->lines; i++) {
        const uintptr_t first = (uintptr_t)a->at + (uintptr_t)(i * a->ld) * width;
        if (meets_line(b, width, first, first + (uintptr_t)a->length * width)) return true;
    }
    return false;
}

/* Returns the block of k vectors of length n. */
static inline block block_of(const spmv_operands *v, const void *at, int64_t n, int64_t ld) {
    return v->layout == SPMV_ROWS ? (block){at, n, v->k, ld} : (block){at, v->k, n, ld};
}

/* Returns the minimum leading dimension of vectors of length n, at least 1. */
static inline int64_t least_ld(const spmv_operands *v, int64_t n) {
    const int64_t least = v->layout == SPMV_ROWS ? v->k : n;
    return least > 0 ? least : 1;
}

/* Returns the caller's leading dimension, or the minimum if it is 0. */
static inline int64_t ld_of(const spmv_operands *v, int64_t n, int64_t given) {
    return given ? given : least_ld(v, n);
}

#endif
