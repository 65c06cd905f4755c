/* write_csv.c: records as CSV (RFC 4180): scalars under dotted names, objects as "a=1 b=2". */
#include "record.h"
#include "write_csv.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_scalar(const field *f) {
    return f->type == TYPE_text || f->type == TYPE_whole || f->type == TYPE_number ||
           f->type == TYPE_truth || f->type == TYPE_pairs;
}

/* A spreadsheet would compute what begins so; an apostrophe in front makes it text. */
static bool is_formula(const char *s) {
    return *s && s[1] && strchr("=+-@\t\r", *s);
}

static void put_text(FILE *file, const char *s) {
    const char *mark = is_formula(s) ? "'" : "";
    if (!strpbrk(s, ",\"\r\n")) {
        fprintf(file, "%s%s", mark, s);
        return;
    }
    fprintf(file, "\"%s", mark);
    for (; *s; s++) {
        if (*s == '"') putc('"', file);
        putc(*s, file);
    }
    putc('"', file);
}

/* One text, which may need quotes. */
static void put_pairs(FILE *file, const pairs *p) {
    char *all = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&all, &size);
    for (int k = 0; memory && k < p->count; k++) {
        fprintf(memory, "%s%s=", k ? " " : "", p->name[k]);
        if (p->text[k])
            fputs(p->text[k], memory);
        else
            fprintf(memory, "%" PRId64, p->number[k]);
    }
    if (memory && fclose(memory) == 0) put_text(file, all);
    free(all);
}

static void put_value(FILE *file, const field *f, const void *of) {
    const void *at = (const char *)of + f->offset;
    if (f->type == TYPE_text && *(const text *)at) put_text(file, *(const text *)at);
    if (f->type == TYPE_whole && *(const whole *)at != INT64_MIN)
        fprintf(file, "%" PRId64, *(const whole *)at);
    if (f->type == TYPE_number && isfinite(*(const number *)at))
        fprintf(file, "%.17g", *(const number *)at);
    if (f->type == TYPE_truth && *(const truth *)at >= 0)
        fputs(*(const truth *)at ? "true" : "false", file);
    if (f->type == TYPE_pairs) put_pairs(file, at);
}

void csv_write(FILE *file, fields table, const void *of, bool header) {
    for (int pass = !header; pass < 2; pass++) {
        const char *separator = "";
        for (const field *f = table.field; f < table.field + table.count; f++) {
            if (!is_scalar(f)) continue;
            fputs(separator, file);
            separator = ",";
            if (pass == 0)
                fputs(f->key, file);
            else
                put_value(file, f, of);
        }
        fputs("\r\n", file);
    }
}
