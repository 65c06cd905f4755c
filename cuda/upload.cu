/* upload.cu: copies to the GPU from memory that is not pinned, such as malloc's. The driver would
 * copy through a pinned buffer with one thread, at 7 to 15 GB/s on an H200's host (16 cores). Here
 * the threads of the context fill pinned buffers in turn while full buffers are being sent, at 28
 * to 32 GB/s (55 from pinned memory). Pinning costs time once, so buffers are small, and are pinned
 * only after so many bytes that pinning would have paid. If other programs use the cores, threads
 * wait for each other at every buffer (down to 0.1 GB/s); the driver then copies the remaining
 * bytes. Only the calling thread calls CUDA: the current device of the other threads is the user's.
 * make bench-upload prints what other buffers cost and gain. */
#include "device.cuh"
#include <omp.h>
#include <stdlib.h>

enum {
    /* On an H200 (make bench-upload) pinning these buffers takes 0.8 ms, and three of 2 MiB take
     * 3.5 ms. They reach 32 GB/s instead of 25 (driver: 7 to 14): pinning pays from 8 MiB on. */
    BUFFERS = 4,
    BUFFER_BYTES = 256 << 10,
    /* sent by the driver, in copies of LEAST_BYTES or more, until pinning pays */
    PAYS_BYTES = 16 << 20,
    LEAST_BYTES = 8 << 20, /* for fewer bytes, waking threads costs more than it saves */
    /* sent by the driver after threads were slow, until threads try again */
    AGAIN_BYTES = 256 << 20,
    MOST_THREADS = 16, /* these fill buffers faster than any bus sends them */
    MOST_BUFFERS = 8,
    PAGE = 4096
};

/* Threads are slow if, after patience_s, they have sent less than slow_rate allows: the driver,
 * which needs one core, would have sent more. */
static const double slow_rate = 4e9 /* bytes per second */, patience_s = 4e-3;

struct upload_ring {
    int buffers;
    size_t bytes; /* per buffer */
    char *memory; /* [buffers * bytes] pinned; NULL: not yet allocated */
    cudaEvent_t sent[MOST_BUFFERS];
    size_t plain; /* bytes that the driver sends before threads try */
};

static void unpin(upload_ring *ring) {
    for (int k = 0; k < ring->buffers; k++)
        if (ring->sent[k]) cudaEventDestroy(ring->sent[k]);
    if (ring->memory) cudaFreeHost(ring->memory);
    *ring = {ring->buffers, ring->bytes, NULL, {}, ring->plain};
}

void upload_close(upload_ring *ring) {
    if (ring) unpin(ring);
    free(ring);
}

/* Returns NULL if out of memory. */
static upload_ring *open_ring(int buffers, size_t bytes) {
    upload_ring *ring = (upload_ring *)calloc(1, sizeof *ring);
    if (ring) *ring = {buffers, bytes, NULL, {}, PAYS_BYTES};
    return ring;
}

void *pinned_memory(size_t bytes) {
    void *memory = NULL;
    if (cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess) return memory;
    cudaGetLastError();
    return NULL;
}

/* Returns false if pinned memory cannot be allocated. */
static bool pin(upload_ring *ring) {
    if (ring->memory) return true;
    ring->memory = (char *)pinned_memory((size_t)ring->buffers * ring->bytes);
    cudaError_t error = ring->memory ? cudaSuccess : cudaErrorMemoryAllocation;
    for (int k = 0; k < ring->buffers && error == cudaSuccess; k++)
        error = cudaEventCreateWithFlags(&ring->sent[k], cudaEventDisableTiming);
    if (error == cudaSuccess) return true;
    cudaGetLastError();
    unpin(ring);
    return false;
}

bool is_pageable(const void *from) {
    cudaPointerAttributes about;
    if (cudaPointerGetAttributes(&about, from) == cudaSuccess)
        return about.type == cudaMemoryTypeUnregistered;
    cudaGetLastError();
    return false;
}

/* Copies one thread's share of n bytes, in whole pages. */
static void fill(char *buffer, const char *from, size_t n, int team, int self) {
    int64_t pages = (int64_t)((n + PAGE - 1) / PAGE);
    size_t begin = PAGE * (size_t)spmv_split(pages, team, self);
    size_t end = PAGE * (size_t)spmv_split(pages, team, self + 1);
    if (end > n) end = n;
    if (begin < end) memcpy(buffer + begin, from + begin, end - begin);
}

/* Before the barrier the calling thread waits until the next buffer has been sent, and, if threads
 * are slow (not counting time before the first barrier), sets `end`, the number of bytes after
 * which all stop. A thread stops at `end` even if it reads the new value only in the next round. */
static cudaError_t send(upload_ring *ring, char *to, const char *from, size_t bytes, int threads,
                        cudaStream_t stream) {
    cudaError_t error = cudaSuccess; /* written by the calling thread only */
    size_t end = bytes;
#pragma omp parallel num_threads(threads)
    {
        int team = omp_get_num_threads(), self = omp_get_thread_num(), k = 0;
        const size_t most = ring->bytes;
        double awake = 0;
        for (size_t first = 0; first < __atomic_load_n(&end, __ATOMIC_RELAXED);
             first += most, k = (k + 1) % ring->buffers) {
            size_t n = bytes - first < most ? bytes - first : most;
            char *buffer = ring->memory + (size_t)k * most;
            fill(buffer, from + first, n, team, self);
            if (self == 0 && error == cudaSuccess)
                error = cudaEventSynchronize(ring->sent[(k + 1) % ring->buffers]);
            if (self == 0 && first && spmv_now() - awake > patience_s + (double)first / slow_rate)
                __atomic_store_n(&end, first + n, __ATOMIC_RELAXED);
#pragma omp barrier
            if (self == 0 && first == 0) awake = spmv_now();
            if (self == 0 && error == cudaSuccess)
                error = cudaMemcpyAsync(to + first, buffer, n, cudaMemcpyHostToDevice, stream);
            if (self == 0 && error == cudaSuccess) error = cudaEventRecord(ring->sent[k], stream);
        }
    }
    if (end < bytes) {
        ring->plain = AGAIN_BYTES;
        if (error == cudaSuccess)
            error =
                cudaMemcpyAsync(to + end, from + end, bytes - end, cudaMemcpyHostToDevice, stream);
    }
    cudaError_t last = cudaStreamSynchronize(stream); /* after this no buffer is in use */
    return error == cudaSuccess ? last : error;
}

/* Returns whether threads send these bytes. The driver sends the first ring->plain bytes. */
static bool pays(upload_ring *ring, size_t bytes) {
    if (bytes < ring->plain) {
        ring->plain -= bytes;
        return false;
    }
    ring->plain = 0;
    return pin(ring);
}

spmv_status upload(spmv_device *d, upload_ring **ring, void *to, const void *from, size_t bytes,
                   bool *done) {
    *done = false;
    if (bytes < LEAST_BYTES || !is_pageable(from)) return SPMV_OK;
    CU(d->ctx, cudaSetDevice(d->number));
    if (!*ring) *ring = open_ring(BUFFERS, BUFFER_BYTES);
    if (!*ring || !pays(*ring, bytes)) return SPMV_OK;
    *done = true;
    int threads = d->threads < MOST_THREADS ? d->threads : MOST_THREADS;
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    CU(d->ctx, send(*ring, (char *)to, (const char *)from, bytes, threads, stream));
    return SPMV_OK;
}
