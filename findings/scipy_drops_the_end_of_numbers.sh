#!/bin/sh
# SciPy's mmread, since it reads Matrix Market files by fast_matrix_market (SciPy 1.12), converts as much of a value as its parser
# understands and ignores the rest of the line. 1.5D+02, as Fortran prints a double with a D edit descriptor, is read as 1.5
# instead of 150; 1e3 or 2.5 in a file of field `integer` as 1 and 2; a hexadecimal number of C's %a as 0; 1,5 as 1. No
# exception, no warning. SciPy 1.11.4 raised ValueError for each of these, as NumPy's loadtxt does today. The package
# fast_matrix_market reads as SciPy does. A leading + is refused, so that files of Fortran's SP edit descriptor stop, while
# those of D pass.
# SciPy 1.17.1 and 1.11.4, fast_matrix_market 1.7.6, NumPy 2.4.6 and 1.26.4, Python 3.11.
# Exit 0: as described. Exit 1: something changed; each line says what was seen.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/new"
python3 -m venv "$work/old"
"$work/new/bin/pip" -q install numpy==2.4.6 scipy==1.17.1 fast_matrix_market==1.7.6
"$work/old/bin/pip" -q install numpy==1.26.4 scipy==1.11.4
cat >"$work/t.py" <<'PYTHON'
import io, sys
import numpy as np, scipy, scipy.io

def read(reader, field, value):
    """The first entry that a reader returns from a file whose first value is spelt so, or the exception's name."""
    text = f"%%MatrixMarket matrix coordinate {field} general\n2 2 2\n1 1 {value}\n2 2 7\n"
    try:
        return float(reader(io.BytesIO(text.encode())).toarray()[0, 0])
    except Exception as error:
        return type(error).__name__

new = scipy.__version__ == "1.17.1"
readers = {f"SciPy {scipy.__version__}": scipy.io.mmread}
if new:
    import fast_matrix_market
    readers["fast_matrix_market"] = fast_matrix_market.mmread
spelt = [("real", "1.5D+02", 1.5), ("real", "1.5d2", 1.5), ("integer", "1e3", 1), ("integer", "2.5", 2), ("real", "0x1p-3", 0),
         ("real", "1,5", 1)]
checks = {}
for name, reader in readers.items():
    for field, value, first in spelt:
        checks[f"{name}: {field} {value}"] = (read(reader, field, value), first if new else "ValueError")
    checks[f"{name}: real 1.5E+02"] = (read(reader, "real", "1.5E+02"), 150)
if new:
    checks["SciPy: real +1.5"] = (read(scipy.io.mmread, "real", "+1.5"), "ValueError")
    try:
        checks["loadtxt: 1.5D+02"] = (float(np.loadtxt(io.StringIO("1.5D+02"))), "ValueError")
    except ValueError as error:
        checks["loadtxt: 1.5D+02"] = (type(error).__name__, "ValueError")
for name, (seen, expected) in checks.items():
    print(f"{name}: {seen}", "" if seen == expected else f"  CHANGED: was {expected}")
sys.exit(any(seen != expected for seen, expected in checks.values()))
PYTHON
"$work/new/bin/python" "$work/t.py"
"$work/old/bin/python" "$work/t.py"
