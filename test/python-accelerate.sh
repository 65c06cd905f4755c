#!/bin/sh
# python-accelerate.sh: tests of SciPy's sparse matrices, and of PyAMG, with spmv.accelerate (test/python/accelerated.py): they
# must pass where they do without, and at least 95 % of the products that the library has must run in it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/python/venv
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 pyamg==5.4.1 pytest==9.2.0
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$root/src/bindings/python"
cd "$root/build/python"

# Runs tests; the rest of the line: options. Prints those that fail.
failing() {
    OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" PYTHONPATH="$root/test/python" PYTHONDONTWRITEBYTECODE=1 \
        "$venv/bin/python" -m pytest -q -p no:cacheprovider -rfE --tb=no "$@" > log 2>&1 || [ $? -eq 1 ]
    sed -n 's/^\(FAILED\|ERROR\) \([^ ]*\).*/\2/p' log | sort
}

for tests in scipy.sparse.tests scipy.sparse.linalg scipy.sparse.csgraph pyamg; do
    failing --pyargs $tests > without
    failing -p accelerated --pyargs $tests > with
    echo "$tests: $(tail -n 1 log)"
    grep 'ran in the library' log
    comm -13 without with > new
    [ ! -s new ] || { echo "these fail with spmv.accelerate alone:"; cat new; exit 1; }
done

PYTHONPATH="$root/test/python" "$venv/bin/python" -W ignore "$root/test/python/accelerate_programs.py" "${PROGRAMS:-10000}"
