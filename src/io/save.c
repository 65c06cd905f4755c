/* save.c: writes a file sequentially, in any element type and byte order. */
#include "formats.h"
#include <errno.h>
#include <stdlib.h>

enum { BUFFER = 256 << 10 };

static void flush(spmv_writer *w) {
    if (!w->error) w->error = spmv_write_all(w->file.fd, w->waits, w->buffer, w->filled);
    w->filled = 0;
}

void spmv_put(spmv_writer *w, const void *bytes, size_t n) {
    const char *at = bytes;
    w->written += (int64_t)n;
    if (w->has_crc) w->crc = spmv_crc32(w->crc, bytes, n);
    while (!w->only_counts && n > 0) {
        const size_t room = BUFFER - w->filled, some = n < room ? n : room;
        memcpy(w->buffer + w->filled, at, some);
        w->filled += some;
        at += some;
        n -= some;
        if (w->filled == BUFFER) flush(w);
    }
}

static uint64_t in_order(uint64_t value, int bytes, bool swapped) {
    return swapped ? __builtin_bswap64(value) >> 8 * (8 - bytes) : value;
}

/* Writes the low bytes of value, lowest first: the machine is little-endian. */
void spmv_put_little(spmv_writer *w, uint64_t value, int bytes) {
    spmv_put(w, &value, (size_t)bytes);
}

static void put_element(spmv_writer *w, uint64_t value, spmv_element as) {
    spmv_put_little(w, in_order(value, as.bytes, as.swapped), as.bytes);
}

static bool is_own(spmv_element as, int bytes) {
    return as.bytes == bytes && !as.swapped;
}

void spmv_put_offsets(spmv_writer *w, const int64_t *from, int64_t n, spmv_element as) {
    if (is_own(as, 8)) spmv_put(w, from, (size_t)n * 8);
    for (int64_t k = 0; k < n && !is_own(as, 8); k++) put_element(w, (uint64_t)from[k], as);
}

void spmv_put_indices(spmv_writer *w, const int32_t *from, int64_t n, spmv_element as) {
    if (is_own(as, 4)) spmv_put(w, from, (size_t)n * 4);
    for (int64_t k = 0; k < n && !is_own(as, 4); k++) put_element(w, (uint64_t)from[k], as);
}

void spmv_put_values(spmv_writer *w, const double *from, int64_t n, spmv_element as) {
    if (is_own(as, 8)) spmv_put(w, from, (size_t)n * 8);
    for (int64_t k = 0; k < n && !is_own(as, 8); k++) put_element(w, spmv_bits(from[k]), as);
}

spmv_status spmv_write_file(spmv_ctx *ctx, const char *path,
                            void (*write)(spmv_writer *w, const void *arg), const void *arg) {
    spmv_writer w = {.error = 0};
    int error = spmv_whole_file_open(&w.file, path);
    if (error) return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(error));
    w.waits = spmv_whole_file_waits(&w.file);
    w.buffer = malloc(BUFFER);
    w.error = w.buffer ? 0 : ENOMEM;
    if (!w.error) write(&w, arg);
    if (!w.error) flush(&w);
    free(w.buffer);
    error = spmv_whole_file_close(&w.file, w.error);
    if (error == 0) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_WRITE, "%s: %s", path, strerror(error));
}
