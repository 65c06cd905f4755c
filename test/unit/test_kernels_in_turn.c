/* test_kernels_in_turn.c: plans that live beside each other and products that follow each other:
 * sharing a matrix, waiting for the product in front, giving memory back. */
#include "kernels.h"

/* Plans of every kernel live at once on one matrix, host and device taking turns, and are freed in
 * either order. */
static void plans_share_a_matrix(void **state) {
    (void)state;
    subject s = fixture_subject("empty rows", 2);
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
    fixture_subject_free(&s);
}

/* So many products, each of the y of the one before; waited for one at a time, or at the end. */
static void run_chain(const subject *s, const spmv_plan *plan, const setup *c, bool queued,
                      char *out) {
    enum { LINKS = 40 };
    const spmv_backend *backend = plan->device->backend;
    size_t width = width_of(c->precision), bytes = (size_t)s->rows * width;
    void *v[2] = {NULL};
    for (int k = 0; k < 2; k++) {
        assert_int_equal(spmv_plan_alloc(plan, bytes, &v[k]), SPMV_OK);
        const char *from = s->x[c->precision];
        assert_int_equal(spmv_plan_put(plan, v[k], from + GUARD * width, bytes), SPMV_OK);
    }
    for (int l = 0; l < LINKS; l++) {
        spmv_status status = plan->kernel->run(plan, 0.3, v[l % 2], 0, v[1 - l % 2]);
        if (status == SPMV_OK && !queued) status = backend->sync(plan->device);
        if (status != SPMV_OK) complain_about(c, s, spmv_ctx_error(s->mat->ctx));
    }
    assert_int_equal(backend->sync(plan->device), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, out, v[LINKS % 2], bytes), SPMV_OK);
    for (int k = 0; k < 2; k++) spmv_plan_release(plan, v[k]);
}

/* A kernel that starts before the one in front of it has ended reads nothing too early. */
static void try_chain(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                      const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, k, variant);
        spmv_plan *plan = kernel->traits & SPMV_DETERMINISTIC ? plan_of(&c, s) : NULL;
        size_t bytes = (size_t)s->rows * width_of(c.precision);
        if (!plan) continue;
        char *one = malloc(bytes), *queued = malloc(bytes);
        assert_true(one && queued);
        run_chain(s, plan, &c, false, one);
        for (int turn = 0; turn < 3; turn++) {
            run_chain(s, plan, &c, true, queued);
            tally.products++;
            if (memcmp(one, queued, bytes)) complain_about(&c, s, "read before it was written");
        }
        free(one);
        free(queued);
        spmv_plan_free(plan);
    }
}

/* Rows without entries, alone between long ones: they have nothing to wait for but each other. */
static spmv_mat *rows_apart(spmv_ctx *ctx) {
    enum { ROWS = 900, LONG = 260 };
    entries e = {.rows = ROWS, .cols = ROWS};
    for (int64_t i = 0; i < ROWS; i += 2)
        for (int64_t k = 0; k < LONG; k++)
            add_entry(&e, i, (i + 3 * k) % ROWS, 0.01 * (double)(k % 7 + 1));
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

static void products_wait_for_each_other(void **state) {
    (void)state;
    static const char *const names[] = {"gen:poisson2d:9", "gen:mesh:3000", "gen:giantrow:3000",
                                        "gen:poisson2d:200", "rows apart"};
    spmv_ctx *ctx = context_of(2);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        spmv_mat *mat = NULL;
        if (strncmp(names[n], "gen:", 4) == 0)
            assert_int_equal(spmv_mat_load(ctx, names[n], NULL, &mat), SPMV_OK);
        else
            mat = rows_apart(ctx);
        subject s = random_subject(mat, names[n]);
        visit_kernels(try_chain, &s);
        assert_true(tally.products > 0);
        assert_int_equal(tally.wrong, 0);
        subject_free(&s);
    }
    spmv_ctx_free(ctx);
}

/* Memory of a device other than the host comes back, also when host and device plans take turns. */
static void device_memory_comes_back(void **state) {
    (void)state;
    subject s = fixture_subject("giant row", 2);
    tally = (struct tally){0};
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        enum { ROUNDS = 100 };
        const size_t noise = 32 << 20;
        spmv_device *device = NULL;
        size_t before = 0;
        if ((*b)->host || !is_usable(s.mat->ctx, *b)) continue;
        assert_int_equal(spmv_ctx_device(s.mat->ctx, *b, &device), SPMV_OK);
        for (int round = 0; round < ROUNDS; round++) {
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
    fixture_subject_free(&s);
}

int main(int argc, char **argv) {
    take_backend(argc, argv);
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans_share_a_matrix),
        cmocka_unit_test(products_wait_for_each_other),
        cmocka_unit_test(device_memory_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
