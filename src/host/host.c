/* host.c: resources of the host that this process may use: threads, memory, cache. */
#include "spmv_clock.h"
#include "context.h"
#include "host.h"
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* ---- control groups -------------------------------------------------------------------------- */

/* Reads the CPU quota and the memory limit of the process's control groups, versions 1 and 2. A
 * limit may be set in any group from the process's own up to the mount point, so all are read. */
enum { LINE_SIZE = 4 * PATH_MAX };

typedef struct hierarchy {
    char folder[3 * PATH_MAX]; /* path of the current group */
    size_t top;                /* length of the mount point's path in `folder` */
    bool unified;              /* version 2 */
} hierarchy;

/* Returns whether a comma-separated list contains the word. */
static bool has_word(const char *list, const char *word) {
    size_t n = strlen(word);
    for (; list; list = strchr(list, ',')) {
        list += *list == ',';
        if (strncmp(list, word, n) == 0 && (list[n] == ',' || !list[n])) return true;
    }
    return false;
}

/* Finds the process's group of a controller. Lines are "number:controllers:path"; version 2 has
 * "0::path". A version-1 hierarchy with the controller takes precedence. */
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

/* Returns whether a line of mountinfo, "... base place options - type source how", mounts the
 * controller. */
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
    /* In a container the mounted directory may be a group itself. If the path does not lead through
     * it, only the mounted group is visible. */
    size_t n = strcmp(base, "/") == 0 ? 0 : strlen(base);
    bool below = strncmp(path, base, n) == 0 && path[n] == '/' && path[n + 1] &&
                 strncmp(path + n, "/..", 3) != 0;
    h->top = (size_t)snprintf(h->folder, sizeof h->folder, "%.4000s%s", root, place);
    if (below) snprintf(h->folder + h->top, sizeof h->folder - h->top, "%s", path + n);
    return true;
}

/* Moves to the parent group; returns false at the mount point. */
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

/* Reads the first two numbers of a file; returns how many were read ("max" is none). */
static int numbers_in(const hierarchy *h, const char *name, long long *a, long long *b) {
    FILE *file = open_in(h, name);
    if (!file) return 0;
    int found = fscanf(file, "%lld %lld", a, b);
    fclose(file);
    return found > 0 ? found : 0;
}

static double quota_here(const hierarchy *h) {
    long long quota = 0, period = 0, rest;
    bool found = h->unified ? numbers_in(h, "cpu.max", &quota, &period) == 2
                            : numbers_in(h, "cpu.cfs_quota_us", &quota, &rest) &&
                                  numbers_in(h, "cpu.cfs_period_us", &period, &rest);
    return found && quota > 0 && period > 0 ? (double)quota / (double)period : INFINITY;
}

/* Returns the bytes of inactive file pages, which are reclaimed first and so count as free. */
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
    static const int64_t none = INT64_C(1) << 60; /* version 1 has a huge number for "no limit" */
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

/* ---- threads by default ---------------------------------------------------------------------- */

/* Returns the CPUs on which the team may run. With OMP_PROC_BIND the calling thread's affinity is
 * its own place only, so the CPUs of all places are joined. */
static bool allowed_cpus(cpu_set_t *set) {
    int places = omp_get_num_places();
    if (places <= 0) return sched_getaffinity(0, sizeof *set, set) == 0;
    CPU_ZERO(set);
    for (int p = 0; p < places; p++) {
        int n = omp_get_place_num_procs(p), *cpu = malloc((size_t)(n + 1) * sizeof *cpu);
        if (!cpu) return false;
        omp_get_place_proc_ids(p, cpu);
        for (int k = 0; k < n; k++)
            if (cpu[k] < CPU_SETSIZE) CPU_SET((size_t)cpu[k], set);
        free(cpu);
    }
    return true;
}

static int affinity_cpus(void) {
    cpu_set_t set;
    return allowed_cpus(&set) ? CPU_COUNT(&set) : omp_get_num_procs();
}

/* Returns the CPU quota. A container may show all cores of the machine but grant a quota; more
 * threads than the quota wait for each other (measured up to 90 times slower). */
static int quota_cpus(void) {
    spmv_cgroup allowed;
    spmv_cgroup_read("", &allowed);
    return allowed.cpus < INT32_MAX ? (int)ceil(allowed.cpus) : INT32_MAX;
}

/* Counts one CPU per allowed core, because hardware threads of a core share its load ports. */
static int physical_cores(void) {
    cpu_set_t set;
    int cores = 0;
    if (!allowed_cpus(&set)) return INT32_MAX;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[96];
        int first = cpu;
        if (!CPU_ISSET((size_t)cpu, &set)) continue;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%d", &first) != 1) first = cpu;
        if (file) fclose(file);
        cores += first == cpu || !CPU_ISSET((size_t)first, &set);
    }
    return cores ? cores : INT32_MAX;
}

int spmv_default_threads(void) {
    const char *asked = getenv("OMP_NUM_THREADS");
    if (asked && atoi(asked) > 0) return omp_get_max_threads();
    int threads = affinity_cpus(), quota = quota_cpus(), cores = physical_cores();
    if (quota < threads) threads = quota;
    if (cores < threads) threads = cores;
    return threads > 0 ? threads : 1;
}

/* ---- teams that can be had ------------------------------------------------------------------- */

static void *wait_for_release(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* Returns the stack size in bytes that OMP_STACKSIZE asks for; 0: not set. */
static size_t asked_stack(void) {
    const char *asked = getenv("OMP_STACKSIZE");
    unsigned long long size;
    char unit = 'K';
    if (!asked || sscanf(asked, "%llu %c", &size, &unit) < 1 || size > SIZE_MAX >> 40) return 0;
    unit = (char)toupper(unit);
    return (size_t)size << (unit == 'G' ? 30 : unit == 'M' ? 20 : unit == 'B' ? 0 : 10);
}

/* Creates threads - 1 threads that exist at the same time. Returns their number + 1. */
static int gather_team(int threads, pthread_t *other) {
    pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
    const size_t stack = asked_stack();
    pthread_attr_t attr;
    int n = 1;
    pthread_attr_init(&attr);
    if (stack) pthread_attr_setstacksize(&attr, stack); /* otherwise the system's default */
    pthread_mutex_lock(&held);
    while (n < threads && pthread_create(&other[n - 1], &attr, wait_for_release, &held) == 0) n++;
    pthread_mutex_unlock(&held);
    for (int k = 0; k < n - 1; k++) pthread_join(other[k], NULL);
    pthread_attr_destroy(&attr);
    return n;
}

/* Returns whether the address space is limited, so that stacks may not fit. */
static bool has_limited_memory(void) {
    struct rlimit limit;
    return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* libgomp ends the process if it cannot create a thread; therefore teams are tried beforehand. A
 * size that succeeded once is not tried again. A small team is tried only if the address space is
 * limited, because creating a thread takes 20 us, or milliseconds if the cores are busy. */
int spmv_host_try_threads(int threads) {
    enum { SMALL = 16 };
    static int had = 1;
    if (threads > omp_get_thread_limit()) threads = omp_get_thread_limit();
    const int before = __atomic_load_n(&had, __ATOMIC_RELAXED);
    if (threads <= before) return threads;
    if (threads <= SMALL && !has_limited_memory()) return threads;
    pthread_t *other = malloc((size_t)threads * sizeof *other);
    int n = other ? gather_team(threads, other) : 1;
    free(other);
    if (n == threads)
        __atomic_store_n(&had, n, __ATOMIC_RELAXED);
    else
        n -= n / 4; /* leaves some threads to the caller */
    return n < before ? before : n;
}

bool spmv_host_has_room_for(int threads) {
    pthread_t *other = malloc((size_t)threads * sizeof *other);
    int n = other ? gather_team(threads + 1, other) - 1 : 0;
    free(other);
    return n == threads;
}

/* A child of fork has none of its parent's threads but libgomp's list of them, and would wait for
 * them for ever. Pausing libgomp before the fork ends the team; the next product recreates it, in
 * parent and child. Inside a parallel region nothing is paused, because products have one thread
 * there. */
static void dismiss_team(void) {
    omp_pause_resource(omp_pause_soft, omp_get_initial_device());
}

static int forks; /* number of forks from the first process to this one */
static pthread_mutex_t reads_free_bytes = PTHREAD_MUTEX_INITIALIZER;

/* The mutex is held during fork, so that the child does not inherit it locked by another thread. */
static void before_fork(void) {
    dismiss_team();
    pthread_mutex_lock(&reads_free_bytes);
}

static void in_parent(void) {
    pthread_mutex_unlock(&reads_free_bytes);
}

static void in_child(void) {
    pthread_mutex_unlock(&reads_free_bytes);
    __atomic_fetch_add(&forks, 1, __ATOMIC_RELAXED);
}

int spmv_host_forks(void) {
    return __atomic_load_n(&forks, __ATOMIC_RELAXED);
}

/* Prevents the OpenMP runtime from being unloaded with a plugin that contains this library: the
 * team's threads wait inside the runtime for the next product. */
static void keep_runtime(void) {
    int (*of_runtime)(void) = omp_get_max_threads;
    void *address;
    Dl_info runtime;
    memcpy(&address, &of_runtime, sizeof address);
    if (dladdr(address, &runtime))
        dlopen(runtime.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

static void prepare_process(void) {
    keep_runtime();
    pthread_atfork(before_fork, in_parent, in_child);
}

void spmv_host_prepare_process(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_process);
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t spmv_host_cache(void) {
    long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes <= 0) bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return bytes > 0 ? (size_t)bytes : 0;
}

static size_t available_bytes(void) {
    size_t kib = SIZE_MAX / 2048;
    char line[256];
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) return 1024 * kib;
    while (fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %zu kB", &kib) == 1) break;
    fclose(file);
    return 1024 * kib;
}

static size_t free_bytes_now(void) {
    size_t available = available_bytes();
    spmv_cgroup allowed;
    spmv_cgroup_read("", &allowed);
    bool limited = allowed.memory_left >= 0 && (size_t)allowed.memory_left < available;
    return limited ? (size_t)allowed.memory_left : available;
}

static size_t in_use, most_in_use; /* bytes; atomic */

/* Returns the memory available without swapping, within the container's limit. Reads the files
 * again if the last result is older than old_s, or after large allocations: reading takes as long
 * as a hundred products of a small matrix. */
static size_t free_bytes_of(double old_s) {
    enum { MUCH = 16 << 20 };
    static size_t bytes, used;
    static double at = -1;
    const size_t now_used = __atomic_load_n(&in_use, __ATOMIC_RELAXED);
    const double now = spmv_now();
    pthread_mutex_lock(&reads_free_bytes);
    if (at < 0 || now - at > old_s || now_used > used + MUCH || used > now_used + MUCH)
        bytes = free_bytes_now(), used = now_used, at = now;
    const size_t out = bytes;
    pthread_mutex_unlock(&reads_free_bytes);
    return out;
}

size_t spmv_host_free_bytes(void) {
    return free_bytes_of(0.05);
}

size_t spmv_host_free_bytes_lately(void) {
    return free_bytes_of(INFINITY);
}

/* ---- other libraries ------------------------------------------------------------------------- */

__thread const char *spmv_foreign;

/* ---- files ----------------------------------------------------------------------------------- */

bool spmv_host_lock(int file, int how, double patience_s) {
    const struct timespec pause = {.tv_nsec = 1000000};
    const double start = spmv_now();
    while (flock(file, how | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        if (spmv_now() - start >= patience_s) return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* ---- memory, in huge pages where it is large ------------------------------------------------- */

enum { CACHE_LINE = 64, HUGE_PAGE = 2 << 20 };

static void count_bytes(size_t bytes) {
    size_t now = __atomic_add_fetch(&in_use, bytes, __ATOMIC_RELAXED);
    size_t most = __atomic_load_n(&most_in_use, __ATOMIC_RELAXED);
    while (now > most && !__atomic_compare_exchange_n(&most_in_use, &most, now, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

size_t spmv_host_watch(void) {
    size_t now = __atomic_load_n(&in_use, __ATOMIC_RELAXED);
    __atomic_store_n(&most_in_use, now, __ATOMIC_RELAXED);
    return now;
}

size_t spmv_host_most(void) {
    return __atomic_load_n(&most_in_use, __ATOMIC_RELAXED);
}

/* Large arrays are aligned to huge pages, which makes random reads of x up to 1.9 times as fast. */
void *spmv_host_alloc(size_t bytes) {
    if (bytes > PTRDIFF_MAX - HUGE_PAGE) return NULL;
    size_t align = bytes >= 2 * HUGE_PAGE ? HUGE_PAGE : CACHE_LINE;
    size_t whole = bytes ? (bytes + align - 1) / align * align : align;
    void *memory = aligned_alloc(align, whole);
    if (memory && align == HUGE_PAGE)
        madvise(memory, whole, MADV_HUGEPAGE); /* a hint, which may fail */
    if (memory) count_bytes(malloc_usable_size(memory));
    return memory;
}

void spmv_host_free(void *memory) {
    if (memory) __atomic_sub_fetch(&in_use, malloc_usable_size(memory), __ATOMIC_RELAXED);
    free(memory);
}

/* ---- memory of the caller's ------------------------------------------------------------------ */

struct spmv_block {
    void *memory; /* aligned part of `given`, used by the library */
    void *given;  /* [bytes] from the caller's allocator */
    size_t bytes;
    struct spmv_block *next; /* next block of the context */
};

static void *ask_caller(const spmv_allocator *theirs, size_t bytes, struct spmv_block *block) {
    block->bytes = bytes + CACHE_LINE;
    block->given = theirs->alloc(theirs->user, SPMV_HOST, block->bytes, NULL);
    const uintptr_t past = (uintptr_t)block->given % CACHE_LINE;
    block->memory = (char *)block->given + (past ? CACHE_LINE - past : 0);
    return block->given;
}

void *spmv_host_take(spmv_ctx *ctx, size_t bytes) {
    if (!ctx || !ctx->allocator.alloc) return spmv_host_alloc(bytes);
    if (bytes > PTRDIFF_MAX - CACHE_LINE) return NULL;
    struct spmv_block *block = malloc(sizeof *block);
    if (!block || !ask_caller(&ctx->allocator, bytes, block)) {
        free(block);
        return NULL;
    }
    block->next = ctx->blocks;
    ctx->blocks = block;
    count_bytes(block->bytes);
    return block->memory;
}

void spmv_host_give(spmv_ctx *ctx, void *memory) {
    struct spmv_block **at = memory && ctx ? &ctx->blocks : NULL;
    while (at && *at && (*at)->memory != memory) at = &(*at)->next;
    struct spmv_block *block = at ? *at : NULL;
    if (!block) {
        spmv_host_free(memory);
        return;
    }
    *at = block->next;
    __atomic_sub_fetch(&in_use, block->bytes, __ATOMIC_RELAXED);
    ctx->allocator.release(ctx->allocator.user, SPMV_HOST, block->given, block->bytes, NULL);
    free(block);
}
