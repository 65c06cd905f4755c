# Tries what a newcomer types: a file alone, a folder, a command's help, a misspelt word, a wrong value in the
# environment. omp only
. "$CLI/common"
unset COLUMNS
try() { "$SPMV" "$@" </dev/null; echo "exit $?"; }
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n' >a.mtx
mkdir dir
quick="$quick -k omp:csr1 --format=csv -q"
$SPMV a.mtx $quick | columns "matrix.name status"
$SPMV run $quick a.mtx gen:diagonal:3 | columns "matrix.name status" | grep -v name
SPMV_MATRIX=gen:diagonal:5 $SPMV $quick a.mtx | columns "matrix.name status" # the word is stronger
$SPMV gen:diagonal:3 $quick | columns "matrix.name status" | grep -v name
$SPMV info a.mtx | grep '^  matrix.name '
$SPMV tune a.mtx -k omp:csr_serial -t 1 --max-time=0 --probe=off --no-log -q 2>/dev/null | grep -q csr_serial; echo "tuned $?"
try -m dir; try dir; try info dir; try tune -m dir -k csr1
try thermal2.mtx -q --no-log

# Help of a command names what that command takes, and no more.
options() { "$SPMV" "$@" | grep -oE -e '--[a-z-]+' | sort -u | tr '\n' ' '; echo; }
options help list
options doctor --help
options help sweep | grep -c -- '--retry.*--timeout'
options help run | grep -c -- '--retry'
options help tune | grep -c -- '--output'
$SPMV info -h | sed -n 1,2p
cmp_help() { "$SPMV" help $1 >one; "$SPMV" $1 --help >two; cmp one two; }
for command in run sweep tune list info probe doctor get table report compare; do cmp_help $command; done
$SPMV help >one; $SPMV --help >two; cmp one two
$SPMV --help | sed -n '/Commands:/,/^$/p' | awk '/^  [a-z]/ {print $1}' | tr '\n' ' '; echo
for command in "" run sweep tune list info probe doctor; do $SPMV help $command | grep -n ' $'; done # no line ends in blanks
for command in "" doctor; do $SPMV help $command | sed -n 1,2p; done
$SPMV help doctor | grep '^ How to multiply'
$SPMV help help | cmp - one
try help nonsense
for words in "--help" "help list" "-V" "list --usage" "list"; do $SPMV $words >/dev/full; echo "exit $?"; done

# The nearest word is suggested.
try lst
try a.mtx --kernal csr1
try a.mtx --kernal=csr1
try -v -zq
try --formt csv a.mtx
try a.mtx --quiet=yes -v
try -k csr1 list
try info --cahce=cold a.mtx
try info --cache=cold a.mtx
try --dry-run a.mtx

# A user who typed nothing wrong learns which variable did it. What a command does not take is no error there.
SPMV_MAX_MEM=lots try a.mtx
SPMV_KERNEL=crs1 SPMV_SEED=3 try a.mtx -q --no-log
SPMV_KERNEL=crs1 try a.mtx -q --no-log -k csr9
SPMV_NO_LOG=1 try b.mtx -q
SPMV_QUIET= try a.mtx --no-log # is no yes
SPMV_DRY_RUN=1 $SPMV a.mtx $quick | columns "status"

# -k chooses the formats that info builds.
$SPMV info gen:mesh:100 -k 'csr1,ell*,sell_slices' | sed -n '/^  format/,$p' | awk '{print $1}' | tr '\n' ' '; echo
$SPMV info gen:mesh:100 -k auto | grep -c -E '^  (cmrs|bsr|hyb) '
$SPMV info gen:mesh:100 | grep -c -E '^  (cmrs|bsr|hyb) '
try info gen:mesh:100 -k crs1
try info gen:mesh:100 -k cuda:nosuch 2>&1 | grep -c cuda
