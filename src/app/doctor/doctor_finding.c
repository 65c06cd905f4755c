/* doctor_finding.c: the words of a finding. */
#include "doctor.h"
#include <stdarg.h>

void tell(finding *out, level how, const char *format, ...) {
    va_list args;
    va_start(args, format);
    out->level = how;
    vsnprintf(out->found, sizeof out->found, format, args);
    va_end(args);
}

void advise(finding *out, const char *why, const char *format, ...) {
    va_list args;
    va_start(args, format);
    snprintf(out->why, sizeof out->why, "%s", why);
    vsnprintf(out->what, sizeof out->what, format, args);
    va_end(args);
}
