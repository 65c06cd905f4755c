/* emulator.h: functions shared by the emulator's parts: the order of execution, and running a
 * block. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include "include/cuda_runtime.h"

namespace emulated {
enum { MOST_THREADS = 1024, WARP = 32, MOST_SHARED = 227 << 10, PLAIN_SHARED = 48 << 10 };

/* Prints a message and ends the program. */
[[noreturn]] void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Fills uninitialised memory: NaN as a float and as a double, and a large negative number as an
 * integer. */
void fill_with_rubbish(void *memory, size_t bytes);
/* Runs every block of a grid, one after the other. */
void run_grid(const launch &what, const std::function<void()> &body);
/* Allows access to device memory while a guard exists; outside of kernels and copies access is
 * forbidden. */
struct device_open {
    device_open();
    ~device_open();
};
unsigned seed(); /* EMULATED_SEED: determines the order of blocks, threads and streams */
} // namespace emulated
#endif
