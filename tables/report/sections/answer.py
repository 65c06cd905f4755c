"""Makes what the page opens with: the winners as a table and a chart, then what they mean in words."""

import itertools

from charts import beyond_text, speedups
from drawing import svg
from speedups import BEST_ALIGNMENT, BEST_HEADER, best_table
from against_peers.conclusion import is_open, leading, machine_key, machine_names, sentence, state_of, states_table
from against_peers.dots import dots_of
from sections.markup import escape, html_table, marked, picture
from sections.measured import verdict_of
from texts import plural
from units.unit import AUTO, describe

MEANINGS = (
    "Ratios of times: 1.5 is one and a half times as fast; geometric means, in brackets of how many matrices. Every "
    "matrix counts; ~ where fewer than 90 % of a mean's ratios are known to 3 %. Our fastest is chosen on each matrix. "
    "Preparation is not in these: Best kernels has the products after which it pays off.")
AUTO_MEANS = " auto chose by itself, with the number of products that follow known or unknown."


def by_machine(found):
    """The Findings that speak, by machine."""
    return [list(group) for _, group in itertools.groupby(leading(found), key=lambda finding: machine_key(finding.system))]


def line_of(finding):
    """The sentence after the class and the state that it is of."""
    state = f" ({escape(state_of(finding.system))})" if state_of(finding.system) else ""
    return f"<b>{escape(finding.words[0].upper() + finding.words[1:])}</b>{state}: {marked(sentence(finding))}"


def conclusion(found):
    """A sentence for each machine and class."""
    names = machine_names([finding.system for finding in found])
    parts = []
    for group in by_machine(found):
        lines = "".join(f"<li>{line_of(finding)}" for finding in group)
        parts.append(f"<h3>{escape(names[machine_key(group[0].system)])}</h3><ul>{lines}</ul>")
    hint = ("<p>Longer runs on an idle machine would say what these sentences cannot. <code>spmv doctor</code> says what disturbs this one.</p>"
            if any(map(is_open, leading(found))) else "")
    return f"<div class=answer>{''.join(parts)}{hint}</div>"


def wrong_results(units):
    """Said first, if there are any."""
    wrong = sum(verdict_of(unit) == "WRONG" for unit in units)
    return (f"<p class=alarm>{plural(wrong, 'result')} {'is' if wrong == 1 else 'are'} WRONG: never ranked, and named under "
            "<a href=#all>All results</a>.</p>") if wrong else ""


def first_charts(found):
    """[(its name, what it is drawn of)] of a chart for each sentence, those of most matrices first."""
    names = machine_names([finding.system for finding in found])
    drawn = [(finding, dots_of(finding)) for group in by_machine(found) for finding in group]
    drawn = sorted((one for one in drawn if one[1]), key=lambda one: -len({point["matrix"] for point in one[1]["points"]}))
    return [(f"{names[machine_key(f.system)]} · {state_of(f.system)} · {f.words}", dots) for f, dots in drawn]


def chart_text(dots):
    """Says what to read in the first chart."""
    text = ("A mark is a matrix; right of the dashed line the kernel is faster. Tick and number: the geometric mean of the "
            "matrices on which it has a time.")
    if any(row.startswith(AUTO) for row in dots["rows"]):
        text += AUTO_MEANS
    if any(row.endswith("~") for row in dots["rows"]):
        text += " ~: fewer than 90 % of its ratios are known to 3 %."
    return text + beyond_text([point["value"] for point in dots["points"]])


def chart_of(dots, formats):
    """The first chart of one Finding."""
    title, text = ((f"Speed-up over {dots['over']}", chart_text(dots)) if dots["over"] else
                   ("Rate of every kernel", "A mark is a matrix."))
    return {"title": title, "text": text, "chart": speedups(dots, formats)}


def first_pictures(found, formats):
    """The chart of the first sentence; those of the others are folded."""
    drawn = [(name, chart_of(dots, formats)) for name, dots in first_charts(found)]
    pictures = [picture("first", f"{made['title']}: {name}", made["text"], svg([made["chart"]], alone=False)) for name, made in drawn]
    more = f"<details><summary>{plural(len(pictures) - 1, 'more chart')} of this kind</summary>{''.join(pictures[1:])}</details>" if pictures[1:] else ""
    return "".join(pictures[:1]) + more


MOST_WINNERS = 24  # matrices that the first table names one by one
SHOWN = [BEST_HEADER.index(word) for word in ("matrix", "best kernel", "config", "median", "GFLOP/s", BEST_HEADER[6], "tied with", "pays off after")]


def winners_section(layout, found):
    """The winners: the fastest kernel of each matrix, or where these are many a line for each sentence of the conclusion."""
    named = [[describe(system), *(row[k] for k in SHOWN)] for system, matrices in layout.items() for row in best_table(system, matrices)[-1]]
    if len(named) > MOST_WINNERS:
        table = states_table(leading(found))
        return f"<h3>The fastest, and auto</h3>{html_table(*table, 'tight')}" if table[-1] else ""
    header, alignment = ["system", *(BEST_HEADER[k] for k in SHOWN)], "l" + "".join(BEST_ALIGNMENT[k] for k in SHOWN)
    held = [k for k in range(len(header)) if any(row[k] for row in named) and (k or len(layout) > 1)]
    rows = [[row[k] for k in held] for row in named]
    return "<h3>The fastest kernel of each matrix</h3>" + html_table([header[k] for k in held], "".join(alignment[k] for k in held), rows, "tight") if named else ""


def states_section(found):
    """Every machine, state and class: the figures, auto's too."""
    table, has_auto = states_table(found), any(finding.known or finding.unknown for finding in found)
    return (f"<h3>Every machine, state and class</h3>{html_table(*table, 'tight')}"
            f"<p>{marked(MEANINGS + AUTO_MEANS * has_auto)}</p>") if table[-1] else ""


def answer_section(found, units, layout, pictures):
    """The section; pictures: first_pictures, or nothing without charts."""
    return wrong_results(units) + winners_section(layout, found) + pictures + conclusion(found) + states_section(found)
