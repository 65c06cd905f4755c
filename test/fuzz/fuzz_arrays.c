/* fuzz_arrays.c: arbitrary arrays for spmv_mat_create, of the expected lengths, with any offsets
 * and indices. Accepted arrays are multiplied: values and x are small integers, so that the result
 * must equal that of a plain loop. */
#include "fuzz.h"
#include "spmv_bench.h"

enum { MOST_SIZE = 12, MOST_NNZ = 40, MOST_BLOCK = 3 };

static spmv_ctx *ctx;

static void *whole_numbers(input *in, size_t n, int bits, int64_t most) {
    const size_t width = (size_t)bits / 8;
    char *all = malloc(n * width + 1);
    require(all != NULL);
    for (size_t k = 0; k < n; k++) {
        const int b = byte_of(in);
        /* most values are possible; one of 16 is arbitrary */
        const int64_t value =
            b % 16 ? b / 16 % (most + 1) : (int64_t)((uint64_t)b * 0x123456789abcdef) - 1;
        const int32_t narrow = (int32_t)value;
        memcpy(all + k * width, bits == 64 ? (const void *)&value : &narrow, width);
    }
    return all;
}

/* Returns offsets that ascend from base to nnz, with occasional errors. */
static void *offsets(input *in, size_t lines, int bits, int64_t base, int64_t nnz) {
    char *all = malloc((lines + 1) * (size_t)bits / 8);
    int64_t at = base;
    require(all != NULL);
    for (size_t l = 0; l <= lines; l++) {
        const int64_t value = byte_of(in) == 255 ? byte_of(in) - 9 : l == lines ? base + nnz : at;
        const int32_t narrow = (int32_t)value;
        memcpy(all + l * (size_t)bits / 8, bits == 64 ? (const void *)&value : &narrow,
               (size_t)bits / 8);
        at += below(in, 6);
        if (at > base + nnz) at = base + nnz;
    }
    return all;
}

static int64_t whole_at(const void *all, int bits, int64_t k) {
    return bits == 64 ? ((const int64_t *)all)[k] : ((const int32_t *)all)[k];
}

static double value_at(const spmv_arrays *a, int64_t k) {
    if (!a->values) return 1;
    return a->precision == SPMV_F64 ? ((const double *)a->values)[k]
                                    : (double)((const float *)a->values)[k];
}

/* Adds one entry, and its mirror image, to y. */
static void add_entry(const spmv_arrays *a, int64_t row, int64_t col, double value, const double *x,
                      double *y) {
    require(row >= 0 && row < a->rows && col >= 0 && col < a->cols);
    y[row] += value * x[col];
    if (a->symmetry != SPMV_GENERAL && row != col)
        y[col] += (a->symmetry == SPMV_SKEW_SYMMETRIC ? -value : value) * x[row];
}

static void multiply(const spmv_arrays *a, const double *x, double *y) {
    const int idx_bits = a->idx_bits ? a->idx_bits : 32;
    const int64_t height = a->block_rows ? a->block_rows : 1,
                  width = a->block_cols ? a->block_cols : 1;
    const int64_t lines = a->by_columns ? a->cols / width : a->rows / height;
    for (int64_t l = 0; l < (a->line ? a->nnz : lines); l++) {
        const int64_t begin = a->line ? l : whole_at(a->ptr, a->ptr_bits, l) - a->base,
                      end = a->line ? l + 1 : whole_at(a->ptr, a->ptr_bits, l + 1) - a->base;
        for (int64_t k = begin; k < end; k++) {
            const int64_t line = a->line ? whole_at(a->line, idx_bits, k) : l,
                          other = whole_at(a->idx, idx_bits, k) - a->base;
            for (int64_t b = 0; b < height * width; b++) {
                const int64_t row = (a->by_columns ? other : line) * height + b / width,
                              col = (a->by_columns ? line : other) * width + b % width;
                add_entry(a, row, col, value_at(a, k * height * width + b), x, y);
            }
        }
    }
}

static void require_product(spmv_mat *mat, const spmv_arrays *a, bool is_f32) {
    double x[MOST_SIZE * MOST_BLOCK + 1],
        right[MOST_SIZE * MOST_BLOCK + 1] = {0}, y[MOST_SIZE * MOST_BLOCK + 1];
    float x_f32[MOST_SIZE * MOST_BLOCK + 1], y_f32[MOST_SIZE * MOST_BLOCK + 1];
    const spmv_plan_opts opts = {.size = sizeof opts,
                                 .precision = is_f32 ? SPMV_F32 : SPMV_F64,
                                 .kernel =
                                     a->flags & SPMV_VOLATILE ? "omp:auto" : "omp:csr_serial"};
    spmv_plan *plan = NULL;
    for (int64_t j = 0; j < a->cols || j < a->rows; j++)
        x_f32[j] = (float)(x[j] = (double)(j % 5 + 1));
    multiply(a, x, right);
    require(spmv_plan_create(mat, &opts, &plan) == SPMV_OK);
    require(spmv_exec(plan, 1, is_f32 ? (void *)x_f32 : x, 0, is_f32 ? (void *)y_f32 : y) ==
            SPMV_OK);
    for (int64_t i = 0; i < a->rows; i++) require((is_f32 ? (double)y_f32[i] : y[i]) == right[i]);
    spmv_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input in = {data, size};
    spmv_mat *mat = NULL;
    if (!ctx) {
        const spmv_ctx_opts opts = {.size = sizeof opts, .threads = 2};
        require(spmv_ctx_create(&opts, &ctx) == SPMV_OK);
    }
    spmv_arrays a = SPMV_OPTS(spmv_arrays);
    const int about = byte_of(&in), more = byte_of(&in);
    a.block_rows = about & 1 ? 1 + below(&in, MOST_BLOCK) : 0;
    a.block_cols = about & 1 ? 1 + below(&in, MOST_BLOCK) : 0;
    const int64_t height = a.block_rows ? a.block_rows : 1, width = a.block_cols ? a.block_cols : 1;
    const int64_t lines_down = below(&in, MOST_SIZE), lines_across = below(&in, MOST_SIZE);
    a.rows = height * lines_down, a.cols = width * lines_across;
    a.nnz = below(&in, MOST_NNZ);
    a.by_columns = about >> 1 & 1;
    a.base = about >> 2 & 1;
    a.ptr_bits = about & 8 ? 64 : 32;
    a.precision = about & 16 ? SPMV_F32 : SPMV_F64;
    a.symmetry = about & 32 ? (spmv_symmetry)(1 + (about >> 6 & 1)) : SPMV_GENERAL;
    a.idx_bits = more & 1 ? 64 : 0;
    a.flags = (unsigned)more >> 1 & 15;
    const bool by_line = a.flags & SPMV_VOLATILE && more & 32;
    const int64_t lines = a.by_columns ? lines_across : lines_down,
                  others = a.by_columns ? lines_down : lines_across;
    const int idx_bits = a.idx_bits ? 64 : 32;
    void *ptr = by_line ? NULL : offsets(&in, (size_t)lines, a.ptr_bits, a.base, a.nnz);
    void *idx = whole_numbers(&in, (size_t)a.nnz, idx_bits, others > 0 ? others - 1 + a.base : 0);
    void *line =
        by_line ? whole_numbers(&in, (size_t)a.nnz, idx_bits, lines > 0 ? lines - 1 : 0) : NULL;
    const int64_t nvalues = a.nnz * height * width;
    double *f64 = malloc((size_t)nvalues * sizeof *f64 + 1);
    float *f32 = malloc((size_t)nvalues * sizeof *f32 + 1);
    require(f64 && f32);
    for (int64_t k = 0; k < nvalues; k++) f32[k] = (float)(f64[k] = below(&in, 9) - 4);
    a.ptr = ptr, a.idx = idx, a.line = line;
    a.values = more & 64 ? NULL : a.precision == SPMV_F64 ? (void *)f64 : f32;
    const spmv_status status = spmv_mat_create(ctx, &a, &mat);
    require(status == SPMV_OK ? mat != NULL : !mat && spmv_ctx_error(ctx)[0]);
    if (status == SPMV_OK && !(a.flags & SPMV_SORTED))
        require_product(mat, &a, a.flags & SPMV_VOLATILE && a.precision == SPMV_F32);
    spmv_mat_free(mat);
    free(ptr), free(idx), free(line), free(f64), free(f32);
    return 0;
}
