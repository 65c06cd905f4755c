/* windows.c: samples how many nonzeros of a window of rows share a column (spmv_windows.h). */
#include "spmv_windows.h"
#include "spmv_order.h"
#include <stdlib.h>

enum {
    PLACES = 6,       /* sampled places of the matrix */
    ROWS = 256,       /* of the largest window */
    TAKEN = 64,       /* nonzeros of a row, at most */
    SLOTS = 1 << 15,  /* of the table of columns: twice the nonzeros of a window */
    RANGE = 1024,     /* rows of a range of keys, at most */
    SAMPLED = 1 << 12 /* keys of which ranges are made, at most */
};
static const int size_of[SPMV_WINDOW_SIZES] = {8, 32, ROWS};

typedef struct table { /* the set of columns of a window, or of rows that were met */
    int32_t *column;   /* [SLOTS] */
    uint32_t *in;      /* [SLOTS] number of the set that has the column */
    uint32_t set;
} table;

typedef struct counts { /* of sampled windows of each size */
    double entries[SPMV_WINDOW_SIZES], columns[SPMV_WINDOW_SIZES];
} counts;

static void begin_set(table *t) {
    t->set++;
}

/* Returns whether the column was not in the set, to which it is added. */
static bool add_to_set(table *t, int32_t column) {
    uint32_t at = (uint32_t)column * 0x9e3779b1u >> 17;
    while (t->in[at] == t->set && t->column[at] != column) at = (at + 1) % SLOTS;
    const bool is_new = t->in[at] != t->set;
    t->in[at] = t->set, t->column[at] = column;
    return is_new;
}

static int64_t taken_of(const spmv_csr_view *A, int32_t row) {
    const int64_t n = A->row_ptr[row + 1] - A->row_ptr[row];
    return n < TAKEN ? n : TAKEN;
}

/* Adds the windows of n <= ROWS rows. */
static void count_windows(const spmv_csr_view *A, const int32_t *row, int n, table *t, counts *c) {
    for (int s = 0; s < SPMV_WINDOW_SIZES; s++)
        for (int r = 0; r < n; r++) {
            if (r % size_of[s] == 0) begin_set(t);
            const int64_t begin = A->row_ptr[row[r]], taken = taken_of(A, row[r]);
            for (int64_t k = begin; k < begin + taken; k++)
                c->columns[s] += add_to_set(t, A->col_idx[k]);
            c->entries[s] += (double)taken;
        }
}

static void put_shares(const counts *c, double out[SPMV_WINDOW_SIZES]) {
    for (int s = 0; s < SPMV_WINDOW_SIZES; s++)
        out[s] = c->columns[s] > 0 ? c->entries[s] / c->columns[s] : 0;
}

/* Returns the row in the middle of a sampled place. */
static int64_t middle_of(const spmv_csr_view *A, int place) {
    return (2 * place + 1) * A->rows / (2 * PLACES);
}

/* ---- in the order of the matrix -------------------------------------------------------------- */

static void sample_kept(const spmv_csr_view *A, table *t, double *out) {
    counts c = {{0}, {0}};
    for (int place = 0; place < PLACES; place++) {
        const int n = A->rows < ROWS ? (int)A->rows : ROWS;
        int64_t first = middle_of(A, place) - n / 2;
        int32_t row[ROWS];
        if (first < 0) first = 0;
        if (first + n > A->rows) first = A->rows - n;
        for (int r = 0; r < n; r++) row[r] = (int32_t)(first + r);
        count_windows(A, row, n, t, &c);
    }
    put_shares(&c, out);
}

/* ---- of rows with near keys ------------------------------------------------------------------ */

typedef struct keyed {
    uint64_t key;
    int32_t row;
} keyed;

typedef struct range { /* rows whose keys are in it, in the order of the matrix, and the number of
                          the first of them */
    uint64_t least, end;
    keyed *row; /* [RANGE] */
    int n;
} range;

static int compare_keys(const void *a, const void *b) {
    const keyed *p = a, *q = b;
    return p->key != q->key ? (p->key > q->key) - (p->key < q->key)
                            : (p->row > q->row) - (p->row < q->row);
}

static uint64_t key_of(const spmv_csr_view *A, int64_t row) {
    const int64_t begin = A->row_ptr[row];
    return spmv_ends_key(A->col_idx + begin, A->row_ptr[row + 1] - begin);
}

/* Chooses ranges between successive keys of a sample, in each of which about ROWS rows have their
 * keys. Rows without entries are in none. */
static void choose_ranges(const spmv_csr_view *A, range *of) {
    const int64_t wanted = A->rows / ROWS + 1, n = wanted < SAMPLED ? wanted : SAMPLED;
    keyed sample[SAMPLED] = {{0}};
    int64_t there = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t row = spmv_split(A->rows, n, k);
        const keyed one = {key_of(A, row), (int32_t)row};
        if (one.key != UINT64_MAX) sample[there++] = one;
    }
    qsort(sample, (size_t)there, sizeof *sample, compare_keys);
    for (int place = 0; place < PLACES; place++) {
        const int64_t at = (2 * place + 1) * there / (2 * PLACES);
        of[place].least = there > 0 ? sample[at].key : UINT64_MAX;
        of[place].end = at + 1 < there ? sample[at + 1].key : UINT64_MAX;
        of[place].n = 0;
    }
}

/* Lists the rows first to end - 1 that are in a range, in order, until that is full. */
static void list_rows(const spmv_csr_view *A, int64_t first, int64_t end, range *of) {
    for (int64_t i = first; i < end; i++) {
        const uint64_t key = key_of(A, i);
        for (int place = 0; place < PLACES; place++) {
            range *r = of + place;
            if (key < r->least || key >= r->end || r->n == RANGE) continue;
            r->row[r->n++] = (keyed){key, (int32_t)i};
        }
    }
}

/* Adds the rows of a later part. */
static void append(const range *from, range *to) {
    for (int k = 0; k < from->n && to->n < RANGE; k++) to->row[to->n++] = from->row[k];
}

static void count_range(const spmv_csr_view *A, range *r, table *t, counts *c) {
    int32_t row[ROWS];
    const int n = r->n < ROWS ? r->n : ROWS;
    qsort(r->row, (size_t)r->n, sizeof *r->row, compare_keys);
    for (int k = 0; k < n; k++) row[k] = r->row[k].row;
    count_windows(A, row, n, t, c);
}

/* room: [threads][PLACES][RANGE] */
static void sample_by_ends(const spmv_csr_view *A, int threads, keyed *room, range *of, table *t,
                           double *out) {
    counts c = {{0}, {0}};
    for (int part = 0; part < threads; part++) {
        choose_ranges(A, of + part * PLACES);
        for (int place = 0; place < PLACES; place++)
            of[part * PLACES + place].row = room + (part * PLACES + place) * (int64_t)RANGE;
    }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
    for (int part = 0; part < threads; part++)
        list_rows(A, spmv_split(A->rows, threads, part), spmv_split(A->rows, threads, part + 1),
                  of + part * PLACES);
    for (int place = 0; place < PLACES; place++) {
        for (int part = 1; part < threads; part++) append(&of[part * PLACES + place], &of[place]);
        count_range(A, &of[place], t, &c);
    }
    put_shares(&c, out);
}

/* ---- of a walk ------------------------------------------------------------------------------- */

/* Lists up to ROWS rows in the order in which a breadth-first walk meets them. */
static int walk_from(const spmv_csr_view *A, int64_t seed, table *t, int32_t *row) {
    int n = 1;
    begin_set(t);
    add_to_set(t, (int32_t)seed);
    row[0] = (int32_t)seed;
    for (int at = 0; at < n; at++) {
        const int64_t begin = A->row_ptr[row[at]], end = begin + taken_of(A, row[at]);
        for (int64_t k = begin; k < end && n < ROWS; k++)
            if (add_to_set(t, A->col_idx[k])) row[n++] = A->col_idx[k];
    }
    return n;
}

static void sample_by_walk(const spmv_csr_view *A, table *t, double *out) {
    counts c = {{0}, {0}};
    int32_t row[ROWS];
    for (int place = 0; place < PLACES; place++) {
        const int n = walk_from(A, middle_of(A, place), t, row);
        count_windows(A, row, n, t, &c);
    }
    put_shares(&c, out);
}

/* ---- all ------------------------------------------------------------------------------------- */

spmv_status spmv_windows_sample(spmv_ctx *ctx, const spmv_csr_view *A, int threads, double enough,
                                spmv_windows *out) {
    table t = {.column = malloc(SLOTS * sizeof *t.column), .in = calloc(SLOTS, sizeof *t.in)};
    keyed *room = malloc((size_t)threads * PLACES * RANGE * sizeof *room);
    range *of = malloc((size_t)threads * PLACES * sizeof *of);
    const bool has_room = t.column && t.in && room && of;
    *out = (spmv_windows){.kept = {0}};
    if (has_room && A->nnz > 0) {
        sample_kept(A, &t, out->kept);
        if (out->kept[0] < enough) {
            sample_by_ends(A, threads, room, of, &t, out->by_ends);
            if (A->rows == A->cols) sample_by_walk(A, &t, out->by_walk);
        }
    }
    free(t.column);
    free(t.in);
    free(room);
    free(of);
    return has_room ? SPMV_OK : spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for a sample");
}
