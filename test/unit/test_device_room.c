/* test_device_room.c: who builds a store for a device: the device from the compressed rows it has,
 * or the host where the device has no room, which is said, and refused in a contest. The device is
 * one made here, whose memory is the host's. */
#include "context.h"
#include "internal.h"
#include <stdlib.h>

static struct {
    size_t left;            /* bytes it says are free */
    spmv_status answer;     /* of the builder of SELL */
    const spmv_store *rows; /* that it was given */
    int asked, blocks;      /* how often it was; blocks of memory in use */
} device;

static spmv_status nothing(spmv_device *d) {
    (void)d;
    return SPMV_OK;
}

static void nothing_at_all(spmv_device *d) {
    (void)d;
}

static spmv_status get_block(spmv_device *d, size_t bytes, void **out) {
    (void)d;
    device.blocks++;
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

static size_t what_is_left(spmv_device *d) {
    (void)d;
    return device.left;
}

static void describe(spmv_device *d, spmv_device_facts *out) {
    (void)d;
    memset(out, 0, sizeof *out);
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

static spmv_status build_csr(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                             const spmv_choice *c, spmv_store **head, spmv_store **copy,
                             double *upload_s) {
    assert_null(rows);
    *upload_s = 1e-9;
    return build(d, "csr", A, c, head, copy);
}

static spmv_status build_sell(spmv_device *d, const spmv_csr_view *A, const spmv_store *rows,
                              const spmv_choice *c, spmv_store **head, spmv_store **copy,
                              double *upload_s) {
    device.asked++;
    device.rows = rows;
    *upload_s = 0;
    TRY(build(d, "sell", A, c, head, copy));
    return device.answer == SPMV_OK ? SPMV_OK : spmv_fail(ctx, device.answer, "as it was told");
}

static const spmv_device_format csr_there = {"csr", working, build_csr};
static const spmv_device_format sell_there = {"sell", working, build_sell};
static const spmv_device_format *const formats[][SPMV_NVARIANTS] = {
    {&csr_there, &csr_there, &csr_there, &csr_there},
    {&sell_there, &sell_there, &sell_there, &sell_there},
    {NULL},
};

static spmv_status run(const spmv_plan *p, double alpha, const void *x, double beta, void *y) {
    (void)p, (void)alpha, (void)x, (void)beta, (void)y;
    return SPMV_OK;
}

static const spmv_param none[] = {SPMV_NO_MORE_PARAMS};
static const spmv_kernel of_csr = {.name = "csr_fake", .format = "csr", .params = none, .run = run};
static const spmv_kernel of_sell = {
    .name = "sell_fake", .format = "sell", .params = none, .run = run};
static const char *const names[] = {"csr_fake", "sell_fake"};
static const spmv_kernel *const kernels[][SPMV_NVARIANTS] = {
    {&of_csr, &of_csr, &of_csr, &of_csr},
    {&of_sell, &of_sell, &of_sell, &of_sell},
};

const spmv_backend spmv_cuda = {
    .name = "cuda",
    .hint = "",
    .names = names,
    .kernels = kernels,
    .nkernels = 2,
    .formats = formats,
    .open = nothing,
    .close = nothing_at_all,
    .alloc = get_block,
    .release = give_block,
    .put = copy_block,
    .get = copy_block,
    .sync = nothing,
    .free_bytes = what_is_left,
    .describe = describe,
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
    assert_true(rows->upload_s > 0 && plan->upload_s == 0);
    spmv_plan_free(rows);
    end(mat, plan);
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

int main(int argc, char **argv) {
    (void)argc;
    wait_without_spinning(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_sent_for_it_and_given_up),
        cmocka_unit_test(rows_that_are_there_are_taken),
        cmocka_unit_test(the_host_helps_out_and_that_is_said),
        cmocka_unit_test(no_room_to_convert_is_seen_before),
        cmocka_unit_test(a_lost_device_is_no_reason_to_convert),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
