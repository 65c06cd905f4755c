/* noise.c: what else the machine did while a kernel was timed: time its threads waited for a core,
 * time that other machines took from this one, and what other programs used. Flagged, and nothing
 * is thrown away. */
#include "app/record/record.h"
#include "app/run/results/describe.h"
#include "app/run/results/result.h"
#include "noise.h"
#include "spmv_clock.h"
#include <dirent.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Returns the second number of a thread's schedstat: nanoseconds it could have run and did not. */
static double waited_s(void) {
    double sum = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; tasks && (d = readdir(tasks));) {
        char path[300];
        double ran, waited;
        if (d->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", d->d_name);
        FILE *file = fopen(path, "r");
        if (file && fscanf(file, "%lf %lf", &ran, &waited) == 2) sum += 1e-9 * waited;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return sum;
}

/* Sums the busy and the stolen time of all processors. */
static void processors_s(double *busy, double *stolen) {
    double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    FILE *file = fopen("/proc/stat", "r");
    if (file && fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
                       &io, &irq, &soft, &steal) < 8)
        steal = 0;
    if (file) fclose(file);
    *busy = tick * (user + nice + system + irq + soft);
    *stolen = tick * steal;
}

noise noise_now(void) {
    noise n = {.wall_s = spmv_now(),
               .cpu_s = spmv_clock_s(CLOCK_PROCESS_CPUTIME_ID),
               .waited_s = waited_s()};
    processors_s(&n.busy_s, &n.stolen_s);
    return n;
}

void noise_add(noise *sum, const noise *before, const noise *after) {
    sum->wall_s += after->wall_s - before->wall_s;
    sum->cpu_s += after->cpu_s - before->cpu_s;
    /* Threads that have ended take their waits along. */
    if (after->waited_s > before->waited_s) sum->waited_s += after->waited_s - before->waited_s;
    sum->busy_s += after->busy_s - before->busy_s;
    sum->stolen_s += after->stolen_s - before->stolen_s;
}

double load_now(void) {
    double load;
    return getloadavg(&load, 1) == 1 ? load : NAN;
}

/* ---- flags ---------------------------------------------------------------------------------- */

static void flag(result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void flag(result *out, const char *format, ...) {
    va_list args;
    if (out->nflags == MOST_FLAGS) return; /* there are no more kinds than places */
    va_start(args, format);
    vsnprintf(out->flag[out->nflags], sizeof *out->flag, format, args);
    va_end(args);
    out->flags[out->nflags] = out->flag[out->nflags];
    out->nflags++;
    out->r.timing_flags = (texts){out->flags, out->nflags};
}

/* The others of a team wait for the one that waits. If that may be in a quarter of the samples, the
 * median need not be a time of the product any more: it may be the scheduler's 4 or 8 ms. */
bool noise_is_waits(const noise *n) {
    return n->waited_s >= 0.25 * n->wall_s && n->wall_s > 0;
}

/* NVML's reasons, but for an idle GPU and for clocks that somebody set. */
static const struct reason {
    unsigned long long bit;
    const char *name;
} reasons[MOST_REASONS] = {{0x04, "software power cap"},
                           {0x08, "hardware slowdown"},
                           {0x10, "sync boost"},
                           {0x20, "software thermal slowdown"},
                           {0x40, "hardware thermal slowdown"},
                           {0x80, "hardware power brake"}};

int slow_reasons(unsigned long long slowed, const char **out) {
    int n = 0;
    for (size_t k = 0; k < MOST_REASONS; k++)
        if (slowed & reasons[k].bit) out[n++] = reasons[k].name;
    return n;
}

static double known(double value) {
    return value > 0 ? value : NAN;
}

static void describe_gpu(result *out, const spmv_device_state *before,
                         const spmv_device_state *after) {
    record *r = &out->r;
    int n = slow_reasons(before->slowed | after->slowed, out->slowed);
    r->gpu_mig = after->mig;
    r->gpu_power_limit_W = known(after->power_limit_W);
    r->gpu_throttle = (texts){out->slowed, n};
    r->timing_clk_sm_before_Hz = known(before->clock_Hz);
    r->timing_clk_sm_after_Hz = known(after->clock_Hz);
    if (n) flag(out, "the GPU was slowed down: %s", out->slowed[0]);
    if (before->clock_Hz > 0 && after->clock_Hz < 0.95 * before->clock_Hz)
        flag(out, "GPU clock fell to %.0f MHz", 1e-6 * after->clock_Hz);
}

static void describe_host(result *out, const spmv_device_state *before,
                          const spmv_device_state *after) {
    out->r.timing_clk_cpu_before_Hz = known(before->clock_Hz);
    out->r.timing_clk_cpu_after_Hz = known(after->clock_Hz);
    if (after->throttled > before->throttled) flag(out, "heat slowed processors down");
}

/* A thread that waits makes the others of its team spin: a few percent are much. All of the
 * team flushes caches, and may wait then. What a GPU computes, it computes alone: only the thread
 * that launches its kernels, where it waits, is part of their time. */
void describe_noise(const candidate *e, int team, result *out) {
    record *r = &out->r;
    const noise *n = &e->noise;
    int threads = !e->p.host ? 1 : e->p.flush ? team : (int)r->config_threads;
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double waited = fmin(1, n->waited_s / (n->wall_s * threads)),
           stolen = n->stolen_s / (n->wall_s * processors);
    double others = (n->busy_s - n->cpu_s) / n->wall_s;
    r->timing_wall_s = n->wall_s;
    r->timing_cpu_s = n->cpu_s;
    r->timing_waited_s = n->waited_s;
    r->timing_stolen_s = n->stolen_s;
    r->timing_others_s = n->busy_s > n->cpu_s ? n->busy_s - n->cpu_s : 0;
    out->waits = waited > 0.02;
    if (out->waits) flag(out, "threads waited for a core %.0f%% of the time", 100 * waited);
    if (e->p.host && stolen > 0.01)
        flag(out, "%.0f%% of the processors were taken by other machines", 100 * stolen);
    if (e->p.host && others > 0.1 && n->wall_s > 0.1)
        flag(out, "other programs used %.1f processors", others);
    r->timing_load_before = e->before.load;
    r->timing_load_after = e->after.load;
    if (!e->before.known || !e->after.known) return;
    r->timing_temperature_before_C = known(e->before.device.temperature_C);
    r->timing_temperature_after_C = known(e->after.device.temperature_C);
    (e->p.host ? describe_host : describe_gpu)(out, &e->before.device, &e->after.device);
}
