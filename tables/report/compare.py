#!/usr/bin/env python3
"""Compare two logs: what became faster or slower.

    spmv compare A B [--fail-above 3%]
    spmv compare --ab OLD NEW -- -m FILE.mtx -k auto   two binaries, in turns

A and B are logs, or folders of logs. Runs of one machine are matched by
system, matrix, kernel and configuration; runs of different machines by
matrix, each with its best kernel. Kernels that auto chose are matched with
each other. After a time: ~ not settled, ! disturbed. The verdict:

    FASTER, SLOWER  the medians differ by 2 % or more (5 % where a side has
                    one run) and the quartile ranges do not meet
    SAME            they differ by less than 2 %, and no time is in doubt
    UNSURE          a time is disturbed, not settled or suspect; or the
                    medians differ, but the quartile ranges meet
    BROKEN, FIXED   a result only in A, only in B; the other failed, was
                    wrong or was skipped

--ab runs OLD and NEW in turns with what follows --, 10 to 160 times and for
10 minutes at most, until every row has a verdict, so that what disturbs the
machine meets both alike. The verdict is then of the ratio of lower quartiles:
FASTER or SLOWER if its 95 % interval, taken twice as wide, is beyond 2 %, and
SAME if all of it is within.
"""

from interrupts import EX_INTERRUPTED  # pylint: disable=wrong-import-order
import argparse
import collections
import itertools
import sys
import textwrap
from typing import NamedTuple, Optional

from common import EX_ABOVE, EX_DATAERR, Parser, Stop, edge, load, run, say, write_files
from texts import csv_text, markdown_table, plural, si_time, text_rows, text_table
from units.layout import best_of, overlap
from turns import program, take_turns, word_of
from units.means import MEANING, are_enough, is_known, mean_text
from units.merging import merge_repeats
from units.pairs import interval_of
from units.settings import OF_RANKS, order, short_label, text_of
from units.unit import (AUTO, TIMED, Unit, describe, disturbances, doubts, expected_products, flags_of, gflop_per_s,
                        product_of, ran_by, unit_of, winner_text)

SURE = 0.02  # medians closer than this are the same
SURE_OF_ONE = 0.05  # the same where a side has one process only
UNSAFE_FLAGS = ("-ffast-math", "-Ofast", "-funsafe-math-optimizations", "--use_fast_math")
ENVIRONMENT = ("build.", "host.", "cpu.", "gpu.", "omp.")
MOST_NAMED = 3  # values of one fact that are spelt out
SURROUNDINGS = ("bind", "places", "iters", *OF_RANKS)  # auto's settings that it did not choose itself


class Pair(NamedTuple):
    """One thing measured in both logs, or tried in one and measured in the other."""
    matrix: str
    what: str    # kernel, or kernel -> kernel
    config: str
    a: Unit
    b: Unit


class Verdict(NamedTuple):
    """change: B's median over A's, less 1; None without two times."""
    word: str
    change: Optional[float]
    advice: str


def judge(pair):
    """The rule at the top of this file."""
    a, b = pair.a, pair.b
    if a.status not in TIMED or b.status not in TIMED:
        words = f"{a.status} → {b.status}"
        if a.status in TIMED:
            return Verdict("BROKEN", None, f"{words}: {b.reason or 'no reason given'}")
        if b.status in TIMED:
            return Verdict("FIXED", None, words)
        return Verdict("—", None, words)
    change = b.median_s / a.median_s - 1
    if "suspect" in (a.status, b.status):
        sides = " and ".join(name for name, unit in (("A", a), ("B", b)) if unit.status == "suspect")
        return Verdict("UNSURE", change, f"{sides} faster than memory was when probed: probe again")
    unsure = in_doubt(a, b)
    if not unsure and abs(change) < SURE:
        return Verdict("SAME", change, "")
    unsure = unsure or (
        RANGES_MEET if overlap(a, b) else ONE_RUN if abs(change) < SURE_OF_ONE and 1 in (a.runs, b.runs) else "")
    if unsure:
        return Verdict("UNSURE", change, unsure)
    return Verdict("SLOWER" if change > 0 else "FASTER", change, "")


RANGES_MEET = "quartile ranges meet"
ONE_RUN = f"less than {SURE_OF_ONE:.0%} apart, one run a side: repeat"


def in_doubt(a, b):
    """Why a time cannot be relied on, and what to do; empty: both can."""
    if a.disturbed or b.disturbed:
        return "disturbed (!): measure again on a quiet machine"
    return "not settled (~): --max-time measures longer" if a.noisy or b.noisy else ""


def judge_turns(pair):
    """The same of turns that two binaries took with each other."""
    if pair.a.status not in TIMED or pair.b.status not in TIMED:
        return judge(pair)
    ratios = ratios_in_turns(pair)
    interval = interval_of(ratios)
    if not interval:
        return Verdict("UNSURE", pair.b.median_s / pair.a.median_s - 1, "too few turns have both")
    change = interval.value - 1
    word = word_of(ratios, SURE) or ("SAME" if 1 - SURE < interval.low and interval.high < 1 + SURE else "UNSURE")
    advice = "turns scatter too much: a quieter machine" if word == "UNSURE" else ""
    return Verdict(word, change, advice)


def ratios_in_turns(pair):
    """B's time over A's in every turn that has both, in their order."""
    times = [{record["time"]: record["timing.q1_s"] or record["timing.median_s"] for record in unit.records}
             for unit in (pair.a, pair.b)]
    return [times[1][turn] / times[0][turn] for turn in sorted(times[0].keys() & times[1].keys())]


def ratios_of_rows(a, b):
    """{row: its ratios in turns} of the rows with a time on both sides."""
    return {(pair.matrix, pair.what, pair.config): ratios_in_turns(pair) for pair in pairs_of(a, b)[0]
            if pair.a.status in TIMED and pair.b.status in TIMED}


def repeats_by(records, key):
    """{key(identity): its units}; also those of several builds."""
    groups = collections.defaultdict(list)
    for record in records:
        unit = unit_of(record)
        groups[key(unit.identity)].append(unit)
    return groups


def choice_of(unit):
    """Says what auto ran, in words."""
    rest = short_label(item for item in unit.identity.settings if item[0] not in ("ran", *SURROUNDINGS))
    return f"{ran_by(unit)} {rest}".rstrip() if ran_by(unit) != AUTO else "nothing"


def expected(units):
    """The number of products that auto expected, in words."""
    return " or ".join(f"{n:,}" if n else "unknown" for n in sorted(set(map(expected_products, units))))


def choices(a, b):
    """Says what auto ran in A and in B: once if it is the same; and how many products it expected if that differs."""
    sides = [" or ".join(sorted(set(map(choice_of, side)))) for side in (a, b)]
    products = [expected(side) for side in (a, b)]
    return ((sides[0] if sides[0] == sides[1] else " → ".join(sides)) +
            ("" if products[0] == products[1] else f" (expected products: {' → '.join(products)})"))


def machine(record):
    """Returns what must be equal for times to be of one machine."""
    return record.get("host.name"), record.get("cpu.model"), record.get("gpu.name")


def names_of_settings(records):
    """{kernel: every setting its records name}."""
    names = collections.defaultdict(set)
    for record in records:
        who = unit_of(record).identity
        names[who.system.backend, who.kernel] |= {name for name, _ in who.settings}
    return names


CONDITIONS = (("precision", ""), ("cache", ""), ("threads", "threads="), ("alpha", "alpha="), ("beta", "beta="), ("ranks", "ranks="), ("hosts", "hosts="))


def conditions(system, systems):
    """What is not the same in all systems, in words: rows of one kernel may differ in nothing else."""
    return [prefix + text_of(getattr(system, name)) for name, prefix in CONDITIONS
            if len({getattr(other, name) for other in systems}) > 1]


def pairs_of_one_machine(a, b):
    """(pairs, how many configurations only one side has). A setting that only one side's records
    know, since the log grew a field, does not keep two runs apart; nor does what auto chose: a worse
    choice is a loss."""
    in_a, in_b = names_of_settings(a), names_of_settings(b)

    def key(who):
        kernel = who.system.backend, who.kernel
        known = in_a.get(kernel, set()) & in_b.get(kernel, set())
        if who.kernel == AUTO:
            known = known.intersection(SURROUNDINGS)
        return (who.system, who.matrix, who.kernel,
                tuple(item for item in who.settings if item[0] in known))

    of_a, of_b = repeats_by(a, key), repeats_by(b, key)
    both = sorted(of_a.keys() & of_b.keys(), key=order)
    pairs = [Pair(k[1].name, k[2], " ".join(filter(None, (
        choices(of_a[k], of_b[k]) if k[2] == AUTO else short_label(k[3]), *conditions(k[0], {key[0] for key in both}), product_of(k[0])))),
                  merge_repeats(of_a[k]), merge_repeats(of_b[k])) for k in both]
    return pairs, len(of_a) - len(both), len(of_b) - len(both)


def pairs_of_machines(a, b):
    """(pairs, matrices that only one side has): the best kernel of each on every matrix. Matrices of
    one name may differ in values alone: their hashes tell, unless a log has none."""
    nameless = {record["matrix.name"] for record in (*a, *b) if not record.get("matrix.hash")}

    def best(records):
        groups = collections.defaultdict(list)
        for record in records:
            unit = unit_of(record)
            system, matrix = unit.identity.system, unit.identity.matrix
            known = None if matrix.name in nameless else matrix.hash
            groups[matrix.name, matrix.nnz, known, system.precision, system.alpha, system.beta,
                   system.cache, system.vectors, system.layout, system.op, system.ranks].append(unit)
        return {k: best_of([merge_repeats(repeats) for repeats in repeats_by(
            (unit.record for unit in group), lambda who: who).values()])
                for k, group in groups.items()}

    of_a, of_b = best(a), best(b)
    both = sorted(of_a.keys() & of_b.keys(), key=order)
    pairs = []
    for k in both:
        one, other = of_a[k].identity, of_b[k].identity
        config = [describe_side(who) for who in (one, other)]
        pairs.append(Pair(k[0], f"{winner_text(of_a[k])} → {winner_text(of_b[k])}", " → ".join(config),
                          of_a[k], of_b[k]))
    return pairs, len(of_a) - len(both), len(of_b) - len(both)


def describe_side(who):
    """Says what a side of a comparison across machines ran."""
    return " ".join(filter(None, (who.system.backend, who.system.precision, product_of(who.system))))


def pairs_of(a, b):
    """(pairs, only in A, only in B, whether across machines)."""
    across = not {machine(record) for record in a} & {machine(record) for record in b}
    found = (pairs_of_machines if across else pairs_of_one_machine)(a, b)
    return (*found, across)


# ---- what differs around the measurement ---------------------------------------------------------


def flags_changed(before, after):
    """Compiler flags as what was added and taken away, with a warning for what changes results."""
    old, new = before.split(), after.split()
    added = [flag for flag in new if flag not in old]
    gone = [flag for flag in old if flag not in new]
    unsafe = [flag for flag in added + gone if flag in UNSAFE_FLAGS]
    words = [f"+'{flag}'" for flag in added] + [f"-'{flag}'" for flag in gone]
    return (" ".join(words) or "the same flags in another order") + (
        " (⚠ results may differ)" if unsafe else "")


def values_of(records, name):
    """The different values of a fact, as people write them."""
    return sorted({"unknown" if record.get(name) is None else text_of(record[name])
                   for record in records}, key=order)


def listed(values):
    """Some values by name, many by number."""
    return ", ".join(values) if len(values) <= MOST_NAMED else f"{len(values)} values"


def environment_differences(a, b):
    """A line for every fact about build and machine that the two logs do not share."""
    names = sorted({name for record in (*a, *b) for name in record
                    if name.startswith(ENVIRONMENT)})
    lines = []
    for name in names:
        old, new = values_of(a, name), values_of(b, name)
        if old == new:
            continue
        if name.endswith("flags") and len(old) == len(new) == 1:
            lines.append(f"{name} {flags_changed(old[0], new[0])}")
        else:
            lines.append(f"{name} {listed(old)} → {listed(new)}")
    return lines


# ---- the answer ----------------------------------------------------------------------------------

HEADER = ("matrix", "kernel", "config", "A median", "B median", "B vs A", "verdict")
ALIGNMENT = "lllrrrl"


def shown(unit):
    """A median with its marks; or how it ended."""
    if unit.status not in TIMED:
        return unit.status
    return si_time(unit.median_s) + doubts(unit)


def row_of(pair, verdict):
    """One line for people."""
    change = "" if verdict.change is None else f"{100 * verdict.change:+.1f}%".replace("-", "−")
    advice = f" ({verdict.advice})" if verdict.advice and verdict.word != "UNSURE" else ""
    return [pair.matrix, pair.what, pair.config or "-", shown(pair.a), shown(pair.b), change,
            verdict.word + advice]


def table_for(judged, width):
    """Lays lines out for a terminal of so many columns; None: without an edge. Where lines are too long, the
    configuration and the advice stand below the rest."""
    rows = [row_of(*both) for both in judged]
    whole = text_table(HEADER, ALIGNMENT, rows)
    if not width or max(map(len, whole.splitlines())) <= width:
        return whole
    config = HEADER.index("config")
    short = [(*row[:config], *row[config + 1:-1], verdict.word) for row, (_, verdict) in zip(rows, judged)]
    more = [[], *([row[config], "" if verdict.word == "UNSURE" else verdict.advice]
                  for row, (_, verdict) in zip(rows, judged))]
    lines = []
    for parts, below in zip(text_rows(HEADER[:config] + HEADER[config + 1:], ALIGNMENT[:config] + ALIGNMENT[config + 1:],
                                      short, width), more):
        lines += parts
        for text in below:
            if text not in ("", "-"):
                lines += textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


CSV_HEADER = ("matrix", "kernel_a", "kernel_b", "config", "system_a", "system_b", "status_a",
              "status_b", "median_a_s", "median_b_s", "q1_a_s", "q3_a_s", "q1_b_s", "q3_b_s",
              "gflop_per_s_a", "gflop_per_s_b", "ratio", "noisy", "disturbed", "verdict")


def csv_row(pair, verdict):
    """One line for machines."""
    a, b = pair.a, pair.b
    rates = [gflop_per_s(unit) if unit.status == "ok" else None for unit in (a, b)]
    return [pair.matrix, a.identity.kernel, b.identity.kernel, pair.config,
            describe(a.identity.system), describe(b.identity.system), a.status, b.status,
            a.median_s, b.median_s, a.q1_s, a.q3_s, b.q1_s, b.q3_s, *rates,
            None if verdict.change is None else 1 + verdict.change, a.noisy or b.noisy,
            a.disturbed or b.disturbed, verdict.word]


def first_time(records):
    """Says when the earliest of them began."""
    return min(str(record.get("time") or "") for record in records)


def sides(records):
    """Pairs of record lists worth comparing inside one set of logs: on every machine each build
    with the next one, and every two machines, each in the order of time."""
    machines = collections.defaultdict(lambda: collections.defaultdict(list))
    for record in records:
        machines[machine(record)][record.get("build.commit")].append(record)
    for builds in machines.values():
        series = sorted(builds.values(), key=first_time)
        yield from zip(series, series[1:])
    whole = sorted(([record for build in builds.values() for record in build]
                    for builds in machines.values()), key=first_time)
    yield from itertools.combinations(whole, 2)


def compare_csv(records):
    """Every comparison that a set of logs holds."""
    rows = []
    for a, b in sides(records):
        for pair in pairs_of(a, b)[0]:
            commits = [unit.record.get("build.commit") for unit in (pair.a, pair.b)]
            rows.append([*commits, *csv_row(pair, judge(pair))])
    return csv_text(("commit_a", "commit_b") + CSV_HEADER, rows)


def summary(judged, in_turns=False):
    """The mean by the one rule for means, and the counts of verdicts. Turns meet alike what would leave a time in doubt."""
    timed = [(pair, verdict) for pair, verdict in judged if verdict.change is not None]
    sound = [(pair, verdict) for pair, verdict in timed
             if pair.a.status == pair.b.status == "ok"]
    known = len(sound) if in_turns else sum(is_known(pair.a, pair.b) for pair, _ in sound)
    note = f"; {len(timed) - len(sound)} suspect left out" if len(timed) > len(sound) else ""
    if not are_enough(known, len(sound)):
        note += f"; {MEANING}"
    mean = (f"geomean B/A {mean_text([1 + verdict.change for _, verdict in sound], known, 3)} (n={len(sound)}{note})" if sound
            else f"no geomean (n=0{note})")
    counts = collections.Counter(verdict.word for _, verdict in judged)
    return f"{mean}; " + ", ".join(f"{count} {word}" for word, count in counts.most_common())


def advice_of(judged, in_turns):
    """A line for each reason why verdicts are UNSURE, with what to do, and one on what decides them."""
    reasons = collections.Counter(verdict.advice for _, verdict in judged if verdict.word == "UNSURE")
    lines = [f"{count} UNSURE, {advice}" for advice, count in reasons.items()]
    return lines + (["UNSURE: 'spmv compare --ab OLD NEW -- WHAT TO RUN' runs two binaries in turns, which decides more"]
                    if lines and not in_turns else [])


def what_disturbed(name, records):
    """A line on the runs of a side that are marked !, or none."""
    count = sum(bool(flags_of(record)) for record in records)
    return [f"! {name}: {count} of {plural(len(records), 'run')} disturbed while timed: "
            f"{disturbances(records)}"] if count else []


def share(text):
    """3% or 0.03"""
    try:
        value = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
        if not text.endswith("%") and value >= 1:  # 3 would be 300 %
            value = -1
    except ValueError:
        value = -1
    if not 0 <= value < 1e6:
        raise argparse.ArgumentTypeError(f"'{text}' is not a share such as 3% or 0.03")
    return value


def parse(arguments):
    """The command line."""
    parser = Parser(
        prog="spmv compare", description=__doc__.partition("\n\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="spmv compare A B [OPTIONS]\n       spmv compare --ab OLD NEW [OPTIONS] -- WHAT TO RUN")
    parser.add_argument("a", metavar="A", help="log or folder: before; with --ab a binary")
    parser.add_argument("b", metavar="B", help="log or folder: after; with --ab a binary")
    parser.add_argument("--ab", action="store_true", help="run the binaries A and B in turns, with what follows --")
    parser.add_argument("--fail-above", type=share, metavar="P",
                        help="exit 2 if anything is SLOWER by more than P, or BROKEN")
    parser.add_argument("--format", choices=("table", "csv", "md"), default="table")
    parser.add_argument("-o", "--output", metavar="FILE", help="instead of stdout")
    words = list(sys.argv[1:] if arguments is None else arguments)
    end = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:end])
    options.words = words[end + 1:]
    if options.ab != bool(options.words):
        parser.error("--ab OLD NEW -- WHAT TO RUN, such as --ab ./old/spmv ./spmv -- -m FILE.mtx -k auto")
    return options


def sides_of(options):
    """(the records of A, of B, whether somebody stopped their turns, what judges a pair of them)."""
    if not options.ab:
        return load([options.a])[0], load([options.b])[0], False, judge
    binaries = [program(path) for path in (options.a, options.b)]
    return (*take_turns(binaries, options.words, ratios_of_rows, SURE), judge_turns)


def never_equal(a, b):
    """Says what all of A's runs have otherwise than all of B's, in words."""
    systems = [[unit_of(record).identity.system for record in side] for side in (a, b)]
    found = []
    for name in systems[0][0]._fields[3:]:
        one, other = ({getattr(system, name) for system in side} for side in systems)
        if not one & other:
            texts = [", ".join(map(text_of, sorted(side, key=order))) for side in (one, other)]
            found.append(f"{name} is {texts[0]} in A, {texts[1]} in B")
    return "".join(f"; {what}" for what in found)


def compare(arguments):
    """Exit status: 0; 130 with what turns say that somebody stopped; 2 above --fail-above; 65 when nothing can be compared."""
    options = parse(arguments)
    a, b, stopped, judged_by = sides_of(options)
    if a == b and not options.ab and options.format == "table" and not options.output:
        say(f"A and B hold the same {plural(len(a), 'run')}: there is nothing to compare")
        return 0
    pairs, only_a, only_b, across = pairs_of(a, b)
    for line in environment_differences(a, b):
        say(f"environment differs: {line}")
    if across:
        say("different machines: matched by matrix, each with its best kernel")
    if only_a or only_b:
        say(f"{'matrices' if across else 'configurations'} that only A has: {only_a}, only B: "
            f"{only_b}")
    if not pairs:
        raise Stop(EX_DATAERR, "the two logs have nothing in common" + never_equal(a, b))
    judged = [(pair, judged_by(pair)) for pair in pairs]
    text = {"table": lambda: table_for(judged, edge(options.output)),
            "md": lambda: markdown_table(HEADER, ALIGNMENT, [row_of(*j) for j in judged]),
            "csv": lambda: csv_text(CSV_HEADER, [csv_row(*j) for j in judged])}[options.format]()
    if options.output:
        write_files(".", {options.output: text})
    else:
        sys.stdout.write(text)
    disturbed = [] if options.ab else [*what_disturbed("A", a), *what_disturbed("B", b)]
    advice = advice_of(judged, options.ab) if options.format != "csv" else []
    for line in (*disturbed, *advice, summary(judged, options.ab)):
        say(line)
    if stopped:
        return EX_INTERRUPTED
    if options.fail_above is not None and any(
            verdict.word == "BROKEN" or
            verdict.word == "SLOWER" and verdict.change > options.fail_above
            for _, verdict in judged):
        return EX_ABOVE
    return 0


def main(arguments=None):
    """Exit status, with the reason said."""
    return run("spmv compare", compare, arguments)


if __name__ == "__main__":
    sys.exit(main())
