/* propose.c: which CUDA kernels should be fast on a matrix; plain C, so that it is tested without a
 * GPU. It counts what each kernel moves and waits for, cost.def says what that costs on the H200
 * whose logs are in log/reference. Only ratios of these times are used, and only to order the
 * candidates: what is proposed is timed. The formats named here are built on the GPU, but for
 * bsr. */
#include "spmv_kernel.h"
#include <math.h>
#include <stdio.h>

typedef struct cost {
    const char *kernel;
    double per[SPMV_COST_TERMS], start_s, entry_s;
} cost;

static const cost costs[] = {
#define COST(name, launches, moved, longest, idle, start_s, entry_s) \
    {#name, {launches, moved, longest, idle}, start_s, entry_s},
#include "cost.def"
#undef COST
};

typedef struct model {
    const spmv_features *f;
    double width;      /* bytes of a value */
    double nnz;        /* nonzeros */
    double vectors;    /* bytes of y, written and read, and of the ends of rows */
    double csr;        /* bytes of compressed rows and of these */
    double lines;      /* reads of x that meet another cache line than those of the rows near by */
    double baseline_s; /* a product of the baseline kernel, seconds */
} model;

/* What a kernel does in a product. */
typedef struct work {
    double bytes;   /* of the matrix and of y */
    double reads;   /* scattered reads of x */
    double longest; /* steps that wait for each other */
    double idle;    /* bytes that could be read while lanes wait or decode */
} work;

static const double launch_s = 2.5e-6, bytes_per_s = 4e12, step_s = 1e-7;

/* Scattered reads of x per second, by the size of x: measured with random columns. */
static double reads_per_s(const model *m) {
    static const struct {
        double bytes, per_s; /* for x up to that size; the first fits a multiprocessor's cache */
    } rate[] = {{2e5, 570e9}, {16e6, 148e9}, {33e6, 127e9}, {67e6, 76e9}, {INFINITY, 56e9}};
    double x = m->width * (double)m->f->cols;
    int k = 0;
    while (x > rate[k].bytes * 1.1) k++;
    return rate[k].per_s;
}

typedef struct prediction {
    const cost *cost;
    double term[SPMV_COST_TERMS], product_s, setup_s;
} prediction;

static prediction predict(const model *m, const char *kernel, work w) {
    prediction p = {.cost = costs,
                    .term = {launch_s, hypot(w.bytes / bytes_per_s, w.reads / reads_per_s(m)),
                             w.longest * step_s, w.idle / bytes_per_s}};
    while (strcmp(p.cost->kernel, kernel) != 0) p.cost++;
    for (int k = 0; k < SPMV_COST_TERMS; k++) p.product_s += p.cost->per[k] * p.term[k];
    p.setup_s = p.cost->start_s + m->nnz * p.cost->entry_s;
    return p;
}

/* The caller says why. */
static spmv_proposal *propose(const model *m, const prediction *p, spmv_proposals *out) {
    spmv_proposal *proposal = spmv_propose_kernel(
        out, p->cost->kernel, p->setup_s / m->baseline_s, m->baseline_s / p->product_s,
        "rows of %.1f nonzeros, %lld at most", m->f->mean, (long long)m->f->row_max);
    memcpy(proposal->term, p->term, sizeof p->term);
    return proposal;
}

#define WHY(proposal, ...) snprintf((proposal)->why, sizeof(proposal)->why, __VA_ARGS__)

/* ---- compressed rows ------------------------------------------------------------------------- */

static double clamp(double value, double least, double most) {
    return value < least ? least : value > most ? most : value;
}

static double over_mean(const model *m) {
    return (double)m->f->row_max - m->f->mean;
}

/* As many lanes take a row as have two entries each; where lengths differ they wait for the longest
 * row of their warp. */
static prediction lanes(const model *m) {
    return predict(
        m, "csr_lanes",
        (work){m->csr, m->lines, over_mean(m) / clamp(m->f->mean / 2, 1, 32), m->f->cv * m->csr});
}

/* Blocks take groups of rows with about the same number of entries: lengths do not matter. */
static prediction groups(const model *m) {
    return predict(m, "csr_adaptive", (work){m->csr, m->lines, 0, m->csr});
}

/* A warp takes a row at a time: the lanes beyond its end wait. */
static prediction warp(const model *m) {
    double lanes = 32, steps = lanes + 3 * fmax(m->f->mean, lanes) / lanes;
    return predict(m, "csr_warp",
                   (work){m->csr, m->lines, over_mean(m) / lanes, (double)m->f->rows * steps});
}

/* ---- formats --------------------------------------------------------------------------------- */

static void propose_slices(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    if (f->padding_32 >= 1 || f->row_max >= SPMV_LONG_ROW) return;
    const prediction p = predict(m, "sell_thread_ahead",
                                 (work){m->csr, m->lines, (double)f->row_max,
                                        f->padding_32 * m->csr}); /* padding is read only */
    WHY(propose(m, &p, out), "slices of 32 rows pad %.0f %%", 100 * f->padding_32);
}

/* Bytes of a value in the cheapest dictionary that is common to the whole matrix. */
static double code_bytes(const model *m) {
    return m->f->distinct == 1                 ? 0
           : m->f->distinct <= SPMV_FEW_VALUES ? 1
           : m->f->exact_f32 == 1              ? 4
                                               : m->width;
}

/* Entries that lie on no diagonal of their slice are gathered one by one, or run by run where a run
 * shares its column index; full steps of 32 entries on a diagonal take a quarter of a byte each. */
static void propose_csell(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    double values = fmin(f->value_bytes, m->width), bytes = f->index_bytes + values;
    if (bytes >= m->width + 4) return; /* nothing would be compressed */
    const double index = 2;            /* bytes of a column index, mostly */
    double gathered = 1 - f->diagonal, runs = gathered * fmin(f->index_bytes / index, 1);
    const prediction p = predict(m, "csell_warp",
                                 (work){m->nnz * bytes + m->vectors, m->lines, f->mean * gathered,
                                        m->nnz * (runs + f->diagonal * f->index_bytes)});
    WHY(propose(m, &p, out),
        "%.0f %% of the nonzeros on diagonals of their slice, %.1f of %g bytes per nonzero",
        100 * f->diagonal, bytes, m->width + 4);
}

/* Slices on diagonals mostly come from a grid and share their lists of steps. Whether they do is
 * seen once the store is built, which csell_warp uses, too. Steps that are not full say no. */
static void propose_lists(const model *m, spmv_proposals *out) {
    const double least = 0.98, steps_per_s = 3.3e10, full_step = 0.25, head = 16;
    const spmv_features *f = m->f;
    double slices = (double)f->rows / 32, steps = m->nnz * f->index_bytes / 8;
    double values = fmin(f->value_bytes, m->width);
    if (f->diagonal < least) return;
    prediction p = predict(m, "csell_lists",
                           (work){m->nnz * (values < 1 ? 0 : values) + slices * head + m->vectors,
                                  steps / steps_per_s * reads_per_s(m), 0,
                                  m->nnz * fmax(f->index_bytes - full_step, 0)});
    WHY(propose(m, &p, out), "slices on diagonals, as of a grid: %.1f steps each", steps / slices);
}

/* A block of rows fetches its x once, and a column index takes 16 bits. Where too little was seen
 * to count a block's columns it needs each at most once. */
static void propose_xcache(const model *m, spmv_proposals *out) {
    const double room = 27000; /* columns of a block */
    const spmv_features *f = m->f;
    if (f->xcache_height == 0) return;
    double height = (double)f->xcache_height;
    double columns = fmin(fmin(f->xcache_columns, f->mean), (double)f->cols / height);
    double fetched = columns * (double)f->rows;
    if (columns * height + (double)f->row_max > room) return;
    double bytes = m->nnz * (2 + code_bytes(m)) + m->vectors + 2 * fetched;
    const prediction p = predict(m, "xcache_block", (work){bytes, fetched, 0, 0});
    spmv_proposal *proposal = propose(m, &p, out);
    WHY(proposal, "%lld rows need %.1f columns each", (long long)f->xcache_height, columns);
    proposal->setting[proposal->nsettings++] = (spmv_setting){"height", f->xcache_height};
}

/* How many nonzeros the hot columns hold follows from how often columns repeat in a sample: in nine
 * graphs 1.4 to 1.8 times as many. The other reads of x are more scattered than those of the rows
 * as they are, since rows are sorted by length. */
static void propose_hubs(const model *m, spmv_proposals *out) {
    const double held = 1.6, most = 0.85, least = 0.03, scattered = 2;
    const spmv_features *f = m->f;
    double hubs = fmin(held * f->repeats, most), rest = 1 - hubs;
    if (f->repeats < least) return;
    const prediction p = predict(m, "hubs",
                                 (work){m->nnz * (2 * hubs + 4 * rest + code_bytes(m)),
                                        m->nnz * rest * fmin(scattered * f->lines, 1), 0, 0});
    WHY(propose(m, &p, out), "hot columns hold %.0f %% of the nonzeros: their x in shared memory",
        100 * hubs);
}

/* A block has one column index. The host makes them, which takes hundreds of products. */
static void propose_blocks(const model *m, spmv_proposals *out) {
    const double full = 0.8;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2, cells = side * side;
    double fill = side == 3 ? f->fill_3 : f->fill_2;
    if (fill < full) return;
    const prediction p = predict(
        m, "bsr_warp",
        (work){m->nnz / fill * (m->width + 4 / (double)cells) + m->vectors, m->lines, 0, 0});
    spmv_proposal *proposal = propose(m, &p, out);
    WHY(proposal, "blocks of %lld x %lld, %.0f %% full", (long long)side, (long long)side,
        100 * fill);
    proposal->setting[0] = (spmv_setting){"shape_rows", side};
    proposal->setting[1] = (spmv_setting){"shape_cols", side};
    proposal->nsettings = 2;
}

/* cuSPARSE's fastest kernel on graphs is not deterministic, so that it is a candidate only where
 * the caller allows that. The row of each nonzero is found on the device. */
static void propose_peers(const model *m, spmv_proposals *out) {
    const prediction p = predict(m, "cusparse_coo_alg1",
                                 (work){m->nnz * (m->width + 8) + m->vectors, m->lines, 0, 0});
    WHY(propose(m, &p, out), "cuSPARSE: nonzeros added by atomics");
}

/* The baseline kernel is one of ours: on 60 matrices csr_adaptive was never slower than 0.98 of
 * cusparse_csr_alg2, mostly far faster, and starting cuSPARSE takes a process 57 ms. Where no row
 * is much longer than the others the baseline is csr_lanes, which needs no set-up. */
void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out) {
    const double even = 1.3;
    model m = {.f = f, .width = f->precision == SPMV_F64 ? 8 : 4, .nnz = (double)f->nnz};
    m.vectors = (double)f->rows * (2 * m.width + 4);
    m.csr = m.nnz * (m.width + 4) + m.vectors;
    m.lines = m.nnz * f->lines;
    const prediction by_rows = lanes(&m), by_groups = groups(&m), by_warps = warp(&m);
    bool is_even = by_rows.product_s < even * by_groups.product_s;
    m.baseline_s = out->baseline_s = is_even ? by_rows.product_s : by_groups.product_s;
    if (f->nnz) {
        if (f->sampled) propose_lists(&m, out), propose_csell(&m, out);
        propose_xcache(&m, out);
        propose_slices(&m, out);
        propose_hubs(&m, out);
        propose_blocks(&m, out);
        propose_peers(&m, out);
        propose(&m, &by_warps, out);
        propose(&m, is_even ? &by_groups : &by_rows, out);
    }
    /* Those that serve if nothing else does, the baseline first. */
    if (is_even) propose(&m, &by_rows, out)->predicted_speedup = 0;
    spmv_proposal *last = propose(&m, &by_groups, out);
    last->predicted_speedup = 0, last->predicted_setup = 0;
}
