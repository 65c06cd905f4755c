/* mmio_pieces.c: reads a process's share of a file that several processes read together. Pieces of
 * the text become entries in chunks, one chunk for each block of the text. The caller provides the
 * number of entries and lines before a piece later, when the other processes have counted
 * theirs. */
#include "host/context.h"
#include "mmio.h"
#include "spmv_pieces.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

_Static_assert((int)ODDITIES <= (int)SPMV_MOST_ODDITIES, "a piece has room for each");
_Static_assert((int)SPMV_READING_PAD == (int)SPMV_TEXT_PAD, "as everywhere");
_Static_assert(SPMV_READING_TEXT >= TEXT_BYTES + 4 * BLOCK + SPMV_TEXT_PAD, "and for long lines");

typedef struct chunks {
    spmv_chunk *first, *last;
} chunks;

struct spmv_reading {
    reader r; /* r.published and r.lines are those of the piece */
    chunks found, kept;
    spmv_piece piece;
    worker wrong; /* the error in the piece */
    worker rest;  /* the error while unpacking */
    bool has_rest;
    opened file;           /* as opened by this process */
    const spmv_held *held; /* a file in another format; NULL: Matrix Market */
};

/* ---- chunks --------------------------------------------------------------------------------- */

/* Copies a worker's entries; NULL: out of memory. */
static spmv_chunk *chunk_of(const reader *r, const worker *w) {
    const size_t n = (size_t)w->count;
    const bool has_values = r->field != SPMV_PATTERN_FIELD;
    spmv_chunk *chunk = malloc(sizeof *chunk + n * (has_values ? 16 : 8));
    if (!chunk) return NULL;
    double *values = (double *)(void *)(chunk + 1);
    int32_t *row = (int32_t *)(void *)(values + (has_values ? n : 0));
    *chunk = (spmv_chunk){.has = {(int64_t)n, row, row + n, has_values ? values : NULL},
                          .block = w->index,
                          .lines = w->lines,
                          .length = w->end - w->begin,
                          .text = w->begin};
    if (n && has_values) memcpy(values, w->values, n * sizeof *values);
    if (n && r->coordinate) {
        memcpy(row, w->row, n * sizeof *row);
        memcpy(row + n, w->col, n * sizeof *row);
    }
    return chunk;
}

static void append(chunks *to, spmv_chunk *first, spmv_chunk *last) {
    if (!first) return;
    if (to->last)
        to->last->next = first;
    else
        to->first = first;
    to->last = last;
}

static void drop(chunks *of) {
    for (spmv_chunk *next, *c = of->first; c; c = next) {
        next = c->next;
        free(c);
    }
    *of = (chunks){0};
}

/* ---- a piece -------------------------------------------------------------------------------- */

static void note_here(void *arg, int kind, int64_t line) {
    spmv_reading *p = arg;
    for (int k = 0; k < p->piece.oddities; k++)
        if (p->piece.oddity[k].kind == kind) return;
    p->piece.oddity[p->piece.oddities].kind = kind;
    p->piece.oddity[p->piece.oddities++].line = p->piece.lines + line;
}

static int64_t count_zeros(const worker *w, bool has_values) {
    int64_t zeros = 0;
    for (int64_t k = 0; has_values && k < w->count; k++) zeros += w->values[k] == 0;
    return zeros;
}

static void lack_memory(worker *w) {
    w->status = SPMV_E_NOMEM;
    w->located = false;
    snprintf(w->error, sizeof w->error, "out of memory for its entries");
}

/* Appends a block to the piece in its turn. */
static void add_block(spmv_reading *p, worker *w, spmv_chunk *chunk, int64_t zeros) {
    reader *r = &p->r;
    if (!chunk) lack_memory(w);
    mm_each_oddity(w, note_here, p);
    append(&p->found, chunk, chunk);
    p->piece.entries += chunk ? w->count : 0;
    p->piece.lines += w->located || w->status == SPMV_OK ? w->lines : 0;
    p->piece.zeros += zeros;
    p->piece.status = r->status = w->status;
    if (w->status != SPMV_OK) p->wrong = *w;
    r->published = p->piece.entries;
    if (w->status != SPMV_OK || r->published > r->entries)
        atomic_store_explicit(&r->stop, true, memory_order_relaxed);
}

/* Memory is allocated and filled before the block's turn, by all threads in parallel. */
static void publish(reader *r, worker *w, double *done) {
    spmv_reading *p = (spmv_reading *)(void *)r;
    const int64_t zeros = count_zeros(w, r->field != SPMV_PATTERN_FIELD);
    spmv_chunk *chunk = chunk_of(r, w);
    pthread_mutex_lock(&r->order);
    while (r->turn != w->index) pthread_cond_wait(&r->turned, &r->order);
    if (r->status == SPMV_OK && r->published <= r->entries) {
        add_block(p, w, chunk, zeros);
        chunk = NULL;
    }
    *done = (double)r->published / (double)(r->entries ? r->entries : 1);
    r->turn++;
    pthread_cond_broadcast(&r->turned);
    pthread_mutex_unlock(&r->order);
    free(chunk);
}

static void begin_piece(spmv_reading *p) {
    reader *r = &p->r;
    drop(&p->found);
    p->piece = (spmv_piece){.status = SPMV_OK};
    r->next_block = r->turn = r->published = 0;
}

/* Reads the blocks of a piece of `bytes` bytes. */
static void read_piece(spmv_reading *p, int64_t bytes, spmv_progress progress, void *arg) {
    reader *r = &p->r;
    const int64_t blocks = (bytes + BLOCK - 1) / BLOCK;
    const int threads = blocks < r->threads ? (blocks > 1 ? (int)blocks : 1) : r->threads;
    spmv_waiting_prepare(&r->ctx->waiting, threads);
    mm_read_blocks(r, threads, progress, arg);
}

void spmv_reading_share(spmv_reading *p, int part, int parts,
                        void (*progress)(void *arg, double done), void *arg, spmv_piece *out) {
    reader *r = &p->r;
    const int64_t all = r->bytes - r->entries_byte;
    begin_piece(p);
    r->first_byte = r->entries_byte + spmv_split(all, parts, part);
    r->end_byte = r->entries_byte + spmv_split(all, parts, part + 1);
    read_piece(p, r->end_byte - r->first_byte, progress, arg);
    *out = p->piece;
}

void spmv_reading_parse(spmv_reading *p, const char *text, size_t bytes, spmv_piece *out) {
    reader *r = &p->r;
    begin_piece(p);
    r->text = text;
    r->text_end = text + bytes;
    read_piece(p, (int64_t)bytes, NULL, NULL);
    r->text = r->text_end = NULL;
    *out = p->piece;
}

size_t spmv_reading_unpack(spmv_reading *p, char *text) {
    reader *r = &p->r;
    worker *w = r->workers;
    size_t n = 0;
    while (!p->has_rest && n <= SPMV_READING_TEXT - TEXT_BYTES - SPMV_TEXT_PAD &&
           (!r->ended || r->ncarry > 0)) {
        mm_read_lines(r, w);
        p->has_rest = w->endless || w->status != SPMV_OK;
        if (p->has_rest) {
            p->rest = *w;
            break;
        }
        memcpy(text + n, w->begin, (size_t)(w->end - w->begin));
        n += (size_t)(w->end - w->begin);
    }
    memset(text + n, 0, SPMV_TEXT_PAD);
    return n;
}

bool spmv_reading_rest(spmv_reading *p, spmv_piece *out) {
    reader *r = &p->r;
    worker *w = r->workers;
    double done;
    if (!p->has_rest) return false;
    p->has_rest = false;
    begin_piece(p);
    *w = p->rest;
    w->index = 0;
    if (w->status == SPMV_OK) mm_read_entries(r, w, (int64_t)r->block_entries);
    publish(r, w, &done);
    *out = p->piece;
    return true;
}

/* Copies entries to chunks, which can be freed one by one. */
static bool keep_copies(spmv_reading *p, const spmv_coo *coo) {
    enum { MOST = 1 << 20 };
    for (int64_t first = 0; first < coo->nnz; first += MOST) {
        const worker part = {.row = coo->row + first,
                             .col = coo->col + first,
                             .values = coo->values ? coo->values + first : NULL,
                             .count = coo->nnz - first < MOST ? coo->nnz - first : MOST};
        reader as = {.coordinate = true, .field = coo->values ? SPMV_REAL_FIELD : coo->field};
        spmv_chunk *chunk = chunk_of(&as, &part);
        if (!chunk) return false;
        append(&p->kept, chunk, chunk);
    }
    return true;
}

/* Adds the share's first row, or column, to the indices. */
static void count_from(int64_t first, spmv_shape shape, spmv_coo *coo) {
    int32_t *line = shape == SPMV_HELD_COLUMNS ? coo->col : coo->row;
    for (int64_t k = 0; first && k < coo->nnz; k++) line[k] += (int32_t)first;
}

spmv_status spmv_reading_whole(spmv_reading *p, int part, int parts,
                               void (*progress)(void *arg, double done), void *arg,
                               spmv_piece *out) {
    spmv_lines lines = {.ptr = NULL};
    spmv_ctx *ctx = p->r.ctx;
    spmv_held h = *p->held;
    int64_t first = 0;
    *out = (spmv_piece){.status = SPMV_OK};
    spmv_status status = spmv_held_slice(&p->file.bytes, part, parts, &h, &first);
    if (status == SPMV_OK)
        status = spmv_held_read(&p->file.bytes, &h, p->r.threads, progress, arg, &lines);
    if (status == SPMV_OK) status = spmv_lines_expand(&lines);
    if (status == SPMV_OK) count_from(first, h.shape, &lines.coo);
    if (status == SPMV_OK && !keep_copies(p, &lines.coo))
        status = spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for the entries of %s", p->r.path);
    out->entries = lines.coo.nnz;
    for (int64_t k = 0; lines.coo.values && k < lines.coo.nnz; k++)
        out->zeros += lines.coo.values[k] == 0;
    snprintf(out->note, sizeof out->note, "%.*s", (int)sizeof out->note - 1, ctx->note);
    lines.coo.ctx = ctx;
    spmv_lines_free(&lines);
    return out->status = status;
}

/* ---- in the file ---------------------------------------------------------------------------- */

/* Reads the block of a chunk again, to stop at the first surplus line. */
static void read_again(const reader *r, const spmv_chunk *chunk, int64_t limit) {
    worker *w = r->workers;
    w->index = chunk->block;
    w->endless = false;
    w->begin = chunk->text;
    w->end = chunk->text + chunk->length;
    if (r->bytes >= 0) mm_read_block(r, w);
    if (w->status == SPMV_OK) mm_read_entries(r, w, limit);
}

spmv_status spmv_reading_refuse(spmv_reading *p, int64_t entries, int64_t lines) {
    reader *r = &p->r;
    int64_t left = r->entries - entries;
    const spmv_chunk *chunk = p->found.first;
    if (p->piece.entries <= left) return mm_report(r, &p->wrong, lines + p->piece.lines);
    for (; chunk->has.n <= left; chunk = chunk->next) {
        left -= chunk->has.n;
        lines += chunk->lines;
    }
    r->workers->status = SPMV_OK;
    read_again(r, chunk, left);
    return mm_report(r, r->workers, lines + r->workers->lines);
}

void spmv_reading_keep(spmv_reading *p, int64_t entries) {
    for (spmv_chunk *c = p->found.first; c && !p->r.coordinate; c = c->next) {
        mm_fill_positions(&p->r, entries, c->has.n, c->has.row, c->has.col);
        entries += c->has.n;
    }
    append(&p->kept, p->found.first, p->found.last);
    p->found = (chunks){0};
}

void spmv_reading_note(spmv_reading *p, const spmv_piece *piece, int64_t lines) {
    for (int k = 0; k < piece->oddities; k++)
        mm_note_once(&p->r, piece->oddity[k].kind, lines + piece->oddity[k].line);
    if (!*p->r.ctx->note) snprintf(p->r.ctx->note, sizeof p->r.ctx->note, "%s", piece->note);
}

spmv_status spmv_reading_finish(spmv_reading *p, int64_t entries, int64_t lines) {
    return entries < p->r.entries ? mm_refuse_short(&p->r, entries, lines) : SPMV_OK;
}

bool spmv_reading_is_damaged(spmv_reading *p) {
    *p->r.ctx->error = 0;
    mm_suspect_archive(&p->r, SPMV_E_FORMAT);
    return *p->r.ctx->error;
}

spmv_chunk *spmv_reading_take(spmv_reading *p) {
    spmv_chunk *all = p->kept.first;
    p->kept = (chunks){0};
    return all;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static uint64_t beginning_of(const reader *r) {
    uint64_t h = 0;
    for (size_t k = 0; k < r->nhead; k++) h = spmv_mix(h ^ r->head[k]);
    return h;
}

static spmv_reading *new_reading(spmv_ctx *ctx, const char *path) {
    spmv_reading *p = calloc(1, sizeof *p);
    if (!p) {
        spmv_no_memory_for(ctx, path);
        return NULL;
    }
    p->r.ctx = ctx;
    p->r.path = path;
    mm_prepare(&p->r);
    p->r.publish = publish;
    return p;
}

void spmv_reading_close(spmv_reading *p) {
    if (!p) return;
    drop(&p->found);
    drop(&p->kept);
    mm_shut(&p->file);
    mm_end(&p->r);
    free(p);
}

static spmv_reading_head head_of(const reader *r) {
    return (spmv_reading_head){.rows = r->rows,
                               .cols = r->cols,
                               .entries = r->entries,
                               .symmetry = r->symmetry,
                               .field = r->field,
                               .bytes = r->bytes,
                               .coordinate = r->coordinate,
                               .one_index = r->one_index,
                               .size_line = r->size_line,
                               .entries_byte = r->entries_byte,
                               .shortest = r->shortest,
                               .block_entries = (int64_t)r->block_entries,
                               .noted = r->noted,
                               .beginning = beginning_of(r)};
}

/* Opens and recognises a file, and reads its header. */
static spmv_status open_first(spmv_reading *p) {
    reader *r = &p->r;
    p->file = (opened){.r = r};
    TRY(mm_open(r, r->ctx->threads));
    spmv_status status = mm_recognise(&p->file);
    if (p->file.format) {
        if (status == SPMV_OK) status = mm_choose(&p->file, false, &p->held);
        return status;
    }
    if (status != SPMV_OK) return mm_suspect_archive(r, status);
    return mm_make_buffers(r, r->threads);
}

static void take_head(reader *r, const spmv_reading_head *head) {
    r->rows = head->rows;
    r->cols = head->cols;
    r->entries = head->entries;
    r->symmetry = head->symmetry;
    r->field = head->field;
    r->coordinate = head->coordinate;
    r->one_index = head->one_index;
    r->size_line = head->size_line;
    r->entries_byte = head->entries_byte;
    r->shortest = head->shortest;
    r->block_entries = (size_t)head->block_entries;
    r->noted = head->noted;
}

spmv_status spmv_reading_open(spmv_ctx *ctx, const char *path, spmv_reading_head *head,
                              spmv_reading **out) {
    spmv_reading *p = new_reading(ctx, path);
    *out = NULL;
    if (!p) return SPMV_E_NOMEM;
    reader *r = &p->r;
    const spmv_status status = open_first(p);
    if (status != SPMV_OK) {
        spmv_reading_close(p);
        return status;
    }
    *head = p->held ? (spmv_reading_head){.rows = p->held->rows,
                                          .cols = p->held->cols,
                                          .entries = spmv_held_count(p->held),
                                          .symmetry = p->held->symmetry,
                                          .field = spmv_held_field(p->held),
                                          .bytes = spmv_held_has_slices(p->held) ? r->bytes : -1,
                                          .whole = true,
                                          .beginning = beginning_of(r)}
                    : head_of(r);
    *out = p;
    return SPMV_OK;
}

/* Opens a plain file; fails unless it is the file whose header another process has read. */
static spmv_status open_again(spmv_reading *p, const spmv_reading_head *head) {
    reader *r = &p->r;
    TRY(head->whole ? open_first(p) : mm_open_source(r));
    if (r->bytes == head->bytes && beginning_of(r) == head->beginning) return SPMV_OK;
    return spmv_fail(r->ctx, SPMV_E_ARG,
                     "%s is not the file whose header was read: %lld bytes, not %lld, or another "
                     "beginning",
                     r->path, (long long)r->packed, (long long)head->bytes);
}

spmv_status spmv_reading_join(spmv_ctx *ctx, const char *path, const spmv_reading_head *head,
                              spmv_reading **out) {
    spmv_reading *p = new_reading(ctx, path);
    *out = NULL;
    if (!p) return SPMV_E_NOMEM;
    reader *r = &p->r;
    r->bytes = -1;
    if (strcmp(path, "-") == 0) r->path = "standard input";
    spmv_status status = head->bytes >= 0 ? open_again(p, head) : SPMV_OK;
    take_head(r, head);
    if (status == SPMV_OK && !head->whole) status = mm_make_workers(r, ctx->threads);
    if (status == SPMV_OK && !head->whole) status = mm_make_buffers(r, r->threads);
    if (status != SPMV_OK) {
        spmv_reading_close(p);
        return status;
    }
    *out = p;
    return SPMV_OK;
}
