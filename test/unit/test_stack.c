/* test_stack.c: what a product takes of its caller's stack, by every kernel of a host, with several
 * vectors and sums on the way: no more than docs/howto/sharing.md says. */
#include "kernels.h"
#include <pthread.h>
#include <sys/mman.h>

enum { STACK = 1 << 18, MOST_BYTES = 40000, MARK = 0x5a, VECTORS = 9, ROWS = 10000 };
enum { WALL = 1 << 24 }; /* inaccessible bytes below the stack */

static unsigned char *stack; /* [STACK] of every thread here */
static int64_t most_used;

static void *apply(void *call) {
    const spmv_plan *plan = ((spmv_product *)call)->plan;
    const spmv_call *c = ((spmv_product *)call)->x;
    if (plan && spmv_apply(plan, c, NULL) != SPMV_OK) return call;
    return NULL;
}

/* Returns how many bytes of its stack a thread has written to that multiplies; without a plan, one
 * that does nothing. */
static int64_t bytes_of(const spmv_plan *plan, const spmv_call *call) {
    const spmv_product what = {.plan = plan, .x = call};
    pthread_attr_t attr;
    pthread_t thread;
    void *failed = NULL;
    int64_t free_bytes = 0;
    memset(stack, MARK, STACK);
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstack(&attr, stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, apply, (void *)(uintptr_t)&what), 0);
    pthread_join(thread, &failed);
    pthread_attr_destroy(&attr);
    assert_null(failed);
    while (free_bytes < STACK && stack[free_bytes] == MARK) free_bytes++;
    return STACK - free_bytes;
}

/* Rows and columns of k vectors, with both sums. */
static void try_call(const setup *c, const subject *s, const spmv_plan *plan, int64_t k,
                     spmv_layout layout, char *memory) {
    const size_t width = width_of(c->precision), n = (size_t)(VECTORS * ROWS) * width;
    const int64_t nothing = bytes_of(NULL, NULL);
    const spmv_call call =
        WITH(spmv_call, .x = memory, .z = memory + n, .w = memory + n, .dot_wz = memory + 2 * n,
             .dot_zz = memory + 2 * n + VECTORS * width, .k = k, .layout = layout);
    const int64_t used = bytes_of(plan, &call) - nothing;
    tally.products++;
    if (used > most_used) most_used = used;
    if (used > MOST_BYTES) {
        char what[120];
        snprintf(what, sizeof what, "%d vectors, layout %d: %d bytes of stack", (int)k, layout,
                 (int)used);
        complain_about(c, s, what);
    }
}

static void try_kernel(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    static const int variants[] = {SPMV_F64_O32, SPMV_F32_O64};
    static char memory[(2 * VECTORS * ROWS + 2 * VECTORS) * sizeof(double)];
    (void)kernel;
    for (int v = 0; backend->host && v < COUNT(variants); v++)
        for (int several = 0; several < 2; several++) {
            const setup c = setup_of(backend, k, variants[v]);
            const spmv_plan_opts opts =
                WITH(spmv_plan_opts, .kernel = c.kernel, .precision = c.precision,
                     .offset_bits = c.offset_bits, .vectors = several ? VECTORS : 1,
                     .layout = several ? SPMV_ROWS : 0);
            FREED(spmv_plan) *plan = NULL;
            if (spmv_plan_create(s->mat, &opts, &plan) != SPMV_OK) continue; /* as it may */
            try_call(&c, s, plan, 1, SPMV_COLUMNS, memory);
            try_call(&c, s, plan, 3, SPMV_ROWS, memory);
            try_call(&c, s, plan, VECTORS, SPMV_ROWS, memory);
            try_call(&c, s, plan, VECTORS, SPMV_COLUMNS, memory);
        }
}

TEST(a_product_takes_little_stack) {
#ifdef __SANITIZE_ADDRESS__
    skip(); /* the sanitizer needs additional stack */
#endif
    FREED(spmv_ctx) *ctx = context_of(2);
    subject s = {.name = "poisson2d:100"};
    assert_int_equal(spmv_mat_load(ctx, "gen:poisson2d:100", NULL, &s.mat), SPMV_OK);
    unsigned char *all = mmap(NULL, WALL + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(all != MAP_FAILED);
    stack = all + WALL;
    assert_int_equal(mprotect(stack, STACK, PROT_READ | PROT_WRITE), 0);
    visit_kernels(try_kernel, &s);
    print_message("%lld products, at most %lld bytes\n", (long long)tally.products,
                  (long long)most_used);
    assert_true(tally.products > 0);
    assert_int_equal(tally.wrong, 0);
    munmap(all, WALL + STACK);
    spmv_mat_free(s.mat);
}

TEST_MAIN(take_backend, NULL, NULL)
