/* cusparse.cuh: what the cuSPARSE peers share: the generic API's way from a matrix to a product.
 * Descriptors and the buffer are made in prepare, with cusparseSpMV_preprocess; run only points the
 * vectors elsewhere. Without the library the same kernels are there by name, and say so. */
#ifndef SPMV_CUDA_CUSPARSE_CUH
#define SPMV_CUDA_CUSPARSE_CUH

#include "cuda/device.cuh"
#include "formats/coo/coo.h"
#include "formats/csr/csr.h"
#include <stdlib.h>
#include <time.h>

static const spmv_param no_params[] = {SPMV_NO_MORE_PARAMS};

#ifdef HAVE_CUSPARSE
#include <cusparse.h>
#include <stdio.h>

typedef struct peer { /* a plan's scratch */
    cusparseConstSpMatDescr_t matrix;
    cusparseDnVecDescr_t x, y;
    void *buffer;
    ofs *ptr; /* device memory of the formats that cuSPARSE wants laid out otherwise */
    idx *col_idx;
    real *values;
} peer;

static const cudaDataType real_type = sizeof(real) == sizeof(double) ? CUDA_R_64F : CUDA_R_32F;
static inline spmv_status cusparse_fail(const spmv_plan *p, cusparseStatus_t status,
                                        const char *what) {
    cudaGetLastError();
    return spmv_fail(p->device->ctx,
                     status == CUSPARSE_STATUS_NOT_SUPPORTED ? SPMV_E_UNSUITABLE
                     : status == CUSPARSE_STATUS_ALLOC_FAILED ||
                             status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                         ? SPMV_E_NOMEM
                         : SPMV_E_DEVICE,
                     "%s: %.*s: %s", p->kernel->name, (int)strcspn(what, "("), what,
                     cusparseGetErrorString(status));
}
#define CUSPARSE(p, call) \
    do { \
        cusparseStatus_t cusparse_status_ = (call); \
        if (cusparse_status_ != CUSPARSE_STATUS_SUCCESS) \
            return cusparse_fail(p, cusparse_status_, #call); \
    } while (0)

static inline void close_cusparse(void *handle) {
    cusparseDestroy((cusparseHandle_t)handle);
}

/* The device's handle. The first plan makes it, and is not charged: a process does so once. */
static inline spmv_status open_cusparse(spmv_plan *p) {
    cuda_state *s = (cuda_state *)p->device->state;
    struct timespec start, end;
    if (s->library) return SPMV_OK;
    cusparseHandle_t handle = NULL;
    clock_gettime(CLOCK_MONOTONIC, &start);
    CUSPARSE(p, cusparseCreate(&handle));
    s->library = handle;
    s->close_library = close_cusparse;
    CUSPARSE(p, cusparseSetStream(handle, s->stream));
    clock_gettime(CLOCK_MONOTONIC, &end);
    p->once_s = (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
    return SPMV_OK;
}

static inline cusparseHandle_t handle_of(const spmv_plan *p) {
    return (cusparseHandle_t)((const cuda_state *)p->device->state)->library;
}

static inline void release_peer(spmv_plan *p) {
    peer *t = (peer *)p->scratch;
    const spmv_backend *backend = p->device->backend;
    if (t->x) cusparseDestroyDnVec(t->x);
    if (t->y) cusparseDestroyDnVec(t->y);
    if (t->matrix) cusparseDestroySpMat(t->matrix);
    backend->release(p->device, t->buffer);
    backend->release(p->device, t->ptr);
    backend->release(p->device, t->col_idx);
    backend->release(p->device, t->values);
    free(t);
}

/* Descriptor, vectors, buffer, preprocess. describe makes the matrix's descriptor; the vectors get
 * an address of their own with each product, until then the matrix's: nothing reads them. */
typedef spmv_status (*describe_matrix)(spmv_plan *p, peer *t);
template <describe_matrix describe, cusparseSpMVAlg_t algorithm>
static spmv_status prepare_peer(spmv_plan *p) {
    peer *t = (peer *)calloc(1, sizeof *t);
    const real one = 1, zero = 0;
    size_t bytes = 0;
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    if (p->host->nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: cuSPARSE is not given matrices without entries", p->kernel->name);
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    TRY(open_cusparse(p));
    TRY(describe(p, t));
    void *somewhere = p->device->state;
    CUSPARSE(p, cusparseCreateDnVec(&t->x, p->host->cols, somewhere, real_type));
    CUSPARSE(p, cusparseCreateDnVec(&t->y, p->host->rows, somewhere, real_type));
    CUSPARSE(p,
             cusparseSpMV_bufferSize(handle_of(p), CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                     t->matrix, t->x, &zero, t->y, real_type, algorithm, &bytes));
    TRY(take_scratch(p, bytes, &t->buffer));
    CUSPARSE(p, cusparseSpMV_preprocess(handle_of(p), CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                        t->matrix, t->x, &zero, t->y, real_type, algorithm,
                                        t->buffer));
    return SPMV_OK;
}

template <cusparseSpMVAlg_t algorithm>
static spmv_status run_peer(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    const peer *t = (const peer *)p->scratch;
    const real a = (real)alpha, b = (real)beta;
    CUSPARSE(p, cusparseDnVecSetValues(t->x, (void *)x)); /* read only: x is not modified */
    CUSPARSE(p, cusparseDnVecSetValues(t->y, y));
    CUSPARSE(p, cusparseSpMV(handle_of(p), CUSPARSE_OPERATION_NON_TRANSPOSE, &a, t->matrix, t->x,
                             &b, t->y, real_type, algorithm, t->buffer));
    return SPMV_OK;
}

static inline void cusparse_library(const spmv_choice *c, char *text, size_t bytes) {
    int major = 0, minor = 0, patch = 0;
    (void)c;
    cusparseGetProperty(MAJOR_VERSION, &major);
    cusparseGetProperty(MINOR_VERSION, &minor);
    cusparseGetProperty(PATCH_LEVEL, &patch);
    snprintf(text, bytes, "cuSPARSE %d.%d.%d", major, minor, patch);
}

/* cuSPARSE wants offsets and columns of one width, and our columns are 32-bit. */
static inline spmv_status check_offsets(const spmv_plan *p) {
    if (sizeof(ofs) == sizeof(int32_t)) return SPMV_OK;
    return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: cuSPARSE has no 64-bit offsets beside 32-bit columns: --index=32",
                     p->kernel->name);
}

static inline spmv_status describe_csr(spmv_plan *p, peer *t) {
    const csr *A = (const csr *)p->store;
    TRY(check_offsets(p));
    CUSPARSE(p, cusparseCreateConstCsr(&t->matrix, A->s.rows, A->s.cols, A->s.nnz, A->row_ptr,
                                       A->col_idx, A->values, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, real_type));
    return SPMV_OK;
}

/* Coordinates have no offsets: the number of entries is 64-bit in the API. */
static inline spmv_status describe_coo(spmv_plan *p, peer *t) {
    const sorted_coo *A = (const sorted_coo *)p->store;
    CUSPARSE(p, cusparseCreateConstCoo(&t->matrix, A->s.rows, A->s.cols, A->s.nnz, A->row_idx,
                                       A->col_idx, A->values, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_BASE_ZERO, real_type));
    return SPMV_OK;
}

#define CUSPARSE_KERNEL(symbol, its_format, its_summary, its_traits, its_estimate, describe, \
                        algorithm) \
    SPMV_EXPORT_KERNEL(symbol) = { \
        /* name, alias  */ #symbol, \
        NULL, \
        /* format       */ its_format, \
        /* summary      */ its_summary, \
        /* params       */ no_params, \
        /* traits       */ (its_traits) | SPMV_PEER, \
        /* estimate     */ its_estimate, \
        /* prepare      */ prepare_peer<describe, algorithm>, \
        /* run, release */ run_peer<algorithm>, \
        release_peer, \
        /* absent       */ NULL, \
        /* library      */ cusparse_library, \
    }
#else
#define CUSPARSE_KERNEL(symbol, its_format, its_summary, its_traits, its_estimate, describe, \
                        algorithm) \
    SPMV_EXPORT_KERNEL(symbol) = { \
        /* name, alias  */ #symbol, \
        NULL, \
        /* format       */ its_format, \
        /* summary      */ its_summary, \
        /* params       */ no_params, \
        /* traits       */ (its_traits) | SPMV_PEER, \
        /* estimate     */ NULL, \
        /* prepare      */ NULL, \
        /* run, release */ NULL, \
        NULL, /* absent       */ \
        "cuSPARSE: install libcusparse-dev of the CUDA toolkit, then make cuda", \
        /* library      */ NULL, \
    }
#endif
#endif
