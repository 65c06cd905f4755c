/* build_csell_lists.cu: builds csell_lists, csell with lists of steps shared by slices, on the GPU.
 * The store equals that of src/formats/csell_lists/format_csell_lists.c byte by byte; comments
 * refer to the rules there.
 *
 * Source     src/formats/csell_lists/format_csell_lists.c.
 * Reads      a csell store, which is built for the conversion and freed; its array of values is
 *            kept if both formats have the same values.
 * Work       One warp per slice hashes its list of steps and compares the list, step by step, with
 *            that of the slice that owns the hash table's slot. In the end the first slice with a
 *            list owns the slot, regardless of the order of warps. Scans over slices compute the
 *            offsets of lists and slices; and one warp per slice writes.
 */
#include "cuda/build.cuh"
#include "csell_places.cuh"
#include "csell_rows.cuh"
#include "formats/csell_lists/csell_lists.h"
#include "formats/csr/csr.h"

extern "C" const spmv_device_format V(cuda_build_csell);

enum { THREADS = 256, NO_LIST = -1, KINDS = (CSELL_SHORT + 1) << 3 };
enum { VALUE_BYTES, REST, REST_STEPS, REST_COLUMNS, LIST_STEPS }; /* indices into `sizes` */

typedef struct kinds {
    int codes;           /* bit c: a slice has value code c */
    int even, even_code; /* as in csell_lists */
    int kind[KINDS];     /* number of slices on diagonals with few steps, by csell_listed.what */
} kinds;

typedef struct counted { /* results that the host needs to allocate the store */
    sizes all;
    kinds seen;
} counted;

typedef struct job { /* temporary memory in one allocation, `room` */
    spmv_device *device;
    csell *A, *outline;      /* the csell store: copy in device memory, and header */
    csell_lists *head, *out; /* the resulting store: header, and copy */
    void *room;
    int64_t *first; /* [nslices + 1] padded length of the slice's list, if no earlier slice has
                       it; scanned: start of the list */
    sizes *place;   /* [nslices] */
    sizes *totals;  /* [blocks of the scan] */
    counted *count; /* follows totals, so that scan() writes the total to count->all */
    int *owner;     /* [1 << bits] hash table with open addressing: first slice that has the list */
    int *slot;      /* [nslices] slot in owner; later the start of the list. NO_LIST: none */
    int bits;
    bool pads;
} job;

static unsigned warp_blocks(int64_t n) {
    return (unsigned)blocks_for(n, THREADS / WARP);
}

static unsigned thread_blocks(int64_t n) {
    return (unsigned)blocks_for(n, THREADS);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Returns whether a slice may share a list: rules 2 and 3. */
static __device__ __forceinline__ bool can_share(const csell_slice &s, bool pads) {
    return s.column_code == CSELL_DIAGONAL && s.nsteps <= CSELL_LISTED &&
           (pads || s.value_code != VALUE_CODEBOOK);
}

static __device__ __forceinline__ bool can_have_list(const csell_slice &s, bool pads,
                                                     const kinds *of) {
    return can_share(s, pads) && (of->even == 0 || s.value_code == of->even_code);
}

static __device__ __forceinline__ uint32_t what_of(const csell_slice &s) {
    return (uint32_t)s.nsteps << 3 | (uint32_t) !(s.flags & CSELL_FULL) << 2 | s.value_code;
}

static __device__ __forceinline__ int64_t padded_steps(const csell_slice &s) {
    return (s.nsteps + CSELL_LIST_ALIGN - 1) / CSELL_LIST_ALIGN * CSELL_LIST_ALIGN;
}

/* ---- kinds of slices ---------------------------------------------------------------------- */

/* Counts slices of each kind. Adjacent slices are mostly of one kind: a warp adds them at once. */
static __global__ void count_kinds(csell A, bool pads, kinds *out) {
    __shared__ int codes, kind[KINDS];
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (int k = threadIdx.x; k < KINDS; k += blockDim.x) kind[k] = 0;
    if (threadIdx.x == 0) codes = 0;
    __syncthreads();
    if (s < A.nslices) {
        const csell_slice mine = csell_head(A.slice, s);
        uint32_t what = can_share(mine, pads) ? what_of(mine) : KINDS;
        unsigned same = __match_any_sync(__activemask(), what | (uint32_t)mine.value_code << 30);
        if (__ffs((int)same) - 1 == (int)threadIdx.x % WARP) {
            atomicOr(&codes, 1 << mine.value_code);
            if (what < KINDS) atomicAdd(kind + what, __popc(same));
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicOr(&out->codes, codes);
    for (int k = threadIdx.x; k < KINDS; k += blockDim.x)
        if (kind[k]) atomicAdd(out->kind + k, kind[k]);
}

/* Chooses the kind for `even`: rule 3, by one thread. */
static __global__ void choose_even(int64_t nslices, kinds *out) {
    __shared__ int kind[KINDS];
    for (int k = threadIdx.x; k < KINDS; k += blockDim.x) kind[k] = out->kind[k];
    __syncthreads();
    if (threadIdx.x) return;
    int most = 0;
    for (int what = 1 << 3; what < KINDS; what++)
        if (!(what & 4) && kind[what] > kind[most]) most = what;
    const int64_t whole = kind[most], all = whole + kind[most | 4];
    if (2 * whole > nslices && 16 * all > 15 * nslices) out->even = most >> 3;
    out->even_code = most & 3;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ unsigned long long value_bits(const csell &A,
                                                                const csell_slice &s, int k) {
    return bits_of(((const real *)(A.values + s.value))[k]);
}

static __device__ __forceinline__ int2 step_at(const csell &A, const csell_slice &s, int k) {
    return __ldg((const int2 *)(A.step + s.step + k));
}

static __device__ unsigned hash_of(const csell &A, const csell_slice &s) {
    unsigned sum = 0;
    for (int k = threadIdx.x % WARP; k < s.nsteps; k += WARP) {
        int2 step = step_at(A, s, k);
        unsigned h = (unsigned)step.x * 0x9e3779b1u ^ (unsigned)step.y * 0x85ebca6bu;
        if (s.value_code == CSELL_VALUE_STEP) {
            unsigned long long bits = value_bits(A, s, k);
            h ^= (unsigned)(bits ^ bits >> 32) * 0xc2b2ae35u;
        }
        h = (h ^ h >> 15) * (2 * (unsigned)k + 0x27d4eb2fu);
        sum += h ^ h >> 13;
    }
    return ((unsigned)warp_total((int)sum) + (unsigned)s.nsteps) * 0x9e3779b1u;
}

/* Returns whether two slices have equal lists: rule 4. Called by a warp. */
static __device__ bool same_list(const csell &A, const csell_slice &s, const csell_slice &t) {
    const bool valued = s.value_code == CSELL_VALUE_STEP;
    if (s.nsteps != t.nsteps || valued != (t.value_code == CSELL_VALUE_STEP)) return false;
    for (int k = threadIdx.x % WARP; k - (int)threadIdx.x % WARP < s.nsteps; k += WARP) {
        bool same = true;
        if (k < s.nsteps) {
            int2 a = step_at(A, s, k), b = step_at(A, t, k);
            same = a.x == b.x && a.y == b.y;
            if (valued) same = same && value_bits(A, s, k) == value_bits(A, t, k);
        }
        if (!__all_sync(ALL_LANES, same)) return false;
    }
    return true;
}

/* Returns the owner of a slot; if there is none, `slice` becomes the owner. */
static __device__ __forceinline__ int claim(int *owner, unsigned at, int slice) {
    int is = 0;
    if (threadIdx.x % WARP == 0) {
        is = *(volatile int *)(owner + at);
        if (is == NO_LIST) is = atomicCAS(owner + at, NO_LIST, slice);
        if (is == NO_LIST) is = slice;
    }
    return __shfl_sync(ALL_LANES, is, 0);
}

/* Finds the slot of each slice's list, by one warp per slice. Half of the slots stay free, so that
 * a search ends. In the end the least slice with a list owns the slot; mostly it is the first to
 * arrive. */
static __global__ void find_lists(csell A, bool pads, const kinds *of, int bits, int *owner,
                                  int *slot) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= A.nslices) return; /* the whole warp returns */
    const bool is_first = threadIdx.x % WARP == 0;
    const csell_slice mine = csell_head(A.slice, s);
    if (!can_have_list(mine, pads, of)) {
        if (is_first) slot[s] = NO_LIST;
        return;
    }
    unsigned at = hash_of(A, mine) >> (32 - bits), last = (1u << bits) - 1;
    int is = claim(owner, at, (int)s);
    while (is != (int)s && !same_list(A, mine, csell_head(A.slice, is))) {
        at = (at + 1) & last;
        is = claim(owner, at, (int)s);
    }
    if (is_first && is > (int)s) atomicMin(owner + at, (int)s);
    if (is_first) slot[s] = (int)at;
}

/* ---- places ---------------------------------------------------------------------------------- */

/* Writes the padded length of each list for the first slice that has it, else 0. */
static __global__ void measure_lists(csell A, const int *owner, const int *slot, int64_t *first) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s > A.nslices) return;
    const bool has_own = s < A.nslices && slot[s] != NO_LIST && owner[slot[s]] == (int)s;
    first[s] = has_own ? padded_steps(csell_head(A.slice, s)) : 0;
}

/* Computes the sizes of each slice: rules 5 to 7. */
static __global__ void measure_slices(csell A, const int *owner, const int64_t *first, int *slot,
                                      sizes *out) {
    int64_t s = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (s >= A.nslices) return;
    const csell_slice mine = csell_head(A.slice, s);
    const int64_t values = (s + 1 < A.nslices ? A.slice[s + 1].value : A.value_bytes) - mine.value;
    const int64_t columns =
        (s + 1 < A.nslices ? A.slice[s + 1].column : A.column_bytes) - mine.column;
    const int of = slot[s] == NO_LIST ? NO_LIST : owner[slot[s]];
    const int64_t steps = padded_steps(mine);
    const bool has_list = of != NO_LIST && first[of] + steps <= CSELL_LISTED;
    slot[s] = has_list ? (int)first[of] : NO_LIST;
    if (!has_list)
        out[s] = {{values, 1, mine.nsteps, columns, 0}};
    else
        out[s] = {{mine.value_code == CSELL_VALUE_STEP ? 0
                   : mine.value_code == VALUE_CODEBOOK ? (int64_t)mine.nsteps * WARP
                                                       : values,
                   0, 0, 0, of == (int)s ? steps : 0}};
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* Writes lists, by one warp per slice: the owner of the list. */
static __global__ void fill_lists(csell A, const int64_t *first, const int *slot, csell_lists B) {
    const int lane = threadIdx.x % WARP;
    int64_t slice = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (slice >= A.nslices || slot[slice] == NO_LIST) return; /* the whole warp returns */
    const int64_t begin = first[slice];
    const int end = (int)(first[slice + 1] - begin);
    if (end == 0) return;
    const csell_slice s = csell_head(A.slice, slice);
    int before = 0;
    for (int k = lane; k - lane < end; k += WARP) {
        int2 step = {0, 0};
        int total;
        if (k < s.nsteps) step = step_at(A, s, k);
        int place = before + sum_before(__popc((unsigned)step.y), &total);
        before += total;
        if (k >= end) continue;
        *(int4 *)(B.list + begin + k) = {step.x, step.y, place, 0};
        B.base[begin + k] = step.x;
        B.step_value[begin + k] = s.value_code == CSELL_VALUE_STEP && k < s.nsteps
                                      ? ((const real *)(A.values + s.value))[k]
                                      : (real)0;
    }
}

static __device__ void pad_codes(const uint8_t *from, const csell_list_step *list, int nsteps,
                                 uint8_t *to) {
    const int lane = threadIdx.x % WARP;
    for (int k = 0; k < nsteps; k += 4) {
        uint32_t word = 0;
#pragma unroll
        for (int u = 0; u < 4; u++) { /* behind the end masks are 0 */
            int4 step = *(const int4 *)(list + k + u);
            unsigned mask = (unsigned)step.y;
            if (mask >> lane & 1)
                word |= (uint32_t)from[step.z + __popc(mask & ((1u << lane) - 1))] << 8 * u;
        }
        if (k + 4 <= nsteps)
            ((uint32_t *)to)[k / 4 * WARP + lane] = word;
        else
            for (int u = 0; u < nsteps - k; u++)
                to[(k + u) * WARP + lane] = (uint8_t)(word >> 8 * u);
    }
}

/* Copies bytes. Both arrays, and the number of bytes, are multiples of CSELL_ALIGN. */
static __device__ __forceinline__ void copy_bytes(const uint8_t *from, int64_t bytes, uint8_t *to) {
    for (int64_t k = threadIdx.x % WARP; k < bytes / CSELL_ALIGN; k += WARP)
        ((int4 *)to)[k] = __ldcs((const int4 *)from + k);
}

/* Returns the offsets of the slice after s in the csell store: the end of slice s. */
static __device__ __forceinline__ csell_slice end_of(const csell &A, int64_t s) {
    csell_slice end = {A.nsteps, A.column_bytes, A.value_bytes};
    return s + 1 < A.nslices ? csell_head(A.slice, s + 1) : end;
}

static __device__ void fill_rest(const csell &A, int64_t s, const csell_slice &mine,
                                 const sizes &begin, const csell_lists &B) {
    const int lane = threadIdx.x % WARP;
    csell_slice out = mine;
    out.step = begin.of[REST_STEPS], out.column = begin.of[REST_COLUMNS];
    out.value = begin.of[VALUE_BYTES];
    if (lane == 0) B.rest[begin.of[REST]] = out;
    for (int k = lane; k < mine.nsteps; k += WARP)
        *(int2 *)(B.rest_step + out.step + k) = step_at(A, mine, k);
    copy_bytes(A.columns + mine.column, end_of(A, s).column - mine.column, B.columns + out.column);
}

/* Writes the slices, by one warp per slice; values are written unless their array was kept. */
static __global__ void fill_slices(csell A, const int *slot, const sizes *place,
                                   const sizes *totals, csell_lists B) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= A.nslices) return; /* the whole warp returns */
    const csell_slice mine = csell_head(A.slice, s);
    const sizes begin = place_of(place, totals, s);
    const int list = slot[s];
    const bool has_list = list != NO_LIST;
    const uint8_t *from = A.values + mine.value;
    uint8_t *to = B.values + begin.of[VALUE_BYTES];
    if (threadIdx.x % WARP == 0)
        B.slice[s] = {begin.of[VALUE_BYTES], has_list ? list : (int)~begin.of[REST],
                      has_list ? what_of(mine) : 0};
    if (!has_list) fill_rest(A, s, mine, begin, B);
    if (has_list && mine.value_code == VALUE_CODEBOOK)
        pad_codes(from, B.list + list, mine.nsteps, to);
    else if (from != to && !(has_list && mine.value_code == CSELL_VALUE_STEP))
        copy_bytes(from, end_of(A, s).value - mine.value, to);
}

/* ---- the format ------------------------------------------------------------------------------ */

static int slot_bits(int64_t nslices) {
    int bits = 1;
    while ((int64_t)1 << bits < 2 * nslices) bits++;
    return bits;
}

static size_t room_bytes(int64_t nslices) {
    const size_t n = (size_t)nslices, blocks = (size_t)blocks_for(nslices, SCAN_THREADS);
    return (n + 1) * sizeof(int64_t) + (n + blocks) * sizeof(sizes) + sizeof(counted) +
           (((size_t)1 << slot_bits(nslices)) + n) * sizeof(int);
}

static spmv_status take_room(job *j) {
    const int64_t n = j->A->nslices;
    TRY(j->device->backend->alloc(j->device, room_bytes(n), &j->room));
    j->bits = slot_bits(n);
    j->first = (int64_t *)j->room;
    j->place = (sizes *)(j->first + n + 1);
    j->totals = j->place + n;
    j->count = (counted *)(j->totals + blocks_for(n, SCAN_THREADS));
    j->owner = (int *)(j->count + 1);
    j->slot = j->owner + ((size_t)1 << j->bits);
    return SPMV_OK;
}

static spmv_status find(job *j, cudaStream_t stream, counted *out) {
    spmv_device *d = j->device;
    const csell *A = j->A;
    const int64_t n = A->nslices;
    CU(d->ctx, cudaMemsetAsync(j->owner, 0xff, sizeof(int) << j->bits, stream));
    /* including padding, which is copied to the host */
    CU(d->ctx, cudaMemsetAsync(j->count, 0, sizeof *j->count, stream));
    count_kinds<<<thread_blocks(n), THREADS, 0, stream>>>(*A, j->pads, &j->count->seen);
    choose_even<<<1, KINDS, 0, stream>>>(n, &j->count->seen);
    find_lists<<<warp_blocks(n), THREADS, 0, stream>>>(*A, j->pads, &j->count->seen, j->bits,
                                                       j->owner, j->slot);
    measure_lists<<<thread_blocks(n + 1), THREADS, 0, stream>>>(*A, j->owner, j->slot, j->first);
    TRY(launched(d));
    TRY(sum_before(d, n + 1, j->first));
    measure_slices<<<thread_blocks(n), THREADS, 0, stream>>>(*A, j->owner, j->first, j->slot,
                                                             j->place);
    scan(j->place, n, j->totals, stream);
    TRY(launched(d));
    return d->backend->get(d, out, j->count, sizeof *out);
}

static void describe(const job *j, const counted *count, csell_lists *out) {
    out->s.slots = out->s.nnz;
    out->s.values = j->A->s.values;
    out->nslices = j->A->nslices, out->nsteps = j->A->nsteps, out->codes = j->A->codes;
    out->list_steps = count->all.of[LIST_STEPS], out->nrest = count->all.of[REST];
    out->rest_steps = count->all.of[REST_STEPS], out->column_bytes = count->all.of[REST_COLUMNS];
    out->value_bytes = count->all.of[VALUE_BYTES];
    out->value_codes = count->seen.codes;
    out->even = count->seen.even, out->even_code = count->seen.even_code;
}

/* Moves an array of the csell store to the csell_lists store. */
static void move_array(csell *from, size_t at, csell_lists *head, csell_lists *out, size_t to) {
    for (int k = 0; k < from->s.narrays; k++)
        if (from->s.array[k].offset == at) {
            const size_t bytes = from->s.array[k].bytes;
            from->s.array[k].borrowed = true; /* the new store frees the array */
            head->s.array[head->s.narrays++] = {to, bytes, false};
            out->s.array[out->s.narrays++] = {to, bytes, false};
        }
    memcpy((char *)out + to, (const char *)from + at, sizeof(void *));
}

static spmv_status take_arrays(job *j) {
    enum { OTHERWISE = 1 << VALUE_CODEBOOK | 1 << CSELL_VALUE_STEP };
    spmv_device *d = j->device;
    csell_lists *head = j->head, *out = j->out;
    TRY(BUILD_ARRAY(d, head, out, slice, out->nslices));
    TRY(BUILD_ARRAY(d, head, out, list, out->list_steps));
    TRY(BUILD_ARRAY(d, head, out, base, out->list_steps));
    TRY(BUILD_ARRAY(d, head, out, step_value, out->list_steps));
    TRY(BUILD_ARRAY(d, head, out, rest, out->nrest));
    TRY(BUILD_ARRAY(d, head, out, rest_step, out->rest_steps));
    TRY(BUILD_ARRAY(d, head, out, columns, out->column_bytes + CSELL_SPARE));
    if (out->value_codes & OTHERWISE)
        TRY(BUILD_ARRAY(d, head, out, values, out->value_bytes + CSELL_SPARE));
    else
        move_array(j->A, offsetof(csell, values), head, out, offsetof(csell_lists, values));
    move_array(j->A, offsetof(csell, codebook), head, out, offsetof(csell_lists, codebook));
    return SPMV_OK;
}

static spmv_status fill(job *j, cudaStream_t stream) {
    spmv_device *d = j->device;
    const csell_lists *out = j->out;
    const int64_t n = out->nslices;
    CU(d->ctx, cudaMemsetAsync(out->columns + out->column_bytes, 0, CSELL_SPARE, stream));
    CU(d->ctx, cudaMemsetAsync(out->values + out->value_bytes, 0, CSELL_SPARE, stream));
    if (n == 0) return SPMV_OK;
    fill_lists<<<warp_blocks(n), THREADS, 0, stream>>>(*j->A, j->first, j->slot, *out);
    fill_slices<<<warp_blocks(n), THREADS, 0, stream>>>(*j->A, j->slot, j->place, j->totals, *out);
    return launched(d);
}

static spmv_status share_lists(job *j, cudaStream_t stream) {
    enum { SPARE = 1 << 20 };
    counted count = {};
    const csell *A = j->A;
    if (A->long_rows) return spmv_fail(j->device->ctx, SPMV_E_UNSUITABLE, CSELL_LISTS_SAY_LONG(A));
    j->pads = A->nsteps * CSELL_ROWS <= 2 * A->s.nnz + SPARE;
    if (A->nslices) {
        TRY(take_room(j));
        TRY(find(j, stream, &count));
    }
    describe(j, &count, j->head);
    describe(j, &count, j->out);
    TRY(take_arrays(j));
    return fill(j, stream);
}

/* Returns the bytes of temporary memory: an upper bound of the csell store, and the larger of the
 * workspaces for building and for converting it. */
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    const size_t of_csell = V(cuda_build_csell).working(A, c);
    const size_t room = room_bytes(blocks_for(A->rows, CSELL_ROWS));
    return V(csell_format).bound(A, c, A->cols) + (of_csell > room ? of_csell : room);
}

/* Builds the store's header on the host without arrays, and the complete store on the device. */
static spmv_status build_on(spmv_device *d, const spmv_csr_view *A, spmv_store *rows_there,
                            const spmv_choice *c, spmv_store **head_out, spmv_store **copy_out,
                            double *upload_s) {
    spmv_store *outline = NULL, *copy = NULL;
    job j = {d};
    TRY(spmv_store_new(d->ctx, "csell_lists", sizeof(csell_lists), A, head_out));
    TRY(spmv_store_new(d->ctx, "csell_lists", sizeof(csell_lists), A, copy_out));
    spmv_status status = V(cuda_build_csell).build(d, A, rows_there, c, &outline, &copy, upload_s);
    const csr *read = (const csr *)rows_there;
    done_with(d, rows_there, read->row_ptr);
    done_with(d, rows_there, read->col_idx);
    done_with(d, rows_there, read->values);
    j.A = (csell *)copy;
    j.head = (csell_lists *)*head_out, j.out = (csell_lists *)*copy_out;
    if (status == SPMV_OK) status = share_lists(&j, ((const cuda_state *)d->state)->stream);
    d->backend->release(d, j.room);
    spmv_store_free_on(d, copy);
    spmv_store_free(outline);
    return status;
}

/* ---- other values ---------------------------------------------------------------------------- */

/* Writes new values by one warp per slice, one lane per row: steps select the rows whose next
 * entries are written. */
static __global__ void refill_slices(rows A, csell_lists B) {
    int64_t s = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / WARP;
    if (s >= B.nslices) return; /* the whole warp returns */
    const csell_listed slice = B.slice[s];
    const real *from = A.value + row_of(A, s).begin;
    real *to = (real *)(B.values + slice.value);
    if (slice.list >= 0) {
        for (int n = 0; n < (int)(slice.what >> 3); n++)
            put_step(B.list[slice.list + n].mask, 1, &from, &to);
    } else {
        const csell_slice rest = B.rest[~slice.list];
        for (int n = 0; n < rest.nsteps; n++)
            put_step(B.rest_step[rest.step + n].mask, rest.run, &from, &to);
    }
}

static spmv_status refill_on(spmv_device *d, const void *row_ptr, const void *values,
                             spmv_store *copy) {
    const csell_lists *B = (const csell_lists *)copy;
    const rows A = {B->s.rows,           B->s.nnz, B->s.nnz, (const ofs *)row_ptr, NULL,
                    (const real *)values};
    if (B->nslices)
        refill_slices<<<warp_blocks(B->nslices), THREADS, 0,
                        ((const cuda_state *)d->state)->stream>>>(A, *B);
    return launched(d);
}

EXPORT_NARROW_BUILDER(csell_lists) = {
    .name = "csell_lists",
    .working = working,
    .build = build_on,
    .refill = refill_on,
};
