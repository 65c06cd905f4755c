#!/usr/bin/env python3
"""Tests of tables/report/units/pairs.py: on simulated machines the interval of a ratio holds the true one, and only turns
that were next to each other make it narrow; and which records make a pair."""

import math
import random
import statistics
import unittest

from logfixture import TablesTest, record
import logs
from units import pairs
from units.merging import merge
from units.unit import unit_of

RUNS, KERNELS, TICKS = 300, 10, 4  # simulated pairs; kernels in a round; steps of the noise in a turn
RATIO = 1.3


def drift(draw, steps, turns, share):
    """A share by which all times are longer, that changes in so many turns."""
    kept, value, found = math.exp(-1 / (turns * TICKS)), draw.gauss(0, 1), []
    for _ in range(steps):
        found.append(share * value)
        value = kept * value + math.sqrt(1 - kept * kept) * draw.gauss(0, 1)
    return found


def bursts(draw, steps, pause, turns):
    """Other programs' work: up to 1.7 times as long, for so many turns on average, after pauses."""
    found, step = [0.0] * steps, 0
    while True:
        step += 1 + int(draw.expovariate(1 / (pause * TICKS)))
        if step >= steps:
            return found
        end, share = step + 1 + int(draw.expovariate(1 / (turns * TICKS))), draw.choice((0.05, 0.15, 0.4, 0.7))
        for k in range(step, min(end, steps)):
            found[k] += share
        step = end


MACHINES = {  # what all kernels feel alike, if at the same time
    "quiet": lambda draw, steps: [0.0] * steps,
    "drifting": lambda draw, steps: drift(draw, steps, 300, 0.1),
    "restless": lambda draw, steps: drift(draw, steps, 6, 0.1),
    "short bursts": lambda draw, steps: [a + b for a, b in zip(drift(draw, steps, 300, 0.1), bursts(draw, steps, 12, 1.5))],
    "long bursts": lambda draw, steps: [a + b for a, b in zip(drift(draw, steps, 300, 0.1), bursts(draw, steps, 150, 40))]}


def simulated(draw, machine, rounds):
    """(turns of one kernel, turns of another that takes RATIO times as long): shuffled rounds of KERNELS, 1.5 % of each
    median a noise of its own."""
    noise = MACHINES[machine](draw, rounds * KERNELS * TICKS)
    sides = [], []
    for number in range(rounds):
        order = draw.sample(range(KERNELS), KERNELS)
        for kernel, turns in enumerate(sides):
            at = (number * KERNELS + order.index(kernel)) * TICKS
            turns.append(math.exp(statistics.median(noise[at:at + TICKS]) + draw.gauss(0, 0.015)))
    return sides[0], [RATIO * turn for turn in sides[1]]


class IntervalTest(unittest.TestCase):

    def intervals(self, machine, rounds):
        """([Interval of turns next to each other], [of the same turns in another order])."""
        draw = random.Random(rounds)
        found, mixed = [], []
        for _ in range(RUNS):
            ours, other = simulated(draw, machine, rounds)
            found.append(pairs.interval_of([b / a for a, b in zip(ours, other)]))
            mixed.append(pairs.interval_of([b / a for a, b in zip(draw.sample(ours, rounds), other)]))
        return found, mixed

    def test_it_holds_the_ratio(self):
        """In 95 of 100 cases: of 300, fewer than 274 would be chance once in 500 times, all 300 in no case."""
        for machine in MACHINES:
            for rounds in (6, 10, 20, 40):
                found, _ = self.intervals(machine, rounds)
                held = sum(interval.low <= RATIO <= interval.high for interval in found)
                with self.subTest(machine=machine, rounds=rounds, held=held):
                    self.assertGreaterEqual(held, 274)
                    self.assertLess(held, 300)
                    middle = statistics.median(interval.value for interval in found)
                    self.assertLess(abs(middle / RATIO - 1), 0.01)

    def test_only_neighbours_make_it_narrow(self):
        for machine in ("drifting", "long bursts"):
            found, mixed = ([statistics.median(interval.error for interval in side)] for side in self.intervals(machine, 20))
            self.assertGreater(mixed[0], 1.5 * found[0], machine)

    def test_more_rounds_make_it_narrower(self):
        few, many = (statistics.median(interval.error for interval in self.intervals("short bursts", rounds)[0])
                     for rounds in (10, 40))
        self.assertLess(many, 0.6 * few)

    def test_single_bursts_do_not_move_it(self):
        ratios = [1.2, 1.21, 1.19, 1.2, 1.205, 1.195, 1.2, 1.2, 1.21, 1.19]
        hit = ratios[:4] + [2.4] + ratios[5:9] + [0.6]
        one, other = pairs.interval_of(ratios), pairs.interval_of(hit)
        self.assertLess(abs(other.value / one.value - 1), 0.005)
        self.assertLess(other.error, 0.03)

    def test_values_that_follow_each_other_tell_less(self):
        values = [1 + 0.01 * k for k in range(12)]
        mixed = [values[k * 5 % 12] for k in range(12)]
        self.assertGreater(pairs.interval_of(values).error, 1.5 * pairs.interval_of(mixed).error)

    def test_by_hand(self):
        """One of 0, 1, 1, 2, 2, 3 in hundredths of logarithms falls at each end: 1, 1, 2, 2 have the mean 1.5. Held are 1, 1,
        1, 2, 2, 2, of standard deviation 0.5477; the neighbours' correlation is -1/6 in this order, and 0 with what is added.
        3.182 * 0.5477 * sqrt(5 / 12) = 1.125."""
        interval = pairs.interval_of([math.exp(k / 100) for k in (2, 0, 1, 3, 2, 1)])
        for end, hundredths in zip(interval, (1.5, 1.5 - 1.125, 1.5 + 1.125)):
            self.assertAlmostEqual(100 * math.log(end), hundredths, 3)
        self.assertAlmostEqual(interval.error, math.exp(0.01125) - 1, 5)
        self.assertIsNone(pairs.interval_of([1, 1, 1, 1, 1]))
        self.assertEqual(pairs.interval_of([2] * 6)[0:1], pairs.interval_of([2] * 6)[1:2])


def turned(kernel, turns, **changes):
    """A record with turns."""
    fields = {"run_id": "p", "timing__group": 1, "timing__turns_s": list(turns), "timing__converged": False, **changes}
    return record(statistics.median(turns), 0.3, config__kernel=kernel, config__alias=None, **fields)


def units_of(*records):
    """{kernel: Unit}."""
    return {unit.identity.kernel: unit for unit in merge(unit_of(dict(logs.flatten(r))) for r in records)}


OURS, OTHER = [1, 2, 4, 8, 4, 2, 1], [3, 6, 12, 24, 12, 6, 3]


class RecordsTest(TablesTest):

    def paired(self, *records):
        units = units_of(*records)
        return pairs.paired(units["a"], units["b"])

    def test_turns_of_one_group_make_a_ratio(self):
        interval = self.paired(turned("a", OURS), turned("b", OTHER))
        self.assertAlmostEqual(interval.value, 3)
        self.assertLess(interval.error, 1e-9)
        self.assertFalse(interval.holds_one)

    def test_who_ended_early_is_compared_as_far_as_it_came(self):
        self.assertAlmostEqual(self.paired(turned("a", OURS[:6]), turned("b", OTHER)).value, 3)
        self.assertIsNone(self.paired(turned("a", OURS[:5]), turned("b", OTHER)))

    def test_no_pair_of_other_runs_or_groups(self):
        for changes in ({"run_id": "q"}, {"timing__group": 2}, {"timing__group": None}, {"timing__turns_s": []}):
            self.assertIsNone(self.paired(turned("a", OURS), turned("b", OTHER, **changes)), changes)
        self.assertIsNone(self.paired(turned("a", OURS), record(3, config__kernel="b", run_id="p")))

    def test_waits_for_cores_are_no_ratio(self):
        for waited, holds in ((0.3, False), (0.2, True)):
            found = self.paired(turned("a", OURS, timing__wall_s=1, timing__waited_s=waited), turned("b", OTHER))
            self.assertEqual(found is not None, holds)

    def test_lists_that_are_no_times_are_left_out(self):
        for turns in ([1, None, 1, 1, 1, 1], [0] * 6, ["x"] * 6, [1e-300, 1, 1, 1, 1, 1], "text"):
            changed = turned("b", OTHER)
            changed["timing"]["turns_s"] = turns
            self.assertIsNone(self.paired(turned("a", OURS), changed), turns)

    def test_passes_are_combined_and_retries_are_not(self):
        first = turned("a", OURS, sweep={"cell": "a1"}), turned("b", OTHER, sweep={"cell": "b1"})
        second = [turned(kernel, turns, run_id="q", sweep={"cell": f"{kernel}2"})
                  for kernel, turns in (("a", OURS), ("b", [2 * turn for turn in OTHER]))]
        both = self.paired(*first, *second)
        self.assertAlmostEqual(both.value, math.sqrt(3 * 6))
        self.assertGreater(both.error, 0.4)  # passes that contradict each other make nothing known
        bad = [turn * (1 + k % 3) for k, turn in enumerate(OTHER)]
        again = turned("a", OURS, run_id="q", sweep={"cell": "a1"}), turned("b", bad, run_id="q", sweep={"cell": "b1"})
        self.assertAlmostEqual(self.paired(*first, *again).value, 3)


if __name__ == "__main__":
    unittest.main()
