/* failing.c: preloaded by test_hostile.py: the FAIL_AT-th allocation that the library FAIL_IN asks
 * for fails. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *memory, size_t bytes);

static bool is_refused(const void *caller) {
    static long asked;
    static __thread bool is_asking; /* dladdr and getenv may allocate */
    Dl_info about;
    if (is_asking) return false;
    is_asking = true;
    const char *library = getenv("FAIL_IN"), *which = getenv("FAIL_AT");
    bool is_its = library && which && dladdr(caller, &about) && about.dli_fname &&
                  strstr(about.dli_fname, library);
    is_asking = false;
    return is_its && __atomic_add_fetch(&asked, 1, __ATOMIC_RELAXED) == atol(which);
}

void *malloc(size_t bytes) {
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes) {
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *memory, size_t bytes) {
    return is_refused(__builtin_return_address(0)) ? NULL : __libc_realloc(memory, bytes);
}
