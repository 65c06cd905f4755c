/* cusparse_library.h: cuSPARSE, loaded at run time in two versions: the CUDA toolkit's and a newer,
 * fetched one. Both have the soname libcusparse.so.12, so that a program can be linked with one of
 * them only; therefore none is linked. Each is loaded with RTLD_LOCAL.
 *
 * A kernel's parameter --cusparse selects the version, instead of the kernel's name, because the
 * algorithm is the same: tables by kernel name remain valid, and --cusparse=toolkit,fetched
 * measures both. The record has the version that the library reports. */
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {                   /* values of --cusparse */
       CUSPARSE_TOOLKIT, /* the system's library */
       CUSPARSE_FETCHED, /* the file of SPMV_CUSPARSE_FILE, or that of make deps-peers */
       CUSPARSE_LIBRARIES
};
enum { CUSPARSE_SPMVOP_VERSION = 120904 }; /* encoded as cusparse_library.version */

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
    int version;         /* 120603 is 12.6.3; 0: unknown */
    char name[32];       /* "cuSPARSE 12.6.3"; "": unknown */
    char absent[512];    /* why it is unavailable; "": it is available */
    char no_spmvop[512]; /* why SpMVOp is unavailable; "": it is available */
} cusparse_library;

/* Loads the library at path (a file, or a name to be searched for), which must have this major
 * version, and reads its version and functions. Never unloaded, because CUDA's libraries cannot
 * be. */
void spmv_cusparse_load(const char *path, int major, cusparse_library *out);

/* Returns the process's library, loaded at the first call. major: version of the header. */
const cusparse_library *spmv_cusparse(int which, int major);

#ifdef __cplusplus
}
#endif
