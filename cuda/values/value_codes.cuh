/* value_codes.cuh: how a product on the GPU reads encoded values: the stored types and the decoder,
 * as formats/value_codes.h has them for the host. value_set.cuh encodes values. */
#pragma once

#include "cuda/device.cuh"
#include "formats/value_codes.h"

/* In f32 VALUE_F32 would be the value itself: no store has that code, and no kernel is compiled. */
enum { FLOATS = sizeof(real) > sizeof(float) ? VALUE_F32 : VALUE_RAW };

/* The type of one stored value and of two, and the type into which one is loaded. */
template <int CODE> struct stored {
    typedef uint8_t one;
    typedef uchar2 two;
    typedef unsigned loaded;
};
template <> struct stored<VALUE_F32> {
    typedef float one;
    typedef float2 two;
    typedef float loaded;
};
template <class T> struct two_of { typedef float2 type; };
template <> struct two_of<double> { typedef double2 type; };
template <> struct stored<VALUE_RAW> {
    typedef real one;
    typedef two_of<real>::type two;
    typedef real loaded;
};

static __host__ __device__ constexpr int stored_bytes(int code) {
    return code == VALUE_RAW   ? (int)sizeof(real)
           : code == VALUE_F32 ? (int)sizeof(float)
           : code == VALUE_ONE ? 0
                               : 1;
}

static __device__ __forceinline__ real codebook_entry(const real *codebook, unsigned k) {
    return codebook[k];
}

/* Reads entry k of a codebook at this address in shared memory: with a pointer the compiler would
 * compute the address for every value. */
static __device__ __forceinline__ double codebook_entry(unsigned codebook, unsigned k, double) {
    double entry;
    asm("ld.shared.f64 %0, [%1];" : "=d"(entry) : "r"(codebook + k * 8));
    return entry;
}
static __device__ __forceinline__ float codebook_entry(unsigned codebook, unsigned k, float) {
    float entry;
    asm("ld.shared.f32 %0, [%1];" : "=f"(entry) : "r"(codebook + k * 4));
    return entry;
}
static __device__ __forceinline__ real codebook_entry(unsigned codebook, unsigned k) {
    return codebook_entry(codebook, k, real());
}

/* Returns the value of a loaded code. Only VALUE_CODEBOOK and VALUE_ONE read the codebook, which is
 * a pointer or an address in shared memory. */
template <int CODE, class T, class CODEBOOK>
static __device__ __forceinline__ real decoded(T loaded, CODEBOOK codebook) {
    return CODE == VALUE_CODEBOOK ? codebook_entry(codebook, (unsigned)loaded)
           : CODE == VALUE_ONE    ? codebook_entry(codebook, 0u)
                                  : (real)loaded;
}
