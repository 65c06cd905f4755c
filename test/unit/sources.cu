/* sources.cu: memory of every kind that a copy to a GPU may come from, for test_upload.c. */
#include "sources.h"
#include "cuda/device.cuh"
#include <stdlib.h>

static void *alloc_registered(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory && cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess)
        return memory;
    free(memory);
    return NULL;
}

extern "C" void *source_alloc(source_kind kind, size_t bytes) {
    void *memory = NULL;
    switch (kind) {
    case PINNED: cudaHostAlloc(&memory, bytes, cudaHostAllocDefault); break;
    case REGISTERED: memory = alloc_registered(bytes); break;
    case MANAGED: cudaMallocManaged(&memory, bytes); break;
    case ON_DEVICE: cudaMalloc(&memory, bytes); break;
    default: memory = malloc(bytes);
    }
    return memory;
}

extern "C" void source_free(source_kind kind, void *memory) {
    if (kind == PINNED) cudaFreeHost(memory);
    if (kind == MANAGED || kind == ON_DEVICE) cudaFree(memory);
    if (kind == REGISTERED) cudaHostUnregister(memory);
    if (kind == REGISTERED || kind == PAGEABLE) free(memory);
}

extern "C" bool plain_copy(void *to, const void *from, size_t bytes) {
    return cudaMemcpy(to, from, bytes, cudaMemcpyDefault) == cudaSuccess;
}

extern "C" int copies_until_pinned(struct spmv_device *device, void *to, const void *from,
                                   size_t bytes, int most) {
    upload_ring *ring = NULL;
    bool done = false;
    int n = 0;
    for (; n < most && !done; n++)
        if (upload(device, &ring, to, from, bytes, &done) != SPMV_OK) break;
    upload_close(ring);
    return done ? n - 1 : n;
}
