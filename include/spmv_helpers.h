/* spmv_helpers.h: what authors of kernels, formats and backends call: how to fail, memory of the
 * host, equal parts of a whole, a matrix's entries, and bits. */
#ifndef SPMV_HELPERS_H
#define SPMV_HELPERS_H

#include "spmv.h"
#include "spmv_variant.h"
#include <stdbool.h>
#include <string.h>

/* Writes the context's error text and returns code: say what, which value, and what to do. */
SPMV_LINKAGE spmv_status spmv_fail(spmv_ctx *ctx, spmv_status code, const char *format, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 3, 4)))
#endif
    ;
#define TRY(call) \
    do { \
        spmv_status try_status_ = (call); \
        if (try_status_ != SPMV_OK) return try_status_; \
    } while (0)
/* Returns host memory: 64-byte aligned, huge pages when large, not cleared; NULL when there is
 * none. */
SPMV_LINKAGE void *spmv_host_alloc(size_t bytes);
SPMV_LINKAGE void spmv_host_free(void *memory);
/* Returns the same for what a matrix, a store or a plan keeps: from the caller's allocator, if the
 * context has one. By one thread at a time. */
SPMV_LINKAGE void *spmv_host_take(spmv_ctx *ctx, size_t bytes);
SPMV_LINKAGE void spmv_host_give(spmv_ctx *ctx, void *memory);

/* Returns the first of the block-th of nblocks nearly equal parts of 0..n-1: sizes differ by at
 * most one, the larger first. */
static inline int64_t spmv_split(int64_t n, int64_t nblocks, int64_t block) {
    int64_t size = n / nblocks, rest = n % nblocks;
    return block * size + (block < rest ? block : rest);
}

/* Says how many blocks n are cut into where so many are asked for: none is empty, and one is
 * there. */
static inline int64_t spmv_blocks_of(int64_t asked, int64_t n) {
    return asked < n ? asked : n > 0 ? n : 1;
}

/* Returns the first entry of row i, whose columns ascend, in column at least col, or the row's
 * end. */
static inline int64_t spmv_first_from(const spmv_csr_view *A, int64_t i, int64_t col) {
    int64_t low = A->row_ptr[i], high = A->row_ptr[i + 1];
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (A->col_idx[middle] < col)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Returns the place of entry (i, j); -1: there is none. */
static inline int64_t spmv_find_entry(const spmv_csr_view *A, int64_t i, int64_t j) {
    int64_t k = spmv_first_from(A, i, j);
    return k < A->row_ptr[i + 1] && A->col_idx[k] == j ? k : -1;
}

/* Returns the bits by which values are told apart: 0 from -0, and one NaN from another. */
static inline uint64_t spmv_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Says whether a float holds the value, bit for bit, as a normal number. A subnormal one does not
 * count: products widen floats, and a caller's flush mode would make it 0. */
static inline bool spmv_is_float(double value) {
    const uint64_t least = (uint64_t)(1023 - 126) << 52; /* FLT_MIN, without the sign's bit */
    const uint64_t bits = spmv_bits(value), magnitude = bits & INT64_MAX;
    const bool is_small = magnitude < least && magnitude != 0;
    return (spmv_bits((double)(float)value) == bits) & !is_small;
}

/* splitmix64's finaliser: every bit affects every bit. */
static inline uint64_t spmv_mix(uint64_t h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

#endif
