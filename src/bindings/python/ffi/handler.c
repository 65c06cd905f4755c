/* handler.c: XLA's handlers for products inside jax.jit, in C, for XLA's typed foreign-function
 * interface (xla/ffi/api/c_api.h, a header of jaxlib). spmv/jax.py creates the plans.
 *
 * Looking up the matrix   The custom call has one attribute, id. spmv/jax.py has entered a
 *     product with this id into the table here, for each device for which the program was compiled.
 *     An id is never reused, and each process has different ids: a program that outlives its
 *     matrix, or that was deserialized in another process, fails with a message.
 * Constant values   are stored in the plan: the operand is x, and `auto` chose the plan for this
 *     number of vectors.
 * Traced values   are an operand before x. The plan is of a matrix of volatile arrays
 * (SPMV_VOLATILE)
 *     with a constant pattern: the call sets the address of the values and multiplies, under a
 *     lock. Nothing is copied.
 * Memory   A product allocates nothing: the plan allocated its memory when it was created, on a
 *     GPU from XLA's allocator through functions that spmv/jax.py passes.
 * Streams   A product runs in XLA's stream. If the last product of the plan ran in another stream,
 *     the call waits for that stream first.
 * The library's functions are passed as a table of pointers: this file is not linked to
 * libspmv.so. */
#include "spmv.h"
#include "xla/ffi/api/c_api.h"
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

/* Functions of libspmv.so, and cuStreamSynchronize (NULL: no GPU). */
typedef struct spmv_jax_functions {
    spmv_status (*exec)(const spmv_plan *, double, const void *, double, void *, void *);
    spmv_status (*apply)(const spmv_plan *, const spmv_call *, void *);
    spmv_status (*set_values)(spmv_mat *, const void *, spmv_place, void *);
    const char *(*error)(const spmv_ctx *);
    int (*wait)(void *stream);
} spmv_jax_functions;

typedef struct spmv_jax_product {
    int64_t id;
    int device;         /* index of a GPU; -1: any of JAX's CPU devices */
    int precision;      /* spmv_precision of the plan */
    int64_t rows, cols; /* size of the matrix by which the plan multiplies */
    int64_t nnz;        /* number of traced values */
    spmv_ctx *ctx;
    spmv_plan *plan;
    spmv_mat *traced; /* matrix whose values each call sets; NULL: constant values */
} spmv_jax_product;

typedef struct spmv_jax_entry {
    spmv_jax_product product;
    pthread_mutex_t lock; /* held while a product of the plan is put into a stream */
    void *stream;         /* stream of the last product */
    bool has_run;
    struct spmv_jax_entry *next;
} entry;

/* Functions that spmv/jax.py calls or registers with XLA. */
PUBLIC void spmv_jax_begin(const spmv_jax_functions *functions);
PUBLIC entry *spmv_jax_add(const spmv_jax_product *product);
PUBLIC void spmv_jax_remove(entry *e);
PUBLIC XLA_FFI_Error *spmv_jax_on_cpu(XLA_FFI_CallFrame *frame);
PUBLIC XLA_FFI_Error *spmv_jax_on_gpu(XLA_FFI_CallFrame *frame);
PUBLIC XLA_FFI_Error *spmv_jax_nothing(XLA_FFI_CallFrame *frame);
PUBLIC void *spmv_jax_alloc(void *user, spmv_place place, size_t bytes, void *stream);
PUBLIC void spmv_jax_release(void *user, spmv_place place, void *memory, size_t bytes,
                             void *stream);

static spmv_jax_functions library;

/* ---- the table ------------------------------------------------------------------------------- */

enum { CHAINS = 4096 }; /* a power of 2 */
static entry *table[CHAINS];
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;

static entry **chain_of(int64_t id) {
    return &table[(uint64_t)id % CHAINS];
}

static entry *find(int64_t id, int device) {
    pthread_rwlock_rdlock(&table_lock);
    entry *e = *chain_of(id);
    while (e && (e->product.id != id || e->product.device != device)) e = e->next;
    pthread_rwlock_unlock(&table_lock);
    return e;
}

void spmv_jax_begin(const spmv_jax_functions *functions) {
    library = *functions;
}

/* Adds a product to the table; returns a handle for spmv_jax_remove; NULL: out of memory. The
 * caller keeps ownership of the plan. */
entry *spmv_jax_add(const spmv_jax_product *product) {
    entry *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->product = *product;
    pthread_mutex_init(&e->lock, NULL);
    pthread_rwlock_wrlock(&table_lock);
    entry **chain = chain_of(product->id);
    e->next = *chain;
    *chain = e;
    pthread_rwlock_unlock(&table_lock);
    return e;
}

/* Removes a product from the table after waiting for its stream. No program that calls it may
 * exist. */
void spmv_jax_remove(entry *e) {
    pthread_rwlock_wrlock(&table_lock);
    entry **at = chain_of(e->product.id);
    while (*at != e) at = &(*at)->next;
    *at = e->next;
    pthread_rwlock_unlock(&table_lock);
    if (e->has_run && e->product.device >= 0 && library.wait) library.wait(e->stream);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

/* ---- XLA's calls ----------------------------------------------------------------------------- */

static XLA_FFI_Error *fail(const XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code,
                           const char *text) {
    XLA_FFI_Error_Create_Args args = {
        .struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE, .message = text, .errc = code};
    return frame->api->XLA_FFI_Error_Create(&args);
}

static XLA_FFI_Error *fail_as(const XLA_FFI_CallFrame *frame, const spmv_jax_product *p,
                              spmv_status status) {
    char text[600];
    snprintf(text, sizeof text, "spmv.jax: %s", library.error(p->ctx));
    return fail(frame,
                status == SPMV_E_NOMEM ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED
                : status == SPMV_E_ARG ? XLA_FFI_Error_Code_INVALID_ARGUMENT
                                       : XLA_FFI_Error_Code_INTERNAL,
                text);
}

/* Answers XLA's query for the interface version with XLA's own version: all members read here have
 * had the same offset since the first version. XLA that does not report its version has version 0.1
 * and accepts no other. */
static bool describe(const XLA_FFI_CallFrame *frame) {
    if (!frame->extension_start || frame->extension_start->type != XLA_FFI_Extension_Metadata)
        return false;
    XLA_FFI_Metadata *metadata =
        ((XLA_FFI_Metadata_Extension *)(void *)frame->extension_start)->metadata;
    metadata->api_version.major_version = XLA_FFI_API_MAJOR;
    metadata->api_version.minor_version = frame->api ? frame->api->api_version.minor_version : 1;
    return true;
}

static bool read_id(const XLA_FFI_CallFrame *frame, int64_t *id) {
    const XLA_FFI_Attrs *attrs = &frame->attrs;
    for (int64_t k = 0; k < attrs->size; k++) {
        const XLA_FFI_ByteSpan *name = attrs->names[k];
        const XLA_FFI_Scalar *scalar = attrs->attrs[k];
        if (attrs->types[k] == XLA_FFI_AttrType_SCALAR && name->len == 2 &&
            memcmp(name->ptr, "id", 2) == 0 && scalar->dtype == XLA_FFI_DataType_S64) {
            memcpy(id, scalar->value, sizeof *id);
            return true;
        }
    }
    return false;
}

/* Returns whether a buffer has `rows` rows of k elements, in the product's precision. */
static bool is_of(const XLA_FFI_Buffer *b, const spmv_jax_product *p, int64_t rows, int64_t k) {
    const XLA_FFI_DataType type =
        p->precision == SPMV_F32 ? XLA_FFI_DataType_F32 : XLA_FFI_DataType_F64;
    return b->dtype == type && b->dims[0] == rows && (b->rank == 1 ? 1 : b->dims[1]) == k;
}

static int64_t count_vectors(const XLA_FFI_Buffer *x) {
    return x->rank == 2 ? x->dims[1] : 1;
}

/* Checks operands and result of a call. Returns NULL, or the text of an error. */
static const char *check(const XLA_FFI_CallFrame *frame, const spmv_jax_product *p) {
    const int64_t operands = p->traced ? 2 : 1;
    if (frame->args.size != operands || frame->rets.size != 1)
        return "spmv.jax: a call with other operands than the product has";
    const XLA_FFI_Buffer *x = frame->args.args[operands - 1], *y = frame->rets.rets[0];
    const XLA_FFI_Buffer *values = frame->args.args[0];
    if (x->rank < 1 || x->rank > 2 || y->rank != x->rank ||
        (p->traced && (values->rank != 1 || !is_of(values, p, p->nnz, 1))) ||
        !is_of(x, p, p->cols, count_vectors(x)) || !is_of(y, p, p->rows, count_vectors(x)))
        return "spmv.jax: operands of another shape or type than the product has";
    return NULL;
}

static spmv_status multiply(const XLA_FFI_CallFrame *frame, const spmv_jax_product *p,
                            void *stream) {
    const XLA_FFI_Buffer *x = frame->args.args[frame->args.size - 1], *y = frame->rets.rets[0];
    const int64_t k = count_vectors(x);
    if (p->traced) {
        const XLA_FFI_Buffer *values = frame->args.args[0];
        spmv_status status = library.set_values(p->traced, values->data,
                                                p->device < 0 ? SPMV_HOST : SPMV_DEVICE, stream);
        if (status != SPMV_OK) return status;
    }
    if (k == 1) return library.exec(p->plan, 1, x->data, 0, y->data, stream);
    const spmv_call call = {
        .size = sizeof call, .x = x->data, .z = y->data, .k = k, .layout = SPMV_ROWS};
    return library.apply(p->plan, &call, stream);
}

static XLA_FFI_Error *multiply_in_turn(const XLA_FFI_CallFrame *frame, entry *e, void *stream) {
    const spmv_jax_product *p = &e->product;
    const bool takes_turns = p->traced || p->device >= 0;
    const char *wrong = check(frame, p);
    if (wrong) return fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, wrong);
    if (takes_turns) pthread_mutex_lock(&e->lock);
    if (p->device >= 0 && e->has_run && e->stream != stream && library.wait)
        library.wait(e->stream);
    const spmv_status status = multiply(frame, p, stream);
    XLA_FFI_Error *error = status == SPMV_OK ? NULL : fail_as(frame, p, status);
    if (p->device >= 0) e->stream = stream, e->has_run = true;
    if (takes_turns) pthread_mutex_unlock(&e->lock);
    return error;
}

static XLA_FFI_Error *run(const XLA_FFI_CallFrame *frame, int device, void *stream) {
    int64_t id;
    if (!read_id(frame, &id))
        return fail(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "spmv.jax: a call without an id");
    entry *e = find(id, device);
    if (!e)
        return fail(frame, XLA_FFI_Error_Code_NOT_FOUND,
                    "spmv.jax: this program's matrix is not in this process, or not on this "
                    "device: compile the program where it runs");
    return multiply_in_turn(frame, e, stream);
}

/* Handler for CPUs. */
XLA_FFI_Error *spmv_jax_on_cpu(XLA_FFI_CallFrame *frame) {
    if (describe(frame) || frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    return run(frame, -1, NULL);
}

/* Handler for CUDA. */
XLA_FFI_Error *spmv_jax_on_gpu(XLA_FFI_CallFrame *frame) {
    if (describe(frame) || frame->stage != XLA_FFI_ExecutionStage_EXECUTE) return NULL;
    XLA_FFI_Stream_Get_Args on = {.struct_size = XLA_FFI_Stream_Get_Args_STRUCT_SIZE,
                                  .ctx = frame->ctx};
    XLA_FFI_DeviceOrdinal_Get_Args at = {.struct_size = XLA_FFI_DeviceOrdinal_Get_Args_STRUCT_SIZE,
                                         .ctx = frame->ctx};
    XLA_FFI_Error *error = frame->api->XLA_FFI_Stream_Get(&on);
    if (!error) error = frame->api->XLA_FFI_DeviceOrdinal_Get(&at);
    return error ? error : run(frame, at.device_ordinal, on.stream);
}

/* Empty handler, to measure the cost of a call (bench/jax_products.py). */
XLA_FFI_Error *spmv_jax_nothing(XLA_FFI_CallFrame *frame) {
    describe(frame);
    return NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* user data of an spmv_allocator for a context on a GPU: functions that allocate and free. Host
 * memory comes from malloc. */
typedef struct spmv_jax_memory {
    void *(*alloc)(size_t bytes);
    void (*release)(void *memory);
} spmv_jax_memory;

void *spmv_jax_alloc(void *user, spmv_place place, size_t bytes, void *stream) {
    (void)stream;
    return place == SPMV_HOST ? malloc(bytes) : ((spmv_jax_memory *)user)->alloc(bytes);
}

/* Waits for the stream first: XLA's allocator reuses freed memory at once, in streams of its
 * own. */
void spmv_jax_release(void *user, spmv_place place, void *memory, size_t bytes, void *stream) {
    (void)bytes;
    if (place == SPMV_HOST) {
        free(memory);
        return;
    }
    if (library.wait) library.wait(stream);
    ((spmv_jax_memory *)user)->release(memory);
}
