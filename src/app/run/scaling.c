/* scaling.c: how many times as fast a configuration is with more threads. */
#include "cells.h"
#include "ranking.h"
#include "session.h"
#include <math.h>
#include <stdlib.h>

/* Says whether a and b are the same but for their number of threads. */
static bool is_same_kernel(const cell *a, const cell *b) {
    cell c = *a;
    c.threads = b->threads;
    return a->cache == b->cache && a->ranks == b->ranks && same_configuration(&c, b);
}

/* Returns the cell of cell k's configuration with the fewest threads. */
static int fewest_threads(const session *run, int k) {
    int least = k;
    for (int j = 0; j < run->ncells; j++)
        if (is_same_kernel(&run->cell[k], &run->cell[j]) &&
            run->cell[j].threads < run->cell[least].threads)
            least = j;
    return least;
}

/* Writes the speed-ups of a configuration over cell base, which has its fewest threads. Returns
 * their number. */
static int write_speedups(const session *run, int base, double (*median_s)(const void *, int),
                          const void *of, FILE *file) {
    const double base_s = median_s(of, base);
    const int few = run->cell[base].threads;
    int count = 0;
    for (int k = 0; k < run->ncells; k++) {
        const cell *c = &run->cell[k];
        const double speedup = base_s / median_s(of, k);
        if (k == base || !isfinite(speedup) || !is_same_kernel(&run->cell[base], c)) continue;
        fprintf(file, "  %d: %.2f (%.0f%%)", c->threads, speedup, 100 * speedup * few / c->threads);
        count++;
    }
    return count;
}

void print_scaling(const session *run, double (*median_s)(const void *of, int k), const void *of,
                   FILE *file) {
    bool begun = false;
    for (int k = 0; k < run->ncells && run->o->threads.count > 1; k++) {
        char label[CELL_LABEL], *line = NULL;
        size_t size;
        cell plain = run->cell[k];
        FILE *memory = fewest_threads(run, k) == k ? open_memstream(&line, &size) : NULL;
        if (!memory) continue;
        plain.threads = 0;
        cell_label(&plain, label, sizeof label);
        fprintf(memory, "%-20s", strchr(label, ':') + 1);
        const int count = write_speedups(run, k, median_s, of, memory);
        if (fclose(memory) == 0 && count) {
            if (!begun)
                printf_wrapped(file, 2, "threads: times as fast as with %d (share of the ideal)",
                               run->cell[k].threads);
            begun = true;
            fputs("  ", file);
            print_wrapped(file, page_width(file, NO_LIMIT), 2, 4, line);
        }
        free(line);
    }
}
