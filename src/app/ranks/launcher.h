/* launcher.h: what those know of ranks who are started as one, or start some. */
#ifndef SPMV_APP_LAUNCHER_H
#define SPMV_APP_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct launcher {
    const char *mpi; /* the exchange's name */
    int rank, size;
} launcher;
/* Returns what has started this process as one of several ranks; NULL: nothing has. */
const launcher *launcher_of(void);
/* Says whether a launcher has started this process, of one rank perhaps. */
bool launcher_is_there(void);
/* Returns the name of the launcher of an MPI that this build has an exchange for; NULL: there is
 * none. */
const char *launcher_to_start(void);
/* Sets in the environment what such a launcher needs. */
void launcher_allow(void);
/* Ends all ranks, of which this one has no MPI: the others would wait for it. Returns the code. */
int launcher_end_all(int code);
/* Finds the launcher, notes what was typed, and silences all ranks but the first. */
void launcher_begin(int argc, char **argv);
/* Returns a hash of what all ranks must have in common: the words, and SPMV_ of the environment. */
uint64_t launcher_typed(void);

#endif
