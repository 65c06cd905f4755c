#!/usr/bin/env python3
"""comments.py [PATH...]: whether comments open with a sentence that can be understood by itself. One that opens with "Of a job", "Whether
it fits" or "As above" has no subject and no verb: it goes on with something that its reader does not see. Prints every such opening;
exits 1 if there is one."""
import ast
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
C = (".c", ".h", ".cu", ".cuh", ".cpp", ".def")
PATTERNS = [f"*{suffix}" for suffix in C] + ["*.py", "*.sh", "*.mk", "Makefile", ".ci/run", "test/cli/*", "*.awk"]
FRAGMENT = re.compile(r"(?:Of|Whether|Nor|As|How|Who|Also|Likewise|Than)\b")
WHOLE = re.compile(r"As (?:soon|long) as\b")
C_COMMENT = re.compile(r'"(?:\\.|[^"\\\n])*"|/\*(.*?)\*/', re.S)


def openings_in_c(text):
    """(line, text) of every comment that is not in a string."""
    for found in C_COMMENT.finditer(text):
        if found[1] is not None:
            yield text.count("\n", 0, found.start()) + 1, found[1].strip()


def openings_of_lines(text):
    """(line, text) of the first line of every run of lines that begin with #."""
    is_open = False
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.match(r"\s*#(?!!) ?(.*)", line)
        if comment and not is_open:
            yield number, comment[1]
        is_open = bool(comment)


def openings_of_docstrings(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            yield node.body[0].lineno, ast.get_docstring(node)


def breaches(path, text):
    openings = list(openings_in_c(text) if path.endswith(C) else openings_of_lines(text))
    if path.endswith(".py"):
        openings += openings_of_docstrings(text)
    for number, opening in openings:
        if FRAGMENT.match(opening) and not WHOLE.match(opening):
            yield f"{path}:{number}: {opening.splitlines()[0][:70]}"


def main(only):
    files = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", *PATTERNS], cwd=ROOT, text=True)
    found = [breach for path in sorted(set(files.splitlines())) if (not only or path.startswith(tuple(only))) and (ROOT / path).is_file()
             for breach in breaches(path, (ROOT / path).read_text(encoding="utf-8"))]
    for breach in found:
        print(f"comments: {breach}")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
