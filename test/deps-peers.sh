#!/bin/sh
# deps-peers.sh: installs the libraries of others that kernels are compared with: librsb from the distribution, oneMKL from
# PyPI into MKLROOT (220 MB to load, 1 GB unpacked), AOCL-Sparse, which PyPI's aoclda brings, into AOCLROOT (29 MB to load),
# and with nvcc a newer cuSPARSE than the CUDA toolkit's, from PyPI into .peers/cusparse (280 MB to load, 370 MB unpacked).
# NVIDIA's licence, which PyPI has, is that of the toolkit.
set -eu
MKLROOT=${MKLROOT:-.peers} AOCLROOT=${AOCLROOT:-${MKLROOT:-.peers}/aocl} PYTHON=${PYTHON:-python3}
sudo=
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
if pkg-config --exists librsb 2>/dev/null; then echo "librsb: there"
elif command -v apt-get >/dev/null; then
    $sudo apt-get update -q >/dev/null
    DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -q --no-install-recommends librsb-dev >/dev/null
else echo "librsb: no package known here; without it the kernel librsb_tuned is absent" >&2
fi
if [ -f "$MKLROOT/include/mkl_spblas.h" ]; then echo "oneMKL: there, in $MKLROOT"
else "$PYTHON" -m pip install --quiet --no-deps --ignore-installed --prefix "$MKLROOT" mkl==2026.2.0 mkl-include==2026.2.0
fi
if ls "$AOCLROOT"/aoclda.libs "$AOCLROOT"/lib 2>/dev/null | grep -q '^libaoclsparse'; then echo "AOCL-Sparse: there, in $AOCLROOT"
else "$PYTHON" -m pip install --quiet --no-deps --target "$AOCLROOT" aoclda==5.3.0.1 ||
    echo "AOCL-Sparse: PyPI has no aoclda for this Python; without it the kernel aocl_csr is absent" >&2
fi
# What of it is called (cuda/peers/cusparse_functions.def) is known of this release, which needs this linker to plan SpMVOp.
nvcc=${CUDA_HOME:-/usr/local/cuda}/bin/nvcc
if [ -f .peers/cusparse/nvidia/cu13/lib/libcusparse.so.12 ]; then echo "cuSPARSE: there, in .peers/cusparse"
elif command -v nvcc >/dev/null || [ -x "$nvcc" ]; then
    "$PYTHON" -m pip install --quiet --no-deps --ignore-installed --target .peers/cusparse \
        'nvidia-cusparse==12.9.4.*' 'nvidia-nvjitlink==13.5.*'
else echo "cuSPARSE: no nvcc here, so that no kernel would use it"
fi
echo "now: make"
