/* value_set.h: encodes values as value_codes.h describes: collects the distinct values of a matrix,
 * compared by their bits, makes a codebook if they are few enough, and writes encoded values. */
#ifndef SPMV_VALUE_SET_H
#define SPMV_VALUE_SET_H

#include "value_codes.h"
#include <math.h>
#include <stdlib.h>

static inline uint64_t bits_of(real value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

enum { SET_SIZE = 1024, FEW = 4 };
typedef struct value_set { /* at most VALUE_CODEBOOK_SIZE bit patterns with their indices */
    bool used[SET_SIZE];
    uint8_t place[SET_SIZE];
    uint64_t bits[SET_SIZE], few[FEW]; /* few: the first ones; the last is repeated */
    int count;                         /* VALUE_CODEBOOK_SIZE + 1: more than fit */
} value_set;

static inline size_t slot_of(const value_set *set, uint64_t bits) {
    size_t at = (size_t)((bits ^ (bits >> 32)) * 0x9e3779b97f4a7c15u >> 54);
    while (set->used[at] && set->bits[at] != bits) at = (at + 1) % SET_SIZE;
    return at;
}

static inline void add_value(value_set *set, uint64_t bits) {
    size_t at = slot_of(set, bits);
    if (set->used[at] || set->count > VALUE_CODEBOOK_SIZE) return;
    for (int k = set->count++; k < FEW; k++) set->few[k] = bits;
    set->used[at] = true;
    set->bits[at] = bits;
}

static inline int compare_bits(const void *a, const void *b) {
    const uint64_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* Returns whether TOGETHER values are all among the first few; uses vectors. */
enum { TOGETHER = 32 }; /* with fewer, gcc unrolls the loop and then finds no vectors */
static inline bool are_known(const value_set *set, const double *values) {
    typedef __typeof__(__builtin_choose_expr(sizeof(real) == 4, (uint32_t)0, (uint64_t)0)) word;
    const word a = (word)set->few[0], b = (word)set->few[1], c = (word)set->few[2],
               d = (word)set->few[3];
    word others = 0;
    for (int k = 0; k < TOGETHER; k++) {
        const real value = (real)values[k];
        word bits; /* width of a real: bits_of() would prevent vectorization in f32 */
        memcpy(&bits, &value, sizeof bits);
        others |= (bits != a ? 1u : 0u) & (bits != b ? 1u : 0u) & (bits != c ? 1u : 0u) &
                  (bits != d ? 1u : 0u);
    }
    return !others;
}

static inline void add_values(value_set *set, const double *values, int64_t n) {
    for (int64_t k = 0; k < n && set->count <= VALUE_CODEBOOK_SIZE; k += TOGETHER) {
        int64_t end = n - k < TOGETHER ? n : k + TOGETHER;
        bool is_few = set->count && set->count <= FEW;
        if (is_few && n - k >= TOGETHER && are_known(set, values + k)) continue;
        for (int64_t e = k; e < end; e++) add_value(set, bits_of((real)values[e]));
    }
}

static inline void merge_values(const value_set *from, value_set *all) {
    for (int at = 0; at < SET_SIZE; at++)
        if (from->used[at]) add_value(all, from->bits[at]);
    if (from->count > VALUE_CODEBOOK_SIZE) all->count = from->count;
}

/* Collects the values of all rows of at most `cut` entries. Without a cut it takes several rows at
 * a time. If values are arbitrary, the first rows already exceed a codebook. */
static inline void collect_values(const spmv_csr_view *A, int64_t cut, int threads,
                                  value_set *all) {
    const int64_t rows = cut == INT64_MAX ? 256 : 1;
#pragma omp parallel num_threads(threads)
    {
        value_set mine = {.count = 0};
#pragma omp for schedule(static) nowait
        for (int64_t i = 0; i < A->rows; i += rows) {
            int64_t first = A->row_ptr[i],
                    end = A->row_ptr[i + rows < A->rows ? i + rows : A->rows];
            if (end - first <= cut) add_values(&mine, A->values + first, end - first);
        }
#pragma omp critical(value_set)
        merge_values(&mine, all);
    }
}

/* Makes the codebook of a set: values in the order of their bits as unsigned numbers, then zeros.
 * If there are too many values, the set becomes empty and the codebook all zeros. */
static inline void list_values(value_set *set, real *codebook) {
    uint64_t sorted[VALUE_CODEBOOK_SIZE] = {0};
    int n = 0;
    memset(codebook, 0, VALUE_CODEBOOK_SIZE * sizeof *codebook);
    if (set->count > VALUE_CODEBOOK_SIZE) *set = (value_set){.count = 0};
    for (int at = 0; at < SET_SIZE; at++)
        if (set->used[at]) sorted[n++] = set->bits[at];
    qsort(sorted, (size_t)n, sizeof *sorted, compare_bits);
    for (int k = 0; k < n; k++) {
        memcpy(codebook + k, sorted + k, sizeof *codebook);
        set->place[slot_of(set, sorted[k])] = (uint8_t)k;
    }
}

/* Makes the codebook of a matrix; empty unless codes. */
static inline void make_codebook(const spmv_csr_view *A, int64_t cut, bool codes, int threads,
                                 real *codebook, value_set *set) {
    *set = (value_set){.count = 0};
    if (codes) collect_values(A, cut, threads, set);
    list_values(set, codebook);
}

/* Returns whether VALUE_F32 represents these values (spmv_is_float). */
static inline bool are_floats(const double *values, int64_t n) {
    for (int64_t k = 0; k < n; k += TOGETHER) {
        uint64_t misfits = 0;
        for (int64_t e = k; e < n && e < k + TOGETHER; e++) misfits |= !spmv_is_float(values[e]);
        if (misfits) return false;
    }
    return true;
}

/* ---- one encoding for all values of a matrix ------------------------------------------------- */

static inline bool fit_float(const spmv_csr_view *A, int threads) {
    int64_t misfits = 0;
    if (sizeof(real) == sizeof(float)) return false; /* floats would save nothing */
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : misfits)
    for (int64_t i = 0; i < A->rows; i++)
        if (misfits == 0)
            misfits += !are_floats(A->values + A->row_ptr[i], A->row_ptr[i + 1] - A->row_ptr[i]);
    return misfits == 0;
}

/* Returns the encoding of the fewest bytes that holds every value, with its codebook and set. */
static inline int choose_code(const spmv_csr_view *A, bool codes, int threads, real *codebook,
                              value_set *set) {
    make_codebook(A, INT64_MAX, codes, threads, codebook, set);
    return set->count > 1                   ? VALUE_CODEBOOK
           : set->count == 1                ? VALUE_ONE
           : codes && fit_float(A, threads) ? VALUE_F32
                                            : VALUE_RAW;
}

/* Returns whether an encoding, with a dictionary of at most `most` values, holds every value; also
 * makes their codebook and set. */
static inline bool code_holds(const spmv_csr_view *A, int code, int most, int threads,
                              real *codebook, value_set *set) {
    bool is_listed = code == VALUE_CODEBOOK || code == VALUE_ONE;
    make_codebook(A, INT64_MAX, is_listed, threads, codebook, set);
    if (code == VALUE_ONE) most = 1;
    if (is_listed) return A->nnz == 0 || (set->count > 0 && set->count <= most);
    return code == VALUE_RAW || fit_float(A, threads);
}

static inline spmv_status check_code(spmv_ctx *ctx, const spmv_csr_view *A, int code, int most,
                                     int threads) {
    real codebook[VALUE_CODEBOOK_SIZE];
    value_set set;
    if (code_holds(A, code, most, threads, codebook, &set)) return SPMV_OK;
    if (code == VALUE_F32)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "values are stored as floats, which cannot be "
                         "these; " SPMV_SAY_REFILL);
    return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                     "values are places in a dictionary of %d, too few for these; " SPMV_SAY_REFILL,
                     code == VALUE_ONE ? 1 : most);
}

/* ---- writing values -------------------------------------------------------------------------- */

/* Returns 1 if the value overflows the precision. */
static inline __attribute__((always_inline)) int does_overflow(double value) {
    return sizeof(real) < sizeof(double) && isinf((real)value) && !isinf(value);
}

/* Writes a value; returns as does_overflow. In a loop `code` is best a constant. */
static inline __attribute__((always_inline)) int put_coded(uint8_t *to, const value_set *set,
                                                           double value, int code) {
    const real as_real = (real)value;
    const float as_float = (float)value;
    if (code == VALUE_RAW) memcpy(to, &as_real, sizeof as_real);
    if (code == VALUE_F32) memcpy(to, &as_float, sizeof as_float);
    if (code == VALUE_CODEBOOK) *to = set->place[slot_of(set, bits_of(as_real))];
    return does_overflow(value);
}
#endif
