/* doctor_checks.c: the checks of the host and of the build, and the table of all checks. */
#include "app/messages.h"
#include "app/record/record.h"
#include "doctor.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number of hardware threads of a core; 0: unknown. */
static int smt_of(const doctor_facts *f) {
    return f->host.smt > 0 ? (int)f->host.smt : 0;
}

static const char *plural(int n) {
    return n == 1 ? "" : "s";
}

/* ---- threads -------------------------------------------------------------------------------- */

static void check_threads(const doctor_facts *f, finding *out) {
    int cores = f->cpus / (smt_of(f) ? smt_of(f) : 1);
    if (f->cpus <= 0) {
        tell(out, LEVEL_NOTE, "%d; how many CPUs they may use is unknown", f->threads);
        advise(out, "more threads than CPUs wait for each other", "nproc");
    } else if (f->threads > f->cpus) {
        tell(out, LEVEL_WARNING, "%d on %d CPU%s", f->threads, f->cpus, plural(f->cpus));
        advise(out, "threads without a CPU make all others wait at the end of every product",
               "export OMP_NUM_THREADS=%d   # or unset it, or -t %d", cores > 0 ? cores : 1,
               cores > 0 ? cores : 1);
    } else if (f->threads < cores && !(f->threads >= f->cgroup.cpus)) {
        tell(out, LEVEL_NOTE, "%d on %d CPU%s", f->threads, f->cpus, plural(f->cpus));
        advise(out, "some cores stay idle, and few cores rarely reach the memory bandwidth",
               "unset OMP_NUM_THREADS   # or -t %d", cores);
    } else {
        tell(out, LEVEL_OK, "%d on %d CPU%s", f->threads, f->cpus, plural(f->cpus));
    }
}

static void check_pinning(const doctor_facts *f, finding *out) {
    const char *where = f->places ? f->places : "OMP_PLACES is not set";
    if (f->bound) {
        tell(out, LEVEL_OK, "threads are bound (%s)", where);
    } else {
        tell(out, f->threads > 1 ? LEVEL_WARNING : LEVEL_NOTE, "threads are not bound (%s)", where);
        advise(out,
               "threads that move leave their caches and their memory's node behind: times vary",
               "export OMP_PROC_BIND=close OMP_PLACES=cores");
    }
}

static void check_affinity(const doctor_facts *f, finding *out) {
    if (f->cpus <= 0 || f->online <= 0) {
        tell(out, LEVEL_NOTE, "unknown");
        advise(out, "part of a machine has part of its bandwidth", "taskset -pc $$");
    } else if (f->cpus < f->online) {
        tell(out, LEVEL_NOTE, "this process may use %d of %d CPUs", f->cpus, f->online);
        advise(out, "part of a machine has part of its bandwidth; others may use the rest",
               "taskset -pc $$   # who set it: taskset, numactl, a batch system, a cpuset");
    } else {
        tell(out, LEVEL_OK, "all %d CPU%s", f->cpus, plural(f->cpus));
    }
}

static void check_smt(const doctor_facts *f, finding *out) {
    static const char *const why = "two threads of a core share its load ports and caches: often "
                                   "slower than one thread per core";
    int smt = smt_of(f);
    if (!smt) {
        tell(out, LEVEL_NOTE, "unknown");
        advise(out, why, "make deps && make   # hwloc reports it; or: lscpu");
    } else if (smt > 1 && f->cpus > 0 && f->threads > f->cpus / smt) {
        tell(out, LEVEL_WARNING, "%d threads on %d cores of %d hardware threads each", f->threads,
             f->cpus / smt, smt);
        advise(out, why, "export OMP_PLACES=cores OMP_PROC_BIND=close; unset OMP_NUM_THREADS");
    } else {
        tell(out, LEVEL_OK, "%d hardware thread%s per core", smt, plural(smt));
    }
}

/* ---- clocks --------------------------------------------------------------------------------- */

static void check_governor(const doctor_facts *f, finding *out) {
    static const char *const why = "other governors let clocks follow the load: the first products "
                                   "are slow, and times vary";
    if (!*f->host.governor) {
        tell(out, LEVEL_NOTE, "unknown: the kernel reports none (as in most virtual machines)");
        advise(out, why, "cpupower frequency-info   # on the host");
    } else if (strcmp(f->host.governor, "performance") != 0) {
        tell(out, LEVEL_WARNING, "%s", f->host.governor);
        advise(out, why, "sudo cpupower frequency-set -g performance");
    } else {
        tell(out, LEVEL_OK, "performance");
    }
}

static void check_turbo(const doctor_facts *f, finding *out) {
    static const char *const why =
        "turbo clocks fall as more cores work and as they warm up: early samples are faster";
    if (f->host.turbo < 0) {
        tell(out, LEVEL_NOTE, "unknown: the kernel does not report it");
        advise(out, why, "cat /sys/devices/system/cpu/cpufreq/boost   # on the host");
    } else if (f->host.turbo) {
        tell(out, LEVEL_NOTE, "on");
        advise(out, why,
               "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost   # Intel: echo 1 to "
               "intel_pstate/no_turbo");
    } else {
        tell(out, LEVEL_OK, "off");
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void check_numa(const doctor_facts *f, finding *out) {
    static const char *const why =
        "threads that move read the other node's memory, at half the speed";
    int nodes = f->host.numa_nodes > 0 ? (int)f->host.numa_nodes : 0;
    if (!nodes) {
        tell(out, LEVEL_NOTE, "unknown");
        advise(out, why, "make deps && make   # hwloc reports it; or: lscpu | grep NUMA");
    } else if (nodes > 1 && !f->bound) {
        tell(out, LEVEL_WARNING, "%d nodes, threads not bound", nodes);
        advise(out, why, "export OMP_PROC_BIND=spread OMP_PLACES=cores   # or numactl -N 0 -m 0");
    } else {
        tell(out, LEVEL_OK, "%d node%s", nodes, plural(nodes));
    }
}

static void check_quota(const doctor_facts *f, finding *out) {
    static const char *const why = "threads beyond the quota are stopped in every period of 0.1 s: "
                                   "the rest of the team waits for them";
    double cpus = f->cgroup.cpus;
    if (isnan(cpus)) {
        tell(out, LEVEL_NOTE, "unknown: no mounted control group reports it");
        advise(out, why, "cat /proc/self/cgroup /proc/self/mountinfo");
    } else if (isinf(cpus)) {
        tell(out, LEVEL_OK, "none");
    } else if (f->threads > cpus) {
        tell(out, LEVEL_WARNING, "%.3g CPUs for %d threads", cpus, f->threads);
        advise(out, why, "export OMP_NUM_THREADS=%d   # or ask for more CPUs",
               cpus >= 1 ? (int)cpus : 1);
    } else if (cpus < f->cpus) {
        tell(out, LEVEL_NOTE, "%.3g of %d CPUs, enough for %d thread%s", cpus, f->cpus, f->threads,
             plural(f->threads));
        advise(out, "other containers run on the same CPUs and their caches",
               "docker run --cpuset-cpus=0-%d ...   # CPUs of one's own, instead of --cpus",
               (int)ceil(cpus) - 1);
    } else {
        tell(out, LEVEL_OK, "%.3g CPUs", cpus);
    }
}

static void check_memory(const doctor_facts *f, finding *out) {
    static const double LITTLE = 1e9;
    static const char *const why =
        "matrices that do not fit are skipped, and reclaiming memory slows "
        "reading down";
    bool limited = f->cgroup.memory >= 0 && f->cgroup.memory < f->host.memory;
    double all = (double)(limited ? f->cgroup.memory : f->host.memory), left = (double)f->available;
    if (f->available <= 0 || all <= 0) {
        tell(out, LEVEL_NOTE, "unknown");
        advise(out, why, "free -g");
    } else if (left < LITTLE || left < 0.1 * all) {
        tell(out, LEVEL_WARNING, "%.1f of %.1f GB%s are available", 1e-9 * left, 1e-9 * all,
             limited ? " of this container" : "");
        advise(out, why, "ps aux --sort=-rss | head   # who; or --max-mem=%.1fG", 0.8e-9 * left);
    } else {
        tell(out, LEVEL_OK, "%.1f of %.1f GB%s are available", 1e-9 * left, 1e-9 * all,
             limited ? " of this container" : "");
    }
}

/* ---- others --------------------------------------------------------------------------------- */

static void check_load(const doctor_facts *f, finding *out) {
    static const char *const why =
        "a core that others use makes the whole team wait, and they share caches and memory";
    static const char *const top = "top -bn1 | head -n 15";
    char load[64] = "";
    if (f->load >= 0) snprintf(load, sizeof load, "; load average %.2f", f->load);
    if (isnan(f->others)) {
        tell(out, LEVEL_NOTE, "unknown: /proc/stat cannot be read%s", load);
        advise(out, why, "%s   # who", top);
    } else if (f->others > 0.1) {
        tell(out, f->others + f->threads > f->online ? LEVEL_WARNING : LEVEL_NOTE,
             "others use %.1f of %d processors now%s", f->others, f->online, load);
        advise(out, why,
               "export OMP_WAIT_POLICY=passive   # threads that wait give up their core; who: %s",
               top);
    } else if (f->load > 0.5) {
        tell(out, LEVEL_NOTE, "idle now, but not during the last minute%s", load);
        advise(out, why, "%s   # who", top);
    } else {
        tell(out, LEVEL_OK, "idle%s", load);
    }
}

static void check_stolen(const doctor_facts *f, finding *out) {
    static const double MUCH = 0.01;
    static const char *const why = "the hypervisor gave this machine's processors to others: no "
                                   "setting in here helps, samples just vary";
    if (isnan(f->stolen)) {
        tell(out, LEVEL_NOTE, "unknown: /proc/stat says nothing");
        advise(out, why, "cat /proc/stat");
    } else if (f->stolen > MUCH || f->stolen_up > MUCH) {
        tell(out, f->stolen > MUCH ? LEVEL_WARNING : LEVEL_NOTE,
             "%.1f%% of the processors' time now, %.1f%% since the start", 100 * f->stolen,
             100 * f->stolen_up);
        advise(out, why, "%s --samples=50 --max-time=20   # or go to a machine of your own",
               program_typed());
    } else {
        tell(out, LEVEL_OK, "negligible (%.2f%% since the start)", 100 * f->stolen_up);
    }
}

/* ---- the build ------------------------------------------------------------------------------ */

static const char *makes(const doctor_facts *f) {
    return f->cuda ? "cuda" : "omp";
}

/* The last -O counts. NULL: none. */
static const char *optimization(const char *flags) {
    const char *last = NULL;
    for (const char *at = flags; at && (at = strstr(at, "-O")); at += 2)
        if (at == flags || at[-1] == ' ') last = at;
    return last;
}

static void check_build(const doctor_facts *f, finding *out) {
    const char *flags = f->build.build_cflags ? f->build.build_cflags : "",
               *opt = optimization(flags);
    bool slow = !opt || !opt[2] || !strchr("23f", opt[2]);
    if (strstr(flags, "-fsanitize") || slow) {
        tell(out, LEVEL_WARNING, "built %s", slow ? "without optimization" : "with sanitizers");
        advise(out, "times of such a build say nothing about the kernels", "make clean %s",
               makes(f));
    } else if (f->build.build_dirty == 1) {
        tell(out, LEVEL_NOTE, "built from sources that differ from commit %s",
             f->build.build_commit ? f->build.build_commit : "(unknown)");
        advise(out, "the log names a commit that is not what ran",
               "git add src omp cuda include && git commit && make %s", makes(f));
    } else {
        tell(out, LEVEL_OK, "commit %s, %.*s",
             f->build.build_commit ? f->build.build_commit : "unknown", (int)strcspn(opt, " "),
             opt);
    }
}

static bool has(texts words, const char *word) {
    for (int k = 0; k < words.count; k++)
        if (strcmp(words.value[k], word) == 0) return true;
    return false;
}

static const struct library {
    const char *name, *without;
    level how;
} libraries[] = {
    {"jansson", "no log is written", LEVEL_WARNING},
    {"libarchive", "compressed matrices are refused", LEVEL_NOTE},
    {"zlib", "no .gz is read", LEVEL_NOTE},
    {"hwloc", "cores, caches and nodes are unknown", LEVEL_NOTE},
};

static void check_libraries(const doctor_facts *f, finding *out) {
    char missing[128] = "", why[256] = "";
    level how = LEVEL_OK;
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++) {
        const struct library *l = &libraries[k];
        size_t n = strlen(missing), m = strlen(why);
        if (has(f->build.build_features, l->name)) continue;
        snprintf(missing + n, sizeof missing - n, "%s%s", n ? ", " : "", l->name);
        snprintf(why + m, sizeof why - m, "%s%s", m ? "; " : "", l->without);
        if (l->how > how) how = l->how;
    }
    tell(out, how, "%s%s", *missing ? "missing: " : "all present", missing);
    if (*missing) advise(out, why, "make deps && make %s", makes(f));
}

static void check_peers(const doctor_facts *f, finding *out) {
    if (!*f->peers) {
        tell(out, LEVEL_OK, "all that this backend can use are built in");
        return;
    }
    tell(out, LEVEL_NOTE, "not built in: %s", f->peers);
    advise(out, "this program's kernels cannot be compared with theirs",
           "make deps-peers && make %s", makes(f));
}

static void check_probe(const doctor_facts *f, finding *out) {
    bool gpu_missing = f->gpu_open && !f->gpu_probed;
    if (f->probed && !gpu_missing) {
        tell(out, LEVEL_OK, "this machine's limits are known");
        return;
    }
    if (f->probed_beside)
        tell(out, LEVEL_NOTE, "measured beside other programs, and so too low");
    else
        tell(out, LEVEL_NOTE, "not measured for %s%s%s",
             f->probed ? "" : "the CPU with these threads",
             !f->probed && gpu_missing ? " and " : "", gpu_missing ? "the GPU" : "");
    advise(out,
           f->probed_beside
               ? "runs report upper bounds of stream and gather, and call no time impossible"
               : "runs cannot report how close they come to the machine's limits",
           "%s doctor --probe%s%s", program_typed(), f->probe_folder ? " --probe=" : "",
           f->probe_folder ? f->probe_folder : "");
}

const check doctor_checks[] = {
    {"threads", check_threads},
    {"pinning", check_pinning},
    {"affinity", check_affinity},
    {"smt", check_smt},
    {"governor", check_governor},
    {"turbo", check_turbo},
    {"numa", check_numa},
    {"quota", check_quota},
    {"memory", check_memory},
    {"load", check_load},
    {"stolen", check_stolen},
    {"build", check_build},
    {"libraries", check_libraries},
    {"peers", check_peers},
    {"probe", check_probe},
    {"cuda", check_cuda},
    {"gpu-load", check_gpu_load},
    {"gpu-memory", check_gpu_memory},
    {"gpu-clocks", check_gpu_clocks},
    {"gpu-ecc", check_ecc},
    {"gpu-mig", check_mig},
    {"gpu-driver", check_driver},
    {"gpu-arch", check_arch},
    {NULL, NULL},
};
