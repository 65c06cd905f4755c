/* messages.h: what the program says on stderr, and text broken at the width of the terminal. */
#ifndef SPMV_APP_MESSAGES_H
#define SPMV_APP_MESSAGES_H

#include "spmv.h"
#include <stdbool.h>
#include <stdio.h>

enum { NO_LIMIT = 1 << 20, LEAST_WIDTH = 40, PAGE_WIDTH = 80 };
/* Returns the columns of the terminal that file is, else COLUMNS of the environment, else
 * otherwise. */
int page_width(FILE *file, int otherwise);
/* Returns the columns of a text in UTF-8, one for each character. */
int columns_of(const char *s);
/* words and a newline, after `column` columns that are written already; broken at blanks before
 * `width`, and every further line begins after `indent` blanks. */
void print_wrapped(FILE *file, int width, int column, int indent, const char *words);
/* Prints a line, broken where the terminal ends. Blanks before it stay, and every further line
 * begins `indent` blanks behind them. */
void printf_wrapped(FILE *file, int indent, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints a command to type, and a newline: broken before `width` at blanks outside quotes, with the
 * backslash that continues it for a shell; a comment at its end goes to a line of its own. */
void print_command(FILE *file, int width, int indent, const char *words);
/* Writes control characters as \xNN, so that no name of a file commands a terminal; cuts what does
 * not fit. */
void spell(const char *words, char *out, size_t size);
/* Writes a word as it can be typed again: what bash would read otherwise stands in quotes. */
void write_word(const char *word, FILE *out);
/* Sets how this program was called, argv[0]: hints name it so where that is ./spmv. */
void talk_as(const char *typed);
const char *program_typed(void); /* spmv or ./spmv */
/* stdout is for results; everything else goes to stderr through here, spelt. A line is broken at
 * blanks where the terminal ends; one that begins with four of them is a command to type.
 * What begins with a carriage return and ends no line is progress: shown at once, and cut; no line
 * is continued from it. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* From here on say keeps what it would say, until talk_kept asks for it; or no more. */
void talk_mute(bool mute);
/* Nothing is said of a signal from now on: a launcher ends ranks whose failure has been told. */
void talk_end(void);
bool talk_is_over(void);
const char *talk_kept(void); /* the last line that was not said; "": none */
enum { DURATION = 48 };
/* Writes how long something takes at least and at most, in seconds. */
void duration_text(double least, double most, char out[DURATION]);
/* Says the lines of spmv_ctx_note; nothing if quiet. */
void say_note(const char *note, bool quiet);
/* "spmv: TEXT" on stderr; returns the exit code of the status. */
int complain(spmv_status status, const char *text);
/* Returns the library's text with the program's options in place of the members of option structs
 * that they set; good until the thread's next call. */
const char *in_options(const char *text);

#endif
