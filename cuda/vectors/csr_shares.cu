/* csr_shares: several vectors; warps multiply equal shares of a CSR matrix's nonzeros.
 *
 * Source   Yang, Buluc and Owens, Euro-Par 2018, "Design Principles for Sparse Matrix
 *          Multiplication on the GPU": coalesced rows of x, nonzeros split equally. Here a share
 *          ends with a row if a row ends soon, so that few rows are cut.
 * Reads    csr: col_idx[nnz], values[nnz]; the plan's lists of shares, of row ends in them and, if
 *          some rows are empty, of the other rows; x[cols x k]; y[rows x k] only if beta != 0.
 * Writes   y[rows x k], each entry once.
 * Work     A warp multiplies 96 nonzeros, and up to 32 more if a row then ends. If vectors are
 *          stored by rows, a lane has 16 bytes of each row of x, and the lanes along a row of x are
 *          a group. A group takes eight nonzeros at a time, loads four of their rows of x at once,
 *          and writes the rows that begin and end among the eight; its sums of other rows are added
 *          in shared memory, in order. Another launch adds, in order, the parts of a row that
 *          several warps have. Separate blocks write empty rows. Columns of x are first copied as
 *          rows.
 * Cost     2 k nnz flop; nnz (sizeof real + 4) + k (cols + rows) sizeof real bytes if x is read
 *          once; the matrix is read again for every 512 bytes of a row of x; 80 bytes for each
 *          share.
 * Weak     Rows of equal length, for which csr_vectors does less; one vector.
 * Repeats  bitwise: yes.
 * Params   none.
 */
#include "cuda/build.cuh"
#include "cuda/cache_policy.cuh"
#include "cuda/vectors.cuh"
#include "formats/csr/csr.h"

enum {
    THREADS = 128,
    WARPS = THREADS / WARP,
    CHUNK = 8,               /* nonzeros that a group takes at a time: fixes the order of sums */
    DEPTH = 4,               /* nonzeros of a chunk whose rows of x are loaded at once */
    WINDOW = 128,            /* maximum number of nonzeros per warp */
    BEYOND = 32,             /* maximum number of these behind the share, if a row ends there */
    SHARE = WINDOW - BEYOND, /* nonzeros from share to share */
    EACH = WINDOW / WARP,    /* nonzeros per lane */
    CHUNKS = WINDOW / CHUNK,
    FEW = 16,         /* maximum number of parts of a row that one group of lanes adds */
    JOINING = 256,    /* threads of a block that adds parts */
    SIDE_BY_SIDE = 4, /* lanes along the vectors, for rows of more parts */
    TURNS = JOINING / SIDE_BY_SIDE,
    MOST_COLUMNS = WARP * SIDE, /* vectors of one launch */
};

/* Start of a share, with the row and the part that begin there. */
typedef struct __align__(16) place {
    int first;       /* first nonzero, counted from share * SHARE: 0 to BEYOND */
    idx row;         /* index among the rows that are not empty */
    uint32_t parts;  /* parts of cut rows that begin here or before */
    uint32_t in_row; /* 1: the last of these parts begins here */
}
place;

/* rows, or parts that end with the share, that end in a chunk */
typedef struct __align__(4) chunk {
    uint16_t ends; /* bit u: a row or part ends with nonzero u */
    uint16_t rank; /* rank of the first of these rows among those of the share */
}
chunk;

typedef struct cut_row { /* a row that several warps multiply in parts */
    int64_t first;       /* index of its first part */
    int parts;
    idx row;
} cut_row;

typedef struct shares {
    int64_t n;                /* number of shares */
    place *begin;             /* [n + 1] */
    chunk *chunks;            /* [n x CHUNKS] */
    int64_t filled, empty;    /* numbers of nonempty and of empty rows */
    idx *row, *empty_row;     /* indices of nonempty rows [filled] and of empty rows [empty];
                                 NULL: no row is empty */
    int64_t parts, few, many; /* number of parts; numbers of cut rows with up to FEW parts, and
                                 with more */
    cut_row *cut;             /* [few + many], rows of few parts first */
    real *partial;            /* [parts x MOST_COLUMNS] sums of the parts */
} shares;

typedef struct operands { /* operands of a launch */
    const idx *col;
    const real *value;
    int64_t nnz;
    vectors v;
    shares all;
    int side;        /* 2^side lanes are assigned to different vectors */
    unsigned blocks; /* blocks that multiply; later blocks write empty rows */
    cache_policy policy;
} operands;

typedef struct __align__(16) window { /* shared memory of a warp: its nonzeros */
    real value[WINDOW];
    idx col[WINDOW];
    idx row[WINDOW];        /* rows that end in the share, if some rows are empty */
    real open[WARP * SIDE]; /* each group's sum behind the last row end in its chunk; if none, of
                               the whole chunk */
}
window;

template <int SUMS>
static __device__ __forceinline__ void copy_numbers(const real *from, real *to) {
    typedef typename as_word<SUMS * sizeof(real)>::type word;
    *(word *)to = *(const word *)from;
}

/* Adds to *sum the open sums of groups `from` to `to` - 1, in order. */
template <int SUMS>
static __device__ __forceinline__ void add_open(const window &w, int side, int c, int from, int to,
                                                real *sum) {
    for (int g = from; g < to; g++)
#pragma unroll
        for (int s = 0; s < SUMS; s++) sum[s] += w.open[(g << side) * SUMS + c + s];
}

/* Writes the sum of a row to z, or the sum of a part of a row to o.all.partial. */
template <int SUMS>
static __device__ __forceinline__ void put_sum(const operands &o, const window &w,
                                               const place &begin, int rows, int rank, int c,
                                               const real *sum) {
    if (rank == rows || (rank == 0 && begin.in_row)) {
        const int64_t part = (int64_t)begin.parts - (rank == 0 && begin.in_row);
        copy_numbers<SUMS>(sum, o.all.partial + ((part << o.side) * SUMS + c));
    } else {
        put_numbers<SUMS>(o.v, o.all.row ? w.row[rank] : begin.row + rank, c, sum);
    }
}

template <int SUMS> static __device__ __forceinline__ void put_empty_rows(const operands &o) {
    const int64_t n = ((int64_t)(blockIdx.x - o.blocks) * THREADS + threadIdx.x);
    const real none[SUMS] = {};
    if (n >> o.side < o.all.empty)
        put_numbers<SUMS>(o.v, o.all.empty_row[n >> o.side], ((int)n & ((1 << o.side) - 1)) * SUMS,
                          none);
}

/* Returns the first group whose open sum belongs to the row that the last of the lanes in `ends`
 * leaves open; 0 if there is none. */
static __device__ __forceinline__ int open_from(unsigned ends, int side) {
    return ends ? (WARP - 1 - __clz((int)ends)) >> side : 0;
}

/* Sets *sum to the sum of the row that ends first in the chunk of `group`: the carry, if no chunk
 * of this round before has an end, the open sums of the groups in front, and the head, in this
 * order. before: the lanes in front whose chunks have ends. */
template <int SUMS>
static __device__ __forceinline__ void add_in_front(const window &w, int side, int c, int group,
                                                    unsigned before, const real (&carry)[SUMS],
                                                    const real (&head)[SUMS], real (&sum)[SUMS]) {
    const int at = open_from(before, side);
#pragma unroll
    for (int s = 0; s < SUMS; s++) sum[s] = before ? 0 : carry[s];
    add_open<SUMS>(w, side, c, at, group, sum);
#pragma unroll
    for (int s = 0; s < SUMS; s++) sum[s] += head[s];
}

/* Ends the row at nonzero u of a chunk: puts its sum, or keeps it in *head if it is the first that
 * ends in the chunk; then sets *sum to 0. */
template <int SUMS>
static __device__ __forceinline__ void end_row(const operands &o, const window &w,
                                               const place &begin, int rows, const chunk &it, int u,
                                               int c, real (&sum)[SUMS], real (&head)[SUMS]) {
    const int before = __popc(it.ends & ((1 << u) - 1));
    if (before)
        put_sum<SUMS>(o, w, begin, rows, it.rank + before, c, sum);
    else
#pragma unroll
        for (int s = 0; s < SUMS; s++) head[s] = sum[s];
#pragma unroll
    for (int s = 0; s < SUMS; s++) sum[s] = 0;
}

template <int SUMS, loading HOW>
static __global__ void __launch_bounds__(THREADS, 8) multiply(const __grid_constant__ operands o) {
    __shared__ window windows[WARPS];
    if (blockIdx.x >= o.blocks) {
        put_empty_rows<SUMS>(o);
        return;
    }
    const int lane = threadIdx.x % WARP, side = o.side, groups = WARP >> side;
    const int group = lane >> side, c = (lane & ((1 << side) - 1)) * SUMS;
    const int64_t share = (int64_t)blockIdx.x * WARPS + threadIdx.x / WARP;
    if (share >= o.all.n) return; /* the whole warp returns */
    window &w = windows[threadIdx.x / WARP];
    const place begin = o.all.begin[share], next = o.all.begin[share + 1];
    const idx *col = o.col + share * SHARE + lane;
    const real *value = o.value + share * SHARE + lane;
    const int there = (int)min(o.nnz - share * SHARE, (int64_t)WINDOW);
    idx j[EACH];
    real a[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        j[e] = 0, a[e] = 0;
        if (lane + e * WARP < there)
            j[e] = load_once(col + e * WARP, o.policy),
            a[e] = load_once(value + e * WARP, o.policy);
    }
#pragma unroll
    for (int e = 0; e < EACH; e++) {
        const int at = lane + e * WARP - begin.first;
        if (at >= 0) w.col[at] = j[e], w.value[at] = a[e];
    }
    const int n = next.first + SHARE - begin.first, rows = next.row - begin.row;
    if (o.all.row)
        for (int r = lane; r < rows; r += WARP) w.row[r] = o.all.row[begin.row + r];
    __align__(16) real carry[SUMS];
#pragma unroll
    for (int s = 0; s < SUMS; s++) carry[s] = 0;
    __syncwarp();
    /* padding lanes use a column that exists in x */
    if (lane < CHUNK && n > 0 && n + lane < WINDOW) w.col[n + lane] = w.col[n - 1];
    __syncwarp();
    const real *x = x_of_lane(o.v, c);
#pragma unroll 1
    for (int start = 0; start * CHUNK < n; start += groups) {
        const int mine = min(start + group, CHUNKS - 1), k = mine * CHUNK;
        const bool is_there = (start + group) * CHUNK < n;
        chunk it = o.all.chunks[share * CHUNKS + mine];
        if (!is_there) it.ends = 0;
        __align__(16) real xj[DEPTH][SUMS], sum[SUMS], head[SUMS];
#pragma unroll
        for (int s = 0; s < SUMS; s++) sum[s] = 0;
#pragma unroll
        for (int u = 0; u < CHUNK; u++) {
#pragma unroll
            for (int d = 0; d < DEPTH; d++)
                if (is_there && u % DEPTH == 0)
                    load_numbers<SUMS, HOW>(o.v, x, w.col[k + u + d], c, xj[d]);
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                if (is_there) sum[s] = fma(w.value[k + u], xj[u % DEPTH][s], sum[s]);
            if (it.ends >> u & 1) end_row<SUMS>(o, w, begin, rows, it, u, c, sum, head);
        }
        copy_numbers<SUMS>(sum, w.open + lane * SUMS);
        const unsigned ends = __ballot_sync(ALL_LANES, it.ends != 0);
        __syncwarp();
        if (it.ends) {
            const unsigned before = ends & ((1u << (group << side)) - 1);
            add_in_front<SUMS>(w, side, c, group, before, carry, head, sum);
            put_sum<SUMS>(o, w, begin, rows, it.rank, c, sum);
        }
        if ((start + groups) * CHUNK < n) {
            const int at = open_from(ends, side);
#pragma unroll
            for (int s = 0; s < SUMS; s++)
                if (ends) carry[s] = 0;
            add_open<SUMS>(w, side, c, at, groups, carry);
            __syncwarp();
        }
    }
}

/* Adds the parts of cut rows. For a row of few parts, one group of lanes adds them. For a row of
 * more, one block adds the parts for a few vectors; each thread adds every TURNS-th part. */
template <int SUMS> static __global__ void join_parts(const __grid_constant__ operands o) {
    __shared__ real some[TURNS][SIDE_BY_SIDE * SUMS];
    const int side = o.side, in_blocks = max((1 << side) / SIDE_BY_SIDE, 1);
    const int64_t stride = SUMS << side, many = o.all.many * in_blocks;
    const bool is_long = blockIdx.x < many;
    const int64_t thread = (blockIdx.x - many) * JOINING + threadIdx.x;
    const int place = is_long ? blockIdx.x % in_blocks * SIDE_BY_SIDE + threadIdx.x % SIDE_BY_SIDE
                              : (int)thread & ((1 << side) - 1);
    const int c = place * SUMS, turn = is_long ? threadIdx.x / SIDE_BY_SIDE : 0;
    const int64_t n = is_long ? o.all.few + blockIdx.x / in_blocks : thread >> side;
    const bool is_there = c < o.v.count && (is_long || n < o.all.few);
    __align__(16) real sum[SUMS];
#pragma unroll
    for (int s = 0; s < SUMS; s++) sum[s] = 0;
    if (is_there) {
        const cut_row cut = o.all.cut[n];
        const real *from = o.all.partial + cut.first * stride + c;
#pragma unroll 8
        for (int q = turn; q < cut.parts; q += is_long ? TURNS : 1) {
            __align__(16) real more[SUMS];
            copy_numbers<SUMS>(from + q * stride, more);
#pragma unroll
            for (int s = 0; s < SUMS; s++) sum[s] += more[s];
        }
        if (!is_long) put_numbers<SUMS>(o.v, cut.row, c, sum);
    }
    if (!is_long) return; /* the whole block */
    real *const mine = some[turn] + threadIdx.x % SIDE_BY_SIDE * SUMS;
#pragma unroll
    for (int s = 0; s < SUMS; s++) mine[s] = sum[s];
    __syncthreads();
    if (turn > 0 || !is_there) return;
    for (int q = 1; q < TURNS; q++)
#pragma unroll
        for (int s = 0; s < SUMS; s++) sum[s] += mine[q * SIDE_BY_SIDE * SUMS + s];
    put_numbers<SUMS>(o.v, o.all.cut[n].row, c, sum);
}

/* ---- planning -------------------------------------------------------------------------------- */

static __global__ void count_empty(const ofs *row_ptr, int64_t rows, int64_t *count) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i <= rows) count[i] = i < rows && row_ptr[i + 1] == row_ptr[i];
}

/* Lists nonempty and empty rows. before[i]: number of empty rows before row i. */
static __global__ void list_rows(const ofs *row_ptr, int64_t rows, const int64_t *before,
                                 const shares all, ofs *end) {
    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (i >= rows) return;
    if (before[i + 1] > before[i]) {
        all.empty_row[before[i]] = (idx)i;
    } else {
        all.row[i - before[i]] = (idx)i;
        end[i - before[i]] = row_ptr[i + 1];
    }
}

/* Returns the row of nonzero k, as an index among the rows that are not empty. */
static __device__ int64_t row_of(const ofs *end, int64_t rows, int64_t k) {
    int64_t low = 0, high = rows - 1; /* the first row that ends behind k is among these */
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (end[middle] > k)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static const int64_t A_CUT_ROW = (int64_t)1 << 32; /* unit of the upper half of a count; the
                                                      lower half counts parts */

/* Computes starts of shares, and counts the parts of rows that begin there. If share t is the first
 * to begin inside a row, two parts count: its own and the last one of the share before. */
static __global__ void find_shares(const ofs *end, int64_t rows, int64_t nnz, const shares all,
                                   int64_t *count) {
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x, k = t * SHARE;
    if (t > all.n) return;
    place at = {(int)(nnz - k), (idx)rows};
    count[t] = 0;
    if (t < all.n) {
        const int64_t row = row_of(end, rows, k), start = row > 0 ? end[row - 1] : 0;
        /* true: the share before also contains the end of the row */
        const bool is_whole = start < k && end[row] - k <= BEYOND;
        at.first = is_whole ? (int)(end[row] - k) : 0;
        at.row = (idx)(is_whole ? row + 1 : row);
        at.in_row = start < k && !is_whole;
        if (at.in_row) count[t] = start < k - SHARE ? 1 : 2 + A_CUT_ROW;
    }
    all.begin[t] = at;
}

static __global__ void find_ends(const ofs *end, int64_t rows, const shares all) {
    const int64_t n = (int64_t)blockIdx.x * THREADS + threadIdx.x, t = n / CHUNKS;
    if (t >= all.n) return;
    const place begin = all.begin[t], next = all.begin[t + 1];
    const int64_t from = t * SHARE + begin.first + n % CHUNKS * CHUNK;
    const int64_t last = (t + 1) * SHARE + next.first, to = min(from + CHUNK, last);
    chunk mine = {};
    if (from < to) {
        int64_t row = row_of(end, rows, from);
        mine.rank = (uint16_t)(row - begin.row);
        for (; row < next.row && end[row] <= to; row++)
            mine.ends |= (uint16_t)(1 << (end[row] - 1 - from));
        if (next.in_row && to == last) mine.ends |= (uint16_t)(1 << (last - 1 - from));
    }
    all.chunks[n] = mine;
}

/* Lists parts and cut rows, in any order. before: prefix sums; lower half parts of rows, upper half
 * cut rows. */
static __global__ void list_parts(const ofs *end, const int64_t *before, const shares all,
                                  unsigned long long *listed) {
    const int64_t t = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    if (t > all.n) return;
    place &at = all.begin[t];
    const int64_t here = t < all.n ? before[t + 1] - before[t] : 0;
    const int64_t first = before[t] % A_CUT_ROW;
    at.parts = (uint32_t)(first + here % A_CUT_ROW);
    if (here < A_CUT_ROW) return;
    const int64_t last = (end[at.row] - BEYOND - 1) / SHARE; /* last share that cuts the row */
    const int parts = (int)(last - t + 2);
    const int64_t rows = before[all.n] / A_CUT_ROW;
    const bool is_few = parts <= FEW;
    const int64_t n = (int64_t)atomicAdd(listed + is_few, 1ull);
    all.cut[is_few ? n : rows - 1 - n] = {first, parts, all.row ? all.row[at.row] : at.row};
}

/* Lists empty rows, if any. end: the ends of nonempty rows; written only if some rows are empty. */
static spmv_status find_empty_rows(spmv_plan *p, shares *all, int64_t *before, ofs *end) {
    const csr *A = (const csr *)p->store;
    const int64_t rows = A->s.rows;
    const unsigned blocks = (unsigned)blocks_for(rows + 1, THREADS);
    count_empty<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, before);
    TRY(launched(p));
    TRY(sum_before(p->device, rows + 1, before));
    TRY(p->device->backend->get(p->device, &all->empty, before + rows, sizeof all->empty));
    all->filled = rows - all->empty;
    if (all->empty == 0) return SPMV_OK;
    TRY(take_scratch(p, (size_t)all->empty * sizeof(idx), (void **)&all->empty_row));
    TRY(take_scratch(p, (size_t)all->filled * sizeof(idx), (void **)&all->row));
    list_rows<<<blocks, THREADS, 0, stream_of(p)>>>(A->row_ptr, rows, before, *all, end);
    return launched(p);
}

static spmv_status find_parts(spmv_plan *p, shares *all, int64_t *before, const ofs *end) {
    const csr *A = (const csr *)p->store;
    const unsigned blocks = (unsigned)blocks_for(all->n + 1, THREADS);
    unsigned long long *listed = (unsigned long long *)(before + all->n + 1), counts[2];
    int64_t counted;
    CU(p->device->ctx, cudaMemsetAsync(listed, 0, sizeof counts, stream_of(p)));
    find_shares<<<blocks, THREADS, 0, stream_of(p)>>>(end, all->filled, A->s.nnz, *all, before);
    find_ends<<<(unsigned)blocks_for(all->n * CHUNKS, THREADS), THREADS, 0, stream_of(p)>>>(
        end, all->filled, *all);
    TRY(launched(p));
    TRY(sum_before(p->device, all->n + 1, before));
    TRY(p->device->backend->get(p->device, &counted, before + all->n, sizeof counted));
    all->parts = counted % A_CUT_ROW;
    const int64_t cut = counted / A_CUT_ROW;
    if (cut > 0) {
        TRY(take_scratch(p, (size_t)cut * sizeof *all->cut, (void **)&all->cut));
        TRY(take_scratch(p, (size_t)all->parts * MOST_COLUMNS * sizeof *all->partial,
                         (void **)&all->partial));
    }
    list_parts<<<blocks, THREADS, 0, stream_of(p)>>>(end, before, *all, listed);
    TRY(launched(p));
    TRY(p->device->backend->get(p->device, counts, listed, sizeof counts));
    all->many = (int64_t)counts[0], all->few = (int64_t)counts[1];
    return SPMV_OK;
}

static int64_t shares_of(int64_t nnz) {
    return blocks_for(nnz, SHARE);
}

static size_t list_bytes(int64_t n) {
    return (size_t)(n + 1) * sizeof(place) + (size_t)n * CHUNKS * sizeof(chunk);
}

/* Upper bound of the workspace, as if some rows were empty and every share began inside a row. */
static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    const int64_t n = shares_of(A->nnz);
    return sizeof(shares) + list_bytes(n) + (size_t)A->rows * sizeof(idx) +
           (size_t)n * (sizeof(cut_row) + 2 * MOST_COLUMNS * sizeof(real));
}

static spmv_status prepare(spmv_plan *p) {
    const csr *A = (const csr *)p->store;
    shares *all = (shares *)calloc(1, sizeof *all);
    p->scratch = all;
    if (!all) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof *all;
    all->n = shares_of(A->s.nnz);
    TRY(take_scratch(p, list_bytes(all->n), (void **)&all->begin));
    all->chunks = (chunk *)(all->begin + all->n + 1);
    const size_t numbers = (size_t)max(A->s.rows + 1, all->n + 3);
    int64_t *before = NULL; /* followed by `end` in the same allocation */
    TRY(p->device->backend->alloc(
        p->device, numbers * sizeof *before + (size_t)A->s.rows * sizeof(ofs), (void **)&before));
    ofs *end = (ofs *)(before + numbers);
    spmv_status status = find_empty_rows(p, all, before, end);
    if (status == SPMV_OK && all->n > 0)
        status = find_parts(p, all, before, all->empty > 0 ? end : A->row_ptr + 1);
    p->device->backend->release(p->device, before);
    return status;
}

static void release(spmv_plan *p) {
    shares *all = (shares *)p->scratch;
    void *const memory[] = {all->begin, all->row, all->empty_row, all->cut, all->partial};
    for (void *m : memory) p->device->backend->release(p->device, m);
    free(all);
}

template <int SUMS, loading HOW>
static spmv_status launch(const spmv_plan *p, operands o, cudaStream_t stream) {
    const shares &all = o.all;
    const int64_t empty = blocks_for(all.empty << o.side, THREADS);
    o.blocks = (unsigned)blocks_for(all.n, WARPS);
    if (o.blocks + empty > 0)
        multiply<SUMS, HOW><<<o.blocks + (unsigned)empty, THREADS, 0, stream>>>(o);
    if (all.parts > 0) {
        const int64_t in_blocks = max((1 << o.side) / SIDE_BY_SIDE, 1);
        join_parts<SUMS>
            <<<(unsigned)(all.many * in_blocks + blocks_for(all.few << o.side, JOINING)), JOINING,
               0, stream>>>(o);
    }
    return launched(p);
}

/* Multiplies the v.count vectors of v. At least two lanes are assigned to different vectors. */
static spmv_status run_some(const spmv_plan *p, const vectors &v, cudaStream_t stream) {
    const csr *A = (const csr *)p->store;
    operands o = {A->col_idx, A->values, A->s.nnz, v, *(const shares *)p->scratch};
    o.policy = policy_for(p);
    o.side = max(exponent_of(blocks_for(v.count, SIDE)), 1);
    if (v.count < SIDE) return launch<SIDE / 2, WHAT_IS_THERE>(p, o, stream);
    if (v.count == SIDE) return launch<SIDE / 2, EACH_ONE>(p, o, stream);
    return v.x_whole ? launch<SIDE, AT_ONCE>(p, o, stream)
                     : launch<SIDE, WHAT_IS_THERE>(p, o, stream);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    return run_in_batches(p, v, MOST_COLUMNS, run_some);
}

static spmv_status run_columns(const spmv_plan *p, const spmv_operands *v) {
    return run_in_rows(p, v, run_some);
}

static const spmv_param params[] = {SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_shares) = {
    .name = "csr_shares",
    .format = "csr",
    .summary = "several vectors: a warp takes an equal share of the nonzeros, wherever rows begin",
    .params = params,
    .traits = SPMV_DETERMINISTIC | SPMV_PANEL,
    .estimate = estimate,
    .prepare = prepare,
    .run = run,
    .run_columns = run_columns,
    .run_rows = run,
    .release = release,
};
