/* bench/loops.cu: complete loops of conjugate gradients on a GPU: make bench-solver, or bench_loops
 * [-n ITERATIONS] [MATRIX ...]; the default matrices are measured first.
 *
 * Four loops, in microseconds per iteration, minimum of several rounds: the better of cuSPARSE's
 * CSR_ALG1 and CSR_ALG2 with preprocess and cuBLAS, as a graph of ten iterations; the same with the
 * product of `auto`; the loop of docs/examples/cg_gpu.cuh, a self-repeating graph with dot products
 * inside the product; and cuSPARSE's loop without a product. Only the number of iterations ends the
 * loops, so that any square matrix can be used. The ratio is that of the first to the third. If
 * conjugate gradients converge, the first residuals of the third loop are compared with those of
 * the second: "differ" is the maximum difference relative to the first residual.
 *
 * "one": the same iterations in one kernel (cg_small_gpu.cuh), if the matrix is small enough.
 *
 * Additional lines: a product followed by cuBLAS' dot product, and a product with the same dot
 * product inside, ten per graph: the saving, relative to the time of a launch and one read of z. */
#include "docs/examples/cg_small_gpu.cuh"
#include <algorithm>
#include <cublas_v2.h>
#include <cusparse.h>
#include <string.h>
#include <vector>

enum { AS_GRAPH = 10 /* iterations per graph */, ROUNDS = 5, COMPARED = 20 };

static const char *const usual[] = {"gen:poisson3d:64", "gen:poisson2d:1000", "gen:poisson3d:180",
                                    "gen:fem3d:60", "gen:mesh:2000000"};

#define LIBRARY(call) \
    do { \
        const int status_ = (int)(call); \
        if (status_ == 0) break; \
        fprintf(stderr, "%s:%d: %s gives %d\n", __FILE__, __LINE__, #call, status_); \
        exit(70); \
    } while (0)

/* ---- the loop of a library's calls ----------------------------------------------------------- */

typedef struct scalars { /* scalars in device memory */
    double rho, pq, alpha, minus_alpha, rr, beta;
} scalars;

static __global__ void find_alpha(scalars *s) {
    s->alpha = s->rho / s->pq;
    s->minus_alpha = -s->alpha;
}

static __global__ void find_beta(scalars *s, double *residual, int *iterations, int most) {
    s->beta = s->rr / s->rho;
    s->rho = s->rr;
    if (*iterations < most) residual[(*iterations)++] = s->rr;
}

static __global__ void new_direction(int64_t n, const double *r, const scalars *s, double *p) {
    const int64_t i = blockIdx.x * (int64_t)THREADS + threadIdx.x;
    if (i < n) p[i] = r[i] + s->beta * p[i];
}

typedef struct calls {
    const problem *of;
    cudaStream_t stream;
    cublasHandle_t blas;
    cusparseHandle_t sparse;
    double *x, *r, *p, *q, *residual;
    int *iterations;
    scalars *s;
} calls;

static calls calls_of(const problem *of) {
    calls c = {};
    c.of = of;
    c.x = vector_there(of), c.r = vector_there(of), c.p = vector_there(of), c.q = vector_there(of);
    CUDA(cudaMalloc((void **)&c.s, sizeof *c.s));
    CUDA(cudaMalloc((void **)&c.residual, COMPARED * sizeof *c.residual));
    CUDA(cudaMalloc((void **)&c.iterations, sizeof *c.iterations));
    CUDA(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
    LIBRARY(cublasCreate(&c.blas));
    LIBRARY(cublasSetStream(c.blas, c.stream));
    LIBRARY(cublasSetPointerMode(c.blas, CUBLAS_POINTER_MODE_DEVICE));
    LIBRARY(cusparseCreate(&c.sparse));
    LIBRARY(cusparseSetStream(c.sparse, c.stream));
    return c;
}

static void calls_free(calls *c) {
    cublasDestroy(c->blas), cusparseDestroy(c->sparse), cudaStreamDestroy(c->stream);
    void *const owned[] = {c->x, c->r, c->p, c->q, c->residual, c->iterations, c->s};
    for (void *memory : owned) cudaFree(memory);
}

/* Sets x = 0, r = p = b. */
static void restart(const calls *c) {
    const size_t bytes = (size_t)c->of->n * sizeof *c->r;
    CUDA(cudaMemsetAsync(c->x, 0, bytes, c->stream));
    CUDA(cudaMemsetAsync(c->iterations, 0, sizeof *c->iterations, c->stream));
    CUDA(cudaMemcpyAsync(c->r, c->of->b, bytes, cudaMemcpyDeviceToDevice, c->stream));
    CUDA(cudaMemcpyAsync(c->p, c->of->b, bytes, cudaMemcpyDeviceToDevice, c->stream));
    LIBRARY(cublasDdot(c->blas, (int)c->of->n, c->r, 1, c->r, 1, &c->s->rho));
    CUDA(cudaStreamSynchronize(c->stream));
}

template <class product> static void iterate(const calls *c, const product &multiply) {
    const int n = (int)c->of->n;
    multiply(c->p, c->q, c->stream);
    LIBRARY(cublasDdot(c->blas, n, c->p, 1, c->q, 1, &c->s->pq));
    find_alpha<<<1, 1, 0, c->stream>>>(c->s);
    LIBRARY(cublasDaxpy(c->blas, n, &c->s->alpha, c->p, 1, c->x, 1));
    LIBRARY(cublasDaxpy(c->blas, n, &c->s->minus_alpha, c->q, 1, c->r, 1));
    LIBRARY(cublasDdot(c->blas, n, c->r, 1, c->r, 1, &c->s->rr));
    find_beta<<<1, 1, 0, c->stream>>>(c->s, c->residual, c->iterations, COMPARED);
    new_direction<<<(unsigned)((n + THREADS - 1) / THREADS), THREADS, 0, c->stream>>>(n, c->r, c->s,
                                                                                      c->p);
    CUDA(cudaGetLastError());
}

/* Returns the seconds of one execution of `body`, run AS_GRAPH times per graph; each round
 * restarts. */
template <class part> static double time_graph(const calls *c, int iterations, const part &body) {
    cudaGraph_t graph;
    cudaGraphExec_t ready;
    cudaEvent_t start, stop;
    double least = INFINITY;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&stop));
    restart(c);
    body(); /* allocations of a first call */
    CUDA(cudaStreamSynchronize(c->stream));
    CUDA(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
    for (int k = 0; k < AS_GRAPH; k++) body();
    CUDA(cudaStreamEndCapture(c->stream, &graph));
    CUDA(cudaGraphInstantiate(&ready, graph, 0));
    CUDA(cudaGraphUpload(ready, c->stream));
    const int launches = (iterations + AS_GRAPH - 1) / AS_GRAPH;
    for (int round = 0; round < ROUNDS; round++) {
        float ms = 0;
        restart(c);
        CUDA(cudaEventRecord(start, c->stream));
        for (int k = 0; k < launches; k++) CUDA(cudaGraphLaunch(ready, c->stream));
        CUDA(cudaEventRecord(stop, c->stream));
        CUDA(cudaEventSynchronize(stop));
        CUDA(cudaEventElapsedTime(&ms, start, stop));
        least = std::min(least, 1e-3 * (double)ms / (launches * AS_GRAPH));
    }
    cudaGraphExecDestroy(ready), cudaGraphDestroy(graph);
    cudaEventDestroy(start), cudaEventDestroy(stop);
    return least;
}

/* Returns the seconds of one iteration. */
template <class product>
static double time_calls(const calls *c, int iterations, const product &multiply) {
    return time_graph(c, iterations, [&] { iterate(c, multiply); });
}

/* ---- a product and its sum ------------------------------------------------------------------- */

static __global__ void nothing() {
}

typedef struct sum_times { /* seconds */
    double by_cublas;      /* q = A p, then cuBLAS' p'q */
    double on_the_way;     /* product and p'q by spmv_apply */
    double predicted;      /* expected saving: a launch, and one read of q */
} sum_times;

static sum_times time_sums(const calls *c, int iterations) {
    const double read_rate = 4.65e12; /* H200, bytes per second */
    spmv_call call = SPMV_OPTS(spmv_call);
    call.x = call.w = c->p;
    call.z = c->q;
    call.dot_wz = &c->s->pq;
    sum_times t;
    t.by_cublas = time_graph(c, iterations, [&] {
        check(c->of->ctx, spmv_exec_async(c->of->plan, 1, c->p, 0, c->q, c->stream));
        LIBRARY(cublasDdot(c->blas, (int)c->of->n, c->p, 1, c->q, 1, &c->s->pq));
    });
    t.on_the_way = time_graph(
        c, iterations, [&] { check(c->of->ctx, spmv_apply(c->of->plan, &call, c->stream)); });
    const double launch = time_graph(c, iterations, [&] { nothing<<<1, 1, 0, c->stream>>>(); });
    t.predicted = launch + (double)c->of->n * sizeof *c->q / read_rate;
    return t;
}

/* ---- cuSPARSE's product ---------------------------------------------------------------------- */

static double time_cusparse(const calls *c, int iterations) {
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    check(c->of->ctx, spmv_mat_rows(c->of->matrix, &A));
    const std::vector<int32_t> row_ptr(A.row_ptr, A.row_ptr + A.rows + 1);
    void *ptr = sent(row_ptr.data(), row_ptr.size() * sizeof(int32_t));
    void *idx = sent(A.col_idx, (size_t)A.nnz * sizeof *A.col_idx);
    void *values = sent(A.values, (size_t)A.nnz * sizeof *A.values);
    const cusparseSpMVAlg_t algorithms[] = {CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2};
    const double one = 1, zero = 0;
    double least = INFINITY;
    for (cusparseSpMVAlg_t algorithm : algorithms) {
        cusparseSpMatDescr_t M;
        cusparseDnVecDescr_t X, Y;
        void *room = NULL;
        size_t bytes = 0;
        LIBRARY(cusparseCreateCsr(&M, A.rows, A.cols, A.nnz, ptr, idx, values, CUSPARSE_INDEX_32I,
                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_64F));
        LIBRARY(cusparseCreateDnVec(&X, A.cols, c->p, CUDA_R_64F));
        LIBRARY(cusparseCreateDnVec(&Y, A.rows, c->q, CUDA_R_64F));
        LIBRARY(cusparseSpMV_bufferSize(c->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, M, X,
                                        &zero, Y, CUDA_R_64F, algorithm, &bytes));
        CUDA(cudaMalloc(&room, bytes + 1));
        LIBRARY(cusparseSpMV_preprocess(c->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, M, X,
                                        &zero, Y, CUDA_R_64F, algorithm, room));
        const auto multiply = [&](double *, double *, cudaStream_t) {
            LIBRARY(cusparseSpMV(c->sparse, CUSPARSE_OPERATION_NON_TRANSPOSE, &one, M, X, &zero, Y,
                                 CUDA_R_64F, algorithm, room));
        };
        least = std::min(least, time_calls(c, iterations, multiply));
        cusparseDestroySpMat(M), cusparseDestroyDnVec(X), cusparseDestroyDnVec(Y);
        cudaFree(room);
    }
    cudaFree(ptr), cudaFree(idx), cudaFree(values);
    return least;
}

/* ---- the example's loop ---------------------------------------------------------------------- */

static double time_example(const problem *p, int iterations, double *residual) {
    cg solver = cg_make(p, 0, iterations);
    double least = INFINITY;
    solver.is_timed = true;
    CUDA(cudaMalloc((void **)&solver.residual, (size_t)iterations * sizeof *solver.residual));
    loop l = loop_make(cg_begin, cg_iterate, &solver);
    for (int round = 0; round < ROUNDS; round++) {
        CUDA(cudaMemset(p->x, 0, (size_t)p->n * sizeof *p->x));
        CUDA(cudaDeviceSynchronize());
        least = std::min(least, loop_run(&l) / iterations);
    }
    CUDA(
        cudaMemcpy(residual, solver.residual, COMPARED * sizeof *residual, cudaMemcpyDeviceToHost));
    loop_free(&l);
    cg_free(&solver);
    return least;
}

/* Returns the seconds per iteration of the single kernel; 0 if the matrix does not fit. */
static double time_in_one(const problem *p, int iterations) {
    if (!cg_small_fits(p)) return 0;
    cg_small solver = cg_small_make(p, 0, iterations);
    double least = INFINITY;
    solver.is_timed = true;
    for (int round = 0; round < ROUNDS; round++) {
        CUDA(cudaMemset(p->x, 0, (size_t)p->n * sizeof *p->x));
        CUDA(cudaDeviceSynchronize());
        least = std::min(least, cg_small_run(&solver) / iterations);
    }
    cg_small_free(&solver);
    return least;
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* Returns the maximum difference of two sequences of |r|, relative to the first value; negative:
 * the residuals do not decrease, so that rounding errors grow. */
static double differ(const double *a, const double *b) {
    double most = 0;
    if (!(a[COMPARED - 1] < a[0])) return -1;
    for (int k = 0; k < COMPARED; k++)
        most = std::max(most, fabs(sqrt(a[k]) - sqrt(b[k])) / sqrt(a[0]));
    return most;
}

static double bench(const char *path, int iterations) {
    problem p = problem_of(path, "cuda:auto", false, 2 * iterations);
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    double first[COMPARED], ours[COMPARED];
    calls c = calls_of(&p);
    check(p.ctx, spmv_plan_info(p.plan, &facts));
    const double cusparse = time_cusparse(&c, iterations);
    const double before = time_calls(&c, iterations, [&](double *x, double *y, cudaStream_t on) {
        check(p.ctx, spmv_exec_async(p.plan, 1, x, 0, y, on));
    });
    CUDA(cudaMemcpy(first, c.residual, sizeof first, cudaMemcpyDeviceToHost));
    const double without = time_calls(&c, iterations, [](double *, double *, cudaStream_t) {});
    const sum_times sums = time_sums(&c, iterations);
    const double now = time_example(&p, iterations, ours), gap = differ(first, ours);
    const double in_one = time_in_one(&p, iterations);
    const char *name = strrchr(path, '/');
    printf("%-28.28s %-17s %6.1f %6.1f %6.1f %6.1f  %5.2f %5.2f  %6.1f %6.1f %5.2f",
           name ? name + 1 : path, facts.kernel, 1e6 * cusparse, 1e6 * before, 1e6 * now,
           1e6 * without, cusparse / now, now / before, 1e6 * sums.by_cublas, 1e6 * sums.on_the_way,
           (sums.by_cublas - sums.on_the_way) / sums.predicted);
    if (gap >= 0)
        printf("  %.1e", gap);
    else
        printf("  %7s", "");
    if (in_one > 0) printf(" %6.1f", 1e6 * in_one);
    printf("\n");
    fflush(stdout);
    calls_free(&c);
    problem_free(&p);
    return cusparse / now;
}

int main(int argc, char **argv) {
    int iterations = 500, first = 1, count = 0;
    double logs = 0, least = INFINITY;
    if (argc > 2 && strcmp(argv[1], "-n") == 0) iterations = atoi(argv[2]), first = 3;
    if (iterations < COMPARED) {
        fprintf(stderr, "bench_loops: -n %s: at least %d iterations\n", argv[2], COMPARED);
        return 64;
    }
    std::vector<const char *> paths(usual, usual + sizeof usual / sizeof *usual);
    paths.insert(paths.end(), argv + first, argv + argc);
    printf("Microseconds of an iteration of conjugate gradients: cuSPARSE and cuBLAS, \"auto\" and "
           "cuBLAS, the loop of\ncg_gpu, and cuBLAS without a product; the first over the third, "
           "and the third over the second; a product and cuBLAS' dot, with its sum on the\n"
           "way, and what that saves over what a launch and the reading of z take\n");
    printf("%-28s %-17s %6s %6s %6s %6s  %5s %5s  %6s %6s %5s  %-7s %6s\n", "matrix", "auto",
           "cuSP.", "auto", "loop", "w/o", "ratio", "time", "+dot", "sums", "saved", "differ",
           "one");
    for (const char *path : paths) {
        const double gain = bench(path, iterations);
        logs += log(gain), count++;
        least = std::min(least, gain);
    }
    printf("%.2f in the geometric mean of %d matrices, %.2f at least\n", exp(logs / count), count,
           least);
    return 0;
}
