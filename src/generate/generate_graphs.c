/* generate_graphs.c: irregular classes: mesh, street network, R-MAT, power law. */
#include "generate.h"
#include "host/context.h"
#include <math.h>

/* ---- mesh ----------------------------------------------------------------------------------- */

/* Mesh: n[4] nodes in a square of n[0] nodes per line, n[3] rows per node. Each node owns the edges
 * to the next node, to the line above, the diagonals of the cell above right of it and, rarely, a
 * long edge; a hash of the owner decides which edges exist. Both ends of an edge evaluate the
 * owner's hash, so that the structure is symmetric. Most cells have one diagonal: a triangulation
 * with faults, with 6 neighbours per node on average. Node numbers are shuffled within blocks of
 * BLOCK nodes, as mesh generators number nodes. With 3 to 7 rows per node the matrix resembles the
 * stiffness matrix of a shell or solid: dense blocks at scattered positions. */
enum { BLOCK = 4096, MESH_NEIGHBOURS = 10 };

static uint64_t faults(const spmv_recipe *r, int64_t p) {
    return spmv_hash(r->key, (uint64_t)p);
}

static bool has_east(uint64_t h) {
    return (h & 31) != 0;
}

static bool has_north(uint64_t h) {
    return (h >> 5 & 31) != 0;
}

/* Diagonals of a cell: 1 cell in 16 has none, 1 in 16 has both. */
static bool has_rising(uint64_t h) {
    uint64_t kind = h >> 10 & 15;
    return kind == 1 || (kind > 1 && kind % 2 == 0);
}

static bool has_falling(uint64_t h) {
    uint64_t kind = h >> 10 & 15;
    return kind == 1 || (kind > 1 && kind % 2 == 1);
}

/* Returns whether a node has an edge to the node two columns to the right and one line up. */
static bool has_long(uint64_t h) {
    return (h >> 14 & 15) == 0;
}

/* Returns whether a node is on the boundary of the problem: its rows have only the diagonal. */
static bool is_fixed(uint64_t h) {
    return (h >> 18 & 1023) == 0;
}

/* Stores p and increments the count only if p is a neighbour, without an unpredictable branch. */
static int add_neighbour(const spmv_recipe *r, bool is_edge, int64_t p, int count,
                         int64_t *neighbour) {
    neighbour[count] = p;
    return count + (is_edge && p >= 0 && p < r->n[4] && !is_fixed(faults(r, p)));
}

/* Fills neighbour[MESH_NEIGHBOURS]; returns the number of neighbours. */
static int mesh_neighbours(const spmv_recipe *r, int64_t p, int64_t *neighbour) {
    int64_t line = r->n[0], x = (uint32_t)p % (uint32_t)line;
    bool has_left = x > 0, has_right = x + 1 < line;
    uint64_t own = faults(r, p), west = faults(r, p - 1), south = faults(r, p - line);
    int n = 0;
    if (is_fixed(own)) return 0;
    n = add_neighbour(r, has_right && has_east(own), p + 1, n, neighbour);
    n = add_neighbour(r, has_left && has_east(west), p - 1, n, neighbour);
    n = add_neighbour(r, has_north(own), p + line, n, neighbour);
    n = add_neighbour(r, has_north(south), p - line, n, neighbour);
    n = add_neighbour(r, has_right && has_rising(own), p + line + 1, n, neighbour);
    n = add_neighbour(r, has_left && has_rising(faults(r, p - line - 1)), p - line - 1, n,
                      neighbour);
    n = add_neighbour(r, has_left && has_falling(west), p + line - 1, n, neighbour);
    n = add_neighbour(r, has_right && has_falling(south), p - line + 1, n, neighbour);
    n = add_neighbour(r, x + 2 < line && has_long(own), p + line + 2, n, neighbour);
    n = add_neighbour(r, x >= 2 && has_long(faults(r, p - line - 2)), p - line - 2, n, neighbour);
    return n;
}

/* Returns the shuffle of the block of node p, with the block's first node and key. */
static spmv_shuffle block_of(const spmv_recipe *r, int64_t p, int64_t *start, uint64_t *key) {
    *start = p / BLOCK * BLOCK;
    *key = spmv_hash(~r->key, (uint64_t)*start);
    return r->n[4] - *start >= BLOCK
               ? (spmv_shuffle){BLOCK, 64, 64}
               : (spmv_shuffle){r->n[4] - *start, (uint32_t)r->n[1], (uint32_t)r->n[2]};
}

static int64_t number_of(const spmv_recipe *r, int64_t p) {
    int64_t start;
    uint64_t key;
    spmv_shuffle s = block_of(r, p, &start, &key);
    return start + spmv_shuffle_at(&s, key, p - start);
}

static int64_t node_numbered(const spmv_recipe *r, int64_t i) {
    int64_t start;
    uint64_t key;
    spmv_shuffle s = block_of(r, i, &start, &key);
    return start + spmv_shuffle_back(&s, key, i - start);
}

/* Number of entries of a row: each pair of neighbours is a dense block; the rows of a fixed node
 * have only the diagonal. */
static int64_t mesh_length(const spmv_recipe *r, int64_t i) {
    int64_t neighbour[MESH_NEIGHBOURS], p = node_numbered(r, i / r->n[3]);
    return is_fixed(faults(r, p)) ? 1 : r->n[3] * (1 + mesh_neighbours(r, p, neighbour));
}

static int64_t fill_mesh(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    int64_t neighbour[MESH_NEIGHBOURS], own = i / r->n[3], p = node_numbered(r, own);
    int n = mesh_neighbours(r, p, neighbour), dof = (int)r->n[3];
    if (length == 1) {
        col[0] = (int32_t)i;
        return length;
    }
    for (int k = 0; k < n; k++) col[k] = (int32_t)number_of(r, neighbour[k]);
    col[n] = (int32_t)own;
    n = (int)spmv_sort_columns(col, n + 1, r->cols, scratch);
    for (int k = n - 1; k >= 0; k--)
        for (int q = dof - 1; q >= 0; q--) col[k * dof + q] = col[k] * dof + q;
    return length;
}

spmv_status spmv_recipe_mesh(const spmv_args *args, spmv_recipe *r) {
    enum { MOST_DOF = 64 };
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &r->rows));
    TRY(spmv_arg_size(args, 1, 1, MOST_DOF, &r->n[3]));
    int64_t nodes = r->rows, rest = nodes % BLOCK;
    if (nodes * r->n[3] > INT32_MAX)
        return spmv_args_refuse(args, "%lld rows, at most %d", (long long)(nodes * r->n[3]),
                                INT32_MAX);
    spmv_shuffle last = spmv_shuffle_of(rest ? rest : BLOCK);
    r->rows = r->cols = nodes * r->n[3];
    r->n[0] = spmv_isqrt(nodes - 1) + 1;
    r->n[1] = last.a;
    r->n[2] = last.b;
    r->n[4] = nodes;
    r->expected = 7 * (double)r->n[3] * (double)r->rows;
    r->row_length = mesh_length;
    r->fill_row = fill_mesh;
    return SPMV_OK;
}

/* ---- road ----------------------------------------------------------------------------------- */

/* Road: streets are runs of consecutive node numbers. 12 % of the links from an odd number to the
 * next are missing, and no others, so that each node has a link. Crossings link a node with its
 * mirror image in a block, about a centre that differs between blocks: near images in STREET, far
 * images in DISTRICT. Mirroring is an involution, so that the structure is symmetric. */
enum { STREET = 256, DISTRICT = 16384, ROAD_LINKS = 4 };

static bool has_next(const spmv_recipe *r, int64_t i) {
    if (i < 0 || i + 1 >= r->rows) return false;
    return i % 2 == 0 || i + 2 == r->rows || (spmv_hash(r->key, (uint64_t)i) & 1023) >= 123;
}

/* Returns the mirror image of i if the two nodes are linked, else -1. */
static int64_t crossing(const spmv_recipe *r, int64_t i, int64_t block, uint64_t per_1024) {
    int64_t start = i / block * block, size = r->rows - start < block ? r->rows - start : block;
    uint64_t key = spmv_hash(r->key ^ (uint64_t)block, (uint64_t)start);
    int64_t image = spmv_below(key, size) - (i - start);
    image = start + (image < 0 ? image + size : image);
    int64_t lower = i < image ? i : image;
    return image != i && (spmv_hash(key, (uint64_t)lower) & 1023) < per_1024 ? image : -1;
}

static int64_t fill_road(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    int32_t link[ROAD_LINKS];
    int64_t n = 0, near = crossing(r, i, STREET, 174), far = crossing(r, i, DISTRICT, 72);
    (void)length;
    if (has_next(r, i - 1)) link[n++] = (int32_t)(i - 1);
    if (has_next(r, i)) link[n++] = (int32_t)(i + 1);
    if (near >= 0) link[n++] = (int32_t)near;
    if (far >= 0) link[n++] = (int32_t)far;
    n = spmv_sort_columns(link, n, r->cols, scratch);
    if (col) memcpy(col, link, (size_t)n * sizeof *col);
    return n;
}

spmv_status spmv_recipe_road(const spmv_args *args, spmv_recipe *r) {
    TRY(spmv_args_at_most(args, 1));
    TRY(spmv_arg_size(args, 0, 1000000, INT32_MAX, &r->rows));
    r->cols = r->rows;
    r->expected = 2.12 * (double)r->rows;
    r->fill_row = fill_road; /* links may coincide: counting requires filling */
    return SPMV_OK;
}

/* ---- rmat ----------------------------------------------------------------------------------- */

/* R-MAT: Chakrabarti, Zhan and Faloutsos, SDM'04. An edge descends SCALE levels. At each level its
 * row bit is 1 with probability c + d = 0.24, and its column bit is 1 with probability b / (a + b)
 * = 0.25 if the row bit is 0, d / (c + d) = 5 / 24 if it is 1. So the edges of a row are
 * independent given their number, and the numbers of all rows follow from the total by recursive
 * halving: a binomial share of a tree node's edges goes to its upper half. */
enum { MOST_SCALE = 30, MOST_PER_ROW = 65536 };

/* Returns 64 independent bits, each 1 with probability p / 2^bits. Processes the binary digits of p
 * from the lowest: digit 1 is an OR with random bits, digit 0 an AND. */
static uint64_t biased_bits(uint64_t key, uint32_t p, int bits) {
    uint64_t word = 0;
    for (int digit = 0; digit < bits; digit++) {
        uint64_t random = spmv_hash(key, (uint64_t)digit);
        word = p >> digit & 1 ? word | random : word & random;
    }
    return word;
}

/* Draws the number of n edges that fall into the upper half: bit by bit or, for many edges, from a
 * normal distribution (the sum of 512 fair bits is nearly normal). */
static int64_t upper_share(uint64_t key, int64_t n) {
    enum { UPPER = 15729, BITS = 16, MANY = 2048, WORDS = 8 }; /* 0.24 of 2^16 */
    int64_t share = 0;
    if (n <= MANY) {
        for (int64_t k = 0; k < n; k += 64) {
            uint64_t word = biased_bits(spmv_hash(key, (uint64_t)k), UPPER, BITS);
            if (n - k < 64) word &= UINT64_MAX >> (64 - (n - k));
            share += __builtin_popcountll(word);
        }
        return share;
    }
    for (int w = 0; w < WORDS; w++) share += __builtin_popcountll(spmv_hash(key, (uint64_t)w));
    int64_t deviation =
        spmv_isqrt((int64_t)((unsigned __int128)n * 1824 / 10000));          /* 0.24 * 0.76 n */
    return n * 24 / 100 + deviation * (share - 32 * WORDS) * 10000 / 113137; /* sqrt(512) / 2 */
}

/* Computes table[i] = edges of row first + i before duplicates are merged. Level by level in two
 * arrays: the children of tree node k are 2k and 2k + 1. Each level has only the ancestors of the
 * range of rows. */
static spmv_status prepare_rmat(spmv_ctx *ctx, spmv_recipe *r) {
    const int64_t rows = r->end - r->first;
    const size_t bytes = ((size_t)rows + 2) * sizeof(int64_t);
    int64_t *count = spmv_host_alloc(bytes), *halves = spmv_host_alloc(bytes), most = 0;
    if (!count || !halves) {
        spmv_host_free(count);
        spmv_host_free(halves);
        return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory for the lengths of %lld rows",
                         (long long)rows);
    }
    count[0] = r->rows * r->n[1];
    for (int64_t level = 0; level < r->n[0] && rows; level++) {
        const int64_t below = r->n[0] - level - 1; /* levels below the children */
        const int64_t from = r->first >> below, to = (r->end - 1) >> below, above = from / 2;
        const uint64_t key = spmv_hash(~r->key, (uint64_t)level);
#pragma omp parallel for schedule(static) num_threads(r->threads)
        for (int64_t k = above; k <= to / 2; k++) {
            const int64_t all = count[k - above];
            const int64_t upper = upper_share(spmv_hash(key, (uint64_t)k), all);
            if (2 * k >= from) halves[2 * k - from] = all - upper;
            if (2 * k < to) halves[2 * k + 1 - from] = upper;
        }
        int64_t *swap = count;
        count = halves;
        halves = swap;
    }
    spmv_host_free(halves);
#pragma omp parallel for schedule(static) num_threads(r->threads) reduction(max : most)
    for (int64_t i = 0; i < rows; i++) most = count[i] > most ? count[i] : most;
    r->table = count;
    r->scratch = 2 * most;
    return SPMV_OK;
}

/* Draws column bits like biased_bits, 32 at a time; the probability of a 1 depends on the row's
 * bit. */
static uint32_t rmat_column(uint64_t key, uint32_t row, uint32_t below) {
    enum { BITS = 12, OF_ZERO = 1024, OF_ONE = 853 }; /* 1/4 and 5/24 of 2^12 */
    uint32_t word = 0;
    for (int digit = 0; digit < BITS; digit += 2) {
        uint64_t random = spmv_hash(key, (uint64_t)digit);
        for (int half = 0; half < 2; half++, random >>= 32) {
            uint32_t zero = OF_ZERO >> (digit + half) & 1 ? ~row : 0,
                     one = OF_ONE >> (digit + half) & 1 ? row : 0;
            uint32_t either = zero | one, bits = (uint32_t)random;
            word = (word & bits) | (either & (word | bits));
        }
    }
    return word & below;
}

static int64_t fill_rmat(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                         int32_t *scratch) {
    int64_t edges = ((const int64_t *)r->table)[i - r->first];
    uint64_t key = spmv_hash(r->key, (uint64_t)i);
    (void)length;
    for (int64_t k = 0; k < edges; k++)
        scratch[k] =
            (int32_t)rmat_column(spmv_hash(key, (uint64_t)k), (uint32_t)i, (uint32_t)r->cols - 1);
    int64_t n = spmv_sort_columns(scratch, edges, r->cols, scratch + edges);
    if (col && n) memcpy(col, scratch, (size_t)n * sizeof *col);
    return n;
}

spmv_status spmv_recipe_rmat(const spmv_args *args, spmv_recipe *r) {
    TRY(spmv_args_at_most(args, 2));
    TRY(spmv_arg_size(args, 0, 20, MOST_SCALE, &r->n[0]));
    TRY(spmv_arg_size(args, 1, 16, MOST_PER_ROW, &r->n[1]));
    r->rows = r->cols = (int64_t)1 << r->n[0];
    r->expected = (double)r->rows * (double)(r->n[1] < r->cols ? r->n[1] : r->cols);
    r->extra_bytes = 16 * (double)r->rows;
    r->prepare = prepare_rmat;
    r->fill_row = fill_rmat; /* edges may coincide: counting requires filling */
    return SPMV_OK;
}

/* ---- powerlaw ------------------------------------------------------------------------------- */

/* Power law: Chung and Lu, Annals of Combinatorics 2002. The row of rank k has about C k^-beta
 * entries, beta = 1 / (ALPHA - 1); columns are drawn with the same distribution. Two shuffles map
 * ranks to rows and to columns. k^-beta is tabulated at the start of each segment and interpolated
 * linearly: one segment per rank below 64, then 32 segments per octave. */
enum { SEGMENTS = SPMV_SEGMENTS, GUIDES = 4096 };

typedef struct powerlaw {
    spmv_shuffle shuffle;
    int nsegments;
    int64_t start[SEGMENTS + 1];   /* first rank of each segment, from 1; the last element is
                                      past the end */
    int64_t length[SEGMENTS + 1];  /* entries of the row of that rank, in units of 2^-16 */
    uint64_t weight[SEGMENTS + 1]; /* cumulative weight of all earlier segments, scaled to at
                                      most 2^62 */
    int32_t guide[GUIDES + 1];     /* segment that contains k / GUIDES of the total weight */
} powerlaw;

/* Returns the binary logarithm of n >= 1 in units of 2^-40, by repeated squaring. */
static int64_t log2_fixed(int64_t n) {
    int whole = 63 - __builtin_clzll((uint64_t)n);
    double x = (double)n / (double)((int64_t)1 << whole);
    int64_t log = (int64_t)whole << 40;
    for (int64_t bit = (int64_t)1 << 39; bit; bit >>= 1) {
        x *= x;
        if (x < 2) continue;
        x *= 0.5;
        log += bit;
    }
    return log;
}

/* Returns 2^(x / 2^40) in units of 2^-16, for x < 46 * 2^40; 0 if below 2^-16. root[b] = 2^(2^-(b +
 * 1)). */
static int64_t exp2_fixed(int64_t x, const double *root) {
    int64_t whole = x >> 40;
    double y = 65536;
    for (int b = 0; b < 40; b++)
        if (x >> (39 - b) & 1) y *= root[b];
    return whole >= 0 ? (int64_t)(y * (double)((int64_t)1 << whole))
                      : (int64_t)y >> (whole < -62 ? 62 : -whole);
}

/* Sets length[] for C = 2^(log_c / 2^40); returns the sum over all ranks in units of 2^-16. */
static unsigned __int128 set_lengths(powerlaw *t, const int64_t *log_decay, int64_t log_c,
                                     int64_t longest, const double *root) {
    unsigned __int128 sum = 0;
    int64_t limit = longest << 16, log_limit = (int64_t)45 << 40;
    for (int s = 0; s <= t->nsegments; s++) {
        int64_t log = log_c - log_decay[s];
        t->length[s] = exp2_fixed(log < log_limit ? log : log_limit, root);
        if (log >= log_limit || t->length[s] > limit) t->length[s] = limit;
    }
    for (int s = 0; s < t->nsegments; s++) {
        int64_t ranks = t->start[s + 1] - t->start[s], fall = t->length[s] - t->length[s + 1];
        sum += (unsigned __int128)t->length[s] * (uint64_t)ranks -
               (unsigned __int128)fall * (uint64_t)(ranks - 1) / 2;
    }
    return sum;
}

/* Sets weights to the prefix sums of length[], and the guide table that starts a search near its
 * segment. */
static void set_weights(powerlaw *t, unsigned __int128 total) {
    unsigned __int128 sum = 0;
    int shift = 0, segment = 0;
    while (total >> shift >> 62) shift++;
    for (int s = 0; s < t->nsegments; s++) {
        int64_t ranks = t->start[s + 1] - t->start[s];
        t->weight[s] = (uint64_t)(sum >> shift);
        sum += (unsigned __int128)(t->length[s] + t->length[s + 1]) * (uint64_t)ranks / 2;
    }
    t->weight[t->nsegments] = (uint64_t)(sum >> shift);
    for (int g = 0; g <= GUIDES; g++) {
        uint64_t weight =
            (uint64_t)((unsigned __int128)t->weight[t->nsegments] * (unsigned)g / GUIDES);
        while (segment + 1 < t->nsegments && t->weight[segment + 1] <= weight) segment++;
        t->guide[g] = segment;
    }
}

static int64_t longest_row(const spmv_recipe *r) {
    return r->cols > 1 ? r->cols / 2 : 1; /* a row with more than half of the columns would need
                                             too many redraws */
}

/* Finds C by bisection: the sum of lengths is monotonic in C. */
static spmv_status prepare_powerlaw(spmv_ctx *ctx, spmv_recipe *r) {
    powerlaw *t = spmv_host_alloc(sizeof *t);
    int64_t log_decay[SEGMENTS + 1], low = -((int64_t)32 << 40), high = (int64_t)400 << 40;
    double root[40], square = 2;
    if (!t) return spmv_fail(ctx, SPMV_E_NOMEM, "out of memory");
    r->table = t;
    for (int b = 0; b < 40; b++) root[b] = square = sqrt(square);
    t->shuffle = spmv_shuffle_of(r->rows);
    t->nsegments = spmv_segment_of(r->rows) + 1;
    for (int s = 0; s <= t->nsegments; s++) {
        t->start[s] = s < t->nsegments ? spmv_segment_start(s) : r->rows + 1;
        log_decay[s] = (int64_t)((__int128)log2_fixed(t->start[s]) * 1000000 / (r->n[1] - 1000000));
    }
    unsigned __int128 wanted = (unsigned __int128)r->n[0] * (uint64_t)r->rows * 65536 / 1000000;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (set_lengths(t, log_decay, middle, longest_row(r), root) <= wanted)
            low = middle;
        else
            high = middle;
    }
    set_weights(t, set_lengths(t, log_decay, low, longest_row(r), root));
    r->scratch = (t->length[0] >> 16) + 1;
    return SPMV_OK;
}

/* Rounds row lengths at random, so that the expected sum is exact. */
static int64_t powerlaw_length(const spmv_recipe *r, int64_t i) {
    const powerlaw *t = r->table;
    int64_t rank = 1 + spmv_shuffle_at(&t->shuffle, r->key, i);
    int s = spmv_segment_of(rank);
    int64_t fall = t->length[s] - t->length[s + 1], ranks = t->start[s + 1] - t->start[s];
    int64_t length = t->length[s] - (int64_t)((__int128)fall * (rank - t->start[s]) / ranks);
    return (length + (int64_t)(spmv_hash(r->key ^ 1, (uint64_t)i) >> 48)) >> 16;
}

/* Draws a column: a segment by its weight, then a uniform rank in it (lengths differ by 3 % at
 * most), then the column of that rank. */
static int32_t draw_column(const spmv_recipe *r, uint64_t key, uint64_t k) {
    const powerlaw *t = r->table;
    uint64_t random = spmv_hash(key, 2 * k);
    uint64_t weight = (uint64_t)spmv_below(random, (int64_t)t->weight[t->nsegments]);
    int s = t->guide[random >> 52];
    while (s + 1 < t->nsegments && t->weight[s + 1] <= weight) s++;
    int64_t rank =
        t->start[s] + spmv_below(spmv_hash(key, 2 * k + 1), t->start[s + 1] - t->start[s]);
    return (int32_t)spmv_shuffle_back(&t->shuffle, ~r->key, rank - 1);
}

/* Fills a row: one round of weighted draws; duplicates are replaced by uniform draws, since a long
 * row would rarely find new columns. */
static int64_t fill_powerlaw(const spmv_recipe *r, int64_t i, int64_t length, int32_t *col,
                             int32_t *scratch) {
    uint64_t key = spmv_hash(r->key, (uint64_t)i), k = 0;
    for (; k < (uint64_t)length; k++) col[k] = draw_column(r, key, k);
    int64_t n = spmv_sort_columns(col, length, r->cols, scratch);
    while (n < length) {
        while (n < length) col[n++] = (int32_t)spmv_below(spmv_hash(key, 2 * k++), r->cols);
        n = spmv_sort_columns(col, n, r->cols, scratch);
    }
    return n;
}

spmv_status spmv_recipe_powerlaw(const spmv_args *args, spmv_recipe *r) {
    const int64_t million = 1000000;
    TRY(spmv_args_at_most(args, 3));
    TRY(spmv_arg_size(args, 0, million, INT32_MAX, &r->rows));
    r->cols = r->rows;
    int64_t most = longest_row(r) * million;
    TRY(spmv_arg_decimal(args, 1, 8 * million < most ? 8 * million : most, million / 100, most,
                         &r->n[0]));
    TRY(spmv_arg_decimal(args, 2, 2100000, 1100000, 10 * million, &r->n[1]));
    r->expected = 1e-6 * (double)r->n[0] * (double)r->rows;
    r->prepare = prepare_powerlaw;
    r->row_length = powerlaw_length;
    r->fill_row = fill_powerlaw;
    return SPMV_OK;
}
