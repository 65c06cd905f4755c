/* sweep.h: spmv sweep in six files: sweep_plan.c (which matrices, what they will take, what the log
 * has already), sweep_values.c (what --tune adds), sweep_child.c (the process that measures),
 * sweep_ranks.c (the one that lets ranks measure), cmd_sweep.c (the one that watches),
 * sweep_summary.c (who was fastest). */
#ifndef SPMV_SWEEP_H
#define SPMV_SWEEP_H

#include "app/record/write_jsonl.h"
#include "app/run/session.h"

typedef struct source {
    char *path;        /* path of a file, or gen:... */
    char name[256];    /* without folder and suffix */
    spmv_stats about;  /* what its header says */
    char trouble[512]; /* why it says nothing */
    bool noted;        /* its notes were printed */
} source;

enum { REASON_SIZE = 1024 };
typedef struct sweep {
    session run; /* its cells are all configurations; it touches no device */
    source *source;
    int nsources, passes;
    bool *done;                     /* [passes][nsources][run.ncells] */
    cell_time *time;                /* [passes][nsources][run.ncells] */
    int total, reused;              /* cells in done */
    int ok, skipped, wrong, failed; /* now */
    int reused_wrong, reused_failed;
    double start_s, timeout_s;
    const char *launcher; /* launcher of ranks; NULL: no cell has several ranks */
    bool failing;         /* all cells of a matrix fail for one reason, which is printed once */
} sweep;

static inline bool is_over_ranks(const sweep *s, int k) {
    return s->run.cell[k].ranks > 1;
}

static inline int sweep_place(const sweep *s, int pass, int m, int k) {
    return ((pass - 1) * s->nsources + m) * s->run.ncells + k;
}

static inline bool *sweep_done(const sweep *s, int pass, int m, int k) {
    return &s->done[sweep_place(s, pass, m, k)];
}

/* ---- sweep_plan.c: exit codes, having said what is wrong ------------------------------------ */

int find_sources(sweep *s);
int spread_over_ranks(sweep *s); /* each cell, over each number of --ranks */
/* Writes the hash that finds a cell's records again, without reading the matrix. */
void cell_identity(const sweep *s, int pass, int m, int k, char *out /* [20] */);
int find_done(sweep *s); /* reads the log */
void print_plan(const sweep *s, FILE *file, bool details);
void sweep_free(sweep *s);

/* ---- sweep_values.c ------------------------------------------------------------------------- */

/* Adds cells, each with another value of one parameter; returns an exit code. */
int vary_cells(session *run);

/* ---- sweep_child.c -------------------------------------------------------------------------- */

typedef struct report { /* what a child reports, in one write to the pipe, which is atomic */
    enum { STEP, READ, FINISHED, REFUSED } kind;
    int cell; /* for STEP and FINISHED: index among all cells */
    union {
        struct { /* READ */
            spmv_stats stats;
            char note[REASON_SIZE]; /* text of spmv_ctx_note */
        };
        struct { /* FINISHED; REFUSED: the matrix */
            char status[STATUS_SIZE], reason[REASON_SIZE];
            double median_s;
            cell_time time;
            bool logged;
        };
    };
} report;

typedef struct assignment { /* one child's work */
    sweep *sweep;
    int pass, m, count;
    const int *cells; /* [count] */
    int pipe;
} assignment;

/* Writes a report to the pipe; ends the process if the reader is gone. */
void sweep_tell(const assignment *a, const report *r);
/* These run in a child and return its exit code. */
int measure_cells(const assignment *a);
/* Records of cells that could not say it themselves. stats NULL: nor is the matrix known. */
int record_failures(const assignment *a, const spmv_stats *stats, const char *status,
                    const char *reason);

/* ---- sweep_ranks.c -------------------------------------------------------------------------- */

/* Starts the launcher for the only cell of an assignment; runs in a child and returns its exit
 * code. */
int measure_over_ranks(const assignment *a);

/* ---- sweep_summary.c ------------------------------------------------------------------------ */

/* Prints the fastest on each matrix and the geometric means of the whole sweep, and what to type
 * next; in brief at most five lines, of the first conditions. */
void print_summary(const sweep *s, bool brief, FILE *file);

#endif
