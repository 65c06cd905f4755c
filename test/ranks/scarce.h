/* scarce.h: is included before a file of src/many, in a program that tests what becomes of a rank
 * without memory: SCARCE=N, and rank 1 gets none when those files ask for the Nth time. Its last
 * line, of stderr, says so: else they have asked less often. */
#pragma once
#include <stdio.h>
#include <stdlib.h>

__attribute__((weak)) int scarce_asked; /* by all files of the program */

static inline void *scarce(size_t n, size_t size) {
    const char *number = getenv("SCARCE"), *rank = getenv("PMI_RANK");
    if (!rank) rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!number || !rank || atoi(rank) != 1 || ++scarce_asked != atoi(number))
        return calloc(n ? n : 1, size);
    fprintf(stderr, "rank 1 gets no memory\n");
    return NULL;
}

#define malloc(size) scarce(1, size)
#define calloc(n, size) scarce(n, size)
