/* propose.c: proposes OpenMP kernels for a matrix. Computes the terms of each kernel's cost per
 * nonzero; cost.def has the factors. Only ratios of costs are used: if the products pay for trials,
 * the costs order the candidates, which are timed; otherwise the costs decide. */
#include "spmv_kernel.h"
#include "spmv_propose.h"
#include <math.h>

static const spmv_cost costs[] = {
#define COST(name, step, setup) {#name, step, setup},
#include "cost.def"
#undef COST
};

enum { INDEX = sizeof(int32_t), PERCENT = 100, LINE = 64 /* LINE: bytes of a cache line */ };

typedef struct model { /* per nonzero, except width */
    const spmv_features *f;
    double width;          /* bytes of a value */
    double far;            /* share of nonzeros whose x misses the near caches */
    double z;              /* bytes of y, fetched and written */
    double y;              /* bytes per row: z and the offset of the row */
    double rows;           /* rows whose ends are mispredicted, or that are moved by sorting, per
                              nonzero */
    double k;              /* vectors per product */
    bool in_rows;          /* the vectors are several and in rows */
    double setup_products; /* time of the shortest usual set-up, in products of k vectors */
    spmv_proposals *out;
} model;

/* Work of a kernel per nonzero. */
typedef struct work {
    double bytes; /* bytes of the matrix and of y */
    double waits; /* far reads of x, mispredicted ends of rows, moved rows */
    double steps;
} work;

/* The way in which a kernel multiplies several vectors. */
typedef enum manner {
    ONE_BY_ONE, /* the matrix is read once per vector, or takes as long as if it were */
    IN_CHUNKS   /* chunks of the matrix stay in a cache for several vectors */
} manner;

/* Computes the common terms. Columns within 2^16 of those of neighbouring rows count as near, and
 * so does all of x if a core's near cache holds it and does not start empty (each thread reads all
 * of x). If rows have almost equal lengths, few ends are mispredicted, and sorting moves few
 * rows. */
static model model_of(const spmv_features *f, spmv_proposals *out) {
    const double near_cache = 1 << 20; /* bytes of a core's private cache */
    model m = {.f = f, .width = spmv_value_bytes(f), .out = out};
    bool is_far = f->evicted || m.width * (double)f->cols > near_cache;
    m.far = is_far ? f->lines * (1 - f->near_16) : 0;
    m.z = 2 * m.width / f->mean;
    m.y = INDEX / f->mean + m.z;
    m.rows = fmin(2 * f->padding_32, 1) * (1 - f->empty_share) / f->mean;
    m.k = fmax(1, (double)f->vectors);
    m.in_rows = f->vectors > 1 && f->layout == SPMV_ROWS;
    m.setup_products = 6;
    return m;
}

/* Bytes equivalent to the time of transposing one element between columns and rows. This factor,
 * `kept` and `per_line` minimize the loss of choices, 6 % in the mean on 14 matrices, two to 16
 * vectors, two cores. */
static const double relayout_bytes = 28;

/* Returns the bytes equivalent to one wait: fewer if more threads share the memory, because each
 * thread waits as long as before, but receives fewer bytes in that time. */
static double wait_bytes(const model *m) {
    return 100 / fmax(m->f->threads, 2);
}

static const double step_bytes = 8;

/* Returns the work of all k vectors in columns for a kernel with work w per vector. Parts of the
 * matrix that a cache keeps are read faster than from memory. */
static work of_all(const model *m, manner how, work w) {
    const double k = m->k, panels = ceil(k / SPMV_PANEL_VECTORS), kept = 0.2;
    const double reads = how == ONE_BY_ONE ? k : panels + kept * (k - panels);
    return (work){reads * (w.bytes - m->z) + k * m->z, k * w.waits, k * w.steps};
}

/* Proposes a kernel that multiplies in columns; vectors in rows are transposed before and after. */
static spmv_proposal *propose(const model *m, const char *kernel, manner how, work w) {
    const spmv_features *f = m->f;
    const work all = of_all(m, how, w);
    const double turned = m->in_rows ? m->k * (double)(f->rows + f->cols) / (double)f->nnz : 0;
    const double term[] = {all.bytes + wait_bytes(m) * all.waits + relayout_bytes * turned,
                           step_bytes * all.steps};
    return spmv_propose_cost(m->out, costs, kernel, term, m->setup_products);
}

/* Proposes csr_balanced, which reads the matrix once for all vectors, or once per panel of columns,
 * whose x is transposed to rows. A nonzero loads the cache lines of its row of x, which is far more
 * often because fewer columns share a line. */
static spmv_proposal *propose_rows(const model *m) {
    const spmv_features *f = m->f;
    const work one = {m->width + INDEX + m->y, m->far + 2 * m->rows, 1};
    if (m->k == 1) return propose(m, "csr_balanced", ONE_BY_ONE, one);
    const double turned_at_a_time =
        SPMV_PANEL_VECTORS * fmin(2, 1 + (double)f->rows / (double)f->cols);
    const double most = m->in_rows ? 4 * LINE / m->width : floor(turned_at_a_time);
    const double panels = ceil(m->k / most), columns = fmin(m->k, most);
    const double lines = ceil(columns * m->width / LINE), per_line = 1;
    const double far = fmin(1, columns * m->far);
    const double turned = m->in_rows ? 0 : m->k * (double)f->cols / (double)f->nnz;
    const double bytes = panels * (one.bytes - m->z) + m->k * m->z + relayout_bytes * turned;
    const double term[] = {bytes + wait_bytes(m) * panels * (lines * far + 2 * m->rows),
                           step_bytes * panels * (1 + per_line * lines)};
    return spmv_propose_cost(m->out, costs, "csr_balanced", term, m->setup_products);
}

static void set(spmv_proposal *p, const char *name, int64_t value) {
    p->setting[p->nsettings++] = (spmv_setting){name, value};
}

static bool is_symmetric(const spmv_features *f) {
    return f->symmetric == 1 && f->rows == f->cols;
}

/* Returns 1 if storing half of a symmetric matrix halves its bytes; 2 if caches keep the matrix
 * between products, because fewer bytes then save nothing. */
static double halves_of(const model *m) {
    const spmv_features *f = m->f;
    const bool is_kept = !f->evicted && (m->width + INDEX) * (double)f->nnz < (double)f->cache;
    return is_kept ? 2 : 1;
}

/* Adds the cost of windows: for half a symmetric matrix each thread adds to rows before its own in
 * a window, which is fetched and written like y. If all windows would exceed the limit of
 * omp/symmetric/mirror.h, half of the threads have no rows. */
static work with_windows(const spmv_features *f, double width, work w) {
    const double most = (double)f->rows + (double)f->nnz / 4, each = f->reach * (double)f->rows;
    double busy = f->threads;
    while (busy > 1 && (busy - 1) * each > most) busy = ceil(busy / 2);
    const double idle = f->threads / busy;
    w.bytes += 2 * width * (busy - 1) * each / (double)f->nnz;
    return (work){idle * w.bytes, idle * w.waits, idle * w.steps};
}

/* Proposes csell. Slices without common diagonals are gathered entry by entry; if rows differ in
 * length, most lanes idle. On a diagonal a nonzero takes less time the more of the 32 rows the step
 * has, but expanding its value takes some. A slice that repeats an earlier one is copied, which
 * shortens the set-up if columns take few bytes. Entries not represented by the sample count as
 * incompressible. Half a symmetric matrix reads y twice, and adds entries that are on no diagonal
 * one by one. */
static void propose_csell(const model *m) {
    const double mostly = 0.5;
    const spmv_features *f = m->f;
    const double index = f->seen * f->index_bytes + (1 - f->seen) * INDEX,
                 diagonal = f->seen * f->diagonal, bytes = index + fmin(f->value_bytes, m->width);
    work w = {bytes + m->y, m->far,
              0.4 * diagonal * (1 + f->index_bytes) + (1 - diagonal) * (1 + f->padding_32)};
    spmv_proposal *p = propose(m, "csell_slices", IN_CHUNKS, w);
    p->predicted_setup *= 1 - f->seen * (1 - fmin(2 * f->index_bytes, 1));
    spmv_proposal_why(
        p,
        "%.0f %% of the nonzeros on diagonals of their slice, %.1f bytes per nonzero instead of %g",
        PERCENT * diagonal, bytes, m->width + INDEX);
    if (!is_symmetric(f) || diagonal < mostly) return;
    w.bytes = halves_of(m) * (1 + 1 / f->mean) / 2 * bytes + 2 * m->y;
    w = with_windows(f, m->width, w);
    spmv_proposal_why(propose(m, "csell_sym_slices", ONE_BY_ONE, w),
                      "symmetric as far as seen, %.0f %% on diagonals: half of it stored",
                      PERCENT * diagonal);
}

/* Proposes sell16. sigma: rows per sorting window. If lengths differ much, a larger window puts
 * more equal rows into a slice, which makes graphs 3 to 10 % faster; with 8192 the x of a window of
 * near columns exceeds the L1 cache, and circuits take 1.4 to 1.7 times as long. */
static void propose_sell(const model *m) {
    const spmv_features *f = m->f;
    const int64_t sigma = f->cv > 1 ? 4096 : 1024;
    const double near = f->cols <= 1 << 16 ? 1 : f->near_16,
                 bytes = 2 * near + INDEX * (1 - near) + spmv_coded_bytes(f);
    const work w = {bytes + m->z, m->far + m->rows, 1}; /* without row_ptr */
    spmv_proposal *p = propose(m, "sell16_lanes", IN_CHUNKS, w);
    spmv_proposal_why(p,
                      "rows of %.1f nonzeros, deviation %.0f %%, about %.1f bytes per nonzero "
                      "instead of %g",
                      f->mean, PERCENT * f->cv, bytes, m->width + INDEX);
    set(p, "sigma", sigma);
}

/* Proposes spc5. A row of a block takes the same time for any number of nonzeros; a block has a
 * column index and a byte of mask per row. */
static void propose_spc5(const model *m) {
    const spmv_features *f = m->f;
    int best = 0;
    double bytes[3];
    for (int k = 0; k < 3; k++) {
        bytes[k] = (INDEX + (1 << k)) / f->per_block[k];
        if (bytes[k] < bytes[best]) best = k;
    }
    const work w = {m->width + bytes[best] + m->y, m->far + 2 * m->rows, 1 / f->per_block[0]};
    spmv_proposal_why(propose(m, "spc5_rows", ONE_BY_ONE, w), "%.1f nonzeros in a block of %d x 8",
                      f->per_block[best], 1 << best);
}

/* Proposes bsr. The x of a block is a single load. Emptier blocks lose more than predicted. */
static void propose_blocks(const model *m) {
    const double full = 0.8;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2;
    const double fill = fmax(f->fill_2, f->fill_3),
                 stored = m->width + INDEX / (double)(side * side);
    if (fill < full) return;
    const work w = {stored / fill + m->y, m->far / (double)side, 1 / fill};
    spmv_proposal *p = propose(m, "bsr_lanes", ONE_BY_ONE, w);
    spmv_proposal_why(p, "blocks of %lld x %lld, %.0f %% full", (long long)side, (long long)side,
                      PERCENT * fill);
    set(p, "shape_rows", side);
    set(p, "shape_cols", side);
}

/* Proposes sss. Each entry is added twice, and y is read again. */
static void propose_sss(const model *m) {
    const spmv_features *f = m->f;
    if (!is_symmetric(f)) return;
    work w = {halves_of(m) * (m->width + INDEX) / 2 + 2 * m->y, 2 * m->far + m->rows, 1};
    w = with_windows(f, m->width, w);
    spmv_proposal_why(propose(m, "sss_rows", ONE_BY_ONE, w),
                      "symmetric as far as seen: half of it stored");
}

/* Proposes csb_interleaved. A core's cache holds x and y of a block, so that no read of x is far,
 * but y is updated in every block. Ends of rows cost nothing either: if rows are short and of
 * unequal length, a trial is worthwhile even if x is near. */
static void propose_csb(const model *m) {
    const double bytes = spmv_coded_bytes(m->f) + INDEX;
    const work w = {bytes + 2 * m->y, 0, 1};
    spmv_proposal_why(propose(m, "csb_interleaved_blocks", ONE_BY_ONE, w),
                      "%.1f bytes per nonzero, and no wait for one of %.2f far lines of x and %.2f "
                      "ends of rows",
                      bytes, m->far, m->rows);
}

/* Proposes rows in another order if far more of them then read the same columns: by a walk if that
 * finds more than their ends do. Of the far reads of x those are left that windows of 32 rows do
 * not share; a row of y, which lies anywhere, costs half a wait. */
static void propose_ordered(const model *m) {
    enum { ENDS = 1, RCM = 3, WINDOW = 1 }; /* values of the parameter; windows of 32 rows */
    const double much = 1.3, walks = 1.15, ends_setup = 40, walk_setup = 150;
    const spmv_features *f = m->f;
    const bool by_walk = f->shared_by_walk[0] > walks * f->shared_by_ends[0];
    const double *shared = by_walk ? f->shared_by_walk : f->shared_by_ends;
    const double waits_of_y = 0.5 / f->mean;
    if (m->k > 1 || m->far == 0 || f->shared[0] == 0 || shared[0] < much * f->shared[0]) return;
    const double far = m->far * fmin(1, f->shared[WINDOW] / shared[WINDOW]) + waits_of_y;
    const double setup = by_walk ? walk_setup : ends_setup, order = INDEX / f->mean;
    const work rows = {m->width + INDEX + m->y + order, far + 2 * m->rows, 1};
    const double sell_bytes = 2 * f->near_16 + INDEX * (1 - f->near_16) + spmv_coded_bytes(f);
    const work slices = {sell_bytes + m->z + order, far + m->rows, 1};
    for (int k = 0; k < 2; k++) {
        spmv_proposal *p = propose(m, k == 0 ? "csr_balanced" : "sell16_lanes",
                                   k == 0 ? ONE_BY_ONE : IN_CHUNKS, k == 0 ? rows : slices);
        p->predicted_setup += setup;
        spmv_proposal_why(
            p, "rows grouped by %s: %.1f nonzeros per column of 8 rows instead of %.1f",
            by_walk ? "reverse Cuthill-McKee" : "first and last columns", shared[0], f->shared[0]);
        set(p, "order", by_walk ? RCM : ENDS);
    }
}

/* Returns the time of one csr_balanced product of all vectors, in csr_balanced products of one
 * vector. */
static double products_of_one(const model *m) {
    spmv_proposals one = {.n = 0}, all = {.n = 0};
    model single = *m, several = *m;
    single.k = 1, single.in_rows = false;
    single.out = &one, several.out = &all;
    return propose_rows(&single)->predicted_speedup / propose_rows(&several)->predicted_speedup;
}

/* Returns whether a plain loop over rows is best, without sampling: few rows, kept by caches, none
 * of which delays the other threads, and one vector. */
static bool is_plain(const spmv_features *f) {
    enum { FEW = 1 << 16, SHARES = 8 };
    return !f->sampled && f->vectors <= 1 && f->nnz + f->rows < FEW &&
           f->row_max * SHARES <= f->nnz;
}

void spmv_propose_omp(const spmv_features *f, spmv_proposals *out) {
    enum { FEW = 4000 };
    model m = model_of(f, out);
    double one_by_one = 1; /* relative speed of a kernel that reads the matrix once per vector */
    spmv_proposal baseline = {.kernel = "csr_balanced"};
    out->baseline = out->baseline_s = 0;
    if (f->nnz) {
        const double products = products_of_one(&m);
        one_by_one = products / m.k;
        m.setup_products /= products;
        baseline = *propose_rows(&m);
        out->baseline = 1 / baseline.predicted_speedup, out->n = 0;
        if (f->sampled) { /* otherwise only row lengths are known */
            propose_csell(&m);
            propose_sell(&m);
            propose_spc5(&m);
            propose_blocks(&m);
            propose_sss(&m);
            propose_csb(&m);
            propose_ordered(&m);
        }
        spmv_propose_kernel(out, "csr_rows", 0, one_by_one, "rows in equal shares");
    }
    if (f->nnz < FEW && f->rows < FEW) /* faster than waking the threads */
        spmv_propose_kernel(out, "csr_serial", 0, 2 * one_by_one, "%lld nonzero%s",
                            (long long)f->nnz, f->nnz == 1 ? "" : "s");
    if (is_plain(f)) spmv_propose_kernel(out, "csr_rows", 0, 0, "few rows, and short ones");
    baseline.predicted_speedup = 0;
    spmv_proposal_why(&baseline, "compressed rows in equal shares of nonzeros");
    out->list[out->n++] = baseline;
    spmv_propose_kernel(out, "csr_rows", 0, 0, "rows in equal shares");
}
