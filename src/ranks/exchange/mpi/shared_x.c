/* shared_x.c: the replicated x in memory shared by the ranks of a host; each rank writes its own
 * block. There are two buffers, used by alternating exchanges. Two are enough: a rank that starts
 * exchange n + 1 has finished exchange n, so all ranks have started n and read no more of n - 1. */
#include "shared.h"
#include "memory.h"
#include <stdlib.h>
#include <sys/mman.h>

typedef struct part {      /* one rank's block of x */
    shared_counter posted; /* the last exchange in which the block is complete */
    shared_lack lack;
} part;

typedef struct x_memory {
    uint64_t token; /* random number that identifies the memory (memory.h) */
    part of[];      /* [ranks] */
} x_memory;

struct shared_x {
    const shared_host *host;
    spmv_need need;
    x_memory *memory;
    size_t bytes, before; /* bytes of the mapping; bytes before the first buffer */
    uint32_t now;         /* number of the last exchange started, from 1; 0: none */
    size_t slot, row;     /* bytes of a buffer; bytes of an entry of x in the last exchange */
};

static int64_t columns_of(const shared_x *x) {
    return x->need.halo->first_col[x->host->n];
}

void shared_x_disconnect(shared_x *x) {
    if (!x) return;
    if (x->memory) munmap(x->memory, x->bytes);
    free(x);
}

static shared_x *x_alloc(const shared_host *host, const spmv_need *need) {
    shared_x *x = calloc(1, sizeof *x);
    if (!x) return NULL;
    x->host = host;
    x->need = *need;
    x->before = shared_lines(sizeof(x_memory) + (size_t)host->n * sizeof(part));
    x->slot = shared_lines((size_t)(columns_of(x) * need->vectors) * need->width);
    x->bytes = x->before + 2 * x->slot;
    return x;
}

shared_x *shared_x_connect(const shared_host *host, const spmv_need *need) {
    if (host->n < 2) return NULL;
    shared_x *x = x_alloc(host, need);
    x_memory *memory = shared_in_common(host, x, x ? x->bytes : 0);
    if (memory) {
        x->memory = memory;
        return x;
    }
    free(x);
    return NULL;
}

char *shared_x_latest(const shared_x *x) {
    return (char *)x->memory + x->before + (x->now & 1) * x->slot;
}

/* Returns a rank's block in the current buffer, and its number of entries. */
static char *part_of(const shared_x *x, int rank, int64_t *count) {
    const int64_t *first = x->need.halo->first_col + rank;
    *count = first[1] - first[0];
    return shared_x_latest(x) + (size_t)first[0] * x->row;
}

void shared_x_start(shared_x *x, const char *own, size_t row, size_t apart) {
    part *mine = &x->memory->of[x->host->me];
    int64_t count;
    x->now++;
    x->row = row;
    char *to = part_of(x, x->host->me, &count);
    if (own)
        shared_write(&x->need, &(shared_writing){to, own, NULL, count, row, apart});
    else
        shared_lacks(&mine->lack, x->now);
    shared_post(&mine->posted, x->now);
}

/* A rank without x may not know the number of vectors, so the ranks with x write its NaN. */
void shared_x_finish(shared_x *x) {
    const bool has_x = !shared_is_lacking(&x->memory->of[x->host->me].lack, x->now);
    for (int r = 0; r < x->host->n; r++) {
        part *p = &x->memory->of[r];
        int64_t count;
        shared_wait(&p->posted, x->now, x->host);
        if (!has_x || !shared_is_lacking(&p->lack, x->now)) continue;
        char *to = part_of(x, r, &count);
        shared_set_nan(to, (size_t)count * x->row);
    }
}
