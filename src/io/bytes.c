/* bytes.c: random access to the bytes of a file by pread. The file is not mapped: if another
 * process truncates a mapped file, an access kills the process. */
#include "formats.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

spmv_status spmv_refuse(const spmv_bytes *in, const char *format, ...) {
    char text[800];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return spmv_fail(in->ctx, SPMV_E_FORMAT, "%s: found %s", in->path, text);
}

spmv_status spmv_bytes_check(const spmv_bytes *in, const char *what, int64_t offset, int64_t n,
                             int64_t width) {
    const int64_t left = offset >= 0 && offset <= in->size ? in->size - offset : 0;
    if (n >= 0 && offset >= 0 && n <= left / width) return SPMV_OK;
    return spmv_refuse(in,
                       "%s of %lld elements at byte %lld, expected at most %lld in the %lld bytes "
                       "that follow: is the file cut short?",
                       what, (long long)n, (long long)offset, (long long)(left / width),
                       (long long)left);
}

spmv_status spmv_bytes_read(const spmv_bytes *in, const char *what, int64_t offset, int64_t n,
                            void *to) {
    TRY(spmv_bytes_check(in, what, offset, n, 1));
    if (in->memory && n) memcpy(to, in->memory + offset, (size_t)n);
    for (char *at = to; !in->memory && n > 0;) {
        const ssize_t got = pread(in->fd, at, (size_t)n, offset);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return spmv_fail(in->ctx, SPMV_E_IO, "%s: %s", in->path, strerror(errno));
        if (got == 0)
            return spmv_refuse(in, "the end at byte %lld in %s: the file became shorter",
                               (long long)offset, what);
        at += got;
        offset += got;
        n -= got;
    }
    return SPMV_OK;
}
