# Help, lists, facts and findings are no wider than 80 columns; the table of a run fits where it is
# shown: columns go by importance, the last are cut; -v and a file have them all.
# omp only
  $ unset COLUMNS
  $ wide() { awk -v what="$1" 'length > 80 && !/^ *type: / {print what ": " $0}'; }
  $ for words in --help "help options" "help kernels" "help run" "help sweep" "help info" "help doctor" "help list"; do
  >     $SPMV $words | wide "$words"
  > done
  $ for words in list "list kernels -v" "list formats" "list matrices" "list twins" doctor "info gen:mesh:1000 -p f32" "info gen:giantrow:12000:12000"; do
  >     $SPMV $words | wide "$words"
  > done
  $ COLUMNS=50 $SPMV list formats | awk 'length > 50'
  $ $SPMV doctor --probe=none | grep -A 1 '^  probe'
    probe       note     not measured for the CPU with these threads
        why:  runs cannot report how close they come to the machine's limits
  $ $SPMV list formats | sed -n '/^  csb /,/^  spc5/p'
    csb             square blocks in a grid, 16-bit rows and columns inside a
                    block
    spc5            blocks of 1, 2 or 4 rows x 8 columns: a column, a byte of mask

  $ run() { $SPMV gen:giantrow:12000:12000 -k csr_serial,ell_rows,sell_slices,cmrs_strips --slice=32,64 $quick -q "$@"; }
  $ heads() { grep -m 1 kernel | tr -s ' '; }
  $ run >file; heads <file; grep -c 'not shown' file
   kernel config prep median +/- GFLOP/s GB/s MB padding check
  0
  [1]
  $ COLUMNS=80 run >file; wide "run" <file; grep -c 'not shown' file; sed -n '/skipped/,/ if it fits/p' file | sed 's/ell_rows[ (el0)-]*skipped/ell_rows skipped/'
  0
    ell_rows skipped
      ell_rows: 1728 MB, 2769 times what csr takes: most of it is padding (longest
      row 12000, mean 4.0); --max-mem=SIZE builds it if it fits
  $ COLUMNS=40 run >file; heads <file; tail -n 1 file
   kernel config median check
    not shown: prep, +/-, GFLOP/s (-v)
  $ COLUMNS=40 run -v >file; heads <file
   kernel config prep median +/- GFLOP/s GB/s MB padding check
  !   note: what does not fit beside the
  !     others, 1 of 5, is tried by itself

# What is cut short begins with what tells rows of one kernel apart; the end of a sweep fits, too.
  $ COLUMNS=60 run -k sell_slices --slice=64 --sigma=1,64 --schedule=dynamic | awk '/sell_slices/ {sub("[*=] ", ""); print $2}'
  sigma=1
  sigma=64
  $ COLUMNS=60 $SPMV sweep gen:giantrow:3000:30 gen:poisson2d:9 -k auto,csr_serial,sell_slices --slice=64 --sigma=64 $quick -q |
  >     awk 'length > 60; /^gen:/ {n++} END {print n " matrices"}'
  2 matrices
  $ COLUMNS=80 $SPMV sweep gen:giantrow:3000:30 gen:poisson2d:9 -k auto,csr_serial,sell_slices --slice=32,64 --sigma=64 --schedule=dynamic $quick 2>&1 |
  >     sed 's/µ/u/' | awk 'length > 80; /^gen:/ || /^\[/ {n++} /^ *(--|=)/ || / [un]?s$/ && !/^\[/ {print "goes on: " $0} END {print n " rows in a line each"}'
  10 rows in a line each
# Tables of several matrices have their names, where nothing else is said.
  $ COLUMNS=80 $SPMV gen:poisson2d:9 gen:diagonal:9 -k csr_serial $quick -q | cut -c 1-16
  gen:poisson2d:9
    kernel        
    csr_serial (cs
  gen:diagonal:9
    kernel        
    csr_serial (cs

# What is said breaks at blanks where the terminal ends, a command to type with a backslash; on a pipe nothing does.
  $ say() { $SPMV -m no_such_matrix.mtx $quick 2>&1; $SPMV -m gen:poisson2d:40 -k omp:csr1,omp:csr_serial $quick 2>&1 >/dev/null; }
  $ COLUMNS=60 say | awk 'length > 60'
  $ COLUMNS=40 $SPMV -m gen:poisson2d:40 -k omp:csb_interleaved_blocks --tile=512,1024 --codes=on,off --progress=on $quick --max-time=6 --max-noise=100% 2>&1 >/dev/null |
  >     tr '\r' '\n' | sed 's/\x1b\[K//g; s/µ/u/' | awk 'length > 40; /^    --tile=[0-9]+  [0-9]/ {n++} END {print n " rows named in full"}'
  4 rows named in full
  $ say | grep -c 'if the SuiteSparse Matrix Collection has it'
  1
  $ COLUMNS=60 $SPMV table no_such_log_with_a_long_name no_such_log_with_another_long_name
  ! no_such_log_with_a_long_name: No such file or directory
  ! no_such_log_with_another_long_name: No such file or
  !   directory
  ! spmv table: no_such_log_with_a_long_name,
  !   no_such_log_with_another_long_name: no log could be opened
  [66]

# Hints name the program as it was typed.
  $ ln -s $SPMV spmv
  $ ./spmv nonsense 2>&1 | grep -o "'[./]*spmv --help'"
  './spmv --help'
  $ mkdir log; ./spmv table 2>&1 | grep -o "'[./]*spmv sweep"; rmdir log
  './spmv sweep
  $ cd /; $SPMV nonsense 2>&1 | grep -o "'[./]*spmv --help'"
  'spmv --help'
