/* read.c: all ranks together read or generate a matrix. Each rank reads a piece of the file
 * (file.c); the ranks count the entries of each row, cut the rows into blocks, and send each entry
 * to the owner of its row (entries.c). Of a generated matrix every rank generates its own rows. No
 * rank stores more than its piece and its rows. For other partitions than blocks, rows are first
 * read in blocks and then moved (move.c). */
#include "loading.h"
#include "ranks/partition/partition.h"
#include "spmv_clock.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- a generated matrix --------------------------------------------------------------------- */

static spmv_status open_making(loading *l) {
    spmv_ranks *ranks = l->ranks;
    const spmv_status status =
        spmv_making_open(ranks->ctx, l->path + strlen("gen:"), l->opts, &l->made);
    if (status == SPMV_OK)
        l->head.entries = spmv_making_size(l->made, &l->head.rows, &l->head.cols, &l->head.field);
    return ranks_agree_on_file(ranks, ranks_ctx_failed(ranks, status));
}

/* Generates own rows; their lengths come from the ranks that have counted them. */
static spmv_status make_rows(loading *l) {
    spmv_ranks *ranks = l->ranks;
    const int me = ranks->rank;
    const int64_t first = l->first_row[me], end = l->first_row[me + 1];
    int64_t *row_ptr = malloc(((size_t)(end - first) + 1) * sizeof *row_ptr);
    spmv_status status = ranks_agree_memory(ranks, row_ptr != NULL, "the lengths of own rows");
    if (status == SPMV_OK)
        status = ranks_agree(ranks, ranks_relay(l, l->even, l->first_row, l->ptr + 1, row_ptr + 1));
    if (status == SPMV_OK) {
        /* the offset of the first row is the end of the row before it, on an earlier rank */
        int64_t position = 0;
        const int64_t n = end > first ? row_ptr[end - first] : 0;
        const int64_t mine[2] = {first, n};
        status = ranks->by->gather(ranks->state, mine, sizeof mine, l->bytes);
        for (int r = 0; r < me; r++)
            if (l->bytes[2 * r + 1] > position) position = l->bytes[2 * r + 1];
        row_ptr[0] = 0;
        for (int64_t i = 1; i <= end - first; i++) row_ptr[i] -= position;
        if (status == SPMV_OK) status = ranks_own_alloc(l, row_ptr[end - first]);
        const spmv_some_entries own = {l->own.n, l->own.row, l->own.col, l->own.value};
        if (status == SPMV_OK)
            status = ranks_ctx_failed(
                ranks, spmv_making_fill(l->made, first, end, row_ptr, position, &own));
        for (int64_t k = 0; status == SPMV_OK && k < own.n; k++) {
            own.row[k] -= (int32_t)first;
            l->zeros += own.values[k] == 0;
        }
        status = ranks_agree(ranks, status);
    }
    free(row_ptr);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static spmv_status tables_alloc(loading *l) {
    const size_t size = (size_t)l->ranks->size;
    l->even = malloc((size + 1) * sizeof *l->even);
    l->first_row = malloc((size + 1) * sizeof *l->first_row);
    l->each = malloc(size * sizeof *l->each);
    l->bytes = malloc(2 * size * sizeof *l->bytes);
    l->next = malloc(size * sizeof *l->next);
    if (!l->even || !l->first_row || !l->each || !l->bytes || !l->next)
        return ranks_no_memory(l->ranks, "blocks of rows");
    for (int r = 0; r <= l->ranks->size; r++)
        l->even[r] = ranks_even(l->head.rows, r, l->ranks->size);
    l->ptr = calloc((size_t)(l->even[l->ranks->rank + 1] - own_even(l)) + 1, sizeof *l->ptr);
    return l->ptr ? SPMV_OK : ranks_no_memory(l->ranks, "the lengths of rows");
}

static void loading_free(loading *l) {
    spmv_reading_close(l->file);
    spmv_making_close(l->made);
    ranks_chunks_free(l->chunks);
    ranks_own_free(l->ranks, &l->own);
    free(l->pieces);
    free(l->even);
    free(l->first_row);
    free(l->ptr);
    free(l->each);
    free(l->bytes);
    free(l->next);
}

/* Reads the file or counts generated rows, cuts the rows, and brings entries to their owners. */
static spmv_status read_entries(loading *l) {
    spmv_ranks *ranks = l->ranks;
    spmv_status status = l->made ? SPMV_OK : ranks_file_read(l);
    if (status == SPMV_OK) status = ranks_agree(ranks, tables_alloc(l));
    if (status == SPMV_OK && l->made)
        status =
            ranks_agree(ranks, ranks_ctx_failed(ranks, spmv_making_count(l->made, own_even(l),
                                                                         l->even[ranks->rank + 1],
                                                                         l->ptr + 1)));
    else if (status == SPMV_OK)
        status = ranks_count_rows(l);
    if (status == SPMV_OK) status = ranks_sum_rows(l);
    if (status == SPMV_OK) status = ranks_cut_rows(l, l->first_row);
    if (status == SPMV_OK) status = l->made ? make_rows(l) : ranks_send_entries(l);
    return status;
}

/* Cuts the rows again after duplicates were merged, and moves entries if a cut has changed. */
static spmv_status cut_again(loading *l, spmv_some_rows *rows, bool *moved) {
    spmv_ranks *ranks = l->ranks;
    const int me = ranks->rank;
    int64_t *cut = malloc(((size_t)ranks->size + 1) * sizeof *cut);
    int64_t *length = malloc(((size_t)rows->rows + 1) * sizeof *length);
    spmv_status status = ranks_agree_memory(ranks, cut && length, "blocks of rows");
    for (int64_t i = 0; i < rows->rows && status == SPMV_OK; i++)
        length[i] = rows->row_ptr[i + 1] - rows->row_ptr[i];
    if (status == SPMV_OK)
        status = ranks_agree(ranks, ranks_relay(l, l->first_row, l->even, length, l->ptr + 1));
    if (status == SPMV_OK) status = ranks_sum_rows(l);
    if (status == SPMV_OK) status = ranks_cut_rows(l, cut);
    *moved = status == SPMV_OK &&
             memcmp(cut, l->first_row, ((size_t)ranks->size + 1) * sizeof *cut) != 0;
    if (*moved) {
        for (int64_t k = 0; k < l->own.n; k++) l->own.row[k] += (int32_t)l->first_row[me];
        memcpy(l->first_row, cut, ((size_t)ranks->size + 1) * sizeof *cut);
        status = ranks_move_entries(l);
    }
    free(length);
    free(cut);
    return status;
}

typedef struct counted { /* counts over a rank's rows */
    spmv_tally tally;
    int64_t merged, merged_above, zeros;
} counted;

static spmv_status add_up(spmv_ranks *ranks, counted *mine, counted *sum) {
    counted *all = malloc((size_t)ranks->size * sizeof *all);
    spmv_status status = ranks_agree_memory(ranks, all != NULL, "statistics");
    if (status == SPMV_OK) status = ranks->by->gather(ranks->state, mine, sizeof *mine, all);
    *sum = (counted){.merged = 0};
    for (int r = 0; r < ranks->size && status == SPMV_OK; r++) {
        spmv_tally_add(&sum->tally, &all[r].tally);
        sum->merged += all[r].merged;
        sum->merged_above += all[r].merged_above;
        sum->zeros += all[r].zeros;
    }
    free(all);
    return status;
}

/* Computes the statistics of the whole matrix, as spmv_mat_stats returns them. */
static spmv_status tell_stats(loading *l, const spmv_some_rows *rows, spmv_symmetry symmetry,
                              spmv_stats *out) {
    const int threads = spmv_ctx_threads(l->ranks->ctx);
    counted mine = {.merged = rows->merged, .merged_above = rows->merged_above}, all;
    if (l->made || is_first(l)) mine.zeros = l->zeros;
    mine.tally = (spmv_tally){.rows = rows->rows, .nnz = rows->nnz};
    spmv_status status = add_up(l->ranks, &mine, &all);
    if (status != SPMV_OK) return status;
    mine.tally = (spmv_tally){0};
    spmv_tally_lengths(rows->row_ptr, rows->rows,
                       all.tally.rows ? all.tally.nnz / all.tally.rows : 0, threads, &mine.tally);
    spmv_tally_entries(rows, threads, &mine.tally);
    status = add_up(l->ranks, &mine, &all);
    if (status != SPMV_OK) return status;
    spmv_tally_tell(&all.tally, l->head.cols, out);
    out->nnz_file = l->made ? l->nnz : l->head.entries;
    out->duplicates = all.merged - (symmetry == SPMV_GENERAL ? 0 : all.merged_above);
    out->explicit_zeros = all.zeros;
    out->field = l->head.field;
    out->symmetry = symmetry;
    return SPMV_OK;
}

static spmv_status make(loading *l, bool keep, ranks_loaded *out) {
    spmv_ranks *ranks = l->ranks;
    const double start = spmv_now();
    bool moved = false;
    spmv_status status = read_entries(l);
    const spmv_symmetry symmetry = l->head.symmetry;
    const double read = spmv_now();
    if (status == SPMV_OK) status = ranks_build_rows(l, &out->rows);
    if (status == SPMV_OK && l->by == SPMV_BY_NONZEROS && l->head.rows && !l->made) {
        counted mine = {.merged = out->rows.merged}, all;
        status = add_up(ranks, &mine, &all);
        if (status == SPMV_OK && all.merged) status = cut_again(l, &out->rows, &moved);
        if (moved) ranks_rows_free(ranks, &out->rows);
        if (status == SPMV_OK && moved) status = ranks_build_rows(l, &out->rows);
    }
    if (status == SPMV_OK) status = tell_stats(l, &out->rows, symmetry, &out->stats);
    if (status == SPMV_OK)
        status = ranks_is_blocks(l->by) ? ranks_split_long(l, out) : ranks_move_rows(l, out);
    if (status != SPMV_OK) return status;
    const int64_t own_rows = out->rows.rows;
    out->own_cols = l->head.rows == l->head.cols
                        ? own_rows
                        : ranks_even(l->head.cols, ranks->rank + 1, ranks->size) -
                              ranks_even(l->head.cols, ranks->rank, ranks->size);
    out->stats.read_s = read - start;
    out->stats.build_s = spmv_now() - read;
    if (keep) {
        out->own = l->own;
        l->own = (ranks_own){0};
    }
    return SPMV_OK;
}

typedef struct request { /* options that must be equal on all ranks */
    char name[216];
    int64_t partition;
    uint64_t seed;
    char values[24];
} request;

static void put_text(char *out, size_t size, const char *text) {
    const size_t n = strlen(text);
    /* keeps the end of a text that is too long, because names of files differ at their ends */
    snprintf(out, size, "%s", n < size ? text : text + n - size + 1);
}

/* Fails if ranks read files of different names or with different options, because they would wait
 * for each other for ever or mix the files. The folders may differ. */
static spmv_status compare_requests(const loading *l, bool made) {
    spmv_ranks *ranks = l->ranks;
    const char *slash = made ? NULL : strrchr(l->path, '/');
    request mine = {.partition = l->by, .seed = l->opts->seed ? l->opts->seed : 1};
    put_text(mine.name, sizeof mine.name, slash ? slash + 1 : l->path);
    put_text(mine.values, sizeof mine.values, l->opts->values ? l->opts->values : "");
    request *all = malloc((size_t)ranks->size * sizeof *all);
    spmv_status status = ranks_agree_memory(ranks, all != NULL, "the name of a file");
    if (status == SPMV_OK) {
        status = ranks->by->gather(ranks->state, &mine, sizeof mine, all);
        if (status != SPMV_OK) ranks_fail(ranks, status, "the names of files were lost");
    }
    for (int r = 1; r < ranks->size && status == SPMV_OK; r++) {
        if (strcmp(all[r].name, all->name) != 0)
            status = ranks_fail(ranks, SPMV_E_ARG, "rank %d reads '%s', rank 0 '%s'", r,
                                all[r].name, all->name);
        else if (memcmp(&all[r], all, sizeof *all) != 0)
            status =
                ranks_fail(ranks, SPMV_E_ARG,
                           "rank %d has another partition, seed or kind of values than rank 0", r);
    }
    free(all);
    return status;
}

spmv_status ranks_read_rows(spmv_ranks *ranks, const char *path, const spmv_load_opts *opts,
                            const spmv_ranks_load_opts *how, ranks_loaded *out) {
    loading l = {.ranks = ranks, .path = path, .opts = opts, .by = how->partition, .how = how};
    const bool made = strncmp(path, "gen:", strlen("gen:")) == 0;
    *out = (ranks_loaded){.own_cols = 0};
    spmv_status status = SPMV_OK;
    if (!made && opts->values)
        status = ranks_fail(ranks, SPMV_E_ARG,
                            "%s: values are chosen for gen: matrices only (spmv_load_opts.values)",
                            path);
    status = ranks_agree(ranks, status);
    if (status == SPMV_OK) status = compare_requests(&l, made);
    if (status == SPMV_OK) status = made ? open_making(&l) : ranks_file_open(&l);
    if (status == SPMV_OK) status = ranks_check_room(&l);
    if (status == SPMV_OK) status = make(&l, how->keep_entries, out);
    loading_free(&l);
    if (status == SPMV_OK) return status;
    ranks_loaded_free(ranks, out);
    return status;
}
