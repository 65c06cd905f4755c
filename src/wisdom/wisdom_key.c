/* wisdom_key.c: the key of a choice of `auto`, as readable texts: the matrix (pattern, and the
 * properties of values that kernels exploit), the options of the plan, the machine and the build.
 * The matrix is sampled in some tens of microseconds. Two matrices with equal samples share a
 * choice, which is correct for both, but may be slower for one. */
#include "build_info.h"
#include "host/context.h"
#include "matrix/csr.h"
#include "matrix/matrix.h"
#include "spmv_host.h"
#include "wisdom.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    SAMPLED = 1 << 10,      /* number of sampled rows; one entry of each is read */
    SLOTS = 2 * SAMPLED,    /* capacity of the set of values */
    MIRRORED = SAMPLED / 64 /* one in MIRRORED sampled rows is checked for a mirror image */
};

/* A sample of the matrix. Its set of values differs from that of features_csell.c, which stops when
 * values do not fit a dictionary: this set holds the values of all sampled rows. */
typedef struct sample {
    uint64_t pattern;        /* hash of the sampled rows' offsets, lengths and columns */
    uint64_t value[SLOTS];   /* hash set with open addressing: bits of a double, if the slot is
                                used */
    bool used[SLOTS];        /* at most half of the slots */
    int distinct;            /* number of used slots: distinct values */
    bool all_f32, symmetric; /* all values are exact in f32; all mirror images that were looked
                                up exist */
} sample;

/* Adds a value's bits to the set; updates all_f32. */
static void add_value(sample *s, double value) {
    uint64_t bits = spmv_bits(value), at = spmv_mix(bits) % SLOTS;
    while (s->used[at] && s->value[at] != bits) at = (at + 1) % SLOTS;
    s->distinct += !s->used[at];
    s->used[at] = true;
    s->value[at] = bits;
    s->all_f32 &= spmv_is_float(value);
}

/* Samples evenly spaced rows: offset, length and one entry of each. */
static void take_sample(const spmv_csr_view *A, sample *s) {
    int64_t n = A->rows < SAMPLED ? A->rows : SAMPLED;
    *s = (sample){.all_f32 = true, .symmetric = A->rows == A->cols};
    for (int64_t r = 0; r < n; r++) {
        int64_t i = spmv_split(A->rows, n, r), first = A->row_ptr[i];
        int64_t length = A->row_ptr[i + 1] - first, k = first + (length ? r % length : 0);
        s->pattern = spmv_mix(s->pattern + (uint64_t)first) + (uint64_t)length;
        if (length == 0) continue;
        s->pattern = spmv_mix(s->pattern + (uint64_t)A->col_idx[k] + 1);
        add_value(s, A->values[k]);
        if (r % MIRRORED == 0) s->symmetric &= is_mirrored(A, i, k);
    }
}

static const char *values_text(const sample *s) {
    return s->distinct <= 1                 ? "one value"
           : s->distinct <= SPMV_FEW_VALUES ? "few values"
           : s->all_f32                     ? "f32 values"
                                            : "f64 values";
}

/* ---- texts ---------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static void append(char *text, size_t size,
                                                         const char *format, ...) {
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

static void describe_matrix(const spmv_mat *mat, char *out, size_t size) {
    const spmv_stats *about = &mat->stats;
    spmv_csr_view A = SPMV_OPTS(spmv_csr_view);
    sample s;
    if (spmv_mat_rows(mat, &A) != SPMV_OK) append(out, size, "unread: "); /* A is empty then */
    take_sample(&A, &s);
    s.pattern = spmv_mix(s.pattern + (uint64_t)about->row_max);
    s.pattern = spmv_mix(s.pattern + (uint64_t)about->empty_rows);
    append(out, size, "%lld x %lld, %lld nonzeros, pattern %016llx, %s%s", (long long)A.rows,
           (long long)A.cols, (long long)A.nnz, (unsigned long long)s.pattern, values_text(&s),
           s.symmetric ? ", symmetric" : "");
}

static long long power_of_two_up_to(int64_t n) {
    int64_t power = 1;
    while (power <= n / 2) power *= 2;
    return power;
}

/* Describes the expected number of products and the number of vectors (2 or more), rounded down to
 * powers of two: all numbers with equal rounding share a choice. */
static void describe_numbers(const spmv_plan_opts *opts, char *out, size_t size) {
    if (opts->expected_calls)
        append(out, size, ", %lld products or more", power_of_two_up_to(opts->expected_calls));
    else
        append(out, size, ", number of products unknown");
    if (opts->vectors > 1)
        append(out, size, ", of %lld vectors or more in %s", power_of_two_up_to(opts->vectors),
               opts->layout == SPMV_ROWS ? "rows" : "columns");
}

static void describe_request(const spmv_mat *mat, const spmv_plan_opts *opts,
                             const spmv_backend *backend, char *out, size_t size) {
    static const char *const caches[] = {
        [SPMV_WARM] = "warm", [SPMV_COLD] = "cold", [SPMV_STEADY] = "steady"};
    append(out, size, "; %s %s %s", backend->name, opts->precision == SPMV_F64 ? "f64" : "f32",
           caches[opts->cache]);
    int threads = opts->threads ? opts->threads : mat->ctx->threads;
    if (backend->host)
        append(out, size, ", %s%d thread%s", opts->threads ? "just " : "", threads,
               threads == 1 ? "" : "s");
    describe_numbers(opts, out, size);
    if (mat->base) append(out, size, ", transposed");
    if (opts->offset_bits) append(out, size, ", %d-bit offsets", opts->offset_bits);
    if (opts->nondeterministic) append(out, size, ", nondeterministic");
    if (opts->refill) append(out, size, ", values that will change");
    if (opts->max_bytes) append(out, size, ", up to %zu bytes", opts->max_bytes);
    if (opts->scalars == SPMV_DEVICE) append(out, size, ", scalars on the device");
}

/* Reads the processor's name from /proc/cpuinfo; "" if there is none. */
static void name_processor(char *out, size_t size) {
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "r");
    *out = 0;
    while (file && !*out && fgets(line, sizeof line, file)) {
        const char *name = strncmp(line, "model name", 10) == 0 ? strchr(line, ':') : NULL;
        if (name) snprintf(out, size, "%.*s", (int)strcspn(name + 2, "\n"), name + 2);
    }
    if (file) fclose(file);
}

/* Describes the machine without its host name: containers get a new host name every time, and the
 * nodes of a cluster are alike. */
static void describe_machine(spmv_ctx *ctx, const spmv_backend *backend, char *out, size_t size) {
    char processor[96];
    spmv_device_facts f;
    if (backend->host) {
        name_processor(processor, sizeof processor);
        append(out, size, "%s, %zu MB of cache", *processor ? processor : "processor",
               spmv_host_cache() / 1000000);
    } else if (spmv_ctx_describe(ctx, backend, &f) == SPMV_OK) {
        append(out, size, "%s sm_%d, %d multiprocessors, driver %d, runtime %d",
               f.name ? f.name : "GPU", f.cc, f.sms, f.driver, f.runtime);
    }
    for (char *c = out; *c; c++)
        if (iscntrl((unsigned char)*c)) *c = ' ';
}

static uint64_t hash_text(uint64_t h, const char *s) {
    for (; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    return spmv_mix(h);
}

void spmv_wisdom_key(const spmv_mat *mat, const spmv_plan_opts *opts, const spmv_backend *backend,
                     wisdom_key *out) {
    uint64_t build = hash_text(hash_text(hash_text(0, BUILD_SOURCES), BUILD_CC), BUILD_CFLAGS);
    if (backend->build) build = hash_text(build, backend->build);
    *out = (wisdom_key){{0}, {0}, {0}};
    describe_matrix(mat, out->request, sizeof out->request);
    describe_request(mat, opts, backend, out->request, sizeof out->request);
    describe_machine(mat->ctx, backend, out->machine, sizeof out->machine);
    append(out->build, sizeof out->build, "spmv %s %08x", SPMV_VERSION, (unsigned)(build >> 32));
}
