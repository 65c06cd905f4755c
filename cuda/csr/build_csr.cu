/* build_csr.cu: makes a store of compressed rows in GPU memory, equal to that of
 * src/formats/csr/format_csr.c.
 *
 * Source     src/formats/csr/format_csr.c.
 * Reads      the matrix's row_ptr, col_idx and values, in host memory or GPU memory.
 * Work       Arrays of the variant's type are sent to their destination; arrays of other types are
 *            sent to temporary memory and narrowed. Arrays in GPU memory are borrowed if they have
 *            the type.
 */
#include "adopt_csr.cuh"
#include "convert_csr.cuh"
#include "transpose_csr.cuh"

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
    if (status == SPMV_OK) status = convert_offsets(d, n, sent, 64, 0, copy->row_ptr);
    d->backend->release(d, sent);
    return status;
}

static spmv_status place_values(spmv_device *d, const spmv_csr_view *A, csr *copy) {
    void *sent[2] = {NULL};
    size_t bytes = (size_t)A->nnz * sizeof *A->values;
    if (A->nnz == 0) return SPMV_OK;
    if (sizeof(real) == sizeof *A->values)
        return d->backend->put(d, copy->values, A->values, bytes);
    spmv_status status = send_array(d, A->values, bytes, &sent[0]);
    if (status == SPMV_OK) status = d->backend->alloc(d, sizeof(int), &sent[1]);
    if (status == SPMV_OK)
        status = convert_values(d, A->nnz, (const double *)sent[0], copy->values, (int *)sent[1]);
    for (int k = 0; k < 2; k++) d->backend->release(d, sent[k]);
    return status;
}

/* Temporary memory: arrays to be narrowed are sent next to the store, one after the other. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    size_t offsets =
        sizeof(ofs) == sizeof *A->row_ptr ? 0 : (size_t)(A->rows + 1) * sizeof(int64_t);
    size_t values = sizeof(real) == sizeof *A->values ? 0 : (size_t)A->nnz * sizeof(double);
    if (values) values += sizeof(int); /* counter of values that become infinite */
    (void)c;
    return offsets > values ? offsets : values;
}

static spmv_status send_rows(spmv_device *d, const spmv_csr_view *A, csr *head, csr *copy) {
    TRY(BUILD_ARRAY(d, head, copy, row_ptr, A->rows + 1));
    TRY(BUILD_ARRAY(d, head, copy, col_idx, A->nnz));
    TRY(BUILD_ARRAY(d, head, copy, values, A->nnz));
    TRY(d->backend->put(d, copy->col_idx, A->col_idx, (size_t)A->nnz * sizeof *A->col_idx));
    TRY(place_rows(d, A, copy));
    TRY(place_values(d, A, copy));
    return d->backend->sync(d);
}

/* Makes the store from rows of another variant: arrays of equal type are borrowed. */
static spmv_status take_rows(spmv_device *d, const spmv_store *rows, csr *head, csr *copy) {
    const csr *from = (const csr *)rows; /* its arrays may have other types */
    const void *values = from->values;
    const int64_t n = rows->rows + 1, nnz = rows->nnz;
    const size_t offset = rows->array[0].bytes / (size_t)n, value = rows->array[2].bytes / nnz;
    void *overflows = NULL;
    if (offset == sizeof(ofs))
        BORROW_ARRAY(head, copy, row_ptr, from->row_ptr, n);
    else {
        TRY(BUILD_ARRAY(d, head, copy, row_ptr, n));
        TRY(convert_offsets(d, n, from->row_ptr, (int)(8 * offset), 0, copy->row_ptr));
    }
    BORROW_ARRAY(head, copy, col_idx, from->col_idx, nnz);
    if (value == sizeof(real)) {
        BORROW_ARRAY(head, copy, values, from->values, nnz);
        return SPMV_OK;
    }
    TRY(BUILD_ARRAY(d, head, copy, values, nnz));
    TRY(d->backend->alloc(d, sizeof(int), &overflows));
    spmv_status status =
        value == sizeof(double)
            ? convert_values(d, nnz, (const double *)values, copy->values, (int *)overflows)
            : convert_values(d, nnz, (const float *)values, copy->values, (int *)overflows);
    d->backend->release(d, overflows);
    return status;
}

/* Builds the store's header on the host without arrays, and the complete store on the device. All
 * time counts as upload, including allocation and narrowing, by the host's clock: sending waits. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    (void)c; /* no parameters */
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), A, head_out));
    TRY(spmv_store_new(d->ctx, "csr", sizeof(csr), A, copy_out));
    csr *head = (csr *)*head_out, *copy = (csr *)*copy_out;
    head->s.slots = copy->s.slots = A->nnz;
    double start = spmv_now();
    TRY(rows ? take_rows(d, rows, head, copy) : send_rows(d, A, head, copy));
    if (!rows) *upload_s = spmv_now() - start;
    return SPMV_OK;
}

static bool is_there(const void *memory) {
    cudaPointerAttributes about;
    if (cudaPointerGetAttributes(&about, memory) == cudaSuccess)
        return about.type == cudaMemoryTypeDevice;
    cudaGetLastError();
    return false;
}

/* Writes new values. Values sent from the host have arrived on return. */
static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    (void)row_ptr; /* in the store already */
    real *to = ((csr *)copy)->values;
    const size_t bytes = (size_t)copy->nnz * sizeof *to;
    if (!is_there(values)) return d->backend->put(d, to, values, bytes);
    CU(d->ctx, cudaMemcpyAsync(to, values, bytes, cudaMemcpyDeviceToDevice, stream_of(d)));
    return SPMV_OK;
}

EXPORT_BUILDER(csr) = {
    .name = "csr",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .adopt = adopt,
    .transpose = transpose,
    .order_turned = order_turned,
    .arrange = arrange,
};
