/* refill_host.c: writes new values into the canonical CSR and the stores in host memory.
 *
 * Works in chunks of rows: each chunk goes to the canonical CSR by non-temporal stores, because
 * nobody reads it soon, and to one store from the nearest cache. */
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "matrix/stores/ordered.h"
#include "matrix/origin.h"
#include "matrix/stores/stored.h"
#include "values.h"
#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { CHUNK = 8192, ROOM = 2 * CHUNK }; /* entries of a chunk: desired size and limit */
/* entries; larger arrays are written by non-temporal stores */
enum { LARGE = 1 << 20 };

/* Prefetches half a page ahead. The hardware prefetcher stops at the end of each page; streams from
 * memory are up to a quarter faster with this. Prefetching beyond the array is harmless. */
static inline __attribute__((always_inline)) void prefetch_ahead(const void *from) {
    enum { HALF_PAGE = 2048 };
    __builtin_prefetch((const void *)((uintptr_t)from + HALF_PAGE));
}

/* Copies n values, whole cache lines by non-temporal stores. */
static void copy_past(const double *from, int64_t n, double *to) {
#ifdef __x86_64__
    enum { LINE = 8 };
    for (; n > 0 && (uintptr_t)to % (LINE * sizeof *to); n--) *to++ = *from++;
    for (; n >= LINE; n -= LINE, from += LINE, to += LINE) {
        prefetch_ahead(from);
        for (int k = 0; k < LINE; k += 2) _mm_stream_pd(to + k, _mm_loadu_pd(from + k));
    }
    _mm_sfence();
#endif
    memcpy(to, from, (size_t)n * sizeof *to);
}

/* Converts n values to f64 and writes them twice: to `near`, and past the caches to `to`. */
static void widen_past(const float *from, int64_t n, double *near, double *to) {
#ifdef __x86_64__
    enum { LINE = 8 };
    for (; n > 0 && (uintptr_t)to % (LINE * sizeof *to); n--) *to++ = *near++ = *from++;
    for (; n >= LINE; n -= LINE, from += LINE, near += LINE, to += LINE) {
        prefetch_ahead(from);
        for (int k = 0; k < LINE; k += 4) {
            const __m128 four = _mm_loadu_ps(from + k);
            const __m128d low = _mm_cvtps_pd(four), high = _mm_cvtps_pd(_mm_movehl_ps(four, four));
            _mm_storeu_pd(near + k, low);
            _mm_storeu_pd(near + k + 2, high);
            _mm_stream_pd(to + k, low);
            _mm_stream_pd(to + k + 2, high);
        }
    }
    _mm_sfence();
#endif
    for (; n > 0; n--) *to++ = *near++ = *from++;
}

/* to[k] = values[from[first + k]] for k < n, converted to f64. */
static void gather(const spmv_new_values *v, int64_t first, int64_t n, double *to) {
    const float *narrow = v->values;
    const double *wide = v->values;
    const uint32_t *from = v->from + first;
    enum { AHEAD = 128 }; /* prefetch distance in entries */
    const int64_t asked = n > AHEAD ? n - AHEAD : 0;
    if (v->precision == SPMV_F32) {
        for (int64_t k = 0; k < asked; k++) {
            __builtin_prefetch(narrow + from[k + AHEAD]);
            to[k] = narrow[from[k]];
        }
        for (int64_t k = asked; k < n; k++) to[k] = narrow[from[k]];
    } else {
        for (int64_t k = 0; k < asked; k++) {
            __builtin_prefetch(wide + from[k + AHEAD]);
            to[k] = wide[from[k]];
        }
        for (int64_t k = asked; k < n; k++) to[k] = wide[from[k]];
    }
}

static void copy_to_rows(const double *from, int64_t first, int64_t n, const spmv_csr *A) {
    if (n == 0) return; /* the array may be NULL */
    if (A->nnz > LARGE)
        copy_past(from, n, A->values + first);
    else
        memcpy(A->values + first, from, (size_t)n * sizeof *from);
}

/* Writes the n values from entry `first` on to the canonical CSR. Returns a pointer p to a copy in
 * the caches, p[first] being the first value. room: [ROOM] buffer for the copy. */
static const double *bring_values(const spmv_new_values *v, int64_t first, int64_t n, double *room,
                                  const spmv_csr *A) {
    const float *narrow = v->values;
    const double *wide = v->values;
    if (wide == A->values) {
        enum { LINE = 8 };
        for (int64_t k = first; k < first + n; k += LINE) __builtin_prefetch(wide + k);
        return wide;
    }
    if (v->from) {
        double *to = n > ROOM ? A->values + first : room;
        gather(v, first, n, to);
        if (n > ROOM) return A->values;
        copy_to_rows(room, first, n, A);
        return (const double *)((uintptr_t)room - (uintptr_t)first * sizeof *room);
    }
    if (v->precision == SPMV_F64) {
        copy_to_rows(wide + first, first, n, A);
        return wide;
    }
    if (n <= ROOM && A->nnz > LARGE)
        widen_past(narrow + first, n, room, A->values + first);
    else {
        double *to = n > ROOM ? A->values + first : room;
        for (int64_t k = 0; k < n; k++) to[k] = narrow[first + k];
        if (n > ROOM) return A->values;
        copy_to_rows(room, first, n, A);
    }
    return (const double *)((uintptr_t)room - (uintptr_t)first * sizeof *room);
}

static bool is_by_rows(const spmv_stored *s) {
    return !s->only_on_device && s->format->refill_rows && s->format->rows_together(s->host) > 0;
}

static void refill_by_rows(const spmv_new_values *v, int threads, const spmv_csr *A,
                           const spmv_stored *s) {
    const int64_t unit = s->format->rows_together(s->host);
    const double entries = A->nnz ? (double)A->nnz / (double)A->rows * (double)unit : 1;
    const int64_t units = entries < CHUNK ? (int64_t)(CHUNK / entries) : 1;
    const int64_t rows = units * unit;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < A->rows; first += rows) {
        double room[ROOM];
        const int64_t end = first + rows < A->rows ? first + rows : A->rows;
        const int64_t n = A->row_ptr[end] - A->row_ptr[first];
        const spmv_csr_view view = {.rows = A->rows,
                                    .cols = A->cols,
                                    .nnz = A->nnz,
                                    .row_ptr = A->row_ptr,
                                    .col_idx = A->col_idx,
                                    .values = bring_values(v, A->row_ptr[first], n, room, A)};
        s->format->refill_rows(&view, first, end, s->host);
    }
}

/* Gathers n values, by non-temporal stores if they are many. */
static void gather_all(const spmv_new_values *v, int64_t n, int threads, double *out) {
    const spmv_csr to = {.nnz = n, .values = out};
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < n; first += CHUNK) {
        double room[CHUNK];
        const int64_t some = n - first < CHUNK ? n - first : CHUNK;
        gather(v, first, some, room);
        copy_to_rows(room, first, some, &to);
    }
}

void spmv_widen(const spmv_new_values *v, int64_t n, int threads, double *out) {
    const float *narrow = v->values;
    const double *wide = v->values;
    if (n == 0) return;
    if (v->from)
        gather_all(v, n, threads, out);
    else if (v->precision == SPMV_F32)
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int64_t k = 0; k < n; k++) out[k] = narrow[k];
    else if (wide != out)
#pragma omp parallel for schedule(static) num_threads(threads)
        for (int t = 0; t < threads; t++) {
            int64_t first = spmv_split(n, threads, t), end = spmv_split(n, threads, t + 1);
            memmove(out + first, wide + first, (size_t)(end - first) * sizeof *out);
        }
}

void spmv_refill_one(const spmv_csr *A, int threads, const spmv_stored *s) {
    const spmv_new_values own = {.values = A->values, .precision = SPMV_F64};
    const spmv_csr_view view = {.rows = A->rows,
                                .cols = A->cols,
                                .nnz = A->nnz,
                                .row_ptr = A->row_ptr,
                                .col_idx = A->col_idx,
                                .values = A->values};
    if (is_by_rows(s))
        refill_by_rows(&own, threads, A, s);
    else
        s->format->refill(&view, threads, s->host);
}

void spmv_refill_here(const spmv_mat *mat, const spmv_new_values *v, int threads) {
    const spmv_csr *A = &mat->csr;
    /* the store that is filled together with the canonical CSR */
    const spmv_stored *near = mat->stores;
    while (near && (spmv_is_ordered(near) || !is_by_rows(near))) near = near->next;
    if (near)
        refill_by_rows(v, threads, A, near);
    else
        spmv_widen(v, A->nnz, threads, A->values);
    for (const spmv_stored *s = mat->stores; s; s = s->next)
        if (s != near && !s->only_on_device && !spmv_is_ordered(s)) spmv_refill_one(A, threads, s);
}
