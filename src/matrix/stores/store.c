/* store.c: memory of all formats. A store lists its arrays, so that sizing, uploading and freeing
 * are loops here and no format needs code for them. */
#include "host/context.h"
#include "stored.h"
#include <stdlib.h>

/* Returns array k. The pointer is copied bytewise, since its member in the format's struct is not a
 * void *. */
void *spmv_store_at(const spmv_store *store, int k) {
    void *memory;
    memcpy(&memory, (const char *)store + store->array[k].offset, sizeof memory);
    return memory;
}

void spmv_store_set(spmv_store *store, int k, void *memory) {
    memcpy((char *)store + store->array[k].offset, &memory, sizeof memory);
}

spmv_status spmv_store_new(spmv_ctx *ctx, const char *format, size_t size, const spmv_csr_view *A,
                           spmv_store **out) {
    spmv_store *store = calloc(1, size);
    *out = store;
    if (!store) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    store->ctx = ctx;
    store->format = format;
    store->rows = A->rows;
    store->cols = A->cols;
    store->nnz = A->nnz;
    store->size = size;
    return SPMV_OK;
}

spmv_status spmv_store_array(spmv_ctx *ctx, spmv_store *store, size_t offset, size_t bytes) {
    void *memory = spmv_host_take(ctx, bytes);
    if (!memory)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory: an array of %s takes %.1f MB",
                         store->format, 1e-6 * (double)bytes);
    store->array[store->narrays] = (spmv_array){.offset = offset, .bytes = bytes};
    spmv_store_set(store, store->narrays++, memory);
    return SPMV_OK;
}

spmv_status spmv_fits(spmv_ctx *ctx, int64_t overflows) {
    if (!overflows) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_UNSUITABLE, "%lld values are too large for f32",
                     (long long)overflows);
}

void spmv_store_borrow(spmv_store *store, void *member, const void *array, size_t bytes) {
    size_t offset = (size_t)((char *)member - (char *)store);
    store->array[store->narrays] = (spmv_array){offset, bytes, .borrowed = true};
    /* stores never write borrowed arrays */
    spmv_store_set(store, store->narrays++, (void *)(uintptr_t)array);
}

static size_t count_bytes(const spmv_store *store, bool borrowed_too) {
    size_t bytes = 0;
    for (int k = 0; k < store->narrays; k++)
        if (borrowed_too || !store->array[k].borrowed) bytes += store->array[k].bytes;
    return bytes;
}

size_t spmv_store_bytes(const spmv_store *store) {
    return count_bytes(store, true);
}

size_t spmv_store_own_bytes(const spmv_store *store) {
    return count_bytes(store, false);
}

bool spmv_store_evict(const spmv_backend *backend, spmv_device *device, const spmv_store *store) {
    for (int k = 0; k < store->narrays; k++)
        if (!backend->evict ||
            !backend->evict(device, spmv_store_at(store, k), store->array[k].bytes))
            return false;
    return true;
}

void spmv_store_free(spmv_store *store) {
    if (!store) return;
    for (int k = 0; k < store->narrays; k++)
        if (!store->array[k].borrowed) spmv_host_give(store->ctx, spmv_store_at(store, k));
    free(store);
}

spmv_status spmv_store_rewrite(spmv_device *device, const spmv_store *from, spmv_store *copy) {
    for (int k = 0; k < from->narrays; k++)
        TRY(device->backend->put(device, spmv_store_at(copy, k), spmv_store_at(from, k),
                                 from->array[k].bytes));
    return SPMV_OK;
}

spmv_status spmv_store_upload(spmv_device *device, const spmv_store *from, spmv_store **out) {
    spmv_status status = SPMV_OK;
    spmv_store *copy = malloc(from->size);
    *out = NULL;
    if (!copy) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    memcpy(copy, from, from->size);
    for (int k = 0; k < from->narrays; k++) {
        copy->array[k].borrowed = false;
        spmv_store_set(copy, k, NULL);
    }
    for (int k = 0; k < from->narrays && status == SPMV_OK; k++) {
        void *memory = NULL;
        status = device->backend->alloc(device, from->array[k].bytes, &memory);
        spmv_store_set(copy, k, memory);
        if (status == SPMV_OK)
            status =
                device->backend->put(device, memory, spmv_store_at(from, k), from->array[k].bytes);
    }
    if (status != SPMV_OK) {
        spmv_store_free_on(device, copy);
        return status;
    }
    *out = copy;
    return SPMV_OK;
}

void spmv_store_free_on(spmv_device *device, spmv_store *copy) {
    if (!copy) return;
    for (int k = 0; k < copy->narrays; k++)
        if (!copy->array[k].borrowed) device->backend->release(device, spmv_store_at(copy, k));
    free(copy);
}

spmv_status spmv_store_download(spmv_device *device, const spmv_store *copy, spmv_store **out) {
    spmv_status status = SPMV_OK;
    spmv_store *here = malloc(copy->size);
    *out = here;
    if (!here) return spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    memcpy(here, copy, copy->size);
    for (int k = 0; k < copy->narrays; k++) spmv_store_set(here, k, NULL);
    for (int k = 0; k < copy->narrays && status == SPMV_OK; k++) {
        void *memory = spmv_host_take(copy->ctx, copy->array[k].bytes);
        spmv_store_set(here, k, memory);
        status = memory ? device->backend->get(device, memory, spmv_store_at(copy, k),
                                               copy->array[k].bytes)
                        : spmv_fail(device->ctx, SPMV_E_NOMEM, "out of memory");
    }
    return status;
}
