/* csr5_lanes.h: multiplies tiles of one or two vector registers per step. csr5_avx2.h and
 * csr5_avx512.h include this file, after defining
 *
 *     LANES        elements in a vector: lanes of the type NAME(lanes), integers of NAME(mask)
 *     NAME(n)      n with the instruction set's suffix
 *     ISA, ISA_INLINE                  attributes of functions
 *     NAME(gather)(x, col, instruction) LANES entries of x
 *     NAME(flags_at)(flags, j)          bit j of LANES descriptors, one bit for each
 */

typedef uint32_t NAME(words) __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(4)));

/* sum[] += products of steps from to end - 1 of a tile that begins at these values and columns. */
ISA_INLINE void NAME(add_steps)(NAME(lanes) * sum, const real *values, const idx *col,
                                const real *x, int from, int end, int vectors, bool instruction) {
    for (int j = from; j < end; j++)
        for (int v = 0; v < vectors; v++) {
            const int at = (j * vectors + v) * LANES;
            sum[v] += *(const NAME(lanes) *)(values + at) * NAME(gather)(x, col + at, instruction);
        }
}

/* Sets the sums of lanes to 0 in which a segment begins at step j. */
ISA_INLINE void NAME(clear_begun)(NAME(lanes) * sum, const uint32_t *desc, int j, int vectors) {
    for (int v = 0; v < vectors; v++) {
        const NAME(words) bit = *(const NAME(words) *)(desc + v * LANES) >> j & 1;
        sum[v] = (NAME(lanes))((NAME(mask))sum[v] & (__builtin_convertvector(bit, NAME(mask)) - 1));
    }
}

/* Multiplies a tile within one row. */
ISA_INLINE void NAME(put_one_row)(const product *m, const tile *t, int height, int vectors,
                                  bool instruction) {
    NAME(lanes) sum[2] = {{0}, {0}};
    real out[LANES], total = 0;
    NAME(add_steps)
    (sum, m->A->values + t->k, m->A->col_idx + t->k, m->x, 0, height, vectors, instruction);
    sum[0] += sum[1];
    memcpy(out, sum, sizeof out);
    for (int l = 0; l < LANES; l++) total += out[l];
    put_first(m, t->row, t->k, total);
}

/* After the last step, stores the sums of segments that span lanes, from the last lane to the
 * first. below: sum of the lanes after l for the segment in which l ends. top: each lane's sum
 * before the first segment that begins in it; begun: mask of the lanes in which a segment
 * begins. */
ISA_INLINE void NAME(join_lanes)(const product *m, const tile *t, const NAME(lanes) * sum,
                                 const real *top, const int32_t *segment, uint32_t begun,
                                 int vectors) {
    real out[2 * LANES], below = 0;
    memcpy(out, sum, (size_t)vectors * sizeof *sum);
    for (int l = vectors * LANES - 1; l >= 0; l--)
        if (begun >> l & 1) {
            put_segment(m, t, segment[l], out[l] + below);
            below = top[l];
        } else {
            below += out[l];
        }
}

/* Processes a step at which segments begin, lane by lane: the sum so far is a whole segment, or the
 * end of one that began in an earlier lane. */
ISA_INLINE void NAME(end_segments)(const product *m, const tile *t, const NAME(lanes) * sum,
                                   uint32_t begins, uint32_t begun, real *top, int32_t *segment,
                                   int vectors) {
    real out[2 * LANES];
    memcpy(out, sum, (size_t)vectors * sizeof *sum);
    for (; begins; begins &= begins - 1) {
        const int l = __builtin_ctz(begins);
        if (begun >> l & 1)
            put_segment(m, t, segment[l]++, out[l]);
        else
            top[l] = out[l];
    }
}

ISA_INLINE void NAME(put_rows)(const product *m, const tile *t, const uint32_t *desc, int height,
                               int vectors, bool instruction) {
    const real *values = m->A->values + t->k;
    const idx *col = m->A->col_idx + t->k;
    NAME(lanes) sum[2] = {{0}, {0}};
    real top[2 * LANES];
    int32_t segment[2 * LANES];
    uint32_t any = 0, begun = 0;
    for (int l = 0; l < vectors * LANES; l++) {
        any |= desc[l];
        segment[l] = (int32_t)(desc[l] >> m->A->shape.y_shift);
    }
    any &= (1u << height) - 1; /* includes step 0 of lane 0 */
    while (any) {
        const int j = __builtin_ctz(any);
        uint32_t begins = 0;
        any &= any - 1;
        for (int v = 0; v < vectors; v++)
            begins |= NAME(flags_at)(desc + v * LANES, j) << v * LANES;
        NAME(end_segments)(m, t, sum, begins, begun, top, segment, vectors);
        NAME(clear_begun)(sum, desc, j, vectors);
        begun |= begins;
        NAME(add_steps)
        (sum, values, col, m->x, j, any ? __builtin_ctz(any) : height, vectors, instruction);
    }
    NAME(join_lanes)(m, t, sum, top, segment, begun, vectors);
}

ISA_INLINE void NAME(tiles)(const product *m, int64_t first, int64_t end, int vectors,
                            bool instruction) {
    const csr5 A = *m->A; /* a copy: otherwise the compiler assumes that stores to y modify it */
    const product p = {&A, m->x, m->y, m->alpha, m->beta, m->open};
    const int lanes = vectors * LANES, height = A.shape.height;
    for (int64_t n = first; n < end; n++) {
        const tile t = tile_at(&A, n, (int64_t)lanes * height);
        prefetch_ahead(A.values + t.k, PAGE);
        if (csr5_is_in_one_row(&A, n))
            NAME(put_one_row)(&p, &t, height, vectors, instruction);
        else
            NAME(put_rows)(&p, &t, A.tile_desc + n * lanes, height, vectors, instruction);
    }
}

static ISA void NAME(one)(const product *m, int64_t first, int64_t end) {
    NAME(tiles)(m, first, end, 1, false);
}

static ISA void NAME(one_gather)(const product *m, int64_t first, int64_t end) {
    NAME(tiles)(m, first, end, 1, true);
}

static ISA void NAME(two)(const product *m, int64_t first, int64_t end) {
    NAME(tiles)(m, first, end, 2, false);
}

static ISA void NAME(two_gather)(const product *m, int64_t first, int64_t end) {
    NAME(tiles)(m, first, end, 2, true);
}

/* Returns the function for a shape of tiles; NULL: not supported. */
static multiply_tiles *NAME(choose)(const csr5_shape *s, bool instruction) {
    if (s->words != 1) return NULL;
    if (s->lanes == LANES) return instruction ? NAME(one_gather) : NAME(one);
    if (s->lanes == 2 * LANES) return instruction ? NAME(two_gather) : NAME(two);
    return NULL;
}

#undef LANES
#undef NAME
#undef ISA
#undef ISA_INLINE
