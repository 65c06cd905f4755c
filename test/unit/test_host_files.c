/* test_host_files.c: limits of control groups and what sensors say, from folders that look like
 * /proc and /sys. */
#include "spmv_host.h"
#include "testing.h"
#include "omp/backend.h"
#include <sys/stat.h>

static char root[64];

static int make_root(void **state) {
    (void)state;
    snprintf(root, sizeof root, "/tmp/spmv-host-XXXXXX");
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static void put(const char *name, const char *content) {
    char path[512];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *slash = path + strlen(root); (slash = strchr(slash + 1, '/'));) {
        *slash = 0;
        mkdir(path, 0777);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(content, file);
    fclose(file);
}

static spmv_cgroup allowed(void) {
    spmv_cgroup out;
    spmv_cgroup_read(root, &out);
    return out;
}

static const char unified[] = "25 1 0:22 / /proc rw - proc proc rw\n"
                              "31 25 0:27 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

TEST_WITH(without_files_all_is_unknown, make_root, remove_root) {
    spmv_cgroup a = allowed();
    assert_true(isnan(a.cpus));
    assert_int_equal(a.memory, -1);
    assert_int_equal(a.memory_left, -1);
}

TEST_WITH(a_root_without_limits_has_none, make_root, remove_root) {
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/self/mountinfo", unified);
    put("/sys/fs/cgroup/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/memory.max", "max\n");
    spmv_cgroup a = allowed();
    assert_true(isinf(a.cpus));
    assert_true(a.memory == INT64_MAX && a.memory_left == INT64_MAX);
}

/* The one of the process says 3 CPUs and no memory limit, the slice above 1.5 CPUs and 1000 bytes.
 */
TEST_WITH(the_own_group_and_those_above_count, make_root, remove_root) {
    put("/proc/self/cgroup", "0::/a.slice/job.scope\n");
    put("/proc/self/mountinfo", unified);
    put("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/a.slice/memory.max", "1000\n");
    put("/sys/fs/cgroup/a.slice/memory.current", "700\n");
    put("/sys/fs/cgroup/a.slice/memory.stat", "anon 300\ninactive_file 400\n");
    put("/sys/fs/cgroup/a.slice/job.scope/cpu.max", "300000 100000\n");
    put("/sys/fs/cgroup/a.slice/job.scope/memory.max", "max\n");
    spmv_cgroup a = allowed();
    assert_true(a.cpus == 1.5);
    assert_int_equal(a.memory, 1000);
    assert_int_equal(a.memory_left, 700); /* what is only cached can be had */
    put("/sys/fs/cgroup/a.slice/job.scope/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a.slice/job.scope/memory.max", "600\n");
    put("/sys/fs/cgroup/a.slice/job.scope/memory.current", "650\n");
    a = allowed();
    assert_true(a.cpus == 0.5);
    assert_int_equal(a.memory, 600);
    assert_int_equal(a.memory_left, 0); /* over its limit: never negative */
}

/* A group beside ours says nothing about us. */
TEST_WITH(other_groups_do_not_count, make_root, remove_root) {
    put("/proc/self/cgroup", "0::/ours\n");
    put("/proc/self/mountinfo", unified);
    put("/sys/fs/cgroup/ours/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/theirs/cpu.max", "100000 100000\n");
    assert_true(isinf(allowed().cpus));
}

static const char version_1[] =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
    "34 31 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "38 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST_WITH(version_1_is_read_beside_version_2, make_root, remove_root) {
    put("/proc/self/cgroup",
        "9:cpuset:/wrong\n4:cpu,cpuacct:/job\n3:memory:/job/step\n1:name=systemd:/\n0::/\n");
    put("/proc/self/mountinfo", version_1);
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    spmv_cgroup a = allowed();
    assert_true(isinf(a.cpus));
    assert_true(a.memory == INT64_MAX);
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
    put("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "4000\n");
    put("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    a = allowed();
    assert_true(a.cpus == 2.5);
    assert_int_equal(a.memory, 5000);
    assert_int_equal(a.memory_left, 1500);
}

/* A container: the group is named as the host sees it, and is itself what is mounted. */
TEST_WITH(a_mounted_group_is_its_own_root, make_root, remove_root) {
    put("/proc/self/cgroup", "4:cpu:/docker/abc/step\n");
    put("/proc/self/mountinfo", "32 31 0:29 /docker/abc /cg/cpu rw - cgroup cgroup rw,cpu\n");
    put("/cg/cpu/cpu.cfs_quota_us", "400000\n");
    put("/cg/cpu/cpu.cfs_period_us", "100000\n");
    assert_true(allowed().cpus == 4);
    put("/cg/cpu/step/cpu.cfs_quota_us", "200000\n");
    put("/cg/cpu/step/cpu.cfs_period_us", "100000\n");
    assert_true(allowed().cpus == 2);
    put("/proc/self/cgroup", "4:cpu:/elsewhere/step\n");
    assert_true(allowed().cpus == 4);
    put("/proc/self/cgroup", "4:cpu:/docker/abcdef/step\n"); /* no part of /docker/abc */
    assert_true(allowed().cpus == 4);
}

TEST_WITH(damaged_files_limit_nothing, make_root, remove_root) {
    put("/proc/self/cgroup", "no colon\n0:\n0::/\n");
    put("/proc/self/mountinfo", unified);
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    put("/sys/fs/cgroup/memory.max", "lots\n");
    spmv_cgroup a = allowed();
    assert_true(isinf(a.cpus));
    assert_true(a.memory == INT64_MAX);
}

static spmv_device_state sensed(void) {
    spmv_device_state out;
    spmv_host_sensors(root, &out);
    return out;
}

TEST_WITH(without_sensors_all_is_unknown, make_root, remove_root) {
    spmv_device_state s = sensed();
    assert_true(s.clock_Hz == 0 && s.temperature_C == 0 && s.throttled == 0);
    assert_true(s.mig == -1 && s.busy_percent == -1);
}

TEST_WITH(clocks_are_means_and_the_driver_knows_best, make_root, remove_root) {
    put("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: 2000.000\n\nprocessor\t: 1\n"
                         "cpu MHz\t\t: 3000.000\n");
    assert_true(sensed().clock_Hz == 2.5e9);
    put("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "1000000\n");
    put("/sys/devices/system/cpu/cpu11/cpufreq/scaling_cur_freq", "2000000\n");
    put("/sys/devices/system/cpu/cpufreq/scaling_cur_freq", "9000000\n"); /* no processor */
    assert_true(sensed().clock_Hz == 1.5e9);
}

TEST_WITH(the_hottest_sensor_of_a_processor_counts, make_root, remove_root) {
    put("/sys/class/hwmon/hwmon0/name", "nvme\n");
    put("/sys/class/hwmon/hwmon0/temp1_input", "90000\n");
    put("/sys/class/hwmon/hwmon1/name", "coretemp\n");
    put("/sys/class/hwmon/hwmon1/temp1_input", "51000\n");
    put("/sys/class/hwmon/hwmon1/temp2_input", "63000\n");
    put("/sys/class/hwmon/hwmon2/name", "k10temp\n");
    put("/sys/class/hwmon/hwmon2/temp1_input", "no number\n");
    assert_int_equal(sensed().temperature_C, 63);
}

TEST_WITH(throttling_of_all_processors_is_counted, make_root, remove_root) {
    put("/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
    put("/sys/devices/system/cpu/cpu1/thermal_throttle/core_throttle_count", "4\n");
    assert_int_equal(sensed().throttled, 7);
}

TEST_MAIN(begin_as_it_is, NULL, NULL)
