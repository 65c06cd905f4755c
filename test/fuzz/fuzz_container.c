/* fuzz_container.c: arbitrary bytes as a compressed file or a tar archive. The environment variable
 * FUZZ_KIND, gz, xz, zst, bz2 or tar, determines the first bytes. One input in 16 keeps its own
 * last byte of these, which gives the block size of a .bz2: the largest blocks take five times as
 * long as the smallest, which the other inputs have. The context's limit of memory is 1 MB: a small
 * file may decompress to any length. */
#include "fuzz.h"
#include "io/io.h"

static const struct {
    const char *name;
    size_t offset, length;
    const char *bytes;
} kinds[] = {{"gz", 0, 3, "\x1f\x8b\x08"},
             {"xz", 0, 6, "\xfd\x37zXZ"},
             {"zst", 0, 4, "\x28\xb5\x2f\xfd"},
             {"bz2", 0, 4, "BZh1"},
             {"tar", 257, 5, "ustar"}};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static spmv_ctx ctx;
    enum { MOST = 60000 };
    static uint8_t bytes[MOST];
    const char *asked = getenv("FUZZ_KIND");
    spmv_coo coo, other;
    if (size > MOST) size = MOST;
    if (size) memcpy(bytes, data, size);
    for (size_t k = 0; asked && k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(asked, kinds[k].name) == 0 && size >= kinds[k].offset + kinds[k].length)
            memcpy(bytes + kinds[k].offset, kinds[k].bytes, kinds[k].length - (size % 16 == 0));
    const char *path = file_with(bytes, size);
    ctx.threads = 1, ctx.max_unpacked = 1 << 20;
    const spmv_status status = spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &coo);
    require(status == SPMV_OK ? coo.row && coo.col : !coo.row && !coo.col && ctx.error[0]);
    for (int64_t k = 0; k < coo.nnz; k++)
        require(coo.row[k] >= 0 && coo.row[k] < coo.rows && coo.col[k] >= 0 &&
                coo.col[k] < coo.cols);
    require(spmv_read_matrix_market(&ctx, path, 1, NULL, NULL, &other) == status);
    require(other.nnz == coo.nnz);
    spmv_coo_free(&other);
    spmv_coo_free(&coo);
    return 0;
}
