/* io.h: files of matrices and vectors, compressed files and numbers, as the library's other parts
 * and the readers' own files see them. */
#ifndef SPMV_IO_H
#define SPMV_IO_H

#include "host/context.h"
#include "matrix/csr.h"
#include <pthread.h>
#include <stdatomic.h>

typedef void (*spmv_progress)(void *arg, double done);

/* ---- load.c: any file ------------------------------------------------------------------------ */

enum { SPMV_PEEK = 2048 }; /* bytes by which a file is recognised */
/* path: a file of any known format, compressed or not (archive.c), a pipe, or "FILE:NAME" of a file
 * that holds several variables. progress may be NULL. On failure *out is zeroed. */
spmv_status spmv_read_matrix(spmv_ctx *ctx, const char *path, int threads, spmv_progress progress,
                             void *arg, spmv_lines *out);
/* Reads what the file says before its arrays; nnz with both halves of a symmetric matrix. */
spmv_status spmv_read_header(spmv_ctx *ctx, const char *path, spmv_stats *out);
/* Reads an n x 1 array, or raw little-endian doubles when path ends in .f64; *out is malloc's. */
spmv_status spmv_read_vector(spmv_ctx *ctx, const char *path, int64_t *n, double **out);
/* Writes what a file holds, a line for each variable, as far as there is room; "" for a format
 * whose files hold one matrix. */
spmv_status spmv_list_file(spmv_ctx *ctx, const char *path, char *text, size_t size);
/* Writes general compressed rows in the format that the path's ending names. */
spmv_status spmv_write_matrix(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                              spmv_field field);

/* ---- mmio.c: Matrix Market ------------------------------------------------------------------ */

/* path: a file, compressed or not (archive.c), or a pipe. On failure *out is zeroed. */
spmv_status spmv_read_matrix_market(spmv_ctx *ctx, const char *path, int threads,
                                    spmv_progress progress, void *arg, spmv_coo *out);
/* Writes a general coordinate file in the narrowest field, not narrower than field, that holds the
 * values. */
spmv_status spmv_write_matrix_market(spmv_ctx *ctx, const char *path, const spmv_csr_view *A,
                                     spmv_field field);
/* Writes an n x 1 array file, or raw little-endian doubles when path ends in .f64. */
spmv_status spmv_write_vector(spmv_ctx *ctx, const char *path, int64_t n, const double *x);

/* ---- input.c: files that make wait ---------------------------------------------------------- */

typedef struct spmv_input {
    int fd;
    bool waits;              /* it is a pipe or a terminal */
    pthread_t caller;        /* the thread whose wait a signal may end */
    atomic_bool interrupted; /* one has: nothing more is read */
} spmv_input;
void spmv_input_open(spmv_input *in, int fd); /* by the thread that called the library */
/* read(), which fails with EINTR where a signal is to end the wait. */
ptrdiff_t spmv_input_read(spmv_input *in, void *to, size_t n);
/* Called where another wait for the input failed with EINTR: says whether that ends the reading. */
bool spmv_input_has_signal(spmv_input *in);

/* Fails: there is no memory to read the file with. */
static inline spmv_status spmv_no_memory_for(spmv_ctx *ctx, const char *path) {
    return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while reading %s", path);
}

/* ---- archive.c: text out of compressed files and tar archives ------------------------------- */

enum { SPMV_MAGIC_BYTES = 512 }; /* of a file's beginning, enough for spmv_is_archive */
typedef struct spmv_archive spmv_archive;
/* Says whether a file that begins so is compressed or a tar archive. */
bool spmv_is_archive(const unsigned char *head, size_t nhead);
/* Says what a file that begins so is, if it is no text: "a zip archive"; *advice is what to do
 * about it. NULL: it may be text, or nothing that is known. */
const char *spmv_name_of_kind(const void *head, size_t nhead, const char **advice);
/* Opens what stands in the input behind head, which was read from it already (nhead <=
 * SPMV_MAGIC_BYTES), and chooses the entry of a tar archive; the input stays the caller's. */
spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, spmv_input *in,
                              const unsigned char *head, size_t nhead, spmv_archive **out);
/* Reads the next bytes of the text, at most capacity; 0 at its end, -1 when it is damaged:
 * spmv_archive_error says how. */
ptrdiff_t spmv_archive_read(spmv_archive *archive, char *text, size_t capacity);
/* Decompresses what is left: false if that shows damage, which spmv_archive_error then says. What
 * was wrong with the text before it was read to its end may be due to that. */
bool spmv_archive_is_sound(spmv_archive *archive);
const char *spmv_archive_error(spmv_archive *archive);
/* After a failure: SPMV_E_NOMEM where it was for lack of memory, SPMV_E_IO where the file could not
 * be read, else SPMV_E_FORMAT. */
spmv_status spmv_archive_status(const spmv_archive *archive);
void spmv_archive_close(spmv_archive *archive);

/* ---- number.c: decimal text to the nearest double ------------------------------------------- */

enum {
    SPMV_TEXT_PAD = 16
}; /* bytes that must be readable behind any text scanned, the first no digit */
enum {
    SPMV_MIN_Q = -342,
    SPMV_MAX_Q = 308
}; /* w 10^q, 0 < w < 2^64, is 0 below and infinite above */
typedef struct spmv_powers {
    uint64_t five[SPMV_MAX_Q - SPMV_MIN_Q + 1][2]; /* leading 128 bits of 5^q, high half first */
} spmv_powers;
void spmv_powers_init(spmv_powers *powers);
/* Scans [+-] digits[.digits][e|E|d|D[+-]digits], inf, infinity or nan in any case, whatever the
 * locale. Returns the first character behind the number, or NULL when there is none. */
const char *spmv_scan_double(const spmv_powers *powers, const char *text, double *out);
/* The same, and exponents as Fortran also writes and reads them: 1.5q10, and 1.5+100 without a
 * letter. */
const char *spmv_scan_fortran(const spmv_powers *powers, const char *text, double *out);
/* Says whether text begins with word, given in lower case; ASCII letters of either case match,
 * whatever the locale. */
bool spmv_begins_with(const char *text, const char *word);

/* Counts the digits, at most 8, that text begins with, and puts their value in *value: no loop,
 * hence no branch that depends on how many there are. Eight characters are one 64-bit word, the
 * first in its lowest byte. */
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
