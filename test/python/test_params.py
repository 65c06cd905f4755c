#!/usr/bin/env python3
"""Tests that a parameter of kernels is one line of include/params.def: nobody else names it, the program's table shows it
when it is given, and the readers of logs know its words."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPMV = os.environ.get("SPMV", str(ROOT / "spmv"))
sys.path[:0] = [str(ROOT / "test/rules"), str(ROOT / "tables" / "report")]
import params  # noqa: E402
from units import settings  # noqa: E402

TOY = '''PARAM(toy, "toy", 't', "WHAT,...", WORDS("whole", "half"), 0, "a toy, (of words)", "a toy")
PARAM(tray_rows, "tray", 0, "RxC,...", PAIR_OR("auto", 0, "ROWSxCOLS, such as 2x2", 1 << 3, 8), NONE, "a tray", "its rows")
PARAM(tray_cols, "tray", 0, NULL, SECOND, NONE, NULL, "its columns")
PARAM(bead, "bead", 0, "N|none,...", NUMBER_OR("none", -1), NONE, "beads", "beads")
PARAM(lamp, "lamp", 0, "on|off,...", WORDS("off", "on"), 1, "a lamp", "a lamp")
'''


def run(*words):
    """The program's standard output, in a wide table."""
    return subprocess.run([SPMV, *words], env={**os.environ, "COLUMNS": "500"}, capture_output=True, text=True,
                          check=False, timeout=600).stdout


class OneLine(unittest.TestCase):
    def breaches(self, path=None, planted=""):
        with tempfile.TemporaryDirectory() as folder:
            for part in ("src", "include", "tables/report"):
                shutil.copytree(ROOT / part, pathlib.Path(folder, part))
            if path:
                with open(pathlib.Path(folder, path), "a", encoding="utf-8") as file:
                    file.write(planted)
            return [breach.split(":")[0] for breach in params.breaches_of(pathlib.Path(folder))]

    def test_the_sources_keep_the_rule(self):
        self.assertEqual(self.breaches(), [])

    def test_a_name_elsewhere_is_found(self):
        for path, planted in (("src/app/record/write_table.c", 'static const char *shown[] = {"codes"};\n'),
                              ("src/app/options/options.c", "enum { WIDE = SPMV_shape_cols };\n"),
                              ("src/app/options/options.h", 'static const char *typed = "--lanes=";\n'),
                              ("tables/report/units/settings.py", 'SWITCHES = ("codes",)\n')):
            with self.subTest(path):
                self.assertEqual(self.breaches(path, planted), [path])

    def test_a_new_line_is_known_to_the_rule(self):
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(pathlib.Path(folder, "include"))
            pathlib.Path(folder, "include/params.def").write_text(TOY, encoding="utf-8")
            self.assertEqual(params.names(pathlib.Path(folder)), ["bead", "lamp", "toy", "tray", "tray_cols", "tray_rows"])


class Logs(unittest.TestCase):
    def setUp(self):
        settings.params.cache_clear()
        self.addCleanup(settings.params.cache_clear)

    def test_every_line_is_read(self):
        lines = re.findall(r"^PARAM\(", (ROOT / "include/params.def").read_text(encoding="utf-8"), re.M)
        self.assertEqual(len(settings.params()), len(lines))

    def test_a_new_line_is_enough(self):
        with tempfile.NamedTemporaryFile("w", suffix=".def") as file:
            file.write(TOY)
            file.flush()
            with mock.patch.object(settings, "PARAMS_DEF", file.name):
                logged = {"toy": 1, "tray_rows": 2, "tray_cols": 3, "bead": -1, "lamp": 0}
                found = settings.settings_of({f"config.params.{name}": value for name, value in logged.items()})
        self.assertEqual(found, (("bead", "none"), ("lamp", False), ("toy", "half"), ("tray", "2x3")))

    def test_logs_of_before_mean_what_they_meant(self):
        logged = {"isa": 3, "gather": 1, "cusparse": 0, "sigma": 0, "boundary": -1, "cut": 0, "codes": 1, "sorted": 0,
                  "chunk": 0, "rowlens": 1, "grid_rows": 4, "grid_cols": 2, "slice": 32}
        record = {f"config.params.{name}": value for name, value in logged.items()}
        self.assertEqual(dict(settings.settings_of({**record, "config.grid": "4x2", "config.rowlens": True})),
                         {"isa": "avx512", "gather": "loads", "cusparse": "toolkit", "sigma": "all", "boundary": "auto",
                          "cut": "auto", "codes": True, "sorted": False, "rowlens": True, "grid": "4x2", "slice": 32})

    def test_without_the_file_values_are_as_logged(self):
        with mock.patch.object(settings, "PARAMS_DEF", "/nonexistent/params.def"):
            self.assertEqual(settings.settings_of({"config.params.isa": 3, "config.simd": False}), (("isa", 3), ("simd", False)))


def values_to_try(option, values, default):
    """Two that the kernel takes, of what `spmv list -k everything -v` says that it takes."""
    if option in ("grid", "shape"):
        return ["2x2", "3x3"]
    if ".." not in values:
        return [word for word in values.split("|") if word != "auto"][:2]
    numbers = [default if default.isdigit() else "4"]
    return [values.split("|")[0] if "|" in values else numbers[0], *numbers]


def kernels_with_options():
    """{kernel: {option: values to try}} of what is built in for OpenMP."""
    found, kernel = {}, None
    for line in run("list", "-k", "everything", "-v").splitlines():
        if line.startswith("cuda"):
            break
        option = re.match(r" {8}--(\w+) +(?:AxB: )?([^ ]+), default (\w+)", line)
        if re.match(r" {2}\w", line):
            kernel = line.split()[0]
        elif "(not built in" in line:
            kernel = None
        elif option and kernel:
            found.setdefault(kernel, {})[option[1]] = values_to_try(*option.groups())
    return found


def shown(option, value, config):
    """Says whether a table's cell has it: named, a switch by its name, or the words alone."""
    words = config.split()
    return any(word.startswith(f"{option}=") or word in (option, f"no-{option}", value) for word in words) or (
        option == "grid" and f"{value[0]}x1" in words)


class Program(unittest.TestCase):
    quick = ("-m", "gen:poisson2d:9", "-q", "--no-log", "--min-time=0", "--max-time=0", "-n", "1", "-v", "-t", "1")

    def configs(self, kernel, *words):
        lines = run(*self.quick, "-k", f"omp:{kernel}", *words).splitlines()
        at = lines[0].index("config")
        return [re.split(r"  +", line[at:])[0] for line in lines[1:]]

    def test_every_parameter_that_was_given_is_shown(self):
        kernels = kernels_with_options()
        self.assertLess(15, len(kernels))
        for kernel, options in kernels.items():
            for k in range(2):
                given = {option: values[k] for option, values in options.items()}
                config, = self.configs(kernel, *(f"--{option}={value}" for option, value in given.items()))
                for option, value in given.items():
                    with self.subTest(kernel, option=option, value=value):
                        self.assertTrue(shown(option, value, config), config)

    def test_two_values_are_two_rows_that_differ(self):
        for kernel, option in (("csell_slices", "--codes=on,off"), ("csell_slices", "--cut=auto,5"),
                               ("csr_rows", "--simd=on,off"), ("csr_rows", "--chunk=0,4")):
            with self.subTest(option):
                self.assertEqual(len(set(self.configs(kernel, option))), 2)


if __name__ == "__main__":
    unittest.main()
