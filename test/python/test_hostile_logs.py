#!/usr/bin/env python3
"""Tests of logs that somebody else wrote: what is made of them is opened by programs that compute formulas and
run scripts, and a folder may hold files that never end."""

import contextlib
import csv
import io
import os
import unittest

from logfixture import TablesTest, record
import logs
import table

FORMULAS = ("=HYPERLINK(0)", "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1")
SCRIPT = "<script>alert(1)</script>"


class HostileLogs(TablesTest):

    def table(self, *words):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()) as talk:
            status = table.main(list(words))
        self.assertEqual(status, 0, talk.getvalue())
        return out.getvalue()

    def pages(self):
        """{name: text} of what `make tables` writes."""
        found = {}
        for place, _, names in os.walk(self.out):
            for name in names:
                with open(os.path.join(place, name), encoding="utf-8", errors="replace", newline="") as file:
                    found[name] = file.read()
        return found

    def test_a_pipe_and_a_device_in_a_folder_are_left_out(self):
        self.write("x.jsonl", record(1e-6))
        os.mkfifo(os.path.join(self.folder, "pipe.jsonl"))
        os.symlink("/dev/zero", os.path.join(self.folder, "endless.log"))
        self.assertIn("csr_rows", self.table(self.folder))

    def test_the_first_version_s_log_reaches_no_terminal_raw(self):
        with open(os.path.join(self.folder, "old.log"), "w", encoding="utf-8", newline="") as file:
            file.write("#a\x1b[31m.mtx\nsparse matrix: 3x3-4NNZ\n@computing SpMV func:0 OMP CSR\ntimeAvg:1e-4\n"
                       "timeAvg:1e-40\n@computing SpMV \x1b[31m \r nothing\n")
        records, complaints, _ = logs.read_logs([os.path.join(self.folder, "old.log")])
        self.assertEqual([(found["matrix.name"], found["timing.median_s"]) for found in records], [(r"a\x1b[31m", 1e-4)])
        self.assertEqual(len(complaints), 2)
        self.assertIn("timeAvg is not a time", complaints[0])
        self.assertTrue(complaints[1].isprintable(), complaints)

    def test_no_cell_is_a_formula(self):
        log = self.write("x.jsonl", *(record(
            1e-6 * (k + 1), run_id=f"r{k}", matrix__name=text, matrix__hash=f"h{k}", config__kernel=kernel, config__alias=text,
            config__format=text, host__name=text, cpu__model=text, config__params={text: k})
            for k, text in enumerate(FORMULAS) for kernel in (text, "csr_rows")))
        tables = {"table": self.table(log, "--format", "csv")}
        self.assertEqual(self.run_main(log)[0], 0)
        tables.update((name, text) for name, text in self.pages().items() if name.endswith(".csv"))
        self.assertGreater(len(tables), 5)
        for name, text in tables.items():
            for row in csv.reader(io.StringIO(text, newline="")):
                for cell in row:
                    with self.subTest(name=name, cell=cell):
                        self.assertFalse(cell[:1] in tuple("=+@\t\r"))
                        if cell[:1] == "-" and cell[1:]:
                            float(cell)

    def test_no_page_has_a_script(self):
        log = self.write("x.jsonl", *(record(
            1e-6 * (k + 1), run_id=f"r{k}", matrix__name=SCRIPT + str(k), matrix__hash=f"h{k}", config__kernel=kernel,
            config__alias=SCRIPT, config__format=SCRIPT, host__name=SCRIPT, cpu__model=SCRIPT, config__backend=SCRIPT)
            for k in range(3) for kernel in (SCRIPT, "csr_rows")))
        pages = {"table": self.table(log, "--format", "md")}
        self.assertEqual(self.run_main(log)[0], 0)
        pages.update((name, text) for name, text in self.pages().items() if name.endswith(".md"))
        self.assertGreater(len(pages), 3)
        for name, text in pages.items():
            self.assertNotIn("<script", text, name)


if __name__ == "__main__":
    unittest.main()
