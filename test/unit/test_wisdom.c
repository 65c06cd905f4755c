/* test_wisdom.c: choices of "auto" that are remembered in a file: what a plan made from them is,
 * what they depend on, and what becomes of files that are damaged, foreign, locked out or full. */
#include "testing.h"
#include "tune/wisdom.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { FILE_BYTES = 1 << 18 }; /* that the file never exceeds */
static char folder[64], path[128];

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spmv-wisdom-XXXXXX");
    bool made = mkdtemp(folder) != NULL;
    snprintf(path, sizeof path, "%s/wisdom", folder);
    return made ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    remove(path);
    return rmdir(folder);
}

static int no_file(void **state) {
    (void)state;
    remove(path);
    return 0;
}

/* ---- contexts, matrices, plans -------------------------------------------------------------- */

typedef struct scene { /* what a process of its own would have */
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_plan *plan;
    spmv_plan_facts facts;
} scene;

static scene scene_of(const char *file, const char *source) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 2, .wisdom = file};
    scene s = {.plan = NULL};
    assert_int_equal(spmv_ctx_create(&opts, &s.ctx), SPMV_OK);
    assert_int_equal(spmv_mat_load(s.ctx, source, NULL, &s.mat), SPMV_OK);
    return s;
}

static void plan_in(scene *s, int64_t calls) {
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "auto", .expected_calls = calls};
    spmv_plan_free(s->plan);
    assert_int_equal(spmv_plan_create(s->mat, &opts, &s->plan), SPMV_OK);
    spmv_plan_info(s->plan, &s->facts);
}

static void leave(scene *s) {
    spmv_plan_free(s->plan);
    spmv_mat_free(s->mat);
    spmv_ctx_free(s->ctx);
}

static const char *note_of(const scene *s) {
    return s->facts.note ? s->facts.note : "";
}

static void assert_says(const char *words, const char *part) {
    if (!strstr(words, part)) fail_msg("'%s': no '%s'", words, part);
}

/* ---- keys and lines without a plan ---------------------------------------------------------- */

static wisdom_key key_named(const char *request) {
    wisdom_key key = {.machine = "a machine", .build = "a build"};
    snprintf(key.request, sizeof key.request, "%s", request);
    return key;
}

static wisdom_key key_of(const spmv_mat *mat, spmv_plan_opts opts) {
    wisdom_key key;
    opts.size = sizeof opts;
    spmv_wisdom_key(mat, &opts, &spmv_omp, &key);
    return key;
}

static const spmv_proposal blocks = {
    .kernel = "csr_blocks", .setting = {{"grid_rows", 7}, {"chunk", -1}}, .nsettings = 2};

static void add(const char *request, const char *expected_note) {
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key = key_named(request);
    spmv_wisdom_add(path, &key, &blocks, request, note);
    assert_says(note, expected_note);
    if (!*expected_note) assert_string_equal(note, "");
}

/* Whether it has the whole choice. note: what must be said; "": nothing is. */
static bool has(const char *request, const char *expected_note) {
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

static char *content(size_t *bytes) {
    FILE *file = fopen(path, "r");
    char *words = calloc(1, 2 * FILE_BYTES);
    assert_true(file && words);
    *bytes = fread(words, 1, 2 * FILE_BYTES - 1, file);
    fclose(file);
    return words;
}

static void write_content(const char *words, size_t bytes) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(words, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static void assert_same_plan(const scene *a, const scene *b) {
    assert_string_equal(a->facts.kernel, b->facts.kernel);
    assert_int_equal(a->facts.slots, b->facts.slots);
    assert_int_equal(a->facts.store_bytes, b->facts.store_bytes);
    assert_int_equal(a->facts.scratch_bytes, b->facts.scratch_bytes);
    for (int id = 0; id < SPMV_NPARAMS; id++)
        assert_int_equal(a->plan->choice.value[id], b->plan->choice.value[id]);
    spmv_stats about;
    spmv_mat_stats(a->mat, &about);
    double *x = random_vector(1, about.cols);
    double *y[2] = {random_vector(2, about.rows), random_vector(3, about.rows)};
    assert_int_equal(spmv_exec(a->plan, 1, x, 0, y[0]), SPMV_OK);
    assert_int_equal(spmv_exec(b->plan, 1, x, 0, y[1]), SPMV_OK);
    assert_memory_equal(y[0], y[1], (size_t)about.rows * sizeof *x);
    free(x);
    free(y[0]);
    free(y[1]);
}

/* Trials find that csr_tiles with two column blocks is faster than with a thousand: nothing else
 * would propose either. So a plan of it was made without the features and without other trials. */
static void a_plan_of_a_remembered_choice_is_that_of_its_trials(void **state) {
    (void)state;
    scene first = scene_of(path, "gen:poisson2d:60"), second = scene_of(path, "gen:poisson2d:60");
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "auto", .expected_calls = 1000000000};
    spmv_proposals all = {.n = 0};
    spmv_proposal *slow = spmv_propose_kernel(&all, "csr_tiles", 1, 0, "slow");
    slow->setting[slow->nsettings++] = (spmv_setting){"grid_cols", 1000};
    spmv_proposal *good = spmv_propose_kernel(&all, "csr_tiles", 1, 2, "planted");
    good->setting[good->nsettings++] = (spmv_setting){"grid_cols", 2};
    good->setting[good->nsettings++] = (spmv_setting){"grid_rows", 5};
    assert_int_equal(spmv_auto_select(first.mat, &opts, &spmv_omp, &all, spmv_now(), &first.plan),
                     SPMV_OK);
    spmv_plan_info(first.plan, &first.facts);
    assert_null(first.facts.wisdom);
    assert_true(first.facts.timed == 2);
    plan_in(&second, opts.expected_calls);
    assert_string_equal(note_of(&second), "");
    assert_non_null(second.facts.wisdom);
    assert_says(second.facts.reason, "csr_tiles: planted; ");
    assert_says(second.facts.reason, " x csr_tiles in the trials (remembered from 20");
    assert_int_equal(second.facts.timed, 0);
    assert_null(second.facts.baseline);
    assert_int_equal(spmv_plan_setting(second.plan, "grid_cols"), 2);
    assert_int_equal(spmv_plan_setting(second.plan, "grid_rows"), 5);
    assert_same_plan(&first, &second);
    assert_null(second.mat->stores->next);
    leave(&first);
    leave(&second);
}

static void what_auto_finds_itself_is_remembered(void **state) {
    (void)state;
    static const char *const sources[] = {"gen:poisson3d:30", "gen:rmat:12", "gen:fem3d:6"};
    for (int k = 0; k < COUNT(sources); k++) {
        scene first = scene_of(path, sources[k]), second = scene_of(path, sources[k]),
              without = scene_of(NULL, sources[k]);
        plan_in(&first, 100000);
        plan_in(&second, 100000);
        plan_in(&without, 100000);
        assert_null(first.facts.wisdom);
        assert_non_null(second.facts.wisdom);
        assert_null(without.facts.wisdom);
        assert_same_plan(&first, &second);
        leave(&first);
        leave(&second);
        leave(&without);
    }
}

/* What was not timed is as quickly chosen again. */
static void untimed_choices_are_not_remembered(void **state) {
    (void)state;
    scene s = scene_of(path, "gen:poisson2d:60");
    plan_in(&s, 1);
    assert_int_not_equal(access(path, F_OK), 0);
    leave(&s);
}

/* A choice that cannot be made any more is made anew, and that is remembered in its place. */
static void what_cannot_be_made_is_noted_and_chosen_anew(void **state) {
    (void)state;
    static const struct {
        spmv_proposal choice;
        const char *note;
    } cases[] = {{{.kernel = "no_such_kernel"}, "not used; there is no such kernel"},
                 {{.kernel = "csr_*"}, "not used; there is no such kernel"},
                 {{.kernel = "csr_tiles", .setting = {{"grid_cols", -5}}, .nsettings = 1},
                  "not used; passed over csr_tiles: csr_tiles: grid_cols is -5"},
                 {{.kernel = "csr_rows", .setting = {{"nonsense", 1}}, .nsettings = 1},
                  "csr_rows takes no parameter 'nonsense'"}};
    for (int k = 0; k < COUNT(cases); k++) {
        char note[SPMV_WISDOM_NOTE];
        scene s = scene_of(path, "gen:poisson2d:60"), later = scene_of(path, "gen:poisson2d:60");
        wisdom_key key = key_of(s.mat, (spmv_plan_opts){.expected_calls = 100000});
        spmv_wisdom_add(path, &key, &cases[k].choice, "planted", note);
        assert_string_equal(note, "");
        plan_in(&s, 100000);
        assert_says(note_of(&s), cases[k].note);
        assert_string_equal(spmv_ctx_error(s.ctx), "");
        assert_null(s.facts.wisdom);
        plan_in(&later, 100000);
        assert_string_equal(note_of(&later), "");
        assert_non_null(later.facts.wisdom);
        leave(&s);
        leave(&later);
    }
}

/* ---- what a choice depends on --------------------------------------------------------------- */

static spmv_mat *load(spmv_ctx *ctx, const char *source, const char *values, uint64_t seed) {
    spmv_load_opts opts = {.size = sizeof opts, .values = values, .seed = seed};
    spmv_mat *mat = NULL;
    assert_int_equal(spmv_mat_load(ctx, source, &opts, &mat), SPMV_OK);
    return mat;
}

static void every_question_has_a_key_of_its_own(void **state) {
    (void)state;
    static const spmv_plan_opts asked[] = {{.expected_calls = 1000},
                                           {.expected_calls = 2000},
                                           {.expected_calls = 0},
                                           {.expected_calls = 1000, .precision = SPMV_F32},
                                           {.expected_calls = 1000, .cache = SPMV_COLD},
                                           {.expected_calls = 1000, .cache = SPMV_STEADY},
                                           {.expected_calls = 1000, .threads = 1},
                                           {.expected_calls = 1000, .offset_bits = 64},
                                           {.expected_calls = 1000, .max_bytes = 1 << 30},
                                           {.expected_calls = 1000, .nondeterministic = 1}};
    scene s = scene_of(NULL, "gen:mesh:3000");
    for (int a = 0; a < COUNT(asked); a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(key_of(s.mat, asked[a]).request,
                                    key_of(s.mat, asked[b]).request);
    wisdom_key near = key_of(s.mat, (spmv_plan_opts){.expected_calls = 1020}),
               other = key_of(s.mat, asked[0]);
    assert_string_equal(near.request, other.request);
    assert_true(*near.machine && *near.build);
    leave(&s);
}

/* New numbers on the same pattern share the choice; values that other formats are for, and another
 * pattern, do not. */
static void patterns_and_kinds_of_values_tell_matrices_apart(void **state) {
    (void)state;
    spmv_ctx *ctx = context_of(2);
    spmv_mat *mats[] = {
        load(ctx, "gen:mesh:3000", "random", 1), load(ctx, "gen:mesh:3000", "symmetric", 1),
        load(ctx, "gen:mesh:3000", "few:8", 1),  load(ctx, "gen:mesh:3000", "pattern", 1),
        load(ctx, "gen:mesh:3001", "random", 1), load(ctx, "gen:poisson2d:60", NULL, 1),
        load(ctx, "gen:poisson2d:61", NULL, 1)};
    const spmv_plan_opts opts = {.expected_calls = 1000};
    for (int a = 0; a < COUNT(mats); a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(key_of(mats[a], opts).request, key_of(mats[b], opts).request);
    spmv_csr_view A;
    spmv_mat_rows(mats[0], &A);
    double *others = random_vector(99, A.nnz);
    spmv_mat *again = NULL;
    A.values = others;
    assert_int_equal(spmv_mat_csr(ctx, &A, &again), SPMV_OK);
    assert_string_equal(key_of(mats[0], opts).request, key_of(again, opts).request);
    assert_says(key_of(mats[0], opts).request, "f64 values; omp f64 warm, 2 threads, 512 products");
    assert_says(key_of(mats[1], opts).request, "f64 values, symmetric");
    assert_says(key_of(mats[2], opts).request, "few values");
    assert_says(key_of(mats[3], opts).request, "one value, symmetric");
    free(others);
    spmv_mat_free(again);
    for (int k = 0; k < COUNT(mats); k++) spmv_mat_free(mats[k]);
    spmv_ctx_free(ctx);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void the_latest_choice_counts(void **state) {
    (void)state;
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

/* Never returns. */
static void write_lines(int writer, int start) {
    char note[SPMV_WISDOM_NOTE], byte;
    if (read(start, &byte, 1) != 1) _exit(1); /* until all are there */
    for (int k = 0; k < LINES; k++) {
        wisdom_key key = key_named(question(k, writer));
        spmv_wisdom_add(path, &key, &blocks, key.request, note);
        if (*note) _exit(2);
    }
    _exit(0);
}

/* Also while one of them finds the file full and drops the older half. */
static void writers_at_once_lose_nothing(void **state) {
    (void)state;
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

static void add_second(void) {
    char note[SPMV_WISDOM_NOTE];
    wisdom_key key = key_named("second");
    spmv_wisdom_add(path, &key, &blocks, "second", note);
    _exit(*note != 0);
}

static void a_writer_waits_for_another(void **state) {
    (void)state;
    struct stat before, after;
    int code;
    add("first", "");
    int file = open(path, O_RDONLY);
    assert_true(file >= 0 && flock(file, LOCK_EX) == 0 && fstat(file, &before) == 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) add_second();
    usleep(100000);
    assert_int_equal(waitpid(child, &code, WNOHANG), 0);
    assert_true(fstat(file, &after) == 0 && after.st_size == before.st_size);
    flock(file, LOCK_UN);
    close(file);
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_true(has("first", "") && has("second", ""));
}

static void damaged_lines_are_reported_and_ignored(void **state) {
    (void)state;
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

/* As a process that was killed while it wrote leaves it. */
static void half_a_line_is_removed_by_the_next_writer(void **state) {
    (void)state;
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

static void other_machines_and_builds_do_not_count(void **state) {
    (void)state;
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

/* Nothing is written to a file that is something else, and the plan is made as without it. */
static void other_files_are_left_alone(void **state) {
    (void)state;
    static const char *const others[] = {"a letter\n", "spmv-wisdom/2: of another version\n", "x"};
    for (int k = 0; k < COUNT(others); k++) {
        size_t bytes;
        write_content(others[k], strlen(others[k]));
        scene s = scene_of(path, "gen:poisson2d:60");
        plan_in(&s, 100000);
        assert_says(note_of(&s), "it does not begin as wisdom of this version");
        plan_in(&s, 200000); /* once is enough */
        assert_string_equal(note_of(&s), "");
        char *words = content(&bytes);
        assert_string_equal(words, others[k]);
        free(words);
        leave(&s);
    }
    assert_int_equal(truncate(path, FILE_BYTES + 1), 0);
    assert_false(has("question", "it is larger than it can be"));
    add("question", "it is larger than it can be");
}

static void a_file_that_cannot_be_opened_is_noted_once(void **state) {
    (void)state;
    char nowhere[160];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/wisdom", folder);
    const char *const paths[] = {nowhere, folder, "/dev/full"}, *const notes[] = {
                                                                    "cannot write: No such file",
                                                                    "it is no regular file",
                                                                    "it is no regular file"};
    for (int k = 0; k < COUNT(paths); k++) {
        scene s = scene_of(paths[k], "gen:poisson2d:60");
        plan_in(&s, 100000);
        assert_says(note_of(&s), notes[k]);
        assert_says(note_of(&s), paths[k]);
        assert_string_equal(spmv_ctx_error(s.ctx), "");
        plan_in(&s, 200000);
        assert_string_equal(note_of(&s), "");
        leave(&s);
    }
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

static void a_file_that_must_not_be_read_is_noted(void **state) {
    (void)state;
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

static void a_full_disk_leaves_whole_lines(void **state) {
    (void)state;
    size_t before, after;
    add("first", "");
    char *words = content(&before);
    in_child(fill_the_disk);
    char *same = content(&after);
    assert_string_equal(words, same);
    assert_true(has("first", ""));
    free(words);
    free(same);
}

static void the_file_has_a_limit_and_the_oldest_go_first(void **state) {
    (void)state;
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

#define WITHOUT_FILE(test) cmocka_unit_test_setup(test, no_file)

int main(void) {
    const struct CMUnitTest tests[] = {
        WITHOUT_FILE(a_plan_of_a_remembered_choice_is_that_of_its_trials),
        WITHOUT_FILE(what_auto_finds_itself_is_remembered),
        WITHOUT_FILE(untimed_choices_are_not_remembered),
        WITHOUT_FILE(what_cannot_be_made_is_noted_and_chosen_anew),
        WITHOUT_FILE(every_question_has_a_key_of_its_own),
        WITHOUT_FILE(patterns_and_kinds_of_values_tell_matrices_apart),
        WITHOUT_FILE(the_latest_choice_counts),
        WITHOUT_FILE(writers_at_once_lose_nothing),
        WITHOUT_FILE(a_writer_waits_for_another),
        WITHOUT_FILE(damaged_lines_are_reported_and_ignored),
        WITHOUT_FILE(half_a_line_is_removed_by_the_next_writer),
        WITHOUT_FILE(other_machines_and_builds_do_not_count),
        WITHOUT_FILE(other_files_are_left_alone),
        WITHOUT_FILE(a_file_that_cannot_be_opened_is_noted_once),
        WITHOUT_FILE(a_file_that_must_not_be_read_is_noted),
        WITHOUT_FILE(a_full_disk_leaves_whole_lines),
        WITHOUT_FILE(the_file_has_a_limit_and_the_oldest_go_first),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
