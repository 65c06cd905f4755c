#!/usr/bin/env python3
"""Counts how large the tuner is: lines and numbers.

    python3 log/reference/count.py

Lines are those of src/tune, of both propose.c and both cost.def, with comments. Lines of their own count what was part of
src/tune once: the features that formats compute for the tuner (features_*.c in their folders and sampled_*.h beside
them; a few lines more are in format_NAME.c of sell, sss and xcache), taking the sample on a CPU, spot checks of
results, and the first-use warm-up. What remembers choices across processes is in src/wisdom and apart. A fitted number of a
cost table (cost.def) is a factor that is not 0; the unit of the others, sell16_lanes' step, is one of them. In propose.c it
is a numeric literal outside comments and texts but for 0, 1, 2, subscripts, and what is no fit: NOT_FITTED. A number of the
policy is a constant of those other files that is named (`const double` or an enum).
"""

import glob
import os
import re

# Lanes of a warp, a row that takes all of them, per cent, and sides and heights of blocks.
NOT_FITTED = re.compile(r"\bWARP = 32|\bLONG = 128|\bPERCENT = 100|\? 3 : 2\b|\bk < 3\b")
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NUMBER = r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+)(?:e[+-]?\d+)?(?![\w.])"


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def bare(text):
    """Returns the code without comments, texts, includes and subscripts."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    text = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    return re.sub(r"\[[^]]*\]|^#include.*$", "", text, flags=re.MULTILINE)


def fitted(path):
    numbers = [float(number) for number in re.findall(NUMBER, NOT_FITTED.sub("", bare(read(path))))]
    return [number for number in numbers if number not in ((0,) if path.endswith(".def") else (0, 1, 2))]


def named(path):
    text = bare(read(path))
    constants = re.findall(r"const double([^;]*);", text) + re.findall(r"\benum (?:\w+ )?{([^}]*)}", text)
    return [name for block in constants for name in re.findall(r"(\w+) = [-\d(.]", block)]


def paths(*pattern):
    return sorted(os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "src", *pattern)))


def main():
    tune = paths("tune", "*.[ch]")
    features = paths("formats", "*", "features_*.c") + paths("formats", "sampled_*.h")
    others = ["src/matrix/sample.c", "src/measure/spot_check.c", "src/measure/warm_up.c"]
    models = ["cuda/propose.c", "cuda/cost.def", "omp/propose.c", "omp/cost.def"]
    lines = {path: read(path).count("\n") for path in tune + features + others + models}
    for path in models:
        print(f"{lines[path]:5} lines {len(fitted(path)):4} fitted numbers  {path}")
    for path in tune + features + others:
        print(f"{lines[path]:5} lines {len(named(path)):4} of the policy   {path}")
    tables = [path for path in models if path.endswith(".def")]
    for what, part in (("of the features of formats", features), ("of sampling on a CPU, spot checks and first-use warm-up", others),
                       ("of src/tune and both cost.def", tune + tables),
                       ("of src/tune, both cost.def and both propose.c", tune + models)):
        print(f"{sum(lines[path] for path in part):5} lines {what}")
    print(f"{sum(len(fitted(path)) for path in models):5} fitted numbers, "
          f"{sum(len(named(path)) for path in tune + features + others)} of the policy")


if __name__ == "__main__":
    main()
