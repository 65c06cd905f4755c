/* cusparse_library.h: cuSPARSE at run time, in two versions side by side: the CUDA toolkit's, and a
 * newer one. Both call themselves libcusparse.so.12, so that a program can be linked with one of
 * them only; none is. Each is opened by itself, and keeps its symbols to itself (RTLD_LOCAL).
 *
 * Which of them a kernel uses is its parameter --cusparse, not part of its name: the algorithm is
 * the same, a table of kernels by name stays as it was, and --cusparse=toolkit,fetched measures
 * both as --slice=16,32 measures two slices. The version is read from the library and is in the
 * record. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {                   /* the words of --cusparse */
       CUSPARSE_TOOLKIT, /* where the system looks for libraries */
       CUSPARSE_FETCHED, /* the file that SPMV_CUSPARSE_FILE names, else that of make deps-peers */
       CUSPARSE_LIBRARIES
};
enum { CUSPARSE_SPMVOP_VERSION = 120904 }; /* as cusparse_library has it */

#define FUNCTION(name) CUSPARSE_AT_##name,
#define SPMVOP(name, parameters) CUSPARSE_AT_##name,
enum {
#include "peers/cusparse_functions.def"
    CUSPARSE_NFUNCTIONS
};
#undef FUNCTION
#undef SPMVOP

typedef struct cusparse_library {
    void *function[CUSPARSE_NFUNCTIONS];
    int version;         /* 120603: 12.6.3; 0: not known */
    char name[32];       /* "cuSPARSE 12.6.3"; "": not known */
    char absent[512];    /* why it is not available; "": it is */
    char no_spmvop[512]; /* why its SpMVOp is not; "": it is */
} cusparse_library;

/* Opens the library at path (a file, or a name to be looked for), which must be of this major
 * version, and reads its version and its functions. Never closed: CUDA's libraries cannot be. */
void spmv_cusparse_load(const char *path, int major, cusparse_library *out);

/* The process's own, opened when one is first asked for; major: that of the header. */
const cusparse_library *spmv_cusparse(int which, int major);

#ifdef __cplusplus
}
#endif
