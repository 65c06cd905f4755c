/* csell_choice.h: chooses the encodings of a csell slice by the rules of format_csell.c. */
#ifndef SPMV_CSELL_CHOICE_H
#define SPMV_CSELL_CHOICE_H

#include "csell_repeats.h"
#include "formats/value_set.h"
#include <math.h>
#include <stdlib.h>

enum { STEP_COST = 32, ENTRY_COST = 1 };

static inline int64_t aligned(int64_t bytes) {
    return (bytes + CSELL_ALIGN - 1) / CSELL_ALIGN * CSELL_ALIGN;
}

/* ---- values ---------------------------------------------------------------------------------- */

static inline bool same_values(const double *a, const double *b, int64_t n) {
    uint64_t differs = 0;
    for (int64_t k = 0; k < n; k++) differs |= bits_of((real)a[k]) ^ bits_of((real)b[k]);
    return !differs;
}

/* Returns whether all rows have the same value in each step. k-th entries of a group are in one
 * step, so other groups are compared by their leaders only. */
static inline bool steps_agree(const slice_rows *s, walk w) {
    int64_t at[CSELL_ROWS] = {0};
    int run = w.run ? w.run : 1;
    uint32_t leaders = 0;
    for (int g = 0; g < s->ngroups; g++) {
        int leader = s->leader[g];
        leaders |= 1u << leader;
        for (uint32_t rest = s->group[g] & (s->group[g] - 1); rest; rest &= rest - 1)
            if (!same_values(s->value[leader], s->value[__builtin_ctz(rest)], s->length[leader]))
                return false;
    }
    if (s->ngroups == 1) return true;
    for (csell_step step; next_step(&w, &step);)
        for (int e = 0, first = __builtin_ctz(step.mask & leaders); e < run; e++) {
            uint64_t bits = bits_of((real)s->value[first][at[first]]);
            for (uint32_t rest = step.mask & leaders; rest; rest &= rest - 1) {
                int r = __builtin_ctz(rest);
                if (bits_of((real)s->value[r][at[r]++]) != bits) return false;
            }
        }
    return true;
}

static inline bool fits_float(const slice_rows *s) {
    for (int r = 0; r < s->nrows; r++)
        if (!are_floats(s->value[r], s->length[r])) return false;
    return true;
}

/* ---- choice ---------------------------------------------------------------------------------- */

static inline int code_bytes(int column_code) {
    return column_code == CSELL_DIAGONAL    ? 0
           : column_code == CSELL_COLUMN_8  ? 1
           : column_code == CSELL_COLUMN_16 ? 2
                                            : 4;
}

static inline int narrowest_code(int32_t widest) {
    return widest <= UINT8_MAX    ? CSELL_COLUMN_8
           : widest <= UINT16_MAX ? CSELL_COLUMN_16
                                  : CSELL_COLUMN_32;
}

/* Rules 2 to 4: chooses run, column code and number of steps. */
static inline void choose_columns(const slice_rows *s, offset_set *set, csell_slice *out) {
    int run = run_of(s), code = narrowest_code(widest_step(s, run));
    int64_t nsteps = longest_of(s) / run;
    int64_t cost = STEP_COST * nsteps + 2 * code_bytes(code) * (s->nnz / run) + ENTRY_COST * s->nnz;
    int64_t most = cost / STEP_COST, diagonals = count_diagonals(s, most, set);
    bool on_diagonals = diagonals <= most;
    out->run = (uint8_t)(on_diagonals ? 1 : run);
    out->column_code = (uint8_t)(on_diagonals ? CSELL_DIAGONAL : code);
    out->nsteps = (int32_t)(on_diagonals ? diagonals : nsteps);
}

static inline walk steps_of(const slice_rows *s, const csell_slice *slice) {
    return slice->column_code == CSELL_DIAGONAL ? diagonal_steps(s) : gathered_steps(s, slice->run);
}

/* Rule 6: chooses the value code; returns the bytes of the values. */
static inline int64_t choose_values(const slice_rows *s, const value_set *set, bool codes,
                                    csell_slice *out) {
    int64_t bytes = s->nnz * (int64_t)sizeof(real);
    int64_t step_bytes = (int64_t)out->nsteps * out->run * (int64_t)sizeof(real);
    out->value_code = VALUE_RAW;
    if (!codes) return bytes;
    if (set->count) {
        out->value_code = VALUE_CODEBOOK;
        bytes = s->nnz;
    } else if (sizeof(real) > sizeof(float) && fits_float(s)) {
        out->value_code = VALUE_F32;
        bytes = s->nnz * (int64_t)sizeof(float);
    }
    if (step_bytes > bytes || !steps_agree(s, steps_of(s, out))) return bytes;
    out->value_code = CSELL_VALUE_STEP;
    return step_bytes;
}

typedef struct seen { /* state of a thread, kept from slice to slice */
    offset_set offsets;
    known_slices known;
} seen;

/* Leaves in step, column and value how much of each the slice takes; place_slices adds these up. */
static inline void choose_slice(const spmv_csr_view *A, const value_set *set, bool codes, int64_t k,
                                seen *memory, csell *B, csell_repeat *repeat) {
    slice_rows s;
    csell_slice *slice = B->slice + k;
    describe_rows(A, k, B->cut, &s);
    struct known_slice *known = can_repeat(A, &s) ? place_in(&memory->known, &s) : NULL;
    *repeat = (csell_repeat){-1, false};
    if (known) *repeat = find_repeat(A, &s, known);
    if (repeat->of >= 0) {
        *slice = B->slice[repeat->of];
        if (repeat->values) return;
        recall(known, &s);
    } else {
        *slice = (csell_slice){0};
        find_groups(&s);
        choose_columns(&s, &memory->offsets, slice);
        if (known) remember(known, &s);
    }
    slice->step = slice->nsteps;
    slice->column = aligned(s.nnz / slice->run * code_bytes(slice->column_code));
    slice->value = aligned(choose_values(&s, set, codes, slice));
}
#endif
