/* ends.c: what the program says where it cannot go on: a library crashes or exits because it gets
 * no memory, or the stack is full. Then the exit code is that of "out of memory": 1 is the code of
 * a wrong result. */
#include "crashes.h"
#include "spmv.h"
#include "spmv_host.h"
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SIGNALS = 3, MARGIN = 1 << 20 };
static const int fatal[SIGNALS] = {SIGSEGV, SIGBUS, SIGABRT};
static struct sigaction before[SIGNALS];
static const char *top; /* approximate top of the first thread's stack */
static size_t limit;    /* maximum size of that stack, in bytes */
static bool returns;    /* the exit code is main's */

void ends_return(void) {
    returns = true;
}

/* Is called in a signal handler: prints without the C library's streams. */
static _Noreturn void give_up(const char *const *parts) {
    for (; *parts; parts++)
        if (write(STDERR_FILENO, *parts, strlen(*parts)) < 0) break;
    _exit(spmv_exit_code(SPMV_E_NOMEM));
}

static bool stack_is_full(const siginfo_t *about) {
    const char *at = about->si_addr;
    return about->si_code > 0 && at < top && at > top - limit - MARGIN &&
           at < top - limit + MARGIN / 16;
}

/* Any other crash is what it would have been without this handler. */
static void end_crashed(int which, siginfo_t *about, void *context) {
    (void)context;
    if (spmv_foreign)
        give_up((const char *[]){"spmv: out of memory: ", spmv_foreign,
                                 " crashed, as it does without memory\n", NULL});
    if (which == SIGSEGV && stack_is_full(about))
        give_up((const char *[]){"spmv: out of memory: the stack is full; 'ulimit -s 8192' lets it "
                                 "grow to its usual size\n",
                                 NULL});
    for (int k = 0; k < SIGNALS; k++)
        if (fatal[k] == which) sigaction(which, &before[k], NULL);
    if (about->si_code <= 0) raise(which); /* otherwise the failing instruction is executed again */
}

static void end_exited(int status, void *unused) {
    (void)unused;
    if (returns || status != EXIT_FAILURE) return;
    give_up((const char *[]){"spmv: out of memory: a library ended the program\n", NULL});
}

void ends_watch_exits(void) {
    on_exit(end_exited, NULL);
}

void ends_watch(void) {
    static char own_stack[1 << 16];
    const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
    struct sigaction mine = {.sa_sigaction = end_crashed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct rlimit stack_limit;
    top = __builtin_frame_address(0);
    limit = getrlimit(RLIMIT_STACK, &stack_limit) == 0 && stack_limit.rlim_cur < SIZE_MAX / 2
                ? (size_t)stack_limit.rlim_cur
                : 0;
    signal(SIGXFSZ, SIG_IGN); /* a file above 'ulimit -f' fails to be written, and is named */
    if (sigaltstack(&stack, NULL) != 0) return;
    for (int k = 0; k < SIGNALS; k++) sigaction(fatal[k], &mine, &before[k]);
}
