/* wisdom.h: choices of "auto" that are remembered in a file, for later processes: what choice.c
 * needs of wisdom_key.c (what a choice depends on) and of wisdom.c (the file). */
#ifndef SPMV_WISDOM_H
#define SPMV_WISDOM_H

#include "core/internal.h"

typedef struct wisdom_key { /* texts without tabs and ends of line */
    char request[256];      /* the matrix and what its plan is asked for */
    char machine[160], build[48];
} wisdom_key;
void spmv_wisdom_key(const spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     wisdom_key *out);

typedef struct wisdom {        /* a line of the file */
    char *text;                /* owned: what the others point into */
    const char *date, *reason; /* of the choice */
    spmv_proposal choice;      /* kernel and settings */
} wisdom;
/* Returns whether the file has a choice for the key, and the latest; the caller frees out->text.
 * note [SPMV_WISDOM_NOTE]: gets what is wrong with the file, or "". */
bool spmv_wisdom_find(const char *path, const wisdom_key *key, wisdom *out, char *note);
/* Adds a choice to the file, which is made if there is none. note: what prevented that, or "". */
void spmv_wisdom_add(const char *path, const wisdom_key *key, const spmv_proposal *choice,
                     const char *reason, char *note);

#endif
