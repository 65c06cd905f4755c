/* plan.h: how a plan is made, and what it keeps. */
#ifndef SPMV_PLAN_H
#define SPMV_PLAN_H

#include "matrix/stored.h"

typedef struct spmv_tuning { /* how a plan came to be chosen: as in spmv_plan_facts */
    char reason[1400];
    const char *baseline;
    int timed;
    double tune_s, chosen_product_s, baseline_product_s;
    size_t flush_bytes;
    char date[24];                   /* when the choice was made, if it was remembered; else "" */
    char note[2 * SPMV_WISDOM_NOTE]; /* what the plan's note points to, if that is about wisdom */
} spmv_tuning;

/* Says whether the kernel's results are the same in every run, as spmv_plan_facts.reproducible. */
int spmv_repeats(const spmv_backend *backend, const spmv_kernel *kernel);
/* Finds the one kernel that the name means; NULL: "auto". */
spmv_status spmv_plan_kernel(spmv_ctx *ctx, const char *name, spmv_kernel_id *out);
/* Makes a plan as spmv_plan_create does, of options that were read and a kernel other than "auto";
 * by the transpose only of a kernel that transposes (SPMV_TRANSPOSES).
 * only_quick: refuses if the device has no room to convert, so that the host would have to. */
spmv_status spmv_plan_make(spmv_mat *mat, const spmv_plan_opts *opts, bool only_quick,
                           spmv_plan **out);
/* Returns the variant (precision and width of offsets) that a plan of these options would have. */
spmv_status spmv_plan_variant(spmv_mat *mat, const spmv_plan_opts *opts, int *out);

/* SPMV_E_ARG unless it is 0 or a layout; owner: the struct that has it. */
static inline spmv_status spmv_check_layout(spmv_ctx *of, const char *owner, spmv_layout layout) {
    if (layout == 0 || layout == SPMV_COLUMNS || layout == SPMV_ROWS) return SPMV_OK;
    return spmv_fail(of, SPMV_E_ARG,
                     "%s.layout is %d, must be 0, SPMV_COLUMNS (%d) or SPMV_ROWS (%d)", owner,
                     layout, SPMV_COLUMNS, SPMV_ROWS);
}

#endif
