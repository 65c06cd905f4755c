/* emulator.h: what the emulator's parts share: the order in which things run, and how a block is
 * run. */
#ifndef EMULATOR_H
#define EMULATOR_H

#include "include/cuda_runtime.h"

namespace emulated {
enum { MOST_THREADS = 1024, WARP = 32, MOST_SHARED = 227 << 10, PLAIN_SHARED = 48 << 10 };

/* Prints a message and ends the program. */
[[noreturn]] void stop(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Marks what is not initialised: NaN as a float and as a double, and a large negative number as an
 * integer. */
void fill_with_rubbish(void *memory, size_t bytes);
/* Runs every block of a grid, one after the other. */
void run_grid(const launch &what, const std::function<void()> &body);
/* The device's memory can be read and written while a guard lives: outside kernels and copies it
 * cannot. */
struct device_open {
    device_open();
    ~device_open();
};
unsigned seed(); /* EMULATED_SEED: another order of blocks, threads and streams */
} // namespace emulated
#endif
