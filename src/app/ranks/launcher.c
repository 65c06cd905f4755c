/* launcher.c: whether mpirun or its like has started this process as one of several ranks.
 * Launchers say so in the environment, before MPI is loaded. What a rank starts has that
 * environment, too, and is no rank. */
#include "app/messages.h"
#include "launcher.h"
#include "ranks/exchange/exchange.h"
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t typed;

static const struct sign {
    const char *size, *rank, *mpi;
} signs[] = {{"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi"},
             {"PMI_SIZE", "PMI_RANK", "mpich"},
             {"SLURM_NTASKS", "PMIX_RANK", "openmpi"}};

/* Returns the file NAME of a process, which ends with a 0; NULL: it cannot be read. */
static char *file_of(long process, const char *name) {
    enum { PIECE = 1 << 16 };
    char path[64], *held = NULL;
    size_t n = 0, got = 1;
    snprintf(path, sizeof path, "/proc/%ld/%s", process, name);
    FILE *file = fopen(path, "re");
    while (file && got) {
        char *longer = realloc(held, n + PIECE + 1);
        if (!longer) break;
        held = longer;
        got = fread(held + n, 1, PIECE, file);
        n += got;
        held[n] = 0;
    }
    if (file) fclose(file);
    for (size_t k = 0; k < n; k++)
        if (!held[k]) held[k] = '\n';
    return held;
}

static bool has_words(long process, const char *name, const char *words) {
    char *held = file_of(process, name);
    const bool has = held && strstr(held, words);
    free(held);
    return has;
}

/* Returns 0: it has none, or it is a launcher, whose own parents do not matter. */
static long parent_of(long process) {
    static const char *const launchers[] = {"mpiexec", "mpirun",     "orte", "prte",
                                            "hydra",   "slurmstepd", "orted"};
    char *held = file_of(process, "stat");
    char *name = held ? strchr(held, '(') : NULL, *after = name ? strrchr(name, ')') : NULL;
    long parent = 0;
    if (after && sscanf(after, ") %*c %ld", &parent) != 1) parent = 0;
    for (size_t k = 0; name && k < sizeof launchers / sizeof *launchers; k++)
        if (strncmp(name + 1, launchers[k], strlen(launchers[k])) == 0) parent = 0;
    free(held);
    return parent;
}

/* Says whether a process between this one and the launcher has the same sign and an MPI: that one
 * is the rank. A shell that a launcher starts has no MPI, and what it starts is the rank. */
static bool is_of_rank(const char *name, const char *value) {
    char sign[128];
    snprintf(sign, sizeof sign, "%s=%s\n", name, value);
    for (long process = getppid(); process > 1; process = parent_of(process)) {
        if (!has_words(process, "environ", sign)) return false;
        if (parent_of(process) && has_words(process, "maps", "/libmpi")) return true;
    }
    return false;
}

static launcher found; /* of size 0: none */

static void find_launcher(void) {
    for (size_t k = 0; k < sizeof signs / sizeof *signs && !found.size; k++) {
        const char *size = getenv(signs[k].size), *rank = getenv(signs[k].rank);
        if (size && rank && atoi(size) > 0 && !is_of_rank(signs[k].rank, rank))
            found = (launcher){signs[k].mpi, atoi(rank), atoi(size)};
    }
}

const launcher *launcher_of(void) {
    return found.size > 1 ? &found : NULL;
}

bool launcher_is_there(void) {
    return found.size > 0;
}

/* ---- starting ranks ------------------------------------------------------------------------- */

static bool is_on_path(const char *name) {
    const char *from = getenv("PATH");
    while (from && *from) {
        char file[PATH_MAX];
        const size_t folder = strcspn(from, ":");
        const int length = snprintf(file, sizeof file, "%.*s/%s", (int)folder, from, name);
        if (length > 0 && (size_t)length < sizeof file && access(file, X_OK) == 0) return true;
        from += folder + (from[folder] == ':');
    }
    return false;
}

const char *launcher_to_start(void) {
    static const char *const of[][2] = {{"openmpi", "mpiexec.openmpi"}, {"mpich", "mpiexec.mpich"}};
    char path[PATH_MAX + 64];
    bool built = false;
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        if (!ranks_find_exchange(of[k][0], path, sizeof path)) continue;
        built = true;
        if (is_on_path(of[k][1])) return of[k][1];
    }
    return built && is_on_path("mpiexec") ? "mpiexec" : NULL;
}

/* Open MPI starts neither as root nor more ranks than there are cores unless asked. */
void launcher_allow(void) {
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    if (geteuid() != 0) return;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
}

/* ---- of a rank ------------------------------------------------------------------------------ */

static uint64_t hash_text(uint64_t h, const char *s) {
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return (h ^ 0xff) * 0x100000001b3u;
}

void launcher_begin(int argc, char **argv) {
    find_launcher();
    const launcher *by = launcher_of();
    uint64_t words = 0xcbf29ce484222325u, environment = 0;
    for (int k = 1; k < argc; k++) words = hash_text(words, argv[k]);
    for (char **variable = environ; *variable; variable++) /* in any order */
        if (strncmp(*variable, "SPMV_", 5) == 0) environment += hash_text(1, *variable);
    typed = words ^ environment;
    if (!by || by->rank == 0) return;
    talk_mute(true);
    const int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO);
}

/* Open MPI ends all when one ends with a code that is not 0. MPICH's launcher asks for a word on
 * the pipe from which its ranks get their numbers; what was said has to reach it before. */
int launcher_end_all(int code) {
    const struct timespec pause = {.tv_nsec = 300000000};
    const char *pipe = getenv("PMI_FD");
    if (!pipe || atoi(pipe) <= STDERR_FILENO) return code;
    nanosleep(&pause, NULL);
    dprintf(atoi(pipe), "cmd=abort exitcode=%d\n", code);
    return code;
}

uint64_t launcher_typed(void) {
    return typed;
}
