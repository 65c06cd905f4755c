/* mmio_lines.c: lines of a Matrix Market file to entries. The fast path of a line knows only the
 * commonest spelling; everything else, errors included, is for read_odd_line, the only place that
 * decides what is legal. */
#include "mmio.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- text ----------------------------------------------------------------------------------- */

const char *mm_end_of_line(const char *p, const char *end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline : end;
}

/* Splits a line into words, of which it stores at most max, and returns how many there are. */
int mm_split_line(const char *line, const char *end, word *words, int max) {
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

bool mm_word_is(word w, const char *text) {
    return w.length == strlen(text) && spmv_begins_with(w.text, text);
}

/* Returns a word of the file as it can be shown: in quotes, cut after 24 characters, what is not
 * printable as \xNN. */
quoted mm_quote(word w) {
    enum { SHOWN = 24 };
    quoted q = {"'"};
    size_t n = 1;
    for (size_t k = 0; k < w.length && k < SHOWN; k++) {
        unsigned char c = (unsigned char)w.text[k];
        const char *format = c > ' ' && c < 127 ? "%c" : "\\x%02X";
        n += (size_t)snprintf(q.text + n, sizeof q.text - n, format, c);
    }
    snprintf(q.text + n, sizeof q.text - n, "%s", w.length > SHOWN ? "...'" : "'");
    return q;
}

/* [+-]digits; values that do not fit saturate. */
bool mm_scan_integer(word w, int64_t *value) {
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

/* ---- entries -------------------------------------------------------------------------------- */

spmv_status mm_refuse(worker *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
    w->located = true;
    return w->status = SPMV_E_FORMAT;
}

static spmv_status read_index(worker *w, word text, const char *what, int64_t size, int32_t *out) {
    int64_t value;
    if (!mm_scan_integer(text, &value) || value < 1 || value > size)
        return mm_refuse(w, "found %s as the %s, expected an integer from 1 to %" PRId64,
                         mm_quote(text).text, what, size);
    *out = (int32_t)(value - 1);
    return SPMV_OK;
}

static spmv_status read_value(const reader *r, worker *w, word text, double *out) {
    int64_t integer;
    const char *stop = spmv_scan_double(&r->powers, text.text, out);
    if (r->field == SPMV_INTEGER_FIELD && !mm_scan_integer(text, &integer))
        return mm_refuse(w, "found %s as the value, expected an integer", mm_quote(text).text);
    if (stop != text.text + text.length)
        return mm_refuse(w, "found %s as the value, expected a number", mm_quote(text).text);
    return SPMV_OK;
}

/* Any line: blank, a comment, an entry or an error. Returns the line behind it. */
static const char *read_odd_line(const reader *r, worker *w, const char *line, int64_t limit) {
    static const char *const shapes[] = {"'value'", "'row column'", "'row column value'"};
    const char *stop = mm_end_of_line(line, w->end), *next = stop < w->end ? stop + 1 : stop;
    word words[3] = {{0}};
    int nwords = mm_split_line(line, stop, words, 3), expected = 1;
    int32_t row = 0, col = 0;
    double value = 0;

    if (nwords == 0 || words[0].text[0] == '%') return next;
    if (w->count >= limit) {
        mm_refuse(w,
                  "found an entry more than the %" PRId64 " of line %" PRId64
                  ", expected the end of the file",
                  r->entries, r->size_line);
        return next;
    }
    if (r->coordinate) expected = r->field == SPMV_PATTERN_FIELD ? 2 : 3;
    if (nwords != expected) {
        mm_refuse(w, "found %d word%s, expected %s", nwords, nwords == 1 ? "" : "s",
                  shapes[expected - 1]);
        return next;
    }
    if (r->coordinate && read_index(w, words[0], "row", r->rows, &row)) return next;
    if (r->coordinate && read_index(w, words[1], "column", r->cols, &col)) return next;
    if (expected != 2 && read_value(r, w, words[expected - 1], &value)) return next;
    if (r->coordinate && r->symmetry == SPMV_SKEW_SYMMETRIC && row == col && value != 0) {
        mm_refuse(w, "found %s on the diagonal, expected 0 in a skew-symmetric matrix",
                  mm_quote(words[2]).text);
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

/* Eight digits of an index have been read into *value, scan the rest; saturates far above any legal
 * index. */
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

/* Reads the entries of a block, at most limit. Inlined for each kind of file, so that its tests
 * vanish. */
static inline __attribute__((always_inline)) void
read_entries(const reader *r, worker *w, int64_t limit, bool coordinate, spmv_field field) {
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

void mm_read_entries(const reader *r, worker *w, int64_t limit) {
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
        mm_refuse(w, "found a line longer than %d bytes, expected an entry", LONGEST_LINE);
    }
}
