/* spmv_pieces.h: a matrix in pieces, for processes that read it together (src/ranks): pieces of a
 * file's text, which end at line ends, or rows of a generated matrix, and statistics of some rows
 * of a matrix. Nothing here communicates. The conventions are those of spmv.h; structs marked
 * "transferable" may be sent byte by byte to other processes of this build. */
#ifndef SPMV_PIECES_H
#define SPMV_PIECES_H

#include "spmv.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- rows ----------------------------------------------------------------------------------- */

/* Some rows of a larger matrix in CSR: columns ascend, duplicates are added. */
typedef struct spmv_some_rows {
    int64_t first_row; /* index of the first of these rows in the larger matrix */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;             /* [rows + 1] from 0; free all three arrays with spmv_rows_give */
    int32_t *col_idx;             /* [nnz] */
    double *values;               /* [nnz] */
    int64_t merged, merged_above; /* duplicates added; of these, above the diagonal */
} spmv_some_rows;

/* Builds CSR of entries; their rows count from 0, which is row first_row of the larger matrix. */
spmv_status spmv_rows_build(spmv_ctx *ctx, const spmv_coo_view *entries, int64_t first_row,
                            spmv_some_rows *out);
/* Allocates memory for a matrix, possibly by the context's allocator; NULL: out of memory. */
void *spmv_rows_take(spmv_ctx *ctx, size_t bytes);
/* Frees memory of spmv_rows_take. */
void spmv_rows_give(spmv_ctx *ctx, void *memory);

/* Return the bytes that are free on this host, and the part that this process may allocate. */
size_t spmv_rows_free(void);
size_t spmv_rows_room(void);

/* Statistics of rows; those of disjoint ranges of rows can be added. */
typedef struct spmv_tally {
    int64_t rows, nnz;
    int64_t least, most, empty; /* shortest and longest row; number of empty rows */
    uint64_t low, high;         /* 128-bit sum of squared differences of lengths from `middle` */
    int64_t bandwidth;
    uint64_t hash;
} spmv_tally;

/* Adds statistics of row lengths. middle: nnz / rows of the larger matrix, rounded down. */
void spmv_tally_lengths(const int64_t *row_ptr, int64_t rows, int64_t middle, int threads,
                        spmv_tally *out);
/* Adds statistics that need all entries: bandwidth and hash. */
void spmv_tally_entries(const spmv_some_rows *rows, int threads, spmv_tally *out);
/* Adds the statistics of other rows. */
void spmv_tally_add(spmv_tally *sum, const spmv_tally *part);
/* Converts the statistics of all rows, or of their lengths alone, to spmv_stats. */
void spmv_tally_tell(const spmv_tally *all, int64_t cols, spmv_stats *out);

/* ---- rows of a generated matrix ------------------------------------------------------------- */

typedef struct spmv_some_entries { /* entries with row and column numbers of the whole matrix */
    int64_t n;
    int32_t *row, *col; /* [n] */
    double *values;     /* [n]; NULL: every entry is 1 */
} spmv_some_entries;

typedef struct spmv_making spmv_making;
/* Parses the text after "gen:"; opts as in spmv_mat_load, not NULL. */
spmv_status spmv_making_open(spmv_ctx *ctx, const char *spec, const spmv_load_opts *opts,
                             spmv_making **out);
/* Returns the approximate number of entries; writes the size of the matrix. */
int64_t spmv_making_size(const spmv_making *making, int64_t *rows, int64_t *cols,
                         spmv_field *field);
/* Counts the entries of rows first, ..., end - 1. */
spmv_status spmv_making_count(spmv_making *making, int64_t first, int64_t end, int64_t *length);
/* Generates these rows. row_ptr: [end - first + 1] offsets from 0; position: index of the first
 * entry in the whole matrix. */
spmv_status spmv_making_fill(spmv_making *making, int64_t first, int64_t end,
                             const int64_t *row_ptr, int64_t position,
                             const spmv_some_entries *out);
void spmv_making_close(spmv_making *making);

/* ---- pieces of a file ----------------------------------------------------------------------- */

typedef struct spmv_reading spmv_reading; /* one process's part in reading a file */

enum { SPMV_MOST_ODDITIES = 9 };
typedef struct spmv_reading_head { /* header of a file; transferable */
    int64_t rows, cols, entries;
    spmv_symmetry symmetry;
    spmv_field field;
    int64_t bytes; /* size of a plain file, which all read; -1: a stream, which one process reads */
    bool whole;    /* not text: entries are read by spmv_reading_whole */
    /* private to the reader: */
    bool coordinate, one_index;
    int64_t size_line, entries_byte, shortest, block_entries;
    unsigned noted;
    uint64_t beginning; /* hash of the first bytes of the file */
} spmv_reading_head;

typedef struct spmv_piece { /* contents of a piece of text; transferable */
    int64_t entries, lines, zeros;
    spmv_status status; /* first error; the counts are up to it */
    int oddities;       /* number of spellings worth a note */
    struct {
        int kind;
        int64_t line; /* line of the piece, from 1 */
    } oddity[SPMV_MOST_ODDITIES];
    char note[400]; /* about a share of a file without lines; "": none */
} spmv_piece;

/* open opens a file and reads its header; join opens it in the other processes, with that header.
 * All processes open a plain file; if one is not the same file, SPMV_E_ARG. */
spmv_status spmv_reading_open(spmv_ctx *ctx, const char *path, spmv_reading_head *head,
                              spmv_reading **out);
spmv_status spmv_reading_join(spmv_ctx *ctx, const char *path, const spmv_reading_head *head,
                              spmv_reading **out);
void spmv_reading_close(spmv_reading *reading);

/* Reads the lines that begin in part `part` of `parts` of a plain file. progress may be NULL. */
void spmv_reading_share(spmv_reading *reading, int part, int parts,
                        void (*progress)(void *arg, double done), void *arg, spmv_piece *out);
/* Bytes of a piece of a stream's text, and of zeros after it. */
enum { SPMV_READING_TEXT = 5 << 19, SPMV_READING_PAD = 16 };
/* Reads the next lines of a stream into text[SPMV_READING_TEXT]; returns their bytes. 0: no more
 * lines, or the rest needs spmv_reading_rest. */
size_t spmv_reading_unpack(spmv_reading *reading, char *text);
/* Parses unpacked lines, of any process; text must stay valid until spmv_reading_keep. */
void spmv_reading_parse(spmv_reading *reading, const char *text, size_t bytes, spmv_piece *out);
/* Reads the rest of a stream that cannot be unpacked (a line that is too long, or damage); returns
 * false if there is none. */
bool spmv_reading_rest(spmv_reading *reading, spmv_piece *out);

/* Reads part `part` of `parts` of a file that is not text; parts == 1: all of it. */
spmv_status spmv_reading_whole(spmv_reading *reading, int part, int parts,
                               void (*progress)(void *arg, double done), void *arg,
                               spmv_piece *out);

/* Fails with the error of the piece read last. entries, lines: numbers of them before this piece in
 * the file. Called by the process that has read the first piece with an error or with too many
 * entries. */
spmv_status spmv_reading_refuse(spmv_reading *reading, int64_t entries, int64_t lines);
/* Keeps the entries of the piece read last. entries: number of entries before this piece. */
void spmv_reading_keep(spmv_reading *reading, int64_t entries);
/* Adds notes about a piece, of this or another process. lines: number of lines before this
 * piece. */
void spmv_reading_note(spmv_reading *reading, const spmv_piece *piece, int64_t lines);
/* Fails because the file has fewer entries than its header says. */
spmv_status spmv_reading_finish(spmv_reading *reading, int64_t entries, int64_t lines);
/* After a failure, returns whether the archive is damaged, and makes that the error text. Called by
 * the process that unpacks. */
bool spmv_reading_is_damaged(spmv_reading *reading);
/* Adds the name of a similar file to the error text about a missing file. */
void spmv_reading_suggest(spmv_ctx *ctx, const char *path);

typedef struct spmv_chunk {
    struct spmv_chunk *next;
    spmv_some_entries has;        /* in the order of the file */
    int64_t block, lines, length; /* private to the reader */
    const char *text;
} spmv_chunk;
/* Returns all entries that were kept, in the order of the file; the caller frees each chunk. */
spmv_chunk *spmv_reading_take(spmv_reading *reading);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
