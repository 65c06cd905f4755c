/* features_csell.c: the features by which "auto" proposes compressed SELL: bytes of columns and
 * values by the rules of format_csell.c. Those of values serve every encoding format. */
#include "csell.h"
#include "spmv_sample.h"
#include <math.h>

enum {
    MOST_RUN = 8,  /* columns of a run, at most */
    HEAD_BYTES = 8 /* bytes per step besides its entries */
};

/* indices of sums: numbers of entries, and bytes */
enum {
    NEAR_16,
    DIAGONAL,
    EXACT,
    INDEX_BYTES, /* bytes of columns in their cheapest encoding */
    RAW_BYTES,   /* bytes of values without a dictionary */
    CODED_BYTES, /* bytes of values with a dictionary */
    NSUMS
};
_Static_assert((int)NSUMS <= (int)SAMPLE_SUMS, "there is no room for all sums");

static idx column(const sample_slice *w, int r, int k) {
    return w->col_idx[w->begin[r] + k];
}

/* ---- values: whether they fit a dictionary, and whether floats hold them -------------------- */

enum { SAMPLED_SLOTS = 1 << 10 };
typedef struct sampled_values {    /* a hash set with open addressing; at most a quarter full */
    uint64_t value[SAMPLED_SLOTS]; /* bits of a double, where used */
    bool used[SAMPLED_SLOTS];
    int count; /* number of distinct values so far */
} sampled_values;

/* Adds a value by its bits, unless the set has it. */
static void add_distinct(sampled_values *set, uint64_t value) {
    uint64_t at = spmv_mix(value) % SAMPLED_SLOTS;
    while (set->used[at] && set->value[at] != value) at = (at + 1) % SAMPLED_SLOTS;
    if (set->used[at]) return;
    set->used[at] = true;
    set->value[at] = value;
    set->count++;
}

/* Returns the number of distinct values of the sample; SPMV_FEW_VALUES + 1: more. */
static int count_distinct(const spmv_sample *s) {
    sampled_values set = {.count = 0};
    uint64_t last = 0, bits;
    for (int n = 0; n < s->size.taken; n++)
        for (int r = 0; r < s->slice[n].rows; r++)
            for (int k = 0; k < s->slice[n].len[r]; k++, last = bits) {
                bits = spmv_bits(s->slice[n].values[s->slice[n].begin[r] + k]);
                if (bits == last && set.count) continue;
                add_distinct(&set, bits);
                if (set.count > SPMV_FEW_VALUES) return set.count;
            }
    return set.count;
}

/* Returns the number of entries of a slice that floats represent exactly. */
static int count_exact(const sample_slice *w) {
    int exact = 0;
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) exact += spmv_is_float(w->values[w->begin[r] + k]);
    return exact;
}

/* ---- gathered columns ------------------------------------------------------------------------ */

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Returns the greatest common divisor, up to MOST_RUN, of the lengths of all runs of adjacent
 * columns: so many entries share one column index. A run that the sample cuts does not count. */
static int run_of(const sample_slice *w) {
    int64_t common = 0, run = 0;
    for (int r = 0; r < w->rows; r++)
        for (int k = 1; k <= w->len[r]; k++) {
            run++;
            bool is_cut = k == w->len[r] && k == SAMPLE_TAKEN;
            bool ends = k == w->len[r] || column(w, r, k) != column(w, r, k - 1) + 1;
            if (!ends) continue;
            if (!is_cut) common = greatest_divisor(run, common);
            if (common == 1) return 1;
            run = 0;
        }
    for (run = common ? MOST_RUN : 1; common % run != 0;) run--;
    return (int)run;
}

/* The k-th entries of all rows form a step, whose columns are stored relative to the least. Returns
 * the bytes of the columns. */
static double sample_steps(const sample_slice *w, double *near_16) {
    int32_t least[SAMPLE_TAKEN], most[SAMPLE_TAKEN], widest = 0;
    int near = 0;
    for (int k = 0; k < w->longest; k++) least[k] = INT32_MAX, most[k] = 0;
    for (int r = 0; r < w->rows; r++) {
        const int32_t *col = w->col_idx + w->begin[r];
        for (int k = 0; k < w->len[r]; k++) {
            least[k] = col[k] < least[k] ? col[k] : least[k];
            most[k] = col[k] > most[k] ? col[k] : most[k];
        }
    }
    for (int r = 0; r < w->rows; r++) {
        const int32_t *col = w->col_idx + w->begin[r];
        for (int k = 0; k < w->len[r]; k++) near += col[k] - least[k] < 1 << 16;
    }
    for (int k = 0; k < w->longest; k++)
        widest = most[k] - least[k] > widest ? most[k] - least[k] : widest;
    *near_16 = near;
    int width = widest < 1 << 8 ? 1 : widest < 1 << 16 ? 2 : 4;
    return (double)(width * w->entries + HEAD_BYTES * w->longest) / run_of(w);
}

/* ---- columns on diagonals -------------------------------------------------------------------- */

enum { TAKEN = INT32_MAX }; /* head of a row without further entries */

/* Advances row r by its next entry, which is on the diagonal of the step. Returns whether its value
 * equals that of the step's first entry. */
static bool take(const sample_slice *w, int r, int32_t *head, int *next, uint64_t *value,
                 bool first) {
    uint64_t bits = spmv_bits(w->values[w->begin[r] + next[r]]);
    if (first) *value = bits;
    next[r]++;
    head[r] = next[r] < w->len[r] ? column(w, r, next[r]) - r : TAKEN;
    return bits == *value;
}

/* Returns the rows whose heads are least, one bit each. */
static uint32_t rows_at_least(const int32_t *head) {
    int32_t least = TAKEN;
    uint32_t rows = 0;
    for (int r = 0; r < SAMPLE_ROWS; r++) least = head[r] < least ? head[r] : least;
    for (int r = 0; r < SAMPLE_ROWS; r++) rows |= (uint32_t)(head[r] == least) << r;
    return rows;
}

/* Returns the number of steps if each step holds one diagonal's entries; -1: more than would pay.
 * *step_values: each step has only one value. */
static int count_diagonals(const sample_slice *w, bool *step_values) {
    int32_t head[SAMPLE_ROWS];
    int next[SAMPLE_ROWS] = {0}, steps = 0, most = 3 * w->longest + 8;
    *step_values = true;
    for (int r = 0; r < SAMPLE_ROWS; r++)
        head[r] = r < w->rows && w->len[r] ? column(w, r, 0) - r : TAKEN;
    for (int left = w->entries; left; steps++) {
        const uint32_t rows = rows_at_least(head);
        uint64_t value = 0;
        if (steps > most) return -1;
        for (uint32_t rest = rows; rest; rest &= rest - 1) {
            *step_values &= take(w, __builtin_ctz(rest), head, next, &value, rest == rows);
            left--;
        }
    }
    return steps;
}

/* ---- the cheapest codes ---------------------------------------------------------------------- */

void spmv_csell_look(const sample_slice *w, double *sum) {
    bool step_values;
    const double gathered = sample_steps(w, &sum[NEAR_16]);
    const int steps = count_diagonals(w, &step_values), exact = count_exact(w);
    const bool aligned = steps >= 0 && HEAD_BYTES * steps < gathered;
    sum[DIAGONAL] = aligned ? w->entries : 0;
    sum[EXACT] = exact;
    sum[INDEX_BYTES] = aligned ? HEAD_BYTES * steps : gathered;
    sum[RAW_BYTES] = aligned && step_values ? sum[INDEX_BYTES]
                     : exact == w->entries  ? 4.0 * w->entries
                                            : 8.0 * w->entries;
    sum[CODED_BYTES] = sum[RAW_BYTES] > w->entries ? w->entries : sum[RAW_BYTES];
}

/* Returns whether a row may be longer than the sampled part of it. */
static bool has_cut_rows(const spmv_sample *s) {
    for (int n = 0; n < s->size.taken; n++)
        for (int r = 0; r < s->slice[n].rows; r++)
            if (s->slice[n].len[r] == SAMPLE_TAKEN) return true;
    return false;
}

/* Returns the share of the matrix that the sample represents. If a few long rows have most of the
 * nonzeros and none of them is sampled, sampled rows are shorter than the mean. A sample with long
 * rows represents the whole matrix. */
static double share_seen(const spmv_sample *s, const spmv_features *f) {
    const double rows = fmin((double)f->rows, (double)s->size.taken * SAMPLE_ROWS);
    if (has_cut_rows(s)) return 1;
    return fmin(1, sample_share((double)f->sampled, rows * f->mean));
}

void spmv_csell_features(const spmv_sample *s, const double *sum, spmv_features *f) {
    const double all = (double)f->sampled;
    f->seen = share_seen(s, f);
    f->near_16 = sample_share(sum[NEAR_16], all);
    f->diagonal = sample_share(sum[DIAGONAL], all);
    f->index_bytes = sample_share(sum[INDEX_BYTES], all);
    f->distinct = count_distinct(s);
    f->exact_f32 = sample_share(sum[EXACT], all);
    f->value_bytes =
        sample_share(f->distinct <= SPMV_FEW_VALUES ? sum[CODED_BYTES] : sum[RAW_BYTES], all);
}
