/* generate_scattered.c: classes whose rows come in a scattered order, as programs number them. */
#include "generate.h"

enum { SHUFFLED_N = 64, SLAB = 8, SPLINES_ROWS = 1000000, GRID = 1000, WIDTH = 4 };

/* ---- a box whose nodes are numbered at random within slabs ----------------------------------- */

/* n[0]: nodes of an edge; n[1]: layers of a slab, the last of which may have fewer. */
static spmv_shuffle slab_of(const spmv_recipe *r, int64_t slab, int64_t *first) {
    const int64_t each = r->n[0] * r->n[0] * r->n[1];
    *first = slab * each;
    return spmv_shuffle_of(r->rows - *first < each ? r->rows - *first : each);
}

static int64_t node_of(const spmv_recipe *r, int64_t row) {
    int64_t first, slab = row / (r->n[0] * r->n[0] * r->n[1]);
    const spmv_shuffle s = slab_of(r, slab, &first);
    return first + spmv_shuffle_at(&s, spmv_hash(r->key, (uint64_t)slab), row - first);
}

static int64_t number_of(const spmv_recipe *r, int64_t node) {
    int64_t first, slab = node / (r->n[0] * r->n[0] * r->n[1]);
    const spmv_shuffle s = slab_of(r, slab, &first);
    return first + spmv_shuffle_back(&s, spmv_hash(r->key, (uint64_t)slab), node - first);
}

static int64_t near_on_axis(int64_t x, int64_t n) {
    return 1 + (x > 0) + (x + 1 < n);
}

static int64_t shuffled_length(const spmv_recipe *r, int64_t i) {
    const int64_t n = r->n[0], node = node_of(r, i);
    return near_on_axis(node % n, n) * near_on_axis(node / n % n, n) *
           near_on_axis(node / n / n, n);
}

static int64_t fill_shuffled(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                             int32_t *scratch) {
    const int64_t n = r->n[0], node = node_of(r, i);
    const int64_t x = node % n, y = node / n % n, z = node / n / n;
    int64_t count = 0;
    for (int64_t c = z > 0 ? z - 1 : 0; c <= z + 1 && c < n; c++)
        for (int64_t b = y > 0 ? y - 1 : 0; b <= y + 1 && b < n; b++)
            for (int64_t a = x > 0 ? x - 1 : 0; a <= x + 1 && a < n; a++)
                col[count++] = (int32_t)number_of(r, (c * n + b) * n + a);
    (void)length;
    return spmv_sort_columns(col, count, r->cols, scratch);
}

spmv_status spmv_recipe_shuffled(const spmv_args *args, spmv_recipe *r) {
    enum { MOST_N = 1290 }; /* its cube is below 2^31 */
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, SHUFFLED_N, MOST_N, &r->n[0]));
    TRY(spmv_arg_size(args, 1, SLAB, MOST_N, &r->n[1]));
    r->rows = r->cols = r->n[0] * r->n[0] * r->n[0];
    r->expected = 27 * (double)r->rows;
    r->constant = true;
    r->diagonal = 26;
    r->others = -1;
    r->row_length = shuffled_length;
    r->fill_row = fill_shuffled;
    return SPMV_OK;
}

/* ---- products of cubic splines at scattered points ------------------------------------------- */

/* n[0]: knots along each of the two axes. */
static int64_t splines_length(const spmv_recipe *r, int64_t i) {
    (void)r, (void)i;
    return (int64_t)WIDTH * WIDTH;
}

static int64_t fill_splines(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                            int32_t *scratch) {
    const int64_t places = r->n[0] - WIDTH + 1;
    const int64_t x = spmv_below(spmv_hash(r->key, 2 * (uint64_t)i), places),
                  y = spmv_below(spmv_hash(r->key, 2 * (uint64_t)i + 1), places);
    (void)scratch;
    for (int64_t b = y; b < y + WIDTH; b++)
        for (int64_t a = x; a < x + WIDTH; a++) *col++ = (int32_t)(b * r->n[0] + a);
    return length;
}

spmv_status spmv_recipe_splines(const spmv_args *args, spmv_recipe *r) {
    enum { MOST_KNOTS = 46340 }; /* their square is below 2^31 */
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, SPLINES_ROWS, INT32_MAX, &r->rows));
    TRY(spmv_arg_size(args, 1, GRID, MOST_KNOTS, &r->n[0]));
    if (r->n[0] < WIDTH)
        return spmv_args_refuse(args, "%lld knots, at least %d", (long long)r->n[0], WIDTH);
    r->cols = r->n[0] * r->n[0];
    r->expected = (double)WIDTH * WIDTH * (double)r->rows;
    r->row_length = splines_length;
    r->fill_row = fill_splines;
    return SPMV_OK;
}
