/* mmio_header.c: parses the header of a Matrix Market file: the banner, and the size line, which is
 * checked against the number of bytes that follow. */
#include "mmio.h"
#include <inttypes.h>
#include <stdio.h>

/* ---- the banner ------------------------------------------------------------------------------ */

/* Words that writers put into the banner, and their meaning; the format's own words come first. */
typedef struct spelling {
    const char *word;
    int meaning;
} spelling;
enum { TRUTH_FIELD = -1 }; /* the first entry shows whether entries have values */
static const spelling objects[] = {{"matrix", false}, {"vector", true}};
static const spelling formats[] = {
    {"coordinate", true}, {"array", false}, {"coordinates", true}, {"coord", true},
    {"coo", true},        {"sparse", true}, {"triplet", true},     {"triplets", true},
    {"ijv", true},        {"dense", false},
};
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
    {"int8", SPMV_INTEGER_FIELD},
    {"int16", SPMV_INTEGER_FIELD},
    {"uint8", SPMV_INTEGER_FIELD},
    {"uint16", SPMV_INTEGER_FIELD},
    {"long", SPMV_INTEGER_FIELD},
    {"unsigned_int", SPMV_INTEGER_FIELD},
    {"float16", SPMV_REAL_FIELD},
    {"half", SPMV_REAL_FIELD},
    {"real32", SPMV_REAL_FIELD},
    {"real64", SPMV_REAL_FIELD},
    {"double-precision", SPMV_REAL_FIELD},
    {"numeric", SPMV_REAL_FIELD},
    {"binary", SPMV_PATTERN_FIELD},
    {"bool", TRUTH_FIELD},
    {"boolean", TRUTH_FIELD},
    {"logical", TRUTH_FIELD},
};
static const spelling symmetries[] = {
    {"general", SPMV_GENERAL},
    {"symmetric", SPMV_SYMMETRIC},
    {"skew-symmetric", SPMV_SKEW_SYMMETRIC},
    {"unsymmetric", SPMV_GENERAL},
    {"nonsymmetric", SPMV_GENERAL},
    {"asymmetric", SPMV_GENERAL},
    {"non-symmetric", SPMV_GENERAL},
    {"gen", SPMV_GENERAL},
    {"unsym", SPMV_GENERAL},
    {"sym", SPMV_SYMMETRIC},
    {"symm", SPMV_SYMMETRIC},
    {"symmetrical", SPMV_SYMMETRIC},
    {"herm", SPMV_SYMMETRIC},
    {"self-adjoint", SPMV_SYMMETRIC},
    {"selfadjoint", SPMV_SYMMETRIC},
    {"hermitian", SPMV_SYMMETRIC}, /* precisions of real numbers */
    {"skew-hermitian", SPMV_SKEW_SYMMETRIC},
    {"skew_symmetric", SPMV_SKEW_SYMMETRIC},
    {"skewsymmetric", SPMV_SKEW_SYMMETRIC},
    {"skew", SPMV_SKEW_SYMMETRIC},
    {"skew-sym", SPMV_SKEW_SYMMETRIC},
    {"antisymmetric", SPMV_SKEW_SYMMETRIC},
    {"anti-symmetric", SPMV_SKEW_SYMMETRIC},
};

/* The parts of the banner with the spellings of their words. */
typedef struct part {
    const spelling *known;
    size_t n;
    int of_the_format; /* number of spellings that get no note; they come first */
    const char *expected;
} part;
enum { OBJECT, FORMAT, FIELD, SYMMETRY, PARTS };
#define SPELLINGS(list) (list), sizeof(list) / sizeof *(list)
static const part parts[PARTS] = {
    {SPELLINGS(objects), 2, "'matrix'"},
    {SPELLINGS(formats), 2, "'coordinate' or 'array'"},
    {SPELLINGS(fields), 3, "'real', 'integer' or 'pattern'"},
    {SPELLINGS(symmetries), 3, "'general', 'symmetric' or 'skew-symmetric'"},
};

/* Returns the spelling that matches a word of a part; NULL: there is none. */
static const spelling *find(int which, word w) {
    for (size_t k = 0; k < parts[which].n; k++)
        if (mm_word_is(w, parts[which].known[k].word)) return &parts[which].known[k];
    return NULL;
}

/* Finds the meaning of a word of the banner; a word that the format does not define gets a note,
 * which ends with `more`. */
static spmv_status find_meaning(const reader *r, worker *w, int which, word given, const char *more,
                                int *meaning) {
    const part *p = &parts[which];
    const spelling *found = find(which, given);
    if (!found) return mm_refuse(w, "found %s, expected %s", mm_quote(given).text, p->expected);
    *meaning = found->meaning;
    for (int k = 0; found >= p->known + p->of_the_format && k < p->of_the_format; k++)
        if (p->known[k].meaning == *meaning)
            mm_note(r, r->lines, "%s is read as '%s'%s", mm_quote(given).text, p->known[k].word,
                    more);
    return SPMV_OK;
}

/* Refuses a skew-symmetric matrix of unsigned integers, which cannot be negative. */
static const char *note_on_field(word field, word symmetry) {
    const spelling *s = find(SYMMETRY, symmetry);
    const bool has_no_sign =
        spmv_begins_with(field.text, "unsigned") || spmv_begins_with(field.text, "uint");
    return has_no_sign && s && s->meaning == SPMV_SKEW_SYMMETRIC
               ? ": half of a skew-symmetric matrix is negative"
               : "";
}

/* Returns where a comment behind the first words of a line begins, or the line's end. */
static const char *before_comment(const char *line, const char *first_end, const char *end) {
    for (const char *p = first_end; p < end; p++)
        if (mm_is_comment(p) && p > line && is_blank(p[-1])) return p;
    return end;
}

/* Splits a banner into at most 5 words and returns their number. The first word is "%%MatrixMarket"
 * with any number of % or #, and need not be followed by a blank. 0: the line is no banner. */
static int split_banner(const char *line, const char *end, word words[5]) {
    static const char name[] = "matrix", rest[] = "market";
    const char *p = line;
    while (p < end && (mm_is_comment(p) || is_blank(*p))) p++;
    if ((size_t)(end - p) < strlen(name) + strlen(rest) || !spmv_begins_with(p, name)) return 0;
    p += strlen(name);
    p += *p == ' ' || *p == '-' || *p == '_';
    if (!spmv_begins_with(p, rest)) return 0;
    p += strlen(rest);
    if (p < end && !is_blank(*p)) return 0;
    words[0] = (word){line, (size_t)(p - line)};
    end = before_comment(line, p, end);
    return 1 + mm_split_line(p, end, words + 1, 4);
}

/* Reorders the words of a banner, since some writers omit 'matrix' or the symmetry, or swap
 * symmetry and field; adds a note then. Returns the number of words. */
static int arrange(const reader *r, word words[5], int n) {
    if (n == 4 && find(FORMAT, words[1])) {
        memmove(words + 2, words + 1, 3 * sizeof *words);
        words[1] = (word){"matrix", strlen("matrix")};
        mm_note(r, r->lines, "a banner without 'matrix' is read as if it had it");
        n = 5;
    } else if (n == 4) {
        words[4] = (word){"general", strlen("general")};
        mm_note(r, r->lines, "a banner without a symmetry is read as 'general'");
        n = 5;
    }
    if (n == 5 && find(SYMMETRY, words[3]) && find(FIELD, words[4])) {
        const word field = words[4];
        words[4] = words[3];
        words[3] = field;
        mm_note(r, r->lines, "a symmetry before the field is read as if it stood behind it");
    }
    return n;
}

static spmv_status read_banner(reader *r, worker *w, const char *line, const char *end) {
    word words[5] = {{0}};
    int n = split_banner(line, end, words);
    if (!mm_word_is(words[0], "%%matrixmarket"))
        mm_note(r, r->lines, "%s is read as '%%%%MatrixMarket'", mm_quote(words[0]).text);
    n = arrange(r, words, n);
    const char *odd = mm_find_odd_byte(
        line, n ? before_comment(line, words[0].text + words[0].length, end) : end);
    int meaning[PARTS];
    if (odd) return mm_refuse_odd_byte(w, line, end, odd);
    if (n != 5) return mm_refuse(w, "found a banner of %d words, expected 5, as in %s", n, BANNER);
    for (int k = 0; k < PARTS; k++) {
        if (k == FIELD && mm_word_is(words[k + 1], "complex"))
            return mm_refuse(w,
                             "found a complex matrix, expected real, integer or pattern: complex "
                             "values are not supported");
        TRY(find_meaning(r, w, k, words[k + 1],
                         k == FIELD ? note_on_field(words[FIELD + 1], words[SYMMETRY + 1]) : "",
                         &meaning[k]));
    }
    r->vector = meaning[OBJECT];
    r->coordinate = meaning[FORMAT];
    r->truth = meaning[FIELD] == TRUTH_FIELD;
    r->field = r->truth ? SPMV_INTEGER_FIELD : (spmv_field)meaning[FIELD];
    r->symmetry = (spmv_symmetry)meaning[SYMMETRY];

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

/* Decides what `bool` in the banner means: a pattern if the first entry has no value. */
static void settle_truth(reader *r) {
    enum { MOST = 3 }; /* two indices, and the word behind them */
    const int indices = r->one_index ? 1 : 2;
    const char *text = r->carry, *end = text + r->ncarry;
    if (!r->truth) return;
    while (r->coordinate && text < end) {
        const char *stop = mm_end_of_line(text, end);
        word words[MOST] = {{0}};
        const int n = mm_words_before_comment(words, mm_split_line(text, stop, words, MOST), MOST);
        if (n == indices) r->field = SPMV_PATTERN_FIELD;
        if (n > 0) break;
        text = stop < end ? stop + 1 : end;
    }
    mm_note(r, r->size_line, "the banner's 'bool' is read as '%s', as entries have %s",
            r->field == SPMV_PATTERN_FIELD ? "pattern" : "integer",
            r->field == SPMV_PATTERN_FIELD ? "no values" : "values");
}

static spmv_status read_size(reader *r, worker *w, const char *line, const char *end,
                             int64_t bytes_left) {
    static const char *const names[] = {"number of rows", "number of columns", "number of entries"};
    word words[3] = {{0}};
    int64_t sizes[3] = {0};
    int n = mm_split_line(line, before_comment(line, line, end), words, 3);
    const int expected = r->coordinate ? 3 : 2;
    const char *odd = mm_find_odd_byte(line, before_comment(line, line, end));
    if (odd) return mm_refuse_odd_byte(w, line, end, odd);
    if (r->vector && n == expected - 1) { /* a vector's size line may omit the column count 1 */
        words[2] = words[1];
        words[1] = (word){"1", 1};
        r->one_index = r->coordinate;
        n = expected;
    }
    if (n != expected)
        return mm_refuse(w, "found %d word%s, expected %s", n, n == 1 ? "" : "s",
                         r->coordinate ? "'rows columns entries'" : "'rows columns'");
    for (int k = 0; k < expected; k++) {
        const bool plain = mm_scan_integer(words[k], &sizes[k]);
        const bool found = plain || mm_scan_whole(r, words[k], &sizes[k]);
        if (found && !plain) mm_note_once(r, WHOLE, r->lines);
        if (!found || sizes[k] < 0 || (k == 2 && sizes[k] == INT64_MAX))
            return mm_refuse(w, "found %s as the %s, expected an integer from 0%s",
                             mm_quote(words[k]).text, names[k], found ? "" : mm_reason(words[k]));
        if (k < 2 && sizes[k] > INT32_MAX)
            return mm_refuse(
                w,
                "found %s as the %s, expected at most %d: rows and columns are numbered in 32 bits",
                mm_quote(words[k]).text, names[k], INT32_MAX);
    }
    r->rows = sizes[0];
    r->cols = sizes[1];
    settle_truth(r);
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

    /* Before memory is allocated, checks the announced number of entries against the file's bytes.
     * The shortest lines are "1 1 0\n", "1 1\n" and "1\n"; the last line may lack its end. */
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

/* Returns the next line after `line`, or end. */
static const char *next_line(const char *line, const char *end) {
    const char *stop = mm_end_of_line(line, end);
    return stop < end ? stop + 1 : end;
}

/* Splits a line into at most max words, which are integers >= 0, in *number, except the last
 * `others`. Returns the number of words; 0: a word is no such integer. */
static int scan_line(const char *line, const char *end, int others, int64_t *number, word *words,
                     int max) {
    const int n = mm_split_line(line, mm_end_of_line(line, end), words, max);
    for (int k = 0; k < n - others && k < max; k++)
        if (!mm_scan_integer(words[k], &number[k]) || number[k] < 0) return 0;
    return n;
}

/* True if text begins as a file of hypre: first and last row of a rank, for a matrix also first and
 * last column, and then an entry of these rows. indices: 2 for a matrix, 1 for a vector. */
static bool is_hypre(const char *text, const char *end, int indices) {
    enum { MOST = 4 };
    int64_t range[MOST] = {0}, index[MOST] = {0};
    word words[MOST] = {{0}};
    if (scan_line(text, end, 0, range, words, MOST) != 2 * indices) return false;
    if (scan_line(next_line(text, end), end, 1, index, words, MOST) != indices + 1) return false;
    const word value = words[indices];
    return range[0] <= index[0] && index[0] <= range[1] && memchr(value.text, '.', value.length);
}

/* Names the kind of a text file by its first lines; *advice as for spmv_name_of_kind. */
static const char *name_of_lines(const char *text, const char *end, const char **advice) {
    if (is_hypre(text, end, 2)) {
        *advice = "awk 'FNR==1{if($2>=r) r=$2+1; if($4>=c) c=$4+1; next} "
                  "{e[++n]=$1+1\" \"$2+1\" \"$3} "
                  "END{print \"%%MatrixMarket matrix coordinate real general\\n\" r,c,n; "
                  "for(k=1;k<=n;k++) print e[k]}' FILE >FILE.mtx, with the files of all ranks "
                  "for the first FILE";
        return "an IJ matrix of hypre";
    }
    if (is_hypre(text, end, 1)) {
        *advice = "awk 'FNR==1{if($2>=n) n=$2+1; next} {x[$1]=$2} "
                  "END{print \"%%MatrixMarket matrix array real general\\n\" n,1; "
                  "for(k=0;k<n;k++) print x[k]}' FILE >FILE.mtx, with the files of all ranks for "
                  "the first FILE";
        return "an IJ vector of hypre";
    }
    return NULL;
}

/* Refuses a file without a banner; names its kind if that is known. */
static spmv_status refuse_kind(worker *w, const char *line, const char *end) {
    const char *advice, *name = spmv_name_of_kind(w->text, (size_t)(w->filled - w->text), &advice);
    word first = {line, 0};
    if (!name) name = name_of_lines(w->text, w->filled, &advice);
    if (name) {
        w->located = false;
        snprintf(w->error, sizeof w->error, "found %s, expected a Matrix Market file: %s", name,
                 advice);
        return w->status = SPMV_E_FORMAT;
    }
    const int n = mm_split_line(line, end, &first, 1);
    int64_t number;
    if (n >= 1 && n <= 3 && mm_scan_integer(first, &number))
        return mm_refuse(w,
                         "found numbers, expected %s or the like above them, and a line with "
                         "'rows columns entries'",
                         BANNER);
    return mm_refuse(w, "found %s, expected %s or the like: is this a Matrix Market file?",
                     mm_quote(first).text, BANNER);
}

/* Refuses a line that does not end: the file has other line ends, or is no text. */
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

/* Skips the byte order mark with which some editors begin UTF-8 text. */
static const char *skip_mark(const char *p, const char *end) {
    return end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? p + 3 : p;
}

/* Handles a blank line or a comment before the size line; false: the line is neither. Refuses a
 * comment that hides another line, or that only a banner may follow. */
static bool holds_sizes(reader *r, worker *w, const char *line, const char *end) {
    word first;
    if (mm_split_line(line, end, &first, 1) == 0) return false;
    if (!mm_is_comment(first.text)) return true;
    if (first.text[0] == '#') mm_note_once(r, HASH, r->lines);
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
            } else if (holds_sizes(r, w, line, end)) {
                if (!banner) return refuse_kind(w, line, end);
                r->size_line = r->lines;
                r->ncarry = (size_t)(w->filled - next);
                memcpy(r->carry, next, r->ncarry);
                r->first_byte = r->entries_byte = r->bytes_read - (int64_t)r->ncarry;
                r->end_byte = r->bytes;
                return read_size(r, w, line, end, r->bytes - r->first_byte);
            }
            if (w->status != SPMV_OK) return w->status;
            begun = true;
            line = next;
        }
    }
}
