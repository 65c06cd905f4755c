/* features_of.h: the features of a matrix, for the tests of features and of proposals. */
#ifndef SPMV_TEST_FEATURES_OF_H
#define SPMV_TEST_FEATURES_OF_H

#include "context.h"

/* Frees the entries. */
static inline spmv_features features_of_entries(entries *e, spmv_precision precision) {
    FREED(spmv_mat) *mat = matrix_of(ctx, e);
    spmv_features f;
    assert_int_equal(spmv_features_of(mat, precision, SPMV_SAMPLE_FULL, SPMV_FOR_BOTH, 2, &f),
                     SPMV_OK);
    entries_free(e);
    return f;
}

/* readers: SPMV_FOR_...; only the features that they use are computed. */
static inline spmv_features features_for(int readers, const char *source, const char *values) {
    spmv_load_opts opts = {.size = sizeof opts, .values = values};
    FREED(spmv_mat) *mat = NULL;
    spmv_features f;
    assert_int_equal(spmv_mat_load(ctx, source, &opts, &mat), SPMV_OK);
    assert_int_equal(spmv_features_of(mat, SPMV_F64, SPMV_SAMPLE_FULL, readers, 2, &f), SPMV_OK);
    return f;
}

static inline spmv_features features_of(const char *source, const char *values) {
    return features_for(SPMV_FOR_BOTH, source, values);
}

#define ASSERT_NEAR(value, expected, within) \
    do { \
        double value_ = (value), expected_ = (expected); \
        if (!(fabs(value_ - expected_) <= (within))) \
            fail_msg(#value " is %g, expected %g", value_, expected_); \
    } while (0)
#endif
