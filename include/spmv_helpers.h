/* spmv_helpers.h: functions for authors of kernels, formats and backends: failures, host memory,
 * division into equal parts, search for entries, and bits of values. */
#ifndef SPMV_HELPERS_H
#define SPMV_HELPERS_H

#include "spmv.h"
#include "spmv_variant.h"
#include <stdbool.h>
#include <string.h>

/* Stores the context's error text, which names object, value and what to do, and returns code. */
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
/* Returns host memory, 64-byte aligned, in huge pages if large, not cleared; NULL if out of
 * memory. */
SPMV_LINKAGE void *spmv_host_alloc(size_t bytes);
SPMV_LINKAGE void spmv_host_free(void *memory);
/* Like spmv_host_alloc, for memory that a matrix, store or plan keeps: from the caller's allocator
 * if the context has one. Only one thread at a time may call these two. */
SPMV_LINKAGE void *spmv_host_take(spmv_ctx *ctx, size_t bytes);
SPMV_LINKAGE void spmv_host_give(spmv_ctx *ctx, void *memory);

/* Returns the start of block `block` of nblocks nearly equal blocks of 0..n-1: sizes differ by at
 * most one, larger ones first. */
static inline int64_t spmv_split(int64_t n, int64_t nblocks, int64_t block) {
    int64_t size = n / nblocks, rest = n % nblocks;
    return block * size + (block < rest ? block : rest);
}

/* Returns the number of nonempty blocks of n items if `asked` are requested, at least 1. */
static inline int64_t spmv_blocks_of(int64_t asked, int64_t n) {
    return asked < n ? asked : n > 0 ? n : 1;
}

/* Returns the index of the first entry of row i, ascending, with column >= col, or the row's
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

/* Returns the index of entry (i, j), or -1 if there is none. */
static inline int64_t spmv_find_entry(const spmv_csr_view *A, int64_t i, int64_t j) {
    int64_t k = spmv_first_from(A, i, j);
    return k < A->row_ptr[i + 1] && A->col_idx[k] == j ? k : -1;
}

/* Returns the bits of a value, which distinguish 0 from -0, and one NaN from another. */
static inline uint64_t spmv_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Returns whether a float represents the value exactly, as a normal number or 0. Subnormal floats
 * are excluded, because flushing, if the caller has enabled it, would make them 0 in a product. */
static inline bool spmv_is_float(double value) {
    const uint64_t least = (uint64_t)(1023 - 126) << 52; /* bits of FLT_MIN as a double */
    const uint64_t bits = spmv_bits(value), magnitude = bits & INT64_MAX;
    const bool is_small = magnitude < least && magnitude != 0;
    return (spmv_bits((double)(float)value) == bits) & !is_small;
}

/* The finalizer of splitmix64: every bit affects every bit. */
static inline uint64_t spmv_mix(uint64_t h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9u;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebu;
    return h ^ (h >> 31);
}

#endif
