"""The log of the published program (../shared/papers/spmv-omp-cuda.txt), as records of ours.

Its blocks, tab-separated, one per matrix and configuration:

    #cant.mtx
    SpMV_OMP_test.c  AVG_TIMES_ITERATION:25  sparse matrix: 62451x62451-4007383NNZ-78=MAX_ROW_NZ - grid: 10x4
    omp sched gather:  kind: OMP_SCHED_STATIC  omp chunkSize: 1  monotonic: Y
    @computing SpMV with func:0 OMP CSR at:0x403600
    threadNum: 40  ompGridSize: 10x4  timeAvg:1.76e-03 timeVar:3.07e-08  timeInternalAvg:... timeInternalVar:...
    @computing SpMV with func:1 CUDA CSR at:0x40a1c0
    cudaBlockSize: 32 8 1  cudaGridSize: 7807 1 1  timeAvg:1.36e-04 timeVar:...

The times may also stand at the end of the @computing line. It kept the mean and the variance, no
samples: the mean stands for the median, and mean -+ 0.6745 standard deviations, the quartiles of a
normal distribution, for the quartiles. Its check had faults (digest, section 1), so
check.status is off; host and processor are unknown, so each log is a system of its own.
"""

import math
import os
import re

KERNELS = {
    ("omp", "csr"): ("csr_serial", "csr_rows", "csr_blocks", "csr_tiles", "csr_tiles_copied"),
    ("omp", "ell"): ("ell_rows", "ell_blocks", "ell_tiles"),
    ("cuda", "csr"): ("csr_thread", "csr_warp"),
    ("cuda", "ell"): ("ell_pitched", "ell_thread", "ell_warp"),
}
GRID_KERNELS = ("csr_blocks", "csr_tiles", "csr_tiles_copied", "ell_blocks", "ell_tiles")
SHORTEST_S, LONGEST_S = 1e-12, 1e12  # outside, a time is a fault of any log
QUARTILE = 0.6745  # normal distribution, in standard deviations
NUMBER = r"([-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|[-+]?nan|[-+]?inf)"


def looks_old(lines):
    """Says whether the file is such a log: no line of ours, and one of its own."""
    return (any(line.startswith("@computing") for line in lines)
            and not any(line.startswith("{") for line in lines))


def found(pattern, line):
    """The groups of the first match, or None."""
    match = re.search(pattern, line)
    return match.groups() if match else None


def size_of(line):
    """The matrix's part of a record from the line of sizes, or None if it is none."""
    size = found(r"sparse matrix:\s*(\d+)x(\d+)-(\d+)NNZ(?:-(-?\d+)=MAX_ROW_NZ)?", line)
    if size is None:
        return None
    rows, cols, nnz = map(int, size[:3])
    longest = int(size[3]) if size[3] and int(size[3]) >= 0 else None  # -1: ELL was refused
    return {"matrix.rows": rows, "matrix.cols": cols, "matrix.nnz": nnz,
            "matrix.row_max": longest, "matrix.row_mean": nnz / rows if rows else None}


def settings_of_block(line):
    """Samples, grid and schedule, from either of a block's two lines of configuration."""
    settings = {}
    samples = found(r"AVG_TIMES_ITERATION:\s*(\d+)", line)
    grid = found(r"(?<![a-zA-Z])grid:\s*(\d+x\d+)", line)
    schedule = found(r"kind:\s*OMP_SCHED_(\w+).*?omp chunkSize:\s*(\d+)", line)
    if samples:
        settings["timing.samples"] = int(samples[0])
    if grid:
        settings["config.grid"] = grid[0]
    if schedule:
        settings["config.schedule"] = schedule[0].lower()
        settings["config.chunk"] = int(schedule[1])
    return settings


def kernel_of(line):
    """(backend, kernel, alias) of a @computing line, or None: 'func:1 CUDA CSR', 'func:CUDA CSR 1'."""
    words = found(r"func:\s*(?:(\d+)\s+)?(OMP|CUDA)\s+(CSR|ELL)(?:\s+(\d+))?", line)
    if words is None:
        return None
    number = words[0] if words[0] is not None else words[3]
    backend, form = words[1].lower(), words[2].lower()
    names = KERNELS[backend, form]
    if number is None or int(number) >= len(names):
        return None
    return backend, names[int(number)], f"{form}{number}"


def timing_of(line):
    """The timing part of a record, or None when the line has no usable time."""
    mean, variance = found(r"timeAvg:\s*" + NUMBER, line), found(r"timeVar:\s*" + NUMBER, line)
    if mean is None:
        return None
    mean, variance = float(mean[0]), float(variance[0]) if variance else math.nan
    if not SHORTEST_S <= mean <= LONGEST_S:
        return None
    timing = {"timing.median_s": mean, "timing.mean_s": mean}
    if variance >= 0 and math.isfinite(variance):
        deviation = math.sqrt(variance)
        timing["timing.stdev_s"] = deviation
        timing["timing.q1_s"] = max(mean - QUARTILE * deviation, 0)
        timing["timing.q3_s"] = mean + QUARTILE * deviation
    return timing


def configuration_of(line, backend, kernel, block):
    """The configuration of one line of times; block: what its matrix's lines said."""
    config = {"config.backend": backend, "config.kernel": kernel,
              "config.format": kernel.partition("_")[0], "config.precision": "f64",
              "config.alpha": 1.0, "config.beta": 0.0, "config.cache": "warm"}
    if backend == "cuda":
        size = found(r"cudaBlockSize:\s*(\d+)\s+(\d+)\s+(\d+)", line)
        if size:
            config["config.block"] = size[0] if size[1] == "1" else f"{size[0]}x{size[1]}"
        return config
    threads, grid = found(r"threadNum:\s*(\d+)", line), found(r"ompGridSize:\s*(\d+x\d+)", line)
    if threads:
        config["omp.threads"] = int(threads[0])
    if kernel != "csr_serial":
        config.update((name, block[name]) for name in ("config.schedule", "config.chunk")
                      if name in block)
    if kernel in GRID_KERNELS:
        config["config.grid"] = grid[0] if grid else block.get("config.grid")
    return config


def read_old_log(path, lines):
    """(records, complaints) of such a log; records are flat, as logs.parse_record makes them."""
    records, complaints, block, kernel = [], [], {}, None

    def complain(number, text):
        complaints.append(f"{path}:{number}: {text}")

    for number, line in enumerate(lines, 1):
        if line.startswith("#"):
            name = os.path.basename(line.strip("# \t")).partition(".mtx")[0]
            block, kernel = {"matrix.name": name or None}, None
            continue
        block.update(size_of(line) or {})
        block.update(settings_of_block(line))
        if line.startswith("@"):
            kernel = kernel_of(line)
            if kernel is None:
                name = found(r"(func:.*?)\s*(?:\bat:|$)", line.strip())
                complain(number, f"found {(name[0] if name else line.strip())[:80]!r}, expected a function "
                                 "such as 'func:0 OMP CSR': its times are left out")
        if "timeAvg:" not in line:
            continue
        timing = timing_of(line)
        if kernel and timing is None:
            complain(number, "timeAvg is not a time")
        elif kernel and not (block.get("matrix.name") and block.get("matrix.nnz") is not None):
            complain(number, "times before a #matrix line and its 'sparse matrix: RxC-nNNZ' line")
        elif kernel:
            backend, name, alias = kernel
            records.append({
                "schema": "published-program", "status": "ok", "check.status": "off",
                "host.name": f"published log {os.path.basename(path)}",
                **{key: value for key, value in block.items() if key.startswith("matrix.")},
                **configuration_of(line, backend, name, block), "config.alias": alias,
                "timing.samples": block.get("timing.samples"), **timing,
                "perf.flop": 2 * block["matrix.nnz"]})
    return records, complaints
