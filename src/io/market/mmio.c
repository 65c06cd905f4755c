/* mmio.c: reads Matrix Market files. The text is cut at line ends into blocks. A thread takes the
 * next block, parses it into entries in its own cache-sized arrays, waits for its turn, from which
 * it knows the number of entries and lines before the block, and copies the entries to their
 * destination. Every thread reads its blocks of a plain file itself; the file is not mapped, since
 * an access to a mapped file that was truncated kills the process. Text from a pipe or a
 * decompressor is read under a lock: while one thread decompresses, the others parse. */
#include "host/context.h"
#include "matrix/csr.h"
#include "mmio.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- blocks of text ------------------------------------------------------------------------- */

/* Takes the next block for a thread; false: none is left. */
static bool take_block(reader *r, worker *w) {
    bool taken = false;
    while (sem_wait(&r->source) != 0) spmv_input_has_signal(&r->input);
    bool stopped = atomic_load_explicit(&r->stop, memory_order_relaxed);
    if (!stopped && r->bytes >= 0) {
        taken = r->first_byte + r->next_block * BLOCK < r->end_byte;
    } else if (!stopped && r->text) {
        taken = r->text < r->text_end;
        if (taken) mm_cut_lines(r, w);
    } else if (!stopped && (!r->ended || r->ncarry > 0)) {
        mm_read_lines(r, w);
        taken = w->end > w->begin || w->endless || w->status != SPMV_OK;
    }
    if (taken) w->index = r->next_block++;
    sem_post(&r->source);
    if (taken && r->bytes >= 0) mm_read_block(r, w);
    return taken;
}

/* ---- putting blocks together ---------------------------------------------------------------- */

/* Grows the arrays to `needed` entries, by doubling up to the announced number. */
static spmv_status reserve(reader *r, int64_t needed) {
    spmv_coo *coo = &r->coo, larger = *coo;
    if (needed <= r->capacity) return SPMV_OK;
    larger.nnz = needed > 2 * r->capacity ? needed : 2 * r->capacity;
    if (larger.nnz > r->entries) larger.nnz = r->entries;
    TRY(spmv_coo_alloc(r->ctx, &larger, r->field != SPMV_PATTERN_FIELD));
    if (r->published > 0) {
        size_t n = (size_t)r->published;
        memcpy(larger.row, coo->row, n * sizeof *coo->row);
        memcpy(larger.col, coo->col, n * sizeof *coo->col);
        if (coo->values) memcpy(larger.values, coo->values, n * sizeof *coo->values);
    }
    r->capacity = larger.nnz;
    spmv_coo_free(coo);
    *coo = larger;
    return SPMV_OK;
}

/* Writes rows and columns of entries first to first + n - 1 of an array file. */
void mm_fill_positions(const reader *r, int64_t first, int64_t n, int32_t *row, int32_t *col) {
    int64_t j = 0, last = r->cols; /* the column of first is in j .. last - 1 */
    while (last - j > 1) {
        int64_t middle = j + (last - j) / 2;
        if (mm_column_start(r, middle) <= first)
            j = middle;
        else
            last = middle;
    }
    int64_t i = mm_first_row(r, j) + first - mm_column_start(r, j);
    for (int64_t k = first; k < first + n; k++, i++) {
        while (i ==
               r->rows) { /* a loop, since the last column of a skew-symmetric array is empty */
            j++;
            i = mm_first_row(r, j);
        }
        *row++ = (int32_t)i;
        *col++ = (int32_t)j;
    }
}

static void copy_entries(reader *r, const worker *w, int64_t first) {
    size_t n = (size_t)w->count;
    if (n == 0) return;
    if (r->coordinate) {
        memcpy(r->coo.row + first, w->row, n * sizeof *w->row);
        memcpy(r->coo.col + first, w->col, n * sizeof *w->col);
    } else {
        mm_fill_positions(r, first, w->count, r->coo.row + first, r->coo.col + first);
    }
    if (r->coo.values) memcpy(r->coo.values + first, w->values, n * sizeof *w->values);
}

spmv_status mm_report(const reader *r, const worker *w, int64_t lines) {
    char column[16] = "";
    if (w->column) snprintf(column, sizeof column, "%d:", w->column);
    if (w->located)
        return spmv_fail(r->ctx, w->status, "%s:%" PRId64 ":%s %s", r->path, lines, column,
                         w->error);
    return spmv_fail(r->ctx, w->status, "%s: %s", r->path, w->error);
}

void mm_each_oddity(const worker *w, void (*notice)(void *arg, int kind, int64_t line), void *arg) {
    for (unsigned left = w->oddities; left;) {
        int first = -1;
        for (int k = 0; k < ODDITIES; k++)
            if (left >> k & 1 && (first < 0 || w->odd_line[k] < w->odd_line[first])) first = k;
        notice(arg, first, w->odd_line[first]);
        left &= ~(1u << first);
    }
}

/* Adds notes about oddities that occur first in this block; called before its lines are counted. */
static void note_first(void *arg, int kind, int64_t line) {
    reader *r = arg;
    mm_note_once(r, kind, r->lines + line);
}

/* Waits for the block's turn, checks its entries against the announced number and copies them. */
static void publish_block(reader *r, worker *w, double *done) {
    int64_t first = 0;
    bool copy = false;
    pthread_mutex_lock(&r->order);
    while (r->turn != w->index) pthread_cond_wait(&r->turned, &r->order);
    if (r->status == SPMV_OK) {
        /* parses again, to stop at the first surplus line */
        if (w->count > r->entries - r->published) mm_read_entries(r, w, r->entries - r->published);
        first = r->published;
        mm_each_oddity(w, note_first, r);
        r->lines += w->located || w->status == SPMV_OK ? w->lines : 0;
        r->status = w->status == SPMV_OK ? reserve(r, first + w->count) : mm_report(r, w, r->lines);
        if (r->status == SPMV_OK) {
            copy = true;
            if (r->capacity < r->entries) { /* the arrays may still move: copy while no other thread
                                               can move them */
                copy_entries(r, w, first);
                copy = false;
            }
            r->published += w->count;
        } else {
            atomic_store_explicit(&r->stop, true, memory_order_relaxed);
            if (!r->archive) r->input.interrupted = true; /* a thread may wait for more text */
        }
    }
    *done = (double)r->published / (double)(r->entries ? r->entries : 1);
    r->turn++;
    pthread_cond_broadcast(&r->turned);
    pthread_mutex_unlock(&r->order);
    if (copy) copy_entries(r, w, first);
}

static bool make_buffer(const reader *r, worker *w) {
    size_t n = r->block_entries;
    if (!w->text) w->text = malloc(TEXT_BYTES + SPMV_TEXT_PAD);
    if (r->coordinate) {
        w->row = malloc(n * sizeof *w->row);
        w->col = malloc(n * sizeof *w->col);
    }
    if (r->field != SPMV_PATTERN_FIELD) w->values = malloc(n * sizeof *w->values);
    return w->text && (!r->coordinate || (w->row && w->col)) &&
           (r->field == SPMV_PATTERN_FIELD || w->values);
}

spmv_status mm_make_workers(reader *r, int threads) {
    r->threads = threads < 1 ? 1 : threads;
    r->workers = calloc((size_t)r->threads, sizeof *r->workers);
    if (r->workers) r->workers[0].text = malloc(TEXT_BYTES + SPMV_TEXT_PAD);
    return r->workers && r->workers[0].text ? SPMV_OK : spmv_no_memory_for(r->ctx, r->path);
}

spmv_status mm_make_buffers(reader *r, int threads) {
    for (int t = 0; t < threads; t++)
        if (!make_buffer(r, &r->workers[t])) return spmv_no_memory_for(r->ctx, r->path);
    return SPMV_OK;
}

void mm_read_blocks(reader *r, int threads, spmv_progress progress, void *arg) {
#pragma omp parallel num_threads(threads)
    {
        worker *w = &r->workers[omp_get_thread_num()];
        double done = 0, told = 0;
        while (take_block(r, w)) {
            if (w->status == SPMV_OK) mm_read_entries(r, w, (int64_t)r->block_entries);
            r->publish(r, w, &done);
            if (progress && omp_get_thread_num() == 0 && done - told >= 0.01) {
                progress(arg, done);
                told = done;
            }
        }
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Opens FILE of "FILE:NAME" if there is no file of the whole name; -1: there is no FILE. */
static int open_before_colon(reader *r) {
    const char *colon = strrchr(r->path, ':');
    char *file = colon && colon > r->path ? strndup(r->path, (size_t)(colon - r->path)) : NULL;
    const int fd = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        r->variable = colon + 1;
        r->path = r->own_path = file;
        return fd;
    }
    free(file);
    errno = ENOENT;
    return -1;
}

spmv_status mm_open_source(reader *r) {
    struct stat facts;
    const bool standard = strcmp(r->path, "-") == 0;
    r->bytes = -1;
    r->fd =
        standard ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : open(r->path, O_RDONLY | O_CLOEXEC);
    if (standard) r->path = "standard input";
    if (r->fd < 0 && errno == ENOENT) r->fd = open_before_colon(r);
    if (r->fd < 0 || fstat(r->fd, &facts) != 0)
        return spmv_fail(r->ctx, SPMV_E_IO, "%s: %s", r->path, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return spmv_fail(r->ctx, SPMV_E_FORMAT,
                         "%s: found a directory, expected a Matrix Market file", r->path);
    spmv_input_open(&r->input, r->fd);
    while (r->nhead < sizeof r->head) {
        ptrdiff_t got = spmv_input_read(&r->input, r->head + r->nhead, sizeof r->head - r->nhead);
        if (got < 0) return spmv_fail(r->ctx, SPMV_E_IO, "%s: %s", r->path, strerror(errno));
        if (got == 0) break;
        r->nhead += (size_t)got;
    }
    if (S_ISREG(facts.st_mode)) r->packed = facts.st_size;
    if (spmv_is_archive(r->head, r->nhead))
        return spmv_archive_open(r->ctx, r->path, &r->input, r->head, r->nhead, &r->archive);
    /* files of /proc have size 0 and yet contain text */
    if (r->packed > 0 && !standard) r->bytes = r->packed;
    return SPMV_OK;
}

/* Fails before anything is read if the entries and the CSR made from them do not fit into the
 * memory together. */
static spmv_status check_room(const reader *r) {
    const double entry = r->field == SPMV_PATTERN_FIELD ? 8 : 16;
    const int copies = r->symmetry == SPMV_GENERAL ? 1 : 2;
    const double need = (entry + 12 * copies) * (double)r->entries + 16 * (double)r->rows;
    return spmv_host_fits(r->ctx, r->rows, r->cols, r->entries, need);
}

void mm_prepare(reader *r) {
    if (!r->header_only) *r->ctx->note = 0;
    r->fd = -1;
    r->publish = publish_block;
    sem_init(&r->source, 0, 1);
    pthread_mutex_init(&r->order, NULL);
    pthread_cond_init(&r->turned, NULL);
    spmv_powers_init(&r->powers);
}

spmv_status mm_open(reader *r, int threads) {
    r->status = mm_open_source(r);
    if (r->status == SPMV_OK) r->status = mm_make_workers(r, threads);
    if (r->status != SPMV_OK) return r->status;
    r->carry = malloc(TEXT_BYTES);
    return r->status = r->carry ? SPMV_OK : spmv_no_memory_for(r->ctx, r->path);
}

spmv_status mm_begin(reader *r) {
    if (r->status != SPMV_OK) return r->status;
    if (r->variable)
        return r->status = spmv_fail(r->ctx, SPMV_E_ARG,
                                     "%s holds one matrix, which has no name: '%s' names none",
                                     r->path, r->variable);
    r->status = mm_read_header(r, r->workers);
    return r->status == SPMV_OK ? SPMV_OK : mm_report(r, r->workers, r->lines);
}

void mm_end(reader *r) {
    for (int t = 0; r->workers && t < r->threads; t++) {
        free(r->workers[t].text);
        free(r->workers[t].row);
        free(r->workers[t].col);
        free(r->workers[t].values);
    }
    free(r->workers);
    free(r->carry);
    free(r->own_path);
    spmv_archive_close(r->archive);
    if (r->fd >= 0) close(r->fd);
    pthread_cond_destroy(&r->turned);
    pthread_mutex_destroy(&r->order);
    sem_destroy(&r->source);
}

spmv_status mm_suspect_archive(const reader *r, spmv_status status) {
    if (!r->archive || status != SPMV_E_FORMAT || spmv_archive_is_sound(r->archive)) return status;
    return spmv_fail(r->ctx, spmv_archive_status(r->archive), "%s: %s", r->path,
                     spmv_archive_error(r->archive));
}

spmv_status mm_refuse_short(reader *r, int64_t entries, int64_t lines) {
    mm_refuse(r->workers, "found the end of the file after %" PRId64 " entries, expected %s",
              entries, mm_declared(r).text);
    return mm_report(r, r->workers, lines);
}

/* Reads the entries into r->coo. The arrays grow with a stream's entries, since the announced
 * number may be false. */
spmv_status mm_read_coo(reader *r, bool is_vector, spmv_progress progress, void *arg) {
    int threads = r->threads;
    const int64_t blocks = (r->bytes - r->first_byte + BLOCK - 1) / BLOCK;
    if (r->bytes >= 0 && blocks < threads) threads = blocks > 1 ? (int)blocks : 1;
    TRY(mm_make_buffers(r, threads));
    r->coo =
        (spmv_coo){.rows = r->rows, .cols = r->cols, .symmetry = r->symmetry, .field = r->field};
    r->capacity = -1; /* at least 1, so that a matrix without entries has arrays */
    const bool plausible = r->bytes >= 0 || r->entries <= FIRST_CAPACITY ||
                           r->entries / USUAL_RATIO <= r->packed / r->shortest;
    if (plausible && !is_vector) TRY(check_room(r));
    TRY(reserve(r, plausible ? r->entries : FIRST_CAPACITY));

    spmv_waiting_prepare(&r->ctx->waiting, threads);
    mm_read_blocks(r, threads, progress, arg);
    r->coo.nnz = r->published;
    if (r->status != SPMV_OK) return r->status;
    if (r->published < r->entries) return mm_refuse_short(r, r->published, r->lines);
    if (progress) progress(arg, 1);
    return SPMV_OK;
}

spmv_status spmv_read_matrix_market(spmv_ctx *ctx, const char *path, int threads,
                                    spmv_progress progress, void *arg, spmv_coo *out) {
    reader *r = calloc(1, sizeof *r);
    *out = (spmv_coo){0};
    if (!r) return spmv_no_memory_for(ctx, path);
    r->ctx = ctx;
    r->path = path;
    mm_prepare(r);
    mm_open(r, threads);
    spmv_status status = mm_begin(r);
    if (status == SPMV_OK) status = mm_read_coo(r, false, progress, arg);
    status = mm_suspect_archive(r, status);
    if (status == SPMV_OK)
        *out = r->coo;
    else
        spmv_coo_free(&r->coo);
    mm_end(r);
    free(r);
    return status;
}

/* ---- vectors -------------------------------------------------------------------------------- */

spmv_status mm_accept_vector(reader *r) {
    if (r->symmetry == SPMV_GENERAL && (r->rows == 1 || r->cols == 1)) return SPMV_OK;
    mm_refuse(r->workers,
              "found %s of %" PRId64 " rows and %" PRId64
              " columns, expected a vector: general, of one column or one row",
              r->coordinate ? "a coordinate matrix" : "an array", r->rows, r->cols);
    return r->status = mm_report(r, r->workers, r->lines);
}

bool mm_is_raw_name(const char *path) {
    size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".f64") == 0;
}

spmv_status mm_read_raw(spmv_ctx *ctx, const char *path, int64_t *n, double **out) {
    spmv_status status = SPMV_OK;
    struct stat facts;
    double *x = NULL;
    size_t done = 0, bytes = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &facts) != 0) {
        status = spmv_fail(ctx, SPMV_E_IO, "%s: %s", path, strerror(errno));
        goto done;
    }
    bytes = (size_t)facts.st_size;
    if (!S_ISREG(facts.st_mode) || bytes % sizeof *x) {
        status = spmv_fail(ctx, SPMV_E_FORMAT,
                           S_ISREG(facts.st_mode)
                               ? "%s: found %zu bytes, expected doubles: a multiple of 8"
                               : "%s: found a directory or device, expected a file of doubles",
                           path, bytes);
        goto done;
    }
    x = malloc(bytes ? bytes : 1);
    if (!x) {
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: %s has %.1f MB", path,
                           1e-6 * (double)bytes);
        goto done;
    }
    while (done < bytes) {
        ssize_t got = read(fd, (char *)x + done, bytes - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            status =
                spmv_fail(ctx, SPMV_E_IO, "%s: %s", path,
                          got < 0 ? strerror(errno) : "the file became shorter while it was read");
            goto done;
        }
        done += (size_t)got;
    }
    *n = (int64_t)(bytes / sizeof *x);
    *out = x;
    x = NULL;
done:
    free(x);
    if (fd >= 0) close(fd);
    return status;
}
