/* read_arrays.c: reads a file's arrays by several threads. A thread reads runs of one huge page of
 * the result, since two threads that fault on one page would both clear it, and converts each run
 * in pieces that stay in its core's cache. A compressed array can only be read sequentially, by one
 * thread. */
#include "held.h"
#include "host/host.h"
#include <omp.h>
#include <stdlib.h>

/* Returns the size of a converted element in bytes. */
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

int64_t spmv_line_behind(const int64_t *ptr, int64_t lines, int64_t k) {
    int64_t low = 0, high = lines;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (ptr[middle] <= k)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t spmv_count_descents(const int32_t *index, int64_t first, int64_t n, const int64_t *ptr,
                            int64_t lines) {
    int32_t all = 0;
    int64_t between = 0; /* pairs of two lines */
    for (int64_t k = 1; k < n; k++) all += index[k] <= index[k - 1];
    if (all == 0) return 0;
    for (int64_t i = spmv_line_behind(ptr, lines, first); i < lines && ptr[i] < first + n; i++) {
        const int32_t *at = index + (ptr[i] - first);
        between += ptr[i] < ptr[i + 1] && at[0] <= at[-1];
    }
    return all - between;
}

/* Adds the pairs of elements first to first + n - 1, and the pair with the element before unless a
 * run begins with `first`. */
static void note_descents(spmv_wanted *w, int64_t first, int64_t n) {
    const int64_t before = first % (SPMV_RUN / 4) ? 1 : 0;
    const int64_t found = spmv_count_descents((int32_t *)w->to + first - before, first - before,
                                              n + before, w->ptr, w->lines);
    if (found == 0) return;
#pragma omp atomic
    w->descents += found;
}

/* Adds the pairs of the last element of a run and the first of the next. */
static void compare_runs(spmv_wanted *w) {
    const int32_t *index = w->to;
    for (int64_t k = SPMV_RUN / 4; w->ptr && k < w->n; k += SPMV_RUN / 4)
        w->descents += spmv_count_descents(index + k - 1, k - 1, 2, w->ptr, w->lines);
}

/* Reads elements first to first + n - 1; raw: [8 SPMV_PIECE]. */
static spmv_status read_piece(spmv_wanted *w, int64_t first, int64_t n, unsigned char *raw) {
    const spmv_part *part = w->part;
    const int width = width_of(w->role);
    if (part->as.bytes == width) raw = (unsigned char *)w->to + first * width;
    TRY(spmv_part_raw(part, first, n, raw));
    note_found(w, spmv_convert(w, raw, first, n), n, first);
    if (w->ptr) note_descents(w, first, n);
    return SPMV_OK;
}

/* Reads the one element that the file stores and copies it to all n. */
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

/* Returns the number of elements in a run. */
static int64_t run_of(const spmv_wanted *w) {
    return SPMV_RUN / width_of(w->role);
}

/* Returns the number of runs that threads can read independently. */
static int64_t runs_of(const spmv_wanted *w) {
    if (w->after) return 0;
    return spmv_part_is_random(w->part) ? (w->n + run_of(w) - 1) / run_of(w) : 1;
}

static spmv_status read_pieces(spmv_wanted *w, int64_t first, int64_t end, unsigned char *raw) {
    spmv_status status = w->part->same ? repeat(w, raw) : SPMV_OK;
    for (int64_t k = first; status == SPMV_OK && !w->part->same && k < end; k += SPMV_PIECE)
        status = read_piece(w, k, end - k < SPMV_PIECE ? end - k : SPMV_PIECE, raw);
    return status;
}

/* Reads run k of the array, or the whole array and those that follow it in its stream. */
static spmv_status read_task(spmv_wanted *all, int n, spmv_wanted *w, int64_t k,
                             unsigned char *raw) {
    const int64_t first = k * run_of(w), end = first + run_of(w);
    if (spmv_part_is_random(w->part)) return read_pieces(w, first, end < w->n ? end : w->n, raw);
    TRY(read_pieces(w, 0, w->n, raw));
    for (const spmv_wanted *last = w; last;) {
        spmv_wanted *next = NULL;
        for (int j = 0; j < n; j++)
            if (all[j].after == last) next = &all[j];
        if (next) TRY(read_pieces(next, 0, next->n, raw));
        last = next;
    }
    return SPMV_OK;
}

/* Sets `after`, so that the arrays of one stream are read in the order of the file. */
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
        tasks += runs_of(&all[j]);
    }
    if (tasks < threads) threads = tasks > 1 ? (int)tasks : 1;
    spmv_waiting_prepare(&in->ctx->waiting, threads);
    const size_t bytes = 8 * (size_t)SPMV_PIECE;
    unsigned char *raw = malloc((size_t)threads * bytes);
    if (!raw) return spmv_no_memory_for(in->ctx, in->path);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int64_t k = 0; k < tasks; k++) {
        spmv_status found;
        int64_t run = k, so_far;
        int j = 0;
#pragma omp atomic read
        found = status;
        if (found != SPMV_OK) continue;
        while (run >= runs_of(&all[j])) run -= runs_of(&all[j++]);
        found = read_task(all, n, &all[j], run, raw + (size_t)omp_get_thread_num() * bytes);
        if (found != SPMV_OK) {
#pragma omp atomic write
            status = found;
        }
#pragma omp atomic capture
        so_far = ++done;
        if (progress && omp_get_thread_num() == 0 && so_far % 8 == 0)
            progress(arg, (double)so_far / (double)tasks);
    }
    free(raw);
    for (int j = 0; status == SPMV_OK && j < n; j++) compare_runs(&all[j]);
    if (status == SPMV_OK && progress) progress(arg, 1);
    return status;
}
