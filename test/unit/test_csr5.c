/* test_csr5.c: the shapes of CSR5's tiles, their descriptors against counting, the bytes that a
 * product reads, and its kernels, with and without gather instructions, on rows over many tiles,
 * many empty rows and an infinite entry of x. */
#include "kernels.h"
#include "formats/papers/csr5/csr5.h"

TEST(shapes_are_the_paper_s) {
    static const struct {
        int64_t lanes, rows, nnz;
        int vector_bytes, is_lanes, is_height, is_words;
    } of[] = {
        {0, 9, 90, 32, 4, 16, 1},      {0, 9, 90, 64, 8, 12, 1},
        {32, 0, 0, 0, 32, 4, 1},       {32, 100, 200, 0, 32, 4, 1},
        {32, 100, 499, 0, 32, 4, 1},   {32, 100, 500, 0, 32, 5, 1},
        {32, 100, 1700, 0, 32, 17, 1}, {32, 100, 1800, 0, 32, 18, 2},
        {32, 100, 3200, 0, 32, 32, 2}, {32, 100, 25600, 0, 32, 32, 2},
        {32, 100, 25700, 0, 32, 4, 1},
    };
    for (int k = 0; k < COUNT(of); k++) {
        const spmv_csr_view A = {
            .size = sizeof(spmv_csr_view), .rows = of[k].rows, .cols = 1000, .nnz = of[k].nnz};
        spmv_choice c = {{0}};
        c.value[SPMV_lanes] = of[k].lanes;
        const csr5_shape s = csr5_shape_of(&A, &c, of[k].vector_bytes);
        assert_int_equal(s.lanes, of[k].is_lanes);
        assert_int_equal(s.height, of[k].is_height);
        assert_int_equal(s.words, of[k].is_words);
    }
}

/* Checks what an automatic store gets. */
TEST(tiles_are_as_wide_as_the_best_vectors) {
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(entries) e = random_matrix(1, 70, 90, 9);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    const int64_t best = best_isa();
    for (int n = 0; n < SPMV_NVARIANTS * best; n++) {
        const int variant = (int)(n / best);
        const int64_t isa = 1 + n % best;
        const size_t width = variant == SPMV_F64_O32 || variant == SPMV_F64_O64 ? 8 : 4;
        const spmv_choice automatic = {{0}};
        FREED(spmv_store) *store = NULL;
        spmv_csr_view A = rows_of(mat);
        pretend_isa(isa);
        assert_int_equal(spmv_format_named("csr5", variant)->build(ctx, &A, &automatic, 2, &store),
                         SPMV_OK);
        assert_int_equal((size_t)((const csr5 *)store)->shape.lanes * width,
                         isa == ISA_AVX512 ? 64 : 32);
    }
    pretend_isa(best);
}

/* ---- descriptors ----------------------------------------------------------------------------- */

/* Says whether entry k begins a segment: it is the first of its row, or of its tile. */
static bool begins_at(const spmv_csr_view *A, int64_t size, int64_t k) {
    for (int64_t i = 0; i < A->rows; i++)
        if (A->row_ptr[i] == k && A->row_ptr[i + 1] > k) return true;
    return k % size == 0;
}

static void check_tile(const csr5 *B, const spmv_csr_view *A, int64_t t) {
    const csr5_shape s = B->shape;
    const int64_t size = csr5_tile_size(&s);
    uint64_t before = 0, flags[CSR5_MOST_LANES] = {0};
    for (int l = 0; l < s.lanes; l++)
        for (int j = 0; j < s.height; j++)
            if (begins_at(A, size, t * size + l * s.height + j)) flags[l] |= 1ull << j;
    for (int l = 0; l < s.lanes; l++) {
        uint64_t following = 0, desc = 0;
        while (l + 1 + (int)following < s.lanes && flags[l + 1 + (int)following] == 0) following++;
        for (int w = s.words - 1; w >= 0; w--)
            desc = desc << 32 | B->tile_desc[(t * s.words + w) * s.lanes + l];
        assert_int_equal(desc, flags[l] | following << s.seg_shift | before << s.y_shift);
        before += (uint64_t)__builtin_popcountll(flags[l]);
    }
}

TEST(descriptors_say_where_rows_begin) {
    FREED(spmv_ctx) *ctx = context_of(2);
    for (uint64_t seed = 1; seed <= 24; seed++) {
        spmv_choice c = {{0}};
        spmv_store *store = NULL;
        FREED(entries) e = random_matrix(seed, 70, 90, 1 + (int64_t)seed % 9);
        spmv_mat *mat = matrix_of(ctx, &e);
        spmv_csr_view A = rows_of(mat);
        c.value[SPMV_lanes] = 1 << seed % 6;
        c.value[SPMV_height] = 1 + (int64_t)(seed * 7) % CSR5_MOST_HEIGHT;
        assert_int_equal(spmv_format_named("csr5", 0)->build(ctx, &A, &c, 2, &store), SPMV_OK);
        for (int64_t t = 0; t < ((const csr5 *)store)->tiles; t++)
            check_tile((const csr5 *)store, &A, t);
        spmv_store_free(store);
        spmv_mat_free(mat);
    }
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Three tiles of 4 lanes x 2 steps: all of one row, of which the last tile does not know it, since
 * no other follows; a row per entry; the same with an empty row. */
TEST(what_a_product_reads_by_hand) {
    enum { TILE = 4 * 2, TILES = 3, ENTRIES = TILES * TILE, DESC = 4 * sizeof(uint32_t) };
    static const int fixed = ENTRIES * (8 + 4) + (TILES + 1) * (int)sizeof(int32_t);
    static const struct {
        int64_t rows, per_row, bytes;
    } of[] = {
        {1, ENTRIES, fixed + DESC + 2 * 4},
        {ENTRIES, 1, fixed + TILES * DESC + (TILES + 1) * 4},
        /* the empty row is the last, in no tile */
        {ENTRIES + 1, 1, fixed + TILES * DESC + (ENTRIES + 2) * 4},
    };
    FREED(spmv_ctx) *ctx = context_of(2);
    for (int k = 0; k < COUNT(of); k++) {
        FREED(entries) e = {.rows = of[k].rows, .cols = ENTRIES};
        for (int64_t n = 0; n < ENTRIES; n++) add_entry(&e, n / of[k].per_row, n, 1);
        FREED(spmv_mat) *mat = matrix_of(ctx, &e);
        const spmv_setting shape[] = {{"lanes", 4}, {"height", 2}};
        spmv_plan_opts opts = WITH(spmv_plan_opts, .kernel = "omp:csr5", .settings = shape,
                                   .nsettings = COUNT(shape));
        FREED(spmv_plan) *plan = must_plan(mat, &opts);
        spmv_plan_facts facts = plan_facts_of(plan);
        assert_int_equal(facts.traffic_bytes, of[k].bytes);
    }
}

/* Every tile of 8 ends inside rows and has one empty row: 5 segments of 5 rows. */
TEST(the_bound_is_nearly_reached) {
    static const int length[] = {2, 2, 0, 2, 2};
    enum { TILES = 40, PERIOD = COUNT(length) };
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(entries) e = {.rows = 1 + TILES * PERIOD, .cols = 2};
    for (int64_t i = 0; i < e.rows; i++)
        for (int j = 0; j < (i ? length[i % PERIOD] : 1); j++) add_entry(&e, i, j, 1);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    spmv_choice c = {{0}};
    c.value[SPMV_lanes] = 4;
    c.value[SPMV_height] = 2;
    spmv_csr_view A = rows_of(mat);
    const spmv_format *f = spmv_format_named("csr5", 0);
    const size_t forecast = f->estimate(&A, &c);
    assert_in_range(f->bound(&A, &c, 2), forecast, forecast + 2 * sizeof(int32_t));
}

/* In tiles and in the tail: 29 entries are three tiles of 8 and five more. */
TEST(all_overflows_are_counted) {
    enum { ENTRIES = 29 };
    FREED(spmv_ctx) *ctx = context_of(2);
    FREED(entries) e = {.rows = 5, .cols = ENTRIES};
    for (int64_t n = 0; n < ENTRIES; n++) add_entry(&e, n / 7, n, 1e300);
    FREED(spmv_mat) *mat = matrix_of(ctx, &e);
    FREED(spmv_store) *store = NULL;
    spmv_choice c = {{0}};
    c.value[SPMV_lanes] = 4;
    c.value[SPMV_height] = 2;
    spmv_csr_view A = rows_of(mat);
    assert_int_equal(spmv_format_named("csr5", SPMV_F32_O32)->build(ctx, &A, &c, 2, &store),
                     SPMV_E_UNSUITABLE);
    assert_string_equal(spmv_ctx_error(ctx), "29 values are too large for f32");
}

/* ---- products -------------------------------------------------------------------------------- */

enum { ROWS = 900, COLS = 1500 };

/* Stands for the library's, which measures: both answers are tried on any processor. */
static bool gather_pays;
bool spmv_gather_pays(int64_t isa) {
    (void)isa;
    return gather_pays;
}

/* Makes rows of 0 to 40 entries, nearly all empty in the middle; two of all columns, one behind the
 * other and one the last. */
static spmv_mat *uneven_matrix(spmv_ctx *ctx) {
    FREED(entries) e = {.rows = ROWS, .cols = COLS};
    for (int64_t i = 0; i < ROWS; i++) {
        uint64_t random = (uint64_t)i + 1;
        const bool full = i == 5 || i == 6 || i == ROWS - 1;
        const int64_t n = i > 300 && i < 700 && i % 50 ? 0 : draw_below(&random, 41);
        for (int64_t j = full ? 0 : COLS - 3 * n - 1, k = 0; k < (full ? COLS : n);
             k++, j += full ? 1 : 3)
            add_entry(&e, i, j, 1 + 0.25 * (double)(draw_below(&random, 9)));
    }
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

static void try_shapes(const spmv_backend *backend, int k, const spmv_kernel *kernel,
                       const subject *s) {
    static const int64_t heights[] = {0, 1, 3, 4, 12, 16, 17, 18, 31, 32};
    if (strcmp(kernel->format, "csr5") != 0) return;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++)
        for (int h = 0; h < COUNT(heights); h++)
            for (int64_t lanes = backend->host ? 1 : 32; lanes <= 32; lanes *= 2)
                for (int64_t isa = backend->host; isa <= (backend->host ? best_isa() : 0); isa++) {
                    setup c = setup_of(backend, k, variant);
                    set(&c, spmv_param_of(kernel, SPMV_height), heights[h]);
                    set(&c, spmv_param_of(kernel, SPMV_lanes), lanes);
                    if (isa) set(&c, spmv_param_of(kernel, SPMV_isa), isa);
                    try_setup(&c, s, scalings, COUNT(scalings));
                }
}

static void visit_both_ways(const subject *s) {
    for (int pays = 0; pays < 2; pays++) {
        gather_pays = pays;
        visit_kernels(try_shapes, s);
        assert_int_equal(tally.wrong, 0);
        assert_true(tally.products > 0);
    }
}

TEST(uneven_rows_are_right) {
    for (int threads = 1; threads <= 7; threads += 3) {
        spmv_ctx *ctx = context_of(threads);
        subject s = random_subject(uneven_matrix(ctx), "uneven");
        visit_both_ways(&s);
        fixture_subject_free(&s);
    }
}

/* An infinite x spoils the rows that have its column, and no neighbour in their tiles. */
TEST(infinity_stays_in_its_rows) {
    enum { COLUMN = COLS - 40 };
    spmv_ctx *ctx = context_of(3);
    FREED(double) *x = random_vector(1, COLS), *y0 = random_vector(2, ROWS);
    x[COLUMN] = INFINITY;
    subject s = subject_of(uneven_matrix(ctx), "uneven, x infinite", x, y0);
    visit_both_ways(&s);
    fixture_subject_free(&s);
}

TEST_MAIN(take_backend, NULL, NULL)
