/* test_store_bytes.c: what builders make stays the same, byte for byte, on any processor: a number
 * per format, of the arrays of its stores of 20 matrices, in every precision and width of offsets,
 * with and without encoded values; and one for each width of its tiles, if processors differ in it.
 *
 * A format that changes on purpose changes its number: the test prints the new one, and the
 * commit that puts it into stores.h says why. SPMV_HASHES=1 prints the number of every single
 * store, to compare two versions line by line. A word: this format alone. */
#include "context.h"
#include "one_format.h"
#include "stores.h"
#include <malloc.h>

static const char *const matrices[20][2] = {
    {"test/data/array_real_general.mtx", NULL},
    {"test/data/coordinate_integer_symmetric.mtx", NULL},
    {"test/data/coordinate_pattern_general.mtx", NULL},
    {"test/data/coordinate_real_skew-symmetric.mtx", NULL},
    {"test/data/duplicates.mtx", NULL},
    {"gen:poisson2d:40", NULL},
    {"gen:poisson2d:30x17", "random"},
    {"gen:box27:7", "few:300"},
    {"gen:box27:6x7x5", "few:8"},
    {"gen:fem3d:5:3", "pattern"},
    {"gen:mesh:1500:2", "few:200"},
    {"gen:road:2000", "random"},
    {"gen:random:700:9", "few:256"},
    {"gen:random:90:40:7000", NULL},
    {"gen:rmat:9", "random"},
    {"gen:powerlaw:1500:8", "few:257"},
    {"gen:banded:400:21", "few:2"},
    {"gen:giantrow:1500:1400", NULL},
    {"gen:permutation:1000", NULL},
    {"gen:dense:70x7", "random"},
};

enum { PLAIN, CODED, CUT, SMALL, CHOICES };

/* Defaults, with values encoded or not; rows cut; and the least that each parameter may be. */
static spmv_choice choice_of(const spmv_format *format, int64_t lanes, int which) {
    spmv_choice c = {{0}};
    for (const spmv_param *p = format->params; p->id != SPMV_NPARAMS; p++) {
        int64_t value = p->default_value;
        if (p->id == SPMV_codes) value = which != PLAIN;
        if (p->id == SPMV_cut && which >= CUT) value = 6;
        if (p->id == SPMV_hubs && which >= CUT) value = 9;
        if (which == SMALL && p->id != SPMV_codes && spmv_param_takes(p, 2 * p->min))
            value = 2 * p->min;
        if (p->id == SPMV_lanes) value = lanes; /* 0 would leave it to the processor */
        c.value[p->id] = value;
    }
    return c;
}

static uint64_t hash_bytes(uint64_t hash, const void *memory, size_t bytes) {
    const unsigned char *at = memory;
    for (size_t k = 0; k < bytes; k++) hash = (hash ^ at[k]) * 0x100000001b3u; /* FNV-1a */
    return hash;
}

/* 0: refused. */
static uint64_t hash_of(const spmv_format *format, const spmv_csr_view *A, const spmv_choice *c,
                        int threads) {
    uint64_t hash = 0xcbf29ce484222325u;
    spmv_store *store = NULL;
    spmv_status status = format->build(ctx, A, c, threads, &store);
    if (status != SPMV_OK) {
        assert_int_equal(status, SPMV_E_UNSUITABLE);
        spmv_store_free(store);
        return 0;
    }
    hash = hash_bytes(hash, &store->slots, sizeof store->slots);
    for (int k = 0; k < store->narrays; k++) {
        const void *at;
        memcpy(&at, (const char *)store + store->array[k].offset, sizeof at);
        hash = hash_bytes(hash, &store->array[k].bytes, sizeof store->array[k].bytes);
        hash = hash_bytes(hash, at, store->array[k].bytes);
    }
    spmv_store_free(store);
    return hash;
}

/* Hashes all stores of a matrix in a format. */
static uint64_t hash_stores(uint64_t hash, const struct expected *e, const spmv_csr_view *A,
                            const char *matrix) {
    for (int variant = 0; variant < SPMV_NVARIANTS; variant++)
        for (int which = 0; which < CHOICES; which++) {
            const spmv_format *f = spmv_format_named(e->format, variant);
            const spmv_choice c = choice_of(f, e->lanes, which);
            uint64_t one = hash_of(f, A, &c, 3);
            if (getenv("SPMV_HASHES"))
                printf("%s %d %s %d %d %016llx\n", f->name, (int)e->lanes, matrix, variant, which,
                       (unsigned long long)one);
            hash = hash_bytes(hash, &one, sizeof one);
        }
    return hash;
}

TEST(every_format_has_a_number) {
    for (int f = 0; f < spmv_format_count(); f++) {
        const char *name = spmv_format_at(f, 0)->name;
        int k = 0;
        while (k < COUNT(expected) && strcmp(expected[k].format, name)) k++;
        if (k == COUNT(expected)) fail_msg("stores.h has no number of %s", name);
    }
}

/* Fills allocated memory with a pattern: bytes that no builder writes would otherwise differ from
 * run to run. */
static void poison_memory(void) {
    mallopt(M_MMAP_MAX, 0);
    mallopt(M_PERTURB, 0x5a);
}

static spmv_mat *load(int m, spmv_csr_view *A) {
    spmv_load_opts opts = SPMV_OPTS(spmv_load_opts);
    spmv_mat *mat = NULL;
    opts.values = matrices[m][1];
    assert_int_equal(spmv_mat_load(ctx, matrices[m][0], &opts, &mat), SPMV_OK);
    spmv_mat_rows(mat, A);
    return mat;
}

TEST(stores_keep_their_bytes) {
    uint64_t hash[COUNT(expected)] = {0};
    int changed = 0;
    poison_memory();
    for (int m = 0; m < COUNT(matrices); m++) {
        spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
        FREED(spmv_mat) *mat = load(m, &A);
        for (int k = 0; k < COUNT(expected); k++)
            if (is_asked(expected[k].format))
                hash[k] = hash_stores(hash[k], &expected[k], &A, matrices[m][0]);
    }
    for (int k = 0; k < COUNT(expected); k++) {
        if (expected[k].hash == hash[k] || !is_asked(expected[k].format)) continue;
        print_message("    {\"%s\", 0x%016llx, %d},\n", expected[k].format,
                      (unsigned long long)hash[k], (int)expected[k].lanes);
        changed++;
    }
    if (changed) fail_msg("%d formats build other bytes: see above", changed);
}

TEST(threads_do_not_change_stores) {
    static const int threads[] = {1, 13};
    poison_memory();
    for (int m = 6; m < COUNT(matrices); m += 3) {
        spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
        FREED(spmv_mat) *mat = load(m, &A);
        for (int k = 0; k < COUNT(expected); k++) {
            if (!is_asked(expected[k].format)) continue;
            const spmv_format *f = spmv_format_named(expected[k].format, SPMV_F64_O32);
            const spmv_choice c = choice_of(f, expected[k].lanes, m % CHOICES);
            const uint64_t by_three = hash_of(f, &A, &c, 3);
            for (int t = 0; t < COUNT(threads); t++)
                if (hash_of(f, &A, &c, threads[t]) != by_three)
                    fail_msg("%s of %s by %d threads is not that of 3", f->name, matrices[m][0],
                             threads[t]);
        }
    }
}

/* A 0 and x at the hot columns, in whole units of 16 bytes, beside a codebook: nearly all. */
TEST(hot_columns_fit) {
    enum { UNIT = 16 / sizeof(double) };
    for (int64_t bytes = 4096; bytes <= 1 << 18; bytes += 1000) {
        const int64_t used = (1 + hubs_fitting(bytes) + UNIT - 1) / UNIT * UNIT + 256;
        assert_in_range(bytes - used * (int64_t)sizeof(double), 0, 4 * sizeof(double));
    }
}

TEST_MAIN(take_format, open_context, close_context)
