/* side_by_side.h: writes the values of several rows interleaved; for formats of slices. */
#ifndef SPMV_SIDE_BY_SIDE_H
#define SPMV_SIDE_BY_SIDE_H

#include "spmv_format.h"
#include "spmv_helpers.h"

enum { ABREAST = 8 }; /* rows: as many pointers as fit registers */

/* Writes the first `length` values of n rows: value k of row r to to[k * stride + r]. Vectors are
 * built by loads, because gather instructions take several times as long on many CPUs. */
static inline void put_side_by_side(const double *const *from, int n, int64_t length,
                                    int64_t stride, real *to) {
    typedef double wide __attribute__((vector_size(ABREAST * sizeof(double))));
    typedef real narrow __attribute__((vector_size(ABREAST * sizeof(real))));
    for (; n >= ABREAST; n -= ABREAST, from += ABREAST, to += ABREAST) {
        const double *a = from[0], *b = from[1], *c = from[2], *d = from[3];
        const double *e = from[4], *f = from[5], *g = from[6], *h = from[7];
        for (int64_t k = 0; k < length; k++) {
            const wide values = {a[k], b[k], c[k], d[k], e[k], f[k], g[k], h[k]};
            const narrow out = __builtin_convertvector(values, narrow);
            memcpy(to + k * stride, &out, sizeof out);
        }
    }
    for (; n > 0; n--, from++, to++)
        for (int64_t k = 0; k < length; k++) to[k * stride] = (real)from[0][k];
}
#endif
