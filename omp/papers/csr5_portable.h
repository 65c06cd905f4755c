/* csr5_portable.h: tiles of any shape in plain C: lane after lane, which is the order of rows. */
#pragma once

#include "csr5.h"

static uint32_t flags_of(const csr5 *A, int64_t t, int lane) {
    const csr5_shape s = A->shape; /* height is 32 at most: the lower word has all flags */
    return A->tile_desc[t * s.words * s.lanes + lane] & (uint32_t)((1ull << s.height) - 1);
}

static void tile_portable(const product *m, int64_t n) {
    const csr5 *A = m->A;
    const int lanes = A->shape.lanes, height = A->shape.height;
    const tile t = tile_at(A, n, (int64_t)lanes * height);
    int64_t segment = -1;
    real sum = 0;
    for (int l = 0; l < lanes; l++) {
        const uint32_t flags = flags_of(A, n, l);
        const real *value = A->values + t.k + l;
        const idx *col = A->col_idx + t.k + l;
        for (int j = 0; j < height; j++) {
            if (flags >> j & 1) {
                if (segment >= 0) put_segment(m, &t, segment, sum);
                segment++;
                sum = 0;
            }
            sum += value[j * lanes] * m->x[col[j * lanes]];
        }
    }
    put_segment(m, &t, segment, sum);
}

static void multiply_portable(const product *m, int64_t first, int64_t end) {
    for (int64_t t = first; t < end; t++) tile_portable(m, t);
}
