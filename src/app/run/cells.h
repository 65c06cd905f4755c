/* cells.h: the rows of the table, each a kernel in a configuration. */
#ifndef SPMV_CELLS_H
#define SPMV_CELLS_H

#include "app/options/options.h"

typedef struct cell { /* one row of the table: a kernel in a configuration */
    spmv_kernel_id kernel;
    spmv_setting setting[SPMV_NPARAMS];
    int nsettings;
    spmv_precision precision;
    int64_t vectors;    /* number of vectors of a product */
    spmv_layout layout; /* of the vectors; columns if there is one */
    spmv_cache cache;   /* state of the caches before its products */
    int threads;        /* maximum for a product on the host; 0: the context's */
    int ranks;          /* number that spmv sweep starts; 0 and 1: this process multiplies */
} cell;

enum { CELL_LABEL = 320 }; /* bytes that cell_label may fill */

/* Returns the kernel's descriptor: the same in every variant. */
static inline const spmv_kernel *descriptor(spmv_kernel_id id) {
    return id.index == SPMV_AUTO ? &spmv_auto_kernel : id.backend->kernels[id.index][0];
}

/* Writes kernel and options, without defaults. */
void cell_label(const cell *c, char *out, size_t size);
/* Returns whether two cells differ at most in the state of the caches. */
bool same_configuration(const cell *a, const cell *b);
/* Returns whether times are comparable: equal precision, state of the caches, number of vectors,
 * layout and number of ranks. */
bool same_conditions(const cell *a, const cell *b);
/* Returns how cells with this state of the caches are sampled. */
sampling sampling_in(const options *o, spmv_cache cache);

struct session;
/* Fills s->cell from the options; returns an exit code, after printing what is wrong. */
int choose_cells(struct session *s);
/* Adds a cell, unless there is one of the same configuration and state of the caches. */
spmv_status add_cell(struct session *r, const cell *c);

#endif
