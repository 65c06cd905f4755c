#!/bin/sh
# install.sh install|uninstall BUILT DESTDIR PREFIX LIBDIR [NVCC]: program, libraries, headers, and what compilers, shells and readers of the
# manual look for, from the folder BUILT into DESTDIR/PREFIX, or out of it. LIBDIR: lib, or where a distribution has libraries. BUILT/.libs has
# what the library was linked with. A compiler other than nvcc needs CUDA's runtime by name, and C++'s, for the archive.
set -eu
action=$1 built=$2 destdir=$3 prefix=$4 libdir=$5 nvcc=${6:-}
if [ "$action" = install ] && [ ! -e "$built/spmv" ]; then
    echo "make install: $built/spmv is not there: make ${built##*/} first" >&2
    exit 2
fi
case $prefix$libdir in *[[:space:]]*)
    echo "make install: PREFIX=$prefix: pkg-config takes no space in a path" >&2
    exit 2 ;;
esac
case $libdir in /*)
    echo "make install: LIBDIR=$libdir: must be below PREFIX, as lib64" >&2
    exit 2 ;;
esac
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
into=$destdir$prefix
version=$(sed -n 's/.*SPMV_VERSION "\(.*\)"/\1/p' include/spmv.h)
soname=libspmv.so.$(sed -n 's/^SPMV_\([0-9]*\) {/\1/p' src/install/exports.map)

# put MODE FILE NAME: FILE becomes PREFIX/NAME, or NAME goes.
put() {
    if [ "$action" = install ]; then install -D -m "$1" "$2" "$into/$3"; else rm -f "$into/$3"; fi
}
# filled TEMPLATE NAME: as put, with what this installation is in place of @WORDS@.
filled() {
    libs=
    if [ "$action" = install ]; then libs="-fopenmp $(sed 's/-Xlinker /-Wl,/g' "$built/.libs")"; fi
    if [ "$nvcc" ]; then # its first word: options may follow
        cuda=$(dirname "$(dirname "$(readlink -f "$(command -v "${nvcc%% *}")")")")
        libs="$libs -L$cuda/lib64 -lcudart_static -lrt -lpthread -lstdc++"
    fi
    up=$(echo "$libdir/cmake/spmv" | sed 's/[^/][^/]*/../g')
    sed -e "s|@PREFIX@|$prefix|; s|@LIBDIR@|$libdir|; s|@VERSION@|$version|; s|@SONAME@|$soname|; s|@UP@|$up|" \
        -e "s|@LIBS@|$libs|; s|@LIBS_LIST@|$(echo $libs | tr ' ' ';')|" "$1" >"$made"
    put 644 "$made" "$2"
}
# linked TARGET NAME: PREFIX/NAME leads to TARGET beside it.
linked() {
    if [ "$action" = install ]; then ln -sf "$1" "$into/$2"; else rm -f "$into/$2"; fi
}

made=$(mktemp) pages=$(mktemp -d)
trap 'rm -rf "$made" "$pages"' EXIT
put 755 "$built/spmv" bin/spmv
put 755 "$built/libspmv.so" "$libdir/libspmv.so.$version"
linked "libspmv.so.$version" "$libdir/$soname"
linked "$soname" "$libdir/libspmv.so"
for name in petsc mpich openmpi; do # what of these was built
    if [ "$action" = uninstall ] || [ -e "$built/libspmv_$name.so" ]; then
        put 755 "$built/libspmv_$name.so" "$libdir/libspmv_$name.so"
        # The program looks for the exchange of an MPI in lib.
        case $name:$libdir in petsc:* | *:lib | *:lib/) continue ;; esac
        mkdir -p "$into/lib"
        linked "../$libdir/libspmv_$name.so" "lib/libspmv_$name.so"
    fi
done
put 644 "$built/libspmv.a" "$libdir/libspmv.a"
put 644 include/spmv.h include/spmv.h
put 644 include/spmv_ranks.h include/spmv_ranks.h
put 644 include/spmv_bench.h include/spmv_bench.h
filled src/install/spmv.pc.in "$libdir/pkgconfig/spmv.pc"
filled src/install/spmv-config.cmake.in "$libdir/cmake/spmv/spmv-config.cmake"
filled src/install/spmv-config-version.cmake.in "$libdir/cmake/spmv/spmv-config-version.cmake"
# These are made of the headers and of what the program says of itself: a page for each function, and other files.
if [ "$action" = uninstall ]; then rm -f "$into"/share/man/man3/spmv_*.3
else
    python3 docs/generate.py --program "$built/spmv" --made "$pages" || echo "make install: no manual, no completion for shells" >&2
    python3 src/bindings/fortran/generate.py "$pages/spmv.f90" || echo "make install: no module for Fortran" >&2
    for page in "$pages"/*.3; do [ ! -e "$page" ] || put 644 "$page" "share/man/man3/${page##*/}"; done
fi
while read -r file name; do
    [ "$action" = install ] && [ ! -e "$pages/$file" ] || put 644 "$pages/$file" "$name"
done <<EOF
spmv.f90 include/spmv.f90
spmv.1 share/man/man1/spmv.1
spmv.bash share/bash-completion/completions/spmv
spmv.zsh share/zsh/site-functions/_spmv
record.schema.json share/doc/spmv/record.schema.json
EOF
put 644 LICENSE share/doc/spmv/copyright
# The commands in Python, and the tables of this tree that they read: as here, so that they find each other.
for file in $(find tables/report tables/matrices -type f ! -path '*/__pycache__/*') include/params.def src/app/record/record.def \
    tables/outside/outside.csv; do
    put 644 "$file" "share/spmv/$file"
done
if [ "$action" = uninstall ]; then
    rm -rf "$into/share/spmv"
    for folder in "$libdir/cmake/spmv" share/doc/spmv; do rmdir "$into/$folder" 2>/dev/null || :; done
fi
if [ -z "$destdir" ] && [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi
[ "$action" = uninstall ] || echo "  installed  $into: bin/spmv, $libdir/$soname, include/spmv.h   gcc solver.c \$(pkg-config --cflags --libs spmv)"
