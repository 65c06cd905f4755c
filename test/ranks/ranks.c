/* ranks.c: compares products over the ranks of this MPI program with those of the whole matrix.
 * Every rank recomputes its rows from the entries of the whole matrix and from x_j by index, never
 * from an exchanged value. Before each checked product y is filled with NaN, and so is every halo,
 * by a product with an x of NaN; each product has another x.
 *
 * ranks [-x EXCHANGE] [-w EXCHANGE] [-m SOURCE]... [-k KERNEL]... [-n SOURCE]... [-r SOURCE]... [-b
 * SOURCE]... [-s SOURCE]...: -x and -w use another exchange, on all ranks or on the last one. -m
 * multiplies these matrices, and -k one matrix by these kernels, instead of the default ones. -n
 * also sets new values. -r compares reading with reading on one rank, and -b measures its memory.
 * With -s, in a program with scarce.h, rank 1 gets no memory at each allocation in turn. Rank 0
 * prints failures and counts. Kernels that cannot multiply are skipped.
 *
 * ranks -i SOURCE -p nnz|rows|metis|scotch|FILE: rank 0 prints a line with the sizes of each rank,
 * and no counts. */
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <spmv_ranks.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

typedef struct scene { /* a whole matrix on every rank */
    const char *name;
    int64_t rows, cols, nnz;
    int32_t *row, *col;
    double *value;
} scene;

#ifdef OTHER_MPI
/* Simulates another MPI for spmv_ranks_create. */
int MPI_Get_library_version(char *words, int *length) {
    strcpy(words, "Another MPI 1.0");
    *length = (int)strlen(words);
    return MPI_SUCCESS;
}
#endif

static spmv_ranks *ranks;
static int rank, size, passed, failed, skipped;
static int64_t nan_at = -1;    /* index of the element of x that is NaN */
static const int64_t *numbers; /* indices of own rows; NULL: a contiguous block of rows */
static int is_square;

/* ---- counting ------------------------------------------------------------------------------- */

/* Returns whether ok holds on all ranks. */
static int on_all(int ok) {
    int all, done = 0;
    MPI_Request request;
    MPI_Iallreduce(&ok, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, &request);
    while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) usleep(10);
    return all;
}

static void count(int ok, const char *what, const char *of) {
    if (on_all(ok)) {
        passed++;
        return;
    }
    failed++;
    if (rank == 0) printf("FAIL %s: %s, %d ranks\n", of, what, size);
    if (!ok && *spmv_ranks_error(ranks)) printf("     %s\n", spmv_ranks_error(ranks));
}

/* ---- the reference -------------------------------------------------------------------------- */

static double number(uint64_t seed, int64_t i) {
    uint64_t h = (seed + 1) * 0x9e3779b97f4a7c15u ^ ((uint64_t)i + 1) * 0xbf58476d1ce4e5b9u;
    h = (h ^ h >> 29) * 0x94d049bb133111ebu;
    return (double)(int64_t)(h ^ h >> 32) / 0x1p63;
}

static double x_at(uint64_t seed, int64_t j, int64_t v, spmv_precision p) {
    const double x = j == nan_at ? NAN : number(seed + 1000 * (uint64_t)v, j);
    return p == SPMV_F32 ? (float)x : x;
}

static double y_at(uint64_t seed, int64_t i, int64_t v, spmv_precision p) {
    return x_at(seed + 77, i + (1 << 20), v, p);
}

static void put(void *array, int64_t k, double value, spmv_precision p) {
    if (p == SPMV_F32)
        ((float *)array)[k] = (float)value;
    else
        ((double *)array)[k] = value;
}

static double get(const void *array, int64_t k, spmv_precision p) {
    return p == SPMV_F32 ? ((const float *)array)[k] : ((const double *)array)[k];
}

typedef struct product {
    spmv_precision precision;
    double alpha, beta;
    int64_t k; /* number of vectors, in rows */
    uint64_t seed;
} product;

static int64_t row_at(const spmv_ranks_facts *f, int64_t i) {
    return numbers ? numbers[i] : f->first_row + i;
}

static int64_t col_at(const spmv_ranks_facts *f, int64_t j) {
    return numbers && is_square ? numbers[j] : f->first_col + j;
}

/* Returns, for each row of the matrix, its index among own rows, malloc'd; -1: another rank's. */
static int64_t *places_of(const scene *s, const spmv_ranks_facts *f) {
    int64_t *at = malloc((size_t)s->rows * sizeof *at + 1);
    for (int64_t i = 0; i < s->rows; i++) at[i] = -1;
    for (int64_t i = 0; i < f->own_rows; i++) at[row_at(f, i)] = i;
    return at;
}

/* Returns whether own rows of y are right, within rounding errors. */
static int is_right(const scene *s, const spmv_ranks_facts *f, const product *p, const void *y) {
    const double eps = p->precision == SPMV_F32 ? 0x1p-23 : 0x1p-52;
    long double *sum = calloc((size_t)(f->own_rows * p->k) + 1, 2 * sizeof *sum);
    long double *mass = sum + f->own_rows * p->k;
    int64_t *at = places_of(s, f);
    int right = 1;
    for (int64_t e = 0; e < s->nnz; e++) {
        const int64_t i = at[s->row[e]];
        const double a = p->precision == SPMV_F32 ? (float)s->value[e] : s->value[e];
        for (int64_t v = 0; i >= 0 && v < p->k; v++) {
            const long double term = (long double)a * x_at(p->seed, s->col[e], v, p->precision);
            sum[i * p->k + v] += p->alpha * term;
            mass[i * p->k + v] += fabsl(p->alpha * term);
        }
    }
    for (int64_t n = 0; n < f->own_rows * p->k; n++) {
        const double before =
            p->beta == 0 ? 0 : y_at(p->seed, row_at(f, n / p->k), n % p->k, p->precision);
        const long double expected = sum[n] + p->beta * before;
        const long double bound = 40 * eps * (mass[n] + fabs(p->beta * before));
        const double got = get(y, n, p->precision);
        if (isnan(expected) ? !isnan(got) : !(fabsl(got - expected) <= bound)) right = 0;
    }
    free(at);
    free(sum);
    return right;
}

static spmv_status multiply(const spmv_ranks_plan *plan, const product *p, const void *x, void *y) {
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    if (p->k == 1) return spmv_ranks_exec(plan, p->alpha, x, p->beta, y);
    spmv_call call = SPMV_OPTS(spmv_call);
    if (p->precision == SPMV_F64)
        call.alpha = &p->alpha, call.beta = &p->beta;
    else
        call.alpha_f32 = &alpha, call.beta_f32 = &beta;
    call.x = x;
    call.y = call.z = y;
    call.k = p->k;
    call.layout = SPMV_ROWS;
    return spmv_ranks_apply(plan, &call);
}

static int try_product(const scene *s, const spmv_ranks_facts *f, const spmv_ranks_plan *plan,
                       const product *p) {
    void *x = malloc((size_t)(f->own_cols * p->k) * sizeof(double) + 1);
    void *y = malloc((size_t)(f->own_rows * p->k) * sizeof(double) + 1);
    for (int64_t n = 0; n < f->own_cols * p->k; n++) put(x, n, NAN, p->precision);
    for (int64_t n = 0; n < f->own_rows * p->k; n++) put(y, n, NAN, p->precision);
    spmv_status status = multiply(plan, p, x, y); /* halos are NaN now */
    for (int64_t n = 0; n < f->own_cols * p->k; n++)
        put(x, n, x_at(p->seed, col_at(f, n / p->k), n % p->k, p->precision), p->precision);
    for (int64_t n = 0; n < f->own_rows * p->k; n++)
        put(y, n, p->beta == 0 ? NAN : y_at(p->seed, row_at(f, n / p->k), n % p->k, p->precision),
            p->precision);
    if (status == SPMV_OK) status = multiply(plan, p, x, y);
    int right = status == SPMV_OK && is_right(s, f, p, y);
    /* Two more products with other x, and without NaN, detect a halo of an earlier or a later
     * product. */
    product other = *p;
    other.beta = 0;
    for (int more = 0; more < 2; more++) {
        other.seed += 500;
        for (int64_t n = 0; n < f->own_cols * p->k; n++)
            put(x, n, x_at(other.seed, col_at(f, n / p->k), n % p->k, p->precision), p->precision);
        if (multiply(plan, &other, x, y) != SPMV_OK || !is_right(s, f, &other, y)) right = 0;
    }
    free(x);
    free(y);
    return on_all(right);
}

static spmv_ranks_halo halo = SPMV_HALO_LISTS; /* kind of halo for new plans; -h: replicate */

/* Orders by row, then by column. */
static int by_place(const void *a, const void *b) {
    const int32_t *left = a, *right = b;
    if (left[0] != right[0]) return left[0] < right[0] ? -1 : 1;
    return (left[1] > right[1]) - (left[1] < right[1]);
}

/* Returns the minimum length of a row that is split among the ranks. */
static int64_t least_split(const scene *s) {
    const int64_t mean = s->nnz / size;
    return size == 1 ? INT64_MAX : mean < 1024 ? 1024 : mean + 1;
}

/* Sets the values of a loaded matrix in blocks to those of s, which has no duplicates. */
static int renew(const scene *s, spmv_ranks_mat *mat) {
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    int64_t *length = calloc((size_t)s->rows + 1, sizeof *length), n = 0;
    double *values = malloc((size_t)s->nnz * sizeof *values + 1);
    spmv_ranks_mat_info(mat, &f);
    for (int64_t e = 0; e < s->nnz; e++) length[s->row[e]]++;
    for (int split = 0; split < 2; split++)
        for (int64_t e = 0; e < s->nnz; e++) {
            const int is_split = length[s->row[e]] >= least_split(s);
            const int64_t at = is_split ? s->col[e] - f.first_col : s->row[e] - f.first_row;
            const int mine = at >= 0 && at < (is_split ? f.own_cols : f.own_rows);
            if (is_split == split && mine) values[n++] = s->value[e];
        }
    const int done = n == f.own_nnz && spmv_ranks_mat_set_values(mat, values) == SPMV_OK;
    free(length);
    free(values);
    return done;
}

static const scene *renewed; /* the tested matrix with other values; NULL: values do not change */

/* Returns whether all products of a plan are right, or UNSUITABLE. */
enum { RIGHT = 1, UNSUITABLE = -1 };
static int try_plan(const scene *s, spmv_ranks_mat *mat, const char *kernel, spmv_precision p,
                    int64_t vectors) {
    static const double scalars[][2] = {{1, 0}, {2, -1}, {0, 1}};
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_ranks_plan *plan = NULL;
    int right = RIGHT;
    opts.kernel = kernel;
    opts.precision = p;
    opts.vectors = vectors;
    opts.layout = vectors > 1 ? SPMV_ROWS : 0;
    opts.expected_calls = 1;
    numbers = spmv_ranks_mat_numbers(mat);
    is_square = s->rows == s->cols;
    if (spmv_ranks_mat_set_halo(mat, halo) != SPMV_OK) return 0;
    const spmv_status status = spmv_ranks_plan_create(mat, &opts, &plan);
    if (status != SPMV_OK) return status == SPMV_E_UNSUITABLE ? UNSUITABLE : 0;
    if (spmv_ranks_mat_info(mat, &f) != SPMV_OK) right = 0;
    for (uint64_t c = 0; c < 3; c++) {
        const product one = {p, scalars[c][0], scalars[c][1], vectors, 10 * c};
        right &= try_product(s, &f, plan, &one);
    }
    if (vectors > 1) { /* more vectors than the plan was made for, with a remainder */
        const product more = {p, 2, -1, 2 * vectors + 1, 5};
        right &= try_product(s, &f, plan, &more);
    }
    if (renewed) { /* the plan uses its matrix's values */
        const product again = {p, 2, -1, vectors, 7};
        right &= renew(renewed, mat) && try_product(renewed, &f, plan, &again);
        right &= renew(s, mat) && try_product(s, &f, plan, &again);
    }
    spmv_ranks_plan_free(plan);
    return right;
}

/* ---- matrices ------------------------------------------------------------------------------- */

static void scene_alloc(scene *s, int64_t most) {
    s->row = malloc((size_t)most * sizeof *s->row + 1);
    s->col = malloc((size_t)most * sizeof *s->col + 1);
    s->value = malloc((size_t)most * sizeof *s->value + 1);
}

static void scene_free(scene *s) {
    free(s->row);
    free(s->col);
    free(s->value);
}

static void add(scene *s, int64_t i, int64_t j, double value) {
    s->row[s->nnz] = (int32_t)i;
    s->col[s->nnz] = (int32_t)j;
    s->value[s->nnz++] = value;
}

/* Reads the whole matrix on this rank, and expands symmetry. */
static int read_scene(const char *source, scene *s) {
    spmv_mat *mat = NULL;
    spmv_coo_view coo = SPMV_OPTS(spmv_coo_view);
    if (spmv_mat_load(spmv_ranks_ctx(ranks), source, NULL, &mat) != SPMV_OK) return 0;
    const int lent = spmv_mat_entries(mat, &coo) == SPMV_OK;
    *s = (scene){.name = source, .rows = coo.rows, .cols = coo.cols};
    scene_alloc(s, 2 * coo.nnz);
    for (int64_t e = 0; e < coo.nnz; e++) {
        const double value = coo.values ? coo.values[e] : 1;
        add(s, coo.row[e], coo.col[e], value);
        if (coo.symmetry != SPMV_GENERAL && coo.row[e] != coo.col[e])
            add(s, coo.col[e], coo.row[e], coo.symmetry == SPMV_SYMMETRIC ? value : -value);
    }
    spmv_mat_free(mat);
    return lent;
}

typedef struct placed { /* an entry */
    int32_t row, col;
    double value;
} placed;

/* Sorts the entries of a matrix, and sums duplicates. */
static void sort_scene(scene *s) {
    placed *all = malloc((size_t)s->nnz * sizeof *all + 1);
    const int64_t given = s->nnz;
    for (int64_t e = 0; e < given; e++) all[e] = (placed){s->row[e], s->col[e], s->value[e]};
    qsort(all, (size_t)given, sizeof *all, by_place);
    s->nnz = 0;
    for (int64_t e = 0; e < given; e++)
        if (e && by_place(&all[e], &all[e - 1]) == 0)
            s->value[s->nnz - 1] += all[e].value;
        else
            add(s, all[e].row, all[e].col, all[e].value);
    free(all);
}

/* Counts a result. Kernels for all matrices must not be skipped. */
static void count_plan(int result, const char *what, const char *of, const char *kernel) {
    const int takes_all = strcmp(kernel, "auto") == 0 || strncmp(kernel, "csr_", 4) == 0;
    if (result == UNSUITABLE && !takes_all) {
        skipped++;
        return;
    }
    count(result == RIGHT, what, of);
}

/* Returns whether the sums of the ranks' facts equal those of the whole, and as much is sent as
 * received. */
static int facts_add_up(const scene *s, const spmv_ranks_facts *f) {
    enum { SUMS = 7, MOST = 2 };
    const int64_t mine[SUMS] = {f->own_rows, f->own_cols,      f->own_nnz, f->received,
                                f->sent,     f->receives_from, f->sends_to};
    int64_t all[SUMS], most[MOST];
    const int64_t largest[MOST] = {f->received, f->own_nnz};
    MPI_Allreduce(mine, all, SUMS, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(largest, most, MOST, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return f->rows == s->rows && f->cols == s->cols && all[0] == s->rows && all[1] == s->cols &&
           all[2] == f->nnz && all[3] == all[4] && all[5] == all[6] &&
           (all[3] > 0) == (all[5] > 0) && f->most_received == most[0] &&
           f->most_own_nnz == most[1] && f->local_nnz + f->remote_nnz == f->own_nnz;
}

/* Returns whether own rows begin at the row for which the entries of all rows before are closest to
 * the share of the ranks before. Entries of a split row count in the row of their column's index,
 * if the matrix is square. */
static int begins_evenly(const scene *s, const spmv_ranks_facts *f) {
    int64_t *length = calloc((size_t)s->rows + 1, sizeof *length);
    int64_t *before = calloc((size_t)s->rows + 1, sizeof *before);
    for (int64_t e = 0; e < s->nnz; e++) length[s->row[e]]++;
    for (int64_t e = 0; e < s->nnz; e++)
        if (length[s->row[e]] < least_split(s))
            before[s->row[e] + 1]++;
        else if (s->rows == s->cols)
            before[s->col[e] + 1]++;
    for (int64_t i = 0; i < s->rows; i++) before[i + 1] += before[i];
    const double share = (double)before[s->rows] * rank / size;
    const double off = fabs((double)before[f->first_row] - share);
    int right = 1;
    for (int64_t i = 0; i <= s->rows; i++) right &= off <= fabs((double)before[i] - share);
    free(length);
    free(before);
    return right;
}

static void try_source(const char *source, spmv_partition partition, const char *kernel) {
    scene s = {0};
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    opts.partition = partition;
    const int read = read_scene(source, &s);
    const spmv_status status = spmv_ranks_mat_load(ranks, source, &opts, &mat);
    count(read && status == SPMV_OK, "load", source);
    if (status == SPMV_OK) {
        spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
        count(spmv_ranks_mat_info(mat, &f) == SPMV_OK && facts_add_up(&s, &f), "facts", source);
        sort_scene(&s);
        if (partition == SPMV_BY_NONZEROS) count(begins_evenly(&s, &f), "blocks", source);
        count_plan(try_plan(&s, mat, kernel, SPMV_F64, 1), "f64", source, kernel);
        count_plan(try_plan(&s, mat, kernel, SPMV_F32, 1), "f32", source, kernel);
        count_plan(try_plan(&s, mat, kernel, SPMV_F64, 3), "three vectors", source, kernel);
    }
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* Returns the same entries with other values, to be freed. */
static scene with_other_values(const scene *s) {
    scene other = *s;
    other.value = malloc((size_t)s->nnz * sizeof *other.value + 1);
    for (int64_t e = 0; e < s->nnz; e++) other.value[e] = number(9, e);
    return other;
}

/* Plans must work when their matrix gets other values, and its own again. */
static void try_renewed(const char *source) {
    scene s = {0};
    spmv_ranks_mat *mat = NULL;
    const int read = read_scene(source, &s);
    count(read && spmv_ranks_mat_load(ranks, source, NULL, &mat) == SPMV_OK, "load", source);
    if (read && mat) {
        sort_scene(&s);
        const scene other = with_other_values(&s);
        renewed = &other;
        count(try_plan(&s, mat, "auto", SPMV_F64, 1) == RIGHT, "new values, f64", source);
        count(try_plan(&s, mat, "csr_rows", SPMV_F32, 1) == RIGHT, "new values, f32", source);
        count(try_plan(&s, mat, "csr_rows", SPMV_F64, 3) == RIGHT, "new values, three", source);
        renewed = NULL;
        free(other.value);
    }
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* Rows are divided when a plan first needs it: tests new values before that, between plans of both
 * kinds of halo, and while both kinds exist. */
static void try_halo_in_turn(const char *source, int first) {
    scene s = {0};
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *kept = NULL;
    const spmv_ranks_halo before = halo;
    const int read = read_scene(source, &s);
    count(read && spmv_ranks_mat_load(ranks, source, NULL, &mat) == SPMV_OK, "load", source);
    if (read && mat) {
        sort_scene(&s);
        const scene other = with_other_values(&s);
        count(renew(&other, mat), "first values", source);
        for (int k = 0; k < 4; k++) {
            const scene *now = k < 2 ? &other : &s;
            halo = (k + first) % 2 ? SPMV_HALO_LISTS : SPMV_HALO_REPLICATE;
            if (k == 2) count(renew(&s, mat), "its own values", source);
            count(try_plan(now, mat, "csr_rows", SPMV_F64, 1) == RIGHT, "product in turn", source);
            if (k == 0) count(spmv_ranks_plan_create(mat, NULL, &kept) == SPMV_OK, "plan", source);
        }
        free(other.value);
    }
    halo = before;
    spmv_ranks_plan_free(kept);
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* NaN in x must reach the rows with its column, and no others. */
static void try_nan(void) {
    for (nan_at = 0; nan_at < 144; nan_at += 71)
        try_source("gen:poisson2d:12", SPMV_BY_NONZEROS, "auto");
    nan_at = -1;
}

/* Returns whether an alpha that is not finite made own rows without entries NaN, and left no finite
 * element. */
static int has_none_finite(const scene *s, const spmv_ranks_facts *f, int64_t k, const double *y) {
    int64_t *at = places_of(s, f), *length = calloc((size_t)f->own_rows + 1, sizeof *length);
    int right = 1;
    for (int64_t e = 0; e < s->nnz; e++)
        if (at[s->row[e]] >= 0) length[at[s->row[e]]]++;
    for (int64_t n = 0; n < f->own_rows * k; n++)
        right &= length[n / k] ? !isfinite(y[n]) : isnan(y[n]) != 0;
    free(at);
    free(length);
    return right;
}

static void try_alpha(const char *source, const char *kernel, int64_t k) {
    scene s = {0};
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *plan = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.kernel = kernel;
    opts.vectors = k;
    opts.layout = SPMV_ROWS;
    int right = read_scene(source, &s) &&
                spmv_ranks_mat_load(ranks, source, NULL, &mat) == SPMV_OK &&
                spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK &&
                spmv_ranks_mat_info(mat, &f) == SPMV_OK;
    double *x = malloc((size_t)(f.own_cols * k) * sizeof *x + 1);
    double *y = calloc((size_t)(f.own_rows * k) + 1, sizeof *y);
    for (int64_t n = 0; n < f.own_cols * k; n++) x[n] = 1;
    numbers = right ? spmv_ranks_mat_numbers(mat) : NULL;
    for (int n = 0; right && n < 4; n++) {
        const product p = {SPMV_F64, n & 1 ? NAN : INFINITY, n & 2 ? -1 : 0, k, 0};
        for (int64_t i = 0; i < f.own_rows * k; i++) y[i] = 1;
        right = multiply(plan, &p, x, y) == SPMV_OK && has_none_finite(&s, &f, k, y);
        right = on_all(right);
    }
    count(right, "alpha that is not finite", kernel);
    free(x);
    free(y);
    spmv_ranks_plan_free(plan);
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* ---- reading in pieces ---------------------------------------------------------------------- */

/* Hash of entries, independent of their order. */
static uint64_t sum_of(int64_t i, int64_t j, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t h = ((uint64_t)i * 0x9e3779b97f4a7c15u ^ (uint64_t)j) * 0xbf58476d1ce4e5b9u;
    return ((h ^ h >> 29) + bits) * 0x94d049bb133111ebu;
}

/* Returns whether own entries are those of the whole matrix in own rows. */
static int has_own_entries(const scene *s, const spmv_ranks_mat *mat) {
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_coo_view own = SPMV_OPTS(spmv_coo_view);
    uint64_t wanted = 0, got = 0;
    int64_t n = 0;
    if (spmv_ranks_mat_info(mat, &f) != SPMV_OK || spmv_ranks_mat_entries(mat, &own) != SPMV_OK)
        return 0;
    numbers = spmv_ranks_mat_numbers(mat);
    int64_t *at = places_of(s, &f);
    for (int64_t e = 0; e < s->nnz; e++) {
        if (at[s->row[e]] < 0) continue;
        wanted += sum_of(s->row[e], s->col[e], s->value[e]);
        n++;
    }
    for (int64_t e = 0; e < own.nnz; e++)
        got += sum_of(row_at(&f, own.row[e]), own.col[e], own.values[e]);
    free(at);
    return own.nnz == n && got == wanted && own.rows == f.own_rows && own.cols == s->cols;
}

static int is_finite(const scene *s) {
    int all = 1;
    for (int64_t e = 0; e < s->nnz; e++) all &= isfinite(s->value[e]) != 0;
    return all;
}

static int same_stats(const spmv_stats *a, const spmv_stats *b) {
    return a->rows == b->rows && a->cols == b->cols && a->nnz == b->nnz &&
           a->nnz_file == b->nnz_file && a->duplicates == b->duplicates &&
           a->explicit_zeros == b->explicit_zeros && a->row_min == b->row_min &&
           a->row_max == b->row_max && a->empty_rows == b->empty_rows &&
           a->bandwidth == b->bandwidth && a->row_mean == b->row_mean && a->row_std == b->row_std &&
           a->hash == b->hash && a->field == b->field && a->symmetry == b->symmetry;
}

/* Returns the rank of each row in a partition without blocks, malloc'd. The last of several ranks
 * has none. */
static int32_t *scattered(int64_t rows) {
    int32_t *owner = malloc((size_t)rows * sizeof *owner + 1);
    for (int64_t i = 0; i < rows; i++)
        owner[i] = (int32_t)((i * 7 + i / 5) % (size > 2 ? size - 1 : size));
    return owner;
}

/* Loads a matrix; only rank 0 passes a partition. */
static spmv_status load_by(const char *source, int by, int64_t rows, spmv_ranks_mat **mat) {
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    int32_t *owner = rank == 0 ? scattered(rows) : NULL;
    opts.partition = (spmv_partition)by;
    opts.keep_entries = 1;
    opts.owner = by == SPMV_BY_OWNERS ? owner : NULL;
    opts.owners = rows;
    const spmv_status status = spmv_ranks_mat_load(ranks, source, &opts, mat);
    free(owner);
    return status;
}

/* Entries, statistics and notes of ranks must equal those of a single reader, and so must the
 * messages of refused files. */
static void try_reading(const char *source) {
    scene s = {0};
    spmv_mat *alone = NULL;
    spmv_stats wanted = SPMV_OPTS(spmv_stats);
    char words[400] = "";
    spmv_ctx *ctx = spmv_ranks_ctx(ranks);
    const int read = read_scene(source, &s);
    spmv_status right = spmv_mat_load(ctx, source, NULL, &alone);
    if (right == SPMV_OK) right = spmv_mat_stats(alone, &wanted);
    snprintf(words, sizeof words, "%s",
             right == SPMV_OK ? spmv_ctx_note(ctx) : spmv_ctx_error(ctx));
    for (int by = SPMV_BY_NONZEROS; by <= SPMV_BY_OWNERS; by++) {
        spmv_ranks_mat *mat = NULL;
        spmv_stats stats = SPMV_OPTS(spmv_stats);
        if (by == SPMV_BY_METIS || by == SPMV_BY_SCOTCH) continue; /* try_partitions */
        const spmv_status status = load_by(source, by, s.rows, &mat);
        count(status == right, "status", source);
        if (right != SPMV_OK || !read) {
            count(strncmp(spmv_ranks_error(ranks), words, sizeof words - 1) == 0, words, source);
        } else if (status == SPMV_OK) {
            count(spmv_ranks_mat_stats(mat, &stats) == SPMV_OK && same_stats(&stats, &wanted),
                  "statistics", source);
            count(has_own_entries(&s, mat), "entries", source);
            count(strncmp(spmv_ctx_note(ctx), words, sizeof words - 1) == 0, "notes", source);
            if (is_finite(&s))
                count(try_plan(&s, mat, "csr_rows", SPMV_F64, 1) == RIGHT, "product", source);
        }
        spmv_ranks_mat_free(mat);
    }
    spmv_mat_free(alone);
    scene_free(&s);
}

extern __attribute__((weak)) int scarce_asked, scarce_at; /* scarce.h */

/* Rank 1 gets no memory at each of its requests in turn, until there is a plan: all ranks must
 * report the rank, and continue. */
static void try_scarce_of(const char *source, int64_t rows, int by, spmv_ranks_halo kind) {
    for (int n = 1;; n++) {
        spmv_ranks_mat *mat = NULL;
        spmv_ranks_plan *plan = NULL;
        scarce_asked = 0;
        scarce_at = rank == 1 ? n : 0;
        spmv_status status = load_by(source, by, rows, &mat);
        if (status == SPMV_OK) status = spmv_ranks_mat_set_halo(mat, kind);
        if (status == SPMV_OK) status = spmv_ranks_plan_create(mat, NULL, &plan);
        const int had_all = on_all(!scarce_at || scarce_asked < scarce_at);
        const char *said = spmv_ranks_error(ranks);
        scarce_at = 0;
        if (status == SPMV_E_FEATURE) { /* the library is not installed */
            skipped++;
            return;
        }
        count(had_all ? status == SPMV_OK && n > 20
                      : status == SPMV_E_NOMEM && strstr(said, "rank 1: out of memory") &&
                            !strstr(said, "rank 0: rank 1:"), /* only once */
              "no memory", source);
        spmv_ranks_plan_free(plan);
        spmv_ranks_mat_free(mat);
        if (had_all) return;
    }
}

static void try_scarce(const char *source) {
    scene s = {0};
    count(read_scene(source, &s), "read", source);
    try_scarce_of(source, s.rows, SPMV_BY_NONZEROS, SPMV_HALO_LISTS);
    try_scarce_of(source, s.rows, SPMV_BY_NONZEROS, SPMV_HALO_REPLICATE);
    try_scarce_of(source, s.rows, SPMV_BY_METIS, SPMV_HALO_LISTS);
    try_scarce_of(source, s.rows, SPMV_BY_OWNERS, SPMV_HALO_LISTS);
    scene_free(&s);
}

/* Partitions without blocks: by libraries, for square matrices, and by the caller. */
static void try_partitions(const char *source) {
    scene s = {0};
    count(read_scene(source, &s), "read", source);
    for (int by = SPMV_BY_METIS; by <= SPMV_BY_OWNERS; by++) {
        spmv_ranks_mat *mat = NULL;
        spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
        const spmv_status status = load_by(source, by, s.rows, &mat);
        if (s.rows != s.cols && by != SPMV_BY_OWNERS) {
            count(status == SPMV_E_ARG && strstr(spmv_ranks_error(ranks), "square matrices"),
                  "refused", source);
            continue;
        }
        if (status == SPMV_E_FEATURE) { /* the library is not installed */
            skipped++;
            continue;
        }
        count(status == SPMV_OK, "load", source);
        if (status != SPMV_OK) continue;
        spmv_ranks_mat_info(mat, &f);
        count(has_own_entries(&s, mat), "entries", source);
        numbers = spmv_ranks_mat_numbers(mat);
        int ascend = numbers != NULL;
        for (int64_t i = 1; ascend && i < f.own_rows; i++) ascend = numbers[i - 1] < numbers[i];
        count(ascend, "numbers ascend", source);
        count(try_plan(&s, mat, "auto", SPMV_F64, 1) == RIGHT, "f64", source);
        count(try_plan(&s, mat, "csr_rows", SPMV_F32, 1) == RIGHT, "f32", source);
        count(try_plan(&s, mat, "csr_rows", SPMV_F64, 3) == RIGHT, "three vectors", source);
        spmv_ranks_mat_free(mat);
    }
    scene_free(&s);
}

/* Returns the maximum resident memory since the last call. */
static double most_resident(void) {
    char line[256];
    long kb = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %ld", &kb) == 1) break;
    if (file) fclose(file);
    file = fopen("/proc/self/clear_refs", "w");
    if (file) fputs("5", file), fclose(file);
    return 1024.0 * (double)kb;
}

/* While reading, no rank may have more than 1.3 times its entries and its compressed rows, and some
 * room. A rank with all entries of the matrix would have more. */
static void try_bytes(const char *source) {
    const double room = 16e6;
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    opts.keep_entries = 1;
    most_resident();
    const double before = most_resident();
    count(spmv_ranks_mat_load(ranks, source, &opts, &mat) == SPMV_OK, "load", source);
    const double took = most_resident() - before;
    spmv_ranks_mat_info(mat, &f);
    const double most = 1.3 * (28.0 * (double)f.own_nnz + 16.0 * (double)f.own_rows) + room;
    if (took > most) printf("rank %d: %.1f MB, not %.1f\n", rank, 1e-6 * took, 1e-6 * most);
    count(took <= most && most < 16.0 * (double)f.nnz + 12.0 * (double)f.own_nnz, "memory", source);
    spmv_ranks_mat_free(mat);
}

/* ---- own rows ------------------------------------------------------------------------------- */

enum { ROWS = 60, EACH = 5 };

/* Creates rows with unordered columns and duplicates. */
static scene own_scene(uint64_t seed) {
    scene s = {.name = "own rows", .rows = ROWS, .cols = ROWS};
    scene_alloc(&s, ROWS * EACH);
    for (int64_t i = 0; i < ROWS; i++) {
        const int64_t cols[EACH] = {(i * 7 + 30) % ROWS, i, (i + 1) % ROWS, i, ROWS - 1 - i};
        for (int64_t k = 0; k < EACH; k++) add(&s, i, cols[k], number(seed, i * EACH + k));
    }
    return s;
}

/* Returns the start of a block if rank `without` has none. */
static int64_t block(int r, int without) {
    const int others = size > 1 ? size - 1 : 1, before = r - (size > 1 && r > without);
    return ROWS * (int64_t)before / others;
}

/* Creates a matrix in which rank 0 has no rows, and the last rank no entry of x. */
static spmv_status make_own(const scene *s, spmv_precision p, spmv_ranks_mat **out) {
    const int64_t first = block(rank, 0), end = block(rank + 1, 0);
    const int64_t rows = size > 1 ? end - first : ROWS, nnz = rows * EACH;
    int64_t *ptr = malloc(((size_t)rows + 1) * sizeof *ptr);
    int64_t *idx = malloc((size_t)nnz * sizeof *idx + 1);
    void *values = malloc((size_t)nnz * sizeof(double) + 1);
    for (int64_t i = 0; i <= rows; i++) ptr[i] = i * EACH;
    for (int64_t k = 0; k < nnz; k++) {
        idx[k] = s->col[first * EACH + k];
        put(values, k, s->value[first * EACH + k], p);
    }
    const spmv_ranks_rows own = {
        .size = sizeof own,
        .rows = rows,
        .cols = size > 1 ? block(rank + 1, size - 1) - block(rank, size - 1) : ROWS,
        .nnz = nnz,
        .ptr = ptr,
        .idx = idx,
        .values = values,
        .precision = p};
    const spmv_status status = spmv_ranks_mat_create(ranks, &own, out);
    free(ptr);
    free(idx);
    free(values);
    return status;
}

static spmv_status renew_own(spmv_ranks_mat *mat, const scene *s, spmv_precision p) {
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_ranks_mat_info(mat, &f);
    void *values = malloc((size_t)f.own_nnz * sizeof(double) + 1);
    for (int64_t k = 0; k < f.own_nnz; k++) put(values, k, s->value[f.first_row * EACH + k], p);
    const spmv_status status = spmv_ranks_mat_set_values(mat, values);
    free(values);
    return status;
}

static void try_own_rows(spmv_precision p) {
    scene s = own_scene(1), other = own_scene(2);
    spmv_ranks_mat *mat = NULL;
    count(make_own(&s, p, &mat) == SPMV_OK, "create", s.name);
    if (mat) {
        spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
        count(spmv_ranks_mat_info(mat, &f) == SPMV_OK && f.rows == ROWS && f.cols == ROWS &&
                  f.nnz == ROWS * EACH && f.local_nnz + f.remote_nnz == f.own_nnz &&
                  (size == 1 || rank || f.own_rows == 0),
              "facts", s.name);
        count(try_plan(&s, mat, "csr_balanced", p, 1) == RIGHT, "product", s.name);
        if (size > 1) /* the check must detect other values on one rank */
            count(try_plan(rank == size - 1 ? &other : &s, mat, "csr_balanced", p, 1) == 0,
                  "a rank with other values is found", s.name);
        count(renew_own(mat, &other, p) == SPMV_OK, "new values", s.name);
        count(try_plan(&other, mat, "csr_balanced", p, 1) == RIGHT, "product of new values",
              s.name);
    }
    spmv_ranks_mat_free(mat);
    scene_free(&s);
    scene_free(&other);
}

/* ---- operands ------------------------------------------------------------------------------- */

typedef struct array { /* [n] rows of k elements, with others between, before and behind */
    int64_t n, k, ld;
    void *all, *at;
} array;

enum { AROUND = 5, MARK = 0x5a };

static array array_of(int64_t n, int64_t k, int64_t ld) {
    const size_t bytes = (size_t)(n * ld + k + 2 * AROUND) * sizeof(double);
    char *all = memset(malloc(bytes), MARK, bytes);
    return (array){n, k, ld, all, all + AROUND * sizeof(double)};
}

/* Returns whether the memory around the elements is unchanged. */
static int is_whole(const array *a, spmv_precision p) {
    const size_t width = p == SPMV_F32 ? sizeof(float) : sizeof(double);
    const char *all = a->all, *first = a->at, *end = first + (size_t)(a->n * a->ld + a->k) * width;
    for (const char *c = all; c < end + AROUND * width; c++) {
        const int64_t i = c < first ? -1 : (c - first) / (int64_t)width;
        const int is_number = i >= 0 && i / a->ld < a->n && i % a->ld < a->k;
        if (!is_number && *c != MARK) return 0;
    }
    return 1;
}

/* Leading dimensions differ between x, y, z and ranks; y is z or disjoint; scalars may be NULL. */
static int try_operands_of(const scene *s, const spmv_ranks_facts *f, const spmv_ranks_plan *plan,
                           product p, uint64_t draw) {
    static const double scalars[] = {1, -0.5, 0};
    const uint64_t own = draw + 31 * (uint64_t)rank;
    const int64_t gap[] = {own % 5, own / 5 % 5, own / 25 % 5};
    const int apart = own / 125 % 2, has_alpha = draw / 3 % 2, has_beta = draw / 7 % 3 > 0;
    p.alpha = has_alpha ? 2 : 1, p.beta = has_beta ? scalars[draw % 3] : 0;
    array x = array_of(f->own_cols, p.k, p.k + gap[0]),
          z = array_of(f->own_rows, p.k, p.k + gap[1]),
          y = array_of(f->own_rows, p.k, p.k + (apart ? gap[2] : gap[1]));
    double *packed = malloc((size_t)(f->own_rows * p.k) * sizeof *packed + 1);
    for (int64_t n = 0; n < f->own_cols * p.k; n++)
        put(x.at, n / p.k * x.ld + n % p.k, x_at(p.seed, col_at(f, n / p.k), n % p.k, p.precision),
            p.precision);
    for (int64_t n = 0; n < f->own_rows * p.k; n++) {
        const double before = y_at(p.seed, row_at(f, n / p.k), n % p.k, p.precision);
        put(z.at, n / p.k * z.ld + n % p.k, NAN, p.precision);
        put(apart ? y.at : z.at, n / p.k * y.ld + n % p.k, p.beta == 0 ? NAN : before, p.precision);
    }
    const float alpha = (float)p.alpha, beta = (float)p.beta;
    const int is_f32 = p.precision == SPMV_F32;
    const spmv_call call = {.size = sizeof call,
                            .alpha = has_alpha && !is_f32 ? &p.alpha : NULL,
                            .beta = has_beta && !is_f32 ? &p.beta : NULL,
                            .alpha_f32 = has_alpha && is_f32 ? &alpha : NULL,
                            .beta_f32 = has_beta && is_f32 ? &beta : NULL,
                            .x = x.at,
                            .y = apart ? y.at : z.at,
                            .z = z.at,
                            .k = p.k,
                            .ldx = gap[0] ? x.ld : 0,
                            .ldy = gap[apart ? 2 : 1] ? y.ld : 0,
                            .ldz = gap[1] ? z.ld : 0,
                            .layout = SPMV_ROWS};
    int right = spmv_ranks_apply(plan, &call) == SPMV_OK;
    for (int64_t n = 0; n < f->own_rows * p.k; n++)
        put(packed, n, get(z.at, n / p.k * z.ld + n % p.k, p.precision), p.precision);
    right &= is_right(s, f, &p, packed) && is_whole(&x, p.precision) && is_whole(&y, p.precision) &&
             is_whole(&z, p.precision);
    free(packed);
    free(x.all);
    free(y.all);
    free(z.all);
    return on_all(right);
}

static void try_operands(const char *source, spmv_precision precision, int64_t vectors) {
    scene s = {0};
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    int right = read_scene(source, &s);
    count(spmv_ranks_mat_load(ranks, source, NULL, &mat) == SPMV_OK, "load", source);
    spmv_ranks_mat_info(mat, &f);
    numbers = spmv_ranks_mat_numbers(mat);
    is_square = s.rows == s.cols;
    for (int kind = SPMV_HALO_LISTS; kind <= SPMV_HALO_REPLICATE; kind++) {
        spmv_ranks_plan *plan = NULL;
        const spmv_plan_opts opts = {
            .size = sizeof opts, .precision = precision, .kernel = "csr_rows", .vectors = vectors};
        spmv_ranks_mat_set_halo(mat, (spmv_ranks_halo)kind);
        right &= spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK;
        spmv_plan_facts own = SPMV_OPTS(spmv_plan_facts), others = own;
        right = right && spmv_ranks_plan_info(plan, &own, NULL) == SPMV_OK &&
                spmv_ranks_plan_info(plan, NULL, &others) == SPMV_OK &&
                strcmp(own.kernel, "csr_rows") == 0 &&
                (kind == SPMV_HALO_LISTS || size == 1 || !others.kernel);
        for (uint64_t draw = 0; right && draw < 24; draw++) {
            const int64_t k = 1 + (int64_t)(draw * 5 % (2 * (uint64_t)vectors + 2));
            const product p = {.precision = precision, .k = k, .seed = draw};
            right &= try_operands_of(&s, &f, plan, p, draw * 1009);
        }
        spmv_ranks_plan_free(plan);
    }
    count(right, "leading dimensions, y apart", source);
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void expect(spmv_status got, spmv_status wanted, const char *words) {
    const char *said = spmv_ranks_error(ranks); /* reported once, by one rank */
    count(got == wanted && strstr(said, words) && !strstr(said, ": rank "), words, "failure");
}

/* A rank that skips its product takes part in that of the others. */
static void try_no_call(spmv_ranks_mat *mat, int without) {
    enum { VECTORS = 3 };
    spmv_ranks_plan *plan = NULL;
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.kernel = "csr_rows";
    opts.vectors = VECTORS;
    count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "plan", "no call");
    double x[ROWS * VECTORS], y[ROWS * VECTORS];
    for (int k = 0; k < ROWS * VECTORS; k++) x[k] = 1, y[k] = 0;
    spmv_call call = SPMV_OPTS(spmv_call);
    call.x = x;
    call.z = y;
    call.k = VECTORS;
    const int has_call = rank != without || size == 1;
    const spmv_status status = spmv_ranks_apply(plan, has_call ? &call : NULL);
    count(status == (has_call ? SPMV_OK : SPMV_E_ARG), "a rank without a call", "failure");
    spmv_ranks_plan_free(plan);
}

/* A rank without a call takes part with the plan's number of vectors. Other ranks get NaN in rows
 * that need its x, here everywhere, and right results in the next product; in shared memory also if
 * they have another number of vectors. Messages of another length than expected would be lost. */
static void try_no_call_of(int64_t k, spmv_ranks_halo kind) {
    enum { SIDE = 12, VECTORS = 3 };
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *plan = NULL;
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_ranks_plan_facts is = SPMV_OPTS(spmv_ranks_plan_facts);
    double x[SIDE * VECTORS], y[SIDE * VECTORS];
    opts.kernel = "csr_rows";
    opts.vectors = VECTORS;
    spmv_ranks_mat_load(ranks, "gen:dense:12", NULL, &mat);
    spmv_ranks_mat_set_halo(mat, kind);
    count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "plan", "no call of others");
    spmv_ranks_mat_info(mat, &f);
    spmv_ranks_plan_exchange(plan, &is);
    const int are_told = k == VECTORS || strcmp(is.carrier, "memory") == 0;
    int right = 1;
    for (int turn = 0; turn < 6; turn++) {
        const int lacks = turn % 2 && size > 1 && are_told;
        spmv_call call = {.size = sizeof call, .x = x, .z = y, .k = k, .layout = SPMV_ROWS};
        for (int n = 0; n < SIDE * VECTORS; n++) x[n] = 1 + turn, y[n] = -7;
        const int has_call = !(lacks && rank == size - 1);
        right &= (spmv_ranks_apply(plan, has_call ? &call : NULL) == SPMV_OK) == has_call;
        for (int64_t n = 0; n < f.own_rows * k && has_call; n++)
            right &= lacks ? isnan(y[n]) : isfinite(y[n]) && y[n] != -7;
    }
    count(right, "NaN for the others", "no call of others");
    spmv_ranks_plan_free(plan);
    spmv_ranks_mat_free(mat);
}

/* A rank whose call is refused sends NaN instead of its x. */
static void try_refused_call(spmv_ranks_halo kind) {
    enum { SIDE = 12 };
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *plan = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    double x[SIDE], y[SIDE];
    spmv_ranks_mat_load(ranks, "gen:dense:12", NULL, &mat);
    spmv_ranks_mat_set_halo(mat, kind);
    count(spmv_ranks_plan_create(mat, NULL, &plan) == SPMV_OK, "plan", "a refused call");
    spmv_ranks_mat_info(mat, &f);
    for (int fault = 0; fault < 4; fault++) {
        const int is_wrong = rank == size - 1;
        spmv_call call = {.size = sizeof call, .x = x, .z = y};
        for (int n = 0; n < SIDE; n++) x[n] = 1, y[n] = -7;
        if (is_wrong && fault == 0) call.op = SPMV_TRANSPOSE;
        if (is_wrong && fault == 1) call.dot_zz = y;
        if (is_wrong && fault == 2) call.w = x;
        if (is_wrong && fault == 3) call.z = NULL;
        int right = (spmv_ranks_apply(plan, &call) == SPMV_OK) == !is_wrong;
        for (int64_t n = 0; n < f.own_rows; n++) right &= is_wrong ? y[n] == -7 : isnan(y[n]);
        count(right, "NaN for the others", "a refused call");
    }
    spmv_ranks_plan_free(plan);
    spmv_ranks_mat_free(mat);
}

/* A kernel that cannot multiply with a replicated x uses lists, even if replication would be
 * faster. */
static void try_kernel_without_all(void) {
    spmv_ranks_mat *mat = NULL;
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.kernel = "sss_rows";
    spmv_load_opts load = SPMV_OPTS(spmv_load_opts);
    spmv_ranks_load_opts how = SPMV_OPTS(spmv_ranks_load_opts);
    how.load = &load;
    load.values = "symmetric";
    count(spmv_ranks_mat_load(ranks, "gen:dense:60", &how, &mat) == SPMV_OK, "load", "sss_rows");
    for (int k = 0; k < 5; k++) {
        spmv_ranks_plan *plan = NULL;
        spmv_ranks_plan_facts is = SPMV_OPTS(spmv_ranks_plan_facts);
        count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "auto", "sss_rows");
        count(spmv_ranks_plan_exchange(plan, &is) == SPMV_OK && is.halo == SPMV_HALO_LISTS, "lists",
              "sss_rows");
        spmv_ranks_plan_free(plan);
    }
    spmv_ranks_mat_free(mat);
}

static int same_rows(const double *a, const double *b, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (memcmp(&a[i], &b[i], sizeof *a) != 0) return 0;
    return 1;
}

/* "In turn" must equal "overlapped"; the exchange alone must not change y; the product alone must
 * use the last halo. The matrix was loaded by rank 0. */
static void try_ways_of(spmv_ranks_mat *mat) {
    enum { MOST = 3000 };
    spmv_ranks_plan *plan = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    const double marked = -7;
    opts.kernel = "csr_rows";
    count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "plan", "ways");
    spmv_ranks_mat_info(mat, &f);
    double x[MOST], y[4][MOST];
    for (int64_t k = 0; k < f.own_cols; k++) x[k] = number(3, f.first_col + k);
    for (int way = 0; way < 4; way++) {
        for (int64_t k = 0; k < f.own_rows; k++) y[way][k] = marked;
        count(spmv_ranks_plan_set_way(plan, (spmv_ranks_way)way) == SPMV_OK &&
                  spmv_ranks_exec(plan, 1, x, 0, y[way]) == SPMV_OK,
              "product", "ways");
    }
    count(same_rows(y[SPMV_OVERLAPPED], y[SPMV_IN_TURN], f.own_rows), "in turn", "ways");
    count(same_rows(y[SPMV_OVERLAPPED], y[SPMV_PRODUCT_ALONE], f.own_rows), "alone", "ways");
    for (int64_t k = 0; k < f.own_rows; k++)
        if (y[SPMV_EXCHANGE_ALONE][k] != marked) y[0][0] = NAN;
    count(!isnan(y[0][0]), "the exchange alone", "ways");
    count(spmv_ranks_plan_set_way(plan, (spmv_ranks_way)4) == SPMV_E_ARG, "no way", "ways");
    spmv_ranks_plan_free(plan);
}

static void try_ways(void) {
    spmv_mat *whole = NULL;
    spmv_ranks_mat *mat = NULL;
    if (rank == 0) spmv_mat_load(spmv_ranks_ctx(ranks), "gen:poisson2d:12", NULL, &whole);
    count(spmv_ranks_mat_deal(ranks, whole, NULL, &mat) == SPMV_OK, "deal", "ways");
    spmv_mat_free(whole);
    try_ways_of(mat);
    spmv_ranks_mat_free(mat);
}

/* A simulated clock that advances by TICK_S with each reading, while ticks > 0: no measured time is
 * 0, and equal steps take equal times. Otherwise the system's clock. */
#define TICK_S 1e-6
static int ticks;

int clock_gettime(clockid_t clock, struct timespec *now) {
    if (!ticks) return (int)syscall(SYS_clock_gettime, clock, now);
    *now = (struct timespec){.tv_sec = 1000, .tv_nsec = 1000 * ticks++};
    return 0;
}

/* Returns whether a plan's facts are sums over split and other rows; here no other row has
 * entries. */
static int facts_have_both(spmv_ranks_mat *mat, const spmv_ranks_facts *f) {
    spmv_ranks_plan *plan = NULL;
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_plan_facts own = SPMV_OPTS(spmv_plan_facts);
    const size_t bytes = (size_t)f->own_nnz * sizeof(double);
    const double least = TICK_S * (size > 1 ? 1.5 : 0.5); /* between one interval and two */
    opts.kernel = "csell_slices";
    ticks = 1;
    const spmv_status status = spmv_ranks_plan_create(mat, &opts, &plan);
    ticks = 0;
    const int right = status == SPMV_OK && spmv_ranks_plan_info(plan, &own, NULL) == SPMV_OK &&
                      own.convert_s > least && own.prepare_s > least && own.made_s > least &&
                      own.slots >= f->own_nnz && own.slots < 64 * 3000 && own.store_bytes > bytes &&
                      own.store_bytes < 64 * bytes && own.traffic_bytes > bytes &&
                      own.traffic_bytes < 64 * bytes;
    spmv_ranks_plan_free(plan);
    return right;
}

/* A row of all entries is split: every rank has a part; sums must have the same bits with every
 * strategy. */
static void try_split(void) {
    enum { COLS = 3000 };
    scene s = {.name = "split row", .rows = 1, .cols = COLS};
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    count(spmv_ranks_mat_load(ranks, "gen:dense:1x3000", NULL, &mat) == SPMV_OK, "load", s.name);
    spmv_ranks_mat_info(mat, &f);
    count(f.own_nnz == f.own_cols && f.nnz == COLS && f.most_own_nnz <= COLS / size + 1, "facts",
          s.name);
    count(f.received == (f.own_rows ? size - 1 : 0), "sums", s.name);
    count(facts_add_up(&s, &f), "facts of all", s.name);
    count(facts_have_both(mat, &f), "facts of a plan", s.name);
    try_ways_of(mat);
    scene_alloc(&s, COLS);
    for (int64_t j = 0; j < COLS; j++) add(&s, 0, j, number(9, j));
    count(spmv_ranks_mat_set_values(mat, s.value + f.first_col) == SPMV_OK, "new values", s.name);
    count(try_plan(&s, mat, "csr_rows", SPMV_F64, 1) == RIGHT, "product of new values", s.name);
    count(try_plan(&s, mat, "auto", SPMV_F32, 3) == RIGHT, "of three vectors in f32", s.name);
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* Both kinds of halo must give the same sums; auto tries both if ranks need a large part of x. */
static void try_halo(void) {
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    double x[ROWS], y[3][ROWS];
    scene s = own_scene(1);
    opts.kernel = "csr_rows";
    count(make_own(&s, SPMV_F64, &mat) == SPMV_OK, "create", "halo");
    spmv_ranks_mat_info(mat, &f);
    for (int64_t k = 0; k < f.own_cols; k++) x[k] = number(3, f.first_col + k);
    for (int asked = SPMV_HALO_AUTO; asked <= SPMV_HALO_REPLICATE; asked++) {
        spmv_ranks_plan *plan = NULL;
        spmv_ranks_plan_facts is = SPMV_OPTS(spmv_ranks_plan_facts);
        count(spmv_ranks_mat_set_halo(mat, (spmv_ranks_halo)asked) == SPMV_OK, "set", "halo");
        count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "plan", "halo");
        count(spmv_ranks_exec(plan, 1, x, 0, y[asked]) == SPMV_OK, "product", "halo");
        count(spmv_ranks_plan_exchange(plan, &is) == SPMV_OK, "facts", "halo");
        const int tried = asked == SPMV_HALO_AUTO && size > 1;
        count(asked == SPMV_HALO_AUTO ? is.halo != SPMV_HALO_AUTO : (int)is.halo == asked, "kind",
              "halo");
        count(tried ? is.lists_s > 0 && is.replicate_s > 0 : is.lists_s == 0, "trial", "halo");
        if (tried && is.replicate_s < is.lists_s)
            count(is.halo == SPMV_HALO_REPLICATE, "choice", "halo");
        const int whole = is.halo == SPMV_HALO_REPLICATE;
        count(is.received == (whole ? f.cols - f.own_cols : f.received), "received", "halo");
        spmv_ranks_plan_free(plan);
    }
    int near = 1; /* sums in two products and in one have different rounding errors */
    for (int64_t i = 0; i < f.own_rows; i++)
        for (int k = 0; k < 2; k++) near &= fabs(y[k][i] - y[2][i]) <= 1e-12 * (1 + fabs(y[2][i]));
    count(near, "sums", "halo");
    expect(spmv_ranks_mat_set_halo(mat, (spmv_ranks_halo)3), SPMV_E_ARG, "halo is 3");
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

/* Tests spmv_ranks_gather and spmv_ranks_deal. */
static void try_talk(void) {
    int gathered[4] = {0}, mine = 10 + rank;
    int64_t out[4] = {0}, in[4] = {0};
    count(spmv_ranks_gather(ranks, &mine, sizeof mine, gathered) == SPMV_OK, "gather", "talk");
    for (int r = 0; r < size; r++) count(gathered[r] == 10 + r, "gathered", "talk");
    for (int r = 0; r < size; r++) out[r] = rank == 0 ? (int64_t)sizeof mine : 0;
    in[0] = sizeof mine;
    mine = 0;
    count(spmv_ranks_deal(ranks, gathered, out, &mine, in) == SPMV_OK && mine == 10 + rank, "deal",
          "talk");
    count(*spmv_ranks_mpi(ranks), "name", "talk");
}

/* Ranks that may run on the same cores must share their threads. */
static void try_threads(void) {
    MPI_Comm comm = MPI_COMM_WORLD;
    cpu_set_t before, every;
    spmv_ctx *alone = NULL;
    spmv_ranks *other = NULL;
    if (getenv("OMP_NUM_THREADS")) return;
    sched_getaffinity(0, sizeof before, &before);
    memset(&every, -1, sizeof every);
    sched_setaffinity(0, sizeof every, &every);
    count(spmv_ctx_create(NULL, &alone) == SPMV_OK &&
              spmv_ranks_create(&comm, NULL, &other) == SPMV_OK,
          "create", "threads");
    const int threads = spmv_ctx_threads(alone), each = threads < size ? 1 : threads / size;
    count(spmv_ctx_threads(spmv_ranks_ctx(other)) == each, "shared", "threads");
    spmv_ranks_free(other);
    spmv_ctx_free(alone);
    sched_setaffinity(0, sizeof before, &before);
}

/* A large message of the caller is in transit while products are multiplied: the receiving rank
 * starts its products later. */
static void try_message_beside(void) {
    enum { BYTES = 4000000 };
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *plan = NULL;
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    if (size < 2) return;
    count(spmv_ranks_mat_load(ranks, "gen:poisson2d:30", NULL, &mat) == SPMV_OK, "load", "message");
    count(spmv_ranks_plan_create(mat, NULL, &plan) == SPMV_OK, "plan", "message");
    spmv_ranks_mat_info(mat, &f);
    char *message = calloc(1, BYTES);
    double *x = calloc((size_t)f.own_cols + 1, sizeof *x), *y = calloc((size_t)f.own_rows + 1, 8);
    MPI_Request request = MPI_REQUEST_NULL;
    int right = 1;
    if (rank == 0)
        MPI_Isend(memset(message, 7, BYTES), BYTES, MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
    if (rank == 1) MPI_Recv(message, BYTES, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int k = 0; k < 3; k++) right &= spmv_ranks_exec(plan, 1, x, 0, y) == SPMV_OK;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    count(right && message[BYTES - 1] == (rank < 2 ? 7 : 0), "product", "message");
    free(message);
    free(x);
    free(y);
    spmv_ranks_plan_free(plan);
    spmv_ranks_mat_free(mat);
}

/* A limit for files also limits shared memory: ranks then send messages. */
static void try_file_limit(void) {
    const char *carrier[2];
    struct rlimit most, little = {.rlim_cur = 10000};
    spmv_ranks_mat *mat = NULL;
    if (size < 2 || getrlimit(RLIMIT_FSIZE, &most) != 0) return;
    little.rlim_max = most.rlim_max;
    count(spmv_ranks_mat_load(ranks, "gen:random:9000:9", NULL, &mat) == SPMV_OK, "load", "limit");
    spmv_ranks_mat_set_halo(mat, SPMV_HALO_LISTS);
    for (int limited = 0; limited < 2; limited++) {
        spmv_ranks_plan *plan = NULL;
        spmv_ranks_plan_facts is = SPMV_OPTS(spmv_ranks_plan_facts);
        setrlimit(RLIMIT_FSIZE, limited ? &little : &most);
        const spmv_status status = spmv_ranks_plan_create(mat, NULL, &plan);
        setrlimit(RLIMIT_FSIZE, &most);
        count(status == SPMV_OK, "plan", "limit");
        spmv_ranks_plan_exchange(plan, &is);
        carrier[limited] = is.carrier;
        spmv_ranks_plan_free(plan);
    }
    count(strcmp(carrier[1], "mpi") == 0, "messages", "limit");
    if (!getenv("FAULT")) count(strcmp(carrier[0], "memory") == 0, "memory", "limit");
    spmv_ranks_mat_free(mat);
}

/* Invalid partitions, and the distribution of rank 0's matrix, which is in blocks. */
static void try_no_partition(void) {
    spmv_mat *whole = NULL;
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    const int32_t owner[3] = {0, 0, size};
    opts.partition = SPMV_BY_OWNERS;
    expect(spmv_ranks_mat_load(ranks, "gen:diagonal:3", &opts, &mat), SPMV_E_ARG, "neither owner");
    opts.owner = owner;
    opts.owners = 2;
    expect(spmv_ranks_mat_load(ranks, "gen:diagonal:3", &opts, &mat), SPMV_E_ARG, "owners is 2");
    opts.owners = 3;
    expect(spmv_ranks_mat_load(ranks, "gen:diagonal:3", &opts, &mat), SPMV_E_ARG, "owner[2] is ");
    opts.owner = NULL;
    opts.owner_file = "no/such/file";
    expect(spmv_ranks_mat_load(ranks, "gen:diagonal:3", &opts, &mat), SPMV_E_IO, "no/such/file");
    opts.owner_file = "/dev/zero"; /* NUL is no digit, and this file has no end */
    expect(spmv_ranks_mat_load(ranks, "gen:diagonal:3", &opts, &mat), SPMV_E_FORMAT,
           "number 1, ''");
    expect(spmv_ranks_mat_load(ranks, NULL, NULL, &mat), SPMV_E_ARG, "path is NULL");
    expect(spmv_ranks_mat_deal(ranks, NULL, NULL, &mat), SPMV_E_ARG, "mat is NULL");
    if (rank == 0) spmv_mat_load(spmv_ranks_ctx(ranks), "gen:diagonal:3", NULL, &whole);
    expect(spmv_ranks_mat_deal(ranks, whole, &opts, &mat), SPMV_E_UNSUITABLE, "in blocks");
    spmv_mat_free(whole);
}

static void try_failures(void) {
    char words[64];
    scene s = own_scene(1);
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_plan *plan = NULL;
    const int last = size - 1;
    try_message_beside();
    try_file_limit();
    try_no_partition();
    expect(spmv_ranks_mat_load(ranks, "no/such/file.mtx", NULL, &mat), SPMV_E_IO, "rank 0: ");
    if (size > 1) {
        spmv_ranks_load_opts load = SPMV_OPTS(spmv_ranks_load_opts);
        const char *path = rank == last ? "gen:diagonal:50" : "test/data/duplicates.mtx";
        snprintf(words, sizeof words, "rank %d reads 'gen:diagonal:50', rank 0 'dup", last);
        expect(spmv_ranks_mat_load(ranks, path, NULL, &mat), SPMV_E_ARG, words);
        load.partition = rank == last ? SPMV_BY_ROWS : SPMV_BY_NONZEROS;
        snprintf(words, sizeof words, "rank %d has another partition", last);
        expect(spmv_ranks_mat_load(ranks, "gen:diagonal:50", &load, &mat), SPMV_E_ARG, words);
    }
    snprintf(words, sizeof words, "rank %d: spmv_ranks_rows.idx[", last);
    const int64_t entry = (ROWS - 1) * EACH; /* an entry of the last rank */
    const int32_t col = s.col[entry];
    s.col[entry] = ROWS;
    expect(make_own(&s, SPMV_F64, &mat), SPMV_E_ARG, words);
    s.col[entry] = col;
    count(make_own(&s, SPMV_F64, &mat) == SPMV_OK, "create", "failure");
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.op = SPMV_TRANSPOSE;
    expect(spmv_ranks_plan_create(mat, &opts, &plan), SPMV_E_UNSUITABLE, "transpose");
    opts = SPMV_OPTS(spmv_plan_opts);
    opts.kernel = rank == last ? "csr_none" : "csr_rows";
    snprintf(words, sizeof words, "rank %d: ", last);
    expect(spmv_ranks_plan_create(mat, &opts, &plan), SPMV_E_ARG, words);

    if (size > 1) {
        opts = SPMV_OPTS(spmv_plan_opts);
        opts.vectors = rank == last ? 2 : 0;
        expect(spmv_ranks_plan_create(mat, &opts, &plan), SPMV_E_ARG, "vectors and precision");
        opts.vectors = 0;
        opts.precision = rank == last ? SPMV_F32 : SPMV_F64;
        expect(spmv_ranks_plan_create(mat, &opts, &plan), SPMV_E_ARG, "vectors and precision");
        opts = SPMV_OPTS(spmv_plan_opts);
    }

    opts.vectors = (int64_t)1 << 60;
    expect(spmv_ranks_plan_create(mat, &opts, &plan), SPMV_E_ARG, "vectors is");
    opts.vectors = 0;

    /* A rank without x fails alone, and its entries are NaN on the others. */
    opts.kernel = "csr_rows";
    count(spmv_ranks_plan_create(mat, &opts, &plan) == SPMV_OK, "plan", "failure");
    double x[ROWS], y[ROWS];
    for (int k = 0; k < ROWS; k++) x[k] = 1, y[k] = 0;
    const spmv_status status = spmv_ranks_exec(plan, 1, rank == 0 ? NULL : x, 0, y);
    count(status == (rank == 0 ? SPMV_E_ARG : SPMV_OK), "one rank has no x", "failure");
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts);
    spmv_ranks_mat_info(mat, &f);
    if (size > 1)
        for (int64_t e = 0; e < s.nnz; e++) { /* rank 0 owns the first block of x */
            const int64_t i = s.row[e] - f.first_row;
            if (i >= 0 && i < f.own_rows && rank && s.col[e] < block(1, last) && !isnan(y[i]))
                x[0] = 0;
        }
    count(x[0] == 1, "no numbers come from a rank without x", "failure");
    spmv_ranks_plan_free(plan);
    try_no_call(mat, last);
    spmv_ranks_mat_free(mat);
    scene_free(&s);
}

static void try_usual(void) {
    const int slack = prctl(PR_GET_TIMERSLACK);
    static const char *const sources[] = {
        "gen:poisson2d:12", "gen:random:200:5:90",  "gen:random:40:3:300", "gen:powerlaw:300:4",
        "gen:banded:150:9", "gen:giantrow:200:100", "gen:permutation:97",  "gen:diagonal:50",
        "gen:dense:3",      "gen:dense:1x7",        "gen:dense:7x1",       "gen:rmat:7:4",
        "gen:dense:3x6000"};
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k++)
        try_source(sources[k], k % 2 ? SPMV_BY_ROWS : SPMV_BY_NONZEROS,
                   k % 3 ? "auto" : "csr_rows");
    for (size_t k = 0; k < sizeof sources / sizeof *sources; k += 2) try_partitions(sources[k]);
    try_partitions("gen:dense:1x7");
    try_nan();
    for (int64_t k = 1; k <= 3; k += 2) {
        try_alpha("gen:rmat:7:4", "csr_rows", k);
        try_alpha("gen:rmat:7:4", "coo_segments", k);
        try_alpha("gen:rmat:7:4", "csb_blocks", k);
    }
    try_renewed("gen:poisson2d:12");
    try_renewed("gen:dense:1x6000");
    for (int first = 0; first < 2; first++) {
        try_halo_in_turn("gen:dense:17", first);
        try_halo_in_turn("gen:random:60:5", first);
        try_halo_in_turn("gen:poisson2d:12", first);
    }
    try_own_rows(SPMV_F64);
    try_own_rows(SPMV_F32);
    try_ways();
    try_split();
    try_halo();
    for (int64_t k = 1; k <= 3; k += 2) {
        try_no_call_of(k, SPMV_HALO_LISTS);
        try_no_call_of(k, SPMV_HALO_REPLICATE);
    }
    try_refused_call(SPMV_HALO_LISTS);
    try_refused_call(SPMV_HALO_REPLICATE);
    try_operands("gen:random:60:5", SPMV_F64, 3);
    try_operands("gen:random:40:3:300", SPMV_F32, 1);
    try_operands("gen:dense:2x3000", SPMV_F64, 2);
    try_kernel_without_all();
    try_talk();
    try_threads();
    try_failures();
    /* If waits change the timer slack of this thread, they restore it. */
    count(prctl(PR_GET_TIMERSLACK) == slack, "timer slack", "waits");
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Prints each rank's number, rows, nonzeros, entries received and sent, and peers. */
static void print_facts(const char *source, const char *by) {
    static const char *const words[] = {"nnz", "rows", "metis", "scotch"};
    int partition = 0;
    spmv_ranks_mat *mat = NULL;
    spmv_ranks_load_opts opts = SPMV_OPTS(spmv_ranks_load_opts);
    spmv_ranks_facts f = SPMV_OPTS(spmv_ranks_facts), *all = malloc((size_t)size * sizeof *all);
    while (partition < SPMV_BY_OWNERS && strcmp(by, words[partition]) != 0) partition++;
    opts.partition = (spmv_partition)partition;
    opts.owner_file = by;
    if (spmv_ranks_mat_load(ranks, source, &opts, &mat) != SPMV_OK)
        printf("     %s\n", spmv_ranks_error(ranks));
    if (mat) spmv_ranks_mat_info(mat, &f);
    MPI_Gather(&f, sizeof f, MPI_BYTE, all, sizeof f, MPI_BYTE, 0, MPI_COMM_WORLD);
    for (int r = 0; rank == 0 && r < size; r++)
        printf("%d %lld %lld %lld %lld %d %d\n", r, (long long)all[r].own_rows,
               (long long)all[r].own_nnz, (long long)all[r].received, (long long)all[r].sent,
               all[r].receives_from, all[r].sends_to);
    spmv_ranks_mat_free(mat);
    free(all);
}

int main(int argc, char **argv) {
    MPI_Comm comm = MPI_COMM_WORLD;
    spmv_ctx_opts context = SPMV_OPTS(spmv_ctx_opts);
    spmv_ranks_opts opts = SPMV_OPTS(spmv_ranks_opts);
#ifdef __SANITIZE_ADDRESS__ /* leaks of MPI's initialization are ignored */
    __lsan_disable();
#endif
    MPI_Init(&argc, &argv);
#ifdef __SANITIZE_ADDRESS__
    __lsan_enable();
#endif
    context.threads = 1;
    opts.context = &context;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int k = 1; k + 1 < argc; k += 2)
        if (strcmp(argv[k], "-h") == 0) {
            halo = SPMV_HALO_REPLICATE;
        } else if (strcmp(argv[k], "-x") == 0 || (strcmp(argv[k], "-w") == 0 && rank == size - 1))
            opts.exchange = argv[k + 1];
    if (spmv_ranks_create(&comm, &opts, &ranks) != SPMV_OK) {
        printf("rank %d: %s\n", rank, spmv_ranks_error(NULL));
        fflush(stdout);
        MPI_Finalize(); /* collective */
        return 1;
    }
    rank = spmv_ranks_rank(ranks);
    size = spmv_ranks_size(ranks);
    int asked = 0, prints = 0;
    const char *of = NULL;
    for (int k = 1; k + 1 < argc; k += 2) {
        if (strcmp(argv[k], "-m") == 0) try_source(argv[k + 1], SPMV_BY_NONZEROS, "csr_rows");
        if (strcmp(argv[k], "-n") == 0) try_renewed(argv[k + 1]);
        if (strcmp(argv[k], "-r") == 0) try_reading(argv[k + 1]);
        if (strcmp(argv[k], "-b") == 0) try_bytes(argv[k + 1]);
        if (strcmp(argv[k], "-s") == 0) try_scarce(argv[k + 1]);
        if (strcmp(argv[k], "-k") == 0) try_source("gen:box27:5", SPMV_BY_ROWS, argv[k + 1]);
        if (strcmp(argv[k], "-i") == 0) of = argv[k + 1];
        if (strcmp(argv[k], "-p") == 0) {
            print_facts(of, argv[k + 1]);
            prints = 1;
        }
        asked |= !strchr("xwh", argv[k][1]);
    }
    if (!asked) try_usual();
    spmv_ranks_free(ranks);
#ifdef __SANITIZE_ADDRESS__ /* before MPI_Finalize, which leaks */
    if (!prints && on_all(!__lsan_do_recoverable_leak_check()))
        passed++;
    else
        failed += !prints;
#endif
    if (rank == 0 && skipped) printf("%d skipped\n", skipped);
    if (rank == 0 && !prints) printf("%d passed, %d failed\n", passed, failed);
    fflush(stdout);
    MPI_Finalize();
    return rank == 0 && failed; /* a launcher may kill all ranks when one fails, before they
                                   print */
}
