/* generate.h: between generate.c, which reads a spec and drives, and the files that hold one class
 * of matrix each.
 *
 * A class turns its arguments into a recipe. Everything random in a recipe is a hash of (key, row,
 * k), never the next number of a sequence: so rows can be made in any order by any thread, and come
 * out the same. Whatever decides where an entry stands is computed in integers, or in doubles that
 * are only multiplied: libm's last bit differs between machines, and a compiler may fuse a product
 * with a sum. */
#ifndef SPMV_GENERATE_H
#define SPMV_GENERATE_H

#include "host/context.h"
#include "matrix/csr.h"

/* spec: without the "gen:"; values: NULL or as in spmv_load_opts. The entries are sorted, distinct
 * and the same bits for any number of threads. */
spmv_status spmv_generate(spmv_ctx *ctx, const char *spec, uint64_t seed, const char *values,
                          int threads, spmv_coo *out);
spmv_status spmv_generate_peek(spmv_ctx *ctx, const char *spec, spmv_stats *out);

enum { SPMV_MOST_ARGS = 4 };

typedef struct spmv_args { /* of a spec */
    spmv_ctx *ctx;
    const char *spec;
    const spmv_generator *generator;
    int count;
    const char *text[SPMV_MOST_ARGS]; /* [count], length characters each */
    int length[SPMV_MOST_ARGS];
} spmv_args;

typedef struct spmv_recipe spmv_recipe;
struct spmv_recipe {
    int64_t rows, cols;
    int64_t first, end;      /* rows that are made; set before prepare is called */
    double expected;         /* entries, about: what the memory check goes by */
    double extra_bytes;      /* of table while it is made */
    bool constant;           /* own values: `diagonal` on the main diagonal, `others` elsewhere; */
    double diagonal, others; /* else random */
    uint64_t key;            /* of the seed; set before the class is asked */
    int threads;
    /* Makes table for these rows and sets scratch, after the memory check. NULL: nothing to do. */
    spmv_status (*prepare)(spmv_ctx *ctx, spmv_recipe *r);
    int64_t scratch; /* int32_t's per thread that fill_row needs */
    int64_t n[6];    /* the class's own numbers */
    void *table;     /* the class's own, spmv_host_alloc; freed by generate.c */
    /* Entries of row i. NULL: fill_row is asked, with col NULL: it only counts then. */
    int64_t (*row_length)(const spmv_recipe *r, int64_t i);
    /* Writes the columns of row i, ascending and distinct, and returns how many; length is
     * row_length's answer. */
    int64_t (*fill_row)(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                        int32_t *scratch);
};

/* ---- generate_args.c: arguments, for the classes -------------------------------------------- */

/* Fails with the generator's specification before the text and its usage after it. */
spmv_status spmv_args_refuse(const spmv_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
spmv_status spmv_args_at_most(const spmv_args *args, int count);
/* Reads argument k, which is 1..most; *out is default_value when it is not given. */
spmv_status spmv_arg_size(const spmv_args *args, int k, int64_t default_value, int64_t most,
                          int64_t *out);
/* Reads argument k, a decimal number of least..most, all in millionths. */
spmv_status spmv_arg_decimal(const spmv_args *args, int k, int64_t default_value, int64_t least,
                             int64_t most, int64_t *out);

#define GENERATOR(name, args, summary) \
    spmv_status spmv_recipe_##name(const spmv_args *args_, spmv_recipe *r);
#include "generators.def"
#undef GENERATOR

/* ---- generate_random.c: tools --------------------------------------------------------------- */

/* Returns the k-th number of the splitmix64 sequence that starts at key (Steele, Lea and Flood,
 * OOPSLA'14), without the numbers before it. */
static inline uint64_t spmv_hash(uint64_t key, uint64_t k) {
    uint64_t z = key + (k + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns a uniform number of 0..n-1 from 64 random bits: the high half of the product (Lemire). */
static inline int64_t spmv_below(uint64_t bits, int64_t n) {
    return (int64_t)(((unsigned __int128)bits * (uint64_t)n) >> 64);
}

typedef struct spmv_shuffle { /* a permutation of 0..n-1 computed, not stored */
    int64_t n;
    uint32_t a, b; /* a * b >= n */
} spmv_shuffle;
spmv_shuffle spmv_shuffle_of(int64_t n);
int64_t spmv_shuffle_at(const spmv_shuffle *s, uint64_t key, int64_t i);
int64_t spmv_shuffle_back(const spmv_shuffle *s, uint64_t key, int64_t i); /* the inverse */

/* Ranks 1, 2, ... in segments: each below 64 alone, then 32 segments an octave. */
enum {
    SPMV_FIRST_OCTAVE = 6,
    SPMV_PER_OCTAVE = 32,
    SPMV_SEGMENTS = 64 + SPMV_PER_OCTAVE * (32 - SPMV_FIRST_OCTAVE)
};
int spmv_segment_of(int64_t rank);
int64_t spmv_segment_start(int segment); /* its first rank */

/* `count` distinct columns of first..first+width-1, ascending, count <= width. */
void spmv_sample_columns(uint64_t key, int64_t first, int64_t width, int64_t count, int32_t *col);
/* Sorts, drops repeats, returns how many remain. Columns are < limit; scratch[n]. */
int64_t spmv_sort_columns(int32_t *col, int64_t n, int64_t limit, int32_t *scratch);
int64_t spmv_isqrt(int64_t n);

#endif
