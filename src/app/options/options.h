/* options.h: what the command line and the environment ask for. */
#ifndef SPMV_APP_OPTIONS_H
#define SPMV_APP_OPTIONS_H

#include "measure/sampler.h"
#include "spmv_ranks.h"
#include "spmv_sample.h"

typedef struct list { /* numbers of an option; empty: the option was not given */
    int count;
    int64_t *value;
} list;

enum { BLOCK_WARP_ROWS = 1 << 20 }; /* set in a block given as 32xR */

typedef enum overlapping { OVERLAP_AUTO, OVERLAP_ON, OVERLAP_OFF } overlapping;

typedef struct options {
    const char **matrices;
    int nmatrices;
    overlapping overlap;
    spmv_ranks_halo halo;
    const char *kernels; /* as typed; NULL: auto and the kernels of the first paper */
    int cells;           /* number of --cells; 0: not given */
    const char *export;  /* language of --export; NULL: not given */
    bool kernels_typed;  /* kernels is from the command line */
    const char *backend; /* NULL: the build's */
    int device;
    list threads;             /* numbers of threads to try; empty: the context's default */
    int64_t iters;            /* expected number of products; 0: unknown */
    bool reproducible;        /* results have the same bits for any number of threads */
    bool nondeterministic;    /* auto may choose kernels whose bits vary from run to run */
    const char *wisdom;       /* file of the choices of auto; "": the user's; NULL: none */
    list param[SPMV_NPARAMS]; /* values to try; the values of one option go together;
                               * BLOCK_WARP_ROWS is added to a block given as 32xR */
    list precision;
    list vectors, layout; /* layout: values of spmv_layout */
    spmv_op op;           /* SPMV_AS_IS or SPMV_TRANSPOSE */
    list caches;          /* values of spmv_cache; at least one after options_parse */
    int offset_bits;
    double alpha, beta;
    size_t max_mem;
    size_t max_unpacked; /* bytes; 0: no limit */
    uint64_t seed;
    const char *values;
    const char *x_file, *y_file, *write_file, *output_file;
    const char *format; /* table, csv, jsonl */
    const char *stat;   /* median, min, max, mean */
    const char *log;    /* folder, or a .jsonl file */
    const char *probe;  /* folder, or off; NULL: in the user's cache */
    bool no_log, verify, quiet, verbose, progress, color;
    sampling sampling; /* sampling_in completes it for a state of the caches */
    int keep_samples;
    struct pairs *tags;
    char **copies; /* owned texts that other members point into */
    int ncopies;
    int next; /* index of the next word to parse */
    int argc; /* the command line as typed */
    char **argv;
    const char *command; /* the word before the options; NULL: none, which is run */
    bool matrix_words;   /* the words name matrices, as -m does */
    const char *topic;   /* what follows the command: words[0] */
    const char **words;
    int nwords;
    const char **given; /* options on the command line, as --NAME=VALUE */
    int ngiven;
    const char **from_environment; /* options from the environment, as --NAME=VALUE */
    int nfrom_environment;
    int passes;                  /* sweep: number of passes; 0: not given */
    double timeout_s;            /* sweep: seconds; negative: not given, 0: no limit */
    bool dry_run, resume, retry; /* retry: resume */
    bool measure_limits;         /* doctor --probe */
    bool tune;                   /* sweep tries other parameters of kernels */
    list ranks;                  /* info and sweep: numbers of ranks */
    const char *partition;       /* of rows among ranks: rows, nnz, metis, scotch or a file */
    double latency_s, message_s; /* seconds until a message arrives, and that a rank spends on it */
    double network_Bps;          /* bytes per second of a rank */
} options;

/* The names of all commands, NULL at the end. */
extern const char *const command_names[];
/* Parses the options of the named command; NULL: no command was typed, which means run. Ends the
 * program on a usage error and on --help. The caller frees *out. */
void options_parse(int argc, char **argv, const char *command, options *out);
/* Prints help on a topic: a command, options or kernels; NULL: the common options. Returns an exit
 * code: EXIT_USAGE if there is no such topic. */
int options_help(const char *topic);
/* Return whether the option with this long name was on the command line; there or in the
 * environment. */
bool options_on_line(const options *o, const char *name);
bool options_given(const options *o, const char *name);
/* Returns the given options that say what is multiplied and how it is measured, and those named in
 * `also`, as --NAME=VALUE; except kernel parameters and the options named in `without`. NULL at the
 * end; freed by the caller; NULL: out of memory. */
const char **options_words(const options *o, const char *without, const char *also);
/* Returns the largest requested number of threads; 0: no number was given. */
int most_threads(const options *o);
/* Unsets the variables of the environment that options came from, for a child that gets them as
 * words. */
void options_leave_environment(const options *o);
/* Writes the given options that say what is multiplied and how it is measured, each after a blank
 * and quoted for a shell, except kernel parameters and the options named in `without`. */
void options_write(const options *o, const char *without, FILE *out);
/* Ends the program if there are words, options or matrices that this command cannot use. */
void options_check(const options *o, const char *command);
/* Says which options came from the environment: they may have caused an error unseen. */
void options_name_environment(const options *o);
void options_free(options *o);

#endif
