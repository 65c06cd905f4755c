/* session.h: one invocation of spmv run: what its parts share, its beginning and its end. */
#ifndef SPMV_SESSION_H
#define SPMV_SESSION_H

#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/machine.h"
#include "app/run/results/result.h"
#include "cells.h"

typedef struct
    watcher {  /* spmv sweep, which must know which cell was running when the process died */
    void *arg; /* NULL: no watcher */
    void (*step)(void *arg, int cell); /* called when a long step of the cell begins; or NULL */
    void (*finished)(void *arg, int cell,
                     const result *out); /* called when the cell is final, and logged if possible */
} watcher;

typedef struct ranks_team { /* ranks of a product (src/app/ranks) */
    int count, hosts;       /* hosts: 0 if unknown */
    const char *exchange, *mpi, *partition, *halo, *overlap; /* as asked */
} ranks_team;

typedef struct session { /* one invocation */
    const options *o;
    const spmv_backend *backend;
    spmv_ctx *ctx;
    machine machine;
    record_log log;
    FILE *output;
    spmv_rates rates[SPMV_MOST_BACKENDS]; /* by backend, in the order of spmv_backends */
    bool rated[SPMV_MOST_BACKENDS];       /* spmv doctor --probe has measured it */
    cell *cell;
    int ncells;
    bool wrote_csv_header, wrote_y;
    bool told_missing; /* a missing device was reported */
    watcher watch;
    int pass;               /* pass of spmv sweep, from 1; 0: spmv run */
    int group;              /* group of kernels that are timed in turns, from 1 */
    char (*sweep_cell)[20]; /* [ncells], if pass */
    char **argv;            /* [argc] as typed, without folders, which may name people */
    int argc;
    int nok, nwrong, nskipped, nfailed, last_failure; /* last_failure: exit code */
    const ranks_team *team;                           /* NULL: one process */
    bool forks; /* children use devices; a driver started here would not work in them */
} session;

/* Each that is an int returns an exit code, after printing what is wrong. */
int choose_session(session *run);    /* context and cells; touches no device */
int choose_in_context(session *run); /* the same in a context that it has */
int open_devices(session *run);
void close_session(session *run);

#endif
