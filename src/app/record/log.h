/* log.h: the file that records are appended to. */
#ifndef SPMV_APP_LOG_H
#define SPMV_APP_LOG_H

#include "app/options/options.h"
#include "machine.h"
#include "record.h"

typedef struct record_log {
    int file; /* -1: none */
    int records;
    bool is_locked_out; /* a lock held by another process was reported */
    char path[1024];
} record_log;
/* Sets log->path only, to what log_open would open. */
void log_name(const options *o, const machine *m, record_log *log);
/* Each returns an exit code, after printing what is wrong. */
int log_open(const options *o, const machine *m, record_log *log);
int log_append(record_log *log, fields table, const void *of); /* closes the log if it fails */
int log_append_line(record_log *log, const char *line);        /* line: with its newline */
void log_close(record_log *log);
/* Prints how many records were appended, if any. */
void log_say(const options *o, const record_log *log);
void log_count(int records); /* adds records that a child has appended */
bool log_has_records(void);  /* some log of this invocation has */

#endif
