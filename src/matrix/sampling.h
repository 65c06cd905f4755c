/* sampling.h: takes the sample of a matrix (spmv_sample.h). */
#ifndef SPMV_SAMPLING_H
#define SPMV_SAMPLING_H

#include "matrix/matrix.h"
#include "spmv_sample.h"

typedef enum spmv_sampling_depth {
    SPMV_SAMPLE_NONE,
    SPMV_SAMPLE_QUICK,  /* 3,000 entries */
    SPMV_SAMPLE_FULL,   /* 16,000 entries; also repeated columns for a GPU, symmetry for a host */
    SPMV_SAMPLE_WINDOWS /* also windows of rows in other orders (spmv_windows.h), on the host */
} spmv_sampling_depth;
/* Samples a nonempty matrix with `threads` host threads, or on the device if only it has the rows.
 * readers: SPMV_FOR_... flags; depth: QUICK or FULL. The sample is valid as long as the matrix's
 * rows. On failure (SPMV_E_NOMEM, SPMV_E_DEVICE) there is nothing to free. */
spmv_status spmv_sample_take(spmv_mat *mat, spmv_sampling_depth depth, int readers, int threads,
                             spmv_sample *out);
void spmv_sample_free(spmv_sample *sample);

#endif
