#!/usr/bin/env python3
"""coverage.py BUILD: what `make coverage` prints: lines and branches of library and OpenMP kernels (src/ but for src/app/ and for
src/ranks/, which `make test-ranks` builds for itself, and omp/) that tests of that build ran, of each folder, and the lines that none
did. Exits 1 below 95 % of the lines."""
import collections
import gzip
import json
import os
import subprocess
import sys
import tempfile

LEAST = 0.95
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def counts(notes):
    """(file, {line: (times, [times of each branch])}) of what gcov says of one object."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["gcov", "--json-format", "--branch-probabilities", notes], cwd=folder, check=True, capture_output=True)
        for name in os.listdir(folder):
            with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
                for found in json.load(file)["files"]:
                    yield found["file"], found["lines"]


def is_counted(path):
    return not path.startswith(("/", "src/app/", "src/ranks/", "test/")) and path.startswith(("src/", "omp/", "include/"))


def read(build):
    """({file: {line: times}}, {file: {line: [times of each branch]}}); the variants of a file are one."""
    lines, branches = collections.defaultdict(collections.Counter), collections.defaultdict(dict)
    for folder, _, names in os.walk(build):
        for name in names:
            if not name.endswith(".gcno") or "/test/" in folder or "/src/app" in folder:
                continue
            for path, found in counts(os.path.abspath(os.path.join(folder, name))):
                path = os.path.relpath(path, ROOT) if os.path.isabs(path) else path
                for line in found if is_counted(path) else ():
                    number = line["line_number"]
                    lines[path][number] += line["count"]
                    ways = [way["count"] for way in line["branches"] if not way["throw"]]
                    before = branches[path].get(number, [])
                    if len(before) == len(ways):
                        ways = [old + new for old, new in zip(before, ways)]
                    branches[path][number] = max(before, ways, key=lambda some: (sum(count > 0 for count in some), len(some)))
    return lines, branches


def runs_of(numbers):
    """'3-5 9' of [3, 4, 5, 9]."""
    words, numbers = [], sorted(numbers)
    while numbers:
        last = 0
        while last + 1 < len(numbers) and numbers[last + 1] == numbers[last] + 1:
            last += 1
        words.append(str(numbers[0]) if last == 0 else f"{numbers[0]}-{numbers[last]}")
        numbers = numbers[last + 1:]
    return " ".join(words)


def share(some, all_):
    return f"{100 * some / all_:5.1f} % of {all_:6d}" if all_ else "        -       "


def main(build):
    lines, branches = read(build)
    folders = collections.defaultdict(lambda: [0, 0, 0, 0])
    for path, found in lines.items():
        ways = [count for some in branches[path].values() for count in some]
        figures = (sum(count > 0 for count in found.values()), len(found), sum(count > 0 for count in ways), len(ways))
        for name in (os.path.dirname(path), "all"):
            folders[name] = [old + new for old, new in zip(folders[name], figures)]
    print("Lines that no test ran:")
    for path in sorted(lines):
        missed = [number for number, count in lines[path].items() if not count]
        if missed:
            print(f"  {path}: {runs_of(missed)}")
    print(f"\n{'':28} {'lines':>17} {'branches':>18}")
    for name in sorted(folders, key=lambda name: (name == "all", name)):
        ran, of_lines, taken, ways = folders[name]
        print(f"{name:28} {share(ran, of_lines)}  {share(taken, ways)}")
    ran, of_lines = folders["all"][:2]
    return 0 if of_lines and ran >= LEAST * of_lines else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
