/* facts.h: what spmv info says of a matrix. */
#ifndef SPMV_APP_FACTS_H
#define SPMV_APP_FACTS_H

#include "app/record/record.h"

typedef struct matrix_facts {
#define FIELD(type, name, key, unit, help) type name;
#include "app/info/facts.def"
#undef FIELD
} matrix_facts;
fields matrix_facts_fields(void);
/* Makes the transpose a matrix of its own. */
spmv_status transpose_of(spmv_ctx *ctx, const spmv_mat *mat, spmv_mat **out);
/* All facts but the texts. Returns false if memory ran out for some, which are unknown then. */
bool matrix_facts_of(spmv_ctx *ctx, const spmv_csr_view *A, const spmv_stats *stats,
                     matrix_facts *out);

#endif
