/* held.c: from the arrays of a file, of any types and either byte order, to a matrix. Threads read
 * and convert pieces that stay in a core's cache; a compressed array is one piece, since its bytes
 * follow from those before. What could be wrong is found while the arrays are read, before anything
 * is indexed with them. */
#include "formats.h"
#include "host/host.h"
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef SPMV_FUZZING
enum { PIECE = 16 };
#else
enum { PIECE = 32 << 10 }; /* elements */
#endif

/* ---- lists ----------------------------------------------------------------------------------- */

spmv_held *spmv_contents_add(const spmv_bytes *in, spmv_contents *to) {
    if (to->n == to->room) {
        const int room = 2 * to->room + 4;
        spmv_held *item = realloc(to->item, (size_t)room * sizeof *item);
        if (!item) {
            spmv_no_memory_for(in->ctx, in->path);
            return NULL;
        }
        to->item = item;
        to->room = room;
    }
    to->item[to->n] = (spmv_held){.name = ""};
    return &to->item[to->n++];
}

spmv_deflated *spmv_contents_pack(const spmv_bytes *in, spmv_contents *to,
                                  const spmv_deflated *like) {
    spmv_deflated *p = malloc(sizeof *p), **all = NULL;
    if (p) all = realloc(to->packed, ((size_t)to->npacked + 1) * sizeof *all);
    if (!all) {
        free(p);
        spmv_no_memory_for(in->ctx, in->path);
        return NULL;
    }
    *p = *like;
    p->in = in;
    p->state = NULL;
    to->packed = all;
    all[to->npacked++] = p;
    return p;
}

void spmv_contents_free(spmv_contents *c) {
    for (int k = 0; k < c->npacked; k++) {
        spmv_deflated_end(c->packed[k]);
        free(c->packed[k]);
    }
    if (c->close) c->close(c->handle);
    free(c->packed);
    free(c->item);
    *c = (spmv_contents){.item = NULL};
}

/* ---- elements -------------------------------------------------------------------------------- */

spmv_status spmv_part_set(const spmv_bytes *in, spmv_part *part, const char *name,
                          spmv_deflated *packed, int64_t offset, int64_t n, spmv_element as) {
    const bool known = as.kind == 'f' ? as.bytes == 4 || as.bytes == 8
                       : as.kind == 'b'
                           ? as.bytes == 1
                           : (as.kind == 'i' || as.kind == 'u') &&
                                 (as.bytes == 1 || as.bytes == 2 || as.bytes == 4 || as.bytes == 8);
    *part = (spmv_part){.in = in, .packed = packed, .offset = offset, .n = n, .as = as};
    snprintf(part->name, sizeof part->name, "%s", name);
    if (as.kind == 'c')
        return spmv_refuse(in,
                           "%s of complex values, expected real, integer or pattern: complex "
                           "values are not supported",
                           name);
    if (as.kind == 'O')
        return spmv_refuse(
            in, "%s of Python objects, expected numbers: objects are never unpickled", name);
    if (!known)
        return spmv_refuse(in,
                           "%s of elements of another type, expected integers, Booleans or "
                           "floating-point numbers of 4 or 8 bytes",
                           name);
    if (!packed) return spmv_bytes_check(in, name, offset, n, as.bytes);
    if (n >= 0 && offset >= 0 && offset <= packed->unpacked &&
        n <= (packed->unpacked - offset) / as.bytes)
        return SPMV_OK;
    return spmv_refuse(in,
                       "%s of %" PRId64 " elements in %" PRId64 " unpacked bytes: is the file "
                       "cut short?",
                       name, n, packed->unpacked);
}

spmv_status spmv_part_raw(const spmv_part *part, int64_t first, int64_t n, void *to) {
    if (part->fetch) return part->fetch(part, first, n, to);
    const int64_t at = part->offset + first * part->as.bytes, bytes = n * part->as.bytes;
    if (part->packed) return spmv_deflated_read(part->packed, at, bytes, to);
    return spmv_bytes_read(part->in, part->name, at, bytes, to);
}

/* Loads an integer of a type that the compiler knows. */
static inline __attribute__((always_inline)) uint64_t load(const unsigned char *p, int bytes,
                                                           bool swapped, bool is_signed) {
    uint8_t one;
    uint16_t two;
    uint32_t four;
    uint64_t eight;
    switch (bytes) {
    case 1: memcpy(&one, p, 1); return is_signed ? (uint64_t)(int8_t)one : one;
    case 2:
        memcpy(&two, p, 2);
        if (swapped) two = __builtin_bswap16(two);
        return is_signed ? (uint64_t)(int16_t)two : two;
    case 4:
        memcpy(&four, p, 4);
        if (swapped) four = __builtin_bswap32(four);
        return is_signed ? (uint64_t)(int32_t)four : four;
    default: memcpy(&eight, p, 8); return swapped ? __builtin_bswap64(eight) : eight;
    }
}

/* Calls a loop with the type as constants, so that the compiler makes a loop for each. */
#define WIDTHS(call, swapped, is_signed) \
    (as.bytes == 1   ? call(1, swapped, is_signed) \
     : as.bytes == 2 ? call(2, swapped, is_signed) \
     : as.bytes == 4 ? call(4, swapped, is_signed) \
                     : call(8, swapped, is_signed))
#define BY_TYPE(call) \
    (as.swapped ? (as.kind == 'i' ? WIDTHS(call, true, true) : WIDTHS(call, true, false)) \
                : (as.kind == 'i' ? WIDTHS(call, false, true) : WIDTHS(call, false, false)))

typedef struct converted { /* the first of n elements that is wrong, or worth a note; n: none is */
    int64_t bad;           /* an index outside; a value that is infinite or no number */
    int64_t rounded;       /* an integer beyond 2^53 */
} converted;

static inline __attribute__((always_inline)) converted to_offsets(const unsigned char *raw,
                                                                  int64_t n, int64_t *to, int bytes,
                                                                  bool swapped, bool is_signed) {
    for (int64_t k = 0; k < n; k++)
        to[k] = (int64_t)load(raw + k * bytes, bytes, swapped, is_signed);
    return (converted){n, n};
}

static inline __attribute__((always_inline)) converted
to_indices(const unsigned char *raw, int64_t n, int64_t base, int64_t limit, int32_t *to, int bytes,
           bool swapped, bool is_signed) {
    int64_t outside = 0, k = 0;
    for (k = 0; k < n; k++) {
        const uint64_t index = load(raw + k * bytes, bytes, swapped, is_signed) - (uint64_t)base;
        outside += index >= (uint64_t)limit;
        to[k] = (int32_t)index;
    }
    if (!outside) return (converted){n, n};
    /* Where bytes were converted in place the indices are there; others are read again. */
    for (k = 0; k < n; k++)
        if (raw == (const unsigned char *)to
                ? (uint32_t)to[k] >= (uint64_t)limit
                : load(raw + k * bytes, bytes, swapped, is_signed) - (uint64_t)base >=
                      (uint64_t)limit)
            break;
    return (converted){k, n};
}

static inline __attribute__((always_inline)) converted to_values(const unsigned char *raw,
                                                                 int64_t n, double *to, int bytes,
                                                                 bool swapped, bool is_signed) {
    converted found = {n, n};
    for (int64_t k = 0; k < n; k++) {
        const uint64_t x = load(raw + k * bytes, bytes, swapped, is_signed);
        to[k] = is_signed ? (double)(int64_t)x : (double)x;
        if (bytes == 8 && found.rounded == n && fabs(to[k]) >= 0x1p53 &&
            (to[k] >= (is_signed ? 0x1p63 : 0x1p64) ||
             (is_signed ? (uint64_t)(int64_t)to[k] : (uint64_t)to[k]) != x))
            found.rounded = k;
    }
    return found;
}

static converted floats_to_values(const unsigned char *raw, int64_t n, spmv_element as,
                                  double *to) {
    int64_t odd = 0, k = 0;
    if (as.bytes == 8)
        for (k = 0; k < n; k++) {
            const uint64_t x = load(raw + 8 * k, 8, as.swapped, false);
            memcpy(&to[k], &x, sizeof x);
        }
    else
        for (k = 0; k < n; k++) {
            const uint32_t x = (uint32_t)load(raw + 4 * k, 4, as.swapped, false);
            float value;
            memcpy(&value, &x, sizeof x);
            to[k] = (double)value;
        }
    for (k = 0; k < n; k++) odd += !(fabs(to[k]) <= 0x1.fffffffffffffp1023);
    for (k = odd ? 0 : n; k < n && isfinite(to[k]); k++) continue;
    return (converted){k, n};
}

static converted truths_to_values(const unsigned char *raw, int64_t n, int bytes, double *to) {
    for (int64_t k = 0; k < n; k++) to[k] = load(raw + k * bytes, bytes, false, false) != 0;
    return (converted){n, n};
}

/* ---- arrays that are wanted ------------------------------------------------------------------ */

typedef enum role { OFFSETS, INDICES, VALUES } role;
typedef struct wanted {
    const spmv_part *part;
    role role;
    void *to; /* [n] of int64_t, int32_t or double */
    int64_t n, base, limit;
    converted found;            /* the first of each, in the whole array; n: none */
    const struct wanted *after; /* which is read from the same stream before this one; NULL: none */
} wanted;

static converted convert(const wanted *w, const unsigned char *raw, int64_t first, int64_t n) {
    const spmv_element as = w->part->as;
    int64_t *offsets = w->role == OFFSETS ? (int64_t *)w->to + first : NULL;
    int32_t *indices = w->role == INDICES ? (int32_t *)w->to + first : NULL;
    double *values = w->role == VALUES ? (double *)w->to + first : NULL;
#define OFFSETS_OF(bytes, swapped, is_signed) to_offsets(raw, n, offsets, bytes, swapped, is_signed)
#define INDICES_OF(bytes, swapped, is_signed) \
    to_indices(raw, n, w->base, w->limit, indices, bytes, swapped, is_signed)
#define VALUES_OF(bytes, swapped, is_signed) to_values(raw, n, values, bytes, swapped, is_signed)
    if (offsets) return BY_TYPE(OFFSETS_OF);
    if (indices) return BY_TYPE(INDICES_OF);
    if (as.kind == 'b') return truths_to_values(raw, n, as.bytes, values);
    return as.kind == 'f' ? floats_to_values(raw, n, as, values) : BY_TYPE(VALUES_OF);
}

/* Returns the bytes of an element as it is wanted. */
static int width_of(role what) {
    return what == INDICES ? 4 : 8;
}

static void keep_least(int64_t *least, int64_t k, int64_t n, int64_t first) {
    if (k == n) return;
#pragma omp critical(spmv_held_found)
    if (first + k < *least) *least = first + k;
}

static void note_found(wanted *w, converted c, int64_t n, int64_t first) {
    keep_least(&w->found.bad, c.bad, n, first);
    keep_least(&w->found.rounded, c.rounded, n, first);
}

/* Reads elements first to first + n - 1; raw: [8 PIECE]. */
static spmv_status read_piece(wanted *w, int64_t first, int64_t n, unsigned char *raw) {
    const spmv_part *part = w->part;
    const int width = width_of(w->role);
    if (part->as.bytes == width) raw = (unsigned char *)w->to + first * width;
    TRY(spmv_part_raw(part, first, n, raw));
    note_found(w, convert(w, raw, first, n), n, first);
    return SPMV_OK;
}

/* One element of the file stands for all. */
static spmv_status repeat(wanted *w, unsigned char *raw) {
    if (w->n == 0) return SPMV_OK;
    wanted one = *w;
    one.found = (converted){1, 1};
    TRY(spmv_part_raw(w->part, 0, 1, raw));
    note_found(w, convert(&one, raw, 0, 1), 1, 0);
    const int width = width_of(w->role);
    for (int64_t k = 1; k < w->n; k++) memcpy((char *)w->to + k * width, w->to, (size_t)width);
    return SPMV_OK;
}

static bool is_serial(const spmv_part *part) {
    return part->packed || part->fetch || part->same;
}

/* Returns how many pieces can be read at once. */
static int64_t pieces_of(const wanted *w) {
    if (w->after) return 0;
    return is_serial(w->part) ? 1 : (w->n + PIECE - 1) / PIECE;
}

static spmv_status read_in_order(wanted *w, unsigned char *raw) {
    spmv_status status = w->part->same ? repeat(w, raw) : SPMV_OK;
    for (int64_t k = 0; status == SPMV_OK && !w->part->same && k < w->n; k += PIECE)
        status = read_piece(w, k, w->n - k < PIECE ? w->n - k : PIECE, raw);
    return status;
}

/* Reads piece k of the array, or all of it and what follows from the same stream. */
static spmv_status read_task(wanted *all, int n, wanted *w, int64_t k, unsigned char *raw) {
    const int64_t first = k * PIECE;
    if (!is_serial(w->part))
        return read_piece(w, first, w->n - first < PIECE ? w->n - first : PIECE, raw);
    TRY(read_in_order(w, raw));
    for (const wanted *last = w; last;) {
        wanted *next = NULL;
        for (int j = 0; j < n; j++)
            if (all[j].after == last) next = &all[j];
        if (next) TRY(read_in_order(next, raw));
        last = next;
    }
    return SPMV_OK;
}

/* Lets arrays of one stream follow each other as in the file. */
static void order_streams(wanted *all, int n) {
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++) {
            const spmv_part *p = all[j].part, *q = all[k].part;
            if (j == k || !p->packed || p->packed != q->packed || q->offset > p->offset ||
                (q->offset == p->offset && k > j))
                continue;
            if (!all[j].after || all[j].after->part->offset <= q->offset) all[j].after = &all[k];
        }
}

static spmv_status read_all(const spmv_bytes *in, wanted *all, int n, int threads,
                            spmv_progress progress, void *arg) {
    int64_t tasks = 0, done = 0;
    spmv_status status = SPMV_OK;
    order_streams(all, n);
    for (int j = 0; j < n; j++) {
        all[j].found = (converted){all[j].n, all[j].n};
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

spmv_status spmv_part_integers(const spmv_part *part, int64_t first, int64_t n, int64_t *to) {
    const spmv_element as = part->as;
    enum { FEW = 1024 };
    unsigned char raw[8 * FEW];
    for (int64_t k = 0; k < n; k += FEW) {
        const int64_t some = n - k < FEW ? n - k : FEW;
        int64_t *offsets = to + k;
        TRY(spmv_part_raw(part, part->same ? 0 : first + k, part->same ? 1 : some, raw));
#define INTEGERS_OF(bytes, swapped, is_signed) \
    to_offsets(raw, part->same ? 1 : some, offsets, bytes, swapped, is_signed)
        BY_TYPE(INTEGERS_OF);
        for (int64_t j = 1; part->same && j < some; j++) offsets[j] = *offsets;
    }
    return SPMV_OK;
}

/* ---- what is wrong --------------------------------------------------------------------------- */

typedef struct element_name {
    char text[120];
} element_name;

/* Names element k of an array, and its place in the file. */
static element_name element_of(const spmv_part *part, int64_t k) {
    element_name name;
    const int64_t at = part->offset + (part->same ? 0 : k) * part->as.bytes;
    if (part->fetch)
        snprintf(name.text, sizeof name.text, "%s[%" PRId64 "]", part->name, part->before + k);
    else
        snprintf(name.text, sizeof name.text, "%s[%" PRId64 "] (byte %" PRId64 "%s)", part->name,
                 part->before + k, at, part->packed ? " unpacked" : "");
    return name;
}

spmv_status spmv_refuse_element(const spmv_part *part, int64_t k, int64_t is, int64_t least,
                                int64_t most) {
    return spmv_refuse(part->in, "%s that is %" PRId64 ", expected %" PRId64 " to %" PRId64,
                       element_of(part, k).text, is, least, most);
}

static void note(const spmv_bytes *in, const char *format, const char *what) {
    char *text = in->ctx->note;
    const size_t n = strlen(text), size = sizeof in->ctx->note;
    const int head = snprintf(text + n, size - n, "%s%s: ", n ? "\n" : "", in->path);
    if (head > 0 && n + (size_t)head < size)
        snprintf(text + n + head, size - n - (size_t)head, format, what);
}

static spmv_status check_indices(const wanted *w, int64_t used) {
    int64_t index = 0;
    if (w->found.bad >= used) return SPMV_OK;
    TRY(spmv_part_integers(w->part, w->found.bad, 1, &index));
    return spmv_refuse_element(w->part, w->found.bad, index, w->base, w->limit - 1 + w->base);
}

static void note_values(const wanted *w, int64_t used) {
    if (w->found.bad < used)
        note(w->part->in, "the value inf or nan is read, here first: %s",
             element_of(w->part, w->found.bad).text);
    if (w->found.rounded < used)
        note(w->part->in, "an integer beyond 2^53 is read as the nearest double, here first: %s",
             element_of(w->part, w->found.rounded).text);
}

/* Turns offsets as they are in the file, lengths or not, into ones from 0 that ascend to at most
 * `most`. */
static spmv_status settle_offsets(const spmv_held *h, int64_t lines, int64_t most, int64_t *ptr) {
    const bool lengths = h->shape == SPMV_HELD_LENGTHS;
    if (lengths) {
        for (int64_t i = lines; i > 0; i--) ptr[i] = ptr[i - 1];
        ptr[0] = 0;
    }
    for (int64_t i = 0; i <= lines; i++) {
        const int64_t before = i ? ptr[i - 1] : 0, given = ptr[i];
        if (lengths && i) {
            if (given < 0 || given > most - before)
                return spmv_refuse_element(&h->ptr, i - 1, given, 0, most - before);
            ptr[i] = before + given;
        } else if (!lengths) {
            const int64_t base = h->base + h->skipped, least = before + base,
                          last = i ? most + base : base;
            if (given < least || given > last)
                return spmv_refuse_element(&h->ptr, i, given, least, last);
            ptr[i] = given - base;
        }
    }
    return SPMV_OK;
}

static spmv_status check_size(const spmv_bytes *in, const char *what, int64_t size) {
    if (size >= 0 && size <= INT32_MAX) return SPMV_OK;
    if (size < 0)
        return spmv_refuse(in, "'%" PRId64 "' as the number of %s, expected an integer from 0",
                           size, what);
    return spmv_refuse(in,
                       "'%" PRId64 "' as the number of %s, expected at most %d: rows and "
                       "columns are numbered in 32 bits",
                       size, what, INT32_MAX);
}

static spmv_status check_length(const spmv_part *part, int64_t expected) {
    if (part->n == expected) return SPMV_OK;
    return spmv_refuse(part->in, "%" PRId64 " elements of %s, expected %" PRId64, part->n,
                       part->name, expected);
}

static spmv_status check_integers(const spmv_part *part) {
    if (!*part->name || part->as.kind == 'i' || part->as.kind == 'u') return SPMV_OK;
    return spmv_refuse(part->in, "%s that are no integers", part->name);
}

/* Returns how many numbers each element of idx has among the values; 0: any. */
static int64_t values_each(const spmv_held *h) {
    return h->shape == SPMV_HELD_BLOCKS      ? h->block_rows * h->block_cols
           : h->shape == SPMV_HELD_DIAGONALS ? h->width
                                             : 1;
}

static int64_t lines_of(const spmv_held *h) {
    return h->shape == SPMV_HELD_COLUMNS  ? h->cols
           : h->shape == SPMV_HELD_BLOCKS ? h->rows / h->block_rows
                                          : h->rows;
}

static bool is_compressed(const spmv_held *h) {
    return h->shape == SPMV_HELD_ROWS || h->shape == SPMV_HELD_LENGTHS ||
           h->shape == SPMV_HELD_COLUMNS || h->shape == SPMV_HELD_BLOCKS;
}

spmv_status spmv_held_check(const spmv_bytes *in, const spmv_held *h) {
    TRY(check_size(in, "rows", h->rows));
    TRY(check_size(in, "columns", h->cols));
    if (h->symmetry != SPMV_GENERAL && h->rows != h->cols)
        return spmv_refuse(in,
                           "a symmetric matrix of %" PRId64 " rows and %" PRId64
                           " columns, expected as many columns as rows",
                           h->rows, h->cols);
    if (spmv_held_is_dense(h)) return check_length(&h->values, h->rows * h->cols);
    TRY(check_integers(&h->ptr));
    TRY(check_integers(&h->line));
    TRY(check_integers(&h->idx));
    if (h->shape == SPMV_HELD_BLOCKS &&
        (h->block_rows < 1 || h->block_cols < 1 || h->block_rows > INT32_MAX ||
         h->block_cols > INT32_MAX || h->rows % h->block_rows || h->cols % h->block_cols))
        return spmv_refuse(
            in, "blocks of %" PRId64 " x %" PRId64 " in a matrix of %" PRId64 " x %" PRId64,
            h->block_rows, h->block_cols, h->rows, h->cols);
    if (h->shape == SPMV_HELD_DIAGONALS && (h->width < 0 || h->width > INT32_MAX))
        return check_size(in, "columns", h->width);
    if (is_compressed(h)) TRY(check_length(&h->ptr, lines_of(h) + (h->shape != SPMV_HELD_LENGTHS)));
    if (h->shape == SPMV_HELD_ENTRIES) TRY(check_length(&h->line, h->idx.n));
    const int64_t each = values_each(h);
    if (*h->values.name && each && (h->values.n % each || h->values.n / each != h->idx.n) &&
        !(is_compressed(h) && each == 1)) /* arrays may have room to grow */
        return check_length(&h->values, h->idx.n * each);
    return SPMV_OK;
}

static bool has_single_values(const spmv_held *h) {
    return !spmv_held_is_dense(h) && h->shape != SPMV_HELD_BLOCKS &&
           h->shape != SPMV_HELD_DIAGONALS;
}

int64_t spmv_held_count(const spmv_held *h) {
    const bool has_values = *h->values.name && !h->values.same;
    if (!has_single_values(h)) return h->values.n;
    return has_values && h->values.n < h->idx.n ? h->values.n : h->idx.n;
}

/* ---- to entries ------------------------------------------------------------------------------ */

typedef struct arrays { /* the file's arrays, converted */
    int64_t *ptr;
    int32_t *line, *idx;
    double *values;
} arrays;

static void free_arrays(spmv_ctx *ctx, arrays *a) {
    spmv_host_give(ctx, a->ptr);
    spmv_host_give(ctx, a->line);
    spmv_host_give(ctx, a->idx);
    spmv_host_give(ctx, a->values);
    *a = (arrays){0};
}

/* Reads all arrays of a variable but the offsets of diagonals; *n: its entries, or blocks. */
static spmv_status read_arrays(const spmv_bytes *in, const spmv_held *h, int threads,
                               spmv_progress progress, void *arg, arrays *out, int64_t *n) {
    spmv_ctx *ctx = in->ctx;
    const int64_t each = values_each(h), lines = lines_of(h),
                  limit = h->shape == SPMV_HELD_COLUMNS  ? h->rows
                          : h->shape == SPMV_HELD_BLOCKS ? h->cols / h->block_cols
                                                         : h->cols;
    const bool dense = spmv_held_is_dense(h), diagonals = h->shape == SPMV_HELD_DIAGONALS;
    wanted all[4];
    int count = 0;
    *n = has_single_values(h) || dense ? spmv_held_count(h) : h->idx.n;
    const int64_t nvalues = dense ? *n : *n * each;
    if (is_compressed(h)) {
        out->ptr = spmv_host_take(ctx, (size_t)(lines + 1) * sizeof *out->ptr);
        all[count++] = (wanted){.part = &h->ptr, .role = OFFSETS, .to = out->ptr, .n = h->ptr.n};
        if (!out->ptr) return spmv_no_memory_for(in->ctx, in->path);
    }
    if (h->shape == SPMV_HELD_ENTRIES) {
        out->line = spmv_host_take(ctx, (size_t)*n * sizeof *out->line);
        all[count++] = (wanted){.part = &h->line,
                                .role = INDICES,
                                .to = out->line,
                                .n = *n,
                                .base = h->base,
                                .limit = h->rows};
        if (!out->line) return spmv_no_memory_for(in->ctx, in->path);
    }
    if (!dense && !diagonals) {
        out->idx = spmv_host_take(ctx, (size_t)*n * sizeof *out->idx);
        all[count++] = (wanted){.part = &h->idx,
                                .role = INDICES,
                                .to = out->idx,
                                .n = *n,
                                .base = h->base,
                                .limit = limit};
        if (!out->idx) return spmv_no_memory_for(in->ctx, in->path);
    }
    if (*h->values.name) {
        out->values = spmv_host_take(ctx, (size_t)nvalues * sizeof *out->values);
        all[count++] =
            (wanted){.part = &h->values, .role = VALUES, .to = out->values, .n = nvalues};
        if (!out->values) return spmv_no_memory_for(in->ctx, in->path);
    }
    TRY(read_all(in, all, count, threads, progress, arg));
    if (out->ptr) {
        TRY(settle_offsets(h, lines, *n, out->ptr));
        *n = out->ptr[lines];
    }
    for (int k = 0; k < count; k++)
        if (all[k].role == INDICES) TRY(check_indices(&all[k], *n));
    if (*h->values.name) note_values(&all[count - 1], *n * (dense ? 1 : each));
    return SPMV_OK;
}

/* Writes the line of each entry. */
static int32_t *lines_of_entries(spmv_ctx *ctx, const int64_t *ptr, int64_t lines, int threads) {
    int32_t *line = spmv_host_take(ctx, (size_t)ptr[lines] * sizeof *line);
    if (!line) return NULL;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = ptr[i]; k < ptr[i + 1]; k++) line[k] = (int32_t)i;
    return line;
}

/* Drops entries below the diagonal. */
static int64_t keep_upper(arrays *a, int64_t n) {
    int64_t kept = 0;
    for (int64_t k = 0; k < n; k++) {
        if (a->idx[k] < a->line[k]) continue;
        a->line[kept] = a->line[k];
        a->idx[kept] = a->idx[k];
        if (a->values) a->values[kept] = a->values[k];
        kept++;
    }
    return kept;
}

/* Says of a square matrix that has entries above the diagonal, but none below, what it may be. */
static void note_half(const spmv_bytes *in, const spmv_held *h, const arrays *a) {
    bool above = false;
    if (!h->may_be_half || h->rows != h->cols) return;
    for (int64_t i = 0; i < h->rows; i++)
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++) {
            if (a->idx[k] < i) return;
            above |= a->idx[k] > i;
        }
    if (above)
        note(in,
             "no entry is below the diagonal; if the file holds half of a symmetric matrix, as "
             "PETSc writes one of the type sbaij, add %s to its name",
             ":symmetric");
}

/* Hands compressed lines over, or with half of a symmetric matrix its entries. */
static spmv_status take_compressed(const spmv_bytes *in, const spmv_held *h, int threads, arrays *a,
                                   spmv_lines *out) {
    const bool by_columns = h->shape == SPMV_HELD_COLUMNS;
    if (h->symmetry == SPMV_GENERAL) {
        out->ptr = a->ptr;
        out->by_columns = by_columns;
    } else {
        a->line = lines_of_entries(in->ctx, a->ptr, lines_of(h), threads);
        if (!a->line) return spmv_no_memory_for(in->ctx, in->path);
        spmv_host_give(in->ctx, a->ptr);
        if (h->upper_half) out->coo.nnz = keep_upper(a, out->coo.nnz);
    }
    out->coo.row = by_columns && !out->ptr ? a->idx : a->line;
    out->coo.col = by_columns && !out->ptr ? a->line : a->idx; /* indices of compressed lines */
    out->coo.values = a->values;
    *a = (arrays){0};
    return SPMV_OK;
}

static void expand_blocks(const spmv_held *h, int threads, const arrays *a, spmv_coo *out) {
    const int64_t height = h->block_rows, width = h->block_cols, each = height * width;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t i = 0; i < h->rows / height; i++)
        for (int64_t k = a->ptr[i]; k < a->ptr[i + 1]; k++)
            for (int64_t b = 0; b < each; b++) {
                const int64_t to = k * each + b, r = b / width, c = b % width;
                out->row[to] = (int32_t)(i * height + r);
                out->col[to] = (int32_t)(a->idx[k] * width + c);
                if (a->values)
                    out->values[to] =
                        a->values[h->first_fastest ? (c * height + r) * h->idx.n + k : to];
            }
}

/* What a diagonal stores of columns or rows outside the matrix is no entry; SciPy takes a stored 0
 * for none, too. Returns how many entries there are; out NULL: only counts. */
static int64_t expand_diagonals(const spmv_held *h, const int64_t *offset, const double *values,
                                spmv_coo *out) {
    int64_t n = 0;
    for (int64_t d = 0; d < h->idx.n; d++)
        for (int64_t j = 0; j < h->width && j < h->cols; j++) {
            const double value = values[h->first_fastest ? j * h->idx.n + d : d * h->width + j];
            if (j < offset[d] || j - offset[d] >= h->rows || value == 0) continue;
            if (out) {
                out->row[n] = (int32_t)(j - offset[d]);
                out->col[n] = (int32_t)j;
                out->values[n] = value;
            }
            n++;
        }
    return n;
}

static spmv_status take_diagonals(const spmv_bytes *in, const spmv_held *h, const arrays *a,
                                  spmv_coo *out) {
    int64_t *offset = malloc((size_t)(h->idx.n + 1) * sizeof *offset);
    spmv_status status = offset ? spmv_part_integers(&h->idx, 0, h->idx.n, offset)
                                : spmv_no_memory_for(in->ctx, in->path);
    for (int64_t d = 0; status == SPMV_OK && d < h->idx.n; d++)
        if (offset[d] < -(int64_t)INT32_MAX || offset[d] > INT32_MAX)
            status = spmv_refuse(in, "%s that is %" PRId64 ", expected a diagonal of the matrix",
                                 element_of(&h->idx, d).text, offset[d]);
    if (status == SPMV_OK) {
        out->nnz = expand_diagonals(h, offset, a->values, NULL);
        status = spmv_coo_alloc(in->ctx, out, true);
    }
    if (status == SPMV_OK) expand_diagonals(h, offset, a->values, out);
    free(offset);
    return status;
}

static void place_dense(const spmv_held *h, int threads, spmv_coo *out) {
    const bool by_rows = h->shape == SPMV_HELD_BY_ROWS;
    const int64_t length = by_rows ? h->cols : h->rows;
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t k = 0; k < out->nnz; k++) {
        out->row[k] = (int32_t)(by_rows ? k / length : k % length);
        out->col[k] = (int32_t)(by_rows ? k % length : k / length);
    }
}

/* Entries of other shapes, whose arrays are copied. */
static spmv_status take_others(const spmv_bytes *in, const spmv_held *h, int threads, int64_t n,
                               arrays *a, spmv_lines *out) {
    spmv_coo *coo = &out->coo;
    if (h->shape == SPMV_HELD_DIAGONALS) return take_diagonals(in, h, a, coo);
    coo->nnz = n * (h->shape == SPMV_HELD_BLOCKS ? h->block_rows * h->block_cols : 1);
    TRY(spmv_coo_alloc(in->ctx, coo, a->values));
    if (h->shape == SPMV_HELD_BLOCKS) {
        expand_blocks(h, threads, a, coo);
        return SPMV_OK;
    }
    place_dense(h, threads, coo);
    spmv_host_give(in->ctx, coo->values);
    coo->values = a->values;
    a->values = NULL;
    return SPMV_OK;
}

spmv_status spmv_lines_expand(spmv_lines *lines) {
    spmv_coo *coo = &lines->coo;
    const int64_t n = lines->by_columns ? coo->cols : coo->rows;
    if (!lines->ptr) return SPMV_OK;
    int32_t *line = lines_of_entries(coo->ctx, lines->ptr, n, spmv_threads_for(coo->ctx, coo->nnz));
    if (!line) return spmv_fail(coo->ctx, SPMV_E_NOMEM, "out of memory for a matrix's entries");
    coo->row = lines->by_columns ? coo->col : line;
    coo->col = lines->by_columns ? line : coo->col;
    spmv_host_give(coo->ctx, lines->ptr);
    lines->ptr = NULL;
    return SPMV_OK;
}

spmv_field spmv_held_field(const spmv_held *h) {
    if (!*h->values.name) return SPMV_PATTERN_FIELD;
    return h->values.as.kind == 'f' && !h->integers ? SPMV_REAL_FIELD : SPMV_INTEGER_FIELD;
}

/* What the arrays take while both they and what is made of them are there. */
static spmv_status check_room(const spmv_bytes *in, const spmv_held *h) {
    const double n = (double)spmv_held_count(h), lines = (double)lines_of(h);
    const bool as_is = h->shape == SPMV_HELD_ROWS || h->shape == SPMV_HELD_LENGTHS;
    return spmv_host_fits(in->ctx, h->rows, h->cols, spmv_held_count(h),
                          (as_is ? 12 : 28) * n + 8 * lines);
}

spmv_status spmv_held_read(const spmv_bytes *in, const spmv_held *h, int threads,
                           spmv_progress progress, void *arg, spmv_lines *out) {
    arrays a = {0};
    int64_t n = 0;
    *out = (spmv_lines){.ptr = NULL};
    TRY(spmv_held_check(in, h));
    TRY(check_room(in, h));
    out->coo = (spmv_coo){.rows = h->rows,
                          .cols = h->cols,
                          .symmetry = h->symmetry,
                          .field = spmv_held_field(h),
                          .ctx = in->ctx};
    spmv_status status = read_arrays(in, h, threads, progress, arg, &a, &n);
    out->coo.nnz = n;
    if (status != SPMV_OK) {
        free_arrays(in->ctx, &a);
        return status;
    }
    if (h->shape == SPMV_HELD_ENTRIES) {
        out->coo.row = a.line;
        out->coo.col = a.idx;
        out->coo.values = a.values;
        return SPMV_OK;
    }
    note_half(in, h, &a);
    if (is_compressed(h) && h->shape != SPMV_HELD_BLOCKS)
        status = take_compressed(in, h, threads, &a, out);
    else
        status = take_others(in, h, threads, n, &a, out);
    free_arrays(in->ctx, &a);
    return status;
}

spmv_status spmv_held_vector(const spmv_bytes *in, const spmv_held *h, int64_t *n, double **out) {
    arrays a = {0};
    TRY(spmv_held_check(in, h));
    TRY(spmv_host_fits(in->ctx, h->rows, h->cols, h->values.n, 24 * (double)h->values.n));
    spmv_status status = read_arrays(in, h, in->ctx->threads, NULL, NULL, &a, n);
    double *x = status == SPMV_OK ? malloc((size_t)(*n ? *n : 1) * sizeof *x) : NULL;
    if (status == SPMV_OK && !x) status = spmv_no_memory_for(in->ctx, in->path);
    const bool by_rows = h->shape == SPMV_HELD_BY_ROWS;
    for (int64_t k = 0; x && k < *n; k++)
        x[by_rows ? k % h->cols * h->rows + k / h->cols : k] = a.values[k];
    free_arrays(in->ctx, &a);
    *out = x;
    return status;
}
