/* sources.h: memory of every kind that a copy to a GPU may come from (sources.cu). */
#ifndef SPMV_TEST_SOURCES_H
#define SPMV_TEST_SOURCES_H

#include <stdbool.h>
#include <stddef.h>

typedef enum source_kind {
    PAGEABLE,   /* from malloc */
    PINNED,     /* allocated so */
    REGISTERED, /* pinned afterwards */
    MANAGED,
    ON_DEVICE,
    SOURCE_KINDS
} source_kind;

#ifdef __cplusplus
extern "C" {
#endif
/* Memory of the current device's; NULL: none. */
void *source_alloc(source_kind kind, size_t bytes);
void source_free(source_kind kind, void *memory);
/* The driver's own copy, which returns when it is done. */
bool plain_copy(void *to, const void *from, size_t bytes);
struct spmv_device;
/* Returns how many copies of that size a newly opened device makes through the driver before it
 * uses its own pinned buffers; at most `most`. */
int copies_until_pinned(struct spmv_device *device, void *to, const void *from, size_t bytes,
                        int most);
#ifdef __cplusplus
}
#endif
#endif
