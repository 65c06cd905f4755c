/* crowd.c: ranks share cores if more ranks are confined to a set of cores than it has. */
#include "../../src/ranks/exchange/mpi/exchange_mpi.c"
#include <stdio.h>

static place cores(unsigned bits) {
    place set;
    CPU_ZERO(&set.cores);
    for (int k = 0; k < 32; k++)
        if (bits >> k & 1) CPU_SET(k, &set.cores);
    return set;
}

/* Returns whether rank 0 of four must share its cores; arguments: masks of cores. */
static int crowded(unsigned a, unsigned b, unsigned c, unsigned d) {
    const place all[] = {cores(a), cores(b), cores(c), cores(d)};
    return must_share(&all[0], all, 4);
}

int main(void) {
    const int right[] = {!crowded(15, 15, 15, 15), /* four cores for four ranks */
                         crowded(7, 7, 7, 7),      /* three cores */
                         !crowded(1, 2, 4, 8),     /* one core each */
                         crowded(1, 1, 15, 15),    /* two ranks on one core of four */
                         !crowded(1, 15, 15, 15),  /* three cores remain for the others */
                         crowded(3, 1, 2, 15)};
    int passed = 0, n = sizeof right / sizeof *right;
    for (int k = 0; k < n; k++)
        if (right[k])
            passed++;
        else
            printf("FAIL crowd.c: case %d\n", k);
    printf("%d passed, %d failed\n", passed, n - passed);
    return passed != n;
}
