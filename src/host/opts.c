/* opts.c: reads and writes structs that begin with the size in their caller's header. */
#include "spmv_opts.h"
#include "spmv_helpers.h"

static spmv_status read_size(spmv_ctx *ctx, const char *name, const void *theirs, size_t *out) {
    enum { LARGEST = 1 << 12 }; /* no struct is that large, so a larger value is not a size */
    if (!theirs) return spmv_fail(ctx, SPMV_E_ARG, "%s is NULL", name);
    memcpy(out, theirs, sizeof *out);
    if (*out >= sizeof *out && *out <= LARGEST) return SPMV_OK;
    return spmv_fail(ctx, SPMV_E_ARG, "%s.size is %zu, not set: write %s s = SPMV_OPTS(%s)", name,
                     *out, name, name);
}

spmv_status spmv_read_opts(spmv_ctx *ctx, const char *name, void *known, size_t size,
                           const void *from) {
    size_t given = 0;
    if (!from) return SPMV_OK;
    TRY(read_size(ctx, name, from, &given));
    for (size_t k = size; k < given; k++)
        if (((const char *)from)[k])
            return spmv_fail(ctx, SPMV_E_ARG,
                             "%s has %zu bytes, of which this library knows %zu, and byte %zu "
                             "is set: it is of a newer header",
                             name, given, size, k);
    memcpy(known, from, given < size ? given : size);
    memcpy(known, &size, sizeof size);
    return SPMV_OK;
}

spmv_status spmv_fill(spmv_ctx *ctx, const char *name, const void *known, size_t size, void *to) {
    size_t given = 0;
    TRY(read_size(ctx, name, to, &given));
    const size_t end = given < size ? given : size;
    memcpy((char *)to + sizeof given, (const char *)known + sizeof given, end - sizeof given);
    return SPMV_OK;
}
