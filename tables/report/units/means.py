"""The one rule for means, of the report, of compare, of tables and of results: they are geometric, and of everything that has
the times of right results. Nothing is left out for its noise, since what is noisy is no fair choice of matrices; but † stands
after a mean of which fewer than 90 % of the values are known. The end of a sweep keeps the same rule (sweep_summary.c)."""

import statistics

ENOUGH_KNOWN = 0.9
MARK = "†"
MEANING = "†: fewer than 90 % of its times were settled and undisturbed"


def are_enough(known, count):
    """Says whether so many known ones of all make a mean that is known."""
    return known >= ENOUGH_KNOWN * count


def is_known(*units):
    """Says whether all of these times are."""
    return not any(unit.noisy or unit.disturbed for unit in units)


def mean_text(values, known, digits=2):
    """1.23 or 1.23 † of some values; known: how many of them are."""
    return f"{statistics.geometric_mean(values):.{digits}f}" + ("" if are_enough(known, len(values)) else f" {MARK}")
