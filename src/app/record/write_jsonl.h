/* write_jsonl.h: records as lines of JSON, written and read back. */
#ifndef SPMV_APP_WRITE_JSONL_H
#define SPMV_APP_WRITE_JSONL_H

#include "record.h"
#include "write_table.h"

/* Returns the number that is read back from a log to which x was written. */
double jsonl_number(double x);
/* Writes one line of JSON with its newline; the caller frees. */
spmv_status jsonl_format(fields table, const void *of, char **out);
/* Writes the line to file, unless it is NULL. Returns an exit code, after printing errors. */
int jsonl_print(FILE *file, fields table, const void *of);
/* Writes item k of a JSON array; json_end ends an array of n items. */
int json_item(FILE *file, fields table, const void *of, int k);
void json_end(FILE *file, int n);

/* Returns whether the line is one object and nothing else. */
bool jsonl_is_whole(const char *line, size_t length);

enum { STATUS_SIZE = 16 };
typedef struct cell_time { /* result of a cell of a sweep, for its summary */
    double median_s;       /* NaN: no ranked time */
    double q1_s, q3_s, flop_per_s;
    bool disturbed, unsettled;         /* its noise limit was not met */
    bool chosen;                       /* by auto */
    char configuration[CONFIGURATION]; /* kernel and settings that multiplied */
} cell_time;
typedef struct logged_cell {
    char cell[20], status[STATUS_SIZE];
    cell_time time;
} logged_cell;
/* Reads a line of a log; returns false if it is of no sweep. */
bool jsonl_sweep_cell(const char *line, logged_cell *out);
/* Makes a record of spmv run one of a sweep, in *out, to be freed, and copies its reason. Returns
 * false if it is no record, or without memory. */
bool jsonl_put_in_sweep(const char *line, int pass, const char *cell, char **out, char *reason,
                        size_t size);

#endif
