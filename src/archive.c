/* archive.c: the text of compressed files (.gz .xz .zst .bz2), and of one entry of a tar archive,
 * compressed or not.
 *
 * libarchive decompresses while the caller reads; nothing is stored. It is used twice, one reader
 * feeding the other: the outer one decompresses, the inner one takes tar archives apart. Between
 * them the decompressed bytes pass here, because libarchive does not compare a .gz file's checksum
 * (3.6), and a flipped bit can be just another digit. A tar archive is chosen from by its entries'
 * names alone: when the entry that bears the archive's name has not come first, the others have
 * been skipped, and when there is none the archive is read a second time up to its only .mtx. */
#include "internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool spmv_is_archive(const unsigned char *head, size_t nhead) {
    static const struct {
        size_t offset, length;
        const char *bytes;
    } magic[] = {{0, 2, "\x1f\x8b"},
                 {0, 6, "\xfd\x37zXZ"},
                 {0, 4, "\x28\xb5\x2f\xfd"},
                 {0, 3, "BZh"},
                 {257, 5, "ustar"}};
    for (size_t k = 0; k < sizeof magic / sizeof *magic; k++)
        if (nhead >= magic[k].offset + magic[k].length &&
            memcmp(head + magic[k].offset, magic[k].bytes, magic[k].length) == 0)
            return true;
    return false;
}

#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>

struct spmv_archive {
    spmv_ctx *ctx;
    const char *path;
    int fd;
    struct archive *outer, *inner;
    const unsigned char *head; /* read from fd already; NULL once it has been handed on */
    size_t nhead;
    bool empty, ended; /* there is no text at all; it has been read */

    bool gzip;    /* the outermost and only compression; then: */
    bool members; /* there may be several parts with a checksum each, which cannot be told apart
                     here */
    unsigned char last[8];   /* bytes read from fd: checksum and size if no more follow */
    uint32_t checksum, size; /* of the decompressed bytes, the size modulo 2^32 */
    uint32_t table[8][256];  /* to compute the checksum eight bytes at a time */
    const char *why;         /* what is wrong besides what libarchive says */
    char error[256];
    unsigned char bytes[SPMV_MAGIC_BYTES + (64 << 10)];
};

/* table[k][b]: the remainder of byte b followed by k zero bytes, bits reflected as in RFC 1952. */
static void make_checksum_table(uint32_t table[8][256]) {
    for (uint32_t b = 0; b < 256; b++) {
        uint32_t rest = b;
        for (int bit = 0; bit < 8; bit++) rest = rest & 1 ? rest >> 1 ^ 0xedb88320 : rest >> 1;
        table[0][b] = rest;
    }
    for (int k = 1; k < 8; k++)
        for (int b = 0; b < 256; b++)
            table[k][b] = table[k - 1][b] >> 8 ^ table[0][table[k - 1][b] & 255];
}

static uint32_t add_to_checksum(const uint32_t table[8][256], uint32_t checksum,
                                const unsigned char *bytes, size_t n) {
    uint32_t rest = ~checksum;
    for (; n >= 8; bytes += 8, n -= 8) {
        uint64_t x;
        memcpy(&x, bytes, sizeof x);
        x ^= rest;
        rest = 0;
        for (int k = 0; k < 8; k++) rest ^= table[7 - k][x >> 8 * k & 255];
    }
    for (; n > 0; bytes++, n--) rest = rest >> 8 ^ table[0][(rest ^ *bytes) & 255];
    return ~rest;
}

/* The outer reader asks for the next bytes of the file. */
static la_ssize_t feed_outer(struct archive *outer, void *self, const void **bytes) {
    static const unsigned char member[] = {0x1f, 0x8b, 8};
    spmv_archive *a = self;
    ssize_t got;
    *bytes = a->bytes;
    if (a->head) {
        got = (ssize_t)a->nhead;
        memcpy(a->bytes, a->head, a->nhead);
        a->head = NULL;
        a->gzip = got > 2 && memcmp(a->bytes, member, 2) == 0;
        a->members = got > 2 && memmem(a->bytes + 2, (size_t)got - 2, member, sizeof member);
    } else {
        do got = read(a->fd, a->bytes, sizeof a->bytes);
        while (got < 0 && errno == EINTR);
        if (got < 0) archive_set_error(outer, errno, "%s", strerror(errno));
        if (got <= 0) return got;
        /* a beginning cut in two by the reads escapes, and its file would be refused: take such a
         * cut for one */
        a->members |= memmem(a->bytes, (size_t)got, member, sizeof member) ||
                      a->last[7] == member[0] ||
                      (a->last[6] == member[0] && a->last[7] == member[1]);
    }
    size_t n = (size_t)got, kept = n < sizeof a->last ? n : sizeof a->last;
    memmove(a->last, a->last + kept, sizeof a->last - kept);
    memcpy(a->last + sizeof a->last - kept, a->bytes + n - kept, kept);
    return got;
}

/* The inner reader asks for the next decompressed bytes. */
static la_ssize_t feed_inner(struct archive *inner, void *self, const void **bytes) {
    spmv_archive *a = self;
    size_t n = 0;
    la_int64_t offset;
    int code = a->empty ? ARCHIVE_EOF : archive_read_data_block(a->outer, bytes, &n, &offset);
    if (code == ARCHIVE_EOF) return 0;
    if (code < ARCHIVE_WARN) {
        const char *why = archive_error_string(a->outer);
        archive_set_error(inner, archive_errno(a->outer), "%s", why ? why : "unknown error");
        return -1;
    }
    if (a->gzip) {
        a->checksum = add_to_checksum((const uint32_t(*)[256])a->table, a->checksum, *bytes, n);
        a->size += (uint32_t)n;
    }
    return (la_ssize_t)n;
}

/* Decompresses what follows the text and compares the checksum; trailing zeros (tape blocks) hide
 * it. */
static bool is_sound(spmv_archive *a) {
    const void *bytes;
    la_ssize_t got;
    do got = feed_inner(a->inner, a, &bytes);
    while (got > 0);
    if (got < 0) return false;
    uint32_t checksum, size;
    memcpy(&checksum, a->last, sizeof checksum); /* both little-endian */
    memcpy(&size, a->last + 4, sizeof size);
    if (!a->gzip || a->members || (checksum == 0 && size == 0) ||
        (checksum == a->checksum && size == a->size))
        return true;
    a->why = "wrong checksum";
    return false;
}

/* Starts decompressing from the first byte. Only filters that are part of libarchive: others would
 * start programs. */
static spmv_status start(spmv_archive *a) {
    struct archive_entry *entry;
    archive_read_free(a->inner);
    archive_read_free(a->outer);
    a->checksum = a->size = 0;
    a->inner = archive_read_new();
    a->outer = archive_read_new();
    if (!a->inner || !a->outer)
        return spmv_fail(a->ctx, SPMV_E_NOMEM, "out of memory while opening %s", a->path);
    archive_read_support_filter_gzip(a->outer);
    archive_read_support_filter_xz(a->outer);
    archive_read_support_filter_zstd(a->outer);
    archive_read_support_filter_bzip2(a->outer);
    archive_read_support_format_empty(a->outer);
    archive_read_support_format_raw(a->outer);
    archive_read_support_format_tar(a->inner);
    archive_read_support_format_empty(a->inner);
    archive_read_support_format_raw(a->inner);
    int code = archive_read_open(a->outer, a, NULL, feed_outer, NULL);
    if (code == ARCHIVE_OK) code = archive_read_next_header(a->outer, &entry);
    a->empty = code == ARCHIVE_EOF;
    if (archive_filter_count(a->outer) != 2) a->gzip = false; /* the filter itself, and the file */
    if (code < ARCHIVE_WARN)
        a->why = archive_error_string(a->outer);
    else if (archive_read_open(a->inner, a, NULL, feed_inner, NULL) == ARCHIVE_OK)
        return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: %s", a->path, spmv_archive_error(a));
}

/* The next entry's header; *found is false at the end. */
static spmv_status next_entry(spmv_archive *a, struct archive_entry **entry, bool *found) {
    int code = archive_read_next_header(a->inner, entry);
    *found = code == ARCHIVE_OK || code == ARCHIVE_WARN;
    if (*found || code == ARCHIVE_EOF) return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: %s", a->path, spmv_archive_error(a));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, size_t length, const char *suffix) {
    size_t n = strlen(suffix);
    return length >= n && memcmp(text + length - n, suffix, n) == 0;
}

/* Length of an archive's base name without its suffixes. */
static size_t stem_length(const char *name) {
    static const char *const suffixes[] = {".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tgz",
                                           ".txz",    ".tzst",   ".tbz2",    ".tbz",     ".tar"};
    size_t length = strlen(name);
    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
        if (ends_with(name, length, suffixes[k])) return length - strlen(suffixes[k]);
    return length;
}

/* The base name of a regular entry, if that is a .mtx file, else NULL. */
static const char *matrix_name(struct archive_entry *entry) {
    const char *path = archive_entry_pathname(entry);
    if (!path || archive_entry_filetype(entry) != AE_IFREG) return NULL;
    const char *name = base_name(path);
    return ends_with(name, strlen(name), ".mtx") ? name : NULL;
}

/* Appends a name to the list of those found, as far as there is room, without control characters.
 */
static void append_name(char *list, size_t size, const char *name) {
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s'%s'", n ? ", " : "", name);
    for (char *c = list + n; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* Moves on to the entry of a tar archive that holds the matrix; *entry is the first one. */
static spmv_status choose_entry(spmv_archive *a, struct archive_entry *entry) {
    const char *own = base_name(a->path);
    size_t stem = stem_length(own);
    char list[400] = "";
    int matrices = 0;
    bool found = true;
    while (found) {
        const char *name = matrix_name(entry);
        if (name && strlen(name) == stem + 4 && memcmp(name, own, stem) == 0) return SPMV_OK;
        if (name && matrices++ < 8) append_name(list, sizeof list, name);
        TRY(next_entry(a, &entry, &found));
    }
    if (matrices != 1)
        return spmv_fail(a->ctx, SPMV_E_FORMAT,
                         "%s: found %s%s in the archive, expected '%.*s.mtx' or a single .mtx file",
                         a->path, matrices ? list : "no .mtx file", matrices > 8 ? ", ..." : "",
                         (int)stem, own);
    if (lseek(a->fd, 0, SEEK_SET) != 0)
        return spmv_fail(a->ctx, SPMV_E_FORMAT,
                         "%s: found %s in the archive, expected '%.*s.mtx': a pipe cannot be read "
                         "a second time",
                         a->path, list, (int)stem, own);
    TRY(start(a));
    do TRY(next_entry(a, &entry, &found));
    while (found && !matrix_name(entry));
    if (found) return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: the archive changed while it was read", a->path);
}

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, int fd, const unsigned char *head,
                              size_t nhead, spmv_archive **out) {
    struct archive_entry *entry = NULL;
    bool found = false;
    spmv_archive *a = calloc(1, sizeof *a);
    *out = NULL;
    if (!a) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while opening %s", path);
    a->ctx = ctx;
    a->path = path;
    a->fd = fd;
    a->head = head;
    a->nhead = nhead;
    make_checksum_table(a->table);
    spmv_status status = start(a);
    if (status == SPMV_OK) status = next_entry(a, &entry, &found);
    a->empty = !found;
    if (status == SPMV_OK && found && archive_format(a->inner) != ARCHIVE_FORMAT_RAW)
        status = choose_entry(a, entry);
    if (status != SPMV_OK) {
        spmv_archive_close(a);
        return status;
    }
    *out = a;
    return SPMV_OK;
}

ptrdiff_t spmv_archive_read(spmv_archive *a, char *text, size_t capacity) {
    if (a->ended) return 0;
    la_ssize_t got = a->empty ? 0 : archive_read_data(a->inner, text, capacity);
    if (got == 0) {
        a->ended = true;
        if (!is_sound(a)) return -1;
    }
    return got < 0 ? -1 : (ptrdiff_t)got;
}

const char *spmv_archive_error(spmv_archive *a) {
    const char *why = a->why ? a->why : archive_error_string(a->inner);
    snprintf(a->error, sizeof a->error, "found damaged or cut compressed data (%s)",
             why ? why : "unknown error");
    return a->error;
}

void spmv_archive_close(spmv_archive *a) {
    if (!a) return;
    archive_read_free(a->inner);
    archive_read_free(a->outer);
    free(a);
}

#else

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, int fd, const unsigned char *head,
                              size_t nhead, spmv_archive **out) {
    (void)fd, (void)head, (void)nhead;
    *out = NULL;
    return spmv_fail(ctx, SPMV_E_FEATURE,
                     "%s: compressed input is not built in: install libarchive-dev (Debian) or "
                     "libarchive-devel (Fedora), then make again",
                     path);
}

ptrdiff_t spmv_archive_read(spmv_archive *a, char *text, size_t capacity) {
    (void)a, (void)text, (void)capacity;
    return -1;
}

const char *spmv_archive_error(spmv_archive *a) {
    (void)a;
    return "compressed input is not built in";
}

void spmv_archive_close(spmv_archive *a) {
    (void)a;
}
#endif
