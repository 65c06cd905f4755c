/* fuzz_mmio.c: any bytes as a Matrix Market file, plain or compressed, for libFuzzer.
 *
 *     clang-14 -g -O1 -fopenmp -fsanitize=fuzzer,address,undefined -DHAVE_LIBARCHIVE \
 *         -DHAVE_ZLIB -D_GNU_SOURCE -Iinclude -Isrc -I. test/fuzz/fuzz_mmio.c src/read/mmio*.c \
 *         src/read/{number,archive}.c src/core/{coo,memory,status}.c \
 *         -larchive -lz -lm -o fuzz_mmio
 *
 * Beside crashes it looks for disagreement: as a file, by one thread and by two, and as a stream,
 * the same bytes must give the same entries or be refused. */
#include "read/read.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition) {
    if (!condition) abort();
}

static void require_same(const spmv_coo *a, const spmv_coo *b) {
    size_t n = (size_t)a->nnz;
    require(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
            !a->values == !b->values);
    require(n == 0 || memcmp(a->row, b->row, n * sizeof *a->row) == 0);
    require(n == 0 || memcmp(a->col, b->col, n * sizeof *a->col) == 0);
    require(n == 0 || !a->values || memcmp(a->values, b->values, n * sizeof *a->values) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static spmv_ctx ctx;
    spmv_coo coo, other;
    char path[64];
    double *x = NULL;
    int64_t n;
    int ends[2], file = memfd_create("fuzz", 0);
    if (size > 60000) size = 60000; /* what a pipe holds */
    require(file >= 0 && write(file, data, size) == (ssize_t)size && pipe(ends) == 0);
    require(write(ends[1], data, size) == (ssize_t)size && close(ends[1]) == 0);
    ctx.threads = 1;

    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    spmv_status status = spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &coo);
    require(status == SPMV_OK ? coo.row && coo.col
                              : !coo.row && !coo.col && !coo.values && ctx.error[0]);
    for (int64_t k = 0; k < coo.nnz; k++) {
        require(coo.row[k] >= 0 && coo.row[k] < coo.rows && coo.col[k] >= 0 &&
                coo.col[k] < coo.cols);
        require(coo.field != SPMV_INTEGER_FIELD || coo.values[k] == coo.values[k]);
    }
    require(spmv_read_matrix_market(&ctx, path, 2, NULL, NULL, &other) == status);
    require_same(&coo, &other);
    spmv_coo_free(&other);
    if (spmv_read_vector(&ctx, path, &n, &x) == SPMV_OK) require(status == SPMV_OK && n == coo.nnz);
    free(x);

    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    spmv_status streamed = spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &other);
    if (streamed == SPMV_OK || !strstr(ctx.error, "a pipe cannot be read a second time")) {
        require((status == SPMV_OK) == (streamed == SPMV_OK));
        require_same(&coo, &other);
    }
    spmv_coo_free(&other);
    spmv_coo_free(&coo);
    close(ends[0]);
    close(file);
    return 0;
}
