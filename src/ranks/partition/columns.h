/* columns.h: a set of columns of a matrix, numbered in ascending order. */
#ifndef SPMV_RANKS_COLUMNS_H
#define SPMV_RANKS_COLUMNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ranks_columns ranks_columns;
/* Makes an empty set for columns 0 to cols - 1; returns NULL if out of memory. */
ranks_columns *ranks_columns_new(int64_t cols);
void ranks_columns_free(ranks_columns *set);
/* Adds a column; adding it again has no effect. Returns false if out of memory. */
bool ranks_columns_add(ranks_columns *set, int64_t col);
/* Returns the number of columns in the set and prepares ranks_columns_number. */
int64_t ranks_columns_count(ranks_columns *set);
void ranks_columns_list(const ranks_columns *set, int64_t *out);
/* Returns the index, from 0, of a column of the set among all its columns. */
int32_t ranks_columns_number(const ranks_columns *set, int64_t col);

#endif
