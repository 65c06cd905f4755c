/* build_csr.cu: compressed rows, placed on the GPU as they are: what
 * src/formats/csr/format_csr.c makes.
 *
 * Source     src/formats/csr/format_csr.c.
 * Reads      the matrix's row_ptr, col_idx and values.
 * Work       an array of the variant's own type is sent to where it stays; one of another type is
 *            sent beside it and narrowed.
 */
#include "cuda/build.cuh"
#include "formats/csr/csr.h"
#include <time.h>

enum { THREADS = 256 };

static __global__ void narrow_row_ptr(int64_t n, const int64_t *__restrict__ from, ofs *to) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k < n) to[k] = (ofs)from[k];
}

static __global__ void narrow_values(int64_t n, const double *__restrict__ from, real *to,
                                     int *overflows) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= n) return;
    to[k] = (real)from[k];
    if (isinf((real)from[k]) && !isinf(from[k])) atomicAdd(overflows, 1);
}

static double now() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static cudaStream_t stream_on(const spmv_device *d) {
    return ((const cuda_state *)d->state)->stream;
}

static spmv_status send_array(spmv_device *d, const void *from, size_t bytes, void **out) {
    TRY(d->backend->alloc(d, bytes, out));
    return d->backend->put(d, *out, from, bytes);
}

static spmv_status place_rows(spmv_device *d, const spmv_csr_view *A, csr *copy) {
    void *sent = NULL;
    int64_t n = A->rows + 1;
    size_t bytes = (size_t)n * sizeof *A->row_ptr;
    if (sizeof(ofs) == sizeof *A->row_ptr)
        return d->backend->put(d, copy->row_ptr, A->row_ptr, bytes);
    spmv_status status = send_array(d, A->row_ptr, bytes, &sent);
    if (status == SPMV_OK)
        narrow_row_ptr<<<(unsigned)blocks_for(n, THREADS), THREADS, 0, stream_on(d)>>>(
            n, (const int64_t *)sent, copy->row_ptr);
    d->backend->release(d, sent);
    CU(d->ctx, cudaGetLastError());
    return status;
}

static spmv_status narrow_all(spmv_device *d, const spmv_csr_view *A, const void *sent,
                              int *overflows, csr *copy) {
    int many = 0;
    CU(d->ctx, cudaMemsetAsync(overflows, 0, sizeof *overflows, stream_on(d)));
    narrow_values<<<(unsigned)blocks_for(A->nnz, THREADS), THREADS, 0, stream_on(d)>>>(
        A->nnz, (const double *)sent, copy->values, overflows);
    CU(d->ctx, cudaGetLastError());
    TRY(d->backend->get(d, &many, overflows, sizeof many));
    if (many) return spmv_fail(d->ctx, SPMV_E_UNSUITABLE, "%d values are too large for f32", many);
    return SPMV_OK;
}

static spmv_status place_values(spmv_device *d, const spmv_csr_view *A, csr *copy) {
    void *sent[2] = {NULL};
    size_t bytes = (size_t)A->nnz * sizeof *A->values;
    if (A->nnz == 0) return SPMV_OK;
    if (sizeof(real) == sizeof *A->values)
        return d->backend->put(d, copy->values, A->values, bytes);
    spmv_status status = send_array(d, A->values, bytes, &sent[0]);
    if (status == SPMV_OK) status = d->backend->alloc(d, sizeof(int), &sent[1]);
    if (status == SPMV_OK) status = narrow_all(d, A, sent[0], (int *)sent[1], copy);
    for (int k = 0; k < 2; k++) d->backend->release(d, sent[k]);
    return status;
}

/* What is narrowed is sent beside the store, one array after the other. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    size_t offsets =
        sizeof(ofs) == sizeof *A->row_ptr ? 0 : (size_t)(A->rows + 1) * sizeof(int64_t);
    size_t values = sizeof(real) == sizeof *A->values ? 0 : (size_t)A->nnz * sizeof(double);
    if (values) values += sizeof(int); /* the count of those too large */
    (void)c;
    return offsets > values ? offsets : values;
}

/* The store's bytes without its memory, and its copy on the device. All of it is upload, memory
 * and narrowing too, by the host's clock: sending waits. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    (void)rows, (void)c; /* there are none yet, and no parameters */
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), A, head_out));
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), A, copy_out));
    csr *head = (csr *)*head_out, *copy = (csr *)*copy_out;
    head->s.slots = copy->s.slots = A->nnz;
    double start = now();
    TRY(BUILD_ARRAY(d, head, copy, row_ptr, A->rows + 1));
    TRY(BUILD_ARRAY(d, head, copy, col_idx, A->nnz));
    TRY(BUILD_ARRAY(d, head, copy, values, A->nnz));
    TRY(d->backend->put(d, copy->col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx));
    TRY(place_rows(d, A, copy));
    TRY(place_values(d, A, copy));
    TRY(d->backend->sync(d));
    *upload_s = now() - start;
    return SPMV_OK;
}

static bool is_there(const void *memory) {
    cudaPointerAttributes about;
    if (cudaPointerGetAttributes(&about, memory) == cudaSuccess)
        return about.type == cudaMemoryTypeDevice;
    cudaGetLastError();
    return false;
}

/* What is sent from the host has arrived when it returns. */
static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    (void)row_ptr; /* the store has it */
    real *to = ((csr *)copy)->values;
    const size_t bytes = (size_t)copy->nnz * sizeof *to;
    if (!is_there(values)) return d->backend->put(d, to, values, bytes);
    CU(d->ctx, cudaMemcpyAsync(to, values, bytes, cudaMemcpyDeviceToDevice, stream_on(d)));
    return SPMV_OK;
}

extern "C" const spmv_device_format V(cuda_build_csr);
extern "C" const spmv_device_format V(cuda_build_csr) = {"csr", working, build_on, refill_on};
