/* test_kernels.c: the acceptance gate: every kernel of every backend at hand, whatever their names,
 * on every fixture, with every alpha and beta, setting, precision, offset width and number of
 * threads, against the program's own check. A new kernel is tested without a change here. With
 * SPMV_FEW_PRODUCTS set, as where every line is counted, it takes one number of threads. */
#include "kernels.h"
#include "walled.h"

enum { NTHREADS = 4, MANY_ROWS = 1 << 16 }; /* many: one number of threads, to save time */
static const int thread_counts[NTHREADS] = {1, 2, 3, 5};

/* Each parameter varied alone, then a few of all at once. */
static void try_settings(const setup *plain, const spmv_kernel *kernel, const subject *s,
                         uint64_t seed) {
    enum { COMBINATIONS = 3 };
    int turn = (int)(seed % COUNT(scalings));
    for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
        values v = values_of(p, s->rows, s->cols);
        for (int k = 0; k < v.count; k++) {
            setup c = *plain;
            set(&c, p, v.value[k]);
            try_setup(&c, s, &scalings[turn++ % COUNT(scalings)], 1);
        }
    }
    for (int n = 0; n < COMBINATIONS; n++) {
        setup c = *plain;
        for (const spmv_param *p = params_of(kernel); p->id != SPMV_NPARAMS; p++) {
            values v = values_of(p, s->rows, s->cols);
            set(&c, p, v.value[draw_below(&seed, v.count)]);
        }
        try_setup(&c, s, &scalings[turn++ % COUNT(scalings)], 1);
    }
}

TEST(backends_say_whether_they_are_here) {
    FREED(spmv_ctx) *ctx = context_of(1);
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        bool usable = is_usable(ctx, *b);
        print_message("%s: %d kernels, %s\n", (*b)->name, (*b)->nkernels,
                      usable          ? "tested"
                      : (*b)->kernels ? spmv_ctx_error(ctx)
                                      : "not built in: not tested");
        if ((*b)->host) assert_true(usable);
        for (int k = 0; usable && k < (*b)->nkernels; k++)
            for (int v = 0; v < SPMV_NVARIANTS; v++)
                assert_string_equal((*b)->kernels[k][v]->name, (*b)->names[k]);
    }
}

/* Every variant with its defaults; settings with every other one, which turns with the threads, to
 * save time. */
static void try_kernel(const spmv_backend *backend, int k, const subject *s, int turn) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup plain = setup_of(backend, k, variant);
        try_setup(&plain, s, scalings, COUNT(scalings));
        if (!backend->host || (variant + turn) % 2)
            try_settings(&plain, backend->kernels[k][variant], s,
                         (uint64_t)(turn * SPMV_NVARIANTS + variant));
    }
}

/* auto is a kernel as any other to who asks for it, and it refuses nothing. */
static void try_auto(const spmv_backend *backend, const subject *s) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        setup c = setup_of(backend, 0, variant);
        snprintf(c.kernel, sizeof c.kernel, "%s:auto", backend->name);
        int64_t refused = tally.refused;
        try_setup(&c, s, scalings, COUNT(scalings));
        if (tally.refused != refused) complain_about(&c, s, "refused");
    }
}

/* A kernel that refuses nearly everything would pass without being tested. */
static void try_backend(const spmv_backend *backend) {
    int64_t products = 0, refused = 0, wrong = 0;
    for (int k = SPMV_AUTO; k < backend->nkernels; k++) {
        if (!is_wanted(backend, k) || (k != SPMV_AUTO && !is_here(backend, k))) continue;
        bool peer = k != SPMV_AUTO && backend->kernels[k][0]->traits & SPMV_PEER;
        tally = (struct tally){0};
        for (int t = 0; t < NTHREADS; t++) {
            if ((!backend->host || are_few()) && thread_counts[t] != 3)
                continue; /* only the host counts threads */
            FREED(spmv_ctx) *ctx = context_of(thread_counts[t]);
            for (int f = 0; f < COUNT(fixtures); f++) {
                if (fixtures[f].rows > MANY_ROWS &&
                    (thread_counts[t] != 3 || is_emulated() || are_few()))
                    continue;
                FREED(entries) e = entries_of(&fixtures[f]);
                FREED(subject) s = random_subject(matrix_of(ctx, &e), fixtures[f].name);
                if (k == SPMV_AUTO)
                    try_auto(backend, &s);
                else
                    try_kernel(backend, k, &s, f * NTHREADS + t);
            }
        }
        bool choosy = k >= 0 && backend->kernels[k][0]->traits & SPMV_NEEDS_SYMMETRY;
        int64_t expected = tally.refused - tally.refused_wide; /* some have no wide variant */
        if (choosy) expected = 1;                              /* takes what it can */
        if (peer) { /* takes what its library can, if that is installed */
            if (tally.products == 0) print_message("%s: not tested\n", backend->names[k]);
            expected = 0;
        }
        if (tally.products < expected)
            print_error("%s: refuses most of it\n", k < 0 ? "auto" : backend->names[k]), wrong++;
        products += tally.products, refused += tally.refused, wrong += tally.wrong;
    }
    print_message("%s: %lld products of %d kernels and of auto checked, %lld configurations "
                  "refused, %lld wrong\n",
                  backend->name, (long long)products, count_here(backend), (long long)refused,
                  (long long)wrong);
    assert_int_equal(wrong, 0);
}

/* ---- nothing around an array is read --------------------------------------------------------- */

/* Memory of a context begins behind a wall, or it ends in front of one, but for its alignment. */
static bool ends_at_wall;

static void *take_walled(void *user, spmv_place place, size_t bytes, void *stream) {
    const walled w = walled_off(bytes);
    (void)user, (void)place, (void)stream;
    return ends_at_wall ? w.bytes : w.first;
}

static void give_walled(void *user, spmv_place place, void *memory, size_t bytes, void *stream) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    (void)user, (void)place, (void)stream;
    munmap((char *)memory - (uintptr_t)memory % page - page,
           (bytes + page - 1) / page * page + 2 * page);
}

/* Makes a context for kernels on CPUs: its allocator has no memory of a GPU. */
static spmv_ctx *walled_context(int threads) {
    static const spmv_allocator walls = {take_walled, give_walled, NULL};
    const spmv_ctx_opts opts = {.size = sizeof opts, .threads = threads, .allocator = &walls};
    spmv_ctx *ctx = NULL;
    assert_int_equal(spmv_ctx_create(&opts, &ctx), SPMV_OK);
    return ctx;
}

/* k vectors x, which begin behind one wall, or end in front of one. */
static void multiply_walled(const spmv_plan *plan, const subject *s, spmv_precision precision,
                            int64_t k, spmv_layout layout) {
    const size_t width = width_of(precision), bytes = (size_t)(s->cols * k) * width;
    const walled x = walled_off(bytes);
    char *const places[] = {x.first, x.bytes};
    char *z = malloc((size_t)(s->rows * k) * width + 1);
    assert_non_null(z);
    for (int p = 0; p < COUNT(places); p++) {
        const spmv_call call = {
            .size = sizeof call, .x = places[p], .z = z, .k = k, .layout = layout};
        for (int64_t j = 0; j < k; j++)
            memcpy(places[p] + j * (int64_t)(bytes / (size_t)k),
                   (const char *)s->x[precision] + GUARD * width, bytes / (size_t)k);
        assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    }
    free(z);
    munmap(x.all, x.size);
}

static void try_walled(int k, const subject *s) {
    static const int variants[] = {SPMV_F64_O32, SPMV_F32_O32};
    const spmv_param *isa = spmv_param_of(spmv_omp.kernels[k][0], SPMV_isa);
    for (int v = 0; v < COUNT(variants); v++)
        for (int64_t with = 0; with <= (isa ? best_isa() : 0); with++) {
            setup c = setup_of(&spmv_omp, k, variants[v]);
            if (isa) set(&c, isa, with);
            FREED(spmv_plan) *plan = plan_of(&c, s);
            if (!plan) continue;
            multiply_walled(plan, s, c.precision, 1, SPMV_COLUMNS);
            multiply_walled(plan, s, c.precision, 3, SPMV_COLUMNS);
            multiply_walled(plan, s, c.precision, 3, SPMV_ROWS);
        }
}

TEST(nothing_around_x_and_the_matrix_is_read) {
    static const char *const names[] = {"every length", "dense",   "runs",
                                        "symmetric",    "one row", "wide"};
    for (int n = 0; n < 2 * COUNT(names); n++) {
        FREED(entries) e = entries_of(fixture_named(names[n / 2]));
        ends_at_wall = n % 2;
        subject s = random_subject(matrix_of(walled_context(2), &e), names[n / 2]);
        for (int k = 0; k < spmv_omp.nkernels; k++)
            if (is_here(&spmv_omp, k) && is_wanted(&spmv_omp, k)) try_walled(k, &s);
        fixture_subject_free(&s);
    }
}

/* One variant with its defaults, another with each kernel and number of threads. */
static void try_one_variant(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                            const subject *s) {
    const int threads = spmv_ctx_threads(s->mat->ctx);
    const setup plain = setup_of(backend, k, (k + threads) % SPMV_NVARIANTS);
    (void)kernel;
    if (backend->host) try_setup(&plain, s, &scalings[threads % COUNT(scalings)], 1);
}

/* Every kernel by every number of threads up to thirteen, on a matrix that is large enough for a
 * team, and on small ones. */
TEST(any_number_of_threads_is_right) {
    enum { MOST = 13 };
    static const char *const names[] = {"every length", "symmetric", "long tail"};
    for (int threads = 1; threads <= MOST; threads += are_few() ? 4 : 1) {
        int64_t wrong = 0;
        for (int f = 0; f < COUNT(names); f++) {
            FREED(lone_subject) s = fixture_subject(names[f], threads);
            visit_kernels(try_one_variant, &s);
            wrong += tally.wrong;
        }
        spmv_mat *mat = must_load(context_of(threads), "gen:random:15000:5");
        subject s = random_subject(mat, "for teams");
        visit_kernels(try_one_variant, &s);
        wrong += tally.wrong;
        fixture_subject_free(&s);
        assert_int_equal(wrong, 0);
    }
}

/* Makes rows of 0 to 12 entries whose columns are too far apart for 16 bits: slices of them have
 * padding and tails. few: three values, which codes hold. */
static entries far_columns(bool few) {
    enum { ROWS = 61, APART = 11000 };
    static const double three[] = {0.1, -7.25, 1e30};
    entries e = {.rows = ROWS, .cols = ROWS + 12 * APART};
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < i * 7 % 13; k++)
            add_entry(&e, i, i + APART * k,
                      few ? three[(i + k) % 3] : random_entry(3, (uint64_t)e.nnz));
    return e;
}

static void try_every_way(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                          const subject *s) {
    const spmv_param *isa = spmv_param_of(kernel, SPMV_isa);
    const spmv_param *codes = spmv_param_of(kernel, SPMV_codes);
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++)
        for (int64_t way = 0; way <= (isa ? best_isa() : 0); way++)
            for (int64_t coded = 0; coded <= (codes ? 1 : 0); coded++) {
                setup c = setup_of(backend, k, variant);
                if (isa && !spmv_param_takes(isa, way)) continue;
                if (isa) set(&c, isa, way);
                if (codes) set(&c, codes, coded);
                try_setup(&c, s, &scalings[(variant + way + coded) % COUNT(scalings)], 1);
            }
}

TEST(columns_may_be_far_apart) {
    for (int few = 0; few < 2; few++) {
        FREED(entries) e = far_columns(few);
        subject s = random_subject(matrix_of(context_of(3), &e), "far columns");
        visit_kernels(try_every_way, &s);
        assert_int_equal(tally.wrong, 0);
        fixture_subject_free(&s);
    }
}

TEST(every_product_is_right) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        spmv_ctx *ctx = context_of(1);
        bool usable = is_tested(ctx, *b);
        spmv_ctx_free(ctx);
        if (usable) try_backend(*b);
    }
}

TEST_MAIN(take_backend, NULL, NULL)
