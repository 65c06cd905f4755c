# Wrong words: one line on stderr that says what to do, exit 64.
  $ $SPMV -k crs1
  ! spmv: no kernel 'crs1': did you mean 'csr1'? ('spmv list' shows what there is)
  [64]
  $ $SPMV -k csr_
  ! spmv: no kernel 'csr_': did you mean 'csr_serial', 'csr_rows', 'csr_blocks' or 'csr_tiles'? ('spmv list' shows what there is)
  [64]
  $ $SPMV -k omp:csr_row
  ! spmv: no kernel 'csr_row' on omp: did you mean 'csr_rows'? ('spmv list' shows what there is)
  [64]
  $ $SPMV -k gpu:csr1
  ! spmv: no backend 'gpu' in 'gpu:csr1': it is omp or cuda
  [64]
  $ $SPMV -g 10 2>&1 | head -n 1
  spmv: --grid: '10' is not ROWSxCOLS, such as 10x4, or auto
  $ $SPMV -g 0x4 2>&1 | head -n 1
  spmv: --grid: '0' is not a whole number from 1 to 1048576
  $ $SPMV -b 33x8 2>&1 | head -n 1
  spmv: --block: '33x8': two-dimensional blocks are 32xR, a warp for each of R rows
  $ $SPMV -t 2000 2>&1 | head -n 1
  spmv: --threads: '2000' is not a whole number from 1 to 1024
  $ $SPMV -k omp:csr1 -b 128
  ! spmv: --block belongs to kernels of CUDA, which is not built in: make cuda
  [64]
  $ $SPMV -k omp:csr1 -g 4x4
  ! spmv: --grid applies to none of the chosen kernels; 'spmv list -v -k NAME' shows what one takes
  [64]
  $ $SPMV --rowlens=maybe 2>&1 | head -n 1
  spmv: --rowlens: 'maybe' is not one of off, on
  $ $SPMV --sigma=some 2>&1 | head -n 1
  spmv: --sigma: 'some' is neither all nor a whole number above 0
  $ $SPMV --hubs=-5 2>&1 | head -n 1
  spmv: --hubs: '-5' is neither auto nor a whole number above 0
  $ $SPMV gen:poisson2d:3 -k omp:cmrs_strips --height=3000000000 --no-log -q 2>&1 | head -n 1
  spmv: --height: '3000000000' is invalid; cmrs_strips takes 1 to 16, a power of 2
  $ $SPMV --block=2000 2>&1 | head -n 1
  spmv: --block: '2000' is not a whole number from 1 to 1024, 32xR or auto
  $ $SPMV --boundary=-1 2>&1 | head -n 1
  spmv: --boundary: '-1' is neither auto nor a whole number above -1
  $ $SPMV -p f16 2>&1 | head -n 1
  spmv: --precision: 'f16': double precision is f64, single precision f32; there is no other
  $ $SPMV --max-mem=lots 2>&1 | head -n 1
  spmv: --max-mem: 'lots' is not a size such as 4G or 512M
  $ $SPMV frobnicate
  ! spmv: unknown command 'frobnicate'; the commands are run sweep list info doctor get table report plot compare help. 'spmv --help' describes them; -m names a matrix
  [64]
  $ $SPMV matrix.mtx -q --no-log
  ! spmv: matrix.mtx: No such file or directory ('spmv get matrix' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  [66]
  $ $SPMV list nonsense
  ! spmv: list: unknown topic 'nonsense'; the topics are kernels, formats, matrices, twins
  [64]
  $ $SPMV -m gen:poisson4d:10 -k omp:csr1 --no-log -q
  ! spmv: gen:poisson4d:10: no generator 'poisson4d': did you mean 'poisson2d'? Otherwise there are poisson2d, poisson3d, box27, fem3d, mesh, road, random, rmat, powerlaw, banded, giantrow, ci, dense, shuffled, splines, permutation, diagonal, twin
  [64]
  $ $SPMV -m gen:poisson3d:ten -k omp:csr1 --no-log -q
  ! spmv: gen:poisson3d:ten: 'ten' is not a size; usage: gen:poisson3d:N or N1xN2xN3
  [64]
  $ $SPMV -m gen:poisson2d:10 --values=odd -k omp:csr1 --no-log -q
  ! spmv: gen:poisson2d:10: no values 'odd'; there are random, symmetric, few:K (K from 1 to 65536), pattern
  [64]
  $ $SPMV --foo
  ! spmv: unknown option '--foo'; 'spmv help options' lists them
  [64]
  $ $SPMV -k
  ! spmv: option '-k' requires a value
  [64]
  $ $SPMV -m gen:poisson2d:3 --bar=3
  ! spmv: unknown option '--bar=3'; 'spmv help options' lists them
  [64]
  $ $SPMV --kernel
  ! spmv: option '--kernel' requires a value
  [64]
  $ $SPMV -qk
  ! spmv: option '-qk' requires a value
  [64]
  $ $SPMV -qz
  ! spmv: unknown option '-qz'; 'spmv help options' lists them
  [64]
  $ $SPMV --quiet=yes
  ! spmv: option '--quiet=yes' takes no value
  [64]
  $ $SPMV --log=
  ! spmv: --log: the value is empty
  [64]
  $ $SPMV --chunk=9:1
  ! spmv: --chunk: '9:1' is an empty range
  [64]
  $ $SPMV --min-time=inf
  ! spmv: --min-time: 'inf' is not a time such as 0.5, 20ms, 30s, 1m or 1h
  [64]
  $ $SPMV probe -k csr1
  ! spmv: doctor does not take --kernel; 'spmv help doctor' lists what it takes
  [64]
  $ $SPMV doctor --min-time=5
  ! spmv: doctor does not take --min-time; 'spmv help doctor' lists what it takes
  [64]
  $ $SPMV list -n 3
  ! spmv: list does not take --samples; 'spmv help list' lists what it takes
  [64]
  $ $SPMV sweep gen:nosuch:5 --dry-run
  ! spmv: gen:nosuch:5: no generator 'nosuch'; there are poisson2d, poisson3d, box27, fem3d, mesh, road, random, rmat, powerlaw, banded, giantrow, ci, dense, shuffled, splines, permutation, diagonal, twin
  [64]
  $ $SPMV -k omp:sell_slices --slice=1025
  ! spmv: --slice: '1025' is invalid; sell_slices takes 1 to 1024
  [64]
  $ $SPMV -k omp:csr1,omp:sell_slices --slice=0
  ! spmv: --slice: '0' is invalid; sell_slices takes 1 to 1024
  [64]
  $ $SPMV -k omp:cmrs_strips --height=3
  ! spmv: --height: '3' is invalid; cmrs_strips takes 1 to 16, a power of 2
  [64]
  $ $SPMV -k 'omp:cmrs*' --tile=64
  ! spmv: --tile applies to none of the chosen kernels; 'spmv list -v -k NAME' shows what one takes
  [64]
  $ $SPMV -k omp:sell_slices -m gen:poisson2d:3 --slice=32,1025 # a list is taken whole or refused
  ! spmv: --slice: '1025' is invalid; sell_slices takes 1 to 1024
  [64]
  $ $SPMV -k omp:cmrs_strips,omp:sell_slices -m gen:poisson2d:3 --height=1,3
  ! spmv: --height: '3' is invalid; cmrs_strips takes 1 to 16, a power of 2
  [64]
