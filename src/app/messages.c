/* talk.c: messages on stderr, wrapped to the width of the terminal. */
#include "messages.h"
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Returns the bytes of the control character that s begins with, which a terminal could obey:
 * ASCII's, and in UTF-8 those from U+0080; 0: none. */
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

void write_word(const char *word, FILE *out) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-_=+,.:/%@";
    const char *quote = !*word || word[strspn(word, plain)] ? "'" : "";
    fputs(quote, out);
    while (*word) {
        int bytes = control_bytes(word);
        if (!bytes) fprintf(out, *word == '\'' ? "'\\%c'" : "%c", *word), word++;
        for (; bytes; bytes--) fprintf(out, "'$'\\x%02X''", (unsigned char)*word++);
    }
    fputs(quote, out);
}

/* ---- names of this program ------------------------------------------------------------------ */

static bool here; /* the program was typed as ./spmv */

void talk_as(const char *typed) {
    here = strcmp(typed, "./spmv") == 0;
}

const char *program_typed(void) {
    return here ? "./spmv" : "spmv";
}

/* Replaces 'spmv in quoted commands by './spmv if the program was typed so. Frees words; the caller
 * frees the result. NULL: out of memory. */
static char *as_typed(char *words) {
    static const char name[] = "'spmv ";
    char *out = NULL;
    size_t size;
    FILE *file = here ? open_memstream(&out, &size) : NULL;
    if (!file) return words;
    for (const char *rest = words, *at; *rest; rest = at + strlen(name)) {
        at = strstr(rest, name);
        if (!at) {
            fputs(rest, file);
            break;
        }
        fprintf(file, "%.*s'./spmv ", (int)(at - rest), rest);
    }
    bool written = fclose(file) == 0;
    free(words);
    if (!written) free(out);
    return written ? out : NULL;
}

/* ---- talk ----------------------------------------------------------------------------------- */

/* Counts the bytes that move the cursor and clear its line, as a progress line begins and ends. */
static size_t cursor_bytes(const char *s) {
    size_t n = *s == '\r';
    return n + (strncmp(s + n, "\033[K", 3) == 0 ? 3 : 0);
}

static size_t cursor_bytes_at_end(const char *s, size_t length) {
    if (length >= 3 && strcmp(s + length - 3, "\033[K") == 0) return 3;
    return length && s[length - 1] == '\r';
}

/* Prints one line, broken at blanks where the terminal ends; one that four blanks begin is a
 * command to type. Written at once: other processes may write there, too. */
static void print_line(const char *words) {
    enum { COMMAND = 4 };
    size_t room = 4 * strlen(words) + 16, lead = strspn(words, " "), size;
    char *spelt = malloc(room), *out = NULL;
    FILE *file = spelt ? open_memstream(&out, &size) : NULL;
    if (file) {
        spell(words + lead, spelt, room);
        const int width = page_width(stderr, NO_LIMIT);
        if (lead < COMMAND) fprintf(file, "%*s", (int)lead, "");
        if (lead < COMMAND)
            print_wrapped(file, width, (int)lead, (int)lead + 2, spelt);
        else
            print_command(file, width, (int)lead, spelt);
        if (fclose(file) == 0) fputs(out, stderr);
    }
    free(out);
    free(spelt);
}

/* Prints what the next piece of progress overwrites, as far as it fits into one line. */
static void print_progress(char *words) {
    size_t length = strlen(words), after = cursor_bytes_at_end(words, length),
           room = 4 * length + 16;
    char *spelt = malloc(room), *end = words + length - after, kept = *end;
    if (!spelt) return;
    *end = 0;
    spell(words, spelt, room);
    *end = kept;
    fprintf(stderr, "%.*s%s", page_width(stderr, NO_LIMIT) - 1, spelt, end);
    free(spelt);
}

static bool muted;
static char kept[512]; /* the last line while muted */

static volatile sig_atomic_t is_over; /* a handler of signals asks */

void talk_end(void) {
    is_over = 1;
}

bool talk_is_over(void) {
    return is_over;
}

void talk_mute(bool mute) {
    muted = mute;
}

const char *talk_kept(void) {
    return kept;
}

/* Appends a piece to the current line, which is printed when a piece ends with a newline. */
static void print_piece(const char *words) {
    static char *line; /* the pieces so far */
    char *longer = NULL;
    size_t length = strlen(words), ended = length && words[length - 1] == '\n';
    if (asprintf(&longer, "%s%.*s", line ? line : "", (int)(length - ended), words) < 0) return;
    free(line);
    line = longer;
    if (!ended) return;
    if (muted)
        snprintf(kept, sizeof kept, "%s", line);
    else
        print_line(line);
    free(line);
    line = NULL;
}

/* Messages may contain names of files and parts of their content. */
void say(const char *format, ...) {
    va_list args;
    char *words = NULL;
    va_start(args, format);
    int length = vasprintf(&words, format, args);
    va_end(args);
    if (length >= 0) words = as_typed(words);
    if (length < 0 || !words) return;
    size_t before = cursor_bytes(words);
    if (!muted) fprintf(stderr, "%.*s", (int)before, words);
    if (before && words[strlen(words) - 1] != '\n') {
        if (!muted) print_progress(words + before);
    } else {
        print_piece(words + before);
    }
    free(words);
}

void say_note(const char *note, bool quiet) {
    const char *line = note;
    for (size_t n; !quiet && *line; line += n + (line[n] == '\n')) {
        n = strcspn(line, "\n");
        say("  note: %.*s\n", (int)n, line);
    }
}

const char *in_options(const char *said) {
    static const struct {
        const char *member, *option;
    } of[] = {{"max_bytes=", "--max-mem="}, {"offset_bits=", "--index="}};
    static _Thread_local char out[1200];
    size_t n = 0;
    while (*said && n + 16 < sizeof out) {
        size_t k = 0;
        while (k < sizeof of / sizeof *of && strncmp(said, of[k].member, strlen(of[k].member)) != 0)
            k++;
        if (k == sizeof of / sizeof *of) {
            out[n++] = *said++;
        } else {
            n += (size_t)snprintf(out + n, sizeof out - n, "%s", of[k].option);
            said += strlen(of[k].member);
        }
    }
    out[n] = 0;
    return out;
}

int complain(spmv_status status, const char *what) {
    say("spmv: %s\n", what && *what ? in_options(what) : spmv_strerror(status));
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
static int columns_in(const char *s, size_t n) {
    int columns = 0;
    for (size_t k = 0; k < n; k++) columns += ((unsigned char)s[k] & 0xc0) != 0x80;
    return columns;
}

int columns_of(const char *s) {
    return columns_in(s, strlen(s));
}

void print_wrapped(FILE *file, int width, int column, int indent, const char *words) {
    bool first = true; /* no word of the line was printed */
    while (*words) {
        size_t blanks = strspn(words, " "), n = strcspn(words + blanks, " ");
        int word = columns_in(words + blanks, n), gap = first && column <= indent ? 0 : (int)blanks;
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

void printf_wrapped(FILE *file, int indent, const char *format, ...) {
    va_list args;
    char *words = NULL;
    va_start(args, format);
    const int length = vasprintf(&words, format, args);
    va_end(args);
    if (length < 0) return;
    const int lead = fprintf(file, "%*s", (int)strspn(words, " "), "");
    print_wrapped(file, page_width(file, NO_LIMIT), lead, lead + indent, words + lead);
    free(words);
}

/* Returns the bytes of the word that s begins with, in which quotes may hold blanks. */
static size_t shell_word(const char *s) {
    bool quoted = false;
    size_t n = 0;
    for (; s[n] && (quoted || s[n] != ' '); n++) {
        if (s[n] == '\'') quoted = !quoted;
        if (!quoted && s[n] == '\\' && s[n + 1]) n++;
    }
    return n;
}

void print_command(FILE *file, int width, int indent, const char *words) {
    int column = fprintf(file, "%*s", indent, ""), margin = indent;
    while (*words) {
        const size_t blanks = strspn(words, " "), n = shell_word(words + blanks);
        const bool comment = words[blanks] == '#', last = !words[blanks + n];
        const char *end = words + blanks + (comment ? strlen(words + blanks) : n);
        const int gap = column > margin ? (int)blanks : 0,
                  needed = gap + columns_in(words + blanks, (size_t)(end - words) - blanks);
        /* A line that goes on needs room for its backslash. */
        if (column > margin && column + needed + (comment || last ? 0 : 2) > width) {
            fprintf(file, "%s\n", comment ? "" : " \\");
            margin = comment ? indent : indent + 2;
            column = fprintf(file, "%*s", margin, "");
            continue;
        }
        fprintf(file, "%*s%.*s", gap, "", (int)(end - words) - (int)blanks, words + blanks);
        column += needed;
        words = end;
    }
    fputc('\n', file);
}

void duration_text(double least, double most, char out[DURATION]) {
    if (round(most) == 0)
        snprintf(out, DURATION, "less than 1 s");
    else if (round(least) == round(most))
        snprintf(out, DURATION, "about %.0f s", most);
    else if (round(least) == 0)
        snprintf(out, DURATION, "at most %.0f s", most);
    else
        snprintf(out, DURATION, "%.0f to %.0f s", least, most);
}
