"""Machines of one name that only their facts tell apart: vm (16 cores)."""

import collections

from logs import is_number
from texts import plural
from units.settings import order

# Lists what tells machines of one name, processor and GPU apart, the plainest first: as a label says it.
MACHINE = {
    "cpu.cores": lambda cores: plural(cores, "core"),
    "cpu.sockets": lambda sockets: plural(sockets, "socket"),
    "cpu.mem_B": lambda size: f"{size / 1e9:.0f} GB",
    "cpu.llc_B": lambda size: f"{size / 1e6:.0f} MB of cache",
    "gpu.mem_B": lambda size: f"GPU of {size / 1e9:.0f} GB",
    "gpu.sms": lambda count: f"{count} SMs",
    "gpu.driver": lambda version: f"driver {int(version) // 1000}.{int(version) % 1000 // 10}"}
SAME_SIZE = 0.02  # a kernel keeps a part of a machine's memory for itself, another kernel another part


def same_fact(one, other):
    """Says whether two values of a fact of a machine may be those of one machine; None: not logged."""
    if one is None or other is None or one == other:
        return True
    is_size = min(one, other) > 1e6  # in bytes
    return is_size and abs(one - other) <= SAME_SIZE * max(one, other)


def machines_of(found):
    """{facts: those of its machine} of facts met under one name. What a log does not say may be
    anything, unless it could be several machines."""
    machines = []  # [facts known so far, [facts met]]
    for facts in sorted(found, key=lambda facts: (facts.count(None), order(facts))):
        fits = [machine for machine in machines if all(map(same_fact, machine[0], facts))]
        if len(fits) == 1:
            fits[0][0] = tuple(a if a is not None else b for a, b in zip(fits[0][0], facts))
            fits[0][1].append(facts)
        else:
            machines.append([facts, [facts]])
    return {met: known for known, those in machines for met in those}


def machine_labels(machines):
    """{facts: what distinguishes a machine from the others}: one fact where one is enough."""
    texts = [[f"unknown {name.split('.')[1].removesuffix('_B')}" if value is None else MACHINE[name](value)
              for name, value in zip(MACHINE, facts)] for facts in machines]
    differ = [k for k in range(len(MACHINE)) if len({text[k] for text in texts}) > 1]
    enough = [[k] for k in differ if len({text[k] for text in texts}) == len(texts)]
    shown = (enough or [differ])[0]
    return {facts: ", ".join(text[k] for k in shown) for facts, text in zip(machines, texts)}


def facts_of(unit):
    """Says what the log says of the unit's machine."""
    return tuple(value if is_number(value) else None for value in map(unit.record.get, MACHINE))


def machines_apart(units):
    """The units, the hosts of machines that only their facts tell apart with a label: vm (16 cores)."""
    met = collections.defaultdict(set)
    for unit in units:
        met[unit.identity.system[:3]].add(facts_of(unit))
    machines = {name: machines_of(found) for name, found in met.items()}
    labels = {name: machine_labels(sorted(set(found.values()), key=order))
              for name, found in machines.items() if len(set(found.values())) > 1}

    def apart(unit):
        who, name = unit.identity, unit.identity.system[:3]
        if name not in labels:
            return unit
        label_of = labels[name][machines[name][facts_of(unit)]]
        host = f"{who.system.host} ({label_of})" if who.system.host else label_of
        return unit._replace(identity=who._replace(system=who.system._replace(host=host)))
    return list(map(apart, units))
