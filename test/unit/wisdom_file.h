/* wisdom_file.h: what the tests of remembered choices share: a folder with the file, and lines of
 * it without a plan. */
#ifndef SPMV_TEST_WISDOM_FILE_H
#define SPMV_TEST_WISDOM_FILE_H

#include "testing.h"
#include "wisdom/wisdom.h"

enum { FILE_BYTES = 1 << 18 }; /* that the file never exceeds */
static char folder[64], path[128];

static inline int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spmv-wisdom-XXXXXX");
    bool made = mkdtemp(folder) != NULL;
    snprintf(path, sizeof path, "%s/wisdom", folder);
    return made ? 0 : -1;
}

static inline int remove_folder(void **state) {
    (void)state;
    remove(path);
    return rmdir(folder);
}

static inline int no_file(void **state) {
    (void)state;
    remove(path);
    return 0;
}

static inline void assert_says(const char *words, const char *part) {
    if (!strstr(words, part)) fail_msg("'%s': no '%s'", words, part);
}

static inline wisdom_key key_named(const char *request) {
    wisdom_key key = {.machine = "a machine", .build = "a build"};
    snprintf(key.request, sizeof key.request, "%s", request);
    return key;
}

static const spmv_proposal blocks = {
    .kernel = "csr_blocks", .setting = {{"grid_rows", 7}, {"chunk", -1}}, .nsettings = 2};

static inline void add(const char *request, const char *expected_note) {
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key = key_named(request);
    spmv_wisdom_add(path, &key, &blocks, request, note);
    assert_says(note, expected_note);
    if (!*expected_note) assert_string_equal(note, "");
}

/* Returns whether the entry has the complete choice. note: the expected note; "": none. */
static inline bool has(const char *request, const char *expected_note) {
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key = key_named(request);
    wisdom w;
    bool found = spmv_wisdom_find(path, &key, &w, note);
    assert_says(note, expected_note);
    if (!*expected_note) assert_string_equal(note, "");
    if (found) {
        assert_string_equal(w.reason, request);
        assert_string_equal(w.choice.kernel, "csr_blocks");
        assert_int_equal(w.choice.nsettings, 2);
        assert_string_equal(w.choice.setting[0].name, "grid_rows");
        assert_int_equal(w.choice.setting[0].value, 7);
        assert_int_equal(w.choice.setting[1].value, -1);
        assert_int_equal(strlen(w.date), strlen("2026-11-23T01:02:03Z"));
    }
    free(w.text);
    return found;
}

static inline char *content(size_t *bytes) {
    FILE *file = fopen(path, "r");
    char *words = calloc(1, 2 * FILE_BYTES);
    assert_true(file && words);
    *bytes = fread(words, 1, 2 * FILE_BYTES - 1, file);
    fclose(file);
    return words;
}

static inline void write_content(const char *words, size_t bytes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(words, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

#endif
