#!/usr/bin/env python3
"""Tests of tables/report/against_peers: figures of the outside set, worked out by hand."""

import math
import os
import tempfile
import unittest

from logfixture import TablesTest, record
import aims
import logs
import report_page
import published_results
import units.layout
from against_peers import classes, conclusion, dots, figures, split

PLACES = {name: classes.Place(family, size, half, False) for name, family, size, half in (
    ("a", "fem", "small", "tune"), ("b", "fem", "large", "tune"), ("c", "graph", "small", "held-out"),
    ("d", "graph", "large", "held-out"))}


def timed(name, kernel, median, auto=False, **changes):
    """A record in cold caches; auto: with so many expected products (0: unknown)."""
    asked = {} if auto is False else {"config__requested": "auto", "config__iters": auto or None}
    fields = {"config__alias": None, "config__cache": "cold", "timing__converged": True, "matrix__name": name,
              "matrix__hash": name, **asked, **changes}
    return record(median, 0.001, config__kernel=kernel, **fields)


def drifting(name, step):
    """Noisy records of a library and of auto, which takes twice as long in turns that are step rounds later."""
    drift = [1, 1.2, 1.5, 2, 3, 4, 3, 2, 1.4, 1.1, 1, 1.3]
    turns = {"timing__group": 1, "timing__converged": False, "timing__q1_s": 0.5, "timing__q3_s": 3}
    return [timed(name, "mkl_csr", 1, timing__turns_s=drift, **turns),
            timed(name, "csell_slices", 1, 1000, timing__turns_s=[2 * t for t in drift[step - 1:] + drift[:step - 1]], **turns)]


def layout_of(*records):
    """Lays it out as the programs do."""
    return units.layout.layout_of([dict(logs.flatten(r)) for r in records])


def rows_of(table):
    """{the five words of a group: the cells after them}."""
    header, alignment, rows = table
    assert all(len(row) == len(header) == len(alignment) for row in rows), table
    return {tuple(row[1:5]): row[5:] for row in rows}


# Over the library: 2, 1.28 in the one half, 1.5 and 0.75 in the other; over csr_rows, 1 on d.
RECORDS = [timed("a", "mkl_csr", 2), timed("a", "csell_slices", 1, 1000), timed("b", "mkl_csr", 1.28),
           timed("b", "csell_slices", 1, 1000), timed("c", "mkl_csr", 1.5), timed("c", "csell_slices", 1, 1000),
           timed("d", "mkl_csr", 0.75, timing__converged=False), timed("d", "csell_slices", 1, 1000),
           timed("a", "csell_slices", 4, 0), timed("gen:e", "mkl_csr", 3), timed("gen:e", "csell_slices", 1, 1000),
           timed("f", "librsb_tuned", 5), timed("f", "csell_slices", 1, 1000)]
ALL_BUT_D = [r for r in RECORDS if r["matrix"]["name"] != "d"]
KNOWN = ("cold", "f64", classes.LIBRARIES, "known")


class HeadlineTest(TablesTest):

    def test_means_worst_and_halves(self):
        rows = rows_of(figures.outside_table(layout_of(*RECORDS), PLACES))
        # Logarithms: tune (0.693 + 0.247) / 2 = 0.470, held out (0.405 - 0.288) / 2 = 0.059; difference 0.411 = 50.8 %.
        # Variances 0.0996 and 0.2402, each over 2: the standard error is 0.412.
        self.assertEqual(rows[KNOWN], ["1.30 (4) ~", "0.75 d", "1.60 (2)", "1.28 b", "1.06 (2)", "0.75 d", "+50.8 ± 41.2 %", "no",
                                       "3, 0, 1"])
        self.assertEqual(rows[("cold", "f64", classes.LIBRARIES, "unknown")][:2], ["0.50 (1)", "0.50 a"])
        self.assertEqual(rows[("cold", "f64", classes.LIBRARIES, "unknown")][6:], ["", "", "0, 0, 1"])

    def test_without_turns_both_medians_must_be_known(self):
        for half_width, known in ((0.02, "2 (100 %)"), (0.025, "1 (50 %)")):  # 0.02 twice is 0.028, 0.025 twice 0.035
            ends = {"timing__median_low_s": 1 - half_width, "timing__median_high_s": 1 + half_width}
            pair = [timed("a", "mkl_csr", 1, **ends), timed("a", "csell_slices", 1, 1000, **ends)]
            exact = [timed("b", "mkl_csr", 1), timed("b", "csell_slices", 1, 1000)]
            rows = rows_of(figures.known_table(layout_of(*pair, *exact), PLACES))
            self.assertEqual(rows[KNOWN][3], known)
        wide = timed("a", "csell_slices", 1, 1000, timing__median_low_s=0.92, timing__median_high_s=1.08)
        rows = rows_of(figures.known_table(layout_of(timed("a", "mkl_csr", 1), wide), PLACES))
        self.assertEqual(rows[KNOWN][3], "0 (0 %)")

    def test_the_least_ratio_counts_of_several_libraries(self):
        rounds = {"timing__group": 1, "timing__q1_s": 0.5, "timing__q3_s": 9}
        records = [timed("a", "csell_slices", 1, 1000, timing__turns_s=[1] * 8, **rounds),
                   timed("a", "mkl_csr", 1.5, timing__turns_s=[2] * 8, **rounds),
                   timed("a", "librsb_tuned", 1.6, timing__turns_s=[1.2] * 8, **rounds)]  # by its median the slower one
        self.assertEqual(rows_of(figures.outside_table(layout_of(*records), PLACES))[KNOWN][0], "1.20 (1)")

    def test_a_difference_is_expected_within_two_errors_and_six_percent(self):
        self.assertTrue(figures.is_as_expected((0.05, 0.03)))
        self.assertFalse(figures.is_as_expected((0.07, 0.2)))
        self.assertFalse(figures.is_as_expected((0.05, 0.02)))
        self.assertTrue(figures.is_as_expected((-0.05, 0.03)))

    def test_losses_are_named_and_known_ratios_counted(self):
        rows = rows_of(figures.losses_table(layout_of(*RECORDS), PLACES))
        self.assertEqual(rows[KNOWN], ["0.75 d"])
        self.assertNotIn("gen:e", str(rows))
        rows = rows_of(figures.known_table(layout_of(*RECORDS), PLACES))
        self.assertEqual(rows, {KNOWN: [4, 3, 0, "3 (75 %)", "no"], (*KNOWN[:3], "unknown"): [1, 1, 0, "1 (100 %)", "yes"]})

    def test_turns_tell_a_ratio_that_two_noisy_times_do_not(self):
        """On d both times drift by a factor of 4, and together; their medians are of other rounds."""
        rows = rows_of(figures.known_table(layout_of(*ALL_BUT_D, *drifting("d", 1)), PLACES))
        self.assertEqual(rows[KNOWN], [4, 3, 1, "4 (100 %)", "yes"])
        rows = rows_of(figures.outside_table(layout_of(*ALL_BUT_D, *drifting("d", 1)), PLACES))
        # (2 * 1.28 * 1.5 * 0.5) ** (1 / 4), where the medians of d say 1; slower, though quartiles overlap.
        self.assertEqual((rows[KNOWN][0], rows[KNOWN][1], rows[KNOWN][-1]), ("1.18 (4)", "0.50 d", "3, 0, 1"))
        self.assertIn("| 0.50 d | 3, 0, 1 | 0.50 d |", published_results.losses(layout_of(*ALL_BUT_D, *drifting("d", 1)), PLACES))
        line = next(line for line in published_results.results(layout_of(*ALL_BUT_D, *drifting("d", 1)), PLACES).splitlines()
                    if "4 (100 %)" in line)
        self.assertTrue(line.endswith("| 4 | 3 | 1 | 4 (100 %) | yes |"), line)

    def test_turns_out_of_step_tell_nothing(self):
        rows = rows_of(figures.known_table(layout_of(*ALL_BUT_D, *drifting("d", 5)), PLACES))
        self.assertEqual(rows[KNOWN], [4, 3, 1, "3 (75 %)", "no"])
        rows = rows_of(figures.outside_table(layout_of(*ALL_BUT_D, *drifting("d", 5)), PLACES))
        self.assertEqual((rows[KNOWN][0][-1], rows[KNOWN][-1]), ("~", "3, 1, 0"))

    def test_libraries_are_named(self):
        records = [{**timed(name, kernel, 2), "kernel": {"library": library}} for name, kernel, library in (
            ("a", "mkl_csr", "oneMKL 1"), ("b", "mkl_csr", "oneMKL 1"), ("b", "librsb_tuned", "librsb 2"), ("b", "csr_rows", None))]
        _, _, rows = figures.libraries_table(layout_of(*records))
        self.assertEqual(rows, [["CPU A, 4 threads", "librsb 2, oneMKL 1"]])
        self.assertIn("| CPU A, 4 threads | librsb 2, oneMKL 1 |", published_results.results(layout_of(*records, *RECORDS), PLACES))

    def test_machines_are_what_their_records_say(self):
        records = [timed(name, "mkl_csr", 2, cpu__llc_B=37486592, perf={"bw_peak_Bps": limit, "bw_peak_source": "measured-read"})
                   for name, limit in (("a", 24.2e9), ("b", 26.9e9))]
        self.assertEqual(published_results.machines_table(layout_of(*records))[2], [["CPU A, 4 threads", "37 MB", "24 to 27 GB/s"]])
        self.assertEqual(published_results.machines_table(layout_of(timed("a", "mkl_csr", 2)))[2], [["CPU A, 4 threads", "", ""]])

    def test_parts(self):
        rows = rows_of(figures.sizes_table(layout_of(*RECORDS), PLACES))
        self.assertEqual(rows[KNOWN], ["1.73 (2), 1.50 c", "", "0.98 (2), 0.75 d"])
        _, _, rows = figures.families_table(layout_of(*RECORDS), PLACES)
        self.assertEqual(rows, [["fem", "1.60 (2)"], ["graph", "1.06 (2)"]])

    def test_the_second_table_holds_the_rest(self):
        rows = rows_of(figures.generated_table(layout_of(*RECORDS), PLACES))
        self.assertEqual(rows[KNOWN], ["3.00 (1)", "3.00 e", "5.00 (1)", "5.00 f", "2, 0, 0"])

    def test_plain_kernels_of_a_cpu_are_a_line_of_their_own(self):
        rows = rows_of(figures.outside_table(layout_of(*RECORDS, timed("c", "csr_rows", 1.2)), PLACES))
        self.assertEqual(rows[KNOWN][0], "1.30 (4) ~")
        self.assertEqual(rows[("cold", "f64", classes.OR_PLAIN, "known")][0], "1.23 (4) ~")
        without = rows_of(figures.outside_table(layout_of(*RECORDS), PLACES))
        self.assertNotIn(classes.OR_PLAIN, str(without))

    def test_values_rounded_otherwise_are_the_same_matrix(self):
        records = [timed("a", kernel, seconds, auto, matrix__hash=hash, host__name=hash)
                   for hash in ("a1", "b2") for kernel, seconds, auto in (("mkl_csr", 2, False), ("csell_slices", 1, 1000))]
        table = figures.outside_table(layout_of(*records), PLACES)
        self.assertEqual([row[5:7] for row in table[2] if row[3] == classes.LIBRARIES], [["2.00 (1)", "2.00 a"]] * 2)

    def test_all_documents_say_the_same(self):
        layout = layout_of(*RECORDS)
        self.assertIn("| 1.30~, 0.75 | 0.50, 0.50 |", published_results.short(layout, PLACES))
        self.assertEqual(published_results.readme(layout, PLACES), published_results.NOTHING_OUTSIDE)  # 1.30 is not known well enough to be told first
        self.assertIn("| 1.30 (4) ~ | 0.75 d |", published_results.results(layout, PLACES))
        self.assertIn("| known | 1.30 (4) ~ | 0.75 d | 3, 0, 1 | 0.75 d |", published_results.losses(layout, PLACES))
        self.assertIn("| unknown | 0.50 (1) | 0.50 a | 0, 0, 1 |  |", published_results.losses(layout, PLACES))
        self.assertEqual(published_results.chart_data(layout, PLACES), ([], []))
        kept = classes.outside_list
        for module in (figures, split, aims):
            module.outside_list = lambda: PLACES
            self.addCleanup(setattr, module, "outside_list", kept)
        self.assertIn("<td>1.30 (4) ~<td>0.75 d", report_page.headline_section(layout))
        line = next(line for line in aims.page(layout).splitlines() if line.startswith("| outside set |"))
        self.assertEqual(line.split(" | ")[1:5], ["4", "1", "≥ 1.3 geometric mean", "1.30"])
        self.assertIn("| all | 2 |", aims.page(layout))

    def test_the_list_is_read(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "outside.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write("name,family,origin,size,gather,half\nm,fem,by them,small,yes,held-out\n")
            self.assertEqual(classes.outside_list(path), {"m": classes.Place("fem", "small", "held-out", True)})
        self.assertEqual(classes.outside_list(path + ".absent"), {})


def said(*records, places=None):
    """{(class): its sentence} of the machine that speaks."""
    return {f.words: conclusion.sentence(f) for f in conclusion.leading(conclusion.findings(layout_of(*records), places or PLACES))}


class ConclusionTest(TablesTest):

    def test_kernels_are_named_and_auto_is_a_column(self):
        found = conclusion.findings(layout_of(*RECORDS), PLACES)
        self.assertEqual(said(*RECORDS)["outside set"],
                         "Of 4 matrices, the fastest kernel is `csell_slices (auto)` on 3 (1 unsettled); the fastest kernel of "
                         "spmv is **1.30** times as fast as the fastest kernel of other libraries (geometric mean of 4, 1 of them "
                         "unsettled; worst 0.75 on d).")
        header, alignment, rows = conclusion.states_table(found)
        self.assertEqual(len(header), len(alignment))
        self.assertEqual(rows[0][2:], ["outside set", 4, "other libraries", "1.30 (4) ~", "0.75 d", "1.30 (4) ~", "0.75 d",
                                       "0.50 (1)", "0.50 a"])

    def test_readme_says_what_is_known(self):
        def known(name, kernel, seconds, auto=False):
            return timed(name, kernel, seconds, auto, timing__settled=True, timing__median_low_s=seconds * 0.999,
                         timing__median_high_s=seconds * 1.001)
        layout = layout_of(*(known(name, *words) for name in "abcd" for words in (("mkl_csr", 3), ("csell_slices", 2, 1000))))
        self.assertTrue(published_results.readme(layout, PLACES).startswith(
            "`auto` is 1.50 times as fast as the best of oneMKL, librsb and AOCL-Sparse on CPU A with 4 threads. These"))
        self.assertIn("over 4 matrices", published_results.readme(layout, PLACES).replace("\n", " "))
        self.assertTrue(published_results.readme(layout, PLACES).endswith("The worst matrix has 1.50.\n"))
        self.assertEqual(published_results.listed("ab"), "a and b")
        self.assertEqual(published_results.listed("abc"), "a, b and c")

    def test_the_numbers_are_those_of_readme(self):
        found = conclusion.findings(layout_of(*RECORDS), PLACES)
        auto = rows_of(figures.outside_table(layout_of(*RECORDS), PLACES))
        self.assertEqual(conclusion.states_table(found)[2][0][7:9], auto[KNOWN][:2])
        rows = {name.split("  ")[0]: name.split("  ")[1] for name in dots.dots_of(found[0])["rows"]}
        self.assertEqual((rows["fastest of spmv"], rows["auto, known"], rows["auto, unknown"]), ("1.30 ~", "1.30 ~", "0.50"))

    def test_what_auto_ran_is_one_of_ours(self):
        """The kernel may also be timed with other parameters under its own name, slower."""
        found = layout_of(timed("a", "mkl_csr", 2), timed("a", "sell16_lanes", 1.5, config__params={"sigma": 1024}),
                          timed("a", "sell16_lanes", 1, 1000, config__params={"sigma": 4096}))
        finding, = conclusion.findings(found, PLACES)
        self.assertIn("the fastest kernel of spmv is **2.00** times as fast", conclusion.sentence(finding))
        self.assertEqual([conclusion.states_table([finding])[2][0][k] for k in (5, 7)], ["2.00 (1)", "2.00 (1)"])

    def test_a_winner_is_a_configuration(self):
        """auto's is named as such where it alone ran it; on b the user's run was the faster of the two."""
        found = said(*(timed(name, *words) for name in "ab" for words in (("mkl_csr", 3), ("csr_rows", 2))),
                     timed("a", "sell16_lanes", 1.5, config__params={"sigma": 1024}),
                     timed("a", "sell16_lanes", 1, 1000, config__params={"sigma": 4096}),
                     timed("b", "sell16_lanes", 1, config__params={"sigma": 1024}))["outside set"]
        self.assertTrue(found.startswith("Of 2 matrices, the fastest kernel is `sell16_lanes sigma=1024` on 1, "
                                         "`sell16_lanes sigma=4096 (auto)` on 1;"), found)

    def test_two_configurations_of_a_kernel_compete(self):
        """What auto chose is tied with the same kernel's own parameters, or alone beside them."""
        found = [timed("a", "sell16_lanes", 1.0001, config__params={"sigma": 1024}),
                 timed("a", "sell16_lanes", 1, 1000, config__params={"sigma": 4096})]
        won = "sell16_lanes sigma=4096 (auto)"
        for more in ([], [timed("a", "csr_rows", 2)]):
            self.assertTrue(said(*found, *more)["outside set"].startswith(
                f"No kernel is beyond doubt the fastest (1 tied); the least median has `{won}`"), said(*found, *more))
        drawn = dots.dots_of(*conclusion.findings(layout_of(*found), PLACES))
        self.assertEqual((drawn["axis"], [point["kernel"] for point in drawn["points"]]),
                         ("speed-up (log)", ["sell16_lanes sigma=1024"]))
        drawn = dots.dots_of(*conclusion.findings(layout_of(*found, timed("a", "mkl_csr", 2)), PLACES))
        self.assertIn(won, [point["kernel"] for point in drawn["points"]])

    def test_our_fastest_is_not_behind_auto(self):
        """auto's median is longer than that of another kernel, but turns show it ahead of the library."""
        turns = {"timing__group": 1, "timing__turns_s": [1] * 8}
        found = layout_of(timed("a", "mkl_csr", 2, **{**turns, "timing__turns_s": [3] * 8}), timed("a", "csr_blocks", 1),
                          timed("a", "csell_slices", 1.1, 1000, **turns))
        finding, = conclusion.findings(found, PLACES)
        self.assertGreaterEqual(finding.ours[0].value, finding.known[0].value)

    def test_nothing_is_claimed_of_times_in_doubt(self):
        for words, doubt in (("unsettled", {"timing__converged": False}), ("disturbed", {"timing__flags": ["heat slowed it"]}),
                             ("unsettled or disturbed", {"timing__converged": False, "timing__flags": ["heat slowed it"]})):
            found = said(timed("a", "mkl_csr", 3, **doubt), timed("a", "csr_rows", 2, **doubt), timed("a", "ell_rows", 1, **doubt))
            self.assertEqual(found["outside set"],
                             f"No kernel is beyond doubt the fastest (1 {words}); the least "
                             "median has `ell_rows`; how the fastest kernel of spmv compares with the fastest kernel of other libraries "
                             f"is not known (1 of 1 {words}).")

    def test_what_disturbed_both_in_turns_is_no_doubt(self):
        """Unsettled and disturbed, but the kernels' turns say 2; out of step they say nothing."""
        for step, words in ((1, "The fastest kernel is `mkl_csr`; the fastest kernel of spmv is **0.50** times as fast as"), (5, "No kernel")):
            records = [{**r, "timing": {**r["timing"], "flags": ["heat slowed it"]}} for r in drifting("a", step)]
            self.assertTrue(said(*records)["outside set"].startswith(words), said(*records))

    def test_unchecked_times_have_no_rank(self):
        found = said(*(timed("a", kernel, 1, check__status="off") for kernel in ("mkl_csr", "csr_rows", "ell_rows")))
        self.assertEqual(found["outside set"], "No result can be ranked on 1 matrix: 3 unchecked.")

    def test_ties_are_no_wins(self):
        found = said(timed("a", "csr_rows", 1), timed("a", "ell_rows", 1.0001), timed("a", "coo_rows", 2))["outside set"]
        self.assertEqual(found, "No kernel is beyond doubt the fastest (1 tied); the least median has `csr_rows`.")

    def test_a_suspect_time_of_a_peer_takes_the_win(self):
        found = said(timed("a", "ell_rows", 1), timed("a", "csr_rows", 2), timed("a", "mkl_csr", 0.5, perf={"verdict": "suspect"}))
        self.assertTrue(found["outside set"].startswith("The fastest kernel is `mkl_csr`; the fastest kernel of spmv is **0.50**"))

    def test_without_peers_it_is_over_the_baseline(self):
        records = [timed(name, kernel, median) for name, scale in (("x", 1), ("y", 4))
                   for kernel, median in (("csr_rows", 4 * scale), ("ell_rows", 2))]
        self.assertEqual(said(*records), {"matrices from files": (
            "Of 2 matrices, the fastest kernel is `ell_rows` on 2; the fastest kernel of spmv is **4.00** times as fast as `csr_rows` "
            "(geometric mean of 2; worst 2.00 on x).")})

    def test_one_kernel_has_nothing_to_compare(self):
        self.assertEqual(said(timed("gen:x", "csr_rows", 1), timed("gen:y", "csr_rows", 1))["generated matrices"],
                         "`csr_rows` alone was timed on 2 matrices, one kernel on each: there is nothing to compare.")
        finding, = conclusion.findings(layout_of(timed("gen:x", "csr_rows", 1e-6)), PLACES)
        self.assertEqual([point["value"] for point in dots.dots_of(finding)["points"]], [2.0])  # GFLOP/s
        self.assertEqual(conclusion.states_table([finding])[2], [])

    def test_only_failures(self):
        found = [record(None, status=status, reason="x", matrix__name="x", config__kernel=kernel)
                 for status, kernel in (("failed", "a"), ("skipped", "b"), ("wrong", "c"))]
        self.assertEqual(said(*found), {"matrices from files": "No result can be ranked on 1 matrix: 1 WRONG, 1 failed, 1 skipped."})
        self.assertIsNone(dots.dots_of(*conclusion.findings(layout_of(*found), PLACES)))

    def test_double_precision_in_cold_caches_speaks_for_a_machine(self):
        states = [("f32", "cold"), ("f64", "warm"), ("f64", "cold"), ("f64", "steady")]
        records = [timed("x", kernel, median, config__precision=precision, config__cache=cache)
                   for precision, cache in states for kernel, median in (("csr_rows", 2), ("ell_rows", 1))]
        chosen, = conclusion.leading(conclusion.findings(layout_of(*records), PLACES))
        self.assertEqual(conclusion.state_of(chosen.system), "f64, cold")
        chosen, = conclusion.leading(conclusion.findings(layout_of(*records[:4]), PLACES))
        self.assertEqual(conclusion.state_of(chosen.system), "f64, warm")

    def test_machines_of_one_name_are_told_apart(self):
        systems = [next(iter(layout_of(timed("x", "csr_rows", 1, host__name=host)))) for host in ("n1", "n2")]
        names = conclusion.machine_names(systems)
        self.assertEqual(sorted(names.values()), ["CPU A, 4 threads, n1", "CPU A, 4 threads, n2"])
        self.assertEqual(list(conclusion.machine_names([systems[0], systems[0]._replace(cache="warm")]).values()),
                         ["CPU A, 4 threads"])
        unnamed = [system._replace(host=None, threads=4) for system in systems]
        self.assertEqual(len(conclusion.machine_names([unnamed[0], unnamed[1]._replace(backend="cuda")])), 2)

    def test_a_matrix_without_a_time_is_counted(self):
        failed = record(None, status="failed", reason="x", matrix__name="y", config__kernel="ell_rows", config__cache="cold")
        self.assertIn("1 matrix has no time.", said(timed("x", "csr_rows", 2), timed("x", "ell_rows", 1), failed)["matrices from files"])


class SplitTest(TablesTest):

    RECORDS = [timed("a", "mkl_csr", 12), timed("a", "csr_rows", 10, config__format="csr"),
               timed("a", "csell_slices", 5, config__format="csell", config__params={"codes": 0}),
               timed("a", "csell_lists", 4, config__format="csell_lists", config__params={"codes": 1}),
               timed("a", "csell_slices", 4.8, 1000, config__format="csell", config__params={"codes": 1})]

    def test_four_factors_make_the_gain(self):
        # 12 / 10, 10 / 5, 5 / 4 and 4 / 4.8 make 12 / 4.8.
        (_, header, alignment, rows), = split.split_tables(layout_of(*self.RECORDS), PLACES)
        self.assertEqual(len(header), len(alignment))
        self.assertEqual(rows, [[name, 1, "1.20", "2.00", "1.25", "0.83", "2.50"] for name in ("outside set", "fem")])
        cells = next(iter(next(iter(layout_of(*self.RECORDS).values())).values()))
        self.assertTrue(math.isclose(math.prod(split.steps_of(cells)), 2.5))

    def test_without_full_values_there_is_no_split(self):
        self.assertEqual(split.split_tables(layout_of(*self.RECORDS[:2], *self.RECORDS[3:]), PLACES), [])

    def test_classes(self):
        self.assertEqual([split.class_of(name, PLACES) for name in ("c", "gen:poisson2d:9 few:8", "gen:twin:cant", "other")],
                         ["graph", "gen:poisson2d few:8", "gen:twin", "small collections"])


if __name__ == "__main__":
    unittest.main()
