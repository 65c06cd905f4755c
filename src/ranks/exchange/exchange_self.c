/* exchange_self.c: the exchange of a single rank, which sends and receives nothing. */
#include "exchange.h"
#include <string.h>
#include <unistd.h>

static spmv_status begin_nothing(const void **communicator) {
    *communicator = NULL;
    return SPMV_OK;
}

static void end_nothing(void) {
}

static void describe_nothing(char *out, size_t size) {
    if (size) *out = 0;
}

static void abort_alone(void *state, int code) {
    (void)state;
    _exit(code);
}

static spmv_status open_alone(const void *communicator, void **state, int *rank, int *size) {
    (void)communicator;
    *state = NULL;
    *rank = 0;
    *size = 1;
    return SPMV_OK;
}

static void close_alone(void *state) {
    (void)state;
}

static spmv_status agree_alone(void *state, spmv_status mine) {
    (void)state;
    return mine;
}

static spmv_status gather_own(void *state, const void *mine, size_t bytes, void *all) {
    (void)state;
    memcpy(all, mine, bytes);
    return SPMV_OK;
}

static spmv_status deal_own(void *state, const void *out, const int64_t *out_bytes, void *in,
                            const int64_t *in_bytes) {
    (void)state;
    if (*out_bytes != *in_bytes) return SPMV_E_ARG;
    if (*in_bytes) memcpy(in, out, (size_t)*in_bytes);
    return SPMV_OK;
}

static spmv_status connect_nobody(void *state, const spmv_need *need, int replicates, void **link) {
    (void)state, (void)replicates;
    *link = need->received;
    return need->halo->received || need->halo->sent ? SPMV_E_ARG : SPMV_OK;
}

static spmv_status start_nothing(void *link, const void *x, int64_t k, int64_t ldx) {
    (void)link, (void)x, (void)k, (void)ldx;
    return SPMV_OK;
}

static spmv_status finish_nothing(void *link) {
    (void)link;
    return SPMV_OK;
}

static void *latest_nothing(void *link) {
    return link;
}

static const char *carrier_nothing(const void *link) {
    (void)link;
    return "";
}

const spmv_exchange spmv_exchange_self = {.version = SPMV_EXCHANGE_VERSION,
                                          .name = "self",
                                          .begin = begin_nothing,
                                          .end = end_nothing,
                                          .describe = describe_nothing,
                                          .abort = abort_alone,
                                          .open = open_alone,
                                          .close = close_alone,
                                          .agree = agree_alone,
                                          .gather = gather_own,
                                          .deal = deal_own,
                                          .connect = connect_nobody,
                                          .disconnect = close_alone,
                                          .start = start_nothing,
                                          .finish = finish_nothing,
                                          .latest = latest_nothing,
                                          .carrier = carrier_nothing};
