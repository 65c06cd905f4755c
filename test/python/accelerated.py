"""A pytest plugin: tests of a package under spmv.accelerate(threshold=0). Ends with the share of products that the library
computed, of those that it has, and fails if that is less than 95 %."""
import spmv

LEAST_SHARE = 95  # percent
NOT_OURS = "types", "another class", "small"  # reasons for a product that the library has not; small: empty
spmv.accelerate(threshold=0)


def shares():
    told = spmv.stats()
    other = sum(told["why"].get(reason, 0) for reason in NOT_OURS)
    supported = told["library"] + told["scipy"] - other
    return told, supported, 100 * told["library"] / max(supported, 1)


def pytest_terminal_summary(terminalreporter):
    told, supported, share = shares()
    terminalreporter.write_line(f"{told['library']} products ran in the library, {share:.1f} % of the {supported} that it has; "
                                f"in SciPy: {told['why']}")


def pytest_sessionfinish(session):
    told, supported, share = shares()
    if supported and share < LEAST_SHARE:
        session.exitstatus = 9  # no other has it
