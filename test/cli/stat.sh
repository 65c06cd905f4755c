# --stat adds a column beside the median, also where others go; csv and jsonl have every statistic anyway.
. "$CLI/common"
once="-m gen:mesh:100 -k omp:csr1 $quick -q"
heads() { head -n 1 | sed -E 's/ +/ /g'; }
for word in median min max mean; do $SPMV $once --stat=$word | heads; done
COLUMNS=60 $SPMV $once --stat=min | heads | grep -o 'median min'
for word in median min; do $SPMV $once --stat=$word --format=csv | head -n 1 | cksum; done | sort -u | wc -l
$SPMV $once --stat=least; echo "exit $?"
$SPMV sweep gen:mesh:100 -k omp:csr1 --stat=min --no-log; echo "exit $?"
