/* petsc.c: reads and writes PETSc's binary matrices and vectors, big-endian, with integers of 32 or
 * 64 bits. A matrix of the type sbaij is stored as its upper half, which the file does not say; the
 * name "FILE:symmetric" says it. A file may hold several objects in sequence. */
#include "io/formats.h"
#include <stdio.h>

enum { MATRIX = 1211216, VECTOR = 1211214, DENSE = -1, MOST_OBJECTS = 1000 };
static const spmv_element value = {'f', 8, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};

static spmv_element integer(int bytes) {
    return (spmv_element){'i', bytes, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__};
}

/* Returns the width of the file's integers, 4 or 8 bytes; 0: it is not a PETSc file. */
static int integer_bytes(const unsigned char *head, size_t n) {
    static const unsigned char wide[4] = {0};
    const bool is_wide = n >= 8 && memcmp(head, wide, 4) == 0;
    const unsigned char *at = head + (is_wide ? 4 : 0);
    if (n < 4 || memcmp(at, "\0\x12\x7b", 3) != 0 || (at[3] != 0x50 && at[3] != 0x4e)) return 0;
    return is_wide ? 8 : 4;
}

static bool is_petsc(const unsigned char *head, size_t n) {
    return integer_bytes(head, n) != 0;
}

static spmv_status list_vector(const spmv_bytes *in, int64_t *at, int bytes, spmv_held *out) {
    spmv_part size;
    TRY(spmv_part_set(in, &size, "the size", NULL, *at, 1, integer(bytes)));
    TRY(spmv_part_integers(&size, 0, 1, &out->rows));
    out->cols = 1;
    out->shape = SPMV_HELD_BY_COLUMNS;
    TRY(spmv_part_set(in, &out->values, "values", NULL, *at + bytes, out->rows, value));
    *at += bytes + 8 * out->rows;
    return SPMV_OK;
}

static spmv_status list_matrix(const spmv_bytes *in, int64_t *at, int bytes, spmv_held *out) {
    int64_t size[3], n;
    spmv_part sizes;
    TRY(spmv_part_set(in, &sizes, "the sizes", NULL, *at, 3, integer(bytes)));
    TRY(spmv_part_integers(&sizes, 0, 3, size));
    *at += 3 * bytes;
    out->rows = size[0];
    out->cols = size[1];
    if (size[2] == DENSE) {
        out->shape = SPMV_HELD_BY_ROWS;
        if (out->rows < 0 || out->cols < 0 || __builtin_mul_overflow(out->rows, out->cols, &n))
            n = -1;
        TRY(spmv_part_set(in, &out->values, "values", NULL, *at, n, value));
        *at += 8 * n;
        return SPMV_OK;
    }
    n = size[2];
    out->shape = SPMV_HELD_LENGTHS;
    out->may_be_half = true;
    TRY(spmv_part_set(in, &out->ptr, "lengths", NULL, *at, out->rows, integer(bytes)));
    *at += bytes * out->rows;
    TRY(spmv_part_set(in, &out->idx, "columns", NULL, *at, n, integer(bytes)));
    *at += bytes * n;
    TRY(spmv_part_set(in, &out->values, "values", NULL, *at, n, value));
    *at += 8 * n;
    return SPMV_OK;
}

/* Appends the first matrix a second time, as the upper half of a symmetric matrix. */
static spmv_status add_symmetric(const spmv_bytes *in, spmv_contents *out) {
    const spmv_held first = out->item[0];
    if (first.shape != SPMV_HELD_LENGTHS || first.rows != first.cols) return SPMV_OK;
    spmv_held *h = spmv_contents_add(in, out);
    if (!h) return SPMV_E_NOMEM;
    *h = first;
    h->symmetry = SPMV_SYMMETRIC;
    h->upper_half = true;
    h->may_be_half = false;
    h->only_named = true;
    snprintf(h->name, sizeof h->name, "symmetric");
    return SPMV_OK;
}

static spmv_status list_petsc(const spmv_bytes *in, spmv_contents *out) {
    unsigned char head[8];
    int64_t at = 0, class;
    TRY(spmv_bytes_read(in, "the beginning", 0, in->size < 8 ? in->size : 8, head));
    const int bytes = integer_bytes(head, in->size < 8 ? (size_t)in->size : 8);
    for (int k = 0; at < in->size && k < MOST_OBJECTS; k++) {
        spmv_part id;
        TRY(spmv_part_set(in, &id, "the class", NULL, at, 1, integer(bytes)));
        TRY(spmv_part_integers(&id, 0, 1, &class));
        if (class != MATRIX && class != VECTOR) break; /* an object of another class */
        spmv_held *h = spmv_contents_add(in, out);
        if (!h) return SPMV_E_NOMEM;
        if (k) snprintf(h->name, sizeof h->name, "%d", k + 1);
        at += bytes;
        TRY(class == MATRIX ? list_matrix(in, &at, bytes, h) : list_vector(in, &at, bytes, h));
    }
    return add_symmetric(in, out);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_matrix(spmv_writer *w, const void *arg) {
    const spmv_csr_view *A = arg;
    const spmv_element as = integer(A->nnz > INT32_MAX ? 8 : 4);
    const int64_t head[] = {MATRIX, A->rows, A->cols, A->nnz};
    spmv_put_offsets(w, head, 4, as);
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t length = A->row_ptr[i + 1] - A->row_ptr[i];
        spmv_put_offsets(w, &length, 1, as);
    }
    spmv_put_indices(w, A->col_idx, A->nnz, as);
    spmv_put_values(w, A->values, A->nnz, value);
}

static spmv_status write_petsc(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                               spmv_field field) {
    (void)field;
    return spmv_write_file(ctx, path, write_matrix, A);
}

static const char *const endings[] = {".petsc", NULL};
const spmv_file_format spmv_file_petsc = {.name = "a PETSc binary file",
                                          .endings = endings,
                                          .knows = is_petsc,
                                          .list = list_petsc,
                                          .write = write_petsc};
