/* test_drawings.c: what each format's header draws is what its builder makes of the example matrix,
 * which formats/csr/csr.h shows. The numbers of each array must agree; line breaks and bars between
 * them do not count. SPMV_DRAW=1 prints what is to be drawn. */
#include "context.h"
#include "formats/bsr/bsr.h"
#include "formats/cmrs/cmrs.h"
#include "formats/coo/coo.h"
#include "formats/csb/csb.h"
#include "formats/csr/csr.h"
#include "formats/csr5/csr5.h"
#include "formats/dia/dia.h"
#include "formats/ell/ell.h"
#include "formats/hyb/hyb.h"
#include "formats/hybrid/hybrid.h"
#include "formats/xcache/xcache.h"
#include "formats/spc5/spc5.h"
#include "formats/csell_sym/csell_sym.h"
#include "formats/sell16/sell16.h"
#include "formats/sell/sell.h"
#include "formats/sss/sss.h"
#include "formats/csb_interleaved/csb_interleaved.h"
#include <ctype.h>

enum { ROWS = 8, LONGEST_TEXT = 1 << 15, REPEATED = 8 };

static const double example[ROWS][ROWS] = {
    {4, 1, 0, 0, 0, 0, 2, 0}, /**/
    {1, 4, 1, 0, 0, 0, 2, 0}, /**/
    {0, 1, 4, 1, 0, 0, 2, 0}, /**/
    {0, 0, 1, 4, 1, 0, 2, 0}, /**/
    {0, 0, 0, 1, 4, 0, 2, 0}, /**/
    {0, 0, 0, 0, 0, 0, 0, 0}, /**/
    {2, 2, 2, 2, 2, 0, 4, 1}, /**/
    {0, 0, 0, 0, 0, 0, 1, 4}, /**/
};

/* A member of a store, a scalar or a pointer to an array, and the fields of an element in order:
 * q, i int64_t, int32_t; I, H, B uint32_t, uint16_t, uint8_t; d double; p two halves of 32 bits;
 * c column << 4 | row; m, M the bits of a uint8_t, uint32_t, lowest first. */
typedef struct member {
    const char *format, *name;
    size_t offset;
    const char *fields;
    int unset; /* uint16_t at its end that the builder leaves as they are */
} member;
#define MEMBER(format, type, name, fields) \
    { format, #name, offsetof(type, name), fields, 0 }
static const member members[] = {
    MEMBER("csr", csr, row_ptr, "i"),
    MEMBER("csr", csr, col_idx, "i"),
    MEMBER("csr", csr, values, "d"),
    MEMBER("ell", ell, width, "q"),
    MEMBER("ell", ell, col_idx, "i"),
    MEMBER("ell", ell, values, "d"),
    MEMBER("ell", ell, row_len, "i"),
    MEMBER("dia", dia, pitch, "q"),
    MEMBER("dia", dia, inside, "q"),
    MEMBER("dia", dia, offsets, "i"),
    MEMBER("dia", dia, values, "d"),
    MEMBER("sell", sell, slice_ptr, "i"),
    MEMBER("sell", sell, row_len, "i"),
    MEMBER("sell", sell, perm, "i"),
    MEMBER("sell", sell, col_idx, "i"),
    MEMBER("sell", sell, values, "d"),
    MEMBER("bsr", bsr, block_ptr, "i"),
    MEMBER("bsr", bsr, first_col, "i"),
    MEMBER("bsr", bsr, values, "d"),
    MEMBER("cmrs", cmrs, strip_ptr, "i"),
    MEMBER("cmrs", cmrs, packed, "c"),
    MEMBER("cmrs", cmrs, values, "d"),
    MEMBER("hybrid", hybrid, ell_col, "i"),
    MEMBER("hybrid", hybrid, ell_values, "d"),
    MEMBER("hybrid", hybrid, rest_col, "i"),
    MEMBER("hybrid", hybrid, rest_values, "d"),
    MEMBER("hybrid", hybrid, start, "i"),
    MEMBER("hybrid", hybrid, end, "i"),
    MEMBER("hybrid", hybrid, row_len, "i"),
    MEMBER("coo", sorted_coo, row_idx, "i"),
    MEMBER("coo", sorted_coo, col_idx, "i"),
    MEMBER("coo", sorted_coo, values, "d"),
    MEMBER("hyb", hyb, pitch, "q"),
    MEMBER("hyb", hyb, ell_col, "i"),
    MEMBER("hyb", hyb, ell_values, "d"),
    MEMBER("hyb", hyb, tail_row, "i"),
    MEMBER("hyb", hyb, tail_col, "i"),
    MEMBER("hyb", hyb, tail_values, "d"),
    MEMBER("csb", csb, block_ptr, "i"),
    MEMBER("csb", csb, local, "p"),
    MEMBER("csb", csb, values, "d"),
    MEMBER("sss", sss, sign, "i"),
    MEMBER("sss", sss, row_ptr, "i"),
    MEMBER("sss", sss, distance, "H"),
    MEMBER("sss", sss, values, "d"),
    MEMBER("spc5", spc5, block_ptr, "i"),
    MEMBER("spc5", spc5, value_ptr, "i"),
    MEMBER("spc5", spc5, first_col, "i"),
    MEMBER("spc5", spc5, mask, "m"),
    MEMBER("spc5", spc5, values, "d"),
    MEMBER("csell", csell, slice, "qqqiBBBB"),
    MEMBER("csell", csell, step, "iM"),
    MEMBER("csell", csell, columns, "B"),
    MEMBER("csell", csell, values, "B"),
    MEMBER("csell", csell, codebook, "d"),
    MEMBER("csell", csell, long_row, "i"),
    MEMBER("csell", csell, long_ptr, "i"),
    MEMBER("csell", csell, long_col, "i"),
    MEMBER("csell", csell, long_values, "d"),
    MEMBER("csell_sym", csell, sign, "i"),
    MEMBER("csell_sym", csell, slice, "qqqiBBBB"),
    MEMBER("csell_sym", csell, step, "iM"),
    MEMBER("csell_sym", csell, columns, "B"),
    MEMBER("csell_sym", csell, values, "B"),
    MEMBER("csell_sym", csell, codebook, "d"),
    MEMBER("csell_sym", csell, long_row, "i"),
    MEMBER("csell_sym", csell, long_ptr, "i"),
    MEMBER("csell_sym", csell, long_col, "i"),
    MEMBER("csell_sym", csell, long_values, "d"),
    MEMBER("sell16", sell16_slices, value_code, "i"),
    MEMBER("sell16", sell16_slices, slice, "qqiiii"),
    MEMBER("sell16", sell16_slices, perm, "H"),
    MEMBER("sell16", sell16_slices, length, "i"),
    {"sell16", "columns", offsetof(sell16_slices, columns), "H", 5},
    MEMBER("sell16", sell16_slices, values, "B"),
    MEMBER("sell16", sell16_slices, codebook, "d"),
    MEMBER("csb_interleaved", csb_interleaved, value_code, "i"),
    MEMBER("csb_interleaved", csb_interleaved, first_row, "i"),
    MEMBER("csb_interleaved", csb_interleaved, block_ptr, "i"),
    MEMBER("csb_interleaved", csb_interleaved, local, "p"),
    MEMBER("csb_interleaved", csb_interleaved, values, "B"),
    MEMBER("csb_interleaved", csb_interleaved, codebook, "d"),
    MEMBER("csr5", csr5, row_ptr, "i"),
    MEMBER("csr5", csr5, tile_ptr, "i"),
    MEMBER("csr5", csr5, tile_desc, "M"),
    MEMBER("csr5", csr5, empty_ptr, "i"),
    MEMBER("csr5", csr5, empty_offset, "i"),
    MEMBER("csr5", csr5, col_idx, "i"),
    MEMBER("csr5", csr5, values, "d"),
    MEMBER("xcache", xcache_rows, value_code, "i"),
    MEMBER("xcache", xcache_rows, block, "qqqqiiiiiiii"),
    MEMBER("xcache", xcache_rows, slice, "I"),
    MEMBER("xcache", xcache_rows, cuts, "p"),
    MEMBER("xcache", xcache_rows, order, "H"),
    MEMBER("xcache", xcache_rows, length, "B"),
    MEMBER("xcache", xcache_rows, need, "H"),
    MEMBER("xcache", xcache_rows, place, "H"),
    MEMBER("xcache", xcache_rows, values, "B"),
    MEMBER("xcache", xcache_rows, codebook, "d"),
};

/* The parameters that are drawn; the others have their defaults. */
static const struct {
    const char *format;
    spmv_param_id id;
    int64_t value;
} settings[] = {
    {"sell", SPMV_slice, 4},           {"sell", SPMV_sigma, 8},    {"bsr", SPMV_shape_rows, 2},
    {"bsr", SPMV_shape_cols, 2},       {"cmrs", SPMV_height, 4},   {"cmrs", SPMV_sorted, 0},
    {"hybrid", SPMV_boundary, 3},      {"hyb", SPMV_boundary, 3},  {"csb", SPMV_tile, 4},
    {"spc5", SPMV_height, 2},          {"csell", SPMV_cut, 6},     {"sell16", SPMV_sigma, 8},
    {"csb_interleaved", SPMV_tile, 8}, {"xcache", SPMV_height, 8}, {"xcache", SPMV_cut, 4},
    {"csr5", SPMV_lanes, 4},           {"csr5", SPMV_height, 2},
};

static spmv_choice choice_of(const spmv_format *format) {
    spmv_choice c = {{0}};
    for (const spmv_param *p = format->params; p->id != SPMV_NPARAMS; p++)
        c.value[p->id] = p->default_value;
    for (size_t k = 0; k < sizeof settings / sizeof *settings; k++)
        if (strcmp(settings[k].format, format->name) == 0)
            c.value[settings[k].id] = settings[k].value;
    return c;
}

/* ---- what is to be drawn -------------------------------------------------------------------- */

typedef struct letters {
    char at[LONGEST_TEXT];
    int length;
} letters;

static void add(letters *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->length +=
        vsnprintf(t->at + t->length, (size_t)(LONGEST_TEXT - t->length), format, arguments);
    va_end(arguments);
    assert_true(t->length < LONGEST_TEXT);
}

static void add_bits(letters *t, uint32_t bits) {
    assert_true(bits < 1 << ROWS);
    for (int k = 0; k < ROWS; k++) add(t, "%c", bits >> k & 1 ? '1' : '.');
}

/* A field of an element; how many bytes it has. */
static size_t add_field(letters *t, char kind, const uint8_t *from) {
    uint64_t u = 0;
    double d;
    const size_t bytes = strchr("qd", kind) ? 8 : kind == 'H' ? 2 : strchr("Bm", kind) ? 1 : 4;
    memcpy(&u, from, bytes);
    memcpy(&d, &u, sizeof d);
    switch (kind) {
    case 'q': add(t, "%lld", (long long)(int64_t)u); break;
    case 'i': add(t, "%d", (int)(int32_t)(uint32_t)u); break;
    case 'd': add(t, "%g", d); break;
    case 'p': add(t, "%u,%u", (unsigned)(u >> 16), (unsigned)(u & 0xffff)); break;
    case 'c': add(t, "%u,%u", (unsigned)(u >> CMRS_ROW_BITS), (unsigned)(u % CMRS_HIGHEST)); break;
    case 'm':
    case 'M': add_bits(t, (uint32_t)u); break;
    default: add(t, "%u", (unsigned)u);
    }
    return bytes;
}

/* The elements up to end, REPEATED or more equal ones as "(40 of 0)". */
static void add_elements(letters *t, const char *kinds, const uint8_t *from, const uint8_t *end) {
    while (from < end) {
        letters element = {.length = 0};
        const uint8_t *next = from;
        for (const char *f = kinds; *f; f++) {
            if (f != kinds) add(&element, " ");
            next += add_field(&element, *f, next);
        }
        const size_t size = (size_t)(next - from);
        int n = 1;
        while (next + size <= end && memcmp(next, from, size) == 0) n++, next += size;
        if (n >= REPEATED) add(t, " (%d of %s)", n, element.at);
        for (int k = 0; n < REPEATED && k < n; k++) add(t, " %s", element.at);
        from = next;
    }
}

static void add_member(letters *t, const member *m, const spmv_store *store) {
    const uint8_t *at = (const uint8_t *)store + m->offset;
    size_t bytes = m->fields[0] == 'q' ? sizeof(int64_t) : sizeof(int);
    for (int k = 0; k < store->narrays; k++)
        if (store->array[k].offset == m->offset) {
            memcpy(&at, (const char *)store + m->offset, sizeof at);
            bytes = store->array[k].bytes;
        }
    add(t, "%s", m->name);
    add_elements(t, m->fields, at, at + bytes - (size_t)m->unset * sizeof(uint16_t));
}

/* ---- what is drawn -------------------------------------------------------------------------- */

/* The header without what frames it: the comment's stars, bars, more than one blank. */
static void read_header(const char *format, letters *t) {
    char path[100];
    snprintf(path, sizeof path, "src/formats/%s/%s.h", format, format);
    FILE *file = fopen(path, "r");
    if (!file) fail_msg("%s: run the tests in the folder of the sources", path);
    t->length = 0;
    for (int c, before = ' '; (c = fgetc(file)) != EOF;) {
        if (c == '*' || c == '|' || isspace(c)) c = ' ';
        if (c != ' ' || before != ' ') add(t, "%c", c);
        before = c;
    }
    fclose(file);
}

/* Whether it stands there and no number follows. */
static bool is_drawn(const letters *header, const letters *line) {
    for (const char *at = header->at; (at = strstr(at, line->at)); at++) {
        const char *behind = at + line->length;
        if (at > header->at && at[-1] != ' ') continue;
        if (behind[0] == ' ' && !isdigit(behind[1]) && !strchr("-(.", behind[1])) return true;
    }
    return false;
}

static void check_line(const char *format, const letters *header, const letters *line) {
    if (getenv("SPMV_DRAW"))
        print_message("%s\n", line->at);
    else if (!is_drawn(header, line))
        fail_msg("src/formats/%s/%s.h does not draw: %s", format, format, line->at);
}

static void check_format(const spmv_format *format, const spmv_csr_view *A) {
    static letters header, line;
    spmv_store *store = NULL;
    const spmv_choice c = choice_of(format);
    int arrays = 0;
    assert_int_equal(format->build(ctx, A, &c, 2, &store), SPMV_OK);
    read_header(format->name, &header);
    if (getenv("SPMV_DRAW")) print_message("---- %s\n", format->name);
    for (size_t k = 0; k < sizeof members / sizeof *members; k++) {
        if (strcmp(members[k].format, format->name) != 0) continue;
        for (int a = 0; a < store->narrays; a++)
            arrays += store->array[a].offset == members[k].offset;
        line.length = 0;
        add_member(&line, members + k, store);
        check_line(format->name, &header, &line);
    }
    if (arrays != store->narrays)
        fail_msg("%s has %d arrays, %d have a MEMBER in test_drawings.c", format->name,
                 store->narrays, arrays);
    spmv_store_free(store);
}

static spmv_mat *load_example(void) {
    entries e = {.rows = ROWS, .cols = ROWS};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            if (example[i][j] != 0) add_entry(&e, i, j, example[i][j]);
    spmv_mat *mat = matrix_of(ctx, &e);
    entries_free(&e);
    return mat;
}

static void headers_draw_what_is_built(void **state) {
    spmv_csr_view A;
    (void)state;
    spmv_mat *mat = load_example();
    spmv_mat_rows(mat, &A);
    for (int k = 0; k < spmv_format_count(); k++) check_format(spmv_format_at(k, SPMV_F64_O32), &A);
    spmv_mat_free(mat);
}

static void the_example_is_shown(void **state) {
    static letters header, line;
    (void)state;
    read_header("csr", &header);
    for (int i = 0; i < ROWS; i++) {
        line.length = 0;
        add(&line, "%d", i);
        for (int j = 0; j < ROWS; j++)
            if (example[i][j] == 0)
                add(&line, " .");
            else
                add(&line, " %g", example[i][j]);
        if (!strstr(header.at, line.at)) fail_msg("csr.h does not show row %s", line.at);
    }
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_example_is_shown),
        cmocka_unit_test(headers_draw_what_is_built),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
