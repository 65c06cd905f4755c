/* result.h: a row of the table, and what its record points to. */
#ifndef SPMV_RESULT_H
#define SPMV_RESULT_H

#include "app/record/record.h"
#include "app/run/timing/turns.h"

enum { MOST_FLAGS = 6, MOST_REASONS = 6 };
typedef struct result { /* a row of the table, with the memory that its record points to */
    record r; /* filled by describe_row when the row is final; before, its status is NULL */
    const char *alias;
    char source[512], kernel[64], library[64], grid[48], block[24], shape[24], schedule[64],
        reason[1024], why[1400], wisdom[24], hash[20], key[20], how[256];
    char flag[MOST_FLAGS][96];
    const char *flags[MOST_FLAGS], *slowed[MOST_REASONS];
    int nflags;
    bool waits;  /* its threads waited for cores */
    bool logged; /* its record was appended to the log */
    double *samples;
    double turns[MOST_TURNS];
    struct of_ranks *of_ranks; /* what the record of several points to; owned */
    bool finished;             /* false: the run was stopped before, and the record has no status */
} result;

#endif
