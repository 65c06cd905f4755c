/* session.h: one invocation of spmv run, shared by its parts: session.c (beginning and end),
 * cmd_run.c (matrices), cells.c (which kernels in which configurations), inputs.c (x, y and the
 * reference), rounds.c (checks and timing), turns.c (their order and medians), stop.c (Ctrl-C),
 * noise.c (disturbances), limits.c, rates.c and knee.c (the machine's limits), describe.c (the
 * record), ranking.c and notes.c (who is fastest, and what is said of it). */
#ifndef SPMV_SESSION_H
#define SPMV_SESSION_H

#include "app/app.h"
#include "reads_of_x.h"

typedef struct cell { /* one row of the table: a kernel in a configuration */
    spmv_kernel_id kernel;
    spmv_setting setting[SPMV_NPARAMS];
    int nsettings;
    spmv_precision precision;
    int64_t vectors;    /* that are multiplied at once */
    spmv_layout layout; /* of them; columns of a single one */
    spmv_cache cache;   /* state of the caches that its products find */
    int threads;        /* of a host's product, at most; 0: the context's */
    int ranks;          /* that spmv sweep starts for it; 0 and 1: none, this process multiplies */
} cell;

enum { CELL_LABEL = 320 }; /* bytes that cell_label may fill */
enum { MOST_FLAGS = 6, MOST_REASONS = 6 };
enum { MOST_TURNS = 48 }; /* medians of turns that a record holds: of 256 rounds */
typedef struct result {   /* a row, and what its record points to */
    record r; /* filled by describe_row when the row is final; before, its status is NULL */
    const char *alias;
    char source[512], kernel[64], library[64], grid[48], block[24], shape[24], schedule[64],
        reason[1024], why[1400], wisdom[24], hash[20], key[20], how[256];
    char flag[MOST_FLAGS][96];
    const char *flags[MOST_FLAGS], *slowed[MOST_REASONS];
    int nflags;
    bool waits;  /* its threads waited for cores */
    bool logged; /* with a log, and successfully */
    double *samples;
    double turns[MOST_TURNS];
    struct of_ranks *of_ranks; /* what the record of several points to; owned */
    bool finished;             /* in a run that was stopped, others have no status */
} result;

typedef struct
    watcher {  /* spmv sweep, which must know which cell was running when the process died */
    void *arg; /* NULL: nobody watches */
    void (*step)(void *arg, int cell); /* a long step of the cell begins; or NULL */
    void (*finished)(void *arg, int cell, const result *out); /* and logged, if it could be */
} watcher;

typedef struct ranks_team { /* of processes that multiply together (src/app/ranks) */
    int count, hosts;       /* hosts: 0: not known */
    const char *exchange, *mpi, *partition, *halo, *overlap; /* as asked */
} ranks_team;

typedef struct session { /* one invocation */
    const options *o;
    const spmv_backend *backend;
    spmv_ctx *ctx;
    machine machine;
    record_log log;
    FILE *output;
    spmv_rates rates[SPMV_MOST_BACKENDS]; /* in the order of spmv_backends */
    bool rated[SPMV_MOST_BACKENDS];       /* spmv probe has measured it */
    cell *cell;
    int ncells;
    bool wrote_csv_header, wrote_y;
    bool told_missing; /* that a device is missing was said */
    watcher watch;
    int pass;               /* of spmv sweep, from 1; 0: spmv run */
    int group;              /* of kernels that take turns with each other, from 1 */
    char (*sweep_cell)[20]; /* [ncells], if pass */
    char **argv; /* [argc] as typed, paths cut to their last part: they may name people */
    int argc;
    int nok, nwrong, nskipped, nfailed, last_failure; /* last_failure: exit code */
    const ranks_team *team;                           /* NULL: one process */
    bool forks; /* its children use devices: no driver starts here, or they could not */
} session;

typedef struct in_rows { /* the first k of the vectors, in rows */
    spmv_precision precision;
    int64_t k;
    void *x, *y0;
    struct in_rows *next;
} in_rows;

typedef struct inputs {             /* a matrix; x and y0 for it, in both precisions as needed */
    const char *name, *source;      /* of the matrix, as in its records */
    const spmv_stats *stats;        /* NULL: it could not be read */
    int64_t rows, cols;             /* lengths of y and x */
    int64_t vectors;                /* the most that are multiplied at once; their numbers differ */
    double *x;                      /* [vectors][cols] */
    void *x_of[2], *y0_of[2];       /* likewise, in that precision */
    in_rows *in_rows;               /* owned */
    oracle *oracle_of[2];           /* [vectors] */
    bool infinite[2];               /* x, in that precision */
    char thumbnail[THUMBNAIL_SIZE]; /* empty: nobody logs it */
    bool drawn;                     /* a record has it */
    reads_of_x reads;
} inputs;

/* Returns the kernel's descriptor: the same in every variant. */
static inline const spmv_kernel *descriptor(spmv_kernel_id id) {
    return id.index == SPMV_AUTO ? &spmv_auto_kernel : id.backend->kernels[id.index][0];
}

/* ---- session.c ------------------------------------------------------------------------------ */

/* Writes the lines that make the plan of a row that auto chose; language: c, python or json. */
void export_choice(const char *language, const record *r, FILE *file);
/* Each that is an int returns an exit code, after printing what is wrong. */
int choose_session(session *run);    /* context and cells; touches no device */
int choose_in_context(session *run); /* the same in a context that it has */
int open_devices(session *run);
void close_session(session *run);

/* ---- devices.c ------------------------------------------------------------------------------ */

/* Says whether the machine has the backend's device --device. If not, why, [size], gets what to do.
 * A child asks if the session forks. */
bool machine_has(const session *run, const spmv_backend *backend, char *why, size_t size);
/* Returns the session's backend, or the host's if it has no device: a build for GPUs runs where
 * there is none. */
const spmv_backend *backend_that_works(const session *run);
/* Keeps, of n kernels that a group's word named on all backends, those of --backend; without it
 * those of backends whose device is there, with one note if one is not. Returns their number. */
int keep_usable(session *run, const char *word, spmv_kernel_id *found, int n);

/* ---- cmd_run.c ------------------------------------------------------------------------------ */

/* Parts of it, which several ranks use, too. Each that is an int returns an exit code. */
int load_matrix(session *run, const char *source, spmv_mat **mat);
/* Says how it is loaded; start is set, and stays until it is. */
spmv_load_opts load_options(const session *run, const char *source, double *start);
void introduce_matrix(session *run, const char *name, const spmv_stats *s, bool built_in);
void draw_thumbnail(const session *run, const spmv_mat *mat, inputs *in);
int show_results(session *run, result *results, int n);
int check_format(const options *o);
int open_outputs(session *run); /* the log, and the file of -o */
/* Returns code, or that of a file of -o that could not be written. */
int close_output(session *run, int code);
void run_introduce(const session *run);
void run_conclude(const session *run);
int run_exit_code(const session *run);
/* Every cell on one matrix; source: where it came from. */
int run_on(session *run, spmv_mat *mat, const char *source);

/* ---- cells.c -------------------------------------------------------------------------------- */

/* Fills s->cell from the options; returns an exit code, after printing what is wrong. */
int choose_cells(session *s);
/* Adds a cell, unless there is one of the same configuration and state of the caches. */
spmv_status add_cell(session *r, const cell *c);
/* Writes kernel and options, as far as they are not the usual ones. */
void cell_label(const cell *c, char *out, size_t size);
/* Equal but for the state of the caches. */
bool same_configuration(const cell *a, const cell *b);
/* Says whether their times are compared: those of one precision, state of the caches, number of
 * vectors, layout and number of ranks. */
bool same_conditions(const cell *a, const cell *b);
/* Says how a cell in that state of the caches is sampled. */
sampling sampling_in(const options *o, spmv_cache cache);

/* ---- inputs.c ------------------------------------------------------------------------------- */

/* Each returns an exit code, after printing what is wrong. */
int check_room(
    const inputs *in); /* for the vectors of in->rows and in->cols, before they are allocated */
int load_x(session *s, inputs *in);
/* Refuses number j of -x, which f32 cannot hold. */
int x_too_large(const session *s, int64_t j, double value);
int make_precision(session *s, const spmv_mat *mat, inputs *in, spmv_precision precision);
/* Finds x and y0 of a cell, in its layout; its precision was made. */
int make_layout(inputs *in, const cell *c, const void **x, const void **y0);
void inputs_free(inputs *in);

/* ---- rounds.c ------------------------------------------------------------------------------- */

/* Counts and logs a final row; returns an exit code, after printing what is wrong. */
int keep_result(session *run, result *out);
/* Fills and logs one result per cell; returns an exit code, after printing what is wrong. */
int run_rounds(session *run, spmv_mat *mat, inputs *in, result *results);

/* ---- stop.c --------------------------------------------------------------------------------- */

/* From here on a first SIGINT or SIGTERM is noted, so that what was measured can be kept; a second
 * one ends the process. Who watches may call others that do. */
void stop_watch(void);
void stop_unwatch(void); /* as it was before, once for each stop_watch */
int stop_code(void);     /* 128 + the signal noted since the first stop_watch; 0: none */

/* ---- knee.c --------------------------------------------------------------------------------- */

/* Returns the size up to which random reads are half as fast again as from memory; 0: no rates. */
size_t knee_of(const spmv_rates *r);
/* Measured in some tenths of a second. */
size_t knee_now(size_t reported, int threads);

/* ---- limits.c ------------------------------------------------------------------------------- */

void describe_limits(const session *run, result *out, const spmv_backend *backend,
                     const reads_of_x *reads);

/* ---- ranking.c ------------------------------------------------------------------------------ */

bool is_ok(const result *out);
bool is_checked(const result *out);
/* An impossible time is not ranked, nor is that of a result nobody looked at. */
bool is_ranked(const result *out);
/* Says whether the times are those of one precision, state of the caches, and number and layout of
 * vectors. */
bool are_ranked_together(const record *a, const record *b);
/* Returns the number of rows ranked with r, r included. It is less than what the log holds if a
 * sweep was resumed, or ran its cells one by one after a crash. */
int ranked_with(const result *results, int n, const record *r);
/* Returns the fastest ranked row beside r; NULL: all were disturbed, and none is said to be. */
const record *best_beside(const result *results, int n, const record *r);
/* Returns the papers' csr1 on the same backend, in its fastest configuration; NULL: none ran. */
const record *csr1_beside(const result *results, int n, const record *r);
/* Finds who is fastest, tied with it, and what changing over from csr1 costs. */
void rank_results(result *results, int n);

/* ---- notes.c -------------------------------------------------------------------------------- */

/* Appends to the current line how many times as fast as csr1 a row is and after about how many
 * products its preparation has paid off; of times in doubt with the range of the ratio. */
void say_against_csr1(const result *results, int n, const record *r);
/* Says what is wrong with times; blurred: nearly all are tied. */
void explain_results(const session *run, const result *results, int n, bool blurred);
/* Says who is fastest, one line for each precision, state of the caches and set of vectors. */
void say_winners(const session *run, const result *results, int n);

/* ---- scaling.c ------------------------------------------------------------------------------ */

/* Prints how many times as fast each configuration is with more threads; nothing without a list of
 * threads. median_s(of, k): of cell k; NaN: none. */
void print_scaling(const session *run, double (*median_s)(const void *of, int k), const void *of,
                   FILE *file);

/* ---- noise.c -------------------------------------------------------------------------------- */

typedef struct noise {       /* counters; a difference of two says what happened between */
    double wall_s, cpu_s;    /* cpu: of this process */
    double waited_s;         /* by its threads, for a core */
    double busy_s, stolen_s; /* of all processors, by all; by other machines of the host */
} noise;
noise noise_now(void);
void noise_add(noise *sum, const noise *before, const noise *after);
double load_now(void); /* NaN: unknown */
bool noise_is_waits(const noise *n);
/* Names of NVML's reasons why clocks are low, at most MOST_REASONS; how many. */
int slow_reasons(unsigned long long slowed, const char **out);

/* ---- describe.c ----------------------------------------------------------------------------- */

const char *base_name(const char *path); /* without its folders; gen: as it is */
/* thermal2 of dir/thermal2.mtx.gz; gen:mesh:100 few:8 with values; spelt */
void matrix_name(const char *source, const char *values, char *out, size_t size);
const char *symmetry_name(spmv_symmetry symmetry);
const char *field_name(spmv_field field);
/* Returns it as typed, what the environment said first, paths cut to their last part. NULL: out of
 * memory; free each of *count, and all. */
char **command_line(const options *o, int *count);

typedef struct surroundings { /* of a measurement, before or after it */
    double load;              /* average of a minute; NaN: unknown */
    bool known;               /* device is */
    spmv_device_state device;
} surroundings;

typedef struct turns { /* of a candidate: one in each round, from the first until it ends */
    double median_s[MOST_TURNS]; /* [places] means of the medians of 1, later of 2 to 16 rounds */
    int places, rounds;          /* rounds: of the next place, so far */
    double sum_s;                /* of their medians */
} turns;

typedef struct candidate { /* a cell, and what came of it: all that its record is made of */
    int cell;
    sampling how;
    spmv_plan *plan; /* shared with its cells in other states of the caches; NULL: none was made */
    problem p;
    timing t;
    turns turns;
    noise noise;       /* of its turns */
    const char *stage; /* of the last check: first, later or last; NULL: there was no product yet */
    double looked_s;   /* seconds of looks between samples */
    bool wavers;       /* one of them saw other bits than before, of a deterministic kernel */
    verdict check;     /* its rows; the largest ratio of all checks */
    surroundings before, after; /* of its rounds */
    bool shown;                 /* as it is so far */
} candidate;

/* Returns how many threads a product of the cell may have. */
int threads_of(const session *run, const cell *c);
/* Returns a parameter as the cell sets it or by default; -1: its kernel takes none. */
int64_t setting_of(const session *run, const cell *c, spmv_param_id id);
/* Makes the record of a final row, all but its ranks (rank_results). status: a word of the log; a
 * row that is not "ok" has no times. e's plan may be freed afterwards; its samples are taken over
 * by out, to be freed with it. */
void describe_row(const session *run, inputs *in, candidate *e, const char *status, result *out);
/* Parts of it: describe_limits above, and these. */
void describe_noise(const candidate *e, int team, result *out); /* team: threads of the context */
void describe_timing(const options *o, result *out, timing *t, const problem *p);
void describe_turns(int group, const turns *t, result *out);
void describe_rates(record *r); /* what follows from its times */

/* ---- turns.c -------------------------------------------------------------------------------- */

/* Shuffles the places of n candidates; those of one backend, precision and state of the caches
 * follow each other, as only they are compared. */
void order_turns(const session *run, const candidate *candidates, int *order, int n, uint64_t seed);
/* Remembers the turn of the next round: the samples from the first on, of a turn that was to take
 * slice_s. */
void add_turn(candidate *e, int first, double seconds, double slice_s);
void turns_add(turns *t, double median_s);

#endif
