"""Says what a table shows: records by the values of fields, kernels and matrices by name or glob."""

import argparse
import difflib
import fnmatch

from common import EX_DATAERR, EX_USAGE, Stop
from speedups import is_peer
from units.settings import order, text_of
from units.unit import AUTO

SHORT = {"matrix": "matrix.name", "kernel": "config.kernel"}  # in --where
MOST_NAMED = 8  # in a complaint


def some_of(names):
    """The first names of many, and how many more there are."""
    found = sorted(names, key=order)
    return ", ".join(found[:MOST_NAMED]) + (f" and {len(found) - MOST_NAMED} more" if found[MOST_NAMED:] else "")


def hint(word, known):
    """Says what a mistyped word may have been meant to be, as a sentence after another."""
    close = difflib.get_close_matches(word, sorted(known), 1)
    return f" Did you mean {close[0]}?" if close else ""


def where(text):
    """FIELD=VALUE"""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is not FIELD=VALUE")
    return SHORT.get(name, name), value


def with_values(records, conditions):
    """Records in which every named field has the value asked for."""
    def keeps(record, name, value):
        found = record.get(name)
        return found is not None and text_of(found) == value
    for name, value in conditions:
        kept = [record for record in records if keeps(record, name, value)]
        if not kept:
            known = {text_of(record[name]) for record in records if record.get(name) is not None}
            raise Stop(EX_DATAERR, f"--where {name}={value}: no record has that; {name} is "
                       + (some_of(known) if known else
                          f"in none of them.{hint(name, {field for record in records for field in record})}"))
        records = kept
    return records


def kernel_names(unit):
    """Says what the unit's kernel is called: its name and its alias. auto's alias is that of the kernel it chose."""
    kernel = unit.identity.kernel
    return [kernel, unit.alias] if unit.alias and kernel != AUTO else [kernel]


def is_kernel(pattern, unit):
    """Says whether -k means the unit's kernel by this word, as spmv run would: all, peers, a glob, in any case; after a
    backend, that one's."""
    backend, colon, name = pattern.rpartition(":")
    if colon and backend != unit.identity.system.backend:
        return False
    if name.lower() in ("all", "everything", "peers"):
        return name.lower() != "peers" or is_peer(unit.identity.kernel)
    return any(fnmatch.fnmatchcase(known, name.lower()) for known in kernel_names(unit))


def is_format(pattern, unit):
    """Says whether -k means the unit's kernel by the name of its format: not a kernel of other libraries, as in spmv run."""
    backend, colon, name = pattern.rpartition(":")
    return ((not colon or backend == unit.identity.system.backend) and not is_peer(unit.identity.kernel)
            and name.lower() == unit.record.get("config.format"))


def matrix_names(unit):
    """Says what the unit's matrix is called."""
    return [unit.identity.matrix.name]


def is_matrix(pattern, unit):
    """Says whether -m means the unit's matrix by this word."""
    return pattern == unit.identity.matrix.name or fnmatch.fnmatchcase(unit.identity.matrix.name, pattern)


def is_matrix_of_log(pattern, unit):
    """Says whether -m means the unit's matrix by its name in the log, which several may have."""
    return fnmatch.fnmatchcase(unit.record["matrix.name"], pattern)


KERNEL, MATRIX = (is_kernel, is_format), (is_matrix, is_matrix_of_log)


def meant(pattern, units, meanings):
    """Says which units a word means, by the first of its meanings that any unit has."""
    for means in meanings:
        found = [means(pattern, unit) for unit in units]
        if any(found):
            break
    return found


def chosen(units, option, words, meanings, names_of):
    """[(place, unit)] of the units that a word means, place being the first such word's; of words, each
    a list of patterns apart by commas, every one of which must mean something."""
    patterns = [pattern for word in words for pattern in word.split(",") if pattern]
    if not patterns:
        raise Stop(EX_USAGE, f"{option} names nothing")
    places = {}
    for place, pattern in enumerate(patterns):
        found = [k for k, is_meant in enumerate(meant(pattern, units, meanings)) if is_meant]
        if not found:
            raise Stop(EX_DATAERR, f"{option} {pattern}: no such record in the logs."
                       f"{hint(pattern, {name for unit in units for name in names_of(unit)})} There are "
                       + some_of({names_of(unit)[0] for unit in units}))
        for k in found:
            places.setdefault(k, place)
    return [(places[k], units[k]) for k in sorted(places)]
