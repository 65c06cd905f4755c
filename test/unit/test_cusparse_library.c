/* test_cusparse_library.c: what is opened as cuSPARSE, with libraries that are made here: two of
 * one name side by side, one that lacks a function, one of another version, no library, no
 * file. */
#include "testing.h"
#include "cuda/cusparse_library.h"
#include <limits.h>

static char folder[64];

/* Builds FOLDER/NAME/libcusparse.so.12: every function that the program calls, except left_out,
 * returns the last component of the version. */
static void make_library(const char *name, int major, int minor, int patch, const char *left_out) {
    static const char *const functions[] = {
#define FUNCTION(name) #name,
#define SPMVOP(name, parameters) #name,
#include "cuda/peers/cusparse_functions.def"
#undef FUNCTION
#undef SPMVOP
    };
    char path[256], command[1024];
    snprintf(path, sizeof path, "mkdir -p %s/%s", folder, name);
    assert_int_equal(system(path), 0);
    snprintf(path, sizeof path, "%s/%s/fake.c", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "int cusparseGetProperty(int k, int *v) {*v = k == 0 ? %d : k == 1 ? %d : %d;",
            major, minor, patch);
    fprintf(file, " return 0;}\n");
    for (int k = 0; k < COUNT(functions); k++)
        if (!left_out || strcmp(functions[k], left_out) != 0)
            fprintf(file, "int cusparse%s(void) {return %d;}\n", functions[k], patch);
    assert_int_equal(fclose(file), 0);
    snprintf(
        command, sizeof command,
        "${CC:-cc} -w -shared -fPIC -Wl,-soname,libcusparse.so.12 -o %s/%s/libcusparse.so.12 %s",
        folder, name, path);
    assert_int_equal(system(command), 0);
}

static cusparse_library load(const char *name) {
    char path[256];
    cusparse_library out;
    snprintf(path, sizeof path, "%s/%s/libcusparse.so.12", folder, name);
    spmv_cusparse_load(path, 12, &out);
    return out;
}

static int call(const cusparse_library *library, int function) {
    int (*own)(void) = (int (*)(void))library->function[function];
    assert_non_null(own);
    return own();
}

TEST(two_of_one_name_stand_side_by_side) {
    make_library("old", 12, 6, 3, "SpMVOp_createPlan");
    make_library("new", 12, 9, 4, NULL);
    cusparse_library old = load("old"), new = load("new");
    assert_string_equal(old.absent, "");
    assert_string_equal(new.absent, "");
    assert_string_equal(old.name, "cuSPARSE 12.6.3");
    assert_string_equal(new.name, "cuSPARSE 12.9.4");
    assert_int_equal(old.version, 120603);
    for (int k = 0; k < CUSPARSE_NFUNCTIONS; k++) {
        if (k != CUSPARSE_AT_SpMVOp_createPlan) assert_int_equal(call(&old, k), 3);
        assert_int_equal(call(&new, k), 4);
    }
    assert_string_equal(old.no_spmvop, "cuSPARSE 12.6.3 has no cusparseSpMVOp_createPlan");
    assert_string_equal(new.no_spmvop, "");
}

/* A later release may change the function's parameters. */
TEST(spmvop_of_another_version_is_not_called) {
    make_library("later", 12, 9, 5, NULL);
    cusparse_library later = load("later");
    assert_string_equal(later.absent, "");
    assert_string_equal(later.no_spmvop, "cuSPARSE 12.9.5 may have another SpMVOp than 12.9.4, "
                                         "whose this program calls");
}

TEST(what_lacks_a_function_is_not_available) {
    make_library("lacking", 12, 9, 4, "SpMV_preprocess");
    cusparse_library lacking = load("lacking");
    assert_string_equal(lacking.absent, "cuSPARSE 12.9.4 has no cusparseSpMV_preprocess");
}

TEST(what_is_of_another_major_version_is_not_available) {
    make_library("next", 13, 0, 0, NULL);
    cusparse_library next = load("next");
    assert_non_null(strstr(next.absent, "is cuSPARSE 13.0.0; this program was built for 12"));
    assert_null(next.function[CUSPARSE_AT_SpMV]);
}

TEST(what_is_no_cusparse_is_not_available) {
    cusparse_library out;
    spmv_cusparse_load("libm.so.6", 12, &out);
    assert_string_equal(out.absent, "libm.so.6 is no cuSPARSE; this program was built for 12");
    spmv_cusparse_load("/nowhere/libcusparse.so.12", 12, &out);
    assert_non_null(strstr(out.absent, "/nowhere/libcusparse.so.12"));
    assert_string_equal(out.name, "");
}

/* Both libraries have the same name; therefore a separate process, in which the system's search
 * path leads to "old". */
TEST(the_system_s_is_found_beside_the_one_that_is_named) {
    char command[3 * PATH_MAX], self[PATH_MAX] = "", line[128] = "";
    make_library("old", 12, 6, 3, NULL);
    make_library("new", 12, 9, 4, NULL);
    assert_true(readlink("/proc/self/exe", self, sizeof self - 1) > 0);
    snprintf(command, sizeof command,
             "LD_LIBRARY_PATH=%s/old SPMV_CUSPARSE_FILE=%s/new/libcusparse.so.12 '%s' both", folder,
             folder, self);
    FILE *child = popen(command, "r");
    assert_non_null(child);
    assert_non_null(fgets(line, sizeof line, child));
    assert_int_equal(pclose(child), 0);
    assert_string_equal(line, "cuSPARSE 12.6.3, cuSPARSE 12.9.4\n");
}

static int make_folder(void **state) {
    (void)state;
    strcpy(folder, "/tmp/spmv-cusparse-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc == 1) return run_suite(make_folder, remove_folder);
    return printf("%s, %s\n", spmv_cusparse(CUSPARSE_TOOLKIT, 12)->name,
                  spmv_cusparse(CUSPARSE_FETCHED, 12)->name) < 0;
}
