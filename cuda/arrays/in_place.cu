/* in_place: a caller's arrays that may change between two products (SPMV_VOLATILE), in the GPU's
 * memory, are multiplied as they are: nothing is kept of what they hold.
 *
 * Source   our own; gathering as in csr_lanes, scattering by atomic additions.
 * Reads    arrays: ptr[lines + 1] or line[nnz], idx[nnz], values[nnz], as they were given; x[cols];
 *          y[rows] only if beta != 0.
 * Writes   y[rows]. Lines that are the product's rows are gathered: each entry once. Other lines,
 *          and coordinates, are scattered: a launch puts beta y, and the next one adds to it.
 * Work     a group of lanes has a line, of which each takes four nonzeros at a time, scattered one,
 *          as many as the mean line keeps busy: up to a warp. Of several vectors in rows some of
 *          them stand side by side along the vectors; those in columns come one by one. A line of
 *          more than 128 nonzeros is the whole warp's, one of more than 4096 the block's.
 *          Coordinates that follow each other in a row are added up by shuffles first.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (lines + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes if x is read once; scattered, an atomic addition for each entry and vector.
 * Weak     one line of a million nonzeros is one block's; what is scattered into few rows waits for
 *          them in turn.
 * Repeats  bitwise: gathered, yes; scattered, no.
 * Params   none.
 */
#include "cuda/vectors.cuh"

enum {
    THREADS = 256,
    MOST_BLOCKS = 65535, /* of a grid, across */
    DEPTH = 4,           /* nonzeros that a lane asks for at a time */
    LONG = 4 * WARP,     /* nonzeros of a line that a whole warp has, */
    HUGE_LINE = 4096     /* and of one that the block has */
};

typedef struct product {
    const ofs *ptr;
    const idx *at, *line;
    const real *values;
    int64_t lines, nnz; /* nnz: as the arrays are long */
    vectors v;          /* v.count: of all */
    int side;           /* 2^side lanes stand side by side along the vectors */
    int lanes;          /* 2^lanes have a line, or an entry */
    int64_t rows;       /* of the product */
} product;

/* Nothing is read where an offset leads outside: the caller may have written it since. */
static __device__ __forceinline__ int64_t begin_of(const product &p, int64_t i) {
    return max((int64_t)p.ptr[i], (int64_t)0);
}

static __device__ __forceinline__ int64_t end_of(const product &p, int64_t i) {
    return min((int64_t)p.ptr[i + 1], p.nnz);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* Sums entries from `first` on, `step` apart, with column c of x. */
static __device__ __forceinline__ real sum_entries(const product &p, int64_t first, int64_t end,
                                                   int step, int c) {
    const real *x = p.v.x + c * p.v.at_x.vector;
    real sum = 0;
    for (int64_t k = first; k < end; k += DEPTH * step) {
        idx j[DEPTH];
        real a[DEPTH];
#pragma unroll
        for (int u = 0; u < DEPTH; u++) {
            const bool is_there = k + u * step < end;
            j[u] = is_there ? p.at[k + u * step] : 0;
            a[u] = is_there ? p.values[k + u * step] : 0;
        }
#pragma unroll
        for (int u = 0; u < DEPTH; u++)
            if (k + u * step < end) sum += a[u] * x[j[u] * p.v.at_x.row];
    }
    return sum;
}

/* Adds what lanes `from` apart have, up to a warp; every lane calls. */
static __device__ __forceinline__ real add_lanes(real sum, int from, int to) {
    for (int step = from; step < to; step *= 2) sum += __shfl_xor_sync(ALL_LANES, sum, step);
    return sum;
}

/* The block's lines that a thread found too long. */
typedef struct waiting {
    int n;
    int64_t line[THREADS];
} waiting;

static __device__ __forceinline__ void gather_by_block(const product &p, int64_t i, int c) {
    __shared__ real part[THREADS / WARP][WARP];
    const int side = 1 << p.side, lane = threadIdx.x % WARP;
    real sum = 0;
    if (c < p.v.count)
        sum = sum_entries(p, begin_of(p, i) + threadIdx.x / side, end_of(p, i), THREADS / side, c);
    sum = add_lanes(sum, side, WARP);
    __syncthreads();
    part[threadIdx.x / WARP][lane] = sum;
    __syncthreads();
    if (threadIdx.x < side && c < p.v.count) {
        sum = 0;
        for (int w = 0; w < THREADS / WARP; w++) sum += part[w][threadIdx.x];
        put_number(p.v, i, c, sum);
    }
}

/* Block y of the grid has the vectors behind 2^side of each block before. */
static __global__ void __launch_bounds__(THREADS) gather(const product p) {
    __shared__ waiting huge;
    const int side = 1 << p.side, lanes = 1 << p.lanes, lane = threadIdx.x % WARP;
    const int mine = lane % lanes, c = blockIdx.y * side + lane % side;
    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    const bool is_line = i < p.lines, is_vector = c < p.v.count;
    const int64_t begin = is_line ? begin_of(p, i) : 0, end = is_line ? end_of(p, i) : 0;
    const bool is_huge = end - begin > HUGE_LINE, is_long = lanes < WARP && end - begin > LONG;
    if (threadIdx.x == 0) huge.n = 0;
    __syncthreads();
    if (is_huge && mine == 0) huge.line[atomicAdd(&huge.n, 1)] = i;
    real sum = 0;
    if (!is_huge && !is_long && is_vector)
        sum = sum_entries(p, begin + mine / side, end, lanes / side, c);
    sum = add_lanes(sum, side, lanes);
    unsigned todo = __ballot_sync(ALL_LANES, is_long && !is_huge && mine == 0);
    for (; todo; todo &= todo - 1) {
        const int owner = __ffs((int)todo) - 1;
        const int64_t first = __shfl_sync(ALL_LANES, begin, owner);
        const int64_t last = __shfl_sync(ALL_LANES, end, owner);
        real whole = is_vector ? sum_entries(p, first + lane / side, last, WARP / side, c) : 0;
        whole = add_lanes(whole, side, WARP);
        if (lane / lanes == owner / lanes) sum = whole;
    }
    if (is_line && is_vector && !is_huge && mine < side) put_number(p.v, i, c, sum);
    __syncthreads();
    for (int n = 0; n < huge.n; n++) gather_by_block(p, huge.line[n], c);
}

/* ---- scattering ------------------------------------------------------------------------------ */

static __device__ __forceinline__ real alpha_of(const result &out) {
    return out.alpha_at ? out.alpha * *out.alpha_at : out.alpha;
}

/* Puts alpha 0 + beta y, which is right for a line without entries: others are added to. */
static __global__ void __launch_bounds__(THREADS) begin_sums(const product p) {
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (n >= p.rows * p.v.count) return;
    const bool in_rows = p.v.at_z.vector == 1;
    const int64_t row = in_rows ? n / p.v.count : n % p.rows;
    const int64_t c = in_rows ? n % p.v.count : n / p.rows;
    put_number(p.v, row, (int)c, 0);
}

static __device__ __forceinline__ void add_number(const product &p, int64_t row, int c, real sum) {
    atomicAdd(p.v.out.z + row * p.v.at_z.row + c * p.v.at_z.vector, sum);
}

/* A group of lanes has a line, with which a row of x is multiplied. */
static __global__ void __launch_bounds__(THREADS) scatter_lines(const product p) {
    const int side = 1 << p.side, lanes = 1 << p.lanes;
    const int mine = threadIdx.x % lanes, c = blockIdx.y * side + mine % side;
    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / lanes;
    if (i >= p.lines || c >= p.v.count) return;
    const int64_t end = end_of(p, i);
    const real x = alpha_of(p.v.out) * p.v.x[i * p.v.at_x.row + c * p.v.at_x.vector];
    for (int64_t k = begin_of(p, i) + mine / side; k < end; k += lanes / side)
        add_number(p, p.at[k], c, p.values[k] * x);
}

/* A thread has an entry and a vector. turned: rows and columns change places. Neighbours with the
 * same row add up what they have, and the last of them adds it to the row. */
static __global__ void __launch_bounds__(THREADS) scatter_entries(const product p, bool turned) {
    const int side = 1 << p.side, lane = threadIdx.x % WARP;
    const int c = blockIdx.y * side + lane % side;
    const int64_t k = ((int64_t)blockIdx.x * THREADS + threadIdx.x) / side;
    const bool is_there = k < p.nnz && c < p.v.count;
    const idx row = !is_there ? -1 : turned ? p.at[k] : p.line[k];
    real sum = 0;
    if (is_there) {
        const int64_t j = turned ? p.line[k] : p.at[k];
        sum = p.values[k] * p.v.x[j * p.v.at_x.row + c * p.v.at_x.vector];
    }
    const int before_row = __shfl_up_sync(ALL_LANES, row, side);
    bool begins = lane < side || before_row != row; /* of a run of the same row */
    for (int step = side; step < WARP; step *= 2) {
        const real other = __shfl_up_sync(ALL_LANES, sum, step);
        const bool has_begun = __shfl_up_sync(ALL_LANES, (int)begins, step);
        if (lane >= step && !begins) sum += other, begins = has_begun;
    }
    const int next_row = __shfl_down_sync(ALL_LANES, row, side);
    const bool ends = lane >= WARP - side || next_row != row;
    if (is_there && ends) add_number(p, row, c, alpha_of(p.v.out) * sum);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static const spmv_arrays *arrays_of(const spmv_plan *p) {
    return &((const spmv_live *)p->store)->arrays;
}

static spmv_status run(const spmv_plan *plan, const spmv_operands *o) {
    const spmv_arrays *a = arrays_of(plan);
    const int64_t lines = spmv_live_lines(a), mean = a->line ? 1 : blocks_for(a->nnz, lines + 1);
    product p = {(const ofs *)a->ptr, a->idx, a->line, (const real *)a->values, lines, a->nnz,
                 vectors_of(o)};
    if (plan->rows == 0) return SPMV_OK;
    p.rows = plan->rows;
    p.v.count = (int)o->k;
    const bool gathers = !a->line && !plan->transposes;
    p.side = o->layout == SPMV_ROWS || o->k > MOST_BLOCKS
                 ? min(exponent_of(o->k), exponent_of(WARP))
                 : 0;
    p.lanes =
        min(p.side + exponent_of(gathers ? blocks_for(mean, DEPTH) : mean), exponent_of(WARP));
    const unsigned columns = (unsigned)blocks_for(o->k, (int64_t)1 << p.side);
    const int64_t items = a->line ? a->nnz << p.side : lines << p.lanes;
    const dim3 grid((unsigned)blocks_for(items, THREADS), columns);
    if (gathers)
        gather<<<grid, THREADS, 0, stream_of(o)>>>(p);
    else {
        const unsigned numbers = (unsigned)blocks_for(p.rows * o->k, THREADS);
        begin_sums<<<numbers, THREADS, 0, stream_of(o)>>>(p);
        if (items == 0) return launched(plan);
        if (a->line)
            scatter_entries<<<grid, THREADS, 0, stream_of(o)>>>(p, plan->transposes);
        else
            scatter_lines<<<grid, THREADS, 0, stream_of(o)>>>(p);
    }
    return launched(plan);
}

/* Counts indices that lead outside the matrix, once. */
static __global__ void count_outside(const product p, int64_t places, int *outside) {
    const int64_t k = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    const int64_t used = p.ptr ? min((int64_t)p.ptr[p.lines], p.nnz) : p.nnz;
    bool is_outside = false;
    if (k < used) {
        const int64_t line = p.line ? p.line[k] : 0;
        is_outside = p.at[k] < 0 || p.at[k] >= places || line < 0 || (p.line && line >= p.rows);
    }
    if (is_outside) atomicAdd(outside, 1);
}

static spmv_status prepare(spmv_plan *plan) {
    const spmv_arrays *a = arrays_of(plan);
    spmv_device *d = plan->device;
    const product p = {(const ofs *)a->ptr,
                       a->idx,
                       a->line,
                       NULL,
                       spmv_live_lines(a),
                       a->nnz,
                       {},
                       0,
                       0,
                       a->by_columns ? a->cols : a->rows};
    int outside = 0;
    void *count = NULL;
    TRY(d->backend->order(d, NULL, false)); /* what filled the arrays */
    TRY(d->backend->alloc(d, sizeof outside, &count));
    spmv_status status = d->backend->fill(d, count, 0, sizeof outside);
    if (status == SPMV_OK && a->nnz > 0) {
        count_outside<<<(unsigned)blocks_for(a->nnz, THREADS), THREADS, 0, stream_of(d)>>>(
            p, a->by_columns ? a->rows : a->cols, (int *)count);
        status = launched(d);
    }
    if (status == SPMV_OK) status = d->backend->sync(d);
    if (status == SPMV_OK) status = d->backend->get(d, &outside, count, sizeof outside);
    d->backend->release(d, count);
    if (status != SPMV_OK || outside == 0) return status;
    return spmv_fail(d->ctx, SPMV_E_ARG, "%d entr%s outside the %lld x %lld matrix", outside,
                     outside == 1 ? "y lies" : "ies lie", (long long)a->rows, (long long)a->cols);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(in_place) = {
    .name = "in_place",
    .format = "csr",
    .summary = "arrays that may change, read as they are",
    .params = params,
    .prepare = prepare,
    .run = run,
    .run_columns = run,
    .run_rows = run,
};
