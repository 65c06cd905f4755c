/* verify.c: the check. The reference is summed from the entries as the file holds them, in extended
 * precision and with what its additions round off, so that ten million duplicates of one entry do
 * not move it; through no format: neither a conversion nor a kernel can hide a fault in it. The
 * bound is the rounding error that any order of summation can make, a row at a time, and of each
 * vector by itself; A is the transpose in a product by it:
 *
 *     |y_i - r_i| <= c (n_i + 2) u (|alpha| |A| |x| + |beta| |y0|)_i
 *                  + c (n_i + 2) eta ((1 + |alpha|) max(1, max_j |x_j|) + max_ij |a_ij|)
 *
 * with u the unit roundoff and eta the smallest positive number of the precision (so that
 * underflow, which is exact to eta only, is no fault), c = 2. n_i counts file entries, mirrored
 * ones included. A kernel may multiply x by alpha first, as BLAS does by columns: that underflows
 * by itself, times an entry, or overflows.
 *
 * In f32 the first term of a row of 100,000 entries is larger than any y_i. Where x is the
 * program's own, of random signs, no order of summation comes near it: partial sums wander, to 8
 * times q_i = sqrt(sum_j (alpha a_ij x_j)^2 + (beta y0_i)^2) less often than once in 10^13, and so
 * do the n_i + 2 roundings of at most u 8 q_i each. The term then is
 *
 *     64 sqrt(n_i + 2) u q_i    if that is less. */
#include "spmv_helpers.h"
#include "spmv_sum.h"
#include "verify.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

static const double SLACK = 2, LUCK = 64;

double random_entry(uint64_t seed, uint64_t i) {
    uint64_t bits = spmv_mix(spmv_mix(seed) + (i + 1) * 0x9e3779b97f4a7c15u);
    double unit = (double)(bits >> 11) * 0x1p-53; /* [0, 1) */
    double size = 0.0625 + 0.9375 * unit;
    return bits & 1 ? size : -size;
}

static bool is_within(int64_t row, int64_t first, int64_t n) {
    return (uint64_t)(row - first) < (uint64_t)n;
}

static void add_entry(oracle *o, int64_t row, double a, double x) {
    if (o->len[row] < INT32_MAX) o->len[row]++;
    if (!isfinite(x)) return; /* add_special */
    const long double term = (long double)a * x, before = o->sum[row], sum = before + term;
    o->sum[row] = sum;
    if (!isfinite(term)) return;
    o->lost[row] += (double)((before - (sum - (sum - before))) + (term - (sum - before)));
    o->mass[row] += fabsl(term);
    o->square[row] += term * term;
}

static double mirrored(const spmv_coo_view *A, double a) {
    return A->symmetry == SPMV_SKEW_SYMMETRIC ? -a : a;
}

/* Every thread passes over all entries and sums those of its rows, in the order of the file
 * whatever the number of threads. */
static void sum_rows(const spmv_coo_view *A, oracle_x x, const void *of, int64_t first, int64_t n,
                     oracle *o) {
    for (int64_t k = 0; k < A->nnz; k++) {
        double a = A->values ? A->values[k] : 1;
        int32_t i = A->row[k], j = A->col[k];
        if (is_within(i, first, n)) add_entry(o, i, a, x(of, j));
        if (A->symmetry != SPMV_GENERAL && i != j && is_within(j, first, n))
            add_entry(o, j, mirrored(A, a), x(of, i));
    }
    for (int64_t i = first; i < first + n; i++)
        if (isfinite(o->sum[i]) && isfinite(o->lost[i])) o->sum[i] += o->lost[i];
}

/* ---- infinity and NaN in x ------------------------------------------------------------------ */

typedef struct special { /* an entry that meets one */
    int32_t row, col;
    int64_t k; /* in the file: duplicates are added in its order, as by the matrix */
    double a;
} special;

static int by_place(const void *a, const void *b) {
    const special *s = a, *t = b;
    if (s->row != t->row) return s->row < t->row ? -1 : 1;
    if (s->col != t->col) return s->col < t->col ? -1 : 1;
    return s->k < t->k ? -1 : s->k > t->k;
}

/* Returns how many; out: NULL, only to count. */
static int64_t gather_special(const spmv_coo_view *A, oracle_x x, const void *of, special *out) {
    int64_t n = 0;
    for (int64_t k = 0; k < A->nnz; k++) {
        double a = A->values ? A->values[k] : 1;
        int32_t i = A->row[k], j = A->col[k];
        bool twice = A->symmetry != SPMV_GENERAL && i != j;
        if (!isfinite(x(of, j))) {
            if (out) out[n] = (special){i, j, k, a};
            n++;
        }
        if (twice && !isfinite(x(of, i))) {
            if (out) out[n] = (special){j, i, k, mirrored(A, a)};
            n++;
        }
    }
    return n;
}

/* Only the sum of duplicates multiplies infinity: each on its own, 2 and -1 would be NaN. It does
 * so as the precision holds it: what f32 rounds to 0 gives NaN there. */
static spmv_status add_special(const spmv_coo_view *A, spmv_precision precision, oracle_x x,
                               const void *of, oracle *o) {
    int64_t n = gather_special(A, x, of, NULL);
    special *all = n ? malloc((size_t)n * sizeof *all) : NULL;
    if (n && !all) return SPMV_E_NOMEM;
    if (n) gather_special(A, x, of, all);
    if (n) qsort(all, (size_t)n, sizeof *all, by_place);
    for (int64_t k = 0; k < n;) {
        const special *s = &all[k];
        spmv_sum sum = {.whole = s->a};
        for (k++; k < n && all[k].row == s->row && all[k].col == s->col; k++)
            spmv_sum_add(&sum, all[k].a);
        const double a = spmv_sum_total(&sum);
        o->sum[s->row] += (precision == SPMV_F64 ? a : (float)a) * x(of, s->col);
    }
    free(all);
    return SPMV_OK;
}

/* What is over in the time that a team takes to meet is done by one thread. */
static int team_for(int64_t n, int threads) {
    enum { ALONE = 1 << 14 };
    return n < ALONE ? 1 : threads;
}

/* Entries of the transpose: mirrored ones follow. */
static void turn(spmv_coo_view *A) {
    const spmv_coo_view of = *A;
    A->rows = of.cols, A->cols = of.rows;
    A->row = of.col, A->col = of.row;
}

spmv_status oracle_of_entries(const spmv_coo_view *entries, spmv_precision precision, oracle_x x,
                              const void *of, int threads, oracle *out) {
    const spmv_coo_view A = *entries;
    *out = (oracle){.threads = threads, .x_max = 1, .a_max = 1};
    size_t n = A.rows ? (size_t)A.rows : 1;
    out->rows = A.rows;
    bool all_finite = true;
    for (int64_t k = 0; A.values && k < A.nnz; k++)
        if (isfinite(A.values[k])) out->a_max = fmax(out->a_max, fabs(A.values[k]));
    for (int64_t j = 0; j < A.cols; j++) {
        const double x_j = x(of, j);
        all_finite &= isfinite(x_j) != 0;
        if (isfinite(x_j)) out->x_max = fmax(out->x_max, fabs(x_j));
    }
    out->sum = calloc(n, sizeof *out->sum);
    out->lost = calloc(n, sizeof *out->lost);
    out->mass = calloc(n, sizeof *out->mass);
    out->square = calloc(n, sizeof *out->square);
    out->len = calloc(n, sizeof *out->len);
    if (!out->sum || !out->lost || !out->mass || !out->square || !out->len) {
        oracle_free(out);
        return SPMV_E_NOMEM;
    }
    int team = team_for(A.nnz, threads);
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (int t = 0; t < team; t++) {
        int64_t first = spmv_split(A.rows, team, t);
        sum_rows(&A, x, of, first, spmv_split(A.rows, team, t + 1) - first, out);
    }
    free(out->lost);
    out->lost = NULL;
    if (all_finite || add_special(&A, precision, x, of, out) == SPMV_OK) return SPMV_OK;
    oracle_free(out);
    return SPMV_E_NOMEM;
}

static double listed(const void *x, int64_t j) {
    return ((const double *)x)[j];
}

spmv_status oracle_make(const spmv_mat *mat, spmv_op op, spmv_precision precision, const double *x,
                        int threads, oracle *out) {
    spmv_coo_view A = SPMV_OPTS(spmv_coo_view);
    *out = (oracle){0};
    TRY(spmv_mat_entries(mat, &A));
    if (op == SPMV_TRANSPOSE) turn(&A);
    return oracle_of_entries(&A, precision, listed, x, threads, out);
}

void oracle_free(oracle *o) {
    free(o->sum);
    free(o->lost);
    free(o->mass);
    free(o->square);
    free(o->len);
    *o = (oracle){0};
}

static double entry_of(const void *v, spmv_precision precision, int64_t i) {
    return precision == SPMV_F64 ? ((const double *)v)[i] : (double)((const float *)v)[i];
}

/* Returns the error over the bound: above 1 is wrong. Where IEEE arithmetic leaves no choice the
 * result must be what it says. mass: what the finite terms alone can become; when that is beyond
 * the precision, infinity and NaN are legal ends of some order of summation, but a finite result
 * must still be right. */
static double error_ratio(long double r, long double mass, long double bound, double largest,
                          double y) {
    if (isnan(r)) return isnan(y) ? 0 : INFINITY;
    if (isinf(r) && isinf(y) && (y > 0) == (r > 0)) return 0;
    if (!isfinite(y)) return mass > largest ? 0 : INFINITY;
    if (isinf(r)) return INFINITY;
    long double error = fabsl((long double)y - r);
    return (double)(error / bound); /* the bound is positive */
}

/* Says what roundings of size 1 come to; before: beta y0_i. */
static long double roundings(const oracle *o, int64_t i, double alpha, long double before,
                             long double mass) {
    long double n = o->len[i] + 2.0L, worst = SLACK * n * mass;
    if (!o->random_x) return worst;
    long double square = (long double)alpha * alpha * o->square[i] + before * before;
    return fminl(worst, LUCK * sqrtl(n * square));
}

/* Element i of the vector is at start + i step. */
static verdict check_rows(const oracle *o, spmv_precision precision, double alpha, double beta,
                          const void *y0, const void *y, int64_t start, int64_t step, int64_t first,
                          int64_t end) {
    bool is_f64 = precision == SPMV_F64;
    long double u = is_f64 ? DBL_EPSILON / 2 : FLT_EPSILON / 2;
    long double eta = is_f64 ? DBL_TRUE_MIN : FLT_TRUE_MIN;
    double largest = is_f64 ? DBL_MAX : (double)FLT_MAX;
    verdict v = {.first_bad_row = -1};
    for (int64_t i = first; i < end; i++) {
        const int64_t at = start + i * step;
        double before = beta == 0 ? 0 : entry_of(y0, precision, at),
               after = entry_of(y, precision, at);
        long double added = beta == 0 ? 0 : (long double)beta * before;
        long double r = (long double)alpha * o->sum[i] + added;
        long double mass = fabsl(alpha) * o->mass[i] + fabsl(added);
        long double bound =
            u * roundings(o, i, alpha, added, mass) +
            SLACK * (o->len[i] + 2.0L) * eta * ((1 + fabsl(alpha)) * o->x_max + o->a_max);
        long double greatest =
            fmaxl(fmaxl(mass, fabsl(alpha) * o->x_max), fmaxl(o->mass[i], fabsl(before)));
        double ratio = error_ratio(r, greatest, bound, largest, after);
        if (ratio > v.max_ratio) v.max_ratio = ratio;
        if (ratio <= 1) continue;
        if (v.bad_rows++ == 0) v.first_bad_row = i, v.got = after, v.expected = (double)r;
    }
    return v;
}

static verdict check_vector(const oracle *o, spmv_precision precision, double alpha, double beta,
                            const void *y0, const void *y, int64_t start, int64_t step) {
    verdict all = {.first_bad_row = -1};
    int team = team_for(o->rows, o->threads);
#pragma omp parallel for num_threads(team) schedule(static, 1)
    for (int t = 0; t < team; t++) {
        verdict v = check_rows(o, precision, alpha, beta, y0, y, start, step,
                               spmv_split(o->rows, team, t), spmv_split(o->rows, team, t + 1));
#pragma omp critical
        {
            if (v.bad_rows && (!all.bad_rows || v.first_bad_row < all.first_bad_row))
                all.first_bad_row = v.first_bad_row, all.got = v.got, all.expected = v.expected;
            all.bad_rows += v.bad_rows;
            if (v.max_ratio > all.max_ratio) all.max_ratio = v.max_ratio;
        }
    }
    return all;
}

verdict oracle_check_all(const oracle *o, int64_t k, spmv_layout layout, spmv_precision precision,
                         double alpha, double beta, const void *y0, const void *y) {
    verdict all = {.first_bad_row = -1};
    for (int64_t j = 0; j < k; j++) {
        const bool in_rows = layout == SPMV_ROWS;
        verdict v = check_vector(&o[j], precision, alpha, beta, y0, y, in_rows ? j : j * o[j].rows,
                                 in_rows ? k : 1);
        v.first_bad_vector = j;
        v.max_ratio = fmax(v.max_ratio, all.max_ratio);
        v.bad_rows += all.bad_rows;
        if (all.bad_rows) {
            all.bad_rows = v.bad_rows, all.max_ratio = v.max_ratio;
        } else
            all = v;
    }
    return all;
}

verdict oracle_check(const oracle *o, spmv_precision precision, double alpha, double beta,
                     const void *y0, const void *y) {
    return oracle_check_all(o, 1, SPMV_COLUMNS, precision, alpha, beta, y0, y);
}
