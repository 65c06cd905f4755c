/* value_codes.h: how a format stores the values of a whole matrix in the fewest bytes: as reals; as
 * floats, if they hold every value (spmv_is_float); as places, a byte each, in a dictionary of at
 * most VALUE_CODEBOOK_SIZE values (CSR-VI: Kourtis, Goumas, Koziris, CF'08); or not at all, if they
 * are one value. Formats and kernels on the host share this decoder; value_set.h is the encoder. */
#ifndef SPMV_FORMATS_VALUE_CODES_H
#define SPMV_FORMATS_VALUE_CODES_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { VALUE_CODEBOOK_SIZE = 256 }; /* values in a dictionary, at most; csell has one, too */

#define SPMV_SAY_REFILL "a plan made with spmv_plan_opts.refill stores them as they are"

/* Says what is stored: reals; floats; uint8_t, places in the codebook; nothing, as all values are
 * codebook[0]. */
enum value_code { VALUE_RAW, VALUE_F32, VALUE_CODEBOOK, VALUE_ONE };
/* Returns the same in words, as plans tell their users; NULL: as they are. */
static inline const char *code_word(int code) {
    return code == VALUE_ONE        ? "constant"
           : code == VALUE_CODEBOOK ? "dictionary"
           : code == VALUE_F32      ? "floats"
                                    : NULL;
}
/* Returns the bytes of a value. */
static inline __attribute__((always_inline)) int coded_bytes(int code) {
    return code == VALUE_RAW   ? (int)sizeof(real)
           : code == VALUE_F32 ? (int)sizeof(float)
           : code == VALUE_ONE ? 0
                               : 1;
}
/* Returns the value of a slot; the codebook is read with the last two encodings only. */
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
