/* slice.c: reduces a variable to a share of its lines or entries, so that several processes can
 * read a file together. The arrays must be uncompressed bytes of the file. */
#include "formats.h"
#include <inttypes.h>

static bool is_plain(const spmv_part *part) {
    return !*part->name || (!part->packed && !part->fetch && !part->same && !part->in->memory);
}

bool spmv_held_has_slices(const spmv_held *h) {
    const bool lines = h->shape == SPMV_HELD_ROWS || h->shape == SPMV_HELD_LENGTHS ||
                       h->shape == SPMV_HELD_COLUMNS;
    return ((lines && h->symmetry == SPMV_GENERAL) || h->shape == SPMV_HELD_ENTRIES) &&
           is_plain(&h->ptr) && is_plain(&h->line) && is_plain(&h->idx) && is_plain(&h->values);
}

/* Reduces a part to elements first to first + n - 1. */
static void cut(spmv_part *part, int64_t first, int64_t n) {
    if (!*part->name) return;
    part->offset += first * part->as.bytes;
    part->before += first;
    part->n = n;
}

/* *sum: sum of the lengths of the lines before `line`. */
static spmv_status sum_lengths(const spmv_held *h, int64_t line, int64_t *sum) {
    enum { SOME = 1024 };
    const int64_t most = spmv_held_count(h);
    int64_t length[SOME];
    *sum = 0;
    for (int64_t i = 0; i < line; i += SOME) {
        const int64_t n = line - i < SOME ? line - i : SOME;
        TRY(spmv_part_integers(&h->ptr, i, n, length));
        for (int64_t k = 0; k < n; k++) {
            if (length[k] < 0 || length[k] > most - *sum)
                return spmv_refuse_element(&h->ptr, i + k, length[k], 0, most - *sum);
            *sum += length[k];
        }
    }
    return SPMV_OK;
}

/* *begin: position of the first entry of line `line`. */
static spmv_status begin_of(const spmv_held *h, int64_t line, int64_t *begin) {
    const int64_t most = spmv_held_count(h);
    if (h->shape == SPMV_HELD_LENGTHS) return sum_lengths(h, line, begin);
    TRY(spmv_part_integers(&h->ptr, line, 1, begin));
    if (*begin < h->base || *begin - h->base > most)
        return spmv_refuse_element(&h->ptr, line, *begin, h->base, most + h->base);
    *begin -= h->base;
    return SPMV_OK;
}

static spmv_status cut_lines(int part, int parts, spmv_held *h, int64_t *first) {
    int64_t *lines = h->shape == SPMV_HELD_COLUMNS ? &h->cols : &h->rows, begin, end;
    const int64_t last = spmv_split(*lines, parts, part + 1);
    *first = spmv_split(*lines, parts, part);
    TRY(begin_of(h, *first, &begin));
    TRY(begin_of(h, last, &end));
    if (end < begin) return spmv_refuse_element(&h->ptr, last, end, begin, spmv_held_count(h));
    cut(&h->ptr, *first, last - *first + (h->shape != SPMV_HELD_LENGTHS));
    cut(&h->idx, begin, end - begin);
    cut(&h->values, begin, end - begin);
    h->skipped = h->shape == SPMV_HELD_LENGTHS ? 0 : begin;
    *lines = last - *first;
    return SPMV_OK;
}

spmv_status spmv_held_slice(const spmv_bytes *in, int part, int parts, spmv_held *h,
                            int64_t *first) {
    *first = 0;
    if (parts == 1) return SPMV_OK;
    TRY(spmv_held_check(in, h));
    h->may_be_half = false; /* a share does not show it */
    if (h->shape != SPMV_HELD_ENTRIES) return cut_lines(part, parts, h, first);
    const int64_t n = spmv_held_count(h), begin = spmv_split(n, parts, part),
                  length = spmv_split(n, parts, part + 1) - begin;
    cut(&h->line, begin, length);
    cut(&h->idx, begin, length);
    cut(&h->values, begin, length);
    return SPMV_OK;
}
