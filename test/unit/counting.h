/* counting.h: a device's alloc and release that count the memory in use. */
#ifndef SPMV_TEST_COUNTING_H
#define SPMV_TEST_COUNTING_H

#include "context.h"

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
#endif
