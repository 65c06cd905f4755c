/* machine.c: facts about host and process. A fact that cannot be read is null in the log. */
#include "app/options/options.h"
#include "machine.h"
#include "record.h"
#include "spmv_host.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* First line of a file, without its end; "" when there is none. */
static void first_line(const char *path, char *out, size_t size) {
    FILE *file = fopen(path, "r");
    out[0] = 0;
    if (!file) return;
    if (!fgets(out, (int)size, file)) out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(file);
}

/* Reads what follows "key<separator>" in a file of such lines, quotes removed. */
static void value_in(const char *path, const char *key, char separator, char *out, size_t size) {
    char line[512];
    FILE *file = fopen(path, "r");
    out[0] = 0;
    if (!file) return;
    while (!out[0] && fgets(line, sizeof line, file)) {
        char *at = strchr(line, separator);
        if (strncmp(line, key, strlen(key)) != 0 || !at) continue;
        at += 1 + strspn(at + 1, " \t\"");
        snprintf(out, size, "%.*s", (int)strcspn(at, "\"\n"), at);
    }
    fclose(file);
}

static int64_t number_at(const char *path) {
    char line[64], *end;
    first_line(path, line, sizeof line);
    long long value = strtoll(line, &end, 10);
    return end == line ? INT64_MIN : value;
}

#ifdef HAVE_HWLOC
#include <hwloc.h>

static int64_t count_or_null(int n) {
    return n > 0 ? n : INT64_MIN;
}

/* Returns the total size of a level's caches: a vector streams through those of all its threads. */
static int64_t cache_bytes(hwloc_topology_t topology, hwloc_obj_type_t level) {
    int64_t bytes = 0;
    for (hwloc_obj_t c = NULL; (c = hwloc_get_next_obj_by_type(topology, level, c));)
        bytes += (int64_t)c->attr->cache.size;
    return bytes;
}

static void ask_hwloc(machine *m) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0) return;
    if (hwloc_topology_load(topology) == 0) {
        int units = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
        m->cores = count_or_null(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE));
        m->sockets = count_or_null(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PACKAGE));
        m->numa_nodes = count_or_null(hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE));
        if (m->cores > 0 && units > 0) m->smt = units / m->cores;
        m->llc = cache_bytes(topology, HWLOC_OBJ_L3CACHE);
        if (m->llc <= 0) m->llc = cache_bytes(topology, HWLOC_OBJ_L2CACHE);
        if (m->llc <= 0) m->llc = INT64_MIN;
    }
    hwloc_topology_destroy(topology);
}

static void read_topology(machine *m) {
    spmv_foreign = "hwloc";
    ask_hwloc(m);
    spmv_foreign = NULL;
}
#else
/* Reads without hwloc only what the C library and the kernel say in one place. */
static void read_topology(machine *m) {
    size_t llc = spmv_host_cache();
    if (llc) m->llc = (int64_t)llc;
}
#endif

static void read_environment(machine *m) {
    pairs *p = &m->omp_env;
    char *to = m->omp_text, *end = to + sizeof m->omp_text;
    for (char **e = environ; *e && p->count < MOST_PAIRS; e++) {
        char *equals = strchr(*e, '=');
        if ((strncmp(*e, "OMP_", 4) != 0 && strncmp(*e, "GOMP_", 5) != 0 &&
             strncmp(*e, "KMP_", 4) != 0) ||
            !equals || (size_t)(end - to) <= strlen(*e) + 1)
            continue;
        memcpy(to, *e, strlen(*e) + 1);
        p->name[p->count] = to;
        to[equals - *e] = 0;
        p->text[p->count++] = to + (equals - *e) + 1;
        to += strlen(*e) + 1;
    }
}

/* Returns the job number of the batch system that started this process. */
static text job_id(void) {
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (getenv(names[k])) return getenv(names[k]);
    return NULL;
}

static void read_schedule(machine *m) {
    static const char *const kinds[] = {"", "static", "dynamic", "guided", "auto"};
    omp_sched_t kind;
    int chunk, k;
    omp_get_schedule(&kind, &chunk);
    k = (int)((unsigned)kind & 0x7fffffff); /* without the monotonic bit */
    if (k >= 1 && k <= 4 && chunk > 1)
        snprintf(m->schedule, sizeof m->schedule, "%s,%d", kinds[k], chunk);
    else if (k >= 1 && k <= 4)
        snprintf(m->schedule, sizeof m->schedule, "%s", kinds[k]);
}

void machine_read(machine *m) {
    struct utsname name;
    time_t now = time(NULL);
    struct tm utc;
    struct timespec precise;
    spmv_cgroup allowed;
    *m = (machine){.cores = INT64_MIN,
                   .smt = INT64_MIN,
                   .sockets = INT64_MIN,
                   .numa_nodes = INT64_MIN,
                   .llc = INT64_MIN,
                   .memory = INT64_MIN,
                   .cgroup_cpus = INT64_MIN,
                   .turbo = -1};
    if (gethostname(m->hostname, sizeof m->hostname - 1) != 0) m->hostname[0] = 0;
    if (uname(&name) == 0)
        snprintf(m->kernel, sizeof m->kernel, "%s %s", name.sysname, name.release);
    value_in("/etc/os-release", "PRETTY_NAME", '=', m->os, sizeof m->os);
    value_in("/proc/cpuinfo", "model name", ':', m->cpu, sizeof m->cpu);
    first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", m->governor,
               sizeof m->governor);
    int64_t boost = number_at("/sys/devices/system/cpu/cpufreq/boost");
    int64_t no_turbo = number_at("/sys/devices/system/cpu/intel_pstate/no_turbo");
    if (boost != INT64_MIN) m->turbo = boost != 0;
    if (no_turbo != INT64_MIN) m->turbo = no_turbo == 0;
    m->container = access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0;
    m->memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    spmv_cgroup_read("", &allowed);
    if (allowed.cpus < INT32_MAX) m->cgroup_cpus = (int64_t)ceil(allowed.cpus);
    read_topology(m);
    read_environment(m);
    read_schedule(m);
    strftime(m->time, sizeof m->time, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    clock_gettime(CLOCK_REALTIME, &precise);
    snprintf(m->run_id, sizeof m->run_id, "%08x%08x", (unsigned)precise.tv_nsec ^ (unsigned)now,
             (unsigned)getpid());
}

static text or_null(const char *s) {
    return s && *s ? s : NULL;
}

static const char *bind_name(void) {
    static const char *const names[] = {"false", "true", "master", "close", "spread"};
    int bind = (int)omp_get_proc_bind();
    return bind >= 0 && bind < 5 ? names[bind] : NULL;
}

void machine_describe(const machine *m, const options *o, int threads, record *r) {
    r->time = m->time;
    r->run_id = m->run_id;
    if (o->tags) r->tags = *o->tags;
    r->host_name = or_null(m->hostname);
    r->host_os = or_null(m->os);
    r->host_kernel = or_null(m->kernel);
    r->host_container = m->container;
    r->host_cgroup_cpus = m->cgroup_cpus;
    r->cpu_model = or_null(m->cpu);
    r->cpu_sockets = m->sockets;
    r->cpu_cores = m->cores;
    r->cpu_smt = m->smt;
    r->cpu_numa_nodes = m->numa_nodes;
    r->cpu_llc_B = m->llc;
    r->cpu_mem_B = m->memory;
    r->cpu_governor = or_null(m->governor);
    r->cpu_turbo = m->turbo;
    r->omp_threads = threads;
    r->omp_bind = bind_name();
    r->omp_places = getenv("OMP_PLACES");
    r->omp_env = m->omp_env;
    r->omp_schedule = or_null(m->schedule);
    r->host_job_id = job_id();
}

static whole positive_or_null(int64_t value) {
    return value > 0 ? value : INT64_MIN;
}

void gpu_describe(const spmv_device_facts *f, int index, record *r) {
    r->gpu_name = f->name;
    r->gpu_index = index;
    r->gpu_cc = positive_or_null(f->cc);
    r->gpu_driver = positive_or_null(f->driver);
    r->gpu_runtime = positive_or_null(f->runtime);
    r->gpu_sms = positive_or_null(f->sms);
    r->gpu_mem_B = positive_or_null((int64_t)f->memory);
    r->gpu_l2_B = positive_or_null((int64_t)f->l2);
    r->gpu_ecc = f->ecc;
    if (f->bandwidth > 0) r->gpu_bw_theory_Bps = f->bandwidth;
    if (f->clock_sm_kHz > 0) r->gpu_clk_sm_Hz = 1e3 * f->clock_sm_kHz;
    if (f->clock_memory_kHz > 0) r->gpu_clk_mem_Hz = 1e3 * f->clock_memory_kHz;
}
