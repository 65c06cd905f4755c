"""Makes what the page opens with: the conclusion, one chart, and a table of every machine's states."""

import itertools

from charts import beyond_text, speedups
from against_peers.conclusion import is_open, leading, machine_key, machine_names, sentence, state_of, states_table
from against_peers.dots import dots_of
from sections.markup import columns, escape, html_table, json_script, marked
from sections.measured import verdict_of
from texts import plural
from units.unit import AUTO

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
    """[(its name, what it is drawn of)] of a chart for each sentence."""
    names = machine_names([finding.system for finding in found])
    drawn = [(finding, dots_of(finding)) for group in by_machine(found) for finding in group]
    return [(f"{names[machine_key(f.system)]} · {state_of(f.system)} · {f.words}", dots) for f, dots in drawn if dots]


def chart_data(found, formats):
    """Returns what the page draws first: a chart for each sentence, to choose from."""
    return [{"name": name, "data": {"points": columns(dots["points"]), "means": columns(dots["means"])},
             "charts": [chart_of(dots, formats)]} for name, dots in first_charts(found)]


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
    return {"name": "first", "title": title, "text": text, "spec": speedups(dots, formats)}


def states_section(found):
    """Every machine, state and class: the figures, auto's too."""
    table, has_auto = states_table(found), any(finding.known or finding.unknown for finding in found)
    return (f"<h3>Every machine, state and class</h3>{html_table(*table, 'tight')}"
            f"<p>{marked(MEANINGS + AUTO_MEANS * has_auto)}</p>") if table[-1] else ""


def answer_section(found, units, first):
    """The section and its script; first: chart_data, or None without charts."""
    picture = ("<div class=controls id=pick-first hidden></div><div class=charts id=first-chart></div>"
               "<noscript><p>Charts need JavaScript.</p></noscript>") if first else ""
    return wrong_results(units) + conclusion(found) + picture + states_section(found), json_script(first, "first") if first else ""
