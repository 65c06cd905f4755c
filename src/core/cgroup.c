/* cgroup.c: how many CPUs and how much memory the process's control groups allow it, by version 1
 * and 2. A limit may stand in the process's own group or in any above it, so all of them are read,
 * from the group that /proc/self/cgroup names up to where the hierarchy is mounted. */
#include "internal.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>

enum { LINE_SIZE = 4 * PATH_MAX };

typedef struct hierarchy {
    char folder[3 * PATH_MAX]; /* of the current group */
    size_t top;                /* characters of it that are the mount point */
    bool unified;              /* version 2 */
} hierarchy;

/* Whether a comma-separated list holds the word. */
static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || !list[n])) return true;
    }
    return false;
}

/* The process's group of a controller: lines are "number:controllers:path", version 2's is
 * "0::path". Version 1, where it has the controller, is the one that counts. */
static bool find_group(const char *root, const char *controller, char *path, bool *unified) {
    char name[PATH_MAX], line[LINE_SIZE];
    bool found = false;
    snprintf(name, sizeof name, "%s/proc/self/cgroup", root);
    FILE *file = fopen(name, "r");
    if (!file) return false;
    while (fgets(line, sizeof line, file)) {
        char *list = strchr(line, ':'), *at = list ? strchr(++list, ':') : NULL;
        if (!at) continue;
        *at++ = 0;
        at[strcspn(at, "\n")] = 0;
        if (!(found && !*list) && (!*list || has_word(list, controller))) {
            found = true;
            *unified = !*list;
            snprintf(path, PATH_MAX, "%.*s", PATH_MAX - 1, at);
        }
    }
    fclose(file);
    return found;
}

/* Whether a line of mountinfo mounts the hierarchy: "... base place options - type source how". */
static bool is_mount(char *line, const char *controller, bool unified, char *base, char *place) {
    char type[64], how[PATH_MAX];
    char *end = strstr(line, " - ");
    if (!end || sscanf(end + 3, "%63s %*s %4095s", type, how) != 2) return false;
    if (strcmp(type, unified ? "cgroup2" : "cgroup") != 0) return false;
    if (!unified && !has_word(how, controller)) return false;
    return sscanf(line, "%*s %*s %*s %4095s %4095s", base, place) == 2;
}

static bool find_hierarchy(const char *root, const char *controller, hierarchy *h) {
    char path[PATH_MAX], base[PATH_MAX], place[PATH_MAX], name[PATH_MAX], line[LINE_SIZE];
    bool found = false;
    if (!find_group(root, controller, path, &h->unified)) return false;
    snprintf(name, sizeof name, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(name, "r");
    if (!file) return false;
    while (!found && fgets(line, sizeof line, file))
        found = is_mount(line, controller, h->unified, base, place);
    fclose(file);
    if (!found) return false;
    /* What is mounted may be a group itself, as in containers; a path that does not lead through it
     * is seen from elsewhere, and the mount is all there is. */
    size_t n = strcmp(base, "/") == 0 ? 0 : strlen(base);
    bool below = strncmp(path, base, n) == 0 && path[n] == '/' && path[n + 1] &&
                 strncmp(path + n, "/..", 3) != 0;
    h->top = (size_t)snprintf(h->folder, sizeof h->folder, "%.4000s%s", root, place);
    if (below) snprintf(h->folder + h->top, sizeof h->folder - h->top, "%s", path + n);
    return true;
}

/* Goes to the parent group; returns false at the top. */
static bool go_up(hierarchy *h) {
    char *slash = strrchr(h->folder + h->top, '/');
    if (slash) *slash = 0;
    return slash != NULL;
}

static FILE *open_in(const hierarchy *h, const char *name) {
    char path[4 * PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", h->folder, name);
    return fopen(path, "r");
}

/* Reads a file's first two numbers and returns how many it has: "max" is no number. */
static int numbers_in(const hierarchy *h, const char *name, long long *a, long long *b) {
    FILE *file = open_in(h, name);
    if (!file) return 0;
    int found = fscanf(file, "%lld %lld", a, b);
    fclose(file);
    return found > 0 ? found : 0;
}

/* ---- CPUs ----------------------------------------------------------------------------------- */

static double quota_here(const hierarchy *h) {
    long long quota = 0, period = 0, rest;
    bool found = h->unified ? numbers_in(h, "cpu.max", &quota, &period) == 2
                            : numbers_in(h, "cpu.cfs_quota_us", &quota, &rest) &&
                                  numbers_in(h, "cpu.cfs_period_us", &period, &rest);
    return found && quota > 0 && period > 0 ? (double)quota / (double)period : INFINITY;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* Bytes of file pages not used lately: the system reclaims these first, so they count as free. */
static int64_t reclaimable_bytes(const hierarchy *h) {
    const char *key = h->unified ? "inactive_file %lld" : "total_inactive_file %lld";
    char line[256];
    long long bytes = 0;
    FILE *file = open_in(h, "memory.stat");
    if (!file) return 0;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, key, &bytes) == 1) break;
    fclose(file);
    return bytes > 0 ? bytes : 0;
}

static void take_memory(const hierarchy *h, spmv_cgroup *out) {
    static const int64_t none = INT64_C(1) << 60; /* version 1 has no value for "no limit" */
    long long limit = 0, used = 0, rest;
    if (!numbers_in(h, h->unified ? "memory.max" : "memory.limit_in_bytes", &limit, &rest) ||
        limit < 0 || limit >= none)
        return;
    if (!numbers_in(h, h->unified ? "memory.current" : "memory.usage_in_bytes", &used, &rest))
        used = 0;
    int64_t cached = reclaimable_bytes(h), left;
    used -= cached < used ? cached : used;
    left = limit > used ? limit - used : 0;
    if (limit < out->memory) out->memory = limit;
    if (left < out->memory_left) out->memory_left = left;
}

void spmv_cgroup_read(const char *root, spmv_cgroup *out) {
    hierarchy h;
    *out = (spmv_cgroup){.cpus = NAN, .memory = -1, .memory_left = -1};
    if (find_hierarchy(root, "cpu", &h)) {
        out->cpus = INFINITY;
        do out->cpus = fmin(out->cpus, quota_here(&h));
        while (go_up(&h));
    }
    if (find_hierarchy(root, "memory", &h)) {
        out->memory = out->memory_left = INT64_MAX;
        do take_memory(&h, out);
        while (go_up(&h));
    }
}
