/* json.c: finds members of a small JSON text; reads no further than its end if it is no JSON. */
#include "io/formats.h"
#include <errno.h>
#include <stdlib.h>

static const char *skip_space(const char *p) {
    while (*p == ' ' || *p == '\t' || *p == '\n' || *p == '\r') p++;
    return p;
}

/* Returns the end of the string that begins at p; NULL: it has none. */
static const char *skip_string(const char *p) {
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && !*++p) return NULL;
    return *p ? p + 1 : NULL;
}

/* Returns the end of the value at p; NULL: it has none. */
static const char *skip_value(const char *p) {
    int depth = 0;
    for (p = skip_space(p); *p;) {
        if (depth == 0 && (*p == ',' || *p == '}' || *p == ']')) return p;
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
        p = *p == '"' ? skip_string(p) : p + 1;
        if (!p) return NULL;
    }
    return depth == 0 ? p : NULL;
}

const char *spmv_json_member(const char *object, const char *key) {
    const char *p = object ? skip_space(object) : "";
    const size_t length = strlen(key);
    if (*p != '{') return NULL;
    for (p = skip_space(p + 1); *p == '"';) {
        const char *name = p + 1, *end = skip_string(p);
        if (!end) return NULL;
        p = skip_space(end);
        if (*p != ':') return NULL;
        if ((size_t)(end - 1 - name) == length && memcmp(name, key, length) == 0)
            return skip_space(p + 1);
        p = skip_value(p + 1);
        if (!p || *p != ',') return NULL;
        p = skip_space(p + 1);
    }
    return NULL;
}

const char *spmv_json_element(const char *list, int k) {
    const char *p = list ? skip_space(list) : "";
    if (*p != '[') return NULL;
    for (p = skip_space(p + 1); k > 0; k--) {
        p = skip_value(p);
        if (!p || *p != ',') return NULL;
        p = skip_space(p + 1);
    }
    return *p && *p != ']' ? p : NULL;
}

bool spmv_json_string(const char *value, char *text, size_t size) {
    const char *end = value && *value == '"' ? skip_string(value) : NULL;
    const size_t n = end ? (size_t)(end - value) - 2 : size;
    if (n >= size || memchr(value, '\\', n)) return false;
    memcpy(text, value + 1, n);
    text[n] = 0;
    return true;
}

bool spmv_json_integer(const char *value, int64_t *out) {
    char *end;
    if (!value || !strchr("-0123456789", *value)) return false;
    errno = 0;
    *out = strtoll(value, &end, 10);
    end = (char *)(uintptr_t)skip_space(end);
    return errno == 0 && end > value && (*end == 0 || strchr(",]}", *end));
}
