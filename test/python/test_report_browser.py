#!/usr/bin/env python3
"""Tests of the report's page in a real headless Chromium without any network: it must draw, sort, filter and print there,
and say nothing on the console. Without Chromium (make deps installs it) they are skipped by name."""

import html
import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from logfixture import record
from reportfixture import ReportTest, some_records
import report_page

BROWSER = next(filter(None, map(shutil.which, (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None)

# Runs in the page after it: what a user would do, and what was found, into <pre id=found>.
ACTIONS = """<script>const errors = []; addEventListener("error", e => errors.push(e.message));
addEventListener("unhandledrejection", e => errors.push(String(e.reason)));
addEventListener("securitypolicyviolation", e => errors.push("blocked " + e.blockedURI));</script>
<script type="module">
const found = {}, wait = ms => new Promise(done => setTimeout(done, ms));
const by = id => document.getElementById(id);
const until = async ready => { for (let k = 0; k < 100 && !ready(); k++) await wait(100); };
const marks = place => [...(document.querySelector(place)?.querySelectorAll(".chart") ?? [])].map(chart =>
  [chart.className.replace("chart ", ""), chart.querySelectorAll(".marks path, .line").length]);
found.first = marks("#answer"); found.tall = document.documentElement.scrollHeight;
found.folded = [...document.querySelectorAll("main details")].every(part => !part.open);
found.wide = [document.documentElement.scrollWidth - innerWidth];
for (const part of document.querySelectorAll("main > details, .inside > details")) part.open = true;
await until(() => by("count"));
found.charts = marks("#more-charts .charts"); // first system
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
found.systems = [...document.querySelectorAll("#more-charts details summary")].map(line => line.textContent);
found.commands = [...document.querySelectorAll("#commands li")].map(line => line.id + " " + line.textContent);
found.errors = errors;
const out = document.createElement("pre"); out.id = "found"; out.textContent = JSON.stringify(found);
document.body.append(out);
</script>"""


@unittest.skipUnless(BROWSER, "no Chromium: make deps")
class BrowserTest(ReportTest):

    def browse(self, *options, path=None, seconds=600):
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
        """Returns what ACTIONS found in a page."""
        path = os.path.join(self.folder, "acted.html")
        with open(path, "w", encoding="utf-8") as file:
            policy = re.escape(report_page.POLICY)
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

    def test_it_draws_sorts_and_filters(self):
        found = self.found(self.report(*some_records()))
        self.assertEqual([name for name, _ in found["first"]], ["first"] * 2)  # one per machine
        self.assertTrue(found["folded"])
        drawn = dict(found["charts"])
        self.assertEqual(set(drawn), {"rates", "limit", "profile", "gain-mu", "gain-sigma", "roofline"})
        self.assertGreater(min(drawn.values()), 2, drawn)
        self.assertEqual(drawn["rates"], 12)  # node1: 3 x 4 kernels
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
        self.assertEqual([name[:3] for name in found["systems"]], ["S1:", "S2:"])
        self.assertEqual((found["buttons"], found["focused"], found["small"]), (True, True, ["3,000", "2,000", "1,000"]))
        self.assertLessEqual(max(found["wide"]), 0)
        self.assertLess(found["tall"], 8000)

    def test_a_phone_and_the_dark(self):
        text = self.report(*some_records())
        for options in (("--window-size=500,800",), ("--blink-settings=preferredColorScheme=0",)):
            found = self.found(text, *options)
            self.assertLessEqual(max(found["wide"]), 0)
            self.assertGreater(dict(found["first"])["first"], 12)

    def test_it_draws_little(self):
        found = self.found(self.report(record(matrix__nnz=0), record(1e-6, matrix__name="beta")))
        self.assertIn(["rates", 1], found["charts"])
        self.assertEqual(found["first"], [["first", 1]])  # alpha has no rate

    def test_it_works_without_charts(self):
        found = self.found(self.report(record(), options=("--no-charts",)))
        self.assertEqual(found["charts"], [])
        self.assertEqual(found["count"], "1 of 1 rows")

    def test_it_prints(self):
        self.report(*some_records())
        path = os.path.join(self.folder, "printed.pdf")
        _, console = self.browse(f"--print-to-pdf={path}", "--no-pdf-header-footer")
        self.assertEqual(console, [])
        with open(path, "rb") as file:
            data = file.read()
        self.assertTrue(data.startswith(b"%PDF-"))
        self.assertIn(len(re.findall(rb"/Type /Page\b", data)), range(1, 4))

    def test_ten_thousand_records(self):
        records = [record(1e-6 * (1 + k % 97), matrix__name=f"matrix_of_a_suite_{k % 150}",
                          matrix__hash=str(k % 150), matrix__thumbnail=big_pattern(k % 150),
                          config__kernel=f"kernel_number_{k // 150 % 34}", config__alias=None,
                          config__format=f"format{k // 150 % 9}", prep={"total_s": 1e-3},
                          config__grid=f"{k // 5100 + 1}x1", perf={"bytes_min_B": 12345 + k},
                          run_id=str(k), argv=["spmv", "-m", f"m{k % 150}.mtx", "-k", "all"])
                   for k in range(10000)]
        text = self.report(*records)
        self.assertLess(len(text.encode()), 5_500_000)
        found = self.found(text)
        self.assertEqual(found["count"], "10,000 of 10,000 rows, the first 200 shown")
        self.assertEqual((found["rows"], found["tall"] < 8000), (200, True))


def big_pattern(seed):
    """A thumbnail that does not compress well."""
    return "/".join("".join(str((i * j * (seed + 7) + i * i) % 11 % 10) for j in range(32))
                    for i in range(32))


if __name__ == "__main__":
    unittest.main()
