/* bench/propose.c: the features of a matrix and the proposals of a backend's model, for
 * tables/auto/replay.py. The models are plain C, so that no device is needed.
 *
 *   bench_propose features [--values=KIND] MATRIX ...   a line for each matrix, precision, depth
 *   bench_propose cuda|omp              reads such lines, writes a line for each proposal
 *
 * A line consists of words "name=value". replay.py appends facts about the device to the lines that
 * it passes back: threads, cache and evicted. Exits with 1 if a matrix or a line cannot be read. */
#include "spmv_clock.h"
#include "tune/tune.h"
#include <stdio.h>
#include <stdlib.h>

static const struct field {
    const char *name;
    size_t offset;
    bool whole;
} fields[] = {
#define WHOLE(name) {#name, offsetof(spmv_features, name), true},
#define REAL(name) {#name, offsetof(spmv_features, name), false},
    WHOLE(rows) WHOLE(cols) WHOLE(nnz) WHOLE(row_max) WHOLE(sampled) WHOLE(distinct) REAL(mean)
        REAL(cv) REAL(empty_share) REAL(padding_32) REAL(near_16) REAL(diagonal) REAL(index_bytes)
            REAL(value_bytes) REAL(per_block[0]) REAL(per_block[1]) REAL(per_block[2]) REAL(fill_2)
                REAL(fill_3) REAL(exact_f32) REAL(symmetric) REAL(reach) REAL(seen) REAL(lines)
                    REAL(repeats) WHOLE(ell_width) REAL(ell_mean)
    /* older names in features.txt.xz */
    {"xcache_height", offsetof(spmv_features, block_rows), true},
    {"xcache_columns", offsetof(spmv_features, block_columns), false}};
enum { NFIELDS = sizeof fields / sizeof *fields, NDEPTHS = SPMV_SAMPLE_FULL + 1 };
static const char *const precisions[] = {[SPMV_F64] = "f64", [SPMV_F32] = "f32"};
static const char *const depths[NDEPTHS] = {"none", "quick", "all"};

static void write_features(const char *source, const char *values, const char *precision,
                           const char *depth, const spmv_features *f) {
    const char *slash = strrchr(source, '/');
    printf("matrix=%s", slash ? slash + 1 : source);
    if (values) printf(" values=%s", values);
    printf(" precision=%s depth=%s", precision, depth);
    for (int k = 0; k < NFIELDS; k++) {
        const void *at = (const char *)f + fields[k].offset;
        if (fields[k].whole)
            printf(" %s=%lld", fields[k].name, (long long)*(const int64_t *)at);
        else
            printf(" %s=%.9g", fields[k].name, *(const double *)at);
    }
    printf("\n");
    fflush(stdout);
}

static spmv_status look_at(spmv_ctx *ctx, const char *source, const char *values) {
    spmv_load_opts opts = {.size = sizeof opts, .values = values};
    spmv_mat *mat = NULL;
    spmv_features f;
    TRY(spmv_mat_load(ctx, source, &opts, &mat));
    for (int p = SPMV_F64; p <= SPMV_F32; p++)
        for (int d = 0; d < NDEPTHS; d++) {
            double start = spmv_now();
            if (spmv_features_of(mat, (spmv_precision)p, (spmv_sampling_depth)d, SPMV_FOR_BOTH,
                                 ctx->threads, &f) != SPMV_OK)
                continue;
            fprintf(stderr, "%s %s %s: %.0f us\n", source, precisions[p], depths[d],
                    1e6 * (spmv_now() - start));
            write_features(source, values, precisions[p], depths[d], &f);
        }
    spmv_mat_free(mat);
    return SPMV_OK;
}

static int features_of_all(char **source) {
    static const char option[] = "--values=";
    const char *values = NULL;
    spmv_ctx *ctx = NULL;
    int code = 0;
    if (strncmp(*source, option, sizeof option - 1) == 0) values = *source++ + sizeof option - 1;
    if (spmv_ctx_create(NULL, &ctx) != SPMV_OK) return 1;
    for (; *source; source++)
        if (look_at(ctx, *source, values) != SPMV_OK) {
            fprintf(stderr, "%s: %s\n", *source, spmv_ctx_error(ctx));
            code = 1;
        }
    spmv_ctx_free(ctx);
    return code;
}

/* Parses a word. Words that name no feature are for replay.py and are ignored. */
static bool read_word(const char *word, spmv_features *f) {
    const char *equal = strchr(word, '=');
    if (!equal) return false;
    size_t length = (size_t)(equal - word);
    for (int k = 0; k < NFIELDS; k++) {
        void *at = (char *)f + fields[k].offset;
        if (strlen(fields[k].name) != length) continue;
        if (strncmp(word, fields[k].name, length) != 0) continue;
        if (fields[k].whole)
            *(int64_t *)at = atoll(equal + 1);
        else
            *(double *)at = atof(equal + 1);
    }
    if (strcmp(word, "precision=f32") == 0) f->precision = SPMV_F32;
    if (strncmp(word, "threads=", 8) == 0) f->threads = atoi(equal + 1);
    if (strncmp(word, "cache=", 6) == 0) f->cache = (size_t)atoll(equal + 1);
    if (strncmp(word, "evicted=", 8) == 0) f->evicted = atoi(equal + 1);
    return true;
}

static void write_proposals(int line, const spmv_proposals *all) {
    for (int k = 0; k < all->n; k++) {
        const spmv_proposal *p = &all->list[k];
        printf("line=%d baseline_s=%.6g baseline=%.6g kernel=%s setup=%.6g speedup=%.6g", line,
               all->baseline_s, all->baseline, p->kernel, p->predicted_setup, p->predicted_speedup);
        for (int s = 0; s < p->nsettings; s++)
            printf(" %s=%lld", p->setting[s].name, (long long)p->setting[s].value);
        for (int t = 0; t < SPMV_COST_TERMS; t++) printf(" term%d=%.6g", t, p->term[t]);
        printf("\n");
    }
}

static int propose_all(void (*propose)(const spmv_features *, spmv_proposals *)) {
    static char text[1 << 14];
    for (int line = 0; fgets(text, sizeof text, stdin); line++) {
        spmv_features f = {.precision = SPMV_F64, .threads = 1};
        spmv_proposals all = {.n = 0};
        for (char *word = strtok(text, " \n"); word; word = strtok(NULL, " \n"))
            if (!read_word(word, &f)) {
                fprintf(stderr, "line %d: '%s' is no NAME=VALUE\n", line + 1, word);
                return 1;
            }
        propose(&f, &all);
        write_proposals(line, &all);
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "features") == 0) return features_of_all(argv + 2);
    if (argc == 2 && strcmp(argv[1], "cuda") == 0) return propose_all(spmv_propose_cuda);
    if (argc == 2 && strcmp(argv[1], "omp") == 0) return propose_all(spmv_propose_omp);
    fprintf(stderr, "usage: bench_propose features MATRIX... | cuda | omp\n");
    return 64;
}
