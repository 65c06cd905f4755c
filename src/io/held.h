/* held.h: what elements.c, read_arrays.c, columns.c and held.c share: the arrays of a file that
 * become arrays of a matrix. */
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
    const int64_t *ptr; /* INDICES: offsets from 0 of the lines that must ascend; NULL: unchecked */
    int64_t lines;
    spmv_found found;                /* in the whole array */
    int64_t descents;                /* with ptr: pairs in one line that do not ascend */
    const struct spmv_wanted *after; /* the array before it in the same stream; NULL: none */
} spmv_wanted;

/* ---- elements.c */

/* Converts elements first to first + n - 1 of the array from raw, which may be their destination.
 */
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
    SPMV_PIECE = 16 << 10, /* elements that are converted at once: they fit into a core's cache */
    SPMV_RUN = 2 << 20     /* bytes of the result that one thread reads: a huge page */
};
#endif
/* True if elements can be read in any order, by several threads. */
static inline bool spmv_part_is_random(const spmv_part *part) {
    return !part->packed && !part->fetch && !part->same;
}
/* Returns the first line that begins behind entry k; `lines` if none does. */
int64_t spmv_line_behind(const int64_t *ptr, int64_t lines, int64_t k);
/* Counts the pairs index[k - 1] >= index[k], 0 < k < n, of one line; index[0] is entry `first` of
 * all. */
int64_t spmv_count_descents(const int32_t *index, int64_t first, int64_t n, const int64_t *ptr,
                            int64_t lines);
/* Reads n arrays. */
spmv_status spmv_read_arrays(const spmv_bytes *in, spmv_wanted *all, int n, int threads,
                             spmv_progress progress, void *arg);

/* ---- columns.c */

/* Reads compressed columns, with offsets ptr from 0, as the arrays of compressed rows. If row
 * indices do not ascend in each column it reads nothing, and *ascend is false. */
spmv_status spmv_read_columns(const spmv_bytes *in, const spmv_held *h, const int64_t *ptr,
                              int threads, spmv_found *found, spmv_lines *out, bool *ascend);

#endif
