/* plant.c: preloaded by test_sweep.py: the process that measures for spmv sweep comes to grief when
 * it says for the PLANT_AFTER-th time (from 0: prepared, then timed in turns) that it begins the
 * cell PLANT_CELL, as PLANT says: crash, hang, kill or memory. With linger it goes on until it has
 * reported all, and does not end then; with unkillable a kill does not end it either. */
#include "app/sweep/sweep.h"
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool lingers;

static void leave_pid(void) {
    const char *path = getenv("PLANT_PID");
    FILE *file = path ? fopen(path, "w") : NULL;
    if (!file) return;
    fprintf(file, "%d\n", getpid());
    fclose(file);
}

static void limit_memory(rlim_t bytes) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_AS, &limit);
}

static void plant(int begun) {
    const char *what = getenv("PLANT"), *where = getenv("PLANT_CELL"),
               *when = getenv("PLANT_AFTER");
    static int meets; /* number of times that the cell was reached */
    if (!what || !where || !when) return;
    bool here = atoi(where) == begun && meets++ >= atoi(when);
    if (strcmp(what, "memory") == 0) limit_memory(here ? 1 << 20 : RLIM_INFINITY);
    if (!here) return;
    leave_pid();
    if (strcmp(what, "crash") == 0) raise(SIGSEGV);
    if (strcmp(what, "kill") == 0) raise(SIGKILL);
    while (strcmp(what, "hang") == 0) pause();
    lingers = strcmp(what, "linger") == 0 || strcmp(what, "unkillable") == 0;
}

void _exit(int code) {
    if (lingers)
        for (int file = 3; file < 100; file++) close(file); /* the pipe among them */
    while (lingers) pause();
    syscall(SYS_exit_group, code);
    __builtin_unreachable();
}

int kill(pid_t process, int which) {
    const char *what = getenv("PLANT");
    if (what && strcmp(what, "unkillable") == 0) return 0;
    return (int)syscall(SYS_kill, process, which);
}

ssize_t write(int file, const void *bytes, size_t n) {
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    ssize_t wrote = real(file, bytes, n);
    const report *r = bytes;
    if (n == sizeof *r && r->kind == STEP) plant(r->cell);
    return wrote;
}
