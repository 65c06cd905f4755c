/* fuzz_files.c: arbitrary bytes as a file of a format other than Matrix Market. The environment
 * variable FUZZ_KIND, npz, npy, petsc, mat5 or rb, determines the first bytes. Accepted entries
 * must be inside the matrix, must be equal when read by two threads, and must be
 * equal after writing and reading in the same format. json: the input is a descriptor of Binsparse;
 * hdf5 (Binsparse), mat73, anndata: the input is part of a valid HDF5 file (hdf5_files.h). */
#include "hdf5_files.h"

static const struct {
    const char *name;
    size_t offset, length;
    const char *bytes, *ending;
} kinds[] = {{"npz", 0, 4, "PK\3\4", ".npz"},
             {"npy", 0, 6, "\x93NUMPY", NULL},
             {"petsc", 0, 4, "\0\x12\x7b\x50", ".petsc"},
             {"mat5", 124, 4, "\0\1IM", ".mat"},
             {"rb", 0, 0, "", NULL}};

static spmv_status no_array(void *arg, const char *name, spmv_part *part) {
    const spmv_bytes *in = arg;
    const spmv_element as = {name[0] == 'v' ? 'f' : 'i', 8, false};
    return spmv_part_set(in, part, name, NULL, 0, in->size / 16, as);
}

/* Checks a descriptor; its arrays are the input itself. */
static void describe(spmv_ctx *ctx, const uint8_t *data, size_t size) {
    char *text = malloc(size + 1);
    require(text != NULL);
    if (size) memcpy(text, data, size);
    text[size] = 0;
    spmv_bytes in = {.ctx = ctx, .path = "json", .memory = data, .size = (int64_t)size};
    spmv_held h = {.name = ""};
    spmv_lines lines = {.ptr = NULL};
    if (size && spmv_binsparse_describe(&in, text, no_array, &in, &h) == SPMV_OK &&
        spmv_held_read(&in, &h, 1, NULL, NULL, &lines) == SPMV_OK)
        require(spmv_lines_expand(&lines) == SPMV_OK);
    spmv_lines_free(&lines);
    free(text);
}

static void require_inside(spmv_lines *lines) {
    require(spmv_lines_expand(lines) == SPMV_OK);
    for (int64_t k = 0; k < lines->coo.nnz; k++)
        require(lines->coo.row[k] >= 0 && lines->coo.row[k] < lines->coo.rows &&
                lines->coo.col[k] >= 0 && lines->coo.col[k] < lines->coo.cols);
}

static void require_same(spmv_ctx *ctx, const char *path, spmv_status wanted, const spmv_coo *a) {
    spmv_lines other;
    ctx->threads = 2;
    require(spmv_read_matrix(ctx, path, 2, NULL, NULL, &other) == wanted);
    ctx->threads = 1;
    if (wanted == SPMV_OK) require_inside(&other);
    const spmv_coo *b = &other.coo;
    const size_t n = (size_t)a->nnz;
    require(a->nnz == b->nnz && a->rows == b->rows && !a->values == !b->values);
    require(n == 0 || memcmp(a->row, b->row, n * sizeof *a->row) == 0);
    require(n == 0 || memcmp(a->col, b->col, n * sizeof *a->col) == 0);
    require(n == 0 || !a->values || memcmp(a->values, b->values, n * sizeof *a->values) == 0);
    spmv_lines_free(&other);
}

/* Writes the entries as compressed rows with a single row, in the same format. */
static void require_written(spmv_ctx *ctx, const char *ending, const spmv_coo *coo) {
    char path[80];
    const int64_t ptr[2] = {0, coo->nnz};
    const spmv_csr_view A = {.rows = 1,
                             .cols = coo->cols,
                             .nnz = coo->nnz,
                             .row_ptr = ptr,
                             .col_idx = coo->col,
                             .values = coo->values};
    spmv_lines other;
    snprintf(path, sizeof path, "/dev/shm/spmv-fuzz-%d%s", (int)getpid(), ending);
    require(spmv_write_matrix(ctx, path, &A, SPMV_REAL_FIELD) == SPMV_OK);
    require(spmv_read_matrix(ctx, path, 1, NULL, NULL, &other) == SPMV_OK);
    unlink(path);
    require(other.coo.nnz == coo->nnz && other.coo.cols == coo->cols && other.coo.rows == 1);
    spmv_lines_free(&other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MOST = 60000 };
    static spmv_ctx ctx;
    static uint8_t bytes[MOST];
    const char *asked = getenv("FUZZ_KIND"), *ending = NULL, *path;
    spmv_lines lines;
    char list[200];
    if (size > MOST) size = MOST;
    ctx.threads = 1, ctx.max_unpacked = 1 << 20;
    if (asked && strcmp(asked, "json") == 0) {
        describe(&ctx, data, size);
        return 0;
    }
    if (size) memcpy(bytes, data, size);
    for (size_t k = 0; asked && k < sizeof kinds / sizeof *kinds; k++)
        if (strcmp(asked, kinds[k].name) == 0 && size >= kinds[k].offset + kinds[k].length) {
            memcpy(bytes + kinds[k].offset, kinds[k].bytes, kinds[k].length);
            ending = kinds[k].ending;
        }
    size_t used = size;
    path = hdf5_with(&ctx, asked, data, size, bytes, &used);
    if (!spmv_file_format_of(bytes, used < SPMV_PEEK ? used : SPMV_PEEK)) return 0;
    if (!path) path = file_with(bytes, size);
    *ctx.error = *ctx.note = 0;
    const spmv_status status = spmv_read_matrix(&ctx, path, 1, NULL, NULL, &lines);
    require(status == SPMV_OK ? lines.coo.col != NULL
                              : !lines.coo.col && !lines.ptr && ctx.error[0]);
    if (status == SPMV_OK) require_inside(&lines);
    if (size % 4 == 0) require_same(&ctx, path, status, &lines.coo);
    if (status == SPMV_OK && ending && lines.coo.values && lines.coo.cols < 1000 && size % 8 == 1)
        require_written(&ctx, ending, &lines.coo);
    spmv_lines_free(&lines);
    spmv_list_file(&ctx, path, list, sizeof list);
    int64_t n;
    double *x = NULL;
    spmv_stats about;
    const bool is_long = spmv_read_header(&ctx, path, &about) == SPMV_OK &&
                         (double)about.rows * (double)about.cols > 1e6;
    if (size % 4 == 1 && !is_long)
        require(spmv_read_vector(&ctx, path, &n, &x) == SPMV_OK ? x != NULL : !x);
    free(x);
    return 0;
}
