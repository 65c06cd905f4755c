/* doctor_probe.c: spmv doctor --probe: measures once what this machine can do at best, keeps it
 * for the runs to come, shows and logs it. */
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/machine.h"
#include "app/record/record.h"
#include "app/record/write_csv.h"
#include "app/record/write_jsonl.h"
#include "app/run/limits/rates.h"
#include "app/run/timing/noise.h"
#include "doctor.h"
#include "spmv_clock.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct probe_record {
#define FIELD(type, name, key, unit, help) type name;
#include "probe.def"
#undef FIELD
} probe_record;

static const field table[] = {
#define FIELD(type, name, key, unit, help) \
    {TYPE_##type, offsetof(probe_record, name), key, unit, help},
#include "probe.def"
#undef FIELD
};
static const fields probe_fields = {table, sizeof table / sizeof *table};

static void print_size(double bytes) {
    if (bytes >= 1e9)
        printf("%6.3g GB", 1e-9 * bytes);
    else if (bytes >= 1e6)
        printf("%6.3g MB", 1e-6 * bytes);
    else
        printf("%6.3g kB", 1e-3 * bytes);
}

static void print_rates(const probe_record *r, const spmv_rates *rates) {
    printf("%s: %s", r->backend, r->device);
    if (r->threads > 0) printf(", %d threads", (int)r->threads);
    printf(
        "\n  memory      read %9.1f GB/s\n              copy %9.1f GB/s\n             triad %9.1f "
        "GB/s\n",
        1e-9 * rates->read, 1e-9 * rates->copy, 1e-9 * rates->triad);
    if (rates->cache_read > 0) {
        printf("  cache       read %9.1f GB/s  of ", 1e-9 * rates->cache_read);
        print_size((double)rates->cache_bytes);
        printf("\n");
    }
    printf("  random 8-byte reads, 10^9 per second, by the size of x\n");
    for (int k = 0; k < rates->ngathers; k++) {
        printf("         ");
        print_size((double)rates->gather_bytes[k]);
        printf("  %8.3f\n", 1e-9 * rates->gathers[k]);
    }
    if (rates->nrows)
        printf("  rows of x at random places, 10^9 per second: in the cache, and beyond it\n");
    for (int k = 0; k < rates->nrows; k++)
        printf("       %4zu bytes  %8.3f  %8.3f\n", rates->row_bytes[k], 1e-9 * rates->rows_near[k],
               1e-9 * rates->rows_far[k]);
}

static int show(const options *o, const probe_record *r, const spmv_rates *rates, bool first) {
    if (strcmp(o->format, "table") == 0) {
        print_rates(r, rates);
        return 0;
    }
    if (strcmp(o->format, "csv") == 0) {
        csv_write(stdout, probe_fields, r, first);
        return 0;
    }
    return jsonl_print(stdout, probe_fields, r);
}

/* Returns how many processors other programs used meanwhile. */
static double others_of(const noise *before, const noise *after) {
    noise n = {.wall_s = 0};
    noise_add(&n, before, after);
    return n.wall_s > 0.1 && n.busy_s > n.cpu_s ? (n.busy_s - n.cpu_s) / n.wall_s : 0;
}

/* Other programs lower the measured limits, so that kernels would look too fast: limits measured
 * beside them are marked, and no run calls a time impossible or in cache by them. */
static spmv_status measure_rates(spmv_ctx *ctx, const options *o, const spmv_backend *backend,
                                 size_t cache, spmv_rates *r) {
    static const double MANY = 0.1;
    if (backend->host && !o->quiet)
        say("probing the memory with %d thread%s: half a minute at most\n", spmv_ctx_threads(ctx),
            spmv_ctx_threads(ctx) == 1 ? "" : "s");
    noise before = noise_now();
    TRY(spmv_ctx_probe(ctx, backend, cache, r));
    noise after = noise_now();
    r->others = backend->host ? others_of(&before, &after) : 0;
    if (r->others <= MANY) r->others = 0;
    if (r->others > 0)
        say("note: other programs used %.1f processors meanwhile: these limits are too low, and "
            "runs "
            "report upper bounds of stream and gather (<)\n",
            r->others);
    if (backend->host && r->cache_read <= r->read) {
        say("note: the cache was not faster than memory, which is no limit: it is left out\n");
        r->cache_read = 0;
    }
    return SPMV_OK;
}

static int probe_device(spmv_ctx *ctx, const options *o, const machine *m,
                        const spmv_backend *backend, record_log *log, bool first) {
    spmv_rates rates;
    spmv_device_facts facts = {0};
    char key[1024];
    double start = spmv_now(), sizes[SPMV_GATHERS], widths[SPMV_ROW_WIDTHS];
    spmv_status status = spmv_ctx_describe(ctx, backend, &facts);
    int64_t cache = backend->host ? m->llc : (int64_t)facts.l2;
    rates_key(m, backend, facts.name, spmv_ctx_threads(ctx), key, sizeof key);
    if (status == SPMV_OK)
        status = measure_rates(ctx, o, backend, cache > 0 ? (size_t)cache : 0, &rates);
    if (status != SPMV_OK) return complain(status, spmv_ctx_error(ctx));
    for (int k = 0; k < rates.ngathers; k++) sizes[k] = (double)rates.gather_bytes[k];
    for (int k = 0; k < rates.nrows; k++) widths[k] = (double)rates.row_bytes[k];
    probe_record r;
    memset(&r, 0, sizeof r);
    fields_clear(probe_fields, &r);
    r.schema = "spmv-probe/1";
    r.time = m->time;
    r.run_id = m->run_id;
    r.host_name = *m->hostname ? m->hostname : NULL;
    r.backend = backend->name;
    r.device = backend->host ? (*m->cpu ? m->cpu : "unknown CPU") : facts.name;
    if (backend->host) r.threads = spmv_ctx_threads(ctx);
    if (cache > 0) r.cache_B = cache;
    r.read_Bps = rates.read;
    r.copy_Bps = rates.copy;
    r.triad_Bps = rates.triad;
    if (rates.cache_read > 0) r.cache_read_Bps = rates.cache_read;
    if (rates.cache_read > 0) r.cache_read_B = (whole)rates.cache_bytes;
    r.gather_B = (numbers){sizes, rates.ngathers};
    r.gather_per_s = (numbers){rates.gathers, rates.ngathers};
    if (rates.nrows) {
        r.row_B = (numbers){widths, rates.nrows};
        r.row_near_per_s = (numbers){rates.rows_near, rates.nrows};
        r.row_far_per_s = (numbers){rates.rows_far, rates.nrows};
    }
    r.seconds = spmv_now() - start;
    if (backend->host) r.others = rates.others;
    int code = show(o, &r, &rates, first);
    if (!code) code = rates_save(o, key, &rates);
    return code ? code : log_append(log, probe_fields, &r);
}

static bool has_device(spmv_ctx *ctx, const spmv_backend *backend) {
    spmv_device_facts facts;
    return backend->kernels && spmv_ctx_describe(ctx, backend, &facts) == SPMV_OK;
}

/* Probes the backend of --backend, or every backend that has a device. */
int measure_limits(const options *o, const spmv_backend *backend) {
    spmv_ctx_opts opts = {.size = sizeof opts,
                          .backend = backend->name,
                          .device = o->device,
                          .threads = most_threads(o)};
    spmv_ctx *ctx = NULL;
    machine m;
    record_log log = {.file = -1};
    if (spmv_ctx_create_lazily(&opts, &ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    machine_read(&m);
    int code = log_open(o, &m, &log), shown = 0;
    for (const spmv_backend *const *b = spmv_backends; *b && !code; b++) {
        bool asked = o->backend && strcmp((*b)->name, o->backend) == 0;
        if (asked || (!o->backend && has_device(ctx, *b)))
            code = probe_device(ctx, o, &m, *b, &log, shown++ == 0);
    }
    if (log.records) log_say(o, &log);
    log_close(&log);
    spmv_ctx_free(ctx);
    return code;
}
