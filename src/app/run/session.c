/* session.c: what one invocation of spmv run or sweep has from beginning to end: its context,
 * cells, devices, what spmv doctor --probe found of them, and its log. */
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/log.h"
#include "app/record/machine.h"
#include "app/run/limits/rates.h"
#include "app/run/results/describe.h"
#include "cells.h"
#include "devices.h"
#include "session.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the file of the choices of auto; NULL: none. */
static const char *wisdom_file(const options *o, char *path, size_t size) {
    if (!o->wisdom || *o->wisdom) return o->wisdom;
    if (saved_path("wisdom", path, size)) return path;
    if (!o->quiet) say("  note: --wisdom: there is no home folder; --wisdom=FILE names a file\n");
    return NULL;
}

int choose_session(session *r) {
    char wisdom[1024];
    if (!r->o->backend) r->backend = backend_that_works(r);
    for (const spmv_backend *const *b = spmv_backends; *b && r->o->backend; b++)
        if (strcmp((*b)->name, r->o->backend) == 0) r->backend = *b;
    spmv_ctx_opts opts = {.size = sizeof opts,
                          .backend = r->backend->name,
                          .device = r->o->device,
                          .threads = most_threads(r->o),
                          .max_unpacked = r->o->max_unpacked,
                          .wisdom = wisdom_file(r->o, wisdom, sizeof wisdom)};
    if (spmv_ctx_create_lazily(&opts, &r->ctx) != SPMV_OK) return complain(SPMV_E_NOMEM, NULL);
    return choose_in_context(r);
}

int choose_in_context(session *r) {
    if (r->backend->kernels == NULL) {
        char what[128];
        snprintf(what, sizeof what, "--backend=%s: not built in: %s", r->backend->name,
                 r->backend->hint);
        return complain(SPMV_E_BACKEND, what);
    }
    machine_read(&r->machine);
    r->argv = command_line(r->o, &r->argc);
    if (!r->argv) return complain(SPMV_E_NOMEM, NULL);
    return choose_cells(r);
}

/* Loads what spmv doctor --probe found of the devices in use. */
static void load_rates(session *run) {
    for (int b = 0; spmv_backends[b]; b++) {
        bool used = false;
        char key[1024];
        spmv_device_facts facts = {0};
        for (int k = 0; k < run->ncells; k++)
            used |= run->cell[k].kernel.backend == spmv_backends[b];
        if (!used || spmv_ctx_describe(run->ctx, spmv_backends[b], &facts) != SPMV_OK) continue;
        rates_key(&run->machine, spmv_backends[b], facts.name, spmv_ctx_threads(run->ctx), key,
                  sizeof key);
        run->rated[b] = rates_load(run->o, key, &run->rates[b]);
    }
}

/* Devices are opened before matrices are read, which may take long: there may be no GPU. */
int open_devices(session *run) {
    for (int k = 0; k < run->ncells; k++) {
        spmv_device_facts facts;
        spmv_status status = spmv_ctx_describe(run->ctx, run->cell[k].kernel.backend, &facts);
        if (status != SPMV_OK) return complain(status, spmv_ctx_error(run->ctx));
    }
    load_rates(run);
    return 0;
}

void close_session(session *run) {
    for (int k = 0; run->argv && k < run->argc; k++) free(run->argv[k]);
    free(run->argv);
    free(run->cell);
    log_close(&run->log);
    spmv_ctx_free(run->ctx);
}
