/* nvml.cu: current clocks, temperature, load and throttling of a GPU from NVIDIA's management
 * library, which is loaded at run time because machines without a GPU lack it. Uses only functions
 * with scalars, and a struct of two; the types are those of nvml.h. */
#include "backend.cuh"
#include "device.cuh"
#include <dlfcn.h>
#include <stdio.h>

typedef int (*plain)(void);
typedef int (*by_name)(const char *name, void **device);
typedef int (*one_number)(void *device, unsigned *out);
typedef int (*of_kind)(void *device, int kind, unsigned *out);
typedef int (*long_number)(void *device, unsigned long long *out);
typedef int (*two_numbers)(void *device, unsigned *now, unsigned *later);
typedef int (*pair_of_numbers)(void *device, unsigned *pair); /* a struct of two in nvml.h */

static unsigned ask(void *library, const char *name, void *device) {
    unsigned value = 0;
    one_number function = (one_number)dlsym(library, name);
    return function && function(device, &value) == 0 ? value : 0;
}

static unsigned query_kind(void *library, const char *name, void *device, int kind) {
    unsigned value = 0;
    of_kind function = (of_kind)dlsym(library, name);
    return function && function(device, kind, &value) == 0 ? value : 0;
}

static void read_state(void *library, void *device, spmv_device_state *out) {
    enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, CORE = 0 };
    unsigned long long reasons = 0;
    unsigned mode = 0, pending = 0, percent[2]; /* time with a kernel, and with memory accesses */
    out->clock_Hz = 1e6 * query_kind(library, "nvmlDeviceGetClockInfo", device, CLOCK_SM);
    out->clock_memory_Hz =
        1e6 * query_kind(library, "nvmlDeviceGetClockInfo", device, CLOCK_MEMORY);
    out->temperature_C = (int)query_kind(library, "nvmlDeviceGetTemperature", device, CORE);
    out->power_W = 1e-3 * ask(library, "nvmlDeviceGetPowerUsage", device);
    out->power_limit_W = 1e-3 * ask(library, "nvmlDeviceGetEnforcedPowerLimit", device);
    long_number throttled =
        (long_number)dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (throttled && throttled(device, &reasons) == 0) out->slowed = reasons;
    two_numbers mig = (two_numbers)dlsym(library, "nvmlDeviceGetMigMode");
    if (mig && mig(device, &mode, &pending) == 0) out->mig = mode != 0;
    pair_of_numbers busy = (pair_of_numbers)dlsym(library, "nvmlDeviceGetUtilizationRates");
    if (busy && busy(device, percent) == 0) out->busy_percent = (int)percent[0];
}

void spmv_gpu_state(spmv_device *d, spmv_device_state *out) {
    char bus[32];
    void *device = NULL;
    memset(out, 0, sizeof *out);
    out->mig = out->busy_percent = -1;
    if (cudaDeviceGetPCIBusId(bus, sizeof bus, d->number) != cudaSuccess) {
        cudaGetLastError();
        return;
    }
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    plain start = (plain)dlsym(library, "nvmlInit_v2"),
          stop = (plain)dlsym(library, "nvmlShutdown");
    by_name find = (by_name)dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    if (start && stop && find && start() == 0) {
        if (find(bus, &device) == 0) read_state(library, device, out);
        stop();
    }
    dlclose(library);
}
