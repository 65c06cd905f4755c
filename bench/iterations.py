"""What an iteration of a solver takes beside its products on this CPU: make bench-iterations.

Builds docs/examples/cg.c and bicgstab.c and runs them on a matrix of 2 x 2 blocks whose vectors take four times the last
cache each. Beside that stands the time of the bytes that the loops read and write, a vector once for each loop, at the rate
of a triad that `spmv probe` measures between the runs. The least of ROUNDS runs; more than BAR times as long is a miss, and
exit status 1."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAM = pathlib.Path(os.environ.get("SPMV", ROOT / "build/omp/spmv"))
ROUNDS, BAR = 5, 1.15
# Vectors that the loops of an iteration read, and write: r, q, inverse, r; x, p, r, inverse, x, p of conjugate gradients.
VECTORS = {"cg": 10, "bicgstab": 19}


def last_cache():
    sizes = [path.read_text().strip() for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(size[:-1]) * 1024 for size in sizes if size.endswith("K")), default=32 << 20)


def triad(folder):
    """Bytes per second, counted as three streams."""
    subprocess.run([PROGRAM, "probe", f"--probe={folder}", "--no-log", "-q"], check=True, capture_output=True)
    text = "".join(path.read_text() for path in pathlib.Path(folder).glob("probe-omp-*"))
    return max(float(rate) for rate in re.findall(r"^triad (\S+)", text, re.MULTILINE))


def main():
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        rows = 4 * last_cache() // 8
        matrix = pathlib.Path(folder, "pairs.mtx")
        with open(matrix, "w") as file:  # 2 x 2 blocks of 20 kinds: some tens of iterations
            file.write(f"%%MatrixMarket matrix coordinate real symmetric\n{rows} {rows} {rows + rows // 2}\n")
            file.flush()
            lines = "print i, i, 1; print i + 1, i + 1, 1; print i + 1, i, i % 40 / 41"
            subprocess.run(["awk", f"BEGIN {{for (i = 1; i < {rows}; i += 2) {{{lines}}}}}"], stdout=file, check=True)
        for name in VECTORS:
            subprocess.run([os.environ.get("CC", "gcc"), "-O3", "-march=native", "-fopenmp", f"-I{ROOT}/include",
                            ROOT / f"docs/examples/{name}.c", f"-L{PROGRAM.parent}", f"-Wl,-rpath,{PROGRAM.parent.resolve()}",
                            "-lspmv", "-lm", "-o", pathlib.Path(folder, name)], check=True)
        least, rate = dict.fromkeys(VECTORS, float("inf")), 0.0
        for _ in range(ROUNDS):
            rate = max(rate, triad(folder))
            for name in VECTORS:
                said = subprocess.run([pathlib.Path(folder, name), matrix], check=True, capture_output=True, text=True).stdout
                least[name] = min(least[name], float(re.search(r"([\d.]+) of them beside", said)[1]))
        print(f"{rows} rows, a triad moves {rate / 1e9:.1f} GB/s")
        for name, count in VECTORS.items():
            of_bytes = count * rows * 8 / rate * 1e6
            print(f"{name:<9} {least[name]:9.0f} us an iteration beside the products, its bytes {of_bytes:9.0f} us: {least[name] / of_bytes:.2f}")
            missed |= least[name] > BAR * of_bytes
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
