/* plan.h: how plans are made, and the record of how `auto` chose one. */
#ifndef SPMV_PLAN_H
#define SPMV_PLAN_H

#include "matrix/stores/stored.h"

typedef struct spmv_tuning { /* how `auto` chose a plan; members as in spmv_plan_facts */
    char reason[1400];
    const char *baseline;
    int timed;
    double tune_s, chosen_product_s, baseline_product_s;
    size_t flush_bytes;
    char date[24];                   /* date of a remembered choice, from the wisdom file; else
                                        "" */
    char note[2 * SPMV_WISDOM_NOTE]; /* text of the plan's note, if the note is about wisdom */
} spmv_tuning;

/* Returns spmv_plan_facts.reproducible of a kernel: whether its results are equal in every run. */
int spmv_repeats(const spmv_backend *backend, const spmv_kernel *kernel);
/* Finds the one kernel that matches the name. NULL: auto. */
spmv_status spmv_plan_kernel(spmv_ctx *ctx, const char *name, spmv_kernel_id *out);
/* Creates a plan like spmv_plan_create, for options that were read and checked, and a kernel other
 * than `auto`. op may be SPMV_TRANSPOSE only if the kernel transposes (SPMV_TRANSPOSES).
 * only_quick: fails if the device has no memory for conversion, instead of converting on the
 * host. */
spmv_status spmv_plan_make(spmv_mat *mat, const spmv_plan_opts *opts, bool only_quick,
                           spmv_plan **out);
/* Returns the variant (precision, width of offsets) of a plan with these options. */
spmv_status spmv_plan_variant(spmv_mat *mat, const spmv_plan_opts *opts, int *out);

/* Fails with SPMV_E_ARG unless layout is 0 or a layout; owner: the struct's name in the message. */
static inline spmv_status spmv_check_layout(spmv_ctx *of, const char *owner, spmv_layout layout) {
    if (layout == 0 || layout == SPMV_COLUMNS || layout == SPMV_ROWS) return SPMV_OK;
    return spmv_fail(of, SPMV_E_ARG,
                     "%s.layout is %d, must be 0, SPMV_COLUMNS (%d) or SPMV_ROWS (%d)", owner,
                     layout, SPMV_COLUMNS, SPMV_ROWS);
}

#endif
