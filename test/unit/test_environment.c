/* test_environment.c: the library called in every floating-point environment that callers have:
 * with traps nothing raises a signal, files and statistics are the same in each, and the caller and
 * the threads of its team have their environments and exception flags back. */
#include "environments.h"
#include "spmv_ranks.h"
#include <omp.h>
#include <pthread.h>

/* ---- matrices and files --------------------------------------------------------------------- */

enum { ROWS = 150000, MANY = ROWS + 5000 }; /* so many that a team reads, writes and builds */

/* Returns doubles below 2 with random bits, subnormal numbers among them; also decimals. */
static double any_value(uint64_t k) {
    const uint64_t bits = spmv_mix(k + 1) & ~((uint64_t)1 << 62);
    double value;
    memcpy(&value, &bits, sizeof value);
    if (k % 5 == 0) return 1.0 / (double)(k + 3);
    return k % 7 == 0 ? ldexp((double)(bits % 4096 + 1), -1074) : value;
}

/* Entries up to largest and of other magnitudes; of many rows some are duplicates. */
static entries huge_entries(int64_t rows, double largest) {
    entries e = {.rows = rows, .cols = rows};
    const int64_t n = rows < 1000 ? rows : rows + 5000;
    for (int64_t k = 0; k < n; k++)
        add_entry(&e, k % rows, k * 7919 % rows,
                  k % 2 ? largest / (double)(k + 1) : 0.1 * (double)k);
    return e;
}

static char *text_of_file(const char *path, size_t *bytes) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *bytes = (size_t)ftell(f);
    rewind(f);
    char *all = malloc(*bytes + 1);
    assert_non_null(all);
    assert_int_equal(fread(all, 1, *bytes, f), *bytes);
    fclose(f);
    return all;
}

static char folder[] = "/tmp/spmv-environment-XXXXXX";

static const char *file_named(const char *name) {
    static char path[2][80];
    static int turn;
    char *out = path[turn++ % 2];
    snprintf(out, sizeof *path, "%s/%s", folder, name);
    return out;
}

static void files_are_the_same(const char *a, const char *b, mode mode_of_b) {
    size_t n, m;
    FREED(char) *one = text_of_file(a, &n), *other = text_of_file(b, &m);
    if (n != m || memcmp(one, other, n) != 0) fail_msg("%s differs: %s", b, mode_names[mode_of_b]);
}

static spmv_mat *matrix_of_values(spmv_ctx *ctx, const double *v) {
    FREED(int32_t) *at = malloc(MANY * sizeof *at);
    spmv_mat *mat = NULL;
    assert_non_null(at);
    for (int32_t k = 0; k < MANY; k++) at[k] = k;
    const spmv_coo_view view = COO_VIEW(MANY, MANY, MANY, at, at, v);
    assert_int_equal(spmv_mat_coo(ctx, &view, SPMV_COPY, &mat), SPMV_OK);
    return mat;
}

static double *many_values(void) {
    double *v = malloc(MANY * sizeof *v);
    assert_non_null(v);
    for (int64_t k = 0; k < MANY; k++) v[k] = any_value((uint64_t)k);
    return v;
}

/* Writes a matrix and a vector in that environment; names begin with the mode's. */
static void save_both(spmv_mat *mat, const double *v, mode m, const char *matrix,
                      const char *vector) {
    set_mode(m);
    const spmv_status first = spmv_mat_save(mat, matrix),
                      second = spmv_vector_save(mat->ctx, vector, MANY, v);
    set_mode(DEFAULT);
    assert_int_equal(first, SPMV_OK);
    assert_int_equal(second, SPMV_OK);
}

TEST(files_are_written_the_same) {
    FREED(spmv_ctx) *ctx = context_of(TEAM);
    FREED(double) *v = many_values();
    FREED(spmv_mat) *mat = matrix_of_values(ctx, v);
    save_both(mat, v, DEFAULT, file_named("A.mtx"), file_named("v.mtx"));
    for (mode m = TRAPS; m < MODES; m++) {
        save_both(mat, v, m, file_named("B.mtx"), file_named("w.mtx"));
        files_are_the_same(file_named("A.mtx"), file_named("B.mtx"), m);
        files_are_the_same(file_named("v.mtx"), file_named("w.mtx"), m);
    }
}

/* Lines of 17 and of 31 digits. */
static void write_digits(const char *path, const double *v) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", MANY, MANY, MANY);
    for (int k = 0; k < MANY; k++) fprintf(f, "%d %d %.*g\n", k + 1, k + 1, k % 2 ? 17 : 31, v[k]);
    fclose(f);
}

TEST(files_are_read_the_same) {
    FREED(double) *v = many_values();
    FREED(spmv_ctx) *ctx = context_of(TEAM);
    write_digits(file_named("digits.mtx"), v);
    assert_int_equal(spmv_vector_save(ctx, file_named("v.mtx"), MANY, v), SPMV_OK);
    for (mode m = DEFAULT; m < MODES; m++) {
        FREED(spmv_mat) *mat = NULL;
        FREED(double) *w = NULL;
        int64_t n = 0, differ = 0;
        spmv_stats stats = SPMV_OPTS(spmv_stats);
        spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
        set_mode(m);
        const spmv_status read = spmv_mat_load(ctx, file_named("digits.mtx"), NULL, &mat),
                          vector = spmv_vector_load(ctx, file_named("v.mtx"), &n, &w),
                          counted = spmv_mat_stats(mat, &stats), rows = spmv_mat_rows(mat, &A);
        set_mode(DEFAULT);
        assert_int_equal(read | vector | counted | rows, SPMV_OK);
        assert_int_equal(n, MANY);
        for (int64_t k = 0; k < MANY; k++)
            differ +=
                spmv_bits(A.values[k]) != spmv_bits(v[k]) || spmv_bits(w[k]) != spmv_bits(v[k]);
        if (differ) fail_msg("%lld values differ: %s", (long long)differ, mode_names[m]);
        assert_int_equal(stats.explicit_zeros, 0);
    }
}

TEST(generated_matrices_are_the_same) {
    static const char *const names[] = {"gen:poisson2d:400", "gen:rmat:15:8", "gen:random:40000:5"};
    FREED(spmv_ctx) *ctx = context_of(TEAM);
    const spmv_load_opts opts = {.size = sizeof opts, .values = "random"};
    for (int k = 0; k < COUNT(names); k++) {
        spmv_stats expected = {.size = 0};
        for (mode m = DEFAULT; m < MODES; m++) {
            spmv_stats stats = SPMV_OPTS(spmv_stats);
            FREED(spmv_mat) *mat = NULL;
            set_mode(m);
            const spmv_status made = spmv_mat_load(ctx, names[k], &opts, &mat),
                              counted = made == SPMV_OK ? spmv_mat_stats(mat, &stats) : made;
            set_mode(DEFAULT);
            if (made != SPMV_OK) fail_msg("%s: %s", names[k], spmv_ctx_error(ctx));
            assert_int_equal(counted, SPMV_OK);
            if (m == DEFAULT) expected = stats;
            if (stats.hash != expected.hash || stats.row_std != expected.row_std ||
                stats.row_mean != expected.row_mean)
                fail_msg("%s differs: %s", names[k], mode_names[m]);
        }
    }
}

/* ---- every call with traps ------------------------------------------------------------------ */

/* Returns NULL if f32 cannot hold the values. */
static spmv_plan *plan_for(spmv_mat *mat, spmv_precision precision, int64_t calls, spmv_op op) {
    spmv_plan_opts opts = WITH(spmv_plan_opts, .precision = precision, .expected_calls = calls,
                               .op = op, .vectors = op == SPMV_BOTH ? 4 : 0);
    spmv_plan *plan = NULL;
    const spmv_status status = spmv_plan_create(mat, &opts, &plan);
    const bool is_too_large = strstr(spmv_ctx_error(mat->ctx), "too large for f32");
    if (status != SPMV_OK && !is_too_large) fail_msg("%s", spmv_ctx_error(mat->ctx));
    return plan;
}

static void make_plans(spmv_mat *mat) {
    static const int64_t calls[] = {0, 1, 100, 100000};
    for (int k = 0; k < COUNT(calls); k++)
        for (spmv_precision p = SPMV_F64; p <= SPMV_F32; p++) {
            FREED(spmv_plan) *plan = plan_for(mat, p, calls[k], k % 2 ? SPMV_BOTH : SPMV_AS_IS);
            spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
            if (plan) assert_int_equal(spmv_plan_info(plan, &facts), SPMV_OK);
        }
}

static void give_values(spmv_mat *mat, int64_t n) {
    FREED(double) *v = malloc((size_t)n * sizeof *v);
    spmv_plan_opts opts = {.size = sizeof opts, .precision = SPMV_F64, .refill = 1};
    assert_non_null(v);
    for (int64_t k = 0; k < n; k++) v[k] = k % 2 ? 1e300 : 1e-310;
    FREED(spmv_plan) *plan = must_plan(mat, &opts);
    assert_int_equal(spmv_mat_set_values(mat, v, SPMV_HOST, NULL), SPMV_OK);
}

/* Products of ordinary numbers, with sums on the way. */
static void multiply_ordinary(spmv_ctx *ctx) {
    enum { N = 64 * 64 };
    static double x[N], z[N], zz, wz;
    for (int i = 0; i < N; i++) x[i] = 1 + i % 7;
    FREED(spmv_mat) *mat = must_load(ctx, "gen:poisson2d:64");
    FREED(spmv_plan) *plan = plan_for(mat, SPMV_F64, 1000, SPMV_BOTH);
    spmv_call call =
        WITH(spmv_call, .x = x, .z = z, .w = x, .dot_wz = &wz, .dot_zz = &zz, .op = SPMV_AS_IS);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    call.op = SPMV_TRANSPOSE;
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
}

static void prepare_and_save(spmv_ctx *ctx, int64_t rows, double largest) {
    FREED(entries) e = huge_entries(rows, largest);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e), *copy = NULL;
    make_plans(mat);
    (void)stats_of(mat);
    assert_int_equal(spmv_mat_save(mat, file_named("huge.mtx")), SPMV_OK);
    assert_int_equal(spmv_mat_load(ctx, file_named("huge.mtx"), NULL, &copy), SPMV_OK);
    give_values(mat, e.nnz);
}

static void call_everything(int threads, const char *wisdom) {
    static const int64_t rows[] = {1, 12, 3000, ROWS};
    const spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads, .wisdom = wisdom};
    FREED(spmv_ctx) *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    for (int k = 0; k < COUNT(rows); k++) {
        prepare_and_save(ctx, rows[k], 1e300);
        prepare_and_save(ctx, rows[k], 3e38);
    }
    multiply_ordinary(ctx);
}

TEST(nothing_traps) {
    for (int threads = 1; threads <= TEAM; threads += TEAM - 1) {
        set_mode(TRAPS);
        call_everything(threads, file_named("wisdom"));
        call_everything(threads, file_named("wisdom"));
        set_mode(DEFAULT);
    }
}

/* The caller's own traps are off, but those of its team's threads are on. */
TEST(nothing_traps_in_the_team_alone) {
    set_mode(TRAPS);
    set_thread(DEFAULT);
    call_everything(TEAM, NULL);
    set_mode(DEFAULT);
}

/* ---- what the caller has afterwards --------------------------------------------------------- */

static int count_rounding_up(void) {
    int up = 0;
#pragma omp parallel num_threads(TEAM) reduction(+ : up)
    up += fegetround() == FE_UPWARD;
    return up;
}

TEST(environments_come_back) {
    for (int threads = 1; threads <= TEAM; threads += TEAM - 1) {
        set_mode(UPWARD);
        feraiseexcept(FE_DIVBYZERO);
        call_everything(threads, NULL);
        assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID), FE_DIVBYZERO);
        assert_int_equal(count_rounding_up(), TEAM);
        set_mode(DEFAULT);
        feclearexcept(FE_ALL_EXCEPT);
        call_everything(threads, NULL);
        assert_int_equal(fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID), 0);
        assert_int_equal(fegetround(), FE_TONEAREST);
    }
}

/* Each thread of the caller's team may have another environment. */
TEST(threads_have_their_own_back) {
    static const mode some[] = {DEFAULT, UPWARD, DOWNWARD};
    FREED(spmv_ctx) *ctx = context_of(TEAM);
    FREED(entries) e = huge_entries(ROWS, 1e300);
    for (int k = 0; k < 27; k++) {
        const mode of[TEAM] = {some[k % 3], some[k / 3 % 3], some[k / 9]};
        int wrong = 0;
#pragma omp parallel num_threads(TEAM)
        set_thread(of[omp_get_thread_num()]);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
#pragma omp parallel num_threads(TEAM) reduction(+ : wrong)
        {
            const mode m = of[omp_get_thread_num()];
            wrong += fegetround() != (m == UPWARD     ? FE_UPWARD
                                      : m == DOWNWARD ? FE_DOWNWARD
                                                      : FE_TONEAREST);
        }
        set_mode(DEFAULT);
        if (wrong)
            fail_msg("%s, %s, %s: %d threads have another environment", mode_names[of[0]],
                     mode_names[of[1]], mode_names[of[2]], wrong);
    }
}

/* Threads that the library's own calls start have the caller's environment, too. */
static void *start_a_team_in_a_call(void *arg) {
    (void)arg;
    fesetround(FE_UPWARD);
    FREED(spmv_ctx) *ctx = context_of(TEAM);
    FREED(entries) e = huge_entries(ROWS, 1e300);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    static int up;
    up = count_rounding_up();
    return &up;
}

TEST(a_team_that_a_call_starts_is_the_callers) {
    pthread_t caller;
    void *up = NULL;
    assert_int_equal(pthread_create(&caller, NULL, start_a_team_in_a_call, NULL), 0);
    pthread_join(caller, &up);
    assert_int_equal(*(int *)up, TEAM);
}

/* ---- many ranks ----------------------------------------------------------------------------- */

TEST(many_ranks_prepare_the_same) {
    static double x[12], expected[12], y[12];
    spmv_ranks *world = NULL;
    FREED(entries) e = huge_entries(12, 1e300);
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    assert_int_equal(spmv_mat_save(mat, file_named("many.mtx")), SPMV_OK);
    for (int i = 0; i < 12; i++) x[i] = 1;
    for (mode m = DEFAULT; m < MODES; m++) {
        spmv_ranks_mat *A = NULL;
        spmv_ranks_plan *plan = NULL;
        spmv_stats stats = SPMV_OPTS(spmv_stats);
        set_mode(m);
        assert_int_equal(spmv_ranks_create(NULL, NULL, &world), SPMV_OK);
        assert_int_equal(spmv_ranks_mat_load(world, file_named("many.mtx"), NULL, &A), SPMV_OK);
        assert_int_equal(spmv_ranks_mat_stats(A, &stats), SPMV_OK);
        assert_int_equal(spmv_ranks_plan_create(A, NULL, &plan), SPMV_OK);
        set_mode(DEFAULT);
        assert_int_equal(spmv_ranks_exec(plan, 1, x, 0, m == DEFAULT ? expected : y), SPMV_OK);
        if (m != DEFAULT) assert_memory_equal(y, expected, sizeof y);
        spmv_ranks_plan_free(plan);
        spmv_ranks_mat_free(A);
        spmv_ranks_free(world);
    }
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    static const char *const names[] = {"A.mtx",      "B.mtx",    "v.mtx",  "w.mtx",
                                        "digits.mtx", "huge.mtx", "wisdom", "many.mtx"};
    (void)state;
    for (int k = 0; k < COUNT(names); k++) unlink(file_named(names[k]));
    return rmdir(folder);
}

TEST_MAIN(wait_without_spinning, make_folder, remove_folder)
