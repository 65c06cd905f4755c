/* find_exchange.c: finds the library of an exchange: in the folder of the library or program that
 * contains this file (as make leaves it), or in ../lib of that folder (as make install does). */
#include "exchange.h"
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Writes the folder of this library or program, with a final slash; "" if unknown. */
static void own_folder(char folder[PATH_MAX]) {
    Dl_info here;
    struct link_map *map = NULL;
    *folder = 0;
    if (!dladdr1(&spmv_exchange_self, &here, (void **)&map, RTLD_DL_LINKMAP) || !map) return;
    if (!realpath(*map->l_name ? map->l_name : "/proc/self/exe", folder)) *folder = 0;
    char *last = strrchr(folder, '/');
    folder[last ? last + 1 - folder : 0] = 0;
}

bool ranks_find_exchange(const char *mpi, char *path, size_t size) {
    static const char *const places[] = {"", "../lib/"};
    char folder[PATH_MAX];
    own_folder(folder);
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        const int length = snprintf(path, size, "%s%slibspmv_%s.so", folder, places[k], mpi);
        if (length > 0 && (size_t)length < size && access(path, R_OK) == 0) return true;
    }
    snprintf(path, size, "%s", folder);
    return false;
}
