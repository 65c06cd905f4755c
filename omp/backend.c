/* backend.c: the host as a device: memory, clock, kernels. */
#include "backend.h"
#include "omp/squares.h"
#include "spmv_clock.h"
#include "spmv_host.h"
#include "spmv_kernel.h"
#include "spmv_waiting.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

static bool can_put_out(void) {
    const unsigned clflushopt = 1U << 23;
    unsigned a, b = 0, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & clflushopt;
}

/* Evicts memory line by line, in time proportional to its size: 17 us for 1 MB, whereas flushing a
 * cache of 36 MB takes 4 to 10 ms. */
__attribute__((target("clflushopt"))) static void put_out(const char *memory, size_t bytes) {
    enum { LINE = 64 };
    const char *end = memory + bytes;
    for (const char *line = memory - (uintptr_t)memory % LINE; line < end; line += LINE)
        _mm_clflushopt((void *)(uintptr_t)line);
    _mm_sfence();
}
#else
static bool can_put_out(void) {
    return false;
}

static void put_out(const char *memory, size_t bytes) {
    (void)memory, (void)bytes;
}
#endif

#define KERNEL(name) SPMV_DECLARE_VARIANTS(spmv_kernel, omp_##name)
#include "kernels.def"
#undef KERNEL
#define KERNEL(name) SPMV_OF_VARIANTS(omp_##name),
static const spmv_kernel *const kernels[][SPMV_NVARIANTS] = {
#include "kernels.def"
};
#undef KERNEL
#define KERNEL(name) #name,
static const char *const names[] = {
#include "kernels.def"
};
#undef KERNEL
_Static_assert(sizeof names / sizeof *names <= SPMV_MOST_KERNELS, "sets of kernels have no room");

#define COST(name, step, setup) #name,
static const char *const proposed[] = {
#include "cost.def"
    NULL};
#undef COST

SPMV_DECLARE_VARIANTS(spmv_kernel, omp_in_place)
static const spmv_kernel *const in_place[SPMV_NVARIANTS] = SPMV_OF_VARIANTS(omp_in_place);

typedef struct host_state {
    double start_s;
    char *flushed; /* [nflushed] */
    size_t nflushed;
    bool puts_out; /* the processor has clflushopt */
} host_state;

static spmv_status open_host(spmv_device *d) {
    host_state *s = d->state = calloc(1, sizeof *s);
    if (!s) return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory");
    s->puts_out = can_put_out();
    return SPMV_OK;
}

static void close_host(spmv_device *d) {
    host_state *s = d->state;
    if (!s) return;
    spmv_host_free(s->flushed);
    free(s);
    d->state = NULL;
}

static spmv_status alloc_host(spmv_device *d, size_t bytes, void **out) {
    *out = spmv_host_take(d->ctx, bytes);
    if (*out) return SPMV_OK;
    return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory: %.1f MB", 1e-6 * (double)bytes);
}

static void release_host(spmv_device *d, void *memory) {
    spmv_host_give(d->ctx, memory);
}

static spmv_status copy(spmv_device *d, void *to, const void *from, size_t bytes) {
    (void)d;
    if (bytes) memcpy(to, from, bytes);
    return SPMV_OK;
}

/* The team that will use the memory fills it, so that pages are local to it (first touch). */
static spmv_status fill(spmv_device *d, void *memory, int byte, size_t bytes) {
    int team = bytes > 1 << 16 ? d->threads : 1;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int t = 0; t < team; t++) {
        size_t first = (size_t)spmv_split((int64_t)bytes, team, t);
        size_t end = (size_t)spmv_split((int64_t)bytes, team, t + 1);
        memset((char *)memory + first, byte, end - first);
    }
    return SPMV_OK;
}

enum { SIDE = 32 /* side of a square that fits the L1 cache */ };

/* Transposes elements [i0, i1) of lines [j0, j1) of the result. */
#define TRANSPOSE_PART(type) \
    static void transpose_part_##type(const relayout *t, int64_t i0, int64_t i1, int64_t j0, \
                                      int64_t j1) { \
        const type *from = t->from; \
        type *to = t->to; \
        for (int64_t i = i0; i < i1; i++) \
            for (int64_t j = j0; j < j1; j++) to[j * t->to_ld + i] = from[i * t->from_ld + j]; \
    }
TRANSPOSE_PART(uint32_t)
TRANSPOSE_PART(uint64_t)

#ifdef __x86_64__
SQUARES(uint32_t)
SQUARES(uint64_t)

/* Transposes a square of 4 x 4. If t->past, squares are taken in the order of the result, in whole
 * cache lines by non-temporal stores. Otherwise in the order of the source, four lines at a time,
 * because lines whose leading dimension is a power of two share few sets of a cache. */
#define TRANSPOSE_AVX2(type) \
    AVX2_INLINE void transpose_four_##type(const relayout *t, int64_t i, int64_t j) { \
        const type *from = (const type *)t->from + i * t->from_ld + j; \
        type *to = (type *)t->to + j * t->to_ld + i; \
        four_##type v[4]; \
        for (int l = 0; l < 4; l++) v[l] = *(const four_##type *)(from + l * t->from_ld); \
        transpose_square_##type(v); \
        for (int l = 0; l < 4; l++) \
            if (t->past) \
                put_past_##type(to + l * t->to_ld, v[l]); \
            else \
                *(four_##type *)(to + l * t->to_ld) = v[l]; \
    } \
    static AVX2 void transpose_avx2_##type(const relayout *t, int64_t i0, int64_t i1, int64_t j0, \
                                           int64_t j1) { \
        const int64_t i2 = i1 - (i1 - i0) % 4, j2 = j1 - (j1 - j0) % 4; \
        for (int64_t j = j0; t->past && j < j2; j += 4) \
            for (int64_t i = i0; i < i2; i += 4) transpose_four_##type(t, i, j); \
        for (int64_t i = i0; !t->past && i < i2; i += 4) \
            for (int64_t j = j0; j < j2; j += 4) transpose_four_##type(t, i, j); \
        transpose_part_##type(t, i2, i1, j0, j1); \
        transpose_part_##type(t, i0, i2, j2, j1); \
        if (t->past) _mm_sfence(); \
    }
TRANSPOSE_AVX2(uint32_t)
TRANSPOSE_AVX2(uint64_t)

static bool has_squares(void) {
    return isa_of_cpu() != ISA_PORTABLE;
}
#else
static bool has_squares(void) {
    return false;
}
#define transpose_avx2_uint32_t transpose_part_uint32_t
#define transpose_avx2_uint64_t transpose_part_uint64_t
#endif

/* Transposes squares [s, end), which are counted along the lines of the source. */
#define TRANSPOSE(type) \
    static void transpose_##type(const relayout *t, int64_t s, int64_t end) { \
        const bool squares_of_four = has_squares(); \
        const int64_t across = (t->n + SIDE - 1) / SIDE; \
        for (; s < end; s++) { \
            const int64_t i0 = s / across * SIDE, j0 = s % across * SIDE; \
            const int64_t i1 = i0 + SIDE < t->m ? i0 + SIDE : t->m, \
                          j1 = j0 + SIDE < t->n ? j0 + SIDE : t->n; \
            (squares_of_four ? transpose_avx2_##type : transpose_part_##type)(t, i0, i1, j0, j1); \
        } \
    }
TRANSPOSE(uint32_t)
TRANSPOSE(uint64_t)

void spmv_relayout_part(size_t width, const relayout *t, int part, int parts) {
    const int64_t squares = (t->m + SIDE - 1) / SIDE * ((t->n + SIDE - 1) / SIDE);
    const int64_t begin = spmv_split(squares, parts, part),
                  end = spmv_split(squares, parts, part + 1);
    if (width == sizeof(uint32_t))
        transpose_uint32_t(t, begin, end);
    else
        transpose_uint64_t(t, begin, end);
}

static spmv_status relayout_host(spmv_device *d, void *stream, size_t width, int64_t m, int64_t n,
                                 const void *from, int64_t from_ld, void *to, int64_t to_ld) {
    enum { LINE = 64 };
    const int team = m * n > 1 << 13 ? d->threads : 1;
    const bool whole = m == to_ld && (size_t)m * width % LINE == 0 && (uintptr_t)to % LINE == 0;
    const bool past = whole && 2 * (size_t)(m * n) * width > spmv_host_cache();
    const relayout t = {m, n, from, from_ld, to, to_ld, past};
    (void)stream;
#pragma omp parallel for num_threads(team) schedule(static)
    for (int part = 0; part < team; part++) spmv_relayout_part(width, &t, part, team);
    return SPMV_OK;
}

/* Nothing to wait for, because a parallel region ends with a barrier. */
static spmv_status sync_host(spmv_device *d) {
    spmv_waiting_look(spmv_ctx_waiting(d->ctx), d->threads);
    return SPMV_OK;
}

static bool waits_asleep(spmv_device *d) {
    return __atomic_load_n(&spmv_ctx_waiting(d->ctx)->asleep, __ATOMIC_RELAXED);
}

static spmv_status tick(spmv_device *d) {
    ((host_state *)d->state)->start_s = spmv_now();
    return SPMV_OK;
}

static spmv_status tock(spmv_device *d, double *seconds) {
    *seconds = spmv_now() - ((host_state *)d->state)->start_s;
    return sync_host(d);
}

static size_t free_bytes(spmv_device *d) {
    (void)d;
    return spmv_host_free_bytes();
}

static void describe(spmv_device *d, spmv_device_facts *out) {
    (void)d; /* machine.c of the program describes the host */
    *out = (spmv_device_facts){0};
}

static spmv_status nothing(spmv_device *d) {
#pragma omp parallel num_threads(d->threads)
    { __asm__ volatile(""); }
    return SPMV_OK;
}

/* Reads `bytes` bytes. The memory is written only once, so that it has its own pages; dirty cache
 * lines would be written back during the next product. Half is divided statically, so that each
 * thread's private caches are flushed; the other half dynamically in chunks, so that all threads
 * end at about the same time: a thread that ends early falls asleep and takes 0.2 ms to wake on a
 * virtual machine. A final empty region ensures that all threads are awake. */
static spmv_status flush_host(spmv_device *d, size_t bytes) {
    enum { LINE = 64, CHUNK = 1 << 14 /* lines */ };
    host_state *s = d->state;
    unsigned sum = 0;
    if (s->nflushed < bytes || bytes == 0) {
        spmv_host_free(s->flushed);
        s->flushed = NULL, s->nflushed = 0;
        if (bytes == 0) return SPMV_OK;
        s->flushed = spmv_host_alloc(bytes);
        if (!s->flushed)
            return spmv_fail(d->ctx, SPMV_E_NOMEM, "out of memory: %.1f MB to flush caches with",
                             1e-6 * (double)bytes);
        TRY(fill(d, s->flushed, 1, bytes));
        s->nflushed = bytes;
    }
    const char *from = s->flushed;
    const size_t lines = bytes / LINE;
#pragma omp parallel num_threads(d->threads) reduction(+ : sum)
    {
#pragma omp for schedule(static) nowait
        for (size_t k = 0; k < lines / 2; k++) sum += (unsigned)from[k * LINE];
#pragma omp for schedule(dynamic, CHUNK)
        for (size_t k = lines / 2; k < lines; k++) sum += (unsigned)from[k * LINE];
    }
    TRY(nothing(d));
    return sum == (unsigned)(bytes / LINE)
               ? SPMV_OK
               : spmv_fail(d->ctx, SPMV_E_DEVICE, "the flushed memory does not hold what it did");
}

static bool evict_host(spmv_device *d, const void *memory, size_t bytes) {
    if (!((host_state *)d->state)->puts_out) return false;
#pragma omp parallel for num_threads(d->threads) schedule(static)
    for (int t = 0; t < d->threads; t++) {
        size_t first = (size_t)spmv_split((int64_t)bytes, d->threads, t);
        size_t end = (size_t)spmv_split((int64_t)bytes, d->threads, t + 1);
        if (end > first) put_out((const char *)memory + first, end - first);
    }
    return true;
}

const spmv_backend spmv_omp = {
    .name = "omp",
    .hint = "make omp",
    .names = names,
    .in_place = in_place,
    .kernels = kernels,
    .nkernels = sizeof names / sizeof *names,
    .host = true,
    .open = open_host,
    .close = close_host,
    .alloc = alloc_host,
    .release = release_host,
    .put = copy,
    .get = copy,
    .turn = relayout_host,
    .sums = spmv_sum_host,
    .fill = fill,
    .sync = sync_host,
    .tick = tick,
    .tock = tock,
    .free_bytes = free_bytes,
    .describe = describe,
    .propose = spmv_propose_omp,
    .proposed = proposed,
    .flush = flush_host,
    .nothing = nothing,
    .probe = spmv_probe_host,
    .state = spmv_host_state,
    .evict = evict_host,
    .waits_asleep = waits_asleep,
};
