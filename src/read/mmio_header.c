/* mmio_header.c: what a Matrix Market file says of itself: the banner, and the line with the sizes,
 * which is checked against the bytes that follow. */
#include "mmio.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- the banner ------------------------------------------------------------------------------ */

/* Words that writers put into the banner, and what they mean; those of the format come first. */
typedef struct spelling {
    const char *word;
    int meaning;
} spelling;
static const spelling fields[] = {
    {"real", SPMV_REAL_FIELD},
    {"integer", SPMV_INTEGER_FIELD},
    {"pattern", SPMV_PATTERN_FIELD},
    {"double", SPMV_REAL_FIELD},
    {"float", SPMV_REAL_FIELD},
    {"single", SPMV_REAL_FIELD},
    {"float32", SPMV_REAL_FIELD},
    {"float64", SPMV_REAL_FIELD},
    {"unsigned-integer", SPMV_INTEGER_FIELD},
    {"unsigned", SPMV_INTEGER_FIELD},
    {"unsigned_integer", SPMV_INTEGER_FIELD},
    {"uint", SPMV_INTEGER_FIELD},
    {"signed-integer", SPMV_INTEGER_FIELD},
    {"int", SPMV_INTEGER_FIELD},
    {"int32", SPMV_INTEGER_FIELD},
    {"int64", SPMV_INTEGER_FIELD},
    {"uint32", SPMV_INTEGER_FIELD},
    {"uint64", SPMV_INTEGER_FIELD},
    {"long", SPMV_INTEGER_FIELD},
};
static const spelling symmetries[] = {
    {"general", SPMV_GENERAL},
    {"symmetric", SPMV_SYMMETRIC},
    {"skew-symmetric", SPMV_SKEW_SYMMETRIC},
    {"unsymmetric", SPMV_GENERAL},
    {"nonsymmetric", SPMV_GENERAL},
    {"asymmetric", SPMV_GENERAL},
    {"hermitian", SPMV_SYMMETRIC}, /* of numbers that are real */
    {"skew-hermitian", SPMV_SKEW_SYMMETRIC},
    {"skew_symmetric", SPMV_SKEW_SYMMETRIC},
    {"skewsymmetric", SPMV_SKEW_SYMMETRIC},
    {"skew", SPMV_SKEW_SYMMETRIC},
    {"antisymmetric", SPMV_SKEW_SYMMETRIC},
};
enum { OF_THE_FORMAT = 3 };

/* Finds the meaning of a word of the banner; one that the format does not have gets a note. */
static bool find_meaning(const reader *r, word w, const spelling *known, size_t n, int *meaning) {
    size_t k = 0;
    while (k < n && !mm_word_is(w, known[k].word)) k++;
    if (k == n) return false;
    *meaning = known[k].meaning;
    for (size_t j = 0; k >= OF_THE_FORMAT && j < OF_THE_FORMAT; j++)
        if (known[j].meaning == *meaning)
            mm_note(r, r->lines, "%s is read as '%s'", mm_quote(w).text, known[j].word);
    return true;
}

/* Returns where a comment behind the first words of a line begins, or the line's end. */
static const char *before_comment(const char *line, const char *first_end, const char *end) {
    const char *mark = memchr(first_end, '%', (size_t)(end - first_end));
    return mark && mark > line && is_blank(mark[-1]) ? mark : end;
}

/* Finds the banner's words in a line, 5 at most, the first "%%MatrixMarket" with any number of %,
 * from the others by blanks or not; 0: it is no banner. */
static int split_banner(const char *line, const char *end, word words[5]) {
    static const char name[] = "matrixmarket";
    const char *p = line;
    while (p < end && (*p == '%' || is_blank(*p))) p++;
    if ((size_t)(end - p) < strlen(name) || !spmv_begins_with(p, name)) return 0;
    p += strlen(name);
    if (p < end && !is_blank(*p)) return 0;
    words[0] = (word){line, (size_t)(p - line)};
    end = before_comment(line, p, end);
    return 1 + mm_split_line(p, end, words + 1, 4);
}

static spmv_status read_banner(reader *r, worker *w, const char *line, const char *end) {
    word words[5] = {{0}};
    const int n = split_banner(line, end, words);
    const char *odd = mm_find_odd_byte(line, end);
    int meaning = 0;
    if (odd) return mm_refuse_odd_byte(w, line, end, odd);
    if (n != 5 && n != 4)
        return mm_refuse(w, "found a banner of %d words, expected 5, as in %s", n, BANNER);
    r->vector = mm_word_is(words[1], "vector");
    if (!r->vector && !mm_word_is(words[1], "matrix"))
        return mm_refuse(w, "found %s, expected 'matrix'", mm_quote(words[1]).text);

    r->coordinate = mm_word_is(words[2], "coordinate");
    if (!r->coordinate && !mm_word_is(words[2], "array"))
        return mm_refuse(w, "found %s, expected 'coordinate' or 'array'", mm_quote(words[2]).text);

    if (!mm_word_is(words[0], "%%matrixmarket"))
        mm_note(r, r->lines, "%s is read as '%%%%MatrixMarket'", mm_quote(words[0]).text);
    if (mm_word_is(words[3], "complex"))
        return mm_refuse(w, "found a complex matrix, expected real, integer or pattern: complex "
                            "values are not supported");
    if (!find_meaning(r, words[3], fields, sizeof fields / sizeof *fields, &meaning))
        return mm_refuse(w, "found %s, expected 'real', 'integer' or 'pattern'",
                         mm_quote(words[3]).text);
    r->field = (spmv_field)meaning;

    meaning = SPMV_GENERAL;
    if (n == 4)
        mm_note(r, r->lines, "a banner without a symmetry is read as 'general'");
    else if (!find_meaning(r, words[4], symmetries, sizeof symmetries / sizeof *symmetries,
                           &meaning))
        return mm_refuse(w, "found %s, expected 'general', 'symmetric' or 'skew-symmetric'",
                         mm_quote(words[4]).text);
    r->symmetry = (spmv_symmetry)meaning;

    if (r->vector && r->symmetry != SPMV_GENERAL)
        return mm_refuse(w, "found a vector that is not general");
    if (r->field == SPMV_PATTERN_FIELD && !r->coordinate)
        return mm_refuse(
            w, "found a pattern array, expected real or integer: an array has no pattern");
    if (r->field == SPMV_PATTERN_FIELD && r->symmetry == SPMV_SKEW_SYMMETRIC)
        return mm_refuse(
            w, "found a skew-symmetric pattern, expected real or integer: a pattern has no signs");
    return SPMV_OK;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

int64_t mm_first_row(const reader *r, int64_t j) {
    return r->symmetry == SPMV_GENERAL ? 0 : r->symmetry == SPMV_SYMMETRIC ? j : j + 1;
}

int64_t mm_column_start(const reader *r, int64_t j) {
    if (r->symmetry == SPMV_GENERAL) return j * r->rows;
    int64_t longest = r->symmetry == SPMV_SYMMETRIC ? r->rows : r->rows - 1;
    return j * longest - j * (j - 1) / 2;
}

static spmv_status read_size(reader *r, worker *w, const char *line, const char *end,
                             int64_t bytes_left) {
    static const char *const names[] = {"number of rows", "number of columns", "number of entries"};
    word words[3] = {{0}};
    int64_t sizes[3] = {0};
    int n = mm_split_line(line, before_comment(line, line, end), words, 3);
    const int expected = r->coordinate ? 3 : 2;
    const char *odd = mm_find_odd_byte(line, end);
    if (odd) return mm_refuse_odd_byte(w, line, end, odd);
    if (r->vector && n == expected - 1) { /* a vector need not say that it has one column */
        words[2] = words[1];
        words[1] = (word){"1", 1};
        r->one_index = r->coordinate;
        n = expected;
    }
    if (n != expected)
        return mm_refuse(w, "found %d word%s, expected %s", n, n == 1 ? "" : "s",
                         r->coordinate ? "'rows columns entries'" : "'rows columns'");
    for (int k = 0; k < expected; k++) {
        bool is_number = mm_scan_integer(words[k], &sizes[k]);
        if (!is_number || sizes[k] < 0 || (k == 2 && sizes[k] == INT64_MAX))
            return mm_refuse(w, "found %s as the %s, expected an integer from 0",
                             mm_quote(words[k]).text, names[k]);
        if (k < 2 && sizes[k] > INT32_MAX)
            return mm_refuse(
                w,
                "found %s as the %s, expected at most %d: rows and columns are numbered in 32 bits",
                mm_quote(words[k]).text, names[k], INT32_MAX);
    }
    r->rows = sizes[0];
    r->cols = sizes[1];
    if (r->symmetry != SPMV_GENERAL && r->rows != r->cols)
        return mm_refuse(w,
                         "found a %s matrix of %" PRId64 " rows and %" PRId64
                         " columns, expected as many columns as rows",
                         r->symmetry == SPMV_SYMMETRIC ? "symmetric" : "skew-symmetric", r->rows,
                         r->cols);
    r->entries = r->coordinate ? sizes[2] : mm_column_start(r, r->cols);
    if (r->entries > 0 && (r->rows == 0 || r->cols == 0))
        return mm_refuse(
            w, "found %" PRId64 " entries, expected 0 in a matrix without rows or columns",
            r->entries);

    /* The shortest lines are "1 1 0\n", "1 1\n" and "1\n", the last one without its end: this
     * bounds what a file can hold before anything is allocated for it. */
    r->shortest = !r->coordinate ? 2 : r->field == SPMV_PATTERN_FIELD ? 4 : 6;
    if (r->one_index) r->shortest -= 2;
    if (r->bytes >= 0 && r->entries > (bytes_left + 1) / r->shortest)
        return mm_refuse(w,
                         "found a size of %" PRId64 " entries, expected at most %" PRId64
                         " in the %" PRId64 " bytes that follow: is the file cut short?",
                         r->entries, (bytes_left + 1) / r->shortest, bytes_left);
    r->block_entries = (size_t)(BLOCK / r->shortest + 2);
    return SPMV_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Refuses a file that begins with something else: by its name if that is known. */
static spmv_status refuse_kind(worker *w, const char *line, const char *end) {
    const char *advice, *name = spmv_name_of_kind(w->text, (size_t)(w->filled - w->text), &advice);
    word first = {line, 0};
    if (name) {
        w->located = false;
        snprintf(w->error, sizeof w->error, "found %s, expected a Matrix Market file: %s", name,
                 advice);
        return w->status = SPMV_E_FORMAT;
    }
    mm_split_line(line, end, &first, 1);
    return mm_refuse(w, "found %s, expected %s or the like: is this a Matrix Market file?",
                     mm_quote(first).text, BANNER);
}

/* Refuses a line that does not end: of a file with other line ends, or of no text at all. */
static spmv_status refuse_endless(reader *r, worker *w, bool banner) {
    const char *end = memchr(w->text, '\r', (size_t)(w->filled - w->text));
    r->lines++;
    if (end && end < w->filled - 1 && mm_find_odd_byte(w->text, end) == NULL)
        return mm_refuse_odd_byte(w, w->text, w->filled, end);
    if (!banner && spmv_name_of_kind(w->text, (size_t)(w->filled - w->text), &(const char *){0}))
        return refuse_kind(w, w->text, w->text);
    return mm_refuse(w, "found a line longer than %d bytes, expected %s", LONGEST_LINE,
                     banner ? "the size line" : BANNER);
}

/* Passes over the mark that some editors begin UTF-8 text with. */
static const char *skip_mark(const char *p, const char *end) {
    return end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? p + 3 : p;
}

/* A line before the sizes that holds nothing, or a comment: false, but refused if it hides another
 * line, or is what only a banner may follow. */
static bool holds_sizes(worker *w, const char *line, const char *end) {
    word first;
    if (mm_split_line(line, end, &first, 1) > 0 && first.text[0] != '%') return true;
    const char *hidden = mm_find_return(line, end);
    if (hidden) mm_refuse_odd_byte(w, line, end, hidden);
    return false;
}

spmv_status mm_read_header(reader *r, worker *w) {
    for (bool banner = false, begun = false;;) {
        mm_read_lines(r, w);
        if (w->status != SPMV_OK) return w->status;
        if (!begun && w->begin < w->end &&
            spmv_name_of_kind(w->text, (size_t)(w->filled - w->text), &(const char *){0}))
            return refuse_kind(w, w->begin, w->begin);
        if (w->endless) return refuse_endless(r, w, banner);
        if (w->begin == w->end && !banner) {
            r->lines += r->lines == 0;
            return mm_refuse(w, "found %s, expected %s or the like",
                             begun ? "a file without a banner" : "an empty file", BANNER);
        }
        if (w->begin == w->end)
            return mm_refuse(w,
                             "found the end of the file, expected a line with the matrix's size");
        for (const char *line = w->begin; line < w->end;) {
            const char *end = mm_end_of_line(line, w->end), *next = end < w->end ? end + 1 : end;
            word words[5];
            r->lines++;
            if (r->lines == 1) line = skip_mark(line, end);
            if (!banner && split_banner(line, end, words) > 0) {
                if (begun) mm_note(r, r->lines, "the banner is expected in line 1");
                TRY(read_banner(r, w, line, end));
                banner = true;
            } else if (holds_sizes(w, line, end)) {
                if (!banner) return refuse_kind(w, line, end);
                r->size_line = r->lines;
                r->ncarry = (size_t)(w->filled - next);
                memcpy(r->carry, next, r->ncarry);
                r->first_byte = r->bytes_read - (int64_t)r->ncarry;
                return read_size(r, w, line, end, r->bytes - r->first_byte);
            }
            if (w->status != SPMV_OK) return w->status;
            begun = true;
            line = next;
        }
    }
}
