/* mmio_header.c: what a Matrix Market file says of itself: the banner, and the line with the sizes,
 * which is checked against the bytes that follow. */
#include "mmio.h"
#include <inttypes.h>

static spmv_status read_banner(reader *r, worker *w, const char *line, const char *end) {
    word words[5] = {{0}};
    int n = mm_split_line(line, end, words, 5);
    if (n == 0 || !mm_word_is(words[0], "%%matrixmarket"))
        return mm_refuse(w, "found %s, expected %s or the like: is this a Matrix Market file?",
                         mm_quote(n ? words[0] : (word){line, 0}).text, BANNER);
    if (n != 5) return mm_refuse(w, "found a banner of %d words, expected 5, as in %s", n, BANNER);
    if (!mm_word_is(words[1], "matrix"))
        return mm_refuse(w, "found %s, expected 'matrix'", mm_quote(words[1]).text);

    r->coordinate = mm_word_is(words[2], "coordinate");
    if (!r->coordinate && !mm_word_is(words[2], "array"))
        return mm_refuse(w, "found %s, expected 'coordinate' or 'array'", mm_quote(words[2]).text);

    if (mm_word_is(words[3], "complex"))
        return mm_refuse(w, "found a complex matrix, expected real, integer or pattern: complex "
                            "values are not supported");
    if (mm_word_is(words[3], "real"))
        r->field = SPMV_REAL_FIELD;
    else if (mm_word_is(words[3], "integer"))
        r->field = SPMV_INTEGER_FIELD;
    else if (mm_word_is(words[3], "pattern"))
        r->field = SPMV_PATTERN_FIELD;
    else
        return mm_refuse(w, "found %s, expected 'real', 'integer' or 'pattern'",
                         mm_quote(words[3]).text);

    if (mm_word_is(words[4], "hermitian"))
        return mm_refuse(w,
                         "found a hermitian matrix, expected general, symmetric or skew-symmetric: "
                         "complex values are not supported");
    if (mm_word_is(words[4], "general"))
        r->symmetry = SPMV_GENERAL;
    else if (mm_word_is(words[4], "symmetric"))
        r->symmetry = SPMV_SYMMETRIC;
    else if (mm_word_is(words[4], "skew-symmetric"))
        r->symmetry = SPMV_SKEW_SYMMETRIC;
    else
        return mm_refuse(w, "found %s, expected 'general', 'symmetric' or 'skew-symmetric'",
                         mm_quote(words[4]).text);

    if (r->field == SPMV_PATTERN_FIELD && !r->coordinate)
        return mm_refuse(
            w, "found a pattern array, expected real or integer: an array has no pattern");
    if (r->field == SPMV_PATTERN_FIELD && r->symmetry == SPMV_SKEW_SYMMETRIC)
        return mm_refuse(
            w, "found a skew-symmetric pattern, expected real or integer: a pattern has no signs");
    return SPMV_OK;
}

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
    int n = mm_split_line(line, end, words, 3), expected = r->coordinate ? 3 : 2;
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
    if (r->bytes >= 0 && r->entries > (bytes_left + 1) / r->shortest)
        return mm_refuse(w,
                         "found a size of %" PRId64 " entries, expected at most %" PRId64
                         " in the %" PRId64 " bytes that follow: is the file cut short?",
                         r->entries, (bytes_left + 1) / r->shortest, bytes_left);
    r->block_entries = (size_t)(BLOCK / r->shortest + 2);
    return SPMV_OK;
}

spmv_status mm_read_header(reader *r, worker *w) {
    for (bool banner = false;;) {
        mm_read_lines(r, w);
        if (w->status != SPMV_OK) return w->status;
        if (w->endless) {
            r->lines++;
            return mm_refuse(w, "found a line longer than %d bytes, expected %s", LONGEST_LINE,
                             banner ? "the size line" : BANNER);
        }
        if (w->begin == w->end && !banner) {
            r->lines++;
            return mm_refuse(w, "found an empty file, expected %s or the like", BANNER);
        }
        if (w->begin == w->end)
            return mm_refuse(w,
                             "found the end of the file, expected a line with the matrix's size");
        for (const char *line = w->begin; line < w->end;) {
            const char *end = mm_end_of_line(line, w->end), *next = end < w->end ? end + 1 : end;
            word first;
            r->lines++;
            if (!banner) {
                TRY(read_banner(r, w, line, end));
                banner = true;
            } else if (mm_split_line(line, end, &first, 1) > 0 && first.text[0] != '%') {
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
