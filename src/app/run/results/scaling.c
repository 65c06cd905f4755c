/* scaling.c: how many times as fast a configuration is with more threads. */
#include "app/messages.h"
#include "app/record/write_table.h"
#include "app/run/cells.h"
#include "app/run/session.h"
#include "scaling.h"
#include <stdio.h>
#include <string.h>

/* Says whether a and b are the same but for their number of threads. */
static bool is_same_kernel(const cell *a, const cell *b) {
    cell c = *a;
    c.threads = b->threads;
    return a->cache == b->cache && a->ranks == b->ranks && same_configuration(&c, b);
}

int fewest_threads(const session *run, int k) {
    int least = k;
    for (int j = 0; j < run->ncells; j++)
        if (is_same_kernel(&run->cell[k], &run->cell[j]) &&
            run->cell[j].threads < run->cell[least].threads)
            least = j;
    return least;
}

/* Writes a row for each number of threads of a configuration. */
static void print_configuration(const session *run, int base, double (*median_s)(const void *, int),
                                const void *of, FILE *file) {
    char label[CELL_LABEL], time[TIME_TEXT], speedup[SPEEDUP_TEXT];
    cell plain = run->cell[base];
    plain.threads = 0;
    cell_label(&plain, label, sizeof label);
    for (int k = 0; k < run->ncells; k++) {
        const cell *c = &run->cell[k];
        if (!is_same_kernel(&run->cell[base], c)) continue;
        time_text(median_s(of, k), time);
        speedup_text(median_s(of, base), run->cell[base].threads, median_s(of, k), c->threads,
                     speedup);
        fprintf(file, "  %-42.42s  %7d  %*s  %11s\n", k == base ? strchr(label, ':') + 1 : "",
                c->threads, 9 + (int)strlen(time) - columns_of(time), time, speedup);
    }
}

void print_scaling(const session *run, double (*median_s)(const void *of, int k), const void *of,
                   FILE *file) {
    fprintf(file, "\n  %-42s  %7s  %9s  %11s\n", "kernel, means over all matrices", "threads",
            "time", "speed-up");
    for (int k = 0; k < run->ncells; k++)
        if (fewest_threads(run, k) == k) print_configuration(run, k, median_s, of, file);
}
