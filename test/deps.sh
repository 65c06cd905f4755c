#!/bin/sh
# deps.sh: installs what the tests and every optional feature need. Nothing else in this project installs anything.
set -eu
# what it is for | Debian, Ubuntu | Fedora
packages='compiler and make            | gcc           | gcc
compiler and make            | make          | make
C library headers            | libc6-dev     | glibc-devel
finds the libraries          | pkg-config    | pkgconf-pkg-config
reads .gz .xz .zst .bz2 .tar | libarchive-dev | libarchive-devel
writes logs (JSON)           | libjansson-dev | jansson-devel
reads caches and cores       | libhwloc-dev  | hwloc-devel
unit tests                   | libcmocka-dev | libcmocka-devel
tables, tests                | python3       | python3
figures of the studies       | python3-matplotlib | python3-matplotlib
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
if [ -z "$missing" ]; then echo "all there"; exit 0; fi
sudo=
if [ "$(id -u)" != 0 ]; then sudo=sudo; fi
echo "installing:" $missing
if [ $column = 2 ]; then $sudo apt-get update -q >/dev/null; fi
DEBIAN_FRONTEND=noninteractive $sudo $install $missing >/dev/null
