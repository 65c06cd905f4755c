/* main.c: the one decision by __CUDACC__. gcc compiles it for `make omp`; nvcc -x cu compiles it,
 * as C++, for `make cuda`. Only the default backend follows from it: a cuda build holds the OpenMP
 * kernels too. */
#include "spmv_kernel.h"

SPMV_LINKAGE int spmv_app(int argc, char **argv, const spmv_backend *backend);
SPMV_LINKAGE void ends_watch_exits(void);

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
/* Libraries may end the program before main begins. They are initialized after this. */
__attribute__((section(".preinit_array"),
               used)) static void (*const first)(void) = ends_watch_exits;
#endif

int main(int argc, char **argv) {
#ifdef __CUDACC__
    return spmv_app(argc, argv, &spmv_cuda);
#else
    return spmv_app(argc, argv, &spmv_omp);
#endif
}
