/* csell_rows.h: the 32 rows of a csell slice, and an iteration over the steps that they make, on
 * diagonals or gathered; for format_csell.c and format_csell_sym.c. */
#ifndef SPMV_CSELL_ROWS_H
#define SPMV_CSELL_ROWS_H

#include "csell.h"

/* For loops over pointers to rows: the compiler would otherwise use gather instructions, which take
 * several times as long on many CPUs. */
#if __has_attribute(optimize) /* clang has no such attribute */
#define BY_LOADS __attribute__((optimize("no-tree-vectorize")))
#else
#define BY_LOADS
#endif

enum { LONGEST_RUN = 8 };
enum { NO_OFFSET = INT32_MAX }; /* greater than any j - i */

static inline int64_t row_length(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

/* ---- the rows of a slice --------------------------------------------------------------------- */

/* Rows whose entries are those of an earlier row, shifted along the diagonal, form a group with
 * this row, the leader, and are represented by it. A regular grid gives one group; if every row is
 * its own group, only the time for comparing is lost. */
typedef struct slice_rows {
    int64_t first, nnz;
    int nrows, ngroups;
    int64_t length[CSELL_ROWS]; /* 0: empty or long */
    const int32_t *col[CSELL_ROWS];
    const double *value[CSELL_ROWS];
    int leader[CSELL_ROWS];     /* leader of each group */
    uint32_t group[CSELL_ROWS]; /* rows of each group as bits */
} slice_rows;

static inline bool same_shifted(const int32_t *a, const int32_t *b, int64_t n, int32_t shift) {
    enum { TOGETHER = 16 };
    int64_t k = 0;
    for (; k + TOGETHER <= n; k += TOGETHER) {
        int32_t differs = 0;
        for (int l = 0; l < TOGETHER; l++) differs |= (a[k + l] - b[k + l]) ^ shift;
        if (differs) return false;
    }
    for (; k < n; k++)
        if (a[k] - b[k] != shift) return false;
    return true;
}

/* Returns a hash that is equal for rows that may be in one group. Columns are relative to the
 * row. */
static inline uint64_t likeness(const slice_rows *s, int r) {
    const int64_t n = s->length[r];
    const uint32_t first = (uint32_t)(s->col[r][0] - r), last = (uint32_t)(s->col[r][n - 1] - r);
    return ((uint64_t)first << 32 | last) * 0x9e3779b97f4a7c15u + (uint64_t)n;
}

static inline void find_groups(slice_rows *s) {
    enum { LOOK_BACK = 8 };
    uint64_t like[CSELL_ROWS]; /* hash of each leader */
    s->ngroups = 0;
    for (int r = 0; r < s->nrows; r++) {
        int64_t n = s->length[r];
        int g = s->ngroups - 1, oldest = s->ngroups - LOOK_BACK > 0 ? s->ngroups - LOOK_BACK : 0;
        if (n == 0) continue;
        const uint64_t mine = likeness(s, r);
        for (; g >= oldest; g--) {
            int l = s->leader[g];
            if (like[g] == mine && n == s->length[l] &&
                same_shifted(s->col[r], s->col[l], n, r - l))
                break;
        }
        if (g < oldest) {
            g = s->ngroups++;
            like[g] = mine;
            s->leader[g] = r;
            s->group[g] = 0;
        }
        s->group[g] |= 1u << r;
    }
}

/* Makes every row its own group: for gathered steps. */
static inline void leave_rows_alone(slice_rows *s) {
    s->ngroups = 0;
    for (int r = 0; r < s->nrows; r++)
        if (s->length[r]) {
            s->leader[s->ngroups] = r;
            s->group[s->ngroups++] = 1u << r;
        }
}

static inline void describe_rows(const spmv_csr_view *A, int64_t slice, int64_t cut,
                                 slice_rows *s) {
    s->first = slice * CSELL_ROWS;
    s->nrows = (int)(A->rows - s->first < CSELL_ROWS ? A->rows - s->first : CSELL_ROWS);
    s->nnz = 0;
    for (int r = 0; r < s->nrows; r++) {
        int64_t length = row_length(A, s->first + r);
        s->length[r] = length > cut ? 0 : length;
        s->col[r] = A->col_idx + A->row_ptr[s->first + r];
        s->value[r] = A->values + A->row_ptr[s->first + r];
        s->nnz += s->length[r];
    }
}

static inline int64_t longest_of(const slice_rows *s) {
    int64_t longest = 0;
    for (int r = 0; r < s->nrows; r++)
        if (s->length[r] > longest) longest = s->length[r];
    return longest;
}

static inline int64_t greatest_divisor(int64_t a, int64_t b) {
    while (b) {
        int64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

/* Rule 2 of format_csell.c. */
static inline int run_of(const slice_rows *s) {
    int64_t common = 0;
    int run = LONGEST_RUN;
    for (int g = 0; g < s->ngroups && common != 1; g++) {
        const int32_t *col = s->col[s->leader[g]];
        int64_t length = s->length[s->leader[g]];
        for (int64_t k = 0, end; k < length && common != 1; k = end) {
            for (end = k + 1; end < length && col[end] == col[end - 1] + 1;) end++;
            common = greatest_divisor(end - k, common);
        }
    }
    if (common == 0) return 1;
    while (common % run) run--;
    return run;
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct walk { /* an iteration over the steps of a slice */
    const slice_rows *s;
    int run;          /* 0: on diagonals */
    int64_t k, until; /* gathered: the next entry, and where the first active row ends */
    uint32_t mask;    /* active rows, and the columns of their leaders */
    const int32_t *active[CSELL_ROWS];
    int nactive;
    int64_t at[CSELL_ROWS];   /* on diagonals: the next entry of each group */
    int32_t head[CSELL_ROWS]; /* the offset of that entry; NO_OFFSET behind the last */
} walk;

static inline int32_t offset_at(const slice_rows *s, int row, int64_t k) {
    return k < s->length[row] ? s->col[row][k] - (int32_t)(s->first + row) : NO_OFFSET;
}

static inline walk diagonal_steps(const slice_rows *s) {
    walk w = {.s = s};
    for (int g = 0; g < CSELL_ROWS; g++)
        w.head[g] = g < s->ngroups ? offset_at(s, s->leader[g], 0) : NO_OFFSET;
    return w;
}

static inline walk gathered_steps(const slice_rows *s, int run) {
    return (walk){.s = s, .run = run};
}

static inline bool next_diagonal(walk *w, csell_step *out) {
    enum { TOGETHER = 8 };
    int32_t low = NO_OFFSET;
    for (int g = 0; g < w->s->ngroups; g += TOGETHER)
        for (int l = 0; l < TOGETHER; l++) low = w->head[g + l] < low ? w->head[g + l] : low;
    if (low == NO_OFFSET) return false;
    *out = (csell_step){.base = low};
    for (int g = 0; g < w->s->ngroups; g++)
        if (w->head[g] == low) {
            out->mask |= w->s->group[g];
            w->head[g] = offset_at(w->s, w->s->leader[g], ++w->at[g]);
        }
    return true;
}

/* A hash set of the distinct offsets of a slice. A slot with another number is free, so that
 * nothing need be cleared between slices. */
enum { MOST_OFFSETS = 1 << 13 };
typedef struct offset_set {
    uint64_t number;
    uint64_t slot[2 * MOST_OFFSETS]; /* number << 32 | offset */
} offset_set;

/* Returns the number of diagonals of a slice, or most + 1 if there are more. */
static inline int64_t count_diagonals(const slice_rows *s, int64_t most, offset_set *set) {
    int64_t count = 0;
    if (most > MOST_OFFSETS) { /* long rows: count step by step */
        walk w = diagonal_steps(s);
        for (csell_step step; count <= most && next_diagonal(&w, &step);) count++;
        return count;
    }
    int shift = 64 - 2; /* a hash table no larger than needed stays in the L1 cache */
    while (2 * most > (int64_t)1 << (64 - shift)) shift--;
    uint64_t last = ((uint64_t)1 << (64 - shift)) - 1;
    set->number++;
    for (int g = 0; g < s->ngroups; g++)
        for (int64_t k = 0, leader = s->leader[g]; k < s->length[leader]; k++) {
            uint32_t offset = (uint32_t)(s->col[leader][k] - (int32_t)(s->first + leader));
            uint64_t key = set->number << 32 | offset, at = offset * 0x9e3779b97f4a7c15u >> shift;
            while (set->slot[at] != key && set->slot[at] >> 32 == set->number) at = (at + 1) & last;
            count += set->slot[at] != key;
            set->slot[at] = key;
            if (count > most) return count;
        }
    return count;
}

/* Finds the groups that have an entry k, without branches, which would be mispredicted. */
static inline void find_active(walk *w) {
    const slice_rows *s = w->s;
    w->until = INT64_MAX;
    w->mask = 0;
    w->nactive = 0;
    for (int g = 0; g < s->ngroups; g++) {
        const int64_t length = s->length[s->leader[g]], ends = length > w->k ? length : INT64_MAX;
        w->active[w->nactive] = s->col[s->leader[g]];
        w->nactive += length > w->k;
        w->mask |= length > w->k ? s->group[g] : 0;
        w->until = ends < w->until ? ends : w->until;
    }
}

/* Only leaders are read: rows of a group have higher columns than their leader. */
BY_LOADS static inline bool next_gathered(walk *w, csell_step *out) {
    int32_t low = INT32_MAX;
    if (w->k >= w->until) find_active(w);
    for (int a = 0; a < w->nactive; a++) {
        int32_t col = w->active[a][w->k];
        low = col < low ? col : low;
    }
    w->k += w->run;
    *out = (csell_step){.base = low, .mask = w->mask};
    return w->mask != 0;
}

static inline bool next_step(walk *w, csell_step *out) {
    return w->run ? next_gathered(w, out) : next_diagonal(w, out);
}

/* Returns the greatest distance of a run from the base of its step, or some number above
 * UINT16_MAX. Many steps are computed at a time, because a row's columns are contiguous. */
static inline int32_t widest_step(const slice_rows *s, int run) {
    enum { TOGETHER = 64 };
    int32_t low[TOGETHER], high[TOGETHER], widest = 0;
    int64_t steps = longest_of(s) / run;
    for (int64_t first = 0; first < steps && widest <= UINT16_MAX; first += TOGETHER) {
        for (int k = 0; k < TOGETHER; k++) low[k] = INT32_MAX, high[k] = 0;
        for (int g = 0; g < s->ngroups; g++) {
            int leader = s->leader[g], shift = 31 - __builtin_clz(s->group[g]) - leader;
            const int32_t *col = s->col[leader] + first * run;
            int64_t rest = s->length[leader] / run - first, n = rest < TOGETHER ? rest : TOGETHER;
            for (int64_t k = 0; k < n; k++) {
                int32_t c = col[k * run];
                low[k] = c < low[k] ? c : low[k];
                high[k] = c + shift > high[k] ? c + shift : high[k];
            }
        }
        for (int k = 0; k < TOGETHER && first + k < steps; k++)
            widest = high[k] - low[k] > widest ? high[k] - low[k] : widest;
    }
    return widest;
}

#endif
