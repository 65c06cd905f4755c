/* test_mmio.c: number.c and mmio.c: every legal kind of file, every refusal with its text. */
#include "reading.h"
#include "spmv_host.h"

/* ---- numbers -------------------------------------------------------------------------------- */

static void check_number(const char *text) {
    double value = -1, expected = strtod(text, NULL);
    size_t length;
    scan(text, &value, &length);
    if (length != strlen(text) || memcmp(&value, &expected, sizeof value) != 0)
        fail_msg("'%s' gave %a, strtod %a", text, value, expected);
}

TEST(test_numbers_random) {
    char text[3000];
    for (int i = 0; i < 300000; i++) {
        uint64_t bits = random_bits();
        double value;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value)) continue;
        static const int digits[] = {17, 4, 16, 15, 25};
        for (size_t k = 0; k < LENGTH(digits); k++) {
            snprintf(text, sizeof text, "%.*g", digits[k], value);
            check_number(text);
        }
        snprintf(text, sizeof text, "%.3e", value);
        check_number(text);
        snprintf(text, sizeof text, "%.17g", ldexp((double)(int64_t)bits, -63)); /* -1 .. 1 */
        check_number(text);
        snprintf(text, sizeof text, "%" PRIu64 "e%d", bits >> bits % 61,
                 (int)(random_bits() % 700) - 350);
        check_number(text);
        snprintf(text, sizeof text, "%" PRIu64 ".%" PRIu64 "%" PRIu64, bits >> 20, random_bits(),
                 random_bits());
        check_number(text);
        bits = (bits & ((1ull << 52) - 1)) >> bits % 52; /* denormal */
        memcpy(&value, &bits, sizeof value);
        snprintf(text, sizeof text, "%.17g", value);
        check_number(text);
    }
}

/* Exactly between two doubles, and a hair beside it. */
TEST(test_numbers_halfway) {
    char text[3000];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_bits() & ~(1ull << 63);
        double value;
        if (i % 4 == 0) bits &= (1ull << 52) - 1;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value) || !isfinite(nextafter(value, INFINITY))) continue;
        long double middle = ((long double)value + (long double)nextafter(value, INFINITY)) / 2;
        snprintf(text, sizeof text, "%.1100Le", middle);
        check_number(text);
        char *last = strchr(text, 'e') - 1;
        *last = '1';
        check_number(text);
        snprintf(text, sizeof text, "%.20Le", middle);
        check_number(text);
        uint64_t odd = (1ull << 53) + 1 + 2 * (random_bits() % (1ull << 52));
        snprintf(text, sizeof text, "%" PRIu64, odd << random_bits() % 10);
        check_number(text);
        snprintf(text, sizeof text, "%.30f", (double)odd / 1024 + 0.5 / 1024);
        check_number(text);
    }
}

TEST(test_numbers_spellings) {
    static const char *const brief[] = {
        "0",      "-0",    "+0",    "1",      "-1",        "+1",       ".5",
        "5.",     "-.5e1", "1e5",   "1.E+05", "1e-400",    "-1e-400",  "1e400",
        "-1e400", "inf",   "INF",   "-inf",   "+Infinity", "1e23",     "8.5e22",
        "1e22",   "1e-22", "3e-23", "0.1e-6", "12345678",  "123456789"};
    static const char *const plain[] = {"00000000000000000000000001",
                                        "0.00000000000000000000000000000000000001",
                                        "1e99999999999999999999",
                                        "1e-99999999999999999999",
                                        "0e99999999999999999999",
                                        "4.9406564584124654e-324",
                                        "2.4703282292062327e-324",
                                        "2.4703282292062328e-324",
                                        "2.2250738585072011e-308",
                                        "2.2250738585072014e-308",
                                        "1.7976931348623157e308",
                                        "1.7976931348623158e308",
                                        "1.7976931348623159e308",
                                        "179769313486231580793728971405301e276",
                                        "9007199254740993",
                                        "9007199254740992.999999999999999999",
                                        "1.00000000000000011102230246251565404236316680908203125",
                                        "1.00000000000000011102230246251565404236316680908203126",
                                        "7.3177701707893310e+15",
                                        "123456789012345678901234567890",
                                        "18446744073709551615",
                                        "18446744073709551616e-300",
                                        "8.988465674311579538e307",
                                        "1234567812345678",
                                        "12345678.12345678"};
    static const char *const refused[] = {"",   "+",   "-",   ".",   "-.", "e5", ".e5",
                                          "1e", "1e+", "1d",  "1d-", "x",  " 1", "+-1",
                                          "in", "na",  "--1", "_1",  ","};
    static const struct {
        const char *text;
        size_t length;
    } prefixes[] = {{"0x10", 1},    {"1.2.3", 3}, {"1,5", 1}, {"nan(1)", 3},
                    {"infinit", 3}, {"1f", 1},    {"1 2", 1}};
    static const char *const fortran[] = {"1D+05", "1d5", "1.d5", "+1D05", "100000D0"};
    double value;
    size_t length;
    for (size_t k = 0; k < LENGTH(brief); k++) check_number(brief[k]);
    for (size_t k = 0; k < LENGTH(plain); k++) check_number(plain[k]);
    for (size_t k = 0; k < LENGTH(refused); k++)
        if (scan(refused[k], &value, &length)) fail_msg("'%s' taken for a number", refused[k]);
    for (size_t k = 0; k < LENGTH(prefixes); k++) {
        assert_non_null(scan(prefixes[k].text, &value, &length));
        assert_int_equal(length, prefixes[k].length);
    }
    for (size_t k = 0; k < LENGTH(fortran); k++) {
        assert_non_null(scan(fortran[k], &value, &length));
        assert_int_equal(length, strlen(fortran[k]));
        assert_true(value == 1e5);
    }
    assert_non_null(scan("-NaN", &value, &length));
    assert_true(isnan(value) && length == 4);
}

TEST(test_numbers_long) {
    char text[3800];
    for (int zeros = 0; zeros < 1500; zeros += 37) { /* 0.000...1e<zeros> and 1000...e-<zeros> */
        snprintf(text, sizeof text, "0.%0*d1e%d", zeros + 1, 0, zeros);
        check_number(text);
        snprintf(text, sizeof text, "1%0*de-%d", zeros + 1, 0, zeros);
        check_number(text);
        snprintf(text, sizeof text, "9007199254740993.%0*d1", zeros + 1, 0);
        check_number(text);
    }
}

/* ---- legal files ---------------------------------------------------------------------------- */

static const struct {
    const char *text, *expected;
} legal[] = {
    {REAL "2 3 2\n1 1 1.5\n2 3 -2\n", "2x3 real general 1,1=1.5 2,3=-2"},
    {REAL "2 3 2\n2 3 -2\n1 1 1.5", "2x3 real general 2,3=-2 1,1=1.5"},
    {"%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n3 1 2\n2 3 3\n",
     "3x3 real symmetric 1,1=1 3,1=2 2,3=3"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 3\n2 1 1\n1 3 2\n2 2 0\n",
     "3x3 real skew 2,1=1 1,3=2 2,2=0"},
    {INTEGER "2 2 4\n1 1 -7\n1 2 +3\n2 1 9007199254740993\n2 2 36893488147419103232\n",
     "2x2 integer general 1,1=-7 1,2=3 2,1=9007199254740992 2,2=3.6893488147419103e+19"},
    {"%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 5\n",
     "1x1 integer symmetric 1,1=5"},
    {REAL "2 2000 3\n1 1000 1.5 % slow to read\n2 1500 2\n2 2000 3 % too\n",
     "2x2000 real general 1,1000=1.5 2,1500=2 2,2000=3"},
    {"%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 5\n",
     "2x2 integer skew 2,1=5"},
    {PATTERN "2 2 2\n1 1\n2 1\n", "2x2 pattern general 1,1 2,1"},
    {PATTERN
     "12345678 123456789 2\n12345678 123456789\n0000000001 00000001", /* eight digits and more */
     "12345678x123456789 pattern general 12345678,123456789 1,1"},
    {"%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n",
     "2x2 pattern symmetric 2,1"},
    {"%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n",
     "2x3 real general 1,1=1 2,1=2 1,2=3 2,2=4 1,3=5 2,3=6"},
    {"%%MatrixMarket matrix array integer general\n2 1\n0\n-4\n",
     "2x1 integer general 1,1=0 2,1=-4"},
    {"%%MatrixMarket matrix array real symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
     "3x3 real symmetric 1,1=1 2,1=2 3,1=3 2,2=4 3,2=5 3,3=6"},
    {"%%MatrixMarket matrix array integer symmetric\n1 1\n9", "1x1 integer symmetric 1,1=9"},
    {"%%MatrixMarket matrix array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n6\n",
     "4x4 real skew 2,1=1 3,1=2 4,1=3 3,2=4 4,2=5 4,3=6"},
    {"%%MatrixMarket matrix array integer skew-symmetric\n2 2\n8\n", "2x2 integer skew 2,1=8"},
    {"%%MatrixMarket matrix array real skew-symmetric\n1 1\n", "1x1 real skew"},
    {"%%MatrixMarket matrix array real general\n0 5\n", "0x5 real general"},
    {"%%MatrixMarket matrix array real skew-symmetric\n0 0\n", "0x0 real skew"},
    {"%%matrixmarket MATRIX Coordinate REAL General\n1 1 1\n1 1 1\n", "1x1 real general 1,1=1"},
    {REAL "0 0 0\n", "0x0 real general"},
    {REAL "0 7 0", "0x7 real general"},
    {REAL "7 0 0\n\n%\n", "7x0 real general"},
    {REAL "2147483647 2147483647 1\n2147483647 2147483647 1\n",
     "2147483647x2147483647 real general 2147483647,2147483647=1"},
    {"%%MatrixMarket matrix coordinate real general\r\n% c\r\n2 2 2\r\n1 1 1\r\n\r\n2 2 2\r\n",
     "2x2 real general 1,1=1 2,2=2"},
    {"%%MatrixMarket\tmatrix  coordinate real general  \n%a\n\n \t\n  2\t2 2 \n\t1 \t1\t1 \n%b\n\n "
     "  %c\n2 2 2\n%",
     "2x2 real general 1,1=1 2,2=2"},
    {REAL "1 1 3\n1 1 1\n1 1 1\n1 1 0\n",
     "1x1 real general 1,1=1 1,1=1 1,1=0"}, /* duplicates and zeros stay */
    {REAL "+3 03 3\n+1 01 +1\n2 2 .5\n3 3 5.\n", "3x3 real general 1,1=1 2,2=0.5 3,3=5"},
    {REAL "1 9 9\n1 1 1e5\n1 2 1.E+05\n1 3 1D+05\n1 4 1d5\n1 5 -0\n1 6 inf\n1 7 -Infinity\n1 8 "
          "-0.0\n1 9 1e-999\n",
     "1x9 real general 1,1=100000 1,2=100000 1,3=100000 1,4=100000 1,5=-0 1,6=inf 1,7=-inf 1,8=-0 "
     "1,9=0"},
    {REAL
     "1 1 1\n1 1 "
     "0.100000000000000005551115123125782702118158340454101562500000000000000000000000000001\n",
     "1x1 real general 1,1=0.10000000000000001"},
};

/* Compressed rows of as many rows as can be take 34 GB: a machine that has less refuses them. */
TEST(test_legal) {
    for (size_t k = 0; k < LENGTH(legal); k++)
        for (int threads = 1; threads <= 4; threads++)
            for (int piped = 0; piped < 2; piped++) {
                spmv_coo coo;
                size_t n = strlen(legal[k].text);
                spmv_status status =
                    piped ? read_piped(legal[k].text, n, threads, &coo)
                          : read_matrix(write_bytes("a.mtx", legal[k].text, n), threads, &coo);
                if (status == SPMV_E_NOMEM && strstr(legal[k].text, "2147483647") &&
                    spmv_host_free_bytes() < (size_t)40e9)
                    continue;
                if (status != SPMV_OK) fail_msg("%s\n%s", spmv_ctx_error(ctx), legal[k].text);
                assert_string_equal(words_of(&coo), legal[k].expected);
                assert_true(coo.row != NULL && coo.col != NULL);
                spmv_coo_free(&coo);
            }
    unlink(name);
}

/* ---- refused files -------------------------------------------------------------------------- */

#define BANNER_WANTED "'%%MatrixMarket matrix coordinate real general'"
static const struct {
    const char *text, *expected; /* the message behind the path */
} refused[] = {
    {"", ":1: found an empty file, expected " BANNER_WANTED " or the like"},
    {"\n", ":1: found a file without a banner, expected " BANNER_WANTED " or the like"},
    {"% no banner\n1 1 0\n", ":2: found numbers, expected " BANNER_WANTED
                             " or the like above them, and a line with 'rows columns entries'"},
    {"hello world\n",
     ":1: found 'hello', expected " BANNER_WANTED " or the like: is this a Matrix Market file?"},
    {"abcdefghijklmnopqrstuvwxyz\n",
     ":1: found 'abcdefghijklmnopqrstuvwx...', expected " BANNER_WANTED
     " or the like: is this a Matrix Market file?"},
    {"%%MatrixMarket matrix coordinate\n1 1 0\n",
     ":1: found a banner of 3 words, expected 5, as in " BANNER_WANTED},
    {"%%MatrixMarket matrix coordinate real general x\n",
     ":1: found a banner of 6 words, expected 5, as in " BANNER_WANTED},
    {"%%MatrixMarket graph coordinate real general\n", ":1: found 'graph', expected 'matrix'"},
    {"%%MatrixMarket vector array real symmetric\n", ":1: found a vector that is not general"},
    {"%%MatrixMarket matrix list real general\n",
     ":1: found 'list', expected 'coordinate' or 'array'"},
    {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n",
     ":1: found a complex matrix, expected real, integer or pattern: complex values are not "
     "supported"},
    {"%%MatrixMarket matrix coordinate complex hermitian\n",
     ":1: found a complex matrix, expected real, integer or pattern: complex values are not "
     "supported"},
    {"%%MatrixMarket matrix coordinate decimal general\n",
     ":1: found 'decimal', expected 'real', 'integer' or 'pattern'"},
    {"%%MatrixMarket matrix coordinate real diagonal\n",
     ":1: found 'diagonal', expected 'general', 'symmetric' or 'skew-symmetric'"},
    {"%%MatrixMarket matrix array pattern general\n1 1\n",
     ":1: found a pattern array, expected real or integer: an array has no pattern"},
    {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n",
     ":1: found a skew-symmetric pattern, expected real or integer: a pattern has no signs"},
    {REAL, ":1: found the end of the file, expected a line with the matrix's size"},
    {REAL "% only\n\n%comments",
     ":4: found the end of the file, expected a line with the matrix's size"},
    {REAL "1 1\n", ":2: found 2 words, expected 'rows columns entries'"},
    {REAL "%\n1\n", ":3: found 1 word, expected 'rows columns entries'"},
    {REAL "1 1 1 1\n", ":2: found 4 words, expected 'rows columns entries'"},
    {"%%MatrixMarket matrix array real general\n1 1 1\n",
     ":2: found 3 words, expected 'rows columns'"},
    {REAL "x 1 1\n", ":2: found 'x' as the number of rows, expected an integer from 0"},
    {REAL "1 1.5 1\n", ":2: found '1.5' as the number of columns, expected an integer from 0"},
    {REAL "1 1 -1\n", ":2: found '-1' as the number of entries, expected an integer from 0"},
    {REAL "-1 1 1\n", ":2: found '-1' as the number of rows, expected an integer from 0"},
    {REAL "2147483648 1 1\n",
     ":2: found '2147483648' as the number of rows, expected at most 2147483647: rows and "
     "columns are numbered in 32 bits"},
    {REAL "1 99999999999999999999 1\n",
     ":2: found '99999999999999999999' as the number of columns, expected at most "
     "2147483647: rows and columns are numbered in 32 bits"},
    {REAL "1 1 99999999999999999999\n",
     ":2: found '99999999999999999999' as the number of entries, expected an integer from 0"},
    {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 1\n",
     ":2: found a symmetric matrix of 2 rows and 3 columns, expected as many columns as rows"},
    {"%%MatrixMarket matrix array real skew-symmetric\n3 2\n1\n",
     ":2: found a skew-symmetric matrix of 3 rows and 2 columns, expected as many columns as rows"},
    {REAL "0 5 1\n1 1 1\n", ":2: found 1 entries, expected 0 in a matrix without rows or columns"},
    {REAL "2 2 1\nx 1 1\n", ":3:1: found 'x' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n3 1 1\n", ":3:1: found '3' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n0 1 1\n", ":3:1: found '0' as the row, expected an integer from 1 to 2: rows and "
                            "columns count from 1"},
    {REAL "2 2 1\n-1 1 1\n", ":3:1: found '-1' as the row, expected an integer from 1 to 2"},
    {REAL "2 2 1\n1.5 1 1\n", ":3:1: found '1.5' as the row, expected an integer from 1 to 2"},
    {REAL "2 9 1\n1 10 1\n", ":3:3: found '10' as the column, expected an integer from 1 to 9"},
    {REAL "2 9 1\n1 4294967297 1\n",
     ":3:3: found '4294967297' as the column, expected an integer from 1 to 9"},
    {REAL "2 9 1\n1 18446744073709551617 1\n",
     ":3:3: found '18446744073709551617' as the column, expected an integer from 1 to 9"},
    {REAL "2 2 1\n1 1 x\n", ":3:5: found 'x' as the value, expected a number"},
    {REAL "2 2 1\n1 1 0x1p3\n", ":3:5: found '0x1p3' as the value, expected a number in decimal"},
    {REAL "2 2 1\n1 1 1e\n", ":3:5: found '1e' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1.2.3\n", ":3:5: found '1.2.3' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1,5\n",
     ":3:5: found '1,5' as the value, expected a number without a comma: a point "
     "begins the fraction"},
    {REAL "2 2 1\n1 1 nano\n", ":3:5: found 'nano' as the value, expected a number"},
    {REAL "2 2 1\n1 1 1%\n", ":3:5: found '1%' as the value, expected a number"},
    {REAL "2 2 2\n1 1 1\n1\t2\n% long enough\n", ":4: found 2 words, expected 'row column value': "
                                                 "without values the banner says 'pattern'"},
    {REAL "2 2 2\n1 1 1\n1\n2 3\n% long enough\n", ":4: found 1 word, expected 'row column value'"},
    {REAL "2 2 1\n1 1 1 1\n", ":3: found 4 words, expected 'row column value'"},
    {"%%MatrixMarket vector coordinate pattern general\n3 1\n2 5\n",
     ":3: found 2 words, expected 'row'"},
    {"%%MatrixMarket vector coordinate real general\n3 1\n2.5\n",
     ":3: found 1 word, expected 'row value'"},
    {PATTERN "2 2 1\n1 1 1\n",
     ":3: found 3 words, expected 'row column': with values the banner says 'real'"},
    {PATTERN "2 2 1\n1 2x\n", ":3:3: found '2x' as the column, expected an integer from 1 to 2"},
    {INTEGER "2 2 1\n1 1 1.5\n",
     ":3:5: found '1.5' as the value, expected an integer: 'real' in the banner allows it"},
    {INTEGER "2 2 1\n1 1 1e-3\n",
     ":3:5: found '1e-3' as the value, expected an integer: 'real' in the banner allows it"},
    {INTEGER "2 2 1\n1 1 .5\n",
     ":3:5: found '.5' as the value, expected an integer: 'real' in the banner allows it"},
    {INTEGER "2 2 1\n1 1 NA\n", ":3:5: found 'NA' as the value, expected an integer: it stands for "
                                "a value that is missing; nan is read"},
    {REAL "2 2 1\n\"1\" 1 1\n",
     ":3:1: found '\"1\"' as the row, expected an integer from 1 to 2 without quotes"},
    {REAL "2 2 1\n1 3.0 1\n", ":3:3: found '3.0' as the column, expected an integer from 1 to 2"},
    {REAL "2 2 1\n1 1e400 1\n",
     ":3:3: found '1e400' as the column, expected an integer from 1 to 2"},
    {REAL "2 2 1\n1 1 np.float64(1.5)\n",
     ":3:5: found 'np.float64(1.5)' as the value, expected a number: Python's repr() prints this, "
     "str() and float() do not"},
    {REAL "2 2 1\n1 1 1.5+2i\n",
     ":3:5: found '1.5+2i' as the value, expected a number: complex values are not supported"},
    {REAL "2 2 1\n1 1 5;\n",
     ":3:5: found '5;' as the value, expected a number without a semicolon"},
    {REAL "2 2 1\n1 1 1_000\n",
     ":3:5: found '1_000' as the value, expected a number, its digits not in groups"},
    {REAL "1,000 2 1\n1 1 1\n", ":2: found '1,000' as the number of rows, expected an integer from "
                                "0 without a comma: a point begins the fraction"},
    {INTEGER "2 2 1\n1 1 nan\n", ":3:5: found 'nan' as the value, expected an integer"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n2 3\n",
     ":4: found 2 words, expected 'value': of an array one value a line, column by column"},
    {"%%MatrixMarket matrix array real general\n2 1\n1\n.\n",
     ":4:1: found '.' as the value, expected a number"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 3 -2\n",
     ":4:5: found '-2' on the diagonal, expected 0 in a skew-symmetric matrix"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 1\n3 3 1e-300\n",
     ":4:5: found '1e-300' on the diagonal, expected 0 in a skew-symmetric matrix"},
    {REAL "2 2 1\n1 1 1\n% c\n2 2 1\n",
     ":5: found an entry more than the 1 of line 2, expected the end of the file"},
    {REAL "2 2 1\n1 1 1\nrubbish\n", ":4: found 1 word, expected 'row column value'"},
    {REAL "2 2 0\n1 1 1\n",
     ":3: found an entry more than the 0 of line 2, expected the end of the file"},
    {REAL "2 2 3\n1 1 1\n%%%%%%%%%%%%%\n1 2 1\n",
     ":5: found the end of the file after 2 entries, expected the 3 of line 2"},
    {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3.0000\n\n",
     ":6: found the end of the file after 3 entries, expected the 4 of an array of 2 x 2 "
     "(line 2)"},
    {"%%MatrixMarket matrix array real general\n3 1\n1\n2\n3\n4\n",
     ":6: found an entry more than the 3 of an array of 3 x 1 (line 2), expected the end of the "
     "file"},
    {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n4\n",
     ":6: found an entry more than the 3 of a symmetric array of 2 x 2 (line 2), expected the end "
     "of the file"},
    {"%%MatrixMarket matrix array real skew-symmetric\n2 2\n1\n2\n",
     ":4: found an entry more than the 1 of a skew-symmetric array of 2 x 2 (line 2), expected the "
     "end of the file"},
};

TEST(test_refused) {
    for (size_t k = 0; k < LENGTH(refused); k++)
        check_refused(refused[k].text, strlen(refused[k].text), refused[k].expected);
    static const char zero[] = REAL "2 2 1\n1 1 1\0\n";
    check_refused(zero, sizeof zero - 1,
                  ":3:6: found the byte 0x00 (a NUL), expected digits, blanks and line ends");
    static const char alone[] = REAL "2 2 1\n\0 1 1 \n";
    check_refused(alone, sizeof alone - 1,
                  ":3:1: found the byte 0x00 (a NUL), expected digits, blanks and line ends");
}

/* ---- spellings that other programs write ----------------------------------------------------- */

static const struct {
    const char *text, *expected, *note; /* its lines behind the path */
} dialects[] = {
    {"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 2\n1 1 5\n2 2 7\n",
     "2x2 integer general 1,1=5 2,2=7", ":1: 'unsigned-integer' is read as 'integer'"},
    {INTEGER
     "2 2 4\n1 1 9007199254740993\n1 2 -9007199254740993\n2 1 18446744073709551615\n2 2 5\n",
     "2x2 integer general 1,1=9007199254740992 1,2=-9007199254740992 2,1=1.8446744073709552e+19 "
     "2,2=5",
     ":3: an integer beyond 2^53 is read as the nearest double, here first"},
    {INTEGER "2 2 3\n1 1 9007199254740992\n1 2 -9007199254740994\n2 1 +018446744073709551616\n",
     "2x2 integer general 1,1=9007199254740992 1,2=-9007199254740994 2,1=1.8446744073709552e+19",
     ""},
    {"%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n-9007199254740993\n",
     "2x2 integer symmetric 1,1=1 2,1=2 2,2=-9007199254740992",
     ":5: an integer beyond 2^53 is read as the nearest double, here first"},
    {REAL "1 1 1\n1 1 9007199254740993\n", "1x1 real general 1,1=9007199254740992", ""},
    {"%%MatrixMarket matrix coordinate unsigned-integer skew-symmetric\n2 2 1\n2 1 "
     "18446744073709551615\n",
     "2x2 integer skew 2,1=1.8446744073709552e+19",
     ":1: 'unsigned-integer' is read as 'integer': half of a skew-symmetric matrix is negative|:3: "
     "an integer beyond 2^53 is read as the nearest double, here first"},
    {"%%MatrixMarket matrix array uint64 skew\n2 2\n7\n", "2x2 integer skew 2,1=7",
     ":1: 'uint64' is read as 'integer': half of a skew-symmetric matrix is negative|:1: 'skew' is "
     "read as 'skew-symmetric'"},
    {"%%MatrixMarket matrix array double general\n1 1\n5\n", "1x1 real general 1,1=5",
     ":1: 'double' is read as 'real'"},
    {"%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 5\n2 1 7\n",
     "2x2 real symmetric 1,1=5 2,1=7", ":1: 'hermitian' is read as 'symmetric'"},
    {"%MatrixMarket matrix coordinate INT Unsymmetric\n1 1 1\n1 1 5\n", "1x1 integer general 1,1=5",
     ":1: '%MatrixMarket' is read as '%%MatrixMarket'|:1: 'INT' is read as 'integer'|:1: "
     "'Unsymmetric' is read as 'general'"},
    {"%% MatrixMarket matrix coordinate pattern\n1 1 1\n1 1\n", "1x1 pattern general 1,1",
     ":1: '%%\\x20MatrixMarket' is read as '%%MatrixMarket'|:1: a banner without a symmetry is "
     "read "
     "as 'general'"},
    {"\n% of a program\n" REAL "1 1 1\n1 1 5\n", "1x1 real general 1,1=5",
     ":3: the banner is expected in line 1"},
    {"\xef\xbb\xbf" REAL "1 1 1\n1 1 5\n", "1x1 real general 1,1=5", ""},
    {"%%MatrixMarket vector array real general\n2\n3\n4\n", "2x1 real general 1,1=3 2,1=4", ""},
    {"%%MatrixMarket vector coordinate real general\n3 1\n2 4\n", "3x1 real general 2,1=4", ""},
    {"%%MatrixMarket vector coordinate pattern general\n3 2\n2\n1", "3x1 pattern general 2,1 1,1",
     ""},
    {REAL "1 4 4\n1 1 1.5+100\n1 2 -.5-3\n1 3 2.D+01\n1 4 1.5q2\n",
     "1x4 real general 1,1=1.4999999999999999e+100 1,2=-0.00050000000000000001 1,3=20 1,4=150",
     ":3: an exponent such as 1.5+100, 1.5Q+100, 1.5f0 or 1.5*^100 is read, here first"},
    {REAL "1 2 2\n1 1 1.5f0\n1 2 -2.5*^-3\n", "1x2 real general 1,1=1.5 1,2=-0.0025000000000000001",
     ":3: an exponent such as 1.5+100, 1.5Q+100, 1.5f0 or 1.5*^100 is read, here first"},
    {REAL "1 3 3\n1 1 1\n1 2 NaN\n1 3 -inf % no end\n", "1x3 real general 1,1=1 1,2=nan 1,3=-inf",
     ":4: a word is read as the value inf or nan, here first|:5: a comment behind an entry is "
     "passed over, here first"},
    {REAL "1 3 3\n1 1 1.#INF\n1 2 -1.#IND00\n1 3 -nan(ind)\n",
     "1x3 real general 1,1=inf 1,2=-nan 1,3=-nan",
     ":3: a word is read as the value inf or nan, here first"},
    {"%%MatrixMarket matrix coordinate uint symmetric\n2 2 3\n1 1 5\n1 2 7\n2 1 7\n",
     "2x2 integer symmetric 1,1=5 1,2=7 2,1=7",
     ":1: 'uint' is read as 'integer'|:4: an entry above the diagonal counts below it, too, as the "
     "banner's "
     "symmetry has it; where both are in the file they are added, here first"},
    {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 2 7 % odd\n",
     "2x2 real skew 1,2=7",
     ":3: a comment behind an entry is passed over, here first|:3: an entry above the diagonal "
     "counts below "
     "it, too, as the banner's symmetry has it; where both are in the file they are added, here "
     "first"},
    {"%%MatrixMarket matrix coordinate real general % by hand\n1 1 1 % sizes\n1 1 5\n",
     "1x1 real general 1,1=5", ""},
    /* Python's and R's numbers: np.savetxt writes indices with a point, write.table 1e+05. */
    {INTEGER "2 2e0 2.0\n1 1 5.0\n2 2 -1e+05\n", "2x2 integer general 1,1=5 2,2=-100000",
     ":2: a number such as 5.0 or 1e+05 is read as the integer that it is, here first"},
    {REAL "2 2 2\n1.000000000000000000e+00 2.000000000000000000e+00 1\n2 1. 7\n",
     "2x2 real general 1,2=1 2,1=7",
     ":3: a number such as 5.0 or 1e+05 is read as the integer that it is, here first"},
    {"# %%MatrixMarket matrix coordinate integer general\n# a comment\n2 2 2\n# more\n1 1 5 # "
     "one\n2 2 7\n",
     "2x2 integer general 1,1=5 2,2=7",
     ":1: '#\\x20%%MatrixMarket' is read as '%%MatrixMarket'|:2: a comment that begins with # is "
     "passed over, here first|:5: a comment behind an entry is passed over, here first"},
    {REAL "1 1 1\n#\n1 1 5\n", "1x1 real general 1,1=5",
     ":3: a comment that begins with # is passed over, here first"},
    {"%%MatrixMarket matrix coordinate bool general\n2 2 2\n1 1 1\n2 2 0\n",
     "2x2 integer general 1,1=1 2,2=0",
     ":2: the banner's 'bool' is read as 'integer', as entries have values"},
    {"%%MatrixMarket matrix coordinate Logical sym\n%\n2 2 2\n%\n\n1 1 % one\n2 1\n",
     "2x2 pattern symmetric 1,1 2,1",
     ":1: 'sym' is read as 'symmetric'|:3: the banner's 'bool' is read as 'pattern', as entries "
     "have no values|:6: a comment behind an entry is passed over, here first"},
    {"%%MatrixMarket matrix array boolean general\n2 1\ntrue\n.FALSE.\n",
     "2x1 integer general 1,1=1 2,1=0",
     ":2: the banner's 'bool' is read as 'integer', as entries have values|:3: the words true and "
     "false are read as 1 and 0, here first"},
    {REAL "1 2 2\n1 1 T\n1 2 False\n", "1x2 real general 1,1=1 1,2=0",
     ":3: the words true and false are read as 1 and 0, here first"},
    {"%%MatrixMarket matrix coo float32 gen\n1 1 1\n1 1 5\n", "1x1 real general 1,1=5",
     ":1: 'coo' is read as 'coordinate'|:1: 'float32' is read as 'real'|:1: 'gen' is read as "
     "'general'"},
    {"%%Matrix Market sparse symmetric real\n1 1 1\n1 1 5\n", "1x1 real symmetric 1,1=5",
     ":1: '%%Matrix\\x20Market' is read as '%%MatrixMarket'|:1: a banner without 'matrix' is read "
     "as if it had it|:1: a symmetry before the field is read as if it stood behind it|:1: "
     "'sparse' is read as 'coordinate'"},
    {"%%MatrixMarket matrix coordinate real general % d\xe9j\xe0\n1 1 1 % vu \xc3\xa9\n1 1 5\n",
     "1x1 real general 1,1=5", ""},
    {PATTERN "1 2 2\r\n1 1\r\r\n\n\r1 2 %c\r\n", "1x2 pattern general 1,1 1,2",
     ":5: a comment behind an entry is passed over, here first"},
};

TEST(test_dialects) {
    for (size_t k = 0; k < LENGTH(dialects); k++)
        for (int threads = 1; threads <= 2; threads++) {
            spmv_coo coo;
            char wanted[2000] = "";
            size_t n = strlen(dialects[k].text);
            const char *path = write_bytes("a.mtx", dialects[k].text, n);
            if (read_matrix(path, threads, &coo) != SPMV_OK)
                fail_msg("%s\n%s", spmv_ctx_error(ctx), dialects[k].text);
            assert_string_equal(words_of(&coo), dialects[k].expected);
            for (const char *note = dialects[k].note; *note; note += strspn(note, "|")) {
                size_t length = strcspn(note, "|");
                append(wanted + strlen(wanted), "%s%s%.*s", *wanted ? "\n" : "", path, (int)length,
                       note);
                note += length;
            }
            assert_string_equal(spmv_ctx_note(ctx), wanted);
            spmv_coo_free(&coo);
        }
    unlink(name);
}

/* Every word that is taken in a banner, and what the matrix is then. */
static const struct {
    int which; /* word of the banner, after its name */
    const char *words, *meaning;
} spellings[] = {
    {1, "coordinate coordinates coord coo sparse triplet triplets ijv", "coordinate"},
    {1, "array dense", "array"},
    {2,
     "real double float single float32 float64 float16 half real32 real64 double-precision numeric",
     "real"},
    {2,
     "integer unsigned-integer unsigned unsigned_integer uint signed-integer int int32 int64 "
     "uint32 "
     "uint64 int8 int16 uint8 uint16 long unsigned_int bool boolean logical",
     "integer"},
    {2, "pattern binary bool boolean logical", "pattern"},
    {3, "general unsymmetric nonsymmetric asymmetric non-symmetric gen unsym", "general"},
    {3, "symmetric sym symm symmetrical herm self-adjoint selfadjoint hermitian", "symmetric"},
    {3,
     "skew-symmetric skew-hermitian skew_symmetric skewsymmetric skew skew-sym antisymmetric "
     "anti-symmetric",
     "skew"},
};

static void try_spelling(int which, const char *word, const char *meaning) {
    const char *parts[] = {"matrix", "coordinate", "real", "general"};
    char text[200], expected[100];
    spmv_coo coo;
    parts[which] = word;
    const bool listed = which != 1 || meaning[0] == 'c',
               has_values = strcmp(meaning, "pattern") != 0;
    append(text, "%%%%MatrixMarket %s %s %s %s\n%s", parts[0], parts[1], parts[2], parts[3],
           !listed      ? "1 1\n7\n"
           : has_values ? "2 2 1\n2 1 7\n"
                        : "2 2 1\n2 1\n");
    append(expected, "%s %s %s %s", listed ? "2x2" : "1x1", which == 2 ? meaning : "real",
           which == 3 ? meaning : "general",
           !listed      ? "1,1=7"
           : has_values ? "2,1=7"
                        : "2,1");
    if (read_matrix(write_bytes("a.mtx", text, strlen(text)), 1, &coo) != SPMV_OK)
        fail_msg("%s\n%s", spmv_ctx_error(ctx), text);
    if (strcmp(words_of(&coo), expected) != 0)
        fail_msg("%sis '%s', not '%s'", text, words_of(&coo), expected);
    spmv_coo_free(&coo);
}

TEST(test_spellings_of_the_banner) {
    for (size_t k = 0; k < LENGTH(spellings); k++) {
        char words[300], *rest = words;
        append(words, "%s", spellings[k].words);
        for (const char *word; (word = strtok_r(rest, " ", &rest));)
            try_spelling(spellings[k].which, word, spellings[k].meaning);
    }
    unlink(name);
}

#define RETURN \
    " found a carriage return (byte 0x0D) that no line feed follows, expected lines that end in " \
    "LF or CR LF: tr '\\r' '\\n' <FILE mends old Mac line ends"
#define CHARACTERS ", expected digits, blanks and line ends"
static const struct {
    const char *text, *expected;
} unseen[] = {
    {"%%MatrixMarket matrix coordinate real general\r2 2 1\r1 1 1\r", ":1:46:" RETURN},
    {REAL "2 2 1\r1 1 1\r", ":2:6:" RETURN},
    {REAL "2 2 2\n1 1 1\r2 2 2\n", ":3:6:" RETURN},
    {REAL "% a comment\r2 2 1\n1 1 1\n", ":2:12:" RETURN},
    {REAL "2 2 2\n% a comment\r2 2 1\n1 1 1\n", ":3:12:" RETURN},
    {REAL "2 2 1\n1 1\xc2\xa0 1\n",
     ":3:4: found the character U+00A0 (a no-break space)" CHARACTERS},
    {REAL "2 2 1\n1 1 \xe2\x88\x92"
          "1\n",
     ":3:5: found the character U+2212 (a minus sign that is not '-')" CHARACTERS},
    {REAL "2 2 1\n1 1 \xe9\n", ":3:5: found the byte 0xE9 (not ASCII or UTF-8)" CHARACTERS},
    {REAL "2 2 1\n1\v1 1\n", ":3:2: found the byte 0x0B (a vertical tab)" CHARACTERS},
    {REAL "\xef\xbb\xbf"
          "2 2 1\n1 1 1\n",
     ":2:1: found the character U+FEFF (a byte order mark)" CHARACTERS},
    {REAL "2 2 1\n1 1 1\n\x1a",
     ":4:1: found the byte 0x1A (Ctrl-Z, DOS's end of a file)" CHARACTERS},
    {REAL "2 2 1\n1 1 1e400\n", ":3:5: found '1e400' as the value, expected at most 1.7977e+308: "
                                "it is too large for a double"},
    {"PK\x03\x04\n", ": found a zip archive, expected a Matrix Market file: unzip it"},
    {"<!DOCTYPE HTML>\n",
     ": found a web page, expected a Matrix Market file: did a download fail?"},
    {"%PDF-1.7\n", ": found a PDF document, expected a Matrix Market file: name a matrix"},
    {"# Directed graph\n# FromNodeId ToNodeId\n0\t1\n",
     ":3: found numbers, expected " BANNER_WANTED
     " or the like above them, and a line with 'rows columns entries'"},
    {REAL "2 2 1\n1 1 \xe2\x88\x9e\n",
     ":3:5: found the character U+221E (a sign for infinity; inf is read)" CHARACTERS},
    {REAL "2 2 1\n1,1,5\n",
     ":3: found 1 word, expected 'row column value': blanks separate them, not commas"},
    {REAL "2 2 1\n1; 1; 5; 6\n",
     ":3: found 4 words, expected 'row column value': blanks separate them, not semicolons"},
    {REAL "2 2 1\n1 1 1.#INFX\n", ":3:5: found '1.#INFX' as the value, expected a number"},
    {"\xff\xfe%%\n",
     ": found UTF-16 text, expected a Matrix Market file: iconv -f UTF-16 -t UTF-8 converts it"},
};

TEST(test_what_nobody_sees_is_named) {
    for (size_t k = 0; k < LENGTH(unseen); k++)
        check_refused(unseen[k].text, strlen(unseen[k].text), unseen[k].expected);
    static const struct {
        const char text[16], *expected;
    } wide[] = {
        {"%\0%\0M\0a\0\n", "UTF-16 text, expected a Matrix Market file: iconv -f UTF-16LE"},
        {"\0%\0%\0M\0a\0\n", "UTF-16 text, expected a Matrix Market file: iconv -f UTF-16BE"},
        {"\xff\xfe\0\0%\0\0\0\n", "UTF-32 text, expected a Matrix Market file: iconv -f UTF-32"},
    };
    for (size_t k = 0; k < LENGTH(wide); k++) {
        char expected[200];
        snprintf(expected, sizeof expected, ": found %s -t UTF-8 converts it", wide[k].expected);
        check_refused(wide[k].text, sizeof wide[k].text, expected);
    }
}

/* Line ends of a large file that are CR alone: no line of it ever ends. */
TEST(test_returns_without_end) {
    enum { BYTES = 3 << 20 };
    FREED(char) *text = allocate(BYTES);
    for (int banner = 0; banner < 2; banner++) {
        size_t n = (size_t)append(text, "%%%%MatrixMarket matrix array real general%c900000 1%c",
                                  banner ? '\n' : '\r', banner ? '\n' : '\r');
        while (n + 2 < BYTES) n += (size_t)append(text + n, "1\r");
        check_refused(text, n, banner ? ":3:2:" RETURN : ":1:41:" RETURN);
    }
}

TEST(test_vectors) {
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {REAL "2 1 1\n2 1 3\n", "0 3"},
        {REAL "1 3 3\n1 3 1\n1 1 4\n1 3 1.5\n", "4 0 2.5"},
        {PATTERN "3 1 1\n2 1\n", "0 1 0"},
        {"%%MatrixMarket vector coordinate integer general\n3 1\n3 7\n", "0 0 7"},
        {"%%MatrixMarket matrix array real general\n2 1\n-0\n1\n", "-0 1"},
        {REAL "1 1 0\n", "0"},
    };
    for (size_t k = 0; k < LENGTH(cases); k++) {
        const char *path = write_bytes("x.mtx", cases[k].text, strlen(cases[k].text));
        char found[100] = "";
        double *x;
        int64_t n;
        assert_int_equal(spmv_vector_load(ctx, path, &n, &x), SPMV_OK);
        for (int64_t i = 0; i < n; i++) append(found + strlen(found), "%s%g", i ? " " : "", x[i]);
        assert_string_equal(found, cases[k].expected);
        free(x);
    }
    double *x;
    int64_t n;
    const char *path = write_bytes("x.mtx", REAL "2 2 0\n", strlen(REAL "2 2 0\n"));
    assert_int_equal(spmv_vector_load(ctx, path, &n, &x), SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx), "found a coordinate matrix of 2 rows and 2 columns"));
    unlink(name);
}

/* A size that the file's length contradicts is refused before allocation; a stream ends too early
 * instead. */
TEST(test_impossible_size) {
    static const char huge[] = REAL "2147483647 2147483647 4611686018427387904\n1 1 1\n";
    spmv_coo coo;
    char wanted[600];
    assert_int_equal(read_matrix(write_bytes("huge.mtx", huge, strlen(huge)), 2, &coo),
                     SPMV_E_FORMAT);
    snprintf(wanted, sizeof wanted,
             "%s:2: found a size of 4611686018427387904 entries, expected at most 1 in the 6 bytes "
             "that follow: is the file cut short?",
             name);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_zeroed(&coo);
    unlink(name);
    assert_int_equal(read_piped(huge, strlen(huge), 2, &coo), SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx),
               ":3: found the end of the file after 1 entries, expected the 4611686018427387904"));

    static const char array[] =
        "%%MatrixMarket matrix array real symmetric\n2147483647 2147483647\n1\n";
    assert_int_equal(read_matrix(write_bytes("huge.mtx", array, strlen(array)), 2, &coo),
                     SPMV_E_FORMAT);
    assert_non_null(
        strstr(spmv_ctx_error(ctx),
               ":2: found a size of 2305843008139952128 entries, expected at most 1 in"));
    unlink(name);
}

/* A file holds as many entries as lines of the shortest kind fit, the last one without its end. */
TEST(test_shortest_lines) {
    static const struct {
        const char *text;
        int lines, bytes;
    } cases[] = {
        {REAL "9 9 6\n1 1 0\n1 1 0\n1 1 0\n1 1 0\n1 1 0", 5, 29},
        {PATTERN "9 9 6\n1 1\n1 1\n1 1\n1 1\n1 1", 5, 19},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n1\n1", 3, 5},
        {"%%MatrixMarket vector coordinate real general\n9 6\n1 0\n1 0\n1 0\n1 0\n1 0", 5, 19},
        {"%%MatrixMarket vector coordinate pattern general\n9 6\n1\n1\n1", 3, 5},
    };
    for (size_t k = 0; k < LENGTH(cases); k++) {
        char expected[100];
        snprintf(expected, sizeof expected,
                 "entries, expected at most %d in the %d bytes that follow: is the file cut short?",
                 cases[k].lines, cases[k].bytes);
        spmv_coo coo;
        const char *path = write_bytes("short.mtx", cases[k].text, strlen(cases[k].text));
        assert_int_equal(read_matrix(path, 2, &coo), SPMV_E_FORMAT);
        if (!strstr(spmv_ctx_error(ctx), expected)) fail_msg("%s", spmv_ctx_error(ctx));
        unlink(name);
    }
}

TEST(test_no_file) {
    spmv_coo coo;
    char wanted[600], path[200];
    snprintf(path, sizeof path, "%s/absent.mtx", folder);
    assert_int_equal(read_matrix(path, 1, &coo), SPMV_E_IO);
    snprintf(wanted, sizeof wanted, "%s: No such file or directory", path);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_int_equal(read_matrix(folder, 1, &coo), SPMV_E_FORMAT);
    snprintf(wanted, sizeof wanted, "%s: found a directory, expected a Matrix Market file", folder);
    assert_string_equal(spmv_ctx_error(ctx), wanted);
    assert_zeroed(&coo);
}

int main(void) {
    signal(SIGPIPE, SIG_IGN); /* the reader gives up before a pipe is empty */
    spmv_powers_init(&powers);
    return run_suite(set_up, tear_down);
}
