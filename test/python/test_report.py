#!/usr/bin/env python3
"""Tests of `spmv report`. The page is opened in a real headless Chromium without any network: it
must draw, sort, filter and print there, and say nothing on the console. Without Chromium or
vl-convert-python (make deps installs both) those tests are skipped by name."""

import contextlib
import html.parser
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from logfixture import ROOT, TablesTest, record, skipped
import charts
import common
from logs import flatten
import page
import report
from headline import conclusion, dots
from sections import markup, matrices, rows

BROWSER = next(filter(None, map(shutil.which, (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)
try:
    charts.library()
    LIBRARY = True
except common.Stop:
    LIBRARY = False
PATTERN = "/".join("0" * i + "9" + "0" * (7 - i) for i in range(8))  # a diagonal


def some_records():
    """Two systems, three matrices, four kernels with a peer, every way to end."""
    records = []
    for nnz, (name, scale) in enumerate((("alpha", 1), ("beta", 3), ("gamma", 10)), 1):
        for kernel, form, factor in (("csr_rows", "csr", 4), ("ell_rows", "ell", 2),
                                     ("sell_slices", "sell", 1), ("mkl_csr", "csr", 3)):
            for host in ("node1", "node2"):
                records.append(record(
                    scale * factor * 1e-6, matrix__name=name, matrix__hash=name,
                    matrix__nnz=nnz * 1000, host__name=host, config__kernel=kernel,
                    config__alias=None, config__format=form, prep={"total_s": 1e-3 / factor},
                    perf={"bytes_min_B": nnz * 12000, "bw_peak_Bps": 5e10, "bw_peak_source": "measured-read"}, argv=[
                        "spmv", "-m", f"{name}.mtx", "-k", "a b"],
                    timing__converged=kernel != "ell_rows",
                    matrix={**record()["matrix"], "name": name, "hash": name, "nnz": nnz * 1000,
                            "row_mean": 7.5 * nnz, "row_std": 2.0 * nnz, "row_max": 20,
                            "thumbnail": PATTERN}))
    return records + [
        skipped("ELL needs 5 GB <script>alert(1)</script>", config__kernel="ell_tiles",
                matrix__hash="alpha"),
        record(1e-9, status="wrong", reason="row 3", config__kernel="bad", matrix__hash="alpha"),
        record(1e-3, config__kernel="unchecked", check__status="off", matrix__hash="alpha")]


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


class ReportTest(TablesTest):

    def report(self, *lines, options=()):
        """The page's text, having asked for it as a user does."""
        log = self.write("run.jsonl", *lines)
        self.html = os.path.join(self.out, "r.html")
        with contextlib.redirect_stderr(io.StringIO()) as talk:
            status = report.main([log, "-o", self.html, *options])
        self.assertEqual(status, 0, talk.getvalue())
        self.talk = talk.getvalue()
        return self.text("r.html")


class HtmlTest(ReportTest):
    """What holds without a browser, and without JavaScript."""

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
                      "<td>threads waited for a core … of the time (1); heat slowed it (1)", text)

    def test_only_the_page_unless_asked(self):
        self.report(record(), options=("--no-charts",))
        self.assertEqual(os.listdir(self.out), ["r.html"])
        self.assertIn("--files", self.talk)
        self.report(record(), options=("--no-charts", "--files"))
        self.assertIn("best.md", os.listdir(self.out))

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

    def test_without_the_library_it_says_what_to_do_and_has_tables_only(self):
        code = ("import sys; sys.modules['vl_convert'] = None; sys.path.insert(0, 'tables/report')\n"
                "import report; sys.exit(report.main(sys.argv[1:]))")
        done = subprocess.run(["python3", "-c", code, self.write("a.jsonl", record()), "-o",
                               os.path.join(self.folder, "x.html")], cwd=ROOT, check=False,
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("'make deps', or pip, installs it; the page has tables only\n", done.stderr)
        with open(os.path.join(self.folder, "x.html"), encoding="utf-8") as page:
            text = page.read()
        self.assertIn("csr_rows", text)
        self.assertNotIn("Charts by Vega", text)


def layout_of(records):
    """As the report makes it."""
    return report.tabulate(report.merge([report.unit_of(dict(flatten(r))) for r in records]))


class ReferenceTest(unittest.TestCase):
    """The report of the reference, as it is committed."""

    def test_its_numbers_are_those_of_readme(self):
        with open(os.path.join(ROOT, "tables", "reference", "report.html"), encoding="utf-8") as file:
            text = file.read()
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            told = re.findall(r" (\d\.\d\d)(†?), (\d\.\d\d) ", file.read().partition("<!-- results:")[2])
        self.assertGreater(len(told), 4)
        answer = text[text.index("<section id=answer>"):text.index("</section>")]
        for mean, doubt, worst in told:
            self.assertRegex(answer, rf"<td>{mean} \(\d+\){doubt and ' ' + doubt}<td>{worst} ")
        self.assertLess(len(text.encode()), 5_000_000)  # opens in a second
        seen = re.sub("<(details|noscript).*?</\\1>", "", text[:text.index("<footer>")], flags=re.DOTALL)
        self.assertLess(len(re.findall("<(?!/)", seen)), 600)  # elements that an unopened page lays out


class DataTest(unittest.TestCase):

    def test_what_repeats_is_written_once(self):
        long = list(range(40))
        data = {"a": {"b": long, "c": 1}, "d": [long, {"b": long, "c": 1}], "e": [1], "f": [1]}
        packed = markup.parts_once(data)
        self.assertEqual(packed["all"], {"a": {"part": 1}, "d": [{"part": 0}, {"part": 1}], "e": [1], "f": [1]})
        self.assertEqual(packed["parts"], [long, {"b": {"part": 0}, "c": 1}])

    def test_columns_are_as_short_as_they_can_be(self):
        found = markup.columns([{"x": k, "y": "word", "z": k % 2 == 0} for k in range(9)])
        self.assertEqual(found, {"x": list(range(9)), "y": {"words": ["word"], "at": [0] * 9},
                                 "z": {"words": [True, False], "at": [0, 1] * 4 + [0]}})

    def test_profile(self):
        layout = layout_of(some_records())
        matrices = next(rows for system, rows in layout.items() if system.host == "node2")
        points, leaders = report.profile_data(matrices)
        self.assertEqual(leaders[0], "sell_slices")
        ell = [(p["tau"], p["share"]) for p in points if p["kernel"] == "ell_rows"]
        self.assertEqual(ell[0], (1.0, 0.0))
        self.assertEqual([share for tau, share in ell if tau >= 2.02][0], 1.0)
        self.assertEqual([share for tau, share in ell if tau < 1.98], [0.0])

    def test_gains_are_over_the_best_peer(self):
        layout = layout_of(some_records())
        system, matrices = next(item for item in layout.items() if item[0].host == "node2")
        points, peer = report.gains_data(system, matrices)
        self.assertEqual(peer, "the best peer")
        self.assertEqual([(p["kernel"], p["peer"], p["ratio"]) for p in points],
                         [("sell_slices", "mkl_csr", 3.0)] * 3)

    def test_names_have_room(self):
        points = [{"matrix": f"m{k}", "mu": float(k), "sigma": None, "ratio": ratio}
                  for k, ratio in enumerate([2.0] * 20 + [0.5, 0.8, 3.0, 2.99])]
        found = report.named(points, "mu")
        self.assertEqual(found[0], "m20")  # the worst loss first
        self.assertIn("m22", found)
        self.assertNotIn("m23", found)  # beside it
        self.assertLess(len(found), 13)
        self.assertEqual(report.named(points, "sigma"), [])

    def test_matrices_without_entries_have_no_rate(self):
        (system, matrices), = layout_of([record(matrix__nnz=0)]).items()
        data = report.system_data(1, system, matrices)
        self.assertNotIn("rates", [name for name, *_ in charts.charts(data, ["csr"])])

    def test_marks_tell_formats_apart_in_grey(self):
        found = charts.looks("format", [f"f{k:02}" for k in range(18)], {})
        fill, shape = (found[channel]["scale"]["range"] for channel in ("fill", "shape"))
        self.assertEqual(len({(form, colour == "transparent") for colour, form in zip(fill, shape)}), 18)
        self.assertEqual({colour for colour in fill if colour != "transparent"} - set(charts.COLOURS), set())

    def test_colours_stand_out_on_white_and_on_dark(self):
        def luminance(colour):
            parts = [int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        for colour in charts.COLOURS:  # 3 : 1, as WCAG asks of graphics
            self.assertGreaterEqual((1 + 0.05) / (luminance(colour) + 0.05), 3, colour)
            self.assertGreaterEqual((luminance(colour) + 0.05) / (luminance("#1d232a") + 0.05), 3, colour)

    def test_speed_ups_off_scale_are_clipped_in_charts_alone(self):
        ratios = [0.01, *[1.1 + k / 50 for k in range(40)], 90]
        self.assertEqual(charts.domain_of(ratios), [0.25, 8])
        self.assertEqual(charts.domain_of([2, 4]), [0.93, 4.28])
        self.assertIn("2 beyond", charts.beyond_text(ratios))
        found = {"points": [{"value": value, "format": "csr"} for value in ratios], "rows": ["a"], "over": "b", "axis": "c"}
        spec = charts.speedups(found, ["csr"])
        self.assertEqual({json.dumps(layer["encoding"]["x"]["scale"]["domain"]) for layer in spec["layer"]}, {"[0.25, 8]"})
        self.assertTrue(all(layer["encoding"]["x"]["scale"]["clamp"] for layer in spec["layer"]))
        finding, = conclusion.findings(layout_of([
            *(record(median, 0.001, config__kernel=kernel, config__alias=None)
              for kernel, median in (("mkl_csr", 90e-6), ("ell_rows", 1e-6)))]), {})
        self.assertEqual([point["value"] for point in dots.dots_of(finding)["points"] if point["kernel"] == "ell_rows"], [90, 90])
        self.assertIn("**90.00** times", conclusion.sentence(finding))

    def test_limit(self):
        self.assertEqual(report.limit_of({"perf.bw_peak_Bps": 2e9, "gpu.bw_theory_Bps": 5e9,
                                          "perf.bw_peak_source": "measured-read"}),
                         (2e9, "the measured streaming limit (spmv probe)"))
        self.assertEqual(report.limit_of({"gpu.bw_theory_Bps": 5e9}),
                         (5e9, "the theoretical bandwidth"))
        self.assertIsNone(report.limit_of({}))


# Runs in the page after it: what a user would do, and what was found, into <pre id=found>.
ACTIONS = """<script>const errors = []; addEventListener("error", e => errors.push(e.message));
addEventListener("unhandledrejection", e => errors.push(String(e.reason)));
addEventListener("securitypolicyviolation", e => errors.push("blocked " + e.blockedURI));</script>
<script type="module">
const found = {}, wait = ms => new Promise(done => setTimeout(done, ms));
const by = id => document.getElementById(id);
const until = async ready => { for (let k = 0; k < 100 && !ready(); k++) await wait(100); };
const marks = () => [...document.querySelectorAll(".chart")].map(chart =>
  [chart.id, chart.querySelectorAll(".mark-symbol path, .mark-line path, .mark-rect path").length]);
if (by("first-chart")) await until(() => by("first-chart").dataset.drawn);
found.first = marks(); found.tall = document.documentElement.scrollHeight;
found.folded = [...document.querySelectorAll("main details")].every(part => !part.open);
found.wide = [document.documentElement.scrollWidth - innerWidth];
for (const part of document.querySelectorAll("main > details, .inside > details")) part.open = true;
if (by("charts")) await until(() => by("charts").dataset.drawn);
await until(() => by("count"));
found.charts = marks().filter(([id]) => id !== "chart-first");
found.wide.push(document.documentElement.scrollWidth - innerWidth);
const table = by("results"), heads = [...table.tHead.rows[0].cells];
const column = name => [...table.tBodies[0].rows]
  .map(row => row.cells[heads.findIndex(h => h.textContent === name)]?.textContent);
const press = name => heads.find(h => h.textContent === name).firstChild.click();
const type = (id, text) => { const box = by(id); box.value = text; box.dispatchEvent(new Event("input")); };
found.count = by("count").textContent; found.rows = table.tBodies[0].rows.length;
press("median"); found.up = column("median"); press("median"); found.down = column("median");
press("GFLOP/s"); found.rates = column("GFLOP/s");
press("matrix"); found.matrices = column("matrix");
found.sorted = heads.map(h => h.getAttribute("aria-sort"));
type("search", "beta  SELL"); found.searched = [column("matrix"), column("kernel")];
found.counted = by("count").textContent;
type("search", ""); type("by-status", "SKIPPED"); found.skipped = column("kernel");
type("by-status", ""); type("by-system", "S2"); found.system = [...new Set(column("system"))];
type("by-system", "");
const small = document.querySelector("#best table");
found.buttons = [...document.querySelectorAll("th")].every(head => head.firstChild.tagName === "BUTTON");
if (small) { const nonzeros = () => [...small.tBodies[0].rows].map(row => row.cells[1].textContent);
  const head = small.tHead.rows[0].cells[1].firstChild; head.focus(); found.focused = document.activeElement === head;
  head.click(); head.click(); found.small = nonzeros(); }
const pick = by("of-charts");
if (pick && pick.options.length > 1) { const before = by("charts").dataset.drawn; pick.value = 1;
  pick.dispatchEvent(new Event("input"));
  await until(() => by("charts").dataset.drawn !== before);
  found.redrawn = by("charts").dataset.drawn; }
found.commands = [...document.querySelectorAll("#commands li")].map(line => line.id + " " + line.textContent);
found.errors = errors;
const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found);
document.body.append(out);
</script>"""


@unittest.skipUnless(BROWSER, "no Chromium: make deps")
class BrowserTest(ReportTest):

    def browse(self, *options, path=None, seconds=120):
        """(stdout, console lines) of a headless Chromium that can reach no network."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run(
                [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-dev-shm-usage", "--hide-scrollbars", f"--user-data-dir={profile}",
                 "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr",
                 "--virtual-time-budget=60000", *options, "file://" + (path or self.html)],
                capture_output=True, text=True, check=False, timeout=seconds)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]

    def found(self, text, *options):
        """What ACTIONS found in a page."""
        path = os.path.join(self.folder, "acted.html")
        with open(path, "w", encoding="utf-8") as file:
            policy = re.escape(page.POLICY)
            self.assertRegex(text, policy)
            head, end, tail = text.rpartition("</body>")
            file.write(head + ACTIONS + end + tail)
        dom, console = self.browse("--dump-dom", *(options or ("--window-size=1400,900",)), path=path)
        match = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
        self.assertIsNotNone(match, "\n".join(console))
        found = json.loads(html.unescape(match[1]))
        self.assertEqual(found["errors"], [])
        self.assertEqual(console, [])
        return found

    @unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
    def test_it_draws_sorts_and_filters(self):
        found = self.found(self.report(*some_records()))
        self.assertEqual([name for name, _ in found["first"]], ["chart-first"])
        self.assertTrue(found["folded"])
        drawn = dict(found["charts"])
        self.assertEqual(set(drawn), {"chart-rates", "chart-limit", "chart-profile", "chart-gain-mu", "chart-gain-sigma",
                                      "chart-roofline"})
        self.assertGreater(min(drawn.values()), 2, drawn)
        self.assertGreaterEqual(drawn["chart-rates"], 13)  # node1: 3 x 4 kernels, 1 unchecked
        self.assertEqual(found["count"], "27 of 27 rows")
        times = [text for text in found["up"] if text and text.endswith("s")]
        self.assertEqual(times[0], "1.00 µs")
        self.assertEqual(times[-3:], ["40.0 µs", "40.0 µs", "1.00 ms"])
        self.assertEqual(found["down"][:3], ["1.00 ms", "40.0 µs", "40.0 µs"])
        rates = [float(text) for text in found["rates"][:25]]
        self.assertEqual(rates, sorted(rates, reverse=True))
        self.assertEqual(found["matrices"], sorted(found["matrices"]))
        self.assertEqual([x for x in found["sorted"] if x], ["ascending"])
        self.assertEqual(found["searched"], [["beta"] * 2, ["sell_slices"] * 2])
        self.assertEqual(found["counted"], "2 of 27 rows")
        self.assertEqual(found["commands"], [f"c{k} ./spmv -m {name}.mtx -k 'a b'" for k, name in enumerate(("alpha", "beta", "gamma"), 1)])
        self.assertEqual((found["skipped"], found["system"]), (["ell_tiles"], ["S2"]))
        self.assertTrue(found["redrawn"].startswith("S2: "), found["redrawn"])
        self.assertEqual((found["buttons"], found["focused"], found["small"]), (True, True, ["3,000", "2,000", "1,000"]))
        self.assertLessEqual(max(found["wide"]), 0)
        self.assertLess(found["tall"], 8000)

    @unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
    def test_a_phone_and_the_dark(self):
        text = self.report(*some_records())
        for options in (("--window-size=500,800",), ("--blink-settings=preferredColorScheme=0",)):
            found = self.found(text, *options)
            self.assertLessEqual(max(found["wide"]), 0)
            self.assertGreater(dict(found["first"])["chart-first"], 12)

    @unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
    def test_it_draws_little(self):
        found = self.found(self.report(record(matrix__nnz=0), record(1e-6, matrix__name="beta")))
        self.assertIn(["chart-rates", 2], found["charts"])  # the mark, and its legend
        self.assertEqual(found["first"], [["chart-first", 2]])  # alpha has no rate

    def test_it_works_without_charts(self):
        found = self.found(self.report(record(), options=("--no-charts",)))
        self.assertEqual(found["charts"], [])
        self.assertEqual(found["count"], "1 of 1 rows")

    @unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
    def test_it_prints(self):
        self.report(*some_records())
        path = os.path.join(self.folder, "printed.pdf")
        _, console = self.browse(f"--print-to-pdf={path}", "--no-pdf-header-footer")
        self.assertEqual(console, [])
        with open(path, "rb") as file:
            data = file.read()
        self.assertTrue(data.startswith(b"%PDF-"))
        self.assertIn(len(re.findall(rb"/Type /Page\b", data)), range(1, 4))

    @unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
    def test_ten_thousand_records(self):
        records = [record(1e-6 * (1 + k % 97), matrix__name=f"matrix_of_a_suite_{k % 150}",
                          matrix__hash=str(k % 150), matrix__thumbnail=big_pattern(k % 150),
                          config__kernel=f"kernel_number_{k // 150 % 34}", config__alias=None,
                          config__format=f"format{k // 150 % 9}", prep={"total_s": 1e-3},
                          config__grid=f"{k // 5100 + 1}x1", perf={"bytes_min_B": 12345 + k},
                          run_id=str(k), argv=["spmv", "-m", f"m{k % 150}.mtx", "-k", "all"])
                   for k in range(10000)]
        text = self.report(*records)
        self.assertLess(len(text.encode()), 5_000_000)
        found = self.found(text)
        self.assertEqual(found["count"], "10,000 of 10,000 rows, the first 200 shown")
        self.assertEqual((found["rows"], found["tall"] < 8000), (200, True))


def big_pattern(seed):
    """A thumbnail that does not compress well."""
    return "/".join("".join(str((i * j * (seed + 7) + i * i) % 11 % 10) for j in range(32))
                    for i in range(32))


@unittest.skipUnless(LIBRARY, "no vl-convert-python: make deps")
class FigureTest(ReportTest):

    def test_tables_and_figures_lie_beside_the_page(self):
        self.report(*(r for r in some_records() if r["host"]["name"] == "node1"),
                    options=("--files",))
        self.assertTrue({"best.csv", "times.md", "best.tex", "optimal.json", "fig"}
                        <= set(os.listdir(self.out)))
        figures = os.listdir(os.path.join(self.out, "fig"))
        self.assertEqual(len(figures), 14)  # 7 charts, 2 kinds
        self.assertEqual(len([name for name in figures if name.startswith("first-1-")]), 2)
        for name in figures:
            with open(os.path.join(self.out, "fig", name), "rb") as file:
                start = file.read(5)
            self.assertEqual(start, b"%PDF-" if name.endswith("pdf") else b"<svg ", name)
        first = self.text(os.path.join("fig", next(name for name in figures if name.startswith("first-") and name.endswith("svg"))))
        self.assertIn("Speed-up over other libraries", first)
        self.assertNotIn("(click)", first)  # paper has no mouse


if __name__ == "__main__":
    unittest.main()
