/* log.c: appends each record to one file per host in a single write, so that simultaneous or killed
 * runs leave whole lines; half a record of a killed run is cut off. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "app/options/options.h"
#include "log.h"
#include "machine.h"
#include "record.h"
#include "spmv_host.h"
#include "write_jsonl.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static int kept; /* records, in all logs */

void log_count(int records) {
    kept += records;
}

bool log_has_records(void) {
    return kept > 0;
}

void log_say(const options *o, const record_log *log) {
    if (!o->quiet && log->records)
        say("logged %d record%s to %s\n", log->records, log->records == 1 ? "" : "s", log->path);
}

static bool is_jsonl(const char *path) {
    size_t n = strlen(path);
    return n > 6 && strcmp(path + n - 6, ".jsonl") == 0;
}

/* Finds where the last line of a file of so many bytes begins; -1: the file cannot be read. */
static off_t last_line(int file, off_t end) {
    char block[4096];
    while (end > 0) {
        size_t n = end < (off_t)sizeof block ? (size_t)end : sizeof block;
        end -= (off_t)n;
        if (pread(file, block, n, end) != (ssize_t)n) return -1;
        const char *newline = memrchr(block, '\n', n);
        if (newline) return end + (newline - block) + 1;
    }
    return 0;
}

static int cannot(const char *what, const record_log *log, const char *why) {
    char all[1200];
    snprintf(all, sizeof all, "%s: cannot %s: %s", log->path, what, why);
    return complain(SPMV_E_WRITE, all);
}

/* Says whether a line, or what there is of it, begins as all records of this program do. */
static bool begins_as_ours(const char *line, size_t n) {
    static const char mark[] = "{\"schema\":\"spmv-";
    return strncmp(line, mark, n < sizeof mark - 1 ? n : sizeof mark - 1) == 0;
}

/* A run that was killed while writing may have left half a record: what follows must not share its
 * line, and no reader can use it. A whole record lacks its newline alone, and what does not begin
 * as a record does is not ours to remove. */
static int repair_end(const record_log *log) {
    off_t end = lseek(log->file, 0, SEEK_END);
    if (end <= 0) return 0; /* empty, or no file to read from, such as a pipe */
    off_t start = last_line(log->file, end);
    if (start == end) return 0;
    size_t n = start < 0 ? 0 : (size_t)(end - start);
    char *line = n ? malloc(n) : NULL;
    bool is_read = line && pread(log->file, line, n, start) == (ssize_t)n;
    bool half = is_read && begins_as_ours(line, n) && !jsonl_is_whole(line, n);
    free(line);
    if (!is_read) return cannot("read its last line", log, strerror(errno));
    if (half ? ftruncate(log->file, start) != 0 : write(log->file, "\n", 1) != 1)
        return cannot("repair its last line", log, strerror(errno));
    if (half)
        say("note: %s ended in an incomplete record, as a killed run leaves it; its %zu bytes were "
            "removed\n",
            log->path, n);
    else
        say("note: %s ended without a newline, which was added\n", log->path);
    return 0;
}

/* While one process looks at the end or appends, the others wait: half a record that is still being
 * written must not be cut off. Returns false if the lock cannot be had: then the end stays as it
 * is, and the record is appended to it. */
static bool lock(record_log *log) {
    const double patience_s = log->is_locked_out ? 0 : 1; /* others hold it for a few ms */
    if (spmv_host_lock(log->file, LOCK_EX, patience_s)) return true;
    if (!log->is_locked_out)
        say("note: another process keeps %s locked: records are appended without its lock\n",
            log->path);
    log->is_locked_out = true;
    return false;
}

/* Appends whole lines, in a single write, so that none shares a line with half a record. */
static ssize_t append(const record_log *log, const char *line, size_t n, bool to_new_line) {
    if (!to_new_line) return write(log->file, line, n);
    const struct iovec both[] = {{(char *)"\n", 1}, {(char *)line, n}};
    ssize_t wrote = writev(log->file, both, 2);
    return wrote > 0 ? wrote - 1 : wrote;
}

static bool ends_with_newline(const record_log *log) {
    char last = '\n';
    off_t end = lseek(log->file, 0, SEEK_END);
    return end <= 0 || pread(log->file, &last, 1, end - 1) != 1 || last == '\n';
}

static void unlock(const record_log *log) {
    flock(log->file, LOCK_UN);
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
    if (log->file < 0) return cannot("open the log", log, strerror(errno));
    int code = lock(log) ? repair_end(log) : 0;
    unlock(log);
    return code;
}

int log_append(record_log *log, fields table, const void *of) {
    char *line = NULL;
    if (log->file < 0) return 0;
    spmv_status status = jsonl_format(table, of, &line);
    if (status != SPMV_OK) return complain(status, "cannot format a log record");
    const int code = log_append_line(log, line);
    free(line);
    return code;
}

int log_append_line(record_log *log, const char *line) {
    const size_t n = strlen(line);
    if (log->file < 0) return 0;
    const bool locked = lock(log);
    /* A child of a sweep may have been killed since the log was opened. */
    int code = locked ? repair_end(log) : 0;
    ssize_t wrote = code ? 0 : append(log, line, n, !locked && !ends_with_newline(log));
    const char *why = wrote < 0 ? strerror(errno) : "disk full";
    unlock(log);
    if (code) return code;
    if (wrote != (ssize_t)n) {
        int failed = cannot("write", log, why);
        log_close(log); /* said once: what follows would fail alike */
        return failed;
    }
    log->records++;
    log_count(1);
    return 0;
}

void log_close(record_log *log) {
    if (log->file >= 0) close(log->file);
    log->file = -1;
}
