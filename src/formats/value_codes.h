/* value_codes.h: how a format stores the values of a whole matrix in the fewest bytes: as reals; as
 * floats, if they hold every value (spmv_is_float); as indices, one byte each, into a dictionary of
 * at most VALUE_CODEBOOK_SIZE values (CSR-VI: Kourtis, Goumas, Koziris, CF'08); or not at all, if
 * all values are equal. Formats and kernels on the host share this decoder; value_set.h encodes. */
#ifndef SPMV_FORMATS_VALUE_CODES_H
#define SPMV_FORMATS_VALUE_CODES_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { VALUE_CODEBOOK_SIZE = 256 }; /* values in a dictionary, at most; also of csell */

#define SPMV_SAY_REFILL "a plan made with spmv_plan_opts.refill stores them as they are"

/* Encodings of values: reals; floats; uint8_t indices into codebook; nothing: all values are
 * codebook[0]. */
enum value_code { VALUE_RAW, VALUE_F32, VALUE_CODEBOOK, VALUE_ONE };
/* Returns the word by which plans report a code; NULL: stored as reals. */
static inline const char *code_word(int code) {
    return code == VALUE_ONE        ? "constant"
           : code == VALUE_CODEBOOK ? "dictionary"
           : code == VALUE_F32      ? "floats"
                                    : NULL;
}
/* Returns the bytes of a stored value. */
static inline __attribute__((always_inline)) int coded_bytes(int code) {
    return code == VALUE_RAW   ? (int)sizeof(real)
           : code == VALUE_F32 ? (int)sizeof(float)
           : code == VALUE_ONE ? 0
                               : 1;
}
/* Returns the value of a slot; only VALUE_CODEBOOK and VALUE_ONE read the codebook. */
static inline __attribute__((always_inline)) real
coded_value(const uint8_t *values, const real *codebook, int64_t slot, int code) {
    real raw;
    float narrowed;
    if (code == VALUE_ONE) return codebook[0];
    if (code == VALUE_CODEBOOK) return codebook[values[slot]];
    if (code == VALUE_F32) {
        memcpy(&narrowed, values + slot * (int64_t)sizeof narrowed, sizeof narrowed);
        return (real)narrowed;
    }
    memcpy(&raw, values + slot * (int64_t)sizeof raw, sizeof raw);
    return raw;
}
#endif
