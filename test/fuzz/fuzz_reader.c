/* fuzz_reader.c: arbitrary bytes as a Matrix Market file. Besides crashes it checks consistency:
 * one input in four is also read by two threads, and as a stream; the entries must be equal, or the
 * input refused. */
#include "fuzz.h"
#include "io/io.h"

static void require_same(const spmv_coo *a, const spmv_coo *b) {
    const size_t n = (size_t)a->nnz;
    require(a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
            !a->values == !b->values);
    require(n == 0 || memcmp(a->row, b->row, n * sizeof *a->row) == 0);
    require(n == 0 || memcmp(a->col, b->col, n * sizeof *a->col) == 0);
    require(n == 0 || !a->values || memcmp(a->values, b->values, n * sizeof *a->values) == 0);
}

static void require_stream(spmv_ctx *ctx, const uint8_t *data, size_t size, spmv_status status,
                           const spmv_coo *coo) {
    char path[64];
    spmv_coo other;
    int ends[2];
    require(pipe(ends) == 0 && write(ends[1], data, size) == (ssize_t)size && close(ends[1]) == 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    const spmv_status streamed = spmv_read_matrix_market(ctx, path, 1, NULL, NULL, &other);
    if (streamed == SPMV_OK || !strstr(ctx->error, "a pipe cannot be read a second time")) {
        require((status == SPMV_OK) == (streamed == SPMV_OK));
        require_same(coo, &other);
    }
    spmv_coo_free(&other);
    close(ends[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static spmv_ctx ctx;
    spmv_coo coo, other;
    if (size > 60000) size = 60000; /* capacity of a pipe */
    const char *path = file_with(data, size);
    ctx.threads = 1;
    const spmv_status status = spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &coo);
    require(status == SPMV_OK ? coo.row && coo.col
                              : !coo.row && !coo.col && !coo.values && ctx.error[0]);
    for (int64_t k = 0; k < coo.nnz; k++) {
        require(coo.row[k] >= 0 && coo.row[k] < coo.rows && coo.col[k] >= 0 &&
                coo.col[k] < coo.cols);
        require(coo.field != SPMV_INTEGER_FIELD || coo.values[k] == coo.values[k]);
    }
    if (size % 4 == 0) {
        require(spmv_read_matrix_market(&ctx, path, 2, NULL, NULL, &other) == status);
        require_same(&coo, &other);
        spmv_coo_free(&other);
        require_stream(&ctx, data, size, status, &coo);
    }
    spmv_coo_free(&coo);
    return 0;
}
