/* describe.h: a candidate, which is timed, and the record that is made of it. */
#ifndef SPMV_DESCRIBE_H
#define SPMV_DESCRIBE_H

#include "app/options/options.h"
#include "app/record/record.h"
#include "app/run/cells.h"
#include "app/run/inputs.h"
#include "app/run/session.h"
#include "app/run/timing/noise.h"
#include "app/run/timing/turns.h"
#include "app/run/verify.h"
#include "result.h"

const char *base_name(const char *path); /* without its folders; gen: as it is */
/* thermal2 of dir/thermal2.mtx.gz; gen:mesh:100 few:8 with values; spelt */
void matrix_name(const char *source, const char *values, char *out, size_t size);
const char *symmetry_name(spmv_symmetry symmetry);
const char *field_name(spmv_field field);
/* Returns it as typed, what the environment said first, paths cut to their last part. NULL: out of
 * memory; free each of *count, and all. */
char **command_line(const options *o, int *count);

typedef struct surroundings { /* of a measurement, before or after it */
    double load;              /* average of a minute; NaN: unknown */
    bool known;               /* device is */
    spmv_device_state device;
} surroundings;

typedef struct candidate { /* a cell, and what came of it: all that its record is made of */
    int cell;
    sampling how;
    spmv_plan *plan; /* shared with its cells in other states of the caches; NULL: none was made */
    problem p;
    timing t;
    turns turns;
    noise noise;       /* of its turns */
    const char *stage; /* of the last check: first, later or last; NULL: there was no product yet */
    double looked_s;   /* seconds of looks between samples */
    bool wavers;       /* one of them saw other bits than before, of a deterministic kernel */
    verdict check;     /* its rows; the largest ratio of all checks */
    surroundings before, after; /* of its rounds */
    bool shown;                 /* as it is so far */
} candidate;

/* Returns how many threads a product of the cell may have. */
int threads_of(const session *run, const cell *c);
/* Returns a parameter as the cell sets it or by default; -1: its kernel takes none. */
int64_t setting_of(const session *run, const cell *c, spmv_param_id id);
/* Makes the record of a final row, all but its ranks (rank_results). status: a word of the log; a
 * row that is not "ok" has no times. e's plan may be freed afterwards; its samples are taken over
 * by out, to be freed with it. */
void describe_row(const session *run, inputs *in, candidate *e, const char *status, result *out);
/* Its parts that ranks use, too. */
void describe_timing(const options *o, result *out, timing *t, const problem *p);
void describe_rates(record *r); /* what follows from its times */

#endif
