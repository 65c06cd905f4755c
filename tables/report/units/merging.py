"""Repeated runs of one configuration as one Unit, and matrices of one name told apart."""

import collections
import statistics

from logs import is_number
from units.machines import machines_apart
from units.settings import order
from units.unit import TIMED, Unit


def overall_status(statuses):
    """Says what a configuration that ended in several ways counts as: once wrong is wrong; a time is a time although
    another attempt failed; a failure says more than a refusal."""
    for status in ("wrong", "ok"):
        if status in statuses:
            return status
    others = sorted(set(statuses) - {"skipped"})
    return others[0] if others else "skipped"


def spread(values):
    """The middle half of many, all of a few."""
    if len(values) < 5:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def doubt(unit):
    """Says how far the interval of its median reaches, in medians; without one, further than any."""
    ends = [unit.record.get(f"timing.median_{end}_s") for end in ("low", "high")]
    known = unit.median_s and all(is_number(end) for end in ends)
    return (unit.noisy, max(abs(end - unit.median_s) for end in ends) / unit.median_s if known
            else float("inf"), str(unit.record.get("time")))


def without_retried(units):
    """Keeps, of the records of one cell of a sweep, which --retry measured again, the one whose median is known best;
    passes are cells of their own, and repeats."""
    cells = collections.defaultdict(list)
    for place, unit in enumerate(units):
        cells[unit.record.get("sweep.cell") or place].append(unit)
    return [min(tries, key=doubt) for tries in cells.values()]


def merge_repeats(units):
    """One Unit of the repeats of one configuration: the median of their medians and quartiles; these
    are never closer than the medians themselves, among which repeats may differ most."""
    status = overall_status([unit.status for unit in units])
    ended = [unit for unit in units if unit.status == status]
    same = without_retried(ended)
    times = [None] * 3
    if status in TIMED:
        medians, low, high = zip(*((unit.median_s, unit.q1_s, unit.q3_s) for unit in same))
        least, most = spread(medians)
        times = [statistics.median(medians), min(least, statistics.median(low)),
                 max(most, statistics.median(high))]
    preps = [unit.prep_s for unit in same if unit.prep_s is not None]
    return Unit(same[0].identity, max(unit.alias for unit in units), status,
                min(unit.reason for unit in same), *times, len(same),
                any(unit.noisy for unit in same), any(unit.disturbed for unit in same),
                any(unit.cached for unit in same),
                statistics.median(preps) if preps else None,
                min((unit.record for unit in same), key=lambda r: str(r.get("time"))),
                tuple(unit.record for unit in ended))


def merge(units):
    """Every configuration's Unit, sorted, so that the order of logs never shows."""
    groups = collections.defaultdict(list)
    for unit in machines_apart(list(units)):
        groups[unit.identity].append(unit)
    groups = named_apart(groups)
    return [merge_repeats(groups[identity]) for identity in sorted(groups, key=order)]


def short_ends(hashes):
    """{hash: so much of its beginning that no two are alike}."""
    length = 4
    while len({text[:length] for text in hashes}) < len(hashes):
        length += 1
    return {text: f"#{text[:length]}" for text in hashes}


def named_apart(groups):
    """{identity: units} with matrices of one name told apart: by their hashes, which differ when only
    values do, and in logs without hashes by their nonzeros."""
    hashes, sizes = collections.defaultdict(set), collections.defaultdict(set)
    for who in groups:
        if who.matrix.hash is not None:
            hashes[who.matrix.name].add(who.matrix.hash)
        elif who.matrix.nnz is not None:
            sizes[who.matrix.name].add(who.matrix.nnz)
    ends = {name: short_ends(found) for name, found in hashes.items() if len(found) > 1}

    def apart(who):
        matrix = who.matrix
        if matrix.hash is not None:
            end = ends.get(matrix.name, {}).get(matrix.hash)
        else:
            end = f"{matrix.nnz} nnz" if matrix.nnz is not None and len(sizes[matrix.name]) > 1 else None
        return who._replace(matrix=matrix._replace(name=f"{matrix.name} {end}")) if end else who
    return {apart(who): [unit._replace(identity=apart(who)) for unit in units]
            for who, units in groups.items()}
