/* test_live.c: matrices of arrays that may change (SPMV_VOLATILE): every product is of what the
 * arrays hold when it begins. All numbers are small integers, so that sums are exact in any order,
 * in both precisions. */
#include "context.h"
#include "sources.h"
#include "walled.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>

#pragma weak source_alloc
#pragma weak source_free
#pragma weak plain_copy

enum { ROWS = 600, COLS = 420, NNZ = 17000, MOST_VECTORS = 9, BLOCK = 3 };

typedef enum kind { BY_ROWS, BY_COLUMNS, COORDINATES, BLOCKS, NKINDS } kind;

typedef struct arrays { /* arrays of one kind, precision and width of offsets */
    kind kind;
    spmv_precision precision;
    int bits;
    int64_t nnz;
    bool wide; /* indices have 64 bits */
    int32_t ptr32[ROWS + 1], idx[NNZ], line[NNZ];
    int64_t idx64[NNZ], line64[NNZ];
    int64_t ptr64[ROWS + 1];
    double f64[NNZ * BLOCK * 2];
    float f32[NNZ * BLOCK * 2];
    uint64_t seed;
} arrays;

static int64_t tall(const arrays *a) {
    return a->kind == BLOCKS ? BLOCK : 1;
}

static int64_t wide(const arrays *a) {
    return a->kind == BLOCKS ? 2 : 1;
}

static int64_t lines_of(const arrays *a) {
    return a->kind == BY_COLUMNS ? COLS : ROWS / tall(a);
}

static int64_t places_of(const arrays *a) {
    return a->kind == BY_COLUMNS ? ROWS : COLS / wide(a);
}

/* Makes everything anew: offsets that end before nnz, indices in any order, also twice in a row. */
static void change(arrays *a) {
    const int64_t lines = lines_of(a), end = a->nnz - draw_below(&a->seed, 40);
    for (int64_t i = 0; i <= lines; i++) a->ptr64[i] = draw_below(&a->seed, end + 1);
    a->ptr64[0] = 0, a->ptr64[lines] = end;
    for (int64_t i = 1; i < lines; i++) { /* sorts */
        const int64_t offset = a->ptr64[i];
        int64_t j = i;
        for (; j > 1 && a->ptr64[j - 1] > offset; j--) a->ptr64[j] = a->ptr64[j - 1];
        a->ptr64[j] = offset;
    }
    for (int64_t i = 0; i <= lines; i++) a->ptr32[i] = (int32_t)a->ptr64[i];
    for (int64_t k = 0; k < a->nnz; k++) {
        a->idx[k] = (int32_t)draw_below(&a->seed, places_of(a));
        a->line[k] = (int32_t)draw_below(&a->seed, lines);
        a->idx64[k] = a->idx[k], a->line64[k] = a->line[k];
    }
    for (int64_t k = 0; k < a->nnz * tall(a) * wide(a); k++)
        a->f64[k] = a->f32[k] = (float)(draw_below(&a->seed, 9) - 4);
}

static spmv_arrays view_of_arrays(const arrays *a) {
    return ARRAYS(
        ROWS, COLS, a->nnz,
        a->kind == COORDINATES ? NULL
        : a->bits == 32        ? (const void *)a->ptr32
                               : a->ptr64,
        a->bits, a->wide ? (const void *)a->idx64 : a->idx,
        a->precision == SPMV_F32 ? (const void *)a->f32 : a->f64, .idx_bits = a->wide ? 64 : 0,
        .line = a->kind != COORDINATES ? NULL
                : a->wide              ? (const void *)a->line64
                                       : a->line,
        .precision = a->precision, .by_columns = a->kind == BY_COLUMNS, .flags = SPMV_VOLATILE,
        .block_rows = a->kind == BLOCKS ? BLOCK : 0, .block_cols = a->kind == BLOCKS ? 2 : 0);
}

/* is_there: arrays and vectors are in a GPU's memory. lent: the arrays there. */
static bool is_there;
static spmv_arrays lent;

static void *sent(const void *from, size_t bytes) {
    void *memory = is_there && from ? source_alloc(ON_DEVICE, bytes + 1) : (void *)(uintptr_t)from;
    if (is_there && from) assert_true(memory && plain_copy(memory, from, bytes));
    return memory;
}

static void give_back(void *memory) {
    if (is_there && memory) source_free(ON_DEVICE, memory);
}

typedef struct sizes { /* in bytes */
    size_t ptr, idx, values;
} sizes;

static sizes sizes_of(const arrays *a) {
    const size_t n = (size_t)a->nnz, width = a->precision == SPMV_F32 ? 4 : 8;
    return (sizes){(size_t)(lines_of(a) + 1) * (size_t)a->bits / 8, 4 * n, width * n};
}

/* Sends what the arrays hold by now to where the matrix has them. */
static void send_again(const arrays *a) {
    const spmv_arrays here = view_of_arrays(a);
    const sizes bytes = sizes_of(a);
    if (!is_there) return;
    assert_true(plain_copy((void *)(uintptr_t)lent.idx, here.idx, bytes.idx));
    assert_true(plain_copy((void *)(uintptr_t)lent.values, here.values, bytes.values));
    if (here.ptr) assert_true(plain_copy((void *)(uintptr_t)lent.ptr, here.ptr, bytes.ptr));
    if (here.line) assert_true(plain_copy((void *)(uintptr_t)lent.line, here.line, bytes.idx));
}

static void give_back_arrays(void) {
    give_back((void *)(uintptr_t)lent.ptr);
    give_back((void *)(uintptr_t)lent.idx);
    give_back((void *)(uintptr_t)lent.line);
    give_back((void *)(uintptr_t)lent.values);
}

/* The arrays as the matrix has them. */
static spmv_arrays lend(const arrays *a) {
    const sizes bytes = sizes_of(a);
    lent = view_of_arrays(a);
    if (!is_there) return lent;
    lent.ptr = sent(lent.ptr, bytes.ptr);
    lent.idx = sent(lent.idx, bytes.idx);
    lent.line = sent(lent.line, bytes.idx);
    lent.values = sent(lent.values, bytes.values);
    lent.place = SPMV_DEVICE;
    return lent;
}

static spmv_mat *matrix(const arrays *a) {
    const spmv_arrays view = lend(a);
    spmv_mat *mat = NULL;
    if (spmv_mat_create(ctx, &view, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return mat;
}

static spmv_plan *plan_for(spmv_mat *mat, const arrays *a, spmv_op op) {
    const spmv_plan_opts opts = {.size = sizeof opts, .precision = a->precision, .op = op};
    spmv_plan *plan = NULL;
    if (spmv_plan_create(mat, &opts, &plan) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    return plan;
}

/* Dense, by the definition: D[i * COLS + j]. */
static double *dense_of(const arrays *a) {
    double *D = calloc(ROWS * COLS, sizeof *D);
    assert_non_null(D);
    for (int64_t i = 0; a->kind != COORDINATES && i < lines_of(a); i++)
        for (int64_t k = a->ptr64[i]; k < a->ptr64[i + 1]; k++)
            for (int64_t r = 0; r < tall(a); r++)
                for (int64_t c = 0; c < wide(a); c++) {
                    const int64_t line = i * tall(a) + r, place = a->idx[k] * wide(a) + c;
                    D[a->kind == BY_COLUMNS ? place * COLS + line : line * COLS + place] +=
                        a->f64[(k * tall(a) + r) * wide(a) + c];
                }
    for (int64_t k = 0; a->kind == COORDINATES && k < a->nnz; k++)
        D[a->line[k] * COLS + a->idx[k]] += a->f64[k];
    return D;
}

typedef struct operand { /* numbers of k vectors that lie in a layout */
    int64_t n, k, ld;
    spmv_layout layout;
} operand;

static int64_t at(const operand *o, int64_t i, int64_t j) {
    return o->layout == SPMV_ROWS ? i * o->ld + j : j * o->ld + i;
}

/* z <- 2 op(A) x - y, or op(A) x. */
static void assert_multiplies(const arrays *a, const spmv_plan *plan, spmv_op op, int64_t k,
                              spmv_layout layout, bool scaled) {
    const bool turned = op == SPMV_TRANSPOSE;
    const int64_t n = turned ? ROWS : COLS, m = turned ? COLS : ROWS;
    const operand X = {n, k, (layout == SPMV_ROWS ? k : n) + 2, layout};
    const operand Z = {m, k, (layout == SPMV_ROWS ? k : m) + (scaled ? 3 : 0), layout};
    double *x = random_vector(1, (n + 2) * (MOST_VECTORS + 3)), *D = dense_of(a);
    double *z = random_vector(2, (m + 3) * (MOST_VECTORS + 3));
    for (int64_t i = 0; i < (n + 2) * (MOST_VECTORS + 3); i++) x[i] = (double)(i * 7 % 11 - 5);
    for (int64_t i = 0; i < (m + 3) * (MOST_VECTORS + 3); i++) z[i] = (double)(i % 5);
    void *own_x = vector_of(x, (n + 2) * (MOST_VECTORS + 3), a->precision);
    void *own_z = vector_of(z, (m + 3) * (MOST_VECTORS + 3), a->precision);
    const double alpha = 2, beta = -1;
    const float alpha_f32 = 2, beta_f32 = -1;
    const bool is_f32 = a->precision == SPMV_F32;
    const size_t width = is_f32 ? 4 : 8, z_bytes = width * (size_t)((m + 3) * (MOST_VECTORS + 3));
    void *x_there = sent(own_x, width * (size_t)((n + 2) * (MOST_VECTORS + 3)));
    void *z_there = sent(own_z, z_bytes);
    const spmv_call call = WITH(
        spmv_call, .alpha = scaled && !is_f32 ? &alpha : NULL,
        .beta = scaled && !is_f32 ? &beta : NULL, .alpha_f32 = scaled && is_f32 ? &alpha_f32 : NULL,
        .beta_f32 = scaled && is_f32 ? &beta_f32 : NULL, .x = x_there, .y = z_there, .z = z_there,
        .k = k, .ldx = X.ld, .ldy = Z.ld, .ldz = Z.ld, .layout = layout, .op = op);
    if (spmv_apply(plan, &call, NULL) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    if (is_there) assert_true(plain_copy(own_z, z_there, z_bytes));
    give_back(x_there), give_back(z_there);
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < m; i++) {
            double sum = 0;
            for (int64_t l = 0; l < n; l++)
                sum += D[turned ? l * COLS + i : i * COLS + l] * x[at(&X, l, j)];
            if (scaled) sum = 2 * sum - z[at(&Z, i, j)];
            if (number_at(own_z, a->precision, at(&Z, i, j)) != sum)
                fail_msg("kind %d, op %d, %lld vectors, layout %d: row %lld of vector %lld is %g, "
                         "not %g",
                         a->kind, op, (long long)k, layout, (long long)i, (long long)j,
                         number_at(own_z, a->precision, at(&Z, i, j)), sum);
        }
    for (int64_t j = 0; j < k; j++)
        for (int64_t i = 0; i < m; i++)
            z[at(&Z, i, j)] = number_at(own_z, a->precision, at(&Z, i, j));
    /* Memory between and behind vectors is unchanged. */
    for (int64_t q = 0; q < (m + 3) * (MOST_VECTORS + 3); q++)
        assert_true(number_at(own_z, a->precision, q) == z[q]);
    free(x), free(z), free(own_x), free(own_z), free(D);
}

static arrays a;

static bool wide_indices; /* width of indices of the next arrays */

static void start(kind of, spmv_precision precision, int bits) {
    a = (arrays){.kind = of, .precision = precision, .bits = bits, .seed = 5};
    a.wide = wide_indices;
    wide_indices = false;
    a.nnz = of == BLOCKS ? 4000 : NNZ;
    change(&a);
}

static spmv_status try_arrays(spmv_arrays view) {
    FREED(spmv_mat) *mat = NULL;
    const spmv_status status = spmv_mat_create(ctx, &view, &mat);
    assert_true((status == SPMV_OK) == (mat != NULL));
    return status;
}

static void assert_products_follow(int kinds, bool wide) {
    static const int64_t vectors[] = {1, 3, 8, MOST_VECTORS};
    for (int variant = 0; variant < 4 * kinds; variant++) {
        wide_indices = wide;
        start((kind)(variant / 4), variant & 1 ? SPMV_F32 : SPMV_F64, variant & 2 ? 64 : 32);
        spmv_mat *mat = matrix(&a);
        spmv_plan *plan = plan_for(mat, &a, a.kind == BLOCKS ? SPMV_AS_IS : SPMV_BOTH);
        for (int turn = 0; turn < 8; turn++) {
            const spmv_layout layout = turn & 1 ? SPMV_ROWS : SPMV_COLUMNS;
            assert_multiplies(&a, plan, SPMV_AS_IS, vectors[turn / 2], layout, turn & 2);
            if (a.kind != BLOCKS)
                assert_multiplies(&a, plan, SPMV_TRANSPOSE, vectors[turn / 2], layout, turn & 2);
            change(&a);
            send_again(&a);
        }
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        give_back_arrays();
    }
}

/* Numbers of z that are finite after a product with that alpha, which is not. */
static int64_t count_finite(const spmv_plan *plan, spmv_op op, double alpha, int64_t k) {
    enum { MOST = (ROWS > COLS ? ROWS : COLS) * MOST_VECTORS };
    const int64_t m = op == SPMV_TRANSPOSE ? COLS : ROWS, n = op == SPMV_TRANSPOSE ? ROWS : COLS;
    double *x = random_vector(1, MOST), *z = random_vector(2, MOST);
    void *x_there = sent(x, (size_t)(n * k) * sizeof *x), *z_there = sent(z, MOST * sizeof *z);
    const spmv_call call = WITH(spmv_call, .alpha = &alpha, .x = x_there, .z = z_there, .k = k,
                                .layout = SPMV_ROWS, .op = op);
    int64_t finite = 0;
    if (spmv_apply(plan, &call, NULL) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    if (is_there) assert_true(plain_copy(z, z_there, MOST * sizeof *z));
    for (int64_t i = 0; i < m * k; i++) finite += isfinite(z[i]) != 0;
    give_back(x_there), give_back(z_there);
    free(x), free(z);
    return finite;
}

static void assert_alpha_reaches_all(void) {
    static const double alphas[] = {NAN, INFINITY};
    for (int of = BY_ROWS; of < BLOCKS; of++) {
        start((kind)of, SPMV_F64, 32);
        spmv_mat *mat = matrix(&a);
        spmv_plan *plan = plan_for(mat, &a, SPMV_BOTH);
        for (int n = 0; n < 8; n++)
            assert_int_equal(count_finite(plan, n & 1 ? SPMV_TRANSPOSE : SPMV_AS_IS,
                                          alphas[n / 2 % 2], n & 4 ? 3 : 1),
                             0);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        give_back_arrays();
    }
}

TEST(an_alpha_that_is_not_finite_reaches_every_row) {
    assert_alpha_reaches_all();
}

/* The array that the matrix was made with holds 0 only. */
static void assert_other_values_are_read(spmv_precision precision) {
    static const double zeros[NNZ];
    start(BY_ROWS, precision, 32);
    spmv_arrays view = lend(&a);
    const void *values = view.values;
    void *stale = sent(zeros, sizes_of(&a).values);
    view.values = stale;
    spmv_mat *mat = NULL;
    if (spmv_mat_create(ctx, &view, &mat) != SPMV_OK) fail_msg("%s", spmv_ctx_error(ctx));
    spmv_plan *plan = plan_for(mat, &a, SPMV_AS_IS);
    const spmv_place here = is_there ? SPMV_DEVICE : SPMV_HOST;
    const spmv_place elsewhere = is_there ? SPMV_HOST : SPMV_DEVICE;
    assert_int_equal(spmv_mat_set_values(mat, values, elsewhere, NULL), SPMV_E_UNSUITABLE);
    assert_int_equal(spmv_mat_set_values(mat, NULL, here, NULL), SPMV_E_ARG);
    assert_int_equal(spmv_mat_set_values(mat, values, here, NULL), SPMV_OK);
    assert_multiplies(&a, plan, SPMV_AS_IS, 1, SPMV_COLUMNS, true);
    assert_multiplies(&a, plan, SPMV_AS_IS, 8, SPMV_ROWS, false);
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    give_back(stale);
    give_back_arrays();
}

TEST(other_values_are_read_where_they_are) {
    assert_other_values_are_read(SPMV_F64);
    assert_other_values_are_read(SPMV_F32);
}

TEST(every_product_is_of_the_arrays_as_they_are) {
    assert_products_follow(NKINDS, false);
    assert_products_follow(NKINDS, true);
}

/* Returns the context of all other tests, which end_on_gpu takes. */
static spmv_ctx *begin_on_gpu(void) {
    const spmv_ctx_opts opts = {.size = sizeof opts, .backend = "cuda"};
    spmv_ctx *host = ctx, *there = NULL;
    if (!source_alloc || spmv_ctx_create_lazily(&opts, &there) != SPMV_OK ||
        !is_usable(there, &spmv_cuda)) {
        spmv_ctx_free(there);
        skip();
    }
    ctx = there, is_there = true;
    return host;
}

static void end_on_gpu(spmv_ctx *host) {
    spmv_ctx_free(ctx);
    ctx = host, is_there = false;
}

TEST(on_a_gpu_too) {
    spmv_ctx *host = begin_on_gpu();
    assert_products_follow(BLOCKS, false);
    assert_alpha_reaches_all();
    assert_other_values_are_read(SPMV_F64);
    assert_other_values_are_read(SPMV_F32);
    end_on_gpu(host);
}

/* One row has most of the entries; out-of-range offsets read nothing. */
TEST(long_lines_and_wrong_offsets_on_a_gpu) {
    spmv_ctx *host = begin_on_gpu();
    for (int64_t k = 1; k <= MOST_VECTORS; k += 4) {
        start(BY_ROWS, SPMV_F64, 64);
        for (int64_t i = 1; i < ROWS; i++) a.ptr64[i] = i < 7 ? i * 200 : NNZ - 600 + i;
        a.ptr64[ROWS] = NNZ;
        spmv_mat *mat = matrix(&a);
        spmv_plan *plan = plan_for(mat, &a, SPMV_AS_IS);
        assert_multiplies(&a, plan, SPMV_AS_IS, k, SPMV_ROWS, true);
        assert_multiplies(&a, plan, SPMV_AS_IS, k, SPMV_COLUMNS, false);
        a.ptr64[0] = -9, a.ptr64[ROWS] = INT64_MAX;
        send_again(&a);
        a.ptr64[0] = 0, a.ptr64[ROWS] = NNZ;
        assert_multiplies(&a, plan, SPMV_AS_IS, k, SPMV_ROWS, true);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        give_back_arrays();
    }
    end_on_gpu(host);
}

TEST(what_is_wrong_on_a_gpu_is_refused) {
    spmv_ctx *host = begin_on_gpu();
    for (int of = BY_ROWS; of < BLOCKS; of++) {
        start((kind)of, SPMV_F64, 32);
        a.idx[5] = (int32_t)places_of(&a);
        const spmv_arrays view = lend(&a);
        spmv_mat *mat = NULL;
        spmv_plan *plan = NULL;
        assert_int_equal(spmv_mat_create(ctx, &view, &mat), SPMV_OK);
        assert_int_equal(spmv_plan_create(mat, NULL, &plan), SPMV_E_ARG);
        assert_non_null(strstr(spmv_ctx_error(ctx), "1 entry lies outside the 600 x 420 matrix"));
        const spmv_plan_opts opts = {.size = sizeof opts, .kernel = "omp:auto"};
        assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
        assert_non_null(strstr(spmv_ctx_error(ctx), "\"cuda:auto\""));
        spmv_mat_free(mat);
        give_back_arrays();
    }
    is_there = false;
    start(BY_ROWS, SPMV_F64, 32);
    spmv_arrays view = view_of_arrays(&a);
    view.place = SPMV_DEVICE;
    assert_int_equal(try_arrays(view), SPMV_E_ARG);
    end_on_gpu(host);
}

static const spmv_plan *shared;

/* turned: NULL: by the matrix, else by its transpose. Returns NULL if all is well. */
static void *multiply_often(void *turned) {
    double x[ROWS], z[ROWS], first[ROWS];
    for (int i = 0; i < ROWS; i++) x[i] = i % 3;
    for (int n = 0; n < 200; n++) {
        const spmv_call call =
            WITH(spmv_call, .x = x, .z = n ? z : first, .op = turned ? SPMV_TRANSPOSE : SPMV_AS_IS);
        if (spmv_apply(shared, &call, NULL) != SPMV_OK) return &a;
        if (n && memcmp(z, first, (turned ? COLS : ROWS) * sizeof *z) != 0) return &a;
    }
    return NULL;
}

TEST(several_threads_multiply_at_once) {
    start(BY_ROWS, SPMV_F64, 32);
    FREED(spmv_mat) *mat = matrix(&a);
    FREED(spmv_plan) *plan = plan_for(mat, &a, SPMV_BOTH);
    spmv_plan_facts facts = {.size = sizeof facts};
    assert_int_equal(spmv_plan_info(plan, &facts), SPMV_OK);
    assert_true(facts.concurrent);
    assert_string_equal(facts.kernel, "in_place");
    shared = plan;
    pthread_t thread[4];
    for (int t = 0; t < 4; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, multiply_often, t % 2 ? &a : NULL), 0);
    for (int t = 0; t < 4; t++) {
        void *wrong = NULL;
        assert_int_equal(pthread_join(thread[t], &wrong), 0);
        assert_null(wrong);
    }
}

/* The entries of a row are added in their order, and nothing is fused: with these, any other way
 * gives other bits. */
TEST(a_row_is_summed_in_the_order_of_its_entries) {
    start(BY_ROWS, SPMV_F64, 64);
    double x[COLS], z[ROWS], *values = random_vector(3, NNZ);
    for (int j = 0; j < COLS; j++) x[j] = random_entry(4, (uint64_t)j);
    memcpy(a.f64, values, NNZ * sizeof *values);
    FREED(spmv_mat) *mat = matrix(&a);
    FREED(spmv_plan) *plan = plan_for(mat, &a, SPMV_AS_IS);
    assert_int_equal(spmv_exec(plan, 1, x, 0, z), SPMV_OK);
    for (int i = 0; i < ROWS; i++) {
        volatile double sum = 0;
        for (int64_t k = a.ptr64[i]; k < a.ptr64[i + 1]; k++) {
            volatile double term = a.f64[k] * x[a.idx[k]];
            sum = sum + term;
        }
        assert_true(sum == z[i]);
    }
    free(values);
}

/* Few entries: for two vectors a team is not worth its start, for nine it is. */
TEST(bits_do_not_depend_on_the_number_of_vectors) {
    double *const x = random_vector(6, ROWS * MOST_VECTORS);
    double z[ROWS * MOST_VECTORS], narrow[ROWS * 2], *values = random_vector(3, NNZ);
    for (int n = 0; n < 12; n++) {
        const spmv_op op = n & 1 ? SPMV_TRANSPOSE : SPMV_AS_IS;
        const spmv_layout layout = n & 2 ? SPMV_ROWS : SPMV_COLUMNS;
        a = (arrays){
            .kind = (kind)(n / 4), .precision = SPMV_F64, .bits = 32, .nnz = 3000, .seed = 5};
        change(&a);
        memcpy(a.f64, values, NNZ * sizeof *values);
        FREED(spmv_mat) *mat = matrix(&a);
        FREED(spmv_plan) *plan = plan_for(mat, &a, SPMV_BOTH);
        const int64_t rows = n & 1 ? COLS : ROWS, cols = n & 1 ? ROWS : COLS,
                      ldx = layout == SPMV_ROWS ? MOST_VECTORS : cols;
        spmv_call call = WITH(spmv_call, .x = x, .ldx = ldx, .layout = layout, .op = op, .z = z,
                              .k = MOST_VECTORS);
        assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
        call.z = narrow, call.k = 2;
        assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
        const operand Z = {rows, MOST_VECTORS, layout == SPMV_ROWS ? MOST_VECTORS : rows, layout},
                      first = {rows, 2, layout == SPMV_ROWS ? 2 : rows, layout};
        for (int64_t i = 0; i < rows; i++)
            for (int j = 0; j < 2; j++) assert_true(z[at(&Z, i, j)] == narrow[at(&first, i, j)]);
    }
    free(x), free(values);
}

TEST(ends_that_became_wrong_are_refused) {
    double x[ROWS] = {0}, z[ROWS];
    start(BY_ROWS, SPMV_F64, 32);
    FREED(spmv_mat) *mat = matrix(&a);
    for (int op = SPMV_AS_IS; op <= SPMV_TRANSPOSE; op++) {
        FREED(spmv_plan) *plan = plan_for(mat, &a, (spmv_op)op);
        static const int64_t wrong[] = {NNZ + 1, INT32_MAX, -1};
        for (int n = 0; n < COUNT(wrong); n++) {
            a.ptr32[ROWS] = (int32_t)wrong[n];
            assert_int_equal(spmv_exec(plan, 1, x, 0, z), SPMV_E_ARG);
            assert_non_null(strstr(spmv_ctx_error(ctx), "ptr runs from 0 to"));
        }
        a.ptr32[ROWS] = NNZ, a.ptr32[0] = 1;
        assert_int_equal(spmv_exec(plan, 1, x, 0, z), SPMV_E_ARG);
        a.ptr32[0] = 0;
        assert_int_equal(spmv_exec(plan, 1, x, 0, z), SPMV_OK);
    }
}

/* Offsets that decrease in between make empty rows, as in a plain loop. */
TEST(offsets_may_decrease) {
    double x[COLS], z[ROWS];
    start(BY_ROWS, SPMV_F64, 64);
    for (int j = 0; j < COLS; j++) x[j] = j % 5;
    FREED(spmv_mat) *mat = matrix(&a);
    FREED(spmv_plan) *plan = plan_for(mat, &a, SPMV_AS_IS);
    for (int i = 3; i < ROWS; i += 50) a.ptr64[i] = NNZ - a.ptr64[i];
    assert_int_equal(spmv_exec(plan, 1, x, 0, z), SPMV_OK);
    for (int i = 0; i < ROWS; i++) {
        double sum = 0;
        for (int64_t k = a.ptr64[i]; k < a.ptr64[i + 1]; k++) sum += a.f64[k] * x[a.idx[k]];
        assert_true(sum == z[i]);
    }
}

TEST(what_there_is_not_is_refused) {
    start(BY_ROWS, SPMV_F64, 32);
    spmv_arrays view = view_of_arrays(&a);
    assert_int_equal(try_arrays(view), SPMV_OK);
#define REFUSED(change, wanted) \
    do { \
        spmv_arrays other = view; \
        change; \
        assert_int_equal(try_arrays(other), wanted); \
    } while (0)
    REFUSED(other.base = 1, SPMV_E_UNSUITABLE);
    REFUSED(other.values = NULL, SPMV_E_UNSUITABLE);
    REFUSED(other.flags |= SPMV_VALIDATE, SPMV_E_UNSUITABLE);
    REFUSED((other.rows = other.cols = COLS, other.symmetry = SPMV_SYMMETRIC), SPMV_E_UNSUITABLE);
    REFUSED((other.block_rows = 2, other.block_cols = 11), SPMV_E_ARG);
    REFUSED((other.block_rows = 2, other.by_columns = 1), SPMV_E_UNSUITABLE);
    REFUSED(other.line = a.line, SPMV_E_UNSUITABLE);
    REFUSED((other.line = a.line, other.flags = 0), SPMV_E_ARG);
    REFUSED((other.block_rows = 2, other.flags = 0), SPMV_E_ARG);
    a.idx[5] = COLS;
    REFUSED((void)0, SPMV_E_ARG);
    a.idx[5] = 0, a.line[7] = -1;
    REFUSED((other.line = a.line, other.ptr = NULL), SPMV_E_ARG);
    REFUSED(other.idx_bits = 16, SPMV_E_ARG);
    REFUSED((other.idx_bits = 64, other.flags = 0), SPMV_E_ARG);
    wide_indices = true;
    start(BY_ROWS, SPMV_F64, 32);
    view = view_of_arrays(&a);
    assert_int_equal(try_arrays(view), SPMV_OK);
    a.idx64[5] = (int64_t)1 << 32; /* whose lower half is 0 */
    REFUSED((void)0, SPMV_E_ARG);
    wide_indices = false;
    start(BY_ROWS, SPMV_F64, 64); /* nothing is read where offsets before a negative end point to */
    view = view_of_arrays(&a);
    a.ptr64[5] = (int64_t)1 << 40, a.ptr64[6] = a.ptr64[5] + 1, a.ptr64[ROWS] = -1;
    REFUSED((void)0, SPMV_E_ARG);
}

TEST(other_uses_of_the_matrix_are_refused) {
    start(BY_COLUMNS, SPMV_F64, 32);
    spmv_mat *mat = matrix(&a);
    spmv_csr_view rows = {.size = sizeof rows};
    spmv_coo_view coo = {.size = sizeof coo};
    spmv_stats stats = {.size = sizeof stats};
    spmv_plan *plan = NULL;
    assert_int_equal(spmv_mat_rows(mat, &rows), SPMV_E_UNSUITABLE);
    assert_int_equal(spmv_mat_entries(mat, &coo), SPMV_E_UNSUITABLE);
    assert_int_equal(spmv_mat_stats(mat, &stats), SPMV_E_UNSUITABLE);
    assert_int_equal(spmv_mat_save(mat, "never.mtx"), SPMV_E_UNSUITABLE);
    assert_int_equal(spmv_mat_set_values(mat, a.f64, SPMV_DEVICE, NULL), SPMV_E_UNSUITABLE);
    spmv_plan_opts opts = {.size = sizeof opts, .kernel = "csr_rows"};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
    opts = (spmv_plan_opts){.size = sizeof opts, .precision = SPMV_F32};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(mat->ctx), "spmv_plan_opts.precision must be that of"));
    opts = (spmv_plan_opts){.size = sizeof opts, .offset_bits = 64};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
    assert_non_null(strstr(spmv_ctx_error(mat->ctx), "spmv_plan_opts.offset_bits must be 0 or 32"));
    assert_null(plan);
    spmv_mat_free(mat);
    start(BLOCKS, SPMV_F64, 32);
    mat = matrix(&a);
    opts = (spmv_plan_opts){.size = sizeof opts, .op = SPMV_TRANSPOSE};
    assert_int_equal(spmv_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE);
    spmv_mat_free(mat);
}

/* A matrix without rows, columns or entries, and the copy of a plan. */
TEST(empty_matrices_and_copies_multiply) {
    const int32_t none[] = {0, 0, 0};
    double x[3] = {1, 2, 3}, z[3];
    for (int n = 0; n < 8; n++) {
        const spmv_arrays view = {.size = sizeof view,
                                  .rows = n & 1 ? 2 : 0,
                                  .cols = n & 2 ? 2 : 0,
                                  .ptr = none,
                                  .ptr_bits = 32,
                                  .by_columns = n & 4,
                                  .flags = SPMV_VOLATILE};
        FREED(spmv_mat) *mat = NULL;
        FREED(spmv_plan) *plan = NULL, *copy = NULL;
        assert_int_equal(spmv_mat_create(ctx, &view, &mat), SPMV_OK);
        assert_int_equal(spmv_plan_create(mat, NULL, &plan), SPMV_OK);
        assert_int_equal(spmv_plan_copy(plan, &copy), SPMV_OK);
        z[0] = z[1] = 7;
        assert_int_equal(spmv_exec(copy, 1, x, 0, z), SPMV_OK);
        for (int i = 0; i < 2; i++) assert_true(z[i] == (n & 1 ? 0 : 7));
    }
}

/* z <- A x of k vectors; x and z end in front of walls. */
static void multiply_blocks(const spmv_arrays *A, const spmv_plan *plan, int64_t k,
                            spmv_layout layout) {
    const int32_t *ptr = A->ptr, *column = A->idx;
    const double *values = A->values;
    const int high = A->block_rows, broad = A->block_cols;
    const walled in = walled_off((size_t)(A->cols * k) * sizeof(double)),
                 out = walled_off((size_t)(A->rows * k) * sizeof(double));
    double *x = (double *)(void *)in.bytes, *z = (double *)(void *)out.bytes;
    const operand X = {A->cols, k, layout == SPMV_ROWS ? k : A->cols, layout},
                  Z = {A->rows, k, layout == SPMV_ROWS ? k : A->rows, layout};
    const spmv_call call = {.size = sizeof call, .x = x, .z = z, .k = k, .layout = layout};
    for (int64_t n = 0; n < A->cols * k; n++) x[n] = (double)(n % 5 - 1);
    assert_int_equal(spmv_apply(plan, &call, NULL), SPMV_OK);
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t j = 0; j < k; j++) {
            double sum = 0;
            for (int e = ptr[i / high]; e < ptr[i / high + 1]; e++)
                for (int c = 0; c < broad; c++)
                    sum += values[(e * high + i % high) * broad + c] *
                           x[at(&X, column[e] * broad + c, j)];
            assert_true(z[at(&Z, i, j)] == sum);
        }
    munmap(in.all, in.size);
    munmap(out.all, out.size);
}

/* 2 block rows of 2 and of 1 block; the values end in front of a wall. */
TEST(blocks_of_every_size_multiply) {
    enum { LARGEST = 9, BLOCK_ROWS = 2, BLOCK_COLS = 3, VECTORS = 13 /* panels of every width */ };
    static const int32_t ptr[] = {0, 2, 3}, column[] = {2, 0, 1};
    for (int size = 0; size < LARGEST * LARGEST; size++) {
        const int high = 1 + size / LARGEST, broad = 1 + size % LARGEST, cells = 3 * high * broad;
        const walled memory = walled_off((size_t)cells * sizeof(double));
        double *values = (double *)(void *)memory.bytes;
        for (int n = 0; n < cells; n++) values[n] = n % 7 - 3;
        const spmv_arrays view =
            ARRAYS(BLOCK_ROWS * high, BLOCK_COLS * broad, 3, ptr, 32, column, values,
                   .flags = SPMV_VOLATILE, .block_rows = high, .block_cols = broad);
        spmv_mat *mat = NULL;
        assert_int_equal(spmv_mat_create(ctx, &view, &mat), SPMV_OK);
        spmv_plan *plan = must_plan(mat, NULL);
        multiply_blocks(&view, plan, 1, SPMV_COLUMNS);
        multiply_blocks(&view, plan, VECTORS, SPMV_COLUMNS);
        multiply_blocks(&view, plan, VECTORS, SPMV_ROWS);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        munmap(memory.all, memory.size);
    }
}

/* Returns how many threads this process has. */
static int threads_here(void) {
    DIR *folder = opendir("/proc/self/task");
    int n = -2; /* without . and .. */
    assert_non_null(folder);
    while (readdir(folder)) n++;
    closedir(folder);
    return n;
}

/* Few entries are multiplied by the calling thread alone, by contexts of one thread and of several:
 * a child of fork(), which has no team, starts none. */
TEST(a_short_product_starts_no_thread) {
    static double x[ROWS], z[ROWS];
    for (int n = 0; n < 4 * NKINDS; n++) {
        spmv_ctx *own = ctx, *one = context_of(1);
        a = (arrays){
            .kind = (kind)(n / 4), .precision = SPMV_F64, .bits = 32, .nnz = 1000, .seed = 5};
        change(&a);
        ctx = n & 2 ? one : own;
        spmv_mat *mat = matrix(&a);
        spmv_plan *plan =
            plan_for(mat, &a, n & 1 && a.kind != BLOCKS ? SPMV_TRANSPOSE : SPMV_AS_IS);
        int status = 1;
        const pid_t child = fork();
        if (child == 0) {
            alarm(60);
            const spmv_status failed = spmv_exec(plan, 1, x, 0, z);
            _exit(failed || threads_here() != 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        spmv_plan_free(plan);
        spmv_mat_free(mat);
        spmv_ctx_free(one);
        ctx = own;
    }
}

TEST_MAIN(wait_without_spinning, open_context, close_context)
