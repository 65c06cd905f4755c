/* read_arrays.c: reads a file's arrays by several threads, in pieces that stay in a core's cache. The
 * bytes of a compressed array follow from those before, so one thread reads all of it. */
#include "held.h"
#include "host/host.h"
#include <omp.h>
#include <stdlib.h>

#ifdef SPMV_FUZZING
enum { PIECE = 16 };
#else
enum { PIECE = 32 << 10 }; /* elements */
#endif

/* Returns the bytes of an element as it is wanted. */
static int width_of(spmv_role what) {
    return what == SPMV_INDICES ? 4 : 8;
}

static void keep_least(int64_t *least, int64_t k, int64_t n, int64_t first) {
    if (k == n) return;
#pragma omp critical(spmv_held_found)
    if (first + k < *least) *least = first + k;
}

static void note_found(spmv_wanted *w, spmv_found c, int64_t n, int64_t first) {
    keep_least(&w->found.bad, c.bad, n, first);
    keep_least(&w->found.rounded, c.rounded, n, first);
}

/* Reads elements first to first + n - 1; raw: [8 PIECE]. */
static spmv_status read_piece(spmv_wanted *w, int64_t first, int64_t n, unsigned char *raw) {
    const spmv_part *part = w->part;
    const int width = width_of(w->role);
    if (part->as.bytes == width) raw = (unsigned char *)w->to + first * width;
    TRY(spmv_part_raw(part, first, n, raw));
    note_found(w, spmv_convert(w, raw, first, n), n, first);
    return SPMV_OK;
}

/* One element of the file stands for all. */
static spmv_status repeat(spmv_wanted *w, unsigned char *raw) {
    if (w->n == 0) return SPMV_OK;
    spmv_wanted one = *w;
    one.found = (spmv_found){1, 1};
    TRY(spmv_part_raw(w->part, 0, 1, raw));
    note_found(w, spmv_convert(&one, raw, 0, 1), 1, 0);
    const int width = width_of(w->role);
    for (int64_t k = 1; k < w->n; k++) memcpy((char *)w->to + k * width, w->to, (size_t)width);
    return SPMV_OK;
}

static bool is_serial(const spmv_part *part) {
    return part->packed || part->fetch || part->same;
}

/* Returns how many pieces can be read at once. */
static int64_t pieces_of(const spmv_wanted *w) {
    if (w->after) return 0;
    return is_serial(w->part) ? 1 : (w->n + PIECE - 1) / PIECE;
}

static spmv_status read_in_order(spmv_wanted *w, unsigned char *raw) {
    spmv_status status = w->part->same ? repeat(w, raw) : SPMV_OK;
    for (int64_t k = 0; status == SPMV_OK && !w->part->same && k < w->n; k += PIECE)
        status = read_piece(w, k, w->n - k < PIECE ? w->n - k : PIECE, raw);
    return status;
}

/* Reads piece k of the array, or all of it and what follows from the same stream. */
static spmv_status read_task(spmv_wanted *all, int n, spmv_wanted *w, int64_t k,
                             unsigned char *raw) {
    const int64_t first = k * PIECE;
    if (!is_serial(w->part))
        return read_piece(w, first, w->n - first < PIECE ? w->n - first : PIECE, raw);
    TRY(read_in_order(w, raw));
    for (const spmv_wanted *last = w; last;) {
        spmv_wanted *next = NULL;
        for (int j = 0; j < n; j++)
            if (all[j].after == last) next = &all[j];
        if (next) TRY(read_in_order(next, raw));
        last = next;
    }
    return SPMV_OK;
}

/* Lets arrays of one stream follow each other as in the file. */
static void order_streams(spmv_wanted *all, int n) {
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            const spmv_part *p = all[j].part, *q = all[k].part;
            if (j == k || !p->packed || p->packed != q->packed || q->offset > p->offset ||
                (q->offset == p->offset && k > j))
                continue;
            if (!all[j].after || all[j].after->part->offset <= q->offset) all[j].after = &all[k];
        }
}

spmv_status spmv_read_arrays(const spmv_bytes *in, spmv_wanted *all, int n, int threads,
                             spmv_progress progress, void *arg) {
    int64_t tasks = 0, done = 0;
    spmv_status status = SPMV_OK;
    order_streams(all, n);
    for (int j = 0; j < n; j++) {
        all[j].found = (spmv_found){all[j].n, all[j].n};
        tasks += pieces_of(&all[j]);
    }
    if (tasks < threads) threads = tasks > 1 ? (int)tasks : 1;
    spmv_waiting_prepare(&in->ctx->waiting, threads);
    const size_t bytes = 8 * (size_t)PIECE;
    unsigned char *raw = malloc((size_t)threads * bytes);
    if (!raw) return spmv_no_memory_for(in->ctx, in->path);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < tasks; k++) {
        spmv_status found;
        int64_t piece = k, so_far;
        int j = 0;
#pragma omp atomic read
        found = status;
        if (found != SPMV_OK) continue;
        while (piece >= pieces_of(&all[j])) piece -= pieces_of(&all[j++]);
        found = read_task(all, n, &all[j], piece, raw + (size_t)omp_get_thread_num() * bytes);
        if (found != SPMV_OK) {
#pragma omp atomic write
            status = found;
        }
#pragma omp atomic capture
        so_far = ++done;
        if (progress && omp_get_thread_num() == 0 && so_far % 64 == 0)
            progress(arg, (double)so_far / (double)tasks);
    }
    free(raw);
    if (status == SPMV_OK && progress) progress(arg, 1);
    return status;
}
