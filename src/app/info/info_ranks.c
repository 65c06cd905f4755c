/* info_ranks.c: spmv info --ranks: what each rank of an MPI program would hold, receive and send of
 * a matrix, counted without MPI, and the efficiency that a model predicts of that
 * (docs/howto/ranks.md). */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "app/record/write_csv.h"
#include "app/record/write_jsonl.h"
#include "app/run/limits/rates.h"
#include "app/run/results/describe.h"
#include "info_ranks.h"
#include "ranks/partition/partition.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct rank_facts {
#define FIELD(type, name, key, unit, help) type name;
#include "rank_facts.def"
#undef FIELD
} rank_facts;

static const field table[] = {
#define FIELD(type, name, key, unit, help) \
    {TYPE_##type, offsetof(rank_facts, name), key, unit, help},
#include "rank_facts.def"
#undef FIELD
};

/* ---- the model ------------------------------------------------------------------------------ */

enum { INDEX = 4, OFFSET = 4, PARTS = 2 };   /* bytes of an index, of an offset */
static const double ASSUMED_READ_BPS = 10e9; /* where spmv doctor --probe was not run */

typedef struct product { /* what all ranks have in common */
    double number;       /* bytes of a value, and of a row of x or y: of all vectors */
    double row;
    double read_Bps, latency_s, message_s, network_Bps;
} product;

/* Bytes of the rows that a rank holds as compressed rows, without vectors. */
static double bytes_of_rows(const product *p, double rows, double nnz) {
    return nnz * (p->number + INDEX) + (rows + 1) * OFFSET;
}

static double local_s(const product *p, const ranks_share *s) {
    const double rows = (double)s->rows, nnz = (double)(s->nnz - s->remote_nnz);
    return (bytes_of_rows(p, rows, nnz) + p->row * (rows + (double)s->cols)) / p->read_Bps;
}

/* Returns how many rows the remote part has: own ones, or those of a list. */
static double rows_of_remote(const ranks_share *s, bool *is_listed) {
    *is_listed = ranks_is_listed(s->remote_rows, s->rows);
    return (double)(*is_listed ? s->remote_rows : s->rows);
}

/* Returns its bytes, with the list and the sums of the rows that are listed. */
static double bytes_of_remote(const product *p, const ranks_share *s) {
    bool is_listed;
    const double rows = rows_of_remote(s, &is_listed);
    if (!s->remote_nnz) return 0;
    return bytes_of_rows(p, rows, (double)s->remote_nnz) + (is_listed ? INDEX + p->row : 0) * rows;
}

/* The remote part reads its halo, and reads and writes y of its rows; sums are written and read. */
static double remote_s(const product *p, const ranks_share *s) {
    bool is_listed;
    const double rows = rows_of_remote(s, &is_listed);
    if (!s->remote_nnz) return 0;
    return (bytes_of_remote(p, s) + p->row * ((double)s->received + (is_listed ? 3 : 2) * rows)) /
           p->read_Bps;
}

static double exchange_s(const product *p, const ranks_share *s) {
    const double messages =
                     (double)(s->receives_from > s->sends_to ? s->receives_from : s->sends_to),
                 entries = (double)(s->received > s->sent ? s->received : s->sent);
    if (messages == 0) return 0;
    return p->latency_s + messages * p->message_s + entries * p->row / p->network_Bps;
}

/* A rank holds both parts, its x and y, the halo, and what it sends with its list. */
static double memory_of(const product *p, const ranks_share *s) {
    const double rows = (double)s->rows;
    return bytes_of_rows(p, rows, (double)(s->nnz - s->remote_nnz)) + bytes_of_remote(p, s) +
           p->row * (rows + (double)(s->cols + s->received + s->sent)) + INDEX * (double)s->sent;
}

static void predict(const product *p, const ranks_share *share, int ranks, rank_facts *f) {
    ranks_share alone = {.rows = f->rows, .cols = f->cols, .nnz = f->nnz};
    f->product_s = f->exchange_s = f->together_s = 0;
    for (int r = 0; r < ranks; r++) {
        const double local = local_s(p, &share[r]), remote = remote_s(p, &share[r]),
                     exchange = exchange_s(p, &share[r]);
        f->product_s = fmax(f->product_s, local + remote);
        f->exchange_s = fmax(f->exchange_s, exchange);
        f->together_s = fmax(f->together_s, fmax(local, exchange) + remote);
    }
    f->efficiency = local_s(p, &alone) / (ranks * f->together_s);
    f->read_Bps = p->read_Bps;
    f->latency_s = p->latency_s;
    f->message_s = p->message_s;
    f->network_Bps = p->network_Bps;
}

/* What spmv doctor --probe found of this machine's memory; false: it was not run. */
static bool find_rate(spmv_ctx *ctx, const options *o, double *read_Bps) {
    char key[1024];
    spmv_rates rates;
    machine m;
    machine_read(&m);
    for (int b = 0; spmv_backends[b]; b++) {
        if (!spmv_backends[b]->host) continue;
        rates_key(&m, spmv_backends[b], NULL, spmv_ctx_threads(ctx), key, sizeof key);
        if (!rates_load(o, key, &rates) || rates.others > 0) continue;
        *read_Bps = rates.read;
        return true;
    }
    *read_Bps = ASSUMED_READ_BPS;
    return false;
}

/* ---- facts ---------------------------------------------------------------------------------- */

static whole larger(whole a, whole b) {
    return a > b ? a : b;
}

static void sum_up(const product *p, const ranks_share *share, int ranks, rank_facts *f) {
    whole remote_rows = 0, remote_nnz = 0;
    f->most_rows = f->most_nnz = f->most_bytes = f->all_bytes = 0;
    f->most_received = f->most_sent = f->all_received = f->most_peers = 0;
    for (const ranks_share *s = share; s < share + ranks; s++) {
        const whole bytes = (whole)memory_of(p, s);
        f->most_rows = larger(f->most_rows, s->rows);
        f->most_nnz = larger(f->most_nnz, s->nnz);
        f->most_bytes = larger(f->most_bytes, bytes);
        f->all_bytes += bytes;
        f->most_received = larger(f->most_received, s->received);
        f->most_sent = larger(f->most_sent, s->sent);
        f->all_received += s->received;
        f->most_peers = larger(f->most_peers, larger(s->receives_from, s->sends_to));
        remote_rows += s->remote_rows;
        remote_nnz += s->remote_nnz;
    }
    f->most_received_bytes = (whole)(p->row * (double)f->most_received);
    f->most_sent_bytes = (whole)(p->row * (double)f->most_sent);
    f->all_received_bytes = (whole)(p->row * (double)f->all_received);
    f->imbalance = f->nnz ? (double)f->most_nnz * ranks / (double)f->nnz : NAN;
    f->remote_rows = f->rows ? (double)remote_rows / (double)f->rows : NAN;
    f->remote_nnz = f->nnz ? (double)remote_nnz / (double)f->nnz : NAN;
}

enum { EACH = 9 }; /* facts of every rank */

/* Gives every rank's facts, in [EACH][ranks] numbers. */
static void list_each(const product *p, const ranks_share *share, int ranks, int64_t *room,
                      rank_facts *f) {
    tallies *of[EACH] = {&f->of_rows,        &f->of_nnz,           &f->of_bytes,
                         &f->of_remote_rows, &f->of_remote_nnz,    &f->of_received,
                         &f->of_sent,        &f->of_receives_from, &f->of_sends_to};
    for (int k = 0; k < EACH; k++) *of[k] = (tallies){room + (int64_t)k * ranks, ranks};
    for (int r = 0; r < ranks; r++) {
        const ranks_share *s = &share[r];
        const int64_t facts[EACH] = {s->rows,        s->nnz,           (int64_t)memory_of(p, s),
                                     s->remote_rows, s->remote_nnz,    s->received,
                                     s->sent,        s->receives_from, s->sends_to};
        for (int k = 0; k < EACH; k++) room[(int64_t)k * ranks + r] = facts[k];
    }
}

/* ---- counting ------------------------------------------------------------------------------- */

/* Fills owner, [A->rows]; returns an exit code. */
static int choose_owners(const options *o, const spmv_csr_view *A, int ranks, int32_t *owner) {
    char why[RANKS_WHY] = "", what[RANKS_WHY + 128];
    const char *how = o->partition;
    const bool by_rows = strcmp(how, "rows") == 0;
    if (by_rows || strcmp(how, "nnz") == 0) {
        int64_t *first_row = malloc(((size_t)ranks + 1) * sizeof *first_row);
        if (!first_row) return complain(SPMV_E_NOMEM, NULL);
        spmv_status divided = SPMV_OK;
        if (by_rows)
            ranks_divide(A, SPMV_BY_ROWS, ranks, first_row);
        else
            divided = ranks_divide_split(A, ranks, first_row);
        if (divided == SPMV_OK) ranks_own_blocks(first_row, ranks, owner);
        free(first_row);
        return divided == SPMV_OK ? 0 : complain(divided, NULL);
    }
    const spmv_status status = is_among(how, "metis scotch")
                                   ? ranks_own_by_library(how, A, ranks, owner, why)
                                   : ranks_own_by_file(how, A->rows, ranks, owner, why);
    if (status == SPMV_OK) return 0;
    snprintf(what, sizeof what, "--partition%s%s: %s", is_among(how, "metis scotch") ? "=" : "",
             is_among(how, "metis scotch") ? how : "", why);
    return complain(status, what);
}

/* share: [ranks]. Returns an exit code. */
static int count_shares(spmv_ctx *ctx, const options *o, const spmv_csr_view *A, int ranks,
                        ranks_share *share) {
    int32_t *owner = malloc((size_t)A->rows * sizeof *owner + 1);
    int code = owner ? choose_owners(o, A, ranks, owner) : complain(SPMV_E_NOMEM, NULL);
    const bool splits = strcmp(o->partition, "nnz") == 0;
    if (!code && ranks_count(A, owner, ranks, splits, spmv_ctx_threads(ctx), share) != SPMV_OK)
        code = complain(SPMV_E_NOMEM, "out of memory for counting");
    free(owner);
    return code;
}

/* ---- printing ------------------------------------------------------------------------------- */

enum { COLUMNS = 4 }; /* numbers of ranks beside each other in 80 columns */

static const struct line {
    const char *label;
    field_type type;
    size_t offset;
    double scale;
    int digits;
} lines[] = {
#define LINE(label, type, name, scale, digits) \
    { label, TYPE_##type, offsetof(rank_facts, name), scale, digits }
    LINE("rows, most of a rank", whole, most_rows, 1, 0),
    LINE("nonzeros, most of a rank", whole, most_nnz, 1, 0),
    LINE("imbalance of nonzeros", number, imbalance, 1, 3),
    LINE("memory, most of a rank [MB]", whole, most_bytes, 1e-6, 3),
    LINE("rows with remote entries [%]", number, remote_rows, 100, 2),
    LINE("received, most of a rank", whole, most_received, 1, 0),
    LINE("                    [MB]", whole, most_received_bytes, 1e-6, 3),
    LINE("sent, most of a rank", whole, most_sent, 1, 0),
    LINE("                    [MB]", whole, most_sent_bytes, 1e-6, 3),
    LINE("received, all ranks", whole, all_received, 1, 0),
    LINE("                    [MB]", whole, all_received_bytes, 1e-6, 3),
    LINE("peers, most of a rank", whole, most_peers, 1, 0),
    LINE("predicted: product alone [us]", number, product_s, 1e6, 1),
    LINE("           exchange alone [us]", number, exchange_s, 1e6, 1),
    LINE("           efficiency", number, efficiency, 1, 3),
#undef LINE
};

static void print_cell(const struct line *l, const rank_facts *f) {
    const void *at = (const char *)f + l->offset;
    const double value = l->type == TYPE_whole ? (double)*(const whole *)at : *(const number *)at;
    char text_of[32] = "-";
    if (isfinite(value)) snprintf(text_of, sizeof text_of, "%.*f", l->digits, value * l->scale);
    if (strlen(text_of) > 11) snprintf(text_of, sizeof text_of, "%.5g", value * l->scale);
    printf(" %11s", text_of);
}

/* Each number of ranks is a column. */
static void print_columns(const rank_facts *f, int n) {
    printf("\n  %-30s", "ranks");
    for (int c = 0; c < n; c++) printf(" %11" PRId64, f[c].count);
    printf("\n");
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
        printf("  %-30s", lines[k].label);
        for (int c = 0; c < n; c++) print_cell(&lines[k], &f[c]);
        printf("\n");
    }
}

static void print_each(const rank_facts *f) {
    printf("\n%8s %10s %11s %9s %10s %10s %5s %5s\n", "rank", "rows", "nonzeros", "MB", "received",
           "sent", "from", "to");
    for (int r = 0; r < f->of_rows.count; r++)
        printf("%8d %10" PRId64 " %11" PRId64 " %9.3f %10" PRId64 " %10" PRId64 " %5" PRId64
               " %5" PRId64 "\n",
               r, f->of_rows.value[r], f->of_nnz.value[r], 1e-6 * (double)f->of_bytes.value[r],
               f->of_received.value[r], f->of_sent.value[r], f->of_receives_from.value[r],
               f->of_sends_to.value[r]);
}

static void print_head(const rank_facts *f) {
    char words[512];
    printf("%s: %" PRId64 " rows, %" PRId64 " columns, %" PRId64 " nonzeros\n", f->name, f->rows,
           f->cols, f->nnz);
    snprintf(words, sizeof words,
             "divided by %s; the model: a rank reads %.4g GB/s (%s), a message travels %.4g us "
             "and costs %.4g us, a rank receives %.4g GB/s (--network)",
             f->partition, 1e-9 * f->read_Bps,
             f->is_probed ? "spmv doctor --probe" : "assumed: spmv doctor --probe",
             1e6 * f->latency_s, 1e6 * f->message_s, 1e-9 * f->network_Bps);
    printf("  ");
    print_wrapped(stdout, page_width(stdout, PAGE_WIDTH), 2, 2, words);
}

static int print_facts(const options *o, const rank_facts *facts, int n, int *shown) {
    const fields all = {table, sizeof table / sizeof *table};
    if (strcmp(o->format, "table") == 0) {
        print_head(facts);
        for (int k = 0; k < n; k += COLUMNS)
            print_columns(facts + k, n - k < COLUMNS ? n - k : COLUMNS);
        for (int k = 0; o->verbose && k < n; k++) print_each(&facts[k]);
        return 0;
    }
    for (int k = 0; k < n; k++) {
        int code = 0;
        if (strcmp(o->format, "json") == 0)
            code = json_item(stdout, all, &facts[k], (*shown)++);
        else if (strcmp(o->format, "jsonl") == 0)
            code = jsonl_print(stdout, all, &facts[k]);
        else
            csv_write(stdout, all, &facts[k], (*shown)++ == 0);
        if (code) return code;
    }
    return 0;
}

/* ---- a matrix ------------------------------------------------------------------------------- */

/* One number of ranks. *room: every rank's facts, malloc'd. */
static int find_facts(spmv_ctx *ctx, const options *o, const spmv_csr_view *A, const product *p,
                      int ranks, rank_facts *f, int64_t **room) {
    ranks_share *share = malloc((size_t)ranks * sizeof *share);
    *room = malloc(EACH * (size_t)ranks * sizeof **room);
    int code = share && *room ? count_shares(ctx, o, A, ranks, share)
                              : complain(SPMV_E_NOMEM, "out of memory for so many ranks");
    if (!code) {
        f->count = ranks;
        sum_up(p, share, ranks, f);
        predict(p, share, ranks, f);
        list_each(p, share, ranks, *room, f);
    }
    free(share);
    return code;
}

int inform_ranks(spmv_ctx *ctx, const options *o, const spmv_csr_view *A, const char *name,
                 int *shown) {
    const int n = o->ranks.count;
    const bool f32 = o->precision.count && o->precision.value[0] == SPMV_F32;
    product p = {.number = f32 ? sizeof(float) : sizeof(double),
                 .latency_s = o->latency_s,
                 .message_s = o->message_s,
                 .network_Bps = o->network_Bps};
    p.row = p.number * (double)o->vectors.value[0];
    const bool is_probed = find_rate(ctx, o, &p.read_Bps);
    rank_facts *facts = calloc((size_t)n, sizeof *facts);
    int64_t **room = calloc((size_t)n, sizeof *room);
    char file[512];
    int code = facts && room ? 0 : complain(SPMV_E_NOMEM, NULL);
    spell(base_name(o->partition), file, sizeof file);
    for (int k = 0; k < n && !code; k++) {
        facts[k] = (rank_facts){.name = name,
                                .rows = A->rows,
                                .cols = A->cols,
                                .nnz = A->nnz,
                                .precision = f32 ? "f32" : "f64",
                                .vectors = o->vectors.value[0],
                                .partition = file,
                                .is_probed = is_probed};
        code = find_facts(ctx, o, A, &p, (int)o->ranks.value[k], &facts[k], &room[k]);
    }
    if (!code) code = print_facts(o, facts, n, shown);
    for (int k = 0; room && k < n; k++) free(room[k]);
    free(room);
    free(facts);
    return code;
}
