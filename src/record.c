/* record.c: the record as data: a table of its fields from record.def, so that writers are loops.
 */
#include "app.h"
#include "build_info.h"
#include <math.h>

const field record_fields[] = {
#define FIELD(type, name, key, unit, help) {TYPE_##type, offsetof(record, name), key, unit, help},
#include "record.def"
#undef FIELD
};
const int record_nfields = sizeof record_fields / sizeof *record_fields;

/* Zero is null for texts and lists; the other types each have their own null. */
void record_clear(record *r) {
    memset(r, 0, sizeof *r);
    for (const field *f = record_fields; f < record_fields + record_nfields; f++) {
        char *at = (char *)r + f->offset;
        if (f->type == TYPE_whole) *(whole *)(void *)at = INT64_MIN;
        if (f->type == TYPE_number) *(number *)(void *)at = NAN;
        if (f->type == TYPE_truth) *(truth *)(void *)at = -1;
    }
    r->schema = "spmv-run/1";
}

void record_build(record *r) {
    r->build_version = spmv_version();
    r->build_commit = *BUILD_COMMIT ? BUILD_COMMIT : NULL;
    r->build_dirty = *BUILD_COMMIT ? BUILD_DIRTY : -1;
    r->build_cc = BUILD_CC;
    r->build_cflags = BUILD_CFLAGS;
    r->build_nvcc = *BUILD_NVCC ? BUILD_NVCC : NULL;
    r->build_nvccflags = *BUILD_NVCC ? BUILD_NVCCFLAGS : NULL;
    r->build_cuda_archs = *BUILD_NVCC ? BUILD_CUDA_ARCH : NULL;
    r->build_features = BUILD_FEATURES;
}
