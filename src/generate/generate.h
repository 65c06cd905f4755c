/* generate.h: interface between generate.c, which parses specifications and fills matrices, and the
 * files with one class of matrices each.
 *
 * A class converts its arguments to a recipe. Each random number of a recipe is a hash of (key,
 * row, k), so that rows can be generated in any order by any thread with equal results. Positions
 * of entries are computed with integers, or with doubles that are only multiplied: the last bit of
 * libm's functions differs between machines, and compilers may fuse a multiplication with an
 * addition. */
#ifndef SPMV_GENERATE_H
#define SPMV_GENERATE_H

#include "host/context.h"
#include "matrix/csr.h"

/* Generates a matrix. spec: text after "gen:"; values: NULL or as in spmv_load_opts. Entries are
 * sorted and distinct, with equal bits for any number of threads. */
spmv_status spmv_generate(spmv_ctx *ctx, const char *spec, uint64_t seed, const char *values,
                          int threads, spmv_coo *out);
spmv_status spmv_generate_peek(spmv_ctx *ctx, const char *spec, spmv_stats *out);

enum { SPMV_MOST_ARGS = 4 };

typedef struct spmv_args { /* arguments of a specification */
    spmv_ctx *ctx;
    const char *spec;
    const spmv_generator *generator;
    int count;
    const char *text[SPMV_MOST_ARGS]; /* [count] texts of length[k] characters, not terminated */
    int length[SPMV_MOST_ARGS];
} spmv_args;

typedef struct spmv_recipe spmv_recipe;
struct spmv_recipe {
    int64_t rows, cols;
    int64_t first, end;      /* range of rows to generate; set before prepare is called */
    double expected;         /* approximate number of entries, for the memory check */
    double extra_bytes;      /* bytes of `table` while prepare runs */
    bool constant;           /* true: values are `diagonal` on the main diagonal, */
    double diagonal, others; /* and `others` elsewhere; false: random values */
    uint64_t key;            /* derived from the seed; set before the class reads its arguments */
    int threads;
    /* Creates `table` for the range of rows and sets `scratch`; called after the memory check.
     * NULL: nothing to do. */
    spmv_status (*prepare)(spmv_ctx *ctx, spmv_recipe *r);
    int64_t scratch; /* number of int32_t per thread that fill_row needs */
    int64_t n[6];    /* parameters of the class */
    void *table;     /* data of the class from spmv_host_alloc; generate.c frees it */
    /* Returns the number of entries of row i. NULL: fill_row counts, called with col = NULL. */
    int64_t (*row_length)(const spmv_recipe *r, int64_t i);
    /* Writes the columns of row i, ascending and distinct; returns their number. length: result of
     * row_length. */
    int64_t (*fill_row)(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                        int32_t *scratch);
};

/* ---- generate_args.c: arguments, for the classes -------------------------------------------- */

/* Fails with a message: specification, text, usage of the generator. */
spmv_status spmv_args_refuse(const spmv_args *args, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
spmv_status spmv_args_at_most(const spmv_args *args, int count);
/* Reads argument k, an integer in [1, most]; *out is default_value if it is missing. */
spmv_status spmv_arg_size(const spmv_args *args, int k, int64_t default_value, int64_t most,
                          int64_t *out);
/* Reads argument k, a decimal number in [least, most]; all numbers in millionths. */
spmv_status spmv_arg_decimal(const spmv_args *args, int k, int64_t default_value, int64_t least,
                             int64_t most, int64_t *out);

#define GENERATOR(name, args, summary) \
    spmv_status spmv_recipe_##name(const spmv_args *args_, spmv_recipe *r);
#include "generators.def"
#undef GENERATOR

/* ---- generate_random.c: tools --------------------------------------------------------------- */

/* Returns number k of the splitmix64 sequence that starts at key (Steele, Lea and Flood,
 * OOPSLA'14), without computing the numbers before it. */
static inline uint64_t spmv_hash(uint64_t key, uint64_t k) {
    uint64_t z = key + (k + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns a uniform integer in [0, n) from 64 random bits: the high half of the product
 * (Lemire). */
static inline int64_t spmv_below(uint64_t bits, int64_t n) {
    return (int64_t)(((unsigned __int128)bits * (uint64_t)n) >> 64);
}

typedef struct spmv_shuffle { /* a permutation of 0..n-1, computed on demand */
    int64_t n;
    uint32_t a, b; /* a * b >= n */
} spmv_shuffle;
spmv_shuffle spmv_shuffle_of(int64_t n);
int64_t spmv_shuffle_at(const spmv_shuffle *s, uint64_t key, int64_t i);
int64_t spmv_shuffle_back(const spmv_shuffle *s, uint64_t key, int64_t i); /* the inverse */

/* Segments of ranks 1, 2, ...: one segment per rank below 64, then 32 segments per octave. */
enum {
    SPMV_FIRST_OCTAVE = 6,
    SPMV_PER_OCTAVE = 32,
    SPMV_SEGMENTS = 64 + SPMV_PER_OCTAVE * (32 - SPMV_FIRST_OCTAVE)
};
int spmv_segment_of(int64_t rank);
int64_t spmv_segment_start(int segment); /* first rank of the segment */

/* Draws `count` distinct columns of [first, first + width), ascending; count <= width. */
void spmv_sample_columns(uint64_t key, int64_t first, int64_t width, int64_t count, int32_t *col);
/* Sorts columns, which are less than limit, and removes duplicates; returns the number that remain.
 * scratch [n]. */
int64_t spmv_sort_columns(int32_t *col, int64_t n, int64_t limit, int32_t *scratch);
int64_t spmv_isqrt(int64_t n);

#endif
