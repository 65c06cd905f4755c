/* test_allocator.c: host memory that a matrix, its stores and plans keep comes from the caller's
 * allocator and goes back to it; where the k-th piece is not to be had, for every k, the status is
 * SPMV_E_NOMEM and nothing is lost. */
#include "kernels.h"
#include "sources.h"

#pragma weak source_alloc
#pragma weak source_free

enum { ODD = 24 /* bytes past what malloc aligns */, MOST_BLOCKS = 256 };
static struct {
    void *memory[MOST_BLOCKS];
    size_t bytes[MOST_BLOCKS], out; /* out: in use of the host's */
    int blocks, asked;              /* host memory: blocks in use; requests */
    int refused;                    /* ordinal number of the allocation that fails; 0: none */
    int foreign;                    /* came back without having been given, or of another size */
} purse;

static void *take(void *user, spmv_place place, size_t bytes, void *stream) {
    int k = 0;
    if (place == SPMV_DEVICE) return source_alloc(ON_DEVICE, bytes);
    if (user != &purse || stream) purse.foreign++;
    if (++purse.asked == purse.refused) return NULL;
    while (k < MOST_BLOCKS && purse.memory[k]) k++;
    assert_in_range(k, 0, MOST_BLOCKS - 1);
    char *memory = malloc(bytes + ODD);
    assert_non_null(memory);
    purse.bytes[k] = bytes;
    purse.out += bytes, purse.blocks++;
    return purse.memory[k] = memory + ODD;
}

static void give(void *user, spmv_place place, void *memory, size_t bytes, void *stream) {
    int k = 0;
    if (place == SPMV_DEVICE) {
        source_free(ON_DEVICE, memory);
        return;
    }
    while (k < MOST_BLOCKS && purse.memory[k] != memory) k++;
    if (user != &purse || stream || !memory || k == MOST_BLOCKS || purse.bytes[k] != bytes) {
        purse.foreign++;
        return;
    }
    purse.memory[k] = NULL;
    purse.out -= bytes, purse.blocks--;
    free((char *)memory - ODD);
}

static spmv_ctx *context_with_purse(const char *backend, int threads) {
    const spmv_allocator theirs = {take, give, &purse};
    const spmv_ctx_opts opts = {
        .size = sizeof opts, .backend = backend, .threads = threads, .allocator = &theirs};
    spmv_ctx *ctx = NULL;
    memset(&purse, 0, sizeof purse);
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    return ctx;
}

static void assert_all_is_back(const char *what) {
    if (purse.blocks || purse.out || purse.foreign)
        fail_msg("%s: %d blocks of %zu bytes kept, %d foreign", what, purse.blocks, purse.out,
                 purse.foreign);
}

/* ---- what is kept ---------------------------------------------------------------------------- */

/* Checks that the plan has allocated the bytes that its facts report, plus an array's alignment. */
static void assert_holds(const spmv_plan *plan, size_t before) {
    spmv_plan_facts facts = plan_facts_of(plan);
    const bool is_theirs = plan->kernel->traits & SPMV_PEER && plan->device->backend->host;
    const size_t kept = facts.host_bytes - (is_theirs ? facts.scratch_bytes : 0);
    const size_t out = purse.out - before, most = kept + 64 * (size_t)purse.blocks;
    if (out < kept || out > most)
        fail_msg("%s: keeps %zu bytes, the caller gave %zu", facts.kernel, kept, out);
}

static void of_kernel(const spmv_backend *backend, int k, const subject *s) {
    const size_t before = purse.out;
    const setup c = setup_of(backend, k, SPMV_F64_O32);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = c.kernel};
    spmv_mat *mat = must_load(s->mat->ctx, "gen:poisson2d:30");
    spmv_plan *plan = NULL, *copy = NULL;
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    if (status == SPMV_OK) {
        assert_holds(plan, before);
        assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
        FREED(workplace) w = workplace_of(copy, s, SPMV_F64);
        try_product(&c, s, &w, (scaling){1, 0});
    } else if (status != SPMV_E_UNSUITABLE) {
        fail_msg("%s: %s", c.kernel, spmv_ctx_error(mat->ctx));
    }
    spmv_plan_free(copy);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    if (purse.out != before || purse.foreign)
        fail_msg("%s: keeps %zu bytes, %d foreign blocks", c.kernel, purse.out - before,
                 purse.foreign);
}

TEST(every_kernel_uses_the_callers_memory) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        if (!(*b)->host && !source_alloc) continue;
        spmv_ctx *ctx = context_with_purse((*b)->name, 2);
        if (is_tested(ctx, *b)) {
            FREED(subject) s = random_subject(must_load(ctx, "gen:poisson2d:30"), "poisson2d");
            tally = (struct tally){0};
            for (int k = 0; k < (*b)->nkernels; k++)
                if (is_here(*b, k)) of_kernel(*b, k, &s);
            assert_int_equal(tally.wrong, 0);
        }
        spmv_ctx_free(ctx);
        assert_all_is_back((*b)->name);
    }
}

/* ---- every way to a matrix ------------------------------------------------------------------- */

static const int64_t row_ptr[] = {0, 2, 3, 5};
static const int32_t narrow_ptr[] = {1, 3, 4, 6}, col_idx[] = {0, 2, 1, 0, 1},
                     from_1[] = {1, 3, 2, 1, 2}, row[] = {2, 0, 1, 2, 2}, col[] = {0, 0, 1, 2, 0};
static const double five[] = {1, 2, 3, 4, 5};

static spmv_status of_rows(spmv_ctx *ctx, spmv_mat **out) {
    const spmv_csr_view A = {sizeof(spmv_csr_view), 3, 3, 5, row_ptr, col_idx, five};
    return spmv_mat_csr(ctx, &A, out);
}

static spmv_status of_columns_from_1(spmv_ctx *ctx, spmv_mat **out) {
    const spmv_arrays a = ARRAYS(3, 3, 5, narrow_ptr, 32, from_1, five, .base = 1, .by_columns = 1);
    return spmv_mat_create(ctx, &a, out);
}

static spmv_status of_borrowed_rows(spmv_ctx *ctx, spmv_mat **out) {
    const spmv_arrays a = ARRAYS(3, 3, 5, row_ptr, 64, col_idx, five, .flags = SPMV_BORROW);
    return spmv_mat_create(ctx, &a, out);
}

static spmv_status of_entries(spmv_ctx *ctx, spmv_mat **out) { /* a duplicate; out of order */
    const spmv_coo_view view = {sizeof(spmv_coo_view), 3, 3, 5, row, col, five, SPMV_SYMMETRIC,
                                SPMV_REAL_FIELD};
    return spmv_mat_coo(ctx, &view, SPMV_COPY, out);
}

static spmv_status of_borrowed_entries(spmv_ctx *ctx, spmv_mat **out) {
    const spmv_coo_view view = {sizeof(spmv_coo_view), 3, 3, 5, row, col, five, SPMV_GENERAL,
                                SPMV_REAL_FIELD};
    return spmv_mat_coo(ctx, &view, SPMV_BORROW, out);
}

static spmv_status generated(spmv_ctx *ctx, spmv_mat **out) {
    return spmv_mat_load(ctx, "gen:random:5:2", NULL, out);
}

static char file_name[] = "/tmp/spmv_test_allocator_XXXXXX";
static spmv_status from_file(spmv_ctx *ctx, spmv_mat **out) {
    return spmv_mat_load(ctx, file_name, NULL, out);
}

typedef spmv_status way(spmv_ctx *ctx, spmv_mat **out);
static way *const ways[] = {of_rows,    of_columns_from_1,   of_borrowed_rows, generated,
                            of_entries, of_borrowed_entries, from_file};

static void write_file(void) {
    const int file = mkstemp(file_name);
    FREED(spmv_ctx) *ctx = context_of(1);
    FREED(spmv_mat) *mat = NULL;
    assert_true(file >= 0);
    close(file);
    assert_int_equal(of_entries(ctx, &mat), SPMV_OK);
    assert_int_equal(spmv_mat_save(mat, file_name), SPMV_OK);
}

/* Returns sums of a product with ones, which all values reach; -1: it failed, as it may. */
static double total(const spmv_plan *plan, const spmv_mat *mat) {
    const double ones[] = {1, 1, 1, 1, 1};
    double sums[5] = {0}, sum = 0;
    void *x = NULL, *y = NULL;
    const size_t rows = (size_t)mat->csr.rows * 8, cols = (size_t)mat->csr.cols * 8;
    spmv_status status = spmv_plan_alloc(plan, cols, &x);
    if (status == SPMV_OK) status = spmv_plan_alloc(plan, rows, &y);
    if (status == SPMV_OK) status = spmv_plan_put(plan, x, ones, cols);
    if (status == SPMV_OK) status = spmv_exec(plan, 1, x, 0, y);
    if (status == SPMV_OK) status = spmv_plan_get(plan, sums, y, rows);
    assert_int_equal((uintptr_t)x % 64 + (uintptr_t)y % 64, 0);
    spmv_plan_release(plan, x);
    spmv_plan_release(plan, y);
    if (status != SPMV_OK) assert_int_equal(status, SPMV_E_NOMEM);
    for (int i = 0; i < 5; i++) sum += sums[i];
    return status == SPMV_OK ? sum : -1;
}

static void assert_made(spmv_status status, const void *out) {
    if (status != SPMV_OK) assert_int_equal(status, SPMV_E_NOMEM);
    assert_int_equal(status == SPMV_OK, out != NULL);
}

/* Sets new values: all plans receive them, or, if memory is short, none. */
static void change_values(spmv_mat *mat, const spmv_plan *plan, double before) {
    FREED(double) *twice = calloc((size_t)mat->coo.nnz, sizeof *twice);
    spmv_coo_view given = SPMV_OPTS(spmv_coo_view);
    assert_non_null(twice);
    spmv_mat_entries(mat, &given);
    for (int64_t k = 0; k < given.nnz; k++) twice[k] = 2 * given.values[k];
    spmv_status status = spmv_mat_set_values(mat, twice, SPMV_HOST, NULL);
    assert_made(status, status == SPMV_OK ? mat : NULL);
    const double after = total(plan, mat);
    if (given.nnz > 0 && before >= 0 && after >= 0)
        assert_true(fabs(after - (status == SPMV_OK ? 2 : 1) * before) < 1e-9);
    spmv_plan_facts facts = plan_facts_of(plan);
    assert_true(purse.out >= facts.host_bytes);
    if (given.nnz > 0 && status == SPMV_OK && mat->csr.borrowed.values)
        assert_int_equal(spmv_mat_set_values(mat, five, SPMV_HOST, NULL), SPMV_OK);
}

static void use(spmv_ctx *ctx, way *make, const char *kernel) {
    const spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel};
    FREED(spmv_mat) *mat = NULL;
    FREED(spmv_plan) *plan = NULL, *copy = NULL;
    spmv_status status = make(ctx, &mat);
    assert_made(status, mat);
    if (mat) status = spmv_plan_create(mat, &opts, &plan);
    assert_made(status, plan);
    if (plan) status = spmv_plan_copy(plan, &copy);
    assert_made(status, copy);
    if (plan) change_values(mat, plan, total(plan, mat));
}

/* Returns whether `make` allocated at least `which` blocks, so that one allocation was refused. */
static bool is_refused(way *make, const char *kernel, int which) {
    spmv_ctx *ctx = context_with_purse(NULL, 2);
    purse.refused = which;
    use(ctx, make, kernel);
    spmv_ctx_free(ctx);
    assert_all_is_back(kernel);
    return purse.asked >= which;
}

TEST(any_block_may_be_refused) {
    static const char *const kernels[] = {"omp:csr_rows",         "omp:csr_tiles",
                                          "omp:csr_tiles_copied", "omp:ell_tiles",
                                          "omp:sell16_lanes",     "omp:auto"};
    int refused = 0;
    write_file();
    for (int m = 0; m < COUNT(ways); m++)
        for (int n = 0; n < COUNT(kernels); n++)
            for (int k = 1; is_refused(ways[m], kernels[n], k); k++) refused++;
    unlink(file_name);
    print_message("%d blocks refused\n", refused);
    assert_true(refused > 200);
}

TEST_MAIN(take_backend, NULL, NULL)
