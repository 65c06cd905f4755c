"""Says whether a number of ours agrees with a printed one, by a rule for each kind of number, and why not."""

import math
from typing import NamedTuple

SAME, ALIKE, SIZE, AHEAD, TIE = 0.01, 0.25, 0.01, 0.10, 1.02
RULES = (
    ("a property of the matrix, a size", "within 1 %, or as printed when rounded as the paper rounds"),
    ("a time, a share of the bandwidth", "within 25 %"),
    ("a speed-up [×]", "the same kernel is ahead, or the two are within 10 %"),
    ("a best parameter or kernel", "the same is best here, or at most 2 % slower than ours"),
    ("a share of cases", "on the same side of one half"))


class Line(NamedTuple):
    """A printed number, or choice, beside ours."""
    what: str  # with its unit
    where: str  # it is printed
    matrix: str
    paper: str  # as printed
    ours: object  # a number, a text, or None: not measured
    verdict: str


def last_digit(printed):
    """One unit in the last place of a number as it is printed: 0.01 of 3.25, and of what is printed as 7e-4."""
    return 0.01 if "e" in printed else 10.0 ** -len(printed.partition(".")[2])


def is_property(printed, ours):
    """A fact of the matrix, or bytes of a format."""
    return abs(ours - float(printed)) <= max(SAME * abs(float(printed)), 0.5 * last_digit(printed))


def is_alike(printed, ours):
    """Measured on another machine, it would hardly be closer if nothing else differed."""
    return abs(ours - float(printed)) <= ALIKE * abs(float(printed))


def is_ahead_too(printed, ours):
    """A paper claims who wins; by how much belongs to its machine."""
    paper = float(printed)
    return (paper - 1) * (ours - 1) > 0 or abs(math.log(ours / paper)) <= math.log1p(AHEAD)


def is_half_too(printed, ours):
    """Compares shares in per cent."""
    return (float(printed) - 50) * (ours - 50) >= 0


def judged(what, where, matrix, printed, ours, rule, reason):
    """A Line; reason: what makes ours another number, a text that follows "because". Without one of
    the two numbers there is nothing to judge."""
    if not printed:
        return None
    if ours is None or not math.isfinite(ours):
        return Line(what, where, matrix, printed, None, "not measured here")
    return Line(what, where, matrix, printed, ours,
                "agrees" if rule(printed, ours) else f"differs, because {reason}")


def chosen(what, where, matrix, printed, times, reason):
    """A Line of a choice, of {choice: seconds}."""
    if str(printed) not in times:
        return Line(what, where, matrix, str(printed), None, "not measured here")
    best = min(times, key=times.get)
    agrees = times[str(printed)] <= TIE * times[best]
    return Line(what, where, matrix, str(printed), best,
                "agrees" if agrees else f"differs, because {reason}")


def cache_of(run):
    """Names what held the data of a run that no memory was behind."""
    size = run.get("gpu.l2_B" if run.backend == "cuda" else "cpu.llc_B")
    return f"the data stay in this machine's cache{f' of {size / 1e6:.0f} MB' if size else ''}"


def because(run, device, base=None, library=None):
    """The first that holds of what makes the time of a run, or of that which it is compared with,
    another than on the paper's device. library: (what the paper calls the vendor's, which it had)."""
    name = str(run.get("gpu.name" if run.backend == "cuda" else "cpu.model"))
    if run.cached or base is not None and base.cached:
        return cache_of(run if run.cached else base)
    if base is not None and library and base.kernel.startswith(library[0]):
        return f"{base.get('kernel.library') or 'the library here'} is not the paper's {library[1]}"
    if device is None or device.split()[-1] not in name:
        return f"{name} is not the paper's {device or 'processor, which it does not name'}"
    if run.matrix.startswith("gen:twin:"):
        return "a twin has the paper's rows, not its columns"
    return "the kernels are not the paper's own"


REASONS = ("the data stay in a cache here; another version of the vendor's library; another processor than the paper's; "
           "a twin's columns, which are not the matrix's; else other kernels than the paper's own")
