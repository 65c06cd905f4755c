/* option_table.c: the table of all options: the fixed ones of options.def, then the parameters of
 * kernels of params.def; and which command takes which. */
#include "option_table.h"
#include "option_values.h"
#include <string.h>

static const struct argp_option fixed[] = {
#define HEADING(group, text) {NULL, 0, NULL, 0, text, group},
#define OPTION(name, key, argument, flags, group, help) {name, key, argument, flags, help, group},
#include "options.def"
#undef HEADING
#undef OPTION
    {0},
};

/* The fixed options followed by the parameters of kernels, and the row that ends the table. */
struct argp_option option_table[sizeof fixed / sizeof *fixed + SPMV_NPARAMS];
_Static_assert(sizeof option_table / sizeof *option_table <= MOST_OPTIONS, "MOST_OPTIONS");

static int key_of(int id) {
    return params[id].letter ? params[id].letter : KEY_PARAM + id;
}

spmv_param_id option_param(int key) {
    int id = 0;
    while (id < SPMV_NPARAMS && (params[id].values.second || key_of(id) != key)) id++;
    return (spmv_param_id)id;
}

void option_table_fill(void) {
    struct argp_option *row = option_table + sizeof fixed / sizeof *fixed - 1;
    memcpy(option_table, fixed, sizeof fixed);
    for (int id = 0; id < SPMV_NPARAMS; id++)
        if (!params[id].values.second)
            *row++ = (struct argp_option){params[id].option, key_of(id), params[id].argument, 0,
                                          params[id].help,   PARAMETERS};
}

const struct argp_option *option_of(int key) {
    for (const struct argp_option *option = option_table; option->name || option->doc; option++)
        if (option->key == key && option->name) return option;
    return NULL;
}

static const option_taken taken[] = {
    {"run", "123578", "", "ranks"},
    {"sweep", "4123578", "", "output result write format stat export"},
    {"list", "", "kernel backend format quiet color", ""},
    {"info", "68",
     "matrix max-unpacked values seed transpose kernel backend threads vectors layout precision "
     "index max-mem format ranks partition probe quiet",
     ""},
    {"doctor", "", "backend device threads probe log no-log format output quiet color", ""},
};

const option_taken *option_taken_by(const char *command) {
    for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
        if (command && strcmp(taken[k].command, command) == 0) return &taken[k];
    return NULL;
}

bool option_is_taken(const char *command, const struct argp_option *option) {
    const option_taken *t = option_taken_by(command);
    if (!t || is_among(option->name, "verbose version help")) return true;
    return (strchr(t->groups, '0' + option->group) && !is_among(option->name, t->not )) ||
           is_among(option->name, t->others);
}
