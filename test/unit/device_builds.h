/* device_builds.h: builds a store in a device's memory, counting what that takes, and compares its
 * bytes with those of the host's. */
#ifndef SPMV_TEST_DEVICE_BUILDS_H
#define SPMV_TEST_DEVICE_BUILDS_H

#include "context.h"

/* The device's alloc and release while memory in use is counted. */
enum { MOST_BLOCKS = 64 };
static const spmv_backend *counted; /* the backend behind it */
static struct {
    void *at[MOST_BLOCKS];
    size_t bytes[MOST_BLOCKS], now, most;
} memory;

static inline spmv_status alloc_counted(spmv_device *d, size_t bytes, void **out) {
    TRY(counted->alloc(d, bytes, out));
    for (int k = 0; k < MOST_BLOCKS; k++)
        if (!memory.at[k]) {
            memory.at[k] = *out, memory.bytes[k] = bytes;
            memory.now += bytes;
            if (memory.now > memory.most) memory.most = memory.now;
            return SPMV_OK;
        }
    fail_msg("more than %d blocks", MOST_BLOCKS);
    return SPMV_OK;
}

static inline void release_counted(spmv_device *d, void *block) {
    for (int k = 0; block && k < MOST_BLOCKS; k++)
        if (memory.at[k] == block) {
            memory.at[k] = NULL;
            memory.now -= memory.bytes[k];
            break;
        }
    counted->release(d, block);
}

static inline void assert_same_bytes(spmv_device *d, const spmv_store *host, const spmv_store *head,
                                     const spmv_store *copy, const char *what) {
    assert_int_equal(host->narrays, head->narrays);
    assert_int_equal(host->nnz, copy->nnz);
    assert_int_equal(host->slots, copy->slots);
    for (int k = 0; k < host->narrays; k++) {
        size_t bytes = host->array[k].bytes;
        if (bytes != head->array[k].bytes || host->array[k].offset != copy->array[k].offset)
            fail_msg("%s: array %d has %zu bytes on the host, %zu on the device", what, k, bytes,
                     head->array[k].bytes);
        unsigned char *built = malloc(bytes + 1);
        const unsigned char *expected;
        void *on_device;
        memcpy(&expected, (const char *)host + host->array[k].offset, sizeof expected);
        memcpy(&on_device, (const char *)copy + copy->array[k].offset, sizeof on_device);
        assert_non_null(built);
        assert_int_equal(d->backend->get(d, built, on_device, bytes), SPMV_OK);
        for (size_t b = 0; b < bytes; b++)
            if (built[b] != expected[b])
                fail_msg("%s: array %d of %zu bytes differs at byte %zu: %d, not %d", what, k,
                         bytes, b, built[b], expected[b]);
        free(built);
    }
}

/* The builder's answer; what it took besides the store must have been announced. */
static inline spmv_status build_counted(spmv_device *d, const spmv_device_format *own, int variant,
                                        const spmv_csr_view *A, spmv_store *rows,
                                        const spmv_choice *c, spmv_store **head,
                                        spmv_store **copy) {
    spmv_backend backend = *d->backend;
    double upload_s = -1;
    counted = d->backend;
    backend.alloc = alloc_counted, backend.release = release_counted;
    d->backend = &backend;
    memory.most = memory.now = 0;
    memset(memory.at, 0, sizeof memory.at);
    spmv_status status = own->build(d, A, rows, c, head, copy, &upload_s);
    d->backend = counted;
    if (status != SPMV_OK) return status;
    size_t store = spmv_store_bytes(*head), working = own->working(A, c);
    size_t most = spmv_format_named(own->name, variant)->estimate(A, c);
    assert_int_equal(memory.now, store);
    if (most < store) most = store; /* what is taken early may be more than the store's own */
    if (memory.most > most + working)
        fail_msg("%s took %zu bytes, announced %zu and %zu besides", own->name, memory.most, most,
                 working);
    assert_true(upload_s >= 0);
    return status;
}
#endif
