/* option_values.h: from the text of an option to what it means. Each exits with a usage error that
 * says what would be right. The parameters of kernels, as data. */
#ifndef SPMV_OPTION_VALUES_H
#define SPMV_OPTION_VALUES_H

#include "options.h"

/* Makes errors from now on name this variable of the environment; NULL: none. */
void usage_blame(const char *variable);
/* Makes errors and usage_exit from now on call this before they exit, with the code that it
 * returns. */
void usage_exits_by(int (*leave)(int code));
_Noreturn void usage_exit(int code);
_Noreturn void usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

double real_of(const char *option, const char *arg, double least);
int64_t whole_of(const char *option, const char *arg, int64_t least, int64_t most);
double share_of(const char *option, const char *arg);   /* 1% or 0.01 */
double seconds_of(const char *option, const char *arg); /* 0.5, 20ms, 1m */
size_t size_of(const char *option, const char *arg);    /* 4G */
/* Returns the place of arg among words, which end with NULL. */
int64_t word_of(const char *option, const char *arg, const char *const *words);
bool is_on(const char *option, const char *arg, bool automatic); /* on, off, auto */

bool is_among(const char *name, const char *words); /* words: with blanks between them */

/* A copy that lives as long as the options. */
char *keep_copy(options *o, const char *arg);
void add_text(const char ***list_of, int *n, const char *arg);
void add_tag(options *o, const char *arg);
extern const char *const cache_names[]; /* indexed by spmv_cache; NULL at the end */
/* Lists replace what was there: the command line overrides the environment. */
void take_precisions(options *o, const char *arg);
void take_caches(options *o, const char *arg);
extern const char *const layout_names[];  /* by spmv_layout - SPMV_COLUMNS; NULL at the end */
extern const char *const halo_names[];    /* indexed by spmv_ranks_halo; NULL at the end */
extern const char *const overlap_names[]; /* indexed by overlapping; NULL at the end */
void take_repeat(options *o, const char *arg);
bool is_folder(const char *path);
void take_log(options *o, const char *arg);
void take_vectors(options *o, const char *arg);
void take_threads(options *o, const char *arg);
void take_layouts(options *o, const char *arg);
/* Take how many ranks to count for, how rows are divided among them, and their network. */
void take_ranks(options *o, const char *arg);
void take_partition(options *o, const char *arg);
void take_network(options *o, const char *arg);
int64_t most_vectors(const options *o); /* maximum of the numbers to try */

/* ---- parameters of kernels ------------------------------------------------------------------ */

typedef struct param { /* a line of params.def, which says what each member is */
    const char *name, *option;
    int letter;
    const char *argument;
    struct values {
        const char *const *words; /* NULL: numbers; ends with NULL */
        const char *word;         /* typed for the number; NULL: none */
        int64_t number;
        const char *pair; /* AxB: an example, for the error; NULL: no pair */
        int64_t most[2];  /* maximum of A and of B */
        bool warps, second;
    } values;
    int64_t usual; /* INT64_MIN: none */
    const char *help, *meaning;
} param;
extern const param params[SPMV_NPARAMS];

/* Sets what a parameter is to be; id: the first of those that the option gives. Replaces what was
 * there: the command line overrides the environment. */
void take_param(options *o, spmv_param_id id, const char *arg);
spmv_param_id param_named(const char *name); /* SPMV_NPARAMS: none */
bool param_is_switch(const param *p);        /* whether its values are on and off */
/* Returns what a value that is neither number nor switch is called, or NULL. */
const char *param_word(const char *name, int64_t value);
int64_t param_number(const param *p, const char *word); /* the value of one of its words */
/* Returns what the option takes for it where that is no number, on and off too; or NULL. */
const char *param_typed(const char *name, int64_t value);
/* Writes what to type for them, a blank before each. */
void settings_flags(const spmv_setting *setting, int count, char *out, size_t size);
/* Ends the program where a matrix that was typed is a folder, of which only a sweep takes files. */
void refuse_folders(const options *o, const char *command);

#endif
