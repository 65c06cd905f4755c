/* ranking.h: which rows are ranked, and the fastest of them. */
#ifndef SPMV_RANKING_H
#define SPMV_RANKING_H

#include "app/record/record.h"
#include "result.h"

bool is_ok(const result *out);
bool is_checked(const result *out);
/* Returns whether the row is ranked: its result was checked and its time is possible. */
bool is_ranked(const result *out);
/* Says whether the times are those of one precision, state of the caches, and number and layout of
 * vectors. */
bool are_ranked_together(const record *a, const record *b);
/* Returns the number of rows ranked with r, r included. It is less than what the log holds if a
 * sweep was resumed, or ran its cells one by one after a crash. */
int ranked_with(const result *results, int n, const record *r);
/* Returns the fastest row ranked with r; NULL: all were disturbed. */
const record *best_beside(const result *results, int n, const record *r);
/* Returns the papers' csr1 on the same backend, in its fastest configuration; NULL: none ran. */
const record *csr1_beside(const result *results, int n, const record *r);
/* Finds who is fastest, tied with it, and what changing over from csr1 costs. */
void rank_results(result *results, int n);

#endif
