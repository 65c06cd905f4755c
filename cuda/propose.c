/* propose.c: proposes CUDA kernels for a matrix; plain C, so that it is tested without a GPU.
 * Computes the traffic and the dependent steps of each kernel; cost.def has the costs, fitted to
 * the H200 logs in log/reference. The predicted times order the candidates and determine which fit
 * into the budget; if few products are expected, nothing is timed and the predictions decide. Only
 * formats with a builder on the GPU are proposed. */
#include "formats/xcache/xcache.h"
#include "spmv_propose.h"
#include <math.h>

static const spmv_cost costs[] = {
#define COST(name, idle, setup) {#name, idle, setup},
#include "cost.def"
#undef COST
};

enum { INDEX = sizeof(int32_t), WARP = 32, LONG = 128 /* csr_lanes.cu */, PERCENT = 100 };

typedef struct model {
    const spmv_features *f;
    double width;     /* bytes of a value */
    double nnz;       /* nonzeros */
    double vectors;   /* bytes of y, written and read, and of the offsets of rows */
    double csr;       /* bytes of compressed rows, including `vectors` */
    double entries;   /* bytes of the nonzeros in double precision: waiting and decoding take
                         equally long in single precision */
    double lines;     /* reads of x from another cache line than those of neighbouring rows */
    double k;         /* number of vectors per product */
    double packing_s; /* seconds to pack and unpack vectors */
    spmv_proposals *out;
} model;

/* traffic and latency of a product */
typedef struct work {
    double bytes;   /* bytes of the matrix and of y */
    double reads;   /* scattered reads of x */
    double longest; /* longest chain of dependent steps */
    double idle;    /* bytes that could be read while lanes idle or decode */
} work;

/* Returns the scattered reads of x per second, measured with random columns: from the L2 cache (of
 * which half is counted as close), or from memory. */
static double reads_per_s(const model *m) {
    const double second = 1.4e11, memory = 6e10;
    return 2 * m->width * (double)m->f->cols < (double)m->f->cache ? second : memory;
}

/* Returns the set-up cost of a format, in products of the baseline kernel once its time is known;
 * cost.def scales it. */
static double setup_of(const model *m) {
    const double start_s = 5e-5, entry_s = 3.5e-11;
    const double setup_s = start_s + m->nnz * entry_s, baseline_s = m->out->baseline_s;
    return baseline_s > 0 ? setup_s / baseline_s : setup_s;
}

static spmv_proposal *propose(const model *m, const char *kernel, work w) {
    const double launches_s = 5e-6, bytes_per_s = 4e12, step_s = 7e-8;
    const double moving_s = hypot(w.bytes / bytes_per_s, w.reads / reads_per_s(m));
    const double once_s = launches_s + moving_s + w.longest * step_s; /* per vector */
    const double term[] = {m->k * once_s + m->packing_s, m->k * w.idle / bytes_per_s};
    return spmv_propose_cost(m->out, costs, kernel, term, setup_of(m));
}

/* ---- compressed rows ------------------------------------------------------------------------- */

/* Proposes a kernel with `lanes` lanes per row. Rows of one warp start and end together, and wait
 * for the longest of the warp. csr_lanes multiplies rows of more than LONG entries by the whole
 * warp, at about the speed of half its lanes, one row after the other; the scatter of row lengths
 * determines how many such rows a warp may have. */
static spmv_proposal *propose_rows(const model *m, const char *kernel, double lanes) {
    const double together = 0.25, row_max = (double)m->f->row_max;
    const double many = pow(m->f->cv * m->f->mean / row_max, 2) * (double)m->f->rows;
    const double alone = row_max / lanes, whole = fmax(many, 1) * row_max / fmax(lanes, WARP / 2);
    const double longest = m->f->row_max > LONG ? fmin(alone, whole) : alone;
    const double waiting = (together + m->f->cv) * m->entries;
    spmv_proposal *p = propose(m, kernel, (work){m->csr, m->lines, longest, waiting});
    spmv_proposal_why(p, "rows of %.1f nonzeros, %lld at most", m->f->mean,
                      (long long)m->f->row_max);
    return p;
}

/* Proposes csr_lanes with two entries per lane. */
static spmv_proposal *propose_lanes(const model *m) {
    return propose_rows(m, "csr_lanes", fmin(fmax(m->f->mean / 2, 1), WARP));
}

/* Proposes csr_warp for rows so long that csr_lanes also uses a whole warp per row: for short
 * products either may be faster, and trials decide. */
static void propose_warps(const model *m) {
    if (m->f->mean / 2 > WARP) propose_rows(m, "csr_warp", WARP);
}

/* Proposes csr_balanced. Blocks multiply equal shares of the nonzeros, so row lengths do not
 * matter. The fixed cost of a block (finding its rows, reducing over its threads) matters for short
 * products. */
static spmv_proposal *propose_shares(const model *m) {
    const double once = 30; /* steps */
    spmv_proposal *p = propose(m, "csr_balanced", (work){m->csr, m->lines, once, m->entries});
    spmv_proposal_why(p, "rows of %.1f nonzeros, %lld at most", m->f->mean,
                      (long long)m->f->row_max);
    return p;
}

/* ---- several vectors ------------------------------------------------------------------------- */

/* Returns the seconds to pack and unpack all vectors, at the bandwidth of copies. */
static double turning_s(const spmv_features *f, double width) {
    const double bytes_per_s = 2e12;
    return 2 * width * (double)f->vectors * (double)(f->rows + f->cols) / bytes_per_s;
}

/* Returns the seconds to transpose the columns of x to rows, at the bandwidth of copies. */
static double turning_x_s(const spmv_features *f, double width) {
    return turning_s(f, width) * (double)f->cols / fmax((double)(f->rows + f->cols), 1);
}

typedef struct together { /* work of a product of several vectors */
    double passes;        /* passes over the matrix */
    double matrix;        /* bytes of the matrix per pass */
    double reads;         /* scattered reads of rows of x */
    double loads;         /* loads of rows of x by all lanes */
    bool turned;          /* columns of x are transposed to rows first */
} together;

/* Returns the seconds of a product of several vectors. Data of x that are not in an L1 cache come
 * from the L2 cache at another rate. */
static double together_s(const model *m, together t) {
    const double launches_s = 5e-6, bytes_per_s = 4e12, second_per_s = 6e12;
    const spmv_features *f = m->f;
    const double row = m->k * m->width;
    const double bytes = t.passes * t.matrix + row * (double)(f->rows + f->cols);
    return t.passes * launches_s + hypot(bytes / bytes_per_s, t.reads / reads_per_s(m)) +
           t.loads * row / second_per_s + (t.turned ? turning_x_s(f, m->width) : 0);
}

/* Proposes a kernel for several vectors. A row of x of up to 64 bytes costs as much as one element.
 * Columns that are not transposed cost one read per element; a row of two nonzeros then takes as
 * long as one of six. */
static spmv_proposal *propose_vectors(const model *m, const char *kernel, bool turned,
                                      double setup) {
    const double at_once = 64, least = 6;
    const spmv_features *f = m->f;
    const bool in_rows = f->layout == SPMV_ROWS;
    const double shortest = in_rows || turned ? 0 : least;
    const double row = m->k * m->width, passes = ceil(in_rows ? row / 512 : m->k / 8);
    const double x_rows = fmax(in_rows ? row / at_once : passes, 1);
    const together t = {.passes = passes,
                        .matrix = m->nnz * (m->width + INDEX) + (double)f->rows * INDEX,
                        .reads = m->lines * (in_rows || turned ? x_rows : m->k),
                        .loads = fmax(m->nnz, shortest * (double)f->rows),
                        .turned = turned};
    const double term[] = {together_s(m, t), 0};
    spmv_proposal *p = spmv_propose_cost(m->out, costs, kernel, term, setup);
    spmv_proposal_why(p, "%.0f vectors at a time%s", m->k, turned ? ", turned into rows" : "");
    return p;
}

/* Proposes csr_vectors, with one or several lanes per row. lanes 0: the kernel's choice. */
static spmv_proposal *propose_row_vectors(const model *m, bool turned, int lanes) {
    spmv_proposal *p = propose_vectors(m, "csr_vectors", turned, 0);
    if (turned) p->setting[p->nsettings++] = (spmv_setting){"turned", 1};
    if (lanes) p->setting[p->nsettings++] = (spmv_setting){"lanes", lanes};
    return p;
}

/* Proposes csr_vectors with two and four lanes for a row's nonzeros instead of its own choice. On
 * an H200 this is up to 1.3 times as fast for rows that are long or of very different lengths, and
 * slower for others; trials decide. */
static void propose_more_lanes(const model *m) {
    const double uneven = 0.5, long_rows = 12, faster = 1.05;
    if (m->f->cv < uneven && m->f->mean < long_rows) return;
    for (int lanes = 2; lanes <= 4; lanes *= 2)
        propose_row_vectors(m, false, lanes)->predicted_speedup *= faster;
}

/* Proposes csr_shares: warps with equal shares of the nonzeros do not wait for long rows. On an
 * H200 it is up to twice as fast if row lengths differ; trials decide. */
static void propose_share_vectors(const model *m) {
    const double uneven = 0.5, faster = 1.3;
    spmv_proposal *p = propose_vectors(m, "csr_shares", m->f->layout != SPMV_ROWS, setup_of(m));
    if (m->f->cv > uneven) p->predicted_speedup *= faster;
}

/* Proposes bsr_vectors: as csr_vectors, but the rows of a block share the reads of x. */
static void propose_block_vectors(const model *m) {
    const double least = 0.5, at_once = 64;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2, cells = side * side;
    const double fill = fmax(f->fill_2, f->fill_3), row = m->k * m->width;
    const bool in_rows = f->layout == SPMV_ROWS;
    if (fill < least) return;
    const double slots = m->nnz / fill;
    const together t = {.passes = ceil(in_rows ? row / 512 : m->k / 16),
                        .matrix = slots * (m->width + INDEX / (double)cells),
                        .reads = m->lines * fmax(row / at_once, 1) / (double)side,
                        .loads = slots / (double)side,
                        .turned = !in_rows};
    const double term[] = {together_s(m, t), 0};
    spmv_proposal *p = spmv_propose_cost(m->out, costs, "bsr_vectors", term, setup_of(m));
    spmv_proposal_why(p, "blocks of %lld x %lld, %.0f %% full, share rows of x", (long long)side,
                      (long long)side, PERCENT * fill);
    p->setting[p->nsettings++] = (spmv_setting){"shape_rows", side};
    p->setting[p->nsettings++] = (spmv_setting){"shape_cols", side};
}

/* Proposes bittcf_warp. It loads a row of x once per column of a tile. The sample shows the
 * nonzeros in tiles of 8 neighbouring rows, but the store groups rows that may be far apart: at
 * least six nonzeros per tile are assumed, and trials decide. Fewer than eight vectors take as long
 * as eight. */
static void propose_tiles(const model *m) {
    const double at_once = 64, hope = 6, slots = 4, tile_bytes = 20, least = 4, columns = 8;
    const spmv_features *f = m->f;
    const bool in_rows = f->layout == SPMV_ROWS;
    const double row = fmax(m->k, columns) * m->width;
    if (m->k < least) return;
    const double tiles = m->nnz / fmax(f->per_tile, hope);
    const together t = {.passes = ceil(m->k / (in_rows ? 64 : 16)),
                        .matrix = m->nnz * m->width + tiles * tile_bytes,
                        .reads = fmin(m->lines, slots * tiles) * fmax(row / at_once, 1),
                        .loads = slots * tiles * row / (m->k * m->width),
                        .turned = !in_rows};
    const double term[] = {together_s(m, t), 0};
    spmv_proposal *p = spmv_propose_cost(m->out, costs, "bittcf_warp", term, setup_of(m));
    if (f->per_tile >= hope)
        spmv_proposal_why(p, "8 rows share columns: %.1f nonzeros in a tile of 8 x 4", f->per_tile);
    else
        spmv_proposal_why(p,
                          "rows that share columns may be found: 8 near each other have %.1f "
                          "nonzeros in a tile of 8 x 4",
                          f->per_tile);
}

/* ---- formats --------------------------------------------------------------------------------- */

/* Proposes sell_thread_ahead. Its loads ahead hide a part of the latency, but not that of x. */
static void propose_slices(const model *m) {
    const double ahead = 0.87, step = 0.6;
    const spmv_features *f = m->f;
    const double padding = f->sampled ? f->padding_32 : f->cv;
    if (padding >= 1 || f->row_max >= SPMV_LONG_ROW) return;
    const work w = {ahead * m->csr, m->lines, step * (double)f->row_max, padding * m->csr};
    spmv_proposal_why(propose(m, "sell_thread_ahead", w), "slices of 32 rows pad %s%.0f %%",
                      f->sampled ? "" : "about ", PERCENT * padding);
}

/* Proposes csell. Entries on no diagonal of their slice are gathered one by one, or by runs that
 * share a 16-bit column index; full steps of 32 entries on a diagonal take a quarter of a byte per
 * entry. Slices on diagonals usually come from a grid and share lists of steps, which is known only
 * after building; slices with steps that are not full do not share. */
static void propose_csell(const model *m) {
    const double full_step = 0.25;
    const spmv_features *f = m->f;
    double values = fmin(f->value_bytes, m->width), bytes = f->index_bytes + values;
    double gathered = 1 - f->diagonal, runs = gathered * fmin(f->index_bytes / 2, 1);
    if (bytes >= m->width + INDEX) return; /* nothing would be compressed */
    const work warp = {m->nnz * bytes + m->vectors, m->lines, f->mean * gathered,
                       m->nnz * (runs + f->diagonal * f->index_bytes)};
    spmv_proposal_why(
        propose(m, "csell_warp", warp),
        "%.0f %% of the nonzeros on diagonals of their slice, %.1f bytes per nonzero instead of %g",
        PERCENT * f->diagonal, bytes, m->width + INDEX);
    if (f->diagonal < 1) return;
    const work lists = {m->nnz * (values < 1 ? 0 : values) + m->vectors, m->lines, 0,
                        m->nnz * fmax(f->index_bytes - full_step, 0)};
    spmv_proposal_why(propose(m, "csell_lists", lists),
                      "slices on diagonals, as of a grid: %.1f steps each",
                      4 * f->mean * f->index_bytes);
}

/* Proposes dia. If all slices are on diagonals and rows have equal lengths, usually the whole
 * matrix is on diagonals, as many as a row has nonzeros. If not, the store is refused as
 * padding. */
static void propose_diagonals(const model *m) {
    const double padding = 0.1;
    const spmv_features *f = m->f;
    const double slots = (double)f->rows * (double)f->row_max;
    if (!f->sampled || f->diagonal < 1 || slots > (1 + padding) * m->nnz) return;
    const work w = {slots * m->width + m->vectors, m->lines, 0, 0};
    spmv_proposal_why(propose(m, "dia_thread", w), "%lld diagonals, stored whole",
                      (long long)f->row_max);
}

/* Proposes hyb, for one vector. A thread sums the slots of its row serially. The tail needs two
 * more launches, reads and writes y of its rows again, and has dependent sums. */
static void propose_hyb(const model *m) {
    const double step = 2, launches = 71; /* launches: steps that take as long as two launches */
    const spmv_features *f = m->f;
    const double rows = (double)f->rows, slots = rows * (double)f->ell_width;
    const double inside = fmin(rows * f->ell_mean, m->nnz), tail = m->nnz - inside;
    if (f->ell_width == 0) return;
    const double again = fmin(tail, rows) * 2 * m->width;
    const work w = {slots * INDEX + inside * m->width + tail * (m->width + 2 * INDEX) + again +
                        m->vectors,
                    m->lines, step * (double)f->ell_width + (tail > 0 ? launches : 0),
                    tail * (sizeof(double) + INDEX)};
    spmv_proposal_why(propose(m, "hyb_thread", w),
                      "%lld entries per row side by side, %.0f %% behind", (long long)f->ell_width,
                      PERCENT * tail / m->nnz);
}

/* Proposes xcache. A block of rows fetches its x once, and a column index takes 16 bits. If the
 * sample is too small to count a block's columns, each entry is assumed to need another column. */
static void propose_xcache(const model *m) {
    const spmv_features *f = m->f;
    const double height = (double)f->block_rows;
    double columns = fmin(fmin(f->block_columns, f->mean), (double)f->cols / height);
    double fetched = columns * (double)f->rows;
    if (height == 0 || f->row_max > XCACHE_COLUMNS) return;
    const double bytes = m->nnz * (2 + spmv_coded_bytes(f)) + m->vectors + 2 * fetched;
    const work w = {bytes, fetched, 0, bytes};
    spmv_proposal *p = propose(m, "xcache_block", w);
    spmv_proposal_why(p, "%lld rows need %.1f columns each", (long long)f->block_rows, columns);
    p->setting[p->nsettings++] = (spmv_setting){"height", f->block_rows};
}

/* Proposes hubs. The share of nonzeros in hot columns is estimated from repeated columns in a
 * sample, and was up to twice as large for nine graphs. The other reads of x are more scattered
 * than in the original order, because rows are sorted by length. A block begins by copying x of the
 * hot columns. */
static void propose_hubs(const model *m) {
    const double least = 0.03, copying = 50; /* steps */
    const spmv_features *f = m->f;
    const double hubs = fmin(2 * f->repeats, 1), rest = 1 - hubs;
    if (f->repeats < least) return;
    const double bytes = m->nnz * (2 * hubs + INDEX * rest + spmv_coded_bytes(f)) + m->vectors;
    const work w = {bytes, m->nnz * rest * fmin(2 * f->lines, 1), copying, bytes};
    spmv_proposal_why(propose(m, "hubs", w),
                      "hot columns hold %.0f %% of the nonzeros: their x in shared memory",
                      PERCENT * hubs);
}

/* Proposes bsr. A block has one column index. A warp multiplies a row of blocks, and waits for the
 * longest; its fixed cost per block row, including the reduction over its lanes, is that of one
 * nonzero per lane. */
static void propose_blocks(const model *m) {
    const double step = 0.5;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2, cells = side * side;
    const double fill = fmax(f->fill_2, f->fill_3), bytes = m->width + INDEX / (double)cells;
    if (fill <= 0) return; /* not sampled */
    const double once = (double)(f->rows / side * WARP) * (sizeof(double) + INDEX);
    const double longest = step * (double)f->row_max / (double)side;
    const work w = {m->nnz / fill * bytes + m->vectors, m->lines, longest, once};
    spmv_proposal *p = propose(m, "bsr_warp", w);
    spmv_proposal_why(p, "blocks of %lld x %lld, %.0f %% full", (long long)side, (long long)side,
                      PERCENT * fill);
    p->setting[0] = (spmv_setting){"shape_rows", side};
    p->setting[1] = (spmv_setting){"shape_cols", side};
    p->nsettings = 2;
}

/* Proposes cuSPARSE's fastest kernel on graphs. It is not deterministic, so that it is a candidate
 * only if the caller allows that. The row of each nonzero is computed on the device. */
static void propose_peers(const model *m) {
    const work w = {m->nnz * (m->width + 2 * INDEX) + m->vectors, m->lines, 0, 0};
    spmv_proposal_why(propose(m, "cusparse_coo_alg1", w), "cuSPARSE: nonzeros added by atomics");
}

/* The baseline kernel is one of ours: csr_balanced is mostly faster than cuSPARSE's kernels, and
 * starting cuSPARSE takes a process 57 ms. For rows of equal length csr_lanes is faster, without
 * set-up. */
void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out) {
    model m = {.f = f, .width = spmv_value_bytes(f), .nnz = (double)f->nnz, .out = out};
    m.vectors = (double)f->rows * (2 * m.width + INDEX);
    m.csr = m.nnz * (m.width + INDEX) + m.vectors;
    m.entries = m.nnz * (sizeof(double) + INDEX);
    m.lines = m.nnz * f->lines;
    m.k = f->vectors > 1 ? (double)f->vectors : 1;
    m.packing_s = m.k > 1 && f->layout == SPMV_ROWS ? turning_s(f, m.width) : 0;
    out->baseline = out->baseline_s = 0;
    const double by_rows_s = 1 / propose_lanes(&m)->predicted_speedup,
                 by_shares_s = 1 / propose_shares(&m)->predicted_speedup;
    const bool by_rows = by_rows_s<by_shares_s, is_several = m.k> 1 && f->nnz > 0;
    out->n = 0; /* there is no baseline yet: a speed-up is 1 / seconds */
    out->baseline_s = is_several ? 1 / propose_row_vectors(&m, false, 0)->predicted_speedup
                      : by_rows  ? by_rows_s
                                 : by_shares_s;
    out->baseline = out->baseline_s;
    out->n = 0;
    if (is_several && f->layout != SPMV_ROWS) propose_row_vectors(&m, true, 0);
    if (is_several && f->layout == SPMV_ROWS) propose_more_lanes(&m);
    if (is_several) propose_share_vectors(&m);
    if (is_several) propose_block_vectors(&m);
    if (is_several) propose_tiles(&m);
    if (f->nnz) {
        if (f->sampled) propose_csell(&m);
        propose_diagonals(&m);
        propose_xcache(&m);
        propose_warps(&m);
        propose_slices(&m);
        if (!is_several) propose_hyb(&m);
        propose_hubs(&m);
        propose_blocks(&m);
        propose_peers(&m);
        by_rows ? propose_shares(&m) : propose_lanes(&m);
    }
    /* Kernels that can always be used, the baseline kernel first. */
    if (is_several) propose_row_vectors(&m, false, 0)->predicted_speedup = 0;
    if (by_rows) propose_lanes(&m)->predicted_speedup = 0;
    spmv_proposal *last = propose_shares(&m);
    last->predicted_speedup = 0, last->predicted_setup = 0;
}
