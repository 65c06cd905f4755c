/* test_nomem.c: the k-th allocation fails, for every k, on the way from a context to a product:
 * nothing crashes, nothing leaks, the status is SPMV_E_NOMEM and the result NULL. malloc and its
 * kin are defined here, so that the library calls these; calls from other libraries (OpenMP, libc)
 * are let through, since some of them cannot fail. */
#include "testing.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define OTHER_MALLOC 1
#else
#define OTHER_MALLOC 0
#endif

static long fail_at; /* the allocation to refuse, from 1; 0: none. Atomic: threads allocate too. */
static long allocations;   /* asked for so far */
static bool keeps_failing; /* every later one fails as well */
static long live;          /* allocated by the program and not freed */

#if !OTHER_MALLOC
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);
extern void *__libc_memalign(size_t align, size_t bytes);
extern void __libc_free(void *memory);
extern char __executable_start, etext; /* the linker's: where this program's code is */

enum { MOST_LIVE = 1 << 14 };
static void *living[MOST_LIVE]; /* open addressing; what free is to count, since libc frees its own
                                   through here */
static bool is_watching;
static char removed; /* its address marks a place that was in use */

static size_t place_of(const void *memory) {
    return (size_t)(((uintptr_t)memory >> 4) * 0x9e3779b97f4a7c15u >> 50);
}

static void note(void *memory) {
    if (!is_watching || !memory) return;
#pragma omp critical(living)
    {
        size_t k = place_of(memory);
        while (living[k] && living[k] != &removed) k = (k + 1) % MOST_LIVE;
        living[k] = memory;
        live++;
    }
}

static void forget(const void *memory) {
    if (!is_watching || !memory) return;
#pragma omp critical(living)
    {
        size_t k = place_of(memory);
        while (living[k] && living[k] != memory) k = (k + 1) % MOST_LIVE;
        if (living[k]) living[k] = &removed, live--;
    }
}

static bool is_ours(const void *caller) {
    return is_watching && (const char *)caller >= &__executable_start &&
           (const char *)caller < &etext;
}

static bool is_refused(const void *caller) {
    if (!is_ours(caller)) return false;
    long k = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);
    return fail_at && (k == fail_at || (keeps_failing && k > fail_at));
}

static void *noted(void *memory, const void *caller) {
    if (is_ours(caller)) note(memory);
    return memory;
}

void *malloc(size_t bytes) {
    const void *caller = __builtin_return_address(0);
    return is_refused(caller) ? NULL : noted(__libc_malloc(bytes), caller);
}

void *calloc(size_t count, size_t bytes) {
    const void *caller = __builtin_return_address(0);
    return is_refused(caller) ? NULL : noted(__libc_calloc(count, bytes), caller);
}

void *aligned_alloc(size_t align, size_t bytes) {
    const void *caller = __builtin_return_address(0);
    return is_refused(caller) ? NULL : noted(__libc_memalign(align, bytes), caller);
}

void *realloc(void *memory, size_t bytes) {
    const void *caller = __builtin_return_address(0);
    if (is_refused(caller)) return NULL;
    forget(memory);
    void *moved = __libc_realloc(memory, bytes);
    if (!moved && memory && bytes) note(memory);
    return noted(moved, caller);
}

void free(void *memory) {
    forget(memory);
    __libc_free(memory);
}

static void watch(bool on) {
    if (on) memset(living, 0, sizeof living);
    is_watching = on;
}
#else
static void watch(bool on) {
    (void)on;
}
#endif

/* ---- the pipeline --------------------------------------------------------------------------- */

typedef struct source { /* how a matrix is made */
    const char *path;   /* NULL: of entries */
    const entries *entries;
    unsigned flags;
    bool as_rows;
} source;

static uint64_t right_hash; /* hash of the matrix if nothing fails; 0: not computed yet */
static bool choosy;         /* the kernel takes symmetric matrices only, and may say so */
static const char *failure; /* what is wrong with how a failure was reported; NULL: nothing */

/* A failed step answers SPMV_E_NOMEM and NULL. Nothing here may allocate. */
static bool is_made(spmv_status status, const void *out) {
    if (status == SPMV_OK) {
        if (!out) failure = "success, but no result";
        return out != NULL;
    }
    if (status != SPMV_E_NOMEM && !(choosy && status == SPMV_E_UNSUITABLE))
        failure = spmv_strerror(status);
    if (out) failure = "a result in spite of a failure";
    return false;
}

static spmv_status make_matrix(spmv_ctx *ctx, const source *from, spmv_mat **out) {
    if (from->path) return spmv_mat_load(ctx, from->path, NULL, out);
    spmv_coo_view view = view_of(from->entries);
    if (!from->as_rows) return spmv_mat_coo(ctx, &view, from->flags, out);
    static const int64_t row_ptr[] = {0, 2, 3, 5};
    static const int32_t col_idx[] = {2, 0, 1, 1, 0};
    static const double values[] = {1, 2, 3, 4, 5};
    const spmv_csr_view rows = CSR_VIEW(3, 3, 5, row_ptr, col_idx, values);
    return spmv_mat_csr(ctx, &rows, out);
}

static void try_plan(spmv_mat *mat, const char *kernel, spmv_precision precision) {
    static double x[512], y[512];
    spmv_plan *plan = (spmv_plan *)x;
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = kernel, .precision = precision};
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    if (is_made(status, plan)) {
        void *memory = x;
        status = spmv_exec(plan, 1, x, 0, y);
        if (status != SPMV_OK && status != SPMV_E_NOMEM) failure = "the product failed";
        status = spmv_plan_alloc(plan, sizeof x, &memory);
        if (is_made(status, memory)) spmv_plan_release(plan, memory);
    }
    if (status == SPMV_OK || plan) spmv_plan_free(plan);
}

/* Goes from nothing to a product and back, as far as memory goes. */
static void run_pipeline(const source *from, const char *kernel, spmv_precision precision,
                         int threads) {
    spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads};
    spmv_ctx *ctx = (spmv_ctx *)&opts;
    spmv_mat *mat = (spmv_mat *)&opts;
    spmv_status status = spmv_ctx_create(&opts, &ctx);
    if (!is_made(status, ctx)) return;
    status = make_matrix(ctx, from, &mat);
    if (is_made(status, mat)) {
        if (right_hash && mat->stats.hash != right_hash) failure = "success, but another matrix";
        right_hash = mat->stats.hash;
        try_plan(mat, kernel, precision);
        try_plan(mat, kernel, precision); /* after a failure the matrix must be as good as before */
        spmv_mat_free(mat);
    } else if (status != SPMV_OK && !*spmv_ctx_error(ctx)) {
        failure = "no text";
    }
    spmv_ctx_free(ctx);
}

/* Runs with the k-th allocation refused, and those behind it or not; true when there were so many.
 */
static bool fails_well(const source *from, const char *kernel, spmv_precision precision,
                       int threads, long k, bool all) {
    allocations = live = 0;
    failure = NULL;
    fail_at = k;
    keeps_failing = all;
    watch(true);
    run_pipeline(from, kernel, precision, threads);
    watch(false);
    fail_at = 0;
    if (failure || live)
        fail_msg("%s, %s, %d threads, allocation %ld%s: %s, %ld blocks leaked", kernel,
                 from->path ? from->path : "entries", threads, k, all ? " and all behind it" : "",
                 failure ? failure : "", live);
    return k && allocations >= k;
}

static long refuse_each(const source *from, const char *kernel, spmv_precision precision,
                        int threads) {
    long tried = 0;
    right_hash = 0;
    fails_well(from, kernel, precision, threads, 0,
               false); /* OpenMP makes its threads, libc its buffers */
    for (int all = 0; all < 2; all++)
        for (long k = 1; fails_well(from, kernel, precision, threads, k, all); k++) tried++;
    return tried;
}

static long refuse_each_of_every_kernel(const source *from) {
    long tried = 0;
    for (int k = 0; k < spmv_omp.nkernels; k++) {
        char name[64];
        if (!is_here(&spmv_omp, k)) continue;
        full_name(&spmv_omp, k, name);
        choosy = spmv_omp.kernels[k][0]->traits & SPMV_NEEDS_SYMMETRY;
        tried += refuse_each(from, name, k % 2 ? SPMV_F32 : SPMV_F64, 1);
    }
    choosy = false;
    tried += refuse_each(from, "omp:auto", SPMV_F64, 1);
    return tried + refuse_each(from, "omp:csr_rows", SPMV_F64, 3);
}

static bool is_left_out(void) {
    if (OTHER_MALLOC) print_message("left out: a sanitizer has a malloc of its own\n");
    return OTHER_MALLOC;
}

/* ---- tests ---------------------------------------------------------------------------------- */

/* The wrappers see what the library asks for: without this a build that bypasses them would pass.
 */
TEST(allocations_are_seen) {
    if (is_left_out()) skip();
    const source diagonal = {.path = "gen:diagonal:9"};
    assert_false(fails_well(&diagonal, "omp:csr_rows", SPMV_F64, 1, 0, false));
    assert_in_range(allocations, 10, 1000);
    fail_at = 0, allocations = live = 0;
    watch(true);
    void *memory = spmv_host_alloc(100);
    long seen = live;
    spmv_host_free(memory);
    long left = live;
    watch(false);
    assert_true(memory && seen == 1 && left == 0);
}

/* Long rows out of order with duplicates: the row sort allocates too. */
TEST(of_entries) {
    if (is_left_out()) skip();
    FREED(entries) e = {.rows = 30, .cols = 200};
    for (int64_t i = 0; i < e.rows; i++) add_row(&e, i, i % 7 == 3 ? 100 : i % 5);
    add_random(&e, e.row[0], e.col[0]);
    shuffle(&e, 1);
    const source copied = {.entries = &e}, borrowed = {.entries = &e, .flags = SPMV_BORROW};
    long tried =
        refuse_each_of_every_kernel(&copied) + refuse_each(&borrowed, "omp:csr_rows", SPMV_F64, 1);
    print_message("%ld allocations refused\n", tried);
}

TEST(of_a_pattern) {
    if (is_left_out()) skip();
    FREED(entries) e = entries_of(fixture_named("pattern"));
    const source pattern = {.entries = &e};
    print_message("%ld allocations refused\n", refuse_each(&pattern, "omp:csr_rows", SPMV_F64, 1));
}

TEST(of_rows) {
    if (is_left_out()) skip();
    const entries none = {.rows = 0};
    const source rows = {.entries = &none, .as_rows = true};
    print_message("%ld allocations refused\n", refuse_each(&rows, "omp:csr_rows", SPMV_F64, 1));
}

TEST(of_generated_matrices) {
    if (is_left_out()) skip();
    static const char *const specs[] = {"gen:random:50:5",   "gen:poisson2d:7", "gen:powerlaw:60:4",
                                        "gen:rmat:5:3",      "gen:mesh:60",     "gen:road:60",
                                        "gen:permutation:30"};
    long tried = 0;
    for (int k = 0; k < COUNT(specs); k++) {
        const source generated = {.path = specs[k]};
        tried += k ? refuse_each(&generated, "omp:csr_rows", SPMV_F64, 1)
                   : refuse_each_of_every_kernel(&generated);
    }
    print_message("%ld allocations refused\n", tried);
}

TEST(of_a_file) {
    if (is_left_out()) skip();
    char path[] = "/tmp/spmv_test_nomem_XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    spmv_ctx *ctx = context_of(1);
    spmv_mat *mat = must_load(ctx, "gen:random:40:5");
    assert_int_equal(spmv_mat_save(mat, path), SPMV_OK);
    spmv_mat_free(mat);
    spmv_ctx_free(ctx);
    const source saved = {.path = path};
    long tried = refuse_each(&saved, "omp:csr_rows", SPMV_F64, 1) +
                 refuse_each(&saved, "omp:csr_rows", SPMV_F64, 3);
    print_message("%ld allocations refused\n", tried);
    unlink(path);
}

TEST_MAIN(wait_without_spinning, NULL, NULL)
