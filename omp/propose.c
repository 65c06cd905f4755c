/* propose.c: which OpenMP kernels should be fast on a matrix. It counts what a kernel waits for
 * per nonzero; cost.def says what that costs. Only ratios of these costs are used: where products
 * pay for trials they order the candidates, which are timed; otherwise they decide. */
#include "spmv_kernel.h"
#include "spmv_propose.h"
#include <math.h>

static const spmv_cost costs[] = {
#define COST(name, step, setup) {#name, step, setup},
#include "cost.def"
#undef COST
};

enum { INDEX = sizeof(int32_t), PERCENT = 100, LINE = 64 /* bytes of a cache line */ };

typedef struct model { /* all but the width per nonzero */
    const spmv_features *f;
    double width; /* bytes of a value */
    double far;   /* reads of x that no near cache answers */
    double z;     /* bytes of y, which is fetched and written */
    double y;     /* bytes of a row's own data: z, and where the row begins */
    double rows;  /* whose ends branch prediction misses, or that sorting by length moves */
    double k;     /* vectors that are multiplied at a time */
    bool in_rows; /* they, and there are several */
    double setup_products; /* of k vectors, that the shortest usual set-up takes */
    spmv_proposals *out;
} model;

/* Describes what a kernel does per nonzero. */
typedef struct work {
    double bytes; /* of the matrix and of y */
    double waits; /* for a far read of x, a mispredicted end of a row or one that moves */
    double steps;
} work;

/* Says how a kernel multiplies several vectors. */
typedef enum manner {
    ONE_BY_ONE, /* each reads the matrix, or takes as long as if it did */
    IN_CHUNKS   /* some after each other, while a cache has a chunk of the matrix */
} manner;

/* Columns within 2^16 of those of the rows around them count as near, and so does a whole x that
 * the near cache of a core holds, unless it starts empty: each thread reads all of x. Of rows of
 * almost equal length few ends are mispredicted, and sorting moves few rows. */
static model model_of(const spmv_features *f, spmv_proposals *out) {
    const double near_cache = 1 << 20; /* bytes of a core's own */
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

/* Where numbers of several vectors change their order, by columns or by rows, each takes as long as
 * so many bytes. This, `kept` and `per_line` are what choices on 14 matrices lose least with, two
 * to 16 vectors on two cores: 6 % in the mean. */
static const double turning_bytes = 28;

/* Waits are worth the fewer bytes the more threads share the memory: each thread waits as long as
 * before, but gets fewer bytes in that time. */
static double wait_bytes(const model *m) {
    return 100 / fmax(m->f->threads, 2);
}

static const double step_bytes = 8;

/* Says what a product of all vectors is, by a kernel that multiplies each as w says, in columns.
 * What a cache keeps of the matrix comes faster than from memory. */
static work of_all(const model *m, manner how, work w) {
    const double k = m->k, panels = ceil(k / SPMV_PANEL_VECTORS), kept = 0.2;
    const double reads = how == ONE_BY_ONE ? k : panels + kept * (k - panels);
    return (work){reads * (w.bytes - m->z) + k * m->z, k * w.waits, k * w.steps};
}

/* Vectors in rows are turned into columns, and back. */
static spmv_proposal *propose(const model *m, const char *kernel, manner how, work w) {
    const spmv_features *f = m->f;
    const work all = of_all(m, how, w);
    const double turned = m->in_rows ? m->k * (double)(f->rows + f->cols) / (double)f->nnz : 0;
    const double term[] = {all.bytes + wait_bytes(m) * all.waits + turning_bytes * turned,
                           step_bytes * all.steps};
    return spmv_propose_cost(m->out, costs, kernel, term, m->setup_products);
}

/* Compressed rows read the matrix once for all vectors, or once for each panel of columns, which
 * turn x into rows. A nonzero loads the lines that its row of x has, which is then far more often:
 * fewer columns share a line. */
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
    const double bytes = panels * (one.bytes - m->z) + m->k * m->z + turning_bytes * turned;
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

/* The halves that a half-stored symmetric matrix counts as: both where the caches keep the matrix
 * from product to product, since less to read saves nothing there. */
static double halves_of(const model *m) {
    const spmv_features *f = m->f;
    const bool is_kept = !f->evicted && (m->width + INDEX) * (double)f->nnz < (double)f->cache;
    return is_kept ? 2 : 1;
}

/* Where half of a symmetric matrix is stored, a thread adds what belongs to rows before its own to
 * a window, which is fetched and written like y. While all windows together would be longer than
 * omp/symmetric/mirror.h allows, half of the threads get no rows. */
static work with_windows(const spmv_features *f, double width, work w) {
    const double most = (double)f->rows + (double)f->nnz / 4, each = f->reach * (double)f->rows;
    double busy = f->threads;
    while (busy > 1 && (busy - 1) * each > most) busy = ceil(busy / 2);
    const double idle = f->threads / busy;
    w.bytes += 2 * width * (busy - 1) * each / (double)f->nnz;
    return (work){idle * w.bytes, idle * w.waits, idle * w.steps};
}

/* Slices without common diagonals are gathered entry by entry; where rows differ in length most
 * lanes wait. On a diagonal a nonzero takes the less time the more of the 32 rows the step holds,
 * but expanding its value takes some. A slice like an earlier one is copied, which shortens the
 * set-up where columns take few bytes. What the sample does not stand for is taken to be
 * incompressible. Storing half of a symmetric matrix reads y twice, and an entry on no diagonal is
 * added to y for itself. */
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

/* Rows are sorted by length, so many (sigma) at a time. Where lengths differ much a wider window
 * puts more equal rows into a slice, which makes graphs 3 to 10 % faster; with 8192 the x of a
 * window of near columns no longer fits the first cache, and circuits take 1.4 to 1.7 times as
 * long. */
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

/* A row of a block takes the same time however few nonzeros it holds; a block has a column and a
 * mask of a byte for each of its rows. */
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

/* A block's x is a single load. Blocks that are less full lose more than is predicted. */
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

/* Each entry is added twice, and y is read again. */
static void propose_sss(const model *m) {
    const spmv_features *f = m->f;
    if (!is_symmetric(f)) return;
    work w = {halves_of(m) * (m->width + INDEX) / 2 + 2 * m->y, 2 * m->far + m->rows, 1};
    w = with_windows(f, m->width, w);
    spmv_proposal_why(propose(m, "sss_rows", ONE_BY_ONE, w),
                      "symmetric as far as seen: half of it stored");
}

/* The cache of a core holds the x and y of a block, so that no read of x is far, at the price of
 * adding to y in every block. It does not wait for the ends of rows either: where rows are short
 * and of unequal length it is worth a trial, if there is time, also where x is near. */
static void propose_csb(const model *m) {
    const double bytes = spmv_coded_bytes(m->f) + INDEX;
    const work w = {bytes + 2 * m->y, 0, 1};
    spmv_proposal_why(propose(m, "csb_interleaved_blocks", ONE_BY_ONE, w),
                      "%.1f bytes per nonzero, and no wait for one of %.2f far lines of x and %.2f "
                      "ends of rows",
                      bytes, m->far, m->rows);
}

/* Products of a vector by csr_balanced that one of all vectors takes. */
static double products_of_one(const model *m) {
    spmv_proposals one = {.n = 0}, all = {.n = 0};
    model single = *m, several = *m;
    single.k = 1, single.in_rows = false;
    single.out = &one, several.out = &all;
    return propose_rows(&single)->predicted_speedup / propose_rows(&several)->predicted_speedup;
}

/* Says whether rows are best multiplied by a plain loop, and not even looked at: so few that caches
 * keep them, none of which keeps the other threads waiting, and of one vector. */
static bool is_plain(const spmv_features *f) {
    enum { FEW = 1 << 16, SHARES = 8 };
    return !f->sampled && f->vectors <= 1 && f->nnz + f->rows < FEW &&
           f->row_max * SHARES <= f->nnz;
}

void spmv_propose_omp(const spmv_features *f, spmv_proposals *out) {
    enum { FEW = 4000 };
    model m = model_of(f, out);
    double one_by_one = 1; /* how fast rows are that are read for each vector */
    spmv_proposal baseline = {.kernel = "csr_balanced"};
    out->baseline = out->baseline_s = 0;
    if (f->nnz) {
        const double products = products_of_one(&m);
        one_by_one = products / m.k;
        m.setup_products /= products;
        baseline = *propose_rows(&m);
        out->baseline = 1 / baseline.predicted_speedup, out->n = 0;
        if (f->sampled) { /* otherwise only the lengths of the rows are known */
            propose_csell(&m);
            propose_sell(&m);
            propose_spc5(&m);
            propose_blocks(&m);
            propose_sss(&m);
            propose_csb(&m);
        }
        spmv_propose_kernel(out, "csr_rows", 0, one_by_one, "rows in equal shares");
    }
    if (f->nnz < FEW && f->rows < FEW) /* takes less time than waking the threads */
        spmv_propose_kernel(out, "csr_serial", 0, 2 * one_by_one, "%lld nonzeros",
                            (long long)f->nnz);
    if (is_plain(f)) spmv_propose_kernel(out, "csr_rows", 0, 0, "few rows, and short ones");
    baseline.predicted_speedup = 0;
    spmv_proposal_why(&baseline, "compressed rows in equal shares of nonzeros");
    out->list[out->n++] = baseline;
    spmv_propose_kernel(out, "csr_rows", 0, 0, "rows in equal shares");
}
