#!/usr/bin/env python3
"""Tests of test/rules/layers.py: on the sources as they are, and on copies with a breach planted."""
import pathlib
import shutil
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/rules"))
import layers  # noqa: E402


class Layers(unittest.TestCase):
    def breaches(self, **planted):
        """Returns what a copy of the sources breaches once files got the lines planted at their end."""
        with tempfile.TemporaryDirectory() as folder:
            for part in ("src", "omp", "cuda", "include"):
                shutil.copytree(ROOT / part, pathlib.Path(folder, part))
            for path, text in planted.items():
                pathlib.Path(folder, path).parent.mkdir(exist_ok=True)
                with open(pathlib.Path(folder, path), "a", encoding="utf-8") as file:
                    file.write(text)
            return layers.breaches_of(pathlib.Path(folder).resolve())

    def test_the_sources_keep_the_rule(self):
        self.assertEqual(self.breaches(), [])

    def test_a_kernel_may_not_include_what_the_library_keeps_to_itself(self):
        found = self.breaches(**{"omp/csr/csr_rows.c": '#include "matrix/matrix.h"\n'})
        self.assertIn("omp/csr/csr_rows.c: includes src/matrix/matrix.h", found)

    def test_the_library_may_not_call_the_program(self):
        found = self.breaches(**{"src/tune/features.c": '#include "app/messages.h"\n'
                                                        'void f(void);\nvoid f(void) { say("x"); }\n'})
        self.assertIn("src/tune/features.c: calls say of src/app/messages.c", found)

    def test_no_call_is_hidden(self):
        say = "calls say of src/app/messages.c"
        for how, planted in {
                "declared where it is called": {"src/tune/features.c": "void say(const char *, ...);\nvoid f(void) { say(0); }\n"},
                "in a macro": {"src/tune/tune.h": "void say(const char *, ...);\n#define SAY() say(0)\n",
                               "src/tune/features.c": "void f(void);\nvoid f(void) { SAY(); }\n"},
                "in an initial value": {"src/tune/tune.h": "void say(const char *, ...);\n",
                                        "src/tune/features.c": "static void (*f)(const char *, ...) = say;\n"},
                "in a header of include": {"include/spmv_kernel.h": "void say(const char *, ...);\n"
                                                                    "static inline void f(void) { say(0); }\n"},
                "as <app/messages.h>": {"src/tune/features.c": "#include <app/messages.h>\nvoid f(void);\nvoid f(void) { say(0); }\n"}}.items():
            with self.subTest(how):
                self.assertIn(f"src/tune/features.c: {say}", self.breaches(**planted))

    def test_what_a_macro_names_is_followed(self):
        calls = layers.Tree(ROOT).calls()
        self.assertEqual(calls["src/formats/csell_sym/format_csell_sym.c"]["src/formats/csell/format_csell.c"], {"csell_format"})

    def test_a_folder_without_a_rule_is_named(self):
        found = self.breaches(**{"src/extra/extra.c": ""})
        self.assertIn("src/extra/extra.c: of a folder that layers.py has no rule for", found)

    def test_circles_of_calls_are_found_through_tables(self):
        found = self.breaches(**{"omp/csr/csr_rows.c": "spmv_status f(spmv_ctx *c);\nspmv_status f(spmv_ctx *c) {\n"
                                                       "    return spmv_kernel_find(c, 0, 0, 0, 0);\n}\n"})
        circles = [breach for breach in found if breach.startswith("a circle")]
        self.assertEqual(len(circles), 1)
        for member in ("omp/csr/csr_rows.c", "omp/backend.c", "src/host/registry.c", "src/host/names.c"):
            self.assertIn(member, circles[0])

    def test_circles_of_includes_are_found(self):
        found = self.breaches(**{"include/spmv.h": '#include "spmv_kernel.h"\n'})
        self.assertTrue(any(b.startswith("a circle") and "include/spmv.h" in b for b in found))

    def test_lint_asks(self):
        lint = (ROOT / "test/rules/lint.sh").read_text(encoding="utf-8")
        for check in ("layers", "folders", "params", "words", "prose", "comments"):
            self.assertRegex(lint, rf"(?m)^python3 test/rules/{check}\.py \|\| breach ")


if __name__ == "__main__":
    unittest.main()
