"""Checks what spmv tune answers: confirmed, not confirmed, nothing faster, stopped. spmv-wrong has kernels whose times are planned
for each of them (test/wrong.c); what tune prints is typed as a user would, and measures the same."""
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPMV = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve().with_name("spmv-wrong")
MATRIX = "gen:poisson2d:40"
# Takes so many samples that another program's turns on the processor are not among those around the median.
BRIEFLY = ["--samples=100", "--min-time=0.05", "--max-time=0.1", "--probe=off"]
# By how much: of times in doubt a range, which says what is wrong with them.
LESS = r"took (\d\d(\.\d)?% less time|about \d{2,3}( to \d{2,3})?% less time, (disturbed|not settled|disturbed and not settled))"
ASIDE = {"requested", "reason"}  # of a record's configuration: the kernel as typed
FEATURES = subprocess.run([SPMV, "-V", "-v"], capture_output=True, text=True, check=True).stdout


def commands_of(text):
    """Returns what it prints to be typed; a backslash continues a line."""
    lines = re.sub(r" \\\n +", " ", text).splitlines()
    return [line.strip() for line in lines if line.startswith("    ")]


class Tune(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def tune(self, *words, code=0, matrix=MATRIX, **environment):
        """(stdout, stderr)"""
        done = subprocess.run([SPMV, "tune", "-m", matrix, *BRIEFLY, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=900, check=False, env={**os.environ, **environment})
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout, done.stderr

    # ---- answers ----------------------------------------------------------------------------------

    def test_confirmed(self):
        said, _ = self.tune("-k", "ell_tiles", "--no-log")
        self.assertRegex(said, rf"\nell_tiles: confirmed: --simd=on {LESS} in the last comparison; to type:\n"
                               rf"    spmv -m {MATRIX} -k omp:ell_tiles --simd=on {' '.join(BRIEFLY)}\n$")

    def test_of_several_the_winner_is_the_end(self):
        said, _ = self.tune("-k", "ell_blocks,ell_tiles", "--no-log")
        last = said.splitlines()[-2:]
        self.assertRegex(last[0], r"^(fastest|all were disturbed; the least median) of 2: ell_\w+.*; to type:$")
        self.assertRegex(last[1], rf"^    spmv -m {MATRIX} -k omp:ell_(tiles|blocks)")

    def test_faster_in_trials_alone(self):
        said, _ = self.tune("-k", "csb_blocks", "--no-log")
        self.assertRegex(said, r"\ncsb_blocks: not confirmed: --simd=on was faster in short trials; in the last comparison it "
                               r"(took (about )?[\d.]+( to [\d.]+)?% more time|was not surely faster or slower).*\n$")
        self.assertEqual(commands_of(said), [])

    def test_too_few_samples_confirm_nothing(self):
        said, _ = self.tune("-k", "ell_tiles", "--no-log", "-n", "3", "--min-time=0", "--max-time=0")
        self.assertRegex(said, rf"\nell_tiles: not confirmed: --simd=on was faster in short trials; in the last comparison it {LESS}"
                               r"((?<=time), of too few or too noisy samples)?\n$")
        self.assertEqual(commands_of(said), [])

    def test_nothing_faster(self):
        """Where another program has the core in the short trials, a setting may seem faster there: it asks again."""
        for _ in range(4):
            said, _ = self.tune("-k", "ell_blocks", "--no-log")
            self.assertEqual(commands_of(said), [])
            if "not confirmed" not in said:
                break
        self.assertRegex(said, "\nell_blocks: nothing is clearly faster than it is\n$")

    def test_beside_others_it_boasts_of_nothing(self):
        others = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(1 + len(os.sched_getaffinity(0)))]
        try:
            said, _ = self.tune("-k", "ell_tiles,ell_blocks,sss_rows", "--no-log", matrix="gen:random:900:5")
        finally:
            for other in others:
                other.kill()
                other.wait()
        answers = said.partition("fastest including preparation")[2] or said
        self.assertNotRegex(answers, r"took [\d.]+%")
        self.assertIn("\nsss_rows: skipped\n", said)
        self.assertRegex(said, r"\nall were disturbed; the least median of 2: ell_")

    def test_it_fits_the_terminal(self):
        said, talk = self.tune("-k", "ell_tiles,ell_blocks", "--no-log", COLUMNS="60")
        self.assertEqual([line for line in (said + talk).splitlines() if len(line) > 60], [])
        self.assertIn(f" -k omp:ell_tiles --simd=on {' '.join(BRIEFLY)}", commands_of(said)[0])

    # ---- stopped: the kernel stops the program in the trial of --sigma, which follows that of --simd --------------

    def test_the_time_is_announced_and_corrected(self):
        """The program is stopped for longer than a trial takes."""
        words = [SPMV, "tune", "-m", MATRIX, "-k", "csr_rows,csb_interleaved_blocks", "--max-noise=0%", "--min-time=0.1", "--max-time=1", "--no-log"]
        with subprocess.Popen(words, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            self.assertRegex(process.stderr.readline(), r"^tuning 2 kernels by \d+ trials and a comparison: [\d at mosbu]+ s$")
            process.send_signal(signal.SIGSTOP)
            time.sleep(4)
            process.send_signal(signal.SIGCONT)
            self.assertRegex(process.stderr.read(), r"  longer than announced: \d+ of \d+ trials after \d+ s, [\d at mosbu]+ s left\n")

    def test_stopped_with_something_found(self):
        said, talk = self.tune("-k", "csr5_tiles", "--no-log", code=143)
        self.assertEqual(said, "")
        self.assertIn("spmv: tune: interrupted; not confirmed by a last comparison, but found in short trials until then:\n    spmv "
                      f"-m {MATRIX} -k omp:csr5_tiles --simd=on {' '.join(BRIEFLY)}\n", talk)

    def test_stopped_with_nothing_found(self):
        said, talk = self.tune("-k", "csr5_tiles", "--no-log", "--simd=on", code=143)
        self.assertEqual((said, talk), ("", "spmv: tune: interrupted; nothing was found until then\n"))

    # ---- the command ------------------------------------------------------------------------------

    def records(self, name):
        """{what was measured of every row of a log}, without kernels as they were before."""
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        return [({k: v for k, v in row["config"].items() if k not in ASIDE}, row["matrix"]["source"], row["matrix"]["hash"], row["status"])
                for row in rows if row["config"]["simd"]]

    def assert_repeats(self, count, *words, **environment):
        said, _ = self.tune("-k", "ell_tiles", "--log=tuned.jsonl", *words, **environment)
        found = commands_of(said)
        self.assertEqual(len(found), count, said)
        for command in re.findall(r"^    spmv (?:.* \\\n)*.*", said, re.MULTILINE):
            typed = re.sub("^ *spmv", str(SPMV), command) + " --log=typed.jsonl"
            subprocess.run(["bash", "-c", typed], cwd=self.folder, capture_output=True, timeout=900, check=True)
        self.assertEqual(self.records("typed.jsonl"), self.records("tuned.jsonl"))
        return found

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_what_is_printed_repeats_what_was_measured(self):
        found = self.assert_repeats(4, "-p", "f32,f64", "--index=64", "-t1", "--cache", "cold,warm", "--alpha=2", "--seed=7",
                                    "--values=few:5", SPMV_BETA="0.5")
        self.assertEqual([re.findall("-p (f..) --cache=(cold|warm) ", command) for command in found],
                         [[(p, c)] for p in ("f32", "f64") for c in ("cold", "warm")])

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_a_command_in_several_lines_can_be_typed(self):
        self.assert_repeats(1, "-p", "f32", "--values=few:5", COLUMNS="50", matrix="gen:poisson2d:41")

    @unittest.skipUnless("jansson" in FEATURES, "built without jansson: no log")
    def test_names_that_a_shell_would_change(self):
        name = "it's $HOME\n\x1b`.mtx"
        (self.folder / name).write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n", encoding="utf-8")
        (self.folder / "x's f64.mtx").write_text("%%MatrixMarket matrix array real general\n2 1\n5\n6\n", encoding="utf-8")
        self.assert_repeats(1, "-x", "x's f64.mtx", matrix=name)


if __name__ == "__main__":
    unittest.main()
