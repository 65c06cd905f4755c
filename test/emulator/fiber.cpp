/* fiber.cpp: switches stacks: pushes the callee-saved registers and exchanges the stack pointer,
 * in a few ns. swapcontext would make two system calls for the signal mask. */
#include "fiber.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#ifndef __x86_64__
#error "the emulator of CUDA switches stacks on x86-64 alone"
#endif
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n"
    ".globl emulated_switch\n"
    ".hidden emulated_switch\n"
    ".type emulated_switch, @function\n"
    "emulated_switch:\n"
    "    pushq %rbp\n    pushq %rbx\n    pushq %r12\n    pushq %r13\n    pushq %r14\n    pushq "
    "%r15\n"
    "    movq %rsp, (%rdi)\n"
    "    movq %rsi, %rsp\n"
    "    popq %r15\n    popq %r14\n    popq %r13\n    popq %r12\n    popq %rbx\n    popq %rbp\n"
    "    ret\n"
    ".size emulated_switch, .-emulated_switch\n");

namespace emulated {
static void *host_top; /* stack of the thread that runs the fibers: one at a time */
#ifdef __SANITIZE_ADDRESS__
static const void *host_stack;
static size_t host_bytes;
#endif

void prepare(fiber *f, int k, void (*entry)()) {
    enum { REGISTERS = 6, LINE = 64, WAYS = 61 };
    if (!f->stack) {
        void *memory = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) abort();
        f->stack = (char *)memory;
    }
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(f->stack, STACK_BYTES);
    f->sanitizers = NULL;
#endif
    /* Tops at equal distances would map to a few sets of the cache. */
    void **top = (void **)(f->stack + STACK_BYTES - 256 - (k % WAYS) * 5 * LINE);
    *--top = NULL; /* return address of entry */
    *--top = (void *)entry;
    for (int r = 0; r < REGISTERS; r++) *--top = NULL;
    f->top = top;
}

void resume(fiber *f) {
#ifdef __SANITIZE_ADDRESS__
    void *mine;
    __sanitizer_start_switch_fiber(&mine, f->stack, STACK_BYTES);
#endif
    emulated_switch(&host_top, f->top);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(mine, NULL, NULL);
#endif
}

void begun(fiber *f) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->sanitizers, &host_stack, &host_bytes);
#endif
    (void)f;
}

void suspend(fiber *f, bool ends) {
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(ends ? NULL : &f->sanitizers, host_stack, host_bytes);
#endif
    (void)ends;
    emulated_switch(&f->top, host_top);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(f->sanitizers, &host_stack, &host_bytes);
#endif
}
} // namespace emulated
