/* test_drawings.c: what each format's header draws is what its builder makes of the example matrix,
 * which formats/csr/csr.h shows. The numbers of each array must agree; line breaks and bars between
 * them do not count. SPMV_DRAW=1 prints what is to be drawn. */
#include "context.h"
#include "stores.h"
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
    case 'x': add(t, "0x%08x", (unsigned)u); break;
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
    add_elements(t, m->fields, at, at + bytes);
}

/* ---- what is drawn -------------------------------------------------------------------------- */

/* The header without what frames it: the comment's stars, bars, more than one blank. */
static void read_header(const char *format, letters *t) {
    char path[100];
    snprintf(path, sizeof path, "src/formats/%s/%s.h", format, format);
    FILE *file = fopen(path, "r");
    if (!file) { /* one that only kernels of papers read */
        snprintf(path, sizeof path, "src/formats/papers/%s/%s.h", format, format);
        file = fopen(path, "r");
    }
    if (!file) fail_msg("%s: run the tests in the folder of the sources", path);
    t->length = 0;
    for (int c, before = ' '; (c = fgetc(file)) != EOF;) {
        if (c == '*' || c == '|' || isspace(c)) c = ' ';
        if (c != ' ' || before != ' ') add(t, "%c", c);
        before = c;
    }
    fclose(file);
}

/* Says whether it stands there and no number follows. */
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
        fail_msg("%s.h does not draw: %s", format, line->at);
}

static void check_format(const spmv_format *format, const spmv_csr_view *A) {
    static letters header, line;
    FREED(spmv_store) *store = NULL;
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
}

static spmv_mat *load_example(void) {
    FREED(entries) e = {.rows = ROWS, .cols = ROWS};
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
            if (example[i][j] != 0) add_entry(&e, i, j, example[i][j]);
    spmv_mat *mat = matrix_of(ctx, &e);
    return mat;
}

TEST(headers_draw_what_is_built) {
    FREED(spmv_mat) *mat = load_example();
    spmv_csr_view A = rows_of(mat);
    for (int k = 0; k < spmv_format_count(); k++) check_format(spmv_format_at(k, SPMV_F64_O32), &A);
}

TEST(the_example_is_shown) {
    static letters header, line;
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

TEST_MAIN(wait_without_spinning, open_context, close_context)
