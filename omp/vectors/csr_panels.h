/* csr_panels.h: csr_balanced with several vectors: which columns form a panel, how its x is read,
 * and how the chunks of all shares multiply it. csr_vectors.h multiplies a chunk. */
#pragma once

#include "csr_vectors.h"
#include "omp/backend.h"
#include "omp/csr/csr_shares.h"

enum { WINDOW_COLUMNS = 64 / sizeof(real) }; /* columns of x transposed at a time: a cache line */
typedef struct window {                      /* rows first, ..., end - 1 of x */
    int64_t first, end;
} window;

/* Describes a product of several vectors; a plan's scratch begins with this struct. */
typedef struct panels {
    shares cut;
    bool has_windows; /* each chunk transposes the columns of x that it needs */
    window window[MOST_SHARES];
    bool jumps; /* many entries are far from their predecessor, and not cached */
    bool near;  /* consecutive rows have near columns */
    bool far;   /* rows are long, and no last-level cache could keep the matrix */
} panels;

/* Samples rows: whether an entry is in another cache line of x than the previous entry, and whether
 * it is near the entry of equal rank some rows before, so that x is read in streams. If the
 * elements of these streams are read often, most are cached. */
static void sample_rows(const csr *A, panels *t) {
    enum { SOME = 1 << 12, BESIDE = 8, APART = 8, NEAR = 1 << 12, OFTEN = 10 };
    const int64_t step = A->s.rows / SOME + 1;
    int64_t entries = 0, jumps = 0, near = 0;
    for (int64_t i = APART; i < A->s.rows; i += step) {
        const int64_t begin = A->row_ptr[i], n = A->row_ptr[i + 1] - begin;
        const int64_t before = A->row_ptr[i - APART], m = A->row_ptr[i - APART + 1] - before;
        for (int64_t k = 0; k < n && k < SOME; k++) {
            const int64_t col = A->col_idx[begin + k];
            const int64_t other = m > 0 ? A->col_idx[before + (k < m ? k : m - 1)] : col + NEAR;
            jumps += k == 0 || col - A->col_idx[begin + k - 1] > BESIDE;
            near += col - other < NEAR && other - col < NEAR;
            entries++;
        }
    }
    t->near = 8 * near > 7 * entries;
    t->jumps = 4 * jumps > entries && !(t->near && A->s.nnz >= OFTEN * A->s.cols);
}

/* Returns the elements of the plan's panel that each thread may use, in whole cache lines. */
static int64_t room_apart(const spmv_plan *p, int64_t nshares) {
    enum { LINE = 64 / sizeof(real) };
    return SPMV_PANEL_VECTORS * (p->cols + p->rows) / nshares / LINE * LINE;
}

static window window_of(const csr *A, const share *part) {
    idx first = part->k < part->end ? A->col_idx[part->k] : 0, last = first;
    for (int64_t k = part->k; k < part->end; k++) {
        first = A->col_idx[k] < first ? A->col_idx[k] : first;
        last = A->col_idx[k] > last ? A->col_idx[k] : last;
    }
    return (window){first, part->k < part->end ? (int64_t)last + 1 : first};
}

/* Finds the window (range of columns) of each chunk. Windows pay off if they overlap little, as for
 * grids, roads and bands. */
static void find_windows(const spmv_plan *p, const csr *A, int64_t nshares, panels *t) {
    enum { MOST_TIMES = 3 }; /* mean number of windows that contain a column */
    const int64_t chunks = nshares * t->cut.per_share;
    int64_t all = 0, widest = 0;
#pragma omp parallel for num_threads((int)nshares) schedule(dynamic, 1)
    for (int64_t c = 0; c < chunks; c++) {
        const share part = chunk_of(&t->cut, A, c);
        t->window[c] = window_of(A, &part);
    }
    for (int64_t c = 0; c < chunks; c++) {
        const int64_t width = t->window[c].end - t->window[c].first;
        all += width;
        if (width > widest) widest = width;
    }
    t->has_windows = t->cut.per_share > 1 && all <= MOST_TIMES * A->s.cols &&
                     widest * WINDOW_COLUMNS <= room_apart(p, nshares);
}

/* Chooses how several vectors are multiplied; the shares are known. */
static void make_panels(const spmv_plan *p, const csr *A, int64_t nshares, panels *t) {
    const double LAST_CACHE = 1 << 24; /* bytes: more than a core's part of it anywhere */
    sample_rows(A, t);
    t->has_windows = false;
    if (t->near && p->vectors > DIRECT && p->layout == SPMV_COLUMNS) find_windows(p, A, nshares, t);
    t->far = A->s.nnz >= LONG_ROW * A->s.rows &&
             (double)A->s.nnz * (sizeof(real) + sizeof(idx)) > LAST_CACHE * (double)nshares;
}

/* ---- products -------------------------------------------------------------------------------- */

enum { CARRIED_BYTES = 1 << 14 }; /* bytes on the stack, for all shares together */

static panel panel_of(const spmv_plan *p, const spmv_operands *v) {
    return (panel){.A = (const csr *)p->store,
                   .order = p->store->order,
                   .x = v->x,
                   .y = v->beta == 0 ? v->z : v->y, /* y is not read if beta = 0 */
                   .z = v->z,
                   .ldx = v->ldx,
                   .ldy = v->beta == 0 ? v->ldz : v->ldy,
                   .ldz = v->ldz,
                   .alpha = (real)v->alpha,
                   .beta = (real)v->beta};
}

/* Adds the carries of rows that end in later shares, in order, so that results are reproducible. */
static void add_carried(const panels *t, int64_t nshares, const panel *p, const real *carried) {
    for (int64_t s = 0; s < nshares; s++, carried += p->columns) {
        const int64_t row = t->cut.share[s].begun;
        const int64_t to = row >= 0 ? place_in(p, row) : row;
        for (int c = 0; row >= 0 && c < p->columns; c++) {
            real *z = p->z + (p->in_columns ? c * p->ldz + to : to * p->ldz + c);
            *z = added(p->alpha, carried[c], *z, PORTABLE_FUSES);
        }
    }
}

/* The product of a panel, for the functions that multiply a chunk. */
typedef struct one_panel {
    const panel *all;
    const panels *panels;
    real *carried;            /* [shares][columns of the panel] carries */
    panel_function *multiply; /* not for multiply_rows */
    int most;                 /* multiply_rows: columns at a time */
    int64_t isa;              /* multiply_rows: instruction set */
    real *turned;             /* multiply_window: `apart` elements per thread */
    int64_t apart;
} one_panel;

/* Returns the address for the carry of a chunk, from `column` on: of its share if the share ends
 * with the chunk, otherwise `nothing`, which is never read. */
static real *carried_of(const one_panel *one, int64_t chunk, int column, real *nothing) {
    const int64_t s = share_ended(&one->panels->cut, chunk);
    return s >= 0 ? one->carried + s * one->all->columns + column : nothing;
}

static void multiply_panel(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const share part = chunk_of(&one->panels->cut, one->all->A, chunk);
    real nothing[MOST_COLUMNS];
    one->multiply(one->all, &part, carried_of(one, chunk, 0, nothing));
}

static void run_panel(int64_t nshares, one_panel job, chunk_function *multiply) {
    real carried[CARRIED_BYTES / sizeof(real)];
    job.carried = carried;
    multiply_chunks(&job.panels->cut, nshares, multiply, &job);
    add_carried(job.panels, nshares, job.all, carried);
}

static bool is_beyond(double bytes, int64_t nshares) {
    const double near_cache = 1 << 20; /* bytes of a core's private cache */
    return bytes > near_cache * (double)nshares;
}

/* Chooses what the functions of a panel prefetch. x_bytes: size of its columns of x. */
static void choose_prefetch(const panels *t, panel *p, double x_bytes) {
    p->prefetches_entries = t->far;
    p->prefetches_x = t->jumps && is_beyond(x_bytes, 1);
}

/* Returns whether rows of z are written by non-temporal stores: if caches could not keep them, and
 * rows are whole aligned vectors without gaps. */
static bool may_stream(const panel *p, int64_t nshares, int64_t isa) {
    enum { LINE = 64 };
    const size_t vector = vector_bytes(isa), row = (size_t)p->columns * sizeof(real);
    return vector > 0 && !p->order && row >= LINE && row % vector == 0 && p->beta == 0 &&
           p->ldz == p->columns && (uintptr_t)p->z % vector == 0 &&
           is_beyond((double)p->A->s.rows * p->columns * sizeof(real), nshares);
}

/* Returns the function that writes columns of z by non-temporal stores; NULL: caches keep z. */
static put_lines_function *past_caches(const panel *all, int64_t nshares, int64_t isa) {
    const double bytes = (double)all->A->s.rows * all->columns * sizeof(real);
    const bool may = all->beta == 0 && !all->order && (uintptr_t)all->z % sizeof(real) == 0;
    return may && is_beyond(bytes, nshares) ? way_past(isa) : NULL;
}

static int least(int64_t a, int64_t b) {
    return (int)(a < b ? a : b);
}

/* Returns the part of the share from row `first` on that a private cache keeps, in whole rows. */
static share next_rows(const csr *A, const share *s, int64_t first) {
    enum { KEPT = 1 << 14 }; /* entries */
    share part = *s;
    part.first = first;
    if (first > s->first) part.k = A->row_ptr[first];
    int64_t low = first + 1, high = s->last;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (A->row_ptr[middle] - part.k < KEPT)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < s->last) part.last = low, part.end = A->row_ptr[low];
    return part;
}

/* Multiplies a chunk by all columns: each group of rows by one panel after the other, so that the
 * group and its x stay in a cache. */
static void multiply_rows(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const panel *all = one->all;
    const share whole = chunk_of(&one->panels->cut, all->A, chunk);
    real nothing[MOST_COLUMNS];
    share part;
    int64_t first = whole.first;
    do {
        part = next_rows(all->A, &whole, first);
        panel some = *all;
        for (int j = 0; j < all->columns; j += some.columns) {
            some.columns = least(one->most, all->columns - j);
            some.x = all->x + j, some.y = all->y + j, some.z = all->z + j;
            rows_function(one->isa, &some)(&some, &part, carried_of(one, chunk, j, nothing));
        }
        first = part.last;
    } while (first < whole.last);
}

static spmv_status run_rows(const spmv_plan *p, const spmv_operands *v) {
    real carried[CARRIED_BYTES / sizeof(real)];
    const panels *t = p->scratch;
    const int64_t nshares = shares_of(p), isa = p->choice.value[SPMV_isa];
    const int together = CARRIED_BYTES / (int)sizeof(real) / (int)nshares;
    const int most = least(most_columns(isa), together);
    panel all = panel_of(p, v);
    const one_panel one = {.all = &all, .panels = t, .most = most, .isa = isa, .carried = carried};
    choose_prefetch(t, &all, (double)p->cols * (double)v->k * sizeof(real));
    for (int64_t j = 0; j < v->k; j += all.columns) {
        all.columns = least(together, v->k - j);
        all.streams = all.columns == v->k && v->k <= most && may_stream(&all, nshares, isa);
        multiply_chunks(&t->cut, nshares, multiply_rows, &one);
        add_carried(t, nshares, &all, carried);
        all.x += all.columns, all.y += all.columns, all.z += all.columns;
    }
    return SPMV_OK;
}

/* Transposes the columns of x that a chunk needs, into the thread's part of the plan's panel, so
 * that the chunk finds them in a cache. */
static void multiply_window(const void *job, int64_t chunk) {
    const one_panel *one = job;
    const window *w = &one->panels->window[chunk];
    const share part = chunk_of(&one->panels->cut, one->all->A, chunk);
    panel some = *one->all;
    real nothing[MOST_COLUMNS], *rows = one->turned + omp_get_thread_num() * one->apart;
    const relayout t = {.m = some.columns,
                        .n = w->end - w->first,
                        .from = some.x + w->first,
                        .from_ld = some.ldx,
                        .to = rows,
                        .to_ld = some.columns};
    spmv_relayout_part(sizeof(real), &t, 0, 1);
    some.x = rows - w->first * some.columns;
    some.ldx = some.columns;
    one->multiply(&some, &part, carried_of(one, chunk, 0, nothing));
}

/* Multiplies some columns, read in place or transposed into the plan's panel. */
static spmv_status run_some(const spmv_plan *p, panel *all, real *turned) {
    const panels *t = p->scratch;
    const int64_t nshares = shares_of(p), isa = p->choice.value[SPMV_isa];
    panel some = *all;
    one_panel job = {.all = &some, .panels = t, .turned = turned, .apart = room_apart(p, nshares)};
    if (some.columns <= DIRECT && t->near) {
        job.multiply = direct_function(isa, some.columns);
        run_panel(nshares, job, multiply_panel);
        return SPMV_OK;
    }
    if (t->has_windows) {
        some.prefetches_entries = t->far;
        job.multiply = rows_function(isa, &some);
        run_panel(nshares, job, multiply_window);
        return SPMV_OK;
    }
    some.x = turned, some.ldx = some.columns;
    TRY(p->device->backend->turn(p->device, NULL, sizeof(real), some.columns, p->cols, all->x,
                                 all->ldx, turned, some.ldx));
    choose_prefetch(t, &some, (double)p->cols * some.columns * sizeof(real));
    job.multiply = rows_function(isa, &some);
    run_panel(nshares, job, multiply_panel);
    return SPMV_OK;
}

/* Returns how many columns are multiplied at a time: those whose x fits into the plan's panel, or a
 * cache line of each row of a window. */
static int columns_turned(const spmv_plan *p) {
    const panels *t = p->scratch;
    const int64_t room = SPMV_PANEL_VECTORS * (p->cols + p->rows);
    if (t->has_windows) return WINDOW_COLUMNS;
    return p->cols > 0 ? least(TURNED, room / p->cols) : TURNED;
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    const int64_t nshares = shares_of(p), carried = CARRIED_BYTES / (int64_t)sizeof(real) / nshares;
    const int most = least(columns_turned(p), carried);
    panel all = panel_of(p, v);
    all.in_columns = true;
    all.columns = least(INT32_MAX, v->k);
    all.past = past_caches(&all, nshares, p->choice.value[SPMV_isa]);
    for (int64_t j = 0; j < v->k; j += all.columns) {
        all.columns = least(most, v->k - j);
        TRY(run_some(p, &all, v->panel));
        all.x += all.columns * all.ldx, all.y += all.columns * all.ldy;
        all.z += all.columns * all.ldz;
    }
    return SPMV_OK;
}
