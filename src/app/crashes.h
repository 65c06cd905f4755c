/* crashes.h: what the program says when a library crashes or exits for lack of memory. */
#ifndef SPMV_APP_CRASHES_H
#define SPMV_APP_CRASHES_H

void ends_watch(void);       /* for crashes of libraries that get no memory, and a full stack */
void ends_watch_exits(void); /* for exits of such libraries; called before they are initialized */
void ends_return(void);      /* main is about to return: its exit code is the program's */

#endif
