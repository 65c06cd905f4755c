/* board.c: allgather and minimum over the ranks of one host, through shared memory. Each rank has
 * two slots, used in alternating rounds. Two are enough: a rank enters round n + 2 only after round
 * n + 1 is complete, which a rank joins only after it has read all slots of round n. */
#include "shared.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PLACE_BYTES = 2048 }; /* bytes that a rank passes in one round */

typedef struct speaker {
    shared_counter said; /* the last round in which the rank has written its slot */
    char text[2][PLACE_BYTES];
} speaker;

typedef struct board {
    uint64_t token; /* random number that identifies the memory (memory.h) */
    speaker of[];   /* [ranks of the host] */
} board;

struct shared_board {
    const shared_host *host;
    board *memory;
    size_t bytes;
    uint32_t turn;
};

void shared_board_close(shared_board *b) {
    if (!b) return;
    if (b->memory) munmap(b->memory, b->bytes);
    free(b);
}

shared_board *shared_board_open(const shared_host *host) {
    const size_t bytes = sizeof(board) + (size_t)host->n * sizeof(speaker);
    shared_board *b = calloc(1, sizeof *b);
    board *memory = shared_in_common(host, b, bytes);
    if (memory) {
        *b = (shared_board){.host = host, .memory = memory, .bytes = bytes};
        return b;
    }
    free(b);
    return NULL;
}

/* Starts a round: publishes at most PLACE_BYTES bytes of this rank. */
static void say(shared_board *b, const void *mine, size_t bytes) {
    speaker *me = &b->memory->of[b->host->me];
    memcpy(me->text[++b->turn & 1], mine, bytes);
    shared_post(&me->said, b->turn);
}

/* Waits for a rank's slot of the current round and returns it. */
static const char *hear(shared_board *b, int rank) {
    speaker *other = &b->memory->of[rank];
    shared_wait(&other->said, b->turn, b->host);
    return other->text[b->turn & 1];
}

void shared_gather(shared_board *b, const void *mine, size_t bytes, void *all) {
    for (size_t at = 0; at < bytes; at += PLACE_BYTES) {
        const size_t part = bytes - at < PLACE_BYTES ? bytes - at : PLACE_BYTES;
        say(b, (const char *)mine + at, part);
        for (int r = 0; r < b->host->n; r++)
            memcpy((char *)all + (size_t)r * bytes + at, hear(b, r), part);
    }
}

int shared_least(shared_board *b, int mine) {
    int least = mine;
    say(b, &mine, sizeof mine);
    for (int r = 0; r < b->host->n; r++) {
        int other;
        memcpy(&other, hear(b, r), sizeof other);
        if (other < least) least = other;
    }
    return least;
}
