/* mmio.h: shared by the files of the Matrix Market reader. mmio_header.c parses the header,
 * mmio_blocks.c cuts text into blocks, mmio_lines.c parses lines into entries and reports errors,
 * mmio.c collects the entries of all blocks; mmio_write.c writes. */
#ifndef SPMV_MMIO_H
#define SPMV_MMIO_H

#include "io/formats.h"
#include "host/context.h"
#include "matrix/csr.h"
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

enum {
#ifdef SPMV_FUZZING
    /* small, so that an input of 2,000 bytes has several blocks; no line of it is too long */
    BLOCK = 256,
    LONGEST_LINE = 4096,
    LOOK_AHEAD = 32,
    FIRST_CAPACITY = 16,
#else
    BLOCK = 256 << 10,      /* text and entries of a block stay in a second-level cache */
    LONGEST_LINE = 1 << 20, /* longest line that may cross a block's end; comments may be longer */
    /* bytes read behind a block, which nearly always contain the end of its last line */
    LOOK_AHEAD = 512,
    /* initial capacity while a stream's announced size is not confirmed */
    FIRST_CAPACITY = 1 << 20,
#endif
    TEXT_BYTES = BLOCK + LONGEST_LINE,
    USUAL_RATIO =
        64 /* compression ratio up to which memory for the announced entries is allocated at once */
};
/* Oddities of entries that are accepted with a note. */
enum {
    NOT_FINITE,
    STAND_IN,
    NO_LETTER,
    COMMENT_BEHIND,
    ABOVE,
    WHOLE,
    ROUNDED,
    TRUTH,
    HASH,
    ODDITIES
};
/* The value that R and CHOLMOD write for NA, NaN and infinity. */
#define MM_STAND_IN 1e308
#define BANNER "'%%MatrixMarket matrix coordinate real general'" /* an example for messages */

typedef struct worker { /* one thread's block */
    char *text;         /* [TEXT_BYTES + SPMV_TEXT_PAD] */
    int32_t *row, *col; /* [reader.block_entries], counted from 0; unused in array files */
    double *values;     /* [reader.block_entries]; unused in pattern files */

    int64_t index;           /* number of the block in the file */
    const char *begin, *end; /* the block's lines; zeros follow in text */
    const char *filled;      /* end of the text read from a stream */
    bool endless;            /* the line at end does not end within LONGEST_LINE */
    int64_t count, lines;    /* number of entries and lines in the block */
    spmv_status status;      /* status and message of the first error */
    bool located; /* the error is in line `lines` of the block; else in the file as a whole */
    int column;   /* byte of that line, from 1; 0: the whole line */
    char error[840];
    unsigned oddities;          /* a bit for each oddity that the block holds */
    int64_t odd_line[ODDITIES]; /* line of the block, from 1, with the first oddity of each kind */
} worker;

typedef struct reader reader;
struct reader {
    spmv_ctx *ctx;
    const char *path;
    char *own_path;  /* owned copy of path, or NULL */
    worker *workers; /* [threads] */
    int threads;
    /* Takes the entries of a worker's block in its turn; *done: fraction of all entries so far. */
    void (*publish)(reader *r, worker *w, double *done);
    const char *variable; /* NAME of "FILE:NAME"; NULL: none was given */
    int fd;
    spmv_input input; /* the file as a stream from its beginning */
    int64_t bytes;    /* size of a plain regular file; -1: a stream */
    int64_t end_byte; /* of a plain file: lines that begin at this byte or later are not read */
    int64_t packed;   /* size of a regular file, compressed or not; else 0 */
    spmv_archive *archive;
    /* bytes read to recognise the file; head_used of these were handed on */
    unsigned char head[SPMV_MAGIC_BYTES];
    size_t nhead, head_used;
    spmv_powers powers;

    bool header_only; /* read no entries */

    bool coordinate; /* false: array */
    bool vector;     /* the banner says vector */
    bool one_index;  /* a vector's entries name their row alone */
    bool truth;      /* the banner says bool: entries may have values, or none */
    spmv_field field;
    spmv_symmetry symmetry;
    int64_t rows, cols, entries, size_line;
    int64_t shortest; /* least length of a line, bytes */
    size_t block_entries;

    sem_t source; /* guards the next five; unlike a mutex, a signal ends the wait for it */
    char *carry;  /* [TEXT_BYTES] text read and not yet handed out; begins a line */
    size_t ncarry;
    int64_t bytes_read; /* bytes read from the stream, or to find the entries of a plain file */
    int64_t first_byte, next_block; /* first_byte: where the first block begins */
    int64_t entries_byte;           /* where a plain file's entries begin */
    bool ended;
    const char *text, *text_end; /* lines in memory that are read in place of a file; or NULL */

    pthread_mutex_t order; /* guards the next ones; turned: signalled when turn has changed */
    pthread_cond_t turned;
    int64_t turn;             /* index of the block to be published next */
    int64_t published, lines; /* entries and lines in the blocks before it */
    unsigned noted;           /* oddities with a note so far */
    spmv_coo coo;
    int64_t capacity; /* entries coo has room for */
    spmv_status status;
    atomic_bool stop;
};

/* ---- mmio_lines.c */

typedef struct word {
    const char *text;
    size_t length;
} word;

typedef struct quoted {
    char text[112];
} quoted;

static inline bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *skip_blanks(const char *p) {
    while (is_blank(*p)) p++;
    return p;
}

/* Returns the newline that ends the line at p, or end. */
const char *mm_end_of_line(const char *p, const char *end);
/* Splits a line into words, of which it stores at most max, and returns how many there are. */
int mm_split_line(const char *line, const char *end, word *words, int max);
bool mm_word_is(word w, const char *text); /* upper or lower case */
/* Returns a word as it can be shown: in quotes, cut after 24 characters, what is not printable as
 * \xNN. */
quoted mm_quote(word w);
/* Returns the first byte of a line that is not printable ASCII, a blank or the line's end, since
 * people overlook it or mistake it; NULL: there is none. */
const char *mm_find_odd_byte(const char *line, const char *end);
/* Refuses a line for the odd byte `at`, with the byte's name and position. */
spmv_status mm_refuse_odd_byte(worker *w, const char *line, const char *end, const char *at);
/* Returns a carriage return after which the line goes on behind a comment; NULL: there is none. */
const char *mm_find_return(const char *line, const char *end);
bool mm_scan_integer(word w, int64_t *value); /* [+-]digits; values that do not fit saturate */
/* Scans a decimal that is a whole number of at most 2^53: 5.0, 5. or 1e+05. */
bool mm_scan_whole(const reader *r, word w, int64_t *value);
/* Returns how many words of a line stand before a comment; words holds the first `stored`. */
int mm_words_before_comment(const word *words, int n, int stored);
/* true if a comment begins at p: with %, or with # as in other formats */
bool mm_is_comment(const char *p);
/* Returns a common reason why text is no number, or an empty text. */
const char *mm_reason(word text);
/* Records the first error of the worker's block, in its current line; returns SPMV_E_FORMAT. */
spmv_status mm_refuse(worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Like mm_refuse, with the position `at` in the line. */
spmv_status mm_refuse_at(worker *w, const char *line, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a line to the context's note, "path:line: ...". */
void mm_note(const reader *r, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Returns the number of entries that the size line declares as a text: "the 3 of line 2". */
quoted mm_declared(const reader *r);
/* Adds a note about an oddity in a line of the file, unless one is there. */
void mm_note_once(reader *r, int oddity, int64_t line);
/* Parses the lines of the worker's block into at most limit entries. */
void mm_read_entries(const reader *r, worker *w, int64_t limit);

/* ---- mmio_header.c */

/* Reads the header with the size line and counts its lines; the text behind it stays in
 * r->carry. */
spmv_status mm_read_header(reader *r, worker *w);
/* Return the first row that an array file stores of column j, and the position of the column's
 * first entry: a column has all rows, those from j on (symmetric) or those behind j
 * (skew-symmetric). */
int64_t mm_first_row(const reader *r, int64_t j);
int64_t mm_column_start(const reader *r, int64_t j);

/* ---- mmio_blocks.c */

/* Reads the first bytes of the text, at most SPMV_PEEK, without consuming them. */
spmv_status mm_peek(reader *r);
/* Reads a stream to its end into *text, which the caller frees. */
spmv_status mm_read_whole(reader *r, char **text, int64_t *bytes);
/* Reads the next lines of a stream as the worker's block, which is empty at the end. */
void mm_read_lines(reader *r, worker *w);
/* Reads block w->index of a plain file as the worker's block. */
void mm_read_block(const reader *r, worker *w);
/* Takes the next lines of r->text as the worker's block, which is empty at the end. */
void mm_cut_lines(reader *r, worker *w);

/* ---- mmio.c */

/* Initialize a reader; open its file; read the header. mm_end releases everything, also after a
 * failure. */
void mm_prepare(reader *r);
spmv_status mm_open(reader *r, int threads);
spmv_status mm_begin(reader *r);
/* Reads the entries into r->coo after the header. is_vector: the file is read as a vector. */
spmv_status mm_read_coo(reader *r, bool is_vector, spmv_progress progress, void *arg);
/* Refuses a matrix that is no vector. */
spmv_status mm_accept_vector(reader *r);
void mm_end(reader *r);
/* Opens the file and recognises archives by the first bytes. */
spmv_status mm_open_source(reader *r);
/* Allocate the workers without their arrays for entries; then these arrays, for r->threads
 * workers. */
spmv_status mm_make_workers(reader *r, int threads);
spmv_status mm_make_buffers(reader *r, int threads);
/* Reads all blocks by several threads and calls r->publish for each; stops at the first error. */
void mm_read_blocks(reader *r, int threads, spmv_progress progress, void *arg);
/* Computes row and column of an entry from its position in an array file. */
void mm_fill_positions(const reader *r, int64_t first, int64_t n, int32_t *row, int32_t *col);
/* Sets the message of the reader's failure from the worker's; `lines`: lines before the worker's
 * block. */
spmv_status mm_report(const reader *r, const worker *w, int64_t lines);
/* After a failure, checks whether the archive is damaged, and reports that instead. */
spmv_status mm_suspect_archive(const reader *r, spmv_status status);
/* Calls `notice` for each oddity of a block in the order of lines. */
void mm_each_oddity(const worker *w, void (*notice)(void *arg, int kind, int64_t line), void *arg);
/* Refuses a file with fewer entries than its size line declares. */
spmv_status mm_refuse_short(reader *r, int64_t entries, int64_t lines);

/* ---- load.c */

typedef struct opened { /* a file that was opened and recognised */
    reader *r;
    const spmv_file_format *format; /* NULL: Matrix Market */
    spmv_bytes bytes;
    spmv_contents contents;
    char *text; /* the bytes of a stream; owned */
} opened;
/* Recognises a file that mm_open has opened, and reads its header or lists what it holds. */
spmv_status mm_recognise(opened *o);
/* Finds the variable that was named, or the only matrix or vector of the file. */
spmv_status mm_choose(const opened *o, bool vector, const spmv_held **out);
void mm_shut(opened *o); /* does not free the reader */

bool mm_is_raw_name(const char *path); /* of raw doubles */
spmv_status mm_read_raw(spmv_ctx *ctx, const char *path, int64_t *n, double **out);

#endif
