/* names.c: finds kernels by name. A name matches exactly or as a glob, never by prefix: a misspelt
 * name must not run another kernel. */
#include "context.h"
#include <fnmatch.h>
#include <stdio.h>

static const spmv_param no_params[] = {SPMV_NO_MORE_PARAMS};
const spmv_kernel spmv_auto_kernel = {
    .name = "auto",
    .format = "csr", /* which has no parameters either */
    .summary = "chosen for the matrix: candidates by its features, then timed trials",
    .params = no_params,
    .traits = SPMV_DETERMINISTIC,
};

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the Levenshtein distance; words of LONGEST or more characters are never similar. */
static size_t edit_distance(const char *a, const char *b) {
    enum { LONGEST = 64 };
    size_t m = strlen(a), n = strlen(b), row[LONGEST];
    if (m >= LONGEST || n >= LONGEST) return LONGEST;
    for (size_t j = 0; j <= n; j++) row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[n];
}

const char *spmv_nearest(const char *word, const char *const *candidates) {
    const char *best = NULL;
    size_t best_distance = strlen(word) / 3 + 2;
    for (; *candidates; candidates++) {
        size_t distance = edit_distance(word, *candidates);
        if (distance < best_distance) best = *candidates, best_distance = distance;
    }
    return best;
}

/* Says how far a name is from a word; as spmv_nearest_names orders them. NONE: it is not near. */
enum { BEGINS = 0, HOLDS = 1, SPELT = 2, SHARES = 100, NONE = 1000 };
static int distance_of(const char *word, const char *name) {
    const size_t length = strlen(word);
    size_t common = 0, edits = edit_distance(word, name);
    while (word[common] && word[common] == name[common]) common++;
    if (common == length && length > 1) return BEGINS;
    if (length > 2 && strstr(name, word)) return HOLDS;
    /* csr9 may be csr1, in which one letter is another, before csr_rows, which has all but one. */
    const size_t spelt = edits < length / 3 + 2 && edits < length ? 2 * edits : NONE;
    const size_t begun = 2 * common >= length && common > 2 ? 2 * (length - common) + 1 : NONE;
    if (spelt < NONE || begun < NONE) return SPELT + (int)(spelt < begun ? spelt : begun);
    return common > 2 ? SHARES - (int)common : NONE;
}

int spmv_nearest_names(const char *word, const char *const *candidates, int most,
                       const char **out) {
    int n = 0, best = NONE;
    for (const char *const *c = candidates; *c; c++) {
        const int distance = distance_of(word, *c);
        bool known = distance > best || distance == NONE;
        if (distance < best) n = 0, best = distance;
        for (int k = 0; k < n && !known; k++) known = strcmp(out[k], *c) == 0;
        if (!known && n < most) out[n++] = *c;
    }
    return n;
}

static const char *alias_of(spmv_kernel_id id) {
    return id.backend->kernels ? id.backend->kernels[id.index][0]->alias : NULL;
}

static const spmv_kernel *kernel_of(spmv_kernel_id id) {
    return id.backend->kernels ? id.backend->kernels[id.index][0] : NULL;
}

/* A plain word needs no fnmatch, which takes long. */
static bool fits(const char *name, const char *pattern) {
    return strpbrk(pattern, "*?[\\") ? fnmatch(pattern, name, 0) == 0 : strcmp(pattern, name) == 0;
}

/* A peer whose library is not built in is found by its own name only, which says so. */
static bool is_match(spmv_kernel_id id, const char *pattern) {
    const char *alias = alias_of(id);
    const spmv_kernel *kernel = kernel_of(id);
    if (kernel && kernel->absent && strcmp(pattern, kernel->name) != 0) return false;
    if (strcmp(pattern, "peers") == 0) return kernel && kernel->traits & SPMV_PEER;
    return fits(id.backend->names[id.index], pattern) || (alias && fits(alias, pattern));
}

/* "auto" is found by its full name alone: no glob and no "all" matches it. */
static void match_auto(const spmv_backend *backend, spmv_kernel_id *found, int capacity,
                       int *count) {
    if (capacity > 0) found[0] = (spmv_kernel_id){backend, SPMV_AUTO};
    *count = 1;
}

/* Appends the backend's matches; beyond capacity they are only counted. */
static void match_backend(const spmv_backend *backend, const char *pattern, spmv_kernel_id *found,
                          int capacity, int *count) {
    for (int k = 0; k < backend->nkernels; k++) {
        spmv_kernel_id id = {backend, k};
        if (!is_match(id, pattern)) continue;
        if (*count < capacity) found[*count] = id;
        ++*count;
    }
}

static spmv_status check_present(spmv_ctx *ctx, const spmv_kernel_id *found, int count) {
    const spmv_kernel *kernel = count == 1 ? kernel_of(found[0]) : NULL;
    if (!kernel || !kernel->absent) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_FEATURE, "%s: not built in: %s", kernel->name, kernel->absent);
}

static spmv_status no_peers(spmv_ctx *ctx) {
    return spmv_fail(ctx, SPMV_E_FEATURE,
                     "peers: none is built in: make deps-peers, then make again");
}

static spmv_status unknown_kernel(spmv_ctx *ctx, const spmv_backend *only, const char *name) {
    enum { MOST = 256, SHOWN = 4 };
    const char *candidates[MOST + 1] = {spmv_auto_kernel.name};
    int n = 1;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (!only || *b == only) && k < (*b)->nkernels && n < MOST; k++)
            candidates[n++] = (*b)->names[k];
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; *b == (only ? only : ctx->default_backend) && k < (*b)->nkernels; k++) {
            const char *alias = alias_of((spmv_kernel_id){*b, k});
            if (alias && n < MOST) candidates[n++] = alias;
        }
    candidates[n] = NULL;
    const char *nearest[SHOWN];
    char list[SHOWN * 40] = "";
    const int found = spmv_nearest_names(name, candidates, SHOWN, nearest);
    for (int k = 0; k < found; k++) {
        const size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s'%s'",
                 k == 0           ? ": did you mean "
                 : k == found - 1 ? " or "
                                  : ", ",
                 nearest[k]);
    }
    return spmv_fail(ctx, SPMV_E_ARG, "no kernel '%s'%s%s%s%s ('spmv list kernels' names them all)",
                     name, only ? " on " : "", only ? only->name : "", list, found ? "?" : "");
}

spmv_status spmv_kernel_find(spmv_ctx *ctx, const char *pattern, spmv_kernel_id *found,
                             int capacity, int *count) {
    const char *colon = strchr(pattern, ':');
    const char *name = colon ? colon + 1 : pattern;
    *count = 0;
    if (colon) {
        for (const spmv_backend *const *b = spmv_backends; *b; b++) {
            if (strlen((*b)->name) != (size_t)(colon - pattern) ||
                strncmp((*b)->name, pattern, strlen((*b)->name)) != 0)
                continue;
            if (!(*b)->kernels)
                return spmv_fail(ctx, SPMV_E_BACKEND, "%s: not built in: %s", pattern, (*b)->hint);
            if (strcmp(name, spmv_auto_kernel.name) == 0) {
                match_auto(*b, found, capacity, count);
                return SPMV_OK;
            }
            match_backend(*b, strcmp(name, "all") == 0 ? "*" : name, found, capacity, count);
            if (*count == 0 && strcmp(name, "peers") == 0) return no_peers(ctx);
            return *count ? check_present(ctx, found, capacity ? *count : 0)
                          : unknown_kernel(ctx, *b, name);
        }
        return spmv_fail(ctx, SPMV_E_ARG, "no backend '%.*s' in '%s': it is omp or cuda",
                         (int)(colon - pattern), pattern, pattern);
    }
    bool all = strcmp(name, "all") == 0, peers = strcmp(name, "peers") == 0;
    if (all || peers) {
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            if ((*b)->kernels) match_backend(*b, all ? "*" : name, found, capacity, count);
        return *count || all ? SPMV_OK : no_peers(ctx);
    }
    if (strcmp(name, spmv_auto_kernel.name) == 0) {
        if (!ctx->default_backend->kernels)
            return spmv_fail(ctx, SPMV_E_BACKEND, "%s:%s: not built in: %s",
                             ctx->default_backend->name, pattern, ctx->default_backend->hint);
        match_auto(ctx->default_backend, found, capacity, count);
        return SPMV_OK;
    }
    match_backend(ctx->default_backend, name, found, capacity, count);
    if (*count) return check_present(ctx, found, capacity ? *count : 0);
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; *b != ctx->default_backend && k < (*b)->nkernels; k++)
            if (strcmp((*b)->names[k], name) == 0) {
                if (!(*b)->kernels)
                    return spmv_fail(ctx, SPMV_E_BACKEND, "%s:%s: not built in: %s", (*b)->name,
                                     pattern, (*b)->hint);
                if (capacity > 0) found[0] = (spmv_kernel_id){*b, k};
                *count = 1;
                return check_present(ctx, found, capacity ? 1 : 0);
            }
    return unknown_kernel(ctx, NULL, pattern);
}
