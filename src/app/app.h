/* app.h: what the program's files share. They are clients of spmv.h; spmv_kernel.h is read for the
 * descriptors of kernels, never to call them. */
#ifndef SPMV_APP_H
#define SPMV_APP_H

#include "measure/sampler.h"
#include "spmv_bench.h"
#include "spmv_host.h"
#include "spmv_kernel.h"
#include "spmv_ranks.h"
#include <stdio.h>

enum { EXIT_WRONG = 1, EXIT_SOME_FAILED = 3, EXIT_USAGE = 64 };

/* ---- options.c ------------------------------------------------------------------------------ */

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

/* ---- cmd_tools.c ---------------------------------------------------------------------------- */

/* Replaces this process by tables/report/NAME.py, or tables/matrices/NAME.py, with the words after
 * argv[0]; returns an exit code only if that fails. */
int run_tool(const char *name, int argc, char **argv);

/* ---- talk.c --------------------------------------------------------------------------------- */

enum { NO_LIMIT = 1 << 20, LEAST_WIDTH = 40, PAGE_WIDTH = 80 };
/* Returns the columns of the terminal that file is, else COLUMNS of the environment, else
 * otherwise. */
int page_width(FILE *file, int otherwise);
/* Returns the columns of a text in UTF-8, one for each character. */
int columns_of(const char *s);
/* words and a newline, after `column` columns that are written already; broken at blanks before
 * `width`, and every further line begins after `indent` blanks. */
void print_wrapped(FILE *file, int width, int column, int indent, const char *words);
/* Prints a line, broken where the terminal ends. Blanks before it stay, and every further line
 * begins `indent` blanks behind them. */
void printf_wrapped(FILE *file, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a command to type, and a newline: broken before `width` at blanks outside quotes, with the
 * backslash that continues it for a shell; a comment at its end goes to a line of its own. */
void print_command(FILE *file, int width, int indent, const char *words);
/* Writes control characters as \xNN, so that no name of a file commands a terminal; cuts what does
 * not fit. */
void spell(const char *words, char *out, size_t size);
/* Writes a word as it can be typed again: what bash would read otherwise stands in quotes. */
void write_word(const char *word, FILE *out);
/* Sets how this program was called, argv[0]: hints name it so where that is ./spmv. */
void talk_as(const char *typed);
const char *program_typed(void); /* spmv or ./spmv */
/* stdout is for results; everything else goes to stderr through here, spelt. A line is broken at
 * blanks where the terminal ends; one that begins with four of them is a command to type.
 * What begins with a carriage return and ends no line is progress: shown at once, and cut; no line
 * is continued from it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From here on say keeps what it would say, until talk_kept asks for it; or no more. */
void talk_mute(bool mute);
/* Nothing is said of a signal from now on: a launcher ends ranks whose failure has been told. */
void talk_end(void);
bool talk_is_over(void);
const char *talk_kept(void); /* the last line that was not said; "": none */
enum { DURATION = 48 };
/* Writes how long something takes at least and at most, in seconds. */
void duration_text(double least, double most, char out[DURATION]);
/* Says the lines of spmv_ctx_note; nothing if quiet. */
void say_note(const char *note, bool quiet);
/* "spmv: TEXT" on stderr; returns the exit code of the status. */
int complain(spmv_status status, const char *text);
/* Returns the library's text with the program's options in place of the members of option structs
 * that they set; good until the thread's next call. */
const char *in_options(const char *text);

/* ---- verify.c ------------------------------------------------------------------------------- */

typedef struct oracle { /* of op(A) and an x */
    int64_t rows;
    int threads;         /* for sums and checks */
    long double *sum;    /* [rows] (op(A) x)_i from the file's entries */
    double *lost;        /* [rows] what additions to sum round off, while it is made */
    long double *mass;   /* [rows] (|A| |x|)_i */
    long double *square; /* [rows] sum_j (a_ij x_j)^2 */
    int32_t *len;        /* [rows] entries summed, duplicates counted apart */
    double x_max, a_max; /* largest finite |x_j| and |a_ij|, at least 1 */
    bool random_x;       /* x is the program's own, of random signs; the caller sets it */
} oracle;
/* op: SPMV_AS_IS or SPMV_TRANSPOSE; x: already of that precision. */
spmv_status oracle_make(const spmv_mat *mat, spmv_op op, spmv_precision precision, const double *x,
                        int threads, oracle *out);
/* The same of entries that the caller has. x(of, j), of any thread, returns number j of x. */
typedef double (*oracle_x)(const void *of, int64_t j);
spmv_status oracle_of_entries(const spmv_coo_view *A, spmv_precision precision, oracle_x x,
                              const void *of, int threads, oracle *out);
void oracle_free(oracle *o);

typedef struct verdict {
    int64_t bad_rows, first_bad_row; /* -1: none. Those of every vector count */
    int64_t first_bad_vector;        /* that has it */
    double got, expected;            /* in the first bad row */
    double max_ratio;                /* of error to bound */
} verdict;
/* y and y0 are in the precision given; y0 is not read when beta = 0. */
verdict oracle_check(const oracle *o, spmv_precision precision, double alpha, double beta,
                     const void *y0, const void *y);
/* The same of k vectors in that layout, with the least leading dimension; o[v] is vector v's. */
verdict oracle_check_all(const oracle *o, int64_t k, spmv_layout layout, spmv_precision precision,
                         double alpha, double beta, const void *y0, const void *y);

/* Returns entry i of the random vector of a seed: in (-1, -1/16] or [1/16, 1), so that no dropped
 * entry can hide behind a tiny x, with 53 random bits. */
double random_entry(uint64_t seed, uint64_t i);

/* ---- record.c, write_*.c -------------------------------------------------------------------- */

typedef const char *text; /* NULL: null */
typedef int64_t whole;    /* INT64_MIN: null */
typedef double number;    /* NaN: null */
typedef int truth;        /* -1: null */
typedef struct numbers {
    const double *value;
    int count;
} numbers;
typedef struct tallies { /* whole numbers */
    const int64_t *value;
    int count;
} tallies;
typedef struct texts {
    const char *const *value;
    int count;
} texts;
enum { MOST_PAIRS = 24 };
typedef struct pairs { /* an object of numbers or texts */
    const char *name[MOST_PAIRS];
    int64_t number[MOST_PAIRS];
    const char *text[MOST_PAIRS]; /* NULL: the number */
    bool given[MOST_PAIRS];       /* of config.params: on the command line */
    int count;
} pairs;

typedef struct record {
#define FIELD(type, name, key, unit, help) type name;
#include "app/record/record.def"
#undef FIELD
} record;

typedef enum field_type {
    TYPE_text,
    TYPE_whole,
    TYPE_number,
    TYPE_truth,
    TYPE_numbers,
    TYPE_tallies,
    TYPE_texts,
    TYPE_pairs
} field_type;
typedef struct field {
    field_type type;
    size_t offset;
    const char *key, *unit, *help;
} field;
typedef struct fields { /* a struct as data: what writers loop over */
    const field *field;
    int count;
} fields;
fields record_fields(void);
void fields_clear(fields table, void *of); /* every field null */
void record_clear(record *r);              /* every field null */
void record_build(record *r);              /* what was compiled */
statistics record_times(const record *r);

/* Returns the number that is read back from a log to which x was written. */
double jsonl_number(double x);
/* Writes one line of JSON with its newline; the caller frees. */
spmv_status jsonl_format(fields table, const void *of, char **out);
/* Writes the line to file, if that is not NULL; the exit code, with the reason said. */
int jsonl_print(FILE *file, fields table, const void *of);
/* Writes it as item k of an array; json_end ends an array of n items. */
int json_item(FILE *file, fields table, const void *of, int k);
void json_end(FILE *file, int n);
void csv_write(FILE *file, fields table, const void *of, bool header);
/* Three or four significant digits with a unit: 52.4 µs, 1.34 ms; - if it is none. A
 * locale without µ has us. */
enum { TIME_TEXT = 16 };
void time_text(double s, char *out);
/* Writes how far a median's interval reaches: 1.3%, or >100%; - if it is none. */
enum { NOISE_TEXT = 16 };
void noise_text(double noise, char *out);
/* Writes a speed-up and the parallel efficiency: 1.85 (93%); - if a time is missing. */
enum { SPEEDUP_TEXT = 48 };
void speedup_text(double base_s, int base_threads, double s, int threads, char *out);
const char *status_text(const char *status); /* in capitals for a wrong result */
typedef struct table_row { /* what a row of the terminal's table needs beyond its record */
    const record *r;
    const char *alias;    /* short name, "auto" for what auto chose; or NULL */
    const record *fewest; /* the same kernel with the fewest threads */
} table_row;
void table_config(const record *r, char *out, size_t size); /* its column of that name */
/* Kernel and settings of a row, by which two rows that did the same are told: sell16_lanes
 * threads=1 sigma=4096. */
enum { CONFIGURATION = 192 };
void configuration_text(const record *r, char *out, size_t size);
bool is_chosen(const record *r); /* by auto */
/* Nearly all rows are tied with the fastest: a mark on each would tell nothing, and none has it. */
bool table_is_blurred(const table_row *rows, int count);
/* stat: median, or min, max or mean of the samples, for a column beside the median's. color: the
 * best in bold. all: every column, however wide; else the least important are left out where the
 * terminal is too narrow. That all rows are in cache is not said in each of them. */
void table_write(FILE *file, const table_row *rows, int count, const char *stat, bool color,
                 bool all);

/* ---- facts.c -------------------------------------------------------------------------------- */

typedef struct matrix_facts {
#define FIELD(type, name, key, unit, help) type name;
#include "app/info/facts.def"
#undef FIELD
} matrix_facts;
fields matrix_facts_fields(void);
/* Makes the transpose a matrix of its own. */
spmv_status transpose_of(spmv_ctx *ctx, const spmv_mat *mat, spmv_mat **out);
/* All facts but the texts. Returns false if memory ran out for some, which are unknown then. */
bool matrix_facts_of(const spmv_csr_view *A, const spmv_stats *stats, int threads,
                     matrix_facts *out);

/* ---- info_ranks.c --------------------------------------------------------------------------- */

/* Prints what each of o->ranks ranks would hold and exchange of a matrix, in place of other facts.
 * shown: how many items of --format=json were printed, to be raised. Returns an exit code. */
int inform_ranks(spmv_ctx *ctx, const options *o, const spmv_csr_view *A, const char *name,
                 int *shown);

/* ---- thumbnail.c ---------------------------------------------------------------------------- */

enum {
    THUMBNAIL_EDGE = 32,
    THUMBNAIL_CELLS = THUMBNAIL_EDGE * THUMBNAIL_EDGE,
    THUMBNAIL_SIZE = THUMBNAIL_EDGE * (THUMBNAIL_EDGE + 1)
};
/* Draws the pattern in at most 32 x 32 cells: one digit per cell, rows of cells separated by '/'.
 * 9: as many entries as the fullest cell; one less for each factor of 4, down to 1; 0: none. */
void thumbnail_of(const spmv_csr_view *A, char *out /* [THUMBNAIL_SIZE] */);
/* The same from entries of some rows each time, of so many in all: counts them, whose numbers are
 * in numbered, or it is NULL and they count from first_row; then draws what was counted of all. */
void thumbnail_count(const spmv_coo_view *entries, const int64_t *numbered, int64_t first_row,
                     int64_t rows, int64_t count[THUMBNAIL_CELLS]);
void thumbnail_draw(const int64_t count[THUMBNAIL_CELLS], int64_t rows, int64_t cols, char *out);
/* The same in at most edge x edge cells, malloc'd; NULL: out of memory. */
char *pattern_of(const spmv_csr_view *A, int edge);

/* ---- machine.c ------------------------------------------------------------------------------ */

/* Facts of host and process into the record; texts live until machine_free. */
typedef struct machine {
    char hostname[256], os[256], kernel[256], cpu[256], governor[64], schedule[64], time[32],
        run_id[32], omp_text[4096]; /* names and values of omp_env */
    pairs omp_env;
    int64_t cores, smt, sockets, numa_nodes, llc, memory, cgroup_cpus;
    int turbo, container;
} machine;
void machine_read(machine *m);
void machine_describe(const machine *m, const options *o, int threads, record *r);
void gpu_describe(const spmv_device_facts *f, int index, record *r);

/* ---- rates.c -------------------------------------------------------------------------------- */

/* Writes the path of a file in the user's folder for what is measured once; makes the folder.
 * Returns false if there is no home for it. */
bool saved_path(const char *name, char *out, size_t size);
/* The key of a device's saved rates. gpu: its name, for a backend other than the host's. */
void rates_key(const machine *m, const spmv_backend *backend, const char *gpu, int threads,
               char *out, size_t size);
/* Returns an exit code, after printing what is wrong. */
int rates_save(const options *o, const char *key, const spmv_rates *r);
/* Returns false if there are none, or if they were measured beside other programs. */
bool rates_load(const options *o, const char *key, spmv_rates *r);
/* Returns how many rows of row_bytes are read per second at random places of an x of so many
 * bytes. */
double gather_rate(const spmv_rates *r, double bytes, double row_bytes);

/* ---- log.c ---------------------------------------------------------------------------------- */

typedef struct record_log {
    int file; /* -1: none */
    int records;
    bool is_locked_out; /* it was said that another process keeps the file locked */
    char path[1024];
} record_log;
/* Sets log->path only, to what log_open would open. */
void log_name(const options *o, const machine *m, record_log *log);
/* Each returns an exit code, after printing what is wrong. */
int log_open(const options *o, const machine *m, record_log *log);
int log_append(record_log *log, fields table, const void *of); /* closes a log that fails */
int log_append_line(record_log *log, const char *line);        /* with its newline; likewise */
void log_close(record_log *log);
/* Says how many records it took, unless that is none. */
void log_say(const options *o, const record_log *log);
void log_count(int records);                          /* that a child has appended */
bool log_has_records(void);                           /* some log of this invocation has */
bool jsonl_is_whole(const char *line, size_t length); /* one object, and nothing else? */

enum { STATUS_SIZE = 16 };
typedef struct cell_time { /* of a cell of a sweep, for its summary */
    double median_s;       /* NaN: none that is ranked */
    double q1_s, q3_s, flop_per_s;
    bool disturbed, unsettled;         /* its noise limit was not met */
    bool chosen;                       /* by auto */
    char configuration[CONFIGURATION]; /* that multiplied */
} cell_time;
typedef struct logged_cell {
    char cell[20], status[STATUS_SIZE];
    cell_time time;
} logged_cell;
/* Reads a line of a log; returns false if it is of no sweep. */
bool jsonl_sweep_cell(const char *line, logged_cell *out);
/* Makes a record of spmv run one of a sweep, in *out, to be freed, and copies its reason. Returns
 * false if it is no record, or without memory. */
bool jsonl_put_in_sweep(const char *line, int pass, const char *cell, char **out, char *reason,
                        size_t size);

/* ---- ends.c ---------------------------------------------------------------------------------- */

void ends_watch(void);       /* for crashes of libraries that get no memory, and a full stack */
void ends_watch_exits(void); /* for exits of such libraries; called before they are initialized */
void ends_return(void);      /* main is about to return: its exit code is the program's */
#endif
