/* csr_vectors: several vectors; lanes along them and along the nonzeros of a CSR matrix's rows.
 *
 * Source   Yang, Buluc and Owens, Euro-Par 2018, "Design Principles for Sparse Matrix
 *          Multiplication on the GPU": row splitting, coalesced rows of x; long rows cut as by
 *          Pang and others (RoDe), PPoPP'24.
 * Reads    csr: row_ptr[rows + 1], col_idx[nnz], values[nnz]; x[cols x k]; y[rows x k] only if
 *          beta != 0; the plan's list of parts of long rows.
 * Writes   y[rows x k], each entry once.
 * Work     A group of lanes has a row. In rows of vectors a lane has 16 bytes of each row of x, as
 *          many lanes as that takes stand side by side, and up to four such sets take nonzeros in
 *          turn; shuffles add their sums. In columns a lane has up to eight vectors' sums. A row of
 *          256 nonzeros or more is cut into parts of 128 or more, and another launch adds what they
 *          have, in order.
 * Cost     2 k nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + k (cols + rows) sizeof
 *          real bytes if x is read once, again for every 512 bytes of a row of x, or eight columns.
 * Weak     One vector, where csr_lanes has more loads in flight; rows of very different lengths up
 *          to 255, which keep other rows of their warp waiting.
 * Repeats  bitwise: yes.
 * Params   lanes: that take a row's nonzeros in turn, 1, 2 or 4 (0: by the mean row and k); turned:
 *          columns of x become rows in memory of the plan, and those of z come from there: faster
 *          where a vector's reads are far from each other (0).
 */
#include "cuda/build.cuh"
#include "formats/csr/csr.h"

enum {
    THREADS = 256,
    LONG_ROW = 256,            /* nonzeros of a row that is cut, at least */
    PART = 128,                /* nonzeros of a part of a long row, at least */
    SIDE = 16 / sizeof(real),  /* numbers that a lane loads at once */
    TOGETHER = 8,              /* threads that add the parts of a row */
    APART = 4,                 /* sums of a row that are added at the end */
    MOST_SUMS = 8,             /* vectors of a lane */
    MOST_COLUMNS = WARP * SIDE /* of one launch */
};

typedef struct part { /* of a long row */
    ofs begin;
    int entries;
    idx row;
    int of_row; /* the first one's: how many the row has; else 0 */
} part;

typedef struct parts {
    int64_t n;     /* of all long rows */
    part *list;    /* [n] */
    real *partial; /* [n x MOST_COLUMNS] its sums */
} parts;

typedef struct strides { /* numbers from row to row and from vector to vector */
    int64_t row, vector;
} strides;

typedef struct operands {
    const ofs *row_ptr;
    const idx *col;
    const real *value, *x;
    result out;
    strides at_x, at_y, at_z;
    idx rows;
    int columns;      /* of this launch */
    int side_by_side; /* lanes along the vectors */
} operands;

static __device__ __forceinline__ void put_number(const operands &o, int64_t row, int c, real sum) {
    const result &out = o.out;
    real *z = out.z + row * o.at_z.row + c * o.at_z.vector;
    const real *y = out.y + row * o.at_y.row + c * o.at_y.vector;
    const real alpha = out.alpha_at ? out.alpha * *out.alpha_at : out.alpha;
    const real beta = out.alpha_at ? *out.beta_at : out.beta;
    const real scaled = alpha * sum;
    *z = beta == 0 ? scaled : fma(beta, *y, scaled);
}

/* Loads what is there of SUMS numbers of a row of x; WHOLE: all are, and aligned. */
template <int SUMS, bool WHOLE>
static __device__ __forceinline__ void load_numbers(const operands &o, idx j, int c, real *out) {
    const real *x = o.x + j * o.at_x.row + c * o.at_x.vector;
    if (WHOLE) {
        *(int4 *)out = *(const int4 *)x;
    } else {
#pragma unroll
        for (int s = 0; s < SUMS; s++) out[s] = c + s < o.columns ? x[s * o.at_x.vector] : 0;
    }
}

/* Sums nonzeros begin .. end - 1 of a row, in the group's first lanes. Every lane of the warp
 * calls. A row has four sums, of every fourth nonzero: lanes IN_TURN have one or more of them. They
 * are added in the same order whatever the number of vectors. */
template <int SUMS, int IN_TURN, bool WHOLE>
static __device__ __forceinline__ void sum_entries(const operands &o, int64_t begin, int64_t end,
                                                   int lane, real *out) {
    enum {
        EACH = APART / IN_TURN,
        DEPTH = SUMS > SIDE && EACH < 4 ? 2 : 4
    }; /* asked for at once */
    const int c = lane % o.side_by_side * SUMS;
    real sum[EACH][SUMS];
#pragma unroll
    for (int n = 0; n < EACH * SUMS; n++) sum[n / SUMS][n % SUMS] = 0;
    for (int64_t k = begin + lane / o.side_by_side; k < end; k += DEPTH * IN_TURN) {
        idx j[DEPTH];
        real a[DEPTH];
        __align__(16) real xj[DEPTH][SUMS];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            const bool is_there = k + u * IN_TURN < end;
            j[u] = is_there ? __ldg(o.col + k + u * IN_TURN) : -1;
            a[u] = is_there ? __ldg(o.value + k + u * IN_TURN) : 0;
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            if (j[u] >= 0) load_numbers<SUMS, WHOLE>(o, j[u], c, xj[u]);
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            real *const mine = sum[u % EACH];
            if (j[u] < 0) continue;
#pragma unroll
            for (int s = 0; s < SUMS; s++) mine[s] = fma(a[u], xj[u][s], mine[s]);
        }
    }
#pragma unroll
    for (int apart = 1; apart < IN_TURN; apart *= 2) {
#pragma unroll
        for (int n = 0; n < EACH * SUMS; n++)
            sum[n / SUMS][n % SUMS] +=
                __shfl_xor_sync(ALL_LANES, sum[n / SUMS][n % SUMS], apart * o.side_by_side);
    }
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        out[s] = EACH == 1 ? sum[0][s]
                 : EACH == 2
                     ? sum[0][s] + sum[EACH - 1][s]
                     : (sum[0][s] + sum[1 % EACH][s]) + (sum[2 % EACH][s] + sum[3 % EACH][s]);
}

template <int SUMS, int IN_TURN, bool WHOLE>
static __global__ void __launch_bounds__(THREADS)
    multiply(const __grid_constant__ operands o, bool leaves_long) {
    const int lanes = o.side_by_side * IN_TURN;
    const int64_t row = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes, c = lane * SUMS;
    const bool is_row = row < o.rows;
    const int64_t begin = is_row ? o.row_ptr[row] : 0, end = is_row ? o.row_ptr[row + 1] : 0;
    const bool leaves = leaves_long && end - begin >= LONG_ROW;
    real sum[SUMS];
    sum_entries<SUMS, IN_TURN, WHOLE>(o, begin, leaves ? begin : end, lane, sum);
    if (!is_row || leaves || lane >= o.side_by_side) return;
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (c + s < o.columns) put_number(o, row, c + s, sum[s]);
}

template <int SUMS, int IN_TURN, bool WHOLE>
static __global__ void __launch_bounds__(THREADS)
    multiply_parts(const __grid_constant__ operands o, parts all) {
    const int lanes = o.side_by_side * IN_TURN;
    const int64_t p = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const int lane = threadIdx.x % lanes, c = lane * SUMS;
    int64_t begin = 0, end = 0;
    if (p < all.n) {
        begin = all.list[p].begin;
        end = begin + all.list[p].entries;
    }
    real sum[SUMS];
    sum_entries<SUMS, IN_TURN, WHOLE>(o, begin, end, lane, sum);
    if (p >= all.n || lane >= o.side_by_side) return;
#pragma unroll
    for (int s = 0; s < SUMS; s++)
        if (c + s < o.columns) all.partial[p * MOST_COLUMNS + c + s] = sum[s];
}

/* A block adds the parts of a row, TOGETHER threads for each vector: always in the same order. */
static __global__ void join_parts(const __grid_constant__ operands o, parts all) {
    __shared__ real some[TOGETHER][MOST_COLUMNS];
    const part first = all.list[blockIdx.x];
    const int c = threadIdx.x, t = threadIdx.y;
    if (first.of_row == 0) return; /* the whole block */
    real sum = 0;
    if (c < o.columns) {
        const real *from = all.partial + (int64_t)blockIdx.x * MOST_COLUMNS + c;
#pragma unroll 8
        for (int q = t; q < first.of_row; q += TOGETHER) sum += from[(int64_t)q * MOST_COLUMNS];
        some[t][c] = sum;
    }
    __syncthreads();
    if (t > 0 || c >= o.columns) return;
    for (int q = 1; q < TOGETHER; q++) sum += some[q][c];
    put_number(o, first.row, c, sum);
}

/* ---- on the host ----------------------------------------------------------------------------- */

static __global__ void count_parts(const ofs *row_ptr, int64_t rows, int64_t *count) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i > rows) return;
    const int64_t n = i < rows ? row_ptr[i + 1] - row_ptr[i] : 0;
    count[i] = n >= LONG_ROW ? n / PART : 0;
}

static __global__ void list_parts(const ofs *row_ptr, int64_t rows, const int64_t *before,
                                  part *out) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows) return;
    const int64_t n = before[i + 1] - before[i], length = row_ptr[i + 1] - row_ptr[i];
    for (int64_t q = 0; q < n; q++) {
        const int64_t begin = length * q / n, end = length * (q + 1) / n;
        out[before[i] + q] = {(ofs)(row_ptr[i] + begin), (int)(end - begin), (idx)i,
                              q == 0 ? (int)n : 0};
    }
}

static spmv_status find_parts(spmv_plan *p, parts *all, int64_t *before) {
    const csr *A = (const csr *)p->store;
    const int64_t rows = A->s.rows;
    const unsigned blocks = (unsigned)blocks_for(rows + 1, THREADS);
    count_parts<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, before);
    TRY(launched(p));
    TRY(sum_before(p->device, rows + 1, before));
    TRY(p->device->backend->get(p->device, &all->n, before + rows, sizeof all->n));
    if (all->n == 0) return SPMV_OK;
    TRY(take_scratch(p, (size_t)all->n * sizeof *all->list, (void **)&all->list));
    TRY(take_scratch(p, (size_t)all->n * MOST_COLUMNS * sizeof *all->partial,
                     (void **)&all->partial));
    list_parts<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, before, all->list);
    return launched(p);
}

/* An upper bound, as if all nonzeros were in long rows. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return sizeof(parts) + (size_t)(A->nnz / PART) * (sizeof(part) + MOST_COLUMNS * sizeof(real));
}

static spmv_status prepare(spmv_plan *p) {
    parts *all = (parts *)calloc(1, sizeof *all);
    void *before = NULL;
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    if (spmv_longest(p->matrix) < LONG_ROW) return SPMV_OK;
    TRY(p->device->backend->alloc(p->device, (size_t)(p->host->rows + 1) * sizeof(int64_t),
                                  &before));
    const spmv_status status = find_parts(p, all, (int64_t *)before);
    p->device->backend->release(p->device, before);
    return status;
}

static void release(spmv_plan *p) {
    parts *all = (parts *)p->scratch;
    p->device->backend->release(p->device, all->list);
    p->device->backend->release(p->device, all->partial);
    free(all);
}

template <int SUMS, int IN_TURN, bool WHOLE>
static spmv_status launch(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    const parts all = *(const parts *)p->scratch;
    const int64_t lanes = o.side_by_side * IN_TURN;
    multiply<SUMS, IN_TURN, WHOLE>
        <<<(unsigned)blocks_for(o.rows * lanes, THREADS), THREADS, 0, stream>>>(o, all.n > 0);
    if (all.n > 0) {
        multiply_parts<SUMS, IN_TURN, WHOLE>
            <<<(unsigned)blocks_for(all.n * lanes, THREADS), THREADS, 0, stream>>>(o, all);
        join_parts<<<(unsigned)all.n, dim3(o.columns, TOGETHER), 0, stream>>>(o, all);
    }
    return launched(p);
}

static int power_of_two(int64_t at_least) {
    int n = 1;
    while (n < at_least) n *= 2;
    return n;
}

/* Returns the lanes that take a row's nonzeros in turn, at most a warp's: short rows leave more
 * than one without work, and so do many lanes along the vectors. */
static int lanes_in_turn(const spmv_plan *p, int side_by_side, int of_long) {
    enum { SHORT = 12 };
    const int64_t asked = p->choice.value[SPMV_lanes], fit = WARP / side_by_side;
    const int64_t lanes = asked > 0 ? asked : p->host->nnz < SHORT * p->host->rows ? 1 : of_long;
    return (int)min(min(lanes, fit), (int64_t)APART);
}

template <bool WHOLE>
static spmv_status launch_rows(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    switch (lanes_in_turn(p, o.side_by_side, o.side_by_side > 4 ? 1 : 2)) {
    case 1: return launch<SIDE, 1, WHOLE>(p, o, stream);
    case 2: return launch<SIDE, 2, WHOLE>(p, o, stream);
    default: return launch<SIDE, APART, WHOLE>(p, o, stream);
    }
}

/* A lane that has few sums can have those of every fourth nonzero. */
static spmv_status launch_columns(const spmv_plan *p, const operands &o, cudaStream_t stream) {
    const bool short_rows = lanes_in_turn(p, 1, APART) < APART;
    switch (power_of_two(o.columns)) {
    case 1: return launch<1, APART, false>(p, o, stream);
    case 2:
        return short_rows ? launch<2, 1, false>(p, o, stream)
                          : launch<2, APART, false>(p, o, stream);
    case 4:
        return short_rows ? launch<4, 1, false>(p, o, stream)
                          : launch<4, APART, false>(p, o, stream);
    default:
        return short_rows ? launch<MOST_SUMS, 2, false>(p, o, stream)
                          : launch<MOST_SUMS, APART, false>(p, o, stream);
    }
}

static operands operands_of(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    const bool in_rows = v->layout == SPMV_ROWS;
    const auto at = [in_rows](int64_t ld) { return in_rows ? strides{ld, 1} : strides{1, ld}; };
    return {A->row_ptr,     A->col_idx, A->values,  (const real *)v->x,
            result_of(v),   at(v->ldx), at(v->ldy), at(v->ldz),
            (idx)A->s.rows, 0,          1};
}

static void go_on(operands *o) {
    o->x += o->columns * o->at_x.vector;
    o->out.y += o->columns * o->at_y.vector;
    o->out.z += o->columns * o->at_z.vector;
}

static spmv_status run_rows(const spmv_plan *p, const spmv_operands *v) {
    operands o = operands_of(p, v);
    const bool whole = v->k % SIDE == 0 && v->ldx % SIDE == 0 && (uintptr_t)v->x % 16 == 0;
    for (int64_t j = 0; o.rows > 0 && j < v->k; j += o.columns, go_on(&o)) {
        o.columns = (int)min(v->k - j, (int64_t)MOST_COLUMNS);
        o.side_by_side = power_of_two(blocks_for(o.columns, SIDE));
        TRY(whole ? launch_rows<true>(p, o, stream_of(v)) : launch_rows<false>(p, o, stream_of(v)));
    }
    return SPMV_OK;
}

static spmv_status run_direct(const spmv_plan *p, const spmv_operands *v) {
    operands o = operands_of(p, v);
    for (int64_t j = 0; o.rows > 0 && j < v->k; j += o.columns, go_on(&o)) {
        o.columns = (int)min(v->k - j, (int64_t)MOST_SUMS);
        TRY(launch_columns(p, o, stream_of(v)));
    }
    return SPMV_OK;
}

/* In the plan's panel some columns of x become rows, and those of z come from there. */
static spmv_status run_turned(const spmv_plan *p, const spmv_operands *v) {
    const auto turn = p->device->backend->turn;
    const int64_t rows = p->rows, cols = p->cols;
    real *x = (real *)p->panel, *z = x + SPMV_PANEL_VECTORS * cols;
    spmv_operands some = *v;
    some.layout = SPMV_ROWS, some.x = x, some.y = some.z = z;
    for (int64_t j = 0; j < v->k; j += some.k) {
        some.k = some.ldx = some.ldy = some.ldz = min(v->k - j, (int64_t)SPMV_PANEL_VECTORS);
        TRY(turn(p->device, v->stream, sizeof(real), some.k, cols, (const real *)v->x + j * v->ldx,
                 v->ldx, x, some.k));
        if (v->beta_at || v->beta != 0)
            TRY(turn(p->device, v->stream, sizeof(real), some.k, rows,
                     (const real *)v->y + j * v->ldy, v->ldy, z, some.k));
        TRY(run_rows(p, &some));
        TRY(turn(p->device, v->stream, sizeof(real), rows, some.k, z, some.k,
                 (real *)v->z + j * v->ldz, v->ldz));
    }
    return SPMV_OK;
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return p->choice.value[SPMV_turned] && v->k > 1 ? run_turned(p, v) : run_direct(p, v);
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
