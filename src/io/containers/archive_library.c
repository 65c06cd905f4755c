/* archive_library.c: opens libarchive and finds its functions. */
#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
#include "archive_library.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static archive_library library; /* complete if `problem` is empty */
static char problem[256];

static void find_function(void *opened, const char *name, void *member) {
    void *function = dlsym(opened, name);
    memcpy(member, &function, sizeof function);
    if (!function) snprintf(problem, sizeof problem, "libarchive.so.13 has no %s", name);
}

static void load(void) {
    void *opened = dlopen("libarchive.so.13", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened) {
        snprintf(problem, sizeof problem, "%s", dlerror());
        return;
    }
#define FUNCTION(name) find_function(opened, #name, &library.name);
#include "archive_functions.def"
#undef FUNCTION
}

const archive_library *spmv_archive_library(const char **why) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    *why = problem;
    return *problem ? NULL : &library;
}
#endif
