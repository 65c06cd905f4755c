/* columns.h: a set of columns of a matrix, numbered in their order. */
#ifndef SPMV_MANY_COLUMNS_H
#define SPMV_MANY_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct many_columns many_columns;
/* Makes an empty set of some of so many columns; NULL: out of memory. */
many_columns *many_columns_new(int64_t cols);
void many_columns_free(many_columns *set);
/* Adds a column, if it is not there; false: out of memory. */
bool many_columns_add(many_columns *set, int64_t col);
/* Counts and numbers them, once all are there. */
int64_t many_columns_count(many_columns *set);
void many_columns_list(const many_columns *set, int64_t *out);
/* Returns the number, from 0, of a column that is there. */
int32_t many_columns_number(const many_columns *set, int64_t col);

#endif
