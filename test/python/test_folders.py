#!/usr/bin/env python3
"""Tests of test/rules/folders.py on pages with a breach planted; lint runs it on the page as it is."""
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "rules"))
import folders  # noqa: E402

ROWS = ("| `src` | The public functions stand here. |", "| `src/formats/NAME` | A format has its files here. |",
        "| `omp/csr`, `cuda/csr` | Kernels here multiply compressed rows. |", "| `mk` | Parts of the Makefile stand here. |")
THERE = {"src", "src/formats/csr", "src/formats/coo", "omp/csr", "cuda/csr", "mk", "docs"}


class Folders(unittest.TestCase):
    def breaches(self, *more, rows=ROWS, there=THERE):
        return list(folders.breaches_of("before\n\n" + folders.HEAD + "\n".join((*rows, *more)) + "\n\nafter\n", there))

    def test_a_page_that_names_every_folder_passes(self):
        self.assertEqual(self.breaches(), [])

    def test_a_page_without_the_table_is_refused(self):
        self.assertEqual(len(list(folders.breaches_of("", THERE))), 5)

    def test_a_folder_without_a_sentence_is_named(self):
        for new in ("src/ranks", "omp/coo", "src/formats/csr/more"):
            with self.subTest(new):
                self.assertEqual(self.breaches(there=THERE | {new}),
                                 [f"{new} has 0 sentences, must have one that says what belongs in it"])

    def test_a_folder_with_two_is_named(self):
        self.assertEqual(self.breaches("| `omp/csr` | Kernels of CSR stand here. |"),
                         ["omp/csr has 2 sentences, must have one that says what belongs in it"])

    def test_a_format_may_have_a_sentence_of_its_own(self):
        self.assertEqual(self.breaches("| `src/formats/csr` | This is the canonical format. |"), [])

    def test_a_folder_that_is_gone_is_named(self):
        self.assertEqual(self.breaches(there=THERE - {"cuda/csr"}), ["cuda/csr is no folder with files"])
        self.assertEqual(self.breaches(there=THERE - {"src/formats/csr", "src/formats/coo"}),
                         ["src/formats/NAME is no folder with files"])

    def test_what_is_not_one_sentence_is_named(self):
        for text in ("kernels", "Kernels here multiply.  No more.", "Kernels here multiply compressed rows"):
            with self.subTest(text):
                self.assertEqual(self.breaches(f"| `tables` | {text} |", there=THERE | {"tables"}), [f"tables: not one sentence: {text}"])

    def test_only_folders_that_hold_files_count(self):
        self.assertEqual(folders.folders_of(["test/a/b/file", "Makefile"]), {"test/a/b", "."})


if __name__ == "__main__":
    unittest.main()
