/* propose.c: which OpenMP kernels should be fast on a matrix. The model counts the bytes per
 * nonzero that a kernel waits for, or what takes as long as so many bytes; the predicted speed-up
 * is the bytes of the baseline kernel over those of the candidate. The model only orders the
 * candidates: what it proposes is timed. Set-up costs are in products of csr_balanced, as measured
 * on two cores with matrices that no cache holds. */
#include "spmv_kernel.h"
#include <omp.h>

typedef struct model { /* bytes are per nonzero */
    const spmv_features *f;
    double width;  /* bytes of a value */
    double plain;  /* bytes that the baseline kernel waits for */
    double gather; /* the part of them for reads of x */
    double y;      /* the part for a row's own data, where y is fetched and written */
    double ends;   /* the part for the ends of rows, more where branch prediction fails */
    double sorted; /* rows that move when rows are sorted by length, per nonzero */
    bool streams;  /* the matrix comes from memory: bytes count more than instructions */
} model;

/* A scattered read of an x that the cores' own caches do not hold costs as much as 50 bytes of the
 * matrix (uniform random columns, x of 8 MB: 2 ns, where the stream takes 0.5 ns per nonzero).
 * Columns within 2^16 of those of the rows around them count as near. */
static model model_of(const spmv_features *f) {
    const double near_cache = 1 << 20, read_bytes = 50, end_bytes = 14, missed_bytes = 16,
                 uneven_cv = 0.2;
    model m = {.f = f, .width = f->precision == SPMV_F64 ? 8 : 4};
    /* Even if caches start empty, a small x is fetched once and then read from the near ones. */
    double x = m.width * (double)f->cols;
    bool far = x > near_cache * f->threads || (f->evicted && x > near_cache / 2);
    m.streams = f->evicted || (m.width + 4) * (double)f->nnz > (double)f->cache;
    m.gather = far ? read_bytes * f->lines * (1 - f->near_16) : 0;
    m.y = (4 + 2 * m.width) / f->mean;
    /* Of rows of almost equal length few ends are mispredicted, and sorting moves few rows. */
    double uneven = f->cv < uneven_cv ? f->cv / uneven_cv : 1;
    m.ends = (end_bytes + missed_bytes * uneven) / f->mean;
    m.sorted = uneven * (1 - f->empty_share) / f->mean;
    m.plain = m.width + 4 + m.gather + m.y + m.ends;
    return m;
}

/* Slices without common diagonals are gathered entry by entry, which takes longer than reading
 * their bytes, and takes longer to build; where rows differ in length most lanes wait. On diagonals
 * a step takes the same time however few of the 32 rows it holds. */
static void propose_csell(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double decode = 1.1, gathered = 19, full_step = 0.25, of_steps = 10;
    /* Converting a nonzero, in the same unit as m->plain: bytes that take as long. unlike: more for
     * slices that repeat no other one, whose steps are not full. */
    const double copied = 45, a_byte = 6.5, unlike = 800;
    double values = f->value_bytes < m->width ? f->value_bytes : m->width;
    double bytes = f->index_bytes + values, steps = of_steps * (f->index_bytes - full_step);
    double convert = copied + a_byte * values + unlike * (f->index_bytes - full_step);
    if (f->diagonal > 0.5) /* a slice like an earlier one is copied, except for plain values */
        spmv_propose_kernel(
            out, "csell_slices", convert / m->plain,
            m->plain / (decode * bytes + steps + m->gather + m->y) * (f->cv > 1 ? 0.7 : 1),
            "%.0f %% of the nonzeros on diagonals of their slice, %.1f of %g bytes per nonzero",
            100 * f->diagonal, bytes, m->width + 4);
    else {
        double entry =
            f->diagonal * decode * bytes + (1 - f->diagonal) * gathered * (1 + f->padding_32);
        spmv_propose_kernel(out, "csell_slices", 25, m->plain / (entry + m->gather + m->y),
                            "columns and values in %.1f of %g bytes per nonzero", bytes,
                            m->width + 4);
    }
}

/* How many rows are sorted by length at a time (sigma). Where lengths differ much a wider window
 * puts more equal rows into a slice, which makes graphs 3 to 10 % faster; with 8192 the x of a
 * window of near columns no longer fits the first cache, and circuits take 1.4 to 1.7 times as
 * long. */
static int64_t window_of(const spmv_features *f) {
    return f->cv > 1 ? 4096 : 1024;
}

/* Eight rows of about the same length lie side by side: no end of a row is mispredicted, no sum
 * waits for the one before. A matrix that comes from memory profits less, and its sorted rows write
 * y in scattered places. */
static void propose_sell(const model *m, spmv_proposals *out) {
    enum { LONG_MEAN = 64 };
    const spmv_features *f = m->f;
    double entry = (m->width + 4) * (f->mean < LONG_MEAN && !m->streams ? 0.85 : 0.93);
    double lists = (m->streams ? 24 : 8) / f->mean;
    spmv_proposal *p = spmv_propose_kernel(
        out, "sell_lanes", 6, m->plain / (entry + m->gather + m->y + lists),
        "rows of %.1f nonzeros ± %.0f %%, sorted by length", f->mean, 100 * f->cv);
    p->setting[0] = (spmv_setting){"slice", 8};
    p->setting[1] = (spmv_setting){"sigma", window_of(f)};
    p->nsettings = 2;
}

/* Bytes of a value in the cheapest dictionary that is common to the whole matrix. */
static double coded_width(const spmv_features *f, double width) {
    return f->distinct == 1                 ? 0
           : f->distinct <= SPMV_FEW_VALUES ? 1
           : f->exact_f32 == 1              ? 4
                                            : width;
}

/* As for sell_lanes, but with less to read: what is left is mostly the time of reading x. */
static void propose_sell16(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double near = f->cols <= 1 << 16 ? 1 : f->near_16, read_x = 4, streamed = 0.5;
    double bytes = 2 * near + 4 * (1 - near) + coded_width(f, m->width);
    double lists = (f->evicted ? 24 : 6) * m->sorted; /* y is written in scattered places */
    spmv_proposal *p = spmv_propose_kernel(
        out, "sell16_lanes", 5, m->plain / (read_x + streamed * bytes + m->gather + m->y + lists),
        "rows of %.1f nonzeros ± %.0f %%, in about %.1f of %g bytes per nonzero", f->mean,
        100 * f->cv, bytes, m->width + 4);
    p->setting[0] = (spmv_setting){"sigma", window_of(f)};
    p->nsettings = 1;
}

/* A row of a block takes the same time however few nonzeros it holds. */
static void propose_spc5(const model *m, spmv_proposals *out) {
    const double block_bytes[3] = {4 + 1, 4 + 2, 4 + 4}; /* a column and masks */
    const spmv_features *f = m->f;
    const double row_of_block = m->streams ? 28 : 33;
    int best = 0;
    for (int k = 1; k < 3; k++)
        if (block_bytes[k] / f->per_block[k] < block_bytes[best] / f->per_block[best]) best = k;
    double bytes = m->width + block_bytes[best] / f->per_block[best],
           expand = row_of_block / f->per_block[0], entry = bytes > expand ? bytes : expand;
    spmv_propose_kernel(out, "spc5_rows", 5 + 20 / f->per_block[0],
                        m->plain / (entry + m->gather + m->y + m->ends),
                        "%.1f nonzeros in a block of %d x 8", f->per_block[best], 1 << best);
}

/* A block takes the same time however full it is; its x is a single load. */
static void propose_blocks(const model *m, spmv_proposals *out) {
    const double full = 0.8, decode = 1.1;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2, cells = side * side;
    double fill = side == 3 ? f->fill_3 : f->fill_2, stored = m->width + 4 / (double)cells;
    if (fill < full) return;
    spmv_proposal *p = spmv_propose_kernel(
        out, "bsr_lanes", 7, m->plain / (decode * stored / fill + m->gather / (double)side + m->y),
        "blocks of %lld x %lld, %.0f %% full", (long long)side, (long long)side, 100 * fill);
    p->setting[0] = (spmv_setting){"shape_rows", side};
    p->setting[1] = (spmv_setting){"shape_cols", side};
    p->nsettings = 2;
}

/* Storing half of the matrix does not pay for short rows, where y is most of the traffic, nor for a
 * matrix that the caches hold. */
static void propose_sss(const model *m, spmv_proposals *out) {
    enum { LEAST_MEAN = 12, LEAST_ENTRIES = 1 << 20 };
    const double two_additions = 9; /* bytes per nonzero that take as long as adding twice */
    const spmv_features *f = m->f;
    if (f->symmetric < 1 || f->rows != f->cols) return;
    if (f->mean < LEAST_MEAN || (f->nnz < LEAST_ENTRIES && !f->evicted)) return;
    spmv_propose_kernel(out, "sss_rows", 9,
                        m->plain / (two_additions + 1.5 * m->gather + 2 * m->y + m->ends),
                        "symmetric as far as seen: half of it stored");
}

/* It reads half of the bytes of csell_slices, but y twice. Where a dictionary shrinks the values to
 * little, y is most of what is read. */
static void propose_csell_sym(const model *m, spmv_proposals *out) {
    enum { LEAST_ENTRIES = 1 << 20 };
    const double decode = 1.1, least_value = 2, windows = 1.15;
    const spmv_features *f = m->f;
    double values = f->value_bytes < m->width ? f->value_bytes : m->width;
    double bytes = f->index_bytes + values, half = 0.5 + 0.5 / f->mean;
    if (f->symmetric < 1 || f->rows != f->cols || f->diagonal <= 0.5) return;
    if (values < least_value || (f->nnz < LEAST_ENTRIES && !f->evicted)) return;
    spmv_propose_kernel(out, "csell_sym_slices", 7 + 20 / f->mean,
                        m->plain / (decode * half * bytes + m->gather + windows * m->y),
                        "symmetric as far as seen, %.0f %% on diagonals: half of it stored",
                        100 * f->diagonal);
}

/* The cache of a core holds the x and y of a block, so that reads of x that would go to memory hit
 * a near cache, at the price of adding to y in every block. Tiles of 128 KiB of x were the best of
 * 64 to 256 KiB on random, R-MAT and power-law matrices; where blocks are almost empty larger
 * ones. */
static void propose_csb_interleaved(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double least = 8; /* a nonzero takes as long as 8 bytes, however few it has */
    int64_t tile = f->precision == SPMV_F64 ? 1 << 14 : 1 << 15;
    double bytes = coded_width(f, m->width) + 4, entry = bytes > least ? bytes : least;
    if (m->gather == 0) return;
    if (f->precision == SPMV_F64 && f->mean * (double)tile / (double)f->cols < 1.0 / 16) tile *= 2;
    spmv_proposal *p = spmv_propose_kernel(
        out, "csb_interleaved_blocks", 6, m->plain / (entry + 0.3 * m->gather + 2 * m->y),
        "%.2f cache lines of x per nonzero, and no cache for x", f->lines);
    p->setting[0] = (spmv_setting){"tile", tile};
    p->setting[1] = (spmv_setting){"schedule", omp_sched_dynamic};
    p->setting[2] = (spmv_setting){"chunk", 1};
    p->nsettings = 3;
}

void spmv_propose_omp(const spmv_features *f, spmv_proposals *out) {
    enum { FEW = 4000, FEW_COLD = 80000 };
    if (f->nnz < FEW && f->rows < FEW) /* takes less time than waking the threads */
        spmv_propose_kernel(out, "csr_serial", 0, 2, "%lld nonzeros", (long long)f->nnz);
    if (f->nnz) {
        model m = model_of(f);
        if (f->sampled) { /* otherwise only the lengths of the rows are known */
            propose_csell(&m, out);
            propose_spc5(&m, out);
            propose_blocks(&m, out);
            propose_sss(&m, out);
            propose_csell_sym(&m, out);
            propose_csb_interleaved(&m, out);
            propose_sell16(&m, out);
        }
        propose_sell(&m, out);
        bool even = f->cv < 1 && (double)f->row_max * 8 * f->threads < (double)f->nnz;
        spmv_propose_kernel(out, "csr_rows", 0, even ? 1.02 : 0.9, "rows in equal shares");
        if (f->evicted && f->nnz < FEW_COLD)
            spmv_propose_kernel(out, "csr_merge", 0, 1.2, "few nonzeros, none of them in a cache");
    }
    spmv_propose_kernel(out, "csr_balanced", 0, 0, "compressed rows in equal shares of nonzeros");
    spmv_propose_kernel(out, "csr_merge", 0, 0,
                        "compressed rows in equal shares of nonzeros and rows");
}
