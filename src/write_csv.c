/* write_csv.c: records as CSV (RFC 4180), every scalar under its dotted name. */
#include "app.h"
#include <inttypes.h>
#include <math.h>

static bool is_scalar(const field *f) {
    return f->type == TYPE_text || f->type == TYPE_whole || f->type == TYPE_number ||
           f->type == TYPE_truth;
}

static void put_text(FILE *file, const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, file);
        return;
    }
    putc('"', file);
    for (; *s; s++) {
        if (*s == '"') putc('"', file);
        putc(*s, file);
    }
    putc('"', file);
}

static void put_value(FILE *file, const field *f, const void *of) {
    const char *at = (const char *)of + f->offset;
    if (f->type == TYPE_text && *(const text *)(const void *)at)
        put_text(file, *(const text *)(const void *)at);
    if (f->type == TYPE_whole && *(const whole *)(const void *)at != INT64_MIN)
        fprintf(file, "%" PRId64, *(const whole *)(const void *)at);
    if (f->type == TYPE_number && isfinite(*(const number *)(const void *)at))
        fprintf(file, "%.17g", *(const number *)(const void *)at);
    if (f->type == TYPE_truth && *(const truth *)(const void *)at >= 0)
        fputs(*(const truth *)(const void *)at ? "true" : "false", file);
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
