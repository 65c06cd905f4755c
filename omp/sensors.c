/* sensors.c: clock, temperature and throttling of the host's processors as reported by Linux; a
 * virtual machine reports little. */
#include "backend.h"
#include "kernel.h"
#include <glob.h>
#include <stdio.h>
#include <string.h>

/* MOST_CLOCKS: older kernels take 10 ms to report a clock. */
enum { PATH_SIZE = 512, ALL = 1 << 20, MOST_CLOCKS = 8 };

/* Folds the numbers in at most `most` files that match the pattern into *into; returns their
 * number. */
static int fold_files(const char *root, const char *pattern, int most, double *into,
                      double (*fold)(double, double)) {
    char path[PATH_SIZE];
    glob_t found = {0};
    int n = 0;
    snprintf(path, sizeof path, "%s%s", root, pattern);
    if (glob(path, 0, NULL, &found) == 0)
        for (size_t k = 0; k < found.gl_pathc && n < most; k++) {
            double value;
            FILE *file = fopen(found.gl_pathv[k], "r");
            if (file && fscanf(file, "%lf", &value) == 1) *into = fold(*into, value), n++;
            if (file) fclose(file);
        }
    globfree(&found);
    return n;
}

static double sum(double a, double b) {
    return a + b;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Returns the mean clock of /proc/cpuinfo in MHz; 0: not reported. */
static double told_MHz(const char *root) {
    char path[PATH_SIZE], line[256];
    double total = 0, value;
    int n = 0;
    snprintf(path, sizeof path, "%s/proc/cpuinfo", root);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "cpu MHz : %lf", &value) == 1) total += value, n++;
    if (file) fclose(file);
    return n ? total / n : 0;
}

/* Returns the hottest sensor of processors' drivers, in thousandths of a degree Celsius. */
static double hottest_mC(const char *root) {
    static const char *const drivers[] = {"coretemp", "k10temp", "zenpower", "cpu_thermal"};
    char pattern[PATH_SIZE], name[32];
    glob_t found = {0};
    double hottest = 0;
    snprintf(pattern, sizeof pattern, "%s/sys/class/hwmon/hwmon*/name", root);
    int status = glob(pattern, 0, NULL, &found);
    for (size_t k = 0; status == 0 && k < found.gl_pathc; k++) {
        char *path = found.gl_pathv[k], inputs[PATH_SIZE];
        FILE *file = fopen(path, "r");
        bool is_processor = false;
        if (file && fscanf(file, "%31s", name) == 1)
            for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++)
                is_processor |= strcmp(name, drivers[d]) == 0;
        if (file) fclose(file);
        snprintf(inputs, sizeof inputs, "%.*s/temp*_input", (int)(strlen(path) - strlen("/name")),
                 path);
        if (is_processor) fold_files("", inputs, ALL, &hottest, larger);
    }
    globfree(&found);
    return hottest;
}

void spmv_host_sensors(const char *root, spmv_device_state *out) {
    double kHz = 0, times = 0;
    int n = fold_files(root, "/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq",
                       MOST_CLOCKS, &kHz, sum);
    *out = (spmv_device_state){.mig = -1, .busy_percent = -1};
    out->clock_Hz = n ? 1e3 * kHz / n : 1e6 * told_MHz(root);
    out->temperature_C = (int)(1e-3 * hottest_mC(root));
    fold_files(root, "/sys/devices/system/cpu/cpu[0-9]*/thermal_throttle/*_throttle_count", ALL,
               &times, sum);
    out->throttled = (long)times;
}

void spmv_host_state(spmv_device *d, spmv_device_state *out) {
    (void)d;
    spmv_host_sensors("", out);
}
