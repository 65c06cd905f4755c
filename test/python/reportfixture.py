"""Holds what the tests of `spmv report` share: records of every kind, and a page made of them as a user makes it."""

import contextlib
import io
import os

from logfixture import TablesTest, record, skipped
import charts
import common
import report

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
