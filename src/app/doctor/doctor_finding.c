/* doctor_finding.c: the words of a finding. */
#include "app/messages.h"
#include "doctor.h"
#include <stdarg.h>
#include <stdio.h>

void tell(finding *out, level how, const char *format, ...) {
    va_list args;
    char found[sizeof out->found];
    va_start(args, format);
    out->level = how;
    vsnprintf(found, sizeof found, format, args);
    va_end(args);
    spell(found, out->found, sizeof out->found); /* values of the environment among them */
}

void advise(finding *out, const char *why, const char *format, ...) {
    va_list args;
    va_start(args, format);
    snprintf(out->why, sizeof out->why, "%s", why);
    vsnprintf(out->what, sizeof out->what, format, args);
    va_end(args);
}
