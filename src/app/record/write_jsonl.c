/* write_jsonl.c: a record as one line of JSON, through jansson. */
#include "app/messages.h"
#include "app/options/option_values.h"
#include "record.h"
#include "write_jsonl.h"
#include "write_table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS = 9 }; /* significant digits of a number in a log */

double jsonl_number(double x) {
    char digits[32];
    snprintf(digits, sizeof digits, "%.*g", DIGITS, x);
    return strtod(digits, NULL);
}

#ifdef HAVE_JANSSON
#include <jansson.h>
#include <math.h>

static json_t *real_or_null(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

/* Writes what is not UTF-8, as names of files may be, with \xFF for its bytes: nothing is lost. */
static char *printable(const char *s) {
    char *out = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&out, &size);
    json_t *fine = json_string(s);
    for (; memory && *s; s++) {
        if (!fine && (unsigned char)*s >= 0x80)
            fprintf(memory, "\\x%02X", (unsigned)(unsigned char)*s);
        else
            putc(*s, memory);
    }
    json_decref(fine);
    if (memory) fclose(memory);
    return out;
}

static json_t *text_or_null(const char *s) {
    json_t *value = s ? json_string(s) : json_null();
    if (value) return value;
    char *spelt = printable(s);
    value = spelt ? json_string(spelt) : json_null();
    free(spelt);
    return value;
}

static json_t *value_of(const field *f, const void *of) {
    const void *at = (const char *)of + f->offset;
    json_t *array = NULL;
    switch (f->type) {
    case TYPE_text: return text_or_null(*(const text *)at);
    case TYPE_whole:
        return *(const whole *)at == INT64_MIN ? json_null() : json_integer(*(const whole *)at);
    case TYPE_number: return real_or_null(*(const number *)at);
    case TYPE_truth: return *(const truth *)at < 0 ? json_null() : json_boolean(*(const truth *)at);
    case TYPE_numbers:
        array = json_array();
        for (int k = 0; k < ((const numbers *)at)->count; k++)
            json_array_append_new(array, real_or_null(((const numbers *)at)->value[k]));
        return array;
    case TYPE_tallies:
        array = json_array();
        for (int k = 0; k < ((const tallies *)at)->count; k++)
            json_array_append_new(array, json_integer(((const tallies *)at)->value[k]));
        return array;
    case TYPE_texts:
        array = json_array();
        for (int k = 0; k < ((const texts *)at)->count; k++)
            json_array_append_new(array, text_or_null(((const texts *)at)->value[k]));
        return array;
    case TYPE_pairs: break;
    }
    const pairs *p = at;
    json_t *object = json_object();
    for (int k = 0; k < p->count; k++) {
        char *name = printable(p->name[k]);
        if (name)
            json_object_set_new(object, name,
                                p->text[k] ? text_or_null(p->text[k]) : json_integer(p->number[k]));
        free(name);
    }
    return object;
}

/* "timing.median_s" goes into the object "timing", made when first met. */
static void set(json_t *root, const char *key, json_t *value) {
    const char *dot = strchr(key, '.');
    if (!dot) {
        json_object_set_new(root, key, value);
        return;
    }
    char group[64];
    snprintf(group, sizeof group, "%.*s", (int)(dot - key), key);
    if (!json_object_get(root, group)) json_object_set_new(root, group, json_object());
    set(json_object_get(root, group), dot + 1, value);
}

spmv_status jsonl_format(fields table, const void *of, char **out) {
    json_t *root = json_object();
    for (const field *f = table.field; f < table.field + table.count; f++)
        set(root, f->key, value_of(f, of));
    char *line = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    json_decref(root);
    *out = NULL;
    if (!line) return SPMV_E_NOMEM;
    size_t n = strlen(line);
    char *longer = realloc(line, n + 2);
    if (!longer) {
        free(line);
        return SPMV_E_NOMEM;
    }
    memcpy(longer + n, "\n", 2);
    *out = longer;
    return SPMV_OK;
}

bool jsonl_is_whole(const char *line, size_t length) {
    json_t *root = json_loadb(line, length, 0, NULL);
    bool object = json_is_object(root);
    json_decref(root);
    return object;
}

static double number_in(const json_t *root, const char *group, const char *name) {
    const json_t *found = json_object_get(json_object_get(root, group), name);
    return json_is_number(found) ? json_number_value(found) : NAN;
}

static bool says(const json_t *root, const char *group, const char *name, const char *word) {
    const char *found = json_string_value(json_object_get(json_object_get(root, group), name));
    return found && strcmp(found, word) == 0;
}

static const json_t *find_in(const json_t *root, const char *key) {
    char group[64];
    const char *dot = strchr(key, '.');
    if (!dot) return json_object_get(root, key);
    snprintf(group, sizeof group, "%.*s", (int)(dot - key), key);
    return find_in(json_object_get(root, group), dot + 1);
}

static void read_pairs(const json_t *object, pairs *out) {
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, name, value) {
        const spmv_param_id id = param_named(name);
        if (id == SPMV_NPARAMS || out->count == MOST_PAIRS) continue;
        out->name[out->count] = name;
        out->number[out->count++] = json_is_string(value)
                                        ? param_number(&params[id], json_string_value(value))
                                        : (int64_t)json_integer_value(value);
    }
}

/* Reads what configuration_text reads; texts belong to root. */
static void read_configuration(const json_t *root, cell_time *out) {
    record r;
    fields all = record_fields();
    record_clear(&r);
    for (const field *f = all.field; f < all.field + all.count; f++) {
        void *at = (char *)&r + f->offset;
        const json_t *value = find_in(root, f->key);
        if (f->type == TYPE_text) *(text *)at = json_string_value(value);
        if (f->type == TYPE_whole && json_is_integer(value))
            *(whole *)at = (whole)json_integer_value(value);
        if (f->type == TYPE_truth && json_is_boolean(value)) *(truth *)at = json_is_true(value);
    }
    read_pairs(find_in(root, "config.params"), &r.config_params);
    out->chosen = is_chosen(&r);
    if (r.config_kernel) configuration_text(&r, out->configuration, sizeof out->configuration);
}

bool jsonl_sweep_cell(const char *line, logged_cell *out) {
    const char *cell = NULL, *word = NULL;
    json_t *root = json_loads(line, 0, NULL);
    bool found = json_unpack(root, "{s:{s:s}, s:s}", "sweep", "cell", &cell, "status", &word) == 0;
    const json_t *times = json_object_get(root, "timing");
    out->time = (cell_time){.median_s = number_in(root, "timing", "median_s"),
                            .q1_s = number_in(root, "timing", "q1_s"),
                            .q3_s = number_in(root, "timing", "q3_s"),
                            .flop_per_s = number_in(root, "perf", "flop_per_s"),
                            .unsettled = json_is_false(json_object_get(times, "settled")),
                            .disturbed = json_array_size(json_object_get(times, "flags")) > 0};
    if (!found || strcmp(word, "ok") != 0 || !says(root, "check", "status", "ok") ||
        says(root, "perf", "verdict", "suspect"))
        out->time.median_s = NAN;
    read_configuration(root, &out->time);
    if (found) snprintf(out->cell, sizeof out->cell, "%s", cell);
    if (found) snprintf(out->status, sizeof out->status, "%s", word);
    json_decref(root);
    return found;
}

bool jsonl_put_in_sweep(const char *line, int pass, const char *cell, char **out, char *reason,
                        size_t size) {
    json_t *root = json_loads(line, 0, NULL), *sweep = json_object_get(root, "sweep");
    const char *why = json_string_value(json_object_get(root, "reason"));
    char *without = NULL;
    *out = NULL;
    if (sweep && json_object_set_new(sweep, "pass", json_integer(pass)) == 0 &&
        json_object_set_new(sweep, "cell", json_string(cell)) == 0)
        without = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
    if (without && asprintf(out, "%s\n", without) < 0) *out = NULL;
    snprintf(reason, size, "%s", why ? why : "");
    free(without);
    json_decref(root);
    return *out != NULL;
}
#else
bool jsonl_put_in_sweep(const char *line, int pass, const char *cell, char **out, char *reason,
                        size_t size) {
    (void)line, (void)pass, (void)cell, (void)reason, (void)size;
    *out = NULL;
    return false;
}

bool jsonl_is_whole(const char *line, size_t length) { /* who could not tell leaves it alone */
    (void)line;
    (void)length;
    return true;
}

bool jsonl_sweep_cell(const char *line, logged_cell *out) {
    (void)line;
    (void)out;
    return false;
}

spmv_status jsonl_format(fields table, const void *of, char **out) {
    (void)table;
    (void)of;
    *out = NULL;
    return SPMV_E_FEATURE;
}
#endif

int jsonl_print(FILE *file, fields table, const void *of) {
    char *line = NULL;
    spmv_status status = jsonl_format(table, of, &line);
    if (status == SPMV_E_FEATURE)
        return complain(status, "JSON is not built in: install libjansson-dev (Debian) "
                                "or jansson-devel (Fedora), then make again");
    if (status != SPMV_OK) return complain(status, NULL);
    if (file) fputs(line, file);
    free(line);
    return 0;
}

int json_item(FILE *file, fields table, const void *of, int k) {
    fputs(k ? "," : "[\n", file);
    return jsonl_print(file, table, of);
}

void json_end(FILE *file, int n) {
    fputs(n ? "]\n" : "[]\n", file);
}
