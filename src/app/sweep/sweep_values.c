/* sweep_values.c: spmv sweep --tune: configurations that differ from the requested ones in one
 * parameter that the user has not set. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/run/cells.h"
#include "app/run/results/describe.h"
#include "app/run/session.h"
#include "sweep.h"
#include <stdlib.h>

enum { MOST_VALUES = 24 };
typedef struct choice { /* of a parameter, or of a pair that one option gives */
    spmv_param_id id;
    int width, count; /* parameters; values */
    int64_t value[MOST_VALUES][2];
} choice;

static void add_value(choice *c, const spmv_param *p, int64_t first, int64_t second) {
    if (c->count == MOST_VALUES || !spmv_param_takes(p, first)) return;
    for (int k = 0; k < c->count; k++)
        if (c->value[k][0] == first && c->value[k][1] == second) return;
    c->value[c->count][0] = first;
    c->value[c->count++][1] = second;
}

/* A few row blocks per thread, with columns undivided and divided. */
static void add_grids(choice *c, const spmv_param *p, int threads) {
    for (int64_t rows = threads; rows <= 64 * (int64_t)threads; rows *= 4)
        for (int64_t cols = 1; cols <= 16; cols *= 4) add_value(c, p, rows, cols);
}

/* Lists all values if there are few; powers of two; or multiples and fractions of the default. A
 * parameter whose default is 0, which the kernel then chooses itself, keeps it if it could be any
 * number. */
static void add_values(choice *c, const spmv_param *p) {
    static const int64_t windows[] = {1, 256, 4096, 0};
    if (p->id == SPMV_sigma) {
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++)
            add_value(c, p, windows[k], 0);
    } else if (p->max - p->min < 8) {
        for (int64_t v = p->min; v <= p->max; v++) add_value(c, p, v, v);
    } else if (p->power_of_two) {
        for (int64_t v = p->min > 0 ? p->min : 1; v <= p->max && v <= 1 << 16; v *= 2)
            add_value(c, p, v, v);
    } else {
        for (int64_t v = p->default_value / 4; v && v <= 4 * p->default_value; v *= 2)
            add_value(c, p, v, v);
    }
}

/* Returns false if the kernel does not take the parameter, or the user gave it. */
static bool choices_of(const session *run, const cell *c, spmv_param_id id, choice *out) {
    const spmv_kernel *kernel = descriptor(c->kernel);
    const spmv_param *p = spmv_param_of(kernel, id);
    if (!p || run->o->param[id].count || params[id].values.second) return false;
    *out = (choice){.id = id, .width = 1};
    if (params[id].values.pair && spmv_param_of(kernel, (spmv_param_id)(id + 1))) out->width = 2;
    if (id == SPMV_grid_rows)
        add_grids(out, p, spmv_ctx_threads(run->ctx));
    else
        add_values(out, p);
    return true;
}

/* Says whether a value is the one that the cell has by default. */
static bool is_default(const session *run, const cell *c, const choice *of, int v) {
    bool same = true;
    for (int w = 0; w < of->width; w++)
        same &= of->value[v][w] == setting_of(run, c, (spmv_param_id)((int)of->id + w));
    return same;
}

static spmv_status vary(session *run, cell base, spmv_param_id id) {
    choice of;
    if (!choices_of(run, &base, id, &of)) return SPMV_OK;
    for (int v = 0; v < of.count; v++) {
        cell c = base;
        if (is_default(run, &base, &of, v)) continue;
        for (int w = 0; w < of.width; w++)
            c.setting[c.nsettings++] = (spmv_setting){params[(int)id + w].name, of.value[v][w]};
        TRY(add_cell(run, &c));
    }
    return SPMV_OK;
}

int vary_cells(session *run) {
    const int asked = run->ncells;
    for (int k = 0; k < asked; k++)
        for (int id = 0; id < SPMV_NPARAMS; id++) {
            const spmv_status status = vary(run, run->cell[k], (spmv_param_id)id);
            if (status != SPMV_OK) return complain(status, NULL);
        }
    if (run->ncells > asked) return 0;
    return complain(SPMV_E_ARG, "--tune: no chosen kernel has a parameter that is not given");
}
