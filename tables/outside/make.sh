#!/bin/sh
# make.sh [OPTION of make.py...]: makes the outside set in a virtual environment of its own. Wheels are loaded once, into
# the cache ($SPMV_OUTSIDE, else ~/.cache/spmv/outside), and again when requirements.txt changes; then nothing is asked of
# the network. PYTHON: 3.11 or later.
set -eu
here=$(cd "$(dirname "$0")" && pwd) PYTHON=${PYTHON:-python3}
cache=${SPMV_OUTSIDE:-$HOME/.cache/spmv/outside}
wanted=$(cat "$here/requirements.txt")
mkdir -p "$cache/wheels"
if [ "$(cat "$cache/wheels/requirements.txt" 2>/dev/null)" != "$wanted" ]; then
    "$PYTHON" -m pip download --quiet --dest "$cache/wheels" -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$cache/wheels/"
fi
if [ "$(cat "$cache/venv/requirements.txt" 2>/dev/null)" != "$wanted" ]; then
    rm -rf "$cache/venv"
    "$PYTHON" -m venv "$cache/venv"
    "$cache/venv/bin/pip" install --quiet --no-index --find-links "$cache/wheels" -r "$here/requirements.txt"
    cp "$here/requirements.txt" "$cache/venv/"
fi
exec "$cache/venv/bin/python" "$here/make.py" "$@"
