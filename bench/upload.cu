/* bench/upload.cu: one-time cost of the pinned buffers in cuda/upload.cu, and speed of copies
 * through these buffers: make bench-upload, or bench_upload [BUFFERS KIB ...]. Prints a row for
 * each setting, measured in a separate process, since the first memory that a process pins may cost
 * more than the next. "pays from": number of MiB for which copying with newly pinned buffers takes
 * as long as the driver alone; the constant PAYS_BYTES should be near this number, and pinning
 * should take at most 5 ms. Exits with 1 if it cannot measure. */
#include "cuda/upload.cu"
#include "spmv_clock.h"
#include <math.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MIB = 1 << 20, LARGEST = 512, SIZES = 4, TIMES = 7 };
static const int sizes[SIZES] = {8, 32, 128, LARGEST}; /* MiB */

static const int usual[][2] = {{3, 2048}, {3, 1024}, {3, 512}, {4, 256}, {3, 256}, {4, 128}};

typedef struct ground { /* memory of the copies */
    char *from, *to;    /* [LARGEST MiB] */
    cudaStream_t stream;
    int threads;
} ground;

static bool is_done(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fprintf(stderr, "bench_upload: %s: %s\n", what, cudaGetErrorString(error));
    return error == cudaSuccess;
}

/* Allocates the memory; the end of the process frees it. */
static bool prepare(ground *g) {
    const size_t bytes = (size_t)LARGEST * MIB;
    g->from = (char *)malloc(bytes);
    g->threads = omp_get_num_procs() < MOST_THREADS ? omp_get_num_procs() : MOST_THREADS;
    if (g->from) memset(g->from, 1, bytes);
    return g->from && is_done(cudaFree(NULL), "CUDA") &&
           is_done(cudaMalloc(&g->to, bytes), "memory") &&
           is_done(cudaStreamCreateWithFlags(&g->stream, cudaStreamNonBlocking), "a stream");
}

/* Returns the median of the seconds of a copy; ring NULL: by the driver. Negative: failure. */
static double seconds_of(const ground *g, upload_ring *ring, size_t bytes) {
    double s[TIMES];
    for (int n = 0; n < TIMES; n++) {
        const double start = spmv_now();
        cudaError_t error =
            ring ? send(ring, g->to, g->from, bytes, g->threads, g->stream)
                 : cudaMemcpyAsync(g->to, g->from, bytes, cudaMemcpyHostToDevice, g->stream);
        if (error == cudaSuccess) error = cudaStreamSynchronize(g->stream);
        if (!is_done(error, "a copy")) return -1;
        int k = n;
        const double taken = spmv_now() - start;
        for (; k > 0 && s[k - 1] > taken; k--) s[k] = s[k - 1];
        s[k] = taken;
    }
    return s[TIMES / 2];
}

static bool print_row(int buffers, int kib) {
    ground g = {};
    upload_ring *ring = open_ring(buffers, (size_t)kib << 10);
    if (!ring || !prepare(&g)) return false;
    const double start = spmv_now();
    if (!pin(ring)) return false;
    const double pinned = spmv_now() - start;
    printf("%d x %4d KiB %10.2f ms ", buffers, kib, 1e3 * pinned);
    double plain = 0, ours = 0;
    for (int k = 0; k < SIZES; k++) {
        const size_t bytes = (size_t)sizes[k] * MIB;
        plain = seconds_of(&g, NULL, bytes), ours = seconds_of(&g, ring, bytes);
        if (plain < 0 || ours < 0) return false;
        printf("  %5.1f %5.1f", 1e-9 * (double)bytes / plain, 1e-9 * (double)bytes / ours);
    }
    printf("  %9.0f MiB\n", plain > ours ? (double)LARGEST * pinned / (plain - ours) : INFINITY);
    return true;
}

/* Measures a setting in a process that has not used CUDA. */
static bool try_setting(int buffers, int kib) {
    int status = 1;
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const bool done = print_row(buffers, kib);
        fflush(stdout);
        _exit(!done);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
    bool all = true;
    printf("GB/s by the driver and through the buffers, of copies of so many MiB.\n%-12s %13s",
           "buffers", "pinning, once");
    for (int k = 0; k < SIZES; k++) printf("  %11d", sizes[k]);
    printf("  %13s\n", "pays from");
    for (int k = 1; k + 1 < argc; k += 2) {
        const int buffers = atoi(argv[k]), kib = atoi(argv[k + 1]);
        all = buffers > 1 && buffers <= MOST_BUFFERS && kib > 0 && try_setting(buffers, kib) && all;
    }
    for (size_t k = 0; k < sizeof usual / sizeof *usual && argc < 3; k++)
        all = try_setting(usual[k][0], usual[k][1]) && all;
    return !all;
}
