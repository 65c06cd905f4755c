/* suite.h: a test file is some TEST(name) {...} and a TEST_MAIN. Each test registers itself before
 * main, which runs them in the order of the file. */
#ifndef SPMV_SUITE_H
#define SPMV_SUITE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* TEST_WITH: set_up runs before the test and tear_down after it; NULL: none. */
#define TEST(name) TEST_WITH(name, NULL, NULL)
#define TEST_WITH(name, set_up, tear_down) \
    static void name(void **state); \
    __attribute__((constructor)) static void register_##name(void) { \
        register_test(__LINE__, (struct CMUnitTest){#name, name, set_up, tear_down, NULL}); \
    } \
    static void name(__attribute__((unused)) void **state)

/* begin(argc, argv) reads the command line; set_up and tear_down are the group's, or NULL. */
#define TEST_MAIN(begin, set_up, tear_down) \
    int main(int argc, char **argv) { \
        begin(argc, argv); \
        return run_suite(set_up, tear_down); \
    }

static struct {
    struct CMUnitTest tests[64]; /* cmocka passes over those without a function */
    int line[64], count;
} suite __attribute__((unused));

static inline void register_test(int line, struct CMUnitTest test) {
    int at = suite.count++;
    if (suite.count > 64) abort();
    for (; at > 0 && suite.line[at - 1] > line; at--) {
        suite.tests[at] = suite.tests[at - 1];
        suite.line[at] = suite.line[at - 1];
    }
    suite.tests[at] = test;
    suite.line[at] = line;
}

static inline int run_suite(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    return cmocka_run_group_tests_name("tests", suite.tests, set_up, tear_down);
}

static inline void begin_as_it_is(int argc, char **argv) {
    (void)argc, (void)argv;
}

/* Restarts the program with OMP_WAIT_POLICY=passive, unless the user has set it: tests use more
 * threads than cores, and OpenMP reads its environment only at the start. */
static inline void wait_without_spinning(int argc, char **argv) {
    (void)argc;
    if (getenv("OMP_WAIT_POLICY")) return;
    setenv("OMP_WAIT_POLICY", "passive", 1);
    execv("/proc/self/exe", argv);
}

#endif
