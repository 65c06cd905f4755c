/* generate_twins.c: gen:twin:NAME: matrices with the number of rows and entries and the standard
 * deviation of row lengths that a paper prints for a matrix.
 *
 * A row length is base + extra t^k, with t from 0 to 1 over the rows from shortest to longest: k =
 * 1 spreads lengths evenly; a large k makes nearly all rows equal and a few giant. k is the least
 * power of two for which the shortest row is not too short; base fits the sum of lengths, extra the
 * sum of squares. Columns are uniform, either near the diagonal or in the whole row. */
#include "generate.h"
#include "host/context.h"
#include <math.h>

enum {
    NOT_PRINTED = -1,
    SCALE = 65536, /* fixed-point unit of base and extra */
    UNIT = 1 << 30,
    ALIKE = 16, /* number of consecutive rows with neighbouring ranks */
    CI_ROWS = 32768,
    CI_REFERENCE = 655
};
typedef enum where { NEAR, ANYWHERE, REGION } where;

typedef struct twin {
    spmv_twin is;
    int64_t sigma, longest; /* longest: longest row for REGION, for which sigma is not printed */
    where columns;
} twin;

#define TWIN(name, rows, cols, nnz, sigma, columns, source) \
    {{name, source, rows, cols, nnz, (sigma) < 0 ? NAN : 1e-4 * (sigma)}, sigma, 0, columns},
#define CI_TWIN(name, rest, longest, source) \
    {{name, source, CI_ROWS, CI_ROWS, (int64_t)CI_ROWS * CI_REFERENCE + (rest), NAN}, \
     NOT_PRINTED, \
     longest, \
     REGION},
static const twin twins[] = {
#include "twins.def"
};
#undef TWIN
#undef CI_TWIN
enum { NTWINS = sizeof twins / sizeof *twins };

const spmv_twin *spmv_twin_at(int k) {
    return k < NTWINS ? &twins[k].is : NULL;
}

/* ---- row lengths ----------------------------------------------------------------------------- */

/* rows by rank, longest first; all rows of a segment of ranks have one length */
typedef struct profile {
    const twin *twin;
    spmv_shuffle shuffle;
    int64_t rows, most, least; /* limits of a row's length */
    int nsegments;
    int64_t start[SPMV_SEGMENTS + 1]; /* first rank of each segment, from 0 */
    int64_t power[SPMV_SEGMENTS];     /* t^k in units of 1 / UNIT */
    int64_t length[SPMV_SEGMENTS];
    int64_t pairs[SPMV_SEGMENTS]; /* number of rows lengthened by one; as many following rows are
                                     shortened by one */
    int64_t raised;               /* number of first ranks lengthened by one */
} profile;

static int64_t length_at(int64_t base, int64_t extra, int64_t power, const profile *p) {
    int64_t n = base + (int64_t)((__int128)extra * power / UNIT);
    n = (n + SCALE / 2) / SCALE;
    return n < p->least ? p->least : n > p->most ? p->most : n;
}

static int64_t sum_of(const profile *p, int64_t base, int64_t extra) {
    int64_t sum = 0;
    for (int s = 0; s < p->nsegments; s++)
        sum += (p->start[s + 1] - p->start[s]) * length_at(base, extra, p->power[s], p);
    return sum;
}

/* Sets lengths and `raised` so that lengths sum to nnz. Returns false if `extra` alone exceeds
 * nnz. */
static bool fit_sum(profile *p, int64_t extra, int64_t nnz) {
    int64_t low = 0, high = (p->most + 1) * SCALE;
    if (sum_of(p, 0, extra) > nnz) return false;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (sum_of(p, middle, extra) <= nnz)
            low = middle;
        else
            high = middle;
    }
    for (int s = 0; s < p->nsegments; s++) p->length[s] = length_at(low, extra, p->power[s], p);
    p->raised = nnz - sum_of(p, low, extra);
    return true;
}

static int64_t clamp(int64_t n, int64_t least, int64_t most) {
    return n < least ? least : n > most ? most : n;
}

static int64_t squares_of(const profile *p) {
    int64_t sum = 0;
    for (int s = 0; s < p->nsegments; s++) {
        int64_t n = p->length[s], count = p->start[s + 1] - p->start[s];
        int64_t raised = clamp(p->raised - p->start[s], 0, count);
        sum += count * n * n + raised * (2 * n + 1);
    }
    return sum;
}

/* Fits the remaining sum of squares: lengthening one row by one and shortening another row of equal
 * length by one adds 2. Segments that are raised in part are not changed. Returns what is still
 * missing. */
static int64_t fit_rest(profile *p, int64_t missing) {
    for (int s = 0; s < p->nsegments; s++) {
        int64_t count = p->start[s + 1] - p->start[s];
        bool is_split = p->start[s] < p->raised && p->start[s + 1] > p->raised;
        bool has_room = p->length[s] > p->least && p->length[s] + 2 <= p->most;
        p->pairs[s] = is_split || !has_room ? 0 : clamp(missing / 2, 0, count / 2);
        missing -= 2 * p->pairs[s];
    }
    return missing;
}

/* Returns whether `extra` exceeds the printed longest row or sigma. */
static bool is_past(const profile *p, int64_t squares) {
    if (p->twin->columns == REGION)
        return CI_REFERENCE + p->length[0] + (p->raised > 0) > p->twin->longest;
    return squares_of(p) > squares;
}

/* Finds base and extra by bisection. Returns false if k is too small for the sum of squares. */
static bool fit(profile *p, int64_t nnz, int64_t squares) {
    int64_t low = 0, high = 2 * p->most * SCALE;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (fit_sum(p, middle, nnz) && !is_past(p, squares))
            low = middle;
        else
            high = middle;
    }
    fit_sum(p, low, nnz);
    if (p->twin->columns == REGION) return true;
    /* Papers print sigma to 0.01: the fit must be within 0.003. */
    return (double)fit_rest(p, squares - squares_of(p)) <=
           2 + 2 * 0.003 * 1e-4 * (double)clamp(p->twin->sigma, 0, INT32_MAX) * (double)nnz;
}

/* Returns the least power of two k for which no row is shorter than `least`. t^k has mean 1 / (k +
 * 1) and standard deviation k / ((k + 1) sqrt(2 k + 1)), so that with mean mu and deviation s the
 * shortest row has mu - s sqrt(2 k + 1) / k entries. */
static int64_t power_for(double mean, double variance, double least) {
    int64_t k = 1;
    double room = (mean - least) * (mean - least);
    while (k < (int64_t)1 << 40 && variance * (double)(2 * k + 1) > room * (double)k * (double)k)
        k *= 2;
    return k;
}

static void set_segments(profile *p, int64_t k) {
    p->nsegments = spmv_segment_of(p->rows) + 1;
    for (int s = 0; s <= p->nsegments; s++)
        p->start[s] = s < p->nsegments ? spmv_segment_start(s) - 1 : p->rows;
    for (int s = 0; s < p->nsegments; s++) {
        double t = 1 - (double)(p->start[s] + p->start[s + 1] - 1) / (2 * (double)p->rows);
        for (int64_t power = 1; power < k; power *= 2) t *= t;
        p->power[s] = (int64_t)(t * UNIT);
    }
}

/* Fits the profile. nnz, squares: sums over the rows, without the reference region. */
static spmv_status prepare_twin(spmv_ctx *ctx, spmv_recipe *r) {
    const twin *t = &twins[r->n[0]];
    bool is_region = t->columns == REGION;
    int64_t reference = is_region ? CI_REFERENCE : 0, nnz = t->is.nnz - reference * r->rows;
    profile *p = spmv_host_alloc(sizeof *p);
    if (!p) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    r->table = p;
    memset(p, 0, sizeof *p);
    p->twin = t;
    p->rows = r->rows;
    p->most = is_region ? r->cols - r->cols / 10 : r->cols;
    p->least = 2 * nnz >= 3 * r->rows;
    p->shuffle = spmv_shuffle_of(r->rows / ALIKE);
    /* sum (n_i - mu)^2 = sigma^2 nnz */
    int64_t deviations =
        t->sigma > 0 ? (int64_t)(((__int128)t->sigma * t->sigma * nnz + 50000000) / 100000000) : 0;
    double rows = (double)r->rows;
    int64_t k = power_for((double)nnz / rows, (double)deviations / rows, (double)p->least);
    int64_t squares = (int64_t)((__int128)nnz * nnz / r->rows) + deviations;
    for (bool fits = false; !fits; k *= 2) {
        if (k > (int64_t)1 << 40)
            return spmv_fail(ctx, SPMV_E_ARG, "gen:twin:%s: no rows have this sigma", t->is.name);
        set_segments(p, k);
        fits = fit(p, nnz, squares);
    }
    return SPMV_OK;
}

static int64_t rank_of(const spmv_recipe *r, int64_t i) {
    const profile *p = r->table;
    if (i >= p->rows / ALIKE * ALIKE) return i;
    return spmv_shuffle_at(&p->shuffle, r->key, i / ALIKE) * ALIKE + i % ALIKE;
}

static int64_t twin_length(const spmv_recipe *r, int64_t i) {
    const profile *p = r->table;
    int64_t rank = rank_of(r, i);
    int s = spmv_segment_of(rank + 1);
    int64_t at = rank - p->start[s], pairs = p->pairs[s];
    int64_t n = p->length[s] + (rank < p->raised) + (at < pairs) - (at >= pairs && at < 2 * pairs);
    return p->twin->columns == REGION ? n + CI_REFERENCE : n;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Fills a row. NEAR: columns within 4 sqrt(cols) of the diagonal, or within the row's length if
 * larger; n[1] is 8 sqrt(cols). */
static int64_t fill_twin(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    const profile *p = r->table;
    uint64_t key = spmv_hash(r->key, (uint64_t)i);
    int64_t width = r->cols, first = 0;
    (void)scratch;
    if (p->twin->columns == REGION) {
        spmv_sample_columns(key, 0, r->cols / 10, CI_REFERENCE, col);
        spmv_sample_columns(key ^ 1, r->cols / 10, r->cols - r->cols / 10, length - CI_REFERENCE,
                            col + CI_REFERENCE);
        return length;
    }
    if (p->twin->columns == NEAR && r->n[1] + 2 * length < r->cols) {
        width = r->n[1] + 2 * length;
        first = clamp(i - width / 2, 0, r->cols - width);
    }
    spmv_sample_columns(key, first, width, length, col);
    return length;
}

/* Reads the name from the specification, since a name may contain an 'x', which separates arguments
 * elsewhere. */
spmv_status spmv_recipe_twin(const spmv_args *args, spmv_recipe *r) {
    const char *name = args->count ? args->spec + strlen("twin:") : "";
    const char *names[NTWINS + 1];
    int k = 0;
    while (k < NTWINS && strcmp(twins[k].is.name, name) != 0) k++;
    if (k == NTWINS) {
        for (int t = 0; t < NTWINS; t++) names[t] = twins[t].is.name;
        names[NTWINS] = NULL;
        const char *nearest = spmv_nearest(name, names);
        return spmv_args_refuse(args, "no twin '%.60s'%s%s%s 'spmv list twins' shows all", name,
                                nearest ? ": did you mean '" : "", nearest ? nearest : "",
                                nearest ? "'?" : ";");
    }
    r->rows = twins[k].is.rows;
    r->cols = twins[k].is.cols;
    r->n[0] = k;
    r->n[1] = 8 * spmv_isqrt(r->cols);
    r->expected = (double)twins[k].is.nnz;
    r->prepare = prepare_twin;
    r->row_length = twin_length;
    r->fill_row = fill_twin;
    return SPMV_OK;
}
