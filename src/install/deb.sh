#!/bin/sh
# deb.sh: make deb: the Debian package build/deb/spmv_VERSION_ARCH.deb, of the files that git knows, compiled in a folder of their own for
# every processor of the architecture; vector instructions are chosen as it runs. Without what is measured beside the library.
set -eu
unset CFLAGS SAN MAKEFLAGS
cd "$(dirname "$0")/../.."
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool >/dev/null || { echo "make deb: $tool is missing: apt-get install dpkg-dev" >&2; exit 69; }
done
python3 -c 'import pycparser' || { echo "make deb: the Fortran module needs python3-pycparser: make deps" >&2; exit 69; }
version=$(sed -n 's/.*SPMV_VERSION "\(.*\)"/\1/p' include/spmv.h)
arch=$(dpkg --print-architecture)
case $arch in
amd64) march=x86-64 ;;
arm64) march=armv8-a ;;
*) echo "make deb: knows amd64 and arm64, this is $arch" >&2; exit 69 ;;
esac
triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

work=$PWD/build/deb source=$PWD/build/deb/source stage=$PWD/build/deb/stage
rm -rf "$stage"
mkdir -p "$source"
find "$source" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} + # the objects stay
git ls-files -z | xargs -0 cp -p --parents -t "$source"
make -C "$source" BUILD=omp MARCH=$march LIBS_WANTED='libarchive zlib jansson hwloc' omp
for lib in libarchive zlib jansson hwloc; do
    "$source/spmv" -V -v | grep '^features' | grep -qw $lib || { echo "make deb: $lib is missing: make deps" >&2; exit 69; }
done
make -s -C "$source" BUILD=omp DESTDIR="$stage" PREFIX=/usr LIBDIR="lib/$triplet" install >/dev/null
strip --strip-unneeded "$stage/usr/bin/spmv" "$stage/usr/lib/$triplet/libspmv.so.$version"
strip --strip-debug "$stage/usr/lib/$triplet/libspmv.a"
mv "$stage/usr/share/zsh/site-functions" "$stage/usr/share/zsh/vendor-completions" # where Debian's zsh looks
gzip -9n "$stage/usr/share/man/man1/spmv.1" "$stage"/usr/share/man/man3/*.3

mkdir -p "$stage/DEBIAN" "$work/shlibs/debian"
printf 'Source: spmv\n\nPackage: spmv\nArchitecture: any\n' >"$work/shlibs/debian/control"
needed=$(cd "$work/shlibs" && dpkg-shlibdeps -O "$stage/usr/bin/spmv" "$stage/usr/lib/$triplet/libspmv.so.$version" | sed 's/^shlibs:Depends=//')
cat >"$stage/DEBIAN/control" <<EOF
Package: spmv
Version: $version
Architecture: $arch
Section: math
Priority: optional
Maintainer: $(git log -1 --format='%an <%ae>')
Depends: $needed
Recommends: libarchive13 | libarchive13t64, python3
Installed-Size: $(du -sk "$stage/usr" | cut -f1)
Description: sparse matrix-vector products in many formats
 A library (spmv.h, libspmv) and a program that multiplies Matrix Market files
 with every kernel, checks and times every result, and makes tables of them.
EOF
# Python's caches of the installed scripts belong to no package.
printf '#!/bin/sh\nset -e\nfind /usr/share/spmv -name __pycache__ -exec rm -rf {} +\n' >"$stage/DEBIAN/prerm"
chmod 755 "$stage/DEBIAN/prerm"
echo 'activate-noawait ldconfig' >"$stage/DEBIAN/triggers"
(cd "$stage" && find usr -type f -exec md5sum {} +) >"$stage/DEBIAN/md5sums"
dpkg-deb --root-owner-group --build "$stage" "$work/spmv_${version}_$arch.deb" >/dev/null
echo "  made  build/deb/spmv_${version}_$arch.deb   needs $needed"
