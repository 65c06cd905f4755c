/* mat5.c: reads and writes MATLAB files of versions 5 to 7 (save -v6, -v7), also Octave's and
 * SciPy's. A file is a sequence of tagged elements. A variable is an element, which may be
 * compressed, of further elements: flags, sizes, name, and the arrays. A sparse matrix is CSC. */
#include "matrix/csr_to_csc.h"
#include "io/formats.h"
#include <inttypes.h>
#include <stdio.h>

enum {
    HEADER = 128,
    TAG = 8,
    MATRIX = 14,
    COMPRESSED = 15,
    INT32 = 5,
    SPARSE = 5,

    UINT8 = 9,
    UINT64 = 15, /* classes of variables; those from DOUBLE on are dense numbers */
    IS_COMPLEX = 0x0800,
    IS_LOGICAL = 0x0200
};

/* Types of elements; classes of variables that are not read. */
static const spmv_element types[] = {
    [1] = {'i', 1, false},  [2] = {'u', 1, false}, [3] = {'i', 2, false}, [4] = {'u', 2, false},
    [5] = {'i', 4, false},  [6] = {'u', 4, false}, [7] = {'f', 4, false}, [9] = {'f', 8, false},
    [12] = {'i', 8, false}, [13] = {'u', 8, false}};
static const char *const others[] = {"of an unknown class", "a cell array", "a structure",
                                     "an object", "a text"};

/* an element's tag, with its offset in the file or in the compressed element */
typedef struct element {
    int64_t type, bytes, at, next;
} element;
typedef struct place { /* source of elements */
    const spmv_bytes *in;
    spmv_deflated *packed;
    bool swapped;
    int64_t end;
} place;

static spmv_element in_order(const place *p, spmv_element as) {
    as.swapped = p->swapped && as.bytes > 1;
    return as;
}

/* Reads n integers of one type. */
static spmv_status read_integers(const place *p, const char *what, int64_t at, int64_t n,
                                 spmv_element as, int64_t *to) {
    spmv_part part;
    TRY(spmv_part_set(p->in, &part, what, p->packed, at, n, in_order(p, as)));
    return spmv_part_integers(&part, 0, n, to);
}

/* Reads the tag at byte `at`; data of at most 4 bytes are in the tag itself. */
static spmv_status read_tag(const place *p, int64_t at, element *out) {
    int64_t tag[2];
    TRY(read_integers(p, "an element's tag", at, 2, types[6], tag));
    const bool small = tag[0] >> 16;
    out->type = small ? tag[0] & 0xffff : tag[0];
    out->bytes = small ? tag[0] >> 16 : tag[1];
    out->at = at + (small ? TAG / 2 : TAG);
    out->next = small ? at + TAG : out->at + (out->bytes + TAG - 1) / TAG * TAG;
    if (out->bytes <= (small ? 4 : p->end - out->at)) return SPMV_OK;
    return spmv_refuse(p->in,
                       "an element of %" PRId64 " bytes at byte %" PRId64 "%s: is the file "
                       "cut short?",
                       out->bytes, at, p->packed ? " unpacked" : "");
}

/* Describes a numeric element as a part, and moves *at behind the element. */
static spmv_status read_array(const place *p, const char *name, int64_t *at, spmv_part *out) {
    element e;
    TRY(read_tag(p, *at, &e));
    *at = e.next;
    const spmv_element none = {0, 1, false};
    const size_t known = sizeof types / sizeof *types;
    spmv_element as = (size_t)e.type < known && types[e.type].bytes ? types[e.type] : none;
    return spmv_part_set(p->in, out, name, p->packed, e.at, e.bytes / as.bytes, in_order(p, as));
}

static spmv_status read_name(const place *p, const element *e, spmv_held *h) {
    const int64_t n = e->bytes < (int64_t)sizeof h->name ? e->bytes : (int64_t)sizeof h->name - 1;
    spmv_part part;
    TRY(spmv_part_set(p->in, &part, "a name", p->packed, e->at, n, types[2]));
    return spmv_part_raw(&part, 0, n, h->name);
}

/* Reads flags, sizes and name of a variable. *at moves from behind the tag to behind the name. */
static spmv_status read_head(const place *p, int64_t *at, int64_t *flags, spmv_held *h) {
    element e;
    int64_t size[2] = {0};
    TRY(read_tag(p, *at, &e));
    TRY(read_integers(p, "flags", e.at, 1, types[6], flags));
    TRY(read_tag(p, e.next, &e));
    if (e.bytes != 8) h->refused = "of more than two dimensions";
    TRY(read_integers(p, "sizes", e.at, e.bytes >= 8 ? 2 : 0, types[5], size));
    h->rows = size[0];
    h->cols = size[1];
    TRY(read_tag(p, e.next, &e));
    TRY(read_name(p, &e, h));
    *at = e.next;
    return SPMV_OK;
}

static spmv_status read_variable(const place *p, int64_t at, spmv_held *h) {
    int64_t flags;
    element first = {.type = 0};
    TRY(read_head(p, &at, &flags, h));
    int class = flags & 0xff;
    /* Octave 7.3 gives a sparse matrix of Booleans the class of bytes, but writes row indices. */
    if (class == UINT8 && flags & IS_LOGICAL) TRY(read_tag(p, at, &first));
    if (first.type == INT32) class = SPARSE;
    const bool numbers = class >= SPARSE && class <= UINT64;
    if (!numbers) h->refused = others[class < SPARSE ? class : 0];
    if (flags & IS_COMPLEX) h->refused = "of complex values: complex values are not supported";
    if (h->refused) return SPMV_OK;
    h->shape = class == SPARSE ? SPMV_HELD_COLUMNS : SPMV_HELD_BY_COLUMNS;
    if (class == SPARSE) {
        TRY(read_array(p, "ir", &at, &h->idx));
        TRY(read_array(p, "jc", &at, &h->ptr));
    }
    return read_array(p, class == SPARSE ? "pr" : "values", &at, &h->values);
}

/* Opens a compressed element; *inside: its content. */
static spmv_status open_packed(const place *p, const element *e, spmv_contents *out,
                               place *inside) {
    spmv_deflated like = {.offset = e->at, .bytes = e->bytes, .unpacked = TAG, .is_probe = true};
    snprintf(like.name, sizeof like.name, "a compressed variable");
    element own;
    *inside = *p;
    inside->packed = spmv_contents_pack(p->in, out, &like);
    if (!inside->packed) return SPMV_E_NOMEM;
    inside->end = INT64_MAX;
    TRY(read_tag(inside, 0, &own));
    spmv_deflated_end(inside->packed);
    inside->packed->is_probe = false;
    inside->end = inside->packed->unpacked = TAG + own.bytes;
    if (own.type == MATRIX) return SPMV_OK;
    return spmv_refuse(p->in, "a compressed element of type %" PRId64 ", expected a variable",
                       own.type);
}

static bool is_mat5(const unsigned char *head, size_t n) {
    return n >= HEADER && head[0] && head[1] && head[2] && head[3] &&
           (memcmp(head + 124, "\0\1IM", 4) == 0 || memcmp(head + 124, "\1\0MI", 4) == 0);
}

static spmv_status list_mat5(const spmv_bytes *in, spmv_contents *out) {
    unsigned char head[HEADER];
    TRY(spmv_bytes_read(in, "the header", 0, HEADER, head));
    const bool big = head[126] == 'M', own_big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const place file = {.in = in, .swapped = big != own_big, .end = in->size};
    element e;
    for (int64_t at = HEADER; at < in->size; at = e.type == COMPRESSED ? e.at + e.bytes : e.next) {
        place from = file;
        TRY(read_tag(&file, at, &e));
        if (e.type != MATRIX && e.type != COMPRESSED)
            return spmv_refuse(
                in, "an element of type %" PRId64 " at byte %" PRId64 ", expected a variable",
                e.type, at);
        spmv_held *h = spmv_contents_add(in, out);
        if (!h) return SPMV_E_NOMEM;
        if (e.type == COMPRESSED) TRY(open_packed(&file, &e, out, &from));
        TRY(read_variable(&from, e.type == COMPRESSED ? TAG : e.at, h));
        if (h->refused && from.packed) spmv_deflated_end(from.packed);
        if (!*h->name) out->n--; /* internal to MATLAB */
    }
    return SPMV_OK;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct columns {
    const spmv_csr_view *A;
    int64_t *ptr;
    int32_t *idx;
    double *values;
} columns;

static int64_t padded(int64_t bytes) {
    return (bytes + TAG - 1) / TAG * TAG;
}

static void put_tag(spmv_writer *w, int type, int64_t bytes) {
    spmv_put_little(w, (uint64_t)type, 4);
    spmv_put_little(w, (uint64_t)bytes, 4);
}

static void pad(spmv_writer *w) {
    if (w->written % TAG) spmv_put_little(w, 0, (int)(TAG - w->written % TAG));
}

/* Returns the size of the variable's element without its tag, in bytes. */
static int64_t bytes_of(const spmv_csr_view *A) {
    return 3 * 2 * TAG + 3 * TAG + padded(4 * A->nnz) + padded(4 * (A->cols + 1)) + 8 * A->nnz;
}

static void write_variable(spmv_writer *w, const void *arg) {
    const columns *c = arg;
    const spmv_csr_view *A = c->A;
    const spmv_element index = {'i', 4, false};
    char head[HEADER - 12];
    memset(head, ' ', sizeof head);
    memcpy(head, "MATLAB 5.0 MAT-file, written by spmv", 36);
    spmv_put(w, head, sizeof head);
    spmv_put_little(w, 0, 8);
    spmv_put(w, "\0\1IM", 4);
    put_tag(w, MATRIX, bytes_of(A));
    put_tag(w, 6, 8);
    spmv_put_little(w, SPARSE, 4);
    spmv_put_little(w, A->nnz ? (uint64_t)A->nnz : 1, 4);
    put_tag(w, 5, 8);
    spmv_put_little(w, (uint64_t)A->rows, 4);
    spmv_put_little(w, (uint64_t)A->cols, 4);
    put_tag(w, 1, 1);
    spmv_put_little(w, 'A', 8);
    put_tag(w, 5, 4 * A->nnz);
    spmv_put_indices(w, c->idx, A->nnz, index);
    pad(w);
    put_tag(w, 5, 4 * (A->cols + 1));
    spmv_put_offsets(w, c->ptr, A->cols + 1, index);
    pad(w);
    put_tag(w, 9, 8 * A->nnz);
    spmv_put_values(w, c->values, A->nnz, SPMV_F64_ELEMENT);
}

static spmv_status write_mat5(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field) {
    (void)field;
    if (bytes_of(A) > UINT32_MAX)
        return spmv_fail(
            ctx, SPMV_E_WRITE,
            "%s: the matrix has more than 4 GB, which is what this version of MATLAB's "
            "files can hold: name a file .npz or .petsc",
            path);
    columns c = {.A = A,
                 .ptr = spmv_host_take(ctx, (size_t)(A->cols + 1) * sizeof *c.ptr),
                 .idx = spmv_host_take(ctx, (size_t)A->nnz * sizeof *c.idx),
                 .values = spmv_host_take(ctx, (size_t)A->nnz * sizeof *c.values)};
    const spmv_csc_conversion t = {.lines = A->rows,
                                   .places = A->cols,
                                   .nnz = A->nnz,
                                   .ptr = A->row_ptr,
                                   .idx = A->col_idx,
                                   .values = A->values,
                                   .precision = SPMV_F64,
                                   .out_ptr = c.ptr,
                                   .out_idx = c.idx,
                                   .out_values = c.values};
    spmv_status status = c.ptr && c.idx && c.values
                             ? spmv_csr_to_csc(ctx, &t)
                             : spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while writing %s", path);
    if (status == SPMV_OK) status = spmv_write_file(ctx, path, write_variable, &c);
    spmv_host_give(ctx, c.ptr);
    spmv_host_give(ctx, c.idx);
    spmv_host_give(ctx, c.values);
    return status;
}

static const char *const endings[] = {".mat", NULL};
const spmv_file_format spmv_file_mat5 = {.name = "a MATLAB file",
                                         .endings = endings,
                                         .knows = is_mat5,
                                         .list = list_mat5,
                                         .write = write_mat5};
