"""A pytest plugin: tests of a package under spmv.accelerate(threshold=0). Ends with the share of products that the library
computed, of those that it has, and fails if that is less than 95 %. ACCELERATED=cupy: products of SciPy's matrices, which CuPy's
tests compare with, stay SciPy's."""
import collections
import os

import pytest
import spmv

LEAST_SHARE = 95  # percent
NOT_OURS = "types", "another class", "small"  # reasons for a product that the library has not; small: empty
told = collections.Counter()  # counts of the processes that run tests

spmv.accelerate(threshold=0)
if os.environ.get("ACCELERATED") == "cupy":
    for owner, name, scipys, _ in spmv._accelerate.switch.exchanged:
        setattr(owner, name, scipys)


def stats():
    own = spmv.stats()
    return {"library": own["library"], **own["why"]}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    told.update(getattr(node, "workeroutput", {}).get("spmv", {}))


def shares():
    supported = sum(count for reason, count in told.items() if reason not in NOT_OURS)
    return supported, 100 * told["library"] / max(supported, 1)


def pytest_terminal_summary(terminalreporter):
    supported, share = shares()
    terminalreporter.write_line(f"{told['library']} products ran in the library, {share:.1f} % of the {supported} that it has; "
                                f"elsewhere: {dict(told - collections.Counter(library=told['library']))}")


def pytest_sessionfinish(session):
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["spmv"] = stats()
        return
    told.update(stats())
    supported, share = shares()
    if supported and share < LEAST_SHARE:
        session.exitstatus = 9  # no other has it
