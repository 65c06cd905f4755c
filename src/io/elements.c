/* elements.c: converts the elements of a file's arrays, of any type and byte order, to the types of
 * the matrix. The same pass finds indices outside the matrix, values that are not finite, and
 * integers that no double holds. */
#include "held.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

spmv_status spmv_part_set(const spmv_bytes *in, spmv_part *part, const char *name,
                          spmv_deflated *packed, int64_t offset, int64_t n, spmv_element as) {
    const bool known = as.kind == 'f' ? as.bytes == 4 || as.bytes == 8
                       : as.kind == 'b'
                           ? as.bytes == 1
                           : (as.kind == 'i' || as.kind == 'u') &&
                                 (as.bytes == 1 || as.bytes == 2 || as.bytes == 4 || as.bytes == 8);
    *part = (spmv_part){.in = in, .packed = packed, .offset = offset, .n = n, .as = as};
    snprintf(part->name, sizeof part->name, "%s", name);
    if (as.kind == 'c')
        return spmv_refuse(in,
                           "%s of complex values, expected real, integer or pattern: complex "
                           "values are not supported",
                           name);
    if (as.kind == 'O')
        return spmv_refuse(
            in, "%s of Python objects, expected numbers: objects are never unpickled", name);
    if (!known)
        return spmv_refuse(in,
                           "%s of elements of another type, expected integers, Booleans or "
                           "floating-point numbers of 4 or 8 bytes",
                           name);
    if (!packed) return spmv_bytes_check(in, name, offset, n, as.bytes);
    if (n >= 0 && offset >= 0 && offset <= packed->unpacked &&
        n <= (packed->unpacked - offset) / as.bytes)
        return SPMV_OK;
    return spmv_refuse(in,
                       "%s of %" PRId64 " elements in %" PRId64 " unpacked bytes: is the file "
                       "cut short?",
                       name, n, packed->unpacked);
}

spmv_status spmv_part_raw(const spmv_part *part, int64_t first, int64_t n, void *to) {
    if (part->fetch) return part->fetch(part, first, n, to);
    const int64_t at = part->offset + first * part->as.bytes, bytes = n * part->as.bytes;
    if (part->packed) return spmv_deflated_read(part->packed, at, bytes, to);
    return spmv_bytes_read(part->in, part->name, at, bytes, to);
}

/* Loads an integer; all arguments but p are compile-time constants. */
static inline __attribute__((always_inline)) uint64_t load(const unsigned char *p, int bytes,
                                                           bool swapped, bool is_signed) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: memcpy(&one, p, 1); return is_signed ? (uint64_t)(int8_t)one : one;
    case 2:
        memcpy(&two, p, 2);
        if (swapped) two = __builtin_bswap16(two);
        return is_signed ? (uint64_t)(int16_t)two : two;
    case 4:
        memcpy(&four, p, 4);
        if (swapped) four = __builtin_bswap32(four);
        return is_signed ? (uint64_t)(int32_t)four : four;
    default: memcpy(&eight, p, 8); return swapped ? __builtin_bswap64(eight) : eight;
    }
}

/* Calls a loop with the element type as compile-time constants: one specialized loop per type. */
#define WIDTHS(call, swapped, is_signed) \
    (as.bytes == 1   ? call(1, swapped, is_signed) \
     : as.bytes == 2 ? call(2, swapped, is_signed) \
     : as.bytes == 4 ? call(4, swapped, is_signed) \
                     : call(8, swapped, is_signed))
#define BY_TYPE(call) \
    (as.swapped ? (as.kind == 'i' ? WIDTHS(call, true, true) : WIDTHS(call, true, false)) \
                : (as.kind == 'i' ? WIDTHS(call, false, true) : WIDTHS(call, false, false)))

static inline __attribute__((always_inline)) spmv_found to_offsets(const unsigned char *raw,
                                                                   int64_t n, int64_t *to,
                                                                   int bytes, bool swapped,
                                                                   bool is_signed) {
    for (int64_t k = 0; k < n; k++)
        to[k] = (int64_t)load(raw + k * bytes, bytes, swapped, is_signed);
    return (spmv_found){n, n};
}

/* Converts indices of at most 4 bytes; returns how many are outside the matrix. If raw and `to` are
 * the same memory the caller passes `to` twice, so that the compiler knows it and vectorizes. */
static inline __attribute__((always_inline)) uint32_t
to_narrow_indices(const unsigned char *raw, int64_t n, uint32_t base, uint32_t limit, int32_t *to,
                  int bytes, bool swapped, bool is_signed) {
    uint32_t outside = 0;
    for (int64_t k = 0; k < n; k++) {
        const uint32_t index = (uint32_t)load(raw + k * bytes, bytes, swapped, is_signed) - base;
        outside += index >= limit;
        to[k] = (int32_t)index;
    }
    return outside;
}

static inline __attribute__((always_inline)) spmv_found
to_indices(const unsigned char *raw, int64_t n, int64_t base, int64_t limit, int32_t *to, int bytes,
           bool swapped, bool is_signed) {
    const unsigned char *own = (const unsigned char *)to;
    uint64_t outside = 0;
    int64_t k = 0;
    if (bytes == 4 && raw == own)
        outside = to_narrow_indices(own, n, (uint32_t)base, (uint32_t)limit, to, bytes, swapped,
                                    is_signed);
    else if (bytes <= 4)
        outside = to_narrow_indices(raw, n, (uint32_t)base, (uint32_t)limit, to, bytes, swapped,
                                    is_signed);
    else
        for (; k < n; k++) {
            const uint64_t index =
                load(raw + k * bytes, bytes, swapped, is_signed) - (uint64_t)base;
            outside += index >= (uint64_t)limit;
            to[k] = (int32_t)index;
        }
    if (!outside) return (spmv_found){n, n};
    /* A conversion in place has overwritten raw. */
    for (k = 0; k < n; k++)
        if (raw == own ? (uint32_t)to[k] >= (uint64_t)limit
                       : load(raw + k * bytes, bytes, swapped, is_signed) - (uint64_t)base >=
                             (uint64_t)limit)
            break;
    return (spmv_found){k, n};
}

static inline __attribute__((always_inline)) spmv_found to_values(const unsigned char *raw,
                                                                  int64_t n, double *to, int bytes,
                                                                  bool swapped, bool is_signed) {
    spmv_found found = {n, n};
    for (int64_t k = 0; k < n; k++) {
        const uint64_t x = load(raw + k * bytes, bytes, swapped, is_signed);
        to[k] = is_signed ? (double)(int64_t)x : (double)x;
        if (bytes == 8 && found.rounded == n && fabs(to[k]) >= 0x1p53 &&
            (to[k] >= (is_signed ? 0x1p63 : 0x1p64) ||
             (is_signed ? (uint64_t)(int64_t)to[k] : (uint64_t)to[k]) != x))
            found.rounded = k;
    }
    return found;
}

/* Returns how many values are infinite or NaN. */
static inline __attribute__((always_inline)) int64_t
doubles_to_values(const unsigned char *raw, int64_t n, bool swapped, double *to) {
    int64_t odd = 0;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t x = load(raw + 8 * k, 8, swapped, false);
        memcpy(&to[k], &x, sizeof x);
        odd += (x >> 52 & 0x7ff) == 0x7ff;
    }
    return odd;
}

static int64_t singles_to_values(const unsigned char *raw, int64_t n, bool swapped, double *to) {
    int64_t odd = 0;
    for (int64_t k = 0; k < n; k++) {
        const uint32_t x = (uint32_t)load(raw + 4 * k, 4, swapped, false);
        float value;
        memcpy(&value, &x, sizeof x);
        to[k] = (double)value;
        odd += (x >> 23 & 0xff) == 0xff;
    }
    return odd;
}

static spmv_found floats_to_values(const unsigned char *raw, int64_t n, spmv_element as,
                                   double *to) {
    const unsigned char *own = (const unsigned char *)to;
    const int64_t odd = as.bytes == 4 ? singles_to_values(raw, n, as.swapped, to)
                        : raw != own  ? doubles_to_values(raw, n, as.swapped, to)
                        : as.swapped  ? doubles_to_values(own, n, true, to)
                                      : doubles_to_values(own, n, false, to);
    int64_t k = odd ? 0 : n;
    while (k < n && isfinite(to[k])) k++;
    return (spmv_found){k, n};
}

static spmv_found truths_to_values(const unsigned char *raw, int64_t n, int bytes, double *to) {
    for (int64_t k = 0; k < n; k++) to[k] = load(raw + k * bytes, bytes, false, false) != 0;
    return (spmv_found){n, n};
}

spmv_found spmv_convert(const spmv_wanted *w, const unsigned char *raw, int64_t first, int64_t n) {
    const spmv_element as = w->part->as;
    int64_t *offsets = w->role == SPMV_OFFSETS ? (int64_t *)w->to + first : NULL;
    int32_t *indices = w->role == SPMV_INDICES ? (int32_t *)w->to + first : NULL;
    double *values = w->role == SPMV_VALUES ? (double *)w->to + first : NULL;
#define OFFSETS_OF(bytes, swapped, is_signed) to_offsets(raw, n, offsets, bytes, swapped, is_signed)
#define INDICES_OF(bytes, swapped, is_signed) \
    to_indices(raw, n, w->base, w->limit, indices, bytes, swapped, is_signed)
#define VALUES_OF(bytes, swapped, is_signed) to_values(raw, n, values, bytes, swapped, is_signed)
    if (offsets) return BY_TYPE(OFFSETS_OF);
    if (indices) return BY_TYPE(INDICES_OF);
    if (as.kind == 'b') return truths_to_values(raw, n, as.bytes, values);
    return as.kind == 'f' ? floats_to_values(raw, n, as, values) : BY_TYPE(VALUES_OF);
}

spmv_status spmv_part_integers(const spmv_part *part, int64_t first, int64_t n, int64_t *to) {
    const spmv_element as = part->as;
    enum { FEW = 1024 };
    unsigned char raw[8 * FEW];
    for (int64_t k = 0; k < n; k += FEW) {
        const int64_t some = n - k < FEW ? n - k : FEW;
        int64_t *offsets = to + k;
        TRY(spmv_part_raw(part, part->same ? 0 : first + k, part->same ? 1 : some, raw));
#define INTEGERS_OF(bytes, swapped, is_signed) \
    to_offsets(raw, part->same ? 1 : some, offsets, bytes, swapped, is_signed)
        BY_TYPE(INTEGERS_OF);
        for (int64_t j = 1; part->same && j < some; j++) offsets[j] = *offsets;
    }
    return SPMV_OK;
}

/* Returns the name and the file offset of element k. */
spmv_element_name spmv_name_element(const spmv_part *part, int64_t k) {
    spmv_element_name name;
    const int64_t at = part->offset + (part->same ? 0 : k) * part->as.bytes;
    if (part->fetch)
        snprintf(name.text, sizeof name.text, "%s[%" PRId64 "]", part->name, part->before + k);
    else
        snprintf(name.text, sizeof name.text, "%s[%" PRId64 "] (byte %" PRId64 "%s)", part->name,
                 part->before + k, at, part->packed ? " unpacked" : "");
    return name;
}

spmv_status spmv_refuse_element(const spmv_part *part, int64_t k, int64_t is, int64_t least,
                                int64_t most) {
    return spmv_refuse(part->in, "%s that is %" PRId64 ", expected %" PRId64 " to %" PRId64,
                       spmv_name_element(part, k).text, is, least, most);
}
