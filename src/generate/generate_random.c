/* generate_random.c: tools for random rows, and the classes with uniformly drawn columns. */
#include "generate.h"
#include "spmv_helpers.h"
#include <math.h>

/* ---- integers ------------------------------------------------------------------------------- */

/* Returns the floor of the square root, bit by bit, with equal results on all machines. */
int64_t spmv_isqrt(int64_t n) {
    int64_t root = 0;
    for (int64_t bit = (int64_t)1 << 31; bit; bit >>= 1)
        if ((root + bit) * (root + bit) <= n) root += bit;
    return root;
}

/* ---- a permutation that is computed --------------------------------------------------------- */

/* Permutation: a Feistel network over an a x b grid with modular addition (Black and Rogaway's
 * generalized Feistel). With a = ceil(sqrt n) the grid has fewer than a surplus cells; a result in
 * a surplus cell is permuted again (cycle walking), which keeps the map one-to-one. */
enum { ROUNDS = 4 };

spmv_shuffle spmv_shuffle_of(int64_t n) {
    int64_t a = spmv_isqrt(n - 1) + 1;
    if (n <= 1) a = 1;
    return (spmv_shuffle){n, (uint32_t)a, (uint32_t)((n + a - 1) / a)};
}

static uint32_t round_value(uint64_t key, uint32_t round, uint32_t half, uint32_t modulus) {
    uint32_t bits = (uint32_t)(spmv_hash(key + round, half) >> 32);
    return (uint32_t)((uint64_t)bits * modulus >> 32);
}

static uint32_t add(uint32_t x, uint32_t y, uint32_t modulus) {
    uint32_t sum = x + y; /* both are less than 2^16: a and b are close to the square root */
    return sum >= modulus ? sum - modulus : sum;
}

int64_t spmv_shuffle_at(const spmv_shuffle *s, uint64_t key, int64_t i) {
    uint32_t at = (uint32_t)i;
    do {
        uint32_t x = at / s->b, y = at % s->b;
        for (uint32_t round = 0; round < ROUNDS; round += 2) {
            x = add(x, round_value(key, round, y, s->a), s->a);
            y = add(y, round_value(key, round + 1, x, s->b), s->b);
        }
        at = x * s->b + y;
    } while (at >= s->n);
    return at;
}

int64_t spmv_shuffle_back(const spmv_shuffle *s, uint64_t key, int64_t i) {
    uint32_t at = (uint32_t)i;
    do {
        uint32_t x = at / s->b, y = at % s->b;
        for (uint32_t round = ROUNDS; round > 0; round -= 2) {
            y = add(y, s->b - round_value(key, round - 1, x, s->b), s->b);
            x = add(x, s->a - round_value(key, round - 2, y, s->a), s->a);
        }
        at = x * s->b + y;
    } while (at >= s->n);
    return at;
}

/* ---- ranks in segments ----------------------------------------------------------------------- */

int spmv_segment_of(int64_t rank) {
    if (rank < 1 << SPMV_FIRST_OCTAVE) return (int)rank - 1;
    int octave = 63 - __builtin_clzll((uint64_t)rank);
    return (1 << SPMV_FIRST_OCTAVE) - 1 + (octave - SPMV_FIRST_OCTAVE) * SPMV_PER_OCTAVE +
           (int)(rank >> (octave - 5)) - SPMV_PER_OCTAVE;
}

int64_t spmv_segment_start(int segment) {
    int above = segment - ((1 << SPMV_FIRST_OCTAVE) - 1);
    if (above < 0) return segment + 1;
    return (int64_t)(SPMV_PER_OCTAVE + above % SPMV_PER_OCTAVE)
           << (above / SPMV_PER_OCTAVE + SPMV_FIRST_OCTAVE - 5);
}

/* ---- sorting -------------------------------------------------------------------------------- */

static void insertion_sort(int32_t *col, int64_t n) {
    for (int64_t k = 1; k < n; k++) {
        int32_t c = col[k];
        int64_t place = k;
        for (; place > 0 && col[place - 1] > c; place--) col[place] = col[place - 1];
        col[place] = c;
    }
}

/* Radix sort, least significant byte first, with as many passes as limit has bytes. */
static void radix_sort(int32_t *col, int64_t n, int64_t limit, int32_t *scratch) {
    int32_t *from = col, *to = scratch;
    for (int shift = 0; (limit - 1) >> shift; shift += 8) {
        int64_t place[256] = {0}, sum = 0;
        for (int64_t k = 0; k < n; k++) place[from[k] >> shift & 255]++;
        for (int b = 0; b < 256; b++) {
            int64_t count = place[b];
            place[b] = sum;
            sum += count;
        }
        for (int64_t k = 0; k < n; k++) to[place[from[k] >> shift & 255]++] = from[k];
        int32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != col) memcpy(col, from, (size_t)n * sizeof *col);
}

int64_t spmv_sort_columns(int32_t *col, int64_t n, int64_t limit, int32_t *scratch) {
    enum { SHORT = 40 };
    if (n <= SHORT)
        insertion_sort(col, n);
    else
        radix_sort(col, n, limit, scratch);
    int64_t kept = n > 0;
    for (int64_t k = 1; k < n; k++) {
        int32_t c = col[k];
        bool is_new = c != col[kept - 1];
        col[kept] = c; /* without a branch, since duplicates are unpredictable */
        kept += is_new;
    }
    return kept;
}

/* ---- samples without repetition ------------------------------------------------------------- */

/* Samples are drawn in parts of at most PART columns: bits or scratch memory fit on the stack. */
enum { PART = 2048, SPARSE = 64, WORDS = PART * SPARSE / 64 };

/* Draws by a bitmap: sets bits until `count` differ, then lists them in order. If count exceeds
 * half of the width, draws the columns that are left out. */
static void sample_bits(uint64_t key, int64_t first, int64_t width, int64_t count, int32_t *col) {
    uint64_t bits[WORDS];
    int64_t nwords = (width + 63) / 64, marks = 2 * count > width ? width - count : count;
    uint64_t invert = 2 * count > width ? UINT64_MAX : 0;
    memset(bits, 0, (size_t)nwords * sizeof *bits);
    for (uint64_t k = 0; marks > 0; k++) {
        uint64_t random = spmv_hash(key, k);
        for (int half = 0; half < 2 && marks > 0; half++, random >>= 32) {
            uint64_t c = (random & UINT32_MAX) * (uint64_t)width >> 32,
                     bit = (uint64_t)1 << (c & 63);
            marks -= !(bits[c >> 6] & bit);
            bits[c >> 6] |= bit;
        }
    }
    if (width & 63) bits[nwords - 1] |= (UINT64_MAX << (width & 63)) & invert;
    for (int64_t w = 0; w < nwords; w++)
        for (uint64_t word = bits[w] ^ invert; word; word &= word - 1)
            *col++ = (int32_t)(first + 64 * w + __builtin_ctzll(word));
}

/* Draws, sorts and removes duplicates until `count` columns remain. Fewer than 1 in SPARSE columns
 * are redrawn per round. */
static void sample_sorting(uint64_t key, int64_t first, int64_t width, int64_t count,
                           int32_t *col) {
    int32_t scratch[PART];
    uint64_t k = 0;
    for (int64_t n = 0; n < count; n = spmv_sort_columns(col, n, width, scratch))
        while (n < count) col[n++] = (int32_t)spmv_below(spmv_hash(key, k++), width);
    for (int64_t n = 0; n < count; n++) col[n] += (int32_t)first;
}

/* Draws long samples in parts, each with an equal share of columns and of the sample: sorting and
 * bitmaps stay in cache. Differences from one uniform draw are negligible for parts of 2048. */
void spmv_sample_columns(uint64_t key, int64_t first, int64_t width, int64_t count, int32_t *col) {
    int64_t nparts = (count + PART - 1) / PART;
    for (int64_t p = 0; p < nparts; p++) {
        int64_t start = spmv_split(width, nparts, p),
                share = spmv_split(width, nparts, p + 1) - start;
        int64_t done = spmv_split(count, nparts, p), draw = spmv_split(count, nparts, p + 1) - done;
        uint64_t part_key = nparts == 1 ? key : spmv_hash(~key, (uint64_t)p);
        if (share <= draw * SPARSE)
            sample_bits(part_key, first + start, share, draw, col + done);
        else
            sample_sorting(part_key, first + start, share, draw, col + done);
    }
}

/* ---- random: n[0] columns per row; giantrow: n[1] in row n[2] ------------------------------- */

static int64_t sample_length(const spmv_recipe *r, int64_t i) {
    return i == r->n[2] ? r->n[1] : r->n[0];
}

static int64_t fill_sample(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                           int32_t *scratch) {
    (void)scratch;
    spmv_sample_columns(spmv_hash(r->key, (uint64_t)i), 0, r->cols, length, col);
    return length;
}

spmv_status spmv_recipe_random(const spmv_args *args, spmv_recipe *r) {
    TRY(spmv_args_at_most(args, 3));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &r->rows));
    TRY(spmv_arg_size(args, 2, r->rows, INT32_MAX, &r->cols));
    TRY(spmv_arg_size(args, 1, r->cols < 16 ? r->cols : 16, r->cols, &r->n[0]));
    r->n[2] = -1; /* no giant row */
    r->expected = (double)r->rows * (double)r->n[0];
    r->row_length = sample_length;
    r->fill_row = fill_sample;
    return SPMV_OK;
}

spmv_status spmv_recipe_giantrow(const spmv_args *args, spmv_recipe *r) {
    enum { OTHERS = 3 };
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &r->rows));
    TRY(spmv_arg_size(args, 1, (r->rows + 1) / 2, r->rows, &r->n[1]));
    r->cols = r->rows;
    r->n[0] = r->cols < OTHERS ? r->cols : OTHERS;
    r->n[2] = r->rows / 2;
    r->expected = (double)r->rows * (double)r->n[0] + (double)r->n[1];
    r->row_length = sample_length;
    r->fill_row = fill_sample;
    return SPMV_OK;
}

/* ---- permutation ---------------------------------------------------------------------------- */

static int64_t length_one(const spmv_recipe *r, int64_t i) {
    (void)r;
    (void)i;
    return 1;
}

static int64_t fill_permutation(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                                int32_t *scratch) {
    spmv_shuffle s = {r->rows, (uint32_t)r->n[0], (uint32_t)r->n[1]};
    (void)scratch;
    col[0] = (int32_t)spmv_shuffle_at(&s, r->key, i);
    return length;
}

spmv_status spmv_recipe_permutation(const spmv_args *args, spmv_recipe *r) {
    TRY(spmv_args_at_most(args, 1));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &r->rows));
    spmv_shuffle s = spmv_shuffle_of(r->rows);
    r->cols = r->rows;
    r->n[0] = s.a;
    r->n[1] = s.b;
    r->expected = (double)r->rows;
    r->row_length = length_one;
    r->fill_row = fill_permutation;
    return SPMV_OK;
}

/* ---- ci: n[0] of the first n[1] columns, and about n[2] / 4096 of the rest ------------------ */

enum { MILLION = 1000000 };

/* Returns the number of entries of row i outside the reference region. Mahmoud, Hoffmann and Reza,
 * Computation 6, 2018, 45, table 3: all rows have 655 entries in the reference region, and the
 * longest rows have 1060 to 1079 in all. The other entries are 295 on average; a binomial
 * distribution would end near 1020. So their number varies from 57 % to 143 % of the mean, as the
 * sum of two uniform numbers. */
static int64_t ci_rest(const spmv_recipe *r, int64_t i) {
    const int64_t least = 37356, spread = 28180; /* 0.57 and 0.43, of 65536 */
    uint64_t bits = spmv_hash(~r->key, (uint64_t)i),
             dither = spmv_hash(r->key ^ 1, (uint64_t)i) >> 36;
    int64_t two = (int64_t)((bits & 65535) + (bits >> 16 & 65535)); /* in [0, 131070], mean 65535 */
    int64_t factor = least + (spread * two >> 16);
    int64_t length = (r->n[2] * factor + (int64_t)dither) >> 28;
    return length < r->cols - r->n[1] ? length : r->cols - r->n[1];
}

static int64_t ci_length(const spmv_recipe *r, int64_t i) {
    return r->n[0] + ci_rest(r, i);
}

static int64_t fill_ci(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                       int32_t *scratch) {
    uint64_t key = spmv_hash(r->key, (uint64_t)i);
    (void)scratch;
    spmv_sample_columns(key, 0, r->n[1], r->n[0], col);
    spmv_sample_columns(key ^ 1, r->n[1], r->cols - r->n[1], length - r->n[0], col + r->n[0]);
    return length;
}

spmv_status spmv_recipe_ci(const spmv_args *args, spmv_recipe *r) {
    int64_t reference, rest;
    TRY(spmv_args_at_most(args, 3));
    TRY(spmv_arg_size(args, 0, 32768, INT32_MAX, &r->rows));
    TRY(spmv_arg_decimal(args, 1, 200000, 0, MILLION, &reference));
    TRY(spmv_arg_decimal(args, 2, 10000, 0, MILLION, &rest));
    r->cols = r->rows;
    r->n[1] = r->rows / 10;
    r->n[0] = (r->n[1] * reference + MILLION / 2) / MILLION;
    r->n[2] = (int64_t)((unsigned __int128)(r->cols - r->n[1]) * (uint64_t)rest * 4096 / MILLION);
    r->expected = (double)r->rows * ((double)r->n[0] + (double)r->n[2] / 4096);
    r->row_length = ci_length;
    r->fill_row = fill_ci;
    return SPMV_OK;
}
