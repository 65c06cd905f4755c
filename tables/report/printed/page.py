"""paper.md and paper.csv: the printed numbers beside ours, with a verdict each."""

import collections
import textwrap

from printed import lines
from printed.verdicts import REASONS, RULES
from texts import csv_text, markdown_table, three_digits

GPU_ONLY = " Of OpenMP only what no machine changes is compared, as the paper measured a GPU."
PAPERS = {  # what is printed where, and what of it is not here
    "sell": (lines.sell_lines, "The SELL paper (IPSJ HPC-164, 2018), on a Tesla V100. Its results are bars without numbers (figures 6 "
             "to 8) and our copy has the text alone, damaged in places: what the text says is compared, and nothing could be read off "
             "a plot. Its cuSPARSE had no SELL." + GPU_ONLY),
    "cmrs": (lines.cmrs_lines, "The CMRS paper (arXiv:1203.2946), double precision on a GeForce GTX 480: table 2, and the table of all "
             "matrices in its additional material. CUSP, with which it compares too, is not built here." + GPU_ONLY),
    "ci": (lines.ci_lines, "The configuration interaction paper (doi:10.3390/computation6030045), on a Tesla K20m. Its mean time of "
           "the hybrid, 3.3661 ms, is that of its first matrix; its ten times have the mean 3.4959 ms. Its matrices of 1,048,576 "
           "rows, of which it prints no counts, have no twins." + GPU_ONLY),
    "omp-cuda": (lines.omp_cuda_lines, "The report SpMV - Implementazioni OMP e CUDA, of a processor and a GPU that it does not name: "
                 "figure 1 (OpenMP, grid 10x4, no SIMD, ROWLENS) and figure 2 (CUDA, no ROWLENS). The GFLOP/s of figure 1 are left "
                 "out: they are made of other matrices' nonzeros (thermal2: 2 · 7,353 / 5.35 ms, of west2021).")}
HEAD = ("matrix", "printed in", "the paper", "here", "verdict")


def as_printed(text):
    """A printed number with thousands apart."""
    return f"{int(text):,}" if text.isdigit() and len(text) > 4 else text


def as_ours(value, printed):
    """Ours with as many decimals as the printed one has, or three digits; a dash for none."""
    if value is None or isinstance(value, str):
        return "—" if value is None else value
    if isinstance(value, int):
        return as_printed(str(value))
    decimals, text = len(printed.partition(".")[2]), three_digits(value)
    return f"{value:.{decimals}f}" if decimals > len(text.partition(".")[2]) else text


def counts(found):
    """Says how many agree, differ and were not measured."""
    words = collections.Counter(line.verdict.partition(",")[0] for line in found)
    return words["agrees"], words["differs"], words["not measured here"]


def by_what(found):
    """{what: its lines}, in the order met."""
    groups = collections.defaultdict(list)
    for line in found:
        groups[line.what].append(line)
    return groups


def section(system, found):
    """A system's part of the page."""
    groups = by_what(found)
    text = f"## {system}\n\n" + markdown_table(
        ("what", "printed", "agree", "differ", "not measured"), "lrrrr",
        [(what, len(mine), *counts(mine)) for what, mine in groups.items()])
    for what, mine in groups.items():
        text += f"\n### {what}\n\n" + markdown_table(
            HEAD, "llrrl", [(line.matrix, line.where, as_printed(line.paper), as_ours(line.ours, line.paper), line.verdict)
                               for line in mine])
    return text + "\n"


def total(made):
    """All of {system: lines} in one sentence."""
    agree, differ, missing = counts([line for found in made.values() for line in found])
    return (f"{agree + differ + missing} numbers of the paper: {agree} agree, {differ} differ, "
            f"{missing} not measured here.")


def pages(study, systems, note):
    """({file: text}, a sentence to say) of [(system, its runs)]; note: what was measured."""
    collect, about = PAPERS[study]
    made = {system: [line for line in collect(runs) if line] for system, runs in systems}
    made = {system: found for system, found in made.items() if found}
    about = "\n".join(textwrap.wrap(about, 120))
    text = (f"# The numbers of the paper, beside ours\n\n{about}\n\n{note}\n{total(made)}\n\n"
            + markdown_table(("agrees", "if it is"), "ll", RULES)
            + "\n" + "\n".join(textwrap.wrap(f"The reason why a time, a choice or a speed-up differs is the first that holds of: "
                                             f"{REASONS}.", 120)) + "\n\n"
            + "".join(section(system, found) for system, found in made.items()))
    rows = [[system, *line] for system, found in made.items() for line in found]
    return {"paper.md": text, "paper.csv": csv_text(
        ["system", "what", "printed_in", "matrix", "paper", "here", "verdict"], rows)}, total(made)
