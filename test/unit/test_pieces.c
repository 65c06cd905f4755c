/* test_pieces.c: mmio_pieces.c: processes that read a file together, here one after the other. What
 * they read is what one reads alone: entries, and the text of what is wrong. */
#include "reading.h"
#include "spmv_pieces.h"

enum { MOST = 7 }; /* readers */

typedef struct readers {
    int n;
    const char *path;
    spmv_reading_head head;
    spmv_reading *of[MOST];
    int64_t entries, lines; /* settled */
    char said[400];         /* message of a failure */
} readers;

static spmv_status open_readers(readers *r, const char *path, int n) {
    *r = (readers){.n = n, .path = path};
    spmv_status status = spmv_reading_open(ctx, path, &r->head, &r->of[0]);
    for (int k = 1; k < n && status == SPMV_OK; k++)
        status = spmv_reading_join(ctx, path, &r->head, &r->of[k]);
    r->lines = r->head.size_line;
    return status;
}

static void close_readers(readers *r) {
    for (int k = 0; k < r->n; k++)
        if (r->of[k]) spmv_reading_close(r->of[k]);
}

/* Keeps a piece, or records the error in it. */
static spmv_status settle(readers *r, int k, const spmv_piece *piece) {
    if (piece->entries > r->head.entries - r->entries || piece->status != SPMV_OK)
        return spmv_reading_refuse(r->of[k], r->entries, r->lines);
    spmv_reading_keep(r->of[k], r->entries);
    for (int other = 0; other < r->n; other++) spmv_reading_note(r->of[other], piece, r->lines);
    r->entries += piece->entries;
    r->lines += piece->lines;
    return SPMV_OK;
}

static spmv_status read_shares(readers *r) {
    spmv_piece pieces[MOST];
    spmv_status status = SPMV_OK;
    for (int k = 0; k < r->n; k++) spmv_reading_share(r->of[k], k, r->n, NULL, NULL, &pieces[k]);
    for (int k = 0; k < r->n && status == SPMV_OK; k++) status = settle(r, k, &pieces[k]);
    return status;
}

/* The first unpacks; all in turn read a piece. */
static spmv_status read_stream(readers *r) {
    spmv_status status = SPMV_OK;
    int k = 0;
    for (bool more = true; more && status == SPMV_OK; k = (k + 1) % r->n) {
        FREED(char) *text = allocate(SPMV_READING_TEXT + SPMV_READING_PAD);
        spmv_piece piece;
        const size_t bytes = spmv_reading_unpack(r->of[0], text);
        memset(text + bytes, 0, SPMV_READING_PAD);
        more = bytes > 0;
        if (more) {
            spmv_reading_parse(r->of[k], text, bytes, &piece);
            status = settle(r, k, &piece);
        } else if (spmv_reading_rest(r->of[0], &piece)) {
            status = settle(r, 0, &piece);
        }
    }
    return status;
}

/* Reads all pieces. An error in the text may be due to a damaged archive, which is then
 * reported. */
static spmv_status read_all(readers *r) {
    spmv_status status = r->head.bytes >= 0 ? read_shares(r) : read_stream(r);
    if (status == SPMV_OK && r->entries < r->head.entries)
        status = spmv_reading_finish(r->of[0], r->entries, r->lines);
    snprintf(r->said, sizeof r->said, "%s", spmv_ctx_error(ctx));
    if (status == SPMV_E_FORMAT && r->head.bytes < 0 && spmv_reading_is_damaged(r->of[0]))
        snprintf(r->said, sizeof r->said, "%s", spmv_ctx_error(ctx));
    return status;
}

static void compare(spmv_chunk *c, const spmv_coo_view *all, char *seen) {
    for (spmv_chunk *next; c; c = next) {
        for (int64_t e = 0; e < c->has.n; e++) {
            int64_t k = 0;
            while (k < all->nnz &&
                   (seen[k] || all->row[k] != c->has.row[e] || all->col[k] != c->has.col[e] ||
                    (all->values && memcmp(&all->values[k], &c->has.values[e], 8) != 0)))
                k++;
            assert_true(k < all->nnz);
            seen[k] = 1;
        }
        next = c->next;
        free(c);
    }
}

/* Reads a file by n readers, and by one: both return the same entries, or the same message. */
static void try_file(const char *path, int n) {
    FREED(spmv_mat) *mat = NULL;
    readers r;
    char words[400];
    const spmv_status wanted = spmv_mat_load(ctx, path, NULL, &mat);
    snprintf(words, sizeof words, "%s", spmv_ctx_error(ctx));
    spmv_status status = open_readers(&r, path, n);
    if (status == SPMV_OK)
        status = read_all(&r);
    else
        snprintf(r.said, sizeof r.said, "%s", spmv_ctx_error(ctx));
    if (status != wanted) fail_msg("%s by %d: %d instead of %d", path, n, status, wanted);
    if (status != SPMV_OK) assert_string_equal(r.said, words);
    if (status == SPMV_OK) {
        spmv_coo_view all = SPMV_OPTS(spmv_coo_view);
        assert_int_equal(spmv_mat_entries(mat, &all), SPMV_OK);
        assert_int_equal(r.entries, all.nnz);
        FREED(char) *seen = calloc((size_t)all.nnz + 1, 1);
        for (int k = 0; k < n; k++) compare(spmv_reading_take(r.of[k]), &all, seen);
        for (int64_t k = 0; k < all.nnz; k++) assert_true(seen[k]);
    }
    close_readers(&r);
}

static const char *packed(const char *path) {
    static char to[300];
    char command[700];
    snprintf(to, sizeof to, "%s/packed.mtx.gz", folder);
    snprintf(command, sizeof command, "gzip -c '%s' >'%s'", path, to);
    return system(command) == 0 ? to : NULL;
}

static void try_both_ways(const char *path) {
    for (int n = 1; n <= MOST; n += 2) try_file(path, n);
    const char *stream = packed(path);
    if (!stream) return;
    for (int n = 1; n <= 3; n += 2) try_file(stream, n);
    unlink(stream);
}

TEST(what_readers_read_is_what_one_reads) {
    static const char *const files[] = {"coordinate_real_general",
                                        "coordinate_pattern_symmetric",
                                        "coordinate_integer_general",
                                        "array_real_general",
                                        "array_integer_skew-symmetric",
                                        "duplicates",
                                        "spelling"};
    for (size_t k = 0; k < LENGTH(files); k++) {
        char path[100];
        snprintf(path, sizeof path, "test/data/%s.mtx", files[k]);
        try_both_ways(path);
    }
}

/* Writes a file of 60 entries, with line `at` replaced. */
static const char *write_odd(int at, const char *instead, int fewer) {
    FREED(char) *text = allocate(4000);
    int n = append(text, REAL "%% a comment\n60 60 60\n");
    for (int k = 0; k < 60 - fewer; k++)
        n += k == at ? append(text + n, "%s\n", instead)
                     : append(text + n, "%d %d %d\n", k + 1, 60 - k, k * k);
    write_bytes("odd.mtx", text, (size_t)n);
    return name;
}

TEST(what_is_wrong_is_said_as_one_says_it) {
    static const char *const wrong[] = {"61 1 1",  "1 x 1",  "3 3 3\n4 4 4",
                                        "7 7",     "0 1 1",  "% a comment\n9 9 9",
                                        "8 8 8 8", "2 2 1d3"};
    for (size_t k = 0; k < LENGTH(wrong); k++)
        for (int at = 0; at < 60; at += 29) {
            try_both_ways(write_odd(at, wrong[k], 0));
            unlink(name);
        }
    try_both_ways(write_odd(-1, "", 5)); /* entries are missing */
    unlink(name);
}

/* A stream that ends too early, one whose text is damaged, a line without end. */
TEST(damage_is_found) {
    const size_t n = 300000;
    char *text = allocate(2 * n);
    memset(text, 'x', 2 * n);
    int begin = append(text, REAL "3 3 3\n1 1 1\n");
    text[begin] = '1';
    try_both_ways(write_bytes("endless.mtx", text, 2 * n));
    unlink(name);
    free(text);
    const char *stream = packed("test/data/coordinate_real_general.mtx");
    if (!stream) return;
    struct stat is;
    assert_int_equal(stat(stream, &is), 0);
    assert_int_equal(truncate(stream, is.st_size - 9), 0);
    try_file(stream, 2);
    unlink(stream);
}

TEST(who_joins_must_have_the_same_file) {
    static const char one[] = REAL "2 2 1\n1 1 5\n", other[] = REAL "2 2 1\n1 1 7\n";
    spmv_reading *first = NULL, *second = NULL;
    spmv_reading_head head;
    char path[256];
    snprintf(path, sizeof path, "%s", write_bytes("one.mtx", one, sizeof one - 1));
    assert_int_equal(spmv_reading_open(ctx, path, &head, &first), SPMV_OK);
    write_bytes("other.mtx", other, sizeof other - 1);
    assert_int_equal(spmv_reading_join(ctx, name, &head, &second), SPMV_E_ARG);
    assert_int_equal(spmv_reading_join(ctx, "/no/such/file.mtx", &head, &second), SPMV_E_IO);
    spmv_reading_suggest(ctx, "/no/such/file.mtx");
    spmv_reading_close(first);
    unlink(name);
    unlink(path);
}

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return run_suite(set_up, tear_down);
}
