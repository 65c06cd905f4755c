/* propose.c: which OpenMP kernels should be fast on a matrix. A model in bytes: what the safe
 * kernel waits for an entry, over the same of another. The model only orders: what it proposes is
 * timed. Preparation is in products of csr_balanced, as measured on two cores with matrices that no
 * cache holds. */
#include "spmv_kernel.h"
#include <omp.h>

typedef struct model {
    const spmv_features *f;
    double width, plain; /* bytes of a value; bytes an entry that the safe kernel waits for */
    double gather, y;    /* of which: for x, and for what a row costs (y is fetched and written) */
    double ends;         /* and for ends of rows, more where the processor does not guess them */
    double sorted;       /* rows that move when sorted by length, of an entry */
    bool streams;        /* the matrix comes from memory: bytes count more than instructions */
} model;

/* x that is read in no order and lies beyond the near caches: a read costs as much as 50 bytes of
 * the matrix (uniform random columns, x of 8 MB: 2 ns beside 0.5 ns for the stream); columns within
 * 2^16 of the rows around are near. */
static model model_of(const spmv_features *f) {
    const double near_cache = 1 << 20, read_bytes = 50, end_bytes = 14, missed_bytes = 16,
                 uneven_cv = 0.2;
    model m = {.f = f, .width = f->precision == SPMV_F64 ? 8 : 4};
    /* Of a small x that no cache holds yet, what is read twice still comes from the near ones. */
    double x = m.width * (double)f->cols;
    bool far = x > near_cache * f->threads || (f->evicted && x > near_cache / 2);
    m.streams = f->evicted || (m.width + 4) * (double)f->nnz > (double)f->cache;
    m.gather = far ? read_bytes * f->lines * (1 - f->near_16) : 0;
    m.y = (4 + 2 * m.width) / f->mean;
    /* Of rows that are almost all equal few are guessed wrong, and sorting moves few. */
    double uneven = f->cv < uneven_cv ? f->cv / uneven_cv : 1;
    m.ends = (end_bytes + missed_bytes * uneven) / f->mean;
    m.sorted = uneven * (1 - f->empty_share) / f->mean;
    m.plain = m.width + 4 + m.gather + m.y + m.ends;
    return m;
}

/* Slices without common diagonals are gathered from entry by entry, which takes longer than their
 * bytes, and to make; where rows differ in length most lanes wait. On diagonals a step takes its
 * time however few of the 32 rows it holds. */
static void propose_csell(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double decode = 1.1, gathered = 19, full_step = 0.25, of_steps = 10;
    /* To convert an entry, as m->plain; unlike: of slices like no other, with steps not full. */
    const double copied = 45, a_byte = 6.5, unlike = 800;
    double values = f->value_bytes < m->width ? f->value_bytes : m->width;
    double bytes = f->index_bytes + values, steps = of_steps * (f->index_bytes - full_step);
    double convert = copied + a_byte * values + unlike * (f->index_bytes - full_step);
    if (f->diagonal > 0.5) /* slices that repeat are copied; plain values are not */
        spmv_offer(out, "csell_slices", convert / m->plain,
                   m->plain / (decode * bytes + steps + m->gather + m->y) * (f->cv > 1 ? 0.7 : 1),
                   "%.0f %% of the entries on diagonals of their slice, %.1f of %g bytes an entry",
                   100 * f->diagonal, bytes, m->width + 4);
    else {
        double entry =
            f->diagonal * decode * bytes + (1 - f->diagonal) * gathered * (1 + f->padding_32);
        spmv_offer(out, "csell_slices", 25, m->plain / (entry + m->gather + m->y),
                   "columns and values in %.1f of %g bytes an entry", bytes, m->width + 4);
    }
}

/* Rows sorted by length at a time. Where lengths differ much a wider window has more equal rows in
 * a slice (graphs: 3 to 10 %); at 8192 the x of a window of near columns leaves the first cache
 * (circuits: 1.4 to 1.7 times as long). */
static int64_t window_of(const spmv_features *f) {
    return f->cv > 1 ? 4096 : 1024;
}

/* Eight rows of about one length side by side: no end of a row is guessed wrong, no sum waits for
 * the one before. What comes from memory gains less by that, and there sorted rows write y here and
 * there. */
static void propose_sell(const model *m, spmv_proposals *out) {
    enum { LONG_MEAN = 64 };
    const spmv_features *f = m->f;
    double entry = (m->width + 4) * (f->mean < LONG_MEAN && !m->streams ? 0.85 : 0.93);
    double lists = (m->streams ? 24 : 8) / f->mean;
    spmv_proposal *p = spmv_offer(
        out, "sell_lanes", 6, m->plain / (entry + m->gather + m->y + lists),
        "rows of %.1f entries, give or take %.0f %%, sorted by length", f->mean, 100 * f->cv);
    p->setting[0] = (spmv_setting){"slice", 8};
    p->setting[1] = (spmv_setting){"sigma", window_of(f)};
    p->nsettings = 2;
}

/* Bytes of a value where one code is for all. */
static double coded_width(const spmv_features *f, double width) {
    return f->distinct == 1                 ? 0
           : f->distinct <= SPMV_FEW_VALUES ? 1
           : f->exact_f32 == 1              ? 4
                                            : width;
}

/* As propose_sell, with less to read: what is left is mostly the time that reading x takes. */
static void propose_sell16(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double near = f->cols <= 1 << 16 ? 1 : f->near_16, read_x = 4, streamed = 0.5;
    double bytes = 2 * near + 4 * (1 - near) + coded_width(f, m->width);
    double lists = (f->evicted ? 24 : 6) * m->sorted; /* y is written here and there */
    spmv_proposal *p = spmv_offer(
        out, "sell16_lanes", 5, m->plain / (read_x + streamed * bytes + m->gather + m->y + lists),
        "rows of %.1f entries, give or take %.0f %%, in about %.1f of %g bytes an entry", f->mean,
        100 * f->cv, bytes, m->width + 4);
    p->setting[0] = (spmv_setting){"sigma", window_of(f)};
    p->nsettings = 1;
}

/* A row of a block takes its time however few entries it holds. */
static void propose_spc5(const model *m, spmv_proposals *out) {
    const double block_bytes[3] = {4 + 1, 4 + 2, 4 + 4}; /* a column and masks */
    const spmv_features *f = m->f;
    const double row_of_block = m->streams ? 28 : 33;
    int best = 0;
    for (int k = 1; k < 3; k++)
        if (block_bytes[k] / f->per_block[k] < block_bytes[best] / f->per_block[best]) best = k;
    double bytes = m->width + block_bytes[best] / f->per_block[best],
           expand = row_of_block / f->per_block[0], entry = bytes > expand ? bytes : expand;
    spmv_offer(out, "spc5_rows", 5 + 20 / f->per_block[0],
               m->plain / (entry + m->gather + m->y + m->ends), "%.1f entries in a block of %d x 8",
               f->per_block[best], 1 << best);
}

/* A block takes its time however full it is; its x is one load. */
static void propose_blocks(const model *m, spmv_proposals *out) {
    const double full = 0.8, decode = 1.1;
    const spmv_features *f = m->f;
    const int64_t side = f->fill_3 >= f->fill_2 ? 3 : 2, cells = side * side;
    double fill = side == 3 ? f->fill_3 : f->fill_2, stored = m->width + 4 / (double)cells;
    if (fill < full) return;
    spmv_proposal *p = spmv_offer(
        out, "bsr_lanes", 7, m->plain / (decode * stored / fill + m->gather / (double)side + m->y),
        "blocks of %lld x %lld, %.0f %% full", (long long)side, (long long)side, 100 * fill);
    p->setting[0] = (spmv_setting){"shape_rows", side};
    p->setting[1] = (spmv_setting){"shape_cols", side};
    p->nsettings = 2;
}

/* Short rows gain nothing, since y is then most of the traffic; nor does what the caches hold. */
static void propose_sss(const model *m, spmv_proposals *out) {
    enum { LEAST_MEAN = 12, LEAST_ENTRIES = 1 << 20 };
    const double two_additions = 9; /* more than the bytes that half of the entries take */
    const spmv_features *f = m->f;
    if (f->symmetric < 1 || f->rows != f->cols) return;
    if (f->mean < LEAST_MEAN || (f->nnz < LEAST_ENTRIES && !f->evicted)) return;
    spmv_offer(out, "sss_rows", 9,
               m->plain / (two_additions + 1.5 * m->gather + 2 * m->y + m->ends),
               "symmetric as far as seen: half of it stored");
}

/* Half of csell_slices' bytes, at the price of y twice. Where a code leaves little of the values y
 * is most of what is read. */
static void propose_csell_sym(const model *m, spmv_proposals *out) {
    enum { LEAST_ENTRIES = 1 << 20 };
    const double decode = 1.1, least_value = 2, windows = 1.15;
    const spmv_features *f = m->f;
    double values = f->value_bytes < m->width ? f->value_bytes : m->width;
    double bytes = f->index_bytes + values, half = 0.5 + 0.5 / f->mean;
    if (f->symmetric < 1 || f->rows != f->cols || f->diagonal <= 0.5) return;
    if (values < least_value || (f->nnz < LEAST_ENTRIES && !f->evicted)) return;
    spmv_offer(out, "csell_sym_slices", 7 + 20 / f->mean,
               m->plain / (decode * half * bytes + m->gather + windows * m->y),
               "symmetric as far as seen, %.0f %% on diagonals: half of it stored",
               100 * f->diagonal);
}

/* Blocks whose part of x and of y the cache of a core holds: reads of x that go far otherwise come
 * nearer, at the price of adding to y in every block. Tiles of 128 KiB of x were the best of 64 to
 * 256 on random, R-MAT and power-law matrices; larger ones where a block is all but empty. */
static void propose_csb_interleaved(const model *m, spmv_proposals *out) {
    const spmv_features *f = m->f;
    const double least = 8; /* an entry takes its time however few its bytes */
    int64_t tile = f->precision == SPMV_F64 ? 1 << 14 : 1 << 15;
    double bytes = coded_width(f, m->width) + 4, entry = bytes > least ? bytes : least;
    if (m->gather == 0) return;
    if (f->precision == SPMV_F64 && f->mean * (double)tile / (double)f->cols < 1.0 / 16) tile *= 2;
    spmv_proposal *p = spmv_offer(out, "csb_interleaved_blocks", 6,
                                  m->plain / (entry + 0.3 * m->gather + 2 * m->y),
                                  "%.2f cache lines of x an entry, and no cache for x", f->lines);
    p->setting[0] = (spmv_setting){"tile", tile};
    p->setting[1] = (spmv_setting){"schedule", omp_sched_dynamic};
    p->setting[2] = (spmv_setting){"chunk", 1};
    p->nsettings = 3;
}

void spmv_propose_omp(const spmv_features *f, spmv_proposals *out) {
    enum { FEW = 4000, FEW_COLD = 80000 };
    if (f->nnz < FEW && f->rows < FEW) /* less than it takes to wake a team */
        spmv_offer(out, "csr_serial", 0, 2, "%lld entries", (long long)f->nnz);
    if (f->nnz) {
        model m = model_of(f);
        if (f->sampled) { /* else nothing is known but the rows' lengths */
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
        spmv_offer(out, "csr_rows", 0, even ? 1.02 : 0.9, "rows in equal shares");
        if (f->evicted && f->nnz < FEW_COLD)
            spmv_offer(out, "csr_merge", 0, 1.2, "few entries, none of them in a cache");
    }
    spmv_offer(out, "csr_balanced", 0, 0, "compressed rows in equal shares of entries");
    spmv_offer(out, "csr_merge", 0, 0, "compressed rows in equal shares of entries and rows");
}
