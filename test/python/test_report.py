#!/usr/bin/env python3
"""Tests of `spmv report`: what holds of its page without a browser. test_report_browser.py opens it in one."""

import contextlib
import html.parser
import io
import os
import re
import subprocess
import tempfile
import unittest

from logfixture import ROOT, record
from reportfixture import ReportTest, some_records
import report
from sections import matrices, rows


class Page(html.parser.HTMLParser):
    """Counts of elements and the attributes of those that could load something."""

    def __init__(self, text):
        super().__init__()
        self.count, self.loads, self.ids, self.links = {}, [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count[tag] = self.count.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "srcset", "data", "poster") or (name == "href" and tag != "a"):
                self.loads.append(value)
            if name == "id":
                self.ids.add(value)
            if name == "href" and tag == "a":
                self.links.add(value)


class HtmlTest(ReportTest):
    """Checks what holds without a browser, and without JavaScript."""

    def test_tables_stand_in_the_page_itself(self):
        text = self.report(*some_records(), options=("--no-charts",))
        found = Page(text)
        rows = re.findall(r"<tr(?: class=(\w+))?>.*<td>([A-Z]{5,})(?: \*)?(<td(?: colspan=8)?>)", text)
        self.assertEqual(len(rows), 27)
        self.assertEqual({status.lower() for _, status, _ in rows}, {"noisy", "skipped", "unchecked", "valid", "wrong"})
        for name, status, cell in rows:  # what has no time has a class, and a reason instead
            without = status in ("SKIPPED", "WRONG")
            self.assertEqual((name, cell), (status.lower(), "<td colspan=8>") if without else ("", "<td>"))
        for count, word in ((18, "VALID"), (6, "NOISY"), (1, "UNCHECKED"), (1, "SKIPPED"),
                            (1, "WRONG")):
            self.assertIn(f"<b>{count}</b> {word}<small>", text)
        self.assertNotIn("</b> FAILED", text)
        self.assertIn("1 result is WRONG", text)
        self.assertNotIn("<script>alert", text)
        self.assertIn("ELL needs 5 GB &lt;script&gt;alert(1)", text)
        self.assertEqual({link[1:] for link in found.links} - found.ids, set())
        self.assertIn("<p><code>./spmv -m MATRIX -k &#x27;a b&#x27;</code> with MATRIX one of</p>"
                      "<ol class=commands><li id=c1>alpha.mtx<li id=c2>beta.mtx<li id=c3>gamma.mtx</ol>", text)

    def test_without_other_libraries_nothing_is_said_of_them(self):
        ours = [record(scale * 1e-3, matrix__name="gen:mesh:9", config__kernel=kernel, config__requested=asked)
                for scale, kernel, asked in ((2, "csr_rows", "csr_rows"), (1, "sell_slices", "auto"))]
        text = self.report(*ours, options=("--no-charts",))
        for words in ("auto over other libraries", "held out", "outside set", "other libraries"):
            self.assertNotIn(words, text)
        text = self.report(*ours, record(3e-3, matrix__name="gen:mesh:9", config__kernel="mkl_csr"), options=("--no-charts",))
        self.assertIn("auto over other libraries", text)
        self.assertNotIn("held out", text)

    def test_names_in_wide_tables_may_break(self):
        text = self.report(record(matrix__name="gen:a_b"), options=("--no-charts",))
        best = text[text.index("<details id=best"):text.index("<details id=matrices")]
        self.assertIn("<tr><td>gen:<wbr>a_<wbr>b<td>1,000<td>csr_<wbr>rows", best)
        self.assertNotIn("<wbr>", text[text.index("<details id=all"):text.index("<details id=what")])

    def test_a_name_spans_the_rows_that_share_it(self):
        names = [("S1", "a", "k"), ("S1", "a", "k"), ("S1", "a", "l"), ("S1", "b", "l"), ("S2", "b", "l"), *[("S3", "c", "m")] * 25]
        self.assertEqual(rows.name_cells(names)[:6], [
            "<td rowspan=3>S1<td rowspan=3>a<td rowspan=2>k", "", "<td>l", "<td>S1<td>b<td>l", "<td>S2<td>b<td>l",
            "<td rowspan=20>S3<td rowspan=20>c<td rowspan=20>m"])
        self.assertEqual([(k, cells) for k, cells in enumerate(rows.name_cells(names)[6:], 6) if cells],
                         [(25, "<td rowspan=5>S3<td rowspan=5>c<td rowspan=5>m")])

    def test_commands_that_no_other_is_like_stand_alone(self):
        found = rows.command_lists({"./spmv -m 'a b' -n 1": 1, "./spmv -k all": 2, "./spmv -m c -n 2": 3, "./spmv -m d -n 1": 4})
        self.assertEqual(found, "<p><code>./spmv -m MATRIX -n 1</code> with MATRIX one of</p><ol class=commands>"
                         "<li id=c1>&#x27;a b&#x27;<li id=c4 value=4>d</ol><p>Alone:</p><ol class=commands>"
                         "<li id=c2 value=2><code>./spmv -k all</code><li id=c3><code>./spmv -m c -n 2</code></ol>")

    def test_nothing_is_loaded(self):
        found = Page(self.report(*some_records(), options=("--no-charts",)))
        self.assertEqual(found.count.get("link", 0), 0)
        self.assertTrue(all(place.startswith("data:image/png;") for place in found.loads))
        self.assertEqual(len(found.loads), 3)

    def test_hosts_are_set_against_each_other(self):
        text = self.report(record(), record(host__name="node2", build__cc="gcc 13"),
                           options=("--no-charts",))
        part = text[text.index("<details id=environment"):]
        self.assertIn("<tr><td>host.name<td>node1<td>node2", part)
        self.assertIn("<td>build.cc<td><td>gcc 13", part)
        self.assertNotIn("cpu.model", part)

    def test_flags_that_all_have_are_left_out(self):
        text = self.report(record(build__cflags="-O3 -g -march=native"),
                           record(host__name="node2", build__cflags="-g -O3 -march=x86-64"),
                           options=("--no-charts",))
        self.assertIn("<td>build.cflags, but for 2 flags that all have<td>-march=native"
                      "<td>-march=x86-64", text)

    def test_what_disturbed_is_counted(self):
        calm = record(timing__flags=[], timing__clk_cpu_before_Hz=3e9)
        hot = record(matrix__name="beta", timing__clk_cpu_after_Hz=2.5e9,
                     timing__temperature_after_C=91,
                     timing__flags=["threads waited for a core 9% of the time", "heat slowed it"])
        text = self.report(calm, hot, options=("--no-charts",))
        self.assertIn("<td>S1<td>2.50 to 3.00<td>91<td><td>1 of 2"
                      "<td>threads waited for a core 9% of the time (1); heat slowed it (1)", text)

    def test_only_the_page_unless_asked(self):
        self.report(record(), options=("--no-charts",))
        self.assertEqual(os.listdir(self.out), ["r.html"])
        self.assertIn("--files", self.talk)
        self.report(record(), options=("--no-charts", "--files"))
        self.assertIn("best.md", os.listdir(self.out))

    def test_the_kinds_of_files_that_are_asked_for(self):
        self.report(record(), options=("--no-charts", "--files=tex"))
        self.assertEqual({name.rpartition(".")[2] for name in os.listdir(self.out)}, {"html", "tex"})
        self.report(record(), options=("--no-charts", "--files=tex,csv"))
        self.assertEqual({name.rpartition(".")[2] for name in os.listdir(self.out)}, {"html", "tex", "csv"})
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(report.main(["--files=txt", "log"]), 64)
        self.assertIn("'txt' is not one of csv, json, md, tex, svg, pdf", said.getvalue())

    def test_commands_carry_their_environment(self):
        for env in ("OMP_PLACES=cores", {"OMP_PLACES": "cores"}):
            text = self.report(record(argv=["spmv", "-k", "all"], omp={"threads": 4, "env": env}),
                               options=("--no-charts",))
            self.assertIn("<code>OMP_PLACES=cores ./spmv -k all</code>", text)

    def test_a_row_of_a_sweep_is_measured_by_a_run(self):
        for head in (["spmv", "sweep"], ["spmv"]):  # logs once lacked the word
            argv = [*head, "-k", "auto,omp:peers", "--cache=cold", "-n5", "--log", "x.jsonl", "-t", "2",
                    "--resume", "-q", "--timeout=60", "omp.list", "m", "--values=few:8"]
            text = self.report(record(argv=argv, sweep={"pass": 1, "cell": "ab"},
                                      matrix__source="gen:mesh:100"),
                               options=("--no-charts",))
            self.assertIn("<code>./spmv -m gen:mesh:100 -k auto,omp:peers --cache=cold -n5 -t 2 -q "
                          "--values=few:8</code>", text)

    def test_command_lines_that_no_shell_takes(self):
        for argv in ("spmv -x 'it", " ", "", 7):
            text = self.report(record(argv=argv, sweep={"pass": 1, "cell": "ab"}), options=("--no-charts",))
            self.assertIn("<html", text)

    def test_png(self):
        data = matrices.png("90/05")
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(data[16:26], b"\0\0\0\2\0\0\0\2\x08\x04")
        self.assertEqual(matrices.png("9\N{SUPERSCRIPT TWO}\N{ARABIC-INDIC DIGIT NINE}"), matrices.png("900"))
        self.assertEqual(matrices.png("1" * 5000 + "/1" * 5000)[16:24], b"\0\0\1\0" * 2)

    def test_strange_patterns_and_missing_fields(self):
        for pattern in ("", "//", "9x?/1", "123/4", "²/1", "9\u0661/3"):
            text = self.report(record(matrix__thumbnail=pattern), options=("--no-charts",))
            self.assertIn("data:image/png" if pattern.strip("/") else "no picture logged", text)
        bare = {"schema": "spmv-run/1", "status": "ok", "matrix": {"name": "m", "nnz": 0},
                "config": {"backend": "omp", "kernel": "k"}, "timing": {"median_s": 1e-6}}
        self.assertIn("no picture logged", self.report(bare, options=("--no-charts",)))

    def test_control_characters_in_names_do_no_harm(self):
        bad = "a\x1b[31m\x00\u202e\x85|`**</noscript><script>alert(1)</script>"
        text = self.report(record(matrix__name=bad), record(2e-6, matrix__name=bad, config__kernel="k\u2066\x07"),
                           options=("--no-charts", "--files"))
        for name in os.listdir(self.out):
            found = [letter for letter in self.text(name) if not (letter.isprintable() or letter in "\r\n")]
            self.assertEqual(found, [], name)
        self.assertIn(r"a\x1b[31m\x00\u202e\x85|", text)
        self.assertEqual(Page(text).count.get("script"), 1)
        self.assertEqual(text.count("</noscript>"), 1)

    def test_control_characters_of_the_published_program(self):
        self.html = os.path.join(self.out, "r.html")
        log = self.write("old.log", "#m\x1b[31m.mtx", "sparse matrix: 10x10-50NNZ", "@computing SpMV with func:0 OMP CSR at:0x1",
                         "R:1 timeAvg:1e-3 timeVar:1e-9")
        with contextlib.redirect_stderr(io.StringIO()) as talk:
            self.assertEqual(report.main([log, "-o", self.html, "--no-charts"]), 0, talk.getvalue())
        self.assertNotIn("\x1b", self.text("r.html"))

    def test_a_backend_that_nobody_knows(self):
        text = self.report(record(config__backend="hip"), record(2e-6, config__backend="hip", config__kernel="ell_rows"),
                           options=("--no-charts",))
        self.assertIn("The fastest kernel is <code>", text)

    def test_without_the_library_charts_are_svg(self):
        code = ("import sys; sys.modules['vl_convert'] = None; sys.path.insert(0, 'tables/report')\n"
                "import report; sys.exit(report.main(sys.argv[1:]))")
        done = subprocess.run(["python3", "-c", code, self.write("a.jsonl", *some_records()), "--files", "-o",
                               os.path.join(self.folder, "x.html")], cwd=ROOT, check=False, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'make deps', or pip, installs it; the charts are SVG files\n", done.stderr)
        names = os.listdir(os.path.join(self.folder, "fig"))
        self.assertEqual({os.path.splitext(name)[1] for name in names}, {".svg"})
        with open(os.path.join(self.folder, "x.html"), encoding="utf-8") as page:
            self.assertEqual(page.read().count("<svg"), len(names))

    def test_it_opens_with_the_winners(self):
        """A table and a chart, then sentences; of many matrices the table has a line for each sentence."""
        for many, first in ((1, "<h3>The fastest kernel of each matrix</h3>"), (9, "<h3>The fastest, and auto</h3>")):
            records = [record(seconds, matrix__name=f"m{k}", matrix__hash=f"m{k}", config__kernel=kernel, config__alias=None)
                       for k in range(3 * many) for kernel, seconds in (("csr_rows", 2e-6), ("sell_slices", 1e-6))]
            text = self.report(*records)
            answer = text[text.index("<section id=answer>"):text.index("</section>")]
            self.assertTrue(answer.startswith(f"<section id=answer>{first}<div class=wide><table"), answer[:200])
            places = [answer.index(part) for part in ("<table", "<svg", "<div class=answer>")]
            self.assertEqual(places, sorted(places))
            self.assertEqual(answer.count("<h3>Every machine, state and class"), 1)

    def test_several_numbers_of_threads_have_a_chart(self):
        records = [record(seconds, config__kernel="csr_rows", omp={"threads": threads}) for threads, seconds in ((1, 8e-6), (2, 4e-6))]
        for count in 1, 2:
            text = self.report(*records[:count], options=("--files=svg",))
            self.assertEqual(text.count("<h3>Speed-up by threads</h3>"), count - 1)
            self.assertEqual(os.path.exists(os.path.join(self.out, "fig", "scaling.svg")), count > 1)

    def test_a_name_of_a_log_is_no_markup_in_a_chart(self):
        text = self.report(*(record(seconds, matrix__name="<u>", config__kernel=kernel) for kernel, seconds in (("csr_rows", 2e-6), ("<s>", 1e-6))))
        self.assertEqual((text.count("<u>"), text.count("<s>")), (0, 0))
        self.assertGreater(text.count("<title>&lt;u&gt;: &lt;s&gt;"), 1)


class ReferenceTest(unittest.TestCase):
    """The report of a log of the reference."""

    def test_its_numbers_are_those_of_readme(self):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
            name = os.path.join(folder, "report.html")
            self.assertEqual(report.main([os.path.join(ROOT, "log/reference/cpu-outside.jsonl.xz"), "-o", name, "--no-charts"]), 0)
            with open(name, encoding="utf-8") as file:
                text = file.read()
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            mean, worst = re.search(r"is (\d\.\d\d) times as fast as the best of oneMKL.*?worst\smatrix has (\d\.\d\d)", file.read(), re.S).groups()
        answer = text[text.index("<section id=answer>"):text.index("</section>")]
        self.assertRegex(answer, rf"<td>{mean} \(\d+\)<td>{worst} ")
        self.assertLess(len(text.encode()), 7_000_000)  # opens in about a second
        seen = re.sub("<(details|noscript).*?</\\1>", "", text[:text.index("<footer>")], flags=re.DOTALL)
        self.assertLess(len(re.findall("<(?!/)", seen)), 800)  # elements that an unopened page lays out


if __name__ == "__main__":
    unittest.main()
