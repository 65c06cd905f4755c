#!/usr/bin/env python3
"""seeds.py NAME FOLDER: writes the inputs that a target of libFuzzer begins with."""
import bz2
import glob
import gzip
import io
import lzma
import os
import sys
import tarfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(path, "rb") as file:
        return file.read()


def zst(text):
    """A frame of one block as it is, without a checksum."""
    size = len(text) << 3 | 1
    return b"\x28\xb5\x2f\xfd\x60" + (len(text) - 256).to_bytes(2, "little") + size.to_bytes(3, "little") + text


def tar(text):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name in ("a/readme.txt", "a/a.mtx"):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    return file.getvalue()


def matrices(pattern="*"):
    return [read(path) for path in sorted(glob.glob(os.path.join(ROOT, "test/data", pattern + ".mtx")))]


LONG = b"%%MatrixMarket matrix coordinate real general\n" + b"% comment\n" * 25 + b"2 2 2\n1 1 1.5\n2 2 -3e-2\n"
WISDOM = (b"\x012026-11-28T10:00:00Z\trequest\tmachine\tbuild\tcsr_rows schedule=1 threads=2\tfastest\n"
          b"2026-11-28T10:00:00Z\tother\tmachine\tbuild\tcsr_rows\tfastest\n")
OPTIONS = (b"run\n-m\ngen:poisson2d:9\n-k\nall\n--vectors=1,2,4:8:2\n--layout=rows,columns\n-p\nf64,f32",
           b"info\n-m\na.mtx\n--format=json\n--cells", b"tune\n-k\nell_rows\n--block=32,64:256:64\n--max-mem=4G",
           b"sweep\nfolder\n--resume\n--timeout=3\n--tag\na=b", b"--alpha=2\n--beta=-1e3\n--cache=cold,steady\n--max-noise=2%")
RECORD = b'{"schema":"spmv-run/1","status":"ok","matrix":{"name":"m","nnz":9},"config":{"backend":"omp","kernel":"csr_rows"},' \
         b'"timing":{"median_s":1e-5,"q1_s":9e-6,"q3_s":2e-5,"settled":true},"perf":{"flop":18}}\n'
ARRAYS = (bytes(range(1, 120)), bytes(64), b"\x00\x01\x06\x06\x14" + bytes([1, 2] * 40), b"\x28\x41\x05\x05\x10" + bytes([33, 17] * 40))

SEEDS = {
    "reader": matrices, "vector": lambda: matrices("array*") + [bytes(32)],
    "gz": lambda: [gzip.compress(LONG), gzip.compress(LONG[:100]) + gzip.compress(LONG[100:])],
    "xz": lambda: [lzma.compress(LONG, preset=0)], "bz2": lambda: [bz2.compress(LONG, 1)], "zst": lambda: [zst(LONG)], "tar": lambda: [tar(LONG)],
    "wisdom": lambda: [WISDOM, b"\x00" + WISDOM[1:]], "options": lambda: OPTIONS, "arrays": lambda: ARRAYS,
    "logs": lambda: [RECORD, RECORD * 2, read(os.path.join(ROOT, "test/data/published.log"))[:1500]],
}


if __name__ == "__main__":
    for number, seed in enumerate(SEEDS[sys.argv[1]]()):
        with open(os.path.join(sys.argv[2], f"seed-{number}"), "wb") as file:
            file.write(seed)
