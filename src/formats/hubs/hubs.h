/* hubs.h: hot-column caching: the columns with the most nonzeros (the hubs of a graph) get 16-bit
 * indices of their own, so that a GPU keeps their x in shared memory. Zhang et al., "Making caches
 * work for graph analytics", 2017, show that few columns of a graph take most of the gathers. Rows
 * are sorted by their numbers of nonzeros in hot and in other columns, and stored in slices of one
 * warp each. It takes 2 bytes per nonzero in a hot column, 4 per other nonzero, and 0, 1, 4 or 8
 * bytes of value (formats/value_codes.h), with about 10 % padding, 16 bytes per slice and 4 per
 * row. It wins on GPUs where few columns have most of the nonzeros.
 *
 * The example matrix of formats/csr/csr.h with hubs = 2: column 6 has the most nonzeros, column 1
 * is the first of three columns with four. One slice: five words of one nonzero per lane, and one
 * of two nonzeros in hot columns, with bars between words; 131073 stands for indices 2 and 1. "(25
 * of 0)": 25 zeros.
 *
 *     hot      1 6
 *     order    6 3 1 2 4 0 7 5
 *     cut                                     no row is
 *     segment
 *     slice    0 0 0 5 1 1 8                  word, value, row; rest, pairs, lanes, rows
 *     word     1 3 1 3 4 1 8 (25 of 0) | 3 4 3 4 5 (27 of 0) | 4 5 (30 of 0) | 5 (31 of 0)
 *            | 8 (31 of 0) | 131073 2 131073 131073 2 131073 2 (25 of 0)
 *     value    1 0 0 2 0 2 2 (25 of 0) | 1 2 0 0 2 (27 of 0) | 1 (31 of 0) | 1 (63 of 0)
 *            | 1 2 1 0 2 1 0 1 1 0 0 1 (52 of 0)
 *     codebook 1 2 4 (253 of 0)
 *     value_code 2 is VALUE_CODEBOOK
 */
#ifndef SPMV_FORMATS_HUBS_H
#define SPMV_FORMATS_HUBS_H

#include "formats/value_codes.h"

/* A warp of HUBS_LANES lanes multiplies a slice. A lane has a share of one row: `rest` entries in
 * one word each (column + 1), then `pairs` words of two entries in hot columns each (1 + index in
 * hot, the first in the lower half); 0 means no entry. Entry k of a row of n lanes is number k / n
 * of its lane k % n; both kinds are in the order of columns. Words of the lanes are adjacent, and
 * so are values, with the two of a pair together. A row too long for HUBS_LANES lanes is cut into
 * segments with equal shares of both kinds, one slice each, which come first. Rows of HUBS_LANES
 * lanes follow, then those of half as many, down to one lane; each class is sorted longest first,
 * stable. */
enum {
    HUBS_LANES = 32,
    /* A row gets the fewest lanes with at most HUBS_REST entries and HUBS_PAIRS pairs per lane. */
    HUBS_REST = 8,
    HUBS_PAIRS = 8,
    HUBS_GROWS = 2, /* a lane of a segment has at most HUBS_GROWS times as many */
    /* A row has at most HUBS_SEGMENTS segments unless a lane would have over HUBS_STEPS words. */
    HUBS_SEGMENTS = 1024,
    HUBS_STEPS = UINT8_MAX,
    HUBS_CLASSES = 7,           /* classes of rows: segments, and 32, 16, ... 1 lanes */
    HUBS_MOST = UINT16_MAX - 1, /* hot columns, at most */
    HUBS_DEGREE = 8192,         /* columns of more nonzeros count as having HUBS_DEGREE */
    /* nonzeros of a hot column, at least: below, copying its x does not pay */
    HUBS_PAYS = 16,
    HUBS_ROOM = 193 << 10 /* bytes of x and codebook; 32 KB of the 227 of an sm_90 remain cache */
};

typedef struct hubs_slice {
    uint32_t word, value; /* offsets of its words and values in units of HUBS_LANES */
    uint32_t row;         /* its first row, as an index into order; or its segment */
    uint8_t rest, pairs;
    uint8_t lanes; /* lanes per row; 0: the slice is a segment of a row */
    uint8_t rows;
} __attribute__((aligned(16))) hubs_slice;

typedef struct hubs_segment {
    idx row, first;        /* the row and its first segment */
    int32_t segments, cut; /* segments of the row; its index in cut */
} __attribute__((aligned(16))) hubs_segment;

typedef struct hubs_cut { /* entries of a row that is cut */
    int64_t hot, rest;
} hubs_cut;

typedef struct V(hubs) {
    spmv_store s;
    int64_t most, nhubs;                              /* hot columns: at most, and actual number */
    int64_t nslices, nsegments, ncuts, words, values; /* words, values: in units of HUBS_LANES */
    int value_code, value_bytes;
    idx *hot;              /* [nhubs] the hot columns, ascending */
    idx *order;            /* [rows] the rows in the order of slices */
    hubs_cut *cut;         /* [ncuts] */
    hubs_segment *segment; /* [nsegments] the segment of each slice that is one */
    hubs_slice *slice;     /* [nslices] */
    uint32_t *word;        /* [HUBS_LANES words] */
    uint8_t *value;        /* [HUBS_LANES values value_bytes] */
    real *codebook;        /* [VALUE_CODEBOOK_SIZE] for VALUE_CODEBOOK and VALUE_ONE; otherwise 0 */
} hubs;

/* ---- what both builders follow, that on the host and that on a GPU --------------------------- */

#ifndef HUBS_SHARED /* cuda/hubs/hubs.cuh compiles these functions for a GPU, too */
#define HUBS_SHARED static inline
#endif

typedef struct hubs_shape { /* partition of a row */
    int lanes, segments;
    int rest, pairs; /* words of each kind per lane, if there is one segment */
} hubs_shape;

HUBS_SHARED int64_t hubs_rounded_up(int64_t n, int64_t by) {
    return (n + by - 1) / by;
}

/* Returns the segments of a row if a lane has at most by_pairs and by_steps words of each kind. */
HUBS_SHARED int64_t hubs_segments(int64_t hot, int64_t rest, int64_t by_pairs, int64_t by_steps) {
    int64_t by_hot = hubs_rounded_up(hot, HUBS_LANES * 2 * by_pairs);
    int64_t by_rest = hubs_rounded_up(rest, HUBS_LANES * by_steps);
    return by_hot > by_rest ? by_hot : by_rest;
}

/* hot, rest: entries in hot columns and in other columns. */
HUBS_SHARED hubs_shape hubs_shape_of(int64_t hot, int64_t rest) {
    hubs_shape s = {1, 1, 0, 0};
    while (s.lanes < HUBS_LANES && (hot > s.lanes * 2 * HUBS_PAIRS || rest > s.lanes * HUBS_REST))
        s.lanes *= 2;
    int64_t segments = hubs_segments(hot, rest, HUBS_PAIRS * HUBS_GROWS, HUBS_REST * HUBS_GROWS);
    if (segments > HUBS_SEGMENTS) {
        segments = hubs_segments(hot, rest, HUBS_STEPS, HUBS_STEPS);
        if (segments < HUBS_SEGMENTS) segments = HUBS_SEGMENTS;
    }
    if (segments > 1) s.segments = (int)segments;
    s.rest = (int)hubs_rounded_up(rest, s.lanes);
    s.pairs = (int)hubs_rounded_up(hot, 2 * s.lanes);
    return s;
}

/* Returns the first entry of segment q, if `all` entries are cut into n segments. */
HUBS_SHARED int64_t hubs_segment_begins(int64_t all, int64_t n, int64_t q) {
    return all * q / n;
}

/* Returns the segment of entry k, if `all` entries are cut into n segments. */
HUBS_SHARED int64_t hubs_segment_with(int64_t all, int64_t n, int64_t k) {
    return ((k + 1) * n - 1) / all;
}

HUBS_SHARED int hubs_lanes_of(int c) {
    return HUBS_LANES >> (c - 1);
}

HUBS_SHARED int hubs_class_of(const hubs_shape *s) {
    int c = 0;
    if (s->segments > 1) return 0;
    for (int lanes = 2 * HUBS_LANES; lanes > s->lanes; lanes /= 2) c++;
    return c;
}

/* Returns the sort key of a row, less than HUBS_KEYS; rows are sorted by ascending key. */
enum { HUBS_CLASS_SHIFT = 10, HUBS_KEY_BITS = 13, HUBS_KEYS = 1 << HUBS_KEY_BITS };
HUBS_SHARED int hubs_key_of(const hubs_shape *s) {
    const int c = hubs_class_of(s), bits = HUBS_CLASS_SHIFT / 2, most = (1 << bits) - 1;
    return c ? c << HUBS_CLASS_SHIFT | (most - s->pairs) << bits | (most - s->rest) : 0;
}

typedef struct hubs_row {
    int64_t slice, segments; /* its first slice; the number of its slices */
    int64_t hot, rest;       /* its entries if it is cut, otherwise the slots for them */
    idx row;
    int first_lane, lanes;
} hubs_row;

/* Returns row n of slice s; for a segment, the row with all its segments. */
HUBS_SHARED hubs_row hubs_row_in(const hubs *B, int64_t s, int n) {
    const hubs_slice *t = B->slice + s;
    if (t->lanes) {
        hubs_row r = {s, 1, 0, 0, B->order[t->row + (uint32_t)n], n * t->lanes, t->lanes};
        r.hot = 2 * t->pairs * t->lanes, r.rest = t->rest * t->lanes;
        return r;
    }
    const hubs_segment *q = B->segment + s;
    hubs_row r = {q->first, q->segments, 0, 0, q->row, 0, HUBS_LANES};
    r.hot = B->cut[q->cut].hot, r.rest = B->cut[q->cut].rest;
    return r;
}

typedef struct hubs_slot { /* position of an entry */
    int64_t word, value;
    int half; /* half of the word, if its column is hot */
} hubs_slot;

/* Returns the slot of entry k among those in hot columns, or among the others. */
HUBS_SHARED hubs_slot hubs_slot_of(const hubs *B, const hubs_row *r, bool is_hot, int64_t k) {
    const int64_t all = is_hot ? r->hot : r->rest;
    const int64_t q = r->segments > 1 ? hubs_segment_with(all, r->segments, k) : 0;
    const hubs_slice *t = B->slice + r->slice + q;
    if (r->segments > 1) k -= hubs_segment_begins(all, r->segments, q);
    const int64_t lane = r->first_lane + k % r->lanes, step = k / r->lanes;
    hubs_slot rest = {(t->word + step) * HUBS_LANES + lane, (t->value + step) * HUBS_LANES + lane,
                      0};
    hubs_slot hot = {(t->word + t->rest + step / 2) * HUBS_LANES + lane,
                     (t->value + t->rest + step / 2 * 2) * HUBS_LANES + 2 * lane + step % 2,
                     (int)(step % 2)};
    return is_hot ? hot : rest;
}

/* Returns the column of that entry; -1: there is no entry k. */
HUBS_SHARED idx hubs_column_of(const hubs *B, const hubs_row *r, bool is_hot, int64_t k) {
    if (k >= (is_hot ? r->hot : r->rest)) return -1;
    const hubs_slot at = hubs_slot_of(B, r, is_hot, k);
    const uint32_t word = B->word[at.word], place = word >> 16 * at.half & UINT16_MAX;
    if (!is_hot) return (idx)word - 1;
    return place ? B->hot[place - 1] : -1;
}

/* Where the rows and slices of each class begin; class HUBS_CLASSES: behind all. */
typedef struct hubs_classes {
    int64_t row[HUBS_CLASSES + 1], slice[HUBS_CLASSES + 1];
} hubs_classes;

/* rows: number of rows of each class. */
static inline hubs_classes hubs_place_classes(const uint32_t *rows, int64_t nsegments) {
    hubs_classes all;
    all.row[0] = all.slice[0] = 0;
    all.row[1] = rows[0], all.slice[1] = nsegments;
    for (int c = 1; c < HUBS_CLASSES; c++) {
        all.row[c + 1] = all.row[c] + rows[c];
        all.slice[c + 1] = all.slice[c] + hubs_rounded_up(rows[c], HUBS_LANES / hubs_lanes_of(c));
    }
    return all;
}

/* All columns of at least `least` nonzeros are hot, and of those with least - 1 the first `ties` in
 * column order. The choice must not depend on thread scheduling, because it determines the order in
 * which a row's entries are added. */
typedef struct hubs_rule {
    uint32_t least;
    int64_t ties, nhubs;
} hubs_rule;

/* columns[k]: how many columns have k nonzeros, for k = HUBS_DEGREE k or more; most: hot columns,
 * at most; given: chosen by the user, so that columns of only two nonzeros may be hot. */
static inline hubs_rule hubs_rule_for(const uint32_t *columns, int64_t most, bool given) {
    const uint32_t pays = given ? 2 : HUBS_PAYS;
    hubs_rule rule = {HUBS_DEGREE + 1, 0, 0};
    while (rule.least > pays && rule.nhubs + columns[rule.least - 1] <= most)
        rule.nhubs += columns[--rule.least];
    if (rule.least > pays) rule.ties = most - rule.nhubs;
    rule.nhubs += rule.ties;
    return rule;
}

/* Returns the number of hot columns whose x fits `bytes` bytes beside a codebook. */
static inline int64_t hubs_fitting(int64_t bytes) {
    enum { FILL = 4 }; /* the 0 before x, and rounding up to 16 bytes */
    return bytes / (int64_t)sizeof(real) - VALUE_CODEBOOK_SIZE - FILL;
}

/* Returns the most hot columns; with hubs = 0, as many as leave a GPU enough L1 cache. */
static inline int64_t hubs_most(const spmv_choice *c) {
    return c->value[SPMV_hubs] ? c->value[SPMV_hubs] : hubs_fitting(HUBS_ROOM);
}

/* Returns the most segments. */
static inline size_t hubs_most_segments(const spmv_csr_view *A) {
    return (size_t)A->nnz / (HUBS_LANES * HUBS_REST);
}

/* Returns the most slices. One of rows of several lanes has 128 entries or more, unless last of its
 * class. */
static inline size_t hubs_most_slices(const spmv_csr_view *A) {
    const size_t rows = (size_t)A->rows, nnz = (size_t)A->nnz;
    return rows / HUBS_LANES + nnz / 128 + HUBS_CLASSES + hubs_most_segments(A);
}

/* Returns the code, or VALUE_RAW if the codebook has a value that is not finite: padding multiplies
 * 0 by 0 or by the first value of the codebook. */
static inline int hubs_code(int code, const real *codebook, int n) {
    if (code == VALUE_RAW || code == VALUE_F32) return code;
    for (int k = 0; k < n; k++)
        if (!(codebook[k] - codebook[k] == 0)) return VALUE_RAW;
    return code;
}
SPMV_LINKAGE void spmv_hubs_features(const spmv_sample *s, const double *sum, spmv_features *f);
#endif
