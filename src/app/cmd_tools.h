/* cmd_tools.h: commands that are Python programs. */
#ifndef SPMV_APP_CMD_TOOLS_H
#define SPMV_APP_CMD_TOOLS_H

/* Replaces this process by tables/report/NAME.py, or tables/matrices/NAME.py, with the words after
 * argv[0]; returns an exit code only if that fails. */
int run_tool(const char *name, int argc, char **argv);

#endif
