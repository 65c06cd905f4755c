/* test_gzip.c: archive.c on damaged .gz files: the reader returns the compressed text or fails.
 * Most files here are "stored", without compression, so that a flipped bit only changes a digit and
 * only the checksum reveals it. */
#include "reading.h"

#if defined HAVE_LIBARCHIVE && defined HAVE_ZLIB
#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#define DAMAGED(why) ": found damaged or cut compressed data (" why ")"
#define ONE REAL "1 1 1\n1 1 7\n"
#define ONE_WORDS "1x1 real general 1,1=7"

enum { STORED = 0, ROOM = 1 << 20 };
static char file[ROOM]; /* the .gz file in the making */
static size_t size;

/* Appends a member to the file; header: NULL for a plain one. */
static void add_member(const void *bytes, size_t n, int level, gz_header *header) {
    z_stream z = {0};
    assert_int_equal(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    if (header) assert_int_equal(deflateSetHeader(&z, header), Z_OK);
    z.next_in = (z_const Bytef *)bytes;
    z.avail_in = (uInt)n;
    z.next_out = (Bytef *)file + size;
    z.avail_out = (uInt)(ROOM - size);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    size = ROOM - z.avail_out;
    deflateEnd(&z);
}

static void add_text(const char *text) {
    add_member(text, strlen(text), STORED, NULL);
}

static void add_byte(int byte, size_t times) {
    memset(file + size, byte, times);
    size += times;
}

static spmv_status read_file(const char *as, spmv_coo *coo) {
    spmv_status status = read_matrix(write_bytes(as, file, size), 2, coo);
    unlink(name);
    return status;
}

static void check_read(const char *as, const char *words) {
    spmv_coo coo;
    if (read_file(as, &coo) != SPMV_OK) fail_msg("%s", ctx->error);
    assert_string_equal(words_of(&coo), words);
    spmv_coo_free(&coo);
}

static void check_damaged(const char *as, const char *expected) {
    spmv_coo coo;
    assert_int_equal(read_file(as, &coo), SPMV_E_FORMAT);
    assert_string_equal(ctx->error + strlen(name), expected);
    assert_zeroed(&coo);
}

/* Returns the place in the file of a text that stands there once. */
static char *find(const char *text) {
    char *at = memmem(file, size, text, strlen(text));
    assert_non_null(at);
    return at;
}

/* A digit of the file changed, and back. */
static void check_changed(const char *as, const char *digit, const char *expected) {
    char *at = find(digit);
    *at ^= 1;
    check_damaged(as, expected);
    *at ^= 1;
}

/* Every bit of two members flipped, every cut. The bits that say nothing of the text have no
 * checksum, and with them the text must be the same: one flag, six bytes of time and system, and
 * five bits that fill up the first byte of what is stored. */
TEST(test_every_flip_and_cut) {
    spmv_coo coo;
    size = 0;
    add_text(REAL "2 2 2\n1 1 1\n");
    size_t first = size, whole, kept = 0;
    add_text("2 2 2\n");
    whole = size;
    check_read("two.gz", "2x2 real general 1,1=1 2,2=2");
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        size_t byte = bit / 8, in_header = byte < first ? byte : byte - first;
        file[byte] ^= (char)(1 << bit % 8);
        if (read_file("flip.gz", &coo) == SPMV_OK) {
            assert_in_range(in_header, 3, 10);
            assert_string_equal(words_of(&coo), "2x2 real general 1,1=1 2,2=2");
            spmv_coo_free(&coo);
            kept++;
        } else if (byte != 0 && byte != 1) { /* else it is no .gz */
            assert_non_null(strstr(ctx->error, "flip.gz: found damaged or cut compressed data ("));
        }
        file[byte] ^= (char)(1 << bit % 8);
    }
    assert_int_equal(kept, 2 * (1 + 6 * 8 + 5));
    for (size = 0; size < whole; size++) assert_int_equal(read_file("cut.gz", &coo), SPMV_E_FORMAT);
    size = first - 1;
    check_damaged("cut.gz", DAMAGED("it ends too early"));
    size = first + 1;
    check_damaged("cut.gz", DAMAGED("it ends too early"));
}

TEST(test_what_is_wrong_is_said) {
    size = 0;
    add_text(ONE);
    check_read("one.gz", ONE_WORDS);
    check_changed("one.gz", "7\n", DAMAGED("wrong checksum"));
    file[size - 5] ^= 1;
    check_damaged("one.gz", DAMAGED("wrong checksum"));
    file[size - 5] ^= 1;
    file[size - 4] ^= 1;
    check_damaged("one.gz", DAMAGED("wrong length"));
    size = 0;
    add_text("");
    check_damaged("empty.gz", ":1: found an empty file, expected '%%MatrixMarket matrix coordinate "
                              "real general' or the like");
}

/* The reader parses the damaged text long before it reaches the checksum. */
TEST(test_damaged_text) {
    enum { ENTRIES = 60000 };
    static char text[ROOM / 2];
    int n = append(text, "%%%%MatrixMarket matrix coordinate real general\n9 9 %d\n", ENTRIES);
    for (int k = 0; k < ENTRIES; k++) n += append(text + n, "1 1 %d\n", k % 10);
    size = 0;
    add_member(text, (size_t)n, STORED, NULL);
    find("9 9 60000")[0] = 'x';
    check_damaged("size.gz", DAMAGED("wrong checksum"));
    find("x 9 60000")[0] = '9';
    memcpy(file + size / 2, "x", 1);
    check_damaged("entry.gz", DAMAGED("wrong checksum"));
    memcpy(text + n - 6, "x", 1); /* a bad line of the author's */
    size = 0;
    add_member(text, (size_t)n, STORED, NULL);
    check_damaged("author.gz", ":60002:1: found 'x' as the row, expected an integer from 1 to 9");
}

TEST(test_beginning_of_a_member_inside) {
    size = 0;
    add_text(REAL "% \x1f\x8b\x08 here\n1 1 1\n1 1 7\n");
    check_read("inside.gz", ONE_WORDS);
    check_changed("inside.gz", "7\n", DAMAGED("wrong checksum"));
}

TEST(test_long_header) {
    gz_header header = {.extra = (Bytef *)"\x1f\x8b\x08",
                        .extra_len = 3,
                        .name = (Bytef *)"one.mtx",
                        .comment = (Bytef *)"no comment",
                        .hcrc = 1};
    size = 0;
    add_member(ONE, strlen(ONE), STORED, &header);
    check_read("header.gz", ONE_WORDS);
    check_changed("header.gz", "7\n", DAMAGED("wrong checksum"));
    check_changed("header.gz", "one.mtx", DAMAGED("wrong checksum of the header"));
}

TEST(test_what_follows) {
    static const size_t zeros[] = {1, 7, 8, 512, 200000};
    for (size_t k = 0; k < LENGTH(zeros); k++) {
        size = 0;
        add_text(ONE);
        add_byte(0, zeros[k]);
        check_read("zeros.gz", ONE_WORDS);
        check_changed("zeros.gz", "7\n", DAMAGED("wrong checksum"));
        add_byte('\n', 1);
        check_damaged("zeros.gz", DAMAGED("after its end come bytes that are not .gz"));
    }
    size = 0;
    add_text(ONE);
    add_byte('\n', 1);
    check_damaged("line.gz", DAMAGED("after its end come bytes that are not .gz"));
}

TEST(test_many_members) {
    size = 0;
    for (const char *c = ONE; *c; c++) {
        add_member(c, 1, STORED, NULL);
        for (int k = 0; k < 60; k++) add_text("");
    }
    check_read("many.gz", ONE_WORDS);
    check_changed("many.gz", "7", DAMAGED("wrong checksum"));
}

/* Members that end about where the file is read in pieces, and so do the decompressed ones. */
TEST(test_seams) {
    static char text[ROOM / 2];
    enum { PIECE = 64 << 10 };
    for (int end = PIECE - 60; end < PIECE + SPMV_MAGIC_BYTES + 60; end++) {
        int n = append(text, "%s%%%*s\n1 1 1\n", REAL, end - (int)strlen(REAL) - 9, "");
        size = 0;
        add_member(text, (size_t)n, STORED, NULL);
        add_text("1 1 7\n");
        check_read("seam.gz", ONE_WORDS);
        if (end % 16 == 0) check_changed("seam.gz", "7\n", DAMAGED("wrong checksum"));
    }
}

/* Within another compression nothing of ours would compare the checksum. */
TEST(test_compressed_twice) {
    spmv_coo coo;
    char once[1000];
    size = 0;
    add_text(ONE);
    size_t n = size;
    memcpy(once, file, n);
    size = 0;
    add_member(once, n, STORED, NULL);
    assert_int_equal(read_file("twice.gz", &coo), SPMV_E_FORMAT);
    assert_non_null(strstr(ctx->error, "twice.gz: found gzip data, "));
}

static void add_entry(struct archive *tar, const char *path, const char *text) {
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, path);
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_size(entry, (la_int64_t)strlen(text));
    assert_int_equal(archive_write_header(tar, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(tar, text, strlen(text)), strlen(text));
    archive_entry_free(entry);
}

/* Damage in an unread entry is an error too, because the checksum covers the whole archive. */
TEST(test_tar) {
    static char bytes[ROOM / 2], later[ROOM / 4]; /* more than is read at a time */
    static const char *const names[] = {"own.tar.gz", "other.tgz"}; /* the other is read twice */
    size_t used;
    struct archive *tar = archive_write_new();
    memset(later, '-', sizeof later - 1);
    memcpy(later + sizeof later - 8, "later\n", 6);
    archive_write_set_format_ustar(tar);
    assert_int_equal(archive_write_open_memory(tar, bytes, sizeof bytes, &used), ARCHIVE_OK);
    add_entry(tar, "before.txt", "earlier\n");
    add_entry(tar, "own.mtx", ONE);
    add_entry(tar, "after.txt", later);
    archive_write_close(tar);
    archive_write_free(tar);
    for (size_t k = 0; k < LENGTH(names); k++)
        for (int members = 1; members <= 2; members++) {
            size = 0;
            if (members == 2) add_member(bytes, 1000, STORED, NULL);
            size_t rest = members == 2 ? 1000 : 0;
            add_member(bytes + rest, used - rest, STORED, NULL);
            check_read(names[k], ONE_WORDS);
            check_changed(names[k], "earlier\n", DAMAGED("wrong checksum"));
            check_changed(names[k], "7\n", DAMAGED("wrong checksum"));
            check_changed(names[k], "later\n", DAMAGED("wrong checksum"));
            file[size - 9] ^= 1; /* behind the tar archive's end */
            check_damaged(names[k], DAMAGED("wrong checksum"));
        }
}

/* A line of blanks behind the last entry, longer than what is read at a time, and the file's end is
 * cut off: what the block before had does not hide it. */
TEST(test_damage_behind_the_entries) {
    enum { BLANKS = 900000 };
    FREED(char) *text = allocate(sizeof ONE + BLANKS);
    strcpy(text, ONE);
    memset(text + sizeof ONE - 1, ' ', BLANKS);
    for (int threads = 1; threads <= 3; threads++) {
        spmv_coo coo;
        size = 0;
        add_member(text, sizeof ONE - 1 + BLANKS, 9, NULL);
        assert_int_equal(read_matrix(write_bytes("a.gz", file, size - 3), threads, &coo),
                         SPMV_E_FORMAT);
        assert_string_equal(ctx->error + strlen(name), DAMAGED("it ends too early"));
        unlink(name);
    }
}

/* Ten million spaces take 10 kB: where a limit is set, no more than that is unpacked, in the text,
 * in front of it, and behind it. */
TEST(test_limit) {
    enum { SPACES = 10000000, LINE = 1000, LIMIT = 1000000 };
    static const char *const around[][2] = {
        {REAL, "1 1 1\n1 1 7\n"}, {ONE, ""}, {REAL "1 1 1\n", "1 1 7\n"}};
    FREED(char) *blanks = allocate(SPACES);
    memset(blanks, ' ', SPACES);
    for (size_t k = LINE; k <= SPACES; k += LINE) blanks[k - 1] = '\n';
    for (size_t k = 0; k < LENGTH(around); k++) {
        spmv_coo coo;
        size = 0;
        add_text(around[k][0]);
        add_member(blanks, SPACES, 9, NULL);
        add_text(around[k][1]);
        assert_true(size < LIMIT);
        for (int limit = LIMIT; limit < SPACES; limit += SPACES - 2 * LIMIT) {
            char expected[80];
            ctx->max_unpacked = (size_t)limit;
            assert_int_equal(read_file("bomb.gz", &coo), SPMV_E_FORMAT);
            sprintf(expected, ": it unpacks to more than the limit of %d bytes", limit);
            assert_string_equal(ctx->error + strlen(name), expected);
        }
        ctx->max_unpacked = SPACES + LINE;
        check_read("bomb.gz", ONE_WORDS);
        ctx->max_unpacked = 0;
        check_read("bomb.gz", ONE_WORDS);
    }
}

int main(void) {
    spmv_powers_init(&powers);
    return run_suite(set_up, tear_down);
}
#else
TEST(test_absent) {
    print_message(".gz files: not tested, this build lacks libarchive or zlib\n");
    skip();
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
#endif
