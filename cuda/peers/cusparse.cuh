/* cusparse.cuh: shared by the cuSPARSE peers: products of a CSR on the device through the generic
 * API, with the version of the library that --cusparse selects. prepare makes descriptors and
 * buffer, and calls cusparseSpMV_preprocess; run only sets the addresses of the vectors. Without
 * the CUDA toolkit's header the kernels exist by name and report that. */
#pragma once

#include "cuda/host.cuh"
#include "cuda/cusparse_library.h"
#include "formats/csr/csr.h"
#include <atomic>
#include <stdio.h>
#include <stdlib.h>

#define PARAM_CUSPARSE(library) \
    { SPMV_cusparse, library, CUSPARSE_TOOLKIT, CUSPARSE_FETCHED, 1, false }

#ifdef HAVE_CUSPARSE
#define DISABLE_CUSPARSE_DEPRECATED /* the conversion to BSR has no successor */
#include <cusparse.h>

#define FUNCTION(name) typedef decltype(&cusparse##name) type_of_##name;
#define SPMVOP(name, parameters) typedef cusparseStatus_t(*type_of_##name) parameters;
#include "cuda/peers/cusparse_functions.def"
#undef FUNCTION
#undef SPMVOP
#define OF(library, name) ((type_of_##name)(library)->function[CUSPARSE_AT_##name])

/* Descriptors and buffers of products of several vectors in one layout. The library is prepared for
 * a number of vectors, and needs other descriptors and buffers for fewer. */
typedef struct several {
    int64_t width; /* number of vectors prepared for; 0: none yet. More are multiplied in shares */
    cusparseConstSpMatDescr_t matrix, matrix_of_fewer;
    void *buffer, *buffer_of_fewer;
    size_t bytes; /* size of each buffer */
} several;

typedef struct peer { /* scratch of a plan */
    const cusparse_library *library;
    cusparseHandle_t handle; /* belongs to the device */
    cusparseConstSpMatDescr_t matrix;
    cusparseDnVecDescr_t x, y;
    void *descriptor, *plan; /* objects of cuSPARSE's SpMVOp */
    void *buffer;
    ofs *ptr; /* device memory for formats with another layout in cuSPARSE */
    idx *row_idx, *col_idx;
    real *values;
    several in_columns, in_rows;
} peer;

static const cudaDataType real_type = sizeof(real) == sizeof(double) ? CUDA_R_64F : CUDA_R_32F;

static inline const cusparse_library *library_of(const spmv_choice *c) {
    return spmv_cusparse((int)c->value[SPMV_cusparse], CUSPARSE_VER_MAJOR);
}

static inline spmv_status cusparse_fail(const spmv_plan *p, const cusparse_library *library,
                                        cusparseStatus_t status, const char *what) {
    cudaGetLastError();
    return spmv_fail(p->device->ctx,
                     status == CUSPARSE_STATUS_NOT_SUPPORTED ? SPMV_E_UNSUITABLE
                     : status == CUSPARSE_STATUS_ALLOC_FAILED ||
                             status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES
                         ? SPMV_E_NOMEM
                         : SPMV_E_DEVICE,
                     "%s: %s: %s: %s", p->kernel->name, library->name, what,
                     OF(library, GetErrorString)(status));
}
/* CUSPARSE(p, library, DestroySpMat, matrix) calls that library's cusparseDestroySpMat(matrix). */
#define CUSPARSE(p, library, name, ...) \
    do { \
        cusparseStatus_t cusparse_status_ = OF(library, name)(__VA_ARGS__); \
        if (cusparse_status_ != CUSPARSE_STATUS_SUCCESS) \
            return cusparse_fail(p, library, cusparse_status_, "cusparse" #name); \
    } while (0)

/* ---- the library ----------------------------------------------------------------------------- */

template <int which> static void close_cusparse(void *handle) {
    OF(spmv_cusparse(which, CUSPARSE_VER_MAJOR), Destroy)((cusparseHandle_t)handle);
}

/* Returns the device's handle, which the first plan makes. */
static inline spmv_status open_cusparse(const spmv_plan *p, cusparseHandle_t *out) {
    static_assert((int)CUSPARSE_LIBRARIES <= (int)MOST_LIBRARIES, "a device has no place for them");
    static void (*const close[])(void *) = {close_cusparse<CUSPARSE_TOOLKIT>,
                                            close_cusparse<CUSPARSE_FETCHED>};
    cuda_state *s = (cuda_state *)p->device->state;
    int which = (int)p->choice.value[SPMV_cusparse];
    const cusparse_library *library = library_of(&p->choice);
    cusparseHandle_t handle = (cusparseHandle_t)s->library[which].handle;
    if (*library->absent)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE, "%s: not available: %s",
                         p->kernel->name, library->absent);
    if (!handle) {
        CUSPARSE(p, library, Create, &handle);
        s->library[which].handle = handle;
        s->library[which].close = close[which];
        CUSPARSE(p, library, SetStream, handle, s->stream);
    }
    *out = handle;
    return SPMV_OK;
}

static inline void name_library(const spmv_choice *c, char *text, size_t bytes) {
    snprintf(text, bytes, "%s", library_of(c)->name);
}

static inline void release_several(spmv_plan *p, const peer *t, const several *s) {
    if (s->matrix) OF(t->library, DestroySpMat)(s->matrix);
    if (s->matrix_of_fewer) OF(t->library, DestroySpMat)(s->matrix_of_fewer);
    p->device->backend->release(p->device, s->buffer);
    p->device->backend->release(p->device, s->buffer_of_fewer);
}

static inline void release_peer(spmv_plan *p) {
    peer *t = (peer *)p->scratch;
    const spmv_backend *backend = p->device->backend;
    if (t->plan) OF(t->library, SpMVOp_destroyPlan)(t->plan);
    if (t->descriptor) OF(t->library, SpMVOp_destroyDescr)(t->descriptor);
    if (t->x) OF(t->library, DestroyDnVec)(t->x);
    if (t->y) OF(t->library, DestroyDnVec)(t->y);
    if (t->matrix) OF(t->library, DestroySpMat)(t->matrix);
    release_several(p, t, &t->in_columns);
    release_several(p, t, &t->in_rows);
    backend->release(p->device, t->buffer);
    backend->release(p->device, t->ptr);
    backend->release(p->device, t->row_idx);
    backend->release(p->device, t->col_idx);
    backend->release(p->device, t->values);
    free(t);
    p->scratch = NULL;
    p->scratch_bytes = 0;
}

/* ---- preparation ----------------------------------------------------------------------------- */

/* Makes the descriptor of the matrix from CSR on the device. */
typedef spmv_status (*describe_matrix)(spmv_plan *p, peer *t);
/* Makes the buffer, and lets the library analyse the matrix. */
typedef spmv_status (*analyse_matrix)(spmv_plan *p, peer *t);

/* Makes descriptors and buffer. The vectors get their addresses with each product; until then any
 * device address, which is not read. */
static inline spmv_status make_peer(spmv_plan *p, describe_matrix describe,
                                    analyse_matrix analyse) {
    peer *t = (peer *)calloc(1, sizeof *t);
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    t->library = library_of(&p->choice);
    TRY(open_cusparse(p, &t->handle));
    TRY(describe(p, t));
    void *nowhere = ((const csr *)p->store)->row_ptr;
    CUSPARSE(p, t->library, CreateDnVec, &t->x, p->cols, nowhere, real_type);
    CUSPARSE(p, t->library, CreateDnVec, &t->y, p->rows, nowhere, real_type);
    return analyse(p, t);
}

/* Performs one-time work of the process: loads the library and its code. */
static inline spmv_status start_peer(spmv_plan *p, describe_matrix describe,
                                     analyse_matrix analyse) {
    const size_t traffic = p->traffic_bytes;
    const double start = spmv_now();
    TRY(make_peer(p, describe, analyse));
    TRY(p->device->backend->sync(p->device));
    release_peer(p);
    p->traffic_bytes = traffic;
    p->once_s = spmv_now() - start;
    return SPMV_OK;
}

/* The first plan of a process is prepared twice and charged once, so that it is comparable with
 * others. */
template <describe_matrix describe, analyse_matrix analyse>
static spmv_status prepare_peer(spmv_plan *p) {
    static std::atomic<bool> is_started[CUSPARSE_LIBRARIES];
    if (p->host->nnz == 0)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                         "%s: cuSPARSE is not given matrices without entries", p->kernel->name);
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    if (!is_started[p->choice.value[SPMV_cusparse]]) TRY(start_peer(p, describe, analyse));
    is_started[p->choice.value[SPMV_cusparse]] = true;
    return make_peer(p, describe, analyse);
}

/* ---- cusparseSpMV ---------------------------------------------------------------------------- */

/* Returns the operation on the CSR; a plan for the transpose has the same CSR. */
static inline cusparseOperation_t operation_of(const spmv_plan *p) {
    return p->transposes ? CUSPARSE_OPERATION_TRANSPOSE : CUSPARSE_OPERATION_NON_TRANSPOSE;
}

template <cusparseSpMVAlg_t algorithm> static spmv_status preprocess(spmv_plan *p, peer *t) {
    const real one = 1, zero = 0;
    size_t bytes = 0;
    CUSPARSE(p, t->library, SpMV_bufferSize, t->handle, operation_of(p), &one, t->matrix, t->x,
             &zero, t->y, real_type, algorithm, &bytes);
    TRY(take_scratch(p, bytes, &t->buffer));
    CUSPARSE(p, t->library, SpMV_preprocess, t->handle, operation_of(p), &one, t->matrix, t->x,
             &zero, t->y, real_type, algorithm, t->buffer);
    return SPMV_OK;
}

/* Sets the addresses of the vectors. The library adds to y in place, so y is copied to z first. x
 * is not modified. */
static inline spmv_status point_vectors(const spmv_plan *p, const peer *t, const spmv_operands *v) {
    CUSPARSE(p, t->library, DnVecSetValues, t->x, (void *)v->x);
    CUSPARSE(p, t->library, DnVecSetValues, t->y, v->z);
    if (v->y != v->z)
        CU(p->device->ctx, cudaMemcpyAsync(v->z, v->y, (size_t)p->rows * sizeof(real),
                                           cudaMemcpyDeviceToDevice, stream_of(v)));
    return SPMV_OK;
}

/* Runs a product on its stream. The device's handle has one stream at a time, so products are
 * serialized, and restore the handle's stream. */
template <class product>
static spmv_status multiply_on_stream(const spmv_plan *p, const spmv_operands *v,
                                      const product &multiply) {
    const peer *t = (const peer *)p->scratch;
    cuda_state *s = (cuda_state *)p->device->state;
    const bool is_own = stream_of(v) == s->stream;
    cusparseStatus_t status = CUSPARSE_STATUS_SUCCESS;
    pthread_mutex_lock(&s->turn);
    if (!is_own) status = OF(t->library, SetStream)(t->handle, stream_of(v));
    if (status == CUSPARSE_STATUS_SUCCESS) status = multiply(t, (real)v->alpha, (real)v->beta);
    if (!is_own) OF(t->library, SetStream)(t->handle, s->stream);
    pthread_mutex_unlock(&s->turn);
    if (status == CUSPARSE_STATUS_SUCCESS) return SPMV_OK;
    return cusparse_fail(p, t->library, status, "the product");
}

template <cusparseSpMVAlg_t algorithm>
static spmv_status run_peer(const spmv_plan *p, const spmv_operands *v) {
    TRY(point_vectors(p, (const peer *)p->scratch, v));
    return multiply_on_stream(p, v, [p](const peer *t, real alpha, real beta) {
        return OF(t->library, SpMV)(t->handle, operation_of(p), &alpha, t->matrix, t->x, &beta,
                                    t->y, real_type, algorithm, t->buffer);
    });
}

/* ---- cusparseSpMVOp -------------------------------------------------------------------------- */

/* CUSPARSE_SPMVOP_ALG1 and _ALG2 of version CUSPARSE_SPMVOP_VERSION */
enum { SPMVOP_ALG1 = 1, SPMVOP_ALG2 = 2 };

/* Makes an SpMVOp plan without an epilogue: y is stored as computed. */
template <int algorithm> static spmv_status plan_spmvop(spmv_plan *p, peer *t) {
    size_t bytes = 0;
    if (*t->library->no_spmvop)
        return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE, "%s: not available: %s",
                         p->kernel->name, t->library->no_spmvop);
    CUSPARSE(p, t->library, SpMVOp_bufferSize, t->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
             t->matrix, t->x, t->y, t->y, real_type, algorithm, &bytes);
    TRY(take_scratch(p, bytes, &t->buffer));
    CUSPARSE(p, t->library, SpMVOp_createDescr, t->handle, &t->descriptor,
             CUSPARSE_OPERATION_NON_TRANSPOSE, t->matrix, t->x, t->y, t->y, real_type, algorithm,
             t->buffer);
    CUSPARSE(p, t->library, SpMVOp_createPlan, t->handle, t->descriptor, &t->plan, NULL, 0);
    return SPMV_OK;
}

static inline spmv_status run_spmvop(const spmv_plan *p, const spmv_operands *v) {
    TRY(point_vectors(p, (const peer *)p->scratch, v));
    return multiply_on_stream(p, v, [](const peer *t, real alpha, real beta) {
        return OF(t->library, SpMVOp)(t->handle, t->plan, &alpha, &beta, t->x, t->y, t->y);
    });
}

/* ---- the matrix ------------------------------------------------------------------------------ */

/* cuSPARSE requires offsets as wide as columns, and our columns are 32-bit. */
static inline spmv_status check_offsets(const spmv_plan *p) {
    if (!has_wide_offsets(p)) return SPMV_OK;
    return spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                     "%s: cuSPARSE has no 64-bit offsets beside 32-bit columns: offset_bits=32",
                     p->kernel->name);
}

static inline spmv_status make_csr(const spmv_plan *p, const peer *t,
                                   cusparseConstSpMatDescr_t *out) {
    const csr *A = (const csr *)p->store;
    CUSPARSE(p, t->library, CreateConstCsr, out, A->s.rows, A->s.cols, A->s.nnz, A->row_ptr,
             A->col_idx, A->values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
             CUSPARSE_INDEX_BASE_ZERO, real_type);
    return SPMV_OK;
}

static inline spmv_status describe_csr(spmv_plan *p, peer *t) {
    TRY(check_offsets(p));
    return make_csr(p, t, &t->matrix);
}

/* Refuses a matrix that is mostly padding, as for our own formats. */
static inline spmv_status check_padding(const spmv_plan *p, int64_t slots) {
    const int64_t most_times = 4, negligible = 64000000; /* slots per nonzero; bytes */
    int64_t bytes = slots * (int64_t)sizeof(real);
    if (slots <= most_times * p->host->nnz || bytes < negligible) return SPMV_OK;
    return spmv_fail(p->device->ctx, SPMV_E_TOOBIG,
                     "%s: %.4g MB of values, %.0f times the matrix's: most of it is padding",
                     p->kernel->name, 1e-6 * (double)bytes, (double)slots / (double)p->host->nnz);
}

/* ---- cusparseSpMM, of compressed rows -------------------------------------------------------- */

enum {
    MOST_VECTORS = 256, /* multiplied at a time, to bound the buffers */
    LEAST_BUFFER = 4096 /* cuSPARSE asks for 11 bytes for small matrices, and writes more */
};

/* Descriptors of x and z of some vectors. */
typedef struct block {
    cusparseDnMatDescr_t x, z;
} block;

static inline cusparseSpMMAlg_t spmm_algorithm(const spmv_plan *p, spmv_layout layout) {
    static const cusparseSpMMAlg_t algorithm[] = {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2,
                                                  CUSPARSE_SPMM_CSR_ALG3};
    const int64_t asked = p->choice.value[SPMV_spmm];
    return algorithm[asked > 0 ? asked - 1 : layout == SPMV_ROWS];
}

static inline void block_free(const peer *t, const block *b) {
    if (b->x) OF(t->library, DestroyDnMat)(b->x);
    if (b->z) OF(t->library, DestroyDnMat)(b->z);
}

static inline cusparseStatus_t block_of(const spmv_plan *p, const peer *t, const spmv_operands *v,
                                        block *out) {
    const cusparseOrder_t order = v->layout == SPMV_ROWS ? CUSPARSE_ORDER_ROW : CUSPARSE_ORDER_COL;
    *out = {NULL, NULL};
    cusparseStatus_t status =
        OF(t->library, CreateDnMat)(&out->x, p->cols, v->k, v->ldx, (void *)v->x, real_type, order);
    if (status == CUSPARSE_STATUS_SUCCESS)
        status =
            OF(t->library, CreateDnMat)(&out->z, p->rows, v->k, v->ldz, v->z, real_type, order);
    return status;
}

static inline cusparseStatus_t spmm_bytes(const spmv_plan *p, const peer *t,
                                          cusparseConstSpMatDescr_t matrix, const block *b,
                                          spmv_layout layout, size_t *bytes) {
    const real one = 1, zero = 0;
    return OF(t->library, SpMM_bufferSize)(
        t->handle, operation_of(p), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, matrix, b->x, &zero,
        b->z, real_type, spmm_algorithm(p, layout), bytes);
}

static inline spmv_status prepare_block(spmv_plan *p, const peer *t, spmv_layout layout,
                                        const block *b, several *s) {
    const real one = 1, zero = 0;
    TRY(make_csr(p, t, &s->matrix));
    TRY(make_csr(p, t, &s->matrix_of_fewer));
    cusparseStatus_t status = spmm_bytes(p, t, s->matrix, b, layout, &s->bytes);
    if (status != CUSPARSE_STATUS_SUCCESS)
        return cusparse_fail(p, t->library, status, "cusparseSpMM_bufferSize");
    if (s->bytes < LEAST_BUFFER) s->bytes = LEAST_BUFFER;
    TRY(take_scratch(p, s->bytes, &s->buffer));
    TRY(take_scratch(p, s->bytes, &s->buffer_of_fewer));
    CUSPARSE(p, t->library, SpMM_preprocess, t->handle, operation_of(p),
             CUSPARSE_OPERATION_NON_TRANSPOSE, &one, s->matrix, b->x, &zero, b->z, real_type,
             spmm_algorithm(p, layout), s->buffer);
    return SPMV_OK;
}

/* Lets the library analyse the matrix for k vectors in this layout, with any device address, which
 * is not read. */
static inline spmv_status prepare_several(spmv_plan *p, peer *t, spmv_layout layout, int64_t k) {
    several *s = layout == SPMV_ROWS ? &t->in_rows : &t->in_columns;
    void *nowhere = ((const csr *)p->store)->row_ptr;
    const int64_t width = k < MOST_VECTORS ? k : MOST_VECTORS;
    spmv_operands v = {};
    v.x = v.y = v.z = nowhere;
    v.k = width;
    v.ldx = layout == SPMV_ROWS ? width : p->cols;
    v.ldy = v.ldz = layout == SPMV_ROWS ? width : p->rows;
    v.layout = layout;
    block b;
    cusparseStatus_t made = block_of(p, t, &v, &b);
    spmv_status status = made == CUSPARSE_STATUS_SUCCESS
                             ? prepare_block(p, t, layout, &b, s)
                             : cusparse_fail(p, t->library, made, "cusparseCreateDnMat");
    block_free(t, &b);
    if (status == SPMV_OK) s->width = width;
    return status;
}

/* Like preprocess, and for the vectors that the plan is made for. */
template <cusparseSpMVAlg_t algorithm> static spmv_status preprocess_all(spmv_plan *p, peer *t) {
    TRY(preprocess<algorithm>(p, t));
    return p->vectors > 1 ? prepare_several(p, t, p->layout, p->vectors) : SPMV_OK;
}

/* Multiplies at most as many vectors as the library was prepared for. */
static inline spmv_status multiply_share(const spmv_plan *p, const several *s,
                                         const spmv_operands *v) {
    const peer *t = (const peer *)p->scratch;
    const bool is_whole = v->k == s->width;
    cusparseConstSpMatDescr_t matrix = is_whole ? s->matrix : s->matrix_of_fewer;
    void *buffer = is_whole ? s->buffer : s->buffer_of_fewer;
    block b;
    size_t bytes = 0;
    cusparseStatus_t made = block_of(p, t, v, &b);
    if (made == CUSPARSE_STATUS_SUCCESS && !is_whole)
        made = spmm_bytes(p, t, matrix, &b, v->layout, &bytes);
    spmv_status status;
    if (made != CUSPARSE_STATUS_SUCCESS)
        status = cusparse_fail(p, t->library, made, "describing the vectors");
    else if (bytes > s->bytes)
        status = spmv_fail(p->device->ctx, SPMV_E_UNSUITABLE,
                           "%s: cuSPARSE needs a larger buffer for %lld vectors than for %lld",
                           p->kernel->name, (long long)v->k, (long long)s->width);
    else
        status = multiply_on_stream(p, v, [&](const peer *peer, real alpha, real beta) {
            return OF(peer->library, SpMM)(
                peer->handle, operation_of(p), CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, matrix,
                b.x, &beta, b.z, real_type, spmm_algorithm(p, v->layout), buffer);
        });
    block_free(t, &b);
    return status;
}

/* Copies y to z if they differ, because the library adds in place. */
static inline spmv_status bring_block(const spmv_plan *p, const spmv_operands *v) {
    const bool in_rows = v->layout == SPMV_ROWS;
    const size_t length = (size_t)(in_rows ? v->k : p->rows);
    const size_t lines = (size_t)(in_rows ? p->rows : v->k);
    if (v->y != v->z)
        CU(p->device->ctx, cudaMemcpy2DAsync(v->z, (size_t)v->ldz * sizeof(real), v->y,
                                             (size_t)v->ldy * sizeof(real), length * sizeof(real),
                                             lines, cudaMemcpyDeviceToDevice, stream_of(v)));
    return SPMV_OK;
}

/* A plan that was not made for several vectors in this layout is prepared at their first product.
 * The plan is const for callers, but was allocated as a mutable object. */
static inline spmv_status run_several(const spmv_plan *p, const spmv_operands *v) {
    peer *t = (peer *)p->scratch;
    several *s = v->layout == SPMV_ROWS ? &t->in_rows : &t->in_columns;
    if (s->width == 0) {
        TRY(prepare_several((spmv_plan *)(uintptr_t)p, t, v->layout, v->k));
        TRY(p->device->backend->sync(p->device)); /* so that any stream can use it */
    }
    TRY(bring_block(p, v));
    for (int64_t j = 0; j < v->k; j += s->width) {
        spmv_operands share = *v;
        share.k = v->k - j < s->width ? v->k - j : s->width;
        share.x = (const real *)v->x + (v->layout == SPMV_ROWS ? j : j * v->ldx);
        share.z = (real *)v->z + (v->layout == SPMV_ROWS ? j : j * v->ldz);
        TRY(multiply_share(p, s, &share));
    }
    return SPMV_OK;
}

typedef spmv_status (*run_vectors)(const spmv_plan *p, const spmv_operands *v);
static constexpr run_vectors one_of(run_vectors several = NULL) {
    return several;
}

/* The last argument, if given, multiplies several vectors in either layout. */
#define HOOKS(describe, analyse, multiply, ...) \
    .prepare = prepare_peer<describe, analyse>, .run = multiply, \
    .run_columns = one_of(__VA_ARGS__), .run_rows = one_of(__VA_ARGS__), .release = release_peer, \
    .library = name_library
#else
#define HOOKS(describe, analyse, multiply, ...) \
    .absent = "cuSPARSE: install libcusparse-dev of the CUDA toolkit, then make cuda"
#endif

/* Defines a kernel. its_library: default of --cusparse, the kernel's only parameter; the macro with
 * _PARAMS_ takes a list of parameters instead. The last arguments are those of HOOKS. */
#define CUSPARSE_KERNEL(symbol, its_format, its_summary, its_traits, its_library, its_estimate, \
                        ...) \
    static const spmv_param symbol##_params[] = {PARAM_CUSPARSE(its_library), \
                                                 SPMV_NO_MORE_PARAMS}; \
    CUSPARSE_PARAMS_KERNEL(symbol, its_format, its_summary, its_traits, symbol##_params, \
                           its_estimate, __VA_ARGS__)
#define CUSPARSE_PARAMS_KERNEL(symbol, its_format, its_summary, its_traits, its_params, \
                               its_estimate, ...) \
    SPMV_EXPORT_ANY_OFFSETS_KERNEL(symbol) = { \
        .name = #symbol, \
        .format = its_format, \
        .summary = its_summary, \
        .params = its_params, \
        .traits = (its_traits) | SPMV_PEER, \
        .estimate = its_estimate, \
        HOOKS(__VA_ARGS__), \
    }
