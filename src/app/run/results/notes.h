/* notes.h: the notes below the table. */
#ifndef SPMV_APP_NOTES_H
#define SPMV_APP_NOTES_H

#include "app/record/record.h"
#include "app/run/session.h"
#include "result.h"

/* Appends to the current line how many times as fast as csr1 a row is and after about how many
 * products its preparation has paid off; of times in doubt with the range of the ratio. */
void say_against_csr1(const result *results, int n, const record *r);
/* Says what is wrong with times; blurred: nearly all are tied. */
void explain_results(const session *run, const result *results, int n, bool blurred);
/* Says who is fastest, one line for each precision, state of the caches and set of vectors; of
 * several numbers of threads for the fastest. */
void say_winners(const session *run, const result *results, int n);

#endif
