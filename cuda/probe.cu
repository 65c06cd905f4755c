/* probe.cu: measures the best rates of this GPU: streams from memory and from the L2 cache, and
 * random reads. Every rate is the best of several passes, because it serves as a limit. */
#include "backend.cuh"
#include "device.cuh"

enum { PASSES = 8, THREADS = 512, MOST_BLOCKS = 4096 };

typedef struct streams {
    double2 *a, *b, *c; /* [n] */
    size_t n;
    uint4 *at; /* [places / 4] */
    double *sink;
} streams;

static __device__ size_t first() {
    return blockIdx.x * (size_t)blockDim.x + threadIdx.x;
}

static __device__ size_t stride() {
    return gridDim.x * (size_t)blockDim.x;
}

static __global__ void fill_all(double2 *a, double2 *b, double2 *c, size_t n) {
    for (size_t k = first(); k < n; k += stride()) a[k] = b[k] = c[k] = make_double2(1, 1);
}

/* Reads past the L1 cache, which would hold a block's share of a small buffer, with four loads in
 * flight. */
static __global__ void read_all(const double2 *a, size_t n, int times, double *sink) {
    double sum = 0;
    for (int t = 0; t < times; t++) {
        size_t k = first();
        for (; k + 3 * stride() < n; k += 4 * stride()) {
            double2 p = __ldcg(a + k), q = __ldcg(a + k + stride());
            double2 r = __ldcg(a + k + 2 * stride()), s = __ldcg(a + k + 3 * stride());
            sum += p.x + p.y + q.x + q.y + r.x + r.y + s.x + s.y;
        }
        for (; k < n; k += stride()) {
            double2 p = __ldcg(a + k);
            sum += p.x + p.y;
        }
    }
    if (sum == 0) *sink = sum; /* never true, because the array holds ones */
}

static __global__ void copy_all(const double2 *a, double2 *c, size_t n) {
    for (size_t k = first(); k < n; k += stride()) c[k] = a[k];
}

static __global__ void triad_all(const double2 *a, const double2 *b, double2 *c, size_t n) {
    for (size_t k = first(); k < n; k += stride()) {
        double2 p = a[k], q = b[k];
        c[k] = make_double2(p.x + 3 * q.x, p.y + 3 * q.y);
    }
}

static __device__ unsigned place(uint64_t k, uint64_t mask) {
    k = (k ^ (k >> 30)) * 0xbf58476d1ce4e5b9u;
    k = (k ^ (k >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((k ^ (k >> 31)) & mask);
}

static __global__ void choose_places(uint4 *at, size_t n, uint64_t mask) {
    for (size_t k = first(); k < n; k += stride())
        at[k] = make_uint4(place(4 * k + 1, mask), place(4 * k + 2, mask), place(4 * k + 3, mask),
                           place(4 * k + 4, mask));
}

static __global__ void gather_all(const double *x, const uint4 *at, size_t n, double *sink) {
    double sum = 0;
    for (size_t k = first(); k < n; k += stride()) {
        uint4 p = __ldcs(at + k);
        sum += __ldg(x + p.x) + __ldg(x + p.y) + __ldg(x + p.z) + __ldg(x + p.w);
    }
    if (sum == 0 && n > first()) *sink = sum; /* never true, because x holds ones */
}

/* Reads rows of LANES * 16 bytes: adjacent lanes read one row, and each group loads MANY rows at
 * once. */
template <int LANES>
static __global__ void gather_rows(const double2 *x, const unsigned *at, size_t n, double *sink) {
    enum { MANY = 8 };
    const size_t groups = stride() / LANES;
    const unsigned lane = threadIdx.x % LANES;
    double sum = 0;
    for (size_t k = first() / LANES * MANY; k + MANY <= n; k += groups * MANY) {
        double2 row[MANY];
#pragma unroll
        for (int u = 0; u < MANY; u++) row[u] = __ldg(x + (size_t)at[k + u] * LANES + lane);
#pragma unroll
        for (int u = 0; u < MANY; u++) sum += row[u].x + row[u].y;
    }
    if (sum == 0 && n > first() * MANY) *sink = sum; /* never true, because x holds ones */
}

/* ---- the clock ------------------------------------------------------------------------------ */

typedef enum pass { READ, COPY, TRIAD, GATHER, ROWS } pass; /* ROWS + k: rows of 16 << k bytes */

static void launch_rows(cudaStream_t stream, const streams *s, int width, size_t n) {
    static decltype(&gather_rows<1>)
        const of[SPMV_ROW_WIDTHS] = {gather_rows<1>, gather_rows<2>,  gather_rows<4>,
                                     gather_rows<8>, gather_rows<16>, gather_rows<32>};
    auto kernel = of[width];
    kernel<<<MOST_BLOCKS, THREADS, 0, stream>>>(s->a, (const unsigned *)s->at, n, s->sink);
}

static void launch(cudaStream_t stream, const streams *s, int what, size_t n, int times) {
    unsigned blocks =
        (unsigned)(n < (size_t)THREADS * MOST_BLOCKS ? (n + THREADS - 1) / THREADS : MOST_BLOCKS);
    switch (what) {
    case READ: read_all<<<blocks, THREADS, 0, stream>>>(s->a, n, times, s->sink); break;
    case COPY: copy_all<<<blocks, THREADS, 0, stream>>>(s->a, s->c, n); break;
    case TRIAD: triad_all<<<blocks, THREADS, 0, stream>>>(s->a, s->b, s->c, n); break;
    case GATHER:
        gather_all<<<blocks, THREADS, 0, stream>>>((const double *)s->a, s->at, n, s->sink);
        break;
    default: launch_rows(stream, s, what - ROWS, n);
    }
}

static spmv_status best_of(spmv_device *d, const streams *s, int what, size_t n, int times,
                           double *out) {
    *out = 0;
    for (int k = 0; k < PASSES; k++) {
        double seconds;
        TRY(d->backend->tick(d));
        launch(((cuda_state *)d->state)->stream, s, what, n, times);
        TRY(launched(d));
        TRY(d->backend->tock(d, &seconds));
        if (k == 0 || seconds < *out) *out = seconds;
    }
    return SPMV_OK;
}

static spmv_status measure_streams(spmv_device *d, const streams *s, spmv_rates *out) {
    enum { TIMES = 20 };
    double seconds, bytes = (double)s->n * sizeof(double2);
    TRY(best_of(d, s, READ, s->n, 1, &seconds));
    out->read = bytes / seconds;
    TRY(best_of(d, s, COPY, s->n, 1, &seconds));
    out->copy = 2 * bytes / seconds;
    TRY(best_of(d, s, TRIAD, s->n, 1, &seconds));
    out->triad = 3 * bytes / seconds;
    TRY(best_of(d, s, READ, out->cache_bytes / sizeof(double2), TIMES, &seconds));
    out->cache_read = (double)out->cache_bytes * TIMES / seconds;
    return SPMV_OK;
}

static spmv_status measure_gathers(spmv_device *d, const streams *s, size_t places,
                                   spmv_rates *out) {
    cudaStream_t stream = ((cuda_state *)d->state)->stream;
    for (size_t bytes = 1 << 17; bytes <= s->n * sizeof(double2) && out->ngathers < SPMV_GATHERS;
         bytes *= 2) {
        double seconds;
        choose_places<<<MOST_BLOCKS, THREADS, 0, stream>>>(s->at, places / 4,
                                                           bytes / sizeof(double) - 1);
        TRY(best_of(d, s, GATHER, places / 4, 1, &seconds));
        out->gather_bytes[out->ngathers] = bytes;
        out->gathers[out->ngathers++] = (double)places / seconds;
    }
    return SPMV_OK;
}

/* Returns the largest power of two <= n. */
static size_t power_below(size_t n) {
    size_t power = 1;
    while (2 * power <= n) power *= 2;
    return power;
}

/* Measures random reads of rows of a table of `table` bytes, a power of two. Wide rows are read
 * fewer times. */
static spmv_status measure_rows(spmv_device *d, const streams *s, size_t places, size_t table,
                                double *rates) {
    const size_t most = (size_t)1 << 32; /* bytes */
    for (int k = 0; k < SPMV_ROW_WIDTHS; k++) {
        const size_t bytes = (size_t)16 << k, n = places < most / bytes ? places : most / bytes;
        double seconds;
        choose_places<<<MOST_BLOCKS, THREADS, 0, ((cuda_state *)d->state)->stream>>>(
            s->at, n / 4, table / bytes - 1);
        TRY(best_of(d, s, ROWS + k, n, 1, &seconds));
        rates[k] = (double)n / seconds;
    }
    return SPMV_OK;
}

static spmv_status measure_all_rows(spmv_device *d, const streams *s, size_t places,
                                    spmv_rates *out) {
    TRY(measure_rows(d, s, places, power_below(out->cache_bytes), out->rows_near));
    TRY(measure_rows(d, s, places, power_below(s->n * sizeof(double2)), out->rows_far));
    out->nrows = SPMV_ROW_WIDTHS;
    for (int k = 0; k < out->nrows; k++) out->row_bytes[k] = (size_t)16 << k;
    return SPMV_OK;
}

static spmv_status measure(spmv_device *d, streams *s, size_t places, spmv_rates *out) {
    size_t bytes = s->n * sizeof(double2);
    CU(d->ctx, cudaSetDevice(d->number));
    CU(d->ctx, cudaMalloc((void **)&s->a, bytes));
    CU(d->ctx, cudaMalloc((void **)&s->b, bytes));
    CU(d->ctx, cudaMalloc((void **)&s->c, bytes));
    CU(d->ctx, cudaMalloc((void **)&s->at, places * sizeof(unsigned)));
    CU(d->ctx, cudaMalloc((void **)&s->sink, sizeof *s->sink));
    fill_all<<<MOST_BLOCKS, THREADS, 0, ((cuda_state *)d->state)->stream>>>(s->a, s->b, s->c, s->n);
    TRY(launched(d));
    TRY(measure_streams(d, s, out));
    TRY(measure_gathers(d, s, places, out));
    return measure_all_rows(d, s, places, out);
}

spmv_status spmv_probe_gpu(spmv_device *d, size_t cache, spmv_rates *out) {
    size_t room = d->backend->free_bytes(d) / 8, bytes = (size_t)1 << 30;
    while (bytes > room && bytes > 1 << 20) bytes /= 2;
    streams s = {NULL, NULL, NULL, bytes / sizeof(double2), NULL, NULL};
    memset(out, 0, sizeof *out);
    out->cache_bytes = cache / 2 ? cache / 2 : (size_t)1 << 20;
    if (out->cache_bytes > bytes) out->cache_bytes = bytes;
    spmv_status status = measure(d, &s, (size_t)1 << 25, out);
    cudaFree(s.a);
    cudaFree(s.b);
    cudaFree(s.c);
    cudaFree(s.at);
    cudaFree(s.sink);
    return status;
}
