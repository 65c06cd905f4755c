/* wisdom.c: the file that stores choices of `auto` across processes. A text file: a first line that
 * identifies it, then one line of tab-separated fields per choice; the latest line of a key is
 * valid. Readers and writers lock the file, so that no line is lost; a process that does not get
 * the lock works without the file. If the file is full, the older half of its lines is dropped. A
 * line with a wrong checksum is ignored; a file of another kind is not changed. */
#include "spmv_helpers.h"
#include "spmv_host.h"
#include "wisdom.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 18 }; /* maximum size of the file: about 700 choices, read in 0.3 ms */
enum { PATIENCE_S = 1 };       /* maximum wait for a lock, which others hold for a few ms */
enum { DATE, REQUEST, MACHINE, BUILD, CHOICE, REASON, CHECKSUM, FIELDS };
static const char first_line[] =
    "spmv-wisdom/1: date, request, machine, build, choice, reason, checksum\n";

/* Appends a problem with the file to the note. */
__attribute__((format(printf, 3, 4))) static void report(char *note, const char *path,
                                                         const char *format, ...) {
    size_t used = strlen(note);
    va_list args;
    used += (size_t)snprintf(note + used, SPMV_WISDOM_NOTE - used,
                             "%swisdom %.200s: ", used ? "; " : "", path);
    va_start(args, format);
    if (used < SPMV_WISDOM_NOTE) vsnprintf(note + used, SPMV_WISDOM_NOTE - used, format, args);
    va_end(args);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_checksum(const char *text, size_t n, char out[9]) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < n; k++) h = (h ^ (unsigned char)text[k]) * 0x100000001b3u;
    snprintf(out, 9, "%08x", (unsigned)(spmv_mix(h) >> 32));
}

/* Returns whether the text is a date as print_line writes it: callers print the date. */
static bool is_date(const char *text) {
    static const char shape[] = "0000-00-00T00:00:00Z";
    for (size_t k = 0; k < sizeof shape; k++)
        if (shape[k] == '0' ? !isdigit((unsigned char)text[k]) : text[k] != shape[k]) return false;
    return true;
}

/* Returns whether the text consists of printable ASCII characters, safe to print on a terminal. */
static bool is_plain(const char *text) {
    while (*text >= ' ' && *text <= '~') text++;
    return !*text;
}

/* Splits a line into its fields. Returns false if the line is damaged. The checksum does not
 * protect against manipulation, so that the texts that callers print are checked too. */
static bool cut(char *line, char *field[FIELDS]) {
    char right[9], *last = strrchr(line, '\t');
    if (!last) return false;
    print_checksum(line, (size_t)(last - line), right);
    for (int k = 0; k < FIELDS; k++) field[k] = strsep(&line, "\t");
    return !line && field[CHECKSUM] && strcmp(field[CHECKSUM], right) == 0 &&
           is_date(field[DATE]) && is_plain(field[CHOICE]) && is_plain(field[REASON]);
}

static bool read_number(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return end > text && !*end && errno == 0;
}

/* Parses "KERNEL NAME=VALUE ...", in place. "threads" sets the number of threads; the other names
 * are parameters. */
static bool read_choice(char *text, spmv_proposal *out) {
    spmv_proposal read = {.kernel = strsep(&text, " ")};
    for (char *word; (word = strsep(&text, " "));) {
        const char *name = strsep(&word, "=");
        int64_t value;
        if (!word || !read_number(word, &value)) return false;
        if (strcmp(name, "threads") == 0) {
            if (value < 1 || value > INT_MAX) return false;
            read.threads = (int)value;
        } else if (read.nsettings == (int)(sizeof read.setting / sizeof *read.setting))
            return false;
        else
            read.setting[read.nsettings++] = (spmv_setting){name, value};
    }
    *out = read;
    return true;
}

/* Prints a line; returns its length, or 0 if it does not fit. */
static size_t print_line(const wisdom_key *key, const spmv_proposal *choice, const char *reason,
                         char *out, size_t size) {
    char date[24], settings[256] = "";
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    for (int k = 0; k < choice->nsettings; k++) {
        size_t used = strlen(settings);
        snprintf(settings + used, sizeof settings - used, " %s=%lld", choice->setting[k].name,
                 (long long)choice->setting[k].value);
    }
    size_t used = strlen(settings);
    if (choice->threads)
        snprintf(settings + used, sizeof settings - used, " threads=%d", choice->threads);
    int n = snprintf(out, size, "%s\t%s\t%s\t%s\t%s%s\t%s", date, key->request, key->machine,
                     key->build, choice->kernel, settings, reason);
    if (n < 0 || (size_t)n + sizeof "\t12345678\n" > size) return 0;
    char sum[9];
    print_checksum(out, (size_t)n, sum);
    return (size_t)n + (size_t)snprintf(out + n, size - (size_t)n, "\t%s\n", sum);
}

/* ---- the file ------------------------------------------------------------------------------- */

/* Opens and locks the file; returns its descriptor, or -1. For a reader a missing file is no
 * error. */
static int open_locked(const char *path, bool write, char *note) {
    struct stat about;
    int flags = write ? O_RDWR | O_CREAT | O_APPEND : O_RDONLY;
    int file = open(path, flags | O_CLOEXEC | O_NONBLOCK, 0666);
    if (file < 0) {
        if (write || errno != ENOENT)
            report(note, path, "cannot %s: %s", write ? "write" : "read", strerror(errno));
        return -1;
    }
    if (fstat(file, &about) != 0 || !S_ISREG(about.st_mode)) {
        report(note, path, "it is no regular file");
        close(file);
        return -1;
    }
    if (spmv_host_lock(file, write ? LOCK_EX : LOCK_SH, PATIENCE_S)) return file;
    report(note, path, "another process keeps it locked, and it is left alone");
    close(file);
    return -1;
}

/* Returns the file's text, terminated by a zero byte, to be freed by the caller; NULL: not
 * usable. */
static char *load(int file, const char *path, size_t *bytes, char *note) {
    struct stat about;
    ssize_t n = -1;
    *bytes = 0;
    if (fstat(file, &about) == 0 && about.st_size > MOST_BYTES) {
        report(note, path, "it is larger than it can be, and is left alone");
        return NULL;
    }
    char *text = malloc(MOST_BYTES + 1);
    if (text) n = pread(file, text, MOST_BYTES, 0);
    if (n < 0)
        report(note, path, "cannot read: %s", strerror(errno));
    else if (n > 0 && (n < (ssize_t)strlen(first_line) ||
                       strncmp(text, first_line, strlen(first_line)) != 0))
        report(note, path, "it does not begin as wisdom of this version, and is left alone");
    else {
        *bytes = (size_t)n;
        text[n] = 0;
        for (ssize_t k = 0; k < n; k++)
            if (!text[k]) text[k] = '?'; /* blocks of zeros, as left by a crash */
        return text;
    }
    free(text);
    return NULL;
}

bool spmv_wisdom_find(const char *path, const wisdom_key *key, wisdom *out, char *note) {
    char *field[FIELDS];
    size_t bytes;
    int damaged = 0, others = 0;
    bool found = false;
    *out = (wisdom){.text = NULL};
    *note = 0;
    int file = open_locked(path, false, note);
    if (file < 0) return false;
    out->text = load(file, path, &bytes, note);
    close(file);
    if (!out->text || bytes == 0) return false;
    char *rest = out->text + strlen(first_line);
    for (char *line; (line = strsep(&rest, "\n")) && rest;) {
        if (!cut(line, field)) {
            damaged++;
            continue;
        }
        if (strcmp(field[REQUEST], key->request) != 0) continue;
        bool ours =
            strcmp(field[MACHINE], key->machine) == 0 && strcmp(field[BUILD], key->build) == 0;
        others += !ours;
        if (!ours) continue;
        if (!read_choice(field[CHOICE], &out->choice)) {
            damaged++;
            continue;
        }
        found = true;
        out->date = field[DATE];
        out->reason = field[REASON];
    }
    if (damaged)
        report(note, path, "%d damaged line%s ignored", damaged, damaged == 1 ? " is" : "s are");
    if (others && !found)
        report(note, path, "its choice is of another machine or build, and does not count");
    return found;
}

/* Keeps the first line and the newer half of the others, which overwrites the older half. If the
 * process is killed meanwhile, some lines are duplicated and one is damaged. */
static bool drop_older_half(int file, const char *text, size_t *bytes) {
    size_t head = strlen(first_line), middle = head + (*bytes - head) / 2;
    const char *newer = (const char *)memchr(text + middle, '\n', *bytes - middle) + 1;
    size_t kept = (size_t)(text + *bytes - newer);
    *bytes = head + kept;
    return fcntl(file, F_SETFL, 0) == 0 && /* pwrite appends otherwise */
           pwrite(file, newer, kept, (off_t)head) == (ssize_t)kept &&
           ftruncate(file, (off_t)*bytes) == 0 && fcntl(file, F_SETFL, O_APPEND) == 0;
}

/* Appends a text to a file of `bytes` bytes, all or nothing. */
static bool append_text(int file, size_t bytes, const char *text, size_t n) {
    errno = ENOSPC; /* write does not set errno if it stops half-way */
    if (write(file, text, n) == (ssize_t)n) return true;
    int why = errno;
    bool removed = ftruncate(file, (off_t)bytes) == 0;
    if (removed) errno = why;
    return false;
}

/* Appends a line. First removes a partial line of a process that was killed while writing. */
static bool append_line(int file, const char *text, size_t bytes, const char *line, size_t n) {
    size_t whole = bytes, head = strlen(first_line);
    while (whole && text[whole - 1] != '\n') whole--;
    if (whole < bytes && ftruncate(file, (off_t)whole) != 0) return false;
    if (whole + n > MOST_BYTES && !drop_older_half(file, text, &whole)) return false;
    if (whole == 0) {
        if (!append_text(file, 0, first_line, head)) return false;
        whole = head;
    }
    return append_text(file, whole, line, n);
}

void spmv_wisdom_add(const char *path, const wisdom_key *key, const spmv_proposal *choice,
                     const char *reason, char *note) {
    char line[4096];
    size_t bytes, n = print_line(key, choice, reason, line, sizeof line);
    *note = 0;
    int file = n ? open_locked(path, true, note) : -1;
    if (file < 0) return;
    char *text = load(file, path, &bytes, note);
    if (text && !append_line(file, text, bytes, line, n))
        report(note, path, "cannot write: %s", strerror(errno));
    free(text);
    close(file);
}
