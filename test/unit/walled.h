/* walled.h: memory between inaccessible pages: an access beyond the ends crashes the test. */
#ifndef SPMV_TEST_WALLED_H
#define SPMV_TEST_WALLED_H

#include "testing.h"
#include <sys/mman.h>

typedef struct walled {
    void *all;
    char *first, *bytes; /* first accessible byte; the requested bytes, up to the last */
    size_t size;
} walled;

/* munmap of all and size frees it. */
static inline walled walled_off(size_t bytes) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inside = (bytes + page - 1) / page * page;
    walled w = {.size = inside + 2 * page};
    w.all = mmap(NULL, w.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(w.all, MAP_FAILED);
    w.first = (char *)w.all + page;
    assert_int_equal(mprotect(w.first, inside, PROT_READ | PROT_WRITE), 0);
    w.bytes = w.first + inside - bytes;
    return w;
}
#endif
