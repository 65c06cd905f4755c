/* archive.c: reads the text of compressed files (.gz .xz .zst .bz2), and of one entry of a tar
 * archive, compressed or not. Decompresses while the caller reads and stores nothing. zlib
 * decompresses .gz and compares the checksum of every member; libarchive (3.6) does not, and a
 * flipped bit can turn one digit into another. libarchive, opened at its first use, does the rest
 * by two readers: the outer reader decompresses all but .gz, the inner reader takes tar archives
 * apart. Bytes behind the end of the tar archive are decompressed, too, so that checksums are
 * compared. The entry of a tar archive is chosen by name: the entry with the archive's name, else
 * the only .mtx or .rb, for which the archive is read a second time. */
#include "host/context.h"
#include "io/io.h"
#include "spmv_host.h"
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

#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
#include "archive_library.h"
#include <zlib.h>

/* for inflateInit2: the largest window, with .gz as the only format; first byte of a member */
enum { GZIP_ONLY = 15 + 16, GZIP_FIRST = 0x1f };

#ifdef SPMV_FUZZING
enum { BUFFER = 256 }; /* small, so that an input of the fuzzer fills it several times */
#else
enum { BUFFER = 64 << 10 };
#endif

struct spmv_archive {
    spmv_ctx *ctx;
    const archive_library *lib;
    const char *path;
    spmv_input *in;
    struct archive *outer, *inner;
    const unsigned char *head; /* bytes read already; NULL once they were handed on */
    size_t nhead;
    bool empty, ended; /* true if the archive has no text; true if its end was reached */

    bool gzip;        /* true: zlib decompresses for the outer reader, with the next members */
    bool member_over; /* the next bytes of the file are another member, or zeros */
    z_stream zlib;    /* input: bytes; output: inflated */
    unsigned char inflated[BUFFER];

    size_t unpacked; /* bytes of all entries */
    size_t text; /* bytes of the chosen entry, with the zeros that a sparse entry does not store */
    bool too_long;   /* true if they exceed the limit of the context */
    bool no_memory;  /* zlib or libarchive could not allocate memory */
    int error_no;    /* errno of a failed read, or 0 */
    const char *why; /* a message of ours; NULL: libarchive's message counts */
    char error[256];
    unsigned char bytes[SPMV_MAGIC_BYTES + BUFFER]; /* bytes of the file */
};

/* Reads the next bytes of the file into a->bytes; returns their number, 0 at the end, -1 on
 * failure. */
static la_ssize_t read_bytes(spmv_archive *a) {
    ssize_t got;
    if (a->head) {
        memcpy(a->bytes, a->head, a->nhead);
        a->head = NULL;
        return (la_ssize_t)a->nhead;
    }
    got = spmv_input_read(a->in, a->bytes, sizeof a->bytes);
    if (got < 0) a->error_no = errno, a->why = strerror(errno);
    return got;
}

/* Provides input for zlib: what is left, or the next bytes of the file; false: there is none. */
static bool has_input(spmv_archive *a) {
    if (a->zlib.avail_in > 0) return true;
    la_ssize_t got = read_bytes(a);
    a->zlib.next_in = a->bytes;
    a->zlib.avail_in = got > 0 ? (uInt)got : 0;
    return got > 0;
}

/* Skips zeros, with which tapes padded files to whole blocks; any other byte begins a member. */
static bool begins_member(spmv_archive *a) {
    while (a->zlib.avail_in > 0 && *a->zlib.next_in == 0) {
        a->zlib.next_in++;
        a->zlib.avail_in--;
    }
    if (a->zlib.avail_in == 0) return false;
    if (*a->zlib.next_in != GZIP_FIRST) a->why = "after its end come bytes that are not .gz";
    inflateReset(&a->zlib);
    a->member_over = false;
    return !a->why;
}

/* Replaces zlib's messages that a user would not understand. */
static const char *in_plain_words(const char *why) {
    static const char *const words[][2] = {
        {"incorrect data check", "wrong checksum"},
        {"incorrect length check", "wrong length"},
        {"header crc mismatch", "wrong checksum of the header"},
    };
    for (size_t k = 0; k < sizeof words / sizeof *words; k++)
        if (why && strcmp(why, words[k][0]) == 0) return words[k][1];
    return why ? why : "zlib cannot go on";
}

/* Reads the next decompressed bytes of a .gz file into a->inflated; returns as read_bytes. */
static la_ssize_t inflate_bytes(spmv_archive *a) {
    z_stream *z = &a->zlib;
    z->next_out = a->inflated;
    z->avail_out = sizeof a->inflated;
    while (!a->why && z->avail_out > 0 && has_input(a)) {
        if (a->member_over && !begins_member(a)) continue;
        int code = inflate(z, Z_NO_FLUSH);
        a->member_over = code == Z_STREAM_END;
        a->no_memory |= code == Z_MEM_ERROR;
        if (code != Z_OK && code != Z_STREAM_END) a->why = in_plain_words(z->msg);
    }
    if (!a->why && z->avail_out > 0 && !a->member_over) a->why = "it ends too early";
    return a->why ? -1 : (la_ssize_t)(sizeof a->inflated - z->avail_out);
}

/* Callback of the outer reader: the next bytes of the file, or of zlib. */
static la_ssize_t feed_outer(struct archive *outer, void *self, const void **bytes) {
    spmv_archive *a = self;
    la_ssize_t got = a->gzip ? inflate_bytes(a) : read_bytes(a);
    (void)outer; /* a->why already has the message */
    *bytes = a->gzip ? a->inflated : a->bytes;
    return got;
}

/* Counts n more bytes; false if they exceed the limit of the context. */
static bool count_bytes(spmv_archive *a, size_t *count, size_t n) {
    const size_t limit = a->ctx->max_unpacked;
    *count += n;
    a->too_long |= limit && *count > limit;
    if (a->too_long) a->why = "too long";
    return !a->too_long;
}

/* Callback of the inner reader: the next decompressed bytes. */
static la_ssize_t feed_inner(struct archive *inner, void *self, const void **bytes) {
    spmv_archive *a = self;
    size_t n = 0;
    la_int64_t offset;
    int code =
        a->empty ? ARCHIVE_EOF : a->lib->archive_read_data_block(a->outer, bytes, &n, &offset);
    if (code == ARCHIVE_EOF) return 0;
    if (code < ARCHIVE_WARN) {
        const char *why = a->lib->archive_error_string(a->outer);
        a->lib->archive_set_error(inner, a->lib->archive_errno(a->outer), "%s",
                                  why ? why : "unknown error");
        return -1;
    }
    return count_bytes(a, &a->unpacked, n) ? (la_ssize_t)n : -1;
}

/* libarchive crashes if it gets no memory; spmv_foreign lets the program name libarchive then. */
static void enter(void) {
    spmv_foreign = "libarchive";
}

static void leave(void) {
    spmv_foreign = NULL;
}

/* Decompressing compares the checksums. */
bool spmv_archive_is_sound(spmv_archive *a) {
    const void *bytes;
    la_ssize_t got;
    enter();
    do got = feed_inner(a->inner, a, &bytes);
    while (got > 0);
    leave();
    return got == 0 && !a->why;
}

/* Starts to decompress from the first byte, with the filters that libarchive has built in: all
 * others start programs. */
static spmv_status start(spmv_archive *a) {
    struct archive_entry *entry;
    a->lib->archive_read_free(a->inner);
    a->lib->archive_read_free(a->outer);
    inflateEnd(&a->zlib);
    a->zlib = (z_stream){0};
    a->member_over = false;
    a->unpacked = 0;
    a->inner = a->lib->archive_read_new();
    a->outer = a->lib->archive_read_new();
    if (!a->inner || !a->outer || inflateInit2(&a->zlib, GZIP_ONLY) != Z_OK)
        return spmv_fail(a->ctx, SPMV_E_NOMEM, "out of memory while opening %s", a->path);
    const int support[] = {a->lib->archive_read_support_filter_xz(a->outer),
                           a->lib->archive_read_support_filter_zstd(a->outer),
                           a->lib->archive_read_support_filter_bzip2(a->outer),
                           a->lib->archive_read_support_format_empty(a->outer),
                           a->lib->archive_read_support_format_raw(a->outer),
                           a->lib->archive_read_support_format_tar(a->inner),
                           a->lib->archive_read_support_format_empty(a->inner),
                           a->lib->archive_read_support_format_raw(a->inner)};
    for (size_t k = 0; k < sizeof support / sizeof *support; k++)
        a->no_memory |= support[k] < ARCHIVE_WARN;
    int code = a->lib->archive_read_open(a->outer, a, NULL, feed_outer, NULL);
    if (code == ARCHIVE_OK) code = a->lib->archive_read_next_header(a->outer, &entry);
    a->empty = code == ARCHIVE_EOF;
    if (code < ARCHIVE_WARN && !a->why) a->why = a->lib->archive_error_string(a->outer);
    if (code >= ARCHIVE_WARN && !a->why &&
        a->lib->archive_read_open(a->inner, a, NULL, feed_inner, NULL) == ARCHIVE_OK)
        return SPMV_OK;
    return spmv_fail(a->ctx, spmv_archive_status(a), "%s: %s", a->path, spmv_archive_error(a));
}

/* Reads the next entry's header; *found is false at the end. */
static spmv_status next_entry(spmv_archive *a, struct archive_entry **entry, bool *found) {
    int code = a->lib->archive_read_next_header(a->inner, entry);
    *found = code == ARCHIVE_OK || code == ARCHIVE_WARN;
    if (!a->why && (*found || code == ARCHIVE_EOF)) return SPMV_OK;
    return spmv_fail(a->ctx, spmv_archive_status(a), "%s: %s", a->path, spmv_archive_error(a));
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool ends_with(const char *text, size_t length, const char *suffix) {
    size_t n = strlen(suffix);
    return length >= n && memcmp(text + length - n, suffix, n) == 0;
}

/* Returns the length of an archive's base name without its suffixes. */
static size_t stem_length(const char *name) {
    static const char *const suffixes[] = {".tar.gz", ".tar.xz", ".tar.zst", ".tar.bz2", ".tgz",
                                           ".txz",    ".tzst",   ".tbz2",    ".tbz",     ".tar"};
    size_t length = strlen(name);
    for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++)
        if (ends_with(name, length, suffixes[k])) return length - strlen(suffixes[k]);
    return length;
}

/* Returns the length of the ending of a matrix file (.mtx, .rb); 0: the name has no such ending. */
static size_t ending_length(const char *name) {
    static const char *const endings[] = {".mtx", ".rb"};
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++)
        if (ends_with(name, strlen(name), endings[k])) return strlen(endings[k]);
    return 0;
}

/* Returns the base name of a regular entry that is a matrix file, else NULL. */
static const char *matrix_name(const spmv_archive *a, struct archive_entry *entry) {
    const char *path = a->lib->archive_entry_pathname(entry);
    if (!path || a->lib->archive_entry_filetype(entry) != AE_IFREG) return NULL;
    const char *name = base_name(path);
    return ending_length(name) ? name : NULL;
}

/* Appends a name, without control characters, to the list of names found, if there is room. */
static void append_name(char *list, size_t size, const char *name) {
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s'%s'", n ? ", " : "", name);
    for (char *c = list + n; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127) *c = '?';
}

/* Moves to the entry of a tar archive that holds the matrix; *entry is the first entry on call. */
static spmv_status choose_entry(spmv_archive *a, struct archive_entry *entry) {
    const char *own = base_name(a->path);
    size_t stem = stem_length(own);
    char list[400] = "";
    int matrices = 0;
    bool found = true;
    while (found) {
        const char *name = matrix_name(a, entry);
        if (name && strlen(name) == stem + ending_length(name) && memcmp(name, own, stem) == 0)
            return SPMV_OK;
        if (name && matrices++ < 8) append_name(list, sizeof list, name);
        TRY(next_entry(a, &entry, &found));
    }
    if (matrices != 1)
        return spmv_fail(a->ctx, SPMV_E_FORMAT,
                         "%s: found %s%s in the archive, expected '%.*s.mtx' or a single .mtx file",
                         a->path, matrices ? list : "no .mtx file", matrices > 8 ? ", ..." : "",
                         (int)stem, own);
    if (lseek(a->in->fd, 0, SEEK_SET) != 0)
        return spmv_fail(a->ctx, SPMV_E_FORMAT,
                         "%s: found %s in the archive, expected '%.*s.mtx': a pipe cannot be read "
                         "a second time",
                         a->path, list, (int)stem, own);
    TRY(start(a));
    do TRY(next_entry(a, &entry, &found));
    while (found && !matrix_name(a, entry));
    if (found) return SPMV_OK;
    return spmv_fail(a->ctx, SPMV_E_FORMAT, "%s: the archive changed while it was read", a->path);
}

/* True if libarchive reports an empty archive although bytes were read, as it does when it gets no
 * memory. */
static bool lost_text(const spmv_archive *a) {
    return (a->unpacked && a->lib->archive_format(a->inner) == ARCHIVE_FORMAT_EMPTY) ||
           (a->zlib.total_out && a->lib->archive_format(a->outer) == ARCHIVE_FORMAT_EMPTY);
}

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, spmv_input *in,
                              const unsigned char *head, size_t nhead, spmv_archive **out) {
    struct archive_entry *entry = NULL;
    bool found = false;
    const char *why, *advice;
    const archive_library *lib = spmv_archive_library(&why);
    *out = NULL;
    if (!lib)
        return spmv_fail(
            ctx, SPMV_E_FEATURE,
            "%s: compressed input (%s) needs libarchive (Debian: libarchive13, Fedora: "
            "libarchive): %s",
            path, spmv_name_of_kind(head, nhead, &advice), why);
    spmv_archive *a = calloc(1, sizeof *a);
    if (!a) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory while opening %s", path);
    a->ctx = ctx;
    a->lib = lib;
    a->path = path;
    a->in = in;
    a->head = head;
    a->nhead = nhead;
    a->gzip = nhead >= 2 && memcmp(head, "\x1f\x8b", 2) == 0;
    enter();
    spmv_status status = start(a);
    if (status == SPMV_OK) status = next_entry(a, &entry, &found);
    a->empty = !found;
    if (status == SPMV_OK && lost_text(a))
        status = spmv_fail(ctx, SPMV_E_NOMEM, "%s: %s", path, spmv_archive_error(a));
    if (status == SPMV_OK && found && a->lib->archive_format(a->inner) != ARCHIVE_FORMAT_RAW)
        status = choose_entry(a, entry);
    leave();
    if (status != SPMV_OK) {
        spmv_archive_close(a);
        return status;
    }
    *out = a;
    return SPMV_OK;
}

ptrdiff_t spmv_archive_read(spmv_archive *a, char *text, size_t capacity) {
    if (a->ended) return 0;
    enter();
    la_ssize_t got = a->empty ? 0 : a->lib->archive_read_data(a->inner, text, capacity);
    leave();
    if (got == 0) {
        a->ended = true;
        if (!spmv_archive_is_sound(a)) return -1;
    }
    return got < 0 || !count_bytes(a, &a->text, (size_t)got) ? -1 : (ptrdiff_t)got;
}

/* True if libarchive failed for lack of memory, for which it may set no message. */
static bool lacks_memory(const spmv_archive *a, struct archive *part) {
    return a->lib->archive_errno(part) == ENOMEM ||
           (!a->why && !a->lib->archive_error_string(part) && !a->ended && part == a->inner);
}

spmv_status spmv_archive_status(const spmv_archive *a) {
    if (a->error_no) return SPMV_E_IO;
    const bool lacks = a->no_memory || lacks_memory(a, a->outer) || lacks_memory(a, a->inner);
    return lacks && !a->too_long ? SPMV_E_NOMEM : SPMV_E_FORMAT;
}

const char *spmv_archive_error(spmv_archive *a) {
    const char *why = a->why ? a->why : a->lib->archive_error_string(a->inner);
    if (a->error_no) return strerror(a->error_no);
    if (a->too_long)
        snprintf(a->error, sizeof a->error, "it unpacks to more than the limit of %zu bytes",
                 a->ctx->max_unpacked);
    else if (spmv_archive_status(a) == SPMV_E_NOMEM)
        snprintf(a->error, sizeof a->error, "out of memory while it was unpacked");
    else
        snprintf(a->error, sizeof a->error, "found damaged or cut compressed data (%s)",
                 why ? why : "unknown error");
    return a->error;
}

void spmv_archive_close(spmv_archive *a) {
    if (!a) return;
    a->lib->archive_read_free(a->inner);
    a->lib->archive_read_free(a->outer);
    inflateEnd(&a->zlib);
    free(a);
}

#else

spmv_status spmv_archive_open(spmv_ctx *ctx, const char *path, spmv_input *in,
                              const unsigned char *head, size_t nhead, spmv_archive **out) {
    const char *advice;
    (void)in;
    *out = NULL;
    return spmv_fail(
        ctx, SPMV_E_FEATURE,
        "%s: compressed input (%s) is not built in: install libarchive-dev and zlib1g-dev "
        "(Debian) or libarchive-devel and zlib-devel (Fedora), then make again",
        path, spmv_name_of_kind(head, nhead, &advice));
}

ptrdiff_t spmv_archive_read(spmv_archive *a, char *text, size_t capacity) {
    (void)a, (void)text, (void)capacity;
    return -1;
}

bool spmv_archive_is_sound(spmv_archive *a) {
    (void)a;
    return false;
}

spmv_status spmv_archive_status(const spmv_archive *a) {
    (void)a;
    return SPMV_E_FEATURE;
}

const char *spmv_archive_error(spmv_archive *a) {
    (void)a;
    return "compressed input is not built in";
}

void spmv_archive_close(spmv_archive *a) {
    (void)a;
}
#endif
