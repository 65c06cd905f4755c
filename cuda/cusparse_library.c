/* cusparse_library.c: loads cuSPARSE by path, reads its version and finds its functions. Does not
 * depend on CUDA, so that it is compiled and tested without it. */
#include "cusparse_library.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef FETCHED_CUSPARSE
#define FETCHED_CUSPARSE ".peers/cusparse/nvidia/cu13/lib/libcusparse.so.12"
#endif

static const struct {
    const char *name;
    bool is_spmvop;
} functions[CUSPARSE_NFUNCTIONS] = {
#define FUNCTION(name) {"cusparse" #name, false},
#define SPMVOP(name, parameters) {"cusparse" #name, true},
#include "peers/cusparse_functions.def"
#undef FUNCTION
#undef SPMVOP
};

/* Reads the version. k is a libraryPropertyType: MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL. */
static void read_version(void *opened, cusparse_library *out) {
    int part[3] = {0};
    int (*property)(int which, int *value) =
        (int (*)(int, int *))dlsym(opened, "cusparseGetProperty");
    for (int k = 0; k < 3; k++)
        if (!property || property(k, &part[k]) != 0) return;
    out->version = 10000 * part[0] + 100 * part[1] + part[2];
    snprintf(out->name, sizeof out->name, "cuSPARSE %d.%d.%d", part[0], part[1], part[2]);
}

static void find_functions(void *opened, cusparse_library *out) {
    for (int k = 0; k < CUSPARSE_NFUNCTIONS; k++) {
        char *why = functions[k].is_spmvop ? out->no_spmvop : out->absent;
        out->function[k] = dlsym(opened, functions[k].name);
        if (!out->function[k] && !*why)
            snprintf(why, sizeof out->absent, "%s has no %s", out->name, functions[k].name);
    }
    if (!*out->no_spmvop && out->version != CUSPARSE_SPMVOP_VERSION)
        snprintf(out->no_spmvop, sizeof out->no_spmvop,
                 "%s may have another SpMVOp than %d.%d.%d, whose this program calls", out->name,
                 CUSPARSE_SPMVOP_VERSION / 10000, CUSPARSE_SPMVOP_VERSION / 100 % 100,
                 CUSPARSE_SPMVOP_VERSION % 100);
}

void spmv_cusparse_load(const char *path, int major, cusparse_library *out) {
    memset(out, 0, sizeof *out);
    void *opened = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    const char *why = opened ? NULL : dlerror();
    if (opened) read_version(opened, out);
    if (!opened)
        snprintf(out->absent, sizeof out->absent, "%s", why ? why : path);
    else if (out->version / 10000 != major)
        snprintf(out->absent, sizeof out->absent, "%s is %s; this program was built for %d", path,
                 *out->name ? out->name : "no cuSPARSE", major);
    else
        find_functions(opened, out);
    if (opened) dlclose(opened); /* the library stays loaded (RTLD_NODELETE) */
}

/* Loads nvJitLink from the folder of the fetched library first. That library asks for nvJitLink by
 * name when it makes a plan for SpMVOp, and would get the toolkit's if that was loaded before,
 * which may be too old. The newer one serves both. */
static void open_linker(const char *fetched) {
    char path[4096];
    int folder = (int)(strrchr(fetched, '/') ? strrchr(fetched, '/') + 1 - fetched : 0);
    int length = snprintf(path, sizeof path, "%.*slibnvJitLink.so.13", folder, fetched);
    if (folder && length < (int)sizeof path) dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

/* Loads the toolkit's library by name before the fetched one by path, because a request by name
 * returns any library of that name that is already loaded. */
static void load_all(int major, cusparse_library *all) {
    char name[32];
    const char *fetched = getenv("SPMV_CUSPARSE_FILE");
    if (!fetched || !*fetched) fetched = FETCHED_CUSPARSE;
    snprintf(name, sizeof name, "libcusparse.so.%d", major);
    open_linker(fetched);
    spmv_cusparse_load(name, major, &all[CUSPARSE_TOOLKIT]);
    spmv_cusparse_load(fetched, major, &all[CUSPARSE_FETCHED]);
}

const cusparse_library *spmv_cusparse(int which, int major) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static cusparse_library all[CUSPARSE_LIBRARIES];
    static bool is_loaded;
    pthread_mutex_lock(&lock);
    if (!is_loaded) load_all(major, all);
    is_loaded = true;
    pthread_mutex_unlock(&lock);
    return &all[which];
}
