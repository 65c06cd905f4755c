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

typedef struct surroundings { /* state of machine and device before or after a measurement */
    double load;              /* average of a minute; NaN: unknown */
    bool known;               /* device was read */
    spmv_device_state device;
} surroundings;

typedef struct candidate { /* a cell and its measurements, from which its record is made */
    int cell;
    sampling how;
    spmv_plan *plan; /* shared with its cells in other states of the caches; NULL: none was made */
    problem p;
    timing t;
    turns turns;
    noise noise;       /* sum over its turns */
    const char *stage; /* stage of the last check: first, later or last; NULL: no product yet */
    double looked_s;   /* seconds of checks between samples */
    bool wavers;       /* a deterministic kernel changed the bits of its result */
    verdict check;     /* bad rows of the last check; the largest ratio of all checks */
    surroundings before, after; /* before the first and after the last of its rounds */
    bool shown;                 /* its time so far was shown */
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
