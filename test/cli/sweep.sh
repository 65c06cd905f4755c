# A plan, a status for every cell whatever the files hold, and --resume, which measures nothing twice.
# needs jansson
. "$CLI/common"
quick=${quick% --no-log*}" -t 2"
mkdir here here/folder
cp "$DATA/coordinate_real_symmetric.mtx" here/folder/b.mtx
echo junk >here/folder/a.mtx
: >here/folder/notes.txt
printf '# a list\n  folder  # of files\n\ngen:poisson2d:20\ngone.mtx\n' >here/list
options="-k omp:csr1,omp:ell1 -g 1x1,2x2 -t 2"
$SPMV sweep here/list gen:giantrow:2000:1000 $options --passes=2 --dry-run --max-mem=50M --min-time=1 --max-time=1
echo "exit $?, log: $(ls -d log 2>/dev/null)"
log=--log=x.jsonl
if ! $SPMV -V -v | grep -q '^features.*jansson'; then log=--no-log; fi # the bare build has no log to resume from
$SPMV sweep here/list $options --passes=2 $quick $log 2>err >summary
echo "exit $?"
# It is chance who was fastest.
sed -E -e 's/^ *[0-9.]+(e-[0-9]+)? .*/RATE/' -e 's/ +[0-9.]+ [a-z]+[~ !]* .*/ T/' summary
grep '^\[' err | mask
if [ $log = --no-log ]; then
    sed -n '/^odd files/,$p' "$CLI/sweep.out"
    exit 0
fi
sed -n '/ reused/,$p' err
$SPMV sweep here/list $options --passes=3 $quick $log --resume 2>err >summary
echo "exit $?"
grep ' reused' err
$SPMV sweep here/list $options --passes=3 $quick $log --resume 2>err >summary
echo "exit $?"
grep ' reused' err
$SPMV sweep here/list $options --passes=4 $quick --log y.jsonl --resume --dry-run | head -n 1
cp x.jsonl y.jsonl
$SPMV sweep here/list $options --passes=4 $quick --log y.jsonl --resume --dry-run | head -n 1
cmp x.jsonl y.jsonl
echo odd files
mkdir odd odd/folder.mtx && ln -s nowhere odd/link.mtx && cp "$DATA/coordinate_real_symmetric.mtx" odd/good.mtx
$SPMV sweep odd -k omp:csr1 $quick --no-log 2>&1 >summary | mask
echo wrong runs
$SPMV sweep here/gone $options; echo "exit $?"
printf 'here/folder/b.mtx\ngone.mtx\n' >here/elsewhere # written for the folder above
$SPMV sweep here/elsewhere $options; echo "exit $?"
$SPMV sweep; echo "exit $?"
mkdir empty && $SPMV sweep empty; echo "exit $?"
$SPMV sweep gen:poisson2d:9 -o x; echo "exit $?"
$SPMV sweep gen:poisson2d:9 --resume --no-log; echo "exit $?"
$SPMV run -m gen:poisson2d:9 --passes=2; echo "exit $?"
$SPMV sweep gen:poisson2d:9,gen:mesh:9; echo "exit $?"
$SPMV sweep here/folder/b.mtx,x; echo "exit $?"
$SPMV sweep here/folder/b.mtx here/folder/b.mtx -k omp:csr1 $quick --no-log 2>&1 >summary | mask
