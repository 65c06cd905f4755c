/* environment.c: gives the calling thread and its OpenMP team the default floating-point
 * environment during a call of the library. A team inherits the environment of the thread that
 * starts it, and its threads keep what a parallel region sets; so each one saves its own. */
#include "spmv_environment.h"
#include <fenv.h>
#include <omp.h>
#include <stdbool.h>

typedef struct environment {
    fenv_t before;      /* the thread's environment, if is_saved */
    bool is_saved;      /* false: the thread had the default environment */
    unsigned registers; /* result of keep(), if not is_saved */
    int depth;          /* nested calls of the library in this thread */
    unsigned call;      /* number of the call in which this thread or its team was last saved */
    int team;           /* threads of the team that have the default environment; 0: no team */
    bool team_is_saved; /* some threads of the team had another environment */
} environment;

static __thread environment own;
static unsigned calls; /* number of calls that saved a team; atomic */

#ifdef __x86_64__
#include <immintrin.h>

/* fegetenv and fesetenv take 100 ns each, as long as a small product. Therefore the default
 * environment is recognized by the SSE and x87 control registers, and only flags are restored. */
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

/* glibc before 2.23 does not reset the bits that flush subnormal numbers to zero. */
static void set_default(void) {
    fesetenv(FE_DFL_ENV);
    _mm_setcsr(SSE_DEFAULT);
}
#else
static bool is_default(void) {
    return false; /* not checked, because saving the environment only reads two registers */
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

/* Starts the team with the caller's environment, which its threads would otherwise inherit. */
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

/* Restores the environment of each thread of the team. A thread started during the call gets the
 * caller's environment; a thread that had the default environment keeps it. */
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
