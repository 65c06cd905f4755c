/* csr_adaptive: CSR-Adaptive: a warp multiplies a row block, successive rows with a bounded number
 * of nonzeros together, or a segment of a row that has more; one launch.
 *
 * Source   Greathouse and Daga, SC'14, "CSR-Adaptive"; there a block of threads takes a row block,
 *          and atomics add what several blocks have of one row.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; the plan's list of row blocks and
 *          row segments; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the lane that has the row's last nonzero; for a row in
 *          segments, by the team that finishes last and adds the segments' sums in order.
 * Work     A warp takes 224 nonzeros at a time and issues all their loads before it uses the first.
 *          Products go to shared memory, a warp's width at a time; from there each lane takes 7
 *          successive ones and adds them up to where rows end, and 6 shuffles join the lanes' sums
 *          of a row. For a single row the lanes add what they loaded. In a small matrix all warps
 *          of a block share a segment, so that a row of a few thousand nonzeros has only one. A
 *          small matrix is prefetched at the start, and the first nonzeros are read before the
 *          previous product has ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once, and 16 per row block.
 * Weak     Where rows have about equal lengths, SELL does the same without shared memory; where the
 *          columns of a row are near each other, so does csr_lanes. On an H200 the 30 KB of code
 *          show in products below 5 us. What was tried and lost: docs/experiments.md.
 * Repeats  bitwise: yes, for an equal block; row blocks and segments depend on the matrix and the
 *          parameter block.
 * Params   block: threads per block, a multiple of 32 up to 512 (0: 128, or 512 from two million
 *          nonzeros on).
 */
#include "plan_row_blocks.cuh"

enum { MOST_THREADS = 512, MOST_ROUNDS = 8, MANY_BLOCKS = 1 << 15, LARGE = 1 << 21 };

/* Two blocks at least fit a multiprocessor. */
static __global__ void __launch_bounds__(MOST_THREADS, 2)
    multiply(const __grid_constant__ ahead read, const __grid_constant__ row_blocks all,
             const __grid_constant__ operands o, int segment_blocks) {
    extern __shared__ warp_room rooms[];
    ask_ahead(read, threadIdx.x);
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP, block = blockIdx.x;
    int at =
        all.team > 1 ? block : block * warps + warp; /* segments take longest: they are first */
    if (block >= segment_blocks) {
        at = (int)all.nsegments + (block - segment_blocks) * warps + warp;
        if (at >= (int)(all.nsegments + all.nrow_blocks)) return; /* the whole warp */
        clear_room(rooms + warp);
    } else if (at >= (int)all.nsegments) {
        return; /* the whole team */
    }
    multiply_block_or_segment(o, all, at, rooms + warp);
}

/* How often a row block may have WARP_ENTRIES nonzeros: once, unless that makes very many row
 * blocks. */
static int64_t rounds_of(int64_t nnz) {
    int64_t rounds = nnz / ((int64_t)WARP_ENTRIES * MANY_BLOCKS);
    return rounds < 1 ? 1 : rounds > MOST_ROUNDS ? MOST_ROUNDS : rounds;
}

/* In matrices that are not large the warps of a block share segments of rows: waiting for the sums
 * of more segments would take longer than loading the nonzeros. */
static bool is_large(int64_t nnz) {
    return nnz >= LARGE;
}

static int64_t block_of(int64_t nnz, const spmv_choice *c) {
    if (c->value[SPMV_block]) return c->value[SPMV_block];
    return is_large(nnz) ? MOST_THREADS : 128;
}

static row_block_sizes row_block_sizes_of(int64_t nnz, const spmv_choice *c) {
    return sizes_of(nnz, rounds_of(nnz), is_large(nnz) ? 1 : (int)block_of(nnz, c) / WARP);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    row_block_sizes size = row_block_sizes_of(A->nnz, c);
    return sizeof(row_blocks) + row_blocks_bytes(A, &size);
}

static spmv_status prepare(spmv_plan *p) {
    const int64_t nnz = p->host->nnz;
    row_blocks *t = (row_blocks *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *t;
    p->choice.value[SPMV_block] = block_of(nnz, &p->choice);
    row_block_sizes size = row_block_sizes_of(nnz, &p->choice);
    TRY(row_blocks_make(p, (const csr *)p->store, &size, t));
    p->traffic_bytes += p->scratch_bytes;
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    row_blocks_free(p->device, (row_blocks *)p->scratch);
    free(p->scratch);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    row_blocks t = *(const row_blocks *)p->scratch;
    int64_t block = p->choice.value[SPMV_block], warps = block / WARP;
    int segment_blocks = (int)blocks_for(t.nsegments, warps / t.team);
    unsigned grid = (unsigned)(segment_blocks + blocks_for(t.nrow_blocks, warps));
    operands o = {A->row_ptr, A->col_idx, A->values, (const real *)v->x, result_of(v)};
    if (grid == 0) return SPMV_OK;
    ahead read = ahead_of(A->row_ptr, (size_t)(A->s.rows + 1) * sizeof *A->row_ptr, A->col_idx,
                          A->values, A->s.nnz, o.x, A->s.cols, grid);
    void *arguments[] = {&read, &t, &o, &segment_blocks};
    return launch_overlapping(p, stream_of(v), (const void *)multiply, grid, dim3((unsigned)block),
                              (size_t)warps * sizeof(warp_room), arguments);
}

static const spmv_param params[] = {{SPMV_block, 0, 0, MOST_THREADS, WARP, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_adaptive) = {
    /* name, alias  */ "csr_adaptive",
    NULL,
    /* format       */ "csr",
    /* summary      */
    "a warp takes a block of rows of so many nonzeros together, or a segment of a long row",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
