#!/usr/bin/env python3
"""Tests of the SVG that charts are drawn as: scales, marks where their values are, legends, text that a log chose."""

import os
import re
import sys
import unittest
import xml.etree.ElementTree

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tables", "report"))
import charts  # noqa: E402
import drawing  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"


def texts_of(text):
    """All words of an SVG that is well-formed XML."""
    return [node.text for node in xml.etree.ElementTree.fromstring(text).iter(f"{SVG}text")]


class Scales(unittest.TestCase):

    def test_places(self):
        log = drawing.Scale(1, 100)
        self.assertAlmostEqual(log.at(10), 0.5)
        self.assertEqual((log.at(0.01), log.at(1e9)), (0, 1))  # at the edge
        self.assertEqual(drawing.Scale(-2, 2, "linear").at(0), 0.5)
        self.assertEqual(drawing.Scale(0, 5, "symlog").at(0), 0)
        self.assertEqual(drawing.Bands("ab").at("b"), 0.75)

    def test_ticks(self):
        self.assertEqual(drawing.Scale(1, 1000).ticks(5), [1, 10, 100, 1000])
        self.assertEqual(drawing.Scale(0.8, 3.5).ticks(6), [1, 1.5, 2, 3])
        self.assertEqual(drawing.Scale(0, 1, "linear").ticks(5), [0, 0.2, 0.4, 0.6000000000000001, 0.8, 1])
        self.assertEqual(drawing.Scale(2, 3, values=(1, 2, 3, 4)).ticks(9), [2, 3])
        for low, high in ((1e-9, 1e9), (5, 5), (0.999, 1.001), (3, 4)):
            for kind in ("log", "linear"):
                self.assertLessEqual(len(drawing.Scale(low, high, kind).ticks(6)), 13, (low, high, kind))
        self.assertEqual([drawing.label(value) for value in (0, 0.25, 12.34, 1000, 45500)], ["0", "0.25", "12.3", "1,000", "45,500"])


class Marks(unittest.TestCase):

    def chart(self, count):
        chart = drawing.Chart(drawing.Scale(1, 100), drawing.Scale(0, 1, "linear"), 200, ("across", "up"))
        seen = drawing.looks(["a", "b"])
        chart.points([(10, 0.5, "ab"[k % 2], f"<{k}> & \x01", 0) for k in range(count)], seen)
        chart.legend_of("of", ["a", "b"], seen)
        return chart

    def test_a_mark_is_where_its_value_is(self):
        chart = self.chart(1)
        self.assertIn(f'd="M{drawing.plain(chart.width / 2)} 100m', chart.marks[0])

    def test_marks_have_texts_where_they_are_few(self):
        for count, titles in ((drawing.NAMED, drawing.NAMED), (drawing.NAMED + 1, 0)):
            text = drawing.svg([self.chart(count)], "a title", ["<more>"])
            xml.etree.ElementTree.fromstring(text)
            self.assertEqual(text.count("<title>"), titles)
            self.assertEqual(text.count("m-3.2 0a"), count - count // 2 + 1)  # circles, and that of the legend
        self.assertEqual({"a title", "<more>", "across", "up", "of", "a", "b"} - set(texts_of(text)), set())

    def test_what_is_alone_has_its_colours(self):
        chart = self.chart(2)
        self.assertIn("<style>", drawing.svg([chart]))
        self.assertNotIn("<style>", drawing.svg([chart], alone=False))

    def test_charts_stand_side_by_side(self):
        one, two = (float(re.search(r'viewBox="0 0 ([\d.]+)', drawing.svg([self.chart(1)] * k))[1]) for k in (1, 2))
        self.assertAlmostEqual(two, 2 * one, delta=0.3)


class Comparisons(unittest.TestCase):

    def test_it_ends_where_the_data_end(self):
        for ratios, (low, high) in (((0.9, 3), (0.9, 3)), ((1.5, 2), (1, 2)), ((0.2, 40), (0.2, 40))):
            scale = charts.comparisons([{"ratio": ratio, "machine": "m", "offset": 0} for ratio in ratios],
                                       [{"machine": "m", "mean": 1.5, "label": "1.50× on 2 matrices"}]).x
            self.assertTrue(0.9 * low < scale.low < low and high < scale.high < 1.1 * high, ratios)


if __name__ == "__main__":
    unittest.main()
