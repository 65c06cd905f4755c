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
/* The fiber will begin with entry(), which must not return. k: which of many fibers. */
void prepare(fiber *f, int k, void (*entry)());
/* Each from the other's side. ends: the fiber does not come back. */
void resume(fiber *f);
void suspend(fiber *f, bool ends);
void begun(fiber *f); /* first of all in entry() */
} // namespace emulated
#endif
