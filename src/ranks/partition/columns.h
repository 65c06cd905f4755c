/* columns.h: a set of columns of a matrix, numbered in their order. */
#ifndef SPMV_RANKS_COLUMNS_H
#define SPMV_RANKS_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ranks_columns ranks_columns;
/* Makes an empty set of some of so many columns; NULL: out of memory. */
ranks_columns *ranks_columns_new(int64_t cols);
void ranks_columns_free(ranks_columns *set);
/* Adds a column, if it is not there; false: out of memory. */
bool ranks_columns_add(ranks_columns *set, int64_t col);
/* Counts and numbers them, once all are there. */
int64_t ranks_columns_count(ranks_columns *set);
void ranks_columns_list(const ranks_columns *set, int64_t *out);
/* Returns the number, from 0, of a column that is there. */
int32_t ranks_columns_number(const ranks_columns *set, int64_t col);

#endif
