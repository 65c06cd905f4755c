/* shared.c: exchanges between ranks of one host, through shared memory.
 *
 * An inbox has two slots, used by alternating exchanges: while its owner multiplies by the entries
 * of one exchange, faster ranks write those of the next. Two counters synchronize them. `begun`:
 * the last exchange that the inbox's owner has started, which implies that it no longer reads
 * earlier slots. `posted`, one per sender: the last exchange whose entries are complete. */
#include "shared.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* bytes from which all threads of a rank copy; one thread copies this much in 10 us */
enum { MANY_BYTES = 1 << 17 };

typedef struct sender { /* a rank of the host that writes into this inbox */
    shared_counter posted;
    shared_lack lack;
    int64_t first, count; /* range of its entries among all received entries */
} sender;

typedef struct inbox {
    uint64_t token; /* random number that identifies the memory (memory.h) */
    shared_counter begun;
    size_t slot_bytes; /* bytes of each of the two slots, which follow the senders */
    sender from[];     /* [ranks of the host] */
} inbox;

typedef struct target { /* a rank of the host that receives entries from this one */
    inbox *box;
    size_t bytes;
    const int32_t *give; /* [count] indices into own x */
    int64_t count;
    int is_block; /* 1: the entries are contiguous in x */
} target;

struct shared_link {
    const shared_host *host;
    spmv_need need;
    inbox *own;
    size_t bytes;
    uint32_t now; /* number of the last exchange started, from 1; 0: none */
    size_t row;   /* bytes of an entry (of all its vectors) in that exchange */
    int nto, nfrom;
    target *to;    /* [nto] ranks of the host */
    sender **from; /* [nfrom] pointers into the own inbox */
};

bool shared_on_all(const shared_host *host, bool mine) {
    int here = mine, all = 0;
    return MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, host->comm) == MPI_SUCCESS && all;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* The first rank of the host makes the memory, the others map it. */
void *shared_in_common(const shared_host *host, bool is_ready, size_t bytes) {
    const bool is_first = host->me == 0;
    shared_offer offer = {.file = -1};
    void *memory = is_ready && is_first ? shared_make(bytes, &offer) : NULL;
    const bool made = shared_on_all(host, is_ready && (memory || !is_first)) &&
                      MPI_Bcast(&offer, sizeof offer, MPI_BYTE, 0, host->comm) == MPI_SUCCESS;
    if (made && !is_first) memory = shared_open(&offer);
    const bool whole = shared_on_all(host, made && memory);
    if (is_first && offer.file >= 0) close(offer.file);
    if (whole) return memory;
    if (memory) munmap(memory, bytes);
    return NULL;
}

static char *slots_of(inbox *box, int nsenders) {
    return (char *)box + shared_lines(sizeof *box + (size_t)nsenders * sizeof *box->from);
}

static char *slot_of(inbox *box, int nsenders, uint32_t exchange) {
    return slots_of(box, nsenders) + (exchange & 1) * box->slot_bytes;
}

/* Allocates the own inbox, filled with NaN of either precision; returns false if out of memory. */
static bool make_inbox(shared_link *link, shared_offer *offer) {
    const shared_host *host = link->host;
    const spmv_halo *halo = link->need.halo;
    const size_t row = (size_t)link->need.vectors * link->need.width;
    const size_t slot = shared_lines((size_t)halo->received * row);
    const size_t senders = shared_lines(sizeof(inbox) + (size_t)host->n * sizeof(sender));
    link->bytes = senders + 2 * slot;
    link->own = shared_make(link->bytes, offer);
    if (!link->own) return false;
    link->own->slot_bytes = slot;
    shared_set_nan(slots_of(link->own, host->n), 2 * slot);
    int64_t first = 0;
    for (int r = 0; r < halo->nfrom; first += halo->from_count[r++]) {
        const int number = host->number[halo->from[r]];
        if (number < 0) continue;
        link->own->from[number].first = first;
        link->own->from[number].count = halo->from_count[r];
        link->from[link->nfrom++] = &link->own->from[number];
    }
    return true;
}

/* ---- connecting ----------------------------------------------------------------------------- */

void shared_disconnect(shared_link *link) {
    if (!link) return;
    for (int r = 0; link->to && r < link->nto; r++) munmap(link->to[r].box, link->to[r].bytes);
    if (link->own) munmap(link->own, link->bytes);
    free(link->to);
    free(link->from);
    free(link);
}

static shared_link *link_alloc(const shared_host *host, const spmv_need *need) {
    const spmv_halo *halo = need->halo;
    shared_link *link = calloc(1, sizeof *link);
    if (!link) return NULL;
    link->host = host;
    link->need = *need;
    link->to = calloc((size_t)halo->nto + 1, sizeof *link->to);
    link->from = malloc(((size_t)halo->nfrom + 1) * sizeof *link->from);
    if (link->to && link->from) return link;
    shared_disconnect(link);
    return NULL;
}

/* Maps the inboxes to which this rank writes; returns false if one of them cannot be mapped. */
static bool open_targets(shared_link *link, const shared_offer *offers) {
    const spmv_halo *halo = link->need.halo;
    const int32_t *give = halo->give;
    for (int r = 0; r < halo->nto; give += halo->to_count[r++]) {
        const int number = link->host->number[halo->to[r]], count = halo->to_count[r];
        if (number < 0) continue;
        inbox *box = shared_open(&offers[number]);
        if (!box) return false;
        link->to[link->nto++] = (target){.box = box,
                                         .bytes = offers[number].bytes,
                                         .give = give,
                                         .count = count,
                                         .is_block = give[count - 1] - give[0] == count - 1};
    }
    return true;
}

shared_link *shared_connect(const shared_host *host, const spmv_need *need) {
    shared_offer mine = {.file = -1};
    if (host->n < 2) return NULL;
    shared_link *link = link_alloc(host, need);
    shared_offer *offers = calloc((size_t)host->n, sizeof *offers);
    const bool made = shared_on_all(host, link && offers && make_inbox(link, &mine)) &&
                      MPI_Allgather(&mine, sizeof mine, MPI_BYTE, offers, sizeof mine, MPI_BYTE,
                                    host->comm) == MPI_SUCCESS;
    const bool whole = shared_on_all(host, made && open_targets(link, offers));
    if (mine.file >= 0) close(mine.file);
    free(offers);
    if (whole) return link;
    shared_disconnect(link);
    return NULL;
}

/* ---- exchanges ------------------------------------------------------------------------------ */

/* Writes part `part` of `parts`. */
static void write_part(void *arg, int part, int parts) {
    const shared_writing *w = arg;
    const size_t row = w->row;
    const int64_t begin = w->count * part / parts, end = w->count * (part + 1) / parts;
    char *to = w->to + (size_t)begin * row;
    if (!w->give && w->apart == row)
        memcpy(to, w->x + (size_t)begin * row, (size_t)(end - begin) * row);
    else
        for (int64_t k = begin; k < end; k++, to += row)
            shared_copy(to, w->x + (size_t)(w->give ? w->give[k] : k) * w->apart, row);
}

void shared_write(const spmv_need *need, const shared_writing *w) {
    const size_t bytes = (size_t)w->count * w->row;
    if (need->threads > 1 && bytes >= MANY_BYTES)
        need->in_parts(need->threads, write_part, (void *)(uintptr_t)w);
    else
        write_part((void *)(uintptr_t)w, 0, 1);
}

static void write_target(const shared_link *link, const target *t, char *to, const char *x,
                         size_t row, size_t apart) {
    const char *first = t->is_block ? x + (size_t)t->give[0] * apart : x;
    const int32_t *give = t->is_block ? NULL : t->give;
    shared_write(&link->need, &(shared_writing){to, first, give, t->count, row, apart});
}

void shared_start(shared_link *link, const char *x, size_t row, size_t apart) {
    const shared_host *host = link->host;
    link->now++;
    link->row = row;
    shared_post(&link->own->begun, link->now);
    for (int r = 0; r < link->nto; r++) {
        target *t = &link->to[r];
        sender *me = &t->box->from[host->me];
        char *to = slot_of(t->box, host->n, link->now) + (size_t)me->first * row;
        shared_wait(&t->box->begun, link->now - 1, host);
        if (x)
            write_target(link, t, to, x, row, apart);
        else
            shared_lacks(&me->lack, link->now);
        shared_post(&me->posted, link->now);
    }
}

char *shared_inbox(const shared_link *link) {
    return slot_of(link->own, link->host->n, link->now);
}

void shared_finish(shared_link *link) {
    for (int r = 0; r < link->nfrom; r++) {
        sender *s = link->from[r];
        shared_wait(&s->posted, link->now, link->host);
        if (shared_is_lacking(&s->lack, link->now))
            shared_set_nan(shared_inbox(link) + (size_t)s->first * link->row,
                           (size_t)s->count * link->row);
    }
}
