#!/bin/sh
# python-cupy.sh: on a machine with a GPU and CuPy: CuPy's own tests of sparse matrices with spmv.accelerate
# (test/python/accelerated.py): they must pass where they do without, and at least 95 % of the products that the library has
# must run in it. CUPY_TESTS: the folder `tests` of CuPy's sources of that version, which are fetched otherwise.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
work=$root/build/python/cupy
mkdir -p "$work"
if [ -z "${CUPY_TESTS:-}" ]; then
    version=$("$python" -c 'import cupy; print(cupy.__version__)')
    [ -d "$work/cupy-$version" ] ||
        git clone --quiet --depth 1 --branch "v$version" https://github.com/cupy/cupy.git "$work/cupy-$version"
    CUPY_TESTS=$work/cupy-$version/tests
fi
export SPMV_LIBRARY="$root/build/cuda/libspmv.so" PYTHONPATH="$root/src/bindings/python:$root/test/python" ACCELERATED=cupy
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" PYTHONDONTWRITEBYTECODE=1
cd "$CUPY_TESTS"

# Runs tests; prints those that fail.
failing() {
    "$python" -m pytest -q -p no:cacheprovider -rfE --tb=no "$@" >"$work/log" 2>&1 || [ $? -eq 1 ]
    sed -n 's/^\(FAILED\|ERROR\) \([^ ]*\).*/\2/p' "$work/log" | sort
}

failing -p accelerated ${PYTEST:-} cupyx_tests/scipy_tests/sparse_tests >"$work/with" || { tail -n 20 "$work/log"; exit 1; }
tail -n 1 "$work/log"
grep 'ran in the library' "$work/log"
[ -s "$work/with" ] || exit 0
# Names of cases may hold blanks: a file of one that fails runs again as a whole.
failing ${PYTEST:-} $(sed 's/::.*//' "$work/with" | sort -u) >"$work/without"
comm -13 "$work/without" "$work/with" >"$work/new"
# Some of CuPy's tests fail now and then, those of svds without spmv.accelerate, too: a new failure runs again.
if [ -s "$work/new" ]; then
    failing -p accelerated ${PYTEST:-} $(sed 's/::.*//' "$work/new" | sort -u) >"$work/again"
    comm -12 "$work/new" "$work/again" >"$work/still"
    [ ! -s "$work/still" ] || { echo "these fail with spmv.accelerate alone:"; cat "$work/still"; exit 1; }
    echo "these failed once with spmv.accelerate, and not in a second run:"
    cat "$work/new"
fi
echo "the others of the $(wc -l <"$work/with") that fail do so without spmv.accelerate, too"
