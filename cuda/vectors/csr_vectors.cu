/* csr_vectors: several vectors; lanes along vectors and along the nonzeros of a CSR matrix's rows.
 *
 * Source   Yang, Buluc and Owens, Euro-Par 2018, "Design Principles for Sparse Matrix
 *          Multiplication on the GPU": row splitting, coalesced rows of x; long rows cut as by Pang
 *          and others (RoDe), PPoPP'24.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols x k]; y[rows x k] only if beta
 *          != 0; the plan's list of parts of long rows.
 * Writes   y[rows x k], each entry once.
 * Work     A group of lanes multiplies a row. If vectors are stored by rows, a lane has 16 bytes of
 *          each row of x, a set of lanes side by side covers the row of x, and up to four such sets
 *          take nonzeros in turn; shuffles add their sums. A group with four or more lanes side by
 *          side multiplies up to four rows. If vectors are stored by columns, a lane has the sums
 *          of up to eight vectors, or 16 columns of x are first copied as rows. If some row has 256
 *          nonzeros or more, rows of about four times the mean are cut into parts, and another
 *          launch adds the parts' sums in order.
 * Cost     2 k nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + k (cols + rows) sizeof
 *          real bytes if x is read once; the matrix is read again for every 512 bytes of a row of
 *          x, or eight columns. On an H100 the L2 cache limits from 16 vectors on: 75 to 85 percent
 *          of its bandwidth.
 * Weak     One vector, for which csr_lanes has more loads in flight; rows of very different lengths
 *          up to 255, which keep other rows of their warp waiting.
 * Repeats  bitwise: yes.
 * Params   lanes: lanes that take a row's nonzeros in turn, 1, 2 or 4 (0: by the mean row and k);
 *          turned: columns of x are first copied as rows, faster where reads of x are far apart
 *          (0).
 */
#include "cuda/build.cuh"
#include "cuda/vectors.cuh"
#include "formats/csr/csr.h"
#include <limits.h>

enum {
    THREADS = 256,
    SHORT = 12,                /* mean nonzeros per row below which one lane multiplies all */
    LEAST_LONG = 64,           /* minimum length of rows that are cut: a power of two */
    MOST_LONG = 256,           /* rows of this length are always cut; if there is none, no row is
                                  cut */
    MANY_LANES = 4,            /* lanes along the vectors, above which a block has few rows */
    MOST_STEPS = 4,            /* maximum number of rows that a group of lanes multiplies one
                                  after the other */
    BLOCKS_PER_SM = 32,        /* eight times the number of resident blocks */
    TOGETHER = 8,              /* threads that add the parts of a row */
    APART = 4,                 /* partial sums of a row that are added at the end */
    MOST_SUMS = 8,             /* maximum number of vectors per lane */
    MOST_COLUMNS = WARP * SIDE /* vectors of one launch */
};

static const int64_t A_LONG_ROW = (int64_t)1 << 32;

typedef struct part { /* a part of a long row */
    ofs begin;
    int entries;
} part;

typedef struct long_row {
    int64_t first; /* index of its first part */
    int parts;
    idx row;
} long_row;

typedef struct parts {
    int64_t n, rows; /* number of parts of all long rows; number of long rows */
    part *list;      /* [n] */
    long_row *joins; /* [rows] */
    real *partial;   /* [n x MOST_COLUMNS] sums of the parts */
    int64_t blocks;  /* blocks that keep the GPU busy, approximately */
    int cut;         /* length from which a row is long; a part has at least half as many
                        nonzeros */
} parts;

typedef struct operands { /* operands of a launch */
    const ofs *row_ptr;
    const idx *col;
    const real *value;
    vectors v;
    idx rows;
    int side; /* 2^side lanes are assigned to different vectors */
} operands;

/* Adds the partial sums of a row: over the lanes that multiply different nonzeros, then within a
 * lane. */
template <int SUMS, int IN_TURN>
static __device__ __forceinline__ void add_up(real (&sum)[APART / IN_TURN][SUMS], int side,
                                              real *out) {
    enum { EACH = APART / IN_TURN };
#pragma unroll
    for (int apart = 1; apart < IN_TURN; apart *= 2) {
#pragma unroll
        for (int n = 0; n < EACH * SUMS; n++)
            sum[n / SUMS][n % SUMS] +=
                __shfl_xor_sync(ALL_LANES, sum[n / SUMS][n % SUMS], apart << side);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        out[s] = EACH == 1 ? sum[0][s]
                 : EACH == 2
                     ? sum[0][s] + sum[EACH - 1][s]
                     : (sum[0][s] + sum[1 % EACH][s]) + (sum[2 % EACH][s] + sum[3 % EACH][s]);
}

/* Multiplies DEPTH entries of a row, IN_TURN apart. ALL: all entries exist; otherwise up to
 * `left`. */
template <int SUMS, int IN_TURN, loading HOW, bool ALL, int DEPTH>
static __device__ __forceinline__ void add_entries(const vectors &v, const idx *col,
                                                   const real *value, int left, const real *x,
                                                   int c, real (&sum)[APART / IN_TURN][SUMS]) {
    idx j[DEPTH];
    real a[DEPTH];
    __align__(16) real xj[DEPTH][SUMS];
#pragma unroll
    for (int u = 0; u < DEPTH; u++) {
        if (!ALL && u * IN_TURN >= left) continue;
        j[u] = __ldg(col + u * IN_TURN);
        a[u] = __ldg(value + u * IN_TURN);
    }
#pragma unroll
    for (int u = 0; u < DEPTH; u++)
        if (ALL || u * IN_TURN < left) load_numbers<SUMS, HOW>(v, x, j[u], c, xj[u]);
#pragma unroll
    for (int u = 0; u < DEPTH; u++) {
        if (!ALL && u * IN_TURN >= left) continue;
        real *const mine = sum[u % (APART / IN_TURN)];
#pragma unroll
        for (int s = 0; s < SUMS; s++) mine[s] = fma(a[u], xj[u][s], mine[s]);
    }
}

/* Sums n entries of a row, from `begin` on; the first lanes of the group get the result. A row has
 * four partial sums, each over every fourth entry, 4 / IN_TURN of them per lane. The order of
 * addition does not depend on the number of vectors. Must be called by every lane of the warp. */
template <int SUMS, int IN_TURN, loading HOW>
static __device__ __forceinline__ void sum_entries(const operands &o, ofs begin, int n, int lane,
                                                   real *out) {
    enum {
        EACH = APART / IN_TURN,
        DEPTH = SUMS > SIDE && EACH < 4 ? 2 : 4
    }; /* entries loaded at once */
    const int turn = lane >> o.side, c = (lane & ((1 << o.side) - 1)) * SUMS;
    const idx *col = o.col + begin + turn;
    const real *value = o.value + begin + turn, *x = x_of_lane(o.v, c);
    real sum[EACH][SUMS];
#pragma unroll
    for (int m = 0; m < EACH * SUMS; m++) sum[m / SUMS][m % SUMS] = 0;
    int left = n - turn;
#pragma unroll 1
    for (; left > (DEPTH - 1) * IN_TURN; left -= DEPTH * IN_TURN) {
        add_entries<SUMS, IN_TURN, HOW, true, DEPTH>(o.v, col, value, left, x, c, sum);
        col += DEPTH * IN_TURN, value += DEPTH * IN_TURN;
    }
    if (left > 0) add_entries<SUMS, IN_TURN, HOW, false, DEPTH>(o.v, col, value, left, x, c, sum);
    add_up<SUMS, IN_TURN>(sum, o.side, out);
}

template <int SUMS, int IN_TURN, loading HOW>
static __global__ void __launch_bounds__(THREADS, SUMS > SIDE ? 1 : 4)
    multiply(const __grid_constant__ operands o, int cut, int steps) {
    const int log_lanes = o.side + (IN_TURN == 4 ? 2 : IN_TURN - 1), teams = THREADS >> log_lanes;
    const int lane = threadIdx.x & ((1 << log_lanes) - 1), c = lane * SUMS;
    int64_t row = (int64_t)blockIdx.x * teams * steps + (threadIdx.x >> log_lanes);
#pragma unroll 1
    for (int step = 0; step < steps; step++, row += teams) {
        const bool is_row = row < o.rows;
        const ofs begin = is_row ? o.row_ptr[row] : 0, end = is_row ? o.row_ptr[row + 1] : 0;
        const bool leaves = end - begin >= cut;
        real sum[SUMS];
        sum_entries<SUMS, IN_TURN, HOW>(o, begin, leaves ? 0 : (int)(end - begin), lane, sum);
        if (is_row && !leaves && lane >> o.side == 0) put_numbers<SUMS>(o.v, row, c, sum);
    }
}

template <int SUMS, int IN_TURN, loading HOW>
static __global__ void __launch_bounds__(THREADS, SUMS > SIDE ? 1 : 4)
    multiply_parts(const __grid_constant__ operands o, parts all) {
    const int log_lanes = o.side + (IN_TURN == 4 ? 2 : IN_TURN - 1);
    const int lane = threadIdx.x & ((1 << log_lanes) - 1), c = lane * SUMS;
    const int64_t p = (int64_t)blockIdx.x * (THREADS >> log_lanes) + (threadIdx.x >> log_lanes);
    const ofs begin = p < all.n ? all.list[p].begin : 0;
    const int n = p < all.n ? all.list[p].entries : 0;
    real sum[SUMS];
    sum_entries<SUMS, IN_TURN, HOW>(o, begin, n, lane, sum);
    if (p >= all.n || lane >> o.side) return;
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (c + s < o.v.count) all.partial[p * MOST_COLUMNS + c + s] = sum[s];
}

/* Adds a row's parts in a fixed order by TOGETHER threads per vector. A block handles blockDim.z
 * rows. */
static __global__ void join_parts(const __grid_constant__ operands o, parts all) {
    __shared__ real some[MOST_COLUMNS][TOGETHER];
    const int c = threadIdx.x, t = threadIdx.y;
    const int64_t j = (int64_t)blockIdx.x * blockDim.z + threadIdx.z;
    const bool is_there = j < all.rows && c < o.v.count;
    real *const mine = some[threadIdx.z * blockDim.x + c];
    real sum = 0;
    if (is_there) {
        const long_row row = all.joins[j];
        const real *from = all.partial + row.first * MOST_COLUMNS + c;
#pragma unroll 8
        for (int q = t; q < row.parts; q += TOGETHER) sum += from[(int64_t)q * MOST_COLUMNS];
        mine[t] = sum;
    }
    __syncthreads();
    if (t > 0 || !is_there) return;
    for (int q = 1; q < TOGETHER; q++) sum += mine[q];
    put_number(o.v, all.joins[j].row, c, sum);
}

/* ---- on the host ----------------------------------------------------------------------------- */

/* Counts the parts of row i in the lower half of count[i]; the upper half is 1 if the row is
 * long. */
static __global__ void count_parts(const ofs *row_ptr, int64_t rows, int cut, int64_t *count) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i > rows) return;
    const int64_t n = i < rows ? row_ptr[i + 1] - row_ptr[i] : 0;
    count[i] = n >= cut ? A_LONG_ROW + n / (cut / 2) : 0;
}

static __global__ void list_parts(const ofs *row_ptr, int64_t rows, const int64_t *before,
                                  parts all) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows || before[i + 1] == before[i]) return;
    const int64_t first = before[i] % A_LONG_ROW, n = before[i + 1] % A_LONG_ROW - first;
    const int64_t length = row_ptr[i + 1] - row_ptr[i];
    all.joins[before[i] / A_LONG_ROW] = {first, (int)n, (idx)i};
    for (int64_t q = 0; q < n; q++) {
        const int64_t begin = length * q / n, end = length * (q + 1) / n;
        all.list[first + q] = {(ofs)(row_ptr[i] + begin), (int)(end - begin)};
    }
}

static spmv_status find_parts(spmv_plan *p, parts *all, int64_t *before) {
    const csr *A = (const csr *)p->store;
    const int64_t rows = A->s.rows;
    const unsigned blocks = (unsigned)blocks_for(rows + 1, THREADS);
    int64_t counted;
    count_parts<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, all->cut, before);
    TRY(launched(p));
    TRY(sum_before(p->device, rows + 1, before));
    TRY(p->device->backend->get(p->device, &counted, before + rows, sizeof counted));
    if (counted == 0) return SPMV_OK;
    all->n = counted % A_LONG_ROW, all->rows = counted / A_LONG_ROW;
    TRY(take_scratch(p, (size_t)all->rows * sizeof *all->joins, (void **)&all->joins));
    TRY(take_scratch(p, (size_t)all->n * sizeof *all->list, (void **)&all->list));
    TRY(take_scratch(p, (size_t)all->n * MOST_COLUMNS * sizeof *all->partial,
                     (void **)&all->partial));
    list_parts<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, before, *all);
    return launched(p);
}

/* Returns the length from which rows are cut, if some row has MOST_LONG nonzeros: a power of two,
 * about four times the mean. A low limit pays, because long rows delay other rows of the warp, and
 * the launches that add parts are needed anyway. */
static int cut_of(int64_t rows, int64_t nnz) {
    int cut = LEAST_LONG;
    while (cut < MOST_LONG && cut * rows < 4 * nnz) cut *= 2;
    return cut;
}

/* Upper bound of the workspace, as if all nonzeros were in long rows. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    const int64_t cut = cut_of(A->rows, A->nnz);
    return sizeof(parts) + (size_t)(A->nnz / cut) * sizeof(long_row) +
           (size_t)(A->nnz / (cut / 2)) * (sizeof(part) + MOST_COLUMNS * sizeof(real));
}

static spmv_status prepare(spmv_plan *p) {
    parts *all = (parts *)calloc(1, sizeof *all);
    void *before = NULL;
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    int sms;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, p->device->number));
    all->blocks = (int64_t)sms * BLOCKS_PER_SM;
    all->cut = cut_of(p->host->rows, p->host->nnz);
    if (spmv_longest(p->matrix) < MOST_LONG) return SPMV_OK;
    TRY(p->device->backend->alloc(p->device, (size_t)(p->host->rows + 1) * sizeof(int64_t),
                                  &before));
    const spmv_status status = find_parts(p, all, (int64_t *)before);
    p->device->backend->release(p->device, before);
    return status;
}

static void release(spmv_plan *p) {
    parts *all = (parts *)p->scratch;
    p->device->backend->release(p->device, all->list);
    p->device->backend->release(p->device, all->joins);
    p->device->backend->release(p->device, all->partial);
    free(all);
}

/* Returns how many rows a group of lanes multiplies one after the other: where a block has few
 * rows, more rows let it reuse x in the L1 cache, as long as there are enough blocks. */
static int steps_of(const operands &o, int64_t lanes, int64_t enough) {
    const int64_t blocks = o.rows * lanes / THREADS;
    if (1 << o.side < MANY_LANES) return 1;
    return (int)max(min(blocks / enough, (int64_t)MOST_STEPS), (int64_t)1);
}

template <int SUMS, int IN_TURN, loading HOW>
static spmv_status launch(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    const parts all = *(const parts *)p->scratch;
    const int64_t lanes = (int64_t)IN_TURN << o.side;
    const int steps = steps_of(o, lanes, all.blocks);
    multiply<SUMS, IN_TURN, HOW>
        <<<(unsigned)blocks_for(o.rows * lanes, (int64_t)THREADS * steps), THREADS, 0, stream>>>(
            o, all.n > 0 ? all.cut : INT_MAX, steps);
    if (all.n > 0) {
        multiply_parts<SUMS, IN_TURN, HOW>
            <<<(unsigned)blocks_for(all.n * lanes, THREADS), THREADS, 0, stream>>>(o, all);
        const int columns = 1 << exponent_of(o.v.count),
                  each = max(THREADS / TOGETHER / columns, 1);
        join_parts<<<(unsigned)blocks_for(all.rows, each), dim3(columns, TOGETHER, each), 0,
                     stream>>>(o, all);
    }
    return launched(p);
}

/* Returns the number of lanes that multiply different nonzeros of a row: 1 if rows are short, to
 * leave no lane idle. More lanes along the vectors leave fewer for nonzeros. */
static int lanes_in_turn(const spmv_plan *p, int side_by_side, int of_long) {
    const int64_t asked = p->choice.value[SPMV_lanes], fit = WARP / side_by_side;
    const int64_t lanes = asked > 0 ? asked : p->host->nnz < SHORT * p->host->rows ? 1 : of_long;
    return (int)min(min(lanes, fit), (int64_t)APART);
}

template <loading HOW>
static spmv_status launch_rows(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    switch (lanes_in_turn(p, 1 << o.side, o.side > 2 ? 1 : o.side > 0 ? 2 : APART)) {
    case 1: return launch<SIDE, 1, HOW>(p, o, stream);
    case 2: return launch<SIDE, 2, HOW>(p, o, stream);
    default: return launch<SIDE, APART, HOW>(p, o, stream);
    }
}

/* With few vectors, one lane can keep the sums of every fourth nonzero. */
template <loading HOW>
static spmv_status launch_columns(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    const bool short_rows = lanes_in_turn(p, 1, APART) < APART;
    switch (exponent_of(o.v.count)) {
    case 0: return launch<1, APART, HOW>(p, o, stream);
    case 1:
        return short_rows ? launch<2, 1, HOW>(p, o, stream) : launch<2, APART, HOW>(p, o, stream);
    case 2:
        return short_rows ? launch<4, 1, HOW>(p, o, stream) : launch<4, APART, HOW>(p, o, stream);
    default:
        return short_rows ? launch<MOST_SUMS, 2, HOW>(p, o, stream)
                          : launch<MOST_SUMS, APART, HOW>(p, o, stream);
    }
}

static operands operands_of(const spmv_plan *p, const vectors &v, int side) {
    const csr *A = (const csr *)p->store;
    return {A->row_ptr, A->col_idx, A->values, v, (idx)A->s.rows, side};
}

/* Multiplies the v.count vectors of v, stored by rows. */
static spmv_status run_some_rows(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const operands o = operands_of(p, v, exponent_of(blocks_for(v.count, SIDE)));
    return v.x_whole ? launch_rows<AT_ONCE>(p, o, stream)
                     : launch_rows<WHAT_IS_THERE>(p, o, stream);
}

static spmv_status run_rows(const spmv_plan *p, const spmv_operands *v) {
    return run_in_batches(p, v, MOST_COLUMNS, run_some_rows);
}

static spmv_status run_direct(const spmv_plan *p, const spmv_operands *all) {
    vectors v = vectors_of(all);
    for (int64_t j = 0; p->rows > 0 && j < all->k; j += v.count, go_on(&v)) {
        v.count = (int)min(all->k - j, (int64_t)MOST_SUMS);
        const operands o = operands_of(p, v, 0);
        TRY((v.count & (v.count - 1)) == 0 ? launch_columns<EACH_ONE>(p, o, stream_of(all))
                                           : launch_columns<WHAT_IS_THERE>(p, o, stream_of(all)));
    }
    return SPMV_OK;
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return p->choice.value[SPMV_turned] && v->k > 1 ? run_in_rows(p, v, run_some_rows)
                                                    : run_direct(p, v);
}

static const spmv_param params[] = {
    {SPMV_lanes, 0, 0, APART, 1, true}, {SPMV_turned, 0, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_vectors) = {
    .name = "csr_vectors",
    .format = "csr",
    .summary = "several vectors: lanes along them and along the nonzeros of a row",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PANEL,
    .estimate = estimate,
    .prepare = prepare,
    .run = run_direct,
    .run_columns = run_columns,
    .run_rows = run_rows,
    .release = release,
};
