/* spmv_backend.h: where memory and time live; part of spmv_kernel.h, which includes it once its
 * types are there. A backend is a constant table of functions over devices it opened; nothing is
 * global. */
#ifndef SPMV_BACKEND_H
#define SPMV_BACKEND_H

typedef struct spmv_backend spmv_backend;
typedef struct spmv_device { /* one opened device */
    const spmv_backend *backend;
    spmv_ctx *ctx; /* where messages go */
    int number;    /* as the backend counts */
    int threads;   /* OpenMP team size; on a GPU: for the host's share of the work */
    void *state;   /* the backend's own */
} spmv_device;

typedef struct spmv_device_facts { /* NULL, 0 or negative: unknown */
    const char *name;              /* owned by the device */
    int cc, sms, driver, runtime, ecc, clock_sm_kHz, clock_memory_kHz;
    size_t memory, l2;
    double bandwidth; /* theoretical, bytes a second */
} spmv_device_facts;

struct spmv_backend {
    const char *name, *hint;  /* hint: what to do when it is not built in */
    const char *const *names; /* [nkernels] */
    const spmv_kernel *const (*kernels)[SPMV_NVARIANTS]; /* [nkernels]; NULL: not built in */
    int nkernels;
    bool host; /* its memory is host memory: nothing to upload */
    spmv_status (*open)(spmv_device *d);
    void (*close)(spmv_device *d);
    spmv_status (*alloc)(spmv_device *d, size_t bytes, void **out);
    void (*release)(spmv_device *d, void *memory);
    spmv_status (*put)(spmv_device *d, void *device, const void *host, size_t bytes);
    spmv_status (*get)(spmv_device *d, void *host, const void *device, size_t bytes);
    spmv_status (*sync)(spmv_device *d);
    spmv_status (*tick)(spmv_device *d);
    spmv_status (*tock)(spmv_device *d, double *seconds);
    size_t (*free_bytes)(spmv_device *d);
    void (*describe)(spmv_device *d, spmv_device_facts *out);
    void (*propose)(const spmv_features *f, spmv_proposals *out);
    /* For measuring. Reads `bytes` of memory that nothing else uses, so that caches smaller than
     * that forget the rest; may return before it is done, and what is asked next waits. */
    spmv_status (*flush)(spmv_device *d, size_t bytes);
    spmv_status (*nothing)(spmv_device *d); /* launches a kernel that does nothing */
    /* What is launched between start and stop is recorded, not run; NULL where a launch costs
     * nothing. replay does not wait. */
    spmv_status (*record_start)(spmv_device *d);
    spmv_status (*record_stop)(spmv_device *d, void **recording); /* also after a failed launch */
    spmv_status (*replay)(spmv_device *d, void *recording);
    void (*forget)(spmv_device *d, void *recording);
};
SPMV_LINKAGE const spmv_backend spmv_omp;
SPMV_LINKAGE const spmv_backend spmv_cuda;
SPMV_LINKAGE const spmv_backend *const spmv_backends[]; /* every backend, NULL at the end */
/* Facts of a backend's device, which is opened. */
SPMV_LINKAGE spmv_status spmv_ctx_describe(spmv_ctx *ctx, const spmv_backend *backend,
                                           spmv_device_facts *out);

#endif
