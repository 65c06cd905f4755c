/* ranking.h: who is fastest, and what is said below the table. */
#ifndef SPMV_RANKING_H
#define SPMV_RANKING_H

#include "app/run/session.h"

bool is_ok(const result *out);
bool is_checked(const result *out);
/* An impossible time is not ranked, nor is that of a result nobody looked at. */
bool is_ranked(const result *out);
/* Says whether the times are those of one precision, state of the caches, and number and layout of
 * vectors. */
bool are_ranked_together(const record *a, const record *b);
/* Returns the number of rows ranked with r, r included. It is less than what the log holds if a
 * sweep was resumed, or ran its cells one by one after a crash. */
int ranked_with(const result *results, int n, const record *r);
/* Returns the fastest ranked row beside r; NULL: all were disturbed, and none is said to be. */
const record *best_beside(const result *results, int n, const record *r);
/* Returns the papers' csr1 on the same backend, in its fastest configuration; NULL: none ran. */
const record *csr1_beside(const result *results, int n, const record *r);
/* Finds who is fastest, tied with it, and what changing over from csr1 costs. */
void rank_results(result *results, int n);

/* Appends to the current line how many times as fast as csr1 a row is and after about how many
 * products its preparation has paid off; of times in doubt with the range of the ratio. */
void say_against_csr1(const result *results, int n, const record *r);
/* Says what is wrong with times; blurred: nearly all are tied. */
void explain_results(const session *run, const result *results, int n, bool blurred);
/* Says who is fastest, one line for each precision, state of the caches and set of vectors; of
 * several numbers of threads for the fastest. */
void say_winners(const session *run, const result *results, int n);

/* Returns the cell of cell k's configuration with the fewest threads. */
int fewest_threads(const session *run, int k);
/* Prints the time of each configuration by its number of threads, and its speed-up over the fewest.
 * median_s(of, k): of cell k; NaN: none. */
void print_scaling(const session *run, double (*median_s)(const void *of, int k), const void *of,
                   FILE *file);

#endif
