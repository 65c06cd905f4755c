/* spmv_opts.h: structs that begin with their size, which a caller may have from an older or a newer
 * header. Each function returns false, and says why, if the struct, of type name, is unusable. */
#ifndef SPMV_OPTS_H
#define SPMV_OPTS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SPMV_WHY = 256 };

static inline bool spmv_opts_size(const char *name, const void *theirs, size_t *out,
                                  char why[SPMV_WHY]) {
    enum { LARGEST = 1 << 12 }; /* no struct is that large: the size is not one */
    *out = 0;
    if (theirs) memcpy(out, theirs, sizeof *out);
    if (*out >= sizeof *out && *out <= LARGEST) return true;
    if (theirs)
        snprintf(why, SPMV_WHY, "%s.size is %zu, not set: write %s s = SPMV_OPTS(%s)", name, *out,
                 name, name);
    else
        snprintf(why, SPMV_WHY, "%s is NULL", name);
    return false;
}

/* Copies options to *known, which holds the defaults and has the given size: members that a caller
 * of an older header does not have keep them; those that only a newer header has must be zero.
 * from NULL: all defaults. */
static inline bool spmv_opts_read(const char *name, void *known, size_t size, const void *from,
                                  char why[SPMV_WHY]) {
    size_t given;
    if (!from) return true;
    if (!spmv_opts_size(name, from, &given, why)) return false;
    for (size_t k = size; k < given; k++)
        if (((const char *)from)[k]) {
            snprintf(why, SPMV_WHY,
                     "%s has %zu bytes, of which this library knows %zu, and byte %zu is set: it "
                     "is of a newer header",
                     name, given, size, k);
            return false;
        }
    memcpy(known, from, given < size ? given : size);
    memcpy(known, &size, sizeof size);
    return true;
}

/* Fills a caller's struct from *known, without the members that an older header does not have; its
 * size stays. */
static inline bool spmv_opts_fill(const char *name, const void *known, size_t size, void *to,
                                  char why[SPMV_WHY]) {
    size_t given;
    if (!spmv_opts_size(name, to, &given, why)) return false;
    const size_t end = given < size ? given : size;
    memcpy((char *)to + sizeof given, (const char *)known + sizeof given, end - sizeof given);
    return true;
}

#endif
