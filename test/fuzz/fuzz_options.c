/* fuzz_options.c: arbitrary lines as the words of a command line. If the program refuses the words
 * it calls exit(), which the linker replaces by the function below. */
#include "fuzz.h"
#include "app/options/options.h"
#include <setjmp.h>

_Noreturn void __real_exit(int code);
_Noreturn void __wrap_exit(int code);
static jmp_buf refused;
static bool is_parsing;

_Noreturn void __wrap_exit(int code) {
    if (!is_parsing) __real_exit(code);
    require(code == 0 || (code >= 64 && code < 80));
    longjmp(refused, 1);
}

static options o;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    enum { MOST_WORDS = 40 };
    static char text[4096], *words[MOST_WORDS + 2];
    static FILE *nowhere;
    int n = 1;
    if (size > sizeof text - 1) size = sizeof text - 1;
    if (size) memcpy(text, data, size);
    text[size] = 0;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    words[0] = (char[]){"spmv"};
    char *rest = text;
    for (char *word; n <= MOST_WORDS && (word = strsep(&rest, "\n"));) words[n++] = word;
    words[n] = NULL;
    static const char *const commands[] = {"run", "info", "list", "tune", "sweep", "probe"};
    const char *command = NULL;
    for (size_t k = 0; k < sizeof commands / sizeof *commands; k++)
        if (strcmp(words[1], commands[k]) == 0) command = commands[k];
    const int skip = command != NULL;
    o = (options){.command = NULL};
    is_parsing = true;
    if (setjmp(refused) == 0) {
        options_parse(n - skip, words + skip, command, &o);
        options_check(&o, command ? command : "run");
        options_write(&o, "log", nowhere);
        rewind(nowhere);
    }
    is_parsing = false;
    options_free(&o);
    return 0;
}
