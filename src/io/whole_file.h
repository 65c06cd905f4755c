/* whole_file.h: writes a file atomically: it appears when it is complete, or not at all. */
#ifndef SPMV_WHOLE_FILE_H
#define SPMV_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct spmv_whole_file {
    int fd;              /* the descriptor to write to */
    bool nameless;       /* the file has no name yet; the kernel removes it when the process ends */
    char path[PATH_MAX]; /* the final name; empty: `fd` is the file that the user named */
    char part[PATH_MAX]; /* the temporary name, in the same folder */
} spmv_whole_file;

/* Opens the file that will become `path`: an unnamed file if the file system supports it, else a
 * temporary file in the same folder. If the process is interrupted or the disk is full, the old
 * file stays. The new file gets the old file's mode and owner. A symbolic link stays, and its
 * target is replaced; other hard links keep the old content. The following are written in place:
 * pipes and devices, a file that this process has open for writing (such as /dev/stdout), a mount
 * point, a file in a folder where no file can be created, and a file of an owner that the new file
 * cannot get. Returns errno of the failure, or 0. */
int spmv_whole_file_open(spmv_whole_file *file, const char *path);
/* Renames the file to its final name if error is 0, else removes it. Returns errno of the first
 * failure. */
int spmv_whole_file_close(spmv_whole_file *file, int error);
bool spmv_whole_file_waits(
    const spmv_whole_file *file); /* true if the file is a pipe, terminal or device */
/* Writes n bytes; returns errno of the failure, or 0. waits: writes to a pipe in units of at most
 * PIPE_BUF bytes, which are atomic; if nobody reads the pipe, a signal whose handler was installed
 * without SA_RESTART ends the wait. */
int spmv_write_all(int fd, bool waits, const void *bytes, size_t n);

#endif
