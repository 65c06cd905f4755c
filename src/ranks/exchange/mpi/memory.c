/* memory.c: shared memory and counters for the ranks of one host. The memory is an anonymous file
 * (memfd), which other ranks open through /proc. Unlike files in /dev/shm, its size is not limited
 * by a container, and nothing is left when the processes have ended. A thread that waits for a
 * counter sleeps on a futex. */
#include "memory.h"
#include "shared.h"
#include "spmv_clock.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- memory --------------------------------------------------------------------------------- */

static void *map(int file, size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Some systems only allow files that can never be executed; older kernels do not know that flag. */
static int make_file(void) {
    const unsigned not_executable = 8; /* value of MFD_NOEXEC_SEAL, which older headers lack */
    const int file = memfd_create("spmv", MFD_CLOEXEC | not_executable);
    return file >= 0 || errno != EINVAL ? file : memfd_create("spmv", MFD_CLOEXEC);
}

/* Allocates all pages of the file, retrying after signals; returns false if out of memory. */
static bool fill_file(int file, size_t bytes) {
    enum { TRIES = 10 };
    struct rlimit largest; /* writing beyond this limit would kill the process */
    int code = EINTR;
    if (getrlimit(RLIMIT_FSIZE, &largest) == 0 && bytes > largest.rlim_cur) return false;
    for (int k = 0; k < TRIES && code == EINTR; k++) code = posix_fallocate(file, 0, (off_t)bytes);
    return code == 0;
}

void *shared_make(size_t bytes, shared_offer *offer) {
    *offer = (shared_offer){.pid = getpid(), .bytes = bytes, .file = make_file()};
    if (offer->file < 0 ||
        getrandom(&offer->token, sizeof offer->token, 0) != sizeof offer->token ||
        !fill_file(offer->file, bytes))
        return NULL;
    void *memory = map(offer->file, bytes);
    if (memory) *(uint64_t *)memory = offer->token;
    return memory;
}

/* If ranks are in different process namespaces, the path may lead to a file of an unrelated
 * process. The token detects this. */
void *shared_open(const shared_offer *offer) {
    char path[64];
    struct stat known;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)offer->pid, offer->file);
    const int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0) return NULL;
    const bool fits =
        fstat(file, &known) == 0 && S_ISREG(known.st_mode) && known.st_size == (off_t)offer->bytes;
    void *memory = fits ? map(file, offer->bytes) : NULL;
    close(file);
    if (memory && *(uint64_t *)memory != offer->token) {
        munmap(memory, offer->bytes);
        memory = NULL;
    }
    return memory;
}

/* ---- counters ------------------------------------------------------------------------------- */

/* Compares modulo 2^32, because counters wrap around. */
static bool is_enough(uint32_t value, uint32_t least) {
    return (int32_t)(value - least) >= 0;
}

static bool has_come(shared_counter *c, uint32_t least) {
    return is_enough(atomic_load_explicit(&c->value, memory_order_acquire), least);
}

static void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* An MPI may progress its messages only inside an MPI call; this probe is such a call. */
static void help_messages(const shared_host *host) {
    int is_there;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, host->comm, &is_there, MPI_STATUS_IGNORE);
}

/* Spins if the rank has its cores to itself: a wake-up takes 20 us, and all other ranks wait for a
 * late one. Gives up after 1 ms, compared with which the wake-up time is small. */
static bool spin_until(shared_counter *c, uint32_t least, const shared_host *host) {
    const double longest_s = 1e-3, begin = spmv_now();
    do {
        for (int k = 0; k < 64; k++) {
            if (has_come(c, least)) return true;
            relax();
        }
        help_messages(host);
    } while (spmv_now() - begin < longest_s);
    return false;
}

void shared_wait(shared_counter *c, uint32_t least, const shared_host *host) {
    const struct timespec a_while = {.tv_nsec = 1000000};
    if (has_come(c, least) || (!host->crowded && spin_until(c, least, host))) return;
    atomic_fetch_add(&c->sleepers, 1);
    for (uint32_t value; value = atomic_load(&c->value), !is_enough(value, least);) {
        help_messages(host);
        syscall(SYS_futex, &c->value, FUTEX_WAIT, value, &a_while, NULL, 0);
    }
    atomic_fetch_sub(&c->sleepers, 1);
}

/* No wake-up is lost: a waiter increments `sleepers` before it reads the value, and this function
 * writes the value before it reads `sleepers`, so that one of both sees the other's write. */
void shared_post(shared_counter *c, uint32_t value) {
    atomic_store(&c->value, value);
    if (atomic_load(&c->sleepers))
        syscall(SYS_futex, &c->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
