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
#include <string.h>

int main(int argc, char **argv) {
    const int j = argc > 1 && strcmp(argv[1], "-j") == 0, given = argc - j;
    char **arg = argv + j;
    const char *path = given > 1 ? arg[1] : "gen:poisson3d:64";
    const char *kernel = given > 2 ? arg[2] : "cuda:auto";
    const double tolerance = given > 3 ? strtod(arg[3], NULL) : 1e-8;
    const int most = given > 4 ? (int)strtol(arg[4], NULL, 10) : 10000;
    problem p = problem_of(path, kernel, j != 0, 500);
    cg solver = cg_make(&p, tolerance, most);
    loop l = loop_make(cg_begin, cg_iterate, &solver);
    cg_state result;

    CUDA(cudaMemset(p.x, 0, (size_t)p.n * sizeof *p.x));
    CUDA(cudaDeviceSynchronize());
    const double seconds = loop_run(&l);
    CUDA(cudaMemcpy(&result, solver.state, sizeof result, cudaMemcpyDeviceToHost));
    const double relative = tolerance * sqrt(result.rr / result.limit);
    const int code = report(&p, result.status, result.iterations, relative, seconds);

    loop_free(&l), cg_free(&solver), problem_free(&p);
    return code;
}
