/* csell_repeats.h: slices that repeat an earlier one, shifted along the diagonal; on a regular grid
 * nearly all do. They are only compared with the first and take over its encoding; for
 * format_csell.c. */
#ifndef SPMV_CSELL_REPEATS_H
#define SPMV_CSELL_REPEATS_H

#include "csell_rows.h"

typedef struct csell_repeat {
    int32_t of;  /* the earlier slice; -1: none */
    bool values; /* the values are equal too */
} csell_repeat;

enum { KNOWN_SLICES = 512 };
typedef struct known_slices { /* slices indexed by a hash of their shape */
    struct known_slice {
        bool used;
        int64_t slice;
        int ngroups;
        int leader[CSELL_ROWS];
        uint32_t group[CSELL_ROWS];
    } at[KNOWN_SLICES];
} known_slices;

/* Returns whether a slice has 32 rows and no long row, so that its entries are contiguous. */
static inline bool can_repeat(const spmv_csr_view *A, const slice_rows *s) {
    return s->nrows == CSELL_ROWS && s->nnz > 0 &&
           A->row_ptr[s->first + CSELL_ROWS] - A->row_ptr[s->first] == s->nnz;
}

static inline uint32_t offset_of(const slice_rows *s, int64_t entry, int row) {
    return (uint32_t)(s->col[0][entry] - (int32_t)s->first - row);
}

/* Hashes the row lengths and a few offsets. Slices with equal hashes are then compared. */
static inline struct known_slice *place_in(known_slices *known, const slice_rows *s) {
    uint32_t hash = offset_of(s, 0, 0) + 3 * offset_of(s, s->nnz / 2, CSELL_ROWS / 2) +
                    5 * offset_of(s, s->nnz - 1, CSELL_ROWS - 1);
    for (int r = 0; r < CSELL_ROWS; r++)
        hash += (uint32_t)s->length[r] * (uint32_t)(2 * r + 1) * 0x9e3779b1u;
    return &known->at[(hash * 0x9e3779b1u >> 16) % KNOWN_SLICES];
}

static inline bool same_lengths(const int64_t *a, const int64_t *b) {
    int64_t differs = 0;
    for (int r = 1; r <= CSELL_ROWS; r++) differs |= (a[r] - a[0]) ^ (b[r] - b[0]);
    return !differs;
}

/* Returns whether, and how, slice s repeats the known one. */
static inline csell_repeat find_repeat(const spmv_csr_view *A, const slice_rows *s,
                                       const struct known_slice *known) {
    const csell_repeat none = {-1, false};
    if (!known->used) return none;
    int64_t first = known->slice * CSELL_ROWS, entry = A->row_ptr[first];
    if (!same_lengths(A->row_ptr + s->first, A->row_ptr + first) ||
        !same_shifted(s->col[0], A->col_idx + entry, s->nnz, (int32_t)(s->first - first)))
        return none;
    return (csell_repeat){(int32_t)known->slice, memcmp(s->value[0], A->values + entry,
                                                        (size_t)s->nnz * sizeof(double)) == 0};
}

static inline void remember(struct known_slice *known, const slice_rows *s) {
    known->used = true;
    known->slice = s->first / CSELL_ROWS;
    known->ngroups = s->ngroups;
    memcpy(known->leader, s->leader, sizeof known->leader);
    memcpy(known->group, s->group, sizeof known->group);
}

static inline void recall(const struct known_slice *known, slice_rows *s) {
    s->ngroups = known->ngroups;
    memcpy(s->leader, known->leader, sizeof s->leader);
    memcpy(s->group, known->group, sizeof s->group);
}

#endif
