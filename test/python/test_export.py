#!/usr/bin/env python3
"""Tests of what other programs take: JSON of list, info and doctor; the lines that make a plan which auto chose, compiled and
run; the schema of a record, against records as they are."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPMV = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve()
LIBRARY = SPMV.parent / "libspmv.so"
AUTO = ["gen:mesh:3000", "-k", "omp:auto", "--iters=100000", "-t2", "--max-time=0", "--min-time=0", "-n3", "-q", "--probe=off"]
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout
SANITIZED = "-san" in SPMV.parent.name
PROGRAM = """#include <spmv.h>
#include <stdio.h>
int main(void) {
    spmv_ctx *ctx; spmv_mat *mat; spmv_plan *plan;
    if (spmv_ctx_create(&(spmv_ctx_opts){.size = sizeof(spmv_ctx_opts), .threads = 2}, &ctx)) return 1;
    if (spmv_mat_load(ctx, "gen:mesh:3000", NULL, &mat)) return 1;
    %s
    if (status != SPMV_OK) return puts(spmv_ctx_error(ctx)), 1;
    spmv_plan_facts facts = SPMV_OPTS(spmv_plan_facts);
    if (spmv_plan_info(plan, &facts)) return 1;
    printf("%%s:%%s %%d\\n", facts.backend, facts.kernel, facts.threads);
    return 0;
}
"""


def spmv(*words, **more):
    return subprocess.run([SPMV, *words], capture_output=True, text=True, check=True, timeout=600, **more).stdout


@unittest.skipUnless("jansson" in FEATURES, "built without jansson: no JSON")
class Json(unittest.TestCase):

    def test_lists(self):
        whole = json.loads(spmv("list", "--format=json"))
        self.assertEqual(list(whole), ["kernels", "formats", "matrices"])
        names = {kernel["name"]: kernel for kernel in whole["kernels"] if kernel["backend"] == "omp"}
        self.assertEqual((names["csr_rows"]["alias"], names["csr_rows"]["format"]), ("csr1", "csr"))
        self.assertIn("default", names["sell_slices"]["parameters"]["sigma"])
        self.assertEqual(json.loads(spmv("list", "formats", "--format=json")), whole["formats"])
        self.assertIn("poisson2d", {made["name"] for made in whole["matrices"]})
        self.assertGreater(len(json.loads(spmv("list", "twins", "--format=json"))), 100)

    def test_facts_and_findings(self):
        facts = json.loads(spmv("info", "gen:poisson2d:9", "gen:diagonal:5", "--format=json"))
        self.assertEqual([matrix["matrix"]["nnz"] for matrix in facts], [369, 5])
        found = json.loads(spmv("doctor", "--format=json", "--probe=off"))
        self.assertIn("threads", {finding["doctor"]["check"] for finding in found})

    def test_elsewhere_it_is_refused(self):
        done = subprocess.run([SPMV, "gen:diagonal:5", "--format=json"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)


class Export(unittest.TestCase):

    def plan(self):
        return json.loads(spmv(*AUTO, "--no-log", "--export=json"))

    def test_json(self):
        plan = self.plan()
        self.assertTrue(plan["kernel"].startswith("omp:"))
        self.assertTrue(all(isinstance(value, int) for value in plan["settings"].values()))

    @unittest.skipIf(SANITIZED, "the library needs a sanitizer's runtime")
    def test_c_compiles_and_makes_that_plan(self):
        """Alone in a file or pipe; the table goes to stderr."""
        words = [word for word in AUTO if word != "-q"]
        done = subprocess.run([SPMV, *words, "--no-log", "--export=c"], capture_output=True, text=True, check=True)
        self.assertRegex(done.stdout, r"^/\* chosen by auto")
        table = done.stderr[done.stderr.rindex("  kernel "):].splitlines()
        chosen = table[1].lstrip("*!~ ").split()[0]  # behind a mark
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "plan.c"), os.path.join(folder, "plan")
            with open(source, "w", encoding="utf-8") as file:
                file.write(PROGRAM % done.stdout)
            subprocess.run([os.environ.get("CC", "gcc"), "-std=c11", "-Wall", "-Werror", f"-I{ROOT / 'include'}", source, LIBRARY,
                            f"-Wl,-rpath,{LIBRARY.parent}", "-o", program], check=True)
            said = subprocess.run([program], capture_output=True, text=True, check=True).stdout
        self.assertRegex(said, rf"^omp:{chosen} [12]\n$")

    @unittest.skipIf(SANITIZED or not importlib.util.find_spec("scipy"), "no SciPy, or the library needs a sanitizer's runtime")
    def test_python_makes_that_plan(self):
        line = spmv(*AUTO, "--no-log", "--export=python").splitlines()[-1]
        script = ("import scipy.sparse, spmv\nA = spmv.matrix(scipy.sparse.random(300, 300, 0.05, 'csr'))\n"
                  f"print(A.plan({line.partition('A.plan(')[2][:-1]})['kernel'])")
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False,
                              env={**os.environ, "SPMV_LIBRARY": str(LIBRARY), "PYTHONPATH": str(ROOT / "src/bindings/python")})
        self.assertEqual(done.returncode, 0, line + done.stderr)
        self.assertIn(f'"omp:{done.stdout.strip()}"', line)

    def test_without_auto_it_is_refused(self):
        done = subprocess.run([SPMV, "gen:diagonal:5", "-k", "csr_rows", "--export=c"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 64)


WORDS = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object", type(None): "null"}


def breaches(value, schema, path=""):
    """Says where a value is not what the schema says; only what our schema uses."""
    if "const" in schema:
        return [] if value == schema["const"] else [f"{path}: {value!r}"]
    allowed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    word = WORDS[type(value)]
    if word not in allowed and not (word == "integer" and "number" in allowed):
        return [f"{path}: {word}, not {allowed}"]
    found = [f"{path}.{name} is missing" for name in schema.get("required", ()) if name not in value]
    if isinstance(value, list):
        return [breach for k, item in enumerate(value) for breach in breaches(item, schema["items"], f"{path}[{k}]")]
    if isinstance(value, dict):
        known, rest = schema.get("properties", {}), schema.get("additionalProperties")
        for name, item in value.items():
            if known and name not in known:
                found.append(f"{path}.{name} is not in the schema")
            elif known or rest:
                found += breaches(item, known.get(name, rest), f"{path}.{name}")
    return found


@unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
class Schema(unittest.TestCase):

    def test_records_are_what_it_says(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "docs/generate.py", "--program", SPMV, "--made", folder], check=True)
            with open(os.path.join(folder, "record.schema.json"), encoding="utf-8") as file:
                schema = json.load(file)
            log = os.path.join(folder, "x.jsonl")
            spmv(*AUTO, f"--log={log}")
            spmv("gen:diagonal:9", "-k", "omp:csr_tiles,omp:sss_rows,omp:bsr_rows", "-q", "--max-time=0", "--min-time=0", f"--log={log}",
                 "--tag=a=b", "-p", "f32,f64", "--vectors=1,3")
            spmv("gen:diagonal:9", "-k", "omp:csr_tiles", "-q", "--max-time=0", "--min-time=0", f"--log={log}", "--cache=cold")
            with open(log, encoding="utf-8") as file:
                records = [json.loads(line) for line in file]
        self.assertGreater(len(records), 10)
        for record in records:
            self.assertEqual(breaches(record, schema), [])
        self.assert_complete(records)
        self.assertNotEqual(breaches({**records[0], "status": 3}, schema), [])
        self.assertNotEqual(breaches({**records[0], "surprise": 3}, schema), [])

    def assert_complete(self, records):
        """What a product on a processor has is in each record of one that was checked and timed; some have more."""
        more = {"prep": {"tune_s"}, "check": {"first_bad_row", "first_bad_vector", "stage"}, "store": {"values"},
                "timing": {"clk_sm_before_Hz", "clk_sm_after_Hz", "temperature_before_C", "temperature_after_C",
                           "median_low_s", "median_high_s"}}
        for record in (record for record in records if record["status"] == "ok"):
            for group, names in more.items():
                missing = {name for name, value in record[group].items() if value is None}
                self.assertLessEqual(missing, names, (group, record["config"]["requested"]))


if __name__ == "__main__":
    unittest.main()
