/* spmv_propose.h: proposals of kernels by a backend to "auto". The library computes features of a
 * sample of the matrix (src/tune/features.c, src/formats); the backend proposes kernels for these
 * features (its propose.c); the library builds the best ones and times them against the baseline
 * kernel (src/tune). */
#ifndef SPMV_PROPOSE_H
#define SPMV_PROPOSE_H

#include "spmv.h"
#include "spmv_variant.h"
#include <stdbool.h>

enum {
    SPMV_LONG_ROW = 1024,  /* rows of this many entries do not suit slices */
    SPMV_FEW_VALUES = 256, /* limit for counting distinct values */
    SPMV_COST_TERMS = 2,   /* terms of a fitted cost model */
    SPMV_MOST_PROPOSED = 24
};

/* Features of a matrix, from row_ptr and a sample of slices of 32 rows. Shares, 0 to 1, are of the
 * sampled entries; bytes are means per entry. */
typedef struct spmv_features {
    int64_t rows, cols, nnz, row_max;
    double mean, cv;    /* mean of row lengths; cv: standard deviation / mean */
    double empty_share; /* empty rows / rows */
    double padding_32;  /* padding / entries if slices of 32 rows are padded to their longest */
    int64_t sampled;    /* entries in the sample */
    double seen;        /* approximate share of all entries that the sample represents; the others
                           are in rows longer than any sampled one */
    double near_16;     /* entries within 2^16 columns of their step (k-th entries of 32 rows) */
    double diagonal;    /* entries in slices whose 32 rows have the same diagonals */
    double index_bytes; /* columns in the slice's smallest code: diagonals, 8, 16 or 32 bits */
    double value_bytes; /* values in the slice's smallest code: constant, dictionary, f32 or f64 */
    /* Entries per block of 1, 2, 4 rows x 8 columns at any offset; from about 2,000 entries. */
    double per_block[3];
    double per_tile;       /* entries per tile of 8 rows and their next 4 columns; 0: not sampled */
    double fill_2, fill_3; /* entries / cells of the nonempty aligned 2x2 and 3x3 blocks */
    int64_t distinct;      /* distinct values by bits; SPMV_FEW_VALUES + 1: more; 0: not sampled */
    double exact_f32;      /* values that f32 represents exactly */
    double symmetric;      /* entries whose transposed entry has the same bits */
    double reach;          /* rows from a slice's least column to its first row, mean over rows */
    double lines;          /* cache lines of x that a slice touches / its entries */
    double repeats;        /* share of 2^14 sampled entries whose column occurs more than once among
                              them; 0: not sampled */
    /* Entries per distinct column in windows of 8, 32 and 256 rows: in the order of the matrix; of
     * rows sorted by first and last column; of rows met in a breadth-first walk, if the matrix is
     * square. 0: not sampled. */
    double shared[3], shared_by_ends[3], shared_by_walk[3];
    int64_t block_rows;   /* rows per GPU thread block, if a block copies the x that it needs into
                              shared memory; 0: not sampled */
    double block_columns; /* distinct columns per row in such a block; infinite: unknown */
    int64_t ell_width;    /* width of HYB's ELL part; 0: unknown or empty */
    double ell_mean;      /* entries per row in the ELL part */
    spmv_precision precision;
    int64_t vectors;    /* vectors per product; 0: 1 */
    spmv_layout layout; /* 0: SPMV_COLUMNS */
    int threads;
    size_t cache; /* bytes of the device's last-level cache; 0: unknown */
    bool evicted; /* products find nothing in that cache, although the data might fit */
} spmv_features;

typedef struct spmv_proposal {
    const char *kernel; /* name of the backend's kernel; ignored if it is not built in */
    spmv_setting setting[4];
    int nsettings;
    int threads;              /* per product; 0: as many as the plan may have */
    double predicted_setup;   /* set-up in baseline product times; 0: no conversion */
    double predicted_speedup; /* over the baseline kernel; 0: this is itself a baseline kernel, of
                                 which the first that can be built is used */
    char why[96];             /* for the user: the property of the matrix that suggests it */
    double term[SPMV_COST_TERMS]; /* terms of the predicted cost, for fitting factors; 0: none */
} spmv_proposal;

typedef struct spmv_proposals {
    spmv_proposal list[SPMV_MOST_PROPOSED];
    int n;
    double baseline;   /* predicted cost of a baseline product in the model's unit; 0: unknown */
    double baseline_s; /* the same in seconds; 0: unknown */
} spmv_proposals;
/* A line of a backend's cost.def: a product costs term[0] + factor * term[1], in the unit of the
 * terms. propose.c computes the terms; a script fits the factor. */
typedef struct spmv_cost {
    const char *kernel;
    double factor;
    double setup; /* in units of the backend */
} spmv_cost;
/* Appends a proposal and returns it, so that the caller can add settings. The list must not be
 * full. setup, speedup: as in spmv_proposal; why: a printf format. */
SPMV_LINKAGE spmv_proposal *spmv_propose_kernel(spmv_proposals *all, const char *kernel,
                                                double setup, double speedup, const char *why, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 5, 6)))
#endif
    ;
/* Proposes a kernel of the cost table. Speed-up: all->baseline (1 if unknown) over the cost;
 * set-up: setup_unit times the table's. The caller sets `why`. */
SPMV_LINKAGE spmv_proposal *spmv_propose_cost(spmv_proposals *all, const spmv_cost *costs,
                                              const char *kernel, const double *term,
                                              double setup_unit);
/* Return the bytes of an unencoded value, and of one in the smallest code for the whole matrix. */
SPMV_LINKAGE double spmv_value_bytes(const spmv_features *f);
SPMV_LINKAGE double spmv_coded_bytes(const spmv_features *f);
/* Sets the reason; why is a printf format. */
SPMV_LINKAGE void spmv_proposal_why(spmv_proposal *p, const char *why, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
SPMV_LINKAGE void spmv_propose_omp(const spmv_features *f, spmv_proposals *out);
SPMV_LINKAGE void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out);

#endif
