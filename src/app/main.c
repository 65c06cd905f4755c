/* main.c: the one decision by __CUDACC__. gcc compiles it for `make omp`; nvcc -x cu compiles it,
 * as C++, for `make cuda`. Only the default backend follows from it: a cuda build holds the OpenMP
 * kernels too. */
#include "spmv_kernel.h"

SPMV_LINKAGE int spmv_app(int argc, char **argv, const spmv_backend *backend);

int main(int argc, char **argv) {
#ifdef __CUDACC__
    return spmv_app(argc, argv, &spmv_cuda);
#else
    return spmv_app(argc, argv, &spmv_omp);
#endif
}
