/* generate_args.c: parses and checks the arguments of gen:NAME:ARGS. */
#include "generate.h"
#include "spmv_helpers.h"
#include <stdarg.h>
#include <stdio.h>

spmv_status spmv_args_refuse(const spmv_args *args, const char *format, ...) {
    char text[256];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return spmv_fail(args->ctx, SPMV_E_ARG, "gen:%.100s: %s; usage: gen:%s:%s", args->spec, text,
                     args->generator->name, args->generator->args);
}

spmv_status spmv_args_at_most(const spmv_args *args, int count) {
    if (args->count <= count) return SPMV_OK;
    return spmv_args_refuse(args, "'%.*s' is one argument too many", args->length[count],
                            args->text[count]);
}

spmv_status spmv_arg_size(const spmv_args *args, int k, int64_t default_value, int64_t most,
                          int64_t *out) {
    *out = default_value;
    if (k >= args->count) return SPMV_OK;
    const char *text = args->text[k];
    int length = args->length[k];
    int64_t value = 0;
    bool is_number = length > 0;
    for (int c = 0; c < length && is_number; c++) {
        is_number = text[c] >= '0' && text[c] <= '9';
        if (value <= most)
            value = 10 * value + (text[c] - '0'); /* the value stops growing before it overflows */
    }
    if (!is_number) return spmv_args_refuse(args, "'%.*s' is not a size", length, text);
    if (value < 1 || value > most)
        return spmv_args_refuse(args, "%.*s is not in 1 to %lld", length, text, (long long)most);
    *out = value;
    return SPMV_OK;
}

spmv_status spmv_arg_decimal(const spmv_args *args, int k, int64_t default_value, int64_t least,
                             int64_t most, int64_t *out) {
    enum { PLACES = 6 };
    *out = default_value;
    if (k >= args->count) return SPMV_OK;
    const char *text = args->text[k];
    int length = args->length[k], digits = 0,
        places = -1; /* digits after the point; -1: no point yet */
    int64_t value = 0;
    bool is_number = true;
    for (int c = 0; c < length && is_number; c++) {
        if (text[c] == '.' && places < 0) {
            places = 0;
            continue;
        }
        is_number = text[c] >= '0' && text[c] <= '9' && places < PLACES;
        digits++;
        places += places >= 0;
        if (value <= most) value = 10 * value + (text[c] - '0');
    }
    if (!is_number || !digits)
        return spmv_args_refuse(args, "'%.*s' is not a decimal of at most %d places", length, text,
                                PLACES);
    for (int p = places < 0 ? 0 : places; p < PLACES && value <= most; p++) value *= 10;
    if (value < least || value > most)
        return spmv_args_refuse(args, "%.*s is not in %g to %g", length, text, 1e-6 * (double)least,
                                1e-6 * (double)most);
    *out = value;
    return SPMV_OK;
}
