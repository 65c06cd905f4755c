#!/usr/bin/env python3
"""prose.py [PAGE...]: whether documents can be read at first sight. Outside of tables, code and links no line has over 120
characters and no sentence over 40 words; a table's cell has no phrase over 40 words either. Prints every breach; exits 1 if there is one."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LONGEST_LINE, MOST_WORDS = 120, 40
NOT_PROSE = ("tables/",)  # pages of numbers that logs fill
LINK = re.compile(r"\]\([^)]*\)")
BREAKS = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+|^#+ |^>+ ?")  # a list's item, a heading or a quotation begins a text of its own


def sentences_of(text):
    """A paragraph's sentences: a full stop, a question mark or a colon at the end of a line of thought ends one. Code counts as
    one word, a link as its text."""
    text = LINK.sub("]", re.sub(r"`[^`]*`", "code", text)).replace("[", "").replace("]", "")
    return re.split(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9`_])|(?<=[.!?])[\"')*]*\s+(?=code\b)", text)


def paragraphs_of(text):
    """(number of its first line, its text, whether it is a table's row) of everything between code blocks."""
    lines, first, is_code = [], 0, False
    for number, line in enumerate((text + "\n\n").split("\n"), 1):
        is_fence = line.lstrip().startswith("```")
        if is_fence or is_code or line.startswith("    ") and not lines or not line.strip() or line.startswith(("|", "<!--")) or BREAKS.match(line):
            if lines:
                yield first, " ".join(lines), False
            lines = []
        is_code ^= is_fence
        if is_fence or is_code or not line.strip() or line.startswith("<!--") or line.startswith("    ") and not lines:
            continue
        if line.startswith("|"):
            for cell in re.split(r"(?<!\\)\|", line):
                yield number, cell, True
            continue
        if not lines:
            first = number
        lines.append(BREAKS.sub("", line).strip())


def long_lines(text):
    """(number, line) of the lines that are too long, links taken as their texts."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        is_code ^= line.lstrip().startswith("```")
        if not is_code and not line.startswith(("|", "    ", "```", "<!--")) and len(LINK.sub("]", line)) > LONGEST_LINE:
            yield number, line


def breaches(name, text):
    for number, line in long_lines(text):
        yield f"{name}:{number}: {len(line)} characters: {line[:60]}…"
    for number, paragraph, is_cell in paragraphs_of(text):
        for sentence in re.split("[.;:,] ", paragraph) if is_cell else sentences_of(paragraph):
            words = [word for word in sentence.split() if re.search(r"\w", word)]
            if len(words) > MOST_WORDS:
                yield f"{name}:{number}: {len(words)} words: {' '.join(words[:9])}…"


def main(only):
    pages = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT, text=True)
    count = 0
    for name in sorted(set(pages.splitlines())):
        if name.startswith(NOT_PROSE) or (only and not name.startswith(tuple(only))) or not (ROOT / name).is_file():
            continue
        for breach in breaches(name, (ROOT / name).read_text(encoding="utf-8")):
            print(f"prose: {breach}")
            count += 1
    return bool(count)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
