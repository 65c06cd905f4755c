/* mmio_blocks.c: cuts the text of a Matrix Market file into blocks that end at line ends: any block
 * of a plain file, or the next block of a pipe or a decompressor. */
#include "mmio.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void refuse_whole(worker *w, spmv_status status, const char *text) {
    snprintf(w->error, sizeof w->error, "%s", text);
    w->located = false;
    w->status = status;
    w->count = 0; /* stale bytes of the worker's previous block */
    w->begin = w->end = w->text;
}

/* A line may be of any length if it is a comment, or has a comment that begins before this byte. */
enum { COMMENT_BY = LONGEST_LINE - BLOCK };

/* True if a comment begins in the line before byte COMMENT_BY; the rest of the line is then not
 * needed. */
static bool becomes_comment(const char *line, const char *end) {
    for (const char *p = line; p < end && p < line + COMMENT_BY; p++)
        if (mm_is_comment(p) && (p == line || is_blank(p[-1]))) return !mm_find_return(p, end);
    return false;
}

/* Reads up to capacity bytes of a stream, fewer only at its end; -1 on failure. */
static ptrdiff_t read_stream(reader *r, char *to, size_t capacity) {
    size_t n = 0;
    while (n < capacity) {
        ptrdiff_t got;
        if (r->archive) {
            got = spmv_archive_read(r->archive, to + n, capacity - n);
        } else if (r->head_used < r->nhead) {
            size_t left = r->nhead - r->head_used;
            got = (ptrdiff_t)(left < capacity - n ? left : capacity - n);
            memcpy(to + n, r->head + r->head_used, (size_t)got);
            r->head_used += (size_t)got;
        } else {
            got = spmv_input_read(&r->input, to + n, capacity - n);
        }
        if (got < 0) return -1;
        if (got == 0) break;
        n += (size_t)got;
    }
    r->bytes_read += (int64_t)n;
    return (ptrdiff_t)n;
}

static spmv_status fail_to_read(const reader *r) {
    return spmv_fail(r->ctx, r->archive ? spmv_archive_status(r->archive) : SPMV_E_IO, "%s: %s",
                     r->path, r->archive ? spmv_archive_error(r->archive) : strerror(errno));
}

spmv_status mm_peek(reader *r) {
    const ptrdiff_t got = read_stream(r, r->carry + r->ncarry, SPMV_PEEK - r->ncarry);
    if (got < 0) return fail_to_read(r);
    r->ncarry += (size_t)got;
    return SPMV_OK;
}

spmv_status mm_read_whole(reader *r, char **text, int64_t *bytes) {
    size_t n = r->ncarry, room = TEXT_BYTES;
    ptrdiff_t got = 0;
    const size_t limit = r->ctx->max_unpacked;
    *text = malloc(room);
    if (*text) memcpy(*text, r->carry, n);
    do {
        if (n == room) {
            char *more = realloc(*text, 2 * room);
            if (!more) free(*text);
            *text = more;
            room *= 2;
        }
        if (!*text) return spmv_no_memory_for(r->ctx, r->path);
        got = read_stream(r, *text + n, room - n);
        n += got > 0 ? (size_t)got : 0;
    } while (got > 0 && (!limit || n <= limit));
    *bytes = (int64_t)n;
    if (got == 0) return SPMV_OK;
    free(*text);
    *text = NULL;
    if (got < 0) return fail_to_read(r);
    return spmv_fail(r->ctx, SPMV_E_FORMAT, "%s: it unpacks to more than the limit of %zu bytes",
                     r->path, limit);
}

/* Reads the next lines of a stream: the text carried over, and more until a line ends; of a long
 * comment only the beginning is kept. At the end of the text the block is empty. */
void mm_read_lines(reader *r, worker *w) {
    size_t n = r->ncarry;
    memcpy(w->text, r->carry, n);
    const char *newline = memrchr(w->text, '\n', n);
    w->status = SPMV_OK;
    w->endless = false;
    while (!newline && !r->ended) {
        if (n > LONGEST_LINE) {
            if (!becomes_comment(w->text, w->text + n)) break;
            n = COMMENT_BY;
        }
        ptrdiff_t got =
            read_stream(r, w->text + n, BLOCK < TEXT_BYTES - n ? BLOCK : TEXT_BYTES - n);
        if (got < 0) {
            r->ended = true;
            refuse_whole(w, r->archive ? spmv_archive_status(r->archive) : SPMV_E_IO,
                         r->archive ? spmv_archive_error(r->archive) : strerror(errno));
            return;
        }
        if (got == 0) r->ended = true;
        newline = memrchr(w->text + n, '\n', (size_t)got);
        n += (size_t)got;
    }
    memset(w->text + n, 0, SPMV_TEXT_PAD);
    w->begin = w->text;
    w->filled = w->text + n;
    w->end = newline ? newline + 1 : w->begin;
    if (r->ended) w->end = w->filled;
    if (w->end == w->begin && n > 0) {
        w->endless = true;
        r->ended = true;
    }
    r->ncarry = r->ended ? 0 : (size_t)(w->filled - w->end);
    memcpy(r->carry, w->end, r->ncarry);
}

/* Reads bytes [from, from + n) of a plain file; false, with the error in *w, if the file is
 * shorter. */
static bool read_range(const reader *r, worker *w, char *to, int64_t from, size_t n) {
    while (n > 0) {
        ssize_t got = pread(r->fd, to, n, from);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
            refuse_whole(w, SPMV_E_IO,
                         got < 0 ? strerror(errno) : "the file became shorter while it was read");
            return false;
        }
        to += got;
        from += got;
        n -= (size_t)got;
    }
    return true;
}

void mm_cut_lines(reader *r, worker *w) {
    const char *end = r->text_end;
    if (end - r->text > BLOCK) {
        const char *newline = memrchr(r->text, '\n', BLOCK);
        if (!newline) newline = memchr(r->text + BLOCK, '\n', (size_t)(end - r->text) - BLOCK);
        if (newline) end = newline + 1;
    }
    w->status = SPMV_OK;
    w->endless = false;
    w->begin = r->text;
    w->end = r->text = end;
}

/* Reads block w->index of a plain file: the lines that start in its BLOCK bytes, before
 * r->end_byte. The byte before the block shows whether a line starts with the block. */
void mm_read_block(const reader *r, worker *w) {
    int64_t begin = r->first_byte + w->index * BLOCK, left = r->bytes - begin;
    int64_t start = r->end_byte - begin < BLOCK ? r->end_byte - begin : BLOCK;
    size_t lead = begin > r->entries_byte;
    size_t own = lead + (size_t)start; /* end of the block's bytes in text */
    size_t n = lead + (size_t)(left < BLOCK + LOOK_AHEAD ? left : BLOCK + LOOK_AHEAD);
    const char *newline = NULL;

    w->status = SPMV_OK;
    w->endless = false;
    w->begin = w->end = w->text;
    if (!read_range(r, w, w->text, begin - (int64_t)lead, n)) return;
    if (lead) {
        newline = memchr(w->text, '\n', own - 1);
        if (!newline) return; /* the whole block belongs to a line that started earlier */
        w->begin = newline + 1;
    }
    newline = memchr(w->text + own - 1, '\n', n - (own - 1));
    if (!newline && (int64_t)(n - lead) < left) {
        size_t more = TEXT_BYTES - n;
        if (left - (int64_t)(n - lead) < (int64_t)more) more = (size_t)(left - (int64_t)(n - lead));
        if (!read_range(r, w, w->text + n, begin + (int64_t)(n - lead), more)) return;
        newline = memchr(w->text + n, '\n', more);
        n += more;
    }
    memset(w->text + n, 0, SPMV_TEXT_PAD);
    if (newline) {
        w->end = newline + 1;
    } else if ((int64_t)(n - lead) == left) {
        w->end = w->text + n;
    } else {
        newline = memrchr(w->begin, '\n', (size_t)(w->text + own - w->begin));
        w->end = newline ? newline + 1 : w->begin;
        w->endless = !becomes_comment(w->end, w->text + n);
        if (!w->endless) w->end = w->text + n;
    }
}
