/* cmd_run.h: the parts of spmv run that sweep and several ranks use, too. */
#ifndef SPMV_APP_CMD_RUN_H
#define SPMV_APP_CMD_RUN_H

#include "app/options/options.h"
#include "app/run/results/result.h"
#include "inputs.h"
#include "session.h"

/* Each that is an int returns an exit code. */
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

#endif
