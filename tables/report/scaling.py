"""scaling.py: draws how much faster kernels are with more threads, from a log that has several numbers of them (spmv -t 1,2,4)."""

import statistics

from common import EX_DATAERR, Stop
from drawing import COLOURS, DASHES, Chart, Scale, svg
from texts import plural

TITLE = "Speed-up by threads"


def times_of(units):
    """{system without its threads: {kernel: {threads: {matrix: least median}}}}."""
    found = {}
    for unit in units:
        system, matrix, kernel = unit.identity[:3]
        if unit.status == "ok" and system.threads:
            times = found.setdefault(system._replace(threads=None), {}).setdefault(kernel, {}).setdefault(system.threads, {})
            times[matrix] = min(unit.median_s, times.get(matrix, unit.median_s))
    return found


def curve(times):
    """([(threads, speed-up)], number of matrices): the geometric mean over the matrices that have a time with each number."""
    common = set.intersection(*(set(matrices) for matrices in times.values()))
    few = min(times)
    return [(threads, statistics.geometric_mean(times[few][matrix] / matrices[matrix] for matrix in common))
            for threads, matrices in sorted(times.items())] if common else [], len(common)


def curves_of(units):
    """(system, {kernel: [(threads, speed-up)]}, number of matrices) of the system that has most of them; None: no kernel has
    several numbers of threads."""
    found = []
    for system, kernels in times_of(units).items():
        drawn = {kernel: curve(times) for kernel, times in kernels.items() if len(times) > 1}
        if drawn := {kernel: (line, count) for kernel, (line, count) in drawn.items() if line}:
            found.append((system, {kernel: line for kernel, (line, _) in drawn.items()}, max(count for _, count in drawn.values())))
    return max(found, key=lambda one: sum(map(len, one[1].values())), default=None)


def chart_of(curves):
    """A line for each kernel, the ideal as a dashed one."""
    counts = sorted({threads for line in curves.values() for threads, _ in line})
    least, most = counts[0], max(counts[-1] / counts[0], *(speedup for line in curves.values() for _, speedup in line))
    chart = Chart(Scale(least, counts[-1], values=counts), Scale(min(1, *(speedup for line in curves.values() for _, speedup in line)), most),
                  330, ("threads (log)", f"times as fast as with {least} (log)"))
    chart.line([(threads, threads / least) for threads in counts], "#7f7f7f", "6 3", 1.5, "ideal")
    ranked = sorted(curves.items(), key=lambda item: -item[1][-1][1])
    looks = [(kernel, line, COLOURS[k % len(COLOURS)], DASHES[k // len(COLOURS) % len(DASHES)]) for k, (kernel, line) in enumerate(ranked)]
    for kernel, line, colour, dash in looks:
        chart.line(line, colour, dash, 2, kernel)
    chart.legend("kernels", [(kernel, f'<path d="M-8 0h14" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>')
                             for kernel, _, colour, dash in [*looks, ("ideal", None, "#7f7f7f", "6 3")]])
    return chart


def scaling_chart(units):
    """(its lines, Chart), or None."""
    found = curves_of(units)
    if not found:
        return None
    system, curves, count = found
    where = ", ".join(filter(None, (system.host, system.cpu, system.precision, f"{system.cache} caches")))
    return [where, f"geometric means over {plural(count, 'matrix', 'matrices')}"], chart_of(curves)


def scaling(units):
    """The chart as SVG."""
    found = scaling_chart(units)
    if not found:
        raise Stop(EX_DATAERR, "no kernel was timed with several numbers of threads: 'spmv -t 1,2,4 --log=log FILE' does so")
    return svg([found[1]], TITLE, found[0])
