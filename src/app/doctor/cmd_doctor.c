/* cmd_doctor.c: spmv doctor: what on this machine makes times slow, noisy or hard to compare, and
 * what to type. */
#include "app/exit_codes.h"
#include "app/messages.h"
#include "app/options/options.h"
#include "app/record/record.h"
#include "app/record/write_csv.h"
#include "app/record/write_jsonl.h"
#include "doctor.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cmd_doctor(const options *o, const spmv_backend *backend);

typedef struct doctor_record {
#define FIELD(type, name, key, unit, help) type name;
#include "doctor.def"
#undef FIELD
} doctor_record;

static const field table[] = {
#define FIELD(type, name, key, unit, help) \
    {TYPE_##type, offsetof(doctor_record, name), key, unit, help},
#include "doctor.def"
#undef FIELD
};
static const fields doctor_fields = {table, sizeof table / sizeof *table};

static const char *const level_names[] = {"ok", "note", "warning"};

static void print_finding(FILE *file, const char *name, const finding *f, bool color) {
    static const char *const colors[] = {"", "\033[1m", "\033[1;31m"};
    enum { FOUND = 23, WHY = 12 }; /* columns where the texts begin */
    int width = page_width(file, PAGE_WIDTH);
    fprintf(file, "  %-11s %s%-8s%s ", name, color ? colors[f->level] : "", level_names[f->level],
            color ? "\033[0m" : "");
    print_wrapped(file, width, FOUND, FOUND, f->found);
    if (*f->why) {
        fprintf(file, "%*s", WHY, "why:  ");
        print_wrapped(file, width, WHY, WHY, f->why);
    }
    if (!*f->what) return;
    /* What to type stays in one line, to be copied; the remark after it may go into the next. */
    const char *remark = strstr(f->what, "   # ");
    size_t typed = remark ? (size_t)(remark - f->what) : strlen(f->what);
    fprintf(file, "%*s%.*s", WHY, "type: ", (int)typed, f->what);
    if (remark && WHY + strlen(f->what) > (size_t)width)
        fprintf(file, "\n%*s%s", WHY, "", remark + 3);
    else if (remark)
        fputs(remark, file);
    fputc('\n', file);
}

static int show(FILE *file, const options *o, const doctor_facts *facts, const check *c,
                const finding *f, int shown) {
    doctor_record r = {.schema = "spmv-doctor/1",
                       .time = facts->host.time,
                       .host_name = *facts->host.hostname ? facts->host.hostname : NULL,
                       .check = c->name,
                       .level = level_names[f->level],
                       .found = f->found,
                       .why = *f->why ? f->why : NULL,
                       .what = *f->what ? f->what : NULL};
    if (strcmp(o->format, "table") == 0) {
        print_finding(file, c->name, f, o->color && file == stdout);
        return 0;
    }
    if (strcmp(o->format, "json") == 0) return json_item(file, doctor_fields, &r, shown);
    if (strcmp(o->format, "csv") == 0) {
        csv_write(file, doctor_fields, &r, c == doctor_checks);
        return 0;
    }
    return jsonl_print(file, doctor_fields, &r);
}

static int show_all(FILE *file, const options *o, const doctor_facts *facts) {
    int code = 0, shown = 0, count[3] = {0};
    for (const check *c = doctor_checks; c->name && !code; c++) {
        finding found = {.level = LEVEL_OK};
        c->look(facts, &found);
        if (!*found.found) continue;
        count[found.level]++;
        code = show(file, o, facts, c, &found, shown++);
    }
    if (!code && strcmp(o->format, "json") == 0) json_end(file, shown);
    if (!code && strcmp(o->format, "table") == 0)
        fprintf(file, "warnings: %d, notes: %d, ok: %d\n", count[LEVEL_WARNING], count[LEVEL_NOTE],
                count[LEVEL_OK]);
    return code;
}

/* Writes to stdout or to the file of --output. */
static int write_all(const options *o, const doctor_facts *facts) {
    char what[1200];
    if (!o->output_file) return show_all(stdout, o, facts);
    FILE *file = fopen(o->output_file, "w");
    int code = file ? show_all(file, o, facts) : 0;
    bool fine = file && !ferror(file);
    if (file && fclose(file) == 0 && fine) return code;
    snprintf(what, sizeof what, "%s: %s", o->output_file, strerror(errno));
    return complain(SPMV_E_WRITE, what);
}

int cmd_doctor(const options *o, const spmv_backend *backend) {
    spmv_ctx_opts opts = {.size = sizeof opts,
                          .backend = backend->name,
                          .device = o->device,
                          .threads = most_threads(o)};
    spmv_ctx *ctx = NULL;
    if (o->topic) {
        say("spmv: doctor: unexpected argument '%s'\n", o->topic);
        return EXIT_USAGE;
    }
    if (o->measure_limits) return measure_limits(o, backend);
    doctor_facts *facts = malloc(sizeof *facts);
    bool ready = facts && spmv_ctx_create_lazily(&opts, &ctx) == SPMV_OK;
    if (ready) doctor_look_around(o, ctx, facts);
    int code = ready ? write_all(o, facts) : complain(SPMV_E_NOMEM, NULL);
    spmv_ctx_free(ctx);
    free(facts);
    return code;
}
