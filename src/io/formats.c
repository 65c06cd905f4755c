/* formats.c: the table of file formats other than Matrix Market. */
#include "formats.h"
#include <strings.h>

#define FORMAT(name) extern const spmv_file_format spmv_file_##name;
#include "formats.def"
#undef FORMAT

static const spmv_file_format *const formats[] = {
#define FORMAT(name) &spmv_file_##name,
#include "formats.def"
#undef FORMAT
};
enum { FORMATS = sizeof formats / sizeof *formats };

const spmv_file_format *spmv_file_format_of(const void *head, size_t n) {
    for (int k = 0; k < FORMATS; k++)
        if (formats[k]->knows(head, n)) return formats[k];
    return NULL;
}

const spmv_file_format *spmv_file_format_named(const char *path) {
    const size_t n = strlen(path);
    for (int k = 0; k < FORMATS; k++)
        for (const char *const *ending = formats[k]->endings; ending && *ending; ending++)
            if (n > strlen(*ending) && strcasecmp(path + n - strlen(*ending), *ending) == 0)
                return formats[k];
    return NULL;
}
