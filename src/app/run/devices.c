/* devices.c: which devices this machine has. */
#include "app/messages.h"
#include "devices.h"
#include "session.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct answer { /* answer of a child */
    bool is_there;
    char why[256];
} answer;

/* Asks in a child, which shares the answer and dies with this process. */
static void ask_in_child(const spmv_backend *backend, int device, answer *out) {
    const pid_t parent = getpid(), child = fork();
    int status = 0;
    if (child == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
            out->is_there = backend->present(device, out->why, sizeof out->why);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (child < 0)
        snprintf(out->why, sizeof out->why, "cannot start a process that looks for the device");
    else if (WIFSIGNALED(status))
        snprintf(out->why, sizeof out->why, "looking for the device ended with signal %d, %s",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
}

bool machine_has(const session *run, const spmv_backend *backend, char *why, size_t size) {
    const int device = run->o->device;
    if (!backend->present) return true;
    if (!run->forks) return backend->present(device, why, size);
    answer *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        snprintf(why, size, "out of memory");
        return false;
    }
    ask_in_child(backend, device, shared);
    const bool has = shared->is_there;
    snprintf(why, size, "%s", shared->why);
    munmap(shared, sizeof *shared);
    return has;
}

const spmv_backend *backend_that_works(const session *run) {
    const spmv_backend *usual = run->backend;
    char why[256];
    if (!usual->kernels || machine_has(run, usual, why, sizeof why)) return usual;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if ((*b)->host && (*b)->kernels) return *b;
    return usual;
}

int keep_usable(session *run, const char *word, spmv_kernel_id *found, int n) {
    const spmv_backend *missing = NULL;
    char why[256];
    int kept = 0;
    for (int k = 0; k < n; k++) {
        const spmv_backend *of = found[k].backend;
        if (run->o->backend ? of != run->backend : of == missing) continue;
        if (!run->o->backend && !of->host && !machine_has(run, of, why, sizeof why)) {
            missing = of;
            continue;
        }
        found[kept++] = found[k];
    }
    if (missing && !run->o->quiet && !run->told_missing)
        say("  note: %s: %s leaves out its kernels\n", why, word);
    run->told_missing |= missing != NULL;
    return kept;
}
