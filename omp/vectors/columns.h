/* columns.h: multiplies by one or several vectors in columns. Up to COLUMNS vectors share a pass
 * over the chunks of the matrix, so that memory is read once for all. The including kernel defines
 * struct product (chunks.h) and product_of. */
#pragma once

#include "omp/chunks.h"

enum { COLUMNS = 8 }; /* most vectors multiplied together */

/* Returns the operands of vector j. */
static inline spmv_operands column_of(const spmv_operands *v, int64_t j) {
    spmv_operands one = *v;
    one.k = 1;
    one.x = (const real *)v->x + j * v->ldx;
    one.y = one.z = (real *)v->z + j * v->ldz;
    return one;
}

/* Returns the product of one vector. */
static product product_of(const spmv_plan *p, const spmv_operands *v);

/* The plan's scratch begins with its chunks. */
static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    for (int64_t j = 0; j < v->k; j += COLUMNS) {
        product some[COLUMNS];
        const product *m[COLUMNS];
        int n = 0;
        for (; n < COLUMNS && j + n < v->k; n++) {
            const spmv_operands one = column_of(v, j + n);
            some[n] = product_of(p, &one);
            m[n] = &some[n];
        }
        TRY(multiply_chunks(p, p->scratch, m, n));
    }
    return SPMV_OK;
}
