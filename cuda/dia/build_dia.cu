/* build_dia.cu: builds DIA from CSR in the GPU's memory, byte for byte as
 * src/formats/dia/format_dia.c does, and writes new values.
 *
 * Source   src/formats/dia/format_dia.c.
 * Reads    csr: row_ptr, col_idx, values, on the GPU.
 * Work     one thread per row marks its diagonals in a bit map; a prefix sum of the bits lists the
 *          diagonals. Then one thread per row stores its entries on them. New values: each slot
 *          that is not padding receives the row's next value.
 */
#include "cuda/build.cuh"
#include "formats/csr/csr.h"
#include "formats/dia/dia.h"
#include <vector>

enum { THREADS = 256, WORD = 32 };

/* Sets bit j - i + rows for each entry (i, j). Tests the bit first, because it is usually set
 * already. */
static __global__ void mark(csr A, uint32_t *marks) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= A.s.rows) return;
    for (ofs e = A.row_ptr[i]; e < A.row_ptr[i + 1]; e++) {
        const int64_t k = A.col_idx[e] - i + A.s.rows;
        const uint32_t bit = (uint32_t)1 << k % WORD;
        if (!(*(volatile uint32_t *)(marks + k / WORD) & bit)) atomicOr(marks + k / WORD, bit);
    }
}

static __global__ void count_marks(int64_t words, const uint32_t *__restrict__ marks,
                                   int64_t *count) {
    const int64_t w = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (w < words) count[w] = __popc(marks[w]);
}

static __global__ void list_marks(int64_t words, int64_t rows, const uint32_t *__restrict__ marks,
                                  const int64_t *__restrict__ before, idx *offsets) {
    const int64_t w = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (w >= words) return;
    int64_t n = before[w];
    for (uint32_t rest = marks[w]; rest; rest &= rest - 1)
        offsets[n++] = (idx)(w * WORD + __ffs((int)rest) - 1 - rows);
}

static __global__ void fill_rows(csr A, dia B) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B.pitch) return;
    ofs next = i < A.s.rows ? A.row_ptr[i] : 0;
    const ofs end = i < A.s.rows ? A.row_ptr[i + 1] : 0;
    for (int64_t k = 0; k < B.diagonals; k++) {
        const bool is_entry = next < end && A.col_idx[next] - i == B.offsets[k];
        B.values[k * B.pitch + i] = is_entry ? as_entry(A.values[next]) : (real)-0.0;
        next += is_entry;
    }
}

static __global__ void refill_rows(dia B, const ofs *__restrict__ row_ptr,
                                   const real *__restrict__ value) {
    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= B.s.rows) return;
    ofs next = row_ptr[i];
    for (int64_t k = 0; k < B.diagonals; k++) {
        real *slot = B.values + k * B.pitch + i;
        if (!is_padding(*slot)) *slot = as_entry(value[next++]);
    }
}

/* ---- the format ------------------------------------------------------------------------------ */

static unsigned blocks_of(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

/* Returns the number of words of the bit map of rows + cols diagonals. */
static int64_t words_of(int64_t rows, int64_t cols) {
    return blocks_for(rows + cols, WORD);
}

typedef struct marked { /* temporary arrays */
    int64_t words;
    uint32_t *marks; /* [words] bit map of diagonals */
    int64_t *before; /* [words + 1] number of bits set in the words before */
} marked;

static spmv_status find_diagonals(spmv_device *d, const csr *A, marked *m, int64_t *diagonals) {
    cudaStream_t stream = stream_of(d);
    const size_t words = (size_t)m->words;
    TRY(d->backend->alloc(d, words * sizeof *m->marks, (void **)&m->marks));
    TRY(d->backend->alloc(d, (words + 1) * sizeof *m->before, (void **)&m->before));
    CU(d->ctx, cudaMemsetAsync(m->marks, 0, words * sizeof *m->marks, stream));
    CU(d->ctx, cudaMemsetAsync(m->before, 0, (words + 1) * sizeof *m->before, stream));
    if (A->s.rows) mark<<<blocks_of(A->s.rows), THREADS, 0, stream>>>(*A, m->marks);
    if (words)
        count_marks<<<blocks_of(m->words), THREADS, 0, stream>>>(m->words, m->marks, m->before);
    TRY(launched(d));
    TRY(sum_before(d, m->words + 1, m->before));
    return d->backend->get(d, diagonals, m->before + m->words, sizeof *diagonals);
}

static spmv_status count_inside(spmv_device *d, const dia *copy, int64_t *inside) {
    std::vector<idx> offset((size_t)copy->diagonals);
    TRY(d->backend->get(d, offset.data(), copy->offsets, offset.size() * sizeof(idx)));
    *inside = 0;
    for (const idx k : offset) {
        const dia_span in = dia_rows_inside(copy->s.cols, k, 0, copy->s.rows);
        *inside += in.end - in.first;
    }
    return SPMV_OK;
}

static spmv_status list_diagonals(spmv_device *d, const csr *A, marked *m, dia *head, dia *copy) {
    TRY(find_diagonals(d, A, m, &copy->diagonals));
    TRY(BUILD_ARRAY(d, head, copy, offsets, copy->diagonals));
    if (m->words)
        list_marks<<<blocks_of(m->words), THREADS, 0, stream_of(d)>>>(m->words, A->s.rows, m->marks,
                                                                      m->before, copy->offsets);
    TRY(launched(d));
    return count_inside(d, copy, &copy->inside);
}

static spmv_status begin(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                         spmv_store **head_out, spmv_store **copy_out) {
    marked m = {words_of(A->rows, A->cols)};
    TRY(spmv_store_new(d->ctx, "dia", sizeof(dia), A, head_out));
    TRY(spmv_store_new(d->ctx, "dia", sizeof(dia), A, copy_out));
    dia *head = (dia *)*head_out, *copy = (dia *)*copy_out;
    const spmv_status status = list_diagonals(d, (const csr *)rows, &m, head, copy);
    d->backend->release(d, m.marks);
    d->backend->release(d, m.before);
    copy->pitch = blocks_for(A->rows, DIA_ALIGN) * DIA_ALIGN;
    copy->s.slots = copy->diagonals * copy->pitch;
    head->diagonals = copy->diagonals, head->inside = copy->inside;
    head->pitch = copy->pitch, head->s.slots = copy->s.slots;
    return status;
}

static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    (void)c; /* no parameters */
    *upload_s = 0;
    TRY(begin(d, A, rows, head_out, copy_out));
    dia *head = (dia *)*head_out, *copy = (dia *)*copy_out;
    TRY(BUILD_ARRAY(d, head, copy, values, copy->s.slots));
    if (copy->s.slots)
        fill_rows<<<blocks_of(copy->pitch), THREADS, 0, stream_of(d)>>>(*(const csr *)rows, *copy);
    return launched(d);
}

static spmv_status measure_on(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              size_t *bytes) {
    (void)c;
    TRY(begin(d, A, rows, head, copy));
    *bytes = spmv_store_bytes(*head) + (size_t)(*head)->slots * sizeof(real);
    return SPMV_OK;
}

/* Returns the bytes of the bit map, its prefix sums, and CUB's temporary storage. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    enum { TEMPORARY = 1 << 22 };
    (void)c;
    return (size_t)(words_of(A->rows, A->cols) + 1) * (sizeof(uint32_t) + sizeof(int64_t)) +
           TEMPORARY;
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const dia *B = (const dia *)copy;
    if (B->s.slots == 0) return SPMV_OK;
    refill_rows<<<blocks_of(B->s.rows), THREADS, 0, stream_of(d)>>>(*B, (const ofs *)row_ptr,
                                                                    (const real *)values);
    return launched(d);
}

EXPORT_BUILDER(dia) = {
    .name = "dia",
    .working = working,
    .build = build_on,
    .refill = refill_on,
    .measure = measure_on,
};
