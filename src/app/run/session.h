/* session.h: one invocation of spmv run: what its parts share, its beginning and its end. */
#ifndef SPMV_SESSION_H
#define SPMV_SESSION_H

#include "app/app.h"
#include "cells.h"
#include "app/run/results/result.h"

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

/* ---- session.c ------------------------------------------------------------------------------ */

/* Writes the lines that make the plan of a row that auto chose; language: c, python or json. */
void export_choice(const char *language, const record *r, FILE *file);
/* Each that is an int returns an exit code, after printing what is wrong. */
int choose_session(session *run);    /* context and cells; touches no device */
int choose_in_context(session *run); /* the same in a context that it has */
int open_devices(session *run);
void close_session(session *run);

/* ---- devices.c ------------------------------------------------------------------------------ */

/* Says whether the machine has the backend's device --device. If not, why, [size], gets what to do.
 * A child asks if the session forks. */
bool machine_has(const session *run, const spmv_backend *backend, char *why, size_t size);
/* Returns the session's backend, or the host's if it has no device: a build for GPUs runs where
 * there is none. */
const spmv_backend *backend_that_works(const session *run);
/* Keeps, of n kernels that a group's word named on all backends, those of --backend; without it
 * those of backends whose device is there, with one note if one is not. Returns their number. */
int keep_usable(session *run, const char *word, spmv_kernel_id *found, int n);

/* ---- cmd_run.c ------------------------------------------------------------------------------ */

/* Parts of it, which several ranks use, too. Each that is an int returns an exit code. */
int load_matrix(session *run, const char *source, spmv_mat **mat);
/* Says how it is loaded; start is set, and stays until it is. */
spmv_load_opts load_options(const session *run, const char *source, double *start);
void introduce_matrix(session *run, const char *name, const spmv_stats *s, bool built_in);
struct inputs;
void draw_thumbnail(const session *run, const spmv_mat *mat, struct inputs *in);
int show_results(session *run, result *results, int n);
int check_format(const options *o);
int open_outputs(session *run); /* the log, and the file of -o */
/* Returns code, or that of a file of -o that could not be written. */
int close_output(session *run, int code);
void run_introduce(const session *run);
void run_conclude(const session *run);
int run_exit_code(const session *run);
/* Every cell on one matrix; source: where it came from. */
int run_on(session *run, spmv_mat *mat, const char *source);

/* ---- cells.c -------------------------------------------------------------------------------- */

/* Fills s->cell from the options; returns an exit code, after printing what is wrong. */
int choose_cells(session *s);
/* Adds a cell, unless there is one of the same configuration and state of the caches. */
spmv_status add_cell(session *r, const cell *c);

#endif
