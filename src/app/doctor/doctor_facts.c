/* doctor_facts.c: gathers what the checks look at. What cannot be read stays unknown. */
#include "app/options/options.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "app/run/limits/rates.h"
#include "app/run/timing/noise.h"
#include "doctor.h"
#include <dirent.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double WINDOW_S = 0.5; /* clock ticks are 10 ms */

/* Measures what others do, this thread being asleep. */
static void watch(doctor_facts *f) {
    struct timespec window = {.tv_nsec = (long)(1e9 * WINDOW_S)}, up;
    noise before = noise_now();
    nanosleep(&window, NULL);
    noise after = noise_now(), n = {0};
    noise_add(&n, &before, &after);
    f->load = load_now();
    f->others = f->stolen = f->stolen_up = NAN;
    if (!(after.busy_s > 0) || f->online <= 0) return; /* no /proc/stat */
    f->others = fmax(0, (n.busy_s - n.cpu_s) / n.wall_s);
    f->stolen = n.stolen_s / (n.wall_s * f->online);
    clock_gettime(CLOCK_BOOTTIME, &up);
    f->stolen_up = after.stolen_s / ((double)up.tv_sec * f->online);
}

static void find_nvcc(char *out, size_t size) {
    const char *home = getenv("CUDA_HOME"), *path = getenv("PATH");
    snprintf(out, size, "%s/bin/nvcc", home ? home : "/usr/local/cuda");
    while (access(out, X_OK) != 0 && path && *path) {
        int n = (int)strcspn(path, ":");
        snprintf(out, size, "%.*s/nvcc", n, path);
        path += path[n] ? n + 1 : n;
    }
    if (access(out, X_OK) != 0) snprintf(out, size, "/usr/local/cuda/bin/nvcc");
    if (access(out, X_OK) != 0) *out = 0;
}

/* nvidia0, nvidia1, ...: in a container any of them may be the only one. */
static bool has_gpu_files(void) {
    bool found = false;
    DIR *folder = opendir("/dev");
    for (struct dirent *d; folder && (d = readdir(folder));)
        found |= strncmp(d->d_name, "nvidia", 6) == 0 && d->d_name[6] >= '0' && d->d_name[6] <= '9';
    if (folder) closedir(folder);
    return found;
}

static void find_peers(doctor_facts *f) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        for (int k = 0; (*b)->kernels && k < (*b)->nkernels; k++) {
            const spmv_kernel *kernel = (*b)->kernels[k][0];
            size_t n = strlen(f->peers);
            if (!kernel->absent) continue;
            snprintf(f->peers + n, sizeof f->peers - n, "%s%s", n ? ", " : "", kernel->name);
        }
}

static bool is_probed(const options *o, doctor_facts *f, const spmv_backend *backend) {
    char key[1024];
    spmv_rates rates;
    rates_key(&f->host, backend, f->gpu.name, f->threads, key, sizeof key);
    const bool known = rates_load(o, key, &rates);
    if (backend->host) f->probed_beside = rates.others > 0;
    return known && !(rates.others > 0);
}

static void look_at_gpu(const options *o, spmv_ctx *ctx, doctor_facts *f) {
    const spmv_backend *cuda = spmv_backend_named("cuda");
    f->cuda = cuda->kernels != NULL;
    f->gpu_files = has_gpu_files();
    find_nvcc(f->nvcc, sizeof f->nvcc);
    if (!f->cuda) return;
    f->gpu_open = spmv_ctx_describe(ctx, cuda, &f->gpu) == SPMV_OK;
    if (!f->gpu_open) {
        snprintf(f->gpu_error, sizeof f->gpu_error, "%s", spmv_ctx_error(ctx));
        return;
    }
    f->gpu_told = spmv_ctx_state(ctx, cuda, &f->gpu_now);
    f->gpu_probed = is_probed(o, f, cuda);
}

void doctor_look_around(const options *o, spmv_ctx *ctx, doctor_facts *f) {
    memset(f, 0, sizeof *f);
    machine_read(&f->host);
    record_clear(&f->build);
    record_build(&f->build);
    spmv_cgroup_read("", &f->cgroup);
    f->threads = spmv_ctx_threads(ctx);
    f->cpus = omp_get_num_procs();
    f->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    f->bound = omp_get_proc_bind() != omp_proc_bind_false;
    f->places = getenv("OMP_PLACES");
    if (!f->places) f->places = getenv("GOMP_CPU_AFFINITY");
    f->available = (int64_t)spmv_host_free_bytes();
    find_peers(f);
    f->probe_folder = o->probe && strcmp(o->probe, "off") != 0 ? o->probe : NULL;
    f->probed = is_probed(o, f, spmv_backend_named("omp"));
    look_at_gpu(o, ctx, f);
    watch(f);
}
