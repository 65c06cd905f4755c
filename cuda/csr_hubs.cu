/* csr_hubs: rows in classes of like length; x of the columns used most is kept in shared memory.
 *
 * Source   ours; classes of rows as in Ashari et al., SC'14 (ACSR); what hubs are to a graph's cache is
 *          in Zhang et al., "Making caches work for graph analytics", 2017.
 * Reads    csr: row_ptr, values of it, and columns of its own: a hub's is ~(its place among the hubs);
 *          x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once.
 * Work     a first kernel collects x of the hubs; then one block a multiprocessor copies them to its
 *          shared memory and its warps take rows class by class: 1, 2, 8 or 32 lanes a row, 4 entries
 *          ahead; rows beyond LONG_ROW are cut into segments, whose last adds all in order.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + rows (sizeof ofs + 4) + (cols + rows) sizeof real bytes;
 *          gathers of x from the cache only where the column is no hub.
 * Weak     columns all used alike: the hubs then hold nothing; small matrices: filling shared memory.
 * Repeats  bitwise: yes.
 * Params   hubs: columns kept, at most (0: as many as fit).
 */
#include "device.cuh"
#include <stdlib.h>

enum {
    THREADS = 1024,      /* one block a multiprocessor */
    AHEAD = 4,           /* entries of a lane asked for before the first is used */
    CLASSES = 6,         /* empty, <= 4, <= 16, <= 64, <= LONG_ROW, longer */
    LONG_ROW = 1024,     /* and entries a segment */
    SPARE_SHARED = 2048, /* bytes the system keeps of a block's shared memory */
    MOST_DEGREE = 8192   /* degrees are told apart up to here */
};

typedef struct hubs {
    idx *col;               /* [nnz] */
    idx *row;               /* [rows] class by class, ascending */
    idx begin[CLASSES + 1]; /* of each class in row */
    idx *segment_row;       /* [nsegments] place in the class of long rows */
    ofs *segment_begin;     /* [nsegments] first entry */
    idx *first_segment;     /* [long rows + 1] */
    real *sums;             /* [nsegments] */
    int *done;              /* [long rows] segments that are done; 0 between runs */
    idx *hub;               /* [nhubs] the columns */
    real *hub_x;            /* [nhubs] */
    idx nhubs, nsegments;
    int blocks;
} hubs;

/* ---- the product ------------------------------------------------------------------------------- */

static __global__ void collect_hubs(hubs H, const real *__restrict__ x) {
    idx h = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    if (h < H.nhubs) H.hub_x[h] = x[H.hub[h]];
}

typedef struct operand {
    const real *x, *hub_x; /* hub_x in shared memory */
} operand;

/* T lanes take entries begin .. end - 1; the sum is in the first of them. All lanes of the warp call. */
template <int T>
static __device__ __forceinline__ real sum_row(const idx *col, const real *values, ofs begin,
                                               ofs end, operand o) {
    real sum = 0;
    for (ofs k = begin + threadIdx.x % T; k < end; k += AHEAD * T) {
        idx j[AHEAD];
        real a[AHEAD], xj[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            j[u] = -1, a[u] = 0;
            if (k + u * T < end) j[u] = __ldcs(col + k + u * T), a[u] = __ldcs(values + k + u * T);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) {
            xj[u] = 0;
            if (k + u * T < end) xj[u] = j[u] < 0 ? o.hub_x[~j[u]] : __ldg(o.x + j[u]);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; u++) sum += a[u] * xj[u];
    }
    __syncwarp();
    for (int step = T / 2; step > 0; step /= 2) sum += __shfl_down_sync(ALL_LANES, sum, step, T);
    return sum;
}

typedef struct result {
    real alpha, beta;
    real *y;
} result;

template <int T>
static __device__ __forceinline__ void multiply_class(const hubs &H, int c, const csr &A, operand o,
                                                      result r) {
    enum { ROWS = WARP / T };
    int64_t warp = ((int64_t)threadIdx.x / WARP) * gridDim.x + blockIdx.x;
    int64_t warps = (int64_t)gridDim.x * (blockDim.x / WARP);
    for (int64_t first = H.begin[c] + warp * ROWS; first < H.begin[c + 1]; first += warps * ROWS) {
        int64_t n = first + threadIdx.x % WARP / T;
        bool is_row = n < H.begin[c + 1];
        idx i = is_row ? __ldcs(H.row + n) : 0;
        ofs begin = is_row ? A.row_ptr[i] : 0, end = is_row ? A.row_ptr[i + 1] : 0;
        real sum = sum_row<T>(H.col, A.values, begin, end, o);
        if (is_row && threadIdx.x % T == 0) put_row(r.y + i, r.alpha, sum, r.beta);
    }
}

static __device__ __forceinline__ void multiply_segments(const hubs &H, const csr &A, operand o,
                                                         result r) {
    int lane = threadIdx.x % WARP;
    int64_t warp = ((int64_t)threadIdx.x / WARP) * gridDim.x + blockIdx.x;
    int64_t warps = (int64_t)gridDim.x * (blockDim.x / WARP);
    for (int64_t g = warp; g < H.nsegments; g += warps) {
        idx l = H.segment_row[g], i = H.row[H.begin[CLASSES - 1] + l];
        ofs begin = H.segment_begin[g], end = A.row_ptr[i + 1];
        real sum = sum_row<WARP>(H.col, A.values, begin, min(end, begin + LONG_ROW), o);
        idx first = H.first_segment[l], last = H.first_segment[l + 1];
        int before = 0;
        if (lane == 0) {
            H.sums[g] = sum;
            __threadfence();
            before = atomicAdd(H.done + l, 1);
        }
        if (__shfl_sync(ALL_LANES, before, 0) < last - first - 1) continue;
        __threadfence();
        real all = 0;
        for (idx s = first + lane; s < last; s += WARP) all += __ldcg(H.sums + s);
        all = warp_sum(all);
        if (lane == 0) H.done[l] = 0, put_row(r.y + i, r.alpha, all, r.beta);
    }
}

static __global__ void __launch_bounds__(THREADS, 1)
    multiply(hubs H, csr A, const real *__restrict__ x, real alpha, real beta, real *y) {
    extern __shared__ double room[];
    real *hub_x = (real *)room;
    for (idx h = (idx)threadIdx.x; h < H.nhubs; h += THREADS) hub_x[h] = H.hub_x[h];
    __syncthreads();
    operand o = {x, hub_x};
    result r = {alpha, beta, y};
    multiply_segments(H, A, o, r);
    multiply_class<32>(H, 4, A, o, r);
    multiply_class<8>(H, 3, A, o, r);
    multiply_class<4>(H, 2, A, o, r);
    multiply_class<1>(H, 1, A, o, r);
    int64_t warp = ((int64_t)threadIdx.x / WARP) * gridDim.x + blockIdx.x;
    for (int64_t n = warp * WARP + threadIdx.x % WARP; n < H.begin[1];
         n += (int64_t)gridDim.x * THREADS)
        put_row(y + H.row[n], alpha, 0, beta);
}

static size_t shared_bytes(const hubs *H) {
    return (size_t)H->nhubs * sizeof(real);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const hubs *H = (const hubs *)p->scratch;
    const csr *A = (const csr *)p->store;
    if (A->s.rows == 0) return SPMV_OK;
    if (H->nhubs)
        collect_hubs<<<(unsigned)blocks_for(H->nhubs, 256), 256, 0, stream_of(p)>>>(
            *H, (const real *)x);
    multiply<<<(unsigned)H->blocks, THREADS, shared_bytes(H), stream_of(p)>>>(
        *H, *A, (const real *)x, (real)alpha, (real)beta, (real *)y);
    return launched(p);
}

/* ---- preparation: hubs --------------------------------------------------------------------------- */

static __global__ void count_columns(int64_t nnz, const idx *__restrict__ col, unsigned *degree) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        atomicAdd(degree + col[k], 1u);
}

static __global__ void count_degrees(int64_t cols, const unsigned *__restrict__ degree,
                                     unsigned *columns) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < cols; j += stride) {
        unsigned d = min(degree[j], (unsigned)MOST_DEGREE);
        if (d > 1) atomicAdd(columns + d, 1u); /* what is used once is no hub */
    }
}

/* Columns of at least `least`, as many as are hubs; a hub's degree becomes the complement of its
 * place. */
static __global__ void take_hubs(int64_t cols, unsigned least, idx most, int *degree, idx *hub,
                                 int *nhubs) {
    int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (j >= cols) return;
    int place = -1;
    if ((unsigned)degree[j] >= least) place = atomicAdd(nhubs, 1);
    if (place >= most) place = -1;
    if (place >= 0) hub[place] = (idx)j;
    degree[j] = place;
}

static __global__ void name_columns(int64_t nnz, const idx *__restrict__ from,
                                    const int *__restrict__ place, idx *col) {
    int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; k < nnz; k += stride)
        col[k] = place[from[k]] >= 0 ? ~place[from[k]] : from[k];
}

static spmv_status make(spmv_plan *p, size_t bytes, void **out) {
    TRY(p->device->backend->alloc(p->device, bytes, out));
    p->scratch_bytes += bytes;
    CU(p->device->ctx, cudaMemsetAsync(*out, 0, bytes, stream_of(p)));
    return SPMV_OK;
}

/* The least degree of a hub, so that there are at most `most`. */
static spmv_status find_least(spmv_plan *p, const unsigned *columns, idx most, unsigned *least) {
    unsigned *counts = (unsigned *)malloc((MOST_DEGREE + 1) * sizeof *counts);
    if (!counts) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    spmv_status status =
        p->device->backend->get(p->device, counts, columns, (MOST_DEGREE + 1) * sizeof *counts);
    unsigned n = 0;
    *least = MOST_DEGREE + 1;
    while (status == SPMV_OK && *least > 2 && n + counts[*least - 1] <= (unsigned)most)
        n += counts[--*least];
    free(counts);
    return status;
}

static spmv_status choose_hubs(spmv_plan *p, const csr *A, idx most, int *degree, unsigned *columns,
                               int *count, hubs *H) {
    enum { BLOCKS = 4096, BLOCK = 256 };
    unsigned least = 0;
    int found = 0;
    cudaStream_t stream = stream_of(p);
    count_columns<<<BLOCKS, BLOCK, 0, stream>>>(A->s.nnz, A->col_idx, (unsigned *)degree);
    count_degrees<<<BLOCKS, BLOCK, 0, stream>>>(A->s.cols, (const unsigned *)degree, columns);
    TRY(launched(p));
    TRY(find_least(p, columns, most, &least));
    take_hubs<<<(unsigned)blocks_for(A->s.cols + 1, BLOCK), BLOCK, 0, stream>>>(
        A->s.cols, least, most, degree, H->hub, count);
    name_columns<<<BLOCKS, BLOCK, 0, stream>>>(A->s.nnz, A->col_idx, degree, H->col);
    TRY(launched(p));
    TRY(p->device->backend->get(p->device, &found, count, sizeof found));
    H->nhubs = found < most ? found : most;
    return SPMV_OK;
}

static spmv_status prepare_hubs(spmv_plan *p, const csr *A, hubs *H) {
    spmv_device *d = p->device;
    int shared = 0;
    void *work[3] = {NULL};
    CU(d->ctx, cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, d->number));
    idx most = (idx)((size_t)(shared - SPARE_SHARED) / sizeof(real));
    if (p->choice.value[SPMV_hubs] && p->choice.value[SPMV_hubs] < most)
        most = (idx)p->choice.value[SPMV_hubs];
    TRY(make(p, (size_t)A->s.nnz * sizeof *H->col, (void **)&H->col));
    TRY(make(p, (size_t)most * sizeof *H->hub, (void **)&H->hub));
    TRY(make(p, (size_t)most * sizeof *H->hub_x, (void **)&H->hub_x));
    size_t kept = p->scratch_bytes;
    spmv_status status = make(p, (size_t)A->s.cols * sizeof(int), &work[0]);
    if (status == SPMV_OK) status = make(p, (MOST_DEGREE + 1) * sizeof(unsigned), &work[1]);
    if (status == SPMV_OK) status = make(p, sizeof(int), &work[2]);
    if (status == SPMV_OK)
        status = choose_hubs(p, A, most, (int *)work[0], (unsigned *)work[1], (int *)work[2], H);
    for (int k = 0; k < 3; k++) d->backend->release(d, work[k]);
    p->scratch_bytes = kept;
    if (status != SPMV_OK) return status;
    CU(d->ctx, cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                    (int)shared_bytes(H)));
    return SPMV_OK;
}

/* ---- preparation: classes ------------------------------------------------------------------------ */

static int class_of(int64_t length) {
    return length == 0          ? 0
           : length <= 4        ? 1
           : length <= 16       ? 2
           : length <= 64       ? 3
           : length <= LONG_ROW ? 4
                                : 5;
}

static spmv_status put_segments(spmv_plan *p, const csr *A, const idx *rows, hubs *H) {
    idx nlong = H->begin[CLASSES] - H->begin[CLASSES - 1], n = 0;
    const idx *row = rows + H->begin[CLASSES - 1];
    for (idx l = 0; l < nlong; l++)
        H->nsegments += (idx)blocks_for(A->row_ptr[row[l] + 1] - A->row_ptr[row[l]], LONG_ROW);
    idx *of = (idx *)malloc((size_t)(H->nsegments + 1) * sizeof *of);
    ofs *begin = (ofs *)malloc((size_t)(H->nsegments + 1) * sizeof *begin);
    idx *first = (idx *)malloc((size_t)(nlong + 1) * sizeof *first);
    spmv_status status = SPMV_OK;
    if (!of || !begin || !first)
        status = spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for the segments");
    for (idx l = 0; status == SPMV_OK && l < nlong; l++) {
        first[l] = n;
        for (ofs k = A->row_ptr[row[l]]; k < A->row_ptr[row[l] + 1]; k += LONG_ROW)
            of[n] = l, begin[n++] = k;
    }
    if (status == SPMV_OK) first[nlong] = n;
    if (status == SPMV_OK)
        status = put_scratch(p, of, (size_t)n * sizeof *of, (void **)&H->segment_row);
    if (status == SPMV_OK)
        status = put_scratch(p, begin, (size_t)n * sizeof *begin, (void **)&H->segment_begin);
    if (status == SPMV_OK)
        status =
            put_scratch(p, first, (size_t)(nlong + 1) * sizeof *first, (void **)&H->first_segment);
    free(of);
    free(begin);
    free(first);
    if (status == SPMV_OK) status = make(p, (size_t)n * sizeof *H->sums, (void **)&H->sums);
    return status == SPMV_OK ? make(p, (size_t)nlong * sizeof *H->done, (void **)&H->done) : status;
}

static spmv_status prepare_classes(spmv_plan *p, const csr *A, hubs *H) {
    idx *rows = (idx *)spmv_host_alloc((size_t)A->s.rows * sizeof *rows), at[CLASSES] = {0};
    if (!rows) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory for classes of rows");
    for (int64_t i = 0; i < A->s.rows; i++) at[class_of(A->row_ptr[i + 1] - A->row_ptr[i])]++;
    for (int c = 0; c < CLASSES; c++) {
        H->begin[c + 1] = H->begin[c] + at[c];
        at[c] = H->begin[c];
    }
    for (int64_t i = 0; i < A->s.rows; i++)
        rows[at[class_of(A->row_ptr[i + 1] - A->row_ptr[i])]++] = (idx)i;
    spmv_status status = put_scratch(p, rows, (size_t)A->s.rows * sizeof *rows, (void **)&H->row);
    if (status == SPMV_OK) status = put_segments(p, A, rows, H);
    spmv_host_free(rows);
    return status;
}

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c;
    return (size_t)A->nnz * sizeof(idx) + (size_t)A->rows * sizeof(idx);
}

static spmv_status prepare(spmv_plan *p) {
    hubs *H = (hubs *)calloc(1, sizeof *H);
    if (!H) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = H;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&H->blocks, cudaDevAttrMultiProcessorCount, p->device->number));
    TRY(prepare_hubs(p, (const csr *)p->store, H));
    TRY(prepare_classes(p, (const csr *)p->host, H));
    p->traffic_bytes = (size_t)p->host->nnz * (sizeof(real) + sizeof(idx)) +
                       (size_t)(p->host->rows + 1) * sizeof(ofs) +
                       (size_t)p->host->rows * sizeof(idx);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    hubs *H = (hubs *)p->scratch;
    void *owned[] = {H->col,  H->row,  H->segment_row, H->segment_begin, H->first_segment,
                     H->sums, H->done, H->hub,         H->hub_x};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        p->device->backend->release(p->device, owned[k]);
    free(H);
}

static const spmv_param params[] = {{SPMV_hubs, 0, 0, 1 << 20, 1, false}, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_hubs) = {
    /* name, alias  */ "csr_hubs",
    NULL,
    /* format       */ "csr",
    /* summary      */
    "rows in classes of like length, x of the most used columns in shared memory",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
