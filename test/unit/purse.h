/* purse.h: a caller's allocator that counts what it gives of a device's memory, for tests. */
#ifndef SPMV_TEST_PURSE_H
#define SPMV_TEST_PURSE_H

#include "kernels.h"
#include "sources.h"

#pragma weak source_alloc
#pragma weak source_free

enum { MOST_BLOCKS = 255 };
static struct {
    void *memory[MOST_BLOCKS];
    size_t bytes[MOST_BLOCKS], out, most; /* out: in use; most: the most in use */
    int refused;                          /* ordinal number of the allocation that fails; 0: none */
    int foreign; /* blocks that came back without having been given, or of another size */
} purse;

static void *take(void *user, spmv_place place, size_t bytes, void *stream) {
    int k = 0;
    (void)user, (void)stream;
    if (place == SPMV_HOST) return malloc(bytes);
    if (purse.refused && --purse.refused == 0) return NULL;
    while (k < MOST_BLOCKS && purse.memory[k]) k++;
    assert_in_range(k, 0, MOST_BLOCKS - 1);
    purse.bytes[k] = bytes;
    purse.out += bytes;
    if (purse.out > purse.most) purse.most = purse.out;
    return purse.memory[k] = source_alloc(ON_DEVICE, bytes);
}

static void give(void *user, spmv_place place, void *memory, size_t bytes, void *stream) {
    int k = 0;
    (void)user, (void)stream;
    if (place == SPMV_HOST) {
        free(memory);
        return;
    }
    while (k < MOST_BLOCKS && purse.memory[k] != memory) k++;
    if (k == MOST_BLOCKS || purse.bytes[k] != bytes)
        purse.foreign++;
    else {
        purse.memory[k] = NULL;
        purse.out -= bytes;
    }
    source_free(ON_DEVICE, memory);
}

static const spmv_allocator allocator_of_purse = {take, give, NULL};
#endif
