/* test_wisdom.c: choices of "auto" that are remembered in a file: what a plan made from them is,
 * what they depend on, and that trouble with the file fails no plan. */
#include "spmv_clock.h"
#include "matrix/stores/stored.h"
#include "wisdom_file.h"

/* ---- contexts, matrices, plans -------------------------------------------------------------- */

typedef struct scene { /* the state of one process */
    spmv_ctx *ctx;
    spmv_mat *mat;
    spmv_plan *plan;
    spmv_plan_facts facts;
} scene;

static scene scene_of(const char *file, const char *source) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = 2, .wisdom = file};
    scene s = {.facts = SPMV_OPTS(spmv_plan_facts)};
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

static wisdom_key key_of(const spmv_mat *mat, spmv_plan_opts opts) {
    wisdom_key key;
    opts.size = sizeof opts;
    spmv_wisdom_key(mat, &opts, &spmv_omp, &key);
    return key;
}

/* ---- plans ---------------------------------------------------------------------------------- */

static void assert_same_plan(const scene *a, const scene *b) {
    assert_string_equal(a->facts.kernel, b->facts.kernel);
    assert_int_equal(a->facts.slots, b->facts.slots);
    assert_int_equal(a->facts.store_bytes, b->facts.store_bytes);
    assert_int_equal(a->facts.scratch_bytes, b->facts.scratch_bytes);
    for (int id = 0; id < SPMV_NPARAMS; id++)
        assert_int_equal(a->plan->choice.value[id], b->plan->choice.value[id]);
    spmv_stats about = SPMV_OPTS(spmv_stats);
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
TEST_WITH(a_plan_of_a_remembered_choice_is_that_of_its_trials, no_file, NULL) {
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
    assert_says(second.facts.reason, " times as fast as csr_tiles in the trials");
    assert_says(second.facts.reason, " (remembered from 20");
    assert_int_equal(second.facts.threads, first.facts.threads);
    assert_int_equal(second.facts.timed, 0);
    assert_null(second.facts.baseline);
    assert_int_equal(spmv_plan_setting(second.plan, "grid_cols"), 2);
    assert_int_equal(spmv_plan_setting(second.plan, "grid_rows"), 5);
    assert_same_plan(&first, &second);
    assert_null(second.mat->stores->next);
    leave(&first);
    leave(&second);
}

TEST_WITH(what_auto_finds_itself_is_remembered, no_file, NULL) {
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

/* A stored number of threads is used, also if it is smaller than the team; a larger number is
 * refused. */
TEST_WITH(the_number_of_threads_is_remembered, no_file, NULL) {
    const spmv_proposal choices[] = {{.kernel = "csr_rows", .threads = 1},
                                     {.kernel = "csr_rows"},
                                     {.kernel = "csr_rows", .threads = 3}};
    const int threads[] = {1, 2, 0};
    for (int k = 0; k < COUNT(choices); k++) {
        char note[SPMV_WISDOM_NOTE];
        scene s = scene_of(path, "gen:poisson2d:60");
        wisdom_key key = key_of(s.mat, (spmv_plan_opts){.expected_calls = 100000});
        spmv_wisdom_add(path, &key, &choices[k], "planted", note);
        plan_in(&s, 100000);
        if (threads[k]) assert_int_equal(s.facts.threads, threads[k]);
        if (!threads[k]) assert_says(note_of(&s), "its choice is not used; passed over csr_rows: ");
        leave(&s);
    }
}

/* A choice without timings is made again quickly. */
TEST_WITH(untimed_choices_are_not_remembered, no_file, NULL) {
    scene s = scene_of(path, "gen:poisson2d:60");
    plan_in(&s, 1);
    assert_int_not_equal(access(path, F_OK), 0);
    leave(&s);
}

/* A stored choice that is no longer possible is replaced by a new one in the file. */
TEST_WITH(what_cannot_be_made_is_noted_and_chosen_anew, no_file, NULL) {
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

TEST_WITH(every_question_has_a_key_of_its_own, no_file, NULL) {
    static const spmv_plan_opts asked[] = {
        {.expected_calls = 1000},
        {.expected_calls = 2000},
        {.expected_calls = 0},
        {.expected_calls = 1000, .precision = SPMV_F32},
        {.expected_calls = 1000, .cache = SPMV_COLD},
        {.expected_calls = 1000, .cache = SPMV_STEADY},
        {.expected_calls = 1000, .threads = 1},
        {.expected_calls = 1000, .threads = 2}, /* all, fixed */
        {.expected_calls = 1000, .offset_bits = 64},
        {.expected_calls = 1000, .max_bytes = 1 << 30},
        {.expected_calls = 1000, .nondeterministic = 1},
        {.expected_calls = 1000, .vectors = 2},
        {.expected_calls = 1000, .vectors = 8},
        {.expected_calls = 1000, .vectors = 16},
        {.expected_calls = 1000, .vectors = 8, .layout = SPMV_ROWS}};
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

TEST_WITH(vectors_count_in_powers_of_two, no_file, NULL) {
    static const int64_t alike[][2] = {{0, 1}, {2, 3}, {8, 9}, {8, 15}, {64, 100}};
    scene s = scene_of(NULL, "gen:mesh:3000");
    for (int layout = SPMV_COLUMNS; layout <= SPMV_ROWS; layout++)
        for (int k = 0; k < COUNT(alike); k++) {
            wisdom_key of[2];
            for (int n = 0; n < 2; n++)
                of[n] = key_of(s.mat, (spmv_plan_opts){.expected_calls = 1000,
                                                       .vectors = alike[k][n],
                                                       .layout = (spmv_layout)layout});
            assert_string_equal(of[0].request, of[1].request);
        }
    const spmv_plan_opts eight = {.expected_calls = 1000, .vectors = 8, .layout = SPMV_ROWS};
    assert_says(key_of(s.mat, eight).request, "512 products or more, of 8 vectors or more in rows");
    leave(&s);
}

/* A transposed product may need other kernels, even if the pattern is symmetric. */
TEST_WITH(a_transpose_has_a_key_of_its_own, no_file, NULL) {
    scene s = scene_of(NULL, "gen:mesh:3000");
    const spmv_plan_opts asked = {.size = sizeof asked, .kernel = "csr1", .op = SPMV_TRANSPOSE};
    const spmv_plan_opts opts = {.expected_calls = 1000};
    spmv_plan *plan = must_plan(s.mat, &asked);
    assert_string_not_equal(key_of(s.mat, opts).request, key_of(plan->matrix, opts).request);
    assert_says(key_of(plan->matrix, opts).request, ", transposed");
    spmv_plan_free(plan);
    leave(&s);
}

/* New values on the same pattern share the choice; values that need other formats, and another
 * pattern, do not. */
TEST_WITH(patterns_and_kinds_of_values_tell_matrices_apart, no_file, NULL) {
    FREED(spmv_ctx) *ctx = context_of(2);
    spmv_mat *mats[] = {
        load(ctx, "gen:mesh:3000", "random", 1), load(ctx, "gen:mesh:3000", "symmetric", 1),
        load(ctx, "gen:mesh:3000", "few:8", 1),  load(ctx, "gen:mesh:3000", "pattern", 1),
        load(ctx, "gen:mesh:3001", "random", 1), load(ctx, "gen:poisson2d:60", NULL, 1),
        load(ctx, "gen:poisson2d:61", NULL, 1)};
    const spmv_plan_opts opts = {.expected_calls = 1000};
    for (int a = 0; a < COUNT(mats); a++)
        for (int b = 0; b < a; b++)
            assert_string_not_equal(key_of(mats[a], opts).request, key_of(mats[b], opts).request);
    spmv_csr_view A = rows_of(mats[0]);
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
}

/* ---- trouble --------------------------------------------------------------------------------- */

/* Nothing is written to a file that is something else, and the plan is made as without it. */
TEST_WITH(other_files_are_left_alone, no_file, NULL) {
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

TEST_WITH(a_file_that_cannot_be_opened_is_noted_once, no_file, NULL) {
    char nowhere[160];
    snprintf(nowhere, sizeof nowhere, "%s/nowhere/wisdom", folder);
    const char *const cases[][2] = {{nowhere, "cannot write: No such file"},
                                    {folder, "it is no regular file"},
                                    {"/dev/full", "it is no regular file"}};
    for (int k = 0; k < COUNT(cases); k++) {
        scene s = scene_of(cases[k][0], "gen:poisson2d:60");
        plan_in(&s, 100000);
        assert_says(note_of(&s), cases[k][0]);
        assert_says(note_of(&s), cases[k][1]);
        assert_string_equal(spmv_ctx_error(s.ctx), "");
        plan_in(&s, 200000);
        assert_string_equal(note_of(&s), "");
        leave(&s);
    }
}

/* The note is the original's, which may be freed first. */
TEST_WITH(a_copy_of_a_plan_does_not_keep_its_note, no_file, NULL) {
    scene s = scene_of(folder, "gen:poisson2d:60");
    spmv_plan *copy = NULL;
    plan_in(&s, 100000);
    assert_says(note_of(&s), "it is no regular file");
    assert_int_equal(spmv_plan_copy(s.plan, &copy), SPMV_OK);
    spmv_plan_facts facts = plan_facts_of(copy);
    assert_null(facts.note);
    spmv_plan_free(copy);
    leave(&s);
}

TEST_MAIN(begin_as_it_is, make_folder, remove_folder)
