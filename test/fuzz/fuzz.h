/* fuzz.h: functions shared by the targets of libFuzzer. A violated requirement ends the program,
 * like a fault found by a sanitizer. */
#ifndef SPMV_FUZZ_H
#define SPMV_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool condition) {
    if (!condition) abort();
}

/* Writes the bytes to a file in memory, the same file for all inputs; returns its name. */
static inline const char *file_with(const uint8_t *data, size_t size) {
    static char path[64];
    static int file = -1;
    if (file < 0) file = memfd_create("fuzz", 0);
    require(file >= 0 && ftruncate(file, (off_t)size) == 0 &&
            pwrite(file, data, size, 0) == (ssize_t)size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return path;
}

/* ---- numbers out of the input --------------------------------------------------------------- */

typedef struct input {
    const uint8_t *data;
    size_t size;
} input;

static inline int byte_of(input *in) { /* 0 at the end */
    if (!in->size) return 0;
    in->size--;
    return *in->data++;
}

static inline int below(input *in, int n) {
    return byte_of(in) % n;
}
#endif
