/* mmio.c: Matrix Market files.
 *
 * Reading: the text is cut at line ends into blocks. A thread takes the next block, turns it into entries in its own
 * cache-sized arrays, waits for its turn to learn how many entries and lines stand before it, and copies them to their
 * place. Blocks of a plain file are read by every thread for itself; read, not mapped, since a mapped file that is cut
 * short meanwhile kills the process. Text that comes from a pipe or a decompressor is read under a lock: while one
 * thread decompresses, the others parse.
 * The fast path of a line knows only the commonest spelling; everything else, errors included, is for
 * read_odd_line, the only place that decides what is legal.
 *
 * Writing: threads format batches, which are written in order. */
#define _GNU_SOURCE 1 /* memrchr */
#include "internal.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BLOCK = 256 << 10,      /* text and entries of a block stay in a second-level cache */
    LONGEST_LINE = 1 << 20, /* of lines that run over a block's end; the format asks for at most 1024 */
    TEXT_BYTES = BLOCK + LONGEST_LINE,
    LOOK_AHEAD = 512,         /* read behind a block to see, nearly always, the end of its last line */
    FIRST_CAPACITY = 1 << 20, /* entries to make room for while a stream may lie about how many it has */
    USUAL_RATIO = 64          /* compression up to which an announced number of entries is believed at once */
};
#define BANNER "'%%MatrixMarket matrix coordinate real general'" /* an example for messages */

typedef struct worker { /* one thread's block */
    char *text;         /* [TEXT_BYTES + SPMV_TEXT_PAD] */
    int32_t *row, *col; /* [reader.block_entries], from 0; unused in array files */
    double *values;     /* [reader.block_entries]; unused in pattern files */

    int64_t index;           /* of the block, in the order of the file */
    const char *begin, *end; /* its lines; zeros follow in text */
    const char *filled;      /* end of the text read from a stream */
    bool endless;            /* the line at end does not end within LONGEST_LINE */
    int64_t count, lines;    /* entries and lines found */
    spmv_status status;      /* of the first error, with its text */
    bool located;            /* it stands in line number `lines` of the block; else it concerns the whole file */
    char error[512];
} worker;

typedef struct reader {
    spmv_ctx *ctx;
    const char *path;
    int fd;
    int64_t bytes;  /* of a plain regular file; -1: a stream */
    int64_t packed; /* bytes of a regular file, compressed or not; else 0 */
    spmv_archive *archive;
    unsigned char head[SPMV_MAGIC_BYTES]; /* read to recognise the file; head_used of them were handed on */
    size_t nhead, head_used;
    spmv_powers powers;

    bool coordinate; /* else array */
    spmv_field field;
    spmv_symmetry symmetry;
    int64_t rows, cols, entries, size_line;
    int64_t shortest; /* bytes of a line */
    size_t block_entries;

    pthread_mutex_t source; /* guards the next five */
    char *carry;            /* [TEXT_BYTES] text read and not yet handed out; begins a line */
    size_t ncarry;
    int64_t bytes_read; /* from the stream, or to find the entries of a plain file */
    int64_t first_byte, next_block;
    bool ended;

    pthread_mutex_t order; /* guards the next ones; turned: signalled when turn has changed */
    pthread_cond_t turned;
    int64_t turn;             /* index of the block to be published next */
    int64_t published, lines; /* entries and lines in the blocks before it */
    spmv_coo coo;
    int64_t capacity; /* entries coo has room for */
    spmv_status status;
    atomic_bool stop;
} reader;

/* ---- text ------------------------------------------------------------------------------------------------ */

typedef struct word {
    const char *text;
    size_t length;
} word;

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *skip_blanks(const char *p) {
    while (is_blank(*p)) p++;
    return p;
}

static const char *end_of_line(const char *p, const char *end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

/* Splits a line into words, of which it stores at most max, and returns how many there are. */
static int split_line(const char *line, const char *end, word *words, int max) {
    int n = 0;
    for (const char *p = line;;) {
        while (p < end && is_blank(*p)) p++;
        if (p == end) return n;
        const char *first = p;
        while (p < end && !is_blank(*p)) p++;
        if (n < max) words[n] = (word){first, (size_t)(p - first)};
        n++;
    }
}

static bool word_is(word w, const char *text) {
    return w.length == strlen(text) && spmv_begins_with(w.text, text);
}

typedef struct quoted {
    char text[112];
} quoted;

/* A word of the file as it can be shown: in quotes, cut after 24 characters, what is not printable as \xNN. */
static quoted quote(word w) {
    enum { SHOWN = 24 };
    quoted q;
    char *to = q.text;
    *to++ = '\'';
    for (size_t k = 0; k < w.length && k < SHOWN; k++) {
        unsigned char c = (unsigned char)w.text[k];
        if (c > ' ' && c < 127)
            *to++ = (char)c;
        else
            to += sprintf(to, "\\x%02X", c);
    }
    strcpy(to, w.length > SHOWN ? "...'" : "'");
    return q;
}

/* [+-]digits; values that do not fit saturate. */
static bool scan_integer(word w, int64_t *value) {
    size_t k = 0;
    bool negative = w.length > 0 && w.text[0] == '-';
    int64_t v = 0;
    if (w.length > 0 && (w.text[0] == '-' || w.text[0] == '+')) k++;
    if (k == w.length) return false;
    for (; k < w.length; k++) {
        int digit = w.text[k] - '0';
        if (digit < 0 || digit > 9) return false;
        v = v > (INT64_MAX - digit) / 10 ? INT64_MAX : 10 * v + digit;
    }
    *value = negative ? -v : v;
    return true;
}

/* ---- entries --------------------------------------------------------------------------------------------- */

static spmv_status refuse(worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static spmv_status refuse(worker *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
    w->located = true;
    return w->status = SPMV_E_FORMAT;
}

static spmv_status read_index(worker *w, word text, const char *what, int64_t size, int32_t *out) {
    int64_t value;
    if (!scan_integer(text, &value) || value < 1 || value > size)
        return refuse(w, "found %s as the %s, expected an integer from 1 to %" PRId64, quote(text).text, what, size);
    *out = (int32_t)(value - 1);
    return SPMV_OK;
}

static spmv_status read_value(const reader *r, worker *w, word text, double *out) {
    int64_t integer;
    const char *stop = spmv_scan_double(&r->powers, text.text, out);
    if (r->field == SPMV_INTEGER_FIELD && !scan_integer(text, &integer))
        return refuse(w, "found %s as the value, expected an integer", quote(text).text);
    if (stop != text.text + text.length) return refuse(w, "found %s as the value, expected a number", quote(text).text);
    return SPMV_OK;
}

/* Any line: blank, a comment, an entry or an error. Returns the line behind it. */
static const char *read_odd_line(const reader *r, worker *w, const char *line, int64_t limit) {
    static const char *const shapes[] = {"'value'", "'row column'", "'row column value'"};
    const char *stop = end_of_line(line, w->end), *next = stop < w->end ? stop + 1 : stop;
    word words[3] = {{0}};
    int nwords = split_line(line, stop, words, 3), expected = 1;
    int32_t row = 0, col = 0;
    double value = 0;

    if (nwords == 0 || words[0].text[0] == '%') return next;
    if (w->count >= limit) {
        refuse(w, "found an entry more than the %" PRId64 " of line %" PRId64 ", expected the end of the file",
               r->entries, r->size_line);
        return next;
    }
    if (r->coordinate) expected = r->field == SPMV_PATTERN_FIELD ? 2 : 3;
    if (nwords != expected) {
        refuse(w, "found %d word%s, expected %s", nwords, nwords == 1 ? "" : "s", shapes[expected - 1]);
        return next;
    }
    if (r->coordinate && read_index(w, words[0], "row", r->rows, &row)) return next;
    if (r->coordinate && read_index(w, words[1], "column", r->cols, &col)) return next;
    if (expected != 2 && read_value(r, w, words[expected - 1], &value)) return next;
    if (r->coordinate && r->symmetry == SPMV_SKEW_SYMMETRIC && row == col && value != 0) {
        refuse(w, "found %s on the diagonal, expected 0 in a skew-symmetric matrix", quote(words[2]).text);
        return next;
    }
    if (r->coordinate) {
        w->row[w->count] = row;
        w->col[w->count] = col;
    }
    if (expected != 2) w->values[w->count] = value;
    w->count++;
    return next;
}

/* Eight digits of an index have been read into *value, scan the rest; saturates far above any legal index. */
static const char *scan_more_digits(const char *p, uint64_t *value) {
    for (; *p >= '0' && *p <= '9'; p++)
        if (*value < 10000000000) *value = 10 * *value + (uint64_t)(*p - '0');
    return p;
}

/* An index; no digits give 0, which no index may be. */
static inline const char *scan_index(const char *p, uint64_t *value) {
    int n = spmv_scan_8_digits(p, value);
    p += n;
    if (__builtin_expect(n == 8, 0)) p = scan_more_digits(p, value);
    return p;
}

static inline bool is_integer(const char *p, const char *end) {
    p += *p == '-' || *p == '+';
    while (p < end && *p >= '0' && *p <= '9') p++;
    return p == end;
}

/* Reads the entries of a block, at most limit. Inlined for each kind of file, so that its tests vanish. */
static inline __attribute__((always_inline)) void read_entries(const reader *r, worker *w, int64_t limit,
                                                               bool coordinate, spmv_field field) {
    const char *p = w->begin, *end = w->end;
    const uint64_t rows = (uint64_t)r->rows, cols = (uint64_t)r->cols;
    const bool skew = coordinate && r->symmetry == SPMV_SKEW_SYMMETRIC;
    int64_t n = 0, lines = 0;
    while (p < end) {
        const char *line = p;
        uint64_t row = 1, col = 1;
        double value = 0;
        lines++;
        if (n >= limit) goto odd;
        p = skip_blanks(p);
        if (coordinate) {
            p = scan_index(p, &row);
            if (row - 1 >= rows || !is_blank(*p)) goto odd;
            p = scan_index(skip_blanks(p), &col);
            if (col - 1 >= cols) goto odd;
            w->row[n] = (int32_t)(row - 1);
            w->col[n] = (int32_t)(col - 1);
            if (field != SPMV_PATTERN_FIELD) {
                if (!is_blank(*p)) goto odd;
                p = skip_blanks(p);
            }
        }
        if (field != SPMV_PATTERN_FIELD) {
            const char *number = p;
            p = spmv_scan_double(&r->powers, p, &value);
            if (!p) goto odd;
            if (field == SPMV_INTEGER_FIELD && !is_integer(number, p)) goto odd;
            if (skew && row == col && value != 0) goto odd;
            w->values[n] = value;
        }
        if (*p != '\n') p = skip_blanks(p);
        if (*p != '\n') goto odd;
        p++;
        n++;
        continue;
    odd:
        w->count = n;
        p = read_odd_line(r, w, line, limit);
        n = w->count;
        if (w->status != SPMV_OK) break;
    }
    w->count = n;
    w->lines = lines;
}

static void read_block_entries(const reader *r, worker *w, int64_t limit) {
    w->status = SPMV_OK;
    if (!r->coordinate)
        read_entries(r, w, limit, false, r->field);
    else if (r->field == SPMV_REAL_FIELD)
        read_entries(r, w, limit, true, SPMV_REAL_FIELD);
    else if (r->field == SPMV_INTEGER_FIELD)
        read_entries(r, w, limit, true, SPMV_INTEGER_FIELD);
    else
        read_entries(r, w, limit, true, SPMV_PATTERN_FIELD);
    if (w->status == SPMV_OK && w->endless) {
        w->lines++;
        refuse(w, "found a line longer than %d bytes, expected an entry", LONGEST_LINE);
    }
}

/* ---- blocks of text -------------------------------------------------------------------------------------- */

static void refuse_whole(worker *w, spmv_status status, const char *text) {
    snprintf(w->error, sizeof w->error, "%s", text);
    w->located = false;
    w->status = status;
    w->begin = w->end = w->text;
}

/* Up to capacity bytes of a stream, fewer only at its end; -1 on failure. */
static ptrdiff_t read_stream(reader *r, char *to, size_t capacity) {
    size_t n = 0;
    while (n < capacity) {
        ptrdiff_t got;
        if (r->archive) {
            got = spmv_archive_read(r->archive, to + n, capacity - n);
        } else if (r->head_used < r->nhead) {
            size_t left = r->nhead - r->head_used;
            got = (ptrdiff_t)(left < capacity - n ? left : capacity - n);
            memcpy(to + n, r->head + r->head_used, (size_t)got);
            r->head_used += (size_t)got;
        } else {
            got = read(r->fd, to + n, capacity - n);
            if (got < 0 && errno == EINTR) continue;
        }
        if (got < 0) return -1;
        if (got == 0) break;
        n += (size_t)got;
    }
    r->bytes_read += (int64_t)n;
    return (ptrdiff_t)n;
}

/* The next lines of a stream: what was carried over, and if no line ends in it as much more as is needed. At the end
 * of the text the block is empty. */
static void read_lines(reader *r, worker *w) {
    size_t n = r->ncarry;
    memcpy(w->text, r->carry, n);
    const char *newline = memrchr(w->text, '\n', n);
    w->status = SPMV_OK;
    w->endless = false;
    while (!newline && !r->ended && n <= LONGEST_LINE) {
        ptrdiff_t got = read_stream(r, w->text + n, BLOCK < TEXT_BYTES - n ? BLOCK : TEXT_BYTES - n);
        if (got < 0) {
            r->ended = true;
            refuse_whole(w, r->archive ? SPMV_E_FORMAT : SPMV_E_IO,
                         r->archive ? spmv_archive_error(r->archive) : strerror(errno));
            return;
        }
        if (got == 0) r->ended = true;
        newline = memrchr(w->text + n, '\n', (size_t)got);
        n += (size_t)got;
    }
    memset(w->text + n, 0, SPMV_TEXT_PAD);
    w->begin = w->text;
    w->filled = w->text + n;
    w->end = newline ? newline + 1 : w->begin;
    if (r->ended) w->end = w->filled;
    if (w->end == w->begin && n > 0) {
        w->endless = true;
        r->ended = true;
    }
    r->ncarry = r->ended ? 0 : (size_t)(w->filled - w->end);
    memcpy(r->carry, w->end, r->ncarry);
}

/* Reads bytes [from, from + n) of a plain file; false, with the error in *w, when they are not there. */
static bool read_range(const reader *r, worker *w, char *to, int64_t from, size_t n) {
    while (n > 0) {
        ssize_t got = pread(r->fd, to, n, from);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            refuse_whole(w, SPMV_E_IO, got < 0 ? strerror(errno) : "the file became shorter while it was read");
            return false;
        }
        to += got;
        from += got;
        n -= (size_t)got;
    }
    return true;
}

/* Block w->index of a plain file: the lines that start in its BLOCK bytes. One byte more in front tells whether the
 * first byte starts a line. */
static void read_block(const reader *r, worker *w) {
    int64_t begin = r->first_byte + w->index * BLOCK, left = r->bytes - begin;
    size_t lead = w->index > 0;
    size_t own = lead + (size_t)(left < BLOCK ? left : BLOCK); /* end of the block's bytes in text */
    size_t n = lead + (size_t)(left < BLOCK + LOOK_AHEAD ? left : BLOCK + LOOK_AHEAD);
    const char *newline = NULL;

    w->status = SPMV_OK;
    w->endless = false;
    w->begin = w->end = w->text;
    if (!read_range(r, w, w->text, begin - (int64_t)lead, n)) return;
    if (lead) {
        newline = memchr(w->text, '\n', own - 1);
        if (!newline) return; /* all of it belongs to a line that started earlier */
        w->begin = newline + 1;
    }
    newline = memchr(w->text + own - 1, '\n', n - (own - 1));
    if (!newline && (int64_t)(n - lead) < left) {
        size_t more = TEXT_BYTES - n;
        if (left - (int64_t)(n - lead) < (int64_t)more) more = (size_t)(left - (int64_t)(n - lead));
        if (!read_range(r, w, w->text + n, begin + (int64_t)(n - lead), more)) return;
        newline = memchr(w->text + n, '\n', more);
        n += more;
    }
    memset(w->text + n, 0, SPMV_TEXT_PAD);
    if (newline) {
        w->end = newline + 1;
    } else if ((int64_t)(n - lead) == left) {
        w->end = w->text + n;
    } else {
        newline = memrchr(w->begin, '\n', (size_t)(w->text + own - w->begin));
        w->end = newline ? newline + 1 : w->begin;
        w->endless = true;
    }
}

/* The next block for a thread; false when there is none left. */
static bool take_block(reader *r, worker *w) {
    bool taken = false;
    pthread_mutex_lock(&r->source);
    bool stopped = atomic_load_explicit(&r->stop, memory_order_relaxed);
    if (!stopped && r->bytes >= 0) {
        taken = r->first_byte + r->next_block * BLOCK < r->bytes;
    } else if (!stopped && (!r->ended || r->ncarry > 0)) {
        read_lines(r, w);
        taken = w->end > w->begin || w->endless || w->status != SPMV_OK;
    }
    if (taken) w->index = r->next_block++;
    pthread_mutex_unlock(&r->source);
    if (taken && r->bytes >= 0) read_block(r, w);
    return taken;
}

/* ---- header ---------------------------------------------------------------------------------------------- */

static spmv_status read_banner(reader *r, worker *w, const char *line, const char *end) {
    word words[5] = {{0}};
    int n = split_line(line, end, words, 5);
    if (n == 0 || !word_is(words[0], "%%matrixmarket"))
        return refuse(w, "found %s, expected %s or the like: is this a Matrix Market file?",
                      quote(n ? words[0] : (word){line, 0}).text, BANNER);
    if (n != 5) return refuse(w, "found a banner of %d words, expected 5, as in %s", n, BANNER);
    if (!word_is(words[1], "matrix")) return refuse(w, "found %s, expected 'matrix'", quote(words[1]).text);

    r->coordinate = word_is(words[2], "coordinate");
    if (!r->coordinate && !word_is(words[2], "array"))
        return refuse(w, "found %s, expected 'coordinate' or 'array'", quote(words[2]).text);

    if (word_is(words[3], "complex"))
        return refuse(w, "found a complex matrix, expected real, integer or pattern: complex values are not supported");
    if (word_is(words[3], "real"))
        r->field = SPMV_REAL_FIELD;
    else if (word_is(words[3], "integer"))
        r->field = SPMV_INTEGER_FIELD;
    else if (word_is(words[3], "pattern"))
        r->field = SPMV_PATTERN_FIELD;
    else
        return refuse(w, "found %s, expected 'real', 'integer' or 'pattern'", quote(words[3]).text);

    if (word_is(words[4], "hermitian"))
        return refuse(w, "found a hermitian matrix, expected general, symmetric or skew-symmetric: complex values are "
                         "not supported");
    if (word_is(words[4], "general"))
        r->symmetry = SPMV_GENERAL;
    else if (word_is(words[4], "symmetric"))
        r->symmetry = SPMV_SYMMETRIC;
    else if (word_is(words[4], "skew-symmetric"))
        r->symmetry = SPMV_SKEW_SYMMETRIC;
    else
        return refuse(w, "found %s, expected 'general', 'symmetric' or 'skew-symmetric'", quote(words[4]).text);

    if (r->field == SPMV_PATTERN_FIELD && !r->coordinate)
        return refuse(w, "found a pattern array, expected real or integer: an array has no pattern");
    if (r->field == SPMV_PATTERN_FIELD && r->symmetry == SPMV_SKEW_SYMMETRIC)
        return refuse(w, "found a skew-symmetric pattern, expected real or integer: a pattern has no signs");
    return SPMV_OK;
}

/* Where column j of an array file starts among its entries: it holds all rows, those from j on (symmetric) or those
 * behind j (skew-symmetric). */
static int64_t first_row(const reader *r, int64_t j) {
    return r->symmetry == SPMV_GENERAL ? 0 : r->symmetry == SPMV_SYMMETRIC ? j : j + 1;
}

static int64_t column_start(const reader *r, int64_t j) {
    if (r->symmetry == SPMV_GENERAL) return j * r->rows;
    int64_t longest = r->symmetry == SPMV_SYMMETRIC ? r->rows : r->rows - 1;
    return j * longest - j * (j - 1) / 2;
}

static spmv_status read_size(reader *r, worker *w, const char *line, const char *end, int64_t bytes_left) {
    static const char *const names[] = {"number of rows", "number of columns", "number of entries"};
    word words[3] = {{0}};
    int64_t sizes[3] = {0};
    int n = split_line(line, end, words, 3), expected = r->coordinate ? 3 : 2;
    if (n != expected)
        return refuse(w, "found %d word%s, expected %s", n, n == 1 ? "" : "s",
                      r->coordinate ? "'rows columns entries'" : "'rows columns'");
    for (int k = 0; k < expected; k++) {
        bool is_number = scan_integer(words[k], &sizes[k]);
        if (!is_number || sizes[k] < 0 || (k == 2 && sizes[k] == INT64_MAX))
            return refuse(w, "found %s as the %s, expected an integer from 0", quote(words[k]).text, names[k]);
        if (k < 2 && sizes[k] > INT32_MAX)
            return refuse(w, "found %s as the %s, expected at most %d: rows and columns are numbered in 32 bits",
                          quote(words[k]).text, names[k], INT32_MAX);
    }
    r->rows = sizes[0];
    r->cols = sizes[1];
    if (r->symmetry != SPMV_GENERAL && r->rows != r->cols)
        return refuse(w, "found a %s matrix of %" PRId64 " rows and %" PRId64 " columns, expected as many",
                      r->symmetry == SPMV_SYMMETRIC ? "symmetric" : "skew-symmetric", r->rows, r->cols);
    r->entries = r->coordinate ? sizes[2] : column_start(r, r->cols);
    if (r->entries > 0 && (r->rows == 0 || r->cols == 0))
        return refuse(w, "found %" PRId64 " entries, expected 0 in a matrix without rows or columns", r->entries);

    /* The shortest lines are "1 1 0\n", "1 1\n" and "1\n", the last one without its end: this bounds what a file can
     * hold before anything is allocated for it. */
    r->shortest = !r->coordinate ? 2 : r->field == SPMV_PATTERN_FIELD ? 4 : 6;
    if (r->bytes >= 0 && r->entries > (bytes_left + 1) / r->shortest)
        return refuse(w,
                      "found a size of %" PRId64 " entries, expected at most %" PRId64 " in the %" PRId64
                      " bytes that follow: is the file cut short?",
                      r->entries, (bytes_left + 1) / r->shortest, bytes_left);
    r->block_entries = (size_t)(BLOCK / r->shortest + 2);
    return SPMV_OK;
}

/* Reads up to the size line, leaves the text behind it in r->carry and counts its lines. */
static spmv_status read_header(reader *r, worker *w) {
    for (bool banner = false;;) {
        read_lines(r, w);
        if (w->status != SPMV_OK) return w->status;
        if (w->endless) {
            r->lines++;
            return refuse(w, "found a line longer than %d bytes, expected %s", LONGEST_LINE,
                          banner ? "the size line" : BANNER);
        }
        if (w->begin == w->end && !banner) {
            r->lines++;
            return refuse(w, "found an empty file, expected %s or the like", BANNER);
        }
        if (w->begin == w->end) return refuse(w, "found the end of the file, expected a line with the matrix's size");
        for (const char *line = w->begin; line < w->end;) {
            const char *end = end_of_line(line, w->end), *next = end < w->end ? end + 1 : end;
            word first;
            r->lines++;
            if (!banner) {
                TRY(read_banner(r, w, line, end));
                banner = true;
            } else if (split_line(line, end, &first, 1) > 0 && first.text[0] != '%') {
                r->size_line = r->lines;
                r->ncarry = (size_t)(w->filled - next);
                memcpy(r->carry, next, r->ncarry);
                r->first_byte = r->bytes_read - (int64_t)r->ncarry;
                return read_size(r, w, line, end, r->bytes - r->first_byte);
            }
            line = next;
        }
    }
}

/* ---- putting blocks together ----------------------------------------------------------------------------- */

/* Makes room for needed entries, doubling up to those announced. */
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

/* Rows and columns of array entries first to first + n - 1. */
static void fill_positions(reader *r, int64_t first, int64_t n) {
    int64_t j = 0, last = r->cols; /* the column of first is in j .. last - 1 */
    while (last - j > 1) {
        int64_t middle = j + (last - j) / 2;
        if (column_start(r, middle) <= first)
            j = middle;
        else
            last = middle;
    }
    int64_t i = first_row(r, j) + first - column_start(r, j);
    for (int64_t k = first; k < first + n; k++, i++) {
        while (i == r->rows) { /* more than once: the last column of a skew-symmetric array is empty */
            j++;
            i = first_row(r, j);
        }
        r->coo.row[k] = (int32_t)i;
        r->coo.col[k] = (int32_t)j;
    }
}

static void copy_entries(reader *r, const worker *w, int64_t first) {
    size_t n = (size_t)w->count;
    if (n == 0) return;
    if (r->coordinate) {
        memcpy(r->coo.row + first, w->row, n * sizeof *w->row);
        memcpy(r->coo.col + first, w->col, n * sizeof *w->col);
    } else {
        fill_positions(r, first, w->count);
    }
    if (r->coo.values) memcpy(r->coo.values + first, w->values, n * sizeof *w->values);
}

/* The text of the reader's failure, from the worker that met it. */
static spmv_status report(reader *r, const worker *w) {
    if (w->located) return spmv_fail(r->ctx, w->status, "%s:%" PRId64 ": %s", r->path, r->lines, w->error);
    return spmv_fail(r->ctx, w->status, "%s: %s", r->path, w->error);
}

/* Waits for the block's turn, checks it against what stood before and copies its entries. */
static void publish_block(reader *r, worker *w, double *done) {
    int64_t first = 0;
    bool copy = false;
    pthread_mutex_lock(&r->order);
    while (r->turn != w->index) pthread_cond_wait(&r->turned, &r->order);
    if (r->status == SPMV_OK) {
        if (w->count > r->entries - r->published) /* again, to stop at the first line too many */
            read_block_entries(r, w, r->entries - r->published);
        first = r->published;
        r->lines += w->located || w->status == SPMV_OK ? w->lines : 0;
        r->status = w->status == SPMV_OK ? reserve(r, first + w->count) : report(r, w);
        if (r->status == SPMV_OK) {
            copy = true;
            if (r->capacity < r->entries) { /* the arrays may still move: copy while no other thread can move them */
                copy_entries(r, w, first);
                copy = false;
            }
            r->published += w->count;
        } else {
            atomic_store_explicit(&r->stop, true, memory_order_relaxed);
        }
    }
    *done = (double)r->published / (double)(r->entries ? r->entries : 1);
    r->turn++;
    pthread_cond_broadcast(&r->turned);
    pthread_mutex_unlock(&r->order);
    if (copy) copy_entries(r, w, first);
}

static bool make_buffers(const reader *r, worker *w) {
    size_t n = r->block_entries;
    if (!w->text) w->text = malloc(TEXT_BYTES + SPMV_TEXT_PAD);
    if (r->coordinate) {
        w->row = malloc(n * sizeof *w->row);
        w->col = malloc(n * sizeof *w->col);
    }
    if (r->field != SPMV_PATTERN_FIELD) w->values = malloc(n * sizeof *w->values);
    return w->text && (!r->coordinate || (w->row && w->col)) && (r->field == SPMV_PATTERN_FIELD || w->values);
}

static void read_blocks(reader *r, worker *workers, int threads, spmv_progress progress, void *arg) {
#pragma omp parallel num_threads(threads)
    {
        worker *w = &workers[omp_get_thread_num()];
        double done = 0, told = 0;
        while (take_block(r, w)) {
            if (w->status == SPMV_OK) read_block_entries(r, w, (int64_t)r->block_entries);
            publish_block(r, w, &done);
            if (progress && omp_get_thread_num() == 0 && done - told >= 0.01) {
                progress(arg, done);
                told = done;
            }
        }
    }
}

/* ---- files ----------------------------------------------------------------------------------------------- */

static spmv_status open_source(reader *r) {
    struct stat facts;
    r->bytes = -1;
    r->fd = open(r->path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0 || fstat(r->fd, &facts) != 0) return spmv_fail(r->ctx, SPMV_E_IO, "%s: %s", r->path, strerror(errno));
    if (S_ISDIR(facts.st_mode))
        return spmv_fail(r->ctx, SPMV_E_FORMAT, "%s: found a directory, expected a Matrix Market file", r->path);
    while (r->nhead < sizeof r->head) {
        ssize_t got = read(r->fd, r->head + r->nhead, sizeof r->head - r->nhead);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return spmv_fail(r->ctx, SPMV_E_IO, "%s: %s", r->path, strerror(errno));
        if (got == 0) break;
        r->nhead += (size_t)got;
    }
    if (S_ISREG(facts.st_mode)) r->packed = facts.st_size;
    if (spmv_is_archive(r->head, r->nhead))
        return spmv_archive_open(r->ctx, r->path, r->fd, r->head, r->nhead, &r->archive);
    if (r->packed > 0) r->bytes = r->packed; /* files of /proc have 0, and text */
    return SPMV_OK;
}

/* Opens, reads the header, checks it with accept (NULL: any), reads the entries into r->coo. */
static spmv_status read_file(reader *r, int threads, spmv_status (*accept)(const reader *, worker *),
                             spmv_progress progress, void *arg) {
    worker *workers = NULL;
    int64_t blocks;
    bool plausible; /* the announced number of entries; otherwise it is believed only as entries come */
    if (threads < 1) threads = 1;
    r->fd = -1;
    pthread_mutex_init(&r->source, NULL);
    pthread_mutex_init(&r->order, NULL);
    pthread_cond_init(&r->turned, NULL);
    spmv_powers_init(&r->powers);
    r->status = open_source(r);
    if (r->status != SPMV_OK) goto done;

    r->carry = malloc(TEXT_BYTES);
    workers = calloc((size_t)threads, sizeof *workers);
    if (workers) workers[0].text = malloc(TEXT_BYTES + SPMV_TEXT_PAD);
    if (!r->carry || !workers || !workers[0].text) {
        r->status = spmv_fail(r->ctx, SPMV_E_NOMEM, "out of memory while reading %s", r->path);
        goto done;
    }
    r->status = read_header(r, workers);
    if (r->status == SPMV_OK && accept) r->status = accept(r, workers);
    if (r->status != SPMV_OK) {
        report(r, workers);
        goto done;
    }

    blocks = (r->bytes - r->first_byte + BLOCK - 1) / BLOCK;
    if (r->bytes >= 0 && blocks < threads) threads = blocks > 1 ? (int)blocks : 1;
    for (int t = 0; t < threads && r->status == SPMV_OK; t++)
        if (!make_buffers(r, &workers[t]))
            r->status = spmv_fail(r->ctx, SPMV_E_NOMEM, "out of memory while reading %s", r->path);
    if (r->status != SPMV_OK) goto done;
    r->coo = (spmv_coo){.rows = r->rows, .cols = r->cols, .symmetry = r->symmetry, .field = r->field};
    r->capacity = -1; /* so that even a matrix without entries has arrays */
    plausible = r->bytes >= 0 || r->entries <= FIRST_CAPACITY || r->entries / USUAL_RATIO <= r->packed / r->shortest;
    r->status = reserve(r, plausible ? r->entries : FIRST_CAPACITY);
    if (r->status != SPMV_OK) goto done;

    read_blocks(r, workers, threads, progress, arg);
    if (r->status == SPMV_OK && r->published < r->entries) {
        refuse(workers,
               "found the end of the file after %" PRId64 " entries, expected %" PRId64 " as line %" PRId64 " says",
               r->published, r->entries, r->size_line);
        r->status = report(r, workers);
    }
    r->coo.nnz = r->published;
    if (r->status == SPMV_OK && progress) progress(arg, 1);

done:
    for (int t = 0; workers && t < threads; t++) {
        free(workers[t].text);
        free(workers[t].row);
        free(workers[t].col);
        free(workers[t].values);
    }
    free(workers);
    free(r->carry);
    spmv_archive_close(r->archive);
    if (r->fd >= 0) close(r->fd);
    pthread_cond_destroy(&r->turned);
    pthread_mutex_destroy(&r->order);
    pthread_mutex_destroy(&r->source);
    if (r->status != SPMV_OK) spmv_coo_free(&r->coo);
    return r->status;
}

spmv_status spmv_read_matrix_market(spmv_ctx *ctx, const char *path, int threads, spmv_progress progress, void *arg,
                                    spmv_coo *out) {
    reader *r = calloc(1, sizeof *r);
    *out = (spmv_coo){0};
    if (!r) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while reading %s", path);
    r->ctx = ctx;
    r->path = path;
    spmv_status status = read_file(r, threads, NULL, progress, arg);
    if (status == SPMV_OK) *out = r->coo;
    free(r);
    return status;
}

/* ---- vectors --------------------------------------------------------------------------------------------- */

static spmv_status accept_vector(const reader *r, worker *w) {
    if (!r->coordinate && r->symmetry == SPMV_GENERAL && (r->rows == 1 || r->cols == 1)) return SPMV_OK;
    return refuse(w,
                  "found %s of %" PRId64 " rows and %" PRId64 " columns, expected a vector: a general array of one "
                  "column or one row",
                  r->coordinate ? "a coordinate matrix" : "an array", r->rows, r->cols);
}

static bool is_raw_name(const char *path) {
    size_t n = strlen(path);
    return n >= 4 && strcmp(path + n - 4, ".f64") == 0;
}

static spmv_status read_raw(spmv_ctx *ctx, const char *path, int64_t *n, double **out) {
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
                           S_ISREG(facts.st_mode) ? "%s: found %zu bytes, expected doubles: a multiple of 8"
                                                  : "%s: found a directory or device, expected a file of doubles",
                           path, bytes);
        goto done;
    }
    x = malloc(bytes ? bytes : 1);
    if (!x) {
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: %s has %zu bytes", path, bytes);
        goto done;
    }
    while (done < bytes) {
        ssize_t got = read(fd, (char *)x + done, bytes - done);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            status = spmv_fail(ctx, SPMV_E_IO, "%s: %s", path,
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

spmv_status spmv_read_vector(spmv_ctx *ctx, const char *path, int64_t *n, double **out) {
    *n = 0;
    *out = NULL;
    if (is_raw_name(path)) return read_raw(ctx, path, n, out);
    reader *r = calloc(1, sizeof *r);
    if (!r) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while reading %s", path);
    r->ctx = ctx;
    r->path = path;
    spmv_status status = read_file(r, ctx->threads, accept_vector, NULL, NULL);
    if (status == SPMV_OK) {
        size_t bytes = (size_t)r->coo.nnz * sizeof **out;
        *out = malloc(bytes ? bytes : 1);
        if (*out) {
            memcpy(*out, r->coo.values, bytes);
            *n = r->coo.nnz;
        } else {
            status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while reading %s", path);
        }
        spmv_coo_free(&r->coo);
    }
    free(r);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------------------- */

enum { BATCH = 8192, LONGEST_ENTRY = 64 }; /* entries formatted at a time; characters of one, with room to spare */

typedef struct write_job { /* what to write: n items of A or x */
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

/* The shortest of %.15g, %.16g, %.17g that reads back as value. */
static char *format_value(const write_job *job, char *to, double value) {
    double magnitude = fabs(value), back;
    if (magnitude < 1e15 && magnitude == floor(magnitude)) {
        if (signbit(value)) *to++ = '-';
        return format_index(to, (uint64_t)magnitude);
    }
    for (int digits = 15;; digits++) {
        int n = snprintf(to, 32, "%.*g", digits, value);
        if (digits == 17 || (spmv_scan_double(&job->powers, to, &back) && back == value)) return to + n;
    }
}

static char *format_entries(const write_job *job, int64_t first, int64_t last, char *to) {
    const spmv_csr_view *A = job->A;
    int64_t row = 0, above = A->rows; /* the row of first is in row .. above - 1 */
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

/* errno of the failure, or 0. */
static int write_all(int fd, const char *bytes, size_t n) {
    while (n > 0) {
        ssize_t put = write(fd, bytes, n);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return errno;
        bytes += put;
        n -= (size_t)put;
    }
    return 0;
}

/* Creates the file: header, then the job's items. What could not be finished is removed, unless it is a device. */
static spmv_status write_file(spmv_ctx *ctx, const char *path, const char *header, const write_job *job) {
    int threads = ctx->threads, error = 0;
    int64_t batches = (job->n + BATCH - 1) / BATCH;
    const size_t buffer_bytes = (size_t)BATCH * LONGEST_ENTRY + SPMV_TEXT_PAD;
    struct stat facts = {0};
    char *buffers = NULL;
    locale_t plain = (locale_t)0; /* numbers with a point, whatever locale the program chose */
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0) return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(errno));
    if (batches < threads) threads = (int)batches;
    if (threads < 1) threads = 1;
    buffers = calloc((size_t)threads, buffer_bytes);
    plain = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    error = buffers && plain ? write_all(fd, header, strlen(header)) : ENOMEM;

#pragma omp parallel num_threads(threads) if (error == 0)
    {
        locale_t before = uselocale(plain);
        char *text = buffers + (size_t)omp_get_thread_num() * buffer_bytes;
#pragma omp for ordered schedule(static, 1)
        for (int64_t b = 0; b < batches; b++) {
            char *end = text;
            int64_t last = (b + 1) * BATCH < job->n ? (b + 1) * BATCH : job->n;
            int failed;
#pragma omp atomic read
            failed = error;
            if (!failed) end = job->format(job, b * BATCH, last, text);
#pragma omp ordered
            if (!error) {
                failed = write_all(fd, text, (size_t)(end - text));
#pragma omp atomic write
                error = failed;
            }
        }
        uselocale(before);
    }

    if (plain) freelocale(plain);
    free(buffers);
    bool regular = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode);
    if (close(fd) != 0 && error == 0) error = errno;
    if (error == 0) return SPMV_OK;
    if (regular) unlink(path);
    return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(error));
}

/* The narrowest field, from wanted on, that holds all values: merged duplicates of a pattern are no pattern. */
static spmv_field fitting_field(const spmv_csr_view *A, spmv_field wanted) {
    for (int64_t k = 0; k < A->nnz && wanted != SPMV_REAL_FIELD; k++) {
        if (wanted == SPMV_PATTERN_FIELD && A->values[k] != 1) wanted = SPMV_INTEGER_FIELD;
        if (wanted == SPMV_INTEGER_FIELD && !(fabs(A->values[k]) < 1e15 && A->values[k] == floor(A->values[k])))
            wanted = SPMV_REAL_FIELD;
    }
    return wanted;
}

spmv_status spmv_write_matrix_market(spmv_ctx *ctx, const char *path, const spmv_csr_view *A, spmv_field field) {
    static const char *const names[] = {
        [SPMV_REAL_FIELD] = "real", [SPMV_INTEGER_FIELD] = "integer", [SPMV_PATTERN_FIELD] = "pattern"};
    char header[160];
    write_job job = {.A = A, .n = A->nnz, .format = format_entries, .field = fitting_field(A, field)};
    spmv_powers_init(&job.powers);
    snprintf(header, sizeof header,
             "%%%%MatrixMarket matrix coordinate %s general\n%" PRId64 " %" PRId64 " %" PRId64 "\n", names[job.field],
             A->rows, A->cols, A->nnz);
    return write_file(ctx, path, header, &job);
}

spmv_status spmv_write_vector(spmv_ctx *ctx, const char *path, int64_t n, const double *x) {
    char header[100] = "";
    write_job job = {
        .x = x, .n = n, .format = is_raw_name(path) ? format_raw : format_vector, .field = SPMV_REAL_FIELD};
    spmv_powers_init(&job.powers);
    if (!is_raw_name(path))
        snprintf(header, sizeof header, "%%%%MatrixMarket matrix array real general\n%" PRId64 " 1\n", n);
    return write_file(ctx, path, header, &job);
}
