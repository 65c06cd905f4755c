#!/usr/bin/env python3
"""Tests of the report's charts: what they are drawn of, their specifications, and their files."""

import os
import unittest

from logfixture import record
from reportfixture import LIBRARY, ReportTest, some_records
import charts
import drawing
from logs import flatten
import report
from against_peers import conclusion, dots


def layout_of(records):
    """Lays it out as the report does."""
    return report.tabulate(report.merge([report.unit_of(dict(flatten(r))) for r in records]))


class DataTest(unittest.TestCase):

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
        found = drawing.looks([f"f{k:02}" for k in range(18)]).values()
        self.assertEqual(len({(shape, filled) for _, shape, filled in found}), 18)
        self.assertEqual({colour for colour, *_ in found} - set(drawing.COLOURS), set())

    def test_colours_stand_out_on_white_and_on_dark(self):
        def luminance(colour):
            parts = [int(colour[k:k + 2], 16) / 255 for k in (1, 3, 5)]
            linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
            return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
        for colour in drawing.COLOURS:  # 3 : 1, as WCAG asks of graphics
            self.assertGreaterEqual((1 + 0.05) / (luminance(colour) + 0.05), 3, colour)
            self.assertGreaterEqual((luminance(colour) + 0.05) / (luminance("#1d232a") + 0.05), 3, colour)

    def test_speed_ups_off_scale_are_clipped_in_charts_alone(self):
        ratios = [0.01, *[1.1 + k / 50 for k in range(40)], 90]
        self.assertEqual(charts.domain_of(ratios), [0.25, 8])
        self.assertEqual(charts.domain_of([2, 4]), [0.93, 4.28])
        self.assertIn("2 beyond", charts.beyond_text(ratios))
        found = {"points": [{"value": value, "format": "csr", "row": "a", "matrix": "m", "kernel": "k", "time": "1 s", "offset": 0} for value in ratios],
                 "rows": ["a"], "over": "b", "axis": "c", "means": [{"row": "a", "value": 1.5}]}
        chart = charts.speedups(found, ["csr"])
        self.assertEqual((chart.x.low, chart.x.high, chart.x.at(0.01), chart.x.at(90)), (0.25, 8, 0, 1))
        finding, = conclusion.findings(layout_of([
            *(record(median, 0.001, config__kernel=kernel, config__alias=None)
              for kernel, median in (("mkl_csr", 90e-6), ("ell_rows", 1e-6)))]), {})
        self.assertEqual([point["value"] for point in dots.dots_of(finding)["points"] if point["kernel"].startswith("ell_rows")], [90, 90])
        self.assertIn("**90.00** times", conclusion.sentence(finding))

    def test_limit(self):
        self.assertEqual(report.limit_of({"perf.bw_peak_Bps": 2e9, "gpu.bw_theory_Bps": 5e9,
                                          "perf.bw_peak_source": "measured-read"}),
                         (2e9, "the measured streaming limit (spmv doctor --probe)"))
        self.assertEqual(report.limit_of({"gpu.bw_theory_Bps": 5e9}),
                         (5e9, "the theoretical bandwidth"))
        self.assertIsNone(report.limit_of({}))

    def test_no_mark_is_above_its_roof(self):
        """The caches have a roof of their own: as probed, or as the fastest product reached in a log without that."""
        def lines(**probed):
            def timed(name, seconds, verdict):
                return record(seconds, matrix__name=name, matrix__hash=name, perf={
                    "bytes_min_B": 10000, "bw_peak_Bps": 5e9, "bw_peak_source": "measured-read", "verdict": verdict, **probed})
            (system, matrices), = layout_of([timed("memory", 2.5e-6, "ok"), timed("above", 1.6e-6, "above probe"), timed("cache", 0.5e-6, "in cache")]).items()
            data = report.system_data(1, system, matrices)
            top = max(line["gflops"] / line["intensity"] for line in data["limits"])
            self.assertTrue(all(cell["gflops"] <= top * cell["intensity"] * 1.01 for cell in data["cells"]))
            return list(dict.fromkeys(line["name"] for line in data["limits"]))
        self.assertEqual(lines(), ["measured streaming limit (spmv doctor --probe): 6.25 GB/s as a product reached, probed 5", "caches: 20 GB/s as a product reached"])
        self.assertEqual(lines(cache_Bps=3e10)[1], "caches: 30 GB/s")
        self.assertEqual(lines(cache_Bps=1e10)[1], "caches: 20 GB/s as a product reached, probed 10")


class FigureTest(ReportTest):

    def test_tables_and_figures_lie_beside_the_page(self):
        self.report(*(r for r in some_records() if r["host"]["name"] == "node1"),
                    options=("--files",))
        self.assertTrue({"best.csv", "times.md", "best.tex", "optimal.json", "fig"}
                        <= set(os.listdir(self.out)))
        figures = os.listdir(os.path.join(self.out, "fig"))
        kinds = 2 if LIBRARY else 1
        self.assertEqual(len(figures), 7 * kinds)
        self.assertEqual(len([name for name in figures if name.startswith("first-1-")]), kinds)
        for name in figures:
            with open(os.path.join(self.out, "fig", name), "rb") as file:
                start = file.read(5)
            self.assertEqual(start, b"%PDF-" if name.endswith("pdf") else b"<svg ", name)
        first = self.text(os.path.join("fig", next(name for name in figures if name.startswith("first-") and name.endswith("svg"))))
        self.assertIn("Speed-up over other libraries", first)


if __name__ == "__main__":
    unittest.main()
