/* state.h: declarations shared by the emulator's runtime functions. All of these functions hold one
 * lock. */
#ifndef EMULATOR_STATE_H
#define EMULATOR_STATE_H

#include "emulator.h"

namespace emulated {
struct locked {
    locked();
    ~locked();
};
cudaError_t failed(cudaError_t error); /* stores the error for cudaGetLastError, and returns it */
cudaError_t forbidden_in_capture();    /* returns an error and invalidates the capture, if this
                                          thread captures */
void finish_all();                     /* runs the pending work of all streams */
void give_back(void *memory);
void available_bytes(size_t *available, size_t *total);
cudaMemoryType type_of(const void *memory);
} // namespace emulated
#endif
