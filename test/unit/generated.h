/* generated.h: what the tests of generated matrices share. */
#ifndef SPMV_TEST_GENERATED_H
#define SPMV_TEST_GENERATED_H

#include "generate/generate.h"
#include "context.h"

static inline spmv_coo make(const char *spec, uint64_t seed, const char *values, int threads) {
    spmv_coo A;
    spmv_status status = spmv_generate(ctx, spec, seed, values, threads, &A);
    if (status != SPMV_OK) print_error("gen:%s: %s\n", spec, spmv_ctx_error(ctx));
    assert_int_equal(status, SPMV_OK);
    return A;
}

static inline uint64_t hash_of(const spmv_coo *A) {
    uint64_t hash = (uint64_t)A->rows * 31 + (uint64_t)A->cols;
    for (int64_t k = 0; k < A->nnz; k++) {
        uint64_t bits = 0;
        if (A->values) memcpy(&bits, &A->values[k], sizeof bits);
        hash =
            (hash ^ bits ^ ((uint64_t)A->row[k] << 32 | (uint64_t)A->col[k])) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    return hash;
}

/* Inside, sorted by row and then column, none twice. */
static inline void assert_well_formed(const spmv_coo *A) {
    int64_t bad = 0;
    for (int64_t k = 0; k < A->nnz; k++) {
        bad += A->row[k] < 0 || A->row[k] >= A->rows || A->col[k] < 0 || A->col[k] >= A->cols;
        if (k > 0)
            bad += A->row[k] < A->row[k - 1] ||
                   (A->row[k] == A->row[k - 1] && A->col[k] <= A->col[k - 1]);
    }
    assert_int_equal(bad, 0);
    assert_int_equal(A->symmetry, SPMV_GENERAL);
}

/* Lengths of rows (or columns), to be freed. */
static inline int64_t *lengths(int64_t n, int64_t nnz, const int32_t *index) {
    int64_t *length = calloc((size_t)n + 1, sizeof *length);
    assert_non_null(length);
    for (int64_t k = 0; k < nnz; k++) length[index[k]]++;
    return length;
}

static inline int64_t greatest(const int64_t *length, int64_t n) {
    int64_t most = 0;
    for (int64_t i = 0; i < n; i++) most = length[i] > most ? length[i] : most;
    return most;
}

static inline int64_t least(const int64_t *length, int64_t n) {
    int64_t fewest = INT64_MAX;
    for (int64_t i = 0; i < n; i++) fewest = length[i] < fewest ? length[i] : fewest;
    return fewest;
}

static inline bool has_entry(const spmv_coo *A, int32_t row, int32_t col) {
    int64_t low = 0, high = A->nnz;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (A->row[middle] < row || (A->row[middle] == row && A->col[middle] < col))
            low = middle + 1;
        else
            high = middle;
    }
    return low < A->nnz && A->row[low] == row && A->col[low] == col;
}

static inline void assert_structure_symmetric(const spmv_coo *A) {
    int64_t missing = 0;
    for (int64_t k = 0; k < A->nnz; k++) missing += !has_entry(A, A->col[k], A->row[k]);
    assert_int_equal(missing, 0);
}

#endif
