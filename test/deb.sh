#!/bin/sh
# deb.sh: make test-deb: installs build/deb/spmv_*.deb in a bare Debian of its own, uses it there, builds a solver with it, and removes it
# again: every file that came must go (test/root.sh says what that needs).
set -eu
cd "$(dirname "$0")/.."
. test/root.sh
package=$(ls -t build/deb/spmv_*.deb 2>/dev/null | head -n 1)
[ "$package" ] || { echo "make test-deb: make deb first" >&2; exit 66; }
files() { (cd "$root" && find bin/. etc lib/. opt root sbin/. usr ! -type d ! -name ld.so.cache ! -path '*/__pycache__/*' | sort); }

make_root >&2 || exit 69
# What the package needs comes first, so that it alone comes and goes afterwards.
in_root "apt-get update -q >/dev/null
         apt-get install -y -q -o Dpkg::Use-Pty=0 --no-install-recommends $(dpkg-deb -f "$package" Depends | sed 's/([^)]*)//g; s/,/ /g') \
             libarchive13 python3 gcc libc6-dev pkg-config cmake make >/dev/null"
files >"$root/tmp/before"
cp "$package" "$root/tmp/spmv.deb"
sed -n '/^```c$/,/^```$/ {/^```$/q; /^```c$/!p}' docs/howto/c.md >"$root/root/solver.c" # the first program there

echo "installs"
in_root "dpkg -i /tmp/spmv.deb >/dev/null"
echo "multiplies, reads a compressed file, and makes a table"
in_root "cd /root; mkdir log; spmv gen:poisson2d:50 -k csr_rows --write a.mtx --log log --quiet >/dev/null; gzip a.mtx
         spmv a.mtx.gz -k csr_rows --log log --quiet; spmv table log; spmv report log --no-charts -o report.html"
echo "says that it has no exchange, as one of the ranks of an MPI"
in_root "cd /root; PMI_RANK=0 PMI_SIZE=2 spmv gen:poisson2d:50 2>said && exit 1; grep '^spmv: no exchange for MPI: libspmv_mpich.so is neither' said"
echo "builds solvers with pkg-config and CMake"
in_root "cd /root; gcc solver.c \$(pkg-config --cflags --libs spmv) -o solver; ./solver
         printf 'cmake_minimum_required(VERSION 3.13)\nproject(s C)\nfind_package(spmv REQUIRED)\nadd_executable(with_cmake solver.c)\n' >CMakeLists.txt
         echo 'target_link_libraries(with_cmake spmv::spmv)' >>CMakeLists.txt; cmake . >/dev/null; make -s >/dev/null; ./with_cmake"
echo "goes"
in_root "cd /root; dpkg -r spmv >/dev/null; rm -rf /root/*; if ls /usr/share/spmv 2>/dev/null; then exit 1; fi"
files | diff "$root/tmp/before" - || { echo "make test-deb: these files came or went" >&2; exit 1; }
echo "make test-deb: $package came and went"
