/* features.c: the features of a matrix that "auto" goes by, computed from a sample of it. They are
 * the same for any number of threads. */
#include "sample.h"
#include <math.h>
#include <stdlib.h>

enum {
    LINE_SLOTS = 1 << 13,  /* slots of a slice's set of cache lines, which is at most half full */
    REPEAT_BITS = 15,      /* log2 of the slots of the set of sampled columns, at most half full */
    VALUE_SLOTS = 1 << 10, /* slots of a set of values */
    MOST_RUN = 8,          /* columns of a run in csell */
    HEAD_BYTES = 8,        /* bytes per step of csell besides its entries */
    BLOCK_SLICES = 16      /* slices whose blocks are counted, which takes longest, at most */
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
    int nvalues;      /* distinct; SPMV_FEW_VALUES + 1: more */
    uint64_t value[SPMV_FEW_VALUES];
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
    idx widest = 0;
    for (int k = 0; k < w->longest; k++) {
        idx least = INT32_MAX, most = 0;
        for (int r = 0; r < w->rows; r++) {
            if (k >= w->len[r]) continue;
            idx c = column(w, r, k);
            least = c < least ? c : least;
            most = c > most ? c : most;
        }
        for (int r = 0; r < w->rows; r++) {
            if (k >= w->len[r]) continue;
            idx distance = column(w, r, k) - least;
            t->sum[NEAR_16] += distance < 1 << 16;
        }
        if (most - least > widest) widest = most - least;
    }
    int width = widest < 1 << 8 ? 1 : widest < 1 << 16 ? 2 : 4;
    return (double)(width * w->entries + HEAD_BYTES * w->longest) / run_of(w);
}

enum { TAKEN = INT32_MAX }; /* the head of a row of which no entry is left */

static int32_t least_of(const int32_t *head, int n) {
    int32_t least = TAKEN;
    for (int r = 0; r < n; r++) least = head[r] < least ? head[r] : least;
    return least;
}

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

/* The number of steps if each holds entries of one diagonal; -1: too many for that to pay. */
static int count_diagonals(const sample_slice *w, bool *step_values) {
    int32_t head[SAMPLE_ROWS];
    int next[SAMPLE_ROWS] = {0}, steps = 0, most = 3 * w->longest + 8;
    *step_values = true;
    for (int r = 0; r < w->rows; r++) head[r] = w->len[r] ? column(w, r, 0) - r : TAKEN;
    for (int left = w->entries; left; steps++) {
        int32_t least = least_of(head, w->rows);
        uint64_t value = 0;
        int taken = 0;
        if (steps > most) return -1;
        for (int r = 0; r < w->rows; r++)
            if (head[r] == least) *step_values &= take(w, r, head, next, &value, taken++ == 0);
        left -= taken;
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
static int64_t count_blocks(const sample_slice *w, int top, int end_row, int height, int width,
                            bool aligned) {
    int64_t blocks = 0;
    for (; top < end_row; top += height) {
        int32_t head[4];
        int next[4] = {0}, n = end_row - top < height ? end_row - top : height;
        for (int r = 0; r < n; r++) head[r] = w->len[top + r] ? column(w, top + r, 0) : TAKEN;
        for (int32_t least; (least = least_of(head, n)) != TAKEN; blocks++) {
            int64_t end = (aligned ? least / width * width : least) + (int64_t)width;
            for (int r = 0; r < n; r++) {
                while (next[r] < w->len[top + r] && column(w, top + r, next[r]) < end) next[r]++;
                head[r] = next[r] < w->len[top + r] ? column(w, top + r, next[r]) : TAKEN;
            }
        }
    }
    return blocks;
}

static void sample_blocks(const sample_slice *w, tally *t) {
    int top = (int)((3 - w->first % 3) % 3); /* slices begin at multiples of 32, not of 3 */
    int end = top < w->rows ? w->rows - (w->rows - top) % 3 : top;
    t->sum[IN_BLOCKS] = w->entries;
    for (int k = 0; k < 3; k++)
        t->sum[BLOCKS + k] = (double)count_blocks(w, 0, w->rows, 1 << k, 8, false);
    t->sum[BLOCKS_2] = (double)count_blocks(w, 0, w->rows, 2, 2, true);
    t->sum[BLOCKS_3] = (double)count_blocks(w, top, end, 3, 3, true);
    for (int r = top; r < end; r++) t->sum[ENTRIES_3] += w->len[r];
}

/* Counts the cache lines of x that the slice touches in a hash set with open addressing, which is
 * no larger than needed, since it must be cleared. */
static void sample_lines(const sample_slice *w, int per_line, tally *t) {
    int32_t slot[LINE_SLOTS];
    uint32_t bits = 6;
    while (1 << bits < 2 * w->entries && 1 << bits < LINE_SLOTS) bits++;
    const uint32_t slots = (uint32_t)1 << bits;
    memset(slot, 0xff, slots * sizeof *slot);
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) {
            int32_t line = column(w, r, k) / per_line;
            uint32_t at = ((uint32_t)line * 0x9e3779b1u) >> (32 - bits);
            while (slot[at] >= 0 && slot[at] != line) at = (at + 1) % slots;
            t->sum[LINES] += slot[at] < 0;
            slot[at] = line;
        }
}

/* The share of sampled entries that have their column in common with another one. When a column is
 * found for the second time it counts twice, also for the entry that was first. */
static double sample_repeats(const spmv_sample *s) {
    typedef struct seen {
        int32_t next; /* the column + 1; 0: none */
        bool again;
    } seen;
    const int n = s->size.columns;
    seen *set = n ? calloc((size_t)1 << REPEAT_BITS, sizeof *set) : NULL;
    int64_t repeats = 0;
    for (int q = 0; set && q < n; q++) {
        int32_t next = s->column[q] + 1;
        uint32_t at = ((uint32_t)next * 0x9e3779b1u) >> (32 - REPEAT_BITS);
        while (set[at].next && set[at].next != next) at = (at + 1) % (1u << REPEAT_BITS);
        repeats += set[at].next == 0 ? 0 : set[at].again ? 1 : 2;
        set[at] = (seen){next, set[at].next != 0};
    }
    free(set);
    return n ? (double)repeats / (double)n : 0;
}

/* ---- values --------------------------------------------------------------------------------- */

typedef struct value_set { /* a hash set with open addressing; at most a quarter full */
    uint64_t value[VALUE_SLOTS];
    bool used[VALUE_SLOTS];
    int count; /* SPMV_FEW_VALUES + 1: more */
} value_set;

/* Returns whether the value is new. */
static bool add_value(value_set *s, uint64_t value) {
    uint64_t at = spmv_mix(value) % VALUE_SLOTS;
    if (s->count > SPMV_FEW_VALUES) return false;
    while (s->used[at] && s->value[at] != value) at = (at + 1) % VALUE_SLOTS;
    if (s->used[at]) return false;
    if (++s->count > SPMV_FEW_VALUES) return false;
    s->used[at] = true;
    s->value[at] = value;
    return true;
}

static void sample_values(const sample_slice *w, tally *t) {
    value_set set = {.count = 0};
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) {
            double value = w->values[w->begin[r] + k];
            uint64_t bits = bits_of(value);
            t->sum[EXACT] += bits_of((double)(float)value) == bits;
            if (add_value(&set, bits)) t->value[set.count - 1] = bits;
        }
    t->nvalues = set.count;
}

static void look_at_slice(const sample_slice *w, int per_line, bool blocks, tally *t) {
    t->sum[ENTRIES] = w->entries;
    sample_columns(w, t);
    if (blocks) sample_blocks(w, t);
    sample_lines(w, per_line, t);
    sample_values(w, t);
    t->raw_bytes = t->step_values                     ? t->sum[INDEX_BYTES]
                   : t->sum[EXACT] == t->sum[ENTRIES] ? 4.0 * w->entries
                                                      : 8.0 * w->entries;
}

static double share(double part, double of) {
    return of > 0 ? part / of : 0;
}

/* The number of distinct values in all slices. */
static int count_values(const tally *t, int n) {
    value_set set = {.count = 0};
    for (int s = 0; s < n; s++) {
        for (int k = 0; k < t[s].nvalues && k < SPMV_FEW_VALUES; k++)
            add_value(&set, t[s].value[k]);
        if (t[s].nvalues > SPMV_FEW_VALUES) set.count = SPMV_FEW_VALUES + 1;
    }
    return set.count;
}

static void add_up(const tally *t, int n, spmv_features *f) {
    double sum[NSUMS] = {0}, bytes = 0;
    f->distinct = count_values(t, n);
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

/* Whether the blocks of slice k are counted: of as many slices as there may be, in groups of
 * neighbours, one that has entries, at another place in every group. */
static bool counts_blocks(const spmv_sample *s, int k) {
    const int n = s->size.taken, step = 1 + (n - 1) / BLOCK_SLICES, group = k / step;
    for (int q = 0; q < step; q++) {
        int at = group * step + (group + q) % step;
        if (at < n && s->slice[at].entries) return at == k;
    }
    return false;
}

/* Adds what the sample shows. */
static spmv_status add_sampled(spmv_ctx *ctx, const spmv_sample *s, int threads, spmv_features *f) {
    const int n = s->size.taken, per_line = f->precision == SPMV_F64 ? 8 : 16;
    tally *t = calloc((size_t)n, sizeof *t);
    if (!t) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (n > 4)
    for (int k = 0; k < n; k++) look_at_slice(&s->slice[k], per_line, counts_blocks(s, k), &t[k]);
    add_up(t, n, f);
    free(t);
    f->padding_32 = s->entries ? (double)s->slots / (double)s->entries - 1 : 0;
    f->symmetric = share((double)s->mirrored, (double)s->pairs);
    f->repeats = sample_repeats(s);
    add_format_features(&s->middle, f);
    return SPMV_OK;
}

/* Where the rows lie: on a device, if the host has not got them. */
static spmv_status take_sample(spmv_mat *mat, spmv_sampling_depth depth, int threads,
                               spmv_sample *out) {
    const spmv_stored *source = mat->fetch ? mat->source : NULL;
    const sample_size size = spmv_sample_size(mat->stats.rows, mat->stats.nnz, depth);
    spmv_csr_view A;
    if (source && source->device->backend->sample) {
        spmv_device *device = NULL;
        TRY(spmv_ctx_device(mat->ctx, source->device->backend, &device));
        *out = (spmv_sample){.size = size};
        return device->backend->sample(device, source->copy, out);
    }
    TRY(spmv_mat_bring(mat));
    spmv_mat_rows(mat, &A);
    return spmv_sample_take(mat->ctx, &A, &size, threads, out);
}

spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             int threads, spmv_features *f) {
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
    TRY(take_sample(mat, depth, threads, &sample));
    spmv_status status = add_sampled(mat->ctx, &sample, threads, f);
    spmv_sample_free(&sample);
    return status;
}
