#!/bin/sh
# bare.sh: README's commands in a bare Debian: what is measured there first, and `make deps test`. The clone's folder lies below one
# that root alone may enter, and what build/omp has comes along, so that little is compiled again. make takes CFLAGS and
# WERROR of the environment. Exits with 69 where there can be no bare Debian (test/root.sh), and says why.
set -eu
cd "$(dirname "$0")/.."
. test/root.sh
make_root && in_root true || { echo "there is no bare Debian to test in"; exit 69; }

folder=$root/root/clone
mkdir -m 700 -p "$folder/build"
chmod 700 "$root/root"
tar c --exclude=./build --exclude=./.python --exclude=./.peers --exclude=./config.mk . | tar x --no-same-owner -C "$folder"
[ ! -d build/omp ] || cp -a build/omp "$folder/build"
for words in "$(sed -n 's/^    \(apt-get update .*\)/\1/p' README.md)" "$(sed -n 's/.*`\(make deps test\)`.*/\1/p' README.md)"; do
    [ "$words" ] || { echo "bare.sh: README.md has other commands"; exit 1; }
    echo "==== bare: $words"
    in_root "cd /root/clone; export CFLAGS='${CFLAGS:--O3 -march=native -g}' WERROR=${WERROR:-} MAKEFLAGS=-j$(nproc); $words" || exit 1
done
