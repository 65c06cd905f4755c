/* shuffle.c: sends items from every rank to any other. In each round a rank fills one box per
 * destination until one box is full; then all boxes are exchanged. */
#include "shuffle.h"
#include <stdlib.h>

enum { ROUND_BYTES = 1 << 22, LEAST_ROOM = 64 };

typedef struct notice { /* sent to each rank before the boxes of a round */
    int64_t bytes, more;
} notice;

typedef struct round {
    ranks_boxes out;
    char *in;
    notice *told, *heard;                         /* [size] */
    int64_t *out_bytes, *in_bytes, *notice_bytes; /* [size] */
} round_of;

static spmv_status round_alloc(spmv_ranks *ranks, size_t width, round_of *r) {
    const size_t size = (size_t)ranks->size;
    int64_t room = (int64_t)(ROUND_BYTES / size / width);
    if (room < LEAST_ROOM) room = LEAST_ROOM;
    r->out = (ranks_boxes){.width = width, .room = room};
    r->out.count = calloc(size, sizeof *r->out.count);
    r->out.items = malloc(size * (size_t)room * width);
    r->in = malloc(size * (size_t)room * width);
    r->told = malloc(size * sizeof *r->told);
    r->heard = malloc(size * sizeof *r->heard);
    r->out_bytes = malloc(size * sizeof *r->out_bytes);
    r->in_bytes = malloc(size * sizeof *r->in_bytes);
    r->notice_bytes = malloc(size * sizeof *r->notice_bytes);
    if (!r->out.count || !r->out.items || !r->in || !r->told || !r->heard || !r->out_bytes ||
        !r->in_bytes || !r->notice_bytes)
        return ranks_no_memory(ranks, "entries on their way");
    for (int k = 0; k < ranks->size; k++) r->notice_bytes[k] = sizeof(notice);
    return SPMV_OK;
}

static void round_free(round_of *r) {
    free(r->out.count);
    free(r->out.items);
    free(r->in);
    free(r->told);
    free(r->heard);
    free(r->out_bytes);
    free(r->in_bytes);
    free(r->notice_bytes);
}

/* Removes the gaps between boxes. */
static void close_up(const spmv_ranks *ranks, round_of *r) {
    size_t at = 0;
    for (int k = 0; k < ranks->size; k++) {
        const size_t bytes = (size_t)r->out.count[k] * r->out.width;
        const size_t from = (size_t)(k * r->out.room) * r->out.width;
        if (bytes && from != at) memmove(r->out.items + at, r->out.items + from, bytes);
        r->out_bytes[k] = (int64_t)bytes;
        at += bytes;
    }
}

static spmv_status tell(spmv_ranks *ranks, round_of *r, bool more) {
    for (int k = 0; k < ranks->size; k++) r->told[k] = (notice){r->out_bytes[k], more};
    return ranks->by->deal(ranks->state, r->told, r->notice_bytes, r->heard, r->notice_bytes);
}

static spmv_status send(spmv_ranks *ranks, const ranks_shuffle *s, round_of *r, bool *more) {
    close_up(ranks, r);
    spmv_status status = tell(ranks, r, *more);
    if (status != SPMV_OK) return status;
    *more = false;
    for (int k = 0; k < ranks->size; k++) {
        r->in_bytes[k] = r->heard[k].bytes;
        *more |= r->heard[k].more;
    }
    status = ranks->by->deal(ranks->state, r->out.items, r->out_bytes, r->in, r->in_bytes);
    const char *at = r->in;
    for (int k = 0; status == SPMV_OK && k < ranks->size; k++) {
        s->take(s->arg, k, at, r->in_bytes[k] / (int64_t)s->width);
        at += r->in_bytes[k];
    }
    memset(r->out.count, 0, (size_t)ranks->size * sizeof *r->out.count);
    return status == SPMV_OK ? status : ranks_fail(ranks, status, "entries on their way were lost");
}

spmv_status ranks_shuffle_all(spmv_ranks *ranks, const ranks_shuffle *s) {
    round_of r = {.in = NULL};
    spmv_status status = ranks_agree(ranks, round_alloc(ranks, s->width, &r));
    for (bool more = true; status == SPMV_OK && more;) {
        more = s->fill(s->arg, &r.out);
        status = send(ranks, s, &r, &more);
    }
    round_free(&r);
    return status;
}
