# A record a row, appended; the folder is made; paths in argv lose their folders; numbers have nine digits.
# needs jansson
  $ mkdir here
  $ printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n' >here/a.mtx
  $ for pass in 1 2; do
  >     $SPMV -m here/a.mtx -k omp:csr1,omp:csr0 --log logs/ --tag pass=$pass --min-time=0 --max-time=0 -q >/dev/null
  > done
  $ ls logs | wc -l
  1
  $ cat logs/*.jsonl >one.txt
  $ ${PYTHON:-python3} - <<'END'
  > import json
  > for line in open("one.txt"):
  >     r = json.loads(line)
  >     print(r["schema"], r["status"], r["matrix"]["name"], r["config"]["kernel"], r["tags"], r["argv"][1:3],
  >           len(r["timing"]["samples_s"]) >= 10, r["check"]["status"], r["gpu"]["name"])
  > END
  spmv-run/1 ok a csr_rows {'pass': '1'} ['-m', 'a.mtx'] True ok None
  spmv-run/1 ok a csr_serial {'pass': '1'} ['-m', 'a.mtx'] True ok None
  spmv-run/1 ok a csr_rows {'pass': '2'} ['-m', 'a.mtx'] True ok None
  spmv-run/1 ok a csr_serial {'pass': '2'} ['-m', 'a.mtx'] True ok None
  $ cp here/a.mtx "$(printf 'here/\377.mtx')"
  $ $SPMV -m "$(printf 'here/\377.mtx')" -k omp:csr1 --log odd.jsonl --tag "$(printf 'k\377=v')" --alpha=0.123456789 --min-time=0 --max-time=0 -q >/dev/null
  $ ${PYTHON:-python3} -c 'import json
  > r = json.loads(open("odd.jsonl").read())
  > print(r["matrix"]["name"], r["matrix"]["source"], r["tags"], r["argv"][2], r["config"]["alpha"])'
  \xFF \xFF.mtx {'k\\xFF': 'v'} \xFF.mtx 0.123456789
