/* spmv_propose.h: how a backend proposes kernels to "auto". The library computes features from a
 * sample of the matrix (src/tune/features.c, src/formats), the backend names kernels that should be
 * fast on it (propose.c of its folder), the library builds the best of them and times them against
 * the baseline kernel (src/tune). */
#ifndef SPMV_PROPOSE_H
#define SPMV_PROPOSE_H

#include "spmv.h"
#include "spmv_variant.h"
#include <stdbool.h>

enum {
    SPMV_LONG_ROW = 1024,  /* entries of a row that slices are not for */
    SPMV_FEW_VALUES = 256, /* more distinct values than that are not counted */
    SPMV_COST_TERMS = 2,   /* of a model that a script fits */
    SPMV_MOST_PROPOSED = 24
};

/* The features of a matrix, from row_ptr and a sample of slices of 32 rows. Shares are of the
 * sampled entries, 0 to 1; bytes are the mean per entry. */
typedef struct spmv_features {
    int64_t rows, cols, nnz, row_max;
    double mean, cv;    /* of the row lengths; cv: standard deviation / mean */
    double empty_share; /* rows without entries, over all rows */
    double padding_32;  /* padding over entries, if slices of 32 rows are padded to the longest */
    int64_t sampled;    /* entries in the sample */
    double seen;        /* about the share of all entries that the sample stands for; the rest are
                           in rows longer than any in it */
    double near_16;     /* entries within 2^16 columns of their step (k-th entries of 32 rows) */
    double diagonal;    /* entries in slices where 32 rows share their diagonals */
    double index_bytes; /* columns in the slice's cheapest code: diagonals, 8, 16 or 32 bits */
    double value_bytes; /* values in the slice's cheapest code: one per step, a dictionary of 1-byte
                           codes, f32, or f64 */
    /* Taken from some slices of the sample, about 2,000 entries: entries in a block of 1, 2, 4 rows
     * x 8 columns that begins anywhere */
    double per_block[3];
    double per_tile; /* entries in a tile of 8 rows and the next 4 columns that they use; 0: not
                              sampled */
    double fill_2, fill_3; /* entries over cells of the aligned 2x2, 3x3 blocks that hold any */
    int64_t distinct;      /* values, by bits; SPMV_FEW_VALUES + 1: more; 0: not sampled */
    double exact_f32;      /* values that f32 holds exactly */
    double symmetric;      /* entries whose mirror image holds the same bits */
    double reach;          /* rows from the least column of a slice to its first row, the mean over
                              the matrix's rows */
    double lines;          /* cache lines of x that a slice touches, over its entries */
    double repeats;        /* share of 2^14 entries from all over the matrix that have their column
                              in common with another of them; 0: not sampled */
    int64_t block_rows;    /* rows for a block of a GPU's threads that copies x into shared memory,
                              so that the columns they need have room there; 0: not sampled */
    double block_columns;  /* distinct columns of such rows, per row; infinite: not known */
    int64_t ell_width;     /* of the ELL part of HYB; 0: not known, or no row has an entry in it */
    double ell_mean;       /* entries of a row in it */
    spmv_precision precision;
    int64_t vectors;    /* that are multiplied at a time, about; 0: 1 */
    spmv_layout layout; /* of them; 0: SPMV_COLUMNS */
    int threads;
    size_t cache; /* last-level cache of the device, bytes; 0: unknown */
    bool evicted; /* products find nothing in that cache, though the data might fit */
} spmv_features;

typedef struct spmv_proposal {
    const char *kernel; /* of the backend; not considered when it is not built in */
    spmv_setting setting[4];
    int nsettings;
    int threads;              /* of a product; 0: as many as the plan may have */
    double predicted_setup;   /* set-up cost, in baseline product times; 0: no conversion */
    double predicted_speedup; /* over the baseline kernel; 0: this is a baseline kernel, never far
                                 from the best on any matrix: the first that can be built serves */
    char why[96];             /* for the user: the property of the matrix that speaks for it */
    double term[SPMV_COST_TERMS]; /* of which the model made the predicted speed-up, for the script
                                     that fits its factors; 0: it has none */
} spmv_proposal;

typedef struct spmv_proposals {
    spmv_proposal list[SPMV_MOST_PROPOSED];
    int n;
    double baseline;   /* a product of the baseline kernel, as the model counts; 0: not known */
    double baseline_s; /* the same in seconds; 0: set-up costs were not made of seconds */
} spmv_proposals;
/* A line of a backend's cost.def. A product costs term[0] + factor * term[1], in whatever unit the
 * terms are; propose.c counts them, a script fits the factor. */
typedef struct spmv_cost {
    const char *kernel;
    double factor;
    double setup; /* in units of the backend */
} spmv_cost;
/* Appends a proposal and returns it, so that the caller can add settings. The list must not be
 * full; why is a printf format. setup and speedup: as in spmv_proposal. */
SPMV_LINKAGE spmv_proposal *spmv_propose_kernel(spmv_proposals *all, const char *kernel,
                                                double setup, double speedup, const char *why, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 5, 6)))
#endif
    ;
/* Proposes a kernel of the table by what its product costs. Its speed-up is over all->baseline, or
 * over 1 while that is not known; setup_unit: its set-up is so many times the table's. The caller
 * says why. */
SPMV_LINKAGE spmv_proposal *spmv_propose_cost(spmv_proposals *all, const spmv_cost *costs,
                                              const char *kernel, const double *term,
                                              double setup_unit);
/* Returns the bytes of a value, and of one in the cheapest dictionary that is common to the whole
 * matrix. */
SPMV_LINKAGE double spmv_value_bytes(const spmv_features *f);
SPMV_LINKAGE double spmv_coded_bytes(const spmv_features *f);
/* Sets the clause that says why; why is a printf format. */
SPMV_LINKAGE void spmv_proposal_why(spmv_proposal *p, const char *why, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 2, 3)))
#endif
    ;
SPMV_LINKAGE void spmv_propose_omp(const spmv_features *f, spmv_proposals *out);
SPMV_LINKAGE void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out);

#endif
