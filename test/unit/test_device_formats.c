/* test_device_formats.c: what a device builds in its own memory is, byte for byte, what the host
 * builds, and takes no more memory for it than announced; and the codes of csell and of
 * hubs do not change a bit of y, nor does making hubs' plan anew. */
#include "device_builds.h"
#include "matrix/stores/stored.h"

static const char *const specs[][2] = {
    {"gen:poisson2d:70", NULL},       {"gen:poisson2d:70x33", "random"},
    {"gen:box27:11", "few:300"},      {"gen:box27:9x12x7", "few:8"},
    {"gen:fem3d:6", "random"},        {"gen:fem3d:5:4", "pattern"},
    {"gen:mesh:3000", "few:200"},     {"gen:road:4000", "random"},
    {"gen:random:700:9", "few:256"},  {"gen:random:90:40:70000", NULL},
    {"gen:rmat:10", "random"},        {"gen:powerlaw:3000:8", "few:257"},
    {"gen:banded:400:101", "random"}, {"gen:giantrow:3000:1500", NULL},
    {"gen:ci:600", "random"},         {"gen:dense:60x90", "random"},
    {"gen:permutation:2000", NULL},   {"gen:diagonal:1000", "few:2"},
    {"gen:banded:200:3", "random"},   {"gen:banded:300:13", "few:8"},
    {"gen:dense:70x7", "random"},     {"gen:random:200:150:9000", "random"},
    {"gen:mesh:900:2", "few:300"},    {"gen:mesh:900:3", "few:9"},
    {"gen:mesh:700:4", "random"},     {"gen:mesh:500:5", "few:200"},
    {"gen:mesh:500:6", "pattern"},    {"gen:mesh:300:7", "few:8"},
    {"gen:mesh:300:8", "random"},     {"gen:random:900:9:300000", NULL},
    {"gen:giantrow:9000:6000", NULL}, {"gen:random:20:3000:9000", "random"},
};

typedef struct shape { /* what the choice has for a format */
    const char *format;
    int64_t cut, codes, slice, sigma, height, hubs, rows, cols;
} shape;
static const shape shapes[] = {
    {"csell", 0, 0, 0, 0, 0, 0, 0, 0},
    {"csell", 0, 1, 0, 0, 0, 0, 0, 0},
    {"csell", 1, 0, 0, 0, 0, 0, 0, 0},
    {"csell", 1, 1, 0, 0, 0, 0, 0, 0},
    {"csell", 6, 0, 0, 0, 0, 0, 0, 0},
    {"csell", 6, 1, 0, 0, 0, 0, 0, 0},
    {"csell", 1000, 0, 0, 0, 0, 0, 0, 0},
    {"csell", 1000, 1, 0, 0, 0, 0, 0, 0},
    {"csell_lists", 0, 0, 0, 0, 0, 0, 0, 0},
    {"csell_lists", 0, 1, 0, 0, 0, 0, 0, 0},
    {"csell_lists", 6, 1, 0, 0, 0, 0, 0, 0},
    {"csell_lists", 1000000, 0, 0, 0, 0, 0, 0, 0},
    {"csell_lists", 1000000, 1, 0, 0, 0, 0, 0, 0},
    {"sell", 0, 0, 32, 1, 0, 0, 0, 0},
    {"sell", 0, 0, 32, 0, 0, 0, 0, 0},
    {"sell", 0, 0, 32, 256, 0, 0, 0, 0},
    {"sell", 0, 0, 1, 1, 0, 0, 0, 0},
    {"sell", 0, 0, 7, 45, 0, 0, 0, 0},
    {"sell", 0, 0, 64, 1, 0, 0, 0, 0},
    {"sell", 0, 0, 1000, 33, 0, 0, 0, 0},
    {"sell", 0, 0, 5, 1000000, 0, 0, 0, 0},
    {"csr", 0, 0, 0, 0, 0, 0, 0, 0},
    {"dia", 0, 0, 0, 0, 0, 0, 0, 0},
    {"hyb", -1, 0, 0, 0, 0, 0, 0, 0}, /* cut: the boundary */
    {"hyb", 0, 0, 0, 0, 0, 0, 0, 0},
    {"hyb", 3, 0, 0, 0, 0, 0, 0, 0},
    {"hyb", 1000000, 0, 0, 0, 0, 0, 0, 0},
    {"xcache", 0, 1, 0, 0, 0, 0, 0, 0},
    {"xcache", 0, 0, 0, 0, 128, 0, 0, 0},
    {"xcache", 0, 1, 0, 0, 32, 0, 0, 0},
    {"xcache", 0, 0, 0, 0, 4096, 0, 0, 0},
    {"xcache", 0, 1, 0, 0, 480, 0, 0, 0},
    {"xcache", 1, 1, 0, 0, 100, 0, 0, 0},
    {"xcache", 7, 0, 0, 0, 333, 0, 0, 0},
    {"xcache", 40, 1, 0, 0, 0, 0, 0, 0},
    {"xcache", 255, 0, 0, 0, 2000, 0, 0, 0},
    {"hubs", 0, 0, 0, 0, 0, 0, 0, 0},
    {"hubs", 0, 1, 0, 0, 0, 0, 0, 0},
    {"hubs", 0, 0, 0, 0, 0, 7, 0, 0},
    {"hubs", 0, 1, 0, 0, 0, 7, 0, 0},
    {"hubs", 0, 1, 0, 0, 0, 1, 0, 0},
    {"hubs", 0, 1, 0, 0, 0, 300, 0, 0},
    {"bsr", 0, 0, 0, 0, 0, 0, 2, 2},
    {"bsr", 0, 0, 0, 0, 0, 0, 3, 3},
    {"bsr", 0, 0, 0, 0, 0, 0, 8, 8},
    {"bsr", 0, 0, 0, 0, 0, 0, 1, 7},
    {"bsr", 0, 0, 0, 0, 0, 0, 5, 1},
    {"bsr", 0, 0, 0, 0, 0, 0, 1, 1},
    {"bittcf", 0, 0, 0, 0, 0, 0, 0, 0},
};

/* Builds from a copy of the rows that the builder may free as it goes. */
static spmv_status build_of_passing(spmv_device *d, const spmv_device_format *own, int variant,
                                    const spmv_csr_view *A, const spmv_store *rows,
                                    const spmv_choice *c, spmv_store **head, spmv_store **copy) {
    spmv_store *here = NULL, *passing = NULL;
    assert_int_equal(spmv_store_download(d, rows, &here), SPMV_OK);
    assert_int_equal(spmv_store_upload(d, here, &passing), SPMV_OK);
    passing->passing = true;
    const spmv_status status = build_counted(d, own, variant, A, passing, c, head, copy);
    assert_int_equal(d->backend->sync(d), SPMV_OK);
    spmv_store_free_on(d, passing);
    spmv_store_free(here);
    return status;
}

enum {
    MOST_BYTES = 1 << 28 /* larger stores are not compared: dia of scattered entries takes 40 GB */
};

/* Returns the number of compared stores. rows: NULL if the format is csr; are_passing: stores are
 * built from temporary copies of the rows. */
static int compare_builds(spmv_device *d, const spmv_device_format *own, int variant,
                          const spmv_csr_view *A, spmv_store *rows, bool are_passing,
                          const char *what) {
    const spmv_format *format = spmv_format_named(own->name, variant);
    int compared = 0;
    for (int k = 0; k < COUNT(shapes); k++) {
        const shape *one = &shapes[k];
        spmv_choice c = {{0}};
        spmv_store *host = NULL, *head = NULL, *copy = NULL;
        if (strcmp(one->format, own->name) != 0) continue;
        c.value[SPMV_cut] = c.value[SPMV_boundary] = one->cut;
        c.value[SPMV_codes] = one->codes;
        c.value[SPMV_slice] = one->slice;
        c.value[SPMV_sigma] = one->sigma;
        c.value[SPMV_height] = one->height;
        c.value[SPMV_hubs] = one->hubs;
        c.value[SPMV_shape_rows] = one->rows;
        c.value[SPMV_shape_cols] = one->cols;
        if (format->estimate(A, &c) > MOST_BYTES) continue;
        spmv_status there = are_passing
                                ? build_of_passing(d, own, variant, A, rows, &c, &head, &copy)
                                : build_counted(d, own, variant, A, rows, &c, &head, &copy);
        spmv_status here = format->build(ctx, A, &c, 3, &host);
        assert_int_equal(there, here);
        if (here == SPMV_OK) {
            char name[160];
            snprintf(name, sizeof name,
                     "%s of %s, variant %d, cut %lld, codes %lld, slice %lld, sigma %lld, "
                     "height %lld, hubs %lld, shape %lldx%lld",
                     own->name, what, variant, (long long)one->cut, (long long)one->codes,
                     (long long)one->slice, (long long)one->sigma, (long long)one->height,
                     (long long)one->hubs, (long long)one->rows, (long long)one->cols);
            assert_same_bytes(d, host, head, copy, name);
            compared++;
        }
        spmv_store_free(host);
        spmv_store_free(head);
        spmv_store_free_on(d, copy);
    }
    return compared;
}

enum { MOST_FORMATS = 16 };

/* Adds the stores compared to those of each format. */
static void compare_variants(spmv_device *d, const spmv_mat *mat, bool are_passing,
                             const char *what, int compared[MOST_FORMATS]) {
    spmv_csr_view A = rows_of(mat);
    const spmv_device_format *const(*all)[SPMV_NVARIANTS] = d->backend->formats, *first;
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++) {
        spmv_choice none = {{0}};
        spmv_store *head = NULL, *rows = NULL;
        for (int k = 0; (first = all[k][variant]) && strcmp(first->name, "csr") != 0;) k++;
        assert_non_null(first);
        spmv_status sent = build_counted(d, first, variant, &A, NULL, &none, &head, &rows);
        for (int k = 0; all[k][0]; k++) {
            bool is_csr = all[k][variant] == first;
            if (!all[k][variant]->build) continue;    /* refused */
            if (sent != SPMV_OK && !is_csr) continue; /* too large for f32, as the host says, too */
            assert_in_range(k, 0, MOST_FORMATS - 1);
            if (are_passing && is_csr) continue;
            compared[k] += compare_builds(d, all[k][variant], variant, &A, is_csr ? NULL : rows,
                                          are_passing, what);
        }
        spmv_store_free(head);
        spmv_store_free_on(d, rows);
    }
}

static spmv_mat *mat_of(const char *spec, const char *values) {
    spmv_load_opts opts = SPMV_OPTS(spmv_load_opts);
    spmv_mat *mat = NULL;
    opts.values = values;
    assert_int_equal(spmv_mat_load(ctx, spec, &opts, &mat), SPMV_OK);
    return mat;
}

TEST(devices_build_what_the_host_builds) {
    int all = 0;
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        int compared[MOST_FORMATS] = {0};
        spmv_device *d = NULL;
        if (!(*b)->formats || !is_usable(ctx, *b)) continue;
        assert_int_equal(spmv_ctx_device(ctx, *b, &d), SPMV_OK);
        for (int f = 0; f < COUNT(fixtures); f++) {
            FREED(entries) e = entries_of(&fixtures[f]);
            spmv_coo_view view = view_of(&e);
            FREED(spmv_mat) *mat = NULL;
            assert_int_equal(spmv_mat_coo(ctx, &view, 0, &mat), SPMV_OK);
            compare_variants(d, mat, false, fixtures[f].name, compared);
        }
        for (int k = 0; k < COUNT(specs); k++) {
            FREED(spmv_mat) *mat = mat_of(specs[k][0], specs[k][1]);
            compare_variants(d, mat, false, specs[k][0], compared);
        }
        spmv_mat *floats = matrix_of_floats(ctx, 3000);
        compare_variants(d, floats, false, "floats", compared);
        spmv_mat_free(floats);
        for (int k = 0; (*b)->formats[k][0]; k++) {
            all += compared[k];
            if (compared[k] <= COUNT(specs))
                fail_msg("%d stores of %s are compared", compared[k], (*b)->formats[k][0]->name);
        }
    }
    print_message("%d stores compared\n", all);
    if (all == 0) skip();
}

/* Builders free what they have read of rows that are sent for one store. */
TEST(and_so_of_rows_that_are_freed_as_they_go) {
    static const char *const of[][2] = {{"gen:mesh:90:4", "random"},
                                        {"gen:powerlaw:700:8", "few:8"}};
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        int compared[MOST_FORMATS] = {0};
        spmv_device *d = NULL;
        if (!(*b)->formats || !is_usable(ctx, *b)) continue;
        assert_int_equal(spmv_ctx_device(ctx, *b, &d), SPMV_OK);
        for (int k = 0; k < COUNT(of); k++) {
            FREED(spmv_mat) *mat = mat_of(of[k][0], of[k][1]);
            compare_variants(d, mat, true, of[k][0], compared);
        }
        for (int k = 0; (*b)->formats[k][0]; k++)
            if (strcmp((*b)->formats[k][0]->name, "csr") != 0)
                assert_in_range(compared[k], 4, 1000);
    }
}

/* y of the kernel so set, poisoned before unless beta wants it; NULL: refused. */
static double *scaled_product(spmv_mat *mat, const char *kernel, const spmv_setting *settings,
                              int nsettings, spmv_precision precision, double alpha, double beta) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan *plan = NULL;
    opts.kernel = kernel, opts.settings = settings, opts.nsettings = nsettings,
    opts.precision = precision;
    spmv_csr_view A = rows_of(mat);
    size_t real_size = precision == SPMV_F32 ? sizeof(float) : sizeof(double);
    size_t xs = (size_t)A.cols * real_size, ys = (size_t)A.rows * sizeof(double);
    double *x = malloc((size_t)A.cols * sizeof *x), *y = malloc(ys);
    void *dx = NULL, *dy = NULL;
    assert_true(x && y);
    for (int64_t j = 0; j < A.cols; j++) {
        double value = random_entry(5, (uint64_t)j);
        if (precision == SPMV_F32)
            ((float *)(void *)x)[j] = (float)value;
        else
            x[j] = value;
    }
    memset(y, beta == 0 ? 0xff : 0x40, ys); /* 3 or 32 */
    spmv_status status = spmv_plan_create(mat, &opts, &plan);
    if (status == SPMV_E_UNSUITABLE) {
        free(x);
        free(y);
        return NULL;
    }
    assert_int_equal(status, SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, xs, &dx), SPMV_OK);
    assert_int_equal(spmv_plan_alloc(plan, ys, &dy), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, dx, x, xs), SPMV_OK);
    assert_int_equal(spmv_plan_put(plan, dy, y, ys), SPMV_OK);
    for (int n = 0; n < 2; n++) /* what a product leaves behind must not change the next */
        assert_int_equal(spmv_exec(plan, alpha, dx, beta, dy), SPMV_OK);
    assert_int_equal(spmv_plan_get(plan, y, dy, ys), SPMV_OK);
    spmv_plan_release(plan, dx);
    spmv_plan_release(plan, dy);
    spmv_plan_free(plan);
    free(x);
    return y;
}

static double *product(spmv_mat *mat, const char *kernel, const spmv_setting *settings,
                       int nsettings, spmv_precision precision) {
    return scaled_product(mat, kernel, settings, nsettings, precision, 1, 0);
}

TEST(codes_do_not_change_y) {
    int shared = 0; /* products of several warps per slice */
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = 0; k < COUNT(specs); k++)
        for (int64_t warps = 1; warps <= 4; warps *= 4)
            for (int f32 = 0; f32 < 2; f32++) {
                FREED(spmv_mat) *mat = mat_of(specs[k][0], specs[k][1]);
                spmv_precision precision = f32 ? SPMV_F32 : SPMV_F64;
                const spmv_setting on[] = {{"codes", 1}, {"warps", warps}};
                const spmv_setting off[] = {{"codes", 0}, {"warps", warps}};
                FREED(double) *coded = product(mat, "cuda:csell_warp", on, COUNT(on), precision);
                FREED(double) *plain = product(mat, "cuda:csell_warp", off, COUNT(off), precision);
                spmv_csr_view A = rows_of(mat);
                /* Several warps share slices of doubles alone, none of runs; in f32 no slice has
                 * runs. */
                assert_true((coded && plain) || warps > 1 || f32);
                shared += coded && plain && warps > 1;
                if (coded && plain && memcmp(coded, plain, (size_t)A.rows * sizeof *coded) != 0)
                    fail_msg("%s, %lld warps, f%d: y differs with codes", specs[k][0],
                             (long long)warps, f32 ? 32 : 64);
            }
    assert_true(shared > 0);
}

/* hubs' y of two plans made one after the other, and of one without codes: the same bits. */
static double *product_by_hubs(spmv_mat *mat, int64_t hubs, spmv_precision precision,
                               const char *name) {
    const spmv_setting set[] = {{"codes", 1}, {"hubs", hubs}};
    const spmv_setting raw[] = {{"codes", 0}, {"hubs", hubs}};
    const int given = hubs ? 2 : 1; /* 0: as many as the kernel chooses */
    spmv_csr_view A = rows_of(mat);
    double *coded = product(mat, "cuda:hubs", set, given, precision);
    double *again = product(mat, "cuda:hubs", set, given, precision);
    double *plain = product(mat, "cuda:hubs", raw, given, precision);
    if (memcmp(coded, again, (size_t)A.rows * sizeof *coded) != 0)
        fail_msg("%s, %lld hubs, f%d: y of two plans differs", name, (long long)hubs,
                 precision == SPMV_F32 ? 32 : 64);
    if (memcmp(coded, plain, (size_t)A.rows * sizeof *coded) != 0)
        fail_msg("%s, %lld hubs, f%d: y differs with codes", name, (long long)hubs,
                 precision == SPMV_F32 ? 32 : 64);
    free(again);
    free(plain);
    return coded;
}

TEST(hubs_and_codes_do_not_change_bits) {
    const int64_t hubs[] = {0, 7};
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = 0; k < COUNT(specs); k++)
        for (int h = 0; h < COUNT(hubs); h++)
            for (int f32 = 0; f32 < 2; f32++) {
                FREED(spmv_mat) *mat = mat_of(specs[k][0], specs[k][1]);
                free(product_by_hubs(mat, hubs[h], f32 ? SPMV_F32 : SPMV_F64, specs[k][0]));
            }
}

static void assert_hubs_right(entries *e, int64_t hubs, const char *name) {
    FREED(spmv_mat) *mat = matrix_of(ctx, e);
    FREED(double) *x = random_vector(5, e->cols);
    for (int f32 = 0; f32 < 2; f32++) {
        spmv_precision precision = f32 ? SPMV_F32 : SPMV_F64;
        FREED(oracle) reference = oracle_of(mat, x, e->cols, precision);
        FREED(double) *y = product_by_hubs(mat, hubs, precision, name);
        verdict v = oracle_check(&reference, precision, 1, 0, NULL, y);
        if (v.bad_rows)
            fail_msg("%s, %lld hubs, f%d: %lld wrong rows, first %lld", name, (long long)hubs,
                     f32 ? 32 : 64, (long long)v.bad_rows, (long long)v.first_bad_row);
    }
    entries_free(e);
}

/* More columns of one degree than there is room for hubs, also past the degrees that hubs tells
 * apart (8192): which ones it takes must not depend on the order in which threads find them. */
TEST(hubs_do_not_depend_on_the_schedule) {
    enum { ROWS = 9000, COLS = 40 };
    const int64_t hubs[] = {1, 7, COLS - 1, COLS};
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int h = 0; h < COUNT(hubs); h++) {
        entries e = {.rows = ROWS, .cols = COLS};
        for (int64_t i = 0; i < e.rows; i++)
            for (int64_t j = 0; j < e.cols; j++) add_random(&e, i, j);
        assert_hubs_right(&e, hubs[h], "ties");
    }
}

/* A row that 1,024 parts of 512 entries are not enough for: its parts grow. */
TEST(parts_of_a_giant_row_grow) {
    const int64_t hubs[] = {0, 2, 1000};
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int h = 0; h < COUNT(hubs); h++) {
        entries e = {.rows = 40, .cols = 700000};
        for (int64_t i = 0; i < e.rows; i++) add_row(&e, i, i == 7 ? 600000 : 60);
        assert_hubs_right(&e, hubs[h], "a giant row");
    }
}

/* Names matrices whose slices share lists: some a warp; one length of nearly all, and of two in
 * three; more lists than are kept, more steps, sparser ones. */
static const char *const listed[][2] = {
    {"gen:poisson2d:800", NULL},
    {"gen:poisson2d:800", "few:8"},
    {"gen:poisson2d:800", "random"},
    {"gen:poisson3d:64", "few:100"},
    {"gen:poisson3d:128x64x64", NULL},
    {"gen:poisson3d:256x64x16", "few:8"},
    {"gen:poisson2d:300", "few:300"},
    {"gen:box27:40", "few:8"},
    {"gen:fem3d:16", "random"},
    {"gen:fem3d:16", "few:8"},
    {"gen:road:600000", "few:9"},
    {"gen:road:300000", "random"},
    {"gen:diagonal:2000000", "few:2"},
    {"gen:banded:3000:41", NULL},
    {"gen:random:2000000:1:60000", "few:9"},
    {"gen:poisson2d:1100x1000", "few:200"},
};

/* Makes a band of that many diagonals; kind 0: its values differ, 1: floats hold them, 2: a table
 * does, 3: one a diagonal. Some rows lack their first entry, a few have one more. */
static spmv_mat *band_of(int64_t rows, int64_t diagonals, int kind) {
    FREED(entries) e = {.rows = rows, .cols = rows + 2 * diagonals};
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = i % 1000 == 77; j < diagonals + (i % 5000 == 4321); j++) {
            double table = 1.5 + (double)((i * 3 + j * j) % 9);
            double value = kind == 0   ? random_entry(7, (uint64_t)(i * 16 + j))
                           : kind == 1 ? 0.125 * (double)((i * 7 + j) % 5003)
                           : kind == 2 ? table / 3
                                       : 1.0 / (double)(j + 3);
            add_entry(&e, i, i + 2 * j, value);
        }
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

static void assert_lists_change_nothing(spmv_mat *mat, const char *name, const char *values) {
    enum { UNCUT = 1 << 20 };
    spmv_csr_view A = rows_of(mat);
    for (int f32 = 0; f32 < 2; f32++)
        for (int64_t codes = 0; codes < 2; codes++) {
            const spmv_setting set[] = {{"codes", codes}, {"cut", UNCUT}, {"warps", 1}};
            spmv_precision precision = f32 ? SPMV_F32 : SPMV_F64;
            double alpha = codes ? 2.3 : 1, beta = codes ? -1.7 : 0;
            FREED(double) *own =
                scaled_product(mat, "cuda:csell_warp", set, 3, precision, alpha, beta);
            FREED(double) *shared =
                scaled_product(mat, "cuda:csell_lists", set, 2, precision, alpha, beta);
            assert_true(shared && (own || f32)); /* runs are refused in f32 */
            if (own && memcmp(own, shared, (size_t)A.rows * sizeof *own) != 0)
                fail_msg("%s, '%s', codes %d, f%d: y differs with shared lists", name,
                         values ? values : "", (int)codes, f32 ? 32 : 64);
        }
    spmv_mat_free(mat);
}

TEST(runs_are_refused_in_f32) {
    const spmv_setting codes[] = {{"codes", 1}};
    if (!is_usable(ctx, &spmv_cuda)) skip();
    FREED(spmv_mat) *mat = mat_of("gen:mesh:900:3", "random");
    FREED(double) *y = product(mat, "cuda:csell_warp", codes, 1, SPMV_F64);
    assert_non_null(y);
    assert_null(product(mat, "cuda:csell_warp", codes, 1, SPMV_F32));
    assert_non_null(strstr(spmv_ctx_error(ctx), "take xcache_block or csr_lanes"));
}

TEST(lists_do_not_change_y) {
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int k = 0; k < COUNT(specs) + (is_emulated() ? 0 : COUNT(listed)); k++) {
        const char *const *spec = k < COUNT(specs) ? specs[k] : listed[k - COUNT(specs)];
        assert_lists_change_nothing(mat_of(spec[0], spec[1]), spec[0], spec[1]);
    }
}

/* Few rows: a slice a warp; many: some, so that slices beside each other are multiplied at once. */
TEST(short_lists_do_not_change_y) {
    const int64_t rows[] = {3001, 600017};
    if (!is_usable(ctx, &spmv_cuda)) skip();
    for (int kind = 0; kind < 4; kind++)
        for (int64_t diagonals = 1; diagonals <= 9; diagonals++)
            for (int r = 0; r < COUNT(rows); r++) {
                char name[80];
                if (r == 1 && (kind != diagonals % 4 || is_emulated())) continue; /* takes long */
                snprintf(name, sizeof name, "%lld rows of %lld entries, kind %d",
                         (long long)rows[r], (long long)diagonals, kind);
                assert_lists_change_nothing(band_of(rows[r], diagonals, kind), name, NULL);
            }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
