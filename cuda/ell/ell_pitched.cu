/* ell_pitched: ELL transposed and pitched, one thread per row.
 *
 * Source   Di Iorio, cudaSpMVRowsELL, ell0 (cudaMallocPitch, cudaMemcpy2D); Bell and Garland,
 *          SC'09, "ELL".
 * Reads    slot k of row i at k pitch + i: col_idx, values [width x pitch]; row_len[rows] with
 *          rowlens; x[cols]; y if beta != 0.
 * Writes   y[rows], each entry once.
 * Work     thread i runs down column i: a warp reads 32 neighbours, every line of slots starts
 *          aligned.
 * Cost     2 nnz flop; width pitch (sizeof real + 4) + (cols + rows) sizeof real bytes; with
 *          rowlens nnz for width pitch, and 4 rows.
 * Weak     one long row pads all others.
 * Repeats  bitwise: yes.
 * Params   block: threads per block, a multiple of 32 (256); rowlens (1).
 */
#include "ell.cuh"
#include "formats/row_ends.h"
#include <stdlib.h>

enum { PITCH = 512 }; /* lines begin at multiples of so many bytes, as of cudaMallocPitch */

typedef struct pitched { /* device memory; pitches in elements */
    idx *col_idx, *row_len;
    real *values;
    int64_t col_pitch, value_pitch;
} pitched;

static size_t estimate(const spmv_csr_view *A, const spmv_choice *c) {
    (void)c; /* no parameter shapes it */
    size_t width = (size_t)spmv_longest_row(A), rows = (size_t)A->rows;
    size_t line = rows * (sizeof(idx) + sizeof(real)) + 2 * PITCH;
    size_t fixed = sizeof(pitched) + rows * sizeof(idx);
    return width > (SIZE_MAX - fixed) / line ? SIZE_MAX : fixed + width * line;
}

static void release(spmv_plan *p) {
    pitched *t = (pitched *)p->scratch;
    p->device->backend->release(p->device, t->col_idx);
    p->device->backend->release(p->device, t->values);
    p->device->backend->release(p->device, t->row_len);
    free(t);
}

/* to[width x rows] <- from[rows x width] transposed, a stripe of rows at a time so that reads stay
 * in cache. */
template <typename T>
static void transpose(const T *from, int64_t rows, int64_t width, int threads, T *to) {
    enum { STRIPE = 64 };
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int64_t first = 0; first < rows; first += STRIPE) {
        int64_t end = first + STRIPE < rows ? first + STRIPE : rows;
        for (int64_t k = 0; k < width; k++)
            for (int64_t i = first; i < end; i++) to[k * rows + i] = from[i * width + k];
    }
}

/* Transposes an array and copies it into pitched device memory. */
template <typename T>
static spmv_status place(spmv_plan *p, const T *from, T **out, int64_t *pitch) {
    const ell *A = (const ell *)p->host;
    spmv_ctx *ctx = p->device->ctx;
    size_t line = (size_t)A->s.rows * sizeof(T), pitch_bytes = (line + PITCH - 1) / PITCH * PITCH;
    int most = 0;
    CU(ctx, cudaDeviceGetAttribute(&most, cudaDevAttrMaxPitch, p->device->number));
    if (line > (size_t)most)
        return spmv_fail(ctx, SPMV_E_UNSUITABLE,
                         "%lld rows make lines of %zu bytes, CUDA's pitched copies take %d: use "
                         "ell_thread",
                         (long long)A->s.rows, line, most);
    TRY(take_scratch(p, pitch_bytes * (size_t)A->width, (void **)out));
    T *transposed = (T *)spmv_host_alloc((size_t)A->s.slots * sizeof(T));
    if (!transposed)
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of host memory for the transposed matrix");
    transpose(from, A->s.rows, A->width, p->device->threads, transposed);
    cudaError_t error = cudaMemcpy2DAsync(*out, pitch_bytes, transposed, line, line,
                                          (size_t)A->width, cudaMemcpyHostToDevice, stream_of(p));
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_of(p));
    spmv_host_free(transposed);
    if (error != cudaSuccess) return cuda_fail(ctx, error, "cudaMemcpy2DAsync");
    *pitch = (int64_t)(pitch_bytes / sizeof(T));
    return SPMV_OK;
}

static spmv_status prepare(spmv_plan *p) {
    const ell *A = (const ell *)p->host;
    pitched *t = (pitched *)calloc(1, sizeof *t);
    size_t length_bytes = (size_t)A->s.rows * sizeof(idx);
    bool rowlens = p->choice.value[SPMV_rowlens] != 0;
    p->scratch = t;
    if (!t) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    CU(p->device->ctx, cudaSetDevice(p->device->number));
    if (A->s.slots) { /* CUDA has no empty pitched memory */
        TRY(place(p, A->col_idx, &t->col_idx, &t->col_pitch));
        TRY(place(p, A->values, &t->values, &t->value_pitch));
    }
    p->traffic_bytes = rowlens ? ell_traffic(A, true) : p->scratch_bytes;
    return put_scratch(p, A->row_len, length_bytes, (void **)&t->row_len);
}

static __global__ void multiply(idx rows, idx width, const idx *__restrict__ row_len,
                                const idx *__restrict__ col_idx, int64_t col_pitch,
                                const real *__restrict__ values, int64_t value_pitch,
                                const real *__restrict__ x, result out) {
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    idx len = row_len ? row_len[row] : width;
    real sum = 0;
    for (idx k = 0; k < len; k++)
        sum += values[k * value_pitch + row] * x[col_idx[k * col_pitch + row]];
    put_row(out, row, sum);
}

static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    const ell *A = (const ell *)p->host; /* for its sizes */
    const pitched *t = (const pitched *)p->scratch;
    int block = (int)p->choice.value[SPMV_block];
    const idx *row_len = p->choice.value[SPMV_rowlens] ? t->row_len : NULL;
    if (A->s.rows == 0) return SPMV_OK;
    multiply<<<(unsigned)blocks_for(A->s.rows, block), block, 0, stream_of(v)>>>(
        (idx)A->s.rows, (idx)A->width, row_len, t->col_idx, t->col_pitch, t->values, t->value_pitch,
        (const real *)v->x, result_of(v));
    return launched(p);
}

static const spmv_param params[] = {PARAM_BLOCK_THREAD, PARAM_ROWLENS, SPMV_NO_MORE_PARAMS};

SPMV_EXPORT_ANY_OFFSETS_KERNEL(ell_pitched) = {
    /* name, alias  */ "ell_pitched",
    "ell0",
    /* format       */ "ell",
    /* summary      */ "ELL transposed and pitched, one thread per row",
    /* params       */ params,
    /* traits       */ SPMV_DETERMINISTIC | SPMV_PADS | SPMV_OWN_COPY,
    /* estimate     */ estimate,
    /* prepare      */ prepare,
    /* run, release */ run,
    release,
};
