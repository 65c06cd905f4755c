/* stop.h: Ctrl-C ends a run after what was measured is kept. */
#ifndef SPMV_STOP_H
#define SPMV_STOP_H

/* From here on a first SIGINT or SIGTERM is noted, so that what was measured can be kept; a second
 * one ends the process. Who watches may call others that do. */
void stop_watch(void);
void stop_unwatch(void); /* restores the handlers; once for each stop_watch */
int stop_code(void);     /* 128 + the signal noted since the first stop_watch; 0: none */

#endif
