/* build_csell.cu: builds compressed SELL (csell) on the GPU from compressed rows in its memory. The
 * store equals that of src/formats/csell/format_csell.c byte by byte; comments refer to rules 1 to
 * 8 there.
 *
 * Source     src/formats/csell/format_csell.c.
 * Reads      row_ptr, col_idx and values of the store of compressed rows.
 * Work       A first kernel collects the bit patterns of the values, unless there are more than
 *            256. Then one warp per slice, with one lane per row or nonzero, chooses the encodings
 *            of its slice; a scan over slices computes offsets; and one warp per slice, or up to 8
 *            if there are few slices, repeats the steps and writes.
 */
#include "cuda/build.cuh"
#include "cuda/values/value_set.cuh"
#include "csell_places.cuh"
#include "csell_rows.cuh"
#include "formats/csr/csr.h"

enum {
    THREADS = 256,
    STEP_COST = 32,
    ENTRY_COST = 1,
    LEAST_CUT = 64,
    CUT_MEANS = 4,
    MOST_PARTS = 8, /* warps per slice, if there are few slices */
    WARPS_PER_SM = 32,
    MANY_STEPS = 12 /* read by one lane per step */
};

enum { STEPS, COLUMN_BYTES, VALUE_BYTES, LONG_ROWS, LONG_NNZ }; /* indices into `sizes` */

/* ---- choice ---------------------------------------------------------------------------------- */

/* Returns whether all lanes of a step have the same value. */
static __device__ __forceinline__ bool agrees(const rows &A, const lane_row &r,
                                              const csell_step &step, int at) {
    bool on = step.mask >> (threadIdx.x % WARP) & 1;
    unsigned long long bits = on ? bits_of(A.value[r.begin + at]) : 0;
    unsigned long long first = __shfl_sync(ALL_LANES, bits, __ffs((int)step.mask) - 1);
    return __all_sync(ALL_LANES, !on || bits == first);
}

typedef struct diagonals { /* the diagonals of a slice found so far */
    walk w;
    int64_t count;
    bool agree; /* all values are equal on each of them */
} diagonals;

/* Counts diagonals, and stops when there are more than `most`. */
static __device__ void count_diagonals(const rows &A, int64_t most, bool codes, diagonals *d) {
    csell_step step;
    idx greatest;
    int at;
    while (d->count <= most && next_step(A, &d->w, &step, &at, &greatest)) {
        d->count++;
        if (codes && d->agree) d->agree = agrees(A, d->w.row, step, at);
    }
}

/* Returns the greatest distance of a run's column from its step's base. */
static __device__ idx widest_run(const rows &A, const lane_row &r, int run, int nsteps) {
    walk w = begin_walk(A, r, run);
    csell_step step;
    idx greatest, widest = 0;
    int at;
    if (nsteps > MANY_STEPS) return widest_step(A, r, run, nsteps);
    while (widest <= UINT16_MAX && next_step(A, &w, &step, &at, &greatest))
        widest = max(widest, greatest - step.base);
    return widest;
}

/* Chooses the encoding of columns: rules 2 to 4. If diagonals cost at most as much as the cheapest
 * other columns, these are not examined. *agree: all values are equal on each diagonal. */
static __device__ void choose_columns(const rows &A, const lane_row &r, int nnz, bool codes,
                                      unsigned *seen, csell_slice *out, bool *agree) {
    int run = run_of(A, r, nnz), code = CSELL_COLUMN_8;
    int nsteps = warp_greatest(r.length) / run;
    int64_t steps_cost = (int64_t)STEP_COST * nsteps + ENTRY_COST * (int64_t)nnz;
    int64_t column_cost = 2 * (int64_t)(nnz / run), most = (steps_cost + column_cost) / STEP_COST;
    const int64_t most_ever =
        (steps_cost + csell_column_size(CSELL_COLUMN_32) * column_cost) / STEP_COST;
    const bool never = most_ever < OFFSET_BITS / 2 && has_more_diagonals(A, r, most_ever, seen);
    diagonals d = {begin_walk(A, r, 0), 0, true};
    if (!never) count_diagonals(A, most, codes, &d);
    if (never || d.count > most) {
        idx widest = widest_run(A, r, run, nsteps);
        code = widest <= UINT8_MAX    ? CSELL_COLUMN_8
               : widest <= UINT16_MAX ? CSELL_COLUMN_16
                                      : CSELL_COLUMN_32;
        most = (steps_cost + csell_column_size(code) * column_cost) / STEP_COST;
        if (!never) count_diagonals(A, most, codes, &d);
    }
    const bool on_diagonals = !never && d.count <= most;
    out->run = (uint8_t)(on_diagonals ? 1 : run);
    out->column_code = (uint8_t)(on_diagonals ? CSELL_DIAGONAL : code);
    out->nsteps = (int)(on_diagonals ? d.count : nsteps);
    *agree = on_diagonals && d.agree;
}

static __device__ bool runs_agree(const rows &A, const lane_row &r, int run) {
    csell_step step;
    idx greatest;
    int at;
    walk w = begin_walk(A, r, run);
    while (next_step(A, &w, &step, &at, &greatest))
        for (int e = 0; e < run; e++)
            if (!agrees(A, r, step, at + e)) return false;
    return true;
}

static __device__ bool fits_float(const rows &A, const lane_row &r) {
    for (int k = 0; __any_sync(ALL_LANES, k < r.length); k++) {
        double value = k < r.length ? A.value[r.begin + k] : 0;
        if (__any_sync(ALL_LANES, !is_float(value))) return false;
    }
    return true;
}

/* Chooses the encoding of values: rule 6. */
static __device__ int64_t choose_values(const rows &A, const lane_row &r, int64_t nnz,
                                        bool has_codebook, bool agree, csell_slice *out) {
    int64_t bytes = nnz * (int64_t)sizeof(real);
    int64_t step_bytes = (int64_t)out->nsteps * out->run * (int64_t)sizeof(real);
    if (has_codebook) {
        out->value_code = VALUE_CODEBOOK;
        bytes = nnz;
    } else if (sizeof(real) > sizeof(float) && fits_float(A, r)) {
        out->value_code = VALUE_F32;
        bytes = nnz * (int64_t)sizeof(float);
    }
    if (out->column_code != CSELL_DIAGONAL)
        agree = step_bytes <= bytes && runs_agree(A, r, out->run);
    if (step_bytes > bytes || !agree) return bytes;
    out->value_code = CSELL_VALUE_STEP;
    return step_bytes;
}

static __device__ __forceinline__ int64_t aligned(int64_t bytes) {
    return (bytes + CSELL_ALIGN - 1) / CSELL_ALIGN * CSELL_ALIGN;
}

typedef struct counted { /* results that the host needs to allocate the store */
    sizes all;
    int64_t coded;    /* 1 if a slice has coded values; else 0, the initial value */
    int64_t distinct; /* number of values in the codebook; 0, the initial value: no codebook */
} counted;

static __global__ void choose_slices(rows A, int64_t nslices, bool codes, const value_set *set,
                                     csell_slice *slice, sizes *out, volatile counted *all) {
    __shared__ unsigned seen[THREADS / WARP][OFFSET_WORDS];
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= nslices) return; /* the whole warp returns */
    lane_row r = row_of(A, s);
    int nnz = warp_total(r.length);
    unsigned long_rows = __ballot_sync(ALL_LANES, r.all > A.cut);
    int64_t long_nnz = r.all > A.cut ? r.all : 0;
    for (int step = WARP / 2; step > 0; step /= 2)
        long_nnz += __shfl_xor_sync(ALL_LANES, long_nnz, step);
    csell_slice mine = {0, 0, 0, 0, 0, VALUE_RAW, 0, 0};
    bool agree;
    choose_columns(A, r, nnz, codes, seen[threadIdx.x / WARP], &mine, &agree);
    int64_t bytes = (int64_t)nnz * (int64_t)sizeof(real);
    if (codes) bytes = choose_values(A, r, nnz, set->count > 0, agree, &mine);
    if (threadIdx.x % WARP != 0) return;
    if (mine.nsteps && mine.value_code != VALUE_RAW && !all->coded)
        all->coded = 1; /* warps of other slices may write 1 too */
    if (s == 0 && codes) all->distinct = set->count;
    slice[s] = mine;
    out[s] = {{mine.nsteps, aligned(nnz / mine.run * csell_column_size(mine.column_code)),
               aligned(bytes), __popc(long_rows), long_nnz}};
}

/* ---- fill ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ void put_column(uint8_t *to, int code, int at,
                                                  uint32_t distance) {
    if (code == CSELL_COLUMN_8)
        to[at] = (uint8_t)distance;
    else if (code == CSELL_COLUMN_16)
        ((uint16_t *)to)[at] = (uint16_t)distance;
    else if (code == CSELL_COLUMN_32)
        ((uint32_t *)to)[at] = distance;
}

/* Writes part `part` of `parts` equal shares of a slice's steps. Steps on diagonals depend on
 * earlier ones and are all in the first part. columns, c: destination of the slice's columns and
 * values. */
static __device__ void fill_steps(const rows &A, const lane_row &r, csell_slice *s,
                                  csell_step *step_out, uint8_t *columns, const coded &c, int part,
                                  int parts) {
    int lane = threadIdx.x % WARP, run = s->column_code == CSELL_DIAGONAL ? 0 : s->run, at;
    int begin = (int)((int64_t)s->nsteps * part / parts);
    int end = (int)((int64_t)s->nsteps * (part + 1) / parts);
    if (run == 0) begin = part ? s->nsteps : 0, end = s->nsteps;
    int runs = run ? warp_total(min(r.length / run, begin)) : 0;
    uint32_t common = begin == 0 ? ALL_LANES : 0;
    const bool each = s->value_code != CSELL_VALUE_STEP; /* else one value per step */
    idx greatest;
    csell_step step;
    walk w = begin_walk(A, r, run);
    w.k = begin * run;
    for (int n = begin; n < end; n++) {
        real early =
            each && w.k < r.length ? A.value[r.begin + w.k] : 0; /* loaded while columns are read */
        next_step(A, &w, &step, &at, &greatest);
        int many = __popc(step.mask), rank = __popc(step.mask & ((1u << lane) - 1));
        bool is_first = lane == __ffs((int)step.mask) - 1;
        common &= step.mask;
        if (lane == 0) step_out[n] = step;
        if (step.mask >> lane & 1) {
            put_column(columns, s->column_code, runs + rank,
                       (uint32_t)(A.col[r.begin + at] - step.base));
            for (int e = 0; e < s->run && (each || is_first); e++) {
                real value = each && e == 0 ? early : A.value[r.begin + at + e];
                put_coded(c, each ? runs * s->run + e * many + rank : n * s->run + e, value);
            }
        }
        runs += many;
    }
    if (run) common = warp_least(r.length) == warp_greatest(r.length) ? ALL_LANES : 0;
    if (s->nsteps && common == ALL_LANES) s->flags = CSELL_FULL;
}

static __device__ __forceinline__ void zero(uint8_t *from, uint8_t *end) {
    for (from += threadIdx.x % WARP; from < end; from += WARP) *from = 0;
}

static __device__ __forceinline__ void place_long(const rows &A, const lane_row &r, int64_t n,
                                                  int64_t at, csell B) {
    int lane = threadIdx.x % WARP;
    unsigned is_long = __ballot_sync(ALL_LANES, r.all > A.cut);
    for (; is_long; is_long &= is_long - 1, n++) {
        int l = __ffs((int)is_long) - 1;
        int64_t length = __shfl_sync(ALL_LANES, r.all, l);
        if (lane == l) B.long_row[n] = r.i, B.long_ptr[n] = (ofs)at;
        at += length;
    }
}

static __global__ void fill_slices(rows A, csell B, const sizes *place, const sizes *totals,
                                   const value_set *set, int parts) {
    __shared__ real codebook[VALUE_CODEBOOK_SIZE];
    for (int k = threadIdx.x; k < VALUE_CODEBOOK_SIZE; k += blockDim.x) codebook[k] = B.codebook[k];
    __syncthreads();
    int64_t warp = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP, s = warp / parts;
    int part = (int)(warp % parts);
    if (s >= B.nslices) return; /* the whole warp returns */
    const sizes begin = place_of(place, totals, s);
    lane_row r = row_of(A, s);
    csell_slice slice = B.slice[s];
    int nnz = warp_total(r.length);
    slice.step = begin.of[STEPS];
    slice.column = begin.of[COLUMN_BYTES];
    slice.value = begin.of[VALUE_BYTES];
    uint8_t *columns_of = B.columns + slice.column;
    const bool each = slice.value_code != CSELL_VALUE_STEP;
    const coded c = {B.values + slice.value, codebook, each ? slice.value_code : VALUE_RAW,
                     set->count};
    fill_steps(A, r, &slice, B.step + slice.step, columns_of, c, part, parts);
    if (part) return;
    int64_t columns = (int64_t)nnz / slice.run * csell_column_size(slice.column_code);
    int64_t values = slice.value_code == CSELL_VALUE_STEP
                         ? (int64_t)slice.nsteps * slice.run * (int64_t)sizeof(real)
                         : (int64_t)nnz * csell_value_size(slice.value_code);
    int64_t spare = s == B.nslices - 1 ? CSELL_SPARE : 0;
    zero(columns_of + columns, columns_of + aligned(columns) + spare);
    zero(c.to + values, c.to + aligned(values) + spare);
    place_long(A, r, begin.of[LONG_ROWS], begin.of[LONG_NNZ], B);
    if (threadIdx.x % WARP == 0) B.slice[s] = slice;
}

/* Writes the long rows. PATTERN: columns too. */
template <bool PATTERN> static __global__ void fill_long(rows A, csell B) {
    int64_t k = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (k == 0) B.long_ptr[B.long_rows] = (ofs)B.long_nnz;
    if (k >= B.long_nnz) return;
    idx low = 0, high = (idx)B.long_rows; /* row of the entry */
    while (high - low > 1) {
        idx middle = low + (high - low) / 2;
        if (B.long_ptr[middle] <= (ofs)k)
            low = middle;
        else
            high = middle;
    }
    int64_t from = A.row_ptr[B.long_row[low]] + k - B.long_ptr[low];
    if (PATTERN) B.long_col[k] = A.col[from];
    B.long_values[k] = A.value[from];
}

/* ---- the format ------------------------------------------------------------------------------ */

typedef struct job { /* temporary memory, freed at the end */
    spmv_device *device;
    rows A;
    value_set *set;
    sizes *place, *totals; /* [nblocks of the scan], followed by the counts */
    int64_t nblocks;
    bool codes;
} job;

static unsigned warps_blocks(int64_t nslices) {
    return (unsigned)blocks_for(nslices, THREADS / WARP);
}

static spmv_status choose(job *j, cudaStream_t stream, csell *head, csell *copy) {
    spmv_device *d = j->device;
    counted *count = (counted *)(j->totals + j->nblocks), out;
    empty_set<<<1, THREADS, 0, stream>>>(j->set);
    CU(d->ctx, cudaMemsetAsync(count, 0, sizeof *count, stream));
    if (j->codes)
        TRY(collect_codebook(d, j->A, j->set, copy->codebook));
    else
        CU(d->ctx, cudaMemsetAsync(copy->codebook, 0, VALUE_CODEBOOK_SIZE * sizeof(real), stream));
    if (copy->nslices)
        choose_slices<<<warps_blocks(copy->nslices), THREADS, 0, stream>>>(
            j->A, copy->nslices, j->codes, j->set, copy->slice, j->place, count);
    scan(j->place, copy->nslices, j->totals, stream);
    TRY(launched(d));
    TRY(d->backend->get(d, &out, count, sizeof out));
    const sizes all = out.all;
    if (out.distinct) head->s.values = copy->s.values = code_word(VALUE_CODEBOOK);
    head->codes = copy->codes = out.coded != 0;
    head->nsteps = copy->nsteps = all.of[STEPS];
    head->column_bytes = copy->column_bytes = all.of[COLUMN_BYTES];
    head->value_bytes = copy->value_bytes = all.of[VALUE_BYTES];
    head->long_rows = copy->long_rows = all.of[LONG_ROWS];
    head->long_nnz = copy->long_nnz = all.of[LONG_NNZ];
    return SPMV_OK;
}

static spmv_status fill(job *j, cudaStream_t stream, csell *head, csell *copy) {
    spmv_device *d = j->device;
    TRY(BUILD_ARRAY(d, head, copy, step, copy->nsteps));
    TRY(BUILD_ARRAY(d, head, copy, columns, copy->column_bytes + CSELL_SPARE));
    TRY(BUILD_ARRAY(d, head, copy, values, copy->value_bytes + CSELL_SPARE));
    TRY(BUILD_ARRAY(d, head, copy, long_row, copy->long_rows));
    TRY(BUILD_ARRAY(d, head, copy, long_ptr, copy->long_rows + 1));
    TRY(BUILD_ARRAY(d, head, copy, long_col, copy->long_nnz));
    TRY(BUILD_ARRAY(d, head, copy, long_values, copy->long_nnz));
    if (copy->nslices) {
        int sms = 0, parts = 1;
        CU(d->ctx, cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, d->number));
        while (parts < MOST_PARTS && parts * copy->nslices < (int64_t)sms * WARPS_PER_SM)
            parts *= 2;
        fill_slices<<<warps_blocks(parts * copy->nslices), THREADS, 0, stream>>>(
            j->A, *copy, j->place, j->totals, j->set, parts);
    } else {
        CU(d->ctx, cudaMemsetAsync(copy->columns, 0, CSELL_SPARE, stream));
        CU(d->ctx, cudaMemsetAsync(copy->values, 0, CSELL_SPARE, stream));
    }
    fill_long<true>
        <<<(unsigned)blocks_for(copy->long_nnz + 1, THREADS), THREADS, 0, stream>>>(j->A, *copy);
    return launched(d);
}

static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    size_t slices = (size_t)blocks_for(A->rows, CSELL_ROWS);
    (void)c;
    return sizeof(value_set) + (slices + slices / SCAN_THREADS + 1) * sizeof(sizes) +
           sizeof(counted);
}

/* Builds the store's header on the host without arrays, and the complete store on the device. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *from,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    const csr *rows_there = (const csr *)from;
    void *room = NULL;
    int64_t mean = A->rows ? (A->nnz + A->rows - 1) / A->rows : 0;
    int64_t least = CUT_MEANS * mean > LEAST_CUT ? CUT_MEANS * mean : LEAST_CUT;
    job j = {d, {A->rows, A->nnz, c->value[SPMV_cut] ? c->value[SPMV_cut] : least}};
    j.A.row_ptr = rows_there->row_ptr, j.A.col = rows_there->col_idx,
    j.A.value = rows_there->values;
    j.codes = c->value[SPMV_codes] != 0;
    *upload_s = 0;
    TRY(spmv_store_new(d->ctx, "csell", sizeof(csell), A, head_out));
    TRY(spmv_store_new(d->ctx, "csell", sizeof(csell), A, copy_out));
    csell *head = (csell *)*head_out, *copy = (csell *)*copy_out;
    head->s.slots = copy->s.slots = A->nnz;
    head->cut = copy->cut = j.A.cut;
    head->nslices = copy->nslices = blocks_for(A->rows, CSELL_ROWS);
    j.nblocks = blocks_for(copy->nslices, SCAN_THREADS);
    TRY(BUILD_ARRAY(d, head, copy, slice, copy->nslices));
    TRY(BUILD_ARRAY(d, head, copy, codebook, VALUE_CODEBOOK_SIZE));
    TRY(d->backend->alloc(d, working(A, c), &room));
    j.set = (value_set *)room;
    j.place = (sizes *)(j.set + 1), j.totals = j.place + copy->nslices;
    spmv_status status = choose(&j, stream, head, copy);
    if (status == SPMV_OK) status = fill(&j, stream, head, copy);
    d->backend->release(d, room);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Writes new values by one warp per slice, one lane per row: steps select the rows whose next
 * entries are written. */
static __global__ void refill_slices(rows A, csell B) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= B.nslices) return; /* the whole warp returns */
    const csell_slice slice = B.slice[s];
    const csell_step *step = B.step + slice.step;
    const real *from = A.value + row_of(A, s).begin;
    real *to = (real *)(B.values + slice.value);
    for (int n = 0; n < slice.nsteps; n++) put_step(step[n].mask, slice.run, &from, &to);
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    cudaStream_t stream = ((const cuda_state *)d->state)->stream;
    const csell *B = (const csell *)copy;
    rows A = {B->s.rows, B->s.nnz, B->cut, (const ofs *)row_ptr, NULL, (const real *)values};
    unsigned blocks = (unsigned)blocks_for(B->long_nnz + 1, THREADS);
    if (B->nslices) refill_slices<<<warps_blocks(B->nslices), THREADS, 0, stream>>>(A, *B);
    if (B->long_rows) fill_long<false><<<blocks, THREADS, 0, stream>>>(A, *B);
    return launched(d);
}

EXPORT_NARROW_BUILDER(csell) = {
    .name = "csell",
    .working = working,
    .build = build_on,
    .refill = refill_on,
};
