/* npz.c: reads NumPy's arrays (.npy) and archives (.npz), in which SciPy and Binsparse keep sparse
 * matrices, and writes SciPy's. An archive is a zip file with its directory at the end; arrays are
 * stored or deflated. Arrays of objects are refused, since unpickling runs programs. */
#include "io/formats.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- .npy ------------------------------------------------------------------------------------ */

enum { MOST_DIMENSIONS = 8, LONGEST_HEADER = 4096, MAGIC = 6, LITTLE = '<' };
typedef struct npy { /* an array of NumPy */
    spmv_part bytes; /* all bytes of the .npy file */
    int64_t data;    /* offset of the elements */
    spmv_element as;
    bool by_columns;
    int dimensions;
    int64_t shape[MOST_DIMENSIONS], n; /* n: number of elements */
} npy;

static uint64_t little(const unsigned char *p, int bytes) {
    uint64_t x = 0;
    for (int k = bytes - 1; k >= 0; k--) x = x << 8 | p[k];
    return x;
}

/* Parses a type such as "<f8". */
static spmv_element element_of(const char *type) {
    const bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const int bytes = (int)strtol(type + (*type ? 2 : 0), NULL, 10);
    if (!*type || !type[1] || bytes < 0) return (spmv_element){0, 1, false};
    const bool swapped = bytes > 1 && (big ? *type == LITTLE : *type == '>');
    return (spmv_element){type[1], bytes, swapped};
}

/* Parses the dictionary of the header. */
static bool read_dictionary(const char *text, npy *out) {
    const char *type = strstr(text, "'descr'"), *order = strstr(text, "'fortran_order'"),
               *shape = strstr(text, "'shape'");
    if (!type || !order || !shape) return false;
    type += strlen("'descr'") + strspn(type + strlen("'descr'"), ": ");
    if (*type == '\'') out->as = element_of(type + 1); /* a list: a structured type */
    order += strlen("'fortran_order'") + strspn(order + strlen("'fortran_order'"), ": ");
    out->by_columns = *order == 'T';
    shape = strchr(shape, '(');
    out->n = 1;
    for (char *end; shape && *++shape && *shape != ')'; shape = end) {
        const int64_t size = strtoll(shape, &end, 10);
        if (end == shape || size < 0 || out->dimensions == MOST_DIMENSIONS) return false;
        if (__builtin_mul_overflow(out->n, size, &out->n)) return false;
        out->shape[out->dimensions++] = size;
        end += strspn(end, " L");
        if (*end == ')') break;
        if (*end != ',') return false;
        end += strspn(end + 1, " ");
    }
    return shape != NULL;
}

/* Reads the header of an array; a->bytes is the whole .npy file. */
static spmv_status read_npy(npy *a) {
    const spmv_part *b = &a->bytes;
    unsigned char start[12];
    char text[LONGEST_HEADER + 1];
    if (b->n < (int64_t)sizeof start)
        return spmv_refuse(b->in, "%s of %" PRId64 " bytes, expected an array of NumPy", b->name,
                           b->n);
    TRY(spmv_part_raw(b, 0, sizeof start, start));
    const int width = start[MAGIC] == 1 ? 2 : 4, begin = MAGIC + 2 + width;
    const int64_t length = (int64_t)little(start + MAGIC + 2, width);
    if (memcmp(start, "\x93NUMPY", MAGIC) != 0 || length > LONGEST_HEADER || begin + length > b->n)
        return spmv_refuse(b->in, "%s without the header of an array of NumPy", b->name);
    TRY(spmv_part_raw(b, begin, length, text));
    text[length] = 0;
    a->data = begin + length;
    if (read_dictionary(text, a)) return SPMV_OK;
    return spmv_refuse(b->in, "%s with a header that is no dictionary of NumPy", b->name);
}

/* Describes the elements as a part. */
static spmv_status part_of(const npy *a, spmv_part *out) {
    const spmv_part *b = &a->bytes;
    return spmv_part_set(b->in, out, b->name, b->packed, b->offset + a->data, a->n, a->as);
}

/* Appends a dense variable. */
static spmv_status add_dense(const npy *a, spmv_contents *out) {
    const spmv_bytes *in = a->bytes.in;
    spmv_held *h = spmv_contents_add(in, out);
    if (!h) return SPMV_E_NOMEM;
    if (strcmp(a->bytes.name, "array") != 0) snprintf(h->name, sizeof h->name, "%s", a->bytes.name);
    h->rows = a->dimensions > 0 ? a->shape[0] : 1;
    h->cols = a->dimensions > 1 ? a->shape[1] : 1;
    h->shape = a->by_columns || a->dimensions < 2 ? SPMV_HELD_BY_COLUMNS : SPMV_HELD_BY_ROWS;
    if (a->dimensions > 2)
        h->refused = "of more than two dimensions";
    else if (a->as.kind == 'c')
        h->refused = "of complex values: complex values are not supported";
    else if (a->as.kind == 'O')
        h->refused = "of Python objects: objects are never unpickled";
    else if (!strchr("iufb", a->as.kind) || a->as.kind == 0)
        h->refused = "of another type";
    return h->refused ? SPMV_OK : part_of(a, &h->values);
}

static bool is_npy(const unsigned char *head, size_t n) {
    return n >= MAGIC && memcmp(head, "\x93NUMPY", MAGIC) == 0;
}

static spmv_status list_npy(const spmv_bytes *in, spmv_contents *out) {
    npy a = {.data = 0};
    const spmv_element byte = {'u', 1, false};
    TRY(spmv_part_set(in, &a.bytes, "array", NULL, 0, in->size, byte));
    TRY(read_npy(&a));
    TRY(add_dense(&a, out));
    const char *refused = out->item[0].refused;
    return refused ? spmv_refuse(in, "an array %s", refused) : SPMV_OK;
}

/* ---- the directory of a zip archive ---------------------------------------------------------- */

enum { STORED = 0, DEFLATED = 8, MOST_DIRECTORY = 1 << 26 };

typedef struct archive {
    const spmv_bytes *in;
    spmv_contents *contents;
    unsigned char *directory;
    int64_t bytes;
} archive;

static spmv_status no_directory(const spmv_bytes *in) {
    return spmv_refuse(in, "no directory at the end of a zip archive: is the file cut short?");
}

/* Finds the directory by the record at the end of the file. */
static spmv_status find_directory(const spmv_bytes *in, int64_t *at, int64_t *bytes) {
    enum { END = 22, END_64 = 56, LOCATOR = 20, COMMENT = 65535 };
    unsigned char wide[END_64];
    const int64_t n = in->size < END + COMMENT ? in->size : END + COMMENT;
    unsigned char *tail = malloc((size_t)n + 1);
    if (!tail) return spmv_no_memory_for(in->ctx, in->path);
    spmv_status status = spmv_bytes_read(in, "the end of a zip archive", in->size - n, n, tail);
    int64_t k = n - END;
    while (status == SPMV_OK && k >= 0 && memcmp(tail + k, "PK\5\6", 4) != 0) k--;
    if (status == SPMV_OK && k < 0) status = no_directory(in);
    if (status == SPMV_OK) {
        *bytes = (int64_t)little(tail + k + 12, 4);
        *at = (int64_t)little(tail + k + 16, 4);
    }
    if (status == SPMV_OK && k >= LOCATOR && memcmp(tail + k - LOCATOR, "PK\6\7", 4) == 0) {
        const int64_t end = (int64_t)little(tail + k - LOCATOR + 8, 8);
        status = spmv_bytes_read(in, "the directory of a zip archive", end, END_64, wide);
        if (status == SPMV_OK && memcmp(wide, "PK\6\6", 4) != 0) status = no_directory(in);
        *bytes = (int64_t)little(wide + 40, 8);
        *at = (int64_t)little(wide + 48, 8);
    }
    free(tail);
    return status;
}

typedef struct member { /* a member of an archive */
    char name[40];      /* name without .npy */
    int method;
    bool encrypted;
    uint32_t crc;
    int64_t packed, unpacked, header;
} member;

/* Reads a size that does not fit into 32 bits from the extra field for 64 bits. */
static void widen(int64_t *value, const unsigned char **extra, const unsigned char *end) {
    if (*value != UINT32_MAX || end - *extra < 8) return;
    *value = (int64_t)little(*extra, 8);
    *extra += 8;
}

/* Reads the entry of the directory at *at; false: there is none. */
static bool next_member(const archive *z, int64_t *at, member *m) {
    enum { ENTRY = 46 };
    const unsigned char *p = z->directory + *at, *end = z->directory + z->bytes;
    if (z->bytes - *at < ENTRY || memcmp(p, "PK\1\2", 4) != 0) return false;
    const int64_t name = (int64_t)little(p + 28, 2), extra = (int64_t)little(p + 30, 2),
                  comment = (int64_t)little(p + 32, 2);
    if (end - p < ENTRY + name + extra + comment) return false;
    *m = (member){.encrypted = p[8] & 1,
                  .method = (int)little(p + 10, 2),
                  .crc = (uint32_t)little(p + 16, 4),
                  .packed = (int64_t)little(p + 20, 4),
                  .unpacked = (int64_t)little(p + 24, 4),
                  .header = (int64_t)little(p + 42, 4)};
    const char *text = (const char *)p + ENTRY;
    if (name > 4 && name - 4 < (int64_t)sizeof m->name && memcmp(text + name - 4, ".npy", 4) == 0)
        memcpy(m->name, text, (size_t)name - 4);
    const unsigned char *field = p + ENTRY + name, *last = field + extra;
    while (last - field >= 4) {
        const unsigned char *value = field + 4, *next = value + little(field + 2, 2);
        if (next > last) break;
        if (little(field, 2) == 1) {
            widen(&m->unpacked, &value, next);
            widen(&m->packed, &value, next);
            widen(&m->header, &value, next);
        }
        field = next;
    }
    *at += ENTRY + name + extra + comment;
    return true;
}

/* Describes all bytes of a member as a part. */
static spmv_status open_member(const archive *z, const member *m, spmv_part *out) {
    enum { LOCAL = 30 };
    unsigned char local[LOCAL];
    const spmv_element byte = {'u', 1, false};
    TRY(spmv_bytes_read(z->in, m->name, m->header, LOCAL, local));
    const int64_t at =
        m->header + LOCAL + (int64_t)little(local + 26, 2) + (int64_t)little(local + 28, 2);
    if (memcmp(local, "PK\3\4", 4) != 0 || m->encrypted ||
        (m->method != STORED && m->method != DEFLATED))
        return spmv_refuse(z->in, "%s packed in another way, expected stored or deflated", m->name);
    spmv_deflated *packed = NULL;
    if (m->method == DEFLATED) {
        const spmv_deflated like = {
            .offset = at, .bytes = m->packed, .unpacked = m->unpacked, .bare = true, .crc = m->crc};
        packed = spmv_contents_pack(z->in, z->contents, &like);
        if (!packed) return SPMV_E_NOMEM;
    }
    TRY(spmv_part_set(z->in, out, m->name, packed, packed ? 0 : at, m->unpacked, byte));
    if (packed) snprintf(packed->name, sizeof packed->name, "%s", m->name);
    return SPMV_OK;
}

/* Finds an array by its name; *found false: there is none. */
static spmv_status find_array(const archive *z, const char *name, npy *out, bool *found) {
    member m;
    *out = (npy){.data = 0};
    *found = false;
    for (int64_t at = 0; next_member(z, &at, &m);) {
        if (strcmp(m.name, name) != 0) continue;
        *found = true;
        TRY(open_member(z, &m, &out->bytes));
        return read_npy(out);
    }
    return SPMV_OK;
}

static spmv_status need_array(const archive *z, const char *name, npy *out) {
    bool found;
    TRY(find_array(z, name, out, &found));
    return found ? SPMV_OK : spmv_refuse(z->in, "no array '%s' in a SciPy matrix", name);
}

static spmv_status need_part(void *arg, const char *name, spmv_part *out) {
    npy a;
    TRY(need_array(arg, name, &a));
    return part_of(&a, out);
}

/* Reads a text of bytes or of 32-bit characters. The caller frees *text. */
static spmv_status read_text(const npy *a, char **text) {
    enum { LONGEST = 1 << 20 };
    const int width = a->as.kind == 'U' ? 4 : 1;
    /* bytes of one character; the type gives the number of characters */
    const int64_t n = a->as.bytes, bytes = n * width;
    *text = NULL;
    if ((a->as.kind != 'U' && a->as.kind != 'S') || a->n != 1 || n > LONGEST ||
        bytes > a->bytes.n - a->data)
        return spmv_refuse(a->bytes.in, "%s that is no text", a->bytes.name);
    unsigned char *raw = calloc((size_t)bytes + 1, 1);
    if (!raw) return spmv_no_memory_for(a->bytes.in->ctx, a->bytes.in->path);
    const spmv_status status = spmv_part_raw(&a->bytes, a->data, bytes, raw);
    for (int64_t k = 0; k < n; k++) raw[k] = raw[k * width + (a->as.swapped ? width - 1 : 0)];
    raw[n] = 0;
    *text = (char *)raw;
    if (status == SPMV_OK) return SPMV_OK;
    free(raw);
    *text = NULL;
    return status;
}

/* ---- what an archive holds ------------------------------------------------------------------- */

static const struct {
    const char *name;
    spmv_shape shape;
    const char *ptr, *line, *idx;
    int dimensions; /* number of dimensions of `data` */
} forms[] = {{"csr", SPMV_HELD_ROWS, "indptr", NULL, "indices", 1},
             {"csc", SPMV_HELD_COLUMNS, "indptr", NULL, "indices", 1},
             {"coo", SPMV_HELD_ENTRIES, NULL, "row", "col", 1},
             {"bsr", SPMV_HELD_BLOCKS, "indptr", NULL, "indices", 3},
             {"dia", SPMV_HELD_DIAGONALS, NULL, NULL, "offsets", 2}};

/* Finds rows and columns of COO: two arrays, or in newer files one array of two rows. */
static spmv_status read_coordinates(const archive *z, spmv_held *h) {
    npy a;
    bool found;
    TRY(find_array(z, "coords", &a, &found));
    if (!found) {
        TRY(need_part((void *)(uintptr_t)z, "row", &h->line));
        return need_part((void *)(uintptr_t)z, "col", &h->idx);
    }
    if (a.dimensions != 2 || a.shape[0] != 2 || a.by_columns)
        return spmv_refuse(z->in, "coords that are not two rows of numbers");
    TRY(part_of(&a, &h->line));
    h->line.n /= 2;
    h->idx = h->line;
    h->idx.offset += h->line.n * h->line.as.bytes;
    if (!a.bytes.packed) return SPMV_OK;
    return SPMV_OK;
}

static spmv_status add_scipy(const archive *z, const char *form) {
    npy shape, data;
    int64_t size[2];
    spmv_part sizes;
    size_t k = 0;
    while (k < sizeof forms / sizeof *forms && strcmp(form, forms[k].name) != 0) k++;
    if (k == sizeof forms / sizeof *forms)
        return spmv_refuse(z->in,
                           "a SciPy matrix of the form '%.20s', expected csr, csc, coo, bsr "
                           "or dia",
                           form);
    TRY(need_array(z, "shape", &shape));
    TRY(part_of(&shape, &sizes));
    if (shape.n != 2 || sizes.as.kind == 'f')
        return spmv_refuse(z->in, "a shape of %" PRId64 " numbers, expected two integers", shape.n);
    TRY(spmv_part_integers(&sizes, 0, 2, size));
    TRY(need_array(z, "data", &data));
    spmv_held *h = spmv_contents_add(z->in, z->contents);
    if (!h) return SPMV_E_NOMEM;
    h->shape = forms[k].shape;
    h->rows = size[0];
    h->cols = size[1];
    h->first_fastest = data.by_columns && data.dimensions > 1;
    TRY(part_of(&data, &h->values));
    if (data.dimensions != forms[k].dimensions)
        return spmv_refuse(z->in, "data of %d dimensions, expected %d", data.dimensions,
                           forms[k].dimensions);
    h->block_rows = h->shape == SPMV_HELD_BLOCKS ? data.shape[1] : 0;
    h->block_cols = h->shape == SPMV_HELD_BLOCKS ? data.shape[2] : 0;
    h->width = h->shape == SPMV_HELD_DIAGONALS ? data.shape[1] : 0;
    if (h->shape == SPMV_HELD_ENTRIES) return read_coordinates(z, h);
    if (forms[k].ptr) TRY(need_part((void *)(uintptr_t)z, forms[k].ptr, &h->ptr));
    return need_part((void *)(uintptr_t)z, forms[k].idx, &h->idx);
}

static spmv_status add_binsparse(const archive *z, const npy *header) {
    char *json = NULL;
    TRY(read_text(header, &json));
    spmv_held *h = spmv_contents_add(z->in, z->contents);
    const spmv_status status =
        h ? spmv_binsparse_describe(z->in, json, need_part, (void *)(uintptr_t)z, h) : SPMV_E_NOMEM;
    free(json);
    return status;
}

/* Appends every array; an array that cannot be read is an error only if it is named. */
static spmv_status add_arrays(const archive *z) {
    member m;
    for (int64_t at = 0; next_member(z, &at, &m);) {
        npy a = {.data = 0};
        if (!*m.name) continue;
        TRY(open_member(z, &m, &a.bytes));
        TRY(read_npy(&a));
        TRY(add_dense(&a, z->contents));
    }
    return SPMV_OK;
}

static spmv_status add_all(const archive *z) {
    npy a;
    bool found;
    TRY(find_array(z, "binsparse", &a, &found));
    if (found) return add_binsparse(z, &a);
    TRY(find_array(z, "format", &a, &found));
    if (!found) return add_arrays(z);
    char *form = NULL;
    TRY(read_text(&a, &form));
    const spmv_status status = add_scipy(z, form);
    free(form);
    return status;
}

/* True if the first member of a zip archive is an array of NumPy. */
static bool is_npz(const unsigned char *head, size_t n) {
    enum { NAME = 30, SUFFIX = 4 };
    if (n < NAME || memcmp(head, "PK\3\4", 4) != 0) return false;
    const size_t length = head[26] + 256u * head[27];
    return length >= SUFFIX && n >= NAME + length &&
           memcmp(head + NAME + length - SUFFIX, ".npy", SUFFIX) == 0;
}

static spmv_status list_npz(const spmv_bytes *in, spmv_contents *out) {
    archive z = {.in = in, .contents = out};
    int64_t at = 0;
    TRY(find_directory(in, &at, &z.bytes));
    TRY(spmv_bytes_check(in, "the directory of a zip archive", at, z.bytes, 1));
    if (z.bytes > MOST_DIRECTORY)
        return spmv_refuse(in, "a directory of %" PRId64 " bytes in a zip archive", z.bytes);
    z.directory = malloc((size_t)z.bytes + 1);
    if (!z.directory) return spmv_no_memory_for(in->ctx, in->path);
    spmv_status status =
        spmv_bytes_read(in, "the directory of a zip archive", at, z.bytes, z.directory);
    if (status == SPMV_OK) status = add_all(&z);
    free(z.directory);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

enum { WRITTEN = 5, ZIP_64 = 45, PLACES = 24 };
typedef struct array_out { /* an array of the archive that is written */
    const char *name, *type;
    int64_t size; /* length of a one-dimensional array; -1: a scalar */
    uint32_t crc;
    int64_t bytes, header;
} array_out;

static bool is_wide(const spmv_csr_view *A) {
    return A->nnz > INT32_MAX;
}

/* Writes array k: its header is padded to 64 bytes. */
static void put_array(spmv_writer *w, const spmv_csr_view *A, const array_out *a, int k) {
    enum { ALIGN = 64, PREFIX = 10 };
    char text[256], shape[64] = "";
    const spmv_element index = {'i', 4, false}, value = SPMV_F64_ELEMENT,
                       offset = {'i', is_wide(A) ? 8 : 4, false};
    const int64_t size[2] = {A->rows, A->cols};
    if (a->size >= 0) snprintf(shape, sizeof shape, "%" PRId64 ",", a->size);
    int n = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                     a->type, shape);
    while ((PREFIX + n + 1) % ALIGN) text[n++] = ' ';
    text[n++] = '\n';
    spmv_put(w, "\x93NUMPY\1\0", PREFIX - 2);
    spmv_put_little(w, (uint64_t)n, 2);
    spmv_put(w, text, (size_t)n);
    switch (k) {
    case 0: spmv_put_indices(w, A->col_idx, A->nnz, index); break;
    case 1: spmv_put_offsets(w, A->row_ptr, A->rows + 1, offset); break;
    case 2: spmv_put(w, "csr", 3); break;
    case 3: spmv_put_offsets(w, size, 2, SPMV_I64); break;
    default: spmv_put_values(w, A->values, A->nnz, value);
    }
}

/* Writes the fields that a member's header and its entry in the directory share. */
static void put_member(spmv_writer *w, const array_out *a, bool in_directory) {
    char name[40];
    const int length = snprintf(name, sizeof name, "%s.npy", a->name);
    if (in_directory) spmv_put_little(w, ZIP_64, 2);
    spmv_put_little(w, ZIP_64, 2);
    spmv_put_little(w, 0, 4);          /* flags; method: stored */
    spmv_put_little(w, 0x00210000, 4); /* 1 January 1980 */
    spmv_put_little(w, a->crc, 4);
    spmv_put_little(w, UINT64_MAX, 8); /* sizes are in the extra field */
    spmv_put_little(w, (uint64_t)length, 2);
    spmv_put_little(w, 4 + (in_directory ? PLACES : PLACES - 8), 2);
    if (in_directory) {
        spmv_put_little(w, 0, 6); /* comment length, disk, attributes */
        spmv_put_little(w, 0, 4);
        spmv_put_little(w, UINT32_MAX, 4);
    }
    spmv_put(w, name, (size_t)length);
    spmv_put_little(w, 1, 2);
    spmv_put_little(w, in_directory ? PLACES : PLACES - 8, 2);
    spmv_put_little(w, (uint64_t)a->bytes, 8);
    spmv_put_little(w, (uint64_t)a->bytes, 8);
    if (in_directory) spmv_put_little(w, (uint64_t)a->header, 8);
}

/* Writes the end records of the archive: for 64 bits, and for older readers. */
static void put_end(spmv_writer *w, int64_t directory) {
    const int64_t end = w->written;
    spmv_put(w, "PK\6\6", 4);
    spmv_put_little(w, 44, 8);
    spmv_put_little(w, ZIP_64 | ZIP_64 << 16, 4);
    spmv_put_little(w, 0, 8);
    spmv_put_little(w, WRITTEN, 8);
    spmv_put_little(w, WRITTEN, 8);
    spmv_put_little(w, (uint64_t)(end - directory), 8);
    spmv_put_little(w, (uint64_t)directory, 8);
    spmv_put(w, "PK\6\7", 4);
    spmv_put_little(w, 0, 4);
    spmv_put_little(w, (uint64_t)end, 8);
    spmv_put_little(w, 1, 4);
    spmv_put(w, "PK\5\6", 4);
    spmv_put_little(w, 0, 4);
    spmv_put_little(w, WRITTEN | WRITTEN << 16, 4);
    spmv_put_little(w, UINT64_MAX, 8);
    spmv_put_little(w, 0, 2);
}

static void write_archive(spmv_writer *w, const void *arg) {
    const spmv_csr_view *A = arg;
    array_out all[WRITTEN] = {
        {.name = "indices", .type = "<i4", .size = A->nnz},
        {.name = "indptr", .type = is_wide(A) ? "<i8" : "<i4", .size = A->rows + 1},
        {.name = "format", .type = "|S3", .size = -1},
        {.name = "shape", .type = "<i8", .size = 2},
        {.name = "data", .type = "<f8", .size = A->nnz}};
    for (int k = 0; k < WRITTEN; k++) {
        spmv_writer count = {.only_counts = true, .has_crc = true};
        put_array(&count, A, &all[k], k);
        all[k].crc = count.crc;
        all[k].bytes = count.written;
        all[k].header = w->written;
        spmv_put(w, "PK\3\4", 4);
        put_member(w, &all[k], false);
        put_array(w, A, &all[k], k);
    }
    const int64_t directory = w->written;
    for (int k = 0; k < WRITTEN; k++) {
        spmv_put(w, "PK\1\2", 4);
        put_member(w, &all[k], true);
    }
    put_end(w, directory);
}

static spmv_status write_npz(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                             spmv_field field) {
    (void)field;
    return spmv_write_file(ctx, path, write_archive, A);
}

static const char *const npz_endings[] = {".npz", NULL};
const spmv_file_format spmv_file_npz = {.name = "a NumPy archive (.npz)",
                                        .endings = npz_endings,
                                        .knows = is_npz,
                                        .list = list_npz,
                                        .write = write_npz};
const spmv_file_format spmv_file_npy = {.name = "a NumPy array", .knows = is_npy, .list = list_npy};
