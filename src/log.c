/* log.c: where records are kept: one file a host, appended to with one write a record, so that runs
 * side by side and runs that are killed leave whole lines. */
#include "app.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_folder(const char *path) {
    struct stat s;
    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

static bool is_jsonl(const char *path) {
    size_t n = strlen(path);
    return n > 6 && strcmp(path + n - 6, ".jsonl") == 0;
}

/* A run that was killed while writing may have left half a line: what follows must not share it. */
static int end_torn_line(const options *o, record_log *log) {
    char last = '\n';
    off_t end = lseek(log->file, 0, SEEK_END);
    if (end <= 0 || pread(log->file, &last, 1, end - 1) != 1 || last == '\n') return 0;
    if (write(log->file, "\n", 1) != 1) return complain(SPMV_E_WRITE, "cannot write to the log");
    if (!o->quiet)
        say("note: %s ended in half a record, as a run that is killed leaves it: it has a line of "
            "its own now\n",
            log->path);
    return 0;
}

void log_name(const options *o, const machine *m, record_log *log) {
    const char *where = o->log ? o->log : "log";
    if (is_jsonl(where) && !is_folder(where))
        snprintf(log->path, sizeof log->path, "%s", where);
    else
        snprintf(log->path, sizeof log->path, "%s/%s.jsonl", where,
                 m->hostname[0] ? m->hostname : "host");
}

int log_open(const options *o, const machine *m, record_log *log) {
    const char *where = o->log ? o->log : "log";
    *log = (record_log){.file = -1};
    if (o->no_log || (!o->log && !is_folder(where))) return 0;
    record empty;
    char *line = NULL;
    record_clear(&empty);
    if (jsonl_format(record_fields(), &empty, &line) == SPMV_E_FEATURE) {
        if (o->log)
            return complain(SPMV_E_FEATURE,
                            "logging is not built in: install libjansson-dev (Debian) or "
                            "jansson-devel (Fedora), then make again; --no-log does without");
        return 0;
    }
    free(line);
    log_name(o, m, log);
    if (!is_jsonl(where) || is_folder(where))
        mkdir(where, 0777); /* the folder the user named; open() says what is wrong with it */
    log->file = open(log->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (log->file >= 0) return end_torn_line(o, log);
    char what[1200];
    snprintf(what, sizeof what, "%s: cannot log there: %s", log->path, strerror(errno));
    return complain(SPMV_E_WRITE, what);
}

int log_append(record_log *log, fields table, const void *of) {
    char *line = NULL;
    if (log->file < 0) return 0;
    spmv_status status = jsonl_format(table, of, &line);
    if (status != SPMV_OK) return complain(status, "cannot format a log record");
    size_t n = strlen(line);
    ssize_t wrote = write(log->file, line, n);
    free(line);
    if (wrote == (ssize_t)n) {
        log->records++;
        return 0;
    }
    char what[1200];
    snprintf(what, sizeof what, "%s: cannot write: %s", log->path,
             wrote < 0 ? strerror(errno) : "disk full");
    return complain(SPMV_E_WRITE, what);
}

void log_close(record_log *log) {
    if (log->file >= 0) close(log->file);
    log->file = -1;
}
