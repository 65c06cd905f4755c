/* bench/read.c: speed of reading a Matrix Market file: make bench-read, or bench_read PATH.
 *
 * Creates a file at PATH and deletes it afterwards: 5.74 M real entries at random positions, 17
 * significant digits each, 197 MB, in the page cache. Prints the median of the runs in MB/s of
 * text, for one thread, two and all. */
#include "spmv_clock.h"
#include "io/io.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

enum { ENTRIES = 5740000, SIZE = 1000000, RUNS = 7 };

static uint64_t random_bits(void) {
    static uint64_t state = 88172645463325252;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* Writes the file; returns its size, 0 on failure. */
static double make_file(const char *path) {
    FILE *f = fopen(path, "w");
    if (!f) return 0;
    fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", SIZE, SIZE, ENTRIES);
    for (int k = 0; k < ENTRIES; k++) {
        unsigned row = (unsigned)(random_bits() % SIZE), col = (unsigned)(random_bits() % SIZE);
        fprintf(f, "%u %u %.17g\n", row + 1, col + 1, (double)(int64_t)random_bits() * 0x1p-63);
    }
    double bytes = (double)ftell(f);
    return fclose(f) == 0 ? bytes : 0;
}

static double peak_bytes(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return 1024 * (double)use.ru_maxrss;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int bench(spmv_ctx *ctx, const char *path, int threads, int runs, double bytes,
                 const char *what) {
    double seconds[RUNS], peak = peak_bytes();
    for (int run = 0; run < runs; run++) {
        spmv_coo coo;
        double start = spmv_now();
        if (spmv_read_matrix_market(ctx, path, threads, NULL, NULL, &coo) != SPMV_OK) {
            fprintf(stderr, "bench_read: %s\n", spmv_ctx_error(ctx));
            return 1;
        }
        seconds[run] = spmv_now() - start;
        spmv_coo_free(&coo);
    }
    qsort(seconds, (size_t)runs, sizeof *seconds, ascending);
    printf("%-10s %3d thread%s %7.0f MB/s (median of %d; %.0f to %.0f)", what, threads,
           threads == 1 ? " " : "s", 1e-6 * bytes / seconds[runs / 2], runs,
           1e-6 * bytes / seconds[runs - 1], 1e-6 * bytes / seconds[0]);
    if (peak_bytes() > peak)
        printf("   peak memory so far: +%.1f bytes an entry", (peak_bytes() - peak) / ENTRIES);
    printf("\n");
    return 0;
}

#ifdef HAVE_LIBARCHIVE
static bool compress_file(const char *path, const char *to, double bytes) {
    static char block[1 << 16];
    bool good = true;
    size_t n;
    FILE *f = fopen(path, "r");
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_pathname(entry, "data");
    archive_entry_set_size(entry, (la_int64_t)bytes);
    archive_write_add_filter_gzip(a);
    archive_write_set_format_raw(a);
    good = f && archive_write_open_filename(a, to) == ARCHIVE_OK &&
           archive_write_header(a, entry) == ARCHIVE_OK;
    while (good && (n = fread(block, 1, sizeof block, f)) > 0)
        good = archive_write_data(a, block, n) == (la_ssize_t)n;
    good = archive_write_close(a) == ARCHIVE_OK && good;
    archive_write_free(a);
    archive_entry_free(entry);
    if (f) fclose(f);
    return good;
}

/* Measures decompression without parsing, an upper bound for reading compressed files. */
static void bench_decompression(spmv_ctx *ctx, const char *path, double bytes) {
    static char text[256 << 10];
    unsigned char head[SPMV_MAGIC_BYTES];
    spmv_archive *archive = NULL;
    ptrdiff_t got = -1;
    int fd = open(path, O_RDONLY);
    double start = spmv_now();
    ssize_t nhead = fd < 0 ? 0 : read(fd, head, sizeof head);
    spmv_input in;
    spmv_input_open(&in, fd);
    if (nhead > 0 && spmv_archive_open(ctx, path, &in, head, (size_t)nhead, &archive) == SPMV_OK) do
            got = spmv_archive_read(archive, text, sizeof text);
        while (got > 0);
    if (got == 0)
        printf("%-10s  decompression alone %.0f MB/s of text\n", ".gz",
               1e-6 * bytes / (spmv_now() - start));
    spmv_archive_close(archive);
    if (fd >= 0) close(fd);
}
#endif

int main(int argc, char **argv) {
    spmv_ctx *ctx = NULL;
    int failed = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: bench_read PATH (a file to make and delete)\n");
        return 64;
    }
    if (spmv_ctx_create(NULL, &ctx) != SPMV_OK) return 1;
    double bytes = make_file(argv[1]);
    if (bytes == 0) {
        perror(argv[1]);
        failed = 1;
    } else {
        int all = spmv_ctx_threads(ctx);
        printf("%.0f MB, %d entries\n", 1e-6 * bytes, ENTRIES);
        failed |= bench(ctx, argv[1], 1, RUNS, bytes, "plain");
        failed |= bench(ctx, argv[1], 2, RUNS, bytes, "plain");
        if (all > 2) failed |= bench(ctx, argv[1], all, RUNS, bytes, "plain");
#ifdef HAVE_LIBARCHIVE
        char compressed[4096];
        snprintf(compressed, sizeof compressed, "%s.gz", argv[1]);
        if (compress_file(argv[1], compressed, bytes)) {
            bench_decompression(ctx, compressed, bytes);
            failed |= bench(ctx, compressed, 1, 5, bytes, ".gz");
            failed |= bench(ctx, compressed, 2, 5, bytes, ".gz");
        }
        unlink(compressed);
#endif
    }
    unlink(argv[1]);
    spmv_ctx_free(ctx);
    return failed;
}
