#!/bin/sh
# python-binding.sh: builds the wheel of src/bindings/python, installs it into build/python/venv beside SciPy of PyPI, and runs
# SciPy's own tests with spmv.matrix behind aslinearoperator (test/python/scipy_products.py, which prints the share).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/build/python/venv
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check numpy==2.4.6 scipy==1.17.1 pytest==9.2.0
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps "$root/src/bindings/python"
cd "$root/build/python"
tests=$(cd / && "$venv/bin/python" -c 'import scipy.sparse.linalg as l; print(l.__path__[0])')
# Threads that wait for one another need not spin where cores are shared: a test is not timed.
OMP_WAIT_POLICY="${OMP_WAIT_POLICY-passive}" PYTHONPATH="$root/test/python" PYTHONDONTWRITEBYTECODE=1 \
    "$venv/bin/python" -m pytest -q -p no:cacheprovider -p scipy_products \
    "$tests/_isolve/tests" "$tests/_eigen/tests/test_svds.py" "$tests/tests/test_interface.py"
