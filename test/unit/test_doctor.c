/* test_doctor.c: every check of `spmv doctor` on a machine without fault, on machines with one
 * fault each, and on one of which nothing is known. */
#include "app/record/machine.h"
#include "app/record/record.h"
#include "testing.h"
#include "app/doctor/doctor.h"

#define WORDS(...) \
    (texts) { \
        (const char *const[]){__VA_ARGS__}, COUNT(((const char *const[]){__VA_ARGS__})) \
    }

static spmv_cgroup no_limits(void) {
    return (spmv_cgroup){.cpus = INFINITY, .memory = INT64_MAX, .memory_left = INT64_MAX};
}

static const char *const all_libraries[] = {"libarchive", "zlib", "jansson", "hwloc", "librsb"};

/* Eight cores bound and idle, an idle GPU, everything built in and probed. */
static doctor_facts sound(void) {
    doctor_facts f = {.threads = 8,
                      .cpus = 8,
                      .online = 8,
                      .bound = true,
                      .places = "cores",
                      .available = (int64_t)60e9,
                      .load = 0.1,
                      .cgroup = no_limits(),
                      .probed = true,
                      .gpu_probed = true,
                      .cuda = true,
                      .gpu_files = true,
                      .gpu_open = true,
                      .gpu_told = true,
                      .nvcc = "/usr/local/cuda/bin/nvcc"};
    f.host = (machine){.governor = "performance",
                       .cores = 8,
                       .smt = 1,
                       .sockets = 1,
                       .numa_nodes = 1,
                       .memory = (int64_t)64e9,
                       .turbo = 0};
    record_clear(&f.build);
    f.build.build_commit = "0123456789";
    f.build.build_dirty = 0;
    f.build.build_cflags = "-std=gnu11 -O0 -O3 -march=native";
    f.build.build_features = (texts){all_libraries, COUNT(all_libraries)};
    f.build.build_cuda_archs = "sm_90";
    f.gpu = (spmv_device_facts){.name = "GPU",
                                .cc = 90,
                                .sms = 132,
                                .driver = 12080,
                                .runtime = 12060,
                                .ecc = 1,
                                .memory = (size_t)80e9,
                                .memory_free = (size_t)79e9};
    f.gpu_now = (spmv_device_state){.clock_Hz = 1.9e9, .temperature_C = 40};
    return f;
}

static finding look(const doctor_facts *f, const char *name) {
    finding out = {.level = LEVEL_OK};
    for (const check *c = doctor_checks; c->name; c++)
        if (strcmp(c->name, name) == 0) {
            c->look(f, &out);
            return out;
        }
    fail_msg("no check '%s'", name);
    return out;
}

/* A finding that is not OK has a reason and a remedy; one that is OK has neither. */
static void assert_whole(const char *name, const finding *f) {
    bool well = f->level == LEVEL_OK;
    if (!*f->found || well != !*f->why || well != !*f->what)
        fail_msg("%s: level %d, found '%s', why '%s', type '%s'", name, (int)f->level, f->found,
                 f->why, f->what);
}

/* Asserts the level of a check, and that its finding or remedy contains `words`. */
static void expect(const doctor_facts *f, const char *name, level how, const char *words) {
    finding found = look(f, name);
    assert_whole(name, &found);
    if (found.level != how || !(strstr(found.found, words) || strstr(found.what, words)))
        fail_msg("%s: level %d, found '%s', type '%s'; expected level %d and '%s'", name,
                 (int)found.level, found.found, found.what, (int)how, words);
}

TEST(a_sound_machine_is_all_well) {
    doctor_facts f = sound();
    for (const check *c = doctor_checks; c->name; c++) {
        finding found = look(&f, c->name);
        assert_whole(c->name, &found);
        if (found.level != LEVEL_OK) fail_msg("%s: %s", c->name, found.found);
    }
}

/* A machine with one fault: FAULT(what is changed, check, level, words of what is found or typed).
 */
#define FAULT(change, name, how, words) \
    do { \
        doctor_facts f = sound(); \
        change; \
        expect(&f, name, how, words); \
    } while (0)

TEST(faults_of_threads_are_found) {
    FAULT(f.threads = 9, "threads", LEVEL_WARNING, "9 on 8 CPUs");
    FAULT(f.threads = 9, "threads", LEVEL_WARNING, "OMP_NUM_THREADS=8");
    FAULT(f.threads = 4, "threads", LEVEL_NOTE, "-t 8");
    FAULT((f.threads = 4, f.cgroup.cpus = 4), "threads", LEVEL_OK, "4 on 8");
    FAULT((f.threads = 4, f.host.smt = 2), "threads", LEVEL_OK, "4 on 8");
    FAULT(f.bound = false, "pinning", LEVEL_WARNING, "OMP_PROC_BIND=close");
    FAULT((f.bound = false, f.threads = 1), "pinning", LEVEL_NOTE, "not bound");
    FAULT(f.cpus = 4, "affinity", LEVEL_NOTE, "4 of 8");
    FAULT(f.host.smt = 2, "smt", LEVEL_WARNING, "8 threads on 4 cores");
    FAULT((f.host.smt = 2, f.threads = 4), "smt", LEVEL_OK, "2 hardware threads");
}

TEST(faults_of_clocks_and_memory_are_found) {
    FAULT(strcpy(f.host.governor, "powersave"), "governor", LEVEL_WARNING, "powersave");
    FAULT(f.host.turbo = 1, "turbo", LEVEL_NOTE, "on");
    FAULT((f.host.numa_nodes = 2, f.bound = false), "numa", LEVEL_WARNING, "2 nodes");
    FAULT(f.host.numa_nodes = 2, "numa", LEVEL_OK, "2 nodes");
    FAULT(f.cgroup.cpus = 2.5, "quota", LEVEL_WARNING, "OMP_NUM_THREADS=2 ");
    FAULT(f.cgroup.cpus = 0.5, "quota", LEVEL_WARNING, "OMP_NUM_THREADS=1 ");
    FAULT((f.cgroup.cpus = 4, f.threads = 4), "quota", LEVEL_NOTE, "4 of 8 CPUs");
    FAULT(f.cgroup.cpus = 8, "quota", LEVEL_OK, "8 CPUs");
    FAULT(f.available = (int64_t)5e9, "memory", LEVEL_WARNING, "5.0 of 64.0 GB are");
    FAULT((f.cgroup.memory = (int64_t)8e9, f.available = (int64_t)7e9), "memory", LEVEL_OK,
          "7.0 of 8.0 GB of this container");
    FAULT((f.cgroup.memory = (int64_t)8e9, f.available = (int64_t)0.5e9), "memory", LEVEL_WARNING,
          "--max-mem=0.4G");
}

TEST(others_are_seen) {
    FAULT(f.others = 1.5, "load", LEVEL_WARNING, "1.5 of 8");
    FAULT((f.others = 1.5, f.threads = 4), "load", LEVEL_NOTE, "1.5 of 8");
    FAULT(f.others = 0.05, "load", LEVEL_OK, "idle");
    FAULT(f.load = 3, "load", LEVEL_NOTE, "3.00");
    FAULT(f.stolen = 0.05, "stolen", LEVEL_WARNING, "5.0%");
    FAULT(f.stolen_up = 0.05, "stolen", LEVEL_NOTE, "5.0% since");
    FAULT(f.stolen_up = 0.005, "stolen", LEVEL_OK, "0.50%");
}

TEST(faults_of_the_build_are_found) {
    FAULT(f.build.build_cflags = "-O3 -O0", "build", LEVEL_WARNING, "without optimization");
    FAULT(f.build.build_cflags = "-g -DX-O3", "build", LEVEL_WARNING, "without optimization");
    FAULT(f.build.build_cflags = "-O2 -fsanitize=address", "build", LEVEL_WARNING, "sanitizers");
    FAULT(f.build.build_dirty = 1, "build", LEVEL_NOTE, "0123456789");
    FAULT(f.build.build_dirty = 1, "build", LEVEL_NOTE,
          "git add src omp cuda include && git commit");
    FAULT(f.build.build_features = WORDS("libarchive", "zlib", "hwloc"), "libraries", LEVEL_WARNING,
          "jansson");
    FAULT(f.build.build_features = WORDS("jansson", "hwloc2"), "libraries", LEVEL_NOTE,
          "libarchive, zlib, hwloc");
    FAULT(strcpy(f.peers, "mkl_csr"), "peers", LEVEL_NOTE, "make deps-peers");
    FAULT(f.probed = false, "probe", LEVEL_NOTE, "the CPU with these threads");
    FAULT(f.gpu_probed = false, "probe", LEVEL_NOTE, "the GPU");
    FAULT((f.gpu_probed = f.gpu_open = false), "probe", LEVEL_OK, "known");
}

TEST(faults_of_the_gpu_are_found) {
    FAULT((f.gpu_open = false, strcpy(f.gpu_error, "driver too old")), "cuda", LEVEL_WARNING,
          "driver too old");
    FAULT((f.gpu_open = f.gpu_files = false), "cuda", LEVEL_NOTE, "--backend=omp");
    FAULT((f.gpu_open = f.cuda = false), "cuda", LEVEL_WARNING, "make cuda NVCC=/usr/local");
    FAULT((f.gpu_open = f.cuda = false, *f.nvcc = 0), "cuda", LEVEL_WARNING, "CUDA toolkit");
    FAULT((f.gpu_open = f.cuda = f.gpu_files = false), "cuda", LEVEL_OK, "shows no GPU");
    FAULT(f.gpu_now.busy_percent = 60, "gpu-load", LEVEL_WARNING, "60%");
    FAULT(f.gpu.memory_free = (size_t)60e9, "gpu-memory", LEVEL_NOTE, "60.0 of 80.0");
    FAULT(f.gpu_now.slowed = 0x40, "gpu-clocks", LEVEL_WARNING, "hardware thermal slowdown");
    FAULT(f.gpu_now.slowed = 0x01, "gpu-clocks", LEVEL_OK, "1900 MHz"); /* idle is no fault */
    FAULT(f.gpu.ecc = 0, "gpu-ecc", LEVEL_NOTE, "off");
    FAULT(f.gpu_now.mig = 1, "gpu-mig", LEVEL_WARNING, "132 SMs");
    FAULT(f.gpu.driver = 12040, "gpu-driver", LEVEL_WARNING, "12.4, this build uses 12.6");
    FAULT(f.build.build_cuda_archs = "sm_80", "gpu-arch", LEVEL_WARNING, "CUDA_ARCH=sm_90");
    FAULT(f.build.build_cuda_archs = "sm_900", "gpu-arch", LEVEL_WARNING, "CUDA_ARCH=sm_90");
    FAULT(f.build.build_cuda_archs = "all-major", "gpu-arch", LEVEL_OK, "all-major");
    FAULT(f.build.build_cuda_archs = "native", "gpu-arch", LEVEL_OK, "native");
    FAULT(f.build.build_cuda_archs = "sm_90a", "gpu-arch", LEVEL_OK, "sm_90a");
}

/* A fact that is not available is reported as unknown, and never as OK. */
TEST(what_is_not_known_is_called_unknown) {
    static const char *const unknown[] = {
        "affinity",   "smt",     "governor",   "turbo",   "numa",     "quota",
        "memory",     "load",    "stolen",     "threads", "gpu-load", "gpu-memory",
        "gpu-clocks", "gpu-ecc", "gpu-driver", "gpu-mig", "gpu-arch"};
    doctor_facts f = sound();
    f.cpus = f.online = 0;
    f.available = 0;
    f.load = f.others = f.stolen = f.stolen_up = NAN;
    f.cgroup = (spmv_cgroup){.cpus = NAN, .memory = -1, .memory_left = -1};
    f.host = (machine){.cores = INT64_MIN,
                       .smt = INT64_MIN,
                       .numa_nodes = INT64_MIN,
                       .memory = INT64_MIN,
                       .turbo = -1};
    f.gpu = (spmv_device_facts){.ecc = -1};
    f.gpu_told = false;
    for (int k = 0; k < COUNT(unknown); k++) expect(&f, unknown[k], LEVEL_NOTE, "unknown");
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
