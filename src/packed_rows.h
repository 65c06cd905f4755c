/* packed_rows.h: the 32 rows of a packed slice, and a walk over the steps that they make, on
 * diagonals or gathered; for format_packed.c. */
#ifndef SPMV_PACKED_ROWS_H
#define SPMV_PACKED_ROWS_H

#include "spmv_kernel.h"

enum { LONGEST_RUN = 8 };
enum { NO_OFFSET = INT32_MAX }; /* j - i is less */

static inline int64_t row_length(const spmv_csr_view *A, int64_t i) {
    return A->row_ptr[i + 1] - A->row_ptr[i];
}

/* ---- the rows of a slice --------------------------------------------------------------------- */

/* Rows whose entries are those of an earlier row, moved along the diagonal, form a group with it:
 * what is found out about the first, the leader, holds for all. On a regular grid there is one
 * group; where every row is its own nothing is lost but the comparison. */
typedef struct slice_rows {
    int64_t first, nnz;
    int nrows, ngroups;
    int64_t length[PACKED_ROWS]; /* 0: empty or long */
    const int32_t *col[PACKED_ROWS];
    const double *value[PACKED_ROWS];
    int leader[PACKED_ROWS];     /* of each group */
    uint32_t group[PACKED_ROWS]; /* its rows as bits */
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

static inline void find_groups(slice_rows *s) {
    enum { LOOK_BACK = 8 };
    s->ngroups = 0;
    for (int r = 0; r < s->nrows; r++) {
        int64_t n = s->length[r];
        int g = s->ngroups - 1, oldest = s->ngroups - LOOK_BACK > 0 ? s->ngroups - LOOK_BACK : 0;
        if (n == 0) continue;
        for (; g >= oldest; g--) {
            int l = s->leader[g];
            if (n == s->length[l] && s->col[r][0] - s->col[l][0] == r - l &&
                s->col[r][n - 1] - s->col[l][n - 1] == r - l &&
                same_shifted(s->col[r], s->col[l], n, r - l))
                break;
        }
        if (g < oldest) {
            g = s->ngroups++;
            s->leader[g] = r;
            s->group[g] = 0;
        }
        s->group[g] |= 1u << r;
    }
}

static inline void look_at_rows(const spmv_csr_view *A, int64_t slice, int64_t cut, slice_rows *s) {
    s->first = slice * PACKED_ROWS;
    s->nrows = (int)(A->rows - s->first < PACKED_ROWS ? A->rows - s->first : PACKED_ROWS);
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

/* Rule 2 of format_packed.c. */
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

typedef struct walk { /* a walk over the steps of a slice */
    const slice_rows *s;
    int64_t k;                 /* gathered: the next run */
    int run;                   /* 0: on diagonals */
    int64_t at[PACKED_ROWS];   /* of each group, on diagonals: the next entry */
    int32_t head[PACKED_ROWS]; /* its offset, NO_OFFSET behind the last */
} walk;

static inline int32_t offset_at(const slice_rows *s, int row, int64_t k) {
    return k < s->length[row] ? s->col[row][k] - (int32_t)(s->first + row) : NO_OFFSET;
}

static inline walk diagonal_steps(const slice_rows *s) {
    walk w = {.s = s};
    for (int g = 0; g < PACKED_ROWS; g++)
        w.head[g] = g < s->ngroups ? offset_at(s, s->leader[g], 0) : NO_OFFSET;
    return w;
}

static inline walk gathered_steps(const slice_rows *s, int run) {
    return (walk){.s = s, .run = run};
}

static inline bool next_diagonal(walk *w, packed_step *out) {
    enum { TOGETHER = 8 };
    int32_t low = NO_OFFSET;
    for (int g = 0; g < w->s->ngroups; g += TOGETHER)
        for (int l = 0; l < TOGETHER; l++) low = w->head[g + l] < low ? w->head[g + l] : low;
    if (low == NO_OFFSET) return false;
    *out = (packed_step){.base = low};
    for (int g = 0; g < w->s->ngroups; g++)
        if (w->head[g] == low) {
            out->mask |= w->s->group[g];
            w->head[g] = offset_at(w->s, w->s->leader[g], ++w->at[g]);
        }
    return true;
}

/* And the greatest first column of a run. Groups follow their leader to higher columns. */
static inline bool next_gathered(walk *w, packed_step *out, int32_t *greatest) {
    const slice_rows *s = w->s;
    int64_t k = w->k++ * w->run;
    *out = (packed_step){.base = INT32_MAX};
    *greatest = 0;
    for (int g = 0; g < s->ngroups; g++) {
        int leader = s->leader[g];
        if (s->length[leader] <= k) continue;
        int32_t low = s->col[leader][k], high = low + 31 - __builtin_clz(s->group[g]) - leader;
        out->mask |= s->group[g];
        out->base = low < out->base ? low : out->base;
        *greatest = high > *greatest ? high : *greatest;
    }
    return out->mask != 0;
}

static inline bool next_step(walk *w, packed_step *out) {
    int32_t greatest;
    return w->run ? next_gathered(w, out, &greatest) : next_diagonal(w, out);
}

#endif
