/* loop_gpu.cuh: what the solvers on a GPU share: kernels that start early, sums over vectors, and a
 * graph that runs a loop until a kernel ends it, so that the host waits once. Needs CUDA 12.4 or
 * later. */
#ifndef LOOP_GPU_CUH
#define LOOP_GPU_CUH

#include <cuda_runtime.h>
#include <math.h>
#include <spmv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUDA(call) \
    do { \
        cudaError_t error_ = (call); \
        if (error_ == cudaSuccess) break; \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(error_)); \
        exit(70); \
    } while (0)

/* Ends the program unless the call succeeded. */
static inline void check(const spmv_ctx *ctx, spmv_status status) {
    if (status == SPMV_OK) return;
    fprintf(stderr, "%s\n", spmv_ctx_error(ctx));
    exit(spmv_exit_code(status));
}

enum {
    THREADS = 256,     /* threads per block */
    RESIDENT = 4,      /* blocks that a multiprocessor has room for, at least */
    MOST_BLOCKS = 512, /* maximum blocks per grid: all resident on 128 multiprocessors */
    SOME = 4           /* rows that a thread has, at least */
};

typedef enum end { RUNNING, CONVERGED, TOO_MANY, INDEFINITE, BROKEN_DOWN, NOT_A_NUMBER } end;

static const char *const ends[] = {"still running",
                                   "converged",
                                   "reached the limit of iterations",
                                   "the matrix is not positive definite",
                                   "broke down",
                                   "not a number"};

/* ---- kernels that start early ---------------------------------------------------------------- */

/* A kernel calls this first. Compiled for sm_90 or later it was started while the kernel in front
 * of it was ending, and waits here until that has ended; and the next one may start. */
static __device__ inline void begin_early() {
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* Launches a kernel that calls begin_early, with the given number of blocks of THREADS threads. */
template <class... parameters, class... arguments>
static void launch_early(void (*kernel)(parameters...), unsigned blocks, cudaStream_t stream,
                         const arguments &...with) {
    cudaFuncAttributes code;
    cudaLaunchAttribute early = {};
    cudaLaunchConfig_t how = {};
    CUDA(cudaFuncGetAttributes(&code, kernel));
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    how.gridDim = dim3(blocks);
    how.blockDim = dim3(THREADS);
    how.stream = stream;
    how.attrs = &early;
    how.numAttrs = code.binaryVersion >= 90;
    CUDA(cudaLaunchKernelEx(&how, kernel, with...));
}

/* Calls use(i, get(i)) for the rows i of n that belong to the calling thread. AT_A_TIME rows at a
 * time are read before the first of them is used. No array is __restrict__, because the preceding
 * kernel may still write arrays after this kernel has started. */
template <int AT_A_TIME = SOME, class getter, class user>
static __device__ inline void for_rows(int64_t n, const getter &get, const user &use) {
    const int64_t step = (int64_t)gridDim.x * THREADS;
    for (int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x; i < n; i += AT_A_TIME * step) {
        decltype(get(i)) got[AT_A_TIME];
#pragma unroll
        for (int u = 0; u < AT_A_TIME; u++)
            if (i + u * step < n) got[u] = get(i + u * step);
#pragma unroll
        for (int u = 0; u < AT_A_TIME; u++)
            if (i + u * step < n) use(i + u * step, got[u]);
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

static inline unsigned blocks_of(int64_t n) {
    const int64_t blocks = (n + THREADS * SOME - 1) / (THREADS * SOME);
    return (unsigned)(blocks < 1                      ? 1
                      : blocks < (int64_t)MOST_BLOCKS ? blocks
                                                      : (int64_t)MOST_BLOCKS);
}

typedef struct sums_room { /* in device memory, zeros at first; of one kernel at a time */
    double part[2][MOST_BLOCKS];
    unsigned done;
} sums_room;

/* Adds up two values per thread of a block; thread 0 receives the sums. */
static __device__ inline void add_block(double *a, double *b) {
    __shared__ double of_warp[2][THREADS / 32];
    for (int step = 16; step > 0; step /= 2) {
        *a += __shfl_down_sync(0xffffffffu, *a, step);
        *b += __shfl_down_sync(0xffffffffu, *b, step);
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[0][threadIdx.x / 32] = *a, of_warp[1][threadIdx.x / 32] = *b;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int warp = 1; warp < THREADS / 32; warp++)
            *a += of_warp[0][warp], *b += of_warp[1][warp];
}

/* Adds up two values per thread of a grid, always in the same order. Returns true in one thread,
 * which receives the sums after all other threads have finished their reads. */
static __device__ inline bool add_grid(sums_room *room, double *a, double *b) {
    __shared__ bool is_last;
    add_block(a, b);
    if (threadIdx.x == 0) {
        room->part[0][blockIdx.x] = *a;
        room->part[1][blockIdx.x] = *b;
        __threadfence();
        is_last = atomicAdd(&room->done, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (!is_last) return false;
    __threadfence();
    *a = *b = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += THREADS) {
        *a += __ldcg(&room->part[0][k]);
        *b += __ldcg(&room->part[1][k]);
    }
    add_block(a, b);
    if (threadIdx.x) return false;
    room->done = 0;
    return true;
}

/* ---- a loop in a graph ----------------------------------------------------------------------- */

/* Iterations per launch of a graph, between two tests of convergence. Kernels of iterations after
 * convergence do nothing. */
enum { AT_ONCE = 4 };

typedef void (*loop_part)(const void *solver, cudaGraphConditionalHandle goes_on,
                          cudaStream_t stream);

typedef struct loop { /* first, then body again and again, until a kernel sets the condition to 0 */
    cudaStream_t stream;
    cudaGraph_t graph; /* one node: while (goes_on) body */
    cudaGraphExec_t ready;
    void (*first)(const void *solver, cudaStream_t stream);
    const void *solver;
} loop;

/* Captures what `body` puts on the stream. Products must have run once before, with the sums that
 * they make: the first one allocates. */
static inline loop loop_make(void (*first)(const void *solver, cudaStream_t stream), loop_part body,
                             const void *solver) {
    loop l = {};
    l.first = first;
    l.solver = solver;
    cudaGraphConditionalHandle goes_on;
    cudaGraphNode_t node;
    CUDA(cudaStreamCreateWithFlags(&l.stream, cudaStreamNonBlocking));
    CUDA(cudaGraphCreate(&l.graph, 0));
    CUDA(cudaGraphConditionalHandleCreate(&goes_on, l.graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams what = {};
    what.type = cudaGraphNodeTypeConditional;
    what.conditional.handle = goes_on;
    what.conditional.type = cudaGraphCondTypeWhile;
    what.conditional.size = 1;
#if CUDART_VERSION >= 13000
    CUDA(cudaGraphAddNode(&node, l.graph, NULL, NULL, 0, &what));
#else
    CUDA(cudaGraphAddNode(&node, l.graph, NULL, 0, &what));
#endif
    cudaGraph_t inside = what.conditional.phGraph_out[0];
    CUDA(cudaStreamBeginCaptureToGraph(l.stream, inside, NULL, NULL, 0,
                                       cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < AT_ONCE; k++) body(solver, goes_on, l.stream);
    CUDA(cudaStreamEndCapture(l.stream, &inside));
    CUDA(cudaGraphInstantiate(&l.ready, l.graph, 0));
    CUDA(cudaGraphUpload(l.ready, l.stream));
    return l;
}

/* Runs the whole loop; returns the seconds that it took on the GPU. */
static inline double loop_run(const loop *l) {
    cudaEvent_t start, stop;
    float ms = 0;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    l->first(l->solver, l->stream);
    CUDA(cudaEventRecord(start, l->stream));
    CUDA(cudaGraphLaunch(l->ready, l->stream));
    CUDA(cudaEventRecord(stop, l->stream));
    CUDA(cudaEventSynchronize(stop)); /* the only wait */
    CUDA(cudaEventElapsedTime(&ms, start, stop));
    cudaEventDestroy(start);
    cudaEventDestroy(stop);
    return 1e-3 * (double)ms;
}

static inline void loop_free(loop *l) {
    cudaGraphExecDestroy(l->ready);
    cudaGraphDestroy(l->graph);
    cudaStreamDestroy(l->stream);
}

/* ---- a problem ------------------------------------------------------------------------------- */

typedef struct problem { /* A x = b, of which every entry of the solution is 1 */
    spmv_ctx *ctx;
    spmv_mat *matrix;
    spmv_plan *plan;
    int64_t n;
    double *b, *x, *inverse; /* on the GPU; inverse: of the diagonal, NULL without Jacobi */
} problem;

static inline double *vector_there(const problem *p) {
    double *v = NULL;
    const size_t bytes = (size_t)p->n * sizeof *v;
    CUDA(cudaMalloc((void **)&v, bytes));
    CUDA(cudaMemset(v, 0, bytes));
    CUDA(cudaDeviceSynchronize());
    return v;
}

static inline double *inverse_diagonal(const problem *p) {
    spmv_csr_view rows = SPMV_OPTS(spmv_csr_view);
    double *here = (double *)malloc((size_t)p->n * sizeof *here), *there = vector_there(p);
    if (!here) exit(71);
    check(p->ctx, spmv_mat_rows(p->matrix, &rows));
    for (int64_t i = 0; i < p->n; i++) {
        here[i] = 1;
        for (int64_t k = rows.row_ptr[i]; k < rows.row_ptr[i + 1]; k++)
            if (rows.col_idx[k] == i && rows.values[k] != 0) here[i] = 1 / rows.values[k];
    }
    CUDA(cudaMemcpy(there, here, (size_t)p->n * sizeof *here, cudaMemcpyHostToDevice));
    free(here);
    return there;
}

typedef struct arguments { /* [-j] [MATRIX [KERNEL [TOLERANCE [MOST]]]] */
    bool has_jacobi;
    const char *path, *kernel;
    double tolerance;
    int most; /* iterations */
} arguments;

static inline arguments arguments_of(int argc, char **argv, const char *usual_path) {
    const int j = argc > 1 && strcmp(argv[1], "-j") == 0, given = argc - j;
    char **arg = argv + j;
    return {j != 0, given > 1 ? arg[1] : usual_path, given > 2 ? arg[2] : "cuda:auto",
            given > 3 ? strtod(arg[3], NULL) : 1e-8,
            given > 4 ? (int)strtol(arg[4], NULL, 10) : 10000};
}

/* Opens path, and makes a plan with that kernel for about that number of products. */
static inline problem problem_of(const char *path, const char *kernel, bool has_jacobi,
                                 int64_t products) {
    problem p = {};
    spmv_ctx_opts ctx_opts = SPMV_OPTS(spmv_ctx_opts);
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    spmv_stats of = SPMV_OPTS(spmv_stats);
    ctx_opts.backend = "cuda";
    check(NULL, spmv_ctx_create(&ctx_opts, &p.ctx));
    check(p.ctx, spmv_mat_load(p.ctx, path, NULL, &p.matrix));
    check(p.ctx, spmv_mat_stats(p.matrix, &of));
    if (of.rows != of.cols) {
        fprintf(stderr, "%s is not square\n", path);
        exit(65);
    }
    p.n = of.rows;
    opts.kernel = kernel;
    opts.expected_calls = products;
    check(p.ctx, spmv_plan_create(p.matrix, &opts, &p.plan));
    p.b = vector_there(&p);
    p.x = vector_there(&p);
    if (has_jacobi) p.inverse = inverse_diagonal(&p);
    double *one = (double *)malloc((size_t)p.n * sizeof *one);
    if (!one) exit(71);
    for (int64_t i = 0; i < p.n; i++) one[i] = 1;
    check(p.ctx, spmv_plan_put(p.plan, p.x, one, (size_t)p.n * sizeof *one));
    check(p.ctx, spmv_exec(p.plan, 1, p.x, 0, p.b));
    free(one);
    return p;
}

/* Returns |b - A x| / |b|, which a product makes with its sum. */
static inline double true_residual(const problem *p) {
    const double minus = -1, one = 1;
    double *r = vector_there(p), *sums = NULL, got[2];
    CUDA(cudaMalloc((void **)&sums, 2 * sizeof *sums));
    spmv_call call = SPMV_OPTS(spmv_call);
    call.alpha = &minus, call.beta = &one;
    call.x = p->x, call.y = p->b, call.z = r;
    call.dot_zz = sums;
    check(p->ctx, spmv_apply(p->plan, &call, NULL)); /* r = b - A x, and r'r */
    const double nothing = 0;
    call.alpha = &nothing, call.dot_zz = sums + 1;
    check(p->ctx, spmv_apply(p->plan, &call, NULL)); /* b, and b'b */
    CUDA(cudaMemcpy(got, sums, sizeof got, cudaMemcpyDeviceToHost));
    cudaFree(sums);
    cudaFree(r);
    return sqrt(got[0] / got[1]);
}

/* Says how it went; returns what the program should exit with. */
static inline int report(const problem *p, end status, int iterations, double residual,
                         double seconds) {
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    check(p->ctx, spmv_plan_info(p->plan, &facts));
    printf("%lld unknowns, %s: %s after %d iterations of %.1f us, residual %.2e, b - A x %.2e\n",
           (long long)p->n, facts.kernel, ends[status], iterations,
           iterations ? 1e6 * seconds / iterations : 0, residual, true_residual(p));
    return status == CONVERGED ? 0 : 1;
}

static inline void problem_free(problem *p) {
    cudaFree(p->b), cudaFree(p->x), cudaFree(p->inverse);
    spmv_plan_free(p->plan), spmv_mat_free(p->matrix), spmv_ctx_free(p->ctx);
}

#endif
