/* fiber.h: a thread of a kernel, on a stack of its own. */
#ifndef EMULATOR_FIBER_H
#define EMULATOR_FIBER_H

#include <stddef.h>

namespace emulated {
struct fiber {
    void *top = NULL; /* top of its stack while it does not run */
    char *stack = NULL;
    void *sanitizers = NULL;
};
enum { STACK_BYTES = 256 << 10 };
/* Prepares a fiber that will begin with entry(), which must not return. k: index of the fiber. */
void prepare(fiber *f, int k, void (*entry)());
/* Switch to the fiber, and back. ends: the fiber will not be resumed. */
void resume(fiber *f);
void suspend(fiber *f, bool ends);
void begun(fiber *f); /* must be called first in entry() */
} // namespace emulated
#endif
