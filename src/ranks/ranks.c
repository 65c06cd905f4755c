/* ranks.c: creates the ranks and loads their exchange; makes all ranks agree on failures. */
#include "ranks.h"
#include "spmv_opts.h"
#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- failures ------------------------------------------------------------------------------- */

static _Thread_local char no_world_error[TEXT_BYTES];
static _Thread_local bool failed_without_ranks; /* about this thread's last call that failed */

spmv_status ranks_fail(spmv_ranks *ranks, spmv_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(ranks ? ranks->mine.text : no_world_error, TEXT_BYTES, format, arguments);
    va_end(arguments);
    failed_without_ranks = !ranks;
    return status;
}

spmv_status ranks_ctx_failed(spmv_ranks *ranks, spmv_status status) {
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "%s", spmv_ctx_error(ranks->ctx));
}

spmv_status ranks_agree(spmv_ranks *ranks, spmv_status mine) {
    ranks->mine.status = mine;
    const spmv_status status =
        ranks->by->gather(ranks->state, &ranks->mine, sizeof ranks->mine, ranks->all);
    if (status != SPMV_OK)
        return ranks_fail(ranks, status, "the exchange '%s' failed", ranks->by->name);
    for (int r = 0; r < ranks->size; r++)
        if (ranks->all[r].status != SPMV_OK)
            return ranks_fail(ranks, (spmv_status)ranks->all[r].status, "rank %d: %.480s", r,
                              ranks->all[r].text);
    return SPMV_OK;
}

spmv_status ranks_read(spmv_ranks *ranks, const char *name, void *ours, size_t size,
                       const void *theirs) {
    char why[SPMV_WHY];
    if (spmv_opts_read(name, ours, size, theirs, why)) return SPMV_OK;
    return ranks_fail(ranks, SPMV_E_ARG, "%s", why);
}

spmv_status ranks_fill(spmv_ranks *ranks, const char *name, const void *ours, size_t size,
                       void *theirs) {
    char why[SPMV_WHY];
    if (spmv_opts_fill(name, ours, size, theirs, why)) return SPMV_OK;
    return ranks_fail(ranks, SPMV_E_ARG, "%s", why);
}

spmv_status ranks_no_memory(spmv_ranks *ranks, const char *what) {
    return ranks_fail(ranks, SPMV_E_NOMEM, "out of memory for %s", what);
}

spmv_status ranks_agree_memory(spmv_ranks *ranks, bool mine, const char *what) {
    return ranks_agree(ranks, mine ? SPMV_OK : ranks_no_memory(ranks, what));
}

const char *spmv_ranks_error(const spmv_ranks *ranks) {
    return ranks && !failed_without_ranks ? ranks->mine.text : no_world_error;
}

/* ---- the exchange --------------------------------------------------------------------------- */

enum { SAID_BYTES = 8192 }; /* bytes; MPICH's MPI_MAX_LIBRARY_VERSION_STRING, the largest known */

/* Returns which MPI's ABI this process has loaded, or NULL: no MPI, or an unknown ABI.
 * MPI_Get_library_version may be called before MPI_Init. words: the MPI's version text. */
static const char *loaded_mpi(char words[SAID_BYTES]) {
    static const char *const like_mpich[] = {"MPICH", "MVAPICH", "Intel(R) MPI"};
    int (*version)(char *, int *);
    int length = 0;
    *words = 0;
    *(void **)&version = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    if (!version) return NULL;
    version(words, &length);
    words[strcspn(words, "\n")] = 0;
    if (strstr(words, "Open MPI")) return "openmpi";
    for (size_t k = 0; k < sizeof like_mpich / sizeof *like_mpich; k++)
        if (strstr(words, like_mpich[k])) return "mpich";
    return NULL;
}

/* Loads the exchange. RTLD_GLOBAL if it starts MPI, whose plug-ins need MPI's symbols. */
static spmv_status load_exchange(spmv_ranks *ranks, const char *name, bool begins) {
    char path[PATH_MAX + 64];
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else if (!ranks_find_exchange(name, path, sizeof path))
        return ranks_fail(
            NULL, SPMV_E_FEATURE,
            "no exchange for MPI: libspmv_%.32s.so is neither in %.200s nor in ../lib "
            "of it: this was built without that MPI (make omp finds its mpicc)",
            name, path);
    ranks->library = dlopen(path, RTLD_NOW | (begins ? RTLD_GLOBAL : RTLD_LOCAL));
    const spmv_exchange *by = ranks->library ? dlsym(ranks->library, "spmv_exchange_mpi") : NULL;
    if (!by) return ranks_fail(NULL, SPMV_E_FEATURE, "no exchange for MPI: %.300s", dlerror());
    if (by->version != SPMV_EXCHANGE_VERSION)
        return ranks_fail(NULL, SPMV_E_FEATURE,
                          "%.300s is of another version of this library (%d, not %d): make omp "
                          "builds it anew",
                          path, by->version, SPMV_EXCHANGE_VERSION);
    ranks->by = by;
    return SPMV_OK;
}

static spmv_status choose_exchange(spmv_ranks *ranks, const void *communicator, const char *name) {
    char words[SAID_BYTES] = "";
    if (!name && communicator) name = loaded_mpi(words);
    if (communicator && !name && *words)
        return ranks_fail(NULL, SPMV_E_FEATURE,
                          "the ABI of this MPI is not known: '%.200s'; where it is MPICH's or Open "
                          "MPI's, name that in spmv_ranks_opts.exchange",
                          words);
    if (communicator && !name)
        return ranks_fail(NULL, SPMV_E_FEATURE,
                          "a communicator was given, but this process has no MPI that can be seen: "
                          "name it in spmv_ranks_opts.exchange");
    if (name && strcmp(name, "self") != 0) return load_exchange(ranks, name, !communicator);
    ranks->by = &spmv_exchange_self;
    return SPMV_OK;
}

/* Returns `mine`, or a failure if another rank has failed before it has an exchange to report it
 * through. Calls MPI functions that need no constant of MPI's headers: MPI_Comm_split separates the
 * failed ranks. An MPI_Comm is an int in MPICH and a pointer in Open MPI. */
static spmv_status agree_before(const void *communicator, spmv_status mine) {
    char words[SAID_BYTES];
    const char *name = communicator ? loaded_mpi(words) : NULL;
    int (*split)(intptr_t, int, int, void *), (*count)(intptr_t, int *), (*release)(void *);
    intptr_t comm = 0, alike = 0;
    int all = 0, like_me = 0;
    if (!name) return mine;
    const size_t bytes = strcmp(name, "mpich") == 0 ? sizeof(int) : sizeof(void *);
    *(void **)&split = dlsym(RTLD_DEFAULT, "MPI_Comm_split");
    *(void **)&count = dlsym(RTLD_DEFAULT, "MPI_Comm_size");
    *(void **)&release = dlsym(RTLD_DEFAULT, "MPI_Comm_free");
    memcpy(&comm, communicator, bytes);
    if (!split || !count || !release || split(comm, mine != SPMV_OK, 0, &alike) != 0) return mine;
    count(comm, &all);
    count(alike, &like_me);
    release(&alike);
    if (mine != SPMV_OK || like_me == all) return mine;
    return ranks_fail(NULL, SPMV_E_FEATURE,
                      "%d of %d ranks have no exchange: what they say of it tells why",
                      all - like_me, all);
}

/* ---- threads -------------------------------------------------------------------------------- */

typedef struct place { /* host and cores on which a rank may run */
    char host[64];
    cpu_set_t cores;
} place;

/* Counts the ranks of this host (ranks->here), and those of them that share cores with this rank
 * (*sharers); both include this rank. Collective. */
static spmv_status count_sharers(spmv_ranks *ranks, int *sharers) {
    place mine, *all = malloc((size_t)ranks->size * sizeof *all);
    memset(&mine, 0, sizeof mine);
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
    *sharers = ranks->here = 1;
    spmv_status status =
        ranks_agree(ranks, all ? SPMV_OK : ranks_fail(ranks, SPMV_E_NOMEM, "out of memory"));
    if (status == SPMV_OK) status = ranks->by->gather(ranks->state, &mine, sizeof mine, all);
    for (int r = 0; status == SPMV_OK && r < ranks->size; r++) {
        cpu_set_t both;
        CPU_AND(&both, &mine.cores, &all[r].cores);
        if (r == ranks->rank || strcmp(all[r].host, mine.host) != 0) continue;
        ranks->here++;
        *sharers += CPU_COUNT(&both) > 0;
    }
    free(all);
    return status;
}

static spmv_status open_context(spmv_ranks *ranks, const spmv_ctx_opts *opts, int sharers) {
    spmv_ctx_opts known = SPMV_OPTS(spmv_ctx_opts);
    spmv_status status = ranks_read(ranks, "spmv_ctx_opts", &known, sizeof known, opts);
    if (status == SPMV_OK)
        status = spmv_ctx_create(&known, &ranks->ctx);
    else
        return status;
    if (status == SPMV_OK && !known.threads && sharers > 1 && !getenv("OMP_NUM_THREADS")) {
        known.threads = spmv_ctx_threads(ranks->ctx) / sharers;
        if (known.threads < 1) known.threads = 1;
        spmv_ctx_free(ranks->ctx);
        ranks->ctx = NULL;
        status = spmv_ctx_create(&known, &ranks->ctx);
    }
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "%s", spmv_ctx_error(NULL));
}

/* ---- the ranks ------------------------------------------------------------------------------ */

/* Opens the exchange, and allocates the texts that ranks exchange when one of them fails. */
static spmv_status open_exchange(spmv_ranks *ranks, const void *communicator) {
    const spmv_exchange *by = ranks->by;
    spmv_status status = by->open(communicator, &ranks->state, &ranks->rank, &ranks->size);
    if (status != SPMV_OK) {
        ranks->by = NULL;
        return ranks_fail(NULL, status, "the exchange '%s' cannot be opened: %s", by->name,
                          spmv_strerror(status));
    }
    by->describe(ranks->mpi, sizeof ranks->mpi);
    ranks->all = malloc((size_t)ranks->size * sizeof *ranks->all);
    status = by->agree(ranks->state, ranks->all ? SPMV_OK : SPMV_E_NOMEM);
    return status == SPMV_OK ? status : ranks_fail(NULL, status, "out of memory");
}

static spmv_status open_world(spmv_ranks *ranks, const void *communicator,
                              const spmv_ranks_opts *opts) {
    int sharers;
    spmv_status status = open_exchange(ranks, communicator);
    if (status != SPMV_OK) return status;
    status = count_sharers(ranks, &sharers);
    if (status == SPMV_OK) status = ranks_agree(ranks, open_context(ranks, opts->context, sharers));
    if (status != SPMV_OK) ranks_fail(NULL, status, "%s", ranks->mine.text);
    return status;
}

spmv_status spmv_ranks_create(const void *communicator, const spmv_ranks_opts *opts,
                              spmv_ranks **out) {
    SPMV_DEFAULT_ENVIRONMENT;
    spmv_ranks_opts known = SPMV_OPTS(spmv_ranks_opts);
    if (!out) return ranks_fail(NULL, SPMV_E_ARG, "spmv_ranks_create: out is NULL");
    *out = NULL;
    spmv_ranks *ranks = calloc(1, sizeof *ranks);
    spmv_status status = ranks_read(NULL, "spmv_ranks_opts", &known, sizeof known, opts);
    if (!ranks) status = ranks_fail(NULL, SPMV_E_NOMEM, "out of memory");
    if (status == SPMV_OK) status = choose_exchange(ranks, communicator, known.exchange);
    status = agree_before(communicator, status);
    if (status == SPMV_OK && !communicator) {
        status = ranks->by->begin(&communicator);
        if (status != SPMV_OK) ranks_fail(NULL, status, "%s cannot be started", ranks->by->name);
        ranks->began = status == SPMV_OK;
    }
    if (status == SPMV_OK) {
        status = open_world(ranks, communicator, &known);
    } else if (ranks) {
        ranks->by = NULL; /* `by` was not opened */
    }
    if (status == SPMV_OK) {
        *out = ranks;
        failed_without_ranks = false;
    } else {
        spmv_ranks_free(ranks);
    }
    return status;
}

/* The MPI's library stays loaded, because an initialized MPI cannot be unloaded. */
void spmv_ranks_free(spmv_ranks *ranks) {
    if (!ranks) return;
    spmv_ctx_free(ranks->ctx);
    if (ranks->by) ranks->by->close(ranks->state);
    if (ranks->by && ranks->began) ranks->by->end();
    free(ranks->all);
    free(ranks);
}

void spmv_ranks_abort(spmv_ranks *ranks, int code) {
    if (ranks) ranks->by->abort(ranks->state, code);
}

spmv_status spmv_ranks_gather(spmv_ranks *ranks, const void *mine, size_t bytes, void *all) {
    if (!ranks || !mine || !all || bytes > INT32_MAX)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_gather: %s",
                          bytes > INT32_MAX ? "too many bytes" : "an argument is NULL");
    const spmv_status status = ranks->by->gather(ranks->state, mine, bytes, all);
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "the exchange '%s' failed", ranks->by->name);
}

spmv_status spmv_ranks_deal(spmv_ranks *ranks, const void *out, const int64_t *out_bytes, void *in,
                            const int64_t *in_bytes) {
    if (!ranks || !out_bytes || !in_bytes)
        return ranks_fail(ranks, SPMV_E_ARG, "spmv_ranks_deal: an argument is NULL");
    const spmv_status status = ranks->by->deal(ranks->state, out, out_bytes, in, in_bytes);
    if (status == SPMV_OK) return status;
    return ranks_fail(ranks, status, "the exchange '%s' failed", ranks->by->name);
}

const char *spmv_ranks_mpi(const spmv_ranks *ranks) {
    return ranks ? ranks->mpi : "";
}

int spmv_ranks_rank(const spmv_ranks *ranks) {
    return ranks ? ranks->rank : 0;
}

int spmv_ranks_size(const spmv_ranks *ranks) {
    return ranks ? ranks->size : 0;
}

spmv_ctx *spmv_ranks_ctx(const spmv_ranks *ranks) {
    return ranks ? ranks->ctx : NULL;
}
