# Lists speak as options do: words where an option takes words; what belongs together stands in columns.
  $ $SPMV list -k everything -v | sed -n '/^omp/,/^cuda/p' | grep -A 3 '^  csr_rows ' | grep '^        --'
          --schedule  auto|static|dynamic|guided, default auto: OpenMP schedule; auto: OMP_SCHEDULE, else static, for CSB dynamic with chunk 1
          --chunk     0..2147483647, default 0: OpenMP chunk; 0: iterations / (4 threads) for dynamic, the schedule's own otherwise
          --simd      off|on, default off: SIMD reduction in the dot product
  $ $SPMV list -k everything -v | grep -m 1 '^        --isa'
          --isa       auto|portable|avx2|avx512, default auto: vector instructions; auto: the best this CPU has; portable: plain C
  $ $SPMV list -k everything -v | sed -n '/^omp/,/^cuda/p' | grep -A 2 '^  csr_tiles ' | tail -n 2
          --grid      AxB: auto|1..1048576, default auto: row blocks the matrix is cut into; auto: one per thread
                    x 1..4096, default 4: column blocks
  $ $SPMV list | grep -n ' $' # no line ends in blanks
  [1]
  $ $SPMV list -k everything | grep -ow csell_warp | uniq # also where nothing but names is known
  csell_warp
  $ $SPMV list formats | awk '{ at[match($0, /[a-z0-9_]+ +/) + RLENGTH] } END { for (k in at) print "texts begin in column", k }'
  texts begin in column 19
