/* csr_hubs: csr_adaptive's tasks; x of the columns used most is kept in shared memory.
 *
 * Source   ours; that few columns of a graph take most of the gathers is in Zhang et al., "Making
 *          caches work for graph analytics", 2017. Tasks: csr_adaptive.
 * Reads    csr: row_ptr[rows + 1], values[nnz]; columns of its own, a hub's being ~(its place among
 *          the hubs); group[groups], part[parts]; x[cols]; y[rows] only if beta != 0.
 * Writes   y[rows], each entry once, as csr_adaptive does.
 * Work     a first kernel collects x of the hubs; then one block a multiprocessor copies them to
 *          its shared memory and its warps take tasks.
 * Cost     2 nnz flop; nnz (sizeof real + 4) + (rows + 1) sizeof ofs + (cols + rows) sizeof real
 *          bytes and 16 a group; gathers of x from the cache only where the column is no hub.
 * Weak     columns all used alike, where the hubs hold nothing; small matrices, for filling shared
 *          memory. An H200 gathers 145 e9 numbers a second from an x of 8 MB in its cache, 125 of
 *          32 MB, whichever way they are loaded (cached or not in the first level, cp.async) and
 *          however many warps ask, but half as many when less than 64 KiB are left of the first
 *          level: so more than 12000 hubs are worse again.
 * Repeats  bitwise: yes.
 * Params   hubs: columns kept, at most (12000; 0: as many as fit); block: threads per block, a
 *          multiple of 32 up to 768 (768).
 */
#include "tasks.cuh"

enum {
    MOST_DEGREE = 8192, /* degrees are told apart up to here */
    PIECES = 4,         /* of a task */
    MOST_THREADS = 768  /* more would take registers from the loads in flight */
};

typedef struct hubs {
    tasks all;
    idx *col;    /* [nnz] */
    idx *hub;    /* [nhubs] the columns */
    real *hub_x; /* [nhubs] */
    idx nhubs;
    int blocks;
} hubs;

/* ---- the product ----------------------------------------------------------------------------- */

static __global__ void collect_hubs(hubs H, const real *__restrict__ x) {
    idx h = (idx)(blockIdx.x * blockDim.x + threadIdx.x);
    if (h < H.nhubs) H.hub_x[h] = x[H.hub[h]];
}

static __global__ void __launch_bounds__(MOST_THREADS, 1)
    multiply(const __grid_constant__ hubs H, const __grid_constant__ operands given) {
    extern __shared__ double room[];
    int warp = threadIdx.x / WARP, warps = blockDim.x / WARP;
    warp_room *w = (warp_room *)room + warp;
    real *hub_x = (real *)((warp_room *)room + warps);
    for (idx h = (idx)threadIdx.x; h < H.nhubs; h += (idx)blockDim.x) hub_x[h] = H.hub_x[h];
    clear_room(w);
    __syncthreads();
    operands o = given;
    o.hub_x = hub_x;
    int all = (int)(H.all.nparts + H.all.ngroups), step = (int)gridDim.x * warps;
    for (int at = warp * (int)gridDim.x + (int)blockIdx.x; at < all; at += step)
        do_task<true>(o, H.all, at, w);
}

static size_t rooms_bytes(const spmv_plan *p) {
    return (size_t)p->choice.value[SPMV_block] / WARP * sizeof(warp_room);
}

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const hubs *H = (const hubs *)p->scratch;
    const csr *A = (const csr *)p->store;
    operands o = {A->row_ptr, H->col,      A->values,  (const real *)x,
                  NULL,       (real)alpha, (real)beta, (real *)y};
    if (A->s.rows == 0) return SPMV_OK;
    if (H->nhubs)
        collect_hubs<<<(unsigned)blocks_for(H->nhubs, 256), 256, 0, stream_of(p)>>>(
            *H, (const real *)x);
    multiply<<<(unsigned)H->blocks, (unsigned)p->choice.value[SPMV_block],
               rooms_bytes(p) + (size_t)H->nhubs * sizeof(real), stream_of(p)>>>(*H, o);
    return launched(p);
}

/* ---- preparation: hubs ----------------------------------------------------------------------- */

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
    int room = 0;
    void *work[3] = {NULL};
    TRY(shared_room(d, &room));
    int64_t left = room - (int64_t)rooms_bytes(p);
    if (left < 0)
        return spmv_fail(d->ctx, SPMV_E_UNSUITABLE,
                         "csr_hubs: %lld threads need %zu bytes of shared memory, a block of this "
                         "GPU has %d: use --block=256",
                         (long long)p->choice.value[SPMV_block], rooms_bytes(p), room);
    idx most = (idx)(left / (int64_t)sizeof(real));
    int64_t wanted = p->choice.value[SPMV_hubs];
    if (wanted && wanted < most) most = (idx)wanted;
    TRY(take_scratch(p, (size_t)A->s.nnz * sizeof *H->col, (void **)&H->col));
    TRY(take_scratch(p, (size_t)most * sizeof *H->hub, (void **)&H->hub));
    TRY(take_scratch(p, (size_t)most * sizeof *H->hub_x, (void **)&H->hub_x));
    size_t kept = p->scratch_bytes;
    spmv_status status = clear_scratch(p, (size_t)A->s.cols * sizeof(int), &work[0]);
    if (status == SPMV_OK)
        status = clear_scratch(p, (MOST_DEGREE + 1) * sizeof(unsigned), &work[1]);
    if (status == SPMV_OK) status = clear_scratch(p, sizeof(int), &work[2]);
    if (status == SPMV_OK)
        status = choose_hubs(p, A, most, (int *)work[0], (unsigned *)work[1], (int *)work[2], H);
    for (int k = 0; k < 3; k++) d->backend->release(d, work[k]);
    p->scratch_bytes = kept;
    if (status != SPMV_OK) return status;
    /* What plans of other matrices need, too: the most. */
    CU(d->ctx, cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    return SPMV_OK;
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    enum { MOST_SHARED = 256 << 10, MOST_HUBS = MOST_SHARED / (int)sizeof(real) }; /* of any GPU */
    int64_t hubs_taken = c->value[SPMV_hubs];
    if (hubs_taken == 0 || hubs_taken > MOST_HUBS) hubs_taken = MOST_HUBS;
    task_sizes size = sizes_of(A->nnz, PIECES, 1);
    size_t work = ((size_t)A->cols + MOST_DEGREE + 2) * sizeof(int); /* while hubs are chosen */
    return work + sizeof(hubs) + (size_t)A->nnz * sizeof(idx) +
           (size_t)hubs_taken * (sizeof(idx) + sizeof(real)) + tasks_bytes(A, &size);
}

static spmv_status prepare(spmv_plan *p) {
    spmv_csr_view A;
    hubs *H = (hubs *)calloc(1, sizeof *H);
    if (!H) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch = H;
    CU(p->device->ctx,
       cudaDeviceGetAttribute(&H->blocks, cudaDevAttrMultiProcessorCount, p->device->number));
    spmv_mat_rows(p->matrix, &A);
    TRY(prepare_hubs(p, (const csr *)p->store, H));
    task_sizes size = sizes_of(A.nnz, PIECES, 1);
    TRY(tasks_make(p, &A, &size, &H->all));
    p->traffic_bytes += (size_t)H->all.ngroups * sizeof(group);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    hubs *H = (hubs *)p->scratch;
    void *owned[] = {H->col, H->hub, H->hub_x};
    for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
        p->device->backend->release(p->device, owned[k]);
    tasks_free(p->device, &H->all);
    free(H);
}

static const spmv_param params[] = {{SPMV_hubs, 12000, 0, 1 << 20, 1, false},
                                    {SPMV_block, MOST_THREADS, 32, MOST_THREADS, WARP, false},
                                    SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_KERNEL(csr_hubs) = {
    /* name, alias  */ "csr_hubs",
    NULL,
    /* format       */ "csr",
    /* summary      */ "csr_adaptive with x of the columns used most in shared memory",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
