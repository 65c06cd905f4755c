/* option_table.h: every option, as argp takes them. options.c reads words by the table, help.c
 * describes it. */
#ifndef SPMV_OPTION_TABLE_H
#define SPMV_OPTION_TABLE_H

#include "spmv_param.h"
#include <argp.h>

enum { /* options without a letter */
       KEY_BACKEND = 256,
       KEY_DEVICE,
       KEY_INDEX,
       KEY_VECTORS,
       KEY_LAYOUT,
       KEY_ALPHA,
       KEY_BETA,
       KEY_MAX_MEM,
       KEY_MAX_UNPACKED,
       KEY_ITERS,
       KEY_REPEAT,
       KEY_WISDOM,
       KEY_SEED,
       KEY_VALUES,
       KEY_WRITE,
       KEY_FORMAT,
       KEY_EXPORT,
       KEY_CELLS,
       KEY_RANKS,
       KEY_PARTITION,
       KEY_NETWORK,
       KEY_STAT,
       KEY_LOG,
       KEY_NO_LOG,
       KEY_VERIFY,
       KEY_CACHE,
       KEY_PROBE,
       KEY_MIN_TIME,
       KEY_MAX_TIME,
       KEY_MAX_NOISE,
       KEY_TAG,
       KEY_KEEP_SAMPLES,
       KEY_PROGRESS,
       KEY_COLOR,
       KEY_PASSES,
       KEY_TIMEOUT,
       KEY_RESUME,
       KEY_RETRY,
       KEY_DRY_RUN,
       KEY_TUNE,
       KEY_HALO,
       KEY_EXCHANGE,
       KEY_OVERLAP,
       KEY_PARAM /* and the parameter that the option gives: the last of all */
};

enum { MOST_OPTIONS = 128 };
enum { COMMON = 0x1000 };                                   /* a flag, which argp does not know */
enum { MEASURE = 3, SWEEP = 4, RANKS = 7, PARAMETERS = 8 }; /* groups */

extern struct argp_option option_table[]; /* headings have no name; a row of zeros at the end */
void option_table_fill(void);
const struct argp_option *option_of(int key); /* NULL: none */
/* Returns the parameter that the option gives; SPMV_NPARAMS: none. */
spmv_param_id option_param(int key);

/* Says which options a command accepts: those of the groups, which its help begins with, and the
 * others, except those in `not`, which the command refuses itself. */
typedef struct option_taken {
    const char *command, *groups; /* digits */
    const char *others, *not ;
} option_taken;
/* NULL: the command accepts every option. */
const option_taken *option_taken_by(const char *command);
bool option_is_taken(const char *command, const struct argp_option *option);

/* help.c. Prints help on a command; on "kernels", all parameters; on "options", all but those;
 * NULL: on what most people need. Returns false if the topic is none of them. */
bool help_print(const char *topic);

#endif
