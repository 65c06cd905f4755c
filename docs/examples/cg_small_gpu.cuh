/* cg_small_gpu.cuh: conjugate gradients on a GPU in one kernel, which stays there for all
 * iterations (a cooperative launch), with Jacobi's preconditioner as an option. Where caches hold
 * the matrix and the vectors an iteration is mostly launches and waits: three barriers between the
 * blocks take less from some ten thousand rows on (log/reference/h200-loops.txt). The product is
 * the kernel's own, of compressed rows; the plan checks the result. */
#ifndef CG_SMALL_GPU_CUH
#define CG_SMALL_GPU_CUH

#include "cg_gpu.cuh"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <vector>

typedef struct small_state { /* in device memory */
    double rr, limit;        /* limit: of r'r */
    int iterations;
    end status;
    sums_room room[2]; /* in turns: a block may be one sum ahead of another */
} small_state;

typedef struct cg_small {
    const problem *of;
    int64_t n;
    int *row_ptr, *col; /* compressed rows, on the GPU */
    double *values;
    const double *b, *inverse; /* inverse: of the diagonal, or NULL */
    double *x, *r, *p, *q;
    small_state *state;
    double tolerance; /* relative: |r| / |b| */
    int most;         /* iterations */
    bool is_timed;    /* only the limit of iterations ends it, whatever the matrix is */
} cg_small;

/* Adds up two values per thread of the grid; every thread receives both sums. */
static __device__ inline void sum_everywhere(sums_room *room, double *a, double *b) {
    __shared__ double both[2];
    add_block(a, b);
    if (threadIdx.x == 0) room->part[0][blockIdx.x] = *a, room->part[1][blockIdx.x] = *b;
    cooperative_groups::this_grid().sync();
    *a = *b = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += THREADS) {
        *a += __ldcg(&room->part[0][k]);
        *b += __ldcg(&room->part[1][k]);
    }
    add_block(a, b);
    if (threadIdx.x == 0) both[0] = *a, both[1] = *b;
    __syncthreads();
    *a = both[0], *b = both[1];
}

/* q = A p, by LANES threads per row; returns this thread's part of p'q. */
template <int LANES> static __device__ inline double multiply_rows(const cg_small &c) {
    namespace groups = cooperative_groups;
    const auto row = groups::tiled_partition<LANES>(groups::this_thread_block());
    const int64_t step = gridDim.x * (int64_t)(THREADS / LANES);
    double pq = 0;
    for (int64_t i = (blockIdx.x * (int64_t)THREADS + threadIdx.x) / LANES; i < c.n; i += step) {
        const int end = __ldg(c.row_ptr + i + 1);
        double sum = 0;
        for (int k = __ldg(c.row_ptr + i) + (int)row.thread_rank(); k < end; k += LANES)
            sum += __ldg(c.values + k) * c.p[__ldg(c.col + k)];
        sum = groups::reduce(row, sum, groups::plus<double>());
        if (row.thread_rank() > 0) continue;
        c.q[i] = sum;
        pq += c.p[i] * sum;
    }
    return pq;
}

/* r is b - A x at first. */
template <int LANES> static __global__ void __launch_bounds__(THREADS, 3) cg_in_one(cg_small c) {
    enum { AT_A_TIME = 2 };
    sums_room *room = c.state->room;
    double rho = 0, rr = 0, bb = 0, unused = 0;
    int iterations = 0;
    cg_begin_p<AT_A_TIME>(c, &rho, &bb);
    sum_everywhere(&room[1], &rho, &bb); /* p is written, too */
    const double limit = c.tolerance * c.tolerance * bb;
    end status = cg_first_end(c.is_timed, rho, bb);
    rr = rho;
    while (status == RUNNING) { /* every thread sees the same */
        double pq = multiply_rows<LANES>(c);
        sum_everywhere(&room[0], &pq, &unused);
        const double before = rho, alpha = pq > 0 || c.is_timed ? before / pq : 0;
        rr = rho = 0;
        cg_step_r<AT_A_TIME>(c, alpha, &rr, &rho);
        sum_everywhere(&room[1], &rr, &rho);
        iterations++;
        status = cg_end(c.is_timed, pq, rr, limit, iterations, c.most);
        const double beta = rho / before;
        if (status != NOT_A_NUMBER)
            for_rows<AT_A_TIME>(
                c.n,
                [&](int64_t i) {
                    const double z = c.inverse ? c.inverse[i] * c.r[i] : c.r[i];
                    return double3{c.x[i], c.p[i], z};
                },
                [&](int64_t i, double3 of) {
                    c.x[i] = of.x + alpha * of.y;
                    c.p[i] = of.z + beta * of.y;
                });
        cooperative_groups::this_grid().sync(); /* p is written */
    }
    if (blockIdx.x + threadIdx.x > 0) return;
    c.state->rr = rr;
    c.state->limit = limit;
    c.state->iterations = iterations;
    c.state->status = status;
}

/* Says whether the matrix and four vectors take at most half of the second-level cache. */
static inline bool cg_small_fits(const problem *of) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    int device = 0, cache = 0;
    check(of->ctx, spmv_mat_stats(of->matrix, &stats));
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&cache, cudaDevAttrL2CacheSize, device));
    return (double)stats.nnz * 12 + (double)stats.rows * 36 <= cache / 2;
}

static inline void *sent(const void *from, size_t bytes) {
    void *there;
    CUDA(cudaMalloc(&there, bytes + 1));
    CUDA(cudaMemcpy(there, from, bytes, cudaMemcpyHostToDevice));
    return there;
}

static inline cg_small cg_small_make(const problem *of, double tolerance, int most) {
    cg_small c = {};
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    check(of->ctx, spmv_mat_rows(of->matrix, &A));
    const std::vector<int> row_ptr(A.row_ptr, A.row_ptr + A.rows + 1); /* 64 bits there */
    c.of = of, c.n = of->n, c.b = of->b, c.inverse = of->inverse, c.x = of->x;
    c.row_ptr = (int *)sent(row_ptr.data(), row_ptr.size() * sizeof *c.row_ptr);
    c.col = (int *)sent(A.col_idx, (size_t)A.nnz * sizeof *c.col);
    c.values = (double *)sent(A.values, (size_t)A.nnz * sizeof *c.values);
    c.r = vector_there(of), c.p = vector_there(of), c.q = vector_there(of);
    c.tolerance = tolerance, c.most = most;
    CUDA(cudaMalloc((void **)&c.state, sizeof *c.state));
    return c;
}

/* Runs all iterations from x on; returns the seconds that they took. */
static inline double cg_small_run(cg_small *c) {
    spmv_stats stats = SPMV_OPTS(spmv_stats);
    spmv_call call = SPMV_OPTS(spmv_call);
    const double minus = -1, one = 1;
    check(c->of->ctx, spmv_mat_stats(c->of->matrix, &stats));
    call.alpha = &minus, call.beta = &one;
    call.x = c->x, call.y = c->b, call.z = c->r;
    check(c->of->ctx, spmv_apply(c->of->plan, &call, NULL)); /* r = b - A x */

    const double mean = (double)stats.nnz / (double)(c->n ? c->n : 1);
    const void *kernel = mean <= 8    ? (const void *)cg_in_one<1>
                         : mean <= 32 ? (const void *)cg_in_one<4>
                                      : (const void *)cg_in_one<16>;
    int device = 0, processors = 0, resident = 0;
    cudaEvent_t start, stop;
    float ms = 0;
    CUDA(cudaGetDevice(&device));
    CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, THREADS, 0));
    const int room = processors * resident, wanted = (int)blocks_of(c->n);
    void *arguments[] = {c};
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    CUDA(cudaEventRecord(start, NULL));
    CUDA(cudaLaunchCooperativeKernel(kernel, dim3((unsigned)(wanted < room ? wanted : room)),
                                     dim3(THREADS), arguments, 0, NULL));
    CUDA(cudaEventRecord(stop, NULL));
    CUDA(cudaEventSynchronize(stop)); /* the only wait */
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return 1e-3 * (double)ms;
}

static inline void cg_small_free(cg_small *c) {
    void *const owned[] = {c->row_ptr, c->col, c->values, c->r, c->p, c->q, c->state};
    for (void *memory : owned) cudaFree(memory);
}

#endif
