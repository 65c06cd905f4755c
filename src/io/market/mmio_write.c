/* mmio_write.c: writes Matrix Market and raw files. Threads format batches in parallel and write
 * them in order. */
#include "host/context.h"
#include "host/host.h"
#include "mmio.h"
#include "io/whole_file.h"
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- writing -------------------------------------------------------------------------------- */

enum {
    BATCH = 8192,
    LONGEST_ENTRY = 64
}; /* entries formatted at a time; characters of one, with room to spare */

typedef struct write_job { /* source: n items of A or x */
    const spmv_csr_view *A;
    const double *x;
    int64_t n;
    char *(*format)(const struct write_job *job, int64_t first, int64_t last, char *to);
    spmv_field field;
    spmv_powers powers;
} write_job;

static char *format_index(char *to, uint64_t value) {
    char digits[20];
    int n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n) *to++ = digits[--n];
    return to;
}

/* Returns the shortest of %.15g, %.16g, %.17g that reads back as value. */
static char *format_value(const write_job *job, char *to, double value) {
    double magnitude = fabs(value), back;
    if (magnitude < 1e15 && magnitude == floor(magnitude)) {
        if (signbit(value)) *to++ = '-';
        return format_index(to, (uint64_t)magnitude);
    }
    for (int digits = 15;; digits++) {
        int n = snprintf(to, 32, "%.*g", digits, value);
        if (digits == 17 || (spmv_scan_double(&job->powers, to, &back) && back == value))
            return to + n;
    }
}

static char *format_entries(const write_job *job, int64_t first, int64_t last, char *to) {
    const spmv_csr_view *A = job->A;
    int64_t row = 0, above = A->rows; /* entry `first` is in a row from `row` to `above` - 1 */
    while (above - row > 1) {
        int64_t middle = row + (above - row) / 2;
        if (A->row_ptr[middle] <= first)
            row = middle;
        else
            above = middle;
    }
    for (int64_t k = first; k < last; k++) {
        while (A->row_ptr[row + 1] <= k) row++;
        to = format_index(to, (uint64_t)row + 1);
        *to++ = ' ';
        to = format_index(to, (uint64_t)A->col_idx[k] + 1);
        if (job->field != SPMV_PATTERN_FIELD) {
            *to++ = ' ';
            to = format_value(job, to, A->values[k]);
        }
        *to++ = '\n';
    }
    return to;
}

static char *format_vector(const write_job *job, int64_t first, int64_t last, char *to) {
    for (int64_t k = first; k < last; k++) {
        to = format_value(job, to, job->x[k]);
        *to++ = '\n';
    }
    return to;
}

static char *format_raw(const write_job *job, int64_t first, int64_t last, char *to) {
    size_t bytes = (size_t)(last - first) * sizeof *job->x;
    memcpy(to, job->x + first, bytes);
    return to + bytes;
}

typedef struct write_queue { /* batches that threads format in parallel and write in order */
    const write_job *job;
    int fd, error; /* errno of the first failure, or 0 */
    bool waits;    /* the file is a pipe or a terminal */
    int64_t next;  /* batch to be formatted */
    int64_t turn;  /* batch to be written */
    int64_t end;   /* batches */
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* signalled when `turn` or `error` changes */
} write_queue;

/* Takes the next batch; false: none is left, or writing failed. */
static bool take_batch(write_queue *q, int64_t *batch) {
    pthread_mutex_lock(&q->mutex);
    const bool taken = q->error == 0 && q->next < q->end;
    if (taken) *batch = q->next++;
    pthread_mutex_unlock(&q->mutex);
    return taken;
}

/* Writes a batch after all earlier batches; the thread sleeps until then. */
static void write_batch(write_queue *q, int64_t batch, const char *text, size_t n) {
    pthread_mutex_lock(&q->mutex);
    while (q->turn != batch) pthread_cond_wait(&q->moved, &q->mutex);
    const bool failed = q->error != 0;
    pthread_mutex_unlock(&q->mutex);
    const int error = failed ? 0 : spmv_write_all(q->fd, q->waits, text, n);
    pthread_mutex_lock(&q->mutex);
    if (error) q->error = error;
    q->turn++;
    pthread_cond_broadcast(&q->moved);
    pthread_mutex_unlock(&q->mutex);
}

static void format_batches(write_queue *q, char *text) {
    const write_job *job = q->job;
    for (int64_t batch; take_batch(q, &batch);) {
        const int64_t first = batch * BATCH, last = first + BATCH < job->n ? first + BATCH : job->n;
        write_batch(q, batch, text, (size_t)(job->format(job, first, last, text) - text));
    }
}

/* Returns errno of a failure, or 0. buffers: one for each thread. */
static int write_batches(const write_job *job, int fd, bool waits, int threads, char *buffers,
                         size_t bytes, locale_t plain) {
    write_queue q = {.job = job,
                     .fd = fd,
                     .waits = waits,
                     .end = (job->n + BATCH - 1) / BATCH,
                     .mutex = PTHREAD_MUTEX_INITIALIZER,
                     .moved = PTHREAD_COND_INITIALIZER};
#pragma omp parallel num_threads(threads)
    {
        const locale_t before = uselocale(plain);
        format_batches(&q, buffers + (size_t)omp_get_thread_num() * bytes);
        uselocale(before);
    }
    return q.error;
}

/* Writes the file: header, then the job's items. On failure the old file stays. */
static spmv_status write_file(spmv_ctx *ctx, const char *path, const char *header,
                              const write_job *job) {
    int threads = spmv_threads_for(ctx, job->n), error = 0;
    int64_t batches = (job->n + BATCH - 1) / BATCH;
    const size_t buffer_bytes = (size_t)BATCH * LONGEST_ENTRY + SPMV_TEXT_PAD;
    spmv_whole_file file;
    char *buffers = NULL;
    locale_t plain = (locale_t)0; /* decimal points in every locale of the program */
    error = spmv_whole_file_open(&file, path);
    if (error) return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(error));
    const bool waits = spmv_whole_file_waits(&file);
    if (batches < threads) threads = (int)batches;
    if (threads < 1 || waits) threads = 1; /* the calling thread, which receives signals */
    buffers = calloc((size_t)threads, buffer_bytes);
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    error = buffers && plain ? spmv_write_all(file.fd, waits, header, strlen(header)) : ENOMEM;
    if (error == 0)
        error = write_batches(job, file.fd, waits, threads, buffers, buffer_bytes, plain);

    if (plain) freelocale(plain);
    free(buffers);
    error = spmv_whole_file_close(&file, error);
    if (error == 0) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(error));
}

/* Returns the narrowest field that holds all values and is not narrower than `wanted`; merged
 * duplicates of a pattern are integers. */
static spmv_field fitting_field(const spmv_csr_view *A, spmv_field wanted) {
    for (int64_t k = 0; k < A->nnz && wanted != SPMV_REAL_FIELD; k++) {
        if (wanted == SPMV_PATTERN_FIELD && A->values[k] != 1) wanted = SPMV_INTEGER_FIELD;
        if (wanted == SPMV_INTEGER_FIELD &&
            !(fabs(A->values[k]) < 1e15 && A->values[k] == floor(A->values[k])))
            wanted = SPMV_REAL_FIELD;
    }
    return wanted;
}

spmv_status spmv_write_matrix_market(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                                     spmv_field field) {
    static const char *const names[] = {[SPMV_REAL_FIELD] = "real",
                                        [SPMV_INTEGER_FIELD] = "integer",
                                        [SPMV_PATTERN_FIELD] = "pattern"};
    char header[160];
    write_job job = {
        .A = A, .n = A->nnz, .format = format_entries, .field = fitting_field(A, field)};
    spmv_powers_init(&job.powers);
    snprintf(header, sizeof header,
             "%%%%MatrixMarket matrix coordinate %s general\n%" PRId64 " %" PRId64 " %" PRId64 "\n",
             names[job.field], A->rows, A->cols, A->nnz);
    return write_file(ctx, path, header, &job);
}

spmv_status spmv_write_vector(spmv_ctx *ctx, const char *path, int64_t n, const double *x) {
    char header[100] = "";
    write_job job = {.x = x,
                     .n = n,
                     .format = mm_is_raw_name(path) ? format_raw : format_vector,
                     .field = SPMV_REAL_FIELD};
    spmv_powers_init(&job.powers);
    if (!mm_is_raw_name(path))
        snprintf(header, sizeof header,
                 "%%%%MatrixMarket matrix array real general\n%" PRId64 " 1\n", n);
    return write_file(ctx, path, header, &job);
}
