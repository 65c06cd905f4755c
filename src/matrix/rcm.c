/* rcm.c: reverse Cuthill-McKee (Cuthill and McKee, 1969; George and Liu, 1981) of the graph of
 * A + A', level by level: the children of a vertex follow each other in the order of their degrees,
 * and a vertex is the child of the first vertex of the level before that it is joined to. So the
 * order is that of a serial walk, for any number of threads. Each component begins with a vertex of
 * least degree. */
#include "csr.h"
#include "ordering.h"
#include "csr_to_csc.h"
#include <stdlib.h>

enum {
    FREE = INT32_MAX,     /* parent of a vertex that no level has reached */
    PLACED = INT32_MIN,   /* parent of a vertex in the order */
    LARGE_LEVEL = 1 << 11 /* vertices; a smaller level is walked by one thread */
};

typedef struct walk {
    const int64_t *ptr[2]; /* of A and of A' */
    const int32_t *idx[2];
    int32_t *parent;    /* [n] position in `order`, ~position once counted, FREE or PLACED */
    idx *order;         /* [n] the first `end` are placed */
    int64_t begin, end; /* the last level */
    int64_t *children;  /* [parts + 1] of the vertices of each part of the level */
} walk;

static int64_t degree_of(const walk *w, int64_t v) {
    return w->ptr[0][v + 1] - w->ptr[0][v] + w->ptr[1][v + 1] - w->ptr[1][v];
}

/* ---- one level ------------------------------------------------------------------------------- */

/* The vertices of a level join their neighbours; the first of the level becomes the parent. */
static void claim(const walk *w, int64_t first, int64_t end) {
    for (int64_t p = first; p < end; p++)
        for (int side = 0; side < 2; side++)
            for (int64_t k = w->ptr[side][w->order[p]]; k < w->ptr[side][w->order[p] + 1]; k++) {
                int32_t *parent = w->parent + w->idx[side][k];
                int32_t now = __atomic_load_n(parent, __ATOMIC_RELAXED);
                while (now > p && !__atomic_compare_exchange_n(parent, &now, (int32_t)p, true,
                                                               __ATOMIC_RELAXED, __ATOMIC_RELAXED))
                    continue;
            }
}

/* Calls the children of position p: their parent is `is`, and becomes `becomes`. out: a list, or
 * NULL. Returns how many there are. Only the thread that walks p writes them. */
static int64_t take_children(const walk *w, int64_t p, int32_t is, int32_t becomes, idx *out) {
    int64_t n = 0;
    for (int side = 0; side < 2; side++)
        for (int64_t k = w->ptr[side][w->order[p]]; k < w->ptr[side][w->order[p] + 1]; k++) {
            const int32_t u = w->idx[side][k];
            if (__atomic_load_n(w->parent + u, __ATOMIC_RELAXED) != is) continue;
            __atomic_store_n(w->parent + u, becomes, __ATOMIC_RELAXED);
            if (out) out[n] = u;
            n++;
        }
    return n;
}

static bool is_behind(const walk *w, idx a, idx b) {
    const int64_t p = degree_of(w, a), q = degree_of(w, b);
    return p != q ? p > q : a > b;
}

static int compare_degrees(const void *a, const void *b, void *of) {
    const idx p = *(const idx *)a, q = *(const idx *)b;
    return p == q ? 0 : is_behind(of, p, q) ? 1 : -1;
}

static void sort_by_degree(const walk *w, idx *list, int64_t n) {
    enum { SHORT = 48 };
    if (n > SHORT) {
        qsort_r(list, (size_t)n, sizeof *list, compare_degrees, (void *)(uintptr_t)w);
        return;
    }
    for (int64_t k = 1; k < n; k++) {
        const idx moved = list[k];
        int64_t hole = k;
        for (; hole > 0 && is_behind(w, list[hole - 1], moved); hole--) list[hole] = list[hole - 1];
        list[hole] = moved;
    }
}

static int64_t count_children(const walk *w, int64_t first, int64_t end) {
    int64_t n = 0;
    for (int64_t p = first; p < end; p++) n += take_children(w, p, (int32_t)p, ~(int32_t)p, NULL);
    return n;
}

static void place_children(const walk *w, int64_t first, int64_t end, idx *out) {
    for (int64_t p = first; p < end; p++) {
        const int64_t n = take_children(w, p, ~(int32_t)p, PLACED, out);
        sort_by_degree(w, out, n);
        out += n;
    }
}

/* Places the vertices that the last level is joined to. */
static void walk_level(walk *w, int threads) {
    const int64_t first = w->begin, n = w->end - first;
    const int parts = n < LARGE_LEVEL ? 1 : threads;
    w->children[0] = w->end;
#pragma omp parallel num_threads(parts) if (parts > 1)
    {
#pragma omp for schedule(static, 1)
        for (int t = 0; t < parts; t++)
            claim(w, first + spmv_split(n, parts, t), first + spmv_split(n, parts, t + 1));
#pragma omp for schedule(static, 1)
        for (int t = 0; t < parts; t++)
            w->children[t + 1] = count_children(w, first + spmv_split(n, parts, t),
                                                first + spmv_split(n, parts, t + 1));
#pragma omp single
        for (int t = 0; t < parts; t++) w->children[t + 1] += w->children[t];
#pragma omp for schedule(static, 1)
        for (int t = 0; t < parts; t++)
            place_children(w, first + spmv_split(n, parts, t), first + spmv_split(n, parts, t + 1),
                           w->order + w->children[t]);
    }
    w->begin = w->end;
    w->end = w->children[parts];
}

/* ---- the whole graph ------------------------------------------------------------------------- */

/* Sorts the vertices by degree: where components begin. */
static void sort_seeds(const walk *w, int64_t n, int threads, spmv_keys *keys) {
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t v = 0; v < n; v++) {
        keys->key[v] = (uint64_t)degree_of(w, v);
        keys->number[v] = (idx)v;
        w->parent[v] = FREE;
    }
    spmv_keys_sort(keys, n, threads);
}

static void walk_all(walk *w, const idx *seed, int64_t n, int threads) {
    for (int64_t next = 0; next < n; next++) {
        if (w->parent[seed[next]] == PLACED) continue;
        w->parent[seed[next]] = PLACED;
        w->begin = w->end;
        w->order[w->end++] = seed[next];
        while (w->begin < w->end) walk_level(w, threads);
    }
}

static void reverse(idx *order, int64_t n) {
    for (int64_t i = 0; i < n / 2; i++) {
        const idx other = order[n - 1 - i];
        order[n - 1 - i] = order[i];
        order[i] = other;
    }
}

static spmv_status walk_with(spmv_ctx *ctx, const spmv_csr_view *A, int threads, walk *w,
                             int64_t *ptr, int32_t *col, spmv_keys *keys) {
    spmv_csc_conversion t = {.lines = A->rows,
                             .places = A->cols,
                             .nnz = A->nnz,
                             .ptr = A->row_ptr,
                             .idx = A->col_idx,
                             .out_ptr = ptr,
                             .out_idx = col};
    TRY(spmv_csr_to_csc(ctx, &t));
    sort_seeds(w, A->rows, threads, keys);
    walk_all(w, keys->number, A->rows, threads);
    reverse(w->order, A->rows);
    return SPMV_OK;
}

spmv_status spmv_order_rcm(spmv_ctx *ctx, const spmv_csr_view *A, int threads, idx *out) {
    spmv_keys keys;
    if (A->rows != A->cols)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "rcm takes square matrices, and this one has %lld rows and %lld "
                         "columns: order=ends or order=hash",
                         (long long)A->rows, (long long)A->cols);
    TRY(spmv_keys_take(ctx, A->rows, threads, &keys));
    int64_t *ptr = spmv_host_alloc((size_t)(A->rows + 1) * sizeof *ptr);
    int32_t *col = spmv_host_alloc((size_t)A->nnz * sizeof *col);
    walk w = {.ptr = {A->row_ptr, ptr},
              .idx = {A->col_idx, col},
              .parent = spmv_host_alloc((size_t)A->rows * sizeof *w.parent),
              .order = out,
              .children = spmv_host_alloc((size_t)(threads + 1) * sizeof *w.children)};
    spmv_status status =
        ptr && col && w.parent && w.children
            ? walk_with(ctx, A, threads, &w, ptr, col, &keys)
            : spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: reverse Cuthill-McKee takes %.1f MB",
                        1e-6 * (4.0 * (double)A->nnz + 12.0 * (double)A->rows));
    spmv_host_free(ptr);
    spmv_host_free(col);
    spmv_host_free(w.parent);
    spmv_host_free(w.children);
    spmv_keys_free(&keys);
    return status;
}
