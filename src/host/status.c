/* status.c: texts and exit codes of statuses, and the text of the last failure. */
#include "context.h"
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* A switch rather than an array: the compiler warns about a code without a line in status.def. */
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

/* This thread's last failure without a context, and whether that was the last failure. */
static _Thread_local char error_without_context[256];
static _Thread_local bool failed_without_context;

/* Serializes writers, because plans of one context may fail in several threads at once. Held during
 * fork, so that no child inherits it locked by another thread. */
static pthread_mutex_t one_writer = PTHREAD_MUTEX_INITIALIZER;

static void lock_texts(void) {
    pthread_mutex_lock(&one_writer);
}

static void unlock_texts(void) {
    pthread_mutex_unlock(&one_writer);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(lock_texts, unlock_texts, unlock_texts);
}

spmv_status spmv_fail(spmv_ctx *ctx, spmv_status code, const char *format, ...) {
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&one_writer);
    if (ctx)
        vsnprintf(ctx->error, sizeof ctx->error, format, args);
    else
        vsnprintf(error_without_context, sizeof error_without_context, format, args);
    pthread_mutex_unlock(&one_writer);
    failed_without_context = !ctx;
    va_end(args);
    return code;
}

void spmv_forget_failure(void) {
    failed_without_context = false;
}

const char *spmv_ctx_error(const spmv_ctx *ctx) {
    return ctx && !failed_without_context ? ctx->error : error_without_context;
}

const char *spmv_ctx_note(const spmv_ctx *ctx) {
    return ctx ? ctx->note : "";
}

const char *spmv_version(void) {
    return SPMV_VERSION;
}
