/* upload.cu: copies to the GPU from memory that is not pinned, as of malloc. The driver copies it
 * through a pinned buffer with a single thread, at 7 to 15 GB/s on an H200's host (16 cores). Here
 * the threads of the context fill pinned buffers in turn, while those that are full are on their
 * way: 22 to 26 GB/s; from pinned memory it is 55. Only the calling thread calls CUDA: which device
 * is current in the others is their owner's business. */
#include "device.cuh"
#include <omp.h>
#include <stdlib.h>

enum {
    BUFFERS = 3,            /* one is filled while one is on its way and one waits for it */
    BUFFER_BYTES = 2 << 20, /* long enough for the bus; to pin more takes milliseconds */
    LEAST_BYTES = 8 << 20,  /* of a copy: for less, waking threads takes longer than it saves */
    MOST_THREADS = 16,      /* fill faster than any bus takes it */
    PAGE = 4096
};

struct upload_ring {
    char *buffer[BUFFERS]; /* parts of one allocation */
    cudaEvent_t sent[BUFFERS];
};

void upload_close(upload_ring *ring) {
    if (!ring) return;
    for (int k = 0; k < BUFFERS; k++)
        if (ring->sent[k]) cudaEventDestroy(ring->sent[k]);
    if (ring->buffer[0]) cudaFreeHost(ring->buffer[0]);
    free(ring);
}

/* NULL: there is no pinned memory to be had. */
static upload_ring *open_ring() {
    upload_ring *ring = (upload_ring *)calloc(1, sizeof *ring);
    void *memory = NULL;
    if (!ring) return NULL;
    cudaError_t error = cudaHostAlloc(&memory, BUFFERS * BUFFER_BYTES, cudaHostAllocDefault);
    for (int k = 0; k < BUFFERS && error == cudaSuccess; k++) {
        ring->buffer[k] = (char *)memory + (size_t)k * BUFFER_BYTES;
        error = cudaEventCreateWithFlags(&ring->sent[k], cudaEventDisableTiming);
    }
    if (error == cudaSuccess) return ring;
    cudaGetLastError();
    upload_close(ring);
    return NULL;
}

/* Not pinned, registered, managed or a device's. */
static bool is_pageable(const void *from) {
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

/* Before the barrier the caller makes sure that the buffer which is filled next was sent. */
static cudaError_t send(upload_ring *ring, char *to, const char *from, size_t bytes, int threads,
                        cudaStream_t stream) {
    cudaError_t error = cudaSuccess; /* the caller's alone */
#pragma omp parallel num_threads(threads)
    {
        int team = omp_get_num_threads(), self = omp_get_thread_num(), k = 0;
        for (size_t first = 0; first < bytes; first += BUFFER_BYTES, k = (k + 1) % BUFFERS) {
            size_t n = bytes - first < BUFFER_BYTES ? bytes - first : BUFFER_BYTES;
            fill(ring->buffer[k], from + first, n, team, self);
            if (self == 0 && error == cudaSuccess)
                error = cudaEventSynchronize(ring->sent[(k + 1) % BUFFERS]);
#pragma omp barrier
            if (self == 0 && error == cudaSuccess)
                error =
                    cudaMemcpyAsync(to + first, ring->buffer[k], n, cudaMemcpyHostToDevice, stream);
            if (self == 0 && error == cudaSuccess) error = cudaEventRecord(ring->sent[k], stream);
        }
    }
    cudaError_t last = cudaStreamSynchronize(stream); /* the buffers are free then, in any case */
    return error == cudaSuccess ? last : error;
}

spmv_status upload(spmv_device *d, upload_ring **ring, void *to, const void *from, size_t bytes,
                   bool *done) {
    *done = false;
    if (bytes < LEAST_BYTES || !is_pageable(from)) return SPMV_OK;
    CU(d->ctx, cudaSetDevice(d->number));
    if (!*ring) *ring = open_ring();
    if (!*ring) return SPMV_OK;
    *done = true;
    int threads = d->threads < MOST_THREADS ? d->threads : MOST_THREADS;
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    CU(d->ctx, send(*ring, (char *)to, (const char *)from, bytes, threads, stream));
    return SPMV_OK;
}
