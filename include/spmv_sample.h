/* spmv_sample.h: the sample of a matrix from which its features are computed. Its size depends on
 * the matrix and on the reader of the features, never on the device that takes it: features are
 * equal to the last bit on every device. */
#ifndef SPMV_SAMPLE_TYPES_H
#define SPMV_SAMPLE_TYPES_H

#include "spmv_helpers.h"
#include "spmv_propose.h"

enum {
    SAMPLE_ROWS = 32,         /* rows of a slice */
    SAMPLE_TAKEN = 64,        /* sampled entries per row: fewer would hide diagonals of wide rows */
    SAMPLE_SLICES = 32,       /* most slices whose entries are sampled */
    SAMPLE_LOOKED_UP = 8,     /* most entries of a slice whose transposed entries are looked up */
    SAMPLE_LENGTHS = 1 << 11, /* most slices whose row lengths are read */
    SAMPLE_COLUMNS = 1 << 14, /* most entries of the whole matrix whose columns are sampled */
    SAMPLE_MIDDLE = 1 << 12   /* most rows sampled from the middle of the matrix on */
};

/* Readers of the features: the model of a host or of a GPU. Features that only one needs are
 * computed only for that one. */
enum { SPMV_FOR_HOST = 1, SPMV_FOR_GPU = 2, SPMV_FOR_BOTH = 3 };

/* Size of a sample. */
typedef struct sample_size {
    int64_t slices; /* slices of the matrix; the last one may have fewer rows */
    int lengths;    /* slices whose row lengths are read: sample_lengths_at() */
    int taken;      /* slices whose entries are sampled: sample_slice_at() */
    int columns;    /* number of sampled columns: those of the entries with index spmv_split(nnz,
                       columns, k), k < columns */
    int in_middle;  /* most entries sampled in the middle of the matrix */
    bool mirrored;  /* transposed entries are looked up */
    int readers;    /* SPMV_FOR_... */
} sample_size;

/* The first entries of each row of a slice, at most SAMPLE_TAKEN per row. */
typedef struct sample_slice {
    int64_t first;              /* first row in the matrix */
    int rows, longest, entries; /* longest: most sampled entries in a row */
    int blocks_for;             /* SPMV_FOR_...: readers of features on blocks; 0: none */
    int len[SAMPLE_ROWS];       /* sampled entries of each row */
    int64_t begin[SAMPLE_ROWS]; /* index of each row's first sampled entry in col_idx and values */
    const int32_t *col_idx;     /* shared by all slices */
    const double *values;
} sample_slice;

/* A sample. On a CPU it points into the matrix. */
typedef struct spmv_sample {
    sample_size size;
    int64_t entries, slots; /* entries and slots (entries with padding) of the slices whose row
                               lengths are read */
    sample_slice *slice;    /* [size.taken] */
    int32_t *column;        /* [size.columns] */
    /* Rows from the middle of the matrix on, with all their entries: at most SAMPLE_MIDDLE rows and
     * size.in_middle entries. Pattern only: nnz is 0, values is NULL. row_ptr[0] may be nonzero. */
    spmv_csr_view middle;
    int64_t pairs, mirrored; /* entries looked up; those with a transposed entry */
    void *owned;             /* malloc'ed; freed with the sample */
} spmv_sample;

/* Returns the n-th slice whose row lengths are read; sample_slice_at: whose entries are sampled. */
static inline int64_t sample_lengths_at(const sample_size *s, int64_t n) {
    return spmv_split(s->slices, s->lengths, n);
}

/* Returns how many of n rows, the first at row_ptr[0], belong to the sampled middle. */
static inline int64_t sample_middle(const sample_size *s, const int64_t *row_ptr, int64_t n) {
    if (s->in_middle == 0) return 0; /* not sampled */
    n = n < SAMPLE_MIDDLE ? n : SAMPLE_MIDDLE;
    while (n > 0 && row_ptr[n] - row_ptr[0] > s->in_middle) n--;
    return n;
}

static inline int64_t sample_slice_at(const sample_size *s, int64_t n) {
    return (2 * n + 1) * s->slices / (2 * (int64_t)s->taken);
}

enum { SAMPLE_SUMS = 6 }; /* most sums per format (spmv_format.look) */

/* Returns some / of, or 0 if of is 0. */
static inline double sample_share(double some, double of) {
    return of > 0 ? some / of : 0;
}

#endif
