# --wisdom: a choice of auto is remembered for the next process; a sweep reads it only where that is typed.
# omp only
# needs jansson
  $ run() { "$SPMV" -m gen:poisson2d:60 -k auto --iters=1000000 $quick --format=csv -q "$@"; }
  $ dates() { columns "status config.requested tune.wisdom" | sed -E 's/20[0-9]{2}-[0-9-]+T[0-9:]+Z/DATE/'; }
  $ run --wisdom=here | dates
  status config.requested tune.wisdom
  ok auto 
  $ run --wisdom=here | dates
  status config.requested tune.wisdom
  ok auto DATE
  $ SPMV_WISDOM=here run | dates
  status config.requested tune.wisdom
  ok auto DATE
  $ run | dates
  status config.requested tune.wisdom
  ok auto 
  $ $SPMV -m gen:poisson2d:60 -k auto --iters=1000000 $quick --wisdom=here 2>&1 >/dev/null | sed -nE "s/^  auto: .*( \(remembered from )20[0-9]{2}-[0-9]{2}-[0-9]{2}\)$/auto: REASON\1DATE)/p"
  auto: REASON (remembered from DATE)
# Without a name it is the user's own file; SPMV_WISDOM=1 means that, too.
  $ export XDG_CACHE_HOME="$PWD/cache"
  $ run --wisdom | dates
  status config.requested tune.wisdom
  ok auto 
  $ SPMV_WISDOM=1 run | dates
  status config.requested tune.wisdom
  ok auto DATE
  $ SPMV_WISDOM=0 run | dates
  status config.requested tune.wisdom
  ok auto 
  $ find cache -type f
  cache/spmv/wisdom
# Another question, in several processes at once; on a busy machine one may keep the file longer than others wait for it.
  $ remember() { while "$SPMV" -m gen:poisson2d:60 -k auto $quick --wisdom=here "$@" 2>&1 >/dev/null | grep -q "keeps it locked"; do :; done; }
  $ for threads in 1 2; do
  >     for iters in 100000 300000 3000000 30000000; do remember --iters=$iters -t $threads & done
  > done
  $ wait
  $ tail -n +2 here | cut -f 2 | sed 's/.*; //' | sort
  omp f64 warm, 1 thread, 16777216 products or more
  omp f64 warm, 1 thread, 2097152 products or more
  omp f64 warm, 1 thread, 262144 products or more
  omp f64 warm, 1 thread, 65536 products or more
  omp f64 warm, 2 threads, 16777216 products or more
  omp f64 warm, 2 threads, 2097152 products or more
  omp f64 warm, 2 threads, 262144 products or more
  omp f64 warm, 2 threads, 524288 products or more
  omp f64 warm, 2 threads, 65536 products or more
# What is wrong with the file is said once, and nothing fails.
  $ sed 's/, 65536 products or more/, 65537 products or more/' here >damaged
  $ $SPMV -m gen:poisson2d:60 -m gen:poisson2d:61 -k auto --iters=1000000 $quick --wisdom=damaged 2>&1 >/dev/null | grep -o "note: .*" | sed 's/note: [a-z0-9_]*/note: KERNEL/'
  note: KERNEL: wisdom damaged: 2 damaged lines are ignored
  $ echo hello >letter
  $ $SPMV -m gen:poisson2d:60 -m gen:poisson2d:61 -k auto $quick --wisdom=letter 2>&1 >/dev/null | grep -o "note: .*" | sed 's/note: [a-z0-9_]*/note: KERNEL/'
  note: KERNEL: wisdom letter: it does not begin as wisdom of this version, and is left alone
  $ cat letter
  hello
# A sweep measures what auto chooses.
  $ export SPMV_WISDOM=here
  $ sweep() { $SPMV sweep gen:poisson2d:60 -k auto --iters=1000000 $quick -q --log "$1.jsonl" "$2" >/dev/null && grep -c '"wisdom":"20' "$1.jsonl"; }
  $ sweep unasked --passes=1
  0
  [1]
  $ sweep asked --wisdom=here
  1
