/* run_ranks.h: spmv run as several ranks. */
#ifndef SPMV_APP_RUN_RANKS_H
#define SPMV_APP_RUN_RANKS_H

#include "app/options/options.h"
#include "app/run/session.h"

int run_ranks(const options *o, const spmv_backend *backend);
/* Returns what the options say of a team of so many. */
ranks_team ranks_team_asked(const options *o, int count);
/* Refuses what ranks cannot do yet. Returns an exit code. */
int ranks_check_options(const options *o);

#endif
