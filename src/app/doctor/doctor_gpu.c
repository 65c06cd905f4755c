/* doctor_gpu.c: the checks of the GPU. */
#include "app/messages.h"
#include "app/run/results/result.h"
#include "app/run/timing/noise.h"
#include "doctor.h"
#include <stdio.h>
#include <string.h>

void check_cuda(const doctor_facts *f, finding *out) {
    static const char *const why = "the GPU's kernels cannot run";
    if (f->gpu_open) {
        tell(out, LEVEL_OK, "built in, runs on %s", f->gpu.name ? f->gpu.name : "an unnamed GPU");
    } else if (f->cuda) {
        tell(out, f->gpu_files ? LEVEL_WARNING : LEVEL_NOTE, "built in, but no GPU opens: %s",
             f->gpu_error);
        advise(out, why, "%s%s", f->gpu_files ? "nvidia-smi" : program_typed(),
               f->gpu_files ? "" : " --backend=omp");
    } else if (!f->gpu_files) {
        tell(out, LEVEL_OK, "not built in, and this machine shows no GPU (%s)",
             *f->nvcc ? f->nvcc : "no nvcc either");
    } else {
        tell(out, LEVEL_WARNING, "there is a GPU, but this build has no CUDA kernels; %s",
             *f->nvcc ? f->nvcc : "no nvcc in PATH, CUDA_HOME or /usr/local/cuda");
        if (*f->nvcc)
            advise(out, why, "make cuda NVCC=%s", f->nvcc);
        else
            advise(out, why, "install the CUDA toolkit, then: make cuda");
    }
}

static void tell_unknown(const doctor_facts *f, finding *out, const char *why) {
    tell(out, LEVEL_NOTE, "unknown: %s",
         f->gpu_told ? "the driver does not report it" : "the GPU was not queried");
    advise(out, why, "nvidia-smi -q");
}

void check_gpu_load(const doctor_facts *f, finding *out) {
    static const char *const why = "kernels of other programs take turns with those that are timed";
    if (!f->gpu_open) return;
    if (!f->gpu_told || f->gpu_now.busy_percent < 0) {
        tell_unknown(f, out, why);
    } else if (f->gpu_now.busy_percent > 5) {
        tell(out, LEVEL_WARNING, "busy %d%% of the time", f->gpu_now.busy_percent);
        advise(out, why, "nvidia-smi   # who; then --device=N for an idle one");
    } else {
        tell(out, LEVEL_OK, "idle (%d %%)", f->gpu_now.busy_percent);
    }
}

/* Our own context is in what is used: several hundred megabytes. */
void check_gpu_memory(const doctor_facts *f, finding *out) {
    static const double OWN = 1.5e9;
    static const char *const why = "others hold memory there: large matrices are skipped, and "
                                   "their kernels may start at any time";
    if (!f->gpu_open) return;
    double all = (double)f->gpu.memory, left = (double)f->gpu.memory_free;
    if (!(all > 0)) {
        tell_unknown(f, out, why);
    } else if (all - left > OWN) {
        tell(out, LEVEL_NOTE, "%.1f of %.1f GB are free", 1e-9 * left, 1e-9 * all);
        advise(out, why, "nvidia-smi");
    } else {
        tell(out, LEVEL_OK, "%.1f of %.1f GB are free", 1e-9 * left, 1e-9 * all);
    }
}

void check_gpu_clocks(const doctor_facts *f, finding *out) {
    static const char *const why = "times depend on clocks, and these are held down";
    const char *names[MOST_REASONS];
    if (!f->gpu_open) return;
    int n = slow_reasons(f->gpu_now.slowed, names);
    if (!f->gpu_told || !(f->gpu_now.clock_Hz > 0)) {
        tell_unknown(f, out, why);
    } else if (n) {
        tell(out, LEVEL_WARNING, "%.0f MHz, slowed down: %s%s", 1e-6 * f->gpu_now.clock_Hz,
             names[0], n > 1 ? " and more" : "");
        advise(out, why, "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER");
    } else {
        tell(out, LEVEL_OK, "%.0f MHz now, %d C, not slowed down", 1e-6 * f->gpu_now.clock_Hz,
             f->gpu_now.temperature_C);
    }
}

void check_ecc(const doctor_facts *f, finding *out) {
    static const char *const why =
        "without it a flipped bit stays; with it, boards with GDDR memory are some percent slower: "
        "compare like with like";
    if (!f->gpu_open) return;
    if (f->gpu.ecc < 0) {
        tell_unknown(f, out, why);
    } else if (!f->gpu.ecc) {
        tell(out, LEVEL_NOTE, "off");
        advise(out, why, "nvidia-smi -q -d ECC");
    } else {
        tell(out, LEVEL_OK, "on");
    }
}

void check_mig(const doctor_facts *f, finding *out) {
    static const char *const why =
        "a MIG instance has a part of the GPU's bandwidth, cache and SMs";
    if (!f->gpu_open) return;
    if (!f->gpu_told || f->gpu_now.mig < 0) {
        tell_unknown(f, out, why);
    } else if (f->gpu_now.mig) {
        tell(out, LEVEL_WARNING, "the GPU is partitioned (%d SMs in this instance)", f->gpu.sms);
        advise(out, why, "nvidia-smi -L   # then name the instance with: --tag mig=...");
    } else {
        tell(out, LEVEL_OK, "off: the whole GPU");
    }
}

/* Versions are 1000 times the major and 10 times the minor one. */
void check_driver(const doctor_facts *f, finding *out) {
    int driver = f->gpu.driver, toolkit = f->gpu.runtime;
    static const char *const why = "an older driver lacks what newer toolkits use: code may be "
                                   "translated at the start, or fail";
    if (!f->gpu_open) return;
    if (driver <= 0 || toolkit <= 0) {
        tell_unknown(f, out, why);
        return;
    }
    tell(out, driver < toolkit ? LEVEL_WARNING : LEVEL_OK,
         "the driver knows CUDA %d.%d, this build uses %d.%d", driver / 1000, driver % 1000 / 10,
         toolkit / 1000, toolkit % 1000 / 10);
    if (driver < toolkit) advise(out, why, "update the driver, or make cuda with an older toolkit");
}

/* Explains what -arch was. native and all-major made code for what was at hand, or for every
 * generation. */
void check_arch(const doctor_facts *f, finding *out) {
    static const char *const why =
        "code for another GPU is translated at the start, or not made for this one's SMs";
    const char *archs = f->build.build_cuda_archs;
    char wanted[32];
    if (!f->gpu_open) return;
    snprintf(wanted, sizeof wanted, "_%d", f->gpu.cc);
    if (f->gpu.cc <= 0 || !archs) {
        tell_unknown(f, out, why);
        return;
    }
    const char *at = strstr(archs, wanted);
    size_t n = strlen(wanted);
    bool named = at && !(at[n] >= '0' && at[n] <= '9');
    bool generic = strstr(archs, "native") || strncmp(archs, "all", 3) == 0;
    tell(out, named || generic ? LEVEL_OK : LEVEL_WARNING, "the GPU is sm_%d, built for %s",
         f->gpu.cc, archs);
    if (!named && !generic) advise(out, why, "make cuda CUDA_ARCH=sm_%d", f->gpu.cc);
}
