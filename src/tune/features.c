/* features.c: the features of a matrix that "auto" goes by, computed from a sample of it. They are
 * the same for any number of threads. */
#include "spmv_sample.h"
#include "tune.h"
#include <math.h>
#include <stdlib.h>

enum {
    LINE_BITS = 16,         /* log2 of the bits of a slice's set of cache lines */
    REPEAT_BITS = 15,       /* log2 of the slots of the set of sampled columns, at most half full */
    VALUE_SLOTS = 1 << 10,  /* slots of a set of values */
    MOST_RUN = 8,           /* columns of a run in csell */
    HEAD_BYTES = 8,         /* bytes per step of csell besides its entries */
    BLOCK_ENTRIES = 1 << 11 /* entries whose blocks are counted, about */
};

/* What a slice adds to the sums; per entry unless it is a number of something. */
enum {
    ENTRIES,   /* number */
    IN_BLOCKS, /* number, where blocks are counted */
    NEAR_16,
    DIAGONAL,
    EXACT,
    LINES,
    INDEX_BYTES, /* of columns in their cheapest code */
    BLOCKS,      /* number of blocks of 1, 2, 4 rows x 8 columns */
    BLOCKS_2 = BLOCKS + 3,
    BLOCKS_3,
    ENTRIES_3, /* in whole block rows of 3 */
    NSUMS
};
typedef struct tally {
    double sum[NSUMS];
    double raw_bytes; /* bytes of values without a dictionary */
    bool step_values; /* each step has one value */
} tally;

static idx column(const sample_slice *w, int r, int k) {
    return w->col_idx[w->begin[r] + k];
}

/* ---- columns -------------------------------------------------------------------------------- */

static int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* The greatest common divisor, up to MOST_RUN, of the lengths of all runs of adjacent columns: so
 * many entries share one column index in csell. A run cut by the end of the sample does not
 * count. */
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
static double sample_steps(const sample_slice *w, tally *t) {
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
    t->sum[NEAR_16] = near;
    int width = widest < 1 << 8 ? 1 : widest < 1 << 16 ? 2 : 4;
    return (double)(width * w->entries + HEAD_BYTES * w->longest) / run_of(w);
}

enum { TAKEN = INT32_MAX }; /* the head of a row of which no entry is left */

/* Takes the next entry of row r, which lies on the diagonal of the step. Returns whether its value
 * is that of the step's first entry. */
static bool take(const sample_slice *w, int r, int32_t *head, int *next, uint64_t *value,
                 bool first) {
    uint64_t bits = bits_of(w->values[w->begin[r] + next[r]]);
    if (first) *value = bits;
    next[r]++;
    head[r] = next[r] < w->len[r] ? column(w, r, next[r]) - r : TAKEN;
    return bits == *value;
}

/* The rows whose heads are least, a bit each. */
static uint32_t rows_at_least(const int32_t *head) {
    int32_t least = TAKEN;
    uint32_t rows = 0;
    for (int r = 0; r < SAMPLE_ROWS; r++) least = head[r] < least ? head[r] : least;
    for (int r = 0; r < SAMPLE_ROWS; r++) rows |= (uint32_t)(head[r] == least) << r;
    return rows;
}

/* The number of steps if each holds entries of one diagonal; -1: too many for that to pay. */
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

static void sample_columns(const sample_slice *w, tally *t) {
    double gathered = sample_steps(w, t);
    int steps = count_diagonals(w, &t->step_values);
    bool aligned = steps >= 0 && HEAD_BYTES * steps < gathered;
    t->sum[DIAGONAL] = aligned ? w->entries : 0;
    t->sum[INDEX_BYTES] = aligned ? HEAD_BYTES * steps : gathered;
    t->step_values &= aligned;
}

/* The number of blocks of height x width that cover all entries of rows top..end_row - 1. A block
 * begins at the first column that is not yet covered or, if aligned, at a multiple of the width. */
static inline int64_t count_blocks(const sample_slice *w, int top, int end_row, int height,
                                   int width, bool aligned) {
    const uint32_t none = UINT32_MAX;
    int64_t blocks = 0;
    for (; top < end_row; top += height) {
        const int32_t *next[4], *end[4];
        uint32_t head[4], least = none;
        for (int r = 0; r < height; r++) {
            const bool is_row = top + r < end_row && w->len[top + r];
            next[r] = w->col_idx + (is_row ? w->begin[top + r] : 0);
            end[r] = next[r] + (is_row ? w->len[top + r] : 0);
            head[r] = is_row ? (uint32_t)*next[r] : none;
            least = head[r] < least ? head[r] : least;
        }
        for (; least != none; blocks++) {
            const uint32_t from = aligned ? least / (uint32_t)width * (uint32_t)width : least;
            least = none;
            for (int r = 0; r < height; r++) {
                while (head[r] < from + (uint32_t)width)
                    head[r] = ++next[r] < end[r] ? (uint32_t)*next[r] : none;
                least = head[r] < least ? head[r] : least;
            }
        }
    }
    return blocks;
}

static void sample_blocks(const sample_slice *w, int readers, tally *t) {
    int top = (int)((3 - w->first % 3) % 3); /* slices begin at multiples of 32, not of 3 */
    int end = top < w->rows ? w->rows - (w->rows - top) % 3 : top;
    t->sum[IN_BLOCKS] = w->entries;
    for (int k = 0; k < 3 && readers & SPMV_FOR_HOST; k++)
        t->sum[BLOCKS + k] = (double)count_blocks(w, 0, w->rows, 1 << k, 8, false);
    t->sum[BLOCKS_2] = (double)count_blocks(w, 0, w->rows, 2, 2, true);
    t->sum[BLOCKS_3] = (double)count_blocks(w, top, end, 3, 3, true);
    for (int r = top; r < end; r++) t->sum[ENTRIES_3] += w->len[r];
}

/* Counts the cache lines of x that the slice touches. A bit stands for each: of the at most 2,048
 * lines, 1.6 % may share one with another. */
static void sample_lines(const sample_slice *w, int per_line, tally *t) {
    uint64_t seen[(1 << LINE_BITS) / 64] = {0};
    int lines = 0;
    for (int r = 0; r < w->rows; r++) {
        const int32_t *col = w->col_idx + w->begin[r];
        for (int k = 0; k < w->len[r]; k++) {
            const uint32_t at = (uint32_t)(col[k] / per_line) * 0x9e3779b1u >> (32 - LINE_BITS);
            lines += (seen[at / 64] >> at % 64 & 1) == 0;
            seen[at / 64] |= (uint64_t)1 << at % 64;
        }
    }
    t->sum[LINES] = lines;
}

/* The share of sampled entries that have their column in common with another one. When a column is
 * found for the second time it counts twice, also for the entry that was first. */
static double sample_repeats(const spmv_sample *s) {
    const uint32_t again = (uint32_t)1 << 31;
    const int n = s->size.columns;
    uint32_t *set = n ? calloc((size_t)1 << REPEAT_BITS, sizeof *set) : NULL; /* column + 1 */
    int64_t repeats = 0;
    for (int q = 0; set && q < n; q++) {
        const uint32_t next = (uint32_t)s->column[q] + 1;
        uint32_t at = (next * 0x9e3779b1u) >> (32 - REPEAT_BITS);
        while (set[at] && (set[at] & ~again) != next) at = (at + 1) % (1u << REPEAT_BITS);
        repeats += set[at] == 0 ? 0 : set[at] & again ? 1 : 2;
        set[at] = set[at] ? next | again : next;
    }
    free(set);
    return n ? (double)repeats / (double)n : 0;
}

/* ---- values --------------------------------------------------------------------------------- */

typedef struct value_set { /* a hash set with open addressing; at most a quarter full */
    uint64_t value[VALUE_SLOTS];
    bool used[VALUE_SLOTS];
    int count;
} value_set;

static void add_value(value_set *s, uint64_t value) {
    uint64_t at = spmv_mix(value) % VALUE_SLOTS;
    while (s->used[at] && s->value[at] != value) at = (at + 1) % VALUE_SLOTS;
    if (s->used[at]) return;
    s->used[at] = true;
    s->value[at] = value;
    s->count++;
}

/* The number of distinct values in all slices; SPMV_FEW_VALUES + 1: more. */
static int count_values(const spmv_sample *s) {
    value_set set = {.count = 0};
    uint64_t last = 0, bits;
    for (int n = 0; n < s->size.taken; n++)
        for (int r = 0; r < s->slice[n].rows; r++)
            for (int k = 0; k < s->slice[n].len[r]; k++, last = bits) {
                bits = bits_of(s->slice[n].values[s->slice[n].begin[r] + k]);
                if (bits == last && set.count) continue;
                add_value(&set, bits);
                if (set.count > SPMV_FEW_VALUES) return set.count;
            }
    return set.count;
}

static int count_exact(const sample_slice *w) {
    int exact = 0;
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) {
            const double value = w->values[w->begin[r] + k];
            exact += bits_of((double)(float)value) == bits_of(value);
        }
    return exact;
}

/* blocks: whether they are counted. */
static void look_at_slice(const sample_slice *w, int per_line, bool blocks, int readers, tally *t) {
    t->sum[ENTRIES] = w->entries;
    sample_columns(w, t);
    if (blocks) sample_blocks(w, readers, t);
    sample_lines(w, per_line, t);
    t->sum[EXACT] = count_exact(w);
    t->raw_bytes = t->step_values                     ? t->sum[INDEX_BYTES]
                   : t->sum[EXACT] == t->sum[ENTRIES] ? 4.0 * w->entries
                                                      : 8.0 * w->entries;
}

static double share(double part, double of) {
    return of > 0 ? part / of : 0;
}

/* f->distinct is known. */
static void add_up(const tally *t, int n, spmv_features *f) {
    double sum[NSUMS] = {0}, bytes = 0;
    for (int s = 0; s < n; s++) {
        const double entries = t[s].sum[ENTRIES]; /* a byte each by a dictionary */
        bool by_code = f->distinct <= SPMV_FEW_VALUES && t[s].raw_bytes > entries;
        bytes += by_code ? entries : t[s].raw_bytes;
        for (int k = 0; k < NSUMS; k++) sum[k] += t[s].sum[k];
    }
    const double all = sum[ENTRIES];
    f->sampled = (int64_t)all;
    f->near_16 = share(sum[NEAR_16], all);
    f->diagonal = share(sum[DIAGONAL], all);
    f->index_bytes = share(sum[INDEX_BYTES], all);
    f->value_bytes = share(bytes, all);
    for (int k = 0; k < 3; k++) f->per_block[k] = share(sum[IN_BLOCKS], sum[BLOCKS + k]);
    f->fill_2 = share(sum[IN_BLOCKS], 4 * sum[BLOCKS_2]);
    f->fill_3 = share(sum[ENTRIES_3], 9 * sum[BLOCKS_3]);
    f->exact_f32 = share(sum[EXACT], all);
    f->lines = share(sum[LINES], all);
}

static void add_format_features(const spmv_csr_view *middle, spmv_features *f) {
    for (int k = 0; k < spmv_format_count(); k++) {
        const spmv_format *format = spmv_format_at(k, SPMV_F64_O32);
        if (format->features) format->features(middle, f);
    }
}

/* Counting blocks takes longest. So it is done in some slices: of each group of this many
 * neighbours, one. */
static int slices_a_group(const spmv_sample *s) {
    enum { FEWEST = 4 };
    const int n = s->size.taken;
    int64_t entries = 0;
    for (int k = 0; k < n; k++) entries += s->slice[k].entries;
    const int64_t step = entries / BLOCK_ENTRIES + 1, most = n / FEWEST + 1;
    return (int)(step < most ? step : most);
}

/* Whether the blocks of slice k are counted: of its group the first that has entries, begun at
 * another place in every group. */
static bool counts_blocks(const spmv_sample *s, int step, int k) {
    const int n = s->size.taken, group = k / step;
    for (int q = 0; q < step; q++) {
        int at = group * step + (group + q) % step;
        if (at < n && s->slice[at].entries) return at == k;
    }
    return false;
}

/* Adds what the sample shows. */
static spmv_status add_sampled(spmv_ctx *ctx, const spmv_sample *s, int readers, int threads,
                               spmv_features *f) {
    const int n = s->size.taken, per_line = f->precision == SPMV_F64 ? 8 : 16;
    const int step = slices_a_group(s);
    tally *t = calloc((size_t)n, sizeof *t);
    if (!t) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (n > 4)
    for (int k = 0; k < n; k++)
        look_at_slice(&s->slice[k], per_line, counts_blocks(s, step, k), readers, &t[k]);
    f->distinct = count_values(s);
    add_up(t, n, f);
    free(t);
    f->padding_32 = s->entries ? (double)s->slots / (double)s->entries - 1 : 0;
    f->symmetric = share((double)s->mirrored, (double)s->pairs);
    f->repeats = sample_repeats(s);
    if (readers & SPMV_FOR_GPU) add_format_features(&s->middle, f);
    return SPMV_OK;
}

spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             int readers, int threads, spmv_features *f) {
    const spmv_stats *s = &mat->stats;
    spmv_sample sample;
    *f = (spmv_features){.rows = s->rows,
                         .cols = s->cols,
                         .nnz = s->nnz,
                         .row_max = s->row_max,
                         .mean = s->row_mean,
                         .cv = s->row_mean > 0 ? s->row_std / s->row_mean : 0,
                         .empty_share = share((double)s->empty_rows, (double)s->rows),
                         .precision = precision,
                         .threads = mat->ctx->threads};
    if (s->nnz == 0 || depth == SPMV_SAMPLE_NONE) return SPMV_OK;
    TRY(spmv_sample_take(mat, depth, readers, threads, &sample));
    spmv_status status = add_sampled(mat->ctx, &sample, readers, threads, f);
    spmv_sample_free(&sample);
    return status;
}
