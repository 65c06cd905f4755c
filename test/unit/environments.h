/* environments.h: floating-point environments that callers have, for tests: traps, rounding modes
 * and the flushing of subnormal numbers, in the calling thread and in the threads of its team. */
#ifndef SPMV_TEST_ENVIRONMENTS_H
#define SPMV_TEST_ENVIRONMENTS_H

#include "kernels.h"
#include <fenv.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

enum { TEAM = 3, FAULTS = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW };

typedef enum mode { DEFAULT, TRAPS, FLUSH, UPWARD, DOWNWARD, TOWARD_ZERO, MODES } mode;
static const char *const mode_names[] = {"default", "traps",    "flush",
                                         "upward",  "downward", "toward zero"};

/* Subnormal operands and results are taken for 0. */
static inline void flush_subnormals(void) {
#ifdef __x86_64__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined __aarch64__
    __builtin_aarch64_set_fpcr(__builtin_aarch64_get_fpcr() | 1u << 24);
#endif
}

static inline void set_thread(mode m) {
    static const int rounding[] = {
        [UPWARD] = FE_UPWARD, [DOWNWARD] = FE_DOWNWARD, [TOWARD_ZERO] = FE_TOWARDZERO};
    fesetenv(FE_DFL_ENV);
    if (m == TRAPS) feenableexcept(FAULTS); /* does nothing where the processor has no traps */
    if (m == FLUSH) flush_subnormals();
    if (m >= UPWARD) fesetround(rounding[m]);
}

/* Sets the environment of the calling thread, and of its team if there is one. */
static inline void set_mode(mode m) {
#pragma omp parallel num_threads(TEAM)
    set_thread(m);
}

/* Returns what the threads of the team have raised since the last call; none is left raised. */
static inline int raised(void) {
    int all = 0;
#pragma omp parallel num_threads(TEAM) reduction(| : all)
    {
        all |= fetestexcept(FAULTS);
        feclearexcept(FE_ALL_EXCEPT);
    }
    return all;
}

/* Returns memory filled with signaling NaNs, of f64 and of f32. */
static inline void *take_poisoned(void *user, spmv_place place, size_t bytes, void *stream) {
    static const uint32_t poison[] = {0x7fa00000, 0x7ff40000};
    uint32_t *words = malloc(bytes + sizeof *words);
    (void)user, (void)place, (void)stream;
    for (size_t k = 0; words && k <= bytes / sizeof *words; k++) words[k] = poison[k % 2];
    return words;
}

static inline void give_poisoned(void *user, spmv_place place, void *memory, size_t bytes,
                                 void *stream) {
    (void)user, (void)place, (void)bytes, (void)stream;
    free(memory);
}

static inline spmv_ctx *poisoned_context(int threads) {
    static const spmv_allocator allocator = {take_poisoned, give_poisoned, NULL};
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads, .allocator = &allocator};
    spmv_ctx *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    return ctx;
}

#endif
