# A record a row, appended; the folder is made; paths in argv lose their folders; numbers have nine digits.
. "$CLI/common"
if ! $SPMV -V -v | grep -q '^features.*jansson'; then # the bare build says what to install
    $SPMV -m gen:poisson2d:9 -k omp:csr1 -q --log logs --min-time=0 2>&1 >/dev/null | grep -q libjansson-dev || exit 1
    cat "$CLI/log.out"
    exit 0
fi
mkdir here
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n' >here/a.mtx
for pass in 1 2; do
    $SPMV -m here/a.mtx -k omp:csr1,omp:csr0 --log logs/ --tag pass=$pass --min-time=0 --max-time=0 -q >/dev/null || exit
done
ls logs | wc -l
cat logs/*.jsonl >one.txt
${PYTHON:-python3} - <<'END'
import json
for line in open("one.txt"):
    r = json.loads(line)
    print(r["schema"], r["status"], r["matrix"]["name"], r["config"]["kernel"], r["tags"], r["argv"][1:3],
          len(r["timing"]["samples_s"]) >= 10, r["check"]["status"], r["gpu"]["name"])
END
cp here/a.mtx "$(printf 'here/\377.mtx')"
$SPMV -m "$(printf 'here/\377.mtx')" -k omp:csr1 --log odd.jsonl --tag "$(printf 'k\377=v')" --alpha=0.123456789 --min-time=0 --max-time=0 -q >/dev/null || exit
${PYTHON:-python3} -c 'import json
r = json.loads(open("odd.jsonl").read())
print(r["matrix"]["name"], r["matrix"]["source"], r["tags"], r["argv"][2], r["config"]["alpha"])'
