/* test_api_matrices.c: spmv.h: matrices from arrays and files; names of kernels. */
#include "api.h"

/* ---- matrices ------------------------------------------------------------------------------- */

/* 3 x 4:  . 5 . 2 / . . . . / 7 . -1 3 */
static const int64_t row_ptr[] = {0, 2, 2, 5};
static const int32_t sorted[] = {1, 3, 0, 2, 3};
static const double values[] = {5, 2, 7, -1, 3};

static spmv_csr_view small_view(void) {
    return CSR_VIEW(3, 4, 5, row_ptr, sorted, values);
}

TEST(rows_may_be_unsorted) {
    static const int32_t unsorted[] = {3, 1, 2, 3, 0};
    static const double theirs[] = {2, 5, -1, 3, 7};
    spmv_csr_view view = small_view(), rows = SPMV_OPTS(spmv_csr_view);
    FREED(spmv_mat) *A = NULL, *B = NULL;
    spmv_stats a = SPMV_OPTS(spmv_stats), b = a;
    assert_int_equal(spmv_mat_csr(ctx, &view, &A), SPMV_OK);
    view.col_idx = unsorted;
    view.values = theirs;
    assert_int_equal(spmv_mat_csr(ctx, &view, &B), SPMV_OK);
    spmv_mat_rows(B, &rows);
    assert_memory_equal(rows.row_ptr, row_ptr, sizeof row_ptr);
    assert_memory_equal(rows.col_idx, sorted, sizeof sorted);
    assert_memory_equal(rows.values, values, sizeof values);
    assert_int_equal(spmv_mat_stats(A, &a), SPMV_OK);
    assert_int_equal(spmv_mat_stats(B, &b), SPMV_OK);
    assert_true(a.hash == b.hash);
}

TEST(wrong_rows_are_refused) {
    static const struct {
        int64_t row_ptr[4];
        int32_t col_idx[5];
    } wrong[] = {
        {{1, 2, 2, 5}, {1, 3, 0, 2, 3}},         {{0, 2, 2, 4}, {1, 3, 0, 2, 3}},
        {{0, 2, 2, 6}, {1, 3, 0, 2, 3}},         {{0, 3, 2, 5}, {1, 3, 0, 2, 3}},
        {{0, -1, 2, 5}, {1, 3, 0, 2, 3}},        {{0, 9, 9, 5}, {1, 3, 0, 2, 3}},
        {{0, 2, 2, 5}, {1, 4, 0, 2, 3}},         {{0, 2, 2, 5}, {-1, 3, 0, 2, 3}},
        {{-1, 2, 2, 5}, {1, 3, 0, 2, 3}},        {{0, 2, 2, 5}, {1, 3, 0, 2, INT32_MAX}},
        {{0, 2, 2, 5}, {INT32_MIN, 3, 0, 2, 3}},
    };
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_csr_view view = small_view();
        spmv_mat *A = (spmv_mat *)&view;
        view.row_ptr = wrong[k].row_ptr;
        view.col_idx = wrong[k].col_idx;
        spmv_status status = spmv_mat_csr(ctx, &view, &A);
        assert_failed(status, SPMV_E_ARG, A, "");
        assert_string_not_equal(spmv_ctx_error(ctx), "");
    }
}

TEST(wrong_sizes_are_refused) {
    static const int64_t wrong[][3] = {
        {-1, 4, 0}, {3, -1, 0}, {3, 4, -1}, {1LL << 31, 4, 0}, {3, 1LL << 31, 0}};
    const int32_t index[] = {0};
    const int64_t nothing[] = {0, 0, 0, 0};
    for (int k = 0; k < COUNT(wrong); k++) {
        spmv_mat *A = (spmv_mat *)&k;
        spmv_coo_view entries =
            COO_VIEW(wrong[k][0], wrong[k][1], wrong[k][2], index, index, values);
        spmv_csr_view rows =
            CSR_VIEW(wrong[k][0], wrong[k][1], wrong[k][2], nothing, index, values);
        spmv_status status = spmv_mat_coo(ctx, &entries, SPMV_COPY, &A);
        assert_failed(status, SPMV_E_ARG, A, "columns are 0 to 2^31 - 1, entries 0 or more");
        A = (spmv_mat *)&k;
        status = spmv_mat_csr(ctx, &rows, &A);
        assert_failed(status, SPMV_E_ARG, A, "columns are 0 to 2^31 - 1, entries 0 or more");
    }
}

TEST(wrong_entries_are_refused) {
    static const int32_t wrong[][2] = {{3, 0},  {-1, 0},        {0, 4},
                                       {0, -1}, {INT32_MAX, 0}, {0, INT32_MIN}};
    for (int k = 0; k < COUNT(wrong); k++)
        for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
            const int32_t row[] = {0, wrong[k][0]}, col[] = {0, wrong[k][1]};
            spmv_mat *A = (spmv_mat *)&k;
            spmv_coo_view view = COO_VIEW(3, 4, 2, row, col, values);
            spmv_status status = spmv_mat_coo(ctx, &view, flags, &A);
            assert_failed(status, SPMV_E_ARG, A, "1 entry lies outside the 3 x 4 matrix");
        }
    const int32_t zero[] = {0};
    spmv_mat *A = (spmv_mat *)zero;
    spmv_coo_view oblong = COO_VIEW(3, 4, 1, zero, zero, NULL, .symmetry = SPMV_SYMMETRIC);
    spmv_status status = spmv_mat_coo(ctx, &oblong, SPMV_COPY, &A);
    assert_failed(status, SPMV_E_ARG, A, "square");
    const double one = 1;
    spmv_coo_view odd = COO_VIEW(3, 4, 1, zero, zero, &one);
    const int unknown = 7;
    memcpy(&odd.field, &unknown, sizeof odd.field);
    A = (spmv_mat *)zero;
    status = spmv_mat_coo(ctx, &odd, SPMV_COPY, &A);
    assert_failed(status, SPMV_E_ARG, A, "spmv_coo_view.field is 7, which is unknown");
}

TEST(arrays_are_copied_or_borrowed) {
    int32_t row[] = {2, 0, 1}, col[] = {1, 2, 0};
    double value[] = {1.5, 2.5, 3.5};
    const spmv_coo_view view = COO_VIEW(3, 3, 3, row, col, value);
    for (unsigned flags = SPMV_COPY; flags <= SPMV_BORROW; flags++) {
        FREED(spmv_mat) *A = NULL;
        spmv_coo_view back = SPMV_OPTS(spmv_coo_view);
        assert_int_equal(spmv_mat_coo(ctx, &view, flags, &A), SPMV_OK);
        spmv_mat_entries(A, &back);
        assert_true((back.row == row) == (flags == SPMV_BORROW));
        assert_true((back.values == value) == (flags == SPMV_BORROW));
        assert_int_equal(back.nnz, 3);
        assert_memory_equal(back.row, row, sizeof row);
        assert_memory_equal(back.col, col, sizeof col);
        assert_memory_equal(back.values, value, sizeof value);
    }
    assert_true(row[0] == 2 && value[2] == 3.5); /* a borrowed array is the caller's still */
}

TEST(no_values_means_ones) {
    const int32_t row[] = {0, 1, 1}, col[] = {1, 0, 1};
    const spmv_coo_view view = {
        .size = sizeof(spmv_coo_view), .rows = 2, .cols = 2, .nnz = 3, .row = row, .col = col};
    FREED(spmv_mat) *A = NULL;
    assert_int_equal(spmv_mat_coo(ctx, &view, SPMV_COPY, &A), SPMV_OK);
    spmv_stats stats = stats_of(A);
    assert_int_equal(stats.field, SPMV_PATTERN_FIELD);
    spmv_csr_view rows = rows_of(A);
    for (int k = 0; k < 3; k++) assert_true(rows.values[k] == 1);
}

TEST(a_matrix_is_saved_and_loaded) {
    char path[] = "/tmp/spmv_test_api_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    FREED(spmv_mat) *A = NULL, *B = NULL;
    spmv_stats a = SPMV_OPTS(spmv_stats), b = a;
    assert_int_equal(spmv_mat_load(ctx, "gen:random:50:5:70", NULL, &A), SPMV_OK);
    assert_int_equal(spmv_mat_save(A, path), SPMV_OK);
    assert_int_equal(spmv_mat_load(ctx, path, NULL, &B), SPMV_OK);
    assert_int_equal(spmv_mat_stats(A, &a), SPMV_OK);
    assert_int_equal(spmv_mat_stats(B, &b), SPMV_OK);
    assert_true(a.hash == b.hash && a.nnz == 250 && b.nnz == 250);
    spmv_load_opts values_of_a_file = {.size = sizeof values_of_a_file, .values = "random"};
    spmv_mat *C = A;
    spmv_status status = spmv_mat_load(ctx, path, &values_of_a_file, &C);
    assert_failed(status, SPMV_E_ARG, C, "gen: matrices only (spmv_load_opts.values)");
    unlink(path);
    C = A;
    status = spmv_mat_load(ctx, path, NULL, &C);
    assert_failed(status, SPMV_E_IO, C, path);
    assert_int_equal(spmv_mat_save(A, "/no/such/folder/a.mtx"), SPMV_E_WRITE);
}

TEST(generators_are_listed) {
    int count = 0;
    const spmv_generator *generator = spmv_generator_list(&count);
    assert_true(count > 0);
    for (int k = 0; k < count; k++)
        assert_true(*generator[k].name && generator[k].args && *generator[k].summary);
    spmv_mat *A = (spmv_mat *)&count;
    spmv_status status = spmv_mat_load(ctx, "gen:no_such_thing", NULL, &A);
    assert_failed(status, SPMV_E_ARG, A, "no_such_thing");
}

/* ---- names ---------------------------------------------------------------------------------- */

static const char *found[64]; /* "backend:name" would be longer: names, in order */
static int find(const char *pattern, spmv_status expected) {
    spmv_kernel_id id[64];
    int count = -1;
    spmv_status status = spmv_kernel_find(ctx, pattern, id, 64, &count);
    if (status != expected) print_error("'%s': %s\n", pattern, spmv_ctx_error(ctx));
    assert_int_equal(status, expected);
    assert_in_range(count, 0, 64);
    for (int k = 0; k < count; k++) found[k] = id[k].backend->names[id[k].index];
    return count;
}

TEST(names_and_aliases_are_found) {
    static const struct {
        const char *pattern, *name;
    } one[] = {{"csr_rows", "csr_rows"},  {"csr1", "csr_rows"}, {"omp:csr_rows", "csr_rows"},
               {"omp:csr1", "csr_rows"},  {"ell0", "ell_rows"}, {"csr4", "csr_tiles_copied"},
               {"csr_tiles", "csr_tiles"}};
    for (int k = 0; k < COUNT(one); k++) {
        assert_int_equal(find(one[k].pattern, SPMV_OK), 1);
        assert_string_equal(found[0], one[k].name);
    }
}

static int count_here(const spmv_backend *backend) { /* without peers whose library is absent */
    int count = 0;
    for (int k = 0; backend->kernels && k < backend->nkernels; k++)
        count += !backend->kernels[k][0]->absent;
    return count;
}

TEST(globs_are_found) {
    int every = find("omp:everything", SPMV_OK);
    assert_int_equal(every, count_here(&spmv_omp));
    assert_int_equal(find("*", SPMV_OK), every);
    assert_int_equal(find("omp:*", SPMV_OK), every);
    int everywhere = find("everything", SPMV_OK);
    assert_int_equal(everywhere, every + count_here(&spmv_cuda));
    assert_true(find("csr_tiles*", SPMV_OK) >= 2);
    for (int k = 0, n = find("ell_*", SPMV_OK); k < n; k++)
        assert_memory_equal(found[k], "ell_", 4);
    assert_int_equal(find("csr[01]", SPMV_OK), 2);
    assert_int_equal(find("csr_row?", SPMV_OK), 1);
    find("no_*", SPMV_E_ARG);
}

static bool is_found(const char *name, int count) {
    int k = 0;
    while (k < count && strcmp(found[k], name) != 0) k++;
    return k < count;
}

TEST(formats_name_all_their_kernels_but_peers) {
    int n = find("csr", SPMV_OK);
    assert_true(is_found("csr_balanced", n) && is_found("csr_rows", n));
    assert_true(is_found("csr_tiles_copied", n)); /* a variant of csr_columns */
    assert_false(is_found("csr5_tiles", n) || is_found("mkl_csr", n));
    assert_int_equal(find("CSR", SPMV_OK), n);
    assert_int_equal(find("omp:Csr", SPMV_OK), n);
    assert_int_equal(find("SELL", SPMV_OK), 1);
    assert_string_equal(found[0], "sell_slices");
    assert_int_equal(find("CSR_rows", SPMV_OK), 1);
    assert_int_equal(find("Csr1", SPMV_OK), 1);
    assert_int_equal(find("DIA", SPMV_OK), 1);
    if (spmv_cuda.kernels) {
        n = find("cuda:ell", SPMV_OK); /* they read ell_pitched, which is a kernel, too */
        assert_true(n > 1 && is_found("ell_pitched", n) && is_found("ell_warp", n));
        assert_int_equal(find("cuda:ell_pitched", SPMV_OK), 1);
    } else
        find("xcache", SPMV_E_BACKEND);
    find("cs", SPMV_E_ARG);
    find("sell_", SPMV_E_ARG);
    find("", SPMV_E_ARG);
}

/* Whatever "auto" may be offered is in "all", but other libraries' kernels; and the papers'. */
TEST(groups_hold_what_they_say) {
    int n = find("omp:all", SPMV_OK);
    for (const char *const *name = spmv_omp.proposed; *name; name++)
        assert_true(is_found(*name, n));
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        const spmv_kernel *kernel = spmv_omp.kernels[k][0];
        if (kernel->alias) assert_true(is_found(kernel->name, n));
        if (kernel->traits & SPMV_PEER) assert_false(is_found(kernel->name, n));
    }
    assert_false(is_found("cmrs_strips", n) || is_found("coo_segments", n));
    n = find("omp:papers", SPMV_OK);
    assert_true(is_found("cmrs_strips", n) && is_found("csr_rows", n));
    assert_false(is_found("sell16_lanes", n));
    assert_true(find("Everything", SPMV_OK) > find("ALL", SPMV_OK));
}

/* Matches beyond the capacity are counted, not written. */
TEST(found_kernels_stay_in_bounds) {
    const spmv_kernel_id untouched = {&spmv_cuda, -7};
    spmv_kernel_id id[2] = {untouched, untouched};
    int count = 0;
    assert_int_equal(spmv_kernel_find(ctx, "omp:everything", id, 1, &count), SPMV_OK);
    assert_int_equal(count, count_here(&spmv_omp));
    assert_memory_equal(&id[1], &untouched, sizeof untouched);
}

TEST(peers_are_found_or_say_how_to_get_them) {
    int peers = 0, all = find("everything", SPMV_OK);
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (*b)->kernels && k < (*b)->nkernels; k++) {
            const spmv_kernel *kernel = (*b)->kernels[k][0];
            char name[64];
            snprintf(name, sizeof name, "%s:%s", (*b)->name, kernel->name);
            assert_int_equal(find(name, kernel->absent ? SPMV_E_FEATURE : SPMV_OK), 1);
            if (kernel->absent) assert_non_null(strstr(spmv_ctx_error(ctx), kernel->absent));
            if (kernel->absent) assert_true(kernel->traits & SPMV_PEER);
            peers += kernel->traits & SPMV_PEER && !kernel->absent;
        }
    assert_int_equal(find("peers", peers ? SPMV_OK : SPMV_E_FEATURE), peers);
    assert_in_range(all, peers, 64);
}

/* Symmetric, square, of even size: every peer takes it, if its library is on this machine. */
static bool multiplies_here(const spmv_backend *backend, const spmv_kernel *kernel) {
    char name[64];
    spmv_plan *plan = NULL;
    snprintf(name, sizeof name, "%s:%s", backend->name, kernel->name);
    spmv_mat *mat = must_load(ctx, "gen:poisson2d:4");
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = name};
    bool is = spmv_plan_create(mat, &opts, &plan) == SPMV_OK;
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    return is;
}

/* Name and version, such as "oneMKL 2026.2"; ours are part of no other library. None where the
 * library is not on this machine. */
TEST(peers_say_what_library_multiplies) {
    const spmv_choice none = {{0}};
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (*b)->kernels && k < (*b)->nkernels; k++) {
            const spmv_kernel *kernel = (*b)->kernels[k][0];
            char text[64] = "";
            assert_int_equal(kernel->library != NULL,
                             kernel->traits & SPMV_PEER && !kernel->absent);
            if (!kernel->library) continue;
            kernel->library(&none, text, sizeof text);
            if (!*text && !multiplies_here(*b, kernel)) continue;
            size_t name = strcspn(text, " "), version = strspn(text + name, " .0123456789");
            assert_true(name > 0 && version >= strlen(" 1.2") && !text[name + version]);
        }
}

TEST(prefixes_are_not_found) {
    static const char *const wrong[] = {
        "cs", "csr_",      "csr_row",   "csr_rows2", "csr_rowsx",   "el",   "c",
        "",   "csr_rows ", " csr_rows", "omp:cs",    "omp:csr_row", "omp:", "csr11"};
    for (int k = 0; k < COUNT(wrong); k++) {
        assert_int_equal(find(wrong[k], SPMV_E_ARG), 0);
        FREED(spmv_mat) *A = must_load(ctx, "gen:diagonal:5");
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = wrong[k]};
        spmv_plan *plan = (spmv_plan *)&opts;
        spmv_status status = spmv_plan_create(A, &opts, &plan);
        assert_failed(status, SPMV_E_ARG, plan, wrong[k][0] == ':' ? wrong[k] : "");
    }
}

TEST(the_nearest_name_is_suggested) {
    static const char *const words[][2] = {
        {"csr_row", "'csr_rows'?"},      {"csr_rwos", "'csr_rows'?"},
        {"csr_seriel", "'csr_serial'?"}, {"omp:ell_tile", "'ell_tiles'?"},
        {"csr_wrap", "'csr_warp'?"},     {"csel", "'csell_slices'"},
        {"paper", "'papers'?"}};
    for (int k = 0; k < COUNT(words); k++) {
        find(words[k][0], SPMV_E_ARG);
        if (!strstr(spmv_ctx_error(ctx), words[k][1]))
            fail_msg("%s: %s", words[k][0], spmv_ctx_error(ctx));
    }
    find("something_else_altogether", SPMV_E_ARG);
    assert_null(strstr(spmv_ctx_error(ctx), "did you mean"));
    find("opencl:csr_rows", SPMV_E_ARG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "no backend 'opencl'"));
    find("om:csr_rows", SPMV_E_ARG);
    char longest[3000]; /* longer than any buffer inside */
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = 0;
    find(longest, SPMV_E_ARG);
}

TEST(what_is_not_built_in_says_what_to_do) {
    static const char *const names[] = {"cuda:csr_warp", "csr_warp", "cuda:*", "cuda:csr1",
                                        "cuda:all"};
    if (spmv_cuda.kernels) skip(); /* print nothing: run.sh counts it */
    spmv_mat *A = must_load(ctx, "gen:diagonal:5");
    for (int k = 0; k < COUNT(names); k++) {
        spmv_plan_opts opts = {.size = sizeof opts, .kernel = names[k]};
        spmv_plan *plan = (spmv_plan *)&opts;
        spmv_status status = spmv_plan_create(A, &opts, &plan);
        assert_failed(status, SPMV_E_BACKEND, plan, "make cuda");
    }
    spmv_mat_free(A);
    spmv_ctx_opts on_cuda = {.size = sizeof on_cuda, .backend = "cuda"};
    spmv_ctx *other = NULL;
    assert_int_equal(spmv_ctx_create(&on_cuda, &other), SPMV_E_BACKEND);
    assert_string_equal(spmv_ctx_error(NULL),
                        "spmv_ctx_opts.backend: cuda is not built in: make cuda");
    assert_int_equal(spmv_backend_available("cuda"), 0);
}

TEST_MAIN(begin_as_it_is, open_context, close_context)
