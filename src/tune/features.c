/* features.c: the features of a matrix that "auto" goes by. Sampling is bounded whatever the size
 * of the matrix: row_ptr is read at no more than 2,048 slices of 32 rows, and the entries of no
 * more than 64 of these, up to MOST_TAKEN per row: about 32,000 entries; a quick sample takes
 * fewer. Slices are evenly spaced, so that the result is the same for any number of threads. */
#include "tune.h"
#include <math.h>
#include <stdlib.h>

enum {
    ROWS = 32,            /* rows of a slice */
    MOST_TAKEN = 64,      /* entries sampled per row: fewer would hide the diagonals of wide rows */
    FRACTION = 16,        /* of a small matrix one entry in 16 is sampled */
    LINE_SLOTS = 1 << 13, /* slots of a slice's set of cache lines, which is at most half full */
    REPEAT_BITS = 15,     /* log2 of the slots of the set of sampled columns */
    REPEAT_TAKEN = 1 << (REPEAT_BITS - 1), /* columns put into that set, from the whole matrix */
    VALUE_SLOTS = 1 << 10,                 /* slots of a set of values */
    MIRRORED = 8,                          /* entries per slice whose mirror image is looked up */
    MOST_RUN = 8,                          /* columns of a run in csell */
    HEAD_BYTES = 8                         /* bytes per step of csell besides its entries */
};

/* Without a sample only the statistics of the matrix are known. Threads that sleep are not woken
 * for what one does in half a millisecond: by the logs, waking 16 took 10 ms on an H200's host. */
static const struct extent {
    int slices;  /* slices whose row lengths are read, at most */
    int sampled; /* slices whose entries are read, at most */
    int fewest;  /* slices whose entries are read, at least */
    int entries; /* entries that are read, at most */
    bool by_all; /* all threads of the context sample */
    bool blocks, formats, repeats;
} depths[] = {
    [SPMV_SAMPLE_NONE] = {0, 0, 0, 0, false, false, false, false},
    [SPMV_SAMPLE_QUICK] = {1 << 7, 12, 4, 3 << 10, false, false, true, false},
    [SPMV_SAMPLE_STANDARD] = {1 << 11, 64, 8, 1 << 15, false, false, true, true},
    [SPMV_SAMPLE_THOROUGH] = {1 << 11, 64, 8, 1 << 15, true, true, false, false},
    [SPMV_SAMPLE_ALL] = {1 << 11, 64, 8, 1 << 15, true, true, true, true},
};

typedef struct window { /* the sampled part of a slice */
    const spmv_csr_view *A;
    int64_t first;
    int rows;
    int64_t begin[ROWS];
    int len[ROWS], longest, entries;
} window;

/* What a slice adds to the sums. */
typedef struct tally {
    int64_t entries, near_16, diagonal, exact, lines, pairs, mirrored;
    int64_t blocks[3], blocks_2, blocks_3;
    int64_t entries_3;  /* entries in whole block rows of 3 */
    double index_bytes; /* bytes of columns in their cheapest code */
    double raw_bytes;   /* bytes of values without a dictionary */
    bool step_values;   /* each step has one value */
    int nvalues;        /* distinct; SPMV_FEW_VALUES + 1: more */
    uint64_t value[SPMV_FEW_VALUES];
} tally;

static idx column(const window *w, int r, int k) {
    return w->A->col_idx[w->begin[r] + k];
}

static window window_at(const spmv_csr_view *A, int64_t slice) {
    window w = {.A = A, .first = slice * ROWS};
    w.rows = (int)(A->rows - w.first < ROWS ? A->rows - w.first : ROWS);
    for (int r = 0; r < w.rows; r++) {
        int64_t len = A->row_ptr[w.first + r + 1] - A->row_ptr[w.first + r];
        w.begin[r] = A->row_ptr[w.first + r];
        w.len[r] = (int)(len < MOST_TAKEN ? len : MOST_TAKEN);
        w.entries += w.len[r];
        if (w.len[r] > w.longest) w.longest = w.len[r];
    }
    return w;
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
static int run_of(const window *w) {
    int64_t common = 0, run = 0;
    for (int r = 0; r < w->rows; r++)
        for (int k = 1; k <= w->len[r]; k++) {
            run++;
            bool is_cut = k == w->len[r] && k == MOST_TAKEN;
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
static double sample_steps(const window *w, tally *t) {
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
            t->near_16 += distance < 1 << 16;
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
static bool take(const window *w, int r, int32_t *head, int *next, uint64_t *value, bool first) {
    uint64_t bits = bits_of(w->A->values[w->begin[r] + next[r]]);
    if (first) *value = bits;
    next[r]++;
    head[r] = next[r] < w->len[r] ? column(w, r, next[r]) - r : TAKEN;
    return bits == *value;
}

/* The number of steps if each holds entries of one diagonal; -1: too many for that to pay. */
static int count_diagonals(const window *w, bool *step_values) {
    int32_t head[ROWS];
    int next[ROWS] = {0}, steps = 0, most = 3 * w->longest + 8;
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

static void sample_columns(const window *w, tally *t) {
    double gathered = sample_steps(w, t);
    int steps = count_diagonals(w, &t->step_values);
    double aligned = steps < 0 ? INFINITY : (double)(HEAD_BYTES * steps);
    t->index_bytes = aligned < gathered ? aligned : gathered;
    if (aligned < gathered)
        t->diagonal = w->entries;
    else
        t->step_values = false;
}

/* The number of blocks of height x width that cover all entries of rows top..end_row - 1. A block
 * begins at the first column that is not yet covered or, if aligned, at a multiple of the width. */
static int64_t count_blocks(const window *w, int top, int end_row, int height, int width,
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

static void sample_blocks(const window *w, tally *t) {
    int top = (int)((3 - w->first % 3) % 3); /* slices begin at multiples of 32, not of 3 */
    int end = top < w->rows ? w->rows - (w->rows - top) % 3 : top;
    for (int k = 0; k < 3; k++) t->blocks[k] = count_blocks(w, 0, w->rows, 1 << k, 8, false);
    t->blocks_2 = count_blocks(w, 0, w->rows, 2, 2, true);
    t->blocks_3 = count_blocks(w, top, end, 3, 3, true);
    for (int r = top; r < end; r++) t->entries_3 += w->len[r];
}

/* Counts the cache lines of x that the slice touches in a hash set with open addressing, which is
 * no larger than needed, since it must be cleared. */
static void sample_lines(const window *w, int per_line, tally *t) {
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
            t->lines += slot[at] < 0;
            slot[at] = line;
        }
}

/* The share of sampled entries that have their column in common with another one. When a column is
 * found for the second time it counts twice, also for the entry that was first. */
static double sample_repeats(const spmv_csr_view *A) {
    typedef struct seen {
        int32_t next; /* the column + 1; 0: none */
        bool again;
    } seen;
    const int64_t most = A->nnz / FRACTION, n = most < REPEAT_TAKEN ? most : REPEAT_TAKEN;
    seen *set = calloc((size_t)1 << REPEAT_BITS, sizeof *set);
    int64_t repeats = 0;
    for (int64_t q = 0; set && q < n; q++) {
        int32_t next = A->col_idx[spmv_split(A->nnz, n, q)] + 1;
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

static void sample_values(const window *w, tally *t) {
    value_set set = {.count = 0};
    for (int r = 0; r < w->rows; r++)
        for (int k = 0; k < w->len[r]; k++) {
            double value = w->A->values[w->begin[r] + k];
            uint64_t bits = bits_of(value);
            t->exact += bits_of((double)(float)value) == bits;
            if (add_value(&set, bits)) t->value[set.count - 1] = bits;
        }
    t->nvalues = set.count;
}

/* Counts for a few entries (i, j) of the slice whether (j, i) is stored with the same bits. */
static void sample_mirror(const window *w, tally *t) {
    const spmv_csr_view *A = w->A;
    for (int n = 0; A->rows == A->cols && n < MIRRORED; n++) {
        int r = n * w->rows / MIRRORED;
        if (w->len[r] == 0) continue;
        int64_t k = w->begin[r] + n * (w->len[r] - 1) / MIRRORED, i = w->first + r;
        if (A->col_idx[k] == i) continue;
        t->pairs++;
        t->mirrored += is_mirrored(A, i, k);
    }
}

static void sample_slice(const spmv_csr_view *A, int64_t slice, int per_line, bool blocks,
                         tally *t) {
    window w = window_at(A, slice);
    t->entries = w.entries;
    sample_columns(&w, t);
    if (blocks) sample_blocks(&w, t);
    sample_lines(&w, per_line, t);
    sample_values(&w, t);
    if (blocks) sample_mirror(&w, t);
    double steps = HEAD_BYTES * (t->diagonal ? t->index_bytes / HEAD_BYTES : 0);
    t->raw_bytes = t->step_values           ? steps
                   : t->exact == t->entries ? 4.0 * w.entries
                                            : 8.0 * w.entries;
}

/* ---- sampling ------------------------------------------------------------------------------- */

/* Sampled places are far from each other, and most of the time goes into waiting for memory: so
 * they are prefetched. */
static void prefetch_rows(const spmv_csr_view *A, int64_t slice) {
    enum { LINE = 64 / sizeof(int64_t) };
    const int64_t *row = A->row_ptr + slice * ROWS;
    for (int64_t i = 0; i <= ROWS && slice * ROWS + i <= A->rows; i += LINE)
        __builtin_prefetch(row + i);
}

static void prefetch_entries(const spmv_csr_view *A, int64_t slice) {
    enum { LINE = 64 / sizeof(double) };
    window w = window_at(A, slice);
    for (int r = 0; r < w.rows; r++)
        for (int k = 0; k < w.len[r]; k += LINE) {
            __builtin_prefetch(A->values + w.begin[r] + k);
            __builtin_prefetch(A->col_idx + w.begin[r] + k);
        }
}

static double share(double part, double of) {
    return of > 0 ? part / of : 0;
}

static void sample_rows(const spmv_csr_view *A, int threads, int most, spmv_features *f) {
    int64_t slices = (A->rows + ROWS - 1) / ROWS, seen = slices < most ? slices : most;
    int64_t entries = 0, slots = 0;
#pragma omp parallel for schedule(static) num_threads(threads) \
    reduction(+ : entries, slots) if (seen > 256)
    for (int64_t n = 0; n < seen; n++) {
        enum { AHEAD = 8 };
        int64_t first = spmv_split(slices, seen, n) * ROWS, longest = 0;
        if (n + AHEAD < seen) prefetch_rows(A, spmv_split(slices, seen, n + AHEAD));
        int64_t end = first + ROWS < A->rows ? first + ROWS : A->rows;
        for (int64_t i = first; i < end; i++) {
            int64_t len = A->row_ptr[i + 1] - A->row_ptr[i];
            longest = len > longest ? len : longest;
            entries += len;
        }
        slots += longest * (end - first);
    }
    f->padding_32 = entries ? (double)slots / (double)entries - 1 : 0;
}

static void add_up(const tally *t, int n, spmv_features *f) {
    tally sum = {.entries = 0};
    value_set set = {.count = 0};
    double by_dictionary = 0, pairs, all;
    for (int s = 0; s < n; s++) {
        const tally *one = &t[s];
        for (int k = 0; k < one->nvalues && k < SPMV_FEW_VALUES; k++)
            add_value(&set, one->value[k]);
        if (one->nvalues > SPMV_FEW_VALUES) set.count = SPMV_FEW_VALUES + 1;
    }
    bool has_dictionary = set.count <= SPMV_FEW_VALUES;
    for (int s = 0; s < n; s++) {
        const tally *one = &t[s];
        sum.entries += one->entries, sum.near_16 += one->near_16;
        sum.diagonal += one->diagonal, sum.exact += one->exact;
        sum.lines += one->lines, sum.pairs += one->pairs, sum.mirrored += one->mirrored;
        sum.blocks_2 += one->blocks_2, sum.blocks_3 += one->blocks_3;
        sum.entries_3 += one->entries_3;
        for (int k = 0; k < 3; k++) sum.blocks[k] += one->blocks[k];
        sum.index_bytes += one->index_bytes;
        by_dictionary += has_dictionary && one->raw_bytes > (double)one->entries
                             ? (double)one->entries
                             : one->raw_bytes;
    }
    all = (double)sum.entries, pairs = (double)sum.pairs;
    f->sampled = sum.entries;
    f->near_16 = share((double)sum.near_16, all);
    f->diagonal = share((double)sum.diagonal, all);
    f->index_bytes = share(sum.index_bytes, all);
    f->value_bytes = share(by_dictionary, all);
    for (int k = 0; k < 3; k++) f->per_block[k] = share(all, (double)sum.blocks[k]);
    f->fill_2 = share(all, 4.0 * (double)sum.blocks_2);
    f->fill_3 = share((double)sum.entries_3, 9.0 * (double)sum.blocks_3);
    f->distinct = set.count;
    f->exact_f32 = share((double)sum.exact, all);
    f->symmetric = share((double)sum.mirrored, pairs);
    f->lines = share((double)sum.lines, all);
}

static void add_format_features(const spmv_csr_view *A, spmv_features *f) {
    for (int k = 0; k < spmv_format_count(); k++) {
        const spmv_format *format = spmv_format_at(k, SPMV_F64_O32);
        if (format->features) format->features(A, f);
    }
}

/* The slice in the middle of the k-th of n equal shares. */
static int64_t sampled_slice(int64_t slices, int64_t n, int64_t k) {
    return (2 * k + 1) * slices / (2 * n);
}

spmv_status spmv_features_of(spmv_mat *mat, spmv_precision precision, spmv_sampling_depth depth,
                             spmv_features *f) {
    const struct extent *extent = &depths[depth];
    const spmv_stats *s = &mat->stats;
    spmv_csr_view A;
    int threads = extent->by_all ? mat->ctx->threads : 1;
    spmv_mat_rows(mat, &A);
    *f = (spmv_features){.rows = A.rows,
                         .cols = A.cols,
                         .nnz = A.nnz,
                         .row_max = s->row_max,
                         .mean = s->row_mean,
                         .cv = s->row_mean > 0 ? s->row_std / s->row_mean : 0,
                         .empty_share = share((double)s->empty_rows, (double)A.rows),
                         .precision = precision,
                         .threads = mat->ctx->threads};
    if (A.nnz == 0 || depth == SPMV_SAMPLE_NONE) return SPMV_OK;
    sample_rows(&A, threads, extent->slices, f);
    double taken = ROWS * (f->mean < MOST_TAKEN ? f->mean : MOST_TAKEN) + 1;
    double most = fmin((double)A.nnz / FRACTION, extent->entries);
    int64_t slices = (A.rows + ROWS - 1) / ROWS, n = (int64_t)(most / taken);
    n = n < extent->fewest ? extent->fewest : n > extent->sampled ? extent->sampled : n;
    n = n > slices ? slices : n;
    tally *t = calloc((size_t)n, sizeof *t);
    if (!t) return spmv_fail(mat->ctx, SPMV_E_NOMEM, "out of memory");
    int per_line = precision == SPMV_F64 ? 8 : 16;
    for (int64_t k = 0; k < n; k++) prefetch_rows(&A, sampled_slice(slices, n, k));
    for (int64_t k = 0; k < n && threads == 1; k++)
        prefetch_entries(&A, sampled_slice(slices, n, k));
#pragma omp parallel for schedule(dynamic) num_threads(threads) if (n > 4)
    for (int64_t k = 0; k < n; k++)
        sample_slice(&A, sampled_slice(slices, n, k), per_line, extent->blocks, &t[k]);
    add_up(t, (int)n, f);
    free(t);
    if (extent->repeats) f->repeats = sample_repeats(&A);
    if (extent->formats) add_format_features(&A, f);
    return SPMV_OK;
}
