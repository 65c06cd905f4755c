/* test_wisdom_file.c: the file in which choices of "auto" are remembered: writers at once, lines
 * that are damaged or of other machines, a full disk, and its limit. */
#include "spmv_clock.h"
#include "wisdom_file.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

TEST_WITH(the_latest_choice_counts, no_file, NULL) {
    wisdom_key key = key_named("question");
    char note[SPMV_WISDOM_NOTE];
    spmv_wisdom_add(path, &key, &(spmv_proposal){.kernel = "csr_rows"}, "earlier", note);
    add("question", "");
    assert_true(has("question", ""));
    assert_false(has("another question", ""));
}

static const char *question(int k, int writer) {
    static char request[64];
    snprintf(request, sizeof request, "question %d of %d", k, writer);
    return request;
}

enum { WRITERS = 4, LINES = 100 };

/* Adds a line, also if others keep the file locked for long on a busy machine. Returns false if it
 * was refused for another reason, or within the first second. */
static bool add_in_the_end(const char *request) {
    char note[SPMV_WISDOM_NOTE];
    const wisdom_key key = key_named(request);
    for (;;) {
        const double start = spmv_now();
        spmv_wisdom_add(path, &key, &blocks, request, note);
        if (!*note) return true;
        if (!strstr(note, ": another process keeps it locked") || spmv_now() - start < 1)
            return false;
    }
}

/* Never returns. */
static void write_lines(int writer, int start) {
    char byte;
    if (read(start, &byte, 1) != 1) _exit(1); /* until all are there */
    for (int k = 0; k < LINES; k++)
        if (!add_in_the_end(question(k, writer))) _exit(2);
    _exit(0);
}

/* No choice is lost while one writer finds the file full and removes its older half. */
TEST_WITH(writers_at_once_lose_nothing, no_file, NULL) {
    enum { ROUNDS = 4 };
    for (int round = 0; round < ROUNDS; round++) {
        struct stat about = {.st_size = 0};
        int start[2], code;
        for (int k = 0; round % 2 && about.st_size < FILE_BYTES - 20000; k++) {
            add(question(k, WRITERS), "");
            assert_int_equal(stat(path, &about), 0);
        }
        assert_int_equal(pipe(start), 0);
        for (int w = 0; w < WRITERS; w++) {
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) write_lines(w, start[0]);
        }
        assert_int_equal(write(start[1], "gogo", WRITERS), WRITERS);
        for (int w = 0; w < WRITERS; w++) {
            assert_true(wait(&code) > 0);
            assert_int_equal(code, 0);
        }
        close(start[0]);
        close(start[1]);
        for (int w = 0; w < WRITERS; w++)
            for (int k = 0; k < LINES; k++) assert_true(has(question(k, w), ""));
        remove(path);
    }
}

TEST_WITH(a_writer_waits_for_another, no_file, NULL) {
    struct stat before, after;
    int code;
    add("first", "");
    int file = open(path, O_RDONLY);
    assert_true(file >= 0 && flock(file, LOCK_EX) == 0 && fstat(file, &before) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(!add_in_the_end("second"));
    usleep(100000);
    assert_int_equal(waitpid(child, &code, WNOHANG), 0);
    assert_true(fstat(file, &after) == 0 && after.st_size == before.st_size);
    flock(file, LOCK_UN);
    close(file);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_true(has("first", "") && has("second", ""));
}

/* A process stopped by Ctrl-Z holds such a lock: readers and writers report it and continue without
 * the file. */
TEST_WITH(a_lock_that_is_never_released_does_not_hang, no_file, NULL) {
    size_t before, after;
    add("first", "");
    FREED(char) *words = content(&before);
    int file = open(path, O_RDONLY);
    assert_true(file >= 0 && flock(file, LOCK_EX) == 0);
    assert_false(has("first", ": another process keeps it locked, and it is left alone"));
    add("second", ": another process keeps it locked, and it is left alone");
    assert_int_equal(flock(file, LOCK_SH), 0);
    assert_true(has("first", ""));
    add("second", ": another process keeps it locked, and it is left alone");
    close(file);
    FREED(char) *same = content(&after);
    assert_string_equal(words, same);
}

TEST_WITH(damaged_lines_are_reported_and_ignored, no_file, NULL) {
    size_t bytes;
    add("first", "");
    add("second", "");
    add("third", "");
    char *words = content(&bytes), *second = strstr(words, "\tsecond\t");
    second[1] = 'S';
    write_content(words, bytes);
    assert_true(has("first", ": 1 damaged line is ignored"));
    assert_false(has("second", ": 1 damaged line is ignored"));
    assert_false(has("Second", ": 1 damaged line is ignored"));
    memset(strstr(words, "\tfirst\t"), 0, 4); /* a block of zeros */
    write_content(words, bytes);
    assert_true(has("third", ": 2 damaged lines are ignored"));
    free(words);
}

/* The checksums are right but the contents are invalid: the previous line is used. */
TEST_WITH(unreadable_choices_are_damage, no_file, NULL) {
    static const spmv_setting bad[] = {
        {"height=4x", 2}, {"height and", 2}, {"threads=4x", 2}, {"threads", -3}};
    char note[SPMV_WISDOM_NOTE];
    const wisdom_key key = key_named("question");
    add("question", "");
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const spmv_proposal choice = {
            .kernel = "hubs", .setting = {{"block", 256}, bad[k]}, .nsettings = 2};
        spmv_wisdom_add(path, &key, &choice, "nonsense", note);
        assert_string_equal(note, "");
    }
    assert_true(has("question", ": 4 damaged lines are ignored"));
}

/* Appends a line with these texts and the right checksum. */
static void add_by_hand(const char *date, const char *choice, const char *reason) {
    char line[512];
    uint64_t h = 0xcbf29ce484222325u;
    int n = snprintf(line, sizeof line, "%s\tquestion\ta machine\ta build\t%s\t%s", date, choice,
                     reason);
    for (int k = 0; k < n; k++) h = (h ^ (unsigned char)line[k]) * 0x100000001b3u;
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file, "%s\t%08x\n", line, (unsigned)(spmv_mix(h) >> 32));
    assert_int_equal(fclose(file), 0);
}

/* Callers print date and reason, and find the kernel by its name: none may command a terminal, and
 * a date is a date. */
TEST_WITH(texts_that_are_not_plain_are_damage, no_file, NULL) {
    static const char fine[] = "2026-11-23T01:02:03Z";
    char note[SPMV_WISDOM_NOTE];
    const wisdom_key key = key_named("question");
    wisdom w;
    add("question", "");
    add_by_hand("\033]0;owned\a", "csr_rows", "a");
    add_by_hand("", "csr_rows", "b");
    add_by_hand("2026-11-23T01:02:03Z or so", "csr_rows", "c");
    add_by_hand("2026-11-23 01:02:03Z", "csr_rows", "d");
    add_by_hand(fine, "csr_rows", "red \033[31m");
    add_by_hand(fine, "csr_rows", "other alphabets \xc2\x9b");
    add_by_hand(fine, "csr\b_rows", "e");
    assert_true(has("question", ": 7 damaged lines are ignored"));
    add_by_hand(fine, "csr_rows", "plain");
    assert_true(spmv_wisdom_find(path, &key, &w, note));
    assert_string_equal(w.date, fine);
    assert_string_equal(w.reason, "plain");
    free(w.text);
}

/* A process that was killed while it wrote leaves such a line. */
TEST_WITH(half_a_line_is_removed_by_the_next_writer, no_file, NULL) {
    size_t bytes, after;
    add("first", "");
    char *words = content(&bytes);
    strcpy(words + bytes, "2026-11-23T01:02:03Z\tsec");
    write_content(words, strlen(words));
    assert_true(has("first", ""));
    add("third", "");
    assert_true(has("first", "") && has("third", ""));
    free(words);
    words = content(&after);
    assert_null(strstr(words, "\tsec"));
    free(words);
}

TEST_WITH(other_machines_and_builds_do_not_count, no_file, NULL) {
    char note[SPMV_WISDOM_NOTE];
    wisdom w, none;
    add("question", "");
    for (int k = 0; k < 2; k++) {
        wisdom_key key = key_named("question");
        snprintf(k ? key.build : key.machine, sizeof key.build, "another");
        assert_false(spmv_wisdom_find(path, &key, &none, note));
        assert_says(note, "its choice is of another machine or build, and does not count");
        free(none.text);
        spmv_wisdom_add(path, &key, &blocks, "its own", note);
        assert_true(spmv_wisdom_find(path, &key, &w, note));
        assert_string_equal(w.reason, "its own");
        assert_string_equal(note, "");
        free(w.text);
    }
    assert_true(has("question", ""));
}

static void in_child(void (*act)(void)) {
    int code;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        act();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
}

static void find_and_add(const char *read_note, const char *write_note) {
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key = key_named("second");
    wisdom w;
    spmv_wisdom_find(path, &key, &w, note);
    if (!strstr(note, read_note)) _exit(1);
    spmv_wisdom_add(path, &key, &blocks, "second", note);
    if (!strstr(note, write_note)) _exit(2);
}

static void become_nobody(void) {
    enum { NOBODY = 65534 };
    if (getuid() == 0 && setuid(NOBODY) != 0) _exit(3);
    find_and_add("cannot read: Permission denied", "cannot write: Permission denied");
}

TEST_WITH(a_file_that_must_not_be_read_is_noted, no_file, NULL) {
    add("question", "");
    assert_int_equal(chmod(path, 0), 0);
    in_child(become_nobody);
}

/* A limit of the file's size stops a write half-way, as a full disk does. */
static void fill_the_disk(void) {
    struct stat about;
    if (stat(path, &about) != 0) _exit(3);
    struct rlimit limit = {(rlim_t)about.st_size + 20, (rlim_t)about.st_size + 20};
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(4);
    find_and_add("", "cannot write: ");
}

TEST_WITH(a_full_disk_leaves_whole_lines, no_file, NULL) {
    size_t before, after;
    add("first", "");
    FREED(char) *words = content(&before);
    in_child(fill_the_disk);
    FREED(char) *same = content(&after);
    assert_string_equal(words, same);
    assert_true(has("first", ""));
}

TEST_WITH(the_file_has_a_limit_and_the_oldest_go_first, no_file, NULL) {
    enum { MANY = 4000, KEPT = 500 };
    char request[64];
    struct stat about;
    off_t most = 0;
    for (int k = 0; k < MANY; k++) {
        snprintf(request, sizeof request, "question %d", k);
        add(request, "");
        assert_int_equal(stat(path, &about), 0);
        assert_true(about.st_size <= FILE_BYTES);
        most = about.st_size > most ? about.st_size : most;
    }
    assert_true(most > FILE_BYTES - 1000);
    assert_false(has("question 0", ""));
    for (int k = MANY - KEPT; k < MANY; k++) {
        snprintf(request, sizeof request, "question %d", k);
        assert_true(has(request, ""));
    }
}

TEST_MAIN(begin_as_it_is, make_folder, remove_folder)
