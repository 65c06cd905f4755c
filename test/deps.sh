#!/bin/sh
# deps.sh: installs what the tests and every optional feature need. Nothing else in this project installs anything.
set -eu
cd "$(dirname "$0")/.."
# what it is for | Debian, Ubuntu | Fedora
packages='compiler and make            | gcc           | gcc
compiler and make            | make          | make
C library headers            | libc6-dev     | glibc-devel
finds the libraries          | pkg-config    | pkgconf-pkg-config
reads .gz .xz .zst .bz2 .tar | libarchive-dev | libarchive-devel
reads .gz                    | zlib1g-dev    | zlib-devel
reads .h5 and MATLAB 7.3      | libhdf5-dev   | hdf5-devel
writes logs (JSON)           | libjansson-dev | jansson-devel
reads caches and cores       | libhwloc-dev  | hwloc-devel
unit tests                   | libcmocka-dev | libcmocka-devel
tests of what is installed   | g++           | gcc-c++
tests of what is installed   | cmake         | cmake
Fortran module: its tests    | gfortran      | gcc-gfortran
Fortran module: make docs    | python3-pycparser | python3-pycparser
ranks: exchange through MPI  | libopenmpi-dev | openmpi-devel
ranks: launcher              | openmpi-bin   | openmpi
ranks: exchange through MPI  | libmpich-dev  | mpich-devel
ranks: launcher              | mpich         | mpich
ranks: divides rows          | libmetis-dev  | metis-devel
ranks: divides rows          | libscotch-dev | scotch-devel
tables, tests                | python3       | python3
tests: of which commit a build is | git      | git
report: fetches its charts   | python3-pip   | python3-pip
Python binding: its tests    | python3-venv  | python3
report: its tests            | chromium      | chromium
second opinion on the reader | python3-scipy | python3-scipy'
if command -v apt-get >/dev/null; then column=2 install='apt-get install -y -q --no-install-recommends'
elif command -v dnf >/dev/null; then column=3 install='dnf install -y -q'
else echo "make deps knows apt and dnf; install by hand:" >&2; echo "$packages" >&2; exit 69
fi
names=$(echo "$packages" | cut -d'|' -f$column | tr -d ' ')
echo "$packages" | while IFS='|' read -r use debian fedora; do
    [ $column = 2 ] && name=$debian || name=$fedora
    printf '  %-18s %s\n' "$(echo "$name" | tr -d ' ')" "$use"
done
if [ $column = 2 ]; then
    missing=$(for n in $names; do dpkg -s "$n" >/dev/null 2>&1 || echo "$n"; done)
else
    missing=$(for n in $names; do rpm -q "$n" >/dev/null 2>&1 || echo "$n"; done)
fi
sudo=
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
if [ -n "$missing" ] && [ $column = 2 ]; then
    $sudo apt-get update -q >/dev/null
    # Ubuntu has Chromium as a snap only: the tests that need a browser then skip themselves.
    apt-cache show chromium >/dev/null 2>&1 || missing=$(echo "$missing" | grep -vx chromium)
fi
if [ -n "$missing" ]; then
    echo "installing:" $missing
    DEBIAN_FRONTEND=noninteractive $sudo $install $missing >/dev/null
fi

# No distribution has what makes PNG and PDF of SVG. It goes into .python/, where tables/report/charts.py finds it.
charts=vl-convert-python==1.9.0.post1
printf '  %-18s %s\n' "$charts" "charts as PNG and PDF (PyPI)"
if [ ! -d ".python/$(echo $charts | tr - _ | sed 's/==/-/').dist-info" ]; then
    for python in python3 /usr/bin/python3; do $python -m pip --version >/dev/null 2>&1 && break; done
    rm -rf .python
    $python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-deps --target .python "$charts" ||
        { echo "not there: $charts, so tests of charts will skip themselves"; exit 0; }
fi
echo "all there"
