/* competitors.h: processes that spin, one bound to each core of this process, for benchmarks of the
 * cost of competition. */
#ifndef SPMV_TEST_COMPETITORS_H
#define SPMV_TEST_COMPETITORS_H

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_CPUS = 512 };
static pid_t competitor[MOST_CPUS];
static int ncompetitors;

/* Compares doubles, for qsort. */
static inline int ascending(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void compete(size_t cpu) {
    pid_t parent = getpid(), child = fork();
    if (child < 0) return;
    if (child > 0) {
        competitor[ncompetitors++] = child;
        return;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
    while (getppid() == parent) /* until the parent ends in any way */
        for (volatile int k = 0; k < 1 << 24; k = k + 1) continue;
    _exit(0);
}

static inline void begin_competition(void) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE && ncompetitors < MOST_CPUS; cpu++)
        if (CPU_ISSET(cpu, &allowed)) compete(cpu);
}

static inline void end_competition(void) {
    while (ncompetitors > 0) {
        kill(competitor[--ncompetitors], SIGKILL);
        waitpid(competitor[ncompetitors], NULL, 0);
    }
}

#endif
