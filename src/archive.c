/* archive.c: the text of compressed files (.gz .xz .zst .bz2), and of one entry of a tar archive, compressed or not.
 *
 * libarchive decompresses while the caller reads; nothing is stored. A tar archive is chosen from by its entries' names
 * alone: when the entry that bears the archive's name has not come first, the others have been skipped, and when there
 * is none the archive is read a second time up to its only .mtx entry. */
#include "internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool spmv_is_archive(const unsigned char *head, size_t nhead) {
    static const struct {
        size_t offset, length;
        const char *bytes;
    } magic[] = {{0, 2, "\x1f\x8b"},         {0, 6, "\xfd\x37zXZ"}, {0, 4, "\x28\xb5\x2f\xfd"},
                 {0, 3, "BZh"},              {257, 5, "ustar"}};
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
    struct archive *stream;
    const unsigned char *head; /* read from fd already; NULL once it has been handed on */
    size_t nhead;
    bool empty; /* there is no text at all */
    char error[256];
    unsigned char bytes[SPMV_MAGIC_BYTES + (64 << 10)];
};

/* libarchive asks for the next compressed bytes. */
static la_ssize_t feed(struct archive *stream, void *self, const void **bytes) {
    spmv_archive *a = self;
    ssize_t got;
    *bytes = a->bytes;
    if (a->head) {
        memcpy(a->bytes, a->head, a->nhead);
        a->head = NULL;
        return (la_ssize_t)a->nhead;
    }
    do got = read(a->fd, a->bytes, sizeof a->bytes);
    while (got < 0 && errno == EINTR);
    if (got < 0) archive_set_error(stream, errno, "%s", strerror(errno));
    return got;
}

/* Starts decompressing from the first byte. Only filters that are part of libarchive: others would start programs. */
static spmv_status start(spmv_archive *a) {
    archive_read_free(a->stream);
    a->stream = archive_read_new();
    if (!a->stream) return spmv_fail(a->ctx, SPMV_E_NOMEM, "out of memory while opening %s", a->path);
    archive_read_support_filter_gzip(a->stream);
    archive_read_support_filter_xz(a->stream);
    archive_read_support_filter_zstd(a->stream);
    archive_read_support_filter_bzip2(a->stream);
    archive_read_support_format_tar(a->stream);
    archive_read_support_format_empty(a->stream);
    archive_read_support_format_raw(a->stream);
    if (archive_read_open(a->stream, a, NULL, feed, NULL) == ARCHIVE_OK) return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: %s", a->path, spmv_archive_error(a));
}

/* The next header; false at the end. */
static spmv_status next_entry(spmv_archive *a, struct archive_entry **entry, bool *found) {
    int code = archive_read_next_header(a->stream, entry);
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

/* Appends a name to the list of those found, as far as there is room, without control characters. */
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
        return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: found %s%s in the archive, expected '%.*s.mtx' or a single .mtx file",
                         a->path, matrices ? list : "no .mtx file", matrices > 8 ? ", ..." : "", (int)stem, own);
    if (lseek(a->fd, 0, SEEK_SET) != 0)
        return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: found %s in the archive, expected '%.*s.mtx': a pipe cannot be read "
                                                "a second time",
                         a->path, list, (int)stem, own);
    TRY(start(a));
    do TRY(next_entry(a, &entry, &found));
    while (found && !matrix_name(entry));
    if (found) return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: the archive changed while it was read", a->path);
}

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, int fd, const unsigned char *head, size_t nhead,
                              spmv_archive **out) {
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
    spmv_status status = start(a);
    if (status == SPMV_OK) status = next_entry(a, &entry, &found);
    a->empty = !found;
    if (status == SPMV_OK && found && archive_format(a->stream) != ARCHIVE_FORMAT_RAW) status = choose_entry(a, entry);
    if (status != SPMV_OK) {
        spmv_archive_close(a);
        return status;
    }
    *out = a;
    return SPMV_OK;
}

ptrdiff_t spmv_archive_read(spmv_archive *a, char *text, size_t capacity) {
    la_ssize_t got = a->empty ? 0 : archive_read_data(a->stream, text, capacity);
    return got < 0 ? -1 : (ptrdiff_t)got;
}

const char *spmv_archive_error(spmv_archive *a) {
    const char *why = archive_error_string(a->stream);
    snprintf(a->error, sizeof a->error, "found damaged or cut compressed data (%s)", why ? why : "unknown error");
    return a->error;
}

void spmv_archive_close(spmv_archive *a) {
    if (!a) return;
    archive_read_free(a->stream);
    free(a);
}

#else

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, int fd, const unsigned char *head, size_t nhead,
                              spmv_archive **out) {
    (void)fd, (void)head, (void)nhead;
    *out = NULL;
    return spmv_fail(ctx, SPMV_E_FEATURE, "%s: compressed input is not built in: install libarchive-dev (Debian) or "
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
