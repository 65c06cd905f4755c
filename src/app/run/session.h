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
    void *arg; /* NULL: nobody watches */
    void (*step)(void *arg, int cell); /* a long step of the cell begins; or NULL */
    void (*finished)(void *arg, int cell, const result *out); /* and logged, if it could be */
} watcher;

typedef struct ranks_team { /* of processes that multiply together (src/app/ranks) */
    int count, hosts;       /* hosts: 0: not known */
    const char *exchange, *mpi, *partition, *halo, *overlap; /* as asked */
} ranks_team;

typedef struct session { /* one invocation */
    const options *o;
    const spmv_backend *backend;
    spmv_ctx *ctx;
    machine machine;
    record_log log;
    FILE *output;
    spmv_rates rates[SPMV_MOST_BACKENDS]; /* in the order of spmv_backends */
    bool rated[SPMV_MOST_BACKENDS];       /* spmv doctor --probe has measured it */
    cell *cell;
    int ncells;
    bool wrote_csv_header, wrote_y;
    bool told_missing; /* that a device is missing was said */
    watcher watch;
    int pass;               /* of spmv sweep, from 1; 0: spmv run */
    int group;              /* of kernels that take turns with each other, from 1 */
    char (*sweep_cell)[20]; /* [ncells], if pass */
    char **argv; /* [argc] as typed, paths cut to their last part: they may name people */
    int argc;
    int nok, nwrong, nskipped, nfailed, last_failure; /* last_failure: exit code */
    const ranks_team *team;                           /* NULL: one process */
    bool forks; /* its children use devices: no driver starts here, or they could not */
} session;

/* Each that is an int returns an exit code, after printing what is wrong. */
int choose_session(session *run);    /* context and cells; touches no device */
int choose_in_context(session *run); /* the same in a context that it has */
int open_devices(session *run);
void close_session(session *run);

#endif
