/* status.c: what a status means, and the text of the last failure. */
#include "internal.h"
#include <stdarg.h>
#include <stdio.h>

/* A switch, not an array: the compiler names the code that has no line in status.def. */
const char *spmv_strerror(spmv_status status) {
    switch (status) {
#define STATUS(code, exit_code, text) \
    case SPMV_##code: \
        return text;
#include "status.def"
#undef STATUS
    }
    return "unknown status";
}

int spmv_exit_code(spmv_status status) {
    switch (status) {
#define STATUS(code, exit_code, text) \
    case SPMV_##code: \
        return exit_code;
#include "status.def"
#undef STATUS
    }
    return 3;
}

spmv_status spmv_fail(spmv_ctx *ctx, spmv_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(ctx->error, sizeof ctx->error, format, args);
    va_end(args);
    return code;
}

const char *spmv_ctx_error(const spmv_ctx *ctx) {
    return ctx ? ctx->error : "";
}

const char *spmv_version(void) {
    return SPMV_VERSION;
}
