/* inflate.c: inflates compressed parts of a file by zlib, piece by piece into the arrays that are
 * filled. A library for zip archives would allocate what the archive says, unchecked, and hold all
 * of it at once. */
#include "io/formats.h"
#include <stdio.h>
#include <stdlib.h>

/* Deflate expands 1 byte to at most 1,032. */
enum { MOST_RATIO = 1032, HEADER = 64 };

/* Fails if the stated unpacked size exceeds the limit of the context, or what deflate can
 * produce. */
static spmv_status check_size(const spmv_deflated *p) {
    const size_t limit = p->in->ctx->max_unpacked;
    TRY(spmv_bytes_check(p->in, p->name, p->offset, p->bytes, 1));
    if (limit && p->unpacked > 0 && (uint64_t)p->unpacked > limit)
        return spmv_fail(p->in->ctx, SPMV_E_FORMAT,
                         "%s: %s: it unpacks to more than the limit of %zu bytes", p->in->path,
                         p->name, limit);
    if (p->unpacked >= 0 && p->unpacked / MOST_RATIO <= p->bytes + HEADER) return SPMV_OK;
    return spmv_refuse(p->in, "%s of %lld bytes that unpack to %lld, expected at most %d times",
                       p->name, (long long)p->bytes, (long long)p->unpacked, MOST_RATIO);
}

#ifdef HAVE_ZLIB
#include <zlib.h>

enum {
    WINDOW = 15,
#ifdef SPMV_FUZZING
    PIECE = 64
#else
    PIECE = 128 << 10
#endif
};

struct spmv_inflater {
    z_stream zlib;
    int64_t read, at; /* compressed bytes, unpacked bytes so far */
    uint32_t crc;
    bool ended;
    unsigned char piece[PIECE], skipped[PIECE];
};

uint32_t spmv_crc32(uint32_t before, const void *bytes, size_t n) {
    return (uint32_t)crc32_z(before, bytes, n);
}

static spmv_status begin(spmv_deflated *p) {
    struct spmv_inflater *s = p->state;
    if (s) inflateEnd(&s->zlib);
    if (!s) s = p->state = malloc(sizeof *s);
    if (s) s->zlib = (z_stream){0};
    if (!s || inflateInit2(&s->zlib, p->bare ? -WINDOW : WINDOW) != Z_OK)
        return spmv_no_memory_for(p->in->ctx, p->in->path);
    s->read = s->at = 0;
    s->crc = 0;
    s->ended = false;
    return SPMV_OK;
}

static spmv_status damaged(const spmv_deflated *p, const char *why) {
    return spmv_refuse(p->in, "damaged or cut compressed data (%s: %s, byte %lld unpacked)",
                       p->name, why, (long long)p->state->at);
}

/* Inflates exactly n bytes. */
static spmv_status inflate_bytes(spmv_deflated *p, unsigned char *to, int64_t n) {
    struct spmv_inflater *s = p->state;
    z_stream *z = &s->zlib;
    while (n > 0) {
        const int64_t left = p->bytes - s->read;
        if (s->ended) return damaged(p, "it ends too early");
        if (z->avail_in == 0 && left > 0) {
            const int64_t some = left < PIECE ? left : PIECE;
            TRY(spmv_bytes_read(p->in, p->name, p->offset + s->read, some, s->piece));
            s->read += some;
            z->next_in = s->piece;
            z->avail_in = (uInt)some;
        }
        const uInt room = n < 1 << 30 ? (uInt)n : 1u << 30;
        z->next_out = to;
        z->avail_out = room;
        const int code = inflate(z, Z_NO_FLUSH);
        const uInt got = room - z->avail_out;
        if (p->bare) s->crc = spmv_crc32(s->crc, to, got);
        to += got;
        s->at += got;
        n -= got;
        if (code == Z_MEM_ERROR) return spmv_no_memory_for(p->in->ctx, p->in->path);
        if (code == Z_BUF_ERROR && left == 0) return damaged(p, "it ends too early");
        if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
            return damaged(p, z->msg ? z->msg : "zlib cannot go on");
        s->ended = code == Z_STREAM_END;
    }
    return SPMV_OK;
}

/* Reads the end of a zlib stream, where zlib compares the checksum. */
static spmv_status finish(spmv_deflated *p) {
    struct spmv_inflater *s = p->state;
    unsigned char more;
    if (p->bare) return s->crc == p->crc ? SPMV_OK : damaged(p, "wrong checksum");
    while (!s->ended) {
        const int64_t left = p->bytes - s->read, some = left < PIECE ? left : PIECE;
        if (s->zlib.avail_in == 0) {
            if (left == 0) return damaged(p, "it ends too early");
            TRY(spmv_bytes_read(p->in, p->name, p->offset + s->read, some, s->piece));
            s->read += some;
            s->zlib.next_in = s->piece;
            s->zlib.avail_in = (uInt)some;
        }
        s->zlib.next_out = &more;
        s->zlib.avail_out = 1;
        const int code = inflate(&s->zlib, Z_NO_FLUSH);
        if (s->zlib.avail_out == 0) return damaged(p, "more than it says");
        if (code != Z_OK && code != Z_STREAM_END)
            return damaged(p, s->zlib.msg ? s->zlib.msg : "zlib cannot go on");
        s->ended = code == Z_STREAM_END;
    }
    return SPMV_OK;
}

spmv_status spmv_deflated_read(spmv_deflated *p, int64_t offset, int64_t n, void *to) {
    if (!p->state) TRY(check_size(p));
    if (offset < 0 || n < 0 || offset > p->unpacked || n > p->unpacked - offset)
        return spmv_refuse(p->in, "%lld bytes of %s, expected %lld: is the file cut short?",
                           (long long)p->unpacked, p->name, (long long)(offset + n));
    if (!p->state || offset < p->state->at) TRY(begin(p));
    struct spmv_inflater *s = p->state;
    while (s->at < offset) {
        const int64_t some = offset - s->at < PIECE ? offset - s->at : PIECE;
        TRY(inflate_bytes(p, s->skipped, some));
    }
    TRY(inflate_bytes(p, to, n));
    return s->at == p->unpacked && n && !p->is_probe ? finish(p) : SPMV_OK;
}

void spmv_deflated_end(spmv_deflated *p) {
    if (p->state) inflateEnd(&p->state->zlib);
    free(p->state);
    p->state = NULL;
}

#else

uint32_t spmv_crc32(uint32_t before, const void *bytes, size_t n) {
    const unsigned char *at = bytes;
    uint32_t crc = ~before;
    for (size_t k = 0; k < n; k++) {
        crc ^= at[k];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

spmv_status spmv_deflated_read(spmv_deflated *p, int64_t offset, int64_t n, void *to) {
    (void)offset, (void)n, (void)to;
    TRY(check_size(p));
    return spmv_fail(p->in->ctx, SPMV_E_FEATURE,
                     "%s: compressed input (%s) is not built in: install zlib1g-dev (Debian) or "
                     "zlib-devel (Fedora), then make again",
                     p->in->path, p->name);
}

void spmv_deflated_end(spmv_deflated *p) {
    (void)p;
}
#endif
