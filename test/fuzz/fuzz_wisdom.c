/* fuzz_wisdom.c: arbitrary bytes as a wisdom file. Every second input gets the first line and valid
 * checksums, so that the later checks are reached. A choice is added; it must be found then, unless
 * the file is refused. */
#include "fuzz.h"
#include "wisdom/wisdom.h"

static const char first_line[] =
    "spmv-wisdom/1: date, request, machine, build, choice, reason, checksum\n";
static const wisdom_key key = {"request", "machine", "build"};

/* Writes the line with its checksum. */
static void put_line(FILE *out, const char *line, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t k = 0; k < n; k++) h = (h ^ (unsigned char)line[k]) * 0x100000001b3u;
    fwrite(line, 1, n, out);
    fprintf(out, "\t%08x\n", (unsigned)(spmv_mix(h) >> 32));
}

static void require_text(const char *text) { /* a terminal shows it */
    for (; *text; text++) require(*text >= ' ' && *text <= '~');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char note[SPMV_WISDOM_NOTE], *text = NULL;
    size_t bytes;
    wisdom found;
    if (size < 1) return 0;
    FILE *out = open_memstream(&text, &bytes);
    require(out != NULL);
    const char *rest = (const char *)data + 1, *end = (const char *)data + size;
    if (*data % 2) {
        fputs(first_line, out);
        while (rest < end) {
            const char *line_end = memchr(rest, '\n', (size_t)(end - rest));
            if (!line_end) line_end = end;
            put_line(out, rest, (size_t)(line_end - rest));
            rest = line_end + 1;
        }
    } else
        fwrite(rest, 1, (size_t)(end - rest), out);
    fclose(out);
    const char *path = file_with((const uint8_t *)text, bytes);
    free(text);
    if (spmv_wisdom_find(path, &key, &found, note)) {
        require_text(found.date);
        require_text(found.reason);
        require(found.choice.kernel && found.choice.threads >= 0);
    }
    free(found.text);
    spmv_proposal choice = {.kernel = "csr_rows", .threads = 3};
    spmv_wisdom_add(path, &key, &choice, "because", note);
    if (!note[0]) {
        require(spmv_wisdom_find(path, &key, &found, note));
        require(strcmp(found.choice.kernel, "csr_rows") == 0 && found.choice.threads == 3 &&
                strcmp(found.reason, "because") == 0);
        free(found.text);
    }
    return 0;
}
