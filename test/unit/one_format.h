/* one_format.h: for tests of every format that try one alone where a word asks for it. */
#ifndef SPMV_TEST_ONE_FORMAT_H
#define SPMV_TEST_ONE_FORMAT_H

#include "testing.h"

static const char *only_format; /* NULL: all */

static inline bool is_asked(const char *format) {
    return !only_format || strcmp(only_format, format) == 0;
}

static inline void take_format(int argc, char **argv) {
    if (argc > 1) only_format = argv[1];
    for (int f = 0; f < spmv_format_count(); f++)
        if (is_asked(spmv_format_at(f, 0)->name)) return wait_without_spinning(argc, argv);
    fprintf(stderr, "%s: no format '%s'\n", argv[0], only_format);
    exit(64);
}
#endif
