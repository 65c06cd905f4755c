/* cg_gpu.cu: solves A x = b on a GPU by conjugate gradients (cg_gpu.cuh). A is symmetric positive
 * definite, and b is such that every entry of x is 1.
 *
 *     cg_gpu [-j] [MATRIX [KERNEL [TOLERANCE [MOST]]]]
 *
 * -j: with Jacobi's preconditioner. MATRIX is a Matrix Market file or a generated matrix, MOST the
 * limit of iterations.
 *
 *     nvcc -std=c++17 -O3 -arch=native cg_gpu.cu -lspmv -o cg_gpu */
#include "cg_gpu.cuh"

int main(int argc, char **argv) {
    const arguments a = arguments_of(argc, argv, "gen:poisson3d:64");
    problem p = problem_of(a.path, a.kernel, a.has_jacobi, 500);
    cg solver = cg_make(&p, a.tolerance, a.most);
    loop l = loop_make(cg_begin, cg_iterate, &solver);
    cg_state result;

    CUDA(cudaMemset(p.x, 0, (size_t)p.n * sizeof *p.x));
    CUDA(cudaDeviceSynchronize());
    const double seconds = loop_run(&l);
    CUDA(cudaMemcpy(&result, solver.state, sizeof result, cudaMemcpyDeviceToHost));
    const double relative = a.tolerance * sqrt(result.rr / result.limit);
    const int code = report(&p, result.status, result.iterations, relative, seconds);

    loop_free(&l), cg_free(&solver), problem_free(&p);
    return code;
}
