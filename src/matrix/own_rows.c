/* own_rows.c: memory and canonical CSR of the rows that a rank owns (include/spmv_pieces.h). */
#include "csr.h"
#include "host/context.h"
#include "host/host.h"
#include "spmv_pieces.h"
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void *spmv_rows_take(spmv_ctx *ctx, size_t bytes) {
    return spmv_host_take(ctx, bytes);
}

void spmv_rows_give(spmv_ctx *ctx, void *memory) {
    spmv_host_give(ctx, memory);
}

size_t spmv_rows_free(void) {
    return spmv_host_free_bytes();
}

size_t spmv_rows_room(void) {
    const size_t free_bytes = spmv_host_free_bytes();
    struct rlimit limit;
    long long pages = 0;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return free_bytes;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file && fscanf(file, "%lld", &pages) != 1) pages = 0;
    if (file) fclose(file);
    const size_t used = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    const size_t left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    return left < free_bytes ? left : free_bytes;
}

/* Builds the canonical CSR of some rows; does not write the entries. */
spmv_status spmv_rows_build(spmv_ctx *ctx, const spmv_coo_view *entries, int64_t first_row,
                            spmv_some_rows *out) {
    const spmv_coo coo = {.rows = entries->rows,
                          .cols = entries->cols,
                          .nnz = entries->nnz,
                          .row = (int32_t *)(uintptr_t)entries->row,
                          .col = (int32_t *)(uintptr_t)entries->col,
                          .values = (double *)(uintptr_t)entries->values,
                          .symmetry = SPMV_GENERAL,
                          .first_row = first_row};
    spmv_csr A;
    *out = (spmv_some_rows){0};
    TRY(spmv_csr_fits(ctx, &coo));
    TRY(spmv_csr_build(ctx, &coo, spmv_threads_for(ctx, coo.nnz + coo.rows), &A));
    *out = (spmv_some_rows){.first_row = first_row,
                            .rows = A.rows,
                            .cols = A.cols,
                            .nnz = A.nnz,
                            .row_ptr = A.row_ptr,
                            .col_idx = A.col_idx,
                            .values = A.values,
                            .merged = A.merged,
                            .merged_above = A.merged_above};
    return SPMV_OK;
}
