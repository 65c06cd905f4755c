/* info_ranks.h: what ranks would hold and exchange of a matrix. */
#ifndef SPMV_APP_INFO_RANKS_H
#define SPMV_APP_INFO_RANKS_H

#include "app/options/options.h"

/* Prints what each of o->ranks ranks would hold and exchange of a matrix, in place of other facts.
 * shown: how many items of --format=json were printed, to be raised. Returns an exit code. */
int inform_ranks(spmv_ctx *ctx, const options *o, const spmv_csr_view *A, const char *name,
                 int *shown);

#endif
