/* upload.cuh: copies to the GPU from memory that is not pinned (upload.cu). */
#ifndef SPMV_CUDA_UPLOAD_CUH
#define SPMV_CUDA_UPLOAD_CUH

#include "device.cuh"

typedef struct upload_ring upload_ring; /* pinned buffers of one device */
/* Copies if the source is large and not pinned, and returns when it is done; else *done is false,
 * and a plain copy is best. ring: NULL at first; made here when it is first needed. */
spmv_status upload(spmv_device *d, upload_ring **ring, void *to, const void *from, size_t bytes,
                   bool *done);
void upload_close(upload_ring *ring); /* NULL: nothing */
#endif
