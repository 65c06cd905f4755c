/* mmio.h: what the files of the Matrix Market reader share: mmio_blocks.c cuts text into blocks,
 * mmio.c puts their entries together, mmio_header.c reads what stands before the entries,
 * mmio_lines.c turns lines into entries and says what is wrong with them, mmio_write.c writes. */
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
    BLOCK = 256, /* an input of 2000 bytes has several; none of its lines is too long */
    LONGEST_LINE = 4096,
    LOOK_AHEAD = 32,
    FIRST_CAPACITY = 16,
#else
    BLOCK = 256 << 10,      /* text and entries of a block stay in a second-level cache */
    LONGEST_LINE = 1 << 20, /* of lines that run over a block's end; comments may be longer */
    LOOK_AHEAD = 512, /* read behind a block to see, nearly always, the end of its last line */
    FIRST_CAPACITY = 1 << 20, /* entries to make room for while a stream may lie about its size */
#endif
    TEXT_BYTES = BLOCK + LONGEST_LINE,
    USUAL_RATIO =
        64 /* compression up to which an announced number of entries is believed at once */
};
/* What entries are read with a note about. */
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
    int32_t *row, *col; /* [reader.block_entries], from 0; unused in array files */
    double *values;     /* [reader.block_entries]; unused in pattern files */

    int64_t index;           /* of the block, in the order of the file */
    const char *begin, *end; /* its lines; zeros follow in text */
    const char *filled;      /* end of the text read from a stream */
    bool endless;            /* the line at end does not end within LONGEST_LINE */
    int64_t count, lines;    /* entries and lines found */
    spmv_status status;      /* of the first error, with its text */
    bool located;            /* it stands in line `lines` of the block; else in the whole file */
    int column;              /* of that line, from 1, counted in bytes; 0: all of it */
    char error[840];
    unsigned oddities;          /* a bit for each oddity that the block holds */
    int64_t odd_line[ODDITIES]; /* of the block, from 1, with the first of each */
} worker;

typedef struct reader reader;
struct reader {
    spmv_ctx *ctx;
    const char *path;
    char *own_path;  /* where path is no caller's: owned */
    worker *workers; /* [threads] */
    int threads;
    /* Takes the entries of a worker's block when it is its turn; *done: share of all so far. */
    void (*publish)(reader *r, worker *w, double *done);
    const char *variable; /* name behind the file's name and a colon; NULL: none was given */
    int fd;
    spmv_input input; /* the same file, to be read from its beginning on */
    int64_t bytes;    /* of a plain regular file; -1: a stream */
    int64_t end_byte; /* of a plain file, before which the last line begins that is read */
    int64_t packed;   /* bytes of a regular file, compressed or not; else 0 */
    spmv_archive *archive;
    unsigned char
        head[SPMV_MAGIC_BYTES]; /* read to recognise the file; head_used of them were handed on */
    size_t nhead, head_used;
    spmv_powers powers;

    bool header_only; /* read no entries */

    bool coordinate; /* else array */
    bool vector;     /* so says the banner */
    bool one_index;  /* a vector's entries name their row alone */
    bool truth;      /* the banner says bool: entries may have values, or none */
    spmv_field field;
    spmv_symmetry symmetry;
    int64_t rows, cols, entries, size_line;
    int64_t shortest; /* bytes of a line */
    size_t block_entries;

    sem_t source; /* guards the next five; unlike a mutex's, a signal ends its wait */
    char *carry;  /* [TEXT_BYTES] text read and not yet handed out; begins a line */
    size_t ncarry;
    int64_t bytes_read;             /* from the stream, or to find the entries of a plain file */
    int64_t first_byte, next_block; /* first_byte: where the first block begins */
    int64_t entries_byte;           /* where a plain file's entries begin */
    bool ended;
    const char *text, *text_end; /* lines in memory that are read in place of a file; or NULL */

    pthread_mutex_t order; /* guards the next ones; turned: signalled when turn has changed */
    pthread_cond_t turned;
    int64_t turn;             /* index of the block to be published next */
    int64_t published, lines; /* entries and lines in the blocks before it */
    unsigned noted;           /* oddities that have a note */
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
/* Returns what people cannot see in a line, or take for something else: the first byte that is not
 * printable ASCII, a blank or at the line's end; NULL: there is none. */
const char *mm_find_odd_byte(const char *line, const char *end);
/* Refuses a line for that byte, with its name and place. */
spmv_status mm_refuse_odd_byte(worker *w, const char *line, const char *end, const char *at);
/* Returns a carriage return that ends a comment, with more of the line behind it; NULL: none. */
const char *mm_find_return(const char *line, const char *end);
bool mm_scan_integer(word w, int64_t *value); /* [+-]digits; values that do not fit saturate */
/* The same of a decimal that is a whole number: 5.0, 5. or 1e+05, at most 2^53. */
bool mm_scan_whole(const reader *r, word w, int64_t *value);
/* Returns how many words of a line stand before a comment; words holds the first `stored`. */
int mm_words_before_comment(const word *words, int n, int stored);
bool mm_is_comment(const char *p); /* begins there: with a %, or with a # as elsewhere */
/* Returns why text is no number, where that has a usual reason; else empty. */
const char *mm_reason(word text);
/* The first error of the worker's block, in the line it is at; always SPMV_E_FORMAT. */
spmv_status mm_refuse(worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, at a place in that line. */
spmv_status mm_refuse_at(worker *w, const char *line, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a line to the context's note, "path:line: ...". */
void mm_note(const reader *r, int64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes how many entries the size line declares, as a text such as "the 3 of line 2". */
quoted mm_declared(const reader *r);
/* Adds a note about an oddity in a line of the file, unless one is there. */
void mm_note_once(reader *r, int oddity, int64_t line);
/* Turns the lines of the worker's block into entries, at most limit of them. */
void mm_read_entries(const reader *r, worker *w, int64_t limit);

/* ---- mmio_header.c */

/* Reads up to the size line, leaves the text behind it in r->carry and counts its lines. */
spmv_status mm_read_header(reader *r, worker *w);
/* Says where column j of an array file starts among its entries, and in which row: it holds all
 * rows, those from j on (symmetric) or those behind j (skew-symmetric). */
int64_t mm_first_row(const reader *r, int64_t j);
int64_t mm_column_start(const reader *r, int64_t j);

/* ---- mmio_blocks.c */

/* Reads the first bytes of the text, which stay to be read: at most SPMV_PEEK. */
spmv_status mm_peek(reader *r);
/* Reads the text of a stream to its end into memory: *text is malloc's. */
spmv_status mm_read_whole(reader *r, char **text, int64_t *bytes);
/* The next lines of a stream become the worker's block; none at its end. */
void mm_read_lines(reader *r, worker *w);
/* Block w->index of a plain file becomes the worker's. */
void mm_read_block(const reader *r, worker *w);
/* The next lines of r->text become the worker's block; none at its end. */
void mm_cut_lines(reader *r, worker *w);

/* ---- mmio.c */

/* Makes a reader ready; opens the file; reads its header. mm_end puts away what these have made,
 * also after a failure. */
void mm_prepare(reader *r);
spmv_status mm_open(reader *r, int threads);
spmv_status mm_begin(reader *r);
/* Reads entries into r->coo after the header; is_vector: rows and columns are a vector's. */
spmv_status mm_read_coo(reader *r, bool is_vector, spmv_progress progress, void *arg);
/* Refuses a matrix that is no vector. */
spmv_status mm_accept_vector(reader *r);
void mm_end(reader *r);
/* Opens the file, and recognises it by its beginning. */
spmv_status mm_open_source(reader *r);
/* Allocates the workers, without what only entries need; then that, for as many of them. */
spmv_status mm_make_workers(reader *r, int threads);
spmv_status mm_make_buffers(reader *r, int threads);
/* Hands every block to r->publish, by so many threads, until there is none or one was wrong. */
void mm_read_blocks(reader *r, int threads, spmv_progress progress, void *arg);
/* Makes an entry's row and column of its place in an array file. */
void mm_fill_positions(const reader *r, int64_t first, int64_t n, int32_t *row, int32_t *col);
/* Writes the text of the reader's failure, from the worker that met it in line `lines`. */
spmv_status mm_report(const reader *r, const worker *w, int64_t lines);
/* Looks, after a failure, whether it was the archive that is damaged, which is said then. */
spmv_status mm_suspect_archive(const reader *r, spmv_status status);
/* Calls `notice` for each oddity of a block, in the order of its lines. */
void mm_each_oddity(const worker *w, void (*notice)(void *arg, int kind, int64_t line), void *arg);
/* Refuses a file that has fewer entries than it says. */
spmv_status mm_refuse_short(reader *r, int64_t entries, int64_t lines);

/* ---- load.c */

typedef struct opened { /* a file that was opened and recognised */
    reader *r;
    const spmv_file_format *format; /* NULL: Matrix Market */
    spmv_bytes bytes;
    spmv_contents contents;
    char *text; /* the contents of a stream; owned */
} opened;
/* Recognises a file that mm_open has opened, and reads its header or lists what it holds. */
spmv_status mm_recognise(opened *o);
/* Returns the matrix that was named or is the only one, of another format than Matrix Market. */
spmv_status mm_choose(const opened *o, bool vector, const spmv_held **out);
void mm_shut(opened *o); /* not the reader */

bool mm_is_raw_name(const char *path); /* of raw doubles */
spmv_status mm_read_raw(spmv_ctx *ctx, const char *path, int64_t *n, double **out);

#endif
