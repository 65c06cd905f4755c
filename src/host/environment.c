/* environment.c: the default floating-point environment for the thread that calls the library, and
 * for its team. Threads of a team get the environment of the thread that starts them, and keep what
 * a parallel region sets: so each thread of the team saves its own, and gets it back. */
#include "spmv_environment.h"
#include <fenv.h>
#include <omp.h>
#include <stdbool.h>

typedef struct environment {
    fenv_t before;      /* what the thread had, if is_saved */
    bool is_saved;      /* false: it had the default environment */
    unsigned registers; /* then: what keep() returned */
    int depth;          /* calls of the library that run in this thread, one inside another */
    unsigned call;      /* number of the call in which this thread or its team was last saved */
    int team;           /* threads of its team that have the default environment; 0: no team */
    bool team_is_saved; /* some of them had another one */
} environment;

static __thread environment own;
static unsigned calls; /* in which teams were saved; changed by atomics */

#ifdef __x86_64__
#include <immintrin.h>

/* fegetenv and fesetenv take 100 ns each, which is as long as a small product takes. So the default
 * environment is recognised by the registers of SSE and x87, and only their flags are restored. */
enum { SSE_DEFAULT = 0x1f80, X87_DEFAULT = 0x37f, FLAGS = 0x3f };

static unsigned x87_flags(void) {
    unsigned short status;
    __asm__ volatile("fnstsw %0" : "=am"(status));
    return status & FLAGS;
}

static bool is_default(void) {
    unsigned short control;
    __asm__ volatile("fnstcw %0" : "=m"(control));
    return (_mm_getcsr() & ~(unsigned)FLAGS) == SSE_DEFAULT && control == X87_DEFAULT &&
           x87_flags() == 0;
}

static unsigned keep(void) {
    return _mm_getcsr();
}

static void restore(unsigned registers) {
    if (_mm_getcsr() != registers) _mm_setcsr(registers);
    if (x87_flags()) __asm__ volatile("fnclex");
}

/* glibc before 2.23 leaves the bits that flush subnormal numbers. */
static void set_default(void) {
    fesetenv(FE_DFL_ENV);
    _mm_setcsr(SSE_DEFAULT);
}
#else
static bool is_default(void) {
    return false; /* saving the environment reads two registers */
}

static unsigned keep(void) {
    return 0;
}

static void restore(unsigned registers) {
    (void)registers;
}

static void set_default(void) {
    fesetenv(FE_DFL_ENV);
}
#endif

static void save(environment *e) {
    e->is_saved = !is_default();
    if (e->is_saved) {
        fegetenv(&e->before);
        set_default();
    } else
        e->registers = keep();
}

static void bring_back(environment *e) {
    if (e->is_saved)
        fesetenv(&e->before);
    else
        restore(e->registers);
    e->is_saved = false;
}

int spmv_environment_enter(void) {
    if (own.depth++ == 0) save(&own);
    return 0;
}

/* Threads that are started here get the caller's environment, as they would have without the
 * library. */
void spmv_environment_of_team(int threads) {
    int saved = 0;
    if (own.depth == 0 || threads <= own.team || threads < 2) return;
    if (own.team == 0) own.call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    const environment callers = own;
    if (callers.is_saved) fesetenv(&callers.before);
#pragma omp parallel num_threads(threads) reduction(+ : saved)
    if (omp_get_thread_num() > 0 && own.call != callers.call) {
        save(&own);
        own.call = callers.call;
        saved += own.is_saved;
    }
    if (callers.is_saved) set_default();
    own.team = threads;
    own.team_is_saved |= saved > 0;
}

/* A thread that was started since is given the caller's environment; a thread that had the default
 * environment keeps it. */
static void leave_team(const environment *callers) {
#pragma omp parallel num_threads(callers->team)
    if (omp_get_thread_num() > 0 && own.call == callers->call)
        bring_back(&own);
    else if (omp_get_thread_num() > 0 && callers->is_saved)
        fesetenv(&callers->before);
}

void spmv_environment_leave(const int *unused) {
    (void)unused;
    if (--own.depth > 0) return;
    environment callers = own;
    const bool has_team = own.team > 0 && own.team_is_saved;
    own.team = 0;
    own.team_is_saved = false;
    bring_back(&own);
    if (has_team) leave_team(&callers);
}
