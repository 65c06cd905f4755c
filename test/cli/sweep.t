# A plan, a status for every cell whatever the files hold, and --resume, which measures nothing twice.
# needs jansson
  $ quick=${quick% --no-log*}" -t 2"
  $ mkdir here here/folder
  $ cp "$DATA/coordinate_real_symmetric.mtx" here/folder/b.mtx
  $ echo junk >here/folder/a.mtx
  $ : >here/folder/notes.txt
  $ printf '# a list\n  folder  # of files\n\ngen:poisson2d:20\ngone.mtx\n' >here/list
  $ options="-k omp:csr1,omp:ell1 -g 1x1,2x2 -t 2"
  $ $SPMV sweep here/list gen:giantrow:2000:1000 $options --passes=2 --dry-run --max-mem=50M --min-time=1 --max-time=1
  plan: 5 matrices x 3 configurations x 2 passes = 30 runs, about 30 s, peak memory about 25.2 MB
    a                        here/folder/a.mtx:1: found 'junk', expected '%%MatrixMarket matrix coordinate real general' or the like: is this a Matrix Market file?
    b                        4 x 4, about 12 nonzeros, 25.2 MB
    gen:poisson2d:20         400 x 400, about 2 k nonzeros, 16.9 MB
    gone                     no such file
    gen:giantrow:2000:1000   2000 x 2000, about 7 k nonzeros, 17.4 MB
    omp:csr_rows
    omp:ell_blocks --grid=1x1
    omp:ell_blocks --grid=2x1
  $ ls -d log 2>/dev/null
  [2]
  $ log=--log=x.jsonl
  $ $SPMV sweep here/list $options --passes=2 $quick $log 2>err >summary
  [3]
# It is chance who was fastest.
  $ sed -E -e 's/^ *[0-9.]+(e-[0-9]+)? .*/RATE/' -e 's/ +[0-9.]+ [a-zµ]+[~ !]* .*/ T/' summary
  matrix               median    GFLOP/s  fastest               second
  a                         -          -  none
  b T
  gen:poisson2d:20 T
  gone                      -          -  none
  over 2 matrices, geometric means of the rate and of the time over the fastest
  GFLOP/s     time  fastest on  timed
  RATE
  RATE
  RATE
  $ grep '^\[' err | mask
  [ 3/24] a failed: a.mtx:1: found 'junk', expected '%%MatrixMarket matrix coordinate real general' or the like: is this a Matrix Market file?
  [ 4/24] b omp:ell_blocks --grid=2x1 ok T
  [ 5/24] b omp:csr_rows ok T
  [ 6/24] b omp:ell_blocks --grid=1x1 ok T
  [ 7/24] gen:poisson2d:20 omp:ell_blocks --grid=2x1 ok T
  [ 8/24] gen:poisson2d:20 omp:csr_rows ok T
  [ 9/24] gen:poisson2d:20 omp:ell_blocks --grid=1x1 ok T
  [ 12/24] gone failed: gone.mtx: No such file or directory ('spmv get gone' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  [ 15/24] a failed: a.mtx:1: found 'junk', expected '%%MatrixMarket matrix coordinate real general' or the like: is this a Matrix Market file?
  [ 16/24] b omp:ell_blocks --grid=1x1 ok T
  [ 17/24] b omp:ell_blocks --grid=2x1 ok T
  [ 18/24] b omp:csr_rows ok T
  [ 19/24] gen:poisson2d:20 omp:ell_blocks --grid=1x1 ok T
  [ 20/24] gen:poisson2d:20 omp:ell_blocks --grid=2x1 ok T
  [ 21/24] gen:poisson2d:20 omp:csr_rows ok T
  [ 24/24] gone failed: gone.mtx: No such file or directory ('spmv get gone' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  $ sed -n '/ reused/,$p' err
  12 ok, 0 skipped, 0 wrong, 12 failed, 0 reused. x.jsonl (+24)
  second: how many times as long it takes; =: tied with the fastest; !: disturbed; ~: not settled; of such times a range
  next:
      spmv table x.jsonl --mean   # -o table.tex: for a paper
      spmv report x.jsonl -o report.html   # charts
  $ $SPMV sweep here/list $options --passes=3 $quick $log --resume 2>err >summary
  [3]
  $ grep ' reused' err
  6 ok, 0 skipped, 0 wrong, 6 failed, 24 reused (12 of them wrong or failed; --retry repeats the failed ones). x.jsonl (+12)
  $ $SPMV sweep here/list $options --passes=3 $quick $log --resume 2>err >summary
  [3]
  $ grep ' reused' err
  0 ok, 0 skipped, 0 wrong, 0 failed, 36 reused (18 of them wrong or failed; --retry repeats the failed ones). x.jsonl (+0)
  $ $SPMV sweep here/list $options --passes=4 $quick --log y.jsonl --resume --dry-run | head -n 1
  plan: 4 matrices x 3 configurations x 4 passes = 48 runs, about 0 s, peak memory about 25.2 MB, 0 already in the log
  $ cp x.jsonl y.jsonl
  $ $SPMV sweep here/list $options --passes=4 $quick --log y.jsonl --resume --dry-run | head -n 1
  plan: 4 matrices x 3 configurations x 4 passes = 48 runs, about 0 s, peak memory about 25.2 MB, 36 already in the log
  $ cmp x.jsonl y.jsonl
# Odd files.
  $ mkdir odd odd/folder.mtx && ln -s nowhere odd/link.mtx && cp "$DATA/coordinate_real_symmetric.mtx" odd/good.mtx
  $ $SPMV sweep odd -k omp:csr1 $quick --no-log 2>&1 >summary | mask
  note: odd/folder.mtx is not a file and is left out
  plan: 2 matrices x 1 configuration x 1 pass = 2 runs, about 0 s, peak memory about 25.2 MB
  [ 1/2] good omp:csr_rows ok T
  [ 2/2] link omp:csr_rows failed: link.mtx: No such file or directory ('spmv get link' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  1 ok, 0 skipped, 0 wrong, 1 failed, 0 reused
  !: disturbed; ~: not settled
# Wrong runs.
  $ $SPMV sweep here/gone $options
  ! spmv: here/gone: No such file or directory
  [66]
  $ printf 'here/folder/b.mtx\ngone.mtx\n' >here/elsewhere # written for the folder above
  $ $SPMV sweep here/elsewhere $options
  ! spmv: here/elsewhere: none of its files is there; a path in a list is seen from the list's folder
  [66]
  $ $SPMV sweep
  ! spmv: sweep: name a folder, a list of matrices or gen:, such as 'spmv sweep matrices/'
  [64]
  $ mkdir empty && $SPMV sweep empty
  ! spmv: empty: no matrix in that folder (.mtx, .mtx.gz .xz .zst .bz2, .tar.gz); folders in it are not searched
  [66]
  $ $SPMV sweep gen:poisson2d:9 -o x
  ! spmv: sweep does not take --output: results go to the log; 'spmv table' and 'spmv report' show them
  [64]
  $ $SPMV sweep gen:poisson2d:9 --resume --no-log
  ! spmv: sweep does not take --resume and --no-log: results go to the log; 'spmv table' and 'spmv report' show them
  [64]
  $ $SPMV run -m gen:poisson2d:9 --passes=2
  ! spmv: --passes applies to 'spmv sweep' only
  [64]
  $ $SPMV sweep gen:poisson2d:9,gen:mesh:9
  ! spmv: gen:poisson2d:9,gen:mesh:9: no such matrix; blanks, not commas, separate matrices
  [66]
  $ $SPMV sweep here/folder/b.mtx,x
  ! spmv: here/folder/b.mtx,x: no such matrix; blanks, not commas, separate matrices
  [66]
  $ $SPMV sweep here/folder/b.mtx here/folder/b.mtx -k omp:csr1 $quick --no-log 2>&1 >summary | mask
  note: here/folder/b.mtx is named twice and measured once; --passes=N measures again
  plan: 1 matrix x 1 configuration x 1 pass = 1 run, about 0 s, peak memory about 25.2 MB
  [ 1/1] b omp:csr_rows ok T
  1 ok, 0 skipped, 0 wrong, 0 failed, 0 reused
  !: disturbed; ~: not settled
