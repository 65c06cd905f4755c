/* packed.cuh: how the packed format's codes are read on a GPU. */
#ifndef SPMV_CUDA_PACKED_CUH
#define SPMV_CUDA_PACKED_CUH

#include "device.cuh"
#include <stdlib.h>

static __host__ __device__ constexpr int packed_column_size(int code) {
    return code == PACKED_DIAGONAL    ? 0
           : code == PACKED_COLUMN_8  ? 1
           : code == PACKED_COLUMN_16 ? 2
                                      : 4;
}

/* Of an entry; of a step for PACKED_VALUE_STEP. */
static __host__ __device__ constexpr int packed_value_size(int code) {
    return code == PACKED_VALUE_TABLE ? 1
           : code == PACKED_VALUE_F32 ? (int)sizeof(float)
                                      : (int)sizeof(real);
}

/* The matrix is read once and leaves the cache first, so that x stays. */
template <int COLUMN>
static __device__ __forceinline__ idx packed_column(const uint8_t *columns, int at) {
    if (COLUMN == PACKED_COLUMN_8) return __ldcs(columns + at);
    if (COLUMN == PACKED_COLUMN_16) return __ldcs((const uint16_t *)columns + at);
    return (idx)__ldcs((const uint32_t *)columns + at);
}

/* A value as stored: decoded only when it is used, or the load would be waited for. */
template <int VALUE> struct packed_raw {
    real raw;
    __device__ __forceinline__ void none() {
        raw = 0;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = VALUE == PACKED_VALUE_STEP ? __ldg((const real *)values + at)
                                         : __ldcs((const real *)values + at);
    }
    __device__ __forceinline__ real value(const real *) const {
        return raw;
    }
};
template <> struct packed_raw<PACKED_VALUE_F32> {
    float raw;
    __device__ __forceinline__ void none() {
        raw = 0;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = __ldcs((const float *)values + at);
    }
    __device__ __forceinline__ real value(const real *) const {
        return (real)raw;
    }
};
template <> struct packed_raw<PACKED_VALUE_TABLE> {
    uint32_t raw;
    __device__ __forceinline__ void none() {
        raw = PACKED_TABLE_SIZE;
    }
    __device__ __forceinline__ void load(const uint8_t *values, int at) {
        raw = __ldcs(values + at);
    }
    __device__ __forceinline__ real value(const real *table) const {
        return table[raw];
    }
};

/* The same where the codes are known at run time only. */
typedef struct packed_codes {
    uint8_t column, value, run;
    bool full;
} packed_codes;

static __device__ __forceinline__ idx packed_column(packed_codes c, const uint8_t *columns, int at,
                                                    idx i) {
    switch (c.column) {
    case PACKED_DIAGONAL: return i;
    case PACKED_COLUMN_8: return packed_column<PACKED_COLUMN_8>(columns, at);
    case PACKED_COLUMN_16: return packed_column<PACKED_COLUMN_16>(columns, at);
    default: return packed_column<PACKED_COLUMN_32>(columns, at);
    }
}

static __device__ __forceinline__ real packed_value(packed_codes c, const uint8_t *values, int at,
                                                    const real *table) {
    switch (c.value) {
    case PACKED_VALUE_F32: return (real)__ldcs((const float *)values + at);
    case PACKED_VALUE_TABLE: return table[__ldcs(values + at)];
    default: return __ldcs((const real *)values + at);
    }
}

/* In two loads of 16 bytes. */
static __device__ __forceinline__ packed_slice packed_head(const packed_slice *slice, int64_t s) {
    union {
        int4 loaded[2];
        packed_slice head;
    } u;
    u.loaded[0] = __ldg((const int4 *)(slice + s));
    u.loaded[1] = __ldg((const int4 *)(slice + s) + 1);
    return u.head;
}
#endif
