/* metrics.c: numbers by which papers compare matrices and products. */
#include "spmv_bench.h"
#include <math.h>

/* The sum over rows is rows row_std^2. */
double spmv_cmrs_sigma(const spmv_stats *stats) {
    return stats->row_mean > 0 ? stats->row_std / sqrt(stats->row_mean) : 0;
}

/* An entry: its value, its column and x's; a strip: its start; a row: y. */
int64_t spmv_cmrs_beta_minus(int64_t nnz, int64_t rows, int64_t strips) {
    return 20 * nnz + 4 * strips + 8 * rows;
}

/* x once: the paper's matrices are square, so it has as many entries as there are rows. */
int64_t spmv_cmrs_beta_plus(int64_t nnz, int64_t rows, int64_t strips) {
    return 12 * nnz + 4 * strips + 16 * rows;
}

int64_t spmv_cmrs_flop(int64_t nnz, int64_t rows) {
    return 2 * nnz - rows;
}

int64_t spmv_flop(int64_t nnz) {
    return 2 * nnz;
}
