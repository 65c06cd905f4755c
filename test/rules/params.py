#!/usr/bin/env python3
"""params.py: a parameter of kernels is one line of include/params.def. Prints every other place in the program and in the
readers of logs that names one as data: SPMV_lanes, "lanes", "lanes=" or "--lanes"; exits 1 if there is one. The kernels and
formats that take it name it, and so may tests and what is about one paper's study."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLACES = ("src/app/**/*.[ch]", "src/app/**/*.def", "src/host/*.[ch]", "src/matrix/**/*.[ch]", "src/plan/*.[ch]",
          "src/values/*.[ch]", "src/measure/*.[ch]", "include/*.h", "tables/report/units/*.py", "tables/report/logs.py")
# The exceptions, each with a reason: {file: names}.
NAMED = {
    # They have fields of their own in the log from before config.params.
    "src/app/run/results/describe.c": "grid_rows grid_cols block shape_rows shape_cols schedule chunk simd rowlens",
    "src/app/sweep/sweep_values.c": "grid_rows sigma",  # which of many values --tune tries
    "src/plan/plan.c": "grid_rows codes isa",  # 0: the threads; off, if values change; with another one, other bits
    "src/app/cmd_list.c": "sigma",  # a twin's
    "include/spmv_order.h": "order",  # whatever the kernel and format, the store cache makes it
    "src/matrix/stores/ordered.h": "order",
    "src/app/record/write_table.c": "gather",  # the limit, as in limits.c
    "src/app/run/limits/limits.c": "gather",
    "src/app/run/timing/rounds.c": "rowlens",  # without it padding meets an infinite x
    "tables/report/units/settings.py": "block simd",  # usual in a label
}


def names(root):
    """Reads parameters and their options."""
    lines = re.findall(r'^PARAM\((\w+), "(\w+)"', (root / "include/params.def").read_text(encoding="utf-8"), re.M)
    return sorted({name for line in lines for name in line})


def plain(path):
    """The text, without comments if it is C."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return text
    return re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)


def breaches_of(root):
    known = "|".join(names(root))
    pattern = re.compile(rf'\bSPMV_({known})\b|"(?:--)?({known})(?:=[^"]*)?"')
    for path in sorted(path for place in PLACES for path in root.glob(place)):
        name = str(path.relative_to(root))
        for number, line in enumerate(plain(path).split("\n"), 1):
            for found in pattern.finditer(line):
                if (found[1] or found[2]) not in NAMED.get(name, "").split():
                    yield f"{name}:{number}: {found[0]}: read it from include/params.def"


if __name__ == "__main__":
    breaches = list(breaches_of(ROOT))
    for breach in breaches:
        print(f"params: {breach}")
    sys.exit(bool(breaches))
