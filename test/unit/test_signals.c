/* test_signals.c: reading and writing a pipe whose other end does nothing, while signals come. */
#include "reading.h"
#include <errno.h>
#include <sys/time.h>

enum { TICK_MS = 20, PATIENCE_TICKS = 500 };

static volatile sig_atomic_t ticks;
static int to_close; /* the end that keeps the pipe open */

/* The signal comes again and again, for one that comes between two waits ends neither. If it ends
 * none at all the pipe is closed at last, so that the test fails and does not hang. */
static void tick(int which) {
    (void)which;
    if (++ticks == PATIENCE_TICKS) close(to_close);
}

static void start_ticking(int flags, int end) {
    const struct itimerval every = {{.tv_usec = 1000 * TICK_MS}, {.tv_usec = 1000 * TICK_MS}};
    struct sigaction mine = {.sa_handler = tick, .sa_flags = flags};
    ticks = 0;
    to_close = end;
    assert_int_equal(sigaction(SIGALRM, &mine, NULL), 0);
    assert_int_equal(setitimer(ITIMER_REAL, &every, NULL), 0);
}

/* Returns whether the pipe had to be closed. */
static bool stop_ticking(void) {
    const struct itimerval never = {{0}, {0}};
    assert_int_equal(setitimer(ITIMER_REAL, &never, NULL), 0);
    return ticks >= PATIENCE_TICKS;
}

static const struct {
    const char *bytes;
    size_t n;
} beginnings[] = {
    {"", 0},
    {REAL "3 3 2\n1 1", sizeof REAL - 1 + 9},
    {REAL "3 3 600\n1 1 2\n"
          "                                                                               \n"
          "                                                                               \n"
          "                                                                               \n"
          "                                                                               \n"
          "                                                                               \n"
          "                                                                               \n"
          "1 2 3\n1 3 4",
     sizeof REAL - 1 + 14 + 480 + 11},
    {"\x1f\x8b\x08\0\0\0\0\0\0\3", 10},
};

static void begin_pipe(size_t beginning, int *ends, char *path, int end) {
    const size_t n = beginnings[beginning].n;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], beginnings[beginning].bytes, n), n);
    sprintf(path, "/proc/self/fd/%d", ends[end]);
}

TEST(test_a_signal_ends_the_wait_for_a_pipe) {
    char path[64], expected[128];
    for (int threads = 1; threads <= 4; threads += 3)
        for (size_t k = 0; k < LENGTH(beginnings); k++) {
            spmv_coo coo;
            int ends[2];
            begin_pipe(k, ends, path, 0);
            start_ticking(0, ends[1]);
            spmv_status status = read_matrix(path, threads, &coo);
            const bool late = stop_ticking();
            close(ends[0]);
            if (late) fail_msg("%d threads, beginning %zu: nothing ends the wait", threads, k);
            close(ends[1]);
            assert_zeroed(&coo);
            if (status == SPMV_E_FEATURE) continue; /* compressed files need a library */
            assert_int_equal(status, SPMV_E_IO);
            sprintf(expected, "%s: %s", path, strerror(EINTR));
            assert_string_equal(spmv_ctx_error(ctx), expected);
        }
}

static void *write_later(void *arg) {
    static const char rest[] = "1 2 3\n1 3 4\n2 1 5\n";
    const int fd = *(int *)arg;
    for (size_t n = 0; n < sizeof rest - 1; n += 6) {
        const int before = ticks;
        while (ticks < before + 3) usleep(1000);
        if (write(fd, rest + n, 6) != 6) break;
    }
    close(fd);
    return NULL;
}

TEST(test_signals_that_let_calls_go_on_end_nothing) {
    char path[64];
    for (int threads = 1; threads <= 4; threads += 3) {
        pthread_t writer;
        spmv_coo coo;
        int ends[2];
        begin_pipe(0, ends, path, 0);
        assert_int_equal(write(ends[1], REAL "3 3 3\n", sizeof REAL + 5), sizeof REAL + 5);
        start_ticking(SA_RESTART, ends[1]);
        assert_int_equal(pthread_create(&writer, NULL, write_later, &ends[1]), 0);
        spmv_status status = read_matrix(path, threads, &coo);
        pthread_join(writer, NULL);
        stop_ticking();
        close(ends[0]);
        if (status != SPMV_OK) fail_msg("%d threads: %s", threads, spmv_ctx_error(ctx));
        assert_string_equal(words_of(&coo), "3x3 real general 1,2=3 1,3=4 2,1=5");
        spmv_coo_free(&coo);
    }
}

/* While one thread finds a wrong line and the caller waits for the others, one may wait for more
 * text. A slow machine has the signal before that line. */
TEST(test_no_thread_waits_on_behind_a_wrong_line) {
    enum { LINES = 200000 };
    static const char line[] = "1 1 1\n";
    char path[64];
    spmv_coo coo;
    int ends[2];
    pthread_t writer;
    char *text = allocate(LINES * (sizeof line - 1) + 200), *to = text;
    to += append(to, REAL "3 3 %d\n1 x\n", LINES);
    for (int k = 1; k < LINES; k++) to += append(to, "%s", line);
    assert_int_equal(pipe(ends), 0);
    const int kept = dup(ends[1]);
    pipe_job job = {ends[1], text, (size_t)(to - text)};
    sprintf(path, "/proc/self/fd/%d", ends[0]);
    start_ticking(0, kept);
    assert_int_equal(pthread_create(&writer, NULL, fill_pipe, &job), 0);
    spmv_status status = read_matrix(path, 4, &coo);
    const bool late = stop_ticking();
    close(ends[0]);
    pthread_join(writer, NULL);
    free(text);
    assert_false(late);
    close(kept);
    assert_true(status == SPMV_E_FORMAT || status == SPMV_E_IO);
}

TEST(test_a_signal_ends_the_wait_for_a_reader) {
    enum { N = 100000 };
    static const double x[N];
    char path[64], expected[128];
    int ends[2];
    begin_pipe(0, ends, path, 1);
    start_ticking(0, ends[0]);
    spmv_status status = spmv_write_vector(ctx, path, N, x);
    const bool late = stop_ticking();
    close(ends[1]);
    assert_false(late);
    close(ends[0]);
    assert_int_equal(status, SPMV_E_WRITE);
    sprintf(expected, "%s: %s", path, strerror(EINTR));
    assert_string_equal(spmv_ctx_error(ctx), expected);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); /* the test ends a pipe that nothing else ended */
    return run_suite(set_up, tear_down);
}
