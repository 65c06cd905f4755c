"""The ratio of two times that were measured in turns, known better than either: what slows one kernel's turn slows the
turn of the other in the same round alike, and is no part of their ratio.

A round gives one ratio of the two kernels' medians (timing.turns_s). What slows all turns of a round, as a drift does, is
in none; what slows one of the two alone, as a burst shorter than a round does, is as often in the one as in the other,
since rounds are shuffled. So the logarithms of the ratios scatter about that of the true ratio symmetrically, but with
far ends. The estimate is their mean without the fifth at each end; its interval is Tukey and McLaughlin's, of the
variance in which those fifths count as the nearest value that is left, by Student's distribution. Five rounds and fewer
have no interval, as five samples have none (statistics.c).

Neighbouring rounds resemble each other a little, where a disturbance lasts longer than a round and the two kernels do not
feel it alike. With a correlation r of neighbours the error of a mean is sqrt((1 + r) / (1 - r)) times as large. r is
estimated 1/n too low of values without any, which is added; what is below 0 then counts as 0.

test_pairs.py counts how often the interval holds the ratio in simulations of such machines: 95 of 100 times."""

import collections
import itertools
import math
import statistics
from typing import NamedTuple

from logs import TURNS, is_number

LEAST = 6  # rounds
LIMIT = 0.03  # to which a ratio is to be known, as times are (--max-noise of tables/measure_reference.sh)
MOST_CORRELATED = 0.8  # beyond, so few rounds say nothing about the correlation
WAITS = 0.25  # share of a time that threads waited for cores, from which on it may be the scheduler's


class Interval(NamedTuple):
    """A ratio and the ends of its 95 % confidence interval."""
    value: float
    low: float
    high: float

    @property
    def error(self):
        """Says how far the farther end is, as a share of the ratio."""
        return max(self.high / self.value - 1, 1 - self.low / self.value)

    @property
    def holds_one(self):
        """Says whether the two may be equally fast."""
        return self.low <= 1 <= self.high


# ---- the interval --------------------------------------------------------------------------------

# 97.5 % of Student's distribution lie below, by degrees of freedom; a record's 48 places without two fifths have 29.
STUDENT = (math.inf, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
           2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045)


def correlation(values):
    """Returns the correlation of neighbours; 0 where all are equal."""
    mean = statistics.fmean(values)
    off = [value - mean for value in values]
    squares = sum(value * value for value in off)
    return sum(a * b for a, b in zip(off, off[1:])) / squares if squares else 0


def interval_of(ratios):
    """The Interval of ratios in the order of their rounds; None of fewer than LEAST."""
    n = len(ratios)
    if n < LEAST:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    order, cut = sorted(logs), n // 5
    middle = statistics.fmean(order[cut:n - cut])
    held = [min(max(value, order[cut]), order[n - 1 - cut]) for value in logs]
    left = n - 2 * cut
    error = STUDENT[min(left, len(STUDENT)) - 1] * statistics.stdev(held) * math.sqrt((n - 1) / (left * (left - 1)))
    r = min(max(correlation(held) + 1 / n, 0), MOST_CORRELATED)
    error *= math.sqrt((1 + r) / (1 - r))
    return Interval(*(math.exp(middle + end) for end in (0, -error, error)))


# ---- rounds of two records -----------------------------------------------------------------------


def is_waits(record):
    """Says whether a time on a CPU may be what threads waited for cores, which is no ratio of kernels; noise.c has the
    rule."""
    wall, waited = record.get("timing.wall_s"), record.get("timing.waited_s")
    return (record["config.backend"] != "cuda" and is_number(wall) and is_number(waited) and wall > 0
            and waited >= WAITS * wall)


def rounds_of(ours, other):
    """[(turn of ours, turn of the other)] of two records; empty unless they took turns in one process."""
    names = ("run_id", "timing.group")
    if any(ours.get(name) is None or ours.get(name) != other.get(name) for name in names) or is_waits(ours) or is_waits(other):
        return []
    return list(zip(ours.get(TURNS) or (), other.get(TURNS) or ()))


# ---- units ---------------------------------------------------------------------------------------


def intervals_by_run(ours, other):
    """Returns, of two units, the Interval of each pass of a sweep in which both were measured next to each other. What
    was tried again counts once, as it is known best."""
    found = collections.defaultdict(list)
    for places in itertools.product(enumerate(ours.records), enumerate(other.records)):
        interval = interval_of([b / a for a, b in rounds_of(*(record for _, record in places))])
        if interval:
            found[tuple(record.get("sweep.cell") or place for place, record in places)].append(interval)
    return [min(tries, key=lambda interval: interval.error) for tries in found.values()]


def paired(ours, other):
    """The Interval of the other unit's time over ours; of several passes the geometric mean, and an interval that holds
    those of all, since no interval of one pass says what differs between processes. None where they took no turns
    together."""
    found = intervals_by_run(ours, other)
    if not found:
        return None
    return Interval(statistics.geometric_mean([interval.value for interval in found]),
                    min(interval.low for interval in found), max(interval.high for interval in found))
