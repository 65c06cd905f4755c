/* metrics.c: floating-point operations of a product. */
#include "spmv_bench.h"

int64_t spmv_flop(int64_t nnz) {
    return 2 * nnz;
}
