/* stores.h: what the tests know of every format's store: how its arrays are drawn in its header
 * (test_drawings.c), and a number for their bytes (test_store_bytes.c). */
#ifndef SPMV_TEST_STORES_H
#define SPMV_TEST_STORES_H

#include "testing.h"
#include "formats/bittcf/bittcf.h"
#include "formats/bsr/bsr.h"
#include "formats/papers/cmrs/cmrs.h"
#include "formats/coo/coo.h"
#include "formats/csb/csb.h"
#include "formats/csb_interleaved/csb_interleaved.h"
#include "formats/csell_lists/csell_lists.h"
#include "formats/csell_sym/csell_sym.h"
#include "formats/csr/csr.h"
#include "formats/papers/csr5/csr5.h"
#include "formats/papers/csr_columns/csr_columns.h"
#include "formats/dia/dia.h"
#include "formats/papers/ell/ell.h"
#include "formats/papers/ell_pitched/ell_pitched.h"
#include "formats/hubs/hubs.h"
#include "formats/hyb/hyb.h"
#include "formats/papers/hybrid/hybrid.h"
#include "formats/sell/sell.h"
#include "formats/sell16/sell16.h"
#include "formats/spc5/spc5.h"
#include "formats/sss/sss.h"
#include "formats/xcache/xcache.h"

#define UNUSED __attribute__((unused)) /* each test reads its own tables */

/* A member of a store, a scalar or a pointer to an array, and the fields of an element in order:
 * q, i int64_t, int32_t; I, H, B uint32_t, uint16_t, uint8_t; x uint32_t in
 * hexadecimal digits; d double; p two halves of 32 bits;
 * c column << 4 | row; m, M the bits of a uint8_t, uint32_t, lowest first. */
typedef struct member {
    const char *format, *name;
    size_t offset;
    const char *fields;
} member;
#define MEMBER(format, type, name, fields) \
    { format, #name, offsetof(type, name), fields }
static const member members[] UNUSED = {
    MEMBER("csr", csr, row_ptr, "i"),
    MEMBER("csr", csr, col_idx, "i"),
    MEMBER("csr", csr, values, "d"),
    MEMBER("csr_columns", csr_columns, row_ptr, "i"),
    MEMBER("csr_columns", csr_columns, col_idx, "i"),
    MEMBER("csr_columns", csr_columns, values, "d"),
    MEMBER("ell", ell, width, "q"),
    MEMBER("ell", ell, col_idx, "i"),
    MEMBER("ell", ell, values, "d"),
    MEMBER("ell", ell, row_len, "i"),
    MEMBER("ell_pitched", ell_pitched, width, "q"),
    MEMBER("ell_pitched", ell_pitched, pitch, "q"),
    MEMBER("ell_pitched", ell_pitched, col_idx, "i"),
    MEMBER("ell_pitched", ell_pitched, values, "d"),
    MEMBER("ell_pitched", ell_pitched, row_len, "i"),
    MEMBER("dia", dia, pitch, "q"),
    MEMBER("dia", dia, inside, "q"),
    MEMBER("dia", dia, offsets, "i"),
    MEMBER("dia", dia, values, "d"),
    MEMBER("sell", sell, slice_ptr, "i"),
    MEMBER("sell", sell, row_len, "i"),
    MEMBER("sell", sell, perm, "i"),
    MEMBER("sell", sell, col_idx, "i"),
    MEMBER("sell", sell, values, "d"),
    MEMBER("bsr", bsr, block_ptr, "i"),
    MEMBER("bsr", bsr, first_col, "i"),
    MEMBER("bsr", bsr, values, "d"),
    MEMBER("bittcf", bittcf, tile_ptr, "i"),
    MEMBER("bittcf", bittcf, value_ptr, "i"),
    MEMBER("bittcf", bittcf, col_idx, "i"),
    MEMBER("bittcf", bittcf, mask, "x"),
    MEMBER("bittcf", bittcf, values, "d"),
    MEMBER("cmrs", cmrs, strip_ptr, "i"),
    MEMBER("cmrs", cmrs, packed, "c"),
    MEMBER("cmrs", cmrs, values, "d"),
    MEMBER("hybrid", hybrid, ell_col, "i"),
    MEMBER("hybrid", hybrid, ell_values, "d"),
    MEMBER("hybrid", hybrid, rest_col, "i"),
    MEMBER("hybrid", hybrid, rest_values, "d"),
    MEMBER("hybrid", hybrid, start, "i"),
    MEMBER("hybrid", hybrid, end, "i"),
    MEMBER("hybrid", hybrid, row_len, "i"),
    MEMBER("coo", sorted_coo, row_idx, "i"),
    MEMBER("coo", sorted_coo, col_idx, "i"),
    MEMBER("coo", sorted_coo, values, "d"),
    MEMBER("hyb", hyb, pitch, "q"),
    MEMBER("hyb", hyb, ell_col, "i"),
    MEMBER("hyb", hyb, ell_values, "d"),
    MEMBER("hyb", hyb, tail_row, "i"),
    MEMBER("hyb", hyb, tail_col, "i"),
    MEMBER("hyb", hyb, tail_values, "d"),
    MEMBER("csb", csb, block_ptr, "i"),
    MEMBER("csb", csb, local, "p"),
    MEMBER("csb", csb, values, "d"),
    MEMBER("sss", sss, sign, "i"),
    MEMBER("sss", sss, row_ptr, "i"),
    MEMBER("sss", sss, distance, "H"),
    MEMBER("sss", sss, values, "d"),
    MEMBER("spc5", spc5, block_ptr, "i"),
    MEMBER("spc5", spc5, value_ptr, "i"),
    MEMBER("spc5", spc5, first_col, "i"),
    MEMBER("spc5", spc5, mask, "m"),
    MEMBER("spc5", spc5, values, "d"),
    MEMBER("csell", csell, slice, "qqqiBBBB"),
    MEMBER("csell", csell, step, "iM"),
    MEMBER("csell", csell, columns, "B"),
    MEMBER("csell", csell, values, "B"),
    MEMBER("csell", csell, codebook, "d"),
    MEMBER("csell", csell, long_row, "i"),
    MEMBER("csell", csell, long_ptr, "i"),
    MEMBER("csell", csell, long_col, "i"),
    MEMBER("csell", csell, long_values, "d"),
    MEMBER("csell_lists", csell_lists, even, "i"),
    MEMBER("csell_lists", csell_lists, even_code, "i"),
    MEMBER("csell_lists", csell_lists, value_codes, "i"),
    MEMBER("csell_lists", csell_lists, slice, "qiI"),
    MEMBER("csell_lists", csell_lists, list, "iMii"),
    MEMBER("csell_lists", csell_lists, base, "i"),
    MEMBER("csell_lists", csell_lists, step_value, "d"),
    MEMBER("csell_lists", csell_lists, rest, "qqqiBBBB"),
    MEMBER("csell_lists", csell_lists, rest_step, "iM"),
    MEMBER("csell_lists", csell_lists, columns, "B"),
    MEMBER("csell_lists", csell_lists, values, "B"),
    MEMBER("csell_lists", csell_lists, codebook, "d"),
    MEMBER("csell_sym", csell, sign, "i"),
    MEMBER("csell_sym", csell, slice, "qqqiBBBB"),
    MEMBER("csell_sym", csell, step, "iM"),
    MEMBER("csell_sym", csell, columns, "B"),
    MEMBER("csell_sym", csell, values, "B"),
    MEMBER("csell_sym", csell, codebook, "d"),
    MEMBER("csell_sym", csell, long_row, "i"),
    MEMBER("csell_sym", csell, long_ptr, "i"),
    MEMBER("csell_sym", csell, long_col, "i"),
    MEMBER("csell_sym", csell, long_values, "d"),
    MEMBER("sell16", sell16_slices, value_code, "i"),
    MEMBER("sell16", sell16_slices, slice, "qqiiii"),
    MEMBER("sell16", sell16_slices, perm, "H"),
    MEMBER("sell16", sell16_slices, length, "i"),
    MEMBER("sell16", sell16_slices, columns, "H"),
    MEMBER("sell16", sell16_slices, values, "B"),
    MEMBER("sell16", sell16_slices, codebook, "d"),
    MEMBER("csb_interleaved", csb_interleaved, value_code, "i"),
    MEMBER("csb_interleaved", csb_interleaved, first_row, "i"),
    MEMBER("csb_interleaved", csb_interleaved, block_ptr, "i"),
    MEMBER("csb_interleaved", csb_interleaved, local, "p"),
    MEMBER("csb_interleaved", csb_interleaved, values, "B"),
    MEMBER("csb_interleaved", csb_interleaved, codebook, "d"),
    MEMBER("csr5", csr5, row_ptr, "i"),
    MEMBER("csr5", csr5, tile_ptr, "i"),
    MEMBER("csr5", csr5, tile_desc, "M"),
    MEMBER("csr5", csr5, empty_ptr, "i"),
    MEMBER("csr5", csr5, empty_offset, "i"),
    MEMBER("csr5", csr5, col_idx, "i"),
    MEMBER("csr5", csr5, values, "d"),
    MEMBER("hubs", hubs, value_code, "i"),
    MEMBER("hubs", hubs, hot, "i"),
    MEMBER("hubs", hubs, order, "i"),
    MEMBER("hubs", hubs, cut, "qq"),
    MEMBER("hubs", hubs, segment, "iiii"),
    MEMBER("hubs", hubs, slice, "IIIBBBB"),
    MEMBER("hubs", hubs, word, "I"),
    MEMBER("hubs", hubs, value, "B"),
    MEMBER("hubs", hubs, codebook, "d"),
    MEMBER("xcache", xcache_rows, value_code, "i"),
    MEMBER("xcache", xcache_rows, block, "qqqqiiiiiiii"),
    MEMBER("xcache", xcache_rows, slice, "I"),
    MEMBER("xcache", xcache_rows, cuts, "p"),
    MEMBER("xcache", xcache_rows, order, "H"),
    MEMBER("xcache", xcache_rows, length, "B"),
    MEMBER("xcache", xcache_rows, need, "H"),
    MEMBER("xcache", xcache_rows, place, "H"),
    MEMBER("xcache", xcache_rows, values, "B"),
    MEMBER("xcache", xcache_rows, codebook, "d"),
};

/* The parameters that are drawn; the others have their defaults. */
static const struct {
    const char *format;
    spmv_param_id id;
    int64_t value;
} settings[] UNUSED = {
    {"sell", SPMV_slice, 4},
    {"sell", SPMV_sigma, 8},
    {"bsr", SPMV_shape_rows, 2},
    {"bsr", SPMV_shape_cols, 2},
    {"cmrs", SPMV_height, 4},
    {"cmrs", SPMV_sorted, 0},
    {"hybrid", SPMV_boundary, 3},
    {"hyb", SPMV_boundary, 3},
    {"csb", SPMV_tile, 4},
    {"spc5", SPMV_height, 2},
    {"csell", SPMV_cut, 6},
    {"sell16", SPMV_sigma, 8},
    {"csb_interleaved", SPMV_tile, 8},
    {"xcache", SPMV_height, 8},
    {"xcache", SPMV_cut, 4},
    {"csr5", SPMV_lanes, 4},
    {"csr5", SPMV_height, 2},
    {"hubs", SPMV_hubs, 2},
    {"csr_columns", SPMV_grid_cols, 2},
};

/* Checksums per format. After an intended change of a format, insert the checksum that
 * test_store_bytes prints. csr5 has one per number of lanes: f64 or f32 in vectors of 32 or 64
 * bytes. */
static const struct expected {
    const char *format;
    uint64_t hash;
    int64_t lanes; /* 0: the format takes none */
} expected[] UNUSED = {
    {"csr_columns", 0x6a667196554f4813, 0}, {"hubs", 0x5cf0a69019fe5edc, 0},
    {"coo", 0x76a5a2ccefdba3f0, 0},         {"csb", 0xbe00307e9d30e310, 0},
    {"spc5", 0xfa855f64591ab5d0, 0},        {"sss", 0x7a35c43272e60a28, 0},
    {"csr", 0x1a8d9373c32dd890, 0},         {"ell", 0x207eb6b9f9e4ed50, 0},
    {"dia", 0x629722975495a300, 0},         {"sell", 0xe3ebed03e7c69080, 0},
    {"bsr", 0xddcf074b6bc4a7a8, 0},         {"cmrs", 0x69cc53dc777357f7, 0},
    {"hybrid", 0x2cd13a6b51843880, 0},      {"hyb", 0x55ff92896b281a60, 0},
    {"csell", 0x3256b65885796300, 0},       {"csell_sym", 0x69ebba05d0eb80a8, 0},
    {"sell16", 0x2b1651679cf086e4, 0},      {"csb_interleaved", 0xdcc2ba09d1ad4490, 0},
    {"xcache", 0xc0018abbc7ac6200, 0},      {"csr5", 0xc7ef93054060d990, 4},
    {"csr5", 0x1dd9845c131ee9e8, 8},        {"csr5", 0x6d3eb0bee258d5b8, 16},
    {"ell_pitched", 0x6fe4c20e6a735180, 0}, {"csell_lists", 0xdebe1402d176fff8, 0},
    {"bittcf", 0x44a20cd0aabd3110, 0},
};
#endif
