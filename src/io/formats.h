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
    const unsigned char *memory; /* NULL: in the file */
    int64_t size;
} spmv_bytes;
/* Reads bytes offset to offset + n - 1. SPMV_E_FORMAT if the file ends before: `what` names them.
 */
spmv_status spmv_bytes_read(const spmv_bytes *in, const char *what, int64_t offset, int64_t n,
                            void *to);
/* SPMV_E_FORMAT unless n elements of so many bytes each are in the file from offset on. */
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
    bool bare;                       /* without zlib's header: of a zip archive */
    uint32_t crc;                    /* CRC-32 in a zip archive */
    struct spmv_inflater *state;     /* NULL: not begun */
} spmv_deflated;
/* Reads unpacked bytes offset to offset + n - 1: fast if offset ascends from call to call. Checks
 * the checksum when the last byte is read. */
spmv_status spmv_deflated_read(spmv_deflated *packed, int64_t offset, int64_t n, void *to);
void spmv_deflated_end(spmv_deflated *packed);
/* CRC-32 of bytes, after that of the bytes before; 0: none. */
uint32_t spmv_crc32(uint32_t before, const void *bytes, size_t n);

/* ---- held.c: what a file holds --------------------------------------------------------------- */

typedef struct spmv_element { /* the type of an array's elements */
    char kind;                /* i: signed, u: unsigned, f: floating-point, b: Boolean, 0: other */
    int bytes;
    bool swapped; /* in the other byte order than this machine's */
} spmv_element;
#define SPMV_I64 ((spmv_element){'i', 8, false})
#define SPMV_F64_ELEMENT ((spmv_element){'f', 8, false})

typedef struct spmv_part spmv_part;
struct spmv_part { /* an array of a file */
    char name[40]; /* in messages; "": there is none */
    const spmv_bytes *in;
    spmv_deflated *packed; /* NULL: in the file's bytes */
    int64_t offset, n;     /* where its elements begin, and how many there are */
    int64_t before;        /* elements of the array in front of these */
    spmv_element as;
    bool same; /* the file has one element, which stands for all */
    /* Another way to read elements; NULL: from the bytes. handle: its own. */
    spmv_status (*fetch)(const spmv_part *part, int64_t first, int64_t n, void *to);
    int64_t handle;
};

typedef enum spmv_shape {
    SPMV_HELD_ROWS,      /* compressed rows: ptr [rows + 1], idx and values [n] */
    SPMV_HELD_LENGTHS,   /* the same; ptr holds the lengths of rows */
    SPMV_HELD_COLUMNS,   /* compressed columns */
    SPMV_HELD_ENTRIES,   /* line: rows, idx: columns */
    SPMV_HELD_BLOCKS,    /* compressed rows of dense blocks, each row by row */
    SPMV_HELD_DIAGONALS, /* idx: offsets; values [idx.n][width]: column j stands at j */
    SPMV_HELD_BY_ROWS,   /* dense, row by row */
    SPMV_HELD_BY_COLUMNS /* dense, column by column */
} spmv_shape;

typedef struct spmv_held { /* a variable of a file */
    char name[64];         /* "": it has none */
    const char *refused;   /* why it is no matrix of ours: "of complex values"; NULL: it may be */
    spmv_shape shape;
    int64_t rows, cols;
    int base;                       /* 0 or 1: what ptr, idx and line count from */
    int64_t block_rows, block_cols; /* BLOCKS: size of a block */
    int64_t width;                  /* DIAGONALS: stored length of a diagonal */
    bool first_fastest; /* values of BLOCKS and DIAGONALS are in Fortran's order of dimensions */
    spmv_part ptr, line, idx, values;
    spmv_symmetry symmetry;
    /* Entries below the diagonal, of blocks on it, are those above once more. */
    bool upper_half;
    int64_t skipped;  /* ptr counts from base + skipped: entries of lines that are not asked for */
    bool integers;    /* its values are, whatever their type */
    bool may_be_half; /* the file does not say whether it holds half of a symmetric matrix */
    bool only_named;  /* chosen by its name alone, and not listed */
} spmv_held;
typedef struct spmv_contents { /* what a file holds */
    spmv_held *item;
    int n, room;
    spmv_deflated **packed; /* their streams, owned */
    int npacked;
    void (*close)(void *handle); /* what the format keeps open; NULL: nothing */
    void *handle;
} spmv_contents;
/* Adds a variable, zeroed; NULL: out of memory, which is said. */
spmv_held *spmv_contents_add(const spmv_bytes *in, spmv_contents *to);
/* Adds a stream; NULL: out of memory, which is said. */
spmv_deflated *spmv_contents_pack(const spmv_bytes *in, spmv_contents *to,
                                  const spmv_deflated *like);
void spmv_contents_free(spmv_contents *contents);
static inline bool spmv_held_is_dense(const spmv_held *h) {
    return h->shape == SPMV_HELD_BY_ROWS || h->shape == SPMV_HELD_BY_COLUMNS;
}
/* Makes a part of n elements; fails if the file cannot hold them, or their type is unknown. */
spmv_status spmv_part_set(const spmv_bytes *in, spmv_part *part, const char *name,
                          spmv_deflated *packed, int64_t offset, int64_t n, spmv_element as);
/* Reads n elements as they are in the file. */
spmv_status spmv_part_raw(const spmv_part *part, int64_t first, int64_t n, void *to);
/* Reads integers of a part, few, as int64_t. */
spmv_status spmv_part_integers(const spmv_part *part, int64_t first, int64_t n, int64_t *to);
/* Writes rows and columns out where the lines are compressed. */
spmv_status spmv_lines_expand(spmv_lines *lines);
spmv_field spmv_held_field(const spmv_held *h);
/* Returns the entries that the variable stores. */
int64_t spmv_held_count(const spmv_held *h);
/* Fails unless the lengths of a variable's arrays are those of its shape. */
spmv_status spmv_held_check(const spmv_bytes *in, const spmv_held *h);
/* Refuses element k of an array: "name[k] (byte 8) that is 9, expected 0 to 7". */
spmv_status spmv_refuse_element(const spmv_part *part, int64_t k, int64_t is, int64_t least,
                                int64_t most);
/* Reads a variable as a matrix, or as a vector: columns one after another. */
spmv_status spmv_held_read(const spmv_bytes *in, const spmv_held *h, int threads,
                           spmv_progress progress, void *arg, spmv_lines *out);
spmv_status spmv_held_vector(const spmv_bytes *in, const spmv_held *h, int64_t *n, double **out);

/* ---- slice.c: shares of a variable ----------------------------------------------------------- */

/* Says whether a process can read a share of a variable without the rest. */
bool spmv_held_has_slices(const spmv_held *h);
/* Cuts a variable to a share of its entries, or of its lines, of which *first is the first. */
spmv_status spmv_held_slice(const spmv_bytes *in, int part, int parts, spmv_held *h,
                            int64_t *first);

/* ---- json.c, binsparse.c --------------------------------------------------------------------- */

/* Returns the value of a member of an object, of text that may be anything; NULL: there is none. */
const char *spmv_json_member(const char *object, const char *key);
/* Returns element k of a list; NULL: there is none. */
const char *spmv_json_element(const char *list, int k);
/* Copies a string, without escapes, to text; false: it is none, or too long. */
bool spmv_json_string(const char *value, char *text, size_t size);
bool spmv_json_integer(const char *value, int64_t *out);
/* Describes the matrix of a Binsparse descriptor, whose arrays find(arg, name, part) finds. */
spmv_status spmv_binsparse_describe(const spmv_bytes *in, const char *json,
                                    spmv_status (*find)(void *arg, const char *name,
                                                        spmv_part *part),
                                    void *arg, spmv_held *out);

/* ---- save.c: writing ------------------------------------------------------------------------- */

typedef struct spmv_writer { /* a file that is written from its beginning to its end */
    spmv_whole_file file;
    bool waits;       /* it is a pipe or a device */
    bool only_counts; /* nothing is written: for sizes and checksums that come before the bytes */
    int error;        /* errno of the first failure, or 0 */
    int64_t written;  /* bytes so far */
    bool has_crc;     /* crc is that of the bytes since it was set to 0 */
    uint32_t crc;
    size_t filled;
    unsigned char *buffer;
} spmv_writer;
void spmv_put(spmv_writer *w, const void *bytes, size_t n);
void spmv_put_little(spmv_writer *w, uint64_t value, int bytes);
/* Writes integers or values of a type. 32-bit ones are indices. */
void spmv_put_offsets(spmv_writer *w, const int64_t *from, int64_t n, spmv_element as);
void spmv_put_indices(spmv_writer *w, const int32_t *from, int64_t n, spmv_element as);
void spmv_put_values(spmv_writer *w, const double *from, int64_t n, spmv_element as);
/* Writes a file, whole or not at all, by write(w, arg). */
spmv_status spmv_write_file(spmv_ctx *ctx, const char *path,
                            void (*write)(spmv_writer *w, const void *arg), const void *arg);

/* ---- formats.c: the table -------------------------------------------------------------------- */

typedef struct spmv_file_format {
    const char *name; /* "a SciPy matrix (.npz)" */
    const char *const
        *endings; /* name endings for writing, ends with NULL; NULL: cannot be written */
    bool (*knows)(const unsigned char *head, size_t n); /* a file that begins so */
    spmv_status (*list)(const spmv_bytes *in, spmv_contents *out);
    /* Writes general compressed rows. */
    spmv_status (*write)(spmv_ctx *ctx, const char *path, const spmv_csr_view *A, spmv_field field);
} spmv_file_format;
/* Returns the format of a file that begins so; NULL: none of the table. */
const spmv_file_format *spmv_file_format_of(const void *head, size_t n);
/* Returns the format that a file of this name is written in; NULL: Matrix Market. */
const spmv_file_format *spmv_file_format_named(const char *path);

#endif
