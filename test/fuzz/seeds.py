#!/usr/bin/env python3
"""seeds.py NAME FOLDER: writes the inputs that a target of libFuzzer begins with."""
import bz2
import glob
import gzip
import io
import json
import lzma
import os
import struct
import sys
import tarfile
import zipfile
import zlib

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



def npy(array_type, shape, data):
    text = repr({"descr": array_type, "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text + data


def npz(method, **arrays):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in arrays.items():
            archive.writestr(zipfile.ZipInfo(name + ".npy"), data, method)
    return file.getvalue()


def archives():
    parts = {"format": npy("|S3", (), b"csr"), "shape": npy("<i8", (2,), struct.pack("<2q", 2, 3)), "indptr": npy("<i4", (3,), struct.pack("<3i", 0, 1, 2)),
             "indices": npy("<i4", (2,), struct.pack("<2i", 0, 2)), "data": npy("<f8", (2,), struct.pack("<2d", 1.5, 2.5))}
    yield npz(zipfile.ZIP_STORED, **parts)
    yield npz(zipfile.ZIP_DEFLATED, **parts)
    yield npz(zipfile.ZIP_DEFLATED, a=npy("<f8", (2, 2), bytes(32)), b=parts["data"])
    header = json.dumps({"binsparse": DESCRIPTOR})
    yield npz(zipfile.ZIP_DEFLATED, binsparse=npy(f"<U{len(header)}", (), header.encode("utf-32-le")), pointers_to_1=parts["indptr"],
              indices_1=parts["indices"], values=parts["data"])


def petsc(head, lengths=(), columns=(), values=()):
    return struct.pack(f">{len(head)}i{len(lengths)}i{len(columns)}i{len(values)}d", *head, *lengths, *columns, *values)


def mat5():
    def element(kind, data):
        return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)
    body = element(6, struct.pack("<2I", 5, 2)) + element(5, struct.pack("<2i", 2, 3)) + element(1, b"A")
    body += element(5, struct.pack("<2i", 0, 1)) + element(5, struct.pack("<4i", 0, 1, 1, 2)) + element(9, struct.pack("<2d", 1.5, 2.5))
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\0\1IM"
    packed = zlib.compress(element(14, body))
    return [head + element(14, body), head + struct.pack("<II", 15, len(packed)) + packed]


DESCRIPTOR = {"version": "0.1", "format": "CSR", "shape": [2, 3], "number_of_stored_values": 2, "structure": "general",
              "data_types": {"pointers_to_1": "int32", "indices_1": "iso[int32]", "values": "float64"}}
BOEING = ("Title".ljust(80) + "\n             3             1             1             1\n{}                        2             3             2             0\n"
          "(4I5)           (2I5)           (1P,2D12.4)         \n    1    2    2    3\n    1    2\n  1.5000D+00  2.5000-001\n")

def binsparse_files():
    """Descriptors as long as that of the sound file in hdf5_files.h, and the arrays."""
    for form in "CSR", "CSC", "COO", "DVEC":
        header = {"format": form, "shape": [3, 200], "number_of_stored_values": 4, "structure": "general",
                  "data_types": {"pointers_to_1": "int32", "indices_1": "int32", "values": "float64"}}
        yield json.dumps({"binsparse": header}, separators=(",", ":")).ljust(186).encode() + struct.pack("<8i4d", 0, 2, 2, 4, 101, 103, 102, 104, 1, 2, 3, 4)


def matlab_groups():
    """Rows and arrays as long as those of the sound file in hdf5_files.h."""
    for rows in 200, 104:
        yield struct.pack("<9q4d", rows, 0, 2, 2, 4, 101, 103, 102, 104, 1, 2, 3, 4)


def anndata_groups():
    for form in b"csr_matrix", b"csc_matrix":
        yield form + struct.pack("<2q8i4d", 3 if b"csr" in form else 200, 200 if b"csr" in form else 3, 0, 2, 2, 4, 101, 103, 102, 104, 1, 2, 3, 4)


SEEDS = {
    "npz": archives, "npy": lambda: [npy("<f8", (2, 2), bytes(32)), npy(">i4", (3,), bytes(12))], "mat5": mat5,
    "petsc": lambda: [petsc([1211216, 2, 3, 2], [1, 1], [0, 2], [1.5, 2.5]), petsc([1211216, 2, 1, -1], (), (), [1.5, 2.5])],
    "rb": lambda: [BOEING.format(kind).encode() for kind in ("rua", "RSA", "pua", "iza")],
    "json": lambda: [json.dumps({"binsparse": {**DESCRIPTOR, "format": form}}).encode() for form in ("CSR", "COO", "DMAT", "DVEC")],
    "hdf5": binsparse_files, "mat73": matlab_groups, "anndata": anndata_groups,
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
