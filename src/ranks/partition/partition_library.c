/* partition_library.c: partitions the rows of a matrix by METIS or Scotch, which are loaded at run
 * time; neither is needed to build or run this library. The graph has an edge for each off-diagonal
 * entry, in both directions; a vertex has the weight of its row's number of entries + 1. */
#include "partition.h"
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the graph ------------------------------------------------------------------------------ */

typedef struct graph { /* 32-bit indices, as in default builds of both libraries */
    int32_t vertices;
    int32_t *first;  /* [vertices + 1] first edge of each vertex */
    int32_t *edge;   /* [first[vertices]] each edge in both directions */
    int32_t *weight; /* [vertices] */
} graph;

static void graph_free(graph *g) {
    free(g->first);
    free(g->edge);
    free(g->weight);
}

/* Writes both directions of every off-diagonal entry, maybe twice. place[i]: next edge of row i. */
static void put_edges(const spmv_csr_view *A, int32_t *edge, int64_t *place) {
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++) {
            const int32_t j = A->col_idx[k];
            if (j == i) continue;
            edge[place[i]++] = j;
            edge[place[j]++] = (int32_t)i;
        }
}

/* Removes duplicate edges. end[i]: end of row i's edges; seen: [rows] scratch. */
static void merge_edges(graph *g, const int64_t *end, int32_t *seen) {
    int64_t from = 0;
    int32_t kept = 0;
    memset(seen, -1, (size_t)g->vertices * sizeof *seen);
    for (int32_t i = 0; i < g->vertices; i++) {
        g->first[i] = kept;
        for (int64_t k = from; k < end[i]; k++) {
            const int32_t j = g->edge[k];
            if (seen[j] == i) continue;
            seen[j] = i;
            g->edge[kept++] = j;
        }
        from = end[i];
    }
    g->first[g->vertices] = kept;
}

static void count_edges(const spmv_csr_view *A, int64_t *place) {
    for (int64_t i = 0; i < A->rows; i++)
        for (int64_t k = A->row_ptr[i]; k < A->row_ptr[i + 1]; k++)
            if (A->col_idx[k] != i) {
                place[i]++;
                place[A->col_idx[k]]++;
            }
    int64_t sum = 0;
    for (int64_t i = 0; i < A->rows; i++) {
        const int64_t n = place[i];
        place[i] = sum;
        sum += n;
    }
}

static spmv_status graph_make(const spmv_csr_view *A, graph *g, char why[RANKS_WHY]) {
    const size_t rows = (size_t)A->rows;
    if (A->nnz + A->rows > INT32_MAX / 2) {
        snprintf(why, RANKS_WHY, "%lld rows and nonzeros are more than 2^30",
                 (long long)(A->nnz + A->rows));
        return SPMV_E_TOOBIG;
    }
    int64_t *place = calloc(rows + 1, sizeof *place);
    int32_t *seen = malloc(rows * sizeof *seen + 1);
    *g = (graph){.vertices = (int32_t)A->rows,
                 .first = malloc((rows + 1) * sizeof *g->first),
                 .edge = malloc(2 * (size_t)A->nnz * sizeof *g->edge + 1),
                 .weight = malloc(rows * sizeof *g->weight + 1)};
    const bool fits = place && seen && g->first && g->edge && g->weight;
    if (fits) {
        count_edges(A, place);
        put_edges(A, g->edge, place);
        merge_edges(g, place, seen);
        for (int64_t i = 0; i < A->rows; i++)
            g->weight[i] = (int32_t)(A->row_ptr[i + 1] - A->row_ptr[i]) + 1;
    }
    free(place);
    free(seen);
    if (fits) return SPMV_OK;
    snprintf(why, RANKS_WHY, "out of memory for the graph");
    return SPMV_E_NOMEM;
}

/* ---- the libraries -------------------------------------------------------------------------- */

typedef struct functions { /* functions of a library, in the order of `names` */
    void *of[9];
} functions;

/* Loads the first library of the list that is installed. It is never unloaded. */
static spmv_status open_library(const char *const *files, const char *const *names, functions *f,
                                char why[RANKS_WHY]) {
    void *opened = NULL;
    for (; *files && !opened; files++)
        opened = dlopen(*files, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!opened) {
        snprintf(why, RANKS_WHY, "it is not installed: %s", dlerror());
        return SPMV_E_FEATURE;
    }
    for (int k = 0; names[k]; k++)
        if (!(f->of[k] = dlsym(opened, names[k]))) {
            snprintf(why, RANKS_WHY, "it has no function %s", names[k]);
            return SPMV_E_FEATURE;
        }
    return SPMV_OK;
}

static spmv_status refuse_width(char why[RANKS_WHY]) {
    snprintf(why, RANKS_WHY, "it was built for 64-bit numbers, not the usual 32-bit ones");
    return SPMV_E_FEATURE;
}

static spmv_status refuse_graph(int code, char why[RANKS_WHY]) {
    snprintf(why, RANKS_WHY, "it failed, with %d", code);
    return SPMV_E_DEVICE;
}

typedef int metis_part(const int32_t *, const int32_t *, const int32_t *, const int32_t *,
                       const int32_t *, const int32_t *, const int32_t *, const int32_t *,
                       const float *, const float *, const int32_t *, int32_t *, int32_t *);

/* Runs METIS in a child process, because METIS catches SIGTERM while it runs: SIGTERM then ends
 * this process as usual, and the child with it. Returns METIS's code, or 0 if there is no child. */
static int part_apart(metis_part *part, const graph *g, int32_t ranks, const int32_t *options,
                      int32_t *owner) {
    const int32_t constraints = 1;
    const size_t bytes = (size_t)g->vertices * sizeof *owner;
    int32_t cut;
    int status = 0;
    int32_t *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 0;
    const pid_t parent = getpid(), child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() != parent ? 0
                                  : part(&g->vertices, &constraints, g->first, g->edge, g->weight,
                                         NULL, NULL, &ranks, NULL, NULL, options, &cut, shared));
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    memcpy(owner, shared, bytes);
    munmap(shared, bytes);
    if (child < 0) return 0;
    return WIFEXITED(status) ? (signed char)WEXITSTATUS(status) : -WTERMSIG(status);
}

/* METIS_SetDefaultOptions fills 40 integers with -1. If METIS was built with 64-bit integers, it
 * writes beyond 40 32-bit ones. */
static spmv_status ask_metis(const graph *g, int32_t ranks, int32_t *owner, char why[RANKS_WHY]) {
    enum { OPTIONS = 40, OK = 1 };
    static const char *const files[] = {"libmetis.so.5", "libmetis.so", NULL},
                             *const names[] = {"METIS_SetDefaultOptions", "METIS_PartGraphKway",
                                               NULL};
    functions f;
    int (*set)(int32_t *);
    metis_part *part;
    int32_t options[2 * OPTIONS] = {0};
    const spmv_status status = open_library(files, names, &f, why);
    if (status != SPMV_OK) return status;
    memcpy(&set, &f.of[0], sizeof set);
    memcpy(&part, &f.of[1], sizeof part);
    set(options);
    if (options[OPTIONS]) return refuse_width(why);
    const int code = part_apart(part, g, ranks, options, owner);
    return code == OK ? SPMV_OK : refuse_graph(code, why);
}

static spmv_status ask_scotch(const graph *g, int32_t ranks, int32_t *owner, char why[RANKS_WHY]) {
    static const char *const files[] = {"libscotch-7.0.so", "libscotch.so.7.0", "libscotch-6.1.so",
                                        "libscotch.so", NULL},
                             *const names[] = {"SCOTCH_numSizeof",  "SCOTCH_graphAlloc",
                                               "SCOTCH_stratAlloc", "SCOTCH_graphInit",
                                               "SCOTCH_stratInit",  "SCOTCH_graphBuild",
                                               "SCOTCH_graphPart",  "SCOTCH_graphExit",
                                               "SCOTCH_stratExit",  NULL};
    functions f;
    int (*width)(void), (*init)(void *);
    void *(*alloc)(void), (*leave)(void *);
    int (*build)(void *, int32_t, int32_t, const int32_t *, const int32_t *, const int32_t *,
                 const int32_t *, int32_t, const int32_t *, const int32_t *);
    int (*part)(void *, int32_t, const void *, int32_t *);
    const spmv_status status = open_library(files, names, &f, why);
    if (status != SPMV_OK) return status;
    memcpy(&width, &f.of[0], sizeof width);
    if (width() != sizeof(int32_t)) return refuse_width(why);
    void *made[2]; /* the graph and the strategy */
    int code = 0;
    for (int k = 0; k < 2; k++) {
        memcpy(&alloc, &f.of[1 + k], sizeof alloc);
        memcpy(&init, &f.of[3 + k], sizeof init);
        made[k] = alloc();
        if (!made[k] || init(made[k]) != 0) return refuse_graph(1, why);
    }
    memcpy(&build, &f.of[5], sizeof build);
    memcpy(&part, &f.of[6], sizeof part);
    code = build(made[0], 0, g->vertices, g->first, NULL, g->weight, NULL, g->first[g->vertices],
                 g->edge, NULL);
    if (code == 0) code = part(made[0], ranks, made[1], owner);
    for (int k = 0; k < 2; k++) {
        memcpy(&leave, &f.of[7 + k], sizeof leave);
        leave(made[k]);
        free(made[k]);
    }
    return code == 0 ? SPMV_OK : refuse_graph(code, why);
}

spmv_status ranks_own_by_library(const char *library, const spmv_csr_view *A, int ranks,
                                 int32_t *owner, char why[RANKS_WHY]) {
    graph g = {0};
    if (A->rows != A->cols) {
        snprintf(why, RANKS_WHY, "it divides square matrices only");
        return SPMV_E_ARG;
    }
    if (ranks >= A->rows || ranks == 1) { /* only one partition is possible */
        for (int64_t i = 0; i < A->rows; i++) owner[i] = ranks == 1 ? 0 : (int32_t)i;
        return SPMV_OK;
    }
    spmv_status status = graph_make(A, &g, why);
    if (status == SPMV_OK)
        status = strcmp(library, "metis") == 0 ? ask_metis(&g, ranks, owner, why)
                                               : ask_scotch(&g, ranks, owner, why);
    graph_free(&g);
    return status;
}
