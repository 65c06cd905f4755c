/* facts.c: statistics of a matrix from its compressed rows. Each is one pass, parallel over rows if
 * it is expensive. */
#include "app/record/record.h"
#include "facts.h"
#include "spmv_windows.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const field table[] = {
#define FIELD(type, name, key, unit, help) \
    {TYPE_##type, offsetof(matrix_facts, name), key, unit, help},
#include "facts.def"
#undef FIELD
};

fields matrix_facts_fields(void) {
    return (fields){table, sizeof table / sizeof *table};
}

static double share(int64_t part, int64_t whole_) {
    return whole_ ? (double)part / (double)whole_ : NAN;
}

/* Returns the Gini coefficient of the row lengths, from how many rows there are of each. */
static bool find_gini(const spmv_csr_view *A, int64_t row_max, double *gini) {
    int64_t *rows_of = calloc((size_t)row_max + 1, sizeof *rows_of);
    if (!rows_of) return false;
    for (int64_t i = 0; i < A->rows; i++) rows_of[A->row_ptr[i + 1] - A->row_ptr[i]]++;
    double weighted = 0, seen = 0; /* sum of rank times length, ranks from 1 */
    for (int64_t len = 0; len <= row_max; len++) {
        double n = (double)rows_of[len];
        weighted += (double)len * n * (seen + (n + 1) / 2);
        seen += n;
    }
    free(rows_of);
    double rows = (double)A->rows, nnz = (double)A->nnz;
    *gini = A->nnz ? 2 * weighted / (rows * nnz) - (rows + 1) / rows : NAN;
    return true;
}

static bool find_columns(const spmv_csr_view *A, matrix_facts *out) {
    int32_t *len = calloc((size_t)A->cols + 1, sizeof *len);
    if (!len) return false;
    for (int64_t k = 0; k < A->nnz; k++) len[A->col_idx[k]]++;
    out->empty_cols = out->col_max = 0;
    for (int64_t j = 0; j < A->cols; j++) {
        out->empty_cols += len[j] == 0;
        if (len[j] > out->col_max) out->col_max = len[j];
    }
    free(len);
    return true;
}

static bool find_diagonals(const spmv_csr_view *A, matrix_facts *out) {
    int64_t on_main = 0, shortest = A->rows < A->cols ? A->rows : A->cols;
    char *seen = calloc((size_t)(A->rows + A->cols) + 1, 1); /* diagonals by j - i + rows */
    if (!seen) return false;
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            seen[A->col_idx[k] - i + A->rows] = 1;
            on_main += A->col_idx[k] == i;
        }
    out->diagonals = 0;
    for (int64_t d = 0; d < A->rows + A->cols; d++) out->diagonals += seen[d];
    out->full_diagonal = share(on_main, shortest);
    free(seen);
    return true;
}

/* Returns the number of blocks of a row of blocks that hold an entry: its rows are merged, each
 * being in order. */
static int64_t count_blocks(const spmv_csr_view *A, int edge, int64_t block_row) {
    enum { HIGHEST = 8 };
    int64_t first = block_row * edge, blocks = 0, next[HIGHEST];
    int n = (int)(A->rows - first < edge ? A->rows - first : edge);
    for (int r = 0; r < n; r++) next[r] = A->row_ptr[first + r];
    for (;; blocks++) {
        int64_t least = INT64_MAX;
        for (int r = 0; r < n; r++)
            if (next[r] < A->row_ptr[first + r + 1] && A->col_idx[next[r]] < least)
                least = A->col_idx[next[r]];
        if (least == INT64_MAX) return blocks;
        int64_t end = least / edge * edge + edge;
        for (int r = 0; r < n; r++)
            while (next[r] < A->row_ptr[first + r + 1] && A->col_idx[next[r]] < end) next[r]++;
    }
}

/* Returns the entries over cells of the edge x edge blocks, aligned to (0,0), that hold any. */
static double find_fill(const spmv_csr_view *A, int edge, int threads) {
    int64_t block_rows = (A->rows + edge - 1) / edge, blocks = 0;
#pragma omp parallel for schedule(dynamic, 256) num_threads(threads) reduction(+ : blocks)
    for (int64_t b = 0; b < block_rows; b++) blocks += count_blocks(A, edge, b);
    return share(A->nnz, blocks * edge * edge);
}

static void find_symmetry(const spmv_csr_view *A, int threads, matrix_facts *out) {
    int64_t mirrored = 0, equal = 0, runs = 0;
#pragma omp parallel for schedule(dynamic, 1024) num_threads(threads) \
    reduction(+ : mirrored, equal, runs)
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            runs += k > A->row_ptr[i] && A->col_idx[k - 1] + 1 == A->col_idx[k];
            if (A->rows != A->cols) continue;
            int64_t other = spmv_find_entry(A, A->col_idx[k], i);
            mirrored += other >= 0;
            equal += other >= 0 && memcmp(A->values + k, A->values + other, sizeof *A->values) == 0;
        }
    out->pattern_symmetry = A->rows == A->cols ? share(mirrored, A->nnz) : NAN;
    out->value_symmetry = A->rows == A->cols ? share(equal, A->nnz) : NAN;
    out->runs = share(runs, A->nnz);
}

typedef struct bit_set { /* set of 64-bit patterns; open addressing, at most half full; 0 is kept
                          * separately */
    uint64_t *slot;
    size_t size, used;
    bool has_zero;
} bit_set;

static size_t slot_of(const bit_set *s, uint64_t bits) {
    size_t at = (size_t)((bits ^ (bits >> 29)) * 0x9e3779b97f4a7c15u >> 20) & (s->size - 1);
    while (s->slot[at] && s->slot[at] != bits) at = (at + 1) & (s->size - 1);
    return at;
}

static bool grow(bit_set *s) {
    bit_set larger = {
        .size = s->size ? 2 * s->size : 4096, .used = s->used, .has_zero = s->has_zero};
    larger.slot = calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot) return false;
    for (size_t k = 0; k < s->size; k++)
        if (s->slot[k]) larger.slot[slot_of(&larger, s->slot[k])] = s->slot[k];
    free(s->slot);
    *s = larger;
    return true;
}

/* Counts the values of one of `parts` parts, by their bits, in *set, which is empty. Returns false
 * when it is out of memory, or has more than `most`. */
static bool count_part(const spmv_csr_view *A, uint64_t part, uint64_t parts, size_t most,
                       bit_set *set) {
    bool ok = grow(set);
    for (int64_t k = 0; ok && k < A->nnz; k++) {
        const uint64_t bits = spmv_bits(A->values[k]);
        if (parts > 1 && spmv_mix(bits) % parts != part) continue;
        set->has_zero |= bits == 0;
        if (bits == 0) continue;
        const size_t at = slot_of(set, bits);
        if (set->slot[at]) continue;
        set->slot[at] = bits;
        ok = ++set->used <= most;
        if (ok && 2 * set->used > set->size) ok = grow(set);
    }
    free(set->slot);
    set->slot = NULL;
    return ok;
}

/* If most values are different, a set of all takes 40 bytes per nonzero while it grows, more than
 * the matrix itself: they are counted part by part. */
static bool find_distinct(const spmv_csr_view *A, whole *distinct) {
    enum { PARTS = 16, FEW = 1 << 16 };
    const size_t most = A->nnz / PARTS > FEW ? (size_t)(A->nnz / PARTS) : FEW;
    bit_set all = {0};
    bool ok = count_part(A, 0, 1, most, &all);
    *distinct = (whole)all.used + all.has_zero;
    if (ok || all.used <= most) return ok;
    *distinct = 0;
    ok = true;
    for (uint64_t part = 0; ok && part < PARTS; part++) {
        bit_set set = {0};
        ok = count_part(A, part, PARTS, SIZE_MAX, &set);
        *distinct += (whole)set.used + set.has_zero;
    }
    return ok;
}

static bool find_values(const spmv_csr_view *A, int threads, matrix_facts *out) {
    int64_t exact = 0;
#pragma omp parallel for schedule(static) num_threads(threads) reduction(+ : exact)
    for (int64_t k = 0; k < A->nnz; k++)
        exact += spmv_bits((double)(float)A->values[k]) == spmv_bits(A->values[k]);
    if (!find_distinct(A, &out->distinct)) return false;
    out->exact_f32 = share(exact, A->nnz);
    return true;
}

spmv_status transpose_of(spmv_ctx *ctx, const spmv_mat *mat, spmv_mat **out) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    TRY(spmv_mat_rows(mat, &A));
    const spmv_arrays columns = {.size = sizeof columns,
                                 .rows = A.cols,
                                 .cols = A.rows,
                                 .nnz = A.nnz,
                                 .ptr = A.row_ptr,
                                 .idx = A.col_idx,
                                 .values = A.values,
                                 .ptr_bits = 64,
                                 .by_columns = 1,
                                 .flags = SPMV_SORTED};
    return spmv_mat_create(ctx, &columns, out);
}

/* Unknown shares stay so. */
static void put_known(const double *share_of, number *const *out) {
    for (int s = 0; s < SPMV_WINDOW_SIZES; s++)
        if (share_of[s] > 0) *out[s] = share_of[s];
}

static bool find_windows(spmv_ctx *ctx, const spmv_csr_view *A, matrix_facts *out) {
    spmv_windows found;
    if (spmv_windows_sample(ctx, A, spmv_ctx_threads(ctx), INFINITY, &found) != SPMV_OK)
        return false;
    put_known(found.kept, (number *[]){&out->shared_8, &out->shared_32, &out->shared_256});
    put_known(found.by_ends, (number *[]){&out->ends_8, &out->ends_32, &out->ends_256});
    put_known(found.by_walk, (number *[]){&out->walk_8, &out->walk_32, &out->walk_256});
    return true;
}

bool matrix_facts_of(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_stats *stats,
                     matrix_facts *out) {
    const int threads = spmv_ctx_threads(ctx);
    memset(out, 0, sizeof *out);
    fields_clear(matrix_facts_fields(), out);
    out->rows = stats->rows;
    out->cols = stats->cols;
    out->nnz = stats->nnz;
    out->nnz_file = stats->nnz_file;
    out->explicit_zeros = stats->explicit_zeros;
    out->duplicates = stats->duplicates;
    out->row_mean = stats->row_mean;
    out->row_std = stats->row_std;
    out->sigma = stats->row_mean > 0 ? stats->row_std / sqrt(stats->row_mean) : 0;
    out->row_min = stats->row_min;
    out->row_max = stats->row_max;
    out->empty_rows = stats->empty_rows;
    out->bandwidth = stats->bandwidth;
    find_symmetry(A, threads, out);
    out->fill_2 = find_fill(A, 2, threads);
    out->fill_3 = find_fill(A, 3, threads);
    out->fill_4 = find_fill(A, 4, threads);
    out->fill_8 = find_fill(A, 8, threads);
    bool complete = find_gini(A, stats->row_max, &out->gini);
    complete &= find_columns(A, out);
    complete &= find_diagonals(A, out);
    complete &= find_windows(ctx, A, out);
    return find_values(A, threads, out) && complete;
}
