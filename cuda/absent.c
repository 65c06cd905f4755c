/* absent.c: replaces the CUDA backend in `make omp`: has the names of its kernels and says how to
 * build them. */
#include "spmv_kernel.h"

#define KERNEL(name) #name,
static const char *const names[] = {
#include "kernels.def"
};
#undef KERNEL
_Static_assert(sizeof names / sizeof *names <= SPMV_MOST_KERNELS, "sets of kernels have no room");

static spmv_status open_absent(spmv_device *d) {
    return spmv_fail(d->ctx, SPMV_E_BACKEND, "the CUDA kernels are not built in: make cuda");
}

static void close_absent(spmv_device *d) {
    (void)d; /* never opened */
}

const spmv_backend spmv_cuda = {
    .name = "cuda",
    .hint = "make cuda",
    .names = names,
    .nkernels = sizeof names / sizeof *names,
    .open = open_absent,
    .close = close_absent,
};
