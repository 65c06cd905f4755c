/* formats.h: what the readers and writers of file formats other than Matrix Market share. A reader
 * (formats/NAME.c) lists what a file holds, a variable with its sizes and where its arrays are, and
 * reads no array; held.c reads the arrays of one variable, with any reader, into a matrix. */
#ifndef SPMV_FORMATS_H
#define SPMV_FORMATS_H

#include "io.h"
#include "whole_file.h"

/* ---- bytes.c: the bytes of a file ------------------------------------------------------------ */

typedef struct spmv_bytes { /* the bytes of a plain file, or bytes in memory */
    spmv_ctx *ctx;
    const char *path;
    int fd;
    const unsigned char *memory; /* NULL: the bytes are in the file */
    int64_t size;
} spmv_bytes;
/* Reads bytes offset to offset + n - 1. Fails with SPMV_E_FORMAT if the file is shorter; `what`
 * names the bytes in the message. */
spmv_status spmv_bytes_read(const spmv_bytes *in, const char *what, int64_t offset, int64_t n,
                            void *to);
/* Fails with SPMV_E_FORMAT unless the file has n elements of `width` bytes from offset on. */
spmv_status spmv_bytes_check(const spmv_bytes *in, const char *what, int64_t offset, int64_t n,
                             int64_t width);
/* Fails with SPMV_E_FORMAT: "PATH: found ...". */
spmv_status spmv_refuse(const spmv_bytes *in, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- inflate.c: compressed parts of a file --------------------------------------------------- */

typedef struct spmv_deflated { /* a stream of zlib, or of deflate without a header */
    const spmv_bytes *in;
    char name[40];                   /* name of the contents in messages */
    int64_t offset, bytes, unpacked; /* bytes: compressed; unpacked: as the file says */
    bool is_probe;                   /* only its beginning is known, of `unpacked` bytes */
    bool bare;                       /* deflate without zlib's header, as in a zip archive */
    uint32_t crc;                    /* CRC-32 in a zip archive */
    struct spmv_inflater *state;     /* NULL: not begun */
} spmv_deflated;
/* Reads unpacked bytes offset to offset + n - 1: fast if offset ascends from call to call. Checks
 * the checksum when the last byte is read. */
spmv_status spmv_deflated_read(spmv_deflated *packed, int64_t offset, int64_t n, void *to);
void spmv_deflated_end(spmv_deflated *packed);
/* Continues a CRC-32 with more bytes; 0 begins one. */
uint32_t spmv_crc32(uint32_t before, const void *bytes, size_t n);

/* ---- held.c: what a file holds --------------------------------------------------------------- */

typedef struct spmv_element { /* the type of an array's elements */
    char kind;                /* i: signed, u: unsigned, f: floating-point, b: Boolean, 0: other */
    int bytes;
    bool swapped; /* true if the byte order is not this machine's */
} spmv_element;
#define SPMV_I64 ((spmv_element){'i', 8, false})
#define SPMV_F64_ELEMENT ((spmv_element){'f', 8, false})

typedef struct spmv_part spmv_part;
struct spmv_part { /* an array of a file */
    char name[40]; /* in messages; "": there is none */
    const spmv_bytes *in;
    spmv_deflated *packed; /* NULL: in the file's bytes */
    int64_t offset, n;     /* where its elements begin, and how many there are */
    int64_t before;        /* elements of the whole array that precede this part */
    spmv_element as;
    bool same; /* the file stores one element, which all n elements equal */
    /* Reads elements in another way; NULL: from the bytes. handle: for this function. */
    spmv_status (*fetch)(const spmv_part *part, int64_t first, int64_t n, void *to);
    int64_t handle;
};

typedef enum spmv_shape {
    SPMV_HELD_ROWS,      /* compressed rows: ptr [rows + 1], idx and values [n] */
    SPMV_HELD_LENGTHS,   /* compressed rows; ptr holds the lengths of the rows */
    SPMV_HELD_COLUMNS,   /* compressed columns */
    SPMV_HELD_ENTRIES,   /* line: rows, idx: columns */
    SPMV_HELD_BLOCKS,    /* compressed rows of dense blocks, each row by row */
    SPMV_HELD_DIAGONALS, /* idx: offsets; values [idx.n][width]: column j stands at j */
    SPMV_HELD_BY_ROWS,   /* dense, row by row */
    SPMV_HELD_BY_COLUMNS /* dense, column by column */
} spmv_shape;

typedef struct spmv_held { /* a variable of a file */
    char name[64];         /* "": it has none */
    const char *refused;   /* why the variable cannot be read: "of complex values"; NULL: it can */
    spmv_shape shape;
    int64_t rows, cols;
    int base;                       /* 0 or 1: what ptr, idx and line count from */
    int64_t block_rows, block_cols; /* BLOCKS: size of a block */
    int64_t width;                  /* DIAGONALS: stored length of a diagonal */
    bool first_fastest; /* values of BLOCKS and DIAGONALS are in Fortran's order of dimensions */
    spmv_part ptr, line, idx, values;
    spmv_symmetry symmetry;
    /* Ignores entries below the diagonal, which repeat those above: blocks on the diagonal are
     * whole. */
    bool upper_half;
    int64_t skipped;  /* entries of the lines before this share: ptr[0] is base + skipped */
    bool integers;    /* the values are integers, whatever their type */
    bool may_be_half; /* the file does not say whether it holds half of a symmetric matrix */
    bool only_named;  /* found only by its name; not listed */
} spmv_held;
typedef struct spmv_contents { /* what a file holds */
    spmv_held *item;
    int n, room;
    spmv_deflated **packed; /* compressed streams of the items; owned */
    int npacked;
    void (*close)(void *handle); /* closes what the format keeps open; NULL: nothing */
    void *handle;
} spmv_contents;
/* Appends a zeroed variable; NULL: out of memory, with the message set. */
spmv_held *spmv_contents_add(const spmv_bytes *in, spmv_contents *to);
/* Appends a stream; NULL: out of memory, with the message set. */
spmv_deflated *spmv_contents_pack(const spmv_bytes *in, spmv_contents *to,
                                  const spmv_deflated *like);
void spmv_contents_free(spmv_contents *contents);
static inline bool spmv_held_is_dense(const spmv_held *h) {
    return h->shape == SPMV_HELD_BY_ROWS || h->shape == SPMV_HELD_BY_COLUMNS;
}
/* Describes n elements as a part; fails if the file is too short for them, or their type is
 * unknown. */
spmv_status spmv_part_set(const spmv_bytes *in, spmv_part *part, const char *name,
                          spmv_deflated *packed, int64_t offset, int64_t n, spmv_element as);
/* Reads n elements in the type and byte order of the file. */
spmv_status spmv_part_raw(const spmv_part *part, int64_t first, int64_t n, void *to);
/* Reads a few integers of a part as int64_t. */
spmv_status spmv_part_integers(const spmv_part *part, int64_t first, int64_t n, int64_t *to);
/* Expands compressed lines to the row and column of each entry. */
spmv_status spmv_lines_expand(spmv_lines *lines);
spmv_field spmv_held_field(const spmv_held *h);
/* Returns the number of entries that the variable stores. */
int64_t spmv_held_count(const spmv_held *h);
/* Fails unless the lengths of a variable's arrays fit its shape and sizes. */
spmv_status spmv_held_check(const spmv_bytes *in, const spmv_held *h);
/* Refuses element k of an array: "name[k] (byte 8) that is 9, expected 0 to 7". */
spmv_status spmv_refuse_element(const spmv_part *part, int64_t k, int64_t is, int64_t least,
                                int64_t most);
/* Reads a variable as a matrix, or as a vector in column-major order. */
spmv_status spmv_held_read(const spmv_bytes *in, const spmv_held *h, int threads,
                           spmv_progress progress, void *arg, spmv_lines *out);
spmv_status spmv_held_vector(const spmv_bytes *in, const spmv_held *h, int64_t *n, double **out);

/* ---- slice.c: shares of a variable ----------------------------------------------------------- */

/* True if a process can read a share of a variable without the rest of the file. */
bool spmv_held_has_slices(const spmv_held *h);
/* Reduces a variable to the share `part` of its entries, or of its lines; *first: first line of the
 * share. */
spmv_status spmv_held_slice(const spmv_bytes *in, int part, int parts, spmv_held *h,
                            int64_t *first);

/* ---- json.c, binsparse.c --------------------------------------------------------------------- */

/* Returns the value of a member of a JSON object; NULL: there is none. The text need not be
 * JSON. */
const char *spmv_json_member(const char *object, const char *key);
/* Returns element k of a list; NULL: there is none. */
const char *spmv_json_element(const char *list, int k);
/* Copies a JSON string without escapes to text; false: the value is no such string, or too long. */
bool spmv_json_string(const char *value, char *text, size_t size);
bool spmv_json_integer(const char *value, int64_t *out);
/* Describes the matrix of a Binsparse descriptor; find(arg, name, part) finds an array by its
 * name. */
spmv_status spmv_binsparse_describe(const spmv_bytes *in, const char *json,
                                    spmv_status (*find)(void *arg, const char *name,
                                                        spmv_part *part),
                                    void *arg, spmv_held *out);

/* ---- save.c: writing ------------------------------------------------------------------------- */

typedef struct spmv_writer { /* a file that is written sequentially */
    spmv_whole_file file;
    bool waits; /* the file is a pipe or a device */
    /* counts and checksums bytes without writing them: some headers precede their data */
    bool only_counts;
    int error;       /* errno of the first failure, or 0 */
    int64_t written; /* bytes so far */
    bool has_crc;    /* crc is updated with every byte */
    uint32_t crc;
    size_t filled;
    unsigned char *buffer;
} spmv_writer;
void spmv_put(spmv_writer *w, const void *bytes, size_t n);
void spmv_put_little(spmv_writer *w, uint64_t value, int bytes);
/* Write n elements in type and byte order `as`. */
void spmv_put_offsets(spmv_writer *w, const int64_t *from, int64_t n, spmv_element as);
void spmv_put_indices(spmv_writer *w, const int32_t *from, int64_t n, spmv_element as);
void spmv_put_values(spmv_writer *w, const double *from, int64_t n, spmv_element as);
/* Writes a file by write(w, arg). On failure the old file stays. */
spmv_status spmv_write_file(spmv_ctx *ctx, const char *path,
                            void (*write)(spmv_writer *w, const void *arg), const void *arg);

/* ---- formats.c: the table -------------------------------------------------------------------- */

typedef struct spmv_file_format {
    const char *name; /* "a SciPy matrix (.npz)" */
    const char *const
        *endings; /* name endings for writing, ends with NULL; NULL: cannot be written */
    /* true if a file that begins with these n bytes has the format */
    bool (*knows)(const unsigned char *head, size_t n);
    spmv_status (*list)(const spmv_bytes *in, spmv_contents *out);
    /* Writes CSR of a general matrix. */
    spmv_status (*write)(spmv_ctx *ctx, const char *path, const spmv_csr_view *A, spmv_field field);
} spmv_file_format;
/* Returns the format of a file that begins with these bytes; NULL: no format of the table. */
const spmv_file_format *spmv_file_format_of(const void *head, size_t n);
/* Returns the format in which a file of this name is written; NULL: Matrix Market. */
const spmv_file_format *spmv_file_format_named(const char *path);

#endif
