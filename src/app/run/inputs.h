/* inputs.h: x, y0 and the reference of a matrix, in the precisions and layouts of all cells. */
#ifndef SPMV_INPUTS_H
#define SPMV_INPUTS_H

#include "app/info/thumbnail.h"
#include "app/run/limits/reads_of_x.h"
#include "cells.h"
#include "session.h"
#include "verify.h"

typedef struct in_rows { /* the first k of the vectors, in rows */
    spmv_precision precision;
    int64_t k;
    void *x, *y0;
    struct in_rows *next;
} in_rows;

typedef struct inputs { /* x, y0 and references of a matrix, in the precisions that cells need */
    const char *name, *source; /* of the matrix, as in records */
    const spmv_stats *stats;   /* NULL: it could not be read */
    int64_t rows, cols;        /* lengths of y and x */
    int64_t vectors;          /* maximum number of vectors of a cell; all have different elements */
    double *x;                /* [vectors][cols] */
    void *x_of[2], *y0_of[2]; /* [vectors][..] by precision */
    in_rows *in_rows;         /* owned */
    oracle *oracle_of[2];     /* [vectors] */
    bool infinite[2];         /* x, in that precision */
    char thumbnail[THUMBNAIL_SIZE]; /* empty: not logged */
    bool drawn;                     /* a record has it */
    reads_of_x reads;
} inputs;

/* Each returns an exit code, after printing what is wrong. */
int check_room(
    const inputs *in); /* fails if vectors of in->rows and in->cols do not fit into memory */
int load_x(session *s, inputs *in);
/* Refuses number j of -x, which f32 cannot hold. */
int x_too_large(const session *s, int64_t j, double value);
int make_precision(session *s, const spmv_mat *mat, inputs *in, spmv_precision precision);
/* Finds x and y0 of a cell, in its layout; its precision was made. */
int make_layout(inputs *in, const cell *c, const void **x, const void **y0);
void inputs_free(inputs *in);

#endif
