/* scarce.h: included before a file of src/ranks in programs that test a lack of memory: the
 * allocation number scarce_at fails, if that is not 0. With SCARCE=N the Nth allocation of rank 1
 * fails, and rank 1 reports this on stderr. */
#pragma once
#include <spmv_pieces.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) int scarce_asked, scarce_at; /* shared by all files of the program */

static inline int is_refused(void) {
    const char *number = getenv("SCARCE"), *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (number && rank && atoi(rank) == 1) scarce_at = atoi(number);
    if (!scarce_at || ++scarce_asked != scarce_at) return 0;
    if (number) fprintf(stderr, "rank 1 gets no memory\n");
    return 1;
}

#define malloc(size) (is_refused() ? NULL : malloc(size))
#define calloc(n, size) (is_refused() ? NULL : calloc(n, size))
#define spmv_rows_take(ctx, bytes) (is_refused() ? NULL : spmv_rows_take(ctx, bytes))
