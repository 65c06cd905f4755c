/* talk.c: what the program says beside its results, and how wide. */
#include "app.h"
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Bytes of the control character that s begins with, which a terminal could obey: ASCII's, and in
 * UTF-8 those from U+0080; 0: none. */
static int control_bytes(const char *s) {
    unsigned char c = (unsigned char)s[0], next = (unsigned char)(c ? s[1] : 0);
    if (c == 0xc2 && next >= 0x80 && next < 0xa0) return 2;
    return (c && c < 0x20) || c == 0x7f;
}

void spell(const char *words, char *out, size_t size) {
    enum { MOST = 8 }; /* columns of \xC2\x9B */
    size_t n = 0;
    while (*words && n + MOST < size) {
        int bytes = control_bytes(words);
        if (!bytes) out[n++] = *words++;
        for (; bytes; bytes--)
            n += (size_t)snprintf(out + n, size - n, "\\x%02X", (unsigned char)*words++);
    }
    out[n] = 0;
}

/* Before and after what is said: the program's own, which move the cursor and clear the line. */
static size_t cursor_bytes(const char *s) {
    size_t n = *s == '\r';
    return n + (strncmp(s + n, "\033[K", 3) == 0 ? 3 : 0);
}

static size_t cursor_bytes_at_end(const char *s, size_t length) {
    if (length >= 3 && strcmp(s + length - 3, "\033[K") == 0) return 3;
    return length && (s[length - 1] == '\r' || s[length - 1] == '\n');
}

/* What is said may hold names of files and what stands in them. */
void say(const char *format, ...) {
    va_list args;
    char *words = NULL;
    va_start(args, format);
    int length = vasprintf(&words, format, args);
    va_end(args);
    if (length < 0) return;
    size_t before = cursor_bytes(words), room = 4 * (size_t)length + 16;
    size_t after = cursor_bytes_at_end(words + before, (size_t)length - before);
    char *end = words + length - after, *spelt = malloc(room), kept = *end;
    if (spelt) {
        *end = 0;
        spell(words + before, spelt, room);
        *end = kept;
        fprintf(stderr, "%.*s%s%s", (int)before, words, spelt, end);
    }
    free(spelt);
    free(words);
}

int complain(spmv_status status, const char *what) {
    say("spmv: %s\n", what && *what ? what : spmv_strerror(status));
    return spmv_exit_code(status);
}

int page_width(FILE *file, int otherwise) {
    struct winsize window = {0};
    const char *columns = getenv("COLUMNS");
    int width = columns ? atoi(columns) : 0;
    if (isatty(fileno(file)) && ioctl(fileno(file), TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        width = window.ws_col;
    if (width <= 0) return otherwise;
    return width < LEAST_WIDTH ? LEAST_WIDTH : width;
}

/* Characters of n bytes of UTF-8, each taken for one column. */
static int columns_of(const char *s, size_t n) {
    int columns = 0;
    for (size_t k = 0; k < n; k++) columns += ((unsigned char)s[k] & 0xc0) != 0x80;
    return columns;
}

void print_wrapped(FILE *file, int width, int column, int indent, const char *words) {
    bool first = true; /* of its line */
    while (*words) {
        size_t blanks = strspn(words, " "), n = strcspn(words + blanks, " ");
        int word = columns_of(words + blanks, n), gap = first && column <= indent ? 0 : (int)blanks;
        if (!first && column + gap + word > width) {
            fprintf(file, "\n%*s", indent, "");
            column = indent, gap = 0;
        }
        fprintf(file, "%*s%.*s", gap, "", (int)n, words + blanks);
        column += gap + word;
        first = false;
        words += blanks + n;
    }
    fputc('\n', file);
}
