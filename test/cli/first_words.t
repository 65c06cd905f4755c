# Tries what a newcomer types: a file alone, a folder, a command's help, a misspelt word, a wrong value in the
# environment. omp only
  $ unset COLUMNS
  $ printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n' >a.mtx
  $ mkdir dir
  $ quick="$quick -k omp:csr1 --format=csv -q"
  $ $SPMV a.mtx $quick | columns "matrix.name status"
  matrix.name status
  a ok
  $ $SPMV run $quick a.mtx gen:diagonal:3 | columns "matrix.name status" | grep -v name
  a ok
  gen:diagonal:3 ok
  $ SPMV_MATRIX=gen:diagonal:5 $SPMV $quick a.mtx | columns "matrix.name status" # the word is stronger
  matrix.name status
  a ok
  $ $SPMV gen:diagonal:3 $quick | columns "matrix.name status" | grep -v name
  gen:diagonal:3 ok
  $ $SPMV info a.mtx | grep '^  matrix.name '
    matrix.name                a                of the file, or of gen:
  $ $SPMV -m dir
  ! spmv: dir is a folder: 'spmv sweep dir' runs every matrix in it
  [64]
  $ $SPMV dir
  ! spmv: dir is a folder: 'spmv sweep dir' runs every matrix in it
  [64]
  $ $SPMV info dir
  ! spmv: dir is a folder: info takes the files in it
  [64]
  $ $SPMV thermal2.mtx -q --no-log
  ! spmv: thermal2.mtx: No such file or directory ('spmv get thermal2' downloads it, if the SuiteSparse Matrix Collection has it; 'spmv list matrices' names built-in ones)
  [66]

# Help of a command names what that command takes, and no more.
  $ options() { "$SPMV" "$@" | grep -oE -e '--[a-z-]+' | sort -u | tr '\n' ' '; echo; }
  $ options help list
  --backend --color --format --help --kernel --quiet --verbose --version 
  $ options doctor --help
  --backend --color --device --format --help --log --no-log --output --probe --quiet --threads --verbose --version 
  $ options help sweep | grep -c -- '--retry.*--timeout'
  1
  $ options help run | grep -c -- '--retry'
  0
  [1]
  $ $SPMV info -h | sed -n 1,2p
  Usage: spmv info [OPTION...] FILE.mtx|gen:NAME:ARGS ...
  Print facts about matrices, and their size in every format.
  $ for command in run sweep list info doctor get table report compare; do
  >     "$SPMV" help $command >one; "$SPMV" $command --help >two; cmp one two
  > done
  $ $SPMV help >one; $SPMV --help >two; cmp one two
  $ $SPMV --help | sed -n '/^Commands/,/^Options/p' | awk '/^  [a-z]/ {print $1}' | tr '\n' ' '; echo
  run sweep list info doctor get table report plot compare 
  $ for command in "" run sweep list info probe doctor; do $SPMV help $command | grep -n ' $'; done # no line ends in blanks
  [1]
  $ for command in "" doctor; do $SPMV help $command | sed -n 1,2p; done
  Usage: spmv [COMMAND] [OPTION...] [FILE.mtx ...]
  Multiply a sparse matrix by a vector with every chosen kernel; check, time and
  Usage: spmv doctor [OPTION...]
  What makes times here slow or noisy; --probe measures limits.
  $ $SPMV help doctor | grep '^How to multiply'
  How to multiply; lists A,B,C and ranges FROM:TO:STEP try every combination:
  $ $SPMV help help | cmp - one
  $ $SPMV help nonsense
  ! spmv: unknown command 'nonsense'; the commands are run sweep list info doctor get table report plot compare help. 'spmv --help' describes them; -m names a matrix
  [64]
  $ for words in "--help" "help list" "-V" "help kernels" "list"; do $SPMV $words >/dev/full; echo "exit $?"; done
  exit 73
  exit 73
  exit 73
  exit 73
  exit 73
  ! spmv: cannot write to stdout
  ! spmv: cannot write to stdout
  ! spmv: cannot write to stdout
  ! spmv: cannot write to stdout
  ! spmv: cannot write to stdout

# The nearest word is suggested.
  $ $SPMV lst
  ! spmv: unknown command 'lst': did you mean 'list'? The commands are run sweep list info doctor get table report plot compare help. 'spmv --help' describes them; -m names a matrix
  [64]
  $ $SPMV a.mtx --kernal csr1
  ! spmv: unknown option '--kernal': did you mean '--kernel'? 'spmv help options' lists them
  [64]
  $ $SPMV a.mtx --kernal=csr1
  ! spmv: unknown option '--kernal=csr1': did you mean '--kernel'? 'spmv help options' lists them
  [64]
  $ $SPMV -v -zq
  ! spmv: unknown option '-zq'; 'spmv help options' lists them
  [64]
  $ $SPMV --formt csv a.mtx
  ! spmv: unknown option '--formt': did you mean '--format'? 'spmv help options' lists them
  [64]
  $ $SPMV a.mtx --quiet=yes -v
  ! spmv: option '--quiet=yes' takes no value
  [64]
  $ $SPMV -k csr1 list
  ! spmv: 'list' comes first: 'spmv list', then the options
  [64]
  $ $SPMV info --cahce=cold a.mtx
  ! spmv: unknown option '--cahce=cold': did you mean '--cache'? 'spmv help info' lists those it takes
  [64]
  $ $SPMV info --cache=cold a.mtx
  ! spmv: info does not take --cache; 'spmv help info' lists what it takes
  [64]
  $ $SPMV --dry-run a.mtx
  ! spmv: --dry-run applies to 'spmv sweep' only
  [64]

# A user who typed nothing wrong learns which variable did it. What a command does not take is no error there.
  $ SPMV_MAX_MEM=lots $SPMV a.mtx
  ! spmv: SPMV_MAX_MEM in the environment: --max-mem: 'lots' is not a size such as 4G or 512M
  [64]
  $ SPMV_KERNEL=crs1 SPMV_SEED=3 $SPMV a.mtx -q --no-log
  ! spmv: no kernel 'crs1': did you mean 'csr1'? ('spmv list' shows what there is)
  !   from the environment: SPMV_SEED=3, SPMV_KERNEL=crs1
  [64]
  $ SPMV_KERNEL=crs1 $SPMV a.mtx -q --no-log -k csr9
  ! spmv: no kernel 'csr9': did you mean 'csr0', 'csr1', 'csr2' or 'csr3'? ('spmv list' shows what there is)
  [64]
  $ SPMV_NO_LOG=1 $SPMV b.mtx -q
  ! spmv: b.mtx: No such file or directory. Did you mean a.mtx?
  !   from the environment: SPMV_NO_LOG
  [66]
  $ SPMV_QUIET= $SPMV a.mtx --no-log # is no yes
  ! spmv: SPMV_QUIET in the environment: --quiet: the value is empty
  [64]
  $ SPMV_DRY_RUN=1 $SPMV a.mtx $quick | columns "status"
  status
  ok

# -k chooses the formats that info builds.
  $ $SPMV info gen:mesh:100 -k 'csr1,ell*,sell_slices' | sed -n '/^  format/,$p' | awk '{print $1}' | tr '\n' ' '; echo
  format csr ell sell 
  $ $SPMV info gen:mesh:100 -k auto | grep -c -E '^  (cmrs|bsr|hyb) '
  3
  $ $SPMV info gen:mesh:100 | grep -c -E '^  (cmrs|bsr|hyb) '
  3
  $ $SPMV info gen:mesh:100 -k crs1
  ! spmv: no kernel 'crs1': did you mean 'csr1'? ('spmv list' shows what there is)
  [64]
  $ $SPMV info gen:mesh:100 -k cuda:nosuch 2>&1 | grep -c cuda
  1
