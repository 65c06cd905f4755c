# Every option of the study, as lists; aliases, globs; precision and offset width.
# omp only
  $ $SPMV -m gen:poisson2d:20 -k 'ell*' --schedule=static,dynamic,guided --chunk=0,16 --simd=on,off --rowlens=on,off -p f64,f32 \
  >     --format=csv $quick -q | columns "check.status" | sort | uniq -c
        1 check.status
      144 ok
  $ $SPMV -m gen:poisson2d:20 -k csr1 --index=64 -p f32 --alpha 2 --beta=-1 --format=csv $quick -q |
  >     columns "config.kernel config.precision config.index_bits config.alpha config.beta status"
  config.kernel config.precision config.index_bits config.alpha config.beta status
  csr_rows f32 64 2 -1 ok
  $ env -u OMP_WAIT_POLICY OMP_PLACES='{0},{1}' $SPMV -m gen:poisson2d:20 -k csr1 --format=csv $quick -q --tag 'note=a, "b"' | columns "tags status omp.env"
  tags status omp.env
  note=a, "b" ok OMP_PLACES={0},{1}
  $ $SPMV -m gen:poisson2d:20 -k cmrs_strips --sorted=off,on $quick -q | grep -o 'sorted=[^ ]*' | sort # as typed
  sorted=off
  sorted=on
  $ for name in dia omp:dia 'di*'; do $SPMV -m gen:poisson2d:20 -k "$name" --format=csv $quick -q | columns "config.backend config.kernel status"; done # a format's short name
  config.backend config.kernel status
  omp dia_rows ok
  config.backend config.kernel status
  omp dia_rows ok
  config.backend config.kernel status
  omp dia_rows ok
# That values are stored in fewer bytes is said, in words that no option takes.
  $ for values in random few:8 pattern; do
  >     $SPMV -m gen:poisson2d:20 --values=$values -k 'omp:csell_slices,omp:sell16_lanes' --codes=on,off $quick -q | grep -oE '(no-)?codes( dictionary| constant| floats)?' | paste -sd,
  > done
  codes,no-codes,codes,no-codes
  codes dictionary,no-codes,codes dictionary,no-codes
  codes dictionary,no-codes,codes constant,no-codes
  $ $SPMV -m gen:poisson2d:20 --values=few:8 -k 'omp:csb_*' --format=csv $quick -q | columns "config.kernel store.values"
  config.kernel store.values
  csb_blocks 
  csb_interleaved_blocks dictionary
# A chunk goes with the kind of schedule that the environment names.
  $ for chunk in 0 8; do OMP_SCHEDULE=dynamic,64 $SPMV -m gen:poisson2d:20 -k csr1 --chunk=$chunk --format=csv $quick -q | columns "config.schedule config.chunk" | tail -1; done
  dynamic,64 0
  dynamic 8
