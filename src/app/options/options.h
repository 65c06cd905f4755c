/* options.h: what the command line and the environment ask for. */
#ifndef SPMV_APP_OPTIONS_H
#define SPMV_APP_OPTIONS_H

#include "measure/sampler.h"
#include "spmv_ranks.h"
#include "spmv_sample.h"

typedef struct list { /* of numbers; empty: the option was not given */
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
    const char *kernels; /* as typed; NULL: the first paper's */
    int cells;           /* of --cells; 0: not asked for */
    const char *export;  /* language of --export; NULL: it is not asked for */
    bool kernels_typed;  /* on the command line */
    const char *backend; /* NULL: the build's */
    int device;
    list threads;             /* numbers of them to try; empty: the context's default */
    int64_t iters;            /* expected number of products; 0: unknown */
    bool reproducible;        /* the same bits for any number of threads, whatever auto chooses */
    bool nondeterministic;    /* auto may choose kernels that give other bits every time */
    const char *wisdom;       /* file of the choices of auto; "": the user's; NULL: none */
    list param[SPMV_NPARAMS]; /* values to try; those of one option go together; BLOCK_WARP_ROWS is
                                 added to a block given as 32xR */
    list precision;
    list vectors, layout; /* of spmv_layout */
    spmv_op op;           /* SPMV_AS_IS or SPMV_TRANSPOSE */
    list caches;          /* of spmv_cache; at least one after options_parse */
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
    char **copies; /* of values that other members point into */
    int ncopies;
    int next; /* word of the line after those parsed */
    int argc; /* as typed */
    char **argv;
    const char *command; /* the word before the options; NULL: none, which is run */
    bool matrix_words;   /* words name matrices, as -m does */
    const char *topic;   /* what follows the command: words[0] */
    const char **words;
    int nwords;
    const char **given; /* options on the command line, as --NAME=VALUE */
    int ngiven;
    const char **from_environment; /* options set there, likewise */
    int nfrom_environment;
    int passes;                  /* of sweep; 0: not given */
    double timeout_s;            /* of sweep; negative: not given, 0: none */
    bool dry_run, resume, retry; /* retry: resume */
    bool measure_limits;         /* doctor --probe */
    bool tune;                   /* sweep tries other parameters of kernels */
    list ranks;                  /* of info and sweep: numbers of them */
    const char *partition;       /* among ranks: rows, nnz, metis, scotch or a file */
    double latency_s, message_s; /* that a message travels, and that it costs a rank */
    double network_Bps;          /* of a rank */
} options;

/* The names of all commands, NULL at the end. */
extern const char *const command_names[];
/* Reads the options of the named command, the word before the options; NULL: none, which is run.
 * Exits by itself on a usage error and --help. */
void options_parse(int argc, char **argv, const char *command, options *out);
/* Prints help on a topic: a command, options, kernels; NULL: on what most people need. Returns
 * an exit code: EXIT_USAGE if there is no such topic. */
int options_help(const char *topic);
/* Look an option up by its long name: on the command line; there or in the environment. */
bool options_on_line(const options *o, const char *name);
bool options_given(const options *o, const char *name);
/* Returns the given options that say what is multiplied and how it is measured, and those named in
 * `also`, as --NAME=VALUE; except kernel parameters and the options named in `without`. NULL at the
 * end; freed by the caller; NULL: out of memory. */
const char **options_words(const options *o, const char *without, const char *also);
/* Returns the largest number of threads asked for; 0: none was. */
int most_threads(const options *o);
/* Unsets the variables that options came from, for a program that gets them as words. */
void options_leave_environment(const options *o);
/* Writes the given options that say what is multiplied and how it is measured, each after a blank
 * and quoted for a shell, except kernel parameters and the options named in `without`. */
void options_write(const options *o, const char *without, FILE *out);
/* Exits if it has words, options or matrices that this command cannot use. */
void options_check(const options *o, const char *command);
/* Says which options came from the environment, for whoever met an error and typed none of them. */
void options_name_environment(const options *o);
void options_free(options *o);

#endif
