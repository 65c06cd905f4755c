/* shuffle.h: sends items from every rank to any other, in rounds of messages of bounded size. */
#ifndef SPMV_RANKS_SHUFFLE_H
#define SPMV_RANKS_SHUFFLE_H

#include "ranks/ranks.h"

typedef struct ranks_boxes { /* data that a rank sends in one round */
    size_t width;            /* bytes of an item */
    int64_t room;            /* capacity of a box in items */
    int64_t *count;          /* [size] items in each box */
    char *items;             /* [size][room] */
} ranks_boxes;

/* Appends an item to the box of a rank; returns false if the box is full. */
static inline bool ranks_put(ranks_boxes *b, int rank, const void *item) {
    if (b->count[rank] == b->room) return false;
    memcpy(b->items + (size_t)(rank * b->room + b->count[rank]++) * b->width, item, b->width);
    return true;
}

typedef struct ranks_shuffle {
    size_t width;
    /* Appends items until one box is full; returns false if no items are left. */
    bool (*fill)(void *arg, ranks_boxes *boxes);
    /* Receives n items from rank `from`, in the order in which that rank appended them. */
    void (*take)(void *arg, int from, const void *items, int64_t n);
    void *arg;
} ranks_shuffle;
/* Runs rounds until no rank has items left. Collective. */
spmv_status ranks_shuffle_all(spmv_ranks *ranks, const ranks_shuffle *s);

/* Returns the rank r with first[r] <= index < first[r + 1]; first: [size + 1]; hint: a guess. */
static inline int ranks_owner(const int64_t *first, int size, int64_t index, int hint) {
    int low = 0, high = size - 1;
    if (index >= first[hint] && index < first[hint + 1]) return hint;
    while (low < high) {
        const int middle = low + (high - low + 1) / 2;
        if (first[middle] <= index)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

#endif
