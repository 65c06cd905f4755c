/* record.h: a record of the log, and any struct that a table of fields describes. */
#ifndef SPMV_APP_RECORD_H
#define SPMV_APP_RECORD_H

#include "measure/statistics.h"
#include "spmv_sample.h"

typedef const char *text; /* NULL: null */
typedef int64_t whole;    /* INT64_MIN: null */
typedef double number;    /* NaN: null */
typedef int truth;        /* -1: null */
typedef struct numbers {
    const double *value;
    int count;
} numbers;
typedef struct tallies { /* whole numbers */
    const int64_t *value;
    int count;
} tallies;
typedef struct texts {
    const char *const *value;
    int count;
} texts;
enum { MOST_PAIRS = 24 };
typedef struct pairs { /* an object of numbers or texts */
    const char *name[MOST_PAIRS];
    int64_t number[MOST_PAIRS];
    const char *text[MOST_PAIRS]; /* NULL: the number */
    bool given[MOST_PAIRS];       /* config.params: the value was on the command line */
    int count;
} pairs;

typedef struct record {
#define FIELD(type, name, key, unit, help) type name;
#include "app/record/record.def"
#undef FIELD
} record;

typedef enum field_type {
    TYPE_text,
    TYPE_whole,
    TYPE_number,
    TYPE_truth,
    TYPE_numbers,
    TYPE_tallies,
    TYPE_texts,
    TYPE_pairs
} field_type;
typedef struct field {
    field_type type;
    size_t offset;
    const char *key, *unit, *help;
} field;
typedef struct fields { /* table of the members of a struct, for writers */
    const field *field;
    int count;
} fields;
fields record_fields(void);
void fields_clear(fields table, void *of); /* every field null */
void record_clear(record *r);              /* every field null */
void record_build(record *r);              /* fills the facts about the build */
statistics record_times(const record *r);

#endif
