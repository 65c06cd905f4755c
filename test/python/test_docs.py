"""The documents: generated parts are up to date, README is short, links lead somewhere."""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/rules"))
import prose  # noqa: E402  (found only after the path is set)
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv")).resolve()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "log/reference/README.md", ROOT / "tables/outside/README.md",
         *sorted((ROOT / "docs").rglob("*.md"))]
MOST_WORDS = 560
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def text_of(page):
    return page.read_text(encoding="utf-8")


def prose_of(page):
    """A page without its code blocks."""
    return re.sub(r"^    .*$", "", FENCE.sub("", text_of(page)), flags=re.M)


def anchors_of(page):
    """Lists what `#...` of a link can name: headings as GitHub spells them, and ids."""
    text = prose_of(page)
    heads = re.findall(r"^#+ (.*)$", text, re.M)
    slugs = {re.sub(r"[^\w\- ]", "", re.sub("<.*?>", "", head)).strip().lower().replace(" ", "-") for head in heads}
    return slugs | set(re.findall(r'<a id="([^"]+)"', text))


def help_of(*topics):
    """What `spmv help` prints on them."""
    return "".join(subprocess.run([PROGRAM, "help", topic], capture_output=True, text=True, check=True).stdout for topic in topics)


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.made, cls.pages = pathlib.Path(made.name, "made"), pathlib.Path(made.name, "pages")
        cls.done = subprocess.run([sys.executable, ROOT / "docs/generate.py", "--program", PROGRAM, "--pages", cls.pages, "--made", cls.made],
                                  capture_output=True, text=True, check=False)

    def test_what_is_committed_is_what_make_docs_writes(self):
        self.assertEqual((self.done.stderr, self.done.returncode), ("", 0))
        names = [str(path.relative_to(self.pages)) for path in sorted(self.pages.rglob("*.*"))]
        self.assertEqual(names, [f"docs/reference/{name}.md" for name in ("formats", "kernels", "log", "options")])
        for name in names:
            self.assertTrue(text_of(self.pages / name) == text_of(ROOT / name), f"{name} is out of date: make docs")
        names = {path.name for path in self.made.iterdir() if path.suffix != ".3"}
        self.assertEqual(names, {"functions.md", "record.schema.json", "spmv.1", "spmv.bash", "spmv.zsh"})

    def test_completion_knows_every_option(self):
        shells = [text_of(self.made / name) for name in ("spmv.bash", "spmv.zsh")]
        commands = re.findall(r"^(?:COMMAND|TOOL)\((\w+)", text_of(ROOT / "src/app/commands.def"), re.M)
        self.assertGreater(len(commands), 9)
        for command in commands:
            topics = [command, "kernels"] if command in ("run", "sweep", "info") else [command]
            names = re.findall(r"^ {2,6}(?:-\w(?: \S+)?, )?(--[\w-]+)", help_of(*topics), re.M)
            self.assertGreater(len(names), 1, command)
            for text in shells:
                case = re.search(rf"^    {re.escape('*' if command == 'run' else command)}\)(.*?);;$", text, re.M | re.S)[1]
                for name in names:
                    self.assertRegex(case, rf"{name}\b", command)

    def test_every_kernel_and_field_is_there(self):
        kernels = text_of(ROOT / "docs/reference/kernels.md")
        for backend in "omp", "cuda":
            for name in re.findall(r"^KERNEL\((\w+)\)", text_of(ROOT / backend / "kernels.def"), re.M):
                self.assertIn(f'<a id="{backend}-{name}"></a>', kernels)
        rows = re.findall(r"^\| <a id=.*$", kernels, re.M)
        self.assertEqual(len(rows), kernels.count("<a id="))
        for row in rows:
            self.assertRegex(row, r"^(\| [^|]{3,}(?<!\\) ){6}\|$".replace("[^|]", r"(?:[^|]|\\\|)"))
        least, formats = map(int, re.search(r"more than (\d+) kernels on more than (\d+) formats", " ".join(text_of(ROOT / "README.md").split())).groups())
        own = kernels.count("<a id=") - len(re.findall(r"\]\(../../(?:omp|cuda)/peers/", kernels))
        self.assertTrue(least < own <= least + 10, f"README: there are {own} kernels of ours")
        there = len(re.findall(r"^FORMAT\(", text_of(ROOT / "src/host/formats.def"), re.M))
        self.assertTrue(formats < there <= formats + 10, f"README: there are {there} formats")
        fields = re.findall(r'^FIELD\(\w+, \w+, "(.*?)"', text_of(ROOT / "src/app/record/record.def"), re.M)
        self.assertGreater(len(fields), 100)
        for key in fields:
            self.assertIn(f"| `{key}` |", text_of(ROOT / "docs/reference/log.md"))

    def test_kernels_that_repeat_say_so(self):
        kernels = text_of(ROOT / "docs/reference/kernels.md")
        listed = json.loads(subprocess.run([PROGRAM, "list", "--format=json", "kernels"], capture_output=True, check=True).stdout)
        self.assertGreater(len(listed), 20)
        for kernel in listed:
            row = re.search(f'<a id="{kernel["backend"]}-{kernel["name"]}"></a>.*', kernels)[0]
            says = re.search(r"\| (yes|not)[^|]* \|$", row)[1] == "yes"
            self.assertEqual(says, kernel["repeats"], kernel["name"])

    def test_every_option_has_its_place_in_the_manual(self):
        page = text_of(self.made / "spmv.1").replace("\\", "")
        names = re.findall(r"^ .{1,5}(--[a-z-]+)", help_of("options", "kernels"), re.M)
        self.assertGreater(len(names), 50)
        for name in names:
            self.assertRegex(page, rf"(?m)^\.B .*{name}\b", name)
        self.assertNotRegex(page, r"\n\.B .*\n\n")  # a term without a text

    def test_make_help_names_every_goal(self):
        done = subprocess.run(["make", "-s", "-C", ROOT, "help"], capture_output=True, text=True, check=True)
        self.assertEqual([line for line in done.stdout.splitlines() if len(line) > 80], [])
        text = "".join(text_of(part) for part in (ROOT / "mk").glob("*.mk")).replace("\\\n", "")
        goals = " ".join(re.findall(r"^\.PHONY: (.*)", text, re.M)).split()
        self.assertGreater(len(goals), 40)
        for goal in set(goals) - {"omp", "check", "help", "begin", "remember"}:
            name = re.sub("^study-(?!sell)", "-", goal)
            self.assertRegex(done.stdout, rf"(^make |[ ,]){re.escape(name)}\b", goal)

    def test_every_function_has_its_place(self):
        page = text_of(self.made / "functions.md")
        for header in "spmv.h", "spmv_ranks.h", "spmv_bench.h":
            code = re.sub(r"/\*.*?\*/", "", text_of(ROOT / "include" / header), flags=re.S)
            names = re.findall(r"^[a-z].*?\b(spmv_\w+)\(", code, re.M)
            self.assertGreater(len(names), 10)
            for name in names:
                self.assertIn(f'<a id="{name}"></a>', page)
                manual = text_of(self.made / f"{name}.3")
                self.assertNotIn(" of spmv\n", manual.partition(".SH SYNOPSIS")[0])  # a comment says what it does
                self.assertRegex(manual, rf"\.SH SYNOPSIS\n(.*\n)+?.*\b{name}\(")
        self.assertIn("Returns the size of the team.", page)  # a comment behind its function, and no other's

    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_the_manual_has_no_warnings(self):
        done = subprocess.run(["groff", "-man", "-ww", "-Tutf8", "-z", self.made / "spmv.1", *self.made.glob("*.3")], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.stderr, done.returncode), ("", 0))


class Pages(unittest.TestCase):
    def test_readme_is_short(self):
        words = text_of(ROOT / "README.md").split()  # as wc counts them, with the table it prints
        self.assertLess(len(words), MOST_WORDS)
        self.assertGreater(len(words), 300)

    def test_links_lead_somewhere(self):
        count = 0
        for page in PAGES:
            for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)):
                if re.match(r"\w+:", link):
                    continue
                count += 1
                path, _, anchor = link.partition("#")
                target = (page.parent / html.unescape(path)).resolve() if path else page
                self.assertTrue(target.exists(), f"{page.name}: {link}")
                if anchor:
                    self.assertIn(anchor, anchors_of(target), f"{page.name}: {link}")
        self.assertGreater(count, 100)

    def test_tests_that_are_named_are_there(self):
        """In the table of what users meet: a file, or files and then tests that each of them has."""
        rows = re.findall(r"^\|[^|]*\|(.*)\|$", text_of(ROOT / "docs/explanation/reliability.md").partition("## What users meet")[2], re.M)
        count = 0
        for group in (group for row in rows for group in row.split(";")):
            files, _, tests = (re.findall(r"`(\w+(?:\.\w+)?)`", part) for part in group.partition(":"))
            for name in (name for name in files if "." in name):
                path, = (path for folder in ("python", "unit", "cli") for path in (ROOT / "test" / folder).glob(name))
                for test in tests:
                    count += 1
                    self.assertRegex(text_of(path), rf"(def test_|static void |TEST(_WITH)?\(){test}\b", f"{name}: {test}")
        self.assertGreater(count, 30)

    def test_every_table_that_is_committed_is_shown(self):
        """The others are built: make reference-tables."""
        linked = {(page.parent / link.partition("#")[0]).resolve() for page in PAGES
                  for link in re.findall(r"\]\(([^)\s]+)\)", prose_of(page)) if not re.match(r"\w+:", link)}
        tables = {path for path in (ROOT / "tables/reference").rglob("*") if path.is_file()}
        self.assertEqual(tables - linked, set())

    def test_every_document_is_linked_from_the_index(self):
        linked = set(re.findall(r"\]\(([\w./]+)\)", text_of(ROOT / "docs/README.md")))
        there = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
        self.assertEqual(there - linked, {"README.md"})
        self.assertIn("](docs/README.md)", text_of(ROOT / "README.md"))

    def test_they_can_be_read_at_first_sight(self):
        for text, least in (("| a |\n|---|\n| " + "w " * 41 + "|\n", 1), ("Word" + " w" * 39 + ".\n", 0), ("Word" + " w" * 40 + ".\n", 1),
                            ("Word" + " w" * 24 + ". Word" + " w" * 24 + ".\n", 0), ("x" * 121 + "\n", 1),
                            ("[x](" + "y" * 130 + ")\n", 0), ("```\n" + "x" * 130 + "\n```\n", 0), ("- Word" + " w" * 25 + "\n- Word" + " w" * 25, 0),
                            ("Word `a. B c`" + " w" * 38 + ".\n", 0), ("Word" + " w" * 30 + "\n" + "w " * 15 + ".\n", 1)):
            self.assertEqual(len(list(prose.breaches("page", text))), least, text)


if __name__ == "__main__":
    unittest.main()
