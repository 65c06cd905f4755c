/* entries.c: takes the entries that this rank has read, with the transposed entries of symmetric
 * files; counts the entries of each row, and sends each entry to the rank that owns its row. */
#include "loading.h"
#include "ranks/exchange/shuffle.h"
#include <stdlib.h>

typedef struct entry {
    int32_t row, col; /* indices in the whole matrix */
    double value;
} entry;

/* ---- entries, one by one -------------------------------------------------------------------- */

typedef struct run { /* n consecutive entries of one row */
    int32_t row, n;
} run;

typedef struct walk { /* iterator over this rank's entries of the file */
    loading *l;
    const int64_t *first; /* [size + 1] first row of each rank */
    spmv_chunk *chunk;
    int64_t k;
    int half;     /* 1: the current entry is the transposed one */
    int owner[2]; /* [half] owner of the last entry's row */
    run last[2];
    bool frees; /* frees chunks that are done */
} walk;

static walk walk_of(loading *l, const int64_t *first) {
    return (walk){.l = l, .first = first, .chunk = l->chunks};
}

static inline entry entry_at(const loading *l, const spmv_some_entries *has, int64_t k, int half) {
    const double a = has->values ? has->values[k] : 1;
    if (!half) return (entry){has->row[k], has->col[k], a};
    return (entry){has->col[k], has->row[k], l->head.symmetry == SPMV_SKEW_SYMMETRIC ? -a : a};
}

/* Calls `use` for each entry and each transposed entry. Returns false if `use` refuses an entry;
 * the next call resumes with that entry. */
static inline __attribute__((always_inline)) bool
each_entry(walk *w, void *arg, bool (*use)(walk *w, void *arg, const entry *e)) {
    const bool mirrored = w->l->head.symmetry != SPMV_GENERAL;
    while (w->chunk) {
        const spmv_some_entries has = w->chunk->has;
        for (; w->k < has.n; w->k++, w->half = 0)
            for (; w->half <= (mirrored && has.row[w->k] != has.col[w->k]); w->half++) {
                const entry e = entry_at(w->l, &has, w->k, w->half);
                if (!use(w, arg, &e)) return false;
            }
        spmv_chunk *done = w->chunk;
        w->chunk = done->next;
        w->k = 0;
        if (w->frees) free(done);
    }
    return true;
}

static inline int owner_of(walk *w, int64_t row) {
    return w->owner[w->half] = ranks_owner(w->first, w->l->ranks->size, row, w->owner[w->half]);
}

static inline uint64_t hash_of(const entry *e) {
    uint64_t bits, h = (uint64_t)(uint32_t)e->row << 32 | (uint32_t)e->col;
    memcpy(&bits, &e->value, sizeof bits);
    h = (h * 0x9e3779b97f4a7c15u) ^ (h >> 31) ^ bits;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

void ranks_chunks_free(spmv_chunk *c) {
    for (spmv_chunk *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

/* ---- what rows have ------------------------------------------------------------------------- */

static bool post_run(walk *w, ranks_boxes *boxes, const run *r) {
    const int owner = owner_of(w, r->row);
    if (owner != w->l->ranks->rank) return ranks_put(boxes, owner, r);
    w->l->ptr[r->row - own_even(w->l) + 1] += r->n;
    return true;
}

static bool count_entry(walk *w, void *arg, const entry *e) {
    run *last = &w->last[w->half];
    if (last->n && last->row == e->row && last->n < INT32_MAX) {
        last->n++;
        return true;
    }
    if (last->n && !post_run(w, arg, last)) return false;
    *last = (run){e->row, 1};
    return true;
}

static bool send_runs(void *arg, ranks_boxes *boxes) {
    walk *w = arg;
    if (!each_entry(w, boxes, count_entry)) return true;
    for (w->half = 0; w->half < 2; w->half++) {
        run *last = &w->last[w->half];
        if (last->n && !post_run(w, boxes, last)) return true;
        last->n = 0;
    }
    w->half = 0;
    return false;
}

static void take_runs(void *arg, int from, const void *items, int64_t n) {
    const loading *l = ((const walk *)arg)->l;
    const run *r = items;
    (void)from;
    for (int64_t k = 0; k < n; k++) l->ptr[r[k].row - own_even(l) + 1] += r[k].n;
}

spmv_status ranks_count_rows(loading *l) {
    walk w = walk_of(l, l->even);
    const ranks_shuffle runs = {sizeof(run), send_runs, take_runs, &w};
    return ranks_shuffle_all(l->ranks, &runs);
}

/* ---- entries to the ranks that own their rows ------------------------------------------------ */

static bool count_owner(walk *w, void *arg, const entry *e) {
    int64_t *count = arg;
    count[owner_of(w, e->row)]++;
    return true;
}

static inline void append(loading *l, int from, const entry *e) {
    const int64_t at = l->next[from]++;
    l->own.row[at] = (int32_t)(e->row - l->first_row[l->ranks->rank]);
    l->own.col[at] = e->col;
    l->own.value[at] = e->value;
}

static bool send_entry(walk *w, void *arg, const entry *e) {
    const int owner = owner_of(w, e->row), me = w->l->ranks->rank;
    if (owner == me) {
        append(w->l, me, e);
        return true;
    }
    if (!ranks_put(arg, owner, e)) return false;
    w->l->sent += hash_of(e);
    return true;
}

static bool send_entries(void *arg, ranks_boxes *boxes) {
    return !each_entry(arg, boxes, send_entry);
}

static void take_entries(void *arg, int from, const void *items, int64_t n) {
    loading *l = ((walk *)arg)->l;
    const entry *e = items;
    for (int64_t k = 0; k < n; k++) {
        append(l, from, &e[k]);
        l->got += hash_of(&e[k]);
    }
}

spmv_status ranks_own_alloc(loading *l, int64_t n) {
    ranks_own *own = &l->own;
    own->n = n;
    own->row = spmv_rows_take(l->ranks->ctx, ((size_t)n + 1) * sizeof *own->row);
    own->col = spmv_rows_take(l->ranks->ctx, ((size_t)n + 1) * sizeof *own->col);
    own->value = spmv_rows_take(l->ranks->ctx, ((size_t)n + 1) * sizeof *own->value);
    return own->row && own->col && own->value ? SPMV_OK
                                              : ranks_no_memory(l->ranks, "entries of own rows");
}

/* Checks by sums of hashes that every entry sent has arrived unchanged. */
static spmv_status compare(loading *l) {
    spmv_ranks *ranks = l->ranks;
    const uint64_t mine[2] = {l->sent, l->got};
    uint64_t(*all)[2] = malloc((size_t)ranks->size * sizeof *all), sent = 0, got = 0;
    spmv_status status = ranks_agree_memory(ranks, all, "sums");
    if (status == SPMV_OK) status = ranks->by->gather(ranks->state, mine, sizeof mine, all);
    for (int r = 0; r < ranks->size && status == SPMV_OK; r++) sent += all[r][0], got += all[r][1];
    free(all);
    if (status != SPMV_OK || sent == got) return status;
    return ranks_fail(ranks, SPMV_E_DEVICE, "entries were lost or changed between ranks");
}

spmv_status ranks_send_entries(loading *l) {
    spmv_ranks *ranks = l->ranks;
    const int size = ranks->size;
    int64_t n = 0;
    walk counts = walk_of(l, l->first_row), w = counts;
    memset(l->each, 0, (size_t)size * sizeof *l->each);
    l->sent = l->got = 0;
    each_entry(&counts, l->each, count_owner);
    for (int r = 0; r < 2 * size; r++) l->bytes[r] = sizeof *l->each;
    spmv_status status = ranks->by->deal(ranks->state, l->each, l->bytes, l->next, l->bytes + size);
    for (int r = 0; r < size && status == SPMV_OK; r++) {
        const int64_t count = l->next[r];
        l->next[r] = n;
        n += count;
    }
    if (status == SPMV_OK) status = ranks_own_alloc(l, n);
    status = ranks_agree(ranks, status);
    if (status != SPMV_OK) return status;
    w.frees = true;
    l->chunks = NULL;
    const ranks_shuffle entries = {sizeof(entry), send_entries, take_entries, &w};
    status = ranks_shuffle_all(ranks, &entries);
    ranks_chunks_free(w.chunk);
    return status == SPMV_OK ? compare(l) : status;
}

/* ---- rows of them ---------------------------------------------------------------------------- */

spmv_status ranks_build_rows(loading *l, spmv_some_rows *out) {
    const int me = l->ranks->rank;
    const spmv_coo_view A = {.size = sizeof A,
                             .rows = l->first_row[me + 1] - l->first_row[me],
                             .cols = l->head.cols,
                             .nnz = l->own.n,
                             .row = l->own.row,
                             .col = l->own.col,
                             .values = l->own.value};
    const spmv_status status = spmv_rows_build(l->ranks->ctx, &A, l->first_row[me], out);
    return ranks_agree_on_file(l->ranks, ranks_ctx_failed(l->ranks, status));
}

void ranks_loaded_free(spmv_ranks *ranks, ranks_loaded *l) {
    ranks_rows_free(ranks, &l->rows);
    ranks_rows_free(ranks, &l->pieces);
    ranks_own_free(ranks, &l->own);
    free(l->number);
    free(l->split);
    free(l->owner);
    *l = (ranks_loaded){0};
}

void ranks_own_free(spmv_ranks *ranks, ranks_own *own) {
    spmv_rows_give(ranks->ctx, own->row);
    spmv_rows_give(ranks->ctx, own->col);
    spmv_rows_give(ranks->ctx, own->value);
    *own = (ranks_own){0};
}

void ranks_rows_free(spmv_ranks *ranks, spmv_some_rows *rows) {
    spmv_rows_give(ranks->ctx, rows->row_ptr);
    spmv_rows_give(ranks->ctx, rows->col_idx);
    spmv_rows_give(ranks->ctx, rows->values);
    *rows = (spmv_some_rows){0};
}
