/* state.h: what the emulator's runtime functions share. All of them take one lock: one thread at
 * a time is in here. */
#ifndef EMULATOR_STATE_H
#define EMULATOR_STATE_H

#include "emulator.h"

namespace emulated {
struct locked {
    locked();
    ~locked();
};
cudaError_t failed(cudaError_t error); /* remembers it for cudaGetLastError, and returns it */
cudaError_t forbidden_in_capture(); /* an error while this thread captures, which is invalid then */
void finish_all();                  /* what every stream still has to do */
void give_back(void *memory);
void available_bytes(size_t *available, size_t *total);
cudaMemoryType type_of(const void *memory);
} // namespace emulated
#endif
