/* spmv_opts.h: reads and writes structs with a size, which the caller may have from an older or
 * newer header. */
#ifndef SPMV_OPTS_H
#define SPMV_OPTS_H

#include "spmv_variant.h"
#include "spmv.h"

/* Copies options to *known, which holds the defaults and has the given size. Members that the
 * caller's older header does not have keep their defaults; members that only a newer header has
 * must be zero. name: of the struct; from NULL: all defaults. */
SPMV_LINKAGE spmv_status spmv_read_opts(spmv_ctx *ctx, const char *name, void *known, size_t size,
                                        const void *from);
/* Fills a caller's struct from *known, as far as its `size` reaches; keeps `size`. */
SPMV_LINKAGE spmv_status spmv_fill(spmv_ctx *ctx, const char *name, const void *known, size_t size,
                                   void *to);

#endif
