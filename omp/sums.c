/* sums.c: dot products of vectors, whose bits depend neither on the number of threads nor on the
 * number of vectors: blocks of rows, given by the length, are summed in lanes, then pairwise. */
#include "backend.h"
#include "spmv_kernel.h"

enum {
    LANES = 8,
    STRIP = 64, /* rows summed for one vector before the next, if vectors are in rows */
    BLOCK = 2048,
    MOST_BLOCKS = 512,            /* least rows of a block; most blocks */
    AT_ONCE = SPMV_PANEL_VECTORS, /* vectors summed together */
    ROOM = 2 * MOST_BLOCKS        /* sums of blocks on the caller's stack, which may be small */
};

typedef struct lanes { /* sums of one vector in a block */
    double wz[LANES], zz[LANES];
} lanes;

#define ADD(type) \
    static inline __attribute__((always_inline)) void add_by_##type( \
        int64_t n, const type *w, int64_t w_row, const type *z, int64_t z_row, lanes *out) { \
        lanes sum = *out; \
        int64_t i = 0; \
        for (; i + LANES <= n; i += LANES) \
            for (int l = 0; l < LANES; l++) { \
                const double a = (double)w[(i + l) * w_row], b = (double)z[(i + l) * z_row]; \
                sum.wz[l] += a * b; \
                sum.zz[l] += b * b; \
            } \
        for (int l = 0; i + l < n; l++) { \
            const double a = (double)w[(i + l) * w_row], b = (double)z[(i + l) * z_row]; \
            sum.wz[l] += a * b; \
            sum.zz[l] += b * b; \
        } \
        *out = sum; \
    } \
    /* Contiguous elements let the compiler use vector registers. */ \
    static void add_##type(const spmv_sums *s, int64_t begin, int64_t end, int64_t j, \
                           lanes *out) { \
        const type *w = (const type *)s->w + begin * s->w_row + j * s->w_vector; \
        const type *z = (const type *)s->z + begin * s->z_row + j * s->z_vector; \
        if (s->w_row == 1 && s->z_row == 1) \
            add_by_##type(end - begin, w, 1, z, 1, out); \
        else \
            add_by_##type(end - begin, w, s->w_row, z, s->z_row, out); \
    }
ADD(float)
ADD(double)

/* Returns the sum of n numbers, added pairwise. Groups of 2^e consecutive numbers may be replaced
 * by their sums before, with equal bits. */
static double join(double *part, int64_t n) {
    for (int64_t step = 1; step < n; step *= 2)
        for (int64_t i = 0; i + step < n; i += 2 * step) part[i] += part[i + step];
    return n > 0 ? part[0] : 0;
}

/* Sums vectors j0, ..., j0 + m - 1 in a block of rows; the sums have stride `apart`. */
static void add_block(const spmv_sums *s, int64_t begin, int64_t end, int64_t j0, int64_t m,
                      int64_t apart, double *wz, double *zz) {
    const bool in_rows = s->z_row != 1 || s->w_row != 1;
    const int64_t strip = in_rows ? STRIP : end - begin;
    lanes sum[AT_ONCE] = {{{0}, {0}}};
    for (int64_t i = begin; i < end; i += strip)
        for (int64_t j = 0; j < m; j++) {
            const int64_t stop = end - i < strip ? end : i + strip;
            if (s->width == sizeof(float))
                add_float(s, i, stop, j0 + j, &sum[j]);
            else
                add_double(s, i, stop, j0 + j, &sum[j]);
        }
    for (int64_t j = 0; j < m; j++) {
        wz[j * apart] = join(sum[j].wz, LANES);
        zz[j * apart] = join(sum[j].zz, LANES);
    }
}

static void put(const spmv_sums *s, void *to, int64_t j, double sum) {
    if (!to) return;
    if (s->width == sizeof(float))
        ((float *)to)[j] = (float)sum;
    else
        ((double *)to)[j] = sum;
}

/* Computes the dot products of vectors j0, ..., j0 + m - 1. The buffers hold the sums of `most`
 * blocks, a power of 2, which are added before the next blocks are summed. */
static void sum_vectors(const spmv_sums *s, int64_t j0, int64_t m, int team) {
    enum { FEWEST = ROOM / AT_ONCE, MOST_JOINED = MOST_BLOCKS / FEWEST };
    double wz[ROOM], zz[ROOM], joined_wz[AT_ONCE][MOST_JOINED], joined_zz[AT_ONCE][MOST_JOINED];
    const int64_t whole = (s->n + BLOCK - 1) / BLOCK;
    const int blocks = whole < MOST_BLOCKS ? (int)whole : MOST_BLOCKS;
    const int most = m <= 2 ? ROOM / 2 : m <= 4 ? ROOM / 4 : FEWEST;
    int64_t joined = 0;
    for (int first = 0; first < blocks; first += most, joined++) {
        const int end = blocks - first < most ? blocks : first + most;
#pragma omp parallel for schedule(static) num_threads(team)
        for (int b = first; b < end; b++)
            add_block(s, spmv_split(s->n, blocks, b), spmv_split(s->n, blocks, b + 1), j0, m, most,
                      &wz[b - first], &zz[b - first]);
        for (int64_t j = 0; j < m; j++) {
            joined_wz[j][joined] = join(wz + j * most, end - first);
            joined_zz[j][joined] = join(zz + j * most, end - first);
        }
    }
    for (int64_t j = 0; j < m; j++) {
        put(s, s->wz, j0 + j, join(joined_wz[j], joined));
        put(s, s->zz, j0 + j, join(joined_zz[j], joined));
    }
}

spmv_status spmv_sum_host(spmv_device *d, void *stream, const spmv_sums *wanted) {
    enum { FEW = 1 << 13 }; /* elements that one thread sums before a team is awake */
    spmv_sums s = *wanted;
    (void)stream;
    if (!s.wz) s.w = s.z, s.w_row = s.z_row, s.w_vector = s.z_vector;
    for (int64_t j0 = 0; j0 < s.k; j0 += AT_ONCE) {
        const int64_t m = s.k - j0 < AT_ONCE ? s.k - j0 : AT_ONCE;
        sum_vectors(&s, j0, m, s.n * m > FEW ? d->threads : 1);
    }
    return SPMV_OK;
}
