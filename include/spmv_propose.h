/* spmv_propose.h: what the selector behind the kernel name "auto" asks of a backend; part of
 * spmv_kernel.h, which includes it once its types are there. The library looks at the matrix
 * (features.c), the backend names kernels that should be fast on it (propose.c of its folder), the
 * library builds the best of them and times them against the safe one (auto.c). */
#ifndef SPMV_PROPOSE_H
#define SPMV_PROPOSE_H

enum {
    SPMV_AUTO = -1,        /* index of "auto" in a spmv_kernel_id: no entry of a backend's table */
    SPMV_LONG_ROW = 1024,  /* entries; more of them in a row count towards long_share */
    SPMV_FEW_VALUES = 256, /* more distinct values than that are not counted */
    SPMV_MOST_PROPOSED = 16
};

/* What a look at row_ptr and at a sample of slices of 32 rows tells. Shares are of the entries
 * looked at, 0 to 1; bytes are a mean an entry. */
typedef struct spmv_features {
    int64_t rows, cols, nnz, row_max;
    double mean, cv;    /* of the row lengths; cv: standard deviation / mean */
    double empty_share; /* of the rows */
    double long_share;  /* entries in rows longer than SPMV_LONG_ROW */
    double
        padding_32;  /* slots in slices of 32 rows padded to their longest row, over entries, - 1 */
    int64_t sampled; /* entries in the sample */
    double near_8;   /* entries within 2^8 columns of their step (k-th entries of 32 rows), */
    double near_16;  /* and within 2^16 */
    double diagonal; /* entries in slices where 32 rows share their diagonals */
    double contiguous;  /* entries whose left neighbour is stored too */
    double index_bytes; /* columns in the cheapest code of the slice: diagonals, 8, 16 or 32 bits */
    double value_bytes; /* values in the cheapest code, of 8: one a step, a table, f32, raw */
    double per_block[3];   /* entries in a block of 1, 2, 4 rows x 8 columns that begins anywhere */
    double fill_2, fill_3; /* entries over cells of the aligned 2x2, 3x3 blocks that hold any */
    int64_t distinct;      /* values, by bits; SPMV_FEW_VALUES + 1: more */
    double exact_f32;      /* values that f32 holds exactly */
    double symmetric;      /* entries whose mirror image holds the same bits */
    double lines;          /* cache lines of x a slice touches, over its entries */
    double repeats;        /* of some 2^14 entries from everywhere, those that share their column
                              with another of them; 0: not looked at */
    int64_t local_height;  /* rows of a block in the format local; 0: not looked at */
    double local_columns;  /* that such a block needs, for each of its rows */
    spmv_precision precision;
    int threads;
    size_t cache; /* last-level cache of the device, bytes; 0: unknown */
    bool evicted; /* products will not find in it what they read, though it might fit */
} spmv_features;

typedef struct spmv_proposal {
    const char *kernel; /* of the backend; not considered when it is not built in */
    spmv_setting setting[4];
    int nsettings;
    double prep;  /* expected preparation, in products of the safe kernel; 0: no conversion */
    double gain;  /* expected speed, as a multiple of the safe kernel's; 0: this is a safe kernel,
                     never far from the best for any matrix: the first of them that can be had */
    char why[96]; /* clause for the user: what of the matrix speaks for it */
} spmv_proposal;

typedef struct spmv_proposals {
    spmv_proposal list[SPMV_MOST_PROPOSED];
    int n;
} spmv_proposals;
/* Stands for "auto" in lists; it has no functions of its own. */
SPMV_LINKAGE const spmv_kernel spmv_auto_kernel;
/* Appends a proposal and returns it, for its settings. */
SPMV_LINKAGE spmv_proposal *spmv_offer(spmv_proposals *all, const char *kernel, double prep,
                                       double gain, const char *why, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 5, 6)))
#endif
    ;
SPMV_LINKAGE void spmv_propose_omp(const spmv_features *f, spmv_proposals *out);
SPMV_LINKAGE void spmv_propose_cuda(const spmv_features *f, spmv_proposals *out);

#endif
