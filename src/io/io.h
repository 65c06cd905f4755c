/* io.h: what reads and writes files of matrices and vectors, and what their readers share:
 * compressed files, numbers in text. */
#ifndef SPMV_IO_H
#define SPMV_IO_H

#include "host/context.h"
#include "matrix/csr.h"
#include <pthread.h>
#include <stdatomic.h>

typedef void (*spmv_progress)(void *arg, double done);

/* ---- load.c: any file ------------------------------------------------------------------------ */

enum { SPMV_PEEK = 2048 }; /* bytes from which a file's format is recognised */
/* path: a file of any known format, compressed or not (archive.c), a pipe, or "FILE:NAME" of a file
 * that holds several variables. progress may be NULL. On failure *out is zeroed. */
spmv_status spmv_read_matrix(spmv_ctx *ctx, const char *path, int threads, spmv_progress progress,
                             void *arg, spmv_lines *out);
/* Reads sizes, field and symmetry, without the arrays; nnz counts both halves of a symmetric
 * matrix. */
spmv_status spmv_read_header(spmv_ctx *ctx, const char *path, spmv_stats *out);
/* Reads an n x 1 array, or raw little-endian doubles when path ends in .f64; *out is malloc's. */
spmv_status spmv_read_vector(spmv_ctx *ctx, const char *path, int64_t *n, double **out);
/* Lists the variables of a file, a line each, in at most `size` bytes; "" for a format whose files
 * hold one matrix. */
spmv_status spmv_list_file(spmv_ctx *ctx, const char *path, char *text, size_t size);
/* Writes CSR of a general matrix in the format that the path's ending names. */
spmv_status spmv_write_matrix(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field);

/* ---- mmio.c: Matrix Market ------------------------------------------------------------------ */

/* path: a file, compressed or not (archive.c), or a pipe. On failure *out is zeroed. */
spmv_status spmv_read_matrix_market(spmv_ctx *ctx, const char *path, int threads,
                                    spmv_progress progress, void *arg, spmv_coo *out);
/* Writes a general coordinate file in the narrowest field that holds the values and is not narrower
 * than `field`. */
spmv_status spmv_write_matrix_market(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                                     spmv_field field);
/* Writes an n x 1 array file, or raw little-endian doubles when path ends in .f64. */
spmv_status spmv_write_vector(spmv_ctx *ctx, const char *path, int64_t n, const double *x);

/* ---- input.c: files that make wait ---------------------------------------------------------- */

typedef struct spmv_input {
    int fd;
    bool waits;              /* the file is a pipe or a terminal */
    pthread_t caller;        /* the thread whose wait a signal may end */
    atomic_bool interrupted; /* a signal has ended the wait: nothing more is read */
} spmv_input;
void spmv_input_open(spmv_input *in, int fd); /* called by the thread that called the library */
/* Like read(); fails with EINTR if a signal is to end the wait. */
ptrdiff_t spmv_input_read(spmv_input *in, void *to, size_t n);
/* Called after another wait for the input failed with EINTR; true if the signal ends the
 * reading. */
bool spmv_input_has_signal(spmv_input *in);

/* Fails with SPMV_E_NOMEM and the name of the file. */
static inline spmv_status spmv_no_memory_for(spmv_ctx *ctx, const char *path) {
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while reading %s", path);
}

/* ---- archive.c: text out of compressed files and tar archives ------------------------------- */

enum { SPMV_MAGIC_BYTES = 512 }; /* bytes of a file's beginning that spmv_is_archive needs */
typedef struct spmv_archive spmv_archive;
/* True if a file that begins with these bytes is compressed or a tar archive. */
bool spmv_is_archive(const unsigned char *head, size_t nhead);
/* Names the kind of a file that is no text by its first bytes: "a zip archive". *advice: how to
 * convert the file. NULL: it may be text, or is unknown. */
const char *spmv_name_of_kind(const void *head, size_t nhead, const char **advice);
/* Opens an archive, of which `head` was read from the input already (nhead <= SPMV_MAGIC_BYTES),
 * and chooses the entry of a tar archive. The caller owns the input. */
spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, spmv_input *in,
                              const unsigned char *head, size_t nhead, spmv_archive **out);
/* Reads at most capacity bytes of the text; 0 at its end, -1 if the archive is damaged:
 * spmv_archive_error has the message. */
ptrdiff_t spmv_archive_read(spmv_archive *archive, char *text, size_t capacity);
/* Decompresses the rest; false if the archive is damaged: spmv_archive_error has the message.
 * Called after an error in the text, which damage may have caused. */
bool spmv_archive_is_sound(spmv_archive *archive);
const char *spmv_archive_error(spmv_archive *archive);
/* Returns the status of a failure: SPMV_E_NOMEM, SPMV_E_IO (the file could not be read) or
 * SPMV_E_FORMAT. */
spmv_status spmv_archive_status(const spmv_archive *archive);
void spmv_archive_close(spmv_archive *archive);

/* ---- number.c: decimal text to the nearest double ------------------------------------------- */

enum {
    SPMV_TEXT_PAD = 16
}; /* bytes that must be readable behind any text scanned, the first no digit */
enum {
    SPMV_MIN_Q = -342,
    SPMV_MAX_Q = 308
}; /* for 0 < w < 2^64, w 10^q rounds to 0 below MIN_Q and overflows above MAX_Q */
typedef struct spmv_powers {
    uint64_t five[SPMV_MAX_Q - SPMV_MIN_Q + 1][2]; /* leading 128 bits of 5^q, high half first */
} spmv_powers;
void spmv_powers_init(spmv_powers *powers);
/* Scans [+-] digits[.digits][e|E|d|D[+-]digits], inf, infinity or nan in any case, whatever the
 * locale. Returns the first character behind the number, or NULL when there is none. */
const char *spmv_scan_double(const spmv_powers *powers, const char *text, double *out);
/* Like spmv_scan_double; accepts Fortran's exponents as well: 1.5q10, and 1.5+100 without a
 * letter. */
const char *spmv_scan_fortran(const spmv_powers *powers, const char *text, double *out);
/* True if text begins with word, which is in lower case; ASCII letters match in either case, in any
 * locale. */
bool spmv_begins_with(const char *text, const char *word);

/* Returns the number of digits, at most 8, with which text begins; *value: their value.
 * Branch-free: eight characters are one 64-bit word with the first character in the lowest byte. */
static inline int spmv_scan_8_digits(const char *text, uint64_t *value) {
    uint64_t x;
    memcpy(&x, text, sizeof x);
    x ^= 0x3030303030303030; /* digits become 0..9; adding 0x76 sets the top bit of every other byte
                              */
    uint64_t other = ((x + 0x7676767676767676) | x) & 0x8080808080808080;
    int n = other ? __builtin_ctzll(other) >> 3 : 8;
    x = x << 4 * (8 - n)
          << 4 * (8 - n);  /* in two steps: n may be 0. Zeros enter in front of the digits. */
    x = 10 * x + (x >> 8); /* pairs, in bytes 0, 2, 4, 6 */
    x = (x & 0x000000ff000000ff) * (100 + (1000000ull << 32)) +
        (x >> 16 & 0x000000ff000000ff) * (1 + (10000ull << 32));
    *value = x >> 32;
    return n;
}
#endif
