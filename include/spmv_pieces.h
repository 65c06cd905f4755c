/* spmv_pieces.h: a matrix in pieces, for processes that read it together (src/ranks): parts of a
 * file's text, which end where lines end, or rows of a generated matrix, and what can be said of
 * some rows of a larger matrix. Nothing here talks to another process. The conventions are those of
 * spmv.h; what is said to be sent may go to other processes of this build, byte by byte. */
#ifndef SPMV_PIECES_H
#define SPMV_PIECES_H

#include "spmv.h"
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* ---- rows ----------------------------------------------------------------------------------- */

/* Some rows of a larger matrix, as compressed rows: columns ascend, duplicates were added. */
typedef struct spmv_some_rows {
    int64_t first_row; /* of them, in the larger matrix */
    int64_t rows, cols, nnz;
    int64_t *row_ptr;             /* [rows + 1] from 0; spmv_rows_give frees these */
    int32_t *col_idx;             /* [nnz] */
    double *values;               /* [nnz] */
    int64_t merged, merged_above; /* duplicates that were added; of these, above the diagonal */
} spmv_some_rows;

/* Makes compressed rows of entries, whose rows count from first_row. */
spmv_status spmv_rows_build(spmv_ctx *ctx, const spmv_coo_view *entries, int64_t first_row,
                            spmv_some_rows *out);
/* Takes memory for arrays of a matrix, which the context's allocator may supply; NULL: none. */
void *spmv_rows_take(spmv_ctx *ctx, size_t bytes);
/* Frees it. */
void spmv_rows_give(spmv_ctx *ctx, void *memory);

/* Returns the bytes that are free on this host, and those of them that this process may take. */
size_t spmv_rows_free(void);
size_t spmv_rows_room(void);

/* Numbers about rows. Those of several ranges of rows are put together to those of all. */
typedef struct spmv_tally {
    int64_t rows, nnz;
    int64_t least, most, empty; /* lengths of rows, and rows of none */
    uint64_t low, high; /* halves of squares of what lengths are apart from a middle, summed */
    int64_t bandwidth;
    uint64_t hash;
} spmv_tally;

/* Adds what the lengths of rows say; middle: nnz / rows of the larger matrix, rounded down. */
void spmv_tally_lengths(const int64_t *row_ptr, int64_t rows, int64_t middle, int threads,
                        spmv_tally *out);
/* Adds what all entries must be read for: the bandwidth and the hash. */
void spmv_tally_entries(const spmv_some_rows *rows, int threads, spmv_tally *out);
/* Adds the tally of other rows. */
void spmv_tally_add(spmv_tally *sum, const spmv_tally *part);
/* Fills in what a tally of all rows, or its lengths alone, says of a matrix. */
void spmv_tally_tell(const spmv_tally *all, int64_t cols, spmv_stats *out);

/* ---- rows of a generated matrix ------------------------------------------------------------- */

typedef struct spmv_some_entries { /* of a matrix, with its numbers of rows and columns */
    int64_t n;
    int32_t *row, *col; /* [n] */
    double *values;     /* [n]; NULL: every entry is 1 */
} spmv_some_entries;

typedef struct spmv_making spmv_making;
/* Reads what stands behind "gen:"; opts: as of spmv_mat_load, not NULL. */
spmv_status spmv_making_open(spmv_ctx *ctx, const char *spec, const spmv_load_opts *opts,
                             spmv_making **out);
/* Says how large the matrix is; returns how many entries it has, about. */
int64_t spmv_making_size(const spmv_making *making, int64_t *rows, int64_t *cols,
                         spmv_field *field);
/* Counts the entries of rows first to end - 1. */
spmv_status spmv_making_count(spmv_making *making, int64_t first, int64_t end, int64_t *length);
/* Makes these rows; row_ptr: where they begin, [end - first + 1] from 0; position: of their first
 * entry in the whole matrix. */
spmv_status spmv_making_fill(spmv_making *making, int64_t first, int64_t end,
                             const int64_t *row_ptr, int64_t position,
                             const spmv_some_entries *out);
void spmv_making_close(spmv_making *making);

/* ---- pieces of a file ----------------------------------------------------------------------- */

typedef struct spmv_reading spmv_reading; /* one process's part in reading a file */

enum { SPMV_MOST_ODDITIES = 8 };
typedef struct spmv_reading_head { /* what a file says before its entries; it may be sent */
    int64_t rows, cols, entries;
    spmv_symmetry symmetry;
    spmv_field field;
    int64_t
        bytes; /* of a plain file, of which every process reads its share; -1: of a stream, which
                      one reads for all */
    /* the reader's own */
    bool coordinate, one_index;
    int64_t size_line, entries_byte, shortest, block_entries;
    unsigned noted;
    uint64_t beginning; /* hash of the first bytes */
} spmv_reading_head;

typedef struct spmv_piece { /* what is in a piece of the text; it may be sent */
    int64_t entries, lines, zeros;
    spmv_status status; /* of the first error; what was found lies before it */
    int oddities;       /* that a note is about */
    struct {
        int kind;
        int64_t line; /* of the piece, from 1 */
    } oddity[SPMV_MOST_ODDITIES];
} spmv_piece;

/* Opens a file and reads its header; others join with what that says. A plain file is opened by all
 * of them; one that is not the same is SPMV_E_ARG. */
spmv_status spmv_reading_open(spmv_ctx *ctx, const char *path, spmv_reading_head *head,
                              spmv_reading **out);
spmv_status spmv_reading_join(spmv_ctx *ctx, const char *path, const spmv_reading_head *head,
                              spmv_reading **out);
void spmv_reading_close(spmv_reading *reading);

/* Reads lines that start in a share of a plain file's bytes. progress may be NULL. */
void spmv_reading_share(spmv_reading *reading, int part, int parts,
                        void (*progress)(void *arg, double done), void *arg, spmv_piece *out);
/* Bytes of a piece of a stream's text, with zeros behind it. */
enum { SPMV_READING_TEXT = 5 << 19, SPMV_READING_PAD = 16 };
/* Takes the next lines of a stream: text[SPMV_READING_TEXT] gets them; returns how many bytes. 0:
 * there are no more, or what follows is for spmv_reading_rest. */
size_t spmv_reading_unpack(spmv_reading *reading, char *text);
/* Reads lines that were unpacked, here or elsewhere; the text stays until they are kept. */
void spmv_reading_parse(spmv_reading *reading, const char *text, size_t bytes, spmv_piece *out);
/* Reads what cannot be unpacked, a line without end or damage; false: there is nothing such. */
bool spmv_reading_rest(spmv_reading *reading, spmv_piece *out);

/* Pieces follow each other as in the file: so many entries and lines stand before each. The first
 * that has more entries than are left, or an error, is refused by the process that has read it. */
spmv_status spmv_reading_refuse(spmv_reading *reading, int64_t entries, int64_t lines);
/* Keeps the entries of the piece that was read last. */
void spmv_reading_keep(spmv_reading *reading, int64_t entries);
/* Adds notes about a piece, one's own or another's. */
void spmv_reading_note(spmv_reading *reading, const spmv_piece *piece, int64_t lines);
/* Refuses a file that had fewer entries than its header says. */
spmv_status spmv_reading_finish(spmv_reading *reading, int64_t entries, int64_t lines);
/* Says, after a refusal, whether it is the archive that is damaged, which is the text then: called
 * by the process that unpacks. */
bool spmv_reading_is_damaged(spmv_reading *reading);
/* Adds to the text of a failure, of a file that is not there, which one may be meant. */
void spmv_reading_suggest(spmv_ctx *ctx, const char *path);

typedef struct spmv_chunk {
    struct spmv_chunk *next;
    spmv_some_entries has;        /* as the file has them */
    int64_t block, lines, length; /* the reader's own */
    const char *text;
} spmv_chunk;
/* Hands over all entries that were kept, in the order of the file; each chunk is to be freed. */
spmv_chunk *spmv_reading_take(spmv_reading *reading);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
