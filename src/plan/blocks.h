/* blocks.h: where the numbers of several vectors lie, and whether two such blocks overlap. */
#ifndef SPMV_PLAN_BLOCKS_H
#define SPMV_PLAN_BLOCKS_H

#include "spmv_kernel.h"

typedef struct block { /* lines of numbers: vectors, or rows of them */
    const void *at;
    int64_t lines, length, ld; /* numbers of a line; from one to the next */
} block;

static inline bool is_empty(const block *b) {
    return b->lines == 0 || b->length == 0;
}

static inline size_t span(const block *b) { /* in numbers, of a block that is not empty */
    return (size_t)(b->lines - 1) * (size_t)b->ld + (size_t)b->length;
}

static inline bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
    return (uintptr_t)a < (uintptr_t)b + b_bytes && (uintptr_t)b < (uintptr_t)a + a_bytes;
}

/* Says whether a line of b has a number in common with these bytes. */
static inline bool meets_line(const block *b, size_t width, uintptr_t first, uintptr_t end) {
    const uintptr_t at = (uintptr_t)b->at, step = (uintptr_t)b->ld * width;
    const uintptr_t length = (uintptr_t)b->length * width;
    uintptr_t line = step == 0 || first < at ? 0 : (first - at) / step; /* the last not behind it */
    if (line >= (uintptr_t)b->lines) line = (uintptr_t)b->lines - 1;
    if (at + line * step < end && first < at + line * step + length) return true;
    return ++line < (uintptr_t)b->lines && at + line * step < end; /* it begins behind first */
}

/* Says whether they have a number in common. Their lines may lie between each other: then each
 * line of one is looked for in the other. */
static inline bool meet(const block *a, const block *b, size_t width) {
    if (is_empty(a) || is_empty(b)) return false;
    if (!overlap(a->at, span(a) * width, b->at, span(b) * width)) return false;
    for (int64_t i = 0; i < a->lines; i++) {
        const uintptr_t first = (uintptr_t)a->at + (uintptr_t)(i * a->ld) * width;
        if (meets_line(b, width, first, first + (uintptr_t)a->length * width)) return true;
    }
    return false;
}

/* n numbers of each of k vectors. */
static inline block block_of(const spmv_operands *v, const void *at, int64_t n, int64_t ld) {
    return v->layout == SPMV_ROWS ? (block){at, n, v->k, ld} : (block){at, v->k, n, ld};
}

/* Returns the least leading dimension of n numbers of each vector. */
static inline int64_t least_ld(const spmv_operands *v, int64_t n) {
    const int64_t least = v->layout == SPMV_ROWS ? v->k : n;
    return least > 0 ? least : 1;
}

/* Returns the caller's leading dimension, or the least if it is 0. */
static inline int64_t ld_of(const spmv_operands *v, int64_t n, int64_t given) {
    return given ? given : least_ld(v, n);
}

#endif
