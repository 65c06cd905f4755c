/* stop.c: SIGINT and SIGTERM while kernels are measured. */
#include "stop.h"
#include <signal.h>

static volatile sig_atomic_t noted;
static struct sigaction before_int, before_term;
static int watchers;

static void note(int which) {
    noted = which;
}

/* A run started in the background by a shell without job control ignores SIGINT, and goes on to. */
static void take_over(int which, struct sigaction *before) {
    struct sigaction mine = {.sa_handler = note, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
    sigaction(which, NULL, before);
    if (before->sa_handler != SIG_IGN) sigaction(which, &mine, NULL);
}

void stop_watch(void) {
    if (watchers++) return;
    noted = 0;
    take_over(SIGINT, &before_int);
    take_over(SIGTERM, &before_term);
}

void stop_unwatch(void) {
    if (--watchers) return;
    sigaction(SIGINT, &before_int, NULL);
    sigaction(SIGTERM, &before_term, NULL);
}

int stop_code(void) {
    return noted ? 128 + noted : 0;
}
