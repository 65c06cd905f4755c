/* wisdom.h: choices of "auto" that are remembered in a file, for later processes. wisdom_key.c says
 * what a choice depends on, wisdom.c reads and writes the file, wisdom_use.c is what the tuner
 * asks. */
#ifndef SPMV_WISDOM_H
#define SPMV_WISDOM_H

#include "matrix/matrix.h"

typedef struct wisdom_key { /* texts without tabs and ends of line */
    char request[512];      /* the matrix and what its plan is asked for */
    char machine[160];      /* the processor and its cache, or the GPU, its driver and runtime */
    char build[48];         /* the version, and a hash of sources, compiler and flags */
} wisdom_key;
/* Fills *out, from the matrix's rows (a sample of them), the options and the machine. */
void spmv_wisdom_key(const spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     wisdom_key *out);

typedef struct wisdom {        /* a line of the file */
    char *text;                /* owned: what the others point into */
    const char *date, *reason; /* of the choice */
    spmv_proposal choice;      /* kernel and settings */
} wisdom;
/* Returns whether the file has a choice for the key; *out becomes the latest. The caller frees
 * out->text, also after false. note [SPMV_WISDOM_NOTE]: gets what is wrong with the file, or "". */
bool spmv_wisdom_find(const char *path, const wisdom_key *key, wisdom *out, char *note);
/* Adds a choice to the file, which is made if there is none. note: what prevented that, or "". */
void spmv_wisdom_add(const char *path, const wisdom_key *key, const spmv_proposal *choice,
                     const char *reason, char *note);

/* wisdom_use.c. As spmv_wisdom_find, in the context's file, for the key of that request; false
 * where the context has no file. */
bool spmv_wisdom_recall(const spmv_mat *mat, const spmv_plan_opts *opts,
                        const spmv_backend *backend, wisdom *out, char *note);
/* Remembers the choice of which the plan was made, if the context has a file. */
void spmv_wisdom_remember(spmv_plan *plan, const spmv_plan_opts *opts, const spmv_backend *backend,
                          const spmv_proposal *choice, const char *reason);
/* Adds to the plan's note what was not noted before. */
void spmv_wisdom_note(spmv_plan *plan, const char *what);

#endif
