/* places.c: new values of a matrix of which only the transpose is multiplied. For each store of the
 * transpose an index list maps every slot of the store to a given value, so that new values are
 * written in one gather, without the CSR of either matrix. The CSRs get the values when next
 * read. */
#include "host/context.h"
#include "host/host.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "matrix/stores/ordered.h"
#include "matrix/stores/stored.h"
#include "matrix/transpose.h"
#include "values.h"
#include <math.h>
#include <stdlib.h>
#ifdef __x86_64__
#include <emmintrin.h>
#endif

/* ---- whether it can be done ------------------------------------------------------------------ */

static int places_of(const spmv_stored *s, spmv_places *out) {
    const bool can = s->format->places && !s->only_on_device && !spmv_is_ordered(s);
    return can ? s->format->places(s->host, out) : 0;
}

static bool is_f32(const spmv_places *p) {
    return p->width == sizeof(float);
}

/* Returns whether the store can be filled directly from the given values. */
static bool takes(const spmv_mat *mat, const spmv_stored *s) {
    spmv_places p[SPMV_MOST_PLACES];
    return places_of(s, p) > 0 && (!is_f32(p) || mat->precision == SPMV_F32);
}

bool spmv_places_fit(const spmv_mat *mat) {
    const spmv_mat *T = mat->transpose;
    const bool is_order = mat->csr.as_given || (mat->origin && !mat->origin->first);
    bool fit = is_order && mat->nplans == 0 && !mat->source && !T->source &&
               mat->coo.nnz == mat->csr.nnz && mat->csr.nnz < UINT32_MAX,
         refills = false;
    for (const spmv_plan *plan = T->plans; plan; plan = plan->next) {
        fit = fit && plan->device->backend->host && !plan->own;
        refills |= plan->refill;
    }
    for (const spmv_stored *s = T->stores; s; s = s->next) fit = fit && takes(mat, s);
    return fit && refills;
}

/* ---- which given value each place holds ------------------------------------------------------ */

static spmv_status take_lists(spmv_ctx *ctx, spmv_stored *s, const spmv_places *p, int n) {
    s->given_bytes = 0;
    for (int k = 0; k < n; k++) {
        const size_t bytes = (size_t)p[k].n * sizeof *s->given[k];
        s->given[k] = spmv_host_take(ctx, bytes);
        s->given_bytes += bytes;
        if (s->given[k]) continue;
        while (k-- > 0) {
            spmv_host_give(ctx, s->given[k]);
            s->given[k] = NULL;
        }
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for new values");
    }
    return SPMV_OK;
}

/* Returns 16 bits, from bit `shift`, of 1 + the index of the given value of T's entry k. */
static double half_of(const spmv_mat *mat, const uint32_t *turned, int64_t k, int shift) {
    const uint32_t entry = turned[k];
    return (double)(((mat->csr.as_given ? entry : mat->origin->entry[entry]) + 1) >> shift &
                    0xffff);
}

static void read_halves(const spmv_places *p, int shift, int threads, uint32_t *given) {
    const double *f64 = p->values;
    const float *f32 = p->values;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < p->n; k++) {
        const uint32_t half = (uint32_t)(is_f32(p) ? f32[k] : f64[k]);
        given[k] = shift ? given[k] | half << shift : half;
    }
}

/* Returns whether the store is a CSR that shares the values of A. */
static bool shares_values(const spmv_csr *A, const spmv_places *p) {
    return A->values && p->values == A->values;
}

/* Finds the index lists: the format stores, instead of values, the indices of the given values, 16
 * bits at a time (exact in f32), and these are read back. Then it stores the old values again. */
static void list_places(const spmv_mat *mat, const uint32_t *turned, double *numbers, int threads,
                        spmv_stored *s) {
    enum { HALF = 16 };
    const spmv_csr *own = &mat->transpose->csr;
    spmv_places p[SPMV_MOST_PLACES];
    spmv_csr A = *own;
    const int n = places_of(s, p);
    for (int k = 0; k < n; k++)
        if (!signbit(p[k].padding) && !shares_values(own, &p[k]))
            memset(p[k].values, 0, (size_t)(p[k].n * p[k].width));
    A.values = numbers;
    for (int shift = 0; shift <= HALF; shift += HALF) {
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t e = 0; e < A.nnz; e++) numbers[e] = half_of(mat, turned, e, shift);
        spmv_refill_one(&A, threads, s);
        places_of(s, p); /* a CSR points to the values of A */
        for (int k = 0; k < n; k++) read_halves(&p[k], shift, threads, s->given[k]);
    }
    spmv_refill_one(own, threads, s);
}

spmv_status spmv_places_find(spmv_mat *mat) {
    spmv_mat *T = mat->transpose;
    const int threads = spmv_threads_for(mat->ctx, mat->csr.nnz);
    const uint32_t *turned;
    spmv_places p[SPMV_MOST_PLACES];
    spmv_stored *s = T->stores;
    while (s && s->given[0]) s = s->next;
    if (!s) return SPMV_OK;
    TRY(spmv_mat_bring(mat));
    TRY(spmv_transpose_turned(mat, &turned));
    double *numbers = spmv_host_alloc((size_t)T->csr.nnz * sizeof *numbers);
    spmv_status status =
        numbers ? SPMV_OK : spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory for new values");
    for (; s && status == SPMV_OK; s = s->next) {
        if (s->given[0]) continue;
        status = take_lists(mat->ctx, s, p, places_of(s, p));
        if (status == SPMV_OK) list_places(mat, turned, numbers, threads, s);
    }
    spmv_host_free(numbers);
    spmv_host_give(mat->ctx, T->turned);
    T->turned = NULL;
    return status;
}

/* ---- writing them ---------------------------------------------------------------------------- */

enum { CHUNK = 2048 };    /* slots that are filled together in a near cache */
enum { LARGE = 1 << 20 }; /* slots; larger arrays are written by non-temporal stores */

#define INLINE static inline __attribute__((always_inline))

enum { AHEAD = 256 }; /* prefetch distance in slots */

/* to[k] = values[given[k] - 1], or the padding if given[k] = 0, for n slots. The first `asked`
 * slots prefetch the value AHEAD slots further. Adding `zero` turns a value of -0 into +0 if the
 * padding is -0. */
#define GATHER(name, from_type, to_type) \
    INLINE void name(const from_type *values, const uint32_t *given, int64_t n, int64_t asked, \
                     double padding, to_type *to) { \
        const to_type nothing = (to_type)padding, zero = -nothing; \
        for (int64_t k = 0; k < n; k++) { \
            const uint32_t g = given[k]; \
            if (k < asked) __builtin_prefetch(values + given[k + AHEAD]); \
            const to_type value = (to_type)values[g - (g != 0)] + zero; \
            to[k] = g ? value : nothing; \
        } \
    }
GATHER(f64_to_f64, double, double)
GATHER(f32_to_f64, float, double)
GATHER(f32_to_f32, float, float)

/* Copies with non-temporal stores of whole cache lines. */
static void copy_past(const char *from, size_t bytes, char *to) {
#ifdef __x86_64__
    enum { LINE = 64, VECTOR = 16 };
    const size_t before = -(uintptr_t)to % LINE, head = before < bytes ? before : bytes;
    memcpy(to, from, head);
    for (from += head, to += head, bytes -= head; bytes >= LINE;
         bytes -= LINE, from += LINE, to += LINE)
        for (int k = 0; k < LINE; k += VECTOR)
            _mm_stream_si128((__m128i *)(void *)(to + k),
                             _mm_loadu_si128((const __m128i *)(const void *)(from + k)));
    _mm_sfence();
#endif
    memcpy(to, from, bytes);
}

/* Fills slots first, ..., first + n - 1. */
static void fill(const void *values, bool from_f32, const uint32_t *given, const spmv_places *p,
                 int64_t first, int64_t n) {
    double room[CHUNK];
    char *to = (char *)p->values + first * p->width;
    const int64_t asked = p->n - first - AHEAD;
    void *near = p->n > LARGE ? (void *)room : to;
    if (is_f32(p))
        f32_to_f32(values, given + first, n, asked, p->padding, near);
    else if (from_f32)
        f32_to_f64(values, given + first, n, asked, p->padding, near);
    else
        f64_to_f64(values, given + first, n, asked, p->padding, near);
    if (near != to) copy_past(near, (size_t)(n * p->width), to);
}

static void fill_all(const spmv_mat *mat, const void *values, const uint32_t *given,
                     const spmv_places *p) {
    const int threads = spmv_threads_for(mat->ctx, p->n);
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < p->n; first += CHUNK)
        fill(values, mat->precision == SPMV_F32, given, p, first,
             p->n - first < CHUNK ? p->n - first : CHUNK);
}

void spmv_places_set(spmv_mat *mat, const void *values) {
    spmv_mat *T = mat->transpose;
    bool has_values = false; /* the CSR of T has received the values */
    for (spmv_stored *s = T->stores; s; s = s->next) {
        spmv_places p[SPMV_MOST_PLACES];
        const int n = places_of(s, p);
        for (int k = 0; k < n; k++) fill_all(mat, values, s->given[k], &p[k]);
        has_values |= shares_values(&T->csr, &p[0]);
    }
    spmv_transpose_has_values(T, has_values);
}

/* ---- the way back ---------------------------------------------------------------------------- */

const spmv_stored *spmv_places_of(const spmv_mat *T, bool used) {
    const spmv_stored *s = T->stores;
    while (s && !(s->given[0] && (!used || spmv_stored_plan(T, s)))) s = s->next;
    return s;
}

void *spmv_places_collect(const spmv_mat *mat) {
    const spmv_stored *s = spmv_places_of(mat->transpose, false);
    const bool to_f32 = mat->precision == SPMV_F32;
    const int threads = spmv_threads_for(mat->ctx, mat->coo.nnz);
    spmv_places p[SPMV_MOST_PLACES];
    void *out = spmv_host_alloc((size_t)mat->coo.nnz * sizeof(double));
    const int n = places_of(s, p);
    for (int a = 0; out && a < n; a++)
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = 0; k < p[a].n; k++) {
            const uint32_t g = s->given[a][k];
            if (g == 0) continue;
            const double value =
                is_f32(p) ? ((const float *)p[a].values)[k] : ((const double *)p[a].values)[k];
            if (to_f32)
                ((float *)out)[g - 1] = (float)value;
            else
                ((double *)out)[g - 1] = value;
        }
    return out;
}
