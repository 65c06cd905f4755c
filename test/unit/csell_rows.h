/* csell_rows.h: rows that both test_csell.c and test_csell_past.c multiply with: some fill slices,
 * a few are so long that they get a long part. */
#ifndef SPMV_TEST_CSELL_ROWS_H
#define SPMV_TEST_CSELL_ROWS_H

#include "instructions.h"

enum { SLICES = 5, ROWS = 32 * SLICES + 13, WIDE = 200000, LONG = 900 };

typedef double value_rule(int64_t i, int64_t j);

static inline double any_value(int64_t i, int64_t j) {
    return random_entry(5, (uint64_t)(i * WIDE + j));
}

/* Rows of a few entries, and a few rows for the long part, more than there are threads in one, none
 * in another slice. */
static inline void fill_some_long(entries *e, value_rule *value) {
    for (int64_t i = 0; i < e->rows; i++)
        for (int64_t j = 0; j < (i % 37 == 5 ? LONG : 4); j++)
            add_entry(e, i, (i * 3 + j * (i % 37 == 5 ? 1 : 200)) % e->cols, value(i, j));
}

#endif
