/* whole_file.h: a file that appears when all of it is written, or not at all. */
#ifndef SPMV_WHOLE_FILE_H
#define SPMV_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct spmv_whole_file {
    int fd;              /* to write to */
    bool nameless;       /* it has no name yet, and ends with the process */
    char path[PATH_MAX]; /* the name that it gets in the end; empty: it is what the user named */
    char part[PATH_MAX]; /* its name until then, beside path */
} spmv_whole_file;

/* Opens what is to become path: a file without a name where the folder's file system has such, else
 * one of another name beside it. Neither is cut off when the process is interrupted, the disk full;
 * a file that was there stays until then, and hands its mode and owner on. Through a symbolic link
 * the file that it leads to is replaced; other hard links keep what they had. Pipes and devices, a
 * file that this process has open for writing (as /dev/stdout may be), a mount point, and a file in
 * a folder that takes no new ones, or of an owner whom the new one cannot have, are written to as
 * they are. Returns errno of a failure, or 0. */
int spmv_whole_file_open(spmv_whole_file *file, const char *path);
/* Puts the file in its place if error is 0; else it is gone. Returns errno of the first failure. */
int spmv_whole_file_close(spmv_whole_file *file, int error);
bool spmv_whole_file_waits(
    const spmv_whole_file *file); /* says whether it is a pipe, terminal or device */
/* Returns errno of the failure, or 0. A pipe (waits) takes pieces of PIPE_BUF bytes whole or not at
 * all: where nobody reads it, a signal whose handler was set up without SA_RESTART ends the wait.
 */
int spmv_write_all(int fd, bool waits, const void *bytes, size_t n);

#endif
