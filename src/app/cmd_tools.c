/* cmd_tools.c: the commands that read logs or download matrices are Python: tables/report/NAME.py
 * or tables/matrices/NAME.py, beside the executable, where it was built, or where make install put
 * them. This process becomes the interpreter, so that arguments, output and exit code are the
 * script's own. */
#include "cmd_tools.h"
#include "messages.h"
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const places[] = {
    "tables/report",   "../../tables/report",   "../share/spmv/tables/report",
    "tables/matrices", "../../tables/matrices", "../share/spmv/tables/matrices"};

/* The script's path, or false: in none of the places. */
static bool find_script(const char *folder, const char *name, char *out, size_t size) {
    for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
        int length = snprintf(out, size, "%s/%s/%s.py", folder, places[k], name);
        if (length > 0 && (size_t)length < size && access(out, R_OK) == 0) return true;
    }
    return false;
}

int run_tool(const char *name, int argc, char **argv) {
    char folder[PATH_MAX], script[PATH_MAX + 64], interpreter[] = "python3";
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    if (!slash || !find_script(folder, name, script, sizeof script)) {
        say("spmv: %s: cannot find %s.py in ../share/spmv/tables or tables beside this executable: "
            "run spmv from where make install put it, or from its source tree\n",
            name, name);
        return spmv_exit_code(SPMV_E_BACKEND);
    }
    char **words = calloc((size_t)argc + 2, sizeof *words);
    if (!words) return complain(SPMV_E_NOMEM, NULL);
    words[0] = interpreter;
    words[1] = script;
    for (int k = 1; k < argc; k++) words[k + 1] = argv[k];
    setenv("SPMV_PROGRAM", program_typed(), 1); /* what its hints call this program */
    char self[PATH_MAX];
    length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    if (length > 0)
        setenv("SPMV_EXECUTABLE", self, 1); /* the program, which the script may start */
    /* Until the script can answer: tables/report/interrupts.py lets it through. */
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigprocmask(SIG_BLOCK, &held, NULL);
    execvp(interpreter, words);
    int error = errno;
    sigprocmask(SIG_UNBLOCK, &held, NULL);
    free(words);
    say("spmv: %s needs python3: %s. Install it (Debian: apt-get install python3)\n", name,
        strerror(error));
    return spmv_exit_code(SPMV_E_BACKEND);
}
