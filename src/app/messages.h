/* messages.h: what the program says on stderr, and text broken at the width of the terminal. */
#ifndef SPMV_APP_MESSAGES_H
#define SPMV_APP_MESSAGES_H

#include "spmv.h"
#include <stdbool.h>
#include <stdio.h>

enum { NO_LIMIT = 1 << 20, LEAST_WIDTH = 40, PAGE_WIDTH = 80 };
/* Returns the width in columns: the terminal's if the file is one, else COLUMNS of the environment,
 * else `otherwise`. */
int page_width(FILE *file, int otherwise);
/* Returns the width of a text in UTF-8: a column for each character. */
int columns_of(const char *s);
/* Prints words and a newline; `column` columns are already filled. Breaks lines at blanks before
 * `width` and indents further lines by `indent` blanks. */
void print_wrapped(FILE *file, int width, int column, int indent, const char *words);
/* Prints a line, broken at the width of the terminal. Keeps its leading blanks and indents further
 * lines by `indent` blanks more. */
void printf_wrapped(FILE *file, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a shell command and a newline. Breaks it before `width` at blanks outside quotes, with a
 * backslash; a comment at its end goes to a separate line. */
void print_command(FILE *file, int width, int indent, const char *words);
/* Copies a text with control characters, which terminals obey, as \xNN; truncates it to size. */
void spell(const char *words, char *out, size_t size);
/* Writes a word quoted for bash. */
void write_word(const char *word, FILE *out);
/* Sets argv[0]: hints name the program ./spmv if it was typed so. */
void talk_as(const char *typed);
const char *program_typed(void); /* spmv or ./spmv */
/* Prints a message on stderr, with control characters as \xNN; stdout is for results. A line is
 * printed when it is complete, and broken at the width of the terminal; a line with four leading
 * blanks is a command to type. A text with a leading carriage return and no newline is progress: it
 * is printed at once and truncated to the line. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Stops or resumes printing; while muted, only the last line is kept. */
void talk_mute(bool mute);
/* From here on signals cause no message: a launcher ends ranks whose failure was reported. */
void talk_end(void);
bool talk_is_over(void);
const char *talk_kept(void); /* the last line while muted; "": none */
enum { DURATION = 48 };
/* Writes a range of durations in seconds. */
void duration_text(double least, double most, char out[DURATION]);
/* Prints the lines of spmv_ctx_note, unless quiet. */
void say_note(const char *note, bool quiet);
/* Prints "spmv: TEXT" on stderr; NULL: the status's own text. Returns the status's exit code. */
int complain(spmv_status status, const char *text);
/* Returns the library's text with members of option structs replaced by the program's options.
 * Valid until the thread's next call. */
const char *in_options(const char *text);

#endif
