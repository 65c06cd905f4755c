/* test_device_room.c: who builds a store for a device, and what is booked for it: the device from
 * the compressed rows it has, or the host where the device has no room, which is said, and refused
 * in trials. The device is one made here, whose memory is the host's; time on it is what its
 * kernels say. */
#include "context.h"
#include "tune/tune.h"
#include <stdlib.h>

static struct {
    size_t left;            /* bytes it says are free */
    size_t gone;            /* of which, once the builder of SELL failed */
    spmv_status answer;     /* of the builder of SELL */
    bool lost;              /* no launch gets through */
    const spmv_store *rows; /* that the builder was given */
    int asked;              /* how often it was */
    int blocks, most;       /* of memory in use, now and at most */
    size_t first, largest;  /* bytes of a block that was asked for */
    double pause_s, paused; /* a look at what is free takes; all of them took */
    double now, started;    /* its clock */
    double first_s;         /* that the first use of a kernel takes, */
    uint64_t used;          /* a bit a kernel */
    int trimmed;
} device;

static spmv_status nothing(spmv_device *d) {
    (void)d;
    return SPMV_OK;
}

static void nothing_at_all(spmv_device *d) {
    (void)d;
}

static void trim(spmv_device *d) {
    (void)d;
    device.trimmed++;
}

static spmv_status get_block(spmv_device *d, size_t bytes, void **out) {
    (void)d;
    if (!device.first) device.first = bytes;
    if (bytes > device.largest) device.largest = bytes;
    device.blocks++;
    device.most = device.blocks > device.most ? device.blocks : device.most;
    *out = malloc(bytes + 1);
    return *out ? SPMV_OK : SPMV_E_NOMEM;
}

static void give_block(spmv_device *d, void *memory) {
    (void)d;
    device.blocks -= memory != NULL;
    free(memory);
}

static spmv_status copy_block(spmv_device *d, void *to, const void *from, size_t bytes) {
    (void)d;
    memcpy(to, from, bytes);
    return SPMV_OK;
}

static spmv_status fill_block(spmv_device *d, void *memory, int byte, size_t bytes) {
    (void)d;
    memset(memory, byte, bytes);
    return SPMV_OK;
}

static size_t what_is_left(spmv_device *d) {
    (void)d;
    for (double end = spmv_now() + device.pause_s; spmv_now() < end;) continue;
    device.paused += device.pause_s;
    return device.left;
}

enum { CACHE = 1000000 };
static void describe(spmv_device *d, spmv_device_facts *out) {
    (void)d;
    memset(out, 0, sizeof *out);
    out->l2 = CACHE;
}

static spmv_status flush(spmv_device *d, size_t bytes) {
    (void)d, (void)bytes;
    return SPMV_OK;
}

static spmv_status launch_nothing(spmv_device *d) {
    return device.lost ? spmv_fail(d->ctx, SPMV_E_DEVICE, "lost") : SPMV_OK;
}

static spmv_status tick(spmv_device *d) {
    (void)d;
    device.started = device.now;
    return SPMV_OK;
}

static spmv_status tock(spmv_device *d, double *seconds) {
    (void)d;
    *seconds = device.now - device.started;
    return SPMV_OK;
}

/* Batches are loops then. */
static spmv_status refuse_to_record(spmv_device *d) {
    return spmv_fail(d->ctx, SPMV_E_BACKEND, "nothing is recorded");
}

static void forget(spmv_device *d, void *recording) {
    (void)d, (void)recording;
}

/* ---- its formats and kernels ---- */

enum { WORKING = 1000000 };
static size_t working(const spmv_csr_view *A, const spmv_choice *c) {
    (void)A, (void)c;
    return WORKING;
}

static spmv_status build(spmv_device *d, const char *name, const spmv_csr_view *A,
                         const spmv_choice *c, spmv_store **head, spmv_store **copy) {
    spmv_store *made = NULL;
    spmv_status status = spmv_format_named(name, 0)->build(ctx, A, c, 1, &made);
    if (status == SPMV_OK) status = spmv_store_upload(d, made, copy);
    assert_int_equal(spmv_store_new(ctx, name, made->size, A, head), SPMV_OK);
    (*head)->narrays = made->narrays;
    memcpy((*head)->array, made->array, sizeof made->array);
    spmv_store_free(made);
    return status;
}

static const double sending_s = 1e-7; /* less than building takes */
static spmv_status build_csr(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                             const spmv_choice *c, spmv_store **head, spmv_store **copy,
                             double *upload_s) {
    assert_null(rows);
    *upload_s = sending_s;
    return build(d, "csr", A, c, head, copy);
}

static spmv_status build_sell(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              double *upload_s) {
    device.asked++;
    device.rows = rows;
    *upload_s = 0;
    TRY(build(d, "sell", A, c, head, copy));
    if (device.answer == SPMV_OK) return SPMV_OK;
    device.left -= device.gone;
    return spmv_fail(ctx, device.answer, "as it was told");
}

static const spmv_device_format csr_there = {.name = "csr", .working = working, .build = build_csr};
static const spmv_device_format sell_there = {
    .name = "sell", .working = working, .build = build_sell};
static const spmv_device_format *const formats[][SPMV_NVARIANTS] = {
    {&csr_there, &csr_there, &csr_there, &csr_there},
    {&sell_there, &sell_there, &sell_there, &sell_there},
    {NULL},
};

/* The baseline kernel takes a second, the others half of that. */
static spmv_status run(const spmv_plan *p, const spmv_operands *v) {
    (void)v;
    uint64_t bit = (uint64_t)1 << p->kernel->name[0] % 64;
    double first_s = device.used & bit ? 0 : device.first_s;
    for (double end = spmv_now() + first_s; spmv_now() < end;) continue;
    device.used |= bit;
    device.now += first_s;
    device.now += strcmp(p->kernel->name, "csr_fake") == 0 ? 1 : .5;
    return SPMV_OK;
}

static const spmv_param none[] = {SPMV_NO_MORE_PARAMS};
#define FAKE(kernel, of) \
    { .name = kernel, .format = of, .params = none, .run = run, .traits = SPMV_DETERMINISTIC }
static const spmv_kernel of_csr = FAKE("csr_fake", "csr"), of_csr_too = FAKE("csr_fast", "csr"),
                         of_sell = FAKE("sell_fake", "sell");
static const char *const names[] = {"csr_fake", "csr_fast", "sell_fake"};
static const spmv_kernel *const kernels[][SPMV_NVARIANTS] = {
    {&of_csr, &of_csr, &of_csr, &of_csr},
    {&of_csr_too, &of_csr_too, &of_csr_too, &of_csr_too},
    {&of_sell, &of_sell, &of_sell, &of_sell},
};

const spmv_backend spmv_cuda = {
    .name = "cuda",
    .hint = "",
    .names = names,
    .kernels = kernels,
    .nkernels = 3,
    .formats = formats,
    .open = nothing,
    .close = nothing_at_all,
    .alloc = get_block,
    .release = give_block,
    .trim = trim,
    .put = copy_block,
    .get = copy_block,
    .fill = fill_block,
    .sync = nothing,
    .tick = tick,
    .tock = tock,
    .free_bytes = what_is_left,
    .describe = describe,
    .flush = flush,
    .nothing = launch_nothing,
    .record_start = refuse_to_record,
    .forget = forget,
};

/* ---- cases ---- */

static spmv_mat *begin(size_t left, spmv_status answer) {
    spmv_mat *mat = NULL;
    memset(&device, 0, sizeof device);
    device.left = left, device.answer = answer;
    assert_int_equal(spmv_mat_load(ctx, "gen:poisson2d:30", NULL, &mat), SPMV_OK);
    return mat;
}

static spmv_status make(spmv_mat *mat, const char *kernel, bool only_quick, spmv_plan **out) {
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.kernel = kernel;
    return spmv_plan_make(mat, &opts, only_quick, out);
}

/* Of one candidate against one baseline kernel. */
static spmv_status choose(spmv_mat *mat, const char *candidate, const char *baseline,
                          spmv_cache cache, spmv_plan **out) {
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = SPMV_OPTS(spmv_plan_opts);
    opts.cache = cache;
    spmv_propose_kernel(&all, candidate, 8, 4, "a candidate");
    spmv_propose_kernel(&all, baseline, 0, 0, "baseline");
    return spmv_auto_select(mat, &opts, &spmv_cuda, &all, spmv_now(), out);
}

static void choose_sell(spmv_mat *mat, spmv_plan **out) {
    assert_int_equal(choose(mat, "sell_fake", "csr_fake", SPMV_WARM, out), SPMV_OK);
    assert_string_equal((*out)->kernel->name, "sell_fake");
}

static const char *note_of(const spmv_plan *plan) {
    spmv_plan_facts facts;
    spmv_plan_info(plan, &facts);
    return facts.note;
}

static void end(spmv_mat *mat, spmv_plan *plan) {
    spmv_plan_free(plan);
    spmv_mat_free(mat);
    assert_int_equal(device.blocks, 0);
}

static const size_t plenty = (size_t)1 << 30;

static void rows_are_sent_for_it_and_given_up(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_OK);
    assert_int_equal(device.asked, 1);
    assert_non_null(device.rows);
    assert_int_equal(device.blocks, plan->host->narrays);
    assert_true(plan->upload_s > 0);
    assert_null(note_of(plan));
    end(mat, plan);
}

static void rows_that_are_there_are_taken(void **state) {
    (void)state;
    spmv_plan *rows = NULL, *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &rows), SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_OK);
    assert_ptr_equal(device.rows, rows->store);
    assert_true(plan->convert_s > rows->convert_s);
    spmv_plan_free(rows);
    end(mat, plan);
}

static double from_rows_s(spmv_mat *mat, const char *kernel, spmv_plan_facts *f) {
    spmv_plan *plan = NULL;
    assert_int_equal(make(mat, kernel, false, &plan), SPMV_OK);
    spmv_plan_info(plan, f);
    spmv_plan_free(plan);
    return f->from_rows_s;
}

/* What is sent is not in it, and what the host converts does not begin on the device. */
static void from_rows_on_the_device_until_ready(void **state) {
    (void)state;
    spmv_plan_facts f;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_true(from_rows_s(mat, "cuda:sell_fake", &f) == f.convert_s + f.prepare_s);
    assert_true(f.convert_s > 0 && f.upload_s > 0);
    assert_true(from_rows_s(mat, "cuda:csr_fake", &f) == f.prepare_s);
    assert_true(f.convert_s > 0);
    end(mat, NULL);
    mat = begin(WORKING, SPMV_OK);
    assert_true(from_rows_s(mat, "cuda:sell_fake", &f) < 0);
    assert_true(f.convert_s > 0);
    assert_true(from_rows_s(mat, "omp:sell_lanes", &f) == f.convert_s + f.prepare_s);
    end(mat, NULL);
}

/* A kernel costs what it costs alone, whatever the process did before. */
static void sending_is_booked_whoever_sent(void **state) {
    (void)state;
    spmv_plan *first = NULL, *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(plan->upload_s == sending_s);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &first), SPMV_OK);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(first->upload_s == sending_s && plan->upload_s == sending_s);
    spmv_plan_free(first);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    choose_sell(mat, &first); /* taking room for all that is sent is sending, too */
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_true(first->upload_s > sending_s && plan->upload_s == sending_s);
    assert_true(plan->convert_s == first->convert_s);
    spmv_plan_free(first);
    end(mat, plan);
    mat = begin(plenty, SPMV_OK);
    assert_int_equal(make(mat, "cuda:csr_fake", false, &first), SPMV_OK);
    choose_sell(mat, &plan);
    assert_true(plan->upload_s == sending_s);
    spmv_plan_free(first);
    end(mat, plan);
}

static double total_of(const spmv_plan *plan) {
    spmv_plan_facts f;
    spmv_plan_info(plan, &f);
    return f.convert_s + f.upload_s + f.prepare_s + f.tune_s + f.once_s;
}

/* All seconds that the trials took are in the plan's figures once, plus only what its store took
 * before. */
static void all_of_the_trials_is_booked_once(void **state) {
    (void)state;
    static const char *const candidates[] = {"csr_fast", "sell_fake"};
    for (int k = 0; k < 4; k++) {
        const char *candidate = candidates[k / 2];
        spmv_plan *rows = NULL, *plan = NULL;
        spmv_mat *mat = begin(plenty, SPMV_OK);
        double before = 0;
        device.pause_s = 2e-3;
        if (k % 2) {
            assert_int_equal(make(mat, "cuda:csr_fake", false, &rows), SPMV_OK);
            before = rows->convert_s + rows->upload_s;
            device.paused = 0;
        }
        double start = spmv_now();
        assert_int_equal(choose(mat, candidate, "csr_fake", SPMV_WARM, &plan), SPMV_OK);
        double took = spmv_now() - start, asked = device.paused;
        assert_string_equal(plan->kernel->name, candidate);
        assert_true(total_of(plan) <= before + took);
        assert_true(total_of(plan) >= before + asked);
        assert_true(plan->tuning->tune_s >= 0);
        spmv_plan_free(rows);
        device.pause_s = 0;
        end(mat, plan);
    }
}

/* What a refusal leaves well goes on without the kernel that was refused. */
static void a_builder_that_fails_is_passed_over(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_DEVICE);
    assert_int_equal(choose(mat, "sell_fake", "csr_fake", SPMV_WARM, &plan), SPMV_OK);
    assert_string_equal(plan->kernel->name, "csr_fake");
    assert_non_null(strstr(plan->tuning->reason, "passed over sell_fake: as it was told"));
    end(mat, plan);
    mat = begin(plenty, SPMV_E_DEVICE); /* also when it is the baseline kernel */
    assert_int_equal(choose(mat, "csr_fast", "sell_fake", SPMV_WARM, &plan), SPMV_OK);
    assert_string_equal(plan->kernel->name, "csr_fast");
    end(mat, plan);
    for (int baseline = 0; baseline < 2; baseline++) {
        mat = begin(plenty, SPMV_E_DEVICE);
        device.lost = true;
        assert_int_equal(choose(mat, baseline ? "csr_fast" : "sell_fake",
                                baseline ? "sell_fake" : "csr_fake", SPMV_WARM, &plan),
                         SPMV_E_DEVICE);
        assert_string_equal(spmv_ctx_error(ctx), "as it was told");
        assert_null(plan);
        end(mat, NULL);
    }
}

/* Steady products have copies, unless a quarter of what is free does not hold two. */
static void copies_are_made_where_there_is_room(void **state) {
    (void)state;
    enum { TIGHT = 4000000, OTHERS = 2, ARRAYS = 3 };
    int most[3];
    for (int k = 0; k < 3; k++) {
        spmv_plan *plan = NULL;
        spmv_mat *mat = begin(k == 0 ? plenty : TIGHT, SPMV_OK);
        assert_int_equal(
            choose(mat, "csr_fast", "csr_fake", k < 2 ? SPMV_STEADY : SPMV_COLD, &plan), SPMV_OK);
        most[k] = device.most;
        end(mat, plan);
    }
    assert_int_equal(most[1], most[2]);
    assert_true(most[0] > most[2] + OTHERS * ARRAYS);
}

static void the_host_helps_out_and_that_is_said(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_NOMEM);
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_E_NOMEM);
    assert_int_equal(device.blocks, 0);
    assert_null(mat->stores);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_int_equal(device.asked, 2);
    assert_non_null(strstr(note_of(plan), "by the host"));
    end(mat, plan);
}

/* Whatever is wrong with the matrix is so on the host, too; and the device must hold what the host
 * made. */
static void the_host_helps_out_with_room_only(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_UNSUITABLE);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_E_UNSUITABLE);
    assert_string_equal(spmv_ctx_error(ctx), "as it was told");
    assert_null(mat->stores);
    end(mat, NULL);
    mat = begin(plenty, SPMV_E_NOMEM);
    device.gone = plenty - 1000;
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_E_TOOBIG);
    assert_non_null(strstr(spmv_ctx_error(ctx), "on the device"));
    assert_null(mat->stores);
    end(mat, NULL);
}

static void no_room_to_convert_is_seen_before(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(WORKING, SPMV_OK); /* enough for the store */
    assert_int_equal(make(mat, "cuda:sell_fake", true, &plan), SPMV_E_TOOBIG);
    assert_int_equal(make(mat, "cuda:sell_fake", false, &plan), SPMV_OK);
    assert_int_equal(device.asked, 0);
    assert_non_null(strstr(note_of(plan), "by the host"));
    end(mat, plan);
}

static void a_lost_device_is_no_reason_to_convert(void **state) {
    (void)state;
    spmv_plan *plan = NULL;
    spmv_mat *mat = begin(plenty, SPMV_E_DEVICE);
    for (int only_quick = 0; only_quick < 2; only_quick++)
        assert_int_equal(make(mat, "cuda:sell_fake", only_quick, &plan), SPMV_E_DEVICE);
    assert_null(mat->stores);
    end(mat, NULL);
}

/* Loading the code of both kernels is in none of what is charged, nor in what was timed, and done
 * once; what the device keeps stays until the matrix is freed. */
static void what_a_process_does_once_is_apart(void **state) {
    (void)state;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    spmv_plan *plan[2];
    spmv_plan_facts f[2];
    memset(ctx->warmed_up, 0, sizeof ctx->warmed_up);
    device.first_s = .05;
    for (int k = 0; k < 2; k++) {
        choose_sell(mat, &plan[k]);
        spmv_plan_info(plan[k], &f[k]);
    }
    assert_true(f[0].once_s >= 2 * device.first_s && f[1].once_s == 0);
    assert_true(f[0].convert_s + f[0].prepare_s + f[0].upload_s + f[0].tune_s < device.first_s);
    assert_true(f[0].chosen_product_s == .5);
    assert_int_equal(device.trimmed, 0);
    memset(ctx->warmed_up, 0, sizeof ctx->warmed_up); /* and not at all where nothing is timed */
    spmv_plan *quick = NULL;
    spmv_proposals all = {.n = 0};
    spmv_plan_opts opts = {.size = sizeof opts, .expected_calls = 1};
    spmv_propose_kernel(&all, "csr_fake", 0, 0, "baseline");
    assert_int_equal(spmv_auto_select(mat, &opts, &spmv_cuda, &all, spmv_now(), &quick), SPMV_OK);
    assert_true(quick->once_s == 0 && ctx->warmed_up[1][0] == 0);
    spmv_plan_free(quick);
    spmv_plan_free(plan[0]);
    end(mat, plan[1]);
    assert_int_equal(device.trimmed, 1);
}

/* Before anything else, so that the driver is asked once; and not when rows are there. */
static void room_for_all_is_taken_before_the_rows(void **state) {
    (void)state;
    spmv_mat *mat = begin(plenty, SPMV_OK);
    size_t rows = (size_t)mat->csr.nnz * 12 + (size_t)mat->csr.rows * 4;
    spmv_plan *plan[2];
    device.first = device.largest = 0;
    choose_sell(mat, &plan[0]);
    assert_true(device.first >= 2 * rows && device.first == device.largest);
    device.first = device.largest = 0;
    choose_sell(mat, &plan[1]);
    assert_true(device.first > 0 && device.largest < 2 * rows);
    spmv_plan_free(plan[0]);
    end(mat, plan[1]);
}

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sent_for_it_and_given_up),
        cmocka_unit_test(rows_that_are_there_are_taken),
        cmocka_unit_test(from_rows_on_the_device_until_ready),
        cmocka_unit_test(sending_is_booked_whoever_sent),
        cmocka_unit_test(all_of_the_trials_is_booked_once),
        cmocka_unit_test(a_builder_that_fails_is_passed_over),
        cmocka_unit_test(copies_are_made_where_there_is_room),
        cmocka_unit_test(the_host_helps_out_and_that_is_said),
        cmocka_unit_test(the_host_helps_out_with_room_only),
        cmocka_unit_test(no_room_to_convert_is_seen_before),
        cmocka_unit_test(a_lost_device_is_no_reason_to_convert),
        cmocka_unit_test(what_a_process_does_once_is_apart),
        cmocka_unit_test(room_for_all_is_taken_before_the_rows),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
