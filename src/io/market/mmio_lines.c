/* mmio_lines.c: parses lines of a Matrix Market file into entries. The fast path accepts only the
 * most common spelling; read_odd_line handles everything else, errors included, and is the only
 * function that decides what is legal. */
#include "host/context.h"
#include "mmio.h"
#include <float.h>
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

static bool is_visible(char c) {
    return (c > ' ' && c < 127) || c == ' ' || c == '\t';
}

const char *mm_find_odd_byte(const char *line, const char *end) {
    while (end > line && is_blank(end[-1])) end--;
    while (line < end && is_blank(*line)) line++; /* or the second byte of LF CR */
    while (line < end && is_visible(*line)) line++;
    return line < end ? line : NULL;
}

const char *mm_find_return(const char *line, const char *end) {
    for (const char *p = line; (p = memchr(p, '\r', (size_t)(end - p))) != NULL;) {
        const char *at = p;
        while (p < end && is_blank(*p)) p++;
        if (p < end && !mm_is_comment(p)) return at;
    }
    return NULL;
}

bool mm_is_comment(const char *p) {
    return *p == '%' || *p == '#';
}

/* Returns the code point with which UTF-8 text begins; -1: it is not UTF-8. */
static long code_point(const char *text, const char *end) {
    const unsigned char *p = (const unsigned char *)text;
    const int more = *p < 0x80 ? 0 : *p >= 0xc2 && *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
    if (*p >= 0xf5 || (*p >= 0x80 && *p < 0xc2) || end - text <= more) return -1;
    long point = more ? *p & (0x3f >> more) : *p;
    for (int k = 1; k <= more; k++) {
        if ((p[k] & 0xc0) != 0x80) return -1;
        point = point << 6 | (p[k] & 0x3f);
    }
    return point;
}

spmv_status mm_refuse_odd_byte(worker *w, const char *line, const char *end, const char *at) {
    static const struct {
        long point;
        const char *name;
    } known[] = {{0, "a NUL"},
                 {0x0b, "a vertical tab"},
                 {0x0c, "a form feed"},
                 {0x1a, "Ctrl-Z, DOS's end of a file"},
                 {0x85, "a next-line character"},
                 {0xa0, "a no-break space"},
                 {0xad, "a soft hyphen"},
                 {0xb7, "a middle dot"},
                 {0x66b, "a decimal separator"},
                 {0x2009, "a thin space"},
                 {0x200b, "a zero-width space"},
                 {0x200e, "a left-to-right mark"},
                 {0x2010, "a hyphen that is not '-'"},
                 {0x2011, "a hyphen that is not '-'"},
                 {0x2013, "a dash"},
                 {0x2014, "a dash"},
                 {0x2028, "a line separator"},
                 {0x202f, "a narrow no-break space"},
                 {0x2060, "a word joiner"},
                 {0x2212, "a minus sign that is not '-'"},
                 {0x221e, "a sign for infinity; inf is read"},
                 {0x3000, "an ideographic space"},
                 {0xfeff, "a byte order mark"}};
    const long point = code_point(at, end);
    char which[64];
    if (point == '\r')
        return mm_refuse_at(w, line, at,
                            "found a carriage return (byte 0x0D) that no line feed follows, "
                            "expected lines that end in LF or CR LF: tr '\\r' '\\n' <FILE "
                            "mends old Mac line ends");
    const char *name = point < 0     ? "not ASCII or UTF-8"
                       : point < 128 ? "a control character"
                                     : "not ASCII";
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (known[k].point == point) name = known[k].name;
    if (point < 128)
        snprintf(which, sizeof which, "the byte 0x%02X", (unsigned char)*at);
    else
        snprintf(which, sizeof which, "the character U+%04lX", (unsigned long)point);
    return mm_refuse_at(w, line, at, "found %s (%s), expected digits, blanks and line ends", which,
                        name);
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

bool mm_scan_whole(const reader *r, word w, int64_t *value) {
    double x = 0;
    const char *end = w.text + w.length;
    if (spmv_scan_fortran(&r->powers, w.text, &x) != end) return false;
    if (!(fabs(x) <= 0x1p53) || x != trunc(x)) return false;
    *value = (int64_t)x;
    return true;
}

/* ---- entries -------------------------------------------------------------------------------- */

spmv_status mm_refuse(worker *w, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
    w->located = true;
    w->column = 0;
    return w->status = SPMV_E_FORMAT;
}

spmv_status mm_refuse_at(worker *w, const char *line, const char *at, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->error, sizeof w->error, format, args);
    va_end(args);
    w->located = true;
    w->column = (int)(at - line) + 1;
    return w->status = SPMV_E_FORMAT;
}

void mm_note(const reader *r, int64_t line, const char *format, ...) {
    char *note = r->ctx->note;
    size_t n = strlen(note), size = sizeof r->ctx->note;
    va_list args;
    if (r->header_only) return;
    va_start(args, format);
    if (n + 1 < size)
        n += (size_t)snprintf(note + n, size - n, "%s%s:%" PRId64 ": ", n ? "\n" : "", r->path,
                              line);
    if (n < size) vsnprintf(note + n, size - n, format, args);
    va_end(args);
}

void mm_note_once(reader *r, int oddity, int64_t line) {
    static const char *const texts[ODDITIES] = {
        [NOT_FINITE] = "a word is read as the value inf or nan, here first",
        [STAND_IN] = "the value 1e308 is read, which R writes for NA and infinity, here first",
        [NO_LETTER] =
            "an exponent such as 1.5+100, 1.5Q+100, 1.5f0 or 1.5*^100 is read, here first",
        [COMMENT_BEHIND] = "a comment behind an entry is passed over, here first",
        [ABOVE] =
            ("an entry above the diagonal counts below it, too, as the banner's symmetry has it; "
             "where both are in the file they are added, here first"),
        [WHOLE] = "a number such as 5.0 or 1e+05 is read as the integer that it is, here first",
        [ROUNDED] = "an integer beyond 2^53 is read as the nearest double, here first",
        [TRUTH] = "the words true and false are read as 1 and 0, here first",
        [HASH] = "a comment that begins with # is passed over, here first"};
    if (!(r->noted & 1u << oddity)) mm_note(r, line, "%s", texts[oddity]);
    r->noted |= 1u << oddity;
}

/* Records that the block's current line has an oddity. */
static void notice(worker *w, int oddity, int64_t line) {
    if (!(w->oddities & 1u << oddity)) w->odd_line[oddity] = line;
    w->oddities |= 1u << oddity;
}

quoted mm_declared(const reader *r) {
    quoted q;
    if (r->coordinate)
        snprintf(q.text, sizeof q.text, "the %" PRId64 " of line %" PRId64, r->entries,
                 r->size_line);
    else
        snprintf(q.text, sizeof q.text,
                 "the %" PRId64 " of %s array of %" PRId64 " x %" PRId64 " (line %" PRId64 ")",
                 r->entries,
                 r->symmetry == SPMV_GENERAL     ? "an"
                 : r->symmetry == SPMV_SYMMETRIC ? "a symmetric"
                                                 : "a skew-symmetric",
                 r->rows, r->cols, r->size_line);
    return q;
}

static spmv_status read_index(const reader *r, worker *w, const char *line, int64_t number,
                              word text, const char *what, int64_t size, int32_t *out) {
    int64_t value = 1;
    const bool plain = mm_scan_integer(text, &value),
               found = plain || mm_scan_whole(r, text, &value);
    if (!found || value < 1 || value > size)
        return mm_refuse_at(w, line, text.text,
                            "found %s as the %s, expected an integer from 1 to %" PRId64 "%s",
                            mm_quote(text).text, what, size,
                            !found       ? mm_reason(text)
                            : value == 0 ? ": rows and columns count from 1"
                                         : "");
    if (!plain) notice(w, WHOLE, number);
    *out = (int32_t)(value - 1);
    return SPMV_OK;
}

const char *mm_reason(word text) {
    const char first = text.text[0], last = text.text[text.length - 1];
    if (first == '*') return ": Fortran prints stars where a number has no room";
    if (first == '\"' || first == '\'') return " without quotes";
    if (mm_word_is(text, "na") || mm_word_is(text, "none") || mm_word_is(text, "null"))
        return ": it stands for a value that is missing; nan is read";
    if (spmv_begins_with(text.text, "np.") || spmv_begins_with(text.text, "tensor("))
        return ": Python's repr() prints this, str() and float() do not";
    if (first == '(' || (first <= '9' && ((last | 0x20) == 'i' || (last | 0x20) == 'j')))
        return ": complex values are not supported";
    if (memchr(text.text, ',', text.length)) return " without a comma: a point begins the fraction";
    if (last == ';') return " without a semicolon";
    if (spmv_begins_with(text.text + (first == '-' || first == '+'), "0x")) return " in decimal";
    if (memchr(text.text, '_', text.length) || memchr(text.text, '\'', text.length))
        return ", its digits not in groups";
    return "";
}

/* Parses true and false as Python, Julia, C++, R and Fortran print them. */
static bool scan_truth(word text, double *out) {
    static const char *const words[] = {"false", "true", "f", "t", ".false.", ".true."};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (mm_word_is(text, words[k])) {
            *out = (double)(k % 2);
            return true;
        }
    return false;
}

/* Parses inf and nan as the C libraries of Windows print them: 1.#INF, -1.#IND00, 1.#QNAN,
 * -nan(ind). */
static bool scan_windows_word(word text, double *out) {
    static const struct {
        const char *word;
        double value;
    } known[] = {{"1.#inf", INFINITY}, {"1.#ind", NAN},   {"1.#qnan", NAN},
                 {"1.#snan", NAN},     {"nan(ind)", NAN}, {"nan(snan)", NAN}};
    const char *end = text.text + text.length, *p = text.text;
    const bool negative = *p == '-';
    p += negative || *p == '+';
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        if (!spmv_begins_with(p, known[k].word)) continue;
        const char *rest = p + strlen(known[k].word);
        while (rest < end && *rest == '0') rest++; /* the precision asked for */
        *out = negative ? -known[k].value : known[k].value;
        return rest == end;
    }
    return false;
}

/* True if the double equals the integer that the digits, with or without a sign, spell. */
static bool is_exactly(word integer, double value) {
    char digits[DBL_MAX_10_EXP + 2];
    const char *p = integer.text + (*integer.text == '-' || *integer.text == '+'),
               *end = integer.text + integer.length;
    while (p < end && *p == '0') p++;
    const int n = snprintf(digits, sizeof digits, "%.0f", fabs(value));
    return n == end - p && memcmp(digits, p, (size_t)n) == 0;
}

/* Parses the value of line `number` of the block. */
static spmv_status read_value(const reader *r, worker *w, const char *line, int64_t number,
                              word text, double *out) {
    int64_t integer;
    const char *end = text.text + text.length, *stop = spmv_scan_double(&r->powers, text.text, out);
    const bool has_letter = stop == end;
    if (scan_truth(text, out)) {
        notice(w, TRUTH, number);
        return SPMV_OK;
    }
    if (r->field == SPMV_INTEGER_FIELD && !mm_scan_integer(text, &integer)) {
        if (!mm_scan_whole(r, text, &integer)) {
            const bool is_real = stop == end && isfinite(*out);
            return mm_refuse_at(w, line, text.text, "found %s as the value, expected an integer%s",
                                mm_quote(text).text,
                                is_real ? ": 'real' in the banner allows it" : mm_reason(text));
        }
        notice(w, WHOLE, number);
    }
    if (!has_letter && scan_windows_word(text, out)) {
        notice(w, NOT_FINITE, number);
        return SPMV_OK;
    }
    if (!has_letter) stop = spmv_scan_fortran(&r->powers, text.text, out);
    if (stop != end)
        return mm_refuse_at(w, line, text.text, "found %s as the value, expected a number%s",
                            mm_quote(text).text, mm_reason(text));
    if (!isfinite(*out) && text.text[strcspn(text.text, "0123456789iInN")] <= '9')
        return mm_refuse_at(w, line, text.text,
                            "found %s as the value, expected at most %.5g: it is too large for a "
                            "double",
                            mm_quote(text).text, DBL_MAX);
    if (!isfinite(*out)) notice(w, NOT_FINITE, number);
    if (fabs(*out) == MM_STAND_IN) notice(w, STAND_IN, number);
    if (r->field == SPMV_INTEGER_FIELD && fabs(*out) >= 0x1p53 && !is_exactly(text, *out))
        notice(w, ROUNDED, number);
    if (!has_letter) notice(w, NO_LETTER, number);
    return SPMV_OK;
}

int mm_words_before_comment(const word *words, int n, int stored) {
    for (int k = 0; k < n && k < stored; k++)
        if (mm_is_comment(words[k].text)) return k;
    return n;
}

/* Parses any line: blank, comment, entry or error. number: the line's index in the block. Returns
 * the next line. */
static const char *read_odd_line(const reader *r, worker *w, const char *line, int64_t number,
                                 int64_t limit) {
    enum { MOST = 4 }; /* words of an entry, and the first of a comment */
    static const char *const shapes[] = {"'value'", "'row column'", "'row column value'"};
    const char *stop = mm_end_of_line(line, w->end), *next = stop < w->end ? stop + 1 : stop, *odd;
    word words[MOST] = {{0}};
    int all = mm_split_line(line, stop, words, MOST), expected = 1;
    int nwords = mm_words_before_comment(words, all, MOST), indices = 0;
    int32_t row = 0, col = 0;
    double value = 0;

    odd = nwords ? mm_find_odd_byte(line,
                                    nwords < MOST && words[nwords].text ? words[nwords].text : stop)
                 : mm_find_return(line, stop);
    if (odd) {
        mm_refuse_odd_byte(w, line, stop, odd);
        return next;
    }
    if (all > 0 && nwords == 0 && words[0].text[0] == '#') notice(w, HASH, number);
    if (nwords == 0) return next;
    if (w->count >= limit) {
        mm_refuse(w, "found an entry more than %s, expected the end of the file",
                  mm_declared(r).text);
        return next;
    }
    if (r->coordinate) indices = r->one_index ? 1 : 2;
    expected = indices + (r->field != SPMV_PATTERN_FIELD);
    if (nwords != expected) {
        const char *mark = line + strcspn(line, ",;\n"); /* the block ends with a newline */
        mm_refuse(w, "found %d word%s, expected %s%s", nwords, nwords == 1 ? "" : "s",
                  r->one_index ? expected == 1 ? "'row'" : "'row value'" : shapes[expected - 1],
                  mark < stop && *mark == ','   ? ": blanks separate them, not commas"
                  : mark < stop                 ? ": blanks separate them, not semicolons"
                  : !r->coordinate              ? ": of an array one value a line, column by column"
                  : indices == 2 && nwords == 2 ? ": without values the banner says 'pattern'"
                  : indices == 2 && nwords == 3 ? ": with values the banner says 'real'"
                                                : "");
        return next;
    }
    if (indices > 0 && read_index(r, w, line, number, words[0], "row", r->rows, &row)) return next;
    if (indices > 1 && read_index(r, w, line, number, words[1], "column", r->cols, &col))
        return next;
    if (expected > indices && read_value(r, w, line, number, words[indices], &value)) return next;
    if (r->coordinate && r->symmetry == SPMV_SKEW_SYMMETRIC && row == col && value != 0) {
        mm_refuse_at(w, line, words[2].text,
                     "found %s on the diagonal, expected 0 in a skew-symmetric matrix",
                     mm_quote(words[2]).text);
        return next;
    }
    if (r->coordinate) {
        w->row[w->count] = row;
        w->col[w->count] = col;
    }
    if (r->coordinate && r->symmetry != SPMV_GENERAL && col > row) notice(w, ABOVE, number);
    if (expected > indices) w->values[w->count] = value;
    if (all > nwords) notice(w, COMMENT_BEHIND, number);
    w->count++;
    return next;
}

/* Scans the digits of an index after the first eight, which are in *value; saturates far above any
 * legal index. */
static const char *scan_more_digits(const char *p, uint64_t *value) {
    for (; *p >= '0' && *p <= '9'; p++)
        if (*value < 10000000000) *value = 10 * *value + (uint64_t)(*p - '0');
    return p;
}

/* Scans an index; without digits it is 0, which is no legal index. */
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

/* Parses the entries of a block, at most limit. Inlined for each kind of file, so that its branches
 * are resolved at compile time. */
static inline __attribute__((always_inline)) void
read_entries(const reader *r, worker *w, int64_t limit, bool coordinate, spmv_field field) {
    const char *p = w->begin, *end = w->end;
    const uint64_t rows = (uint64_t)r->rows, cols = (uint64_t)r->cols;
    const bool skew = coordinate && r->symmetry == SPMV_SKEW_SYMMETRIC,
               half = coordinate && r->symmetry != SPMV_GENERAL;
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
            if (field == SPMV_INTEGER_FIELD && (fabs(value) >= 0x1p53 || !is_integer(number, p)))
                goto odd;
            if (!(fabs(value) < MM_STAND_IN)) goto odd;
            if (skew && row == col && value != 0) goto odd;
            w->values[n] = value;
        }
        if (*p != '\n') p = skip_blanks(p);
        if (*p != '\n') goto odd;
        if (half && col > row) notice(w, ABOVE, lines);
        p++;
        n++;
        continue;
    odd:
        w->count = n;
        p = read_odd_line(r, w, line, lines, limit);
        n = w->count;
        if (w->status != SPMV_OK) break;
    }
    w->count = n;
    w->lines = lines;
}

void mm_read_entries(const reader *r, worker *w, int64_t limit) {
    const char *odd = w->endless ? memchr(w->end, '\r', LOOK_AHEAD) : NULL;
    w->status = SPMV_OK;
    w->oddities = 0;
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
        if (odd)
            mm_refuse_odd_byte(w, w->end, odd + 1, odd);
        else
            mm_refuse(w, "found a line longer than %d bytes, expected an entry", LONGEST_LINE);
    }
}
