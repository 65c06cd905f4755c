/* names.c: finds kernels by name, group or format. A name matches in full, ignoring case, or as a
 * glob, never by prefix: a misspelt name must not run another kernel. */
#include "context.h"
#include <fnmatch.h>
#include <stdio.h>
#include <strings.h>

static const spmv_param no_params[] = {SPMV_NO_MORE_PARAMS};
const spmv_kernel spmv_auto_kernel = {
    .name = "auto",
    .format = "csr", /* a format without parameters */
    .summary = "chosen for the matrix: candidates by its features, then timed trials",
    .params = no_params,
    .traits = SPMV_DETERMINISTIC,
};

static size_t smallest(size_t a, size_t b, size_t c) {
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Returns the Levenshtein distance, or LONGEST if a word has LONGEST or more characters. */
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

/* Returns the distance between a word and a name: BEGINS or HOLDS if the name begins with or
 * contains the word, from SPELT for few edits or a long common prefix, near SHARES for a short one,
 * else NONE. */
enum { BEGINS = 0, HOLDS = 1, SPELT = 2, SHARES = 100, NONE = 1000 };
static int distance_of(const char *word, const char *name) {
    const size_t length = strlen(word);
    size_t common = 0, edits = edit_distance(word, name);
    while (word[common] && word[common] == name[common]) common++;
    if (common == length && length > 1) return BEGINS;
    if (length > 2 && strstr(name, word)) return HOLDS;
    /* Prefers substitutions: suggests csr1 for csr9, not csr_rows. */
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

/* Compares plain words without fnmatch, which is slow. */
static bool fits(const char *name, const char *pattern) {
    return strpbrk(pattern, "*?[\\") ? fnmatch(pattern, name, FNM_CASEFOLD) == 0
                                     : strcasecmp(pattern, name) == 0;
}

/* "csr" matches the format csr and its variants, such as csr_columns. */
static bool is_format(const char *format, const char *word) {
    const size_t n = strlen(word);
    return n && strncasecmp(format, word, n) == 0 && (!format[n] || format[n] == '_');
}

static bool is_proposed(spmv_kernel_id id) {
    const char *const *name = id.backend->proposed;
    while (name && *name && strcmp(*name, id.backend->names[id.index]) != 0) name++;
    return name && *name;
}

static bool is_ours(const spmv_kernel *kernel) {
    return kernel && !(kernel->traits & SPMV_PEER);
}

static bool is_in_all(spmv_kernel_id id) {
    return is_ours(kernel_of(id)) && (alias_of(id) || is_proposed(id));
}

static bool is_of_papers(spmv_kernel_id id) {
    return kernel_of(id) && (alias_of(id) || kernel_of(id)->traits & SPMV_PAPER);
}

static bool is_peer(spmv_kernel_id id) {
    return kernel_of(id) && !is_ours(kernel_of(id));
}

static bool is_built_in(spmv_kernel_id id) {
    return kernel_of(id);
}

/* Words that name several kernels. */
typedef struct group {
    const char *word;
    bool (*has)(spmv_kernel_id id);
} group;
static const group groups[] = {
    {"all", is_in_all}, {"everything", is_built_in}, {"papers", is_of_papers}, {"peers", is_peer}};

/* Returns NULL if the word names no group. */
static const group *group_named(const char *word) {
    for (size_t k = 0; k < sizeof groups / sizeof *groups; k++)
        if (strcasecmp(groups[k].word, word) == 0) return &groups[k];
    return NULL;
}

/* A peer whose library is missing matches its own name only; the error says how to get it. */
static bool is_usable(spmv_kernel_id id) {
    return !kernel_of(id) || !kernel_of(id)->absent;
}

static bool has_name(spmv_kernel_id id, const char *pattern) {
    const char *alias = alias_of(id);
    if (!is_usable(id)) return strcasecmp(pattern, kernel_of(id)->name) == 0;
    return fits(id.backend->names[id.index], pattern) || (alias && fits(alias, pattern));
}

static bool has_full_name(spmv_kernel_id id, const char *name) {
    return strcasecmp(name, id.backend->names[id.index]) == 0;
}

static bool has_format(spmv_kernel_id id, const char *word) {
    return is_usable(id) && is_ours(kernel_of(id)) && is_format(kernel_of(id)->format, word);
}

/* "auto" matches its full name only, never a glob or a group. */
static void match_auto(const spmv_backend *backend, spmv_kernel_id *found, int capacity,
                       int *count) {
    if (capacity > 0) found[0] = (spmv_kernel_id){backend, SPMV_AUTO};
    *count = 1;
}

/* Appends the backend's kernels that match; beyond `capacity` only counts them. */
static void match(const spmv_backend *backend, bool (*is_one)(spmv_kernel_id id, const char *word),
                  const char *word, spmv_kernel_id *found, int capacity, int *count) {
    for (int k = 0; k < backend->nkernels; k++) {
        const spmv_kernel_id id = {backend, k};
        if (!is_one(id, word)) continue;
        if (*count < capacity) found[*count] = id;
        ++*count;
    }
}

static bool is_in_group(spmv_kernel_id id, const char *word) {
    return kernel_of(id) && is_usable(id) && group_named(word)->has(id);
}

/* Appends the kernels of a group; otherwise those with a matching name; if there are none, those of
 * the format. "csell_lists" is a kernel and a format. */
static void match_backend(const spmv_backend *backend, const char *word, spmv_kernel_id *found,
                          int capacity, int *count) {
    const bool is_group = group_named(word);
    const int before = *count;
    match(backend, is_group ? is_in_group : has_name, word, found, capacity, count);
    if (*count == before && !is_group) match(backend, has_format, word, found, capacity, count);
}

static spmv_status check_present(spmv_ctx *ctx, const spmv_kernel_id *found, int count) {
    const bool is_kernel = count == 1 && found[0].index != SPMV_AUTO;
    const spmv_kernel *kernel = is_kernel ? kernel_of(found[0]) : NULL;
    if (!kernel || !kernel->absent) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_FEATURE, "%s: not built in: %s", kernel->name, kernel->absent);
}

static spmv_status no_peers(spmv_ctx *ctx) {
    return spmv_fail(ctx, SPMV_E_FEATURE,
                     "peers: none is built in: make deps-peers, then make again");
}

enum { MOST_WORDS = 256 };

/* Lists kernel names and short names, of one backend if `only` is set; ends with NULL. */
static void list_names(spmv_ctx *ctx, const spmv_backend *only, const char *words[MOST_WORDS + 1]) {
    const spmv_backend *usual = only ? only : ctx->default_backend;
    int n = 0;
    words[n++] = spmv_auto_kernel.name;
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (!only || *b == only) && k < (*b)->nkernels && n < MOST_WORDS; k++)
            words[n++] = (*b)->names[k];
    for (int k = 0; k < usual->nkernels; k++) {
        const char *alias = alias_of((spmv_kernel_id){usual, k});
        if (alias && n < MOST_WORDS) words[n++] = alias;
    }
    words[n] = NULL;
}

/* Lists formats and groups; ends with NULL. */
static void list_sets(const char *words[MOST_WORDS + 1]) {
    int n = 0;
    for (int f = 0; f < spmv_format_count() && n < MOST_WORDS; f++)
        words[n++] = spmv_format_at(f, 0)->name;
    for (size_t g = 0; g < sizeof groups / sizeof *groups && n < MOST_WORDS; g++)
        words[n++] = groups[g].word;
    words[n] = NULL;
}

/* Fails because no kernel of this build reads a format, whose backend may not be built in. */
static spmv_status unread_format(spmv_ctx *ctx, const spmv_backend *only, const char *format) {
    char why[128] = "";
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if (!(*b)->kernels)
            snprintf(why, sizeof why, "; %s is not built in: %s", (*b)->name, (*b)->hint);
    return spmv_fail(ctx, SPMV_E_BACKEND, "no kernel%s%s of this build reads the format '%s'%s",
                     only ? " on " : "", only ? only->name : "", format, why);
}

static bool is_known_format(const char *word) {
    for (int f = 0; f < spmv_format_count(); f++)
        if (is_format(spmv_format_at(f, 0)->name, word)) return true;
    return false;
}

static spmv_status unknown_kernel(spmv_ctx *ctx, const spmv_backend *only, const char *name) {
    enum { SHOWN = 4 };
    const char *words[MOST_WORDS + 1], *nearest[SHOWN];
    char list[SHOWN * 40] = "";
    if (is_known_format(name)) return unread_format(ctx, only, name);
    list_names(ctx, only, words);
    int found = spmv_nearest_names(name, words, SHOWN, nearest);
    if (!found) list_sets(words), found = spmv_nearest_names(name, words, SHOWN, nearest);
    for (int k = 0; k < found; k++) {
        const size_t length = strlen(list);
        snprintf(list + length, sizeof list - length, "%s'%s'",
                 k == 0           ? ": did you mean "
                 : k == found - 1 ? " or "
                                  : ", ",
                 nearest[k]);
    }
    return spmv_fail(ctx, SPMV_E_ARG, "no kernel '%s'%s%s%s%s ('spmv list' shows what there is)",
                     name, only ? " on " : "", only ? only->name : "", list, found ? "?" : "");
}

static bool is_auto(const char *name) {
    return strcasecmp(name, spmv_auto_kernel.name) == 0;
}

/* Finds kernels of one backend. typed: the name with its prefix, as given by the user. */
static spmv_status find_on(spmv_ctx *ctx, const spmv_backend *backend, const char *typed,
                           const char *name, spmv_kernel_id *found, int capacity, int *count) {
    if (!backend->kernels)
        return spmv_fail(ctx, SPMV_E_BACKEND, "%s: not built in: %s", typed, backend->hint);
    if (is_auto(name))
        match_auto(backend, found, capacity, count);
    else
        match_backend(backend, name, found, capacity, count);
    if (*count) return check_present(ctx, found, capacity ? *count : 0);
    return strcasecmp(name, "peers") == 0 ? no_peers(ctx) : unknown_kernel(ctx, backend, name);
}

/* Searches the other backends for a full name or a format that the default backend lacks. */
static spmv_status find_elsewhere(spmv_ctx *ctx, const char *name, spmv_kernel_id *found,
                                  int capacity, int *count) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++) {
        if (*b == ctx->default_backend || strpbrk(name, "*?[\\")) continue;
        match(*b, has_full_name, name, found, capacity, count);
        if (*count && !(*b)->kernels)
            return spmv_fail(ctx, SPMV_E_BACKEND, "%s:%s: not built in: %s", (*b)->name, name,
                             (*b)->hint);
        if (!*count) match(*b, has_format, name, found, capacity, count);
        if (*count) return check_present(ctx, found, capacity ? *count : 0);
    }
    return unknown_kernel(ctx, NULL, name);
}

bool spmv_kernel_is_group(const char *word) {
    return group_named(word) != NULL;
}

spmv_status spmv_kernel_find(spmv_ctx *ctx, const char *pattern, spmv_kernel_id *found,
                             int capacity, int *count) {
    const char *colon = strchr(pattern, ':');
    *count = 0;
    if (colon) {
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            if (strlen((*b)->name) == (size_t)(colon - pattern) &&
                strncasecmp((*b)->name, pattern, strlen((*b)->name)) == 0)
                return find_on(ctx, *b, pattern, colon + 1, found, capacity, count);
        return spmv_fail(ctx, SPMV_E_ARG, "no backend '%.*s' in '%s': it is omp or cuda",
                         (int)(colon - pattern), pattern, pattern);
    }
    if (group_named(pattern)) {
        for (const spmv_backend *const *b = spmv_backends; *b; b++)
            match_backend(*b, pattern, found, capacity, count);
        return *count ? SPMV_OK : no_peers(ctx);
    }
    if (is_auto(pattern)) {
        char typed[64];
        snprintf(typed, sizeof typed, "%s:%s", ctx->default_backend->name, pattern);
        return find_on(ctx, ctx->default_backend, typed, pattern, found, capacity, count);
    }
    match_backend(ctx->default_backend, pattern, found, capacity, count);
    return *count ? check_present(ctx, found, capacity ? *count : 0)
                  : find_elsewhere(ctx, pattern, found, capacity, count);
}
