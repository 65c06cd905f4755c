/* block.cpp: a block of threads. A thread runs until it must synchronize with others, which then
 * run. So data that the thread should have waited for, but did not, is not there yet. In every
 * second block the order of threads is reversed, so that errors hidden by one order appear in
 * the other. */
#include "emulator.h"
#include "fiber.h"
#include <algorithm>
#include <stdarg.h>
#include <stdlib.h>
#include <vector>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

uint3 threadIdx, blockIdx;
dim3 blockDim, gridDim;

namespace emulated {
enum state { READY, MEETS, MEETS_BLOCK, PAUSES, ENDED };

struct thread {
    fiber runs;
    uint3 index;
    state now;
    meeting kind;
    unsigned mask;
    int source, predicate;
    uint64_t value, result;
    where at;
};
struct warp {
    unsigned alive, ready, waiting; /* lanes */
};
static struct block {
    const launch *what;
    const std::function<void()> *body;
    thread all[MOST_THREADS];
    warp warps[MOST_THREADS / WARP];
    int nthreads, nwarps, alive, at_barrier, predicates;
    int running;     /* which thread */
    int paused;      /* threads that ask again later */
    unsigned serial; /* index over all blocks of the process, from 1 */
    size_t shared;   /* that its variables take */
    bool backwards;
} b;
alignas(1024) unsigned char shared_base[MOST_SHARED];

/* ---- reports -------------------------------------------------------------------------------- */

static const char *const names[] = {"__syncwarp", "__shfl_sync", "__ballot_sync",
                                    "__match_any_sync", "__reduce_add_sync"};

static void print_waiting() {
    for (int t = 0; t < b.nthreads; t++) {
        const thread &x = b.all[t];
        if (x.now == MEETS)
            fprintf(stderr, "  thread %d (warp %d, lane %d) waits in %s of lanes %08x, %s:%d\n", t,
                    t / WARP, t % WARP, names[x.kind], x.mask, x.at.file, x.at.line);
        if (x.now == MEETS_BLOCK)
            fprintf(stderr, "  thread %d (warp %d, lane %d) waits in __syncthreads, %s:%d\n", t,
                    t / WARP, t % WARP, x.at.file, x.at.line);
    }
}

void stop(const char *format, ...) {
    va_list rest;
    va_start(rest, format);
    fputs("emulated GPU: ", stderr);
    vfprintf(stderr, format, rest);
    va_end(rest);
    fputc('\n', stderr);
    abort();
}

[[noreturn]] static void stop_kernel(const char *why) {
    fprintf(stderr,
            "emulated GPU: %s: %s, block %u,%u,%u of %u,%u,%u, %d threads, running thread %d\n",
            b.what->name, why, blockIdx.x, blockIdx.y, blockIdx.z, gridDim.x, gridDim.y, gridDim.z,
            b.nthreads, b.running);
    print_waiting();
    abort();
}

/* ---- meeting -------------------------------------------------------------------------------- */

static thread &lane(int warp, int k) {
    return b.all[warp * WARP + k];
}
#define EACH_LANE(k, set) \
    for (unsigned left_ = (set), k = 0; left_ && (k = (unsigned)__builtin_ctz(left_), true); \
         left_ &= left_ - 1)

static void answer(int w, unsigned group, meeting kind) {
    uint64_t sum = 0;
    EACH_LANE(k, group) {
        const thread &x = lane(w, (int)k);
        if (kind == BALLOT && x.value) sum |= 1u << k;
        if (kind == ADD) sum += x.value;
    }
    EACH_LANE(k, group) {
        thread &x = lane(w, (int)k);
        x.result = sum;
        if (kind == SHUFFLE) { /* a lane that is not here returns an arbitrary value */
            if (x.source >= 0 && x.source < WARP && group >> x.source & 1)
                x.result = lane(w, x.source).value;
            else
                fill_with_rubbish(&x.result, sizeof x.result);
        }
        if (kind != MATCH) continue;
        EACH_LANE(other, group)
        x.result |= (uint64_t)(lane(w, (int)other).value == x.value) << other;
    }
}

/* Returns whether all lanes for which `one` waits are here, for the same operation; they then
 * continue. */
static bool complete(int w, const thread &one) {
    warp &mine = b.warps[w];
    const unsigned group = one.mask & mine.alive;
    if (group & ~mine.waiting) return false;
    EACH_LANE(k, group) {
        const thread &x = lane(w, (int)k);
        if (x.mask != one.mask || x.kind != one.kind) return false;
    }
    answer(w, group, one.kind);
    EACH_LANE(k, group) lane(w, (int)k).now = READY;
    mine.waiting &= ~group;
    mine.ready |= group;
    return true;
}

uint64_t meet(meeting kind, unsigned mask, uint64_t value, int source, where at) {
    const int t = b.running, w = t / WARP;
    thread &x = b.all[t];
    x.kind = kind, x.mask = mask, x.value = value, x.source = source, x.at = at;
    if (!(mask >> t % WARP & 1)) stop_kernel("a lane calls that is not in its mask");
    x.now = MEETS;
    b.warps[w].waiting |= 1u << t % WARP;
    b.warps[w].ready &= ~(1u << t % WARP);
    if (!complete(w, x)) suspend(&x.runs, false);
    return x.result;
}

int meet_block(int predicate, where at) {
    thread &x = b.all[b.running];
    x.predicate = predicate != 0, x.at = at, x.now = MEETS_BLOCK;
    b.warps[b.running / WARP].ready &= ~(1u << b.running % WARP);
    b.at_barrier++;
    suspend(&x.runs, false);
    return b.predicates;
}

/* Waits until the other threads have run as far as they can. */
static void pause() {
    thread &x = b.all[b.running];
    x.now = PAUSES;
    b.warps[b.running / WARP].ready &= ~(1u << b.running % WARP);
    b.paused++;
    suspend(&x.runs, false);
}

static void end_pauses() {
    for (int t = 0; t < b.nthreads; t++) {
        if (b.all[t].now != PAUSES) continue;
        b.all[t].now = READY;
        b.warps[t / WARP].ready |= 1u << t % WARP;
    }
    b.paused = 0;
}

static void open_barrier() {
    const thread *first = NULL;
    b.predicates = 0;
    for (int t = 0; t < b.nthreads; t++) {
        thread &x = b.all[t];
        if (x.now != MEETS_BLOCK) continue;
        if (!first) first = &x;
        if (x.at.line != first->at.line || strcmp(x.at.file, first->at.file))
            stop_kernel("threads wait in different __syncthreads");
        b.predicates += x.predicate;
        b.warps[t / WARP].ready |= 1u << t % WARP;
    }
    for (int t = 0; t < b.nthreads; t++)
        if (b.all[t].now == MEETS_BLOCK) b.all[t].now = READY;
    b.at_barrier = 0;
}

/* ---- running -------------------------------------------------------------------------------- */

static void thread_entry() {
    thread &x = b.all[b.running];
    begun(&x.runs);
    (*b.body)();
    const int t = b.running, w = t / WARP; /* still this thread */
    warp &mine = b.warps[w];
    x.now = ENDED;
    b.alive--;
    mine.alive &= ~(1u << t % WARP);
    mine.ready &= ~(1u << t % WARP);
    /* Lanes may have waited only for this one. */
    for (unsigned left = mine.waiting; left; left &= left - 1) {
        const thread &other = lane(w, __builtin_ctz(left));
        if (other.now == MEETS) complete(w, other);
    }
    suspend(&x.runs, true);
    abort();
}

static void run_thread(int t) {
    b.running = t;
    threadIdx = b.all[t].index;
    resume(&b.all[t].runs);
}

static bool run_warp(int w) {
    bool ran = false;
    warp &mine = b.warps[w];
    while (mine.ready) {
        const int k = b.backwards ? 31 - __builtin_clz(mine.ready) : __builtin_ctz(mine.ready);
        run_thread(w * WARP + k);
        ran = true;
    }
    return ran;
}

static void begin_block(const dim3 &shape) {
    b.serial++;
    b.shared = b.what->shared;
    b.alive = b.nthreads, b.at_barrier = b.paused = 0;
    for (int w = 0; w < b.nwarps; w++) {
        const int lanes = std::min(b.nthreads - w * WARP, (int)WARP);
        b.warps[w] = {lanes == WARP ? ~0u : (1u << lanes) - 1, 0, 0};
        b.warps[w].ready = b.warps[w].alive;
    }
    uint3 at = {0, 0, 0};
    for (int t = 0; t < b.nthreads; t++) {
        b.all[t].index = at;
        b.all[t].now = READY;
        prepare(&b.all[t].runs, t, thread_entry);
        if (++at.x == shape.x) at.x = 0, at.y++;
        if (at.y == shape.y) at.y = 0, at.z++;
    }
    fill_with_rubbish(shared_base, b.what->shared);
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(shared_base, b.what->shared);
    __asan_poison_memory_region(shared_base + b.what->shared, sizeof shared_base - b.what->shared);
#endif
}

static void run_block() {
    begin_block(b.what->block);
    for (int idle = 0; b.alive;) { /* passes in which threads did nothing but poll */
        const int asked = b.paused;
        bool ran = false;
        end_pauses();
        for (int k = 0; k < b.nwarps; k++) ran |= run_warp(b.backwards ? b.nwarps - 1 - k : k);
        if (b.alive && b.at_barrier == b.alive)
            open_barrier();
        else if (b.alive && (!ran || (idle += asked && b.paused == asked) > 1000))
            stop_kernel("threads wait for others that do not come");
    }
#ifdef __SANITIZE_ADDRESS__
    __asan_unpoison_memory_region(shared_base, sizeof shared_base);
#endif
}

void run_grid(const launch &what, const std::function<void()> &body) {
    static unsigned grids;
    const dim3 n = what.grid;
    const uint64_t count = (uint64_t)n.x * n.y * n.z;
    const bool last_first = (++grids + seed()) % 2;
    b.what = &what, b.body = &body;
    b.nthreads = (int)(what.block.x * what.block.y * what.block.z);
    b.nwarps = (b.nthreads + WARP - 1) / WARP;
    blockDim = what.block, gridDim = n;
    for (uint64_t k = 0; k < count; k++) {
        const uint64_t at = last_first ? count - 1 - k : k;
        blockIdx = {(unsigned)(at % n.x), (unsigned)(at / n.x % n.y), (unsigned)(at / n.x / n.y)};
        b.backwards = (k + grids / 2 + seed()) % 2;
        run_block();
    }
}

/* ---- what a thread asks for ----------------------------------------------------------------- */

int lane_of_thread() {
    return b.running % WARP;
}

void *dynamic_shared() {
    return shared_base;
}

void fill_with_rubbish(void *memory, size_t bytes) {
    const unsigned pattern = 0xfff7fbfd;
    char *at = (char *)memory;
    for (; bytes >= sizeof pattern; bytes -= sizeof pattern, at += sizeof pattern)
        memcpy(at, &pattern, sizeof pattern);
    memcpy(at, &pattern, bytes);
}

void fresh(void *variable, size_t bytes, unsigned *block) {
    if (*block == b.serial) return;
    *block = b.serial;
    fill_with_rubbish(variable, bytes);
    b.shared += bytes;
    if (b.shared > MOST_SHARED || b.shared - b.what->shared > PLAIN_SHARED)
        stop_kernel("too much shared memory");
}

long long clock() {
    static long long cycles;
    return cycles += 1000;
}

void griddepcontrol_launch_dependents() {
}

void griddepcontrol_wait() {
}

static struct { /* a copy that is under way; one a block */
    unsigned barrier, bytes, to;
    const void *from;
    unsigned block;
} copying;

void mbarrier_init_fence_mbarrier_init(unsigned barrier) {
    copying = {barrier, 0, 0, NULL, b.serial};
}

void fence_proxy_mbarrier_arrive_cp_async(unsigned barrier, unsigned bytes, unsigned to,
                                          const void *from) {
    if (copying.block != b.serial || copying.barrier != barrier)
        stop_kernel("a barrier that was not initialised");
    if (bytes % 16 || to % 16 || (uintptr_t)from % 16)
        stop_kernel("a bulk copy that is not aligned to 16 bytes");
    copying.bytes = bytes, copying.to = to, copying.from = from;
    fill_with_rubbish(shared_at(to), bytes);
}

/* A thread may poll before the copy was requested. */
void mbarrier_try_wait_selp_u32(unsigned &done, unsigned barrier) {
    if (copying.block != b.serial || copying.barrier != barrier)
        stop_kernel("a barrier that was not initialised");
    if (copying.from) memcpy(shared_at(copying.to), copying.from, copying.bytes), copying.bytes = 0;
    done = copying.from != NULL;
    if (!done) pause();
}
} // namespace emulated
