#!/usr/bin/env python3
"""folders.py: docs/explanation/architecture.md has one sentence for each folder of sources, which says what belongs in it. Prints
every folder that has none or two, every text that is not one sentence, and every folder that is gone; exits 1 if there is one."""
import collections
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = "docs/explanation/architecture.md"
DESCRIBED = ("src", "include", "omp", "cuda", "test", "bench")  # these and all below them must have a sentence; others may
HEAD = "| folder | what belongs in it |\n|---|---|\n"


def rows_of(page):
    """(folder, its sentence) of the table; in a folder, NAME stands for any name."""
    for row in page.partition(HEAD)[2].partition("\n\n")[0].splitlines():
        folders, sentence = row.strip("| ").split(" | ")
        for folder in re.findall("`([^`]+)`", folders):
            yield folder, sentence


def folders_of(files):
    """Those that hold a file themselves."""
    return {str(pathlib.PurePath(file).parent) for file in files}


def is_sentence(text):
    return len(text.split()) >= 4 and re.fullmatch(r"[A-Z`].*\.", text) and not re.search(r"[.!?] ", text)


def breaches_of(page, folders):
    rows = list(rows_of(page))
    named = collections.Counter(folder for folder, _ in rows)
    any_of = {folder: re.compile(re.escape(folder).replace("NAME", "[^/]+")) for folder in named if "NAME" in folder}
    for folder in sorted(f for f in folders if f.split("/")[0] in DESCRIBED):
        count = named[folder] or sum(bool(pattern.fullmatch(folder)) for pattern in any_of.values())
        if count != 1:
            yield f"{folder} has {count} sentences, must have one that says what belongs in it"
    for folder, sentence in rows:
        if folder not in folders and not any(any_of[folder].fullmatch(f) for f in folders if folder in any_of):
            yield f"{folder} is no folder with files"
        if not is_sentence(sentence):
            yield f"{folder}: not one sentence: {sentence}"


if __name__ == "__main__":
    files = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, text=True)
    there = folders_of(file for file in files.splitlines() if (ROOT / file).is_file())
    breaches = list(breaches_of((ROOT / PAGE).read_text(encoding="utf-8"), there))
    for breach in breaches:
        print(f"folders: {breach}")
    sys.exit(bool(breaches))
