/* held.h: what elements.c, read_arrays.c and held.c share: the arrays of a file that become arrays of
 * a matrix. */
#ifndef SPMV_HELD_H
#define SPMV_HELD_H

#include "formats.h"

typedef struct spmv_found { /* the first of n elements of each kind; n: none */
    int64_t bad;            /* an index outside; a value that is infinite or NaN */
    int64_t rounded;        /* an integer beyond 2^53 */
} spmv_found;
typedef enum spmv_role { SPMV_OFFSETS, SPMV_INDICES, SPMV_VALUES } spmv_role;
typedef struct spmv_wanted { /* an array of the file that is to be read */
    const spmv_part *part;
    spmv_role role;
    void *to; /* [n] of int64_t, int32_t or double */
    int64_t n, base, limit;
    spmv_found found;                /* in the whole array */
    const struct spmv_wanted *after; /* the array before it in the same stream; NULL: none */
} spmv_wanted;

/* ---- elements.c */

/* Converts elements first to first + n - 1 of the array, whose bytes are in raw, which may be where
 * they go. */
spmv_found spmv_convert(const spmv_wanted *w, const unsigned char *raw, int64_t first, int64_t n);
typedef struct spmv_element_name {
    char text[120];
} spmv_element_name;
/* Returns "name[k] (byte 8)". */
spmv_element_name spmv_name_element(const spmv_part *part, int64_t k);

/* ---- read_arrays.c */

/* Reads n arrays. */
spmv_status spmv_read_arrays(const spmv_bytes *in, spmv_wanted *all, int n, int threads,
                             spmv_progress progress, void *arg);

#endif
