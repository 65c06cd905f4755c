/* many_read.c: all ranks read one matrix, each a piece, up to the rows that each owns. Of a plain
 * file every rank reads its share of the bytes, of any other one rank 0 takes the text and deals it
 * out. Then ranks count together what rows have, cut the rows into blocks, and send each entry to
 * the rank that owns its row. Of a generated matrix every rank makes its own rows. No rank has more
 * than its piece and its rows. */
#include "partition.h"
#include "shuffle.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct entry {
    int32_t row, col; /* of the whole matrix */
    double value;
} entry;

typedef struct loading {
    spmv_world *world;
    const char *path;
    const spmv_load_opts *opts;
    spmv_partition by;
    spmv_reading *file; /* or NULL */
    spmv_making *made;  /* or NULL */
    spmv_reading_head head;
    spmv_piece *pieces;            /* [size] */
    int64_t entries, lines, zeros; /* in the file, so far */
    spmv_chunk *chunks;            /* this rank's entries of the file */
    int64_t *even, *first_row;     /* [size + 1] rows of each rank, evenly and as they are owned */
    int64_t *ptr;          /* of even rows, [rows + 1]: where they begin among all entries */
    int64_t *each, *bytes; /* [size], [2 size] */
    int64_t nnz;           /* of all rows */
    many_own own;
    int64_t *next;      /* [size] where the next entry of each rank's piece goes in own */
    uint64_t sent, got; /* sums of hashes of entries, to other ranks and from them */
} loading;

static bool is_first(const loading *l) {
    return l->world->rank == 0;
}

static spmv_status no_memory(spmv_world *world, const char *what) {
    return many_fail(world, SPMV_E_NOMEM, "out of memory for %s", what);
}

/* Agrees as many_agree does; but what is wrong in a file is so for all ranks: none is named. */
static spmv_status agree(spmv_world *world, spmv_status mine) {
    const spmv_status status = many_agree(world, mine);
    int r = 0;
    if (status != SPMV_E_FORMAT) return status;
    while (world->all[r].status == SPMV_OK) r++;
    return many_fail(world, status, "%s", world->all[r].text);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* What a rank takes while it reads grows with its entries and rows; so much is besides. */
static const double besides = 32e6;

/* Returns the bytes that all ranks take together: an entry as it is read, its copy in compressed
 * rows, and once more its value; a row's offset three times. */
static double bytes_of_all(const loading *l) {
    const int copies = l->head.symmetry == SPMV_GENERAL ? 1 : 2;
    return 36.0 * copies * (double)l->head.entries + 24 * (double)l->head.rows;
}

static spmv_status lack_room(const loading *l, double left) {
    const double all = bytes_of_all(l), each = left - besides;
    char proposal[96] = "even without entries";
    if (each > 0)
        snprintf(proposal, sizeof proposal, "%.0f ranks with as much memory each would fit",
                 ceil(all / each));
    return many_fail(l->world, SPMV_E_NOMEM,
                     "out of memory: each of %d ranks needs about %.2f GB to read %.200s, and %.2f "
                     "GB are free for this one: %s",
                     l->world->size, 1e-9 * (all / l->world->size + besides), l->path, 1e-9 * left,
                     proposal);
}

/* Linux grants memory that it does not have, and ends who uses it: each rank looks first. Those of
 * one host share what is free there. */
static spmv_status check_room(loading *l) {
    const spmv_world *world = l->world;
    const double left =
        0.9 * fmin((double)spmv_rows_room(), (double)spmv_rows_free() / world->here);
    const double needed = bytes_of_all(l) / world->size + besides;
    return many_agree(l->world, needed > left ? lack_room(l, left) : SPMV_OK);
}

/* ---- a file --------------------------------------------------------------------------------- */

static spmv_status open_file(loading *l) {
    spmv_world *world = l->world;
    spmv_status status = SPMV_OK;
    if (is_first(l)) {
        status = spmv_reading_open(world->ctx, l->path, &l->head, &l->file);
        if (status == SPMV_E_IO) spmv_reading_suggest(world->ctx, l->path);
    }
    spmv_reading_head *all = malloc((size_t)world->size * sizeof *all);
    status = many_ctx_failed(world, status);
    if (status == SPMV_OK && !all) status = no_memory(world, "a file's header");
    status = agree(world, status);
    if (status == SPMV_OK) {
        status = world->by->gather(world->state, &l->head, sizeof l->head, all);
        if (status == SPMV_OK && !is_first(l)) {
            l->head = all[0];
            status =
                many_ctx_failed(world, spmv_reading_join(world->ctx, l->path, &l->head, &l->file));
        }
        status = agree(world, status);
    }
    free(all);
    return status;
}

/* Returns the first rank whose piece is refused; size: none is. Counts those before it. */
static int judge(loading *l, int64_t *before) {
    for (int r = 0; r < l->world->size; r++) {
        const spmv_piece *p = &l->pieces[r];
        if (p->entries > l->head.entries - l->entries || p->status != SPMV_OK) return r;
        if (r == l->world->rank) *before = l->entries;
        spmv_reading_note(l->file, p, l->lines);
        l->entries += p->entries;
        l->lines += p->lines;
        l->zeros += p->zeros;
    }
    return l->world->size;
}

/* What is wrong with a text may be due to a damaged archive, which is then said. */
static spmv_status refuse(loading *l, spmv_status mine) {
    spmv_world *world = l->world;
    char text[TEXT_BYTES];
    spmv_status status = agree(world, many_ctx_failed(world, mine));
    if (status != SPMV_E_FORMAT || l->head.bytes >= 0) return status;
    snprintf(text, sizeof text, "%s", world->mine.text);
    const bool damaged = is_first(l) && spmv_reading_is_damaged(l->file);
    status = agree(world, damaged ? many_ctx_failed(world, SPMV_E_FORMAT) : SPMV_OK);
    return status == SPMV_OK ? many_fail(world, SPMV_E_FORMAT, "%s", text) : status;
}

/* Puts the pieces that ranks have read in their order in the file. */
static spmv_status settle(loading *l, const spmv_piece *mine) {
    spmv_world *world = l->world;
    int64_t before = 0;
    const spmv_status status = world->by->gather(world->state, mine, sizeof *mine, l->pieces);
    if (status != SPMV_OK) return many_fail(world, status, "the counts of pieces were lost");
    const int wrong = judge(l, &before);
    if (wrong < world->size)
        return refuse(l, wrong == world->rank ? spmv_reading_refuse(l->file, l->entries, l->lines)
                                              : SPMV_OK);
    spmv_reading_keep(l->file, before);
    return SPMV_OK;
}

static spmv_status read_shares(loading *l) {
    spmv_piece mine;
    spmv_reading_share(l->file, l->world->rank, l->world->size,
                       is_first(l) ? l->opts->progress : NULL, l->opts->progress_arg, &mine);
    return settle(l, &mine);
}

/* ---- text that rank 0 deals out ------------------------------------------------------------- */

enum { PARSERS = 4 }; /* ranks that get text in a round */

typedef struct dealt { /* a round: ranks from `first` on, before `end`, get text */
    int first, end;
    char *out, *in; /* of rank 0: [PARSERS][SPMV_READING_TEXT]; [SPMV_READING_TEXT] */
    int64_t *out_bytes, *in_bytes;
    int64_t *size; /* [2 size] of text, and whether there is any, for each */
    int64_t size_of_mine[2];
} dealt;

static bool dealt_alloc(const loading *l, dealt *d) {
    const size_t size = (size_t)l->world->size;
    d->out = malloc(is_first(l) ? (size_t)PARSERS * SPMV_READING_TEXT : 1);
    d->in = malloc(SPMV_READING_TEXT);
    d->out_bytes = calloc(size, sizeof *d->out_bytes);
    d->in_bytes = calloc(size, sizeof *d->in_bytes);
    d->size = calloc(2 * size, sizeof *d->size);
    return d->out && d->in && d->out_bytes && d->in_bytes && d->size;
}

static void dealt_free(dealt *d) {
    free(d->out);
    free(d->in);
    free(d->out_bytes);
    free(d->in_bytes);
    free(d->size);
}

/* Rank 0 unpacks, if there are others that read. */
static void next_parsers(const loading *l, dealt *d) {
    const int size = l->world->size, least = size > 1;
    d->first = d->end < size && d->end > 0 ? d->end : least;
    d->end = d->first + PARSERS < size ? d->first + PARSERS : size;
}

/* Fills the texts of a round; *rest: what rank 0 must read itself, if there is nothing else. */
static bool unpack(loading *l, dealt *d, spmv_piece *rest) {
    size_t all = 0;
    bool has_rest = false;
    memset(d->size, 0, 2 * (size_t)l->world->size * sizeof *d->size);
    for (int r = d->first; r < d->end; r++) {
        const size_t bytes = spmv_reading_unpack(l->file, d->out + all);
        d->size[2 * r] = (int64_t)bytes;
        all += bytes;
    }
    if (!all) has_rest = spmv_reading_rest(l->file, rest);
    for (int r = 0; r < l->world->size; r++) d->size[2 * r + 1] = all || has_rest;
    return has_rest;
}

static spmv_status deal(loading *l, dealt *d, int64_t item, const void *out, void *in) {
    spmv_world *world = l->world;
    memset(d->in_bytes, 0, (size_t)world->size * sizeof *d->in_bytes);
    for (int r = 0; r < world->size; r++)
        d->out_bytes[r] = !is_first(l) ? 0 : item ? item : d->size[2 * r];
    d->in_bytes[0] = item ? item : d->size_of_mine[0];
    const spmv_status status = world->by->deal(world->state, out, d->out_bytes, in, d->in_bytes);
    return status == SPMV_OK ? status : many_fail(world, status, "text was lost");
}

static spmv_status read_round(loading *l, dealt *d, bool *more) {
    spmv_piece mine = {.status = SPMV_OK};
    bool has_rest = false;
    next_parsers(l, d);
    if (is_first(l)) has_rest = unpack(l, d, &mine);
    spmv_status status = deal(l, d, sizeof d->size_of_mine, d->size, d->size_of_mine);
    *more = d->size_of_mine[1];
    if (status != SPMV_OK || !*more) return status;
    status = deal(l, d, 0, d->out, d->in);
    if (status != SPMV_OK) return status;
    const size_t bytes = (size_t)d->size_of_mine[0];
    memset(d->in + bytes, 0, SPMV_READING_PAD);
    if (!has_rest) spmv_reading_parse(l->file, d->in, bytes, &mine);
    status = settle(l, &mine);
    if (status == SPMV_OK && is_first(l) && l->opts->progress && l->head.entries)
        l->opts->progress(l->opts->progress_arg, (double)l->entries / (double)l->head.entries);
    return status;
}

static spmv_status read_stream(loading *l) {
    dealt d = {.out = NULL};
    spmv_status status = agree(
        l->world, dealt_alloc(l, &d) ? SPMV_OK : no_memory(l->world, "pieces of a file's text"));
    for (bool more = true; status == SPMV_OK && more;) status = read_round(l, &d, &more);
    dealt_free(&d);
    return status;
}

/* The header's lines stand before the first piece. */
static spmv_status read_file(loading *l) {
    l->lines = l->head.size_line;
    l->pieces = malloc((size_t)l->world->size * sizeof *l->pieces);
    spmv_status status =
        agree(l->world, l->pieces ? SPMV_OK : no_memory(l->world, "pieces of a file"));
    if (status == SPMV_OK) status = l->head.bytes >= 0 ? read_shares(l) : read_stream(l);
    if (status == SPMV_OK && l->entries < l->head.entries)
        status =
            refuse(l, is_first(l) ? spmv_reading_finish(l->file, l->entries, l->lines) : SPMV_OK);
    if (status == SPMV_OK && is_first(l) && l->opts->progress)
        l->opts->progress(l->opts->progress_arg, 1);
    if (status == SPMV_OK) l->chunks = spmv_reading_take(l->file);
    spmv_reading_close(l->file);
    l->file = NULL;
    return status;
}

/* ---- entries, one by one -------------------------------------------------------------------- */

typedef struct run { /* of entries of one row */
    int32_t row, n;
} run;

typedef struct walk { /* over this rank's entries of the file */
    loading *l;
    const int64_t *first; /* [size + 1] rows of each rank */
    spmv_chunk *chunk;
    int64_t k;
    int half;     /* 1: the mirror image of an entry */
    int owner[2]; /* of the last entry's row; of its image's */
    run last[2];
    bool frees; /* chunks that are done */
} walk;

static walk walk_of(loading *l, const int64_t *first) {
    return (walk){.l = l, .first = first, .chunk = l->chunks};
}

static inline entry entry_at(const loading *l, const spmv_some_entries *has, int64_t k, int half) {
    const double a = has->values ? has->values[k] : 1;
    if (!half) return (entry){has->row[k], has->col[k], a};
    return (entry){has->col[k], has->row[k], l->head.symmetry == SPMV_SKEW_SYMMETRIC ? -a : a};
}

/* Calls `use` for each entry and each mirror image; false: it is to be called again for the one
 * that it refused. */
static inline __attribute__((always_inline)) bool
each_entry(walk *w, void *arg, bool (*use)(walk *w, void *arg, const entry *e)) {
    const bool mirrored = w->l->head.symmetry != SPMV_GENERAL;
    while (w->chunk) {
        const spmv_some_entries has = w->chunk->has;
        for (; w->k < has.n; w->k++, w->half = 0)
            for (; w->half <= (mirrored && has.row[w->k] != has.col[w->k]); w->half++) {
                const entry e = entry_at(w->l, &has, w->k, w->half);
                if (!use(w, arg, &e)) return false;
            }
        spmv_chunk *done = w->chunk;
        w->chunk = done->next;
        w->k = 0;
        if (w->frees) free(done);
    }
    return true;
}

static inline int owner_of(walk *w, int64_t row) {
    return w->owner[w->half] = many_owner(w->first, w->l->world->size, row, w->owner[w->half]);
}

static inline uint64_t hash_of(const entry *e) {
    uint64_t bits, h = (uint64_t)(uint32_t)e->row << 32 | (uint32_t)e->col;
    memcpy(&bits, &e->value, sizeof bits);
    h = (h * 0x9e3779b97f4a7c15u) ^ (h >> 31) ^ bits;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

static void free_chunks(spmv_chunk *c) {
    for (spmv_chunk *next; c; c = next) {
        next = c->next;
        free(c);
    }
}

/* ---- what rows have ------------------------------------------------------------------------- */

static int64_t own_even(const loading *l) {
    return l->even[l->world->rank];
}

static bool post_run(walk *w, many_boxes *boxes, const run *r) {
    const int owner = owner_of(w, r->row);
    if (owner != w->l->world->rank) return many_put(boxes, owner, r);
    w->l->ptr[r->row - own_even(w->l) + 1] += r->n;
    return true;
}

static bool count_entry(walk *w, void *arg, const entry *e) {
    run *last = &w->last[w->half];
    if (last->n && last->row == e->row && last->n < INT32_MAX) {
        last->n++;
        return true;
    }
    if (last->n && !post_run(w, arg, last)) return false;
    *last = (run){e->row, 1};
    return true;
}

static bool send_runs(void *arg, many_boxes *boxes) {
    walk *w = arg;
    if (!each_entry(w, boxes, count_entry)) return true;
    for (w->half = 0; w->half < 2; w->half++) {
        run *last = &w->last[w->half];
        if (last->n && !post_run(w, boxes, last)) return true;
        last->n = 0;
    }
    w->half = 0;
    return false;
}

static void take_runs(void *arg, int from, const void *items, int64_t n) {
    const loading *l = ((const walk *)arg)->l;
    const run *r = items;
    (void)from;
    for (int64_t k = 0; k < n; k++) l->ptr[r[k].row - own_even(l) + 1] += r[k].n;
}

/* Every rank counts what its even share of the rows has, of what all have read. */
static spmv_status count_rows(loading *l) {
    walk w = walk_of(l, l->even);
    const many_shuffle runs = {sizeof(run), send_runs, take_runs, &w};
    return many_shuffle_all(l->world, &runs);
}

/* From lengths of even rows to where they begin among all entries. */
static spmv_status sum_rows(loading *l) {
    spmv_world *world = l->world;
    const int64_t rows = l->even[world->rank + 1] - own_even(l);
    int64_t before = 0;
    l->ptr[0] = 0;
    for (int64_t i = 0; i < rows; i++) l->ptr[i + 1] += l->ptr[i];
    const spmv_status status =
        world->by->gather(world->state, &l->ptr[rows], sizeof *l->ptr, l->each);
    if (status != SPMV_OK) return many_fail(world, status, "the lengths of rows were lost");
    for (int r = 0; r < world->rank; r++) before += l->each[r];
    l->nnz = 0;
    for (int r = 0; r < world->size; r++) l->nnz += l->each[r];
    for (int64_t i = 0; i <= rows; i++) l->ptr[i] += before;
    return SPMV_OK;
}

/* ---- blocks of rows ------------------------------------------------------------------------- */

/* Each cut is found by the rank whose even rows it falls into; all get all. */
static spmv_status cut_rows(loading *l, int64_t *first_row) {
    spmv_world *world = l->world;
    const int size = world->size;
    const int64_t rows = l->even[world->rank + 1] - own_even(l), base = l->ptr[0];
    if (l->by == SPMV_BY_ROWS || l->nnz == 0) {
        memcpy(first_row, l->even, ((size_t)size + 1) * sizeof *first_row);
        return SPMV_OK;
    }
    int64_t *all = malloc((size_t)size * (size_t)size * sizeof *all);
    spmv_status status = many_agree(world, all ? SPMV_OK : no_memory(world, "blocks of rows"));
    memset(l->each, 0, (size_t)size * sizeof *l->each);
    for (int r = 1; r < size && status == SPMV_OK; r++) {
        const double target = (double)r / size * (double)l->nnz;
        if ((double)base < target && target <= (double)l->ptr[rows])
            l->each[r] = own_even(l) + many_cut(l->ptr, rows, target);
    }
    if (status == SPMV_OK) {
        status = world->by->gather(world->state, l->each, (size_t)size * sizeof *l->each, all);
        if (status != SPMV_OK) many_fail(world, status, "blocks of rows were lost");
    }
    for (int r = 1; r < size && status == SPMV_OK; r++) {
        first_row[r] = 0;
        for (int k = 0; k < size; k++) first_row[r] += all[k * size + r];
    }
    first_row[0] = 0;
    first_row[size] = l->even[size];
    free(all);
    return status;
}

/* Sends numbers of rows from the ranks that have them to those that shall, in blocks both. */
static spmv_status relay(loading *l, const int64_t *from, const int64_t *to, const int64_t *out,
                         int64_t *in) {
    spmv_world *world = l->world;
    int64_t *out_bytes = l->bytes, *in_bytes = l->bytes + world->size;
    const int me = world->rank;
    for (int r = 0; r < world->size; r++) {
        const int64_t begin = from[me] > to[r] ? from[me] : to[r];
        const int64_t end = from[me + 1] < to[r + 1] ? from[me + 1] : to[r + 1];
        const int64_t start = from[r] > to[me] ? from[r] : to[me];
        const int64_t stop = from[r + 1] < to[me + 1] ? from[r + 1] : to[me + 1];
        out_bytes[r] = end > begin ? (end - begin) * (int64_t)sizeof *out : 0;
        in_bytes[r] = stop > start ? (stop - start) * (int64_t)sizeof *in : 0;
    }
    const spmv_status status = world->by->deal(world->state, out, out_bytes, in, in_bytes);
    return status == SPMV_OK ? status : many_fail(world, status, "numbers of rows were lost");
}

/* ---- entries to the ranks that own their rows ------------------------------------------------ */

static bool count_owner(walk *w, void *arg, const entry *e) {
    int64_t *count = arg;
    count[owner_of(w, e->row)]++;
    return true;
}

static inline void append(loading *l, int from, const entry *e) {
    const int64_t at = l->next[from]++;
    l->own.row[at] = (int32_t)(e->row - l->first_row[l->world->rank]);
    l->own.col[at] = e->col;
    l->own.value[at] = e->value;
}

static bool send_entry(walk *w, void *arg, const entry *e) {
    const int owner = owner_of(w, e->row), me = w->l->world->rank;
    if (owner == me) {
        append(w->l, me, e);
        return true;
    }
    if (!many_put(arg, owner, e)) return false;
    w->l->sent += hash_of(e);
    return true;
}

static bool send_entries(void *arg, many_boxes *boxes) {
    return !each_entry(arg, boxes, send_entry);
}

static void take_entries(void *arg, int from, const void *items, int64_t n) {
    loading *l = ((walk *)arg)->l;
    const entry *e = items;
    for (int64_t k = 0; k < n; k++) {
        append(l, from, &e[k]);
        l->got += hash_of(&e[k]);
    }
}

static spmv_status own_alloc(loading *l, int64_t n) {
    many_own *own = &l->own;
    own->n = n;
    own->row = spmv_rows_take(l->world->ctx, ((size_t)n + 1) * sizeof *own->row);
    own->col = spmv_rows_take(l->world->ctx, ((size_t)n + 1) * sizeof *own->col);
    own->value = spmv_rows_take(l->world->ctx, ((size_t)n + 1) * sizeof *own->value);
    return own->row && own->col && own->value ? SPMV_OK
                                              : no_memory(l->world, "entries of own rows");
}

/* Says whether every entry that was sent has arrived, and as it was. */
static spmv_status compare(loading *l) {
    spmv_world *world = l->world;
    const uint64_t mine[2] = {l->sent, l->got};
    uint64_t(*all)[2] = malloc((size_t)world->size * sizeof *all), sent = 0, got = 0;
    spmv_status status = many_agree(world, all ? SPMV_OK : no_memory(world, "sums"));
    if (status == SPMV_OK) status = world->by->gather(world->state, mine, sizeof mine, all);
    for (int r = 0; r < world->size && status == SPMV_OK; r++) sent += all[r][0], got += all[r][1];
    free(all);
    if (status != SPMV_OK || sent == got) return status;
    return many_fail(world, SPMV_E_DEVICE, "entries were lost or changed between ranks");
}

/* Own entries are those of the file's order: of rank 0's piece, of rank 1's, and so on. */
static spmv_status send_all(loading *l) {
    spmv_world *world = l->world;
    const int size = world->size;
    int64_t n = 0;
    walk counts = walk_of(l, l->first_row), w = counts;
    memset(l->each, 0, (size_t)size * sizeof *l->each);
    l->sent = l->got = 0;
    each_entry(&counts, l->each, count_owner);
    for (int r = 0; r < 2 * size; r++) l->bytes[r] = sizeof *l->each;
    spmv_status status = world->by->deal(world->state, l->each, l->bytes, l->next, l->bytes + size);
    for (int r = 0; r < size && status == SPMV_OK; r++) {
        const int64_t count = l->next[r];
        l->next[r] = n;
        n += count;
    }
    if (status == SPMV_OK) status = own_alloc(l, n);
    status = many_agree(world, status);
    if (status != SPMV_OK) return status;
    w.frees = true;
    l->chunks = NULL;
    const many_shuffle entries = {sizeof(entry), send_entries, take_entries, &w};
    status = many_shuffle_all(world, &entries);
    free_chunks(w.chunk);
    return status == SPMV_OK ? compare(l) : status;
}

/* ---- a generated matrix --------------------------------------------------------------------- */

static spmv_status open_making(loading *l) {
    spmv_world *world = l->world;
    const spmv_status status =
        spmv_making_open(world->ctx, l->path + strlen("gen:"), l->opts, &l->made);
    if (status == SPMV_OK)
        l->head.entries = spmv_making_size(l->made, &l->head.rows, &l->head.cols, &l->head.field);
    return agree(world, many_ctx_failed(world, status));
}

/* Makes own rows, whose lengths come from the ranks that have counted them. */
static spmv_status make_rows(loading *l) {
    spmv_world *world = l->world;
    const int me = world->rank;
    const int64_t first = l->first_row[me], end = l->first_row[me + 1];
    int64_t *row_ptr = malloc(((size_t)(end - first) + 1) * sizeof *row_ptr);
    spmv_status status =
        many_agree(world, row_ptr ? SPMV_OK : no_memory(world, "the lengths of own rows"));
    if (status == SPMV_OK) status = relay(l, l->even, l->first_row, l->ptr + 1, row_ptr + 1);
    status = many_agree(world, status);
    if (status == SPMV_OK) {
        /* the first row begins where the one before it ends, on whichever rank that is */
        int64_t position = 0;
        const int64_t n = end > first ? row_ptr[end - first] : 0;
        const int64_t mine[2] = {first, n};
        status = world->by->gather(world->state, mine, sizeof mine, l->bytes);
        for (int r = 0; r < me; r++)
            if (l->bytes[2 * r + 1] > position) position = l->bytes[2 * r + 1];
        row_ptr[0] = 0;
        for (int64_t i = 1; i <= end - first; i++) row_ptr[i] -= position;
        if (status == SPMV_OK) status = own_alloc(l, row_ptr[end - first]);
        const spmv_some_entries own = {l->own.n, l->own.row, l->own.col, l->own.value};
        if (status == SPMV_OK)
            status = many_ctx_failed(
                world, spmv_making_fill(l->made, first, end, row_ptr, position, &own));
        for (int64_t k = 0; status == SPMV_OK && k < own.n; k++) {
            own.row[k] -= (int32_t)first;
            l->zeros += own.values[k] == 0;
        }
        status = many_agree(world, status);
    }
    free(row_ptr);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static spmv_status tables_alloc(loading *l) {
    const size_t size = (size_t)l->world->size;
    l->even = malloc((size + 1) * sizeof *l->even);
    l->first_row = malloc((size + 1) * sizeof *l->first_row);
    l->each = malloc(size * sizeof *l->each);
    l->bytes = malloc(2 * size * sizeof *l->bytes);
    l->next = malloc(size * sizeof *l->next);
    if (!l->even || !l->first_row || !l->each || !l->bytes || !l->next)
        return no_memory(l->world, "blocks of rows");
    for (int r = 0; r <= l->world->size; r++)
        l->even[r] = many_even(l->head.rows, r, l->world->size);
    l->ptr = calloc((size_t)(l->even[l->world->rank + 1] - own_even(l)) + 1, sizeof *l->ptr);
    return l->ptr ? SPMV_OK : no_memory(l->world, "the lengths of rows");
}

static void loading_free(loading *l) {
    spmv_reading_close(l->file);
    spmv_making_close(l->made);
    free_chunks(l->chunks);
    many_own_free(l->world, &l->own);
    free(l->pieces);
    free(l->even);
    free(l->first_row);
    free(l->ptr);
    free(l->each);
    free(l->bytes);
    free(l->next);
}

void many_own_free(spmv_world *world, many_own *own) {
    spmv_rows_give(world->ctx, own->row);
    spmv_rows_give(world->ctx, own->col);
    spmv_rows_give(world->ctx, own->value);
    *own = (many_own){0};
}

/* Reads or counts, and cuts. */
static spmv_status read_entries(loading *l) {
    spmv_world *world = l->world;
    spmv_status status = l->made ? SPMV_OK : read_file(l);
    if (status == SPMV_OK) status = many_agree(world, tables_alloc(l));
    if (status == SPMV_OK && l->made)
        status = many_agree(
            world, many_ctx_failed(world, spmv_making_count(l->made, own_even(l),
                                                            l->even[world->rank + 1], l->ptr + 1)));
    else if (status == SPMV_OK)
        status = count_rows(l);
    if (status == SPMV_OK) status = sum_rows(l);
    if (status == SPMV_OK) status = cut_rows(l, l->first_row);
    if (status == SPMV_OK) status = l->made ? make_rows(l) : send_all(l);
    return status;
}

static spmv_status build_rows(loading *l, spmv_some_rows *out) {
    const int me = l->world->rank;
    const spmv_coo_view A = {.size = sizeof A,
                             .rows = l->first_row[me + 1] - l->first_row[me],
                             .cols = l->head.cols,
                             .nnz = l->own.n,
                             .row = l->own.row,
                             .col = l->own.col,
                             .values = l->own.value};
    const spmv_status status = spmv_rows_build(l->world->ctx, &A, l->first_row[me], out);
    return agree(l->world, many_ctx_failed(l->world, status));
}

/* What is left of rows whose duplicates were added may be cut elsewhere: then entries move. */
static spmv_status cut_again(loading *l, spmv_some_rows *rows, bool *moved) {
    spmv_world *world = l->world;
    const int me = world->rank;
    int64_t *cut = malloc(((size_t)world->size + 1) * sizeof *cut);
    int64_t *length = malloc(((size_t)rows->rows + 1) * sizeof *length);
    spmv_chunk *own = calloc(1, sizeof *own);
    many_own before = {0};
    spmv_status status =
        many_agree(world, cut && length && own ? SPMV_OK : no_memory(world, "blocks of rows"));
    for (int64_t i = 0; i < rows->rows && status == SPMV_OK; i++)
        length[i] = rows->row_ptr[i + 1] - rows->row_ptr[i];
    if (status == SPMV_OK) status = relay(l, l->first_row, l->even, length, l->ptr + 1);
    status = many_agree(world, status);
    if (status == SPMV_OK) status = sum_rows(l);
    if (status == SPMV_OK) status = cut_rows(l, cut);
    *moved = status == SPMV_OK &&
             memcmp(cut, l->first_row, ((size_t)world->size + 1) * sizeof *cut) != 0;
    if (*moved) {
        before = l->own;
        for (int64_t k = 0; k < before.n; k++) before.row[k] += (int32_t)l->first_row[me];
        own->has = (spmv_some_entries){before.n, before.row, before.col, before.value};
        memcpy(l->first_row, cut, ((size_t)world->size + 1) * sizeof *cut);
        l->chunks = own;
        l->own = (many_own){0};
        l->head.symmetry = SPMV_GENERAL; /* images are among them */
        own = NULL;
        status = send_all(l);
        many_own_free(world, &before);
    }
    free(own);
    free(length);
    free(cut);
    return status;
}

typedef struct counted { /* of a rank's rows */
    spmv_tally tally;
    int64_t merged, merged_above, zeros;
} counted;

static spmv_status add_up(spmv_world *world, counted *mine, counted *sum) {
    counted *all = malloc((size_t)world->size * sizeof *all);
    spmv_status status = many_agree(world, all ? SPMV_OK : no_memory(world, "statistics"));
    if (status == SPMV_OK) status = world->by->gather(world->state, mine, sizeof *mine, all);
    *sum = (counted){.merged = 0};
    for (int r = 0; r < world->size && status == SPMV_OK; r++) {
        spmv_tally_add(&sum->tally, &all[r].tally);
        sum->merged += all[r].merged;
        sum->merged_above += all[r].merged_above;
        sum->zeros += all[r].zeros;
    }
    free(all);
    return status;
}

/* Says of the whole matrix what spmv_mat_stats does. */
static spmv_status tell_stats(loading *l, const spmv_some_rows *rows, spmv_symmetry symmetry,
                              spmv_stats *out) {
    const int threads = spmv_ctx_threads(l->world->ctx);
    counted mine = {.merged = rows->merged, .merged_above = rows->merged_above}, all;
    if (l->made || is_first(l)) mine.zeros = l->zeros;
    mine.tally = (spmv_tally){.rows = rows->rows, .nnz = rows->nnz};
    spmv_status status = add_up(l->world, &mine, &all);
    if (status != SPMV_OK) return status;
    mine.tally = (spmv_tally){0};
    spmv_tally_lengths(rows->row_ptr, rows->rows,
                       all.tally.rows ? all.tally.nnz / all.tally.rows : 0, threads, &mine.tally);
    spmv_tally_entries(rows, threads, &mine.tally);
    status = add_up(l->world, &mine, &all);
    if (status != SPMV_OK) return status;
    spmv_tally_tell(&all.tally, l->head.cols, out);
    out->nnz_file = l->made ? l->nnz : l->head.entries;
    out->duplicates = all.merged - (symmetry == SPMV_GENERAL ? 0 : all.merged_above);
    out->explicit_zeros = all.zeros;
    out->field = l->head.field;
    out->symmetry = symmetry;
    return SPMV_OK;
}

static spmv_status make(loading *l, bool keep, many_loaded *out) {
    spmv_world *world = l->world;
    const double start = many_now();
    bool moved = false;
    spmv_status status = read_entries(l);
    const spmv_symmetry symmetry = l->head.symmetry;
    const double read = many_now();
    if (status == SPMV_OK) status = build_rows(l, &out->rows);
    if (status == SPMV_OK && l->by == SPMV_BY_NONZEROS && l->head.rows && !l->made) {
        counted mine = {.merged = out->rows.merged}, all;
        status = add_up(world, &mine, &all);
        if (status == SPMV_OK && all.merged) status = cut_again(l, &out->rows, &moved);
        if (moved) many_rows_free(world, &out->rows);
        if (status == SPMV_OK && moved) status = build_rows(l, &out->rows);
    }
    if (status == SPMV_OK) status = tell_stats(l, &out->rows, symmetry, &out->stats);
    if (status != SPMV_OK) return status;
    const int64_t own_rows = out->rows.rows;
    out->own_cols = l->head.rows == l->head.cols
                        ? own_rows
                        : many_even(l->head.cols, world->rank + 1, world->size) -
                              many_even(l->head.cols, world->rank, world->size);
    out->stats.read_s = read - start;
    out->stats.build_s = many_now() - read;
    if (keep) {
        out->own = l->own;
        l->own = (many_own){0};
    }
    return SPMV_OK;
}

void many_rows_free(spmv_world *world, spmv_some_rows *rows) {
    spmv_rows_give(world->ctx, rows->row_ptr);
    spmv_rows_give(world->ctx, rows->col_idx);
    spmv_rows_give(world->ctx, rows->values);
    *rows = (spmv_some_rows){0};
}

spmv_status many_read_rows(spmv_world *world, const char *path, const spmv_load_opts *opts,
                           spmv_partition by, bool keep, many_loaded *out) {
    loading l = {.world = world, .path = path, .opts = opts, .by = by};
    const bool made = strncmp(path, "gen:", strlen("gen:")) == 0;
    *out = (many_loaded){.own_cols = 0};
    spmv_status status = SPMV_OK;
    if (!made && opts->values)
        status = many_fail(world, SPMV_E_ARG, "%s: values are chosen for gen: matrices only", path);
    status = many_agree(world, status);
    if (status == SPMV_OK) status = made ? open_making(&l) : open_file(&l);
    if (status == SPMV_OK) status = check_room(&l);
    if (status == SPMV_OK) status = make(&l, keep, out);
    loading_free(&l);
    if (status != SPMV_OK) many_rows_free(world, &out->rows);
    return status;
}
