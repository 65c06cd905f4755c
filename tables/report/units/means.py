"""The one rule for means, of the report, of compare, of tables and of results: they are geometric, and of everything that has
the times of right results. Nothing is left out for its noise, since what is noisy is no fair choice of matrices; but ~ stands
after a mean of which fewer than 90 % of the values are known. The end of a sweep keeps the same rule (sweep_summary.c)."""

import statistics

from texts import range_text
from units.pairs import LIMIT, paired

ENOUGH_KNOWN = 0.9
MARK = "~"
MEANING = "~: fewer than 90 % of its times were settled and undisturbed"


def are_enough(known, count):
    """Says whether so many known ones of all make a mean that is known."""
    return known >= ENOUGH_KNOWN * count


def is_known(*units):
    """Says whether all of these times are."""
    return not any(unit.noisy or unit.disturbed for unit in units)


def ratio_text(ours, other):
    """Says how many times as long the other takes: of times in doubt, unless their turns know the ratio, at least and at most as
    the middle half of the samples allows."""
    turns = paired(ours, other)
    if is_known(ours, other) or ours is other:
        return f"{other.median_s / ours.median_s:.2f}"
    if turns and turns.error <= LIMIT:
        return f"{turns.value:.2f}"
    return range_text(other.q1_s / ours.q3_s, other.q3_s / ours.q1_s)


def mean_text(values, known, digits=2):
    """1.23 or 1.23 ~ of some values; known: how many of them are."""
    return f"{statistics.geometric_mean(values):.{digits}f}" + ("" if are_enough(known, len(values)) else f" {MARK}")
