/* wrong.c: kernels that multiply wrongly, and one whose time is known, for test_wrong.py. Linked in
 * front of the library they take the place of the shipped ones of their names, whose files then are
 * not taken out of it: in build/BACKEND/spmv-wrong, and in no other program. Most are also fast: a
 * time that counted would be the best. */
#include "formats/csr/csr.h"
#include "spmv_kernel.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Products: as many as first ones are timed in trials (MOST_FIRST), and fewer than the warm-up and
 * the samples that follow it. */
enum { RIGHT_AT_FIRST = 6 };

static void multiply(const spmv_plan *p, const spmv_operands *v) {
    const csr *A = (const csr *)p->store;
    const real *x = v->x;
    real *y = v->z;
    for (int64_t i = 0; i < A->s.rows; i++) {
        real sum = 0;
        for (ofs k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            sum += A->values[k] * x[A->col_idx[k]];
        y[i] = (real)v->alpha * sum + (v->beta == 0 ? 0 : (real)v->beta * y[i]);
    }
}

/* ---- how many products a plan has made ------------------------------------------------------ */

static spmv_status prepare(spmv_plan *p) {
    p->scratch = calloc(1, sizeof(int));
    if (!p->scratch) return spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
    p->scratch_bytes = sizeof(int);
    return SPMV_OK;
}

static void release(spmv_plan *p) {
    free(p->scratch);
}

static bool is_early(const spmv_plan *p) {
    return (*(int *)p->scratch)++ < RIGHT_AT_FIRST;
}

/* ---- faults --------------------------------------------------------------------------------- */

static spmv_status skip_a_row(const spmv_plan *p, const spmv_operands *v) {
    real *skipped = (real *)v->z + p->store->rows / 2, before = *skipped;
    multiply(p, v);
    *skipped = before;
    return SPMV_OK;
}

static spmv_status write_nothing(const spmv_plan *p, const spmv_operands *v) {
    (void)p, (void)v;
    return SPMV_OK;
}

/* Whoever looks at y without having wiped it sees the right one of before. */
static spmv_status stop_writing(const spmv_plan *p, const spmv_operands *v) {
    if (is_early(p)) multiply(p, v);
    return SPMV_OK;
}

static spmv_status go_wrong(const spmv_plan *p, const spmv_operands *v) {
    multiply(p, v);
    if (!is_early(p)) ((real *)v->z)[p->store->rows / 2] += 1;
    return SPMV_OK;
}

/* Its products 2 to 199 are wrong: neither the first nor the last one shows that. */
static spmv_status go_right(const spmv_plan *p, const spmv_operands *v) {
    enum { WRONG_UNTIL = 199 };
    const int number = ++*(int *)p->scratch;
    multiply(p, v);
    if (number > 1 && number <= WRONG_UNTIL) ((real *)v->z)[p->store->rows / 2] += 1;
    return SPMV_OK;
}

static spmv_status be_wrong_once(const spmv_plan *p, const spmv_operands *v) {
    multiply(p, v);
    if (++*(int *)p->scratch == 2) ((real *)v->z)[p->store->rows / 2] += 1;
    return SPMV_OK;
}

/* Writes what its first product was, whatever x is. */
static spmv_status prepare_a_memory(spmv_plan *p) {
    p->scratch_bytes = (size_t)(p->store->rows + 1) * sizeof(real);
    p->scratch = calloc(1, p->scratch_bytes);
    return p->scratch ? SPMV_OK : spmv_fail(p->device->ctx, SPMV_E_NOMEM, "out of memory");
}

static spmv_status remember(const spmv_plan *p, const spmv_operands *v) {
    real *kept = p->scratch, *y = v->z;
    const int64_t rows = p->store->rows;
    if (kept[rows] == 0) {
        multiply(p, v);
        memcpy(kept, y, (size_t)rows * sizeof *kept);
        kept[rows] = 1;
    }
    memcpy(y, kept, (size_t)rows * sizeof *kept);
    return SPMV_OK;
}

/* Stays within the bound, but is not what it says to be. */
static spmv_status waver(const spmv_plan *p, const spmv_operands *v) {
    real *y = (real *)v->z + p->store->rows / 2;
    multiply(p, v);
    if (++*(int *)p->scratch > 2) *y += *y * (real)(sizeof(real) == 8 ? 0x1p-52 : 0x1p-23);
    return SPMV_OK;
}

/* The first plan of the process is right. Its copies, which --cache=steady takes turns with, are
 * not. */
static spmv_status prepare_a_copy(spmv_plan *p) {
    static int plans;
    TRY(prepare(p));
    *(int *)p->scratch = plans++;
    return SPMV_OK;
}

static spmv_status be_wrong_in_copies(const spmv_plan *p, const spmv_operands *v) {
    if (*(int *)p->scratch == 0) multiply(p, v);
    return SPMV_OK;
}

static spmv_status be_wrong_with_simd(const spmv_plan *p, const spmv_operands *v) {
    if (!p->choice.value[SPMV_simd]) multiply(p, v);
    return SPMV_OK;
}

/* Is right, and slow unless the parameter is set. */
static spmv_status be_faster_with_simd(const spmv_plan *p, const spmv_operands *v) {
    const struct timespec pause = {.tv_nsec = 300000};
    if (!p->choice.value[SPMV_simd]) nanosleep(&pause, NULL);
    multiply(p, v);
    return SPMV_OK;
}

static const spmv_param no_params[] = {SPMV_NO_MORE_PARAMS};
static const spmv_param simd[] = {{SPMV_simd, 0, 0, 1, 1, false}, SPMV_NO_MORE_PARAMS};

#define PLANT_PREPARED(kernel, parameters, preparation, fault) \
    SPMV_EXPORT_KERNEL(kernel) = {.name = #kernel, \
                                  .format = "csr", \
                                  .summary = "planted: wrong", \
                                  .params = parameters, \
                                  .traits = SPMV_DETERMINISTIC, \
                                  .prepare = preparation, \
                                  .run = fault, \
                                  .release = release}
#define PLANT(kernel, parameters, fault) PLANT_PREPARED(kernel, parameters, prepare, fault)
PLANT(cmrs_strips, no_params, skip_a_row);
PLANT(csr_tiles, NULL, write_nothing); /* a kernel need not name its parameters' list */
PLANT(csr_tiles_copied, no_params, stop_writing);
PLANT(csr_blocks, no_params, go_wrong);
PLANT(coo_segments, simd, be_wrong_with_simd);
PLANT(spc5_rows, no_params, go_right);
PLANT(bsr_rows, no_params, be_wrong_once);
PLANT_PREPARED(hybrid_rows, no_params, prepare_a_memory, remember);
PLANT(bsr_lanes, no_params, waver);
PLANT_PREPARED(hyb_rows, no_params, prepare_a_copy, be_wrong_in_copies);
/* Is what auto proposes where entries are on diagonals: it times the one and finds the other
 * wrong. */
PLANT(csell_slices, no_params, stop_writing);
static const spmv_param window[] = {{SPMV_sigma, 0, 0, INT32_MAX, 1, false}, SPMV_NO_MORE_PARAMS};
PLANT(sell16_lanes, window, write_nothing);
PLANT(ell_tiles, simd, be_faster_with_simd);
