/* record.c: the record as data: a table of its fields from record.def, so that writers are loops.
 */
#include "build_info.h"
#include "record.h"
#include <math.h>
#include <string.h>

static const field table[] = {
#define FIELD(type, name, key, unit, help) {TYPE_##type, offsetof(record, name), key, unit, help},
#include "record.def"
#undef FIELD
};

fields record_fields(void) {
    return (fields){table, sizeof table / sizeof *table};
}

/* Zero is null for texts and lists; the other types each have their own null. */
void fields_clear(fields all, void *of) {
    for (const field *f = all.field; f < all.field + all.count; f++) {
        char *at = (char *)of + f->offset;
        if (f->type == TYPE_whole) *(whole *)(void *)at = INT64_MIN;
        if (f->type == TYPE_number) *(number *)(void *)at = NAN;
        if (f->type == TYPE_truth) *(truth *)(void *)at = -1;
    }
}

void record_clear(record *r) {
    memset(r, 0, sizeof *r);
    fields_clear(record_fields(), r);
    r->schema = "spmv-run/1";
}

statistics record_times(const record *r) {
    return (statistics){r->timing_min_s,   r->timing_q1_s,         r->timing_median_s,
                        r->timing_q3_s,    r->timing_max_s,        r->timing_mean_s,
                        r->timing_stdev_s, r->timing_median_low_s, r->timing_median_high_s};
}

/* Returns the words of the build's list. */
static texts features(void) {
    enum { MOST = 16 };
    static char text_of[] = BUILD_FEATURES;
    static const char *word[MOST];
    static int n;
    char *rest = text_of;
    if (n == 0)
        for (char *w; n < MOST && (w = strsep(&rest, " "));)
            if (*w) word[n++] = w;
    return (texts){word, n};
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
    r->build_features = features();
}
