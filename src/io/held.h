/* held.h: shared by elements.c, read_arrays.c, columns.c and held.c, which convert the arrays of a
 * file to the arrays of a matrix. */
#ifndef SPMV_HELD_H
#define SPMV_HELD_H

#include "formats.h"

typedef struct spmv_found { /* positions among n elements; n: there is none */
    int64_t bad;     /* first index outside the matrix, or first value that is infinite or NaN */
    int64_t rounded; /* first integer that no double holds */
} spmv_found;
typedef enum spmv_role { SPMV_OFFSETS, SPMV_INDICES, SPMV_VALUES } spmv_role;
typedef struct spmv_wanted { /* an array to be read from the file */
    const spmv_part *part;
    spmv_role role;
    void *to; /* [n] of int64_t, int32_t or double */
    int64_t n, base, limit;
    /* for INDICES: offsets of the lines, in which indices should ascend; NULL: not checked */
    const int64_t *ptr;
    int64_t lines;
    spmv_found found; /* in the whole array */
    int64_t descents; /* with ptr: number of neighbours in one line that do not ascend */
    const struct spmv_wanted *after; /* the array before it in the same stream; NULL: none */
} spmv_wanted;

/* ---- elements.c */

/* Converts n elements in raw to elements first to first + n - 1 of w->to; raw may be their
 * destination. */
spmv_found spmv_convert(const spmv_wanted *w, const unsigned char *raw, int64_t first, int64_t n);
typedef struct spmv_element_name {
    char text[120];
} spmv_element_name;
/* Returns "name[k] (byte 8)". */
spmv_element_name spmv_name_element(const spmv_part *part, int64_t k);

/* ---- read_arrays.c */

#ifdef SPMV_FUZZING
enum { SPMV_PIECE = 16, SPMV_RUN = 256 };
#else
enum {
    SPMV_PIECE = 16 << 10, /* elements converted at a time, which fit into a core's cache */
    SPMV_RUN = 2 << 20     /* bytes of the result that one thread reads: one huge page */
};
#endif
/* True if elements can be read in any order, by several threads. */
static inline bool spmv_part_is_random(const spmv_part *part) {
    return !part->packed && !part->fetch && !part->same;
}
/* Returns the first line with ptr[line] > k, or `lines`. */
int64_t spmv_line_behind(const int64_t *ptr, int64_t lines, int64_t k);
/* Counts 0 < k < n with index[k - 1] >= index[k] in one line; index[0] is entry `first` of the
 * matrix. */
int64_t spmv_count_descents(const int32_t *index, int64_t first, int64_t n, const int64_t *ptr,
                            int64_t lines);
/* Reads n arrays by several threads. */
spmv_status spmv_read_arrays(const spmv_bytes *in, spmv_wanted *all, int n, int threads,
                             spmv_progress progress, void *arg);

/* ---- columns.c */

/* Converts CSC with column offsets ptr to CSR in out->ptr, coo.col and coo.values. *ascend false:
 * row indices do not ascend in each column, and nothing was read. */
spmv_status spmv_read_columns(const spmv_bytes *in, const spmv_held *h, const int64_t *ptr,
                              int threads, spmv_found *found, spmv_lines *out, bool *ascend);

#endif
