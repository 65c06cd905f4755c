"""Lists what was chosen for a kernel: the settings of a record as people type them (include/params.def), and in a
table."""

import collections
import functools
import os
import re
from typing import NamedTuple, Optional

# Members of "config" that are not settings of the kernel: they name the run, are in System, or follow from the kernel and
# its settings, as repeats does. A seed changes the numbers in x, not the work done.
NOT_SETTINGS = frozenset(
    "backend kernel alias format precision threads alpha beta cache seed requested reason iters vectors layout "
    "op repeats".split())
OF_RANKS = ("partition", "halo_asked", "overlap_asked", "mpi")  # what several ranks were told, and what they talk through
PARAMS_DEF = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "include", "params.def")
PARAM = re.compile(r'^PARAM\((\w+), "(\w+)", [^,]+, (?:NULL|"[^"]*"), (\w+)(?:\((.*?)\))?, (\w+), ', re.MULTILINE)


class Param(NamedTuple):
    """A line of include/params.def, as far as it says what a logged value means."""
    option: str
    kind: str    # NUMBER, WORDS, PAIR, SECOND, ...
    words: dict  # {number as logged: word as typed}
    usual: Optional[int]


def order(value):
    """Sort key for values of mixed kinds; 5x8 comes before 10x4."""
    if value is None:
        return (0,)
    if isinstance(value, (int, float)):
        return (1, value)
    if isinstance(value, tuple):
        return (3, [order(member) for member in value])
    parts = re.split(r"([0-9]{1,15})", value)
    return (2, [int(part) if i % 2 else part for i, part in enumerate(parts)], value)


@functools.lru_cache(maxsize=None)
def params():
    """{name: Param} of every parameter of today's kernels; none where the file is not, and values read as logged."""
    try:
        with open(PARAMS_DEF, encoding="utf-8") as source:
            lines = PARAM.findall(source.read())
    except OSError:
        return {}
    found = {}
    for name, option, kind, arguments, usual in lines:
        words = dict(enumerate(re.findall(r'"([^"]*)"', arguments))) if kind == "WORDS" else {}
        if kind.endswith("_OR"):
            word, number = arguments.split(", ")[:2]
            words[int(number)] = word.strip('"')
        found[name] = Param(option, kind, words, None if usual == "NONE" else int(usual))
    return found


def meaning_of(param, value):
    """A logged value as people type it, on and off as a bool."""
    if param.words.get(0) == "off" and value in (0, 1):
        return bool(value)
    return param.words.get(value, value)


def settings_of(record):
    """Everything that was chosen for the kernel and could make two runs differ, sorted.

    A parameter may be logged as config.NAME, config.params.NAME or both: the former is the
    effective value and wins. null means the kernel does not take it."""
    effective, logged = {}, {}
    for name, value in record.items():
        if value is not None and name.startswith("config."):
            if name.startswith("config.params."):
                logged[name[len("config.params."):]] = value
            else:
                effective[name[len("config."):]] = value
    found = {name: value for name, value in {**logged, **effective}.items() if name not in NOT_SETTINGS}
    for name in ("bind", "places"):
        if record.get(f"omp.{name}") is not None:
            found[name] = record[f"omp.{name}"]
    found.update((name, record[f"ranks.{name}"]) for name in OF_RANKS if record.get(f"ranks.{name}") is not None)
    of_option = collections.defaultdict(list)
    for name, param in params().items():
        if param.option != name and name in found:
            of_option[param.option].append(str(found.pop(name)))
        elif param.kind == "NUMBER" and param.usual is not None and found.get(name) == param.usual:
            del found[name]
        elif name in found:
            found[name] = meaning_of(param, found[name])
    for option, pair in of_option.items():
        found.setdefault(option, "x".join(pair))
    return tuple(sorted(found.items()))


def text_of(value):
    """A setting as people write it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def label(settings):
    """Settings as one cell of a table."""
    return " ".join(f"{name}={text_of(value)}" for name, value in settings)


# Settings that say nothing to a reader of a table: their usual value, or implied by another one.
USUAL = {"bind": "false", "block": "0", "index_bits": 32, "deterministic": True, "simd": False}


@functools.lru_cache(maxsize=None)
def usual():
    """{setting: its usual value}: USUAL, and what a parameter is unless somebody says otherwise."""
    return {**{name: meaning_of(param, param.usual) for name, param in params().items() if param.usual is not None}, **USUAL}


def short_label(settings):
    """Settings as one cell of a crowded table: without the usual ones."""
    return label((name, value) for name, value in settings if name not in usual() or usual()[name] != value)
