/* hdf5_library.c: opens HDF5 and finds its functions. */
#ifdef HAVE_HDF5
#include "hdf5_library.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Version number in the library's file name for the version of the header. */
#if H5_VERSION_GE(2, 0, 0)
#define NUMBER "320"
#elif H5_VERSION_GE(1, 14, 0)
#define NUMBER "310"
#elif H5_VERSION_GE(1, 12, 0)
#define NUMBER "200"
#else
#define NUMBER "103"
#endif

static hdf5_library library; /* complete if `problem` is empty */
static char problem[256];

static void *find(void *opened, const char *name) {
    void *found = dlsym(opened, name);
    if (!found) snprintf(problem, sizeof problem, "HDF5 has no %s", name);
    return found;
}

static void find_function(void *opened, const char *name, void *member) {
    void *function = find(opened, name);
    memcpy(member, &function, sizeof function);
}

static void find_variable(void *opened, const char *name, hid_t *member) {
    const void *variable = find(opened, name);
    if (variable) memcpy(member, variable, sizeof *member);
}

static void load(void) {
    unsigned major = 0, minor = 0, release = 0;
    void *opened = dlopen("libhdf5_serial.so." NUMBER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened) opened = dlopen("libhdf5.so." NUMBER, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened) {
        snprintf(problem, sizeof problem, "%s", dlerror());
        return;
    }
    find_function(opened, "H5open", &library.H5open);
    if (*problem || library.H5open() < 0) return;
#define FUNCTION(name) NAMED_FUNCTION(name)
#define NAMED_FUNCTION(name) find_function(opened, #name, &library.name);
#define VARIABLE(name) find_variable(opened, #name, &library.name);
#include "hdf5_functions.def"
#undef FUNCTION
#undef NAMED_FUNCTION
#undef VARIABLE
    if (*problem) return;
    library.H5get_libversion(&major, &minor, &release);
    if (major != H5_VERS_MAJOR || minor != H5_VERS_MINOR)
        snprintf(problem, sizeof problem, "it is HDF5 %u.%u, not %d.%d", major, minor,
                 H5_VERS_MAJOR, H5_VERS_MINOR);
}

const hdf5_library *spmv_hdf5_library(const char **why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *why = problem;
    return *problem ? NULL : &library;
}
#endif
