/* rb.c: reads Rutherford-Boeing and Harwell-Boeing files: text with numbers in fixed columns, which
 * Fortran formats define, so that fields may touch. Of a symmetric matrix one triangle is stored. A
 * line with as many words as fields is split at blanks; a line whose length fits narrower fields is
 * split into these, since some writers (SciPy's hb_write) declare wider fields than they write. */
#include "io/formats.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct form { /* a Fortran format: `count` fields per line of `width` characters each */
    int64_t count, width;
    int digits; /* digits behind the implied point of a field without a point */
    int scale;  /* scale factor: a field without an exponent is divided by 10^scale */
    bool integers;
} form;

typedef struct array { /* one of three arrays in the text */
    form as;
    const char *first, *at; /* its first line; the next line to read */
    int64_t n, done;        /* number of elements, and of those in the lines before `at` */
    int64_t line;           /* line number of `first` */
} array;

typedef struct text {
    char *own; /* NULL: the bytes were in memory before */
    const char *begin, *end;
    spmv_powers powers;
    array of[3];
} text;
enum { POINTERS, INDICES, VALUES, LONGEST_FIELD = 100, MOST_FIELDS = 1000 };
static const char *const names[] = {"column pointers", "row indices", "values"};

/* ---- lines and formats ----------------------------------------------------------------------- */

static const char *end_of_line(const char *p, const char *end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    const char *stop = newline ? newline : end;
    return stop > p && stop[-1] == '\r' ? stop - 1 : stop;
}

static const char *next_line(const char *p, const char *end) {
    const char *newline = memchr(p, '\n', (size_t)(end - p));
    return newline ? newline + 1 : end;
}

/* Copies a line without its end, cut to the size of the buffer. */
static void copy_line(const char *p, const char *end, char *to, size_t size) {
    const size_t n = (size_t)(end_of_line(p, end) - p);
    snprintf(to, size, "%.*s", (int)(n < size ? n : size - 1), p);
}

/* Parses a width; one that no field may have is LONGEST_FIELD. */
static int64_t width_at(const char *p, char **end) {
    const long n = strtol(p, end, 10);
    return n < 0 || n > LONGEST_FIELD ? LONGEST_FIELD : n;
}

/* Parses a format such as (10I8), (1P,3D25.17) or (4(1X,I13)); *end: behind it. */
static bool read_form(const char *p, form *out, const char **end) {
    int64_t number = 0;
    int depth = 0;
    bool has_number = false, negative = false;
    *out = (form){.count = 1};
    while (*p == ' ') p++;
    if (*p != '(') return false;
    for (; *p; p++) {
        const int c = toupper((unsigned char)*p);
        if (isdigit(c)) {
            if (!has_number) number = 0;
            if (number < 1000000) number = 10 * number + c - '0';
            has_number = true;
            continue;
        }
        if (c == 'P') {
            out->scale = (int)(negative ? -number : number);
        } else if (c == 'X') {
            out->width += has_number ? number : 1;
        } else if (strchr("IEDFG", c)) {
            if (has_number) out->count *= number;
            p += toupper((unsigned char)p[1]) == 'S' || toupper((unsigned char)p[1]) == 'N';
            char *stop;
            out->width += width_at(p + 1, &stop);
            if (*stop == '.') out->digits = (int)width_at(stop + 1, &stop);
            out->integers = c == 'I';
            p = strchr(stop, ')');
            while (p && depth-- > 1) p = strchr(p + 1, ')');
            *end = p ? p + 1 : NULL;
            return p && out->count > 0 && out->count <= MOST_FIELDS && out->width > 0 &&
                   out->width < LONGEST_FIELD && out->digits >= 0 && out->digits < LONGEST_FIELD &&
                   abs(out->scale) < LONGEST_FIELD;
        } else if (c == '(') {
            depth++;
            if (has_number) out->count *= number;
        } else if (c != ',' && c != ' ' && c != '-' && c != '+') {
            return false;
        }
        if (out->count > MOST_FIELDS || out->width > LONGEST_FIELD) return false;
        negative = c == '-';
        has_number = false;
    }
    return false;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static spmv_status refuse_field(const spmv_bytes *in, const array *a, const char *field, size_t n) {
    return spmv_refuse(in, "'%.*s' in line %" PRId64 ", expected %s", (int)(n < 40 ? n : 40), field,
                       a->line + a->done / a->as.count, a->as.integers ? "an integer" : "a number");
}

static bool scan_integer(const char *p, int64_t *out) {
    char *end;
    while (*p == ' ') p++;
    if (!isdigit((unsigned char)*p) && *p != '-' && *p != '+') return false;
    *out = strtoll(p, &end, 10);
    while (*end == ' ') end++;
    return *end == 0 && end > p;
}

/* Parses a number by Fortran's rules: without a point, the last digits are the fraction; without an
 * exponent, the scale factor applies. */
static bool scan_value(const text *t, const array *a, char *field, double *out) {
    char *p = field, *mantissa_end;
    while (*p == ' ') p++;
    const size_t n = strlen(p);
    for (size_t k = n; k > 0 && p[k - 1] == ' '; k--) p[k - 1] = 0;
    mantissa_end = p + strspn(p, "+-");
    const size_t digits = strspn(mantissa_end, "0123456789.");
    const bool has_point = memchr(mantissa_end, '.', digits) != NULL;
    mantissa_end += digits;
    const bool has_exponent = *mantissa_end != 0 && digits > 0;
    const int shift =
        (digits && !has_point ? a->as.digits : 0) + (digits && !has_exponent ? a->as.scale : 0);
    if (shift) {
        enum { LARGEST = 100000 }; /* beyond it, a value is 0 or infinite */
        char *exponent = mantissa_end;
        if (has_exponent) exponent += strspn(exponent, "eEdDqQ");
        long given = has_exponent ? strtol(exponent, NULL, 10) : 0;
        if (given < -LARGEST || given > LARGEST) given = given < 0 ? -LARGEST : LARGEST;
        snprintf(mantissa_end, 24, "e%ld", given - shift);
    }
    const char *end = *p ? spmv_scan_fortran(&t->powers, p, out) : NULL;
    return end && *end == 0;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Reads `n` fields of the line at a->at. */
static spmv_status read_line(const spmv_bytes *in, const text *t, array *a, int64_t fields,
                             int64_t *integers, double *values) {
    const char *p = a->at, *end = end_of_line(p, t->end);
    int64_t words = 0;
    for (const char *q = p; q < end;) {
        while (q < end && (*q == ' ' || *q == '\t')) q++;
        words += q < end;
        while (q < end && *q != ' ' && *q != '\t') q++;
    }
    const int64_t length = end - p, even = fields ? length / fields : 0;
    if (end == t->end && length < fields * a->as.width) /* it may end inside a number */
        return spmv_refuse(in,
                           "line %" PRId64 " of %" PRId64 " characters and without an end, "
                           "expected %" PRId64 ": is the file cut short?",
                           a->line + a->done / a->as.count, length, fields * a->as.width);
    const int64_t width =
        even * fields == length && even > 0 && even < a->as.width ? even : a->as.width;
    for (int64_t k = 0; k < fields; k++) {
        char field[LONGEST_FIELD + 24 + SPMV_TEXT_PAD] = "";
        size_t n;
        if (words == fields) {
            while (*p == ' ' || *p == '\t') p++;
            for (n = 0; p + n < end && p[n] != ' ' && p[n] != '\t';) n++;
        } else {
            n = (size_t)least(end - p, width);
        }
        if (n > LONGEST_FIELD) return refuse_field(in, a, p, n);
        memcpy(field, p, n);
        const bool read =
            integers ? scan_integer(field, &integers[k]) : scan_value(t, a, field, &values[k]);
        if (!read) return refuse_field(in, a, p, n);
        p += n;
    }
    return SPMV_OK;
}

static spmv_status fetch(const spmv_part *part, int64_t first, int64_t n, void *to) {
    text *t = (text *)(uintptr_t)part->handle;
    const bool integers = part->as.kind == 'i';
    array *a = &t->of[!integers                                  ? VALUES
                      : strcmp(part->name, names[POINTERS]) == 0 ? POINTERS
                                                                 : INDICES];
    int64_t whole[MOST_FIELDS] = {0};
    double values[MOST_FIELDS];
    if (first < a->done) a->at = a->first, a->done = 0;
    while (n > 0) {
        const int64_t fields = least(a->as.count, a->n - a->done);
        if (a->at >= t->end)
            return spmv_refuse(part->in, "the end of the file after %" PRId64 " of %" PRId64 " %s",
                               a->done, a->n, part->name);
        if (a->done + fields > first) {
            TRY(read_line(part->in, t, a, fields, integers ? whole : NULL, values));
            const int64_t skip = first - a->done, some = least(fields - skip, n);
            memcpy(to, integers ? (void *)(whole + skip) : values + skip, (size_t)some * 8);
            to = (char *)to + some * 8;
            first += some;
            n -= some;
            if (skip + some < fields) break; /* the rest of the line is read again */
        }
        a->done += fields;
        a->at = next_line(a->at, t->end);
    }
    return SPMV_OK;
}

/* ---- the header ------------------------------------------------------------------------------ */

typedef struct header {
    char type[4];
    int64_t rows, cols, entries, rhs_lines;
    form as[3];
    int lines;
} header;

/* Parses the integers with which a line begins; returns their number. */
static int integers_of(const char *p, int64_t *out, int most) {
    int n = 0;
    for (char *end; n < most; n++, p = end) {
        out[n] = strtoll(p, &end, 10);
        if (end == p || (*end && !isspace((unsigned char)*end))) break;
    }
    return n;
}

/* Parses the four header lines; false: the file has another format. */
static bool read_header(const char *begin, const char *end, header *h) {
    enum { LINE = 200, CARDS = 5 };
    char line[LINE];
    int64_t cards[CARDS] = {0}, sizes[4];
    const char *p = next_line(begin, end), *at = line;
    copy_line(p, end, line, sizeof line);
    if (integers_of(line, cards, CARDS) < 3) return false;
    p = next_line(p, end);
    copy_line(p, end, line, sizeof line);
    at += strspn(line, " ");
    for (int k = 0; k < 3; k++)
        h->type[k] = (char)toupper((unsigned char)at[k < (int)strlen(at) ? k : 0]);
    h->type[3] = 0;
    if (strlen(at) < 4 || at[3] != ' ' || !strchr("RCPIQ", h->type[0]) ||
        !strchr("SUHZR", h->type[1]) || !strchr("AE", h->type[2]) ||
        integers_of(at + 3, sizes, 4) < 3)
        return false;
    h->rows = sizes[0];
    h->cols = sizes[1];
    h->entries = sizes[2];
    h->rhs_lines = cards[4];
    p = next_line(p, end);
    copy_line(p, end, line, sizeof line);
    at = line;
    for (int k = POINTERS; k <= INDICES; k++)
        if (!read_form(at, &h->as[k], &at) || !h->as[k].integers) return false;
    if (cards[3] == 0 && h->type[0] != 'C') h->type[0] = 'P';
    if (h->type[0] == 'Q') h->type[0] = 'P'; /* a type whose values are in another file */
    h->lines = 4 + (h->rhs_lines > 0);
    return h->type[0] == 'P' || read_form(at, &h->as[VALUES], &at);
}

static bool is_rb(const unsigned char *head, size_t n) {
    header h;
    return read_header((const char *)head, (const char *)head + n, &h);
}

/* Finds the first line of each array; the arrays follow each other. */
static void find_arrays(text *t, const header *h) {
    const int64_t n[] = {h->cols + 1, h->entries, h->type[0] == 'P' ? 0 : h->entries};
    const char *p = t->begin;
    int64_t line = 1;
    for (int k = 0; k < h->lines; k++, line++) p = next_line(p, t->end);
    for (int k = POINTERS; k <= VALUES; k++) {
        t->of[k] = (array){.as = h->as[k], .first = p, .at = p, .n = n[k], .line = line};
        const int64_t lines = n[k] ? (n[k] + h->as[k].count - 1) / h->as[k].count : 0;
        for (int64_t j = 0; j < lines && p < t->end; j++) p = next_line(p, t->end);
        line += lines;
    }
}

static void close_text(void *handle) {
    text *t = handle;
    free(t->own);
    free(t);
}

static spmv_status open_text(const spmv_bytes *in, spmv_contents *out, text **opened) {
    text *t = calloc(1, sizeof *t);
    if (!t) return spmv_no_memory_for(in->ctx, in->path);
    out->handle = *opened = t;
    out->close = close_text;
    spmv_powers_init(&t->powers);
    t->begin = (const char *)in->memory;
    if (!in->memory) {
        t->begin = t->own = malloc((size_t)in->size + 1);
        if (!t->own) return spmv_no_memory_for(in->ctx, in->path);
        TRY(spmv_bytes_read(in, "the text", 0, in->size, t->own));
    }
    t->end = t->begin + in->size;
    return SPMV_OK;
}

static spmv_status set_part(const spmv_bytes *in, text *t, int which, spmv_element as,
                            spmv_part *out) {
    const array *a = &t->of[which];
    if (a->n < 0 || a->n > in->size) /* each element takes at least one character */
        return spmv_refuse(in,
                           "%" PRId64 " %s, expected at most %" PRId64 " in a file of as many "
                           "bytes: is the file cut short?",
                           a->n, names[which], in->size);
    TRY(spmv_part_set(in, out, names[which], NULL, 0, 0, as));
    out->n = a->n;
    out->fetch = fetch;
    out->handle = (int64_t)(uintptr_t)t;
    return SPMV_OK;
}

static spmv_status list_rb(const spmv_bytes *in, spmv_contents *out) {
    header h = {.lines = 0};
    text *t = NULL;
    TRY(open_text(in, out, &t));
    if (!read_header(t->begin, t->end, &h))
        return spmv_refuse(in, "a header that is not of a Rutherford-Boeing file");
    spmv_held *held = spmv_contents_add(in, out);
    if (!held) return SPMV_E_NOMEM;
    held->rows = h.rows;
    held->cols = h.cols;
    held->shape = SPMV_HELD_COLUMNS;
    held->base = 1;
    held->symmetry = strchr("SH", h.type[1]) ? SPMV_SYMMETRIC
                     : h.type[1] == 'Z'      ? SPMV_SKEW_SYMMETRIC
                                             : SPMV_GENERAL;
    if (h.type[0] == 'C')
        return spmv_refuse(in, "a complex matrix, expected real, integer or pattern: complex "
                               "values are not supported");
    if (h.type[2] == 'E')
        return spmv_refuse(in,
                           "a matrix of elements that are not assembled (%s), expected an "
                           "assembled one",
                           h.type);
    if (h.cols < 0 || h.cols > in->size || h.entries < 0 || h.entries > in->size)
        return spmv_refuse(in,
                           "%" PRId64 " columns and %" PRId64 " entries in a file of %" PRId64
                           " bytes: is the file cut short?",
                           h.cols, h.entries, in->size);
    find_arrays(t, &h);
    TRY(set_part(in, t, POINTERS, SPMV_I64, &held->ptr));
    TRY(set_part(in, t, INDICES, SPMV_I64, &held->idx));
    if (h.type[0] == 'P') return SPMV_OK;
    /* An integer may be written with a point. */
    TRY(set_part(in, t, VALUES, SPMV_F64_ELEMENT, &held->values));
    held->integers = h.type[0] == 'I';
    return SPMV_OK;
}

const spmv_file_format spmv_file_rb = {
    .name = "a Rutherford-Boeing file", .knows = is_rb, .list = list_rb};
