/* fuzz_vector.c: arbitrary bytes as a vector, in a Matrix Market file or as raw doubles. If the
 * input is also a matrix, the matrix has one row or one column. An accepted vector is written, and
 * must have the same bits when read again. */
#include "fuzz.h"
#include "io/io.h"

/* The suffix of the file's name selects raw doubles. */
static void require_raw(spmv_ctx *ctx, const uint8_t *data, size_t size) {
    char path[64];
    double *x = NULL;
    int64_t n = 0;
    snprintf(path, sizeof path, "/dev/shm/spmv-fuzz-%d.f64", (int)getpid());
    FILE *file = fopen(path, "w");
    require(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
    const bool is_read = spmv_read_vector(ctx, path, &n, &x) == SPMV_OK;
    unlink(path);
    require(!is_read || (n * 8 == (int64_t)size && (n == 0 || memcmp(x, data, size) == 0)));
    require(is_read || !x);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static spmv_ctx ctx;
    char written[64];
    double *x = NULL, *again = NULL;
    int64_t n = 0, m = 0;
    spmv_coo coo;
    ctx.threads = 1;
    if (size % 16 == 0) require_raw(&ctx, data, size);
    const char *path = file_with(data, size);
    if (spmv_read_vector(&ctx, path, &n, &x) == SPMV_OK) {
        const spmv_status status = spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &coo);
        require(status != SPMV_OK || coo.rows == 1 || coo.cols == 1);
        if (status == SPMV_OK) spmv_coo_free(&coo);
        snprintf(written, sizeof written, "/dev/shm/spmv-fuzz-%d.mtx", (int)getpid());
        if (n > 0 && n < 100) {
            require(spmv_write_vector(&ctx, written, n, x) == SPMV_OK);
            require(spmv_read_vector(&ctx, written, &m, &again) == SPMV_OK && m == n);
            for (int64_t i = 0; i < n; i++) /* NaN has many representations */
                require(memcmp(x + i, again + i, sizeof *x) == 0 || x[i] != x[i]);
            unlink(written);
        }
    } else
        require(!x && ctx.error[0]);
    free(again);
    free(x);
    return 0;
}
