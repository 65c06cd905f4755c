/* test_upload.c: copies to a GPU: every size and offset arrives whole from every kind of memory,
 * and any number of threads sends the same. The last test prints rates. */
#include "spmv_clock.h"
#include "sources.h"
#include "measure/statistics.h"
#include "testing.h"
#include <omp.h>
#include <time.h>

/* Linked where there is nvcc. */
__attribute__((weak)) void *source_alloc(source_kind kind, size_t bytes);
__attribute__((weak)) void source_free(source_kind kind, void *memory);
__attribute__((weak)) bool plain_copy(void *to, const void *from, size_t bytes);
__attribute__((weak)) int copies_until_pinned(struct spmv_device *device, void *to,
                                              const void *from, size_t bytes, int most);

enum {
    MB = 1 << 20,
    MOST = 40 * MB,
    ASIDE = 64,      /* bytes of guard */
    ENOUGH = 16 * MB /* sent by the driver before pinned buffers are made */
};

typedef struct scene {
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_plan *plan;
    char *device; /* [MOST + 2 ASIDE] */
} scene;

/* Only then copies go through pinned buffers. */
static void send_until_pinned(const scene *s) {
    enum { EACH = 16 * MB };
    FREED(char) *from = calloc(1, EACH);
    assert_non_null(from);
    for (size_t sent = 0; sent < ENOUGH; sent += EACH)
        assert_int_equal(spmv_plan_put(s->plan, s->device, from, EACH), SPMV_OK);
}

static scene scene_of(int threads) {
    scene s = {.ctx = context_of(threads)};
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "cuda:csr_warp"};
    void *memory = NULL;
    assert_int_equal(spmv_mat_load(s.ctx, "gen:diagonal:4", NULL, &s.mat), SPMV_OK);
    assert_int_equal(spmv_plan_create(s.mat, &opts, &s.plan), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(s.plan, MOST + 2 * ASIDE, &memory), SPMV_OK);
    s.device = memory;
    send_until_pinned(&s);
    return s;
}

static void leave(scene *s) {
    spmv_plan_release(s->plan, s->device);
    spmv_plan_free(s->plan);
    spmv_mat_free(s->mat);
    spmv_ctx_free(s->ctx);
}

static bool has_gpu(void) {
    FREED(spmv_ctx) *ctx = context_of(1);
    bool usable = source_alloc && is_usable(ctx, &spmv_cuda);
    return usable;
}

static char *random_bytes(size_t n, uint64_t seed) {
    char *out = malloc(n);
    assert_non_null(out);
    for (size_t k = 0; k < n; k += sizeof seed) {
        uint64_t bits = draw(&seed);
        memcpy(out + k, &bits, n - k < sizeof bits ? n - k : sizeof bits);
    }
    return out;
}

/* ---- what arrives --------------------------------------------------------------------------- */

/* Puts bytes from..from + n, which are expected ones, n bytes behind the guard plus `shift`. */
static void assert_arrives(const scene *s, const char *from, const char *expected, size_t n,
                           size_t shift) {
    enum { GUARDS = 0xa5 };
    spmv_device *d = s->plan->device;
    char *got = malloc(MOST + 2 * ASIDE);
    assert_non_null(got);
    assert_int_equal(d->backend->fill(d, s->device, GUARDS, MOST + 2 * ASIDE), SPMV_OK);
    assert_int_equal(spmv_plan_put(s->plan, s->device + ASIDE + shift, from, n), SPMV_OK);
    assert_int_equal(spmv_plan_get(s->plan, got, s->device, MOST + 2 * ASIDE), SPMV_OK);
    for (size_t k = 0; k < ASIDE + shift; k++) assert_int_equal((unsigned char)got[k], GUARDS);
    for (size_t k = ASIDE + shift + n; k < MOST + 2 * ASIDE; k++)
        if ((unsigned char)got[k] != GUARDS) fail_msg("%zu bytes: wrote behind them, at %zu", n, k);
    if (memcmp(got + ASIDE + shift, expected, n) != 0) fail_msg("%zu bytes: not those sent", n);
    free(got);
}

static const size_t sizes[] = {0,          1,           4095,          MB + 1,    8 * MB - 1,
                               8 * MB,     8 * MB + 1,  9 * MB - 4097, 9 * MB,    9 * MB + 4097,
                               9 * MB + 1, 17 * MB - 3, 33 * MB + 5,   MOST - 200};

TEST(every_size_arrives_from_every_memory) {
    if (!has_gpu()) skip();
    scene s = scene_of(3);
    char *expected = random_bytes(MOST, 7);
    for (source_kind kind = PAGEABLE; kind < SOURCE_KINDS; kind++) {
        char *from = source_alloc(kind, MOST);
        if (!from) fail_msg("no memory of kind %d", (int)kind);
        assert_true(plain_copy(from, expected, MOST));
        for (int k = 0; k < COUNT(sizes); k++) {
            size_t offset = (size_t)k * 13 % 200 / 4 * 3, shift = (size_t)k * 7 % ASIDE;
            assert_arrives(&s, from + offset, expected + offset, sizes[k], shift);
        }
        source_free(kind, from);
    }
    free(expected);
    leave(&s);
}

TEST(any_number_of_threads_sends_the_same) {
    static const int threads[] = {1, 2, 7, 16, 40};
    if (!has_gpu()) skip();
    FREED(char) *expected = random_bytes(MOST, 8);
    for (int t = 0; t < COUNT(threads); t++) {
        scene s = scene_of(threads[t]);
        for (int k = 0; k < COUNT(sizes); k++)
            assert_arrives(&s, expected + k, expected + k, sizes[k], (size_t)k % ASIDE);
        leave(&s);
    }
}

/* Inside a parallel region OpenMP gives the copy one thread. */
TEST(a_parallel_region_may_send) {
    if (!has_gpu()) skip();
    scene s = scene_of(4);
    char *from = random_bytes(MOST, 10), *got = malloc(MOST);
    spmv_status status = SPMV_OK;
    assert_non_null(got);
#pragma omp parallel num_threads(3)
#pragma omp single
    status = spmv_plan_put(s.plan, s.device, from, MOST);
    assert_int_equal(status, SPMV_OK);
    assert_int_equal(spmv_plan_get(s.plan, got, s.device, MOST), SPMV_OK);
    assert_memory_equal(got, from, MOST);
    free(from);
    free(got);
    leave(&s);
}

/* Changes by the caller after the call do not affect the copy. */
TEST(the_source_is_free_afterwards) {
    if (!has_gpu()) skip();
    scene s = scene_of(4);
    char *from = random_bytes(MOST, 9), *expected = random_bytes(MOST, 9), *got = malloc(MOST);
    assert_non_null(got);
    for (int n = 0; n < 20; n++) {
        assert_int_equal(spmv_plan_put(s.plan, s.device, from, MOST), SPMV_OK);
        memset(from, n, MOST);
        assert_int_equal(spmv_plan_get(s.plan, got, s.device, MOST), SPMV_OK);
        assert_memory_equal(got, expected, MOST);
        memcpy(from, expected, MOST);
    }
    free(from);
    free(expected);
    free(got);
    leave(&s);
}

/* Pinning would take longer than it saves for few bytes. */
TEST(few_bytes_pin_nothing) {
    enum { LARGE = 16 * MB, SMALL = 4 * MB, MANY = 40 };
    if (!has_gpu()) skip();
    scene s = scene_of(2);
    spmv_device *d = s.plan->device;
    char *from = random_bytes(LARGE, 11), *pinned = source_alloc(PINNED, LARGE);
    assert_non_null(pinned);
    assert_int_equal(copies_until_pinned(d, s.device, from, LARGE, MANY), ENOUGH / LARGE - 1);
    assert_int_equal(copies_until_pinned(d, s.device, from, SMALL, MANY), MANY);
    assert_int_equal(copies_until_pinned(d, s.device, pinned, LARGE, MANY), MANY);
    source_free(PINNED, pinned);
    free(from);
    leave(&s);
}

/* ---- rates ---------------------------------------------------------------------------------- */

typedef enum way { DRIVER, OURS, OURS_ASLEEP, FROM_PINNED, WAYS } way;

static double seconds_of(const spmv_plan *plan, way how, void *to, const char *from, size_t n) {
    if (how == OURS_ASLEEP) /* longer than threads spin */
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    double start = spmv_now();
    if (how == DRIVER)
        assert_true(plain_copy(to, from, n));
    else
        assert_int_equal(spmv_plan_put(plan, to, from, n), SPMV_OK);
    return spmv_now() - start;
}

/* Returns the median. */
static double rate_of(const spmv_plan *plan, way how, void *to, const char *from, size_t n) {
    enum { TIMES = 7 };
    double s[TIMES];
    for (int k = 0; k < TIMES; k++) s[k] = seconds_of(plan, how, to, from, n);
    sort_samples(s, TIMES);
    return 1e-9 * (double)n / s[TIMES / 2];
}

TEST(rates_are_printed) {
    enum { LARGEST = 512 };
    if (!has_gpu() || is_emulated()) skip();
    scene s = scene_of(omp_get_num_procs());
    size_t most = (size_t)LARGEST * MB;
    char *from[2] = {random_bytes(most, 3), source_alloc(PINNED, most)};
    void *to = NULL;
    double rate[WAYS] = {0};
    assert_non_null(from[1]);
    assert_int_equal(spmv_plan_alloc(s.plan, most, &to), SPMV_OK);
    print_message("GB/s, %d threads   the driver   ours   after a sleep   from pinned memory\n",
                  spmv_ctx_threads(s.ctx));
    for (size_t mb = 1; mb <= LARGEST; mb *= 2) {
        for (way how = DRIVER; how < WAYS; how++)
            rate[how] = rate_of(s.plan, how, to, from[how == FROM_PINNED], mb * MB);
        print_message("%5zu MiB %20.1f %6.1f %15.1f %20.1f\n", mb, rate[DRIVER], rate[OURS],
                      rate[OURS_ASLEEP], rate[FROM_PINNED]);
    }
    /* If other processes use the host's memory, both copies are slow, and either may be faster. */
    assert_true(rate[OURS] > 0.5 * rate[DRIVER]);
    spmv_plan_release(s.plan, to);
    source_free(PINNED, from[1]);
    free(from[0]);
    leave(&s);
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
