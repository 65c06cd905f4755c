/* world.c: a world: its exchange, which may have to be loaded, and how ranks agree on failures. */
#include "many.h"
#include <dlfcn.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- failures ------------------------------------------------------------------------------- */

static _Thread_local char no_world_error[TEXT_BYTES];

spmv_status many_fail(spmv_world *world, spmv_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world ? world->mine.text : no_world_error, TEXT_BYTES, format, arguments);
    va_end(arguments);
    return status;
}

spmv_status many_ctx_failed(spmv_world *world, spmv_status status) {
    if (status == SPMV_OK) return status;
    return many_fail(world, status, "%s", spmv_ctx_error(world->ctx));
}

spmv_status many_agree(spmv_world *world, spmv_status mine) {
    world->mine.status = mine;
    const spmv_status status =
        world->by->gather(world->state, &world->mine, sizeof world->mine, world->all);
    if (status != SPMV_OK)
        return many_fail(world, status, "the exchange '%s' failed", world->by->name);
    for (int r = 0; r < world->size; r++)
        if (world->all[r].status != SPMV_OK)
            return many_fail(world, (spmv_status)world->all[r].status, "rank %d: %.480s", r,
                             world->all[r].text);
    return SPMV_OK;
}

spmv_status many_read(spmv_world *world, const char *name, void *ours, size_t size,
                      const void *theirs) {
    if (!theirs) return SPMV_OK;
    const size_t given = *(const size_t *)theirs;
    if (given < sizeof given || given > 4096) /* no struct is that large */
        return many_fail(world, SPMV_E_ARG, "%s.size is %zu, not set: write SPMV_OPTS(%s)", name,
                         given, name);
    for (size_t k = size; k < given; k++)
        if (((const char *)theirs)[k])
            return many_fail(world, SPMV_E_ARG, "%s has a member that this library does not know",
                             name);
    memcpy(ours, theirs, given < size ? given : size);
    *(size_t *)ours = size;
    return SPMV_OK;
}

const char *spmv_world_error(const spmv_world *world) {
    return world ? world->mine.text : no_world_error;
}

/* ---- the exchange --------------------------------------------------------------------------- */

/* Which MPI this process has; NULL: none. Each has this function, which may be called before it is
 * started. Those that are not Open MPI share MPICH's ABI. */
static const char *loaded_mpi(void) {
    int (*version)(char *, int *);
    char text[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH, the longest */
    int length = 0;
    *(void **)&version = dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    if (!version) return NULL;
    version(text, &length);
    return strstr(text, "Open MPI") ? "openmpi" : "mpich";
}

/* Loads the file beside this library, or, where that is not known, on the loader's path. */
static spmv_status load_exchange(spmv_world *world, const char *name) {
    Dl_info here;
    char path[4096];
    const bool known = dladdr(&spmv_exchange_self, &here) && strrchr(here.dli_fname, '/');
    const int folder = known ? (int)(strrchr(here.dli_fname, '/') + 1 - here.dli_fname) : 0;
    if (strchr(name, '/'))
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%.*slibspmv_%s.so", folder, known ? here.dli_fname : "", name);
    world->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (world->library) world->by = dlsym(world->library, "spmv_exchange_mpi");
    if (world->by) return SPMV_OK;
    return many_fail(NULL, SPMV_E_FEATURE,
                     "no exchange for MPI: %.300s (make omp builds it with mpicc)", dlerror());
}

static spmv_status choose_exchange(spmv_world *world, const void *communicator, const char *name) {
    if (!name && communicator) name = loaded_mpi();
    if (name && strcmp(name, "self") != 0 && communicator) return load_exchange(world, name);
    if (communicator && !name)
        return many_fail(NULL, SPMV_E_FEATURE,
                         "a communicator was given, but this process has no MPI that can be seen: "
                         "name it in spmv_world_opts.exchange");
    if (name && strcmp(name, "self") != 0)
        return many_fail(NULL, SPMV_E_ARG, "communicator is NULL, and the exchange is '%s'", name);
    world->by = &spmv_exchange_self;
    return SPMV_OK;
}

/* ---- threads -------------------------------------------------------------------------------- */

typedef struct place { /* where a rank may run */
    char host[64];
    cpu_set_t cores;
} place;

/* Counts the ranks of this host that may run on cores of this one, itself among them. Collective.
 */
static spmv_status count_sharers(spmv_world *world, int *sharers) {
    place mine, *all = malloc((size_t)world->size * sizeof *all);
    memset(&mine, 0, sizeof mine);
    gethostname(mine.host, sizeof mine.host - 1);
    sched_getaffinity(0, sizeof mine.cores, &mine.cores);
    *sharers = 1;
    spmv_status status =
        many_agree(world, all ? SPMV_OK : many_fail(world, SPMV_E_NOMEM, "out of memory"));
    if (status == SPMV_OK) status = world->by->gather(world->state, &mine, sizeof mine, all);
    for (int r = 0; status == SPMV_OK && r < world->size; r++) {
        cpu_set_t both;
        CPU_AND(&both, &mine.cores, &all[r].cores);
        if (r != world->rank && strcmp(all[r].host, mine.host) == 0)
            *sharers += CPU_COUNT(&both) > 0;
    }
    free(all);
    return status;
}

static spmv_status open_context(spmv_world *world, const spmv_ctx_opts *opts, int sharers) {
    spmv_ctx_opts known = SPMV_OPTS(spmv_ctx_opts);
    spmv_status status = many_read(world, "spmv_ctx_opts", &known, sizeof known, opts);
    if (status == SPMV_OK)
        status = spmv_ctx_create(&known, &world->ctx);
    else
        return status;
    if (status == SPMV_OK && !known.threads && sharers > 1 && !getenv("OMP_NUM_THREADS")) {
        known.threads = spmv_ctx_threads(world->ctx) / sharers;
        if (known.threads < 1) known.threads = 1;
        spmv_ctx_free(world->ctx);
        world->ctx = NULL;
        status = spmv_ctx_create(&known, &world->ctx);
    }
    if (status == SPMV_OK) return status;
    return many_fail(world, status, "%s", spmv_ctx_error(NULL));
}

/* ---- the world ------------------------------------------------------------------------------ */

static spmv_status open_world(spmv_world *world, const void *communicator,
                              const spmv_world_opts *opts) {
    int sharers;
    spmv_status status = choose_exchange(world, communicator, opts->exchange);
    if (status != SPMV_OK) return status;
    status = world->by->open(communicator, &world->state, &world->rank, &world->size);
    if (status != SPMV_OK) {
        world->by = NULL;
        return many_fail(NULL, status, "the exchange cannot be opened");
    }
    world->all = malloc((size_t)world->size * sizeof *world->all);
    if (!world->all) return many_fail(NULL, SPMV_E_NOMEM, "out of memory");
    status = count_sharers(world, &sharers);
    if (status == SPMV_OK) status = many_agree(world, open_context(world, opts->context, sharers));
    if (status != SPMV_OK) many_fail(NULL, status, "%s", world->mine.text);
    return status;
}

spmv_status spmv_world_create(const void *communicator, const spmv_world_opts *opts,
                              spmv_world **out) {
    spmv_world_opts known = SPMV_OPTS(spmv_world_opts);
    if (!out) return many_fail(NULL, SPMV_E_ARG, "spmv_world_create: out is NULL");
    *out = NULL;
    spmv_status status = many_read(NULL, "spmv_world_opts", &known, sizeof known, opts);
    if (status != SPMV_OK) return status;
    spmv_world *world = calloc(1, sizeof *world);
    if (!world) return many_fail(NULL, SPMV_E_NOMEM, "out of memory");
    status = open_world(world, communicator, &known);
    if (status == SPMV_OK)
        *out = world;
    else
        spmv_world_free(world);
    return status;
}

/* An MPI that was started cannot be unloaded: its library stays. */
void spmv_world_free(spmv_world *world) {
    if (!world) return;
    spmv_ctx_free(world->ctx);
    if (world->by) world->by->close(world->state);
    free(world->all);
    free(world);
}

int spmv_world_rank(const spmv_world *world) {
    return world ? world->rank : 0;
}

int spmv_world_size(const spmv_world *world) {
    return world ? world->size : 0;
}

spmv_ctx *spmv_world_ctx(const spmv_world *world) {
    return world ? world->ctx : NULL;
}
