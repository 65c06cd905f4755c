/* shared_x.c: all of x, in memory that the ranks of a host share, where each writes its own part.
 * There is room for two exchanges, which take turns. A rank that starts an exchange has finished
 * the last one, so that all have begun that one, and read what the one before left no more. */
#include "shared.h"
#include "memory.h"
#include <stdlib.h>
#include <sys/mman.h>

typedef struct part {      /* of a rank */
    shared_counter posted; /* the last exchange in which it is complete */
    shared_lack lack;
} part;

typedef struct x_memory {
    uint64_t token; /* as memory.h wants it */
    part of[];      /* [ranks] */
} x_memory;

struct shared_x {
    const shared_host *host;
    spmv_need need;
    x_memory *memory;
    size_t bytes, before; /* before: of what lies before the first of both exchanges */
    uint32_t now;         /* the exchange that began last; 0: none */
    size_t slot, row;     /* bytes of one of both, and of an entry of x in the last one */
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

/* Returns where a rank's part lies, and how many entries it has. */
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

/* A rank that has no x may not know of how many vectors: its NaN are written by those that have. */
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
