/* talk.c: what the program says beside its results. */
#include "app.h"
#include <stdarg.h>

void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
}

int complain(spmv_status status, const char *what) {
    say("spmv: %s\n", what && *what ? what : spmv_strerror(status));
    return spmv_exit_code(status);
}
