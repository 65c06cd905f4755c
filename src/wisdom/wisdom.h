/* wisdom.h: choices of `auto` stored in a file for later processes. wisdom_key.c computes the key
 * of a choice, wisdom.c reads and writes the file, wisdom_use.c is the tuner's interface. */
#ifndef SPMV_WISDOM_H
#define SPMV_WISDOM_H

#include "matrix/matrix.h"

typedef struct wisdom_key { /* texts without tabs and newlines */
    char request[512];      /* the matrix and the options of its plan */
    char machine[160];      /* processor and cache size, or GPU, driver and runtime */
    char build[48];         /* version, and hash of sources, compiler and flags */
} wisdom_key;
/* Fills *out from a sample of the matrix's rows, the options and the machine. */
void spmv_wisdom_key(const spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     wisdom_key *out);

typedef struct wisdom {        /* one line of the file */
    char *text;                /* owned; the other members point into it */
    const char *date, *reason; /* date and reason of the choice */
    spmv_proposal choice;      /* kernel and settings */
} wisdom;
/* Returns whether the file has a choice for the key; *out is the latest one. The caller frees
 * out->text, also after false. note [SPMV_WISDOM_NOTE]: problem with the file, or "". */
bool spmv_wisdom_find(const char *path, const wisdom_key *key, wisdom *out, char *note);
/* Appends a choice to the file, which is created if missing. note: reason of a failure, or "". */
void spmv_wisdom_add(const char *path, const wisdom_key *key, const spmv_proposal *choice,
                     const char *reason, char *note);

/* wisdom_use.c. Looks up the request in the context's file, like spmv_wisdom_find. Returns false if
 * the context has no file. */
bool spmv_wisdom_recall(const spmv_mat *mat, const spmv_plan_opts *opts,
                        const spmv_backend *backend, wisdom *out, char *note);
/* Stores the choice from which the plan was made, if the context has a file. */
void spmv_wisdom_remember(spmv_plan *plan, const spmv_plan_opts *opts, const spmv_backend *backend,
                          const spmv_proposal *choice, const char *reason);
/* Appends a text to the plan's note, unless the context has reported the same text before. */
void spmv_wisdom_note(spmv_plan *plan, const char *what);

#endif
