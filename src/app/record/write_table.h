/* write_table.h: records as the terminal's table, and the texts of its cells. */
#ifndef SPMV_APP_WRITE_TABLE_H
#define SPMV_APP_WRITE_TABLE_H

#include "record.h"
#include <stdio.h>

/* Three or four significant digits with a unit: 52.4 µs, 1.34 ms; - if it is none. A
 * locale without µ has us. */
enum { TIME_TEXT = 16 };
void time_text(double s, char *out);
/* Writes how far a median's interval reaches: 1.3%, or >100%; - if it is none. */
enum { NOISE_TEXT = 16 };
void noise_text(double noise, char *out);
/* Writes a speed-up and the parallel efficiency: 1.85 (93%); - if a time is missing. */
enum { SPEEDUP_TEXT = 48 };
void speedup_text(double base_s, int base_threads, double s, int threads, char *out);
const char *status_text(const char *status); /* the status, in capitals if the result is wrong */
typedef struct table_row { /* what a row of the terminal's table needs beyond its record */
    const record *r;
    const char *alias;    /* short name, "auto" for what auto chose; or NULL */
    const record *fewest; /* the same kernel with the fewest threads */
} table_row;
void table_config(const record *r, char *out, size_t size); /* the column "config" */
/* Writes kernel and settings of a row; equal texts mean equal work: sell16_lanes threads=1
 * sigma=4096. */
enum { CONFIGURATION = 192 };
void configuration_text(const record *r, char *out, size_t size);
bool is_chosen(const record *r); /* whether auto chose the kernel */
/* Returns whether nearly all rows are tied with the fastest, so that no row gets the mark. */
bool table_is_blurred(const table_row *rows, int count);
/* stat: median, or min, max or mean of the samples, for a column beside the median's. color: the
 * best in bold. all: every column, however wide; else the least important are left out where the
 * terminal is too narrow. That all rows are in cache is not said in each of them. */
void table_write(FILE *file, const table_row *rows, int count, const char *stat, bool color,
                 bool all);

#endif
