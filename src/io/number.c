/* number.c: converts decimal text to the nearest double. A number is w 10^q with a 64-bit integer
 * w. If w and 10^|q| are small, one operation in double arithmetic is exact (Clinger, PLDI'90);
 * otherwise w times the leading 128 bits of 5^q nearly always decides the rounding (Lemire, "Number
 * parsing at a gigabyte per second", 2021). The remaining numbers, about one in 10^9 that a program
 * printed, and numbers of more than 19 significant digits go to strtod. */
#include "io.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "spmv_scan_8_digits takes the first character for the lowest");
/* FLT_EVAL_METHOD is 16 on CPUs that compute in _Float16 (AVX512-FP16); double arithmetic is in
 * double there as well. */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16,
               "the exact cases need double arithmetic without excess precision");

__extension__ typedef unsigned __int128 uint128;

/* ---- powers of five ------------------------------------------------------------------------- */

enum { LIMBS = 36 }; /* 1152 bits: 5^308 has 716, and 2^1151 / 5^342 still has 357 */

/* Returns the leading 128 bits of a big number, whose lowest limb is limb 0. */
static void leading_bits(const uint32_t limb[LIMBS], uint64_t bits[2]) {
    int top = LIMBS - 1;
    while (limb[top] == 0) top--;
    uint32_t part[5]; /* the leading 160 bits, padded with zeros */
    for (int k = 0; k < 5; k++) part[k] = top >= k ? limb[top - k] : 0;
    int shift = __builtin_clz(part[0]);
    for (int half = 0; half < 2; half++) {
        uint64_t high = (uint64_t)part[2 * half] << 32 | part[2 * half + 1];
        bits[half] = shift ? high << shift | part[2 * half + 2] >> (32 - shift) : high;
    }
}

/* Positive powers of 5 by repeated multiplication, truncated. Negative powers by repeated division
 * of 2^1151: nested floors equal the floor of the whole quotient, so its leading bits are exact.
 * Lemire's proof requires reciprocals down to 5^-27 rounded up, and smaller ones truncated. */
void spmv_powers_init(spmv_powers *powers) {
    uint32_t limb[LIMBS] = {1};
    for (int q = 0; q <= SPMV_MAX_Q; q++) {
        leading_bits(limb, powers->five[q - SPMV_MIN_Q]);
        uint64_t carry = 0;
        for (int k = 0; k < LIMBS; k++) {
            carry += 5 * (uint64_t)limb[k];
            limb[k] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    memset(limb, 0, sizeof limb);
    limb[LIMBS - 1] = 1u << 31;
    for (int q = -1; q >= SPMV_MIN_Q; q--) {
        uint64_t rest = 0;
        for (int k = LIMBS - 1; k >= 0; k--) {
            rest = rest << 32 | limb[k];
            limb[k] = (uint32_t)(rest / 5);
            rest %= 5;
        }
        uint64_t *bits = powers->five[q - SPMV_MIN_Q];
        leading_bits(limb, bits);
        if (q >= -27 && ++bits[1] == 0) bits[0]++;
    }
}

/* ---- w 10^q --------------------------------------------------------------------------------- */

static double from_bits(uint64_t mantissa, int64_t biased_exponent) {
    uint64_t bits = mantissa | (uint64_t)biased_exponent << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Returns floor(log2(10^q)) for every q that a double can have. Divides, since C does not define
 * the shift of a negative number. */
static int64_t floor_log2_10(int64_t q) {
    int64_t scaled = (152170 + 65536) * q;
    return scaled >= 0 ? scaled / 65536 : -((65535 - scaled) / 65536);
}

/* Rounds w 10^q, w > 0, to the nearest double; false if 128 bits of 5^q do not decide the
 * rounding. */
static bool round_product(const spmv_powers *powers, uint64_t w, int64_t q, double *out) {
    const uint64_t *five = powers->five[q - SPMV_MIN_Q];
    int leading_zeros = __builtin_clzll(w);
    w <<= leading_zeros;
    uint128 product = (uint128)w * five[0];
    uint64_t high = (uint64_t)(product >> 64), low = (uint64_t)product;
    /* 53 bits, one for rounding and a leading zero leave 9: if all are set, the lower half of 5^q
     * may carry into them.
     */
    if ((high & 0x1ff) == 0x1ff) {
        low += (uint64_t)((uint128)w * five[1] >> 64);
        high += low < (uint64_t)product;
    }
    if (low == UINT64_MAX && (q < -27 || q > 55))
        return false; /* outside, 5^q or its inverse is not exact */

    int top = (int)(high >> 63);
    uint64_t mantissa = high >> (top + 9); /* 54 bits: one more than a double has */
    /* floor(q log2(10)) = floor(q log2(5)) + q, by an integer fraction good for |q| < 400 */
    int64_t exponent = floor_log2_10(q) + 63 + top - leading_zeros + 1023;
    if (exponent <= 0) { /* denormal: fewer bits, and no tie can fall here */
        if (exponent <= -63) {
            *out = 0;
            return true;
        }
        mantissa >>= 1 - exponent;
        mantissa = (mantissa + (mantissa & 1)) >> 1;
        *out = from_bits(mantissa,
                         0); /* 2^52 after rounding up is by itself the smallest normal number */
        return true;
    }
    /* A tie is possible only where 5^q fits 64 bits with w: round to even instead of up. */
    if (low <= 1 && q >= -4 && q <= 23 && (mantissa & 3) == 1 && mantissa << (top + 9) == high)
        mantissa--;
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    if (mantissa >> 53) {
        mantissa >>= 1;
        exponent++;
    }
    *out = exponent >= 2047 ? (double)INFINITY : from_bits(mantissa & ((1ull << 52) - 1), exponent);
    return true;
}

/* Converts the digits from `text` on, with or without a point, times 10^exponent, by strtod.
 * Doubles and their midpoints have at most 768 significant digits: further digits are replaced by
 * one, which is 0 if all of them are. The copy has no point, so that strtod reads it alike in every
 * locale. */
static double round_long(const char *text, int64_t exponent) {
    enum { KEPT = 800 };
    char digits[KEPT + 32];
    int n = 0;
    bool point = false, more = false;
    for (const char *p = text; *p == '.' ? !point : *p >= '0' && *p <= '9'; p++) {
        if (*p == '.') {
            point = true;
        } else if (n == KEPT || (n == 0 && *p == '0')) {
            more |= *p != '0';
            exponent += n == KEPT && !point;
            exponent -= n == 0 && point;
        } else {
            digits[n++] = *p;
            exponent -= point;
        }
    }
    if (more) {
        digits[n++] = '1';
        exponent--;
    }
    if (n == 0 || exponent + n < -330)
        return 0; /* the value is below 10^(exponent + n), and at least a tenth of it */
    if (exponent + n > 310) return (double)INFINITY;
    snprintf(digits + n, sizeof digits - (size_t)n, "e%d", (int)exponent);
    return strtod(digits, NULL);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Appends the run of digits at p to *w, modulo 2^64. */
static inline const char *append_digits(const char *p, uint64_t *w) {
    static const uint64_t ten[9] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};
    for (;;) {
        uint64_t part;
        int n = spmv_scan_8_digits(p, &part);
        *w = *w * ten[n] + part;
        p += n;
        if (n < 8) return p;
    }
}

/* Scans the digits of an exponent, which saturates beyond 10^15, since no text is that long. NULL:
 * there are no digits. */
static const char *scan_exponent(const char *p, int64_t *exponent) {
    bool negative = *p == '-';
    int64_t value = 0;
    p += negative || *p == '+';
    const char *first = p;
    for (; *p >= '0' && *p <= '9'; p++)
        if (value < 1000000000000000) value = 10 * value + (*p - '0');
    *exponent += negative ? -value : value;
    return p == first ? NULL : p;
}

bool spmv_begins_with(const char *text, const char *word) {
    while (*word && (*word == *text || (*word >= 'a' && *word <= 'z' && *word == (*text | 0x20))))
        word++, text++;
    return *word == 0;
}

static const char *scan_word(const char *p, double *out) {
    static const struct {
        const char *word;
        double value;
        /* longest spelling first */
    } known[] = {{"infinity", INFINITY}, {"inf", INFINITY}, {"nan", NAN}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (spmv_begins_with(p, known[k].word)) {
            *out = known[k].value;
            return p + strlen(known[k].word);
        }
    return NULL;
}

/* Scans an exponent. fortran: accepts as well the letters q (Fortran's quadruple precision) and f
 * (Julia's Float32), Mathematica's *^, and, behind a point, a sign without a letter. */
static inline __attribute__((always_inline)) const char *
scan_number(const spmv_powers *powers, const char *text, double *out, bool fortran) {
    static const double exact_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                       1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *p = text;
    bool negative = *p == '-';
    p += negative | (*p == '+'); /* no branch: signs in a matrix are random */
    const char *digits = p;
    uint64_t w = 0;
    int64_t q = 0, exponent = 0, ndigits;
    double value;
    bool point;

    p = append_digits(p, &w);
    ndigits = p - digits;
    point = *p == '.';
    if (point) {
        const char *fraction = ++p;
        p = append_digits(p, &w);
        q = fraction - p;
        ndigits -= q;
    }
    if (ndigits == 0) {
        p = p == digits ? scan_word(p, &value) : NULL;
        if (p) *out = negative ? -value : value;
        return p;
    }
    int letters = (*p | 0x20) == 'e' || (*p | 0x20) == 'd';
    if (fortran && ((*p | 0x20) == 'q' || (*p | 0x20) == 'f')) letters = 1;
    if (fortran && *p == '*' && p[1] == '^') letters = 2;
    if (letters || (fortran && point && (*p == '+' || *p == '-'))) {
        p = scan_exponent(p + letters, &exponent);
        if (!p) return NULL;
        q += exponent;
    }

    if (ndigits > 19) /* leading zeros are not digits of w */
        for (const char *z = digits; *z == '0' || *z == '.'; z++) ndigits -= *z == '0';
    if (ndigits > 19) {
        value = round_long(digits, exponent);
    } else if (q >= -22 && q <= 22 &&
               w <= 1ull << 53) { /* w and 10^|q| are exact, so one operation rounds once */
        value = q < 0 ? (double)w / exact_ten[-q] : (double)w * exact_ten[q];
    } else if (w == 0 || q < SPMV_MIN_Q) {
        value = 0;
    } else if (q > SPMV_MAX_Q) {
        value = (double)INFINITY;
    } else if (!round_product(powers, w, q, &value)) {
        value = round_long(digits, exponent);
    }
    *out = negative ? -value : value;
    return p;
}

const char *spmv_scan_double(const spmv_powers *powers, const char *text, double *out) {
    return scan_number(powers, text, out, false);
}

const char *spmv_scan_fortran(const spmv_powers *powers, const char *text, double *out) {
    return scan_number(powers, text, out, true);
}
