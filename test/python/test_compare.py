#!/usr/bin/env python3
"""Tests of tables/report/compare.py, also through `spmv compare`."""

import collections
import contextlib
import csv
import io
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

from logfixture import ROOT, TablesTest, record, skipped
import common
import compare
import turns

RUN_ONCE = turns.run_once
HERE = os.path.dirname(os.path.abspath(__file__))
SPMV = os.environ.get("SPMV") or os.path.join(ROOT, "build", "omp", "spmv")


class CompareTest(TablesTest):

    def compare(self, a, b, *options):
        """(exit status, stdout, stderr) of comparing two lists of records."""
        paths = self.write("a.jsonl", *a), self.write("b.jsonl", *b)
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as talk:
            status = compare.main([*paths, *options])
        return status, out.getvalue(), talk.getvalue()

    def verdict(self, a, b):
        """The verdict on one configuration."""
        _, out, _ = self.compare([a], [b], "--format", "csv")
        row, = csv.DictReader(io.StringIO(out))
        return row["verdict"]


class WidthTest(CompareTest):
    """Names and settings as long as they get."""
    NAME = "gen:random:1000000:1000000:20000000"

    def table(self, columns):
        """The lines of a table for a terminal of so many columns."""
        a, b = ([record(scale * 1e-3, 0.3, config__kernel="csr_blocks", matrix__name=self.NAME,
                        config__params={"grid_rows": 1024, "grid_cols": 16, "slice": 512, "sigma": 65536})]
                for scale in (1, 1.1))
        with unittest.mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
            return self.compare(a, b)[1].splitlines()

    def test_a_table_fits_the_terminal(self):
        for columns in (60, 80, 100):
            lines = self.table(columns)
            self.assertLessEqual(max(map(len, lines)), columns)
            text = " ".join(" ".join(lines).split())
            for part in ("+10.0%", "UNSURE", "sigma=65536"):
                self.assertIn(part, text)

    def test_where_there_is_room_a_row_is_a_line(self):
        self.assertEqual(len(self.table(300)), 2)
        self.assertGreater(max(map(len, self.table(300))), 100)


class ProductTest(CompareTest):
    """What is multiplied tells times apart, on one machine and across machines."""
    PRODUCTS = ({}, {"config__vectors": 8, "config__layout": "columns"}, {"config__vectors": 8, "config__layout": "rows"},
                {"config__vectors": 4, "config__layout": "rows"}, {"config__op": "transpose"})
    WORDS = ("", "8 vectors in columns", "8 vectors in rows", "4 vectors in rows", "transpose")

    def rows(self, a, b):
        """{configuration: verdict}"""
        return {row["config"]: row["verdict"] for row in csv.DictReader(io.StringIO(self.compare(a, b, "--format", "csv")[1]))}

    def test_another_product_is_never_the_same(self):
        for host in ("node1", "node2"):
            for k, one in enumerate(self.PRODUCTS):
                for n, other in enumerate(self.PRODUCTS):
                    rows = self.rows([record(1e-3, **one)], [record(0.5e-3, host__name=host, cpu__model=host, **other)])
                    self.assertEqual(list(rows.values()), ["FASTER"] if k == n else [], (one, other))
                    self.assertTrue(all(self.WORDS[k] in config for config in rows))

    def test_other_numbers_of_ranks_are_never_the_same(self):
        ranks = ({}, {"ranks__count": 2, "ranks__hosts": 1}, {"ranks__count": 4, "ranks__hosts": 1},
                 {"ranks__count": 4, "ranks__hosts": 2})
        for k, one in enumerate(ranks):
            for n, other in enumerate(ranks):
                rows = self.rows([record(1e-3, **one)], [record(0.5e-3, **other)])
                self.assertEqual(list(rows.values()), ["FASTER"] if k == n else [], (one, other))
                rows = self.rows([record(1e-3, **one)], [record(0.5e-3, host__name="b", cpu__model="b", **other)])
                alike = one.get("ranks__count") == other.get("ranks__count")
                self.assertEqual(list(rows.values()), ["FASTER"] if alike else [], (one, other))

    def test_each_has_a_row(self):
        rows = self.rows([record(1e-3, **of) for of in self.PRODUCTS],
                         [record((0.5 + k) * 1e-3, **of) for k, of in enumerate(self.PRODUCTS)])
        self.assertEqual(len(rows), len(self.PRODUCTS))
        self.assertEqual(sorted(rows.values()), ["FASTER", *["SLOWER"] * 4])

    def test_precisions_and_caches_tell_rows_apart(self):
        several = ({"config__precision": "f64"}, {"config__precision": "f32"}, {"config__precision": "f32", "config__cache": "cold"},
                   {"config__precision": "f64", "config__threads": 2})
        rows = self.rows([record(1e-3, **{"config__cache": "warm", **of}) for of in several],
                         [record(1e-3, **{"config__cache": "warm", **of}) for of in several])
        self.assertEqual(len(rows), len(several))
        self.assertTrue(any("f32 cold threads=4" in config for config in rows), rows)
        self.assertNotIn("f64", " ".join(self.rows([record(1e-3)], [record(1e-3)])))

    def test_old_logs_are_of_one_vector_as_the_matrix_is(self):
        rows = self.rows([record(1e-3)],
                         [record(0.5e-3, config__vectors=1, config__layout="columns", config__op="as-is")])
        self.assertEqual(list(rows.values()), ["FASTER"])


class VerdictTest(CompareTest):

    def test_the_rule(self):
        for a, b, spread, expected in (
                (1e-3, 0.9e-3, 0.01, "FASTER"), (1e-3, 1.1e-3, 0.01, "SLOWER"),
                (1e-3, 1.019e-3, 0.001, "SAME"),   # apart, but under 2 %
                (1e-3, 1.019e-3, 0.1, "SAME"),
                (1e-3, 1.05e-3, 0.03, "UNSURE"),   # 1.03 >= 1.0185
                (1e-3, 1.021e-3, 0.001, "UNSURE"),  # two processes of one binary differ by that
                (1e-3, 1.051e-3, 0.001, "SLOWER"), (1e-3, 0.949e-3, 0.001, "FASTER")):
            self.assertEqual(self.verdict(record(a, spread), record(b, spread)), expected, (a, b))

    def test_repeats_tell_less_apart(self):
        a, b = ([record(median * scale, 0.001, run_id=str(median)) for median in (1e-3, 1.001e-3, 0.999e-3)]
                for scale in (1, 1.021))
        self.assertRegex(self.compare(a, b)[1], r"\+2\.1% +SLOWER")
        _, out, talk = self.compare(a, b[:1])
        self.assertRegex(out, r"\+2\.1% +UNSURE$")
        self.assertIn("1 UNSURE, less than 5% apart, one run a side: repeat\n", talk)

    def test_unsure_verdicts_suggest_turns(self):
        talk = self.compare([record(1e-3)], [record(2e-3, timing__settled=False)])[2]
        self.assertIn("UNSURE: 'spmv compare --ab OLD NEW -- WHAT TO RUN' runs two binaries in turns", talk)
        talk = self.compare([record(1e-3)], [record(2e-3)])[2]
        self.assertNotIn("--ab", talk)

    def test_times_in_doubt_are_no_verdict(self):
        """Whatever the distance: a disturbed time may be anything."""
        calm, flags = record(1e-3, 0.001), ["other programs used 1.0 processors"]
        for changes, words in (({"timing__flags": flags}, "disturbed (!): measure again on a quiet machine"),
                               ({"timing__settled": False}, "not settled (~): --max-time measures longer")):
            for scale in (3, 1, 0.3):
                _, out, talk = self.compare([calm], [record(scale * 1e-3, 0.001, **changes)], "--fail-above=3%")
                self.assertRegex(out, "UNSURE$")
                self.assertIn(f"1 UNSURE, {words}\n", talk)

    def test_advice_is_said_once(self):
        """However many rows have the same, and below the table, which is narrower without."""
        sides = [[record(1e-3, 0.001, config__kernel=f"k{k}", timing__flags=flags) for k in range(9)] for flags in ([], ["busy"])]
        _, out, talk = self.compare(*sides)
        self.assertEqual((out.count("UNSURE"), out.count("--ab"), talk.count("--ab")), (9, 0, 1))
        self.assertIn("9 UNSURE, disturbed (!): ", talk)
        self.assertNotIn("--ab", self.compare(*sides, "--format=csv")[2])

    def test_broken_and_fixed(self):
        wrong = record(1e-6, status="wrong", reason="row 3")
        self.assertEqual(self.verdict(record(1e-6), wrong), "BROKEN")
        self.assertEqual(self.verdict(wrong, record(1e-6)), "FIXED")
        self.assertEqual(self.verdict(skipped("x"), wrong), "—")

    def test_change_and_geomean_of_all_rows(self):
        def both(scale):
            return [record(1e-3 * scale[0]), record(2e-3 * scale[1], config__kernel="ell_rows"),
                    record(5e-3 * scale[2], config__kernel="hyb", timing__converged=False)]
        status, out, talk = self.compare(both((1, 1, 1)), both((2, 0.5, 8)))
        self.assertEqual(status, 0)
        self.assertIn("geomean B/A 2.000 ~ (n=3; ~: fewer than 90 % of its times were settled and undisturbed); "
                      "1 SLOWER, 1 FASTER, 1 UNSURE", talk)
        self.assertIn("geomean B/A 1.000 (n=2); ", self.compare(both((1, 1, 1))[:2], both((2, 0.5, 1))[:2])[2])
        self.assertRegex(out, r"alpha +csr_rows +.* 1\.00 ms +2\.00 ms +\+100\.0% +SLOWER")
        self.assertRegex(out, r"alpha +ell_rows +.* 2\.00 ms +1\.00 ms +−50\.0% +FASTER")
        self.assertRegex(out, r"hyb .* 5\.00 ms ~ +40\.0 ms ~ +\+700\.0% +UNSURE")

    def test_fail_above(self):
        a = [record(1e-3, 0.001)]
        for b, limit, expected in ((1.06e-3, "3%", 2), (1.06e-3, "0.07", 0), (0.5e-3, "0%", 0),
                                   (1.029e-3, "3%", 0)):
            self.assertEqual(self.compare(a, [record(b, 0.001)], f"--fail-above={limit}")[0],
                             expected, (b, limit))
        self.assertEqual(self.compare(a, [record(2e-3, 0.9)], "--fail-above=3%")[0], 0)  # UNSURE
        self.assertEqual(self.compare(a, [record(status="failed")], "--fail-above=3%")[0], 2)
        self.assertEqual(self.compare(a, [record(2e-3)])[0], 0)

    def test_passes_that_scatter_cannot_tell(self):
        a = [record(median, 0.001, run_id=str(median)) for median in (1.0e-3, 1.2e-3, 1.4e-3)]
        b = [record(median, 0.001, run_id=str(median)) for median in (1.1e-3, 1.3e-3, 1.5e-3)]
        status, out, _ = self.compare(a, b, "--fail-above=3%")
        self.assertRegex(out, r"\+8\.3% +UNSURE")
        self.assertEqual(status, 0)
        slow = [record(median, 0.001, run_id=str(median)) for median in (1.5e-3, 1.6e-3, 1.7e-3)]
        self.assertEqual(self.compare(a, slow, "--fail-above=3%")[0], 2)

    def test_suspect_is_no_verdict(self):
        fast = record(0.5e-3, 0.001, perf={"verdict": "suspect"})
        for a, b, who in (([record(1e-3, 0.001)], [fast], "B"), ([fast], [record(1e-3)], "A")):
            status, out, talk = self.compare(a, b, "--fail-above=0%")
            self.assertRegex(out, "500 µs.*UNSURE$")
            self.assertIn(f"1 UNSURE, {who} faster than memory was when probed: probe again", talk)
            self.assertIn("1 suspect left out", talk)
            self.assertEqual(status, 0)
        self.assertEqual(self.compare([fast], [record(status="failed")], "--fail-above=0%")[0], 2)

    def test_what_was_disturbed_is_marked(self):
        a = record(3.14e-3, timing__converged=False,
                   timing__flags=["threads waited for a core 44% of the time"])
        b = [record(15.9e-6), record(1e-3, matrix__name="beta", timing__flags=[])]
        status, out, talk = self.compare([a], b)
        self.assertEqual(status, 0)
        self.assertRegex(out, r"3\.14 ms ~ ! +15\.9 µs +−99\.5% +UNSURE")
        self.assertIn("! A: 1 of 1 run disturbed while timed: threads waited for a core 44% of the time "
                      "(1)\n", talk)
        more = [a, record(3e-3, timing__flags=["threads waited for a core 8% of the time"], run_id="r2")]
        self.assertIn("threads waited for a core 8 to 44% of the time (2)", self.compare(more, b)[2])
        self.assertNotIn("! B", talk)
        row, = csv.DictReader(io.StringIO(self.compare([a], b[:1], "--format", "csv")[1]))
        self.assertEqual((row["noisy"], row["disturbed"]), ("true", "true"))
        a["timing"]["flags"] = "a text, it's no list"
        self.assertIn("! A: 1 of 1 run disturbed while timed: a text, it's no", self.compare([a], b)[2])
        calm, = csv.DictReader(io.StringIO(self.compare(b[:1], b[:1], "--format", "csv")[1]))
        self.assertEqual(calm["disturbed"], "false")

    def test_the_log_that_fails_is_named(self):
        good, empty = self.write("good.jsonl", record()), self.write("empty.jsonl")
        for path, code, why in (empty, 65, "no "), ("nowhere.jsonl", 66, "No such file or directory\n"):
            with contextlib.redirect_stderr(io.StringIO()) as talk:
                self.assertEqual(compare.main([good, path]), code)
            self.assertIn(f"spmv compare: {path}: {why}", talk.getvalue())
        self.assertEqual(talk.getvalue().count("\n"), 1)

    def test_nothing_in_common_is_no_success(self):
        status, _, talk = self.compare([record(1e-3)], [record(1e-3, matrix__name="beta")],
                                       "--fail-above=3%")
        self.assertEqual(status, 65)
        self.assertIn("configurations that only A has: 1, only B: 1", talk)

    def test_what_keeps_logs_apart_is_named(self):
        status, _, talk = self.compare([record(config__cache="warm")],
                                       [record(config__cache="cold", config__threads=2)])
        self.assertEqual(status, 65)
        self.assertIn("nothing in common; threads is 4 in A, 2 in B; cache is warm in A, cold in B",
                      talk)

    def test_usage(self):
        for options in (("--fail-above=lots",), ("--fail-above=3",), ("--fail-above=-1%",), ("--format=xml",), ("more",)):
            status, _, talk = self.compare([record(1e-3)], [record(1e-3)], *options)
            self.assertEqual(status, 64, options)
            self.assertEqual(talk.count("\n"), 1, talk)


class TurnsTest(CompareTest):
    """--ab: programs that log a planted time, with what a busy machine adds to it."""

    def program(self, name, scale, status="ok", code=0, more=""):
        path = os.path.join(self.out, name)
        os.makedirs(self.out, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\n"
                       f"import json, os, random, sys\nsys.path.insert(0, {HERE!r})\nfrom logfixture import record\n"
                       f"count = {path!r} + '.count'\n"
                       "turn = int(open(count).read()) if os.path.exists(count) else 0\n"
                       "print(turn + 1, file=open(count, 'w'))\n"
                       f"draw = random.Random(turn + {len(name)} * 1000)\n"
                       f"time_s = {scale} * 1e-3 * (draw.uniform(2, 9) if draw.random() < 0.1 else draw.gauss(1, 0.01))\n"
                       f"r = record(time_s, 0.5, status={status!r}, timing__flags=['busy'], timing__settled=False{more})\n"
                       "log = next(word for word in sys.argv if word.startswith('--log='))[6:]\n"
                       "open(log, 'w').write(json.dumps(r) + chr(10))\n"
                       f"print(*sys.argv[1:], file=sys.stderr)\nsys.exit({code})\n")
        os.chmod(path, 0o755)
        return path

    def turns(self, *words):
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as talk:
            code = compare.main(["--ab", *words, "--fail-above=3%", "--", "-m", "x.mtx"])
        return code, out.getvalue(), talk.getvalue()

    def test_a_slower_binary_is_found_in_spite_of_the_machine(self):
        old = self.program("old", 1)
        code, out, talk = self.turns(old, self.program("slow", 1.1))
        self.assertEqual(code, 2, out + talk)
        self.assertRegex(out, r"alpha +csr_rows .* \+(9|10)\.\d% +SLOWER")
        # A busy machine may add a line between these two: "longer than announced".
        self.assertRegex(talk, r"^turns of both until every row has a verdict: 10 to 160, \d+ (s|min) to \d+ (s|min)\n")
        self.assertRegex(talk, r"\n1\d turns of each")
        self.assertNotIn("disturbed", talk)
        code, out, _ = self.turns(old, self.program("itself", 1))
        self.assertEqual(code, 0)
        self.assertRegex(out, " SAME")

    def test_the_lower_quartile_decides(self):
        """Medians three times as long in half of the runs: the quarter of the samples that nobody disturbed tells."""
        more = ", timing__median_s=time_s * draw.choice((1, 3))"
        code, out, talk = self.turns(self.program("old", 1, more=more), self.program("slow", 1.1, more=more))
        self.assertEqual(code, 2, out + talk)
        self.assertRegex(talk, r"\n1\d turns of each binary")

    def test_nothing_is_the_same_by_chance(self):
        """A difference under 2 % of turns that scatter by half says nothing."""
        draw = random.Random(1)
        noisy = [math.exp(draw.gauss(0, 0.4)) for _ in range(60)]
        noisy += [1 / ratio for ratio in noisy]
        calm = [math.exp(draw.gauss(0, 0.02)) for _ in range(60)]
        side = types.SimpleNamespace(status="ok", median_s=1)
        for ratios, word in ((noisy, "UNSURE"), (calm, "SAME")):
            with unittest.mock.patch.object(compare, "ratios_in_turns", lambda _, ratios=ratios: ratios):
                verdict = compare.judge_turns(compare.Pair("m", "k", "", side, side))
            self.assertLess(abs(verdict.change), compare.SURE)
            self.assertEqual(verdict.word, word)

    def test_times_that_do_not_hold_are_corrected(self):
        with contextlib.redirect_stderr(io.StringIO()) as talk:
            first = turns.announced(1, 2, None)
            self.assertEqual(turns.announced(10, 21, first), first)
            self.assertGreater(turns.announced(20, 80, first), first)
        self.assertEqual(talk.getvalue(), "turns of both until every row has a verdict: 10 to 160, 20 s to 5 min\n"
                                          "longer than announced: 20 turns took 80 s, all take 10 min at most\n")

    def test_what_turns_say_outlives_ctrl_c(self):
        """With enough turns for a verdict; before, nothing is said."""
        for stop, code, said in ((12, 130, r"interrupted after 11 turns of each binary\n(.*\n)*geomean"), (3, 130, "(?m)^spmv compare: interrupted")):
            names = [self.program(f"{name}{stop}", 1) for name in ("old", "new")]
            runs = []

            def run_once(binary, words, log, runs=runs, stop=stop):
                runs.append(binary)
                if runs.count(binary) == stop:
                    raise KeyboardInterrupt
                return self.run_once(binary, words, log)
            with unittest.mock.patch.object(turns, "run_once", run_once), unittest.mock.patch.object(
                    turns, "word_of", lambda *_: None), unittest.mock.patch.object(common, "give_up_stdout"):
                found, _, talk = self.turns(*names)
            self.assertEqual(found, code, talk)
            self.assertRegex(talk, said)

    run_once = staticmethod(RUN_ONCE)

    def test_what_cannot_be_run(self):
        old = self.program("old", 1)
        for words, code, why in (((old, "nowhere"), 66, "nowhere: no program"),
                                 ((old, self.program("bad", 1, code=64)), 65, "ended with 64: --min-time=0.05 "),
                                 ((self.program("ends", 1, status="failed"), old), 0, "10 turns")):
            found, _, talk = self.turns(*words)
            self.assertEqual(found, code, talk)
            self.assertIn(why, talk)
        for words in (["--ab", old, old], [old, old, "--", "-m", "x"], ["--ab", old, old, "--", "--log=x"]):
            with contextlib.redirect_stderr(io.StringIO()):
                self.assertEqual(compare.main(words), 64, words)

    def test_the_rule_in_simulations(self):
        """On a machine where a tenth of the runs is disturbed there is no false verdict in 300, and 10 % is found."""
        draw = random.Random(1)

        def run():
            return math.exp(draw.gauss(0, 0.01)) * (draw.uniform(1, 5) if draw.random() < 0.1 else 1)

        def verdict(scale):
            ratios = []
            while len(ratios) < turns.MOST_TURNS:
                ratios += [scale * run() / run(), scale * run() / run()]
                if turns.word_of(ratios, compare.SURE):
                    break
            return turns.word_of(ratios, compare.SURE)
        found = collections.Counter(verdict(1) for _ in range(300))
        self.assertLessEqual(found["SLOWER"] + found["FASTER"], 1)
        self.assertEqual({verdict(1.1) for _ in range(30)}, {"SLOWER"})
        self.assertEqual({verdict(0.9) for _ in range(30)}, {"FASTER"})


class MatchingTest(CompareTest):

    def test_repeats_and_builds_merge(self):
        _, out, _ = self.compare(
            [record(1e-3), record(3e-3, build__commit="x"), record(2e-3, run_id="r2")],
            [record(2e-3, build__commit="y")], "--format", "csv")
        row, = csv.DictReader(io.StringIO(out))
        self.assertEqual((row["median_a_s"], row["verdict"]), ("0.002", "SAME"))

    def test_a_setting_the_older_log_lacks(self):
        old = record(1e-3)
        del old["config"]["simd"]
        _, out, _ = self.compare([old], [record(1e-3, config__codec="plain")], "--format", "csv")
        self.assertEqual(len(list(csv.DictReader(io.StringIO(out)))), 1)

    def test_configurations_are_not_mixed(self):
        a = [record(1e-3, config__grid="1x4"), record(2e-3, config__grid="4x1")]
        _, out, _ = self.compare(a, a, "--format", "csv")
        self.assertEqual([(row["config"], row["median_b_s"])
                          for row in csv.DictReader(io.StringIO(out))],
                         [("grid=1x4", "0.001"),
                          ("grid=4x1", "0.002")])

    def auto(self, median, kernel, **changes):
        """A run that auto chose this kernel for."""
        return record(median, 0.001, config__requested="auto", config__kernel=kernel, **changes)

    def test_auto_meets_auto_whatever_it_chose(self):
        coded = {"codes": 1, "cut": 0}
        a = [self.auto(1e-3, "csell_slices", config__params=coded), record(2e-3)]
        b = [self.auto(10e-3, "csr_rows"), record(2e-3)]
        status, out, talk = self.compare(a, b, "--fail-above=3%")
        self.assertEqual(status, 2)
        self.assertRegex(out, r"alpha +auto +csell_slices → csr_rows "
                         r"+1\.00 ms +10\.0 ms +\+900\.0% +SLOWER")
        self.assertIn("1 SLOWER", talk)
        self.assertNotIn("only A has", talk)

    def test_choices_of_several_passes_are_one_auto(self):
        a = [self.auto(1e-3, "csr_rows"), self.auto(3e-3, "ell_rows", run_id="r2")]
        _, out, _ = self.compare(a, [self.auto(2e-3, "csr_rows")], "--format", "csv")
        row, = csv.DictReader(io.StringIO(out))
        self.assertEqual((row["median_a_s"], row["verdict"]), ("0.002", "SAME"))
        self.assertEqual(row["config"], "csr_rows or ell_rows → "
                         "csr_rows")
        _, out, _ = self.compare(a[:1], a[:1], "--format", "csv")
        self.assertEqual([row["config"] for row in csv.DictReader(io.StringIO(out))],
                         ["csr_rows"])

    def test_what_auto_was_told_is_named_where_it_differs(self):
        known, unknown = ([self.auto(1e-3, "csr_rows", config__iters=n)] for n in (1000, None))
        _, out, _ = self.compare(known, unknown, "--format", "csv")
        row, = csv.DictReader(io.StringIO(out))
        self.assertEqual(row["config"], "csr_rows (expected products: 1,000 → unknown)")

    def test_autos_of_two_teams_are_two(self):
        a = [self.auto(1e-3, "csr_rows", omp={"threads": 4, "bind": "close"}),
             self.auto(2e-3, "csr_rows", omp={"threads": 4, "bind": "spread"})]
        _, out, _ = self.compare(a, a, "--format", "csv")
        self.assertEqual([row["median_b_s"] for row in csv.DictReader(io.StringIO(out))],
                         ["0.001", "0.002"])

    def test_machines_meet_with_their_best_kernel(self):
        a = [record(3e-3), record(2e-3, config__kernel="ell_rows"),
             record(1e-3, config__kernel="hyb", status="wrong"),
             record(1e-3, config__precision="f32")]
        b = [record(1e-3, host__name="node2", config__backend="cuda", config__kernel="csr_warp",
                    gpu__name="GPU"),
             record(9e-3, host__name="node2", matrix__name="beta")]
        _, out, talk = self.compare(a, b, "--format", "csv")
        row, = csv.DictReader(io.StringIO(out))
        self.assertEqual((row["kernel_a"], row["kernel_b"], row["config"], row["ratio"],
                          row["verdict"]),
                         ("ell_rows", "csr_warp", "omp f64 → cuda f64", "0.5", "FASTER"))
        self.assertIn("different machines: matched by matrix", talk)
        self.assertIn("environment differs: host.name node1 → node2", talk)

    def test_values_tell_matrices_of_one_name_apart(self):
        a = [record(2e-3), record(1e-3, matrix__hash="few")]
        b = [record(2e-3, host__name="node2"), record(1e-3, host__name="node2", matrix__hash="few")]
        _, out, _ = self.compare(a, b, "--format", "csv")
        self.assertEqual([row["ratio"] for row in csv.DictReader(io.StringIO(out))], ["1.0", "1.0"])
        del b[0]["matrix"]["hash"]
        _, out, _ = self.compare(a, b[:1], "--format", "csv")
        self.assertEqual([row["ratio"] for row in csv.DictReader(io.StringIO(out))], ["2.0"])

    def test_environment(self):
        a, b = record(1e-3), record(1e-3)
        a["build"].update(cflags="-O3 -g", commit="3f9c2a1", dirty=False)
        b["build"].update(cflags="-O3 -ffast-math", commit="88d01be", dirty=False)
        talk = self.compare([a], [b])[2]
        self.assertIn("build.commit 3f9c2a1 → 88d01be\n", talk)
        self.assertIn("build.cflags +'-ffast-math' -'-g' (⚠ results may differ)\n", talk)
        self.assertNotIn("dirty", talk)


class ProgramTest(CompareTest):
    """`spmv compare` itself: the executable finds and becomes the script."""

    def spmv(self, *words, program=SPMV, **environment):
        return subprocess.run([program, *words], capture_output=True, text=True, check=False,
                              env={**os.environ, **environment})

    def test_a_full_disk_is_said(self):
        path = self.write("a.jsonl", record(1e-3))
        other = self.write("b.jsonl", record(2e-3))
        for command in (["compare", path, other], ["table", path]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([SPMV, *command], stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual(done.returncode, 73, done.stderr)
            self.assertIn("stdout: No space left", done.stderr)
            self.assertNotIn("Traceback", done.stderr)

    def test_a_log_with_itself_is_one_line(self):
        path = self.write("a.jsonl", record(1e-3), record(2e-3, config__kernel="ell_rows"))
        done = self.spmv("compare", path, path)
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", "A and B hold the same 2 runs: there is nothing to compare\n"))

    def test_it_becomes_the_script(self):
        a, b = self.write("a.jsonl", record(1e-3)), self.write("b.jsonl", record(2e-3))
        done = self.spmv("compare", a, b, "--fail-above", "3%")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("SLOWER", done.stdout)
        self.assertEqual(self.spmv("compare").returncode, 64)

    def test_without_scripts_or_python(self):
        with tempfile.TemporaryDirectory() as folder:
            alone = shutil.copy(SPMV, os.path.join(folder, "spmv"))
            done = self.spmv("compare", "a", "b", program=alone)
            self.assertEqual((done.returncode, done.stdout), (69, ""))
            self.assertIn("cannot find compare.py", done.stderr)
            done = self.spmv("compare", "a", "b", PATH=folder)
            self.assertEqual(done.returncode, 69)
            self.assertIn("needs python3", done.stderr)


if __name__ == "__main__":
    unittest.main()
