/* talk.c: what the program says beside its results, and how wide. */
#include "app.h"
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

void say(const char *format, ...) {
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
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
