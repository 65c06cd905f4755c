/* test_kernels_in_turn.c: plans that live beside each other and products that follow each other:
 * sharing a matrix, waiting for the product in front, giving memory back. */
#include "host/context.h"
#include "kernels.h"
#include "matrix/matrix.h"
#include "plan/product.h"
#include <math.h>

/* Plans of every kernel live at once on one matrix, host and device taking turns, and are freed in
 * either order. */
TEST(plans_share_a_matrix) {
    FREED(lone_subject) s = fixture_subject("empty rows", 2);
    enum { MOST = 256 };
    spmv_plan *plan[MOST];
    setup c[MOST];
    int n = 0;
    tally = (struct tally){0};
    for (int k = 0, more = 1; more; k++) {
        more = 0;
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            for (int v = 0;
                 k < (*b)->nkernels && is_usable(s.mat->ctx, *b) && v < SPMV_NVARIANTS && n < MOST;
                 v++) {
                more = 1;
                if (!is_here(*b, k)) continue;
                c[n] = setup_of(*b, k, v);
                plan[n] = plan_of(&c[n], &s);
                n += plan[n] != NULL;
            }
    }
    for (int k = 0; k < n; k++) {
        int p = k % 2 ? n - k / 2 - 1 : k / 2; /* from both ends to the middle */
        workplace w = workplace_of(plan[p], &s, c[p].precision);
        try_product(&c[p], &s, &w, scalings[1]);
        workplace_free(&w);
        spmv_plan_free(plan[p]);
    }
    assert_int_equal(tally.wrong, 0);
}

/* Says how the products of a chain follow each other: waited for one at a time; launched while the
 * device is held, so that they queue up; recorded, as they are timed. */
typedef enum mode { ALONE, QUEUED, RECORDED, NMODES } mode;

/* The products of a chain: an even number. On the host each has ended before the next begins. */
static int links(void) {
    return are_few() ? 4 : 40;
}

static spmv_status follow(const spmv_product *product, double alpha, mode how) {
    spmv_device *d = product->plan->device;
    double seconds;
    if (how == RECORDED) {
        spmv_batch *batch = NULL;
        TRY(spmv_batch_create(product, 2, links(), alpha, 0.5, &batch));
        spmv_status status = spmv_batch_time(batch, &seconds);
        spmv_batch_free(batch);
        return status;
    }
    if (how == QUEUED) TRY(d->backend->tick(d));
    for (int l = 0; l < links(); l++) {
        const spmv_product *p = &product[l % 2];
        const spmv_operands v = spmv_in_place(p->plan, alpha, p->x, 0.5, p->y);
        TRY(spmv_product_run(p->plan, &v));
        if (how == ALONE) TRY(d->backend->sync(d));
    }
    return how == QUEUED ? d->backend->tock(d, &seconds) : SPMV_OK;
}

/* Returns the largest row sum of |A|, at least 1. */
static double norm_of(const subject *s) {
    double most = 1;
    spmv_csr_view A = rows_of(s->mat);
    for (int64_t i = 0; i < A.rows; i++) {
        double sum = 0;
        for (int64_t k = A.row_ptr[i]; k < A.row_ptr[i + 1]; k++) sum += fabs(A.values[k]);
        most = sum > most ? sum : most;
    }
    return most;
}

/* v1 <- alpha A v0 + v1 / 2 by the plan, v0 <- alpha A v1 + v0 / 2 by a copy of it, and so on: each
 * reads what the one before wrote, as x, and the one before that, as y. alpha keeps them below 1.
 * out: v0, then v1. */
static void run_chain(const subject *s, spmv_plan *plan, const setup *c, mode how, char *out) {
    size_t width = width_of(c->precision), bytes = (size_t)s->rows * width;
    const char *from = (const char *)s->x[c->precision] + GUARD * width;
    FREED(spmv_plan) *copy = NULL;
    void *v[2] = {NULL};
    assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(spmv_plan_alloc(plan, bytes, &v[k]), SPMV_OK);
        assert_int_equal(spmv_plan_put(plan, v[k], from, bytes), SPMV_OK);
    }
    const spmv_product product[] = {{.plan = plan, .x = v[0], .y = v[1]},
                                    {.plan = copy, .x = v[1], .y = v[0]}};
    if (follow(product, 0.5 / norm_of(s), how) != SPMV_OK)
        complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    for (int k = 0; k < 2; k++) {
        assert_int_equal(spmv_plan_get(plan, out + (size_t)k * bytes, v[k], bytes), SPMV_OK);
        spmv_plan_release(plan, v[k]);
    }
}

/* Says which modes end with other bits than ALONE, as a set. Infinity and NaN would hide it. */
static unsigned differing_modes(const subject *s, spmv_plan *plan, const setup *c) {
    const int turns = plan->device->backend->host ? 1 : 3; /* on a GPU it is chance */
    unsigned differing = 0;
    size_t bytes = 2 * (size_t)s->rows * width_of(c->precision);
    FREED(char) *alone = malloc(bytes), *other = malloc(bytes);
    assert_true(alone && other);
    run_chain(s, plan, c, ALONE, alone);
    for (int64_t i = 0; i < 2 * s->rows; i++)
        assert_true(fabs(number_at(alone, c->precision, i)) <= 1.1);
    for (int turn = 0; turn < turns; turn++)
        for (mode how = QUEUED; how < NMODES; how++) {
            run_chain(s, plan, c, how, other);
            tally.products++;
            if (memcmp(alone, other, bytes)) differing |= 1u << how;
        }
    return differing;
}

/* A kernel that starts before the one in front of it has ended reads nothing too early. */
static void try_chain(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                      const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        FREED(spmv_plan) *plan = kernel->traits & SPMV_DETERMINISTIC ? plan_of(&c, s) : NULL;
        if (!plan) continue;
        unsigned differing = differing_modes(s, plan, &c);
        if (differing & 1u << QUEUED) complain_about(&c, s, "queued: read before it was written");
        if (differing & 1u << RECORDED)
            complain_about(&c, s, "recorded: read before it was written");
    }
}

/* Rows without entries, alone between long ones: they have nothing to wait for but each other. */
static spmv_mat *rows_apart(spmv_ctx *ctx) {
    enum { ROWS = 900, LONG = 260 };
    FREED(entries) e = {.rows = ROWS, .cols = ROWS};
    for (int64_t i = 0; i < ROWS; i += 2)
        for (int64_t k = 0; k < LONG; k++)
            add_entry(&e, i, (i + 3 * k) % ROWS, 0.01 * (double)(k % 7 + 1));
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

TEST(products_wait_for_each_other) {
    static const char *const names[] = {"gen:poisson2d:9", "gen:mesh:3000", "gen:giantrow:3000",
                                        "gen:poisson2d:200", "rows apart"};
    FREED(spmv_ctx) *ctx = context_of(2);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        spmv_mat *mat = NULL;
        if (is_emulated() && strcmp(names[n], "gen:poisson2d:200") == 0) continue;
        if (strncmp(names[n], "gen:", 4) == 0)
            assert_int_equal(spmv_mat_load(ctx, names[n], NULL, &mat), SPMV_OK);
        else
            mat = rows_apart(ctx);
        FREED(subject) s = random_subject(mat, names[n]);
        visit_kernels(try_chain, &s);
        assert_true(tally.products > 0);
        assert_int_equal(tally.wrong, 0);
    }
}

/* Planted: hasty.cu, which is linked where there is nvcc. */
__attribute__((weak)) spmv_status hasty_run(const spmv_plan *p, const spmv_operands *v);
__attribute__((weak)) bool hasty_overlaps(int capability);

TEST(a_product_that_does_not_wait_is_caught) {
    spmv_ctx *ctx = context_of(2);
    spmv_device_facts facts;
    bool can_overlap = hasty_run && is_usable(ctx, &spmv_cuda) &&
                       spmv_ctx_describe(ctx, &spmv_cuda, &facts) == SPMV_OK &&
                       hasty_overlaps(facts.cc);
    if (!can_overlap) {
        spmv_ctx_free(ctx);
        skip();
    }
    spmv_mat *mat = must_load(ctx, "gen:mesh:3000");
    subject s = random_subject(mat, "gen:mesh:3000");
    setup c = {.kernel = "cuda:csr_warp", .precision = SPMV_F64, .offset_bits = 32};
    spmv_plan *plan = plan_of(&c, &s);
    assert_non_null(plan);
    const spmv_kernel *shipped = plan->kernel;
    spmv_kernel hasty = *shipped;
    hasty.run = hasty_run;
    plan->kernel = &hasty;
    tally = (struct tally){0};
    workplace w = workplace_of(plan, &s, c.precision);
    try_product(&c, &s, &w, scalings[1]); /* alone it is right */
    workplace_free(&w);
    assert_int_equal(tally.wrong, 0);
    assert_int_equal(differing_modes(&s, plan, &c), 1u << QUEUED | 1u << RECORDED);
    plan->kernel = shipped;
    spmv_plan_free(plan);
    subject_free(&s);
    spmv_ctx_free(ctx);
}

/* Memory of a device other than the host comes back, also when host and device plans take turns. */
TEST(device_memory_comes_back) {
    FREED(lone_subject) s = fixture_subject("giant row", 2);
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        const int rounds = is_emulated() ? 3 : 100;
        const size_t noise = 32 << 20;
        spmv_device *device = NULL;
        size_t before = 0;
        if ((*b)->host || !is_usable(s.mat->ctx, *b)) continue;
        assert_int_equal(spmv_ctx_device(s.mat->ctx, *b, &device), SPMV_OK);
        for (int round = 0; round < rounds; round++) {
            if (round == 1) before = (*b)->free_bytes(device); /* the first loads the code */
            for (int k = 0; k < (*b)->nkernels; k++) {
                setup on_host =
                    setup_of(spmv_backends[0], k % spmv_backends[0]->nkernels, SPMV_F64_O32);
                setup on_device = setup_of(*b, k, SPMV_F64_O32);
                if (is_here(spmv_backends[0], k % spmv_backends[0]->nkernels))
                    spmv_plan_free(plan_of(&on_host, &s));
                if (is_here(*b, k)) spmv_plan_free(plan_of(&on_device, &s));
            }
        }
        spmv_mat_drop_stores(s.mat);
        assert_in_range((*b)->free_bytes(device) + noise, before, SIZE_MAX);
    }
    assert_int_equal(tally.wrong, 0);
}

TEST_MAIN(take_backend, NULL, NULL)
