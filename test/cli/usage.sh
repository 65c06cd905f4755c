# Wrong words: one line on stderr that says what to do, exit 64.
. "$CLI/common"
try() { "$SPMV" "$@" </dev/null; echo "exit $?"; }
try -k crs1
try -k csr_
try -k omp:csr_row
try -k gpu:csr1
try -g 10 2>&1 | head -n 1
try -g 0x4 2>&1 | head -n 1
try -b 33x8 2>&1 | head -n 1
try -t 2000 2>&1 | head -n 1
try -k omp:csr1 -b 128
try -k omp:csr1 -g 4x4
try --rowlens=maybe 2>&1 | head -n 1
try --sigma=some 2>&1 | head -n 1
try --hubs=-5 2>&1 | head -n 1
try gen:poisson2d:3 -k omp:cmrs_strips --height=3000000000 --no-log -q 2>&1 | head -n 1
try --block=2000 2>&1 | head -n 1
try --boundary=-1 2>&1 | head -n 1
try -p f16 2>&1 | head -n 1
try --max-mem=lots 2>&1 | head -n 1
try frobnicate
try matrix.mtx -q --no-log
try list nonsense
try -m gen:poisson4d:10 -k omp:csr1 --no-log -q
try -m gen:poisson3d:ten -k omp:csr1 --no-log -q
try -m gen:poisson2d:10 --values=odd -k omp:csr1 --no-log -q
try --foo
try -k
try -m gen:poisson2d:3 --bar=3
try --kernel
try -qk
try -qz
try --quiet=yes
try --log=
try --chunk=9:1
try --min-time=inf
try probe -k csr1
try doctor --min-time=5
try list -n 3
try sweep gen:nosuch:5 --dry-run
try -k omp:sell_slices --slice=1025
try -k omp:csr1,omp:sell_slices --slice=0
try -k omp:cmrs_strips --height=3
try -k 'omp:cmrs*' --tile=64
try -k omp:sell_slices -m gen:poisson2d:3 --slice=32,1025 # a list is taken whole or refused
try -k omp:cmrs_strips,omp:sell_slices -m gen:poisson2d:3 --height=1,3
