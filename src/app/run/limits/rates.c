/* rates.c: saves what `spmv doctor --probe` measured in a small text file per device, for runs.
 * The first line names the device; each further line holds one rate. */
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/machine.h"
#include "rates.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 1024 };

static bool is_off(const options *o) {
    return o->probe && strcmp(o->probe, "off") == 0;
}

/* Returns false if there is none. */
static bool users_folder(char *out) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache)
        snprintf(out, PATH, "%s/spmv", cache);
    else if (home && *home)
        snprintf(out, PATH, "%s/.cache/spmv", home);
    else
        return false;
    return true;
}

/* Returns false if there is no folder for the file. */
static bool folder_of(const options *o, char *out) {
    if (is_off(o)) return false;
    if (!o->probe) return users_folder(out);
    snprintf(out, PATH, "%s", o->probe);
    return true;
}

void rates_key(const machine *m, const spmv_backend *backend, const char *gpu, int threads,
               char *out, size_t size) {
    if (backend->host)
        snprintf(out, size, "%s %s %s, %d threads", backend->name, m->hostname, m->cpu, threads);
    else
        snprintf(out, size, "%s %s %s", backend->name, m->hostname, gpu ? gpu : "GPU");
}

static bool path_of(const options *o, const char *key, char *out) {
    char folder[PATH];
    uint64_t h = 0xcbf29ce484222325u;
    if (!folder_of(o, folder)) return false;
    for (const char *s = key; *s; s++) h = (h ^ (unsigned char)*s) * 0x100000001b3u;
    int n = snprintf(out, PATH, "%.960s/probe-%.*s-%016llx.txt", folder, (int)strcspn(key, " "),
                     key, (unsigned long long)h);
    return n > 0 && n < PATH;
}

/* The folder and what it is in: ~/.cache may be new. */
static void make_folder(const char *path) {
    char part[PATH];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
        mkdir(part, 0777); /* fopen says what is wrong */
    }
}

bool saved_path(const char *name, char *out, size_t size) {
    char folder[PATH];
    if (!users_folder(folder)) return false;
    int n = snprintf(out, size, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= size) return false;
    make_folder(out);
    return true;
}

int rates_save(const options *o, const char *key, const spmv_rates *r) {
    char path[PATH], part[PATH + 32], what[PATH + 128];
    if (!path_of(o, key, path)) {
        say("  note: these limits were not saved (--probe=off, or no home folder); --probe=DIR "
            "names a "
            "folder\n");
        return 0;
    }
    make_folder(path);
    /* Whole or not at all: a full disk must not leave limits of nothing. */
    snprintf(part, sizeof part, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(part, "w");
    if (file) {
        fprintf(file, "spmv-probe/1 %s\n", key);
        if (r->others > 0) fprintf(file, "others %.6g\n", r->others);
        fprintf(file, "read %.6g\ncopy %.6g\ntriad %.6g\n", r->read, r->copy, r->triad);
        if (r->cache_read > 0) fprintf(file, "cache %zu %.6g\n", r->cache_bytes, r->cache_read);
        for (int k = 0; k < r->ngathers; k++)
            fprintf(file, "gather %zu %.6g\n", r->gather_bytes[k], r->gathers[k]);
        for (int k = 0; k < r->nrows; k++)
            fprintf(file, "rows %zu %.6g %.6g\n", r->row_bytes[k], r->rows_near[k], r->rows_far[k]);
    }
    bool wrote = file && !ferror(file);
    wrote = file && fclose(file) == 0 && wrote;
    if (wrote && rename(part, path) == 0) {
        say("saved in %s\n", path);
        return 0;
    }
    const int error = errno;
    if (file) unlink(part);
    errno = error;
    snprintf(what, sizeof what, "%s: cannot save the limits: %s", path, strerror(errno));
    return complain(SPMV_E_WRITE, what);
}

static bool is_rate(double value) {
    return value >= 1 && value < 1e18;
}

static bool take_rows(spmv_rates *r, size_t bytes, double near, double far) {
    const bool ascending = !r->nrows || bytes > r->row_bytes[r->nrows - 1];
    if (r->nrows == SPMV_ROW_WIDTHS || !bytes || !ascending || !is_rate(near) || !is_rate(far))
        return false;
    r->row_bytes[r->nrows] = bytes;
    r->rows_near[r->nrows] = near;
    r->rows_far[r->nrows++] = far;
    return true;
}

/* A line other than the first. */
static bool take_line(const char *line, spmv_rates *r) {
    double value, far;
    size_t bytes;
    char name[16];
    if (sscanf(line, "rows %zu %lf %lf", &bytes, &value, &far) == 3)
        return take_rows(r, bytes, value, far);
    if (sscanf(line, "cache %zu %lf", &bytes, &value) == 2) {
        r->cache_bytes = bytes;
        r->cache_read = value;
        return is_rate(value);
    }
    if (sscanf(line, "gather %zu %lf", &bytes, &value) == 2) {
        bool ascending = !r->ngathers || bytes > r->gather_bytes[r->ngathers - 1];
        if (r->ngathers == SPMV_GATHERS || !bytes || !ascending || !is_rate(value)) return false;
        r->gather_bytes[r->ngathers] = bytes;
        r->gathers[r->ngathers++] = value;
        return true;
    }
    if (sscanf(line, "others %lf", &value) == 1) {
        r->others = value;
        return value > 0;
    }
    if (sscanf(line, "%15s %lf", name, &value) != 2 || !is_rate(value)) return false;
    double *to = strcmp(name, "read") == 0    ? &r->read
                 : strcmp(name, "copy") == 0  ? &r->copy
                 : strcmp(name, "triad") == 0 ? &r->triad
                                              : NULL;
    if (to) *to = value;
    return to != NULL;
}

bool rates_load(const options *o, const char *key, spmv_rates *r) {
    char path[PATH], line[1024], first[1024];
    memset(r, 0, sizeof *r);
    if (!path_of(o, key, path)) return false;
    FILE *file = fopen(path, "r");
    if (!file) return false;
    snprintf(first, sizeof first, "spmv-probe/1 %s\n", key);
    bool fine = fgets(line, sizeof line, file) && strcmp(line, first) == 0;
    while (fine && fgets(line, sizeof line, file)) fine = take_line(line, r);
    fclose(file);
    fine = fine && r->read > 0 && r->ngathers > 0;
    if (!fine)
        say("  note: %s is not a result of 'spmv doctor --probe', which would write it anew\n",
            path);
    return fine;
}

/* Interpolates between sizes measured straight in the logarithms; beyond them as at the end. */
static double between(const size_t *size, const double *rate, int n, double bytes) {
    int k = 0, last = n - 1;
    if (bytes <= (double)size[0]) return rate[0];
    if (bytes >= (double)size[last]) return rate[last];
    while (bytes > (double)size[k + 1]) k++;
    double low = (double)size[k], high = (double)size[k + 1];
    double at = log(bytes / low) / log(high / low);
    return rate[k] * pow(rate[k + 1] / rate[k], at);
}

double gather_rate(const spmv_rates *r, double bytes, double row_bytes) {
    const double one = between(r->gather_bytes, r->gathers, r->ngathers, bytes);
    if (!r->nrows) return one;
    const double *rows = bytes <= (double)r->cache_bytes ? r->rows_near : r->rows_far;
    return one * between(r->row_bytes, rows, r->nrows, row_bytes) / rows[0];
}
