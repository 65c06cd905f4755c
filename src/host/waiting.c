/* waiting.c: makes waiting threads of an OpenMP team sleep if other processes use the same cores.
 * libgomp's threads spin after a product, for the next one, and at its end, for the slowest thread.
 * On a shared core a spinning thread uses up its time slice and loses the core, and all others spin
 * until it returns: products of 20 us took 4 to 30 ms. Waking sleeping threads takes some
 * microseconds, too much if nobody competes for the cores.
 *
 * OMP_WAIT_POLICY and GOMP_SPINCOUNT are read when the process starts. What can change later is
 * whether libgomp has more threads than processors: then they spin 100 times, about 3 us, and sleep
 * (libgomp manual, GOMP_SPINCOUNT). Therefore a helper thread starts a sleeping team of that
 * size. */
#include "context.h"
#include "host.h"
#include "spmv_environment.h"
#include "spmv_waiting.h"
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* period: nanoseconds between two checks */
static const int64_t ms = 1000000, period = 30 * 1000000;

/* ---- when ------------------------------------------------------------------------------------ */

/* Returns whether threads compete for cores. A spinning thread uses all of its core's time and
 * loses the core only to others: involuntarily every 6 to 20 ms with one competitor, less often
 * with many, rarely with none. If each core is shared with one competitor, the threads run half of
 * the time; if they run more than most_used, spinning is still faster. After a long time without a
 * check the measurement covers the caller's own work and says nothing about the team. */
static bool is_crowded(const spmv_waiting *w, const spmv_usage *now, int threads) {
    const int64_t most_used = 3, of = 5; /* fraction 3 / 5 of the cores' time, in integers */
    const int64_t per_thread = 200 * ms, longest = 250 * ms, least = 2;
    const int64_t since = now->now - w->looked.now, switches = now->switches - w->looked.switches;
    return since <= longest && switches >= least && switches * per_thread >= since * threads &&
           of * (now->cpu - w->looked.cpu) < most_used * since * threads;
}

/* Returns how long threads sleep before spinning is tried again: twice the last time if the
 * competitors were still there. */
static int64_t next_hold(const spmv_waiting *w, int64_t now) {
    const int64_t shortest = 500 * ms, longest = 8000 * ms, soon = 250 * ms;
    if (w->left == 0 || now - w->left > soon) return shortest;
    return 2 * w->hold < longest ? 2 * w->hold : longest;
}

bool spmv_waiting_decide(spmv_waiting *w, spmv_usage now, int threads) {
    bool before = w->crowded, crowded = is_crowded(w, &now, threads);
    w->looked = now;
    w->crowded = crowded;
    if (w->asleep) {
        if (now.now < w->until) return true;
        w->left = now.now;
        return false;
    }
    if (!crowded || !before) return false; /* a single observation may be chance */
    w->hold = next_hold(w, now.now);
    w->until = now.now + w->hold;
    return true;
}

/* ---- how ------------------------------------------------------------------------------------- */

typedef struct quiet { /* the helper thread and its team */
    pthread_t helper;
    sem_t team_is_there, end;
    int threads; /* size of its team */
    pid_t pid;   /* process that owns the helper; a child of fork() does not have it */
} quiet;

static void *keep_team(void *arg) {
    quiet *q = arg;
#pragma omp parallel num_threads(q->threads)
    { __asm__ volatile(""); }
    sem_post(&q->team_is_there);
    while (sem_wait(&q->end) != 0) {
    }            /* interrupted by a signal */
    return NULL; /* ends the team */
}

/* Returns the size of the helper's team for which libgomp counts more threads than processors.
 * libgomp counts the helper's team and the caller's, but not the helper itself. */
static int team_to_exceed(int processors, int threads) {
    return processors > threads ? processors - threads + 2 : 2;
}

static void end_quiet(quiet *q) {
    if (!q) return;
    if (q->pid == getpid()) {
        sem_post(&q->end);
        pthread_join(q->helper, NULL);
    }
    sem_destroy(&q->team_is_there);
    sem_destroy(&q->end);
    free(q);
}

static quiet *begin_quiet(const spmv_waiting *w, int threads) {
    int team = team_to_exceed(omp_get_num_procs(), w->has_team ? threads : 1);
    if (!spmv_host_has_room_for(team)) return NULL; /* libgomp would end the process */
    quiet *q = calloc(1, sizeof *q);
    if (!q) return NULL;
    *q = (quiet){.threads = team, .pid = getpid()};
    sem_init(&q->team_is_there, 0, 0);
    sem_init(&q->end, 0, 0);
    if (pthread_create(&q->helper, NULL, keep_team, q) != 0) {
        q->pid = 0;
        end_quiet(q);
        return NULL;
    }
    while (sem_wait(&q->team_is_there) != 0) {
    }
    return q;
}

/* ---- looking --------------------------------------------------------------------------------- */

static int64_t coarse_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t); /* takes 5 ns; resolution of a few ms */
    return t.tv_sec * 1000 * ms + t.tv_nsec;
}

static int64_t ns_of(struct timeval t) {
    return t.tv_sec * 1000 * ms + t.tv_usec * 1000;
}

static spmv_usage usage_at(int64_t now) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (spmv_usage){now, ns_of(used.ru_utime) + ns_of(used.ru_stime), used.ru_nivcsw};
}

/* Never checks if the user has chosen how threads wait. */
void spmv_waiting_open(spmv_waiting *w) {
    bool chosen = getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT");
    int64_t now = coarse_now();
    *w = (spmv_waiting){.looked = usage_at(now), .look_at = chosen ? INT64_MAX : now + period};
}

/* Clears w->quiet first, because the process may fork in between. */
void spmv_waiting_close(spmv_waiting *w) {
    quiet *q = w->quiet;
    w->quiet = NULL;
    end_quiet(q);
}

/* Returns false if another thread of this process is checking. `looking` identifies the process by
 * its number of forks, because a child of fork lacks the thread that was checking in its parent. */
static bool begin_look(spmv_waiting *w) {
    const int here = 1 + spmv_host_forks();
    return __atomic_exchange_n(&w->looking, here, __ATOMIC_ACQUIRE) != here;
}

static void end_look(spmv_waiting *w) {
    __atomic_store_n(&w->looking, 0, __ATOMIC_RELEASE);
}

static void look(spmv_waiting *w, int64_t now, int threads) {
    int64_t next = now + period;
    quiet *q = w->quiet;
    if (q && q->pid != getpid()) spmv_waiting_close(w); /* forked */
    w->has_team = true;
    bool sleep = spmv_waiting_decide(w, usage_at(now), threads);
    if (sleep && !w->quiet && !(w->quiet = begin_quiet(w, threads))) next = INT64_MAX;
    if (!sleep) spmv_waiting_close(w);
    __atomic_store_n(&w->asleep, w->quiet != NULL, __ATOMIC_RELAXED);
    __atomic_store_n(&w->look_at, next, __ATOMIC_RELAXED);
}

void spmv_waiting_look(spmv_waiting *w, int threads) {
    if (threads < 2) return;
    int64_t now = coarse_now();
    if (now < __atomic_load_n(&w->look_at, __ATOMIC_RELAXED)) return;
    if (!begin_look(w)) return;
    if (now >= __atomic_load_n(&w->look_at, __ATOMIC_RELAXED)) look(w, now, threads);
    end_look(w);
}

/* ---- before a team prepares something -------------------------------------------------------- */

/* Unlike products, preparation runs once, with few teams, each of which may wait for a core as long
 * as the whole preparation takes, so there is nothing to observe. The decision uses the time that
 * the kernel has counted for the calling thread as ready but not running. */
bool spmv_waiting_shares_core(spmv_waiting *w, int64_t ran, int64_t waited) {
    /* few: on an uncontended core a thread waits for 1 % of the time */
    const int64_t enough = ms, few = 8;
    const int64_t r = ran - w->ran, q = waited - w->waited;
    const bool is_recent = r >= 0 && q >= 0 && r + q >= enough; /* same thread as last time */
    const bool shares = is_recent ? q * few > r : waited * few > ran;
    if (is_recent || r < 0 || q < 0) w->ran = ran, w->waited = waited;
    return shares;
}

/* Reads the times for which the calling thread has run and has waited for a core, in ns. Returns
 * false if the system does not report them. */
static bool read_schedule(int64_t *ran, int64_t *waited) {
    char text[80];
    const int file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t n = read(file, text, sizeof text - 1);
    close(file);
    if (n <= 0) return false;
    text[n] = 0;
    char *end;
    *ran = strtoll(text, &end, 10);
    *waited = strtoll(end, NULL, 10);
    return *ran > 0;
}

/* Sleeping costs little during preparation. The hold is short: later products try spinning. */
static void prepare(spmv_waiting *w, int threads) {
    const int64_t hold = 500 * ms, now = coarse_now();
    int64_t ran, waited;
    quiet *q = w->quiet;
    if (q && q->pid != getpid()) spmv_waiting_close(w); /* forked */
    if (w->quiet && now < w->until) return;
    if (!read_schedule(&ran, &waited) || !spmv_waiting_shares_core(w, ran, waited)) return;
    if (!w->quiet && !(w->quiet = begin_quiet(w, threads))) return;
    w->hold = hold;
    w->until = now + hold;
    __atomic_store_n(&w->asleep, 1, __ATOMIC_RELAXED);
}

static void choose_waiting(spmv_waiting *w, int threads) {
    const bool chosen = __atomic_load_n(&w->look_at, __ATOMIC_RELAXED) == INT64_MAX;
    if (chosen || !begin_look(w)) return;
    prepare(w, threads);
    w->has_team = true; /* the caller starts its team next */
    end_look(w);
}

void spmv_waiting_prepare(spmv_waiting *w, int threads) {
    if (threads < 2) return;
    choose_waiting(w, threads);
    spmv_environment_of_team(threads);
}

spmv_waiting *spmv_ctx_waiting(spmv_ctx *ctx) {
    return &ctx->waiting;
}

/* A few rows and entries are processed faster than a team wakes up. */
int spmv_threads_for(spmv_ctx *ctx, int64_t items) {
    enum { FEW = 1 << 17 };
    if (items < FEW) return 1;
    spmv_waiting_prepare(&ctx->waiting, ctx->threads);
    return ctx->threads;
}
