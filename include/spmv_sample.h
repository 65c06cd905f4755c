/* spmv_sample.h: the part of a matrix from which its features are computed. How much is taken
 * depends on the size of the matrix and on who asks, never on who takes it: whichever processor
 * holds the matrix, its features come out the same to the last bit. */
#ifndef SPMV_SAMPLE_TYPES_H
#define SPMV_SAMPLE_TYPES_H

#include "spmv_helpers.h"
#include "spmv_propose.h"

enum {
    SAMPLE_ROWS = 32,         /* rows of a slice */
    SAMPLE_TAKEN = 64,        /* entries taken of a row: fewer would hide diagonals of wide rows */
    SAMPLE_SLICES = 32,       /* slices whose entries are taken, at most */
    SAMPLE_LOOKED_UP = 8,     /* entries of a slice whose mirror images are looked up, at most */
    SAMPLE_LENGTHS = 1 << 11, /* slices whose row lengths are read, at most */
    SAMPLE_COLUMNS = 1 << 14, /* entries from the whole matrix whose columns are taken, at most */
    SAMPLE_MIDDLE = 1 << 12   /* rows taken from the middle of the matrix on, at most */
};

/* Whose model will look at the features; each has some that only it looks at, and that are computed
 * for nobody else. */
enum { SPMV_FOR_HOST = 1, SPMV_FOR_GPU = 2, SPMV_FOR_BOTH = 3 };

/* Says how much is taken. */
typedef struct sample_size {
    int64_t slices; /* slices that the matrix has; the last one may be shorter */
    int lengths;    /* slices whose row lengths are read; sample_lengths_at() says which */
    int taken;      /* slices whose entries are taken; sample_slice_at() says which */
    int columns;    /* the columns of entries spmv_split(nnz, columns, k) are taken */
    int in_middle;  /* entries of rows in the middle are taken, at most */
    bool mirrored;  /* mirror images are looked up */
    int readers;    /* SPMV_FOR_... */
} sample_size;

/* The first entries of the rows of a slice, at most SAMPLE_TAKEN of each. */
typedef struct sample_slice {
    int64_t first;              /* row of the matrix */
    int rows, longest, entries; /* longest: entries taken of a row, at most */
    int blocks_for;             /* SPMV_FOR_...: who looks at blocks in it; 0: nobody */
    int len[SAMPLE_ROWS];       /* entries taken */
    int64_t begin[SAMPLE_ROWS]; /* the first of them in col_idx and values */
    const int32_t *col_idx;     /* shared by all slices */
    const double *values;
} sample_slice;

/* Holds what was taken. On a CPU it points into the matrix. */
typedef struct spmv_sample {
    sample_size size;
    int64_t entries, slots; /* of the slices whose row lengths were read: entries, and slots if
                               every row is padded to the longest of its slice */
    sample_slice *slice;    /* [size.taken] */
    int32_t *column;        /* [size.columns] */
    /* Rows from the middle on, with all their entries: as many as have no more than size.in_middle
     * entries, and no more than SAMPLE_MIDDLE. Pattern alone: nnz is 0, values is NULL.
     * row_ptr[0] need not be 0. */
    spmv_csr_view middle;
    int64_t pairs, mirrored; /* entries looked up, and how many have a mirror image */
    void *owned;             /* malloc'ed; freed with the sample */
} spmv_sample;

/* Returns the n-th slice whose row lengths are read, and the n-th whose entries are taken. */
static inline int64_t sample_lengths_at(const sample_size *s, int64_t n) {
    return spmv_split(s->slices, s->lengths, n);
}

/* Says how many of n rows are in the middle that is taken, of which the first begins at
 * row_ptr[0]. */
static inline int64_t sample_middle(const sample_size *s, const int64_t *row_ptr, int64_t n) {
    if (s->in_middle == 0) return 0; /* nothing was taken */
    n = n < SAMPLE_MIDDLE ? n : SAMPLE_MIDDLE;
    while (n > 0 && row_ptr[n] - row_ptr[0] > s->in_middle) n--;
    return n;
}

static inline int64_t sample_slice_at(const sample_size *s, int64_t n) {
    return (2 * n + 1) * s->slices / (2 * (int64_t)s->taken);
}

enum { SAMPLE_SUMS = 6 }; /* that a format adds up over the slices, at most (spmv_format.look) */

/* The share that some of so many are; 0 if there are none. */
static inline double sample_share(double some, double of) {
    return of > 0 ? some / of : 0;
}

#endif
