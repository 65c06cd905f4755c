/* binsparse.c: a Binsparse descriptor, of HDF5 or NumPy's archives, and the arrays that it names.
 */
#include "io/formats.h"
#include <stdio.h>

static const struct {
    const char *name;
    spmv_shape shape;
    const char *ptr, *line, *idx; /* names of the arrays; NULL: the format has none */
} known[] = {
    {"CSR", SPMV_HELD_ROWS, "pointers_to_1", NULL, "indices_1"},
    {"CSC", SPMV_HELD_COLUMNS, "pointers_to_1", NULL, "indices_1"},
    {"COO", SPMV_HELD_ENTRIES, NULL, "indices_0", "indices_1"},
    {"COOR", SPMV_HELD_ENTRIES, NULL, "indices_0", "indices_1"},
    {"COOC", SPMV_HELD_ENTRIES, NULL, "indices_1", "indices_0"},
    {"DMAT", SPMV_HELD_BY_ROWS, NULL, NULL, NULL},
    {"DMATR", SPMV_HELD_BY_ROWS, NULL, NULL, NULL},
    {"DMATC", SPMV_HELD_BY_COLUMNS, NULL, NULL, NULL},
    {"DVEC", SPMV_HELD_BY_COLUMNS, NULL, NULL, NULL},
};

static const struct {
    const char *name;
    spmv_symmetry symmetry;
} structures[] = {
    {"general", SPMV_GENERAL},
    {"symmetric_lower", SPMV_SYMMETRIC},
    {"symmetric_upper", SPMV_SYMMETRIC},
    {"hermitian_lower", SPMV_SYMMETRIC}, /* as symmetric, since values are real */
    {"hermitian_upper", SPMV_SYMMETRIC},
    {"skew_symmetric_lower", SPMV_SKEW_SYMMETRIC},
    {"skew_symmetric_upper", SPMV_SKEW_SYMMETRIC},
};

typedef struct finder {
    const spmv_bytes *in;
    const char *types; /* the descriptor's data_types */
    spmv_status (*find)(void *arg, const char *name, spmv_part *part);
    void *arg;
} finder;

/* Finds an array; "iso" in its type: one element stands for all n; "bint8": a Boolean stored as an
 * integer. */
static spmv_status find_array(const finder *f, const char *name, int64_t n, spmv_part *out) {
    char type[40] = "";
    if (!spmv_json_string(spmv_json_member(f->types, name), type, sizeof type))
        return spmv_refuse(f->in, "a Binsparse descriptor without the type of %s", name);
    if (strstr(type, "complex"))
        return spmv_refuse(f->in,
                           "%s of complex values, expected real, integer or pattern: complex "
                           "values are not supported",
                           name);
    TRY(f->find(f->arg, name, out));
    if (strstr(type, "bint8")) out->as.kind = 'b';
    if (strncmp(type, "iso[", 4) != 0) return SPMV_OK;
    if (out->n != 1)
        return spmv_refuse(f->in, "%lld elements of %s, expected 1: its type is %s",
                           (long long)out->n, name, type);
    out->same = true;
    out->n = n;
    return SPMV_OK;
}

static spmv_status read_structure(const spmv_bytes *in, const char *header, spmv_held *out) {
    char name[40] = "general";
    const char *value = spmv_json_member(header, "structure");
    if (value && !spmv_json_string(value, name, sizeof name)) snprintf(name, sizeof name, "?");
    for (size_t k = 0; k < sizeof structures / sizeof *structures; k++)
        if (strcmp(name, structures[k].name) == 0) {
            out->symmetry = structures[k].symmetry;
            return SPMV_OK;
        }
    return spmv_refuse(in,
                       "the Binsparse structure '%s', expected 'general', 'symmetric_lower' or "
                       "the like",
                       name);
}

spmv_status spmv_binsparse_describe(const spmv_bytes *in, const char *json,
                                    spmv_status (*find)(void *arg, const char *name,
                                                        spmv_part *part),
                                    void *arg, spmv_held *out) {
    const char *header = spmv_json_member(json, "binsparse");
    const char *shape = spmv_json_member(header, "shape"), *fill = spmv_json_member(header, "fill");
    const finder f = {in, spmv_json_member(header, "data_types"), find, arg};
    char format[40] = "?";
    int64_t n = 0;
    size_t k = 0;
    if (!header) return spmv_refuse(in, "a Binsparse descriptor without 'binsparse'");
    spmv_json_string(spmv_json_member(header, "format"), format, sizeof format);
    while (k < sizeof known / sizeof *known && strcmp(format, known[k].name) != 0) k++;
    if (k == sizeof known / sizeof *known)
        return spmv_refuse(in, "the Binsparse format '%s', expected CSR, CSC, COO, DMAT or DVEC",
                           format);
    if (fill && strncmp(fill, "true", 4) == 0)
        return spmv_refuse(in, "a Binsparse matrix with a fill value, expected zeros between its "
                               "entries");
    out->cols = 1;
    const bool is_vector = strcmp(format, "DVEC") == 0;
    if (!spmv_json_integer(spmv_json_element(shape, 0), &out->rows) ||
        (!is_vector && !spmv_json_integer(spmv_json_element(shape, 1), &out->cols)) ||
        !spmv_json_integer(spmv_json_member(header, "number_of_stored_values"), &n) || n < 0)
        return spmv_refuse(in, "a Binsparse descriptor without 'shape' or "
                               "'number_of_stored_values'");
    out->shape = known[k].shape;
    TRY(read_structure(in, header, out));
    if (known[k].ptr) TRY(find_array(&f, known[k].ptr, 0, &out->ptr));
    if (known[k].line) TRY(find_array(&f, known[k].line, n, &out->line));
    if (known[k].idx) TRY(find_array(&f, known[k].idx, n, &out->idx));
    return find_array(&f, "values", n, &out->values);
}
