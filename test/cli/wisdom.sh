# --wisdom: a choice of auto is remembered for the next process; a sweep reads it only where that is typed.
# omp only
# needs jansson
. "$CLI/common"
run() { "$SPMV" -m gen:poisson2d:60 -k auto --iters=1000000 $quick --format=csv -q "$@"; }
dates() { columns "status config.requested tune.wisdom" | sed -E 's/20[0-9]{2}-[0-9-]+T[0-9:]+Z/DATE/'; }
run --wisdom=here | dates
run --wisdom=here | dates
SPMV_WISDOM=here run | dates
run | dates
$SPMV -m gen:poisson2d:60 -k auto --iters=1000000 $quick --wisdom=here 2>&1 >/dev/null | sed -nE "s/^  auto: .*( \(remembered from )20[0-9]{2}-[0-9]{2}-[0-9]{2}\)$/auto: REASON\1DATE)/p"
# Without a name it is the user's own file; SPMV_WISDOM=1 means that, too.
export XDG_CACHE_HOME="$PWD/cache"
run --wisdom | dates
SPMV_WISDOM=1 run | dates
SPMV_WISDOM=0 run | dates
find cache -type f
# Another question, in several processes at once; on a busy machine one may keep the file longer than others wait for it.
remember() { while "$SPMV" -m gen:poisson2d:60 -k auto $quick --wisdom=here "$@" 2>&1 >/dev/null | grep -q "keeps it locked"; do :; done; }
for threads in 1 2; do
    for iters in 100000 300000 3000000 30000000; do remember --iters=$iters -t $threads & done
done
wait
tail -n +2 here | cut -f 2 | sed 's/.*; //' | sort
# What is wrong with the file is said once, and nothing fails.
sed 's/, 65536 products or more/, 65537 products or more/' here >damaged
$SPMV -m gen:poisson2d:60 -m gen:poisson2d:61 -k auto --iters=1000000 $quick --wisdom=damaged 2>&1 >/dev/null | grep -o "note: .*" | sed 's/note: [a-z0-9_]*/note: KERNEL/'
echo hello >letter
$SPMV -m gen:poisson2d:60 -m gen:poisson2d:61 -k auto $quick --wisdom=letter 2>&1 >/dev/null | grep -o "note: .*" | sed 's/note: [a-z0-9_]*/note: KERNEL/'
cat letter
# A sweep measures what auto chooses.
export SPMV_WISDOM=here
sweep() { $SPMV sweep gen:poisson2d:60 -k auto --iters=1000000 $quick -q --log "$1.jsonl" "$2" >/dev/null && grep -c '"wisdom":"20' "$1.jsonl"; }
sweep unasked --passes=1
sweep asked --wisdom=here
