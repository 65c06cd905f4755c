/* input.c: reads files that may block. A pipe or a terminal may stay silent for ever; then a signal
 * ends the call if its handler was installed without SA_RESTART, as Python's are. The signal
 * reaches the thread that called the library, while this thread waits in read() or for another
 * thread that reads; all other threads poll for it. */
#include "io.h"
#include <errno.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

void spmv_input_open(spmv_input *in, int fd) {
    struct stat facts;
    in->fd = fd;
    in->waits = fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode);
    in->caller = pthread_self();
    atomic_init(&in->interrupted, false);
}

bool spmv_input_has_signal(spmv_input *in) {
    if (in->waits && pthread_equal(in->caller, pthread_self())) in->interrupted = true;
    return in->interrupted;
}

/* Waits for bytes in a thread that receives no signals. */
static void wait_for_bytes(spmv_input *in) {
    enum { LOOK_MS = 100 };
    struct pollfd end = {.fd = in->fd, .events = POLLIN};
    while (!in->interrupted && poll(&end, 1, LOOK_MS) <= 0) continue;
}

ptrdiff_t spmv_input_read(spmv_input *in, void *to, size_t n) {
    if (in->waits && !pthread_equal(in->caller, pthread_self())) wait_for_bytes(in);
    while (!in->interrupted) {
        ssize_t got = read(in->fd, to, n);
        if (got >= 0 || errno != EINTR) return got;
        spmv_input_has_signal(in);
    }
    errno = EINTR;
    return -1;
}
