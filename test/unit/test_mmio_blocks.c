/* test_mmio_blocks.c: mmio.c: files of many blocks, read by many threads or from a pipe;
 * progress. */
#include "reading.h"

/* ---- many blocks ---------------------------------------------------------------------------- */

TEST(test_many_blocks) {
    const int64_t none[2] = {0, 0};
    const char *const nothing[2] = {NULL, NULL};
    many_text t = many_lines(MANY - MANY / 1000, none, nothing);
    spmv_coo first = {0}, coo;
    write_bytes("many.mtx", t.bytes, t.n);
    for (int threads = 1; threads <= 4; threads++)
        for (int piped = 0; piped < 2; piped++) {
            spmv_status status =
                piped ? read_piped(t.bytes, t.n, threads, &coo) : read_matrix(name, threads, &coo);
            if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
            if (threads == 1 && !piped) {
                /* against a reader that cannot be wrong in the same way */
                char *p = t.bytes;
                for (int k = 0; k < 3; k++) p = strchr(p, '\n') + 1;
                for (int64_t k = 0; k < coo.nnz; p = strchr(p, '\n') + 1) {
                    if (*p == '%' || *p == '\n') continue;
                    assert_true(strtol(p, &p, 10) == coo.row[k] + 1 &&
                                strtol(p, &p, 10) == coo.col[k] + 1);
                    assert_true(strtod(p, &p) == coo.values[k]);
                    k++;
                }
                first = coo;
                continue;
            }
            assert_true(same_entries(&first, &coo));
            spmv_coo_free(&coo);
        }
    /* without the last line's end, the number stands before what the buffer held earlier */
    for (size_t k = 0; k < 8; k++) {
        char *end = t.bytes + t.n - 1 - k;
        assert_int_equal(
            read_matrix(write_bytes("many.mtx", t.bytes, (size_t)(end - t.bytes)), 1, &coo),
            SPMV_OK);
        *end = 0;
        assert_true(coo.nnz == first.nnz &&
                    coo.values[coo.nnz - 1] == strtod(strrchr(t.bytes, ' '), NULL));
        spmv_coo_free(&coo);
    }
    spmv_coo_free(&first);
    unlink(name);
    free(t.bytes);
}

static void check_late(int64_t entries, int64_t line0, const char *bad0, int64_t line1,
                       const char *bad1, const char *expected) {
    const int64_t line[2] = {line0, line1};
    const char *const bad[2] = {bad0, bad1};
    many_text t = many_lines(entries, line, bad);
    check_refused(t.bytes, t.n, expected);
    free(t.bytes);
}

TEST(test_late_errors) {
    int64_t all = MANY - MANY / 1000;
    check_late(all, 399990, "1 2 x", 0, NULL,
               ":399990:5: found 'x' as the value, expected a number");
    check_late(all, 399001, "0 1 1", 399002, "1 0 1",
               ":399001:1: found '0' as the row, expected an integer from 1 to 1000000: rows and "
               "columns count from 1");
    check_late(all, 1234, "1 1", 399002, "1 0 1",
               ":1234: found 2 words, expected 'row column value': without values the banner says "
               "'pattern'");
    check_late(
        all, 7, "1 1", 8, "1 0 1",
        ":7: found 2 words, expected 'row column value': without values the banner says 'pattern'");
    check_late(all, 200001, "1 1 1 1", 390001, "",
               ":200001: found 4 words, expected 'row column value'");
    check_late(
        all, 399990, "% one less", 0, NULL,
        ":400003: found the end of the file after 399599 entries, expected the 399600 of line 3");
    check_late(
        all - 1, 0, NULL, 0, NULL,
        ":400003: found an entry more than the 399599 of line 3, expected the end of the file");
    /* too many entries, and before that a bad line; a bad line behind the one too many */
    check_late(200000, 150001, "1 1 z", 0, NULL,
               ":150001:5: found 'z' as the value, expected a number");
    check_late(
        199800, 200300, "1 1 z", 0, NULL,
        ":200004: found an entry more than the 199800 of line 3, expected the end of the file");
    check_late(
        199799, 200004, "1 1 z", 0, NULL,
        ":200003: found an entry more than the 199799 of line 3, expected the end of the file");
}

/* A stream whose announced size is not believed at once: its arrays grow and move while threads
 * copy. */
TEST(test_growing_stream) {
    enum { N = 2500000 };
    FREED(char) *bytes = allocate(N * 10 + 100);
    size_t n = (size_t)append(bytes, "%s999 999 %d\n", PATTERN, N);
    for (int k = 0; k < N; k++) {
        int row = k % 999 + 1, col = k / 999 % 999 + 1;
        n += (size_t)append(bytes + n, "%d %d\n", row, col);
    }
    for (int threads = 1; threads <= 4; threads++) {
        spmv_coo coo;
        if (read_piped(bytes, n, threads, &coo) != SPMV_OK) fail_msg("%s", ctx->error);
        assert_int_equal(coo.nnz, N);
        for (int k = 0; k < N; k++)
            assert_true(coo.row[k] == k % 999 && coo.col[k] == k / 999 % 999);
        spmv_coo_free(&coo);
    }
}

/* Puts a comment of so many bytes where the text has a '#'. */
static size_t lengthen(char *out, const char *text, size_t length) {
    char *p = out;
    for (; *text; text++) {
        if (*text == '#') {
            memset(p, '%', length);
            p[length / 2] = '\r'; /* which more of the comment follows */
            p += length;
        } else {
            *p++ = *text;
        }
    }
    return (size_t)(p - out);
}

/* Comments are longer than blocks, and than other lines may be, wherever they stand. */
TEST(test_long_comments) {
    static const size_t lengths[] = {1000, 262143, 262145, 1000000, 1048576, 3 << 20};
    static const char *const texts[] = {
        "#\n" REAL "2 2 2\n1 1 1\n2 2 2\n",    REAL "#\n2 2 2\n1 1 1\n2 2 2\n",
        REAL "2 2 2\n#\n1 1 1\n2 2 2\n",       REAL "2 2 2\n1 1 1\n#\n2 2 2\n",
        REAL "2 2 2\n1 1 1\n2 2 2\n#\n",       REAL "2 2 2\n1 1 1\n2 2 2\n#",
        REAL "2 2 2\n1 1 1 #\n2 2 2\n",        REAL "2 2 2 #\n1 1 1\n2 2 2 #",
        REAL "2 2 2\n#\n \t#\n1 1 1\n#\n2 2 2"};
    FREED(char) *bytes = allocate(10 << 20);
    for (size_t k = 0; k < LENGTH(lengths); k++)
        for (size_t t = 0; t < LENGTH(texts); t++)
            for (int piped = 0; piped < 2; piped++) {
                spmv_coo coo;
                const size_t n = lengthen(bytes, texts[t], lengths[k]);
                const int threads = 1 + 2 * (int)(t % 2);
                spmv_status status =
                    piped ? read_piped(bytes, n, threads, &coo)
                          : read_matrix(write_bytes("long.mtx", bytes, n), threads, &coo);
                if (status != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
                assert_string_equal(words_of(&coo), "2x2 real general 1,1=1 2,2=2");
                spmv_coo_free(&coo);
            }
    unlink(name);
    size_t n = lengthen(bytes, REAL "2 2 2\n1 1 1\n#\n2 2 x\n", 3 << 20);
    check_refused(bytes, n, ":5:5: found 'x' as the value, expected a number");
}

/* Lines other than comments may not exceed 1 MiB; the reader finds lines that a carriage return
 * hides in a comment. */
TEST(test_long_lines) {
    FREED(char) *bytes = allocate(8 << 20);
    size_t n = (size_t)append(bytes, "%s2 2 2\n1 1 1\n", REAL);
    memset(bytes + n, '1', 7 << 20);
    check_refused(bytes, n + (7 << 20),
                  ":4: found a line longer than 1048576 bytes, expected an entry");
    n = (size_t)append(bytes, "%s", REAL);
    memset(bytes + n, '1', 7 << 20);
    check_refused(bytes, n + (7 << 20),
                  ":2: found a line longer than 1048576 bytes, expected the size line");
    memset(bytes + n, '%', 7 << 20); /* and old Mac line ends, which hide what follows */
    memcpy(bytes + n + 500, "\r2 2 2\r", 7);
    check_refused(bytes, n + (7 << 20),
                  ":2:501: found a carriage return (byte 0x0D) that no line feed follows, expected "
                  "lines that end in LF or CR LF: tr '\\r' '\\n' <FILE mends old Mac line ends");
}

/* Blocks cut at every possible place of the text around the cut. */
TEST(test_cuts) {
    enum { LINES = 100001 }; /* three blocks; the last line ends in a digit */
    FREED(char) *bytes = allocate(LINES * 8 + 1000);
    for (int shift = 0; shift < 24; shift++) {
        spmv_coo coo;
        int n = append(bytes, "%s%%%.*s\n99 99 %d\n", PATTERN, shift, "abcdefghijklmnopqrstuvwxyz",
                       LINES);
        for (int k = 0; k < LINES; k++)
            n += append(bytes + n, k % 3 ? "%d %d\n" : "%d %d\r\n", k % 99 + 1, k / 99 % 99 + 1);
        write_bytes("cut.mtx", bytes, (size_t)n - (shift % 2 ? 1 : 0));
        assert_int_equal(read_matrix(name, 1 + shift % 3, &coo), SPMV_OK);
        for (int k = 0; k < LINES; k++)
            assert_true(coo.row[k] == k % 99 && coo.col[k] == k / 99 % 99);
        spmv_coo_free(&coo);
    }
    unlink(name);
}

/* Positions of array entries when blocks start in the middle of columns. */
TEST(test_large_arrays) {
    static const struct {
        const char *symmetry;
        int first; /* row of column j: first * j + second */
        int second;
    } kinds[] = {{"general", 0, 0}, {"symmetric", 1, 0}, {"skew-symmetric", 1, 1}};
    enum { N = 700 };
    FREED(char) *bytes = allocate(N * N * 8 + 1000);
    for (size_t s = 0; s < LENGTH(kinds); s++) {
        spmv_coo coo;
        int n = append(bytes, "%%%%MatrixMarket matrix array integer %s\n%d %d\n",
                       kinds[s].symmetry, N, N);
        for (int j = 0; j < N; j++)
            for (int i = kinds[s].first * j + kinds[s].second; i < N; i++)
                n += append(bytes + n, "%d\n", i * N + j);
        write_bytes("array.mtx", bytes, (size_t)n);
        for (int threads = 1; threads <= 4; threads++) {
            assert_int_equal(read_matrix(name, threads, &coo), SPMV_OK);
            int64_t k = 0;
            for (int j = 0; j < N; j++)
                for (int i = kinds[s].first * j + kinds[s].second; i < N; i++, k++)
                    assert_true(coo.row[k] == i && coo.col[k] == j && coo.values[k] == i * N + j);
            assert_true(k == coo.nnz);
            spmv_coo_free(&coo);
        }
    }
    unlink(name);
}

typedef struct calls {
    pthread_t thread;
    int count;
    double last;
    bool wrong;
} calls;

static void note_progress(void *argument, double done) {
    calls *c = argument;
    c->wrong |= done < c->last || done > 1 || !pthread_equal(c->thread, pthread_self());
    c->last = done;
    c->count++;
}

TEST(test_progress) {
    const int64_t none[2] = {0, 0};
    const char *const nothing[2] = {NULL, NULL};
    many_text t = many_lines(MANY - MANY / 1000, none, nothing);
    calls c = {.thread = pthread_self()};
    spmv_coo coo;
    assert_int_equal(spmv_read_matrix_market(ctx, write_bytes("p.mtx", t.bytes, t.n), 2,
                                             note_progress, &c, &coo),
                     SPMV_OK);
    assert_true(!c.wrong && c.count >= 2 && c.count <= 101 && c.last == 1);
    spmv_coo_free(&coo);
    unlink(name);
    free(t.bytes);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); /* the reader gives up before a pipe is empty */
    return run_suite(set_up, tear_down);
}
