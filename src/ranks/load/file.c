/* file.c: all ranks read the entries of a file. Of a plain file every rank reads its share of the
 * bytes. Any other file is unpacked by rank 0, which sends text to the other ranks. */
#include "loading.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

spmv_status ranks_agree_on_file(spmv_ranks *ranks, spmv_status mine) {
    const spmv_status status = ranks_agree(ranks, mine);
    int r = 0;
    if (status != SPMV_E_FORMAT) return status;
    while (ranks->all[r].status == SPMV_OK) r++;
    return ranks_fail(ranks, status, "%s", ranks->all[r].text);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* bytes that a rank needs in addition to its entries and rows */
static const double besides = 32e6;

static double entries_of(const loading *l) {
    return (l->head.symmetry == SPMV_GENERAL ? 1.0 : 2.0) * (double)l->head.entries;
}

/* Returns the bytes of all ranks together. Per entry 36: 16 as read, 12 in CSR, 8 for one more
 * value; per row three 8-byte offsets. */
static double bytes_of_all(const loading *l) {
    return 36 * entries_of(l) + 24 * (double)l->head.rows;
}

/* Returns the bytes that rank 0 takes for the arrays of a file that it reads for all. */
static double bytes_of_arrays(const loading *l) {
    return is_first(l) && l->head.whole && l->head.bytes < 0 ? 28 * entries_of(l) : 0;
}

/* Returns the extra bytes that this rank needs for a partition other than blocks. */
static double bytes_of_owners(const loading *l) {
    return ranks_owners_bytes(l->ranks, l->by, l->head.rows, entries_of(l));
}

static spmv_status lack_room(const loading *l, double left) {
    const double all = bytes_of_all(l), owners = bytes_of_owners(l), each = left - besides - owners;
    char proposal[96] = "even without entries";
    if (each > 0)
        snprintf(proposal, sizeof proposal, "%.0f ranks with as much memory each would fit",
                 ceil(all / each));
    else if (owners > 0)
        snprintf(proposal, sizeof proposal,
                 "%.2f GB are for the partition, and blocks of rows need none", 1e-9 * owners);
    return ranks_fail(l->ranks, SPMV_E_NOMEM,
                      "out of memory: %s %d ranks needs about %.2f GB to read %.200s, and %.2f "
                      "GB are free for this one: %s",
                      owners > 0 ? "this one of" : "each of", l->ranks->size,
                      1e-9 * (all / l->ranks->size + besides + owners), l->path, 1e-9 * left,
                      proposal);
}

/* Checks the free memory before allocating, because Linux overcommits and kills a process that uses
 * memory it does not have. Ranks of one host share its free memory. */
spmv_status ranks_check_room(loading *l) {
    const spmv_ranks *ranks = l->ranks;
    const double left =
        0.9 * fmin((double)spmv_rows_room(), (double)spmv_rows_free() / ranks->here);
    const double needed =
        bytes_of_all(l) / ranks->size + besides + bytes_of_owners(l) + bytes_of_arrays(l);
    return ranks_agree(l->ranks, needed > left ? lack_room(l, left) : SPMV_OK);
}

/* ---- a file --------------------------------------------------------------------------------- */

spmv_status ranks_file_open(loading *l) {
    spmv_ranks *ranks = l->ranks;
    spmv_status status = SPMV_OK;
    if (is_first(l)) {
        status = spmv_reading_open(ranks->ctx, l->path, &l->head, &l->file);
        if (status == SPMV_E_IO) spmv_reading_suggest(ranks->ctx, l->path);
    }
    spmv_reading_head *all = malloc((size_t)ranks->size * sizeof *all);
    status = ranks_ctx_failed(ranks, status);
    if (status == SPMV_OK && !all) status = ranks_no_memory(ranks, "a file's header");
    status = ranks_agree_on_file(ranks, status);
    if (status == SPMV_OK) {
        status = ranks->by->gather(ranks->state, &l->head, sizeof l->head, all);
        if (status == SPMV_OK && !is_first(l)) {
            l->head = all[0];
            status =
                ranks_ctx_failed(ranks, spmv_reading_join(ranks->ctx, l->path, &l->head, &l->file));
        }
        status = ranks_agree_on_file(ranks, status);
    }
    free(all);
    return status;
}

/* Returns the first rank whose piece has an error, or `size` if none has. *before: entries in the
 * pieces before this rank's. */
static int judge(loading *l, int64_t *before) {
    for (int r = 0; r < l->ranks->size; r++) {
        const spmv_piece *p = &l->pieces[r];
        if (p->entries > l->head.entries - l->entries || p->status != SPMV_OK) return r;
        if (r == l->ranks->rank) *before = l->entries;
        spmv_reading_note(l->file, p, l->lines);
        l->entries += p->entries;
        l->lines += p->lines;
        l->zeros += p->zeros;
    }
    return l->ranks->size;
}

/* An error in the text may be caused by a damaged archive; in that case reports the archive. */
static spmv_status refuse(loading *l, spmv_status mine) {
    spmv_ranks *ranks = l->ranks;
    char text[TEXT_BYTES];
    spmv_status status = ranks_agree_on_file(ranks, ranks_ctx_failed(ranks, mine));
    if (status != SPMV_E_FORMAT || l->head.bytes >= 0) return status;
    snprintf(text, sizeof text, "%s", ranks->mine.text);
    const bool damaged = is_first(l) && spmv_reading_is_damaged(l->file);
    status = ranks_agree_on_file(ranks, damaged ? ranks_ctx_failed(ranks, SPMV_E_FORMAT) : SPMV_OK);
    return status == SPMV_OK ? ranks_fail(ranks, SPMV_E_FORMAT, "%s", text) : status;
}

/* Orders the pieces of a round as in the file, and reports the first error. */
static spmv_status settle(loading *l, const spmv_piece *mine) {
    spmv_ranks *ranks = l->ranks;
    int64_t before = 0;
    const spmv_status status = ranks->by->gather(ranks->state, mine, sizeof *mine, l->pieces);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the counts of pieces were lost");
    const int wrong = judge(l, &before);
    if (wrong < ranks->size)
        return refuse(l, wrong == ranks->rank ? spmv_reading_refuse(l->file, l->entries, l->lines)
                                              : SPMV_OK);
    spmv_reading_keep(l->file, before);
    return SPMV_OK;
}

static spmv_status read_shares(loading *l) {
    spmv_piece mine;
    spmv_reading_share(l->file, l->ranks->rank, l->ranks->size,
                       is_first(l) ? l->opts->progress : NULL, l->opts->progress_arg, &mine);
    return settle(l, &mine);
}

/* ---- text that rank 0 deals out ------------------------------------------------------------- */

enum { PARSERS = 4 }; /* most ranks that receive text in a round */

typedef struct dealt { /* ranks first, ..., end - 1 receive text in this round */
    int first, end;
    char *out, *in; /* out: on rank 0, [PARSERS][SPMV_READING_TEXT]; in: [SPMV_READING_TEXT] */
    int64_t *out_bytes, *in_bytes;
    int64_t *size; /* [size][2] bytes of text for each rank; 1 if the round has any text */
    int64_t size_of_mine[2];
} dealt;

static bool dealt_alloc(const loading *l, dealt *d) {
    const size_t size = (size_t)l->ranks->size;
    d->out = malloc(is_first(l) ? (size_t)PARSERS * SPMV_READING_TEXT : 1);
    d->in = malloc(SPMV_READING_TEXT);
    d->out_bytes = calloc(size, sizeof *d->out_bytes);
    d->in_bytes = calloc(size, sizeof *d->in_bytes);
    d->size = calloc(2 * size, sizeof *d->size);
    return d->out && d->in && d->out_bytes && d->in_bytes && d->size;
}

static void dealt_free(dealt *d) {
    free(d->out);
    free(d->in);
    free(d->out_bytes);
    free(d->in_bytes);
    free(d->size);
}

/* Chooses the ranks of the next round: rank 0, which unpacks, is left out if there are others. */
static void next_parsers(const loading *l, dealt *d) {
    const int size = l->ranks->size, least = size > 1;
    d->first = d->end < size && d->end > 0 ? d->end : least;
    d->end = d->first + PARSERS < size ? d->first + PARSERS : size;
}

/* Fills the texts of a round. If no text is left, rank 0 parses what remains: *rest. */
static bool unpack(loading *l, dealt *d, spmv_piece *rest) {
    size_t all = 0;
    bool has_rest = false;
    memset(d->size, 0, 2 * (size_t)l->ranks->size * sizeof *d->size);
    for (int r = d->first; r < d->end; r++) {
        const size_t bytes = spmv_reading_unpack(l->file, d->out + all);
        d->size[2 * r] = (int64_t)bytes;
        all += bytes;
    }
    if (!all) has_rest = spmv_reading_rest(l->file, rest);
    for (int r = 0; r < l->ranks->size; r++) d->size[2 * r + 1] = all || has_rest;
    return has_rest;
}

static spmv_status deal(loading *l, dealt *d, int64_t item, const void *out, void *in) {
    spmv_ranks *ranks = l->ranks;
    memset(d->in_bytes, 0, (size_t)ranks->size * sizeof *d->in_bytes);
    for (int r = 0; r < ranks->size; r++)
        d->out_bytes[r] = !is_first(l) ? 0 : item ? item : d->size[2 * r];
    d->in_bytes[0] = item ? item : d->size_of_mine[0];
    const spmv_status status = ranks->by->deal(ranks->state, out, d->out_bytes, in, d->in_bytes);
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "text was lost");
}

static spmv_status read_round(loading *l, dealt *d, bool *more) {
    spmv_piece mine = {.status = SPMV_OK};
    bool has_rest = false;
    next_parsers(l, d);
    if (is_first(l)) has_rest = unpack(l, d, &mine);
    spmv_status status = deal(l, d, sizeof d->size_of_mine, d->size, d->size_of_mine);
    *more = d->size_of_mine[1];
    if (status != SPMV_OK || !*more) return status;
    status = deal(l, d, 0, d->out, d->in);
    if (status != SPMV_OK) return status;
    const size_t bytes = (size_t)d->size_of_mine[0];
    memset(d->in + bytes, 0, SPMV_READING_PAD);
    if (!has_rest) spmv_reading_parse(l->file, d->in, bytes, &mine);
    status = settle(l, &mine);
    if (status == SPMV_OK && is_first(l) && l->opts->progress && l->head.entries)
        l->opts->progress(l->opts->progress_arg, (double)l->entries / (double)l->head.entries);
    return status;
}

static spmv_status read_stream(loading *l) {
    dealt d = {.out = NULL};
    spmv_status status = ranks_agree_on_file(
        l->ranks,
        dealt_alloc(l, &d) ? SPMV_OK : ranks_no_memory(l->ranks, "pieces of a file's text"));
    for (bool more = true; status == SPMV_OK && more;) status = read_round(l, &d, &more);
    dealt_free(&d);
    return status;
}

/* Each rank reads its share of a file whose arrays are plain bytes; of any other one rank 0 has all
 * entries, and sends them to their owners. */
static spmv_status read_whole(loading *l) {
    spmv_ranks *ranks = l->ranks;
    spmv_piece piece = {.status = SPMV_OK};
    spmv_status status = SPMV_OK;
    const bool has_shares = l->head.bytes >= 0;
    if (is_first(l) || has_shares)
        status = spmv_reading_whole(l->file, ranks->rank, has_shares ? ranks->size : 1,
                                    is_first(l) ? l->opts->progress : NULL, l->opts->progress_arg,
                                    &piece);
    status = ranks_agree_on_file(ranks, ranks_ctx_failed(ranks, status));
    if (status != SPMV_OK) return status;
    status = ranks->by->gather(ranks->state, &piece, sizeof piece, l->pieces);
    if (status != SPMV_OK) return ranks_fail(ranks, status, "the counts of pieces were lost");
    for (int r = 0; r < ranks->size; r++) {
        l->entries += l->pieces[r].entries;
        l->zeros += l->pieces[r].zeros;
        spmv_reading_note(l->file, &l->pieces[r], 0);
    }
    l->head.entries = l->entries;
    return SPMV_OK;
}

/* Line numbers of the first piece follow those of the header. */
spmv_status ranks_file_read(loading *l) {
    l->lines = l->head.size_line;
    l->pieces = malloc((size_t)l->ranks->size * sizeof *l->pieces);
    spmv_status status = ranks_agree_on_file(
        l->ranks, l->pieces ? SPMV_OK : ranks_no_memory(l->ranks, "pieces of a file"));
    if (status == SPMV_OK)
        status = l->head.whole        ? read_whole(l)
                 : l->head.bytes >= 0 ? read_shares(l)
                                      : read_stream(l);
    if (status == SPMV_OK && l->entries < l->head.entries)
        status =
            refuse(l, is_first(l) ? spmv_reading_finish(l->file, l->entries, l->lines) : SPMV_OK);
    if (status == SPMV_OK && is_first(l) && l->opts->progress)
        l->opts->progress(l->opts->progress_arg, 1);
    if (status == SPMV_OK) l->chunks = spmv_reading_take(l->file);
    spmv_reading_close(l->file);
    l->file = NULL;
    return status;
}
