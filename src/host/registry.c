/* registry.c: tables of backends and formats; no other file of the library names one. */
#include "spmv_kernel.h"

const spmv_backend *const spmv_backends[] = {&spmv_omp, &spmv_cuda, NULL};
_Static_assert(sizeof spmv_backends / sizeof *spmv_backends <= SPMV_MOST_BACKENDS + 1,
               "more backends than SPMV_MOST_BACKENDS");

const spmv_backend *spmv_backend_named(const char *name) {
    for (const spmv_backend *const *b = spmv_backends; *b; b++)
        if (strcmp((*b)->name, name) == 0) return *b;
    return NULL;
}

/* ---- formats -------------------------------------------------------------------------------- */

#define FORMAT(name) SPMV_DECLARE_VARIANTS(spmv_format, name##_format)
#include "formats.def"
#undef FORMAT
#define FORMAT(name) SPMV_OF_VARIANTS(name##_format),
static const spmv_format *const formats[][SPMV_NVARIANTS] = {
#include "formats.def"
};
#undef FORMAT

int spmv_format_count(void) {
    return sizeof formats / sizeof *formats;
}

const spmv_format *spmv_format_at(int k, int variant) {
    return formats[k][variant];
}

const spmv_format *spmv_format_named(const char *name, int variant) {
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        if (strcmp(formats[f][0]->name, name) == 0) return formats[f][variant];
    return NULL;
}
