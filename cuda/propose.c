/* propose.c: which CUDA kernels should be fast on a matrix; plain C, so that it is tested without a
 * GPU. It models the seconds of a product on the H200 whose logs are in log/reference. Only ratios
 * of these times are used, and only to order the candidates: what is proposed is timed. The formats
 * named here are built on the GPU. */
#include "spmv_kernel.h"
#include <math.h>

typedef struct model {
    const spmv_features *f;
    double width;      /* bytes of a value */
    double rows_s;     /* a product by csr_lanes, seconds */
    double groups_s;   /* a product by csr_adaptive, seconds */
    double baseline_s; /* a product by the one of them that is the baseline kernel, seconds */
} model;

static const double launch_s = 2.5e-6, bytes_per_s = 4e12;

/* Scattered reads of x per second, by the size of x: measured with random columns. */
static double gathers_per_s(const model *m) {
    static const struct {
        double bytes, per_s; /* for x up to that size; the first fits a multiprocessor's cache */
    } rate[] = {{2e5, 570e9}, {16e6, 148e9}, {33e6, 127e9}, {67e6, 76e9}, {INFINITY, 56e9}};
    double x = m->width * (double)m->f->cols;
    int k = 0;
    while (x > rate[k].bytes * 1.1) k++;
    return rate[k].per_s;
}

static double gather_s(const model *m) {
    return (double)m->f->nnz * m->f->lines / gathers_per_s(m);
}

/* The seconds of those reads of x that hit a multiprocessor's own cache, each in another line. */
static double looked_up_s(const model *m) {
    const double per_s = 2.6e11;
    const spmv_features *f = m->f;
    return (double)f->nnz * (1 - f->contiguous) * (1 - f->diagonal) / per_s;
}

static double largest(double a, double b) {
    return a > b ? a : b;
}

/* A warp takes a row at a time: the longest row ends last. */
static double warp_s(const model *m) {
    const double step_s = 1e-7, row_s = 5.5e-12, lanes = 32;
    const spmv_features *f = m->f;
    double idle = f->mean < lanes ? lanes : f->mean;            /* lanes without an entry wait */
    double few = 1.2 + 0.2 * (f->mean > 30 ? 30 / f->mean : 1); /* short rows load little at once */
    double read = largest((double)f->nnz * (m->width + 4) / bytes_per_s * few,
                          (f->mean < 4 ? 1.1 : 1.4) * gather_s(m));
    double issue = (double)f->rows * row_s * (lanes + 3 * idle / lanes);
    return launch_s + largest(read, issue) + ((double)f->row_max - f->mean) / lanes * step_s;
}

/* The time of csr_lanes, whose lanes take several entries at a time, and whose warps take long
 * rows. Where lengths differ much a warp waits for its longest row. Scattered reads of x do not
 * overlap with the stream of the matrix (permutation:8000000 takes 163 us, where the stream alone
 * takes 69 and reading x 126), even if their lines are near (twin:filter3D: 19.4 us, 9 and 10). */
static double lanes_s(const model *m) {
    const double step_s = 1.2e-8, entry_s = 3.6e-12, row_s = 4e-12, longest = 128, by_warp = 192;
    const spmv_features *f = m->f;
    double rest = (double)f->rows * (2 * m->width + 4);
    double read = ((double)f->nnz * (m->width + 4) + rest) / bytes_per_s;
    double issue = (double)f->nnz * entry_s + (double)f->rows * row_s;
    if (f->mean > by_warp)
        read *= 1.04, issue = 0;
    else
        read *= 1.08;
    double gather = 1.2 * gather_s(m), look = by_warp < f->mean ? 0 : looked_up_s(m);
    double all = largest(read, issue);
    all = f->lines > 0.5 ? hypot(all, gather) : largest(hypot(all, look), gather);
    all *= largest(f->cv, 1);
    double tail = (double)f->row_max > longest ? ((double)f->row_max - f->mean) * step_s : 0;
    return launch_s + all + tail;
}

static void propose_lanes(const model *m, double speedup, spmv_proposals *out) {
    spmv_propose_kernel(out, "csr_lanes", 0, speedup,
                        "lanes for rows of %.1f nonzeros, %lld at most", m->f->mean,
                        (long long)m->f->row_max);
}

/* A product that takes hardly longer than its launch may be fastest by any kernel: this one is then
 * proposed whatever the model says. */
static void propose_warp(const model *m, spmv_proposals *out) {
    const double tiny_s = 3e-7, least = 1.06;
    double speedup = m->baseline_s / warp_s(m);
    if (warp_s(m) < launch_s + tiny_s) speedup = largest(speedup, least);
    spmv_propose_kernel(out, "csr_warp", 0, speedup,
                        "a warp for rows of %.1f nonzeros, %lld at most", m->f->mean,
                        (long long)m->f->row_max);
}

/* The time of csr_adaptive, whose blocks take groups of rows with about the same number of entries,
 * so that the lengths of rows do not matter; gather: the seconds of its reads of x. */
static double groups_with(const model *m, double gather) {
    const spmv_features *f = m->f;
    return launch_s + 2e-6 + largest(1.2 * (double)f->nnz * (m->width + 4) / bytes_per_s, gather) +
           (double)f->rows * 1.5e-11;
}

static double groups_s(const model *m) {
    return groups_with(m, gather_s(m));
}

/* The set-up of csr_adaptive, in baseline products: the GPU reads row_ptr twice to form groups. */
static double planned(const model *m) {
    return (1.5e-4 + ((double)m->f->nnz + (double)m->f->rows) * 1e-12) / m->baseline_s;
}

static void propose_groups(const model *m, double speedup, spmv_proposals *out) {
    spmv_propose_kernel(out, "csr_adaptive", planned(m), speedup,
                        "equal shares of nonzeros for rows of %.1f, %lld at most", m->f->mean,
                        (long long)m->f->row_max);
}

/* Bytes of a value in the cheapest dictionary that is common to the whole matrix. */
static double code_bytes(const model *m) {
    return m->f->distinct == 1                 ? 0
           : m->f->distinct <= SPMV_FEW_VALUES ? 1
           : m->f->exact_f32 == 1              ? 4
                                               : m->width;
}

/* How many nonzeros the hot columns hold follows from how often columns repeat in a sample: in nine
 * graphs 1.4 to 1.8 times as many. The other reads of x are all scattered, since rows are sorted by
 * length. csr_adaptive, which it is compared with, also reads a graph's columns scattered: those
 * near each other at the beginning of a row are the hot ones. */
static void propose_hubs(const model *m, spmv_proposals *out) {
    const double held = 1.6, most = 0.85, slower = 1.25, read_per_s = 8.2e12, padded = 1.1;
    const double start_s = 1e-5, built_s = 1e-3, entry_s = 2e-10, least = 0.1;
    const spmv_features *f = m->f;
    double hubs = held * f->repeats < most ? held * f->repeats : most, nnz = (double)f->nnz;
    if (f->repeats < least || f->lines < 0.2) return;
    /* Writes of y are scattered, too. */
    double gathers = nnz * (1 - hubs) + (double)f->rows * (1 - f->empty_share);
    double bytes = padded * nnz * (2 * hubs + 4 * (1 - hubs) + code_bytes(m)) + 4 * (double)f->rows;
    double hubs_s = launch_s + start_s + slower * gathers / gathers_per_s(m) + bytes / read_per_s;
    /* How much longer csr_adaptive takes than modelled. */
    double groups = groups_with(m, nnz / gathers_per_s(m)) / m->groups_s;
    spmv_propose_kernel(
        out, "hubs", (built_s + nnz * entry_s) / m->baseline_s, groups * m->baseline_s / hubs_s,
        "hot columns hold %.0f %% of the nonzeros: their x in shared memory", 100 * hubs);
}

/* cuSPARSE's fastest kernel on graphs is not deterministic, so that it is a candidate only where
 * the caller allows that. It is within 10 % of csr_adaptive, above or below, so its prediction is
 * raised enough to be tried. The row of each nonzero is found on the device. */
static void propose_peers(const model *m, spmv_proposals *out) {
    const double found_s = 1e-11, start_s = 3e-4, raised = 1.1;
    const spmv_features *f = m->f;
    double read = 1.05 * (double)f->nnz * (m->width + 8) / bytes_per_s;
    double coo_s = 2 * launch_s + largest(read, gather_s(m)) + (double)f->rows * 4e-12;
    spmv_propose_kernel(out, "cusparse_coo_alg1",
                        (start_s + (double)f->nnz * found_s) / m->baseline_s,
                        raised * m->baseline_s / coo_s, "cuSPARSE: nonzeros added by atomics");
}

/* Building csell takes the steps of a slice one after the other, and reads the matrix a few
 * times. */
static double packing_s(const model *m) {
    double steps_s = m->f->mean * (m->f->diagonal < 0.5 ? 1.3e-6 : 2e-6);
    return 2e-4 + largest((double)m->f->nnz * 2.2e-11, steps_s);
}

/* Bytes of a value, dictionary-coded slice by slice where that is cheaper. */
static double value_bytes(const model *m) {
    return m->f->value_bytes < m->width ? m->f->value_bytes : m->width;
}

static void propose_csell(const model *m, spmv_proposals *out) {
    const double step_bytes = 8, step_s = 3.4e-11, slice_s = 1.6e-10; /* of 32 rows each */
    const double most_of_runs = 1.2; /* bytes of column index per entry, shared by a run */
    const spmv_features *f = m->f;
    double bytes = f->index_bytes + value_bytes(m);
    if (bytes >= m->width + 4) return; /* nothing would be compressed */
    double y = 2 * m->width * (double)f->rows / bytes_per_s;
    double stream_s = 1.15 * (double)f->nnz * bytes / bytes_per_s + y;
    double issue_s = (double)f->nnz * f->diagonal * f->index_bytes / step_bytes * step_s +
                     (double)f->rows / 32 * slice_s;
    if (f->cv > 2 && f->lines > 0.5) stream_s *= 2; /* lanes wait for the longest row */
    if (f->diagonal < 0.5) /* steps that are gathered entry by entry or run by run */
        stream_s *=
            f->index_bytes < most_of_runs ? 0.95 + 0.5 * f->padding_32 : 1.25 + 0.5 * f->padding_32;
    double csell_s = launch_s + largest(hypot(stream_s, issue_s), 1.1 * gather_s(m));
    spmv_propose_kernel(
        out, "csell_warp", packing_s(m) / m->baseline_s, m->baseline_s / csell_s,
        "%.0f %% of the nonzeros on diagonals of their slice, %.1f of %g bytes per nonzero",
        100 * f->diagonal, bytes, m->width + 4);
}

/* Slices on diagonals mostly come from a grid and share their lists of steps. Whether they do is
 * seen once the store is built, which csell_warp uses, too. */
static void propose_lists(const model *m, spmv_proposals *out) {
    const double step_bytes = 8, step_s = 3e-11, head = 16;
    const double together = 8, batch_s = 1.2e-6; /* steps that a warp requests at once */
    const double least = 0.98, floats = 1.3, found_s = 5e-5, found_slice_s = 4.5e-10;
    const spmv_features *f = m->f;
    double slices = (double)f->rows / 32, steps = (double)f->nnz * f->index_bytes / step_bytes;
    double values = value_bytes(m) < 1 ? 0 : value_bytes(m); /* 0: they are in the lists */
    double bytes = (double)f->nnz * values + slices * head + 2 * m->width * (double)f->rows;
    double all_s = hypot(1.03 * bytes / bytes_per_s, steps * step_s);
    if (m->width < 8 && values > 1) all_s *= floats;
    double lists_s = launch_s + largest(all_s, ceil(steps / slices / together) * batch_s);
    if (f->diagonal >= least)
        spmv_propose_kernel(out, "csell_lists",
                            (packing_s(m) + found_s + slices * found_slice_s) / m->baseline_s,
                            m->baseline_s / lists_s,
                            "slices on diagonals, as of a grid: %.1f steps each", steps / slices);
}

static void propose_slices(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    double slots = (double)f->nnz * (1 + 0.4 * f->padding_32); /* padding is read only */
    double rest = (double)f->rows * (2 * m->width + 4);
    double sell_s = launch_s + largest((slots * (m->width + 4) + rest) / bytes_per_s, gather_s(m));
    if (f->padding_32 < 1 && f->row_max < SPMV_LONG_ROW)
        spmv_propose_kernel(out, "sell_thread_ahead", (1e-4 + slots * 1e-11) / m->baseline_s,
                            m->baseline_s / sell_s, "slices of 32 rows pad %.0f %%",
                            100 * f->padding_32);
}

/* A block of rows fetches its x once, and a column index takes 16 bits. */
static void propose_xcache(const model *m, spmv_proposals *out) {
    const double read_per_s = 3.6e12, fetched_per_s = 1.48e11, start_s = 1e-6;
    const double built_s = 3.3e-4, entry_s = 3.5e-11;
    const double most = 0.7, room = 26500; /* columns of a block, over its entries; and at most */
    const spmv_features *f = m->f;
    if (f->xcache_height == 0 || f->xcache_columns > most * f->mean) return;
    if (f->xcache_columns * (double)f->xcache_height + 2 * (double)f->row_max > room) return;
    double fetched = f->xcache_columns * (double)f->rows, nnz = (double)f->nnz;
    double bytes = nnz * (2 + code_bytes(m)) + (double)f->rows * (4 + 2 * m->width) + 2 * fetched;
    double xcache_s = launch_s + start_s + hypot(bytes / read_per_s, fetched / fetched_per_s);
    spmv_proposal *p = spmv_propose_kernel(
        out, "xcache_block", (built_s + nnz * entry_s) / m->baseline_s, m->baseline_s / xcache_s,
        "%lld rows need %.1f columns each", (long long)f->xcache_height, f->xcache_columns);
    p->setting[p->nsettings++] = (spmv_setting){"height", f->xcache_height};
}

/* The baseline kernel is one of ours: on 60 matrices csr_adaptive was never slower than 0.98 of
 * cusparse_csr_alg2, mostly far faster, and starting cuSPARSE takes a process 57 ms. Where no row
 * is much longer than the others the baseline is csr_lanes, which needs no set-up. */
void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out) {
    const double even = 1.8, least = 1.06;
    model m = {.f = f, .width = f->precision == SPMV_F64 ? 8 : 4};
    m.rows_s = lanes_s(&m), m.groups_s = groups_s(&m);
    bool is_even = m.rows_s < even * m.groups_s;
    m.baseline_s = is_even ? m.rows_s : m.groups_s;
    if (f->nnz) {
        if (f->sampled) propose_lists(&m, out), propose_csell(&m, out);
        propose_xcache(&m, out);
        propose_slices(&m, out); /* before others of the same prediction: it gathers best */
        propose_warp(&m, out);
        if (is_even) /* always tried: it is never far from the best */
            propose_groups(&m, largest(m.baseline_s / m.groups_s, least), out);
        else
            propose_lanes(&m, m.baseline_s / m.rows_s, out);
        propose_hubs(&m, out);
        propose_peers(&m, out);
    }
    if (is_even) propose_lanes(&m, 0, out);
    propose_groups(&m, 0, out);
}
