/* cg_gpu.cu: solves A x = b on a GPU by conjugate gradients. A is symmetric positive definite, and
 * b is such that every entry of x is 1.
 *
 *     cg_gpu [-j] [MATRIX [KERNEL [TOLERANCE [MOST]]]]
 *
 * -j: with Jacobi's preconditioner. MATRIX is a Matrix Market file or a generated matrix, MOST the
 * limit of iterations. With KERNEL "one", which needs a matrix that fits half of the cache, one
 * kernel does all (cg_small_gpu.cuh); with any other, and "auto", the iterations are a graph
 * (cg_gpu.cuh).
 *
 *     nvcc -std=c++17 -O3 -arch=native cg_gpu.cu -lspmv -o cg_gpu */
#include "cg_small_gpu.cuh"

typedef struct outcome {
    end status;
    int iterations;
    double residual, seconds; /* residual: |r| / |b| */
} outcome;

static outcome solve_by_graph(const problem *p, const arguments *a) {
    cg solver = cg_make(p, a->tolerance, a->most);
    loop l = loop_make(cg_begin, cg_iterate, &solver);
    cg_state got;
    const double seconds = loop_run(&l);
    CUDA(cudaMemcpy(&got, solver.state, sizeof got, cudaMemcpyDeviceToHost));
    loop_free(&l), cg_free(&solver);
    return {got.status, got.iterations, a->tolerance * sqrt(got.rr / got.limit), seconds};
}

static outcome solve_in_one(const problem *p, const arguments *a) {
    cg_small solver = cg_small_make(p, a->tolerance, a->most);
    small_state got;
    const double seconds = cg_small_run(&solver);
    CUDA(cudaMemcpy(&got, solver.state, sizeof got, cudaMemcpyDeviceToHost));
    cg_small_free(&solver);
    return {got.status, got.iterations, a->tolerance * sqrt(got.rr / got.limit), seconds};
}

int main(int argc, char **argv) {
    arguments a = arguments_of(argc, argv, "gen:poisson3d:64");
    const bool is_one = strcmp(a.kernel, "one") == 0;
    if (is_one) a.kernel = "cuda:auto";
    problem p = problem_of(a.path, a.kernel, a.has_jacobi, 500);
    if (is_one && !cg_small_fits(&p)) {
        fprintf(stderr, "%s and its vectors take more than half of the cache\n", a.path);
        return 65;
    }
    CUDA(cudaMemset(p.x, 0, (size_t)p.n * sizeof *p.x));
    CUDA(cudaDeviceSynchronize());
    const outcome got = is_one ? solve_in_one(&p, &a) : solve_by_graph(&p, &a);
    const int code = report(&p, got.status, got.iterations, got.residual, got.seconds);
    problem_free(&p);
    return code;
}
