/* squares.h: transposition of squares of 4 x 4 elements in vector registers, and non-temporal
 * stores, for transposing vectors between columns and rows. */
#pragma once

#include "omp/isa.h"

#ifdef __x86_64__
/* Defines these functions for a type; four elements fill an AVX2 register or half of one. */
#define SQUARES(type) \
    typedef type four_##type \
        __attribute__((vector_size(4 * sizeof(type)), aligned(sizeof(type)), may_alias)); \
    AVX2_INLINE void transpose_square_##type(four_##type v[4]) { \
        const four_##type a = __builtin_shufflevector(v[0], v[1], 0, 4, 2, 6), \
                          b = __builtin_shufflevector(v[0], v[1], 1, 5, 3, 7), \
                          c = __builtin_shufflevector(v[2], v[3], 0, 4, 2, 6), \
                          d = __builtin_shufflevector(v[2], v[3], 1, 5, 3, 7); \
        v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5); \
        v[1] = __builtin_shufflevector(b, d, 0, 1, 4, 5); \
        v[2] = __builtin_shufflevector(a, c, 2, 3, 6, 7); \
        v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7); \
    } \
    /* Stores an aligned vector by a non-temporal store. */ \
    AVX2_INLINE void put_past_##type(type *to, four_##type v) { \
        if (sizeof v == sizeof(__m256i)) { \
            __m256i all; \
            memcpy(&all, &v, sizeof v); \
            _mm256_stream_si256((__m256i *)(void *)to, all); \
        } else { \
            __m128i all; \
            memcpy(&all, &v, sizeof v < sizeof all ? sizeof v : sizeof all); \
            _mm_stream_si128((__m128i *)(void *)to, all); \
        } \
    }
#endif
