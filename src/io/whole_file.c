/* whole_file.c: writes a file atomically, by renaming a temporary file when it is complete. */
#include "whole_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LINKS = 40, /* Linux's limit of symbolic links */
    MOST_FILES = 256 /* file descriptors searched; a shell's redirections have small numbers */
};

/* True if this process has the file open for writing through another descriptor than `fd`. */
static bool is_open(const struct stat *file, int fd) {
    struct stat other;
    for (int k = 0; k < MOST_FILES; k++)
        if (k != fd && fstat(k, &other) == 0 && other.st_dev == file->st_dev &&
            other.st_ino == file->st_ino && (fcntl(k, F_GETFL) & O_ACCMODE) != O_RDONLY)
            return true;
    return false;
}

static bool is_mount_point(int fd) {
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx about;
    return statx(fd, "", AT_EMPTY_PATH, 0, &about) == 0 &&
           about.stx_attributes & STATX_ATTR_MOUNT_ROOT;
#else
    (void)fd;
    return false;
#endif
}

/* Returns the length of a path's folder, with the slash at its end. */
static size_t folder_length(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash + 1 - path) : 0;
}

/* Copies head[0 .. n) and tail into out; false: they are too long. */
static bool join(char *out, const char *head, size_t n, const char *tail) {
    char joined[PATH_MAX];
    int length = snprintf(joined, sizeof joined, "%.*s%s", (int)n, head, tail);
    if (length < 0 || (size_t)length >= sizeof joined) return false;
    memcpy(out, joined, (size_t)length + 1);
    return true;
}

/* Replaces a path that is a symbolic link by its target, which need not exist. */
static int follow(char *path) {
    char link[PATH_MAX];
    for (int links = 0; links < MOST_LINKS; links++) {
        ssize_t n = readlink(path, link, sizeof link - 1);
        if (n < 0) return 0;
        link[n] = 0;
        if (!join(path, path, *link == '/' ? 0 : folder_length(path), link)) return ENAMETOOLONG;
    }
    return ELOOP;
}

/* Opens an unnamed file, or a temporary one, in the folder of file->path. */
static int open_part(spmv_whole_file *file) {
    char name[80], folder[PATH_MAX];
    struct timespec now = {0};
    const size_t n = folder_length(file->path);
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(name, sizeof name, ".spmv-%ld-%lld%09ld", (long)getpid(), (long long)now.tv_sec,
             now.tv_nsec);
    if (!join(folder, file->path, n, ".") || !join(file->part, file->path, n, name))
        return ENAMETOOLONG;
    file->nameless = false;
    if (access("/proc/self/fd", X_OK) == 0) { /* which will name the unnamed file */
        file->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        file->nameless = file->fd >= 0;
    }
    if (!file->nameless) file->fd = open(file->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return file->fd >= 0 ? 0 : errno;
}

/* Copies mode and owner of the old file to the new file. */
static bool take_after(int fd, const struct stat *old) {
    struct stat now;
    if (fstat(fd, &now) != 0) return false;
    const bool same = now.st_uid == old->st_uid && now.st_gid == old->st_gid;
    return (same || fchown(fd, old->st_uid, old->st_gid) == 0) &&
           fchmod(fd, old->st_mode & 0777) == 0;
}

static void drop_part(const spmv_whole_file *file) {
    close(file->fd);
    if (!file->nameless) unlink(file->part);
}

/* Opens the file that will replace the regular file `old`; old NULL: there is none yet. */
static int open_replacement(spmv_whole_file *file, const char *path, const struct stat *old) {
    if (!join(file->path, path, strlen(path), "")) return ENAMETOOLONG;
    int error = follow(file->path);
    if (!error) error = open_part(file);
    if (error || !old || take_after(file->fd, old)) return error;
    drop_part(file);
    return EPERM;
}

int spmv_whole_file_open(spmv_whole_file *file, const char *path) {
    struct stat old;
    *file->path = 0;
    /* Opening without O_CREAT fails, and changes nothing, if the file must not be written to. */
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? open_replacement(file, path, NULL) : errno;
    int error = fstat(fd, &old) == 0 ? 0 : errno;
    if (!error && S_ISREG(old.st_mode)) {
        if (!is_open(&old, fd) && !is_mount_point(fd)) {
            error = open_replacement(file, path, &old);
            if (error != EACCES && error != EPERM && error != EROFS) {
                close(fd);
                return error;
            }
            *file->path = 0;
        }
        error = ftruncate(fd, 0) == 0 ? 0 : errno;
    }
    file->fd = fd;
    if (error) close(fd);
    return error;
}

/* Gives an unnamed file its temporary name. */
static int name_part(spmv_whole_file *file) {
    char from[64];
    snprintf(from, sizeof from, "/proc/self/fd/%d", file->fd);
    if (linkat(AT_FDCWD, from, AT_FDCWD, file->part, AT_SYMLINK_FOLLOW) != 0) return errno;
    file->nameless = false;
    return 0;
}

int spmv_whole_file_close(spmv_whole_file *file, int error) {
    const bool replaces = *file->path;
    if (!error && replaces && file->nameless) error = name_part(file);
    if (close(file->fd) != 0 && !error) error = errno;
    if (!replaces) return error;
    if (!error && rename(file->part, file->path) != 0) error = errno;
    if (error && !file->nameless) unlink(file->part);
    return error;
}

bool spmv_whole_file_waits(const spmv_whole_file *file) {
    struct stat facts;
    return fstat(file->fd, &facts) != 0 || !S_ISREG(facts.st_mode);
}

int spmv_write_all(int fd, bool waits, const void *bytes, size_t n) {
    const char *at = bytes;
    while (n > 0) {
        const ssize_t put = write(fd, at, waits && n > PIPE_BUF ? PIPE_BUF : n);
        if (put < 0 && errno == EINTR && !waits) continue;
        if (put < 0) return errno;
        at += put;
        n -= (size_t)put;
    }
    return 0;
}
