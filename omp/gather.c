/* gather.c: measures whether the gather instruction is faster than loads. On CPUs whose microcode
 * mitigates Gather Data Sampling (CVE-2022-40982) it takes up to four times as long, which a
 * virtual machine does not report; the measurement takes half a millisecond. */
#include "isa.h"
#include "spmv_clock.h"
#include <pthread.h>

#ifdef __x86_64__
enum { CELLS = 1024, TURNS = 24, REPEATS = 8 }; /* x and its indices fit the L1 cache */

typedef struct table {
    double x[CELLS];
    int32_t at[CELLS];
} table;

/* Loads as in kernels: a vector is assembled from loads, then multiplied. */
AVX512_INLINE __m512d load_8(const double *x, const int32_t *at) {
    return _mm512_set_pd(x[at[7]], x[at[6]], x[at[5]], x[at[4]], x[at[3]], x[at[2]], x[at[1]],
                         x[at[0]]);
}

static AVX512 double with_loads_512(const table *t) {
    __m512d sum = _mm512_setzero_pd();
    for (int k = 0; k < CELLS; k += 8)
        sum = _mm512_fmadd_pd(load_8(t->x, t->at + k), _mm512_loadu_pd(t->x + k), sum);
    return _mm512_reduce_add_pd(sum);
}

static AVX512 double with_gather_512(const table *t) {
    __m512d sum = _mm512_setzero_pd();
    for (int k = 0; k < CELLS; k += 8) {
        __m256i at = _mm256_loadu_si256((const __m256i *)(t->at + k));
        sum = _mm512_fmadd_pd(_mm512_i32gather_pd(at, t->x, 8), _mm512_loadu_pd(t->x + k), sum);
    }
    return _mm512_reduce_add_pd(sum);
}

static AVX2 double with_loads_256(const table *t) {
    __m256d sum = _mm256_setzero_pd();
    for (int k = 0; k < CELLS; k += 4) {
        const int32_t *at = t->at + k;
        __m256d x = _mm256_set_pd(t->x[at[3]], t->x[at[2]], t->x[at[1]], t->x[at[0]]);
        sum = _mm256_fmadd_pd(x, _mm256_loadu_pd(t->x + k), sum);
    }
    double part[4];
    _mm256_storeu_pd(part, sum);
    return part[0] + part[1] + part[2] + part[3];
}

static AVX2 double with_gather_256(const table *t) {
    __m256d sum = _mm256_setzero_pd();
    for (int k = 0; k < CELLS; k += 4) {
        __m128i at = _mm_loadu_si128((const __m128i *)(t->at + k));
        sum = _mm256_fmadd_pd(_mm256_i32gather_pd(t->x, at, 8), _mm256_loadu_pd(t->x + k), sum);
    }
    double part[4];
    _mm256_storeu_pd(part, sum);
    return part[0] + part[1] + part[2] + part[3];
}

/* Returns the least of several times, because noise only adds time. */
static double time_of(double (*sum_of)(const table *), const table *t) {
    double least = 1e9;
    volatile double kept = 0;
    for (int r = 0; r < REPEATS; r++) {
        double start = spmv_now();
        for (int n = 0; n < TURNS; n++) kept = kept + sum_of(t);
        double took = spmv_now() - start;
        least = took < least ? took : least;
    }
    return least;
}

static bool pays_256, pays_512; /* written once, by calibrated */
static pthread_once_t calibrated = PTHREAD_ONCE_INIT;

static void calibrate(void) {
    table t;
    for (int k = 0; k < CELLS; k++) {
        t.x[k] = 1.0 / (k + 1);
        t.at[k] = (int32_t)(spmv_mix((uint64_t)k) % CELLS);
    }
    if (isa_of_cpu() >= ISA_AVX2)
        pays_256 = time_of(with_gather_256, &t) < time_of(with_loads_256, &t);
    if (isa_of_cpu() >= ISA_AVX512)
        pays_512 = time_of(with_gather_512, &t) < time_of(with_loads_512, &t);
}

bool spmv_gather_pays(int64_t isa) {
    if (isa != ISA_PORTABLE) pthread_once(&calibrated, calibrate);
    return isa == ISA_AVX512 ? pays_512 : isa == ISA_AVX2 && pays_256;
}
#else
bool spmv_gather_pays(int64_t isa) {
    (void)isa;
    return false;
}
#endif
