/* csr_adaptive: a warp takes rows of a CSR matrix that have so many entries together, or a part of
 * a row that has more; one launch.
 *
 * Source   Greathouse and Daga, SC'14, "CSR-Adaptive", there by the block, and with atomics where
 *          several blocks share a row.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; group[groups], part[parts]; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, by the lane that has its last entry; of a row in parts, by who
 *          comes last and adds the parts' sums in order.
 * Work     224 entries at a time, all loads of which are in flight before the first is used.
 *          Products go to shared memory, a warp's width at a time, and from there 7 in a row to
 *          each lane, which adds up to where rows end; 6 shuffles join what lanes have of a row.
 *          Of a single row the lanes add what they loaded. Where there is little to do a block
 *          shares a part: a row of a few thousand entries then has one. All that a small matrix has
 *          is asked for at the start; the first entries are read before the product in front has
 *          ended (ahead.cuh).
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once, and 16 a group.
 * Weak     where rows are alike SELL needs no shared memory; where x is near, neither do lanes.
 *          On an H200 its 30 KB of code show in products below 5 us, yet rolled loops were slower
 *          (c-62 by 14 %), and rows written by way of shared memory were faster only where they
 *          have one or two entries (8 %).
 *          Panels of columns, one launch each over all rows, with y read and written again, were
 *          5 % faster at 2 panels of a 64 MB x (giantrow:8000000, 442 to 424 us), 8 % at 2 of 32 MB
 *          (random:4000000:16, but no faster than SELL) and slower at 3 and 4: with few entries a
 *          row in a panel, rows are the cost.
 * Repeats  bitwise: yes, for an equal block; groups and parts depend on the matrix and the block.
 * Params   block: threads per block, a multiple of 32 up to 512 (0: 128, or 512 from two
 *          million entries on).
 */
#include "plan_tasks.cuh"

enum { MOST_THREADS = 512, MOST_PIECES = 8, MANY_GROUPS = 1 << 15, LARGE = 1 << 21 };

/* Two blocks at least fit a multiprocessor. */
static __global__ void __launch_bounds__(MOST_THREADS, 2)
    multiply(const __grid_constant__ ahead read, const __grid_constant__ tasks all,
             const __grid_constant__ operands o, int part_blocks) {
    extern __shared__ warp_room rooms[];
    ask_ahead(read, threadIdx.x);
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP, block = blockIdx.x;
    int at = all.team > 1 ? block : block * warps + warp; /* parts take longest: they are first */
    if (block >= part_blocks) {
        at = (int)all.nparts + (block - part_blocks) * warps + warp;
        if (at >= (int)(all.nparts + all.ngroups)) return; /* the whole warp */
        clear_room(rooms + warp);
    } else if (at >= (int)all.nparts) {
        return; /* the whole team */
    }
    do_task(o, all, at, rooms + warp);
}

/* Of a group: one, unless that makes very many groups. */
static int64_t pieces_of(int64_t nnz) {
    int64_t pieces = nnz / ((int64_t)PIECE * MANY_GROUPS);
    return pieces < 1 ? 1 : pieces > MOST_PIECES ? MOST_PIECES : pieces;
}

/* Of small ones the warps of a block share parts of rows, not to wait for each other's sums longer
 * than for the entries. */
static bool is_large(int64_t nnz) {
    return nnz >= LARGE;
}

static int64_t block_of(int64_t nnz, const spmv_choice *c) {
    if (c->value[SPMV_block]) return c->value[SPMV_block];
    return is_large(nnz) ? MOST_THREADS : 128;
}

static task_sizes task_sizes_of(int64_t nnz, const spmv_choice *c) {
    return sizes_of(nnz, pieces_of(nnz), is_large(nnz) ? 1 : (int)block_of(nnz, c) / WARP);
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    task_sizes size = task_sizes_of(A->nnz, c);
    return sizeof(tasks) + tasks_bytes(A, &size);
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    tasks *t = (tasks *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *t;
    spmv_mat_rows(p->matrix, &A);
    p->choice.value[SPMV_block] = block_of(A.nnz, &p->choice);
    task_sizes size = task_sizes_of(A.nnz, &p->choice);
    TRY(tasks_make(p, (const csr *)p->store, &size, t));
    p->traffic_bytes += p->scratch_bytes;
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    tasks_free(p->device, (tasks *)p->scratch);
    free(p->scratch);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const csr *A = (const csr *)p->store;
    tasks t = *(const tasks *)p->scratch;
    int64_t block = p->choice.value[SPMV_block], warps = block / WARP;
    int part_blocks = (int)blocks_for(t.nparts, warps / t.team);
    unsigned grid = (unsigned)(part_blocks + blocks_for(t.ngroups, warps));
    operands o = {A->row_ptr,  A->col_idx, A->values, (const real *)x,
                  (real)alpha, (real)beta, (real *)y};
    if (grid == 0) return SPMV_OK;
    ahead read = ahead_of(A->row_ptr, (size_t)(A->s.rows + 1) * sizeof *A->row_ptr, A->col_idx,
                          A->values, A->s.nnz, o.x, A->s.cols, grid);
    void *arguments[] = {&read, &t, &o, &part_blocks};
    return launch_overlapping(p, (const void *)multiply, grid, dim3((unsigned)block),
                              (size_t)warps * sizeof(warp_room), arguments);
}

static const spmv_param params[] = {{SPMV_block, 0, 0, MOST_THREADS, WARP, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_adaptive) = {
    /* name, alias  */ "csr_adaptive",
    NULL,
    /* format       */ "csr",
    /* summary      */
    "a warp takes rows of so many entries together, or a part of a long row",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
